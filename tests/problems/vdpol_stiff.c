/* Van der Pol oscillator in Lienard's form: see vdpol_stiff.py. mu is a parameter. */
#include "pliant.h"

enum { N = 2, N_JAC = 3 };

typedef struct instance {
    pl_real mu;
} instance;

static const char *const p_name[1] = {"mu"};
static const pl_real p_start[1] = {1e6};
static const char *const x_name[N] = {"y1", "y2"};
static const pl_real x_start[N] = {2.0, -2.0 / 3.0};
static const pl_real x_nominal[N] = {1.0, 1.0};
static const int jac_start[N + 1] = {0, 2, 3};
static const int jac_row[N_JAC] = {0, 1, 0};

static pl_status set_parameters(void *self, const pl_real *p) {
    ((instance *)self)->mu = p[0];
    return PL_OK;
}

static pl_status open_instance(void *self) {
    return set_parameters(self, p_start);
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)t, (void)u;
    const pl_real mu = ((const instance *)self)->mu;
    f[0] = mu * (x[0] - x[0] * x[0] * x[0] / 3.0 - x[1]);
    f[1] = x[0] / mu;
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)t, (void)u;
    const pl_real mu = ((const instance *)self)->mu;
    /* d/dy1 */
    v[0] = mu * (1.0 - x[0] * x[0]);
    v[1] = 1.0 / mu;
    /* d/dy2 */
    v[2] = -mu;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .n_p = 1,
    .flags = PL_MODEL_AUTONOMOUS,
    .memory_size = sizeof(instance),
    .name = "vdpol_stiff",
    .x_name = x_name,
    .p_name = p_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .p_start = p_start,
    .jac = {N, N, jac_start, jac_row},
    .open = open_instance,
    .set_parameters = set_parameters,
    .rhs = rhs,
    .jac_value = jac_value,
};
