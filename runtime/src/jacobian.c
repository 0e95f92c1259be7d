/* df/dx: the model's own, or one-sided differences, one evaluation of f for each colour of columns.
 *
 *     J e_j ~ (f(x + sigma_j e_j) - f(x)) / sigma_j,       columns of one colour perturbed together.
 *
 * Increments, U the unit roundoff, W_j = rtol |x_j| + atol_j, s0 = 1e3 U n |h| ||f||_W (1 if f = 0):
 *   default  sigma_j = smallest power of two >= max(sqrt(U) |x_j|, s W_j), s = s0 within [1e-3, 1], with the sign of x_j:
 *            the division is exact, x_j + sigma_j is representable and keeps its sign, so Sterbenz' condition
 *            holds (Renstroem 2024, section 4.4 and chapter 8). The floor is CVode's (ibid. 5.3.2): the rounding
 *            of f then changes h J by at most 1e-3 in units of the weights. More than a weight is never needed,
 *            however stiff f is; less than a thousandth drowns in rounding once h grows, and at once in algebraic
 *            equations, which no h multiplies.
 *   CVode    sigma_j = max(sqrt(U) |x_j|, s0 W_j)                            (ibid. 5.3.2)
 *   Radau5   sigma_j = sqrt(U max(1e-5, |x_j|))                              (ibid. 5.4.2)
 *   thesis   sigma_j = max(spacing(x_j)/sqrt(U), sqrt(U) 2^-9), sign rule    (ibid. chapter 8)
 * A bound of the model (x_min, x_max) turns the side; a point that the model refuses is tried on the other side,
 * then with a smaller increment.
 */
#include "linear.h"

#include <float.h>
#include <math.h>

#define SQRT_U 1.4901161193847656e-8 /* sqrt(2^-52) = 2^-26 */

#define LEAST_WEIGHT 1e-3 /* see the default rule */

/* Smallest power of two that is >= v > 0. */
static pl_real power_of_two(pl_real v) {
    int exponent;
    pl_real mantissa = frexp(v, &exponent);
    return ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

static pl_real increment(int rule, pl_real x, pl_real floor_j) {
    pl_real size = fabs(x), sigma;
    switch (rule) {
    case PL_INCREMENT_CVODE:
        return fmax(SQRT_U * size, floor_j);
    case PL_INCREMENT_RADAU5:
        return sqrt(DBL_EPSILON * fmax(1e-5, size));
    case PL_INCREMENT_THESIS:
        sigma = fmax((nextafter(size, HUGE_VAL) - size) / SQRT_U, SQRT_U / 512.0);
        break;
    default: {
        sigma = fmax(SQRT_U * size, floor_j);
        if (!(sigma > DBL_MIN)) sigma = SQRT_U * SQRT_U;
        sigma = power_of_two(sigma);
    }
    }
    return x < 0.0 ? -sigma : sigma;
}

/* Turn the side where x + sigma would leave [x_min, x_max]. */
static pl_real within_bounds(const pl_model *m, int j, pl_real x, pl_real sigma) {
    if (m->x_max && sigma > 0.0 && x + sigma > m->x_max[j]) return -sigma;
    if (m->x_min && sigma < 0.0 && x + sigma < m->x_min[j]) return -sigma;
    return sigma;
}

/* s0 of the file head. */
static pl_real floor_factor(const pl_problem *p, const pl_real *x, const pl_real *f, pl_real h) {
    pl_real norm = pl_norm(p, f, x);
    return norm > 0.0 && h != 0.0 ? 1e3 * fabs(h) * DBL_EPSILON * p->model->n_x * norm : 1.0;
}

/* f at the perturbed point; a refusal or a non-finite value is answered by the other side, then smaller
 * steps. */
static pl_status perturbed(pl_problem *p, pl_real t, pl_real *y, const pl_real *x, const int *column,
                           int count, pl_real *sigma, pl_real *fp) {
    pl_status status = PL_OK;
    for (int attempt = 0; attempt < 6; attempt++) {
        for (int c = 0; c < count; c++) {
            int j = column[c];
            if (attempt > 0) sigma[j] = attempt % 2 ? -sigma[j] : sigma[j] / 16.0;
            y[j] = x[j] + sigma[j];
        }
        p->count->n_rhs_jac++;
        status = pl_rhs(p, t, y, fp);
        for (int c = 0; c < count; c++) y[column[c]] = x[column[c]];
        if (status != PL_RETRY && status != PL_NONFINITE) return status;
    }
    return status;
}

static pl_status differences(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real h) {
    pl_linear *lin = p->linear;
    const pl_model *m = p->model;
    int n = lin->n;
    pl_real *jac = PL_AT(lin, pl_real, lin->jac), *scratch = PL_AT(lin, pl_real, lin->scratch);
    pl_real *y = scratch, *fp = scratch + n, *sigma = scratch + 2 * n;
    const int *start = PL_AT(lin, int, lin->jac_start), *row = PL_AT(lin, int, lin->jac_row);
    const int *sorted = PL_AT(lin, int, lin->colour), *colour_start = PL_AT(lin, int, lin->colour_start);
    pl_real s0 = floor_factor(p, x, f, h);
    if (lin->increment == PL_INCREMENT_DEFAULT) s0 = fmin(fmax(s0, LEAST_WEIGHT), 1.0);
    for (int j = 0; j < n; j++) {
        pl_real weight = p->rtol * fabs(x[j]) + p->atol[j];
        y[j] = x[j];
        sigma[j] = within_bounds(m, j, x[j], increment(lin->increment, x[j], s0 * weight));
    }
    for (int c = 0; c < lin->n_colours; c++) {
        const int *column = lin->has_pattern ? sorted + colour_start[c] : &c;
        int count = lin->has_pattern ? colour_start[c + 1] - colour_start[c] : 1;
        pl_status status = perturbed(p, t, y, x, column, count, sigma, fp);
        if (status != PL_OK) {
            p->failure.what = PL_IN_JACOBIAN;
            return status;
        }
        for (int k = 0; k < count; k++) {
            int j = column[k];
            pl_real scale = 1.0 / ((x[j] + sigma[j]) - x[j]);
            if (lin->has_pattern)
                for (int e = start[j]; e < start[j + 1]; e++) jac[e] = (fp[row[e]] - f[row[e]]) * scale;
            else
                for (int i = 0; i < n; i++) jac[(size_t)j * n + i] = (fp[i] - f[i]) * scale;
        }
    }
    return PL_OK;
}

pl_status pl_jacobian(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real h) {
    pl_linear *lin = p->linear;
    const pl_model *m = p->model;
    p->count->n_jac++;
    if (!m->jac_value || lin->differences) return differences(p, t, x, f, h);
    pl_real *jac = PL_AT(lin, pl_real, lin->jac);
    pl_status status = pl_set_inputs(p, t);
    if (status == PL_OK) status = m->jac_value(p->self, t, x, p->u, jac);
    int bad = -1;
    for (int k = 0; status == PL_OK && k < lin->n_jac; k++)
        if (!(jac[k] - jac[k] == 0.0)) {
            status = PL_NONFINITE;
            bad = lin->has_pattern ? PL_AT(lin, int, lin->jac_row)[k] : k % lin->n;
        }
    if (status != PL_OK) {
        p->failure.status = (int)status;
        p->failure.what = PL_IN_JACOBIAN;
        p->failure.index = bad;
        p->failure.t = t;
    }
    return status;
}
