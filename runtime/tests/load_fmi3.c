/* Loads the binary of an exported FMU of FMI 3.0 as an importer does, on this platform or under an emulator, and prints a run.
 *
 *     load_fmi3 LIBRARY TOKEN STOP STEPS REFERENCE...
 *
 * Co-simulation: a line of values per communication step. The second half is run twice, from a saved state. Then model
 * exchange: the derivatives of the states at the start.
 */
#include "pl_fmi3.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
static void *symbol(const char *file, const char *name) {
    static HMODULE library;
    void *found = NULL;
    if (!library) library = LoadLibraryA(file);
    if (!library) return NULL;
    FARPROC at = GetProcAddress(library, name);
    memcpy(&found, &at, sizeof found);
    return found;
}
#else
#include <dlfcn.h>
static void *symbol(const char *file, const char *name) {
    void *library = dlopen(file, RTLD_NOW);
    return library ? dlsym(library, name) : NULL;
}
#endif

#define MOST 16

static struct {
    pl_fmi3_instance (*make_steps)(pl_fmi3_string, pl_fmi3_string, pl_fmi3_string, pl_fmi3_boolean,
                                   pl_fmi3_boolean, pl_fmi3_boolean, pl_fmi3_boolean,
                                   const pl_fmi3_reference *, size_t, pl_fmi3_environment, pl_fmi3_log_fn,
                                   pl_fmi3_intermediate_update_fn);
    pl_fmi3_instance (*make_exchange)(pl_fmi3_string, pl_fmi3_string, pl_fmi3_string, pl_fmi3_boolean,
                                      pl_fmi3_boolean, pl_fmi3_environment, pl_fmi3_log_fn);
    void (*release)(pl_fmi3_instance);
    pl_fmi3_status (*enter)(pl_fmi3_instance, pl_fmi3_boolean, double, double, pl_fmi3_boolean, double);
    pl_fmi3_status (*leave)(pl_fmi3_instance);
    pl_fmi3_status (*get)(pl_fmi3_instance, const pl_fmi3_reference *, size_t, double *, size_t);
    pl_fmi3_status (*step)(pl_fmi3_instance, double, double, pl_fmi3_boolean, pl_fmi3_boolean *,
                           pl_fmi3_boolean *, pl_fmi3_boolean *, double *);
    pl_fmi3_status (*save)(pl_fmi3_instance, pl_fmi3_saved *);
    pl_fmi3_status (*restore)(pl_fmi3_instance, pl_fmi3_saved);
    pl_fmi3_status (*forget)(pl_fmi3_instance, pl_fmi3_saved *);
    pl_fmi3_status (*count)(pl_fmi3_instance, size_t *);
    pl_fmi3_status (*slopes)(pl_fmi3_instance, double *, size_t);
} fmu;

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("line %d: %s\n", __LINE__, #condition);                                                   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static void load(const char *file) {
    static const struct {
        void *into;
        const char *name;
    } wanted[] = {
        {&fmu.make_steps, "fmi3InstantiateCoSimulation"},
        {&fmu.make_exchange, "fmi3InstantiateModelExchange"},
        {&fmu.release, "fmi3FreeInstance"},
        {&fmu.enter, "fmi3EnterInitializationMode"},
        {&fmu.leave, "fmi3ExitInitializationMode"},
        {&fmu.get, "fmi3GetFloat64"},
        {&fmu.step, "fmi3DoStep"},
        {&fmu.save, "fmi3GetFMUState"},
        {&fmu.restore, "fmi3SetFMUState"},
        {&fmu.forget, "fmi3FreeFMUState"},
        {&fmu.count, "fmi3GetNumberOfContinuousStates"},
        {&fmu.slopes, "fmi3GetContinuousStateDerivatives"},
    };
    for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
        void *found = symbol(file, wanted[k].name);
        if (!found) printf("%s is not there\n", wanted[k].name), exit(1);
        memcpy(wanted[k].into, &found, sizeof found);
    }
}

static void say(pl_fmi3_environment environment, pl_fmi3_status status, pl_fmi3_string category,
                pl_fmi3_string message) {
    (void)environment;
    printf("%d %s: %s\n", (int)status, category, message);
}

static void start(pl_fmi3_instance c, double stop) {
    CHECK(c);
    CHECK(fmu.enter(c, true, 1e-8, 0.0, true, stop) == PL_FMI3_OK);
    CHECK(fmu.leave(c) == PL_FMI3_OK);
}

static void run(pl_fmi3_instance c, double stop, long from, long to, long steps,
                const pl_fmi3_reference *reference, size_t n, double *value, int print) {
    for (long k = from; k < to; k++) {
        bool event, terminate, early;
        double h = stop / (double)steps, reached;
        CHECK(fmu.step(c, (double)k * h, h, true, &event, &terminate, &early, &reached) == PL_FMI3_OK);
        CHECK(fmu.get(c, reference, n, value, n) == PL_FMI3_OK);
        for (size_t i = 0; print && i < n; i++) printf("%.17g%c", value[i], i + 1 < n ? ' ' : '\n');
    }
}

int main(int count, char **word) {
    pl_fmi3_reference reference[MOST];
    double value[MOST], again[MOST], slope[MOST];
    pl_fmi3_saved saved = NULL;
    if (count < 6 || count > 5 + MOST) return 2;
    load(word[1]);
    double stop = atof(word[3]);
    long steps = atol(word[4]);
    size_t n = (size_t)count - 5, states = 0;
    for (size_t i = 0; i < n; i++) reference[i] = (pl_fmi3_reference)atol(word[5 + i]);
    CHECK(!fmu.make_exchange("one", "wrong token", NULL, false, false, NULL, NULL));
    pl_fmi3_instance c =
        fmu.make_steps("one", word[2], NULL, false, false, false, false, NULL, 0, NULL, say, NULL);
    start(c, stop);
    run(c, stop, 0, steps / 2, steps, reference, n, value, 1);
    CHECK(fmu.save(c, &saved) == PL_FMI3_OK);
    run(c, stop, steps / 2, steps, steps, reference, n, value, 1);
    CHECK(fmu.restore(c, saved) == PL_FMI3_OK);
    run(c, stop, steps / 2, steps, steps, reference, n, again, 0);
    CHECK(memcmp(value, again, n * sizeof value[0]) == 0);
    CHECK(fmu.forget(c, &saved) == PL_FMI3_OK);
    fmu.release(c);
    c = fmu.make_exchange("two", word[2], NULL, false, false, NULL, say);
    start(c, stop);
    CHECK(fmu.count(c, &states) == PL_FMI3_OK && states > 0 && states <= MOST);
    CHECK(fmu.slopes(c, slope, states) == PL_FMI3_OK);
    for (size_t i = 0; i < states; i++) printf("%.17g%c", slope[i], i + 1 < states ? ' ' : '\n');
    fmu.release(c);
    return 0;
}
