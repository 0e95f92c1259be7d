/* Ranges of tables enclose what the tables do, beyond their ends and across their jumps, too. */
#include "pliant_ranges.h"

#include <stdio.h>
#include <stdlib.h>

static int checks, failures;

static void check(int good, const char *what, int outside, pl_real lo, pl_real hi) {
    checks++;
    if (good) return;
    printf("FAILED %s, outside %d, [%g, %g]\n", what, outside, lo, hi);
    failures++;
}

static unsigned long seed = 1;

static pl_real uniform(pl_real lo, pl_real hi) {
    seed = (seed * 1103515245UL + 12345UL) % 2147483648UL;
    return lo + (hi - lo) * (pl_real)seed / 2147483648.0;
}

#define KNOTS 7

/* A random table: smooth pieces that join, or (jumps) that do not. */
static void make(pl_real *knot, pl_real *piece, int jumps) {
    pl_real value = uniform(-1.0, 1.0);
    knot[0] = uniform(-1.0, 0.0);
    for (int i = 0; i < KNOTS - 1; i++) {
        pl_real *c = piece + 4 * i, width = uniform(0.1, 1.0);
        knot[i + 1] = knot[i] + width;
        c[0] = jumps ? uniform(-1.0, 1.0) : value;
        for (int k = 1; k < 4; k++) c[k] = uniform(-2.0, 2.0);
        value = c[0] + width * (c[1] + width * (c[2] + width * c[3]));
    }
}

static void try_table(int outside, int jumps) {
    pl_real knot[KNOTS], piece[4 * (KNOTS - 1)];
    make(knot, piece, jumps);
    pl_table table = {KNOTS, outside, knot, piece};
    for (int trial = 0; trial < 300; trial++) {
        pl_real a = uniform(knot[0] - 2.0, knot[KNOTS - 1] + 2.0),
                width = uniform(0.0, trial % 3 ? 0.2 : 6.0);
        if (outside == PL_TABLE_ERROR) {
            a = fmax(a, knot[0]);
            width = fmin(width, knot[KNOTS - 1] - a - 1e-9);
            if (width <= 0.0) continue;
        }
        for (int order = 0; order < 2; order++) {
            pl_range r = pl_range_table(&table, order, pl_range_time(a, a + width));
            pl_real before = pl_table_value(&table, order, a), step = width / 200.0;
            for (int k = 0; k <= 200; k++) {
                pl_real v = pl_table_value(&table, order, a + k * step), secant = (v - before) / step;
                check(v >= r.lo - 1e-9 && v <= r.hi + 1e-9, "value", outside, a, a + width);
                if (k > 0 && step > 1e-6)
                    check(secant >= r.slope_lo - 1e-5 && secant <= r.slope_hi + 1e-5, "slope", outside, a,
                          a + width);
                before = v;
            }
        }
    }
}

int main(void) {
    static const int outside[] = {PL_TABLE_HOLD, PL_TABLE_EXTEND, PL_TABLE_REPEAT, PL_TABLE_ERROR};
    for (int round = 0; round < 20; round++)
        for (int k = 0; k < 4; k++) try_table(outside[k], round % 2);
    printf("test_ranges: %d checks, %d failed\n", checks, failures);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
