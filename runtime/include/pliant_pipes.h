/* spatialDistribution(...) in a generated model: what is in a pipe, by the place at which it would stand at x = 0.
 *
 *     dz/dt + v dz/dy = 0, v = der(x), y in [0, 1]:  z(y, t) = Z(y - x(t))
 *
 * Z is kept at points: the initial profile, linear between its points, and what flowed in at the steps taken and at
 * events. Stretches that flowed in between events are interpolated in time: a place of Z belongs to the time at which
 * it was the end where things flow in, by the polynomial of x through neighbouring points, and its value to the polynomial
 * of in0 or in1. So slow flow, and flow that turns, costs no accuracy. Jumps leave the pipe at events: until such an event
 * has been, the stretch before it holds. Its root function is the distance of the next jump from the end, with a sign
 * that changes whenever one leaves. A model includes this with PL_N_PIPES, PL_PIPE_ROOM, pipe_first (where the profile
 * of each begins), pipe_points and
 *
 *     pipe_inputs(m, t, x, u, value)     for each pipe in0, in1, x, positiveVelocity
 *     pipe_profile(m, t, x, u, value)    for each pipe its points, then their values
 *
 * Symbols: s a place of Z, the outlet's or another; low and high the ends of what can leave up to the next jump.
 */
#ifndef PLIANT_PIPES_H
#define PLIANT_PIPES_H

#include "pliant_generated.h"

#define PL_PIPE_DEGREE 8                    /* points of a polynomial */
#define PL_PIPE_SAME   (64.0 * DBL_EPSILON) /* of x: two places are one */
#define PL_PIPE_NEAR   1e-10                /* of the pipe: a jump leaves together with another event */
#define PL_PIPE_JUMP   1e-9                 /* of a value: what counts as one */
#define PL_PIPE_ROUNDS 60

/* What is between a point and the next one above. The last two have no width. */
enum { PL_PIPE_FLOWS = 0, PL_PIPE_LINE = 1, PL_PIPE_BENDS = 2, PL_PIPE_JUMPS = 3 };

/* Points have numbers that stay while others come and go at both ends. */
static int pipe_slot(int k, int i) {
    const int j = i % PL_PIPE_ROOM;
    return k * PL_PIPE_ROOM + (j < 0 ? j + PL_PIPE_ROOM : j);
}

static pl_real pipe_at(const model *m, int k, int i) {
    return m->pipe_place[pipe_slot(k, i)];
}

static int pipe_kind(const model *m, int k, int i) {
    return m->pipe_kinds[pipe_slot(k, i)];
}

static int pipe_last(const model *m, int k) {
    return m->pipe_begin[k] + m->pipe_n[k] - 1;
}

/* What can leave in this direction: from the last jump that has left to the next one. */
static void pipe_range(const model *m, int k, int positive, int *low, int *high) {
    *low = m->pipe_begin[k];
    *high = pipe_last(m, k);
    if (positive) {
        if (m->pipe_positive[k] && m->pipe_left[k] < *high) *high = m->pipe_left[k];
        for (int i = *high - 1; i >= *low; i--)
            if (pipe_kind(m, k, i) == PL_PIPE_JUMPS) {
                *low = i + 1;
                return;
            }
    } else {
        if (!m->pipe_positive[k] && m->pipe_left[k] > *low) *low = m->pipe_left[k];
        for (int i = *low; i < *high; i++)
            if (pipe_kind(m, k, i) == PL_PIPE_JUMPS) {
                *high = i;
                return;
            }
    }
}

static void pipe_bounds(const model *m, int k, int positive, int *low, int *high) {
    *low = m->pipe_low[k];
    *high = m->pipe_high[k];
    if (positive != m->pipe_positive[k]) pipe_range(m, k, positive, low, high);
}

/* Polynomials of place and value in time, in Newton's form. */
typedef struct pipe_polynomial {
    int n;
    pl_real when[PL_PIPE_DEGREE], place[PL_PIPE_DEGREE], part[PL_PIPE_DEGREE];
} pipe_polynomial;

static pl_real pipe_sum(const pipe_polynomial *p, const pl_real *part, pl_real tau, pl_real *slope) {
    pl_real sum = part[p->n - 1], rate = 0.0;
    for (int i = p->n - 2; i >= 0; i--) {
        rate = rate * (tau - p->when[i]) + sum;
        sum = sum * (tau - p->when[i]) + part[i];
    }
    if (slope) *slope = rate;
    return sum;
}

/* One more point; what it adds to place and value around the middle. */
static void pipe_add(pipe_polynomial *p, const pl_real point[3], pl_real middle, pl_real size[2]) {
    pl_real factor = 1.0, around = 1.0, place = 0.0, value = 0.0;
    for (int i = 0; i < p->n; i++) {
        place += p->place[i] * factor;
        value += p->part[i] * factor;
        factor *= point[0] - p->when[i];
        around *= middle - p->when[i];
    }
    p->when[p->n] = point[0];
    p->place[p->n] = (point[1] - place) / factor;
    p->part[p->n] = (point[2] - value) / factor;
    size[0] = fabs(around * p->place[p->n]);
    size[1] = fabs(around * p->part[p->n]);
    p->n++;
}

static void pipe_point(const model *m, int k, int i, pl_real point[3]) {
    const int j = pipe_slot(k, i);
    point[0] = m->pipe_time[j];
    point[1] = m->pipe_place[j];
    point[2] = m->pipe_value[j];
}

/* What is read, and how it follows from the place and from what flows in now. */
typedef struct pipe_reading {
    pl_real value, slope, share, when;
} pipe_reading;

/* Between the first two points of p: the time of place s. */
static void pipe_solve(const pipe_polynomial *p, pl_real s, pl_real a, pl_real b, pipe_reading *out) {
    pl_real rate, tau, end[2] = {pipe_sum(p, p->place, a, NULL) - s, pipe_sum(p, p->place, b, NULL) - s};
    tau = end[1] == end[0] ? a : a - end[0] * (b - a) / (end[1] - end[0]);
    for (int i = 0; i < PL_PIPE_ROUNDS; i++) {
        const pl_real off = pipe_sum(p, p->place, tau, &rate) - s, before = tau;
        if (off == 0.0) break;
        if ((off < 0.0) == (end[0] < 0.0))
            a = tau;
        else
            b = tau;
        tau = rate != 0.0 ? tau - off / rate : a;
        if (!(tau > fmin(a, b) && tau < fmax(a, b))) tau = 0.5 * (a + b);
        if (fabs(tau - before) <= DBL_EPSILON * fabs(tau)) break;
    }
    pl_real change;
    out->when = tau;
    out->value = pipe_sum(p, p->part, tau, &change);
    pipe_sum(p, p->place, tau, &rate);
    out->slope = rate != 0.0 ? change / rate : 0.0;
}

/* Within the points low .. high, or beyond the end where things flow in, where ``now`` is (NULL: not). */
static void pipe_read(const model *m, int k, pl_real s, const int range[2], const pl_real *now, int positive,
                      pipe_reading *out) {
    const int low = range[0], high = range[1];
    pl_real point[3], size[2], middle;
    int left = low, right = high;
    *out = (pipe_reading){0};
    if (!now) {
        const pl_real inside = fmin(fmax(s, pipe_at(m, k, low)), pipe_at(m, k, high));
        const int is_out = inside != s;
        s = inside;
        while (left + 1 < right) {
            const int between = left + (right - left) / 2;
            if (pipe_at(m, k, between) <= s)
                left = between;
            else
                right = between;
        }
        pipe_point(m, k, left, point);
        out->value = point[2];
        out->when = point[0];
        const pl_real width = high > low ? pipe_at(m, k, right) - point[1] : 0.0;
        if (width <= 0.0) return;
        if (pipe_kind(m, k, left) != PL_PIPE_FLOWS) {
            out->slope = (m->pipe_value[pipe_slot(k, right)] - point[2]) / width;
            out->value += out->slope * (s - point[1]);
            if (is_out) out->slope = 0.0;
            return;
        }
        if (is_out && s == point[1]) return;
    } else
        left = right = positive ? low : high;
    pipe_polynomial p = {0};
    if (now) pipe_add(&p, now, now[0], size);
    pipe_point(m, k, left, point);
    middle = point[0];
    pipe_add(&p, point, middle, size);
    if (!now) {
        pipe_point(m, k, right, point);
        pipe_add(&p, point, middle, size);
    }
    middle = 0.5 * (p.when[0] + p.when[1]);
    pl_real term[2][2] = {{HUGE_VAL, HUGE_VAL}, {HUGE_VAL, HUGE_VAL}}; /* terms that grow are of no use */
    while (p.n < PL_PIPE_DEGREE) {
        const int more_left = left > low && pipe_kind(m, k, left - 1) == PL_PIPE_FLOWS;
        const int more_right = right < high && pipe_kind(m, k, right) == PL_PIPE_FLOWS;
        if (!more_left && !more_right) break;
        pl_real other[3];
        int goes_left = more_left;
        if (more_left) pipe_point(m, k, left - 1, point);
        if (more_right) pipe_point(m, k, right + 1, other);
        if (more_right && (!more_left || fabs(other[0] - middle) < fabs(point[0] - middle))) {
            goes_left = 0;
            memcpy(point, other, sizeof point);
        }
        pipe_add(&p, point, middle, size);
        if (size[0] > fmax(term[0][0], term[1][0]) || size[1] > fmax(term[0][1], term[1][1])) {
            p.n--;
            break;
        }
        memcpy(term[0], term[1], sizeof size);
        memcpy(term[1], size, sizeof size);
        left -= goes_left;
        right += !goes_left;
    }
    pipe_solve(&p, s, p.when[0], p.when[1], out);
    if (!now) return;
    out->share = 1.0; /* the Lagrange polynomial of the point now */
    for (int i = 1; i < p.n; i++) out->share *= (out->when - p.when[i]) / (p.when[0] - p.when[i]);
}

/* The distance of the next jump from the end, and its derivative by x (order 6). */
static pl_real pipe_ahead(const model *m, int k, int order, pl_real x, int positive) {
    const pl_real sign = m->pipe_sign[k] ? -1.0 : 1.0;
    if (m->pipe_n[k] == 0) return order == 6 ? 0.0 : 1.0;
    int low, high;
    pipe_bounds(m, k, positive, &low, &high);
    if (positive ? low == m->pipe_begin[k] : high == pipe_last(m, k)) return order == 6 ? 0.0 : sign;
    if (order == 6) return positive ? -sign : sign;
    return sign * (positive ? 1.0 - x - pipe_at(m, k, low) : pipe_at(m, k, high) + x);
}

/* ``number``: of the pipe, twice, and one more for the end at 1. Orders: the value; its derivatives by the place, in0, in1
 * and x; 5 and 6: the distance of the next jump. */
static pl_real pipe_value(model *m, pl_real t, int number, int order, pl_real s, const pl_real in[4],
                          pl_real initial) {
    const int k = number / 2, positive = in[3] != 0.0;
    if (order >= 5) return pipe_ahead(m, k, order, in[2], positive);
    if (m->pipe_n[k] == 0) return order == 0 ? initial : 0.0;
    int range[2];
    pipe_bounds(m, k, positive, &range[0], &range[1]);
    const int end = positive ? m->pipe_begin[k] : pipe_last(m, k);
    const pl_real now[3] = {t, positive ? -in[2] : 1.0 - in[2], positive ? in[0] : in[1]};
    const pl_real edge = pipe_at(m, k, end), since = m->pipe_time[pipe_slot(k, end)];
    const int is_open = end == range[!positive] && t > since && (positive ? s < edge : s > edge) &&
                        (positive ? now[1] < edge : now[1] > edge) && positive == m->pipe_positive[k];
    pipe_reading found;
    pipe_read(m, k, s, range, is_open ? now : NULL, positive, &found);
    if (order == 0) return found.value;
    if (order == 1) return found.slope;
    if (order == 4) return found.slope * found.share;
    return (order == 2) == positive ? found.share : 0.0;
}

static int pipe_differs(pl_real a, pl_real b) {
    return fabs(a - b) > PL_PIPE_JUMP * (fabs(a) + fabs(b));
}

/* Points beyond the outlet go, but for some that the last step may still need; where that is not enough, every second
 * one that is no jump. 0: there is no room. */
static int pipe_make_room(model *m, int k, pl_real x) {
    const int n = m->pipe_n[k];
    if (m->pipe_positive[k]) {
        while (m->pipe_n[k] > PL_PIPE_DEGREE && pipe_at(m, k, pipe_last(m, k) - PL_PIPE_DEGREE) > 1.0 - x)
            m->pipe_n[k]--;
    } else
        while (m->pipe_n[k] > PL_PIPE_DEGREE && pipe_at(m, k, m->pipe_begin[k] + PL_PIPE_DEGREE) < -x) {
            m->pipe_begin[k]++;
            m->pipe_n[k]--;
        }
    if (m->pipe_n[k] < n) return 1;
    const int first = m->pipe_begin[k], last = pipe_last(m, k), left = m->pipe_left[k];
    int kept = first, moved = left, dropped = 0;
    for (int i = first; i <= last; i++) {
        const int below = i > first ? pipe_kind(m, k, i - 1) : PL_PIPE_JUMPS, above = pipe_kind(m, k, i);
        const int is_inside = i > first + 1 && i < last - 1 && i != left;
        dropped = is_inside && !dropped && below != PL_PIPE_JUMPS && above != PL_PIPE_JUMPS;
        if (dropped) {
            const int whole = below == PL_PIPE_FLOWS && above == PL_PIPE_FLOWS;
            m->pipe_kinds[pipe_slot(k, kept - 1)] = whole ? PL_PIPE_FLOWS : PL_PIPE_LINE;
            continue;
        }
        const int to = pipe_slot(k, kept), from = pipe_slot(k, i);
        if (i == left) moved = kept;
        m->pipe_place[to] = m->pipe_place[from];
        m->pipe_time[to] = m->pipe_time[from];
        m->pipe_value[to] = m->pipe_value[from];
        m->pipe_kinds[to] = m->pipe_kinds[from];
        kept++;
    }
    m->pipe_n[k] = kept - first;
    m->pipe_left[k] = left > last ? left : moved;
    return m->pipe_n[k] < PL_PIPE_ROOM - 1;
}

/* A new point at one end; ``kind``: of what is between it and the one before. */
static void pipe_push(model *m, int k, int positive, const pl_real point[3], int kind) {
    const int to = positive ? --m->pipe_begin[k] : pipe_last(m, k) + 1, j = pipe_slot(k, to);
    if (m->pipe_n[k]++ > 0) m->pipe_kinds[positive ? j : pipe_slot(k, to - 1)] = (int8_t)kind;
    m->pipe_time[j] = point[0];
    m->pipe_place[j] = point[1];
    m->pipe_value[j] = point[2];
    if (!positive) m->pipe_kinds[j] = PL_PIPE_LINE;
}

/* What is beyond s at one end has left. */
static void pipe_cut(model *m, int k, int at_zero, pl_real s) {
    const int low = m->pipe_begin[k], high = pipe_last(m, k), range[2] = {low, high};
    if (at_zero ? s <= pipe_at(m, k, low) : s >= pipe_at(m, k, high)) return;
    pipe_reading found;
    pipe_read(m, k, s, range, NULL, 1, &found);
    int kind = PL_PIPE_LINE;
    if (at_zero)
        while (m->pipe_n[k] > 1 && pipe_at(m, k, m->pipe_begin[k]) < s) {
            kind = pipe_kind(m, k, m->pipe_begin[k]++);
            m->pipe_n[k]--;
        }
    else
        while (m->pipe_n[k] > 1 && pipe_at(m, k, pipe_last(m, k)) > s) {
            m->pipe_n[k]--;
            kind = pipe_kind(m, k, pipe_last(m, k));
        }
    const pl_real point[3] = {found.when, s, found.value};
    pipe_push(m, k, at_zero, point, kind);
}

/* What flows in now. */
static pl_status pipe_take(model *m, int k, pl_real t, const pl_real in[4], int is_event) {
    const int positive = in[3] != 0.0;
    const pl_real point[3] = {t, positive ? -in[2] : 1.0 - in[2], positive ? in[0] : in[1]};
    if (positive != m->pipe_positive[k]) { /* it turns: what had left does not come back */
        pipe_cut(m, k, positive, point[1]);
        m->pipe_positive[k] = (int8_t)positive;
        m->pipe_left[k] = positive ? pipe_last(m, k) : m->pipe_begin[k];
    }
    if (m->pipe_n[k] >= PL_PIPE_ROOM - 2 && !pipe_make_room(m, k, in[2])) {
        m->error = PL_PIPE_ERROR + 1;
        return PL_FATAL;
    }
    const pl_real same = PL_PIPE_SAME * fmax(1.0, fabs(in[2]));
    int end = positive ? m->pipe_begin[k] : pipe_last(m, k);
    pl_real gap = positive ? pipe_at(m, k, end) - point[1] : point[1] - pipe_at(m, k, end);
    if (gap < -same) { /* some of it flowed back */
        pipe_cut(m, k, positive, point[1]);
        end = positive ? m->pipe_begin[k] : pipe_last(m, k);
        gap = 0.0;
    }
    const int j = pipe_slot(k, end), beside = positive ? end : end - 1, inner = positive ? end + 1 : end - 1;
    if (gap > same) {
        pipe_push(m, k, positive, point, t > m->pipe_time[j] ? PL_PIPE_FLOWS : PL_PIPE_LINE);
    } else if (!is_event && t <= m->pipe_time[j] + PL_PIPE_SAME * fabs(t) &&
               !pipe_differs(point[2], m->pipe_value[j])) {
        return PL_OK;
    } else if (m->pipe_n[k] > 1 && pipe_kind(m, k, beside) >= PL_PIPE_BENDS) { /* another one at this place */
        m->pipe_time[j] = t;
        m->pipe_value[j] = point[2];
        const int jumps = pipe_differs(point[2], m->pipe_value[pipe_slot(k, inner)]);
        m->pipe_kinds[pipe_slot(k, beside)] = jumps ? PL_PIPE_JUMPS : PL_PIPE_BENDS;
    } else {
        const pl_real here[3] = {t, pipe_at(m, k, end), point[2]};
        pipe_push(m, k, positive, here,
                  pipe_differs(here[2], m->pipe_value[j]) ? PL_PIPE_JUMPS : PL_PIPE_BENDS);
    }
    return PL_OK;
}

static pl_status pipe_record(model *m, pl_real t, const pl_real *x, const pl_real *u, int is_event) {
    pl_real in[4 * PL_N_PIPES];
    pl_status status = pipe_inputs(m, t, x, u, in);
    for (int k = 0; status == PL_OK && k < PL_N_PIPES; k++) {
        status = pipe_take(m, k, t, in + 4 * k, is_event);
        pipe_range(m, k, m->pipe_positive[k], &m->pipe_low[k], &m->pipe_high[k]);
    }
    return status;
}

/* Inside of a step: more points as long as there is much room. */
static void pipe_passed(void *self, pl_real t, const pl_real *x, const pl_real *u) {
    model *m = self;
    for (int k = 0; k < PL_N_PIPES; k++)
        if (m->pipe_n[k] > PL_PIPE_ROOM / 2) return;
    const int error = m->error;
    if (pipe_record(m, t, x, u, 0) != PL_OK) m->error = error; /* the end of the step tells of it */
#if PL_N_DELAYS
    delay_passed(self, t, x, u);
#endif
}

/* Jumps that are at the end: they have left. */
static pl_status pipe_arrive(model *m, pl_real t, const pl_real *x, const pl_real *u, int *moved) {
    pl_real in[4 * PL_N_PIPES];
    pl_status status = pipe_inputs(m, t, x, u, in);
    for (int k = 0; status == PL_OK && k < PL_N_PIPES; k++) {
        const int positive = m->pipe_positive[k], has_turned = positive != (in[4 * k + 3] != 0.0);
        const pl_real near = PL_PIPE_NEAR + PL_PIPE_SAME * fabs(in[4 * k + 2]);
        int arrived = 0;
        for (; !has_turned; arrived = 1) {
            const int low = m->pipe_low[k], high = m->pipe_high[k];
            if (positive ? low == m->pipe_begin[k] : high == pipe_last(m, k)) break;
            const pl_real s = positive ? 1.0 - in[4 * k + 2] : -in[4 * k + 2];
            if (positive ? s > pipe_at(m, k, low) + near : s < pipe_at(m, k, high) - near) break;
            m->pipe_left[k] = positive ? low - 1 : high + 1;
            pipe_range(m, k, positive, &m->pipe_low[k], &m->pipe_high[k]);
        }
        if (arrived) m->pipe_sign[k] = !m->pipe_sign[k];
        *moved |= arrived;
    }
    return status;
}

static pl_status piped_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                             pl_event_info *info) {
    model *m = self;
    pl_real g0[PL_N_RELATIONS], g[PL_N_RELATIONS];
    int moved = 0;
    pl_status status = pipe_record(m, t, x, u, 0);
    if (status != PL_OK) return status;
    pl_status known = relations(m, t, x, u, g0, NULL);
    status = pipe_arrive(m, t, x, u, &moved);
    if (status != PL_OK) return status;
    if (moved && known == PL_OK && relations(m, t, x, u, g, NULL) == PL_OK)
        for (int k = 0; k < PL_N_RELATIONS; k++)
            m->jumped[k] |= fabs(g[k] - g0[k]) > PL_PIPE_JUMP * (fabs(g[k]) + fabs(g0[k]));
    info->f_changed |= moved;
#if PL_N_DELAYS
    status = delayed_event(self, t, x, u, fired, info);
#else
    status = forgetful_event(self, t, x, u, fired, info);
#endif
    memset(m->jumped, 0, sizeof m->jumped);
    return status == PL_OK ? pipe_record(m, t, x, u, 1) : status;
}

/* The initial profile, and what flows in at once. */
static pl_status pipe_fill(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    pl_real in[4 * PL_N_PIPES], profile[2 * PL_PIPE_POINTS];
    pl_status status = pipe_inputs(m, t, x, u, in);
    if (status == PL_OK) status = pipe_profile(m, t, x, u, profile);
    if (status != PL_OK) return status;
    for (int k = 0; k < PL_N_PIPES; k++) {
        const int n = pipe_first[k + 1] - pipe_first[k];
        const pl_real *point = profile + 2 * pipe_first[k], *value = point + n;
        int is_wrong = point[0] != 0.0 || point[n - 1] != 1.0;
        for (int i = 0; i < n; i++) {
            const pl_real here[3] = {t, point[i] - in[4 * k + 2], value[i]};
            const int is_same = i > 0 && point[i] == point[i - 1];
            const int jumps = is_same && pipe_differs(value[i], value[i - 1]);
            is_wrong |= i > 0 && point[i] < point[i - 1];
            pipe_push(m, k, 0, here, jumps ? PL_PIPE_JUMPS : is_same ? PL_PIPE_BENDS : PL_PIPE_LINE);
        }
        if (is_wrong) {
            m->error = PL_PIPE_ERROR;
            return PL_FATAL;
        }
        m->pipe_positive[k] = in[4 * k + 3] != 0.0;
        m->pipe_left[k] = m->pipe_positive[k] ? pipe_last(m, k) : m->pipe_begin[k];
    }
    return pipe_record(m, t, x, u, 1);
}

static pl_status piped_initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    model *m = self;
    for (int k = 0; k < PL_N_PIPES; k++) m->pipe_n[k] = m->pipe_begin[k] = m->pipe_sign[k] = 0;
#if PL_N_DELAYS
    pl_status status = delayed_initialise(self, t, x, u, info);
#else
    pl_status status = forgetful_initialise(self, t, x, u, info);
#endif
    return status == PL_OK ? pipe_fill(m, t, x, u) : status;
}

#endif
