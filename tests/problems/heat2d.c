/* Heat conduction in a square on HEAT_M x HEAT_M inner points: equations and exact solution in heat2d.py.
 *
 * Start values, the pattern of the Laplacian and the grid function of the source depend on HEAT_M, which the
 * preprocessor cannot loop over: `build` writes them once, when the library is loaded. */
#include "pliant.h"

#include <math.h>

#ifndef HEAT_M
#define HEAT_M 100
#endif

#define PI 3.14159265358979323846

enum { M = HEAT_M, N = M * M, N_JAC = 5 * N - 4 * M };

static const pl_real scale = (M + 1.0) * (M + 1.0); /* 1 / h^2 */
static pl_real x_start[N];
static pl_real wave[M];    /* sin(pi i h); phi_11 = wave[i] wave[j] */
static pl_real eigenvalue; /* lambda_11 */
static int jac_start[N + 1];
static int jac_row[N_JAC];

__attribute__((constructor)) static void build(void) {
    const pl_real h = 1.0 / (M + 1);
    const pl_real half = sin(0.5 * PI * h);
    int k = 0;
    eigenvalue = -8.0 * scale * half * half;
    for (int i = 0; i < M; i++) wave[i] = sin(PI * (i + 1) * h);
    for (int j = 0; j < M; j++) {
        for (int i = 0; i < M; i++) {
            const int c = j * M + i;
            const pl_real fast = sin(2.0 * PI * (i + 1) * h) * sin(3.0 * PI * (j + 1) * h);
            x_start[c] = wave[i] * wave[j] + fast;
            jac_start[c] = k;
            if (j > 0) jac_row[k++] = c - M;
            if (i > 0) jac_row[k++] = c - 1;
            jac_row[k++] = c;
            if (i < M - 1) jac_row[k++] = c + 1;
            if (j < M - 1) jac_row[k++] = c + M;
        }
    }
    jac_start[N] = k;
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    const pl_real strength = PI * cos(2.0 * PI * t) - eigenvalue * (1.0 + 0.5 * sin(2.0 * PI * t));
    for (int j = 0; j < M; j++) {
        for (int i = 0; i < M; i++) {
            const int c = j * M + i;
            const pl_real left = i > 0 ? x[c - 1] : 0.0, right = i < M - 1 ? x[c + 1] : 0.0;
            const pl_real below = j > 0 ? x[c - M] : 0.0, above = j < M - 1 ? x[c + M] : 0.0;
            f[c] = scale * (below + left - 4.0 * x[c] + right + above) + strength * wave[i] * wave[j];
        }
    }
    return PL_OK;
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value) {
    (void)self, (void)t, (void)x, (void)u;
    for (int c = 0; c < N; c++) {
        for (int k = jac_start[c]; k < jac_start[c + 1]; k++)
            value[k] = jac_row[k] == c ? -4.0 * scale : scale;
    }
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .flags = PL_MODEL_LINEAR,
    .name = "heat2d",
    .x_start = x_start,
    .jac = {N, N, jac_start, jac_row},
    .rhs = rhs,
    .jac_value = jac_value,
};
