/* Newton's iteration for start values.
 *
 * Unknowns: states without a given value, parameters with fixed = false, discrete variables whose start values are guesses,
 * algebraic unknowns. Equations: conditions, algebraic rows.
 *
 *     Newton   J d = -r, d of least norm (start_step.c), halved until the residual shrinks
 *     rank     too few conditions: what they do not determine keeps its guess and is named; too many: accepted if they do
 *              not contradict each other
 */
#include "start.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SMALLEST_TERM    1e-8  /* of conditions between known values: ACCEPTED of it is rounding error */
#define TAKES_PART       1e-6  /* share of a null space from which on it counts */
#define LARGEST          1e100 /* a residual beyond it is no progress, whatever it was before */
#define MAX_NEWTON       60
#define SMALLEST_DAMPING 1e-6
#define DIFFERENCE       6e-6 /* central differences by parameters and discrete variables */
#define DENSE            800  /* unknowns up to which algebraic ones are not solved for first */

static size_t bytes(int n) {
    return (size_t)n * sizeof(pl_real);
}

/* ------------------------------------------------------------------------------------------------ unknowns */

void pl_start_read(const pl_search *s, int n, const int *unknown, pl_real *value) {
    for (int k = 0; k < n; k++) {
        int i = unknown[k];
        if (i < s->n_x)
            value[k] = s->x[i];
        else if (i < s->n_x + s->n_p)
            value[k] = s->q->p[i - s->n_x];
        else
            value[k] = s->m->memory(s->self, 0)[i - s->n_x - s->n_p];
    }
}

pl_status pl_start_write(pl_search *s, int n, const int *unknown, const pl_real *value) {
    int changed = 0;
    for (int k = 0; k < n; k++) {
        int i = unknown[k], d = i - s->n_x - s->n_p;
        if (i < s->n_x) {
            s->x[i] = value[k];
        } else if (d < 0) {
            s->q->p[i - s->n_x] = value[k];
            changed = 1;
        } else {
            s->in->choose_memory(s->self, d, value[k]);
            s->m->set_memory(s->self, d, value[k]);
        }
    }
    pl_status status = changed ? s->m->set_parameters(s->self, s->q->p) : PL_OK;
    return status == PL_OK ? PL_OK : pl_start_refused(s, status);
}

/* ----------------------------------------------------------------------------------------------- residuals */

pl_status pl_start_conditions(pl_search *s) {
    pl_status status = s->in->conditions(s->self, s->t, s->x, s->u, s->all);
    if (status != PL_OK) return pl_start_refused(s, status);
    if (s->q->n_given && s->in->asked) {
        s->in->asked(s->self, s->asked);
        for (int k = 0; k < s->n_c; k++)
            if (s->is_given[k]) s->all[k] += s->asked[k] - s->given[k];
    }
    return PL_OK;
}

/* Conditions, then algebraic rows. */
static pl_status residual(pl_search *s, pl_real *r) {
    pl_status status = pl_start_conditions(s);
    if (status != PL_OK) return status;
    for (int k = 0; k < s->n_kept; k++) r[k] = s->all[s->kept[k]];
    status = s->m->rhs(s->self, s->t, s->x, s->u, s->f);
    if (status != PL_OK) return pl_start_refused(s, status);
    memcpy(r + s->n_kept, s->f + s->in->n_states, bytes(s->n_a));
    return PL_OK;
}

/* By a parameter or a discrete variable: few of them are unknowns. */
static pl_status by_difference(pl_search *s, int unknown, pl_real *column) {
    int rows = s->n_kept + s->n_a;
    pl_real at, high, low;
    pl_start_read(s, 1, &unknown, &at);
    pl_real h = DIFFERENCE * fmax(s->size[unknown], fabs(at));
    high = at + h;
    low = at - h;
    pl_status status = pl_start_write(s, 1, &unknown, &high);
    if (status == PL_OK) status = residual(s, column);
    if (status == PL_OK) status = pl_start_write(s, 1, &unknown, &low);
    if (status == PL_OK) status = residual(s, s->low);
    if (status == PL_OK) status = pl_start_write(s, 1, &unknown, &at);
    for (int i = 0; i < rows; i++) column[i] = (column[i] - s->low[i]) / (2.0 * h);
    return status;
}

/* d residual / d unknowns by columns along unit directions, scaled. */
static pl_status jacobian(pl_search *s) {
    int rows = s->n_kept + s->n_a;
    memset(s->dx, 0, bytes(s->n_x));
    for (int c = 0; c < s->n_unknown; c++) {
        pl_real *column = s->j + (size_t)c * (size_t)rows;
        int i = s->unknown[c];
        if (i < s->n_x) {
            s->dx[i] = 1.0;
            pl_status status = s->in->along(s->self, s->t, s->x, s->u, s->dx, s->f, s->all);
            s->dx[i] = 0.0;
            if (status != PL_OK) return pl_start_fail(s, PL_START_DERIVATIVE, status);
            for (int k = 0; k < s->n_kept; k++) column[k] = s->all[s->kept[k]];
            memcpy(column + s->n_kept, s->f + s->in->n_states, bytes(s->n_a));
        } else {
            pl_status status = by_difference(s, i, column);
            if (status != PL_OK) return status;
        }
        for (int k = 0; k < rows; k++) column[k] *= s->scale[c];
    }
    return PL_OK;
}

/* Scales of the rows: their largest derivative; of conditions between known values their largest term. */
static pl_status weights(pl_search *s) {
    int rows = s->n_kept + s->n_a, known = 0;
    for (int k = 0; k < rows; k++) s->largest[k] = 0.0;
    for (int c = 0; c < s->n_unknown; c++) {
        const pl_real *column = s->j + (size_t)c * (size_t)rows;
        for (int k = 0; k < rows; k++) {
            pl_real size = fabs(column[k]);
            if (size > s->largest[k]) s->largest[k] = size;
        }
    }
    for (int k = 0; k < s->n_kept; k++) known |= s->largest[k] == 0.0;
    if (known) {
        pl_status status = s->in->terms(s->self, s->t, s->x, s->u, s->all);
        if (status != PL_OK) return pl_start_refused(s, status);
    }
    for (int k = 0; k < rows; k++) {
        pl_real scale = s->largest[k];
        if (scale == 0.0) {
            scale = k < s->n_kept ? s->all[s->kept[k]] : 1.0;
            if (!(scale > SMALLEST_TERM) || !(scale <= DBL_MAX)) scale = SMALLEST_TERM;
        }
        s->weight[k] = 1.0 / scale;
    }
    return PL_OK;
}

/* ---------------------------------------------------------------------------------------------------- rank */

/* Places that take part, the largest share first; of equal ones (but for rounding) the first. */
static int members(int n, const pl_real *share, int *found) {
    int count = 0;
    for (int k = 0; k < n; k++) {
        if (!(share[k] > TAKES_PART)) continue;
        int at = count++;
        while (at > 0 && share[found[at - 1]] < share[k] * (1.0 - 1e-9)) {
            found[at] = found[at - 1];
            at--;
        }
        found[at] = k;
    }
    return count;
}

/* What the null spaces of the Jacobian hold. `share`: work, unknowns or rows, whatever is more. */
static void note_rank(pl_search *s, const pl_start_step *step, pl_real *share) {
    pl_start_report *report = s->report;
    report->n_undetermined = report->n_redundant = 0;
    if (step->rank == step->n_rows && step->rank == step->n_cols) return;
    if (step->rank < step->n_rows) {
        pl_null_rows(step->n_rows, step->n_cols, step->matrix, step->rank, step->work, share);
        report->n_redundant = members(step->n_rows, share, s->redundant);
        for (int k = 0; k < report->n_redundant; k++) {
            int row = s->redundant[k];
            s->redundant[k] = row < s->n_kept ? s->kept[row] : s->n_c + row - s->n_kept;
        }
    }
    if (step->rank < step->n_cols) {
        pl_null_columns(step->n_rows, step->n_cols, step->rank, step->work, share);
        report->n_undetermined = members(step->n_cols, share, s->undetermined);
        for (int k = 0; k < report->n_undetermined; k++) s->undetermined[k] = s->unknown[s->undetermined[k]];
    }
}

/* Which rows are violated, the worst first. */
static pl_status violated(pl_search *s) {
    pl_status status = pl_start_fail(s, PL_START_RESIDUAL, PL_INCONSISTENT);
    pl_start_failure *failure = &s->report->failure;
    int rows = s->n_kept + s->n_a;
    for (int k = 0; k < rows; k++) {
        pl_real size = fabs(s->r[k] * s->weight[k]);
        if (size <= PL_START_DONE) continue;
        int at = failure->n_rows;
        while (at > 0 && !(fabs(s->r[failure->row[at - 1]] * s->weight[failure->row[at - 1]]) >= size)) {
            if (at < PL_START_ROWS) failure->row[at] = failure->row[at - 1];
            at--;
        }
        if (at == PL_START_ROWS) continue;
        failure->row[at] = k;
        if (failure->n_rows < PL_START_ROWS) failure->n_rows++;
    }
    failure->known = failure->n_rows > 0 && s->largest[failure->row[0]] == 0.0;
    for (int k = 0; k < failure->n_rows; k++) {
        int row = failure->row[k];
        failure->residual[k] = s->r[row];
        failure->row[k] = row < s->n_kept ? s->kept[row] : s->n_c + row - s->n_kept;
    }
    while (failure->n_open < s->report->n_undetermined && failure->n_open < PL_START_NAMES) {
        failure->open[failure->n_open] = s->undetermined[failure->n_open];
        failure->n_open++;
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------- Newton */

static pl_real weighted(int n, const pl_real *r, const pl_real *weight) {
    pl_real sum = 0.0;
    for (int k = 0; k < n; k++) sum += (r[k] * weight[k]) * (r[k] * weight[k]);
    return sqrt(sum);
}

/* Is the residual `new` smaller than r? */
static int is_progress(const pl_search *s, const pl_real *new) {
    int rows = s->n_kept + s->n_a;
    for (int k = 0; k < rows; k++)
        if (!(fabs(new[k]) < LARGEST)) return 0;
    return weighted(rows, new, s->weight) < weighted(rows, s->r, s->weight);
}

/* The part `damping` of the step; 1: the residual there is smaller. */
static int helps(pl_search *s, pl_real damping) {
    for (int c = 0; c < s->n_unknown; c++) s->trial[c] = s->before[c] + damping * s->step[c] * s->scale[c];
    return pl_start_write(s, s->n_unknown, s->unknown, s->trial) == PL_OK &&
           residual(s, s->trial_r) == PL_OK && is_progress(s, s->trial_r);
}

/* Step, and what it tells of the rank. */
static pl_status next_step(pl_search *s) {
    int rows = s->n_kept + s->n_a;
    pl_start_step found;
    pl_start_read(s, s->n_unknown, s->unknown, s->before);
    /* of where it is now: a guess far away must not loosen the tolerance */
    for (int c = 0; c < s->n_unknown; c++) s->scale[c] = fmax(s->size[s->unknown[c]], fabs(s->before[c]));
    pl_status status = jacobian(s);
    if (status == PL_OK) status = weights(s);
    if (status != PL_OK) return status;
    for (int c = 0; c < s->n_unknown; c++)
        for (int k = 0; k < rows; k++) s->j[(size_t)c * (size_t)rows + k] *= s->weight[k];
    for (int k = 0; k < rows; k++) s->scaled[k] = -s->r[k] * s->weight[k];
    if (!pl_start_smallest(rows, s->n_unknown, s->n_a, s->j, s->scaled, s->step, s->dense, &found))
        return pl_start_fail(s, PL_START_NONFINITE, PL_NONFINITE);
    note_rank(s, &found, s->j); /* the matrix is not needed any more */
    return PL_OK;
}

static pl_status newton(pl_search *s) {
    int rows = s->n_kept + s->n_a;
    pl_status status = residual(s, s->r);
    for (int iteration = 0; status == PL_OK && iteration < MAX_NEWTON; iteration++) {
        s->report->iterations++;
        status = next_step(s);
        if (status != PL_OK) return status;
        pl_real size = 0.0, far = 1.0;
        for (int k = 0; k < rows; k++)
            if (!(fabs(s->scaled[k]) <= size))
                size = s->scaled[k] == s->scaled[k] ? fabs(s->scaled[k]) : HUGE_VAL;
        for (int c = 0; c < s->n_unknown; c++) far = fmax(far, fabs(s->before[c] / s->scale[c]));
        const int is_done = size <= PL_START_DONE * far;
        pl_real damping = 1.0;
        int better = helps(
            s, damping); /* where it is done as well: then less depends on how derivatives were rounded */
        if (is_done && better) {
            pl_start_accept(s);
            return PL_OK;
        }
        while (!better && !is_done && (damping *= 0.5) >= SMALLEST_DAMPING) better = helps(s, damping);
        if (!better) {
            status = pl_start_write(s, s->n_unknown, s->unknown, s->before);
            if (status == PL_OK) status = residual(s, s->r);
            if (status != PL_OK) return status;
            if (!is_done && size > PL_START_ACCEPTED) return violated(s);
            pl_start_accept(s);
            return PL_OK;
        }
        memcpy(s->r, s->trial_r, bytes(rows));
        pl_start_accept(s);
    }
    return status == PL_OK ? violated(s) : status;
}

pl_status pl_start_solve(pl_search *s) {
    int n = 0;
    for (int k = 0; k < s->n_free; k++) s->unknown[n++] = s->free[k];
    for (int k = 0; k < s->n_more; k++) s->unknown[n++] = s->more[k];
    if (!s->n_kept) {
        s->report->n_undetermined = n;
        s->report->n_redundant = 0;
        memcpy(s->undetermined, s->unknown, (size_t)n * sizeof(int));
    }
    for (int k = 0; k < s->n_a; k++) s->unknown[n++] = s->in->n_states + k;
    s->n_unknown = n;
    if (!s->n_kept && !s->n_a) {
        pl_status status = pl_start_evaluate(s);
        if (status == PL_OK) pl_start_accept(s);
        return status;
    }
    if (!s->n_kept || n > DENSE) {
        pl_status status = pl_start_algebraic(s);
        if (status != PL_OK || !s->n_kept) return status;
    }
    return newton(s);
}

pl_status pl_start_try(pl_search *s) {
    pl_start_read(s, s->n_more, s->more, s->before_more);
    pl_status status = pl_start_solve(s);
    if (status == PL_OK) return PL_OK;
    (void)pl_start_write(s, s->n_more, s->more, s->before_more);
    return status;
}
