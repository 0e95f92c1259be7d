/* A filter with a Real, an Integer and a Boolean input: x' = ((on ? gain u : 0) - x) / T, y = x + u. */
#include "fmu.h"

typedef struct {
    double x, der_x, u, time_constant, y;
    int32_t gain;
    bool on;
} values;

enum { TIME, X, DER_X, U, GAIN, ON, TIME_CONSTANT, Y, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
    [U] = {FLOAT64, INPUT, offsetof(values, u), 1},
    [GAIN] = {INT32, DISCRETE_INPUT, offsetof(values, gain), 1},
    [ON] = {BOOLEAN, DISCRETE_INPUT, offsetof(values, on), 1},
    [TIME_CONSTANT] = {FLOAT64, PARAMETER, offsetof(values, time_constant), 1},
    [Y] = {FLOAT64, OUTPUT, offsetof(values, y), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.gain = 1, .on = true, .time_constant = 0.5};
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = ((v->on ? v->gain * v->u : 0.0) - v->x) / v->time_constant;
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    v->y = v->x + v->u;
    return derivatives(m, &v->der_x);
}

static double partial(fmu *m, uint32_t unknown, uint32_t known) {
    const values *v = (values *)m->data;
    if (unknown == DER_X && known == X) return -1.0 / v->time_constant;
    if (unknown == DER_X && known == U) return v->on ? v->gain / v->time_constant : 0.0;
    if (unknown == Y) return known == X || known == U;
    return unknown == known;
}

const fmu_model model = {
    .token = "{filter}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .step = 1e-3,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .partial = partial,
};
