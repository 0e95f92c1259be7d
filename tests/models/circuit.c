/* RC circuit with everything that a pl_model can carry: inputs, parameters, outputs, a root, a time event.
 *
 *     R C v' = u + bias - v,   i = (u + bias - v) / R,   power = i (u + bias)
 *
 * Root: v crosses `level`; rising, it sets the instance's counter, which is the output `crossings`. */
#include "pliant.h"

enum { R, C, LEVEL, N_P };

typedef struct instance {
    pl_real p[N_P];
    pl_real crossings;
} instance;

static const char *const x_name[1] = {"v"};
static const char *const u_name[2] = {"source", "bias"};
static const char *const p_name[N_P] = {"R", "C", "level"};
static const char *const y_name[3] = {"i", "power", "crossings"};
static const char *const root_name[1] = {"v > level"};
static const pl_real x_start[1] = {0.0}, x_nominal[1] = {10.0}, x_min[1] = {-100.0}, x_max[1] = {100.0};
static const pl_real u_start[2] = {0.0, 0.0}, p_start[N_P] = {2.0, 0.5, 1e9};

static pl_status open_instance(void *self) {
    instance *s = self;
    for (int k = 0; k < N_P; k++) s->p[k] = p_start[k];
    s->crossings = 0.0;
    return PL_OK;
}

static pl_status set_parameters(void *self, const pl_real *p) {
    instance *s = self;
    for (int k = 0; k < N_P; k++) s->p[k] = p[k];
    return p[R] > 0.0 && p[C] > 0.0 ? PL_OK : PL_FATAL;
}

static const char *error_text(void *self) {
    const instance *s = self;
    return s->p[R] > 0.0 && s->p[C] > 0.0 ? "v is beyond 50 V" : "R and C must be positive";
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    const instance *s = self;
    (void)t;
    if (x[0] > 50.0) return PL_RETRY;
    f[0] = (u[0] + u[1] - x[0]) / (s->p[R] * s->p[C]);
    return PL_OK;
}

static pl_status roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    const instance *s = self;
    (void)t, (void)u;
    g[0] = x[0] - s->p[LEVEL];
    return PL_OK;
}

static pl_status event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                       pl_event_info *info) {
    instance *s = self;
    (void)t, (void)x, (void)u, (void)info;
    if (fired && fired[0] > 0) s->crossings += 1.0;
    return PL_OK;
}

static pl_status outputs(void *self, pl_real t, const pl_real *x, const pl_real *u, int n, const int *index,
                         pl_real *y) {
    const instance *s = self;
    pl_real total = u[0] + u[1], i = (total - x[0]) / s->p[R];
    const pl_real all[3] = {i, i * total, s->crossings};
    (void)t;
    for (int k = 0; k < n; k++) y[k] = all[index ? index[k] : k];
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = 1,
    .n_u = 2,
    .n_p = N_P,
    .n_y = 3,
    .n_roots = 1,
    .memory_size = sizeof(instance),
    .name = "circuit",
    .x_name = x_name,
    .u_name = u_name,
    .p_name = p_name,
    .y_name = y_name,
    .root_name = root_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .x_min = x_min,
    .x_max = x_max,
    .u_start = u_start,
    .p_start = p_start,
    .open = open_instance,
    .set_parameters = set_parameters,
    .rhs = rhs,
    .roots = roots,
    .outputs = outputs,
    .event = event,
    .error = error_text,
};
