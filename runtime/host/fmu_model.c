/* Desktop only. Model exchange as a pl_model, by the state machine of the standard (FMI 2.0.4, 3.2.3; FMI 3.0, 3.3).
 *
 * Calls are made in the order in which a solver asks, none is left out or reused: an FMU may remember. Between events only
 * time, states and continuous inputs are set. Where the standard asks for a completed step, it is told before an event, too.
 * Time never goes back before the last event or completed step.
 *
 * f is another function after every event: an FMU does not say what it changed.
 */
#include "fmu.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <unistd.h>
#endif

#ifdef __SSE2__
#include <xmmintrin.h>
#define FLAGS   0x3fu /* of what has happened, not of how to compute */
#define USUAL   0x1f80u
#define MEND(f) (end_copy(), mend_rounding(f))
#else
#define MEND(f) end_copy()
#endif

#define MAX_EVENT_ITERATIONS 1000
#define SAME                 1e-6  /* relative difference up to which a state is the one that was set */
#define ROUNDED              4e-15 /* relative: times that differ by less are the same */
#define SMALLEST_NOMINAL     1e-50 /* tolerances and increments are taken from them */
#define LARGEST_NOMINAL      1e50
#define TIME_STEP            6e-8 /* relative: for a difference by time */

enum { TOLD_NOMINAL = 1, TOLD_STATE = 2 };

/* An FMU that forks and goes on in both processes has one result only. */
static inline void end_copy(void) {
    if (pl_box_is_copy) _exit(5);
}

#ifdef __SSE2__
/* An FMU that traps, rounds or flushes otherwise must not do so to the solver. */
static inline void mend_rounding(pl_fmu *f) {
    unsigned now = _mm_getcsr();
    (void)f;
    if ((now & ~FLAGS) != USUAL) _mm_setcsr(USUAL);
}
#endif

void pl_fmu_mend(void) {
    MEND((pl_fmu *)NULL);
}

static pl_status fail(pl_fmu *f, const char *words) {
    snprintf(f->words, sizeof f->words, "%s", words);
    return PL_FATAL;
}

/* --------------------------------------------------------------------------------------------- evaluation */

/* Continuous inputs that have other values than the instance has. */
static pl_status set_inputs(pl_fmu *f, const double *u) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    int any = 0;
    for (int k = 0; k < v->m; k++) {
        size_t at = (size_t)v->first[k], bytes = (size_t)v->variable[k].size * sizeof *u;
        f->chosen[k] =
            (v->variable[k].flags & PL_FMU_CONTINUOUS) && memcmp(f->u_set + at, u + at, bytes) != 0;
        if (!f->chosen[k]) continue;
        memcpy(f->u_set + at, u + at, bytes);
        any = 1;
    }
    return any ? pl_fmu_set(f, v, f->chosen, u) : PL_OK;
}

static pl_status not_running(pl_fmu *f) {
    if (f->mode == PL_FMU_ERROR || f->mode == PL_FMU_LOST) return PL_FATAL; /* with the words of that */
    return fail(f, "the FMU is not initialised");
}

/* Time, states and inputs. */
static inline pl_status set_point(pl_fmu *f, double t, const double *x, const double *u) {
    pl_black_box *box = f->box;
    const pl_fmi_common *c = &f->call;
    int n = f->vector[PL_FMU_X].n, status;
    if (f->mode != PL_FMU_CONTINUOUS_TIME) return not_running(f);
    /* a row at an event, but for rounding, shows what holds after it */
    if (t < f->t_floor && f->t_floor - t <= ROUNDED * fabs(t)) t = f->t_floor;
    box->count++;
    box->time = t;
    box->call = c->n_set_time;
    status = c->set_time(f->instance, t);
    if (status > PL_FMI2_WARNING || status < 0) {
        box->call = -box->call;
        return pl_fmu_status(f, status, c->n_set_time);
    }
    if (n > 0) {
        box->call = c->n_set_states;
        status = c->set_states(f->instance, x, (size_t)n);
        if (status > PL_FMI2_WARNING || status < 0) {
            box->call = -box->call;
            return pl_fmu_status(f, status, c->n_set_states);
        }
    }
    box->call = -box->call;
    return f->n_continuous > 0 ? set_inputs(f, u) : PL_OK;
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *out) {
    pl_fmu *f = self;
    pl_status status = set_point(f, t, x, u);
    if (status != PL_OK || f->vector[PL_FMU_X].n == 0) return status;
    f->box->call = f->call.n_get_derivatives;
    int done = f->call.get_derivatives(f->instance, out, (size_t)f->vector[PL_FMU_X].n);
    f->box->call = -f->call.n_get_derivatives;
    MEND(f);
    return done == PL_FMI2_OK ? PL_OK : pl_fmu_status(f, done, f->call.n_get_derivatives);
}

static pl_status roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    pl_fmu *f = self;
    pl_status status = set_point(f, t, x, u);
    if (status != PL_OK) return status;
    f->box->call = f->call.n_get_indicators;
    int done = f->call.get_indicators(f->instance, g, (size_t)f->head->n_roots);
    f->box->call = -f->box->call;
    MEND(f);
    return pl_fmu_status(f, done, f->call.n_get_indicators);
}

static pl_status outputs(void *self, pl_real t, const pl_real *x, const pl_real *u, int n, const int *index,
                         pl_real *y) {
    pl_fmu *f = self;
    pl_status status = set_point(f, t, x, u);
    if (status == PL_OK) status = pl_fmu_get(f, &f->vector[PL_FMU_Y], n, index, y);
    MEND(f);
    return status;
}

/* ------------------------------------------------------------------------------------ directional derivatives */

/* References of the continuous inputs, and their directions behind each other. */
static int input_seed(pl_fmu *f, const double *du, double *seed) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    int m = 0, count = 0;
    for (int k = 0; k < v->m; k++) {
        if (!(v->variable[k].flags & PL_FMU_CONTINUOUS)) continue;
        f->references[m++] = v->variable[k].reference;
        for (int i = v->first[k]; i < v->first[k + 1]; i++) seed[count++] = du[i];
    }
    return m;
}

static pl_status derive(pl_fmu *f, int m, const uint32_t *known, const double *seed, int count, double *out) {
    const pl_fmu_vector *x = &f->vector[PL_FMU_X];
    size_t unknowns = (size_t)x->m;
    if (f->head->version == 2)
        return pl_fmu_status(
            f,
            PL_FMU_CALL(f, PL_CALL2_get_directional_derivative,
                        f->f2.get_directional_derivative(f->instance, f->derivative, unknowns, known,
                                                         (size_t)m, seed, out)),
            PL_CALL2_get_directional_derivative);
    return pl_fmu_status(
        f,
        PL_FMU_CALL(f, PL_CALL3_get_directional_derivative,
                    f->f3.get_directional_derivative(f->instance, f->derivative, unknowns, known, (size_t)m,
                                                     seed, (size_t)count, out, (size_t)x->n)),
        PL_CALL3_get_directional_derivative);
}

static pl_status jvp(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real dt, const pl_real *dx,
                     const pl_real *du, pl_real *df) {
    pl_fmu *f = self;
    const pl_fmu_vector *v = &f->vector[PL_FMU_X];
    int n = v->n;
    double *more = f->x_now;
    memset(df, 0, (size_t)n * sizeof *df);
    pl_status status = set_point(f, t, x, u);
    if (status == PL_OK && dx) {
        for (int k = 0; k < v->m; k++) f->references[k] = v->variable[k].reference;
        status = derive(f, v->m, f->references, dx, n, df);
    }
    if (status == PL_OK && du && f->n_continuous > 0) {
        int m = input_seed(f, du, f->packed);
        status = derive(f, m, f->references, f->packed, f->n_continuous, more);
        for (int i = 0; status == PL_OK && i < n; i++) df[i] += more[i];
    }
    if (status == PL_OK && dt != 0.0) { /* the standard has no derivative by time */
        double step = TIME_STEP * fmax(1.0, fabs(t)), *now = f->packed;
        status = rhs(f, t, x, u, now);
        if (status == PL_OK) status = rhs(f, t + step, x, u, more);
        for (int i = 0; status == PL_OK && i < n; i++) df[i] += dt * (more[i] - now[i]) / step;
    }
    MEND(f);
    return status;
}

/* --------------------------------------------------------------------------------------------------- events */

typedef struct update {
    int again, terminate, nominals_changed, states_changed, next_defined;
    double next_time;
} update;

static pl_status update_once(pl_fmu *f, update *found) {
    if (f->head->version == 2) {
        pl_fmi2_event_info info;
        memset(&info, 0, sizeof info);
        pl_status status = pl_fmu_status(
            f, PL_FMU_CALL(f, PL_CALL2_new_discrete_states, f->f2.new_discrete_states(f->instance, &info)),
            PL_CALL2_new_discrete_states);
        *found = (update){info.again != 0,          info.terminate != 0,    info.nominals_changed != 0,
                          info.states_changed != 0, info.next_defined != 0, info.next_time};
        return status;
    }
    bool again = false, terminate = false, nominals = false, states = false, defined = false;
    double next = HUGE_VAL;
    pl_status status =
        pl_fmu_status(f,
                      PL_FMU_CALL(f, PL_CALL3_update_discrete_states,
                                  f->f3.update_discrete_states(f->instance, &again, &terminate, &nominals,
                                                               &states, &defined, &next)),
                      PL_CALL3_update_discrete_states);
    *found = (update){again, terminate, nominals, states, defined, next};
    return status;
}

/* Event iteration; then continuous time. */
static pl_status iterate(pl_fmu *f, update *all) {
    memset(all, 0, sizeof *all);
    for (int k = 0;; k++) {
        update one;
        if (k >= MAX_EVENT_ITERATIONS) {
            snprintf(f->words, sizeof f->words,
                     "the event iteration does not end: %s asks for another one for the %dth time",
                     f->head->version == 2 ? "fmi2NewDiscreteStates" : "fmi3UpdateDiscreteStates", k);
            return PL_FATAL;
        }
        pl_status status = update_once(f, &one);
        if (status == PL_RETRY) f->mode = PL_FMU_ERROR; /* an event cannot be tried again elsewhere */
        if (status != PL_OK) return PL_FATAL;
        all->terminate |= one.terminate;
        all->nominals_changed |= one.nominals_changed;
        all->states_changed |= one.states_changed;
        all->next_defined = one.next_defined;
        all->next_time = one.next_time;
        if (!one.again || all->terminate) break;
    }
    return PL_OK;
}

static pl_status enter_continuous(pl_fmu *f) {
    pl_status status =
        pl_fmu_status(f, PL_FMU_CALL(f, f->call.n_enter_continuous, f->call.enter_continuous(f->instance)),
                      f->call.n_enter_continuous);
    if (status == PL_OK) f->mode = PL_FMU_CONTINUOUS_TIME;
    return status == PL_OK ? PL_OK : PL_FATAL;
}

static pl_status get_states(pl_fmu *f, double *x) {
    int n = f->vector[PL_FMU_X].n;
    if (n == 0) return PL_OK;
    pl_status status =
        pl_fmu_status(f, PL_FMU_CALL(f, f->call.n_get_states, f->call.get_states(f->instance, x, (size_t)n)),
                      f->call.n_get_states);
    return status == PL_OK ? PL_OK : PL_FATAL;
}

/* Nominal values of the instance. 0 and others that none can be are repaired; 1 where the description has none: not entered. */
static int read_nominals(pl_fmu *f) {
    int n = f->vector[PL_FMU_X].n, changed = 0;
    double *now = f->x_now;
    if (n == 0 || !f->call.get_nominals) return 0;
    int status = PL_FMU_CALL(f, f->call.n_get_nominals, f->call.get_nominals(f->instance, now, (size_t)n));
    if (status != PL_FMI2_OK && status != PL_FMI2_WARNING) return 0; /* those of the description hold */
    for (int i = 0; i < n; i++) {
        double size = fabs(now[i]), old = f->x_nominal[i];
        if (!(size >= SMALLEST_NOMINAL && size <= LARGEST_NOMINAL)) {
            char words[200];
            snprintf(words, sizeof words,
                     "the nominal value of continuous state number %d is %g; the one of the description "
                     "holds, or 1",
                     i + 1, now[i]);
            if (!(f->told & TOLD_NOMINAL)) pl_fmu_warn(f, words);
            f->told |= TOLD_NOMINAL;
            continue;
        }
        if (size == 1.0 && f->nominal[i] == 0.0) size = 0.0;
        changed |= size != old;
        f->x_nominal[i] = size;
    }
    return changed;
}

/* What an event did, for the solver. */
static pl_status finish_event(pl_fmu *f, double t, double *x, const update *found, pl_event_info *info) {
    size_t bytes = (size_t)f->vector[PL_FMU_X].n * sizeof *x;
    pl_status status = PL_OK;
    if (found->states_changed && bytes > 0) status = get_states(f, x);
    if (found->nominals_changed && status == PL_OK) info->nominal_changed = read_nominals(f);
    info->x_changed = found->states_changed;
    info->f_changed = 1;
    info->terminate = found->terminate;
    f->next_time = found->next_defined ? found->next_time : HUGE_VAL;
    if (!(f->next_time >= t)) {
        snprintf(f->words, sizeof f->words,
                 "after the event at t = %.17g its next time event is said to be at t = %.17g", t,
                 f->next_time);
        return PL_FATAL;
    }
    info->next_time = f->next_time;
    f->t_floor = f->t_event = t;
    if (bytes > 0) memcpy(f->x_set, x, bytes);
    if (status == PL_OK) status = enter_continuous(f);
    return status;
}

static pl_status completed_step(pl_fmu *f, double t, int *event, int *terminate) {
    int call =
        f->head->version == 2 ? PL_CALL2_completed_integrator_step : PL_CALL3_completed_integrator_step;
    pl_status status;
    *event = *terminate = 0;
    if (f->head->version == 2) {
        pl_fmi2_boolean enter = 0, end = 0;
        if (!f->f2.completed_integrator_step) return PL_OK;
        status = pl_fmu_status(
            f, PL_FMU_CALL(f, call, f->f2.completed_integrator_step(f->instance, 1, &enter, &end)), call);
        *event = enter != 0;
        *terminate = end != 0;
    } else {
        bool enter = false, end = false;
        if (!f->f3.completed_integrator_step) return PL_OK;
        status = pl_fmu_status(
            f, PL_FMU_CALL(f, call, f->f3.completed_integrator_step(f->instance, true, &enter, &end)), call);
        *event = enter;
        *terminate = end;
    }
    if (status == PL_OK) f->t_floor = t;
    return status;
}

static int settled(const pl_fmu *f, double t, const double *x, const double *u) {
    size_t n = (size_t)f->vector[PL_FMU_X].n, n_u = (size_t)f->vector[PL_FMU_U].n;
    return t == f->t_event && (n == 0 || memcmp(x, f->x_set, n * sizeof *x) == 0) &&
           (n_u == 0 || memcmp(u, f->u_set, n_u * sizeof *u) == 0);
}

static pl_status event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                       pl_event_info *info) {
    pl_fmu *f = self;
    update found;
    int wants, ends = 0;
    if (f->ends) { /* at the very start */
        info->terminate = 1;
        return PL_OK;
    }
    if (!fired && info->again && settled(f, t, x, u)) return PL_OK; /* nothing has moved since */
    /* where a completed step asks for event mode the instance stands at t, and its states may mean something else already;
     * up to a jump the inputs before it hold; an event inside a step has none */
    int asked = f->asked && !fired && t == f->t_floor;
    f->asked = 0;
    pl_status status = asked ? PL_OK : set_point(f, t, x, fired ? u : f->u_set);
    /* also told where it is said not to be needed: a step ends here */
    if (status == PL_OK && t > f->t_floor) status = completed_step(f, t, &wants, &ends);
    if (status == PL_OK)
        status = pl_fmu_status(f, PL_FMU_CALL(f, f->call.n_enter_event, f->call.enter_event(f->instance)),
                               f->call.n_enter_event);
    if (status != PL_OK) return PL_FATAL;
    f->mode = PL_FMU_EVENT;
    const pl_fmu_vector *v = &f->vector[PL_FMU_U];
    if (v->n > 0 && memcmp(u, f->u_set, (size_t)v->n * sizeof *u) != 0) {
        for (int k = 0; k < v->m; k++) {
            size_t at = (size_t)v->first[k];
            f->chosen[k] = memcmp(u + at, f->u_set + at, (size_t)v->variable[k].size * sizeof *u) != 0;
        }
        status = pl_fmu_set(f, v, f->chosen, u);
        if (status != PL_OK) return PL_FATAL;
        memcpy(f->u_set, u, (size_t)v->n * sizeof *u);
    }
    status = iterate(f, &found);
    found.terminate |= ends;
    if (status == PL_OK) status = finish_event(f, t, x, &found, info);
    MEND(f);
    return status;
}

/* Does the instance have other states than were set? The standard allows that at events only, and then it must be said. */
static void compare_states(pl_fmu *f, double t, const double *x) {
    int n = f->vector[PL_FMU_X].n;
    if ((f->told & TOLD_STATE) || n == 0 || get_states(f, f->x_now) != PL_OK) return;
    for (int i = 0; i < n; i++) {
        double size = fmax(fabs(x[i]), f->x_nominal[i] > 0.0 ? f->x_nominal[i] : 1.0);
        if (fabs(f->x_now[i] - x[i]) <= SAME * size) continue;
        char words[300];
        snprintf(
            words, sizeof words,
            "at t = %.10g continuous state number %d was set to %.10g, but the FMU says that it is %.10g", t,
            i + 1, x[i], f->x_now[i]);
        pl_fmu_warn(f, words);
        f->told |= TOLD_STATE;
        return;
    }
}

static pl_status step_done(void *self, pl_real t, pl_real *x, const pl_real *u, int *request) {
    pl_fmu *f = self;
    int wants, ends;
    pl_status status = set_point(f, t, x, u);
    if (status == PL_OK) compare_states(f, t, x);
    if (status == PL_OK) status = completed_step(f, t, &wants, &ends);
    MEND(f);
    if (status != PL_OK) return PL_FATAL;
    f->asked = wants;
    *request = (wants ? PL_STEP_EVENT : 0) | (ends ? PL_STEP_TERMINATE : 0);
    return PL_OK;
}

/* ------------------------------------------------------------------------------------------ initialisation */

/* A state that was given an exact start value has it, before events. */
static pl_status check_given(pl_fmu *f, const double *x) {
    const pl_fmu_vector *v = &f->vector[PL_FMU_X];
    const uint8_t *given = f->child->given[PL_CHILD_X_GIVEN];
    const double *wanted = f->child->given[PL_CHILD_X];
    for (int k = 0; given && wanted && !f->begin.held && k < v->m; k++)
        for (int i = v->first[k]; i < v->first[k + 1]; i++) {
            double size = fmax(fabs(wanted[i]), fabs(x[i]));
            if (!given[i] || !(v->variable[k].flags & PL_FMU_EXACT)) continue;
            if (fabs(x[i] - wanted[i]) <= SAME * size) continue;
            snprintf(
                f->words, sizeof f->words,
                "continuous state number %d was given the start value %.10g, but the FMU begins with %.10g",
                i + 1, wanted[i], x[i]);
            return PL_FATAL;
        }
    return PL_OK;
}

/* The states of a user's point, and what follows from them. */
static pl_status hold(pl_fmu *f, double t, double *x, const double *wanted, pl_event_info *info) {
    const uint8_t *given = f->child->given[PL_CHILD_X_GIVEN];
    for (int i = 0; given && i < f->vector[PL_FMU_X].n; i++)
        if (given[i]) x[i] = wanted[i];
    info->again = 0;
    return event(f, t, x, f->u_set, NULL, info);
}

static pl_status initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    pl_fmu *f = self;
    update found;
    if (f->mode != PL_FMU_INSTANTIATED) { /* once more */
        pl_fmu_begin begin = f->begin;
        if (pl_fmu_open(f, &begin)) return PL_FATAL;
    }
    const double *given = f->child->given[PL_CHILD_X];
    pl_status status = pl_fmu_initialise(f, t, u);
    if (status == PL_OK) status = get_states(f, x);
    if (status == PL_OK) status = check_given(f, x);
    if (status == PL_OK) status = iterate(f, &found);
    if (status != PL_OK) return PL_FATAL;
    found.states_changed = found.nominals_changed = 1;
    status = finish_event(f, t, x, &found, info);
    if (status == PL_OK && f->begin.held && given) status = hold(f, t, x, given, info);
    f->ends = info->terminate;
    if (f->ends) info->next_time = t;
    MEND(f);
    return status;
}

static void nominal(void *self, pl_real *x_nominal) {
    const pl_fmu *f = self;
    memcpy(x_nominal, f->x_nominal, (size_t)f->vector[PL_FMU_X].n * sizeof *x_nominal);
}

static const char *words_of(void *self) {
    const pl_fmu *f = self;
    return f->words;
}

void pl_fmu_make_model(pl_fmu *f) {
    const pl_fmu_head *head = f->head;
    int n = f->vector[PL_FMU_X].n;
    int derives = head->version == 2 ? f->f2.get_directional_derivative != NULL
                                     : f->f3.get_directional_derivative != NULL;
    int completes = head->version == 2 ? f->f2.completed_integrator_step != NULL
                                       : f->f3.completed_integrator_step != NULL;
    f->model = (pl_model){
        .abi = PL_ABI,
        .n_x = n,
        .n_u = f->vector[PL_FMU_U].n,
        .n_p = f->vector[PL_FMU_P].n,
        .n_y = f->vector[PL_FMU_Y].n,
        .n_roots = (int)head->n_roots,
        .flags = PL_MODEL_IMPURE | PL_MODEL_REFUSES | PL_MODEL_SINGLE | PL_MODEL_SETTLES,
        .name = f->text[PL_FMU_NAME],
        .x_start = f->x_start,
        .x_nominal = f->x_nominal,
        .u_start = f->u_start,
        .p_start = f->p_start,
        .jac = {n, n, f->jac_start, f->jac_row},
        .initialise = initialise,
        .nominal = nominal,
        .rhs = rhs,
        .jvp = derives && (head->flags & PL_FMU_DIRECTIONAL) ? jvp : NULL,
        .roots = head->n_roots > 0 ? roots : NULL,
        .outputs = outputs,
        .event = event,
        .step_done = completes && (head->flags & PL_FMU_COMPLETED_STEP) ? step_done : NULL,
        .error = words_of,
    };
}
