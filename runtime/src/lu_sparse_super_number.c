/* Numbers of the supernodal form, for real and for complex scalars: see lu_sparse_super_kernel.h. */
#include "lu_sparse_dense.h"
#include "lu_sparse_private.h"

#include <math.h>

/* Columns of a panel that are factorised one by one before the rest of the panel is updated with a product.
 */
#define BLOCK 8

/* Where everything is. */
typedef struct panels {
    const int *first, *of, *row_start, *row, *start;
    pl_real *value;
    int *map;      /* n: row number -> place in the current panel */
    int *relative; /* n: the same for the rows of one earlier panel */
} panels;

typedef struct panel {
    int w, r;       /* columns, rows below */
    int at;         /* first value, in scalars */
    const int *row; /* r */
} panel;

typedef struct tests {
    pl_real threshold, bound, growth;
} tests;

static panels panels_of(pl_sparse *s) {
    panels t = {PL_PART(s, int, super_first), PL_PART(s, int, super_of),    PL_PART(s, int, row_start),
                PL_PART(s, int, super_row),   PL_PART(s, int, value_start), PL_PART(s, pl_real, super_value),
                PL_PART(s, int, work),        PL_PART(s, int, work) + s->n};
    return t;
}

static inline panel panel_at(const panels *t, int j) {
    panel p = {t->first[j + 1] - t->first[j], t->row_start[j + 1] - t->row_start[j], t->start[j],
               t->row + t->row_start[j]};
    return p;
}

#define SC      1
#define NAME(x) x##_real
#include "lu_sparse_super_kernel.h"
#undef SC
#undef NAME

#define SC      2
#define NAME(x) x##_complex
#include "lu_sparse_super_kernel.h"
