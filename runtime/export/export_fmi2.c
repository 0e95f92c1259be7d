/* The functions of FMI 2.0, and the order in which they may be called. A call that is out of order, or has wrong arguments, returns
 * an error, says why, and changes nothing.
 */
#include "pl_export.h"
#include "pl_fmi2.h"

#include <limits.h>
#include <math.h>
#include <string.h>

PL_FMI2_EXPORTS

#define READABLE (PL_MADE | PL_STARTING | PL_RUNNING | PL_OVER)
#define ANY      (READABLE | PL_BROKEN)

/* The instance, where the call is allowed. */
#define ENTER(modes)                                                                                         \
    pl_exported_instance *c = instance;                                                                      \
    if (!c || !pl_exported_allowed(c, modes, __func__)) return PL_FMI2_ERROR
#define ENTER_EXCHANGE(modes)                                                                                \
    ENTER(modes);                                                                                            \
    if (c->steps) return wrong_kind(c, __func__)
#define ENTER_STEPS(modes)                                                                                   \
    ENTER(modes);                                                                                            \
    if (!c->steps) return wrong_kind(c, __func__)
#define NEEDS(pointer, count)                                                                                \
    if ((count) > 0 && !(pointer)) return missing(c, __func__)

static pl_fmi2_status wrong_kind(pl_exported_instance *c, const char *function) {
    return (pl_fmi2_status)pl_exported_say(c, PL_ERROR, "%s is a function of %s", function,
                                           c->steps ? "model exchange" : "co-simulation");
}

static pl_fmi2_status missing(pl_exported_instance *c, const char *function) {
    return (pl_fmi2_status)pl_exported_say(c, PL_ERROR, "%s was called with a null pointer", function);
}

static pl_fmi2_status wrong_count(pl_exported_instance *c, const char *function, int is) {
    return (pl_fmi2_status)pl_exported_say(
        c, PL_ERROR, "%s was called with a wrong size: there are %d values", function, is);
}

/* ----------------------------------------------------------------------------- creation, initialisation */

const char *fmi2GetTypesPlatform(void) {
    return PL_FMI2_PLATFORM;
}

const char *fmi2GetVersion(void) {
    return PL_FMI2_VERSION;
}

static void say(const pl_exported_instance *c, int status, const char *category, const char *text) {
    const pl_fmi2_callbacks *callbacks = c->callbacks;
    char format[2 * sizeof c->text]; /* importers that cannot read the arguments of a format see the text */
    size_t n = 0;
    for (; *text && n + 2 < sizeof format; text++) {
        if (*text == '%') format[n++] = '%';
        format[n++] = *text;
    }
    format[n] = 0;
    if (callbacks && callbacks->log)
        callbacks->log(callbacks->environment, c->name, (pl_fmi2_status)status, category, format);
}

pl_fmi2_component fmi2Instantiate(pl_fmi2_string name, pl_fmi2_kind kind, pl_fmi2_string guid,
                                  pl_fmi2_string resources_uri, const pl_fmi2_callbacks *callbacks,
                                  pl_fmi2_boolean visible, pl_fmi2_boolean logging_on) {
    (void)resources_uri, (void)visible;
    if (!name || !callbacks) return NULL;
    if (kind != PL_FMI2_MODEL_EXCHANGE_KIND && kind != PL_FMI2_CO_SIMULATION_KIND) return NULL;
    pl_exported_instance *c =
        pl_exported_new(name, guid, kind == PL_FMI2_CO_SIMULATION_KIND, say, callbacks, NULL, NULL);
    if (c) c->logging = logging_on != 0;
    return c;
}

void fmi2FreeInstance(pl_fmi2_component instance) {
    pl_exported_free(instance);
}

pl_fmi2_status fmi2SetDebugLogging(pl_fmi2_component instance, pl_fmi2_boolean on, size_t count,
                                   const pl_fmi2_string categories[]) {
    ENTER(ANY);
    NEEDS(categories, count);
    c->logging = on != 0;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2SetupExperiment(pl_fmi2_component instance, pl_fmi2_boolean tolerance_defined,
                                   pl_fmi2_real tolerance, pl_fmi2_real start, pl_fmi2_boolean stop_defined,
                                   pl_fmi2_real stop) {
    ENTER(PL_MADE);
    return (pl_fmi2_status)pl_exported_setup(c, tolerance_defined, tolerance, start, stop_defined, stop);
}

pl_fmi2_status fmi2EnterInitializationMode(pl_fmi2_component instance) {
    ENTER(PL_MADE);
    if (!c->now.set_up)
        return (pl_fmi2_status)pl_exported_say(c, PL_ERROR, "fmi2SetupExperiment has to be called before %s",
                                               __func__);
    c->now.mode = PL_STARTING;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2ExitInitializationMode(pl_fmi2_component instance) {
    ENTER(PL_STARTING);
    return (pl_fmi2_status)pl_exported_exit_start(c);
}

pl_fmi2_status fmi2Terminate(pl_fmi2_component instance) {
    ENTER(PL_IN_EVENTS | PL_CONTINUOUS | PL_STEPPING);
    return (pl_fmi2_status)pl_exported_end(c);
}

pl_fmi2_status fmi2Reset(pl_fmi2_component instance) {
    ENTER(ANY);
    pl_exported_reset(c);
    return PL_FMI2_OK;
}

/* --------------------------------------------------------------------------------------------- values */

static pl_fmi2_status get(pl_exported_instance *c, pl_fmi2_reference reference, int type, pl_real *value) {
    return (pl_fmi2_status)pl_exported_get(c, reference, type, value);
}

static pl_fmi2_status worse(pl_fmi2_status one, pl_fmi2_status other) {
    return one > other ? one : other;
}

static pl_fmi2_status set(pl_exported_instance *c, pl_fmi2_reference reference, int type, pl_real value) {
    return (pl_fmi2_status)pl_exported_set(c, reference, type, value);
}

#define SETTABLE (PL_MADE | PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_STEPPING)

pl_fmi2_status fmi2GetReal(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                           pl_fmi2_real values[]) {
    ENTER(READABLE);
    NEEDS(references, count);
    NEEDS(values, count);
    pl_fmi2_status status = PL_FMI2_OK;
    for (size_t k = 0; k < count && status == PL_FMI2_OK; k++)
        status = get(c, references[k], PL_TYPE_REAL, values + k);
    return status;
}

static pl_fmi2_status get_whole(pl_exported_instance *c, int type, const pl_fmi2_reference references[],
                                size_t count, int values[]) {
    for (size_t k = 0; k < count; k++) {
        pl_real value = 0.0;
        pl_fmi2_status status = get(c, references[k], type, &value);
        if (status != PL_FMI2_OK) return status;
        if (!(value >= (pl_real)INT_MIN && value <= (pl_real)INT_MAX))
            return (pl_fmi2_status)pl_exported_say(c, PL_ERROR, "a value of %g is too large for an Integer",
                                                   value);
        values[k] = (int)value;
    }
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetInteger(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                              pl_fmi2_integer values[]) {
    ENTER(READABLE);
    NEEDS(references, count);
    NEEDS(values, count);
    return get_whole(c, PL_TYPE_INTEGER, references, count, values);
}

pl_fmi2_status fmi2GetBoolean(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                              pl_fmi2_boolean values[]) {
    ENTER(READABLE);
    NEEDS(references, count);
    NEEDS(values, count);
    return get_whole(c, PL_TYPE_BOOLEAN, references, count, values);
}

static pl_fmi2_status no_strings(pl_exported_instance *c, size_t count) {
    if (count == 0) return PL_FMI2_OK;
    return (pl_fmi2_status)pl_exported_say(c, PL_ERROR, "this FMU has no variables of type String");
}

pl_fmi2_status fmi2GetString(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                             pl_fmi2_string values[]) {
    ENTER(READABLE);
    (void)references, (void)values;
    return no_strings(c, count);
}

pl_fmi2_status fmi2SetString(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                             const pl_fmi2_string values[]) {
    ENTER(SETTABLE);
    (void)references, (void)values;
    return no_strings(c, count);
}

pl_fmi2_status fmi2SetReal(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                           const pl_fmi2_real values[]) {
    ENTER(SETTABLE);
    NEEDS(references, count);
    NEEDS(values, count);
    pl_fmi2_status status = PL_FMI2_OK;
    for (size_t k = 0; k < count && status <= PL_FMI2_WARNING; k++)
        status = worse(status, set(c, references[k], PL_TYPE_REAL, values[k]));
    return status;
}

static pl_fmi2_status set_whole(pl_exported_instance *c, int type, const pl_fmi2_reference references[],
                                size_t count, const int values[]) {
    pl_fmi2_status status = PL_FMI2_OK;
    for (size_t k = 0; k < count && status <= PL_FMI2_WARNING; k++)
        status = worse(status, set(c, references[k], type, (pl_real)values[k]));
    return status;
}

pl_fmi2_status fmi2SetInteger(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                              const pl_fmi2_integer values[]) {
    ENTER(SETTABLE);
    NEEDS(references, count);
    NEEDS(values, count);
    return set_whole(c, PL_TYPE_INTEGER, references, count, values);
}

pl_fmi2_status fmi2SetBoolean(pl_fmi2_component instance, const pl_fmi2_reference references[], size_t count,
                              const pl_fmi2_boolean values[]) {
    ENTER(SETTABLE);
    NEEDS(references, count);
    NEEDS(values, count);
    return set_whole(c, PL_TYPE_BOOLEAN, references, count, values);
}

/* ------------------------------------------------------------------------------- state and derivatives */

pl_fmi2_status fmi2GetFMUstate(pl_fmi2_component instance, pl_fmi2_saved *state) {
    ENTER(READABLE);
    NEEDS(state, 1);
    return (pl_fmi2_status)pl_exported_save(c, state);
}

pl_fmi2_status fmi2SetFMUstate(pl_fmi2_component instance, pl_fmi2_saved state) {
    ENTER(ANY);
    NEEDS(state, 1);
    return (pl_fmi2_status)pl_exported_restore(c, state);
}

pl_fmi2_status fmi2FreeFMUstate(pl_fmi2_component instance, pl_fmi2_saved *state) {
    ENTER(ANY);
    if (state) pl_exported_forget(state);
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2SerializedFMUstateSize(pl_fmi2_component instance, pl_fmi2_saved state, size_t *size) {
    ENTER(ANY);
    NEEDS(state, 1);
    NEEDS(size, 1);
    *size = pl_exported_bytes(state);
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2SerializeFMUstate(pl_fmi2_component instance, pl_fmi2_saved state, pl_fmi2_byte bytes[],
                                     size_t size) {
    ENTER(ANY);
    NEEDS(state, 1);
    NEEDS(bytes, 1);
    return (pl_fmi2_status)pl_exported_serialise(c, state, bytes, size);
}

pl_fmi2_status fmi2DeSerializeFMUstate(pl_fmi2_component instance, const pl_fmi2_byte bytes[], size_t size,
                                       pl_fmi2_saved *state) {
    ENTER(ANY);
    NEEDS(bytes, 1);
    NEEDS(state, 1);
    return (pl_fmi2_status)pl_exported_deserialise(c, bytes, size, state);
}

pl_fmi2_status fmi2GetDirectionalDerivative(pl_fmi2_component instance, const pl_fmi2_reference unknowns[],
                                            size_t unknown_count, const pl_fmi2_reference knowns[],
                                            size_t known_count, const pl_fmi2_real seed[],
                                            pl_fmi2_real product[]) {
    ENTER(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_STEPPING | PL_OVER);
    NEEDS(unknowns, unknown_count);
    NEEDS(product, unknown_count);
    NEEDS(knowns, known_count);
    NEEDS(seed, known_count);
    return (pl_fmi2_status)pl_exported_along(c, unknowns, unknown_count, knowns, known_count, seed, product);
}

/* -------------------------------------------------------------------------------------- model exchange */

pl_fmi2_status fmi2EnterEventMode(pl_fmi2_component instance) {
    ENTER_EXCHANGE(PL_CONTINUOUS);
    c->now.mode = PL_IN_EVENTS;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2NewDiscreteStates(pl_fmi2_component instance, pl_fmi2_event_info *info) {
    ENTER_EXCHANGE(PL_IN_EVENTS);
    NEEDS(info, 1);
    pl_event_info found;
    int status = pl_exported_event(c, &found);
    if (status != PL_FINE) return (pl_fmi2_status)status;
    info->again = PL_FMI2_FALSE; /* it has come to rest */
    info->terminate = found.terminate != 0;
    info->nominals_changed = found.nominal_changed != 0;
    info->states_changed = found.x_changed != 0;
    info->next_defined = found.next_time < HUGE_VAL;
    info->next_time = info->next_defined ? found.next_time : 0.0;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2EnterContinuousTimeMode(pl_fmi2_component instance) {
    ENTER_EXCHANGE(PL_IN_EVENTS);
    c->now.mode = PL_CONTINUOUS;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2CompletedIntegratorStep(pl_fmi2_component instance,
                                           pl_fmi2_boolean no_return_before_this_point,
                                           pl_fmi2_boolean *enter_event_mode, pl_fmi2_boolean *terminate) {
    ENTER_EXCHANGE(PL_CONTINUOUS);
    NEEDS(enter_event_mode, 1);
    NEEDS(terminate, 1);
    (void)no_return_before_this_point;
    return (pl_fmi2_status)pl_exported_completed(c, enter_event_mode, terminate);
}

pl_fmi2_status fmi2SetTime(pl_fmi2_component instance, pl_fmi2_real time) {
    ENTER_EXCHANGE(PL_IN_EVENTS | PL_CONTINUOUS);
    return (pl_fmi2_status)pl_exported_set_time(c, time);
}

pl_fmi2_status fmi2SetContinuousStates(pl_fmi2_component instance, const pl_fmi2_real states[],
                                       size_t count) {
    ENTER_EXCHANGE(PL_CONTINUOUS);
    NEEDS(states, count);
    return (pl_fmi2_status)pl_exported_set_states(c, states, count);
}

/* Start values, where the simulation has not begun. */
static int begun(pl_exported_instance *c) {
    return c->now.mode == PL_STARTING ? pl_exported_solve(c) : PL_FINE;
}

pl_fmi2_status fmi2GetDerivatives(pl_fmi2_component instance, pl_fmi2_real values[], size_t count) {
    ENTER_EXCHANGE(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->n_states) return wrong_count(c, __func__, c->n_states);
    int status = begun(c);
    if (status == PL_FINE) status = pl_exported_slopes(c);
    if (status == PL_FINE && count > 0) memcpy(values, c->slope, count * sizeof(pl_real));
    return (pl_fmi2_status)status;
}

pl_fmi2_status fmi2GetEventIndicators(pl_fmi2_component instance, pl_fmi2_real values[], size_t count) {
    ENTER_EXCHANGE(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->table->n_indicators) return wrong_count(c, __func__, c->table->n_indicators);
    int status = begun(c);
    if (status == PL_FINE) status = pl_exported_roots(c);
    for (size_t k = 0; status == PL_FINE && k < count; k++) values[k] = c->roots[c->table->indicator[k]];
    return (pl_fmi2_status)status;
}

pl_fmi2_status fmi2GetContinuousStates(pl_fmi2_component instance, pl_fmi2_real values[], size_t count) {
    ENTER_EXCHANGE(PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->n_states) return wrong_count(c, __func__, c->n_states);
    int status = begun(c);
    if (status == PL_FINE && count > 0) memcpy(values, c->x, count * sizeof(pl_real));
    return (pl_fmi2_status)status;
}

pl_fmi2_status fmi2GetNominalsOfContinuousStates(pl_fmi2_component instance, pl_fmi2_real values[],
                                                 size_t count) {
    ENTER_EXCHANGE(PL_MADE | PL_STARTING | PL_IN_EVENTS | PL_CONTINUOUS | PL_OVER);
    NEEDS(values, count);
    if (count != (size_t)c->n_states) return wrong_count(c, __func__, c->n_states);
    return (pl_fmi2_status)pl_exported_nominals(c, values);
}

/* --------------------------------------------------------------------------------------- co-simulation */

pl_fmi2_status fmi2SetRealInputDerivatives(pl_fmi2_component instance, const pl_fmi2_reference references[],
                                           size_t count, const pl_fmi2_integer orders[],
                                           const pl_fmi2_real values[]) {
    ENTER_STEPS(PL_STARTING | PL_STEPPING);
    NEEDS(references, count);
    NEEDS(orders, count);
    NEEDS(values, count);
    int status = PL_FINE;
    for (size_t k = 0; k < count && status == PL_FINE; k++)
        status = pl_exported_set_derivative(c, references[k], orders[k], values[k]);
    return (pl_fmi2_status)status;
}

pl_fmi2_status fmi2GetRealOutputDerivatives(pl_fmi2_component instance, const pl_fmi2_reference references[],
                                            size_t count, const pl_fmi2_integer orders[],
                                            pl_fmi2_real values[]) {
    ENTER_STEPS(PL_STEPPING | PL_OVER);
    (void)references, (void)orders, (void)values;
    if (count == 0) return PL_FMI2_OK;
    return (pl_fmi2_status)pl_exported_say(c, PL_ERROR, "derivatives of outputs are not part of this FMU");
}

pl_fmi2_status fmi2DoStep(pl_fmi2_component instance, pl_fmi2_real time, pl_fmi2_real step,
                          pl_fmi2_boolean no_return_before_this_point) {
    ENTER_STEPS(PL_STEPPING);
    (void)no_return_before_this_point;
    pl_export_step done;
    int status = pl_exported_step(c, time, step, NULL, &done);
    if (status == PL_FINE && done.terminate) status = PL_DISCARD;
    return (pl_fmi2_status)status;
}

pl_fmi2_status fmi2CancelStep(pl_fmi2_component instance) {
    ENTER_STEPS(ANY);
    return (pl_fmi2_status)pl_exported_say(c, PL_ERROR, "there is no step to be cancelled: none is pending");
}

static pl_fmi2_status no_status(pl_exported_instance *c) {
    return (pl_fmi2_status)pl_exported_say(c, PL_DISCARD, "this status is not known");
}

#define WITH_STATUS (PL_STEPPING | PL_OVER | PL_BROKEN)

pl_fmi2_status fmi2GetStatus(pl_fmi2_component instance, pl_fmi2_status_kind kind, pl_fmi2_status *value) {
    ENTER_STEPS(WITH_STATUS);
    NEEDS(value, 1);
    if (kind != PL_FMI2_DO_STEP_STATUS) return no_status(c);
    *value = c->now.mode == PL_BROKEN ? PL_FMI2_ERROR : c->now.ended ? PL_FMI2_DISCARD : PL_FMI2_OK;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetRealStatus(pl_fmi2_component instance, pl_fmi2_status_kind kind, pl_fmi2_real *value) {
    ENTER_STEPS(WITH_STATUS);
    NEEDS(value, 1);
    if (kind != PL_FMI2_LAST_SUCCESSFUL_TIME) return no_status(c);
    *value = c->now.t;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetIntegerStatus(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                    pl_fmi2_integer *value) {
    ENTER_STEPS(WITH_STATUS);
    NEEDS(value, 1);
    (void)kind;
    return no_status(c);
}

pl_fmi2_status fmi2GetBooleanStatus(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                    pl_fmi2_boolean *value) {
    ENTER_STEPS(WITH_STATUS);
    NEEDS(value, 1);
    if (kind != PL_FMI2_TERMINATED) return no_status(c);
    *value = c->now.ended != 0;
    return PL_FMI2_OK;
}

pl_fmi2_status fmi2GetStringStatus(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                   pl_fmi2_string *value) {
    ENTER_STEPS(WITH_STATUS);
    NEEDS(value, 1);
    if (kind != PL_FMI2_PENDING_STATUS) return no_status(c);
    *value = "";
    return PL_FMI2_OK;
}
