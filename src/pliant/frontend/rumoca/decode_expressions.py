"""Expressions of rumoca's dictionary as expressions of a flat model.

All nodes are taken in rumoca's order. Coordinates become references, `pre`, `der`, ticks and `initial()`; what they
name may stand behind them (conditions, delays) and is then decoded first. A relation that rumoca does not list among
its events makes none: it gets a `noEvent` around it, unless something that moves is not read at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pliant.errors import NotSupportedError
from pliant.frontend.flat.build import FlatBuilder
from pliant.frontend.flat.expressions import (
    NONE,
    RELATIONS,
    WHOLE,
    ClockInterval,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatCall,
    FlatChoice,
    FlatComprehension,
    FlatExpression,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatLoop,
    FlatOutput,
    FlatRange,
    FlatRecord,
    FlatUnary,
    FlatUpdate,
    IteratorRef,
    LocalRef,
    TimeRef,
    VariableRef,
)
from pliant.frontend.flat.types import BOOLEAN, INTEGER, REAL, STRING, BaseType, RecordField, RecordType, Type
from pliant.frontend.rumoca.nodes import Nodes
from pliant.frontend.rumoca.spans import Spans
from pliant.ir import Span

_OPERATORS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "power": "^",
    "elementwise_add": ".+",
    "elementwise_subtract": ".-",
    "elementwise_multiply": ".*",
    "elementwise_divide": "./",
    "elementwise_power": ".^",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "equal": "==",
    "not_equal": "<>",
    "and": "and",
    "or": "or",
    "negate": "-",
    "plus": "+",
    "not": "not",
}
_NAMES = {
    "no_event": "noEvent",
    "semi_linear": "semiLinear",
    "outer_product": "outerProduct",
    "promoted_cat1": "[;]",
    "promoted_cat2": "[,]",
}
_READS = frozenset({"state", "algebraic", "input", "parameter", "discrete_real", "discrete_value"})
_BEFORE = frozenset({"pre_discrete_real", "pre_discrete_value", "pre_state", "pre_algebraic"})
_MOVING = frozenset({"state", "algebraic", "input", "derivative"})
_ORDERED = frozenset({"less", "less_equal", "greater", "greater_equal"})
_PLACED = frozenset({FlatBuiltin, FlatCall, FlatChoice, FlatIndex})
_ENUMERATION = Type(BaseType.ENUMERATION)
_SCALARS = {"real": REAL, "integer": INTEGER, "boolean": BOOLEAN, "string": STRING}


class ExpressionDecoder:
    """Numbers of flat expressions for the ids of rumoca; ``condition`` decodes an entry of its list of conditions."""

    def __init__(self, build: FlatBuilder, dae: dict[str, Any], nodes: Nodes, spans: Spans) -> None:
        self.build, self.storage, self.nodes, self.spans = build, dae["storage"], nodes, spans
        self.new: list[int] = [NONE] * nodes.count
        self.calls: dict[int, int] = {}  # owner of a call -> the call itself
        self.delays: dict[int, int] = {}
        self.types: list[Type] = [self._type(one) for one in self.storage["value_types"]]
        self.first_iterator: list[int] = []
        for entry in self.storage["domains"]:
            self.first_iterator.append(len(build.iterators))
            for binder in entry["domain"]["binders"]:
                build.iterator(binder["display_name"], INTEGER)
        self.condition: Callable[[int, Span | None], int]
        self.silent = self._silent()

    def _type(self, raw: dict[str, Any]) -> Type:
        shape = tuple(raw["dimensions"])
        known = _SCALARS.get(raw["scalar"])
        if known is not None:
            return known.sized(shape)
        if raw["scalar"] == "enumeration":
            return Type(BaseType.ENUMERATION, shape)
        # types are listed in any order, records in records as deep as they are written
        inner = self.storage["value_types"]
        fields = tuple(RecordField(one["name"], self._type(inner[one["value_type"]])) for one in raw["record_fields"])
        return Type(BaseType.RECORD, shape, self.build.record(RecordType(raw["record_name"] or "record", fields)))

    def _silent(self) -> set[int]:
        """Relations that make no events though they read something that moves, and nothing around them says so."""
        nodes, storage = self.nodes, self.storage
        listed = {entry["expression"] for entry in storage["structured_roots"]}
        listed |= {entry["relation"]["expression"] for entry in storage["relations"] if "relation" in entry}
        found = {
            number
            for number, kind in enumerate(nodes.kind)
            if kind == "binary" and number not in listed and nodes.raw[number]["operator"] in _ORDERED
        }
        found = {number for number in found if self._moves(number)}
        if found:
            quiet = [
                operand
                for number, kind in enumerate(nodes.kind)
                if kind == "builtin" and nodes.raw[number]["builtin"] in ("no_event", "smooth")
                for operand in nodes.strict[number]
            ]
            found -= set(nodes.reachable(quiet))
        return found

    def _moves(self, root: int) -> bool:
        """It reads something that moves; inside functions it reads arguments and locals only."""
        kinds, raw = self.nodes.kind, self.nodes.raw
        return any(
            kinds[number] == "coordinate" and isinstance(raw[number], dict) and next(iter(raw[number])) in _MOVING
            for number in self.nodes.reachable([root])
        )

    # ------------------------------------------------------------------------------------------- decoding

    def decode_all(self, skipped: set[int]) -> None:
        """Every node in turn, but those whose two sides are all that is needed."""
        raw, new = self.nodes.raw, self.new
        for number, kind in enumerate(self.nodes.kind):
            if number in skipped or new[number] != NONE:
                continue
            if kind == "coordinate" and isinstance(raw[number], dict) and "delay" in raw[number]:
                self(number)  # what is delayed may stand behind it
            else:
                self._decode(number)

    def __call__(self, number: int) -> int:
        """The flat expression of an id."""
        known = self.new[number]
        if known != NONE:
            return known
        stack = [number]
        while stack:
            current = stack[-1]
            missing = [e for e in self._needs(current) if self.new[e] == NONE and self.nodes.kind[e] in _DECODERS]
            if self.new[current] != NONE:
                stack.pop()
            elif missing:
                stack.extend(reversed(missing))
            else:
                stack.pop()
                self._decode(current)
        return self.new[number]

    def _needs(self, number: int) -> tuple[int, ...]:
        nodes, raw = self.nodes, self.nodes.raw[number]
        if nodes.kind[number] == "coordinate":
            if isinstance(raw, dict) and "delay" in raw:
                return self._delay_parts(raw["delay"])
            return ()
        return (*nodes.strict[number], *nodes.lazy[number])

    def _decode(self, number: int) -> None:
        decoder = _DECODERS.get(self.nodes.kind[number])
        if decoder is not None:
            self.new[number] = decoder(self, number, self.nodes.raw[number])
            if number in self.silent:
                self.new[number] = self.build.builtin("noEvent", self.new[number], span=self.span(number))

    def span(self, number: int) -> Span | None:
        """Where a node stands."""
        return self.spans.span(self.nodes.span(number))

    def add(self, number: int, node: FlatExpression, of: Type | None = None) -> int:
        """A flat expression; its place is kept where events or errors name it."""
        return self.build.add(node, self.span(number) if node.__class__ in _PLACED else None, of)

    def loops(self, domain: int, count: int | None = None) -> tuple[FlatLoop, ...]:
        """Loops over the first ``count`` binders of a domain."""
        found, build = [], self.build
        binders = self.storage["domains"][domain]["domain"]["binders"][:count]
        for k, binder in enumerate(binders, self.first_iterator[domain]):
            step = binder.get("step", 1)
            parts = [build.literal(int(binder["lower"]))]
            parts.append(build.literal(int(step)) if step != 1 else NONE)
            parts.append(build.literal(int(binder["upper"])))
            found.append(FlatLoop(k, build.add(FlatRange(*parts))))
        return tuple(found)

    # ------------------------------------------------------------------------------------------- the kinds

    def literal(self, number: int, raw: Any) -> int:
        """A number, string, truth value or value of an enumeration."""
        ((kind, value),) = raw.items()
        if kind == "enumeration":
            return self.build.add(FlatLiteral(int(value)), None, _ENUMERATION)
        return self.build.add(FlatLiteral(float(value) if kind == "real" else value))

    def coordinate(self, number: int, raw: Any) -> int:
        """A variable, or what is known of one."""
        which: Any
        kind, which = (raw, None) if isinstance(raw, str) else next(iter(raw.items()))
        build = self.build
        if kind in _READS:
            return build.add(VariableRef(which))
        if kind == "derivative":
            return build.builtin("der", build.ref(which))
        if kind == "time":
            return build.add(TimeRef())
        if kind in _BEFORE:
            return build.builtin("pre", build.ref(which))
        if kind == "binder":
            return build.add(IteratorRef(self.first_iterator[which["domain"]] + which["ordinal"]))
        if kind == "function_parameter":
            return build.add(LocalRef(which["function"], which["ordinal"]))
        span = self.span(number)
        if kind == "previous":
            variable = self.storage["previous_values"][which]["variable"]
            return build.builtin("previous", build.ref(variable, span), span=span)
        if kind == "condition":
            return self.condition(which, span)
        if kind == "clock_interval":
            return build.add(ClockInterval(which), span)
        if kind == "terminal":
            return build.builtin("terminal", span=span)
        if kind == "delay":
            if which not in self.delays:
                parts = [self.new[e] for e in self._delay_parts(which)]
                self.delays[which] = build.builtin("delay", *parts, span=span)
            return self.delays[which]
        raise NotSupportedError(
            f"{span or 'here'}: rumoca's `{kind}` is not supported", hint="write this equation in a simpler form"
        )

    def _delay_parts(self, which: int) -> tuple[int, ...]:
        entry = self.storage["delays"][which]
        ((_, content),) = entry["kind"].items()
        given = [content[name] for name in ("delay_time", "delay_max") if content.get(name) is not None]
        return entry["source"], *(one["expression"] if isinstance(one, dict) else one for one in given)

    def unary(self, number: int, raw: Any) -> int:
        """A sign, or not."""
        return self.add(number, FlatUnary(_OPERATORS[raw["operator"]], self.new[raw["operand"]]))

    def binary(self, number: int, raw: Any) -> int:
        """An operator."""
        operator = _OPERATORS[raw["operator"]]
        span = self.span(number) if operator in RELATIONS else None
        return self.build.add(FlatBinary(operator, self.new[raw["lhs"]], self.new[raw["rhs"]]), span)

    def conditional(self, number: int, _: Any) -> int:
        """An if-expression."""
        return self.add(number, FlatChoice(self._all(self.nodes.strict[number] + self.nodes.lazy[number])))

    def _all(self, numbers: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.new[e] for e in numbers)

    def array(self, number: int, raw: Any) -> int:
        """An array constructor."""
        elements = self._all(self.nodes.strict[number])
        return self.add(number, FlatArray(elements), None if elements else self.types[raw["value_type"]])

    def record(self, number: int, raw: Any) -> int:
        """A record constructor."""
        return self.add(number, FlatRecord(self._all(self.nodes.strict[number])), self.types[raw["value_type"]])

    def field(self, number: int, raw: Any) -> int:
        """A field of a record."""
        return self.add(number, FlatField(self.new[raw["base"]], raw["field"]))

    def range(self, number: int, raw: Any) -> int:
        """A range."""
        step = raw["explicit_step_expression"]
        ends = self.new[raw["start_expression"]], self.new[raw["stop_expression"]]
        return self.add(number, FlatRange(ends[0], NONE if step is None else self.new[step], ends[1]))

    def _subscripts(self, number: int) -> tuple[int, ...]:
        return tuple(WHOLE if e < 0 else self.new[e] for _, e in self.nodes.subscripts[number])

    def index(self, number: int, raw: Any) -> int:
        """A part of an array."""
        return self.add(number, FlatIndex(self.new[raw["base"]], self._subscripts(number)))

    def array_update(self, number: int, raw: Any) -> int:
        """An array with a part replaced."""
        node = FlatUpdate(self.new[raw["base"]], self._subscripts(number), self.new[raw["value"]])
        return self.add(number, node)

    def comprehension(self, number: int, raw: Any) -> int:
        """An array from a loop."""
        return self.add(number, FlatComprehension(self.new[raw["body"]], self.loops(raw["domain"])))

    def builtin(self, number: int, raw: Any) -> int:
        """A built-in function, also `mod`, `rem` and `div`."""
        name = raw["builtin"]
        return self.add(number, FlatBuiltin(_NAMES.get(name, name), self._all(self.nodes.strict[number])))

    def call(self, number: int, raw: Any) -> int:
        """An output of a function; the arguments are held by the first one that is read."""
        owner = raw["owner"]
        if owner == number:
            node = FlatCall(raw["function"], self._all(self.nodes.strict[number]))
            self.calls[owner] = self.add(number, node)
        if self.build.functions[raw["function"]].n_outputs == 1:
            return self.calls[owner]
        return self.add(number, FlatOutput(self.calls[owner], raw["output"]))

    def function_value(self, number: int, raw: Any) -> int:
        """An output or local of the function around."""
        place = self.build.functions[raw["function"]].n_inputs + raw["value"]
        return self.add(number, LocalRef(raw["function"], place))

    def string_conversion(self, number: int, raw: Any) -> int:
        """String(...); rumoca knows its options, results do not show them."""
        return self.add(number, FlatBuiltin("String", (self.new[raw["value"]],)))

    def clock_transfer(self, number: int, raw: Any) -> int:
        """A conversion between clocks."""
        ((kind, content),) = raw["kind"].items() if isinstance(raw["kind"], dict) else ((raw["kind"], {}),)
        head, *rest = str(kind).split("_")
        given = [self.build.literal(int(one)) for one in content.values()] if isinstance(content, dict) else []
        name = head + "".join(word.capitalize() for word in rest)
        return self.build.builtin(name, self.new[raw["source"]], *given, span=self.span(number))


_DECODERS: dict[str, Callable[[ExpressionDecoder, int, Any], int]] = {
    "literal": ExpressionDecoder.literal,
    "coordinate": ExpressionDecoder.coordinate,
    "binary": ExpressionDecoder.binary,
    "unary": ExpressionDecoder.unary,
    "conditional": ExpressionDecoder.conditional,
    "array": ExpressionDecoder.array,
    "record": ExpressionDecoder.record,
    "field": ExpressionDecoder.field,
    "comprehension": ExpressionDecoder.comprehension,
    "index": ExpressionDecoder.index,
    "array_update": ExpressionDecoder.array_update,
    "range": ExpressionDecoder.range,
    "builtin": ExpressionDecoder.builtin,
    "runtime_quotient_owner": ExpressionDecoder.builtin,
    "call": ExpressionDecoder.call,
    "function_value": ExpressionDecoder.function_value,
    "string_conversion": ExpressionDecoder.string_conversion,
    "clock_transfer": ExpressionDecoder.clock_transfer,
}
