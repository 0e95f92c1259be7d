/* A resistor and a capacitor behind a voltage source:  C v' = (u - v)/R.
 *
 * The tour drives it with a voltage that jumps.
 */
#include "pliant.h"

typedef struct memory {
    pl_real R, C;
} memory;

static const char *const x_name[] = {"v"};
static const char *const u_name[] = {"u"};
static const char *const p_name[] = {"R", "C"};
static const char *const y_name[] = {"i"};
static const pl_real x_start[] = {0.0};
static const pl_real p_start[] = {1.0, 0.5};

static pl_status set_parameters(void *self, const pl_real *p) {
    memory *m = self;
    m->R = p[0];
    m->C = p[1];
    return m->R > 0.0 && m->C > 0.0 ? PL_OK : PL_FATAL;
}

static const char *error(void *self) {
    (void)self;
    return "R and C must be positive";
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    const memory *m = self;
    (void)t;
    f[0] = (u[0] - x[0]) / (m->R * m->C);
    return PL_OK;
}

static pl_status outputs(void *self, pl_real t, const pl_real *x, const pl_real *u, int n, const int *index,
                         pl_real *y) {
    const memory *m = self;
    (void)t, (void)index; /* there is only one output */
    if (n > 0) y[0] = (u[0] - x[0]) / m->R;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = 1,
    .n_u = 1,
    .n_p = 2,
    .n_y = 1,
    .memory_size = sizeof(memory),
    .name = "rc",
    .x_name = x_name,
    .u_name = u_name,
    .p_name = p_name,
    .y_name = y_name,
    .x_start = x_start,
    .p_start = p_start,
    .set_parameters = set_parameters,
    .error = error,
    .rhs = rhs,
    .outputs = outputs,
};
