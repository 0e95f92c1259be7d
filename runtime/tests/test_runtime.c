/* The runtime in plain C, as an ECU would use it: all memory from the caller, no Python anywhere.
 * Dense LU, colouring, difference Jacobians, orders of the methods, and states copied in the middle of a run.
 * Prints what failed, exits 1 if anything did. */
#include "pliant.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 88172645463325252ULL;

static double uniform(void) { /* xorshift, [-1, 1) */
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 4503599627370496.0 - 1.0;
}

/* ------------------------------------------------------------------------------------------- dense LU */

enum { MAX_N = 24, AUTO = 100 };

static void test_lu_real(void) {
    static pl_real a[MAX_N * MAX_N], lu[MAX_N * MAX_N], x[MAX_N], b[MAX_N];
    int pivot[MAX_N], bad = -1;
    for (int n = 1; n <= MAX_N; n++) {
        for (int k = 0; k < n * n; k++) a[k] = uniform();
        if (n > 2) a[0] = 0.0; /* pivoting is needed */
        for (int i = 0; i < n; i++) x[i] = uniform(), b[i] = 0.0;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) b[i] += a[i + j * n] * x[j];
        memcpy(lu, a, sizeof a);
        CHECK(pl_lu_factor(n, lu, pivot, &bad) == PL_OK);
        /* P A = L U */
        for (int k = 0; k < n; k++) {
            CHECK(pivot[k] >= k && pivot[k] < n);
            for (int j = 0; j < n; j++) {
                pl_real keep = a[k + j * n];
                a[k + j * n] = a[pivot[k] + j * n];
                a[pivot[k] + j * n] = keep;
            }
        }
        pl_real worst = 0.0;
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                pl_real sum = i <= j ? lu[i + j * n] : 0.0;
                for (int k = 0; k < (i <= j ? i : j + 1); k++) sum += lu[i + k * n] * lu[k + j * n];
                worst = fmax(worst, fabs(sum - a[i + j * n]));
            }
        CHECK(worst < 1e-13);
        pl_lu_solve(n, lu, pivot, b);
        for (int i = 0; i < n; i++) CHECK(fabs(b[i] - x[i]) < 1e-9);
    }
}

static void test_lu_complex(void) {
    static pl_real a[2 * MAX_N * MAX_N], x[2 * MAX_N], b[2 * MAX_N];
    int pivot[MAX_N], bad = -1;
    for (int n = 1; n <= MAX_N; n++) {
        for (int k = 0; k < 2 * n * n; k++) a[k] = uniform();
        if (n > 2) a[0] = a[1] = 0.0;
        for (int i = 0; i < 2 * n; i++) x[i] = uniform(), b[i] = 0.0;
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                const pl_real *c = a + 2 * (i + j * n);
                b[2 * i] += c[0] * x[2 * j] - c[1] * x[2 * j + 1];
                b[2 * i + 1] += c[0] * x[2 * j + 1] + c[1] * x[2 * j];
            }
        CHECK(pl_lu_complex_factor(n, a, pivot, &bad) == PL_OK);
        pl_lu_complex_solve(n, a, pivot, b);
        for (int i = 0; i < 2 * n; i++) CHECK(fabs(b[i] - x[i]) < 1e-9);
    }
}

static void test_lu_singular(void) {
    pl_real a[9] = {1, 2, 3, 2, 4, 6, 0, 1, 5}, z[18], nan[4] = {NAN, 1, 1, 1};
    int pivot[3], bad = -1;
    CHECK(pl_lu_factor(3, a, pivot, &bad) == PL_SINGULAR && bad == 1);
    for (int k = 0; k < 9; k++) z[2 * k] = 0.0, z[2 * k + 1] = (double[]){1, 2, 3, 2, 4, 6, 0, 1, 5}[k];
    bad = -1;
    CHECK(pl_lu_complex_factor(3, z, pivot, &bad) == PL_SINGULAR && bad == 1);
    CHECK(pl_lu_factor(2, nan, pivot, &bad) == PL_SINGULAR && bad == 0);
}

/* ------------------------------------------------------------------------------------------- colouring */

static int colour_table(int n, const char *table, int expected_at_most) {
    int *start = malloc(sizeof(int) * (size_t)(n + 1)), *row = malloc(sizeof(int) * (size_t)(n * n + 1));
    int *row_start = malloc(sizeof(int) * (size_t)(n + 1)),
        *row_column = calloc((size_t)(n * n + 1), sizeof(int));
    int *colour = malloc(sizeof(int) * (size_t)n), *work = malloc(sizeof(int) * pl_colour_work(n));
    int at = 0;
    for (int j = 0; j < n; j++) {
        start[j] = at;
        for (int i = 0; i < n; i++)
            if (table[i + j * n]) row[at++] = i;
    }
    start[n] = at;
    at = 0;
    for (int i = 0; i < n; i++) {
        row_start[i] = at;
        for (int j = 0; j < n; j++)
            if (table[i + j * n]) row_column[at++] = j;
    }
    row_start[n] = at;
    pl_pattern a = {n, n, start, row};
    int count = pl_colour(&a, row_start, row_column, colour, work), clash = 0;
    for (int j = 0; j < n; j++) {
        CHECK(colour[j] >= 0 && colour[j] < count);
        for (int k = 0; k < j; k++)
            for (int i = 0; i < n; i++)
                clash += colour[j] == colour[k] && table[i + j * n] && table[i + k * n];
    }
    CHECK(clash == 0);
    CHECK(count <= expected_at_most);
    free(start), free(row), free(row_start), free(row_column), free(colour), free(work);
    return count;
}

static void test_colour(void) {
    enum { N = 17 };
    char table[N * N];
    memset(table, 0, sizeof table);
    CHECK(colour_table(N, table, 1) == 1); /* nothing there: one colour does */
    for (int j = 0; j < N; j++) table[j + j * N] = 1;
    CHECK(colour_table(N, table, 1) == 1);
    for (int j = 1; j < N; j++) table[j - 1 + j * N] = table[j + (j - 1) * N] = 1;
    CHECK(colour_table(N, table, 3) == 3);
    for (int j = 0; j < N; j++) table[j * N] = 1; /* a full row */
    CHECK(colour_table(N, table, N) == N);
    for (int round = 0; round < 50; round++) {
        int densest = 0;
        for (int k = 0; k < N * N; k++) table[k] = uniform() > 0.7;
        for (int i = 0; i < N; i++) {
            int in_row = 0;
            for (int j = 0; j < N; j++) in_row += table[i + j * N];
            densest = in_row > densest ? in_row : densest;
        }
        CHECK(colour_table(N, table, N) >= densest);
    }
}

/* -------------------------------------------------------------------------------------------- models */

/* Van der Pol in Liénard's form; mu in the instance. Dense Jacobian. */
static pl_status vdpol_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    pl_real mu = *(pl_real *)self;
    (void)t, (void)u;
    f[0] = mu * (x[0] - x[0] * x[0] * x[0] / 3.0 - x[1]);
    f[1] = x[0] / mu;
    return PL_OK;
}
static pl_status vdpol_jac(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    pl_real mu = *(pl_real *)self;
    (void)t, (void)u;
    v[0] = mu * (1.0 - x[0] * x[0]);
    v[1] = 1.0 / mu;
    v[2] = -mu;
    v[3] = 0.0;
    return PL_OK;
}
static const pl_real vdpol_start[2] = {2.0, -2.0 / 3.0};
static const pl_model vdpol = {
    .abi = PL_ABI, .n_x = 2, .x_start = vdpol_start, .rhs = vdpol_rhs, .jac_value = vdpol_jac};

/* Reaction and diffusion on a line, x_i' = 20 (x_{i-1} - 2 x_i + x_{i+1}) + x_i (1 - x_i^2) + sin t; with
 * pattern and without Jacobian: differences. Roots: x_0 and the middle; updates change nothing. */
enum { LINE = 60 };
static int line_column[LINE + 1], line_row[3 * LINE];
static pl_real line_start[LINE];
static pl_status line_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    for (int i = 0; i < LINE; i++) {
        pl_real left = i > 0 ? x[i - 1] : 0.0, right = i < LINE - 1 ? x[i + 1] : 0.0;
        f[i] = 20.0 * (left - 2.0 * x[i] + right) + x[i] * (1.0 - x[i] * x[i]) + sin(t);
    }
    return PL_OK;
}
static pl_status line_roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    (void)self, (void)t, (void)u;
    g[0] = x[0];
    g[1] = x[LINE / 2] - 0.5;
    return PL_OK;
}
static pl_model line = {.abi = PL_ABI, .n_x = LINE, .n_roots = 2, .rhs = line_rhs, .roots = line_roots};

static void make_line(void) {
    int at = 0;
    for (int j = 0; j < LINE; j++) {
        line_column[j] = at;
        for (int i = j > 0 ? j - 1 : 0; i <= j + 1 && i < LINE; i++) line_row[at++] = i;
        line_start[j] = sin(3.0 * j / LINE);
    }
    line_column[LINE] = at;
    line.x_start = line_start;
    line.jac = (pl_pattern){LINE, LINE, line_column, line_row};
}

/* x' = -x + z, 0 = x + z - 2 cos t; exact: x = (4 cos t + 2 sin t + exp(-2t))/5. With pattern. */
static pl_status dae_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    f[0] = -x[0] + x[1];
    f[1] = x[0] + x[1] - 2.0 * cos(t);
    return PL_OK;
}
static pl_status dae_jac(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)self, (void)t, (void)x, (void)u;
    v[0] = -1.0, v[1] = 1.0, v[2] = 1.0, v[3] = 1.0;
    return PL_OK;
}
static const pl_real dae_start[2] = {1.0, 1.0}, dae_mass[1] = {1.0};
static const int dae_mass_column[3] = {0, 1, 1}, dae_mass_row[1] = {0}, full_column[3] = {0, 2, 4},
                 full_row[4] = {0, 1, 0, 1};
static const pl_model dae = {.abi = PL_ABI,
                             .n_x = 2,
                             .x_start = dae_start,
                             .mass = {2, 2, dae_mass_column, dae_mass_row},
                             .mass_value = dae_mass,
                             .jac = {2, 2, full_column, full_row},
                             .rhs = dae_rhs,
                             .jac_value = dae_jac};

/* ------------------------------------------------------------------------------- a run and its copies */

enum { POINTS = 101 };

typedef struct setting {
    const pl_model *model;
    void *self;
    int method, storage;
    pl_real t_stop, rtol, atol, h_first, h_max, h_fixed;
    double lu_room;
    int order_max;
} setting;

typedef struct simulation {
    const setting *of;
    pl_run *run;
    void *method, *linear;
    size_t run_size, method_size, linear_size;
    pl_counters count;
    pl_problem problem;
    pl_output out;
    pl_real *atol, *point, *row;
    int *index;
    pl_real u[1];
} simulation;

static int shift; /* blocks lie at other addresses, and not always at multiples of 16 */

static void *block(size_t size) {
    char *memory = malloc(size + 64);
    memset(memory, 0xa5, size + 64);
    return memory + 8 * (shift % 4);
}
static void give(void *memory) {
    if (memory) free((char *)memory - 8 * (shift % 4));
}

static void make_linear(simulation *s, double room) {
    const pl_linear_options want = {
        .storage = s->of->storage, .need_complex = 1, .lu_room = room, .lu = &pl_sparse_table};
    pl_linear_layout layout;
    void *work = malloc(pl_linear_work_size(s->of->model) + 8);
    CHECK(pl_linear_plan(s->of->model, &want, &layout, work) == PL_OK);
    CHECK(s->of->storage == PL_AUTO || layout.sparse == (s->of->storage == PL_SPARSE));
    s->linear_size = layout.size;
    s->linear = block(layout.size);
    CHECK(pl_linear_init(s->linear, s->of->model, &want, &layout, work) != NULL);
    s->problem.linear = s->linear;
    free(work);
}

/* Memory that does not hold state but is pointed at. */
static void furnish(simulation *s) {
    int n = s->of->model->n_x;
    s->atol = block(sizeof(pl_real) * (size_t)n);
    s->point = block(sizeof(pl_real) * POINTS);
    s->row = block(sizeof(pl_real) * (POINTS + 1) * (size_t)(n + 1)); /* one where an event may end it */
    s->index = block(sizeof(int) * (size_t)n);
    for (int i = 0; i < n; i++) s->atol[i] = s->of->atol, s->index[i] = i;
    for (int k = 0; k < POINTS; k++)
        s->point[k] = k == POINTS - 1 ? s->of->t_stop : s->of->t_stop * k / (POINTS - 1);
    s->problem.model = s->of->model;
    s->problem.self = s->of->self;
    s->problem.u = s->u;
    s->problem.rtol = s->of->rtol;
    s->problem.atol = s->atol;
    s->problem.linear = s->linear;
    s->problem.count = &s->count;
    s->out.n_points = POINTS;
    s->out.point = s->point;
    s->out.n_x = n;
    s->out.x_index = s->index;
    s->out.capacity = POINTS + 1;
    s->out.row = s->row;
}

static void open_run(simulation *s, const setting *of) {
    memset(s, 0, sizeof *s);
    s->of = of;
    furnish(s);
    const pl_method *method = of->method == AUTO ? &pl_bdf_method : pl_method_of(of->method);
    if (method->implicit) make_linear(s, of->lu_room);
    pl_run_options opt = {.method = method,
                          .other = of->method == AUTO ? &pl_radau5_method : NULL,
                          .method_options = {of->h_first, of->h_max, of->h_fixed, of->order_max},
                          .root_samples = 4};
    s->run_size = pl_run_size(of->model);
    s->method_size = pl_run_method_size(&opt, of->model->n_x);
    s->run = block(s->run_size);
    s->method = block(s->method_size);
    CHECK(pl_run_init(s->run, &s->problem, &opt, 0.0, of->t_stop, of->model->x_start, HUGE_VAL) == PL_OK);
}

static void close_run(simulation *s) {
    give(s->run), give(s->method), give(s->linear), give(s->atol), give(s->point), give(s->row),
        give(s->index);
}

/* All state to other addresses; the old memory is destroyed. */
static void move_run(simulation *to, simulation *from) {
    int old = shift;
    simulation before = *from;
    shift++;
    *to = before;
    furnish(to);
    memcpy(to->row, before.row, sizeof(pl_real) * (size_t)before.out.used * (size_t)(before.out.n_x + 1));
    to->run = memcpy(block(before.run_size), before.run, before.run_size);
    to->method = memcpy(block(before.method_size), before.method, before.method_size);
    if (before.linear) to->linear = memcpy(block(before.linear_size), before.linear, before.linear_size);
    to->problem.linear = to->linear;
    shift = old;
    memset(before.run, 0xff, before.run_size);
    memset(before.method, 0xff, before.method_size);
    if (before.linear) memset(before.linear, 0xff, before.linear_size);
    close_run(&before);
    shift = old + 1;
}

static pl_status advance(simulation *s, int64_t steps) {
    int64_t until = s->count.n_steps + steps;
    for (;;) {
        pl_status status = pl_run_advance(s->run, &s->problem, s->method, &s->out, until - s->count.n_steps);
        if (status == PL_MEMORY) {
            void *old = s->linear;
            make_linear(s, 1.3);
            give(old);
            pl_run_relinearise(s->run, s->method);
        } else if (status != PL_EVENT) {
            return status;
        }
        if (s->count.n_steps >= until) return PL_PAUSED;
    }
}

static int same(const simulation *a, const simulation *b) {
    size_t bytes = sizeof(pl_real) * (size_t)a->out.used * (size_t)(a->out.n_x + 1);
    return a->out.used == b->out.used && memcmp(&a->count, &b->count, sizeof a->count) == 0 &&
           memcmp(a->row, b->row, bytes) == 0 && a->run->handovers == b->run->handovers;
}

static const int64_t ALL = (int64_t)1 << 40;

/* Moved once after `steps` steps, or after every `steps` steps. Returns the number of steps; *handovers. */
static void check_moves(const char *what, const setting *of, int *handovers) {
    simulation whole, moved, next;
    int failed_before = n_failed;
    open_run(&whole, of);
    CHECK(advance(&whole, ALL) == PL_FINISHED);
    CHECK(whole.out.used == POINTS);
    int64_t n_steps = whole.count.n_steps, cuts[] = {1, 2, n_steps / 3, n_steps / 2, n_steps - 1};
    int whole_shift = shift;
    for (size_t c = 0; c < sizeof cuts / sizeof *cuts; c++) {
        if (cuts[c] < 1) continue;
        shift = whole_shift;
        open_run(&moved, of);
        CHECK(advance(&moved, cuts[c]) == PL_PAUSED);
        move_run(&next, &moved);
        CHECK(advance(&next, ALL) == PL_FINISHED);
        CHECK(same(&whole, &next));
        close_run(&next);
    }
    shift = whole_shift;
    open_run(&moved, of); /* and again and again */
    for (int64_t k = 0; k < n_steps; k += n_steps / 7 + 1) {
        pl_status status = advance(&moved, n_steps / 7 + 1);
        CHECK(status == PL_PAUSED || status == PL_FINISHED);
        move_run(&next, &moved);
        moved = next;
        moved.problem.count = &moved.count;
        moved.problem.u = moved.u;
    }
    CHECK(advance(&moved, ALL) == PL_FINISHED);
    CHECK(same(&whole, &moved));
    close_run(&moved);
    shift = whole_shift;
    if (handovers) *handovers += whole.run->handovers;
    if (n_failed > failed_before) printf("  in %s, method %d, storage %d\n", what, of->method, of->storage);
    close_run(&whole);
}

static void test_moves(void) {
    static const int methods[] = {PL_BDF, PL_RADAU5, PL_DOPRI5, PL_LIEULER, PL_EULER, PL_RK4, AUTO};
    pl_real mu = 5.0;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        int method = methods[k];
        setting of = {&vdpol, &mu, method, PL_DENSE, 15.0, 1e-6, 1e-6, 0, 0, 0.004, 0, 0};
        check_moves("vdpol", &of, NULL);
        of = (setting){&line, NULL, method, PL_DENSE, 4.0, 1e-5, 1e-5, 0, 0, 0.01, 0, 0};
        check_moves("line", &of, NULL);
        of.storage = PL_SPARSE;
        if (method != PL_DOPRI5 && method != PL_EULER && method != PL_RK4) check_moves("line", &of, NULL);
        of = (setting){&dae, NULL, method, PL_DENSE, 3.0, 1e-7, 1e-7, 0, 0, 0.01, 0, 0};
        if (method == PL_DOPRI5 || method == PL_EULER || method == PL_RK4) continue;
        check_moves("dae", &of, NULL);
        of.storage = PL_SPARSE;
        check_moves("dae", &of, NULL);
    }
}

/* Stiff Van der Pol on tolerances where BDF hands over to Radau5: the handover is state as well. */
static void test_moves_across_handover(void) {
    pl_real mu = 1e6;
    int handovers = 0;
    for (int k = 0; k < 31; k++) {
        pl_real s = pow(10.0, -0.3 + 0.6 * k / 30.0);
        setting of = {&vdpol, &mu, AUTO, PL_DENSE, 2e6, s * 1e-9, s * 1e-3, 0, 0, 0, 0, 0};
        check_moves("stiff vdpol", &of, &handovers);
    }
    CHECK(handovers > 0);
}

/* ---------------------------------------------------------------------- too little memory for the factors */

static void test_factors_that_do_not_fit(void) {
    simulation small, ample;
    setting of = {&line, NULL, PL_BDF, PL_SPARSE, 4.0, 1e-5, 1e-5, 0, 0, 0, 0, 0};
    open_run(&ample, &of);
    CHECK(advance(&ample, ALL) == PL_FINISHED);
    of.lu_room = 0.3;
    open_run(&small, &of);
    size_t first = small.linear_size;
    CHECK(advance(&small, ALL) == PL_FINISHED);
    CHECK(small.linear_size > first);
    CHECK(small.count.n_steps == ample.count.n_steps);
    CHECK(memcmp(small.row, ample.row, sizeof(pl_real) * POINTS * (LINE + 1)) == 0);
    close_run(&small);
    close_run(&ample);
}

/* -------------------------------------------------------------------------------- Jacobian by differences */

static void test_differences(void) {
    simulation s;
    static pl_real x[LINE], f[LINE];
    setting of = {&line, NULL, PL_BDF, PL_SPARSE, 1.0, 1e-6, 1e-6, 0, 0, 0, 0, 0};
    open_run(&s, &of);
    for (int i = 0; i < LINE; i++) x[i] = uniform();
    CHECK(pl_rhs(&s.problem, 0.3, x, f) == PL_OK);
    CHECK(pl_jacobian(&s.problem, 0.3, x, f, 1e-3) == PL_OK);
    CHECK(s.count.n_rhs_jac == 3); /* tridiagonal: three colours */
    pl_pattern pattern;
    const pl_real *value = pl_linear_jacobian(s.linear, &pattern);
    CHECK(pattern.start[LINE] == line_column[LINE]);
    pl_real worst = 0.0;
    for (int j = 0; j < LINE; j++)
        for (int k = pattern.start[j]; k < pattern.start[j + 1]; k++) {
            pl_real exact = pattern.row[k] == j ? -40.0 + 1.0 - 3.0 * x[j] * x[j] : 20.0;
            worst = fmax(worst, fabs(value[k] - exact));
        }
    CHECK(worst < 1e-4);
    close_run(&s);
}

/* -------------------------------------------------------------------------------------------- orders */

/* x' = lambda (x - cos t) - sin t, x = cos t. */
static pl_status forced_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)u;
    f[0] = *(pl_real *)self * (x[0] - cos(t)) - sin(t);
    return PL_OK;
}
static pl_status forced_jac(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v) {
    (void)t, (void)x, (void)u;
    v[0] = *(pl_real *)self;
    return PL_OK;
}
static const pl_real forced_start[1] = {1.0};
static const pl_model forced = {
    .abi = PL_ABI, .n_x = 1, .x_start = forced_start, .rhs = forced_rhs, .jac_value = forced_jac};

/* Error at t = 1.5 with steps of size h. Adaptive methods: tolerances so loose that h_max decides. The problem
 * is linear with exact Jacobian, so Newton's first iterate is exact: for Radau5 that needs T T^-1 = I and the
 * right eigenvalues, or the order is lost. */
static pl_real error_at(const pl_model *model, int method, pl_real h, pl_real rate) {
    simulation s;
    setting of = {model, &rate, method, PL_DENSE, 1.5, 0.0, 1e6, h, h, h, 0, 0};
    open_run(&s, &of);
    CHECK(advance(&s, ALL) == PL_FINISHED);
    CHECK(s.count.n_error_fails == 0);
    CHECK(s.count.n_steps == (int64_t)(1.5 / h + 0.5));
    const pl_real *end = s.row + (POINTS - 1) * (s.out.n_x + 1);
    pl_real error =
        fabs(end[1] - (model == &forced ? cos(1.5) : (4.0 * cos(1.5) + 2.0 * sin(1.5) + exp(-3.0)) / 5.0));
    close_run(&s);
    return error;
}

static void test_orders(void) {
    static const struct {
        int method, order;
        pl_real h;
    } all[] = {{PL_EULER, 1, 0.0625},
               {PL_RK4, 4, 0.125},
               {PL_LIEULER, 1, 0.0625},
               {PL_DOPRI5, 5, 0.125},
               {PL_RADAU5, 5, 0.25}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        pl_real coarse = error_at(&forced, all[k].method, all[k].h, -2.0);
        pl_real fine = error_at(&forced, all[k].method, 0.5 * all[k].h, -2.0);
        pl_real order = log2(coarse / fine);
        CHECK(order > all[k].order - 0.3 && order < all[k].order + 1.2);
        if (!(order > all[k].order - 0.3 && order < all[k].order + 1.2))
            printf("  method %d: order %g, errors %g %g\n", all[k].method, order, coarse, fine);
    }
    CHECK(log2(error_at(&dae, PL_RADAU5, 0.25, 0.0) / error_at(&dae, PL_RADAU5, 0.125, 0.0)) > 4.5);
    CHECK(log2(error_at(&dae, PL_LIEULER, 0.125, 0.0) / error_at(&dae, PL_LIEULER, 0.0625, 0.0)) > 0.8);
    CHECK(error_at(&forced, PL_RADAU5, 0.25, -1e6) < 1e-6); /* stiff: damped, not only bounded */
}

/* ------------------------------------------------------------------------------------------------ misc */

static void test_status(void) {
    for (int status = PL_TOO_ACCURATE; status <= PL_EVENT; status++)
        CHECK(pl_status_text((pl_status)status) && strlen(pl_status_text((pl_status)status)) > 1);
    for (int id = 0; id < PL_N_METHODS; id++) {
        const pl_method *m = pl_method_of(id);
        CHECK(m && m->id == id && m->name && m->size(3) > sizeof(pl_stepper) && m->start && m->step &&
              m->interpolate && m->x);
        CHECK(!m->needs_complex || m->implicit);
    }
}

static void test_bdf_history(void) {
    simulation s;
    pl_real mu = 5.0, h, at_end[2];
    int order;
    setting of = {&vdpol, &mu, PL_BDF, PL_DENSE, 2.0, 1e-8, 1e-8, 0, 0, 0, 0, 0};
    open_run(&s, &of);
    CHECK(advance(&s, 60) == PL_PAUSED);
    const pl_stepper *head = s.method;
    const pl_real *z = pl_bdf_history(s.method, &order, &h);
    pl_bdf_interpolate(s.method, head->t, 0, at_end);
    CHECK(order >= 1 && order <= 5 && h > 0.0);
    CHECK(z[0] == at_end[0] && z[1] == at_end[1]); /* column 0 is x, column 1 is h x' */
    CHECK(fabs(z[3] / h - at_end[0] / mu) < 1e-5);
    close_run(&s);
}

int main(void) {
    make_line();
    test_lu_real();
    test_lu_complex();
    test_lu_singular();
    test_colour();
    test_differences();
    test_orders();
    test_moves();
    test_moves_across_handover();
    test_factors_that_do_not_fit();
    test_bdf_history();
    test_status();
    printf("test_runtime: %d checks, %d failed\n", n_checks, n_failed);
    return n_failed > 0;
}
