"""Texts over the graph of a model: made of numbers that may change, chosen, compared.

A text made of parameters alone, such as ``"k = " + String(k)``, stays open in messages, so that the parameters can be
changed. Where a text must be known now, the parameters in it keep their values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import binary, choose, const, value_of
from pliant.foreign.calls import CSignature, ForeignArgument, ForeignCall, ForeignType
from pliant.frontend.scalar.dependence import PARAM
from pliant.ir import Graph, Op, Span
from pliant.texts import (
    OPEN,
    ChosenText,
    NumberText,
    OpenText,
    Part,
    format_of,
    joined,
    made,
    operands_of,
    rewritten,
)

if TYPE_CHECKING:
    from pliant.frontend.scalar.interpret import Interpreter

MOST_CASES = 500  # ways in which two texts are compared by their choices
_TEXT = ForeignArgument(ForeignType("string"))
COMPARISON = CSignature(
    "comparison of texts",
    "strcmp",
    arguments=(_TEXT, _TEXT),
    result=ForeignType("integer"),
    include="#include <string.h>",
)


def number_text(run: Interpreter, kind: str, literals: tuple[str, ...], given: list[Any]) -> str:
    """String(x, minimumLength, leftJustified, significantDigits, format): known now, or a text with operands."""
    g = run.g
    x, *options = given
    defaults: list[Any] = [const(g, 0.0), const(g, 1.0), const(g, 6.0), ""]
    length, left, digits, form = [*options, *defaults[len(options) :]]
    form = known_text(run, form, "a format is made of it")
    if form is None:
        raise NotSupportedError("the format of a String changes during the simulation", hint="give it a constant text")
    if form:
        format_of(form)
    if isinstance(x, str):
        return _padded(run, x, length, left)
    return settled(g, OpenText([NumberText(kind, x, length, left, digits, form, literals)]))


def plain_number(g: Graph, e: int) -> str:
    """String(e) of an Integer."""
    zero, one, six = (const(g, x) for x in (0.0, 1.0, 6.0))
    return settled(g, OpenText([NumberText("integer", e, zero, one, six)]))


def _padded(run: Interpreter, text: str, length: int, left: int) -> str:
    """A text of at least some length."""
    if value_of(run.g, length) == 0.0:
        return text
    known = known_text(run, text, "it is made longer")
    if known is None:
        raise NotSupportedError("a String that changes is made longer", hint="give the length where it is made")
    n = run.integer(length, "the length of a String")
    return known.ljust(n) if run.number(left, "the side of a String") else known.rjust(n)


def settled(g: Graph, text: str) -> str:
    """The text with what is known of it put in."""
    return joined(*(_settled(g, part) for part in text.parts)) if isinstance(text, OpenText) else text


def _settled(g: Graph, part: Part) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, ChosenText):
        known = value_of(g, part.condition)
        if known is not None:
            return settled(g, part.then if known else part.otherwise)
        return selected(part.condition, settled(g, part.then), settled(g, part.otherwise))
    values = {e: value_of(g, e) for e in part.operands}
    if any(known is None for known in values.values()):
        return OpenText([part])
    return part.made(lambda e: float(values[e] or 0.0))


def is_open(run: Interpreter, text: str) -> bool:
    """It depends on more than parameters."""
    return any(run.masks.of(e) & ~PARAM for e in operands_of(text))


def known_text(run: Interpreter, text: str, why: str) -> str | None:
    """The whole text; None where it changes during the simulation."""
    if is_open(run, text):
        return None
    return made(text, lambda e: run.number(e, why))


def shown_now(run: Interpreter, text: str) -> str:
    """For a message that is given now: with what is known, or the values that parameters have."""
    try:
        return known_text(run, text, "a message is made of it") or str(text)
    except (ModelError, NotSupportedError):
        return str(text)


def message_of(run: Interpreter, e: int) -> str:
    """What a message says; "…" where it cannot be made."""
    try:
        found = run.value(e)
    except NotSupportedError:
        found = OPEN
    return settled(run.g, found) if isinstance(found, str) else OPEN


def selected(condition: int, a: str, b: str) -> str:
    """``if condition then a else b``."""
    return a if a == b else OpenText([ChosenText(condition, a, b)])


# --------------------------------------------------------------------------------------------- comparisons


def compared(run: Interpreter, operator: str, a: str, b: str, span: Span | None) -> int:
    """A relation between texts: over their choices where these say all, else by comparing what they become."""
    g = run.g
    a, b = settled(g, a), settled(g, b)
    if operator == "<>":
        return binary(g, Op.EQ, compared(run, "==", a, b, span), const(g, 0.0))
    if operator in (">", ">="):
        return compared(run, {">": "<", ">=": "<="}[operator], b, a, span)
    if _cases(a) * _cases(b) > MOST_CASES:
        return _compared_when_made(run, operator, a, b, span)
    return _by_choices(run, operator, a, b, span)


def _by_choices(run: Interpreter, operator: str, a: str, b: str, span: Span | None) -> int:
    if a == b:
        return const(run.g, float(operator != "<"))
    if not isinstance(a, OpenText) and not isinstance(b, OpenText):
        return const(run.g, float(operator != "==" and a < b))
    for one, other, is_first in ((a, b, True), (b, a, False)):
        found = _first_choice(run.g, one)
        if found is not None:
            condition, *sides = found
            pairs = [(side, other) if is_first else (other, side) for side in sides]
            yes, no = (_by_choices(run, operator, x, y, span) for x, y in pairs)
            return choose(run.g, condition, yes, no)
    known = _equal_parts(run.g, a, b) if operator == "==" else None
    return _compared_when_made(run, operator, a, b, span) if known is None else known


def _equal_parts(g: Graph, a: str, b: str) -> int | None:
    """Whether texts are equal, where literals or a whole number say so; None: that shows when they are made."""
    x, y = ([*one.parts] if isinstance(one, OpenText) else [one] for one in (a, b))
    for end in (0, -1):
        while x and y and isinstance(p := x[end], str) and isinstance(q := y[end], str):
            n = min(len(p), len(q))
            if (p[:n] != q[:n]) if end == 0 else (p[len(p) - n :] != q[len(q) - n :]):
                return const(g, 0.0)
            for side, part in ((x, p), (y, q)):
                rest = part[n:] if end == 0 else part[: len(part) - n]
                side[end : end + 1 or None] = [rest] if rest else []
    if not x or not y:
        is_more = any(isinstance(part, (str, NumberText)) for part in (*x, *y))  # no number is written as nothing
        return const(g, float(not is_more)) if is_more or not (x or y) else None
    if len(x) > 1 or len(y) > 1:
        return None
    p, q = (y[0], x[0]) if isinstance(x[0], str) else (x[0], y[0])
    if not isinstance(p, NumberText) or p.kind != "integer" or p.form:
        return None
    if isinstance(q, NumberText) and (p.kind, p.form, p.operands[1:]) == (q.kind, q.form, q.operands[1:]):
        return binary(g, Op.EQ, p.value, q.value)
    if isinstance(q, str) and value_of(g, p.length) == 0.0:
        is_whole = q.lstrip("-").isdecimal() and str(int(q)) == q
        return binary(g, Op.EQ, p.value, const(g, float(q))) if is_whole else const(g, 0.0)
    return None


def _cases(text: str) -> int:
    """How many texts its choices lead to."""
    n = 1
    for part in text.parts if isinstance(text, OpenText) else ():
        if isinstance(part, ChosenText):
            n *= _cases(part.then) + _cases(part.otherwise)
        elif _is_few(part):
            n *= max(2, len(part.literals))  # type: ignore[union-attr]
    return n


def _is_few(part: Part) -> bool:
    """A Boolean, or a value of an enumeration, written the plain way."""
    return isinstance(part, NumberText) and part.kind in ("boolean", "enumeration") and not part.form


def _first_choice(g: Graph, text: str) -> tuple[int, str, str] | None:
    """The first choice in a text: its condition, and the text where it holds, and where it does not."""
    if not isinstance(text, OpenText):
        return None
    for k, part in enumerate(text.parts):
        if isinstance(part, NumberText) and _is_few(part):
            part = _spelled(g, part)
        if isinstance(part, ChosenText):
            before, behind = OpenText(text.parts[:k]), OpenText(text.parts[k + 1 :])
            yes, no = (joined(before, side, behind) for side in (part.then, part.otherwise))
            return part.condition, yes, no
    return None


def _spelled(g: Graph, part: NumberText) -> Part:
    """A choice between the values that there are."""
    values = [1.0, 0.0] if part.kind == "boolean" else [float(k) for k in range(1, len(part.literals) + 1)]
    if any(value_of(g, e) is None for e in part.operands[1:]):
        return part
    texts = [
        part.made(lambda e, x=x: x if e == part.value else float(value_of(g, e) or 0.0))  # type: ignore[misc]
        for x in values
    ]
    found: str = texts[-1]
    for x, text in zip(reversed(values[:-1]), reversed(texts[:-1]), strict=True):
        found = selected(binary(g, Op.EQ, part.value, const(g, x)), text, found)
    return found.parts[0] if isinstance(found, OpenText) else found


def _compared_when_made(run: Interpreter, operator: str, a: str, b: str, span: Span | None) -> int:
    """The comparison is a call, which makes both texts."""
    g = run.g
    operands: list[int] = []
    texts = tuple(placed(one, operands) for one in (a, b))
    key = (COMPARISON, texts)
    call = run.comparisons.get(key)
    if call is None:
        n = len(operands)
        call = run.comparisons[key] = ForeignCall(COMPARISON, n, 1, texts, n_text_args=n, span=span)
    node = g.intern((Op.FOREIGN, call, 0, *operands))
    op = {"==": Op.EQ, "<": Op.LT, "<=": Op.LE}[operator]
    return binary(g, op, node, const(g, 0.0))


def placed(text: str, operands: list[int]) -> str:
    """The text over places in a list of operands, to which its own are added."""

    def place(e: int) -> int:
        operands.append(e)
        return len(operands) - 1

    return rewritten(text, place)
