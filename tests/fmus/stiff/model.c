/* Stiff Van der Pol: y1' = mu (y1 - y1^3 / 3 - y2), y2' = y1 / mu, with a nominal value of both states that is a
   parameter: what an integrator makes of nominal values shows in its steps. */
#include "fmu.h"

typedef struct {
    double y1, y2, der_y1, der_y2, mu, nominal;
} values;

enum { TIME, Y1, DER_Y1, Y2, DER_Y2, MU, NOMINAL, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [Y1] = {FLOAT64, STATE, offsetof(values, y1), 1},
    [DER_Y1] = {FLOAT64, DERIVATIVE, offsetof(values, der_y1), 1},
    [Y2] = {FLOAT64, STATE, offsetof(values, y2), 1},
    [DER_Y2] = {FLOAT64, DERIVATIVE, offsetof(values, der_y2), 1},
    [MU] = {FLOAT64, PARAMETER, offsetof(values, mu), 1},
    [NOMINAL] = {FLOAT64, PARAMETER, offsetof(values, nominal), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.y1 = 2.0, .y2 = -2.0 / 3.0, .mu = 1e6, .nominal = 1.0};
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = v->mu * (v->y1 - v->y1 * v->y1 * v->y1 / 3.0 - v->y2);
    out[1] = v->y1 / v->mu;
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    double found[2];
    int status = derivatives(m, found);
    v->der_y1 = found[0];
    v->der_y2 = found[1];
    return status;
}

static void nominals(fmu *m, double *out) {
    out[0] = out[1] = ((values *)m->data)->nominal;
}

const fmu_model model = {
    .token = "{stiff}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 2,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .nominals = nominals,
};
