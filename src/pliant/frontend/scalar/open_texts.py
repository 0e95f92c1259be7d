"""Texts made of parameters, such as ``"k = " + String(k)``: shown as "…", and made where they are needed.

In a message they may stay open, so that the parameter can be changed. A function or a comparison that is given one
needs it; then the parameters in it keep their values.
"""

from __future__ import annotations

from collections.abc import Callable

OPEN = "…"  # in the place of what is not known yet


class OpenText(str):
    """A text of which parameters are a part; ``make`` gives it, for a reason."""

    __slots__ = ("make",)
    make: Callable[[str], str]

    def __new__(cls, shown: str, make: Callable[[str], str]) -> OpenText:
        """``shown``: with "…" where a parameter stands."""
        found = super().__new__(cls, shown)
        found.make = make
        return found


def known_text(text: str, why: str) -> str | None:
    """The whole text; None where it changes during the simulation."""
    if isinstance(text, OpenText):
        return text.make(why)
    return None if OPEN in text else text


def joined(a: str, b: str) -> str:
    """One text behind the other."""
    if not isinstance(a, OpenText) and not isinstance(b, OpenText):
        return a + b
    if any(OPEN in one and not isinstance(one, OpenText) for one in (a, b)):
        return str(a) + str(b)  # changes during the simulation
    return OpenText(str.__add__(a, b), lambda why: (known_text(a, why) or "") + (known_text(b, why) or ""))
