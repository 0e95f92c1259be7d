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
 *
 * Two factorisations are spared. Where neither gamma nor J has changed the factors are still right. And the first steps of
 * a large system are tiny, each of another size: as long as gamma ||J|| is small the identity serves as matrix.
 */
#include "bdf.h"
#include "control.h"

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
#define NEARLY_IDENTITY    0.2 /* gamma ||J|| up to which large systems start without factors */
#define SHARE_PLAIN        0.1 /* of the bound: errors that stay behind without factors are stiff ones */
#define STILL              100 /* steps of one size and order after which the iteration is looked at closely */
#define SHARE_CLOSE        0.01  /* of the bound, then */
#define GOOD_RATE          0.1   /* the Jacobian of an algebraic system is still right */
#define MEASURE_MOST       16.0  /* steps between two measurements of its rate */
#define MORE               100.0 /* how much worse the rate may get before it is measured again */
#define NOTHING            0.01  /* of the bound: a correction that needs no second look */
#define MOST_LEFT          100.0 /* times the last correction */

/* max_i sum_j |J_ij| weight_i/weight_j, the norm that goes with the largest error in weights. */
static pl_real jacobian_norm(pl_bdf *s, pl_problem *p) {
    int n = s->head.n;
    pl_pattern pattern;
    const pl_real *value = pl_linear_jacobian(p->linear, &pattern), *weight = pl_bdf_array(s, BDF_WEIGHT);
    pl_real *sum = pl_bdf_array(s, BDF_B), largest = 0.0;
    for (int i = 0; i < n; i++) sum[i] = 0.0;
    for (int j = 0; j < n; j++) {
        pl_real scale = 1.0 / weight[j];
        if (pattern.start)
            for (int k = pattern.start[j]; k < pattern.start[j + 1]; k++)
                sum[pattern.row[k]] += fabs(value[k]) * scale;
        else
            for (int i = 0; i < n; i++) sum[i] += fabs(value[(size_t)j * n + i]) * scale;
    }
    for (int i = 0; i < n; i++) largest = fmax(largest, sum[i] * weight[i]);
    return largest;
}

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
        s->unmeasured = 0;
        /* the first steps are tiny, and each has another size: factors would serve for one step only */
        int start = s->steps == 0 && s->head.n >= COSTLY_SOLVE && !stale && !p->model->mass.start;
        s->jacobian_norm = start ? jacobian_norm(s, p) : 0.0;
    }
    s->jacobian_current = jacobian;
    s->steps_factor = s->steps;
    s->rate = 1.0;
    if (!jacobian && s->factor_valid && s->gamma == s->gamma_factored) return PL_OK; /* the same matrix */
    s->factor_valid = 0;
    s->plain = s->jacobian_norm > 0.0 && s->gamma * s->jacobian_norm <= NEARLY_IDENTITY;
    pl_status status = s->plain ? PL_OK : pl_linear_factor(p, 1.0, s->gamma);
    if (status != PL_OK) return status;
    if (!s->plain) s->jacobian_norm = 0.0;
    s->factor_valid = 1;
    s->gamma_factored = s->gamma;
    return PL_OK;
}

/* e is zero, and need not be stored, in the first iteration. */
static void residual(pl_bdf *s, pl_problem *p, int first) {
    int n = s->head.n;
    pl_real *b = pl_bdf_array(s, BDF_B), *y = pl_bdf_array(s, BDF_Y);
    const pl_real *f = pl_bdf_array(s, BDF_F), *e = pl_bdf_array(s, BDF_E),
                  *z1 = pl_bdf_z(s, 1 - s->valid, 1);
    pl_real gamma = s->gamma, inverse = 1.0 / s->l[1];
    if (!p->model->mass.start) {
        if (first)
            for (int i = 0; i < n; i++) b[i] = gamma * f[i] - z1[i] * inverse;
        else
            for (int i = 0; i < n; i++) b[i] = gamma * f[i] - (z1[i] * inverse + e[i]);
        return;
    }
    /* y is free here: x was only needed for f */
    for (int i = 0; i < n; i++) y[i] = z1[i] * inverse + (first ? 0.0 : e[i]);
    pl_mass_times(p->model, y, b);
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    for (int i = 0; i < n; i++) b[i] = algebraic[i] ? f[i] : gamma * f[i] - b[i];
}

/* f at z_0 + e. */
static pl_status evaluate(pl_bdf *s, pl_problem *p) {
    pl_real *y = pl_bdf_array(s, BDF_Y);
    const pl_real *z0 = pl_bdf_z(s, 1 - s->valid, 0), *e = pl_bdf_array(s, BDF_E);
    for (int i = 0; i < s->head.n; i++) y[i] = z0[i] + e[i];
    return pl_rhs(p, s->head.t + s->h, y, pl_bdf_array(s, BDF_F));
}

/* Does the residual at the solution confirm what the matrix promised? Only asked after a factorisation. */
static pl_status confirm(pl_bdf *s, pl_problem *p, pl_real before) {
    pl_status status = evaluate(s, p);
    if (status != PL_OK) return status;
    residual(s, p, 0);
    pl_real after = pl_weighted_norm(s->head.n, pl_bdf_array(s, BDF_B), pl_bdf_array(s, BDF_WEIGHT));
    return after <= MUST_SHRINK * before ? PL_OK : PL_CONVERGENCE;
}

/* The same for algebraic rows, of which the residual is known where an iteration has begun (confirm.c). */
static void remember(pl_bdf *s, pl_problem *p) {
    int n = s->head.n;
    const pl_real *b = pl_bdf_array(s, BDF_B), *z0 = pl_bdf_z(s, 1 - s->valid, 0);
    pl_real *before = pl_bdf_array(s, BDF_BEFORE);
    for (int i = 0; i < n; i++) before[i] = b[i];
    pl_residual_floor(p, z0, pl_bdf_array(s, BDF_WEIGHT), pl_bdf_array(s, BDF_FLOOR), pl_bdf_array(s, BDF_Y));
}

static int shrank(pl_bdf *s) {
    return pl_residual_shrank(s->head.n, pl_bdf_array(s, BDF_BEFORE), pl_bdf_array(s, BDF_B),
                              pl_bdf_array(s, BDF_FLOOR));
}

static pl_status confirm_rows(pl_bdf *s, pl_problem *p) {
    if (!pl_residual_is_large(s->head.n, pl_bdf_array(s, BDF_BEFORE), pl_bdf_array(s, BDF_FLOOR)))
        return PL_OK;
    pl_status status = evaluate(s, p);
    if (status != PL_OK) return status;
    residual(s, p, 0);
    return shrank(s) ? PL_OK : PL_CONVERGENCE;
}

/* What the iteration leaves over enters the error estimate as a difference of order q + 1, up to 2^(q+1) times larger where
 * it alternates, and can keep a step small for ever. So now and then, for as many steps as the history remembers, it
 * leaves over less: if that was the reason, the step grows. */
static int looks_closely(const pl_bdf *s) {
    return s->close > 0 || (s->still >= STILL && s->still % STILL <= 2 * BDF_MAX_ORDER + 2);
}

/* What is left over after a correction of this size, by the rates of this step (measured, < 0: not yet) and of the last.
 *
 * Where an equation is algebraic the matrix has J alone, and a J that has changed hurts at any step size: where it has become
 * too large, all corrections are too small by one factor, look converged, and the error builds up from step to step. So there
 * the corrections that would follow are summed up, and the rate is measured again before long: the sooner the less
 * the Jacobian was right the last time. */
static pl_real left_over(pl_bdf *s, int algebraic, pl_real measured, pl_real size, pl_real bound) {
    if (!algebraic) return size * fmin(1.0, s->rate);
    if (measured >= 0.0) {
        s->unmeasured = 0;
        s->expected = fmin(RATE_DECAY, MORE * measured);
        pl_real age = (pl_real)(s->steps - s->steps_jacobian + 1);
        s->measure_after = (int)fmax(1.0, fmin(MEASURE_MOST, age * (GOOD_RATE / measured - 1.0)));
        pl_real sum = measured < 1.0 ? fmin(measured / (1.0 - measured), MOST_LEFT) : MOST_LEFT;
        return size * fmax(sum, fmin(1.0, s->rate));
    }
    if (s->unmeasured >= s->measure_after && size > NOTHING * bound) return HUGE_VAL;
    return size * fmin(1.0, fmax(s->rate, s->expected));
}

/* The iteration from e = 0. PL_CONVERGENCE: did not converge. */
static pl_status iterate(pl_bdf *s, pl_problem *p) {
    int n = s->head.n;
    pl_real *e = pl_bdf_array(s, BDF_E), *b = pl_bdf_array(s, BDF_B);
    const pl_real *weight = pl_bdf_array(s, BDF_WEIGHT);
    pl_real last = 0.0, bound = SHARE_OF_ERROR / s->to_error, before = 0.0;
    pl_real relax = s->gamma == s->gamma_factored ? 1.0 : 2.0 / (1.0 + s->gamma / s->gamma_factored);
    int algebraic = p->model->mass.start != NULL;
    int fresh = s->steps_factor == s->steps && !algebraic && !s->plain;
    int rows = s->steps_factor == s->steps && algebraic, held = 1;
    if (looks_closely(s)) bound *= SHARE_CLOSE;
    if (s->plain) {
        relax = 1.0;
        bound *= SHARE_PLAIN;
        s->rate = s->gamma * s->jacobian_norm;
    }
    for (int iteration = 0;; iteration++) {
        residual(s, p, iteration == 0);
        if (rows && iteration == 0) remember(s, p);
        if (rows && iteration > 0) held = shrank(s);
        if (fresh && (iteration == 0 || (iteration == 1 && n >= COSTLY_SOLVE))) {
            pl_real now = pl_weighted_norm(n, b, weight);
            if (iteration == 0)
                before = now;
            else if (now * fmax(1.0, last / before) <= bound) {
                /* a second correction would be below the bound: it need not be solved for */
                s->rate = fmax(RATE_DECAY * s->rate, now * fmax(1.0, last / before) / last);
                s->e_norm = pl_weighted_norm(n, e, pl_bdf_error_weight(s));
                return PL_OK;
            }
        }
        if (!s->plain) pl_linear_solve(p, b);
        if (iteration == 0)
            for (int i = 0; i < n; i++) e[i] = relax * b[i];
        else
            for (int i = 0; i < n; i++) e[i] += relax * b[i];
        pl_real size = fabs(relax) * pl_weighted_norm(n, b, weight);
        if (!(size - size == 0.0)) return PL_CONVERGENCE;
        if (iteration > 0) s->rate = fmax(RATE_DECAY * s->rate, size / last);
        if (left_over(s, algebraic, iteration > 0 ? size / last : -1.0, size, bound) <= bound) {
            s->e_norm =
                iteration == 0 && !s->inherits ? size : pl_weighted_norm(n, e, pl_bdf_error_weight(s));
            int look = iteration == 0 && before > LARGE_RESIDUAL && size < SMALL_SHARE * before;
            if (rows && iteration == 0) return confirm_rows(s, p);
            if (!held) return PL_CONVERGENCE;
            return look ? confirm(s, p, before) : PL_OK;
        }
        if (iteration + 1 == MAX_ITERATIONS || (iteration > 0 && size > DIVERGES * last))
            return PL_CONVERGENCE;
        last = size;
        pl_status status = evaluate(s, p);
        if (status != PL_OK) return status;
    }
}

static int worth_repeating(pl_status status) {
    return status == PL_CONVERGENCE || status == PL_RETRY || status == PL_NONFINITE;
}

/* The Jacobian is new and did not help: if other increments change it, once more before the step is cut. */
static pl_status repair(pl_bdf *s, pl_problem *p) {
    int changed;
    pl_real t = s->head.t + s->h;
    const pl_real *z0 = pl_bdf_z(s, 1 - s->valid, 0);
    pl_status status = pl_jacobian_again(p, t, z0, &changed);
    if (status != PL_OK || !changed) return status == PL_OK ? PL_CONVERGENCE : status;
    s->factor_valid = 0;
    status = pl_rhs(p, t, z0, pl_bdf_array(s, BDF_F));
    if (status == PL_OK) status = pl_linear_factor(p, 1.0, s->gamma);
    if (status != PL_OK) return status;
    s->factor_valid = 1;
    s->gamma_factored = s->gamma;
    s->rate = 1.0;
    status = iterate(s, p);
    if (status == PL_CONVERGENCE) pl_jacobian_vain(p);
    return status;
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
    while (worth_repeating(status) && (!s->jacobian_current || s->plain)) {
        /* the factors are old: once more with those of the present gamma, and in the end with a new Jacobian */
        s->jacobian_norm = 0.0;
        status = pl_rhs(p, t, z0, pl_bdf_array(s, BDF_F));
        if (status == PL_OK) status = set_up(s, p, how, 1);
        if (status != PL_OK) return status;
        status = iterate(s, p);
    }
    return status == PL_CONVERGENCE && s->jacobian_current ? repair(s, p) : status;
}
