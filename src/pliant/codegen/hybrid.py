"""Events of models with discrete memory as C: when-clauses, clocks, reinit.

    m->d     memories                  m->b     their values before the event, pre(v)
    m->kept  pre(x) of continuous x    m->tick  which clocks tick in this round

One event is a number of rounds. In a round pre(v) holds; relations and memories are evaluated until they are at rest,
then states are set anew where the model says so. A round that changed a memory or a state is followed by another one
with pre(v) = v. Ticks and initial() hold in the first round only. (Modelica language specification 3.6, appendix B.)

A relation of time and what only events change (`time >= pre(next)`) turns where the solver, which looks ahead for it
(ahead.py), says so, and takes the side that holds from there on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.codegen.arrays import BEFORE, INITIAL, KEPT, MEMORY, TICK, VALUE, of_instance
from pliant.codegen.modes import (
    FOLLOW,
    INSTANT,
    MODES,
    NO_MODES,
    NO_RELATIONS_KEPT,
    RELATIONS_KEPT,
    mode_fields,
    mode_words,
    read_by_f,
)
from pliant.codegen.places import Argument, Field, Number, Source, number
from pliant.codegen.places import Kind as Type
from pliant.codegen.plan import Target
from pliant.codegen.program import reset_place
from pliant.codegen.shells import c_place, filled, wrapped
from pliant.ir import Kind

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

ENDLESS = "an event sets off others without end"


def hybrid_places(emitter: Emitter) -> dict[int, Source]:
    """Where generated code finds what events set; what nobody sets reads as 0."""
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
        Field(of_instance("chosen"), n, "values before the first event that were given"),
        Field(of_instance("given", Type.FLAG), n, "1: such a value was given"),
        Field(of_instance("quiet", Type.INTEGER), None, "1: start values are searched, nothing acts yet"),
        Field(of_instance("starting", Type.INTEGER), None, "1: the event at the start"),
        Field(of_instance("ended", Type.INTEGER), None, "number of the message that ended the run"),
        Field(of_instance("changed", Type.INTEGER), None, "the first memory that the last round changed"),
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
    emitter.function("action_values", emitter.plan([actions]), [Argument("value")])


def messages(emitter: Emitter) -> list[str]:
    """Texts of what can go wrong at events: two per memory, one per action; of endless rounds."""
    events, out = emitter.s.events, []
    for memory in events.memories:
        name = _told(emitter, memory.variable)
        place = f" ({c_place(memory.span)})" if memory.span else ""
        out.append(f"at an event {name}{place} does not come to rest: it depends on itself, without pre(...)")
        out.append(f"at an event {name}{place} is not a number")
    for action in events.actions:
        place = f" ({c_place(action.span)})" if action.span else ""
        word = "terminated" if action.kind == "stop" else "assertion failed"
        out.append(f"{word}: {action.message}{place}" if action.kind != "reset" else "")
    for memory in events.memories:
        place = f" ({c_place(memory.span)})" if memory.span else ""
        out.append(f"{ENDLESS}: {_told(emitter, memory.variable)}{place} changes in every round")
    return [*out, ENDLESS] if events else []


def _told(emitter: Emitter, v: int) -> str:
    name = emitter.variables[v].name
    return "the condition of a when-clause" if name.startswith("$when") else name.removeprefix("$")


def hybrid_text(emitter: Emitter, first_message: int) -> str:
    """The fixed text, filled in."""
    s, events = emitter.s, emitter.s.events
    n, n_relations, n_actions = len(events.memories), len(s.relations), len(events.actions)
    variables, _ = read_by_f(emitter)
    words = mode_words(emitter, first_message - 1) | {
        "@n_memory": n,
        "@n_kept": len(events.kept),
        "@n_clock": len(events.clocks),
        "@n_action": n_actions,
        "@rounds": 2 * n + 100,
        "@passes": 2 * (n + n_relations) + 10,
        "@memory_error": first_message,
        "@action_error": first_message + 2 * n,
        "@endless": first_message + 2 * n + n_actions,
        "@memory_in_f": wrapped(
            ["1" if {one.variable, one.before} & variables else "0" for one in events.memories] or ["0"], 30
        ),
        "@memory_condition": wrapped(
            ["1" if emitter.variables[one.variable].name.startswith("$when") else "0" for one in events.memories]
            or ["0"],
            30,
        ),
        "@clock_first": ", ".join(number(one.first) for one in events.clocks) or "1.0",
        "@clock_numerator": ", ".join(number(float(one.numerator)) for one in events.clocks) or "1.0",
        "@clock_denominator": ", ".join(number(float(one.denominator)) for one in events.clocks) or "1.0",
        "@action_kind": ", ".join(str(("reset", "stop", "fail").index(one.kind)) for one in events.actions) or "0",
        "@action_place": ", ".join(
            str(reset_place(emitter.program, one)[0] if one.kind == "reset" else -1) for one in events.actions
        )
        or "0",
        "@initial_in_f": int(events.initial in variables),
        "@size_memory": max(n, 1),
        "@size_action": max(n_actions, 1),
    }
    kept, rest = (RELATIONS_KEPT, MODES + BEGIN) if n_relations else (NO_RELATIONS_KEPT, NO_MODES)
    parts = (HEAD, CLOCKS, kept, INSTANT, MEMORIES, FOLLOW, MEMORIES_FOLLOW, rest, ACTIONS, EVENT)
    return filled("\n".join(parts), words)


CLOCKS = """static const pl_real clock_first[] = {@clock_first};
static const pl_real clock_numerator[] = {@clock_numerator};
static const pl_real clock_denominator[] = {@clock_denominator};

static pl_real clock_time(const model *m, int k) {
    return clock_first[k] + m->ticks[k] * clock_numerator[k] / clock_denominator[k];
}

static pl_real next_tick(const model *m) {
    pl_real next = HUGE_VAL;
    for (int k = 0; k < @n_clock; k++) next = fmin(next, clock_time(m, k));
    return next;
}

/* How far times of clock k may differ and be the same, in intervals of it. */
static pl_real clock_room(int k, pl_real t) {
    const pl_real interval = clock_numerator[k] / clock_denominator[k];
    return 1e-9 + 8.0 * DBL_EPSILON * fmax(fabs(t), fabs(clock_first[k])) / interval;
}

/* Clocks whose time has come; those that differ by rounding only tick together. */
static void clocks_due(model *m, pl_real t) {
    for (int k = 0; k < @n_clock; k++) {
        const pl_real interval = clock_numerator[k] / clock_denominator[k];
        m->tick[k] = clock_time(m, k) <= t + fmin(clock_room(k, t), 0.25) * interval;
        m->ticks[k] += m->tick[k];
    }
}

static void clocks_done(model *m) {
    for (int k = 0; k < @n_clock; k++) m->tick[k] = 0.0;
}

static void clocks_begin(model *m, pl_real t) {
    for (int k = 0; k < @n_clock; k++) {
        const pl_real interval = clock_numerator[k] / clock_denominator[k];
        m->ticks[k] = fmax(0.0, ceil((t - clock_first[k]) / interval - fmin(clock_room(k, t), 0.25)));
        m->tick[k] = 0.0;
    }
}
"""

HEAD = """typedef struct before_event {
    pl_real d[@size_memory];
    int relation[@size_relation];
} before_event;

static void remember(const model *m, before_event *old) {
    memcpy(old->relation, m->relation, sizeof old->relation);
    memcpy(old->d, m->d, sizeof old->d);
}
"""

BEGIN = """/* As they stand with the first guesses, for the start values of discrete variables. Where they cannot be
 * evaluated, the search for a combination begins with none of them. */
static void relations_begin(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    pl_real g[@n_relation];
    if (relations(m, t, x, u, g, NULL) != PL_OK) return;
    for (int k = 0; k < @n_relation; k++) m->relation[k] = relation_strict[k] ? g[k] < 0.0 : g[k] <= 0.0;
}
"""

MEMORIES = """static const int8_t memory_in_f[] = {@memory_in_f};
static const int8_t memory_condition[] = {@memory_condition}; /* 1: the condition of a when-clause */

/* One pass over all memories. A when-clause acts at the start only in the round of initial(): what holds after it,
 * also by what was set anew there, has not risen. */
static pl_status memory_pass(model *m, pl_real t, const pl_real *x, const pl_real *u, int *moved) {
    pl_real v[@size_memory];
    pl_status status = memory_values(m, t, x, u, v);
    if (status != PL_OK) return status;
    for (int k = 0; k < @n_memory; k++) {
        if (v[k] == m->d[k]) continue;
        if (!(fabs(v[k]) <= HUGE_VAL)) {
            m->error = @memory_error + 2 * k + 1;
            return PL_FATAL;
        }
        m->d[k] = v[k];
        if (m->starting && m->initial == 0.0 && memory_condition[k]) m->b[k] = v[k];
        *moved = k + 1; /* which one, if this goes on and on */
    }
    return PL_OK;
}

static int memory_changed(const model *m, const before_event *old) {
    for (int k = 0; k < @n_memory; k++)
        if (memory_in_f[k] && m->d[k] != old->d[k]) return 1;
    return 0;
}

/* pre(v) = v; 0 if it is so already */
static int next_round(model *m) {
    int moved = memcmp(m->b, m->d, sizeof m->d) != 0;
    m->changed = moved ? 0 : @n_memory;
    while (m->changed < @n_memory && m->b[m->changed] == m->d[m->changed]) m->changed++;
    memcpy(m->b, m->d, sizeof m->d);
    if (moved) floors_follow(m);
    return moved;
}

static void initial_choose_memory(void *self, int k, pl_real value) {
    model *m = self;
    m->chosen[k] = value;
    m->given[k] = 1;
}

static const int8_t *initial_chosen(void *self, const pl_real **value) {
    const model *m = self;
    *value = m->chosen;
    return m->given;
}

static pl_status memory_begin(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    pl_real v[@size_memory];
    pl_status status = memory_starts(m, t, x, u, v);
    for (int k = 0; k < @n_memory; k++)
        if (m->given[k]) v[k] = m->chosen[k];
    memcpy(m->d, v, sizeof v);
    memcpy(m->b, v, sizeof v);
    return status;
}
"""

MEMORIES_FOLLOW = """/* Memories and unknowns outside the model, in turns; who calls sees to it if they do not rest. */
static pl_status memories_follow(instant *i) {
    pl_status status = PL_OK;
    for (int pass = 0; status == PL_OK && pass < @n_memory + 2; pass++) {
        int moved = 0;
        if (!i->held) status = memory_pass(i->m, i->t, i->x, i->u, &moved);
        if (status != PL_OK || (pass > 0 && !moved)) break;
        status = follow(i);
    }
    return status;
}
"""

ACTIONS = """static const int8_t action_kind[] = {@action_kind}; /* 0: a state anew, 1: stop, 2: fail */
static const int action_place[] = {@action_place};

static pl_status act(model *m, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info, int *moved) {
    pl_real v[2 * @size_action];
    if (m->quiet) return PL_OK;
    pl_status status = action_values(m, t, x, u, v);
    if (status != PL_OK) return status;
    for (int k = 0; k < @n_action; k++) {
        if (v[2 * k] == 0.0) continue;
        if (action_kind[k] == 0) {
            x[action_place[k]] = v[2 * k + 1];
            info->x_changed = *moved = 1;
            continue;
        }
        m->error = @action_error + k;
        if (action_kind[k] == 2) return PL_FATAL;
        m->ended = m->error;
        info->terminate = 1;
    }
    return PL_OK;
}
"""

EVENT = """static pl_status at_rest(instant *i) {
    int moved = 0;
    for (int pass = 0; pass < @passes; pass++) {
        moved = 0;
        pl_status status = settle_relations(i);
        if (status == PL_OK) status = memory_pass(i->m, i->t, i->x, i->u, &moved);
        if (status != PL_OK || !moved) return status;
    }
    i->m->error = @memory_error + 2 * (moved - 1);
    return PL_FATAL;
}

/* pre(x) of continuous variables for the next round: as this one leaves them. */
static pl_status keep(instant *i, int moved) {
    pl_status status = moved ? follow(i) : PL_OK;
    return status == PL_OK ? kept_values(i->m, i->t, i->x, i->u, i->m->kept) : status;
}

static pl_status rounds(model *m, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired, pl_event_info *info) {
    instant i;
    begin_instant(&i, m, t, x, u);
    i.fired = fired;
    i.info = info;
    pl_status status = kept_values(m, t, x, u, m->kept);
    for (int round = 0; status == PL_OK && round < @rounds; round++) {
        int moved = 0;
        status = at_rest(&i);
        if (status == PL_OK) status = act(m, t, x, u, info, &moved);
        i.moved |= moved;
        if (status == PL_OK && @n_kept > 0) status = keep(&i, moved);
        clocks_done(m);
        m->initial = 0.0;
        if (status == PL_OK && !next_round(m) && !moved) {
            m->error = m->ended;
            return PL_OK;
        }
    }
    if (status == PL_OK) m->error = @endless + m->changed;
    return status == PL_OK ? PL_FATAL : status;
}

static pl_status model_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                             pl_event_info *info) {
    model *m = self;
    before_event old;
    remember(m, &old);
    guess_here(m, t, x, u);
    clocks_due(m, t);
    pl_status status = rounds(m, t, x, u, fired, info);
    info->f_changed |= relation_changed(m, &old) || memory_changed(m, &old);
    info->terminate = m->ended != 0; /* also for a run that ended at its start */
    info->next_time = next_tick(m);
    return status;
}

/* Relations anew with discrete variables held, for those who make their own steps. */
static pl_status model_settle(void *self, pl_real t, const pl_real *x, const pl_real *u) {
    instant i;
    begin_instant(&i, self, t, x, u);
    i.held = 1;
    return settle_relations(&i);
}

static const pl_real *model_memory(void *self, int before) {
    return before ? ((model *)self)->b : ((model *)self)->d;
}

static void model_set_memory(void *self, int k, pl_real value) {
    model *m = self;
    m->d[k] = m->b[k] = value;
}

/* Discrete variables from their start values; what an event at the start itself does follows by `event`. */
static pl_status begin(model *m, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    before_event old;
    remember(m, &old);
    clocks_begin(m, t);
    m->initial = 1.0;
    m->ended = 0;
    forget_turns(m);
    if (!info->again) relations_begin(m, t, x, u);
    pl_status status = memory_begin(m, t, x, u);
    m->starting = 1;
    if (status == PL_OK) status = rounds(m, t, x, u, NULL, info);
    m->starting = 0;
    /* initial equations may read what f does not */
    info->f_changed |= memcmp(old.d, m->d, sizeof old.d) || memcmp(old.relation, m->relation, sizeof old.relation);
    info->f_changed |= @initial_in_f && !m->quiet;
    info->next_time = next_tick(m);
    if (m->ended) info->next_time = t;
    return status;
}

/* Called again and again while start values are searched: reinit, terminate and assertions wait. */
static pl_status model_initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    model *m = self;
    m->quiet = 1;
    pl_status status = begin(m, t, x, u, info);
    m->quiet = 0;
    return status;
}

/* initial() while the equations of the start are solved. */
static void initial_initially(void *self, int on) {
    ((model *)self)->initial = on;
}

/* The same once more, with the start values found. */
static pl_status initial_begin(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    return begin(self, t, x, u, info);
}
"""
