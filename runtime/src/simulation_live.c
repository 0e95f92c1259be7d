/* A simulation that goes on from one communication point to the next, its inputs set on the way.
 *
 * The inputs are one pl_inputs of two segments: 0 held until T, 1 holds from T on, and T is a jump. After
 * pl_simulation_set_inputs the step loop stands at the jump and passes it before its next step. Time events at a
 * communication point (ticks of clocks) wait there until the inputs at that point are known.
 */
#include "run.h"
#include "simulation.h"

#include <math.h>
#include <string.h>

#define NEAR 1e-9 /* of a step: a time event this near to its end lies there */

/* The segment that holds from t on, to be filled; the one before it goes on to hold until there. */
static pl_real *segment_from(pl_simulation *s, pl_real t) {
    size_t each = (size_t)(s->inputs.degree + 1) * (size_t)s->n_u;
    pl_real *start = (pl_real *)s->inputs.start, *first = start + 2, *second = first + each;
    if (s->fresh) return second;
    if (s->run && s->run->held) t = s->run->t_reached; /* but for rounding the same */
    if (t != start[1]) { /* else a second time here, after what happened at the first */
        start[0] = start[1];
        start[1] = t;
        memcpy(first, second, each * sizeof(pl_real));
    }
    s->problem.next_jump = 1;
    return second;
}

/* Before the first step both are the same. */
static void filled(pl_simulation *s, const pl_real *second) {
    size_t each = (size_t)(s->inputs.degree + 1) * (size_t)s->n_u;
    if (s->fresh) memcpy((pl_real *)s->inputs.start + 2, second, each * sizeof(pl_real));
}

void pl_simulation_set_inputs(pl_simulation *s, pl_real t, const pl_real *coefficient) {
    if (s->problem.inputs != &s->inputs) return;
    pl_real *to = segment_from(s, t);
    memcpy(to, coefficient, (size_t)(s->inputs.degree + 1) * (size_t)s->n_u * sizeof(pl_real));
    filled(s, to);
}

static void hold_inputs(pl_simulation *s, const pl_real *u) {
    if (s->problem.inputs != &s->inputs) return;
    pl_real *to = segment_from(s, s->run->t_reached);
    memset(to, 0, (size_t)(s->inputs.degree + 1) * (size_t)s->n_u * sizeof(pl_real));
    memcpy(to, u, (size_t)s->n_u * sizeof(pl_real));
    filled(s, to);
}

static int ended_by_event(const pl_simulation *s) {
    return s->n_events > 0 && pl_simulation_event(s, s->n_events - 1).terminal;
}

static void begin_settle(pl_simulation *s, int waits) {
    pl_run *r = s->run;
    s->leg = PL_LEG_SETTLE;
    r->defer = 0.0;
    r->held = 1;
    r->t_stop = r->t_reached;
    if (waits) r->t_stop = fmax(r->t_stop, fmin(r->next_time, r->t_turn)); /* it may lie behind by rounding */
}

static void begin_leg(pl_simulation *s, pl_real t_next) {
    s->leg = PL_LEG_GO;
    s->run->t_stop = t_next;
    s->run->defer = NEAR * (t_next - s->run->t_reached);
}

static pl_status end_leg(pl_simulation *s, pl_real t_next) {
    pl_run *r = s->run;
    pl_real event = fmin(r->next_time, r->t_turn);
    s->leg = PL_LEG_NONE;
    s->ended = ended_by_event(s) || (r->t_reached < t_next && !r->held);
    if (!s->ended && !r->held && event - t_next <= r->defer)
        r->held = 1; /* it lies behind by rounding only */
    return s->ended ? PL_TERMINATED : PL_FINISHED;
}

static pl_status settled(pl_simulation *s, int64_t budget) {
    pl_status status = pl_simulation_advance(s, budget);
    if (status < 0 || status == PL_PAUSED) return status;
    s->leg = PL_LEG_NONE;
    s->ended = ended_by_event(s);
    return s->ended ? PL_TERMINATED : PL_FINISHED;
}

/* An engine without a step loop of ours: nothing waits. */
static pl_status go_plainly(pl_simulation *s, pl_real t_next, int64_t budget) {
    if (s->ended) return PL_TERMINATED;
    s->t_stop = t_next;
    pl_status status = pl_simulation_advance(s, budget);
    s->ended = status == PL_TERMINATED;
    return status;
}

pl_status pl_simulation_go(pl_simulation *s, pl_real t_next, int64_t budget) {
    if (!s->run) return go_plainly(s, t_next, budget);
    if (s->leg == PL_LEG_NONE && s->run->held) begin_settle(s, 1);
    if (s->leg == PL_LEG_SETTLE) {
        pl_status status = settled(s, budget);
        if (status != PL_FINISHED) return status;
    }
    if (s->ended) return PL_TERMINATED;
    if (s->leg == PL_LEG_NONE) begin_leg(s, t_next);
    pl_status status = pl_simulation_advance(s, budget);
    return status < 0 || status == PL_PAUSED ? status : end_leg(s, t_next);
}

pl_status pl_simulation_settle(pl_simulation *s, const pl_real *u, int64_t budget) {
    if (!s->run) return PL_FINISHED;
    if (s->leg == PL_LEG_NONE) {
        int waits = s->run->held;
        hold_inputs(s, u);
        begin_settle(s, waits);
    }
    return settled(s, budget);
}

void pl_simulation_stay(pl_simulation *s) {
    s->leg = PL_LEG_NONE;
}

pl_status pl_simulation_set_parameters(pl_simulation *s, const pl_real *p) {
    const pl_model *m = s->setup.model;
    if (!m || m->n_p == 0 || !m->set_parameters || !s->begun) return PL_OK;
    memcpy(s->p, p, (size_t)m->n_p * sizeof(pl_real));
    pl_status status = m->set_parameters(s->problem.self, s->p);
    if (status == PL_OK && s->run) status = pl_run_changed(s->run, &s->problem, s->method);
    return status == PL_OK
               ? status
               : pl_simulation_fail(s, status, PL_IN_INITIAL, -1, s->run ? s->run->t_reached : s->t);
}

void pl_simulation_state(pl_simulation *s, pl_real *x) {
    if (s->run) pl_run_present(s->run, s->method, x);
}

pl_status pl_simulation_state_with(pl_simulation *s, const pl_real *u, pl_real *x, pl_real *work) {
    pl_problem *p = &s->problem;
    if (!s->run || !p->linear || s->n_u == 0 || !pl_linear_has_algebraic(p->linear)) return PL_OK;
    const pl_inputs *inputs = p->inputs;
    p->inputs = NULL;
    memcpy(p->u, u, (size_t)s->n_u * sizeof(pl_real));
    pl_status status = pl_consistent(p, s->run->t_reached, x, work);
    p->inputs = inputs;
    if (status == PL_OK) pl_run_relinearise(s->run, s->method);
    return status;
}
