/* Root location on the dense output.
 *
 * A step is looked at in root_samples + 1 equal parts, and where ahead.c finds a crossing between them; a part in which a root function changes sign (in a
 * wanted direction) is narrowed, for all its root functions together, by the secant rule in Illinois form
 * with bisection whenever it does not halve the bracket in two trials, until the bracket is a few units of
 * rounding of t. The event is its right end, where the sign has changed; a function that fired on arriving exactly at
 * zero counts as having passed it. One that begins at zero does not fire by leaving it. (Hiebert & Shampine, Implicitly Defined Output Points for Solutions of ODEs,
 * Sandia 1980.)
 */
#include "run.h"

#include <float.h>
#include <math.h>
#include <string.h>

static int8_t sign_of(pl_real v) {
    return (int8_t)((v > 0.0) - (v < 0.0));
}

/* +1, -1 if the root function fires going from sign `from` to the value g, else 0. A sign of +-2 stands for "on zero,
 * by an update or by an event": arriving at zero is no news then, only the other side is. */
static int8_t fires(const pl_model *m, int i, int8_t from, pl_real g) {
    if (!pl_root_watched(m, i)) return 0;
    int direction = m->root_direction ? m->root_direction[i] : 0;
    int8_t to = sign_of(g), way = from < 0 ? 1 : -1;
    int crossed = from == 2 || from == -2 ? to == way : from != 0 && from != to;
    return crossed && (direction == 0 || direction == way) ? way : 0;
}

/* Sign to compare with from the value g on. */
static int8_t next_sign(int8_t from, pl_real g) {
    int8_t to = sign_of(g);
    return to == 0 && (from == 2 || from == -2) ? from : to;
}

static int any_fires(const pl_run *r, const pl_model *m, const int8_t *sign, const pl_real *g) {
    for (int i = 0; i < r->n_roots; i++)
        if (fires(m, i, sign[i], g[i])) return 1;
    return 0;
}

static pl_status evaluate(pl_run *r, pl_problem *p, const void *state, pl_real t, pl_real *g) {
    const pl_method *method = pl_method_of(r->method);
    pl_real *x = pl_run_x(r, RUN_TRY);
    method->interpolate(state, t, 0, x);
    return pl_roots(p, t, x, g);
}

pl_status pl_event_reset(pl_run *r, pl_problem *p, pl_real t, const pl_real *x) {
    pl_real *g = pl_run_g(r, RUN_G_LEFT);
    int8_t *sign = pl_run_sign(r);
    pl_status status = pl_roots(p, t, x, g);
    for (int i = 0; i < r->n_roots; i++) sign[i] = status == PL_OK ? sign_of(g[i]) : 0;
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
        pl_status status = evaluate(r, p, state, t, trial);
        if (status != PL_OK) return status;
        if (any_fires(r, m, sign, trial)) {
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

pl_status pl_event_search(pl_run *r, pl_problem *p, const void *state, int *found, pl_real *t_event) {
    const pl_model *m = p->model;
    const pl_stepper *head = state;
    int8_t *sign = pl_run_sign(r), *fired = pl_run_fired(r);
    pl_real *left = pl_run_g(r, RUN_G_LEFT), *right = pl_run_g(r, RUN_G_RIGHT);
    int parts = r->opt.root_samples + 1;
    pl_real seen = r->n_path > 0 ? pl_ahead_path(r, p, state) : HUGE_VAL;
    *found = 0;
    for (int k = 1; k <= parts && !*found; k++) {
        pl_real b = k == parts ? head->t : head->t_old + (head->t - head->t_old) * k / parts, a = r->t_left;
        if (b <= a) continue;
        if (seen > a && seen < b) { /* there first, then this part again */
            b = seen;
            k--;
        }
        pl_status status = evaluate(r, p, state, b, right);
        if (status != PL_OK) return status;
        if (any_fires(r, m, sign, right)) {
            status = narrow(r, p, state, &a, &b);
            if (status != PL_OK) return status;
            *found = 1;
            *t_event = b;
            for (int i = 0; i < r->n_roots; i++) fired[i] = fires(m, i, sign[i], right[i]);
        }
        for (int i = 0; i < r->n_roots; i++) {
            /* an event exactly on zero counts as beyond it: the way back is another one */
            int8_t next = next_sign(sign[i], right[i]);
            sign[i] = *found && fired[i] && right[i] == 0.0 ? (int8_t)(2 * fired[i]) : next;
            left[i] = right[i];
        }
        r->t_left = b;
    }
    return PL_OK;
}
