/* Dense kernels of the supernodal LU, see lu_sparse_dense.c. All leading dimensions count reals; m, c, row
 * and column count scalars, k counts columns of the factor. */
#ifndef PLIANT_LU_SPARSE_DENSE_H
#define PLIANT_LU_SPARSE_DENSE_H

#include "pliant.h"

/* sum_k a[i, k] b[j, k]   for i < m, j < c; both factors by columns k */
typedef struct pl_dense_product {
    pl_real *to;
    int ld;
    const pl_real *a;
    int lda, m;
    const pl_real *b;
    int ldb, c;
    int k;
} pl_dense_product;

/* to[i, j] -= product */
void pl_dense_update_real(const pl_dense_product *u);
void pl_dense_update_complex(const pl_dense_product *u);
/* to[i, j] = -product; each column may be written up to the next multiple of four rows */
void pl_dense_negate_real(const pl_dense_product *u);
void pl_dense_negate_complex(const pl_dense_product *u);

/* A panel: l is (w + r) x w, u is r x w. */
typedef struct pl_dense_panel {
    pl_real *l, *u;
    int w, r;
} pl_dense_panel;

/* Entries of the matrix that start a panel: to[target_q] = value[source_q] * scale[row[source_q]]. */
typedef struct pl_dense_entries {
    pl_real *to;
    const pl_real *value, *scale;
    const int *row, *source, *target;
    int n;
    int ahead; /* entries of this and later panels, less PL_DENSE_AHEAD */
} pl_dense_entries;

/* How many entries ahead of their use values are asked for. */
#define PL_DENSE_AHEAD 32

/* The panel is all zero but for these. */
void pl_dense_open_real(const pl_dense_panel *p, const pl_dense_entries *e);
void pl_dense_open_complex(const pl_dense_panel *p, const pl_dense_entries *e);

/* The contribution of a child, m x m; row: the places of its rows in the parent, ascending, the first
 * `shared` of them in the parent's panel. */
typedef struct pl_dense_child {
    const pl_real *from;
    int ld, m, shared;
    const int *row;
} pl_dense_child;

/* Adds the part of a contribution that belongs to the panel of the parent. */
void pl_dense_take_real(const pl_dense_panel *p, const pl_dense_child *c);
void pl_dense_take_complex(const pl_dense_panel *p, const pl_dense_child *c);
/* Adds the rest to the parent's own contribution; w: columns of its panel. */
void pl_dense_pass_real(pl_real *to, int ld, int w, const pl_dense_child *c);
void pl_dense_pass_complex(pl_real *to, int ld, int w, const pl_dense_child *c);

/* Bounds on pivots and elements, and the largest element met. */
typedef struct pl_dense_tests {
    pl_real threshold, bound, growth;
} pl_dense_tests;

/* LU of columns [from, to) of the panel among themselves: L's part with reciprocal pivots, U's rows. 0 if a
 * pivot fails. */
int pl_dense_factor_real(const pl_dense_panel *p, int from, int to, pl_dense_tests *test);

/* y -= a u, m scalars */
void pl_dense_subtract_complex(int m, pl_real *y, const pl_real *a, const pl_real *u);

/* All panels of a factorisation: their columns, row numbers and values begin at first_j, row_start_j and start_j. */
typedef struct pl_dense_walk {
    const int *first, *row_start, *row, *start;
    pl_real *value;
    int n;
} pl_dense_walk;

/* Triangular solves with all panels. Three more numbers of rows may be read. */
void pl_dense_forward_real(const pl_dense_walk *t, pl_real *x);
/* gathered: room for the longest list of rows, and padding */
void pl_dense_backward_real(const pl_dense_walk *t, pl_real *x, pl_real *gathered);

/* Only the rows below the panel: x[row_i] -= sum_k a[i, k] y_k,  i < m, k < w */
void pl_dense_forward_complex(int m, int w, const pl_real *a, int lda, const pl_real *y, const int *row,
                              pl_real *x);
/* y_k -= sum_i a[i, k] x[row_i],  i < m, k < w; gathered: 2 m scalars */
void pl_dense_backward_complex(int m, int w, const pl_real *a, int lda, pl_real *y, const int *row,
                               const pl_real *x, pl_real *gathered);

#endif
