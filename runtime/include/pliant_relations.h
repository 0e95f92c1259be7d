/* Relations of a generated model: root functions, and how they come to rest at an instant.
 *
 *     instant    a point (t, x, u) at which relations are settled: what fired, what was seen, room for the search
 *     look       a combination of relations: discrete variables and unknowns outside the model follow, both sides anew
 *     shake      what rounding may do to the sides
 *     settle     the search of pliant_modes.h; what it accepts within rounding widens the band of its root function
 *
 * A part of pliant_events.h; the same text serves models with and without discrete variables, loops inside f or among the
 * unknowns.
 */
#ifndef PLIANT_RELATIONS_H
#define PLIANT_RELATIONS_H

#include "pliant_modes.h"

#if PL_N_RELATIONS
/* Both sides of each relation: their difference, and their size. */
static pl_status relations(model *m, pl_real t, const pl_real *x, const pl_real *u, pl_real *g,
                           pl_real *size) {
    pl_real side[2 * PL_N_RELATIONS];
    pl_status status = relation_sides(m, t, x, u, side);
    for (int k = 0; k < PL_N_RELATIONS; k++) {
        const pl_real a = side[k], b = side[PL_N_RELATIONS + k];
        g[k] = a - b;
        /* the largest number stands for infinity in libraries: no overflow for its sake */
        if (fabs(g[k]) > 1e300 && fabs(a) < HUGE_VAL && fabs(b) < HUGE_VAL) g[k] = a < b ? -1e300 : 1e300;
        if (size) size[k] = fmin(fabs(a) + fabs(b), 1e300);
    }
    return status;
}

/* Relations as their sides are now. */
static PL_UNUSED void take_sides(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    pl_real g[PL_N_RELATIONS];
    if (relations(m, t, x, u, g, NULL) != PL_OK) return;
    for (int k = 0; k < PL_N_RELATIONS; k++) m->relation[k] = relation_strict[k] ? g[k] < 0.0 : g[k] <= 0.0;
}

/* ... where no loop of the model can be solved as they are: with its unknowns at their guesses. */
static void take_guessed_sides(model *m, pl_real t, const pl_real *x, const pl_real *u) {
#if PL_HAS_NEWTON
    const int left = m->rescues;
    if (!left) return;
    m->rescues = PL_RESCUE_GUESS;
    for (int k = 0; k < 2; k++) take_sides(m, t, x, u); /* sides may depend on others */
    m->rescues = left;
#else
    (void)m, (void)t, (void)x, (void)u;
#endif
}

/* A relation turns when its sides have passed each other by their rounding, so that the root function is never zero
 * where the relation was set: a relation that starts on its switching line is seen leaving it. Sides that were of some
 * size at an event before are known no better than the rounding of that. A function that arrives at zero may stay
 * there: where zero is on the other side, that is a turn. */
static pl_status model_roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    model *m = self;
    pl_real size[PL_N_RELATIONS];
    pl_status status = relations(m, t, x, u, g, size);
    for (int k = 0; k < PL_N_RELATIONS; k++) {
        const pl_real side = m->relation[k] ? -1.0 : 1.0;
        const pl_real band = PL_ROOT_BAND * fmax(size[k], m->extent[k]) + DBL_MIN;
        const int rests = g[k] == 0.0 && m->relation[k] == relation_strict[k] && m->stood[k] != 0.0;
        if (relation_unwatched[k])
            g[k] = side;
        else if (!rests || m->slack[k] > 0.0)
            g[k] += side * (band + m->slack[k]);
    }
    return status;
}

#if PL_HAS_TIMED
static int is_timed(int k) {
    return relation_timed[k];
}

/* Relations of time that turn at t. The solver steps onto the turn, where their sides differ by rounding only: as long
 * as nothing else moves the sides, the new value holds, whatever the rounding says. */
static void turn_relations(model *m, pl_real t, const pl_real *g, const int8_t *fired, int *moved) {
    if (t != m->turned_at) memset(m->turned, 0, sizeof m->turned);
    m->turned_at = t;
    for (int k = 0; k < PL_N_RELATIONS; k++) {
        if (!relation_timed[k] || !fired[k]) continue;
        int now = fired[k] < 0;
        *moved |= now != m->relation[k];
        m->relation[k] = now;
        m->turned[k] = 1;
        m->turned_g[k] = g[k];
    }
}

static int just_turned(const model *m, int k, pl_real t, pl_real g) {
    return m->turned[k] && t == m->turned_at && g == m->turned_g[k];
}

static void forget_turns(model *m) {
    memset(m->turned, 0, sizeof m->turned);
}
#else
static int is_timed(int k) {
    (void)k;
    return 0;
}

static void turn_relations(model *m, pl_real t, const pl_real *g, const int8_t *fired, int *moved) {
    (void)m, (void)t, (void)g, (void)fired, (void)moved;
}

static int just_turned(const model *m, int k, pl_real t, pl_real g) {
    (void)m, (void)k, (void)t, (void)g;
    return 0;
}

static void forget_turns(model *m) {
    (void)m;
}
#endif

/* A delayed jump that has just arrived moved its sides. */
static int has_jumped(const model *m, int k) {
#if PL_HAS_DELAYS
    return m->jumped[k];
#else
    (void)m, (void)k;
    return 0;
#endif
}

/* Once pre(F) is F, neither relation of a floor holds: as they were they would move it once more. */
static PL_UNUSED void floors_follow(model *m) {
    for (int k = 0; k < PL_N_RELATIONS; k++)
        if (relation_floor[k]) m->relation[k] = 0;
}

static int relation_changed(const model *m, const before_event *old) {
    for (int k = 0; k < PL_N_RELATIONS; k++)
        if (relation_in_f[k] && m->relation[k] != old->relation[k]) return 1;
    return 0;
}
#else
static void floors_follow(model *m) {
    (void)m;
}

static int relation_changed(const model *m, const before_event *old) {
    (void)m, (void)old;
    return 0;
}
#endif

typedef struct instant {
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
    pl_real g0[PL_SIZE_RELATIONS], g[PL_SIZE_RELATIONS], extent[PL_SIZE_RELATIONS], band[PL_SIZE_RELATIONS];
    pl_real noise[PL_SIZE_RELATIONS], size[PL_SIZE_RELATIONS];
    int8_t wanted[PL_SIZE_RELATIONS], decided[PL_SIZE_RELATIONS], begin[PL_SIZE_RELATIONS],
        seen[PL_SIZE_RELATIONS];
    int8_t side[PL_SIZE_RELATIONS]; /* that was decided, by what fired or by an event at the same time */
    int8_t went[PL_SIZE_RELATIONS]; /* 1: was true at this instant */
    int turns[PL_SIZE_RELATIONS], list[PL_SIZE_RELATIONS], place[PL_SIZE_RELATIONS];
} instant;

static pl_status call_follow(instant *i, pl_real *x) {
#if PL_HAS_EVENTS
    const pl_real now = i->m->initial;
    if (i->m->quiet) i->m->initial = 1.0;
#endif
    pl_status status = i->info->follow(i->info->host, i->t, x);
#if PL_HAS_EVENTS
    i->m->initial = now;
#endif
    return status;
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

#if PL_N_RELATIONS
/* Where relations stand as the event begins, and on which side each one is decided to be: by what fired, by
 * an event before this one at the same time, or as it stood. Those of time alone turn as the solver says. */
static void first_sides(instant *i, int again) {
    model *m = i->m;
    int now[PL_N_RELATIONS], moved = 0;
    memcpy(i->g0, again ? m->stood : i->g, sizeof i->g0);
    memcpy(now, m->relation, sizeof now);
    if (i->fired) turn_relations(m, i->t, i->g, i->fired, &moved);
    memcpy(m->relation, now, sizeof now); /* they turn with the others, and with what follows from them */
    for (int k = 0; k < PL_N_RELATIONS; k++)
        i->side[k] = (int8_t)(i->fired && i->fired[k] ? i->fired[k] < 0 : m->relation[k]);
}

/* A floor that has just gone one way does not go back by rounding: at this instant, by less than FLOOR_ROOM, or while
 * x has not left it since. */
static int floor_stays(const instant *i, int k) {
    const model *m = i->m;
    if (!relation_floor[k] || m->relation[k]) return 0;
    const pl_real room =
        i->went[k + relation_floor[k]] ? PL_FLOOR_ROOM + PL_FLOOR_ROUNDING * i->extent[k] : m->slack[k];
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
#if PL_HAS_NEWTON
    if (status != PL_OK && first) { /* a loop may be singular here, and behind it there is another branch */
        another_branch(m, i->t);
        status = relations(m, i->t, i->x, i->u, i->g, i->extent);
    }
#endif
    if (status != PL_OK) return status;
    if (first) first_sides(i, again);
    i->first = 0;
    for (int k = 0; k < PL_N_RELATIONS; k++) {
        const pl_real g = i->g[k], away = fabs(g - i->g0[k]);
        const pl_real band = i->band[k] = PL_MODES_SAME * i->extent[k] + PL_MODES_SAME_REST * m->extent[k];
        const int8_t fired = (int8_t)(i->fired ? i->fired[k] : 0);
        int now = relation_strict[k] ? g < 0.0 : g <= 0.0;
        int decided = again || fired || (i->fired && fabs(i->g0[k]) <= band);
        /* an event of others brought both sides together exactly: no rounding that could be meant */
        if (!fired && !again && g == 0.0 && i->g0[k] != 0.0) decided = 0;
        if (!fired && has_jumped(m, k)) decided = 0;
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
    pl_real g[PL_N_RELATIONS];
    memset(i->noise, 0, sizeof i->noise);
    for (int sample = 0; sample < PL_MODES_SHAKES; sample++) {
        const pl_real t = i->t + PL_MODES_SHAKE * fabs(i->t) * sample;
        pl_status status = PL_OK;
        if (PL_N_X > 0) memcpy(m->shaken, i->x, sizeof m->shaken);
        for (int k = 0; k < PL_N_STATES; k++) m->shaken[k] *= pl_modes_factor(k, sample);
        if (i->info && i->info->follow) status = call_follow(i, m->shaken);
        if (status == PL_OK) status = relations(m, t, m->shaken, i->u, g, NULL);
        if (status != PL_OK) return status;
        for (int k = 0; k < PL_N_RELATIONS; k++) i->noise[k] = pl_max(i->noise[k], fabs(g[k] - i->g[k]));
    }
    for (int k = 0; k < PL_N_RELATIONS; k++)
        i->noise[k] = PL_MODES_SAFETY * i->noise[k] + i->band[k] +
                      PL_MODES_SHARE * pl_max(i->size[k], fabs(m->stood[k]));
    return PL_OK;
}

/* Those that turned more than once, or if none did those that were contradicted. */
static void restless(model *m, const int *turns, const int8_t *seen) {
    int twice = 0;
    for (int k = 0; k < PL_N_RELATIONS; k++) twice |= turns[k] > 1;
    size_t used = (size_t)snprintf(m->said, sizeof m->said, "%s", PL_RESTLESS_TEXT);
    int named = 0;
    for (int k = 0; k < PL_N_RELATIONS && named <= 4; k++) {
        if (twice ? turns[k] < 2 : !seen[k]) continue;
        const char *one = named == 4 ? "..." : relation_text[k];
        if (used < sizeof m->said)
            used += (size_t)snprintf(m->said + used, sizeof m->said - used, "%s%s", named ? ", " : "", one);
        named++;
    }
    m->error = PL_RESTLESS;
}

static void begin_instant(instant *i, model *m, pl_real t, const pl_real *x, const pl_real *u) {
    memset(i, 0, sizeof *i);
    i->m = m;
    i->t = t;
    i->x = (pl_real *)x; /* changed only by an event's `follow` and by what it sets anew */
    i->u = u;
    i->first = 1;
    remember(m, &i->last);
    i->modes = (pl_modes){.n = PL_N_RELATIONS,
                          .relation = m->relation,
                          .turns = i->turns,
                          .list = i->list,
                          .place = i->place,
                          .g = i->g,
                          .from = i->g0,
                          .noise = i->noise,
                          .size = i->size,
                          .wanted = i->wanted,
                          .decided = i->decided,
                          .first = i->begin,
                          .seen = i->seen,
                          .self = i,
                          .look = look,
                          .shake = shake};
}

/* The search of pliant_modes.h; once more where a loop of the model has no solution near the last one. */
static pl_status search_modes(instant *i) {
    pl_status status = pl_modes_settle(&i->modes);
#if PL_HAS_NEWTON
    model *m = i->m;
    if (status == PL_OK || status == PL_CHATTER || m->rescues) return status;
    m->rescues = PL_RESCUE_EVENT;
    m->running = 1;
    another_branch(m, i->t);
    status = pl_modes_settle(&i->modes);
    m->rescues = m->running = 0;
#endif
    return status;
}

static pl_status settle_relations(instant *i) {
    model *m = i->m;
    const int error = m->error;
    pl_status status = search_modes(i);
    if (status == PL_CHATTER) {
        restless(m, i->turns, i->seen);
        return PL_RETRY;
    }
    if (status != PL_OK) return status;
    m->error = error;
    for (int k = 0; k < PL_N_RELATIONS; k++) { /* the root function must stand on the side of its relation */
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
#else
static void forget_turns(model *m) {
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
#endif

#endif
