/* A simulation whose steps somebody else takes: start values and events are ours, time and states come from outside.
 *
 * Events take place as in the step loop (run.c): relations of time alone turn where they were found ahead (ahead.c); those whose
 * root function has passed zero since the last event have fired, and rounding does not turn them back; all others stand as
 * their sides say. What an event changed is settled again until nothing moves.
 */
#include "run.h"
#include "simulation.h"

#include <math.h>
#include <string.h>

#define MAX_SETTLE 100

pl_real pl_simulation_next_time(pl_simulation *s, pl_real t, pl_real horizon) {
    pl_run *r = s->run;
    r->t_reached = t;
    r->t_stop = horizon;
    if (r->n_ahead == 0) return r->next_time;
    pl_ahead_search(r, &s->problem, t);
    /* as far as relations are known to stay: a look there finds what comes next */
    pl_real known = r->t_clear > t ? fmin(r->t_clear, horizon) : horizon;
    return fmin(fmin(r->next_time, r->t_turn), known);
}

/* Algebraic unknowns that fit the relations and discrete variables an event is trying. */
static pl_status follow(void *host, pl_real t, pl_real *x) {
    pl_simulation *s = host;
    pl_real *given = pl_run_x(s->run, RUN_TRY);
    size_t bytes = (size_t)s->run->n_x * sizeof(pl_real);
    memcpy(given, x, bytes);
    pl_status status = pl_consistent(&s->problem, t, x, pl_run_x(s->run, RUN_WORK));
    if (status != PL_OK) memcpy(x, given, bytes);
    return status;
}

pl_status pl_simulation_algebraic_at(pl_simulation *s, pl_real t, pl_real *x) {
    if (!s->problem.linear || !s->setup.model->mass.start) return PL_OK;
    return follow(s, t, x);
}

static pl_status event_once(pl_simulation *s, pl_real t, pl_real *x, const int8_t *fired, int again,
                            pl_event_info *all) {
    pl_problem *p = &s->problem;
    pl_event_info info = {.next_time = all->next_time, .again = again, .ends = s->run->ending};
    if (p->model->mass.start && p->linear) {
        info.host = s;
        info.follow = follow;
    }
    pl_status status = p->model->event(p->self, t, x, p->u, fired, &info);
    all->x_changed |= info.x_changed;
    all->f_changed |= info.f_changed;
    all->nominal_changed |= info.nominal_changed;
    all->terminate |= info.terminate;
    all->next_time = info.next_time;
    all->again = info.f_changed || info.x_changed;
    if (info.nominal_changed) pl_follow_nominal(p);
    return status;
}

/* Which root functions have passed zero since the last event; where an input jumped they tell nothing. */
static int roots_fired(pl_simulation *s, pl_real t, const pl_real *x, int jumped) {
    pl_run *r = s->run;
    int any = 0;
    if (r->n_roots > 0) memset(pl_run_fired(r), 0, (size_t)r->n_roots);
    if (jumped || r->n_watched == 0) return 0;
    pl_failure failure = s->problem.failure;
    (void)pl_event_fires(r, &s->problem, t, x);
    s->problem.failure = failure;
    for (int i = 0; i < r->n_roots; i++) {
        if (!pl_root_watched(s->setup.model, i)) pl_run_fired(r)[i] = 0;
        any |= pl_run_fired(r)[i] != 0;
    }
    return any;
}

pl_status pl_simulation_event_at(pl_simulation *s, pl_real t, pl_real horizon, pl_real *x, int jumped,
                                 pl_event_info *info) {
    pl_run *r = s->run;
    const pl_model *m = s->setup.model;
    memset(info, 0, sizeof *info);
    info->next_time = HUGE_VAL;
    pl_status status = PL_OK;
    if (m->event) {
        int turned = roots_fired(s, t, x, jumped);
        turned |= pl_ahead_fire(r, &s->problem, t) > 0;
        s->count.n_events++;
        status = event_once(s, t, x, turned ? pl_run_fired(r) : NULL, 0, info);
        int settles = (m->flags & PL_MODEL_SETTLES) != 0;
        for (int round = 0; status == PL_OK && settles && info->again; round++)
            status = round < MAX_SETTLE ? event_once(s, t, x, NULL, 1, info) : PL_CHATTER;
        pl_ahead_forget(r, m, t);
    }
    if (status == PL_OK) status = pl_simulation_algebraic_at(s, t, x);
    if (status == PL_OK && r->n_watched > 0) status = pl_event_reset(r, &s->problem, t, x);
    if (status != PL_OK) return pl_simulation_fail(s, status, PL_IN_EVENT, -1, t);
    info->again = 0;
    r->next_time = info->next_time;
    info->next_time = pl_simulation_next_time(s, t, horizon);
    return PL_OK;
}
