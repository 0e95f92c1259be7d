"""Algorithm sections of a model: their statements run on values, and what they leave behind is an equation.

    y := a; for k in 1:3 loop y := y + b[k]; end for;      y = a + b[1] + b[2] + b[3]
    when c then n := pre(n) + 1; end when;                  n := if rise(c) then pre(n) + 1 else pre(n)

At the begin a variable that changes at events only holds pre(v), any other one its start value (specification 3.6,
section 11.1.2). Within the section a name means what was assigned to it before. Initial algorithms leave initial
equations.
"""

from __future__ import annotations

from typing import Any

from pliant.errors import NotSupportedError
from pliant.expr.build import const, logical_and, logical_not, logical_or, sub, value_of, var
from pliant.frontend.flat.expressions import LocalRef, VariableRef
from pliant.frontend.flat.model import FlatAlgorithm, FlatAssert, FlatItem
from pliant.frontend.scalar.dependence import PARAM
from pliant.frontend.scalar.events import EventBuilder
from pliant.frontend.scalar.statements import Frame
from pliant.frontend.scalar.symbols import is_discrete, is_parameter
from pliant.frontend.scalar.values import Arr, Value, scalars
from pliant.ir import Check, Equation, Span


class SectionFrame(Frame):
    """One section: the variables that it sets."""

    def __init__(self, events: EventBuilder, section: FlatAlgorithm, is_initial: bool) -> None:
        super().__init__(events.run, "this algorithm section")
        self.events, self.d, self.symbols = events, events.d, events.symbols
        self.section, self.is_initial = section, is_initial
        self.targets = sorted(events.run.tape.targets(section))
        self.checks: list[Check] = []

    def run_section(self) -> dict[int, Value]:
        """The variables and what the section leaves in them."""
        self.d.current = {position: self._first(position) for position in self.targets}
        try:
            self.run_items(self.section.body)
            return self.d.current
        finally:
            self.d.current = {}

    def _first(self, position: int) -> Value:
        own = self.run.tape.variables[position]
        if self.symbols.is_text(position):
            return ""
        if is_discrete(own) and not self.is_initial:
            return self.d.before(position)
        shape = self.symbols.shape(position)
        first = self.symbols.base.get(position)
        if first is None:
            raise NotSupportedError(f"`{own.name}` cannot be set by an algorithm", hint="write an equation")
        n = 1
        for size in shape:
            n *= size
        starts = [self.symbols.variables[k].start for k in range(first, first + n)]
        flat = [const(self.g, 0.0) if e is None else e for e in starts]
        return Arr(shape, list(flat)) if shape else flat[0]

    # see Frame

    def values(self) -> list[Value | None]:
        """See Frame."""
        return [self.d.current[one] for one in self.targets]

    def set_values(self, values: list[Value | None]) -> None:
        """See Frame."""
        self.d.current = dict(zip(self.targets, values, strict=True))  # type: ignore[arg-type]

    def default(self, k: int) -> Value:
        """See Frame."""
        return self._first(self.targets[k])

    def define(self, node: LocalRef | VariableRef, value: Value) -> None:
        """See Frame."""
        assert isinstance(node, VariableRef)
        old = self.d.current[node.variable]
        if isinstance(old, Arr) and not isinstance(value, Arr):
            value = Arr(old.shape, [value] * len(old.flat))
        self.d.current[node.variable] = value

    def _active(self) -> int:
        active = const(self.g, 1.0)
        for condition in self.under:
            active = logical_and(self.g, active, condition)
        return active

    def assertion(self, item: FlatAssert) -> None:
        """In a when-clause an action, elsewhere a check."""
        active = self._active()
        if self.in_when:
            self.events.act(item, active)
            return
        holds = logical_or(self.g, logical_not(self.g, active), self.run.scalar(item.condition))
        if value_of(self.g, holds) is None or not value_of(self.g, holds):
            self.checks.append(Check(holds, str(self.run.value(item.message)), item.is_error, item.span))

    def action(self, item: FlatItem) -> None:
        """See Frame."""
        self.events.act(item, self._active())

    def rises(self, condition: int, span: Span | None) -> int:
        """See Frame."""
        return self.events.rise(condition, span)

    def _when(self, item: Any) -> None:
        self.in_when = True
        try:
            super()._when(item)
        finally:
            self.in_when = False

    in_when = False


class Sections:
    """All algorithm sections of one model."""

    def __init__(self, events: EventBuilder) -> None:
        self.events, self.d, self.symbols = events, events.d, events.symbols
        self.run, self.g = events.run, events.g
        self.checks: list[Check] = []

    def equations(self, section: FlatAlgorithm) -> list[Equation]:
        """Equations for what moves; what changes at events only goes to the events."""
        frame = SectionFrame(self.events, section, is_initial=False)
        found: list[Equation] = []
        for position, value in frame.run_section().items():
            own = self.run.tape.variables[position]
            if self.symbols.is_text(position):
                continue
            if is_discrete(own):
                self.events.given[position] = (scalars(value), section.span)
                continue
            for symbol, e in zip(scalars(self.symbols.value(position)), scalars(value), strict=True):
                found.append(Equation(sub(self.g, symbol, e), section.span, "algorithm"))
        self.checks += frame.checks
        return found

    def initial_equations(self, section: FlatAlgorithm) -> list[Equation]:
        """Initial equations; values of parameters that are known are bindings."""
        frame = SectionFrame(self.events, section, is_initial=True)
        found: list[Equation] = []
        for position, value in frame.run_section().items():
            own = self.run.tape.variables[position]
            if self.symbols.is_text(position):
                continue
            if is_discrete(own):
                self.d.initial_values[position] = (scalars(value), section.span)
                continue
            first = self.symbols.base[position]
            for number, e in enumerate(scalars(value), first):
                if is_parameter(own) and not self.run.masks.of(e) & ~PARAM:
                    self.symbols.change(number, binding=e, initial=False)
                    continue
                residual = sub(self.g, var(self.g, number), e)
                found.append(Equation(residual, section.span, "algorithm", target=number if is_parameter(own) else -1))
        self.checks += frame.checks
        return found
