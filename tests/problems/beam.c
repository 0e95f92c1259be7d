/* Elastic beam: equations and source in beam.py. x = (z[0..39], w[0..39]), angles and their velocities.
 *
 *   z' = w,   w' = C v + D u,   C u = D v + w^2
 *
 * C and D are tridiagonal with C_{l,l+1} = C_{l+1,l} = -cos_l, D_{l,l+1} = -D_{l+1,l} = -sin_l, where
 * cos_l, sin_l belong to z_l - z_{l+1}. The Jacobian is given dense, column by column:
 *
 *   dw'/dz_k = P(v)_k + C dv + Q(u)_k + D du,   C du = Q(v)_k + D dv - P(u)_k,   dv = dv/dz_k
 *   dw'/dw_k = D du,                            C du = 2 w_k e_k
 *
 * with column k of P(a) = d(C a)/dz and Q(a) = d(D a)/dz at fixed a. */
#include "pliant.h"

#include <math.h>

enum { M = 40, N = 2 * M };

static const pl_real x_start[N] = {0.0};
#define TEN(a) a, a, a, a, a, a, a, a, a, a
static const pl_real x_nominal[N] = {TEN(0.1), TEN(0.1), TEN(0.1), TEN(0.1),
                                     TEN(1.0), TEN(1.0), TEN(1.0), TEN(1.0)};
#define TEN_NAMES(a, d)                                                                                      \
    a d "1]", a d "2]", a d "3]", a d "4]", a d "5]", a d "6]", a d "7]", a d "8]", a d "9]"
#define NAMES(a)                                                                                             \
    TEN_NAMES(a, ""), a "10]", TEN_NAMES(a, "1"), a "20]", TEN_NAMES(a, "2"), a "30]", TEN_NAMES(a, "3"),    \
        a "40]"
static const char *const x_name[N] = {NAMES("z["), NAMES("w[")};

/* All that f and the Jacobian share at one point. */
typedef struct beam {
    pl_real phi;                /* force */
    pl_real cosine[M], sine[M]; /* of z_l - z_{l+1}, l < M - 1 */
    pl_real pivot[M];           /* C = L U without exchange: diagonal of U */
    pl_real v[M], u[M];
} beam;

static pl_real diagonal(int l) {
    return l == 0 ? 1.0 : l == M - 1 ? 3.0 : 2.0;
}

/* (C a)_l and (D a)_l */
static pl_real times_c(const beam *b, const pl_real *a, int l) {
    pl_real s = diagonal(l) * a[l];
    if (l > 0) s -= b->cosine[l - 1] * a[l - 1];
    if (l < M - 1) s -= b->cosine[l] * a[l + 1];
    return s;
}

static pl_real times_d(const beam *b, const pl_real *a, int l) {
    pl_real s = 0.0;
    if (l > 0) s += b->sine[l - 1] * a[l - 1];
    if (l < M - 1) s -= b->sine[l] * a[l + 1];
    return s;
}

/* a := C^-1 a */
static void solve_c(const beam *b, pl_real *a) {
    for (int l = 1; l < M; l++) a[l] += b->cosine[l - 1] / b->pivot[l - 1] * a[l - 1];
    a[M - 1] /= b->pivot[M - 1];
    for (int l = M - 2; l >= 0; l--) a[l] = (a[l] + b->cosine[l] * a[l + 1]) / b->pivot[l];
}

static void prepare(beam *b, pl_real t, const pl_real *x) {
    const pl_real *z = x, *w = x + M;
    const pl_real push = fmax(sin(t), 0.0);
    b->phi = 1.5 * push * push;
    for (int l = 0; l < M - 1; l++) {
        b->cosine[l] = cos(z[l] - z[l + 1]);
        b->sine[l] = sin(z[l] - z[l + 1]);
    }
    b->pivot[0] = diagonal(0);
    for (int l = 1; l < M; l++) {
        b->pivot[l] = diagonal(l) - b->cosine[l - 1] / b->pivot[l - 1] * b->cosine[l - 1];
    }
    for (int l = 0; l < M; l++) {
        const pl_real before = l > 0 ? z[l - 1] : -z[0], after = l < M - 1 ? z[l + 1] : z[l];
        b->v[l] = (pl_real)M * M * M * M * (before - 2.0 * z[l] + after) +
                  (pl_real)M * M * b->phi * (cos(z[l]) + sin(z[l]));
    }
    for (int l = 0; l < M; l++) b->u[l] = times_d(b, b->v, l) + w[l] * w[l];
    solve_c(b, b->u);
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    beam b;
    prepare(&b, t, x);
    for (int l = 0; l < M; l++) {
        f[l] = x[M + l];
        f[M + l] = times_c(&b, b.v, l) + times_d(&b, b.u, l);
    }
    return PL_OK;
}

/* Column k of P(a) and of Q(a), times `factor`, added to `to`; only the rows k - 1, k, k + 1 are not zero. */
static void add_p(const beam *b, const pl_real *a, int k, pl_real factor, pl_real *to) {
    if (k > 0) {
        to[k - 1] -= factor * b->sine[k - 1] * a[k];
        to[k] -= factor * b->sine[k - 1] * a[k - 1];
    }
    if (k < M - 1) {
        to[k + 1] += factor * b->sine[k] * a[k];
        to[k] += factor * b->sine[k] * a[k + 1];
    }
}

static void add_q(const beam *b, const pl_real *a, int k, pl_real factor, pl_real *to) {
    if (k > 0) {
        to[k - 1] += factor * b->cosine[k - 1] * a[k];
        to[k] -= factor * b->cosine[k - 1] * a[k - 1];
    }
    if (k < M - 1) {
        to[k + 1] += factor * b->cosine[k] * a[k];
        to[k] -= factor * b->cosine[k] * a[k + 1];
    }
}

static void angle_column(const beam *b, const pl_real *z, int k, pl_real *to) {
    const pl_real m4 = (pl_real)M * M * M * M;
    pl_real dv[M] = {0.0}, du[M];
    dv[k] = m4 * (k == 0       ? -3.0
                  : k == M - 1 ? -1.0
                               : -2.0) +
            (pl_real)M * M * b->phi * (cos(z[k]) - sin(z[k]));
    if (k > 0) dv[k - 1] = m4;
    if (k < M - 1) dv[k + 1] = m4;
    for (int l = 0; l < M; l++) du[l] = times_d(b, dv, l);
    add_q(b, b->v, k, 1.0, du);
    add_p(b, b->u, k, -1.0, du);
    solve_c(b, du);
    for (int l = 0; l < M; l++) to[l] = times_c(b, dv, l) + times_d(b, du, l);
    add_p(b, b->v, k, 1.0, to);
    add_q(b, b->u, k, 1.0, to);
}

static pl_status jac_value(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value) {
    (void)self, (void)u;
    beam b;
    prepare(&b, t, x);
    for (int i = 0; i < N * N; i++) value[i] = 0.0;
    for (int k = 0; k < M; k++) {
        pl_real *by_angle = value + N * k, *by_velocity = value + N * (M + k);
        angle_column(&b, x, k, by_angle + M);
        pl_real du[M] = {0.0};
        du[k] = 2.0 * x[M + k];
        solve_c(&b, du);
        by_velocity[k] = 1.0;
        for (int l = 0; l < M; l++) by_velocity[M + l] = times_d(&b, du, l);
    }
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = N,
    .name = "beam",
    .x_name = x_name,
    .x_start = x_start,
    .x_nominal = x_nominal,
    .rhs = rhs,
    .jac_value = jac_value,
};
