/* An oscillation that keeps a solver busy for as long as anybody wants: x'' = -x, in 64 copies. */
#include "pliant.h"

enum { N = 128 };

static pl_real x_start[N];

static pl_status initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    (void)self, (void)t, (void)u, (void)info;
    for (int k = 0; k < N; k += 2) {
        x[k] = 1.0;
        x[k + 1] = 0.0;
    }
    return PL_OK;
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    for (int k = 0; k < N; k += 2) {
        f[k] = x[k + 1];
        f[k + 1] = -x[k];
    }
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .name = "slow",
    .x_start = x_start,
    .initialise = initialise,
    .rhs = rhs,
};
