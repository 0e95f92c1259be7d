"""Sets of connected variables and their equations (9.2).

A member of a set is a variable (or an element of one, where connections name elements) seen from inside or outside of
the component it belongs to. Potentials of a set are equal, flows sum up to zero: those seen from inside with a plus,
those seen from outside with a minus. A flow that is not connected from outside of its component is zero.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.flat.expressions import FlatBinary, FlatBuiltin, FlatIndex, FlatUnary
from pliant.frontend.flat.model import FlatEquation
from pliant.frontend.flat.types import BaseType, Variability
from pliant.frontend.modelica.connections.collect import ConnectedPair, ConnectEnd
from pliant.frontend.modelica.instances.classes import ClassUse
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import ordinal

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator

Key = tuple[Var, tuple[int, ...] | None, bool]  # variable, element (None: the whole), seen from outside


class Sets:
    """Union-find over members, and equations from it."""

    def __init__(self, translator: Translator) -> None:
        self.out, self.builder = translator, translator.builder
        self.pairs: list[tuple[Var, Any, bool, Var, Any, bool, ConnectedPair]] = []
        self.edges: list[tuple[Any, Any, ConnectedPair, bool, bool]] = []  # between overconstrained records
        self.parent: dict[Key, Key] = {}
        self.origin: dict[Key, ConnectedPair] = {}
        self.split: set[Var] = set()
        self.counts: dict[Any, int] = {}
        self.order: list[Key] = []
        self.stream_sets: list[list[Key]] = []

    # ----------------------------------------------------------------------------------------------------- pairs

    def connect(self, one: ConnectedPair) -> None:
        """Take a connection apart into pairs of variables."""
        for end in (one.left, one.right):
            self._count(end.thing)
        self._match(one.left, one.right, one)

    def _count(self, thing: Any) -> None:
        if isinstance(thing, (Many, ThingGroup)):
            for item in thing.elements if isinstance(thing, Many) else thing.items:
                self._count(item)
        else:
            self.counts[thing] = self.counts.get(thing, 0) + 1

    def _match(self, left: ConnectEnd, right: ConnectEnd, one: ConnectedPair) -> None:
        a, b = left.thing, right.thing
        if left.places is not None or right.places is not None:
            self._elements(left, right, one)
            return
        self._things(a, left.is_outside, b, right.is_outside, one)

    def _things(self, a: Any, a_out: bool, b: Any, b_out: bool, one: ConnectedPair) -> None:
        if isinstance(a, (Many, ThingGroup)) or isinstance(b, (Many, ThingGroup)):
            self._arrays(a, a_out, b, b_out, one)
        elif isinstance(a, Var) and isinstance(b, Var):
            if a.shape != b.shape:
                raise self._unequal(one, f"sizes differ: {list(a.shape)} and {list(b.shape)}")
            if constraint_of(a) is not None and constraint_of(b) is not None:
                self.edges.append((a, b, one, a_out, b_out))
                return
            self._vars(a, None, a_out, b, None, b_out, one)
        elif isinstance(a, Inst) and isinstance(b, Inst):
            self._insts(a, a_out, b, b_out, one)
        else:
            raise self._unequal(one, "one is a variable, the other has members")

    def _arrays(self, a: Any, a_out: bool, b: Any, b_out: bool, one: ConnectedPair) -> None:
        shape_a = _shape(a)
        shape_b = _shape(b)
        if shape_a != shape_b:
            raise self._unequal(one, f"sizes differ: {list(shape_a)} and {list(shape_b)}")
        for x, y in zip(_flat(a), _flat(b), strict=True):
            if isinstance(x, tuple) or isinstance(y, tuple):
                x = x if isinstance(x, tuple) else (x, None)
                y = y if isinstance(y, tuple) else (y, None)
                self._vars(x[0], x[1], a_out, y[0], y[1], b_out, one)
            else:
                self._things(x, a_out, y, b_out, one)

    def _elements(self, left: ConnectEnd, right: ConnectEnd, one: ConnectedPair) -> None:
        a, b = _picked(left), _picked(right)
        if len(a) != len(b):
            raise self._unequal(one, f"{len(a)} and {len(b)} elements")
        for (x, i), (y, j) in zip(a, b, strict=True):
            if isinstance(x, Var) and isinstance(y, Var):
                self._vars(x, i, left.is_outside, y, j, right.is_outside, one)
            else:
                self._things(x, left.is_outside, y, right.is_outside, one)

    def _insts(self, a: Inst, a_out: bool, b: Inst, b_out: bool, one: ConnectedPair) -> None:
        if constraint_of(a) is not None and constraint_of(b) is not None:
            self.edges.append((a, b, one, a_out, b_out))
            return
        names_a = [name for name in members(a) if a.child(name) is not ABSENT]
        names_b = {name for name in members(b) if b.child(name) is not ABSENT}
        for name in names_a:
            if name not in names_b:
                if "expandable connector" in (a.cls.kind, b.cls.kind):
                    continue
                raise self._unequal(one, f"`{b.cls.name}` has no `{name}`")
            self._things(a.child(name), a_out, b.child(name), b_out, one)
        missing = names_b - set(names_a)
        if missing and "expandable connector" not in (a.cls.kind, b.cls.kind):
            raise self._unequal(one, f"`{a.cls.name}` has no `{min(missing)}`")

    def _vars(self, a: Var, i: Any, a_out: bool, b: Var, j: Any, b_out: bool, one: ConnectedPair) -> None:
        if a.connection != b.connection:
            raise self._unequal(
                one, f"`{a.path}` is {a.connection or 'no flow'}, `{b.path}` is {b.connection or 'none'}"
            )
        if a.base != b.base:
            raise self._unequal(one, f"`{a.path}` is {a.base}, `{b.path}` is {b.base}")
        if bool(a.causality) != bool(b.causality) and not any(_is_added(v) for v in (a, b)):
            one_side, other = (a, b) if a.causality else (b, a)
            raise self._unequal(
                one, f"`{one_side.path}` is {one_side.causality}, `{other.path}` is neither input nor output"
            )
        if a.variability <= 1 and b.variability <= 1 and a.variability != b.variability:
            words = ("a constant", "a parameter")
            raise self._unequal(one, f"`{a.path}` is {words[a.variability]}, `{b.path}` is {words[b.variability]}")
        if a.variability <= 1 or b.variability <= 1:
            if a.variability > 1 or b.variability > 1:
                raise self._unequal(one, f"`{a.path}` and `{b.path}`: only one of them is a parameter or constant")
            self._constants(a, b, one)
            return
        self.pairs.append((a, i, a_out, b, j, b_out, one))
        if i is not None:
            self.split.add(a)
        if j is not None:
            self.split.add(b)

    def _constants(self, a: Var, b: Var, one: ConnectedPair) -> None:
        x = self.out.values.of_var(a) if a.binding is not None else None
        y = self.out.values.of_var(b) if b.binding is not None else None
        if x is not None and y is not None and not np.array_equal(x, y):
            raise self._unequal(one, f"`{a.path}` and `{b.path}` are constants with different values")

    def _unequal(self, one: ConnectedPair, why: str) -> Exception:
        return problem(
            f"`{one.node.text}` connects connectors that do not fit: {why}", one.node, path=one.inst.path, rule="9.3"
        )

    # ------------------------------------------------------------------------------------------------------- union

    def find(self, key: Key) -> Key:
        """The representative of a set."""
        parent = self.parent
        if key not in parent:
            parent[key] = key
            self.order.append(key)
            return key
        root = key
        while parent[root] is not root and parent[root] != root:
            root = parent[root]
        while parent[key] != root:
            parent[key], key = root, parent[key]
        return root

    def join(self) -> None:
        """Unite all pairs; arrays of which elements are named are taken element by element."""
        changed = bool(self.split)
        while changed:
            changed = False
            for a, i, _, b, j, _, _ in self.pairs:
                if i is None and j is None and (a in self.split) != (b in self.split):
                    self.split |= {a, b}
                    changed = True
        for a, i, a_out, b, j, b_out, one in self.pairs:
            if i is None and j is None and a in self.split and a.shape:
                for index in np.ndindex(a.shape):
                    place = tuple(k + 1 for k in index)
                    self._unite((a, place, a_out), (b, place, b_out), one)
            else:
                self._unite((a, i, a_out), (b, j, b_out), one)

    def _unite(self, x: Key, y: Key, one: ConnectedPair) -> None:
        self.origin.setdefault(x, one)
        self.origin.setdefault(y, one)
        p, q = self.find(x), self.find(y)
        if p != q:
            self.parent[q] = p

    def groups(self) -> list[list[Key]]:
        """All sets in the order of their first members."""
        found: dict[Key, list[Key]] = {}
        for key in list(self.order):
            found.setdefault(self.find(key), []).append(key)
        return list(found.values())

    # --------------------------------------------------------------------------------------------------- equations

    def equations(self, flows: list[Var]) -> None:
        """Equations of all sets, and of flows that are in none."""
        groups = self.groups()
        connected: dict[Var, set[Any]] = {}
        for group in groups:
            kind = group[0][0].connection
            if all(key[0].number < 0 for key in group):
                continue  # members of expandable connectors that nothing is connected to
            if kind == "flow":
                self._balance(group)
                for var, index, is_outside in group:
                    if not is_outside:
                        connected.setdefault(var, set()).add(index)
            elif kind == "stream":
                self.stream_sets.append(group)
            else:
                self._equal(group)
        for var, index in self._idle(groups):
            self._zero(var, index)
        for var in flows:
            done = connected.get(var, set())
            if None in done or var.number < 0 or 0 in var.shape:
                continue
            if not done:
                self._zero(var, None)
                continue
            for index in np.ndindex(var.shape):
                place = tuple(k + 1 for k in index)
                if place not in done:
                    self._zero(var, place)

    def _idle(self, groups: list[list[Key]]) -> list[tuple[Var, Any]]:
        """Flows that buses carry past a component: added to its connector from outside, and not used inside of it."""
        seen = {key for group in groups for key in group if key[0].connection == "flow" and _is_joined(key[0])}
        idle = [key for key in seen if not key[2] and key[0].number >= 0 and (key[0], key[1], True) not in seen]
        idle.sort(key=lambda key: (key[0].number, key[1] or ()))
        return [(var, index) for var, index, _ in idle if (var, None, True) not in seen]

    def _member(self, key: Key, at: Any) -> int:
        var, index, _ = key
        span = at.span
        if var.number < 0:
            self.out.variables.enter(var)
        e = self.builder.ref(var.number, span)
        if index:
            e = self.builder.add(FlatIndex(e, tuple(self.builder.literal(k, span) for k in index)), span)
        return e

    def _append(self, left: int, right: int, origin: str, at: tree.Node, path: str) -> None:
        of = self.builder.types[left]
        variability = Variability.CONTINUOUS if of.base is BaseType.REAL else Variability.DISCRETE
        if of.base is BaseType.REAL:
            variability = max(self.builder.variability(left), self.builder.variability(right), Variability.DISCRETE)
        self.builder.equations.append(FlatEquation(left, right, variability, origin, span=at.span, path=path))

    def _equal(self, group: list[Key]) -> None:
        first = group[0]
        self._check_sources(group)
        is_discrete = first[0].base != "Real"
        for key in group:  # what sets a signal stands first
            is_source = is_discrete and key[0].causality == ("input" if key[2] else "output")
            if key[0].variability <= 1 or is_source:
                first = key
        for key in group:
            if key is first or key[0].variability <= 1 or 0 in key[0].shape:
                continue
            if key[0] is first[0] and key[1] == first[1]:
                continue
            one = self.origin[key]
            sides = self._member(first, one.node), self._member(key, one.node)
            left, right = reversed(sides) if is_discrete else sides  # of discrete variables the left one is determined
            self._append(left, right, "connection", one.node, one.inst.path)

    def _check_sources(self, group: list[Key]) -> None:
        """A signal has one source: an output of a component, or an input of the model around (9.3)."""
        sources = []
        for var, _, is_outside in group:
            is_source = var.causality == ("input" if is_outside else "output")
            if is_source and not var.is_protected and var.parent.cls.kind != "expandable connector":
                sources.append(var)
        self._check_open(group)
        if len(sources) > 1:
            one = self.origin[group[0]]
            text = f"`{sources[0].path}` and `{sources[1].path}` are connected, and both are sources of a signal"
            raise problem(text, one.node, path=one.inst.path, rule="9.3", hint="connect an output with inputs only")

    def _check_open(self, group: list[Key]) -> None:
        """What an expandable connector hands to inputs must come from somewhere (9.1.3)."""
        added = [var for var, _, _ in group if var.name in var.parent.joined and var.parent.joined[var.name] is var]
        others = [(var, out) for var, _, out in group if not _is_added(var)]
        if not added or not others or any(_is_added(var) and var not in added for var, _, _ in group):
            return
        if any((var, index, not out) in self.origin for var, index, out in group if var in added):
            return  # the other side of the connector may have a source
        if all(var.causality == ("output" if is_outside else "input") for var, is_outside in others):
            one = self.origin[group[0]]
            text = f"`{added[0].path}` is read by inputs only: nothing gives it a value"
            raise problem(text, one.node, path=one.inst.path, rule="9.1.3", hint="connect an output with it")

    def _balance(self, group: list[Key]) -> None:
        one = self.origin[group[0]]
        total: int | None = None
        if 0 in group[0][0].shape:
            return
        for key in group:
            e = self._member(key, one.node)
            if total is None:
                total = self.builder.add(FlatUnary("-", e), one.node.span) if key[2] else e
            else:
                total = self.builder.add(FlatBinary("-" if key[2] else "+", total, e), one.node.span)
        assert total is not None
        self._append(total, self._zeros(total, one.node), "flow balance", one.node, one.inst.path)

    def _zeros(self, e: int, at: Any) -> int:
        shape = self.builder.types[e].shape
        if not shape:
            return self.builder.literal(0.0, at.span)
        sizes = tuple(self.builder.literal(n or 0, at.span) for n in shape)
        return self.builder.add(FlatBuiltin("zeros", sizes), at.span)

    def _zero(self, var: Var, place: Any) -> None:
        e = self._member((var, place, False), var.node)
        self._append(e, self._zeros(e, var.node), "flow balance", var.node, var.parent.path)


def _is_joined(var: Var) -> bool:
    """Added to an expandable connector by connections, directly or in a member that was."""
    thing: Any = var
    while thing.parent is not None:
        if thing.name.partition("[")[0] in thing.parent.joined:
            return True
        thing = thing.parent
    return False


def _is_added(var: Var) -> bool:
    """A member of an expandable connector, directly or in one of its members: its causality follows."""
    inst: Any = var.parent
    while inst is not None:
        if inst.cls.kind == "expandable connector":
            return True
        inst = inst.parent
    return False


def constraint_of(thing: Inst | Var) -> ClassUse | None:
    """The function `equalityConstraint` of an overconstrained record or type (9.4)."""
    if isinstance(thing, Inst):
        return None if thing.cls.is_connector else thing.class_member("equalityConstraint")
    core = thing.cls.core
    if core.builtin or core.is_enumeration or "equalityConstraint" not in core.table.elements:
        return None
    return thing.cls.instance.class_member("equalityConstraint")


def members(inst: Inst) -> list[str]:
    """Components of a connector."""
    own = [name for name, one in inst.table.elements.items() if not one.is_class]
    return own + [name for name in inst.joined if name not in own]


def _shape(thing: Any) -> tuple[int, ...]:
    if isinstance(thing, (Many, ThingGroup)):
        inner: tuple[int, ...] = ()
        items = thing.elements if isinstance(thing, Many) else thing.items
        if items and isinstance(items[0], Var):
            inner = items[0].shape
        return (*thing.shape, *inner)
    return thing.shape if isinstance(thing, Var) else ()


def _flat(thing: Any) -> list[Any]:
    """Elements: instances, or (variable, element)."""
    if isinstance(thing, Var):
        if not thing.shape:
            return [thing]
        return [(thing, tuple(k + 1 for k in index)) for index in np.ndindex(thing.shape)]
    items = thing.elements if isinstance(thing, Many) else thing.items if isinstance(thing, ThingGroup) else [thing]
    found: list[Any] = []
    for one in items:
        found += _flat(one) if isinstance(one, Var) else [one]
    return found


def _picked(end: ConnectEnd) -> list[tuple[Any, Any]]:
    """Elements of one side in order."""
    thing = end.thing
    if end.places is None:
        return [one if isinstance(one, tuple) else (one, None) for one in _flat(thing)]
    items = thing.items if isinstance(thing, ThingGroup) else [thing]
    found: list[tuple[Any, Any]] = []
    for var in items:
        grid = np.empty(var.shape, object)
        for index in np.ndindex(var.shape):
            grid[index] = tuple(k + 1 for k in index)
        part: Any = grid
        axis = 0
        for place in end.places:
            if place is None:
                axis += 1
            elif isinstance(place, np.ndarray):
                part = np.take(part, [ordinal(k) - 1 for k in place], axis)
                axis += 1
            else:
                number = ordinal(place)
                if not 1 <= number <= part.shape[axis]:
                    text = f"`{end.node.text}`: the subscript {number} is outside of 1 to {part.shape[axis]}"
                    raise problem(text, end.node, path=end.scope.inst.path, rule="10.5.1")
                part = np.take(part, number - 1, axis)
        if isinstance(part, np.ndarray):
            found += [(var, one) for one in part.flat]
        else:
            found.append((var, part))
    return found
