"""The step cut by rates: one function for the plant and one for each clock, which a scheduler calls.

    X_step_10kHz(&m, &u, &after)   the plant, to the end of the step
    X_due(&m)                      bits of the rates that tick there
    X_tick_1kHz(&m, &after)        of these rates: what this clock computes, from the values before; in any order
    X_step_end(&m, &after)         the new values of all of them, events that no clock drives; returns what was missed

All that ticks at an instant reads the values before it: each function makes what it needs itself and leaves its values
aside, so the order of the ticks does not matter, and all of them together are the step, bit for bit. A variable belongs
to a clock if nothing happens to it where that clock does not tick; what is left belongs to every step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.codegen.arrays import of_instance
from pliant.codegen.c_text import c_comment
from pliant.codegen.places import Field, ValueKind
from pliant.codegen.plan import Target
from pliant.codegen.program import Assign
from pliant.expr.build import var
from pliant.ir import Events, Graph, Op
from pliant.realtime.code.events import DiscretePart
from pliant.realtime.code.places import (
    COUNTERS,
    GIVEN_AFTER,
    GIVEN_INPUTS,
    INSTANCE,
    MEMORIES,
    NEW_MEMORIES,
    NEW_X,
    READ_ONLY,
    X,
)
from pliant.realtime.sparsing.past import Moment

if TYPE_CHECKING:
    from pliant.realtime.code.text import StepText

MOST = 30  # rates: bits of an unsigned
NEXT = of_instance("next")
DONE = of_instance("done", ValueKind.INTEGER)
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
ROOM = 1e-9  # relative: rounding of a frequency


@dataclass(frozen=True)
class Rate:
    """Clocks that always tick together."""

    name: str
    period: int  # in steps
    clocks: tuple[int, ...]
    members: tuple[int, ...]  # memories that it computes


def rate_name(seconds: float) -> str:
    """A frequency where it is a round one, else the time.

    >>> rate_name(1e-4), rate_name(0.3), rate_name(4e-4), rate_name(2.0), rate_name(1/3)
    ('10kHz', '300ms', '2_5kHz', '2s', '3Hz')
    """
    frequency = 1.0 / seconds
    for scale, unit in ((1e6, "MHz"), (1e3, "kHz"), (1.0, "Hz")):
        value = frequency / scale
        if value >= 1.0 - ROOM and abs(10.0 * value - round(10.0 * value)) <= ROOM * 10.0 * value:
            return _digits(value) + unit
    for scale, unit in UNITS:
        value = seconds / scale
        if value >= 1.0 - ROOM:
            return _digits(value) + unit
    return _digits(seconds * 1e12) + "ps"


def _digits(value: float) -> str:
    return f"{value:.6g}".replace(".", "_").replace("+", "").replace("-", "m")


def rates_of(g: Graph, events: Events, part: DiscretePart, written: Sequence[Assign], tau: float) -> tuple[Rate, ...]:
    """Rates of the model, the fastest first; none where every clock ticks in every step, or there is none."""
    groups: dict[tuple[int, float], list[int]] = {}
    for k, one in enumerate(events.clocks):
        groups.setdefault((part.periods[k], one.first), []).append(k)
    if all(period == 1 for period, _ in groups) or len(groups) > MOST:
        return ()
    definition = {one.target: one.expression for one in written}
    left = set(range(len(part.memories)))
    out: list[Rate] = []
    names: set[str] = set()
    for period, first in sorted(
        groups, key=lambda one: (-one[0], one[1])
    ):  # slow ones first: what waits for both is theirs
        clocks = groups[period, first]
        folding = _Folding(g, definition, {part.ticks[k] for k in clocks})
        members = [k for k in sorted(left) if folding.stays(part.memories[k], events.memories[k].variable)]
        left -= set(members)
        name = rate_name(period * tau)
        if name in names:
            name = f"{name}_from_{rate_name_of_time(first)}"
        while name in names:
            name += "_"
        names.add(name)
        if members:
            out.append(Rate(name, period, tuple(clocks), tuple(members)))
    return tuple(out[::-1])


def rate_name_of_time(seconds: float) -> str:
    """For an offset.

    >>> rate_name_of_time(2e-3), rate_name_of_time(0.0)
    ('2ms', '0')
    """
    for scale, unit in UNITS:
        if abs(seconds) >= scale * (1.0 - ROOM):
            return _digits(seconds / scale) + unit
    return "0"


class _Folding:
    """Expressions where some clocks do not tick: constants, or the nodes that they come down to."""

    def __init__(self, g: Graph, definition: Mapping[int, int], ticks: set[int]) -> None:
        self.g, self.definition, self.ticks = g, definition, ticks
        self.known: dict[int, tuple[str, float]] = {}

    def stays(self, e: int, variable: int) -> bool:
        """Does the variable keep its value?"""
        return self.of(e) == ("node", var(self.g, variable))

    def of(self, e: int) -> tuple[str, float]:
        """("number", value) or ("node", number of an equal one)."""
        stack = [e]
        while stack:
            i = stack[-1]
            if i in self.known:
                stack.pop()
                continue
            below = [a for a in self._below(i) if a not in self.known]
            if below:
                stack += below
                continue
            self.known[i] = self._folded(i)
            stack.pop()
        return self.known[e]

    def _below(self, i: int) -> Sequence[int]:
        node = self.g.nodes[i]
        op = node[0]
        if op == Op.VAR:
            return [self.definition[node[1]]] if node[1] in self.definition and node[1] not in self.ticks else []
        return node[1:] if op in (Op.IF, Op.AND, Op.OR, Op.NOT) else []

    def _folded(self, i: int) -> tuple[str, float]:
        node, known = self.g.nodes[i], self.known
        op = node[0]
        if op == Op.CONST:
            return "number", float(node[1])
        if op == Op.VAR:
            if node[1] in self.ticks:
                return "number", 0.0
            return known[self.definition[node[1]]] if node[1] in self.definition else ("node", i)
        if op == Op.NOT:
            kind, value = known[node[1]]
            return ("number", float(not value)) if kind == "number" else ("node", i)
        if op in (Op.AND, Op.OR):
            return self._joined(i, op == Op.AND)
        if op == Op.IF:
            kind, value = known[node[1]]
            if kind == "number":
                return known[node[2] if value else node[3]]
            return known[node[2]] if known[node[2]] == known[node[3]] else ("node", i)
        return "node", i

    def _joined(self, i: int, is_and: bool) -> tuple[str, float]:
        """a and b, a or b."""
        a, b = (self.known[k] for k in self.g.nodes[i][1:])
        for one, other in ((a, b), (b, a)):
            if one[0] == "number":
                decided = bool(one[1]) != is_and
                return ("number", float(not is_and)) if decided else other
        return "node", i


class RatesText:
    """The functions as C."""

    def __init__(self, text: StepText, rates: Sequence[Rate]) -> None:
        self.text, self.rates = text, rates
        self.base = f"step_{rate_name(text.plan.tau)}"

    @property
    def step_name(self) -> str:
        """The plant's function."""
        return f"{self.text.name}_{self.base}"

    def fields(self) -> list[Field]:
        """Members of the instance."""
        return [
            Field(NEXT, len(self.text.plan.discrete.memories), "discrete variables that clocks have computed"),
            Field(DONE, len(self.rates), "rates that were called since the last end of a step"),
        ]

    def declared(self) -> str:
        """For the header."""
        n, given = self.text.name, self.text.layout.declared
        both = given([INSTANCE, GIVEN_INPUTS, GIVEN_AFTER], restrict=False)
        one = given([INSTANCE, GIVEN_AFTER], restrict=False)
        tick = given([INSTANCE, GIVEN_INPUTS], restrict=False)
        seen = given([READ_ONLY], restrict=False)
        out = f"""
/* The same step cut by rates, for a scheduler: {self.base}; then, in any order, the ticks whose bits due returns; then
 * step_end, which returns the bits of ticks that were due and not called (their variables stay as they are).
 * Together they are {n}_step_jump, bit for bit. Pass u as after where inputs do not jump; ticks take the inputs from
 * the end of the step on.
 */
"""
        for k, rate in enumerate(self.rates):
            out += f"#define {n.upper()}_DUE_{rate.name} {1 << k}u\n"
        out += f"void {n}_{self.base}({both});\nunsigned {n}_due({seen});\n"
        for rate in self.rates:
            names = [self.text.variables[self.text.w.s.events.memories[k].variable].name for k in rate.members]
            shown = [one for one in names if not one.startswith("$")]
            told = ", ".join(shown[:6]) + (f" and {len(shown) - 6} more" if len(shown) > 6 else "")
            told = c_comment(f"every {rate.period} steps" + f": {told}" * bool(told))
            out += f"void {n}_tick_{rate.name}({tick}); /* {told} */\n"
        return out + f"unsigned {n}_step_end({one});\n"

    def functions(self) -> str:
        """Ticks and the end of a step; the whole step stands elsewhere."""
        return "\n".join([self._due(), *(self._tick(k, rate) for k, rate in enumerate(self.rates)), self._end()])

    def _bits(self, missed: bool = False) -> str:
        """Of the rates that tick now; ``missed``: and were not called."""
        at, out = self.text.layout.place, []
        for k, rate in enumerate(self.rates):
            ticks = f"({at(COUNTERS.at(rate.clocks[0]))} == 0)"
            if missed:
                ticks = f"({ticks} & ({at(DONE.at(k))} == 0))"
            out.append(f"((unsigned){ticks} << {k})" if k else f"(unsigned){ticks}")
        return " | ".join(out)

    def _due(self) -> str:
        head = self.text.layout.declared([READ_ONLY], restrict=False)
        return f"unsigned {self.text.name}_due({head}) {{\n    return {self._bits()};\n}}\n"

    def whole(self) -> str:
        """The step in one call."""
        text, layout = self.text, self.text.layout
        head = layout.declared([INSTANCE, GIVEN_INPUTS, GIVEN_AFTER])
        return (
            f"void {text.name}_step_jump({head}) {{\n    {self.step_name}({layout.passed('m', 'u', 'after')});\n"
            f"{text.events()}}}\n"
        )

    def _tick(self, k: int, rate: Rate) -> str:
        text = self.text
        part = text.plan.discrete
        targets: list[Target] = [(NEXT.at(j), part.memories[j]) for j in rate.members]
        writer = text.writer(f"{text.name}_tick_{rate.name}", targets, [], True)
        text.count_stack(writer.n_work + writer.n_local)
        done = f"    {text.layout.place(DONE.at(k))} = 1;\n"
        delays = text.delays
        return writer.write(text.scalars(0), delays.arrays(Moment.AT), done, filled=delays.filled(Moment.AT))

    def _end(self) -> str:
        text, at = self.text, self.text.layout.place
        part, plan = text.plan.discrete, text.plan
        mine = {j for rate in self.rates for j in rate.members}
        rest = [j for j in range(len(part.memories)) if j not in mine]
        targets: list[Target] = [(NEW_MEMORIES.at(j), part.memories[j]) for j in rest]
        targets += [(NEW_X.at(k), e) for k, (_, e) in enumerate(part.resets)]
        targets += text.reset_targets(part)
        arrays = {NEW_MEMORIES.name: len(part.memories) if rest else 0, NEW_X.name: len(part.resets)}
        arrays = {name: size for name, size in arrays.items() if size}
        writer = text.writer("rates_rest", targets, [], False) if targets else None
        after = "".join(f"    {at(MEMORIES.at(j))} = {at(NEW_MEMORIES.at(j))};\n" for j in rest)
        after += "".join(f"    {at(X.at(i))} = {at(NEW_X.at(k))};\n" for k, (i, _) in enumerate(part.resets))
        after += text.first_is_over() if part.begin else ""
        after += f"    commit_rates({text.layout.passed('m')});\n" if writer is not None else ""
        out = self._commit()
        call = f"    commit_rates({text.layout.passed('m')});\n"
        if writer is not None:
            text.count_stack(sum(arrays.values()) + writer.n_work + writer.n_local)
            arrays |= text.delays.arrays(Moment.AT)
            out += "\n" + writer.write(text.scalars(0), arrays, after, filled=text.delays.filled(Moment.AT))
            call = f"    rates_rest({text.layout.passed('m', 'after')});\n"
        head = text.layout.declared([INSTANCE, GIVEN_AFTER])
        body = f"    const unsigned missed = {self._bits(missed=True)};\n{call}"
        later = text.events(plan.options.event_rounds - 1)
        body += later
        unused = "    (void)after;\n" if writer is None and not later else ""
        return f"{out}\nunsigned {text.name}_step_end({head}) {{\n{unused}{body}    return missed;\n}}\n"

    def _commit(self) -> str:
        """New values of the clocks, then their counters."""
        at, part = self.text.layout.place, self.text.plan.discrete
        body = ""
        for k, rate in enumerate(self.rates):
            due = f"({at(COUNTERS.at(rate.clocks[0]))} == 0) & {at(DONE.at(k))}"
            body += f"    const int due_{k} = {due};\n"
            for j in rate.members:
                body += f"    {at(MEMORIES.at(j))} = pl_select(due_{k}, {at(NEXT.at(j))}, {at(MEMORIES.at(j))});\n"
            body += f"    {at(DONE.at(k))} = 0;\n"
        for k, period in enumerate(part.periods):
            count = at(COUNTERS.at(k))
            body += f"    {count} += ({count} == 0) * {period};\n"
        head = self.text.layout.declared([INSTANCE], restrict=False)
        return f"static void commit_rates({head}) {{\n{body}}}\n"
