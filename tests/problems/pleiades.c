/* Pleiades, seven stars: see pleiades.py. Order: x (7), y (7), u = x' (7), v = y' (7).
 *
 * Jacobian: the accelerations (rows 14 .. 27) depend on all positions (columns 0 .. 13), the entry of row
 * 14 + r and column c is value[14 c + r]; then the ones of x' = u, y' = v. */
#include "pliant.h"

#include <math.h>

enum { S = 7, P = 2 * S, N = 4 * S, N_JAC = P * P + P };

#define SEVEN(a)      a, a, a, a, a, a, a
#define ACCELERATIONS 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27

static const char *const x_name[N] = {"x1", "x2", "x3", "x4", "x5", "x6", "x7", "y1", "y2", "y3",
                                      "y4", "y5", "y6", "y7", "u1", "u2", "u3", "u4", "u5", "u6",
                                      "u7", "v1", "v2", "v3", "v4", "v5", "v6", "v7"};
static const pl_real x_start[N] = {3, 3,  -1, -3,    2, -2,   2,    /* x */
                                   3, -3, 2,  0,     0, -4,   4,    /* y */
                                   0, 0,  0,  0,     0, 1.75, -1.5, /* u */
                                   0, 0,  0,  -1.25, 1, 0,    0};   /* v */
static const pl_real x_nominal[N] = {SEVEN(1.0), SEVEN(1.0), SEVEN(1.0), SEVEN(1.0)};
static const int jac_start[N + 1] = {0,   14,  28,  42,  56,  70,  84,  98,  112, 126,
                                     140, 154, 168, 182, 196, 197, 198, 199, 200, 201,
                                     202, 203, 204, 205, 206, 207, 208, 209, 210};
static const int jac_row[N_JAC] = {
    SEVEN(ACCELERATIONS), SEVEN(ACCELERATIONS), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    for (int i = 0; i < P; i++) {
        f[i] = x[P + i];
        f[P + i] = 0.0;
    }
    for (int i = 0; i < S; i++) {
        for (int j = 0; j < i; j++) {
            const pl_real dx = x[j] - x[i], dy = x[S + j] - x[S + i];
            const pl_real square = dx * dx + dy * dy;
            const pl_real cube = square * sqrt(square);
            f[P + i] += (j + 1) * dx / cube;
            f[P + S + i] += (j + 1) * dy / cube;
            f[P + j] -= (i + 1) * dx / cube;
            f[P + S + j] -= (i + 1) * dy / cube;
        }
    }
    return PL_OK;
}

/* Add to the entries of row 14 + row that belong to the stars i and j: it depends on their difference. */
static void add(pl_real *value, int row, int coordinate, int i, int j, pl_real slope) {
    value[P * (coordinate + j) + row] += slope;
    value[P * (coordinate + i) + row] -= slope;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value) {
    (void)self, (void)t, (void)u;
    for (int k = 0; k < P * P; k++) value[k] = 0.0;
    for (int k = 0; k < P; k++) value[P * P + k] = 1.0;
    for (int i = 0; i < S; i++) {
        for (int j = 0; j < S; j++) {
            if (i == j) continue;
            const pl_real dx = x[j] - x[i], dy = x[S + j] - x[S + i];
            const pl_real square = dx * dx + dy * dy;
            const pl_real pull = (j + 1) / (square * sqrt(square));
            const pl_real xy = -3.0 * pull * dx * dy / square;
            add(value, i, 0, i, j, pull * (1.0 - 3.0 * dx * dx / square));
            add(value, i, S, i, j, xy);
            add(value, S + i, 0, i, j, xy);
            add(value, S + i, S, i, j, pull * (1.0 - 3.0 * dy * dy / square));
        }
    }
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_AUTONOMOUS,
    .name = "pleiades",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
