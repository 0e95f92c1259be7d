/* Drives an exported FMU of FMI 2.0, linked to this program: calls in legal orders that must give the same results, many instances in
 * two threads, and random calls in any order with any arguments, which must give an error status and never more.
 *
 *     drive_fmi2 GUID legal|threads|random [calls] [seed]
 *
 * Variables by value reference: 0 time, 1 a state.
 */
#include "pl_fmi2.h"

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PL_FMI2_EXPORTS

#define MOST 400 /* value references that are tried */

static const char *guid;
static const pl_fmi2_reference state_reference = 1;

static void quiet(pl_fmi2_environment environment, pl_fmi2_string instance, pl_fmi2_status status,
                  pl_fmi2_string category, pl_fmi2_string format, ...) {
    (void)environment, (void)instance, (void)status, (void)category, (void)format;
}

static const pl_fmi2_callbacks callbacks = {quiet, calloc, free, NULL, NULL};

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("line %d: %s\n", __LINE__, #condition);                                                   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static pl_fmi2_component make(int kind) {
    pl_fmi2_component c = fmi2Instantiate("one", (pl_fmi2_kind)kind, guid, NULL, &callbacks, 0, 0);
    CHECK(c);
    return c;
}

static pl_fmi2_component begin(int kind) {
    pl_fmi2_component c = make(kind);
    CHECK(fmi2SetupExperiment(c, 1, 1e-8, 0.0, 1, 2.0) == PL_FMI2_OK);
    CHECK(fmi2EnterInitializationMode(c) == PL_FMI2_OK);
    CHECK(fmi2ExitInitializationMode(c) == PL_FMI2_OK);
    return c;
}

static double value(pl_fmi2_component c) {
    double x;
    CHECK(fmi2GetReal(c, &state_reference, 1, &x) == PL_FMI2_OK);
    return x;
}

static void steps(pl_fmi2_component c, int from, int to) {
    for (int k = from; k < to; k++) CHECK(fmi2DoStep(c, 0.01 * k, 0.01, 1) == PL_FMI2_OK);
}

/* ------------------------------------------------------------------------------------------- legal orders */

static void legal_steps(void) {
    pl_fmi2_component c = begin(1), other = make(1);
    pl_fmi2_saved saved = NULL, read = NULL;
    size_t bytes;
    steps(c, 0, 100);
    double middle = value(c);
    CHECK(fmi2GetFMUstate(c, &saved) == PL_FMI2_OK);
    steps(c, 100, 200);
    double end = value(c);
    CHECK(fmi2DoStep(c, 2.0, 0.01, 1) == PL_FMI2_ERROR); /* past the stop time */
    CHECK(fmi2SetFMUstate(c, saved) == PL_FMI2_OK);
    CHECK(value(c) == middle);
    steps(c, 100, 200);
    CHECK(value(c) == end);
    CHECK(fmi2SerializedFMUstateSize(c, saved, &bytes) == PL_FMI2_OK);
    char *text = malloc(bytes);
    CHECK(fmi2SerializeFMUstate(c, saved, text, bytes) == PL_FMI2_OK);
    CHECK(fmi2DeSerializeFMUstate(other, text, bytes, &read) == PL_FMI2_OK);
    text[bytes / 2] ^= 1;
    pl_fmi2_saved damaged = NULL;
    CHECK(fmi2DeSerializeFMUstate(other, text, bytes, &damaged) == PL_FMI2_ERROR && !damaged);
    free(text);
    CHECK(fmi2SetFMUstate(other, read) == PL_FMI2_OK);
    steps(other, 100, 200);
    CHECK(value(other) == end);
    CHECK(fmi2Reset(c) == PL_FMI2_OK); /* and once more from the beginning, with values read in between */
    CHECK(fmi2SetupExperiment(c, 1, 1e-8, 0.0, 1, 2.0) == PL_FMI2_OK);
    CHECK(fmi2EnterInitializationMode(c) == PL_FMI2_OK);
    value(c);
    CHECK(fmi2ExitInitializationMode(c) == PL_FMI2_OK);
    for (int k = 0; k < 200; k++) {
        steps(c, k, k + 1);
        value(c);
    }
    CHECK(value(c) == end);
    CHECK(fmi2FreeFMUstate(c, &saved) == PL_FMI2_OK && !saved);
    CHECK(fmi2FreeFMUstate(c, &read) == PL_FMI2_OK);
    CHECK(fmi2Terminate(c) == PL_FMI2_OK);
    CHECK(fmi2DoStep(c, 2.0, 0.01, 1) == PL_FMI2_ERROR);
    fmi2FreeInstance(c);
    fmi2FreeInstance(other);
}

static void legal_exchange(void) {
    pl_fmi2_component c = begin(0);
    pl_fmi2_event_info info;
    double x[64], f[64], end[2];
    pl_fmi2_saved saved = NULL;
    size_t n = 1;
    while (n < 64 && fmi2GetContinuousStates(c, x, n) != PL_FMI2_OK) n++;
    CHECK(n < 64);
    CHECK(fmi2NewDiscreteStates(c, &info) == PL_FMI2_OK && !info.again);
    CHECK(fmi2EnterContinuousTimeMode(c) == PL_FMI2_OK);
    CHECK(fmi2GetFMUstate(c, &saved) == PL_FMI2_OK);
    for (int round = 0; round < 2; round++) { /* explicit Euler, twice from the same state */
        CHECK(fmi2SetFMUstate(c, saved) == PL_FMI2_OK);
        CHECK(fmi2GetContinuousStates(c, x, n) == PL_FMI2_OK);
        for (int k = 0; k < 1000; k++) {
            pl_fmi2_boolean event, terminate;
            CHECK(fmi2GetDerivatives(c, f, n) == PL_FMI2_OK);
            for (size_t i = 0; i < n; i++) x[i] += 1e-4 * f[i];
            CHECK(fmi2SetTime(c, 1e-4 * (k + 1)) == PL_FMI2_OK);
            CHECK(fmi2SetContinuousStates(c, x, n) == PL_FMI2_OK);
            CHECK(fmi2CompletedIntegratorStep(c, 1, &event, &terminate) == PL_FMI2_OK);
            if (k % 100 != 99) continue;
            CHECK(fmi2EnterEventMode(c) == PL_FMI2_OK);
            CHECK(fmi2NewDiscreteStates(c, &info) == PL_FMI2_OK);
            CHECK(fmi2EnterContinuousTimeMode(c) == PL_FMI2_OK);
        }
        end[round] = value(c);
    }
    CHECK(end[0] == end[1]);
    CHECK(fmi2FreeFMUstate(c, &saved) == PL_FMI2_OK);
    fmi2FreeInstance(c);
}

/* Random walks through the legal orders: in each mode any calls that it allows, which change no result. */

static uint64_t draw(uint64_t n);

static void look(pl_fmi2_component *c, pl_fmi2_saved *saved) {
    pl_fmi2_saved read = NULL;
    size_t bytes;
    switch (draw(8)) {
    case 0:
        CHECK(fmi2SetDebugLogging(*c, (int)draw(2), 0, NULL) == PL_FMI2_OK);
        break;
    case 1:
        CHECK(fmi2GetFMUstate(*c, saved) == PL_FMI2_OK);
        break;
    case 2: /* back to where it stands */
        CHECK(fmi2GetFMUstate(*c, saved) == PL_FMI2_OK && fmi2SetFMUstate(*c, *saved) == PL_FMI2_OK);
        break;
    case 3:
        CHECK(fmi2FreeFMUstate(*c, saved) == PL_FMI2_OK && !*saved);
        break;
    case 4: { /* goes on in another instance */
        pl_fmi2_component other = make(1);
        CHECK(fmi2GetFMUstate(*c, saved) == PL_FMI2_OK);
        CHECK(fmi2SerializedFMUstateSize(*c, *saved, &bytes) == PL_FMI2_OK);
        char *text = malloc(bytes);
        CHECK(fmi2SerializeFMUstate(*c, *saved, text, bytes) == PL_FMI2_OK);
        CHECK(fmi2DeSerializeFMUstate(other, text, bytes, &read) == PL_FMI2_OK);
        free(text);
        CHECK(fmi2SetFMUstate(other, read) == PL_FMI2_OK);
        CHECK(fmi2FreeFMUstate(*c, saved) == PL_FMI2_OK && fmi2FreeFMUstate(other, &read) == PL_FMI2_OK);
        fmi2FreeInstance(*c);
        *c = other;
        break;
    }
    default:
        value(*c);
    }
}

static void walk(double end) {
    pl_fmi2_component c = make(1);
    pl_fmi2_saved saved = NULL;
    for (int round = 0; round < 2;
         round++) { /* the second one after a reset, wherever the first one stopped */
        int last = round || draw(2) ? 200 : (int)draw(200);
        while (draw(3)) look(&c, &saved);
        CHECK(fmi2SetupExperiment(c, 1, 1e-8, 0.0, 1, 2.0) == PL_FMI2_OK);
        while (draw(3)) look(&c, &saved);
        CHECK(fmi2EnterInitializationMode(c) == PL_FMI2_OK);
        while (draw(3)) look(&c, &saved);
        CHECK(fmi2ExitInitializationMode(c) == PL_FMI2_OK);
        for (int k = 0; k < last; k++) {
            while (draw(3) == 0) look(&c, &saved);
            steps(c, k, k + 1);
        }
        CHECK(last < 200 || value(c) == end);
        if (draw(2)) CHECK(fmi2Terminate(c) == PL_FMI2_OK);
        while (draw(3)) look(&c, &saved);
        CHECK(last < 200 || value(c) == end);
        CHECK(fmi2Reset(c) == PL_FMI2_OK);
    }
    if (saved) CHECK(fmi2FreeFMUstate(c, &saved) == PL_FMI2_OK);
    fmi2FreeInstance(c);
}

static void walks(int count) {
    pl_fmi2_component c = begin(1);
    steps(c, 0, 200);
    double end = value(c);
    fmi2FreeInstance(c);
    for (int k = 0; k < count; k++) walk(end);
}

/* --------------------------------------------------------------------------------------- many instances */

static double alone;

static void *many(void *number) {
    pl_fmi2_component all[500];
    (void)number;
    for (int k = 0; k < 500; k++) all[k] = begin(1);
    for (int step = 0; step < 20; step++)
        for (int k = 0; k < 500; k++) steps(all[k], step, step + 1);
    for (int k = 0; k < 500; k++) {
        CHECK(value(all[k]) == alone);
        fmi2FreeInstance(all[k]);
    }
    return NULL;
}

static void threads(void) {
    pthread_t thread[2];
    pl_fmi2_component c = begin(1);
    steps(c, 0, 20);
    alone = value(c);
    fmi2FreeInstance(c);
    for (int k = 0; k < 2; k++) CHECK(pthread_create(&thread[k], NULL, many, NULL) == 0);
    for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
}

/* -------------------------------------------------------------------------------------------- any order */

static uint64_t seed = 1;

static uint64_t draw(uint64_t n) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed % n;
}

static double number(void) {
    static const double odd[] = {NAN, HUGE_VAL, -HUGE_VAL, 0.0, -1.0, 1e300, -1e300, 1.0, 2.0, 0.5};
    return draw(3) ? odd[draw(10)] : (double)draw(1000) * 1e-3;
}

#define OR_NULL(pointer) (draw(12) ? (pointer) : NULL)

static int n_fine;

static void any_call(pl_fmi2_component c, double *t, pl_fmi2_saved *kept) {
    pl_fmi2_reference r[4], q[4];
    double v[64];
    int whole[4];
    pl_fmi2_string text[4];
    pl_fmi2_event_info info;
    pl_fmi2_boolean a, b;
    size_t n = draw(4), m = draw(4), bytes = 0;
    int status = 99;
    for (int k = 0; k < 4; k++)
        r[k] = (pl_fmi2_reference)draw(draw(2) ? 12 : MOST), q[k] = (pl_fmi2_reference)draw(12);
    for (int k = 0; k < 64; k++) v[k] = number();
    for (int k = 0; k < 4; k++) whole[k] = (int)draw(5) - 1, text[k] = "x";
    switch (draw(40)) {
    case 0:
        status = fmi2SetDebugLogging(c, 1, draw(2), OR_NULL(text));
        break;
    case 1:
        status =
            fmi2SetupExperiment(c, (int)draw(2), draw(2) ? 1e-5 : number(), draw(2) ? 0.0 : number(), 0, 0.0);
        break;
    case 2:
    case 3:
        status = fmi2EnterInitializationMode(c);
        break;
    case 4:
    case 5:
        status = fmi2ExitInitializationMode(c);
        if (status == PL_FMI2_OK) fmi2GetRealStatus(c, PL_FMI2_LAST_SUCCESSFUL_TIME, t);
        break;
    case 6:
        status = draw(8) ? 99 : (int)fmi2Terminate(c);
        break;
    case 7:
        status = fmi2Reset(c);
        break;
    case 8:
    case 9:
        status = fmi2GetReal(c, OR_NULL(r), n, OR_NULL(v));
        break;
    case 10:
        status = fmi2GetInteger(c, OR_NULL(r), n, OR_NULL(whole));
        break;
    case 11:
        status = fmi2GetBoolean(c, OR_NULL(r), n, OR_NULL(whole));
        break;
    case 12:
        status = fmi2GetString(c, OR_NULL(r), n, OR_NULL(text));
        break;
    case 13:
    case 14:
        status = fmi2SetReal(c, OR_NULL(r), n, OR_NULL(v));
        break;
    case 15:
        status = fmi2SetInteger(c, OR_NULL(r), n, OR_NULL(whole));
        break;
    case 16:
        status = fmi2SetBoolean(c, OR_NULL(r), n, OR_NULL(whole));
        break;
    case 17:
        status = fmi2SetString(c, OR_NULL(r), n, OR_NULL(text));
        break;
    case 18:
        status = fmi2GetFMUstate(c, OR_NULL(kept));
        break;
    case 19:
        status = fmi2SetFMUstate(c, OR_NULL(*kept));
        break;
    case 20:
        status = fmi2FreeFMUstate(c, OR_NULL(kept));
        break;
    case 21:
        status = fmi2SerializedFMUstateSize(c, OR_NULL(*kept), OR_NULL(&bytes));
        break;
    case 22:
        status = fmi2SerializeFMUstate(c, OR_NULL(*kept), (char *)v, draw(sizeof v));
        break;
    case 23:
        status = fmi2DeSerializeFMUstate(c, OR_NULL((char *)v), draw(sizeof v), OR_NULL(kept));
        break;
    case 24:
        status = fmi2GetDirectionalDerivative(c, OR_NULL(r), n, OR_NULL(q), m, OR_NULL(v), OR_NULL(v + 8));
        break;
    case 25:
        status = fmi2EnterEventMode(c);
        break;
    case 26:
        status = fmi2NewDiscreteStates(c, OR_NULL(&info));
        break;
    case 27:
        status = fmi2EnterContinuousTimeMode(c);
        break;
    case 28:
        status = fmi2CompletedIntegratorStep(c, 1, OR_NULL(&a), OR_NULL(&b));
        break;
    case 29:
        status = fmi2SetTime(c, draw(3) ? *t += 0.01 : number());
        break;
    case 30:
        status = fmi2SetContinuousStates(c, OR_NULL(v), draw(6));
        break;
    case 31:
        status = fmi2GetDerivatives(c, OR_NULL(v), draw(6));
        break;
    case 32:
        status = fmi2GetEventIndicators(c, OR_NULL(v), draw(6));
        break;
    case 33:
        status = fmi2GetContinuousStates(c, OR_NULL(v), draw(6));
        break;
    case 34:
        status = fmi2GetNominalsOfContinuousStates(c, OR_NULL(v), draw(6));
        break;
    case 35:
        status = fmi2SetRealInputDerivatives(c, OR_NULL(r), n, OR_NULL(whole), OR_NULL(v));
        break;
    case 36:
        status = fmi2GetRealOutputDerivatives(c, OR_NULL(r), n, OR_NULL(whole), OR_NULL(v));
        break;
    case 37: {
        double step = draw(4) ? 0.01 : number();
        if (step > 1.0 && step < HUGE_VAL) step = -step; /* a step of 1e300 is legal, and takes its time */
        status = fmi2DoStep(c, draw(6) ? *t : number(), step, 1);
        if (status == PL_FMI2_OK) *t += step;
        break;
    }
    case 38:
        status = fmi2CancelStep(c);
        break;
    default:
        status = fmi2GetStatus(c, (pl_fmi2_status_kind)draw(5), OR_NULL((pl_fmi2_status *)(void *)whole));
        fmi2GetRealStatus(c, (pl_fmi2_status_kind)draw(5), OR_NULL(v));
        fmi2GetIntegerStatus(c, (pl_fmi2_status_kind)draw(5), OR_NULL(whole));
        fmi2GetBooleanStatus(c, (pl_fmi2_status_kind)draw(5), OR_NULL(whole));
        fmi2GetStringStatus(c, (pl_fmi2_status_kind)draw(5), OR_NULL(text));
    }
    CHECK(status == 99 || (status >= PL_FMI2_OK && status <= PL_FMI2_ERROR));
    if (status == PL_FMI2_OK && n > 0)
        for (size_t k = 0; k < n; k++) n_fine++;
}

static void random_calls(long calls) {
    pl_fmi2_component c[4];
    double t[4] = {0};
    pl_fmi2_saved kept[4] = {NULL};
    for (int k = 0; k < 4; k++) c[k] = make(k % 2);
    for (long k = 0; k < calls; k++) {
        int i = (int)draw(4);
        if (draw(200) == 0) {
            fmi2FreeFMUstate(c[i], &kept[i]);
            fmi2FreeInstance(c[i]);
            c[i] = make(i % 2);
            t[i] = 0.0;
        }
        any_call(draw(100) ? c[i] : NULL, &t[i], &kept[i]);
    }
    for (int k = 0; k < 4; k++) {
        fmi2FreeFMUstate(c[k], &kept[k]);
        fmi2FreeInstance(c[k]);
    }
    CHECK(n_fine > 0);
}

int main(int count, char **word) {
    if (count < 3) return 2;
    guid = word[1];
    CHECK(!fmi2Instantiate(NULL, PL_FMI2_CO_SIMULATION_KIND, guid, NULL, &callbacks, 0, 0));
    CHECK(!fmi2Instantiate("one", PL_FMI2_CO_SIMULATION_KIND, guid, NULL, NULL, 0, 0));
    CHECK(!fmi2Instantiate("one", PL_FMI2_CO_SIMULATION_KIND, "another", NULL, &callbacks, 0, 0));
    CHECK(!fmi2Instantiate("one", (pl_fmi2_kind)7, guid, NULL, &callbacks, 0, 0));
    if (count > 4) seed = strtoull(word[4], NULL, 10) * 2 + 1;
    if (!strcmp(word[2], "legal")) legal_steps(), legal_exchange(), walks(5);
    if (!strcmp(word[2], "threads")) threads();
    if (!strcmp(word[2], "random")) random_calls(count > 3 ? atol(word[3]) : 10000);
    printf("fine\n");
    return 0;
}
