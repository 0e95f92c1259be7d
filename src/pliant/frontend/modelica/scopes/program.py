"""Where classes are found: the user's text, libraries, predefined types; and the rules of look-up (chapter 5).

A simple name is looked up in the elements of the class (inherited ones included), then in its imports, then in the
class around it, up to one that is encapsulated; predefined names are found from everywhere. Of a composite name the
first part is looked up by that rule, the others are members of what was found.
"""

from __future__ import annotations

from typing import Any

from pliant.frontend.modelica.instances.classes import Class, Core, Element, Scope, Table
from pliant.frontend.modelica.instances.inst import ABSENT, Inst, Many
from pliant.frontend.modelica.instances.mods import Mod, bound
from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.library.root import ClassRoot
from pliant.frontend.modelica.problems import nearest, problem
from pliant.frontend.modelica.scopes.predefined import PREDEFINED, PRIMITIVE
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tree import Component, Extends, Node, Reference, ShortClass


class Found:
    """A component: of an instance, by name."""

    __slots__ = ("element", "inst")

    def __init__(self, inst: Inst, element: Element) -> None:
        self.inst, self.element = inst, element


class World:
    """All classes that one model can name."""

    def __init__(self, root: ClassRoot) -> None:
        from pliant.frontend.modelica.values.evaluate import Values

        self.root = root
        self.sources: set[Source] = set()  # texts that classes were taken from
        self.tops: dict[str, Class | None] = {}
        self.opening: set[Core] = set()
        self.values = Values(self)

    # ------------------------------------------------------------------------------------------------- classes

    def top(self, name: str) -> Class | None:
        """A top-level class: of the text, of a library, or predefined."""
        if name in self.tops:
            return self.tops[name]
        entry = PREDEFINED.get(name)
        if entry is None:
            entry = self.root.top(name)
        found = None
        if entry is not None:
            if name in PRIMITIVE and entry is PREDEFINED.get(name):
                found = Class(Core(self, entry, None, builtin=name), ())
            else:
                found = self.make_class(entry, None, (), None)
        self.tops[name] = found
        return found

    def make_class(self, entry: ClassEntry, scope: Scope | None, mod: Mod, original: Class | None) -> Class:
        """The class of a definition that stands in a scope; a short class is the class it names, modified."""
        definition = entry.definition
        self.sources.add(definition.source)
        if not isinstance(definition, ShortClass):
            return Class(Core(self, entry, scope, original), mod)
        where = scope if scope is not None else self._outermost(entry)
        base = self.lookup_class(definition.base, where)
        own = bound(definition.modification, where)
        total = mod + own + base.mod
        dims = (*((one, where) for one in definition.dimensions), *base.own_dims)
        kind = definition.kind if definition.kind != "class" else base.kind
        if kind == "type":
            kind = base.kind
        is_same = total == base.mod and dims == base.own_dims and not definition.causality
        if is_same and kind == base.kind != "type":
            return base
        name = entry.full_name if base.primitive is not None else ""
        return Class(base.core, total, dims, definition.causality or base.causality, kind, name or base.name)

    def _outermost(self, entry: ClassEntry) -> Scope:
        core = Core(self, entry, None)
        core._table = Table()
        from pliant.frontend.modelica.instances.classes import Layer

        core._table.layers.append(Layer(0, entry, None))
        return core.static.scope(0)

    # ------------------------------------------------------------------------------------------------- look-up

    def find(self, name: str, scope: Scope) -> Class | Found | None:
        """What a simple name stands for; None where nothing is found."""
        at: Scope | None = scope
        while at is not None:
            layer = at.layer
            if name in layer.names:
                return self._member(at, name)
            if name in layer.imports:
                return self._import(layer.imports[name][0], layer.imports[name][1])
            for star in layer.stars:
                found = self._star(star, name)
                if found is not None:
                    return found
            if layer.is_encapsulated:
                return self.top(name) if name in PREDEFINED else None
            at = layer.up
        return self.top(name)

    def _member(self, at: Scope, name: str) -> Class | Found | None:
        inst = at.inst
        element = inst.core.table.elements.get(name)
        if element is None:
            return None
        if element.is_class:
            return inst.class_member(name)
        return Found(inst, element)

    def _import(self, names: tuple[str, ...], node: Node) -> Class | Found:
        cls = self.top(names[0])
        if cls is None:
            raise problem(f"`{names[0]}` cannot be imported: there is no such class", node, rule="13.2.1")
        for k, name in enumerate(names[1:], 1):
            inner = cls.instance.class_member(name)
            if inner is None:
                element = cls.core.table.elements.get(name)
                if element is not None and k == len(names) - 1:
                    return Found(cls.instance, element)
                text = f"`{'.'.join(names[: k + 1])}` cannot be imported: there is no such class"
                raise problem(text, node, rule="13.2.1", hint=nearest(name, cls.core.table.elements))
            cls = inner
        return cls

    def _star(self, star: Any, name: str) -> Class | Found | None:
        cls = self._import(star.names, star)
        if isinstance(cls, Found):
            raise problem("only packages can be imported with `.*`", star, rule="13.2.1")
        element = cls.core.table.elements.get(name)
        if element is None or element.is_protected:
            return None
        return cls.instance.class_member(name) if element.is_class else Found(cls.instance, element)

    def lookup_class(self, ref: Reference, scope: Scope) -> Class:
        """The class that a name stands for; an error where there is none."""
        names = ref.names
        found: Any = self.top(names[0]) if ref.rooted else self.find(names[0], scope)
        if found is None:
            raise self._missing(names[0], ref, scope)
        for k, name in enumerate(names[1:], 1):
            if isinstance(found, Found):
                found = found.inst.child(found.element.name)
                if isinstance(found, Many):
                    found = found.elements[0] if found.elements else None
                if not isinstance(found, Inst):
                    raise problem(f"`{'.'.join(names[:k])}` has no classes", ref, path=scope.inst.path, rule="5.3.2")
                inst = found
            else:
                inst = found.instance if isinstance(found, Class) else found
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
        assert isinstance(found, Class)
        return found

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

    def component_class(self, ref: Reference, scope: Scope) -> Class:
        """The class of a component."""
        found = self.lookup_class(ref, scope)
        if found.kind in ("package", "function", "operator", "operator function"):
            text = f"`{ref.dotted}` is a {found.kind}: it cannot have components"
            raise problem(text, ref, path=scope.inst.path, rule="4.7", hint="name a model, record, type, ...")
        return found

    def base_class(self, core: Core, node: Extends) -> Class:
        """The class of an extends clause: looked up without what the class inherits (7.1)."""
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
                return self.lookup_class(node.base, up) if not layer.is_encapsulated else self._absolute(node.base, up)
        return self.lookup_class(node.base, static.scope(0))

    def _absolute(self, ref: Reference, scope: Scope) -> Class:
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

    def open_table(self, core: Core, node: Node) -> Table:
        """The table of a base class; inheritance must have no cycle."""
        if core in self.opening:
            text = f"`{core.entry.full_name}` extends itself, directly or through its base classes"
            raise problem(text, node, rule="7.1", hint="remove one of the extends clauses")
        return core.table

    def missing_inner(self, inst: Inst, element: Element) -> Any:
        """What stands for an outer component without inner one; nothing so far."""
        return None


_ = ABSENT
