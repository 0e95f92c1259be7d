/* Solution of least norm of a system that may have any rank.
 *
 *     A P = Q [R11 R12]     Householder reflections, the column with the largest rest first
 *             [ 0   0 ]     R11: rank x rank, by the size of its diagonal
 *     [R11 R12]^T = Z S     reflections again, x = P Z S^-T (Q^T b): complete orthogonal decomposition
 *
 * Golub & Van Loan, Matrix Computations, 5.4 and 5.5. Null spaces: the last columns of P Z and of Q.
 *
 * Work: scale of the reflections of Q (k = min(m, n)) and of Z (k), rows [R11 R12] as columns of an n x k matrix, one
 * vector (max(m, n)), the permutation (n, as numbers).
 */
#include "pliant.h"

#include <math.h>

typedef struct parts {
    pl_real *tau, *tau_z, *z, *vector, *place;
} parts;

static parts parts_of(int m, int n, pl_real *work) {
    int k = m < n ? m : n;
    parts w;
    w.tau = work;
    w.tau_z = w.tau + k;
    w.vector = w.tau_z + k;
    w.place = w.vector + (m > n ? m : n);
    w.z = w.place + n;
    return w;
}

size_t pl_least_norm_size(int m, int n) {
    size_t k = (size_t)(m < n ? m : n);
    return 2 * k + (size_t)(m > n ? m : n) + (size_t)n + (size_t)n * k;
}

/* Reflection that takes v (n numbers) to (beta, 0, ..): I - tau w w^T with w = (1, v[1..]); v[0] becomes beta. */
static pl_real reflection(int n, pl_real *v) {
    pl_real largest = 0.0, sum = 0.0;
    for (int i = 1; i < n; i++) largest = fmax(largest, fabs(v[i]));
    if (largest == 0.0) return 0.0;
    largest = fmax(largest, fabs(v[0]));
    for (int i = 0; i < n; i++) sum += (v[i] / largest) * (v[i] / largest);
    pl_real beta = (v[0] > 0.0 ? -largest : largest) * sqrt(sum), first = v[0] - beta;
    for (int i = 1; i < n; i++) v[i] /= first;
    pl_real tau = -first / beta;
    v[0] = beta;
    return tau;
}

/* c -= tau w (w^T c), w = (1, v[1..]) */
static void reflect(int n, const pl_real *v, pl_real tau, pl_real *c) {
    if (tau == 0.0) return;
    pl_real sum = c[0];
    for (int i = 1; i < n; i++) sum += v[i] * c[i];
    sum *= tau;
    c[0] -= sum;
    for (int i = 1; i < n; i++) c[i] -= sum * v[i];
}

static pl_real length(int n, const pl_real *v) {
    pl_real largest = 0.0, sum = 0.0;
    for (int i = 0; i < n; i++) largest = fmax(largest, fabs(v[i]));
    if (largest == 0.0) return 0.0;
    for (int i = 0; i < n; i++) sum += (v[i] / largest) * (v[i] / largest);
    return largest * sqrt(sum);
}

/* Q R with column pivoting; returns the rank. */
static int factor(int m, int n, pl_real *a, pl_real tolerance, const parts *w) {
    int rank = 0, most = m < n ? m : n;
    pl_real largest = 0.0;
    for (int j = 0; j < n; j++) w->place[j] = j;
    for (int k = 0; k < most; k++) {
        int best = k;
        pl_real size = -1.0;
        for (int j = k; j < n; j++) {
            pl_real here = length(m - k, a + (size_t)j * (size_t)m + k);
            if (here > size * (1.0 + 1e-12)) { /* equal but for rounding: the first */
                size = here;
                best = j;
            }
        }
        if (k == 0) largest = size;
        if (!(size > tolerance * largest)) break;
        pl_real *column = a + (size_t)k * (size_t)m, *other = a + (size_t)best * (size_t)m;
        pl_real swap = w->place[k];
        w->place[k] = w->place[best];
        w->place[best] = swap;
        for (int i = 0; i < m && best != k; i++) {
            pl_real value = column[i];
            column[i] = other[i];
            other[i] = value;
        }
        w->tau[k] = reflection(m - k, column + k);
        for (int j = k + 1; j < n; j++) reflect(m - k, column + k, w->tau[k], a + (size_t)j * (size_t)m + k);
        rank++;
    }
    return rank;
}

int pl_least_norm(int m, int n, pl_real *a, const pl_real *b, pl_real tolerance, pl_real *x, pl_real *work) {
    parts w = parts_of(m, n, work);
    int rank = factor(m, n, a, tolerance, &w);
    pl_real *c = w.vector;
    for (int i = 0; i < m; i++) c[i] = b[i];
    for (int k = 0; k < rank; k++) reflect(m - k, a + (size_t)k * (size_t)m + k, w.tau[k], c + k);
    if (rank == n) {
        for (int k = n - 1; k >= 0; k--) {
            pl_real sum = c[k];
            for (int j = k + 1; j < n; j++) sum -= a[(size_t)j * (size_t)m + k] * c[j];
            c[k] = sum / a[(size_t)k * (size_t)m + k];
        }
        for (int j = 0; j < n; j++) x[(int)w.place[j]] = c[j];
        return rank;
    }
    /* rows of [R11 R12] as columns of z, Z S */
    for (int k = 0; k < rank; k++)
        for (int j = 0; j < n; j++)
            w.z[(size_t)k * (size_t)n + j] = j < k ? 0.0 : a[(size_t)j * (size_t)m + k];
    for (int k = 0; k < rank; k++) {
        pl_real *column = w.z + (size_t)k * (size_t)n;
        w.tau_z[k] = reflection(n - k, column + k);
        for (int j = k + 1; j < rank; j++)
            reflect(n - k, column + k, w.tau_z[k], w.z + (size_t)j * (size_t)n + k);
    }
    for (int k = 0; k < rank; k++) { /* S^T y = c */
        const pl_real *column = w.z + (size_t)k * (size_t)n;
        pl_real sum = c[k];
        for (int i = 0; i < k; i++) sum -= column[i] * c[i];
        c[k] = sum / column[k];
    }
    for (int j = rank; j < n; j++) c[j] = 0.0;
    for (int k = rank - 1; k >= 0; k--) reflect(n - k, w.z + (size_t)k * (size_t)n + k, w.tau_z[k], c + k);
    for (int j = 0; j < n; j++) x[(int)w.place[j]] = c[j];
    return rank;
}

/* share[i] = length of row i of the last columns of a product of reflections */
static void null_share(int n, const pl_real *v, const pl_real *tau, int rank, pl_real *vector,
                       pl_real *share) {
    for (int i = 0; i < n; i++) share[i] = 0.0;
    for (int j = rank; j < n; j++) {
        for (int i = 0; i < n; i++) vector[i] = i == j ? 1.0 : 0.0;
        for (int k = rank - 1; k >= 0; k--) reflect(n - k, v + (size_t)k * (size_t)n + k, tau[k], vector + k);
        for (int i = 0; i < n; i++) share[i] += vector[i] * vector[i];
    }
    for (int i = 0; i < n; i++) share[i] = sqrt(share[i]);
}

void pl_null_rows(int m, int n, const pl_real *a, int rank, pl_real *work, pl_real *share) {
    parts w = parts_of(m, n, work);
    null_share(m, a, w.tau, rank, w.vector, share);
}

void pl_null_columns(int m, int n, int rank, pl_real *work, pl_real *share) {
    parts w = parts_of(m, n, work);
    null_share(n, w.z, w.tau_z, rank, w.vector, share);
    for (int j = 0; j < n; j++) w.vector[(int)w.place[j]] = share[j];
    for (int j = 0; j < n; j++) share[j] = w.vector[j];
}
