/* Private parts of the sparse LU: the layout of the block behind pl_sparse and the helpers its files share.
 *
 * The block is flat. The struct lies at its front; every array is named by its byte offset from the front, so
 * a copy of the block at another address works unchanged. The tail of the block, the arena, holds the factors
 * in one of two forms: columns of indices and values (lu_sparse_kernel.h), or dense supernodal panels
 * (lu_sparse_super.c). Both forms share the same bytes; only one is alive at a time. */
#ifndef PLIANT_LU_SPARSE_PRIVATE_H
#define PLIANT_LU_SPARSE_PRIVATE_H

#include "pliant.h"

enum { PL_FORM_NONE = 0, PL_FORM_COLUMN = 1, PL_FORM_SUPER = 2 };

/* Largest width of a panel: wide supernodes are cut so that a panel and its updates stay in the first cache.
 */
#define PL_PANEL 32
/* Operations per column from which on panels are used; 0: always (tests). */
#ifndef PL_SUPER_FLOPS
#define PL_SUPER_FLOPS 320
#endif
/* Leading dimension of a contribution of r rows, in scalars: the kernels write whole vectors. */
#define PL_FRONT_LD(r) (((r) + 3) & ~3)
/* Doubles that the dense kernels may read (never use) past the end of a panel. */
#define PL_PADDING 64

/* Pivots. Threshold of the pivoting factorisation: a matched diagonal entry is taken if it is at least this
 * fraction of the largest candidate in its column. */
#define PL_PIVOT_THRESHOLD 1e-3
/* Refactorisation accepts a pivot down to this fraction of its column. With rows scaled to 1, the backward
 * error is about epsilon times the largest intermediate element; multipliers up to 1e6 keep it near 1e-10,
 * which a Newton iteration with tolerances above 1e-8 does not notice, while a looser bound would start to
 * cost iterations and a tighter one would pivot again and again on matrices whose diagonal is merely small.
 */
#define PL_REFACTOR_THRESHOLD 1e-6
/* Largest growth of the elements since the last factorisation with pivoting, for the same reason. */
#define PL_REFACTOR_GROWTH 1e6

struct pl_sparse {
    int n;
    int scalar;       /* 1 real, 2 complex */
    int form;         /* PL_FORM_...: whose pattern the arena holds */
    int valid;        /* the values in the arena are a factorisation */
    int super_ready;  /* the arena's index part describes the supernodes */
    int super_wanted; /* supernodes fit and are expected to pay off */
    int n_super;
    int pad;
    int64_t n_a;  /* entries of the matrix */
    int64_t n_lu; /* entries the caller allows for L and U */
    int64_t needed;
    int64_t entries;       /* of L and U, stored, unit diagonal not counted */
    int64_t super_entries; /* the same if the factors are supernodal */
    int64_t pivotings;
    pl_real growth; /* largest element of the last factorisation with pivoting, rows scaled to 1 */
    /* byte offsets */
    size_t row_order;    /* int n: preferred pivot row of step k */
    size_t column_order; /* int n */
    size_t pivot_row;    /* int n: row chosen at step k */
    size_t position;     /* int n: step at which a row is pivot, -1: not yet */
    size_t scale;        /* real n: factor of each row */
    size_t x;            /* real n * scalar + padding: work column, zero between calls of factor */
    size_t
        inverse;  /* real n * scalar^2: reciprocal pivots (column form); gathered vectors (supernodal form) */
    size_t upper; /* int n + 1: column form, start of column k of U in the arena */
    size_t lower; /* int n: start of column k of L; it ends where U's next column begins */
    size_t work;  /* int 6 n */
    size_t arena;
    size_t arena_size; /* bytes */
    size_t col_index;  /* column form: int per entry */
    size_t col_value;  /* column form: scalar reals per entry */
    /* supernodal form, int arrays in the arena */
    size_t super_first;  /* n_super + 1: first column of each panel */
    size_t super_of;     /* n: panel of a column, during the analysis */
    size_t super_parent; /* n_super: the panel that takes its contribution, -1: none; overwrites super_of */
    size_t shared;       /* n_super: how many of its rows are columns of the parent */
    size_t row_start;    /* n_super + 1: where its rows begin in super_row */
    size_t super_row;    /* rows below the panel, ascending */
    size_t value_start;  /* n_super + 1: where its values begin, in scalars */
    size_t relative;     /* their places in the parent panel, its own rows first */
    size_t entry_start;  /* n_super + 1: where its matrix entries begin in source and target */
    size_t source;       /* n_a: matrix entries by panel */
    size_t target;       /* n_a: place of each of them among the values, in scalars */
    size_t front_at;     /* n_super: where its contribution lies on the stack, in scalars */
    size_t super_value;  /* real */
    size_t front;        /* real: stack of contributions */
};

#define PL_PART(s, type, field) ((type *)(void *)((char *)(s) + (s)->field))

/* --- lu_sparse_tree.c: graph of the matched matrix plus its transpose, elimination tree, counts */

/* Neighbours of each node without the diagonal and without duplicates: adjacent[start[k] .. start[k+1]-1].
 * Entry (i, j) of a joins nodes row_node[i] and column_node[j]. adjacent: 2 * entries; mark: n. */
void pl_tree_graph(const pl_pattern *a, const int *row_node, const int *column_node, int *start,
                   int *adjacent, int *mark);
/* Elimination tree under the natural order; roots get -1. */
void pl_tree_parent(int n, const int *start, const int *adjacent, int *parent, int *ancestor);
/* Entries of each column of L, diagonal included. */
void pl_tree_count(int n, const int *start, const int *adjacent, const int *parent, int *count, int *mark);
/* order[k]: the node that comes k-th in a postorder in which the child with the most entries comes last.
 * work: 3 n + 1 */
void pl_tree_postorder(int n, const int *parent, const int *count, int *order, int *work);

/* --- lu_sparse_join.c: panels. order[k]: the node that comes k-th; first: n + 1, where each panel begins. Returns their
 * number. strict divides what a join may cost; work: 16 (n + 1) */
int pl_tree_join(int n, const int *parent, const int *count, int strict, int *order, int *first, int *work);

/* --- lu_sparse_super.c: pattern and numbers of the supernodal form */

/* Lays the supernodes out in the arena. 1 if they fit and are expected to be faster than columns. */
int pl_super_analyse(pl_sparse *s, const pl_pattern *a);
/* PL_OK, or PL_GROWTH: a pivot is below `threshold` of its column or not usable, or an element above `bound`.
 * *growth is the largest element met. */
pl_status pl_super_factor_real(pl_sparse *s, const pl_pattern *a, const pl_real *value, pl_real threshold,
                               pl_real bound, pl_real *growth);
pl_status pl_super_factor_complex(pl_sparse *s, const pl_pattern *a, const pl_real *value, pl_real threshold,
                                  pl_real bound, pl_real *growth);
void pl_super_solve_real(pl_sparse *s, pl_real *x);
void pl_super_solve_complex(pl_sparse *s, pl_real *x);

/* --- lu_sparse_column.c: the column form */
pl_status pl_column_factor_real(pl_sparse *s, const pl_pattern *a, const pl_real *value, int *bad);
pl_status pl_column_factor_complex(pl_sparse *s, const pl_pattern *a, const pl_real *value, int *bad);
/* PL_OK or PL_GROWTH */
pl_status pl_column_refactor_real(pl_sparse *s, const pl_pattern *a, const pl_real *value);
pl_status pl_column_refactor_complex(pl_sparse *s, const pl_pattern *a, const pl_real *value);
void pl_column_solve_real(pl_sparse *s, pl_real *x);
void pl_column_solve_complex(pl_sparse *s, pl_real *x);

#endif
