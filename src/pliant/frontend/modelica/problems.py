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
    return ModelError(_placed(message, node, path, rule), hint=hint, span=_span(node), rule=rule)


def unsupported(message: str, node: Node | None = None, *, path: str = "", hint: str = "") -> NotSupportedError:
    """Something that is Modelica, but not handled."""
    text = _placed(message, node, path, None)
    return NotSupportedError(text, hint=hint or "write the model without it", span=_span(node))


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest names, or nothing."""
    close = get_close_matches(name, list(known), 3, 0.6)
    return "did you mean " + " or ".join(f"`{one}`" for one in close) + "?" if close else ""


def _span(node: Node | None):  # type: ignore[no-untyped-def]
    return None if node is None else node.span


def _placed(message: str, node: Node | None, path: str, rule: str | None) -> str:
    where = f" (in the instance `{path}`)" if path else ""
    section = f" [specification 3.6, section {rule}]" if rule else ""
    if node is None:
        return f"{message}{where}{section}"
    line, column = node.source.line_and_column(node.start)
    return f"{node.source.file}:{line}:{column}: {message}{where}{section}"
