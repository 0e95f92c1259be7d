/* Dense and sparse LU: a part of pliant.h, which includes it. */
#ifndef PLIANT_LU_H
#define PLIANT_LU_H

/* -------------------------------------------------------------------------------------------- dense LU */

/* Row-pivoted LU of the column-major n x n matrix a, in place. `*bad` is the first column without a pivot. */
pl_status pl_lu_factor(int n, pl_real *a, int *pivot, int *bad);
void pl_lu_solve(int n, const pl_real *a, const int *pivot, pl_real *b);
/* The same for complex matrices, stored as interleaved (re, im) pairs. */
pl_status pl_lu_complex_factor(int n, pl_real *a, int *pivot, int *bad);
void pl_lu_complex_solve(int n, const pl_real *a, const int *pivot, pl_real *b);

/* ------------------------------------------------------------------------------------------- sparse LU */

/* Result of the symbolic analysis of a square pattern. */
typedef struct pl_sparse_plan {
    int n;
    int structural_rank; /* n unless no choice of pivots can work */
    int unmatched;       /* a column left without a row if structural_rank < n, else -1 */
    int64_t n_lower;     /* entries of L without its unit diagonal, if pivots stay on the matched diagonal */
    int64_t n_upper;     /* entries of U with its diagonal */
    int64_t flops;       /* multiplications + additions + divisions of one refactorisation */
} pl_sparse_plan;

/* Symbolic analysis: a row for each column (maximum transversal, identity kept where it is zero-free) and a
 * fill-reducing order (approximate minimum degree on the pattern of the matched matrix plus its transpose).
 * column_order[k] is the column eliminated at step k, row_order[k] the row preferred as its pivot. */
size_t pl_sparse_analyse_size(int n, int n_entries);
pl_status pl_sparse_analyse(const pl_pattern *a, int *row_order, int *column_order, pl_sparse_plan *plan,
                            void *work, size_t work_size);

/* Factors of one matrix, real (scalar = 1) or complex (scalar = 2, interleaved values). */
typedef struct pl_sparse pl_sparse;

/* Bytes for the factors when L and U together may hold up to n_lu entries. */
size_t pl_sparse_size(const pl_pattern *a, int scalar, int64_t n_lu);
pl_sparse *pl_sparse_init(void *memory, size_t size, const pl_pattern *a, int scalar, int64_t n_lu,
                          const int *row_order, const int *column_order);
/* Factorise a (values in the order of the pattern). The first call, and a call after pl_sparse_forget, pivots
 * with threshold (prefers row_order); later calls refactorise without search and fall back to pivoting when
 * an element grows too much. PL_SINGULAR: *bad is a column (numbering of a) without pivot. PL_MEMORY: n_lu
 * too small, *bad then is unchanged and pl_sparse_needed tells an n_lu that is worth trying. */
pl_status pl_sparse_factor(pl_sparse *s, const pl_pattern *a, const pl_real *value, int *bad);
void pl_sparse_forget(pl_sparse *s);
/* b (in the numbering of a's rows) is overwritten by the solution (a's columns). */
void pl_sparse_solve(pl_sparse *s, pl_real *b);
int64_t pl_sparse_needed(const pl_sparse *s);
int64_t pl_sparse_entries(const pl_sparse *s);   /* entries of L + U, unit diagonal not counted */
int64_t pl_sparse_pivotings(const pl_sparse *s); /* how often a full pivoting factorisation ran */

/* These as a table: a program that does not name it does not link sparse factorisation. */
typedef struct pl_sparse_lu {
    size_t (*size)(const pl_pattern *a, int scalar, int64_t n_lu);
    pl_sparse *(*init)(void *memory, size_t size, const pl_pattern *a, int scalar, int64_t n_lu,
                       const int *row_order, const int *column_order);
    pl_status (*factor)(pl_sparse *s, const pl_pattern *a, const pl_real *value, int *bad);
    void (*forget)(pl_sparse *s);
    void (*solve)(pl_sparse *s, pl_real *b);
} pl_sparse_lu;

extern const pl_sparse_lu pl_sparse_table;

#endif
