/* Torn loops that Newton's iteration does not solve from their guesses, at the start of a simulation.
 *
 *     damped     (N + mu diag(N)) d = -J^T W^2 r,   N = J^T W^2 J:  Levenberg and Marquardt's step, in units of |z| and nominal.
 *                It exists where J is singular, which Newton's does not, and each one makes |W r| smaller. mu by Nielsen's rule
 *                (Madsen, Nielsen & Tingleff, Methods for Non-linear Least Squares Problems, 2004, 3.2), diag(N) never below
 *                its largest value so far (More, LNM 630, 1978, 105-116)
 *     bent       in turns with asinh(W r) instead of W r: an exponential then is nearly a line where it is large
 *     elsewhere  from the guess, then from points around it, nearer ones first: at a guess where J has a column of zeros
 *                (0 of z^2, of z |z|) no derivative says where to go, and where r has no derivative (0 of sqrt) nothing does;
 *                such a guess is no solution either, even if r is zero there: nothing could follow it
 *
 * What it finds counts where pl_newton ends there. The start, and events that would end the run, ask for it
 * (model->rescues), with a number of evaluations that it may take: with some sides of its relations a loop has no solution,
 * and they are tried, too. Before the first of them sides follow from the guesses (PL_RESCUE_GUESS): flow goes where the
 * pressures say, not to where all relations are false.
 */
#ifndef PLIANT_RESCUE_H
#define PLIANT_RESCUE_H

#include "pliant_generated.h"

#define PL_RESCUE_MAX    40    /* tears; of larger loops only the guess is varied */
#define PL_RESCUE_TRIES  40    /* the guess and points around it */
#define PL_RESCUE_NEAR   1e-3  /* distance of the first of them, in units of |z| and nominal, */
#define PL_RESCUE_FAR    1e3   /* and of the last */
#define PL_RESCUE_STEPS  150   /* damped steps from one of them */
#define PL_RESCUE_PASSES 3     /* ... each with the rows weighted anew */
#define PL_RESCUE_DONE   1e-18 /* of |R|^2: pl_newton does the rest */
#define PL_RESCUE_FLAT   1e-8  /* of the largest entry of diag(N): a smaller one is replaced by it */
#define PL_RESCUE_HARD   1e18  /* mu beyond which nothing helps */
#define PL_RESCUE_ALL    40000 /* evaluations of loops, of one start */
#define PL_RESCUE_EVENT  10000 /* ... of an event */
#define PL_RESCUE_GUESS  (-1)  /* unknowns stay at their guesses */

/* A number between -1 and 1 that looks like chance (Marsaglia, Xorshift RNGs, J. Stat. Soft. 8, 2003). */
static PL_UNUSED pl_real pl_rescue_chance(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (pl_real)*state / 2147483648.0 - 1.0;
}

/* R = W r, or asinh(W r). */
static PL_UNUSED pl_real pl_rescue_row(pl_real r, pl_real weight, int is_bent) {
    return is_bent ? asinh(weight * r) : weight * r;
}

/* |R|^2, or infinity. */
static PL_UNUSED pl_real pl_rescue_merit(int n, const pl_real *r, const pl_real *weight, int is_bent) {
    pl_real sum = 0.0;
    for (int i = 0; i < n; i++) {
        const pl_real row = pl_rescue_row(r[i], weight[i], is_bent);
        sum += row * row;
    }
    return sum - sum == 0.0 ? sum : HUGE_VAL;
}

/* Rows of equal size: by their largest derivative times the scale of its unknown, else by what they are. 0: not finite. */
static PL_UNUSED int pl_rescue_weights(int n, const pl_real *r, const pl_real *a, const pl_real *scale,
                                       pl_real *weight) {
    for (int i = 0; i < n; i++) {
        pl_real largest = 0.0;
        for (int j = 0; j < n; j++) {
            const pl_real here = fabs(a[i * n + j] * scale[j]);
            if (here - here != 0.0) return 0;
            largest = pl_max(largest, here);
        }
        if (r[i] - r[i] != 0.0) return 0;
        largest =
            pl_max(largest, 1e-3 * fabs(r[i])); /* a slope that is nearly zero must not make it count alone */
        weight[i] = largest > 0.0 ? 1.0 / largest : 1.0;
    }
    return 1;
}

typedef struct pl_rescue_step {
    pl_real normal[PL_RESCUE_MAX * PL_RESCUE_MAX], system[PL_RESCUE_MAX * PL_RESCUE_MAX];
    pl_real right[PL_RESCUE_MAX], largest[PL_RESCUE_MAX], scale[PL_RESCUE_MAX], weight[PL_RESCUE_MAX];
} pl_rescue_step;

/* N and -J^T R in scaled unknowns; 0: not finite. a becomes J. */
static PL_UNUSED int pl_rescue_normal(int n, const pl_real *r, pl_real *a, int is_bent, pl_rescue_step *s) {
    pl_real top = 0.0;
    for (int i = 0; i < n; i++) {
        const pl_real slope = is_bent ? 1.0 / hypot(1.0, s->weight[i] * r[i]) : 1.0;
        for (int j = 0; j < n; j++) a[i * n + j] *= s->scale[j] * (s->weight[i] * slope);
    }
    for (int j = 0; j < n; j++) {
        s->right[j] = 0.0;
        for (int i = 0; i < n; i++) s->right[j] -= a[i * n + j] * pl_rescue_row(r[i], s->weight[i], is_bent);
        for (int k = 0; k <= j; k++) {
            pl_real sum = 0.0;
            for (int i = 0; i < n; i++) sum += a[i * n + j] * a[i * n + k];
            if (sum - sum != 0.0) return 0;
            s->normal[j * n + k] = s->normal[k * n + j] = sum;
        }
        s->largest[j] = pl_max(s->largest[j], s->normal[j * n + j]);
        top = pl_max(top, s->largest[j]);
    }
    for (int j = 0; j < n; j++) s->largest[j] = pl_max(s->largest[j], PL_RESCUE_FLAT * top);
    return top > 0.0;
}

/* Damped steps from z, as long as they help; how many. work: n * (n + 3) numbers. */
static PL_UNUSED int pl_rescue_descend(pl_loop loop, void *self, pl_real t, const pl_real *x,
                                       const pl_real *u, int n, pl_real *z, const pl_real *nominal,
                                       pl_real *r, pl_real *work, int *pivot, int is_bent) {
    pl_real *a = work, *d = work + n * n, *trial = d + n, mu = 1e-3, growth = 2.0;
    pl_rescue_step s;
    int steps = 0;
    for (int j = 0; j < n; j++) {
        s.scale[j] = pl_max(fabs(z[j]), nominal[j]);
        s.largest[j] = 0.0;
    }
    loop(self, t, x, u, z, r, a);
    if (!pl_rescue_weights(n, r, a, s.scale, s.weight)) return 0;
    pl_real here = pl_rescue_merit(n, r, s.weight, is_bent);
    int fresh = pl_rescue_normal(n, r, a, is_bent, &s);
    for (; fresh && steps < PL_RESCUE_STEPS && here > PL_RESCUE_DONE && mu < PL_RESCUE_HARD; steps++) {
        pl_real expected = 0.0;
        memcpy(s.system, s.normal, (size_t)(n * n) * sizeof(pl_real));
        for (int j = 0; j < n; j++) {
            s.system[j * n + j] += mu * s.largest[j];
            d[j] = s.right[j];
        }
        const int bad = pl_small_system(n, s.system, pivot, d);
        for (int j = 0; j < n; j++) {
            expected += d[j] * (mu * s.largest[j] * d[j] + s.right[j]);
            trial[j] = z[j] + s.scale[j] * d[j];
        }
        if (!bad) loop(self, t, x, u, trial, r, NULL);
        const pl_real after = bad ? HUGE_VAL : pl_rescue_merit(n, r, s.weight, is_bent),
                      gain = (here - after) / expected;
        if (!(gain > 0.0)) {
            mu *= growth;
            growth *= 2.0;
            continue;
        }
        const pl_real cube = 2.0 * gain - 1.0;
        mu *= pl_max(1.0 / 3.0, 1.0 - cube * cube * cube);
        growth = 2.0;
        here = after;
        memcpy(z, trial, (size_t)n * sizeof(pl_real));
        loop(self, t, x, u, z, r, a);
        fresh = pl_rescue_normal(n, r, a, is_bent, &s);
    }
    return steps;
}

/* Is z the guess, but for what counts as zero? */
static PL_UNUSED int pl_rescue_stays(int n, const pl_real *z, const pl_real *guess, const pl_real *nominal) {
    for (int i = 0; i < n; i++)
        if (fabs(z[i] - guess[i]) > PL_NEWTON_FLOOR * (fabs(guess[i]) + nominal[i])) return 0;
    return 1;
}

/* As pl_newton, from `guess`; z receives the solution. `left`: evaluations, or PL_RESCUE_GUESS. */
static PL_UNUSED int pl_rescue(int *left, pl_loop loop, void *self, pl_real t, const pl_real *x,
                               const pl_real *u, int n, pl_real *z, const pl_real *guess,
                               const pl_real *nominal, pl_real *r, pl_real *work, int *pivot, pl_real *det) {
    uint32_t state = 2463534242u;
    int failed = -1, has_slope = 1;
    if (*left == PL_RESCUE_GUESS) {
        memcpy(z, guess, (size_t)n * sizeof(pl_real));
        return 0;
    }
    loop(self, t, x, u, guess, r, work);
    for (int k = 0; k < n * n; k++) has_slope &= work[k] - work[k] == 0.0;
    for (int attempt = 0; attempt < PL_RESCUE_TRIES && failed && *left > 1; attempt++) {
        const int place = attempt / 2; /* of each two, the first with bent rows */
        const pl_real share = (place - 1.0) / (PL_RESCUE_TRIES / 2 - 2.0);
        const pl_real far = place ? PL_RESCUE_NEAR * pow(PL_RESCUE_FAR / PL_RESCUE_NEAR, share) : 0.0;
        for (int i = 0; i < n; i++) { /* in turns: upwards, downwards, anywhere */
            const pl_real chance = pl_rescue_chance(&state);
            const pl_real way = place % 3 == 1 ? fabs(chance) : place % 3 == 2 ? -fabs(chance) : chance;
            z[i] = guess[i] + far * way * pl_max(fabs(guess[i]), nominal[i]);
        }
        int steps = PL_RESCUE_STEPS;
        for (int pass = 0; n <= PL_RESCUE_MAX && pass < PL_RESCUE_PASSES && steps > 1; pass++) {
            steps = pl_rescue_descend(loop, self, t, x, u, n, z, nominal, r, work, pivot, attempt % 2 == 0);
            *left -= steps;
        }
        *left = *left > PL_NEWTON_MAX + 1 ? *left - PL_NEWTON_MAX : 1;
        *det = 0.0;
        failed = pl_newton(loop, self, t, x, u, n, z, nominal, r, work, pivot, det, 0.0);
        if (!failed && !has_slope && pl_rescue_stays(n, z, guess, nominal)) failed = -1;
    }
    return failed;
}

#endif
