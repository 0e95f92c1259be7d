"""What a stepper computes where it starts: X_init on the target, with the inputs that are given there.

    x            from the plan: initial equations are not solved on the target; unknowns of algebraic equations in x
                 are corrected by Newton's iteration, x_a -= J_aa^-1 f_a
    loops        tears of nonlinear loops and relations that are kept from step to step: passes through the model until
                 nothing moves
    memories     values before the first event as declared (the plan's where initial equations or start_values say
                 them), then what initial() sets off, then the clocks that tick at the start, each in rounds until
                 nothing moves

None of this is part of a step: it has loops that end when they are done, up to a fixed number of passes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pliant.codegen.plan import Plan, Target
from pliant.codegen.shells import wrapped
from pliant.realtime.stepper.events import DiscretePart
from pliant.realtime.stepper.write import StepWriter

if TYPE_CHECKING:
    from pliant.realtime.stepper.text import StepText

PASSES = 50  # through the model, until relations and loops rest
ROUNDS = 100  # of events, and two more for each discrete variable


@dataclass(eq=False)
class StartPart:
    """Expressions that only the start needs."""

    memories: list[int] = field(default_factory=list)  # values before the first event
    initially: DiscretePart | None = None  # events where initial() holds; None: nobody reads it
    correction: list[int] = field(default_factory=list)  # of the algebraic unknowns in x: what is subtracted


class FirstText:
    """Text of the functions behind X_init."""

    def __init__(self, text: StepText) -> None:
        self.text, self.plan, self.name = text, text.plan, text.name
        self.part = text.plan.first
        self.first_algebraic = len(text.program.x) - len(self.part.correction)

    @property
    def moves(self) -> dict[str, int]:
        """Arrays that a pass through the model fills, with their sizes."""
        sizes = {"z": len(self.plan.lowering.guess), "r": len(self.plan.kept), "dz": len(self.part.correction)}
        return {name: size for name, size in sizes.items() if size}

    def _writer(self, name: str, targets: list[Target], more: list[tuple[str, str]]) -> StepWriter:
        text = self.text
        arguments = [(f"{self.name} *restrict", "m"), (f"const {self.name}_inputs *restrict", "u"), *more]
        plan = Plan(text.w.shared, self.plan.statements, [targets])
        return StepWriter(text.c, name, plan, arguments, part=500, attribute="PL_ONCE")

    def _clock(self) -> dict[str, str]:
        return {"t": self.text.scalars(0)["t"]}

    def _settle(self) -> str:
        """Relations, loops and algebraic unknowns at the start."""
        if not self.moves:
            return ""
        plan, n = self.plan, self.name
        targets: list[Target] = [(f"z[{k}]", e) for k, e in enumerate(plan.lowering.first_last.values())]
        targets += [(f"r[{k}]", e) for k, (_, e) in enumerate(plan.kept)]
        targets += [(f"dz[{k}]", e) for k, e in enumerate(self.part.correction)]
        arrays = self.moves
        out = self._writer("start_pass", targets, [("pl_real *restrict", name) for name in arrays])
        body = "".join(f"        pl_real {name}[{size}];\n" for name, size in arrays.items())
        body += f"        int moved = 0;\n        start_pass(m, u, {', '.join(arrays)});\n"
        if "z" in arrays:
            body += f"""        for (int k = 0; k < {arrays["z"]}; k++)
            if (z[k] - z[k] == 0) {{ /* where there is no solution, the last value stays */
                moved |= z[k] != m->z[k];
                m->z[k] = z[k];
            }}
"""
        if "r" in arrays:
            body += f"""        for (int k = 0; k < {arrays["r"]}; k++) {{
            moved |= (r[k] != 0) != m->relation[k];
            m->relation[k] = r[k] != 0;
        }}
"""
        if "dz" in arrays:
            first = self.first_algebraic
            body += f"""        int is_known = 1;
        for (int k = 0; k < {arrays["dz"]}; k++) is_known &= dz[k] - dz[k] == 0;
        for (int k = 0; k < {arrays["dz"]} && is_known; k++) {{
            const pl_real before = m->x[{first} + k];
            m->x[{first} + k] -= dz[k];
            moved |= m->x[{first} + k] != before;
        }}
"""
        return out.write(self._clock(), {}) + (
            f"\nstatic PL_ONCE void start_settle({n} *m, const {n}_inputs *u) {{\n"
            f"    for (int pass = 0; pass < {PASSES}; pass++) {{\n{body}        if (!moved) return;\n    }}\n}}\n"
        )

    def _memories(self) -> str:
        """Discrete variables before the first event, then the events at the start."""
        n, discrete = self.name, self.plan.discrete
        if not discrete:
            return ""
        out = []
        if self.part.memories:
            targets: list[Target] = [(f"m->d[{k}]", e) for k, e in enumerate(self.part.memories)]
            out.append(self._writer("start_memories", targets, []).write(self._clock(), {}))
        initially = ""
        if self.part.initially is not None:
            out.append(self.text.discrete("initial_update", self.part.initially, "PL_ONCE"))
            initially = "    initial_update(m, u);\n" + "    start_settle(m, u);\n" * bool(self.moves)
        rounds = ROUNDS + 2 * len(discrete.memories)
        keep = "".join(
            f"        pl_real {name}[{size}];\n        memcpy({name}, m->{name}, sizeof {name});\n"
            for name, size in (("x", self.text.n), ("d", len(discrete.memories)))
            if size
        )
        kept = [name for name, size in (("x", self.text.n), ("d", len(discrete.memories))) if size]
        same = " && ".join(f"memcmp({name}, m->{name}, sizeof {name}) == 0" for name in kept) or "1"
        settle = "        start_settle(m, u);\n" if self.moves else ""
        out.append(f"""static PL_ONCE void start_rounds({n} *m, const {n}_inputs *u) {{
    for (int round = 0; round < {rounds}; round++) {{
{keep}        discrete_update(m, u);
{settle}        if ({same}) return;
    }}
}}
""")
        clocks = len(discrete.periods)
        hold = (
            f"    int count[{clocks}];\n    memcpy(count, m->count, sizeof count);\n"
            f"    for (int k = 0; k < {clocks}; k++) m->count[k] = -1; /* no clock ticks yet */\n"
            if clocks
            else ""
        )
        tick = (
            "    memcpy(m->count, count, sizeof count);\n    start_rounds(m, u); /* clocks that tick at the start */\n"
            if clocks
            else ""
        )
        out.append(
            f"static PL_ONCE void start_events({n} *m, const {n}_inputs *u) {{\n"
            f"{hold}{initially}    start_rounds(m, u);\n{tick}}}\n"
        )
        return "\n".join(out)

    def functions(self) -> str:
        """All that X_init calls, then itself."""
        return "\n".join(part for part in (self._settle(), self._memories(), self._init()) if part)

    def _values(self) -> str:
        """The plan's start, except for discrete variables."""
        n, plan, c = self.name, self.plan, self.text.c
        start = wrapped([c.literal(float(x)) for x in plan.start.x])
        data = f"static const pl_real x_start[] = {{{start}}};\n\n" if self.text.n else ""
        copy = f"for (int i = 0; i < {self.text.n}; i++) m->x[i] = x ? x[i] : x_start[i];"
        body = [f"    {copy if self.text.n else '(void)x;'}"]
        body += [f"    m->z[{k}] = {c.literal(value)};" for k, value in enumerate(plan.guesses)]
        body += [f"    m->count[{k}] = {value};" for k, value in enumerate(plan.start.counts)]
        for k, (r, _) in enumerate(plan.kept):
            body.append(f"    m->relation[{k}] = {int(plan.start.relations.get(r, False))};")
        body.append(f"    m->t0 = {c.wide_literal(plan.start.t)};")
        lines = "\n".join(body)
        return f"""{data}static PL_ONCE void start_values({n} *m, const pl_real *x) {{
    memset(m, 0, sizeof *m);
{lines}
}}
"""

    def _begin(self) -> str:
        """What follows parameters and x; ``chosen`` (or NULL): NaN, or the value of a discrete variable before the
        first event."""
        n, discrete = self.name, self.plan.discrete
        body = "    (void)u, (void)chosen;\n"
        if self.plan.options.order == 2 and self.text.u_members:
            body += "    m->u = *u;\n"
        if self.moves:
            body += "    start_settle(m, u);\n"
        if self.part.memories:
            k = len(self.part.memories)
            body += "    start_memories(m, u);\n"
            body += f"    for (int k = 0; k < {k} && chosen; k++)\n"
            body += "        if (chosen[k] == chosen[k]) m->d[k] = chosen[k];\n"
        if discrete:
            body += "    start_events(m, u);\n"
        body += "    (void)m;\n"
        return f"static PL_ONCE void start_at({n} *m, const {n}_inputs *u, const pl_real *chosen) {{\n{body}}}\n"

    def _init(self) -> str:
        n, plan = self.name, self.plan
        chosen, data = "NULL", ""
        if plan.start.memories and self.part.memories:
            known = plan.start.memories
            values = [self.text.c.literal(known[k]) if k in known else "NAN" for k in range(len(self.part.memories))]
            data = f"static const pl_real d_chosen[] = {{{wrapped(values)}}};\n\n"
            chosen = "d_chosen"
        return f"""{self._values()}
{self._begin()}
{data}int {n}_init_at({n} *m, const {n}_parameters *p, const {n}_inputs *u, const {n}_real *x) {{
    start_values(m, x);
    const int failed = {n}_set_parameters(m, p);
    if (failed == 0) start_at(m, u, {chosen});
    return failed;
}}

int {n}_init({n} *m, const {n}_parameters *p, const {n}_inputs *u) {{
    return {n}_init_at(m, p, u, NULL);
}}

size_t {n}_state_size(void) {{
    return sizeof({n});
}}

void {n}_save(const {n} *m, void *to) {{
    memcpy(to, m, sizeof *m);
}}

void {n}_restore({n} *m, const void *from) {{
    memcpy(m, from, sizeof *m);
}}
"""
