/* Supernodal LU, numbers: included once for real (SC 1) and once for complex scalars (SC 2).
 *
 * Panel J of width w with r rows below holds, by columns, its part of L and of the block on the diagonal,
 * (w + r) x w, then its part of U transposed, r x w: both halves are tall and have the same row numbers.
 * Left-looking: J -= sum over earlier panels K with rows in J of   L_K U_K(., J)   and transposed   U_K'
 * L_K(J, .)' with dense products, then a dense LU of the panel without exchanges, in blocks of BLOCK columns.
 * A panel waits in the list of the next panel it will change (Davis 2006, 6; Demmel et al., SIAM J. Matrix
 * Anal. Appl. 20 (1999) 720-755 for supernodal LU; Ng & Peyton, SIAM J. Sci. Comput. 14 (1993) 1034-1056 for
 * the block left-looking form with lists and relative indices). The diagonal of U is stored as its
 * reciprocal. */
#include "lu_sparse_scalar.h"

/* What panel k does to panel j; rows [from, to) of k lie in j. */
static void NAME(apply)(const panels *t, int k, int j, int from, int to) {
    panel K = panel_at(t, k), J = panel_at(t, j);
    int *relative = t->relative;
    for (int i = from; i < K.r; i++) relative[i] = t->map[K.row[i]];
    pl_dense_update u;
    u.to = t->value + SC * J.at;
    u.ld = SC * (J.w + J.r);
    u.row = relative + from;
    u.column = relative + from;
    u.a = t->value + SC * (K.at + K.w + from);
    u.lda = SC * (K.w + K.r);
    u.m = K.r - from;
    u.b = t->value + SC * (K.at + K.w * (K.w + K.r) + from);
    u.ldb = SC * K.r;
    u.c = to - from;
    u.k = K.w;
    NAME(pl_dense_update)(&u);
    if (to == K.r) return;
    const pl_real *lower = u.a;
    u.to += SC * (J.w * (J.w + J.r) - J.w); /* rows of U' count from the first below the panel */
    u.ld = SC * J.r;
    u.row = relative + to;
    u.a = t->value + SC * (K.at + K.w * (K.w + K.r) + to);
    u.m = K.r - to;
    u.b = lower;
    int swap = u.lda;
    u.lda = u.ldb;
    u.ldb = swap;
    NAME(pl_dense_update)(&u);
}

/* Columns [from, to) of the panel among themselves. 0 if a pivot fails. */
static int NAME(factor_block)(panel J, pl_real *l, pl_real *u, int from, int to, tests *test) {
    int rows = J.w + J.r, ld = SC * rows;
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
        for (int k = from; k < j && J.r > 0; k++)
            NAME(pl_dense_subtract)(J.r, u + SC * j * J.r, u + SC * k * J.r, l + k * ld + SC * j);
    }
    return 1;
}

/* Dense LU of panel j. */
static int NAME(factor_panel)(const panels *t, int j, tests *test) {
    panel J = panel_at(t, j);
    int rows = J.w + J.r, ld = SC * rows;
    pl_real *l = t->value + SC * J.at, *u = l + J.w * ld, packed[SC * (BLOCK * PL_PANEL + 4)];
    for (int from = 0; from < J.w; from += BLOCK) {
        int to = from + BLOCK < J.w ? from + BLOCK : J.w, left = J.w - to;
        if (!NAME(factor_block)(J, l, u, from, to, test)) return 0;
        if (left == 0) break;
        for (int c = to; c < J.w; c++) { /* rows from .. to of U */
            pl_real *column = l + c * ld;
            for (int k = from; k < to; k++) {
                for (int i = k + 1; i < to; i++)
                    NAME(submul)(column + SC * i, l + k * ld + SC * i, column + SC * k);
                NAME(copy)(packed + SC * ((k - from) * left + c - to), column + SC * k);
            }
        }
        pl_dense_update up = {l + to * ld + SC * to,
                              ld,
                              NULL,
                              NULL,
                              l + from * ld + SC * to,
                              ld,
                              rows - to,
                              packed,
                              SC * left,
                              left,
                              to - from};
        for (int q = 0; q < 4 * SC; q++) packed[SC * (to - from) * left + q] = 0.0;
        NAME(pl_dense_update)(&up);
        if (J.r == 0) continue;
        pl_dense_update down = {
            u + SC * to * J.r,       SC * J.r, NULL, NULL,     u + SC * from * J.r, SC * J.r, J.r,
            l + from * ld + SC * to, ld,       left, to - from};
        NAME(pl_dense_update)(&down);
    }
    return 1;
}

pl_status NAME(pl_super_factor)(pl_sparse *s, const pl_pattern *a, const pl_real *value, pl_real threshold,
                                pl_real bound, pl_real *growth) {
    panels t = panels_of(s);
    tests test = {threshold, bound, 1.0};
    const int *target = PL_PART(s, int, target);
    const pl_real *scale = PL_PART(s, pl_real, scale);
    int *waiting = t.relative + s->n, *next = waiting + s->n, *done = next + s->n;
    for (int64_t i = 0, end = SC * (int64_t)t.start[s->n_super]; i < end; i++) t.value[i] = 0.0;
    for (int64_t p = 0; p < s->n_a; p++)
        NAME(scaled)(t.value + SC * target[p], value + SC * p, scale[a->row[p]]);
    for (int j = 0; j < s->n_super; j++) waiting[j] = -1;
    for (int j = 0; j < s->n_super; j++) {
        panel J = panel_at(&t, j);
        int first = t.first[j], end = t.first[j + 1];
        for (int i = 0; i < J.w; i++) t.map[first + i] = i;
        for (int i = 0; i < J.r; i++) t.map[J.row[i]] = J.w + i;
        for (int k = waiting[j], after; k >= 0; k = after) {
            panel K = panel_at(&t, k);
            int from = done[k], to = from;
            while (to < K.r && K.row[to] < end) to++;
            NAME(apply)(&t, k, j, from, to);
            after = next[k];
            done[k] = to;
            if (to == K.r) continue;
            int to_panel = t.of[K.row[to]];
            next[k] = waiting[to_panel];
            waiting[to_panel] = k;
        }
        if (!NAME(factor_panel)(&t, j, &test)) return PL_GROWTH;
        done[j] = 0;
        if (J.r == 0) continue;
        next[j] = waiting[t.of[J.row[0]]];
        waiting[t.of[J.row[0]]] = j;
    }
    *growth = test.growth;
    return PL_OK;
}

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
