"""Stream connectors (chapter 15): what inStream and actualStream stand for.

Of a set of connected stream connectors, those seen from inside take part with what flows out of them, those seen from
outside with what flows in from outside. With two connectors the value is that of the other one. With more, values are
mixed by the flows, which are bounded from below by a small number so that the mixture is defined without flow.
Connectors that nothing can flow out of (min of the flow >= 0) do not take part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.expressions import FlatBinary, FlatBuiltin, FlatChoice, FlatIndex, FlatUnary
from pliant.frontend.modelica.connections.sets import Key, Sets
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.parts import of_group
from pliant.frontend.modelica.instances.components import Many, Var
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator

SMALL_FLOW = 1e-8  # what a flow counts at least in a mixture
MAX_LEVELS = 60  # connectors of components within components that a stream passes


class Streams:
    """Mixing of what flows into a connection."""

    def __init__(self, translator: Translator, sets: Sets) -> None:
        self.out, self.sets, self.builder = translator, sets, translator.builder
        self.groups: dict[Key, list[Key]] = {}
        self.level = 0
        for group in sets.groups():
            if group[0][0].connection == "stream":
                for key in group:
                    self.groups[key] = group

    # ------------------------------------------------------------------------------------------------- expressions

    def expression(self, name: str, node: tree.Call, context: Context) -> int:
        """inStream(v) or actualStream(v)."""
        if len(node.arguments) != 1 or not isinstance(node.arguments[0], tree.Reference):
            raise problem(f"`{name}` needs a stream variable", node, path=context.path, rule="15.2")
        ref = node.arguments[0]
        thing, rest, still_open = self.out.values.resolver.resolve_open(ref, context.scope, context.known)
        given, dims = of_group(thing, rest, still_open)
        e = self._thing(name, thing, ref, node, context)
        return self.out.subscripted(e, given, ref, context, dims) if given else e

    def _thing(self, name: str, thing: Any, ref: tree.Reference, node: tree.Call, context: Context) -> int:
        if isinstance(thing, (Many, ThingGroup)):
            items = thing.elements if isinstance(thing, Many) else thing.items
            parts = [self._thing(name, one, ref, node, context) for one in items]
            return self.out.nested(parts, thing, node, context)
        if not isinstance(thing, Var) or thing.connection != "stream":
            raise problem(f"`{ref.text}` is no stream variable", ref, path=context.path, rule="15.2")
        inside = self.inflow(thing, node)
        if name == "inStream":
            return inside
        flow = self._flow(thing, node)
        span = node.span
        zero = self.builder.literal(0.0, span)
        is_positive = self.builder.add(FlatBinary(">", flow, zero), span)
        return self.builder.add(FlatChoice((is_positive, inside, self.builder.ref(thing.number, span))), span)

    def inflow(self, var: Var, node: tree.Node) -> int:
        """What would flow into the component through this connector."""
        group = self.groups.get((var, None, False))
        if group is None:
            return self._own(var, node)
        return self._mixed([key for key in group if key != (var, None, False)], var, node)

    def _own(self, var: Var, node: tree.Node) -> int:
        if var.number < 0:
            self.out.variables.enter(var)
        return self.builder.ref(var.number, node.span)

    def _mixed(self, others: list[Key], own: Var, node: tree.Node) -> int:
        """The mixture of what the others give; `own` where they give nothing."""
        sources = [key for key in others if not self._is_one_way(key)]
        if not sources:
            return self._own(own, node)
        if len(sources) == 1:
            return self._value(sources[0], node)
        span = node.span
        weights, values = [], []
        for key in sources:
            flow = self._flow(key[0], node)
            if not key[2]:
                flow = self.builder.add(FlatUnary("-", flow), span)
            small = self.builder.literal(SMALL_FLOW, span)
            weights.append(self.builder.add(FlatBuiltin("max", (flow, small)), span))
            values.append(self._value(key, node))
        total = weights[0]
        mixture = self.builder.add(FlatBinary("*", weights[0], values[0]), span)
        for weight, value in zip(weights[1:], values[1:], strict=True):
            total = self.builder.add(FlatBinary("+", total, weight), span)
            term = self.builder.add(FlatBinary("*", weight, value), span)
            mixture = self.builder.add(FlatBinary("+", mixture, term), span)
        return self.builder.add(FlatBinary("/", mixture, total), span)

    def _value(self, key: Key, node: tree.Node) -> int:
        """What a connector gives: its own value from inside, what flows in from further outside."""
        if not key[2]:
            return self._own(key[0], node)
        if self.level > MAX_LEVELS:
            raise problem("stream connectors are connected in a circle", node, rule="15.2")
        self.level += 1
        try:
            return self.inflow(key[0], node)
        finally:
            self.level -= 1

    def _flow(self, var: Var, node: tree.Node) -> int:
        inst = var.parent
        while inst is not None:
            for name, element in inst.table.elements.items():
                if not element.is_class and element.node.connection == "flow":  # type: ignore[union-attr]
                    flow = inst.child(name)
                    if isinstance(flow, Var):
                        return self._own(flow, node)
            if inst.cls.is_connector or inst.parent is None:
                break
            inst = inst.parent
        raise problem(f"the connector of `{var.path}` has no flow variable", node, rule="15.1")

    def _is_one_way(self, key: Key) -> bool:
        """Nothing can flow out of an inside connector whose flow is never negative."""
        if key[2]:
            return False
        inst = key[0].parent
        for name, element in inst.table.elements.items():
            if not element.is_class and element.node.connection == "flow":  # type: ignore[union-attr]
                flow = inst.child(name)
                if isinstance(flow, Var):
                    least = flow.attribute("min")
                    if least is None:
                        return False
                    found = self.out.values.tried(least.value, least.scope, "which way a stream flows")  # type: ignore[arg-type]
                    return isinstance(found, (int, float)) and found >= 0
        return False

    # --------------------------------------------------------------------------------------------------- equations

    def equations(self) -> None:
        """Stream variables of connectors seen from outside have the mixture of what the others give."""
        done: set[int] = set()
        for group in self.groups.values():
            if id(group) in done:
                continue
            done.add(id(group))
            for key in group:
                var, index, is_outside = key
                if not is_outside or 0 in var.shape:
                    continue
                one = self.sets.origin[key]
                left = self._own(var, one.node)
                if index:
                    subscripts = tuple(self.builder.literal(k, one.node.span) for k in index)
                    left = self.builder.add(FlatIndex(left, subscripts), one.node.span)
                right = self._mixed([other for other in group if other != key], var, one.node)
                self.sets._append(left, right, "stream", one.node, one.inst.path)
