/* Co-simulation of FMI 3 with event mode, early return and intermediate update: x' = u; at 1 it falls to 0. */
#include "fmu.h"

typedef struct {
    double x, u;
    int32_t falls;
} values;

enum { TIME, X, U, FALLS, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, OUTPUT, offsetof(values, x), 1},
    [U] = {FLOAT64, INPUT, offsetof(values, u), 1},
    [FALLS] = {INT32, OUTPUT, offsetof(values, falls), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.u = 1.0};
}

static int derivatives(fmu *m, double *out) {
    out[0] = ((values *)m->data)->u;
    return FMU_OK;
}

static int indicators(fmu *m, double *out) {
    out[0] = m->data[0] - 1.0;
    return FMU_OK;
}

static int event(fmu *m, fmu_event *out) {
    values *v = (values *)m->data;
    (void)out;
    if (v->x > 1.0 - 1e-12) {
        v->x = 0.0;
        v->falls++;
    }
    return FMU_OK;
}

const fmu_model model = {
    .token = "{sawtooth}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .indicator_count = 1,
    .step = 1e-2,
    .start = start,
    .derivatives = derivatives,
    .indicators = indicators,
    .event = event,
};
