/* df/dx: the model's own, its directional derivatives, or differences; the last two by one evaluation for each colour.
 *
 *     J e_j ~ (f(x + sigma_j e_j) - f(x)) / sigma_j,       columns of one colour perturbed together;
 *     central: (f(x + sigma_j e_j) - f(x - sigma_j e_j)) / (2 sigma_j).
 *
 * The increments sigma_j are chosen in increments.c. A point that the model refuses is tried on the other side, then with
 * smaller increments. Where a state is tiny, its own value is its scale only if the differences show more than rounding;
 * otherwise they are taken once more with what the tolerance tells, and that is remembered.
 */
#include "linear.h"
#include "record.h"

#include <float.h>
#include <math.h>

#define ATTEMPTS  8
#define SHRINK    (1.0 / 32.0)
#define FELL      1024.0 /* an increment so much smaller than the last one is looked at */
#define SEVERAL   16.0   /* quanta of rounding give the same slope to twice an increment, not to this many */
#define HALF      0.5
#define CHANGED   1e-4  /* ... if its column changed by this share */
#define AS_BEFORE 0.1   /* ... and did not with the last increment */
#define CLEAR     256.0 /* roundings that a difference must exceed to show more than them */

/* Columns of colour c; without a pattern each column is its own. */
pl_group pl_group_of(const pl_linear *lin, const int *natural, int c) {
    pl_group g = {natural, 1};
    if (lin->has_pattern) {
        const int *start = PL_CONST_AT(lin, int, lin->colour_start);
        g.column = PL_CONST_AT(lin, int, lin->colour) + start[c];
        g.count = start[c + 1] - start[c];
    }
    return g;
}

pl_status pl_moved(pl_problem *p, pl_real t, const pl_real *x, pl_group g, const pl_real *sigma,
                   pl_real scale, pl_real *fp) {
    pl_linear *lin = p->linear;
    pl_real *y = PL_AT(lin, pl_real, lin->scratch); /* equal to x between calls */
    if (scale != 1.0 && !pl_stays_inside(p->model, x, g, sigma, scale)) return PL_RETRY;
    for (int c = 0; c < g.count; c++) y[g.column[c]] = x[g.column[c]] + scale * sigma[g.column[c]];
    pl_status status = pl_rhs(p, t, y, fp);
    for (int c = 0; c < g.count; c++) y[g.column[c]] = x[g.column[c]];
    return status;
}

/* f at the perturbed point; a refusal or a non-finite value is answered by the other side, then smaller steps. */
static pl_status perturbed(pl_problem *p, pl_real t, const pl_real *x, pl_group g, pl_real *sigma,
                           pl_real *fp) {
    pl_status status = PL_OK;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        if (attempt > 0)
            for (int c = 0; c < g.count; c++) {
                int j = g.column[c];
                pl_real smaller = attempt % 2 ? -sigma[j] : SHRINK * sigma[j];
                sigma[j] = pl_within_bounds(p->model, j, x[j], smaller);
            }
        p->count->n_rhs_jac++;
        status = pl_moved(p, t, x, g, sigma, 1.0, fp);
        if (status != PL_RETRY && status != PL_NONFINITE) return status;
        pl_note(p, PL_SAW_REFUSED, g.count == 1 ? g.column[0] : -1, 0.0, t);
    }
    return status;
}

/* Entries of column j from fp - from, over the distance. Divided, not multiplied: the distance may be subnormal. */
static void recover(pl_linear *lin, int j, pl_real distance, const pl_real *fp, const pl_real *from) {
    pl_real *jac = PL_AT(lin, pl_real, lin->jac);
    pl_entries e = pl_entries_of(lin, j);
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        jac[k] = (fp[i] - from[i]) / distance;
    }
}

/* Do the differences of column j show anything but rounding? */
static int shows(const pl_linear *lin, int j, const pl_real *fp, const pl_real *f) {
    pl_entries e = pl_entries_of(lin, j);
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        if (fabs(fp[i] - f[i]) > CLEAR * DBL_EPSILON * fmax(fabs(fp[i]), fabs(f[i]))) return 1;
    }
    return 0;
}

/* One evaluation more than there are colours for each Jacobian so far. */
static int may_ask(pl_linear *lin) {
    if (lin->extra >= lin->evaluated) return 0;
    lin->extra++;
    return 1;
}

/* Columns of the group whose tiny value is no scale get another increment. Returns whether there are some. */
static int doubt(pl_problem *p, const pl_real *x, pl_group g, pl_real *sigma, const pl_real *fp,
                 const pl_real *f) {
    pl_linear *lin = p->linear;
    int8_t *asked = PL_AT(lin, int8_t, lin->asked);
    int count = 0;
    for (int c = 0; c < g.count; c++) {
        int j = g.column[c];
        pl_real better = pl_second_guess(p, j, x[j]);
        if (asked[j] || !(fabs(better) > 2.0 * fabs(sigma[j])) || shows(lin, j, fp, f)) continue;
        if (count == 0 && !may_ask(lin)) return 0;
        sigma[j] = pl_within_bounds(p->model, j, x[j], better);
        asked[j] = 1;
        count++;
    }
    return count;
}

/* How far differences of column j are from its entries before, how large these were, and where it lost most of an entry:
 * where the new slope is smaller; all in weights. */
static pl_real change(const pl_problem *p, int j, pl_real sigma, const pl_real *x, const pl_real *fp,
                      const pl_real *f, pl_real *size, pl_real *lost) {
    const pl_linear *lin = p->linear;
    const pl_real *jac = PL_CONST_AT(lin, pl_real, lin->jac);
    pl_entries e = pl_entries_of(lin, j);
    pl_real most = 0.0;
    *size = *lost = 0.0;
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        pl_real w = p->rtol * fabs(x[i]) + p->atol[i], slope = (fp[i] - f[i]) / sigma;
        if (!(w > 0.0)) continue;
        most = fmax(most, fabs(slope - jac[k]) / w);
        *size = fmax(*size, fabs(jac[k]) / w);
        *lost = fmax(*lost, (fabs(jac[k]) - fabs(slope)) / w);
    }
    return most;
}

/* The rows of column j; no other column of its colour has them. */
static void take_over(const pl_linear *lin, int j, const pl_real *from, pl_real *to) {
    pl_entries e = pl_entries_of(lin, j);
    for (int k = e.first; k < e.last; k++) to[pl_row_of(&e, k)] = from[pl_row_of(&e, k)];
}

/* Largest disagreement, in weights, of the slopes that two increments show; a row that shows nothing where the stored column
 * has an entry disagrees by that entry. */
static pl_real disagreement(const pl_problem *p, int j, const pl_real *x, const pl_real *f, pl_real sigma,
                            const pl_real *near, const pl_real *far) {
    const pl_linear *lin = p->linear;
    const pl_real *jac = PL_CONST_AT(lin, pl_real, lin->jac);
    pl_entries e = pl_entries_of(lin, j);
    pl_real most = 0.0;
    for (int k = e.first; k < e.last; k++) {
        int i = pl_row_of(&e, k);
        pl_real w = p->rtol * fabs(x[i]) + p->atol[i], slope = (near[i] - f[i]) / sigma;
        pl_real other = near[i] == f[i] ? slope + jac[k] : (far[i] - f[i]) / (SEVERAL * sigma);
        if (w > 0.0) most = fmax(most, fabs(other - slope) / w);
    }
    return most;
}

/* Columns whose increment is to fall far below the last one: does the smaller one drown in rounding? Where it changes the
 * column and the last one does not: if it loses slope, part of f drowned; else several times the smaller one decides:
 * rounding gives another slope, a bend of f the same. The next wish then is halfway from one that drowned. One evaluation
 * beyond the colours is allowed for each Jacobian; until it is a column's turn the last increment serves. */
static pl_status descend(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_group g) {
    pl_linear *lin = p->linear;
    const pl_real *wish = PL_AT(lin, pl_real, lin->wish);
    pl_real *fp = PL_AT(lin, pl_real, lin->scratch) + lin->n, *low = fp + lin->n, *more = low + lin->n, size,
            lost, other;
    pl_real *sigma = PL_AT(lin, pl_real, lin->sigma), *drowned = PL_AT(lin, pl_real, lin->drowned);
    int any = 0, compared = 0;
    for (int c = 0; c < g.count; c++) any |= wish[g.column[c]] != 0.0;
    if (!any || !may_ask(lin)) return PL_OK;
    p->count->n_rhs_jac++;
    pl_status status = pl_moved(p, t, x, g, wish, 1.0, low);
    for (int c = 0; c < g.count && status == PL_OK; c++) {
        int j = g.column[c];
        if (wish[j] == 0.0) continue;
        pl_real smaller = change(p, j, wish[j], x, low, f, &size, &lost);
        if (smaller > CHANGED * size &&
            change(p, j, sigma[j], x, fp, f, &size, &other) <= AS_BEFORE * smaller) {
            if (!compared && !may_ask(lin)) continue; /* undecided: the last increment serves once more */
            if (!compared) {
                p->count->n_rhs_jac++;
                status = pl_moved(p, t, x, g, wish, SEVERAL, more);
                compared = 1;
                if (status != PL_OK) break;
            }
            if (lost > HALF * smaller || disagreement(p, j, x, f, wish[j], low, more) > AS_BEFORE * smaller) {
                drowned[j] = fabs(wish[j]);
                continue;
            }
        }
        take_over(lin, j, low, fp);
        sigma[j] = wish[j];
    }
    return status == PL_RETRY || status == PL_NONFINITE ? PL_OK : status;
}

static pl_status difference_group(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_group g) {
    pl_linear *lin = p->linear;
    pl_real *fp = PL_AT(lin, pl_real, lin->scratch) + lin->n, *fm = fp + lin->n;
    pl_real *sigma = PL_AT(lin, pl_real, lin->sigma);
    pl_status status = perturbed(p, t, x, g, sigma, fp);
    if (status == PL_OK && lin->increment == PL_INCREMENT_DEFAULT) {
        if (doubt(p, x, g, sigma, fp, f)) status = perturbed(p, t, x, g, sigma, fp);
        if (status == PL_OK) status = descend(p, t, x, f, g);
    }
    if (status != PL_OK) return status;
    if (lin->central) p->count->n_rhs_jac++;
    int both = lin->central && pl_moved(p, t, x, g, sigma, -1.0, fm) == PL_OK;
    for (int c = 0; c < g.count; c++) {
        int j = g.column[c];
        pl_real low = both ? x[j] - sigma[j] : x[j], distance = (x[j] + sigma[j]) - low;
        /* the literature's rules divide by the increment itself; what rounding makes of x + sigma is part of them */
        if (lin->increment != PL_INCREMENT_DEFAULT && lin->representable == 0)
            distance = both ? 2.0 * sigma[j] : sigma[j];
        recover(lin, j, distance, fp, both ? fm : f);
    }
    return PL_OK;
}

static pl_status differences(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real h) {
    pl_linear *lin = p->linear;
    pl_real *y = PL_AT(lin, pl_real, lin->scratch);
    for (int j = 0; j < lin->n; j++) y[j] = x[j];
    pl_increments(p, x, f, h);
    for (int c = 0; c < lin->n_colours; c++) {
        pl_status status = difference_group(p, t, x, f, pl_group_of(lin, &c, c));
        if (status != PL_OK) return status;
    }
    int64_t k = lin->evaluated; /* the 1st, 2nd, 4th, 8th, .. Jacobian is checked */
    return lin->verify && (k & (k - 1)) == 0 ? pl_verify_pattern(p, t, x, f) : PL_OK;
}

/* The model's directional derivatives along the sum of the unit vectors of each colour. */
static pl_status directional(pl_problem *p, pl_real t, const pl_real *x) {
    pl_linear *lin = p->linear;
    pl_real *direction = PL_AT(lin, pl_real, lin->scratch), *df = direction + lin->n, *zero = df + lin->n;
    pl_status status = pl_set_inputs(p, t);
    for (int j = 0; j < lin->n; j++) direction[j] = zero[j] = 0.0;
    for (int c = 0; c < lin->n_colours && status == PL_OK; c++) {
        pl_group g = pl_group_of(lin, &c, c);
        for (int k = 0; k < g.count; k++) direction[g.column[k]] = 1.0;
        p->count->n_jvp++;
        status = p->model->jvp(p->self, t, x, p->u, 0.0, direction, NULL, df);
        for (int k = 0; k < g.count; k++) direction[g.column[k]] = 0.0;
        for (int k = 0; k < g.count && status == PL_OK; k++) recover(lin, g.column[k], 1.0, df, zero);
    }
    return status;
}

pl_status pl_jacobian(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real h) {
    pl_linear *lin = p->linear;
    const pl_model *m = p->model;
    int64_t before = p->count->n_rhs_jac;
    pl_status status;
    p->count->n_jac++;
    lin->evaluated++;
    if (lin->source == PL_SOURCE_DIFFERENCES) {
        status = differences(p, t, x, f, h);
        pl_note(p, PL_SAW_JACOBIAN, -1, (pl_real)(p->count->n_rhs_jac - before), t);
        if (status != PL_OK) p->failure.what = PL_IN_JACOBIAN;
        return status;
    }
    pl_real *jac = PL_AT(lin, pl_real, lin->jac);
    if (lin->source == PL_SOURCE_DIRECTIONAL) {
        status = directional(p, t, x);
    } else {
        status = pl_set_inputs(p, t);
        if (status == PL_OK) status = m->jac_value(p->self, t, x, p->u, jac);
    }
    pl_note(p, PL_SAW_JACOBIAN, -1, 0.0, t);
    int bad = status == PL_OK ? pl_first_nonfinite(lin->n_jac, jac) : -1;
    if (bad >= 0) {
        status = PL_NONFINITE;
        bad = lin->has_pattern ? PL_AT(lin, int, lin->jac_row)[bad] : bad % lin->n;
    }
    if ((status == PL_NONFINITE || status == PL_RETRY) && lin->fallback) {
        /* derivatives may overflow where f does not: exp(a)/(1 + exp(a))^2 */
        pl_status differenced = differences(p, t, x, f, h);
        if (differenced == PL_OK) return PL_OK;
    }
    return status == PL_OK ? PL_OK : pl_failed(p, status, PL_IN_JACOBIAN, bad, t);
}
