"""Values as `String(...)` writes them (specification 3.6, section 3.7.1.1), for every part that knows a value."""

from __future__ import annotations

import re

from pliant.errors import ModelError

_FORMAT = re.compile(r"[-+ #0]*\d*(\.\d+)?[diouxXeEfgGcs]")


def as_text(
    value: bool | int | float | str,
    *,
    digits: int = 6,
    length: int = 0,
    left: bool = True,
    form: str = "",
) -> str:
    """The text of a value; ``form`` is a format of C without the `%` and stands alone.

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


def _formatted(value: bool | int | float | str, form: str) -> str:
    form = form.removeprefix("%")
    if not _FORMAT.fullmatch(form) or isinstance(value, str):
        raise ModelError(f"`{form}` is no format for `String`", rule="3.7.1.1", hint='e.g. format = "6.3f"')
    return f"%{form}" % (int(value) if form[-1] in "diouxXc" else float(value))
