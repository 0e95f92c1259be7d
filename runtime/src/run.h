/* Private: arrays behind pl_run; the root search (event.c, ahead.c), the way to guarded events (guard.c) and rows (rows.c),
 * which the step loop (run.c) uses. */
#ifndef PL_RUN_H
#define PL_RUN_H

#include "pliant.h"

/* pl_real arrays: x_before, x_after, x_try, slope, work[4] (n_x each), g_left, g_right, g_try, g_kept, g_old, g_most, g_past,
 * g_hold (n_roots each), u (7 n_u), watch (pl_watch_reals), turn, clear, blur, blunt (n_ahead each); then int8_t sign, fired
 * (n_roots each). */
enum { RUN_BEFORE, RUN_AFTER, RUN_TRY, RUN_SLOPE, RUN_WORK, RUN_N_X = RUN_WORK + 4, RUN_N_U = 7 };
enum {
    RUN_G_LEFT,
    RUN_G_RIGHT,
    RUN_G_TRY,
    RUN_G_KEPT,
    RUN_G_OLD,
    RUN_G_MOST,
    RUN_G_PAST,
    RUN_G_HOLD,
    RUN_N_G
};
enum { RUN_TURN, RUN_CLEAR, RUN_BLUR, RUN_BLUNT, RUN_N_AHEAD };

/* The method at work. */
static inline const pl_method *pl_run_method(const pl_run *r) {
    return r->method == r->opt.method->id ? r->opt.method : r->opt.other;
}
static inline pl_real *pl_run_x(pl_run *r, int k) {
    return (pl_real *)(void *)(r + 1) + (size_t)k * (size_t)r->n_x;
}
static inline pl_real *pl_run_g(pl_run *r, int k) {
    return pl_run_x(r, RUN_N_X) + (size_t)k * (size_t)r->n_roots;
}
static inline pl_real *pl_run_u(pl_run *r) {
    return pl_run_g(r, RUN_N_G);
}
static inline pl_real *pl_run_watch(pl_run *r) {
    return pl_run_u(r) + (size_t)RUN_N_U * (size_t)r->n_u;
}
/* Inputs that f is not affine in, and what the arrays of the watch take. */
int pl_watch_bent(const pl_model *m);
size_t pl_watch_reals(int n_u, int n_x, int n_bent);
void pl_watch_init(pl_run *r, const pl_problem *p);
static inline pl_real *pl_run_ahead(pl_run *r, int k) {
    return pl_run_watch(r) + pl_watch_reals(r->n_u, r->n_x, r->watch.n_bent) + (size_t)k * (size_t)r->n_ahead;
}
static inline int8_t *pl_run_sign(pl_run *r) {
    return (int8_t *)(void *)pl_run_ahead(r, RUN_N_AHEAD);
}
static inline int8_t *pl_run_fired(pl_run *r) {
    return pl_run_sign(r) + r->n_roots;
}

/* x at t: inside the last step, or beyond it. Degree of what is beyond, 0: not known (x then is that of the end). */
int pl_run_at(pl_run *r, const void *state, pl_real t, pl_real *x);

/* Does the solver look for root i within its steps? */
static inline int pl_root_watched(const pl_model *m, int i) {
    return !m->root_kind || !(m->root_kind[i] & (PL_ROOT_STILL | PL_ROOT_TIMED));
}

/* Take the signs of the root functions at (t, x) as the state to compare with. */
pl_status pl_event_reset(pl_run *r, pl_problem *p, pl_real t, const pl_real *x);
/* Do events pile up at t? Those at times known before do not, unless these times do not advance (event_repeat.c). */
int pl_event_piles_up(pl_run *r, pl_real t, int found);
/* After an event at t, before pl_event_reset: roots that repeat without progress are held. */
void pl_event_repeats(pl_run *r, pl_problem *p, pl_real t, int found, int x_changed);
/* After a restart: a root that fired and was set to zero exactly counts as not yet crossed, so that it fires again
 * if the states go on in the same direction (a ball that falls through the floor it was put on). */
void pl_event_put_back(pl_run *r);
/* First event in (r->t_left, end of the step]: *found, its time in *t_event, pl_run_fired set; signs and
 * r->t_left advance to it, or to the end of the step. */
pl_status pl_event_search(pl_run *r, pl_problem *p, const void *method_state, int *found, pl_real *t_event);
/* The same beyond the step, up to t_far, with x continued; only pl_run_fired is set. */
int pl_event_ahead(pl_run *r, pl_problem *p, const void *method_state, pl_real t_far, pl_real *t_event);
/* Does x at t make one fire that did not so far? Sets pl_run_fired. */
int pl_event_fires(pl_run *r, pl_problem *p, pl_real t, const pl_real *x);
/* After an event that changed neither states nor f: root functions that could not be evaluated before it. */
pl_status pl_event_refresh(pl_run *r, pl_problem *p, const void *method_state, pl_real t);

/* What r->aim says: nothing; short of a root; short of a time event or jump; the event is reached. */
enum { PL_AIM_NONE, PL_AIM_ROOT, PL_AIM_LIMIT, PL_AIM_THERE };

typedef struct pl_guard {
    pl_run *run;
    void *state;   /* of the method */
    pl_real limit; /* of the present step: next time event, jump or the end */
} pl_guard;

/* f is another function from where the run stands on: the method restarts there. */
pl_status pl_run_changed(pl_run *r, pl_problem *p, void *method_state);

/* A row of t, x and outputs. */
int64_t pl_run_lacks_rows(const pl_run *r, const pl_model *m, const void *state,
                          const pl_output *out); /* how many; 0: none */
pl_status pl_run_row(pl_problem *p, pl_output *out, pl_real t, const pl_real *x);
/* Rows for all requested points up to t (inside the last step). event: there is one at t. */
pl_status pl_run_points(pl_run *r, pl_problem *p, void *state, pl_output *out, pl_real t, int event);
/* A model that remembers the past is told of points within the last step, up to end. */
pl_status pl_run_between(pl_run *r, pl_problem *p, void *state, pl_real end);
/* Every-step mode, an event that left states and equations alone: a row after it where outputs tell of it (the row before
 * it is the last one), else no rows of its own. */
pl_status pl_run_row_silent(pl_run *r, pl_problem *p, pl_output *out, pl_real t, int64_t rows);
/* Rows for what holds after an event at t whose restart is done. */
pl_status pl_run_row_after(pl_run *r, pl_problem *p, pl_output *out, pl_real t);
/* Row for the start, written once; also points that lie at the start. */
pl_status pl_run_start(pl_run *r, pl_problem *p, pl_output *out);
/* Outputs of the first `rows` rows must be numbers: else those from the first that has others on are dropped. */
pl_status pl_run_check(pl_problem *p, pl_output *out, int64_t rows);
/* x where the run stands. */
void pl_run_present(pl_run *r, void *method_state, pl_real *x);
/* Time of the last row; -Inf: none yet. */
pl_real pl_run_last(const pl_output *out);
/* The same short of an event: outputs that are not defined between crossing and event are those of just before it. */
pl_status pl_guard_row(pl_run *r, pl_problem *p, void *state, pl_output *out, pl_real t, const pl_real *x);

/* pl_problem.refused; the watcher is a pl_guard. */
int pl_guard_refused(pl_problem *p, pl_real t);
/* Before a step with r->aim set: *limit is brought short of the event. PL_EVENT: it is reached, at r->t_aim. */
pl_status pl_guard_aim(pl_run *r, pl_problem *p, void *state, pl_real *limit);
/* The method gave up: 1 if an event lies so near that this is the reason. */
int pl_guard_last(pl_run *r, pl_problem *p, void *state);
/* The method cannot start after an event: 1 if loops of the model have another solution there, from which they go on. */
int pl_guard_start(pl_run *r, pl_problem *p);
/* x just before the event that pl_guard_aim found, at t. */
void pl_guard_state(pl_run *r, pl_problem *p, void *state, pl_real t, pl_real *x);

/* First look (pl_inputs.look) later than t. */
int64_t pl_look_after(const pl_inputs *in, pl_real t);
/* What the inputs do between two times; n_u ranges. */
pl_status pl_input_ranges(pl_problem *p, pl_real from, pl_real to, pl_range *range);
/* First time after t where the inputs have content (pl_inputs.look); +Inf: none. */
pl_real pl_watch_look(const pl_problem *p, pl_real t);
/* Where the next step must end for the sake of the inputs, at most at `limit`. */
pl_real pl_watch_limit(pl_run *r, pl_problem *p, void *method_state, pl_real limit);
/* Does a method with a history have to be told of the kink where `segment` begins? One-step methods go on. */
int pl_watch_kink(pl_run *r, const pl_problem *p, void *method_state, int segment);

/* Roots of time alone (ahead.c). Begin at t: nothing is known yet. */
void pl_ahead_init(pl_run *r, const pl_model *m, pl_real t);
/* Search on from where the run stands, at least to `wanted` if that can be had: r->t_turn, r->t_clear. */
void pl_ahead_search(pl_run *r, pl_problem *p, pl_real wanted);
/* An event at t: pl_run_fired of those that turn there, the others stay. Number of those. */
int pl_ahead_fire(pl_run *r, pl_problem *p, pl_real t);
/* The first point of the open step, from r->t_left on, where a root PL_ROOT_PATH is on another side than the one that
 * holds; +Inf: none is found. */
pl_real pl_ahead_path(pl_run *r, pl_problem *p, const void *method_state);
/* First kink of f in (from, to), else `to`. */
pl_real pl_ahead_kink(pl_problem *p, pl_real from, pl_real to);
/* Discrete memory may have changed at t: what was found before may be wrong. */
void pl_ahead_forget(pl_run *r, const pl_model *m, pl_real t);

#endif
