"""What becomes of clocks and their operators once it is known when every partition ticks (clocks.py).

A variable of a clocked partition is one that its clock sets; between ticks it keeps its value. So hold(x),
subSample(x) and the others are x. The rest becomes variables that no result shows, set by the clock, too:

    sample(u)         what u was when the event began, its limit from the left (16.5.1): loops through hold(x) end here
    hold(e)           a variable set to e at the ticks
    firstTick()       true until the first tick is over
    interval(u)       of periodic clocks a number, otherwise the time since the last tick
    Clock(b)          ticks in the round of an event in which b becomes true
    Clock(n, r)       ticks at the start and then when time >= next, where next := next + n/r at each tick
    every k-th tick   of a base: a counter that runs down
    der(x)            a variable d, and x by the method of the clock (16.8.2), from the second tick on:
                      ExplicitEuler x = previous(x) + h previous(d), ImplicitEuler x = previous(x) + h d,
                      ImplicitTrapezoid x = previous(x) + h/2 (previous(d) + d)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.frontend.flat.expressions import (
    NONE,
    ClockInterval,
    ClockTick,
    FlatBuiltin,
    FlatChoice,
    FlatExpression,
    FlatIndex,
    IteratorRef,
    TimeRef,
    VariableRef,
    operands,
)
from pliant.frontend.flat.model import FlatAssert, FlatBranch, FlatClock, FlatEquation, FlatVariable, FlatWhen
from pliant.frontend.flat.types import BOOLEAN, INTEGER, REAL, BaseType, Causality, Type, Variability
from pliant.ir import Span

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder

PERIODIC = -1  # in place of a base
METHODS = ("ExplicitEuler", "ImplicitEuler", "ImplicitTrapezoid")
_ENDLESS = Fraction(10**9)  # the interval of a clock that ticks once


@dataclass(frozen=True)
class ClockBase:
    """What a clock counts that is not periodic: a condition that becomes true, or an interval given at each tick."""

    condition: int = NONE
    interval: int = NONE
    resolution: int = 1  # the interval is an Integer over it; 0: it is in seconds
    first_interval: int = NONE
    span: Span | None = None


@dataclass(frozen=True)
class TickTiming:
    """Ticks at ``first + k interval``, in seconds or, over a base, in ticks of it, which count from 0."""

    base: int
    interval: Fraction
    first: Fraction

    def __str__(self) -> str:
        if self.base == PERIODIC:
            return f"ticks from {self.first} s every {self.interval} s"
        return f"follows a condition or a computed interval, at every {self.interval}. tick of it, from {self.first} on"


class Ticks:
    """Makes the clocks of a model, and the variables that they need."""

    def __init__(self, builder: FlatBuilder, bases: Sequence[ClockBase]) -> None:
        self.builder, self.bases = builder, bases
        self.made: dict[TickTiming, int] = {}
        self.timings: list[TickTiming] = []
        self.firsts: dict[int, int] = {}
        self.intervals: dict[int, int] = {}
        self.n_hidden = 0

    # ---------------------------------------------------------------------------------------------------- clocks

    def clock(self, timing: TickTiming, span: Span | None) -> int:
        """Number of the clock in the flat model."""
        known = self.made.get(timing)
        if known is None:
            known = self._periodic(timing, span) if timing.base == PERIODIC else self._counted(timing, span)
            self.made[timing] = known
        return known

    def _enter(self, clock: FlatClock, timing: TickTiming) -> int:
        self.timings.append(timing)
        return self.builder.clock(clock)

    def _periodic(self, timing: TickTiming, span: Span | None) -> int:
        first, interval = timing.first.as_integer_ratio(), timing.interval.as_integer_ratio()
        return self._enter(FlatClock("periodic", first, interval, span=span), timing)

    def _counted(self, timing: TickTiming, span: Span | None) -> int:
        """Every so many ticks of a base."""
        if timing.interval.denominator > 1 or timing.first.denominator > 1:
            raise ModelError(
                f"{span}: a clock would tick between the ticks of a condition, which are not known before",
                hint="sample faster, or take a periodic clock",
                span=span,
                rule="16.5.2",
            )
        every = TickTiming(timing.base, Fraction(1), Fraction(0))
        if timing == every:
            base = self.bases[timing.base]
            return self._event(base, timing) if base.interval == NONE else self._computed(base, timing)
        under = self.clock(every, span)
        build = self.builder
        left = self._hidden("count", INTEGER, under, span, build.literal(int(timing.first), span))
        before = build.builtin("previous", build.ref(left, span), span=span)
        is_due = build.binary("==", before, build.literal(0, span), span)
        reload = build.literal(int(timing.interval) - 1, span)
        less = build.binary("-", before, build.literal(1, span), span)
        self._set(left, build.add(FlatChoice((is_due, reload, less)), span), under, span)
        condition = build.binary("and", build.add(ClockTick(under), span), is_due, span)
        return self._enter(FlatClock("when", condition=condition, base=under, span=span), timing)

    def _event(self, base: ClockBase, timing: TickTiming) -> int:
        return self._enter(FlatClock("event", condition=base.condition, span=base.span), timing)

    def _computed(self, base: ClockBase, timing: TickTiming) -> int:
        """Intervals that are computed: the first tick at the start, the next one when its time has come."""
        build, span = self.builder, base.span
        once = self._periodic(TickTiming(PERIODIC, _ENDLESS, Fraction(0)), span)
        following = self._hidden("next", REAL, NONE, span, build.literal(0.0, span))
        before = build.builtin("pre", build.ref(following, span), span=span)
        due = build.binary(">=", build.time(span), before, span)
        later = self._enter(FlatClock("event", condition=due, span=span), timing)
        condition = build.binary("or", build.add(ClockTick(once), span), build.add(ClockTick(later), span), span)
        found = self._enter(FlatClock("when", condition=condition, span=span), timing)
        build.variables[following] = replace(build.variables[following], clock=found)
        step = base.interval
        if base.resolution:
            step = build.binary("/", step, build.literal(float(base.resolution), span), span)
        zero = build.literal(0.0, span)
        is_positive = build.binary(">", step, zero, span)
        wait = build.add(FlatChoice((is_positive, step, build.literal(1.0, span))), span)  # the others end the run
        self._set(following, build.binary("+", before, wait, span), found, span)
        self._demand_interval(found, step, span)
        return found

    def _demand_interval(self, clock: int, step: int, span: Span | None) -> None:
        """At every tick the interval up to the next one is a number above zero."""
        build = self.builder
        zero = build.literal(0.0, span)
        name = span.text if span is not None and span.text else "Clock(...)"
        is_more, is_less = (build.binary(word, step, zero, span) for word in (">", "<"))
        is_zero = build.binary("==", step, zero, span)
        is_number = build.binary("or", build.binary("or", is_more, is_less, span), is_zero, span)
        faults = (
            ("is not a number", is_number),
            ("is negative", build.unary("not", is_less, span)),
            ("is zero", build.unary("not", is_zero, span)),
        )
        body = tuple(
            FlatAssert(
                e, build.literal(f"the interval of the clock `{name}` {word}: it would not tick again", span), span=span
            )
            for word, e in faults
        )
        branch = FlatBranch(build.add(ClockTick(clock), span), body, span)
        build.equations.append(FlatWhen((branch,), span))

    # ------------------------------------------------------------------------------------------------ variables

    def _hidden(self, word: str, of: Type, clock: int, span: Span | None, start: int | None = None) -> int:
        """A variable that no result shows; clock NONE: one outside of all clocks."""
        self.n_hidden += 1
        fixed = () if start is None else (True,)
        own = FlatVariable(
            f"$clock {word} {self.n_hidden}",
            of,
            Variability.DISCRETE,
            start=start,
            fixed=fixed,
            is_protected=True,
            is_hidden=True,
            clock=clock,
            span=span,
        )
        return self.builder.variable(own)

    def _set(self, v: int, value: int, clock: int, span: Span | None) -> None:
        target, variability = self.builder.ref(v, span), Variability.DISCRETE
        self.builder.equations.append(FlatEquation(target, value, variability, "clock", clock=clock, span=span))

    def held(self, e: int, clock: int) -> FlatExpression:
        """What hold, subSample, ... are: a variable of the clock itself, anything else as a variable that it sets."""
        build = self.builder
        root = self._root(e)
        is_own = root != NONE and build.variables[root].clock == clock
        if is_own or self._depends_on_loops(e) or not self._changes(e):
            return build.nodes[e]
        span = build.spans[e]
        v = self._hidden("held", build.types[e], clock, span)
        if isinstance(build.nodes[e], VariableRef):
            build.variables[v] = replace(build.variables[v], start=build.variables[root].start)
        self._set(v, e, clock, span)
        return VariableRef(v)

    def sampled(self, e: int, clock: int) -> FlatExpression:
        """Its limit from the left."""
        build = self.builder
        span = build.spans[e]
        if build.types[e].base is BaseType.STRING or not self._changes(e):
            return build.nodes[e]
        if self._is_plain(e) or self._depends_on_loops(e):
            return FlatBuiltin("pre", (e,))
        variability = max(build.variability(e), Variability.DISCRETE)
        outside = self._hidden("sampled", build.types[e], NONE, span)
        build.variables[outside] = replace(build.variables[outside], variability=variability)
        build.equations.append(FlatEquation(build.ref(outside, span), e, variability, "clock", span=span))
        inside = self._hidden("sample", build.types[e], clock, span)
        self._set(inside, build.builtin("pre", build.ref(outside, span), span=span), clock, span)
        return VariableRef(inside)

    def _is_plain(self, e: int) -> bool:
        return self._root(e) != NONE

    def _root(self, e: int) -> int:
        """The variable that a plain expression is a part of; NONE: it is not plain."""
        node = self.builder.nodes[e]
        while isinstance(node, FlatIndex):
            node = self.builder.nodes[node.base]
        return node.variable if isinstance(node, VariableRef) else NONE

    def _depends_on_loops(self, e: int) -> bool:
        return any(isinstance(node, IteratorRef) for node in self._under(e))

    def _changes(self, e: int) -> bool:
        """It may jump: it reads more than time, parameters, and inputs of the model, which jump before all events."""
        variables = self.builder.variables
        if isinstance(self.builder.nodes[e], TimeRef):
            return False
        root = self._root(e)
        if root != NONE and variables[root].causality is Causality.INPUT:
            return False
        read = self._under(e)
        return any(isinstance(node, TimeRef) for node in read) or any(
            isinstance(node, VariableRef) and variables[node.variable].variability > Variability.PARAMETER
            for node in read
        )

    def _under(self, e: int) -> list[FlatExpression]:
        found: list[FlatExpression] = []
        stack = [e]
        while stack:
            node = self.builder.nodes[stack.pop()]
            found.append(node)
            stack.extend(one for one in operands(node) if one >= 0)
        return found

    # ------------------------------------------------------------------------------------------- times of ticks

    def first_tick(self, clock: int, span: Span | None) -> FlatExpression:
        """firstTick()."""
        known = self.firsts.get(clock)
        if known is None:
            build = self.builder
            waits = self._hidden("waits", BOOLEAN, clock, span, build.literal(True, span))
            self._set(waits, build.literal(False, span), clock, span)
            known = self.firsts[clock] = self._hidden("first", BOOLEAN, clock, span, build.literal(True, span))
            self._set(known, build.builtin("previous", build.ref(waits, span), span=span), clock, span)
        return VariableRef(known)

    def interval(self, clock: int, span: Span | None) -> FlatExpression:
        """interval(): of what does not tick regularly the time since the last tick; see `_first_interval`."""
        timing = self.timings[clock]
        if timing.base == PERIODIC:
            return ClockInterval(clock)
        known = self.intervals.get(clock)
        if known is None:
            build = self.builder
            last = self._hidden("last", REAL, clock, span, build.literal(0.0, span))
            self._set(last, build.time(span), clock, span)
            is_first = build.add(self.first_tick(clock, span), span)
            begin = self._first_interval(self.bases[timing.base], span)
            before = build.builtin("previous", build.ref(last, span), span=span)
            since = build.binary("-", build.time(span), before, span)
            known = self.intervals[clock] = self._hidden("interval", REAL, clock, span, build.literal(0.0, span))
            self._set(known, build.add(FlatChoice((is_first, begin, since)), span), clock, span)
        return VariableRef(known)

    def _first_interval(self, base: ClockBase, span: Span | None) -> int:
        """At the first tick (16.10): what the constructor says, or the start of the variable that is the interval."""
        build = self.builder
        if base.interval == NONE:
            return build.literal(0.0, span) if base.first_interval == NONE else base.first_interval
        first, node = base.interval, build.nodes[base.interval]
        if isinstance(node, VariableRef):
            start = build.variables[node.variable].start
            first = build.literal(0, span) if start is None else start
        if not base.resolution:
            return first
        return build.binary("/", first, build.literal(float(base.resolution), span), span)

    def derivative(self, x: int, clock: int, method: str, span: Span | None) -> int:
        """A variable for der(x), and the equation that steps x."""
        if method not in METHODS:
            raise NotSupportedError(
                f"{span}: the clock of `{self.builder.variables[x].name}` has "
                f"{f'the method `{method}`' if method else 'no method'} to step its derivative with",
                hint=f"Clock(c, solverMethod = ...) with {', '.join(METHODS)}",
                span=span,
                rule="16.8.2",
            )
        build = self.builder
        own = build.variables[x]
        d = self._hidden(f"der({own.name})", own.type, clock, span)
        now, slope = build.ref(x, span), build.ref(d, span)
        before = build.builtin("previous", now, span=span)
        slope_before = build.builtin("previous", slope, span=span)
        h = build.add(self.interval(clock, span), span)
        if method == "ExplicitEuler":
            slope = slope_before
        elif method == "ImplicitTrapezoid":
            total = build.binary("+", slope_before, slope, span)
            slope = build.binary("*", build.literal(0.5, span), total, span)
        stepped = build.binary("+", before, build.binary("*", h, slope, span), span)
        is_first = build.add(self.first_tick(clock, span), span)
        self._set(x, build.add(FlatChoice((is_first, before, stepped)), span), clock, span)
        return d
