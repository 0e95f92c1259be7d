/* Times of the sparse LU: prints, asserts nothing. Least time over repeats, one thread.
 * Matrices: five-point Laplacian plus identity on square grids, an advection-diffusion-reaction chain with
 * several species per cell (block tridiagonal), and a circuit-like random pattern with zeros on its diagonal.
 */
#define _POSIX_C_SOURCE 199309L
#include "pliant.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint64_t seed = 88172645463325252ULL;

static double uniform(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0;
}

typedef struct matrix {
    pl_pattern pattern;
    int *start, *row;
    double *value; /* interleaved, imaginary parts last used for complex only */
} matrix;

static matrix new_matrix(int n, int entries) {
    matrix m = {{n, n, NULL, NULL},
                malloc(sizeof(int) * (size_t)(n + 1)),
                malloc(sizeof(int) * (size_t)entries),
                malloc(sizeof(double) * 2 * (size_t)entries)};
    m.pattern.start = m.start;
    m.pattern.row = m.row;
    return m;
}

static void fill_values(matrix *m, int scalar) {
    for (int j = 0; j < m->pattern.n_cols; j++)
        for (int p = m->start[j]; p < m->start[j + 1]; p++) {
            int diagonal = m->row[p] == j;
            m->value[scalar * p] = diagonal ? 5.0 : -1.0 + 0.1 * uniform();
            if (scalar == 2) m->value[2 * p + 1] = diagonal ? 2.0 : 0.0;
        }
}

static matrix grid(int m) {
    int n = m * m, at = 0;
    matrix a = new_matrix(n, 5 * n);
    for (int j = 0; j < n; j++) {
        int x = j % m, y = j / m;
        a.start[j] = at;
        if (y > 0) a.row[at++] = j - m;
        if (x > 0) a.row[at++] = j - 1;
        a.row[at++] = j;
        if (x < m - 1) a.row[at++] = j + 1;
        if (y < m - 1) a.row[at++] = j + m;
    }
    a.start[n] = at;
    return a;
}

static matrix chain(int cells, int species) {
    int n = cells * species, at = 0;
    matrix a = new_matrix(n, n * (species + 2));
    for (int j = 0; j < n; j++) {
        int cell = j / species;
        a.start[j] = at;
        if (cell > 0) a.row[at++] = j - species;
        for (int q = 0; q < species; q++) a.row[at++] = cell * species + q;
        if (cell < cells - 1) a.row[at++] = j + species;
    }
    a.start[n] = at;
    return a;
}

static matrix circuit(int n) {
    matrix a = new_matrix(n, 6 * n);
    char *table = calloc((size_t)n * (size_t)n, 1);
    int at = 0;
    for (int j = 0; j < n; j++) {
        table[(j % 5 ? j : (j + 5) % n) + j * n] = 1;
        for (int q = 0; q < 2; q++) {
            int i = (j + (int)((uniform() + 1.0) * 6.0) + 1) % n;
            table[i + j * n] = table[j + i * n] = 1;
        }
    }
    for (int j = 0; j < n; j++) {
        a.start[j] = at;
        for (int i = 0; i < n; i++)
            if (table[i + j * n] && at < 6 * n) a.row[at++] = i;
    }
    a.start[n] = at;
    free(table);
    return a;
}

static void bench(const char *name, matrix *m, int scalar) {
    int n = m->pattern.n_cols, repeats = n > 2000 ? 30 : n > 300 ? 300 : 3000, bad = -1;
    size_t work_size = pl_sparse_analyse_size(n, m->start[n]);
    void *work = malloc(work_size);
    int *row_order = malloc(sizeof(int) * (size_t)n), *column_order = malloc(sizeof(int) * (size_t)n);
    double *b = malloc(sizeof(double) * 2 * (size_t)n);
    double t_analyse = 1e9, t_init = 1e9, t_first = 1e9, t_factor = 1e9, t_solve = 1e9;
    pl_sparse_plan plan = {0, 0, 0, 0, 0, 0};
    fill_values(m, scalar);
    for (int r = 0; r < 5; r++) {
        double t = now();
        if (pl_sparse_analyse(&m->pattern, row_order, column_order, &plan, work, work_size) != PL_OK) return;
        t = now() - t;
        t_analyse = t < t_analyse ? t : t_analyse;
    }
    int64_t n_lu = 2 * (plan.n_lower + plan.n_upper) + 100;
    size_t size = pl_sparse_size(&m->pattern, scalar, n_lu);
    void *memory = malloc(size);
    pl_sparse *s = NULL;
    for (int r = 0; r < 5; r++) {
        double t = now();
        s = pl_sparse_init(memory, size, &m->pattern, scalar, n_lu, row_order, column_order);
        double u = now();
        pl_status status = pl_sparse_factor(s, &m->pattern, m->value, &bad);
        double v = now();
        if (status != PL_OK) {
            printf("%-10s n %6d: status %d, column %d\n", name, n, (int)status, bad);
            return;
        }
        t_init = u - t < t_init ? u - t : t_init;
        t_first = v - u < t_first ? v - u : t_first;
    }
    for (int r = 0; r < repeats; r++) {
        for (int i = 0; i < 2 * n; i++) b[i] = 1.0;
        double t = now();
        (void)pl_sparse_factor(s, &m->pattern, m->value, &bad);
        double u = now();
        pl_sparse_solve(s, b);
        double v = now();
        t_factor = u - t < t_factor ? u - t : t_factor;
        t_solve = v - u < t_solve ? v - u : t_solve;
    }
    printf(
        "%-10s %-7s n %6d plan %8lld stored %8lld | ms: analyse %8.4f init %8.4f first %8.4f refactor %8.4f "
        "solve %8.4f | Gflop/s %.2f\n",
        name, scalar == 1 ? "real" : "complex", n, (long long)(plan.n_lower + plan.n_upper),
        (long long)pl_sparse_entries(s), 1e3 * t_analyse, 1e3 * t_init, 1e3 * t_first, 1e3 * t_factor,
        1e3 * t_solve, 1e-9 * (double)plan.flops * (scalar == 2 ? 4.0 : 1.0) / t_factor);
    free(work);
    free(row_order);
    free(column_order);
    free(b);
    free(memory);
}

int main(void) {
    static const int grids[] = {5, 10, 15, 22, 32, 50, 70, 100, 200};
    for (int scalar = 1; scalar <= 2; scalar++) {
        for (int g = 0; g < 9; g++) {
            matrix m = grid(grids[g]);
            bench("grid", &m, scalar);
            free(m.start), free(m.row), free(m.value);
        }
        for (int species = 2; species <= 20; species += 9)
            for (int cells = 10; cells <= 400; cells *= 6) {
                matrix m = chain(cells, species);
                bench("chain", &m, scalar);
                free(m.start), free(m.row), free(m.value);
            }
        for (int n = 30; n <= 3000; n *= 10) {
            matrix m = circuit(n);
            bench("circuit", &m, scalar);
            free(m.start), free(m.row), free(m.value);
        }
    }
    return 0;
}
