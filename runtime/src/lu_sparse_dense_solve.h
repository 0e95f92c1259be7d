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

/* y_k -= sum_i a[i, k] x[row_i] for w <= 4 columns, constant */
INLINE TARGET void VARIANT(gather_rows)(int w, int m, const double *a, int lda, double *y, const int *row,
                                        const double *x) {
    v4 c[4];
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

/* p[i] = sum_k a[i, k] y_k for 8 reals */
INLINE TARGET void VARIANT(column_8)(int w, const double *a, int lda, const double *y, double *p) {
    v4 c = ALL(0.0), d = c;
    for (; w > 0; w--, a += lda, y++) {
        v4 s = ALL(y[0]);
        ADDMUL(c, LOAD(a), s);
        ADDMUL(d, LOAD(a + 4), s);
    }
    STORE(p, c);
    STORE(p + 4, d);
}

static TARGET void VARIANT(dense_forward_real)(const pl_dense_panel *p, double *y, const int *row,
                                               double *x) {
    int w = p->w, m = p->r, ld = w + m, from = 0;
    const double *a = p->l + w;
    double sum[8];
    for (; from + 4 < w; from += 4) VARIANT(lower_block)(4, p, from, y);
    if (w - from == 1)
        VARIANT(lower_block)(1, p, from, y);
    else if (w - from == 2)
        VARIANT(lower_block)(2, p, from, y);
    else if (w - from == 3)
        VARIANT(lower_block)(3, p, from, y);
    else
        VARIANT(lower_block)(4, p, from, y);
    switch (w) {
    case 1:
        VARIANT(scatter_rows)(1, m, a, ld, y, row, x);
        return;
    case 2:
        VARIANT(scatter_rows)(2, m, a, ld, y, row, x);
        return;
    case 3:
        VARIANT(scatter_rows)(3, m, a, ld, y, row, x);
        return;
    case 4:
        VARIANT(scatter_rows)(4, m, a, ld, y, row, x);
        return;
    case 5:
        VARIANT(scatter_rows)(5, m, a, ld, y, row, x);
        return;
    default:
        break;
    }
    for (int i = 0; i < m; i += 8) {
        int rows = m - i < 8 ? m - i : 8;
        VARIANT(column_8)(w, a + i, ld, y, sum);
        for (int r = 0; r < rows; r++) x[row[i + r]] -= sum[r];
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

/* g: m reals */
static TARGET void VARIANT(backward_wide)(int m, int w, const double *a, double *y, const int *row,
                                          const double *x, double *g) {
    for (int i = 0; i < m; i++) g[i] = x[row[i]];
    for (int k = 0; k < w; k += 4, a += 4 * m) {
        /* the last columns again rather than fewer: all of them are subtracted only once */
        int columns = w - k < 4 ? w - k : 4;
        const double *b = a + (columns > 1 ? m : 0), *d = a + (columns > 2 ? 2 * m : 0);
        const double *e = a + (columns > 3 ? 3 * m : 0);
        v4 c0 = ALL(0.0), c1 = c0, c2 = c0, c3 = c0;
        for (int i = 0; i < m; i += 4) {
            v4 h = LOAD(g + i);
            if (i + 4 <= m) {
                ADDMUL(c0, LOAD(a + i), h);
                ADDMUL(c1, LOAD(b + i), h);
                ADDMUL(c2, LOAD(d + i), h);
                ADDMUL(c3, LOAD(e + i), h);
            } else {
                h = KEEP(h, m - i);
                ADDMUL(c0, KEEP(LOAD(a + i), m - i), h);
                ADDMUL(c1, KEEP(LOAD(b + i), m - i), h);
                ADDMUL(c2, KEEP(LOAD(d + i), m - i), h);
                ADDMUL(c3, KEEP(LOAD(e + i), m - i), h);
            }
        }
        y[k] -= SUM(c0);
        if (columns > 1) y[k + 1] -= SUM(c1);
        if (columns > 2) y[k + 2] -= SUM(c2);
        if (columns > 3) y[k + 3] -= SUM(c3);
    }
}

static TARGET void VARIANT(dense_backward_real)(const pl_dense_panel *p, double *y, const int *row,
                                                const double *x, double *g) {
    int w = p->w, m = p->r, from = (w - 1) / 4 * 4;
    switch (w) {
    case 1:
        VARIANT(gather_rows)(1, m, p->u, m, y, row, x);
        break;
    case 2:
        VARIANT(gather_rows)(2, m, p->u, m, y, row, x);
        break;
    case 3:
        VARIANT(gather_rows)(3, m, p->u, m, y, row, x);
        break;
    case 4:
        VARIANT(gather_rows)(4, m, p->u, m, y, row, x);
        break;
    default:
        VARIANT(backward_wide)(m, w, p->u, y, row, x, g);
        break;
    }
    if (w - from == 1)
        VARIANT(upper_block)(1, p, from, y);
    else if (w - from == 2)
        VARIANT(upper_block)(2, p, from, y);
    else if (w - from == 3)
        VARIANT(upper_block)(3, p, from, y);
    else
        VARIANT(upper_block)(4, p, from, y);
    for (from -= 4; from >= 0; from -= 4) VARIANT(upper_block)(4, p, from, y);
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
