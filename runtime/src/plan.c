/* Planning of the iteration matrix: merge the patterns of L and J, colour J's columns (colour.c), find an elimination
 * order, choose dense or sparse, lay out the block.
 *
 * Dense or sparse: a dense factorisation costs 2/3 n^3 operations on contiguous memory, a sparse one
 * `plan.flops` on scattered memory, each of which takes about SCATTER as long, plus PER_COLUMN of bookkeeping
 * for every column (checked by benchmarks/dense_or_sparse.py).
 */
#include "linear.h"

#include <string.h>

#define SCATTER    3.0
#define MOST_DENSE 46340 /* n * n is more than an int can count beyond */
#define PER_COLUMN 60.0

/* Arrays inside the work memory of a plan. */
typedef struct plan_work {
    int *a_start;      /* n + 1 */
    int *a_row;        /* at most n_jac + n_mass */
    int *jac_to_a;     /* n_jac */
    int *mass_to_a;    /* n_mass */
    int *row_start;    /* n + 1: Jacobian by rows */
    int *row_column;   /* n_jac */
    int *colour;       /* n */
    int *colour_work;  /* pl_colour_work(n) */
    int *row_order;    /* n */
    int *column_order; /* n */
    char *rest;        /* for the symbolic analysis */
    size_t size;       /* bytes without rest */
} plan_work;

static size_t round_up(size_t bytes) {
    return (bytes + 15u) & ~(size_t)15u;
}

static int mass_entries(const pl_model *m) {
    return m->mass.start ? m->mass.start[m->n_x] : m->n_x;
}

static plan_work work_arrays(const pl_model *m, char *base) {
    size_t n = (size_t)m->n_x, n_jac = m->jac.start ? (size_t)m->jac.start[m->n_x] : 0;
    size_t n_mass = (size_t)mass_entries(m), at = 0;
    plan_work w;
    size_t counts[10] = {n + 1, n_jac + n_mass, n_jac, n_mass, n + 1, n_jac, n, pl_colour_work(m->n_x), n, n};
    int **fields[10] = {&w.a_start,    &w.a_row,  &w.jac_to_a,    &w.mass_to_a, &w.row_start,
                        &w.row_column, &w.colour, &w.colour_work, &w.row_order, &w.column_order};
    for (int k = 0; k < 10; k++) {
        *fields[k] = (int *)(void *)(base + at);
        at += round_up(counts[k] * sizeof(int));
    }
    w.rest = base + at;
    w.size = at;
    return w;
}

size_t pl_linear_work_size(const pl_model *m) {
    if (!m->jac.start) return 16;
    char none[1];
    plan_work w = work_arrays(m, none);
    return w.size + pl_sparse_analyse_size(m->n_x, m->jac.start[m->n_x] + mass_entries(m));
}

/* Union of the sorted columns of J and L, with the places where their entries go. */
static int merge(const pl_model *m, plan_work *w) {
    int n = m->n_x, count = 0;
    for (int j = 0; j < n; j++) {
        int k = m->jac.start[j], k_end = m->jac.start[j + 1];
        int l = m->mass.start ? m->mass.start[j] : j, l_end = m->mass.start ? m->mass.start[j + 1] : j + 1;
        w->a_start[j] = count;
        while (k < k_end || l < l_end) {
            int row_k = k < k_end ? m->jac.row[k] : n;
            int row_l = l < l_end ? (m->mass.start ? m->mass.row[l] : j) : n;
            if (row_k <= row_l) w->jac_to_a[k++] = count;
            if (row_l <= row_k) w->mass_to_a[l++] = count;
            w->a_row[count++] = row_k < row_l ? row_k : row_l;
        }
    }
    w->a_start[n] = count;
    return count;
}

static void by_rows(const pl_pattern *a, int *row_start, int *row_column) {
    int n = a->n_cols, n_rows = a->n_rows;
    memset(row_start, 0, (size_t)(n_rows + 1) * sizeof(int));
    for (int k = 0; k < a->start[n]; k++) row_start[a->row[k] + 1]++;
    for (int i = 0; i < n_rows; i++) row_start[i + 1] += row_start[i];
    for (int j = 0; j < n; j++)
        for (int k = a->start[j]; k < a->start[j + 1]; k++) row_column[row_start[a->row[k]]++] = j;
    for (int i = n_rows; i > 0; i--) row_start[i] = row_start[i - 1];
    row_start[0] = 0;
}

static int choose_sparse(const pl_linear_options *opt, int n, const pl_sparse_plan *plan) {
    if (!opt->lu) return 0;
    if (opt->storage != PL_AUTO) return opt->storage == PL_SPARSE;
    double dense = 2.0 / 3.0 * (double)n * (double)n * (double)n;
    return SCATTER * (double)plan->flops + PER_COLUMN * (double)n < dense;
}

static size_t take(size_t *at, size_t count, size_t bytes) {
    size_t offset = *at;
    *at = round_up(*at + count * bytes);
    return offset;
}

/* The source asked for, or the best that the model has. */
static int source_of(const pl_model *m, int asked) {
    if (asked == PL_SOURCE_EXACT && m->jac_value) return asked;
    if (asked == PL_SOURCE_DIRECTIONAL && m->jvp) return asked;
    if (asked == PL_SOURCE_AUTO && m->jac_value) return PL_SOURCE_EXACT;
    if (asked == PL_SOURCE_AUTO && m->jvp) return PL_SOURCE_DIRECTIONAL;
    return PL_SOURCE_DIFFERENCES;
}

/* Offsets of all arrays behind the struct; returns the total size in head->size. */
static void lay_out(pl_linear *head, const pl_model *m, const pl_linear_options *opt,
                    const pl_linear_layout *layout, const plan_work *w) {
    size_t n = (size_t)m->n_x, n_jac = (size_t)layout->n_jac, n_matrix = (size_t)layout->n_matrix;
    size_t at = round_up(sizeof *head), width = opt->need_complex ? 2 : 1;
    memset(head, 0, sizeof *head);
    head->n = m->n_x;
    head->sparse = layout->sparse;
    head->has_pattern = m->jac.start != NULL;
    head->n_jac = layout->n_jac;
    head->n_matrix = layout->n_matrix;
    head->n_colours = layout->n_colours;
    head->need_complex = opt->need_complex;
    head->source = source_of(m, opt->source);
    head->increment = opt->increment;
    head->representable = opt->representable;
    head->central = opt->central;
    head->fallback = opt->fallback;
    head->verify = opt->verify && head->has_pattern;
    head->constant = opt->increment_constant;
    head->n_lu = layout->n_lu;
    head->lu = opt->lu;
    head->algebraic = take(&at, n, 1);
    head->jac = take(&at, n_jac, sizeof(pl_real));
    head->mask = take(&at, n_jac, 1);
    head->scratch = take(&at, 6 * n, sizeof(pl_real));
    head->sigma = take(&at, n, sizeof(pl_real));
    head->wish = take(&at, n, sizeof(pl_real));
    head->drowned = take(&at, n, sizeof(pl_real));
    head->seen = take(&at, n, sizeof(pl_real));
    head->least = take(&at, n, sizeof(pl_real));
    head->most = take(&at, n, sizeof(pl_real));
    head->turned = take(&at, n, 1);
    head->touched = take(&at, n, 1);
    head->given = take(&at, n, sizeof(pl_real));
    head->asked = take(&at, n, 1);
    if (head->has_pattern) {
        head->jac_start = take(&at, n + 1, sizeof(int));
        head->jac_row = take(&at, n_jac, sizeof(int));
        head->colour = take(&at, n, sizeof(int));
        head->colour_start = take(&at, n + 1, sizeof(int));
    }
    if (head->sparse) {
        pl_pattern a = {m->n_x, m->n_x, w->a_start, w->a_row};
        head->a_start = take(&at, n + 1, sizeof(int));
        head->a_row = take(&at, n_matrix, sizeof(int));
        head->jac_to_a = take(&at, n_jac, sizeof(int));
        head->mass_to_a = take(&at, (size_t)mass_entries(m), sizeof(int));
        head->a = take(&at, width * n_matrix, sizeof(pl_real));
        head->factors = take(&at, opt->lu->size(&a, 1, layout->n_lu), 1);
        if (width == 2) head->cfactors = take(&at, opt->lu->size(&a, 2, layout->n_lu), 1);
    } else {
        head->a = take(&at, n * n, sizeof(pl_real));
        head->scale = take(&at, n, sizeof(pl_real));
        head->pivot = take(&at, n, sizeof(int));
        if (width == 2) {
            head->ca = take(&at, 2 * n * n, sizeof(pl_real));
            head->cscale = take(&at, n, sizeof(pl_real));
            head->cpivot = take(&at, n, sizeof(int));
        }
    }
    head->size = at;
}

pl_status pl_linear_plan(const pl_model *m, const pl_linear_options *opt, pl_linear_layout *layout,
                         void *work) {
    int n = m->n_x;
    memset(layout, 0, sizeof *layout);
    layout->structural_rank = n;
    layout->unmatched = -1;
    layout->work_size = pl_linear_work_size(m);
    if ((!m->jac.start || !opt->lu) && n > MOST_DENSE) return PL_MEMORY;
    if (opt->storage == PL_SPARSE && n > 0 && (!m->jac.start || !opt->lu)) return PL_ARGUMENT;
    layout->n_jac = n * n;
    layout->n_colours = n;
    plan_work w = work_arrays(m, work);
    if (m->jac.start && n > 0) {
        layout->n_jac = m->jac.start[n];
        by_rows(&m->jac, w.row_start, w.row_column);
        layout->n_colours = pl_colour(&m->jac, w.row_start, w.row_column, w.colour, w.colour_work);
        layout->n_matrix = merge(m, &w);
        pl_pattern a = {n, n, w.a_start, w.a_row};
        pl_sparse_plan plan;
        pl_status status =
            pl_sparse_analyse(&a, w.row_order, w.column_order, &plan, w.rest, layout->work_size - w.size);
        if (status != PL_OK) return status;
        layout->structural_rank = plan.structural_rank;
        layout->unmatched = plan.unmatched;
        layout->sparse = plan.structural_rank == n && choose_sparse(opt, n, &plan);
        layout->n_lu_predicted = plan.n_lower + plan.n_upper;
    }
    pl_linear_room(m, opt, layout, work);
    return PL_OK;
}

void pl_linear_room(const pl_model *m, const pl_linear_options *opt, pl_linear_layout *layout,
                    const void *work) {
    plan_work w = work_arrays(m, (char *)work);
    pl_linear head;
    if (m->jac.start && m->n_x > 0)
        layout->n_lu =
            (int64_t)((double)layout->n_lu_predicted * (opt->lu_room > 0.0 ? opt->lu_room : 1.3)) + 16;
    lay_out(&head, m, opt, layout, &w);
    layout->size = head.size;
}

/* Columns of one colour side by side, so that a difference touches them in one loop. */
static void sort_by_colour(pl_linear *lin, const int *colour) {
    int n = lin->n, *sorted = PL_AT(lin, int, lin->colour), *start = PL_AT(lin, int, lin->colour_start);
    memset(start, 0, (size_t)(n + 1) * sizeof(int));
    for (int j = 0; j < n; j++) start[colour[j] + 1]++;
    for (int c = 0; c < n; c++) start[c + 1] += start[c];
    for (int j = 0; j < n; j++) sorted[start[colour[j]]++] = j;
    for (int c = n; c > 0; c--) start[c] = start[c - 1];
    start[0] = 0;
}

static void mark_algebraic(pl_linear *lin, const pl_model *m) {
    int8_t *algebraic = PL_AT(lin, int8_t, lin->algebraic);
    memset(algebraic, m->mass.start ? 1 : 0, (size_t)lin->n);
    if (m->mass.start)
        for (int k = 0; k < m->mass.start[lin->n]; k++)
            if (m->mass_value[k] != 0.0) algebraic[m->mass.row[k]] = 0;
    lin->n_algebraic = 0;
    for (int i = 0; i < lin->n; i++) lin->n_algebraic += algebraic[i];
}

pl_linear *pl_linear_init(void *memory, const pl_model *m, const pl_linear_options *opt,
                          const pl_linear_layout *layout, const void *work) {
    plan_work w = work_arrays(m, (char *)work);
    pl_linear *lin = memory;
    size_t n = (size_t)m->n_x, n_jac = (size_t)layout->n_jac;
    lay_out(lin, m, opt, layout, &w);
    mark_algebraic(lin, m);
    memset(PL_AT(lin, pl_real, lin->jac), 0, n_jac * sizeof(pl_real));
    memset(PL_AT(lin, pl_real, lin->given), 0, n * sizeof(pl_real));
    if (opt->curvature) memcpy(PL_AT(lin, pl_real, lin->given), opt->curvature, n * sizeof(pl_real));
    pl_forget_increments(lin);
    if (lin->has_pattern) {
        memcpy(PL_AT(lin, int, lin->jac_start), m->jac.start, (n + 1) * sizeof(int));
        memcpy(PL_AT(lin, int, lin->jac_row), m->jac.row, n_jac * sizeof(int));
        sort_by_colour(lin, w.colour);
    }
    if (lin->sparse) {
        pl_pattern a = {m->n_x, m->n_x, w.a_start, w.a_row};
        memcpy(PL_AT(lin, int, lin->a_start), w.a_start, (n + 1) * sizeof(int));
        memcpy(PL_AT(lin, int, lin->a_row), w.a_row, (size_t)layout->n_matrix * sizeof(int));
        memcpy(PL_AT(lin, int, lin->jac_to_a), w.jac_to_a, n_jac * sizeof(int));
        memcpy(PL_AT(lin, int, lin->mass_to_a), w.mass_to_a, (size_t)mass_entries(m) * sizeof(int));
        opt->lu->init(PL_AT(lin, char, lin->factors), opt->lu->size(&a, 1, layout->n_lu), &a, 1, layout->n_lu,
                      w.row_order, w.column_order);
        if (lin->need_complex)
            opt->lu->init(PL_AT(lin, char, lin->cfactors), opt->lu->size(&a, 2, layout->n_lu), &a, 2,
                          layout->n_lu, w.row_order, w.column_order);
    }
    return lin;
}
