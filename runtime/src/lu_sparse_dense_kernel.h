/* The dense kernels of the factorisation, included by lu_sparse_dense.c once for each width of vector:
 * VARIANT(name), TARGET, INLINE, UNROLL, v4 and its operations LOAD, STORE, ALL, ADDMUL, SUBMUL, ADD, SUB, MUL,
 * LESS (c - a b, scalars), LARGER (|a| or b), KEEP (first lanes, else zero), JOIN (first lanes, else those of another),
 * SUM.., VECTORS_16 (vectors hold two reals). */

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

/* Rows and columns are constants where this is inlined: the sums of the tile stay in registers. subtract: to
 * -= product, else to = -product. */
INLINE TARGET void VARIANT(tile_to)(int rows, int columns, int subtract, const pl_dense_product *u, int i,
                                    int j) {
    const double *a = u->a + i, *b = u->b + j;
    int lda = u->lda, ldb = u->ldb;
    ptrdiff_t ld = u->ld;
    double *to = u->to + i + ld * j;
    v4 c[4], d[4];
    UNROLL for (int q = 0; q < columns; q++) {
        c[q] = d[q] = ALL(0.0);
        if (subtract) c[q] = LOAD(to + q * ld);
        if (subtract && rows > 4) d[q] = LOAD(to + q * ld + 4);
    }
    for (int k = u->k; k > 0; k--, a += lda, b += ldb) {
        v4 e = LOAD(a), f = e;
        if (rows > 4) f = LOAD(a + 4);
        UNROLL for (int q = 0; q < columns; q++) {
            v4 s = ALL(b[q]);
            SUBMUL(c[q], e, s);
            if (rows > 4) SUBMUL(d[q], f, s);
        }
    }
    UNROLL for (int q = 0; q < columns; q++) {
        STORE(to + q * ld, c[q]);
        if (rows > 4) STORE(to + q * ld + 4, d[q]);
    }
}

/* All columns of the rows from i on. */
INLINE TARGET void VARIANT(band_to)(int rows, int subtract, const pl_dense_product *u, int i) {
    int j = 0;
    for (; j + 4 <= u->c; j += 4) VARIANT(tile_to)(rows, 4, subtract, u, i, j);
    if (u->c - j == 3)
        VARIANT(tile_to)(rows, 3, subtract, u, i, j);
    else if (u->c - j == 2)
        VARIANT(tile_to)(rows, 2, subtract, u, i, j);
    else if (u->c - j == 1)
        VARIANT(tile_to)(rows, 1, subtract, u, i, j);
}

static TARGET void VARIANT(dense_update_real)(const pl_dense_product *given) {
    pl_dense_product copy = *given, *u = &copy; /* no store can change it */
    double p[32];
    int i = 0;
#if !VECTORS_16 /* sixteen registers of two reals would all be sums */
    for (; i + 8 <= u->m; i += 8) VARIANT(band_to)(8, 1, u, i);
#endif
    for (; i + 4 <= u->m; i += 4) VARIANT(band_to)(4, 1, u, i);
    if (i == u->m) return;
    for (int j = 0; j < u->c; j += 4) { /* below the last rows lies another column */
        VARIANT(tile_4x4)(u->k, u->a + i, u->lda, u->b + j, u->ldb, p);
        for (int q = 0; q < 4 && j + q < u->c; q++)
            for (int r = 0; i + r < u->m; r++) u->to[i + r + (ptrdiff_t)u->ld * (j + q)] -= p[8 * q + r];
    }
}

static TARGET void VARIANT(dense_negate_real)(const pl_dense_product *given) {
    pl_dense_product copy = *given, *u = &copy; /* no store can change it */
    int i = 0;
#if !VECTORS_16
    for (; i + 4 < u->m; i += 8) VARIANT(band_to)(8, 0, u, i);
#endif
    for (; i < u->m; i += 4) VARIANT(band_to)(4, 0, u, i);
}

INLINE TARGET void VARIANT(complex_product)(const pl_dense_product *u, int subtract) {
    double p[32];
    for (int i = 0; i < u->m; i += 4) {
        int rows = u->m - i < 4 ? u->m - i : 4;
        for (int j = 0; j < u->c; j += 2) {
            int columns = u->c - j < 2 ? u->c - j : 2;
            VARIANT(tile)(2 * rows, 2 * columns, u->k, u->a + 2 * i, u->lda, u->b + 2 * j, u->ldb, p);
            for (int q = 0; q < columns; q++) {
                double *t = u->to + (ptrdiff_t)u->ld * (j + q) + 2 * i;
                const double *re = p + 16 * q, *im = re + 8;
                for (int r = 0; r < rows; r++, t += 2) {
                    t[0] = (subtract ? t[0] : 0.0) - (re[2 * r] - im[2 * r + 1]);
                    t[1] = (subtract ? t[1] : 0.0) - (re[2 * r + 1] + im[2 * r]);
                }
            }
        }
    }
}

static TARGET void VARIANT(dense_update_complex)(const pl_dense_product *u) {
    VARIANT(complex_product)(u, 1);
}

static TARGET void VARIANT(dense_negate_complex)(const pl_dense_product *u) {
    VARIANT(complex_product)(u, 0);
}

/* ------------------------------------------------------------------------------------------- assembly */

static TARGET void VARIANT(dense_open_real)(const pl_dense_panel *p, const pl_dense_entries *e) {
    int size = p->w * (p->w + 2 * p->r), i = 0;
    v4 z = ALL(0.0);
    double *to = p->l;
    for (; i + 4 <= size; i += 4) STORE(to + i, z);
    for (; i < size; i++) to[i] = 0.0;
    to = e->to;
    for (int q = 0; q < e->n; q++) {
        if (q < e->ahead) {
            PREFETCH(e->value + e->source[q + PL_DENSE_AHEAD]);
            PREFETCH(e->row + e->source[q + PL_DENSE_AHEAD]);
        }
        int from = e->source[q];
        to[e->target[q]] = e->value[from] * e->scale[e->row[from]];
    }
}

static TARGET void VARIANT(dense_open_complex)(const pl_dense_panel *p, const pl_dense_entries *e) {
    for (int i = 0, size = 2 * p->w * (p->w + 2 * p->r); i < size; i++) p->l[i] = 0.0;
    for (int q = 0; q < e->n; q++) {
        int from = e->source[q];
        double *to = e->to + 2 * e->target[q], scale = e->scale[e->row[from]];
        to[0] = e->value[2 * from] * scale;
        to[1] = e->value[2 * from + 1] * scale;
    }
}

/* Two columns at once: to[row_i - base] += from[i], also[..] += second[i], i < m; rows ascend. */
INLINE TARGET void VARIANT(add_columns)(int m, double *to, double *also, int base, const int *row,
                                        const double *from, const double *second) {
    int i = 0;
    for (; i + 4 <= m; i += 4) {
        int p = row[i] - base, q = row[i + 1] - base, r = row[i + 2] - base, s = row[i + 3] - base;
        if (s - p == 3) { /* no gap */
            STORE(to + p, ADD(LOAD(to + p), LOAD(from + i)));
            STORE(also + p, ADD(LOAD(also + p), LOAD(second + i)));
        } else {
            to[p] += from[i];
            to[q] += from[i + 1];
            to[r] += from[i + 2];
            to[s] += from[i + 3];
            also[p] += second[i];
            also[q] += second[i + 1];
            also[r] += second[i + 2];
            also[s] += second[i + 3];
        }
    }
    for (; i < m; i++) {
        to[row[i] - base] += from[i];
        also[row[i] - base] += second[i];
    }
}

INLINE TARGET void VARIANT(add_column)(int m, double *to, int base, const int *row, const double *from) {
    int i = 0;
    for (; i + 4 <= m; i += 4) {
        double *t = to + (row[i] - base);
        if (row[i + 3] - row[i] == 3) {
            STORE(t, ADD(LOAD(t), LOAD(from + i)));
        } else {
            t[0] += from[i];
            to[row[i + 1] - base] += from[i + 1];
            to[row[i + 2] - base] += from[i + 2];
            to[row[i + 3] - base] += from[i + 3];
        }
    }
    for (; i < m; i++) to[row[i] - base] += from[i];
}

static TARGET void VARIANT(dense_take_real)(const pl_dense_panel *p, const pl_dense_child *c) {
    const int *row = c->row;
    int m = c->m, ld = c->ld, w = p->w, r = p->r, shared = c->shared, j = 0;
    for (; j + 2 <= shared; j += 2) {
        const double *from = c->from + j * ld;
        VARIANT(add_columns)
        (m, p->l + row[j] * (w + r), p->l + row[j + 1] * (w + r), 0, row, from, from + ld);
        double *to = p->u + row[j] * r, *also = p->u + row[j + 1] * r;
        from = c->from + j + shared * ld;
        for (int i = shared; i < m; i++, from += ld) {
            to[row[i] - w] += from[0];
            also[row[i] - w] += from[1];
        }
    }
    if (j < shared) {
        VARIANT(add_column)(m, p->l + row[j] * (w + r), 0, row, c->from + j * ld);
        double *to = p->u + row[j] * r;
        const double *from = c->from + j + shared * ld;
        for (int i = shared; i < m; i++, from += ld) to[row[i] - w] += from[0];
    }
}

static TARGET void VARIANT(dense_pass_real)(double *to, int ld, int w, const pl_dense_child *c) {
    int shared = c->shared, m = c->m - shared, j = 0;
    const int *row = c->row + shared;
    const double *from = c->from + shared + (ptrdiff_t)c->ld * shared;
    for (; j + 2 <= m; j += 2, from += 2 * c->ld) VARIANT(add_columns)
    (m, to + (ptrdiff_t)ld * (row[j] - w), to + (ptrdiff_t)ld * (row[j + 1] - w), w, row, from, from + c->ld);
    if (j < m) VARIANT(add_column)(m, to + (ptrdiff_t)ld * (row[j] - w), w, row, from);
}

static TARGET void VARIANT(dense_take_complex)(const pl_dense_panel *p, const pl_dense_child *c) {
    const int *row = c->row;
    int w = p->w, r = p->r;
    for (int j = 0; j < c->shared; j++) {
        double *to = p->l + 2 * row[j] * (w + r);
        const double *from = c->from + c->ld * j;
        for (int i = 0; i < c->m; i++) {
            to[2 * row[i]] += from[2 * i];
            to[2 * row[i] + 1] += from[2 * i + 1];
        }
        to = p->u + 2 * row[j] * r;
        from = c->from + 2 * j;
        for (int i = c->shared; i < c->m; i++) {
            to[2 * (row[i] - w)] += from[i * c->ld];
            to[2 * (row[i] - w) + 1] += from[i * c->ld + 1];
        }
    }
}

static TARGET void VARIANT(dense_pass_complex)(double *to, int ld, int w, const pl_dense_child *c) {
    for (int j = c->shared; j < c->m; j++) {
        const double *from = c->from + (ptrdiff_t)c->ld * j;
        double *column = to + (ptrdiff_t)ld * (c->row[j] - w);
        for (int i = c->shared; i < c->m; i++) {
            double *t = column + 2 * (c->row[i] - w);
            t[0] += from[2 * i];
            t[1] += from[2 * i + 1];
        }
    }
}

/* -------------------------------------------------------------------------------------- panel, columns */

/* Rows below the block: x[., j] = (y[., j] - sum_{k<j} x[., k] t[k, j]) / t[j, j], four rows at a time in
 * registers, so no row waits for another; d: the reciprocal t[j, j]. most: largest |y| and |x|; w is a
 * constant where this is inlined. Past the last row y is read and written back unchanged. */
INLINE TARGET void VARIANT(lower_rows)(int w, int m, double *y, int ld, double t[8][8], const double *d,
                                       double *most) {
    v4 growth = ALL(most[0]), factor = ALL(most[1]), x[8];
    for (int i = 0; i < m; i += 4) {
        int rest = m - i;
        UNROLL for (int j = 0; j < w; j++) {
            double *at = y + j * ld + i;
            v4 before = LOAD(at), c = before;
            UNROLL for (int k = 0; k < j; k++) SUBMUL(c, x[k], ALL(t[j][k]));
            x[j] = MUL(c, ALL(d[j]));
            if (rest >= 4) {
                growth = LARGER(c, growth);
                factor = LARGER(x[j], factor);
                STORE(at, x[j]);
            } else {
                growth = LARGER(KEEP(c, rest), growth);
                factor = LARGER(KEEP(x[j], rest), factor);
                STORE(at, JOIN(x[j], before, rest));
            }
        }
    }
    most[0] = LARGEST(growth, most[0]);
    most[1] = LARGEST(factor, most[1]);
}

/* The same for U, whose diagonal here is one: x[., j] = y[., j] - sum_{k<j} x[., k] t[k, j]. */
INLINE TARGET void VARIANT(upper_rows)(int w, int m, double *y, int ld, double t[8][8]) {
    v4 x[8];
    for (int i = 0; i < m; i += 4) {
        int rest = m - i;
        x[0] = LOAD(y + i);
        UNROLL for (int j = 1; j < w; j++) {
            double *at = y + j * ld + i;
            v4 before = LOAD(at);
            x[j] = before;
            UNROLL for (int k = 0; k < j; k++) SUBMUL(x[j], x[k], ALL(t[k][j]));
            if (rest >= 4)
                STORE(at, x[j]);
            else
                STORE(at, JOIN(x[j], before, rest));
        }
    }
}

/* t[j][i]: entry (i, j) of the block on the diagonal, then of its L (below) and U; w constant. */
INLINE TARGET int VARIANT(factor_block)(int w, const pl_dense_panel *p, int from, pl_dense_tests *test) {
    int ld = p->w + p->r;
    double *l = p->l + from * ld + from, t[8][8], d[8], most[2] = {test->growth, 0.0}, least = 1.0;
    UNROLL for (int j = 0; j < w; j++) {
        UNROLL for (int i = 0; i < w; i++) t[j][i] = l[j * ld + i];
        UNROLL for (int k = 0; k < j; k++) UNROLL for (int i = k + 1; i < w; i++) t[j][i] =
            LESS(t[j][i], t[k][i], t[j][k]);
        double size = fabs(t[j][j]);
        least = size > 0.0 ? least : 0.0; /* so written that NaN fails */
        d[j] = 1.0 / t[j][j];
        most[0] = larger(size, most[0]);
        l[j * ld + j] = d[j];
        UNROLL for (int i = 0; i < j; i++) l[j * ld + i] = t[j][i];
        UNROLL for (int i = j + 1; i < w; i++) {
            most[0] = larger(t[j][i], most[0]);
            t[j][i] *= d[j];
            most[1] = larger(t[j][i], most[1]);
            l[j * ld + i] = t[j][i];
        }
    }
    VARIANT(lower_rows)(w, ld - from - w, l + w, ld, t, d, most);
    test->growth = most[0];
    if (!(least > 0.0 && most[1] * test->threshold <= 1.0 && most[0] <= test->bound)) return 0;
    VARIANT(upper_rows)(w, p->r, p->u + from * p->r, p->r, t);
    return 1;
}

static TARGET int VARIANT(dense_factor_real)(const pl_dense_panel *p, int from, int to,
                                             pl_dense_tests *test) {
    switch (to - from) {
    case 1:
        return VARIANT(factor_block)(1, p, from, test);
    case 2:
        return VARIANT(factor_block)(2, p, from, test);
    case 3:
        return VARIANT(factor_block)(3, p, from, test);
    case 4:
        return VARIANT(factor_block)(4, p, from, test);
    case 5:
        return VARIANT(factor_block)(5, p, from, test);
    case 6:
        return VARIANT(factor_block)(6, p, from, test);
    case 7:
        return VARIANT(factor_block)(7, p, from, test);
    default:
        return VARIANT(factor_block)(8, p, from, test);
    }
}

static TARGET void VARIANT(dense_subtract_complex)(int m, double *y, const double *a, const double *u) {
    double re = u[0], im = u[1];
    for (int i = 0; i < 2 * m; i += 2) {
        y[i] -= a[i] * re - a[i + 1] * im;
        y[i + 1] -= a[i] * im + a[i + 1] * re;
    }
}
