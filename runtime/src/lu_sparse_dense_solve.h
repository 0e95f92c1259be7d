/* The dense kernels of the triangular solves, included after lu_sparse_dense_kernel.h with the same names. */

/* ---------------------------------------------------------------------------------- triangular solves */

/* y[i] -= sum_k a[i, k] y_k for m contiguous rows, w <= 4 constant */
INLINE TARGET void VARIANT(subtract_rows)(int w, int m, const double *a, int lda, const double *from,
                                          double *y) {
    v4 s[4];
    UNROLL for (int k = 0; k < w; k++) s[k] = ALL(from[k]);
    for (int i = 0; i < m; i += 4) {
        v4 before = LOAD(y + i), c = before;
        UNROLL for (int k = 0; k < w; k++) SUBMUL(c, LOAD(a + i + k * lda), s[k]);
        STORE(y + i, i + 4 <= m ? c : JOIN(c, before, m - i));
    }
}

/* x[row_i] -= sum_k a[i, k] y_k, w <= 8 constant. Rows past the last are valid but belong to another panel:
 * they get zero. */
INLINE TARGET void VARIANT(scatter_rows)(int w, int m, const double *a, int lda, const double *y,
                                         const int *row, double *x) {
    v4 s[8];
    double p[4];
    UNROLL for (int k = 0; k < w; k++) s[k] = ALL(y[k]);
    for (int i = 0; i < m; i += 4) {
        v4 c = ALL(0.0);
        UNROLL for (int k = 0; k < w; k++) ADDMUL(c, LOAD(a + i + k * lda), s[k]);
        if (i + 4 > m) c = KEEP(c, m - i);
        STORE(p, c);
        x[row[i]] -= p[0];
        x[row[i + 1]] -= p[1];
        x[row[i + 2]] -= p[2];
        x[row[i + 3]] -= p[3];
    }
}

/* Columns [from, from + w) of the block on the diagonal and the rows of the panel below it, w <= 4
 * constant. */
INLINE TARGET void VARIANT(lower_block)(int w, const pl_dense_panel *p, int from, double *y) {
    int ld = p->w + p->r;
    const double *l = p->l + from * ld + from;
    double t[4];
    y += from;
    UNROLL for (int j = 0; j < w; j++) {
        t[j] = y[j];
        UNROLL for (int k = 0; k < j; k++) t[j] -= l[k * ld + j] * t[k];
        y[j] = t[j];
    }
    if (from + w < p->w) VARIANT(subtract_rows)(w, p->w - from - w, l + w, ld, t, y + w);
}

INLINE TARGET void VARIANT(upper_block)(int w, const pl_dense_panel *p, int from, double *y) {
    int ld = p->w + p->r;
    const double *l = p->l + from * ld;
    double t[4];
    UNROLL for (int j = w - 1; j >= 0; j--) {
        t[j] = y[from + j];
        UNROLL for (int k = w - 1; k > j; k--) t[j] -= l[k * ld + from + j] * t[k];
        t[j] *= l[j * ld + from + j];
        y[from + j] = t[j];
    }
    if (from > 0) VARIANT(subtract_rows)(w, from, l, ld, t, y);
}

/* y_k -= sum_i a[i, k] x[row_i] for w <= 8 columns, constant */
INLINE TARGET void VARIANT(gather_rows)(int w, int m, const double *a, int lda, double *y, const int *row,
                                        const double *x) {
    v4 c[8];
    double g[4];
    UNROLL for (int k = 0; k < w; k++) c[k] = ALL(0.0);
    for (int i = 0; i < m; i += 4) {
        g[0] = x[row[i]], g[1] = x[row[i + 1]], g[2] = x[row[i + 2]], g[3] = x[row[i + 3]];
        v4 h = FOUR(g);
        if (i + 4 <= m) {
            UNROLL for (int k = 0; k < w; k++) ADDMUL(c[k], LOAD(a + i + k * lda), h);
        } else {
            h = KEEP(h, m - i);
            UNROLL for (int k = 0; k < w; k++) ADDMUL(c[k], KEEP(LOAD(a + i + k * lda), m - i), h);
        }
    }
    UNROLL for (int k = 0; k < w; k++) y[k] -= SUM(c[k]);
}

/* p[i] = sum_k a[i, k] y_k for 16 reals: four sums at once, or each would wait for its last addition */
INLINE TARGET void VARIANT(column_16)(int w, const double *a, int lda, const double *y, double *p) {
    v4 c = ALL(0.0), d = c, e = c, f = c;
    for (; w > 0; w--, a += lda, y++) {
        v4 s = ALL(y[0]);
        ADDMUL(c, LOAD(a), s);
        ADDMUL(d, LOAD(a + 4), s);
        ADDMUL(e, LOAD(a + 8), s);
        ADDMUL(f, LOAD(a + 12), s);
    }
    STORE(p, c);
    STORE(p + 4, d);
    STORE(p + 8, e);
    STORE(p + 12, f);
}

INLINE TARGET void VARIANT(scatter_wide)(int w, int m, const double *a, int lda, const double *y,
                                         const int *row, double *x) {
    double sum[16];
    for (int i = 0; i < m; i += 16) {
        int rows = m - i < 16 ? m - i : 16;
        VARIANT(column_16)(w, a + i, lda, y, sum);
        for (int r = 0; r < rows; r++) x[row[i + r]] -= sum[r];
    }
}

/* A whole panel of w <= 8 columns, constant: its unknowns stay in registers. */
INLINE TARGET void VARIANT(forward_narrow)(int w, int m, const double *l, double *y, const int *row,
                                           double *x) {
    int ld = w + m;
    double t[8];
    UNROLL for (int j = 0; j < w; j++) {
        t[j] = y[j];
        UNROLL for (int k = 0; k < j; k++) t[j] = LESS(t[j], l[k * ld + j], t[k]);
        y[j] = t[j];
    }
    VARIANT(scatter_rows)(w, m, l + w, ld, t, row, x);
}

INLINE TARGET void VARIANT(forward_blocks)(const pl_dense_panel *p, double *y, const int *row, double *x) {
    int w = p->w, from = 0;
    for (; from + 4 < w; from += 4) VARIANT(lower_block)(4, p, from, y);
    switch (w - from) {
    case 1:
        VARIANT(lower_block)(1, p, from, y);
        break;
    case 2:
        VARIANT(lower_block)(2, p, from, y);
        break;
    case 3:
        VARIANT(lower_block)(3, p, from, y);
        break;
    default:
        VARIANT(lower_block)(4, p, from, y);
        break;
    }
    VARIANT(scatter_wide)(w, p->r, p->l + w, w + p->r, y, row, x);
}

/* One panel: y are its own unknowns, x all of them, x[row_i] those of its rows. */
INLINE TARGET void VARIANT(forward_panel)(const pl_dense_panel *p, double *y, const int *row, double *x) {
    switch (p->w) {
    case 1:
        VARIANT(forward_narrow)(1, p->r, p->l, y, row, x);
        break;
    case 2:
        VARIANT(forward_narrow)(2, p->r, p->l, y, row, x);
        break;
    case 3:
        VARIANT(forward_narrow)(3, p->r, p->l, y, row, x);
        break;
    case 4:
        VARIANT(forward_narrow)(4, p->r, p->l, y, row, x);
        break;
    case 5:
        VARIANT(forward_narrow)(5, p->r, p->l, y, row, x);
        break;
    case 6:
        VARIANT(forward_narrow)(6, p->r, p->l, y, row, x);
        break;
    case 7:
        VARIANT(forward_narrow)(7, p->r, p->l, y, row, x);
        break;
    case 8:
        VARIANT(forward_narrow)(8, p->r, p->l, y, row, x);
        break;
    default:
        VARIANT(forward_blocks)(p, y, row, x);
        break;
    }
}

static TARGET void VARIANT(dense_forward_real)(const pl_dense_walk *t, double *x) {
    for (int j = 0; j < t->n; j++) {
        int w = t->first[j + 1] - t->first[j], r = t->row_start[j + 1] - t->row_start[j];
        double *l = t->value + t->start[j];
        pl_dense_panel p = {l, l + w * (w + r), w, r};
        VARIANT(forward_panel)(&p, x + t->first[j], t->row + t->row_start[j], x);
    }
}

static TARGET void VARIANT(dense_forward_complex)(int m, int w, const double *a, int lda, const double *y,
                                                  const int *row, double *x) {
    double p[32];
    for (int i = 0; i < m; i += 4) {
        int rows = m - i < 4 ? m - i : 4;
        VARIANT(tile_8x2)(w, a + 2 * i, lda, y, 2, p);
        for (int r = 0; r < rows; r++) {
            x[2 * row[i + r]] -= p[2 * r] - p[8 + 2 * r + 1];
            x[2 * row[i + r] + 1] -= p[2 * r + 1] + p[8 + 2 * r];
        }
    }
}

/* y_k -= sum_i a[i, k] g_i for w <= 8 columns, constant */
INLINE TARGET void VARIANT(dot_rows)(int w, int m, const double *a, double *y, const double *g) {
    v4 c[8];
    int i = 0;
    UNROLL for (int k = 0; k < w; k++) c[k] = ALL(0.0);
    for (; i + 4 <= m; i += 4) {
        v4 h = LOAD(g + i);
        UNROLL for (int k = 0; k < w; k++) ADDMUL(c[k], LOAD(a + i + k * m), h);
    }
    if (i < m) {
        v4 h = KEEP(LOAD(g + i), m - i);
        UNROLL for (int k = 0; k < w; k++) ADDMUL(c[k], KEEP(LOAD(a + i + k * m), m - i), h);
    }
    UNROLL for (int k = 0; k < w; k++) y[k] -= SUM(c[k]);
}

/* g: m reals */
INLINE TARGET void VARIANT(backward_wide)(int m, int w, const double *a, double *y, const int *row,
                                          const double *x, double *g) {
    int k = 0;
    for (int i = 0; i < m; i++) g[i] = x[row[i]];
    for (; k + 8 <= w; k += 8) VARIANT(dot_rows)(8, m, a + k * m, y + k, g);
    if (k + 4 <= w) {
        VARIANT(dot_rows)(4, m, a + k * m, y + k, g);
        k += 4;
    }
    if (k + 2 <= w) {
        VARIANT(dot_rows)(2, m, a + k * m, y + k, g);
        k += 2;
    }
    if (k < w) VARIANT(dot_rows)(1, m, a + k * m, y + k, g);
}

/* A whole panel of w <= 8 columns, constant. */
INLINE TARGET void VARIANT(backward_narrow)(int w, const pl_dense_panel *p, double *y, const int *row,
                                            const double *x) {
    int m = p->r, ld = w + m;
    const double *l = p->l;
    double t[8];
    UNROLL for (int k = 0; k < w; k++) t[k] = y[k];
    VARIANT(gather_rows)(w, m, p->u, m, t, row, x);
    UNROLL for (int j = w - 1; j >= 0; j--) {
        UNROLL for (int k = w - 1; k > j; k--) t[j] = LESS(t[j], l[k * ld + j], t[k]);
        t[j] *= l[j * ld + j];
        y[j] = t[j];
    }
}

INLINE TARGET void VARIANT(backward_blocks)(const pl_dense_panel *p, double *y, const int *row,
                                            const double *x, double *g) {
    int w = p->w, from = (w - 1) / 4 * 4;
    VARIANT(backward_wide)(p->r, w, p->u, y, row, x, g);
    switch (w - from) {
    case 1:
        VARIANT(upper_block)(1, p, from, y);
        break;
    case 2:
        VARIANT(upper_block)(2, p, from, y);
        break;
    case 3:
        VARIANT(upper_block)(3, p, from, y);
        break;
    default:
        VARIANT(upper_block)(4, p, from, y);
        break;
    }
    for (from -= 4; from >= 0; from -= 4) VARIANT(upper_block)(4, p, from, y);
}

INLINE TARGET void VARIANT(backward_panel)(const pl_dense_panel *p, double *y, const int *row,
                                           const double *x, double *g) {
    switch (p->w) {
    case 1:
        VARIANT(backward_narrow)(1, p, y, row, x);
        break;
    case 2:
        VARIANT(backward_narrow)(2, p, y, row, x);
        break;
    case 3:
        VARIANT(backward_narrow)(3, p, y, row, x);
        break;
    case 4:
        VARIANT(backward_narrow)(4, p, y, row, x);
        break;
    case 5:
        VARIANT(backward_narrow)(5, p, y, row, x);
        break;
    case 6:
        VARIANT(backward_narrow)(6, p, y, row, x);
        break;
    case 7:
        VARIANT(backward_narrow)(7, p, y, row, x);
        break;
    case 8:
        VARIANT(backward_narrow)(8, p, y, row, x);
        break;
    default:
        VARIANT(backward_blocks)(p, y, row, x, g);
        break;
    }
}

static TARGET void VARIANT(dense_backward_real)(const pl_dense_walk *t, double *x, double *g) {
    for (int j = t->n - 1; j >= 0; j--) {
        int w = t->first[j + 1] - t->first[j], r = t->row_start[j + 1] - t->row_start[j];
        double *l = t->value + t->start[j];
        pl_dense_panel p = {l, l + w * (w + r), w, r};
        VARIANT(backward_panel)(&p, x + t->first[j], t->row + t->row_start[j], x, g);
    }
}

static TARGET void VARIANT(dense_backward_complex)(int m, int w, const double *a, int lda, double *y,
                                                   const int *row, const double *x, double *g) {
    double *swapped = g + 2 * m;
    for (int i = 0; i < m; i++) {
        double re = x[2 * row[i]], im = x[2 * row[i] + 1];
        g[2 * i] = swapped[2 * i + 1] = re;
        g[2 * i + 1] = swapped[2 * i] = im;
    }
    for (int k = 0; k < w; k++, a += lda) {
        v4 c = ALL(0.0), d = c;
        double re = 0.0, im = 0.0;
        int i = 0;
        for (; i + 4 <= 2 * m; i += 4) {
            v4 h = LOAD(a + i);
            ADDMUL(c, h, LOAD(g + i));
            ADDMUL(d, h, LOAD(swapped + i));
        }
        if (i < 2 * m) {
            re = a[i] * g[i] - a[i + 1] * g[i + 1];
            im = a[i] * g[i + 1] + a[i + 1] * g[i];
        }
        y[2 * k] -= (SUM_EVEN(c) - SUM_ODD(c)) + re;
        y[2 * k + 1] -= SUM(d) + im;
    }
}
