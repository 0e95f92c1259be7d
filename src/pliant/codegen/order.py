"""The order of items inside one function: each target right after what it needs, the longest way there first.

Values then live as short as possible: the compiler keeps them in registers, and few cross from part to part. What takes
the longest chain of items is begun first, as in the numbering of Sethi & Ullman (J. ACM 17, 1970): the short chains
that come after it hold fewer values meanwhile. Calls of elementary functions go before the rest: around a call no value
can stay in a register. In long functions their values would wait too long.
"""

from __future__ import annotations

from itertools import groupby

from pliant.codegen.plan import PART, FunctionPlan, Key, PlanItem
from pliant.codegen.program import Columns, Newton, Solve


def order_on_demand(plan: FunctionPlan) -> list[PlanItem]:
    """Items in depth-first order from the targets; early returns stay between their groups."""
    items = plan.items
    needs = _needs(plan)
    height = _heights(needs)
    done = [False] * len(items)
    out: list[PlanItem] = []

    def visit(first: int) -> None:
        if done[first]:
            return
        done[first] = True
        stack = [(first, iter(sorted(needs[first], key=lambda d: (-height[d], d))))]
        while stack:
            k, rest = stack[-1]
            following = next((d for d in rest if not done[d]), None)
            if following is None:
                stack.pop()
                out.append(items[k])
            else:
                done[following] = True
                stack.append((following, iter(sorted(needs[following], key=lambda d: (-height[d], d)))))

    ends = [k for k, item in enumerate(items) if item.kind in ("target", "stop")]
    for is_stop, group in groupby(ends, lambda k: items[k].kind == "stop"):
        members = list(group)
        if not is_stop and len(items) <= 2 * PART:
            members = [*(k for k in _under(members, needs, done) if items[k].calls), *members]
        for k in members:
            visit(k)
    for k in range(len(items)):  # values that are kept in memory without being targets
        visit(k)
    return out


def _under(roots: list[int], needs: list[list[int]], done: list[bool]) -> list[int]:
    """Items that are still needed for the given ones."""
    found: set[int] = set()
    stack = list(roots)
    while stack:
        k = stack.pop()
        if k not in found and not done[k]:
            found.add(k)
            stack += needs[k]
    return sorted(found)


def _needs(plan: FunctionPlan) -> list[list[int]]:
    """Item -> items that must come before."""
    items = plan.items
    definer: dict[Key, int] = {}
    loop_item: dict[int, int] = {}
    for k, item in enumerate(items):
        for key in item.defines:
            definer[key] = k
        if isinstance(item.statement, Solve | Newton):
            loop_item[item.statement.loop] = k
    needs: list[list[int]] = []
    for k, item in enumerate(items):
        keys = plan.reads(item)
        if item.inner is not None:
            own = {key for one in item.inner.items for key in one.defines} | set(item.defines)
            keys = keys.union(*(item.inner.reads(one) - own for one in item.inner.items))
        found = {definer[key] for key in keys if key in definer}
        if isinstance(item.statement, Columns) and item.statement.loop in loop_item:  # uses the factors of the loop
            found.add(loop_item[item.statement.loop])
        found.discard(k)
        needs.append(list(found))
    return needs


def _heights(needs: list[list[int]]) -> list[int]:
    """Longest chain of items up to each one."""
    height = [0] * len(needs)
    for first in range(len(needs)):
        stack = [first]
        while stack:
            k = stack[-1]
            missing = [d for d in needs[k] if not height[d]]
            if missing and not height[k]:
                stack += missing
            else:
                stack.pop()
                height[k] = 1 + max((height[d] for d in needs[k]), default=0)
    return height
