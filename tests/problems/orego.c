/* Oregonator: see orego.py. */
#include "pliant.h"

enum { N = 3, N_JAC = 7 };

#define S 77.27
#define Q 8.375e-6
#define W 0.161

static const char *const x_name[N] = {"HBrO2", "Br", "Ce"};
static const pl_real x_start[N] = {1.0, 2.0, 3.0};
static const pl_real x_nominal[N] = {1.0, 1.0, 1.0};
static const int jac_start[N + 1] = {0, 3, 5, 7};
static const int jac_row[N_JAC] = {0, 1, 2, 0, 1, 1, 2};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = S * (x[1] - x[0] * x[1] + x[0] - Q * x[0] * x[0]);
    f[1] = (x[2] - x[1] - x[0] * x[1]) / S;
    f[2] = W * (x[0] - x[2]);
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    /* d/dHBrO2 */
    v[0] = S * (1.0 - x[1] - 2.0 * Q * x[0]);
    v[1] = -x[1] / S;
    v[2] = W;
    /* d/dBr */
    v[3] = S * (1.0 - x[0]);
    v[4] = -(1.0 + x[0]) / S;
    /* d/dCe */
    v[5] = 1.0 / S;
    v[6] = -W;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_AUTONOMOUS,
    .name = "orego",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
