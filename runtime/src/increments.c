/* Increments of difference Jacobians: how far each state is moved.
 *
 * U = 2^-52 unit roundoff, W_j = rtol |x_j| + atol_j, nom_j the nominal value (1 if none was entered), c0 a constant,
 * s0 = 1e3 U n |h| ||f||_W (1 if f = 0 or h is not known). Numbers of sections are those of Renstroem (2024).
 *   cvode        max(sqrt(U) |x|, s0 W)                          5.3.2, Hindmarsh et al. (2005)
 *   radau5       sqrt(U max(1e-5, |x|))                          5.4.2, Hairer & Wanner
 *   pyfmi        sqrt(U) max(|x|, nom)                           5.2.2
 *   experiment2  sqrt(U) max(|x|, c0 nom)                        7.2
 *   experiment3  sqrt(U) max(|x|, c0)                            7.3
 *   experiment4  max(U |x|, c0 sqrt(U))                          7.4: constant curvature scale
 *   experiment5  max(spacing(x)/sqrt(U), c0 sqrt(U))             7.5: powers of two if c0 is one
 *   thesis       the same with c0 = 2^-9, turned where x + sigma would change its sign   chapter 8
 *   entered      pyfmi if a nominal value was entered, else the solver's own   8.1
 *   curvature    sqrt(U) c_j, c_j the curvature scale sqrt(|f|/|f''|) that the user gave (8.2); without: default
 * Algorithms 1-3 (4.4, 7.1) make x + sigma representable afterwards.
 *
 * The default: the power of two >= max(sqrt(U) S_j, r_j), with the sign of x, within the bounds that past differences
 * taught (jacobian_repair.c). The division is then exact, x + sigma representable and Sterbenz' condition holds.
 * S_j is |x_j|, or the nominal value as long as the values seen do not contradict it; for a state at zero atol/rtol,
 * the size at which both tolerances weigh alike, if that moves x by some weights at most.
 * r_j keeps the rounding of f out of Newton's iteration, as CVode's s0 does, but by the size of the terms in f, not by f
 * itself, which is small where large terms cancel: row i is rounded by N_i = U (|f_i| + sum_k |J_ik x_k|), with the Jacobian
 * before. An entry suffers if N_i/sigma exceeds 1/1000 of it and changes h J W_j/W_i by more than 1/10 (algebraic rows: the
 * row's largest entry in weights): r_j is the least sigma, up to W_j, at which no entry of the column does.
 */
#include "linear.h"

#include <float.h>
#include <math.h>

#define SQRT_U       1.4901161193847656e-8 /* 2^-26 */
#define PLAUSIBLE    1e4                   /* a nominal value may exceed the values seen by this factor */
#define WITHOUT_RTOL 1e-3                  /* share of atol to move by where rtol is zero */
#define MOST_WEIGHTS 64.0                  /* what atol/rtol tells is not believed beyond so many weights */
#define MATTERS      10.0                  /* what Newton's iteration bears easily: 1/10 of h J in weights */
#define PRECISE      1e3                   /* roundings that make an entry precise to a thousandth */
#define FELL         32.0 /* an increment so much smaller than the last one is looked at first */

#define CENTRAL      512.0 /* U^(1/3) instead of U^(1/2), as a power of two */
#define SMALL_BOUND  1e-5
#define THESIS_FLOOR (1.0 / 512.0)

/* Smallest power of two that is >= v > 0. */
static pl_real power_of_two(pl_real v) {
    int exponent;
    pl_real mantissa = frexp(v, &exponent);
    return ldexp(1.0, mantissa == 0.5 ? exponent - 1 : exponent);
}

static pl_real spacing(pl_real size) {
    return nextafter(size, HUGE_VAL) - size;
}

static int entered(const pl_model *m, int j) {
    return m->x_nominal && m->x_nominal[j] > 0.0;
}

static pl_real nominal(const pl_model *m, int j) {
    return entered(m, j) ? m->x_nominal[j] : 1.0;
}

static pl_real cvode(pl_real size, pl_real weight, pl_real s0) {
    return fmax(SQRT_U * size, s0 * weight);
}

static pl_real radau5(pl_real size) {
    return sqrt(DBL_EPSILON * fmax(SMALL_BOUND, size));
}

static pl_real with_floor(pl_real size, pl_real floor_j) {
    return SQRT_U * fmax(size, floor_j);
}

static pl_real constant_curvature(pl_real size, pl_real c0) {
    return fmax(DBL_EPSILON * size, c0 * SQRT_U);
}

static pl_real powers(pl_real size, pl_real c0) {
    return fmax(spacing(size) / SQRT_U, SQRT_U * c0);
}

/* Chapter 8: forward, unless x + sigma had another sign than x. */
static pl_real thesis(pl_real x) {
    pl_real sigma = powers(fabs(x), THESIS_FLOOR);
    return x < 0.0 && x + sigma >= 0.0 ? -sigma : sigma;
}

/* Scale that atol tells for a state that is, or begins, at zero. */
static pl_real scale_of_tolerance(const pl_problem *p, int j) {
    return p->rtol > 0.0 ? p->atol[j] / p->rtol : WITHOUT_RTOL * p->atol[j] / SQRT_U;
}

/* The scale of a state whose present value proved to be none: where it was before, or what nominal value and tolerance
 * tell. */
pl_real pl_other_scale(const pl_problem *p, int j, pl_real size) {
    pl_real seen = PL_CONST_AT(p->linear, pl_real, p->linear->seen)[j], tolerated = scale_of_tolerance(p, j);
    if (entered(p->model, j)) return fmax(seen, fmin(p->model->x_nominal[j], PLAUSIBLE * tolerated));
    return size < p->atol[j] ? fmax(seen, tolerated) : seen;
}

/* S_j of the file head. */
static pl_real scale(const pl_problem *p, int j, pl_real size) {
    const pl_linear *lin = p->linear;
    pl_real seen = PL_CONST_AT(lin, pl_real, lin->seen)[j], weight = p->rtol * size + p->atol[j];
    if (PL_CONST_AT(lin, int8_t, lin->asked)[j]) return fmax(size, pl_other_scale(p, j, size));
    pl_real nom = entered(p->model, j) ? p->model->x_nominal[j] : 0.0;
    if (nom > 0.0 && !(seen > 0.0 && nom > PLAUSIBLE * seen)) return fmax(size, nom);
    return size > 0.0 ? size : fmin(scale_of_tolerance(p, j), MOST_WEIGHTS * weight / SQRT_U);
}

static pl_real signed_like(pl_real x, pl_real sigma) {
    return x < 0.0 ? -sigma : sigma;
}

static pl_real default_rule(const pl_problem *p, int j, pl_real x, pl_real r_j) {
    const pl_linear *lin = p->linear;
    pl_real size = fabs(x), given = PL_CONST_AT(lin, pl_real, lin->given)[j];
    pl_real sigma = SQRT_U * (given > 0.0 ? given : scale(p, j, size));
    if (!(given > 0.0)) sigma = fmax(fmax(sigma, r_j), FELL * PL_CONST_AT(lin, pl_real, lin->drowned)[j]);
    if (!(sigma > DBL_MIN)) sigma = SQRT_U * SQRT_U;
    sigma = fmax(sigma, PL_CONST_AT(lin, pl_real, lin->least)[j]);
    pl_real most = PL_CONST_AT(lin, pl_real, lin->most)[j];
    if (most > 0.0) sigma = fmin(sigma, most);
    sigma = fmax(power_of_two(sigma), 2.0 * spacing(size));
    return PL_CONST_AT(lin, int8_t, lin->turned)[j] ? -signed_like(x, sigma) : signed_like(x, sigma);
}

/* Algorithms 1 to 3: the increment that the addition leaves. */
static pl_real representable(int algorithm, pl_real x, pl_real sigma) {
    if (algorithm == 0 || (x == 0.0 && algorithm > 1)) return sigma;
    int turn = x < 0.0 && (algorithm == 3 || (algorithm == 2 && sigma >= fabs(x)));
    volatile pl_real moved =
        x + (turn ? -sigma : sigma); /* volatile: not to be joined with the subtraction */
    return moved - x;
}

static pl_real increment(const pl_problem *p, int j, pl_real x, pl_real s0) {
    const pl_linear *lin = p->linear;
    const pl_model *m = p->model;
    pl_real size = fabs(x), c0 = lin->constant, weight = p->rtol * size + p->atol[j];
    switch (lin->increment) {
    case PL_INCREMENT_CVODE:
        return cvode(size, weight, s0);
    case PL_INCREMENT_RADAU5:
        return radau5(size);
    case PL_INCREMENT_PYFMI:
        return with_floor(size, nominal(m, j));
    case PL_INCREMENT_EXPERIMENT2:
        return with_floor(size, c0 * nominal(m, j));
    case PL_INCREMENT_EXPERIMENT3:
        return with_floor(size, c0);
    case PL_INCREMENT_EXPERIMENT4:
        return constant_curvature(size, c0);
    case PL_INCREMENT_EXPERIMENT5:
        return powers(size, c0);
    case PL_INCREMENT_THESIS:
        return thesis(x);
    case PL_INCREMENT_ENTERED:
        if (entered(m, j)) return with_floor(size, m->x_nominal[j]);
        return lin->need_complex ? radau5(size) : cvode(size, weight, s0);
    default:
        return default_rule(p, j, x, s0);
    }
}

/* Turn the side where x + sigma would leave [x_min, x_max]; where both do, as far as there is room. */
pl_real pl_within_bounds(const pl_model *m, int j, pl_real x, pl_real sigma) {
    pl_real below = m->x_min ? x - m->x_min[j] : HUGE_VAL, above = m->x_max ? m->x_max[j] - x : HUGE_VAL;
    pl_real room = sigma > 0.0 ? above : below, other = sigma > 0.0 ? below : above;
    if (fabs(sigma) <= room) return sigma;
    if (fabs(sigma) <= other) return -sigma;
    pl_real most = fmax(room, other), side = (sigma > 0.0) == (room >= other) ? 1.0 : -1.0;
    return most > 2.0 * spacing(fabs(x)) ? side * most : sigma; /* no room at all: f must bear it */
}

int pl_stays_inside(const pl_model *m, const pl_real *x, pl_group g, const pl_real *sigma, pl_real scale) {
    for (int c = 0; c < g.count; c++) {
        int j = g.column[c];
        pl_real moved = x[j] + scale * sigma[j];
        if ((m->x_min && moved < m->x_min[j]) || (m->x_max && moved > m->x_max[j])) return 0;
    }
    return 1;
}

static pl_real floor_factor(const pl_problem *p, const pl_real *x, const pl_real *f, pl_real h) {
    pl_real norm = pl_norm(p, f, x);
    return norm > 0.0 && h != 0.0 ? 1e3 * fabs(h) * DBL_EPSILON * p->model->n_x * norm : 1.0;
}

pl_real pl_second_guess(const pl_problem *p, int j, pl_real x) {
    pl_real other = pl_other_scale(p, j, fabs(x));
    return other > 0.0 ? signed_like(x, power_of_two(SQRT_U * other)) : 0.0;
}

/* N_i, and the unit in which it counts: what a change of x_j by its weight may change in row i. */
static void roundings(const pl_problem *p, const pl_real *x, const pl_real *f, pl_real h, pl_real *rounding,
                      pl_real *unit) {
    const pl_linear *lin = p->linear;
    const pl_real *jac = PL_CONST_AT(lin, pl_real, lin->jac);
    const int8_t *algebraic = pl_linear_algebraic(lin);
    int n = lin->n;
    for (int i = 0; i < n; i++) {
        rounding[i] = DBL_EPSILON * fabs(f[i]);
        unit[i] = algebraic[i] ? 0.0 : (p->rtol * fabs(x[i]) + p->atol[i]) / fabs(h);
    }
    for (int j = 0; j < n; j++) {
        pl_entries e = pl_entries_of(lin, j);
        pl_real size = fabs(x[j]), weight = p->rtol * size + p->atol[j];
        for (int k = e.first; k < e.last; k++) {
            int i = pl_row_of(&e, k);
            rounding[i] += DBL_EPSILON * fabs(jac[k]) * size;
            if (algebraic[i]) unit[i] = fmax(unit[i], fabs(jac[k]) * weight);
        }
    }
}

/* r_j of the file head. */
static pl_real above_rounding(const pl_linear *lin, int j, pl_real weight, const pl_real *rounding,
                              const pl_real *unit) {
    const pl_real *jac = PL_CONST_AT(lin, pl_real, lin->jac);
    pl_entries e = pl_entries_of(lin, j);
    pl_real most = 0.0;
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        pl_real size = fabs(jac[k]), needed = unit[i] > 0.0 ? MATTERS * rounding[i] / unit[i] * weight : 0.0;
        if (size > 0.0) needed = fmin(needed, PRECISE * rounding[i] / size);
        most = fmax(most, needed);
    }
    return fmin(most, weight);
}

void pl_increments(pl_problem *p, const pl_real *x, const pl_real *f, pl_real h) {
    pl_linear *lin = p->linear;
    pl_real *sigma = PL_AT(lin, pl_real, lin->sigma), *seen = PL_AT(lin, pl_real, lin->seen);
    pl_real *wish = PL_AT(lin, pl_real, lin->wish), last;
    const pl_real *drowned = PL_CONST_AT(lin, pl_real, lin->drowned);
    int own = lin->increment == PL_INCREMENT_DEFAULT || lin->increment == PL_INCREMENT_CURVATURE;
    pl_real least = own ? 0.0 : floor_factor(p, x, f, h); /* s0, or r_j of each column */
    pl_real *rounding = PL_AT(lin, pl_real, lin->scratch) + lin->n;
    if (own && h != 0.0) roundings(p, x, f, h, rounding, rounding + lin->n);
    for (int j = 0; j < lin->n; j++) {
        pl_real size = fabs(x[j]);
        seen[j] = fmax(seen[j], size);
        last = sigma[j];
        wish[j] = 0.0;
        if (own && h != 0.0)
            least = above_rounding(lin, j, p->rtol * size + p->atol[j], rounding, rounding + lin->n);
        sigma[j] = representable(lin->representable, x[j], increment(p, j, x[j], least));
        if (lin->central) sigma[j] *= CENTRAL;
        if (lin->increment == PL_INCREMENT_DEFAULT && FELL * fabs(sigma[j]) < fabs(last)) {
            /* halfway to one that drowned */
            pl_real halfway = power_of_two(fmax(fabs(sigma[j]), sqrt(drowned[j] * fabs(last))));
            wish[j] = pl_within_bounds(p->model, j, x[j], signed_like(sigma[j], halfway));
            sigma[j] = signed_like(sigma[j], fabs(last));
        }
        sigma[j] = pl_within_bounds(p->model, j, x[j], sigma[j]);
    }
}
