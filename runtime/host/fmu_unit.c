/* Desktop only. Co-simulation as a pl_unit, by the state machine of the standard (FMI 2.0.4, 4.2.4; FMI 3.0, 4.2).
 *
 * Inputs are set where a step begins. What they do until its end reaches the FMU by derivatives (FMI 2) or while it steps, in the
 * intermediate update (FMI 3), where it offers that; else they are held. With event mode, discrete inputs are set there, and events
 * that the FMU reports are handled before the next step.
 */
#include "fmu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ITERATIONS 1000
#define STUCK           1e-9 /* of a step: who comes no further does not move */

static pl_status failed(pl_fmu *f, const char *words) {
    snprintf(f->words, sizeof f->words, "%s", words);
    return PL_FATAL;
}

/* A call that cannot be tried again elsewhere. */
static pl_status firm(pl_fmu *f, int status, int call) {
    pl_status found = pl_fmu_status(f, status, call);
    if (found == PL_RETRY) f->mode = PL_FMU_ERROR;
    return found == PL_OK ? PL_OK : PL_FATAL;
}

/* ------------------------------------------------------------------------------------------------ event mode */

static pl_status leave_event_mode(pl_fmu *f) {
    int terminate = 0;
    for (int k = 0;; k++) {
        bool again = false, ends = false, nominals = false, states = false, defined = false;
        double next = HUGE_VAL;
        if (k >= MOST_ITERATIONS)
            return failed(
                f, "the event iteration does not end: fmi3UpdateDiscreteStates always asks for another one");
        pl_status status =
            firm(f,
                 PL_FMU_CALL(f, PL_CALL3_update_discrete_states,
                             f->f3.update_discrete_states(f->instance, &again, &ends, &nominals, &states,
                                                          &defined, &next)),
                 PL_CALL3_update_discrete_states);
        if (status != PL_OK) return status;
        f->unit.next_event = defined ? next : HUGE_VAL;
        terminate |= ends;
        if (!again || terminate) break;
    }
    if (terminate) return PL_TERMINATED;
    pl_status status = firm(f, PL_FMU_CALL(f, PL_CALL3_enter_step_mode, f->f3.enter_step_mode(f->instance)),
                            PL_CALL3_enter_step_mode);
    if (status == PL_OK) f->mode = PL_FMU_STEP;
    return status;
}

static pl_status enter_event_mode(pl_fmu *f) {
    if (f->mode == PL_FMU_EVENT) return PL_OK; /* inputs were tried in it */
    pl_status status = firm(f, PL_FMU_CALL(f, f->call.n_enter_event, f->call.enter_event(f->instance)),
                            f->call.n_enter_event);
    if (status == PL_OK) f->mode = PL_FMU_EVENT;
    return status;
}

/* -------------------------------------------------------------------------------------------------- inputs */

/* Inputs with other values than the instance has; flag: of this kind only (0: of the others). */
static int choose_changed(pl_fmu *f, const double *u, int flag) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    int any = 0;
    for (int k = 0; k < v->m; k++) {
        size_t at = (size_t)v->first[k], bytes = (size_t)v->variable[k].size * sizeof *u;
        int right = (v->variable[k].flags & PL_FMU_CONTINUOUS) == flag;
        f->chosen[k] = right && bytes > 0 && memcmp(f->u_set + at, u + at, bytes) != 0;
        if (!f->chosen[k]) continue;
        memcpy(f->u_set + at, u + at, bytes);
        any = 1;
    }
    return any;
}

static pl_status set_changed(pl_fmu *f, const double *u, int flag) {
    if (!choose_changed(f, u, flag)) return PL_OK;
    pl_status status = pl_fmu_set(f, &f->vector[PL_FMU_U], f->chosen, u);
    return status == PL_RETRY ? PL_FATAL : status;
}

/* Derivatives of continuous inputs of FMI 2. */
static pl_status set_derivatives(pl_fmu *f, int degree, const double *u) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    int most = (int)f->head->unit[PL_FMU_UNIT_DERIVATIVES], count = 0;
    int orders = degree < most ? degree : most;
    if (orders < 1 || !f->f2.set_real_input_derivatives) return PL_OK;
    for (int k = 0; k < v->m; k++) {
        if (!(v->variable[k].flags & PL_FMU_CONTINUOUS)) continue;
        double factorial = 1.0;
        for (int order = 1; order <= orders; order++) {
            factorial *= order;
            f->unit.reference[count] = v->variable[k].reference;
            f->unit.order[count] = order;
            f->unit.value[count++] = factorial * u[order * v->n + v->first[k]];
        }
    }
    if (count == 0) return PL_OK;
    return firm(f,
                PL_FMU_CALL(f, PL_CALL2_set_real_input_derivatives,
                            f->f2.set_real_input_derivatives(f->instance, f->unit.reference, (size_t)count,
                                                             f->unit.order, f->unit.value)),
                PL_CALL2_set_real_input_derivatives);
}

/* FMI 3: the FMU asks for inputs on its way. */
void pl_fmu_intermediate(pl_fmi3_environment environment, double t, bool set_requested, bool get_allowed,
                         bool step_finished, bool can_return_early, bool *early_return_requested,
                         double *early_return_time) {
    pl_fmu *f = environment;
    (void)get_allowed, (void)step_finished, (void)can_return_early;
    if (early_return_requested) *early_return_requested = false;
    if (early_return_time) *early_return_time = t;
    if (!f || !set_requested || !f->unit.coefficient || f->unit.degree < 1) return;
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    int any = 0;
    for (int k = 0; k < v->m; k++) {
        f->chosen[k] = (v->variable[k].flags & PL_FMU_INTERMEDIATE) != 0;
        any |= f->chosen[k];
    }
    if (!any) return;
    for (int j = 0; j < v->n; j++) {
        double sum = 0.0;
        for (int m = f->unit.degree; m >= 0; m--)
            sum = sum * (t - f->unit.t) + f->unit.coefficient[m * v->n + j];
        f->unit.now[j] = sum;
    }
    int call = f->box->call; /* the step goes on */
    pl_status status = pl_fmu_set(f, v, f->chosen, f->unit.now);
    for (int k = 0; k < v->m; k++)
        if (f->chosen[k])
            memcpy(f->u_set + v->first[k], f->unit.now + v->first[k],
                   (size_t)v->variable[k].size * sizeof(double));
    f->box->call = call;
    if (status != PL_OK) f->unit.refused = 1;
}

/* Discrete inputs that are others now, in event mode; nothing where it is not used. */
static pl_status change_discrete(pl_fmu *f, const double *u) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    if (!f->unit.events || !choose_changed(f, u, 0)) return PL_OK;
    pl_status status = enter_event_mode(f);
    if (status != PL_OK) return status;
    status = pl_fmu_set(f, v, f->chosen, u);
    if (status == PL_OK) status = set_changed(f, u, PL_FMU_CONTINUOUS);
    if (status != PL_OK) return PL_FATAL;
    return leave_event_mode(f);
}

/* An event that the last step ended at, and that was left until the inputs there are known. */
static pl_status handle_pending(pl_fmu *f, const double *u) {
    f->unit.pending = 0;
    pl_status status = enter_event_mode(f);
    if (status == PL_OK) status = set_changed(f, u, 0);
    if (status == PL_OK) status = set_changed(f, u, PL_FMU_CONTINUOUS);
    return status == PL_OK ? leave_event_mode(f) : status;
}

/* Without event mode the standard forbids to read what was set before the next step; not every FMU minds. */
pl_status pl_fmu_try_inputs(pl_fmu *f, double t, const double *u, int in_event_mode) {
    f->box->time = t;
    pl_status status = PL_OK;
    if (in_event_mode && f->unit.events && f->mode == PL_FMU_STEP) status = enter_event_mode(f);
    if (status == PL_OK && f->mode != (in_event_mode ? PL_FMU_EVENT : PL_FMU_STEP))
        return failed(f, "the FMU is not initialised, or has ended");
    if (status == PL_OK) status = set_changed(f, u, 0);
    if (status == PL_OK) status = set_changed(f, u, PL_FMU_CONTINUOUS);
    return status;
}

/* Before outputs are read: without event mode, values that were set may only be read after the next step. */
static pl_status unit_inputs(void *self, pl_real t, int degree, const pl_real *u) {
    pl_fmu *f = self;
    (void)degree;
    f->box->time = t;
    if (f->mode != PL_FMU_STEP && f->mode != PL_FMU_EVENT) return PL_OK;
    return f->unit.pending || f->mode == PL_FMU_EVENT ? handle_pending(f, u) : change_discrete(f, u);
}

/* Inputs of a step that begins at t. */
static pl_status begin_step(pl_fmu *f, double t, const double *u) {
    f->box->time = t;
    int tried = f->mode == PL_FMU_EVENT && f->unit.events;
    if (f->mode != PL_FMU_STEP && !tried) return failed(f, "the FMU is not initialised, or has ended");
    pl_status status = f->unit.pending || tried ? handle_pending(f, u)
                       : f->unit.events         ? change_discrete(f, u)
                                                : set_changed(f, u, 0);
    return status == PL_OK ? set_changed(f, u, PL_FMU_CONTINUOUS) : status;
}

/* ------------------------------------------------------------------------------------------------- stepping */

static pl_status step2(pl_fmu *f, double t, double h, double *reached) {
    int status = PL_FMU_CALL(f, PL_CALL2_do_step, f->f2.do_step(f->instance, t, h, PL_FMI2_TRUE)), ended = 0;
    double last = t;
    if (status == PL_FMI2_OK || status == PL_FMI2_WARNING) return PL_OK;
    if (status == PL_FMI2_PENDING) {
        f->mode = PL_FMU_ERROR;
        return failed(f, "fmi2DoStep returned fmi2Pending although it may not run on by itself");
    }
    if (status != PL_FMI2_DISCARD) return firm(f, status, PL_CALL2_do_step);
    pl_status told = pl_fmu_status(f, status, PL_CALL2_do_step); /* words, where nothing was done */
    if (f->f2.get_boolean_status)
        (void)PL_FMU_CALL(f, PL_CALL2_get_boolean_status,
                          f->f2.get_boolean_status(f->instance, PL_FMI2_TERMINATED, &ended));
    int known = f->f2.get_real_status &&
                PL_FMU_CALL(f, PL_CALL2_get_real_status,
                            f->f2.get_real_status(f->instance, PL_FMI2_LAST_SUCCESSFUL_TIME, &last)) <=
                    PL_FMI2_WARNING;
    if (ended) {
        *reached = known && last >= t && last <= t + h ? last : t;
        return PL_TERMINATED;
    }
    if (!known || !(last > t) || last > t + h) return told == PL_RETRY ? PL_FATAL : told;
    *reached = last;
    return PL_OK;
}

static pl_status step3(pl_fmu *f, double t, double h, double *reached) {
    bool event = false, ended = false, early = false;
    double last = t + h;
    pl_status status =
        firm(f,
             PL_FMU_CALL(f, PL_CALL3_do_step,
                         f->f3.do_step(f->instance, t, h, true, &event, &ended, &early, &last)),
             PL_CALL3_do_step);
    if (status != PL_OK) return status;
    if (early || ended) {
        if (!(last >= t) || last > t + h * (1.0 + 1e-9) + 1e-15 * fabs(t)) {
            f->mode = PL_FMU_ERROR;
            snprintf(f->words, sizeof f->words,
                     "fmi3DoStep from t = %.17g by %.17g says that it reached t = %.17g", t, h, last);
            return PL_FATAL;
        }
        if (early && last < *reached) *reached = last;
    }
    if (ended) return PL_TERMINATED;
    if (!event || !f->unit.events) return PL_OK;
    f->box->time = *reached;
    f->unit.pending = f->unit.defer;
    if (f->unit.defer) return PL_OK;
    status = enter_event_mode(f);
    return status == PL_OK ? leave_event_mode(f) : status;
}

static pl_status unit_advance(void *self, pl_real t, pl_real t_next, int degree, const pl_real *u,
                              pl_real *reached) {
    pl_fmu *f = self;
    pl_status status = begin_step(f, t, u);
    *reached = t_next;
    if (status != PL_OK) {
        *reached = t;
        return status;
    }
    if (f->head->version == 2) status = set_derivatives(f, degree, u);
    if (status != PL_OK) return status;
    f->unit.t = t;
    f->unit.degree = degree;
    f->unit.coefficient = u;
    f->unit.refused = 0;
    status = f->head->version == 2 ? step2(f, t, t_next - t, reached) : step3(f, t, t_next - t, reached);
    f->unit.coefficient = NULL;
    if (status == PL_OK && f->unit.refused) status = PL_FATAL;
    int moved = *reached - t > STUCK * (t_next - t);
    if (status == PL_OK && !moved && ++f->unit.stuck >= MOST_ITERATIONS)
        return failed(f, "steps of the FMU end where they begin");
    if (moved) f->unit.stuck = 0;
    f->box->time = *reached;
    pl_fmu_mend();
    return status;
}

static pl_status unit_initialise(void *self, pl_real t, const pl_real *u) {
    pl_fmu *f = self;
    pl_status status = pl_fmu_initialise(f, t, u);
    f->unit.stuck = f->unit.pending = 0;
    f->unit.next_event = HUGE_VAL;
    if (status == PL_OK && f->unit.events) {
        f->mode = PL_FMU_EVENT;
        status = leave_event_mode(f);
        if (status == PL_TERMINATED) return failed(f, "the FMU ends the simulation at its start");
    }
    pl_fmu_mend();
    return status == PL_RETRY ? PL_FATAL : status;
}

static pl_status unit_outputs(void *self, pl_real t, int n, const int *index, pl_real *y) {
    pl_fmu *f = self;
    (void)t;
    pl_status status = pl_fmu_get(f, &f->vector[PL_FMU_Y], n, index, y);
    pl_fmu_mend();
    return status == PL_RETRY ? PL_FATAL : status;
}

static const char *unit_error(void *self) {
    return ((const pl_fmu *)self)->words;
}

const char *pl_fmu_make_unit(pl_fmu *f) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    size_t most = (size_t)(f->head->unit[PL_FMU_UNIT_DERIVATIVES] + 1) * (size_t)(v->n + 1);
    pl_unit *unit = &f->unit.unit;
    memset(unit, 0, sizeof *unit);
    f->unit.reference = calloc(most, sizeof *f->unit.reference);
    f->unit.order = calloc(most, sizeof *f->unit.order);
    f->unit.value = calloc(most, sizeof *f->unit.value);
    f->unit.now = calloc((size_t)v->n + 1, sizeof *f->unit.now);
    f->unit.held = calloc((size_t)f->vector[PL_FMU_Y].n + 1, sizeof *f->unit.held);
    if (!f->unit.reference || !f->unit.order || !f->unit.value || !f->unit.now || !f->unit.held)
        return "there is not enough memory";
    for (int k = 0; k < f->vector[PL_FMU_Y].m; k++)
        for (int i = f->vector[PL_FMU_Y].first[k]; i < f->vector[PL_FMU_Y].first[k + 1]; i++)
            f->unit.held[i] = !(f->vector[PL_FMU_Y].variable[k].flags & PL_FMU_CONTINUOUS);
    unit->n_u = v->n;
    unit->n_y = f->vector[PL_FMU_Y].n;
    unit->name = f->text[PL_FMU_NAME];
    unit->u_start = f->u_start;
    unit->y_held = f->unit.held;
    unit->equal_steps = f->head->unit[PL_FMU_UNIT_EQUAL] != 0;
    unit->initialise = unit_initialise;
    unit->inputs = unit_inputs;
    unit->advance = unit_advance;
    unit->outputs = unit_outputs;
    unit->error = unit_error;
    return NULL;
}
