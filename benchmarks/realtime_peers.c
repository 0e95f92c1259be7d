/* Peers of the real-time step, timed in C so that no call from Python counts.
 *
 *   dense   LAPACK's dgesv on a dense matrix
 *   klu     klu_refactor and klu_solve of SuiteSparse, loaded at run time
 *   step    the same linearly implicit Euler step from the model's compiled f and Jacobian with dgesv
 *
 * LAPACK comes as a pointer from SciPy. KLU's structs stay opaque: only its documented functions are called. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

typedef void (*gesv_call)(int *n, int *right, double *a, int *lda, int *pivot, double *b, int *ldb, int *info);
typedef int (*rhs_call)(void *self, double t, const double *x, const double *u, double *f);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds per factorisation and solution of `count` matrices (n x n, column-major), `rounds` times over. */
double time_dense(gesv_call gesv, int n, int count, const double *matrices, const double *right, int rounds,
                  double *work, int *pivot, double *x) {
    int one = 1, info = 0;
    double begin = now();
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < count; k++) {
            memcpy(work, matrices + (size_t)k * n * n, sizeof(double) * n * n);
            memcpy(x, right, sizeof(double) * n);
            gesv(&n, &one, work, &n, pivot, x, &n, &info);
            if (info) return -1.0;
        }
    return (now() - begin) / ((double)rounds * count);
}

/* The same with klu_refactor on a fixed order found at the first matrix; negative: KLU is missing or fails. */
double time_klu(const char *library, int n, int *start, int *row, int count, double *values, const double *right,
                int rounds, double *x) {
    static double common[1024];
    void *h = dlopen(library, RTLD_NOW);
    if (!h) return -1.0;
    int (*defaults)(void *);
    void *(*analyze)(int, int *, int *, void *);
    void *(*factor)(int *, int *, double *, void *, void *);
    int (*refactor)(int *, int *, double *, void *, void *, void *);
    int (*solve)(void *, void *, int, int, double *, void *);
    *(void **)&defaults = dlsym(h, "klu_defaults");
    *(void **)&analyze = dlsym(h, "klu_analyze");
    *(void **)&factor = dlsym(h, "klu_factor");
    *(void **)&refactor = dlsym(h, "klu_refactor");
    *(void **)&solve = dlsym(h, "klu_solve");
    if (!defaults || !analyze || !factor || !refactor || !solve) return -2.0;
    defaults(common);
    void *symbolic = analyze(n, start, row, common);
    void *numeric = symbolic ? factor(start, row, values, symbolic, common) : NULL;
    if (!numeric) return -3.0;
    double begin = now();
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < count; k++) {
            if (!refactor(start, row, values + (size_t)k * start[n], symbolic, numeric, common)) return -4.0;
            memcpy(x, right, sizeof(double) * n);
            solve(symbolic, numeric, n, 1, x, common);
        }
    return (now() - begin) / ((double)rounds * count);
}

/* Seconds per step of x' = f from the model's own functions; x is carried on. */
double time_step(rhs_call rhs, rhs_call jac, void *self, gesv_call gesv, int n, const int *start, const int *row,
                 double tau, int n_steps, const double *u, double *x, double *work, int *pivot, double *value,
                 double *d) {
    int one = 1, info = 0;
    double begin = now();
    for (int k = 0; k < n_steps; k++) {
        double t = (k + 1) * tau;
        rhs(self, t, x, u, d);
        jac(self, t, x, u, value);
        memset(work, 0, sizeof(double) * n * n);
        for (int j = 0; j < n; j++) {
            work[(size_t)j * n + j] = 1.0;
            for (int e = start[j]; e < start[j + 1]; e++) work[(size_t)j * n + row[e]] -= tau * value[e];
        }
        for (int i = 0; i < n; i++) d[i] *= tau;
        gesv(&n, &one, work, &n, pivot, d, &n, &info);
        if (info) return -1.0;
        for (int i = 0; i < n; i++) x[i] += d[i];
    }
    return (now() - begin) / n_steps;
}
