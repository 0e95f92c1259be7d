/* POLLU, chemistry of air pollution: the 25 reactions and their source are in pollution.py. */
#include "pliant.h"

enum { N = 20, N_JAC = 82 };

/* rate constants k[1] .. k[25] */
static const pl_real k[26] = {0.0,     0.35,     26.6,   12300.0, 0.00086, 0.00082, 15000.0, 0.00013, 24000.0,
                              16500.0, 9000.0,   0.022,  12000.0, 1.88,    16300.0, 4.8e+06, 0.00035, 0.0175,
                              1e+08,   4.44e+11, 1240.0, 2.1,     5.78,    0.0474,  1780.0,  3.12};
static const char *const x_name[N] = {"NO2",  "NO",  "O3P",  "O3",   "HO2", "OH",  "HCHO",
                                      "CO",   "ALD", "MEO2", "C2O3", "CO2", "PAN", "CH3O",
                                      "HNO3", "O1D", "SO2",  "SO4",  "NO3", "N2O5"};
static const pl_real x_start[N] = {0.0, 0.2, 0.0, 0.04, 0.0, 0.0, 0.1,   0.3, 0.01, 0.0,
                                   0.0, 0.0, 0.0, 0.0,  0.0, 0.0, 0.007, 0.0, 0.0,  0.0};
static const pl_real x_nominal[N] = {0.1,  0.1,   1e-8,   0.01, 1e-7, 1e-7,  0.1,  0.1,    0.01, 1e-8,
                                     1e-8, 0.001, 0.0001, 1e-5, 0.01, 1e-17, 0.01, 0.0001, 1e-6, 1e-5};
static const int jac_start[N + 1] = {0,  10, 19, 21, 27, 31, 41, 45, 45, 51, 55,
                                     61, 61, 64, 67, 67, 70, 74, 74, 79, 82};
static const int jac_row[N_JAC] = {
    0, 1, 2,  3,  5,  10, 12, 14, 18, 19, 0,  1,  3,  4,  5, 9, 10, 11, 13, 2, 3, 0,  1,  2, 3,  15, 18, 0,
    1, 4, 5,  0,  4,  5,  6,  7,  8,  10, 14, 16, 17, 4,  5, 6, 7,  4,  5,  7, 8, 9,  10, 0, 1,  9,  13, 0,
    1, 9, 10, 11, 12, 0,  10, 12, 4,  6,  13, 2,  5,  15, 4, 5, 16, 17, 0,  1, 2, 18, 19, 0, 18, 19};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    const pl_real r1 = k[1] * x[0];           /* NO2 */
    const pl_real r2 = k[2] * x[1] * x[3];    /* NO + O3 */
    const pl_real r3 = k[3] * x[4] * x[1];    /* HO2 + NO */
    const pl_real r4 = k[4] * x[6];           /* HCHO */
    const pl_real r5 = k[5] * x[6];           /* HCHO */
    const pl_real r6 = k[6] * x[6] * x[5];    /* HCHO + OH */
    const pl_real r7 = k[7] * x[8];           /* ALD */
    const pl_real r8 = k[8] * x[8] * x[5];    /* ALD + OH */
    const pl_real r9 = k[9] * x[10] * x[1];   /* C2O3 + NO */
    const pl_real r10 = k[10] * x[10] * x[0]; /* C2O3 + NO2 */
    const pl_real r11 = k[11] * x[12];        /* PAN */
    const pl_real r12 = k[12] * x[9] * x[1];  /* MEO2 + NO */
    const pl_real r13 = k[13] * x[13];        /* CH3O */
    const pl_real r14 = k[14] * x[0] * x[5];  /* NO2 + OH */
    const pl_real r15 = k[15] * x[2];         /* O3P */
    const pl_real r16 = k[16] * x[3];         /* O3 */
    const pl_real r17 = k[17] * x[3];         /* O3 */
    const pl_real r18 = k[18] * x[15];        /* O1D */
    const pl_real r19 = k[19] * x[15];        /* O1D */
    const pl_real r20 = k[20] * x[16] * x[5]; /* SO2 + OH */
    const pl_real r21 = k[21] * x[18];        /* NO3 */
    const pl_real r22 = k[22] * x[18];        /* NO3 */
    const pl_real r23 = k[23] * x[0] * x[3];  /* NO2 + O3 */
    const pl_real r24 = k[24] * x[18] * x[0]; /* NO3 + NO2 */
    const pl_real r25 = k[25] * x[19];        /* N2O5 */
    f[0] = r2 + r3 + r9 + r11 + r12 + r22 + r25 - r1 - r10 - r14 - r23 - r24;
    f[1] = r1 - r2 - r3 - r9 - r12 + r21;
    f[2] = r1 - r15 + r17 + r19 + r22;
    f[3] = r15 - r2 - r16 - r17 - r23;
    f[4] = 2.0 * r4 + r6 + r7 + r13 + r20 - r3;
    f[5] = r3 - r6 - r8 - r14 + 2.0 * r18 - r20;
    f[6] = r13 - r4 - r5 - r6;
    f[7] = r4 + r5 + r6 + r7;
    f[8] = -r7 - r8;
    f[9] = r7 + r9 - r12;
    f[10] = r8 - r9 - r10 + r11;
    f[11] = r9;
    f[12] = r10 - r11;
    f[13] = r12 - r13;
    f[14] = r14;
    f[15] = r16 - r18 - r19;
    f[16] = -r20;
    f[17] = r20;
    f[18] = r23 + r25 - r21 - r22 - r24;
    f[19] = r24 - r25;
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    /* d/dNO2 */
    v[0] = -k[1] - k[10] * x[10] - k[14] * x[5] - k[23] * x[3] - k[24] * x[18];
    v[1] = k[1];
    v[2] = k[1];
    v[3] = -k[23] * x[3];
    v[4] = -k[14] * x[5];
    v[5] = -k[10] * x[10];
    v[6] = k[10] * x[10];
    v[7] = k[14] * x[5];
    v[8] = k[23] * x[3] - k[24] * x[18];
    v[9] = k[24] * x[18];
    /* d/dNO */
    v[10] = k[2] * x[3] + k[3] * x[4] + k[9] * x[10] + k[12] * x[9];
    v[11] = -k[2] * x[3] - k[3] * x[4] - k[9] * x[10] - k[12] * x[9];
    v[12] = -k[2] * x[3];
    v[13] = -k[3] * x[4];
    v[14] = k[3] * x[4];
    v[15] = k[9] * x[10] - k[12] * x[9];
    v[16] = -k[9] * x[10];
    v[17] = k[9] * x[10];
    v[18] = k[12] * x[9];
    /* d/dO3P */
    v[19] = -k[15];
    v[20] = k[15];
    /* d/dO3 */
    v[21] = k[2] * x[1] - k[23] * x[0];
    v[22] = -k[2] * x[1];
    v[23] = k[17];
    v[24] = -k[2] * x[1] - k[16] - k[17] - k[23] * x[0];
    v[25] = k[16];
    v[26] = k[23] * x[0];
    /* d/dHO2 */
    v[27] = k[3] * x[1];
    v[28] = -k[3] * x[1];
    v[29] = -k[3] * x[1];
    v[30] = k[3] * x[1];
    /* d/dOH */
    v[31] = -k[14] * x[0];
    v[32] = k[6] * x[6] + k[20] * x[16];
    v[33] = -k[6] * x[6] - k[8] * x[8] - k[14] * x[0] - k[20] * x[16];
    v[34] = -k[6] * x[6];
    v[35] = k[6] * x[6];
    v[36] = -k[8] * x[8];
    v[37] = k[8] * x[8];
    v[38] = k[14] * x[0];
    v[39] = -k[20] * x[16];
    v[40] = k[20] * x[16];
    /* d/dHCHO */
    v[41] = 2.0 * k[4] + k[6] * x[5];
    v[42] = -k[6] * x[5];
    v[43] = -k[4] - k[5] - k[6] * x[5];
    v[44] = k[4] + k[5] + k[6] * x[5];
    /* d/dCO */
    /* d/dALD */
    v[45] = k[7];
    v[46] = -k[8] * x[5];
    v[47] = k[7];
    v[48] = -k[7] - k[8] * x[5];
    v[49] = k[7];
    v[50] = k[8] * x[5];
    /* d/dMEO2 */
    v[51] = k[12] * x[1];
    v[52] = -k[12] * x[1];
    v[53] = -k[12] * x[1];
    v[54] = k[12] * x[1];
    /* d/dC2O3 */
    v[55] = k[9] * x[1] - k[10] * x[0];
    v[56] = -k[9] * x[1];
    v[57] = k[9] * x[1];
    v[58] = -k[9] * x[1] - k[10] * x[0];
    v[59] = k[9] * x[1];
    v[60] = k[10] * x[0];
    /* d/dCO2 */
    /* d/dPAN */
    v[61] = k[11];
    v[62] = k[11];
    v[63] = -k[11];
    /* d/dCH3O */
    v[64] = k[13];
    v[65] = k[13];
    v[66] = -k[13];
    /* d/dHNO3 */
    /* d/dO1D */
    v[67] = k[19];
    v[68] = 2.0 * k[18];
    v[69] = -k[18] - k[19];
    /* d/dSO2 */
    v[70] = k[20] * x[5];
    v[71] = -k[20] * x[5];
    v[72] = -k[20] * x[5];
    v[73] = k[20] * x[5];
    /* d/dSO4 */
    /* d/dNO3 */
    v[74] = k[22] - k[24] * x[0];
    v[75] = k[21];
    v[76] = k[22];
    v[77] = -k[21] - k[22] - k[24] * x[0];
    v[78] = k[24] * x[0];
    /* d/dN2O5 */
    v[79] = k[25];
    v[80] = k[25];
    v[81] = -k[25];
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_AUTONOMOUS,
    .name = "pollution",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
