/* BDF: modified Newton iteration.
 *
 * Unknown is the correction e: x = z_0 + e, h x' = z_1 + l_1 e (predicted z). Each iteration solves
 *     (L - gamma J) delta = gamma f(t, z_0 + e) - L (z_1/l_1 + e),     gamma = h/l_1,
 * algebraic rows: -J delta = f. The matrix is kept over steps; where it was factorised with another gamma the
 * correction is scaled by 2/(1 + gamma/gamma_factored). Converged when delta min(1, rate) is below a tenth of
 * the error that the error test allows. Constants as in Hindmarsh et al. (2005), section 2.1.
 *
 * Beyond them: a small delta means convergence only if the matrix is right. A Jacobian taken by differences across a
 * jump of f is huge and makes every delta small; the steps then ignore f. So after a factorisation, where a large
 * residual gave a small delta, the residual is evaluated once more: it must have shrunk. And in large systems, where the
 * first correction after a factorisation was large, a residual small enough ends the iteration without another solution.
 */
#include "bdf.h"

#include <math.h>

#define MAX_ITERATIONS     3
#define DIVERGES           2.0
#define RATE_DECAY         0.3
#define SHARE_OF_ERROR     0.1
#define GAMMA_CHANGE       0.3 /* refactorise beyond this relative change of gamma */
#define GAMMA_CHANGE_JAC   0.2 /* a failure with gamma changed less than this is blamed on the Jacobian */
#define STEPS_PER_FACTOR   20
#define STEPS_PER_JACOBIAN 51
#define LARGE_RESIDUAL     1.0 /* in weights: worth a second look */
#define SMALL_SHARE        0.1 /* delta below this share of the residual: damped by the matrix */
#define COSTLY_SOLVE       500 /* unknowns from which a solution costs more than looking at the residual */
#define MUST_SHRINK        0.9

/* f at the predicted point must be in BDF_F. */
static pl_status set_up(pl_bdf *s, pl_problem *p, int how, int stale) {
    pl_real change = fabs(s->gamma / s->gamma_factored - 1.0);
    int jacobian = s->steps_jacobian < 0 || s->steps >= s->steps_jacobian + STEPS_PER_JACOBIAN ||
                   (stale && change < GAMMA_CHANGE_JAC) || how == BDF_AFTER_NEWTON_FAIL;
    if (jacobian) {
        pl_status status =
            pl_jacobian(p, s->head.t + s->h, pl_bdf_z(s, 1 - s->valid, 0), pl_bdf_array(s, BDF_F), s->h);
        if (status != PL_OK) {
            s->factor_valid = 0;
            s->steps_jacobian = -1;
            return status;
        }
        s->steps_jacobian = s->steps;
    }
    s->jacobian_current = jacobian;
    s->factor_valid = 0;
    pl_status status = pl_linear_factor(p, 1.0, s->gamma);
    if (status != PL_OK) return status;
    s->factor_valid = 1;
    s->gamma_factored = s->gamma;
    s->steps_factor = s->steps;
    s->rate = 1.0;
    return PL_OK;
}

static void residual(pl_bdf *s, pl_problem *p) {
    int n = s->head.n;
    pl_real *b = pl_bdf_array(s, BDF_B), *y = pl_bdf_array(s, BDF_Y);
    const pl_real *f = pl_bdf_array(s, BDF_F), *e = pl_bdf_array(s, BDF_E),
                  *z1 = pl_bdf_z(s, 1 - s->valid, 1);
    pl_real gamma = s->gamma, inverse = 1.0 / s->l[1];
    if (!p->model->mass.start) {
        for (int i = 0; i < n; i++) b[i] = gamma * f[i] - (z1[i] * inverse + e[i]);
        return;
    }
    /* y is free here: x was only needed for f */
    for (int i = 0; i < n; i++) y[i] = z1[i] * inverse + e[i];
    pl_mass_times(p->model, y, b);
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    for (int i = 0; i < n; i++) b[i] = algebraic[i] ? f[i] : gamma * f[i] - b[i];
}

/* Does the residual at the solution x in BDF_Y confirm what the matrix promised? Only asked after a factorisation. */
static pl_status confirm(pl_bdf *s, pl_problem *p, pl_real before) {
    pl_status status = pl_rhs(p, s->head.t + s->h, pl_bdf_array(s, BDF_Y), pl_bdf_array(s, BDF_F));
    if (status != PL_OK) return status;
    residual(s, p);
    pl_real after = pl_weighted_norm(s->head.n, pl_bdf_array(s, BDF_B), pl_bdf_array(s, BDF_WEIGHT));
    return after <= MUST_SHRINK * before ? PL_OK : PL_CONVERGENCE;
}

/* The iteration from e = 0. PL_CONVERGENCE: did not converge. */
static pl_status iterate(pl_bdf *s, pl_problem *p) {
    int n = s->head.n;
    pl_real t = s->head.t + s->h;
    pl_real *e = pl_bdf_array(s, BDF_E), *b = pl_bdf_array(s, BDF_B), *y = pl_bdf_array(s, BDF_Y);
    pl_real *f = pl_bdf_array(s, BDF_F);
    const pl_real *z0 = pl_bdf_z(s, 1 - s->valid, 0), *weight = pl_bdf_array(s, BDF_WEIGHT);
    pl_real last = 0.0, bound = SHARE_OF_ERROR / s->to_error, before = 0.0;
    pl_real relax = s->gamma == s->gamma_factored ? 1.0 : 2.0 / (1.0 + s->gamma / s->gamma_factored);
    for (int i = 0; i < n; i++) e[i] = 0.0;
    int fresh = s->steps_factor == s->steps && !p->model->mass.start;
    for (int iteration = 0;; iteration++) {
        residual(s, p);
        if (fresh && (iteration == 0 || (iteration == 1 && n >= COSTLY_SOLVE))) {
            pl_real now = pl_weighted_norm(n, b, weight);
            if (iteration == 0)
                before = now;
            else if (now * fmax(1.0, last / before) <= bound) {
                /* a second correction would be below the bound: it need not be solved for */
                s->rate = fmax(RATE_DECAY * s->rate, now * fmax(1.0, last / before) / last);
                s->e_norm = pl_weighted_norm(n, e, weight);
                return PL_OK;
            }
        }
        pl_linear_solve(p, b);
        pl_real sum = 0.0;
        for (int i = 0; i < n; i++) {
            pl_real delta = relax * b[i];
            e[i] += delta;
            y[i] = z0[i] + e[i];
            delta *= weight[i];
            sum += delta * delta;
        }
        pl_real size = sqrt(sum / n);
        if (!(size - size == 0.0)) return PL_CONVERGENCE;
        if (iteration > 0) s->rate = fmax(RATE_DECAY * s->rate, size / last);
        if (size * fmin(1.0, s->rate) <= bound) {
            s->e_norm = iteration == 0 ? size : pl_weighted_norm(n, e, weight);
            int look = iteration == 0 && before > LARGE_RESIDUAL && size < SMALL_SHARE * before;
            return look ? confirm(s, p, before) : PL_OK;
        }
        if (iteration + 1 == MAX_ITERATIONS || (iteration > 0 && size > DIVERGES * last))
            return PL_CONVERGENCE;
        last = size;
        pl_status status = pl_rhs(p, t, y, f);
        if (status != PL_OK) return status;
    }
}

static int worth_repeating(pl_status status) {
    return status == PL_CONVERGENCE || status == PL_RETRY || status == PL_NONFINITE;
}

pl_status pl_bdf_correct(pl_bdf *s, pl_problem *p, int how) {
    pl_real t = s->head.t + s->h;
    const pl_real *z0 = pl_bdf_z(s, 1 - s->valid, 0);
    int fresh = !s->factor_valid || how != BDF_FIRST_TRY || s->steps >= s->steps_factor + STEPS_PER_FACTOR ||
                fabs(s->gamma / s->gamma_factored - 1.0) > GAMMA_CHANGE;
    s->jacobian_current = 0;
    pl_status status = pl_rhs(p, t, z0, pl_bdf_array(s, BDF_F));
    if (status != PL_OK) return status;
    if (fresh) {
        status = set_up(s, p, how, 0);
        if (status != PL_OK) return status;
    }
    status = iterate(s, p);
    if (!worth_repeating(status) || s->jacobian_current) return status;
    /* the Jacobian is old: once more with a new one */
    status = pl_rhs(p, t, z0, pl_bdf_array(s, BDF_F));
    if (status == PL_OK) status = set_up(s, p, how, 1);
    return status == PL_OK ? iterate(s, p) : status;
}
