/* A bouncing ball: h' = v, v' = -g; at h = 0 the velocity becomes -e v; it rests when it is slower than v_min. */
#include "fmu.h"
#include <float.h>

typedef struct {
    double h, v, der_h, der_v, g, e, v_min;
    int32_t bounces;
    bool resting;
} values;

enum { TIME, H, DER_H, V, DER_V, G, E, V_MIN, BOUNCES, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [H] = {FLOAT64, STATE, offsetof(values, h), 1},
    [DER_H] = {FLOAT64, DERIVATIVE, offsetof(values, der_h), 1},
    [V] = {FLOAT64, STATE, offsetof(values, v), 1},
    [DER_V] = {FLOAT64, DERIVATIVE, offsetof(values, der_v), 1},
    [G] = {FLOAT64, PARAMETER, offsetof(values, g), 1},
    [E] = {FLOAT64, TUNABLE, offsetof(values, e), 1},
    [V_MIN] = {FLOAT64, CONSTANT, offsetof(values, v_min), 1},
    [BOUNCES] = {INT32, OUTPUT, offsetof(values, bounces), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.h = 1.0, .g = -9.81, .e = 0.7, .v_min = 0.1};
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = v->v;
    out[1] = v->resting ? 0.0 : v->g;
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    double found[2];
    int status = derivatives(m, found);
    v->der_h = found[0];
    v->der_v = found[1];
    return status;
}

static int indicators(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = v->h;
    return FMU_OK;
}

static int event(fmu *m, fmu_event *out) {
    values *v = (values *)m->data;
    if (v->resting || v->h > 0.0 || v->v >= 0.0) return FMU_OK;
    v->h = DBL_MIN; /* above zero: the indicator's sign is that of a ball in the air */
    v->v = -v->e * v->v;
    v->bounces++;
    if (v->v < v->v_min) {
        v->v = 0.0;
        v->resting = true;
    }
    out->states_changed = true;
    return FMU_OK;
}

const fmu_model model = {
    .token = "{ball}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 2,
    .indicator_count = 1,
    .step = 1e-2,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .indicators = indicators,
    .event = event,
};
