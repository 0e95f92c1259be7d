/* Consistent start values of a model.
 *
 *     Newton   conditions and algebraic equations together (start_newton.c), or algebraic ones alone (initial.c)
 *     events   relations are taken anew between solutions until they are at rest
 *     homotopy where the model says homotopy(actual, simplified), lambda goes from 0 to 1: of several solutions the model
 *              means the one that this leads to. Where the path cannot be followed, the actual equations from the guesses
 *     rescue   otherwise the same once more, loops inside f solved by all means (pliant_rescue.h)
 *     chance   otherwise other guesses of the free states, further and further away: the loops of the model may have no
 *              solution at the first. So, too, where an assertion forbids the solution that was found
 *
 * A point (`held`) need not satisfy initial equations: states that are not given stay where the model starts; where a given
 * variable is no state, the states that are left move as little as they can.
 */
#include "start.h"

#include <math.h>
#include <string.h>

#define MAX_ELSEWHERE 60  /* other guesses of the free states */
#define CONSISTENT    1.0 /* tolerance units by which algebraic start values may miss their equations */

static size_t bytes(int n) {
    return (size_t)n * sizeof(pl_real);
}

/* ------------------------------------------------------------------------------------------------- failures */

pl_status pl_start_fail(pl_search *s, int what, pl_status status) {
    pl_start_failure *failure = &s->report->failure;
    failure->what = what;
    failure->status = status;
    failure->index = -1;
    failure->n_rows = failure->n_open = failure->known = 0;
    failure->value = 0.0;
    failure->words[0] = 0;
    return status < 0 ? status : PL_FATAL;
}

static const char *words_of(const pl_search *s) {
    const char *words = s->m->error ? s->m->error(s->self) : NULL;
    return words ? words : "";
}

static pl_status fail_in_words(pl_search *s, int what, pl_status status) {
    const char *words = words_of(s);
    char *to = s->report->failure.words;
    pl_status failed = pl_start_fail(s, words[0] ? PL_START_MODEL : what, status);
    for (int i = 0; i < PL_START_WORDS - 1 && words[i]; i++) {
        to[i] = words[i];
        to[i + 1] = 0;
    }
    return failed;
}

pl_status pl_start_refused(pl_search *s, pl_status status) {
    return fail_in_words(s, PL_START_MODEL, status);
}

/* ---------------------------------------------------------------------------------------------------- model */

pl_status pl_start_evaluate(pl_search *s) {
    const int first = 0;
    pl_real y;
    pl_status status = s->m->rhs(s->self, s->t, s->x, s->u, s->f);
    /* loops that only outputs need are solved, too */
    if (status == PL_OK && s->m->n_y) status = s->m->outputs(s->self, s->t, s->x, s->u, 1, &first, &y);
    return status == PL_OK ? PL_OK : pl_start_refused(s, status);
}

void pl_start_accept(pl_search *s) {
    if (s->in->accept) s->in->accept(s->self);
}

/* Algebraic unknowns by the runtime's own iteration, sparse; PL_OK or the status of it. */
static pl_status consistent(pl_problem *p, const pl_start_request *q, pl_real *x, pl_real *given,
                            pl_real *work) {
    int n = p->model->n_x;
    if (!p->linear) return PL_ARGUMENT;
    memcpy(given, x, bytes(n));
    for (;;) {
        pl_status status = pl_consistent(p, q->t, x, work);
        if ((status != PL_MEMORY && status != PL_PATTERN) || !q->relinearise) return status;
        pl_status again = q->relinearise(q->host, p, status);
        if (again != PL_OK) return again;
        memcpy(x, given, bytes(n));
    }
}

pl_status pl_start_algebraic(pl_search *s) {
    pl_status status = consistent(s->p, s->q, s->x, s->given_x, s->linear);
    return status == PL_OK ? PL_OK : pl_start_fail(s, PL_START_ALGEBRAIC, status);
}

/* ------------------------------------------------------------------------------------------------ relations */

/* What an event at the start may call: x at this place, made to fit the relations that are being tried; as before if that
 * fails. */
static pl_status follow(void *host, pl_real t, pl_real *x) {
    pl_search *s = host;
    size_t size = bytes(s->n_x);
    (void)t;
    memcpy(s->before_x, s->x, size);
    if (x != s->x) memcpy(s->x, x, size);
    pl_status status = s->only_f ? pl_start_algebraic(s) : pl_start_try(s);
    if (status != PL_OK && !s->follow_failed) {
        s->follow_failed = 1;
        *s->first = s->report->failure;
    }
    memcpy(s->found_x, s->x, size);
    memcpy(s->x, s->before_x, size);
    if (status != PL_OK) return PL_RETRY;
    memcpy(x, s->found_x, size); /* may be the same place */
    return PL_OK;
}

static pl_event_info event_info(pl_search *s, int again, int follows) {
    pl_event_info info;
    memset(&info, 0, sizeof info);
    info.next_time = HUGE_VAL;
    info.again = again;
    info.host = s;
    info.follow = follows ? follow : NULL;
    s->follow_failed = 0;
    return info;
}

/* `again`: relations that nothing moved since the last time keep their sides. */
static pl_status update_relations(pl_search *s, int again, int unsolved, int *changed) {
    *changed = 0;
    if (!s->m->initialise) return PL_OK;
    /* open discrete variables are set by the event itself */
    pl_event_info info = event_info(s, again, (s->n_kept || s->n_a) && !s->n_memories);
    info.unsolved = unsolved;
    pl_status status = s->m->initialise(s->self, s->t, s->x, s->u, &info);
    if (status != PL_OK) {
        status = fail_in_words(s, PL_START_RESTLESS, status);
        if (!s->report->failure.words[0] && s->follow_failed) s->report->failure = *s->first;
        return status;
    }
    s->report->next_time = info.next_time;
    if (s->in->initially) s->in->initially(s->self, 1);
    *changed = info.f_changed;
    return PL_OK;
}

/* Solved with relations as they are or, where the equations have no solution then, as the model finds them. */
static pl_status solve_or_search(pl_search *s) {
    int changed;
    memcpy(s->search_x, s->x, bytes(s->n_x));
    pl_status status = pl_start_solve(s);
    if (status == PL_OK || !s->n_a) return status; /* unknowns with a solution in some modes only */
    pl_start_failure first = s->report->failure;
    memcpy(s->x, s->search_x, bytes(s->n_x));
    pl_status found = update_relations(s, 1, 1, &changed);
    if (found == PL_OK) found = pl_start_solve(s);
    if (found == PL_OK) return PL_OK;
    s->report->failure = first;
    return status;
}

/* Integer, Boolean and enumeration parameters anew. */
static pl_status set_parameters(pl_search *s, int *changed) {
    *changed = 0;
    if (!s->n_set) return PL_OK;
    pl_status status = pl_start_conditions(s);
    for (int k = 0; status == PL_OK && k < s->n_set; k++) {
        int unknown = s->n_x + s->in->condition_p[s->set[k]];
        pl_real by = s->all[s->set[k]], value;
        if (by == 0.0) continue;
        *changed = 1;
        pl_start_read(s, 1, &unknown, &value);
        value -= by;
        status = pl_start_write(s, 1, &unknown, &value);
    }
    return status;
}

/* Solve with relations held, take them anew, until both are at rest. */
pl_status pl_start_settle(pl_search *s) {
    for (int k = 0; k < PL_START_TURNS; k++) {
        int changed, has_set;
        pl_status status = update_relations(s, k > 0, 0, &changed);
        if (status == PL_OK) status = solve_or_search(s);
        if (status == PL_OK) status = set_parameters(s, &has_set);
        if (status == PL_OK) status = update_relations(s, 1, 0, &changed);
        if (status != PL_OK || (!changed && !has_set)) return status;
    }
    return pl_start_fail(s, PL_START_ROUNDS, PL_CHATTER);
}

/* ------------------------------------------------------------------------------------------------- the whole */

/* Start values of the model and those that are given. */
static void set_start(pl_search *s) {
    memcpy(s->before_x, s->x, bytes(s->n_x));
    s->in->start(s->self, s->x);
    for (int i = 0; s->q->x_given && i < s->n_x; i++)
        if (s->q->x_given[i]) s->x[i] = s->before_x[i];
    for (int k = 0; k < s->q->n_given; k++) {
        int memory = s->in->other_memory ? s->in->other_memory[s->q->given[k]] : -1;
        if (memory >= 0) s->in->choose_memory(s->self, memory, s->q->value[k]);
    }
    pl_start_first_choice(s);
}

/* As before anything was tried. */
static void return_to_start(pl_search *s) {
    memcpy(s->x, s->start_x, bytes(s->n_x));
    s->in->start(s->self, s->before_x); /* loops begin at their guesses */
    (void)pl_start_write(s, s->n_more, s->more, s->start_more);
}

/* lambda from the simplified model (0) to the actual one (1), steps halved where the solution is lost. */
static pl_status continue_homotopy(pl_search *s) {
    pl_real reached = -1.0, step = 1.0;
    memcpy(s->good_x, s->x, bytes(s->n_x));
    while (reached < 1.0) {
        pl_real target = reached < 0.0 ? 0.0 : fmin(1.0, reached + step);
        s->in->homotopy(s->self, target);
        pl_status status = pl_start_settle(s);
        if (status != PL_OK) {
            if (target == 0.0 || step < 1e-3) return status;
            memcpy(s->x, s->good_x, bytes(s->n_x));
            step *= 0.5;
            continue;
        }
        s->report->homotopy_steps++;
        reached = target;
        memcpy(s->good_x, s->x, bytes(s->n_x));
        step = reached > 0.0 ? fmax(0.1, step) : 0.25;
        pl_start_accept(s);
    }
    return PL_OK;
}

/* A number between -1 and 1 that looks like chance (splitmix64: Steele, Lea & Flood, OOPSLA 2014). */
static pl_real chance(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return ldexp((pl_real)(z >> 11), -52) - 1.0;
}

/* Is what was found where assertions allow it? */
static int is_allowed(pl_search *s) {
    return !s->in->check || s->q->held || s->in->check(s->self, s->t, s->x, s->u) == PL_OK;
}

static pl_status try_elsewhere(pl_search *s, pl_status status) {
    pl_start_failure first = s->report->failure;
    uint64_t state = 1;
    if (!s->n_free || !s->n_kept) return status;
    for (int attempt = 0; attempt < MAX_ELSEWHERE; attempt++) {
        pl_real far = pow(10.0, 4.0 * attempt / MAX_ELSEWHERE - 3.0);
        memcpy(s->x, s->start_x, bytes(s->n_x));
        for (int k = 0; k < s->n_free; k++) {
            int i = s->free[k];
            s->x[i] += chance(&state) * fmax(s->size[i], fabs(s->start_x[i])) * far;
        }
        if (pl_start_settle(s) == PL_OK && is_allowed(s)) return PL_OK;
    }
    memcpy(s->x, s->start_x, bytes(s->n_x));
    s->report->failure = first;
    return status;
}

/* Integer parameters must be whole numbers; those found by iteration are so up to rounding. */
static pl_status check_whole(pl_search *s) {
    pl_status status = PL_OK;
    for (int k = 0; status == PL_OK && s->in->p_open && k < s->n_p; k++) {
        pl_real value = s->q->p[k], whole = floor(value + 0.5);
        int unknown = s->n_x + k;
        if (!s->in->p_open[k] || !s->m->p_type || s->m->p_type[k] == PL_TYPE_REAL || value == whole) continue;
        if (fabs(value - whole) <= PL_START_ACCEPTED * fmax(1.0, fabs(value))) {
            status = pl_start_write(s, 1, &unknown, &whole);
            continue;
        }
        status = pl_start_fail(s, PL_START_WHOLE, PL_INCONSISTENT);
        s->report->failure.index = k;
        s->report->failure.value = value;
    }
    return status;
}

/* One event at the start (`begin` of the model, or an ordinary one), and what follows from it. */
static pl_status first_event(pl_search *s, int begins, int *ends) {
    pl_event_info info = event_info(s, 1, s->n_a > 0);
    pl_status status = begins ? s->in->begin(s->self, s->t, s->x, s->u, &info)
                              : s->m->event(s->self, s->t, s->x, s->u, NULL, &info);
    if (status != PL_OK) return fail_in_words(s, PL_START_EVENT, status);
    s->report->next_time = info.next_time;
    *ends = info.terminate;
    if (info.nominal_changed) pl_follow_nominal(s->p);
    if (s->n_a && (info.f_changed || info.x_changed)) status = pl_start_algebraic(s);
    if (status == PL_OK) status = pl_start_evaluate(s);
    if (status == PL_OK) pl_start_accept(s);
    return status;
}

/* Events at the very start: what initial() sets off, the first ticks of clocks. */
static pl_status first_events(pl_search *s) {
    pl_status status = PL_OK;
    int ends = 0;
    if (s->q->x_first) memcpy(s->q->x_first, s->x, bytes(s->n_x));
    s->only_f = 1;
    if (s->in->begin) status = first_event(s, 1, &ends);
    ends = 0;
    for (int k = 0; s->m->event && status == PL_OK && !ends && k < PL_START_TURNS; k++) {
        if (s->report->next_time > s->t) break;
        status = first_event(s, 0, &ends);
    }
    if (ends) s->report->next_time = s->t; /* the run ends where it begins */
    return status;
}

/* The simplified model or, where there is none, the actual one. */
static pl_status solve_once(pl_search *s) {
    if (s->in->flags & PL_INITIAL_HOMOTOPY) {
        if (continue_homotopy(s) == PL_OK) return PL_OK;
        s->in->homotopy(s->self, 1.0);
        s->report->homotopy_steps = 0;
        return_to_start(s);
    }
    return pl_start_settle(s);
}

static pl_status solve_from_guesses(pl_search *s) {
    pl_status status = solve_once(s);
    if (status == PL_OK) return PL_OK;
    pl_start_failure first = s->report->failure;
    if (s->in->rescue) {
        return_to_start(s);
        s->in->rescue(s->self, 1);
        pl_status rescued = solve_once(s);
        s->in->rescue(s->self, 0);
        if (rescued == PL_OK) return PL_OK;
        return_to_start(s);
        s->report->failure = first;
    }
    return try_elsewhere(s, status);
}

static pl_status find(pl_search *s) {
    set_start(s);
    memcpy(s->start_x, s->x, bytes(s->n_x));
    pl_start_read(s, s->n_more, s->more, s->start_more);
    pl_status status = solve_from_guesses(s);
    if (status == PL_OK && !is_allowed(s) && try_elsewhere(s, PL_RETRY) != PL_OK) {
        return_to_start(s); /* to say what is violated */
        status = solve_from_guesses(s);
    }
    if (status != PL_OK) return status;
    for (int k = 0; k < s->in->n_sets; k++) (void)s->in->choose(s->self, k, NULL, s->t, s->x, s->u);
    status = pl_start_evaluate(s);
    if (status == PL_OK) pl_start_accept(s);
    if (status == PL_OK) status = check_whole(s);
    return status == PL_OK ? first_events(s) : status;
}

/* --------------------------------------------------------------------------------------------------- a point */

/* The point from where x stands; *missed: a given value contradicts the others. */
static pl_status finish_point(pl_search *s, int *missed) {
    *missed = 0;
    pl_status status = pl_start_settle(s);
    if (status == PL_OK) status = pl_start_evaluate(s);
    if (status != PL_OK) return status;
    pl_start_accept(s);
    status = pl_start_check_given(s);
    *missed = status != PL_OK && s->report->failure.what == PL_START_MISSED;
    return status;
}

/* The consistent start of the model, from which the point is sought. */
static pl_status own_start(pl_search *s) {
    const pl_start_request *asked = s->q;
    pl_start_request own = *asked;
    own.x_given = NULL;
    own.n_given = own.held = 0;
    s->q = &own;
    pl_start_plan(s);
    pl_status status = find(s);
    s->q = asked;
    s->only_f = 0;
    pl_start_plan(s);
    if (status == PL_OK) s->report->iterations = s->report->homotopy_steps = 0;
    return status;
}

static pl_status find_point(pl_search *s) {
    int missed, has_open = 0;
    memcpy(s->target_x, s->x, bytes(s->n_x));
    for (int k = 0; s->in->p_open && k < s->n_p; k++) has_open |= s->in->p_open[k] == 1;
    pl_status status = PL_RETRY;
    if (!s->n_free && !has_open) {
        set_start(s);
        status = finish_point(s, &missed);
        if (status == PL_OK || missed) return status;
    } /* otherwise the guesses of the loops belong to the start of the model: go there first */
    status = own_start(s);
    if (status != PL_OK) return status;
    for (int i = 0; s->q->x_given && i < s->n_x; i++)
        if (s->q->x_given[i]) s->x[i] = s->target_x[i];
    status = pl_start_given_choice(s);
    return status == PL_OK ? finish_point(s, &missed) : status;
}

/* -------------------------------------------------------------------------------- models without `initial` */

/* The model's own means, or algebraic equations only. work: 5 n_x */
static pl_status plain(pl_search *s, pl_real *work) {
    const pl_model *m = s->m;
    if (m->initialise) {
        pl_event_info info = event_info(s, 0, 0);
        info.host = NULL;
        pl_status status = m->initialise(s->self, s->t, s->x, s->u, &info);
        s->report->next_time = info.next_time;
        if (info.nominal_changed) pl_follow_nominal(s->p);
        return status == PL_OK ? PL_OK : pl_start_refused(s, status);
    }
    if (!m->mass.start || !s->p->linear || !pl_linear_has_algebraic(s->p->linear)) return PL_OK;
    pl_real *given = work + 4 * s->n_x, worst = CONSISTENT;
    pl_real *start = work + 5 * s->n_x;
    memcpy(start, s->x, bytes(s->n_x));
    pl_status status = consistent(s->p, s->q, s->x, given, work);
    if (status != PL_OK) return pl_start_fail(s, PL_START_ALGEBRAIC, status);
    for (int i = 0; s->q->check && i < s->n_x; i++) {
        pl_real scale = s->p->rtol * fabs(start[i]) + s->p->atol[i];
        pl_real miss = fabs(s->x[i] - start[i]) / (scale > 0.0 ? scale : 1.0);
        if (!(miss > worst)) continue;
        worst = miss;
        status = pl_start_fail(s, PL_START_UNMET, PL_INCONSISTENT);
        s->report->failure.index = i;
        s->report->failure.value = s->x[i];
    }
    return status;
}

pl_status pl_start(pl_problem *p, const pl_start_request *request, pl_real *x, pl_start_report *report,
                   void *work) {
    pl_search s;
    pl_status status;
    memset(&s, 0, sizeof s);
    memset(report, 0, offsetof(pl_start_report, failure));
    s.p = p;
    s.m = p->model;
    s.in = p->model->initial;
    s.q = request;
    s.report = report;
    s.self = p->self;
    s.t = request->t;
    s.x = x;
    s.u = p->u;
    s.n_x = p->model->n_x;
    report->next_time = HUGE_VAL;
    report->loop = -1;
    (void)pl_start_fail(&s, PL_START_FINE, PL_OK);
    if (!s.in) return plain(&s, work);
    pl_start_layout(p->model, &s, work);
    report->undetermined = s.undetermined;
    report->redundant = s.redundant;
    pl_start_plan(&s);
    status = request->held ? find_point(&s) : find(&s);
    if (status == PL_OK && s.in->check && !request->held) {
        status = s.in->check(s.self, s.t, x, s.u);
        if (status != PL_OK) return pl_start_refused(&s, status);
    }
    if (request->held) {
        report->next_time = HUGE_VAL;
        if (request->x_first) memcpy(request->x_first, x, bytes(s.n_x));
    }
    if (status == PL_OK)
        (void)pl_start_fail(&s, PL_START_FINE, PL_OK);
    else if (s.in->failed_loop)
        report->loop = s.in->failed_loop(s.self, &report->loop_residual);
    return status;
}
