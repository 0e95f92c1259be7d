/* Reads its rate from resources/rate.txt: x' = -rate x. Without the file there is no instance. */
#include "fmu.h"
#include <stdio.h>
#include <string.h>

typedef struct {
    double x, der_x, rate;
} values;

enum { TIME, X, DER_X, RATE, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
    [RATE] = {FLOAT64, LOCAL, offsetof(values, rate), 1},
};

static int instantiated(fmu *m, const char *resources) {
    char path[4200];
    size_t length = resources ? strlen(resources) : 0;
    snprintf(path, sizeof path, "%s%srate.txt", length ? resources : "",
             length && resources[length - 1] == '/' ? "" : "/");
    FILE *file = fopen(path, "r");
    if (file == NULL || fscanf(file, "%lf", &((values *)m->data)->rate) != 1) {
        fmu_say(m, FMU_ERROR, "cannot read %s", path);
        if (file) fclose(file);
        return FMU_ERROR;
    }
    fclose(file);
    return FMU_OK;
}

static void start(fmu *m) {
    ((values *)m->data)->x = 1.0;
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    out[0] = -v->rate * v->x;
    return FMU_OK;
}

static int outputs(fmu *m) {
    return derivatives(m, &((values *)m->data)->der_x);
}

const fmu_model model = {
    .token = "{resource}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .step = 1e-3,
    .start = start,
    .instantiated = instantiated,
    .derivatives = derivatives,
    .outputs = outputs,
};
