/* Memory of a search for start values, and what its unknowns and conditions are. */
#include "start.h"

#include <math.h>
#include <string.h>

typedef struct cursor {
    char *base; /* NULL: only counted */
    size_t used;
} cursor;

static void *take(cursor *c, size_t count, size_t size) {
    void *at = c->base ? c->base + c->used : NULL;
    c->used += (count * size + 7) / 8 * 8;
    return at;
}

static pl_real *reals(cursor *c, size_t count) {
    return take(c, count, sizeof(pl_real));
}

static int *ints(cursor *c, size_t count) {
    return take(c, count, sizeof(int));
}

static int count(int n, const int8_t *flags, int value) {
    int found = 0;
    for (int k = 0; flags && k < n; k++) found += flags[k] == value;
    return found;
}

/* Rows, unknowns and matrices of Newton's iteration. */
static void lay_newton(cursor *c, pl_search *s, int n_kept, int n_more) {
    int rows = n_kept + s->n_a, cols = s->n_x + n_more;
    size_t m = (size_t)rows, n = (size_t)cols;
    s->unknown = ints(c, n);
    s->undetermined = ints(c, n);
    s->redundant = ints(c, m);
    if (!n_kept) return;
    pl_real **of_rows[] = {&s->r, &s->weight, &s->largest, &s->scaled, &s->trial_r, &s->low};
    pl_real **of_unknowns[] = {&s->step, &s->scale, &s->before, &s->trial};
    for (int k = 0; k < 6; k++) *of_rows[k] = reals(c, m);
    for (int k = 0; k < 4; k++) *of_unknowns[k] = reals(c, n);
    s->j = reals(c, m * n + m + n);
    s->dense = reals(c, pl_start_step_size(rows, cols, s->n_a));
}

static void lay_sets(cursor *c, pl_search *s) {
    const pl_initial *in = s->in;
    size_t entries = 0, widest = 0;
    for (int k = 0; k < in->n_sets; k++) {
        entries += (size_t)in->set[k].m * (size_t)in->set[k].n;
        if ((size_t)in->set[k].n > widest) widest = (size_t)in->set[k].n;
    }
    s->guess = reals(c, (size_t)in->n_guesses);
    s->followed = reals(c, (size_t)in->n_guesses);
    s->jacobians = reals(c, entries);
    s->flags = take(c, widest, 1);
    s->wanted = take(c, widest, 1);
    s->pivots = ints(c, widest);
}

size_t pl_start_layout(const pl_model *m, pl_search *s, void *work) {
    const pl_initial *in = m->initial;
    cursor c = {work, 0};
    s->in = in;
    s->n_x = m->n_x;
    s->n_p = m->n_p;
    s->n_d = m->n_d;
    s->n_c = in->n_conditions;
    s->n_a = m->n_x - in->n_states;
    size_t n_x = (size_t)s->n_x, n_p = (size_t)s->n_p, n_d = (size_t)s->n_d, n_c = (size_t)s->n_c;
    int n_kept = 0;
    for (int k = 0; k < s->n_c; k++) n_kept += in->condition_p[k] < 0;
    s->first = take(&c, 1, sizeof *s->first);
    pl_real **of_x[] = {&s->f,       &s->dx,      &s->before_x, &s->found_x, &s->search_x,
                        &s->given_x, &s->start_x, &s->good_x,   &s->target_x};
    for (int k = 0; k < 9; k++) *of_x[k] = reals(&c, n_x);
    s->linear = reals(&c, s->n_a ? 4 * n_x : 0);
    s->size = reals(&c, n_x + n_p + n_d);
    s->before_more = reals(&c, n_p + n_d);
    s->start_more = reals(&c, n_p + n_d);
    s->given = reals(&c, n_c);
    s->asked = reals(&c, n_c);
    s->all = reals(&c, n_c);
    s->free = ints(&c, n_x);
    s->more = ints(&c, n_p + n_d);
    s->kept = ints(&c, n_c);
    s->set = ints(&c, n_c);
    s->is_given = take(&c, n_c, 1);
    lay_newton(&c, s, n_kept, count(s->n_p, in->p_open, 1) + count(s->n_d, in->d_open, 1));
    lay_sets(&c, s);
    return c.used;
}

size_t pl_start_size(const pl_model *m) {
    pl_search s;
    memset(&s, 0, sizeof s);
    return m->initial ? pl_start_layout(m, &s, NULL) : 6 * (size_t)m->n_x * sizeof(pl_real);
}

/* Typical sizes: nominal, or else the guess of a parameter; time constants of microseconds are common. */
static void measure(pl_search *s) {
    const pl_real *nominal = s->m->x_nominal;
    pl_real *p = s->size + s->n_x, *d = p + s->n_p;
    for (int i = 0; i < s->n_x; i++) s->size[i] = nominal ? nominal[i] : 0.0;
    if (s->m->nominal) s->m->nominal(s->self, s->size);
    for (int i = 0; i < s->n_x; i++)
        if (!(s->size[i] > 0.0)) s->size[i] = 1.0;
    for (int k = 0; k < s->n_p + s->n_d; k++) p[k] = 0.0;
    if (s->in->sizes) s->in->sizes(s->self, p);
    for (int k = 0; k < s->n_p; k++)
        if (!(fabs(p[k]) > 0.0)) p[k] = s->q->p[k] == 0.0 ? 1.0 : fabs(s->q->p[k]);
    for (int k = 0; k < s->n_d; k++)
        if (!(fabs(d[k]) > 0.0)) d[k] = 1.0;
}

/* Values of the caller: conditions and discrete variables that they concern. */
static void note_given(pl_search *s) {
    int8_t *is_given = s->is_given;
    for (int k = 0; k < s->n_c; k++) is_given[k] = 0;
    for (int k = 0; k < s->q->n_given; k++) {
        int condition = s->in->other_condition[s->q->given[k]];
        if (condition < 0) continue;
        is_given[condition] = 1;
        s->given[condition] = s->q->value[k];
    }
}

static int memory_given(const pl_search *s, int memory) {
    for (int k = 0; k < s->q->n_given; k++)
        if (s->in->other_memory[s->q->given[k]] == memory) return 1;
    return 0;
}

void pl_start_plan(pl_search *s) {
    const pl_initial *in = s->in;
    const int8_t *x_given = s->q->x_given;
    const int held = s->q->held;
    s->n_free = s->n_more = s->n_kept = s->n_set = s->n_memories = 0;
    note_given(s);
    for (int i = 0; i < in->n_states; i++)
        if (!(x_given && x_given[i]) && (held || !in->x_fixed[i])) s->free[s->n_free++] = i;
    for (int k = 0; k < s->n_c; k++) {
        /* not one that sets a parameter, nor a fixed value that the caller replaced */
        int replaced = x_given && in->condition_x[k] >= 0 && x_given[in->condition_x[k]];
        if (held ? s->is_given[k] : in->condition_p[k] < 0 && !replaced) s->kept[s->n_kept++] = k;
        if (!held && in->condition_p[k] >= 0) s->set[s->n_set++] = k;
    }
    for (int k = 0; !held && in->p_open && k < s->n_p; k++)
        if (in->p_open[k] == 1) s->more[s->n_more++] = s->n_x + k;
    for (int k = 0; in->d_open && k < s->n_d; k++) {
        if (!in->d_open[k] || memory_given(s, k)) continue;
        s->n_memories++;
        if (!held) s->more[s->n_more++] = s->n_x + s->n_p + k;
    }
    measure(s);
}
