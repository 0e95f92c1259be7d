"""Values of expressions from the values of what they are made of, each node once."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from typing import TypeVar

Value = TypeVar("Value")


def memoised(
    root: int, memo: MutableMapping[int, Value], below: Callable[[int], Sequence[int]], value: Callable[[int], Value]
) -> Value:
    """The value of ``root``: ``value(e)`` is asked once per node, when ``memo`` has the values of ``below(e)``.

    What is in ``memo`` is not looked into. Depth first and without recursion: expressions may be deep.
    """
    stack = [root]
    while stack:
        e = stack[-1]
        if e in memo:
            stack.pop()
            continue
        missing = [a for a in below(e) if a not in memo]
        if missing:
            stack.extend(missing)
        else:
            memo[e] = value(e)
            stack.pop()
    return memo[root]
