"""delay(expr, T) in a written step: a ring of values for each delay in the instance, read with fixed weights.

    delay_before   at the end of a step: what is delayed there, before events and jumps of inputs; rings move on
    delay_after    the same behind them, of what may jump
    delay_known    what a function knows of delayed values, by its moment (sparsing/past.py has the formulas)
    delay_place    weights from the times of the delays, where parameters are set
    start_delays   at the start: every value of a ring is what is delayed now

Rings hold the steps of the longest delay of the scenarios and two more: the one that is computed, and the one that a
step which is made again still needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.codegen.arrays import of_instance
from pliant.codegen.c_text import wrapped
from pliant.codegen.places import Argument, Array, Field, Source, ValueKind
from pliant.codegen.plan import FunctionPlan, Target
from pliant.errors import NotSupportedError
from pliant.expr.build import add, const, mul, operands, var
from pliant.ir import Graph, Op
from pliant.realtime.code.fixed import fixed
from pliant.realtime.code.operations import Operations
from pliant.realtime.code.places import GIVEN_INPUTS, INSTANCE, READ_ONLY
from pliant.realtime.code.write import StepWriter
from pliant.realtime.sparsing.past import NEAR, STEPS_AHEAD, Moment

if TYPE_CHECKING:
    from pliant.realtime.code.lower import Lowering
    from pliant.realtime.code.text import StepText
    from pliant.realtime.code.types import StepPlan

KNOWN, KNOWN_MIDDLE = Array("known"), Array("known_middle")
VALUE, TIMES = Array("value"), Array("times")
RING = of_instance("delayed")
LAST = of_instance("delay_last", ValueKind.COUNT)
BACK, SHARE = of_instance("delay_back", ValueKind.COUNT), of_instance("delay_share")
SHARES = 4  # of v-, of v+, of the slope, of the value now
_JUMPS = (Op.LT, Op.LE, Op.EQ, Op.NE, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TABLE)


@dataclass(frozen=True)
class StepDelay:
    """One delay of a step."""

    time: int  # T, an expression of parameters
    value: int  # what is delayed, where outputs are computed
    least: float  # T may be from so many steps ...
    most: float  # ... to so many
    jumps: bool  # may the value jump at the end of a step?

    @property
    def room(self) -> int:
        """Values in its ring."""
        return math.ceil(self.most) + 2


def may_jump(w: Lowering, e: int, reset: frozenset[int]) -> bool:
    """May an expression jump at the ends of steps? Of states that nothing resets, time and parameters it does not."""
    smooth = {v for i, v in enumerate(w.program.x[: w.program.n_states]) if i not in reset} | {w.clock}
    behind = {one.target: one.expression for one in w.out}
    seen, stack = set[int](), [e]
    while stack:
        i = stack.pop()
        if i in seen or w.is_fixed(i):
            continue
        seen.add(i)
        op, *rest = w.g.nodes[i]
        if op in _JUMPS:
            return True
        if op == Op.VAR and rest[0] not in smooth:
            if rest[0] not in behind:
                return True
            stack.append(behind[rest[0]])
        elif op > Op.ARG:
            stack.extend(operands(w.g, i))
    return False


class DelayLeaves:
    """What stands for delayed values in the expressions of a step."""

    def __init__(self, w: Lowering) -> None:
        self.w = w
        self.known = {one.number: w.temporary(f"delay_{k + 1}") for k, one in enumerate(w.delays)}
        self.share: dict[int, int] = {}  # of the value now, for delays shorter than a step
        self.middle: dict[int, int] = {}  # the same variables half a step later

    def set_short(self, numbers: Sequence[int]) -> None:
        """Delays that may be shorter than a step."""
        self.share = {number: self.w.temporary(f"delay_share_{number + 1}") for number in numbers}

    def half_leaf(self) -> dict[int, int]:
        """Leaves half a step later."""
        temporary = self.w.temporary
        for v in (*self.known.values(), *self.share.values()):
            self.middle[v] = temporary(f"{self.w.variables[v].name}.half")
        return {var(self.w.g, v): var(self.w.g, later) for v, later in self.middle.items()}

    def variables(self) -> set[int]:
        """All of them."""
        return {*self.known.values(), *self.share.values(), *self.middle.values()}

    def operands(self, node: tuple[int, ...]) -> tuple[int, ...]:
        """What of a delay is evaluated now."""
        return node[4:5] if node[1] in self.share else ()

    def of(self, g: Graph, node: tuple[int, ...], now: Sequence[int], leaf: Mapping[int, int]) -> int:
        """A delayed value, or its derivative by the value now."""
        _, number, order, *_ = node
        if order == 1:
            raise NotSupportedError(
                f"{self.w.s.system.name} cannot become a real-time step: the derivative of a delayed value is needed",
                hint="delay the derivative instead: delay(der(x), T)",
            )
        share = leaf.get(var(g, self.share[number]), var(g, self.share[number])) if number in self.share else None
        if order == 2:
            return const(g, 0.0) if share is None else share
        known = var(g, self.known[number])
        known = leaf.get(known, known)
        return known if share is None else add(g, known, mul(g, share, now[0]))


class DelayText:
    """Their functions and memory as C."""

    def __init__(self, text: StepText) -> None:
        self.text, self.plan, self.layout = text, text.plan, text.layout
        self.delays = text.plan.delays
        self.n = len(self.delays)
        self.leaves = text.w.delay_leaves
        self.short = [k for k, one in enumerate(text.w.delays) if one.number in self.leaves.share]
        two = text.plan.options.order == 2
        self.moments = [Moment.AHEAD, Moment.AT, *([Moment.BEGIN, Moment.MIDDLE] if two else [])]
        self.left: list[int] = []  # where rings begin: values before jumps, values behind them
        self.right: list[int] = []
        total = 0
        for one in self.delays:
            self.left.append(total)
            self.right.append(total + one.room if one.jumps else total)
            total += one.room * (2 if one.jumps else 1)
        self.total = total

    def places(self) -> dict[int, Source]:
        """Variable -> where functions have its value."""
        known, share = self.leaves.known.values(), self.leaves.share.values()
        rows: dict[int, Source] = {v: KNOWN.at(k) for k, v in enumerate((*known, *share))}
        middle = self.leaves.middle
        return rows | {middle[v]: KNOWN_MIDDLE.at(k) for k, v in enumerate((*known, *share)) if v in middle}

    def fields(self) -> list[Field]:
        """Members of the instance; the rings come last."""
        if not self.n:
            return []
        count = self.n * len(self.moments)
        return [
            Field(LAST, self.n, "places of the last values in the rings of delays"),
            Field(BACK, count, "how many steps back each delay reads, by moments"),
            Field(SHARE, SHARES * count, "... and with which weights"),
            Field(RING, self.total, "values of delayed expressions at the ends of steps"),
        ]

    def arrays(self, *moments: Moment) -> dict[str, int]:
        """Local arrays of a function that is evaluated at these moments."""
        names = [KNOWN_MIDDLE.name if one is Moment.MIDDLE else KNOWN.name for one in moments]
        return dict.fromkeys(names, self.n + len(self.short)) if self.n else {}

    def filled(self, *moments: Moment) -> dict[str, str]:
        """Statements that fill them."""
        out = {}
        for one in moments if self.n else ():
            name = KNOWN_MIDDLE.name if one is Moment.MIDDLE else KNOWN.name
            out[name] = f"    delay_known({self.layout.passed('m', str(self.moments.index(one)), name)});\n"
        return out

    def step_moments(self) -> list[Moment]:
        """Of the step itself."""
        return [Moment.BEGIN, Moment.MIDDLE] if self.plan.options.order == 2 else [Moment.AHEAD]

    def before(self) -> str:
        """What ends a step, before its events."""
        return f"    delay_before({self.layout.passed('m', 'u')});\n" if self.n else ""

    def after(self) -> str:
        """... and behind them."""
        return (
            f"    delay_after({self.layout.passed('m', 'after')});\n" if any(one.jumps for one in self.delays) else ""
        )

    # ------------------------------------------------------------------ text

    def _at(self, array: Array, index: int | str) -> str:
        return self.layout.place(array.at(index))

    def functions(self) -> str:
        """Everything that a step calls."""
        if not self.n:
            return ""
        return "\n".join([self._data(), self._known(), self._before(), self._after()])

    def _data(self) -> str:
        def table(name: str, values: Sequence[int]) -> str:
            return f"PL_CONSTANTS static const int32_t {name}[] = {{{wrapped([str(v) for v in values], 20)}}};"

        self.text.constant_bytes += 12 * self.n
        rooms = [one.room for one in self.delays]
        rows = [table("delay_left", self.left), table("delay_right", self.right), table("delay_room", rooms)]
        return "\n".join(rows) + "\n"

    def _known(self) -> str:
        real, at, n = self.layout.type(ValueKind.REAL), self._at, self.n
        given = [READ_ONLY, Argument("moment", ValueKind.INTEGER, is_array=False), Argument(KNOWN.name)]
        head = self.layout.declared(given)
        shares = "".join(
            f"    {KNOWN.name}[{n + j}] = {at(SHARE, f'{SHARES} * (moment * {n} + {k}) + 3')};\n"
            for j, k in enumerate(self.short)
        )
        share = [at(SHARE, f"{SHARES} * place + {j}") for j in range(3)]
        return f"""/* delayed values; behind them, of delays shorter than a step, the shares of the values now */
static void delay_known({head}) {{
    for (int k = 0; k < {n}; k++) {{
        const int place = moment * {n} + k, room = delay_room[k];
        int here = {at(LAST, "k")} - {at(BACK, "place")};
        here += (here < 0) * room;
        const int older = here - 1 + (here == 0) * room;
        const {real} left = {at(RING, "delay_left[k] + here")}, right = {at(RING, "delay_right[k] + here")};
        {KNOWN.name}[k] = {share[0]} * left + {share[1]} * right
            + {share[2]} * ({at(RING, "delay_right[k] + older")} - left);
    }}
{shares}}}
"""

    def _writer(self, name: str, chosen: Sequence[int], attribute: str = "") -> StepWriter:
        text, more = self.text, [Argument(VALUE.name)] if attribute else []
        targets: list[Target] = [(VALUE.at(j), self.delays[k].value) for j, k in enumerate(chosen)]
        plan = FunctionPlan(text.w.shared, self.plan.statements, [targets])
        arguments = [INSTANCE, GIVEN_INPUTS, *more]
        part = 500 if attribute else self.plan.options.part
        writer = StepWriter(text.c, name, plan, arguments, part=part, attribute=attribute)
        text.count_stack(2 * self.n + len(self.short) + writer.n_work + writer.n_local)
        return writer

    def _before(self) -> str:
        at, n, value = self._at, self.n, VALUE.name
        after = f"""    for (int k = 0; k < {n}; k++) {{
        const int next = {at(LAST, "k")} + 1, here = next - (next == delay_room[k]) * delay_room[k];
        {at(LAST, "k")} = here;
        {at(RING, "delay_left[k] + here")} = {value}[k];
        {at(RING, "delay_right[k] + here")} = {value}[k];
    }}
"""
        arrays = {**self.arrays(Moment.AHEAD), value: n}
        return self._writer("delay_before", range(n)).write(
            self.text.instant("-"), arrays, after, filled=self.filled(Moment.AHEAD)
        )

    def _after(self) -> str:
        chosen = [k for k, one in enumerate(self.delays) if one.jumps]
        if not chosen:
            return ""
        at = self._at
        after = "".join(
            f"    {at(RING, f'{self.right[k]} + {at(LAST, k)}')} = {VALUE.name}[{j}];\n" for j, k in enumerate(chosen)
        )
        arrays = {**self.arrays(Moment.AT), VALUE.name: len(chosen)}
        return self._writer("delay_after", chosen).write(
            self.text.instant(), arrays, after, filled=self.filled(Moment.AT)
        )

    def start(self) -> str:
        """Functions that the start needs; the last one returns whether a value has moved."""
        if not self.n:
            return ""
        at, n, real = self._at, self.n, self.layout.type(ValueKind.REAL)
        values = self._writer("start_values_delayed", range(n), "PL_ONCE").write(
            self.text.instant(), self.arrays(Moment.AT), filled=self.filled(Moment.AT)
        )
        head = self.layout.declared([INSTANCE, GIVEN_INPUTS], restrict=False)
        call = self.layout.passed("m", "u", VALUE.name)
        return f"""{values}
static PL_ONCE int start_delays({head}) {{
    {real} {VALUE.name}[{n}];
    int moved = 0;
    start_values_delayed({call});
    for (int k = 0; k < {n}; k++)
        for (int i = 0; i < delay_room[k]; i++) {{
            moved |= {at(RING, "delay_right[k] + i")} != {VALUE.name}[k];
            {at(RING, "delay_left[k] + i")} = {VALUE.name}[k];
            {at(RING, "delay_right[k] + i")} = {VALUE.name}[k];
        }}
    return moved;
}}
"""

    def first_values(self, start: Mapping[int, float]) -> str:
        """Rings as the plan's own start has them: where the search for the start begins."""
        out = ""
        for k, one in enumerate(self.text.w.delays):
            value = start.get(one.number, 0.0)
            if value and math.isfinite(value):
                number, rings = self.layout.literal(value), {self.left[k], self.right[k]}
                room = self.delays[k].room * len(rings)
                out += f"    for (int i = 0; i < {room}; i++) {self._at(RING, f'{self.left[k]} + i')} = {number};\n"
        return out

    def targets(self) -> list[Target]:
        """Times of the delays, where parameters are set."""
        return [(TIMES.at(k), one.time) for k, one in enumerate(self.delays)]

    def placed(self) -> str:
        """The function that makes weights of the times; it returns the number of a delay outside of its range."""
        if not self.n:
            return ""
        at, n, literal, wide = self._at, self.n, self.layout.literal, ValueKind.WIDE
        self.text.constant_bytes += 16 * n
        rows = [
            f"static const double delay_least[] = {{{wrapped([literal(one.least, wide) for one in self.delays])}}};",
            f"static const double delay_most[] = {{{wrapped([literal(one.most, wide) for one in self.delays])}}};",
        ]
        calls = ""
        for j, moment in enumerate(self.moments):
            ahead, begins = literal(STEPS_AHEAD[moment], wide), int(moment is Moment.BEGIN)
            place = f"{j * n} + k" if j else "k"
            to = f"&{at(BACK, place)}, &{at(SHARE, f'{SHARES} * ({place})')}"
            calls += f"        delay_weights(steps, {ahead}, {begins}, {int(moment is Moment.AHEAD)}, {to});\n"
        head = self.layout.declared([INSTANCE, Argument(TIMES.name, is_const=True)])
        words = {"PL_DELAY_NEAR": literal(NEAR[self.plan.options.precision], wide)}
        tau = literal(self.plan.tau, wide)
        return f"""{fixed("delays.h", words)}
{chr(10).join(rows)}

static PL_ONCE int delay_place({head}) {{
    int failed = 0;
    for (int k = 0; k < {n}; k++) {{
        const double steps = (double){TIMES.name}[k] / {tau}, room = delay_room_of(steps);
        if (!(steps >= delay_least[k] - room && steps <= delay_most[k] + room)) {{
            failed = failed ? failed : k + 1;
            continue;
        }}
{calls}    }}
    return failed;
}}
"""


def delay_operations(plan: StepPlan, values: Operations, jumping: Operations) -> Operations:
    """What delays add to a step: values that are kept, and readings."""
    reads = len(plan.delays) * (4 if plan.options.order == 2 else 2)
    return values + jumping + Operations(add=3 * reads, mul=3 * reads)
