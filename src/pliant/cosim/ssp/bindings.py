"""Which parameter values reach which variables.

The rules of the standard (SSP, ParameterBindings): the prefix comes before names and before the mapping; with a mapping
only what it lists is applied, under the names that it gives; a name that nothing has is ignored, one that several
variables have goes to all of them; a later binding of an element goes before an earlier one, and those of a system
before those of what is inside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from pliant.cosim.conversion import Conversion
from pliant.cosim.ssp.content import Binding, MappingEntry, SspParameter, SspPlace, Value
from pliant.cosim.ssp.transform import Quantity, step
from pliant.cosim.ssp.tree import SspNode
from pliant.cosim.ssp.units import unit_of
from pliant.errors import ArgumentError


@dataclass(frozen=True)
class Assigned:
    """A value on its way to a variable: numbers, texts or names of items; a tuple for an array."""

    value: Value | tuple[Value, ...]
    quantity: Quantity
    place: SspPlace
    shape: tuple[int, ...] = ()

    def through(self, conversion: Conversion, quantity: Quantity) -> Assigned:
        """After a conversion."""
        now = self.quantity.seen(quantity)
        if conversion.changes_nothing:
            return replace(self, quantity=now)
        every = self.value if isinstance(self.value, tuple) else (self.value,)
        done = tuple(self._one(one, conversion, now) for one in every)
        return replace(self, value=done if isinstance(self.value, tuple) else done[0], quantity=now)

    def _one(self, value: Value, conversion: Conversion, now: Quantity) -> Value:
        items = self.quantity.items or now.items
        if isinstance(value, str) and items and value in items:
            value = items[value]
        if isinstance(value, (str, bytes)):
            raise self.place.refused(f"{value!r} cannot be transformed", hint="give a number")
        found = conversion.carry(float(value))
        return bool(found) if isinstance(value, bool) else int(found) if isinstance(value, int) else found

    def element(self, index: tuple[int, ...]) -> Assigned | None:
        """The value of one element, counted from 1; None: there is none."""
        if not self.shape:
            return self
        if len(index) != len(self.shape) or not all(1 <= k <= n for k, n in zip(index, self.shape, strict=True)):
            return None
        at = 0
        for k, n in zip(index, self.shape, strict=True):
            at = at * n + k - 1
        assert isinstance(self.value, tuple)
        return replace(self, value=self.value[at], shape=())


Assignments = dict[SspNode, dict[str, Assigned]]


@dataclass(frozen=True)
class Unused:
    """A parameter or an entry of a mapping that nothing takes."""

    name: str
    place: SspPlace


def quantity_at(node: SspNode, name: str) -> Quantity:
    """What is known about a variable of an element: by its connector, and by its model."""
    connector = node.element.connectors.get(name)
    found = Quantity()
    variable = node.variables.find(name) if node.variables is not None else None
    if variable is not None:
        found = Quantity(variable.base, variable.unit, variable.items or None, variable.relative)
    if connector is None or connector.type is None:
        return found
    unit = unit_of(connector.type, node.scope)
    if unit is not None and unit.exponents is None and found.unit is not None and found.unit.name == unit.name:
        unit = None  # the model defines it
    items = node.scope.enumerations.get(connector.type.enumeration)
    base = found.base or connector.type.base
    return Quantity(base, unit if unit is not None else found.unit, found.items or items, found.relative)


def apply_bindings(root: SspNode) -> tuple[Assignments, list[Unused]]:
    """All values, those of outer systems last."""
    found: Assignments = {}
    unused: list[Unused] = []
    for node in _inside_out(root):
        for binding in node.bindings:
            for name, one, entry in listed(binding):
                targets = targets_of(node, name)
                if not targets:
                    unused.append(Unused(name, one.place if entry is None else entry.place))
                if targets and one.other_line:
                    raise one.place.refused(
                        f"the set has two values of {one.name!r}; the other is in line {one.other_line}",
                        hint="leave one of them",
                    )
                for target, variable in targets:
                    found.setdefault(target, {})[variable] = assigned(binding, one, entry, target, variable)
    return found, unused


def _inside_out(node: SspNode) -> Iterable[SspNode]:
    for one in node.children.values():
        yield from _inside_out(one)
    yield node


def listed(binding: Binding) -> Iterable[tuple[str, SspParameter, MappingEntry | None]]:
    """Names that a binding gives values to."""
    given = {f"{binding.prefix}{one.name}": one for one in binding.values.values}
    if binding.mapping is None:
        for name, one in given.items():
            yield name, one, None
        return
    for entry in binding.mapping:
        if entry.source in given:
            yield entry.target, given[entry.source], entry


def targets_of(node: SspNode, name: str) -> list[tuple[SspNode, str]]:
    """The variables of that name, seen from an element."""
    if node.component is not None and node.system is None:
        if node.variables is not None:
            return [(node, name)] if node.variables.find(name) is not None else []
        return [(node, name)]
    if node.system is None:
        return []
    found = [(node, name)] if name in node.element.connectors else []
    for one in node.children.values():
        if name.startswith(f"{one.element.name}."):
            found += targets_of(one, name[len(one.element.name) + 1 :])
    return found


def assigned(
    binding: Binding, one: SspParameter, entry: MappingEntry | None, target: SspNode, variable: str
) -> Assigned:
    """A value as its target needs it."""
    scope = binding.values.scope
    source = Quantity(
        one.type.base, unit_of(one.type, scope), scope.enumerations.get(one.type.enumeration) or None, False
    )
    value = Assigned(one.value, source, one.place, one.shape)
    there = quantity_at(target, variable)
    if (
        source.base == "enumeration"
        and there.base in ("enumeration", "")
        and (entry is None or not entry.transformation)
    ):
        return replace(value, quantity=source.seen(replace(there, items=there.items or source.items)))
    place = one.place if entry is None else entry.place
    if source.base == "integer" and there.base == "enumeration" and entry is None:
        return replace(value, quantity=there)  # its number
    transformation = None if entry is None else entry.transformation
    change = step(source, there, place, transformation, entry is not None and entry.suppress)
    return value.through(change, there)


def user_values(root: SspNode, values: dict[str, object]) -> Assignments:
    """Values by full names that a user gives, for connectors of systems."""
    found: Assignments = {}
    for name, value in values.items():
        for node, variable in targets_of(root, name):
            if node.system is None:
                continue
            quantity = quantity_at(node, variable)
            place = SspPlace("parameters", 0, name)
            if isinstance(value, (list, tuple)):
                found.setdefault(node, {})[variable] = Assigned(tuple(value), quantity, place, (len(value),))
            elif isinstance(value, (bool, int, float, str)):
                found.setdefault(node, {})[variable] = Assigned(value, quantity, place)
            else:
                raise ArgumentError(f"parameters: {name} cannot be {value!r}", hint="a number, a text or a list")
    return found
