"""What a reference stands for: a variable, an instance, an array of instances, a class, a value of an enumeration."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.modelica.instances.classes import ClassUse, Scope
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.problems import nearest, problem
from pliant.frontend.modelica.syntax.tree import Colon, Expression, Reference
from pliant.frontend.modelica.values.data import EnumValue, NotKnown, ordinal

if TYPE_CHECKING:
    from pliant.frontend.modelica.scopes.program import World
    from pliant.frontend.modelica.values.evaluate import Values

Subscripts = tuple[Expression, ...]
Env = dict[str, Any]
Open = tuple[int, Expression]  # the dimension of the result, and its subscript


class ThingGroup:
    """Parts of an array of instances, in row-major order: the elements of a slice, or a member of each."""

    __slots__ = ("items", "shape")

    def __init__(self, shape: tuple[int, ...], items: list[Any]) -> None:
        self.shape, self.items = shape, items


class Resolver:
    """Finds what references stand for."""

    def __init__(self, world: World, values: Values) -> None:
        self.world, self.values = world, values
        self.crossed: Any = None  # a conditional component on the way of the last reference
        self.open: list[Open] | None = None  # subscripts that are not known, where they may stay open

    def resolve_open(self, ref: Reference, scope: Scope, env: Env | None) -> tuple[Any, Subscripts, list[Open]]:
        """The same where subscripts need not be known: those that are not choose all, and are to be applied later."""
        before, self.open = self.open, []
        try:
            thing, rest = self.resolve(ref, scope, env)
            return thing, rest, self.open
        finally:
            self.open = before

    def resolve(self, ref: Reference, scope: Scope, env: Env | None = None) -> tuple[Any, Subscripts]:
        """What a reference stands for, and the subscripts that remain: those of a variable, or of each in a group.

        Subscripts belong to their own part of the name (10.6.9): in `r.v[1]` they choose of each `v`. A result has
        the dimensions that remain of each part, in order.
        """
        from pliant.frontend.modelica.scopes.program import Found

        names, _subscripts = ref.names, ref.subscripts
        found: Any = self.world.top(names[0]) if ref.rooted else self.world.find(names[0], scope)
        k = 1
        while isinstance(found, ClassUse):
            if k == len(names):
                return found, ()
            primitive = found.primitive
            if primitive is not None and primitive.is_enumeration:
                return self._literal(primitive, names[k], ref), ()
            inst = found.instance
            inner: Any = inst.class_member(names[k])
            if inner is None:
                element = inst.table.elements.get(names[k])
                if element is None:
                    raise self._no_member(ref, k, inst.cls.name, inst.table.elements, scope)
                if element.is_protected:
                    text = f"`{ref.text}`: `{names[k]}` of `{inst.cls.name}` is protected"
                    raise problem(text, ref, path=scope.inst.path, rule="4.1", hint="use a public element")
                inner = Found(inst, element)
            found = inner
            k += 1
        if found is None:
            raise self.missing(ref, scope)
        self.crossed = found.element.node if found.element.node.condition is not None else None
        thing = found.inst.meant(found.element)
        is_foreign = (
            found.inst.is_class and found.inst is not scope.inst and found.element.node.variability != "constant"
        )
        if is_foreign and not found.inst.cls.kind.endswith("function"):  # it has other values in each instance
            if k == 1:
                text = f"`{names[0]}` is a component of a class around, and no constant"
                raise problem(text, ref, path=scope.inst.path, rule="5.3.1", hint="pass it on as a parameter")
            text = f"`{ref.dotted}`: `{names[k - 1]}` of the class `{found.inst.cls.name}` is no constant"
            raise problem(text, ref, path=scope.inst.path, rule="5.3.2", hint="name a component of this class")
        return self.members(thing, ref, k, scope, env)

    def members(self, thing: Any, ref: Reference, k: int, scope: Scope, env: Env | None) -> tuple[Any, Subscripts]:
        """The rest of a reference from name k on, `thing` being what the names before stand for."""
        subscripts = ref.subscripts
        rest: Subscripts = subscripts[k - 1] if subscripts else ()
        if rest and not isinstance(thing, Var):
            thing, rest = self._picked(thing, 0, rest, ref, scope, env)
        for j in range(k, len(ref.names)):
            if thing is ABSENT:
                return ABSENT, ()
            if rest:
                raise problem(f"`{ref.text}`: a variable has no members", ref, path=scope.inst.path, rule="5.3.2")
            before = len(getattr(thing, "shape", ()))
            thing = self._member(thing, ref, j, scope)
            rest = subscripts[j] if subscripts else ()
            if rest and not isinstance(thing, Var) and not (isinstance(thing, ThingGroup) and _is_variable(thing)):
                thing, rest = self._picked(thing, before, rest, ref, scope, env)
        return thing, rest

    def _member(self, thing: Any, ref: Reference, j: int, scope: Scope) -> Any:
        name = ref.names[j]
        if isinstance(thing, Inst):
            found = thing.child(name)
            if found is None:
                raise self._no_member(ref, j, thing.cls.name, thing.table.elements, scope)
            element = thing.table.elements.get(name)
            if element is not None and element.node.condition is not None:  # type: ignore[union-attr]
                self.crossed = element.node
            if element is not None and element.is_protected:
                text = f"`{ref.text}`: `{name}` of `{thing.cls.name}` is protected"
                raise problem(text, ref, path=scope.inst.path, rule="4.1", hint="use a public element")
            return found
        if isinstance(thing, (Many, ThingGroup)):
            items = thing.elements if isinstance(thing, Many) else thing.items
            parts = [self._member(one, ref, j, scope) for one in items]
            if parts and isinstance(parts[0], (Many, ThingGroup)):
                if any(part.shape != parts[0].shape for part in parts):
                    text = f"`{ref.text}`: the sizes of `{name}` differ between the elements of `{ref.names[j - 1]}`"
                    hint = "name one element, or write a loop"
                    raise problem(text, ref, path=scope.inst.path, rule="10.6.9", hint=hint)
                inner = [one for part in parts for one in (part.elements if isinstance(part, Many) else part.items)]
                return ThingGroup((*thing.shape, *parts[0].shape), inner)
            if parts and all(one is ABSENT for one in parts):
                return ABSENT
            return ThingGroup(thing.shape, parts)
        if isinstance(thing, Var):
            text = f"`{ref.text}`: `{thing.path}` is {thing.base} and has no member `{name}`"
            raise problem(text, ref, path=scope.inst.path, rule="5.3.2")
        raise self._no_member(ref, j, "it", {}, scope)

    def _picked(
        self, thing: Any, before: int, given: Subscripts, ref: Reference, scope: Scope, env: Env | None
    ) -> tuple[Any, Subscripts]:
        """Some elements of an array of instances, whose first dimensions are those of the parts ``before``."""
        if thing is ABSENT:
            return ABSENT, ()
        if not isinstance(thing, (Many, ThingGroup)):
            raise problem(f"`{ref.text}`: a scalar has subscripts", ref, path=scope.inst.path, rule="10.5")
        shape = thing.shape
        items = thing.elements if isinstance(thing, Many) else thing.items
        if not items and before:
            return thing, ()  # parts of nothing
        if len(given) > len(shape) - before:
            text = f"`{ref.text}`: {len(given)} subscripts are given, the array has {len(shape) - before} dimensions"
            raise problem(text, ref, path=scope.inst.path, rule="10.5")
        picks: list[Any] = []
        kept_axes = 0
        for axis, size in enumerate(shape):
            one = given[axis - before] if 0 <= axis - before < len(given) else None
            chosen_here = None
            if one is not None and not isinstance(one, Colon):
                chosen_here = self._numbers(one, size, ref, scope, env)
                if chosen_here is None:
                    assert self.open is not None
                    self.open.append((kept_axes, one))
            picks.append(list(range(1, size + 1)) if chosen_here is None else chosen_here)
            kept_axes += isinstance(picks[-1], list)
        kept = tuple(len(one) for one in picks if isinstance(one, list))
        chosen = []
        for index in product(*(one if isinstance(one, list) else [one] for one in picks)):
            place = 0
            for number, size in zip(index, shape, strict=True):
                place = place * size + number - 1
            chosen.append(items[place])
        return (chosen[0] if not kept else ThingGroup(kept, chosen)), ()

    def _numbers(self, given: Expression, size: int, ref: Reference, scope: Scope, env: Env | None) -> Any:
        """The number or numbers of a subscript; None: not known, and it may stay open."""
        self.values.reasons.append(f"the subscript in `{ref.text}`")
        try:
            value = self.values.value(given, scope, {**(env or {}), "end": size})
        except NotKnown:
            if self.open is None:
                raise
            return None
        finally:
            self.values.reasons.pop()
        numbers = [ordinal(one) for one in value] if isinstance(value, np.ndarray) else ordinal(value)
        for number in numbers if isinstance(numbers, list) else [numbers]:
            if not 1 <= number <= size:
                text = f"`{ref.text}`: the subscript {number} is outside of 1 to {size}"
                raise problem(text, ref, path=scope.inst.path, rule="10.5.1")
        return numbers

    def try_class(self, ref: Reference, scope: Scope) -> ClassUse | None:
        """The class that a reference names; None where it names something else or nothing."""
        if ref.subscripts or ref.names[0] == "time":
            return None
        found: Any = self.world.top(ref.names[0]) if ref.rooted else self.world.find(ref.names[0], scope)
        for name in ref.names[1:]:
            if not isinstance(found, ClassUse):
                return None
            found = found.instance.class_member(name)
        return found if isinstance(found, ClassUse) else None

    def _literal(self, primitive: Any, name: str, ref: Reference) -> EnumValue:
        literals = primitive.entry.definition.literals or ()
        for place, one in enumerate(literals, 1):
            if one.name == name:
                return EnumValue(primitive, place, name)
        text = f"`{primitive.entry.full_name}` has no value `{name}`"
        raise problem(text, ref, rule="4.9.5", hint=nearest(name, [one.name for one in literals]))

    def missing(self, ref: Reference, scope: Scope) -> Exception:
        """Nothing has that name."""
        known: set[str] = set()
        at: Scope | None = scope
        while at is not None:
            known |= at.layer.names | set(at.layer.imports)
            at = at.layer.up
        name = ref.names[0]
        hint = nearest(name, known) or "declare it"
        return problem(f"`{name}` is not declared", ref, path=scope.inst.path, rule="5.3.1", hint=hint)

    def _no_member(self, ref: Reference, k: int, owner: str, known: Any, scope: Scope) -> Exception:
        text = f"`{'.'.join(ref.names[: k + 1])}`: `{owner}` has no element `{ref.names[k]}`"
        return problem(text, ref, path=scope.inst.path, rule="5.3.2", hint=nearest(ref.names[k], known))


def _is_variable(group: ThingGroup) -> bool:
    return bool(group.items) and isinstance(group.items[0], Var)
