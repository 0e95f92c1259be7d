"""How the relations of a model come to rest at an instant, as C.

    instant    a point (t, x, u) at which relations are settled: what fired, what was seen, room for the search
    look       a combination of relations: discrete variables and unknowns outside the model follow, both sides anew
    shake      what rounding may do to the sides
    settle     the search of pliant_modes.h; what it accepts within rounding widens the band of its root function

The same text serves models with and without discrete variables, loops inside f or among the unknowns.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pliant.codegen.arrays import EXTENT, RELATION, SLACK, of_instance
from pliant.codegen.places import Field, Kind, number
from pliant.codegen.plan import inner_nodes, nodes_of
from pliant.codegen.program import Newton
from pliant.codegen.shells import c_place, c_string, wrapped
from pliant.expr.build import reachable
from pliant.expr.text import text as modelica
from pliant.ir import FLOOR_ROOM, FLOOR_ROUNDING, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

RESTLESS = "the relations of the model do not come to rest: they switch each other back and forth"


def relation_text(emitter: Emitter, k: int) -> str:
    """A relation as the model says it, shortened."""
    r = emitter.s.relations[k]

    def name(v: int) -> str:
        return re.sub(r"\$(floor|when) \d+", r"\1(...)", emitter.variables[v].name)

    left, right = (modelica(emitter.g, side, name, 60, emitter.s.relations) for side in (r.lhs, r.rhs))
    return f"{left} {'<' if r.strict else '<='} {right}"


def mode_fields(emitter: Emitter) -> list[Field]:
    """Fields of the instance."""
    n = len(emitter.s.relations)
    return [
        Field(RELATION, max(n, 1) if emitter.s.events else n, "relations, held between events"),
        Field(of_instance("stood"), n, "left minus right side when they came to rest"),
        Field(EXTENT, n, "largest size of the sides when they came to rest"),
        Field(SLACK, n, "what rounding had to be granted then"),
        Field(of_instance("shaken"), max(len(emitter.program.x), 1) if n else 0, "states changed in their last digits"),
        Field(of_instance("said", Kind.TEXT), 800 if n else 0, "which relations do not come to rest"),
    ]


def read_by_f(emitter: Emitter) -> tuple[set[int], set[int]]:
    """Variables and relations that f or the sides of relations read."""
    g = emitter.g
    roots = list(emitter.program.f)
    for statement in emitter.program.statements:
        roots += inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)
    roots += [e for r in emitter.s.relations for e in (r.lhs, r.rhs)]
    nodes = [g.nodes[i] for i in reachable(g, roots)]
    return {n[1] for n in nodes if n[0] == Op.VAR}, {n[1] for n in nodes if n[0] == Op.REL}


def mode_words(emitter: Emitter, restless: int) -> dict[str, object]:
    """What the texts below are filled with."""
    relations, n, memory = emitter.s.relations, len(emitter.s.relations), bool(emitter.s.events)
    _, in_f = read_by_f(emitter)
    places = [f" ({c_place(r.span)})" if r.span else "" for r in relations]
    return {
        "@n_relation": n,
        "@size_relation": max(n, 1),
        "@n_states": emitter.program.n_states,
        "@copy_x": "memcpy(m->shaken, i->x, sizeof m->shaken);" if emitter.program.x else "m->shaken[0] = 0.0;",
        "@relation_in_f": wrapped(["1" if k in in_f else "0" for k in range(n)] or ["0"], 30),
        "@relation_text": wrapped([c_string(relation_text(emitter, k) + places[k]) for k in range(n)], 4),
        "@restless_text": c_string(RESTLESS + ": "),
        "@restless": restless,
        "@floor_room": number(FLOOR_ROOM),
        "@floor_share": number(FLOOR_ROUNDING),
        "@relation_floor": wrapped([str(r.floor) for r in relations] or ["0"], 30),
        # initial() holds while the equations of the start are solved
        "@initially": "    const pl_real now = i->m->initial;\n    if (i->m->quiet) i->m->initial = 1.0;\n"
        if memory
        else "",
        "@afterwards": "    i->m->initial = now;\n" if memory else "",
    }


INSTANT = """typedef struct instant {
    model *m;
    pl_real t;
    pl_real *x;
    const pl_real *u;
    const int8_t *fired;
    pl_event_info *info; /* NULL: nothing outside the model follows */
    int first;           /* nothing was looked at yet */
    int held;            /* discrete variables hold */
    int moved;           /* unknowns have to follow, whatever relations and memories do */
    before_event last;   /* what they followed last */
    pl_modes modes;
    pl_real g0[@size_relation], g[@size_relation], extent[@size_relation], band[@size_relation];
    pl_real noise[@size_relation], size[@size_relation];
    int8_t wanted[@size_relation], decided[@size_relation], begin[@size_relation], seen[@size_relation];
    int8_t side[@size_relation]; /* that was decided, by what fired or by an event at the same time */
    int8_t went[@size_relation]; /* 1: was true at this instant */
    int turns[@size_relation], list[@size_relation], place[@size_relation];
} instant;
"""

# before the memories: what they follow
RELATIONS_KEPT = """static const int8_t relation_in_f[] = {@relation_in_f};
static const int8_t relation_floor[] = {@relation_floor}; /* 1: pre(F) + 1 <= x; -1: the next one, x < pre(F) */
static const char *const relation_text[] = {@relation_text};

/* Once pre(F) is F, neither relation of a floor holds: as they were they would move it once more. */
static PL_UNUSED void floors_follow(model *m) {
    for (int k = 0; k < @n_relation; k++)
        if (relation_floor[k]) m->relation[k] = 0;
}

static int relation_changed(const model *m, const before_event *old) {
    for (int k = 0; k < @n_relation; k++)
        if (relation_in_f[k] && m->relation[k] != old->relation[k]) return 1;
    return 0;
}
"""

FOLLOW = """static pl_status call_follow(instant *i, pl_real *x) {
@initially    pl_status status = i->info->follow(i->info->host, i->t, x);
@afterwards    return status;
}

/* Unknowns outside the model follow what changed since they did so last. */
static pl_status follow(instant *i) {
    if (!i->info || !i->info->follow) return PL_OK;
    if (!i->moved && !relation_changed(i->m, &i->last) && !memory_changed(i->m, &i->last)) return PL_OK;
    remember(i->m, &i->last);
    pl_status status = call_follow(i, i->x);
    i->moved = status != PL_OK;
    return status;
}
"""

MODES = """/* Where relations stand as the event begins, and on which side each one is decided to be: by what fired, by
 * an event before this one at the same time, or as it stood. Those of time alone turn as the solver says. */
static void first_sides(instant *i, int again) {
    model *m = i->m;
    int now[@n_relation], moved = 0;
    memcpy(i->g0, again ? m->stood : i->g, sizeof i->g0);
    memcpy(now, m->relation, sizeof now);
    if (i->fired) turn_relations(m, i->t, i->g, i->fired, &moved);
    memcpy(m->relation, now, sizeof now); /* they turn with the others, and with what follows from them */
    for (int k = 0; k < @n_relation; k++)
        i->side[k] = (int8_t)(i->fired && i->fired[k] ? i->fired[k] < 0 : m->relation[k]);
}

/* A floor that has just gone one way does not go back by rounding: at this instant, by less than FLOOR_ROOM, or while
 * x has not left it since. */
static int floor_stays(const instant *i, int k) {
    const model *m = i->m;
    if (!relation_floor[k] || m->relation[k]) return 0;
    const pl_real room = i->went[k + relation_floor[k]] ? @floor_room + @floor_share * i->extent[k] : m->slack[k];
    return room > 0.0 && fabs(i->g[k]) <= room;
}

/* Sides of all relations, and which way each one should stand. One that fired, or that the event stands on,
 * keeps its side while its own sides do not change: rounding must not turn it back. g0: the sides when the event
 * began. */
static pl_status look(void *self) {
    instant *i = self;
    model *m = i->m;
    const int first = i->first, again = i->info && i->info->again, crossed = i->info && i->info->crossed;
    if (!first) another_branch(m, i->t);
    const int unsolved = i->info && i->info->unsolved;
    i->moved |= first && unsolved;
    pl_status status = first && !unsolved ? PL_OK : memories_follow(i);
    if (status == PL_OK) status = relations(m, i->t, i->x, i->u, i->g, i->extent);
    if (status != PL_OK) return status;
    if (first) first_sides(i, again);
    i->first = 0;
    for (int k = 0; k < @n_relation; k++) {
        const pl_real g = i->g[k], away = fabs(g - i->g0[k]);
        const pl_real band = i->band[k] = PL_MODES_SAME * i->extent[k] + PL_MODES_SAME_REST * m->extent[k];
        const int8_t fired = (int8_t)(i->fired ? i->fired[k] : 0);
        int now = relation_strict[k] ? g < 0.0 : g <= 0.0;
        int decided = again || fired || (i->fired && fabs(i->g0[k]) <= band);
        /* an event of others brought both sides together exactly: no rounding that could be meant */
        if (!fired && !again && g == 0.0 && i->g0[k] != 0.0) decided = 0;
        if (is_timed(k)) decided = (first && fired) || just_turned(m, k, i->t, g);
        if (decided && (away <= band || (fired && (first || crossed)))) now = i->side[k];
        if (now && !fired && floor_stays(i, k)) now = 0;
        i->decided[k] = (int8_t)(decided && now == i->side[k] ? 2 : decided);
        i->wanted[k] = (int8_t)now;
    }
    return PL_OK;
}

static pl_status shake(void *self) {
    instant *i = self;
    model *m = i->m;
    pl_real g[@n_relation];
    memset(i->noise, 0, sizeof i->noise);
    for (int sample = 0; sample < PL_MODES_SHAKES; sample++) {
        const pl_real t = i->t + PL_MODES_SHAKE * fabs(i->t) * sample;
        pl_status status = PL_OK;
        @copy_x
        for (int k = 0; k < @n_states; k++) m->shaken[k] *= pl_modes_factor(k, sample);
        if (i->info && i->info->follow) status = call_follow(i, m->shaken);
        if (status == PL_OK) status = relations(m, t, m->shaken, i->u, g, NULL);
        if (status != PL_OK) return status;
        for (int k = 0; k < @n_relation; k++) i->noise[k] = pl_max(i->noise[k], fabs(g[k] - i->g[k]));
    }
    for (int k = 0; k < @n_relation; k++)
        i->noise[k] = PL_MODES_SAFETY * i->noise[k] + i->band[k] +
                      PL_MODES_SHARE * pl_max(i->size[k], fabs(m->stood[k]));
    return PL_OK;
}

/* Those that turned more than once, or if none did those that were contradicted. */
static void restless(model *m, const int *turns, const int8_t *seen) {
    int twice = 0;
    for (int k = 0; k < @n_relation; k++) twice |= turns[k] > 1;
    size_t used = (size_t)snprintf(m->said, sizeof m->said, "%s", @restless_text);
    int named = 0;
    for (int k = 0; k < @n_relation && named <= 4; k++) {
        if (twice ? turns[k] < 2 : !seen[k]) continue;
        const char *one = named == 4 ? "..." : relation_text[k];
        if (used < sizeof m->said)
            used += (size_t)snprintf(m->said + used, sizeof m->said - used, "%s%s", named ? ", " : "", one);
        named++;
    }
    m->error = @restless;
}

static void begin_instant(instant *i, model *m, pl_real t, const pl_real *x, const pl_real *u) {
    memset(i, 0, sizeof *i);
    i->m = m;
    i->t = t;
    i->x = (pl_real *)x; /* changed only by an event's `follow` and by what it sets anew */
    i->u = u;
    i->first = 1;
    remember(m, &i->last);
    i->modes = (pl_modes){
        .n = @n_relation, .relation = m->relation, .turns = i->turns, .list = i->list, .place = i->place,
        .g = i->g, .from = i->g0, .noise = i->noise, .size = i->size, .wanted = i->wanted, .decided = i->decided,
        .first = i->begin, .seen = i->seen, .self = i, .look = look, .shake = shake
    };
}

static pl_status settle_relations(instant *i) {
    model *m = i->m;
    const int error = m->error;
    pl_status status = pl_modes_settle(&i->modes);
    if (status == PL_CHATTER) {
        restless(m, i->turns, i->seen);
        return PL_RETRY;
    }
    if (status != PL_OK) return status;
    m->error = error;
    for (int k = 0; k < @n_relation; k++) { /* the root function must stand on the side of its relation */
        const pl_real beyond = m->relation[k] ? i->g[k] : -i->g[k];
        const int floored = beyond == 0.0 && relation_floor[k] > 0 && !m->relation[k];
        m->slack[k] = beyond > 0.0 ? pl_max(2.0 * beyond, i->modes.shaken ? i->noise[k] : 0.0) : 0.0;
        if (floored) m->slack[k] = i->band[k];
        i->went[k] |= (int8_t)m->relation[k];
        m->stood[k] = i->g[k];
        m->extent[k] = pl_max(m->extent[k], i->extent[k]);
    }
    return PL_OK;
}
"""

# models without relations
NO_MODES = """static void forget_turns(model *m) {
    (void)m;
}

static void relations_begin(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    (void)m, (void)t, (void)x, (void)u;
}

static void begin_instant(instant *i, model *m, pl_real t, const pl_real *x, const pl_real *u) {
    memset(i, 0, sizeof *i);
    i->m = m;
    i->t = t;
    i->x = (pl_real *)x;
    i->u = u;
    i->first = 1;
    remember(m, &i->last);
}

static pl_status settle_relations(instant *i) {
    pl_status status = i->first ? PL_OK : memories_follow(i);
    i->first = 0;
    return status;
}
"""

NO_RELATIONS_KEPT = """static void floors_follow(model *m) {
    (void)m;
}

static int relation_changed(const model *m, const before_event *old) {
    (void)m, (void)old;
    return 0;
}
"""

# models without discrete variables
ALONE = """typedef struct before_event {
    int relation[@size_relation];
} before_event;

static void remember(const model *m, before_event *old) {
    memcpy(old->relation, m->relation, sizeof old->relation);
}

static int memory_changed(const model *m, const before_event *old) {
    (void)m, (void)old;
    return 0;
}
"""

ALONE_RULES = """static pl_status memories_follow(instant *i) {
    return follow(i);
}

"""

ALONE_EVENTS = """static pl_status settle_event(model *m, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                              pl_event_info *info) {
    before_event old;
    instant i;
    remember(m, &old);
    begin_instant(&i, m, t, x, u);
    i.fired = fired;
    i.info = info;
    pl_status status = settle_relations(&i);
    info->f_changed |= memcmp(old.relation, m->relation, sizeof old.relation) != 0;
    return status;
}

static pl_status model_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                             pl_event_info *info) {
    guess_here(self, t, x, u);
    return settle_event(self, t, x, u, fired, info);
}

static pl_status model_initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    forget_turns(self);
    return settle_event(self, t, x, u, NULL, info);
}
"""


def modes_alone() -> str:
    """Events of a model without discrete variables."""
    return "\n".join((ALONE, RELATIONS_KEPT, INSTANT, FOLLOW, ALONE_RULES, MODES, ALONE_EVENTS))
