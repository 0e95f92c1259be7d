/* Does the residual confirm a Newton iteration of an algebraic system?
 *
 * A small correction means convergence only if the Jacobian is right. Near v = 0 that of q = sqrt(v) is huge, so every
 * correction of v is tiny whatever the equation leaves over: q may be wrong by thousands of tolerances, and v beyond 0. The
 * residual tells: in algebraic row i
 *     |r_i| > floor_i = MANY min_j |J_ij| tol_j     (j with J_ij /= 0, tol_j = 1/weight_j)
 * is many tolerances of the unknown that the row depends on least. Where a residual was that large and has not shrunk
 * the iteration has not converged. Not less than rounding, of the size of eps max_j |J_ij x_j|.
 */
#include "pliant.h"
#include "control.h"

#include <float.h>
#include <math.h>

#define MUST_SHRINK 0.9
#define MANY        10.0
#define ROUNDING    1e3

void pl_residual_floor(pl_problem *p, const pl_real *x, const pl_real *weight, pl_real *floor,
                       pl_real *work) {
    int n = p->model->n_x;
    pl_pattern at;
    const pl_real *value = pl_linear_jacobian(p->linear, &at);
    const int8_t *algebraic = pl_linear_algebraic(p->linear);
    for (int i = 0; i < n; i++) {
        floor[i] = HUGE_VAL;
        work[i] = 0.0;
    }
    for (int j = 0; j < n; j++) {
        int first = at.start ? at.start[j] : 0, last = at.start ? at.start[j + 1] : n;
        for (int k = first; k < last; k++) {
            int i = at.start ? at.row[k] : k;
            pl_real size = fabs(at.start ? value[k] : value[(size_t)j * n + i]);
            if (!algebraic[i] || size == 0.0) continue;
            floor[i] = fmin(floor[i], MANY * size / weight[j]);
            work[i] = fmax(work[i], size * fabs(x[j]));
        }
    }
    for (int i = 0; i < n; i++)
        if (algebraic[i]) floor[i] = fmax(floor[i], ROUNDING * DBL_EPSILON * work[i]);
}

int pl_residual_is_large(int n, const pl_real *r, const pl_real *floor) {
    for (int i = 0; i < n; i++)
        if (fabs(r[i]) > floor[i]) return 1;
    return 0;
}

int pl_residual_shrank(int n, const pl_real *before, const pl_real *after, const pl_real *floor) {
    for (int i = 0; i < n; i++)
        if (fabs(before[i]) > floor[i] && fabs(after[i]) > fmax(floor[i], MUST_SHRINK * fabs(before[i])))
            return 0;
    return 1;
}
