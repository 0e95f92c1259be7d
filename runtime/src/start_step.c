/* The step of Newton's iteration for start values: what nothing determines stays where it is.
 *
 *     [C_s  C_a] [s]   [b_c]      conditions
 *     [A_s  A_a] [a] = [b_a]      algebraic rows, as many as algebraic unknowns a
 *
 * The algebraic unknowns are eliminated, (C_s - C_a A_a^-1 A_s) s = b_c - C_a A_a^-1 b_a, and the smallest solution is
 * taken. The smallest solution of the whole would move free states only to spare algebraic unknowns a long way.
 * A_a counts as regular by an estimate of its condition (Hager, SIAM J. Sci. Stat. Comput. 5, 1984, 311-316).
 */
#include "start.h"

#include <math.h>

#define RANK      1e-10 /* pivots below this share of the largest count as zero */
#define SINGULAR  1e10  /* condition of A_a beyond which it is not inverted */
#define ESTIMATES 5

size_t pl_start_step_size(int n_rows, int n_cols, int m) {
    size_t rows = (size_t)n_rows, cols = (size_t)n_cols, a = (size_t)m, k = cols - a;
    size_t whole = rows * cols + pl_least_norm_size(n_rows, n_cols);
    size_t parts = a * a + 5 * a + a * (k + 1) + (rows - a) * k + (rows - a) +
                   pl_least_norm_size(n_rows - m, n_cols - m);
    return a && k ? (whole > parts ? whole : parts) : whole;
}

/* LU with row pivoting of the m x m matrix a (by columns); 0: a pivot is zero. */
static int factor(int m, pl_real *a, pl_real *pivot) {
    for (int k = 0; k < m; k++) {
        pl_real *column = a + (size_t)k * (size_t)m;
        int best = k;
        for (int i = k + 1; i < m; i++)
            if (fabs(column[i]) > fabs(column[best])) best = i;
        pivot[k] = best;
        if (!(fabs(column[best]) > 0.0)) return 0;
        for (int j = 0; j < m && best != k; j++) {
            pl_real swap = a[(size_t)j * (size_t)m + k];
            a[(size_t)j * (size_t)m + k] = a[(size_t)j * (size_t)m + best];
            a[(size_t)j * (size_t)m + best] = swap;
        }
        for (int i = k + 1; i < m; i++) column[i] /= column[k];
        for (int j = k + 1; j < m; j++) {
            pl_real *other = a + (size_t)j * (size_t)m, upper = other[k];
            if (upper == 0.0) continue;
            for (int i = k + 1; i < m; i++) other[i] -= column[i] * upper;
        }
    }
    return 1;
}

static void solve(int m, const pl_real *a, const pl_real *pivot, pl_real *b) {
    for (int k = 0; k < m; k++) {
        int other = (int)pivot[k];
        pl_real swap = b[k];
        b[k] = b[other];
        b[other] = swap;
    }
    for (int k = 0; k < m; k++)
        for (int i = k + 1; b[k] != 0.0 && i < m; i++) b[i] -= a[(size_t)k * (size_t)m + i] * b[k];
    for (int k = m - 1; k >= 0; k--) {
        b[k] /= a[(size_t)k * (size_t)m + k];
        for (int i = 0; b[k] != 0.0 && i < k; i++) b[i] -= a[(size_t)k * (size_t)m + i] * b[k];
    }
}

static void solve_transposed(int m, const pl_real *a, const pl_real *pivot, pl_real *b) {
    for (int k = 0; k < m; k++) {
        for (int i = 0; i < k; i++) b[k] -= a[(size_t)k * (size_t)m + i] * b[i];
        b[k] /= a[(size_t)k * (size_t)m + k];
    }
    for (int k = m - 1; k >= 0; k--)
        for (int i = k + 1; i < m; i++) b[k] -= a[(size_t)k * (size_t)m + i] * b[i];
    for (int k = m - 1; k >= 0; k--) {
        int other = (int)pivot[k];
        pl_real swap = b[k];
        b[k] = b[other];
        b[other] = swap;
    }
}

/* Estimate of the largest column sum of the inverse. v: work. */
static pl_real inverse_size(int m, const pl_real *a, const pl_real *pivot, pl_real *v) {
    pl_real found = 0.0;
    for (int i = 0; i < m; i++) v[i] = 1.0 / m;
    for (int round = 0; round < ESTIMATES; round++) {
        pl_real sum = 0.0, most = 0.0;
        int best = 0;
        solve(m, a, pivot, v);
        for (int i = 0; i < m; i++) sum += fabs(v[i]);
        if (!(sum > found)) break;
        found = sum;
        for (int i = 0; i < m; i++) v[i] = v[i] < 0.0 ? -1.0 : 1.0;
        solve_transposed(m, a, pivot, v);
        for (int i = 0; i < m; i++)
            if (fabs(v[i]) > most) {
                most = fabs(v[i]);
                best = i;
            }
        for (int i = 0; i < m; i++) v[i] = i == best ? 1.0 : 0.0;
    }
    return found;
}

/* Room: factors a, sizes of its columns, pivots, work. */
static int is_regular(int m, pl_real *a, pl_real *size, pl_real *pivot, pl_real *v) {
    pl_real norm = 0.0;
    for (int j = 0; j < m; j++) {
        pl_real *column = a + (size_t)j * (size_t)m, sum = 0.0;
        size[j] = 0.0;
        for (int i = 0; i < m; i++) {
            if (!(column[i] - column[i] == 0.0)) return 0;
            size[j] = fmax(size[j], fabs(column[i]));
        }
        if (size[j] == 0.0) return 0;
        for (int i = 0; i < m; i++) sum += fabs(column[i] /= size[j]);
        norm = fmax(norm, sum);
    }
    if (!factor(m, a, pivot)) return 0;
    return norm * inverse_size(m, a, pivot, v) < SINGULAR * sqrt((pl_real)m);
}

/* The smallest solution; 0: not finite. What no row reads stays exactly where it is: reflections leave zeros alone. */
static int least(int m, int n, pl_real *a, const pl_real *b, pl_real *x, pl_real *work,
                 pl_start_step *found) {
    found->n_rows = m;
    found->n_cols = n;
    found->rank = 0;
    found->matrix = a;
    found->work = work;
    for (size_t k = 0; k < (size_t)m * (size_t)n; k++)
        if (!(a[k] - a[k] == 0.0)) return 0;
    found->rank = pl_least_norm(m, n, a, b, RANK, x, work);
    return 1;
}

int pl_start_smallest(int n_rows, int n_cols, int m, const pl_real *j, const pl_real *b, pl_real *x,
                      pl_real *room, pl_start_step *found) {
    int n = n_rows - m, k = n_cols - m;
    size_t rows = (size_t)n_rows;
    if (m && k) {
        pl_real *a = room, *size = a + (size_t)m * (size_t)m, *pivot = size + m, *v = pivot + m;
        for (int c = 0; c < m; c++)
            for (int i = 0; i < m; i++) a[(size_t)c * (size_t)m + i] = j[(size_t)(k + c) * rows + n + i];
        if (is_regular(m, a, size, pivot, v)) {
            pl_real *inside = v + m, *matrix = inside + (size_t)m * (size_t)(k + 1),
                    *right = matrix + (size_t)n * (size_t)k;
            for (int c = 0; c <= k; c++) { /* A_a^-1 [A_s b_a] */
                pl_real *column = inside + (size_t)c * (size_t)m;
                const pl_real *from = c < k ? j + (size_t)c * rows + n : b + n;
                for (int i = 0; i < m; i++) column[i] = from[i];
                solve(m, a, pivot, column);
                for (int i = 0; i < m; i++) column[i] /= size[i];
                pl_real *left = c < k ? matrix + (size_t)c * (size_t)n : right;
                for (int i = 0; i < n; i++) left[i] = c < k ? j[(size_t)c * rows + i] : b[i];
                for (int q = 0; q < m; q++)
                    for (int i = 0; i < n; i++) left[i] -= j[(size_t)(k + q) * rows + i] * column[q];
            }
            if (!least(n, k, matrix, right, x, right + n, found)) return 0;
            const pl_real *last = inside + (size_t)k * (size_t)m;
            for (int i = 0; i < m; i++) {
                x[k + i] = last[i];
                for (int c = 0; c < k; c++) x[k + i] -= inside[(size_t)c * (size_t)m + i] * x[c];
            }
            return 1;
        }
    }
    for (size_t i = 0; i < rows * (size_t)n_cols; i++) room[i] = j[i];
    return least(n_rows, n_cols, room, b, x, room + rows * (size_t)n_cols, found);
}
