/* When Newton does not converge though the Jacobian is new: are the increments to blame?
 *
 * Each column is differenced three times more: with sigma 2^7, sigma 2^-7 and -sigma. Truncation grows with sigma, rounding
 * and noise with 1/sigma; f may jump on one side. So a column that agrees with its neighbour below is right; where it does
 * not, the neighbour that disagrees less tells which error rules, and the column moves towards it. Exceptions: where both
 * sides agree with each other f bends within the increment; where the smaller increment and the other side agree, f has a
 * jump or a kink on this side, and the other is taken; where a smaller increment shows less slope, and larger ones agree on
 * more, part of f drowned in rounding.
 * The increment taken bounds those of the Jacobians to come: the curvature scale as past differences show it (Renstroem 2024,
 * 8.2, proposes such a solver; comparing two increments: Curtis & Reid, J. Inst. Maths Applics 13 (1974) 121-126). What did
 * not help is forgotten, and a look in vain makes the next ones rarer: most failures come from steps too large.
 */
#include "linear.h"
#include "record.h"

#include <float.h>
#include <math.h>

#define FAR          128.0               /* between increments that are compared */
#define AGREE        0.05                /* of the column's size */
#define JUMPS        (0.5 * (FAR - 1.0)) /* the slope of a jump grows as the increment falls */
#define MOST_SHARE   1e-3                /* of a state that an increment may grow to */
#define MOST_WEIGHTS 64.0                /* ... or so many weights */
#define HALF         0.5
#define MATERIAL     0.1  /* a column that changes by less does not explain anything */
#define ROUNDINGS    16.0 /* of f in a difference */
#define MOST_PATIENT 64

typedef struct column {
    pl_real size, up_size;    /* of the entries, and of those that the larger increment shows, in weights */
    pl_real up, down, turned; /* distance of the neighbours from it */
    pl_real between;          /* distance of down and turned */
    pl_real rounding_down;    /* what rounding makes of the smaller increment */
    pl_real lost;             /* slope that the smaller increment does not show any more */
    pl_real silent; /* entries that only the larger increment shows: drowned in quanta of rounding */
} column;

static pl_real weight_of(const pl_problem *p, const pl_real *x, int i) {
    pl_real w = p->rtol * fabs(x[i]) + p->atol[i];
    return w > 0.0 ? 1.0 / w : 1.0;
}

/* Compare column j with its three neighbours; f at them in fp[0..2], NULL: refused there. */
static column compare(const pl_problem *p, int j, const pl_real *x, const pl_real *f, pl_real *const fp[3]) {
    const pl_linear *lin = p->linear;
    const pl_real *jac = PL_CONST_AT(lin, pl_real, lin->jac);
    pl_real sigma = PL_CONST_AT(lin, pl_real, lin->sigma)[j];
    pl_entries e = pl_entries_of(lin, j);
    column c = {0.0, 0.0, HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL, 0.0, 0.0, 0.0};
    if (fp[0]) c.up = 0.0;
    if (fp[1]) c.down = 0.0;
    if (fp[2]) c.turned = 0.0;
    if (fp[1] && fp[2]) c.between = 0.0;
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        pl_real w = weight_of(p, x, i), v = jac[k];
        pl_real up = fp[0] ? (fp[0][i] - f[i]) / (FAR * sigma) : v;
        pl_real down = fp[1] ? (fp[1][i] - f[i]) * FAR / sigma : v;
        pl_real turned = fp[2] ? (f[i] - fp[2][i]) / sigma : v;
        c.size = fmax(c.size, fabs(v) * w);
        c.up_size = fmax(c.up_size, fabs(up) * w);
        if (fp[0]) c.up = fmax(c.up, fabs(up - v) * w);
        if (fp[1]) c.down = fmax(c.down, fabs(down - v) * w);
        if (fp[1]) c.lost = fmax(c.lost, (fabs(v) - fabs(down)) * w);
        if (fp[2]) c.turned = fmax(c.turned, fabs(turned - v) * w);
        if (fp[1] && fp[2]) c.between = fmax(c.between, fabs(turned - down) * w);
        if (fp[0] && fp[0][i] != f[i] && fp[1] && fp[1][i] == f[i]) c.silent = fmax(c.silent, fabs(up) * w);
        c.rounding_down = fmax(c.rounding_down, ROUNDINGS * DBL_EPSILON * fabs(f[i]) * FAR / fabs(sigma) * w);
    }
    return c;
}

/* A column that agrees below and shows more slope above: f bends, or part of it drowns in rounding. */
static int may_drown(const column *c) {
    return c->down <= fmax(AGREE * c->size, c->rounding_down) && c->up <= HUGE_VAL &&
           c->up > AGREE * c->size && c->up_size > c->size;
}

/* Do the slopes of the larger increment and of one as much larger again agree? A bend would go on. */
static int levels_off(const pl_problem *p, int j, const pl_real *x, const pl_real *f, const pl_real *up,
                      const pl_real *beyond) {
    const pl_linear *lin = p->linear;
    pl_entries e = pl_entries_of(lin, j);
    pl_real size = 0.0, apart = 0.0;
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        pl_real w = weight_of(p, x, i), near = up[i] - f[i], far = (beyond[i] - f[i]) / FAR;
        size = fmax(size, fabs(far) * w);
        apart = fmax(apart, fabs(far - near) * w);
    }
    return apart <= MATERIAL * size;
}

/* Increments grow to a thousandth of the state, or to some weights, and not beyond. */
static int may_grow(const pl_problem *p, int j, pl_real x) {
    const pl_linear *lin = p->linear;
    pl_real size = fmax(fabs(x), PL_CONST_AT(lin, pl_real, lin->seen)[j]);
    pl_real most = fmax(MOST_SHARE * size, MOST_WEIGHTS * (p->rtol * size + p->atol[j]));
    return FAR * fabs(PL_CONST_AT(lin, pl_real, lin->sigma)[j]) <= most;
}

/* Which neighbour to take: 0 up, 1 down, 2 turned, -1 none. */
static int choose(const column *c) {
    pl_real near = AGREE * c->size;
    /* the smaller increment shows nothing where the larger one does, and the column is not what that shows */
    if (c->silent > near && c->up <= HUGE_VAL) return c->up > near ? 0 : -1;
    if (c->down <= fmax(near, c->rounding_down) || c->size == 0.0) return -1;
    if (c->between <= near && c->between < AGREE * c->down) return 2;
    if (c->up <= near) return -1;
    /* both sides agree: no noise; f bends within the increment, or jumps at the point, and then smaller ones are worse */
    if (c->turned <= near && c->down <= HUGE_VAL) return c->down < JUMPS * c->size ? 1 : 0;
    int which = c->down < c->up ? 1 : 0;
    pl_real change = which ? c->down : c->up;
    return change <= HUGE_VAL && change > MATERIAL * c->size ? which : -1;
}

static void adopt(pl_problem *p, int j, pl_real scale, const pl_real *f, const pl_real *fp, pl_real t) {
    pl_linear *lin = p->linear;
    pl_real *jac = PL_AT(lin, pl_real, lin->jac), *sigma = PL_AT(lin, pl_real, lin->sigma);
    pl_real *least = PL_AT(lin, pl_real, lin->least), *most = PL_AT(lin, pl_real, lin->most);
    int8_t *turned = PL_AT(lin, int8_t, lin->turned);
    pl_entries e = pl_entries_of(lin, j);
    PL_AT(lin, int8_t, lin->touched)[j] = 1;
    sigma[j] *= scale;
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        jac[k] = (fp[i] - f[i]) / sigma[j];
    }
    if (scale < 0.0) turned[j] = (int8_t)!turned[j];
    if (scale > 1.0) { /* noise has a size of its own */
        least[j] = fabs(sigma[j]);
        if (most[j] < least[j]) most[j] = 0.0;
    }
    if (scale > 0.0 && scale < 1.0) { /* so have bends */
        most[j] = fabs(sigma[j]);
        if (least[j] > most[j]) least[j] = 0.0;
    }
    pl_note(p, PL_SAW_REPAIRED, j, scale, t);
}

/* The next look comes after twice as many failures. */
static void be_patient(pl_linear *lin) {
    lin->impatience = lin->impatience < MOST_PATIENT ? 2 * lin->impatience : MOST_PATIENT;
    lin->patience = lin->impatience;
}

pl_status pl_jacobian_again(pl_problem *p, pl_real t, const pl_real *x, int *changed) {
    static const pl_real scales[3] = {FAR, 1.0 / FAR, -1.0};
    pl_linear *lin = p->linear;
    *changed = 0;
    if (lin->source != PL_SOURCE_DIFFERENCES || lin->increment != PL_INCREMENT_DEFAULT) return PL_OK;
    if (lin->patience > 0) {
        lin->patience--;
        return PL_OK;
    }
    int n = lin->n;
    pl_real *y = PL_AT(lin, pl_real, lin->scratch), *work = y + n, *f = y + 4 * n, *beyond = y + 5 * n;
    pl_real *sigma = PL_AT(lin, pl_real, lin->sigma);
    pl_status status = pl_rhs(p, t, x, f);
    if (status != PL_OK) return status;
    int8_t *touched = PL_AT(lin, int8_t, lin->touched);
    for (int j = 0; j < n; j++) {
        y[j] = x[j];
        touched[j] = 0;
    }
    p->count->n_rediff++;
    for (int c = 0; c < lin->n_colours; c++) {
        pl_group g = pl_group_of(lin, &c, c);
        pl_real *fp[3];
        for (int k = 0; k < 3; k++) {
            status = pl_moved(p, t, x, g, sigma, scales[k], work + (size_t)k * n);
            if (status != PL_OK && status != PL_RETRY && status != PL_NONFINITE) return status;
            fp[k] = status == PL_OK ? work + (size_t)k * n : NULL;
        }
        int looked = 0;
        for (int k = 0; k < g.count; k++) {
            int j = g.column[k];
            column found = compare(p, j, x, f, fp);
            int which = choose(&found);
            int less = which == 1 && found.lost > HALF * found.down && fp[0];
            if (less || (which < 0 && may_drown(&found))) {
                if (!looked) looked = pl_moved(p, t, x, g, sigma, FAR * FAR, beyond) == PL_OK ? 1 : -1;
                if (looked > 0 && levels_off(p, j, x, f, fp[0], beyond)) which = 0;
            }
            if (which < 0 || !fp[which]) continue;
            if (which == 0 && !may_grow(p, j, x[j])) continue;
            adopt(p, j, scales[which], f, fp[which], t);
            ++*changed;
        }
    }
    if (!*changed) be_patient(lin);
    return PL_OK;
}

void pl_jacobian_vain(pl_problem *p) {
    pl_linear *lin = p->linear;
    pl_real *least = PL_AT(lin, pl_real, lin->least), *most = PL_AT(lin, pl_real, lin->most);
    int8_t *turned = PL_AT(lin, int8_t, lin->turned);
    const int8_t *touched = PL_AT(lin, int8_t, lin->touched);
    for (int j = 0; j < lin->n; j++) {
        if (!touched[j]) continue;
        least[j] = most[j] = 0.0;
        turned[j] = 0;
    }
    be_patient(lin);
}
