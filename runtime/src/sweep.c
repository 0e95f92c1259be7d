/* pl_sweep: the cases of a sweep, one after the other. Opening, starting and stepping are those of pl_simulation. */
#include "simulation.h"

#include <string.h>

static const pl_real *of_case(const pl_real *all, int64_t k, int64_t width, const pl_real *shared) {
    return all ? all + k * width : shared;
}

/* What case k is, in place of what all share. */
static pl_setup setup_of(const pl_sweep *w, int64_t k) {
    pl_setup setup = *w->setup;
    const pl_model *m = setup.model;
    setup.parameters = of_case(w->parameters, k, m->n_p, setup.parameters);
    setup.u = of_case(w->u, k, m->n_u, setup.u);
    setup.x = of_case(w->x, k, m->n_x, setup.x);
    setup.request.value = of_case(w->value, k, setup.request.n_given, setup.request.value);
    setup.point = of_case(w->point, k, setup.n_points, setup.point);
    if (w->stop) setup.stop = w->stop[k];
    setup.linear_used = setup.linear_used || (setup.linear && w->warm);
    return setup;
}

static int has_ended_well(pl_status status) {
    return status == PL_FINISHED || status == PL_TERMINATED;
}

static void write_rows(const pl_sweep *w, const pl_simulation *s, int64_t k) {
    const pl_output *out = &s->out;
    size_t width = (size_t)(1 + out->n_x + out->n_y);
    if (w->last && out->used > 0)
        memcpy(w->last + (size_t)k * width, out->row + (size_t)(out->used - 1) * width,
               width * sizeof(pl_real));
    if (w->row) {
        int64_t count = out->used < w->n_rows ? out->used : w->n_rows;
        memcpy(w->row + (size_t)(k * w->n_rows) * width, out->row, (size_t)count * width * sizeof(pl_real));
    }
    if (w->used) w->used[k] = out->used;
}

static void end_case(pl_sweep *w, pl_status status) {
    pl_simulation *s = w->memory;
    int64_t k = w->done++;
    w->running = 0;
    if (w->status) w->status[k] = (int)status;
    if (w->count) w->count[k] = s->count;
    if (w->n_events) w->n_events[k] = s->n_events;
    if (w->method) w->method[k] = !s->run ? -1 : s->run->handovers > 0 ? -1 : s->run->method;
    if (w->reached) w->reached[k] = s->run ? s->run->t_reached : s->t;
    if (has_ended_well(status))
        write_rows(w, s, k);
    else if (w->used)
        w->used[k] = 0;
    pl_simulation_close(s);
}

static void start_case(pl_sweep *w) {
    pl_setup setup = setup_of(w, w->done);
    pl_status status;
    pl_simulation *s = pl_simulation_init(w->memory, &setup, &status);
    w->warm = 1;
    w->running = 1;
    if (s) status = pl_simulation_initialise(s);
    if (status != PL_OK) end_case(w, status);
}

pl_status pl_sweep_advance(pl_sweep *w, int64_t budget) {
    while (w->done < w->n && budget > 0) {
        if (!w->running) start_case(w);
        if (!w->running) { /* it could not start */
            budget--;
            continue;
        }
        pl_simulation *s = w->memory;
        int64_t before = s->count.n_steps + s->n_events;
        pl_status status = pl_simulation_advance(s, budget);
        budget -= s->count.n_steps + s->n_events - before + 1;
        if (status != PL_PAUSED) end_case(w, status);
    }
    return w->done < w->n ? PL_PAUSED : PL_FINISHED;
}

void pl_sweep_skip(pl_sweep *w, pl_status status) {
    if (w->running)
        end_case(w, status < 0 ? status : PL_ARGUMENT);
    else if (w->done < w->n && w->status)
        w->status[w->done++] = (int)status;
}
