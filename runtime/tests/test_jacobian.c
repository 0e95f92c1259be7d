/* Difference Jacobians: second looks at increments, wrong patterns, bounds, and a source that gives no numbers. */
#include "pliant.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A problem with its linear algebra, ready for pl_jacobian. */
typedef struct bench {
    pl_counters count;
    pl_problem problem;
    pl_real *atol;
    void *memory;
} bench;

static void open_bench(bench *b, const pl_model *m, const pl_linear_options *want) {
    pl_linear_layout layout;
    void *work = malloc(pl_linear_work_size(m));
    memset(b, 0, sizeof *b);
    CHECK(pl_linear_plan(m, want, &layout, work) == PL_OK);
    b->memory = malloc(layout.size);
    b->atol = malloc(sizeof(pl_real) * (size_t)m->n_x);
    for (int i = 0; i < m->n_x; i++) b->atol[i] = 1e-8;
    b->problem.model = m;
    b->problem.rtol = 1e-6;
    b->problem.atol = b->atol;
    b->problem.count = &b->count;
    b->problem.linear = pl_linear_init(b->memory, m, want, &layout, work);
    free(work);
}

static void close_bench(bench *b) {
    free(b->memory), free(b->atol);
}

/* ------------------------------------------------------------------------------------------- second looks */

/* f falls by 1 within 3e-9 of x = 1: an increment of sqrt(U) does not see the slope there. */
static pl_status bend_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = -tanh((x[0] - 1.0) / 3e-9);
    return PL_OK;
}
static const pl_real one[1] = {1.0};
static const pl_model bend = {.abi = PL_ABI, .n_x = 1, .x_start = one, .rhs = bend_rhs};

static void test_second_look(void) {
    bench b;
    pl_real x[1] = {1.0}, f[1];
    int changed = -1;
    const pl_linear_options want = {.storage = PL_DENSE};
    open_bench(&b, &bend, &want);
    int64_t limits[1] = {0}, errors[1] = {0}, newton[1] = {0}, zero[1] = {0};
    pl_real largest[1] = {0.0};
    pl_incident incident[1];
    pl_record record = {1, limits, errors, newton, zero, largest, {0}, 1, 0, incident, NULL, NULL};
    pl_problem *p = &b.problem;
    p->record = &record;
    CHECK(pl_rhs(p, 0.0, x, f) == PL_OK);
    CHECK(pl_jacobian(p, 0.0, x, f, 0.0) == PL_OK);
    pl_real before = pl_linear_jacobian(p->linear, NULL)[0], sigma = pl_linear_increments(p->linear)[0];
    CHECK(fabs(before) < 1e8);
    CHECK(pl_jacobian_again(p, 0.0, x, &changed) == PL_OK);
    CHECK(changed == 1 && b.count.n_rediff == 1);
    CHECK(pl_linear_increments(p->linear)[0] == sigma / 128.0);
    CHECK(fabs(pl_linear_jacobian(p->linear, NULL)[0] * 3e-9 + 1.0) < 1e-2);
    CHECK(record.seen[PL_SAW_REPAIRED] == 1 && record.used == 1); /* there was room for the Jacobian only */
    CHECK(pl_jacobian(p, 0.0, x, f, 0.0) == PL_OK);               /* learned */
    CHECK(pl_linear_increments(p->linear)[0] == sigma / 128.0);
    pl_jacobian_vain(p); /* the look did not help */
    CHECK(pl_jacobian(p, 0.0, x, f, 0.0) == PL_OK);
    CHECK(pl_linear_increments(p->linear)[0] == sigma);
    CHECK(pl_jacobian_again(p, 0.0, x, &changed) == PL_OK && changed == 0); /* and the next one waits */
    pl_linear_reset(p->linear);
    CHECK(pl_jacobian_again(p, 0.0, x, &changed) == PL_OK);
    close_bench(&b);
}

/* ------------------------------------------------------------------------------------------------ patterns */

enum { N = 40 };
static int column[N + 1], row[3 * N];
static pl_real start[N];

static pl_status chain_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    for (int i = 0; i < N; i++)
        f[i] = (i > 0 ? x[i - 1] : 0.0) - 2.0 * x[i] + (i < N - 1 ? x[i + 1] : 0.0) - x[i] * x[i];
    return PL_OK;
}

/* The chain, but f_0 depends on the last state, too, which the pattern does not say. */
static pl_status ring_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    pl_status status = chain_rhs(self, t, x, u, f);
    f[0] += 0.5 * x[N - 1];
    return status;
}

static void test_pattern(void) {
    int at = 0;
    for (int j = 0; j < N; j++) {
        column[j] = at;
        for (int i = j > 0 ? j - 1 : 0; i <= j + 1 && i < N; i++) row[at++] = i;
        start[j] = 1.0 + 0.01 * j;
    }
    column[N] = at;
    pl_model chain = {
        .abi = PL_ABI, .n_x = N, .x_start = start, .rhs = chain_rhs, .jac = {N, N, column, row}};
    const pl_linear_options want = {.storage = PL_SPARSE, .verify = 1, .lu = &pl_sparse_table};
    pl_real f[N];
    for (int wrong = 0; wrong < 2; wrong++) {
        bench b;
        chain.rhs = wrong ? ring_rhs : chain_rhs;
        open_bench(&b, &chain, &want);
        pl_problem *p = &b.problem;
        CHECK(pl_rhs(p, 0.0, start, f) == PL_OK);
        CHECK(pl_jacobian(p, 0.0, start, f, 1e-3) == (wrong ? PL_PATTERN : PL_OK));
        if (wrong) {
            CHECK(p->failure.index == 0);
            CHECK(pl_linear_point(p->linear)[N - 1] == start[N - 1]);
            pl_linear_trust(p->linear);
            CHECK(pl_jacobian(p, 0.0, start, f, 1e-3) == PL_OK);
        }
        CHECK(b.count.n_rhs_jac == (wrong ? 6 : 3));
        close_bench(&b);
    }
}

/* ---------------------------------------------------------------------------------- bounds and no numbers */

static int outside;
static pl_status bounded_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    outside += x[0] < 0.0 || x[1] > 2.0;
    f[0] = 1.0 - 3.0 * x[0];
    f[1] = -5.0 * x[1];
    return PL_OK;
}
static pl_status no_numbers(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)x, (void)u;
    v[0] = v[1] = v[2] = v[3] = NAN;
    return PL_OK;
}

static void test_bounds_and_fallback(void) {
    static const pl_real x[2] = {0.0, 2.0}, low[2] = {0.0, -HUGE_VAL}, high[2] = {HUGE_VAL, 2.0};
    pl_model m = {.abi = PL_ABI, .n_x = 2, .x_start = x, .x_min = low, .x_max = high, .rhs = bounded_rhs};
    pl_real f[2];
    int changed;
    for (int way = 0; way < 4; way++) {
        bench b;
        m.jac_value = way < 2 ? NULL : no_numbers;
        const pl_linear_options want = {
            .central = way == 1, .source = way < 2 ? PL_SOURCE_AUTO : PL_SOURCE_EXACT, .fallback = way == 2};
        open_bench(&b, &m, &want);
        pl_problem *p = &b.problem;
        CHECK(pl_rhs(p, 0.0, x, f) == PL_OK);
        CHECK(pl_jacobian(p, 0.0, x, f, 1e-3) == (way == 3 ? PL_NONFINITE : PL_OK));
        if (way < 3) {
            const pl_real *v = pl_linear_jacobian(p->linear, NULL);
            CHECK(fabs(v[0] + 3.0) < 1e-6 && fabs(v[1]) < 1e-6 && fabs(v[2]) < 1e-6 &&
                  fabs(v[3] + 5.0) < 1e-6);
            CHECK(pl_jacobian_again(p, 0.0, x, &changed) == PL_OK && changed == 0);
        } else {
            CHECK(p->failure.what == PL_IN_JACOBIAN && p->failure.index == 0);
        }
        close_bench(&b);
    }
    CHECK(outside == 0);
}

int main(void) {
    test_second_look();
    test_pattern();
    test_bounds_and_fallback();
    printf("test_jacobian: %d checks, %d failed\n", n_checks, n_failed);
    return n_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
