"""How much stack a step can use: the frames that the compiler states, added along the deepest chain of calls.

Functions of libraries have no stated frame: they are named, and the measured depth includes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pliant.realtime.target.elf import ElfFile


@dataclass(frozen=True)
class StackBound:
    """bytes: of the deepest chain (None: not known); outside: functions of libraries that it does not include."""

    bytes: int | None
    outside: tuple[str, ...]
    why: str  # nothing is known, where bytes is None


def frames(text: str) -> dict[str, tuple[int, str]]:
    """Function -> (bytes, kind) of what the compiler wrote with -fstack-usage."""
    out: dict[str, tuple[int, str]] = {}
    for line in text.splitlines():
        place, size, kind = line.rsplit("\t", 2)
        name = place.rsplit(":", 1)[1]
        out[name] = max((int(size), kind), out.get(name, (0, "")))  # clones of a function share a name
    return out


def stated_name(name: str, known: dict[str, tuple[int, str]]) -> str:
    """The name that frames have: symbols of functions that the compiler specialised end with a number more."""
    return name if name in known else re.sub(r"\.\d+$", "", name)


def stack_bound(object_file: ElfFile, usage: Path, roots: tuple[str, ...]) -> StackBound:
    """The deepest chain of calls from any of the roots."""
    if not usage.is_file():
        return StackBound(None, (), "the compiler states no frames")
    known, calls = frames(usage.read_text(errors="replace")), object_file.calls()
    outside: set[str] = set()
    depth: dict[str, int] = {}

    def walk(symbol: str, above: tuple[str, ...]) -> int:
        name = stated_name(symbol, known)
        if symbol in above:
            raise RecursionError(name)
        if name not in known:
            outside.add(symbol)
            return 0
        if symbol not in depth:
            size, kind = known[name]
            if kind.startswith("dynamic") and "bounded" not in kind:
                raise RecursionError(name)
            deeper = (walk(one, (*above, symbol)) for one in sorted(calls.get(symbol, ())))
            depth[symbol] = size + max(deeper, default=0)
        return depth[symbol]

    try:
        total = max((walk(name, ()) for name in roots if name in known), default=0)
    except RecursionError as error:
        return StackBound(None, (), f"the stack of {error} has no bound")
    return StackBound(total, tuple(sorted(outside)), "")
