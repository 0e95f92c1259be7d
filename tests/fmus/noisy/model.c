/* Prints, and changes what belongs to the process: working directory, locale, rounding, floating-point traps. x' = -x. */
#include "fmu.h"
#include <fenv.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct {
    double x, der_x;
} values;

enum { TIME, X, DER_X, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
};

static void disturb(const char *where) {
    printf("printed to stdout in %s\n", where);
    fflush(stdout);
    fprintf(stderr, "printed to stderr in %s\n", where);
    if (chdir("/") != 0) perror("chdir");
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    setlocale(LC_ALL, "");
    fesetround(FE_UPWARD);
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
}

static int instantiated(fmu *m, const char *resources) {
    (void)m, (void)resources;
    disturb("instantiate");
    return FMU_OK;
}

static void start(fmu *m) {
    *(values *)m->data = (values){.x = 1.0};
}

static int initialise(fmu *m) {
    (void)m;
    disturb("initialisation");
    return FMU_OK;
}

static int derivatives(fmu *m, double *out) {
    if (m->time > 0.3 && m->time < 0.4) disturb("derivatives");
    out[0] = -m->data[0];
    return FMU_OK;
}

static int outputs(fmu *m) {
    return derivatives(m, &((values *)m->data)->der_x);
}

const fmu_model model = {
    .token = "{noisy}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .step = 1e-2,
    .start = start,
    .instantiated = instantiated,
    .initialise = initialise,
    .derivatives = derivatives,
    .outputs = outputs,
};
