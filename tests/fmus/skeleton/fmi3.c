/* The shell of FMI 3.0. */
#include "fmu.h"
#include "hostile.h"
#include "pl_fmi3.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PL_FMI3_EXPORTS

#define ANY       (INSTANTIATED | CONFIGURATION | INITIALISATION | EVENT | CONTINUOUS | STEP | TERMINATED)
#define EVALUATED (INITIALISATION | EVENT | CONTINUOUS)
#define READ      (INSTANTIATED | EVALUATED | STEP | TERMINATED | INTERMEDIATE)
#define ENTER(call, modes)                                                                                   \
    fmu *m = instance;                                                                                       \
    if (STRICT && !fmu_may(m, call, modes)) return PL_FMI3_ERROR

/* ------------------------------------------------------------------------------------------------ creation */

static void say(fmu *m, int status, const char *category, const char *text) {
    ((pl_fmi3_log_fn)m->callback)(m->environment, (pl_fmi3_status)status, category, text);
}

static bool update(fmu *m, double time, double *stop) {
    bool early = false;
    int before = m->mode;
    m->mode = INTERMEDIATE;
    m->written = false;
    ((pl_fmi3_intermediate_update_fn)m->update_callback)(m->environment, time, true, true, true,
                                                         m->early_allowed, &early, stop);
    m->mode = before;
    m->written = false;
    return early;
}

const char *fmi3GetVersion(void) {
    return PL_FMI3_VERSION;
}

static int instantiated(fmu *m, const char *resources) {
    HOSTILE(PHASE_INSTANTIATE);
    return model.instantiated ? model.instantiated(m, resources) : FMU_OK;
}

static fmu *create(const char *name, const char *token, const char *resources, bool co_simulation,
                   void *environment, pl_fmi3_log_fn log) {
    fmu *m = calloc(1, fmu_size());
    if (fmu_new(m, name, token, co_simulation) == NULL) {
        if (log) log(environment, PL_FMI3_ERROR, "logStatusError", "wrong instantiation token");
        free(m);
        return NULL;
    }
    m->environment = environment;
    m->callback = (void (*)(void))log;
    m->log = log ? say : NULL;
    m->release = free;
    if (instantiated(m, resources) != FMU_OK) {
        free(m);
        return NULL;
    }
    return m;
}

#ifndef NO_MODEL_EXCHANGE
pl_fmi3_instance fmi3InstantiateModelExchange(pl_fmi3_string name, pl_fmi3_string token,
                                              pl_fmi3_string resources, pl_fmi3_boolean visible,
                                              pl_fmi3_boolean logging_on, pl_fmi3_environment environment,
                                              pl_fmi3_log_fn log) {
    (void)visible;
    fmu *m = create(name, token, resources, false, environment, log);
    if (m) m->logging = logging_on;
    return m;
}
#endif

#ifndef NO_CO_SIMULATION
pl_fmi3_instance fmi3InstantiateCoSimulation(
    pl_fmi3_string name, pl_fmi3_string token, pl_fmi3_string resources, pl_fmi3_boolean visible,
    pl_fmi3_boolean logging_on, pl_fmi3_boolean event_mode_used, pl_fmi3_boolean early_return_allowed,
    const pl_fmi3_reference intermediate[], size_t intermediate_count, pl_fmi3_environment environment,
    pl_fmi3_log_fn log, pl_fmi3_intermediate_update_fn intermediate_update) {
    (void)visible;
    if (STRICT && intermediate_count > 0 && intermediate == NULL) return NULL;
    fmu *m = create(name, token, resources, true, environment, log);
    if (m == NULL) return NULL;
    m->logging = logging_on;
    m->events_used = event_mode_used;
    m->early_allowed = early_return_allowed;
    m->update_callback = (void (*)(void))intermediate_update;
    m->update = intermediate_update ? update : NULL;
    return m;
}
#endif

static int freed(fmu *m) {
    HOSTILE(PHASE_FREE);
    return FMU_OK;
}

void fmi3FreeInstance(pl_fmi3_instance instance) {
    fmu *m = instance;
    if (m == NULL) return;
    if (STRICT) (void)fmu_may(m, "fmi3FreeInstance", -1);
    (void)freed(m);
    m->magic = 0;
    free(m);
}

pl_fmi3_status fmi3SetDebugLogging(pl_fmi3_instance instance, pl_fmi3_boolean on, size_t count,
                                   const pl_fmi3_string categories[]) {
    ENTER("fmi3SetDebugLogging", ANY);
    if (!fmu_true(m, count == 0 || categories != NULL, "fmi3SetDebugLogging", "no categories"))
        return PL_FMI3_ERROR;
    m->logging = on;
    return PL_FMI3_OK;
}

/* ------------------------------------------------------------------------------------------ initialisation */

static int enter_initialisation(fmu *m, double start, bool stop_defined, double stop) {
    const char *call = "fmi3EnterInitializationMode";
    HOSTILE(PHASE_ENTER_INITIALISATION);
    HOSTILE(PHASE_SETUP);
    if (!fmu_true(m, isfinite(start), call, "the start time is not finite")) return FMU_ERROR;
    if (!fmu_true(m, !stop_defined || stop > start, call, "the stop time is not after the start"))
        return FMU_ERROR;
    m->time = m->start = start;
    m->stop_defined = stop_defined;
    m->stop = stop;
    m->mode = INITIALISATION;
    return FMU_OK;
}

pl_fmi3_status fmi3EnterInitializationMode(pl_fmi3_instance instance, pl_fmi3_boolean tolerance_defined,
                                           pl_fmi3_float64 tolerance, pl_fmi3_float64 start,
                                           pl_fmi3_boolean stop_defined, pl_fmi3_float64 stop) {
    ENTER("fmi3EnterInitializationMode", INSTANTIATED);
    if (!fmu_true(m, !tolerance_defined || tolerance > 0.0, "fmi3EnterInitializationMode",
                  "the tolerance is not positive")) {
        return PL_FMI3_ERROR;
    }
    return enter_initialisation(m, start, stop_defined, stop);
}

pl_fmi3_status fmi3ExitInitializationMode(pl_fmi3_instance instance) {
    ENTER("fmi3ExitInitializationMode", INITIALISATION);
    return fmu_exit_initialisation(m);
}

static int terminate(fmu *m) {
    HOSTILE(PHASE_TERMINATE);
    m->mode = TERMINATED;
    return FMU_OK;
}

pl_fmi3_status fmi3Terminate(pl_fmi3_instance instance) {
    ENTER("fmi3Terminate", EVENT | CONTINUOUS | STEP);
    return terminate(m);
}

pl_fmi3_status fmi3Reset(pl_fmi3_instance instance) {
    ENTER("fmi3Reset", ANY);
    fmu_reset(m);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3EnterConfigurationMode(pl_fmi3_instance instance) {
    ENTER("fmi3EnterConfigurationMode", INSTANTIATED);
    bool structural = false;
    for (size_t i = 0; i < model.variable_count; i++) structural |= model.variables[i].role == STRUCTURAL;
    if (!fmu_true(m, structural, "fmi3EnterConfigurationMode", "there are no structural parameters")) {
        return PL_FMI3_ERROR;
    }
    m->mode = CONFIGURATION;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3ExitConfigurationMode(pl_fmi3_instance instance) {
    ENTER("fmi3ExitConfigurationMode", CONFIGURATION);
    m->mode = INSTANTIATED;
    return PL_FMI3_OK;
}

/* -------------------------------------------------------------------------------------------------- values */

static bool sized(fmu *m, const char *call, const uint32_t *references, size_t count, const void *values,
                  size_t value_count) {
    size_t needed = 0;
    if (!fmu_true(m, count == 0 || (references != NULL && values != NULL), call, "a null pointer"))
        return false;
    for (size_t i = 0; i < count; i++)
        needed += references[i] < model.variable_count ? fmu_count(m, references[i]) : 1;
    if (needed != value_count) fmu_say(m, FMU_ERROR, "%s: %zu values, not %zu", call, value_count, needed);
    return needed == value_count;
}

#define ACCESS(name, value, kind)                                                                            \
    pl_fmi3_status fmi3Get##name(pl_fmi3_instance instance, const pl_fmi3_reference references[],            \
                                 size_t count, value values[], size_t value_count) {                         \
        ENTER("fmi3Get" #name, READ);                                                                        \
        if (!sized(m, "fmi3Get" #name, references, count, values, value_count)) return PL_FMI3_ERROR;        \
        int status = m->mode == INSTANTIATED ? FMU_OK : fmu_refresh(m);                                      \
        for (size_t i = 0; i < count && status <= FMU_WARNING; i++) {                                        \
            const value *found = fmu_value(m, "fmi3Get" #name, references[i], kind(references[i]));          \
            if (!found || !fmu_readable(m, "fmi3Get" #name, references[i], 3)) return PL_FMI3_ERROR;         \
            for (size_t k = fmu_count(m, references[i]); k > 0; k--) *values++ = *found++;                   \
        }                                                                                                    \
        return status;                                                                                       \
    }                                                                                                        \
    pl_fmi3_status fmi3Set##name(pl_fmi3_instance instance, const pl_fmi3_reference references[],            \
                                 size_t count, const value values[], size_t value_count) {                   \
        ENTER("fmi3Set" #name, ANY | INTERMEDIATE);                                                          \
        if (!sized(m, "fmi3Set" #name, references, count, values, value_count)) return PL_FMI3_ERROR;        \
        for (size_t i = 0; i < count; i++) {                                                                 \
            value *found = fmu_value(m, "fmi3Set" #name, references[i], kind(references[i]));                \
            if (!found || !fmu_settable(m, "fmi3Set" #name, references[i], 3)) return PL_FMI3_ERROR;         \
            for (size_t k = fmu_count(m, references[i]); k > 0; k--) *found++ = *values++;                   \
        }                                                                                                    \
        return PL_FMI3_OK;                                                                                   \
    }

#define IS_FLOAT32(r) ((void)(r), FLOAT32)
#define IS_FLOAT64(r) ((void)(r), FLOAT64)
#define IS_INT8(r)    ((void)(r), INT8)
#define IS_UINT8(r)   ((void)(r), UINT8)
#define IS_INT16(r)   ((void)(r), INT16)
#define IS_UINT16(r)  ((void)(r), UINT16)
#define IS_INT32(r)   ((void)(r), INT32)
#define IS_UINT32(r)  ((void)(r), UINT32)
#define IS_UINT64(r)  ((void)(r), UINT64)
#define IS_BOOLEAN(r) ((void)(r), BOOLEAN)
/* Enumerations are read and written as Int64. */
#define IS_INT64(r)                                                                                          \
    ((r) < model.variable_count && model.variables[r].type == ENUMERATION ? ENUMERATION : INT64)

ACCESS(Float64, pl_fmi3_float64, IS_FLOAT64)
ACCESS(UInt64, pl_fmi3_uint64, IS_UINT64)
#ifndef MINIMAL
ACCESS(Float32, pl_fmi3_float32, IS_FLOAT32)
ACCESS(Int8, pl_fmi3_int8, IS_INT8)
ACCESS(UInt8, pl_fmi3_uint8, IS_UINT8)
ACCESS(Int16, pl_fmi3_int16, IS_INT16)
ACCESS(UInt16, pl_fmi3_uint16, IS_UINT16)
ACCESS(Int32, pl_fmi3_int32, IS_INT32)
ACCESS(UInt32, pl_fmi3_uint32, IS_UINT32)
ACCESS(Int64, pl_fmi3_int64, IS_INT64)
ACCESS(Boolean, pl_fmi3_boolean, IS_BOOLEAN)

pl_fmi3_status fmi3GetString(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                             pl_fmi3_string values[], size_t value_count) {
    ENTER("fmi3GetString", READ);
    if (!sized(m, "fmi3GetString", references, count, values, value_count)) return PL_FMI3_ERROR;
    int status = m->mode == INSTANTIATED ? FMU_OK : fmu_refresh(m);
    for (size_t i = 0; i < count && status <= FMU_WARNING; i++) {
        fmu_text *found = fmu_value(m, "fmi3GetString", references[i], STRING);
        if (!found || !fmu_readable(m, "fmi3GetString", references[i], 3)) return PL_FMI3_ERROR;
        values[i] = found->text;
    }
    return status;
}

pl_fmi3_status fmi3SetString(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                             const pl_fmi3_string values[], size_t value_count) {
    ENTER("fmi3SetString", ANY);
    if (!sized(m, "fmi3SetString", references, count, values, value_count)) return PL_FMI3_ERROR;
    for (size_t i = 0; i < count; i++) {
        fmu_text *found = fmu_value(m, "fmi3SetString", references[i], STRING);
        if (!found || !fmu_settable(m, "fmi3SetString", references[i], 3)) return PL_FMI3_ERROR;
        snprintf(found->text, sizeof found->text, "%s", values[i]);
    }
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3GetBinary(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                             size_t sizes[], pl_fmi3_binary values[], size_t value_count) {
    ENTER("fmi3GetBinary", READ);
    if (!sized(m, "fmi3GetBinary", references, count, values, value_count)) return PL_FMI3_ERROR;
    int status = m->mode == INSTANTIATED ? FMU_OK : fmu_refresh(m);
    for (size_t i = 0; i < count && status <= FMU_WARNING; i++) {
        fmu_bytes *found = fmu_value(m, "fmi3GetBinary", references[i], BINARY);
        if (!found || !fmu_readable(m, "fmi3GetBinary", references[i], 3)) return PL_FMI3_ERROR;
        values[i] = found->bytes;
        sizes[i] = found->size;
    }
    return status;
}

pl_fmi3_status fmi3SetBinary(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                             const size_t sizes[], const pl_fmi3_binary values[], size_t value_count) {
    ENTER("fmi3SetBinary", ANY);
    if (!sized(m, "fmi3SetBinary", references, count, values, value_count)) return PL_FMI3_ERROR;
    for (size_t i = 0; i < count; i++) {
        fmu_bytes *found = fmu_value(m, "fmi3SetBinary", references[i], BINARY);
        if (!found || !fmu_settable(m, "fmi3SetBinary", references[i], 3) || sizes[i] > TEXT_SIZE)
            return PL_FMI3_ERROR;
        found->size = sizes[i];
        memcpy(found->bytes, values[i], sizes[i]);
    }
    return PL_FMI3_OK;
}

/* -------------------------------------------------------------------------- complete states, derivatives */

pl_fmi3_status fmi3GetFMUState(pl_fmi3_instance instance, pl_fmi3_saved *state) {
    ENTER("fmi3GetFMUState", ANY);
    if (*state == NULL) *state = malloc(fmu_size());
    memcpy(*state, m, fmu_size());
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3SetFMUState(pl_fmi3_instance instance, pl_fmi3_saved state) {
    ENTER("fmi3SetFMUState", ANY);
    if (!fmu_true(m, state != NULL, "fmi3SetFMUState", "a null pointer")) return PL_FMI3_ERROR;
    memcpy(m, state, fmu_size());
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3FreeFMUState(pl_fmi3_instance instance, pl_fmi3_saved *state) {
    ENTER("fmi3FreeFMUState", ANY);
    (void)m;
    free(*state);
    *state = NULL;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3SerializedFMUStateSize(pl_fmi3_instance instance, pl_fmi3_saved state, size_t *size) {
    ENTER("fmi3SerializedFMUStateSize", ANY);
    (void)m, (void)state;
    *size = fmu_size();
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3SerializeFMUState(pl_fmi3_instance instance, pl_fmi3_saved state, pl_fmi3_byte bytes[],
                                     size_t size) {
    ENTER("fmi3SerializeFMUState", ANY);
    if (!fmu_true(m, size == fmu_size(), "fmi3SerializeFMUState", "wrong size")) return PL_FMI3_ERROR;
    memcpy(bytes, state, size);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3DeserializeFMUState(pl_fmi3_instance instance, const pl_fmi3_byte bytes[], size_t size,
                                       pl_fmi3_saved *state) {
    ENTER("fmi3DeserializeFMUState", ANY);
    if (!fmu_true(m, size == fmu_size(), "fmi3DeserializeFMUState", "wrong size")) return PL_FMI3_ERROR;
    if (*state == NULL) *state = malloc(size);
    memcpy(*state, bytes, size);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3GetDirectionalDerivative(pl_fmi3_instance instance, const pl_fmi3_reference unknowns[],
                                            size_t unknown_count, const pl_fmi3_reference knowns[],
                                            size_t known_count, const pl_fmi3_float64 seed[],
                                            size_t seed_count, pl_fmi3_float64 product[],
                                            size_t product_count) {
    ENTER("fmi3GetDirectionalDerivative", EVALUATED | STEP | TERMINATED);
    if (!fmu_true(m, seed_count == known_count && product_count == unknown_count,
                  "fmi3GetDirectionalDerivative", "wrong number of elements")) {
        return PL_FMI3_ERROR;
    }
    return fmu_directional(m, "fmi3GetDirectionalDerivative", unknowns, unknown_count, knowns, known_count,
                           seed, product);
}
#endif
