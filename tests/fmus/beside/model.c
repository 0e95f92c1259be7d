/* Needs a library that lies beside its own: x' = -rate x, where the rate is a function of that library. */
#include "fmu.h"

double beside_rate(void);

typedef struct {
    double x, der_x;
} values;

enum { TIME, X, DER_X, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.x = 1.0};
}

static int derivatives(fmu *m, double *out) {
    out[0] = -beside_rate() * m->data[0];
    return FMU_OK;
}

static int outputs(fmu *m) {
    return derivatives(m, &((values *)m->data)->der_x);
}

const fmu_model model = {
    .token = "{beside}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .step = 1e-3,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
};
