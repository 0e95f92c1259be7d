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
    int segment;       /* of the inputs where the simulation stands; -1: they are constant */
    pl_real t_before;  /* communication point before this one, with outputs behind the coefficients */
} unit_state;

static int degree_of(const pl_setup *setup) {
    return setup->degree >= 0 ? setup->degree : setup->inputs ? setup->inputs->degree : 0;
}

static size_t coefficient_bytes(const pl_setup *setup) {
    return (size_t)(degree_of(setup) + 1) * (size_t)(setup->unit->n_u + 1) * sizeof(pl_real);
}

/* Outputs of the last communication point and of this one. */
static size_t output_bytes(const pl_setup *setup) {
    return 2 * (size_t)(setup->n_y_out + 1) * sizeof(pl_real);
}

static size_t unit_size(const pl_setup *setup) {
    return pl_round_up(sizeof(unit_state)) + pl_round_up(coefficient_bytes(setup)) +
           pl_round_up(output_bytes(setup));
}

static pl_status unit_init(pl_simulation *s, const pl_setup *setup, char *memory) {
    if (!setup->unit || !(setup->run.method_options.h_fixed > 0.0) || setup->n_x_out > 0) return PL_ARGUMENT;
    s->method = memory;
    memset(memory, 0, unit_size(setup));
    ((unit_state *)s->method)->segment = -1;
    return PL_OK;
}

static pl_real *coefficients(const pl_simulation *s) {
    char *state = s->method;
    return (pl_real *)(void *)(state + pl_round_up(sizeof(unit_state)));
}

static pl_real *outputs_before(const pl_simulation *s) {
    return (pl_real *)(void *)((char *)coefficients(s) + pl_round_up(coefficient_bytes(&s->setup)));
}
static pl_real *outputs_now(const pl_simulation *s) {
    return outputs_before(s) + s->out.n_y + 1;
}

/* A row at t, between the last communication point and this one: interpolated, what jumps is held. */
static pl_status unit_row(pl_simulation *s, pl_real t) {
    const unit_state *state = s->method;
    const int8_t *held = s->setup.unit->y_held;
    pl_status status = pl_simulation_rows(s, 1);
    if (status != PL_OK) return status;
    pl_real *row = s->out.row + (size_t)s->out.used * (size_t)(1 + s->out.n_y);
    const pl_real *before = outputs_before(s), *now = outputs_now(s);
    pl_real share =
        t < s->t && s->t > state->t_before ? (t - state->t_before) / (s->t - state->t_before) : 1.0;
    row[0] = t;
    for (int i = 0; i < s->out.n_y; i++) {
        int k = s->out.y_index ? s->out.y_index[i] : i;
        row[1 + i] = share >= 1.0      ? now[i]
                     : held && held[k] ? before[i]
                                       : before[i] + share * (now[i] - before[i]);
    }
    s->out.used++;
    s->out.checked = s->out.used;
    return PL_OK;
}

/* Segment of the inputs that holds from t on, not before the one known. */
static void find_segment(pl_simulation *s, pl_real t) {
    unit_state *state = s->method;
    const pl_inputs *in = s->problem.inputs;
    if (!in || in->n_segments == 0) return;
    if (state->segment < 0 || s->setup.degree >= 0) state->segment = 0;
    while (state->segment + 1 < in->n_segments && in->start[state->segment + 1] <= t) state->segment++;
}

/* Polynomials of the inputs about t. */
static pl_status inputs_about(pl_simulation *s, pl_real t, pl_real *c) {
    const pl_inputs *in = s->problem.inputs;
    const unit_state *state = s->method;
    find_segment(s, t);
    int n = s->n_u, degree = degree_of(&s->setup), k = state->segment;
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

/* Where the next step ends: communication point, jump of an input or the end. */
static pl_real next_limit(const pl_simulation *s) {
    const unit_state *state = s->method;
    const pl_inputs *in = s->problem.inputs;
    pl_real h = s->setup.run.method_options.h_fixed;
    pl_real limit = fmin(s->t_stop, s->setup.start + (pl_real)(state->step + 1) * h);
    if (s->t_stop - limit < 1e-6 * h) limit = s->t_stop; /* no step that rounding makes */
    if (!in || s->setup.unit->equal_steps || state->segment < 0) return limit;
    for (int k = state->segment + 1; k < in->n_segments && in->start[k] < limit; k++)
        if (in->start[k] > s->t && (!in->jump || in->jump[k])) return in->start[k];
    return limit;
}

/* Outputs where the simulation stands, with the inputs that hold from here on. */
static pl_status read_outputs(pl_simulation *s, int ended) {
    const pl_unit *unit = s->setup.unit;
    pl_real *c = coefficients(s), *y = outputs_now(s);
    pl_status status = PL_OK;
    if (unit->inputs && !ended) {
        status = inputs_about(s, s->t, c);
        if (status == PL_OK) status = unit->inputs(s->problem.self, s->t, degree_of(&s->setup), c);
        if (status < 0) return pl_simulation_fail(s, status, PL_IN_INPUTS, -1, s->t);
        ended = status == PL_TERMINATED;
        status = PL_OK;
    }
    if (s->out.n_y > 0) status = unit->outputs(s->problem.self, s->t, s->out.n_y, s->out.y_index, y);
    if (status != PL_OK) return pl_simulation_fail(s, status, PL_IN_OUTPUTS, -1, s->t);
    int bad = pl_first_nonfinite(s->out.n_y, y);
    if (bad < 0) return ended ? PL_TERMINATED : PL_OK;
    return pl_simulation_fail(s, PL_NONFINITE, PL_IN_OUTPUTS, s->out.y_index ? s->out.y_index[bad] : bad,
                              s->t);
}

static pl_status rows_here(pl_simulation *s, int ended) {
    unit_state *state = s->method;
    pl_status status = read_outputs(s, ended), rows = PL_OK;
    if (status < 0) return status;
    if (s->out.n_points < 0) rows = unit_row(s, s->t);
    while (rows == PL_OK && state->next_point < s->out.n_points && s->out.point[state->next_point] <= s->t) {
        rows = unit_row(s, s->out.point[state->next_point]);
        if (rows == PL_OK) state->next_point++;
    }
    memcpy(outputs_before(s), outputs_now(s), (size_t)s->out.n_y * sizeof(pl_real));
    state->t_before = s->t;
    return rows == PL_OK ? status : rows;
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
    return rows_here(s, status == PL_TERMINATED);
}

static pl_status unit_advance(pl_simulation *s, int64_t budget) {
    unit_state *state = s->method;
    if (!state->rows_at_start) {
        state->rows_at_start = 1;
        pl_status status = rows_here(s, 0);
        if (status != PL_OK) return status;
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
    const unit_state *state = s->method;
    if (s->out.used > 0 && s->out.row[(size_t)(s->out.used - 1) * width] >= s->t) return PL_OK;
    if (!state->rows_at_start || state->t_before != s->t)
        return PL_OK; /* the outputs here could not be read */
    return unit_row(s, s->t);
}

static size_t unit_save_size(const pl_simulation *s) {
    return unit_size(&s->setup);
}
static void unit_save(const pl_simulation *s, char *to) {
    memcpy(to, s->method, unit_size(&s->setup));
}
static pl_status unit_restore(pl_simulation *s, const char *from) {
    memcpy(s->method, from, unit_size(&s->setup));
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
