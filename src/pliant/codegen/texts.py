"""C text that makes a text with numbers in it: of a message, or of what an external function is given.

static void said_3(pl_text *s, const pl_real *v) {
    pl_text_put(s, "assertion failed: x = ");
    pl_text_real(s, v[0], 0.0, 1.0, 6.0);
}
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pliant.codegen.c_text import c_string
from pliant.texts import (
    UNSIGNED,
    WHOLE,
    CalledText,
    ChosenText,
    NumberText,
    OpenText,
    format_of,
)

Of = Callable[[int], str]  # C text of an operand


def calls_in(text: str) -> Iterator[Any]:
    """Calls of external functions whose results are parts of a text."""
    for part in text.parts if isinstance(text, OpenText) else ():
        if isinstance(part, CalledText):
            yield part.call
            for one in part.call.texts:
                yield from calls_in(one)
        elif isinstance(part, ChosenText):
            yield from calls_in(part.then)
            yield from calls_in(part.otherwise)


def statements(text: str, of: Of, number: Callable[[Any], int], indent: str = "    ") -> list[str]:
    """C statements that append a text to ``s``; ``number``: that of a call in its table."""
    lines: list[str] = []
    for part in text.parts if isinstance(text, OpenText) else (text,):
        if isinstance(part, str):
            lines.append(f"{indent}pl_text_put(s, {c_string(part)});" if part else "")
        elif isinstance(part, NumberText):
            lines += [indent + line for line in _number(part, of)]
        elif isinstance(part, ChosenText):
            inner = indent + "    "
            lines.append(f"{indent}if ({of(part.condition)} != 0.0) {{")
            lines += statements(part.then, of, number, inner)
            lines.append(f"{indent}}} else {{")
            lines += statements(part.otherwise, of, number, inner)
            lines.append(f"{indent}}}")
        else:
            given = ", ".join(map(of, part.operands)) or "0.0"
            lines.append(
                f"{indent}foreign_text(m, {number(part.call)}, {part.output}, (const pl_real[]){{{given}}}, s);"
            )
    return [line for line in lines if line]


def _number(part: NumberText, of: Of) -> list[str]:
    x, length, left, digits = map(of, part.operands)
    if part.form:
        return [_formatted(x, part.form)]
    if part.kind == "real":
        return [f"pl_text_real(s, {x}, {length}, {left}, {digits});"]
    if part.kind == "enumeration":
        literals = ", ".join(map(c_string, part.literals))
        given = f"{x}, {length}, {left}, (const char *const[]){{{literals}}}, {len(part.literals)}"
        return [f"pl_text_literal(s, {given});"]
    return [f"pl_text_{part.kind}(s, {x}, {length}, {left});"]


def _formatted(x: str, form: str) -> str:
    flags, width, precision, conversion = format_of(form)
    if conversion == "c":
        return f"pl_text_character(s, {x}, {c_string(f'%{flags}{width}c')});"
    odd = c_string(f"%{flags.replace('0', '').replace('#', '')}{width}s")
    if conversion not in WHOLE:
        return f"pl_text_formatted(s, {x}, {c_string(f'%{flags}{width}{precision}{conversion}')}, {odd});"
    format_ = c_string(f"%{flags}{width}{precision}ll{conversion}")
    return f"pl_text_whole(s, {x}, {format_}, {odd}, {int(conversion in UNSIGNED)});"


def of_vector(place: int) -> str:
    """An operand in the vector ``v``."""
    return f"v[{place}]"
