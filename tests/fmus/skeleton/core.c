/* What the shells of both versions share: values by reference, rules of the standard, events. */
#include "fmu.h"
#include "hostile.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAGIC = 0x464d5531, FREED = 0x64656164 };

size_t fmu_size(void) {
    return sizeof(fmu) + model.size;
}

fmu *fmu_new(void *memory, const char *name, const char *token, bool co_simulation) {
    fmu *m = memory;
    if (memory == NULL || name == NULL || token == NULL || strcmp(token, model.token) != 0) return NULL;
    m->magic = MAGIC;
    m->co_simulation = co_simulation;
    snprintf(m->name, sizeof m->name, "%s", name);
    fmu_reset(m);
    return m;
}

void fmu_reset(fmu *m) {
    m->mode = INSTANTIATED;
    m->time = m->start = m->slopes_from = 0.0;
    m->stop_defined = m->set_up = m->updated = m->written = m->terminated = m->slopes_used = false;
    m->completed = m->before = m->entered = -INFINITY;
    memset(m->slopes, 0, sizeof m->slopes);
    memset(m->data, 0, model.size);
    m->event = (fmu_event){0};
    if (model.start) model.start(m);
}

void fmu_say(fmu *m, int status, const char *format, ...) {
    char text[256];
    va_list values;
    va_start(values, format);
    vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (m != NULL && m->log != NULL && (m->logging || status != FMU_OK)) {
        m->log(m, status, status == FMU_OK ? "logAll" : "logStatusError", text);
    }
}

static const char *mode_name(int mode) {
    switch (mode) {
    case INSTANTIATED:
        return "instantiated";
    case CONFIGURATION:
        return "configuration mode";
    case INITIALISATION:
        return "initialisation mode";
    case EVENT:
        return "event mode";
    case CONTINUOUS:
        return "continuous-time mode";
    case STEP:
        return "step mode";
    case TERMINATED:
        return "terminated";
    default:
        return "intermediate update";
    }
}

bool fmu_true(fmu *m, bool condition, const char *call, const char *what) {
    if (!STRICT || condition) return true;
    fmu_say(m, FMU_ERROR, "breach: %s in %s at time %g: %s", call, mode_name(m->mode), m->time, what);
    m->mode = TERMINATED;
    return false;
}

/* A call on what is no living instance cannot be reported to anyone: the process ends. */
bool fmu_may(fmu *m, const char *call, int modes) {
    if (m == NULL || m->magic != MAGIC) {
        fprintf(stderr, "breach: %s on what is no instance\n", call);
        abort();
    }
    return fmu_true(m, (m->mode & modes) != 0, call, "not allowed here");
}

size_t fmu_states(const fmu *m) {
    return model.states ? model.states(m) : model.state_count;
}

static uint32_t place(uint32_t reference) {
    return CROWD && reference >= model.variable_count ? 1 : reference;
}

size_t fmu_count(const fmu *m, uint32_t reference) {
    size_t count = model.variables[place(reference)].count;
    return count ? count : model.count(m, reference);
}

void *fmu_value(fmu *m, const char *call, uint32_t reference, fmu_type type) {
    const fmu_variable *v = &model.variables[place(reference)];
    if (place(reference) >= model.variable_count || v->type != type) {
        fmu_say(m, FMU_ERROR, "%s: no variable of this type has the reference %u", call, (unsigned)reference);
        return NULL;
    }
    return v->role == INDEPENDENT ? (void *)&m->time : (void *)((char *)m->data + v->offset);
}

/* Which variable may be set where: the standard's tables of allowed calls. */
bool fmu_settable(fmu *m, const char *call, uint32_t reference, int version) {
    int modes = 0;
    switch (model.variables[place(reference)].role) {
    case PARAMETER:
        modes = INSTANTIATED | INITIALISATION;
        break;
    case TUNABLE:
        modes = INSTANTIATED | INITIALISATION | EVENT | STEP;
        break;
    case STRUCTURAL:
        modes = CONFIGURATION;
        break;
    case INPUT:
        modes = INSTANTIATED | INITIALISATION | EVENT | CONTINUOUS | STEP | INTERMEDIATE;
        break;
    case DISCRETE_INPUT:
        modes = INSTANTIATED | INITIALISATION | EVENT | STEP;
        break;
    case STATE:
        modes = INSTANTIATED | INITIALISATION | (version == 3 ? CONTINUOUS : 0);
        break;
    default:
        break;
    }
    m->written = true;
    return fmu_true(m, (m->mode & modes) != 0, call, "this variable may not be set here");
}

bool fmu_readable(fmu *m, const char *call, uint32_t reference, int version) {
    fmu_role role = model.variables[place(reference)].role;
    if (!STRICT) return true;
    if (version == 2 && m->mode == INITIALISATION) {
        bool listed = role == OUTPUT || role == STATE || role == DERIVATIVE;
        if (!fmu_true(m, listed, call, "only outputs, states and derivatives may be read here")) return false;
    }
    return fmu_true(m, m->mode != STEP || !m->written, call, "inputs were set and no step was made since");
}

int fmu_refresh(fmu *m) {
    HOSTILE(PHASE_OUTPUTS);
    return model.outputs ? model.outputs(m) : FMU_OK;
}

/* Back in time only as far as the last but one accepted step, never over an event. */
int fmu_set_time(fmu *m, const char *call, double time) {
    if (STRICT) {
        if (!fmu_true(m, isfinite(time), call, "time is not finite")) return FMU_ERROR;
        if (!fmu_true(m, time >= m->start, call, "before the start time")) return FMU_ERROR;
        if (!fmu_true(m, !m->stop_defined || time <= m->stop, call, "after the stop time")) return FMU_ERROR;
        if (!fmu_true(m, time >= m->entered, call, "before the last event")) return FMU_ERROR;
        if (!fmu_true(m, time >= m->before, call, "before the last but one accepted step")) return FMU_ERROR;
    }
    m->time = time;
    return FMU_OK;
}

int fmu_derivatives(fmu *m, double *derivatives) {
    HOSTILE(PHASE_DERIVATIVES);
    int status = model.derivatives ? model.derivatives(m, derivatives) : FMU_OK;
    if (HOSTILE_PHASE == PHASE_DERIVATIVES)
        derivatives[0] = HOSTILE_NUMBER(PHASE_DERIVATIVES, derivatives[0]);
    return status;
}

int fmu_nominals(fmu *m, double *nominals) {
    HOSTILE(PHASE_NOMINALS);
    for (size_t i = 0; i < fmu_states(m); i++) nominals[i] = 1.0;
    if (model.nominals) model.nominals(m, nominals);
    if (HOSTILE_PHASE == PHASE_NOMINALS) nominals[0] = HOSTILE_NUMBER(PHASE_NOMINALS, nominals[0]);
    return FMU_OK;
}

int fmu_indicators(fmu *m, double *indicators) {
    HOSTILE(PHASE_INDICATORS);
    int status = model.indicators ? model.indicators(m, indicators) : FMU_OK;
    if (HOSTILE_PHASE == PHASE_INDICATORS) indicators[0] = HOSTILE_NUMBER(PHASE_INDICATORS, indicators[0]);
    return status;
}

int fmu_begin_event(fmu *m, const char *call) {
    /* where nothing happens in completedIntegratorStep, the description says that it need not be called */
    bool advanced = model.completed && !m->co_simulation && m->time > m->entered && m->time > m->start;
    if (!fmu_true(m, !advanced || m->completed == m->time, call, "the step up to here was not completed")) {
        return FMU_ERROR;
    }
    m->mode = EVENT;
    m->entered = m->time;
    m->updated = false;
    return FMU_OK;
}

int fmu_update(fmu *m, fmu_event *event) {
    HOSTILE(PHASE_EVENT);
    fmu_event found = {0};
    found.next_defined = m->event.next_defined; /* a model repeats what still holds */
    found.next = m->event.next;
    int status = model.event ? model.event(m, &found) : FMU_OK;
    if (HOSTILE_PHASE == PHASE_EVENT && m->time >= HOSTILE_AFTER) {
        if (HOSTILE_ACT == ACT_AGAIN) found.again = true;
        if (HOSTILE_ACT == ACT_PAST || HOSTILE_ACT == ACT_NAN) {
            found.next_defined = true;
            found.next = HOSTILE_ACT == ACT_NAN ? NAN : m->time - 0.25;
        }
        if (HOSTILE_ACT == ACT_NOW || HOSTILE_ACT == ACT_SOON) {
            found.next_defined = true;
            found.next = HOSTILE_ACT == ACT_NOW ? m->time : nextafter(m->time, INFINITY);
        }
    }
    if (HOSTILE_PHASE == PHASE_STATES && m->time >= HOSTILE_AFTER) {
        m->data[0] = hostile_number(m->data[0]);
        found.states_changed = true;
    }
    m->event = *event = found;
    m->updated = !found.again;
    return status;
}

int fmu_completed(fmu *m, bool *event, bool *terminate) {
    HOSTILE(PHASE_COMPLETED);
    if (!fmu_true(m, m->time >= m->completed, "completedIntegratorStep", "before the last completed step")) {
        return FMU_ERROR;
    }
    m->before = m->completed;
    m->completed = m->time;
    *event = *terminate = false;
    return model.completed ? model.completed(m, event, terminate) : FMU_OK;
}

int fmu_exit_initialisation(fmu *m) {
    HOSTILE(PHASE_EXIT_INITIALISATION);
    int status = model.initialise ? model.initialise(m) : FMU_OK;
    m->mode = m->co_simulation && !m->events_used ? STEP : EVENT;
    m->entered = m->time;
    m->written = m->updated = false;
    if (m->mode == STEP && status == FMU_OK) { /* no event mode outside: the first update happens here */
        fmu_event event = {.again = true};
        for (int k = 0; k < 100 && event.again && status == FMU_OK; k++) status = fmu_update(m, &event);
    }
    return status;
}

int fmu_directional(fmu *m, const char *call, const uint32_t *unknowns, size_t unknown_count,
                    const uint32_t *knowns, size_t known_count, const double *seed, double *product) {
    if (model.partial == NULL) {
        fmu_say(m, FMU_ERROR, "%s is not offered", call);
        return FMU_ERROR;
    }
    for (size_t i = 0; i < unknown_count; i++) {
        product[i] = 0.0;
        for (size_t k = 0; k < known_count; k++)
            product[i] += model.partial(m, unknowns[i], knowns[k]) * seed[k];
    }
    return FMU_OK;
}
