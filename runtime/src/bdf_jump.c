/* BDF: an input jumps, the history is corrected instead of thrown away.
 *
 * X_k = x^(k)/k! at T, z_k = h^k X_k, input u = sum U_k (t - T)^k on each side; D_k is the change of X_k.
 *   x1       X_1 = f(x, u+)                                   Andersson, Fuehrer & Akesson (2016), eq. (12)
 *   x2       also X_2 = (f_t + f_x X_1 + f_u U_1)/2           eq. (15), as one directional derivative
 *   correct  X_1, X_2 exact; X_3 .. X_q by D_k = (J D_(k-1) + f_u dU_(k-1))/k with the Jacobian of Newton's
 *            iteration, or all exact to X_5 by Taylor series where a test on X_3 says that J alone misses; linear
 *            models: X_(k+1) = (J X_k + f_u U_k)/(k+1). Then order and step are chosen anew:
 *            h_q = (B C_q ||X_(q+1)||)^(-1/(q+1)), C_q = q!/(1 + 1/2 + .. + 1/q) the leading error of BDF at a
 *            uniform step, the largest h_q wins, and the step may not grow for some steps.
 * Beyond the paper: all columns, order and step; nothing is done where the jump is nothing. Where few steps fit between
 * two jumps, every exact coefficient costs as much as a step: there x1, x2 and correct take turns, and the one that
 * has been cheapest stays (a trial of each every now and then).
 */
#include "bdf.h"
#include "control.h"

#include <math.h>
#include <string.h>

#define BIAS_CHOICE 6.0  /* errors of the first step count so much */
#define HOLD        3    /* steps without growth after all columns were installed */
#define LINEAR      0.03 /* relative error of X_3 up to which J propagates the columns */
#define SLIGHT      1.0  /* ... or of a step, in tolerances */
#define TEST_EVERY  5    /* jumps between two tests */
#define NEGLIGIBLE  10.0 /* in tolerances: a predictor wrong by less in a step needs its x1 only */
#define FEW_STEPS   1.3  /* between two jumps: cheap corrections may win */
#define BLOCK       6    /* jumps of one strategy before it is judged */
#define JUDGED      80   /* jumps until all are tried again */

static pl_real *column(pl_bdf *s, int k) {
    return pl_bdf_z(s, s->valid, k);
}

/* Columns being made: the other copy of the history, as X_k without powers of h. */
static pl_real *fresh(pl_bdf *s, int k) {
    return pl_bdf_z(s, 1 - s->valid, k);
}

/* k-th coefficient about t of segment `segment`. */
static void input_coefficient(const pl_inputs *in, int segment, pl_real t, int k, pl_real *out) {
    int n_u = in->n_u, degree = in->degree;
    const pl_real *c = in->coefficient + (size_t)segment * (size_t)(degree + 1) * (size_t)n_u;
    pl_real dt = t - in->start[segment];
    for (int j = 0; j < n_u; j++) {
        pl_real sum = 0.0, binomial = 1.0, power = 1.0;
        for (int m = k; m <= degree; m++) {
            sum += binomial * power * c[m * n_u + j];
            binomial *= (pl_real)(m + 1) / (pl_real)(m + 1 - k);
            power *= dt;
        }
        out[j] = sum;
    }
}

/* Coefficients of the new polynomial (rows 0 .. BDF_MAX_ORDER) and, in one more row at a time, what changed. */
typedef struct jump_inputs {
    pl_real *after;  /* (BDF_MAX_ORDER + 1) * n_u */
    pl_real *change; /* n_u */
    int n_u, degree;
} jump_inputs;

static int input_change(const pl_problem *p, const pl_jump *jump, const jump_inputs *u, int k) {
    int any = 0;
    if (k > u->degree) return 0;
    input_coefficient(p->inputs, jump->segment - 1, jump->t, k, u->change);
    for (int j = 0; j < u->n_u; j++) {
        u->change[j] = u->after[(size_t)k * u->n_u + j] - u->change[j];
        any |= u->change[j] != 0.0 && pl_input_touches(p->model, j);
    }
    return any;
}

static int any_of(const pl_real *v, int n) {
    int any = 0;
    for (int j = 0; j < n; j++) any |= v[j] != 0.0;
    return any;
}

/* df = f_t dt + f_x dx + f_u du; by a difference of f where the model has no directional derivative. */
static pl_status along(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real dt,
                       const pl_real *dx, const pl_real *du, pl_real *df, pl_real *work) {
    const pl_model *m = p->model;
    int n = m->n_x, n_u = m->n_u;
    pl_status status = pl_set_inputs(p, t);
    if (status != PL_OK) return status;
    if (m->jvp) {
        p->count->n_jvp++;
        status = m->jvp(p->self, t, x, p->u, dt, dx, du, df);
        return status == PL_OK && pl_first_nonfinite(n, df) >= 0 ? PL_NONFINITE : status;
    }
    pl_real size = 0.0, reach = 1.0;
    for (int i = 0; dx && i < n; i++) size = fmax(size, fabs(dx[i]) / (p->rtol * fabs(x[i]) + p->atol[i]));
    if (size > 0.0) reach = 1.0 / size; /* a move of one tolerance */
    reach = fmin(reach, 1e-6 * fmax(1.0, fabs(t)));
    for (int i = 0; i < n; i++) work[i] = x[i] + (dx ? reach * dx[i] : 0.0);
    for (int j = 0; du && j < n_u; j++) p->u[j] += reach * du[j];
    p->count->n_rhs++;
    status = m->rhs(p->self, t + reach * dt, work, p->u, df);
    for (int i = 0; i < n; i++) df[i] = (df[i] - f[i]) / reach;
    return status == PL_OK && pl_first_nonfinite(n, df) >= 0 ? PL_NONFINITE : status;
}

/* out = J v with the Jacobian of the last factorisation. */
static void jacobian_times(pl_problem *p, const pl_real *v, pl_real *out) {
    pl_pattern pattern;
    const pl_real *value = pl_linear_jacobian(p->linear, &pattern);
    int n = p->model->n_x;
    for (int i = 0; i < n; i++) out[i] = 0.0;
    for (int j = 0; j < n; j++) {
        if (pattern.start)
            for (int k = pattern.start[j]; k < pattern.start[j + 1]; k++)
                out[pattern.row[k]] += value[k] * v[j];
        else
            for (int i = 0; i < n; i++) out[i] += value[(size_t)j * n + i] * v[j];
    }
}

/* The step size that was in use; the last step was cut short to end at the jump. */
static pl_real usual_step(const pl_bdf *s, const pl_jump *jump) {
    return fmin(jump->t_next - jump->t, fmax(s->h * s->eta_next, s->tau[2]));
}

static int is_linear(const pl_model *m) {
    return (m->flags & PL_MODEL_LINEAR) && (m->flags & PL_MODEL_AUTONOMOUS) && m->jvp != NULL;
}

/* ------------------------------------------------------------------------------------- columns */

/* X_2 in `to` from X_1 in column 1 of the fresh history. */
static pl_status second(pl_bdf *s, pl_problem *p, pl_real t, const jump_inputs *u, pl_real *to) {
    const pl_real *x = column(s, 0), *x1 = fresh(s, 1);
    const pl_real *du = u->degree >= 1 ? u->after + u->n_u : NULL;
    pl_status status = along(p, t, x, x1, 1.0, x1, du, to, pl_bdf_array(s, BDF_Y));
    for (int i = 0; i < s->head.n; i++) to[i] *= 0.5;
    return status;
}

/* X_(k+1) = (J X_k + f_u U_k)/(k + 1) up to X_q: exact for linear models. */
static pl_status linear_columns(pl_bdf *s, pl_problem *p, pl_real t, const jump_inputs *u, int q) {
    int n = s->head.n;
    for (int k = 1; k < q; k++) {
        pl_real *to = fresh(s, k + 1), *part = pl_bdf_array(s, BDF_B);
        jacobian_times(p, fresh(s, k), to);
        if (k <= u->degree && any_of(u->after + (size_t)k * u->n_u, u->n_u)) {
            pl_status status =
                along(p, t, column(s, 0), fresh(s, 1), 0.0, NULL, u->after + (size_t)k * u->n_u, part, NULL);
            if (status != PL_OK) return status;
            for (int i = 0; i < n; i++) to[i] += part[i];
        }
        for (int i = 0; i < n; i++) to[i] /= k + 1;
    }
    return PL_OK;
}

/* D_k from D_(k-1) for k = first .. q, where the fresh columns below `first` are exact. */
static pl_status propagate(pl_bdf *s, pl_problem *p, const pl_jump *jump, const jump_inputs *u, int first,
                           int q) {
    int n = s->head.n;
    pl_real *d = pl_bdf_array(s, BDF_E), *next = pl_bdf_array(s, BDF_B), h = s->h, power = 1.0;
    for (int k = 1; k < first; k++) power *= h;
    const pl_real *old = column(s, first - 1), *now = fresh(s, first - 1);
    for (int i = 0; i < n; i++) d[i] = now[i] - old[i] / power;
    for (int k = first; k <= q; k++) {
        power *= h;
        jacobian_times(p, d, next);
        for (int i = 0; i < n; i++) d[i] = next[i];
        if (input_change(p, jump, u, k - 1)) {
            pl_status status = along(p, jump->t, column(s, 0), fresh(s, 1), 0.0, NULL, u->change, next,
                                     pl_bdf_array(s, BDF_Y));
            if (status != PL_OK) return status;
            for (int i = 0; i < n; i++) d[i] += next[i];
        }
        const pl_real *z = column(s, k);
        pl_real *to = fresh(s, k);
        for (int i = 0; i < n; i++) {
            d[i] /= k;
            to[i] = z[i] / power + d[i];
        }
    }
    return PL_OK;
}

static pl_status taylor(pl_bdf *s, pl_problem *p, pl_real t, const jump_inputs *u, int order) {
    pl_status status = pl_set_inputs(p, t);
    if (status != PL_OK) return status;
    p->count->n_taylor += order;
    status = p->model->taylor(p->self, order, t, column(s, 0), u->after, fresh(s, 0));
    int bad = status == PL_OK && pl_first_nonfinite(order * s->head.n, fresh(s, 1)) >= 0;
    return bad ? PL_NONFINITE : status;
}

/* Does the old X_3, propagated by J, meet the new one? */
static int propagation_holds(pl_bdf *s, pl_problem *p, const pl_jump *jump, const jump_inputs *u) {
    int n = s->head.n;
    const pl_real *weight = pl_bdf_array(s, BDF_WEIGHT), *exact = fresh(s, 3), *old = column(s, 3);
    pl_real *d = pl_bdf_array(s, BDF_E), *next = pl_bdf_array(s, BDF_B), h = s->h, miss = 0.0, size = 0.0,
            was = 0.0;
    for (int i = 0; i < n; i++) d[i] = fresh(s, 2)[i] - column(s, 2)[i] / (h * h);
    jacobian_times(p, d, next);
    if (input_change(p, jump, u, 2)) {
        if (along(p, jump->t, column(s, 0), fresh(s, 1), 0.0, NULL, u->change, d, pl_bdf_array(s, BDF_Y)) !=
            PL_OK)
            return 0;
        for (int i = 0; i < n; i++) next[i] += d[i];
    }
    for (int i = 0; i < n; i++) {
        pl_real before = old[i] / (h * h * h), w = weight[i];
        pl_real error = (before + next[i] / 3.0 - exact[i]) * w;
        miss += error * error;
        size += exact[i] * exact[i] * w * w;
        was += before * before * w * w;
    }
    /* what is wrong must also matter: in a step of the size that was in use, against the tolerance */
    pl_real reach = usual_step(s, jump);
    pl_real matters = SLIGHT / (reach * reach * reach);
    return miss <= fmax(LINEAR * LINEAR * fmax(size, was), matters * matters * n);
}

/* How many coefficients to ask the model's own series for; 0: f and a directional derivative do. */
static int series_order(const pl_bdf *s, const pl_model *m) {
    if (m->mass.start) return BDF_MAX_ORDER; /* algebraic unknowns jump themselves: nothing old is of use */
    if (!m->taylor || s->jumps.small || (is_linear(m) && s->steps_jacobian >= 0)) return 0;
    if (s->jumps.linear != 1 || s->steps_jacobian < 0) return BDF_MAX_ORDER; /* likely to be needed again */
    return s->jumps.number % TEST_EVERY == 0 ? 3 : 0;
}

/* X_1, by the series (`order` coefficients at once) or by f. */
static pl_status first(pl_bdf *s, pl_problem *p, const pl_jump *jump, const jump_inputs *u, int order) {
    if (order > 0) return taylor(s, p, jump->t, u, order);
    return pl_rhs(p, jump->t, column(s, 0), fresh(s, 1));
}

/* All columns of the fresh history that can be had, X_1 or the first `order` being there; *known: how many. */
static pl_status all_columns(pl_bdf *s, pl_problem *p, const pl_jump *jump, const jump_inputs *u, int order,
                             int *known) {
    int q = s->q, can_propagate = s->steps_jacobian >= 0;
    if (p->model->mass.start) {
        *known = BDF_MAX_ORDER;
        return PL_OK;
    }
    if (is_linear(p->model) && can_propagate) {
        *known = s->q_max;
        return linear_columns(s, p, jump->t, u, s->q_max);
    }
    if (order == 0) {
        pl_status status = second(s, p, jump->t, u, fresh(s, 2));
        if (status != PL_OK) return status;
        *known = q > 2 && can_propagate ? q : 2;
        return *known > 2 ? propagate(s, p, jump, u, 3, q) : PL_OK;
    }
    if (q >= 3 && can_propagate) s->jumps.linear = propagation_holds(s, p, jump, u);
    *known = BDF_MAX_ORDER;
    if (order == BDF_MAX_ORDER) return PL_OK;
    if (s->jumps.linear != 1) return taylor(s, p, jump->t, u, BDF_MAX_ORDER);
    *known = q > 3 ? q : 3;
    return q > 3 ? propagate(s, p, jump, u, 4, q) : PL_OK;
}

/* x' hardly changes; does x''? Where the slope of an input jumps it may. Asked at times only, as it costs a derivative. */
static pl_status slopes_too(pl_bdf *s, pl_problem *p, const pl_jump *jump, const jump_inputs *u, int *small) {
    int n = s->head.n, any = 0;
    for (int k = 1; k <= u->degree; k++) any |= input_change(p, jump, u, k);
    if (!any || s->q < 2 || (s->jumps.flat > 0 && s->jumps.flat < TEST_EVERY)) {
        s->jumps.flat += any && s->q >= 2;
        return PL_OK;
    }
    pl_real *d = pl_bdf_array(s, BDF_E), h = s->h, reach = usual_step(s, jump);
    pl_status status = second(s, p, jump->t, u, fresh(s, 2));
    if (status != PL_OK) return status;
    for (int i = 0; i < n; i++) d[i] = fresh(s, 2)[i] - column(s, 2)[i] / (h * h);
    *small = reach * reach * pl_weighted_norm(n, d, pl_bdf_array(s, BDF_WEIGHT)) <= NEGLIGIBLE;
    s->jumps.flat = *small;
    return PL_OK;
}

/* ----------------------------------------------------------------------------- order and step */

/* The order and step whose first step has the error allowed, from the norms of the columns. */
static int choose(const pl_real *norm, int known, int q_max, pl_real room, pl_real *h) {
    pl_real tail = norm[known], factorial = 1.0, harmonic = 0.0, best = 0.0;
    int order = 1;
    if (norm[known - 1] > 0.0) tail = norm[known] * norm[known] / norm[known - 1];
    if (known >= 3 && norm[known - 2] > 0.0)
        tail = fmax(tail, norm[known] * sqrt(norm[known] / norm[known - 2]));
    for (int q = 1; q <= q_max && q <= known; q++) {
        factorial *= q;
        harmonic += 1.0 / q;
        pl_real next = q == known ? tail : norm[q + 1];
        pl_real size = BIAS_CHOICE * factorial / harmonic * next;
        pl_real here = size > 0.0 ? pow(1.0 / size, 1.0 / (q + 1)) : room;
        if (here >= best) {
            best = here;
            order = q;
        }
    }
    *h = best;
    return order;
}

/* Fresh columns become the history at an order and step of their own choice. */
static void install(pl_bdf *s, const pl_jump *jump, int known) {
    int n = s->head.n;
    const pl_real *weight = pl_bdf_array(s, BDF_WEIGHT);
    pl_real norm[BDF_COLUMNS], room = jump->t_next - jump->t, h, power = 1.0;
    memcpy(fresh(s, 0), column(s, 0), (size_t)n * sizeof(pl_real));
    for (int k = 0; k <= known; k++) norm[k] = pl_weighted_norm(n, fresh(s, k), weight);
    int q = choose(norm, known, s->q_max, room, &h);
    if (s->h_max > 0.0) h = fmin(h, s->h_max);
    h = fmin(h, room);
    if (room < 12.0 * h) h = room / ceil(room / h * (1.0 - 1e-9));
    for (int k = 1; k <= q; k++) {
        pl_real *z = fresh(s, k);
        power *= h;
        for (int i = 0; i < n; i++) z[i] *= power;
    }
    s->valid = 1 - s->valid;
    s->q = s->q_next = s->head.order = q;
    s->h = s->head.h_next = h;
    for (int i = 1; i <= BDF_MAX_ORDER + 1; i++) s->tau[i] = h;
    s->hold = HOLD;
}

/* ------------------------------------------------------------------------- which strategy pays */

static int64_t work_done(const pl_problem *p) {
    return p->count->n_rhs + p->count->n_jvp + p->count->n_taylor;
}

/* Where few steps fit between jumps, the strategies are tried in turns and the cheapest per unit of time stays. */
static int cheapest(pl_bdf *s, const pl_problem *p, pl_real t) {
    bdf_jumps *j = &s->jumps;
    static const int turn[] = {PL_JUMP_X1, PL_JUMP_X2, PL_JUMP_CORRECT};
    int64_t steps = p->count->n_steps - j->steps_last;
    j->steps_last = p->count->n_steps;
    j->steps_between = j->number == 1 ? 10.0 : 0.5 * j->steps_between + 0.5 * (pl_real)steps;
    if (j->steps_between > FEW_STEPS) {
        j->trial = j->in_block = 0;
        return PL_JUMP_CORRECT;
    }
    if (j->in_block == 0) {
        j->block_work = work_done(p);
        j->block_time = t;
    }
    int length = j->trial < 3 ? BLOCK : JUDGED;
    if (j->in_block++ >= length) {
        if (j->trial < 3)
            j->cost[j->trial] = (pl_real)(work_done(p) - j->block_work) / fmax(t - j->block_time, 1e-300);
        j->trial = j->trial < 3 ? j->trial + 1 : 0;
        j->in_block = 1;
        j->block_work = work_done(p);
        j->block_time = t;
    }
    if (j->trial < 3) return turn[j->trial];
    int best = 0;
    for (int k = 1; k < 3; k++)
        if (j->cost[k] < j->cost[best]) best = k;
    return turn[best];
}

pl_status pl_bdf_jump(void *state, pl_problem *p, const pl_jump *jump, pl_real *work) {
    pl_bdf *s = state;
    int n = s->head.n, known = 1, how = jump->how;
    jump_inputs u = {work, work + (size_t)(BDF_MAX_ORDER + 1) * (size_t)p->model->n_u, p->model->n_u,
                     p->inputs->degree};
    for (int k = 0; k <= BDF_MAX_ORDER; k++)
        input_coefficient(p->inputs, jump->segment, jump->t, k, u.after + (size_t)k * (size_t)u.n_u);
    int any = jump->always;
    for (int k = 0; k <= u.degree; k++) any |= input_change(p, jump, &u, k);
    if (!any || how == PL_JUMP_PROCEED) return PL_OK;
    s->jumps.number++;
    if (how == PL_JUMP_CORRECT && !p->model->mass.start) how = cheapest(s, p, jump->t);
    if (s->q_next != s->q && how != PL_JUMP_CORRECT) {
        pl_bdf_change_order(s, s->q_next);
    }
    int order = how == PL_JUMP_CORRECT ? series_order(s, p->model) : 0;
    pl_status status = pl_bdf_weights(s, p, jump->t);
    if (status == PL_OK && p->model->mass.start) {
        status = pl_consistent(p, jump->t, column(s, 0), fresh(s, 0));
        s->factor_valid = 0; /* the linear block served another purpose */
    }
    if (status == PL_OK) status = first(s, p, jump, &u, order);
    if (status != PL_OK) return status;
    pl_real *z1 = column(s, 1), *d = pl_bdf_array(s, BDF_E), h = s->h;
    const pl_real *f = fresh(s, 1);
    for (int i = 0; i < n; i++) d[i] = h * f[i] - z1[i];
    int small = !p->model->mass.start &&
                pl_weighted_norm(n, d, pl_bdf_array(s, BDF_WEIGHT)) * usual_step(s, jump) <= NEGLIGIBLE * h;
    if (small && how == PL_JUMP_CORRECT && order == 0) status = slopes_too(s, p, jump, &u, &small);
    if (status != PL_OK) return status;
    s->jumps.small = small;
    if (how == PL_JUMP_CORRECT && !small) {
        status = all_columns(s, p, jump, &u, order, &known);
        if (status != PL_OK) return status;
        install(s, jump, known);
        s->eta_next = 1.0;
    } else {
        if (how == PL_JUMP_CORRECT && s->q_next != s->q) pl_bdf_change_order(s, s->q_next);
        if (how == PL_JUMP_X2 && s->q >= 2) {
            status = second(s, p, jump->t, &u, fresh(s, 2));
            if (status != PL_OK) return status;
            for (int i = 0; i < n; i++) column(s, 2)[i] = h * h * fresh(s, 2)[i];
        }
        for (int i = 0; i < n; i++) z1[i] = h * f[i];
    }
    if (s->wait < s->q + 1) s->wait = s->q + 1;
    s->has_saved = 0;
    s->past = 0;
    return PL_OK;
}
