/* The nominal value changes at an event: x' = -x, and at 1 s x is measured in another unit, a thousand times as large. */
#include "fmu.h"

typedef struct {
    double x, der_x;
    bool rescaled;
} values;

enum { TIME, X, DER_X, RESCALED, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
    [RESCALED] = {BOOLEAN, OUTPUT, offsetof(values, rescaled), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.x = 1.0};
}

static int derivatives(fmu *m, double *out) {
    out[0] = -m->data[0];
    return FMU_OK;
}

static int outputs(fmu *m) {
    return derivatives(m, &((values *)m->data)->der_x);
}

static int event(fmu *m, fmu_event *out) {
    values *v = (values *)m->data;
    out->next_defined = !v->rescaled;
    out->next = 1.0;
    if (!v->rescaled && m->time >= 1.0) {
        v->rescaled = true;
        v->x *= 1000.0;
        out->next_defined = false;
        out->nominals_changed = out->states_changed = true;
    }
    return FMU_OK;
}

static void nominals(fmu *m, double *out) {
    out[0] = ((values *)m->data)->rescaled ? 1000.0 : 1.0;
}

const fmu_model model = {
    .token = "{rescaled}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .step = 1e-3,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .event = event,
    .nominals = nominals,
};
