/* The shell of FMI 2.0. */
#include "fmu.h"
#include "hostile.h"
#include "pl_fmi2.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PL_FMI2_EXPORTS

#define ANY       (INSTANTIATED | INITIALISATION | EVENT | CONTINUOUS | STEP | TERMINATED)
#define EVALUATED (INITIALISATION | EVENT | CONTINUOUS | TERMINATED)
#define READ      (EVALUATED | STEP)
#define ENTER(call, modes)                                                                                   \
    fmu *m = c;                                                                                              \
    if (STRICT && !fmu_may(m, call, modes)) return PL_FMI2_ERROR

/* ------------------------------------------------------------------------------------------------ creation */

static void say(fmu *m, int status, const char *category, const char *text) {
    ((pl_fmi2_log_fn)m->callback)(m->environment, m->name, (pl_fmi2_status)status, category, "%s", text);
}

const char *fmi2GetTypesPlatform(void) {
    return PL_FMI2_PLATFORM;
}

const char *fmi2GetVersion(void) {
    return PL_FMI2_VERSION;
}

/* The resources of FMI 2 are named by a URI; models get a path. */
static void path_of(const char *uri, char *path, size_t size) {
    size_t n = 0;
    if (uri != NULL && strncmp(uri, "file:", 5) == 0) uri += 5;
    if (uri != NULL && strncmp(uri, "//", 2) == 0) uri = strchr(uri + 2, '/');
    for (; uri != NULL && *uri && n + 1 < size; uri++) {
        unsigned code;
        if (*uri == '%' && sscanf(uri + 1, "%2x", &code) == 1) {
            path[n++] = (char)code;
            uri += 2;
        } else {
            path[n++] = *uri;
        }
    }
    path[n] = 0;
}

static int instantiated(fmu *m, const char *resources) {
    HOSTILE(PHASE_INSTANTIATE);
    return model.instantiated ? model.instantiated(m, resources) : FMU_OK;
}

pl_fmi2_component fmi2Instantiate(pl_fmi2_string name, pl_fmi2_kind kind, pl_fmi2_string guid,
                                  pl_fmi2_string resources, const pl_fmi2_callbacks *callbacks,
                                  pl_fmi2_boolean visible, pl_fmi2_boolean logging_on) {
    char path[4096];
    (void)visible;
    if (callbacks == NULL || callbacks->allocate == NULL || callbacks->release == NULL) return NULL;
    fmu *m = callbacks->allocate(1, fmu_size());
    if (STRICT && m != NULL) { /* the standard asks for zeros */
        for (size_t i = 0; i < fmu_size(); i++) {
            if (((char *)m)[i] != 0) return NULL;
        }
    }
    if (fmu_new(m, name, guid, kind == PL_FMI2_CO_SIMULATION_KIND) == NULL) {
        if (callbacks->log) {
            callbacks->log(callbacks->environment, name ? name : "?", PL_FMI2_ERROR, "logStatusError",
                           "wrong GUID %s", guid ? guid : "NULL");
        }
        callbacks->release(m);
        return NULL;
    }
    m->environment = callbacks->environment;
    m->callback = (void (*)(void))callbacks->log;
    m->log = callbacks->log ? say : NULL;
    m->release = callbacks->release;
    m->logging = logging_on;
    path_of(resources, path, sizeof path);
    if (instantiated(m, path) != FMU_OK) {
        callbacks->release(m);
        return NULL;
    }
    return m;
}

static int freed(fmu *m) {
    HOSTILE(PHASE_FREE);
    return FMU_OK;
}

void fmi2FreeInstance(pl_fmi2_component c) {
    fmu *m = c;
    if (m == NULL) return;
    if (STRICT) (void)fmu_may(m, "fmi2FreeInstance", -1);
    (void)freed(m);
    void (*release)(void *) = m->release;
    m->magic = 0;
    release(m);
}

pl_fmi2_status fmi2SetDebugLogging(pl_fmi2_component c, pl_fmi2_boolean on, size_t count,
                                   const pl_fmi2_string categories[]) {
    ENTER("fmi2SetDebugLogging", ANY);
    if (!fmu_true(m, count == 0 || categories != NULL, "fmi2SetDebugLogging", "no categories"))
        return PL_FMI2_ERROR;
    m->logging = on;
    return PL_FMI2_OK;
}

/* ------------------------------------------------------------------------------------------ initialisation */

static int set_up(fmu *m, double start, bool stop_defined, double stop) {
    HOSTILE(PHASE_SETUP);
    if (!fmu_true(m, isfinite(start), "fmi2SetupExperiment", "the start time is not finite"))
        return FMU_ERROR;
    if (!fmu_true(m, !stop_defined || stop > start, "fmi2SetupExperiment",
                  "the stop time is not after the start")) {
        return FMU_ERROR;
    }
    m->time = m->start = start;
    m->stop_defined = stop_defined;
    m->stop = stop;
    m->set_up = true;
    return FMU_OK;
}

pl_fmi2_status fmi2SetupExperiment(pl_fmi2_component c, pl_fmi2_boolean tolerance_defined,
                                   pl_fmi2_real tolerance, pl_fmi2_real start, pl_fmi2_boolean stop_defined,
                                   pl_fmi2_real stop) {
    ENTER("fmi2SetupExperiment", INSTANTIATED);
    if (!fmu_true(m, !tolerance_defined || tolerance > 0.0, "fmi2SetupExperiment",
                  "the tolerance is not positive")) {
        return PL_FMI2_ERROR;
    }
    return set_up(m, start, stop_defined, stop);
}

static int enter_initialisation(fmu *m) {
    HOSTILE(PHASE_ENTER_INITIALISATION);
    if (!fmu_true(m, m->set_up, "fmi2EnterInitializationMode", "fmi2SetupExperiment was not called"))
        return FMU_ERROR;
    m->mode = INITIALISATION;
    return FMU_OK;
}

pl_fmi2_status fmi2EnterInitializationMode(pl_fmi2_component c) {
    ENTER("fmi2EnterInitializationMode", INSTANTIATED);
    return enter_initialisation(m);
}

pl_fmi2_status fmi2ExitInitializationMode(pl_fmi2_component c) {
    ENTER("fmi2ExitInitializationMode", INITIALISATION);
    return fmu_exit_initialisation(m);
}

static int terminate(fmu *m) {
    HOSTILE(PHASE_TERMINATE);
    m->mode = TERMINATED;
    return FMU_OK;
}

pl_fmi2_status fmi2Terminate(pl_fmi2_component c) {
    ENTER("fmi2Terminate", EVENT | CONTINUOUS | STEP);
    return terminate(m);
}

pl_fmi2_status fmi2Reset(pl_fmi2_component c) {
    ENTER("fmi2Reset", ANY);
    fmu_reset(m);
    return PL_FMI2_OK;
}

/* -------------------------------------------------------------------------------------------------- values */

#define CHECK_ARRAYS(call)                                                                                   \
    if (!fmu_true(m, count == 0 || (references != NULL && values != NULL), call, "a null pointer")) {        \
        return PL_FMI2_ERROR;                                                                                \
    }

#define GETTER(symbol, result, convert)                                                                      \
    pl_fmi2_status symbol(pl_fmi2_component c, const pl_fmi2_reference references[], size_t count,           \
                          result values[]) {                                                                 \
        ENTER(#symbol, READ);                                                                                \
        CHECK_ARRAYS(#symbol)                                                                                \
        int status = fmu_refresh(m);                                                                         \
        for (size_t i = 0; i < count && status <= FMU_WARNING; i++) {                                        \
            if (!convert(m, #symbol, references[i], &values[i])) return PL_FMI2_ERROR;                       \
            if (!fmu_readable(m, #symbol, references[i], 2)) return PL_FMI2_ERROR;                           \
        }                                                                                                    \
        return status;                                                                                       \
    }

#define SETTER(symbol, given, convert)                                                                       \
    pl_fmi2_status symbol(pl_fmi2_component c, const pl_fmi2_reference references[], size_t count,           \
                          const given values[]) {                                                            \
        ENTER(#symbol, ANY & ~TERMINATED);                                                                   \
        CHECK_ARRAYS(#symbol)                                                                                \
        for (size_t i = 0; i < count; i++) {                                                                 \
            if (!convert(m, #symbol, references[i], &values[i])) return PL_FMI2_ERROR;                       \
            if (!fmu_settable(m, #symbol, references[i], 2)) return PL_FMI2_ERROR;                           \
        }                                                                                                    \
        return PL_FMI2_OK;                                                                                   \
    }

static bool read_real(fmu *m, const char *call, uint32_t reference, double *value) {
    const double *found = fmu_value(m, call, reference, FLOAT64);
    if (found) *value = *found;
    return found != NULL;
}

static bool write_real(fmu *m, const char *call, uint32_t reference, const double *value) {
    double *found = fmu_value(m, call, reference, FLOAT64);
    if (found) *found = *value;
    return found != NULL;
}

GETTER(fmi2GetReal, pl_fmi2_real, read_real)
SETTER(fmi2SetReal, pl_fmi2_real, write_real)

#ifndef MINIMAL
static bool is_enumeration(uint32_t reference) {
    return reference < model.variable_count && model.variables[reference].type == ENUMERATION;
}

static bool read_integer(fmu *m, const char *call, uint32_t reference, int *value) {
    if (is_enumeration(reference)) {
        *value = (int)*(const int64_t *)fmu_value(m, call, reference, ENUMERATION);
        return true;
    }
    const int32_t *found = fmu_value(m, call, reference, INT32);
    if (found) *value = *found;
    return found != NULL;
}

static bool write_integer(fmu *m, const char *call, uint32_t reference, const int *value) {
    if (is_enumeration(reference)) {
        *(int64_t *)fmu_value(m, call, reference, ENUMERATION) = *value;
        return true;
    }
    int32_t *found = fmu_value(m, call, reference, INT32);
    if (found) *found = *value;
    return found != NULL;
}

static bool read_boolean(fmu *m, const char *call, uint32_t reference, int *value) {
    const bool *found = fmu_value(m, call, reference, BOOLEAN);
    if (found) *value = *found;
    return found != NULL;
}

static bool write_boolean(fmu *m, const char *call, uint32_t reference, const int *value) {
    bool *found = fmu_value(m, call, reference, BOOLEAN);
    if (!fmu_true(m, *value == 0 || *value == 1, call, "a Boolean is neither 0 nor 1")) return false;
    if (found) *found = *value != 0;
    return found != NULL;
}

static bool read_string(fmu *m, const char *call, uint32_t reference, pl_fmi2_string *value) {
    fmu_text *found = fmu_value(m, call, reference, STRING);
    if (found) *value = found->text;
    return found != NULL;
}

static bool write_string(fmu *m, const char *call, uint32_t reference, const pl_fmi2_string *value) {
    fmu_text *found = fmu_value(m, call, reference, STRING);
    if (found) snprintf(found->text, sizeof found->text, "%s", *value ? *value : "");
    return found != NULL;
}

GETTER(fmi2GetInteger, pl_fmi2_integer, read_integer)
GETTER(fmi2GetBoolean, pl_fmi2_boolean, read_boolean)
GETTER(fmi2GetString, pl_fmi2_string, read_string)
SETTER(fmi2SetInteger, pl_fmi2_integer, write_integer)
SETTER(fmi2SetBoolean, pl_fmi2_boolean, write_boolean)
SETTER(fmi2SetString, pl_fmi2_string, write_string)

/* -------------------------------------------------------------------------- complete states, derivatives */

pl_fmi2_status fmi2GetFMUstate(pl_fmi2_component c, pl_fmi2_saved *state) {
    ENTER("fmi2GetFMUstate", ANY);
    if (!fmu_true(m, state != NULL, "fmi2GetFMUstate", "a null pointer")) return PL_FMI2_ERROR;
    if (*state == NULL) *state = malloc(fmu_size());
    memcpy(*state, m, fmu_size());
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2SetFMUstate(pl_fmi2_component c, pl_fmi2_saved state) {
    ENTER("fmi2SetFMUstate", ANY);
    if (!fmu_true(m, state != NULL, "fmi2SetFMUstate", "a null pointer")) return PL_FMI2_ERROR;
    memcpy(m, state, fmu_size());
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2FreeFMUstate(pl_fmi2_component c, pl_fmi2_saved *state) {
    ENTER("fmi2FreeFMUstate", ANY);
    (void)m;
    if (state) free(*state);
    if (state) *state = NULL;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2SerializedFMUstateSize(pl_fmi2_component c, pl_fmi2_saved state, size_t *size) {
    ENTER("fmi2SerializedFMUstateSize", ANY);
    (void)m, (void)state;
    *size = fmu_size();
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2SerializeFMUstate(pl_fmi2_component c, pl_fmi2_saved state, pl_fmi2_byte bytes[],
                                     size_t size) {
    ENTER("fmi2SerializeFMUstate", ANY);
    if (!fmu_true(m, size == fmu_size(), "fmi2SerializeFMUstate", "wrong size")) return PL_FMI2_ERROR;
    memcpy(bytes, state, size);
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2DeSerializeFMUstate(pl_fmi2_component c, const pl_fmi2_byte bytes[], size_t size,
                                       pl_fmi2_saved *state) {
    ENTER("fmi2DeSerializeFMUstate", ANY);
    if (!fmu_true(m, size == fmu_size(), "fmi2DeSerializeFMUstate", "wrong size")) return PL_FMI2_ERROR;
    if (*state == NULL) *state = malloc(size);
    memcpy(*state, bytes, size);
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetDirectionalDerivative(pl_fmi2_component c, const pl_fmi2_reference unknowns[],
                                            size_t unknown_count, const pl_fmi2_reference knowns[],
                                            size_t known_count, const pl_fmi2_real seed[],
                                            pl_fmi2_real product[]) {
    ENTER("fmi2GetDirectionalDerivative", READ);
    return fmu_directional(m, "fmi2GetDirectionalDerivative", unknowns, unknown_count, knowns, known_count,
                           seed, product);
}
#endif

/* ------------------------------------------------------------------------------------------ model exchange */

#ifndef NO_MODEL_EXCHANGE
#define SIZED(call, have, need)                                                                              \
    if (!fmu_true(m, (have) == (need), call, "wrong number of elements")) return PL_FMI2_ERROR

pl_fmi2_status fmi2EnterEventMode(pl_fmi2_component c) {
    ENTER("fmi2EnterEventMode", CONTINUOUS);
    return fmu_begin_event(m, "fmi2EnterEventMode");
}

pl_fmi2_status fmi2NewDiscreteStates(pl_fmi2_component c, pl_fmi2_event_info *info) {
    fmu_event event = {0};
    ENTER("fmi2NewDiscreteStates", EVENT);
    int status = fmu_update(m, &event);
    info->again = event.again;
    info->terminate = event.terminate;
    info->nominals_changed = event.nominals_changed;
    info->states_changed = event.states_changed;
    info->next_defined = event.next_defined;
    info->next_time = event.next;
    return status;
}

pl_fmi2_status fmi2EnterContinuousTimeMode(pl_fmi2_component c) {
    ENTER("fmi2EnterContinuousTimeMode", EVENT);
    if (!fmu_true(m, m->updated, "fmi2EnterContinuousTimeMode", "the event iteration is not finished")) {
        return PL_FMI2_ERROR;
    }
    m->mode = CONTINUOUS;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2CompletedIntegratorStep(pl_fmi2_component c, pl_fmi2_boolean no_return,
                                           pl_fmi2_boolean *enter_event_mode,
                                           pl_fmi2_boolean *terminate_now) {
    bool event = false, end = false;
    ENTER("fmi2CompletedIntegratorStep", CONTINUOUS);
    (void)no_return;
    int status = fmu_completed(m, &event, &end);
    *enter_event_mode = event;
    *terminate_now = end;
    return status;
}

pl_fmi2_status fmi2SetTime(pl_fmi2_component c, pl_fmi2_real time) {
    ENTER("fmi2SetTime", EVENT | CONTINUOUS);
    return fmu_set_time(m, "fmi2SetTime", time);
}

pl_fmi2_status fmi2SetContinuousStates(pl_fmi2_component c, const pl_fmi2_real states[], size_t count) {
    ENTER("fmi2SetContinuousStates", CONTINUOUS);
    SIZED("fmi2SetContinuousStates", count, fmu_states(m));
    memcpy(m->data, states, count * sizeof *states);
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetDerivatives(pl_fmi2_component c, pl_fmi2_real derivatives[], size_t count) {
    ENTER("fmi2GetDerivatives", EVALUATED);
    SIZED("fmi2GetDerivatives", count, fmu_states(m));
    return fmu_derivatives(m, derivatives);
}

pl_fmi2_status fmi2GetEventIndicators(pl_fmi2_component c, pl_fmi2_real indicators[], size_t count) {
    ENTER("fmi2GetEventIndicators", EVALUATED);
    SIZED("fmi2GetEventIndicators", count, model.indicator_count);
    return fmu_indicators(m, indicators);
}

pl_fmi2_status fmi2GetContinuousStates(pl_fmi2_component c, pl_fmi2_real states[], size_t count) {
    ENTER("fmi2GetContinuousStates", EVALUATED);
    SIZED("fmi2GetContinuousStates", count, fmu_states(m));
    memcpy(states, m->data, count * sizeof *states);
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetNominalsOfContinuousStates(pl_fmi2_component c, pl_fmi2_real nominals[], size_t count) {
    ENTER("fmi2GetNominalsOfContinuousStates", INSTANTIATED | EVALUATED);
    SIZED("fmi2GetNominalsOfContinuousStates", count, fmu_states(m));
    return fmu_nominals(m, nominals);
}
#endif

/* ------------------------------------------------------------------------------------------- co-simulation */

#ifndef NO_CO_SIMULATION
pl_fmi2_status fmi2DoStep(pl_fmi2_component c, pl_fmi2_real time, pl_fmi2_real step,
                          pl_fmi2_boolean no_return) {
    fmu_stepped stepped = {0};
    ENTER("fmi2DoStep", STEP);
    (void)no_return;
    int status = fmu_step(m, "fmi2DoStep", time, step, &stepped);
    m->terminated = stepped.terminate;
    if (status <= FMU_WARNING && stepped.terminate) status = FMU_DISCARD; /* the FMU asks for the end */
    return status;
}

#ifndef MINIMAL
pl_fmi2_status fmi2SetRealInputDerivatives(pl_fmi2_component c, const pl_fmi2_reference references[],
                                           size_t count, const pl_fmi2_integer orders[],
                                           const pl_fmi2_real values[]) {
    ENTER("fmi2SetRealInputDerivatives", STEP | INITIALISATION);
    CHECK_ARRAYS("fmi2SetRealInputDerivatives")
    for (size_t i = 0; i < count; i++) {
        bool known = references[i] < model.variable_count && references[i] < VARIABLES &&
                     model.variables[references[i]].role == INPUT;
        if (!known || orders[i] < 1 || orders[i] > ORDERS) {
            fmu_say(m, FMU_ERROR, "fmi2SetRealInputDerivatives: no input, or an order that is not offered");
            return PL_FMI2_ERROR;
        }
        m->slopes[references[i]][orders[i] - 1] = values[i];
    }
    m->slopes_used = m->written = true;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetRealOutputDerivatives(pl_fmi2_component c, const pl_fmi2_reference references[],
                                            size_t count, const pl_fmi2_integer orders[],
                                            pl_fmi2_real values[]) {
    ENTER("fmi2GetRealOutputDerivatives", STEP | TERMINATED);
    CHECK_ARRAYS("fmi2GetRealOutputDerivatives")
    for (size_t i = 0; i < count; i++) { /* an output is its first state, where this is called at all */
        double derivatives[32] = {0};
        int status = fmu_derivatives(m, derivatives);
        if (status > FMU_WARNING || orders[i] != 1) return PL_FMI2_ERROR;
        values[i] = derivatives[0];
    }
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2CancelStep(pl_fmi2_component c) {
    ENTER("fmi2CancelStep", 0);
    return m ? PL_FMI2_ERROR : PL_FMI2_FATAL;
}

pl_fmi2_status fmi2GetStatus(pl_fmi2_component c, pl_fmi2_status_kind kind, pl_fmi2_status *value) {
    ENTER("fmi2GetStatus", STEP | TERMINATED);
    (void)m, (void)kind;
    *value = PL_FMI2_OK;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetRealStatus(pl_fmi2_component c, pl_fmi2_status_kind kind, pl_fmi2_real *value) {
    ENTER("fmi2GetRealStatus", STEP | TERMINATED);
    *value = m->time;
    return kind == PL_FMI2_LAST_SUCCESSFUL_TIME ? PL_FMI2_OK : PL_FMI2_DISCARD;
}

pl_fmi2_status fmi2GetIntegerStatus(pl_fmi2_component c, pl_fmi2_status_kind kind, pl_fmi2_integer *value) {
    (void)c, (void)kind, (void)value;
    return PL_FMI2_DISCARD;
}

pl_fmi2_status fmi2GetBooleanStatus(pl_fmi2_component c, pl_fmi2_status_kind kind, pl_fmi2_boolean *value) {
    ENTER("fmi2GetBooleanStatus", STEP | TERMINATED);
    *value = m->terminated;
    return kind == PL_FMI2_TERMINATED ? PL_FMI2_OK : PL_FMI2_DISCARD;
}

pl_fmi2_status fmi2GetStringStatus(pl_fmi2_component c, pl_fmi2_status_kind kind, pl_fmi2_string *value) {
    (void)c, (void)kind, (void)value;
    return PL_FMI2_DISCARD;
}
#endif
#endif
