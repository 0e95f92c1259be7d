/* The floor of a right-hand side through an FMU: a plain loop in C that makes the same calls of FMI as a solver.
 *
 *   fmu_loop LIBRARY VERSION TOKEN CALLS ROUNDS STATES
 *
 * Each call is set time, set continuous states, get derivatives; the states differ in each, so that nothing can be kept.
 * Prints the least and the median time of a call over the rounds, in nanoseconds. Compiled by fmu_peers.py. */
#define _POSIX_C_SOURCE 200809L
#include "pl_fmi2.h"
#include "pl_fmi3.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STATES = 64, ROUNDS = 1000 };

typedef struct {
    void *instance;
    size_t n;
    int (*set_time)(void *, double);
    int (*set_states)(void *, const double *, size_t);
    int (*derivatives)(void *, double *, size_t);
    double x[STATES];
} loaded;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s is missing\n", name);
        exit(1);
    }
    return found;
}

#define FIND(pointer, name) *(void **)&(pointer) = symbol(library, name)

static void quiet2(pl_fmi2_environment e, pl_fmi2_string i, pl_fmi2_status s, pl_fmi2_string c,
                   pl_fmi2_string f, ...) {
    (void)e, (void)i, (void)s, (void)c, (void)f;
}

static void quiet3(pl_fmi3_environment e, pl_fmi3_status s, pl_fmi3_string c, pl_fmi3_string t) {
    (void)e, (void)s, (void)c, (void)t;
}

static int start2(void *library, const char *token, loaded *out) {
    static const pl_fmi2_callbacks callbacks = {quiet2, calloc, free, NULL, NULL};
    pl_fmi2_instantiate_fn instantiate;
    pl_fmi2_setup_experiment_fn set_up;
    pl_fmi2_enter_initialization_mode_fn enter, leave, continuous;
    pl_fmi2_new_discrete_states_fn update;
    pl_fmi2_event_info info = {.again = 1};
    FIND(instantiate, "fmi2Instantiate");
    FIND(set_up, "fmi2SetupExperiment");
    FIND(enter, "fmi2EnterInitializationMode");
    FIND(leave, "fmi2ExitInitializationMode");
    FIND(update, "fmi2NewDiscreteStates");
    FIND(continuous, "fmi2EnterContinuousTimeMode");
    FIND(out->set_time, "fmi2SetTime");
    FIND(out->set_states, "fmi2SetContinuousStates");
    FIND(out->derivatives, "fmi2GetDerivatives");
    void *m = out->instance = instantiate("loop", PL_FMI2_MODEL_EXCHANGE_KIND, token, "", &callbacks, 0, 0);
    if (m == NULL || set_up(m, 0, 0.0, 0.0, 0, 0.0) || enter(m) || leave(m)) return 1;
    while (info.again) {
        if (update(m, &info)) return 1;
    }
    return continuous(m);
}

static int start3(void *library, const char *token, loaded *out) {
    pl_fmi3_instantiate_model_exchange_fn instantiate;
    pl_fmi3_enter_initialization_mode_fn enter;
    pl_fmi3_exit_initialization_mode_fn leave, continuous;
    pl_fmi3_update_discrete_states_fn update;
    bool again = true, ignored[4];
    double next;
    FIND(instantiate, "fmi3InstantiateModelExchange");
    FIND(enter, "fmi3EnterInitializationMode");
    FIND(leave, "fmi3ExitInitializationMode");
    FIND(update, "fmi3UpdateDiscreteStates");
    FIND(continuous, "fmi3EnterContinuousTimeMode");
    FIND(out->set_time, "fmi3SetTime");
    FIND(out->set_states, "fmi3SetContinuousStates");
    FIND(out->derivatives, "fmi3GetContinuousStateDerivatives");
    void *m = out->instance = instantiate("loop", token, "", false, false, NULL, quiet3);
    if (m == NULL || enter(m, false, 0.0, 0.0, false, 0.0) || leave(m)) return 1;
    while (again) {
        if (update(m, &again, &ignored[0], &ignored[1], &ignored[2], &ignored[3], &next)) return 1;
    }
    return continuous(m);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static double times[ROUNDS];
    loaded f = {0};
    double out[STATES], sum = 0.0;
    if (argc != 7) return 2;
    void *library = dlopen(argv[1], RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    long calls = atol(argv[4]), rounds = atol(argv[5]);
    f.n = (size_t)atol(argv[6]);
    if (f.n > STATES || rounds < 1 || rounds > ROUNDS) return 2;
    int version3 = strcmp(argv[2], "3.0") == 0;
    if ((version3 ? start3 : start2)(library, argv[3], &f)) return 1;
    for (size_t i = 0; i < f.n; i++) f.x[i] = 1.0 + 0.5 * (double)i;
    for (long r = 0; r < rounds; r++) {
        double begin = now();
        for (long k = 0; k < calls; k++) {
            f.x[0] += 1e-9;
            if (f.set_time(f.instance, 1e-6 * (double)k)) return 1;
            if (f.set_states(f.instance, f.x, f.n)) return 1;
            if (f.derivatives(f.instance, out, f.n)) return 1;
            sum += out[0];
        }
        times[r] = (now() - begin) / (double)calls;
    }
    qsort(times, (size_t)rounds, sizeof *times, compare);
    printf("%.3f %.3f %g\n", times[0], times[rounds / 2], sum);
    return 0;
}
