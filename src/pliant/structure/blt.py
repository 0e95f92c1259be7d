"""Block lower triangular form: in which order matched equations are evaluated, and which ones only together.

Equation e needs the equations that determine its other variables: edges e -> var_to_eq[v] for v in inc[e]. Its strongly
connected components are the blocks (algebraic loops, or single equations); they and their order do not depend on which
maximum matching was taken. Tarjan (SIAM J. Computing 1, 1972, 146-160) finds a component only after all those that it
needs, so the order of discovery is an order of evaluation.

    order[e]   when e was visited, 0 not yet
    low[e]     the earliest visited equation of an unfinished component known to be reachable from e
    open       equations whose component is not complete

Deviation: the recursion is a list of iterators, since a chain of equations is as deep as it is long.
"""

from __future__ import annotations

from collections.abc import Sequence


def sort_blocks(inc: Sequence[Sequence[int]], eq_to_var: Sequence[int], var_to_eq: Sequence[int]) -> list[list[int]]:
    """Blocks of equations in evaluation order, ids ascending inside a block.

    Unmatched variables count as known; an unmatched equation is a block by itself.
    """
    n = len(inc)
    order, low, is_open = [0] * n, [0] * n, [False] * n
    opened: list[int] = []
    blocks: list[list[int]] = []
    visited = 0
    for root in range(n):
        if order[root]:
            continue
        visited += 1
        order[root] = low[root] = visited
        opened.append(root)
        is_open[root] = True
        path, rows = [root], [iter(inc[root])]
        while path:
            e = path[-1]
            for v in rows[-1]:
                other = var_to_eq[v]
                if other < 0:
                    continue
                if not order[other]:
                    visited += 1
                    order[other] = low[other] = visited
                    opened.append(other)
                    is_open[other] = True
                    path.append(other)
                    rows.append(iter(inc[other]))
                    break
                if is_open[other] and order[other] < low[e]:
                    low[e] = order[other]
            else:
                path.pop()
                rows.pop()
                if path and low[e] < low[path[-1]]:
                    low[path[-1]] = low[e]
                if low[e] == order[e]:
                    blocks.append(_close(e, opened, is_open))
    return blocks


def _close(e: int, opened: list[int], is_open: list[bool]) -> list[int]:
    """Take the finished component, of which e was visited first, off the list of open equations."""
    block = []
    while True:
        other = opened.pop()
        is_open[other] = False
        block.append(other)
        if other == e:
            block.sort()
            return block
