/* The dense kernels, included by lu_sparse_dense.c once for each width of vector: VARIANT(name), TARGET,
 * INLINE, v4 and its operations LOAD, STORE, ALL, ADDMUL, SUB, MUL, SUM.., VECTORS_16 (vectors hold two
 * reals). */

/* ------------------------------------------------------------------------------------------------ tiles */

/* p[8 j + i] = sum_k a[i, k] b[j, k],  i < 4, j < 4 */
INLINE TARGET void VARIANT(tile_4x4)(int k, const double *a, int lda, const double *b, int ldb, double *p) {
    v4 z = ALL(0.0), c0 = z, c1 = z, c2 = z, c3 = z;
    for (; k > 0; k--, a += lda, b += ldb) {
        v4 e = LOAD(a);
        ADDMUL(c0, e, ALL(b[0]));
        ADDMUL(c1, e, ALL(b[1]));
        ADDMUL(c2, e, ALL(b[2]));
        ADDMUL(c3, e, ALL(b[3]));
    }
    STORE(p, c0);
    STORE(p + 8, c1);
    STORE(p + 16, c2);
    STORE(p + 24, c3);
}

/* p[8 j + i] = sum_k a[i, k] b[j, k],  i < 8, j < 4 */
INLINE TARGET void VARIANT(tile_8x4)(int k, const double *a, int lda, const double *b, int ldb, double *p) {
#if VECTORS_16
    /* sixteen registers of two reals would all be sums: two halves avoid spilling */
    VARIANT(tile_4x4)(k, a, lda, b, ldb, p);
    VARIANT(tile_4x4)(k, a + 4, lda, b, ldb, p + 4);
#else
    v4 z = ALL(0.0), c0 = z, c1 = z, c2 = z, c3 = z, d0 = z, d1 = z, d2 = z, d3 = z;
    for (; k > 0; k--, a += lda, b += ldb) {
        v4 e = LOAD(a), f = LOAD(a + 4), s = ALL(b[0]);
        ADDMUL(c0, e, s);
        ADDMUL(d0, f, s);
        s = ALL(b[1]);
        ADDMUL(c1, e, s);
        ADDMUL(d1, f, s);
        s = ALL(b[2]);
        ADDMUL(c2, e, s);
        ADDMUL(d2, f, s);
        s = ALL(b[3]);
        ADDMUL(c3, e, s);
        ADDMUL(d3, f, s);
    }
    STORE(p, c0);
    STORE(p + 4, d0);
    STORE(p + 8, c1);
    STORE(p + 12, d1);
    STORE(p + 16, c2);
    STORE(p + 20, d2);
    STORE(p + 24, c3);
    STORE(p + 28, d3);
#endif
}

INLINE TARGET void VARIANT(tile_8x2)(int k, const double *a, int lda, const double *b, int ldb, double *p) {
    v4 z = ALL(0.0), c0 = z, c1 = z, d0 = z, d1 = z;
    for (; k > 0; k--, a += lda, b += ldb) {
        v4 e = LOAD(a), f = LOAD(a + 4), s = ALL(b[0]);
        ADDMUL(c0, e, s);
        ADDMUL(d0, f, s);
        s = ALL(b[1]);
        ADDMUL(c1, e, s);
        ADDMUL(d1, f, s);
    }
    STORE(p, c0);
    STORE(p + 4, d0);
    STORE(p + 8, c1);
    STORE(p + 12, d1);
}

/* The tile at a, b for `rows` (at most 8) and `columns` (at most 4) reals. */
INLINE TARGET void VARIANT(tile)(int rows, int columns, int k, const double *a, int lda, const double *b,
                                 int ldb, double *p) {
    if (columns <= 2)
        VARIANT(tile_8x2)(k, a, lda, b, ldb, p);
    else if (rows <= 4)
        VARIANT(tile_4x4)(k, a, lda, b, ldb, p);
    else
        VARIANT(tile_8x4)(k, a, lda, b, ldb, p);
}

static TARGET void VARIANT(dense_update_real)(const pl_dense_update *u) {
    double p[32];
    for (int i = 0; i < u->m; i += 8) {
        int rows = u->m - i < 8 ? u->m - i : 8;
        const int *row = u->row ? u->row + i : NULL;
        /* rows ascend: first and last tell whether there is a gap */
        int whole = rows == 8 && (!row || row[7] - row[0] == 7), shift = row ? row[0] : i;
        for (int j = 0; j < u->c; j += 4) {
            int columns = u->c - j < 4 ? u->c - j : 4;
            VARIANT(tile)(rows, columns, u->k, u->a + i, u->lda, u->b + j, u->ldb, p);
            for (int q = 0; q < columns; q++) {
                double *to = u->to + (ptrdiff_t)u->ld * (u->column ? u->column[j + q] : j + q);
                const double *from = p + 8 * q;
                if (whole) {
                    to += shift;
                    STORE(to, SUB(LOAD(to), LOAD(from)));
                    STORE(to + 4, SUB(LOAD(to + 4), LOAD(from + 4)));
                } else if (row) {
                    for (int r = 0; r < rows; r++) to[row[r]] -= from[r];
                } else {
                    for (int r = 0; r < rows; r++) to[i + r] -= from[r];
                }
            }
        }
    }
}

static TARGET void VARIANT(dense_update_complex)(const pl_dense_update *u) {
    double p[32];
    for (int i = 0; i < u->m; i += 4) {
        int rows = u->m - i < 4 ? u->m - i : 4;
        for (int j = 0; j < u->c; j += 2) {
            int columns = u->c - j < 2 ? u->c - j : 2;
            VARIANT(tile)(2 * rows, 2 * columns, u->k, u->a + 2 * i, u->lda, u->b + 2 * j, u->ldb, p);
            for (int q = 0; q < columns; q++) {
                double *to = u->to + (ptrdiff_t)u->ld * (u->column ? u->column[j + q] : j + q);
                const double *re = p + 16 * q, *im = re + 8;
                for (int r = 0; r < rows; r++) {
                    double *t = to + 2 * (u->row ? u->row[i + r] : i + r);
                    t[0] -= re[2 * r] - im[2 * r + 1];
                    t[1] -= re[2 * r + 1] + im[2 * r];
                }
            }
        }
    }
}

static TARGET void VARIANT(dense_subtract_real)(int m, double *y, const double *a, const double *u) {
    double f = u[0];
    v4 s = ALL(f);
    int i = 0;
    for (; i + 4 <= m; i += 4) STORE(y + i, SUB(LOAD(y + i), MUL(LOAD(a + i), s)));
    for (; i < m; i++) y[i] -= a[i] * f;
}

static TARGET void VARIANT(dense_subtract_complex)(int m, double *y, const double *a, const double *u) {
    double re = u[0], im = u[1];
    for (int i = 0; i < 2 * m; i += 2) {
        y[i] -= a[i] * re - a[i + 1] * im;
        y[i + 1] -= a[i] * im + a[i + 1] * re;
    }
}

/* ---------------------------------------------------------------------------------- triangular solves */

/* p[i] = sum_k a[i, k] y_k for 8 reals; stride: reals from one y to the next */
INLINE TARGET void VARIANT(column_8)(int w, const double *a, int lda, const double *y, int stride,
                                     double *p) {
    v4 c = ALL(0.0), d = c;
    for (; w > 0; w--, a += lda, y += stride) {
        v4 s = ALL(y[0]);
        ADDMUL(c, LOAD(a), s);
        ADDMUL(d, LOAD(a + 4), s);
    }
    STORE(p, c);
    STORE(p + 4, d);
}

static TARGET void VARIANT(dense_forward_real)(int m, int w, const double *a, int lda, const double *y,
                                               const int *row, double *x) {
    double p[8];
    for (int i = 0; i < m; i += 8) {
        int rows = m - i < 8 ? m - i : 8;
        VARIANT(column_8)(w, a + i, lda, y, 1, p);
        for (int r = 0; r < rows; r++) x[row[i + r]] -= p[r];
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

/* Past the end of a column lies the next one, or anything: the last incomplete four are taken one by one. */
static TARGET void VARIANT(dense_backward_real)(int m, int w, const double *a, int lda, double *y,
                                                const int *row, const double *x, double *g) {
    for (int i = 0; i < m; i++) g[i] = x[row[i]];
    int k = 0;
    for (; k + 2 <= w; k += 2, a += 2 * lda) {
        const double *b = a + lda;
        v4 c = ALL(0.0), d = c;
        double e = 0.0, f = 0.0;
        int i = 0;
        for (; i + 4 <= m; i += 4) {
            v4 h = LOAD(g + i);
            ADDMUL(c, LOAD(a + i), h);
            ADDMUL(d, LOAD(b + i), h);
        }
        for (; i < m; i++) {
            e += a[i] * g[i];
            f += b[i] * g[i];
        }
        y[k] -= SUM(c) + e;
        y[k + 1] -= SUM(d) + f;
    }
    if (k < w) {
        v4 c = ALL(0.0);
        double e = 0.0;
        int i = 0;
        for (; i + 4 <= m; i += 4) ADDMUL(c, LOAD(a + i), LOAD(g + i));
        for (; i < m; i++) e += a[i] * g[i];
        y[k] -= SUM(c) + e;
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
