/* What the inputs do on an interval of time.
 *
 * A piece of degree d, about the left end of its part of the interval, with h the length of that part:
 *     u = c_0 + sum_k c_k [0, h^k],    u' = sum_k k c_k [0, h^(k-1)],
 * exact for straight lines, and as narrow as wanted for higher degrees on short intervals. Of functions of time only the
 * values at the ends and at the looks are known; their slope is taken to be up to twice that of the line through the ends.
 */
#include "run.h"

#include <math.h>

static void widen(pl_range *range, pl_real lo, pl_real hi) {
    range->lo = fmin(range->lo, lo);
    range->hi = fmax(range->hi, hi);
}

/* Coefficient k of a polynomial about the distance dt from its start. */
static pl_real about(const pl_real *c, int n_u, int degree, int k, pl_real dt) {
    pl_real v = 0.0, choose = 1.0;
    for (int m = k; m < degree; m++) choose *= (pl_real)(m + 1) / (pl_real)(m + 1 - k);
    for (int m = degree; m >= k; m--) {
        v = v * dt + choose * c[m * n_u];
        choose *= (pl_real)(m - k) / (pl_real)m;
    }
    return v;
}

/* Input j on the part of segment s between the times a and b. */
static void piece(const pl_inputs *in, int s, int j, pl_real a, pl_real b, pl_range *range) {
    const pl_real *c = in->coefficient + (size_t)s * (size_t)(in->degree + 1) * (size_t)in->n_u + j;
    pl_real from = fmax(a - in->start[s], 0.0), h = fmax(b - in->start[s], 0.0) - from, power = 1.0;
    pl_real lo = about(c, in->n_u, in->degree, 0, from), hi = lo, slope_lo = 0.0, slope_hi = 0.0;
    for (int k = 1; k <= in->degree; k++) {
        pl_real ck = about(c, in->n_u, in->degree, k, from), rate = k * ck * power;
        slope_lo += k == 1 ? rate : fmin(rate, 0.0);
        slope_hi += k == 1 ? rate : fmax(rate, 0.0);
        power *= h;
        lo += fmin(ck * power, 0.0);
        hi += fmax(ck * power, 0.0);
    }
    widen(range, lo, hi);
    range->slope_lo = fmin(range->slope_lo, slope_lo);
    range->slope_hi = fmax(range->slope_hi, slope_hi);
}

static pl_status at_ends(pl_problem *p, pl_real from, pl_real to, pl_range *range) {
    int n = p->model->n_u;
    for (int end = 0; end < 2; end++) {
        pl_status status = pl_set_inputs(p, end ? to : from);
        if (status != PL_OK) return status;
        for (int j = 0; j < n; j++) {
            pl_range *r = &range[j];
            pl_real u = p->u[j], slope = end && to > from ? 2.0 * (u - r->lo) / (to - from) : 0.0;
            r->slope_lo = fmin(slope, 0.0);
            r->slope_hi = fmax(slope, 0.0);
            widen(r, u, u);
        }
        if (!(to > from)) break;
    }
    return PL_OK;
}

pl_status pl_input_ranges(pl_problem *p, pl_real from, pl_real to, pl_range *range) {
    const pl_inputs *in = p->inputs;
    int n = p->model->n_u;
    for (int j = 0; j < n; j++) {
        range[j].lo = range[j].slope_lo = HUGE_VAL;
        range[j].hi = range[j].slope_hi = -HUGE_VAL;
    }
    if (!in || in->call || in->n_segments == 0) {
        pl_status status = at_ends(p, from, to, range);
        if (status != PL_OK || !in) return status;
        for (pl_real t = pl_watch_look(p, from); t < to; t = pl_watch_look(p, t)) {
            const pl_real *u = in->look_u + (size_t)(pl_look_after(in, t) - 1) * (size_t)n;
            for (int j = 0; j < n; j++) widen(&range[j], u[j], u[j]);
        }
        return PL_OK;
    }
    int last = pl_input_segment(p, to);
    for (int s = pl_input_segment(p, from); s <= last; s++)
        for (int j = 0; j < n; j++)
            piece(in, s, j, fmax(from, in->start[s]), s < last ? in->start[s + 1] : to, &range[j]);
    if (to > from) return PL_OK;
    pl_status status = pl_set_inputs(p, from); /* at a point the very value that relations see */
    for (int j = 0; j < n && status == PL_OK; j++) range[j].lo = range[j].hi = p->u[j];
    return status;
}
