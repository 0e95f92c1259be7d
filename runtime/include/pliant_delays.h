/* delay(expr, T) in a generated model: what the delayed expressions were at the steps taken and at events.
 *
 * A stretch between events is interpolated by the polynomial through neighbouring points, as many as make it better. Beyond the last point,
 * where a step is longer than the delay, the value at the end of the step is one of them. Before the start the value
 * at the start holds. Jumps arrive after the delay as time events; until such an event has been, the stretch before it
 * holds. A model includes this behind its functions, with PL_N_DELAYS, PL_DELAY_ROOM, delay_is_constant and
 *
 *     delay_inputs(m, t, x, u, value)    for each delay the expression, t - T, and the longest delay
 */
#ifndef PLIANT_DELAYS_H
#define PLIANT_DELAYS_H

#include "pliant_generated.h"

#define PL_DELAY_POINTS 8
#define PL_DELAY_NEAR   1e-9                 /* of a time: rounding */
#define PL_DELAY_SAME   (64.0 * DBL_EPSILON) /* of a time: two points are one */
#define PL_DELAY_JUMP   1e-9                 /* of a value: what counts as one */

/* What a point begins with; above: jumps of higher derivatives, which arrive like jumps and cause the next. */
enum { PL_DELAY_GOES_ON = 0, PL_DELAY_BENDS = 1, PL_DELAY_JUMPS = 2 };
#define PL_DELAY_LEVELS (PL_N_DELAYS <= 2 ? 4 : PL_N_DELAYS <= 5 ? 1 : 0)

static pl_real delay_near(pl_real t) {
    return PL_DELAY_NEAR * fmax(1.0, fabs(t));
}

/* The points between which the value at tau lies. */
static void delay_stretch(const model *m, int k, pl_real tau, int *first, int *last) {
    int low = 0, high = m->delay_n - 1;
    while (low < high) { /* the last point up to tau */
        int middle = (low + high + 1) / 2;
        if (m->delay_t[middle] <= tau)
            low = middle;
        else
            high = middle - 1;
    }
    while (low > 0 && m->delay_begins[low] == PL_DELAY_GOES_ON) low--;
    if (delay_is_constant[k] && low > 0 && m->delay_begins[low] >= PL_DELAY_JUMPS &&
        m->delay_t[low] > m->delay_arrived[k])
        do low--; /* this jump has not arrived */
        while (low > 0 && m->delay_begins[low] == PL_DELAY_GOES_ON);
    *first = low;
    for (*last = low; *last + 1 < m->delay_n && m->delay_begins[*last + 1] == PL_DELAY_GOES_ON;) ++*last;
    int next = *last + 1;
    if (!delay_is_constant[k] || next >= m->delay_n || m->delay_t[next] > m->delay_arrived[k]) return;
    if (tau < m->delay_t[next] - delay_near(tau)) return;
    *first = next; /* it has, though rounding says not yet */
    for (*last = next; *last + 1 < m->delay_n && m->delay_begins[*last + 1] == PL_DELAY_GOES_ON;) ++*last;
}

/* A polynomial in Newton's form: points in the order in which they were added. */
typedef struct delay_polynomial {
    int n;
    pl_real when[PL_DELAY_POINTS], part[PL_DELAY_POINTS];
} delay_polynomial;

/* value and slope of the first n parts, and the product that the next part is multiplied with */
static pl_real delay_sum(const delay_polynomial *p, pl_real tau, pl_real *slope, pl_real *product) {
    pl_real sum = 0.0, rate = 0.0, factor = 1.0, factor_rate = 0.0;
    for (int i = 0; i < p->n; i++) {
        sum += p->part[i] * factor;
        rate += p->part[i] * factor_rate;
        factor_rate = factor_rate * (tau - p->when[i]) + factor;
        factor *= tau - p->when[i];
    }
    if (slope) *slope = rate;
    *product = factor;
    return sum;
}

static void delay_add(delay_polynomial *p, pl_real when, pl_real value) {
    pl_real product, sum = delay_sum(p, when, NULL, &product);
    p->when[p->n] = when;
    p->part[p->n++] = (value - sum) / product;
}

/* order 0: the value at tau; 1: its slope; 2: its derivative by the value now */
static pl_real delay_value(model *m, pl_real t, int k, int order, pl_real tau, pl_real now) {
    if (m->delay_is_held) {
        const pl_real share = m->delay_share[k];
        return order == 0 ? m->delay_known[k] + share * now : order == 2 ? share : 0.0;
    }
    if (m->delay_n == 0 || (m->delay_n == 1 && t <= m->delay_t[0]))
        return order == 0 ? now : order == 2 ? 1.0 : 0.0;
    if (tau < m->delay_t[0]) return order == 0 ? m->delay_v[k] : 0.0;
    int first, last;
    delay_stretch(m, k, tau, &first, &last);
    const pl_real end = m->delay_t[m->delay_n - 1];
    const int is_open = last == m->delay_n - 1 && tau > end && t > end;
    if (!is_open && tau > m->delay_t[last]) tau = m->delay_t[last];
    if (order == 2 && !is_open) return 0.0;
    int left = first;
    while (left < last && m->delay_t[left + 1] <= tau) left++;
    int right = left; /* points left .. right, and the one now */
    delay_polynomial p = {0};
    if (is_open) delay_add(&p, t, now);
    delay_add(&p, m->delay_t[left], m->delay_v[left * PL_N_DELAYS + k]);
    if (!is_open && right < last) {
        right++;
        delay_add(&p, m->delay_t[right], m->delay_v[right * PL_N_DELAYS + k]);
    }
    const pl_real middle = 0.5 * (m->delay_t[left] + (is_open ? t : m->delay_t[right]));
    pl_real term[2] = {HUGE_VAL, HUGE_VAL}; /* the last two, at the middle: terms that grow are of no use */
    while (p.n < PL_DELAY_POINTS && (left > first || right < last)) {
        const int goes_left = right >= last || (left > first && middle - m->delay_t[left - 1] <=
                                                                    m->delay_t[right + 1] - middle);
        const int next = goes_left ? left - 1 : right + 1;
        pl_real product;
        delay_sum(&p, middle, NULL, &product);
        delay_add(&p, m->delay_t[next], m->delay_v[next * PL_N_DELAYS + k]);
        pl_real size = fabs(product * p.part[p.n - 1]);
        if (size > fmax(term[0], term[1])) {
            p.n--;
            break;
        }
        term[0] = term[1];
        term[1] = size;
        left = goes_left ? next : left;
        right = goes_left ? right : next;
    }
    pl_real slope, product, value = delay_sum(&p, tau, &slope, &product);
    if (order < 2) return order == 0 ? value : slope;
    value = 1.0; /* the Lagrange polynomial of the first point, that now */
    for (int i = 1; i < p.n; i++) value *= (tau - p.when[i]) / (p.when[0] - p.when[i]);
    return value;
}

static void delay_move(model *m, int to, int from, int n) {
    memmove(m->delay_t + to, m->delay_t + from, (size_t)n * sizeof *m->delay_t);
    memmove(m->delay_begins + to, m->delay_begins + from, (size_t)n * sizeof *m->delay_begins);
    memmove(m->delay_v + to * PL_N_DELAYS, m->delay_v + from * PL_N_DELAYS,
            (size_t)n * PL_N_DELAYS * sizeof *m->delay_v);
}

/* Points go that no delay reaches back to; where there are none, every second one that is not at the end of a stretch.
 * 0: there is no room. */
static int delay_make_room(model *m, pl_real oldest) {
    int drop = 0, n = m->delay_n;
    while (drop + PL_DELAY_POINTS < n && m->delay_t[drop + PL_DELAY_POINTS] < oldest) drop++;
    if (drop > 0) {
        m->delay_n -= drop;
        delay_move(m, 0, drop, m->delay_n);
        return 1;
    }
    int kept = 0, dropped = 0;
    for (int i = 0; i < n; i++) {
        const int inside = i > 0 && i + PL_DELAY_POINTS < n && m->delay_begins[i] == PL_DELAY_GOES_ON &&
                           m->delay_begins[i + 1] == PL_DELAY_GOES_ON;
        dropped = inside && !dropped;
        if (dropped) continue;
        if (kept < i) delay_move(m, kept, i, 1);
        kept++;
    }
    m->delay_n = kept;
    return kept < PL_DELAY_ROOM;
}

/* One more point; after an event, or the first, it begins a stretch. */
static pl_status delay_record(model *m, pl_real t, const pl_real *x, const pl_real *u, int is_event,
                              int arrived) {
    if (m->delay_is_held) return PL_OK; /* the past is somebody else's */
    pl_real value[3 * PL_N_DELAYS], oldest = t;
    pl_status status = delay_inputs(m, t, x, u, value);
    if (status != PL_OK) return status;
    int jumps = m->delay_n == 0, n = m->delay_n;
    for (int k = 0; k < PL_N_DELAYS; k++) {
        oldest = fmin(oldest, t - value[3 * k + 2]);
        if (value[3 * k + 1] > t + delay_near(t)) {
            m->error = PL_DELAY_ERROR;
            return PL_FATAL;
        }
        if (n == 0) continue;
        pl_real before = m->delay_v[(n - 1) * PL_N_DELAYS + k];
        jumps |= fabs(value[3 * k] - before) > PL_DELAY_JUMP * (fabs(value[3 * k]) + fabs(before));
    }
    /* Steps that end beside a communication point by rounding: differences over such gaps are noise. */
    if (!is_event && n > 0 && t <= m->delay_t[n - 1] + PL_DELAY_SAME * fabs(t)) return PL_OK;
    int again = n > 0 && t == m->delay_t[n - 1] && m->delay_begins[n - 1] != PL_DELAY_GOES_ON;
    if (again) { /* another event at the same time, or one at the start */
        jumps |= m->delay_begins[n - 1] == PL_DELAY_JUMPS;
        n = --m->delay_n;
    }
    if (n == PL_DELAY_ROOM && !delay_make_room(m, oldest)) {
        m->error = PL_DELAY_ERROR + 1;
        return PL_FATAL;
    }
    n = m->delay_n++;
    m->delay_t[n] = t;
    int begins = is_event ? PL_DELAY_BENDS : PL_DELAY_GOES_ON;
    if (is_event && arrived > 0 && arrived < PL_DELAY_JUMPS + PL_DELAY_LEVELS) begins = arrived + 1;
    m->delay_begins[n] = (int8_t)(n == 0 || (is_event && jumps) ? PL_DELAY_JUMPS : begins);
    for (int k = 0; k < PL_N_DELAYS; k++) {
        m->delay_v[n * PL_N_DELAYS + k] = value[3 * k];
        m->delay_time[k] = t - value[3 * k + 1];
    }
    return PL_OK;
}

/* Inside of a step: more points for stretches that have few, and for all as long as there is much room. */
static void delay_passed(void *self, pl_real t, const pl_real *x, const pl_real *u) {
    model *m = self;
    int first = m->delay_n - 1, error = m->error;
    while (first > 0 && m->delay_begins[first] == PL_DELAY_GOES_ON) first--;
    if (m->delay_n - first >= PL_DELAY_POINTS && m->delay_n > PL_DELAY_ROOM / 2) return;
    if (delay_record(m, t, x, u, 0, 0) != PL_OK) m->error = error; /* the end of the step tells of it */
}

/* Jumps whose time has come: of which kind, 0: there are none. */
static int delay_arrive(model *m, pl_real t) {
    int moved = 0;
    for (int k = 0; k < PL_N_DELAYS && !m->delay_is_held; k++)
        for (int i = 0; delay_is_constant[k] && i < m->delay_n; i++)
            if (m->delay_begins[i] >= PL_DELAY_JUMPS && m->delay_t[i] > m->delay_arrived[k] &&
                m->delay_t[i] + m->delay_time[k] <= t + delay_near(t)) {
                m->delay_arrived[k] = m->delay_t[i];
                moved = moved == 0 || m->delay_begins[i] < moved ? m->delay_begins[i] : moved;
            }
    return moved;
}

/* The next jump to arrive. */
static pl_real delay_next(const model *m, pl_real t) {
    pl_real next = HUGE_VAL;
    for (int k = 0; k < PL_N_DELAYS; k++)
        for (int i = m->delay_n - 1; delay_is_constant[k] && i >= 0; i--) {
            if (m->delay_t[i] <= m->delay_arrived[k]) break;
            pl_real when = m->delay_t[i] + m->delay_time[k];
            if (m->delay_begins[i] >= PL_DELAY_JUMPS && when > t + delay_near(t)) next = fmin(next, when);
        }
    return next;
}

/* The shortest delay that does not change, of those that are any; 0: there is none. */
static PL_UNUSED pl_real delay_shortest(void *self) {
    const model *m = self;
    pl_real found = 0.0;
    for (int k = 0; k < PL_N_DELAYS; k++)
        if (delay_is_constant[k] && m->delay_time[k] > 0.0)
            found = found > 0.0 ? fmin(found, m->delay_time[k]) : m->delay_time[k];
    return found;
}

/* What is delayed now, and by how much. */
static pl_status delay_given(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value,
                             pl_real *delay) {
    pl_real found[3 * PL_N_DELAYS];
    const pl_status status = delay_inputs(self, t, x, u, found);
    for (int k = 0; k < PL_N_DELAYS; k++) {
        value[k] = found[3 * k];
        delay[k] = t - found[3 * k + 1];
    }
    return status;
}

/* Delayed values are held from now on: steps of a fixed size keep a past of their own. NULL: the model's is used. */
static void delay_hold(void *self, const pl_history *history) {
    model *m = self;
    m->delay_is_held = history != NULL;
    for (int k = 0; k < PL_N_DELAYS && history; k++) {
        m->delay_known[k] = history->known[k];
        m->delay_share[k] = history->share[k];
    }
}

#if PL_N_RELATIONS
/* Relations whose sides the jumps move that have just arrived: they do not stay where they stood. */
static void delay_sides(model *m, pl_real t, const pl_real *x, const pl_real *u, const pl_real *before) {
    pl_real now[PL_N_DELAYS], g0[PL_N_RELATIONS], g[PL_N_RELATIONS];
    memcpy(now, m->delay_arrived, sizeof now);
    memcpy(m->delay_arrived, before, sizeof now);
    pl_status status = relations(m, t, x, u, g0, NULL);
    memcpy(m->delay_arrived, now, sizeof now);
    if (status != PL_OK || relations(m, t, x, u, g, NULL) != PL_OK) return;
    for (int k = 0; k < PL_N_RELATIONS; k++)
        m->jumped[k] |= fabs(g[k] - g0[k]) > PL_DELAY_JUMP * (fabs(g[k]) + fabs(g0[k]));
}

static void delay_rests(model *m) {
    memset(m->jumped, 0, sizeof m->jumped);
}
#else
static void delay_sides(model *m, pl_real t, const pl_real *x, const pl_real *u, const pl_real *before) {
    (void)m, (void)t, (void)x, (void)u, (void)before;
}

static void delay_rests(model *m) {
    (void)m;
}
#endif

static pl_status delayed_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                               pl_event_info *info) {
    model *m = self;
    pl_status status = delay_record(m, t, x, u, 0, 0);
    if (status != PL_OK) return status;
    pl_real before[PL_N_DELAYS];
    memcpy(before, m->delay_arrived, sizeof before);
    const int arrived = delay_arrive(m, t);
    if (arrived == PL_DELAY_JUMPS) delay_sides(m, t, x, u, before);
    info->f_changed |= arrived > 0;
#if PL_DELAY_EVENTS
    status = forgetful_event(self, t, x, u, fired, info);
#else
    (void)fired;
    if (info->follow) status = info->follow(info->host, t, x);
#endif
    delay_rests(m);
    if (status == PL_OK) status = delay_record(m, t, x, u, 1, arrived);
    info->next_time = fmin(info->next_time, delay_next(m, t));
    return status;
}

static pl_status delayed_initialise(void *self, pl_real t, pl_real *x, const pl_real *u,
                                    pl_event_info *info) {
    model *m = self;
    pl_status status = PL_OK;
    m->delay_n = 0;
    for (int k = 0; k < PL_N_DELAYS; k++) m->delay_arrived[k] = -HUGE_VAL;
#if PL_DELAY_EVENTS
    status = forgetful_initialise(self, t, x, u, info);
#endif
    if (status == PL_OK) status = delay_record(m, t, x, u, 1, 0);
    info->next_time = fmin(info->next_time, delay_next(m, t));
    return status;
}

#endif
