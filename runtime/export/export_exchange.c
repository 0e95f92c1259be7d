/* Model exchange: the importer sets time and states, and says when events take place. */
#include "pl_export.h"

#include <math.h>
#include <string.h>

/* How far relations of time alone are looked for where nobody says when the simulation ends. */
static pl_real horizon(const pl_exported_instance *c) {
    if (c->now.has_stop && c->now.stop > c->now.t) return c->now.stop;
    return fmin(c->now.t + 1e4 * fmax(1.0, fabs(c->now.t)), 1e300);
}

int pl_exported_set_time(pl_exported_instance *c, pl_real t) {
    if (!(fabs(t) < HUGE_VAL)) return pl_exported_say(c, PL_ERROR, "the time cannot be %g", t);
    if (t != c->now.t) c->fresh &= PL_FRESH_DEPENDENT;
    c->now.t = t;
    return PL_FINE;
}

int pl_exported_set_states(pl_exported_instance *c, const pl_real *x, size_t n) {
    const pl_model *m = c->table->model;
    if (n != (size_t)c->n_states)
        return pl_exported_say(c, PL_ERROR, "there are %d continuous states, not %lu", c->n_states,
                               (unsigned long)n);
    int wrong = pl_first_nonfinite(c->n_states, x);
    if (wrong >= 0)
        return pl_exported_say(c, PL_ERROR, "%s cannot be %g: not a finite number",
                               m->x_name ? m->x_name[wrong] : "a state", x[wrong]);
    if (n > 0) memcpy(c->x, x, n * sizeof(pl_real));
    c->fresh &= PL_FRESH_DEPENDENT;
    return PL_FINE;
}

int pl_exported_nominals(pl_exported_instance *c, pl_real *nominal) {
    const pl_model *m = c->table->model;
    if (c->now.solved && m->nominal) m->nominal(c->sim->problem.self, c->nominal);
    for (int i = 0; i < c->n_states; i++) {
        pl_real known = c->now.solved && m->nominal ? c->nominal[i] : m->x_nominal ? m->x_nominal[i] : 0.0;
        nominal[i] = fabs(known) > 0.0 ? fabs(known) : 1.0;
    }
    return PL_FINE;
}

/* The word of the model after a step; *moved: states have another meaning from here on. */
static int step_done(pl_exported_instance *c, int *request, int *moved) {
    const pl_model *m = c->table->model;
    size_t bytes = (size_t)c->n_x * sizeof(pl_real);
    *request = PL_STEP_FINE;
    if (bytes > 0) memcpy(c->x_work, c->x, bytes);
    pl_status status = m->step_done(c->sim->problem.self, c->now.t, c->x_work, c->u, request);
    if (status != PL_OK) return pl_exported_failed(c, PL_ERROR, status, "completing a step");
    *moved = (*request & PL_STEP_RESTART) != 0;
    return PL_FINE;
}

/* In event mode: another choice of states that a completed step has asked for. */
static int choose_states(pl_exported_instance *c) {
    int request, moved = 0;
    if (!c->now.choice_due) return PL_FINE;
    c->now.choice_due = 0;
    int status = step_done(c, &request, &moved);
    if (status != PL_FINE || !moved) return status;
    memcpy(c->x, c->x_work, (size_t)c->n_x * sizeof(pl_real));
    c->now.x_moved = 1;
    c->fresh &= PL_FRESH_DEPENDENT;
    return PL_FINE;
}

int pl_exported_event(pl_exported_instance *c, pl_event_info *info) {
    int fine = c->now.p_new ? pl_exported_parameters(c) : PL_FINE;
    const size_t u_size = (size_t)c->n_u * sizeof(pl_real);
    int jumped = c->now.x_moved;
    if (c->n_u > 0) {
        jumped |= memcmp(c->sim->problem.u, c->u, u_size) != 0;
        memcpy(c->sim->problem.u, c->u, u_size);
    }
    if (fine == PL_FINE) fine = choose_states(c);
    if (fine != PL_FINE) return fine;
    pl_status status = pl_simulation_event_at(c->sim, c->now.t, horizon(c), c->x, jumped, info);
    c->fresh &= PL_FRESH_DEPENDENT;
    if (status != PL_OK) {
        c->now.mode = PL_BROKEN;
        return pl_exported_failed(c, PL_ERROR, status, "an event");
    }
    pl_exported_tell(c, PL_TELL_REST);
    info->x_changed |= c->now.x_moved;
    c->now.x_moved = 0;
    if (info->terminate) {
        const char *words = pl_simulation_words(c->sim);
        c->now.ended = 1;
        if (words[0]) pl_exported_say(c, PL_WARNING, "%s", words);
    }
    return PL_FINE;
}

int pl_exported_completed(pl_exported_instance *c, int *event, int *terminate) {
    const pl_model *m = c->table->model;
    int request = PL_STEP_FINE, moved = 0;
    *event = *terminate = 0;
    c->sim->count.n_steps++;
    pl_exported_tell(c, PL_TELL_STEP);
    if (!m->step_done) return PL_FINE;
    int fine = pl_exported_slopes(c); /* what loops inside begin with next is what they end with here */
    if (fine != PL_FINE) return fine;
    if (c->memory) memcpy(c->memory, c->sim->problem.self, m->memory_size);
    fine = step_done(c, &request, &moved);
    if (fine != PL_FINE) return fine;
    if (moved &&
        c->memory) { /* until event mode states mean what they did: an importer may set them once more */
        memcpy(c->sim->problem.self, c->memory, m->memory_size);
        c->now.choice_due = 1;
    }
    *event = (request & (PL_STEP_RESTART | PL_STEP_EVENT)) != 0;
    *terminate = (request & PL_STEP_TERMINATE) != 0;
    return PL_FINE;
}
