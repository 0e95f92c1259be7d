/* BDF: tolerances of algebraic unknowns that follow from those of the states.
 *
 * An algebraic unknown y = g(x) has the error of x too, S dx with S = dg/dx: it cannot be more accurate than the states
 * that it is computed from. The error of x is smooth in time only as long as neither step nor order changes; at a change
 * it bends, and y, measured against a prediction, shows S times that. Where S is large against y (forces that nearly
 * balance, currents through small resistances) the test of y fails at every growth of the step, at any order, and the
 * method stays at order 1 with tiny steps for ever. So there the tolerance of y is
 *     rtol |y| + atol + r,     r_i^2 = sum_j (S_ij d_j)^2,     d_j = min(tol_j, ROOM |e_j|),
 * e the corrections of the states in the step that failed: where these are nothing, y moves by itself and gets nothing.
 * S being the response of a step to a defect in the differential equations, (L - gamma J)^-1 L. The rows' norms are
 * estimated by a few solutions with random signs, E (sum_j S_ij s_j d_j)^2 = r_i^2 (Hutchinson (1990); Bekas,
 * Kokiopoulou & Saad, Appl. Numer. Math. 57 (2007)). Nothing is added before an algebraic unknown has failed twice within
 * a few steps, and nothing to states. Only errors are judged so: Newton's iteration, whose rate of convergence is a guess,
 * keeps the tolerance of y alone.
 */
#include "bdf.h"

#include <math.h>

#define PROBES 4
#define ROOM   3.0 /* for growth of the step */

static int has_derivative(const pl_model *m, int i) {
    return m->mass.start[i + 1] > m->mass.start[i];
}

/* 1 or -1: the highest bit of a linear congruential generator (Knuth, MMIX). */
static pl_real sign(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 63 ? 1.0 : -1.0;
}

/* Of the tolerance of state i, what its error may take up. */
static pl_real share(const pl_problem *p, pl_real x, pl_real e, int i) {
    return fmin(p->rtol * fabs(x) + p->atol[i], ROOM * fabs(e));
}

static void loosen(pl_bdf *s) {
    const pl_real *weight = pl_bdf_array(s, BDF_WEIGHT), *more = pl_bdf_array(s, BDF_INHERITED);
    pl_real *loose = pl_bdf_array(s, BDF_LOOSE);
    for (int i = 0; i < s->head.n; i++) loose[i] = weight[i] / (1.0 + weight[i] * more[i]);
}

void pl_bdf_inherit(pl_bdf *s, pl_problem *p) {
    int n = s->head.n;
    const pl_model *m = p->model;
    const pl_real *x = pl_bdf_z(s, s->valid, 0);
    pl_real *more = pl_bdf_array(s, BDF_INHERITED), *d = pl_bdf_array(s, BDF_Y), *b = pl_bdf_array(s, BDF_B);
    const pl_real *e = pl_bdf_array(s, BDF_E);
    uint64_t state = 1;
    if (!s->factor_valid) return;
    for (int i = 0; i < n; i++) more[i] = 0.0;
    for (int probe = 0; probe < PROBES; probe++) {
        for (int i = 0; i < n; i++)
            d[i] = has_derivative(m, i) ? sign(&state) * share(p, x[i], e[i], i) : 0.0;
        pl_mass_times(m, d, b);
        pl_linear_solve(p, b);
        for (int i = 0; i < n; i++) more[i] += b[i] * b[i] / PROBES;
    }
    for (int i = 0; i < n; i++) more[i] = has_derivative(m, i) ? 0.0 : sqrt(more[i]);
    s->inherits = pl_first_nonfinite(n, more) < 0;
    if (s->inherits) loosen(s);
}

pl_status pl_bdf_weights(pl_bdf *s, pl_problem *p, pl_real t) {
    pl_status status = pl_weights(p, t, pl_bdf_z(s, s->valid, 0), pl_bdf_array(s, BDF_WEIGHT));
    if (status == PL_OK && s->inherits) loosen(s);
    return status;
}
