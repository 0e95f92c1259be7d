/* The step loop: one method, or BDF and Radau5 in turns ("auto"), outputs, events, time events, input jumps.
 *
 * Outputs are taken from the dense output between steps and never change them. The loop stops exactly at the
 * end, at time events, where relations of time alone turn (ahead.c) and at input jumps, nowhere else.
 *
 * Auto: BDF until a step fails for good, or until more than half of WINDOW steps' attempts failed; then
 * Radau5 from there, and back if that fails after some progress. Only where both fail at the same point the
 * run ends.
 */
#include "run.h"
#include "control.h"
#include "record.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define WINDOW            40
#define WINDOW_FAILS      30
#define MAX_HANDOVERS     50
#define GROWTH_AFTER_LOOK 2.0 /* of the step that ended before content of a function of time */
#define ROUNDED           1e-9 /* of the gap before: nearer to each other, time events, jumps and the end are one */
#define MAX_SETTLE        20

static void find_next_jump(pl_problem *p, pl_real t) {
    const pl_inputs *in = p->inputs;
    if (!in) return;
    int s = p->next_jump < 1 ? 1 : p->next_jump;
    for (; s < in->n_segments && !(in->jump[s] && in->start[s] > t); s++)
        if (in->jump[s]) p->passed = s;
    p->next_jump = s;
}

/* A time up to which an input jump and a time event from t on are one: clocks and tables are rounded differently. */
static pl_real same_time(const pl_run *r, const pl_problem *p, pl_real t) {
    const pl_inputs *in = p->inputs;
    if (!in || p->next_jump >= in->n_segments) return t;
    pl_real gap = in->start[p->next_jump] - in->start[p->next_jump - 1];
    if (r->t_event > -HUGE_VAL && t > r->t_event) gap = fmin(gap, t - r->t_event);
    return t + fmax(ROUNDED * gap, 16.0 * DBL_EPSILON * fabs(t));
}

/* The next time event; one that lies behind the end by rounding takes place there. */
static pl_real time_event(const pl_run *r) {
    pl_real t = r->next_time, gap = t - fmax(r->t_start, r->t_event);
    if (!(t > r->t_stop && t < HUGE_VAL) || r->defer > 0.0) return t;
    return t - r->t_stop <= fmax(ROUNDED * gap, 16.0 * DBL_EPSILON * fabs(t)) ? r->t_stop : t;
}

static pl_real next_limit(const pl_run *r, const pl_problem *p) {
    pl_real event = fmin(time_event(r), r->t_turn), limit = fmin(fmin(r->t_stop, event), r->t_clear);
    if (!p->inputs || p->next_jump >= p->inputs->n_segments) return limit;
    pl_real jump = p->inputs->start[p->next_jump];
    /* a jump hardly before a time event takes place with it */
    return jump < limit && event <= r->t_stop && event <= same_time(r, p, jump) ? event : fmin(limit, jump);
}

pl_status pl_run_init(pl_run *r, pl_problem *p, const pl_run_options *opt, pl_real t, pl_real t_stop,
                      const pl_real *x, pl_real next_time) {
    memset(r, 0, sizeof *r);
    r->opt = *opt;
    r->n_x = p->model->n_x;
    r->n_roots = p->model->n_roots;
    r->n_u = p->model->n_u;
    r->watch.n_bent = pl_watch_bent(p->model);
    for (int i = 0; i < r->n_roots; i++) {
        r->n_watched += pl_root_watched(p->model, i);
        r->n_path += p->model->root_kind && (p->model->root_kind[i] & PL_ROOT_PATH);
    }
    r->n_ahead = p->model->root_range && p->model->root_kind ? r->n_roots : 0;
    r->t_start = t;
    r->method = opt->method->id;
    r->t_reached = r->t_left = t;
    r->t_stop = t_stop;
    r->next_time = next_time;
    r->t_handover = -HUGE_VAL;
    r->t_event = r->t_rescued = -HUGE_VAL;
    pl_watch_init(r, p);
    memset(pl_run_g(r, RUN_G_HOLD), 0, (size_t)r->n_roots * sizeof(pl_real));
    r->t_slope = -HUGE_VAL;
    memcpy(pl_run_x(r, RUN_AFTER), x, (size_t)r->n_x * sizeof(pl_real));
    p->next_jump = p->passed = 0;
    find_next_jump(p, t);
    pl_ahead_init(r, p->model, t);
    return r->n_watched > 0 ? pl_event_reset(r, p, t, x) : PL_OK;
}

static void log_step(const pl_run *r, const pl_stepper *head, pl_output *out) {
    if (out->log_used >= out->log_capacity) return;
    pl_real *entry = out->log + 4 * out->log_used++;
    entry[0] = head->t;
    entry[1] = head->h;
    entry[2] = head->order;
    entry[3] = r->method;
}

/* ------------------------------------------------------------------------------------- one step, auto */

static int other_may_help(pl_status status) {
    return status == PL_CONVERGENCE || status == PL_ACCURACY || status == PL_STEP || status == PL_SINGULAR ||
           status == PL_NONFINITE || status == PL_RETRY;
}

static void begin_window(pl_run *r, const pl_problem *p) {
    r->window_steps = p->count->n_steps;
    r->window_fails = p->count->n_error_fails + p->count->n_newton_fails;
}

static void hand_over(pl_run *r, pl_problem *p, void *state) {
    const pl_stepper *head = state;
    if (r->started) {
        memcpy(pl_run_x(r, RUN_AFTER), pl_run_method(r)->x(state), (size_t)r->n_x * sizeof(pl_real));
        r->t_reached = head->t;
    }
    r->method = (r->method == r->opt.method->id ? r->opt.other : r->opt.method)->id;
    r->handovers++;
    r->t_handover = r->t_reached;
    r->started = 0;
    pl_note(p, PL_SAW_HANDOVER, r->method, 0.0, r->t_reached);
    begin_window(r, p);
}

/* A failure of the method at work: 1 if the other one shall try. */
static int give_to_other(pl_run *r, pl_problem *p, void *state, pl_status status) {
    if (!r->opt.other || !other_may_help(status) || r->handovers >= MAX_HANDOVERS) return 0;
    if (r->handovers > 0 && r->t_reached <= r->t_handover) return 0; /* the other one failed here before */
    hand_over(r, p, state);
    return 1;
}

static pl_status start_method(pl_run *r, pl_problem *p, void *state) {
    pl_method_options options = r->opt.method_options;
    if (r->handovers > 0 || r->t_event == r->t_reached) options.h_first = 0.0;
    /* after an event the next one may be as near as the last: a first look well before that */
    if (r->t_event == r->t_reached && r->n_watched > 0)
        options.h_start = fmax(0.2 * r->event_gap, 10.0 * pl_smallest_step(r->t_reached));
    pl_status status =
        pl_run_method(r)->start(state, p, &options, r->t_reached, pl_run_x(r, RUN_AFTER), next_limit(r, p));
    r->started = status == PL_OK;
    if (r->started && p->count->n_steps > 0) pl_note(p, PL_SAW_RESTART, -1, 0.0, r->t_reached);
    if (r->started) begin_window(r, p);
    return status;
}

/* Too many failures in the last WINDOW steps: BDF is not at home here. */
static int struggling(pl_run *r, const pl_problem *p) {
    if (!r->opt.other || r->method != PL_BDF) return 0;
    int64_t fails = p->count->n_error_fails + p->count->n_newton_fails - r->window_fails;
    if (fails > WINDOW_FAILS) return 1;
    if (p->count->n_steps - r->window_steps >= WINDOW) begin_window(r, p);
    return 0;
}

static pl_status take_step(pl_run *r, pl_problem *p, void *state, pl_output *out) {
    for (;;) {
        pl_status status = r->started ? PL_OK : start_method(r, p, state);
        pl_real limit = next_limit(r, p);
        if (status == PL_OK && r->aim) status = pl_guard_aim(r, p, state, &limit);
        if (status == PL_EVENT) return status;
        if (status == PL_OK) status = pl_run_method(r)->step(state, p, pl_watch_limit(r, p, state, limit));
        if (status == PL_OK) break;
        if (status == PL_PAUSED || (other_may_help(status) && pl_guard_last(r, p, state))) continue;
        if (other_may_help(status) && pl_guard_start(r, p)) continue;
        if (status == PL_STEP && r->events_in_place > 0 && r->t_event == r->t_reached) return PL_CHATTER;
        if (!give_to_other(r, p, state, status)) return status;
    }
    const pl_stepper *head = state;
    r->step_open = 1;
    r->refusals = 0;
    r->t_left = head->t_old;
    r->h_largest = fmax(r->h_largest, head->h);
    log_step(r, head, out);
    return PL_OK;
}

/* --------------------------------------------------------------------------------------------- events */

static int roots_terminal(const pl_run *r, const pl_model *m) {
    const int8_t *fired = pl_run_event_fired(r);
    for (int i = 0; i < r->n_roots; i++)
        if (fired[i] && m->root_terminal && m->root_terminal[i]) return 1;
    return 0;
}

/* What an event may call while it settles. */
typedef struct follower {
    pl_run *r;
    pl_problem *p;
    const pl_real *x; /* of the event; a model may try other points, too */
    int moved;        /* ... has changed */
    int called;
} follower;

/* Algebraic unknowns that fit the relations and discrete variables an event is trying. */
static pl_status follow(void *host, pl_real t, pl_real *x) {
    follower *one = host;
    size_t bytes = (size_t)one->r->n_x * sizeof(pl_real);
    pl_real *given = pl_run_x(one->r, RUN_TRY);
    one->called = 1;
    one->moved |= x == one->x;
    memcpy(given, x, bytes);
    pl_status status = pl_consistent(one->p, t, x, pl_run_x(one->r, RUN_WORK));
    if (status != PL_OK) memcpy(x, given, bytes);
    return status;
}

/* `event` of the model. f_changed also where unknowns followed: the method cannot go on with its history and factors then. */
static pl_status call_event(pl_run *r, pl_problem *p, pl_real t, pl_real *x, const int8_t *fired,
                            pl_event_info *info) {
    follower one = {r, p, x, 0, 0};
    pl_status status = pl_set_inputs(p, t);
    info->crossed = r->crossed;
    info->ends = r->ending;
    if (p->model->mass.start && p->linear) {
        info->host = &one;
        info->follow = follow;
    }
    if (status == PL_OK) status = p->model->event(p->self, t, x, p->u, fired, info);
    pl_tell(p, t, x, PL_TELL_REST);
    info->f_changed |= (info->again ? one.moved : one.called) || info->nominal_changed;
    if (info->nominal_changed) pl_follow_nominal(p);
    if (status != PL_OK) status = pl_failed(p, status, PL_IN_EVENT, -1, t);
    r->next_time = info->next_time;
    pl_ahead_forget(r, p->model, t);
    return status;
}

/* Settle the event at t with x in RUN_AFTER. found: roots within a step; root: these, or relations of time; else time
 * event, input jump or model's request. */
static pl_status settle(pl_run *r, pl_problem *p, pl_real t, int found, int root, pl_event_info *info) {
    const pl_model *m = p->model;
    memset(info, 0, sizeof *info);
    info->next_time = r->next_time > t ? r->next_time : HUGE_VAL;
    p->count->n_events++;
    if (pl_event_piles_up(r, t, found)) {
        p->failure.t = t;
        return PL_CHATTER;
    }
    if (!m->event) return PL_OK;
    pl_status status = call_event(r, p, t, pl_run_x(r, RUN_AFTER), root ? pl_run_fired(r) : NULL, info);
    if (status == PL_OK) pl_event_repeats(r, p, t, found, info->x_changed);
    return status;
}

/* What an event did, added to what others at the same time did before it. */
static void add_info(pl_event_info *all, const pl_event_info *one) {
    all->x_changed |= one->x_changed;
    all->f_changed |= one->f_changed;
    all->terminate |= one->terminate;
}

/* `event` of a model that settles by itself: relations at t brought up to date, and what follows from them. fired: those
 * that have turned at t and keep their side; NULL: none. */
static pl_status settle_once(pl_run *r, pl_problem *p, pl_real t, pl_real *x, int again, const int8_t *fired,
                             pl_event_info *info) {
    memset(info, 0, sizeof *info);
    info->next_time = r->next_time;
    info->again = again;
    return call_event(r, p, t, x, fired, info);
}

/* Relations of a model that says so are brought up to date at t, and algebraic unknowns with them, until both rest. */
static pl_status settle_relations(pl_run *r, pl_problem *p, pl_real t, pl_real *x, pl_event_info *all) {
    const pl_model *m = p->model;
    for (int round = 0; round < MAX_SETTLE; round++) {
        pl_event_info info;
        /* where no step reached the event x is hardly beyond it: what has turned there is not asked again */
        const int8_t *fired = r->crossed && !all->x_changed ? pl_run_fired(r) : NULL;
        pl_status status = settle_once(r, p, t, x, round > 0 || r->t_event == t, fired, &info);
        if (status != PL_OK) return status;
        add_info(all, &info);
        if (!info.f_changed && !info.x_changed) return PL_OK;
        if (m->mass.start) status = pl_consistent(p, t, x, pl_run_x(r, RUN_WORK));
        if (status != PL_OK) return status;
    }
    return PL_CHATTER;
}

/* Begin anew at t from RUN_AFTER; algebraic unknowns follow what jumped, and events follow them: told in `info`. */
static pl_status restart(pl_run *r, pl_problem *p, pl_real t, pl_event_info *info) {
    pl_real *x = pl_run_x(r, RUN_AFTER);
    r->started = r->step_open = r->aim = 0;
    r->t_reached = r->t_left = t;
    r->t_slope = -HUGE_VAL;
    pl_status status = PL_OK;
    if (p->model->mass.start) {
        pl_real *given = pl_run_x(r, RUN_TRY); /* a failed iteration must not be what is left */
        memcpy(given, x, (size_t)r->n_x * sizeof(pl_real));
        status = pl_consistent(p, t, x, pl_run_x(r, RUN_WORK));
        if (status != PL_OK) memcpy(x, given, (size_t)r->n_x * sizeof(pl_real));
    }
    if (status == PL_OK && (p->model->flags & PL_MODEL_SETTLES) && p->model->event)
        status = settle_relations(r, p, t, x, info);
    if (status == PL_OK && r->n_watched > 0) status = pl_event_reset(r, p, t, x);
    return status;
}

/* x at t: of the open or last step, or after a restart where the next one begins. */
static void state_at(pl_run *r, const void *state, pl_real t, int to) {
    if (r->started)
        pl_run_method(r)->interpolate(state, t, 0, pl_run_x(r, to));
    else if (to != RUN_AFTER)
        memcpy(pl_run_x(r, to), pl_run_x(r, RUN_AFTER), (size_t)r->n_x * sizeof(pl_real));
}

pl_status pl_run_changed(pl_run *r, pl_problem *p, void *state) {
    pl_event_info info = {0};
    state_at(r, state, r->t_reached, RUN_AFTER);
    return restart(r, p, r->t_reached, &info);
}

/* The run ends at t with what is in RUN_AFTER; a last row unless t has one. */
static pl_status end_here(pl_run *r, pl_problem *p, pl_output *out, pl_real t) {
    pl_status status = PL_OK;
    r->t_reached = t;
    if (out->n_points >= 0 && !(out->used > 0 && r->next_point > 0 && out->point[r->next_point - 1] == t))
        status = pl_run_row(p, out, t, pl_run_x(r, RUN_AFTER));
    return status == PL_OK ? PL_TERMINATED : status;
}

static int jump_due(const pl_problem *p, pl_real t) {
    const pl_inputs *in = p->inputs;
    return in && p->next_jump < in->n_segments && t >= in->start[p->next_jump];
}

/* The run ends: is the model, which wants to know of it, still to be told by an event? */
static int last_event_due(pl_run *r, const pl_problem *p) {
    if (!r->opt.ends || r->ending || !(p->model->flags & PL_MODEL_ENDS)) return 0;
    return r->ending = 1;
}

/* An event at t inside or at the end of the open step; found: roots within the step, else a time event. An input that
 * jumps at the time of a time event jumps first: what the event samples is the value from t on. */
static pl_status handle_event(pl_run *r, pl_problem *p, void *state, pl_output *out, pl_real t, int found) {
    pl_event_info info;
    pl_real *before = pl_run_x(r, RUN_BEFORE), *after = pl_run_x(r, RUN_AFTER);
    int64_t rows = out->used;
    if (!found || !r->solved) state_at(r, state, t, RUN_BEFORE);
    memcpy(after, before, (size_t)r->n_x * sizeof(pl_real));
    if (!found && r->n_roots > 0) memset(pl_run_fired(r), 0, (size_t)r->n_roots);
    int root = pl_ahead_fire(r, p, t) > 0 || found;
    /* outputs of the row before the event belong to the memory before it; the step's own row may be that row */
    int wanted = out->n_points < 0 && pl_run_last(out) < t;
    pl_status status = wanted ? pl_guard_row(r, p, state, out, t, before) : PL_OK;
    pl_real reach = found ? t : same_time(r, p, t);
    int jumped = !found && jump_due(p, reach);
    if (jumped) find_next_jump(p, reach);
    if (status == PL_OK) status = settle(r, p, t, found, root, &info);
    if (status != PL_OK) return status;
    int changed = info.x_changed || info.f_changed || jumped || r->opt.restart_always || r->crossed;
    int end = info.terminate || (root && roots_terminal(r, p->model));
    if (changed) {
        status = restart(r, p, t, &info);
        if (status == PL_OK && root) pl_event_put_back(r);
    } else {
        if (out->n_points < 0) status = pl_run_row_silent(r, p, out, t, end ? out->used : rows);
        /* a relation that fired may stand where it stood, with another band: what lies ahead is seen from there */
        if (status == PL_OK && root && (p->model->flags & PL_MODEL_SETTLES))
            status = pl_event_reset(r, p, t, after);
    }
    if (status == PL_OK && !changed && root) status = pl_event_refresh(r, p, state, t);
    if (status == PL_OK && (changed || out->n_points > 0)) status = pl_run_row_after(r, p, out, t);
    if (status != PL_OK) return status;
    if (!end && !info.terminate) return PL_EVENT;
    return last_event_due(r, p) ? handle_event(r, p, state, out, t, 0) : end_here(r, p, out, t);
}

/* The model's word after an accepted step. PL_OK, PL_EVENT, PL_TERMINATED or a failure. */
static pl_status step_done(pl_run *r, pl_problem *p, void *state, pl_output *out) {
    const pl_stepper *head = state;
    if (!p->model->step_done) return PL_OK;
    int request = PL_STEP_FINE;
    pl_real *x = pl_run_method(r)->x(state);
    pl_status status = pl_set_inputs(p, head->t);
    if (status == PL_OK) status = p->model->step_done(p->self, head->t, x, p->u, &request);
    if (status != PL_OK) return pl_failed(p, status, PL_IN_STEP_DONE, -1, head->t);
    if (request & PL_STEP_TERMINATE) {
        size_t bytes = (size_t)r->n_x * sizeof(pl_real);
        memcpy(pl_run_x(r, RUN_BEFORE), x, bytes);
        memcpy(pl_run_x(r, RUN_AFTER), x, bytes);
        if (r->n_roots > 0) memset(pl_run_fired(r), 0, (size_t)r->n_roots);
        r->t_event = head->t;
        p->count->n_events++;
        if (out->n_points >= 0 && !(r->next_point > 0 && out->point[r->next_point - 1] == head->t))
            status = pl_run_row(p, out, head->t, x);
        return status == PL_OK ? PL_TERMINATED : status;
    }
    if (request & PL_STEP_EVENT) return handle_event(r, p, state, out, head->t, 0);
    if (request & PL_STEP_RESTART) {
        memcpy(pl_run_x(r, RUN_AFTER), x, (size_t)r->n_x * sizeof(pl_real));
        pl_event_info info = {0};
        status = restart(r, p, head->t, &info);
        return status == PL_OK && info.terminate ? end_here(r, p, out, head->t) : status;
    }
    return PL_OK;
}

/* Correct the history of BDF at the jump to segment `segment`. 1: done; 0: it must begin anew. */
static int corrected(pl_run *r, pl_problem *p, void *state, pl_real t, int segment, pl_event_info *all) {
    const pl_stepper *head = state;
    const pl_method *method = pl_run_method(r);
    if (r->opt.at_jump == PL_JUMP_RESTART || !method->jump || !r->started || head->t != t) return 0;
    if (p->inputs->call) return 0;
    if (p->model->mass.start && (r->opt.at_jump != PL_JUMP_CORRECT || !p->model->taylor)) return 0;
    pl_jump jump = {.how = r->opt.at_jump, .segment = segment, .t = t, .t_next = next_limit(r, p)};
    if ((p->model->flags & PL_MODEL_SETTLES) && p->model->event) {
        pl_event_info info;
        if (settle_once(r, p, t, pl_run_x(r, RUN_AFTER), r->t_event == t, NULL, &info) != PL_OK) return 0;
        add_info(all, &info);
        if (info.x_changed || info.terminate || (info.f_changed && p->model->mass.start)) return 0;
        jump.always = info.f_changed;
    }
    if (method->jump(state, p, &jump, pl_run_u(r)) != PL_OK) return 0;
    memcpy(pl_run_x(r, RUN_AFTER), method->x(state), (size_t)r->n_x * sizeof(pl_real));
    r->step_open = 0;
    r->t_reached = r->t_left = t;
    return r->n_watched == 0 || pl_event_reset(r, p, t, pl_run_x(r, RUN_AFTER)) == PL_OK;
}

/* The input jumps at t: from here on its new polynomial holds, the history is corrected or the method begins anew. An
 * event where the model sets states anew or ends the run for that reason. */
static pl_status pass_jump(pl_run *r, pl_problem *p, void *state, pl_output *out, pl_real t) {
    int segment = p->next_jump;
    pl_event_info info = {0};
    state_at(r, state, t, RUN_AFTER);
    memcpy(pl_run_x(r, RUN_BEFORE), pl_run_x(r, RUN_AFTER), (size_t)r->n_x * sizeof(pl_real));
    find_next_jump(p, t);
    if (t >= r->t_stop || !corrected(r, p, state, t, segment, &info)) {
        pl_status status = restart(r, p, t, &info);
        if (status != PL_OK) return status;
    }
    pl_status status = pl_run_row_after(r, p, out, t);
    if (status != PL_OK || (!info.x_changed && !info.terminate)) return status;
    if (r->n_roots > 0) memset(pl_run_fired(r), 0, (size_t)r->n_roots);
    r->t_event = t;
    p->count->n_events++;
    return info.terminate ? end_here(r, p, out, t) : PL_EVENT;
}

/* A step that ended at t for the sake of the inputs. Where a table has a kink there that matters, the history of BDF is
 * corrected and other methods forget the step before; before content of a function of time, whose place is not known, one-step
 * methods do not return to their full step at once. */
static void pass_kink(pl_run *r, pl_problem *p, void *state, pl_real t) {
    const pl_method *method = pl_run_method(r);
    const pl_stepper *head = state;
    pl_event_info info = {0};
    int segment = p->inputs ? pl_input_segment(p, t) : -1;
    r->watch.limit = HUGE_VAL;
    if (!p->inputs) return;
    if (segment < 1 || p->inputs->start[segment] != t) {
        if (p->inputs->call && method->shorten) method->shorten(state, GROWTH_AFTER_LOOK * head->h);
        return;
    }
    if (!pl_watch_kink(r, p, state, segment)) return;
    state_at(r, state, t, RUN_AFTER);
    if (corrected(r, p, state, t, segment, &info)) return;
    r->started = 0;
    r->t_reached = r->t_left = t;
}

/* Is the time event at t left to the caller? */
static int deferred(pl_run *r, pl_real t) {
    r->held = r->defer > 0.0 && t >= r->t_stop - r->defer;
    return r->held;
}

/* Roots, outputs, step_done, time events and input jumps of the step just taken. PL_OK: all done. */
static pl_status close_step(pl_run *r, pl_problem *p, void *state, pl_output *out) {
    const pl_stepper *head = state;
    int found = 0;
    pl_real t_event = head->t, t = head->t;
    pl_status status = r->n_watched > 0 ? pl_event_search(r, p, state, &found, &t_event) : PL_OK;
    if (status == PL_OK) status = pl_run_between(r, p, state, found ? t_event : t);
    if (status == PL_OK && out->n_points > 0)
        status = pl_run_points(r, p, state, out, found ? t_event : t, found);
    if (status != PL_OK) return status;
    if (found) return handle_event(r, p, state, out, t_event, 1);
    r->step_open = 0;
    r->t_reached = t;
    if (out->n_points < 0) {
        pl_run_method(r)->interpolate(state, t, 0, pl_run_x(r, RUN_TRY));
        status = pl_run_row(p, out, t, pl_run_x(r, RUN_TRY));
        if (status != PL_OK) return status;
    }
    pl_tell(p, t, pl_run_method(r)->x(state), PL_TELL_STEP);
    status = step_done(r, p, state, out);
    if (status != PL_OK) return status;
    if (t >= fmin(time_event(r), r->t_turn))
        return deferred(r, t) ? PL_OK : handle_event(r, p, state, out, t, 0);
    if (jump_due(p, t)) return pass_jump(r, p, state, out, t);
    if (t == r->watch.limit && t < r->t_stop) pass_kink(r, p, state, t);
    return PL_OK;
}

/* The event at r->t_aim, which no step can reach (guard.c). A time event or jump there is what the loop meets next. */
static pl_status cross(pl_run *r, pl_problem *p, void *state, pl_output *out) {
    pl_real t = r->t_aim, *x = pl_run_x(r, RUN_TRY), *after = pl_run_x(r, RUN_AFTER);
    int root = r->aim != PL_AIM_LIMIT;
    if (pl_run_lacks_rows(r, p->model, state, out)) return PL_MEMORY;
    while (r->next_point < out->n_points && out->point[r->next_point] < t) {
        pl_guard_state(r, p, state, out->point[r->next_point], x);
        pl_status status = pl_guard_row(r, p, state, out, out->point[r->next_point], x);
        if (status != PL_OK) return status;
        r->next_point++;
    }
    pl_guard_state(r, p, state, t, after);
    r->t_reached = r->t_left = t;
    r->aim = 0;
    pl_status status = PL_OK;
    if (root && out->n_points < 0 && pl_run_last(out) < t) status = pl_guard_row(r, p, state, out, t, after);
    r->started = 0;
    if (status != PL_OK) return status;
    r->crossed = root;
    r->solved = 0;
    if (root) status = handle_event(r, p, state, out, t, 1);
    r->crossed = 0;
    return status;
}

/* A limit where the run stands already, or so near that no step fits in between: another event, jump or the end at the
 * time of the last one. PL_OK: nothing, or passed (then *passed). */
static pl_status pass_limit(pl_run *r, pl_problem *p, void *state, pl_output *out, int *passed) {
    pl_real t = next_limit(r, p);
    *passed = t - r->t_reached < pl_smallest_step(r->t_reached);
    if (!*passed) return PL_OK;
    t = fmax(t, r->t_reached);
    if (t >= fmin(time_event(r), r->t_turn))
        return deferred(r, t) ? PL_OK : handle_event(r, p, state, out, t, 0);
    if (jump_due(p, t)) return pass_jump(r, p, state, out, t);
    state_at(r, state, t, RUN_AFTER);
    r->started = 0;
    r->t_reached = t;
    return pl_run_start(r, p, out);
}

/* Relations of time alone: known for some steps to come, so that what is known cuts none short. */
static void look_ahead(pl_run *r, pl_problem *p, const void *state) {
    const pl_stepper *head = state;
    pl_ahead_search(r, p, r->started ? r->t_reached + 4.0 * head->h_next : r->t_reached);
}

static pl_status advance(pl_run *r, pl_problem *p, pl_guard *guard, pl_output *out, int64_t steps) {
    void *state = guard->state;
    pl_status status = pl_run_start(r, p, out);
    if (status != PL_OK) return status;
    int64_t stop_at = p->count->n_steps + steps;
    if (r->held && !(r->defer > 0.0)) {
        int passed;
        r->held = 0;
        status = pass_limit(r, p, state, out, &passed);
        if (status != PL_OK) return status;
    }
    for (;;) {
        /* before anything is done: what was begun must not be begun twice */
        if (pl_run_lacks_rows(r, p->model, state, out)) return out->n_points < 0 ? PL_PAUSED : PL_MEMORY;
        if (!r->step_open) {
            if (r->t_reached >= r->t_stop && last_event_due(r, p))
                return handle_event(r, p, state, out, r->t_reached, 0);
            if (r->t_reached >= r->t_stop || r->held) return PL_FINISHED;
            int passed;
            if (r->t_clear < r->t_stop) look_ahead(r, p, state);
            status = pass_limit(r, p, state, out, &passed);
            if (status != PL_OK) return status;
            if (passed) continue;
            if (p->count->n_steps >= stop_at) return PL_PAUSED;
            if (out->log_capacity > 0 && out->log_used >= out->log_capacity) return PL_PAUSED;
            if (r->opt.max_steps > 0 && p->count->n_steps >= r->opt.max_steps) return PL_MAX_STEPS;
            if (struggling(r, p) && r->started) {
                hand_over(r, p, state);
                r->t_handover = -HUGE_VAL; /* BDF did not fail here: it may come back */
            }
            if (out->n_y > 0 && (status = pl_run_check(p, out, out->used - 1)) != PL_OK) return status;
            guard->limit = next_limit(r, p);
            status = take_step(r, p, state, out);
            if (status == PL_EVENT) {
                status = cross(r, p, state, out);
                if (status != PL_OK) return status;
                continue;
            }
            if (status != PL_OK) return status;
            continue;
        }
        status = close_step(r, p, state, out);
        if (status != PL_OK) return status;
    }
}

pl_status pl_run_advance(pl_run *r, pl_problem *p, void *state, pl_output *out, int64_t steps) {
    pl_guard guard = {r, state, r->t_stop};
    p->refused = pl_guard_refused;
    p->watcher = &guard;
    pl_status status = advance(r, p, &guard, out, steps);
    p->refused = NULL;
    p->watcher = NULL;
    /* an event here, but for rounding, may still replace the last row */
    int open = status == PL_EVENT || status == PL_PAUSED || status == PL_MEMORY || status == PL_PATTERN;
    pl_status numbers = out->n_y > 0 && !open ? pl_run_check(p, out, out->used) : PL_OK;
    return numbers == PL_OK ? status : numbers;
}
