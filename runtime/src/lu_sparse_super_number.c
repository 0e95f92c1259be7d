/* Numbers of the supernodal form, for real and for complex scalars: see lu_sparse_super_kernel.h. */
#include "lu_sparse_dense.h"
#include "lu_sparse_private.h"

#include <math.h>

/* Columns of a panel that are factorised one by one before the rest of the panel is updated with a product.
 */
#define BLOCK 8

/* Where everything is. */
typedef struct panels {
    const int *first, *parent, *row_start, *row, *relative, *start;
    const int *entry_start, *source, *target, *front_at, *shared;
    pl_real *value, *front;
    int n_entries;
} panels;

typedef struct panel {
    int w, r;       /* columns, rows below */
    int at;         /* first value, in scalars */
    const int *row; /* r */
} panel;

static panels panels_of(pl_sparse *s) {
    panels t = {PL_PART(s, int, super_first), PL_PART(s, int, super_parent),
                PL_PART(s, int, row_start),   PL_PART(s, int, super_row),
                PL_PART(s, int, relative),    PL_PART(s, int, value_start),
                PL_PART(s, int, entry_start), PL_PART(s, int, source),
                PL_PART(s, int, target),      PL_PART(s, int, front_at),
                PL_PART(s, int, shared),      PL_PART(s, pl_real, super_value),
                PL_PART(s, pl_real, front),   (int)s->n_a};
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
