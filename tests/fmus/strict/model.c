/* Everything that an importer has to handle, built with STRICT=1: x' = g u - k x with a state event (x crosses 0.5), a time
   event each quarter of a second, a step event after each seventh step, and a second iteration in each event. None of the
   events changes x: the solution is known. */
#include "fmu.h"

typedef struct {
    double x, der_x, u, k, g, y, z;
    int32_t crossings, ticks, level;
    bool above, second;
    int steps;
} values;

enum { TIME, X, DER_X, U, K, G, Y, CROSSINGS, TICKS, LEVEL, Z, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
    [U] = {FLOAT64, INPUT, offsetof(values, u), 1},
    [K] = {FLOAT64, PARAMETER, offsetof(values, k), 1},
    [G] = {FLOAT64, TUNABLE, offsetof(values, g), 1},
    [Y] = {FLOAT64, OUTPUT, offsetof(values, y), 1},
    [CROSSINGS] = {INT32, OUTPUT, offsetof(values, crossings), 1},
    [TICKS] = {INT32, OUTPUT, offsetof(values, ticks), 1},
    [LEVEL] = {INT32, DISCRETE_INPUT, offsetof(values, level), 1},
    [Z] = {FLOAT64, LOCAL, offsetof(values, z), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.x = 1.0, .k = 1.0, .g = 1.0};
}

static int initialise(fmu *m) {
    values *v = (values *)m->data;
    v->above = v->x > 0.5;
    return FMU_OK;
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = v->g * v->u - v->k * v->x;
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    v->y = 2.0 * v->x + v->level;
    v->z = v->x - 0.5;
    return derivatives(m, &v->der_x);
}

static int indicators(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = v->x - 0.5;
    return FMU_OK;
}

static int event(fmu *m, fmu_event *out) {
    values *v = (values *)m->data;
    v->second = !v->second;
    out->again = v->second;
    if (!out->next_defined) out->next = m->time + 0.25;
    out->next_defined = true;
    if (m->time >= out->next) {
        v->ticks++;
        out->next += 0.25;
    }
    if (v->above != (v->x > 0.5)) {
        v->above = !v->above;
        v->crossings++;
    }
    return FMU_OK;
}

static int completed(fmu *m, bool *event_asked, bool *terminate) {
    values *v = (values *)m->data;
    *event_asked = ++v->steps % 7 == 0;
    *terminate = false;
    return FMU_OK;
}

static double partial(fmu *m, uint32_t unknown, uint32_t known) {
    const values *v = (values *)m->data;
    if (unknown == DER_X && known == X) return -v->k;
    if (unknown == DER_X && known == U) return v->g;
    if (unknown == Y && known == X) return 2.0;
    return unknown == known;
}

const fmu_model model = {
    .token = "{strict}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .indicator_count = 1,
    .step = 1e-3,
    .start = start,
    .initialise = initialise,
    .derivatives = derivatives,
    .outputs = outputs,
    .indicators = indicators,
    .event = event,
    .completed = completed,
    .partial = partial,
};
