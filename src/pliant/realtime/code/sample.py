"""Fixed orders of pivots for the matrices of loops, from matrices at sample points around the start.

Rows are assigned to columns so that pivots are large at all points (:func:`assign_rows`); the order among them is
Markowitz'. Points: the start, and a few near it, so that entries that vanish at the start alone are not chosen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pliant.codegen.program import Assign, Newton, Program, Solve
from pliant.expr.evaluate import evaluate
from pliant.realtime.sparsing.elimination import assign_rows

Matrix = NDArray[np.float64]
POINTS = 5
SPREAD = 0.2  # of the size of a state, at least of 1
ITERATIONS = 8


class _Point:
    """The model at one point, by the interpreter."""

    def __init__(self, program: Program, values: dict[int, float], t: float) -> None:
        self.s, self.values, self.t = program.sorted, values, t
        self.matrices: dict[int, Matrix] = {}
        for one in program.statements:
            if isinstance(one, Assign):
                values[one.target] = self.of([one.expression])[0]
            elif isinstance(one, Solve):
                a = self._matrix(one.matrix)
                self.matrices[one.loop] = a
                self._set(one.targets, self._least(a, np.array(self.of(one.right))))
            elif isinstance(one, Newton):
                self._newton(one)

    def of(self, roots: Sequence[int]) -> list[float]:
        system = self.s.system
        return evaluate(system.graph, roots, self.values, self.t, (), system.tables, self.s.relations)

    def _matrix(self, rows: Sequence[Sequence[int]]) -> Matrix:
        n = len(rows)
        return np.array(self.of([e for row in rows for e in row])).reshape(n, n)

    def _set(self, targets: Sequence[int], values: Matrix) -> None:
        self.values.update(zip(targets, values.tolist(), strict=True))

    @staticmethod
    def _least(a: Matrix, b: Matrix) -> Matrix:
        if not (np.all(np.isfinite(a)) and np.all(np.isfinite(b))):
            return np.full(len(b), np.nan)
        return np.asarray(np.linalg.lstsq(a, b, rcond=None)[0])

    def _newton(self, one: Newton) -> None:
        for _ in range(ITERATIONS):
            for step in one.steps:
                self.values[step.target] = self.of([step.expression])[0]
            a = self._matrix(one.matrix)
            self.matrices[one.loop] = a
            change = self._least(a, np.array(self.of(one.residuals)))
            if not np.all(np.isfinite(change)):
                return
            self._set(one.targets, np.array([self.values[z] for z in one.targets]) - change)


def sample_loop_rows(
    program: Program, values: Mapping[int, float], x: Matrix, tears: Mapping[int, float], t: float
) -> dict[int, list[int]]:
    """Rows of the pivots per column, for loops of two and more unknowns; ``values``: parameters."""
    loops = [k for k, block in enumerate(program.loops) if len(block.tears) > 1]
    if not loops:
        return {}
    variables, g = program.variables, program.graph
    given = dict(values) | dict(tears)
    for v in program.u:
        start = variables[v].start
        given[v] = 0.0 if start is None else evaluate(g, [start], values)[0]
    random = np.random.default_rng(1)
    seen: dict[int, list[Matrix]] = {k: [] for k in loops}
    for k in range(POINTS):
        at = x + (SPREAD * np.maximum(np.abs(x), 1.0) * random.uniform(-1.0, 1.0, len(x)) if k else 0.0)
        point = _Point(program, given | dict(zip(program.x, at.tolist(), strict=True)), t)
        for loop in loops:
            a = np.abs(point.matrices[loop])
            largest = a.max(axis=1, keepdims=True) if np.all(np.isfinite(a)) else np.zeros((1, 1))
            if np.all(largest > 0.0):
                seen[loop].append(a / largest)
    out: dict[int, list[int]] = {}
    for loop, found in seen.items():
        for matrices in (found, found[:1]):  # all points, or else the start alone
            rows = assign_rows(np.min(matrices, axis=0)) if matrices else None
            if rows is not None:
                out[loop] = rows
                break
    return out
