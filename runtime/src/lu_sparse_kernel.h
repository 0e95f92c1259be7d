/* Sparse LU by columns, included once for real (SC 1) and once for complex scalars (SC 2).
 *
 *     P R A Q = L U,   R = diag(1 / max_j |a_ij|),   column k of L and U from the sparse triangular system
 *     L x = (R A)_{., q(k)};   x on pivot rows is U's column k, the rest divided by the pivot is L's.
 *
 * Left-looking with the pattern of x found by depth-first search before any number is touched, so the time is
 * proportional to the arithmetic: Gilbert & Peierls, SIAM J. Sci. Stat. Comput. 9 (1988) 862-874. The search
 * runs on symmetrically pruned columns: Eisenstat & Liu, SIAM J. Matrix Anal. Appl. 13 (1992) 202-211; as in
 * Davis, Direct Methods for Sparse Linear Systems (2006), 6.2. Threshold pivoting takes the row the analysis
 * matched if it is not smaller than PL_PIVOT_THRESHOLD of the largest candidate, else the largest.
 *
 * Storage: columns follow each other, each first its part of U without the pivot, in an order in which the
 * column can be computed, then its part of L; the reciprocal pivots lie apart. While factorising the rows of
 * L keep their numbers in a, afterwards all indices are steps, so that refactorisation and solve need no
 * permutation. */
#include "lu_sparse_scalar.h"

/* Column k of the scaled matrix into x, entry i at x[place[i]]; place NULL: at its own row. */
static void NAME(load)(const pl_sparse *s, const pl_pattern *a, const pl_real *value, int column,
                       const int *place, pl_real *x) {
    const pl_real *scale = PL_PART(s, pl_real, scale);
    for (int p = a->start[column]; p < a->start[column + 1]; p++) {
        int row = a->row[p], at = place ? place[row] : row;
        NAME(scaled)(x + SC * at, value + SC * p, scale[row]);
    }
}

/* Numbers of column k: U's part goes to the arena from `at`, the candidates stay in x. Returns the sum of all
 * sizes, which is not finite if any of them is not. */
static pl_real NAME(eliminate)(const pl_sparse *s, const reach *r, int at, pl_real *x) {
    const int *pivot_row = PL_PART(s, int, pivot_row), *lower = PL_PART(s, int, lower);
    const int *upper = PL_PART(s, int, upper);
    int *index = PL_PART(s, int, col_index);
    pl_real *value = PL_PART(s, pl_real, col_value), sum = 0.0;
    for (int t = r->top; t < s->n; t++, at++) {
        int j = r->topo[t];
        pl_real u[SC], *place = x + SC * pivot_row[j];
        NAME(copy)(u, place);
        NAME(zero)(place);
        index[at] = j;
        NAME(copy)(value + SC * at, u);
        sum += NAME(size)(u);
        for (int p = lower[j]; p < upper[j + 1]; p++) NAME(submul)(x + SC * index[p], value + SC * p, u);
    }
    for (int c = 0; c < r->n_candidates; c++) sum += NAME(size)(x + SC * r->candidate[c]);
    return sum;
}

/* The pivot among the candidates: the preferred row if it is large enough, else the largest. -1: all are
 * zero. */
static int NAME(choose)(const reach *r, int preferred, const pl_real *x, pl_real *largest) {
    int best = -1, has_preferred = 0;
    *largest = 0.0;
    for (int c = 0; c < r->n_candidates; c++) {
        int row = r->candidate[c];
        pl_real size = NAME(size)(x + SC * row);
        if (size > *largest) {
            *largest = size;
            best = row;
        }
        has_preferred |= row == preferred;
    }
    if (best >= 0 && has_preferred && NAME(size)(x + SC * preferred) >= PL_PIVOT_THRESHOLD * *largest)
        return preferred;
    return best;
}

/* Candidates other than the pivot become column k of L. */
static int NAME(store_lower)(const pl_sparse *s, const reach *r, int row, int k, int at, pl_real *x) {
    int *index = PL_PART(s, int, col_index);
    pl_real *value = PL_PART(s, pl_real, col_value), *inverse = PL_PART(s, pl_real, inverse) + SC * k;
    NAME(invert)(inverse, x + SC * row);
    for (int c = 0; c < r->n_candidates; c++) {
        int i = r->candidate[c];
        if (i != row) {
            index[at] = i;
            NAME(mul)(value + SC * at, x + SC * i, inverse);
            at++;
        }
        NAME(zero)(x + SC * i);
    }
    return at;
}

/* Once L has an entry in pivot row `row` of step k below an entry u_jk, everything below it in column j is
 * also reached through column k: later searches stop there. Rows that are pivots already move to the front.
 */
static void NAME(prune_columns)(const pl_sparse *s, const reach *r, int row, int *prune) {
    const int *lower = PL_PART(s, int, lower), *upper = PL_PART(s, int, upper);
    int *index = PL_PART(s, int, col_index);
    pl_real *value = PL_PART(s, pl_real, col_value);
    for (int t = r->top; t < s->n; t++) {
        int j = r->topo[t], end = upper[j + 1], p = lower[j];
        if (prune[j] < end) continue;
        while (p < end && index[p] != row) p++;
        if (p == end) continue;
        int front = lower[j], back = end;
        while (front < back) {
            if (r->position[index[front]] >= 0) {
                front++;
                continue;
            }
            back--;
            int i = index[front];
            pl_real v[SC];
            NAME(copy)(v, value + SC * front);
            index[front] = index[back];
            NAME(copy)(value + SC * front, value + SC * back);
            index[back] = i;
            NAME(copy)(value + SC * back, v);
        }
        prune[j] = front;
    }
}

pl_status NAME(pl_column_factor)(pl_sparse *s, const pl_pattern *a, const pl_real *value, int *bad) {
    int n = s->n, *work = PL_PART(s, int, work), *prune = work;
    const int *row_order = PL_PART(s, int, row_order), *column_order = PL_PART(s, int, column_order);
    int *position = PL_PART(s, int, position), *pivot_row = PL_PART(s, int, pivot_row);
    int *upper = PL_PART(s, int, upper), *lower = PL_PART(s, int, lower), *index = PL_PART(s, int, col_index);
    pl_real *x = PL_PART(s, pl_real, x), growth = 1.0;
    reach r = {lower,        prune,        index,        position, work + n, work + 2 * n,
               work + 3 * n, work + 4 * n, work + 5 * n, 0,        0};
    for (int i = 0; i < n; i++) r.flag[i] = position[i] = -1;
    for (int i = 0; i < SC * n; i++) x[i] = 0.0;
    int at = 0;
    for (int k = 0; k < n; k++) {
        int column = column_order[k];
        r.top = n;
        r.n_candidates = 0;
        for (int p = a->start[column]; p < a->start[column + 1]; p++) reach_from(&r, a->row[p], k);
        int64_t total = (int64_t)at + (n - r.top) + r.n_candidates - 1 + n; /* all n pivots counted */
        if (total > s->n_lu) { /* extrapolate from the columns done; fill grows towards the end */
            int64_t guess = total + (total / (k + 1) + 1) * (n - k) + total / 4;
            s->needed = guess > 2 * s->n_lu ? guess : 2 * s->n_lu;
            return PL_MEMORY;
        }
        upper[k] = at;
        lower[k] = at + n - r.top;
        NAME(load)(s, a, value, column, NULL, x);
        pl_real largest, sum = NAME(eliminate)(s, &r, at, x);
        int row = NAME(choose)(&r, row_order[k], x, &largest);
        if (row < 0 || !(sum <= DBL_MAX)) {
            *bad = column;
            return PL_SINGULAR;
        }
        if (largest > growth) growth = largest;
        at = NAME(store_lower)(s, &r, row, k, lower[k], x);
        upper[k + 1] = prune[k] = at;
        position[row] = k;
        pivot_row[k] = row;
        NAME(prune_columns)(s, &r, row, prune);
    }
    for (int k = 0; k < n; k++)
        for (int p = lower[k]; p < upper[k + 1]; p++) index[p] = position[index[p]];
    s->entries = (int64_t)at + n;
    s->growth = growth;
    return PL_OK;
}

pl_status NAME(pl_column_refactor)(pl_sparse *s, const pl_pattern *a, const pl_real *value) {
    int n = s->n;
    const int *column_order = PL_PART(s, int, column_order), *position = PL_PART(s, int, position);
    const int *upper = PL_PART(s, int, upper), *lower = PL_PART(s, int, lower);
    const int *index = PL_PART(s, int, col_index);
    pl_real *x = PL_PART(s, pl_real, x), *inverse = PL_PART(s, pl_real, inverse);
    pl_real *lu = PL_PART(s, pl_real, col_value), bound = PL_REFACTOR_GROWTH * s->growth;
    for (int i = 0; i < SC * n; i++) x[i] = 0.0;
    for (int k = 0; k < n; k++) {
        NAME(load)(s, a, value, column_order[k], position, x);
        for (int t = upper[k]; t < lower[k]; t++) {
            int j = index[t];
            pl_real u[SC];
            NAME(copy)(u, x + SC * j);
            NAME(zero)(x + SC * j);
            NAME(copy)(lu + SC * t, u);
            for (int p = lower[j], end = upper[j + 1]; p < end; p++)
                NAME(submul)(x + SC * index[p], lu + SC * p, u);
        }
        pl_real pivot = NAME(size)(x + SC * k), largest = pivot;
        NAME(invert)(inverse + SC * k, x + SC * k);
        NAME(zero)(x + SC * k);
        for (int p = lower[k]; p < upper[k + 1]; p++) {
            pl_real *place = x + SC * index[p], size = NAME(size)(place);
            largest = size > largest ? size : largest;
            NAME(mul)(lu + SC * p, place, inverse + SC * k);
            NAME(zero)(place);
        }
        /* written so that NaN fails */
        if (!(pivot > 0.0 && pivot >= PL_REFACTOR_THRESHOLD * largest && largest <= bound)) return PL_GROWTH;
    }
    return PL_OK;
}

void NAME(pl_column_solve)(pl_sparse *s, pl_real *x) {
    int n = s->n;
    const int *upper = PL_PART(s, int, upper), *lower = PL_PART(s, int, lower);
    const int *index = PL_PART(s, int, col_index);
    const pl_real *lu = PL_PART(s, pl_real, col_value), *inverse = PL_PART(s, pl_real, inverse);
    for (int k = 0; k < n; k++) {
        pl_real v[SC];
        NAME(copy)(v, x + SC * k);
        for (int p = lower[k], end = upper[k + 1]; p < end; p++)
            NAME(submul)(x + SC * index[p], lu + SC * p, v);
    }
    for (int k = n - 1; k >= 0; k--) {
        pl_real v[SC];
        NAME(mul)(v, x + SC * k, inverse + SC * k);
        NAME(copy)(x + SC * k, v);
        for (int p = upper[k], end = lower[k]; p < end; p++) NAME(submul)(x + SC * index[p], lu + SC * p, v);
    }
}
