/* Two-transistor amplifier: circuit, equations and source in transamp.py.
 *
 * The published mass matrix couples the nodes (1, 2), (4, 5), (7, 8) by [-C C; C -C]: singular, but without
 * a zero row. pl_model wants an algebraic equation as an empty row, so the second row of each pair is
 * replaced by the sum of both (rows 2, 5, 8). The solution is the same.
 */
#include "pliant.h"

#include <math.h>

enum { N = 8, N_JAC = 23 };

#define PI    3.14159265358979323846
#define UB    6.0
#define UF    0.026
#define ALPHA 0.99
#define BETA  1e-6
#define R0    1000.0
#define R     9000.0

static const char *const x_name[N] = {"U1", "U2", "U3", "U4", "U5", "U6", "U7", "U8"};
static const pl_real x_start[N] = {0.0, UB / 2, UB / 2, UB, UB / 2, UB / 2, UB, 0.0};
static const pl_real x_nominal[N] = {0.01, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0};
static const int jac_start[N + 1] = {0, 2, 6, 10, 12, 16, 20, 22, 23};
static const int jac_row[N_JAC] = {0, 1, 1, 2, 3, 4, 1, 2, 3, 4, 3, 4, 4, 5, 6, 7, 4, 5, 6, 7, 6, 7, 7};
static const int mass_start[N + 1] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static const int mass_row[] = {0, 0, 2, 3, 3, 5, 6, 6};
static const pl_real mass_value[] = {-1e-6, 1e-6, -2e-6, -3e-6, 3e-6, -4e-6, -5e-6, 5e-6};

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    const pl_real ue = 0.1 * sin(200.0 * PI * t);
    const pl_real g23 = BETA * (exp((x[1] - x[2]) / UF) - 1.0); /* emitter currents */
    const pl_real g56 = BETA * (exp((x[4] - x[5]) / UF) - 1.0);
    f[0] = (x[0] - ue) / R0;
    f[1] = f[0] + (2.0 * x[1] - UB) / R + (1.0 - ALPHA) * g23;
    f[2] = x[2] / R - g23;
    f[3] = (x[3] - UB) / R + ALPHA * g23;
    f[4] = f[3] + (2.0 * x[4] - UB) / R + (1.0 - ALPHA) * g56;
    f[5] = x[5] / R - g56;
    f[6] = (x[6] - UB) / R + ALPHA * g56;
    f[7] = f[6] + x[7] / R;
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)u;
    const pl_real g23 = BETA / UF * exp((x[1] - x[2]) / UF); /* slopes */
    const pl_real g56 = BETA / UF * exp((x[4] - x[5]) / UF);
    /* d/dU1 */
    v[0] = 1.0 / R0;
    v[1] = 1.0 / R0;
    /* d/dU2 */
    v[2] = 2.0 / R + (1.0 - ALPHA) * g23;
    v[3] = -g23;
    v[4] = ALPHA * g23;
    v[5] = ALPHA * g23;
    /* d/dU3 */
    v[6] = -(1.0 - ALPHA) * g23;
    v[7] = 1.0 / R + g23;
    v[8] = -ALPHA * g23;
    v[9] = -ALPHA * g23;
    /* d/dU4 */
    v[10] = 1.0 / R;
    v[11] = 1.0 / R;
    /* d/dU5 */
    v[12] = 2.0 / R + (1.0 - ALPHA) * g56;
    v[13] = -g56;
    v[14] = ALPHA * g56;
    v[15] = ALPHA * g56;
    /* d/dU6 */
    v[16] = -(1.0 - ALPHA) * g56;
    v[17] = 1.0 / R + g56;
    v[18] = -ALPHA * g56;
    v[19] = -ALPHA * g56;
    /* d/dU7 */
    v[20] = 1.0 / R;
    v[21] = 1.0 / R;
    /* d/dU8 */
    v[22] = 1.0 / R;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .name = "transamp",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .mass = {N, N, mass_start, mass_row},
    .mass_value = mass_value,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
