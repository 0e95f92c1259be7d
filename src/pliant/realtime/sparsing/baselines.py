"""Other ways to choose a pattern, for comparison.

magnitude        entries below a threshold go, everywhere the same; the largest threshold that is still stable at all
                 points, and the one that matches the number of entries asked for
per step         the same decided again in each step (Nowak, Impact Comput. Sci. Eng. 5, 1993, 53-74): no fixed
                 pattern, so its union counts for straight-line code
eigenvalues      single entries by the cluster criterion alone, no bias (Schiela & Bornemann 2003, section 3.5)
mixed-mode       states whose rows alone (Gauss-Seidel type) or rows and columns (Jacobi type) are treated
                 explicitly: those with the largest time constant |L_ii / Df_ii| first, as many as stay stable
                 (Schiela & Olsson 2000)
explicit Euler   nothing implicit
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pliant.plain import AsDict
from pliant.realtime.sparsing.accept import AcceptRule, Checker
from pliant.realtime.sparsing.effects import cluster_effects
from pliant.realtime.sparsing.elimination import eliminate
from pliant.realtime.sparsing.entry_states import Mask
from pliant.realtime.sparsing.linearisations import Places, Points
from pliant.realtime.sparsing.linearise import Matrix
from pliant.solve.binding.colouring import colour


@dataclass(frozen=True, eq=False)
class Baseline(AsDict):
    """A pattern and what it costs and does."""

    name: str
    mask: Mask
    entries: int
    flops: int
    colours: int
    radius: float  # largest modulus of an eigenvalue over all points
    violators: int
    bias: float  # largest, first order


def describe(name: str, mask: Mask, checker: Checker) -> Baseline:
    """Cost and effects of a pattern over all points."""
    frame = checker.frame
    places = list(zip(frame.rows[mask].tolist(), frame.columns[mask].tolist(), strict=True))
    radius, violators = 0.0, 0
    lasting, step = checker.bias(mask)
    bias = np.maximum(np.abs(lasting), np.abs(step)).max(axis=1)
    for p in range(len(checker.points)):
        found = checker.spectrum(p, mask)
        radius = max(radius, np.inf if found is None else float(np.abs(found).max()))
        violators += not checker.judge(p, mask).accepted or bool(bias[p] > checker.rule.tolerance)
    elimination = eliminate(frame.n, places)
    return Baseline(
        name,
        mask,
        len(elimination.entries),
        elimination.factor_flops,
        colour(frame.n, frame.n, frame.rows[mask], frame.columns[mask]).n_colours,
        radius,
        violators,
        float(bias.max()),
    )


def _is_stable(checker: Checker, mask: Mask, some: list[int]) -> bool:
    for p in some:
        found = checker.spectrum(p, mask)
        if found is None or np.abs(found).max() > max(1.0, float(checker.points.radius[p]) + 1e-9):
            return False
    return True


def _bisect(count: int, accepts: Callable[[int], bool]) -> int:
    """The largest k in 0 .. count that is accepted, if acceptance falls off once."""
    low, high = 0, count
    while low < high:
        middle = (low + high + 1) // 2
        if accepts(middle):
            low = middle
        else:
            high = middle - 1
    return low


def compare(points: Points, rule: AcceptRule, training: list[int], cut: float = 0.01) -> list[Baseline]:
    """All baselines on these points; none where there is no entry to choose."""
    if not points.frame.n:
        return []
    checker = Checker(points, rule)
    frame = points.frame
    everything: Mask = np.ones(frame.n_entries, dtype=bool)
    out = [describe("all entries", everything, checker)]
    size = np.abs(frame.tau * points.values)
    out.append(_by_order("magnitude, fixed pattern", np.argsort(size.max(axis=0), kind="stable"), checker))
    out.append(_per_step(checker, size))
    effects = np.abs(cluster_effects(checker, training, cut)).max(axis=1, initial=0.0)
    out.append(_greedy("eigenvalues alone, single entries", np.argsort(effects, kind="stable"), checker, training))
    for name, both in (("mixed-mode, rows and columns", True), ("mixed-mode, rows only", False)):
        out.append(_mixed(name, both, checker, training))
    differential = ~frame.algebraic
    keep = ~differential[frame.rows]
    out.append(describe("explicit Euler", keep, checker))
    return out


def _by_order(name: str, order: Places, checker: Checker) -> Baseline:
    def masked(k: int) -> Mask:
        mask: Mask = np.ones(len(order), dtype=bool)
        mask[order[:k]] = False
        return mask

    everywhere = list(range(len(checker.points)))
    k = _bisect(len(order), lambda k: _is_stable(checker, masked(k), everywhere))
    return describe(name, masked(k), checker)


def _per_step(checker: Checker, size: Matrix) -> Baseline:
    """One threshold for all steps, each with a pattern of its own; the union is what straight-line code would need."""
    values = np.unique(size)

    def stable(k: int) -> bool:
        limit = values[k - 1] if k else -1.0
        return all(_is_stable(checker, row > limit, [p]) for p, row in enumerate(size))

    tried = max(1, min(len(values), 4096))  # a model of pure integrators has no entries at all
    k = _bisect(tried, lambda k: stable(round(k * len(values) / tried)))
    k = round(k * len(values) / tried)
    limit = values[k - 1] if k else -1.0
    union = np.asarray((size > limit).any(axis=0), dtype=bool)
    found = describe("magnitude in each step (Nowak), union", union, checker)
    mean = float((size > limit).sum(axis=1).mean())
    return replace(found, name=f"magnitude in each step (Nowak): {mean:.0f} of Df on average, union")


def _greedy(name: str, order: Places, checker: Checker, training: list[int]) -> Baseline:
    mask: Mask = np.ones(len(order), dtype=bool)
    for k in order:
        mask[k] = False
        if not all(checker.judge(p, mask).accepted for p in training):
            mask[k] = True
    return describe(name, mask, checker)


def _mixed(name: str, both: bool, checker: Checker, training: list[int]) -> Baseline:
    frame, points = checker.frame, checker.points
    diagonal = np.abs(points.Df[:, np.arange(frame.n), np.arange(frame.n)]).max(axis=0)
    order = [int(i) for i in np.argsort(diagonal, kind="stable") if not frame.algebraic[i]]
    explicit = np.zeros(frame.n, dtype=bool)

    def masked() -> Mask:
        gone = explicit[frame.rows] | (explicit[frame.columns] if both else False)
        return np.logical_not(gone)

    for i in order:
        explicit[i] = True
        if not _is_stable(checker, masked(), training):
            explicit[i] = False
    return describe(f"{name}: {int(explicit.sum())} of {frame.n} states explicit", masked(), checker)
