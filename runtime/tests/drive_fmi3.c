/* Drives an exported FMU of FMI 3.0, linked to this program: as drive_fmi2.c.
 *
 *     drive_fmi3 TOKEN legal|random [calls] [seed]
 */
#include "pl_fmi3.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PL_FMI3_EXPORTS

#define MOST 400 /* value references that are tried */

static const char *token;
static const pl_fmi3_reference state_reference = 1;
static pl_fmi3_instance watched; /* the instance of the intermediate update */
static int n_updates, want_early;

static void quiet(pl_fmi3_environment environment, pl_fmi3_status status, pl_fmi3_string category,
                  pl_fmi3_string message) {
    (void)environment, (void)status, (void)category, (void)message;
}

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            printf("line %d: %s\n", __LINE__, #condition);                                                   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

static double value(pl_fmi3_instance c) {
    double x;
    CHECK(fmi3GetFloat64(c, &state_reference, 1, &x, 1) == PL_FMI3_OK);
    return x;
}

static void update(pl_fmi3_environment environment, double time, bool set_requested, bool get_allowed,
                   bool step_finished, bool can_return_early, bool *early, double *when) {
    (void)environment, (void)time;
    CHECK(!set_requested && get_allowed && step_finished);
    n_updates++;
    double x = value(watched);
    CHECK(x - x == 0.0);
    CHECK(fmi3SetFloat64(watched, &state_reference, 1, &x, 1) == PL_FMI3_ERROR); /* not now */
    CHECK(fmi3Terminate(watched) == PL_FMI3_ERROR);
    if (!want_early || !can_return_early) return;
    *early = true;
    *when = time;
}

static pl_fmi3_instance steps_of(bool events, bool watch) {
    return fmi3InstantiateCoSimulation("one", token, NULL, false, false, events, true, NULL, 0, NULL, quiet,
                                       watch ? update : NULL);
}

static void start(pl_fmi3_instance c) {
    CHECK(c);
    CHECK(fmi3EnterInitializationMode(c, true, 1e-8, 0.0, true, 2.0) == PL_FMI3_OK);
    CHECK(fmi3ExitInitializationMode(c) == PL_FMI3_OK);
}

static void settle(pl_fmi3_instance c) {
    bool again, terminate, nominals, states, defined;
    double next;
    do
        CHECK(fmi3UpdateDiscreteStates(c, &again, &terminate, &nominals, &states, &defined, &next) ==
              PL_FMI3_OK);
    while (again);
}

/* To 2 with steps of 0.01, whatever the FMU says on the way. */
static double run(bool events, bool watch) {
    pl_fmi3_instance c = steps_of(events, watch);
    bool event, terminate, early;
    double t = 0.0;
    watched = c;
    start(c);
    if (events) settle(c);
    if (events) CHECK(fmi3EnterStepMode(c) == PL_FMI3_OK);
    for (int k = 0; k < 200; k++)
        while (t < 0.01 * (k + 1) - 1e-12) {
            double reached;
            CHECK(fmi3DoStep(c, t, 0.01 * (k + 1) - t, true, &event, &terminate, &early, &reached) ==
                  PL_FMI3_OK);
            CHECK(reached > t && (early || fabs(reached - 0.01 * (k + 1)) < 1e-12));
            t = reached;
            if (!event) continue;
            CHECK(events && fmi3EnterEventMode(c) == PL_FMI3_OK);
            settle(c);
            CHECK(fmi3EnterStepMode(c) == PL_FMI3_OK);
        }
    double end = value(c);
    CHECK(fmi3Terminate(c) == PL_FMI3_OK);
    fmi3FreeInstance(c);
    return end;
}

static void legal(void) {
    double plain = run(false, false), with_events = run(true, false);
    n_updates = want_early = 0;
    double seen = run(false, true);
    CHECK(n_updates > 0 && seen == plain); /* looking on changes nothing */
    want_early = 1;
    double early = run(false, true);
    CHECK(fabs(with_events - plain) < 1e-5 && fabs(early - plain) < 1e-5);
    pl_fmi3_instance c = steps_of(false, false), other = steps_of(false, false);
    bool event, terminate, returned;
    double reached;
    pl_fmi3_saved saved = NULL, read = NULL;
    size_t bytes;
    start(c);
    for (int k = 0; k < 100; k++)
        CHECK(fmi3DoStep(c, 0.01 * k, 0.01, true, &event, &terminate, &returned, &reached) == PL_FMI3_OK);
    CHECK(fmi3GetFMUState(c, &saved) == PL_FMI3_OK);
    CHECK(fmi3SerializedFMUStateSize(c, saved, &bytes) == PL_FMI3_OK);
    unsigned char *text = malloc(bytes);
    CHECK(fmi3SerializeFMUState(c, saved, text, bytes) == PL_FMI3_OK);
    CHECK(fmi3DeserializeFMUState(other, text, bytes, &read) == PL_FMI3_OK);
    free(text);
    CHECK(fmi3SetFMUState(other, read) == PL_FMI3_OK);
    for (int k = 100; k < 200; k++) {
        CHECK(fmi3DoStep(c, 0.01 * k, 0.01, true, &event, &terminate, &returned, &reached) == PL_FMI3_OK);
        CHECK(fmi3DoStep(other, 0.01 * k, 0.01, true, &event, &terminate, &returned, &reached) == PL_FMI3_OK);
    }
    CHECK(value(other) == value(c));
    CHECK(fmi3FreeFMUState(c, &saved) == PL_FMI3_OK && fmi3FreeFMUState(c, &read) == PL_FMI3_OK);
    fmi3FreeInstance(c);
    fmi3FreeInstance(other);
}

/* Random walks through the legal orders: in each mode any calls that it allows, which change no result. */

static uint64_t draw(uint64_t n);
static int straight; /* no calls but the steps */

static void look(pl_fmi3_instance *c, bool events, pl_fmi3_saved *saved) {
    pl_fmi3_saved read = NULL;
    size_t bytes;
    switch (straight ? 7 : draw(8)) {
    case 0:
        CHECK(fmi3SetDebugLogging(*c, draw(2), 0, NULL) == PL_FMI3_OK);
        break;
    case 1:
        CHECK(fmi3GetFMUState(*c, saved) == PL_FMI3_OK);
        break;
    case 2: /* back to where it stands */
        CHECK(fmi3GetFMUState(*c, saved) == PL_FMI3_OK && fmi3SetFMUState(*c, *saved) == PL_FMI3_OK);
        break;
    case 3:
        CHECK(fmi3FreeFMUState(*c, saved) == PL_FMI3_OK && !*saved);
        break;
    case 4: { /* goes on in another instance */
        pl_fmi3_instance other = steps_of(events, false);
        CHECK(fmi3GetFMUState(*c, saved) == PL_FMI3_OK);
        CHECK(fmi3SerializedFMUStateSize(*c, *saved, &bytes) == PL_FMI3_OK);
        unsigned char *text = malloc(bytes);
        CHECK(fmi3SerializeFMUState(*c, *saved, text, bytes) == PL_FMI3_OK);
        CHECK(fmi3DeserializeFMUState(other, text, bytes, &read) == PL_FMI3_OK);
        free(text);
        CHECK(fmi3SetFMUState(other, read) == PL_FMI3_OK);
        CHECK(fmi3FreeFMUState(*c, saved) == PL_FMI3_OK && fmi3FreeFMUState(other, &read) == PL_FMI3_OK);
        fmi3FreeInstance(*c);
        *c = other;
        break;
    }
    default:
        value(*c);
    }
}

/* What event mode allows; it may be entered at every communication point. */
static void handle(pl_fmi3_instance *c, pl_fmi3_saved *saved) {
    while (draw(3) == 0) look(c, true, saved);
    settle(*c);
    while (draw(3) == 0) look(c, true, saved);
    CHECK(fmi3EnterStepMode(*c) == PL_FMI3_OK);
}

/* Entering event mode where nothing happens may cost accuracy, but no more than the tolerance. */
static double walk(bool events, double end) {
    pl_fmi3_instance c = steps_of(events, false);
    pl_fmi3_saved saved = NULL;
    bool event, terminate, early;
    double reached, found = 0.0;
    for (int round = 0; round < 2;
         round++) { /* the second one after a reset, wherever the first one stopped */
        int last = round || draw(2) ? 200 : (int)draw(200);
        while (draw(3)) look(&c, events, &saved);
        CHECK(fmi3EnterInitializationMode(c, true, 1e-8, 0.0, true, 2.0) == PL_FMI3_OK);
        while (draw(3)) look(&c, events, &saved);
        CHECK(fmi3ExitInitializationMode(c) == PL_FMI3_OK);
        if (events) handle(&c, &saved);
        for (int k = 0; k < last; k++) {
            while (draw(3) == 0) look(&c, events, &saved);
            CHECK(fmi3DoStep(c, 0.01 * k, 0.01, true, &event, &terminate, &early, &reached) == PL_FMI3_OK);
            if (!events || !(event || (!straight && draw(20) == 0))) continue;
            CHECK(fmi3EnterEventMode(c) == PL_FMI3_OK);
            handle(&c, &saved);
        }
        found = value(c);
        CHECK(straight || last < 200 || fabs(found - end) <= (events ? 1e-6 * fabs(end) : 0.0));
        if (draw(2)) CHECK(fmi3Terminate(c) == PL_FMI3_OK);
        while (draw(3)) look(&c, events, &saved);
        CHECK(value(c) == found);
        CHECK(fmi3Reset(c) == PL_FMI3_OK);
    }
    if (saved) CHECK(fmi3FreeFMUState(c, &saved) == PL_FMI3_OK);
    fmi3FreeInstance(c);
    return found;
}

static void walks(int count) {
    straight = 1;
    double plain = walk(false, 0.0), with_events = walk(true, 0.0);
    straight = 0;
    for (int k = 0; k < count; k++) walk(false, plain), walk(true, with_events);
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

static long n_fine;

static void any_call(pl_fmi3_instance c, double *t, pl_fmi3_saved *kept) {
    pl_fmi3_reference r[4], q[4];
    double v[64];
    int32_t whole[8];
    int64_t wide[8];
    bool yes[8];
    pl_fmi3_string text[4] = {"x", "x", "x", "x"};
    float small[4];
    size_t n = draw(4), m = draw(4), count = draw(8) ? n : draw(4), bytes = 0;
    int status = 99;
    for (int k = 0; k < 4; k++) {
        r[k] = (pl_fmi3_reference)draw(draw(2) ? 12 : MOST);
        q[k] = (pl_fmi3_reference)draw(12);
    }
    for (int k = 0; k < 64; k++) v[k] = number();
    for (int k = 0; k < 8; k++) wide[k] = whole[k] = (int)draw(5) - 1, yes[k] = draw(2);
    memset(small, 0, sizeof small);
    switch (draw(40)) {
    case 0:
        status = fmi3SetDebugLogging(c, true, draw(2), OR_NULL(text));
        break;
    case 1:
    case 2:
        status = fmi3EnterInitializationMode(c, draw(2), draw(2) ? 1e-5 : number(), draw(3) ? 0.0 : number(),
                                             false, 0.0);
        break;
    case 3:
    case 4:
        status = fmi3ExitInitializationMode(c);
        if (status == PL_FMI3_OK) *t = 0.0;
        break;
    case 5:
        status = draw(8) ? 99 : (int)fmi3Terminate(c);
        break;
    case 6:
        status = fmi3Reset(c);
        break;
    case 7:
    case 8:
        status = fmi3GetFloat64(c, OR_NULL(r), n, OR_NULL(v), count);
        break;
    case 9:
        status = fmi3GetInt32(c, OR_NULL(r), n, OR_NULL(whole), count);
        break;
    case 10:
        status = fmi3GetInt64(c, OR_NULL(r), n, OR_NULL(wide), count);
        break;
    case 11:
        status = fmi3GetBoolean(c, OR_NULL(r), n, OR_NULL(yes), count);
        break;
    case 12:
        status = fmi3GetString(c, OR_NULL(r), n, OR_NULL(text), count);
        break;
    case 13:
    case 14:
        status = fmi3SetFloat64(c, OR_NULL(r), n, OR_NULL(v), count);
        break;
    case 15:
        status = fmi3SetInt32(c, OR_NULL(r), n, OR_NULL(whole), count);
        break;
    case 16:
        status = fmi3SetInt64(c, OR_NULL(r), n, OR_NULL(wide), count);
        break;
    case 17:
        status = fmi3SetBoolean(c, OR_NULL(r), n, OR_NULL(yes), count);
        break;
    case 18:
        status = fmi3GetFMUState(c, OR_NULL(kept));
        break;
    case 19:
        status = fmi3SetFMUState(c, OR_NULL(*kept));
        break;
    case 20:
        status = fmi3FreeFMUState(c, OR_NULL(kept));
        break;
    case 21:
        status = fmi3SerializedFMUStateSize(c, OR_NULL(*kept), OR_NULL(&bytes));
        break;
    case 22:
        status = fmi3SerializeFMUState(c, OR_NULL(*kept), (unsigned char *)v, draw(sizeof v));
        break;
    case 23:
        status = fmi3DeserializeFMUState(c, OR_NULL((unsigned char *)v), draw(sizeof v), OR_NULL(kept));
        break;
    case 24:
        status =
            fmi3GetDirectionalDerivative(c, OR_NULL(r), n, OR_NULL(q), m, OR_NULL(v), m, OR_NULL(v + 8), n);
        break;
    case 25:
        status = fmi3EnterEventMode(c);
        break;
    case 26:
        status = fmi3UpdateDiscreteStates(c, OR_NULL(yes), yes + 1, yes + 2, yes + 3, OR_NULL(yes + 4),
                                          OR_NULL(v));
        break;
    case 27:
        status = fmi3EnterContinuousTimeMode(c);
        break;
    case 28:
        status = fmi3EnterStepMode(c);
        break;
    case 29:
        status = fmi3CompletedIntegratorStep(c, true, OR_NULL(yes), OR_NULL(yes + 1));
        break;
    case 30:
        status = fmi3SetTime(c, draw(3) ? *t += 0.01 : number());
        break;
    case 31:
        status = fmi3SetContinuousStates(c, OR_NULL(v), draw(6));
        break;
    case 32:
        status = fmi3GetContinuousStateDerivatives(c, OR_NULL(v), draw(6));
        break;
    case 33:
        status = fmi3GetEventIndicators(c, OR_NULL(v), draw(6));
        break;
    case 34:
        status = fmi3GetContinuousStates(c, OR_NULL(v), draw(6));
        break;
    case 35:
        status = fmi3GetNominalsOfContinuousStates(c, OR_NULL(v), draw(6));
        break;
    case 36:
        status = fmi3GetNumberOfContinuousStates(c, OR_NULL(&bytes));
        break;
    case 37:
    case 38: {
        double step = draw(4) ? 0.01 : number(), reached = 0.0;
        if (step > 1.0 && step < HUGE_VAL) step = -step; /* a step of 1e300 is legal, and takes its time */
        status = fmi3DoStep(c, draw(6) ? *t : number(), step, true, OR_NULL(yes), yes + 1, yes + 2,
                            OR_NULL(&reached));
        if (status == PL_FMI3_OK) *t = reached;
        break;
    }
    default: /* what this FMU does not offer */
        status = fmi3EnterConfigurationMode(c);
        CHECK(status == PL_FMI3_ERROR && fmi3ExitConfigurationMode(c) == PL_FMI3_ERROR);
        CHECK(fmi3EvaluateDiscreteStates(c) == PL_FMI3_ERROR);
        CHECK(fmi3ActivateModelPartition(c, 1, 0.0) == PL_FMI3_ERROR);
        CHECK(fmi3GetFloat32(c, r, 1, small, 1) == PL_FMI3_ERROR);
        CHECK(fmi3SetClock(c, r, 1, yes) == PL_FMI3_ERROR);
        CHECK(fmi3GetNumberOfVariableDependencies(c, 1, &bytes) == PL_FMI3_ERROR);
        CHECK(fmi3GetAdjointDerivative(c, r, 1, q, 1, v, 1, v, 1) == PL_FMI3_ERROR);
    }
    CHECK(status == 99 || (status >= PL_FMI3_OK && status <= PL_FMI3_ERROR));
    n_fine += status == PL_FMI3_OK;
}

static pl_fmi3_instance make(int kind) {
    pl_fmi3_instance c = kind == 0
                             ? fmi3InstantiateModelExchange("one", token, NULL, false, false, NULL, quiet)
                         : kind == 1 ? steps_of(false, false)
                                     : steps_of(true, false);
    CHECK(c);
    return c;
}

static void random_calls(long calls) {
    pl_fmi3_instance c[6];
    double t[6] = {0};
    pl_fmi3_saved kept[6] = {NULL};
    for (int k = 0; k < 6; k++) c[k] = make(k % 3);
    for (long k = 0; k < calls; k++) {
        int i = (int)draw(6);
        if (draw(200) == 0) {
            fmi3FreeFMUState(c[i], &kept[i]);
            fmi3FreeInstance(c[i]);
            c[i] = make(i % 3);
            t[i] = 0.0;
        }
        any_call(draw(100) ? c[i] : NULL, &t[i], &kept[i]);
    }
    for (int k = 0; k < 6; k++) {
        fmi3FreeFMUState(c[k], &kept[k]);
        fmi3FreeInstance(c[k]);
    }
    CHECK(n_fine > calls / 100);
}

int main(int count, char **word) {
    if (count < 3) return 2;
    token = word[1];
    CHECK(!fmi3InstantiateModelExchange(NULL, token, NULL, false, false, NULL, quiet));
    CHECK(!fmi3InstantiateModelExchange("one", NULL, NULL, false, false, NULL, NULL));
    CHECK(!fmi3InstantiateModelExchange("one", "another", NULL, false, false, NULL, quiet));
    CHECK(
        !fmi3InstantiateScheduledExecution("one", token, NULL, false, false, NULL, quiet, NULL, NULL, NULL));
    if (count > 4) seed = strtoull(word[4], NULL, 10) * 2 + 1;
    if (!strcmp(word[2], "legal")) legal(), walks(3);
    if (!strcmp(word[2], "random")) random_calls(count > 3 ? atol(word[3]) : 10000);
    printf("fine\n");
    return 0;
}
