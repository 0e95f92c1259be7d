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

from pliant.codegen.c_text import wrapped
from pliant.codegen.places import Argument, Array, ValueKind
from pliant.codegen.plan import FunctionPlan, Target
from pliant.realtime.code.events import DiscretePart
from pliant.realtime.code.places import (
    COUNTERS,
    GIVEN_INPUTS,
    GIVEN_PARAMETERS,
    INPUTS,
    INSTANCE,
    LAST_INPUTS,
    MEMORIES,
    NEW_MEMORIES,
    NEW_RELATIONS,
    NEW_TEARS,
    NEW_X,
    RELATIONS,
    START,
    TEARS,
    X,
)
from pliant.realtime.code.write import StepWriter
from pliant.realtime.sparsing.past import Moment

if TYPE_CHECKING:
    from pliant.realtime.code.text import StepText

PASSES = 50  # through the model, until relations and loops rest
ROUNDS = 100  # of events, and two more for each discrete variable
CORRECTION = Array("dz")
HELD_COUNTERS = Array("count", kind=ValueKind.INTEGER)


@dataclass(eq=False)
class StartPart:
    """Expressions that only the start needs."""

    memories: list[int] = field(default_factory=list)  # values before the first event
    initially: DiscretePart | None = None  # events where initial() holds; None: nobody reads it
    settling: DiscretePart | None = None  # ... and in the rounds behind it
    correction: list[int] = field(default_factory=list)  # of the algebraic unknowns in x: what is subtracted


class FirstText:
    """Text of the functions behind X_init."""

    def __init__(self, text: StepText) -> None:
        self.text, self.plan, self.name = text, text.plan, text.name
        self.layout = text.layout
        self.head = text.layout.declared([INSTANCE, GIVEN_INPUTS], restrict=False)
        self.call = text.layout.passed(INSTANCE.name, GIVEN_INPUTS.name)
        self.part = text.plan.first
        self.first_algebraic = len(text.program.x) - len(self.part.correction)

    @property
    def moves(self) -> dict[str, int]:
        """Arrays that a pass through the model fills, with their sizes."""
        sizes = {"z": len(self.plan.lowering.guess), "r": len(self.plan.kept), "dz": len(self.part.correction)}
        return {name: size for name, size in sizes.items() if size}

    @property
    def settles(self) -> bool:
        """Is there anything that passes through the model bring to rest?"""
        return bool(self.moves or self.plan.delays)

    def _writer(self, name: str, targets: list[Target], more: list[Argument]) -> StepWriter:
        text = self.text
        arguments = [INSTANCE, GIVEN_INPUTS, *more]
        plan = FunctionPlan(text.w.shared, self.plan.statements, [targets])
        return StepWriter(text.c, name, plan, arguments, part=500, attribute="PL_ONCE")

    def _settle(self) -> str:
        """Relations, loops and algebraic unknowns at the start."""
        if not self.settles:
            return ""
        plan, at, real = self.plan, self.layout.place, self.layout.type(ValueKind.REAL)
        targets: list[Target] = [(NEW_TEARS.at(k), e) for k, e in enumerate(plan.lowering.first_last.values())]
        targets += [(NEW_RELATIONS.at(k), e) for k, (_, e) in enumerate(plan.kept)]
        targets += [(CORRECTION.at(k), e) for k, e in enumerate(self.part.correction)]
        arrays = self.moves
        out = self._writer("start_pass", targets, [Argument(name) for name in arrays])
        body = "".join(f"        {real} {name}[{size}];\n" for name, size in arrays.items())
        passed = f"        start_pass({self.layout.passed('m', 'u', *arrays)});\n" if arrays else ""
        begin = f"start_delays({self.layout.passed('m', 'u')})" if plan.delays else "0"
        body += f"        int moved = {begin};\n{passed}"
        if "z" in arrays:
            z = at(TEARS.at("k"))
            body += f"""        for (int k = 0; k < {arrays["z"]}; k++)
            if (z[k] - z[k] == 0) {{ /* where there is no solution, the last value stays */
                moved |= z[k] != {z};
                {z} = z[k];
            }}
"""
        if "r" in arrays:
            relation = at(RELATIONS.at("k"))
            body += f"""        for (int k = 0; k < {arrays["r"]}; k++) {{
            moved |= (r[k] != 0) != {relation};
            {relation} = r[k] != 0;
        }}
"""
        if "dz" in arrays:
            x = at(X.at(f"{self.first_algebraic} + k"))
            body += f"""        int is_known = 1;
        for (int k = 0; k < {arrays["dz"]}; k++) is_known &= dz[k] - dz[k] == 0;
        for (int k = 0; k < {arrays["dz"]} && is_known; k++) {{
            const {real} before = {x};
            {x} -= dz[k];
            moved |= {x} != before;
        }}
"""
        delays = self.text.delays
        start = out.write(self.text.instant(), delays.arrays(Moment.AT), filled=delays.filled(Moment.AT))
        return (
            delays.start()
            + (start if arrays else "")
            + (
                f"\nstatic PL_ONCE void start_settle({self.head}) {{\n"
                f"    for (int pass = 0; pass < {PASSES}; pass++) {{\n{body}        if (!moved) return;\n    }}\n}}\n"
            )
        )

    def _memories(self) -> str:
        """Discrete variables before the first event, then the events at the start."""
        discrete, layout = self.plan.discrete, self.layout
        if not discrete:
            return ""
        out = []
        if self.part.memories:
            targets: list[Target] = [(MEMORIES.at(k), e) for k, e in enumerate(self.part.memories)]
            delays = self.text.delays
            writer = self._writer("start_memories", targets, [])
            out.append(writer.write(self.text.instant(), delays.arrays(Moment.AT), filled=delays.filled(Moment.AT)))
        initially = ""
        if self.part.initially is not None:
            out.append(self.text.discrete("initial_update", self.part.initially, "PL_ONCE"))
            initially = f"    initial_update({self.call});\n" + f"    start_settle({self.call});\n" * self.settles
        if self.part.settling is not None:
            out.append(self.text.discrete("settling_update", self.part.settling, "PL_ONCE"))
            out.append(self._rounds("settling_rounds", "settling_update", discrete))
            initially += f"    settling_rounds({self.call});\n"
        if not self.part.settling or discrete.periods:
            out.append(self._rounds("start_rounds", "discrete_update", discrete))
            initially += f"    start_rounds({self.call});\n" * (not self.part.settling)
        clocks = len(discrete.periods)
        hold = (
            f"    int count[{clocks}];\n    {layout.taken(HELD_COUNTERS, COUNTERS, clocks)}\n"
            f"    for (int k = 0; k < {clocks}; k++) {layout.place(COUNTERS.at('k'))} = -1; /* no clock ticks yet */\n"
            if clocks
            else ""
        )
        tick = (
            f"    {layout.put_back(COUNTERS, HELD_COUNTERS, clocks)}\n"
            f"    start_rounds({self.call}); /* clocks that tick at the start */\n"
            if clocks
            else ""
        )
        out.append(f"static PL_ONCE void start_events({self.head}) {{\n{hold}{initially}{tick}}}\n")
        return "\n".join(out)

    def _rounds(self, name: str, update: str, discrete: DiscretePart) -> str:
        """Rounds of the events at the start, until nothing moves."""
        layout = self.layout
        rounds = ROUNDS + 2 * len(discrete.memories)
        moving = [
            (local, array, size)
            for local, array, size in ((NEW_X, X, self.text.n), (NEW_MEMORIES, MEMORIES, len(discrete.memories)))
            if size
        ]
        keep = "".join(
            f"        {layout.type(local.kind)} {local.name}[{size}];\n        {layout.taken(local, array, size)}\n"
            for local, array, size in moving
        )
        same = " && ".join(layout.same(*one) for one in moving) or "1"
        settle = f"        start_settle({self.call});\n" if self.settles else ""
        return f"""static PL_ONCE void {name}({self.head}) {{
    for (int round = 0; round < {rounds}; round++) {{
{keep}        {update}({self.call});
{settle}        if ({same}) return;
    }}
}}
"""

    def functions(self) -> str:
        """All that X_init calls, then itself."""
        return "\n".join(part for part in (self._settle(), self._memories(), self._init()) if part)

    def _values(self) -> str:
        """The plan's start, except for discrete variables."""
        plan, layout, at = self.plan, self.layout, self.layout.place
        start = wrapped([layout.literal(float(x)) for x in plan.start.x])
        data = (
            f"PL_CONSTANTS static const {layout.type(ValueKind.REAL)} x_start[] = {{{start}}};\n\n"
            if self.text.n
            else ""
        )
        copy = f"for (int i = 0; i < {self.text.n}; i++) {at(X.at('i'))} = x ? x[i] : x_start[i];"
        body = [f"    {copy if self.text.n else '(void)x;'}"]
        body += [f"    {at(TEARS.at(k))} = {layout.literal(value)};" for k, value in enumerate(plan.guesses)]
        body += [f"    {at(COUNTERS.at(k))} = {value};" for k, value in enumerate(plan.start.counts)]
        for k, (r, _) in enumerate(plan.kept):
            body.append(f"    {at(RELATIONS.at(k))} = {int(plan.start.relations.get(r, False))};")
        body.append(f"    {at(START.at())} = {layout.literal(plan.start.t, ValueKind.WIDE)};")
        lines = "\n".join(body)
        head = layout.declared([INSTANCE, Argument("x", is_const=True)], restrict=False)
        return f"""{data}static PL_ONCE void start_values({head}) {{
    {layout.cleared(self.text.fields())}
{lines}
{self.text.delays.first_values(plan.start.delayed)}}}
"""

    def _begin(self) -> str:
        """What follows parameters and x; ``chosen`` (or NULL): NaN, or the value of a discrete variable before the
        first event."""
        body = "    (void)u, (void)chosen;\n"
        if self.plan.options.order == 2 and self.text.u_members:
            body += f"    {self.layout.assigned(LAST_INPUTS, INPUTS)}\n"
        body += self.text.monitor.at_start() if self.text.monitor else ""
        if self.settles:
            body += f"    start_settle({self.call});\n"
        if self.part.memories:
            k = len(self.part.memories)
            body += f"    start_memories({self.call});\n"
            body += f"    for (int k = 0; k < {k} && chosen; k++)\n"
            body += f"        if (chosen[k] == chosen[k]) {self.layout.place(MEMORIES.at('k'))} = chosen[k];\n"
        if self.plan.discrete:
            body += f"    start_events({self.call});\n"
            body += f"    start_settle({self.call});\n" if self.plan.delays else ""
        body += "    (void)m;\n"
        given = [INSTANCE, GIVEN_INPUTS, Argument("chosen", is_const=True)]
        return f"static PL_ONCE void start_at({self.layout.declared(given, restrict=False)}) {{\n{body}}}\n"

    def _init(self) -> str:
        n, plan, layout = self.name, self.plan, self.layout
        chosen, data = "NULL", ""
        if plan.start.memories and self.part.memories:
            known = plan.start.memories
            values = [layout.literal(known[k]) if k in known else "NAN" for k in range(len(self.part.memories))]
            data = f"PL_CONSTANTS static const pl_real d_chosen[] = {{{wrapped(values)}}};\n\n"
            chosen = "d_chosen"
        given = [INSTANCE, GIVEN_PARAMETERS, GIVEN_INPUTS]
        at_x = layout.declared([*given, Argument("x", layout.real, is_const=True)], restrict=False)
        return f"""{self._values()}
{self._begin()}
{data}int {n}_init_at({at_x}) {{
    start_values({layout.passed("m", "x")});
    const int failed = {n}_set_parameters({layout.passed("m", "p")});
    if (failed == 0) start_at({layout.passed("m", "u", chosen)});
    return failed;
}}

int {n}_init({layout.declared(given, restrict=False)}) {{
    return {n}_init_at({layout.passed("m", "p", "u", "NULL")});
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
