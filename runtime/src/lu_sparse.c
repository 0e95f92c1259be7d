/* Sparse LU of one matrix with a fixed pattern:  P R A Q = L U,  R = diag(1 / max_j |a_ij|).
 *
 * Two forms of the same factorisation (see lu_sparse_private.h):
 *   columns     Gilbert & Peierls 1988, any pivots: lu_sparse_kernel.h. Best for small and irregular
 * matrices. supernodes  dense panels on the pattern of B + B', B = matched matrix in the order of the
 * analysis, pivots on its diagonal: lu_sparse_super.c. Best where columns share their pattern (meshes, large
 * networks).
 *
 * pl_sparse_factor goes down this list until one succeeds:
 *   1. same form, same pivots as last time, accepted while no pivot falls below PL_REFACTOR_THRESHOLD of its
 * column and no element grows by more than PL_REFACTOR_GROWTH (not at the first call or after
 * pl_sparse_forget);
 *   2. supernodes, if they pay off, with every pivot checked against PL_PIVOT_THRESHOLD: the same test that
 * threshold pivoting makes before it leaves the diagonal, so success means that pivoting would have changed
 * nothing;
 *   3. columns with threshold pivoting.
 * 2 and 3 together count as one pivoting.
 *
 * Memory: n_lu entries of (value + index), the room the columns need. Supernodes need few indices but store
 * zeros where columns of nearly equal pattern were joined, and a stack of contributions; those are paid from
 * the indices not needed plus a fifth of the values, and joining is limited to what fits. Beyond that
 * supernodes take 2 n_a + 7 n integers (places of the matrix's entries, panels); their row numbers, twice, also
 * come from the indices not needed. */
#include "lu_sparse_private.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

static size_t take(size_t *at, size_t bytes) {
    size_t offset = *at;
    *at = offset + (bytes + 63) / 64 * 64;
    return offset;
}

/* shift: bytes from the block to the next line of the cache; the arrays lie on lines, unless the block is copied to
 * another address, which costs nothing but some speed. */
static size_t lay_out(pl_sparse *s, const pl_pattern *a, int scalar, int64_t n_lu, size_t shift) {
    size_t n = (size_t)a->n_cols, lu = (size_t)n_lu, real = sizeof(pl_real) * (size_t)scalar;
    size_t at = shift;
    memset(s, 0, sizeof *s);
    s->n = a->n_cols;
    s->scalar = scalar;
    s->n_a = a->start[n];
    s->n_lu = s->needed = n_lu;
    s->growth = 1.0;
    take(&at, sizeof *s);
    s->row_order = take(&at, n * sizeof(int));
    s->column_order = take(&at, n * sizeof(int));
    s->pivot_row = take(&at, n * sizeof(int));
    s->position = take(&at, n * sizeof(int));
    s->upper = take(&at, (n + 1) * sizeof(int));
    s->lower = take(&at, n * sizeof(int));
    s->work = take(&at, 6 * n * sizeof(int));
    s->scale = take(&at, n * sizeof(pl_real));
    s->x = take(&at, n * real + PL_PADDING * sizeof(pl_real));
    s->inverse = take(&at, n * real * (size_t)scalar + PL_PADDING * sizeof(pl_real));
    s->arena = at;
    s->col_index = take(&at, lu * sizeof(int));
    s->col_value = take(&at, lu * real);
    take(&at, lu * real / 5); /* zeros in joined supernodes, stack */
    take(&at, (2 * (size_t)s->n_a + 7 * n) * sizeof(int) +
                  (2 * PL_PADDING + 96) * sizeof(pl_real)); /* their index part */
    s->arena_size = at - s->arena;
    return at;
}

static int arguments_fine(const pl_pattern *a, int scalar, int64_t n_lu) {
    return a && a->start && a->n_cols > 0 && a->n_rows == a->n_cols && (scalar == 1 || scalar == 2) &&
           n_lu >= 0 && n_lu < INT_MAX / 2;
}

size_t pl_sparse_size(const pl_pattern *a, int scalar, int64_t n_lu) {
    pl_sparse s;
    return arguments_fine(a, scalar, n_lu) ? lay_out(&s, a, scalar, n_lu, 56) : 0;
}

/* place[order[k]] = k; 0 if order is not a permutation. */
static int invert_order(int n, const int *order, int *place) {
    for (int i = 0; i < n; i++) place[i] = -1;
    for (int k = 0; k < n; k++) {
        if (order[k] < 0 || order[k] >= n || place[order[k]] >= 0) return 0;
        place[order[k]] = k;
    }
    return 1;
}

pl_sparse *pl_sparse_init(void *memory, size_t size, const pl_pattern *a, int scalar, int64_t n_lu,
                          const int *row_order, const int *column_order) {
    if (!memory || !arguments_fine(a, scalar, n_lu) || size < pl_sparse_size(a, scalar, n_lu)) return NULL;
    if ((uintptr_t)memory % sizeof(pl_real) != 0) return NULL;
    pl_sparse *s = memory;
    lay_out(s, a, scalar, n_lu, (64 - (uintptr_t)memory % 64) % 64);
    size_t bytes = (size_t)s->n * sizeof(int);
    memcpy(PL_PART(s, int, row_order), row_order, bytes);
    memcpy(PL_PART(s, int, column_order), column_order, bytes);
    if (!invert_order(s->n, column_order, PL_PART(s, int, position))) return NULL;
    if (!invert_order(s->n, row_order, PL_PART(s, int, position))) return NULL;
    s->super_wanted = s->super_ready = pl_super_analyse(s, a);
    return s;
}

/* scale[i] = max_j |a_ij|. 0 if a value is not finite. No branches: rows come in no order. */
static int row_sizes(int64_t n_a, int scalar, const int *row, const pl_real *value, pl_real *scale) {
    int finite = 1;
    for (int64_t p = 0; p < n_a; p++) {
        pl_real size = scalar == 1 ? fabs(value[p]) : fabs(value[2 * p]) + fabs(value[2 * p + 1]);
        pl_real before = scale[row[p]];
        finite &= size <= DBL_MAX;
        scale[row[p]] = size > before ? size : before;
    }
    return finite;
}

/* scale[i] = 1 / max_j |a_ij|. Returns -1, or the first column with a value that is not finite. */
static int equilibrate(pl_sparse *s, const pl_pattern *a, const pl_real *value) {
    int n = s->n, finite;
    pl_real *scale = PL_PART(s, pl_real, scale);
    for (int i = 0; i < n; i++) scale[i] = 0.0;
    if (s->scalar == 1)
        finite = row_sizes(s->n_a, 1, a->row, value, scale);
    else
        finite = row_sizes(s->n_a, 2, a->row, value, scale);
    for (int j = 0; !finite; j++)
        for (int p = a->start[j]; p < a->start[j + 1]; p++) {
            pl_real size = s->scalar == 1 ? fabs(value[p]) : fabs(value[2 * p]) + fabs(value[2 * p + 1]);
            if (!(size <= DBL_MAX)) return j;
        }
    /* a row of zeros stays one; 1/tiny must not overflow */
    for (int i = 0; i < n; i++) scale[i] = scale[i] > 1e-300 ? 1.0 / scale[i] : scale[i] > 0.0 ? 1e300 : 1.0;
    return -1;
}

static pl_status factor_super(pl_sparse *s, const pl_pattern *a, const pl_real *value, pl_real threshold,
                              pl_real bound) {
    pl_real growth = 1.0;
    pl_status status = s->scalar == 1 ? pl_super_factor_real(s, a, value, threshold, bound, &growth)
                                      : pl_super_factor_complex(s, a, value, threshold, bound, &growth);
    if (status == PL_OK && threshold == PL_PIVOT_THRESHOLD) s->growth = growth;
    return status;
}

static pl_status refactor(pl_sparse *s, const pl_pattern *a, const pl_real *value) {
    if (s->form == PL_FORM_SUPER)
        return factor_super(s, a, value, PL_REFACTOR_THRESHOLD, PL_REFACTOR_GROWTH * s->growth);
    return s->scalar == 1 ? pl_column_refactor_real(s, a, value) : pl_column_refactor_complex(s, a, value);
}

static pl_status pivot_super(pl_sparse *s, const pl_pattern *a, const pl_real *value) {
    if (!s->super_ready) { /* columns were in the arena */
        invert_order(s->n, PL_PART(s, int, row_order), PL_PART(s, int, position));
        s->super_ready = pl_super_analyse(s, a);
        if (!s->super_ready) return PL_GROWTH;
    }
    pl_status status = factor_super(s, a, value, PL_PIVOT_THRESHOLD, DBL_MAX);
    if (status != PL_OK) return status;
    memcpy(PL_PART(s, int, pivot_row), PL_PART(s, int, row_order), (size_t)s->n * sizeof(int));
    s->form = PL_FORM_SUPER;
    s->entries = s->super_entries;
    return PL_OK;
}

static pl_status pivot_columns(pl_sparse *s, const pl_pattern *a, const pl_real *value, int *bad) {
    s->super_ready = 0;
    pl_status status =
        s->scalar == 1 ? pl_column_factor_real(s, a, value, bad) : pl_column_factor_complex(s, a, value, bad);
    if (status == PL_OK) s->form = PL_FORM_COLUMN;
    return status;
}

pl_status pl_sparse_factor(pl_sparse *s, const pl_pattern *a, const pl_real *value, int *bad) {
    if (!s || !a || !value || a->n_cols != s->n || a->start[s->n] != s->n_a) return PL_ARGUMENT;
    int ignored;
    if (!bad) bad = &ignored;
    s->valid = 0;
    int column = equilibrate(s, a, value);
    if (column >= 0) {
        *bad = column;
        return PL_SINGULAR;
    }
    pl_status status = PL_GROWTH;
    int last = s->form;
    if (last != PL_FORM_NONE) status = refactor(s, a, value);
    if (status != PL_OK) {
        s->form = PL_FORM_NONE;
        s->pivotings++;
        /* supernodes that just failed the weak test would fail the strict one */
        if (s->super_wanted && last != PL_FORM_SUPER) status = pivot_super(s, a, value);
        if (status != PL_OK) status = pivot_columns(s, a, value, bad);
    }
    s->valid = status == PL_OK;
    return status;
}

void pl_sparse_forget(pl_sparse *s) {
    s->form = PL_FORM_NONE;
    s->valid = 0;
}

void pl_sparse_solve(pl_sparse *s, pl_real *b) {
    int n = s->n, scalar = s->scalar;
    const int *pivot_row = PL_PART(s, int, pivot_row), *column_order = PL_PART(s, int, column_order);
    const pl_real *scale = PL_PART(s, pl_real, scale);
    pl_real *x = PL_PART(s, pl_real, x);
    if (!s->valid) { /* nothing to solve with: the result must not look like one */
        for (int i = 0; i < n * scalar; i++) b[i] = NAN;
        return;
    }
    if (scalar == 1) {
        for (int k = 0; k < n; k++) x[k] = b[pivot_row[k]] * scale[pivot_row[k]];
        if (s->form == PL_FORM_SUPER)
            pl_super_solve_real(s, x);
        else
            pl_column_solve_real(s, x);
        for (int k = 0; k < n; k++) b[column_order[k]] = x[k];
        return;
    }
    for (int k = 0; k < n; k++) {
        int i = pivot_row[k];
        x[2 * k] = b[2 * i] * scale[i];
        x[2 * k + 1] = b[2 * i + 1] * scale[i];
    }
    if (s->form == PL_FORM_SUPER)
        pl_super_solve_complex(s, x);
    else
        pl_column_solve_complex(s, x);
    for (int k = 0; k < n; k++) {
        int j = column_order[k];
        b[2 * j] = x[2 * k];
        b[2 * j + 1] = x[2 * k + 1];
    }
}

int64_t pl_sparse_needed(const pl_sparse *s) {
    return s->needed;
}

int64_t pl_sparse_entries(const pl_sparse *s) {
    return s->entries;
}

int64_t pl_sparse_pivotings(const pl_sparse *s) {
    return s->pivotings;
}

const pl_sparse_lu pl_sparse_table = {pl_sparse_size, pl_sparse_init, pl_sparse_factor, pl_sparse_forget,
                                      pl_sparse_solve};
