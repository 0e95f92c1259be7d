/* Desktop only. A co-simulation FMU as a part of a coupling: initialise, steps with input polynomials, outputs, and saved states
 * by which steps are taken back, each a request of the parent (PL_FMU_PART). */
#include "fmu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a state holds besides the FMU's own. */
struct pl_fmu_saved {
    void *state; /* NULL: free */
    double *u_set;
    double next_event, t;
    int mode, stuck, pending;
};

static pl_status state_call(pl_fmu *f, int what, void **state) {
    static const int call2[] = {PL_CALL2_get_fmu_state, PL_CALL2_set_fmu_state, PL_CALL2_free_fmu_state};
    static const int call3[] = {PL_CALL3_get_fmu_state, PL_CALL3_set_fmu_state, PL_CALL3_free_fmu_state};
    int two = f->head->version == 2, call = two ? call2[what] : call3[what], status = PL_FMU_ABSENT;
    if (what == 0 && (two ? f->f2.get_fmu_state != NULL : f->f3.get_fmu_state != NULL))
        status = PL_FMU_CALL(f, call,
                             two ? (int)f->f2.get_fmu_state(f->instance, state)
                                 : (int)f->f3.get_fmu_state(f->instance, state));
    if (what == 1 && (two ? f->f2.set_fmu_state != NULL : f->f3.set_fmu_state != NULL))
        status = PL_FMU_CALL(f, call,
                             two ? (int)f->f2.set_fmu_state(f->instance, *state)
                                 : (int)f->f3.set_fmu_state(f->instance, *state));
    if (what == 2 && (two ? f->f2.free_fmu_state != NULL : f->f3.free_fmu_state != NULL))
        status = PL_FMU_CALL(f, call,
                             two ? (int)f->f2.free_fmu_state(f->instance, state)
                                 : (int)f->f3.free_fmu_state(f->instance, state));
    pl_status found = pl_fmu_status(f, status, call);
    return found == PL_RETRY ? PL_FATAL : found;
}

static void forget(pl_fmu *f, pl_fmu_saved *one, int call_it) {
    if (!one->state) return;
    if (call_it) (void)state_call(f, 2, &one->state);
    free(one->u_set);
    memset(one, 0, sizeof *one);
}

void pl_fmu_forget_states(pl_fmu *f) {
    int alive = f->instance && f->mode != PL_FMU_LOST;
    for (int k = 0; k < f->n_saved; k++) forget(f, f->saved + k, alive);
    free(f->saved);
    f->saved = NULL;
    f->n_saved = 0;
}

static pl_status save(pl_fmu *f, int64_t *slot) {
    int k = 0;
    while (k < f->n_saved && f->saved[k].state) k++;
    if (k == f->n_saved) {
        pl_fmu_saved *more = realloc(f->saved, (size_t)(k + 1) * sizeof *more);
        if (!more) return PL_MEMORY;
        memset(more + k, 0, sizeof *more);
        f->saved = more;
        f->n_saved = k + 1;
    }
    pl_fmu_saved *one = f->saved + k;
    size_t bytes = (size_t)f->vector[PL_FMU_U].n * sizeof(double);
    one->u_set = malloc(bytes + 8);
    if (!one->u_set) return PL_MEMORY;
    pl_status status = state_call(f, 0, &one->state);
    if (status == PL_OK && !one->state) {
        strcpy(f->words, "the FMU gave no state to save");
        status = PL_FATAL;
    }
    if (status != PL_OK) {
        free(one->u_set);
        memset(one, 0, sizeof *one);
        return status;
    }
    memcpy(one->u_set, f->u_set, bytes);
    one->next_event = f->unit.next_event;
    one->t = f->box->time;
    one->mode = f->mode;
    one->stuck = f->unit.stuck;
    one->pending = f->unit.pending;
    *slot = k;
    return PL_OK;
}

static pl_status restore(pl_fmu *f, int64_t slot) {
    if (slot < 0 || slot >= f->n_saved || !f->saved[slot].state) return PL_ARGUMENT;
    pl_fmu_saved *one = f->saved + slot;
    f->mode = one->mode; /* also out of an error, as the standard allows */
    pl_status status = state_call(f, 1, &one->state);
    if (status != PL_OK) return status;
    memcpy(f->u_set, one->u_set, (size_t)f->vector[PL_FMU_U].n * sizeof(double));
    f->unit.next_event = one->next_event;
    f->unit.stuck = one->stuck;
    f->unit.pending = one->pending;
    f->box->time = one->t;
    return PL_OK;
}

/* Not the state itself, but values of the FMU where it stands: the numbers and room for n of them. */
static pl_status act(pl_fmu *f, const pl_fmu_part_question *q, const double *numbers, pl_fmu_part_answer *a,
                     double *out) {
    const pl_unit *unit = &f->unit.unit;
    pl_status status;
    a->reached = q->t;
    switch (q->what) {
    case PL_FMU_PART_INITIALISE:
        return unit->initialise(f, q->t, numbers);
    case PL_FMU_PART_INPUTS:
        return unit->inputs(f, q->t, 0, numbers);
    case PL_FMU_PART_ADVANCE:
        f->unit.defer = q->slot == 1;
        status = unit->advance(f, q->t, q->t_next, (int)q->degree, numbers, &a->reached);
        f->unit.defer = 0;
        a->slot = f->unit.pending;
        return status;
    case PL_FMU_PART_OUTPUTS:
        a->n = q->n;
        return unit->outputs(f, q->t, (int)q->n, (const int *)(const void *)numbers, out);
    case PL_FMU_PART_SAVE:
        return save(f, &a->slot);
    case PL_FMU_PART_RESTORE:
        return restore(f, q->slot);
    case PL_FMU_PART_FORGET:
        if (q->slot >= 0 && q->slot < f->n_saved) forget(f, f->saved + q->slot, 1);
        return PL_OK;
    case PL_FMU_PART_TRY:
        return pl_fmu_try_inputs(f, q->t, numbers, q->slot == 1);
    default:
        return PL_ARGUMENT;
    }
}

/* Bytes that must follow the head. */
static int64_t wanted(const pl_fmu *f, const pl_fmu_part_question *q) {
    int64_t inputs = f->vector[PL_FMU_U].n * (int64_t)sizeof(double);
    switch (q->what) {
    case PL_FMU_PART_INITIALISE:
    case PL_FMU_PART_INPUTS:
    case PL_FMU_PART_TRY:
        return inputs;
    case PL_FMU_PART_ADVANCE:
        return q->degree < 0 || q->degree > 8 ? -1 : (q->degree + 1) * inputs;
    case PL_FMU_PART_OUTPUTS:
        return q->n < 0 || q->n > f->vector[PL_FMU_Y].n ? -1 : q->n * (int64_t)sizeof(int);
    default:
        return 0;
    }
}

int pl_fmu_serve_part(pl_child *c, const char *bytes, int64_t size) {
    pl_fmu *f = c->owner;
    const pl_fmu_part_question *q = (const pl_fmu_part_question *)(const void *)bytes;
    pl_fmu_part_answer a;
    memset(&a, 0, sizeof a);
    a.slot = -1;
    if (size < (int64_t)sizeof *q) return 0;
    if (!f->instance || f->head->kind != PL_FMU_CO_SIMULATION)
        return pl_child_refuse(c, "there is no instance of the FMU", NULL);
    if (wanted(f, q) != size - (int64_t)sizeof *q) return 0;
    size_t room = q->what == PL_FMU_PART_OUTPUTS ? (size_t)q->n : 0;
    double *out = malloc(room * sizeof *out + 8);
    if (!out) return pl_child_refuse(c, "there is not enough memory", NULL);
    f->words[0] = 0;
    a.status = act(f, q, (const double *)(const void *)(bytes + sizeof *q), &a, out);
    a.next_event = f->unit.next_event;
    if (a.status < 0) a.n = 0;
    const char *words = a.status < 0 ? f->words : "";
    a.words = (int64_t)strlen(words);
    int64_t values = a.n * (int64_t)sizeof(double);
    int fine = pl_child_put_head(c, PL_CHILD_ANSWERED, (int64_t)sizeof a + values + a.words) &&
               pl_child_put(c, &a, sizeof a) && pl_child_put(c, out, values) &&
               pl_child_put(c, words, a.words);
    free(out);
    return fine;
}
