"""Variables that depend on themselves, from what each of them reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def in_loops(reads: Mapping[int, Iterable[int]]) -> set[int]:
    """Variables on a path from loop to loop, where each reads others; those in loops are among them."""
    left = {v: {w for w in own if w in reads} for v, own in reads.items()}
    while True:
        read = {w for own in left.values() for w in own}
        ends = {v for v, own in left.items() if not own or v not in read}
        if not ends:
            return set(left)
        left = {v: own - ends for v, own in left.items() if v not in ends}


def circle_of(v: int, reads: Mapping[int, Iterable[int]]) -> list[int]:
    """What v reads, through others or not, and that reads v so, with v itself; empty where v does not read itself."""
    readers: dict[int, list[int]] = {}
    for w, own in reads.items():
        for one in own:
            readers.setdefault(one, []).append(w)
    return sorted(_beyond(v, reads) & _beyond(v, readers))


def _beyond(v: int, follow: Mapping[int, Iterable[int]]) -> set[int]:
    """What can be reached from v in one step or more."""
    found: set[int] = set()
    stack = list(follow.get(v, ()))
    while stack:
        w = stack.pop()
        if w not in found:
            found.add(w)
            stack.extend(follow.get(w, ()))
    return found
