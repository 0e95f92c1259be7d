"""The order of items inside one function: each target right after what it needs.

Values then live as short as possible: the compiler keeps them in registers, and few cross from part to part.
"""

from __future__ import annotations

from collections.abc import Iterator

from pliant.codegen.plan import Item, Key, Plan
from pliant.codegen.program import Columns, Newton, Solve


def order_on_demand(plan: Plan) -> list[Item]:
    """Items in depth-first order from the targets; early returns stay between their groups."""
    items = plan.items
    definer: dict[Key, int] = {}
    loop_item: dict[int, int] = {}
    for k, item in enumerate(items):
        for key in item.defines:
            definer[key] = k
        if isinstance(item.statement, Solve | Newton):
            loop_item[item.statement.loop] = k
    done = [False] * len(items)
    out: list[Item] = []

    def needed(k: int) -> Iterator[int]:
        item = items[k]
        keys = set(plan.reads(item))
        if item.inner is not None:
            own = {key for one in item.inner.items for key in one.defines} | set(item.defines)
            for one in item.inner.items:
                keys |= item.inner.reads(one) - own
        found = {definer[key] for key in keys if key in definer}
        if isinstance(item.statement, Columns) and item.statement.loop in loop_item:  # uses the factors of the loop
            found.add(loop_item[item.statement.loop])
        found.discard(k)
        return iter(sorted(found))

    def visit(first: int) -> None:
        if done[first]:
            return
        done[first] = True
        stack = [(first, needed(first))]
        while stack:
            k, rest = stack[-1]
            following = next((d for d in rest if not done[d]), None)
            if following is None:
                stack.pop()
                out.append(items[k])
            else:
                done[following] = True
                stack.append((following, needed(following)))

    for k, item in enumerate(items):
        if item.kind in ("target", "stop"):
            visit(k)
    for k in range(len(items)):  # values that are kept in memory without being targets
        visit(k)
    return out
