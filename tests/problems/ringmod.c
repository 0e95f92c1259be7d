/* Ring modulator: circuit, equations and source in ringmod.py. x[0..6] voltages, x[7..14] currents. */
#include "pliant.h"

#include <math.h>

enum { N = 15, N_JAC = 53 };

#define PI    3.14159265358979323846
#define C     1.6e-8
#define CS    2e-12
#define CP    1e-8
#define R     25e3
#define RP    50.0
#define RC    600.0
#define RI    50.0
#define RG1   36.3
#define RG2   17.3
#define RG3   17.3
#define LH    4.45
#define LS1   2e-3
#define LS2   5e-4
#define LS3   5e-4
#define GAMMA 40.67286402e-9
#define DELTA 17.7493332

static const char *const x_name[N] = {"U1", "U2", "U3", "U4", "U5", "U6", "U7", "I1",
                                      "I2", "I3", "I4", "I5", "I6", "I7", "I8"};
static const pl_real x_start[N] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
static const pl_real x_nominal[N] = {0.01, 0.01,   0.1,    0.1,    0.1,    0.1,  0.1, 1e-7,
                                     1e-7, 0.0001, 0.0001, 0.0001, 0.0001, 1e-5, 1e-5};
static const int jac_start[N + 1] = {0, 5, 10, 15, 20, 25, 30, 35, 36, 37, 40, 43, 46, 49, 51, 53};
static const int jac_row[N_JAC] = {0, 7,  9, 10, 13, 1, 8,  11, 12, 14, 2, 4,  5,  6, 9,  3, 4, 5,
                                   6, 10, 2, 3,  4,  6, 11, 2,  3,  5,  6, 12, 2,  3, 4,  5, 6, 0,
                                   1, 0,  2, 9,  0,  3, 10, 1,  4,  11, 1, 5,  12, 0, 13, 1, 14};

/* exp(DELTA U) of the four diodes */
static void diodes(pl_real t, const pl_real *x, pl_real *e) {
    const pl_real uin2 = 2.0 * sin(2e4 * PI * t);
    e[0] = exp(DELTA * (x[2] - x[4] - x[6] - uin2));
    e[1] = exp(DELTA * (-x[3] + x[5] - x[6] - uin2));
    e[2] = exp(DELTA * (x[3] + x[4] + x[6] + uin2));
    e[3] = exp(DELTA * (-x[2] - x[5] + x[6] + uin2));
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    const pl_real uin1 = 0.5 * sin(2e3 * PI * t);
    pl_real q[4]; /* current q(U) = GAMMA (exp(DELTA U) - 1) */
    diodes(t, x, q);
    for (int i = 0; i < 4; i++) q[i] = GAMMA * (q[i] - 1.0);
    f[0] = (x[7] - 0.5 * x[9] + 0.5 * x[10] + x[13] - x[0] / R) / C;
    f[1] = (x[8] - 0.5 * x[11] + 0.5 * x[12] + x[14] - x[1] / R) / C;
    f[2] = (x[9] - q[0] + q[3]) / CS;
    f[3] = (-x[10] + q[1] - q[2]) / CS;
    f[4] = (x[11] + q[0] - q[2]) / CS;
    f[5] = (-x[12] - q[1] + q[3]) / CS;
    f[6] = (-x[6] / RP + q[0] + q[1] - q[2] - q[3]) / CP;
    f[7] = -x[0] / LH;
    f[8] = -x[1] / LH;
    f[9] = (0.5 * x[0] - x[2] - RG2 * x[9]) / LS2;
    f[10] = (-0.5 * x[0] + x[3] - RG3 * x[10]) / LS3;
    f[11] = (0.5 * x[1] - x[4] - RG2 * x[11]) / LS2;
    f[12] = (-0.5 * x[1] + x[5] - RG3 * x[12]) / LS3;
    f[13] = (-x[0] + uin1 - (RI + RG1) * x[13]) / LS1;
    f[14] = (-x[1] - (RC + RG1) * x[14]) / LS1;
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    (void)x;
    pl_real g[4]; /* dq/dU */
    diodes(t, x, g);
    for (int i = 0; i < 4; i++) g[i] *= GAMMA * DELTA;
    /* d/dU1 */
    v[0] = -1.0 / (R * C);
    v[1] = -1.0 / LH;
    v[2] = 0.5 / LS2;
    v[3] = -0.5 / LS3;
    v[4] = -1.0 / LS1;
    /* d/dU2 */
    v[5] = -1.0 / (R * C);
    v[6] = -1.0 / LH;
    v[7] = 0.5 / LS2;
    v[8] = -0.5 / LS3;
    v[9] = -1.0 / LS1;
    /* d/dU3 */
    v[10] = -(g[0] + g[3]) / CS;
    v[11] = g[0] / CS;
    v[12] = -g[3] / CS;
    v[13] = (g[0] + g[3]) / CP;
    v[14] = -1.0 / LS2;
    /* d/dU4 */
    v[15] = -(g[1] + g[2]) / CS;
    v[16] = -g[2] / CS;
    v[17] = g[1] / CS;
    v[18] = -(g[1] + g[2]) / CP;
    v[19] = 1.0 / LS3;
    /* d/dU5 */
    v[20] = g[0] / CS;
    v[21] = -g[2] / CS;
    v[22] = -(g[0] + g[2]) / CS;
    v[23] = -(g[0] + g[2]) / CP;
    v[24] = -1.0 / LS2;
    /* d/dU6 */
    v[25] = -g[3] / CS;
    v[26] = g[1] / CS;
    v[27] = -(g[1] + g[3]) / CS;
    v[28] = (g[1] + g[3]) / CP;
    v[29] = 1.0 / LS3;
    /* d/dU7 */
    v[30] = (g[0] + g[3]) / CS;
    v[31] = -(g[1] + g[2]) / CS;
    v[32] = -(g[0] + g[2]) / CS;
    v[33] = (g[1] + g[3]) / CS;
    v[34] = -(1.0 / RP + g[0] + g[1] + g[2] + g[3]) / CP;
    /* d/dI1 */
    v[35] = 1.0 / C;
    /* d/dI2 */
    v[36] = 1.0 / C;
    /* d/dI3 */
    v[37] = -0.5 / C;
    v[38] = 1.0 / CS;
    v[39] = -RG2 / LS2;
    /* d/dI4 */
    v[40] = 0.5 / C;
    v[41] = -1.0 / CS;
    v[42] = -RG3 / LS3;
    /* d/dI5 */
    v[43] = -0.5 / C;
    v[44] = 1.0 / CS;
    v[45] = -RG2 / LS2;
    /* d/dI6 */
    v[46] = 0.5 / C;
    v[47] = -1.0 / CS;
    v[48] = -RG3 / LS3;
    /* d/dI7 */
    v[49] = 1.0 / C;
    v[50] = -(RI + RG1) / LS1;
    /* d/dI8 */
    v[51] = 1.0 / C;
    v[52] = -(RC + RG1) / LS1;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .name = "ringmod",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
