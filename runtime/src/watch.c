/* What an input holds inside a step, where the method does not look.
 *
 * A method knows u at a few times only, its nodes: BDF at the end of the step and of those before it, Radau5 and Dopri5 at
 * their stages. Between them it takes u for the polynomial through the nodes, û. The inputs say at which times (looks)
 * their content lies: breakpoints of tables, points inside higher polynomials, samples of functions. A step from t to T is
 * fine if what it does not see has no effect on the states:
 *     d = max |u - û|,  A = max_τ |∫_t^τ (u - û)|,   both over the looks in (t, T), for each input
 *     Δf = f(τ, x, u) - f(τ, x, û) at the looks of the largest d
 *     effect = min(||Δf|| A/d, ||R Δf||) <= PL_UNSEEN      in tolerances, largest component
 * The first term is what an integrator makes of it, the second what is left where the system answers at once: R Δf is the
 * response of the method's own iteration matrix to Δf held for this step. Otherwise the step ends at the last look up to which
 * it is fine; up to the first one it always is.
 * What goes unseen with one sign adds up where the states keep it, so the sum over the steps counts, too (TIMES, LITTLE).
 * Functions of time and pieces of higher degree may hold anything between two looks: what is left of the step is
 * sampled again.
 * Δf is a difference, not a derivative: f may be flat where u rests (u^2 at 0). It is kept for some steps, as long as the
 * deviations are like those it was taken for (LARGER, SMALLER) and it says "far below"; else it is taken again, unless
 * that was done within the last steps.
 */
#include "watch.h"
#include "control.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define TIMES    2.0  /* PL_UNSEEN so many times may add up over the steps */
#define LITTLE   1.0  /* a step that adds less may be taken whatever has added up */
#define CLEAR    0.25 /* a remembered effect below this share of it needs no second look */
#define REMEMBER 25   /* steps */
#define RECENT   3    /* steps: an effect that is not far below is known well enough */
#define LARGER   8.0  /* deviations between these multiples of those known need no new Δf */
#define SMALLER  1e-4
#define KINK     10.0 /* effect of a kink in a step, in tolerances, from which on the history counts no more */
#define RESTS    1e-13 /* deviations below this share of |u| are rounding */
#define TOGETHER 2.0   /* inputs that do more together than this times the sum of each alone: products */
#define SAMPLES  4     /* of functions of time in a step that holds fewer looks */
#define FEW      8 /* looks up to which the middles between them are looked at, too: a kink may lie on a node */
#define ROUNDS   8 /* of samples of functions of time, each in the step that the last one left */

/* Nodes, and the inputs there. */
typedef struct nodes_of {
    pl_nodes at;
    pl_real *u; /* n * n_u */
} nodes_of;

/* Looks of a step: of the inputs, or a few made for it. */
typedef struct looks_of {
    int64_t n;
    const pl_real *t;
    const pl_real *u; /* n * n_u */
} looks_of;

/* Deviations over the looks of a step, n_u each. */
typedef struct content {
    pl_real *largest; /* d with its sign */
    pl_real *area;    /* A */
    pl_real *sum, *last, *next,
        *middle;     /* integral so far; d at both ends of an interval between looks and in its middle */
    pl_real *worst;  /* where the largest deviation is */
    pl_real *known;  /* largest |d| that Δf was taken for */
    pl_real *passed; /* integral of all that went unseen before this step */
    pl_real *rate, *response; /* ... alone, in tolerances: change of f, answer of the iteration matrix */
} content;

int pl_watch_bent(const pl_model *m) {
    int n = m->n_kinks;
    for (int j = 0; j < m->n_u; j++) n += pl_input_bends(m, j) != 0;
    return n;
}

size_t pl_watch_reals(int n_u, int n_x, int n_bent) {
    return (size_t)(PL_MAX_NODES + 11 + SAMPLES) * (size_t)n_u + SAMPLES +
           (n_bent > 0 ? pl_bend_reals(n_u, n_x) : 0);
}

void pl_watch_init(pl_run *r, const pl_problem *p) {
    size_t n = pl_watch_reals(r->n_u, r->n_x, r->watch.n_bent);
    for (size_t k = 0; k < n; k++) pl_run_watch(r)[k] = 0.0;
    if (r->watch.n_bent > 0) pl_bend_init(r, p);
}

static content content_of(pl_run *r) {
    pl_real *w = pl_run_watch(r) + (size_t)PL_MAX_NODES * (size_t)r->n_u;
    size_t n = (size_t)r->n_u;
    content c = {w,         w + n,     w + 2 * n, w + 3 * n, w + 4 * n, w + 5 * n,
                 w + 6 * n, w + 7 * n, w + 8 * n, w + 9 * n, w + 10 * n};
    return c;
}

/* There may be anything between two looks, not only a straight line. */
static int curved(const pl_inputs *in) {
    return in->call || in->degree > 1;
}

int64_t pl_look_after(const pl_inputs *in, pl_real t) {
    int64_t low = 0, high = in->n_looks;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (in->look[middle] > t)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static pl_status make_nodes(pl_run *r, pl_problem *p, const void *state, pl_real T, nodes_of *nodes) {
    int n_u = r->n_u;
    nodes->u = pl_run_watch(r);
    pl_nodes_make(r, state, T, &nodes->at);
    for (int k = 0; k < nodes->at.n; k++) {
        pl_status status = pl_set_inputs(p, nodes->at.t[k]);
        if (status != PL_OK) return status;
        memcpy(nodes->u + (size_t)k * n_u, p->u, (size_t)n_u * sizeof(pl_real));
    }
    return PL_OK;
}

void pl_nodes_make(const pl_run *r, const void *state, pl_real T, pl_nodes *nodes) {
    nodes->n = pl_run_method(r)->nodes(state, T, nodes->t, PL_MAX_NODES);
    for (int k = 0; k < nodes->n; k++) {
        pl_real w = 1.0;
        for (int i = 0; i < nodes->n; i++)
            if (i != k) w *= (nodes->t[k] - nodes->t[i]) / (T - nodes->t[nodes->n - 1]);
        nodes->w[k] = 1.0 / w;
    }
}

int pl_nodes_at(const pl_nodes *nodes, pl_real t, pl_real *share) {
    pl_real sum = 0.0;
    for (int k = 0; k < nodes->n; k++) {
        if (t == nodes->t[k]) return 0;
        share[k] = nodes->w[k] / (t - nodes->t[k]);
        sum += share[k];
    }
    for (int k = 0; k < nodes->n; k++) share[k] /= sum;
    return 1;
}

static pl_real value_of(const nodes_of *nodes, int n_u, int j, const pl_real *share) {
    pl_real v = 0.0;
    for (int k = 0; k < nodes->at.n; k++) v += share[k] * nodes->u[(size_t)k * n_u + j];
    return v;
}

/* Deviations of u at `at` from û, to `d`; the largest is kept. */
static void deviate(pl_run *r, const pl_problem *p, const nodes_of *nodes, pl_real at, const pl_real *u,
                    pl_real *d) {
    content c = content_of(r);
    int n_u = r->n_u;
    pl_real share[PL_MAX_NODES];
    int between = pl_nodes_at(&nodes->at, at, share);
    for (int j = 0; j < n_u; j++) {
        d[j] = 0.0;
        if (!between || !pl_input_touches(p->model, j)) continue;
        pl_real e = u[j] - value_of(nodes, n_u, j, share), size = fabs(u[j]);
        for (int i = 0; i < nodes->at.n; i++) size = fmax(size, fabs(nodes->u[(size_t)i * n_u + j]));
        if (fabs(e) <= RESTS * size) continue;
        d[j] = e;
        if (fabs(e) > fabs(c.largest[j])) {
            c.largest[j] = e;
            c.worst[j] = at;
        }
    }
}

/* Deviations in (t, T) from û. Returns 1 if there are any beyond rounding. */
static int measure(pl_run *r, pl_problem *p, const nodes_of *nodes, const looks_of *looks, pl_real t,
                   pl_real T) {
    content c = content_of(r);
    int n_u = r->n_u, any = 0, few = looks->n <= FEW && !curved(p->inputs);
    pl_real t_last = t;
    for (int j = 0; j < n_u; j++) c.largest[j] = c.area[j] = c.sum[j] = c.last[j] = c.next[j] = 0.0;
    for (int64_t k = 0; t_last < T; k++) {
        int inside = k < looks->n && looks->t[k] < T;
        pl_real at = inside ? looks->t[k] : T, middle = 0.5 * (t_last + at);
        int halved = few && pl_set_inputs(p, middle) == PL_OK;
        if (halved) deviate(r, p, nodes, middle, p->u, c.middle);
        if (inside) deviate(r, p, nodes, at, looks->u + (size_t)k * (size_t)n_u, c.next);
        for (int j = 0; j < n_u; j++) {
            pl_real next = inside ? c.next[j] : 0.0, sum = c.last[j] + next;
            c.sum[j] += (at - t_last) * (halved ? (sum + 4.0 * c.middle[j]) / 6.0 : 0.5 * sum);
            c.area[j] = fmax(c.area[j], fabs(c.sum[j]));
            c.last[j] = next;
            if (c.largest[j] != 0.0) any = 1;
        }
        t_last = at;
    }
    return any;
}

pl_real pl_largest_weighted(const pl_problem *p, const pl_real *v, const pl_real *x, int all) {
    pl_real most = 0.0;
    const int8_t *leave_out =
        !all && p->linear && pl_linear_has_algebraic(p->linear) ? pl_linear_algebraic(p->linear) : NULL;
    for (int i = 0; i < p->model->n_x; i++)
        if (!leave_out || !leave_out[i]) most = fmax(most, fabs(v[i]) / (p->rtol * fabs(x[i]) + p->atol[i]));
    return most;
}

/* A step about to be taken: the method's state and x, its nodes, its looks. */
typedef struct step_view {
    void *state;
    const pl_real *x;
    pl_real h;
    nodes_of nodes;
    looks_of looks;
} step_view;

/* Which inputs deviate from û in an evaluation of f. */
enum { NONE = -2, ALL = -1 };

/* f at t, with the true value of input `who` only, of all or of none, û for the others. */
static pl_status f_at(pl_run *r, pl_problem *p, const step_view *v, pl_real t, int who, pl_real *f) {
    const nodes_of *nodes = &v->nodes;
    pl_real share[PL_MAX_NODES];
    int between = pl_nodes_at(&nodes->at, t, share);
    pl_status status = pl_set_inputs(p, t);
    if (status != PL_OK) return status;
    for (int j = 0; j < r->n_u; j++)
        if (between && who != ALL && who != j) p->u[j] = value_of(nodes, r->n_u, j, share);
    p->count->n_rhs++;
    status = p->model->rhs(p->self, t, v->x, p->u, f);
    return status == PL_OK && pl_first_nonfinite(r->n_x, f) >= 0 ? PL_NONFINITE : status;
}

/* Δf of `who` at t, as the change of f and as the answer of the iteration matrix; f with û is in RUN_WORK. */
static void ask_one(pl_run *r, pl_problem *p, const step_view *v, pl_real t, int who, pl_real *rate,
                    pl_real *response) {
    const pl_method *method = pl_run_method(r);
    const pl_real *base = pl_run_x(r, RUN_WORK);
    pl_real *change = pl_run_x(r, RUN_WORK + 1);
    *rate = *response = HUGE_VAL; /* not defined: not to be passed over */
    if (f_at(r, p, v, t, who, change) != PL_OK) return;
    for (int i = 0; i < r->n_x; i++) change[i] -= base[i];
    *rate = pl_largest_weighted(p, change, v->x, 0);
    pl_real h = method->response ? method->response(v->state, p, v->h, change) : 0.0;
    if (h > 0.0) *response = fmax(1.0, v->h / h) * pl_largest_weighted(p, change, v->x, 1);
}

/* What each input alone does, at the look of its largest deviation, and all of them together there. */
static void ask(pl_run *r, pl_problem *p, const step_view *v) {
    content c = content_of(r);
    pl_watch *w = &r->watch;
    int active = 0;
    pl_real sum = 0.0;
    w->rate = w->response = 0.0;
    w->age = 0;
    w->h = v->h;
    for (int j = 0; j < r->n_u; j++) active += c.largest[j] != 0.0;
    for (int j = 0; j < r->n_u; j++) {
        c.known[j] = fabs(c.largest[j]);
        c.rate[j] = c.response[j] = 0.0;
        if (c.largest[j] == 0.0) continue;
        pl_real t = c.worst[j];
        if (f_at(r, p, v, t, NONE, pl_run_x(r, RUN_WORK)) != PL_OK) {
            c.rate[j] = c.response[j] = HUGE_VAL;
            continue;
        }
        ask_one(r, p, v, t, j, &c.rate[j], &c.response[j]);
        sum += c.rate[j];
        if (active == 1) break;
        pl_real rate, response;
        ask_one(r, p, v, t, ALL, &rate, &response);
        w->rate = fmax(w->rate, rate);
        w->response = fmax(w->response, response);
    }
    if (!(w->rate > TOGETHER * sum)) w->rate = w->response = 0.0; /* nothing beyond what each does alone */
}

/* Effect of the present deviations in a step h by what is known; *alike: they are like those that it was taken for. A longer
 * step may answer more, at most in proportion. */
static pl_real effect(pl_run *r, pl_real h, int *alike) {
    content c = content_of(r);
    const pl_watch *w = &r->watch;
    pl_real ratio = 0.0, time = 0.0, sum = 0.0, all = 0.0, longer = w->h > 0.0 ? fmax(1.0, h / w->h) : 1.0;
    *alike = 1;
    for (int j = 0; j < r->n_u; j++) {
        pl_real d = fabs(c.largest[j]);
        if (d == 0.0) continue;
        if (!(d <= LARGER * c.known[j] && d >= SMALLER * c.known[j])) *alike = 0;
        if (c.known[j] == 0.0) continue;
        ratio = fmax(ratio, d / c.known[j]);
        time = fmax(time, c.area[j] / d);
        if (!(c.rate[j] > 0.0)) continue;
        pl_real most = longer * c.response[j] * d / c.known[j], rate = c.rate[j] / c.known[j];
        sum += fmin(rate * c.area[j], most);
        if (c.sum[j] * c.passed[j] > 0.0) all += fmin(rate * fabs(c.sum[j] + c.passed[j]), TIMES * most);
    }
    if (w->rate > 0.0) sum += ratio * fmin(w->rate * time, longer * w->response);
    return sum > LITTLE ? fmax(sum, all / TIMES) : sum;
}

pl_real pl_watch_look(const pl_problem *p, pl_real t) {
    const pl_inputs *in = p->inputs;
    if (!in || in->n_looks == 0) return HUGE_VAL;
    int64_t k = pl_look_after(in, t + 16.0 * pl_smallest_step(t));
    return k < in->n_looks ? in->look[k] : HUGE_VAL;
}

/* The looks in (t, T); for functions of time at least SAMPLES. */
static pl_status find_looks(pl_run *r, pl_problem *p, pl_real t, pl_real T, looks_of *looks) {
    const pl_inputs *in = p->inputs;
    int64_t first = pl_look_after(in, t + 16.0 * pl_smallest_step(t)); /* no step fits before nearer ones */
    looks->t = in->look + first;
    looks->u = in->look_u + (size_t)first * (size_t)r->n_u;
    looks->n = 0;
    while (first + looks->n < in->n_looks && looks->t[looks->n] < T) looks->n++;
    if (!curved(in) || looks->n >= SAMPLES) return PL_OK;
    pl_real *u = content_of(r).response + r->n_u, *at = u + (size_t)SAMPLES * (size_t)r->n_u;
    for (int k = 0; k < SAMPLES; k++) {
        at[k] = t + (T - t) * (k + 1) / (SAMPLES + 1);
        pl_status status = pl_set_inputs(p, at[k]);
        if (status != PL_OK) return status;
        memcpy(u + (size_t)k * (size_t)r->n_u, p->u, (size_t)r->n_u * sizeof(pl_real));
    }
    looks->n = SAMPLES;
    looks->t = at;
    looks->u = u;
    return PL_OK;
}

/* The last look up to which the step is fine; up to the first it always is. */
static int64_t last_good(pl_run *r, pl_problem *p, step_view *v, pl_real t) {
    int64_t good = 0, bad = v->looks.n;
    int alike;
    while (bad - good > 1) {
        int64_t middle = (good + bad) / 2;
        pl_real to = v->looks.t[middle];
        int fine = make_nodes(r, p, v->state, to, &v->nodes) == PL_OK &&
                   (!measure(r, p, &v->nodes, &v->looks, t, to) || effect(r, to - t, &alike) <= PL_UNSEEN);
        if (fine)
            good = middle;
        else
            bad = middle;
    }
    return good;
}

/* Effect of what the step to T does not see; Δf is taken if what is known of it is not enough. */
static pl_real judge(pl_run *r, pl_problem *p, step_view *v, pl_real t, pl_real T) {
    int alike;
    v->h = T - t;
    if (make_nodes(r, p, v->state, T, &v->nodes) != PL_OK || !measure(r, p, &v->nodes, &v->looks, t, T))
        return 0.0;
    pl_real now = effect(r, v->h, &alike);
    if (alike && r->watch.age <= REMEMBER && (now <= CLEAR * PL_UNSEEN || r->watch.age <= RECENT)) return now;
    v->x = pl_run_method(r)->x_now(v->state);
    ask(r, p, v);
    return effect(r, v->h, &alike);
}

/* A step was taken from watch.from, as long as it was looked at: what went unseen in it stays. */
static void remember(pl_run *r, pl_real t) {
    content c = content_of(r);
    pl_watch *w = &r->watch;
    if (t > w->from && fabs(t - w->to) <= 0.01 * (w->to - w->from))
        for (int j = 0; j < r->n_u; j++) c.passed[j] += c.sum[j];
    w->from = w->to = HUGE_VAL;
}

/* Where the step to T must end for the sake of the inputs. */
static pl_real input_limit(pl_run *r, pl_problem *p, void *state, pl_real T) {
    const pl_inputs *in = p->inputs;
    const pl_stepper *head = state;
    pl_real t = head->t;
    step_view v = {.state = state};
    remember(r, t);
    for (int j = 0; j < r->n_u; j++) content_of(r).sum[j] = 0.0;
    for (int round = 0; round < ROUNDS; round++) {
        /* what cannot be evaluated here is left to the step itself, which says so if it matters */
        if (find_looks(r, p, t, T, &v.looks) != PL_OK || v.looks.n == 0) break;
        if (round == 0) r->watch.age++;
        if (judge(r, p, &v, t, T) <= PL_UNSEEN) break;
        T = r->watch.limit = v.looks.t[last_good(r, p, &v, t)];
        if (curved(in)) continue;
        /* between two looks of a table there is nothing */
        if (make_nodes(r, p, state, T, &v.nodes) == PL_OK) measure(r, p, &v.nodes, &v.looks, t, T);
        break;
    }
    if (r->watch.n_bent > 0) {
        pl_real to = pl_bend_limit(r, p, state, T);
        if (to < T) T = r->watch.limit = to;
    }
    r->watch.from = t;
    r->watch.to = T;
    r->watch.h_wanted = head->h_next;
    return T;
}

pl_real pl_watch_limit(pl_run *r, pl_problem *p, void *state, pl_real limit) {
    const pl_inputs *in = p->inputs;
    const pl_stepper *head = state;
    r->watch.limit = HUGE_VAL;
    int looks = in && in->n_looks > 0;
    if (!(looks || p->model->n_kinks > 0) || !pl_run_method(r)->nodes) return limit;
    pl_real T = fmin(head->t + 1.001 * head->h_next, limit);
    if (looks) T = input_limit(r, p, state, T);
    if (p->model->n_kinks > 0) {
        pl_real to = pl_kink_limit(r, p, state, T);
        if (to < T) r->watch.limit = to;
    }
    return fmin(limit, r->watch.limit);
}

int pl_watch_kink(pl_run *r, const pl_problem *p, void *state, int segment) {
    const pl_method *method = pl_run_method(r);
    const pl_inputs *in = p->inputs;
    content c = content_of(r);
    int n_u = r->n_u, degree = in->degree;
    size_t row = (size_t)(degree + 1) * (size_t)n_u;
    const pl_real *after = in->coefficient + (size_t)segment * row, *before = after - row;
    pl_real dt = in->start[segment] - in->start[segment - 1], h = r->watch.h_wanted, sum = 0.0;
    if (degree < 1) return 0;
    for (int j = 0; j < n_u; j++) {
        pl_real slope = 0.0;
        for (int k = degree; k >= 1; k--) slope = slope * dt + k * before[k * n_u + j];
        pl_real d = fabs(after[n_u + j] - slope) * 0.5 * h;
        if (d > 0.0 && pl_input_touches(p->model, j))
            sum += c.known[j] > 0.0 ? d / c.known[j] * fmin(c.rate[j] * h, c.response[j]) : HUGE_VAL;
    }
    if (sum <= KINK) return 0;
    if (method->kink) method->kink(state);
    return !method->kink;
}
