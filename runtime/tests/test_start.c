/* Start values: the solution of least norm for matrices of known rank, and searches of models written by hand. */
#include "pliant.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned state = 1;
static double uniform(void) {
    state = state * 1664525u + 1013904223u;
    return (double)(state >> 8) / (1 << 23) - 1.0;
}

/* ---------------------------------------------------------------------------------------------- least norm */

/* A = B C of a known rank, b = A y: the solution is the projection of y onto the rows of C, A x = b, and no row of the null
 * space is left in it. */
static void known_rank(int m, int n, int rank, double scale) {
    size_t size = (size_t)(m * n);
    double *b = malloc((size_t)(m * rank + 1) * sizeof *b), *c = malloc((size_t)(rank * n + 1) * sizeof *c);
    double *a = malloc((size + 1) * sizeof *a), *copy = malloc((size + 1) * sizeof *copy);
    double *y = malloc((size_t)n * sizeof *y), *right = malloc((size_t)m * sizeof *right);
    double *x = malloc((size_t)n * sizeof *x), *work = malloc((pl_least_norm_size(m, n) + 1) * sizeof *work);
    double *columns = malloc((size_t)n * sizeof *columns), *rows = malloc((size_t)m * sizeof *rows);
    for (int k = 0; k < m * rank; k++) b[k] = uniform();
    for (int k = 0; k < rank * n; k++) c[k] = uniform() * (k % 3 == 0 ? scale : 1.0);
    for (int j = 0; j < n; j++) y[j] = uniform();
    for (int i = 0; i < m; i++) right[i] = 0.0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            double sum = 0.0;
            for (int k = 0; k < rank; k++) sum += b[i * rank + k] * c[k * n + j];
            a[j * m + i] = copy[j * m + i] = sum;
            right[i] += sum * y[j];
        }
    int found = pl_least_norm(m, n, a, right, 1e-10, x, work);
    CHECK(found == rank);
    for (int i = 0; i < m; i++) {
        double sum = 0.0, largest = 1.0;
        for (int j = 0; j < n; j++) {
            sum += copy[j * m + i] * x[j];
            largest = fmax(largest, fabs(copy[j * m + i]));
        }
        CHECK(fabs(sum - right[i]) < 1e-10 * largest);
    }
    double longer = 0.0, shorter = 0.0; /* no solution is shorter */
    for (int j = 0; j < n; j++) {
        longer += y[j] * y[j];
        shorter += x[j] * x[j];
    }
    CHECK(shorter <= longer * (1.0 + 1e-10));
    /* x is a combination of the rows of A: A^T z = x has a solution */
    double *t = malloc((size + 1) * sizeof *t), *z = malloc((size_t)m * sizeof *z);
    double *other = malloc((pl_least_norm_size(n, m) + 1) * sizeof *other);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) t[i * n + j] = copy[j * m + i];
    (void)pl_least_norm(n, m, t, x, 1e-10, z, other);
    for (int j = 0; j < n; j++) {
        double sum = 0.0;
        for (int i = 0; i < m; i++) sum += copy[j * m + i] * z[i];
        CHECK(fabs(sum - x[j]) < 1e-8);
    }
    /* sizes of null spaces */
    double sum_columns = 0.0, sum_rows = 0.0;
    pl_null_rows(m, n, a, found, work, rows);
    pl_null_columns(m, n, found, work, columns);
    for (int j = 0; j < n; j++) sum_columns += columns[j] * columns[j];
    for (int i = 0; i < m; i++) sum_rows += rows[i] * rows[i];
    CHECK(fabs(sum_columns - (n - rank)) < 1e-9);
    CHECK(fabs(sum_rows - (m - rank)) < 1e-9);
    free(a), free(b), free(c), free(copy), free(y), free(right), free(x), free(work), free(columns),
        free(rows);
    free(t), free(z), free(other);
}

static void test_least_norm(void) {
    for (int m = 1; m <= 9; m++)
        for (int n = 1; n <= 9; n++)
            for (int rank = 0; rank <= (m < n ? m : n); rank++) known_rank(m, n, rank, 1.0);
    known_rank(40, 30, 17, 1e3);
    known_rank(30, 60, 30, 1e3);
}

static void test_least_norm_by_hand(void) {
    /* x + y = 2, z free, nothing reads w: the middle, and what is not read stays where it is */
    double a[] = {1.0, 1.0, 0.0, 0.0}, b[] = {2.0}, x[4], work[64], share[4];
    int rank = pl_least_norm(1, 4, a, b, 1e-10, x, work);
    CHECK(rank == 1);
    CHECK(fabs(x[0] - 1.0) < 1e-15 && fabs(x[1] - 1.0) < 1e-15 && x[2] == 0.0 && x[3] == 0.0);
    pl_null_columns(1, 4, rank, work, share);
    CHECK(fabs(share[0] - sqrt(0.5)) < 1e-12 && fabs(share[2] - 1.0) < 1e-12 && fabs(share[3] - 1.0) < 1e-12);
    double none[1], zero[] = {0.0, 0.0};
    CHECK(pl_least_norm(2, 0, none, zero, 1e-10, x, work) == 0);
    pl_null_rows(2, 0, none, 0, work, share);
    CHECK(share[0] == 1.0 && share[1] == 1.0);
}

/* --------------------------------------------------------------------------------------- a model by hand */

/* x' = -x, y' = -y, one parameter; conditions x + y = p and (second) x - y = q0 */
typedef struct memory {
    double p;
} memory;

static pl_status set_parameters(void *self, const pl_real *p) {
    ((memory *)self)->p = p[0];
    return PL_OK;
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = -x[0];
    f[1] = -x[1];
    return PL_OK;
}

static void start(void *self, pl_real *x) {
    (void)self;
    x[0] = 5.0;
    x[1] = 7.0;
}

static pl_status conditions(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *r) {
    (void)t, (void)u;
    r[0] = x[0] + x[1] - ((memory *)self)->p;
    r[1] = x[0] * x[0] - 9.0;
    return PL_OK;
}

static pl_status along(void *self, pl_real t, const pl_real *x, const pl_real *u, const pl_real *dx,
                       pl_real *df, pl_real *dr) {
    (void)self, (void)t, (void)u;
    df[0] = -dx[0];
    df[1] = -dx[1];
    dr[0] = dx[0] + dx[1];
    dr[1] = 2.0 * x[0] * dx[0];
    return PL_OK;
}

static pl_status terms(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *size) {
    (void)t, (void)u;
    size[0] = fmax(fabs(x[0]), fmax(fabs(x[1]), fabs(((memory *)self)->p)));
    size[1] = fmax(x[0] * x[0], 9.0);
    return PL_OK;
}

static const int8_t nothing_fixed[] = {0, 0}, open_p[] = {1}, both[] = {1, 1};
static const int none[] = {-1, -1};
static const pl_real x_start[] = {5.0, 7.0}, p_start[] = {4.0};

static pl_initial initial_of(int n, int opens) {
    pl_initial in;
    memset(&in, 0, sizeof in);
    in.n_states = 2;
    in.n_conditions = n;
    in.x_fixed = nothing_fixed;
    in.p_open = opens ? open_p : NULL;
    in.condition_x = in.condition_p = none;
    in.start = start;
    in.conditions = conditions;
    in.along = along;
    in.terms = terms;
    return in;
}

typedef struct answer {
    pl_status status;
    double x[2], p[1];
    pl_start_report report;
    int undetermined, redundant;
} answer;

/* Work of exactly the size that was promised. */
static answer search(const pl_initial *in, const int8_t *x_given, double x0, double x1) {
    static answer found;
    pl_model m;
    pl_counters count;
    pl_problem p;
    memory self = {4.0};
    memset(&m, 0, sizeof m);
    memset(&p, 0, sizeof p);
    memset(&count, 0, sizeof count);
    m.abi = PL_ABI;
    m.n_x = 2;
    m.n_p = 1;
    m.x_start = x_start;
    m.p_start = p_start;
    m.set_parameters = set_parameters;
    m.rhs = rhs;
    m.initial = in;
    p.model = &m;
    p.self = &self;
    p.count = &count;
    found.x[0] = x0;
    found.x[1] = x1;
    found.p[0] = 4.0;
    pl_start_request q;
    memset(&q, 0, sizeof q);
    q.x_given = x_given;
    q.p = found.p;
    void *work = malloc(pl_start_size(&m));
    found.status = pl_start(&p, &q, found.x, &found.report, work);
    found.undetermined = found.report.n_undetermined ? found.report.undetermined[0] : -1;
    found.redundant = found.report.n_redundant ? found.report.redundant[0] : -1;
    free(work);
    return found;
}

static void test_searches(void) {
    pl_initial two = initial_of(2, 0), one = initial_of(1, 0), nothing = initial_of(0, 0),
               open = initial_of(2, 1);
    answer a = search(&two, NULL, 0.0, 0.0);
    CHECK(a.status == PL_OK && fabs(a.x[0] - 3.0) < 1e-9 && fabs(a.x[1] - 1.0) < 1e-9);
    CHECK(a.report.n_undetermined == 0 && a.report.n_redundant == 0 && a.report.next_time == HUGE_VAL);
    a = search(&one, NULL, 0.0, 0.0); /* from (5, 7) the shortest way to x + y = 4, as scaled by both sizes */
    CHECK(a.status == PL_OK && fabs(a.x[0] + a.x[1] - 4.0) < 1e-9 && a.report.n_undetermined == 2);
    a = search(&nothing, NULL, 0.0, 0.0);
    CHECK(a.status == PL_OK && a.x[0] == 5.0 && a.x[1] == 7.0 && a.report.n_undetermined == 2);
    a = search(&open, NULL, 0.0, 0.0); /* three unknowns: the parameter may move, too */
    CHECK(a.status == PL_OK && fabs(a.x[0] - 3.0) < 1e-9 && fabs(a.x[0] + a.x[1] - a.p[0]) < 1e-9);
    CHECK(a.report.n_undetermined == 2);
    a = search(&two, both, 3.0, 1.0); /* everything is given, and fits */
    CHECK(a.status == PL_OK && a.x[0] == 3.0 && a.x[1] == 1.0 && a.report.n_redundant == 2);
    a = search(&two, both, 3.0, 2.0); /* ... or does not */
    CHECK(a.status == PL_INCONSISTENT && a.report.failure.what == PL_START_RESIDUAL);
    CHECK(a.report.failure.n_rows == 1 && a.report.failure.row[0] == 0 && a.report.failure.known);
    CHECK(fabs(a.report.failure.residual[0] - 1.0) < 1e-12);
}

/* ------------------------------------------------------------------------------- models without pl_initial */

/* x' = -x, 0 = y - x^2 - 1 */
static pl_status dae(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    f[0] = -x[0];
    f[1] = x[1] - x[0] * x[0] - 1.0;
    return PL_OK;
}

static pl_status ticks(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    (void)self, (void)u;
    x[1] = 42.0;
    info->next_time = t + 2.0;
    return PL_OK;
}

static void test_plain(void) {
    static const int column[] = {0, 1, 1}, row[] = {0};
    static const pl_real one[] = {1.0}, atol[] = {1e-8, 1e-8};
    pl_model m;
    pl_problem p;
    pl_counters count;
    pl_start_request q;
    pl_start_report report;
    pl_linear_options want;
    pl_linear_layout layout;
    memset(&m, 0, sizeof m);
    memset(&p, 0, sizeof p);
    memset(&q, 0, sizeof q);
    memset(&count, 0, sizeof count);
    memset(&want, 0, sizeof want);
    m.abi = PL_ABI;
    m.n_x = 2;
    m.x_start = x_start;
    m.rhs = dae;
    m.mass = (pl_pattern){2, 2, column, row};
    m.mass_value = one;
    void *plan = malloc(pl_linear_work_size(&m));
    CHECK(pl_linear_plan(&m, &want, &layout, plan) == PL_OK);
    void *memory = malloc(layout.size), *work = malloc(pl_start_size(&m));
    p.model = &m;
    p.count = &count;
    p.rtol = 1e-6;
    p.atol = atol;
    p.linear = pl_linear_init(memory, &m, &want, &layout, plan);
    double x[] = {2.0, 0.0};
    CHECK(pl_start(&p, &q, x, &report, work) == PL_OK && x[0] == 2.0 && fabs(x[1] - 5.0) < 1e-9);
    q.check = 1;
    x[1] = 0.0;
    CHECK(pl_start(&p, &q, x, &report, work) == PL_INCONSISTENT && report.failure.what == PL_START_UNMET);
    CHECK(report.failure.index == 1 && fabs(report.failure.value - 5.0) < 1e-9);
    x[1] = 5.0;
    CHECK(pl_start(&p, &q, x, &report, work) == PL_OK && report.next_time == HUGE_VAL);
    m.initialise = ticks;
    q.t = 3.0;
    CHECK(pl_start(&p, &q, x, &report, work) == PL_OK && x[1] == 42.0 && report.next_time == 5.0);
    free(plan), free(memory), free(work);
}

int main(void) {
    test_plain();
    test_least_norm();
    test_least_norm_by_hand();
    test_searches();
    printf("%d checks, %d failed\n", n_checks, n_failed);
    return n_failed != 0;
}
