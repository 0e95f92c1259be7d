/* Dense LU with row pivoting, P A = L U, real and complex, column-major, in place.
 *
 * Right-looking by columns (Golub & Van Loan, Matrix Computations, 3.4): for each k choose the largest
 * |a_ik|, i >= k, swap whole rows, divide the column, subtract the outer product. Complex numbers are
 * interleaved pairs, so that no compiler's complex type is needed. A column whose largest entry is zero or
 * not finite stops the factorisation and is reported in *bad.
 */
#include "pliant.h"

#include <math.h>

static void swap_rows(int n, int width, pl_real *a, int r, int s) {
    for (int j = 0; j < n; j++) {
        pl_real *x = a + ((size_t)j * n + r) * width, *y = a + ((size_t)j * n + s) * width;
        for (int c = 0; c < width; c++) {
            pl_real keep = x[c];
            x[c] = y[c];
            y[c] = keep;
        }
    }
}

pl_status pl_lu_factor(int n, pl_real *a, int *pivot, int *bad) {
    for (int k = 0; k < n; k++) {
        pl_real *col = a + (size_t)k * n;
        int best = k;
        pl_real largest = fabs(col[k]);
        for (int i = k + 1; i < n; i++) {
            pl_real v = fabs(col[i]);
            if (v > largest) {
                largest = v;
                best = i;
            }
        }
        pivot[k] = best;
        if (!(largest > 0.0 && largest - largest == 0.0)) {
            *bad = k;
            return PL_SINGULAR;
        }
        if (best != k) swap_rows(n, 1, a, k, best);
        pl_real inverse = 1.0 / col[k];
        for (int i = k + 1; i < n; i++) col[i] *= inverse;
        for (int j = k + 1; j < n; j++) {
            pl_real *target = a + (size_t)j * n;
            pl_real factor = target[k];
            if (factor == 0.0) continue;
            for (int i = k + 1; i < n; i++) target[i] -= factor * col[i];
        }
    }
    return PL_OK;
}

void pl_lu_solve(int n, const pl_real *a, const int *pivot, pl_real *b) {
    for (int k = 0; k < n; k++) {
        pl_real v = b[pivot[k]];
        b[pivot[k]] = b[k];
        b[k] = v;
    }
    for (int k = 0; k < n; k++) {
        const pl_real *col = a + (size_t)k * n;
        pl_real v = b[k];
        if (v == 0.0) continue;
        for (int i = k + 1; i < n; i++) b[i] -= v * col[i];
    }
    for (int k = n - 1; k >= 0; k--) {
        const pl_real *col = a + (size_t)k * n;
        pl_real v = b[k] / col[k];
        b[k] = v;
        for (int i = 0; i < k; i++) b[i] -= v * col[i];
    }
}

/* (re, im) / (pr, pi) by Smith's scaling. */
static void divide(pl_real *re, pl_real *im, pl_real pr, pl_real pi) {
    if (fabs(pr) >= fabs(pi)) {
        pl_real ratio = pi / pr, den = pr + pi * ratio, r = *re, i = *im;
        *re = (r + i * ratio) / den;
        *im = (i - r * ratio) / den;
    } else {
        pl_real ratio = pr / pi, den = pr * ratio + pi, r = *re, i = *im;
        *re = (r * ratio + i) / den;
        *im = (i * ratio - r) / den;
    }
}

pl_status pl_lu_complex_factor(int n, pl_real *a, int *pivot, int *bad) {
    for (int k = 0; k < n; k++) {
        pl_real *col = a + (size_t)k * n * 2;
        int best = k;
        pl_real largest = -1.0;
        for (int i = k; i < n; i++) {
            pl_real v = fabs(col[2 * i]) + fabs(col[2 * i + 1]);
            if (v > largest) {
                largest = v;
                best = i;
            }
        }
        pivot[k] = best;
        if (!(largest > 0.0 && largest - largest == 0.0)) {
            *bad = k;
            return PL_SINGULAR;
        }
        if (best != k) swap_rows(n, 2, a, k, best);
        pl_real ir = 1.0, ii = 0.0;
        divide(&ir, &ii, col[2 * k], col[2 * k + 1]);
        for (int i = k + 1; i < n; i++) {
            pl_real r = col[2 * i], m = col[2 * i + 1];
            col[2 * i] = r * ir - m * ii;
            col[2 * i + 1] = r * ii + m * ir;
        }
        for (int j = k + 1; j < n; j++) {
            pl_real *target = a + (size_t)j * n * 2;
            pl_real fr = target[2 * k], fi = target[2 * k + 1];
            if (fr == 0.0 && fi == 0.0) continue;
            for (int i = k + 1; i < n; i++) {
                pl_real r = col[2 * i], m = col[2 * i + 1];
                target[2 * i] -= fr * r - fi * m;
                target[2 * i + 1] -= fr * m + fi * r;
            }
        }
    }
    return PL_OK;
}

void pl_lu_complex_solve(int n, const pl_real *a, const int *pivot, pl_real *b) {
    for (int k = 0; k < n; k++) {
        int s = pivot[k];
        pl_real r = b[2 * s], m = b[2 * s + 1];
        b[2 * s] = b[2 * k];
        b[2 * s + 1] = b[2 * k + 1];
        b[2 * k] = r;
        b[2 * k + 1] = m;
    }
    for (int k = 0; k < n; k++) {
        const pl_real *col = a + (size_t)k * n * 2;
        pl_real vr = b[2 * k], vi = b[2 * k + 1];
        for (int i = k + 1; i < n; i++) {
            b[2 * i] -= vr * col[2 * i] - vi * col[2 * i + 1];
            b[2 * i + 1] -= vr * col[2 * i + 1] + vi * col[2 * i];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        const pl_real *col = a + (size_t)k * n * 2;
        divide(&b[2 * k], &b[2 * k + 1], col[2 * k], col[2 * k + 1]);
        pl_real vr = b[2 * k], vi = b[2 * k + 1];
        for (int i = 0; i < k; i++) {
            b[2 * i] -= vr * col[2 * i] - vi * col[2 * i + 1];
            b[2 * i + 1] -= vr * col[2 * i + 1] + vi * col[2 * i];
        }
    }
}
