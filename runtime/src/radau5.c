/* Radau IIA, three stages, order 5.
 *
 * Stages Z_i = x(t + c_i h) - x solve  L Z = h (A x I) F(Z),  c = ((4-r)/10, (4+r)/10, 1), r = sqrt(6).
 * With T^-1 A^-1 T = diag(g, [a -b; b a]) and W = T^-1 Z the simplified Newton iteration decouples into
 *     (g/h L - J) dW_1 = ..,    ((a + ib)/h L - J) (dW_2 + i dW_3) = ..
 * Error estimate: err = (g/h L - J)^-1 (f(t, x) + L (e_1 Z_1 + e_2 Z_2 + e_3 Z_3)/h), filtered a second time
 * by f(t, x + err) after a rejection and in the first step. Step control: Gustafsson's predictive controller.
 * Tolerances are converted, rtol' = 0.1 rtol^(2/3), because the estimate is of order 3.
 * Source: Hairer & Wanner, Solving Ordinary Differential Equations II, IV.8; Hairer & Wanner, J. Comput.
 * Appl. Math. 111 (1999). Dense output: the collocation polynomial. T and its inverse are checked in the
 * tests.
 *
 * Beyond them: that estimate is blind to components that follow others at once, algebraic and very stiff ones, which are
 * right at the stages however long the step is, and anything between them. So the dense output is estimated, too
 * (dense_error), and that of algebraic unknowns corrected by what was found.
 */
#include "pliant.h"
#include "control.h"
#include "record.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep") /* the arrays of a state do not overlap */
#else
#define INDEPENDENT
#endif

#define MAX_ITERATIONS 7
#define SAFETY         0.9
#define GOOD_RATE      1e-3 /* below: the Jacobian is kept */
#define KEEP_FROM      1.0  /* step ratios between these keep step and factors */
#define KEEP_TO        1.2
#define LEAST_QUOTIENT 0.125
#define MOST_QUOTIENT  5.0
#define MAX_SINGULAR   5
#define MAX_FAILS      60
#define MOST_PI        0.0182536 /* largest |s (s - c1) (s - c2) (s - 1)| in [0, 1] */
#define S_MOST         0.86116   /* ... and where */

static const pl_real C1 = 0.15505102572168219018, C2 = 0.64494897427831780982;
static const pl_real E1 = -10.048809399827415562, E2 = 1.3821427331607488958, E3 = -1.0 / 3.0;
static const pl_real GAMMA = 3.6378342527444957322, ALPHA = 2.6810828736277521339,
                     BETA = 3.0504301992474105694;
static const pl_real T[3][3] = {
    {9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02},
    {0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779},
    {0.96604818261509293619, 1.0, 0.0}};
static const pl_real TI[3][3] = {{4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119},
                                 {-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196},
                                 {-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497}};

typedef struct pl_radau5 {
    pl_stepper head;
    pl_real rtol;       /* converted */
    pl_real h_max;      /* 0: no bound */
    pl_real h;          /* step to try */
    pl_real h_factored; /* step the factors belong to; 0: none */
    pl_real rate;       /* last convergence rate, theta */
    pl_real rate_sum;   /* theta/(1 - theta), carried over to the next step */
    pl_real h_accepted; /* for the predictive controller */
    pl_real err_accepted;
    int first;            /* no step accepted yet */
    int rejected;         /* the last attempt was */
    int has_polynomial;   /* cont holds the previous step */
    int f_valid;          /* f holds f(t, x) */
    int f_confirmed;      /* ... from the end of the last step, where x was END */
    int lent;             /* the caller had access to x since */
    int jacobian_valid;   /* evaluated at some point */
    int jacobian_current; /* evaluated at this t */
} pl_radau5;

enum {
    X,
    F,
    SCALE,
    Z1,
    Z2,
    Z3,
    W1,
    W2,
    W3,
    CONT1,
    CONT2,
    CONT3,
    CONT4,
    WORK,
    WORK2,
    BEFORE,
    AFTER,
    END,
    N_ARRAYS
};

static pl_real *array(pl_radau5 *s, int k) {
    return (pl_real *)(void *)(s + 1) + (size_t)k * (size_t)s->head.n;
}

static size_t radau5_size(int n) {
    return sizeof(pl_radau5) + (size_t)N_ARRAYS * (size_t)n * sizeof(pl_real);
}

static pl_real *radau5_x(void *state) {
    pl_radau5 *s = state;
    s->lent = 1; /* the caller may move x */
    return array(s, X);
}

static const pl_real *radau5_x_now(const void *state) {
    return array((pl_radau5 *)state, X);
}

/* Scale of the converted tolerances. */
static void set_scale(pl_radau5 *s, const pl_problem *p) {
    int n = s->head.n;
    const pl_real *x = array(s, X), *atol = p->atol;
    pl_real *scale = array(s, SCALE), rtol = s->rtol, share = p->rtol > 0.0 ? rtol / p->rtol : 0.0;
    if (p->rtol > 0.0)
        for (int i = 0; i < n; i++) scale[i] = 1.0 / (rtol * fabs(x[i]) + atol[i] * share);
    else
        for (int i = 0; i < n; i++) scale[i] = 1.0 / (0.1 * pow(atol[i], 2.0 / 3.0));
}

static pl_status radau5_start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t,
                              const pl_real *x, pl_real t_end) {
    pl_radau5 *s = state;
    int n = p->model->n_x;
    memset(s, 0, sizeof *s);
    s->head.t = s->head.t_old = t;
    s->head.n = n;
    s->head.order = 5;
    s->rtol = 0.1 * pow(p->rtol, 2.0 / 3.0);
    s->h_max = opt->h_max;
    s->first = 1;
    s->rate = s->rate_sum = 1.0;
    memcpy(array(s, X), x, (size_t)n * sizeof(pl_real));
    memset(array(s, CONT4), 0, (size_t)n * sizeof(pl_real));
    pl_status status = pl_weights(p, t, x, array(s, SCALE));
    if (status == PL_OK) status = pl_rhs(p, t, x, array(s, F));
    if (status != PL_OK) return status;
    s->f_valid = 1;
    s->h = opt->h_first;
    if (s->h <= 0.0) {
        status = pl_derivative(p, t, x, array(s, F), t_end - t, array(s, W1), array(s, WORK));
        if (status == PL_OK) status = pl_first_step(p, t, x, array(s, W1), t_end, array(s, Z1), &s->h);
        if (status != PL_OK) return status;
    }
    if (s->h_max > 0.0) s->h = fmin(s->h, s->h_max);
    if (opt->h_start > 0.0) s->h = fmin(s->h, opt->h_start);
    s->head.h_next = s->h;
    return PL_OK;
}

/* Stage guesses: the previous collocation polynomial continued, or zero. */
static void guess(pl_radau5 *s) {
    int n = s->head.n;
    pl_real *z[3] = {array(s, Z1), array(s, Z2), array(s, Z3)},
            *w[3] = {array(s, W1), array(s, W2), array(s, W3)};
    if (!s->has_polynomial || s->first) {
        for (int k = 0; k < 3; k++) {
            memset(z[k], 0, (size_t)n * sizeof(pl_real));
            memset(w[k], 0, (size_t)n * sizeof(pl_real));
        }
        return;
    }
    const pl_real *a1 = array(s, CONT1), *a2 = array(s, CONT2), *a3 = array(s, CONT3);
    pl_real ratio = s->h / s->head.h, c[3] = {C1 * ratio, C2 * ratio, ratio};
    INDEPENDENT for (int i = 0; i < n; i++) {
        pl_real y[3];
        for (int k = 0; k < 3; k++)
            y[k] = c[k] * (a1[i] + (c[k] - (C2 - 1.0)) * (a2[i] + (c[k] - (C1 - 1.0)) * a3[i]));
        for (int k = 0; k < 3; k++) {
            z[k][i] = y[k];
            w[k][i] = TI[k][0] * y[0] + TI[k][1] * y[1] + TI[k][2] * y[2];
        }
    }
}

/* Right-hand sides T^-1 F - (g/h | a/h, b/h) L W for all three systems, then solve; dW in Z1..Z3. */
static pl_status newton_correction(pl_radau5 *s, pl_problem *p, int first) {
    int n = s->head.n;
    const pl_real c[3] = {C1, C2, 1.0}, *x = array(s, X);
    pl_real *z[3] = {array(s, Z1), array(s, Z2), array(s, Z3)},
            *w[3] = {array(s, W1), array(s, W2), array(s, W3)};
    pl_real *y = array(s, WORK), g = GAMMA / s->h, a = ALPHA / s->h, b = BETA / s->h;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < n; i++) y[i] = x[i] + z[k][i];
        pl_status status = pl_rhs(p, s->head.t + c[k] * s->h, y, z[k]);
        if (status != PL_OK) return status;
    }
    int mass = p->model->mass.start != NULL;
    if (mass && first) memcpy(array(s, BEFORE), z[2], (size_t)n * sizeof(pl_real));
    pl_real own_g = mass ? 0.0 : g, own_a = mass ? 0.0 : a, own_b = mass ? 0.0 : b;
    INDEPENDENT for (int i = 0; i < n; i++) {
        pl_real f1 = z[0][i], f2 = z[1][i], f3 = z[2][i], w1 = w[0][i], w2 = w[1][i], w3 = w[2][i];
        z[0][i] = TI[0][0] * f1 + TI[0][1] * f2 + TI[0][2] * f3 - own_g * w1;
        z[1][i] = TI[1][0] * f1 + TI[1][1] * f2 + TI[1][2] * f3 - (own_a * w2 - own_b * w3);
        z[2][i] = TI[2][0] * f1 + TI[2][1] * f2 + TI[2][2] * f3 - (own_a * w3 + own_b * w2);
    }
    if (mass) {
        pl_real *lw = array(s, WORK), *lw3 = array(s, WORK2);
        pl_mass_times(p->model, w[0], lw);
        for (int i = 0; i < n; i++) z[0][i] -= g * lw[i];
        pl_mass_times(p->model, w[1], lw);
        pl_mass_times(p->model, w[2], lw3);
        for (int i = 0; i < n; i++) {
            z[1][i] -= a * lw[i] - b * lw3[i];
            z[2][i] -= a * lw3[i] + b * lw[i];
        }
    }
    pl_linear_solve(p, z[0]);
    pl_linear_solve_complex(p, z[1], z[2]);
    return PL_OK;
}

/* W += dW (in Z), Z = T W; returns the norm of dW. */
static pl_real apply_correction(pl_radau5 *s) {
    int n = s->head.n;
    const pl_real *scale = array(s, SCALE);
    pl_real *z[3] = {array(s, Z1), array(s, Z2), array(s, Z3)},
            *w[3] = {array(s, W1), array(s, W2), array(s, W3)};
    pl_real sum[3] = {0.0, 0.0, 0.0}; /* none waits for the others */
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) {
            pl_real v = z[k][i] * scale[i];
            sum[k] += v * v;
        }
    INDEPENDENT for (int i = 0; i < n; i++) {
        pl_real w1 = w[0][i] + z[0][i], w2 = w[1][i] + z[1][i], w3 = w[2][i] + z[2][i];
        w[0][i] = w1;
        w[1][i] = w2;
        w[2][i] = w3;
        for (int k = 0; k < 3; k++) z[k][i] = T[k][0] * w1 + T[k][1] * w2 + T[k][2] * w3;
    }
    return n > 0 ? sqrt((sum[0] + sum[1] + sum[2]) / (3 * n)) : 0.0;
}

/* Simplified Newton. PL_CONVERGENCE: *shrink is the factor for the next attempt. */
static pl_status iterate(pl_radau5 *s, pl_problem *p, int *iterations, pl_real *shrink) {
    pl_real rtol = fmax(s->rtol, DBL_EPSILON), last = 0.0, last_ratio = 0.0;
    pl_real bound = fmax(10.0 * DBL_EPSILON / rtol, fmin(0.03, sqrt(rtol)));
    s->rate_sum = pow(fmax(s->rate_sum, DBL_EPSILON), 0.8);
    s->rate = GOOD_RATE;
    *shrink = 0.5;
    for (int k = 1;; k++) {
        *iterations = k;
        pl_status status = newton_correction(s, p, k == 1);
        if (status != PL_OK) return status;
        pl_real size = apply_correction(s);
        if (!(size - size == 0.0)) return PL_CONVERGENCE;
        if (k > 1) {
            pl_real ratio = size / last;
            s->rate = k == 2 ? ratio : sqrt(ratio * last_ratio);
            last_ratio = ratio;
            if (s->rate >= 0.99) return PL_CONVERGENCE;
            s->rate_sum = s->rate / (1.0 - s->rate);
            pl_real expected = s->rate_sum * size * pow(s->rate, MAX_ITERATIONS - 1 - k) / bound;
            if (expected >= 1.0 && k < MAX_ITERATIONS) {
                pl_real q = fmax(1e-4, fmin(20.0, expected));
                *shrink = 0.8 * pow(q, -1.0 / (4.0 + MAX_ITERATIONS - 1 - k));
                return PL_CONVERGENCE;
            }
        }
        last = fmax(size, DBL_EPSILON);
        if (s->rate_sum * size <= bound) return PL_OK;
        if (k >= MAX_ITERATIONS) return PL_CONVERGENCE;
    }
}

static pl_status estimate_error(pl_radau5 *s, pl_problem *p, pl_real *err) {
    int n = s->head.n;
    const pl_real *z1 = array(s, Z1), *z2 = array(s, Z2), *z3 = array(s, Z3), *f = array(s, F),
                  *x = array(s, X);
    const pl_real *scale = array(s, SCALE);
    pl_real *part = array(s, WORK), *e = array(s, WORK2);
    /* W2 and W3 are free now: combination and its product with L */
    pl_real *combined = array(s, W2), *lc = array(s, W3);
    for (int i = 0; i < n; i++) combined[i] = (E1 * z1[i] + E2 * z2[i] + E3 * z3[i]) / s->h;
    pl_mass_times(p->model, combined, lc);
    for (int i = 0; i < n; i++) e[i] = f[i] + lc[i];
    pl_linear_solve(p, e);
    *err = fmax(pl_weighted_norm(n, e, scale), 1e-10);
    if (*err < 1.0 || !(s->first || s->rejected)) return PL_OK;
    for (int i = 0; i < n; i++) part[i] = x[i] + e[i];
    pl_status status = pl_rhs(p, s->head.t, part, e);
    if (status != PL_OK) return status == PL_RETRY || status == PL_NONFINITE ? PL_OK : status;
    for (int i = 0; i < n; i++) e[i] += lc[i];
    pl_linear_solve(p, e);
    *err = fmax(pl_weighted_norm(n, e, scale), 1e-10);
    return PL_OK;
}

/* p(s) = w_1 Z_1 + w_2 Z_2 + w_3 Z_3: the polynomial through the start and the stages. */
static void weights_at(pl_real s, pl_real *w) {
    w[0] = s * (s - C2) * (s - 1.0) / (C1 * (C1 - C2) * (C1 - 1.0));
    w[1] = s * (s - C1) * (s - 1.0) / (C2 * (C2 - C1) * (C2 - 1.0));
    w[2] = s * (s - C1) * (s - C2) / ((1.0 - C1) * (1.0 - C2));
}

/* Error of the dense output over Pi(s) = s (s - c1) (s - c2) (s - 1), in W1. p, continued back to stage 2 of the step before,
 * misses the value there by e; between the stages it then misses by e Pi(s)/Pi(s_old). */
static void look_back(pl_radau5 *s) {
    const pl_real *z1 = array(s, Z1), *z2 = array(s, Z2), *z3 = array(s, Z3), *a1 = array(s, CONT1);
    pl_real *e = array(s, W1), u = (C2 - 1.0) * s->head.h / s->h;
    pl_real w[3], inverse = 1.0 / (u * (u - C1) * (u - C2) * (u - 1.0));
    weights_at(u, w);
    INDEPENDENT for (int i = 0; i < s->head.n; i++) e[i] =
        inverse * ((C2 - 1.0) * a1[i] - (w[0] * z1[i] + w[1] * z2[i] + w[2] * z3[i]));
}

/* The same without a step before: algebraic equations at p(S_MOST), solved for what p misses there. */
static pl_status look_inside(pl_radau5 *s, pl_problem *p) {
    int n = s->head.n;
    const pl_real *z1 = array(s, Z1), *z2 = array(s, Z2), *z3 = array(s, Z3), *x = array(s, X), u = S_MOST;
    pl_real *e = array(s, W1), *y = array(s, WORK);
    pl_real w[3];
    weights_at(u, w);
    for (int i = 0; i < n; i++) y[i] = x[i] + w[0] * z1[i] + w[1] * z2[i] + w[2] * z3[i];
    pl_status status = pl_rhs(p, s->head.t + u * s->h, y, e);
    if (status != PL_OK) return status;
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    for (int i = 0; i < n; i++)
        if (!algebraic[i]) e[i] = 0.0;
    pl_linear_solve(p, e);
    for (int i = 0; i < n; i++) e[i] /= -MOST_PI; /* Pi is negative there */
    return PL_OK;
}

/* *err is at least the error of the dense output. */
static pl_status dense_error(pl_radau5 *s, pl_problem *p, pl_real *err) {
    int n = s->head.n, before = s->has_polynomial && !s->first;
    pl_real *e = array(s, W1), *largest = array(s, WORK2);
    if (!before && !p->model->mass.start) return PL_OK;
    pl_status status = PL_OK;
    if (before)
        look_back(s);
    else
        status = look_inside(s, p);
    if (status != PL_OK) return status;
    pl_real dense = MOST_PI * pl_weighted_norm(n, e, array(s, SCALE));
    if (!(dense > *err)) return dense == dense ? PL_OK : PL_CONVERGENCE;
    for (int i = 0; i < n; i++) largest[i] = MOST_PI * e[i];
    *err = dense;
    return PL_OK;
}

/* f at the end of the step, for the next one: do algebraic equations hold there (confirm.c)? */
static pl_status confirm(pl_radau5 *s, pl_problem *p, pl_real t) {
    int n = s->head.n;
    const pl_real *x = array(s, X), *z3 = array(s, Z3), *before = array(s, BEFORE);
    pl_real *y = array(s, END), *after = array(s, AFTER), *floor = array(s, W2);
    if (!p->model->mass.start) return PL_OK;
    for (int i = 0; i < n; i++) y[i] = x[i] + z3[i];
    pl_status status = pl_rhs(p, t, y, after);
    if (status != PL_OK) return status;
    pl_residual_floor(p, y, array(s, SCALE), floor, array(s, W3));
    return pl_residual_shrank(n, before, after, floor) ? PL_OK : PL_CONVERGENCE;
}

static pl_status factor(pl_radau5 *s, pl_problem *p, pl_real h) {
    s->h_factored = 0.0;
    pl_status status = pl_linear_factor(p, GAMMA / h, 1.0);
    if (status == PL_OK) status = pl_linear_factor_complex(p, ALPHA / h, BETA / h);
    if (status == PL_OK) s->h_factored = h;
    return status;
}

/* Jacobian and factors as far as needed for this step size. */
static pl_status set_up(pl_radau5 *s, pl_problem *p) {
    pl_status status;
    if (s->lent)
        s->f_valid = s->f_valid && s->f_confirmed &&
                     memcmp(array(s, X), array(s, END), (size_t)s->head.n * sizeof(pl_real)) == 0;
    s->lent = 0;
    if (!s->f_valid) {
        s->f_confirmed = 0;
        status = pl_rhs(p, s->head.t, array(s, X), array(s, F));
        if (status != PL_OK) return status;
        s->f_valid = 1;
    }
    if (!s->jacobian_valid) {
        status = pl_jacobian(p, s->head.t, array(s, X), array(s, F), s->h);
        if (status != PL_OK) return status;
        s->jacobian_valid = s->jacobian_current = 1;
        s->h_factored = 0.0;
    }
    return s->h_factored == s->h ? PL_OK : factor(s, p, s->h);
}

/* What p misses is known exactly enough to be added where the stages lie on the solution: in algebraic unknowns. */
static void correct_dense(pl_radau5 *s, const pl_model *m) {
    const pl_real *e = array(s, W1);
    pl_real *a4 = array(s, CONT4);
    if (!m->mass.start) return; /* zero since the start */
    for (int i = 0; i < s->head.n; i++) a4[i] = m->mass.start[i + 1] > m->mass.start[i] ? 0.0 : e[i];
}

static void accept(pl_radau5 *s, int keep, int on_limit, pl_real t_limit) {
    int n = s->head.n;
    const pl_real *z1 = array(s, Z1), *z2 = array(s, Z2), *z3 = array(s, Z3);
    pl_real *x = array(s, X), *a1 = array(s, CONT1), *a2 = array(s, CONT2), *a3 = array(s, CONT3);
    for (int i = 0; i < n; i++) {
        pl_real slope = (z1[i] - z2[i]) / (C1 - C2), from_start = (slope - z1[i] / C1) / C2;
        x[i] += z3[i];
        a1[i] = (z2[i] - z3[i]) / (C2 - 1.0);
        a2[i] = (slope - a1[i]) / (C1 - 1.0);
        a3[i] = a2[i] - from_start;
    }
    s->head.t_old = s->head.t;
    s->head.t = on_limit ? t_limit : s->head.t + s->h;
    s->head.h = s->h;
    s->first = 0;
    s->has_polynomial = 1;
    s->jacobian_current = 0;
    s->f_valid = s->f_confirmed = keep && !on_limit; /* at a limit f may jump */
    if (s->f_valid) memcpy(array(s, F), array(s, AFTER), (size_t)n * sizeof(pl_real));
}

/* After an accepted step: next step size, and what can be kept. */
static void plan_next(pl_radau5 *s, pl_real err, pl_real quotient, int truncated, pl_real h_wanted) {
    pl_real h = s->h;
    if (s->h_accepted > 0.0) {
        pl_real gustafsson = s->h_accepted / h * pow(err * err / s->err_accepted, 0.25) / SAFETY;
        quotient = fmax(quotient, fmax(LEAST_QUOTIENT, fmin(MOST_QUOTIENT, gustafsson)));
    }
    pl_real next = h / quotient;
    s->h_accepted = h;
    s->err_accepted = fmax(1e-2, err);
    if (s->h_max > 0.0) next = fmin(next, s->h_max);
    if (s->rejected) next = fmin(next, h);
    s->rejected = 0;
    if (s->rate > GOOD_RATE) s->jacobian_valid = 0;
    if (s->jacobian_valid && next >= KEEP_FROM * h && next <= KEEP_TO * h) next = h;
    s->h = truncated ? fmax(next, h_wanted) : next;
    s->head.h_next = s->h;
}

static pl_status radau5_step(void *state, pl_problem *p, pl_real t_limit) {
    pl_radau5 *s = state;
    int singular = 0, iterations = 0, repaired = 0;
    pl_real h_wanted = s->h, err = 0.0, shrink = 0.5;
    pl_status status = pl_weights(p, s->head.t, array(s, X), array(s, SCALE));
    if (status != PL_OK) return status;
    set_scale(s, p);
    for (int fails = 0;; fails++) {
        int on_limit = pl_reaches(s->head.t, s->h, t_limit);
        int truncated = on_limit && t_limit - s->head.t < 0.999 * s->h;
        if (on_limit) s->h = t_limit - s->head.t;
        p->failure.h = s->h;
        if (s->h < pl_smallest_step(s->head.t)) return pl_collapse(status);
        if (fails > MAX_FAILS) return status;
        status = set_up(s, p);
        if (status == PL_OK) {
            guess(s);
            status = iterate(s, p, &iterations, &shrink);
        } else if (status == PL_SINGULAR) {
            if (++singular == MAX_SINGULAR) return status;
            shrink = 0.5;
        } else {
            shrink = 0.25;
        }
        if (status == PL_OK) status = estimate_error(s, p, &err);
        if (status == PL_OK) status = dense_error(s, p, &err);
        if (status == PL_OK && err < 1.0) status = confirm(s, p, on_limit ? t_limit : s->head.t + s->h);
        if (status == PL_OK) {
            pl_real factor =
                fmin(SAFETY, SAFETY * (1 + 2 * MAX_ITERATIONS) / (iterations + 2 * MAX_ITERATIONS));
            pl_real quotient = fmax(LEAST_QUOTIENT, fmin(MOST_QUOTIENT, pow(err, 0.25) / factor));
            if (err < 1.0) {
                correct_dense(s, p->model);
                accept(s, p->model->mass.start && !(p->model->flags & PL_MODEL_IMPURE), on_limit, t_limit);
                pl_note_step(p, s->head.n, array(s, WORK2), array(s, SCALE), array(s, X));
                plan_next(s, err, quotient, truncated, h_wanted);
                p->count->n_steps++;
                return PL_OK;
            }
            p->count->n_error_fails++;
            pl_note(p, PL_SAW_ERROR, pl_largest(s->head.n, array(s, WORK2), array(s, SCALE)), err, s->head.t);
            status = PL_ACCURACY;
            s->h = s->first ? 0.1 * s->h : s->h / quotient;
        } else {
            if (status != PL_CONVERGENCE && status != PL_RETRY && status != PL_NONFINITE &&
                status != PL_SINGULAR)
                return status;
            if (pl_event_before(p, status, s->head.t + s->h)) return PL_PAUSED;
            p->count->n_newton_fails++;
            pl_note_failure(p, status, pl_largest(s->head.n, array(s, Z3), array(s, SCALE)), s->rate,
                            s->head.t);
            s->rate_sum = 1.0;
            if (status == PL_CONVERGENCE && repaired == 1) pl_jacobian_vain(p);
            if (repaired) repaired = 2; /* looked, and told whether it helped */
            if (status == PL_CONVERGENCE && s->jacobian_current && !repaired) {
                /* are the increments to blame? Asked once in a step */
                int changed;
                pl_status again = pl_jacobian_again(p, s->head.t, array(s, X), &changed);
                if (again != PL_OK) return again;
                repaired = changed ? 1 : 2;
                if (changed) {
                    s->h_factored = 0.0;
                    continue;
                }
            }
            s->h *= status == PL_CONVERGENCE ? shrink : 0.5;
        }
        s->rejected = 1;
        if (!s->jacobian_current) s->jacobian_valid = 0;
    }
}

/* x(t) = x_n + u (a1 + (u - c2 + 1) (a2 + (u - c1 + 1) (a3 + (u + 1) a4))),  u = (t - t_n)/h. */
static void radau5_interpolate(const void *state, pl_real t, int derivative, pl_real *out) {
    pl_radau5 *s = (pl_radau5 *)state;
    int n = s->head.n;
    const pl_real *x = array(s, X), *a1 = array(s, CONT1), *a2 = array(s, CONT2), *a3 = array(s, CONT3),
                  *a4 = array(s, CONT4);
    pl_real u = (t - s->head.t) / s->head.h, v = u - (C2 - 1.0), w = u - (C1 - 1.0), y = u + 1.0;
    if (derivative) {
        pl_real d2 = u + v, d3 = v * w + u * (v + w), d4 = d3 * y + u * v * w;
        for (int i = 0; i < n; i++) out[i] = (a1[i] + d2 * a2[i] + d3 * a3[i] + d4 * a4[i]) / s->head.h;
    } else {
        for (int i = 0; i < n; i++) out[i] = x[i] + u * (a1[i] + v * (a2[i] + w * (a3[i] + y * a4[i])));
    }
}

static int radau5_ahead(const void *state, pl_real t, pl_real *out) {
    if (!((const pl_radau5 *)state)->has_polynomial) return 0;
    radau5_interpolate(state, t, 0, out);
    return 3;
}

static void radau5_forget(void *state) {
    pl_radau5 *s = state;
    s->jacobian_valid = s->f_valid = 0;
    s->h_factored = 0.0;
}

static int radau5_nodes(const void *state, pl_real T, pl_real *t, int most) {
    const pl_radau5 *s = state;
    pl_real h = T - s->head.t;
    (void)most;
    t[0] = T;
    t[1] = s->head.t + C2 * h;
    t[2] = s->head.t + C1 * h;
    t[3] = s->head.t;
    return 4;
}

static void radau5_shorten(void *state, pl_real h) {
    pl_radau5 *s = state;
    s->h = s->head.h_next = fmin(s->h, h);
}

static void radau5_kink(void *state) {
    pl_radau5 *s = state;
    s->has_polynomial = s->f_valid = 0;
    s->h_accepted = 0.0;
}

static pl_real radau5_response(void *state, pl_problem *p, pl_real h, pl_real *v) {
    pl_radau5 *s = state;
    if (s->h_factored == 0.0) return 0.0;
    if (h > 2.0 * s->h_factored && factor(s, p, h) != PL_OK) return 0.0; /* after a short step */
    pl_linear_solve(p, v);
    return s->h_factored;
}

const pl_method pl_radau5_method = {
    .name = "radau5",
    .id = PL_RADAU5,
    .implicit = 1,
    .needs_complex = 1,
    .size = radau5_size,
    .start = radau5_start,
    .step = radau5_step,
    .interpolate = radau5_interpolate,
    .ahead = radau5_ahead,
    .x = radau5_x,
    .forget = radau5_forget,
    .x_now = radau5_x_now,
    .nodes = radau5_nodes,
    .response = radau5_response,
    .shorten = radau5_shorten,
    .kink = radau5_kink,
};
