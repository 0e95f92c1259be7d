/* Van der Pol oscillator, mu = 1000: see vdpol_mu1000.py. */
#include "pliant.h"

enum { N = 2, N_JAC = 3 };

#define MU 1000.0

static const char *const x_name[N] = {"y", "z"};
static const pl_real x_start[N] = {2.0, 0.0};
static const pl_real x_nominal[N] = {1.0, 0.001};
static const int jac_start[N + 1] = {0, 1, 3};
static const int jac_row[N_JAC] = {1, 0, 1};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = x[1];
    f[1] = MU * (1.0 - x[0] * x[0]) * x[1] - x[0];
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    /* d/dy */
    v[0] = -2.0 * MU * x[0] * x[1] - 1.0;
    /* d/dz */
    v[1] = 1.0;
    v[2] = MU * (1.0 - x[0] * x[0]);
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_AUTONOMOUS,
    .name = "vdpol_mu1000",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
