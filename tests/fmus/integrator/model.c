/* Co-simulation of FMI 2 with derivatives of inputs and outputs, and a state that can be saved: y' = u. */
#include "fmu.h"

typedef struct {
    double y, u;
} values;

enum { TIME, Y, U, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [Y] = {FLOAT64, OUTPUT, offsetof(values, y), 1},
    [U] = {FLOAT64, INPUT, offsetof(values, u), 1},
};

static int derivatives(fmu *m, double *out) {
    out[0] = ((values *)m->data)->u;
    return FMU_OK;
}

const fmu_model model = {
    .token = "{integrator}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .step = 1.0,
    .derivatives = derivatives,
};
