/* Van der Pol's oscillator: x0' = x1, x1' = mu (1 - x0^2) x1 - x0. Directional derivatives are exact. */
#include "fmu.h"

typedef struct {
    double x0, x1, der_x0, der_x1, mu;
} values;

enum { TIME, X0, DER_X0, X1, DER_X1, MU, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X0] = {FLOAT64, STATE, offsetof(values, x0), 1},
    [DER_X0] = {FLOAT64, DERIVATIVE, offsetof(values, der_x0), 1},
    [X1] = {FLOAT64, STATE, offsetof(values, x1), 1},
    [DER_X1] = {FLOAT64, DERIVATIVE, offsetof(values, der_x1), 1},
    [MU] = {FLOAT64, PARAMETER, offsetof(values, mu), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.x0 = 2.0, .x1 = 0.0, .mu = 1.0};
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = v->x1;
    out[1] = v->mu * ((1.0 - v->x0 * v->x0) * v->x1) - v->x0;
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    double found[2];
    int status = derivatives(m, found);
    v->der_x0 = found[0];
    v->der_x1 = found[1];
    return status;
}

static double partial(fmu *m, uint32_t unknown, uint32_t known) {
    const values *v = (values *)m->data;
    if (unknown == DER_X0) return known == X1;
    if (unknown == DER_X1 && known == X0) return -2.0 * v->mu * v->x0 * v->x1 - 1.0;
    if (unknown == DER_X1 && known == X1) return v->mu * (1.0 - v->x0 * v->x0);
    if (unknown == DER_X1 && known == MU) return (1.0 - v->x0 * v->x0) * v->x1;
    return unknown == known;
}

const fmu_model model = {
    .token = "{vanderpol}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 2,
    .step = 1e-2,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .partial = partial,
};
