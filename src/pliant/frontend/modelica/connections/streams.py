"""Stream connectors (chapter 15): what inStream and actualStream stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.modelica.connections.sets import Sets
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.problems import unsupported
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator


class Streams:
    """Mixing of what flows into a connection."""

    def __init__(self, translator: Translator, sets: Sets) -> None:
        self.out, self.sets = translator, sets

    def expression(self, name: str, node: tree.Call, context: Context) -> int:
        """inStream(v) or actualStream(v)."""
        raise unsupported("stream connectors", node, path=context.path)

    def equations(self) -> None:
        """Equations of stream variables of connectors seen from outside."""


_: Any = None
