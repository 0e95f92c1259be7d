/* Supernodal LU, numbers: included once for real (SC 1) and once for complex scalars (SC 2).
 *
 * Panel J of width w with r rows below holds, by columns, its part of L and of the block on the diagonal,
 * (w + r) x w, then its part of U transposed, r x w: both halves are tall and have the same row numbers.
 * Multifrontal: what J does to all later panels, its contribution C = -L U, an r x r matrix, waits on a stack
 * until the parent of J takes it over, one part into its panel, the rest into its own contribution. So a
 * panel is written once, read once, and nothing is searched: every row of J knows its place in the parent.
 * In each panel a dense LU without exchanges, in blocks of BLOCK columns. The diagonal of U is stored as its
 * reciprocal.
 *
 * Sources: Duff & Reid, ACM TOMS 9 (1983) 302-325; Liu, SIAM Review 34 (1992) 82-109 (stack, postorder);
 * Davis & Duff, SIAM J. Matrix Anal. Appl. 18 (1997) 140-158 (multifrontal LU). We deviate: two stacks that
 * grow towards each other, for panels at even and odd depth: then the contributions of the children lie on
 * top of the one and the new one goes on top of the other, without being moved. */
#include "lu_sparse_scalar.h"

#if SC == 2
/* Columns [from, to) of the panel among themselves. 0 if a pivot fails. */
static int NAME(pl_dense_factor)(const pl_dense_panel *p, int from, int to, pl_dense_tests *test) {
    int rows = p->w + p->r, ld = SC * rows;
    pl_real *l = p->l, *u = p->u;
    for (int j = from; j < to; j++) {
        pl_real *column = l + j * ld;
        for (int k = from; k < j; k++) {
            const pl_real *earlier = l + k * ld;
            NAME(pl_dense_subtract)
            (rows - k - 1, column + SC * (k + 1), earlier + SC * (k + 1), column + SC * k);
        }
        pl_real pivot = NAME(size)(column + SC * j), largest = pivot, inverse[SC];
        for (int i = j + 1; i < rows; i++) {
            pl_real size = NAME(size)(column + SC * i);
            largest = size > largest ? size : largest;
        }
        if (largest > test->growth) test->growth = largest;
        /* written so that NaN fails */
        if (!(pivot > 0.0 && pivot >= test->threshold * largest && largest <= test->bound)) return 0;
        NAME(invert)(inverse, column + SC * j);
        NAME(copy)(column + SC * j, inverse);
        for (int i = j + 1; i < rows; i++) NAME(mul)(column + SC * i, column + SC * i, inverse);
        for (int k = from; k < j && p->r > 0; k++)
            NAME(pl_dense_subtract)(p->r, u + SC * j * p->r, u + SC * k * p->r, l + k * ld + SC * j);
    }
    return 1;
}
#endif

/* Dense LU of the panel. */
static int NAME(factor_panel)(const pl_dense_panel *P, pl_dense_tests *test) {
    int w = P->w, r = P->r, rows = w + r, ld = SC * rows;
    pl_real *l = P->l, *u = P->u, packed[SC * (BLOCK * PL_PANEL + 4)];
    for (int from = 0; from < w; from += BLOCK) {
        int to = from + BLOCK < w ? from + BLOCK : w, left = w - to;
        if (!NAME(pl_dense_factor)(P, from, to, test)) return 0;
        if (left == 0) break;
        for (int c = to; c < w; c++) { /* rows from .. to of U */
            pl_real *column = l + c * ld;
            for (int k = from; k < to; k++) {
                for (int i = k + 1; i < to; i++)
                    NAME(submul)(column + SC * i, l + k * ld + SC * i, column + SC * k);
                NAME(copy)(packed + SC * ((k - from) * left + c - to), column + SC * k);
            }
        }
        for (int q = 0; q < 4 * SC; q++) packed[SC * (to - from) * left + q] = 0.0;
        pl_dense_product right = {l + to * ld + SC * to,
                                  ld,
                                  l + from * ld + SC * to,
                                  ld,
                                  rows - to,
                                  packed,
                                  SC * left,
                                  left,
                                  to - from};
        NAME(pl_dense_update)(&right);
        if (r == 0) continue;
        pl_dense_product below = {
            u + SC * to * r, SC * r, u + SC * from * r, SC * r, r, l + from * ld + SC * to, ld, left,
            to - from};
        NAME(pl_dense_update)(&below);
    }
    return 1;
}

/* The contribution of panel k on the stack. */
static pl_dense_child NAME(child_at)(const panels *t, int k) {
    int m = t->row_start[k + 1] - t->row_start[k];
    pl_dense_child c = {t->front + SC * t->front_at[k], SC * PL_FRONT_LD(m), m, t->shared[k],
                        t->relative + t->row_start[k]};
    return c;
}

static pl_dense_panel NAME(dense_panel_at)(const panels *t, int j) {
    panel J = panel_at(t, j);
    pl_real *l = t->value + SC * J.at;
    pl_dense_panel P = {l, l + SC * J.w * (J.w + J.r), J.w, J.r};
    return P;
}

/* Panel j starts as the matrix's own entries. */
static void NAME(open_panel)(const panels *t, int j, pl_dense_entries *e) {
    pl_dense_panel P = NAME(dense_panel_at)(t, j);
    int begin = t->entry_start[j];
    e->source = t->source + begin;
    e->target = t->target + begin;
    e->n = t->entry_start[j + 1] - begin;
    e->ahead = t->n_entries - begin - PL_DENSE_AHEAD;
    NAME(pl_dense_open)(&P, e);
}

/* Everything before panel j taken in, the panel factorised, its contribution on the stack. */
static int NAME(eliminate_panel)(const panels *t, int j, const int *child, const int *next,
                                 pl_dense_tests *test) {
    pl_dense_panel P = NAME(dense_panel_at)(t, j);
    pl_real *front = t->front + SC * t->front_at[j];
    int ld = SC * PL_FRONT_LD(P.r);
    for (int k = child[j]; k >= 0; k = next[k]) {
        pl_dense_child c = NAME(child_at)(t, k);
        NAME(pl_dense_take)(&P, &c);
    }
    if (!NAME(factor_panel)(&P, test)) return 0;
    if (P.r == 0) return 1;
    pl_dense_product own = {front, ld, P.l + SC * P.w, SC * (P.w + P.r), P.r, P.u, SC * P.r, P.r, P.w};
    NAME(pl_dense_negate)(&own);
    for (int k = child[j]; k >= 0; k = next[k]) {
        pl_dense_child c = NAME(child_at)(t, k);
        if (c.shared < c.m) NAME(pl_dense_pass)(front, ld, P.w, &c);
    }
    return 1;
}

pl_status NAME(pl_super_factor)(pl_sparse *s, const pl_pattern *a, const pl_real *value, pl_real threshold,
                                pl_real bound, pl_real *growth) {
    panels t = panels_of(s);
    pl_dense_tests test = {threshold, bound, 1.0};
    pl_dense_entries e = {t.value, value, PL_PART(s, pl_real, scale), a->row, NULL, NULL, 0, 0};
    int *child = PL_PART(s, int, work), *next = child + s->n;
    for (int j = 0; j < s->n_super; j++) child[j] = -1;
    /* A panel is best filled just before it is used. Complex values and the matrix together are too much for
     * the caches: filled all at once, the factors are what the following solve still finds there. */
    for (int j = 0; SC == 2 && j < s->n_super; j++) NAME(open_panel)(&t, j, &e);
    for (int j = 0; j < s->n_super; j++) {
        if (SC == 1) NAME(open_panel)(&t, j, &e);
        if (!NAME(eliminate_panel)(&t, j, child, next, &test)) return PL_GROWTH;
        int parent = t.parent[j];
        if (parent < 0) continue;
        next[j] = child[parent];
        child[parent] = j;
    }
    *growth = test.growth;
    return PL_OK;
}

#if SC == 1
void pl_super_solve_real(pl_sparse *s, pl_real *x) {
    panels t = panels_of(s);
    pl_dense_walk all = {t.first, t.row_start, t.row, t.start, t.value, s->n_super};
    pl_dense_forward_real(&all, x);
    pl_dense_backward_real(&all, x, PL_PART(s, pl_real, inverse));
}
#else
void NAME(pl_super_solve)(pl_sparse *s, pl_real *x) {
    panels t = panels_of(s);
    pl_real *gathered = PL_PART(s, pl_real, inverse);
    for (int j = 0; j < s->n_super; j++) {
        panel J = panel_at(&t, j);
        int ld = SC * (J.w + J.r);
        const pl_real *l = t.value + SC * J.at;
        pl_real *y = x + SC * t.first[j];
        for (int k = 0; k < J.w; k++)
            for (int i = k + 1; i < J.w; i++) NAME(submul)(y + SC * i, l + k * ld + SC * i, y + SC * k);
        NAME(pl_dense_forward)(J.r, J.w, l + SC * J.w, ld, y, J.row, x);
    }
    for (int j = s->n_super - 1; j >= 0; j--) {
        panel J = panel_at(&t, j);
        int ld = SC * (J.w + J.r);
        const pl_real *l = t.value + SC * J.at;
        pl_real *y = x + SC * t.first[j];
        NAME(pl_dense_backward)(J.r, J.w, l + J.w * ld, SC * J.r, y, J.row, x, gathered);
        for (int k = J.w - 1; k >= 0; k--) {
            NAME(mul)(y + SC * k, y + SC * k, l + k * ld + SC * k);
            for (int i = 0; i < k; i++) NAME(submul)(y + SC * i, l + k * ld + SC * i, y + SC * k);
        }
    }
}
#endif
