/* Co-simulation: the solver inside goes from one communication point to the next without beginning anew.
 *
 * Inputs are polynomials from a communication point on, u(t) + u'(t) s + ...; what the importer sets there is a jump, which
 * the method corrects its history for (at_jump). Derivatives hold for one step; without new ones the inputs stay where
 * they have come to. Clocks that tick at a communication point wait until the inputs there are known, that is until the next
 * step or for event mode; without inputs there is nothing to wait for. Reading changes nothing.
 */
#include "pl_export.h"

#include <math.h>
#include <string.h>

#define BUDGET 1000
#define NEAR   1e-9 /* of a step: communication points this near to each other are one */

static int failed(pl_exported_instance *c, pl_status status, const char *doing) {
    c->now.mode = PL_BROKEN;
    return pl_exported_failed(c, PL_ERROR, status, doing);
}

static void stand(pl_exported_instance *c) {
    if (c->n_x > 0) pl_simulation_state(c->sim, c->x);
    c->fresh &= PL_FRESH_DEPENDENT;
}

static void ended(pl_exported_instance *c) {
    const char *words = pl_simulation_words(c->sim);
    if (!c->now.ended && words[0]) pl_exported_say(c, PL_WARNING, "%s", words);
    c->now.ended = 1;
}

int pl_exported_settle(pl_exported_instance *c) {
    if (!c->sim->run || c->now.ended) return PL_FINE;
    pl_status status;
    do status = pl_simulation_settle(c->sim, c->u, BUDGET);
    while (status == PL_PAUSED);
    if (status < 0) return failed(c, status, "an event");
    int bent = 0;
    for (int k = c->n_u; k < (PL_INPUT_DEGREE + 1) * c->n_u; k++) bent |= c->u[k] != 0.0;
    c->now.inputs_new = bent;
    c->now.bent = 0;
    if (status == PL_TERMINATED) ended(c);
    stand(c);
    return PL_FINE;
}

static int last_event(pl_exported_instance *c) {
    const int ended_before = c->now.ended;
    pl_event_info info;
    if (!c->steps) {
        c->sim->run->ending = 1;
        return pl_exported_event(c, &info);
    }
    c->sim->run->opt.ends = 1;
    c->now.ended = 0;
    const int fine = pl_exported_settle(c);
    c->now.ended |= ended_before;
    return fine;
}

int pl_exported_end(pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    const int wants = c->sim->run && m && (m->flags & PL_MODEL_ENDS);
    const int fine = wants ? last_event(c) : PL_FINE;
    if (fine == PL_FINE) c->now.mode = PL_OVER;
    return fine;
}

int pl_exported_parameters(pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    pl_status status = PL_OK;
    c->now.p_new = 0;
    c->fresh = 0;
    if (c->steps) {
        status = pl_simulation_set_parameters(c->sim, c->p);
        stand(c);
    } else if (m->set_parameters) {
        memcpy(c->sim->p, c->p, (size_t)c->n_p * sizeof(pl_real));
        status = m->set_parameters(c->sim->problem.self, c->p);
    }
    return status == PL_OK ? PL_FINE : failed(c, status, "setting parameters");
}

static void set_inputs(pl_exported_instance *c) {
    if (c->n_u == 0 || !(c->now.inputs_new || c->now.bent)) return;
    pl_real factorial = 1.0;
    int bent = 0;
    for (int order = 0; order <= PL_INPUT_DEGREE; order++) {
        if (order > 0) factorial *= order;
        for (int j = 0; j < c->n_u; j++) {
            int k = order * c->n_u + j;
            c->coefficient[k] = c->u[k] / factorial;
            bent |= order > 0 && c->u[k] != 0.0;
        }
    }
    pl_simulation_set_inputs(c->sim, c->now.t, c->coefficient);
    c->now.inputs_new = 0;
    c->now.bent = bent;
}

/* Inputs where the step has come to; derivatives hold no longer. */
static void end_inputs(pl_exported_instance *c, pl_real span) {
    if (!c->now.bent) return;
    for (int j = 0; j < c->n_u; j++) {
        pl_real value = 0.0;
        for (int order = PL_INPUT_DEGREE; order >= 0; order--)
            value = value * span + c->coefficient[order * c->n_u + j];
        c->u[j] = value;
        for (int order = 1; order <= PL_INPUT_DEGREE; order++) c->u[order * c->n_u + j] = 0.0;
    }
}

/* A step of fixed size fits into a communication step a whole number of times. */
static int fits(const pl_exported_instance *c, pl_real step) {
    pl_real times = step / c->table->step;
    return fabs(times - floor(times + 0.5)) <= 1e-6 * fmax(1.0, times) && times > 0.5;
}

static int refused(pl_exported_instance *c, pl_real t, pl_real step) {
    pl_real room = NEAR * fmax(fabs(step), 1e-3 * fabs(c->now.t));
    if (!(fabs(t) < HUGE_VAL) || !(step > 0.0 && step < HUGE_VAL) || !(t + step > t))
        return pl_exported_say(c, PL_ERROR,
                               "a communication step from t = %.15g of size %.15g is not possible", t, step);
    if (fabs(t - c->now.t) > room)
        return pl_exported_say(
            c, PL_ERROR, "a communication step from t = %.15g, but the FMU stands at t = %.15g", t, c->now.t);
    if (c->now.has_stop && t + step > c->now.stop + room)
        return pl_exported_say(c, PL_ERROR,
                               "a communication step to t = %.15g leads past the stop time %.15g", t + step,
                               c->now.stop);
    if (c->table->unit && !fits(c, step))
        return pl_exported_say(c, PL_ERROR,
                               "a communication step of size %.15g is no multiple of the fixed step %.15g",
                               step, c->table->step);
    if (c->now.ended) {
        return pl_exported_say(c, PL_ERROR, "the model has ended the simulation at t = %.15g", c->now.t);
    }
    return PL_FINE;
}

static pl_status go(pl_exported_instance *c, pl_real to, pl_export_between *between, pl_export_step *done) {
    for (;;) {
        int64_t budget = between ? 1 : BUDGET;
        pl_status status = pl_simulation_go(c->sim, to, budget);
        if (status != PL_PAUSED) return status;
        if (!between || !(c->sim->run->t_reached > c->now.t)) continue;
        pl_real from = c->now.t;
        c->now.t = c->sim->run->t_reached;
        stand(c);
        c->now.mode = PL_BETWEEN;
        done->early = between(c, c->now.t);
        c->now.mode = PL_STEPPING;
        if (done->early) return PL_PAUSED;
        c->now.t = from;
    }
}

int pl_exported_step(pl_exported_instance *c, pl_real t, pl_real step, pl_export_between *between,
                     pl_export_step *done) {
    memset(done, 0, sizeof *done);
    done->reached = c->now.t;
    if (refused(c, t, step) != PL_FINE) return PL_ERROR;
    if (c->now.p_new && pl_exported_parameters(c) != PL_FINE) return PL_ERROR;
    pl_real from = c->now.t, to = t + step;
    set_inputs(c);
    pl_status status = go(c, to, between, done);
    if (status < 0) return failed(c, status, "a step");
    if (done->early) pl_simulation_stay(c->sim);
    c->now.t = status == PL_FINISHED || !c->sim->run ? to : c->sim->run->t_reached;
    if (!c->sim->run && status == PL_TERMINATED) c->now.t = c->sim->t;
    end_inputs(c, c->now.t - from);
    stand(c);
    if (status == PL_TERMINATED) ended(c);
    if (c->n_u == 0 && !c->events_wanted && c->sim->run && c->sim->run->held &&
        pl_exported_settle(c) != PL_FINE)
        return PL_ERROR;
    done->terminate = c->now.ended;
    done->event = c->sim->run && c->sim->run->held;
    done->reached = c->now.t;
    return PL_FINE;
}
