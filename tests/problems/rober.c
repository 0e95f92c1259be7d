/* Robertson's reaction: see rober.py. */
#include "pliant.h"

enum { N = 3, N_JAC = 7 };

static const char *const x_name[N] = {"A", "B", "C"};
static const pl_real x_start[N] = {1.0, 0.0, 0.0};
static const pl_real x_nominal[N] = {1e-8, 1e-13, 1.0};
static const int jac_start[N + 1] = {0, 2, 5, 7};
static const int jac_row[N_JAC] = {0, 1, 0, 1, 2, 0, 1};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    const pl_real first = 0.04 * x[0], second = 3e7 * x[1] * x[1], third = 1e4 * x[1] * x[2];
    f[0] = third - first;
    f[1] = first - third - second;
    f[2] = second;
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    /* d/dA */
    v[0] = -0.04;
    v[1] = 0.04;
    /* d/dB */
    v[2] = 1e4 * x[2];
    v[3] = -1e4 * x[2] - 6e7 * x[1];
    v[4] = 6e7 * x[1];
    /* d/dC */
    v[5] = 1e4 * x[1];
    v[6] = -1e4 * x[1];
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_AUTONOMOUS,
    .name = "rober",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
