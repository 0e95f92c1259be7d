/* Notes that let a run be explained afterwards: who limited the steps, what failed where. No effect on the run. */
#include "pliant.h"
#include "record.h"

#include <math.h>

#define NEAR_ZERO   1e-3
#define LOOK_AT_ALL 1000 /* states up to which every step is looked at; beyond, every eighth */

int pl_largest(int n, const pl_real *v, const pl_real *weight) {
    int at = -1;
    pl_real most = -1.0;
    for (int i = 0; i < n; i++) {
        pl_real size = fabs(weight ? v[i] * weight[i] : v[i]);
        if (size > most && size <= HUGE_VAL) {
            most = size;
            at = i;
        }
    }
    return at;
}

void pl_note(pl_problem *p, int kind, int index, pl_real value, pl_real t) {
    pl_record *r = p->record;
    if (!r) return;
    r->seen[kind]++;
    if (index >= 0 && index < r->n) {
        if (kind == PL_SAW_ERROR) r->error_fails[index]++;
        if (kind == PL_SAW_NEWTON) r->newton_fails[index]++;
    }
    if (r->used >= r->capacity && r->full) r->full(r);
    if (r->used >= r->capacity) return;
    pl_incident *note = r->incident + r->used++;
    note->t = t;
    note->h = p->failure.h;
    note->value = value;
    note->kind = kind;
    note->index = index;
}

void pl_note_failure(pl_problem *p, pl_status status, int index, pl_real value, pl_real t) {
    if (status == PL_RETRY || status == PL_NONFINITE)
        pl_note(p, PL_SAW_REFUSED, p->failure.index, 0.0, t);
    else if (status == PL_SINGULAR)
        pl_note(p, PL_SAW_SINGULAR, p->failure.index, 0.0, t);
    else
        pl_note(p, PL_SAW_NEWTON, index, value, t);
}

void pl_note_limit(pl_problem *p, int n, int at, const pl_real *x) {
    pl_record *r = p->record;
    if (!r) return;
    for (int i = 0; i < n; i++)
        if (fabs(x[i]) > r->largest[i]) r->largest[i] = fabs(x[i]);
    if (at < 0) return;
    r->limits[at]++;
    if (fabs(x[at]) < NEAR_ZERO * r->largest[at]) r->near_zero[at]++;
}

void pl_note_step(pl_problem *p, int n, const pl_real *v, const pl_real *weight, const pl_real *x) {
    if (!p->record || (n > LOOK_AT_ALL && p->count->n_steps % 8)) return;
    pl_note_limit(p, n, pl_largest(n, v, weight), x);
}

void pl_tell(pl_problem *p, pl_real t, const pl_real *x, int what) {
    const pl_model *m = p->model;
    if (!p->tell || !m->warning) return;
    if (what != PL_TELL_REST && p->inputs && pl_set_inputs(p, t) != PL_OK) what = PL_TELL_REST;
    for (const char *text; (text = m->warning(p->self, t, x, p->u, what)); what = PL_TELL_REST)
        p->tell(p->host, t, text);
}
