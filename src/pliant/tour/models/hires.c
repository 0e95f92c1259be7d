/* HIRES, "high irradiance response": how light controls the growth of a plant, eight species, stiff.
 *
 * E. Schaefer, J. Math. Biology 2 (1975) 41-56; Hairer & Wanner, Solving Ordinary Differential Equations II, IV.10.
 * x_nominal tells typical sizes: the default absolute tolerances follow it. jac is the pattern of df/dx by columns.
 */
#include "pliant.h"

enum { N = 8, N_JAC = 25 };

static const char *const x_name[N] = {"Pr", "Pfr", "PrX", "PfrX", "PrX2", "PfrX2", "PfrX2E", "E"};
static const pl_real x_start[N] = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0057};
static const pl_real x_nominal[N] = {0.001, 0.0001, 0.0001, 0.001, 0.001, 0.01, 0.001, 0.001};
static const int jac_start[N + 1] = {0, 2, 5, 8, 11, 14, 18, 22, 25};
static const int jac_row[N_JAC] = {0, 1, 0, 1, 3, 0, 2, 3, 2, 3, 5, 2, 4, 5, 4, 5, 6, 7, 4, 5, 6, 7, 5, 6, 7};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    const pl_real r = 280.0 * x[5] * x[7];
    f[0] = -1.71 * x[0] + 0.43 * x[1] + 8.32 * x[2] + 0.0007;
    f[1] = 1.71 * x[0] - 8.75 * x[1];
    f[2] = -10.03 * x[2] + 0.43 * x[3] + 0.035 * x[4];
    f[3] = 8.32 * x[1] + 1.71 * x[2] - 1.12 * x[3];
    f[4] = -1.745 * x[4] + 0.43 * x[5] + 0.43 * x[6];
    f[5] = -r + 0.69 * x[3] + 1.71 * x[4] - 0.43 * x[5] + 0.69 * x[6];
    f[6] = r - 1.81 * x[6];
    f[7] = -r + 1.81 * x[6];
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    const pl_real a = 280.0 * x[7], b = 280.0 * x[5]; /* dr/dPfrX2, dr/dE with r = 280 PfrX2 E */
    /* d/dPr */
    v[0] = -1.71;
    v[1] = 1.71;
    /* d/dPfr */
    v[2] = 0.43;
    v[3] = -8.75;
    v[4] = 8.32;
    /* d/dPrX */
    v[5] = 8.32;
    v[6] = -10.03;
    v[7] = 1.71;
    /* d/dPfrX */
    v[8] = 0.43;
    v[9] = -1.12;
    v[10] = 0.69;
    /* d/dPrX2 */
    v[11] = 0.035;
    v[12] = -1.745;
    v[13] = 1.71;
    /* d/dPfrX2 */
    v[14] = 0.43;
    v[15] = -a - 0.43;
    v[16] = a;
    v[17] = -a;
    /* d/dPfrX2E */
    v[18] = 0.43;
    v[19] = 0.69;
    v[20] = -1.81;
    v[21] = 1.81;
    /* d/dE */
    v[22] = -b;
    v[23] = b;
    v[24] = -b;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_AUTONOMOUS,
    .name = "hires",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
