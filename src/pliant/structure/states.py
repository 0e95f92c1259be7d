"""Which variables are states: dummy derivatives, chosen globally.

Mattsson & Söderlind (SIAM J. Sci. Comput. 14, 1993, 677-692): of the derivatives in the differentiated equations as
many become ordinary unknowns ("dummies") as there are equations, level by level:

    h = differentiated equations of the highest order, cand = derivatives in them
    while h:  choose columns of dh/dcand of full rank -> dummy;  h, cand = one level down, integrals of the chosen

Deviation: the paper chooses block by block. All alternatives must compete if priorities (stateSelect) are to count, so
the choice is made over all equations at once: columns in the order of their priority, each kept if it raises the
numerical rank at a generic point (structure alone cannot see x' + y', 2 x' + 2 y').
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from pliant.structure.pantelides import DerivativeGraph

Rows = dict[int, dict[int, float]]  # equation -> {variable: coefficient}
RANK_TOLERANCE = 1e-10


@dataclass
class Level:
    """One level of the choice: equations, the derivatives that compete, and those made dummies."""

    equations: list[int]
    candidates: list[int]
    dummies: list[int]


class RankDeficient(Exception):
    """The differentiated equations depend on each other; ``equations`` were left without a pivot."""

    def __init__(self, equations: list[int]) -> None:
        self.equations = equations
        super().__init__(f"dependent equations {equations}")


def independent_columns(
    columns: Sequence[int], rows: Rows, helpers: Sequence[int] = (), helping: Collection[int] = ()
) -> tuple[list[int], list[int]]:
    """Columns, taken in the given order, that raise the rank; and the rows left without a pivot.

    ``helpers`` are columns to be eliminated before, with pivots in the rows ``helping`` alone; neither is counted.
    """
    columns = [*helpers, *columns]
    by_column: dict[int, dict[int, float]] = {c: {} for c in columns}
    for r, row in rows.items():
        for c, value in row.items():
            if c in by_column and value != 0.0:
                by_column[c][r] = value
    pivots: dict[int, tuple[int, dict[int, float]]] = {}  # row -> (age, reduced column)
    chosen: list[int] = []
    n_wanted = len(rows) - len(helping)
    for number, c in enumerate(columns):
        if len(chosen) == n_wanted:
            break
        column = dict(by_column[c])
        size = max(map(abs, column.values()), default=0.0)
        while True:
            hit = [(pivots[r][0], r) for r in column if r in pivots]
            if not hit:
                break
            _, r = min(hit)
            other = pivots[r][1]
            factor = column.pop(r) / other[r]
            for k, value in other.items():
                if k != r:
                    column[k] = column.get(k, 0.0) - factor * value
        column = {r: value for r, value in column.items() if abs(value) > RANK_TOLERANCE * max(size, 1e-300)}
        helps = number < len(helpers)
        open_rows = [r for r in column if (r in helping) == helps]
        if open_rows:
            r = max(open_rows, key=lambda one: (abs(column[one]), -one))
            pivots[r] = (len(pivots), column)
            if not helps:
                chosen.append(c)
    return chosen, [r for r in rows if r not in pivots and r not in helping]


def choose_dummies(
    graph: DerivativeGraph,
    integral: dict[int, int],
    priority: Callable[[int], tuple[int, ...]],
    coefficients: Callable[[Sequence[int], Sequence[int]], Rows],
) -> list[Level]:
    """Levels of dummy derivatives. ``integral[v']`` = v; ``priority`` sorts derivatives, least wanted states first;
    ``coefficients(equations, variables)`` gives the numbers d equation / d variable at a generic point."""
    h = [e for e in range(len(graph.inc)) if graph.eq_to_diff[e] < 0 and graph.diff_to_eq[e] >= 0]
    candidates = sorted({v for e in h for v in graph.inc[e] if v in integral and graph.var_to_diff[v] < 0})
    levels: list[Level] = []
    originals: list[int] = []
    helpers: list[int] = []
    while h:
        rows = coefficients(h, candidates)
        weight = dict.fromkeys(candidates, 0)
        for row in rows.values():
            for v in row:
                weight[v] += 1
        order = sorted(candidates, key=lambda v: (*priority(v), -weight[v], v))
        dummies, left = independent_columns(order, rows)
        if left and helpers:
            # a velocity may stand for others that undifferentiated equations of this level tie to it (R.w = e der(phi))
            rows |= coefficients(originals, [*candidates, *helpers])
            rows |= coefficients(h, [*candidates, *helpers])
            dummies, left = independent_columns(order, rows, helpers, frozenset(originals))
        if left:
            raise RankDeficient(sorted(left))
        levels.append(Level(h, candidates, sorted(dummies)))
        originals = [e for e in (graph.diff_to_eq[e] for e in h) if graph.diff_to_eq[e] < 0]
        helpers = sorted({integral[v] for v in dummies if integral[v] not in integral})
        h = [graph.diff_to_eq[e] for e in h if graph.diff_to_eq[graph.diff_to_eq[e]] >= 0]
        candidates = sorted({integral[v] for v in dummies if integral[v] in integral})
    return levels
