"""Errors of a model: what is wrong, where, in which instance, and by which section of the specification."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError

if TYPE_CHECKING:
    from pliant.frontend.modelica.syntax.tree import Node


def problem(
    message: str,
    node: Node | None = None,
    *,
    path: str = "",
    rule: str | None = None,
    hint: str = "",
) -> ModelError:
    """A ModelError with its place; ``path`` is the instance in which the class stands."""
    return ModelError(_placed(message, node, path, rule), hint=hint or _by_rule(rule), span=_span(node), rule=rule)


def unsupported(message: str, node: Node | None = None, *, path: str = "", hint: str = "") -> NotSupportedError:
    """Something that is Modelica, but not handled."""
    text = _placed(message, node, path, None)
    return NotSupportedError(text, hint=hint or "write the model without it", span=_span(node))


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest names, or nothing."""
    close = get_close_matches(name, list(known), 3, 0.6)
    return "did you mean " + " or ".join(f"`{one}`" for one in close) + "?" if close else ""


def _by_rule(rule: str | None) -> str:
    """What to try where a section of the specification is broken, by the longest section in the table."""
    parts = (rule or "").split(".")
    for n in range(len(parts), 0, -1):
        found = _HINTS.get(".".join(parts[:n]))
        if found is not None:
            return found
    return "compare the place with the declarations that it names"


_HINTS = {
    "3.4": "check the types of the operands",
    "3.6": "check the name against the declarations",
    "3.7": "check number, types and sizes of the arguments",
    "3.8": "use constants and parameters",
    "4.1": "use a public element",
    "4.4.4": "give it a value that is known before the simulation",
    "4.4.5": "use constants and parameters in conditions of components",
    "4.7": "use a class of another kind, or move the element out of it",
    "4.9": "check the value against the type of the attribute",
    "5.3": "check the name against the declarations",
    "6.4": "use a class that has all public elements of the other one",
    "7.1": "keep one of the two, or make them the same",
    "7": "change the modifier, or the declaration that it modifies",
    "8.3.1": "give both sides the same type and size",
    "8.3.2": "use constants and parameters in the range",
    "8.3.3": "connect always, or under a condition of parameters",
    "8.3.4": "write a Boolean scalar, such as a relation",
    "8.3.5": "write one clause with `elsewhen`, or two side by side",
    "8.3.6": "write `reinit(x, value)` with a state x",
    "8.3.7": 'write `assert(condition, "message")`',
    "8.3": "write an equation, `left = right`",
    "9": "connect connectors of one class, element by element",
    "10.1": "give the array a size made of constants and parameters",
    "10.4": "check the sizes of the parts",
    "10.5": "check the subscripts against the sizes in the declaration",
    "10": "check the types and sizes of the operands",
    "11.2.2": "write the range, `for i in 1:n loop`",
    "11.2.6": "write a Boolean scalar, such as a relation",
    "11": "check both sides of the assignment",
    "12.2": "move it to a model, or use inputs, outputs and protected variables",
    "12.4": "compare the call with the inputs and outputs of the function",
    "12.6": "compare the call with the fields of the record",
    "12.9": "see the section of the specification about external objects",
    "12": "see what a function may contain",
    "13": "check the path of the import",
    "14": "give the record an operator for these operands",
    "15": "name a stream variable of a connector with one flow variable",
}


def _span(node: Node | None):  # type: ignore[no-untyped-def]
    return None if node is None else node.span


def _placed(message: str, node: Node | None, path: str, rule: str | None) -> str:
    where = f" (in the instance `{path}`)" if path else ""
    section = f" [specification 3.6, section {rule}]" if rule else ""
    if node is None:
        return f"{message}{where}{section}"
    line, column = node.source.line_and_column(node.start)
    return f"{node.source.file}:{line}:{column}: {message}{where}{section}"
