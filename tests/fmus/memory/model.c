/* A heater with hidden memory: the switch changes only when a step is completed, so the order of calls matters.
   x' = (heating ? 2 : 0) - x; off above 1.1, on below 0.9. `steps` counts completed steps. */
#include "fmu.h"

typedef struct {
    double x, der_x;
    int32_t steps, switches;
    bool heating, wanted;
} values;

enum { TIME, X, DER_X, STEPS, SWITCHES, HEATING, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
    [STEPS] = {INT32, OUTPUT, offsetof(values, steps), 1},
    [SWITCHES] = {INT32, OUTPUT, offsetof(values, switches), 1},
    [HEATING] = {BOOLEAN, OUTPUT, offsetof(values, heating), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.x = 0.5, .heating = true, .wanted = true};
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = (v->heating ? 2.0 : 0.0) - v->x;
    return FMU_OK;
}

static int outputs(fmu *m) {
    return derivatives(m, &((values *)m->data)->der_x);
}

static int event(fmu *m, fmu_event *out) {
    values *v = (values *)m->data;
    (void)out;
    v->switches += v->heating != v->wanted;
    v->heating = v->wanted;
    return FMU_OK;
}

static int completed(fmu *m, bool *event_asked, bool *terminate) {
    values *v = (values *)m->data;
    v->steps++;
    if (v->x > 1.1) v->wanted = false;
    if (v->x < 0.9) v->wanted = true;
    *event_asked = v->wanted != v->heating;
    *terminate = false;
    return FMU_OK;
}

const fmu_model model = {
    .token = "{memory}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .step = 1e-3,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .event = event,
    .completed = completed,
};
