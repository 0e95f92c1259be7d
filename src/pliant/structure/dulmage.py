"""Which part of a system has too many equations, which too few: the coarse Dulmage-Mendelsohn decomposition.

Dulmage and Mendelsohn (Canadian J. Math. 10, 1958, 517-534), computed as by Pothen and Fan (ACM TOMS 16, 1990,
303-324, section 2) from any maximum matching; the parts do not depend on which one:

    over    reached by alternating paths from unmatched equations: more equations than variables
    under   reached by alternating paths from unmatched variables: more variables than equations
    well    the rest, perfectly matched

From an equation such a path goes to all its variables and from a variable to the equation matched with it; from an
unmatched variable to all equations that contain it and from an equation to the variable matched with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Decomposition:
    """The three parts; every equation and every variable is in exactly one of them. All lists ascend."""

    over_equations: list[int]
    over_variables: list[int]
    under_equations: list[int]
    under_variables: list[int]
    well_equations: list[int]
    well_variables: list[int]


def decompose(
    inc: Sequence[Sequence[int]], n_vars: int, eq_to_var: Sequence[int], var_to_eq: Sequence[int]
) -> Decomposition:
    """Split a system, whose given matching must be maximum, into its over-, under- and well-determined parts."""
    columns: list[list[int]] = [[] for _ in range(n_vars)]
    for e, row in enumerate(inc):
        for v in row:
            columns[v].append(e)
    over_e, over_v = _reach(inc, eq_to_var, var_to_eq)
    under_v, under_e = _reach(columns, var_to_eq, eq_to_var)
    return Decomposition(
        over_equations=sorted(over_e),
        over_variables=sorted(over_v),
        under_equations=sorted(under_e),
        under_variables=sorted(under_v),
        well_equations=[e for e in range(len(inc)) if e not in over_e and e not in under_e],
        well_variables=[v for v in range(n_vars) if v not in over_v and v not in under_v],
    )


def _reach(
    rows: Sequence[Sequence[int]], partner: Sequence[int], partner_back: Sequence[int]
) -> tuple[set[int], set[int]]:
    """Rows and columns on alternating paths that start at rows without partner."""
    front = [row for row, column in enumerate(partner) if column < 0]
    seen_rows, seen_columns = set(front), set[int]()
    while front:
        for column in rows[front.pop()]:
            if column not in seen_columns:
                seen_columns.add(column)
                back = partner_back[column]  # never -1: the matching is maximum
                if back not in seen_rows:
                    seen_rows.add(back)
                    front.append(back)
    return seen_rows, seen_columns
