/* The iteration matrix  M = a L - b J  of all implicit methods: stored, factorised and solved, dense or
 * sparse.
 *
 * Rows of L that are empty (algebraic equations) always read -J, whatever b is: the matrix stays well scaled
 * as the step size goes to zero. Where such rows exist the dense matrix is also equilibrated by rows; the
 * sparse factorisation always is. Radau5's complex matrix is (re + i im) L - J.
 *
 * Planning (merge, colour, order, choose) is in plan.c.
 */
#include "linear.h"

#include <math.h>
#include <string.h>

pl_real *pl_linear_jacobian(pl_linear *lin, pl_pattern *pattern) {
    if (pattern) {
        pattern->n_rows = pattern->n_cols = lin->n;
        pattern->start = lin->has_pattern ? PL_AT(lin, int, lin->jac_start) : NULL;
        pattern->row = lin->has_pattern ? PL_AT(lin, int, lin->jac_row) : NULL;
    }
    return PL_AT(lin, pl_real, lin->jac);
}

const int8_t *pl_linear_algebraic(const pl_linear *lin) {
    return PL_CONST_AT(lin, int8_t, lin->algebraic);
}

int pl_linear_has_algebraic(const pl_linear *lin) {
    return lin->n_algebraic > 0;
}

void pl_linear_mask(pl_linear *lin, const uint8_t *mask) {
    lin->masked = mask != NULL;
    if (mask) memcpy(PL_AT(lin, uint8_t, lin->mask), mask, (size_t)lin->n_jac);
}

const pl_real *pl_linear_increments(const pl_linear *lin) {
    return PL_CONST_AT(lin, pl_real, lin->sigma);
}

const pl_real *pl_linear_point(const pl_linear *lin) {
    return PL_CONST_AT(lin, pl_real, lin->scratch);
}

void pl_linear_trust(pl_linear *lin) {
    lin->verify = 0;
}

/* What was learned about increments goes, too: a run must not depend on the one before it. */
void pl_forget_increments(pl_linear *lin) {
    const size_t numbers[] = {lin->sigma, lin->wish, lin->drowned, lin->seen, lin->least, lin->most};
    for (int k = 0; k < 6; k++) memset(PL_AT(lin, pl_real, numbers[k]), 0, (size_t)lin->n * sizeof(pl_real));
    memset(PL_AT(lin, int8_t, lin->asked), 0, (size_t)lin->n);
    memset(PL_AT(lin, int8_t, lin->turned), 0, (size_t)lin->n);
    memset(PL_AT(lin, int8_t, lin->touched), 0, (size_t)lin->n);
    lin->evaluated = lin->extra = 0;
    lin->patience = 0;
    lin->impatience = 1;
}

void pl_linear_moved(pl_linear *lin, const pl_linear_options *opt) {
    lin->lu = opt->lu;
}

void pl_linear_reset(pl_linear *lin) {
    lin->masked = 0;
    pl_forget_increments(lin);
    if (!lin->sparse) return;
    lin->lu->forget(PL_AT(lin, pl_sparse, lin->factors));
    if (lin->need_complex) lin->lu->forget(PL_AT(lin, pl_sparse, lin->cfactors));
}

/* Entry k of the Jacobian as the matrix sees it. */
static inline pl_real jac_entry(const pl_linear *lin, const pl_real *jac, const uint8_t *mask, int k) {
    return lin->masked && !mask[k] ? 0.0 : jac[k];
}

/* ------------------------------------------------------------------------------------------ assembling */

/* target[width * ...] = (ar + i ai) L - b J, dense. */
static void assemble_dense(const pl_linear *lin, const pl_model *m, int width, pl_real ar, pl_real ai,
                           pl_real b, pl_real *target) {
    int n = lin->n;
    const pl_real *jac = PL_CONST_AT(lin, pl_real, lin->jac);
    const uint8_t *mask = PL_CONST_AT(lin, uint8_t, lin->mask);
    const int8_t *algebraic = pl_linear_algebraic(lin);
    int any_algebraic = lin->n_algebraic > 0;
    if (!lin->has_pattern && !any_algebraic && !lin->masked && width == 1) {
        for (int k = 0; k < n * n; k++) target[k] = -b * jac[k];
    } else {
        memset(target, 0, (size_t)n * (size_t)n * (size_t)width * sizeof(pl_real));
        const int *start = PL_CONST_AT(lin, int, lin->jac_start), *row = PL_CONST_AT(lin, int, lin->jac_row);
        for (int j = 0; j < n; j++) {
            pl_real *col = target + (size_t)j * n * width;
            int from = lin->has_pattern ? start[j] : j * n,
                to = lin->has_pattern ? start[j + 1] : (j + 1) * n;
            for (int k = from; k < to; k++) {
                int i = lin->has_pattern ? row[k] : k - from;
                pl_real v = jac_entry(lin, jac, mask, k);
                col[i * width] = any_algebraic && algebraic[i] ? -v : -b * v;
            }
        }
    }
    if (!m->mass.start) {
        for (int j = 0; j < n; j++) {
            pl_real *d = target + ((size_t)j * n + j) * width;
            d[0] += ar;
            if (width == 2) d[1] += ai;
        }
        return;
    }
    for (int j = 0; j < n; j++)
        for (int k = m->mass.start[j]; k < m->mass.start[j + 1]; k++) {
            pl_real *d = target + ((size_t)j * n + m->mass.row[k]) * width;
            d[0] += ar * m->mass_value[k];
            if (width == 2) d[1] += ai * m->mass_value[k];
        }
}

/* The same into the merged pattern. */
static void assemble_sparse(const pl_linear *lin, const pl_model *m, int width, pl_real ar, pl_real ai,
                            pl_real b, pl_real *target) {
    int n = lin->n;
    const pl_real *jac = PL_CONST_AT(lin, pl_real, lin->jac);
    const uint8_t *mask = PL_CONST_AT(lin, uint8_t, lin->mask);
    const int8_t *algebraic = pl_linear_algebraic(lin);
    const int *row = PL_CONST_AT(lin, int, lin->jac_row), *to = PL_CONST_AT(lin, int, lin->jac_to_a);
    const int *mass_to = PL_CONST_AT(lin, int, lin->mass_to_a);
    if (width == 1 && lin->n_jac == lin->n_matrix && !lin->masked && lin->n_algebraic == 0) {
        for (int k = 0; k < lin->n_jac; k++) target[k] = -b * jac[k]; /* J has all entries: none moves */
    } else {
        memset(target, 0, (size_t)lin->n_matrix * (size_t)width * sizeof(pl_real));
        for (int k = 0; k < lin->n_jac; k++) {
            pl_real v = jac_entry(lin, jac, mask, k);
            target[to[k] * width] = lin->n_algebraic > 0 && algebraic[row[k]] ? -v : -b * v;
        }
    }
    int n_mass = m->mass.start ? m->mass.start[n] : n;
    for (int k = 0; k < n_mass; k++) {
        pl_real v = m->mass.start ? m->mass_value[k] : 1.0;
        target[mass_to[k] * width] += ar * v;
        if (width == 2) target[mass_to[k] * width + 1] += ai * v;
    }
}

/* Divide every row by its largest entry; the factors are kept for the right-hand sides. */
static void equilibrate(int n, int width, pl_real *a, pl_real *scale) {
    for (int i = 0; i < n; i++) scale[i] = 0.0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++) {
            pl_real *v = a + ((size_t)j * n + i) * width;
            pl_real size = fabs(v[0]) + (width == 2 ? fabs(v[1]) : 0.0);
            if (size > scale[i]) scale[i] = size;
        }
    for (int i = 0; i < n; i++) scale[i] = scale[i] > 0.0 ? 1.0 / scale[i] : 1.0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            for (int c = 0; c < width; c++) a[((size_t)j * n + i) * width + c] *= scale[i];
}

/* ------------------------------------------------------------------------------------ factor and solve */

static pl_status failed(pl_problem *p, pl_status status, int bad) {
    p->failure.status = (int)status;
    p->failure.what = PL_IN_LINEAR;
    p->failure.index = bad;
    return status;
}

pl_status pl_linear_factor(pl_problem *p, pl_real a, pl_real b) {
    pl_linear *lin = p->linear;
    int bad = -1;
    pl_status status;
    p->count->n_factor++;
    pl_real *target = PL_AT(lin, pl_real, lin->a);
    if (lin->sparse) {
        assemble_sparse(lin, p->model, 1, a, 0.0, b, target);
        pl_pattern pattern = {lin->n, lin->n, PL_AT(lin, int, lin->a_start), PL_AT(lin, int, lin->a_row)};
        status = lin->lu->factor(PL_AT(lin, pl_sparse, lin->factors), &pattern, target, &bad);
    } else {
        assemble_dense(lin, p->model, 1, a, 0.0, b, target);
        if (lin->n_algebraic > 0) equilibrate(lin->n, 1, target, PL_AT(lin, pl_real, lin->scale));
        status = pl_lu_factor(lin->n, target, PL_AT(lin, int, lin->pivot), &bad);
    }
    return status == PL_OK ? PL_OK : failed(p, status, bad);
}

void pl_linear_solve(pl_problem *p, pl_real *b) {
    pl_linear *lin = p->linear;
    p->count->n_solve++;
    if (lin->sparse) {
        lin->lu->solve(PL_AT(lin, pl_sparse, lin->factors), b);
        return;
    }
    if (lin->n_algebraic > 0) {
        const pl_real *scale = PL_AT(lin, pl_real, lin->scale);
        for (int i = 0; i < lin->n; i++) b[i] *= scale[i];
    }
    pl_lu_solve(lin->n, PL_AT(lin, pl_real, lin->a), PL_AT(lin, int, lin->pivot), b);
}

pl_status pl_linear_factor_complex(pl_problem *p, pl_real re, pl_real im) {
    pl_linear *lin = p->linear;
    int bad = -1;
    pl_status status;
    if (!lin->need_complex) return failed(p, PL_ARGUMENT, -1);
    if (lin->sparse) {
        pl_real *target = PL_AT(lin, pl_real, lin->a);
        assemble_sparse(lin, p->model, 2, re, im, 1.0, target);
        pl_pattern pattern = {lin->n, lin->n, PL_AT(lin, int, lin->a_start), PL_AT(lin, int, lin->a_row)};
        status = lin->lu->factor(PL_AT(lin, pl_sparse, lin->cfactors), &pattern, target, &bad);
    } else {
        pl_real *target = PL_AT(lin, pl_real, lin->ca);
        assemble_dense(lin, p->model, 2, re, im, 1.0, target);
        if (lin->n_algebraic > 0) equilibrate(lin->n, 2, target, PL_AT(lin, pl_real, lin->cscale));
        status = pl_lu_complex_factor(lin->n, target, PL_AT(lin, int, lin->cpivot), &bad);
    }
    return status == PL_OK ? PL_OK : failed(p, status, bad);
}

void pl_linear_solve_complex(pl_problem *p, pl_real *re, pl_real *im) {
    pl_linear *lin = p->linear;
    int n = lin->n;
    pl_real *pair = PL_AT(lin, pl_real, lin->scratch);
    const pl_real *scale = PL_AT(lin, pl_real, lin->cscale);
    int scaled = !lin->sparse && lin->n_algebraic > 0;
    p->count->n_solve++;
    for (int i = 0; i < n; i++) {
        pl_real s = scaled ? scale[i] : 1.0;
        pair[2 * i] = re[i] * s;
        pair[2 * i + 1] = im[i] * s;
    }
    if (lin->sparse)
        lin->lu->solve(PL_AT(lin, pl_sparse, lin->cfactors), pair);
    else
        pl_lu_complex_solve(n, PL_AT(lin, pl_real, lin->ca), PL_AT(lin, int, lin->cpivot), pair);
    for (int i = 0; i < n; i++) {
        re[i] = pair[2 * i];
        im[i] = pair[2 * i + 1];
    }
}
