/* Ranges of functions of time, for generated models: what values a relation's side takes on an interval of time.
 *
 *   [x] + [y] = [x- + y-, x+ + y+],   [x][y] = hull of the four products,   f([x]) = [min f, max f] over [x]
 *
 * and the same for the slope d/dt by the rules of differentiation, so that every operation maps an enclosure of (value,
 * slope) to an enclosure (Moore, Kearfott & Cloud, Introduction to Interval Analysis, SIAM 2009, ch. 2, 5 and 6.4).
 * Where a function may jump or is not defined on the whole interval, its range or slope is unbounded. Rounding is not
 * directed outwards: bounds hold up to a few units of rounding, which is what the search allows for.
 */
#ifndef PLIANT_RANGES_H
#define PLIANT_RANGES_H

#include "pliant_generated.h"

#define PL_RANGE_PIECES 32 /* of a table that are looked at one by one */
#define PL_RANGE_PI     3.14159265358979323846

/* Size whose rounding, as ahead.c takes it, is twice the slack of a relation. */
#define PL_RANGE_SLACK (0.125 / DBL_EPSILON)

/* ------------------------------------------------------------------------------------------ plain intervals */

typedef struct pl_interval {
    pl_real lo, hi;
} pl_interval;

static const pl_interval pl_anything = {-HUGE_VAL, HUGE_VAL};

/* 0 times infinity is 0: the bound of a product one of whose factors vanishes. NaN: nothing is known. */
static PL_UNUSED pl_real pl_times(pl_real a, pl_real b) {
    return a == 0.0 || b == 0.0 ? 0.0 : a * b;
}

static PL_UNUSED pl_interval pl_interval_of(pl_real lo, pl_real hi) {
    pl_interval x = {lo == lo ? lo : -HUGE_VAL, hi == hi ? hi : HUGE_VAL};
    return x;
}

static PL_UNUSED pl_interval pl_interval_hull(pl_interval a, pl_interval b) {
    return pl_interval_of(fmin(a.lo, b.lo), fmax(a.hi, b.hi));
}

static PL_UNUSED pl_interval pl_interval_add(pl_interval a, pl_interval b) {
    return pl_interval_of(a.lo + b.lo, a.hi + b.hi);
}

static PL_UNUSED pl_interval pl_interval_sub(pl_interval a, pl_interval b) {
    return pl_interval_of(a.lo - b.hi, a.hi - b.lo);
}

static PL_UNUSED pl_interval pl_interval_scale(pl_interval a, pl_real c) {
    pl_real one = pl_times(a.lo, c), other = pl_times(a.hi, c);
    if (one != one || other != other) return pl_anything;
    return c < 0.0 ? pl_interval_of(other, one) : pl_interval_of(one, other);
}

static PL_UNUSED pl_interval pl_interval_mul(pl_interval a, pl_interval b) {
    if (b.lo == b.hi) return pl_interval_scale(a, b.lo);
    if (a.lo == a.hi) return pl_interval_scale(b, a.lo);
    pl_real p = pl_times(a.lo, b.lo), q = pl_times(a.lo, b.hi), r = pl_times(a.hi, b.lo),
            s = pl_times(a.hi, b.hi);
    if (p != p || q != q || r != r || s != s) return pl_anything;
    return pl_interval_of(fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s)));
}

static PL_UNUSED pl_interval pl_interval_div(pl_interval a, pl_interval b) {
    if (b.lo == b.hi && b.lo != 0.0) {
        pl_real one = a.lo / b.lo, other = a.hi / b.lo;
        return b.lo < 0.0 ? pl_interval_of(other, one) : pl_interval_of(one, other);
    }
    if (b.lo <= 0.0 && b.hi >= 0.0) return pl_anything;
    pl_interval inverse = pl_interval_of(1.0 / b.hi, 1.0 / b.lo);
    return pl_interval_mul(a, inverse);
}

/* ------------------------------------------------------------------------------------------- value and slope */

static PL_UNUSED pl_range pl_range_of(pl_interval value, pl_interval slope) {
    pl_range x = {value.lo, value.hi, slope.lo, slope.hi};
    return x;
}
static PL_UNUSED pl_interval pl_value_of(pl_range x) {
    return pl_interval_of(x.lo, x.hi);
}
static PL_UNUSED pl_interval pl_slope_of(pl_range x) {
    return pl_interval_of(x.slope_lo, x.slope_hi);
}

/* Something that stands still. */
static PL_UNUSED pl_range pl_range_still(pl_real c) {
    if (c != c) return pl_range_of(pl_anything, pl_anything);
    pl_range x = {c, c, 0.0, 0.0};
    return x;
}
static PL_UNUSED pl_range pl_range_time(pl_real from, pl_real to) {
    pl_range x = {from, to, 1.0, 1.0};
    return x;
}

/* A state on its path: the cubic through both ends lies between its Bezier points, and so does its slope. */
static PL_UNUSED pl_range pl_range_state(const pl_path *path, int i, pl_real width) {
    pl_real a = path->x[0][i], b = path->x[1][i], p = path->slope[0][i], q = path->slope[1][i];
    if (!(width > 0.0)) return pl_range_of(pl_interval_of(a, a), pl_interval_of(p, p));
    pl_real one = a + width * p / 3.0, other = b - width * q / 3.0, middle = 3.0 * (other - one) / width;
    return pl_range_of(pl_interval_of(fmin(fmin(a, b), fmin(one, other)), fmax(fmax(a, b), fmax(one, other))),
                       pl_interval_of(fmin(fmin(p, q), middle), fmax(fmax(p, q), middle)));
}

/* Constant over the interval, or with jumps inside. */
static PL_UNUSED pl_range pl_range_steps(pl_real lo, pl_real hi) {
    return pl_range_of(pl_interval_of(lo, hi), lo == hi ? pl_interval_of(0.0, 0.0) : pl_anything);
}

static PL_UNUSED pl_range pl_range_add(pl_range a, pl_range b) {
    return pl_range_of(pl_interval_add(pl_value_of(a), pl_value_of(b)),
                       pl_interval_add(pl_slope_of(a), pl_slope_of(b)));
}
static PL_UNUSED pl_range pl_range_sub(pl_range a, pl_range b) {
    return pl_range_of(pl_interval_sub(pl_value_of(a), pl_value_of(b)),
                       pl_interval_sub(pl_slope_of(a), pl_slope_of(b)));
}
static PL_UNUSED pl_range pl_range_neg(pl_range a) {
    pl_range x = {-a.hi, -a.lo, -a.slope_hi, -a.slope_lo};
    return x;
}
static PL_UNUSED pl_range pl_range_scale(pl_range a, pl_real c) {
    return pl_range_of(pl_interval_scale(pl_value_of(a), c), pl_interval_scale(pl_slope_of(a), c));
}
static PL_UNUSED pl_range pl_range_mul(pl_range a, pl_range b) {
    pl_interval slope = pl_interval_add(pl_interval_mul(pl_value_of(a), pl_slope_of(b)),
                                        pl_interval_mul(pl_value_of(b), pl_slope_of(a)));
    return pl_range_of(pl_interval_mul(pl_value_of(a), pl_value_of(b)), slope);
}
static PL_UNUSED pl_range pl_range_div(pl_range a, pl_range b) {
    pl_interval value = pl_interval_div(pl_value_of(a), pl_value_of(b));
    if (value.lo == -HUGE_VAL || value.hi == HUGE_VAL) return pl_range_of(value, pl_anything);
    pl_interval rest = pl_interval_sub(pl_slope_of(a), pl_interval_mul(value, pl_slope_of(b)));
    return pl_range_of(value, pl_interval_div(rest, pl_value_of(b)));
}

/* f(a) with values between f(a.lo) and f(a.hi), in whichever order, and f' in `rate`. */
static PL_UNUSED pl_range pl_range_monotone(pl_range a, pl_real at_lo, pl_real at_hi, pl_interval rate) {
    if (at_lo != at_lo || at_hi != at_hi) return pl_range_of(pl_anything, pl_anything);
    return pl_range_of(pl_interval_of(fmin(at_lo, at_hi), fmax(at_lo, at_hi)),
                       pl_interval_mul(rate, pl_slope_of(a)));
}

static PL_UNUSED pl_interval pl_interval_square(pl_interval a) {
    pl_real one = a.lo * a.lo, other = a.hi * a.hi;
    return pl_interval_of(a.lo <= 0.0 && a.hi >= 0.0 ? 0.0 : fmin(one, other), fmax(one, other));
}
static PL_UNUSED pl_range pl_range_square(pl_range a) {
    pl_interval rate = pl_interval_scale(pl_value_of(a), 2.0);
    return pl_range_of(pl_interval_square(pl_value_of(a)), pl_interval_mul(rate, pl_slope_of(a)));
}

/* Values of a to the power c: whole exponents everywhere, others where a >= 0. */
static PL_UNUSED pl_interval pl_interval_power(pl_interval a, pl_real c) {
    int whole = c == floor(c), even = whole && fmod(c, 2.0) == 0.0;
    pl_real one = pow(a.lo, c), other = pow(a.hi, c);
    if (a.lo < 0.0 && !whole) return pl_anything;
    if (a.lo <= 0.0 && a.hi >= 0.0 && c < 0.0) return pl_anything;
    if (one != one || other != other) return pl_anything;
    int inside = even && a.lo < 0.0 && a.hi > 0.0;
    return pl_interval_of(inside ? 0.0 : fmin(one, other), fmax(one, other));
}
static PL_UNUSED pl_range pl_range_power(pl_range a, pl_real c) {
    pl_interval rate = c == 0.0 ? pl_interval_of(0.0, 0.0)
                                : pl_interval_scale(pl_interval_power(pl_value_of(a), c - 1.0), c);
    return pl_range_of(pl_interval_power(pl_value_of(a), c), pl_interval_mul(rate, pl_slope_of(a)));
}

static PL_UNUSED pl_range pl_range_min(pl_range a, pl_range b) {
    if (a.hi < b.lo) return a;
    if (b.hi < a.lo) return b;
    return pl_range_of(pl_interval_of(fmin(a.lo, b.lo), fmin(a.hi, b.hi)),
                       pl_interval_hull(pl_slope_of(a), pl_slope_of(b)));
}
static PL_UNUSED pl_range pl_range_max(pl_range a, pl_range b) {
    return pl_range_neg(pl_range_min(pl_range_neg(a), pl_range_neg(b)));
}
static PL_UNUSED pl_range pl_range_abs(pl_range a) {
    if (a.lo >= 0.0) return a;
    if (a.hi <= 0.0) return pl_range_neg(a);
    pl_interval slope = pl_interval_hull(pl_slope_of(a), pl_slope_of(pl_range_neg(a)));
    return pl_range_of(pl_interval_of(0.0, fmax(-a.lo, a.hi)), slope);
}
static PL_UNUSED pl_range pl_range_sign(pl_range a) {
    return pl_range_steps(pl_sign(a.lo), pl_sign(a.hi));
}
static PL_UNUSED pl_range pl_range_floor(pl_range a) {
    return pl_range_steps(floor(a.lo), floor(a.hi));
}
static PL_UNUSED pl_range pl_range_ceil(pl_range a) {
    return pl_range_steps(ceil(a.lo), ceil(a.hi));
}

/* ------------------------------------------------------------------------------------------ functions of one */

/* sin of [lo, hi]; `phase` quarter turns further: 1 for cos. */
static PL_UNUSED pl_interval pl_interval_sin(pl_interval a, int phase) {
    pl_real at_lo = phase ? cos(a.lo) : sin(a.lo);
    if (a.lo == a.hi) return pl_interval_of(at_lo, at_lo);
    if (!(a.hi - a.lo < 2.0 * PL_RANGE_PI)) return pl_interval_of(-1.0, 1.0);
    pl_real at_hi = phase ? cos(a.hi) : sin(a.hi), turn = 0.5 / PL_RANGE_PI, shift = phase ? 0.25 : 0.0;
    pl_real from = a.lo * turn + shift, to = a.hi * turn + shift; /* in turns of the sine */
    int top = floor(to - 0.25) >= ceil(from - 0.25), bottom = floor(to + 0.25) >= ceil(from + 0.25);
    return pl_interval_of(bottom ? -1.0 : fmin(at_lo, at_hi), top ? 1.0 : fmax(at_lo, at_hi));
}
static PL_UNUSED pl_range pl_range_sin(pl_range a) {
    pl_interval x = pl_value_of(a);
    return pl_range_of(pl_interval_sin(x, 0), pl_interval_mul(pl_interval_sin(x, 1), pl_slope_of(a)));
}
static PL_UNUSED pl_range pl_range_cos(pl_range a) {
    pl_interval x = pl_value_of(a), rate = pl_interval_scale(pl_interval_sin(x, 0), -1.0);
    return pl_range_of(pl_interval_sin(x, 1), pl_interval_mul(rate, pl_slope_of(a)));
}
static PL_UNUSED pl_range pl_range_tan(pl_range a) {
    pl_real from = floor(a.lo / PL_RANGE_PI - 0.5), to = floor(a.hi / PL_RANGE_PI - 0.5);
    if (from != to) return pl_range_of(pl_anything, pl_anything); /* a pole inside */
    pl_real one = tan(a.lo), other = tan(a.hi);
    pl_interval rate = pl_interval_square(pl_interval_of(fmin(one, other), fmax(one, other)));
    return pl_range_monotone(a, one, other, pl_interval_of(1.0 + rate.lo, 1.0 + rate.hi));
}
static PL_UNUSED pl_range pl_range_asin(pl_range a) {
    pl_interval x = pl_interval_square(pl_value_of(a)),
                rate = pl_interval_of(1.0 / sqrt(1.0 - x.lo), 1.0 / sqrt(1.0 - x.hi));
    return pl_range_monotone(a, asin(a.lo), asin(a.hi), rate);
}
static PL_UNUSED pl_range pl_range_acos(pl_range a) {
    pl_range x = pl_range_neg(pl_range_asin(a));
    return pl_range_of(pl_interval_of(acos(a.hi), acos(a.lo)), pl_slope_of(x));
}
static PL_UNUSED pl_range pl_range_atan(pl_range a) {
    pl_interval x = pl_interval_square(pl_value_of(a));
    return pl_range_monotone(a, atan(a.lo), atan(a.hi),
                             pl_interval_of(1.0 / (1.0 + x.hi), 1.0 / (1.0 + x.lo)));
}
static PL_UNUSED pl_interval pl_interval_cosh(pl_interval a) {
    pl_real one = cosh(a.lo), other = cosh(a.hi);
    return pl_interval_of(a.lo <= 0.0 && a.hi >= 0.0 ? 1.0 : fmin(one, other), fmax(one, other));
}
static PL_UNUSED pl_range pl_range_sinh(pl_range a) {
    return pl_range_monotone(a, sinh(a.lo), sinh(a.hi), pl_interval_cosh(pl_value_of(a)));
}
static PL_UNUSED pl_range pl_range_cosh(pl_range a) {
    pl_interval rate = pl_interval_of(sinh(a.lo), sinh(a.hi));
    return pl_range_of(pl_interval_cosh(pl_value_of(a)), pl_interval_mul(rate, pl_slope_of(a)));
}
static PL_UNUSED pl_range pl_range_tanh(pl_range a) {
    pl_real one = tanh(a.lo), other = tanh(a.hi);
    pl_interval x = pl_interval_square(pl_interval_of(one, other));
    return pl_range_monotone(a, one, other, pl_interval_of(1.0 - x.hi, 1.0 - x.lo));
}
static PL_UNUSED pl_range pl_range_exp(pl_range a) {
    pl_interval value = pl_interval_of(exp(a.lo), exp(a.hi));
    return pl_range_of(value, pl_interval_mul(value, pl_slope_of(a)));
}
static PL_UNUSED pl_range pl_range_log(pl_range a) {
    if (!(a.lo > 0.0)) return pl_range_of(pl_anything, pl_anything);
    return pl_range_monotone(a, log(a.lo), log(a.hi), pl_interval_of(1.0 / a.hi, 1.0 / a.lo));
}
static PL_UNUSED pl_range pl_range_log10(pl_range a) {
    if (!(a.lo > 0.0)) return pl_range_of(pl_anything, pl_anything);
    pl_interval rate = pl_interval_of(0.4342944819032518 / a.hi, 0.4342944819032518 / a.lo);
    return pl_range_monotone(a, log10(a.lo), log10(a.hi), rate);
}
static PL_UNUSED pl_range pl_range_sqrt(pl_range a) {
    pl_real one = sqrt(a.lo), other = sqrt(a.hi);
    return pl_range_monotone(a, one, other, pl_interval_of(0.5 / other, one > 0.0 ? 0.5 / one : HUGE_VAL));
}

/* ------------------------------------------------------------------------------------------ functions of two */

/* a to the power b, b moving: exp(b log a). */
static PL_UNUSED pl_range pl_range_pow(pl_range a, pl_range b) {
    if (b.lo == b.hi && b.slope_lo == 0.0 && b.slope_hi == 0.0) return pl_range_power(a, b.lo);
    return pl_range_exp(pl_range_mul(b, pl_range_log(a)));
}

static PL_UNUSED pl_range pl_range_atan2(pl_range y, pl_range x) {
    if (x.lo <= 0.0 && y.lo <= 0.0 && y.hi >= 0.0 && !(y.lo == y.hi && x.lo == x.hi))
        return pl_range_of(pl_interval_of(-PL_RANGE_PI, PL_RANGE_PI),
                           pl_anything); /* the cut or the origin */
    pl_real p = atan2(y.lo, x.lo), q = atan2(y.lo, x.hi), r = atan2(y.hi, x.lo), s = atan2(y.hi, x.hi);
    pl_interval value = pl_interval_of(fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s)));
    pl_interval norm =
        pl_interval_add(pl_interval_square(pl_value_of(x)), pl_interval_square(pl_value_of(y)));
    pl_interval rest = pl_interval_sub(pl_interval_mul(pl_value_of(x), pl_slope_of(y)),
                                       pl_interval_mul(pl_value_of(y), pl_slope_of(x)));
    return pl_range_of(value, pl_interval_div(rest, norm));
}

/* ----------------------------------------------------------------------------------------------------- logic */

/* 1: true all the time, 0: false all the time, -1: neither is known. */
static PL_UNUSED int pl_range_truth(pl_range a) {
    if (a.lo > 0.0 || a.hi < 0.0) return 1;
    return a.lo == 0.0 && a.hi == 0.0 ? 0 : -1;
}
static PL_UNUSED pl_range pl_range_logic(int truth) {
    return truth < 0 ? pl_range_steps(0.0, 1.0) : pl_range_still((pl_real)truth);
}
static PL_UNUSED pl_range pl_range_lt(pl_range a, pl_range b) {
    return pl_range_logic(a.hi < b.lo ? 1 : a.lo >= b.hi ? 0 : -1);
}
static PL_UNUSED pl_range pl_range_le(pl_range a, pl_range b) {
    return pl_range_logic(a.hi <= b.lo ? 1 : a.lo > b.hi ? 0 : -1);
}
static PL_UNUSED pl_range pl_range_eq(pl_range a, pl_range b) {
    int same = a.lo == a.hi && b.lo == b.hi && a.lo == b.lo;
    return pl_range_logic(same ? 1 : a.hi < b.lo || a.lo > b.hi ? 0 : -1);
}
static PL_UNUSED pl_range pl_range_not(pl_range a) {
    int truth = pl_range_truth(a);
    return pl_range_logic(truth < 0 ? -1 : !truth);
}
static PL_UNUSED pl_range pl_range_ne(pl_range a, pl_range b) {
    return pl_range_not(pl_range_eq(a, b));
}
static PL_UNUSED pl_range pl_range_and(pl_range a, pl_range b) {
    int one = pl_range_truth(a), other = pl_range_truth(b);
    return pl_range_logic(one == 0 || other == 0 ? 0 : one < 0 || other < 0 ? -1 : 1);
}
static PL_UNUSED pl_range pl_range_or(pl_range a, pl_range b) {
    int one = pl_range_truth(a), other = pl_range_truth(b);
    return pl_range_logic(one == 1 || other == 1 ? 1 : one < 0 || other < 0 ? -1 : 0);
}
static PL_UNUSED pl_range pl_range_if(pl_range condition, pl_range a, pl_range b) {
    int truth = pl_range_truth(condition);
    if (truth >= 0) return truth ? a : b;
    return pl_range_of(pl_interval_hull(pl_value_of(a), pl_value_of(b)), pl_anything);
}

/* ---------------------------------------------------------------------------------------------------- tables */

/* Range of c0 + c1 s + c2 s^2 + c3 s^3, or of a derivative, between lo and hi: at the ends and where it turns. */
static PL_UNUSED pl_interval pl_piece_range(const pl_real *given, int order, pl_real lo, pl_real hi) {
    pl_real c[4] = {given[0], given[1], given[2], given[3]}, at[4] = {lo, hi, lo, lo};
    for (int k = 0; k < order; k++) {
        c[0] = c[1];
        c[1] = 2.0 * c[2];
        c[2] = 3.0 * c[3];
        c[3] = 0.0;
    }
    pl_real a = 3.0 * c[3], b = c[2], d = b * b - a * c[1]; /* a s^2 + 2 b s + c1 = 0 */
    if (d >= 0.0 && (a != 0.0 || b != 0.0)) {
        pl_real root = b < 0.0 ? sqrt(d) - b : -sqrt(d) - b;
        if (a != 0.0) at[2] = root / a;
        if (root != 0.0) at[3] = c[1] / root;
    }
    pl_interval found = {HUGE_VAL, -HUGE_VAL};
    for (int k = 0; k < 4; k++) {
        if (!(at[k] >= lo && at[k] <= hi)) continue;
        pl_real v = c[0] + at[k] * (c[1] + at[k] * (c[2] + at[k] * c[3]));
        found.lo = fmin(found.lo, v);
        found.hi = fmax(found.hi, v);
    }
    return found;
}

/* Derivative `order` of a table over [lo, hi]; *jumps: it is not continuous there, or nothing is known. Pieces are not
 * looked at beyond PL_RANGE_PIECES. */
static PL_UNUSED pl_interval pl_table_part(const pl_table *table, int order, pl_real lo, pl_real hi,
                                           int *jumps) {
    pl_real first = table->knot[0], last = table->knot[table->n - 1];
    pl_interval found = {HUGE_VAL, -HUGE_VAL};
    int held = table->outside == PL_TABLE_HOLD;
    if (table->outside == PL_TABLE_ERROR && (lo < first || hi > last)) {
        *jumps = 1;
        return pl_anything;
    }
    for (int end = 0; end < 2 && held; end++) { /* beyond the ends */
        if (end ? hi <= last : lo >= first) continue;
        pl_real v = order > 0 ? 0.0 : pl_table_value(table, 0, end ? last : first);
        found = pl_interval_of(fmin(found.lo, v), fmax(found.hi, v));
        *jumps |= order > 0 && lo <= last && hi >= first;
    }
    if (held && (hi < first || lo > last)) return found;
    if (held) lo = fmax(lo, first), hi = fmin(hi, last);
    int low = 0, high = table->n - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (table->knot[middle] <= lo)
            low = middle;
        else
            high = middle;
    }
    for (int i = low, count = 0; i < table->n - 1; i++, count++) {
        pl_real from = table->knot[i], to = i == table->n - 2 ? HUGE_VAL : table->knot[i + 1];
        if (from > hi && i > low) break;
        if (count >= PL_RANGE_PIECES) {
            *jumps = 1;
            return pl_anything;
        }
        pl_real right = fmin(hi, to) - from, left = (i == low ? lo : from) - from;
        const pl_real *c = table->piece + 4 * i;
        found = pl_interval_hull(found, pl_piece_range(c, order, left, fmax(left, right)));
        if (to <= hi) {
            pl_interval end = pl_piece_range(c, order, to - from, to - from),
                        begin = pl_piece_range(c + 4, order, 0.0, 0.0);
            *jumps |= fabs(end.lo - begin.lo) > 1e-12 * (fabs(end.lo) + fabs(begin.lo));
        }
    }
    return found;
}

static PL_UNUSED pl_interval pl_table_range(const pl_table *table, int order, pl_real lo, pl_real hi,
                                            int *jumps) {
    pl_real first = table->knot[0], last = table->knot[table->n - 1], period = last - first;
    *jumps = 0;
    if (!(lo >= -1e300 && hi <= 1e300)) {
        *jumps = 1;
        return pl_anything;
    }
    if (lo == hi) {
        pl_real v = pl_table_value(table, order, lo);
        return pl_interval_of(v, v);
    }
    if (table->outside != PL_TABLE_REPEAT) return pl_table_part(table, order, lo, hi, jumps);
    pl_real turns = floor((lo - first) / period) * period;
    lo = fmax(lo - turns, first);
    hi -= turns;
    if (hi <= last) return pl_table_part(table, order, lo, hi, jumps);
    pl_real from = hi - lo >= period ? first : lo, to = hi - lo >= period ? last : fmin(hi - period, last);
    pl_interval end = pl_table_part(table, order, last, last, jumps),
                begin = pl_table_part(table, order, first, first, jumps);
    pl_interval one = pl_table_part(table, order, from, last, jumps),
                other = pl_table_part(table, order, first, to, jumps);
    *jumps |= fabs(end.lo - begin.lo) > 1e-12 * (fabs(end.lo) + fabs(begin.lo));
    return pl_interval_hull(one, other);
}

static PL_UNUSED pl_range pl_range_table(const pl_table *table, int order, pl_range a) {
    int jumps, bends;
    pl_interval value = pl_table_range(table, order, a.lo, a.hi, &jumps);
    pl_interval rate = jumps ? pl_anything : pl_table_range(table, order + 1, a.lo, a.hi, &bends);
    return pl_range_of(value, pl_interval_mul(rate, pl_slope_of(a)));
}

/* ----------------------------------------------------------------------------------------------- a relation */

static PL_UNUSED pl_status pl_kink_range(pl_range left, pl_range right, pl_root_range *out) {
    out->g = pl_range_sub(left, right);
    out->scale = fmax(fabs(left.lo), fabs(left.hi)) + fmax(fabs(right.lo), fabs(right.hi));
    out->holds = 0;
    return PL_OK;
}

static PL_UNUSED pl_status pl_relation_range(pl_range left, pl_range right, int holds, pl_real extent,
                                             pl_root_range *out) {
    out->g = pl_range_sub(left, right);
    out->scale = fmax(fabs(left.lo), fabs(left.hi)) + fmax(fabs(right.lo), fabs(right.hi));
    out->scale = fmax(out->scale, extent);
    out->holds = holds;
    return PL_OK;
}

#endif
