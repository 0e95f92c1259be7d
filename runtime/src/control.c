/* First step size and limits of the step size.
 *
 * First step for a method of order 1 with error C h^2 x'': a trial h gives x'' ~ (f(t + h, x + h x') - x')/h,
 * then h = sqrt(2 / ||x''||), repeated until it changes by less than a factor of two, halved for safety;
 * bounds: no component moves by more than a tenth of its size plus its tolerance, at most a tenth of the
 * interval, but never below what the time can resolve (Hindmarsh et al., SUNDIALS, ACM TOMS 31 (2005), section 2; Gear, as in LSODE).
 */
#include "control.h"

#include <float.h>
#include <math.h>

pl_real pl_smallest_step(pl_real t) {
    return 4.0 * DBL_EPSILON * fmax(fabs(t), DBL_MIN / DBL_EPSILON);
}

pl_status pl_collapse(pl_status cause) {
    return cause == PL_NONFINITE || cause == PL_RETRY || cause == PL_SINGULAR ? cause : PL_STEP;
}

int pl_event_before(pl_problem *p, pl_status status, pl_real t) {
    return p->refused && (status == PL_RETRY || status == PL_NONFINITE) && p->refused(p, t);
}

int pl_reaches(pl_real t, pl_real h, pl_real t_limit) {
    return (t + h * (1.0 + 1e-3) - t_limit) * (h > 0.0 ? 1.0 : -1.0) >= 0.0;
}

/* A first step below what t can resolve is no step: the error test judges a larger one. */
static pl_real resolved(pl_real h, pl_real t, pl_real distance) {
    return fmin(fmax(h, 10.0 * pl_smallest_step(t)), distance);
}

pl_status pl_first_step(pl_problem *p, pl_real t, const pl_real *x, const pl_real *xdot, pl_real t_end,
                        pl_real *work, pl_real *h) {
    int n = p->model->n_x, algebraic = p->model->mass.start != NULL;
    pl_real distance = t_end - t;
    pl_real least = 100.0 * DBL_EPSILON * fmax(fabs(t), fabs(t_end)), most = 0.1 * distance, inverse = 0.0;
    for (int i = 0; i < n; i++) {
        pl_real room = 0.1 * fabs(x[i]) + p->rtol * fabs(x[i]) + p->atol[i];
        inverse = fmax(inverse, fabs(xdot[i]) / room);
    }
    /* not less than time resolves well: what leaves zero fast is for the error test, not for this bound */
    if (most * inverse > 1.0) most = fmax(1.0 / inverse, fmin(least, most));
    if (algebraic) {
        /* x + h x' leaves the constraints: look at x' only, as codes for implicit systems do */
        pl_real norm = pl_norm(p, xdot, x);
        *h = 1e-3 * distance;
        if (norm * *h > 0.5) *h = 0.5 / norm;
        *h = resolved(fmin(fmax(*h, least), most), t, distance);
        return PL_OK;
    }
    pl_real *y = work, *f = work + n, trial = sqrt(least * most), proposal = trial;
    if (most < least) { /* hardly a step of room: the middle of both bounds */
        *h = resolved(trial, t, distance);
        return PL_OK;
    }
    for (int round = 1; round <= 4; round++) {
        pl_status status = PL_RETRY;
        for (int attempt = 0; attempt < 4 && status != PL_OK; attempt++) {
            for (int i = 0; i < n; i++) y[i] = x[i] + trial * xdot[i];
            status = pl_rhs(p, t + trial, y, f);
            if (status != PL_OK && status != PL_RETRY && status != PL_NONFINITE) return status;
            if (status != PL_OK) trial *= 0.2;
        }
        if (status != PL_OK) { /* f is only defined very near: begin below what was tried last */
            proposal = trial;
            break;
        }
        for (int i = 0; i < n; i++) f[i] = (f[i] - xdot[i]) / trial;
        pl_real curvature = pl_norm(p, f, x);
        proposal = curvature * most * most > 2.0 ? sqrt(2.0 / curvature) : sqrt(trial * most);
        if (round == 4) break;
        pl_real ratio = proposal / trial;
        if (ratio > 0.5 && ratio < 2.0) break;
        if (round > 1 && ratio > 2.0) {
            proposal = trial;
            break;
        }
        trial = proposal;
    }
    *h = resolved(fmin(fmax(0.5 * proposal, least), most), t, distance);
    return PL_OK;
}
