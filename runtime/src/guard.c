/* Steps that the model refuses because an event lies before their end.
 *
 * Relations are held within a step, so a trial beyond the crossing evaluates a branch where it may not be defined, as in
 * "if x > 0 then sqrt(x) else 0". Such a step must end at the event, and cannot get beyond it to see it. So x is continued
 * from the last step, and the event is where a root function fires on that way, at t_c = t_n + d. Steps end at
 * t_n + AIM d, each with a new t_c, until the continuation up to t_c is surer than the tolerance asks for by far:
 *
 *     |x(t_n + d) - 2 x(t_n + d/2) + x(t_n)| <= NEAR (rtol |x| + atol)        (a polynomial of degree > 1 is known)
 *     |x(t_n + d) - x(t_n)|                  <= NEAR (rtol |x| + atol)        (only x')
 *
 * for all that L makes continuous; algebraic unknowns are solved for at the event. Then the event is at t_c. The same serves
 * a time event or input jump whose own instant cannot be evaluated for rounding.
 */
#include "run.h"
#include "control.h"

#include <math.h>
#include <string.h>

#define AIM          0.9
#define NEAR         0.01
#define NEAR_LAST    1.0   /* the same where the method has given up */
#define REACH        3.0   /* how much later than expected an event may be, in distances to it */
#define FAR_LAST     1e3   /* how far a method that has given up looks, in last steps tried */
#define MOST_LAST    100.0 /* ... and how far from the event x may be, in tolerances */
#define FEW          10.0  /* smallest steps: nearer than that is there */
#define ROW_ZONE     1e-3 /* of the step: how far before an event rows may lie whose outputs are not defined */
#define MAX_REFUSALS 200  /* without a step */

int pl_run_at(pl_run *r, const void *state, pl_real t, pl_real *x) {
    const pl_method *method = pl_run_method(r);
    const pl_stepper *head = state;
    if (t < head->t) {
        method->interpolate(state, t, 0, x);
        return head->order;
    }
    int degree = method->ahead ? method->ahead(state, t, x) : 0;
    if (degree > 0) return degree;
    memcpy(x, method->x((void *)state), (size_t)r->n_x * sizeof(pl_real));
    if (r->t_slope != head->t || !(t > head->t)) return 0;
    const pl_real *slope = pl_run_x(r, RUN_SLOPE);
    for (int i = 0; i < r->n_x; i++) x[i] += (t - head->t) * slope[i];
    return 1;
}

/* x' where the method stands, for methods that do not know how to go on. */
static pl_status find_slope(pl_run *r, pl_problem *p, void *state, pl_real distance) {
    const pl_stepper *head = state;
    const pl_method *method = pl_run_method(r);
    pl_real *x = pl_run_x(r, RUN_TRY), *f = pl_run_x(r, RUN_WORK), *work = f + r->n_x;
    if (r->t_slope == head->t || (method->ahead && method->ahead(state, head->t, x) > 0)) return PL_OK;
    memcpy(x, method->x(state), (size_t)r->n_x * sizeof(pl_real));
    pl_status status = pl_rhs(p, head->t, x, f);
    if (status == PL_OK) status = pl_derivative(p, head->t, x, f, distance, pl_run_x(r, RUN_SLOPE), work);
    if (p->model->mass.start) method->forget(state);
    if (status == PL_OK) r->t_slope = head->t;
    return status;
}

/* The first event up to t_far as x goes on. */
static int find(pl_run *r, pl_problem *p, void *state, pl_real t_far, pl_real *t_event) {
    const pl_stepper *head = state;
    if (r->n_watched == 0 || !(t_far > head->t)) return 0;
    pl_failure failure = p->failure;
    pl_status status = find_slope(r, p, state, t_far - head->t);
    p->failure = failure;
    return status == PL_OK && pl_event_ahead(r, p, state, t_far, t_event);
}

static int continuous(const pl_model *m, int i) {
    return !m->mass.start || m->mass.start[i + 1] > m->mass.start[i];
}

/* Is x at t known well enough, to `share` of the tolerance? */
static int is_near(pl_run *r, pl_problem *p, void *state, pl_real t, pl_real share) {
    const pl_stepper *head = state;
    pl_real d = t - head->t, *end = pl_run_x(r, RUN_TRY), *middle = pl_run_x(r, RUN_WORK),
            *x = middle + r->n_x;
    if (d <= FEW * pl_smallest_step(head->t)) return 1;
    if (head->t > head->t_old && d > head->h) return 0;
    int degree = pl_run_at(r, state, t, end);
    pl_run_at(r, state, head->t + 0.5 * d, middle);
    pl_run_at(r, state, head->t, x);
    for (int i = 0; i < r->n_x; i++) {
        pl_real change = degree > 1 ? end[i] - 2.0 * middle[i] + x[i] : end[i] - x[i];
        if (continuous(p->model, i) && !(fabs(change) <= share * (p->rtol * fabs(x[i]) + p->atol[i])))
            return 0;
    }
    return degree > 0;
}

int pl_guard_refused(pl_problem *p, pl_real t) {
    const pl_guard *guard = p->watcher;
    pl_run *r = guard->run;
    const pl_stepper *head = guard->state;
    pl_real t_event = 0.0;
    int aim = PL_AIM_NONE;
    if (r->refusals++ >= MAX_REFUSALS) return 0;
    /* relations turn a little beyond where their sides meet: the event may be just behind t, too */
    pl_real beyond = head->t + fmax(2.0 * (t - head->t), head->t > head->t_old ? head->h : 0.0);
    if (find(r, p, guard->state, t, &t_event) || find(r, p, guard->state, beyond, &t_event)) {
        aim = PL_AIM_ROOT;
    } else if (t >= guard->limit && guard->limit < r->t_stop) {
        aim = PL_AIM_LIMIT;
        t_event = guard->limit;
    }
    if (aim == PL_AIM_NONE) return 0;
    r->aim = aim;
    r->t_aim = t_event;
    return AIM * (t_event - head->t) < 0.99 * (t - head->t) || is_near(r, p, guard->state, t_event, NEAR);
}

pl_status pl_guard_aim(pl_run *r, pl_problem *p, void *state, pl_real *limit) {
    const pl_stepper *head = state;
    if (r->aim == PL_AIM_LIMIT) r->t_aim = *limit;
    if (r->aim == PL_AIM_ROOT) {
        pl_real reach = r->t_aim > head->t ? REACH * (r->t_aim - head->t) : head->h;
        if (!find(r, p, state, fmin(head->t + reach, *limit), &r->t_aim)) {
            r->aim = PL_AIM_NONE;
            return PL_OK;
        }
    }
    if (r->aim == PL_AIM_THERE || is_near(r, p, state, r->t_aim, NEAR)) return PL_EVENT;
    *limit = fmin(*limit, head->t + AIM * (r->t_aim - head->t));
    return PL_OK;
}

/* Do so many tolerances of one component of x make a root function fire? Sets pl_run_fired. */
static int within(pl_run *r, pl_problem *p, const void *state, pl_real tolerances) {
    const pl_stepper *head = state;
    pl_real *x = pl_run_x(r, RUN_TRY);
    pl_failure failure = p->failure;
    int found = 0;
    pl_run_at(r, state, head->t, x);
    for (int k = 0; k < 2 * r->n_x && !found; k++) {
        pl_real is = x[k / 2], tolerance = tolerances * (p->rtol * fabs(is) + p->atol[k / 2]);
        x[k / 2] = is + (k % 2 ? tolerance : -tolerance);
        found = pl_event_fires(r, p, head->t, x);
        x[k / 2] = is;
    }
    p->failure = failure;
    return found;
}

int pl_guard_last(pl_run *r, pl_problem *p, void *state) {
    const pl_stepper *head = state;
    pl_real t_event;
    if (!r->started || r->n_watched == 0 || r->aim == PL_AIM_THERE) return 0;
    if (!find(r, p, state, head->t + FAR_LAST * p->failure.h, &t_event) ||
        !is_near(r, p, state, t_event, NEAR_LAST)) {
        pl_real tolerances = 1.0;
        while (tolerances <= MOST_LAST && !within(r, p, state, tolerances)) tolerances *= 10.0;
        if (tolerances > MOST_LAST) return 0;
        t_event = head->t;
    }
    r->aim = PL_AIM_THERE;
    r->t_aim = t_event;
    return 1;
}

int pl_guard_start(pl_run *r, pl_problem *p) {
    const pl_initial *in = p->model->initial;
    const pl_real t = r->t_reached;
    if (!in || !in->rescue || !in->accept || r->started || r->t_event != t || r->t_rescued == t) return 0;
    pl_failure failure = p->failure;
    r->t_rescued = t;
    in->rescue(p->self, 2);
    const int found = pl_rhs(p, t, pl_run_x(r, RUN_AFTER), pl_run_x(r, RUN_TRY)) == PL_OK;
    in->rescue(p->self, 0);
    if (found)
        in->accept(p->self);
    else
        p->failure = failure;
    return found;
}

/* 1: there is one more row, of finite outputs; 0: there is none; < 0: failed. */
static int try_row(pl_problem *p, pl_output *out, pl_real t, const pl_real *x) {
    int64_t used = out->used;
    pl_status status = pl_run_row(p, out, t, x);
    if (status != PL_OK && status != PL_RETRY && status != PL_NONFINITE) return (int)status;
    const pl_real *y = out->row + (size_t)(used + 1) * (size_t)(1 + out->n_x + out->n_y) - out->n_y;
    if (status == PL_OK && pl_first_nonfinite(out->n_y, y) < 0) return 1;
    out->used = used;
    return 0;
}

pl_status pl_guard_row(pl_run *r, pl_problem *p, void *state, pl_output *out, pl_real t, const pl_real *x) {
    const pl_stepper *head = state;
    if (out->n_y == 0 || !r->started || !(t > head->t_old)) return pl_run_row(p, out, t, x);
    int done = try_row(p, out, t, x);
    if (done) return done < 0 ? (pl_status)done : PL_OK;
    pl_failure failure = p->failure;
    pl_real before = fmax(t - ROW_ZONE * head->h, head->t_old), beyond = t, *there = pl_run_x(r, RUN_WORK);
    for (int count = 0; count < 60 && beyond - before > pl_smallest_step(t); count++) {
        pl_real middle = count == 0 ? before : 0.5 * (before + beyond);
        pl_run_at(r, state, middle, there);
        done = try_row(p, out, middle, there);
        if (done < 0) return (pl_status)done;
        if (!done && count == 0) break;
        out->used -= done;
        *(done ? &before : &beyond) = middle;
    }
    pl_run_at(r, state, before, there);
    if (try_row(p, out, before, there) != 1) { /* not because of the event */
        p->failure = failure;
        return pl_run_row(p, out, t, x);
    }
    pl_real *row = out->row + (size_t)(out->used - 1) * (size_t)(1 + out->n_x + out->n_y);
    row[0] = t;
    for (int i = 0; i < out->n_x; i++) row[1 + i] = x[out->x_index[i]];
    return PL_OK;
}

void pl_guard_state(pl_run *r, pl_problem *p, void *state, pl_real t, pl_real *x) {
    pl_run_at(r, state, t, x);
    if (!p->model->mass.start) return;
    pl_real *given = pl_run_x(r, RUN_BEFORE);
    pl_failure failure = p->failure;
    memcpy(given, x, (size_t)r->n_x * sizeof(pl_real));
    if (pl_consistent(p, t, x, pl_run_x(r, RUN_WORK)) != PL_OK)
        memcpy(x, given, (size_t)r->n_x * sizeof(pl_real));
    p->failure = failure;
    pl_run_method(r)->forget(state);
}
