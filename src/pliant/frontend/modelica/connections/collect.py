"""Connect clauses and Connections.* of all instances: what is connected with what, conditions and loops resolved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import walk
from pliant.frontend.modelica.values.data import NotKnown

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator


class ConnectEnd:
    """One side of a connection: a connector, or elements of one, seen from inside or outside of its component."""

    __slots__ = ("is_outside", "node", "places", "scope", "thing")

    def __init__(self, thing: Any, places: Any, is_outside: bool, node: tree.Reference, scope: Any) -> None:
        self.thing = thing  # Inst, Var, Many, ThingGroup
        self.places = places  # subscripts of a variable, as values; None: the whole
        self.is_outside = is_outside
        self.node, self.scope = node, scope


Exclusions = tuple[tree.Exclusion, ...]


class ConnectedPair:
    """connect(left, right) in an instance."""

    __slots__ = ("inst", "left", "node", "right")

    def __init__(self, left: ConnectEnd, right: ConnectEnd, node: tree.Connect, inst: Inst) -> None:
        self.left, self.right, self.node, self.inst = left, right, node, inst


class Collector:
    """Goes through the equations of instances."""

    def __init__(self, translator: Translator) -> None:
        self.out, self.values = translator, translator.values
        self.connections: list[ConnectedPair] = []
        self.calls: list[tuple[str, tree.Call, Context]] = []  # Connections.branch, ...
        self.undeclared: list[tuple[tree.Connect, Context]] = []  # with members of expandable connectors to be made

    def instance(self, inst: Inst) -> None:
        """All connections of one instance."""
        for layer in inst.table.layers:
            body = layer.body
            if body is None or not body.equations:
                continue
            context = Context(inst.scope(layer.number))
            self._equations(body.equations, context, layer.exclusions)

    def _equations(self, equations: tuple[tree.AnyEquation, ...], context: Context, excluded: Exclusions) -> None:
        for one in equations:
            if isinstance(one, tree.Connect):
                if not any(_is_excluded(one, each) for each in excluded):
                    self.connect(one, context)
            elif isinstance(one, tree.CallEquation):
                name = one.call.function.dotted.lstrip(".")
                if name.startswith("Connections.") and isinstance(one.call, tree.Call):
                    self.calls.append((name[12:], one.call, context))
            elif isinstance(one, tree.ForEquation):
                if _has_connections(one):
                    for inner in self.out.ranges.unrolled(one.indices, context, one.equations):
                        self._equations(one.equations, inner, excluded)
            elif isinstance(one, tree.IfEquation):
                if _has_connections(one):
                    self._if(one, context, excluded)
            elif isinstance(one, tree.WhenEquation) and _has_connections(one):
                raise problem("connect stands in a when-clause", one, path=context.path, rule="8.3.3")

    def _if(self, one: tree.IfEquation, context: Context, excluded: Exclusions) -> None:
        for condition, body in one.branches:
            try:
                self.values.reasons.append("which connections there are")
                try:
                    found = self.values.value(condition, context.scope, context.known)
                finally:
                    self.values.reasons.pop()
            except NotKnown as unknown:
                text = f"connections depend on `{condition.text}`, which is not known: {unknown.message}"
                raise problem(text, condition, path=context.path, rule="8.3.3") from None
            if found:
                self._equations(body, context, excluded)
                return
        self._equations(one.otherwise, context, excluded)

    def connect(self, one: tree.Connect, context: Context) -> None:
        """One connect clause."""
        left, right = self.end(one.left, context), self.end(one.right, context)
        if left is None or right is None:
            if left is not ABSENT and right is not ABSENT:
                self.undeclared.append((one, context))
            return
        if left is ABSENT or right is ABSENT:
            return
        self.connections.append(ConnectedPair(left, right, one, context.scope.inst))

    def end(self, ref: tree.Reference, context: Context) -> Any:
        """A side of a connection; None where a member of an expandable connector is not declared."""
        inst = context.scope.inst
        resolver = self.values.resolver
        if self._undeclared(ref, context):
            return None
        thing, rest = resolver.resolve(ref, context.scope, context.known)
        if thing is ABSENT:
            return ABSENT
        if not _is_connector(thing):
            text = f"`{ref.text}` is no connector"
            raise problem(text, ref, path=context.path, rule="9.1", hint="connect connectors only")
        first = inst.child(ref.names[0])
        is_outside = _is_connector(first) if first is not None else False
        element = inst.table.elements.get(ref.names[0])
        if element is not None and element.node.prefixes & tree.OUTER:  # `inner outer`: the outer one, too (5.4)
            is_outside = False
        places = None
        if rest and isinstance(thing, ThingGroup) and thing.items and isinstance(thing.items[0], Var):
            first_var = thing.items[0]
            places = self._places(rest, first_var.shape, ref, context)
        elif rest:
            assert isinstance(thing, Var)
            places = self._places(rest, thing.shape, ref, context)
        return ConnectEnd(thing, places, is_outside, ref, context.scope)

    def _places(self, rest: Any, shape: tuple[int, ...], ref: tree.Reference, context: Context) -> list[Any]:
        if len(rest) > len(shape):
            text = f"`{ref.text}`: {len(rest)} subscripts, the array has {len(shape)} dimensions"
            raise problem(text, ref, path=context.path, rule="10.5")
        places: list[Any] = []
        for axis, one in enumerate(rest):
            if isinstance(one, tree.Colon):
                places.append(None)
                continue
            inner = {**(context.known or {}), "end": shape[axis]}
            places.append(self.values.needed(one, context.scope, f"the subscript in `{ref.text}`", inner))
        return places

    def _undeclared(self, ref: tree.Reference, context: Context) -> bool:
        """A member of an expandable connector that is not there yet."""
        thing: Any = context.scope.inst
        for k, name in enumerate(ref.names):
            if isinstance(thing, (Many, ThingGroup)):
                items = thing.elements if isinstance(thing, Many) else thing.items
                thing = items[0] if items else None
            if not isinstance(thing, Inst):
                return False
            inner = thing.child(name)
            if inner is None:
                return thing.cls.kind == "expandable connector" and k > 0
            thing = inner
        return False


def _is_excluded(one: tree.Connect, exclusion: tree.Exclusion) -> bool:
    """`break connect(a, b)` removes that one, `break a` all connections of the component (7.4)."""
    without = exclusion.connection
    if without is None:
        return exclusion.name in (one.left.names[0], one.right.names[0])
    return all(a.text.split() == b.text.split() for a, b in ((one.left, without.left), (one.right, without.right)))


def _is_connector(thing: Any) -> bool:
    if isinstance(thing, ThingGroup):
        return bool(thing.items) and _is_connector(thing.items[0])
    if isinstance(thing, (Inst, Many)):
        return bool(thing.cls.is_connector) or (isinstance(thing, Inst) and _in_connector(thing))
    if isinstance(thing, Var):
        return thing.cls.is_connector or _in_connector(thing)
    return False


def _in_connector(thing: Any) -> bool:
    parent = thing.parent
    return parent is not None and not parent.is_class and (parent.cls.is_connector or _in_connector(parent))


def _has_connections(one: tree.Node) -> bool:
    for node in walk(one):
        if isinstance(node, tree.Connect):
            return True
        if isinstance(node, tree.CallEquation) and node.call.function.names[0] == "Connections":
            return True
    return False
