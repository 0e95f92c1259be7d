"""Discrete parts of a step: sampled equations on fixed counters, when-clauses at the ends of steps.

After x_(k+1) is known, at its own time and with the inputs of the step, every memory of the model is evaluated once, in
an order in which those that others read come first:

    v := select(rise(c), a, v)        when c then v = a
    tick = (counter == 0)             a clock; its counter begins again at period / tau
    x_i := select(rise(c), a, x_i)    reinit(x_i, a)

All of it is computed in every step, whatever holds, so the cost is the same. Deviations from the solvers' events: an
event takes place at the end of the step in which it occurs, and has a fixed number of rounds (``event_rounds``): with
one, what reads pre(v) of a variable set in the same event sees it one step later. Variables in a loop with each other
read each other's values of the round before, and pre(x) of a state that reinit sets is its value before the round.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from pliant.codegen.program import Statement, reset_place
from pliant.errors import NotSupportedError
from pliant.expr.build import choose, substitute, var
from pliant.ir import Clock, Memory
from pliant.realtime.code.lower import Lowering, ModelPass, operands_first, reaches_itself
from pliant.sorted_system import SortedSystem

NEAR = 1e-6  # share of a step by which the times of a clock may miss the ends of steps


@dataclass(eq=False)
class DiscretePart:
    """What the step's text needs to know about events."""

    memories: list[int] = field(default_factory=list)  # expressions of the new values
    resets: list[tuple[int, int]] = field(default_factory=list)  # (place in x, expression of its value)
    ticks: list[int] = field(default_factory=list)  # variables of the clocks
    periods: list[int] = field(default_factory=list)  # of the clocks, in steps

    def __bool__(self) -> bool:
        return bool(self.memories or self.resets)


def check_events(s: SortedSystem, tau: float, start: float = 0.0) -> None:
    """Refuse events that a step of fixed cost cannot express."""
    for action in s.events.actions:
        if action.kind == "call":
            raise NotSupportedError(
                f"{s.system.name} cannot become a real-time step: `{action.message}` is called in a when-clause"
                + (f"  {action.span}" if action.span else ""),
                hint="leave the call out of the model that becomes a step",
            )
        if action.kind != "reset" and not action.is_index and not action.in_function:
            word = "terminate" if action.kind == "stop" else "assert"
            raise NotSupportedError(
                f"{s.system.name} cannot become a real-time step: {word}({action.message!r}) in a when-clause"
                + (f"  {action.span}" if action.span else ""),
                hint="make the condition an output of the model and monitor it outside of the step",
            )
    for clock in s.events.clocks:
        steps, phase = clock.interval / tau, (clock.first - start) / tau
        if round(steps) < 1 or abs(steps - round(steps)) > NEAR or abs(phase - round(phase)) > NEAR:
            raise NotSupportedError(
                f"{s.system.name} samples every {clock.interval:g} s from t = {clock.first:g} on, which does not meet "
                f"the ends of steps of {tau:g} s that begin at t = {start:g}"
                + (f"  {clock.span}" if clock.span else ""),
                hint="choose a step that divides the period and the offset of every clock",
            )


def steps_to_tick(clock: Clock, tau: float, t: float) -> int:
    """Steps from t to the next tick, 0 if the clock ticks at t."""
    period, ahead = round(clock.interval / tau), round((clock.first - t) / tau)
    return ahead if ahead > 0 else ahead % period


class Instant(Enum):
    """Where events are evaluated."""

    STEP = "at the end of a step"
    INITIAL = "at the start, where initial() holds"
    SETTLING = "at the start, after states were reset: conditions that hold by that have not risen"


def discrete_part(w: Lowering, tau: float, instant: Instant = Instant.STEP) -> DiscretePart:
    """Evaluate all events once."""
    events, g = w.s.events, w.g
    if not events:
        return DiscretePart()
    kept = {var(g, one.variable): one.expression for one in events.kept}
    point = _EventEvaluation(w, kept, instant)
    resets: dict[int, int] = {}
    for action in (one for one in events.actions if one.kind == "reset"):
        place, value = reset_place(w.program, action)
        active, new = (point.of(e) for e in substitute(g, [action.active, value], kept))
        resets[place] = choose(g, active, new, resets.get(place, var(g, w.program.x[place])))
    ticks = [one.tick for one in events.clocks]
    w.integers.update(ticks)
    return DiscretePart(
        [point.new[one.variable] for one in events.memories],
        sorted(resets.items()),
        ticks,
        [round(one.interval / tau) for one in events.clocks],
    )


class _EventEvaluation(ModelPass):
    """The model at the end of a step, memories among its statements."""

    def __init__(self, w: Lowering, kept: dict[int, int], instant: Instant) -> None:
        self.kept, self.instant = kept, instant
        self.new: dict[int, int] = {}  # variable with a memory -> its new value
        leaf = w.leaves()
        if instant is Instant.INITIAL:
            leaf[var(w.g, w.s.events.initial)] = w.one
        super().__init__(w, leaf, fresh=True, frozen=False, order=_order(w, kept))

    def _add(self, one: Statement | int | Memory) -> None:
        if not isinstance(one, Memory):
            super()._add(one)
            return
        w, g = self.w, self.g
        name = w.variables[one.variable].name
        (expression,) = substitute(g, [one.expression], self.kept)
        value = w.named(f"{name}.next", self.of(expression))
        self.new[one.variable] = value
        if one.variable not in w.loose:
            self.leaf[var(g, one.variable)] = value
        if self.instant is Instant.SETTLING and w.variables[one.variable].is_condition:
            self.leaf[var(g, one.before)] = self.leaf[var(g, one.variable)]


def _order(w: Lowering, kept: dict[int, int]) -> list[Statement | int | Memory]:
    """Statements, relations and memories, operands first; memories in a loop (``w.loose``) are read as they were."""
    s, program = w.s, w.program.statements
    n, n_relations = len(program), len(s.relations)
    places = {one.variable: n + n_relations + k for k, one in enumerate(s.events.memories)}
    needs = w.needs([substitute(w.g, [one.expression], kept) for one in s.events.memories], places)
    held = {n + r for r in w.kept}
    needs = [[d for d in row if d not in held] for row in needs]
    loose = {v: k for v, k in places.items() if reaches_itself(needs, k)}
    w.loose = set(loose)
    cut = set(loose.values())
    items: list[Statement | int | Memory] = [*program, *range(n_relations), *s.events.memories]
    return [items[k] for k in operands_first([[d for d in row if d not in cut] for row in needs], held)]
