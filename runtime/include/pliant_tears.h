/* Tears of the loops inside a generated model: where iterations begin.
 *
 *     guess, slope   at the last accepted step, and how they changed over it
 *     z, zz          at the last evaluation of f, and of everything else
 *     det_...        determinants of the loops there
 *
 * The solution at the last evaluation is the next guess; that of what state sets need was computed just now. A model
 * includes it once, behind its functions and the data of its tears (tear_of_f, tear_of_set, tear_loop), where it has any.
 */
#ifndef PLIANT_TEARS_H
#define PLIANT_TEARS_H

#include "pliant_generated.h"

#if PL_N_TEARS
static void accept_loops(model *m, pl_real t, int is_f, int is_set) {
    const pl_real dt = t - m->t_guess;
    for (int k = 0; k < PL_N_TEARS; k++) {
        const int here = is_set && tear_of_set[k], i = tear_loop[k];
        if (!here && !is_f) continue;
        const int of_f = tear_of_f[k] && !here;
        const pl_real z = of_f ? m->z[k] : m->zz[k];
        m->slope[k] = dt > 0.0 ? (z - m->guess[k]) / dt : 0.0;
        m->guess[k] = z;
        m->det_guess[i] = of_f ? m->det_z[i] : m->det_zz[i];
    }
    if (is_f || is_set) m->t_guess = t;
}

/* Begin here. */
static void initial_accept(void *self) {
    model *m = self;
    accept_loops(m, m->t_last, 1, 0);
    memset(m->slope, 0, sizeof m->slope);
}

static pl_real *initial_tears(void *self) {
    return ((model *)self)->guess;
}
#endif

/* Loops start from their solution just before the event: another branch may not be defined a step back. */
static PL_UNUSED void guess_here(model *m, pl_real t, const pl_real *x, const pl_real *u) {
#if PL_N_TEARS && PL_HAS_VALUES
    const int error = m->error;
    if (all_values(m, t, x, u) == PL_OK) {
        memcpy(m->guess, m->zz, sizeof m->guess);
        memset(m->slope, 0, sizeof m->slope);
        m->t_guess = t;
    }
    m->error = error;
#else
    (void)m, (void)t, (void)x, (void)u;
#endif
}

/* An event may lead to another branch of loops and constraints. */
static PL_UNUSED void another_branch(model *m, pl_real t) {
    (void)m, (void)t;
#if PL_N_TEARS
    memset(m->det_guess, 0, sizeof m->det_guess);
    memset(m->slope, 0, sizeof m->slope);
    m->t_guess = t;
#endif
#if PL_N_WATCHES
    memset(m->watched, 0, sizeof m->watched);
#endif
}

#endif
