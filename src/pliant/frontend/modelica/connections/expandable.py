"""Expandable connectors (9.1.3): members that connections add, and declared ones that nothing is connected to.

A connect clause with a member that is not declared adds it, with the type of the other side. Expandable connectors
that are connected with each other have all members of each other; that is repeated until nothing is added any more.
"""

from __future__ import annotations

from itertools import product, zip_longest
from typing import Any

from pliant.frontend.modelica.connections.collect import Collector, ConnectedPair
from pliant.frontend.modelica.connections.sets import Sets, members
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.instances.classes import ClassMember
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import ordinal


def expand(collector: Collector) -> list[Any]:
    """Add members until nothing changes; all variables that were added."""
    added: list[Any] = []
    while True:
        waiting, collector.undeclared = collector.undeclared, []
        progress = False
        reach = _reach(collector, waiting)
        for node, context in waiting:
            progress |= _declare(collector, node, context, reach, added)
        for node, context in waiting:
            collector.connect(node, context)
        for one in collector.connections:
            progress |= _share(one, added)
        if not progress:
            break
    if collector.undeclared:
        node, context = collector.undeclared[0]
        text = f"`{node.text}`: neither side is declared anywhere"
        raise problem(text, node, path=context.path, rule="9.1.3", hint="declare the member in one of the connectors")
    return [var for one in added for var in _variables(one)]


Reach = dict[tuple[int, str], tuple[int, ...]]


def _reach(collector: Collector, waiting: list[tuple[tree.Connect, Context]]) -> Reach:
    """The largest subscripts with which all connections together name each new member."""
    found: Reach = {}
    for node, context in waiting:
        for ref in (node.left, node.right):
            if collector.end(ref, context) is not None:
                continue
            place = _place(collector, ref, context)
            if place is None or not ref.subscripts or not ref.subscripts[place[1]]:
                continue
            key = (id(place[0]), ref.names[place[1]])
            found[key] = _largest(found.get(key, ()), _subscripts(collector, ref, place[1], context))
    return found


def _largest(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(pair) for pair in zip_longest(a, b, fillvalue=0))


def _declare(collector: Collector, node: tree.Connect, context: Context, reach: Reach, added: list[Any]) -> bool:
    left, right = collector.end(node.left, context), collector.end(node.right, context)
    if left is None and right is not None and right is not ABSENT:
        return _add(collector, node.left, right, context, reach, added)
    if right is None and left is not None and left is not ABSENT:
        return _add(collector, node.right, left, context, reach, added)
    return False


def _place(collector: Collector, ref: tree.Reference, context: Context) -> tuple[Inst, int] | None:
    """The connector that gets a new member, and which of the names in a reference is the member."""
    thing: Any = context.scope.inst
    resolver = collector.values.resolver
    for k, name in enumerate(ref.names):
        inner = thing.child(name) if isinstance(thing, Inst) else None
        if inner is None:
            break
        thing = inner
        if isinstance(thing, (Many, ThingGroup)):
            given = ref.subscripts[k] if ref.subscripts else ()
            thing, _ = resolver._picked(thing, 0, given, ref, context.scope, context.known)
    return (thing, k) if isinstance(thing, Inst) and k == len(ref.names) - 1 else None


def _add(
    collector: Collector, ref: tree.Reference, other: Any, context: Context, reach: Reach, added: list[Any]
) -> bool:
    """Add the member that a reference names."""
    place = _place(collector, ref, context)
    if place is None:
        return False
    thing, k = place
    source = other.thing
    shape = _largest(_sizes(collector, ref, k, other, context), reach.get((id(thing), ref.names[k]), ()))
    while isinstance(source, (Many, ThingGroup)):
        source = (source.elements if isinstance(source, Many) else source.items)[0]
    added.append(_copy(source, thing, ref.names[k], shape))
    return True


def _subscripts(collector: Collector, ref: tree.Reference, k: int, context: Context) -> tuple[int, ...]:
    """How far the subscripts of a name reach."""
    found = []
    for one in ref.subscripts[k]:
        value = collector.values.needed(one, context.scope, f"the subscript in `{ref.text}`", context.known)
        found.append(max(ordinal(x) for x in value) if hasattr(value, "shape") else ordinal(value))
    return tuple(found)


def _sizes(collector: Collector, ref: tree.Reference, k: int, other: Any, context: Context) -> tuple[int, ...]:
    """The dimensions of a new member: what its subscripts reach, else those of the other side."""
    if ref.subscripts and ref.subscripts[k]:
        return _subscripts(collector, ref, k, context)
    thing = other.thing
    if isinstance(thing, Var) and other.places is not None:
        kept = [p for p in other.places if p is None or hasattr(p, "shape")]
        sizes = [len(p) if p is not None else n for p, n in zip(other.places, thing.shape, strict=False) if p in kept]
        return (*sizes, *thing.shape[len(other.places) :])
    if isinstance(thing, (Many, ThingGroup)):
        items = thing.elements if isinstance(thing, Many) else thing.items
        return (*thing.shape, *(items[0].shape if items and isinstance(items[0], Var) else ()))
    return thing.shape if isinstance(thing, Var) else ()


def _copy(source: Any, into: Inst, name: str, shape: tuple[int, ...]) -> Any:
    """A member like the source."""
    element = ClassMember(name, source.node, source.element.layer, None, False)
    made: Any
    if isinstance(source, Var):
        made = Var(into, element, source.node, source.cls, source.cls.mod, [], source.node)
        made._shape = shape
        made.variability, made.connection, made.causality = source.variability, source.connection, ""
    elif shape:
        items = [_inst(source, into, name + subscript, element) for subscript in _indices(shape)]
        made = Many(into, element, source.node, source.cls, shape, items)
    else:
        made = _inst(source, into, name, element)
    into.joined[name] = made
    return made


def _indices(shape: tuple[int, ...]) -> list[str]:
    return [f"[{','.join(map(str, index))}]" for index in product(*(range(1, n + 1) for n in shape))]


def _grow(thing: Any, shape: tuple[int, ...]) -> None:
    """An added array becomes as large as that of the other connector."""
    if isinstance(thing, Var):
        thing._shape = shape
        return
    known = dict(zip(_indices(thing.shape), thing.elements, strict=True))
    first = thing.elements[0]
    thing.elements = [
        known.get(one) or _inst(first, thing.parent, thing.name + one, thing.element) for one in _indices(shape)
    ]
    thing.shape = shape


def _inst(source: Inst, into: Inst, name: str, element: ClassMember) -> Inst:
    made = Inst(source.cls, source.mod, into, name)
    made.node, made.element = source.node, element
    return made


def _share(one: ConnectedPair, added: list[Any]) -> bool:
    a, b = one.left.thing, one.right.thing
    pairs = [(a, b)]
    if isinstance(a, (Many, ThingGroup)) and isinstance(b, (Many, ThingGroup)):
        pairs = list(
            zip(
                a.elements if isinstance(a, Many) else a.items,
                b.elements if isinstance(b, Many) else b.items,
                strict=False,
            )
        )
    progress = False
    for x, y in pairs:
        if isinstance(x, Inst) and isinstance(y, Inst):
            progress |= _union(x, y, added)
    return progress


def _union(a: Inst, b: Inst, added: list[Any]) -> bool:
    if a.cls.kind != "expandable connector" or b.cls.kind != "expandable connector":
        return False
    progress = False
    for source, target in ((a, b), (b, a)):
        for name in members(source):
            thing = source.child(name)
            if thing is ABSENT:
                continue
            other = target.child(name)
            if other is None:
                shape = thing.shape if isinstance(thing, (Var, Many)) else ()
                item = thing.elements[0] if isinstance(thing, Many) else thing
                added.append(_copy(item, target, name, shape))
                progress = True
            elif source is a and isinstance(thing, Inst) and isinstance(other, Inst):
                progress |= _union(thing, other, added)
            elif source is a and isinstance(thing, (Var, Many)) and type(thing) is type(other):
                shape = _largest(thing.shape, other.shape)
                for one, owner in ((thing, a), (other, b)):
                    if one.shape != shape and len(one.shape) == len(shape) and name in owner.joined:
                        _grow(one, shape)
                        progress = True
    return progress


def unused(sets: Sets, variables: list[Var]) -> set[Var]:
    """Declared members of expandable connectors that nothing but other such members is connected to."""
    candidates = {var for var in variables if _is_potential(var)}
    if not candidates:
        return set()
    used: set[Var] = set()
    for group in sets.groups():
        names = {key[0] for key in group}
        if any(var not in candidates and not _is_expandable(var) for var in names):
            used |= names
    return candidates - used


def _is_expandable(var: Var) -> bool:
    return var.parent.cls.kind == "expandable connector"


def _is_potential(var: Var) -> bool:
    return _is_expandable(var) and var.name not in var.parent.joined and var.variability > 1


def _variables(thing: Any) -> list[Var]:
    if isinstance(thing, Var):
        return [thing]
    if isinstance(thing, Many):
        return [var for one in thing.elements for var in _variables(one)]
    if isinstance(thing, Inst):
        found = []
        for name in members(thing):
            child = thing.child(name)
            if child is not ABSENT and name not in thing.joined:
                found += _variables(child)
        return found
    return []
