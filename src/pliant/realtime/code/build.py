"""From a sorted model to the statements of one step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pliant.codegen.initial import alias_starts, initial_problem
from pliant.codegen.program import Assign
from pliant.codegen.tangent import Tangent
from pliant.errors import ArgumentError, NotSupportedError, UnknownNameError
from pliant.expr.build import add, const, mul, sub, var
from pliant.expr.evaluate import evaluate, number_in, parameter_values
from pliant.ir import Kind, Op
from pliant.realtime.code.delays import StepDelay, may_jump
from pliant.realtime.code.events import DiscretePart, Instant, discrete_part, steps_to_tick
from pliant.realtime.code.first import StartPart
from pliant.realtime.code.lower import Lowering, ModelPass
from pliant.realtime.code.rates import rates_of
from pliant.realtime.code.sample import sample_loop_rows
from pliant.realtime.code.tables import Tables
from pliant.realtime.code.types import StartValues, StepperOptions, StepPlan, StepSystem
from pliant.realtime.code.wide import Wide
from pliant.realtime.sparsing.elimination import Elimination, Entry, eliminate
from pliant.realtime.sparsing.past import delay_words, range_of_steps
from pliant.realtime.sparsing.resting_states import level, level_expression, rests
from pliant.solve.names import suggestion
from pliant.sorted_system import SortedSystem


class StepBuilder:
    """Statements of one step."""

    def __init__(
        self, s: SortedSystem, form: str, tau: float, options: StepperOptions, start: StartValues | None
    ) -> None:
        self.w = w = Lowering(s, form, options.newton_steps)
        w.in_float = options.precision == "float"
        w.timed.add(w.clock)
        self.g, self.program = w.g, w.program
        self.tau, self.options = tau, options
        self.values = self._parameters(start)
        self.start = start if start is not None else self._declared_start()
        n = len(self.program.x)
        if np.shape(self.start.x) != (n,):
            raise ArgumentError(
                f"start.x has shape {np.shape(self.start.x)}, the model has {n} unknowns", hint=f"give {n} numbers"
            )
        self.guesses = self._guesses()
        self.delay_ranges = self._delay_ranges()
        w.delay_leaves.set_short(
            [one.number for one, (least, _) in zip(w.delays, self.delay_ranges, strict=True) if least < 1.0]
        )
        if options.loop_rows is not None:
            w.loop_rows = options.loop_rows
        else:
            tears = dict(zip(w.guess, self.guesses, strict=True))
            x = np.asarray(self.start.x, dtype=float)
            w.loop_rows = sample_loop_rows(self.program, self.values, x, tears, self.start.t)
        self.half_clock = -1
        self.input_before: dict[int, int] = {}

    # ------------------------------------------------------------------ numbers

    def _parameters(self, start: StartValues | None) -> dict[int, float]:
        system = self.w.s.system
        number = {one.name: v for v, one in enumerate(system.variables)}
        changed: dict[int, float] = {}
        for name, value in (start.parameters if start else {}).items():
            if name not in number:
                known = [one.name for one in system.variables if one.kind is Kind.PARAMETER]
                raise UnknownNameError(
                    f"start.parameters: the model has no parameter {name!r}", hint=suggestion(name, known)
                )
            changed[number[name]] = value
        return parameter_values(system, changed)

    def _declared_start(self) -> StartValues:
        """Start values as declared, for those who have none better."""
        events = self.w.s.events
        starts = initial_problem(self.program).start
        x = np.array([number_in(self.w.s.system, self.g, e, self.values) for e in starts])
        return StartValues(x, counts=tuple(steps_to_tick(clock, self.tau, 0.0) for clock in events.clocks))

    def _guesses(self) -> list[float]:
        """First values of the tears of nonlinear loops."""
        alias = alias_starts(self.w.s)
        out = []
        for v in self.w.guess:
            variable = self.w.variables[v]
            start, sign = alias.get(v, (None, 1)) if variable.start is None else (variable.start, 1)
            declared = 0.0 if start is None else sign * number_in(self.w.s.system, self.g, start, self.values)
            out.append(float(self.start.tears.get(variable.name, declared)))
        return out

    def _delay_ranges(self) -> list[tuple[float, float]]:
        """Least and most steps of each delay."""
        w, given = self.w, self.options.delays or {}
        own = evaluate(self.g, [one.time for one in w.delays], self.values)
        names = [delay_words(self.program, one) for one in w.delays]
        times = [given.get(one.number, (t, t)) for one, t in zip(w.delays, own, strict=True)]
        return [range_of_steps(name, one, self.tau) for name, one in zip(names, times, strict=True)]

    def _delays(self, outside: ModelPass, discrete: DiscretePart) -> tuple[StepDelay, ...]:
        """What rings keep."""
        w, reset = self.w, frozenset(i for i, _ in discrete.resets)
        out = []
        for one, (least, most) in zip(w.delays, self.delay_ranges, strict=True):
            value = outside.of(one.value)
            time = w.rewrite(one.time, {}, {})
            out.append(StepDelay(time, value, least, most, may_jump(w, value, reset)))
        return tuple(out)

    # ------------------------------------------------------------------ statements

    def _first_point(self) -> ModelPass:
        """The model where J is taken: order 1 at t_next, order 2 at t with the inputs from the last end on."""
        w, g = self.w, self.g
        leaf = w.leaves()
        if self.options.order == 2:
            self.half_clock = w.temporary("time.half")
            w.timed.add(self.half_clock)
            for u in self.program.u:
                before = self.input_before[u] = w.temporary(f"{w.variables[u].name}.before")
                leaf[var(g, u)] = var(g, before)
        self._settle(leaf)
        return w.evaluate(leaf, fresh=False)

    def _settle(self, leaf: dict[int, int]) -> None:
        """Passes through the model, each with the relations that the one before gave, so that switches inside loops
        follow x within the step; nonlinear loops continue from where the pass left them."""
        w, g = self.w, self.g
        for _ in range(self.options.relation_passes if w.kept else 0):
            point = w.evaluate(dict(leaf), fresh=True)
            for k in w.kept:
                target = w.temporary(f"relation_{k + 1}")
                w.integers.add(target)
                w.out.append(Assign(target, point.comparison(k)))
                leaf[g.intern((Op.REL, k))] = var(g, target)
            leaf |= {var(g, w.guess[z]): e for z, e in point.last.items()}

    def _half_point(self, point: ModelPass, system: StepSystem) -> ModelPass:
        """The model at the half step; relations hold."""
        w, g, p = self.w, self.g, self.program
        leaf = w.leaves()
        leaf |= {rel: point.leaf[rel] for rel in (g.intern((Op.REL, k)) for k in w.kept)}
        leaf[g.intern((Op.TIME,))] = var(g, self.half_clock)
        half = const(g, 0.5)
        for u in p.u:
            mean = mul(g, half, add(g, point.leaf[var(g, u)], var(g, u)))
            leaf[var(g, u)] = w.opaque(f"{w.variables[u].name}.half", mean)
        leaf |= {var(g, v): var(g, h) for v, h in zip(p.x, system.half, strict=True)}
        if system.tables:
            system.half_tears = [w.temporary(f"{w.variables[z].name}.half") for z in w.guess]
            guesses = [var(g, v) for v in system.half_tears]
        else:
            guesses = [point.last[z] for z in w.guess]
        leaf |= {var(g, w.guess[z]): e for z, e in zip(w.guess, guesses, strict=True)}
        return w.evaluate(leaf | w.delay_leaves.half_leaf(), fresh=True, frozen=True)

    def _matrix(
        self, jacobian: Mapping[Entry, int], elimination: Elimination, tau: float, name: str
    ) -> dict[Entry, int]:
        """L - tau J on the kept entries."""
        g, w = self.g, self.w
        named = w.rounded if self.options.fold_constants else w.opaque
        out: dict[Entry, int] = {}
        for i, j in elimination.entries:
            mass = const(g, 1.0 if i == j and i < self.program.n_states else 0.0)
            entry = w.zero if (i, j) in elimination.mass_only else jacobian.get((i, j), w.zero)
            e = sub(g, mass, mul(g, const(g, tau), entry))
            out[i, j] = named(f"{name}.{i}.{j}", e)
        return out

    def _jacobian(self, point: ModelPass, kept: set[Entry]) -> dict[Entry, int]:
        """Kept entries, and all of the algebraic unknowns in the algebraic rows, which the start needs."""
        p = self.program
        derivatives = Tangent(p).jacobian(p.f, p.x)
        place = {v: j for j, v in enumerate(p.x)}
        wanted = {
            (i, place[v]): e
            for i, row in enumerate(derivatives.rows)
            for v, e in row.items()
            if v in place and ((i, place[v]) in kept or min(i, place[v]) >= p.n_states)
        }
        point.columns(derivatives.statements, wanted.values())
        return {entry: point.of(e) for entry, e in wanted.items()}

    def _system(
        self, tag: str, elimination: Elimination, point: ModelPass, jacobian: Mapping[Entry, int], f: Sequence[int]
    ) -> StepSystem:
        """Matrices, right sides and, if they are written out, factors and solutions."""
        w, g, options = self.w, self.g, self.options
        if elimination.n != len(self.program.x):
            raise ArgumentError(
                f"the elimination is of size {elimination.n}, the model has {len(self.program.x)} unknowns",
                hint="order the elimination for the unknowns of this form of the model",
            )
        steps = [self.tau] if options.order == 1 else [self.tau, 0.5 * self.tau]
        cost = len(steps) * (elimination.factor_flops + elimination.solve_flops)
        style = options.style or ("tables" if cost > options.straight_line_limit else "straight-line")
        system = StepSystem(
            tag,
            elimination,
            [self._matrix(jacobian, elimination, h, f"b{k + 1}") for k, h in enumerate(steps)],
            [[mul(g, const(g, h), e) for e in f] for h in steps],
            tables=Tables(elimination, tag) if style == "tables" else None,
            last=dict(point.last),
        )
        if style == "straight-line":
            system.factors = [w.factor(elimination, b, f"lu{k + 1}") for k, b in enumerate(system.matrices)]
            parts = zip(system.factors, system.rights, strict=True)
            changes = [w.solve(one, right, f"dx{k + 1}") for k, (one, right) in enumerate(parts)]
            system.dx = changes[0]
        if options.order == 2:
            names = [w.variables[v].name for v in self.program.x]
            system.half = [w.temporary(f"{name}.half") for name in names]
            if style == "straight-line":
                for v, h, d in zip(self.program.x, system.half, changes[1], strict=True):
                    w.out.append(Assign(h, add(g, var(g, v), d)))
            second = self._half_point(point, system)
            f_half = [second.of(e) for e in self.program.f]
            system.rights.append([mul(g, const(g, steps[1]), e) for e in f_half])
            system.last = dict(second.last)
            if style == "straight-line":
                third = w.solve(system.factors[1], system.rights[2], "dx3")
                two = const(g, 2.0)
                system.dx = [
                    sub(g, mul(g, two, add(g, d1, d2)), d)
                    for d, d1, d2 in zip(changes[0], changes[1], third, strict=True)
                ]
        return system

    def build(self, elimination: Elimination, full: Elimination | None, frozen: Mapping[Entry, float]) -> StepPlan:
        """Everything."""
        w, p = self.w, self.program
        held = {entry: const(self.g, value) for entry, value in frozen.items()}
        point = self._first_point()
        w.first_last = dict(point.last)
        kept = (set(elimination.entries) - elimination.mass_only - set(held)) | set(full.entries if full else ())
        jacobian = self._jacobian(point, kept)
        f = [point.of(e) for e in p.f]
        systems = [self._system("step", elimination, point, {**jacobian, **held}, f)]
        if full is not None:
            systems.append(self._system("step_full", full, point, jacobian, f))
        relations = [(k, point.comparison(k)) for k in w.kept]
        discrete = discrete_part(w, self.tau)
        first = self._start(jacobian, f)
        outside = self._outside(point)
        found = [v for v, one in enumerate(w.variables) if one.is_output] or list(p.x[: p.n_states])
        delays = self._delays(outside, discrete)
        outputs = [(w.variables[v].name, v, outside.of(w.s.replaced.get(v, var(self.g, v)))) for v in found]
        self._check_leaves(systems, discrete)
        return StepPlan(
            w,
            self._wide(),
            self.tau,
            self.options,
            self.start,
            w.out,
            f,
            systems,
            outputs,
            relations,
            self.values,
            self.guesses,
            self._watched(f),
            discrete,
            first,
            self.input_starts(),
            self.half_clock,
            self.input_before,
            [
                (one.place, w.rewrite(level_expression(w.s, self.g, one), {}, {}))
                for one in rests(w.s, p)
                if level(w.s, one, self.values) is not None
            ],
            delays,
            rates_of(self.g, w.s.events, discrete, w.out, self.tau) if discrete else (),
        )

    def _outside(self, point: ModelPass) -> ModelPass:
        """The model where outputs are computed: after a step, with the inputs from its end on. Inputs that jump there
        leave loops farther from their solutions than a step does: they may have iterations of their own."""
        w, options = self.w, self.options
        count = options.output_steps or options.newton_steps
        if options.order == 1 and count == options.newton_steps:
            return point
        w.newton_steps = count
        leaf = w.leaves()
        self._settle(leaf)
        return w.evaluate(leaf, fresh=True)

    def _wide(self) -> Wide | None:
        if not self.w.in_float:
            return None
        return Wide(
            self.w.shared, (self.w.clock, self.half_clock, self.w.jump_time.variable), self.w.out, self.w.narrow
        )

    def _start(self, jacobian: Mapping[Entry, int], f: Sequence[int]) -> StartPart:
        """What only the start computes."""
        w, events, n_states = self.w, self.w.s.events, self.program.n_states
        part = StartPart()
        if events.memories:
            before = w.evaluate(w.leaves(), fresh=True)
            part.memories = [before.of(one.start) for one in events.memories]
        if events.initial >= 0 and (events.memories or events.actions):
            part.initially = discrete_part(w, self.tau, Instant.INITIAL)
            if part.initially.resets:
                part.settling = discrete_part(w, self.tau, Instant.SETTLING)
        entries = {(i - n_states, j - n_states): e for (i, j), e in jacobian.items() if min(i, j) >= n_states}
        if entries and self.start.rows != ():
            order = eliminate(len(f) - n_states, entries, self.start.rows)
            if order.factor_flops + order.solve_flops <= self.options.straight_line_limit:
                named = {place: w.named(f"start.{place[0]}.{place[1]}", e) for place, e in entries.items()}
                part.correction = w.solve(w.factor(order, named, "start.lu"), f[n_states:], "start.dx")
        return part

    def input_starts(self) -> tuple[float, ...]:
        """Declared start values of the inputs."""
        found = []
        for variable in (self.w.variables[v] for v in self.program.u):
            first = 1.0 if variable.type == "enumeration" else 0.0
            found.append(
                first if variable.start is None else number_in(self.w.s.system, self.g, variable.start, self.values)
            )
        return tuple(found)

    def _watched(self, f: Sequence[int]) -> list[int]:
        """Rows of f that do not depend on inputs, time or discrete variables except through x."""
        w = self.w
        moved = {w.clock, w.jump_time.variable, *self.program.u, *self.input_before.values()}
        moved |= {one.variable for one in w.s.events.memories}
        moved |= w.delay_leaves.variables()
        for one in w.out:
            if any(v in moved for v in w.shared.uses(one.expression)):
                moved.add(one.target)
        return [i for i, e in enumerate(f) if not any(v in moved for v in w.shared.uses(e))]

    def _check_leaves(self, systems: Sequence[StepSystem], discrete: DiscretePart) -> None:
        """Every variable that the step reads has a value."""
        w, p = self.w, self.program
        known = {*p.x, *p.u, *p.p, w.clock, w.jump_time.variable, *w.guess.values(), *(w.relations[k] for k in w.kept)}
        known |= {one.target for one in w.out} | {self.half_clock, *self.input_before.values()}
        known |= {*discrete.begin, discrete.first} | w.delay_leaves.variables()
        known |= {v for one in systems for v in (*one.half, *one.half_tears)}
        known |= {v for one in w.s.events.memories for v in (one.variable, one.before)}
        known |= {one.tick for one in w.s.events.clocks}
        for one in w.out:
            for v in () if w.is_fixed(one.expression) else w.shared.uses(one.expression):
                variable = w.variables[v]
                if v not in known and variable.kind not in (Kind.PARAMETER, Kind.CONSTANT):
                    raise NotSupportedError(
                        f"{w.s.system.name}: {variable.name} changes at events only ({variable.span}), "
                        "a real-time step has no events",
                        hint="make it continuous, or an input",
                    )
