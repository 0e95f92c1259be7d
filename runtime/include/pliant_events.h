/* Events of a generated model: how relations, discrete variables and clocks come to rest at an instant.
 *
 *     m->d     memories                  m->b     their values before the event, pre(v)
 *     m->kept  pre(x) of continuous x    m->tick  which clocks tick in this round
 *
 * One event is a number of rounds. In a round pre(v) holds; relations and memories are evaluated until they are at rest,
 * then states are set anew where the model says so. A round that changed a memory or a state is followed by another one
 * with pre(v) = v. Ticks and initial() hold in the first round only. (Modelica language specification 3.6, appendix B.)
 *
 * A model includes it once, behind its instance `model`, its functions (relation_sides, memory_values, memory_starts,
 * kept_values, action_values, guess_here, another_branch), its data (relation_..., memory_..., clock_..., action_...) and
 * the numbers that say how many there are of each (PL_N_...).
 */
#ifndef PLIANT_EVENTS_H
#define PLIANT_EVENTS_H

#include "pliant_modes.h"

#define PL_SIZE_RELATIONS (PL_N_RELATIONS > 0 ? PL_N_RELATIONS : 1) /* C knows no empty arrays */
#define PL_SIZE_MEMORIES  (PL_N_MEMORIES > 0 ? PL_N_MEMORIES : 1)
#define PL_SIZE_ACTIONS   (PL_N_ACTIONS > 0 ? PL_N_ACTIONS : 1)
#define PL_ROUNDS         (2 * PL_N_MEMORIES + 100)
#define PL_PASSES         (2 * (PL_N_MEMORIES + PL_N_RELATIONS) + 10)
#define PL_ACTION_ERROR   (PL_MEMORY_ERROR + 2 * PL_N_MEMORIES) /* messages: two for each memory, ... */
#define PL_ENDLESS_ERROR  (PL_ACTION_ERROR + PL_N_ACTIONS) /* ... one for each action, then the others, */
#define PL_INTEGER_ERROR  (PL_ENDLESS_ERROR + PL_N_MEMORIES + 1) /* ... one for each memory again */

typedef struct before_event {
#if PL_HAS_EVENTS
    pl_real d[PL_SIZE_MEMORIES];
#endif
    int relation[PL_SIZE_RELATIONS];
} before_event;

static void remember(const model *m, before_event *old) {
    memcpy(old->relation, m->relation, sizeof old->relation);
#if PL_HAS_EVENTS
    memcpy(old->d, m->d, sizeof old->d);
#endif
}

/* what relations ask of discrete variables */
struct instant;
static int memory_changed(const model *m, const before_event *old);
static pl_status memories_follow(struct instant *i);

#include "pliant_relations.h"

#if PL_HAS_EVENTS
static pl_real clock_time(const model *m, int k) {
    return clock_first[k] + m->ticks[k] * clock_numerator[k] / clock_denominator[k];
}

static pl_real next_tick(const model *m) {
    pl_real next = HUGE_VAL;
    for (int k = 0; k < PL_N_CLOCKS; k++) next = fmin(next, clock_time(m, k));
    return next;
}

/* How far times of clock k may differ and be the same, in intervals of it, which may be as good as endless. */
static pl_real clock_room(int k, pl_real t) {
    const pl_real size = fmax(fabs(t), fabs(clock_first[k])) / (clock_numerator[k] / clock_denominator[k]);
    return 1e-9 * fmin(1.0, 10.0 * size) + 8.0 * DBL_EPSILON * size;
}

/* Clocks whose time has come; those that differ by rounding only tick together. */
static void clocks_due(model *m, pl_real t) {
    for (int k = 0; k < PL_N_CLOCKS; k++) {
        const pl_real interval = clock_numerator[k] / clock_denominator[k];
        m->tick[k] = clock_time(m, k) <= t + fmin(clock_room(k, t), 0.25) * interval;
        m->ticks[k] += m->tick[k];
    }
}

static void clocks_done(model *m) {
    for (int k = 0; k < PL_N_CLOCKS; k++) m->tick[k] = 0.0;
}

static void clocks_begin(model *m, pl_real t) {
    for (int k = 0; k < PL_N_CLOCKS; k++) {
        const pl_real interval = clock_numerator[k] / clock_denominator[k];
        m->ticks[k] = fmax(0.0, ceil((t - clock_first[k]) / interval - fmin(clock_room(k, t), 0.25)));
        m->tick[k] = 0.0;
    }
}

/* A discrete variable is not a number: the assertion that says why, if there is one. */
static void undefined_memory(model *m, pl_real t, const pl_real *x, const pl_real *u, int undefined) {
    pl_real v[2 * PL_SIZE_ACTIONS];
    const int known = !m->quiet && action_values(m, t, x, u, v) == PL_OK;
    m->error = PL_MEMORY_ERROR + 2 * undefined + 1;
    for (int k = 0; known && k < PL_N_ACTIONS; k++)
        if (action_kind[k] == 2 && fabs(v[2 * k]) > 0.0) {
            m->error = PL_ACTION_ERROR + k;
#if PL_ACTION_MESSAGES
            action_message(m, t, x, u, k);
#endif
            return;
        }
}

/* One pass over all memories. What holds by states that the start sets anew has not risen. What is not a number may read
 * a memory that this pass sets, too: it counts where nothing moves any more. */
static pl_status memory_pass(model *m, pl_real t, const pl_real *x, const pl_real *u, int *moved) {
    pl_real v[PL_SIZE_MEMORIES];
    int undefined = -1;
    pl_status status = memory_values(m, t, x, u, v);
    if (status != PL_OK) return status;
    for (int k = 0; k < PL_N_MEMORIES; k++) {
        if (v[k] == m->d[k]) continue;
        if (!(fabs(v[k]) <= HUGE_VAL)) {
            undefined = k;
            continue;
        }
        m->d[k] = v[k];
        if (m->starting == 2 && memory_condition[k]) m->b[k] = v[k];
        *moved = k + 1; /* which one, if this goes on and on */
    }
    if (undefined < 0 || *moved) return PL_OK;
    undefined_memory(m, t, x, u, undefined);
    return PL_FATAL;
}

/* Integers are kept in doubles: beyond 2^53 they would be wrong without a word. */
static pl_status memory_whole(model *m) {
#if PL_HAS_INTEGERS
    for (int k = 0; k < PL_N_MEMORIES; k++)
        if (memory_integer[k] && !(fabs(m->d[k]) < 9007199254740992.0)) {
            m->error = PL_INTEGER_ERROR + k;
            return PL_FATAL;
        }
#endif
    (void)m;
    return PL_OK;
}

static int memory_changed(const model *m, const before_event *old) {
    for (int k = 0; k < PL_N_MEMORIES; k++)
        if (memory_in_f[k] && m->d[k] != old->d[k]) return 1;
    return 0;
}

/* pre(v) = v; 0 if it is so already */
static int next_round(model *m) {
    int moved = memcmp(m->b, m->d, sizeof m->d) != 0;
    m->changed = moved ? 0 : PL_N_MEMORIES;
    while (m->changed < PL_N_MEMORIES && m->b[m->changed] == m->d[m->changed]) m->changed++;
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
    pl_real v[PL_SIZE_MEMORIES];
    pl_status status = memory_starts(m, t, x, u, v);
    for (int k = 0; k < PL_N_MEMORIES; k++)
        if (m->given[k]) v[k] = m->chosen[k];
    memcpy(m->d, v, sizeof v);
    memcpy(m->b, v, sizeof v);
    return status;
}

/* Memories and unknowns outside the model, in turns; who calls sees to it if they do not rest. */
static pl_status memories_follow(instant *i) {
    pl_status status = PL_OK;
    for (int pass = 0; status == PL_OK && pass < PL_N_MEMORIES + 2; pass++) {
        int moved = 0;
        if (!i->held) status = memory_pass(i->m, i->t, i->x, i->u, &moved);
        if (status != PL_OK || (pass > 0 && !moved)) break;
        status = follow(i);
    }
    return status;
}

#if PL_N_RELATIONS
/* As they stand with the first guesses, for the start values of discrete variables. Where they cannot be
 * evaluated, the search for a combination begins with none of them. */
static void relations_begin(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    take_guessed_sides(m, t, x, u);
    take_sides(m, t, x, u);
}
#endif

/* Another value than a reinit before this one gives. */
static int contradicts(const pl_real *v, int k) {
    for (int j = 0; j < k; j++)
        if (v[2 * j] != 0.0 && action_kind[j] == 0 && action_place[j] == action_place[k] &&
            v[2 * j + 1] != v[2 * k + 1])
            return 1;
    return 0;
}

#if PL_HAS_ACTION_WARNINGS
#define PL_TOLD_LEAST 300 /* bytes that a text is begun in */

/* An assertion of a when-clause that warns is written down, for pl_model.warning. */
static void action_warns(model *m, pl_real t, const pl_real *x, const pl_real *u, int k) {
    const size_t used = (size_t)m->told_used;
    pl_text s = {m->told + used, sizeof m->told - used, 0};
    const char *text = message[PL_ACTION_ERROR + k];
    (void)t, (void)x, (void)u;
    if (s.room == 0) return;
    if (s.room < PL_TOLD_LEAST) text = "more warnings of this event are left out";
#if PL_ACTION_MESSAGES
    else if (action_text(m, t, x, u, k, &s))
        text = "";
#endif
    pl_text_put(&s, text);
    m->told_used += (int)(s.used < s.room ? s.used + 1 : s.room);
    if (s.room < PL_TOLD_LEAST) m->told_used = (int)sizeof m->told;
}
#endif

static pl_status act(model *m, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info, int *moved) {
    pl_real v[2 * PL_SIZE_ACTIONS];
    if (m->quiet) return PL_OK;
    pl_status status = action_values(m, t, x, u, v);
    if (status != PL_OK) return status;
    for (int k = 0; k < PL_N_ACTIONS; k++) {
        if (v[2 * k] == 0.0) continue;
        if (action_kind[k] == 0 && !contradicts(v, k)) {
            x[action_place[k]] = v[2 * k + 1];
            info->x_changed = *moved = 1;
            continue;
        }
#if PL_HAS_CALLS
        if (action_kind[k] == 3) { /* it was made when its value was asked for */
            if (m->foreign_failed && v[2 * k + 1] != v[2 * k + 1]) return PL_FATAL;
            continue;
        }
#endif
#if PL_HAS_ACTION_WARNINGS
        if (action_kind[k] == 4) {
            action_warns(m, t, x, u, k);
            continue;
        }
#endif
        m->error = PL_ACTION_ERROR + k;
#if PL_ACTION_MESSAGES
        action_message(m, t, x, u, k);
#endif
        if (action_kind[k] != 1) return PL_FATAL;
        m->ended = m->error;
        info->terminate = 1;
    }
    return PL_OK;
}

static pl_status at_rest(instant *i) {
    int moved = 0;
    for (int pass = 0; pass < PL_PASSES; pass++) {
        moved = 0;
        pl_status status = settle_relations(i);
        if (status == PL_OK) status = memory_pass(i->m, i->t, i->x, i->u, &moved);
        if (status != PL_OK || !moved) return status;
    }
    i->m->error = PL_MEMORY_ERROR + 2 * (moved - 1);
    return PL_FATAL;
}

/* pre(x) of continuous variables for the next round: as this one leaves them. */
static pl_status keep(instant *i, int moved) {
    pl_status status = moved ? follow(i) : PL_OK;
    return status == PL_OK ? kept_values(i->m, i->t, i->x, i->u, i->m->kept) : status;
}

static pl_status rounds(model *m, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                        pl_event_info *info) {
    instant i;
    begin_instant(&i, m, t, x, u);
    i.fired = fired;
    i.info = info;
    pl_status status = kept_values(m, t, x, u, m->kept);
    for (int round = 0; status == PL_OK && round < PL_ROUNDS; round++) {
        int moved = 0;
        status = at_rest(&i);
        if (status == PL_OK) status = memory_whole(m);
        if (status == PL_OK) status = act(m, t, x, u, info, &moved);
        i.moved |= moved;
        if (moved && m->starting) m->starting = 2;
        if (status == PL_OK && PL_N_KEPT > 0) status = keep(&i, moved);
        clocks_done(m);
        m->initial = 0.0;
        if (status == PL_OK && !next_round(m) && !moved) {
            m->error = m->ended;
            return PL_OK;
        }
    }
    if (status == PL_OK) m->error = PL_ENDLESS_ERROR + m->changed;
    return status == PL_OK ? PL_FATAL : status;
}

static pl_status model_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                             pl_event_info *info) {
    model *m = self;
    before_event old;
    remember(m, &old);
    guess_here(m, t, x, u);
    clocks_due(m, t);
    info->f_changed |= PL_TERMINAL_IN_F && info->ends && m->terminal == 0.0;
    if (info->ends) m->terminal = 1.0;
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
    m->terminal = 0.0;
    m->ended = 0;
#if PL_HAS_ACTION_WARNINGS
    m->told_used = m->told_next = 0;
#endif
    forget_turns(m);
    if (!info->again) relations_begin(m, t, x, u);
    pl_status status = memory_begin(m, t, x, u);
    m->starting = 1;
    if (status == PL_OK) status = rounds(m, t, x, u, NULL, info);
    m->starting = 0;
    /* initial equations may read what f does not */
    info->f_changed |=
        memcmp(old.d, m->d, sizeof old.d) || memcmp(old.relation, m->relation, sizeof old.relation);
    info->f_changed |= PL_INITIAL_IN_F && !m->quiet;
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
#else /* no discrete variables */
static int memory_changed(const model *m, const before_event *old) {
    (void)m, (void)old;
    return 0;
}

static pl_status memories_follow(instant *i) {
    return follow(i);
}

static pl_status settle_event(model *m, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
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
#if PL_N_RELATIONS
    if (!info->again) take_guessed_sides(self, t, x, u);
#endif
    return settle_event(self, t, x, u, NULL, info);
}
#endif

static void forget_branches(model *m, pl_real t, const pl_event_info *info) {
    if (info->f_changed || info->x_changed) another_branch(m, t);
}

static pl_status forgetful_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                                 pl_event_info *info) {
    pl_status status = model_event(self, t, x, u, fired, info);
    forget_branches(self, t, info);
    return status;
}

static pl_status forgetful_initialise(void *self, pl_real t, pl_real *x, const pl_real *u,
                                      pl_event_info *info) {
    pl_status status = model_initialise(self, t, x, u, info);
    forget_branches(self, t, info);
    return status;
}

#endif
