"""Building a FlatModel: numbers for what it is made of, types for expressions.

    build = FlatBuilder("Ball")
    h = build.variable(FlatVariable("h", REAL, Variability.CONTINUOUS))
    build.equation(build.builtin("der", build.ref(h)), build.literal(-9.81), span=...)
    flat = build.finish()

``add`` infers the type of a node from its operands. What does not fit raises :class:`TypeMismatch`; with
``lenient=True`` it is left to :func:`~pliant.frontend.flat.check.check_flat` to report.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pliant.frontend.flat.expressions import (
    RELATIONS,
    ClockInterval,
    ClockTick,
    Expressions,
    FlatBinary,
    FlatBuiltin,
    FlatCall,
    FlatExpression,
    FlatLiteral,
    FlatOutput,
    FlatUnary,
    IteratorRef,
    LocalRef,
    TimeRef,
    VariableRef,
    operands,
)
from pliant.frontend.flat.infer import Inference
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatClock,
    FlatEquation,
    FlatFunction,
    FlatItem,
    FlatIterator,
    FlatModel,
    FlatObject,
    FlatVariable,
)
from pliant.frontend.flat.shapes import TypeMismatch
from pliant.frontend.flat.types import REAL, BaseType, EnumerationType, RecordType, Type, Variability
from pliant.ir import Span

AT_EVENTS = frozenset({"pre", "previous", "edge", "change", "initial", "terminal", "hold", "sample", "floor", "ceil"})


class FlatBuilder:
    """A model that grows; lists have the names that the finished model has."""

    def __init__(self, name: str, *, lenient: bool = False) -> None:
        self.name, self.lenient = name, lenient
        self.nodes: list[FlatExpression] = []
        self.types: list[Type] = []
        self.spans: list[Span | None] = []
        self.variables: list[FlatVariable] = []
        self.equations: list[FlatItem] = []
        self.initial_equations: list[FlatItem] = []
        self.algorithms: list[FlatAlgorithm] = []
        self.initial_algorithms: list[FlatAlgorithm] = []
        self.functions: list[FlatFunction] = []
        self.records: list[RecordType] = []
        self.enumerations: list[EnumerationType] = []
        self.iterators: list[FlatIterator] = []
        self.clocks: list[FlatClock] = []
        self.objects: list[FlatObject] = []
        self.infer = Inference(self, self.nodes, self.types)

    # -------------------------------------------------------------------------------------- expressions

    def add(self, node: FlatExpression, span: Span | None = None, of: Type | None = None) -> int:
        """A new expression; ``of``: its type, where it does not follow from the operands."""
        if of is None:
            try:
                of = self.infer(node)
            except TypeMismatch:
                if not self.lenient:
                    raise
                under = operands(node)
                of = self.types[under[0]] if under else REAL
        self.nodes.append(node)
        self.types.append(of)
        self.spans.append(span)
        return len(self.nodes) - 1

    def literal(self, value: float | int | bool | str, span: Span | None = None, of: Type | None = None) -> int:
        """A number, a truth value, a string, or with ``of`` a value of an enumeration."""
        return self.add(FlatLiteral(value), span, of)

    def ref(self, variable: int, span: Span | None = None) -> int:
        """A variable."""
        return self.add(VariableRef(variable), span)

    def time(self, span: Span | None = None) -> int:
        """The independent variable."""
        return self.add(TimeRef(), span)

    def unary(self, operator: str, operand: int, span: Span | None = None) -> int:
        """A sign, or not."""
        return self.add(FlatUnary(operator, operand), span)

    def binary(self, operator: str, left: int, right: int, span: Span | None = None) -> int:
        """An operator between two expressions."""
        return self.add(FlatBinary(operator, left, right), span)

    def builtin(self, name: str, *given: int, span: Span | None = None) -> int:
        """A built-in function."""
        return self.add(FlatBuiltin(name, given), span)

    def call(self, function: int, *given: int, span: Span | None = None) -> int:
        """A function of the model."""
        return self.add(FlatCall(function, given), span)

    def variability(self, e: int) -> Variability:
        """How far an expression changes (specification 3.6, section 3.8)."""
        known: dict[int, Variability] = {}
        stack = [e]
        while stack:
            number = stack[-1]
            under = operands(self.nodes[number])
            missing = [k for k in under if k not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            known[number] = self._variability(number, [known[k] for k in under])
        return known[e]

    def _variability(self, number: int, under: list[Variability]) -> Variability:
        node, most = self.nodes[number], max(under, default=Variability.CONSTANT)
        if isinstance(node, VariableRef):
            return self.variables[node.variable].variability
        if isinstance(node, (TimeRef, LocalRef)):
            return Variability.CONTINUOUS
        if isinstance(node, (ClockTick, ClockInterval)):
            return Variability.DISCRETE
        if isinstance(node, (FlatLiteral, IteratorRef)):
            return Variability.CONSTANT
        if isinstance(node, FlatBuiltin):
            if node.name == "der":
                return Variability.CONTINUOUS
            if node.name in ("size", "ndims"):
                return Variability.PARAMETER
            if node.name in AT_EVENTS:
                return Variability.DISCRETE if node.name in ("initial", "terminal") else min(most, Variability.DISCRETE)
            if node.name == "noEvent":
                return most
        if isinstance(node, (FlatCall, FlatOutput)):
            return most  # a function makes no events
        base = self.types[number].base
        is_relation = isinstance(node, FlatBinary) and node.operator in RELATIONS
        if is_relation or base not in (BaseType.REAL, BaseType.RECORD, BaseType.TUPLE):
            return min(most, Variability.DISCRETE)
        return most

    # ---------------------------------------------------------------------------------------- the others

    def variable(self, variable: FlatVariable) -> int:
        """A new variable; its number."""
        return _entered(self.variables, variable)

    def iterator(self, name: str, of: Type) -> int:
        """A new variable of loops."""
        return _entered(self.iterators, FlatIterator(name, of))

    def record(self, record: RecordType) -> int:
        """The number of a record, a new one if it is not there."""
        return self.records.index(record) if record in self.records else _entered(self.records, record)

    def enumeration(self, enumeration: EnumerationType) -> int:
        """The number of an enumeration, a new one if it is not there."""
        known = self.enumerations
        return known.index(enumeration) if enumeration in known else _entered(known, enumeration)

    def clock(self, clock: FlatClock) -> int:
        """A new clock."""
        return _entered(self.clocks, clock)

    def function(self, function: FlatFunction) -> int:
        """A new function; it may be declared first and get its body later."""
        return _entered(self.functions, function)

    def define(self, number: int, **parts: Any) -> None:
        """Give a declared function its body, annotations, ..."""
        self.functions[number] = replace(self.functions[number], **parts)

    def equation(self, left: int, right: int, *, is_initial: bool = False, **parts: Any) -> FlatEquation:
        """A new equation; its variability is that of its sides unless it is given."""
        if "variability" not in parts:
            most = max(self.variability(left), self.variability(right))
            parts["variability"] = max(most, Variability.DISCRETE)
        found = FlatEquation(left, right, **parts)
        (self.initial_equations if is_initial else self.equations).append(found)
        return found

    def finish(self, **parts: Any) -> FlatModel:
        """The model; ``parts`` are those that are not built up: experiment, files, digest, ..."""
        expressions = Expressions(tuple(self.nodes), tuple(self.types), tuple(self.spans))
        return FlatModel(
            self.name,
            tuple(self.variables),
            expressions,
            tuple(self.equations),
            tuple(self.initial_equations),
            tuple(self.algorithms),
            tuple(self.initial_algorithms),
            tuple(self.functions),
            tuple(self.records),
            tuple(self.enumerations),
            tuple(self.iterators),
            tuple(self.clocks),
            tuple(self.objects),
            **parts,
        )


def _entered(into: list[Any], entry: Any) -> int:
    into.append(entry)
    return len(into) - 1
