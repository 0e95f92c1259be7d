/* A point on a circle, x = cos(t), y = sin(t), by one state, which is y in thousandths or x, whichever is away from +-1; the
   other one follows from x^2 + y^2 = 1. Which one it is changes when a step is completed: the state has another meaning and
   nominal value from the event mode on that the FMU asks for. With `eager` it has already before that, as some tools do it. */
#include "fmu.h"
#include <math.h>

#define FAR  0.8
#define MOST 0.999 /* beyond that the other one cannot be told */
#define UNIT 1000.0

typedef struct {
    double s, der_s, x, y, sign; /* sign: of the one that is no state */
    int32_t turns;
    bool is_x, eager, due;
} values;

enum { TIME, S, DER_S, X, Y, TURNS, EAGER, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [S] = {FLOAT64, STATE, offsetof(values, s), 1},
    [DER_S] = {FLOAT64, DERIVATIVE, offsetof(values, der_s), 1},
    [X] = {FLOAT64, OUTPUT, offsetof(values, x), 1},
    [Y] = {FLOAT64, OUTPUT, offsetof(values, y), 1},
    [TURNS] = {INT32, OUTPUT, offsetof(values, turns), 1},
    [EAGER] = {BOOLEAN, PARAMETER, offsetof(values, eager), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.sign = 1.0};
}

static double state_of(const values *v) {
    return v->is_x ? v->s : v->s / UNIT;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    double one = state_of(v), other = v->sign * sqrt(fmax(0.0, 1.0 - one * one));
    v->x = v->is_x ? one : other;
    v->y = v->is_x ? other : one;
    v->der_s = v->is_x ? -v->y : UNIT * v->x;
    return fabs(one) > MOST ? FMU_DISCARD : FMU_OK;
}

static int derivatives(fmu *m, double *out) {
    int status = outputs(m);
    out[0] = ((values *)m->data)->der_s;
    return status;
}

static void turn(fmu *m) {
    values *v = (values *)m->data;
    double one = state_of(v), other = v->sign * sqrt(1.0 - one * one);
    v->is_x = !v->is_x;
    v->s = v->is_x ? other : UNIT * other;
    v->sign = one < 0.0 ? -1.0 : 1.0;
    v->turns++;
}

static int event(fmu *m, fmu_event *out) {
    values *v = (values *)m->data;
    if (!v->due) return FMU_OK;
    if (!v->eager) turn(m);
    v->due = false;
    out->states_changed = out->nominals_changed = true;
    return FMU_OK;
}

static int completed(fmu *m, bool *event_asked, bool *terminate) {
    values *v = (values *)m->data;
    if (!v->due && fabs(state_of(v)) > FAR) {
        v->due = true;
        if (v->eager) turn(m);
    }
    *event_asked = v->due;
    *terminate = false;
    return FMU_OK;
}

static void nominals(fmu *m, double *out) {
    out[0] = ((values *)m->data)->is_x ? 1.0 : UNIT;
}

const fmu_model model = {
    .token = "{turncoat}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    .event = event,
    .completed = completed,
    .nominals = nominals,
};
