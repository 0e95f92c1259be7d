"""Clocks of chapter 16: which variables and equations belong to which clock, and when it ticks.

Equations and the variables in them form partitions. Operators join them, or stand between two of them:

    previous(x), interval(x)      the same partition, which is clocked
    sample(u, c)                  u is outside, the result ticks with c
    hold(x), noClock(x)           x ticks with a clock of its own, the result is outside
    subSample, superSample, shiftSample, backSample     both are clocked; intervals and first ticks follow each other

From clocks with an interval, rational intervals and first ticks are carried over these relations in both directions
(specification 3.6, sections 16.3 to 16.7). Afterwards a variable of a clocked partition is one that its clock sets, and
the operators are gone: between ticks such a variable keeps its value, so hold(x), subSample(x) and the others are x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.frontend.flat.expressions import (
    ClockInterval,
    ClockTick,
    FlatBuiltin,
    VariableRef,
    operands,
)
from pliant.frontend.flat.model import (
    FlatClock,
    FlatEquation,
    FlatFor,
    FlatIf,
    FlatItem,
    FlatWhen,
    bodies,
    expressions_of,
    walk,
)
from pliant.frontend.flat.types import BOOLEAN, BaseType, Variability
from pliant.frontend.modelica.flatten.numbers import FlatNumbers, NoNumber
from pliant.ir import Span

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder

BETWEEN = frozenset({"subSample", "superSample", "shiftSample", "backSample"})
OPERATORS = BETWEEN | {"sample", "hold", "previous", "noClock", "interval", "firstTick", "Clock"}
_OUTSIDE = -1


@dataclass(frozen=True)
class _Relation:
    """``target`` has ``scale`` times the interval of ``source``, and ticks first ``shift`` of its intervals later."""

    source: int
    target: int
    scale: Fraction
    shift: Fraction


def solve_clocks(builder: FlatBuilder) -> None:
    """Replace clocks and their operators; nothing is done where there are none."""
    if any(of.base is BaseType.CLOCK for of in builder.types) or any(
        node.__class__ is FlatBuiltin and node.name in OPERATORS for node in builder.nodes
    ):
        _Clocks(builder).run()


class _Clocks:
    def __init__(self, builder: FlatBuilder) -> None:
        self.builder, self.nodes, self.types = builder, builder.nodes, builder.types
        self.numbers = FlatNumbers(builder)
        self.parents: list[int] = list(range(len(builder.variables)))  # partitions: those of variables come first
        self.clocked: set[int] = set()
        self.known: dict[int, tuple[Fraction, Fraction, Span | None]] = {}  # partition -> interval, first tick
        self.relations: list[_Relation] = []
        self.part_of: dict[int, int] = {}  # operator -> partition around it
        self.keys: list[tuple[FlatEquation, int]] = []
        self.made: dict[tuple[Fraction, Fraction], int] = {}

    def run(self) -> None:
        builder = self.builder
        builder.equations[:] = self._decided(builder.equations)
        for item in builder.equations:
            self._item(item, self._new())
        self._infer()
        self._check()
        builder.equations[:] = [one for item in builder.equations for one in self._rewritten(item)]
        self._operators()
        self._variables()
        self.numbers.lock("it decides about clocks")

    # ------------------------------------------------------------------------------------------------- partitions

    def _new(self) -> int:
        self.parents.append(len(self.parents))
        return len(self.parents) - 1

    def _root(self, part: int) -> int:
        parents = self.parents
        while parents[part] != part:
            parents[part] = parents[parents[part]]
            part = parents[part]
        return part

    def _join(self, a: int, b: int) -> None:
        a, b = self._root(a), self._root(b)
        if a != b:
            self.parents[max(a, b)] = min(a, b)

    def _decided(self, items: list[FlatItem]) -> list[FlatItem]:
        """If-equations about clocks: the branch that parameters choose."""
        found: list[FlatItem] = []
        for item in items:
            if not isinstance(item, FlatIf) or not self._is_about_clocks(item):
                found.append(item)
                continue
            chosen = item.otherwise
            for branch in item.branches:
                if self._number(branch.condition, branch.span):
                    chosen = branch.body
                    break
            found += self._decided(list(chosen))
        return found

    def _is_about_clocks(self, item: FlatItem) -> bool:
        return any(self._has_operator(e) for one in walk((item,)) for e in expressions_of(one))

    def _has_operator(self, root: int) -> bool:
        stack = [root]
        while stack:
            e = stack.pop()
            if e < 0:
                continue
            node = self.nodes[e]
            if self.types[e].base is BaseType.CLOCK or (isinstance(node, FlatBuiltin) and node.name in OPERATORS):
                return True
            stack.extend(operands(node))
        return False

    def _item(self, item: FlatItem, part: int) -> None:
        if isinstance(item, FlatFor):
            for one in item.body:
                self._item(one, self._new())
            return
        if isinstance(item, FlatWhen) and self.types[item.branches[0].condition].base is BaseType.CLOCK:
            self._expression(item.branches[0].condition, part)
            self.clocked.add(part)
            for one in item.branches[0].body:
                self._item(one, part)
            return
        for e in expressions_of(item):
            self._expression(e, part)
        for one in bodies(item):
            self._item(one, part)

    def _expression(self, root: int, part: int) -> None:
        stack = [(root, part)]
        while stack:
            e, around = stack.pop()
            if e < 0:
                continue
            node = self.nodes[e]
            if isinstance(node, VariableRef):
                if self.builder.variables[node.variable].variability > Variability.PARAMETER:
                    self._join(around, node.variable)
            elif isinstance(node, FlatBuiltin) and node.name in OPERATORS and not isinstance(node, ClockTick):
                self.part_of[e] = around
                stack.extend(self._operator(e, node, around))
            else:
                stack.extend((one, around) for one in operands(node))

    def _operator(self, e: int, node: FlatBuiltin, part: int) -> list[tuple[int, int]]:
        """Operands with their partitions."""
        name, given = node.name, node.operands
        if name == "Clock":
            return self._constructor(e, given, part)
        if name in ("hold", "noClock"):
            inside = self._new()
            self.clocked.add(inside)
            if name == "noClock":
                self.clocked.add(part)
            return [(given[0], inside)]
        self.clocked.add(part)
        if name == "sample":
            return [(given[0], self._new()), *((one, part) for one in given[1:])]
        if name in BETWEEN:
            inside = self._new()
            self.clocked.add(inside)
            if len(given) > 1:
                self._relate(e, name, given[1:], inside, part)
            return [(given[0], inside)]
        return [(one, part) for one in given]

    def _relate(self, e: int, name: str, given: tuple[int, ...], source: int, target: int) -> None:
        span = self.builder.spans[e]
        first = Fraction(self._number(given[0], span))
        if name in ("subSample", "superSample"):
            if first == 0:
                return  # inferred
            scale = first if name == "subSample" else 1 / first
            self.relations.append(_Relation(source, target, scale, Fraction(0)))
            return
        shift = first / Fraction(self._number(given[1], span) if len(given) > 1 else 1)
        sign = 1 if name == "shiftSample" else -1
        self.relations.append(_Relation(source, target, Fraction(1), sign * shift))

    def _constructor(self, e: int, given: tuple[int, ...], part: int) -> list[tuple[int, int]]:
        span = self.builder.spans[e]
        self.clocked.add(part)
        if not given:
            return []
        base = self.types[given[0]].base
        if base is BaseType.CLOCK:
            raise NotSupportedError(
                f"{span}: a clock with a method of integration is not supported",
                hint="leave the method out and discretise the equations",
                span=span,
            )
        if base is BaseType.BOOLEAN:
            raise NotSupportedError(
                f"{span}: a clock that ticks when a condition becomes true is not supported",
                hint="use a when-clause",
                span=span,
            )
        interval = Fraction(repr(float(self._number(given[0], span))))
        if base is BaseType.INTEGER:
            interval /= Fraction(self._number(given[1], span) if len(given) > 1 else 1)
        if interval <= 0:
            raise ModelError(f"{span}: the interval of a clock must be positive", hint="e.g. Clock(0.1)", span=span)
        self._tell(part, interval, Fraction(0), span)
        return []

    def _number(self, e: int, span: Span | None) -> float:
        try:
            return float(self.numbers.value(e))
        except NoNumber as unknown:
            raise NotSupportedError(
                f"{span}: a clock depends on {unknown}, which is not known before the simulation",
                hint="use parameters with values",
                span=span,
            ) from None

    # -------------------------------------------------------------------------------------------------- inference

    def _tell(self, part: int, interval: Fraction, first: Fraction, span: Span | None) -> bool:
        """The clock of a partition; True if that is new. Partitions are joined later, so they are compared later."""
        known = self.known.get(part)
        if known is None:
            self.known[part] = (interval, first, span)
            return True
        if known[:2] != (interval, first):
            raise ModelError(
                f"{span or known[2]}: two clocks contradict each other: one ticks from {first} s "
                f"every {interval} s, the other from {known[1]} s every {known[0]} s",
                hint="convert one signal by sample, hold, subSample, superSample or shiftSample",
                span=span or known[2],
            )
        return False

    def _infer(self) -> None:
        early, self.known = self.known, {}
        for part, (interval, first, span) in early.items():
            self._tell(self._root(part), interval, first, span)
        self.clocked = {self._root(part) for part in self.clocked}
        changed = True
        while changed:
            changed = False
            for one in self.relations:
                source, target = self._root(one.source), self._root(one.target)
                if source in self.known:
                    interval, first, span = self.known[source]
                    changed |= self._tell(target, interval * one.scale, first + one.shift * interval, span)
                elif target in self.known:
                    interval, first, span = self.known[target]
                    of_source = interval / one.scale
                    changed |= self._tell(source, of_source, first - one.shift * of_source, span)

    def _check(self) -> None:
        for v, variable in enumerate(self.builder.variables):
            root = self._root(v)
            if root in self.clocked and root not in self.known and variable.variability > Variability.PARAMETER:
                raise NotSupportedError(
                    f"{variable.span}: the clock of `{variable.name}` cannot be inferred: nothing says when it ticks",
                    hint="give one of the clocks an interval, e.g. Clock(0.1)",
                    span=variable.span,
                )
        for part, (_, first, span) in self.known.items():
            if first < 0:
                raise ModelError(
                    f"{span}: a clock would tick before the start, from {first} s on",
                    hint="shift it by backSample no further than it was shifted by shiftSample",
                    span=span,
                )
            self.clocked.add(part)

    # -------------------------------------------------------------------------------------------------- rewriting

    def _clock(self, part: int) -> int:
        """Number of the clock of a partition; -1 outside."""
        known = self.known.get(self._root(part))
        if known is None:
            return _OUTSIDE
        key = known[:2]
        if key not in self.made:
            interval, first = (one.as_integer_ratio() for one in key)
            self.made[key] = self.builder.clock(FlatClock("periodic", first, interval, span=known[2]))
        return self.made[key]

    def _clock_of(self, item: FlatItem) -> int:
        """Of the first variable, or operator, in an item."""
        for e in expressions_of(item):
            stack = [e]
            while stack:
                number = stack.pop()
                if number < 0:
                    continue
                node = self.nodes[number]
                if number in self.part_of:
                    return self._clock(self.part_of[number])
                if isinstance(node, VariableRef):
                    if self.builder.variables[node.variable].variability > Variability.PARAMETER:
                        return self._clock(node.variable)
                    continue
                stack.extend(reversed(operands(node)))
        return _OUTSIDE

    def _rewritten(self, item: FlatItem) -> list[FlatItem]:
        if isinstance(item, FlatWhen) and self.types[item.branches[0].condition].base is BaseType.CLOCK:
            return [one for inner in item.branches[0].body for one in self._rewritten(inner)]
        if isinstance(item, FlatFor):
            body = tuple(one for inner in item.body for one in self._rewritten(inner))
            return [replace(item, body=body)] if body else []
        if not isinstance(item, FlatEquation):
            return [item]
        if self.types[item.left].base is BaseType.CLOCK:
            return []
        clock = self._clock_of(item)
        if clock == _OUTSIDE:
            return [item]
        return [replace(item, clock=clock, variability=Variability.DISCRETE)]

    def _operators(self) -> None:
        """Operators become what they stand for; operands come before their users, so one pass does."""
        nodes = self.nodes
        for e in sorted(self.part_of):
            node = nodes[e]
            assert isinstance(node, FlatBuiltin)
            if node.name == "interval":
                nodes[e] = ClockInterval(self._clock(self.part_of[e]))
            elif node.name == "firstTick":
                raise NotSupportedError(
                    f"{self.builder.spans[e]}: firstTick() is not supported",
                    hint="use a variable with a start value and previous(...)",
                    span=self.builder.spans[e],
                )
            elif node.name not in ("previous", "Clock") and self.types[e].base is not BaseType.CLOCK:
                nodes[e] = nodes[node.operands[0]]

    def _variables(self) -> None:
        variables = self.builder.variables
        for v, variable in enumerate(variables):
            if variable.variability <= Variability.PARAMETER:
                continue
            clock = self._clock(v)
            if variable.type.base is BaseType.CLOCK:
                of = BOOLEAN.sized(variable.type.shape)
                variables[v] = replace(variable, type=of, is_hidden=True, variability=Variability.DISCRETE)
                self._ticks(v, clock)
            elif clock != _OUTSIDE:
                variables[v] = replace(variable, variability=Variability.DISCRETE, clock=clock)

    def _ticks(self, v: int, clock: int) -> None:
        """A clock as a variable: true where it ticks."""
        builder = self.builder
        for k, node in enumerate(self.nodes):  # references have the type of the variable
            if isinstance(node, VariableRef) and node.variable == v:
                self.types[k] = builder.variables[v].type
        span = builder.variables[v].span
        tick = builder.add(ClockTick(clock), span) if clock != _OUTSIDE else builder.literal(False, span)
        if builder.variables[v].type.shape:
            return
        builder.equations.append(FlatEquation(builder.ref(v, span), tick, Variability.DISCRETE, "clock", span=span))
