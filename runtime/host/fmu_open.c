/* Desktop only. One instance of an FMU: made, given parameters and start values, initialised, freed. What may be set when is the
 * standard's: everything with a start value before initialisation, structural parameters in configuration mode. */
#include "fmu.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char pl_fmu_no_reason[] = "it gave no reason";

/* ---------------------------------------------------------------------------------- what the instance says */

/* A complaint is kept as the reason of the failure that follows. */
static void hear(pl_fmu *f, int status, const char *category, const char *text) {
    pl_box_add(f->box, status, category ? category : "", text ? text : "");
    if (status >= PL_FMI2_DISCARD && text) snprintf(f->said, sizeof f->said, "%s", text);
}

static void hear2(pl_fmi2_environment environment, pl_fmi2_string instance, pl_fmi2_status status,
                  pl_fmi2_string category, pl_fmi2_string format, ...) {
    char text[4000];
    va_list list;
    (void)instance;
    va_start(list, format);
    if (vsnprintf(text, sizeof text, format ? format : "", list) < 0) text[0] = 0;
    va_end(list);
    if (environment) hear(environment, (int)status, category, text);
}

static void hear3(pl_fmi3_environment environment, pl_fmi3_status status, pl_fmi3_string category,
                  pl_fmi3_string text) {
    if (environment) hear(environment, (int)status, category, text);
}

static void *allocate(size_t count, size_t size) {
    return calloc(count ? count : 1, size ? size : 1);
}

void pl_fmu_warn(pl_fmu *f, const char *words) {
    pl_box_add(f->box, PL_FMI2_WARNING, "pliant", words);
}

pl_status pl_fmu_status(pl_fmu *f, int status, int call) {
    static const char *const named[] = {"OK", "Warning", "Discard", "Error", "Fatal", "Pending"};
    if (status == PL_FMI2_OK || status == PL_FMI2_WARNING) return PL_OK;
    const char *name = pl_fmu_call_name(call);
    if (status == PL_FMU_ABSENT) {
        snprintf(f->words, sizeof f->words, "the binary lacks %s", name);
    } else {
        char number[40];
        if (status > 0 && status <= PL_FMI2_PENDING)
            snprintf(number, sizeof number, "fmi%d%s", (int)f->head->version, named[status]);
        else
            snprintf(number, sizeof number, "the unknown status %d", status);
        snprintf(f->words, sizeof f->words, "%s returned %s%s%s", name, number, f->said[0] ? ": " : "",
                 f->said);
    }
    f->said[0] = 0;
    if (status == PL_FMI2_DISCARD) return PL_RETRY;
    f->mode = status == PL_FMI2_FATAL ? PL_FMU_LOST : PL_FMU_ERROR;
    return PL_FATAL;
}

/* ------------------------------------------------------------------------------------------- instantiation */

static void *instantiate2(pl_fmu *f) {
    pl_fmi2_callbacks *callbacks = &f->callbacks;
    callbacks->log = hear2;
    callbacks->allocate = allocate;
    callbacks->release = free;
    callbacks->step_finished = NULL;
    callbacks->environment = f;
    return f->f2.instantiate(f->text[PL_FMU_NAME],
                             f->head->kind == PL_FMU_MODEL_EXCHANGE ? PL_FMI2_MODEL_EXCHANGE_KIND
                                                                    : PL_FMI2_CO_SIMULATION_KIND,
                             f->text[PL_FMU_TOKEN], f->text[PL_FMU_RESOURCES], callbacks, PL_FMI2_FALSE,
                             (f->head->flags & PL_FMU_LOGGING) != 0);
}

static void *instantiate3(pl_fmu *f) {
    const char *resources = f->text[PL_FMU_RESOURCES][0] ? f->text[PL_FMU_RESOURCES] : NULL;
    bool logging = (f->head->flags & PL_FMU_LOGGING) != 0;
    if (f->head->kind == PL_FMU_MODEL_EXCHANGE)
        return f->f3.instantiate_model_exchange(f->text[PL_FMU_NAME], f->text[PL_FMU_TOKEN], resources, false,
                                                logging, f, hear3);
    const pl_fmu_vector *u = &f->vector[PL_FMU_U];
    size_t n = 0; /* inputs that are set on the way */
    for (int k = 0; f->head->unit[PL_FMU_UNIT_INTERMEDIATE] && k < u->m; k++)
        if (u->variable[k].flags & PL_FMU_INTERMEDIATE) f->references[n++] = u->variable[k].reference;
    return f->f3.instantiate_co_simulation(
        f->text[PL_FMU_NAME], f->text[PL_FMU_TOKEN], resources, false, logging, f->unit.events != 0,
        f->unit.events && f->head->unit[PL_FMU_UNIT_EARLY], n > 0 ? f->references : NULL, n, f, hear3,
        n > 0 ? pl_fmu_intermediate : NULL);
}

static const char *instantiate(pl_fmu *f) {
    int two = f->head->version == 2;
    int call = two                                      ? PL_CALL2_instantiate
               : f->head->kind == PL_FMU_MODEL_EXCHANGE ? PL_CALL3_instantiate_model_exchange
                                                        : PL_CALL3_instantiate_co_simulation;
    f->said[0] = 0;
    f->box->count++;
    f->box->call = call;
    f->unit.events = !two && f->head->unit[PL_FMU_UNIT_EVENTS];
    f->instance = two ? instantiate2(f) : instantiate3(f);
    if (!f->instance && f->unit.events) { /* some that say they have event mode do not */
        f->unit.events = 0;
        f->instance = instantiate3(f);
        if (f->instance) pl_fmu_warn(f, "the FMU says that it has event mode, but works without it only");
    }
    f->box->call = -f->box->call;
    if (!f->instance) {
        snprintf(f->words, sizeof f->words, "%s returned no instance%s%s", pl_fmu_call_name(call),
                 f->said[0] ? ": " : "", f->said);
        f->mode = PL_FMU_NO_INSTANCE;
        return f->words;
    }
    f->mode = PL_FMU_INSTANTIATED;
    int64_t categories = f->head->n_texts - PL_FMU_CATEGORIES;
    if (!(f->head->flags & PL_FMU_LOGGING)) return NULL;
    if (two && f->f2.set_debug_logging) /* what it answers does not matter */
        (void)PL_FMU_CALL(
            f, PL_CALL2_set_debug_logging,
            f->f2.set_debug_logging(f->instance, 1, (size_t)categories, f->text + PL_FMU_CATEGORIES));
    if (!two && f->f3.set_debug_logging)
        (void)PL_FMU_CALL(
            f, PL_CALL3_set_debug_logging,
            f->f3.set_debug_logging(f->instance, true, (size_t)categories, f->text + PL_FMU_CATEGORIES));
    return NULL;
}

/* -------------------------------------------------------------------------------------- values before start */

/* Which variables of a vector have other values than at the start. */
static int differing(pl_fmu *f, const pl_fmu_vector *v, const double *value, const double *start, int flag) {
    int any = 0;
    for (int k = 0; k < v->m; k++) {
        const pl_fmu_variable *one = v->variable + k;
        size_t at = (size_t)v->first[k], bytes = (size_t)one->size * sizeof *value;
        int right = (one->flags & PL_FMU_STRUCTURAL) == flag;
        f->chosen[k] = right && bytes > 0 && memcmp(value + at, start + at, bytes) != 0;
        any |= f->chosen[k];
    }
    return any;
}

/* Vectors must be as long as the instance thinks they are. */
static pl_status check_sizes(pl_fmu *f) {
    size_t states = (size_t)f->vector[PL_FMU_X].n, roots = (size_t)f->head->n_roots;
    if (f->head->kind != PL_FMU_MODEL_EXCHANGE) return PL_OK;
    if (f->f3.get_number_of_continuous_states)
        (void)PL_FMU_CALL(f, PL_CALL3_get_number_of_continuous_states,
                          f->f3.get_number_of_continuous_states(f->instance, &states));
    if (f->f3.get_number_of_event_indicators)
        (void)PL_FMU_CALL(f, PL_CALL3_get_number_of_event_indicators,
                          f->f3.get_number_of_event_indicators(f->instance, &roots));
    if (states == (size_t)f->vector[PL_FMU_X].n && roots == (size_t)f->head->n_roots) return PL_OK;
    snprintf(f->words, sizeof f->words,
             "with these structural parameters the FMU has %zu states and %zu event indicators, by its "
             "description %d and %d",
             states, roots, f->vector[PL_FMU_X].n, (int)f->head->n_roots);
    return PL_FATAL;
}

static pl_status set_structural(pl_fmu *f, const pl_fmu_vector *p, const double *value) {
    if (!differing(f, p, value, f->p_start, PL_FMU_STRUCTURAL)) return PL_OK;
    if (!f->f3.enter_configuration_mode)
        return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL3_enter_configuration_mode);
    if (!f->f3.exit_configuration_mode)
        return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL3_exit_configuration_mode);
    pl_status status = pl_fmu_status(
        f, PL_FMU_CALL(f, PL_CALL3_enter_configuration_mode, f->f3.enter_configuration_mode(f->instance)),
        PL_CALL3_enter_configuration_mode);
    if (status == PL_OK) status = pl_fmu_set(f, p, f->chosen, value);
    if (status != PL_OK) return status;
    status = pl_fmu_status(
        f, PL_FMU_CALL(f, PL_CALL3_exit_configuration_mode, f->f3.exit_configuration_mode(f->instance)),
        PL_CALL3_exit_configuration_mode);
    return status == PL_OK ? check_sizes(f) : status;
}

/* Start values of states that the user gave. */
static pl_status set_states(pl_fmu *f) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_X];
    const uint8_t *given = f->child->given[PL_CHILD_X_GIVEN];
    const double *x = f->child->given[PL_CHILD_X];
    int any = 0;
    if (!given || !x || f->begin.held) return PL_OK;
    for (int k = 0; k < v->m; k++) {
        f->chosen[k] = 0;
        for (int i = v->first[k]; i < v->first[k + 1]; i++) f->chosen[k] |= given[i] != 0;
        any |= f->chosen[k];
    }
    return any ? pl_fmu_set(f, v, f->chosen, x) : PL_OK;
}

/* ... and of other variables. */
static pl_status set_others(pl_fmu *f) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_S];
    const int32_t *place = f->child->given[PL_CHILD_STARTS];
    const double *value = f->child->given[PL_CHILD_START_VALUES];
    int64_t count = f->child->bytes[PL_CHILD_STARTS] / (int64_t)sizeof *place;
    if (!place || !value || count == 0) return PL_OK;
    double *all = malloc((size_t)v->n * sizeof *all + 8);
    if (!all) return PL_MEMORY;
    memcpy(all, f->s_start, (size_t)v->n * sizeof *all);
    memset(f->chosen, 0, (size_t)v->m);
    for (int64_t i = 0; i < count; i++) {
        if (place[i] < 0 || place[i] >= v->n) continue;
        all[place[i]] = value[i];
        for (int k = 0; k < v->m; k++)
            if (place[i] >= v->first[k] && place[i] < v->first[k + 1]) f->chosen[k] = 1;
    }
    pl_status status = pl_fmu_set(f, v, f->chosen, all);
    free(all);
    return status;
}

const char *pl_fmu_open(pl_fmu *f, const pl_fmu_begin *begin) {
    const pl_fmu_vector *p = &f->vector[PL_FMU_P];
    const double *value = f->child->given[PL_CHILD_PARAMETERS];
    pl_fmu_close(f);
    if (f->mode == PL_FMU_LOST) return "the FMU has reported a fatal error in this process";
    f->begin = *begin;
    f->told = f->ends = f->asked = 0;
    f->box->time = begin->start;
    f->t_floor = f->t_event = -HUGE_VAL;
    f->next_time = HUGE_VAL;
    memcpy(f->u_set, f->u_start, (size_t)f->vector[PL_FMU_U].n * sizeof(double));
    memcpy(f->x_nominal, f->nominal, (size_t)f->vector[PL_FMU_X].n * sizeof(double));
    pl_box_mend(f->box);
    const char *why = instantiate(f);
    if (why) return why;
    pl_status status = PL_OK;
    if (value) {
        if (f->head->version == 3) status = set_structural(f, p, value);
        if (status == PL_OK && differing(f, p, value, f->p_start, 0))
            status = pl_fmu_set(f, p, f->chosen, value);
    }
    if (status == PL_OK) status = set_states(f);
    if (status == PL_OK) status = set_others(f);
    return status == PL_OK ? NULL : f->words;
}

/* ------------------------------------------------------------------------------------------ initialisation */

static pl_status enter_initialization(pl_fmu *f, double t) {
    const pl_fmu_begin *begin = &f->begin;
    int tolerance = begin->rtol > 0.0, stop = begin->stop > t;
    if (f->head->version == 3)
        return pl_fmu_status(
            f,
            PL_FMU_CALL(f, PL_CALL3_enter_initialization_mode,
                        f->f3.enter_initialization_mode(f->instance, tolerance != 0, begin->rtol, t,
                                                        stop != 0, begin->stop)),
            PL_CALL3_enter_initialization_mode);
    pl_status status = pl_fmu_status(
        f,
        PL_FMU_CALL(f, PL_CALL2_setup_experiment,
                    f->f2.setup_experiment(f->instance, tolerance, begin->rtol, t, stop, begin->stop)),
        PL_CALL2_setup_experiment);
    if (status != PL_OK) return status;
    return pl_fmu_status(
        f, PL_FMU_CALL(f, PL_CALL2_enter_initialization_mode, f->f2.enter_initialization_mode(f->instance)),
        PL_CALL2_enter_initialization_mode);
}

pl_status pl_fmu_initialise(pl_fmu *f, double t, const double *u) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    f->box->time = t;
    pl_status status = enter_initialization(f, t);
    if (status != PL_OK) return status;
    f->mode = PL_FMU_INITIALIZATION;
    if (v->n > 0) {
        status = pl_fmu_set(f, v, NULL, u);
        if (status != PL_OK) return status;
        memcpy(f->u_set, u, (size_t)v->n * sizeof *u);
    }
    status = pl_fmu_status(
        f, PL_FMU_CALL(f, f->call.n_exit_initialization, f->call.exit_initialization(f->instance)),
        f->call.n_exit_initialization);
    if (status == PL_OK) f->mode = f->head->kind == PL_FMU_MODEL_EXCHANGE ? PL_FMU_EVENT : PL_FMU_STEP;
    f->t_floor = f->t_event = t;
    return status;
}

void pl_fmu_close(pl_fmu *f) {
    void *instance = f->instance;
    int mode = f->mode;
    pl_fmu_forget_states(f);
    f->instance = NULL;
    f->reading.n = 0; /* another run asks for other outputs */
    if (!instance || mode == PL_FMU_LOST) return;
    int running = mode == PL_FMU_EVENT || mode == PL_FMU_CONTINUOUS_TIME || mode == PL_FMU_STEP;
    if (running && f->call.terminate &&
        PL_FMU_CALL(f, f->call.n_terminate, f->call.terminate(instance)) > PL_FMI2_WARNING) {
        (void)pl_fmu_status(f, f->status_, f->call.n_terminate);
        pl_fmu_warn(f, f->words);
        if (f->mode == PL_FMU_LOST) return;
    }
    f->mode = PL_FMU_NO_INSTANCE;
    f->box->count++;
    f->box->call = f->call.n_free_instance;
    f->call.free_instance(instance);
    f->box->call = -f->box->call;
}
