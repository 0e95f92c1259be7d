/* Is the pattern of the Jacobian right?
 *
 * All states are moved at once, each by another share of its increment: J must predict the change of f. A missing entry
 * makes the compressed differences mix two columns, and that shows.
 */
#include "linear.h"

#include <float.h>
#include <math.h>

#define OFF       1e-3 /* share of the predicted change that may be missing */
#define ROUNDINGS 16.0 /* of f in a difference */

/* Between 1/2 and 1, up or down: another one for every column and Jacobian, the same in every run. */
static pl_real share(int64_t evaluated, int j) {
    uint64_t z = (uint64_t)evaluated * 0x9E3779B97F4A7C15u + (uint64_t)j * 0xBF58476D1CE4E5B9u + 1u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    pl_real size = 0.5 + 0.5 * (pl_real)(z >> 40) / 16777216.0;
    return (z >> 33) & 1u ? size : -size;
}

pl_status pl_verify_pattern(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f) {
    pl_linear *lin = p->linear;
    int n = lin->n, bad = -1;
    const pl_real *jac = PL_AT(lin, pl_real, lin->jac), *sigma = PL_AT(lin, pl_real, lin->sigma);
    const int *start = PL_AT(lin, int, lin->jac_start), *row = PL_AT(lin, int, lin->jac_row);
    pl_real *y = PL_AT(lin, pl_real, lin->scratch), *fp = y + n, *predicted = fp + n, *size = predicted + n;
    for (int i = 0; i < n; i++) predicted[i] = size[i] = 0.0;
    for (int j = 0; j < n; j++) {
        pl_real move = pl_within_bounds(p->model, j, x[j], share(lin->evaluated, j) * sigma[j]);
        y[j] = x[j] + move;
        for (int k = start[j]; k < start[j + 1]; k++) {
            predicted[row[k]] += jac[k] * move;
            size[row[k]] += OFF * fabs(jac[k] * move) + ROUNDINGS * DBL_EPSILON * fabs(jac[k] * x[j]);
        }
    }
    pl_status status = pl_rhs(p, t, y, fp);
    for (int j = 0; j < n; j++) y[j] = x[j];
    if (status == PL_RETRY || status == PL_NONFINITE) return PL_OK; /* cannot be asked here */
    if (status != PL_OK) return status;
    for (int i = 0; i < n && bad < 0; i++) {
        pl_real off = fabs(fp[i] - f[i] - predicted[i]);
        if (off > size[i] + ROUNDINGS * DBL_EPSILON * (fabs(f[i]) + fabs(fp[i]))) bad = i;
    }
    if (bad < 0) return PL_OK;
    p->failure.status = PL_PATTERN;
    p->failure.what = PL_IN_JACOBIAN;
    p->failure.index = bad;
    p->failure.t = t;
    return PL_PATTERN;
}
