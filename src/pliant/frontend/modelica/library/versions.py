"""Versions of libraries (18.8): names of folders, annotations, and which version serves which request."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pliant.frontend.modelica.syntax.tree import (
    Annotation,
    ArrayConstructor,
    Expression,
    Modification,
    Modifier,
    StringLiteral,
)

_NUMBERED: Final = re.compile(r"(\d+(?:\.\d+)*)(?:[ -](.*))?", re.DOTALL)


@dataclass(frozen=True)
class Versions:
    """What the annotation of a top-level class says."""

    version: str = ""
    uses: tuple[tuple[str, str], ...] = ()  # library, version ("" where none is asked for)
    compatible: tuple[str, ...] = ()  # conversion(noneFromVersion = ...)
    convertible: tuple[str, ...] = ()  # conversion(from(version = ...)): only by changing the user's text

    def serves(self, wanted: str) -> bool:
        """Text written for that version can be used as it is."""
        return is_same(self.version, wanted) or any(is_same(one, wanted) for one in self.compatible)


def is_same(one: str, other: str) -> bool:
    """4.1 and 4.1.0 are the same version."""
    return _key(one) == _key(other)


def order_key(version: str) -> tuple[int, tuple[int, ...], int, str]:
    """Sorts versions: words, then numbers; a pre-release (`4.0 beta`) before its release."""
    match = _NUMBERED.fullmatch(version)
    if match is None:
        return (0, (), 0, version)
    return (1, _numbers(match[1]), 0 if match[2] else 1, match[2] or "")


def split_name(name: str) -> tuple[str, str]:
    """`Modelica 4.1.0` -> Modelica, 4.1.0; `Modelica` -> Modelica, no version."""
    word, _, version = name.partition(" ")
    return word, version.strip()


def read_versions(annotation: Annotation | None) -> Versions:
    """Version, uses and conversions of an annotation."""
    if annotation is None:
        return Versions()
    version = ""
    uses: list[tuple[str, str]] = []
    compatible: list[str] = []
    convertible: list[str] = []
    for one in _modifiers(annotation.arguments):
        if one.names == ("version",):
            version = next(_strings(one), "")
        elif one.names == ("uses",):
            for library in _below(one):
                asked = [text for entry in _below(library) if entry.names == ("version",) for text in _strings(entry)]
                uses.append((".".join(library.names), asked[0] if asked else ""))
        elif one.names == ("conversion",):
            for entry in _below(one):
                if entry.names == ("noneFromVersion",):
                    compatible += _strings(entry)
                elif entry.names == ("from",):
                    convertible += [
                        text for low in _below(entry) if low.names == ("version",) for text in _strings(low)
                    ]
    return Versions(version, tuple(uses), tuple(compatible), tuple(convertible))


def _key(version: str) -> tuple[tuple[int, ...], str]:
    match = _NUMBERED.fullmatch(version.strip())
    return ((), version.strip()) if match is None else (_numbers(match[1]), match[2] or "")


def _numbers(text: str) -> tuple[int, ...]:
    numbers = [int(one) for one in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _modifiers(arguments: tuple[object, ...]) -> Iterator[Modifier]:
    return (one for one in arguments if isinstance(one, Modifier))


def _below(modifier: Modifier) -> Iterator[Modifier]:
    modification: Modification | None = modifier.modification
    return _modifiers(modification.arguments) if modification is not None else iter(())


def _strings(modifier: Modifier) -> Iterator[str]:
    value: Expression | None = modifier.modification.value if modifier.modification is not None else None
    for one in value.elements if isinstance(value, ArrayConstructor) else (value,):
        if isinstance(one, StringLiteral):
            yield one.value
