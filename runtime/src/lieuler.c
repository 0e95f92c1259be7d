/* Linearly implicit Euler method at fixed step tau:
 *
 *     (L - tau J) (x_(k+1) - x_k) = tau f(t_(k+1), x_k, u_(k+1)),     J = df/dx at the same point,
 *
 * J masked if asked (Schiela & Bornemann 2003, section 2; inputs at the new time level). Algebraic rows read
 * -J dx = f. One Jacobian, one factorisation and one solution per step: constant work. Dense output is linear.
 *
 * A step that begins at an event may begin where J is all but infinite (sqrt(x) at x = 0+); J dx has nothing to do with
 * the change of f then. The first step after an event is looked at: if f at its end is far from f + J dx, J is taken
 * there, and the step is made again.
 */
#include "pliant.h"
#include "control.h"

#include <math.h>
#include <string.h>

#define FAR 100.0 /* times f at both ends that f + J dx may be in a first step */

typedef struct pl_lieuler {
    pl_stepper head;
    int64_t k; /* steps since t_start */
    pl_real t_start;
    pl_real tau;
} pl_lieuler;

enum { X, X_OLD, F, DX, END, F_END, CHANGE, N_ARRAYS };

static pl_real *array(pl_lieuler *s, int k) {
    return (pl_real *)(void *)(s + 1) + (size_t)k * (size_t)s->head.n;
}

static size_t size_of(int n) {
    return sizeof(pl_lieuler) + (size_t)N_ARRAYS * (size_t)n * sizeof(pl_real);
}

static pl_real *current_x(void *state) {
    return array(state, X);
}

static pl_status start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t, const pl_real *x,
                       pl_real t_end) {
    pl_lieuler *s = state;
    int n = p->model->n_x;
    (void)t_end;
    memset(s, 0, sizeof *s);
    s->head.t = s->head.t_old = s->t_start = t;
    s->head.n = n;
    s->head.order = 1;
    s->tau = s->head.h_next = opt->h_fixed;
    memcpy(array(s, X), x, (size_t)n * sizeof(pl_real));
    memcpy(array(s, X_OLD), x, (size_t)n * sizeof(pl_real));
    return s->tau > 0.0 ? PL_OK : PL_ARGUMENT;
}

/* The step d for f at its beginning, with J at `at`, where f is f_at. */
static pl_status solve(pl_lieuler *s, pl_problem *p, pl_real t, pl_real tau, const pl_real *at,
                       const pl_real *f_at) {
    pl_real *d = array(s, DX);
    const pl_real *f = array(s, F);
    pl_status status = pl_jacobian(p, t, at, f_at, tau);
    if (status == PL_OK) status = pl_linear_factor(p, 1.0, tau);
    if (status != PL_OK) return status;
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    for (int i = 0; i < s->head.n; i++) d[i] = algebraic[i] ? f[i] : tau * f[i];
    pl_linear_solve(p, d);
    return PL_OK;
}

/* Does f at the end of the step, F_END, say that f + J dx, that is L dx / tau, went wrong? */
static int is_far(pl_lieuler *s, const pl_problem *p, pl_real tau) {
    const pl_real *x = array(s, X), *f = array(s, F), *d = array(s, DX), *f_end = array(s, F_END);
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    const int n = s->head.n;
    pl_real *change = array(s, CHANGE); /* L dx */
    pl_mass_times(p->model, d, change);
    for (int i = 0; i < n; i++)
        if (!algebraic[i] && fabs(change[i]) > FAR * tau * fmax(fabs(f[i]), fabs(f_end[i])) &&
            fabs(d[i]) > p->rtol * fabs(x[i]) + p->atol[i])
            return 1;
    return 0;
}

/* The first step after an event, once more if need be. */
static pl_status look_again(pl_lieuler *s, pl_problem *p, pl_real t, pl_real tau) {
    pl_real *end = array(s, END), *f_end = array(s, F_END);
    const pl_real *x = array(s, X), *d = array(s, DX);
    for (int i = 0; i < s->head.n; i++) end[i] = x[i] + d[i];
    pl_failure before = p->failure;
    if (pl_rhs(p, t, end, f_end) != PL_OK) { /* not defined there: nothing is known */
        p->failure = before;
        return PL_OK;
    }
    return is_far(s, p, tau) ? solve(s, p, t, tau, end, f_end) : PL_OK;
}

static pl_status step(void *state, pl_problem *p, pl_real t_limit) {
    pl_lieuler *s = state;
    int n = s->head.n;
    pl_real t = s->t_start + (pl_real)(s->k + 1) * s->tau, *x = array(s, X), *d = array(s, DX);
    int cut = t > t_limit + 1e-6 * s->tau; /* the grid begins anew where a step was cut short */
    if (t > t_limit - 1e-6 * s->tau) t = t_limit;
    pl_real tau = t - s->head.t;
    p->failure.h = tau;
    pl_status status = pl_rhs(p, t, x, array(s, F));
    if (status == PL_OK) status = solve(s, p, t, tau, x, array(s, F));
    if (status == PL_OK && s->k == 0 && p->count->n_events > 0) status = look_again(s, p, t, tau);
    if (status != PL_OK) return pl_event_before(p, status, t) ? PL_PAUSED : status;
    for (int i = 0; i < n; i++) {
        pl_real next = x[i] + d[i];
        if (next - next == 0.0) continue;
        p->failure.status = PL_NONFINITE;
        p->failure.what = PL_IN_RHS;
        p->failure.index = i;
        p->failure.t = t;
        return pl_event_before(p, PL_NONFINITE, t) ? PL_PAUSED : PL_NONFINITE;
    }
    memcpy(array(s, X_OLD), x, (size_t)n * sizeof(pl_real));
    for (int i = 0; i < n; i++) x[i] += d[i];
    s->head.t_old = s->head.t;
    s->head.t = t;
    s->head.h = tau;
    s->k = cut ? 0 : s->k + 1;
    if (cut) s->t_start = t;
    p->count->n_steps++;
    return PL_OK;
}

static void interpolate(const void *state, pl_real t, int derivative, pl_real *out) {
    pl_lieuler *s = (pl_lieuler *)state;
    const pl_real *x = array(s, X), *old = array(s, X_OLD);
    pl_real u = (t - s->head.t) / s->head.h;
    for (int i = 0; i < s->head.n; i++)
        out[i] = derivative ? (x[i] - old[i]) / s->head.h : x[i] + u * (x[i] - old[i]);
}

static void forget(void *state) {
    (void)state; /* every step evaluates and factorises anew */
}

const pl_method pl_lieuler_method = {
    .name = "lieuler",
    .id = PL_LIEULER,
    .implicit = 1,
    .size = size_of,
    .start = start,
    .step = step,
    .interpolate = interpolate,
    .x = current_x,
    .forget = forget,
};
