"""What the fixed text of ``pliant_events.h`` needs to know of discrete variables: when-clauses, clocks, reinit.

A relation of time and what only events change (`time >= pre(next)`) turns where the solver, which looks ahead for it
(ahead.py), says so, and takes the side that holds from there on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.codegen.arrays import BEFORE, INITIAL, KEPT, MEMORY, TERMINAL, TICK, VALUE, of_instance
from pliant.codegen.c_text import c_place
from pliant.codegen.modes import defined, flag_array, mode_fields, read_by_f, relation_data
from pliant.codegen.places import Argument, Field, Number, Source, ValueKind, number
from pliant.codegen.plan import Target
from pliant.codegen.program import reset_place
from pliant.expr.build import reachable
from pliant.expr.circles import circle_of, in_loops
from pliant.ir import Kind, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

ENDLESS = "events trigger each other without end"
MOST_NAMED = 500  # memories, for which circles are looked for


def hybrid_places(emitter: Emitter) -> dict[int, Source]:
    """Where generated code finds what events set; what nothing sets reads as 0."""
    events = emitter.s.events
    places: dict[int, Source] = {
        v: Number(0.0)
        for v, one in enumerate(emitter.variables)
        if one.kind == Kind.BEFORE or (one.kind == Kind.DISCRETE and one.binding is None)
    }
    places |= {one.variable: MEMORY.at(k) for k, one in enumerate(events.memories)}
    places |= {one.before: BEFORE.at(k) for k, one in enumerate(events.memories)}
    places |= {one.variable: KEPT.at(k) for k, one in enumerate(events.kept)}
    places |= {one.tick: TICK.at(k) for k, one in enumerate(events.clocks)}
    if events.initial >= 0:
        places[events.initial] = INITIAL.at()
    if events.terminal >= 0:
        places[events.terminal] = TERMINAL.at()
    return places


def hybrid_fields(emitter: Emitter) -> list[Field]:
    """Fields of the instance."""
    events = emitter.s.events
    if not events:
        return mode_fields(emitter)
    n, clocks = max(len(events.memories), 1), max(len(events.clocks), 1)
    return [
        *mode_fields(emitter),
        Field(MEMORY, n, "discrete variables"),
        Field(BEFORE, n, "the same before the event: pre(v)"),
        Field(KEPT, max(len(events.kept), 1), "pre(x) of continuous variables"),
        Field(TICK, clocks, "clocks that tick in this round of an event"),
        Field(of_instance("ticks"), clocks, "ticks since the first"),
        Field(INITIAL, None, "1: the first round at the start"),
        Field(TERMINAL, None, "1: the run ends"),
        Field(of_instance("chosen"), n, "values before the first event that were given"),
        Field(of_instance("given", ValueKind.FLAG), n, "1: such a value was given"),
        Field(of_instance("quiet", ValueKind.INTEGER), None, "1: start values are searched, nothing acts yet"),
        Field(of_instance("starting", ValueKind.INTEGER), None, "1: the event at the start; 2: after it reset states"),
        Field(of_instance("ended", ValueKind.INTEGER), None, "number of the message that ended the run"),
        Field(of_instance("changed", ValueKind.INTEGER), None, "the first memory that the last round changed"),
    ]


def write_functions(emitter: Emitter) -> None:
    """The generated functions that the fixed text calls."""
    events = emitter.s.events
    if not events:
        return
    memories: list[Target] = [(VALUE.at(k), one.expression) for k, one in enumerate(events.memories)]
    starts: list[Target] = [(VALUE.at(k), one.start) for k, one in enumerate(events.memories)]
    emitter.function("memory_values", emitter.plan([memories]), [Argument("value")])
    emitter.function("memory_starts", emitter.plan([starts]), [Argument("value")])
    kept: list[Target] = [(VALUE.at(k), one.expression) for k, one in enumerate(events.kept)]
    emitter.function("kept_values", emitter.plan([kept]), [Argument("value")])
    actions: list[Target] = [(VALUE.at(2 * k), one.active) for k, one in enumerate(events.actions)]
    for k, one in enumerate(events.actions):
        if one.kind == "reset":
            actions.append((VALUE.at(2 * k + 1), reset_place(emitter.program, one)[1]))
        elif one.kind == "call":
            actions.append((VALUE.at(2 * k + 1), one.value))
    emitter.function("action_values", emitter.plan([actions]), [Argument("value")])


def messages(emitter: Emitter) -> list[str]:
    """Texts of what can go wrong at events: two per memory, one per action; of endless rounds."""
    events, out = emitter.s.events, []
    circles = _circles(emitter)
    for memory in events.memories:
        name = _told(emitter, memory.variable)
        place = f" ({c_place(memory.span)})" if memory.span else ""
        around = circles.get(memory.variable, "it depends on itself without pre(...)")
        out.append(f"at an event {name}{place} does not converge: {around}")
        out.append(f"at an event {name}{place} is not a number")
    for action in events.actions:
        place = f" ({c_place(action.span)})" if action.span else ""
        told = f"{action.words}{place}"
        if action.kind == "reset":
            told = f"at an event {_told(emitter, action.variable)}{place} is reset twice, to different values"
        out.append(told)
    for memory in events.memories:
        place = f" ({c_place(memory.span)})" if memory.span else ""
        out.append(f"{ENDLESS}: {_told(emitter, memory.variable)}{place} changes in every round")
    whole = []
    for memory in events.memories:
        place = f" ({c_place(memory.span)})" if memory.span else ""
        name = _told(emitter, memory.variable)
        whole.append(f"at an event the Integer {name}{place} leaves -2^53 to 2^53, where whole numbers are exact")
    return [*out, ENDLESS, *(whole if _integers(emitter) else ())] if events else []


def _circles(emitter: Emitter) -> dict[int, str]:
    """Of memories that depend on each other's new values, and on their own so: which these are."""
    memories, g, relations = emitter.s.events.memories, emitter.g, emitter.s.relations
    if len(memories) > MOST_NAMED:
        return {}
    known = {one.variable for one in memories}
    reads: dict[int, set[int]] = {}
    for memory in memories:
        under, open_now = set(reachable(g, [memory.expression])), [memory.expression]
        while open_now:  # what relations compare belongs to it
            inside = {g.nodes[i][1] for e in open_now for i in reachable(g, [e]) if g.nodes[i][0] == Op.REL}
            sides = [e for k in inside for e in (relations[k].lhs, relations[k].rhs)]
            open_now = [e for e in sides if e not in under]
            under.update(reachable(g, open_now))
        reads[memory.variable] = {g.nodes[i][1] for i in under if g.nodes[i][0] == Op.VAR} & known
    among = in_loops(reads)
    reads = {v: own & among for v, own in reads.items() if v in among}
    found: dict[int, str] = {}
    for v in among:
        circle = circle_of(v, reads)
        names = [_told(emitter, w) for w in circle[:6]] + (["..."] if len(circle) > 6 else [])
        if len(circle) > 1:
            found[v] = f"{', '.join(names)} depend on each other's new values, without pre(...)"
    return found


def _integers(emitter: Emitter) -> list[bool]:
    """Which memories are Integers; none where there are none."""
    found = [emitter.variables[one.variable].type == "integer" for one in emitter.s.events.memories]
    return found if any(found) else []


def _told(emitter: Emitter, v: int) -> str:
    variable = emitter.variables[v]
    return "the condition of a when-clause" if variable.is_condition else variable.name.removeprefix("$")


def events_text(emitter: Emitter, first_message: int) -> str:
    """Data and numbers of pliant_events.h, then the header."""
    events = emitter.s.events
    lines = relation_data(emitter, first_message - 1)
    words: dict[str, object] = {"HAS_EVENTS": int(bool(events))}
    if events:
        variables, _ = read_by_f(emitter)
        in_f = [bool({one.variable, one.before} & variables) for one in events.memories]
        conditions = [emitter.variables[one.variable].is_condition for one in events.memories]
        lines.append(flag_array("memory_in_f", in_f, "f reads it"))
        lines.append(flag_array("memory_condition", conditions, "the condition of a when-clause"))
        integers = _integers(emitter)
        if integers:
            lines.append(flag_array("memory_integer", integers, "an Integer"))
        words["HAS_INTEGERS"] = int(bool(integers))
        for name in ("first", "numerator", "denominator"):
            numbers = ", ".join(number(float(getattr(one, name))) for one in events.clocks)
            lines.append(f"static const pl_real clock_{name}[] = {{{numbers or '1.0'}}};")
        kinds = ", ".join(str(("reset", "stop", "fail", "call", "warn").index(one.kind)) for one in events.actions)
        places = [reset_place(emitter.program, one)[0] if one.kind == "reset" else -1 for one in events.actions]
        lines.append(f"static const int8_t action_kind[] = {{{kinds or '0'}}}; /* reset, stop, fail, call, warn */")
        lines.append(f"static const int action_place[] = {{{', '.join(map(str, places)) or '0'}}};")
        words |= {"N_KEPT": len(events.kept), "N_CLOCKS": len(events.clocks), "N_ACTIONS": len(events.actions)}
        words["HAS_CALLS"] = int(any(one.kind == "call" for one in events.actions))
        words["HAS_ACTION_WARNINGS"] = int(any(one.kind == "warn" for one in events.actions))
        words["ACTION_MESSAGES"] = int("action" in emitter.messages.groups)
        words |= {"MEMORY_ERROR": first_message, "INITIAL_IN_F": int(events.initial in variables)}
        words["TERMINAL_IN_F"] = int(events.terminal in variables)
    words["N_MEMORIES"] = len(events.memories)
    return "\n".join([*lines, defined(words), '#include "pliant_events.h"\n'])
