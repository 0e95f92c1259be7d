/* Events that repeat.
 *
 * In place: without progress in time, up to rounding. Close: hardly any, relative to the run and to its steps. Either
 * way, too many of them in a row mean that the model switches back and forth, and the run ends.
 *
 * Before that, roots that fire in place are held, unless states are set anew: they do not turn back by less than what
 * states below their tolerances make of them. A body that sticks has a speed of rounding error, of any sign. A root that
 * got away from zero is held no longer; one that fires again and again without getting away from it chatters.
 */
#include "run.h"

#include <float.h>
#include <math.h>

#define MAX_IN_PLACE 100
#define HOLD_AFTER   10   /* ... after which roots are held */
#define MAX_CLOSE    1000 /* state events in a row with hardly any progress between them */
#define CLOSE        1e-9 /* ... relative to the length of the run, */
#define CLOSE_STEPS  1e-5 /* ... and to the largest step: a far end alone makes no event close */
#define HOLD         1e-3 /* of the tolerances of states: what they make of roots that repeat in place is no event */
#define AWAY         10.0 /* times what a root is held by: it has got away from zero */
#define MAX_HELD     100  /* events of held roots in a row that did not */

static void hold_roots(pl_run *r, pl_problem *p, pl_real t, const pl_real *x) {
    pl_real *hold = pl_run_g(r, RUN_G_HOLD), *here = pl_run_g(r, RUN_G_TRY), *g = pl_run_g(r, RUN_G_KEPT);
    pl_real *moved = pl_run_x(r, RUN_TRY);
    const int8_t *fired = pl_run_fired(r);
    for (int i = 0; i < r->n_x;
         i++) /* by different amounts: differences of states are not to stay as they are */
        moved[i] = x[i] + HOLD * (p->rtol * fabs(x[i]) + p->atol[i]) * ((pl_real)(7 * i % 5) - 2.3);
    if (pl_roots(p, t, x, here) != PL_OK || pl_roots(p, t, moved, g) != PL_OK) return;
    for (int i = 0; i < r->n_roots; i++)
        if (fired[i]) hold[i] = fmax(hold[i], fabs(g[i] - here[i]));
    r->held_roots = 1;
}

/* Roots fire: those that were held and got away from zero since are held no longer. 1: others fire again and again. */
static int held_again(pl_run *r) {
    pl_real *hold = pl_run_g(r, RUN_G_HOLD);
    const pl_real *most = pl_run_g(r, RUN_G_MOST);
    const int8_t *fired = pl_run_fired(r);
    int again = 0;
    for (int i = 0; r->held_roots && i < r->n_roots; i++) {
        if (!fired[i] || hold[i] == 0.0) continue;
        if (most[i] > AWAY * hold[i])
            hold[i] = 0.0;
        else
            again = 1;
    }
    r->held_events = again ? r->held_events + 1 : 0;
    return r->held_events >= MAX_HELD;
}

int pl_event_piles_up(pl_run *r, pl_real t, int found) {
    pl_real close = fmin(CLOSE * (r->t_stop - r->t_start), CLOSE_STEPS * r->h_largest);
    r->event_gap = t - r->t_event;
    r->events_in_place = r->event_gap <= 100.0 * DBL_EPSILON * fabs(t) ? r->events_in_place + 1 : 0;
    if (!r->events_in_place) r->sets_x = 0;
    if (found) r->events_close = r->event_gap <= close ? r->events_close + 1 : 0;
    r->t_event = t;
    if (found && held_again(r)) return 1;
    return r->events_in_place >= MAX_IN_PLACE || r->events_close >= MAX_CLOSE;
}

void pl_event_repeats(pl_run *r, pl_problem *p, pl_real t, int found, int x_changed) {
    if (x_changed) r->sets_x = 1; /* states that are set anew again and again are no rounding */
    if (found && r->events_in_place >= HOLD_AFTER && !r->sets_x) hold_roots(r, p, t, pl_run_x(r, RUN_AFTER));
}
