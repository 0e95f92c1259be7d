/* Akzo Nobel's chemical process, an index-1 DAE: see chemakzo.py. */
#include "pliant.h"

#include <math.h>

enum { N = 6, N_JAC = 27 };

#define K1  18.7
#define K2  0.58
#define K3  0.09
#define K4  0.42
#define K   34.4
#define KLA 3.3
#define KS  115.83
#define P   0.9
#define H   737.0

static const char *const x_name[N] = {"FLB", "CO2", "FLBT", "ZHU", "ZLA", "FLB_ZHU"};
static const pl_real x_start[N] = {0.444, 0.00123, 0.0, 0.007, 0.0, KS * 0.444 * 0.007};
static const pl_real x_nominal[N] = {0.1, 0.001, 0.1, 0.001, 0.01, 0.01};
static const int jac_start[N + 1] = {0, 6, 10, 14, 20, 24, 27};
static const int jac_row[N_JAC] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 4, 0, 2, 3, 4,
                                   0, 1, 2, 3, 4, 5, 0, 2, 3, 4, 1, 4, 5};
static const int mass_start[N + 1] = {0, 1, 2, 3, 4, 5, 5};
static const int mass_row[] = {0, 1, 2, 3, 4};
static const pl_real mass_value[] = {1.0, 1.0, 1.0, 1.0, 1.0};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    if (x[1] < 0.0) return PL_RETRY; /* sqrt of the CO2 concentration */
    const pl_real root = sqrt(x[1]);
    const pl_real r1 = K1 * x[0] * x[0] * x[0] * x[0] * root;
    const pl_real r2 = K2 * x[2] * x[3];
    const pl_real r3 = K2 / K * x[0] * x[4];
    const pl_real r4 = K3 * x[0] * x[3] * x[3];
    const pl_real r5 = K4 * x[5] * x[5] * root;
    f[0] = -2.0 * r1 + r2 - r3 - r4;
    f[1] = -0.5 * r1 - r4 - 0.5 * r5 + KLA * (P / H - x[1]);
    f[2] = r1 - r2 + r3;
    f[3] = -r2 + r3 - 2.0 * r4;
    f[4] = r2 - r3 + r5;
    f[5] = KS * x[0] * x[3] - x[5];
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    if (x[1] < 0.0) return PL_RETRY; /* sqrt of the CO2 concentration */
    const pl_real root = sqrt(x[1]);
    /* r11 = d r1 / d x[0] and so on, counted from 1 */
    const pl_real r11 = 4.0 * K1 * x[0] * x[0] * x[0] * root,
                  r12 = 0.5 * K1 * x[0] * x[0] * x[0] * x[0] / root;
    const pl_real r23 = K2 * x[3], r24 = K2 * x[2];
    const pl_real r31 = K2 / K * x[4], r35 = K2 / K * x[0];
    const pl_real r41 = K3 * x[3] * x[3], r44 = 2.0 * K3 * x[0] * x[3];
    const pl_real r52 = 0.5 * K4 * x[5] * x[5] / root, r56 = 2.0 * K4 * x[5] * root;
    /* d/dFLB */
    v[0] = -2.0 * r11 - r31 - r41;
    v[1] = -0.5 * r11 - r41;
    v[2] = r11 + r31;
    v[3] = r31 - 2.0 * r41;
    v[4] = -r31;
    v[5] = KS * x[3];
    /* d/dCO2 */
    v[6] = -2.0 * r12;
    v[7] = -0.5 * r12 - 0.5 * r52 - KLA;
    v[8] = r12;
    v[9] = r52;
    /* d/dFLBT */
    v[10] = r23;
    v[11] = -r23;
    v[12] = -r23;
    v[13] = r23;
    /* d/dZHU */
    v[14] = r24 - r44;
    v[15] = -r44;
    v[16] = -r24;
    v[17] = -r24 - 2.0 * r44;
    v[18] = r24;
    v[19] = KS * x[0];
    /* d/dZLA */
    v[20] = -r35;
    v[21] = r35;
    v[22] = r35;
    v[23] = -r35;
    /* d/dFLB_ZHU */
    v[24] = -0.5 * r56;
    v[25] = r56;
    v[26] = -1.0;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_AUTONOMOUS,
    .name = "chemakzo",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .mass = {N, N, mass_start, mass_row},
    .mass_value = mass_value,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
