/* Sparse LU against a dense LU with partial pivoting, and every promise its header makes.
 * Plain C: prints what failed, exits 1 if anything did. */
#include "pliant.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------- generator and matrices */

static uint64_t seed = 88172645463325252ULL;

static double uniform(void) { /* xorshift, [-1, 1) */
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0;
}

static int below(int n) {
    return (int)((uniform() + 1.0) * 0.5 * n) % n;
}

typedef struct matrix {
    int n, scalar;
    int *start, *row;
    double *value;
    pl_pattern pattern;
} matrix;

typedef struct factors {
    int *row_order, *column_order;
    pl_sparse_plan plan;
    void *memory;
    size_t size;
    pl_sparse *s;
} factors;

/* From a dense table of zero / nonzero, by columns. */
static matrix from_table(int n, int scalar, const char *table) {
    matrix m = {n,
                scalar,
                malloc(sizeof(int) * (size_t)(n + 1)),
                malloc(sizeof(int) * (size_t)n * (size_t)n),
                NULL,
                {0, 0, NULL, NULL}};
    int at = 0;
    for (int j = 0; j < n; j++) {
        m.start[j] = at;
        for (int i = 0; i < n; i++)
            if (table[i + j * n]) m.row[at++] = i;
    }
    m.start[n] = at;
    m.value = malloc(sizeof(double) * (size_t)(at * scalar + 1));
    for (int p = 0; p < at * scalar; p++) m.value[p] = uniform();
    m.pattern = (pl_pattern){n, n, m.start, m.row};
    return m;
}

/* Random pattern with `extra` entries per column beside a transversal; diagonal: whether that is the
 * diagonal. */
static matrix random_matrix(int n, int scalar, double extra, int diagonal) {
    char *table = calloc((size_t)n * (size_t)n, 1);
    int *permutation = malloc(sizeof(int) * (size_t)n);
    for (int j = 0; j < n; j++) permutation[j] = j;
    for (int j = n - 1; j > 0 && !diagonal; j--) {
        int k = below(j + 1), keep = permutation[j];
        permutation[j] = permutation[k];
        permutation[k] = keep;
    }
    for (int j = 0; j < n; j++) table[permutation[j] + j * n] = 1;
    for (int q = 0; q < (int)(extra * n); q++) {
        int i = below(n), j = below(n);
        if (diagonal || i != j) table[i + j * n] = 1;
    }
    matrix m = from_table(n, scalar, table);
    free(table);
    free(permutation);
    return m;
}

/* Five-point Laplacian plus identity on an m x m grid, slightly unsymmetric in its values. */
static matrix grid(int m, int scalar) {
    int n = m * m, at = 0;
    matrix a = {n,
                scalar,
                malloc(sizeof(int) * (size_t)(n + 1)),
                malloc(sizeof(int) * 5 * (size_t)n),
                malloc(sizeof(double) * 10 * (size_t)n),
                {0, 0, NULL, NULL}};
    for (int j = 0; j < n; j++) {
        int x = j % m, y = j / m;
        int neighbour[5] = {y > 0 ? j - m : -1, x > 0 ? j - 1 : -1, j, x < m - 1 ? j + 1 : -1,
                            y < m - 1 ? j + m : -1};
        a.start[j] = at;
        for (int q = 0; q < 5; q++) {
            if (neighbour[q] < 0) continue;
            a.row[at] = neighbour[q];
            a.value[at * scalar] = (q == 2 ? 5.0 : -1.0) + 0.1 * uniform();
            if (scalar == 2) a.value[2 * at + 1] = q == 2 ? 2.0 : 0.1 * uniform();
            at++;
        }
    }
    a.start[n] = at;
    a.pattern = (pl_pattern){n, n, a.start, a.row};
    return a;
}

static void free_matrix(matrix *m) {
    free(m->start);
    free(m->row);
    free(m->value);
}

static void analyse(factors *f, const matrix *m) {
    size_t size = pl_sparse_analyse_size(m->n, m->start[m->n]);
    void *work = malloc(size);
    f->row_order = malloc(sizeof(int) * (size_t)m->n);
    f->column_order = malloc(sizeof(int) * (size_t)m->n);
    CHECK(pl_sparse_analyse(&m->pattern, f->row_order, f->column_order, &f->plan, work, size) == PL_OK);
    free(work);
    char *seen = calloc((size_t)m->n, 2);
    for (int k = 0; k < m->n; k++) {
        CHECK(!seen[2 * f->row_order[k]] && !seen[2 * f->column_order[k] + 1]);
        seen[2 * f->row_order[k]] = seen[2 * f->column_order[k] + 1] = 1;
    }
    free(seen);
}

static void open_factors(factors *f, const matrix *m, int64_t n_lu) {
    f->size = pl_sparse_size(&m->pattern, m->scalar, n_lu);
    f->memory = malloc(f->size);
    memset(f->memory, 0xff, f->size); /* NaN everywhere: nothing may be read before it is written */
    f->s = pl_sparse_init(f->memory, f->size, &m->pattern, m->scalar, n_lu, f->row_order, f->column_order);
    CHECK(f->s != NULL);
}

static void close_factors(factors *f) {
    free(f->row_order);
    free(f->column_order);
    free(f->memory);
}

/* ----------------------------------------------------------------------------------- dense comparison */

/* Solves by complex arithmetic in any case; returns 0 if singular. */
static int dense_solve(const matrix *m, const double *b, double *x) {
    int n = m->n, sc = m->scalar;
    size_t size = (size_t)n;
    double *re = calloc(size * size, sizeof(double)), *im = calloc(size * size, sizeof(double));
    double *y = calloc(2 * size, sizeof(double));
    int fine = 1;
    for (int j = 0; j < n; j++)
        for (int p = m->start[j]; p < m->start[j + 1]; p++) {
            re[m->row[p] * n + j] = m->value[p * sc];
            im[m->row[p] * n + j] = sc == 2 ? m->value[2 * p + 1] : 0.0;
        }
    for (int i = 0; i < n; i++) {
        y[2 * i] = b[i * sc];
        y[2 * i + 1] = sc == 2 ? b[2 * i + 1] : 0.0;
    }
    for (int k = 0; k < n && fine; k++) {
        int best = k;
        for (int i = k; i < n; i++)
            if (hypot(re[i * n + k], im[i * n + k]) > hypot(re[best * n + k], im[best * n + k])) best = i;
        for (int j = 0; j < n; j++) {
            double r = re[k * n + j], c = im[k * n + j];
            re[k * n + j] = re[best * n + j], im[k * n + j] = im[best * n + j];
            re[best * n + j] = r, im[best * n + j] = c;
        }
        for (int q = 0; q < 2; q++) {
            double keep = y[2 * k + q];
            y[2 * k + q] = y[2 * best + q];
            y[2 * best + q] = keep;
        }
        double pr = re[k * n + k], pi = im[k * n + k], d = pr * pr + pi * pi;
        if (!(d > 1e-28)) fine = 0;
        for (int i = 0; i < n && fine; i++) { /* Gauss-Jordan: also above */
            if (i == k) continue;
            double a = re[i * n + k], c = im[i * n + k];
            double fr = (a * pr + c * pi) / d, fi = (c * pr - a * pi) / d;
            if (fr == 0.0 && fi == 0.0) continue;
            for (int j = k; j < n; j++) {
                double ur = re[k * n + j], ui = im[k * n + j];
                re[i * n + j] -= fr * ur - fi * ui;
                im[i * n + j] -= fr * ui + fi * ur;
            }
            double yr = y[2 * k], yi = y[2 * k + 1];
            y[2 * i] -= fr * yr - fi * yi;
            y[2 * i + 1] -= fr * yi + fi * yr;
        }
    }
    for (int k = 0; k < n && fine; k++) {
        double pr = re[k * n + k], pi = im[k * n + k], d = pr * pr + pi * pi;
        x[k * sc] = (y[2 * k] * pr + y[2 * k + 1] * pi) / d;
        if (sc == 2) x[2 * k + 1] = (y[2 * k + 1] * pr - y[2 * k] * pi) / d;
    }
    free(re);
    free(im);
    free(y);
    return fine;
}

/* max_i |b - A x|_i / max_i (|A| |x| + |b|)_i */
static double residual(const matrix *m, const double *x, const double *b) {
    int n = m->n, sc = m->scalar;
    double *r = malloc(sizeof(double) * (size_t)(n * sc)), *s = malloc(sizeof(double) * (size_t)n);
    double worst = 0.0, size = 0.0;
    memcpy(r, b, sizeof(double) * (size_t)(n * sc));
    for (int i = 0; i < n; i++) s[i] = fabs(b[i * sc]);
    for (int j = 0; j < n; j++)
        for (int p = m->start[j]; p < m->start[j + 1]; p++) {
            int i = m->row[p];
            if (sc == 1) {
                r[i] -= m->value[p] * x[j];
                s[i] += fabs(m->value[p] * x[j]);
            } else {
                const double *a = m->value + 2 * p, *c = x + 2 * j;
                r[2 * i] -= a[0] * c[0] - a[1] * c[1];
                r[2 * i + 1] -= a[0] * c[1] + a[1] * c[0];
                s[i] += hypot(a[0], a[1]) * hypot(c[0], c[1]);
            }
        }
    for (int i = 0; i < n; i++) size = s[i] > size ? s[i] : size;
    for (int i = 0; i < n * sc; i++)
        if (!(fabs(r[i]) / size <= worst)) worst = fabs(r[i]) / size;
    free(r);
    free(s);
    return worst;
}

/* Solves for a random right-hand side, checks the residual, compares with the dense solution. */
static void check_solve(const matrix *m, factors *f, int compare) {
    int length = m->n * m->scalar;
    double *b = malloc(sizeof(double) * (size_t)length), *x = malloc(sizeof(double) * (size_t)length);
    double *reference = malloc(sizeof(double) * (size_t)length);
    for (int i = 0; i < length; i++) x[i] = b[i] = uniform();
    pl_sparse_solve(f->s, x);
    CHECK(residual(m, x, b) < 1e-9);
    if (compare && dense_solve(m, b, reference)) {
        double error = 0.0, size = 0.0, own = residual(m, reference, b);
        for (int i = 0; i < length; i++) {
            if (!(fabs(x[i] - reference[i]) <= error)) error = fabs(x[i] - reference[i]);
            if (fabs(reference[i]) > size) size = fabs(reference[i]);
        }
        CHECK(own < 1e-9);
        CHECK(error <= 1e-5 * size);
    }
    free(b);
    free(x);
    free(reference);
}

/* ---------------------------------------------------------------------------------------------- tests */

static void test_random(void) {
    static const int sizes[] = {1, 2, 3, 5, 8, 13, 20, 33, 50, 75, 110};
    static const double extras[] = {0.0, 0.7, 1.5, 3.0, 6.0, 20.0};
    for (int q = 0; q < 11; q++)
        for (int e = 0; e < 6; e++)
            for (int kind = 0; kind < 4; kind++) {
                matrix m = random_matrix(sizes[q], 1 + kind / 2, extras[e], kind % 2);
                factors f;
                int bad = -1;
                analyse(&f, &m);
                CHECK(f.plan.structural_rank == m.n && f.plan.unmatched == -1);
                open_factors(&f, &m, 4 * (f.plan.n_lower + f.plan.n_upper) + 10000);
                CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
                CHECK(pl_sparse_pivotings(f.s) == 1);
                check_solve(&m, &f, 1);
                for (int again = 0; again < 3; again++) {
                    for (int p = 0; p < m.start[m.n] * m.scalar; p++)
                        m.value[p] = again < 2 ? m.value[p] * (1.0 + 0.3 * uniform()) : uniform();
                    CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
                    check_solve(&m, &f, 1);
                }
                close_factors(&f);
                free_matrix(&m);
            }
}

/* With a strong matched diagonal no other pivot is taken and the plan bounds the entries; on a symmetric
 * pattern it is what columns need exactly: one entry less and they do not fit. */
static void test_plan(void) {
    for (int n = 2; n <= 60; n += 7) {
        char *table = calloc((size_t)n * (size_t)n, 1);
        for (int j = 0; j < n; j++) table[j + j * n] = 1;
        for (int q = 0; q < (2 + n / 10) * n; q++) {
            int i = below(n), j = below(n);
            table[i + j * n] = table[j + i * n] = 1;
        }
        matrix m = from_table(n, 1, table);
        for (int j = 0; j < n; j++)
            for (int p = m.start[j]; p < m.start[j + 1]; p++)
                if (m.row[p] == j) m.value[p] = 100.0;
        factors f;
        int bad = -1;
        analyse(&f, &m);
        for (int k = 0; k < n; k++) CHECK(f.row_order[k] == f.column_order[k]);
        int64_t entries = f.plan.n_lower + f.plan.n_upper;
        open_factors(&f, &m, entries);
        CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
        CHECK(pl_sparse_entries(f.s) >= entries);
        check_solve(&m, &f, 1);
        free(f.memory);
        open_factors(&f, &m, entries - 1);
        CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_MEMORY ||
              pl_sparse_entries(f.s) >= entries);
        close_factors(&f);
        free_matrix(&m);
        free(table);
    }
}

/* A diagonal of 1e-9 forces pivots off it. */
static void test_off_diagonal(void) {
    for (int scalar = 1; scalar <= 2; scalar++) {
        matrix m = grid(7, scalar);
        factors f;
        int bad = -1;
        for (int j = 0; j < m.n; j++)
            for (int p = m.start[j]; p < m.start[j + 1]; p++)
                for (int q = 0; q < scalar; q++) m.value[p * scalar + q] = m.row[p] == j ? 1e-9 : uniform();
        analyse(&f, &m);
        open_factors(&f, &m, 10 * (f.plan.n_lower + f.plan.n_upper));
        CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
        check_solve(&m, &f, 1);
        CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
        CHECK(pl_sparse_pivotings(f.s) == 1);
        check_solve(&m, &f, 1);
        close_factors(&f);
        free_matrix(&m);
    }
}

static void test_singular(void) {
    int n = 12, bad = -1;
    char *table = calloc(144, 1);
    for (int j = 0; j < n; j++) table[j + j * n] = table[(j + 1) % n + j * n] = 1;
    for (int i = 0; i < n; i++) table[i + 5 * n] = 0; /* column 5 empty */
    matrix m = from_table(n, 1, table);
    factors f;
    analyse(&f, &m);
    CHECK(f.plan.structural_rank == n - 1 && f.plan.unmatched == 5);
    open_factors(&f, &m, 1000);
    CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_SINGULAR && bad == 5);
    double b[12] = {1.0};
    pl_sparse_solve(f.s, b);
    CHECK(b[0] != b[0]); /* no factors: NaN, not a number that looks like a result */
    close_factors(&f);
    free_matrix(&m);
    free(table);

    m = grid(5, 1); /* column 7 numerically zero, then repaired */
    analyse(&f, &m);
    open_factors(&f, &m, 4 * (f.plan.n_lower + f.plan.n_upper));
    double keep[5];
    int first = m.start[7], count = m.start[8] - first;
    memcpy(keep, m.value + first, sizeof(double) * (size_t)count);
    for (int p = 0; p < count; p++) m.value[first + p] = 0.0;
    bad = -1;
    CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_SINGULAR && bad == 7);
    memcpy(m.value + first, keep, sizeof(double) * (size_t)count);
    CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
    check_solve(&m, &f, 1);
    for (int p = 0; p < count; p++) m.value[first + p] = 0.0; /* now met while refactorising */
    bad = -1;
    CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_SINGULAR && bad == 7);
    close_factors(&f);
    free_matrix(&m);
}

static void test_nonfinite(void) {
    for (int scalar = 1; scalar <= 2; scalar++) {
        matrix m = grid(9, scalar);
        factors f;
        int bad = -1, at = m.start[20] * scalar;
        double keep = m.value[at], worst[3] = {NAN, INFINITY, -INFINITY};
        analyse(&f, &m);
        open_factors(&f, &m, 2 * (f.plan.n_lower + f.plan.n_upper));
        for (int round = 0; round < 2; round++) {
            for (int q = 0; q < 3; q++) {
                m.value[at] = worst[q];
                bad = -1;
                CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_SINGULAR && bad == 20);
            }
            m.value[at] = keep;
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            check_solve(&m, &f, 1);
        }
        for (int p = 0; p < m.start[m.n] * scalar; p++) m.value[p] = uniform() < 0.0 ? 1e308 : 1e-308;
        (void)pl_sparse_factor(f.s, &m.pattern, m.value, &bad); /* any answer, but an answer */
        close_factors(&f);
        free_matrix(&m);
    }
}

/* The diagonal that was large becomes tiny: refactorisation would lose everything, pivoting must step in. */
static void test_growth(void) {
    for (int scalar = 1; scalar <= 2; scalar++)
        for (int size = 3; size <= 40; size += 37) {
            matrix m = grid(size, scalar);
            factors f;
            int bad = -1;
            analyse(&f, &m);
            open_factors(&f, &m, 12 * (f.plan.n_lower + f.plan.n_upper));
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            CHECK(pl_sparse_pivotings(f.s) == 1);
            double *keep = malloc(sizeof(double) * (size_t)(m.start[m.n] * scalar));
            memcpy(keep, m.value, sizeof(double) * (size_t)(m.start[m.n] * scalar));
            for (int j = 0; j < m.n; j += 3)
                for (int p = m.start[j]; p < m.start[j + 1]; p++)
                    for (int q = 0; q < scalar && m.row[p] == j; q++) m.value[p * scalar + q] = 1e-13;
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            CHECK(pl_sparse_pivotings(f.s) == 2);
            check_solve(&m, &f, size < 10);
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            CHECK(pl_sparse_pivotings(f.s) == 2);
            check_solve(&m, &f, size < 10);
            memcpy(m.value, keep, sizeof(double) * (size_t)(m.start[m.n] * scalar));
            pl_sparse_forget(f.s);
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            CHECK(pl_sparse_pivotings(f.s) == 3);
            check_solve(&m, &f, size < 10);
            free(keep);
            close_factors(&f);
            free_matrix(&m);
        }
}

/* A copy of the block at another address gives the same bits, also when it refactorises. */
static void test_copy(void) {
    for (int kind = 0; kind < 4; kind++) {
        matrix m = kind < 2 ? grid(40, 1 + kind % 2) : random_matrix(60, 1 + kind % 2, 2.0, 0);
        factors f;
        int bad = -1, length = m.n * m.scalar;
        analyse(&f, &m);
        open_factors(&f, &m, 4 * (f.plan.n_lower + f.plan.n_upper));
        CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
        double *b = malloc(sizeof(double) * (size_t)length), *c = malloc(sizeof(double) * (size_t)length);
        for (int i = 0; i < length; i++) b[i] = c[i] = uniform();
        char *other = malloc(f.size + 64); /* and at another alignment */
        memcpy(other + 8, f.memory, f.size);
        memset(f.memory, 0, f.size);
        pl_sparse *copy = (pl_sparse *)(void *)(other + 8);
        pl_sparse_solve(copy, b);
        memcpy(f.memory, copy, f.size);
        memset(other, 0, f.size + 64);
        pl_sparse_solve(f.s, c);
        CHECK(memcmp(b, c, sizeof(double) * (size_t)length) == 0);
        memcpy(other + 24, f.memory, f.size);
        copy = (pl_sparse *)(void *)(other + 24);
        for (int p = 0; p < m.start[m.n] * m.scalar; p++) m.value[p] *= 1.0 + 0.01 * uniform();
        CHECK(pl_sparse_factor(copy, &m.pattern, m.value, &bad) == PL_OK);
        CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
        pl_sparse_solve(copy, b);
        pl_sparse_solve(f.s, c);
        CHECK(memcmp(b, c, sizeof(double) * (size_t)length) == 0);
        free(other);
        free(b);
        free(c);
        close_factors(&f);
        free_matrix(&m);
    }
}

static void test_memory(void) {
    for (int scalar = 1; scalar <= 2; scalar++) {
        matrix m = grid(8, scalar);
        factors f;
        int bad = -7, tries = 0;
        for (int p = 0; p < m.start[m.n] * scalar; p++) m.value[p] = uniform(); /* pivots off the diagonal */
        analyse(&f, &m);
        int64_t n_lu = (f.plan.n_lower + f.plan.n_upper) / 4;
        pl_status status = PL_MEMORY;
        for (f.memory = NULL; status == PL_MEMORY && tries < 20; tries++) {
            free(f.memory);
            open_factors(&f, &m, n_lu);
            status = pl_sparse_factor(f.s, &m.pattern, m.value, &bad);
            if (status == PL_MEMORY) {
                CHECK(bad == -7 && pl_sparse_needed(f.s) > n_lu);
                CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_MEMORY);
                n_lu = pl_sparse_needed(f.s);
            }
        }
        CHECK(status == PL_OK && tries > 1 && tries < 6);
        check_solve(&m, &f, 1);
        CHECK(pl_sparse_init(f.memory, f.size - 1, &m.pattern, scalar, n_lu, f.row_order, f.column_order) ==
              NULL);
        close_factors(&f);
        free_matrix(&m);
    }
}

/* Dense rows, dense columns, arrows, and an order that is not a postorder. */
static void test_shapes(void) {
    int n = 400, bad = -1;
    char *table = calloc((size_t)n * (size_t)n, 1);
    for (int j = 0; j < n; j++) {
        table[j + j * n] = table[(j + 1) % n + j * n] = table[j * n + n / 2] = 1;
        if (j % 2) table[j] = 1;
    }
    for (int order = 0; order < 3; order++)
        for (int scalar = 1; scalar <= 2; scalar++) {
            matrix m = order < 2 ? from_table(n, scalar, table) : grid(20, scalar);
            for (int j = 0; j < n && order < 2; j++)
                for (int p = m.start[j]; p < m.start[j + 1]; p++)
                    if (m.row[p] == j) m.value[p * scalar] += 30.0;
            factors f;
            analyse(&f, &m);
            if (order > 0) /* natural order */
                for (int k = 0; k < n; k++) f.row_order[k] = f.column_order[k] = k;
            open_factors(&f, &m, (int64_t)n * n);
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            check_solve(&m, &f, 1);
            CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
            CHECK(pl_sparse_pivotings(f.s) == 1);
            check_solve(&m, &f, 1);
            close_factors(&f);
            free_matrix(&m);
        }
    free(table);
}

static void test_grid(void) {
    for (int scalar = 1; scalar <= 2; scalar++)
        for (int size = 30; size <= 100; size += 35) {
            matrix m = grid(size, scalar);
            factors f;
            int bad = -1;
            analyse(&f, &m);
            open_factors(&f, &m, f.plan.n_lower + f.plan.n_upper); /* the plan's count is enough */
            for (int round = 0; round < 2; round++) {
                CHECK(pl_sparse_factor(f.s, &m.pattern, m.value, &bad) == PL_OK);
                int length = m.n * scalar;
                double *b = malloc(sizeof(double) * (size_t)length),
                       *x = malloc(sizeof(double) * (size_t)length);
                for (int i = 0; i < length; i++) x[i] = b[i] = uniform();
                pl_sparse_solve(f.s, x);
                CHECK(residual(&m, x, b) < 1e-14);
                free(b);
                free(x);
            }
            CHECK(pl_sparse_pivotings(f.s) == 1);
            close_factors(&f);
            free_matrix(&m);
        }
}

int main(void) {
    test_random();
    test_plan();
    test_off_diagonal();
    test_singular();
    test_nonfinite();
    test_growth();
    test_copy();
    test_memory();
    test_shapes();
    test_grid();
    printf("test_lu_sparse: %d checks, %d failed\n", n_checks, n_failed);
    return n_failed > 0;
}
