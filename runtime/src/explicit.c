/* Explicit methods: Euler and the classical Runge-Kutta method of order 4 at fixed step, Dormand-Prince 5(4).
 *
 * All of them need L = I. Fixed steps end at t_start + k h, computed from k, so that no rounding piles up;
 * the last one is shortened to end at the limit. Dense output: Euler linear, RK4 cubic Hermite,
 * Dormand-Prince its own interpolant of order 4 (Hairer, Norsett & Wanner, Solving Ordinary Differential
 * Equations I, II.4-II.6: tableau, interpolant, step control with exponents 0.2 - 0.75 beta and beta = 0.04).
 */
#include "pliant.h"
#include "control.h"
#include "record.h"

#include <math.h>
#include <string.h>

#define N_STAGES  7
#define MAX_FAILS 60

typedef struct pl_explicit {
    pl_stepper head;
    int stages;  /* 1 Euler, 4 RK4, 7 Dormand-Prince */
    int f_valid; /* first stage is f(t, x) */
    int f_last;  /* the last stage is f(t, x) (Dormand-Prince: first same as last) */
    int slope;   /* the array of x', also where x was moved slightly since */
    int rejected;
    int64_t k; /* fixed step: number of steps since t_start */
    pl_real t_start;
    pl_real h_fixed;
    pl_real h;     /* step to try */
    pl_real h_max; /* 0: no bound */
    pl_real err_old;
} pl_explicit;

/* arrays: x, x_old, y, err, stages k_1 .. k_7 */
enum { X, X_OLD, Y, ERR, K };

static const pl_real DP_C[N_STAGES] = {0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0};
static const pl_real DP_A[N_STAGES][6] = {
    {0.0},
    {1.0 / 5.0},
    {3.0 / 40.0, 9.0 / 40.0},
    {44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0},
    {19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0},
    {9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0},
    {35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0}};
static const pl_real DP_E[N_STAGES] = {71.0 / 57600.0,      0.0,          -71.0 / 16695.0, 71.0 / 1920.0,
                                       -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0};
static const pl_real DP_D[N_STAGES] = {-12715105075.0 / 11282082432.0,  0.0,
                                       87487479700.0 / 32700410799.0,   -10690763975.0 / 1880347072.0,
                                       701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0,
                                       69997945.0 / 29380423.0};

static pl_real *array(pl_explicit *s, int k) {
    return (pl_real *)(void *)(s + 1) + (size_t)k * (size_t)s->head.n;
}

static size_t size_of(int n) {
    return sizeof(pl_explicit) + (size_t)(K + N_STAGES) * (size_t)n * sizeof(pl_real);
}

static pl_real *current_x(void *state) {
    pl_explicit *s = state;
    s->f_valid = s->f_last = 0;
    return array(s, X);
}

static const pl_real *x_now(const void *state) {
    return array((pl_explicit *)state, X);
}

static pl_status start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t, const pl_real *x,
                       pl_real t_end, int stages, int order) {
    pl_explicit *s = state;
    int n = p->model->n_x;
    memset(s, 0, sizeof *s);
    s->head.t = s->head.t_old = s->t_start = t;
    s->head.n = n;
    s->head.order = order;
    s->stages = stages;
    s->h_fixed = s->h = opt->h_fixed;
    s->h_max = opt->h_max;
    s->err_old = 1e-4;
    if (p->model->mass.start) return PL_ARGUMENT;
    memcpy(array(s, X), x, (size_t)n * sizeof(pl_real));
    memcpy(array(s, X_OLD), x, (size_t)n * sizeof(pl_real));
    pl_status status = pl_rhs(p, t, x, array(s, K));
    if (status != PL_OK) return status;
    s->f_valid = 1;
    s->slope = K;
    if (order == 5) {
        s->h = opt->h_first;
        status = pl_weights(p, t, x, array(s, ERR));
        if (status == PL_OK && s->h <= 0.0)
            status = pl_first_step(p, t, x, array(s, K), t_end, array(s, K + 1), &s->h);
        if (s->h_max > 0.0) s->h = fmin(s->h, s->h_max);
        if (opt->h_start > 0.0) s->h = fmin(s->h, opt->h_start);
    } else if (!(s->h > 0.0)) {
        return PL_ARGUMENT;
    }
    s->head.h_next = s->h;
    return status;
}

static pl_status euler_start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t,
                             const pl_real *x, pl_real t_end) {
    return start(state, p, opt, t, x, t_end, 1, 1);
}

static pl_status rk4_start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t,
                           const pl_real *x, pl_real t_end) {
    return start(state, p, opt, t, x, t_end, 4, 4);
}

static pl_status dopri5_start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t,
                              const pl_real *x, pl_real t_end) {
    return start(state, p, opt, t, x, t_end, N_STAGES, 5);
}

static pl_status first_stage(pl_explicit *s, pl_problem *p) {
    if (s->f_last) memcpy(array(s, K), array(s, K + N_STAGES - 1), (size_t)s->head.n * sizeof(pl_real));
    s->f_valid = s->f_valid || s->f_last;
    s->f_last = 0;
    s->slope = K;
    if (s->f_valid) return PL_OK;
    pl_status status = pl_rhs(p, s->head.t, array(s, X), array(s, K));
    s->f_valid = status == PL_OK;
    return status;
}

/* One Euler or RK4 step into Y. */
static pl_status fixed_stages(pl_explicit *s, pl_problem *p, pl_real h) {
    int n = s->head.n;
    const pl_real *x = array(s, X), *k1 = array(s, K);
    pl_real *y = array(s, Y), *k2 = array(s, K + 1), *k3 = array(s, K + 2), *k4 = array(s, K + 3),
            t = s->head.t;
    if (s->stages == 1) {
        for (int i = 0; i < n; i++) y[i] = x[i] + h * k1[i];
        return PL_OK;
    }
    for (int i = 0; i < n; i++) y[i] = x[i] + 0.5 * h * k1[i];
    pl_status status = pl_rhs(p, t + 0.5 * h, y, k2);
    if (status != PL_OK) return status;
    for (int i = 0; i < n; i++) y[i] = x[i] + 0.5 * h * k2[i];
    status = pl_rhs(p, t + 0.5 * h, y, k3);
    if (status != PL_OK) return status;
    for (int i = 0; i < n; i++) y[i] = x[i] + h * k3[i];
    status = pl_rhs(p, t + h, y, k4);
    if (status != PL_OK) return status;
    for (int i = 0; i < n; i++) y[i] = x[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
    return PL_OK;
}

static void accept(pl_explicit *s, pl_real t, pl_real h) {
    size_t bytes = (size_t)s->head.n * sizeof(pl_real);
    memcpy(array(s, X_OLD), array(s, X), bytes);
    memcpy(array(s, X), array(s, Y), bytes);
    s->head.t_old = s->head.t;
    s->head.t = t;
    s->head.h = h;
}

static pl_status fixed_step(void *state, pl_problem *p, pl_real t_limit) {
    pl_explicit *s = state;
    pl_real t_next = s->t_start + (pl_real)(s->k + 1) * s->h_fixed;
    int cut = t_next > t_limit + 1e-6 * s->h_fixed; /* the grid begins anew where a step was cut short */
    if (t_next > t_limit - 1e-6 * s->h_fixed) t_next = t_limit;
    pl_real h = t_next - s->head.t;
    p->failure.h = h;
    pl_status status = first_stage(s, p);
    if (status == PL_OK) status = fixed_stages(s, p, h);
    /* the next step's first stage, before this step is accepted: a point without derivative is no place to be */
    if (status == PL_OK) status = pl_rhs(p, t_next, array(s, Y), array(s, K + 5));
    if (status != PL_OK) return pl_event_before(p, status, t_next) ? PL_PAUSED : status;
    size_t bytes = (size_t)s->head.n * sizeof(pl_real);
    memcpy(array(s, K + 4), array(s, K),
           bytes); /* derivative at the beginning, for the Hermite interpolant */
    memcpy(array(s, K), array(s, K + 5), bytes);
    accept(s, t_next, h);
    s->k = cut ? 0 : s->k + 1;
    if (cut) s->t_start = t_next;
    p->count->n_steps++;
    return PL_OK;
}

static pl_status dopri5_stages(pl_explicit *s, pl_problem *p, pl_real h) {
    int n = s->head.n;
    const pl_real *x = array(s, X);
    pl_real *y = array(s, Y);
    for (int k = 1; k < N_STAGES; k++) {
        for (int i = 0; i < n; i++) {
            pl_real sum = 0.0;
            for (int j = 0; j < k; j++) sum += DP_A[k][j] * array(s, K + j)[i];
            y[i] = x[i] + h * sum;
        }
        pl_status status = pl_rhs(p, s->head.t + DP_C[k] * h, y, array(s, K + k));
        if (status != PL_OK) return status;
    }
    return PL_OK;
}

/* *at: the state with the largest share. */
static pl_real dopri5_error(pl_explicit *s, const pl_problem *p, pl_real h, int *at) {
    int n = s->head.n;
    const pl_real *x = array(s, X), *y = array(s, Y);
    pl_real sum = 0.0, most = -1.0;
    *at = -1;
    for (int i = 0; i < n; i++) {
        pl_real e = 0.0;
        for (int k = 0; k < N_STAGES; k++) e += DP_E[k] * array(s, K + k)[i];
        e *= h / (p->atol[i] + p->rtol * fmax(fabs(x[i]), fabs(y[i])));
        sum += e * e;
        if (fabs(e) > most) {
            most = fabs(e);
            *at = i;
        }
    }
    return n > 0 ? sqrt(sum / n) : 0.0;
}

static pl_status dopri5_step(void *state, pl_problem *p, pl_real t_limit) {
    pl_explicit *s = state;
    pl_real h_wanted = s->h;
    pl_status status = first_stage(s, p);
    if (status != PL_OK) return status;
    for (int fails = 0;; fails++) {
        int on_limit = pl_reaches(s->head.t, s->h, t_limit);
        pl_real h = on_limit ? t_limit - s->head.t : s->h;
        p->failure.h = h;
        if (h < pl_smallest_step(s->head.t)) return pl_collapse(status);
        if (fails > MAX_FAILS) return status;
        status = dopri5_stages(s, p, h);
        if (pl_event_before(p, status, s->head.t + h)) return PL_PAUSED;
        if (status == PL_RETRY || status == PL_NONFINITE) {
            p->count->n_newton_fails++;
            pl_note_failure(p, status, -1, 0.0, s->head.t);
            s->h = 0.25 * h;
            s->rejected = 1;
            continue;
        }
        if (status != PL_OK) return status;
        int at;
        pl_real err = dopri5_error(s, p, h, &at);
        if (!(err - err == 0.0)) err = 1e10;
        pl_real factor = pow(err, 0.17) / 0.9; /* 0.2 - 0.75 * 0.04 */
        if (err <= 1.0) {
            factor = fmax(0.1, fmin(5.0, factor / pow(s->err_old, 0.04)));
            s->err_old = fmax(err, 1e-4);
            pl_real next = h / factor;
            if (s->rejected) next = fmin(next, h);
            if (on_limit) next = fmax(next, fmin(h_wanted, s->h));
            s->rejected = 0;
            accept(s, on_limit ? t_limit : s->head.t + h, h);
            /* the last stage is f at the new point; the first is still needed for the interpolant */
            s->f_valid = 0;
            s->f_last = 1;
            s->slope = K + N_STAGES - 1;
            s->h = s->h_max > 0.0 ? fmin(next, s->h_max) : next;
            s->head.h_next = s->h;
            pl_note_limit(p, s->head.n, at, array(s, X));
            p->count->n_steps++;
            return PL_OK;
        }
        p->count->n_error_fails++;
        pl_note(p, PL_SAW_ERROR, at, err, s->head.t);
        status = PL_ACCURACY;
        s->h = h / fmin(5.0, factor);
        s->rejected = 1;
    }
}

static void linear_interpolate(const void *state, pl_real t, int derivative, pl_real *out) {
    pl_explicit *s = (pl_explicit *)state;
    const pl_real *x = array(s, X), *old = array(s, X_OLD);
    pl_real u = (t - s->head.t) / s->head.h;
    for (int i = 0; i < s->head.n; i++)
        out[i] = derivative ? (x[i] - old[i]) / s->head.h : x[i] + u * (x[i] - old[i]);
}

/* Cubic through both ends and their derivatives. */
static void hermite_interpolate(const void *state, pl_real t, int derivative, pl_real *out) {
    pl_explicit *s = (pl_explicit *)state;
    const pl_real *x1 = array(s, X), *x0 = array(s, X_OLD), *f1 = array(s, K), *f0 = array(s, K + 4);
    pl_real h = s->head.h, u = (t - s->head.t_old) / h, v = 1.0 - u;
    for (int i = 0; i < s->head.n; i++) {
        pl_real d = x1[i] - x0[i], a = h * f0[i] - d, b = d - h * f1[i];
        if (derivative)
            out[i] = (d + (v - u) * (a * v + b * u) + u * v * (b - a)) / h;
        else
            out[i] = v * x0[i] + u * x1[i] + u * v * (a * v + b * u);
    }
}

static void dopri5_interpolate(const void *state, pl_real t, int derivative, pl_real *out) {
    pl_explicit *s = (pl_explicit *)state;
    const pl_real *x = array(s, X), *old = array(s, X_OLD), *k1 = array(s, K), *k7 = array(s, K + 6);
    pl_real h = s->head.h, u = (t - s->head.t_old) / h, v = 1.0 - u;
    for (int i = 0; i < s->head.n; i++) {
        pl_real d = x[i] - old[i], b = h * k1[i] - d, c = d - h * k7[i] - b, e = 0.0;
        for (int k = 0; k < N_STAGES; k++) e += DP_D[k] * array(s, K + k)[i];
        e *= h;
        if (derivative)
            out[i] = (d + (v - u) * (b + u * (c + v * e)) + u * v * (c + (v - u) * e)) / h;
        else
            out[i] = old[i] + u * (d + v * (b + u * (c + v * e)));
    }
}

/* x + d f, with the curvature that x_old tells: d^2 (h f - (x - x_old))/h^2. */
static int explicit_ahead(const void *state, pl_real t, pl_real *out) {
    pl_explicit *s = (pl_explicit *)state;
    const pl_real *x = array(s, X), *old = array(s, X_OLD), *f = array(s, s->slope);
    pl_real d = t - s->head.t, h = s->head.h;
    for (int i = 0; i < s->head.n; i++) out[i] = x[i] + d * f[i];
    if (!(h > 0.0) || s->stages == 1) return 1;
    for (int i = 0; i < s->head.n; i++) out[i] += d * d * (h * f[i] - (x[i] - old[i])) / (h * h);
    return 2;
}

static void forget(void *state) {
    (void)state; /* nothing is kept that depends on linear algebra */
}

static void dopri5_shorten(void *state, pl_real h) {
    pl_explicit *s = state;
    s->h = s->head.h_next = fmin(s->h, h);
}

static void dopri5_kink(void *state) {
    pl_explicit *s = state;
    s->err_old = 1e-4;
}

static int dopri5_nodes(const void *state, pl_real T, pl_real *t, int most) {
    const pl_explicit *s = state;
    (void)most;
    for (int k = 0; k < N_STAGES - 1; k++) t[k] = s->head.t + DP_C[N_STAGES - 2 - k] * (T - s->head.t);
    t[0] = T;
    return N_STAGES - 1;
}

const pl_method pl_euler_method = {
    .name = "euler",
    .id = PL_EULER,
    .size = size_of,
    .start = euler_start,
    .step = fixed_step,
    .interpolate = linear_interpolate,
    .ahead = explicit_ahead,
    .x = current_x,
    .forget = forget,
};

const pl_method pl_rk4_method = {
    .name = "rk4",
    .id = PL_RK4,
    .size = size_of,
    .start = rk4_start,
    .step = fixed_step,
    .interpolate = hermite_interpolate,
    .ahead = explicit_ahead,
    .x = current_x,
    .forget = forget,
};

const pl_method pl_dopri5_method = {
    .name = "dopri5",
    .id = PL_DOPRI5,
    .size = size_of,
    .start = dopri5_start,
    .step = dopri5_step,
    .interpolate = dopri5_interpolate,
    .ahead = explicit_ahead,
    .x = current_x,
    .forget = forget,
    .x_now = x_now,
    .nodes = dopri5_nodes,
    .shorten = dopri5_shorten,
    .kink = dopri5_kink,
};
