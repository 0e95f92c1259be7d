/* Content of f that comes from the inputs and lies between the nodes of a step, where f is not affine in them.
 *
 * An input may go from one value to another in a straight line and f be the same at both ends and different between them:
 * u (1 - u) on a ramp from 0 to 1. Nothing of that is in the deviations of u (watch.c), so f itself is looked at, with the
 * states held,
 *     φ(τ) = f(τ, x, u(τ)),    e(τ) = φ(τ) - φ^(τ),
 * φ^ the polynomial through φ at the nodes, at samples τ_i placed where the inputs move: equal shares of the variation
 *     V = sum_j var(u_j) / range(u_j)
 * over the step lie between them, PER_RANGE of them for each time that an input goes through its range. The effect of what
 * the step does not see is min(|sum_i w_i e_i|, |R e|) in tolerances, w_i the time that a share of V takes, R as in watch.c.
 * The step is fine if this is below PL_UNSEEN, or if the method sees that something happens and will judge by itself: φ at
 * the end of the step is not where the other nodes point to, and changes at the later nodes, by at least SEEN of the largest e. Otherwise it ends at the sample
 * of the largest e, and is looked at again; if the inputs rest first, it ends with the rest.
 *
 * The same for kinks of time, max(0, 1 - abs(time - 5)): samples lie between them.
 *
 * That costs evaluations, so only steps are looked at in which a bent input moves by more than FINE of its range in the run
 * and GROWN times as much, or STEEPER times as fast, as in a step that was fine; after a rest, after a jump, and every
 * REMEMBER steps anew.
 */
#include "watch.h"
#include "control.h"

#include <math.h>
#include <string.h>

#define PER_RANGE    8
#define MOST_SAMPLES 32
#define SEEN         0.25
#define NEAR                                                                                                 \
    100.0 /* effect, in tolerances, that error control may deal with: shorter steps of its own are not looked at */
#define FINE     (1.0 / 32.0)
#define GROWN    1.5
#define STEEPER  4.0
#define REMEMBER 25
#define ROUNDS   12
#define KINKS    8     /* of time that are looked at together */
#define BETWEEN  3     /* samples between two of them */
#define MAX_NEAR 4     /* corrections of algebraic unknowns at a sample */
#define RESTS    1e-13 /* changes below this share of |u| are rounding */

typedef struct samples {
    int n;
    pl_real t[MOST_SAMPLES], weight[MOST_SAMPLES];
} samples;

/* n_u each, then n_x each. */
typedef struct bend {
    pl_real *covered; /* change of the input in a step that was fine */
    pl_real *whole;   /* range in the run */
    pl_real *low, *high, *last, *now;
    pl_real *e, *worst, *sum;
    pl_real *f; /* at the nodes */
} bend;

size_t pl_bend_reals(int n_u, int n_x) {
    return 6 * (size_t)n_u + (size_t)(PL_MAX_NODES + 3) * (size_t)n_x;
}

static bend bend_of(pl_run *r) {
    size_t n_u = (size_t)r->n_u, n_x = (size_t)r->n_x;
    pl_real *u = pl_run_watch(r) + pl_watch_reals(r->n_u, r->n_x, 0), *x = u + 6 * n_u;
    bend b = {u,           u + n_u, u + 2 * n_u, u + 3 * n_u, u + 4 * n_u,
              u + 5 * n_u, x,       x + n_x,     x + 2 * n_x, x + 3 * n_x};
    return b;
}

static void widen(pl_real *low, pl_real *high, const pl_real *u, int n) {
    for (int j = 0; j < n; j++) {
        low[j] = fmin(low[j], u[j]);
        high[j] = fmax(high[j], u[j]);
    }
}

void pl_bend_init(pl_run *r, const pl_problem *p) {
    bend b = bend_of(r);
    const pl_inputs *in = p->inputs;
    int n = r->n_u;
    if (!in) return;
    for (int j = 0; j < n; j++) b.low[j] = HUGE_VAL, b.high[j] = -HUGE_VAL;
    for (int64_t k = 0; k < in->n_looks; k++) widen(b.low, b.high, in->look_u + (size_t)k * (size_t)n, n);
    for (int s = 0; s < in->n_segments && !in->call; s++)
        widen(b.low, b.high, in->coefficient + (size_t)s * (size_t)(in->degree + 1) * (size_t)n, n);
    for (int j = 0; j < n; j++) b.whole[j] = fmax(0.0, b.high[j] - b.low[j]);
}

/* φ at t. 0: it has no value there. */
static int along(pl_run *r, pl_problem *p, const pl_real *x, int follow, pl_real t, pl_real *f) {
    pl_real *at = pl_run_x(r, RUN_TRY);
    memcpy(at, x, (size_t)r->n_x * sizeof(pl_real));
    if (follow && pl_consistent_near(p, t, at, MAX_NEAR, pl_run_x(r, RUN_WORK)) != PL_OK) return 0;
    if (pl_set_inputs(p, t) != PL_OK) return 0;
    p->count->n_rhs++;
    return p->model->rhs(p->self, t, at, p->u, f) == PL_OK && pl_first_nonfinite(r->n_x, f) < 0;
}

/* The looks in a step, and its end, in order: time and inputs of number k; 0: there are no more. */
static int knot(pl_problem *p, int64_t first, int64_t k, pl_real T, pl_real *t, const pl_real **u) {
    const pl_inputs *in = p->inputs;
    if (first + k < in->n_looks && in->look[first + k] < T) {
        *t = in->look[first + k];
        *u = in->look_u + (size_t)(first + k) * (size_t)in->n_u;
        return 1;
    }
    if (k > 0 && *t >= T) return 0;
    *t = T;
    *u = p->u;
    return pl_set_inputs(p, T) == PL_OK;
}

/* Ranges of the inputs in the step; 1: f may hide something in it. */
static int moves(pl_run *r, pl_problem *p, pl_real t, pl_real T) {
    bend b = bend_of(r);
    int n = r->n_u, grown = 0, any = 0, rests = 1;
    int64_t first = pl_look_after(p->inputs, t);
    pl_real at = t;
    const pl_real *u;
    if (pl_set_inputs(p, t) != PL_OK) return 0;
    if (r->watch.bend_passed != p->passed) memset(b.covered, 0, (size_t)n * sizeof(pl_real));
    r->watch.bend_passed = p->passed; /* after a jump another story begins */
    for (int j = 0; j < n; j++) b.low[j] = b.high[j] = p->u[j];
    for (int64_t k = 0; knot(p, first, k, T, &at, &u); k++) widen(b.low, b.high, u, n);
    for (int j = 0; j < n; j++) {
        pl_real range = b.high[j] - b.low[j];
        if (!pl_input_bends(p->model, j) || range <= RESTS * fmax(fabs(b.low[j]), fabs(b.high[j]))) continue;
        rests = 0;
        if (range <= FINE * b.whole[j]) continue;
        any = 1;
        if (range > GROWN * b.covered[j] || range * r->watch.bend_h > STEEPER * b.covered[j] * (T - t))
            grown = 1;
    }
    /* ... and after a rest */
    if (rests) memset(b.covered, 0, (size_t)n * sizeof(pl_real));
    return grown || (any && r->watch.bend_age > REMEMBER);
}

/* Variation between `last` and u. */
static pl_real variation(const bend *b, const pl_model *m, int n, const pl_real *u) {
    pl_real v = 0.0;
    for (int j = 0; j < n; j++)
        if (b->high[j] > b->low[j] && pl_input_bends(m, j))
            v += fabs(u[j] - b->last[j]) / (b->high[j] - b->low[j]);
    return v;
}

/* Samples and their weights; their number. */
static int place(pl_run *r, pl_problem *p, pl_real t, pl_real T, pl_real *tau, pl_real *weight) {
    bend b = bend_of(r);
    int n = r->n_u, count = 0, m = 0;
    int64_t first = pl_look_after(p->inputs, t);
    pl_real total = 0.0, share = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        pl_real at = t, before = t, passed = 0.0;
        const pl_real *u;
        if (pl_set_inputs(p, t) != PL_OK) return 0;
        memcpy(b.last, p->u, (size_t)n * sizeof(pl_real));
        for (int64_t k = 0; knot(p, first, k, T, &at, &u); k++, before = at) {
            pl_real v = variation(&b, p->model, n, u);
            memcpy(b.last, u, (size_t)n * sizeof(pl_real));
            /* each sample in the middle of its share, with the time that the share takes */
            for (pl_real from = passed; pass && v > 0.0 && count <= m && from < passed + v;) {
                pl_real edge = (count + 1) * share, to = count == m ? HUGE_VAL : edge,
                        middle = edge - 0.5 * share;
                pl_real until = fmin(to, passed + v);
                if (count < m) {
                    weight[count] += (at - before) * (until - from) / v;
                    if (middle >= from && middle <= passed + v)
                        tau[count] = before + (at - before) * (middle - passed) / v;
                }
                from = until;
                if (until == to) count++;
            }
            passed += v;
        }
        if (pass) break;
        total = passed;
        if (!(total > 0.0)) return 0;
        m = (int)fmin(ceil(PER_RANGE * total), MOST_SAMPLES);
        share = total / m;
        for (int i = 0; i < m; i++) tau[i] = T, weight[i] = 0.0;
    }
    return m;
}

static void mix(pl_run *r, const pl_real *share, int from, int n, const pl_real *f, pl_real *e) {
    for (int k = from; k < n; k++)
        for (int i = 0; i < r->n_x; i++) e[i] -= share[k - from] * f[(size_t)k * (size_t)r->n_x + i];
}

/* What the method sees of it, in tolerances: what φ at the end of the step is beside the polynomial through the other
 * nodes, at most by how much φ changes at the later nodes, on which error estimates rest. */
static pl_real seen(pl_run *r, pl_problem *p, const void *state, const pl_nodes *nodes, const pl_real *x) {
    bend b = bend_of(r);
    size_t n = (size_t)r->n_x;
    pl_nodes others = {.n = nodes->n - 1};
    pl_real share[PL_MAX_NODES];
    for (int k = 0; k < others.n; k++) {
        others.t[k] = nodes->t[k + 1];
        others.w[k] = nodes->w[k + 1] * (nodes->t[k + 1] - nodes->t[0]);
    }
    memcpy(b.e, b.f, (size_t)r->n_x * sizeof(pl_real));
    pl_nodes_at(&others, nodes->t[0], share);
    mix(r, share, 1, nodes->n, b.f, b.e);
    pl_real news = pl_largest_weighted(p, b.e, x, 0), change = 0.0;
    pl_real now = ((const pl_stepper *)state)->t;
    int begin = 0;
    while (begin < nodes->n - 1 && nodes->t[begin] > now) begin++;
    for (int k = 0; k < begin && nodes->t[k] - now > 0.5 * (nodes->t[0] - now); k++) {
        for (int i = 0; i < r->n_x; i++) b.e[i] = b.f[(size_t)k * n + i] - b.f[(size_t)begin * n + i];
        change = fmax(change, pl_largest_weighted(p, b.e, x, 0));
    }
    return fmin(news, change);
}

/* The step to T: where it must end at most; *fine: it may be taken; *felt: f follows the inputs in it. */
static pl_real judge(pl_run *r, pl_problem *p, void *state, samples *at, pl_real T, int *fine, int *felt) {
    const pl_method *method = pl_run_method(r);
    const pl_real *x = method->x_now(state);
    bend b = bend_of(r);
    pl_nodes nodes;
    pl_real t = ((const pl_stepper *)state)->t, share[PL_MAX_NODES], area = 0.0, most = 0.0, where = T;
    const pl_real *tau = at->t, *weight = at->weight;
    size_t n = (size_t)r->n_x, bytes = n * sizeof(pl_real);
    int follow = p->linear && pl_linear_has_algebraic(p->linear);
    *fine = 1;
    *felt = 0;
    memset(b.sum, 0, bytes);
    memset(b.worst, 0, bytes);
    if (follow && !(method->response && method->response(state, p, T - t, b.sum) > 0.0)) return T;
    pl_nodes_make(r, state, T, &nodes);
    for (int k = 0; k < nodes.n; k++)
        if (!along(r, p, x, follow, nodes.t[k], b.f + (size_t)k * n)) return T;
    int begin = 0;
    while (begin < nodes.n - 1 && nodes.t[begin] > t) begin++;
    for (int i = 0; i < at->n; i++) {
        if (!(tau[i] > t && tau[i] < T) || !pl_nodes_at(&nodes, tau[i], share) ||
            !along(r, p, x, follow, tau[i], b.e))
            continue;
        const pl_real *first = b.f + (size_t)begin * n;
        for (size_t k = 0; k < n && !*felt; k++)
            *felt = fabs(b.e[k] - first[k]) * (T - t) > PL_UNSEEN * (p->rtol * fabs(x[k]) + p->atol[k]);
        mix(r, share, 0, nodes.n, b.f, b.e);
        for (size_t k = 0; k < n; k++) b.sum[k] += weight[i] * b.e[k];
        area = fmax(area, pl_largest_weighted(p, b.sum, x, 0));
        pl_real size = pl_largest_weighted(p, b.e, x, 0);
        if (!(size > most)) continue;
        most = size;
        where = tau[i];
        memcpy(b.worst, b.e, bytes);
    }
    if (area <= PL_UNSEEN) return T;
    pl_real h = method->response ? method->response(state, p, T - t, b.worst) : 0.0, effect = area;
    if (h > 0.0) effect = fmin(area, fmax(1.0, (T - t) / h) * pl_largest_weighted(p, b.worst, x, 1));
    if (effect <= PL_UNSEEN) return T;
    *fine = 0;
    return effect <= NEAR && seen(r, p, state, &nodes, x) >= SEEN * most ? T : where;
}

/* Up to where the inputs rest from t on: the last look before they move, t if they do so at once. */
static pl_real rest_until(pl_run *r, pl_problem *p, pl_real t, pl_real T) {
    bend b = bend_of(r);
    int64_t first = pl_look_after(p->inputs, t + 16.0 * pl_smallest_step(t));
    pl_real at = t, until = t;
    const pl_real *u;
    if (pl_set_inputs(p, t) != PL_OK) return t;
    memcpy(b.now, p->u, (size_t)r->n_u * sizeof(pl_real));
    for (int64_t k = 0; knot(p, first, k, T, &at, &u) && at < T; k++) {
        for (int j = 0; j < r->n_u; j++)
            if (pl_input_bends(p->model, j) && fabs(u[j] - b.now[j]) > RESTS * fabs(b.now[j])) return until;
        until = at;
    }
    return until;
}

pl_real pl_bend_limit(pl_run *r, pl_problem *p, void *state, pl_real T) {
    const pl_stepper *head = state;
    bend b = bend_of(r);
    pl_failure failure = p->failure;
    r->watch.bend_age++;
    for (int round = 0; round < ROUNDS && moves(r, p, head->t, T); round++) {
        int fine, felt;
        samples at;
        at.n = place(r, p, head->t, T, at.t, at.weight);
        pl_real to = judge(r, p, state, &at, T, &fine, &felt);
        /* where f does not follow the inputs nothing is known of what it does when it begins to */
        for (int j = 0; j < r->n_u; j++) b.covered[j] = fine && felt ? b.high[j] - b.low[j] : 0.0;
        if (fine) r->watch.bend_age = 0;
        r->watch.bend_h = T - head->t;
        pl_real rest = fine ? head->t : rest_until(r, p, head->t, T);
        if (rest > head->t) to = rest;
        if (to >= T) break;
        T = to;
    }
    p->failure = failure; /* what cannot be evaluated here is left to the step itself */
    return T;
}

/* Kinks of time from where the step begins, at most KINKS, and the end of the step. */
static int kinks_to(pl_problem *p, pl_real t, pl_real T, pl_real *at) {
    int n = 0;
    for (pl_real from = t; n < KINKS; n++) {
        at[n] = pl_ahead_kink(p, from + 16.0 * pl_smallest_step(from), T);
        if (at[n] >= T - pl_smallest_step(T)) break;
        from = at[n];
    }
    at[n < KINKS ? n : KINKS - 1] = n < KINKS ? T : at[KINKS - 1];
    return n < KINKS ? n + 1 : KINKS;
}

pl_real pl_kink_limit(pl_run *r, pl_problem *p, void *state, pl_real T) {
    const pl_stepper *head = state;
    pl_real t = head->t, whole = T - t, next = HUGE_VAL, knot[KINKS];
    pl_failure failure = p->failure;
    int here =
        fabs(t - r->watch.kink) <= 16.0 * pl_smallest_step(t); /* behind a kink there may be anything */
    if (T < r->watch.kink && !here) return T;
    for (int round = 0; round < ROUNDS; round++) {
        samples at = {.n = 0};
        int fine, felt, n = kinks_to(p, t, T, knot);
        if (round == 0 && n > 1) next = knot[0];
        if (n == 1 && !here && round == 0) break;
        for (int k = 0; k < n; k++) {
            pl_real from = k ? knot[k - 1] : t, width = knot[k] - from;
            for (int i = 0; i < BETWEEN; i++, at.n++) {
                at.t[at.n] = from + width * (i + 0.5) / BETWEEN;
                at.weight[at.n] = width / BETWEEN;
            }
        }
        T = fmin(T, knot[n - 1]);
        pl_real to = judge(r, p, state, &at, T, &fine, &felt);
        if (fine) break;
        if (n > 1)
            to = knot[0];
        else if (to >= T)
            break;
        T = to;
    }
    /* steps up to there hold none; one that was refused begins where this one did */
    r->watch.kink = next < HUGE_VAL
                        ? next
                        : pl_ahead_kink(p, t + 16.0 * pl_smallest_step(t), fmin(r->t_stop, t + 16.0 * whole));
    p->failure = failure;
    return T;
}
