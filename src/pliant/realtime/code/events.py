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
from pliant.codegen.tangent import Tangent
from pliant.errors import NotSupportedError
from pliant.expr.build import add, choose, const, div, mul, rebuild, sub, substitute, var
from pliant.ir import Clock, Memory, Op
from pliant.realtime.code.lower import Lowering, ModelPass, operands_first, reaches_itself
from pliant.realtime.sparsing.crossing import Ages, Resets, located_resets, share_of
from pliant.sorted_system import SortedSystem

NEAR = 1e-6  # share of a step by which the times of a clock may miss the ends of steps


@dataclass(eq=False)
class DiscretePart:
    """What the step's text needs to know about events."""

    memories: list[int] = field(default_factory=list)  # expressions of the new values
    resets: list[tuple[int, int]] = field(default_factory=list)  # (place in x, expression of its value)
    ticks: list[int] = field(default_factory=list)  # variables of the clocks
    periods: list[int] = field(default_factory=list)  # of the clocks, in steps
    begin: list[int] = field(default_factory=list)  # variables of x at the beginning of the step, where they are read
    active: list[int] = field(default_factory=list)  # conditions of resets within the step
    first: int = -1  # variable: 1 in the first round after a step

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
        if action.kind not in ("reset", "warn") and not action.is_index and not action.in_function:
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
    located = located_resets(w.s, w.program) if instant is Instant.STEP else []
    late = ResetStatements(w, tau, point, kept) if located else None
    for one in located:
        assert late is not None
        late.add(one, resets)
    known = {id(action) for one in located for action in one.actions}
    for action in (one for one in events.actions if one.kind == "reset" and id(one) not in known):
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
        late.begin if late is not None else [],
        late.active if late is not None else [],
        late.first if late is not None else -1,
    )


class ResetStatements:
    """Resets where their conditions became true within the step, see sparsing/crossing.py."""

    def __init__(self, w: Lowering, tau: float, point: _EventEvaluation, kept: dict[int, int]) -> None:
        self.w, self.g, self.tau, self.point, self.kept = w, w.g, tau, point, kept
        self.x = [var(w.g, v) for v in w.program.x]
        self.active: list[int] = []
        self.begin = [w.temporary(f"{w.variables[v].name}.begin") for v in w.program.x]
        self.first = w.temporary("event.first")
        w.integers.add(self.first)
        self.time = w.g.intern((Op.TIME,))
        clock = var(w.g, w.clock)
        at_begin = {x: var(w.g, v) for x, v in zip(self.x, self.begin, strict=True)}
        at_begin[self.time] = sub(w.g, clock, const(w.g, tau))
        self.before = w.evaluate(w.leaves() | at_begin, fresh=True)
        self.slopes = Tangent(w.program).jacobian(w.program.f, w.program.x)

    def add(self, one: Resets, resets: dict[int, int]) -> None:
        """New values of x where the resets take place."""
        w, g, program = self.w, self.g, self.w.program
        number = {v: j for j, v in enumerate(program.x)}
        pattern = [(i, number[v]) for i, row in enumerate(self.slopes.rows) for v in row if v in number]
        rows = one.rows([i for i, _ in pattern], [j for _, j in pattern], program.n_states)
        theta = self._share(one)
        moved = [
            w.named("event.moved", mul(g, theta, sub(g, x, var(g, v)))) for x, v in zip(self.x, self.begin, strict=True)
        ]
        leaf = w.leaves() | {var(g, v): e for v, e in self.point.new.items() if v not in w.loose}
        leaf |= {x: w.named("event.x", sub(g, x, d)) for x, d in zip(self.x, moved, strict=True)}
        leaf[self.time] = w.named("event.time", sub(g, var(g, w.clock), mul(g, theta, const(g, self.tau))))
        at = w.evaluate(dict(leaf), fresh=True)
        values = substitute(g, [reset_place(program, action)[1] for action in one.actions], self.kept)
        new = {place: w.named("event.new", at.of(e)) for place, e in zip(one.places, values, strict=True)}
        behind = w.evaluate(leaf | {self.x[place]: e for place, e in new.items()}, fresh=True)
        slopes = {i: self.slopes.rows[i].get(program.x[i], w.zero) for i in rows}
        at.columns(self.slopes.statements, slopes.values())
        (active,) = substitute(g, [one.active], self.kept)
        active = w.named("event.active", self.point.of(active))
        self.active.append(active)
        rest = w.named("event.rest", mul(g, theta, const(g, self.tau)))
        for i in rows:
            change = mul(g, rest, sub(g, behind.of(program.f[i]), at.of(program.f[i])))
            damped = rebuild(g, Op.MAX, (w.one, sub(g, w.one, mul(g, rest, at.of(slopes[i])))))
            x = resets.get(i, self.x[i])
            after = add(g, new[i], moved[i]) if i in new else x
            resets[i] = w.named("event.end", choose(g, active, add(g, after, div(g, change, damped)), x))

    def _share(self, one: Resets) -> int:
        """theta"""
        w, g = self.w, self.g
        begin = {}
        for k in one.relations:
            r = w.s.relations[k]
            begin[k] = w.opaque(f"relation_{k + 1}.begin", self.before.of(sub(g, r.rhs, r.lhs)))
        (age,) = substitute(g, [Ages(w.s, g).of(one.active, begin)], self.kept)
        share = share_of(g, w.named("event.age", self.point.of(age)))
        return w.named("event.share", choose(g, var(g, self.first), share, w.zero))


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
