"""Which equation determines which variable: maximum matchings in the bipartite graph of equations and variables.

An augmenting path starts at an unmatched equation, ends at an unmatched variable and alternates between edges outside
and inside the matching; swapping them gains one match, and a matching without such a path is maximum (Berge 1957).
After a cheap assignment (every equation takes its first free variable), the method of Hopcroft and Karp (SIAM J.
Computing 2, 1973, 225-231): a breadth-first search from all unmatched equations gives levels, depth-first searches
along rising levels swap a maximal set of disjoint shortest paths, until there is none: O(edges √equations) at worst.

    inc[e]         variables of equation e, the preferred ones first
    eq_to_var[e]   variable matched to e or -1
    var_to_eq[v]   equation matched to v or -1
    level[e]       matches between e and the nearest unmatched equation; -1 not reached or used up

Phases (notes, "Matching"): edges that are better to solve for, say those with constant coefficients, are offered alone
first. A later phase keeps every equation and variable matched, though perhaps to another partner. Sorting and loops do
not depend on the matching that is found, the number of scalar nonlinear equations does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pliant.errors import ArgumentError


def match(
    inc: Sequence[Sequence[int]], n_vars: int, *, phases: Sequence[Sequence[Sequence[int]]] | None = None
) -> tuple[list[int], list[int]]:
    """A maximum matching as (eq_to_var, var_to_eq), with -1 for unmatched.

    `phases` are restrictions of `inc`, matched one after the other before `inc` itself.
    """
    stages = [*(phases or ()), inc]
    for stage in stages:
        if len(stage) != len(inc):
            raise ArgumentError(
                f"a phase has {len(stage)} equations, not {len(inc)}", hint="give an empty row for an equation left out"
            )
        if any(row and not 0 <= min(row) <= max(row) < n_vars for row in stage):
            raise ArgumentError(
                f"an equation has a variable outside 0..{n_vars - 1}", hint="count variables from 0, or raise n_vars"
            )
    eq_to_var, var_to_eq = [-1] * len(inc), [-1] * n_vars
    unmatched = list(range(len(inc)))
    for stage in stages:
        unmatched = augment(stage, eq_to_var, var_to_eq, unmatched)
    return eq_to_var, var_to_eq


def augment(
    inc: Sequence[Sequence[int]], eq_to_var: list[int], var_to_eq: list[int], unmatched: Iterable[int]
) -> list[int]:
    """Match as many of the `unmatched` equations as possible, in place; returns those that stay unmatched.

    Only what alternating paths from `unmatched` reach is visited, so a call for few equations is cheap.
    """
    left = _cheap(inc, eq_to_var, var_to_eq, unmatched)
    level, position = [-1] * len(inc), [0] * len(inc)
    while left:
        reached, found = _levels(inc, var_to_eq, left, level)
        if found:
            for e in reached:
                position[e] = 0
            for e in left:
                _swap_path(inc, eq_to_var, var_to_eq, e, level, position)
        for e in reached:
            level[e] = -1
        if not found:
            break
        left = [e for e in left if eq_to_var[e] < 0]
    return left


def _cheap(
    inc: Sequence[Sequence[int]], eq_to_var: list[int], var_to_eq: list[int], unmatched: Iterable[int]
) -> list[int]:
    """Give every equation its first free variable; returns the equations that found none."""
    left = []
    for e in unmatched:
        for v in inc[e]:
            if var_to_eq[v] < 0:
                eq_to_var[e], var_to_eq[v] = v, e
                break
        else:
            left.append(e)
    return left


def _levels(
    inc: Sequence[Sequence[int]], var_to_eq: list[int], roots: list[int], level: list[int]
) -> tuple[list[int], bool]:
    """Set levels up to the first one that touches an unmatched variable; returns (equations reached, touched?)."""
    for e in roots:
        level[e] = 0
    reached, front, depth, found = list(roots), roots, 0, False
    while front and not found:
        depth += 1
        after = []
        for e in front:
            for v in inc[e]:
                other = var_to_eq[v]
                if other < 0:
                    found = True
                elif level[other] < 0:
                    level[other] = depth
                    after.append(other)
        reached += after
        front = after
    return reached, found


def _swap_path(
    inc: Sequence[Sequence[int]],
    eq_to_var: list[int],
    var_to_eq: list[int],
    root: int,
    level: list[int],
    position: list[int],
) -> None:
    """Depth-first along rising levels from `root`; swaps the path if it ends at an unmatched variable."""
    path = [root]
    while path:
        e = path[-1]
        row, p = inc[e], position[e]
        if p == len(row):
            level[e] = -1  # a dead end, for the other searches of this round too
            path.pop()
            continue
        position[e] = p + 1
        v = row[p]
        other = var_to_eq[v]
        if other < 0:
            for e in reversed(path):
                eq_to_var[e], var_to_eq[v], v = v, e, eq_to_var[e]
                level[e] = -1  # paths of one round share no equation
            return
        if level[other] == level[e] + 1:
            path.append(other)
