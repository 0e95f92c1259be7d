"""The C file of a stepper: instance, parameters, step, outputs; the interface is in :mod:`stepper_header`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pliant.codegen.arrays import of_instance
from pliant.codegen.c_text import c_comment
from pliant.codegen.names import member_names, model_prefix
from pliant.codegen.places import Argument, Array, Field, IsZero, Number, Owner, StructArray, ValueKind
from pliant.codegen.plan import FunctionPlan, Target
from pliant.expr.build import reachable
from pliant.ir import Kind, Op
from pliant.realtime.code.delays import KNOWN, KNOWN_MIDDLE, TIMES, DelayText
from pliant.realtime.code.events import DiscretePart
from pliant.realtime.code.first import FirstText
from pliant.realtime.code.fixed import fixed
from pliant.realtime.code.header import driver_text, header_text
from pliant.realtime.code.jump_time import jump_time
from pliant.realtime.code.monitor import PIVOT, RIGHT, MonitorText
from pliant.realtime.code.places import (
    AFTER,
    BEGIN,
    CHANGE,
    CONSTANTS,
    COUNTERS,
    CROSSED,
    FIRST,
    GIVEN_AFTER,
    GIVEN_INPUTS,
    GIVEN_PARAMETERS,
    HALF,
    HALF_TEARS,
    HALF_TIME,
    INPUTS,
    INSTANCE,
    IS_RESET,
    JUMP_TIME,
    LAST_INPUTS,
    LEVEL,
    MEMORIES,
    NEW_MEMORIES,
    NEW_PARAMETERS,
    NEW_RELATIONS,
    NEW_TEARS,
    NEW_X,
    OUTPUTS,
    PARAMETERS,
    READ_ONLY,
    RELATIONS,
    RESETS,
    REST,
    START,
    STEP,
    TEARS,
    TIME,
    WIDE_CONSTANTS,
    StepLayout,
    X,
)
from pliant.realtime.code.rates import RatesText
from pliant.realtime.code.step_operations import operations_of
from pliant.realtime.code.types import StepCode, StepPlan, StepSystem
from pliant.realtime.code.write import StepContext, StepWriter, helpers, table_functions, wide_scalar
from pliant.realtime.sparsing.past import Moment, delay_words
from pliant.realtime.sparsing.resting_states import STILL, WINDOW

BYTES = {"double": 8, "float": 4}
DIVISOR = Array("pivot", Owner.LOCAL)


def _matrix(k: int) -> Array:
    return of_instance(f"a{k}")


def _right(k: int) -> Array:
    return of_instance(f"b{k}")


def _inverse(k: int) -> Array:
    return of_instance(f"d{k}")


class StepText:
    """Puts the text together."""

    def __init__(self, plan: StepPlan, layout: type[StepLayout] = StepLayout) -> None:
        """``layout``: how the target says places."""
        self.plan, self.w = plan, plan.lowering
        self.program, self.variables = self.w.program, self.w.variables
        self.name = model_prefix(plan.options.name or self.w.s.system.name)
        self.n = len(self.program.x)
        self.u_members = member_names([self.variables[v].name for v in self.program.u])
        self.p_members = member_names([self.variables[v].name for v in self.program.p])
        self.y_members = member_names([name for name, _, _ in plan.outputs])
        names = {
            StructArray.INPUTS: self.u_members,
            StructArray.PARAMETERS: self.p_members,
            StructArray.OUTPUTS: self.y_members,
        }
        self.layout = layout(self.name, plan.options.precision, names)
        self.c = StepContext(self.w.g, self.variables, self.layout, wide=plan.wide)
        self.monitor = MonitorText(plan, self.c) if plan.options.monitor else None
        self.delays = DelayText(self)
        self.rates = RatesText(self, plan.rates) if plan.rates else None
        self.stack = 0
        self.constant_bytes = 0
        self.bytes = BYTES[plan.options.precision]
        self._places()

    def _places(self) -> None:
        p, places, w, plan = self.program, self.c.places, self.w, self.plan
        places |= {v: X.at(i) for i, v in enumerate(p.x)}
        places |= {v: INPUTS.at(j) for j, v in enumerate(p.u)}
        places |= {v: PARAMETERS.at(k) for k, v in enumerate(p.p)}
        places |= {w.clock: TIME.at(), plan.half_clock: HALF_TIME.at(), w.jump_time.variable: JUMP_TIME.at()}
        number = {v: j for j, v in enumerate(p.u)}
        places |= {v: LAST_INPUTS.at(number[u]) for u, v in plan.input_before.items()}
        places |= {v: TEARS.at(k) for k, v in enumerate(w.guess.values())}
        places |= {w.relations[r]: RELATIONS.at(k) for k, (r, _) in enumerate(plan.kept)}
        places |= {one.variable: MEMORIES.at(k) for k, one in enumerate(w.s.events.memories)}
        places |= {v: BEGIN.at(i) for i, v in enumerate(plan.discrete.begin)}
        places |= {plan.discrete.first: FIRST.at()} if plan.discrete.begin else {}
        places |= {v: IsZero(COUNTERS.at(k)) for k, v in enumerate(plan.discrete.ticks)}
        for system in plan.systems:
            if system.tables:
                places |= {v: HALF.at(i) for i, v in enumerate(system.half)}
                places |= {v: NEW_TEARS.at(k) for k, v in enumerate(system.half_tears)}
        places |= self.delays.places()
        self.c.integers |= w.integers
        for v, variable in enumerate(self.variables):
            is_fixed = variable.kind in (Kind.PARAMETER, Kind.CONSTANT)
            if is_fixed and v not in places and v in plan.values:
                places[v] = Number(plan.values[v])

    # ------------------------------------------------------------------ the step

    def scalars(self, ahead: int) -> dict[str, str]:
        """Time ``ahead`` steps after the last end of a step, and half a step after it."""
        tau, at = self.layout.literal(self.plan.tau, ValueKind.WIDE), self.layout.place
        start, step = at(START.at()), at(STEP.at())
        out = {TIME.name: f"{start} + (double)({step}{f' + {ahead}' if ahead else ''}) * {tau}"}
        if self.w.jump_time.variable >= 0:
            out[JUMP_TIME.name] = jump_time(self.plan.tau, TIME.name, "-" if ahead else "+")
        if self.plan.options.order == 2 and ahead >= 0:
            out[HALF_TIME.name] = f"{start} + ((double){step} + 0.5) * {tau}"
        return out

    def instant(self, side: str = "+") -> dict[str, str]:
        """The same where no step is taken; side "-": up to this time, not from there on."""
        out = {name: value for name, value in self.scalars(0).items() if name != HALF_TIME.name}
        if JUMP_TIME.name in out:
            out[JUMP_TIME.name] = jump_time(self.plan.tau, TIME.name, side)
        return out

    def writer(self, name: str, targets: Sequence[Target], more: Sequence[Argument], exported: bool) -> StepWriter:
        """A function of the instance and the inputs."""
        arguments = [INSTANCE, GIVEN_INPUTS, *more]
        plan = FunctionPlan(self.w.shared, self.plan.statements, [targets])
        return StepWriter(self.c, name, plan, arguments, part=self.plan.options.part, exported=exported)

    def _plain_step(self, tag: str) -> str:
        """The step where inputs do not jump at its end."""
        n, layout = self.name, self.layout
        head = layout.declared([INSTANCE, GIVEN_INPUTS], restrict=False)
        return f"void {n}_{tag}({head}) {{\n    {n}_{tag}_jump({layout.passed('m', 'u', 'u')});\n}}\n"

    def _memory_targets(self, system: StepSystem) -> list[Target]:
        targets: list[Target] = [(NEW_RELATIONS.at(k), e) for k, (_, e) in enumerate(self.plan.kept)]
        targets += [(LEVEL.at(k), e) for k, (_, e) in enumerate(self.plan.levels)]
        return [*targets, *((NEW_TEARS.at(k), e) for k, e in enumerate(system.last.values()))]

    def _before(self, system: StepSystem) -> str:
        return self.monitor.before_step(system.tag) if self.monitor else ""

    def _after(self, system: StepSystem) -> str:
        """What ends every step: the new state."""
        plan, at, rows = self.plan, self.layout.place, range(self.n)
        out = self.monitor.after_step() if self.monitor else ""
        if plan.discrete.begin:
            out += "".join(f"    {at(BEGIN.at(i))} = {at(X.at(i))};\n" for i in rows) + f"    {at(FIRST.at())} = 1;\n"
        out += self._rests() + "".join(f"    {at(X.at(i))} += {at(CHANGE.at(i))};\n" for i in rows)
        out += "".join(f"    {at(X.at(i))} = {at(REST.at(k))};\n" for k, (i, _) in enumerate(plan.levels))
        out += "".join(f"    {at(TEARS.at(k))} = {at(NEW_TEARS.at(k))};\n" for k in range(len(system.last)))
        out += "".join(f"    {at(RELATIONS.at(k))} = {at(NEW_RELATIONS.at(k))} != 0;\n" for k in range(len(plan.kept)))
        if plan.options.order == 2 and self.u_members:
            out += f"    {self.layout.assigned(LAST_INPUTS, AFTER)}\n"
        out += f"    {at(STEP.at())}++;\n"
        if plan.discrete:
            out += "".join(f"    {at(COUNTERS.at(k))}--;\n" for k in range(len(plan.discrete.periods)))
        out += self.delays.before()
        return out if self._is_cut(system) else out + self.events()

    def events(self, rounds: int | None = None) -> str:
        """What happens at the end of a step."""
        options, call = self.plan.options, f"    discrete_update({self.layout.passed('m', 'after')});\n"
        count = options.event_rounds if rounds is None else rounds
        return (count * call if self.plan.discrete else "") + self.delays.after()

    def _is_cut(self, system: StepSystem) -> bool:
        """Is the step made of functions by rates?"""
        return self.rates is not None and system.tag == "step"

    def _step_name(self, system: StepSystem) -> str:
        """Of the function that makes the step, events apart where it is cut by rates."""
        if self.rates is not None and self._is_cut(system):
            return self.rates.step_name
        return f"{self.name}_{system.tag}_jump"

    def _whole(self, system: StepSystem) -> str:
        """The step in one call, where its function is another one."""
        return self.rates.whole() + "\n" if self.rates is not None and self._is_cut(system) else ""

    def count_stack(self, values: int) -> None:
        """A function has so many values on the stack."""
        self.stack = max(self.stack, values * self.bytes)

    def _rests(self) -> str:
        """Where states with a level lie after the step: on it, if they crossed it and rest."""
        out, latest, at = "", dict[int, int](), self.layout.place
        for k, (i, _) in enumerate(self.plan.levels):
            x, dx = at(X.at(i)), at(CHANGE.at(i))
            after = at(REST.at(latest[i])) if i in latest else f"{x} + {dx}"
            rest, level, crossed = at(REST.at(k)), at(LEVEL.at(k)), at(CROSSED.at(k))
            out += f"    {rest} = pl_rest({x}, {after}, {dx}, {level}, &{crossed});\n"
            latest[i] = k
        return out

    def _rest_helper(self) -> str:
        if not self.plan.levels:
            return ""
        words = {"pl_abs": self.layout.fabs, "PL_STILL": self.layout.literal(STILL), "PL_WINDOW": str(WINDOW)}
        return fixed("rest.h", words)

    def _step(self, system: StepSystem) -> str:
        ahead = 1 if self.plan.options.order == 1 else 0
        n_levels = len(self.plan.levels)
        arrays = {"dx": self.n, "z": len(system.last), "r": len(self.plan.kept), "level": n_levels, "rest": n_levels}
        arrays = {name: size for name, size in arrays.items() if size}
        arrays |= self.delays.arrays(*self.delays.step_moments())
        filled = self.delays.filled(*self.delays.step_moments())
        if system.tables:
            return self._table_step(system, arrays, ahead)
        order = [c for _, c in reversed(system.elimination.pivots)]
        targets = self._memory_targets(system) + [(CHANGE.at(i), system.dx[i]) for i in order]
        if self.monitor:
            targets += [(RIGHT.at(i), e) for i, e in enumerate(system.rights[0])]
            if system.tag == "step":
                pivots = system.factors[0].pivot
                targets += [(PIVOT.at(k), pivots[p]) for k, p in enumerate(self.monitor.pivots)]
        writer = self.writer(self._step_name(system), targets, [GIVEN_AFTER], True)
        self.stack = max(self.stack, (sum(arrays.values()) + writer.n_work + writer.n_local) * self.bytes)
        written = writer.write(self.scalars(ahead), arrays, self._after(system), self._before(system), filled)
        return written + "\n" + self._whole(system) + self._plain_step(system.tag)

    def _table_step(self, system: StepSystem, arrays: dict[str, int], ahead: int) -> str:
        """Matrix and right sides written out, factorisation and solution by tables."""
        tables, tag, n = system.tables, system.tag, self.n
        assert tables is not None
        self.constant_bytes += tables.constant_bytes
        order = self.plan.options.order
        scalars = self.scalars(ahead)
        targets: list[Target] = []
        for k, (matrix, right) in enumerate(zip(system.matrices, system.rights, strict=False)):
            targets += [(_matrix(k).at(tables.place[entry]), e) for entry, e in matrix.items()]
            targets += [(_right(k).at(i), e) for i, e in enumerate(right)]
        memory = self._memory_targets(system)
        if order == 2:  # tears after the first evaluation are where the second begins
            memory = [one for one in memory if one[0].array != NEW_TEARS]
            memory += [(NEW_TEARS.at(k), e) for k, e in enumerate(self._first_tears(system))]
        if self.monitor:
            targets += [(RIGHT.at(i), e) for i, e in enumerate(system.rights[0])]
        own = [wide_scalar(name) for name in scalars]
        own += [Argument(name) for name in arrays if name != CHANGE.name]
        writer = self.writer(f"{tag}_evaluate", targets + memory, own, False)
        layout, at = self.layout, self.layout.place
        names = layout.passed("m", "u", *(one.name for one in own))
        out = [tables.text(layout), writer.write({}, {})]
        body = "".join(
            f"    const {layout.type(ValueKind.WIDE)} {name} = {value};\n" for name, value in scalars.items()
        )
        # each solution writes dx in the order of its pivots: zeros, because no tool follows orders that stand in tables
        first = {CHANGE.name: " = {0}"}
        body += "".join(
            f"    {layout.type(ValueKind.REAL)} {name}[{size}]{first.get(name, '')};\n" for name, size in arrays.items()
        )
        body += "".join(self.delays.filled(*self.delays.step_moments()).values())
        fill = len(system.elimination.entries)
        for k in range(order):
            if tables.size > fill:
                body += f"    for (int k = {fill}; k < {tables.size}; k++) {at(_matrix(k).at('k'))} = 0;\n"
        body += f"    {tag}_evaluate({names});\n"
        for k in range(order):
            body += f"    {tag}_factor({layout.passed(layout.array(_matrix(k)), layout.array(_inverse(k)))});\n"
        body += self._solved(tag, 0, CHANGE)
        stack = sum(arrays.values()) + writer.n_work + writer.n_local
        if self.monitor and tag == "step":
            pivot = at(_matrix(0).at(f"{tag}_pivot[k]"))
            body += f"    for (int k = 0; k < {n}; k++) {at(PIVOT.at('k'))} = {pivot};\n"
        if order == 2:
            half, text = self._table_half(system, scalars, arrays)
            out.append(half)
            body += text
            stack += 3 * n
        self.stack = max(self.stack, stack * self.bytes)
        given = layout.declared([INSTANCE, GIVEN_INPUTS, GIVEN_AFTER])
        head = f"void {self._step_name(system)}({given}) {{\n    (void)after;\n"
        written = f"{head}{self._before(system)}{body}{self._after(system)}}}\n"
        return "\n".join([*out, written, self._whole(system) + self._plain_step(tag)])

    def _solved(self, tag: str, k: int, dx: Array) -> str:
        """The call that solves system k."""
        layout = self.layout
        given = [layout.array(one) for one in (_matrix(k), _inverse(k), _right(k))]
        return f"    {tag}_solve({layout.passed(*given, dx.name)});\n"

    def _first_tears(self, system: StepSystem) -> list[int]:
        """Tears after the first evaluation."""
        return [self.w.first_last[z] for z in system.last]

    def _table_half(self, system: StepSystem, scalars: dict[str, str], arrays: dict[str, int]) -> tuple[str, str]:
        """Order 2: the second half step."""
        tag, n, layout = system.tag, self.n, self.layout
        targets: list[Target] = [(_right(1).at(i), e) for i, e in enumerate(system.rights[2])]
        targets += [(HALF_TEARS.at(k), e) for k, e in enumerate(system.last.values())]
        own = [wide_scalar(name) for name in scalars]
        read = (NEW_TEARS.name, NEW_RELATIONS.name, KNOWN.name, KNOWN_MIDDLE.name)
        own += [Argument(name) for name in arrays if name in read]
        own += [Argument(one.name) for one in (HALF, HALF_TEARS)]
        writer = self.writer(f"{tag}_half", targets, own, False)
        names = layout.passed("m", "u", *(one.name for one in own))
        two = layout.literal(2.0)
        real, n_tears = layout.type(ValueKind.REAL), max(len(system.last), 1)
        body = f"    {real} d1[{n}] = {{0}}, d2[{n}] = {{0}}, xh[{n}], zn[{n_tears}];\n"
        body += self._solved(tag, 1, Array("d1"))
        body += f"    for (int i = 0; i < {n}; i++) xh[i] = {layout.place(X.at('i'))} + d1[i];\n"
        body += f"    {tag}_half({names});\n{self._solved(tag, 1, Array('d2'))}"
        body += f"    for (int i = 0; i < {n}; i++) dx[i] = {two} * (d1[i] + d2[i]) - dx[i];\n"
        body += "".join(f"    z[{k}] = zn[{k}];\n" for k in range(len(system.last)))
        return writer.write({}, {}), body

    # ------------------------------------------------------------------ other functions

    def discrete(self, name: str, part: DiscretePart, attribute: str = "") -> str:
        """One round of the events at the end of a step; clocks begin again, so that they tick in the first one only."""
        at = self.layout.place
        targets: list[Target] = [(NEW_MEMORIES.at(k), e) for k, e in enumerate(part.memories)]
        targets += [(NEW_X.at(k), e) for k, (_, e) in enumerate(part.resets)]
        targets += self.reset_targets(part)
        writer = self.writer(name, targets, [], False)
        writer.attribute = f"{attribute} " if attribute else ""
        arrays = {NEW_MEMORIES.name: len(part.memories), NEW_X.name: len(part.resets)}
        arrays = {name: size for name, size in arrays.items() if size}
        memories = range(len(part.memories))
        after = "".join(f"    {at(MEMORIES.at(k))} = {at(NEW_MEMORIES.at(k))};\n" for k in memories)
        after += "".join(f"    {at(X.at(i))} = {at(NEW_X.at(k))};\n" for k, (i, _) in enumerate(part.resets))
        for k, period in enumerate(part.periods):
            count = at(COUNTERS.at(k))
            after += f"    {count} += ({count} == 0) * {period};\n"
        after += self.first_is_over() if part.begin else ""
        self.stack = max(self.stack, (sum(arrays.values()) + writer.n_work + writer.n_local) * self.bytes)
        arrays |= self.delays.arrays(Moment.AT)
        return writer.write(self.scalars(0), arrays, after, filled=self.delays.filled(Moment.AT))

    @property
    def counts_resets(self) -> bool:
        """Does the monitor limit their number?"""
        limits = self.plan.options.limits
        return self.monitor is not None and limits.resets is not None and bool(self.plan.discrete.active)

    def reset_targets(self, part: DiscretePart) -> list[Target]:
        """Which resets take place in this round, where they are counted."""
        return [(IS_RESET.at(k), e) for k, e in enumerate(part.active)] if self.counts_resets else []

    def first_is_over(self) -> str:
        """What ends the first round of events."""
        at, limit = self.layout.place, self.plan.options.limits.resets
        any_reset = " | ".join(at(IS_RESET.at(k)) for k in range(len(self.plan.discrete.active)))
        count = f"    {at(RESETS.at())} += ({any_reset}) & ({at(RESETS.at())} <= {limit});\n"
        return f"    {at(FIRST.at())} = 0;\n" + count * self.counts_resets

    def _outputs(self) -> str:
        plan, n = self.plan, self.name
        targets = [(OUTPUTS.at(k), e) for k, (_, _, e) in enumerate(plan.outputs)]
        arguments = [READ_ONLY, GIVEN_INPUTS, Argument("y", StructArray.OUTPUTS)]
        step_plan = FunctionPlan(self.w.shared, plan.statements, [targets])
        writer = StepWriter(self.c, f"{n}_get_outputs", step_plan, arguments, part=plan.options.part, exported=True)
        return writer.write(self.instant(), self.delays.arrays(Moment.AT), filled=self.delays.filled(Moment.AT))

    def _parameters(self) -> str:
        """Defaults; derived constants; divisors that must not be zero."""
        n, c, layout = self.name, self.c, self.layout
        defaults = "".join(
            f"    {layout.place(NEW_PARAMETERS.at(k))} = {layout.default(k, self.plan.values[v])};\n"
            for k, v in enumerate(self.program.p)
        )
        pivots: list[Target] = [
            (DIVISOR.at(k), self.w.rewrite(e, {}, {})) for k, (e, _, _) in enumerate(self.w.s.pivots)
        ]
        constants: list[Target] = [(CONSTANTS.at(k), e) for e, k in c.constants.items()]
        times = self.delays.targets()
        plan = FunctionPlan(self.w.shared, [], [constants + pivots + times], hoist=False)
        arguments = [INSTANCE, Argument(DIVISOR.name), *([Argument(TIMES.name)] if times else [])]
        writer = StepWriter(c, "derived_parameters", plan, arguments, part=500, attribute="PL_ONCE")
        more, wide = "", [(WIDE_CONSTANTS.at(k), e) for e, k in c.wide_constants.items()]
        if wide:
            plan = FunctionPlan(self.w.shared, [], [wide], hoist=False)
            more = StepWriter(
                c, "derived_in_double", plan, arguments[:1], part=500, attribute="PL_ONCE", in_double=True
            ).write({}, {})
        checks = (
            f"    for (int k = 0; k < {len(pivots)}; k++)\n        if (!(pivot[k] > 0 || pivot[k] < 0)) return k + 1;\n"
            if pivots
            else ""
        )
        real = layout.type(ValueKind.REAL)
        room = f"    {real} times[{len(times)}];\n" if times else ""
        given_times = ", times" if times else ""
        placed = f"    const int failed = delay_place({layout.passed('m', 'times')});\n" if times else ""
        last = f"failed ? {len(pivots)} + failed : 0" if times else "0"
        none = "    p->none = 0;\n" if not self.p_members else ""
        watched = self.monitor.with_parameters() if self.monitor else ""
        into = layout.declared([Argument("p", StructArray.PARAMETERS)], restrict=False)
        head = layout.declared([INSTANCE, GIVEN_PARAMETERS], restrict=False)
        in_double = f"    derived_in_double({layout.passed('m')});" if wide else ""
        return (
            self.delays.placed()
            + writer.write({}, {})
            + more
            + f"\n{layout.calibration([self.plan.values[v] for v in self.program.p])}"
            + f"\nvoid {n}_default_parameters({into}) {{\n{defaults}{none}}}\n\n"
            + f"int {n}_set_parameters({head}) {{\n    {real} pivot[{max(len(pivots), 1)}];\n{room}"
            + f"    {layout.assigned(PARAMETERS, NEW_PARAMETERS)}\n"
            + f"    derived_parameters({layout.passed('m', 'pivot')}{given_times});\n{in_double}\n"
            + f"{watched}{placed}{checks}    return {last};\n}}\n"
        )

    def _tables(self) -> str:
        wanted: dict[int, set[int]] = {}
        nodes = self.c.g.nodes
        roots = [one.expression for one in self.plan.statements] + [e for _, _, e in self.plan.outputs]
        roots += [e for e, _, _ in self.w.s.pivots] + list(self.c.constants) + [e for _, e in self.plan.kept]
        roots += [e for one in self.plan.systems for right in one.rights for e in right]
        first = self.plan.first
        parts = [self.plan.discrete, first.initially or DiscretePart(), first.settling or DiscretePart()]
        roots += [e for part in parts for e in (*part.memories, *(e for _, e in part.resets))]
        roots += [*self.plan.first.memories, *self.plan.first.correction]
        roots += [e for one in self.plan.delays for e in (one.value, one.time)]
        for i in reachable(self.c.g, roots):
            if nodes[i][0] == Op.TABLE:
                wanted.setdefault(nodes[i][1], set()).add(nodes[i][2])
        tables = self.w.s.system.tables
        self.constant_bytes += sum(self.bytes * (6 * len(tables[k].knots)) for k in wanted)
        return "\n".join(table_functions(self.c, k, tables[k], sorted(orders)) for k, orders in sorted(wanted.items()))

    # ------------------------------------------------------------------ all

    def fields(self) -> list[Field]:
        """Members of the instance."""
        plan = self.plan
        out = [
            Field(PARAMETERS, None),
            Field(CONSTANTS, len(self.c.constants), "expressions of parameters"),
            Field(WIDE_CONSTANTS, len(self.c.wide_constants), "... for what depends on time"),
            Field(X, self.n, "states, then algebraic unknowns"),
            Field(TEARS, len(self.w.guess), "unknowns of nonlinear loops at the last step"),
            Field(RELATIONS, len(plan.kept), "relations at the last step"),
            Field(MEMORIES, len(plan.discrete.memories), "discrete variables"),
            Field(COUNTERS, len(plan.discrete.periods), "steps to the next tick of each clock"),
            Field(BEGIN, len(plan.discrete.begin), "x at the beginning of the step"),
            Field(RESETS, None if self.counts_resets else 0, "steps in which states were reset"),
            Field(IS_RESET, len(plan.discrete.active) if self.counts_resets else 0, "... in this one, by conditions"),
            Field(FIRST, 0 if not plan.discrete.begin else None, "1: the first round of events after a step"),
            Field(CROSSED, len(plan.levels), "steps for which a state that crossed a level may rest on it"),
        ]
        by_tables = [one.tables for one in plan.systems if one.tables]
        for k in range(plan.options.order if by_tables else 0):
            out += [
                Field(_matrix(k), max(one.size for one in by_tables), "matrix, then its factors"),
                Field(_right(k), self.n, "right side"),
                Field(_inverse(k), self.n, "reciprocal pivots"),
            ]
        out += self.rates.fields() if self.rates else []
        out += self.monitor.fields() if self.monitor else []
        if plan.options.order == 2 and self.u_members:
            out.append(Field(LAST_INPUTS, None, "from the last end of a step on"))
        out += [Field(STEP, None, f"steps done: time is t0 + step * {plan.tau!r}"), Field(START, None)]
        return [*out, *self.delays.fields()]  # the rings last: a step that is made again needs no copy of them

    def _offsets(self, fields: Sequence[Field]) -> tuple[dict[str, int], int]:
        """Where members begin and what all take, as compilers lay them out: each at a multiple of its own size."""
        size_of = {ValueKind.REAL: self.bytes, ValueKind.WIDE: 8, ValueKind.STEPS: 8}
        out, total = {}, 0
        for field in fields:
            size, n = size_of.get(field.array.kind, 4), 1 if field.size is None else field.size
            if field.array.record is not None:
                n = max(len(self.layout.names[field.array.record]), 1)
            if n:
                out[field.array.name] = -(-total // size) * size
                total = out[field.array.name] + n * size
        return out, -(-total // 8) * 8

    def code(self) -> StepCode:
        """The finished text."""
        plan, n = self.plan, self.name
        functions = [self.monitor.look()] if self.monitor else []
        functions += [self.delays.functions()] if plan.delays else []
        functions += [self.discrete("discrete_update", plan.discrete)] if plan.discrete else []
        functions += [self._step(one) for one in plan.systems] + [self._outputs()]
        functions += [self.rates.functions()] if self.rates else []
        if self.monitor:
            functions.append(self.monitor.text())
            self.constant_bytes += self.monitor.constant_bytes
            functions += [self.monitor.guarded()] if plan.options.fallback else []
        first = FirstText(self).functions()  # before the parameters: it may need constants of its own
        self.constant_bytes += self.bytes * self.n
        functions += [self._parameters(), first]
        head = (
            f"/* {c_comment(self.w.s.system.name)}: written by pliant, yours without conditions. */\n"
            f'#include "{n}.h"\n\n#include <math.h>\n#include <string.h>\n\n'
            f"typedef {n}_real pl_real;\n\n"
        )
        common = head + helpers(plan.options.precision) + self.layout.helpers()
        text = "\n".join([common, self._rest_helper(), self._tables(), *functions])
        variables, p, fields = self.variables, self.program, self.fields()
        offsets, size = self._offsets(fields)
        full = plan.systems[1].elimination if len(plan.systems) > 1 else None
        return StepCode(
            n,
            header_text(self, fields),
            text,
            driver_text(self),
            plan.tau,
            plan.options,
            plan.systems[0].style,
            tuple(variables[v].name for v in p.x),
            tuple(variables[v].name for v in p.u),
            tuple(variables[v].name for v in p.p),
            tuple(name for name, _, _ in plan.outputs),
            tuple(variables[v].name for v in self.w.guess),
            tuple(k for k, _ in plan.kept),
            tuple(variables[one.variable].name for one in self.w.s.events.memories),
            tuple(plan.discrete.periods),
            p.n_states,
            operations_of(plan, self.monitor),
            {"instance": size, "constant": self.constant_bytes, "stack": self.stack},
            replace(plan.start, parameters={variables[v].name: plan.values[v] for v in p.p}),
            plan.u_start,
            plan.systems[0].elimination,
            full,
            offsets,
            tuple(delay_words(p, one) for one in self.w.delays),
            len(self.w.s.pivots),
            plan.rates,
        )
