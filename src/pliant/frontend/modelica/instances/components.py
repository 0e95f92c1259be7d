"""Components of instances: variables, arrays of instances, and what is not there.

Var     a variable of a primitive type, also an array of such
Many    an array of instances
ABSENT  a component whose condition is false
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.modelica.instances.classes import ClassMember, ClassUse, Core
from pliant.frontend.modelica.instances.mods import Bound, Mod, value_of
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax.tree import FINAL, PROTECTED, Component

if TYPE_CHECKING:
    from pliant.frontend.modelica.instances.inst import Inst

VARIABILITY = {"constant": 0, "parameter": 1, "discrete": 2, "": 3}


class Absent:
    """A component that is not there."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class Var:
    """A variable of a primitive type."""

    __slots__ = (
        "_shape",
        "causality",
        "cls",
        "connection",
        "dims",
        "element",
        "evaluated",
        "is_final",
        "is_protected",
        "mod",
        "name",
        "node",
        "number",
        "parent",
        "path",
        "primitive",
        "sizes_found",
        "value",
        "variability",
        "world",
    )

    causality: str
    connection: str
    is_final: bool
    is_protected: bool
    variability: int
    sizes_found: list[int]  # while the shape is being found: of the first dimensions

    def __init__(
        self,
        parent: Inst,
        element: ClassMember,
        node: Component,
        cls: ClassUse,
        mod: Mod,
        dims: list[Any],
        old: Component,
    ) -> None:
        self.parent, self.element, self.node, self.cls, self.mod = parent, element, node, cls, mod
        self.world = parent.world
        self.name = element.name
        self.path = f"{parent.path}.{element.name}" if parent.path else element.name
        primitive = cls.primitive
        assert primitive is not None
        self.primitive: Core = primitive
        table = cls.core.table
        self.dims = dims
        if table.primitive_mods:
            static = cls.instance
            self.mod = mod + tuple(Bound(t, s or static.scope(n)) for n, t, s in table.primitive_mods)
        self._shape: tuple[int, ...] | None = None if self.dims else ()
        self.number = -1
        self.sizes_found = []
        self.value: Any = None
        self.evaluated = ""
        set_prefixes(self, parent, element, node, old, cls)

    def __repr__(self) -> str:
        return f"<variable {self.path}>"

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes, found at the first use."""
        if self._shape is None:
            key = self.element.name + "[]"
            if key in self.parent.pending:
                text = f"the size of `{self.path}` depends on itself"
                raise problem(text, self.node, path=self.parent.path, rule="10.1", hint="give the size as a number")
            self.parent.pending.add(key)
            try:
                self._shape = self.world.values.sizes(self.dims, self.binding, self.path, self.node, self.sizes_found)
            finally:
                self.parent.pending.discard(key)
                self.sizes_found = []
        return self._shape

    @property
    def binding(self) -> Bound | None:
        """The value in its declaration or of the outermost modifier."""
        return value_of(self.mod)

    def attribute(self, name: str) -> Bound | None:
        """The modifier of `start`, `min`, ..."""
        for one in self.mod:
            if one.fields:
                continue
            template = one.template.subs.get(name)
            if template is not None and template.value is not None:
                return Bound(template, one.scope, () if template.each else one.index)
        return None

    @property
    def base(self) -> str:
        """Real, Integer, Boolean, String, Clock, ExternalObject or enumeration."""
        return self.primitive.builtin or "enumeration"


class Many:
    """An array of instances, in the order of the last index running first."""

    __slots__ = ("cls", "element", "elements", "name", "node", "parent", "path", "shape")

    def __init__(
        self,
        parent: Inst,
        element: ClassMember,
        node: Component,
        cls: ClassUse,
        shape: tuple[int, ...],
        elements: list[Inst],
    ) -> None:
        self.parent, self.element, self.node, self.cls = parent, element, node, cls
        self.shape, self.elements = shape, elements
        self.name = element.name
        self.path = f"{parent.path}.{element.name}" if parent.path else element.name

    def __repr__(self) -> str:
        return f"<array {self.path}{list(self.shape)}>"

    def at(self, index: tuple[int, ...]) -> Inst:
        """One element, indices from 1."""
        place = 0
        for k, n in zip(index, self.shape, strict=True):
            place = place * n + k - 1
        return self.elements[place]


def set_prefixes(made: Any, parent: Inst, element: ClassMember, node: Component, old: Any, cls: ClassUse) -> None:
    """Prefixes of a component, with those of its class and of what holds it."""
    made.element, made.node = element, node
    made.is_protected = element.is_protected or bool(node.prefixes & PROTECTED) or parent.is_protected
    made.is_final = bool(node.prefixes & FINAL) or parent.is_final
    made.variability = min(
        VARIABILITY[node.variability or (old.variability if old is not node else "")], parent.variability
    )
    made.causality = node.causality or old.causality or cls.causality or parent.causality
    made.connection = node.connection or old.connection or parent.connection
