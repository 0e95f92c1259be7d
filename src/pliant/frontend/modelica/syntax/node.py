"""What all nodes of a syntax tree have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, dataclass_transform

from pliant.frontend.modelica.syntax.source import Source

if TYPE_CHECKING:
    from pliant.ir import Span


@dataclass_transform(eq_default=False, frozen_default=True)
class _NodeType(type):
    """Gives a class of nodes its slots and a constructor of all fields, those of its base classes first."""

    def __new__(mcs, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _NodeType:
        inherited: tuple[str, ...] = bases[0].fields if bases else ()  # type: ignore[attr-defined]
        own = tuple(one for one, kind in space.get("__annotations__", {}).items() if not kind.startswith("ClassVar"))
        space["__slots__"] = own + space.pop("extra_slots", ())
        fields = inherited + own
        space["fields"] = fields
        if "__init__" not in space and own:
            stores = "".join(f"\n    self.{one} = {one}" for one in fields)
            made: dict[str, Any] = {}
            exec(f"def __init__(self, {', '.join(fields)}):{stores}", made)
            space["__init__"] = made["__init__"]
        return super().__new__(mcs, name, bases, space)


class Node(metaclass=_NodeType):
    """Anything that stands in a text."""

    source: Source
    start: int
    end: int

    fields: ClassVar[tuple[str, ...]]

    @property
    def span(self) -> Span:
        """File, line and column."""
        return self.source.span(self.start, self.end)

    @property
    def text(self) -> str:
        """As it was written."""
        return self.source.text[self.start : self.end]

    def __repr__(self) -> str:
        line, column = self.source.line_and_column(self.start)
        return f"<{type(self).__name__} {self.source.file}:{line}:{column} {self.text!r:.60}>"


set_field = object.__setattr__


def set_place(node: Node, source: Source, start: int, end: int) -> None:
    """Where a node stands; for constructors written by hand."""
    set_field(node, "source", source)
    set_field(node, "start", start)
    set_field(node, "end", end)
