/* The shell of FMI 3.0: events, model exchange, co-simulation. */
#include "fmu.h"
#include "pl_fmi3.h"
#include <string.h>

PL_FMI3_EXPORTS

#define EVALUATED (INITIALISATION | EVENT | CONTINUOUS)
#define ENTER(call, modes)                                                                                   \
    fmu *m = instance;                                                                                       \
    if (STRICT && !fmu_may(m, call, modes)) return PL_FMI3_ERROR
#define SIZED(call, have, need)                                                                              \
    if (!fmu_true(m, (have) == (need), call, "wrong number of elements")) return PL_FMI3_ERROR

pl_fmi3_status fmi3EnterEventMode(pl_fmi3_instance instance) {
    ENTER("fmi3EnterEventMode", CONTINUOUS | STEP);
    if (!fmu_true(m, m->mode != STEP || m->events_used, "fmi3EnterEventMode", "event mode is not used")) {
        return PL_FMI3_ERROR;
    }
    return fmu_begin_event(m, "fmi3EnterEventMode");
}

pl_fmi3_status fmi3UpdateDiscreteStates(pl_fmi3_instance instance, pl_fmi3_boolean *again,
                                        pl_fmi3_boolean *terminate, pl_fmi3_boolean *nominals_changed,
                                        pl_fmi3_boolean *states_changed, pl_fmi3_boolean *next_defined,
                                        pl_fmi3_float64 *next_time) {
    fmu_event event = {0};
    ENTER("fmi3UpdateDiscreteStates", EVENT);
    bool given = again && terminate && nominals_changed && states_changed && next_defined && next_time;
    if (!fmu_true(m, given, "fmi3UpdateDiscreteStates", "a null pointer")) return PL_FMI3_ERROR;
    int status = fmu_update(m, &event);
    *again = event.again;
    *terminate = event.terminate;
    *nominals_changed = event.nominals_changed;
    *states_changed = event.states_changed;
    *next_defined = event.next_defined;
    *next_time = event.next;
    return status;
}

#ifndef NO_MODEL_EXCHANGE
pl_fmi3_status fmi3EnterContinuousTimeMode(pl_fmi3_instance instance) {
    ENTER("fmi3EnterContinuousTimeMode", EVENT);
    if (!fmu_true(m, m->updated, "fmi3EnterContinuousTimeMode", "the event iteration is not finished")) {
        return PL_FMI3_ERROR;
    }
    m->mode = CONTINUOUS;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3CompletedIntegratorStep(pl_fmi3_instance instance, pl_fmi3_boolean no_return,
                                           pl_fmi3_boolean *enter_event_mode, pl_fmi3_boolean *terminate) {
    ENTER("fmi3CompletedIntegratorStep", CONTINUOUS);
    (void)no_return;
    return fmu_completed(m, enter_event_mode, terminate);
}

pl_fmi3_status fmi3SetTime(pl_fmi3_instance instance, pl_fmi3_float64 time) {
    ENTER("fmi3SetTime", CONTINUOUS);
    return fmu_set_time(m, "fmi3SetTime", time);
}

pl_fmi3_status fmi3SetContinuousStates(pl_fmi3_instance instance, const pl_fmi3_float64 states[],
                                       size_t count) {
    ENTER("fmi3SetContinuousStates", CONTINUOUS);
    SIZED("fmi3SetContinuousStates", count, fmu_states(m));
    memcpy(m->data, states, count * sizeof *states);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3GetContinuousStateDerivatives(pl_fmi3_instance instance, pl_fmi3_float64 derivatives[],
                                                 size_t count) {
    ENTER("fmi3GetContinuousStateDerivatives", EVALUATED);
    SIZED("fmi3GetContinuousStateDerivatives", count, fmu_states(m));
    return fmu_derivatives(m, derivatives);
}

pl_fmi3_status fmi3GetEventIndicators(pl_fmi3_instance instance, pl_fmi3_float64 indicators[], size_t count) {
    ENTER("fmi3GetEventIndicators", EVALUATED);
    SIZED("fmi3GetEventIndicators", count, model.indicator_count);
    return fmu_indicators(m, indicators);
}

pl_fmi3_status fmi3GetContinuousStates(pl_fmi3_instance instance, pl_fmi3_float64 states[], size_t count) {
    ENTER("fmi3GetContinuousStates", EVALUATED);
    SIZED("fmi3GetContinuousStates", count, fmu_states(m));
    memcpy(states, m->data, count * sizeof *states);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3GetNominalsOfContinuousStates(pl_fmi3_instance instance, pl_fmi3_float64 nominals[],
                                                 size_t count) {
    ENTER("fmi3GetNominalsOfContinuousStates", EVALUATED);
    SIZED("fmi3GetNominalsOfContinuousStates", count, fmu_states(m));
    return fmu_nominals(m, nominals);
}

pl_fmi3_status fmi3GetNumberOfEventIndicators(pl_fmi3_instance instance, size_t *count) {
    ENTER("fmi3GetNumberOfEventIndicators", INSTANTIATED | EVALUATED);
    (void)m;
    *count = model.indicator_count + (WRONG_COUNTS ? 3 : 0);
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3GetNumberOfContinuousStates(pl_fmi3_instance instance, size_t *count) {
    ENTER("fmi3GetNumberOfContinuousStates", INSTANTIATED | EVALUATED);
    *count = fmu_states(m) + (WRONG_COUNTS ? 3 : 0);
    return PL_FMI3_OK;
}
#endif

#ifndef NO_CO_SIMULATION
pl_fmi3_status fmi3EnterStepMode(pl_fmi3_instance instance) {
    ENTER("fmi3EnterStepMode", EVENT);
    if (!fmu_true(m, m->co_simulation && m->updated, "fmi3EnterStepMode",
                  "the event iteration is not finished")) {
        return PL_FMI3_ERROR;
    }
    m->mode = STEP;
    m->written = false;
    return PL_FMI3_OK;
}

pl_fmi3_status fmi3DoStep(pl_fmi3_instance instance, pl_fmi3_float64 time, pl_fmi3_float64 step,
                          pl_fmi3_boolean no_return, pl_fmi3_boolean *event_needed,
                          pl_fmi3_boolean *terminate, pl_fmi3_boolean *early_return,
                          pl_fmi3_float64 *reached) {
    fmu_stepped stepped = {0};
    ENTER("fmi3DoStep", STEP);
    (void)no_return;
    if (!fmu_true(m, event_needed && terminate && early_return && reached, "fmi3DoStep", "a null pointer")) {
        return PL_FMI3_ERROR;
    }
    int status = fmu_step(m, "fmi3DoStep", time, step, &stepped);
    *event_needed = stepped.event;
    *terminate = stepped.terminate;
    *early_return = stepped.early;
    *reached = stepped.reached;
    return status;
}

#ifndef MINIMAL
pl_fmi3_status fmi3GetOutputDerivatives(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                        size_t count, const pl_fmi3_int32 orders[], pl_fmi3_float64 values[],
                                        size_t value_count) {
    ENTER("fmi3GetOutputDerivatives", STEP | INTERMEDIATE | TERMINATED);
    SIZED("fmi3GetOutputDerivatives", count, value_count);
    (void)references;
    for (size_t i = 0; i < count; i++) { /* an output is its first state, where this is called at all */
        double derivatives[32] = {0};
        int status = fmu_derivatives(m, derivatives);
        if (status > FMU_WARNING || orders[i] != 1) return PL_FMI3_ERROR;
        values[i] = derivatives[0];
    }
    return PL_FMI3_OK;
}
#endif
#endif
