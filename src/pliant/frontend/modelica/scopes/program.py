"""Where classes are found: the user's text, libraries, predefined types; and the rules of look-up (chapter 5).

A simple name is looked up in the elements of the class (inherited ones included), then in its imports, then in the
class around it, up to one that is encapsulated; predefined names are found from everywhere. Of a composite name the
first part is looked up by that rule, the others are members of what was found.
"""

from __future__ import annotations

import re
from typing import Any

from pliant.frontend.modelica.instances.classes import ClassMember, ClassTable, ClassUse, Core, Scope
from pliant.frontend.modelica.instances.components import Many
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.mods import Mod, bound
from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.library.root import ClassRoot
from pliant.frontend.modelica.problems import nearest, problem
from pliant.frontend.modelica.scopes.predefined import PREDEFINED, PRIMITIVE
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tree import (
    ENCAPSULATED,
    REPLACEABLE,
    ClassDefinition,
    Component,
    DerivativeClass,
    Enumeration,
    Extends,
    Node,
    Reference,
    ShortClass,
)

_PARTS = re.compile(r"'(?:[^'\\]|\\.)*'|[^.]+")


def name_parts(name: str) -> list[str]:
    """The words of a full name; quoted ones may have dots in them."""
    return _PARTS.findall(name)


class Found:
    """A component: of an instance, by name."""

    __slots__ = ("element", "inst")

    def __init__(self, inst: Inst, element: ClassMember) -> None:
        self.inst, self.element = inst, element


class World:
    """All classes that one model can name."""

    def __init__(self, root: ClassRoot) -> None:
        from pliant.frontend.modelica.values.evaluate import Values

        self.root = root
        self.sources: set[Source] = set()  # texts that classes were taken from
        self.tops: dict[str, ClassUse | None] = {}
        self.opening: set[Core] = set()
        self.added: list[Inst] = []  # inner components that no one declared
        self.values = Values(self)

    # ------------------------------------------------------------------------------------------------- classes

    def top(self, name: str) -> ClassUse | None:
        """A top-level class: of the text, of a library, or predefined."""
        if name in self.tops:
            return self.tops[name]
        entry = PREDEFINED.get(name)
        if entry is None:
            entry = self.root.top(name)
        found = None
        if entry is not None:
            if name in PRIMITIVE and entry is PREDEFINED.get(name):
                found = ClassUse(Core(self, entry, None, builtin=name), ())
            else:
                found = self.make_class(entry, None, (), None)
        self.tops[name] = found
        return found

    def make_class(
        self, entry: ClassEntry, scope: Scope | None, mod: Mod, original: ClassUse | None, under: Mod = ()
    ) -> ClassUse:
        """The class of a definition that stands in a scope; a short class is the class it names, modified.

        `mod` overrides the modifiers of the definition, and those override `under`: what a constraint asks for (7.3.2).
        """
        definition = entry.definition
        self.sources.add(definition.source)
        if isinstance(definition, Enumeration):
            for literal in definition.literals or ():
                if literal.name in ("quantity", "min", "max", "start", "fixed"):
                    text = f"`{literal.name}` is an attribute and cannot be a value of an enumeration"
                    raise problem(text, literal, rule="4.9.5", hint="choose another name")
        if not isinstance(definition, ShortClass):
            return ClassUse(Core(self, entry, scope, original), mod + under)
        where = scope if scope is not None else self._outermost(entry)
        base = self.lookup_class(definition.base, where)
        own = bound(definition.modification, where)
        total = mod + own + under + base.mod
        dims = (*((one, where) for one in definition.dimensions), *base.own_dims)
        if (
            definition.kind == "type"
            and base.primitive is None
            and base.kind in ("model", "block", "package", "function")
        ):
            text = f"`{definition.name}` is a type, `{base.name}` is a {base.kind}"
            raise problem(text, definition, rule="4.7", hint=f"write `{base.kind} {definition.name} = ...`")
        kind = definition.kind if definition.kind != "class" or "function" in base.kind else base.kind
        if kind == "type":
            kind = base.kind
        is_same = total == base.mod and dims == base.own_dims and not definition.causality
        if is_same and kind == base.kind != "type":
            return base
        name = entry.full_name if base.primitive is not None else ""
        return ClassUse(base.core, total, dims, definition.causality or base.causality, kind, name or base.name)

    def _outermost(self, entry: ClassEntry) -> Scope:
        core = Core(self, entry, None)
        core._table = ClassTable()
        from pliant.frontend.modelica.instances.classes import Layer

        core._table.layers.append(Layer(0, entry, None))
        return core.static.scope(0)

    # ------------------------------------------------------------------------------------------------- look-up

    def find(self, name: str, scope: Scope) -> ClassUse | Found | None:
        """What a simple name stands for; None where nothing is found."""
        at: Scope | None = scope
        while at is not None:
            layer = at.layer
            if name in layer.names:
                return self._member(at, name)
            if name in layer.imports:
                return self.imported(layer.imports[name][0], layer.imports[name][1])
            if layer.stars:
                found = self._stars(layer.stars, name)
                if found is not None:
                    return found
            if layer.is_encapsulated:
                return self.top(name) if name in PREDEFINED else None
            at = layer.up
        return self.top(name)

    def _member(self, at: Scope, name: str) -> ClassUse | Found | None:
        inst = at.inst
        element = inst.core.table.elements.get(name)
        if element is None:
            return None
        if element.is_class:
            return inst.class_member(name)
        return Found(inst, element)

    def imported(self, names: tuple[str, ...], node: Node, *, is_whole: bool = False) -> ClassUse | Found:
        """What an import clause names (13.2.1)."""
        cls = self.top(names[0])
        if cls is None:
            raise problem(f"`{names[0]}` cannot be imported: there is no such class", node, rule="13.2.1")
        for k, name in enumerate(names[1:], 1):
            if cls.kind != "package" and k == len(names) - 1 and not is_whole:
                text = f"`{'.'.join(names[:k])}` is a {cls.kind}: only elements of packages can be imported"
                raise problem(text, node, rule="13.2.1", hint="name the class in full where it is used")
            declared = cls.core.table.elements.get(name)
            if declared is not None and declared.is_protected:
                raise problem(f"`{'.'.join(names)}` is protected and cannot be imported", node, rule="13.2.1")
            inner = cls.instance.class_member(name)
            if inner is None:
                element = cls.core.table.elements.get(name)
                if element is not None and k == len(names) - 1:
                    return Found(cls.instance, element)
                text = f"`{'.'.join(names[: k + 1])}` cannot be imported: there is no such class"
                raise problem(text, node, rule="13.2.1", hint=nearest(name, cls.core.table.elements))
            cls = inner
        return cls

    def _stars(self, stars: list[Any], name: str) -> ClassUse | Found | None:
        hits = [(star, found) for star in stars if (found := self._star(star, name)) is not None]
        if len(hits) > 1 and _definition(hits[0][1]) is not _definition(hits[1][1]):
            text = f"`{name}` is imported by two clauses with `.*`"
            raise problem(text, hits[1][0], rule="13.2.1", hint="import it by its name")
        return hits[0][1] if hits else None

    def _star(self, star: Any, name: str) -> ClassUse | Found | None:
        cls = self.imported(star.names, star, is_whole=True)
        if isinstance(cls, Found):
            raise problem("only packages can be imported with `.*`", star, rule="13.2.1")
        if cls.kind != "package":
            text = f"`{cls.name}` is a {cls.kind}: only packages can be imported with `.*`"
            raise problem(text, star, rule="13.2.1")
        element = cls.core.table.elements.get(name)
        if element is None or element.is_protected:
            return None
        return cls.instance.class_member(name) if element.is_class else Found(cls.instance, element)

    def lookup_class(self, ref: Reference, scope: Scope, *, by_classes: bool = False) -> ClassUse:
        """The class that a name stands for; an error where there is none. `by_classes`: no part is a component."""
        names = ref.names
        found: Any = self.top(names[0]) if ref.rooted else self.find(names[0], scope)
        if found is None:
            raise self._missing(names[0], ref, scope)
        for k, name in enumerate(names[1:], 1):
            if isinstance(found, Found):
                if by_classes:
                    text = (
                        f"`{ref.dotted}`: `{'.'.join(names[:k])}` is a component, and a base class is found by classes"
                    )
                    raise problem(text, ref, path=scope.inst.path, rule="5.3.2", hint="name the class of the component")
                if found.element.node.condition is not None:  # type: ignore[union-attr]
                    text = f"`{'.'.join(names[:k])}` has a condition: nothing in it can be named but in connections"
                    hint = "declare it without condition"
                    raise problem(text, ref, path=scope.inst.path, rule="4.4.5", hint=hint)
                found = found.inst.meant(found.element)
                if isinstance(found, Many):
                    text = f"`{'.'.join(names[:k])}` is an array: its classes cannot be named"
                    raise problem(text, ref, path=scope.inst.path, rule="5.3.2")
                if not isinstance(found, Inst):
                    raise problem(f"`{'.'.join(names[:k])}` has no classes", ref, path=scope.inst.path, rule="5.3.2")
                inst = found
            else:
                inst = found.instance if isinstance(found, ClassUse) else found
                self._check_inside(found, name, ref, scope)
            inner: Any = inst.class_member(name)
            if inner is None:
                element = inst.core.table.elements.get(name)
                if element is None:
                    raise problem(
                        f"`{'.'.join(names[: k + 1])}`: `{inst.cls.name}` has no element `{name}`",
                        ref,
                        path=scope.inst.path,
                        rule="5.3.2",
                        hint=nearest(name, inst.core.table.elements),
                    )
                inner = Found(inst, element)
            found = inner
        if isinstance(found, Found):
            text = f"`{ref.dotted}` is a component, a class is needed"
            raise problem(text, ref, path=scope.inst.path, rule="5.3", hint="name a class")
        assert isinstance(found, ClassUse)
        return found

    def _check_inside(self, cls: ClassUse, name: str, ref: Reference, scope: Scope) -> None:
        """Protected classes, and those of classes that are no packages, cannot be reached from outside (5.3.2)."""
        element = cls.core.table.elements.get(name)
        if element is None:
            return
        if element.is_protected:
            text = f"`{ref.dotted}`: `{name}` of `{cls.name}` is protected"
            raise problem(text, ref, path=scope.inst.path, rule="4.1", hint="use a public element")
        is_class = element.is_class and element.node is not None
        if is_class and cls.kind in ("model", "block", "class") and not element.node.prefixes & ENCAPSULATED:
            text = f"`{ref.dotted}`: `{cls.name}` is no package, so that `{name}` must be encapsulated to be found"
            raise problem(text, ref, path=scope.inst.path, rule="5.3.2", hint="move it to a package")

    def _missing(self, name: str, ref: Node, scope: Scope) -> Exception:
        known: set[str] = set()
        at: Scope | None = scope
        while at is not None:
            known |= at.layer.names | set(at.layer.imports)
            at = at.layer.up
        return problem(
            f"the class `{name}` is not found",
            ref,
            path=scope.inst.path,
            rule="5.3.1",
            hint=nearest(name, known | set(PREDEFINED)) or "declare it, import it, or add its library to MODELICAPATH",
        )

    def component_class(self, ref: Reference, scope: Scope) -> ClassUse:
        """The class of a component."""
        found = self.lookup_class(ref, scope)
        if found.kind in ("package", "function", "operator", "operator function"):
            text = f"`{ref.dotted}` is a {found.kind}: it cannot have components"
            raise problem(text, ref, path=scope.inst.path, rule="4.7", hint="name a model, record, type, ...")
        return found

    def derived_function(self, core: Core, node: DerivativeClass) -> ClassUse:
        """The function of which `node` is a partial derivative."""
        found = self.lookup_class(node.function, core.up if core.up is not None else self._outermost(core.entry))
        if not found.kind.endswith("function") or found.core.builtin:
            text = f"`{node.function.dotted}` is a {found.kind}, and only functions have partial derivatives"
            raise problem(text, node.function, rule="12.7.2")
        if found.core.entry is core.entry:
            text = f"`{core.entry.full_name}` is a derivative of itself"
            raise problem(text, node, rule="12.7.2", hint="name the function that is differentiated")
        return found

    def base_class(self, core: Core, node: Extends) -> ClassUse:
        """The class of an extends clause: looked up without what the class inherits (7.1)."""
        found = self._base_class(core, node)
        self._check_base(core, node)
        return found

    def _check_base(self, core: Core, node: Extends) -> None:
        """No part of the name of a base class is replaceable (7.1.4)."""
        body = core.entry.body
        own = body.members.get(node.base.names[0]) if body is not None and not node.base.rooted else None
        if isinstance(own, ClassDefinition) and own.prefixes & REPLACEABLE:
            text = f"the base class `{node.base.dotted}` is replaceable"
            raise problem(text, node, rule="7.1.4", hint="extend a class that cannot be replaced")

    def _base_class(self, core: Core, node: Extends) -> ClassUse:
        names = node.base.names
        static = core.static
        own = core.entry.body.members.get(names[0]) if core.entry.body is not None else None
        is_own = (own is not None and not isinstance(own, Component)) or (
            core.entry.folder is not None and names[0] in core.entry.files
        )
        if not is_own or node.base.rooted:
            up = core.table.layers[0].up
            layer = core.table.layers[0]
            if not node.base.rooted and names[0] not in layer.imports and up is not None and not layer.stars:
                if layer.is_encapsulated:
                    return self._absolute(node.base, up)
                return self.lookup_class(node.base, up, by_classes=True)
        return self.lookup_class(node.base, static.scope(0), by_classes=True)

    def _absolute(self, ref: Reference, scope: Scope) -> ClassUse:
        cls = self.top(ref.names[0])
        if cls is None:
            raise self._missing(ref.names[0], ref, scope)
        for name in ref.names[1:]:
            inner = cls.instance.class_member(name)
            if inner is None:
                text = f"`{cls.name}` has no class `{name}`"
                raise problem(text, ref, rule="5.3.2", hint=nearest(name, cls.core.table.elements))
            cls = inner
        return cls

    def open_table(self, core: Core, node: Node) -> ClassTable:
        """The table of a base class; inheritance must have no cycle."""
        if core in self.opening:
            text = f"`{core.entry.full_name}` extends itself, directly or through its base classes"
            raise problem(text, node, rule="7.1", hint="remove one of the extends clauses")
        return core.table

    def missing_inner(self, inst: Inst, element: ClassMember) -> Any:
        """An outer component without inner one gets one in the model itself, where its class is complete (5.4)."""
        root = inst
        while root.parent is not None:
            root = root.parent
        node = element.node
        assert isinstance(node, Component)
        found = root.joined.get(element.name)
        if found is not None:
            return found
        cls = self.component_class(node.type, inst.scope(element.layer.number))
        if cls.primitive is not None or cls.is_partial or node.dimensions or root.is_class:
            return None
        made = Inst(cls, cls.mod, root, element.name)
        made.node, made.element = node, element
        root.joined[element.name] = made
        self.added.append(made)
        self.root.warnings.append(f"{node.span}: an inner `{element.name}` was added to the model (5.4)")
        return made


def _definition(found: ClassUse | Found) -> Any:
    return found.core.entry if isinstance(found, ClassUse) else found.element.node
