/* The functions of FMI 3.0, and the order in which they may be called. A call that is out of order, or has wrong arguments, returns
 * an error, says why, and changes nothing. All variables are scalars.
 */
#include "pl_export.h"
#include "pl_fmi3.h"

#include <limits.h>
#include <math.h>
#include <string.h>

PL_FMI3_EXPORTS

#define READABLE (PL_MADE | PL_STARTING | PL_RUNNING | PL_OVER)
#define SETTABLE (PL_MADE | PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_STEPPING)
#define ANY      (READABLE | PL_BROKEN)

/* The instance, where the call is allowed. */
#define ENTER(modes)                                                                                         \
    pl_exported_instance *c = instance;                                                                      \
    if (!c || !pl_exported_allowed(c, modes, __func__)) return PL_FMI3_ERROR
#define ENTER_EXCHANGE(modes)                                                                                \
    ENTER(modes);                                                                                            \
    if (c->steps) return wrong_kind(c, __func__)
#define ENTER_STEPS(modes)                                                                                   \
    ENTER(modes);                                                                                            \
    if (!c->steps) return wrong_kind(c, __func__)
#define NEEDS(pointer, count)                                                                                \
    if ((count) > 0 && !(pointer)) return missing(c, __func__)

static pl_fmi3_status wrong_kind(pl_exported_instance *c, const char *function) {
    return (pl_fmi3_status)pl_exported_say(c, PL_ERROR, "%s is a function of %s", function,
                                           c->steps ? "model exchange" : "co-simulation");
}

static pl_fmi3_status missing(pl_exported_instance *c, const char *function) {
    return (pl_fmi3_status)pl_exported_say(c, PL_ERROR, "%s was called with a null pointer", function);
}

static pl_fmi3_status wrong_count(pl_exported_instance *c, const char *function, int is) {
    return (pl_fmi3_status)pl_exported_say(
        c, PL_ERROR, "%s was called with a wrong size: there are %d values", function, is);
}

static pl_fmi3_status not_offered(pl_exported_instance *c, const char *function) {
    return (pl_fmi3_status)pl_exported_say(c, PL_ERROR, "%s is not offered by this FMU", function);
}

/* ----------------------------------------------------------------------------- creation, initialisation */

const char *fmi3GetVersion(void) {
    return PL_FMI3_VERSION;
}

static void say(const pl_exported_instance *c, int status, const char *category, const char *text) {
    pl_fmi3_log_fn log;
    memcpy(&log, &c->logger, sizeof log);
    if (log) log(c->environment, (pl_fmi3_status)status, category, text);
}

static pl_exported_instance *make(pl_fmi3_string name, pl_fmi3_string token, int steps, int logging,
                                  pl_fmi3_environment environment, pl_fmi3_log_fn log) {
    void *logger;
    memcpy(&logger, &log, sizeof logger);
    if (!name) return NULL;
    pl_exported_instance *c = pl_exported_new(name, token, steps, say, NULL, environment, logger);
    if (c) c->logging = logging;
    return c;
}

pl_fmi3_instance fmi3InstantiateModelExchange(pl_fmi3_string name, pl_fmi3_string token,
                                              pl_fmi3_string resources_path, pl_fmi3_boolean visible,
                                              pl_fmi3_boolean logging_on, pl_fmi3_environment environment,
                                              pl_fmi3_log_fn log) {
    (void)resources_path, (void)visible;
    return make(name, token, 0, logging_on, environment, log);
}

pl_fmi3_instance fmi3InstantiateCoSimulation(
    pl_fmi3_string name, pl_fmi3_string token, pl_fmi3_string resources_path, pl_fmi3_boolean visible,
    pl_fmi3_boolean logging_on, pl_fmi3_boolean event_mode_used, pl_fmi3_boolean early_return_allowed,
    const pl_fmi3_reference intermediate_variables[], size_t intermediate_count,
    pl_fmi3_environment environment, pl_fmi3_log_fn log, pl_fmi3_intermediate_update_fn intermediate_update) {
    (void)resources_path, (void)visible, (void)intermediate_variables, (void)intermediate_count;
    pl_exported_instance *c = make(name, token, 1, logging_on, environment, log);
    if (!c) return NULL;
    c->events_wanted = event_mode_used && c->table->model;
    c->early_allowed = early_return_allowed;
    if (c->table->model) memcpy(&c->update, &intermediate_update, sizeof c->update);
    return c;
}

pl_fmi3_instance fmi3InstantiateScheduledExecution(pl_fmi3_string name, pl_fmi3_string token,
                                                   pl_fmi3_string resources_path, pl_fmi3_boolean visible,
                                                   pl_fmi3_boolean logging_on,
                                                   pl_fmi3_environment environment, pl_fmi3_log_fn log,
                                                   pl_fmi3_clock_update_fn clock_update,
                                                   pl_fmi3_lock_preemption_fn lock,
                                                   pl_fmi3_unlock_preemption_fn unlock) {
    (void)name, (void)token, (void)resources_path, (void)visible, (void)logging_on;
    (void)clock_update, (void)lock, (void)unlock;
    if (log)
        log(environment, PL_FMI3_ERROR, "logStatusError", "scheduled execution is not offered by this FMU");
    return NULL;
}

void fmi3FreeInstance(pl_fmi3_instance instance) {
    pl_exported_free(instance);
}

pl_fmi3_status fmi3SetDebugLogging(pl_fmi3_instance instance, pl_fmi3_boolean on, size_t count,
                                   const pl_fmi3_string categories[]) {
    ENTER(ANY);
    NEEDS(categories, count);
    c->logging = on;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3EnterInitializationMode(pl_fmi3_instance instance, pl_fmi3_boolean tolerance_defined,
                                           pl_fmi3_float64 tolerance, pl_fmi3_float64 start,
                                           pl_fmi3_boolean stop_defined, pl_fmi3_float64 stop) {
    ENTER(PL_MADE);
    int status = pl_exported_setup(c, tolerance_defined, tolerance, start, stop_defined, stop);
    if (status == PL_FINE) c->now.mode = PL_STARTING;
    return (pl_fmi3_status)status;
}

pl_fmi3_status fmi3ExitInitializationMode(pl_fmi3_instance instance) {
    ENTER(PL_STARTING);
    return (pl_fmi3_status)pl_exported_exit_start(c);
}

pl_fmi3_status fmi3EnterEventMode(pl_fmi3_instance instance) {
    ENTER(PL_CONTINUOUS | PL_STEPPING);
    if (c->steps && !c->events_wanted)
        return (pl_fmi3_status)pl_exported_say(
            c, PL_ERROR, "%s: the instance was made without the use of event mode", __func__);
    c->now.mode = PL_IN_EVENTS;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3Terminate(pl_fmi3_instance instance) {
    ENTER(PL_IN_EVENTS | PL_CONTINUOUS | PL_STEPPING);
    return (pl_fmi3_status)pl_exported_end(c);
}

pl_fmi3_status fmi3Reset(pl_fmi3_instance instance) {
    ENTER(ANY & ~PL_BETWEEN);
    pl_exported_reset(c);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3EnterConfigurationMode(pl_fmi3_instance instance) {
    ENTER(ANY);
    return not_offered(c, __func__); /* there are no structural parameters */
}

pl_fmi3_status fmi3ExitConfigurationMode(pl_fmi3_instance instance) {
    ENTER(ANY);
    return not_offered(c, __func__);
}

/* --------------------------------------------------------------------------------------------- values */

static pl_fmi3_status get(pl_exported_instance *c, int type, const pl_fmi3_reference *reference, size_t k,
                          pl_real *value) {
    return (pl_fmi3_status)pl_exported_get(c, reference[k], type, value);
}

static pl_fmi3_status whole(pl_exported_instance *c, pl_real value, pl_real most) {
    if (value >= -most - 1.0 && value <= most) return PL_FMI3_OK;
    return (pl_fmi3_status)pl_exported_say(c, PL_ERROR, "a value of %g is too large for its type", value);
}

/* A getter and a setter: values of `type` as numbers of the kind `number`, at most `most`. */
#define ACCESS(Name, name, number, type, most)                                                               \
    pl_fmi3_status fmi3Get##Name(pl_fmi3_instance instance, const pl_fmi3_reference references[],            \
                                 size_t count, number values[], size_t value_count) {                        \
        ENTER(READABLE);                                                                                     \
        if (value_count != count) return wrong_count(c, __func__, (int)count);                               \
        NEEDS(references, count);                                                                            \
        NEEDS(values, count);                                                                                \
        for (size_t k = 0; k < count; k++) {                                                                 \
            pl_real value = 0.0;                                                                             \
            pl_fmi3_status status = get(c, type, references, k, &value);                                     \
            if (status == PL_FMI3_OK && (type) != PL_TYPE_REAL) status = whole(c, value, most);              \
            if (status != PL_FMI3_OK) return status;                                                         \
            values[k] = (number)value;                                                                       \
        }                                                                                                    \
        return PL_FMI3_OK;                                                                                   \
    }                                                                                                        \
    pl_fmi3_status fmi3Set##Name(pl_fmi3_instance instance, const pl_fmi3_reference references[],            \
                                 size_t count, const number values[], size_t value_count) {                  \
        ENTER(SETTABLE);                                                                                     \
        if (value_count != count) return wrong_count(c, __func__, (int)count);                               \
        NEEDS(references, count);                                                                            \
        NEEDS(values, count);                                                                                \
        pl_fmi3_status status = PL_FMI3_OK;                                                                  \
        for (size_t k = 0; k < count && status <= PL_FMI3_WARNING; k++) {                                    \
            pl_fmi3_status one =                                                                             \
                (pl_fmi3_status)pl_exported_set(c, references[k], type, (pl_real)values[k]);                 \
            if (one > status) status = one;                                                                  \
        }                                                                                                    \
        return status;                                                                                       \
    }

ACCESS(Float64, float64, pl_fmi3_float64, PL_TYPE_REAL, 0.0)
ACCESS(Int32, int32, pl_fmi3_int32, PL_TYPE_INTEGER, 2147483647.0)
ACCESS(Int64, int64, pl_fmi3_int64, PL_TYPE_ENUMERATION, 9e15)
ACCESS(Boolean, boolean, pl_fmi3_boolean, PL_TYPE_BOOLEAN, 1.0)

static pl_fmi3_status no_such_type(pl_exported_instance *c, const char *function, size_t count) {
    if (count == 0) return PL_FMI3_OK;
    return (pl_fmi3_status)pl_exported_say(c, PL_ERROR, "%s: this FMU has no variables of that type",
                                           function);
}

#define NO_ACCESS(Name, number)                                                                              \
    pl_fmi3_status fmi3Get##Name(pl_fmi3_instance instance, const pl_fmi3_reference references[],            \
                                 size_t count, number values[], size_t value_count) {                        \
        ENTER(READABLE);                                                                                     \
        (void)references, (void)values;                                                                      \
        return no_such_type(c, __func__, count + value_count);                                               \
    }                                                                                                        \
    pl_fmi3_status fmi3Set##Name(pl_fmi3_instance instance, const pl_fmi3_reference references[],            \
                                 size_t count, const number values[], size_t value_count) {                  \
        ENTER(SETTABLE);                                                                                     \
        (void)references, (void)values;                                                                      \
        return no_such_type(c, __func__, count + value_count);                                               \
    }

NO_ACCESS(Float32, pl_fmi3_float32)
NO_ACCESS(Int8, pl_fmi3_int8)
NO_ACCESS(UInt8, pl_fmi3_uint8)
NO_ACCESS(Int16, pl_fmi3_int16)
NO_ACCESS(UInt16, pl_fmi3_uint16)
NO_ACCESS(UInt32, pl_fmi3_uint32)
NO_ACCESS(UInt64, pl_fmi3_uint64)
NO_ACCESS(String, pl_fmi3_string)

pl_fmi3_status fmi3GetBinary(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                             size_t sizes[], pl_fmi3_binary values[], size_t value_count) {
    ENTER(READABLE);
    (void)references, (void)sizes, (void)values;
    return no_such_type(c, __func__, count + value_count);
}

pl_fmi3_status fmi3SetBinary(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                             const size_t sizes[], const pl_fmi3_binary values[], size_t value_count) {
    ENTER(SETTABLE);
    (void)references, (void)sizes, (void)values;
    return no_such_type(c, __func__, count + value_count);
}

pl_fmi3_status fmi3GetClock(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                            pl_fmi3_clock values[]) {
    ENTER(READABLE);
    (void)references, (void)values;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3SetClock(pl_fmi3_instance instance, const pl_fmi3_reference references[], size_t count,
                            const pl_fmi3_clock values[]) {
    ENTER(SETTABLE);
    (void)references, (void)values;
    return no_such_type(c, __func__, count);
}

/* ----------------------------------------------------------------------------- clocks: there are none */

pl_fmi3_status fmi3GetIntervalDecimal(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                      size_t count, pl_fmi3_float64 intervals[],
                                      pl_fmi3_interval_qualifier qualifiers[]) {
    ENTER(READABLE);
    (void)references, (void)intervals, (void)qualifiers;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3GetIntervalFraction(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                       size_t count, pl_fmi3_uint64 counters[], pl_fmi3_uint64 resolutions[],
                                       pl_fmi3_interval_qualifier qualifiers[]) {
    ENTER(READABLE);
    (void)references, (void)counters, (void)resolutions, (void)qualifiers;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3GetShiftDecimal(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                   size_t count, pl_fmi3_float64 shifts[]) {
    ENTER(READABLE);
    (void)references, (void)shifts;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3GetShiftFraction(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                    size_t count, pl_fmi3_uint64 counters[], pl_fmi3_uint64 resolutions[]) {
    ENTER(READABLE);
    (void)references, (void)counters, (void)resolutions;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3SetIntervalDecimal(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                      size_t count, const pl_fmi3_float64 intervals[]) {
    ENTER(SETTABLE);
    (void)references, (void)intervals;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3SetIntervalFraction(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                       size_t count, const pl_fmi3_uint64 counters[],
                                       const pl_fmi3_uint64 resolutions[]) {
    ENTER(SETTABLE);
    (void)references, (void)counters, (void)resolutions;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3SetShiftDecimal(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                   size_t count, const pl_fmi3_float64 shifts[]) {
    ENTER(SETTABLE);
    (void)references, (void)shifts;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3SetShiftFraction(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                    size_t count, const pl_fmi3_uint64 counters[],
                                    const pl_fmi3_uint64 resolutions[]) {
    ENTER(SETTABLE);
    (void)references, (void)counters, (void)resolutions;
    return no_such_type(c, __func__, count);
}

pl_fmi3_status fmi3ActivateModelPartition(pl_fmi3_instance instance, pl_fmi3_reference clock,
                                          pl_fmi3_float64 time) {
    ENTER(ANY);
    (void)clock, (void)time;
    return not_offered(c, __func__);
}

/* ------------------------------------------------------------------------------- state and derivatives */

pl_fmi3_status fmi3GetNumberOfVariableDependencies(pl_fmi3_instance instance, pl_fmi3_reference reference,
                                                   size_t *count) {
    ENTER(READABLE);
    (void)reference, (void)count;
    return not_offered(c, __func__);
}

pl_fmi3_status fmi3GetVariableDependencies(pl_fmi3_instance instance, pl_fmi3_reference dependent,
                                           size_t dependent_elements[], pl_fmi3_reference independents[],
                                           size_t independent_elements[], pl_fmi3_dependency_kind kinds[],
                                           size_t count) {
    ENTER(READABLE);
    (void)dependent, (void)dependent_elements, (void)independents, (void)independent_elements, (void)kinds;
    (void)count;
    return not_offered(c, __func__);
}

pl_fmi3_status fmi3GetFMUState(pl_fmi3_instance instance, pl_fmi3_saved *state) {
    ENTER(READABLE & ~PL_BETWEEN);
    NEEDS(state, 1);
    return (pl_fmi3_status)pl_exported_save(c, state);
}

pl_fmi3_status fmi3SetFMUState(pl_fmi3_instance instance, pl_fmi3_saved state) {
    ENTER(ANY & ~PL_BETWEEN);
    NEEDS(state, 1);
    return (pl_fmi3_status)pl_exported_restore(c, state);
}

pl_fmi3_status fmi3FreeFMUState(pl_fmi3_instance instance, pl_fmi3_saved *state) {
    ENTER(ANY);
    if (state) pl_exported_forget(state);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3SerializedFMUStateSize(pl_fmi3_instance instance, pl_fmi3_saved state, size_t *size) {
    ENTER(ANY);
    NEEDS(state, 1);
    NEEDS(size, 1);
    *size = pl_exported_bytes(state);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3SerializeFMUState(pl_fmi3_instance instance, pl_fmi3_saved state, pl_fmi3_byte bytes[],
                                     size_t size) {
    ENTER(ANY);
    NEEDS(state, 1);
    NEEDS(bytes, 1);
    return (pl_fmi3_status)pl_exported_serialise(c, state, bytes, size);
}

pl_fmi3_status fmi3DeserializeFMUState(pl_fmi3_instance instance, const pl_fmi3_byte bytes[], size_t size,
                                       pl_fmi3_saved *state) {
    ENTER(ANY);
    NEEDS(bytes, 1);
    NEEDS(state, 1);
    return (pl_fmi3_status)pl_exported_deserialise(c, bytes, size, state);
}

pl_fmi3_status fmi3GetDirectionalDerivative(pl_fmi3_instance instance, const pl_fmi3_reference unknowns[],
                                            size_t unknown_count, const pl_fmi3_reference knowns[],
                                            size_t known_count, const pl_fmi3_float64 seed[],
                                            size_t seed_count, pl_fmi3_float64 product[],
                                            size_t product_count) {
    ENTER(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_STEPPING | PL_OVER);
    if (seed_count != known_count) return wrong_count(c, __func__, (int)known_count);
    if (product_count != unknown_count) return wrong_count(c, __func__, (int)unknown_count);
    NEEDS(unknowns, unknown_count);
    NEEDS(product, unknown_count);
    NEEDS(knowns, known_count);
    NEEDS(seed, known_count);
    return (pl_fmi3_status)pl_exported_along(c, unknowns, unknown_count, knowns, known_count, seed, product);
}

pl_fmi3_status fmi3GetAdjointDerivative(pl_fmi3_instance instance, const pl_fmi3_reference unknowns[],
                                        size_t unknown_count, const pl_fmi3_reference knowns[],
                                        size_t known_count, const pl_fmi3_float64 seed[], size_t seed_count,
                                        pl_fmi3_float64 product[], size_t product_count) {
    ENTER(READABLE);
    (void)unknowns, (void)unknown_count, (void)knowns, (void)known_count, (void)seed, (void)seed_count;
    (void)product, (void)product_count;
    return not_offered(c, __func__);
}

/* ---------------------------------------------------------------------------------------------- events */

pl_fmi3_status fmi3EvaluateDiscreteStates(pl_fmi3_instance instance) {
    ENTER(PL_STARTING | PL_IN_EVENTS);
    return not_offered(c, __func__);
}

static int events_of_steps(pl_exported_instance *c, pl_event_info *info) {
    memset(info, 0, sizeof *info);
    int status = c->now.p_new ? pl_exported_parameters(c) : PL_FINE;
    /* what the inputs are is known to the next step, which corrects its history; only events need a restart */
    int idle = c->sim->run && !c->sim->run->held && !c->table->model->event;
    if (status == PL_FINE && !idle) status = pl_exported_settle(c);
    info->terminate = c->now.ended;
    info->next_time = HUGE_VAL;
    if (status == PL_FINE && c->sim->run) info->next_time = fmin(c->sim->run->next_time, c->sim->run->t_turn);
    return status;
}

pl_fmi3_status fmi3UpdateDiscreteStates(pl_fmi3_instance instance, pl_fmi3_boolean *again,
                                        pl_fmi3_boolean *terminate, pl_fmi3_boolean *nominals_changed,
                                        pl_fmi3_boolean *states_changed, pl_fmi3_boolean *next_defined,
                                        pl_fmi3_float64 *next_time) {
    ENTER(PL_IN_EVENTS);
    NEEDS(again, 1);
    NEEDS(terminate, 1);
    NEEDS(nominals_changed, 1);
    NEEDS(states_changed, 1);
    NEEDS(next_defined, 1);
    NEEDS(next_time, 1);
    pl_event_info found;
    int status = c->steps ? events_of_steps(c, &found) : pl_exported_event(c, &found);
    if (status != PL_FINE) return (pl_fmi3_status)status;
    *again = false; /* it has come to rest */
    *terminate = found.terminate != 0;
    *nominals_changed = found.nominal_changed != 0;
    *states_changed = found.x_changed != 0;
    *next_defined = found.next_time < HUGE_VAL;
    *next_time = *next_defined ? found.next_time : 0.0;
    return PL_FMI3_OK;
}

/* -------------------------------------------------------------------------------------- model exchange */

pl_fmi3_status fmi3EnterContinuousTimeMode(pl_fmi3_instance instance) {
    ENTER_EXCHANGE(PL_IN_EVENTS);
    c->now.mode = PL_CONTINUOUS;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3CompletedIntegratorStep(pl_fmi3_instance instance,
                                           pl_fmi3_boolean no_return_before_this_point,
                                           pl_fmi3_boolean *enter_event_mode, pl_fmi3_boolean *terminate) {
    ENTER_EXCHANGE(PL_CONTINUOUS);
    NEEDS(enter_event_mode, 1);
    NEEDS(terminate, 1);
    (void)no_return_before_this_point;
    int event = 0, end = 0;
    int status = pl_exported_completed(c, &event, &end);
    *enter_event_mode = event != 0;
    *terminate = end != 0;
    return (pl_fmi3_status)status;
}

pl_fmi3_status fmi3SetTime(pl_fmi3_instance instance, pl_fmi3_float64 time) {
    ENTER_EXCHANGE(PL_IN_EVENTS | PL_CONTINUOUS);
    return (pl_fmi3_status)pl_exported_set_time(c, time);
}

pl_fmi3_status fmi3SetContinuousStates(pl_fmi3_instance instance, const pl_fmi3_float64 states[],
                                       size_t count) {
    ENTER_EXCHANGE(PL_CONTINUOUS);
    NEEDS(states, count);
    return (pl_fmi3_status)pl_exported_set_states(c, states, count);
}

/* Start values, where the simulation has not begun. */
static int begun(pl_exported_instance *c) {
    return c->now.mode == PL_STARTING ? pl_exported_solve(c) : PL_FINE;
}

pl_fmi3_status fmi3GetContinuousStateDerivatives(pl_fmi3_instance instance, pl_fmi3_float64 values[],
                                                 size_t count) {
    ENTER_EXCHANGE(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->n_states) return wrong_count(c, __func__, c->n_states);
    int status = begun(c);
    if (status == PL_FINE) status = pl_exported_slopes(c);
    if (status == PL_FINE && count > 0) memcpy(values, c->slope, count * sizeof(pl_real));
    return (pl_fmi3_status)status;
}

pl_fmi3_status fmi3GetEventIndicators(pl_fmi3_instance instance, pl_fmi3_float64 values[], size_t count) {
    ENTER_EXCHANGE(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->table->n_indicators) return wrong_count(c, __func__, c->table->n_indicators);
    int status = begun(c);
    if (status == PL_FINE) status = pl_exported_roots(c);
    for (size_t k = 0; status == PL_FINE && k < count; k++) values[k] = c->roots[c->table->indicator[k]];
    return (pl_fmi3_status)status;
}

pl_fmi3_status fmi3GetContinuousStates(pl_fmi3_instance instance, pl_fmi3_float64 values[], size_t count) {
    ENTER_EXCHANGE(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->n_states) return wrong_count(c, __func__, c->n_states);
    int status = begun(c);
    if (status == PL_FINE && count > 0) memcpy(values, c->x, count * sizeof(pl_real));
    return (pl_fmi3_status)status;
}

pl_fmi3_status fmi3GetNominalsOfContinuousStates(pl_fmi3_instance instance, pl_fmi3_float64 values[],
                                                 size_t count) {
    ENTER_EXCHANGE(PL_MADE | PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->n_states) return wrong_count(c, __func__, c->n_states);
    return (pl_fmi3_status)pl_exported_nominals(c, values);
}

pl_fmi3_status fmi3GetNumberOfEventIndicators(pl_fmi3_instance instance, size_t *count) {
    ENTER_EXCHANGE(READABLE);
    NEEDS(count, 1);
    *count = (size_t)c->table->n_indicators;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3GetNumberOfContinuousStates(pl_fmi3_instance instance, size_t *count) {
    ENTER_EXCHANGE(READABLE);
    NEEDS(count, 1);
    *count = (size_t)c->n_states;
    return PL_FMI3_OK;
}

/* --------------------------------------------------------------------------------------- co-simulation */

pl_fmi3_status fmi3EnterStepMode(pl_fmi3_instance instance) {
    ENTER_STEPS(PL_IN_EVENTS);
    c->now.mode = PL_STEPPING;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3GetOutputDerivatives(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                        size_t count, const pl_fmi3_int32 orders[], pl_fmi3_float64 values[],
                                        size_t value_count) {
    ENTER_STEPS(PL_STEPPING | PL_BETWEEN | PL_OVER);
    (void)references, (void)orders, (void)values, (void)value_count;
    return count == 0 ? PL_FMI3_OK : not_offered(c, __func__);
}

/* After a step of the solver: the importer may read, and may want to have it back. */
static int between(pl_exported_instance *c, pl_real t) {
    pl_fmi3_intermediate_update_fn update;
    pl_fmi3_boolean early = false;
    pl_fmi3_float64 when = t;
    memcpy(&update, &c->update, sizeof update);
    update(c->environment, t, false, true, true, c->early_allowed, &early, &when);
    return early && c->early_allowed;
}

pl_fmi3_status fmi3DoStep(pl_fmi3_instance instance, pl_fmi3_float64 time, pl_fmi3_float64 step,
                          pl_fmi3_boolean no_return_before_this_point, pl_fmi3_boolean *event_needed,
                          pl_fmi3_boolean *terminate, pl_fmi3_boolean *early_return,
                          pl_fmi3_float64 *reached) {
    ENTER_STEPS(PL_STEPPING);
    NEEDS(event_needed, 1);
    NEEDS(terminate, 1);
    NEEDS(early_return, 1);
    NEEDS(reached, 1);
    (void)no_return_before_this_point;
    pl_export_step done;
    int status = pl_exported_step(c, time, step, c->update ? between : NULL, &done);
    *event_needed = c->events_wanted && done.event;
    *terminate = done.terminate != 0;
    *early_return = done.early != 0;
    *reached = done.reached;
    return (pl_fmi3_status)status;
}
