/* Root location on the dense output.
 *
 * A step is looked at in root_samples + 1 equal parts, and where ahead.c finds a crossing between them; a part in which a root function changes sign (in a
 * wanted direction) is narrowed, for all its root functions together, by the secant rule in Illinois form
 * with bisection whenever it does not halve the bracket in two trials, until the bracket is a few units of
 * rounding of t. The event is its right end, where the sign has changed; a function that fired on arriving exactly at
 * zero counts as having passed it. One that begins at zero does not fire by leaving it. (Hiebert & Shampine, Implicitly
 * Defined Output Points for Solutions of ODEs, Sandia 1980.)
 *
 * A root function that cannot be evaluated (it reads a branch outside of where that is defined) counts as beyond an event:
 * the bracket then narrows to where it ends. The event is that of a function that fires there, or if none can be asked,
 * of the one that has come nearest to zero.
 *
 * A part in which a function bends so much that it may cross zero and come back is halved: the parabola through the last three
 * points reaches beyond zero. Steps grow without bound where the states rest, whatever root functions of time do.
 */
#include "run.h"
#include "control.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What a function may have left of its value where it can no longer be evaluated, to be on the way to zero: */
#define LEFT_OF_STEP  0.5  /* ... of the value at the beginning of the step */
#define LEFT_OF_MOST  1e-6 /* ... of the largest value since the last restart */
#define MAX_NEAR      6
#define MAX_LATER     40 /* looks for an event with algebraic unknowns solved for, each twice as far */
#define SMALLEST_PART (1.0 / 1024.0) /* of the step */

static int8_t sign_of(pl_real v) {
    return (int8_t)((v > 0.0) - (v < 0.0));
}

/* +1, -1 if the root function fires going from sign `from` to the value g, else 0. A sign of +-2 stands for "on zero,
 * by an update or by an event": arriving at zero is no news then, only the other side is. */
static int8_t fires(const pl_model *m, int i, int8_t from, pl_real g) {
    if (!pl_root_watched(m, i)) return 0;
    int direction = m->root_direction ? m->root_direction[i] : 0;
    int8_t to = sign_of(g), way = from < 0 ? 1 : -1;
    if (g != g) return 0;
    int crossed = from == 2 || from == -2 ? to == way : from != 0 && from != to;
    return crossed && (direction == 0 || direction == way) ? way : 0;
}

/* Sign to compare with from the value g on. */
static int8_t next_sign(int8_t from, pl_real g) {
    int8_t to = sign_of(g);
    return g != g || (to == 0 && (from == 2 || from == -2)) ? from : to;
}

static int any_fires(const pl_run *r, const pl_model *m, const int8_t *sign, const pl_real *g) {
    for (int i = 0; i < r->n_roots; i++)
        if (fires(m, i, sign[i], g[i])) return 1;
    return 0;
}

static int any_unknown(const pl_run *r, const pl_real *g) {
    return r->n_roots > 0 && pl_first_nonfinite(r->n_roots, g) >= 0;
}

/* Algebraic unknowns of x as at the beginning of the bracket, where equations are defined. */
static void algebraic_before(pl_run *r, pl_problem *p, const void *state, pl_real *x) {
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    pl_real *before = pl_run_x(r, RUN_WORK);
    pl_run_at(r, state, r->t_left, before);
    for (int i = 0; i < r->n_x; i++)
        if (algebraic[i]) x[i] = before[i];
}

/* Root functions; one that is held passes zero later by so much. */
static pl_status roots(pl_run *r, pl_problem *p, pl_real t, const pl_real *x, pl_real *g) {
    const pl_real *hold = pl_run_g(r, RUN_G_HOLD);
    const int8_t *sign = pl_run_sign(r);
    pl_status status = pl_roots(p, t, x, g);
    for (int i = 0; r->held_roots && i < r->n_roots; i++) g[i] += sign[i] < 0 ? -hold[i] : hold[i];
    return status;
}

/* Root functions at t, x in RUN_TRY; those that cannot be evaluated there are NaN. `solve`: for algebraic unknowns, too,
 * instead of taking them from the dense output. */
static pl_status evaluate(pl_run *r, pl_problem *p, const void *state, pl_real t, int solve, pl_real *g) {
    const pl_stepper *head = state;
    pl_real *x = pl_run_x(r, RUN_TRY);
    pl_run_at(r, state, t, x);
    pl_status status = PL_OK;
    if (solve) {
        status = pl_consistent_near(p, t, x, MAX_NEAR, pl_run_x(r, RUN_WORK));
        int undefined = status == PL_RETRY || status == PL_NONFINITE;
        if (status == PL_CONVERGENCE || undefined) { /* with a matrix of its own */
            pl_run_at(r, state, t, x);
            if (undefined) algebraic_before(r, p, state, x);
            status = pl_consistent(p, t, x, pl_run_x(r, RUN_WORK));
            pl_run_method(r)->forget((void *)state);
        }
        undefined = status == PL_RETRY || status == PL_NONFINITE;
        if (status == PL_INCONSISTENT || status == PL_SINGULAR || undefined) return PL_CONVERGENCE;
    }
    if (t > head->t && p->model->mass.start) { /* never continued */
        status = pl_consistent(p, t, x, pl_run_x(r, RUN_WORK));
        pl_run_method(r)->forget((void *)state);
        if (status == PL_INCONSISTENT || status == PL_SINGULAR) status = PL_RETRY;
    }
    if (status == PL_OK) status = roots(r, p, t, x, g);
    if (status != PL_RETRY && status != PL_NONFINITE) return status;
    for (int i = 0; i < r->n_roots; i++)
        if (status == PL_RETRY || !(g[i] - g[i] == 0.0)) g[i] = NAN;
    return PL_OK;
}

pl_status pl_event_reset(pl_run *r, pl_problem *p, pl_real t, const pl_real *x) {
    pl_real *g = pl_run_g(r, RUN_G_LEFT);
    int8_t *sign = pl_run_sign(r);
    pl_status status = pl_roots(p, t, x, g);
    for (int i = 0; i < r->n_roots; i++) sign[i] = status == PL_OK ? sign_of(g[i]) : 0;
    for (int i = 0; r->held_roots && i < r->n_roots; i++) g[i] += sign[i] * pl_run_g(r, RUN_G_HOLD)[i];
    for (int i = 0; i < r->n_roots; i++) pl_run_g(r, RUN_G_OLD)[i] = pl_run_g(r, RUN_G_MOST)[i] = fabs(g[i]);
    r->t_past = t;
    return status;
}

void pl_event_put_back(pl_run *r) {
    const pl_real *at_event = pl_run_g(r, RUN_G_RIGHT), *now = pl_run_g(r, RUN_G_LEFT);
    const int8_t *fired = pl_run_fired(r);
    int8_t *sign = pl_run_sign(r);
    for (int i = 0; i < r->n_roots; i++)
        if (fired[i] && now[i] == 0.0) sign[i] = (int8_t)(at_event[i] != 0.0 ? -2 * fired[i] : 2 * fired[i]);
}

/* Next trial point in (a, b): secant on the function that crosses soonest, halves weighting the stuck side.
 */
static pl_real trial_point(pl_run *r, const pl_model *m, pl_real a, pl_real b, pl_real weight_a,
                           pl_real weight_b) {
    const int8_t *sign = pl_run_sign(r);
    const pl_real *left = pl_run_g(r, RUN_G_LEFT), *right = pl_run_g(r, RUN_G_RIGHT);
    pl_real best = 1.0;
    for (int i = 0; i < r->n_roots; i++) {
        if (!fires(m, i, sign[i], right[i])) continue;
        pl_real l = weight_a * fabs(left[i]), u = weight_b * fabs(right[i]);
        if (l + u > 0.0) best = fmin(best, l / (l + u));
    }
    if (best == 1.0) best = 0.5; /* nothing to go by: the right end cannot be evaluated */
    return a + fmin(fmax(best, 0.02), 0.98) * (b - a);
}

/* Narrow [a, b]; g at a in G_LEFT, at b in G_RIGHT. */
static pl_status narrow(pl_run *r, pl_problem *p, const void *state, pl_real *a, pl_real *b) {
    const pl_model *m = p->model;
    const int8_t *sign = pl_run_sign(r);
    pl_real *left = pl_run_g(r, RUN_G_LEFT), *right = pl_run_g(r, RUN_G_RIGHT),
            *trial = pl_run_g(r, RUN_G_TRY);
    pl_real weight_a = 1.0, weight_b = 1.0, width_before = 2.0 * (*b - *a);
    size_t bytes = (size_t)r->n_roots * sizeof(pl_real);
    for (int count = 0; count < 200; count++) {
        pl_real tolerance = 4.0 * DBL_EPSILON * fmax(fabs(*a), fabs(*b)), width = *b - *a;
        if (width <= tolerance) break;
        int bisect = count % 2 == 0 && count > 0 && width > 0.5 * width_before;
        if (count % 2 == 0) width_before = width;
        pl_real t = bisect ? *a + 0.5 * width : trial_point(r, m, *a, *b, weight_a, weight_b);
        t = fmin(fmax(t, *a + 0.5 * tolerance), *b - 0.5 * tolerance);
        if (t <= *a || t >= *b) break;
        pl_status status = evaluate(r, p, state, t, 0, trial);
        if (status != PL_OK) return status;
        if (any_fires(r, m, sign, trial) || any_unknown(r, trial)) {
            *b = t;
            memcpy(right, trial, bytes);
            weight_a = weight_b < 1.0 ? 1.0 : weight_a; /* Illinois: halve the end that stays */
            weight_a *= 0.5;
            weight_b = 1.0;
        } else {
            *a = t;
            memcpy(left, trial, bytes);
            weight_b *= 0.5;
            weight_a = 1.0;
        }
    }
    return PL_OK;
}

/* Whether a function that has the same sign at a and b may have another one between them. */
static int may_return(pl_run *r, const pl_model *m, pl_real a, pl_real b) {
    const pl_real *past = pl_run_g(r, RUN_G_PAST), *left = pl_run_g(r, RUN_G_LEFT),
                  *right = pl_run_g(r, RUN_G_RIGHT);
    pl_real before = a - r->t_past, after = b - a, reach = 0.25 * after * after / (before + after);
    if (!(before > 0.0) || any_fires(r, m, pl_run_sign(r), right)) return 0;
    for (int i = 0; i < r->n_roots; i++) {
        pl_real bend = fabs((right[i] - left[i]) / after - (left[i] - past[i]) / before);
        if (fmin(fabs(left[i]), fabs(right[i])) < reach * bend && left[i] * right[i] > 0.0) return 1;
    }
    return 0;
}

/* What function i has left on the way to zero, 1: too much. */
static pl_real left_over(pl_run *r, int i) {
    pl_real before = fmax(fabs(pl_run_g(r, RUN_G_OLD)[i]), fabs(pl_run_g(r, RUN_G_KEPT)[i]));
    pl_real enough = fmax(LEFT_OF_STEP * before, LEFT_OF_MOST * pl_run_g(r, RUN_G_MOST)[i]);
    pl_real left = fabs(pl_run_g(r, RUN_G_LEFT)[i]);
    return left < enough ? left / enough : 1.0;
}

/* Which functions fire at b, the end of a bracket whose beginning is in G_LEFT. Where none can be asked: the one that is
 * nearest to zero, as its course so far tells. 0: none. */
static int set_fired(pl_run *r, const pl_model *m) {
    const int8_t *sign = pl_run_sign(r);
    const pl_real *left = pl_run_g(r, RUN_G_LEFT), *right = pl_run_g(r, RUN_G_RIGHT);
    int8_t *fired = pl_run_fired(r), any = 0;
    for (int i = 0; i < r->n_roots; i++) any |= (fired[i] = fires(m, i, sign[i], right[i])) != 0;
    if (any) return 1;
    pl_real best = 1.0;
    int nearest = -1;
    for (int i = 0; i < r->n_roots; i++) {
        if (right[i] == right[i] || !fires(m, i, sign[i], -left[i]) || left_over(r, i) >= best) continue;
        best = left_over(r, i);
        nearest = i;
    }
    if (nearest >= 0) fired[nearest] = fires(m, nearest, sign[nearest], -left[nearest]);
    return nearest >= 0;
}

/* One bracket [a, b] with values in G_LEFT and G_RIGHT: is there an event, and where? */
static pl_status look(pl_run *r, pl_problem *p, const void *state, pl_real a, pl_real *b, int *found) {
    pl_real *left = pl_run_g(r, RUN_G_LEFT), *right = pl_run_g(r, RUN_G_RIGHT),
            *kept = pl_run_g(r, RUN_G_KEPT);
    *found = 0;
    int unknown = any_unknown(r, right);
    if (!unknown && !any_fires(r, p->model, pl_run_sign(r), right)) return PL_OK;
    pl_failure failure = p->failure;
    memcpy(kept, left, (size_t)r->n_roots * sizeof(pl_real));
    pl_status status = narrow(r, p, state, &a, b);
    if (status != PL_OK) return status;
    *found = set_fired(r, p->model);
    if (*found || !unknown) return PL_OK;
    p->failure = failure; /* of the function that could not be evaluated */
    return (pl_status)failure.status;
}

/* How long until a function that fired at b by the dense output, and has the value `at_b` with algebraic unknowns solved
 * for, does so, too: by its mean slope in the step. */
static pl_real delay(pl_run *r, pl_real span, const pl_real *at_b) {
    const pl_real *kept = pl_run_g(r, RUN_G_KEPT);
    pl_real least = HUGE_VAL;
    for (int i = 0; i < r->n_roots; i++)
        if (pl_run_fired(r)[i] && fabs(kept[i]) > 0.0) least = fmin(least, span * fabs(at_b[i] / kept[i]));
    return least;
}

/* Does a root function at t read algebraic unknowns? One correction of them shows it. right: its values without. */
static int reads_algebraic(pl_run *r, pl_problem *p, const void *state, pl_real t, const pl_real *right) {
    pl_real *x = pl_run_x(r, RUN_TRY), *g = pl_run_g(r, RUN_G_TRY);
    if (!p->model->mass.start || !pl_linear_has_algebraic(p->linear)) return 0;
    pl_run_at(r, state, t, x);
    pl_status status = pl_consistent_near(p, t, x, 1, pl_run_x(r, RUN_WORK));
    if (status == PL_OK || status == PL_CONVERGENCE) status = roots(r, p, t, x, g);
    for (int i = 0; i < r->n_roots && status == PL_OK; i++)
        if (pl_run_fired(r)[i] && g[i] != right[i]) return 1;
    return status != PL_OK;
}

/* Solved for, algebraic unknowns do not fire up to `from`, and have no solution at `to`, on the side that still holds: the
 * event is where that ends. What fired by the dense output fires there. */
static pl_status end_of_side(pl_run *r, pl_problem *p, const void *state, pl_real from, pl_real to,
                             pl_real *b) {
    pl_real *trial = pl_run_g(r, RUN_G_TRY);
    while (to - from > 4.0 * DBL_EPSILON * fabs(to)) {
        pl_real t = from + 0.5 * (to - from);
        pl_status status = evaluate(r, p, state, t, 1, trial);
        if (status != PL_OK && status != PL_CONVERGENCE) return status;
        if (status == PL_OK && !any_unknown(r, trial) && !any_fires(r, p->model, pl_run_sign(r), trial))
            from = t;
        else
            to = t;
    }
    pl_status status = evaluate(r, p, state, to, 0, trial);
    if (status != PL_OK) return status;
    *b = to;
    for (int i = 0; i < r->n_roots; i++)
        if (trial[i] == trial[i]) pl_run_g(r, RUN_G_RIGHT)[i] = trial[i];
    return PL_OK;
}

/* Algebraic unknowns of the dense output are right within the tolerance, and an event that they set off may not last: solved
 * for after it, they are short of it, and meet it a second time. So they are solved for at b, and if nothing fires there,
 * a little later, by as much as they were wrong. Without success the dense output has the last word. */
static pl_status solve_event(pl_run *r, pl_problem *p, const void *state, pl_real *b, pl_real end,
                             int *found) {
    pl_real *right = pl_run_g(r, RUN_G_RIGHT), *trial = pl_run_g(r, RUN_G_TRY), t = *b, later = 0.0,
            last = *b;
    pl_failure failure = p->failure;
    if (!reads_algebraic(r, p, state, *b, right)) return PL_OK;
    for (int count = 0; count < MAX_LATER; count++) {
        pl_status status = evaluate(r, p, state, t, 1, trial);
        if (status == PL_CONVERGENCE || (status == PL_OK && any_unknown(r, trial))) {
            status = count > 0 ? end_of_side(r, p, state, last, t, b) : PL_OK;
            if (status != PL_OK) return status;
            break;
        }
        if (status != PL_OK) return status;
        last = t;
        int fires_now = any_fires(r, p->model, pl_run_sign(r), trial);
        if (fires_now || t == end) {
            memcpy(right, trial, (size_t)r->n_roots * sizeof(pl_real));
            *b = t;
            *found = r->solved = fires_now && set_fired(r, p->model);
            memcpy(pl_run_x(r, RUN_BEFORE), pl_run_x(r, RUN_TRY), (size_t)r->n_x * sizeof(pl_real));
            return PL_OK;
        }
        if (count == 0) later = delay(r, *b - r->t_left, trial);
        later = fmax(2.0 * later, 4.0 * DBL_EPSILON * fabs(t));
        t = fmin(*b + later, end);
    }
    p->failure = failure;
    return PL_OK;
}

int pl_event_ahead(pl_run *r, pl_problem *p, const void *state, pl_real t_far, pl_real *t_event) {
    const pl_stepper *head = state;
    size_t bytes = (size_t)r->n_roots * sizeof(pl_real);
    pl_real *left = pl_run_g(r, RUN_G_LEFT), b = t_far;
    int found = 0;
    pl_failure failure = p->failure;
    pl_status status = evaluate(r, p, state, head->t, 0, left);
    if (status == PL_OK && !any_unknown(r, left)) {
        status = evaluate(r, p, state, b, 0, pl_run_g(r, RUN_G_RIGHT));
        if (status == PL_OK) status = look(r, p, state, head->t, &b, &found);
        memcpy(left, pl_run_g(r, RUN_G_KEPT), found ? bytes : 0);
    }
    p->failure = failure;
    *t_event = b;
    return status == PL_OK && found;
}

int pl_event_fires(pl_run *r, pl_problem *p, pl_real t, const pl_real *x) {
    pl_real *g = pl_run_g(r, RUN_G_TRY);
    int8_t *fired = pl_run_fired(r), any = 0;
    pl_status status = roots(r, p, t, x, g);
    if (status != PL_OK && status != PL_NONFINITE) return 0;
    for (int i = 0; i < r->n_roots; i++) any |= (fired[i] = fires(p->model, i, pl_run_sign(r)[i], g[i])) != 0;
    return any;
}

pl_status pl_event_refresh(pl_run *r, pl_problem *p, const void *state, pl_real t) {
    pl_real *left = pl_run_g(r, RUN_G_LEFT), *now = pl_run_g(r, RUN_G_TRY);
    int8_t *sign = pl_run_sign(r);
    if (!any_unknown(r, left)) return PL_OK;
    pl_status status = evaluate(r, p, state, t, 0, now);
    for (int i = 0; i < r->n_roots && status == PL_OK; i++)
        if (left[i] != left[i]) {
            left[i] = now[i];
            sign[i] = sign_of(now[i]);
        }
    return status == PL_OK && any_unknown(r, left) ? (pl_status)p->failure.status : status;
}

pl_status pl_event_search(pl_run *r, pl_problem *p, const void *state, int *found, pl_real *t_event) {
    const pl_stepper *head = state;
    int8_t *sign = pl_run_sign(r), *fired = pl_run_fired(r);
    pl_real *left = pl_run_g(r, RUN_G_LEFT), *right = pl_run_g(r, RUN_G_RIGHT),
            *most = pl_run_g(r, RUN_G_MOST);
    int parts = r->opt.root_samples + 1;
    pl_real seen = r->n_path > 0 ? pl_ahead_path(r, p, state) : HUGE_VAL;
    pl_real least = SMALLEST_PART * (head->t - head->t_old);
    *found = r->solved = 0;
    if (r->t_left == head->t_old) memcpy(pl_run_g(r, RUN_G_OLD), left, (size_t)r->n_roots * sizeof(pl_real));
    for (int k = 1; k <= parts && !*found;) {
        pl_real part = k == parts ? head->t : head->t_old + (head->t - head->t_old) * k / parts;
        pl_real b = part, a = r->t_left;
        if (b <= a) {
            k++;
            continue;
        }
        if (seen > a && seen < b) b = seen; /* there first, then this part again */
        b = fmin(b, pl_watch_look(p, a));
        pl_status status = evaluate(r, p, state, b, 0, right);
        while (status == PL_OK && b - a > least && may_return(r, p->model, a, b)) {
            b = a + 0.5 * (b - a);
            status = evaluate(r, p, state, b, 0, right);
        }
        k += b == part;
        r->t_past = a;
        memcpy(pl_run_g(r, RUN_G_PAST), left, (size_t)r->n_roots * sizeof(pl_real));
        pl_real end = b;
        if (status == PL_OK) status = look(r, p, state, a, &b, found);
        if (status == PL_OK && *found) status = solve_event(r, p, state, &b, end, found);
        if (status != PL_OK) return status;
        if (*found) *t_event = b;
        for (int i = 0; i < r->n_roots; i++) {
            /* an event exactly on zero counts as beyond it: the way back is another one */
            int8_t next = next_sign(sign[i], right[i]);
            sign[i] = *found && fired[i] && right[i] == 0.0 ? (int8_t)(2 * fired[i]) : next;
            left[i] = right[i];
            most[i] = fmax(most[i], fabs(right[i]));
        }
        r->t_left = b;
    }
    return PL_OK;
}
