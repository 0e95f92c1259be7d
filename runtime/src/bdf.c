/* Variable-step, variable-order BDF, orders 1-5, Nordsieck form, fixed leading coefficient.
 *
 * The history is z_j = h^j x^(j)(t)/j!, j = 0..q. A step predicts z <- P z (P: Pascal's triangle), finds e
 * with L (z_1 + l_1 e) = h f(t, z_0 + e) (bdf_newton.c), tests the local error and corrects z <- z + l e
 * (bdf_order.c has l, the error constants and the choice of order and step).
 * Literature: see bdf_order.c; strategy constants as documented for CVODE (Hindmarsh et al., ACM TOMS 31
 * (2005)). Where we deviate: the new history goes to a second copy, so a failed step needs no undoing;
 * the step that would end within a thousandth of the limit ends on it.
 */
#include "bdf.h"
#include "control.h"
#include "pliant.h"
#include "record.h"

#include <math.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__)
#define INDEPENDENT _Pragma("GCC ivdep") /* the columns of a history do not overlap */
#else
#define INDEPENDENT
#endif

#define MAX_NEWTON_FAILS            10
#define MAX_ERROR_FAILS             20
#define ERROR_FAILS_BEFORE_ORDER_1  3
#define NEWTON_FAILS_BEFORE_ORDER_1 5
#define FIRST_GROWTH                1e4
#define GROWTH                      10.0
#define SHRINK_NEWTON               0.25
#define SHRINK_LEAST                0.1
#define SHRINK_REPEATED             0.2
#define LONG_WAIT                   10
#define SUSPECT                     10 /* steps between two failures with one reason */
#define SUSPECTS                    2
#define CLOSE                       100

size_t pl_bdf_size(int n) {
    return sizeof(pl_bdf) + (size_t)BDF_N_ARRAYS * (size_t)n * sizeof(pl_real);
}

pl_status pl_bdf_start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t, const pl_real *x,
                       pl_real t_end) {
    pl_bdf *s = state;
    int n = p->model->n_x;
    memset(s, 0, sizeof *s);
    s->head.t = s->head.t_old = t;
    s->head.n = n;
    s->head.order = s->q = s->q_next = 1;
    s->q_max = opt->order_max > 0 && opt->order_max < BDF_MAX_ORDER ? opt->order_max : BDF_MAX_ORDER;
    s->h_max = opt->h_max;
    s->wait = 2;
    s->eta_next = 1.0;
    s->eta_max = FIRST_GROWTH;
    s->steps_jacobian = s->steps_fail = -1;
    s->measure_after = 1;
    pl_real *z0 = pl_bdf_z(s, 0, 0), *z1 = pl_bdf_z(s, 0, 1), *f = pl_bdf_array(s, BDF_F);
    for (int i = 0; i < n; i++) z0[i] = x[i];
    pl_status status = pl_weights(p, t, z0, pl_bdf_array(s, BDF_WEIGHT));
    if (status == PL_OK) status = pl_rhs(p, t, z0, f);
    if (status == PL_OK) status = pl_derivative(p, t, z0, f, t_end - t, z1, pl_bdf_array(s, BDF_B));
    if (status != PL_OK) return status;
    pl_real h = opt->h_first;
    if (h <= 0.0) status = pl_first_step(p, t, z0, z1, t_end, pl_bdf_array(s, BDF_Y), &h);
    if (status != PL_OK) return status;
    if (s->h_max > 0.0 && h > s->h_max) h = s->h_max;
    if (opt->h_start > 0.0 && h > opt->h_start) h = opt->h_start;
    s->h = s->head.h_next = h;
    for (int i = 0; i < n; i++) z1[i] *= h;
    return PL_OK;
}

/* The first two columns of P from, for a constant order q: all that the iteration needs. */
static inline void predict_order(int q, int n, const pl_real *restrict from, pl_real *restrict to) {
    INDEPENDENT for (int i = 0; i < n; i++) {
        pl_real c[BDF_COLUMNS];
        for (int j = 0; j <= q; j++) c[j] = from[(size_t)j * n + i];
        for (int k = 1; k <= q && k <= 2; k++)
            for (int j = q; j >= k; j--) c[j - 1] += c[j];
        to[i] = c[0];
        to[(size_t)n + i] = c[1];
    }
}

/* x and h x' of the other copy = those of P z. */
static void predict(pl_bdf *s) {
    int n = s->head.n;
    const pl_real *from = pl_bdf_z(s, s->valid, 0);
    pl_real *to = pl_bdf_z(s, 1 - s->valid, 0);
    switch (s->q) {
    case 1:
        predict_order(1, n, from, to);
        break;
    case 2:
        predict_order(2, n, from, to);
        break;
    case 3:
        predict_order(3, n, from, to);
        break;
    case 4:
        predict_order(4, n, from, to);
        break;
    default:
        predict_order(5, n, from, to);
        break;
    }
}

/* to = P from + l e for a constant order q: all columns in one sweep over memory. */
static inline void correct_order(int q, int n, const pl_real *l, const pl_real *restrict e,
                                 const pl_real *restrict from, pl_real *restrict to) {
    INDEPENDENT for (int i = 0; i < n; i++) {
        pl_real c[BDF_COLUMNS];
        for (int j = 0; j <= q; j++) c[j] = from[(size_t)j * n + i];
        for (int k = 1; k <= q; k++)
            for (int j = q; j >= k; j--) c[j - 1] += c[j];
        for (int j = 0; j <= q; j++) to[(size_t)j * n + i] = c[j] + l[j] * e[i];
    }
}

static void accept(pl_bdf *s) {
    int n = s->head.n, q = s->q;
    const pl_real *e = pl_bdf_array(s, BDF_E), *from = pl_bdf_z(s, s->valid, 0);
    pl_real l[BDF_COLUMNS], *z = pl_bdf_z(s, 1 - s->valid, 0);
    for (int j = 0; j <= q; j++) l[j] = s->l[j];
    s->valid = 1 - s->valid;
    switch (q) {
    case 1:
        correct_order(1, n, l, e, from, z);
        break;
    case 2:
        correct_order(2, n, l, e, from, z);
        break;
    case 3:
        correct_order(3, n, l, e, from, z);
        break;
    case 4:
        correct_order(4, n, l, e, from, z);
        break;
    default:
        correct_order(5, n, l, e, from, z);
        break;
    }
    for (int i = q; i >= 2; i--) s->tau[i] = s->tau[i - 1];
    if (q == 1 && s->steps > 0) s->tau[2] = s->tau[1];
    s->tau[1] = s->h;
    s->steps++;
    s->unmeasured++;
    s->past++;
    s->wait--;
    if (s->wait == 1 && q < s->q_max) {
        memcpy(pl_bdf_array(s, BDF_SAVED), e, (size_t)n * sizeof(pl_real));
        s->saved_scale = s->e_to_derivative;
        s->has_saved = 1;
    }
}

/* What the last Newton iteration left in algebraic equations does not shrink with h: solve them. The other copy of the
 * history is free as work memory. */
static pl_status make_consistent(pl_bdf *s, pl_problem *p) {
    if (!p->model->mass.start) return PL_OK;
    s->factor_valid = 0;
    return pl_consistent(p, s->head.t, pl_bdf_z(s, s->valid, 0), pl_bdf_z(s, 1 - s->valid, 0));
}

/* The history anew: order 1 with a fresh derivative. */
static pl_status begin_again(pl_bdf *s, pl_problem *p) {
    pl_real *z0 = pl_bdf_z(s, s->valid, 0), *z1 = pl_bdf_z(s, s->valid, 1), *f = pl_bdf_array(s, BDF_F);
    s->q = s->q_next = 1;
    s->has_saved = 0;
    s->wait = LONG_WAIT;
    pl_status status = pl_rhs(p, s->head.t, z0, f);
    if (status == PL_OK) status = pl_derivative(p, s->head.t, z0, f, s->h, z1, pl_bdf_array(s, BDF_B));
    for (int i = 0; i < s->head.n; i++) z1[i] *= s->h;
    return status;
}

static int hopeless(pl_status status) {
    return status != PL_CONVERGENCE && status != PL_RETRY && status != PL_NONFINITE && status != PL_SINGULAR;
}

/* After a failed iteration: a smaller step. If that does not help in an algebraic system, the iteration may begin too far
 * from the solution, at any step size; so once in a step the history begins anew. */
static pl_status after_newton_fail(pl_bdf *s, pl_problem *p, pl_status why, int fails) {
    s->eta_max = 1.0;
    pl_bdf_rescale(s, SHRINK_NEWTON);
    if (fails != NEWTON_FAILS_BEFORE_ORDER_1 || why != PL_CONVERGENCE || !p->model->mass.start) return PL_OK;
    pl_failure failure = p->failure;
    pl_status status = make_consistent(s, p);
    if (status == PL_OK) return begin_again(s, p);
    if (status != PL_INCONSISTENT && hopeless(status)) return status;
    p->failure = failure;
    return PL_OK;
}

/* After a failed error test: smaller step, in the end order 1 from a fresh derivative. */
static pl_status after_error_fail(pl_bdf *s, pl_problem *p, pl_real error, int fails) {
    s->eta_max = 1.0;
    if (fails <= ERROR_FAILS_BEFORE_ORDER_1) {
        pl_real eta = 1.0 / (pow(6.0 * error, 1.0 / (s->q + 1)) + 1e-6);
        eta = fmax(SHRINK_LEAST, eta);
        if (fails >= 2) eta = fmin(eta, SHRINK_REPEATED);
        pl_bdf_rescale(s, fmin(eta, 1.0));
        return PL_OK;
    }
    if (s->q > 1) {
        pl_bdf_change_order(s, s->q - 1);
        pl_bdf_rescale(s, SHRINK_LEAST);
        return PL_OK;
    }
    s->h *= SHRINK_LEAST;
    pl_status status = make_consistent(s, p);
    return status == PL_OK ? begin_again(s, p) : status;
}

/* Algebraic unknowns follow whatever the iteration leaves over in the states, often many times larger, and not with the
 * step size: where one fails the error test twice within a few steps, that may be the reason. Another is that they show
 * the jump of the states' error where the step size has changed; growing again at once, the method would fail again, and
 * never come to look at its order, which is the way out. */
static void suspect(pl_bdf *s, pl_problem *p, int worst) {
    const int *column = p->model->mass.start;
    if (worst < 0 || column[worst + 1] > column[worst]) return; /* it has a derivative */
    s->n_suspect = s->steps_fail >= 0 && s->steps - s->steps_fail <= SUSPECT ? s->n_suspect + 1 : 1;
    if (s->n_suspect >= SUSPECTS) {
        s->close = CLOSE;
        s->look = 1;
        pl_bdf_inherit(s, p);
    }
    s->steps_fail = s->steps;
}

/* Bring the history to the order and step size planned, not beyond t_limit. Returns 1 if the step ends there.
 */
static int prepare(pl_bdf *s, pl_real t_limit) {
    if (s->q_next != s->q) pl_bdf_change_order(s, s->q_next);
    if (s->eta_next != 1.0) pl_bdf_rescale(s, s->eta_next);
    s->eta_next = 1.0;
    if (!pl_reaches(s->head.t, s->h, t_limit)) return 0;
    pl_bdf_rescale(s, (t_limit - s->head.t) / s->h);
    return 1;
}

pl_status pl_bdf_step(void *state, pl_problem *p, pl_real t_limit) {
    pl_bdf *s = state;
    int newton_fails = 0, error_fails = 0, how = BDF_FIRST_TRY;
    int on_limit = prepare(s, t_limit);
    pl_real error;
    pl_status status = pl_bdf_weights(s, p, s->head.t);
    if (status != PL_OK) return status;
    for (;;) {
        p->failure.h = s->h;
        if (s->h < pl_smallest_step(s->head.t)) return pl_collapse(status);
        predict(s);
        pl_bdf_coefficients(s);
        status = pl_bdf_correct(s, p, how);
        if (status == PL_OK) {
            error = s->e_norm * s->to_error;
            if (error <= 1.0) break;
            p->count->n_error_fails++;
            int worst = pl_largest(s->head.n, pl_bdf_array(s, BDF_E), pl_bdf_error_weight(s));
            pl_note(p, PL_SAW_ERROR, worst, error, s->head.t);
            if (p->model->mass.start) suspect(s, p, worst);
            how = BDF_AFTER_ERROR_FAIL;
            if (++error_fails == MAX_ERROR_FAILS) return PL_ACCURACY;
            status = after_error_fail(s, p, error, error_fails);
            if (status != PL_OK) return status;
            status = PL_ACCURACY;
        } else {
            if (hopeless(status)) return status;
            if (pl_event_before(p, status, s->head.t + s->h)) return PL_PAUSED;
            p->count->n_newton_fails++;
            pl_note_failure(p, status,
                            pl_largest(s->head.n, pl_bdf_array(s, BDF_B), pl_bdf_array(s, BDF_WEIGHT)),
                            s->rate, s->head.t);
            how = BDF_AFTER_NEWTON_FAIL;
            if (++newton_fails == MAX_NEWTON_FAILS) return status;
            pl_status next = after_newton_fail(s, p, status, newton_fails);
            if (next != PL_OK) return next;
        }
        on_limit = 0;
    }
    s->head.t_old = s->head.t;
    s->head.t = on_limit ? t_limit : s->head.t + s->h;
    s->head.h = s->h;
    s->head.order = s->q;
    accept(s);
    pl_note_step(p, s->head.n, pl_bdf_array(s, BDF_E), pl_bdf_array(s, BDF_WEIGHT), pl_bdf_z(s, s->valid, 0));
    pl_bdf_plan_next(s, error);
    if (s->hold > 0) s->hold--;
    if (s->close > 0) s->close--;
    s->eta_max = GROWTH;
    s->head.h_next = s->h * s->eta_next;
    p->count->n_steps++;
    return PL_OK;
}

/* x(t) = sum z_j ((t - t_n)/h)^j and its derivative. */
void pl_bdf_interpolate(const void *state, pl_real t, int derivative, pl_real *out) {
    pl_bdf *s = (pl_bdf *)state;
    int n = s->head.n, q = s->q, lowest = derivative ? 1 : 0;
    pl_real x = (t - s->head.t) / s->h, scale = derivative ? 1.0 / s->h : 1.0;
    const pl_real *top = pl_bdf_z(s, s->valid, q);
    for (int i = 0; i < n; i++) out[i] = top[i] * (derivative ? q : 1.0) * scale;
    for (int j = q - 1; j >= lowest; j--) {
        const pl_real *z = pl_bdf_z(s, s->valid, j);
        pl_real c = (derivative ? j : 1.0) * scale;
        for (int i = 0; i < n; i++) out[i] = out[i] * x + c * z[i];
    }
}

static int bdf_ahead(const void *state, pl_real t, pl_real *out) {
    pl_bdf_interpolate(state, t, 0, out);
    return ((const pl_bdf *)state)->q;
}

pl_real *pl_bdf_history(pl_bdf *s, int *order, pl_real *h) {
    *order = s->q;
    *h = s->h;
    return pl_bdf_z(s, s->valid, 0);
}

static pl_real *bdf_x(void *state) {
    pl_bdf *s = state;
    return pl_bdf_z(s, s->valid, 0);
}

static const pl_real *bdf_x_now(const void *state) {
    return bdf_x((pl_bdf *)state);
}

static void bdf_forget(void *state) {
    pl_bdf *s = state;
    s->factor_valid = 0;
    s->steps_jacobian = -1;
}

/* The end of the step, and those of the steps that the history remembers. */
static int bdf_nodes(const void *state, pl_real T, pl_real *t, int most) {
    const pl_bdf *s = state;
    int n = 2;
    t[0] = T;
    t[1] = s->head.t;
    for (int k = 1; k < s->q_next && k <= s->past && n < most; k++, n++) t[n] = t[n - 1] - s->tau[k];
    return n;
}

static pl_real bdf_response(void *state, pl_problem *p, pl_real h, pl_real *v) {
    const pl_bdf *s = state;
    (void)h;
    if (!s->factor_valid) return 0.0;
    const int8_t *algebraic = pl_linear_has_algebraic(p->linear) ? pl_linear_algebraic(p->linear) : NULL;
    for (int i = 0; i < s->head.n; i++)
        if (!algebraic || !algebraic[i]) v[i] *= s->gamma_factored;
    if (!s->plain) pl_linear_solve(p, v);
    return s->gamma_factored * s->l[1];
}

const pl_method pl_bdf_method = {
    .name = "bdf",
    .id = PL_BDF,
    .implicit = 1,
    .size = pl_bdf_size,
    .start = pl_bdf_start,
    .step = pl_bdf_step,
    .interpolate = pl_bdf_interpolate,
    .ahead = bdf_ahead,
    .x = bdf_x,
    .forget = bdf_forget,
    .x_now = bdf_x_now,
    .nodes = bdf_nodes,
    .response = bdf_response,
    .jump = pl_bdf_jump,
};
