"""Texts as values: what `String(...)` writes, and texts with numbers in them that are not known yet.

A text that is known is a ``str``. An :class:`OpenText` is a ``str``, too, with "…" in the place of what is not known;
its parts say how to make it once the numbers are: literals, numbers as `String(...)` writes them, choices between
texts, and results of external functions. Numbers in it are operands: expressions of a graph, or places in a vector.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pliant.errors import ModelError

OPEN = "…"  # in the place of what is not known yet
TOLD = ": it is "  # before the value that a message ends with
_FORMAT = re.compile(r"([-+ #0]*)(\d*)(\.\d+)?([diouxXeEfgGc])")
SIGNED, UNSIGNED, WHOLE = "di", "ouxX", "diouxXc"
_FULL = 2**32  # Integers have 32 bits, also where they are printed without a sign


@dataclass(frozen=True, slots=True)
class NumberText:
    """``String(value, minimumLength, leftJustified, significantDigits)``, or with a format of C without the `%`."""

    kind: str  # real, integer, boolean or enumeration
    value: int
    length: int
    left: int
    digits: int
    form: str = ""
    literals: tuple[str, ...] = ()

    @property
    def operands(self) -> tuple[int, ...]:
        """Value, then options."""
        return (self.value, self.length, self.left, self.digits)

    def rewritten(self, new: Callable[[int], int]) -> NumberText:
        """The same over other operands."""
        value, length, left, digits = map(new, self.operands)
        return NumberText(self.kind, value, length, left, digits, self.form, self.literals)

    def made(self, value: Callable[[int], float]) -> str:
        """The text, where all operands have values."""
        x, length, left, digits = map(value, self.operands)
        return as_text(
            typed(x, self.kind, self.literals), digits=int(digits), length=int(length), left=bool(left), form=self.form
        )


@dataclass(frozen=True, slots=True)
class ChosenText:
    """``if condition then a else b``."""

    condition: int
    then: str
    otherwise: str

    @property
    def operands(self) -> tuple[int, ...]:
        """The condition, then those of both texts."""
        return (self.condition, *operands_of(self.then), *operands_of(self.otherwise))

    def rewritten(self, new: Callable[[int], int]) -> ChosenText:
        """The same over other operands."""
        condition = new(self.condition)  # in the order of the operands
        return ChosenText(condition, rewritten(self.then, new), rewritten(self.otherwise, new))

    def made(self, value: Callable[[int], float]) -> str:
        """The text that is chosen."""
        return made(self.then if value(self.condition) else self.otherwise, value)


@dataclass(frozen=True, slots=True)
class CalledText:
    """A String that a pure external function gives (``ForeignCall``, number among its Strings)."""

    call: Any
    output: int
    operands: tuple[int, ...]

    def rewritten(self, new: Callable[[int], int]) -> CalledText:
        """The same over other operands."""
        return CalledText(self.call, self.output, tuple(map(new, self.operands)))

    def made(self, value: Callable[[int], float]) -> str:
        """What the function gives."""
        found: str = self.call.strings([value(e) for e in self.operands])[self.output]
        return found


Part = str | NumberText | ChosenText | CalledText


class OpenText(str):
    """A text with operands; as a ``str`` it shows "…" where they stand. Equal texts have equal parts."""

    __slots__ = ("parts",)
    parts: tuple[Part, ...]

    def __new__(cls, parts: Sequence[Part]) -> OpenText:
        """Parts in order."""
        found = super().__new__(cls, "".join(one if isinstance(one, str) else OPEN for one in parts))
        found.parts = tuple(parts)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """For pickles and copies."""
        return OpenText, (self.parts,)

    def __eq__(self, other: object) -> bool:
        """Parts count, not what is shown."""
        return isinstance(other, OpenText) and self.parts == other.parts

    def __ne__(self, other: object) -> bool:
        """Else ``str`` would answer."""
        return not self == other

    def __hash__(self) -> int:
        """Of the parts."""
        return hash(self.parts)


def operands_of(text: str) -> list[int]:
    """Expressions of the numbers in a text, in order; none where it is known."""
    if not isinstance(text, OpenText):
        return []
    return [e for part in text.parts if not isinstance(part, str) for e in part.operands]


def rewritten(text: str, new: Callable[[int], int]) -> str:
    """The text over other operands, asked for in the order of :func:`operands_of`."""
    if not isinstance(text, OpenText):
        return text
    return OpenText([part if isinstance(part, str) else part.rewritten(new) for part in text.parts])


def made(text: str, value: Callable[[int], float]) -> str:
    """The text with the values of its operands."""
    if not isinstance(text, OpenText):
        return text
    return "".join(part if isinstance(part, str) else part.made(value) for part in text.parts)


def joined(*texts: str) -> str:
    """One text behind the other."""
    parts: list[Part] = []
    for part in (one for text in texts for one in (text.parts if isinstance(text, OpenText) else (text,))):
        if isinstance(part, str) and parts and isinstance(parts[-1], str):
            parts[-1] += part
        elif part != "":
            parts.append(part)
    if all(isinstance(part, str) for part in parts):
        return "".join(part for part in parts if isinstance(part, str))
    return OpenText(parts)


def fits(shown: str, text: str) -> bool:
    """May a text be what one with "…" became?"""
    if OPEN not in shown:
        return shown == text
    return re.fullmatch(".*".join(map(re.escape, shown.split(OPEN))), text, re.DOTALL) is not None


# ------------------------------------------------------------------------------------------ String(...)


def typed(x: float, kind: str, literals: tuple[str, ...] = ()) -> bool | int | float | str:
    """A number as what it stands for."""
    if kind == "enumeration":
        return literals[int(x) - 1] if 1 <= x <= len(literals) else str(int(x))
    return bool(x) if kind == "boolean" else int(x) if kind == "integer" and math.isfinite(x) else x


def as_text(
    value: bool | int | float | str,
    *,
    digits: int = 6,
    length: int = 0,
    left: bool = True,
    form: str = "",
) -> str:
    """The text of a value (specification 3.6, section 3.7.1.1); ``form``: a format of C without the `%`, stands alone.

    >>> as_text(3.14159265, digits=4), as_text(True), as_text(7, length=3, left=False), as_text(2.5, form="6.3f")
    ('3.142', 'true', '  7', ' 2.500')
    """
    if form:
        return _formatted(value, form)
    if isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, float):
        text = f"{value:.{max(1, digits)}g}"
    else:
        text = str(value)
    return text.ljust(length) if left else text.rjust(length)


def format_of(form: str) -> tuple[str, str, str, str]:
    """Flags, width, precision and conversion of a format."""
    found = _FORMAT.fullmatch(form.removeprefix("%"))
    if not found:
        raise ModelError(f"`{form}` is no format for `String`", rule="3.7.1.1", hint='e.g. format = "6.3f"')
    flags, width, precision, conversion = found.groups()
    if conversion in UNSIGNED:
        flags = flags.replace("+", "").replace(" ", "")  # there is no sign
    return flags, width, precision or "", conversion


def _formatted(value: bool | int | float | str, form: str) -> str:
    """As `printf` of C writes it."""
    flags, width, precision, conversion = format_of(form)
    if isinstance(value, str):
        raise ModelError("a format is given for a value that is no number", rule="3.7.1.1", hint="leave it out")
    if not math.isfinite(value):  # no number has these digits
        return f"%{flags.replace('0', '').replace('#', '')}{width}f" % value
    if conversion not in WHOLE:
        return f"%{flags}{width}{precision}{conversion}" % float(value)
    return _whole(int(value), flags, int(width or 0), precision, conversion)


def _whole(value: int, flags: str, width: int, precision: str, conversion: str) -> str:
    """A whole number, which C writes otherwise than Python: 0 has no digits with the precision 0, and no prefix."""
    if conversion == "c":
        return f"%{flags}{width or ''}c" % value
    if conversion in UNSIGNED:
        value %= _FULL
    sign = "-" if value < 0 else "+" if "+" in flags else " " if " " in flags else ""
    least = int(precision[1:]) if precision else 1
    base = conversion if conversion in "oxX" else "d"
    digits = f"{abs(value):{base}}" if value or least else ""
    digits = digits.rjust(least, "0")
    if "#" in flags:
        digits = f"0{digits}" if conversion == "o" and not digits.startswith("0") else digits
        sign += f"0{conversion}" if conversion in "xX" and value else ""
    if "0" in flags and "-" not in flags and not precision:
        digits = digits.rjust(width - len(sign), "0")
    return (sign + digits).ljust(width) if "-" in flags else (sign + digits).rjust(width)
