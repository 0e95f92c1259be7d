"""The tree of instances: components with the modifiers that reach them, made when they are asked for.

Inst    an instance of a model, block, connector, record, ... or a class as such (`is_class`)
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from pliant.frontend.modelica.instances.classes import ClassMember, ClassTable, ClassUse, Scope
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var, set_prefixes
from pliant.frontend.modelica.instances.mods import (
    Bound,
    Mod,
    at,
    bound,
    member,
    names_in,
    redeclaration_of,
    value_of,
)
from pliant.frontend.modelica.instances.rules import (
    check_final,
    check_prefixes,
    check_replaceable,
    check_subtype,
    check_visibility,
)
from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.problems import nearest, problem
from pliant.frontend.modelica.syntax.tree import (
    FINAL,
    INNER,
    OUTER,
    REPLACEABLE,
    ClassDefinition,
    Colon,
    Component,
    Enumeration,
    LongClass,
)

if TYPE_CHECKING:
    from pliant.frontend.modelica.scopes.program import World

MAX_DEPTH = 60  # of instances within instances: more is a model that contains itself


class Inst:
    """An instance of a class with members."""

    __slots__ = (
        "bases",
        "causality",
        "children",
        "classes",
        "cls",
        "connection",
        "core",
        "depth",
        "element",
        "inner_of",
        "is_class",
        "is_final",
        "is_protected",
        "joined",
        "mod",
        "name",
        "node",
        "parent",
        "path",
        "pending",
        "scopes",
        "variability",
        "world",
    )

    def __init__(self, cls: ClassUse, mod: Mod, parent: Inst | None, name: str) -> None:
        self.cls, self.core, self.mod, self.parent, self.name = cls, cls.core, mod, parent, name
        self.world: World = cls.core.world
        self.path: str = f"{parent.path}.{name}" if parent is not None and parent.path else name
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.children: dict[str, Any] = {}
        self.classes: dict[str, ClassUse] = {}
        self.scopes: dict[int, Scope] = {}
        self.pending: set[str] = set()
        self.is_class = self.is_final = self.is_protected = False
        self.variability = 3
        self.causality = self.connection = ""
        self.node: Component | None = None
        self.element: ClassMember | None = None
        self.joined: dict[str, Any] = {}  # members that connections add to expandable connectors

    def __repr__(self) -> str:
        return f"<{'class' if self.is_class else 'instance'} {self.path or self.cls.name}>"

    @property
    def table(self) -> ClassTable:
        """Layers and elements of the class."""
        return self.core.table

    def scope(self, number: int = 0) -> Scope:
        """A layer of this instance."""
        found = self.scopes.get(number)
        if found is None:
            found = self.scopes[number] = Scope(self, self.core.table.layers[number])
        return found

    # ----------------------------------------------------------------------------------------------- modifiers

    def mod_of(self, element: ClassMember) -> Mod:
        """All modifiers that reach a member from outside of its declaration, the outermost first."""
        found = member(self.mod, element.name, is_record=self.cls.is_record)
        if element.chain:
            found += tuple(Bound(one, scope or self.scope(n)) for n, one, scope in element.chain)
        return found

    # ------------------------------------------------------------------------------------------------- classes

    def class_member(self, name: str) -> ClassUse | None:
        """The class of that name, redeclarations included; None where there is none."""
        found = self.classes.get(name)
        if found is not None:
            return found
        element = self.core.table.elements.get(name)
        if element is None or not element.is_class:
            return None
        if name in self.pending:
            raise problem(f"the class `{name}` is defined by itself", element.node, path=self.path, rule="5.3")
        self.pending.add(name)
        try:
            found = self._class(element)
        finally:
            self.pending.discard(name)
        self.classes[name] = found
        return found

    def _class(self, element: ClassMember) -> ClassUse:
        mod = self.mod_of(element)
        change = redeclaration_of(mod)
        if element.node is None:
            entry = element.layer.entry.member(element.name)
            assert entry is not None
            element.node = entry.definition
        node = element.node
        assert isinstance(node, ClassDefinition)
        if node.prefixes & OUTER:
            return self._outer_class(element)
        if change is not None:
            assert change.template.redeclare is not None
            return self._redeclared_class(element, mod, change)
        if not self.is_class and not mod and isinstance(node, (LongClass, Enumeration)) and self._is_plain():
            found = self.core.static.class_member(element.name)
            assert found is not None
            return found
        return self._declared_class(element, mod)

    def _is_plain(self) -> bool:
        """No modifier reaches constants or classes of this instance: its classes are those of its class."""
        elements = self.core.table.elements
        for name in names_in(self.mod):
            element = elements.get(name)
            if element is not None and (element.is_class or element.node.variability == "constant"):  # type: ignore[union-attr]
                return False
        return True

    def _declared_class(self, element: ClassMember, mod: Mod) -> ClassUse:
        """A class as its declaration says; elements that redeclare another in a class have it as `original`."""
        scope = self.scope(element.layer.number)
        original = None
        under: Mod = ()
        node = element.node
        if element.original is not None:
            check_replaceable(element.original, node, self.path)
            check_visibility(element)
            if isinstance(node, LongClass) and node.is_extension:
                original = self._declared_class(element.original, self.chain_mod(element.original))
            else:
                under = self._constraint_mod(element.original)
        if node.constraint is not None:
            under = bound(node.constraint.modification, scope)
        entry = element.layer.entry.member(element.name)
        if entry is None or entry.definition is not node:
            name = f"{element.layer.entry.full_name}.{element.name}"
            entry = ClassEntry(node, element.layer.entry, name, element.layer.entry.warnings)  # type: ignore[arg-type]
        found = self.world.make_class(entry, scope, mod, original, under)
        if node.constraint is not None:
            check_subtype(found, self.world.lookup_class(node.constraint.base, scope), node, self.path)
        return found

    def chain_mod(self, element: ClassMember) -> Mod:
        """Modifiers of extends clauses only."""
        return tuple(Bound(one, scope or self.scope(n)) for n, one, scope in element.chain)

    def _constraint_mod(self, element: ClassMember) -> Mod:
        """Modifiers that whatever replaces a declaration gets, too (7.3.2)."""
        node = element.node
        scope = self.scope(element.layer.number)
        if node is None:
            return ()
        if node.constraint is not None:
            return bound(node.constraint.modification, scope)
        if element.original is not None:
            return self._constraint_mod(element.original)
        modification = getattr(node, "modification", None)
        found = bound(modification, scope)
        return tuple(one for one in found if not isinstance(node, Component) or one.template.subs)

    def _redeclared_class(self, element: ClassMember, mod: Mod, change: Bound) -> ClassUse:
        redeclare = change.template.redeclare
        assert redeclare is not None
        node = element.node
        new = redeclare.element
        if not isinstance(new, ClassDefinition):
            raise problem(f"`{element.name}` is a class and redeclared as a component", redeclare, rule="7.3")
        if not node.prefixes & REPLACEABLE and not new.prefixes & REPLACEABLE and node.prefixes & FINAL:
            text = f"`{element.name}` is final and cannot be redeclared"
            raise problem(text, redeclare, path=self.path, rule="7.3", hint="remove `final` or the redeclaration")
        check_replaceable(element, redeclare, self.path)
        parent = change.scope.layer.entry
        entry = ClassEntry(new, parent, f"{parent.full_name}.{new.name}", parent.warnings)
        outer, inner = _around(mod, change)
        changes = [one for one in mod if one.template.redeclare is not None]
        under = inner + self._latest_mod(element, changes)
        found = self.world.make_class(entry, change.scope, outer, None, under)
        self._check_changes(element, changes, found)
        return found

    def _latest_mod(self, element: ClassMember, changes: list[Bound]) -> Mod:
        """Modifiers of the constraint that counts: of the last redeclaration that has one, else of the declaration."""
        for one in changes:
            constraint = one.template.redeclare.element.constraint  # type: ignore[union-attr]
            if constraint is not None:
                return bound(constraint.modification, one.scope)
        return self._constraint_mod(element)

    def _check_changes(self, element: ClassMember, changes: list[Bound], last: ClassUse) -> None:
        """Each redeclaration fits the constraint that the one before leaves, and the one before is replaceable."""
        constraint = self._constraint(element)
        for place, one in enumerate(reversed(changes)):
            redeclare = one.template.redeclare
            assert redeclare is not None
            new = redeclare.element
            is_outermost = one is changes[0]
            if is_outermost:
                check_subtype(last, constraint, redeclare, self.path)
            elif not new.prefixes & REPLACEABLE:
                outer = changes[len(changes) - place - 2].template.redeclare
                text = f"`{element.name}` is redeclared, but the redeclaration before is not replaceable"
                hint = "write `redeclare replaceable` there"
                raise problem(text, outer, path=self.path, rule="7.3", hint=hint)
            if new.constraint is not None:
                constraint = self.world.lookup_class(new.constraint.base, one.scope)

    def _constraint(self, element: ClassMember) -> ClassUse:
        """What whatever replaces a declaration must have."""
        declared: Any = element.node
        scope = self.scope(element.layer.number)
        if declared.constraint is not None:
            return self.world.lookup_class(declared.constraint.base, scope)
        if isinstance(declared, Component):
            return self.world.component_class(declared.type, scope)
        return self._declared_class(element, ())

    def _outer_class(self, element: ClassMember) -> ClassUse:
        above = self.parent
        while above is not None:
            other = above.core.table.elements.get(element.name)
            if other is not None and other.is_class and other.node.prefixes & INNER:
                found = above.class_member(element.name)
                assert found is not None
                return found
            above = above.parent
        text = f"the outer class `{element.name}` has no inner one around it"
        raise problem(text, element.node, path=self.path, rule="5.4", hint=f"declare `inner` `{element.name}`")

    # ---------------------------------------------------------------------------------------------- components

    def meant(self, element: ClassMember) -> Any:
        """What the name of a component means in its own class: of an `inner outer` one the outer component (5.4)."""
        if element.node.prefixes & OUTER and element.node.prefixes & INNER and not self.is_class:
            return self._inner(element)
        return self.child(element.name)

    def child(self, name: str) -> Any:
        """The component of that name: Inst, Var, Many or ABSENT; None where there is none."""
        found = self.children.get(name)
        if found is not None:
            return found
        element = self.core.table.elements.get(name)
        if element is None:
            return self.joined.get(name)
        if element.is_class:
            return None
        if name in self.pending:
            text = f"`{self.path + '.' if self.path else ''}{name}` needs itself to be known"
            hint = "sizes and conditions must not depend on the component they belong to"
            raise problem(text, element.node, path=self.path, rule="4.4.4", hint=hint)
        self.pending.add(name)
        try:
            found = self._component(element)
        finally:
            self.pending.discard(name)
        self.children[name] = found
        return found

    def _component(self, element: ClassMember) -> Any:
        node = element.node
        assert isinstance(node, Component)
        if node.prefixes & OUTER and not self.is_class:
            inner = self._inner(element)
            if not node.prefixes & INNER:
                return inner
        mod = self.mod_of(element)
        scope = self.scope(element.layer.number)
        type_scope = scope
        change = redeclaration_of(mod)
        if change is not None:
            redeclare = change.template.redeclare
            assert redeclare is not None
            new = redeclare.element
            if not isinstance(new, Component):
                raise problem(f"`{element.name}` is a component and redeclared as a class", redeclare, rule="7.3")
            if node.prefixes & FINAL:
                raise problem(f"`{element.name}` is final and cannot be redeclared", redeclare, rule="7.3")
            check_replaceable(element, redeclare, self.path)
            changes = [one for one in mod if one.template.redeclare is not None]
            self._check_changes(element, changes, self.world.component_class(new.type, change.scope))
            outer, inner = _around(mod, change)
            mod = outer + bound(new.modification, change.scope) + inner + self._latest_mod(element, changes)
            type_scope = change.scope
            return self._made(element, new, node, type_scope, mod)
        if node.prefixes & FINAL:
            for one in mod:
                if one.template.value is not None and not one.fields:
                    text = f"`{element.name}` is final and cannot be modified"
                    raise problem(text, one.template.node, path=self.path, rule="7.2.6", hint="remove the modifier")
        mod += bound(node.modification, scope)
        if node.constraint is not None:
            mod += bound(node.constraint.modification, scope)
        if element.original is not None:
            check_replaceable(element.original, node, self.path)
            check_visibility(element)
            cls = self.world.component_class(node.type, scope)
            check_subtype(cls, self._constraint(element.original), node, self.path)
            mod += self.chain_mod(element.original) + self._constraint_mod(element.original)
            return self._made(element, node, element.original.node, scope, mod)
        return self._made(element, node, node, scope, mod)

    def _made(self, element: ClassMember, node: Component, old: Any, scope: Scope, mod: Mod) -> Any:
        """The component from the declaration that counts; `old`: the one that was replaced, for prefixes."""
        world = self.world
        condition = node.condition or old.condition
        where = self.scope(element.layer.number) if node.condition is None else scope
        what = f"the condition of `{element.name}`"
        if condition is not None and not self.is_class and not world.values.boolean(condition, where, what):
            return ABSENT
        cls = world.component_class(node.type, scope)
        check_prefixes(node, cls, self, self.path)
        if node.constraint is not None:
            constraint = world.lookup_class(node.constraint.base, scope)
            check_subtype(cls, constraint, node, self.path)
            if len(cls.dims) != len(constraint.dims):
                text = f"`{cls.name}` has {len(cls.dims)} dimensions, `{constraint.name}` has {len(constraint.dims)}"
                hint = "give the type as many dimensions"
                raise problem(text, node, path=self.path, rule="7.3.2", hint=hint)
        if len(mod) > 1:
            check_final(element, mod, self)
        shape_of = node.dimensions or (old.dimensions if old is not node else ())
        dims = [(one, scope) for one in shape_of] + list(cls.dims)
        primitive = cls.primitive
        made: Any
        if primitive is not None:
            return Var(self, element, node, cls, mod + cls.mod, dims, old)
        if self.depth > MAX_DEPTH:
            text = f"`{self.path}.{element.name}`: the model contains itself without end"
            raise problem(text, node, rule="4.4.2", hint="a component must not be of a class that contains it")
        if not dims:
            made = Inst(cls, mod + cls.mod, self, element.name)
            set_prefixes(made, self, element, node, old, cls)
            return made
        shape = world.values.sizes(dims, value_of(mod), f"{self.path}.{element.name}".strip("."), node)
        elements: list[Inst] = []
        for index in product(*(range(1, n + 1) for n in shape)):
            inner = at(mod, index)
            name = f"{element.name}[{','.join(map(str, index))}]"
            elements.append(Inst(cls, inner + cls.mod, self, name))
            set_prefixes(elements[-1], self, element, node, old, cls)
        return Many(self, element, node, cls, shape, elements)

    def _inner(self, element: ClassMember) -> Any:
        above = self.parent
        while above is not None:
            other = above.core.table.elements.get(element.name)
            if other is not None and not other.is_class and other.node.prefixes & INNER:
                return self._checked_inner(above, element)
            above = above.parent
        if (found := self.world.missing_inner(self, element)) is not None:
            return found
        text = f"the outer component `{element.name}` has no inner one in the instances around it"
        hint = f"declare `inner {element.node.type.dotted} {element.name}` in the model"  # type: ignore[union-attr]
        raise problem(text, element.node, path=self.path, rule="5.4", hint=hint)

    def _checked_inner(self, above: Inst, element: ClassMember) -> Any:
        """The inner component must have at least what the outer one asks for (5.4)."""
        found = above.child(element.name)
        node = element.node
        assert isinstance(node, Component)
        if node.modification is not None and not node.prefixes & INNER:
            text = f"`{node.name}` is outer and cannot have modifiers"
            raise problem(text, node, path=self.path, rule="5.4", hint="give them to the inner component")
        if found is not ABSENT:
            wanted = self.world.component_class(node.type, self.scope(element.layer.number))
            check_subtype(found.cls, wanted, node, self.path)
            dims = [*((one, self.scope(element.layer.number)) for one in node.dimensions), *wanted.dims]
            shape = getattr(found, "shape", ())
            sizes = (
                ()
                if any(isinstance(one, Colon) for one, _ in dims)
                else self.world.values.sizes(dims, None, node.name, node)
            )
            if len(dims) != len(shape) or (sizes and sizes != shape):
                text = f"the outer `{node.name}` has other dimensions than the inner one"
                hint = f"the inner one has the sizes {list(shape)}"
                raise problem(text, node, path=self.path, rule="5.4", hint=hint)
        return found

    def check_redeclared(self) -> None:
        """Classes that are redeclared fit their constraints, also those that nothing is made of."""
        for name, element in self.core.table.elements.items():
            if element.is_class and redeclaration_of(self.mod_of(element)) is not None:
                self.class_member(name)

    def check_modifiers(self) -> None:
        """Every modifier names something that is there (7.2)."""
        elements = self.core.table.elements
        for one in self.mod:
            if one.fields:
                continue
            for name, template in one.template.subs.items():
                element = elements.get(name)
                if element is None and name not in self.joined:
                    text = f"`{name}` is modified, but `{self.cls.name}` has no such element"
                    raise problem(text, template.node, path=self.path, rule="7.2", hint=nearest(name, elements))
                declared = element.node if element is not None else None
                if isinstance(declared, Component) and declared.prefixes & OUTER and not declared.prefixes & INNER:
                    text = f"`{name}` of `{self.cls.name}` is outer and cannot be modified"
                    hint = "modify the inner component"
                    raise problem(text, template.node, path=self.path, rule="5.4", hint=hint)
                if element is not None and element.is_protected:
                    text = f"`{name}` of `{self.cls.name}` is protected and cannot be modified"
                    raise problem(text, template.node, path=self.path, rule="4.1", hint="modify a public element")


def _around(mod: Mod, change: Bound) -> tuple[Mod, Mod]:
    """Modifiers of a redeclared element that override those of the redeclaration, and those that it overrides."""
    k = mod.index(change)
    outer, inner = mod[: k + 1], mod[k + 1 :]
    return (
        tuple(one for one in outer if one.template.redeclare is None or one.template.subs),
        tuple(one for one in inner if one.template.redeclare is None),
    )
