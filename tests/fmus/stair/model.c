/* A counter without continuous states: one more each second; at 10 the FMU ends the simulation. */
#include "fmu.h"

typedef struct {
    int32_t counter;
} values;

enum { TIME, COUNTER, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [COUNTER] = {INT32, OUTPUT, offsetof(values, counter), 1},
};

static void start(fmu *m) {
    *(values *)m->data = (values){.counter = 1};
}

static int event(fmu *m, fmu_event *out) {
    values *v = (values *)m->data;
    if (!out->next_defined) out->next = m->time + 1.0;
    out->next_defined = true;
    if (m->time >= out->next) {
        v->counter++;
        out->next += 1.0;
        out->terminate = v->counter == 10;
    }
    return FMU_OK;
}

const fmu_model model = {
    .token = "{stair}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .start = start,
    .event = event,
};
