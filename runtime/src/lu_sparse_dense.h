/* Dense kernels of the supernodal LU, see lu_sparse_dense.c. All leading dimensions count reals; m, c, row
 * and column count scalars, k counts columns of the factor. */
#ifndef PLIANT_LU_SPARSE_DENSE_H
#define PLIANT_LU_SPARSE_DENSE_H

#include "pliant.h"

/* to[row_i, column_j] -= sum_k a[i, k] b[j, k]   for i < m, j < c; both factors by columns k */
typedef struct pl_dense_update {
    pl_real *to;
    int ld;
    const int *row;    /* m: place of each row in `to`; NULL: 0, 1, ... */
    const int *column; /* c: likewise */
    const pl_real *a;
    int lda, m;
    const pl_real *b;
    int ldb, c;
    int k;
} pl_dense_update;

void pl_dense_update_real(const pl_dense_update *u);
void pl_dense_update_complex(const pl_dense_update *u);

/* y -= a u, m scalars */
void pl_dense_subtract_real(int m, pl_real *y, const pl_real *a, const pl_real *u);
void pl_dense_subtract_complex(int m, pl_real *y, const pl_real *a, const pl_real *u);

/* x[row_i] -= sum_k a[i, k] y_k,  i < m, k < w */
void pl_dense_forward_real(int m, int w, const pl_real *a, int lda, const pl_real *y, const int *row,
                           pl_real *x);
void pl_dense_forward_complex(int m, int w, const pl_real *a, int lda, const pl_real *y, const int *row,
                              pl_real *x);

/* y_k -= sum_i a[i, k] x[row_i],  i < m, k < w; gathered: 2 m scalars */
void pl_dense_backward_real(int m, int w, const pl_real *a, int lda, pl_real *y, const int *row,
                            const pl_real *x, pl_real *gathered);
void pl_dense_backward_complex(int m, int w, const pl_real *a, int lda, pl_real *y, const int *row,
                               const pl_real *x, pl_real *gathered);

#endif
