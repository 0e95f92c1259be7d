/* Consistent values of algebraic unknowns and of x'.
 *
 * With the rows of L split into differential rows D and empty rows A, one matrix serves both tasks:
 *
 *     K = [ L_D ; -J_A ],    K d  = [ 0 ; f_A ]      Newton correction that keeps L x,
 *                            K x' = [ f_D ; df_A/dt ] derivative of a consistent point.
 *
 * Damping: a correction d is shortened by halves until the simplified correction at the new point is shorter
 * than (1 - lambda/4) ||d|| (natural monotonicity test, Deuflhard, Newton Methods for Nonlinear
 * Problems, 3.3). Where corrections do not shrink because the residuals are rounding of their own terms already,
 * |f_i| <= c eps max_j |J_ij| max_j |x_j|, the backward error of an elimination with scaled rows (Higham, Accuracy and Stability
 * of Numerical Algorithms, 9.3), the point is as good as numbers allow, whatever the tolerance asks; so is one whose last
 * correction stays well below the tolerance.
 */
#include "linear.h"
#include "control.h"

#include <float.h>
#include <math.h>

#define MAX_NEWTON       50
#define SMALLEST_DAMPING 1e-4
#define CONVERGED        1e-3 /* of the tolerance */
#define CONVERGED_NEAR   1e-6 /* of the tolerance: hardly a trace may be left in what happens at an event */
#define STALLED          0.1  /* of the tolerance, where corrections do not shrink any more */
#define ROUNDING         64.0 /* units in the last place */

pl_status pl_derivative(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real scale,
                        pl_real *xdot, pl_real *work) {
    const pl_model *m = p->model;
    int n = m->n_x;
    if (!m->mass.start) {
        for (int i = 0; i < n; i++) xdot[i] = f[i];
        return PL_OK;
    }
    if (!p->linear) return PL_ARGUMENT;
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    int has_algebraic = pl_linear_has_algebraic(p->linear);
    pl_status status;
    if (has_algebraic) {
        pl_real dt = ldexp(fmax(fabs(t), fabs(scale)), -26) * (scale < 0.0 ? -1.0 : 1.0);
        status = pl_jacobian(p, t, x, f, 0.0);
        if (status != PL_OK) return status;
        status = pl_rhs(p, t + dt, x, work);
        if (status != PL_OK) return status;
        for (int i = 0; i < n; i++) work[i] = (work[i] - f[i]) / dt;
    }
    status = pl_linear_factor(p, 1.0, 0.0);
    if (status != PL_OK) return status;
    for (int i = 0; i < n; i++) xdot[i] = has_algebraic && algebraic[i] ? work[i] : f[i];
    pl_linear_solve(p, xdot);
    return PL_OK;
}

/* Right-hand side of the Newton correction; returns the largest |f_A| and its equation in *worst. */
static pl_real algebraic_part(const pl_problem *p, const pl_real *f, pl_real *d, int *worst) {
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    pl_real largest = 0.0;
    for (int i = 0; i < p->model->n_x; i++) {
        d[i] = algebraic[i] ? f[i] : 0.0;
        if (fabs(d[i]) > largest) {
            largest = fabs(d[i]);
            *worst = i;
        }
    }
    return largest;
}

static pl_status inconsistent(pl_problem *p, pl_real t, int worst) {
    p->failure.status = PL_INCONSISTENT;
    p->failure.what = PL_IN_INITIAL;
    p->failure.index = worst;
    p->failure.t = t;
    return PL_INCONSISTENT;
}

/* 1: the algebraic residuals at x, where the Jacobian was evaluated last, are rounding. f, size: n_x each, work. */
static int is_rounding(pl_problem *p, pl_real t, const pl_real *x, pl_real *f, pl_real *size) {
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    pl_pattern at;
    const pl_real *value = pl_linear_jacobian(p->linear, &at);
    int n = p->model->n_x;
    pl_real largest = 0.0;
    if (pl_rhs(p, t, x, f) != PL_OK) return 0;
    for (int i = 0; i < n; i++) {
        size[i] = 0.0;
        largest = fmax(largest, fabs(x[i]));
    }
    for (int j = 0; j < n; j++) {
        int first = at.start ? at.start[j] : j * n, end = at.start ? at.start[j + 1] : (j + 1) * n;
        for (int k = first; k < end; k++) {
            int i = at.start ? at.row[k] : k - first;
            size[i] = fmax(size[i], fabs(value[k]));
        }
    }
    for (int i = 0; i < n; i++)
        if (algebraic[i] && !(fabs(f[i]) <= ROUNDING * DBL_EPSILON * size[i] * largest)) return 0;
    return 1;
}

pl_status pl_consistent(pl_problem *p, pl_real t, pl_real *x, pl_real *work) {
    const pl_model *m = p->model;
    int n = m->n_x, worst = -1;
    if (!m->mass.start || !pl_linear_has_algebraic(p->linear)) return PL_OK;
    pl_real *f = work, *d = work + n, *trial = work + 2 * n, *next = work + 3 * n;
    pl_status status = pl_weights(p, t, x, d);
    if (status == PL_OK) status = pl_rhs(p, t, x, f);
    for (int iteration = 0; status == PL_OK && iteration < MAX_NEWTON; iteration++) {
        if (algebraic_part(p, f, d, &worst) == 0.0) return PL_OK;
        status = pl_jacobian(p, t, x, f, 0.0);
        if (status == PL_OK) status = pl_linear_factor(p, 1.0, 0.0);
        if (status != PL_OK) break;
        pl_linear_solve(p, d);
        pl_real length = pl_norm(p, d, x), lambda = 1.0;
        if (!(length - length == 0.0)) return inconsistent(p, t, worst);
        for (;; lambda *= 0.5) {
            if (lambda < SMALLEST_DAMPING) {
                if (length <= STALLED || is_rounding(p, t, x, f, next)) return PL_OK;
                return inconsistent(p, t, worst);
            }
            for (int i = 0; i < n; i++) trial[i] = x[i] + lambda * d[i];
            status = pl_rhs(p, t, trial, f);
            if (status == PL_RETRY || status == PL_NONFINITE) continue;
            if (status != PL_OK) return status;
            algebraic_part(p, f, next, &worst);
            pl_linear_solve(p, next);
            if (length <= CONVERGED || pl_norm(p, next, x) <= (1.0 - lambda / 4.0) * length) break;
        }
        for (int i = 0; i < n; i++) x[i] = trial[i];
        if (length <= CONVERGED) return PL_OK;
    }
    return status == PL_OK ? inconsistent(p, t, worst) : status;
}

pl_status pl_consistent_near(pl_problem *p, pl_real t, pl_real *x, int most, pl_real *work) {
    int n = p->model->n_x, worst = -1;
    pl_real *f = work, *d = work + n, last = HUGE_VAL;
    for (int iteration = 0; iteration < most; iteration++) {
        pl_status status = pl_rhs(p, t, x, f);
        if (status != PL_OK) return status;
        if (algebraic_part(p, f, d, &worst) == 0.0) return PL_OK;
        pl_linear_solve(p, d);
        pl_real length = pl_norm(p, d, x);
        if (!(length < last))
            return last <= CONVERGED ? PL_OK : PL_CONVERGENCE; /* rounding, or another matrix is needed */
        for (int i = 0; i < n; i++) x[i] += d[i];
        if (length <= CONVERGED_NEAR) return PL_OK;
        last = length;
    }
    return last <= CONVERGED ? PL_OK : PL_CONVERGENCE;
}
