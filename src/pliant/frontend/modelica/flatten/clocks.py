"""Clocks of chapter 16: which variables and equations belong to which clock, and when it ticks.

Equations and the variables in them form partitions. Operators join them, or stand between two of them:

    previous(x), interval(x)      the same partition, which is clocked
    sample(u, c)                  u is outside, the result ticks with c
    hold(x), noClock(x)           x ticks with a clock of its own, the result is outside
    subSample, superSample, shiftSample, backSample     both are clocked; intervals and first ticks follow each other
    Clock(c, method)              ticks with c; derivatives in its partition are discretised by the method

A clock ticks at rational times, or it counts the ticks of a base: a condition that becomes true, or intervals that are
computed while it ticks. From clocks that say when they tick, intervals and first ticks, in seconds or in ticks of the
base, are carried over these relations in both directions (specification 3.6, sections 16.3 to 16.7). What becomes of
the operators then is in ticks.py.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.frontend.flat.expressions import (
    NONE,
    ClockTick,
    FlatArray,
    FlatBuiltin,
    FlatChoice,
    FlatIndex,
    FlatTuple,
    VariableRef,
    operands,
)
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatBranch,
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
from pliant.frontend.modelica.flatten.ticks import PERIODIC, ClockBase, Ticks, TickTiming
from pliant.ir import Span

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder

BETWEEN = frozenset({"subSample", "superSample", "shiftSample", "backSample"})
DIVIDING = BETWEEN | {"sample", "hold", "noClock", "Clock"}
OPERATORS = DIVIDING | {"previous", "interval", "firstTick"}
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
        self.n_variables = len(builder.variables)  # those of the model
        self.parents: list[int] = list(range(len(builder.variables)))  # partitions: those of variables come first
        self.clocked: set[int] = set()
        self.known: dict[int, tuple[TickTiming, Span | None]] = {}  # by partition
        self.bases: list[ClockBase] = []
        self.methods: dict[int, str] = {}  # partition -> how its derivatives are stepped
        self.users: Counter[int] = Counter()  # how often an expression is an operand
        self.derivatives: list[tuple[int, int]] = []  # der(x) and the partition around it
        self.relations: list[_Relation] = []
        self.part_of: dict[int, int] = {}  # operator -> partition around it
        self.inside: dict[int, int] = {}  # hold, subSample, ... -> partition of the operand

    def run(self) -> None:
        builder = self.builder
        builder.equations[:] = self._decided(builder.equations)
        for item in builder.equations:
            self._item(item, self._new())
        for section in builder.algorithms:
            around = self._new()
            for item in section.body:
                self._item(item, around)
        self._infer()
        self._check()
        self.ticks = Ticks(builder, self.bases)
        items = list(builder.equations)
        builder.equations.clear()  # what clocks need is added here
        builder.equations[:0] = [one for item in items for one in self._rewritten(item)]
        builder.algorithms[:] = [self._section(section) for section in builder.algorithms]
        self._variables()
        self._operators()
        self._derivatives()
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
            if isinstance(item, FlatWhen):
                branches = tuple(replace(one, body=tuple(self._decided(list(one.body)))) for one in item.branches)
                found.append(replace(item, branches=branches))
                continue
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
        """Its branches say which partitions there are; conditions may read clocked values otherwise."""
        inside = (one for one in walk((item,)) if not isinstance(one, FlatIf))
        return any(self._has_operator(e) for one in inside for e in expressions_of(one))

    def _has_operator(self, root: int) -> bool:
        stack = [root]
        while stack:
            e = stack.pop()
            if e < 0:
                continue
            node = self.nodes[e]
            if self.types[e].base is BaseType.CLOCK or (isinstance(node, FlatBuiltin) and node.name in DIVIDING):
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
                if isinstance(node, FlatBuiltin) and node.name == "der":
                    self.derivatives.append((e, around))
                stack.extend((one, around) for one in operands(node))

    def _operator(self, e: int, node: FlatBuiltin, part: int) -> list[tuple[int, int]]:
        """Operands with their partitions."""
        name, given = node.name, node.operands
        if name == "Clock":
            return self._constructor(e, given, part)
        if name in ("hold", "noClock"):
            inside = self.inside[e] = self._new()
            self.clocked.add(inside)
            if name == "noClock":
                self.clocked.add(part)
            return [(given[0], inside)]
        self.clocked.add(part)
        if name == "sample":
            return [(given[0], self._new()), *((one, part) for one in given[1:])]
        if name in BETWEEN:
            inside = self.inside[e] = self._new()
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
            inside = self._new()
            self.clocked.add(inside)
            self.relations.append(_Relation(inside, part, Fraction(1), Fraction(0)))
            if len(given) > 1:
                self.methods[part] = self._text(given[1], span)
            return [(given[0], inside)]
        if base is BaseType.BOOLEAN:
            first = given[1] if len(given) > 1 else NONE
            return [(given[0], self._new()), *self._base(part, ClockBase(given[0], first_interval=first, span=span))]
        try:
            interval = Fraction(repr(float(self.numbers.value(given[0]))))
        except NoNumber:
            over = int(self._number(given[1], span)) if len(given) > 1 else 1
            resolution = over if base is BaseType.INTEGER else 0
            return [(given[0], part), *self._base(part, ClockBase(interval=given[0], resolution=resolution, span=span))]
        if base is BaseType.INTEGER:
            interval /= Fraction(self._number(given[1], span) if len(given) > 1 else 1)
        if interval <= 0:
            raise ModelError(f"{span}: the interval of a clock must be positive", hint="e.g. Clock(0.1)", span=span)
        self._tell(part, TickTiming(PERIODIC, interval, Fraction(0)), span)
        return []

    def _base(self, part: int, base: ClockBase) -> list[tuple[int, int]]:
        """A clock that is not periodic."""
        self.bases.append(base)
        self._tell(part, TickTiming(len(self.bases) - 1, Fraction(1), Fraction(0)), base.span)
        return []

    def _text(self, e: int, span: Span | None) -> str:
        try:
            return str(self.numbers.value(e))
        except NoNumber as unknown:
            raise NotSupportedError(
                f"{span}: the method of a clock depends on {unknown}, which is not known before the simulation",
                hint="write it as a text",
                span=span,
            ) from None

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

    def _tell(self, part: int, timing: TickTiming, span: Span | None) -> bool:
        """The clock of a partition; True if that is new. Partitions are joined later, so they are compared later."""
        known = self.known.get(part)
        if known is None:
            self.known[part] = (timing, span)
            return True
        if known[0] != timing:
            raise ModelError(
                f"{span or known[1]}: two clocks contradict each other: one {timing}, the other {known[0]}",
                hint=f"convert one signal by sample, hold, subSample, superSample or shiftSample{self._arrays(part)}",
                span=span or known[1],
                rule="16.7.5",
            )
        return False

    def _arrays(self, part: int) -> str:
        """Arrays in a partition: their elements have one clock."""
        variables, root = self.builder.variables, self._root(part)
        found = [f"`{one.name}`" for v, one in enumerate(variables) if one.type.shape and self._root(v) == root]
        return f"; the elements of {', '.join(found[:4])} have one clock, declare scalars for several" if found else ""

    def _infer(self) -> None:
        early, self.known = self.known, {}
        for part, (timing, span) in early.items():
            self._tell(self._root(part), timing, span)
        self.clocked = {self._root(part) for part in self.clocked}
        given, self.methods = self.methods, {}
        for part, method in given.items():
            self._method(self._root(part), method)
        changed = True
        while changed:
            changed = False
            for one in self.relations:
                source, target = self._root(one.source), self._root(one.target)
                if source in self.known:
                    of, span = self.known[source]
                    first = of.first + one.shift * of.interval
                    changed |= self._tell(target, TickTiming(of.base, of.interval * one.scale, first), span)
                elif target in self.known:
                    of, span = self.known[target]
                    interval = of.interval / one.scale
                    changed |= self._tell(source, TickTiming(of.base, interval, of.first - one.shift * interval), span)
        self._infer_methods()

    def _method(self, part: int, method: str) -> None:
        if self.methods.setdefault(part, method) != method:
            raise ModelError(
                f"two methods contradict each other for the same clock: `{method}` and `{self.methods[part]}`",
                hint="give one of the clocks a method",
                rule="16.8",
            )

    def _infer_methods(self) -> None:
        """Partitions without a method take that of a neighbour, the sampled one first (specification 16.8.1)."""
        pairs = [(self._root(one.source), self._root(one.target)) for one in self.relations]
        changed = True
        while changed:
            changed = False
            for a, b in [*pairs, *((b, a) for a, b in pairs)]:
                if a in self.methods and b not in self.methods:
                    self.methods[b] = self.methods[a]
                    changed = True

    def _check(self) -> None:
        for v, variable in enumerate(self.builder.variables[: self.n_variables]):
            root = self._root(v)
            if root in self.clocked and root not in self.known and variable.variability > Variability.PARAMETER:
                raise NotSupportedError(
                    f"{variable.span}: the clock of `{variable.name}` cannot be inferred: nothing says when it ticks",
                    hint="give one of the clocks an interval, e.g. Clock(0.1)",
                    span=variable.span,
                )
        for part, (timing, span) in self.known.items():
            if timing.first < 0:
                raise ModelError(
                    f"{span}: a clock would tick before the start, from {timing.first} s on",
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
        return self.ticks.clock(*known)

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
        if isinstance(item, FlatIf):
            clock = self._clock_inside(item)
            if clock == _OUTSIDE:
                return [item]
            chosen = None if self._only_sets(item) else self._chosen(item)
            if chosen is None:
                return [self._when(clock, (self._discrete(item),), item.span)]
            return [replace(one, clock=clock, variability=Variability.DISCRETE) for one in chosen]
        if not isinstance(item, FlatEquation):
            return [item]
        if self.types[item.left].base is BaseType.CLOCK:
            return []
        clock = self._clock_of(item)
        if clock == _OUTSIDE:
            return [item]
        return [replace(item, clock=clock, variability=Variability.DISCRETE)]

    def _only_sets(self, item: FlatItem) -> bool:
        """Every equation in it has a variable on its left side."""
        equations = (one for one in walk((item,)) if isinstance(one, FlatEquation))
        return all(isinstance(self.nodes[one.left], (VariableRef, FlatIndex, FlatTuple)) for one in equations)

    def _chosen(self, item: FlatIf) -> list[FlatEquation] | None:
        """Equations between choices of sides: `if c then a = b; else d = e; end if` is `(if c then a else d) = ...`."""
        columns: list[list[FlatEquation]] = []
        for body in (*(branch.body for branch in item.branches), item.otherwise):
            column: list[FlatEquation] = []
            for one in body:
                inner = (
                    self._chosen(one) if isinstance(one, FlatIf) else [one] if isinstance(one, FlatEquation) else None
                )
                if inner is None:
                    return None
                column += inner
            columns.append(column)
        found = []
        for row in zip(*columns, strict=False):
            left, right = (self._choice(item, values) for values in ([e.left for e in row], [e.right for e in row]))
            found.append(FlatEquation(left, right, Variability.DISCRETE, span=item.span, path=item.path))
        return found if len({len(column) for column in columns}) == 1 else None

    def _choice(self, item: FlatIf, values: list[int]) -> int:
        pairs = zip((branch.condition for branch in item.branches), values, strict=False)
        return self.builder.add(FlatChoice((*(e for pair in pairs for e in pair), values[-1])), item.span)

    def _clock_inside(self, item: FlatItem) -> int:
        found = (self._clock_of(one) for one in walk((item,)))
        return next((clock for clock in found if clock != _OUTSIDE), _OUTSIDE)

    def _when(self, clock: int, body: tuple[FlatItem, ...], span: Span | None) -> FlatWhen:
        """What happens at the ticks of a clock."""
        tick = self.builder.add(ClockTick(clock), span)
        return FlatWhen((FlatBranch(tick, body, span),), span=span)

    def _discrete(self, item: FlatItem) -> FlatItem:
        """The same, set at events only."""
        if isinstance(item, FlatEquation):
            return replace(item, variability=Variability.DISCRETE)
        if isinstance(item, FlatFor):
            return replace(item, body=tuple(map(self._discrete, item.body)))
        if isinstance(item, FlatIf):
            branches = tuple(replace(one, body=tuple(map(self._discrete, one.body))) for one in item.branches)
            return replace(item, branches=branches, otherwise=tuple(map(self._discrete, item.otherwise)))
        return item

    def _section(self, section: FlatAlgorithm) -> FlatAlgorithm:
        """An algorithm section of a clocked partition runs at its ticks."""
        clocks = (self._clock_inside(item) for item in section.body)
        clock = next((one for one in clocks if one != _OUTSIDE), _OUTSIDE)
        if clock == _OUTSIDE:
            return section
        return replace(section, body=(self._when(clock, section.body, section.span),))

    def _operators(self) -> None:
        """Operators become what they stand for; operands come before their users, so one pass does."""
        nodes, ticks = self.nodes, self.ticks
        for e in sorted(self.part_of):
            node, span = nodes[e], self.builder.spans[e]
            assert isinstance(node, FlatBuiltin)
            name, clock = node.name, self._clock(self.part_of[e])
            if name == "interval":
                nodes[e] = ticks.interval(clock, span)
            elif name == "firstTick":
                nodes[e] = ticks.first_tick(clock, span)
            elif self.types[e].base is BaseType.CLOCK or name in ("previous", "Clock"):
                continue
            elif name == "sample":
                nodes[e] = ticks.sampled(node.operands[0], clock)
            else:
                nodes[e] = ticks.held(node.operands[0], self._clock(self.inside[e]))

    def _derivatives(self) -> None:
        """der(x) of a clocked x: a variable, and a step of the method from tick to tick."""
        made: dict[int, int] = {}
        for e, part in self.derivatives:
            clock = self._clock(part)
            if clock == _OUTSIDE:
                continue
            node = self.nodes[e]
            assert isinstance(node, FlatBuiltin)
            span = self.builder.spans[e]
            leaves = self._leaves(node.operands[0])
            if leaves is None:
                raise NotSupportedError(
                    f"{span}: the derivative of a part of a variable, or of an expression, cannot be discretised",
                    hint="introduce a variable: `v = expression`",
                    span=span,
                )
            for leaf in leaves:
                operand = self.nodes[leaf]
                assert isinstance(operand, VariableRef)
                x = operand.variable
                if x not in made:
                    made[x] = self.ticks.derivative(x, clock, self.methods.get(self._root(part), ""), span)
                self.nodes[e if leaf == node.operands[0] else leaf] = VariableRef(made[x])
            if node.operands[0] not in leaves:
                self.nodes[e] = self.nodes[node.operands[0]]  # the same part of the derivatives

    def _leaves(self, operand: int) -> list[int] | None:
        """References of the variables that an operand consists of, read by nothing else; None for others."""
        found, stack = [], [operand]
        while stack:
            e = stack.pop()
            node = self.nodes[e]
            if isinstance(node, VariableRef):
                found.append(e)
            elif isinstance(node, FlatIndex):
                stack.append(node.base)
            elif isinstance(node, FlatArray):
                stack.extend(node.elements)
            else:
                return None
        if operand not in found and any(self._n_users(e) > 1 for e in found):
            return None
        return found

    def _n_users(self, e: int) -> int:
        if not self.users:
            self.users = Counter(one for node in self.nodes for one in operands(node))
        return self.users[e]

    def _variables(self) -> None:
        variables = self.builder.variables
        for v, variable in enumerate(variables[: self.n_variables]):
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
