/* What generated models share: small dense systems, Newton's iteration of torn loops, tables, state sets.
 *
 * Everything is static, so that a generated file needs nothing but this header and libm.
 *
 *   loops    r(z) = 0 with exact dr/dz: damped Newton, natural monotonicity test (Deuflhard, Newton Methods for
 *            Nonlinear Problems, section 3.3), started from the last accepted solution. Where terms of very different
 *            size meet, r is a staircase whose steps may be larger than what counts as convergence: a small correction
 *            that no part of itself improves on, though r can be evaluated everywhere along it, is one of these steps
 *   sets     which candidates are states: Gaussian elimination with complete pivoting of the constraints' Jacobian;
 *            the pivot columns are determined by the constraints, the others are states
 */
#ifndef PLIANT_GENERATED_H
#define PLIANT_GENERATED_H

#include "pliant.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* PL_QUICK: compiled without optimisation, where of inline functions only those in use cost time */
#if defined(__GNUC__) && defined(PL_QUICK)
#define PL_UNUSED inline __attribute__((unused))
#define PL_PART
#elif defined(__GNUC__)
#define PL_UNUSED __attribute__((unused))
#define PL_PART   __attribute__((noinline)) /* compilers need more than linear time for long functions */
#else
#define PL_UNUSED
#define PL_PART
#endif

#if defined(__GNUC__) && !defined(__clang__) && !defined(PL_QUICK)
/* called seldom, or very long: quick to compile rather than quick to run; called once: as quick as possible */
#define PL_COLD __attribute__((optimize("O1")))
#define PL_ONCE __attribute__((optimize("O0")))
/* one long stretch of scalar statements: packing scattered values costs more than it saves, and shorter instructions
 * leave room in the caches for code */
#define PL_SCALAR __attribute__((optimize("Os", "no-tree-slp-vectorize")))
#else
#define PL_COLD
#define PL_ONCE
#define PL_SCALAR
#endif

#if defined(__GNUC__) && !defined(PL_QUICK)
#define PL_INLINE inline __attribute__((always_inline))
#else
#define PL_INLINE inline
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define PL_UNROLL _Pragma("GCC unroll 8") /* where the number of rounds is known: written out */
#else
#define PL_UNROLL
#endif

#if defined(PL_EXPORT) /* by a file that has the model in itself */
#elif defined(_WIN32)
#define PL_EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define PL_EXPORT __attribute__((visibility("default")))
#else
#define PL_EXPORT
#endif

#define PL_NEWTON_MAX       60
#define PL_NEWTON_CONVERGED 1e-9 /* of the scaled unknowns: quadratic convergence makes the result exact */
#define PL_NEWTON_DAMPING   1e-5
#define PL_NEWTON_FLOOR     1e-6 /* of nominal: below it an unknown counts as zero */
#define PL_NEWTON_STALLED                                                                                    \
    1e-5 /* a correction that stays below this, its residual not shrinking, is rounding */
#define PL_NEWTON_ROUNDING 1e-6 /* of value and nominal: may be rounding where nothing makes r smaller */
#define PL_NEWTON_IDLE     10   /* corrections none of which is clearly the smallest so far */
#define PL_NEWTON_JUMP     1.01 /* growth of the residual in the smallest part of a correction: it jumps there */
#define PL_NEWTON_JUMPS    8    /* jumps that are leapt over */
#define PL_NEWTON_CUTS     6    /* corrections that pass a singular point, halved */
#define PL_NEAR_ZERO       1e-3 /* of the largest determinant of a constraint so far: it is nearly singular */
#define PL_SET_SHARE       0.3  /* of the determinant of a set's loop must be left after a step */
#define PL_SET_GROWTH      3.0  /* |G_d^-1 G_s| beyond which states are chosen anew (1: best possible) */

static PL_UNUSED pl_real pl_min(pl_real a, pl_real b) {
    return a < b ? a : b;
}
static PL_UNUSED pl_real pl_max(pl_real a, pl_real b) {
    return a > b ? a : b;
}
static PL_UNUSED pl_real pl_sign(pl_real a) {
    return (pl_real)((a > 0.0) - (a < 0.0));
}
static PL_UNUSED pl_real pl_homotopy(pl_real lambda, pl_real actual, pl_real simplified) {
    if (lambda >= 1.0) return actual;
    return lambda <= 0.0 ? simplified : lambda * actual + (1.0 - lambda) * simplified;
}

/* ------------------------------------------------------------------------------------------ k x k systems */

/* Row-pivoted LU of the row-major n x n matrix a, in place; the diagonal then holds the inverses of the pivots,
 * so that solving needs no division. The right side b, unless it is NULL, goes through the same steps. Returns the
 * 1-based number of a column without pivot, or 0. */
static PL_INLINE int pl_eliminate(const int n, pl_real *restrict a, int *restrict pivot,
                                  pl_real *restrict b) {
    PL_UNROLL for (int k = 0; k < n; k++) {
        pl_real largest = 0.0; /* below the diagonal; most often there is nothing to exchange */
        PL_UNROLL for (int i = k + 1; i < n; i++) largest = pl_max(fabs(a[i * n + k]), largest);
        pivot[k] = k;
        if (largest > fabs(a[k * n + k])) {
            int best = k + 1;
            while (fabs(a[best * n + k]) < largest) best++;
            pivot[k] = best;
            for (int j = 0; j < n; j++) {
                pl_real swap = a[k * n + j];
                a[k * n + j] = a[best * n + j];
                a[best * n + j] = swap;
            }
            if (b) {
                pl_real swap = b[k];
                b[k] = b[best];
                b[best] = swap;
            }
        }
        if (!(fabs(a[k * n + k]) > 0.0) || a[k * n + k] - a[k * n + k] != 0.0) return k + 1;
        pl_real inverse = a[k * n + k] = 1.0 / a[k * n + k];
        PL_UNROLL for (int i = k + 1; i < n; i++) {
            pl_real factor = a[i * n + k] *= inverse;
            PL_UNROLL for (int j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
            if (b) b[i] -= factor * b[k];
        }
    }
    return 0;
}

/* Exchanges and unit lower triangle for m right sides, b row-major n x m. */
static PL_INLINE void pl_forward(const int n, const pl_real *restrict a, const int *restrict pivot, int m,
                                 pl_real *restrict b) {
    for (int k = 0; k < n; k++) /* factors were swapped as whole rows: all exchanges first */
        if (pivot[k] != k)
            for (int j = 0; j < m; j++) {
                pl_real swap = b[k * m + j];
                b[k * m + j] = b[pivot[k] * m + j];
                b[pivot[k] * m + j] = swap;
            }
    PL_UNROLL for (int k = 0; k < n; k++)
        PL_UNROLL for (int i = k + 1; i < n; i++) for (int j = 0; j < m; j++) b[i * m + j] -=
        a[i * n + k] * b[k * m + j];
}

/* Upper triangle. */
static PL_INLINE void pl_backward(const int n, const pl_real *restrict a, int m, pl_real *restrict b) {
    PL_UNROLL for (int k = n - 1; k >= 0; k--) {
        for (int j = 0; j < m; j++) b[k * m + j] *= a[k * n + k];
        PL_UNROLL for (int i = 0; i < k; i++) for (int j = 0; j < m; j++) b[i * m + j] -=
            a[i * n + k] * b[k * m + j];
    }
}

static PL_UNUSED int pl_small_factor(int n, pl_real *a, int *pivot) {
    return pl_eliminate(n, a, pivot, NULL);
}
static PL_UNUSED void pl_small_solve(int n, const pl_real *a, const int *pivot, int m, pl_real *b) {
    pl_forward(n, a, pivot, m, b);
    pl_backward(n, a, m, b);
}
static PL_UNUSED int pl_small_system(int n, pl_real *a, int *pivot, pl_real *b) {
    int bad = pl_eliminate(n, a, pivot, b);
    if (!bad) pl_backward(n, a, 1, b);
    return bad;
}

/* The same for one size: loops of few rounds cost more than the work. */
#define PL_SYSTEM(n)                                                                                         \
    static PL_UNUSED PL_PART int pl_factor_##n(pl_real *a, int *pivot) {                                     \
        return pl_eliminate(n, a, pivot, NULL);                                                              \
    }                                                                                                        \
    static PL_UNUSED PL_PART void pl_solve_##n(const pl_real *a, const int *pivot, int m, pl_real *b) {      \
        pl_forward(n, a, pivot, m, b);                                                                       \
        pl_backward(n, a, m, b);                                                                             \
    }                                                                                                        \
    static PL_UNUSED PL_PART int pl_system_##n(pl_real *a, int *pivot, pl_real *b) {                         \
        int bad = pl_eliminate(n, a, pivot, b);                                                              \
        if (!bad) pl_backward(n, a, 1, b);                                                                   \
        return bad;                                                                                          \
    }

/* n = 2, inlined: two tears are common. */
static PL_INLINE int pl_factor_2(pl_real *a, int *pivot) {
    pivot[0] = fabs(a[2]) > fabs(a[0]);
    pivot[1] = 1;
    if (pivot[0]) {
        pl_real first = a[0], second = a[1];
        a[0] = a[2];
        a[1] = a[3];
        a[2] = first;
        a[3] = second;
    }
    if (!(fabs(a[0]) > 0.0)) return 1;
    a[0] = 1.0 / a[0];
    a[2] *= a[0];
    pl_real last = a[3] - a[2] * a[1];
    a[3] = 1.0 / last;
    return fabs(last) > 0.0 ? 0 : 2;
}

static PL_INLINE void pl_solve_2(const pl_real *a, const int *pivot, const int m, pl_real *b) {
    PL_UNROLL for (int j = 0; j < m; j++) {
        pl_real first = b[j], second = b[m + j];
        if (pivot[0]) {
            first = b[m + j];
            second = b[j];
        }
        second = (second - a[2] * first) * a[3];
        b[m + j] = second;
        b[j] = (first - a[1] * second) * a[0];
    }
}

static PL_INLINE int pl_system_2(pl_real *a, int *pivot, pl_real *b) {
    int bad = pl_factor_2(a, pivot);
    if (!bad) pl_solve_2(a, pivot, 1, b);
    return bad;
}

/* ----------------------------------------------------------------------------- systems that modes may make singular
 *
 * Where several brakes hold one shaft, forces are not unique: z = A^+ b is the solution of least norm, if there is one
 * (Golub & Van Loan, Matrix Computations, section 5.5). A^+ = V S^-1 U^T from Jacobi rotations of the columns (section
 * 8.6.3), with rows of equal size. It then stands in the place of the factors, and the first pivot is PL_INVERSE. */
#define PL_LEAST_MAX      24    /* unknowns of such a system */
#define PL_LEAST_PIVOT    1e-13 /* of its column: smaller pivots are looked at */
#define PL_LEAST_RANK     1e-12 /* of the largest singular value: smaller ones are zero */
#define PL_LEAST_RESIDUAL 1e-9  /* of the terms of an equation: what is left where there is a solution */
#define PL_INVERSE        (-1)

/* c (n x n, rows of largest entry 1) becomes its pseudo-inverse; returns the rank. */
static PL_UNUSED int pl_pseudo_inverse(int n, pl_real *c) {
    pl_real v[PL_LEAST_MAX * PL_LEAST_MAX], size[PL_LEAST_MAX], largest = 0.0;
    for (int i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
    for (int sweep = 0, turned = 1; sweep < 60 && turned; sweep++) {
        turned = 0;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                pl_real a = 0.0, b = 0.0, g = 0.0;
                for (int i = 0; i < n; i++) {
                    a += c[i * n + p] * c[i * n + p];
                    b += c[i * n + q] * c[i * n + q];
                    g += c[i * n + p] * c[i * n + q];
                }
                if (!(fabs(g) > 1e-15 * sqrt(a * b))) continue;
                turned = 1;
                const pl_real zeta = (b - a) / (2.0 * g);
                const pl_real t = (zeta < 0.0 ? -1.0 : 1.0) / (fabs(zeta) + sqrt(1.0 + zeta * zeta));
                const pl_real cosine = 1.0 / sqrt(1.0 + t * t), sine = cosine * t;
                for (int i = 0; i < 2 * n; i++) {
                    pl_real *row = i < n ? c + i * n : v + (i - n) * n;
                    const pl_real x = row[p], y = row[q];
                    row[p] = cosine * x - sine * y;
                    row[q] = sine * x + cosine * y;
                }
            }
    }
    for (int j = 0; j < n; j++) {
        size[j] = 0.0;
        for (int i = 0; i < n; i++) size[j] += c[i * n + j] * c[i * n + j];
        largest = pl_max(largest, size[j]);
    }
    int rank = 0;
    pl_real u[PL_LEAST_MAX * PL_LEAST_MAX]; /* U S, of what is not zero: divided by S^2 it is U S^-1 */
    for (int j = 0; j < n; j++) {
        const int is_zero = !(size[j] > PL_LEAST_RANK * PL_LEAST_RANK * largest);
        rank += !is_zero;
        for (int i = 0; i < n; i++) u[i * n + j] = is_zero ? 0.0 : c[i * n + j] / size[j];
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            pl_real sum = 0.0;
            for (int j = 0; j < n; j++) sum += v[i * n + j] * u[k * n + j];
            c[i * n + k] = sum;
        }
    return rank;
}

/* Solve for one right side, with least norm where the matrix is singular and there is a solution. a: n * (n + 2) numbers,
 * behind the matrix n that the right side may stand in, then the sizes of the rows of a matrix that was singular. */
static PL_UNUSED int pl_least_system(int n, pl_real *a, int *pivot, pl_real *b) {
    pl_real matrix[PL_LEAST_MAX * PL_LEAST_MAX], right[PL_LEAST_MAX], *scale = a + n * n + n;
    for (int i = 0; i < n * n; i++) matrix[i] = a[i];
    for (int i = 0; i < n; i++) right[i] = b[i];
    int bad = pl_eliminate(n, a, pivot, b);
    for (int k = 0; k < n && !bad; k++) {
        pl_real largest = 0.0;
        for (int i = 0; i < n; i++) largest = pl_max(largest, fabs(matrix[i * n + k]));
        bad = fabs(a[k * n + k]) * largest > 1.0 / PL_LEAST_PIVOT;
    }
    if (!bad) {
        pl_backward(n, a, 1, b);
        return 0;
    }
    for (int i = 0; i < n; i++) {
        scale[i] = 0.0;
        for (int j = 0; j < n; j++) scale[i] = pl_max(scale[i], fabs(matrix[i * n + j]));
        if (scale[i] - scale[i] != 0.0) return 1;
        if (scale[i] == 0.0) scale[i] = 1.0;
        for (int j = 0; j < n; j++) a[i * n + j] = matrix[i * n + j] / scale[i];
    }
    pl_pseudo_inverse(n, a);
    pivot[0] = PL_INVERSE;
    for (int i = 0; i < n; i++) {
        b[i] = 0.0;
        for (int j = 0; j < n; j++) b[i] += a[i * n + j] * (right[j] / scale[j]);
    }
    for (int i = 0; i < n; i++) {
        pl_real rest = -right[i], terms = fabs(right[i]);
        for (int j = 0; j < n; j++) {
            rest += matrix[i * n + j] * b[j];
            terms += fabs(matrix[i * n + j] * b[j]);
        }
        if (!(fabs(rest) <= PL_LEAST_RESIDUAL * terms)) return 1;
    }
    return 0;
}

/* The same with what pl_least_system has left, for m right sides. */
static PL_UNUSED void pl_least_solve(int n, const pl_real *a, const int *pivot, int m, pl_real *b) {
    if (pivot[0] != PL_INVERSE) {
        pl_small_solve(n, a, pivot, m, b);
        return;
    }
    const pl_real *scale = a + n * n + n;
    for (int j = 0; j < m; j++) {
        pl_real given[PL_LEAST_MAX];
        for (int i = 0; i < n; i++) given[i] = b[i * m + j] / scale[i];
        for (int i = 0; i < n; i++) {
            b[i * m + j] = 0.0;
            for (int k = 0; k < n; k++) b[i * m + j] += a[i * n + k] * given[k];
        }
    }
}

/* ------------------------------------------------------------------------------------------------ Newton */

/* Residual r (n) and, if a is not NULL, dr/dz (row-major n x n) of a loop at z. */
typedef void (*pl_loop)(void *self, pl_real t, const pl_real *x, const pl_real *u, const pl_real *z,
                        pl_real *r, pl_real *a);

static PL_UNUSED pl_real pl_loop_norm(int n, const pl_real *d, const pl_real *z, const pl_real *nominal) {
    pl_real largest = 0.0;
    for (int i = 0; i < n; i++) {
        pl_real here = fabs(d[i]) / (fabs(z[i]) + PL_NEWTON_FLOOR * nominal[i]);
        if (here != here) return here;
        if (here > largest) largest = here;
    }
    return largest;
}

/* Determinant of a matrix from its factors. */
static PL_INLINE pl_real pl_determinant(const int n, const pl_real *a, const int *pivot) {
    pl_real inverse = 1.0;
    PL_UNROLL for (int k = 0; k < n; k++) inverse *= pivot[k] != k ? -a[k * n + k] : a[k * n + k];
    return 1.0 / inverse;
}

/* A determinant that has changed its sign, or has become smaller than a share of what it was (0: not known). */
static PL_INLINE int pl_passes_zero(pl_real now, pl_real before, pl_real share) {
    return now * before < share * before * before;
}

/* Constraints that are always solved for the same unknowns: 1 if the determinant of their Jacobian g comes near zero.
 * `largest`: the largest one so far, with its sign. */
static PL_UNUSED int pl_near_zero(int n, pl_real *g, int *pivot, pl_real *largest) {
    if (pl_small_factor(n, g, pivot)) return 1;
    const pl_real now = pl_determinant(n, g, pivot);
    if (pl_passes_zero(now, *largest, PL_NEAR_ZERO)) return 1;
    if (fabs(now) > fabs(*largest)) *largest = now;
    return 0;
}

/* A last correction that is small only against the floor may leave where the loop is defined (sqrt next to zero): then
 * the residual is asked, at z + d in `trial`. */
static PL_UNUSED int pl_loop_leaves(pl_loop loop, void *self, pl_real t, const pl_real *x, const pl_real *u,
                                    int n, const pl_real *d, const pl_real *trial, pl_real *r) {
    int doubtful = 0, leaves = 0;
    for (int i = 0; i < n; i++) doubtful |= fabs(d[i]) > PL_NEWTON_STALLED * fabs(trial[i]);
    if (!doubtful) return 0;
    loop(self, t, x, u, trial, r, NULL);
    for (int i = 0; i < n; i++) leaves |= r[i] - r[i] != 0.0;
    return leaves;
}

/* May the correction d be rounding? */
static PL_UNUSED int pl_loop_rounding(int n, const pl_real *d, const pl_real *z, const pl_real *nominal) {
    for (int i = 0; i < n; i++)
        if (!(fabs(d[i]) <= PL_NEWTON_ROUNDING * (fabs(z[i]) + nominal[i]))) return 0;
    return 1;
}

/* Iterate z; work: n * (n + 3) numbers, pivot: n. Returns 0, or -1 (no convergence), or the 1-based number of
 * an unknown without pivot. On failure r is the last residual. det: determinant of dr/dz before, at the end that of
 * the solution. It must not change its sign: a singular point lies between, and behind it another branch of solutions.
 * Nor must it become less than a share of what it was. Corrections that end there are cut. A residual with a relation of its own unknowns may jump
 * (smooth(0, if z < 1 then ... else ...)): no part of a correction that ends beyond the jump makes it smaller, but the whole
 * of it leads to where the other side holds. Next to a slope without bound (sqrt at zero) corrections are as small as
 * rounding and make the residual little smaller, but lead away: the whole of them is taken. */
static PL_UNUSED int pl_newton(pl_loop loop, void *self, pl_real t, const pl_real *x, const pl_real *u, int n,
                               pl_real *z, const pl_real *nominal, pl_real *r, pl_real *work, int *pivot,
                               pl_real *det, pl_real share) {
    pl_real *a = work, *d = work + n * n, *trial = d + n, *next = trial + n, *last = next;
    pl_real shrunk = 0.0,
            best = HUGE_VAL; /* shrunk: to which part the last full correction brought the residual */
    int idle = 0, jumps = 0, cuts = 0;
    loop(self, t, x, u, z, r, a);
    for (int iteration = 0; iteration < PL_NEWTON_MAX; iteration++) {
        int bad = pl_small_factor(n, a, pivot);
        if (bad) return bad;
        pl_real here = pl_determinant(n, a, pivot);
        if (pl_passes_zero(here, *det, share)) { /* too far: half of the last correction */
            if (iteration == 0 || cuts++ >= PL_NEWTON_CUTS) return 1;
            for (int i = 0; i < n; i++) z[i] = 0.5 * (z[i] + last[i]);
            loop(self, t, x, u, z, r, a);
            continue;
        }
        for (int i = 0; i < n; i++) d[i] = -r[i];
        pl_small_solve(n, a, pivot, 1, d);
        pl_real length = pl_loop_norm(n, d, z, nominal), lambda = 1.0;
        if (length - length != 0.0) return -1;
        if (length <= PL_NEWTON_CONVERGED || (length <= PL_NEWTON_STALLED && shrunk >= 0.5)) {
            for (int i = 0; i < n; i++) trial[i] = z[i] + d[i];
            if (!pl_loop_leaves(loop, self, t, x, u, n, d, trial, r)) {
                for (int i = 0; i < n; i++) z[i] = trial[i];
                *det = here;
                return 0;
            }
        }
        int rounding = pl_loop_rounding(n, d, z, nominal);
        idle = length < 0.9 * best || (shrunk > 0.0 && shrunk < 0.5) ? 0 : idle + 1;
        best = length < best ? length : best;
        pl_real after = 0.0;
        for (;; lambda *= 0.5) {
            if (lambda < PL_NEWTON_DAMPING) {
                *det = rounding ? here : *det;
                if (rounding) return 0;
                if (!(after > PL_NEWTON_JUMP * length) || jumps++ >= PL_NEWTON_JUMPS) return -1;
                for (int i = 0; i < n; i++) trial[i] = z[i] + d[i]; /* to the other side of the jump */
                break;
            }
            for (int i = 0; i < n; i++) trial[i] = z[i] + lambda * d[i];
            loop(self, t, x, u, trial, r, NULL);
            for (int i = 0; i < n; i++) next[i] = -r[i];
            pl_small_solve(n, a, pivot, 1, next);
            after = pl_loop_norm(n, next, z, nominal);
            shrunk = lambda == 1.0 ? after / length : 0.0; /* damped corrections shrink slowly by design */
            if (after - after != 0.0)
                rounding = 0;
            else if (after <= (1.0 - 0.25 * lambda) * length || (rounding && lambda == 1.0 && after < length))
                break;
        }
        if (rounding && idle >= PL_NEWTON_IDLE) {
            *det = here;
            return 0;
        }
        for (int i = 0; i < n; i++) {
            last[i] = z[i];
            z[i] = trial[i];
        }
        loop(self, t, x, u, z, r, a);
    }
    return -1;
}

/* ------------------------------------------------------------------------------------------------ tables */

enum { PL_TABLE_HOLD, PL_TABLE_EXTEND, PL_TABLE_REPEAT, PL_TABLE_ERROR };

typedef struct pl_table {
    int n;                /* knots */
    int outside;          /* PL_TABLE_... */
    const pl_real *knot;  /* n, ascending */
    const pl_real *piece; /* (n - 1) * 4: coefficients of powers of u - knot[i] */
} pl_table;

/* Value of a piecewise cubic (order 0) or of its derivative at u. */
static PL_UNUSED pl_real pl_table_value(const pl_table *table, int order, pl_real u) {
    pl_real first = table->knot[0], last = table->knot[table->n - 1];
    if (table->outside == PL_TABLE_REPEAT) {
        pl_real period = last - first;
        u -= period * floor((u - first) / period);
    } else if (u < first || u > last) {
        if (table->outside == PL_TABLE_ERROR) return NAN;
        if (table->outside == PL_TABLE_HOLD) {
            if (order > 0) return 0.0;
            u = u < first ? first : last;
        }
    }
    int low = 0, high = table->n - 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (table->knot[middle] <= u)
            low = middle;
        else
            high = middle;
    }
    const pl_real *c = table->piece + 4 * low;
    pl_real s = u - table->knot[low];
    if (order == 0) return c[0] + s * (c[1] + s * (c[2] + s * c[3]));
    if (order == 1) return c[1] + s * (2.0 * c[2] + s * 3.0 * c[3]);
    if (order == 2) return 2.0 * c[2] + 6.0 * s * c[3];
    return order == 3 ? 6.0 * c[3] : 0.0;
}

/* -------------------------------------------------------------------------------------------- state sets */

/* Gauss-Jordan elimination of g (row-major m x n, overwritten) with complete pivoting; column: the columns of the
 * pivots. Columns that are barred (n flags, or NULL) serve only where no other has a pivot above the share of what is
 * left; share < 0: never. Returns the rank. */
static PL_UNUSED int pl_set_pivots(int m, int n, pl_real *g, const int8_t *barred, pl_real share,
                                   int *column) {
    for (int k = 0; k < m; k++) {
        int place = -1, other = -1; /* of the best pivot, and of the best barred one */
        pl_real size = 0.0, other_size = 0.0;
        for (int i = k; i < m; i++)
            for (int j = 0; j < n; j++) {
                int taken = 0;
                for (int q = 0; q < k; q++) taken |= column[q] == j;
                if (taken) continue;
                if (barred && barred[j]) {
                    if (share >= 0.0 && fabs(g[i * n + j]) > other_size) {
                        other_size = fabs(g[i * n + j]);
                        other = i * n + j;
                    }
                } else if (fabs(g[i * n + j]) > size) {
                    size = fabs(g[i * n + j]);
                    place = i * n + j;
                }
            }
        if (other >= 0 && size <= share * other_size) place = other;
        if (place < 0) return k;
        int row = place / n, best = place % n;
        for (int j = 0; j < n; j++) {
            pl_real swap = g[k * n + j];
            g[k * n + j] = g[row * n + j];
            g[row * n + j] = swap;
        }
        pl_real inverse = 1.0 / g[k * n + best];
        for (int j = 0; j < n; j++) g[k * n + j] *= inverse;
        for (int i = 0; i < m; i++) {
            pl_real factor = g[i * n + best];
            if (i == k || factor == 0.0) continue;
            for (int j = 0; j < n; j++) g[i * n + j] -= factor * g[k * n + j];
        }
        column[k] = best;
    }
    return m;
}

/* Choose states among n candidates under m constraints with Jacobian g (row-major m x n, overwritten). `state`
 * (n flags) is the present choice; it is kept while it is good enough, unless force is set. Returns 1 if the
 * choice changed, 0 if not, -1 if the constraints are dependent here. work: n ints. */
static PL_UNUSED int pl_set_choose(int m, int n, pl_real *g, int8_t *state, int force, int *work) {
    int *column = work, changed = 0;
    if (!force) {
        /* on the present dummies: what is left in the columns of states is G_d^-1 G_s */
        int rank = pl_set_pivots(m, n, g, state, -1.0, column);
        pl_real growth = rank < m ? HUGE_VAL : 0.0;
        for (int i = 0; rank == m && i < m; i++)
            for (int j = 0; j < n; j++)
                if (state[j] && fabs(g[i * n + j]) > growth) growth = fabs(g[i * n + j]);
        if (growth <= PL_SET_GROWTH) return 0;
    }
    if (pl_set_pivots(m, n, g, NULL, -1.0, column) < m) return -1;
    for (int j = 0; j < n; j++) {
        int8_t now = 1;
        for (int q = 0; q < m; q++)
            if (column[q] == j) now = 0;
        changed |= now != state[j];
        state[j] = now;
    }
    return changed;
}

/* Selection matrix ((n - m) x n, row-major) of a choice. */
static PL_UNUSED void pl_set_matrix(int n, const int8_t *state, pl_real *a) {
    int k = 0;
    for (int j = 0; j < n; j++)
        if (state[j]) {
            for (int i = 0; i < n; i++) a[k * n + i] = i == j ? 1.0 : 0.0;
            k++;
        }
}

#endif
