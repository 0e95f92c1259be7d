"""The pattern of df/dx of a function known only by its values: found by probing, and checked.

`detect` joins two kinds of probes, each with one changed x_j. NaN probes: x_j = NaN, and every f_i that becomes NaN
depends on x_j; exact for plain arithmetic, also where a factor is 0 at the point or for all x (time at time = 0).
Finite probes: small and large changes of both signs at several points around x. Nothing is added that was not found,
not even the diagonal. A NaN probe that turns all of many values into NaN is a refusal, not a finding: so do functions
that check their arguments, and dense products A @ x, where 0 * NaN = NaN.

`verify` tests groups (R. Dorfman, Ann. Math. Stat. 14 (1943) 436-440): a random subset S of columns changes together;
f_i may change only if the pattern of row i meets S. With each column in S by chance p, an entry missing in a row of r
entries shows with chance q = p (1 - p)^r, largest at p = 1/(r + 1); K subsets miss it with chance (1 - q)^K. Longer
rows are checked one by one, with S = all columns that row i should not depend on. Bisection along the path from x to
x + d_S names the column: one evaluation halves S. Where this would cost more than n evaluations, every column is
changed by itself. What no probe can show: a branch that no probed point enters.

Noise (values that change with no cause in the pattern) is measured by repeated evaluation and by changes of a few units
in the last place, and sets the least change that counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from pliant.errors import ArgumentError
from pliant.jacobian.evaluation import (
    BoolArray,
    CountedFunction,
    FloatArray,
    IndexArray,
    U,
    VectorFunction,
    point_and_scale,
)
from pliant.jacobian.pattern import pattern_of

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

SCATTER = (0.0, 0.02, 0.5, 0.1, 2.0)  # how far the points lie from x, relative to |x| + scale
SIZES = ((1e-5, 0.5), (1e-2, 10.0), (1e-3, 1e3))  # a small and a large change, one pair for each point
TRIES = ((0.3, 0), (0.3, 1), (0.03, -1), (1e-3, 1), (1e-5, 0), (1e-5, 1), (1e-5, -1))  # size and side (0: random)
BLANKET = 8  # up to so many values, "all became NaN" counts as dependence: a full column costs little there
MISS = 5e-4  # accepted chance that one missing entry stays unseen
WIGGLES = 5


@dataclass(frozen=True)
class Missing:
    """Value `row` depends on x[col], though the pattern says it does not."""

    row: int
    col: int  # -1: some column; f refused every point that would have told which
    change: float  # of the value, when x[col] was changed


@dataclass(frozen=True, eq=False)
class Base:
    """A point to start from, the values there and the least change that counts."""

    x: FloatArray
    values: FloatArray
    least: FloatArray


# -------------------------------------------------------------------------------------------------- detection


def detect(
    f: VectorFunction, x: ArrayLike, scale: ArrayLike, *, rng_seed: int = 0, points: int = 3
) -> tuple[IndexArray, IndexArray]:
    """Rows and columns of the entries of df/dx at and around x, sorted by row.

    Costs n (1 + 2 points) evaluations, up to twice that if f refuses many, and a few for the noise.

    >>> rows, cols = detect(lambda x: [x[0] * x[1], x[1]], [1.0, 0.0], 1.0)
    >>> [(int(i), int(j)) for i, j in zip(rows, cols)]
    [(0, 0), (0, 1), (1, 1)]
    """
    point, sizes = point_and_scale(x, scale)
    if points < 1:
        raise ArgumentError(f"points is {points}, but at least one point is needed", hint="leave points out")
    evaluate, rng = CountedFunction(f), np.random.default_rng(rng_seed)
    bases = [base for k in range(points) if (base := base_near(evaluate, point, sizes, SCATTER[k % len(SCATTER)], rng))]
    if not bases:
        raise ArgumentError("f cannot be evaluated at the point or near it", hint="choose a point where f is defined")
    found = np.zeros((len(point), evaluate.size), dtype=bool)  # one row for each x_j: rows are contiguous
    probe_nan(evaluate, bases[0], found)
    for k, base in enumerate(bases):
        small, large = SIZES[k % len(SIZES)]
        room = (np.abs(base.x) + sizes) * rng.choice((-1.0, 1.0), len(point))
        probe_finite(evaluate, base, small * room, found)
        probe_finite(evaluate, base, -large * room, found)
    rows, cols = np.nonzero(found.T)
    return rows, cols


def probe_nan(evaluate: CountedFunction, base: Base, found: BoolArray) -> None:
    """Which values become NaN with x_j?"""
    sound = ~np.isnan(base.values)
    for j in range(len(base.x)):
        probe = base.x.copy()
        probe[j] = math.nan
        values = evaluate(probe, forgive=True)
        if values is None:  # all NaN, or an exception
            if evaluate.size <= BLANKET and returns_nan(evaluate, probe):
                found[j] |= sound
            continue
        found[j] |= np.isnan(values) & sound


def returns_nan(evaluate: CountedFunction, probe: FloatArray) -> bool:
    """Whether the refusal is made of values, not of an exception: only values are a result of arithmetic."""
    evaluate.count += 1
    try:
        with np.errstate(all="ignore"):
            return bool(np.isnan(np.array(evaluate.f(probe.copy()), dtype=np.float64)).all())
    except Exception:
        return False


def probe_finite(evaluate: CountedFunction, base: Base, step: FloatArray, found: BoolArray) -> None:
    """Which values change with x_j + step_j, or with x_j - step_j where that is refused?"""
    for j in range(len(base.x)):
        probe = base.x.copy()
        for side in (1.0, -1.0):
            probe[j] = base.x[j] + side * step[j]
            values = evaluate(probe)
            if values is not None:
                found[j] |= changed(base.values, values, base.least)
                break


# --------------------------------------------------------------------------------------------- points and noise


def changed(before: FloatArray, after: FloatArray, least: FloatArray) -> BoolArray:
    """Values that differ by more than noise; one that ceases to be finite has changed, too."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(after - before) > least
    finite = np.isfinite(before) & np.isfinite(after)
    same = (before == after) | (np.isnan(before) & np.isnan(after))
    return np.asarray(np.where(finite, apart, ~same), dtype=bool)


def base_near(
    evaluate: CountedFunction, x: FloatArray, scale: FloatArray, scatter: float, rng: np.random.Generator
) -> Base | None:
    """A point at about `scatter` from x where f can be evaluated; nearer, in the end x itself, if f refuses."""
    room = np.abs(x) + scale
    for shrink, side in ((1.0, 0), (1.0, 1), (0.1, 0), (0.1, 1), (0.1, -1), (1e-3, 1), (1e-3, -1), (0.0, 0)):
        probe = x + scatter * shrink * room * random_signs(x, side, rng) * rng.uniform(0.5, 1.0, len(x))
        values = evaluate(probe)
        if values is not None:
            return Base(probe, values, least_change(evaluate, probe, values, rng))
        if scatter == 0.0:
            break
    return None


def random_signs(x: FloatArray, side: int, rng: np.random.Generator) -> FloatArray:
    """side 0: random; 1: away from zero, where bounds of physical states seldom lie; -1: towards zero."""
    if side == 0:
        return rng.choice((-1.0, 1.0), len(x))
    return np.where(x < 0.0, -1.0, 1.0) * side


def least_change(evaluate: CountedFunction, x: FloatArray, values: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Zero for a clean function; else what changes of x in its last digits do to the values, times eight."""
    spread = np.zeros(len(values))
    wide = 0  # wiggles of one x_j that moved most of the values by more than rounding
    rounding = 16 * U * np.abs(values)
    for k in range(WIGGLES + 2):
        probe = x.copy()
        if k < WIGGLES and len(x):
            j = rng.integers(len(x))
            probe[j] += rng.choice((-1.0, 1.0)) * 4 * np.spacing(probe[j])
        again = evaluate(probe)
        if again is None:
            continue
        with np.errstate(invalid="ignore", over="ignore"):
            moved = np.nan_to_num(np.abs(again - values), nan=0.0, posinf=0.0)
        random_noise = k >= WIGGLES and bool(moved.any())
        wide += WIGGLES * random_noise + (2 * int((moved > rounding).sum()) > len(values))
        spread = np.maximum(spread, moved)
    if 2 * wide <= WIGGLES:
        return np.zeros(len(values))
    for _ in range(6):
        again = evaluate(x + rng.integers(-4, 5, len(x)) * np.spacing(x))
        if again is not None:
            spread = np.maximum(spread, np.nan_to_num(np.abs(again - values), nan=0.0, posinf=0.0))
    return 8.0 * spread


# ------------------------------------------------------------------------------------------------ verification


def verify(
    f: VectorFunction, x: ArrayLike, rows: ArrayLike, cols: ArrayLike, n: int, scale: ArrayLike, *, rng_seed: int = 0
) -> list[Missing]:
    """Entries of df/dx that the pattern lacks; an empty list vouches for each single entry with chance > 0.999.

    Costs about 19 (r + 1) evaluations for rows of r entries plus one for each much longer row, but about n at most;
    and log2(n) for each missing entry, 2 n at most for all together.

    >>> verify(lambda x: [x[0], x[1] + x[0]], [1.0, 1.0], [0, 1], [0, 1], 2, 1.0)[0].col
    0
    """
    point, sizes = point_and_scale(x, scale)
    if len(point) != n:
        raise ArgumentError(
            f"the pattern has {n} columns, the point {len(point)} components", hint="give one column for each component"
        )
    evaluate, rng = CountedFunction(f), np.random.default_rng(rng_seed)
    bases = [base for size in (0.02, 0.5) if (base := base_near(evaluate, point, sizes, size, rng))]
    if not bases:
        raise ArgumentError("f cannot be evaluated at the point or near it", hint="choose a point where f is defined")
    search = PatternSearch(evaluate, bases, sizes, pattern_of(evaluate.size, n, rows, cols), rng)
    subsets = search.plan()
    limit = evaluate.count + len(subsets) + n  # beyond it much is missing: one column after the other is cheaper
    for k, subset in enumerate(subsets):
        search.test(bases[k % len(bases)], subset)
        if evaluate.count > limit:
            break
    if subsets and search.recheck(limit):
        return search.result()
    for j in range(n):
        search.test(bases[j % len(bases)], np.array([j]))
    return search.result()


class PatternSearch:
    """The missing entries of a pattern, found by changing subsets of columns."""

    def __init__(
        self,
        evaluate: CountedFunction,
        bases: list[Base],
        scale: FloatArray,
        pattern: csr_matrix,
        rng: np.random.Generator,
    ) -> None:
        self.evaluate, self.bases, self.scale, self.rng = evaluate, bases, scale, rng
        self.pattern = pattern
        self.found: dict[tuple[int, int], float] = {}

    def result(self) -> list[Missing]:
        """What was found, by row and column."""
        return [Missing(i, j, change) for (i, j), change in sorted(self.found.items())]

    def plan(self) -> list[IndexArray]:
        """Subsets that reveal any missing entry with chance 1 - MISS; empty if single columns are cheaper."""
        n = self.pattern.shape[1]
        lengths = np.diff(self.pattern.indptr)
        best, cost = -1, n
        for r in np.unique(lengths[lengths < n]).tolist():
            longer = int(((lengths > r) & (lengths < n)).sum())
            if subsets_needed(r) + longer < cost:
                best, cost = r, subsets_needed(r) + longer
        if best < 0:
            return []
        chance = 1.0 / (best + 1.0) if best else 0.5
        drawn = [np.flatnonzero(self.rng.random(n) < chance) for _ in range(subsets_needed(best))]
        for i in np.flatnonzero((lengths > best) & (lengths < n)).tolist():
            drawn.append(self.others(i))
        return drawn

    def others(self, row: int) -> IndexArray:
        """Columns that the row should not depend on."""
        own = self.pattern.indices[self.pattern.indptr[row] : self.pattern.indptr[row + 1]]
        return np.setdiff1d(np.arange(self.pattern.shape[1]), own)

    def recheck(self, limit: int) -> bool:
        """Rows that grew were planned for too few entries: test them one by one. False: the limit was passed."""
        done = 0
        while done < len(self.found) and self.evaluate.count <= limit:
            grown = sorted({i for i, _ in list(self.found)[done:]})
            done = len(self.found)
            for base, i in ((base, i) for i in grown for base in self.bases):
                if self.evaluate.count <= limit:
                    self.test(base, self.others(i))
        return self.evaluate.count <= limit

    def test(self, base: Base, subset: IndexArray) -> None:
        """Change the columns of the subset; rows that change though they hold none of them lack an entry."""
        waiting = [subset]
        while waiting:
            columns = waiting.pop()
            if not columns.size:
                continue
            moved = self.move(base, columns)
            if moved is None:  # refused at all sizes and on all sides: with fewer columns perhaps not
                waiting += np.array_split(columns, 2) if columns.size > 1 and self.patience() else []
                continue
            target, values = moved
            inside = np.zeros(len(base.x))
            inside[columns] = 1.0
            rows = np.flatnonzero(changed(base.values, values, base.least) & (self.pattern @ inside == 0))
            if rows.size:
                self.locate(base, target, values, columns, rows)

    def patience(self) -> bool:
        """A function that refuses nearly everywhere must not cost more than a few sweeps over the columns."""
        return self.evaluate.count < 4 * len(self.scale) + 1000

    def move(self, base: Base, columns: IndexArray) -> tuple[FloatArray, FloatArray] | None:
        """A point that differs from the base in the columns, and the values there."""
        for size, side in TRIES:
            target = base.x.copy()
            here = base.x[columns]
            amount = size * (np.abs(here) + self.scale[columns]) * self.rng.uniform(0.5, 1.0, len(columns))
            target[columns] = here + amount * random_signs(here, side, self.rng)
            values = self.evaluate(target)
            if values is not None:
                return target, values
        return None

    def locate(self, base: Base, target: FloatArray, values: FloatArray, columns: IndexArray, rows: IndexArray) -> None:
        """Name the columns behind the changes of `rows` between the base and the target, by bisection of the path."""
        new: list[tuple[int, int]] = []
        waiting = [(base.x, base.values, values, columns, rows)]
        while waiting:
            start, before, after, inside, concerned = waiting.pop()
            middle = self.middle(start, target, inside) if inside.size > 1 else None
            if middle is None:
                column = int(inside[0]) if inside.size == 1 else -1
                for i in concerned.tolist():
                    self.found.setdefault((i, column), float(after[i] - before[i]))
                    new += [(i, column)] * (column >= 0)
                continue
            first, between, half_way, second = middle
            for a, b, part, origin in ((before, half_way, first, start), (half_way, after, second, between)):
                still = concerned[changed(a, b, base.least)[concerned]]
                if still.size:
                    waiting.append((origin, a, b, part, still))
        if new:
            extra_rows, extra_cols = zip(*new, strict=True)
            m, n = self.pattern.shape
            old = self.pattern.tocoo()
            self.pattern = pattern_of(m, n, np.append(old.row, extra_rows), np.append(old.col, extra_cols))

    def middle(
        self, start: FloatArray, target: FloatArray, columns: IndexArray
    ) -> tuple[IndexArray, FloatArray, FloatArray, IndexArray] | None:
        """Half of the columns moved: these columns, the point, its values, the other columns."""
        for attempt in range(4):
            order = columns if attempt == 0 else self.rng.permutation(columns)
            first, second = np.array_split(order, 2)
            between = start.copy()
            between[first] = target[first]
            values = self.evaluate(between)
            if values is not None:
                return first, between, values, second
        return None


def subsets_needed(length: int) -> int:
    """K with (1 - q)^K <= MISS, q = p (1 - p)^r at the best p = 1/(r + 1); a half serves for empty rows."""
    chance = 1.0 / (length + 1.0) if length else 0.5
    return math.ceil(math.log(MISS) / math.log1p(-chance * (1.0 - chance) ** length))
