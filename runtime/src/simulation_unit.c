/* The engine behind a simulation of something that steps itself: told its inputs, asked to go on to the next requested
 * point, jump of the inputs or communication point, and then for its outputs. */
#include "simulation.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct unit_state {
    int64_t next_point;
    int64_t step;      /* number of the next communication point */
    int rows_at_start; /* written */
} unit_state;

static int degree_of(const pl_setup *setup) {
    return setup->degree >= 0 ? setup->degree : setup->inputs ? setup->inputs->degree : 0;
}

static size_t coefficient_bytes(const pl_setup *setup) {
    return (size_t)(degree_of(setup) + 1) * (size_t)(setup->unit->n_u + 1) * sizeof(pl_real);
}

static size_t unit_size(const pl_setup *setup) {
    return pl_round_up(sizeof(unit_state)) + pl_round_up(coefficient_bytes(setup));
}

static pl_status unit_init(pl_simulation *s, const pl_setup *setup, char *memory) {
    if (!setup->unit || !(setup->run.method_options.h_fixed > 0.0) || setup->n_x_out > 0) return PL_ARGUMENT;
    s->method = memory;
    memset(memory, 0, unit_size(setup));
    return PL_OK;
}

static pl_real *coefficients(const pl_simulation *s) {
    char *state = s->method;
    return (pl_real *)(void *)(state + pl_round_up(sizeof(unit_state)));
}

/* A row at t. */
static pl_status unit_row(pl_simulation *s, pl_real t) {
    const pl_unit *unit = s->setup.unit;
    pl_status status = pl_simulation_rows(s, 1);
    if (status != PL_OK) return status;
    pl_real *row = s->out.row + (size_t)s->out.used * (size_t)(1 + s->out.n_y);
    row[0] = t;
    if (s->out.n_y > 0) status = unit->outputs(s->problem.self, t, s->out.n_y, s->out.y_index, row + 1);
    if (status != PL_OK) return pl_simulation_fail(s, status, PL_IN_OUTPUTS, -1, t);
    int bad = pl_first_nonfinite(s->out.n_y, row + 1);
    if (bad >= 0)
        return pl_simulation_fail(s, PL_NONFINITE, PL_IN_OUTPUTS, s->out.y_index ? s->out.y_index[bad] : bad,
                                  t);
    s->out.used++;
    s->out.checked = s->out.used;
    return PL_OK;
}

/* Segment of the inputs that holds from t on; -1: they are constant. */
static int segment_from(const pl_inputs *in, pl_real t) {
    int s = -1;
    if (!in) return s;
    for (int k = 0; k < in->n_segments && (k == 0 || in->start[k] <= t); k++) s = k;
    return s;
}

/* Polynomials of the inputs about t. */
static pl_status inputs_about(pl_simulation *s, pl_real t, pl_real *c) {
    const pl_inputs *in = s->problem.inputs;
    int n = s->n_u, degree = degree_of(&s->setup), k = segment_from(in, t);
    memset(c, 0, coefficient_bytes(&s->setup));
    for (int j = 0; j < n; j++) c[j] = s->problem.u[j];
    for (int j = 0; k >= 0 && j < n; j++) {
        const pl_real *from = in->coefficient + (size_t)k * (size_t)(degree + 1) * (size_t)n + j;
        pl_real dt = fmax(t - in->start[k], 0.0);
        for (int m = 0; m <= degree; m++) c[m * n + j] = from[m * n];
        for (int m = 0; m < degree; m++) /* shifted by repeated Horner schemes */
            for (int i = degree - 1; i >= m; i--) c[i * n + j] += dt * c[(i + 1) * n + j];
    }
    if (in && in->call) {
        pl_status status = in->call(in->user, t, c);
        if (status != PL_OK) return pl_simulation_fail(s, status, PL_IN_INPUTS, -1, t);
    }
    memcpy(s->problem.u, c, (size_t)n * sizeof(pl_real));
    return PL_OK;
}

static pl_status unit_initialise(pl_simulation *s) {
    pl_real *c = coefficients(s);
    pl_status status = inputs_about(s, s->setup.start, c);
    if (status == PL_OK) status = s->setup.unit->initialise(s->problem.self, s->setup.start, c);
    if (status != PL_OK) return pl_simulation_fail(s, status, PL_IN_INITIAL, -1, s->setup.start);
    s->begun = 1;
    return PL_OK;
}

/* Where the next step ends: communication point, requested point, jump or the end. */
static pl_real next_limit(const pl_simulation *s) {
    const unit_state *state = s->method;
    const pl_inputs *in = s->problem.inputs;
    pl_real h = s->setup.run.method_options.h_fixed;
    pl_real limit = fmin(s->t_stop, s->setup.start + (pl_real)(state->step + 1) * h);
    if (state->next_point < s->out.n_points) limit = fmin(limit, s->out.point[state->next_point]);
    for (int k = 0; in && k < in->n_segments; k++)
        if (in->start[k] > s->t && in->start[k] < limit) limit = in->start[k];
    return limit;
}

static pl_status rows_here(pl_simulation *s, int every) {
    unit_state *state = s->method;
    pl_status status = PL_OK;
    if (s->out.n_points < 0) return every ? unit_row(s, s->t) : PL_OK;
    while (status == PL_OK && state->next_point < s->out.n_points &&
           s->out.point[state->next_point] <= s->t) {
        status = unit_row(s, s->out.point[state->next_point]);
        if (status == PL_OK) state->next_point++;
    }
    return status;
}

static pl_status unit_step(pl_simulation *s) {
    const pl_unit *unit = s->setup.unit;
    unit_state *state = s->method;
    pl_real limit = next_limit(s), reached = limit, *c = coefficients(s);
    pl_status status = inputs_about(s, s->t, c);
    if (status == PL_OK) status = pl_simulation_events(s);
    if (status == PL_OK) status = pl_simulation_log(s);
    if (status != PL_OK) return status;
    status = unit->advance(s->problem.self, s->t, limit, degree_of(&s->setup), c, &reached);
    if (status < 0) return pl_simulation_fail(s, status, PL_IN_RHS, -1, s->t);
    pl_real h = reached - s->t;
    s->t = reached;
    s->count.n_steps++;
    if (s->out.log_capacity > 0) {
        pl_real *entry = s->out.log + 4 * s->out.log_used++;
        entry[0] = reached, entry[1] = h, entry[2] = 0.0, entry[3] = -1.0;
    }
    if (reached < limit || status == PL_TERMINATED) {
        s->count.n_events++;
        pl_simulation_note(s, reached, status == PL_TERMINATED, NULL, NULL, NULL);
    }
    if (reached >= s->setup.start + (pl_real)(state->step + 1) * s->setup.run.method_options.h_fixed)
        state->step++;
    pl_status rows = rows_here(s, 1);
    return rows == PL_OK ? status : rows;
}

static pl_status unit_advance(pl_simulation *s, int64_t budget) {
    unit_state *state = s->method;
    if (!state->rows_at_start) {
        pl_status status = rows_here(s, 1);
        if (status != PL_OK) return status;
        state->rows_at_start = 1;
    }
    for (int64_t k = 0; s->t < s->t_stop; k++) {
        if (k >= budget) return PL_PAUSED;
        pl_status status = unit_step(s);
        if (status != PL_OK) return status;
    }
    return PL_FINISHED;
}

static pl_status unit_flush(pl_simulation *s) {
    size_t width = (size_t)(1 + s->out.n_y);
    if (s->out.used > 0 && s->out.row[(size_t)(s->out.used - 1) * width] >= s->t) return PL_OK;
    return unit_row(s, s->t);
}

static size_t unit_save_size(const pl_simulation *s) {
    (void)s;
    return sizeof(unit_state);
}
static void unit_save(const pl_simulation *s, char *to) {
    memcpy(to, s->method, sizeof(unit_state));
}
static pl_status unit_restore(pl_simulation *s, const char *from) {
    memcpy(s->method, from, sizeof(unit_state));
    return PL_OK;
}

const pl_engine pl_unit_engine = {
    .name = "unit",
    .size = unit_size,
    .init = unit_init,
    .initialise = unit_initialise,
    .advance = unit_advance,
    .flush = unit_flush,
    .save_size = unit_save_size,
    .save = unit_save,
    .restore = unit_restore,
};
