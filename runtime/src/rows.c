/* Rows of results: at every step, at requested points from the dense output, at the start and where a run was left; what models
 * that remember the past are given within steps. */
#include "record.h"
#include "run.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define PASSED_PARTS 4 /* of a step, for models that remember what was between */

pl_status pl_run_row(pl_problem *p, pl_output *out, pl_real t, const pl_real *x) {
    const pl_model *m = p->model;
    int n = out->n_x;
    if (out->used >= out->capacity) return PL_MEMORY;
    if (out->checked > out->used) out->checked = out->used; /* a row was taken back */
    pl_real *row = out->row + (size_t)out->used * (size_t)(1 + n + out->n_y);
    row[0] = t;
    for (int i = 0; i < n; i++) row[1 + i] = x[out->x_index[i]];
    if (out->n_y > 0) {
        pl_status status = pl_set_inputs(p, t);
        if (status == PL_OK) status = m->outputs(p->self, t, x, p->u, out->n_y, out->y_index, row + 1 + n);
        if (status != PL_OK) return pl_failed(p, status, PL_IN_OUTPUTS, -1, t);
    }
    out->used++;
    return PL_OK;
}

/* Rows that may be written before the loop asks again: those of an event, or of the points up to the end of the open step
 * and one where the run ends. A step whose events were looked for cannot be taken up again in the middle. */
int64_t pl_run_lacks_rows(const pl_run *r, const pl_model *m, const void *state, const pl_output *out) {
    const pl_stepper *head = state;
    int64_t room = out->capacity - out->used, k = r->next_point;
    if (out->n_points < 0) return room < 3 ? 3 : 0;
    int64_t end = m->n_roots > 0 || m->event || m->step_done; /* what may end a run at a time of its own */
    if (out->n_points == 0 || room >= out->n_points - k + end) return 0;
    pl_real t = r->step_open ? head->t : r->aim ? fmax(r->t_aim, r->t_reached) : r->t_reached;
    while (k < out->n_points && out->point[k] <= t) k++;
    k += end - r->next_point;
    return room < k ? k : 0;
}

/* Rows for all requested points up to t (inside the last step). event: there is one at t. */
pl_status pl_run_points(pl_run *r, pl_problem *p, void *state, pl_output *out, pl_real t, int event) {
    const pl_method *method = pl_run_method(r);
    pl_real *x = pl_run_x(r, RUN_TRY);
    while (r->next_point < out->n_points && out->point[r->next_point] <= t) {
        pl_real point = out->point[r->next_point];
        method->interpolate(state, point, 0, x);
        pl_status status = event ? pl_guard_row(r, p, state, out, point, x) : pl_run_row(p, out, point, x);
        if (status != PL_OK) return status;
        r->next_point++;
    }
    return PL_OK;
}

/* The model remembers what it was between the ends of steps, up to `end`. */
pl_status pl_run_between(pl_run *r, pl_problem *p, void *state, pl_real end) {
    const pl_stepper *head = state;
    pl_real *x = pl_run_x(r, RUN_TRY);
    pl_status status = PL_OK;
    for (int k = 1; p->model->passed && k < PASSED_PARTS && status == PL_OK; k++) {
        pl_real t = head->t_old + (end - head->t_old) * k / PASSED_PARTS;
        pl_run_method(r)->interpolate(state, t, 0, x);
        status = pl_set_inputs(p, t);
        if (status == PL_OK) p->model->passed(p->self, t, x, p->u);
    }
    return status;
}

/* Row for the start, written once; also points that lie at the start. */
pl_status pl_run_start(pl_run *r, pl_problem *p, pl_output *out) {
    const pl_real *x = pl_run_x(r, RUN_AFTER);
    if (out->n_points < 0) return r->next_point++ == 0 ? pl_run_row(p, out, r->t_reached, x) : PL_OK;
    while (r->next_point < out->n_points && out->point[r->next_point] <= r->t_reached) {
        pl_status status = pl_run_row(p, out, out->point[r->next_point], x);
        if (status != PL_OK) return status;
        r->next_point++;
    }
    return PL_OK;
}

/* Time of the last row; -Inf: none yet. */
pl_real pl_run_last(const pl_output *out) {
    return out->used > 0 ? out->row[(size_t)(out->used - 1) * (size_t)(1 + out->n_x + out->n_y)] : -HUGE_VAL;
}

pl_status pl_run_check(pl_problem *p, pl_output *out, int64_t rows) {
    size_t width = (size_t)(1 + out->n_x + out->n_y);
    for (; out->checked < rows; out->checked++) {
        const pl_real *row = out->row + (size_t)out->checked * width;
        int bad = pl_first_nonfinite(out->n_y, row + 1 + out->n_x);
        if (bad < 0) continue;
        p->failure.status = PL_NONFINITE;
        p->failure.what = PL_IN_OUTPUTS;
        p->failure.index = out->y_index ? out->y_index[bad] : bad;
        p->failure.t = row[0];
        out->used = out->checked;
        return PL_NONFINITE;
    }
    return PL_OK;
}

void pl_run_present(pl_run *r, void *method_state, pl_real *x) {
    const pl_stepper *head = method_state;
    if (r->started && head->t == r->t_reached) /* attempts after it may have spoilt the interpolant */
        memcpy(x, pl_run_method(r)->x(method_state), (size_t)r->n_x * sizeof(pl_real));
    else if (r->started && head->t_old <= r->t_reached && r->t_reached <= head->t && head->t > head->t_old)
        pl_run_method(r)->interpolate(method_state, r->t_reached, 0, x);
    else
        memcpy(x, pl_run_x(r, RUN_AFTER), (size_t)r->n_x * sizeof(pl_real));
}

pl_status pl_run_flush(pl_run *r, pl_problem *p, void *method_state, pl_output *out) {
    pl_real *x = pl_run_x(r, RUN_TRY);
    if (!(r->t_reached > pl_run_last(out))) return PL_OK;
    pl_run_present(r, method_state, x);
    return pl_run_row(p, out, r->t_reached, x);
}

pl_status pl_run_row_silent(pl_run *r, pl_problem *p, pl_output *out, pl_real t, int64_t rows) {
    size_t n_row = (size_t)(1 + out->n_x + out->n_y);
    pl_status status = pl_run_row(p, out, t, pl_run_x(r, RUN_AFTER));
    if (status != PL_OK) return status;
    const pl_real *after = out->row + (size_t)(out->used - 1) * n_row, *before = after - n_row;
    if (memcmp(before, after, n_row * sizeof(pl_real)) == 0) out->used = rows;
    return PL_OK;
}

pl_status pl_run_row_after(pl_run *r, pl_problem *p, pl_output *out, pl_real t) {
    const pl_real *x = pl_run_x(r, RUN_AFTER);
    if (out->n_points < 0) return pl_run_row(p, out, t, x);
    if (out->n_points == 0 || t - pl_run_last(out) > 4.0 * DBL_EPSILON * fabs(t)) return PL_OK;
    /* the start or an event before this one, at the very point: the row is theirs */
    pl_real before = fmax(t - r->event_gap, r->t_start);
    if (t > before && before >= pl_run_last(out)) return PL_OK;
    out->used--; /* a requested point at the event, but for rounding: what holds from here on */
    return pl_run_row(p, out, out->point[r->next_point - 1], x);
}
