/* State sets at the start: which candidates are states, and values of variables that are given beside x. */
#include "pliant_generated.h"
#include "start.h"

#include <math.h>
#include <string.h>

#define PIVOT   1e-6 /* share of the largest entry from which on a constraint can be solved for a candidate */
#define LARGEST 1e300 /* stands for infinity */
#define MISSED  1e-6  /* relative difference from which on a given value is not met */

void pl_set_states(int m, int n, pl_real *g, const int8_t *wanted, int8_t *state, int *work) {
    int missing, rank;
    for (int k = 0; k < m * n; k++) {
        if (g[k] != g[k]) g[k] = 0.0;
        if (fabs(g[k]) > LARGEST) g[k] = g[k] > 0.0 ? LARGEST : -LARGEST;
    }
    rank = pl_set_pivots(m, n, g, wanted, PIVOT, work);
    for (int j = 0; j < n; j++) state[j] = 1;
    for (int k = 0; k < rank; k++) state[work[k]] = 0;
    missing = m - rank;
    for (int j = 0; j < n && missing > 0; j++)
        if (state[j]) state[j] = 0, missing--;
}

/* States of a set by the constraints' Jacobian g at v; their values into x. */
static void choose(pl_search *s, int k, pl_real *g, const pl_real *v) {
    const pl_state_set *set = &s->in->set[k];
    int at = 0;
    pl_set_states(set->m, set->n, g, s->wanted, s->flags, s->pivots);
    (void)s->in->choose(s->self, k, s->flags, s->t, s->x, s->u);
    for (int level = 0; level < set->depth; level++)
        for (int j = 0; j < set->n; j++)
            if (s->flags[j]) s->x[set->slot[at++]] = v[set->candidate[level * set->n + j]];
}

static void put_given(pl_search *s, pl_real *v) {
    for (int k = 0; k < s->q->n_given; k++) {
        int place = s->in->other_guess ? s->in->other_guess[s->q->given[k]] : -1;
        if (place >= 0) v[place] = s->q->value[k];
    }
}

/* Loops begin where the guesses are. */
static void guess_tears(pl_search *s, const pl_real *v) {
    pl_real *tears = s->in->n_tears ? s->in->tears(s->self) : NULL;
    for (int k = 0; s->in->n_guesses && k < s->in->n_tears; k++) tears[k] = v[s->in->tear_guess[k]];
    for (int k = 0; tears && k < s->q->n_given; k++) {
        int place = s->in->other_tear ? s->in->other_tear[s->q->given[k]] : -1;
        if (place >= 0) tears[place] = s->q->value[k];
    }
}

void pl_start_first_choice(pl_search *s) {
    const pl_initial *in = s->in;
    pl_real *g = s->jacobians;
    if (!in->n_sets && !s->q->n_given) return;
    if (in->n_guesses) {
        in->guesses(s->self, s->guess);
        put_given(s, s->guess);
        in->follow(s->self, s->t, s->guess, s->followed);
    }
    guess_tears(s, s->followed);
    if (!in->n_sets) return;
    in->jacobians(s->self, s->t, s->followed, g);
    for (int k = 0; k < in->n_sets; k++) {
        memset(s->wanted, 0, (size_t)in->set[k].n);
        choose(s, k, g, s->followed);
        g += in->set[k].m * in->set[k].n;
    }
}

static int is_given(const pl_search *s, int guess) {
    for (int k = 0; k < s->q->n_given; k++)
        if (s->in->other_guess[s->q->given[k]] == guess) return 1;
    return 0;
}

pl_status pl_start_given_choice(pl_search *s) {
    const pl_initial *in = s->in;
    pl_real *g = s->jacobians;
    if (!in->n_sets) return PL_OK;
    pl_status status = in->present(s->self, s->t, s->x, s->u, s->guess);
    if (status != PL_OK) return pl_start_refused(s, status);
    put_given(s, s->guess);
    guess_tears(s, s->guess);
    in->jacobians(s->self, s->t, s->guess, g);
    for (int k = 0; k < in->n_sets; k++) {
        const pl_state_set *set = &in->set[k];
        int any = 0;
        memset(s->wanted, 0, (size_t)set->n);
        for (int i = 0; i < set->depth * set->n; i++)
            if (is_given(s, set->candidate[i])) s->wanted[i % set->n] = 1, any = 1;
        if (any) choose(s, k, g, s->guess);
        g += set->m * set->n;
    }
    return PL_OK;
}

/* Present value of a variable outside x. */
static pl_real other_value(pl_search *s, int other) {
    const pl_initial *in = s->in;
    if (in->other_condition[other] >=
        0) /* residual: value - the value that is asked for, here the given one */
        return s->all[in->other_condition[other]] + s->given[in->other_condition[other]];
    if (in->other_memory[other] >= 0) return s->m->memory(s->self, 0)[in->other_memory[other]];
    return s->guess[in->other_guess[other]];
}

/* Candidates of a state set were only preferred: too many given values may contradict each other. */
pl_status pl_start_check_given(pl_search *s) {
    pl_status status = PL_OK;
    if (!s->q->n_given) return PL_OK;
    if (s->n_c) status = pl_start_conditions(s);
    if (status != PL_OK) return status;
    if (s->in->n_guesses) status = s->in->present(s->self, s->t, s->x, s->u, s->guess);
    if (status != PL_OK) return pl_start_refused(s, status);
    for (int k = 0; k < s->q->n_given; k++) {
        pl_real value = other_value(s, s->q->given[k]), wanted = s->q->value[k];
        if (fabs(value - wanted) <= MISSED * fmax(1.0, fabs(wanted))) continue;
        status = pl_start_fail(s, PL_START_MISSED, PL_INCONSISTENT);
        s->report->failure.index = k;
        s->report->failure.value = value;
        return status;
    }
    return PL_OK;
}
