/* Roots of time and discrete memory alone, found ahead of the solver.
 *
 * Between events such a root function g(t) is known for all times to come. The model encloses g and g' on an interval
 * [a, b] (root_range). No turn of the relation lies in it if the bounds keep g on its side, where the bounds are also
 * those that slope and end values give,
 *
 *     g(t) <= min(g(a) + g'_hi (t - a), g(b) - g'_lo (b - t)),   the same from below,
 *
 * or if g is monotone there and its ends are on that side. If g is monotone and its right end is on the other side,
 * the turn is narrowed down to neighbouring numbers. Any other interval is halved, the left half first: what is found
 * is the first turn, and none is missed (Moore, Kearfott & Cloud, Introduction to Interval Analysis, SIAM 2009,
 * section 8.1). A value counts as on the other side once it is there by more than rounding, so that touching is no
 * event; the event itself is the number from which on the relation has its other value, or the zero before it
 * (time > 0.3 turns at 0.3).
 *
 * A root that depends on states, too, is searched the same way within each step, on the path that the dense output
 * gives; what is found is a point beyond the crossing, and event.c locates it.
 *
 * The search goes no further than the next event that is known, and stops early after a number of evaluations; what is
 * clear until then bounds the next step of the solver. Where intervals can be decided by rounding alone, over and
 * over (functions that lie on the line), what counts as rounding grows.
 */
#include "control.h"
#include "run.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ROUNDING    16.0 /* units of rounding within which a value counts as zero */
#define EVALUATIONS 1000 /* of one root in one search */
#define SEARCHES    60   /* in a row, for one step */
#define DEPTH       64   /* halvings of an interval */
#define DULL        100  /* intervals in a row that rounding alone decides, until it counts for more */

typedef struct point {
    pl_real t, g;
    pl_real noise; /* rounding of g, and what g does within the rounding of t */
    pl_real grain; /* rounding of g alone */
    pl_real slope;
    int plateau; /* g stands still here */
} point;

typedef struct look {
    pl_problem *p;
    int root;
    int kink;   /* it is a kink instead, with no memory of its side */
    int holds;  /* the side g < 0 holds now */
    int closed; /* g = 0 is on that side */
    int left;   /* evaluations left */
    int dull;   /* intervals in a row that rounding decided */
    pl_real blunt;
    pl_run *run;       /* for roots of states: whose dense output is the path; else NULL */
    const void *state; /* of its method */
} look;

/* The path of states and inputs between two times of the step. */
static pl_status path_between(look *s, pl_real from, pl_real to, pl_path *path) {
    const pl_method *method = pl_run_method(s->run);
    pl_range *u = (pl_range *)(void *)pl_run_u(s->run);
    for (int end = 0; end < 2; end++) {
        pl_real *x = pl_run_x(s->run, RUN_WORK + 2 * end), *slope = pl_run_x(s->run, RUN_WORK + 2 * end + 1);
        pl_real t = end ? to : from;
        path->x[end] = x;
        path->slope[end] = slope;
        method->interpolate(s->state, t, 0, x);
        method->interpolate(s->state, t, 1, slope);
    }
    path->u = u;
    return s->run->n_u > 0 ? pl_input_ranges(s->p, from, to, u) : PL_OK;
}

static pl_status range_of(look *s, pl_real from, pl_real to, pl_root_range *range) {
    pl_path path;
    pl_status status = s->run ? path_between(s, from, to, &path) : PL_OK;
    if (s->kink)
        status = s->p->model->kink_range(s->p->self, s->root, from, to, range);
    else if (status == PL_OK)
        status = s->p->model->root_range(s->p->self, s->root, from, to, s->run ? &path : NULL, range);
    s->left--;
    if (status != PL_OK) {
        range->g.lo = range->g.slope_lo = -HUGE_VAL;
        range->g.hi = range->g.slope_hi = HUGE_VAL;
        range->scale = 0.0;
    }
    return status;
}

static point point_at(look *s, pl_real t) {
    pl_root_range range;
    point at = {.t = t, .g = NAN};
    if (range_of(s, t, t, &range) != PL_OK) return at;
    if (!s->kink) s->holds = range.holds;
    if (range.g.lo == range.g.hi) at.g = range.g.lo;
    at.slope = 0.5 * (range.g.slope_lo + range.g.slope_hi);
    pl_real steep = fmax(fabs(range.g.slope_lo), fabs(range.g.slope_hi));
    at.plateau = steep == 0.0;
    pl_real unit = ROUNDING * DBL_EPSILON * s->blunt, within = steep < HUGE_VAL ? fabs(t) * steep : 0.0;
    at.grain = range.scale < HUGE_VAL ? unit * range.scale : 0.0;
    at.noise = at.grain + unit * within;
    if (s->run) at.grain = at.noise; /* wider than PL_ROOT_BAND: event.c sees what is found */
    return at;
}

/* Has the relation another value at g? */
static int turned(const look *s, pl_real g) {
    int now = s->closed ? g <= 0.0 : g < 0.0;
    return g == g && now != s->holds;
}

/* ... by more than rounding, or resting on zero. */
static int departed(look *s, const point *at) {
    if (!turned(s, at->g)) return 0;
    if (fabs(at->g) > at->noise) return 1;
    if (at->g != 0.0 || !at->plateau) return 0;
    point next = point_at(s, at->t + 64.0 * DBL_EPSILON * fabs(at->t) + DBL_MIN); /* not a mere touch? */
    return next.g == 0.0 && next.plateau;
}

/* Least upper bound of g on [a, b] that slope and end values give; the negative of it for -g from below. */
static pl_real tent(pl_real g_a, pl_real g_b, pl_real width, pl_real lowest, pl_real highest) {
    if (!(highest < HUGE_VAL && lowest > -HUGE_VAL)) return HUGE_VAL;
    if (!(highest > 0.0)) return g_a;
    if (!(lowest < 0.0)) return g_b;
    return (highest * g_b - lowest * g_a - lowest * highest * width) / (highest - lowest);
}

/* Can the relation nowhere inside have its other value, by more than rounding? 2: rounding alone says so. */
static int stays(const look *s, const point *a, const point *b, const pl_range *r) {
    pl_real width = b->t - a->t, grain = fmax(a->grain, b->grain);
    pl_real hi = fmin(r->hi, tent(a->g, b->g, width, r->slope_lo, r->slope_hi));
    pl_real lo = fmax(r->lo, -tent(-a->g, -b->g, width, -r->slope_hi, -r->slope_lo));
    /* where zero itself is on the other side, functions may rest there */
    int rests = s->holds != s->closed;
    if (s->holds ? hi < 0.0 || (hi == 0.0 && !rests) : lo > 0.0 || (lo == 0.0 && !rests)) return 1;
    if (hi <= grain && lo >= -grain) return 2;
    return !rests && (s->holds ? hi <= grain : lo >= -grain) ? 2 : 0;
}

/* The turn in [a, b], not yet turned at a, turned at b: by secants, then bisection, to neighbouring numbers. */
static point narrowed(look *s, point a, point b) {
    if (turned(s, a.g)) return a; /* ahead of its side by rounding, and going on */
    for (int count = 0; count < 200; count++) {
        pl_real width = b.t - a.t, middle = a.t + 0.5 * width, t = middle;
        pl_real least = nextafter(a.t, b.t) - a.t;
        if (!(middle > a.t && middle < b.t)) break;
        if (count % 3 != 2 && a.g == a.g && b.g == b.g && a.g != b.g) {
            /* a secant, pushed across the root so that both ends come near */
            t = a.t + width * (a.g / (a.g - b.g));
            t += count % 3 == 0 ? 2.0 * least : -2.0 * least;
            if (!(t > a.t && t < b.t)) t = t <= a.t ? nextafter(a.t, b.t) : nextafter(b.t, a.t);
            if (!(t > a.t && t < b.t)) t = middle;
        }
        point at = point_at(s, t);
        if (turned(s, at.g))
            b = at;
        else
            a = at;
    }
    if (a.g != 0.0) return b;
    point before = point_at(s, nextafter(a.t, -HUGE_VAL));
    return before.g == 0.0 ? b : a; /* after a rest on zero it turns where it leaves */
}

/* Search (a, t_end]. Returns 1 if a turn was found, in *turn; else it is clear up to *clear. */
static int search(look *s, pl_real t, pl_real t_end, point *turn, pl_real *clear) {
    point a = point_at(s, t), stack[DEPTH];
    pl_real shortest = ldexp(t_end - t, 2 - DEPTH);
    int depth = 1;
    *clear = t;
    if (departed(s, &a)) {
        *turn = a;
        return 1;
    }
    stack[0] = point_at(s, t_end);
    while (depth > 0) {
        const point *b = &stack[depth - 1];
        pl_root_range range;
        if (s->left <= 0) return 0;
        range_of(s, a.t, b->t, &range);
        const pl_range *g = &range.g;
        pl_real width = b->t - a.t, middle = a.t + 0.5 * width;
        int monotone = g->slope_lo >= 0.0 || g->slope_hi <= 0.0, away = departed(s, b);
        int tiny = width <= fmax(shortest, ROUNDING * s->blunt * DBL_EPSILON * fabs(b->t)) ||
                   !(middle > a.t && middle < b->t);
        if (away && (monotone || tiny)) {
            *turn = s->run ? *b : narrowed(s, a, *b);
            if (turn->t == t)
                turn->t = nextafter(t, t_end); /* where it stands, it has its value: right behind it */
            return 1;
        }
        int known = monotone && a.g == a.g && b->g == b->g, kept = away || known ? 0 : stays(s, &a, b, g);
        if ((known && !away) || kept || tiny || depth == DEPTH) {
            int dull = kept == 2 || (tiny && !known);
            s->dull = dull ? s->dull + 1 : 0;
            if (!dull) s->blunt = fmax(1.0, 0.5 * s->blunt);
            if (s->dull >= DULL) {
                s->blunt *= 2.0;
                s->dull = 0;
            }
            a = *b;
            *clear = a.t;
            depth--;
            continue;
        }
        stack[depth] = point_at(s, middle);
        depth++;
    }
    return 0;
}

/* --------------------------------------------------------------------------------------------- all roots */

static int is_timed(const pl_model *m, int i) {
    return m->root_kind && (m->root_kind[i] & PL_ROOT_TIMED);
}

void pl_ahead_init(pl_run *r, const pl_model *m, pl_real t) {
    r->t_turn = HUGE_VAL;
    r->t_clear = r->n_ahead > 0 ? t : HUGE_VAL;
    for (int i = 0; i < r->n_ahead; i++) {
        pl_run_ahead(r, RUN_TURN)[i] = HUGE_VAL;
        pl_run_ahead(r, RUN_CLEAR)[i] = is_timed(m, i) ? t : HUGE_VAL;
        pl_run_ahead(r, RUN_BLUR)[i] = 0.0;
        pl_run_ahead(r, RUN_BLUNT)[i] = 1.0;
    }
}

/* Times nearer to each other than this are one. */
static pl_real same_time(pl_real t) {
    return 2.0 * pl_smallest_step(t);
}

/* One root up to t_end at most. */
static void search_root(pl_run *r, pl_problem *p, int i, pl_real t_end) {
    pl_real *turn = pl_run_ahead(r, RUN_TURN), *clear = pl_run_ahead(r, RUN_CLEAR);
    look s = {.p = p,
              .root = i,
              .closed = (p->model->root_kind[i] & PL_ROOT_CLOSED) != 0,
              .left = EVALUATIONS,
              .blunt = pl_run_ahead(r, RUN_BLUNT)[i]};
    point found;
    pl_real from = fmax(clear[i], r->t_reached);
    int any = search(&s, from, t_end, &found, &clear[i]);
    pl_run_ahead(r, RUN_BLUNT)[i] = any ? 1.0 : s.blunt;
    if (!any) return;
    turn[i] = found.t;
    clear[i] = HUGE_VAL;
    pl_real steep = fabs(found.slope), most = 64.0 * same_time(found.t);
    pl_run_ahead(r, RUN_BLUR)[i] = steep > 0.0 ? fmin(found.noise / steep, most) : 0.0;
}

void pl_ahead_search(pl_run *r, pl_problem *p, pl_real wanted) {
    pl_real *turn = pl_run_ahead(r, RUN_TURN), *clear = pl_run_ahead(r, RUN_CLEAR);
    pl_real last = fmin(r->t_stop, r->next_time);
    wanted = fmax(wanted, r->t_reached + 1e3 * pl_smallest_step(r->t_reached)); /* room for a step */
    for (int count = 0; count < SEARCHES; count++) {
        pl_real end = fmin(last, r->t_turn);
        if (r->t_clear >= fmin(end, wanted)) return;
        r->t_clear = HUGE_VAL;
        for (int i = 0; i < r->n_ahead; i++) {
            /* a little further: what turns at the end itself is found by what it does after it */
            pl_real beyond = end + 1e-9 * (end - r->t_reached) + 64.0 * same_time(end);
            if (clear[i] < end) search_root(r, p, i, beyond);
            r->t_turn = fmin(r->t_turn, turn[i]);
            r->t_clear = fmin(r->t_clear, clear[i]);
            end = fmin(end, r->t_turn);
        }
    }
    if (r->t_clear >= r->t_reached + 1e3 * pl_smallest_step(r->t_reached)) return; /* the step is cut short */
    r->t_clear = HUGE_VAL; /* a function that nothing can be said of: go on without */
    for (int i = 0; i < r->n_ahead; i++) {
        clear[i] = fmax(clear[i], wanted);
        r->t_clear = fmin(r->t_clear, clear[i]);
    }
}

int pl_ahead_fire(pl_run *r, pl_problem *p, pl_real t) {
    const pl_real *turn = pl_run_ahead(r, RUN_TURN), *blur = pl_run_ahead(r, RUN_BLUR);
    int count = 0;
    pl_real room = same_time(t);
    for (int i = 0; i < r->n_ahead; i++) /* how far around t others count as the same event */
        if (turn[i] <= t) room = fmax(room, blur[i]);
    for (int i = 0; i < r->n_ahead; i++) {
        pl_root_range range = {.holds = 0};
        if (!(turn[i] <= t + fmax(room, blur[i]))) continue;
        p->model->root_range(p->self, i, t, t, NULL, &range);
        pl_run_fired(r)[i] = range.holds ? 1 : -1;
        count++;
    }
    return count;
}

pl_real pl_ahead_path(pl_run *r, pl_problem *p, const void *state) {
    const pl_stepper *head = state;
    pl_real first = head->t;
    for (int i = 0; i < r->n_roots; i++) {
        int kind = p->model->root_kind[i];
        if (!(kind & PL_ROOT_PATH) || !(first > r->t_left)) continue;
        look s = {.p = p,
                  .root = i,
                  .closed = (kind & PL_ROOT_CLOSED) != 0,
                  .left = EVALUATIONS,
                  .blunt = 1.0,
                  .run = r,
                  .state = state};
        point found;
        pl_real clear;
        if (search(&s, r->t_left, first, &found, &clear) && found.t > r->t_left) first = found.t;
    }
    return first < head->t ? first : HUGE_VAL;
}

pl_real pl_ahead_kink(pl_problem *p, pl_real from, pl_real to) {
    pl_real first = to;
    for (int i = 0; i < p->model->n_kinks; i++) {
        look s = {.p = p, .root = i, .kink = 1, .left = EVALUATIONS, .blunt = 1.0};
        point found;
        pl_real clear;
        s.holds = point_at(&s, from).g < 0.0;
        if (search(&s, from, first, &found, &clear)) first = fmin(first, found.t);
    }
    return first;
}

void pl_ahead_forget(pl_run *r, const pl_model *m, pl_real t) {
    pl_real *turn = pl_run_ahead(r, RUN_TURN), *clear = pl_run_ahead(r, RUN_CLEAR);
    r->t_turn = HUGE_VAL;
    r->watch.kink = t;
    if (r->n_ahead > 0) r->t_clear = HUGE_VAL;
    for (int i = 0; i < r->n_ahead; i++) {
        if (!is_timed(m, i)) continue;
        int near = turn[i] <= t + 1e-12 * fabs(t) + 64.0 * same_time(t);
        if (near || (m->root_kind[i] & PL_ROOT_MEMORY)) {
            turn[i] = HUGE_VAL;
            clear[i] = t;
        }
        r->t_turn = fmin(r->t_turn, turn[i]);
        r->t_clear = fmin(r->t_clear, clear[i]);
    }
}
