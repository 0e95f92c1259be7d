"""The C file of a stepper: instance, parameters, step, outputs; the interface is in :mod:`stepper_header`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pliant.codegen.names import member_names, model_prefix
from pliant.codegen.plan import Plan, Target
from pliant.codegen.shells import c_comment
from pliant.expr.build import reachable
from pliant.ir import Kind, Op
from pliant.realtime.rests import STILL, WINDOW
from pliant.realtime.stepper.events import DiscretePart
from pliant.realtime.stepper.first import FirstText
from pliant.realtime.stepper.header import driver_text, header_text
from pliant.realtime.stepper.monitor import MonitorText
from pliant.realtime.stepper.operations import Operations, count_operations
from pliant.realtime.stepper.types import StepCode, StepPlan, StepSystem
from pliant.realtime.stepper.write import StepWriter, helpers, table_functions

BYTES = {"double": 8, "float": 4}
Field = tuple[str, int, str]  # member as C text with {} for its size, size, comment


class StepText:
    """Puts the text together."""

    def __init__(self, plan: StepPlan) -> None:
        self.plan, self.w, self.c = plan, plan.lowering, plan.context
        self.program, self.variables = self.w.program, self.w.variables
        self.name = model_prefix(plan.options.name or self.w.s.system.name)
        self.n = len(self.program.x)
        self.u_members = member_names([self.variables[v].name for v in self.program.u])
        self.p_members = member_names([self.variables[v].name for v in self.program.p])
        self.y_members = member_names([name for name, _, _ in plan.outputs])
        self.monitor = MonitorText(plan, self.name) if plan.options.monitor else None
        self.stack = 0
        self.constant_bytes = 0
        self.bytes = BYTES[plan.options.precision]
        self._places()

    def _places(self) -> None:
        p, places, w, plan = self.program, self.c.places, self.w, self.plan
        places |= {v: f"m->x[{i}]" for i, v in enumerate(p.x)}
        places |= {v: f"u->{name}" for v, name in zip(p.u, self.u_members, strict=True)}
        places |= {v: f"m->p.{name}" for v, name in zip(p.p, self.p_members, strict=True)}
        places |= {w.clock: "t", plan.half_clock: "th"}
        members = dict(zip(p.u, self.u_members, strict=True))
        places |= {v: f"m->u.{members[u]}" for u, v in plan.input_before.items()}
        places |= {v: f"m->z[{k}]" for k, v in enumerate(w.guess.values())}
        places |= {w.relations[r]: f"m->relation[{k}]" for k, (r, _) in enumerate(plan.kept)}
        places |= {one.variable: f"m->d[{k}]" for k, one in enumerate(w.s.events.memories)}
        places |= {v: f"(m->count[{k}] == 0)" for k, v in enumerate(plan.discrete.ticks)}
        for system in plan.systems:
            if system.tables:
                places |= {v: f"xh[{i}]" for i, v in enumerate(system.half)}
                places |= {v: f"z[{k}]" for k, v in enumerate(system.half_tears)}
        self.c.integers |= w.integers
        for v, variable in enumerate(self.variables):
            if variable.kind in (Kind.PARAMETER, Kind.CONSTANT) and v not in places and v in plan.values:
                places[v] = self.c.literal(plan.values[v])

    # ------------------------------------------------------------------ the step

    def scalars(self, ahead: int) -> dict[str, str]:
        """Time ``ahead`` steps after the last end of a step, and half a step after it."""
        tau = self.c.wide_literal(self.plan.tau)
        out = {"t": f"m->t0 + (double)(m->step{f' + {ahead}' if ahead else ''}) * {tau}"}
        if self.plan.options.order == 2 and ahead >= 0:
            out["th"] = f"m->t0 + ((double)m->step + 0.5) * {tau}"
        return out

    def _writer(
        self, name: str, targets: Sequence[Target], more: Sequence[tuple[str, str]], exported: bool
    ) -> StepWriter:
        arguments = [(f"{self.name} *restrict", "m"), (f"const {self.name}_inputs *restrict", "u"), *more]
        plan = Plan(self.w.shared, self.plan.statements, [targets])
        return StepWriter(self.c, name, plan, arguments, part=self.plan.options.part, exported=exported)

    def _plain_step(self, tag: str) -> str:
        """The step where inputs do not jump at its end."""
        n = self.name
        return f"void {n}_{tag}({n} *m, const {n}_inputs *u) {{\n    {n}_{tag}_jump(m, u, u);\n}}\n"

    def _memory_targets(self, system: StepSystem) -> list[Target]:
        targets: list[Target] = [(f"r[{k}]", e) for k, (_, e) in enumerate(self.plan.kept)]
        targets += [(f"level[{k}]", e) for k, (_, e) in enumerate(self.plan.levels)]
        return [*targets, *((f"z[{k}]", e) for k, e in enumerate(system.last.values()))]

    def _before(self, system: StepSystem) -> str:
        return self.monitor.before_step(system.tag) if self.monitor else ""

    def _after(self, system: StepSystem) -> str:
        """What ends every step: the new state."""
        plan = self.plan
        rows = range(self.n)
        out = ""
        if self.monitor:
            out += "".join(f"    m->dx_before[{i}] = m->dx[{i}];\n    m->dx[{i}] = dx[{i}];\n" for i in rows)
        out += self._rests() + "".join(f"    m->x[{i}] += dx[{i}];\n" for i in rows)
        out += "".join(f"    m->x[{i}] = rest[{k}];\n" for k, (i, _) in enumerate(plan.levels))
        out += "".join(f"    m->z[{k}] = z[{k}];\n" for k in range(len(system.last)))
        out += "".join(f"    m->relation[{k}] = r[{k}] != 0;\n" for k in range(len(plan.kept)))
        if plan.options.order == 2 and self.u_members:
            out += "    m->u = *after;\n"
        out += "    m->step++;\n"
        if plan.discrete:
            out += "".join(f"    m->count[{k}]--;\n" for k in range(len(plan.discrete.periods)))
            out += plan.options.event_rounds * "    discrete_update(m, after);\n"
        return out

    def _rests(self) -> str:
        """Where states with a level lie after the step: on it, if they crossed it and rest."""
        out, latest = "", dict[int, int]()
        for k, (i, _) in enumerate(self.plan.levels):
            after = f"rest[{latest[i]}]" if i in latest else f"m->x[{i}] + dx[{i}]"
            out += f"    rest[{k}] = pl_rest(m->x[{i}], {after}, dx[{i}], level[{k}], &m->crossed[{k}]);\n"
            latest[i] = k
        return out

    def _rest_helper(self) -> str:
        if not self.plan.levels:
            return ""
        fabs, still = "fabs" if self.c.precision == "double" else "fabsf", self.c.literal(STILL)
        return f"""/* x after a step: on the level, if it was crossed shortly before and x does not move any more */
static inline PL_UNUSED pl_real pl_rest(pl_real before, pl_real after, pl_real dx, pl_real level, int32_t *crossed) {{
    const int rests = (*crossed > 0) & ({fabs}(dx) <= {still} * {fabs}(after - level));
    const pl_real x = pl_select(rests, level, after);
    const int now = (before - level) * (x - level) < 0;
    *crossed = now * {WINDOW} + !now * (*crossed - (*crossed > 0));
    return x;
}}
"""

    def _step(self, system: StepSystem) -> str:
        ahead = 1 if self.plan.options.order == 1 else 0
        n_levels = len(self.plan.levels)
        arrays = {"dx": self.n, "z": len(system.last), "r": len(self.plan.kept), "level": n_levels, "rest": n_levels}
        arrays = {name: size for name, size in arrays.items() if size}
        if system.tables:
            return self._table_step(system, arrays, ahead)
        order = [c for _, c in reversed(system.elimination.pivots)]
        targets = self._memory_targets(system) + [(f"dx[{i}]", system.dx[i]) for i in order]
        if self.monitor:
            targets += [(f"m->right[{i}]", e) for i, e in enumerate(system.rights[0])]
            if system.tag == "step":
                pivots = system.factors[0].pivot
                targets += [(f"m->pivot[{k}]", pivots[p]) for k, p in enumerate(self.monitor.pivots)]
        after = [(f"const {self.name}_inputs *restrict", "after")]
        writer = self._writer(f"{self.name}_{system.tag}_jump", targets, after, True)
        self.stack = max(self.stack, (sum(arrays.values()) + writer.n_work + writer.n_local) * self.bytes)
        written = writer.write(self.scalars(ahead), arrays, self._after(system), self._before(system))
        return written + "\n" + self._plain_step(system.tag)

    def _table_step(self, system: StepSystem, arrays: dict[str, int], ahead: int) -> str:
        """Matrix and right sides written out, factorisation and solution by tables."""
        tables, tag, n = system.tables, system.tag, self.n
        assert tables is not None
        self.constant_bytes += tables.constant_bytes
        order = self.plan.options.order
        scalars = self.scalars(ahead)
        targets: list[Target] = []
        for k, (matrix, right) in enumerate(zip(system.matrices, system.rights, strict=False)):
            targets += [(f"m->a{k}[{tables.place[entry]}]", e) for entry, e in matrix.items()]
            targets += [(f"m->b{k}[{i}]", e) for i, e in enumerate(right)]
        memory = self._memory_targets(system)
        if order == 2:  # tears after the first evaluation are where the second begins
            memory = [one for one in memory if not one[0].startswith("z[")]
            memory += [(f"z[{k}]", e) for k, e in enumerate(self._first_tears(system))]
        if self.monitor:
            targets += [(f"m->right[{i}]", e) for i, e in enumerate(system.rights[0])]
        own = [("const double", name) for name in scalars]
        own += [("pl_real *restrict", name) for name in arrays if name != "dx"]
        writer = self._writer(f"{tag}_evaluate", targets + memory, own, False)
        names = ", ".join(name for _, name in [("", "m"), ("", "u"), *own])
        out = [tables.text(), writer.write({}, {})]
        body = "".join(f"    const double {name} = {value};\n" for name, value in scalars.items())
        body += "".join(f"    pl_real {name}[{size}];\n" for name, size in arrays.items())
        fill = len(system.elimination.entries)
        for k in range(order):
            if tables.size > fill:
                body += f"    for (int k = {fill}; k < {tables.size}; k++) m->a{k}[k] = 0;\n"
        body += f"    {tag}_evaluate({names});\n"
        for k in range(order):
            body += f"    {tag}_factor(m->a{k}, m->d{k});\n"
        body += f"    {tag}_solve(m->a0, m->d0, m->b0, dx);\n"
        stack = sum(arrays.values()) + writer.n_work + writer.n_local
        if self.monitor and tag == "step":
            body += f"    for (int k = 0; k < {n}; k++) m->pivot[k] = m->a0[{tag}_pivot[k]];\n"
        if order == 2:
            half, text = self._table_half(system, scalars, arrays)
            out.append(half)
            body += text
            stack += 3 * n
        self.stack = max(self.stack, stack * self.bytes)
        inputs = f"const {self.name}_inputs *restrict"
        head = (
            f"void {self.name}_{tag}_jump({self.name} *restrict m, {inputs} u, {inputs} after) {{\n    (void)after;\n"
        )
        return "\n".join([*out, f"{head}{self._before(system)}{body}{self._after(system)}}}\n", self._plain_step(tag)])

    def _first_tears(self, system: StepSystem) -> list[int]:
        """Tears after the first evaluation."""
        return [self.w.first_last[z] for z in system.last]

    def _table_half(self, system: StepSystem, scalars: dict[str, str], arrays: dict[str, int]) -> tuple[str, str]:
        """Order 2: the second half step."""
        tag, n = system.tag, self.n
        targets: list[Target] = [(f"m->b1[{i}]", e) for i, e in enumerate(system.rights[2])]
        targets += [(f"zn[{k}]", e) for k, e in enumerate(system.last.values())]
        own = [("const double", name) for name in scalars]
        own += [("pl_real *restrict", name) for name in arrays if name in ("z", "r")]
        own += [("pl_real *restrict", name) for name in ("xh", "zn")]
        writer = self._writer(f"{tag}_half", targets, own, False)
        names = ", ".join(name for _, name in [("", "m"), ("", "u"), *own])
        two = self.c.literal(2.0)
        body = f"    pl_real d1[{n}], d2[{n}], xh[{n}], zn[{max(len(system.last), 1)}];\n"
        body += f"    {tag}_solve(m->a1, m->d1, m->b1, d1);\n"
        body += f"    for (int i = 0; i < {n}; i++) xh[i] = m->x[i] + d1[i];\n"
        body += f"    {tag}_half({names});\n    {tag}_solve(m->a1, m->d1, m->b1, d2);\n"
        body += f"    for (int i = 0; i < {n}; i++) dx[i] = {two} * (d1[i] + d2[i]) - dx[i];\n"
        body += "".join(f"    z[{k}] = zn[{k}];\n" for k in range(len(system.last)))
        return writer.write({}, {}), body

    # ------------------------------------------------------------------ other functions

    def discrete(self, name: str, part: DiscretePart, attribute: str = "") -> str:
        """One round of the events at the end of a step; clocks begin again, so that they tick in the first one only."""
        targets: list[Target] = [(f"d[{k}]", e) for k, e in enumerate(part.memories)]
        targets += [(f"x[{k}]", e) for k, (_, e) in enumerate(part.resets)]
        writer = self._writer(name, targets, [], False)
        writer.attribute = f"{attribute} " if attribute else ""
        arrays = {"d": len(part.memories), "x": len(part.resets)}
        arrays = {name: size for name, size in arrays.items() if size}
        after = "".join(f"    m->d[{k}] = d[{k}];\n" for k in range(len(part.memories)))
        after += "".join(f"    m->x[{i}] = x[{k}];\n" for k, (i, _) in enumerate(part.resets))
        counters = range(len(part.periods))
        after += "".join(f"    m->count[{k}] += (m->count[{k}] == 0) * {part.periods[k]};\n" for k in counters)
        self.stack = max(self.stack, (sum(arrays.values()) + writer.n_work + writer.n_local) * self.bytes)
        return writer.write(self.scalars(0), arrays, after)

    def _outputs(self) -> str:
        plan, n = self.plan, self.name
        targets = [(f"y->{m}", e) for m, (_, _, e) in zip(self.y_members, plan.outputs, strict=True)]
        arguments = [
            (f"const {n} *restrict", "m"),
            (f"const {n}_inputs *restrict", "u"),
            (f"{n}_outputs *restrict", "y"),
        ]
        step_plan = Plan(self.w.shared, plan.statements, [targets])
        writer = StepWriter(self.c, f"{n}_get_outputs", step_plan, arguments, part=plan.options.part, exported=True)
        return writer.write({"t": self.scalars(0)["t"]}, {})

    def _parameters(self) -> str:
        """Defaults; derived constants; divisors that must not be zero."""
        n, c = self.name, self.c
        defaults = "".join(
            f"    p->{member} = {c.literal(self.plan.values[v])};\n"
            for member, v in zip(self.p_members, self.program.p, strict=True)
        )
        pivots: list[Target] = [
            (f"pivot[{k}]", self.w.rewrite(e, {}, {})) for k, (e, _, _) in enumerate(self.w.s.pivots)
        ]
        constants: list[Target] = [(f"m->c[{k}]", e) for e, k in c.constants.items()]
        plan = Plan(self.w.shared, [], [constants + pivots], hoist=False)
        arguments = [(f"{n} *restrict", "m"), ("pl_real *restrict", "pivot")]
        writer = StepWriter(c, "derived_parameters", plan, arguments, part=500, attribute="PL_ONCE")
        more, wide = "", [(f"m->cw[{k}]", e) for e, k in c.wide_constants.items()]
        if wide:
            plan = Plan(self.w.shared, [], [wide], hoist=False)
            more = StepWriter(
                c, "derived_in_double", plan, arguments[:1], part=500, attribute="PL_ONCE", in_double=True
            ).write({}, {})
        checks = (
            f"    for (int k = 0; k < {len(pivots)}; k++)\n        if (!(pivot[k] > 0 || pivot[k] < 0)) return k + 1;\n"
            if pivots
            else ""
        )
        none = "    p->none = 0;\n" if not self.p_members else ""
        watched = self.monitor.with_parameters() if self.monitor else ""
        return (
            writer.write({}, {})
            + more
            + f"\nvoid {n}_default_parameters({n}_parameters *p) {{\n{defaults}{none}}}\n\n"
            + f"int {n}_set_parameters({n} *m, const {n}_parameters *p) {{\n    pl_real pivot[{max(len(pivots), 1)}];\n"
            + f"    m->p = *p;\n    derived_parameters(m, pivot);\n{'    derived_in_double(m);' * bool(wide)}\n"
            + f"{watched}{checks}    return 0;\n}}\n"
        )

    def _tables(self) -> str:
        wanted: dict[int, set[int]] = {}
        nodes = self.c.g.nodes
        roots = [one.expression for one in self.plan.statements] + [e for _, _, e in self.plan.outputs]
        roots += [e for e, _, _ in self.w.s.pivots] + list(self.c.constants) + [e for _, e in self.plan.kept]
        roots += [e for one in self.plan.systems for right in one.rights for e in right]
        parts = [self.plan.discrete, self.plan.first.initially or DiscretePart()]
        roots += [e for part in parts for e in (*part.memories, *(e for _, e in part.resets))]
        roots += [*self.plan.first.memories, *self.plan.first.correction]
        for i in reachable(self.c.g, roots):
            if nodes[i][0] == Op.TABLE:
                wanted.setdefault(nodes[i][1], set()).add(nodes[i][2])
        tables = self.w.s.system.tables
        self.constant_bytes += sum(self.bytes * (6 * len(tables[k].knots)) for k in wanted)
        return "\n".join(table_functions(self.c, k, tables[k], sorted(orders)) for k, orders in sorted(wanted.items()))

    # ------------------------------------------------------------------ all

    def _fields(self) -> list[Field]:
        """Members of the instance besides parameters, counter and start time."""
        plan, real = self.plan, f"{self.name}_real"
        out: list[Field] = [
            (f"{real} c[{{}}];", len(self.c.constants), "expressions of parameters"),
            ("double cw[{}];", len(self.c.wide_constants), "... for what depends on time"),
            (f"{real} x[{{}}];", self.n, "states, then algebraic unknowns"),
            (f"{real} z[{{}}];", len(self.w.guess), "unknowns of nonlinear loops at the last step"),
            ("int relation[{}];", len(plan.kept), "relations at the last step"),
            (f"{real} d[{{}}];", len(plan.discrete.memories), "discrete variables"),
            ("int count[{}];", len(plan.discrete.periods), "steps to the next tick of each clock"),
            ("int32_t crossed[{}];", len(plan.levels), "steps for which a state that crossed a level may rest on it"),
        ]
        by_tables = [one.tables for one in plan.systems if one.tables]
        for k in range(plan.options.order if by_tables else 0):
            out += [
                (f"{real} a{k}[{{}}];", max(one.size for one in by_tables), "matrix, then its factors"),
                (f"{real} b{k}[{{}}];", self.n, "right side"),
                (f"{real} d{k}[{{}}];", self.n, "reciprocal pivots"),
            ]
        return out + (self.monitor.fields(real) if self.monitor else [])

    def _instance_bytes(self, fields: Sequence[Field]) -> int:
        total = self.bytes * max(len(self.p_members), 1)
        for text, size, _ in fields:
            if text.startswith("double") and size:
                total = -(-total // 8) * 8
            total += size * (4 if text.startswith("int") else 8 if text.startswith("double") else self.bytes)
        if self.plan.options.order == 2:
            total += self.bytes * max(len(self.u_members), 1)
        before_step = -(-total // 8) * 8
        return before_step + 8 + 8

    def code(self) -> StepCode:
        """The finished text."""
        plan, n = self.plan, self.name
        functions = [self.monitor.look()] if self.monitor else []
        functions += [self.discrete("discrete_update", plan.discrete)] if plan.discrete else []
        functions += [self._step(one) for one in plan.systems] + [self._outputs()]
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
        text = "\n".join([head + helpers(plan.options.precision), self._rest_helper(), self._tables(), *functions])
        variables, p, fields = self.variables, self.program, self._fields()
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
            {"instance": self._instance_bytes(fields), "constant": self.constant_bytes, "stack": self.stack},
            replace(plan.start, parameters={variables[v].name: plan.values[v] for v in p.p}),
            plan.u_start,
            plan.systems[0].elimination,
            full,
        )


def operations_of(plan: StepPlan, monitor: MonitorText | None) -> dict[str, Operations]:
    """Operations of f, of what the Jacobian, the factorisation and the solution add, of all, and of the outputs."""

    def count(targets: Sequence[Target]) -> Operations:
        clocks = (plan.lowering.clock, plan.half_clock)
        return count_operations(Plan(plan.lowering.shared, plan.statements, [targets]), clocks, plan.context.wide)

    def of_system(system: StepSystem) -> list[Operations]:
        kept = [("r", e) for _, e in plan.kept]
        memory = kept + [("z", e) for e in system.last.values()]
        b = [("b", e) for matrix in system.matrices for e in matrix.values()]
        if system.tables:
            e = system.elimination
            right = [("f", e) for one in system.rights for e in one]
            updates = len(system.tables.update)
            one = Operations(updates, e.factor_flops - updates, e.n)
            off = e.lu_entries - e.n
            solve = Operations(off, off + e.n)
            evaluated, all_ = count(right + memory), count(right + memory + b)
            k = len(system.matrices)
            factor = _times(one, k)
            return [evaluated, all_, all_ + factor, all_ + factor + _times(solve, len(system.rights))]
        f = [("f", e) for e in plan.f] + [("z", e) for e in plan.lowering.first_last.values()] + kept
        factors = [("l", e) for one in system.factors for row in one.lower for _, e in row]
        factors += [("u", e) for one in system.factors for row in one.upper for _, e in row]
        factors += [("i", e) for one in system.factors for e in one.inverse]
        return [
            count(f),
            count(f + b),
            count(f + b + factors),
            count([("x", e) for e in system.dx] + memory),
        ]

    totals = of_system(plan.systems[0])
    out = {
        "f": totals[0],
        "jacobian": totals[1] - totals[0],
        "factor": totals[2] - totals[1],
        "solve": totals[3] - totals[2],
        "step": totals[3],
        "outputs": count([("y", e) for _, _, e in plan.outputs]),
    }
    if plan.discrete:
        once = count([("d", e) for e in (*plan.discrete.memories, *(e for _, e in plan.discrete.resets))])
        out["events"] = _times(once, plan.options.event_rounds)
        out["step"] = out["step"] + out["events"]
    if monitor:
        out["monitor"] = monitor.operations()
    if len(plan.systems) > 1:
        out["full"] = of_system(plan.systems[1])[3] + out.get("events", Operations())
        out["guarded"] = out["step"] + out["full"] + out["monitor"]  # at worst
    return out


def _times(one: Operations, k: int) -> Operations:
    total = Operations()
    for _ in range(k):
        total = total + one
    return total
