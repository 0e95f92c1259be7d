/* The column form of the sparse LU, for real and for complex numbers: see lu_sparse_kernel.h. */
#include "lu_sparse_private.h"

#include <float.h>
#include <math.h>

typedef struct reach {
    const int *lower, *prune, *index, *position;
    int *flag;      /* n: last column that met this row */
    int *stack;     /* n: columns on the path */
    int *next;      /* n: how far each of them was searched */
    int *topo;      /* n: columns met, from the end, in the order of elimination */
    int *candidate; /* n: rows met that are not pivots yet */
    int top;
    int n_candidates;
} reach;

/* Depth first from a row through the columns of L (Gilbert & Peierls): what it meets joins the pattern of
 * column k. */
static void reach_from(reach *r, int row, int k) {
    if (r->flag[row] == k) return;
    r->flag[row] = k;
    int j = r->position[row], depth = 0;
    if (j < 0) {
        r->candidate[r->n_candidates++] = row;
        return;
    }
    r->stack[0] = j;
    r->next[0] = r->lower[j];
    while (depth >= 0) {
        j = r->stack[depth];
        int p = r->next[depth], end = r->prune[j], down = -1;
        for (; p < end && down < 0; p++) {
            int i = r->index[p];
            if (r->flag[i] == k) continue;
            r->flag[i] = k;
            down = r->position[i];
            if (down < 0) r->candidate[r->n_candidates++] = i;
        }
        r->next[depth] = p;
        if (down < 0) {
            r->topo[--r->top] = j;
            depth--;
        } else {
            r->stack[++depth] = down;
            r->next[depth] = r->lower[down];
        }
    }
}

#define SC      1
#define NAME(x) x##_real
#include "lu_sparse_kernel.h"
#undef SC
#undef NAME

#define SC      2
#define NAME(x) x##_complex
#include "lu_sparse_kernel.h"
