/* Checked access to a model: inputs u(t), f with a test for NaN and Inf, roots, norms, products with L. */
#include "record.h"

#include <float.h>
#include <math.h>

/* Long sums go round eight partial sums: none waits for the one before. */
#define LANES    8
#define LONG_SUM 64

static pl_real total(const pl_real *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Index of the first value that is NaN or Inf, or -1. The sum of v*0 is 0 unless one of them is. */
int pl_first_nonfinite(int n, const pl_real *v) {
    pl_real lane[LANES] = {0.0}, sum;
    int at = 0;
    for (; at + LANES <= n; at += LANES)
        for (int k = 0; k < LANES; k++) lane[k] += v[at + k] * 0.0;
    sum = total(lane);
    for (; at < n; at++) sum += v[at] * 0.0;
    if (sum == 0.0) return -1;
    for (int i = 0; i < n; i++)
        if (!(v[i] - v[i] == 0.0)) return i;
    return -1;
}

pl_status pl_failed(pl_problem *p, pl_status status, int what, int index, pl_real t) {
    if (status > PL_OK) status = PL_FATAL; /* no answer of a model's function, and none to go on with */
    p->failure.status = (int)status;
    p->failure.what = what;
    p->failure.index = index;
    p->failure.t = t;
    return status;
}

/* Segment that holds at t, never beyond the next jump, where the solver stops and looks from the left, nor before the
 * last one that was passed. */
static int segment_at(const pl_inputs *in, pl_real t, int passed, int next_jump) {
    int low = 0, high = in->n_segments - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (in->start[middle] <= t)
            low = middle;
        else
            high = middle - 1;
    }
    if (low < passed) low = passed;
    return low >= next_jump ? next_jump - 1 : low;
}

int pl_input_touches(const pl_model *m, int j) {
    /* a condition has no derivative */
    return !m->jac_u.start || m->jac_u.start[j + 1] > m->jac_u.start[j] ||
           (m->input_kind && m->input_kind[j]);
}

int pl_input_bends(const pl_model *m, int j) {
    return m->input_kind ? m->input_kind[j] & PL_INPUT_BENT : !(m->flags & PL_MODEL_LINEAR);
}

int pl_input_segment(const pl_problem *p, pl_real t) {
    return p->inputs->n_segments > 0 ? segment_at(p->inputs, t, p->passed, p->next_jump) : -1;
}

static void set_from_segments(pl_problem *p, const pl_inputs *in, pl_real t) {
    int s = segment_at(in, t, p->passed, p->next_jump), n_u = in->n_u, degree = in->degree;
    const pl_real *c = in->coefficient + (size_t)s * (size_t)(degree + 1) * (size_t)n_u;
    pl_real dt = t - in->start[s];
    if (dt < 0.0) dt = 0.0;
    for (int j = 0; j < n_u; j++) {
        pl_real v = c[degree * n_u + j];
        for (int k = degree - 1; k >= 0; k--) v = v * dt + c[k * n_u + j];
        p->u[j] = v;
    }
}

pl_status pl_set_inputs(pl_problem *p, pl_real t) {
    const pl_inputs *in = p->inputs;
    if (!in) return PL_OK;
    if (in->n_segments > 0) set_from_segments(p, in, t);
    if (!in->call) return PL_OK;
    pl_status status = in->call(in->user, t, p->u);
    if (status != PL_OK) return pl_failed(p, status, PL_IN_INPUTS, -1, t);
    int bad = pl_first_nonfinite(in->n_u, p->u);
    return bad < 0 ? PL_OK : pl_failed(p, PL_NONFINITE, PL_IN_INPUTS, bad, t);
}

pl_status pl_rhs(pl_problem *p, pl_real t, const pl_real *x, pl_real *f) {
    const pl_model *m = p->model;
    if (p->inputs) {
        pl_status status = pl_set_inputs(p, t);
        if (status != PL_OK) return status;
    }
    p->count->n_rhs++;
    pl_status status = m->rhs(p->self, t, x, p->u, f);
    if (status != PL_OK) return pl_failed(p, status, PL_IN_RHS, -1, t);
    int bad = pl_first_nonfinite(m->n_x, f);
    return bad < 0 ? PL_OK : pl_failed(p, PL_NONFINITE, PL_IN_RHS, bad, t);
}

pl_status pl_roots(pl_problem *p, pl_real t, const pl_real *x, pl_real *g) {
    const pl_model *m = p->model;
    pl_status status = pl_set_inputs(p, t);
    if (status != PL_OK) return status;
    p->count->n_roots++;
    status = m->roots(p->self, t, x, p->u, g);
    if (status != PL_OK) return pl_failed(p, status, PL_IN_ROOTS, -1, t);
    int bad = pl_first_nonfinite(m->n_roots, g);
    return bad < 0 ? PL_OK : pl_failed(p, PL_NONFINITE, PL_IN_ROOTS, bad, t);
}

void pl_mass_times(const pl_model *m, const pl_real *v, pl_real *out) {
    int n = m->n_x;
    if (!m->mass.start) {
        for (int i = 0; i < n; i++) out[i] = v[i];
        return;
    }
    for (int i = 0; i < n; i++) out[i] = 0.0;
    for (int j = 0; j < n; j++)
        for (int k = m->mass.start[j]; k < m->mass.start[j + 1]; k++)
            out[m->mass.row[k]] += m->mass_value[k] * v[j];
}

pl_real pl_norm(const pl_problem *p, const pl_real *v, const pl_real *x) {
    int n = p->model->n_x;
    pl_real sum = 0.0;
    for (int i = 0; i < n; i++) {
        pl_real s = v[i] / (p->rtol * fabs(x[i]) + p->atol[i]);
        sum += s * s;
    }
    return n > 0 ? sqrt(sum / n) : 0.0;
}

/* An error below a tenth of the rounding of x cannot be asked for; zero and NaN end here too. */
static inline int reachable(pl_real scale, pl_real size) {
    return (scale > 0.1 * DBL_EPSILON * size) & (scale >= DBL_MIN);
}

pl_status pl_weights(pl_problem *p, pl_real t, const pl_real *x, pl_real *weight) {
    int n = p->model->n_x, i = 0;
    const pl_real rtol = p->rtol, *atol = p->atol;
    pl_real lane[LANES] = {0.0},
            out_of_reach; /* counted in reals: they stay in the registers of the scales */
    for (; n >= LONG_SUM && i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            pl_real size = fabs(x[i + k]), scale = rtol * size + atol[i + k];
            lane[k] += reachable(scale, size) ? 0.0 : 1.0;
            weight[i + k] = 1.0 / scale;
        }
    out_of_reach = total(lane);
    for (; i < n; i++) {
        pl_real size = fabs(x[i]), scale = rtol * size + atol[i];
        out_of_reach += reachable(scale, size) ? 0.0 : 1.0;
        weight[i] = 1.0 / scale;
    }
    for (i = 0; out_of_reach > 0.0; i++) {
        pl_real size = fabs(x[i]), scale = rtol * size + atol[i];
        if (!reachable(scale, size))
            return pl_failed(p, x[i] - x[i] == 0.0 ? PL_TOO_ACCURATE : PL_NONFINITE, PL_IN_NOTHING, i, t);
    }
    return PL_OK;
}

void pl_follow_nominal(pl_problem *p) {
    const pl_model *m = p->model;
    if (!p->atol_room || !m->nominal) return;
    m->nominal(p->self, p->atol_room);
    for (int i = 0; i < m->n_x; i++) {
        pl_real size = fabs(p->atol_room[i]); /* 0: not entered */
        p->atol_room[i] = PL_ATOL_SHARE * p->rtol * (size > 0.0 ? size : 1.0);
    }
}

pl_real pl_weighted_norm(int n, const pl_real *v, const pl_real *weight) {
    pl_real lane[LANES] = {0.0}, sum;
    int i = 0;
    for (; n >= LONG_SUM && i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) {
            pl_real s = v[i + k] * weight[i + k];
            lane[k] += s * s;
        }
    sum = total(lane);
    for (; i < n; i++) {
        pl_real s = v[i] * weight[i];
        sum += s * s;
    }
    return n > 0 ? sqrt(sum / n) : 0.0;
}
