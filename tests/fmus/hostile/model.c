/* A well-behaved model that calls every function of its interface, for the skeleton's HOSTILE flags: x' = u - x, with a
   state event at x = 0.6 (0.511 s) and a time event each quarter of a second. */
#include "fmu.h"

typedef struct {
    double x, der_x, u, y, z;
} values;

enum { TIME, X, DER_X, U, Y, Z, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
    [U] = {FLOAT64, INPUT, offsetof(values, u), 1},
    [Y] = {FLOAT64, OUTPUT, offsetof(values, y), 1},
    [Z] = {FLOAT64, LOCAL, offsetof(values, z), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.x = 1.0};
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = v->u - v->x;
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    v->y = 2.0 * v->x;
    v->z = v->x - 0.6;
    v->der_x = v->u - v->x;
    return FMU_OK;
}

static int indicators(fmu *m, double *out) {
    out[0] = m->data[0] - 0.6;
    return FMU_OK;
}

static int event(fmu *m, fmu_event *out) {
    if (!out->next_defined) out->next = m->time + 0.25;
    out->next_defined = true;
    while (out->next <= m->time) out->next += 0.25;
    return FMU_OK;
}

const fmu_model model = {
    .token = "{hostile}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .indicator_count = 1,
    .step = 1e-2,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .indicators = indicators,
    .event = event,
};
