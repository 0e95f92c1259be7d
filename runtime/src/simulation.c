/* pl_simulation: layout of its block, growth, recorded events, and the way to the engine that does the work. */
#include "simulation.h"

#include <math.h>
#include <string.h>

#define MOST_INCIDENTS 50000 /* kept of the beginning of a run, and at least as many of its end */

pl_sizes pl_setup_sizes(const pl_setup *setup) {
    const pl_model *m = setup->model;
    const pl_unit *unit = setup->unit;
    pl_sizes none = {0};
    if (m) return (pl_sizes){m->n_x, m->n_u, m->n_p, m->n_y, m->n_roots, m->memory_size};
    if (!unit) return none;
    return (pl_sizes){0, unit->n_u, 0, unit->n_y, 0, unit->memory_size};
}

static size_t event_bytes(const pl_sizes *n) {
    return 2 * sizeof(pl_real) * (size_t)(1 + n->n_x) + pl_round_up((size_t)n->n_roots);
}

static size_t segment_reals(const pl_setup *setup, const pl_sizes *n) {
    return setup->degree >= 0 ? 2 + 2 * (size_t)(setup->degree + 1) * (size_t)n->n_u : 0;
}

static size_t row_bytes(const pl_setup *setup) {
    return (size_t)(1 + setup->n_x_out + setup->n_y_out) * sizeof(pl_real);
}

size_t pl_simulation_size(const pl_setup *setup) {
    pl_sizes n = pl_setup_sizes(setup);
    size_t reals = sizeof(pl_real);
    size_t bytes = pl_round_up(sizeof(pl_simulation)) + setup->engine->size(setup);
    bytes += 3 * pl_round_up((size_t)n.n_x * reals) + pl_round_up((size_t)(n.n_u + 1) * reals);
    bytes += pl_round_up((size_t)n.n_p * reals);
    bytes += pl_round_up(segment_reals(setup, &n) * reals) + pl_round_up(2);
    bytes += pl_round_up(5 * (size_t)n.n_x * sizeof(int64_t));
    if (setup->open) bytes += pl_round_up(n.memory);
    if (setup->plan && !setup->linear) bytes += pl_round_up(setup->plan->layout.size);
    bytes += pl_round_up((size_t)setup->rows * row_bytes(setup));
    bytes += pl_round_up((size_t)setup->log * 4 * reals);
    bytes += pl_round_up((size_t)setup->events * event_bytes(&n));
    return bytes + pl_round_up((size_t)setup->incidents * sizeof(pl_incident));
}

pl_status pl_simulation_fail(pl_simulation *s, pl_status status, int what, int index, pl_real t) {
    s->problem.failure.status = (int)status;
    s->problem.failure.what = what;
    s->problem.failure.index = index;
    s->problem.failure.t = t;
    return status;
}

/* --------------------------------------------------------------------------------------------- growth */

void *pl_simulation_grow(pl_simulation *s, int what, void *old, size_t used, size_t bytes) {
    if (bytes <= s->capacity[what]) return old;
    void *block = s->setup.grow ? s->setup.grow(s->setup.host, what, old, used, bytes) : NULL;
    if (!block) {
        if (what != PL_GROW_INCIDENTS)
            pl_simulation_fail(s, PL_MEMORY, PL_IN_GROWTH, what, s->run ? s->run->t_reached : s->t);
        return NULL;
    }
    s->grown[what]++;
    s->capacity[what] = bytes;
    return block;
}

pl_status pl_simulation_rows(pl_simulation *s, int64_t count) {
    pl_output *out = &s->out;
    size_t width = pl_row_bytes(out);
    if (out->capacity - out->used >= count) return PL_OK;
    int64_t wanted = 2 * out->capacity;
    if (wanted < out->used + count) wanted = out->used + count;
    pl_real *row =
        pl_simulation_grow(s, PL_GROW_ROWS, out->row, (size_t)out->used * width, (size_t)wanted * width);
    if (!row) return PL_MEMORY;
    out->row = row;
    out->capacity = wanted;
    return PL_OK;
}

pl_status pl_simulation_log(pl_simulation *s) {
    pl_output *out = &s->out;
    size_t width = 4 * sizeof(pl_real);
    if (out->log_capacity == 0 || out->log_used < out->log_capacity) return PL_OK;
    pl_real *log = pl_simulation_grow(s, PL_GROW_LOG, out->log, (size_t)out->log_used * width,
                                      4 * (size_t)out->log_capacity * width);
    if (!log) return PL_MEMORY;
    out->log = log;
    out->log_capacity *= 4;
    return PL_OK;
}

pl_status pl_simulation_events(pl_simulation *s) {
    if (s->n_events < s->event_capacity || (s->setup.last_events && s->event_capacity > 0)) return PL_OK;
    int64_t wanted = s->event_capacity ? 2 * s->event_capacity : 8;
    char *event = pl_simulation_grow(s, PL_GROW_EVENTS, s->event, (size_t)s->n_events * s->event_bytes,
                                     (size_t)wanted * s->event_bytes);
    if (!event) return PL_MEMORY;
    s->event = event;
    s->event_capacity = wanted;
    return PL_OK;
}

/* More room for incidents; beyond the most that are kept, the middle of the run is forgotten. */
static void incidents_full(pl_record *r) {
    pl_simulation *s = r->owner;
    int64_t wanted = r->capacity > 0 ? 4 * r->capacity : 512;
    if (wanted > 3 * MOST_INCIDENTS) wanted = 3 * MOST_INCIDENTS;
    if (wanted > r->capacity) {
        size_t each = sizeof(pl_incident);
        pl_incident *more = pl_simulation_grow(s, PL_GROW_INCIDENTS, r->incident, (size_t)r->used * each,
                                               (size_t)wanted * each);
        if (!more) return;
        r->incident = more;
        r->capacity = wanted;
    } else {
        memmove(r->incident + MOST_INCIDENTS, r->incident + r->used - MOST_INCIDENTS,
                MOST_INCIDENTS * sizeof(pl_incident));
        r->used = 2 * MOST_INCIDENTS;
    }
}

/* --------------------------------------------------------------------------------------------- events */

static size_t place_of(const pl_simulation *s, int64_t k) {
    return (size_t)(s->setup.last_events ? k % s->event_capacity : k) * s->event_bytes;
}

void pl_simulation_note(pl_simulation *s, pl_real t, int terminal, const pl_real *before,
                        const pl_real *after, const int8_t *fired) {
    size_t n = (size_t)s->record.n, bytes = n * sizeof(pl_real);
    pl_real *head = (pl_real *)(void *)(s->event + place_of(s, s->n_events++));
    memset(head, 0, s->event_bytes);
    head[0] = t;
    head[1] = terminal;
    if (before) memcpy(head + 2, before, bytes);
    if (after) memcpy(head + 2 + n, after, bytes);
    if (fired) memcpy(head + 2 + 2 * n, fired, (size_t)s->problem.model->n_roots);
}

pl_event pl_simulation_event(const pl_simulation *s, int64_t k) {
    const pl_real *head = (const pl_real *)(const void *)(s->event + place_of(s, k));
    const pl_real *before = head + 2, *after = before + s->record.n;
    return (pl_event){head[0], head[1] != 0.0, before, after,
                      (const int8_t *)(const void *)(after + s->record.n)};
}

/* --------------------------------------------------------------------------------------------- the whole */

static void make_record(pl_simulation *s, const pl_setup *setup, int n, char **at) {
    int64_t *counts = pl_take(at, 5 * (size_t)n * sizeof(int64_t));
    memset(counts, 0, 5 * (size_t)n * sizeof(int64_t));
    s->record.n = n;
    s->record.limits = counts;
    s->record.error_fails = counts + n;
    s->record.newton_fails = counts + 2 * n;
    s->record.near_zero = counts + 3 * n;
    s->record.largest = (pl_real *)(void *)(counts + 4 * n);
    s->record.capacity = setup->incidents;
    s->record.full = incidents_full;
    s->record.owner = s;
}

static void make_output(pl_simulation *s, const pl_setup *setup) {
    s->out.n_points = setup->n_points;
    s->out.point = setup->point;
    s->out.n_x = setup->n_x_out;
    s->out.x_index = setup->x_index;
    s->out.n_y = setup->n_y_out;
    s->out.y_index = setup->y_index;
    s->out.capacity = setup->rows;
    s->out.log_capacity = setup->log;
}

/* Two segments: 0 held until the last change, 1 holds from it on. */
static void make_segments(pl_simulation *s, const pl_setup *setup, const pl_sizes *n, char **at) {
    size_t each = (size_t)(setup->degree + 1) * (size_t)n->n_u;
    pl_real *reals = pl_take(at, segment_reals(setup, n) * sizeof(pl_real));
    uint8_t *jump = pl_take(at, 2);
    if (setup->degree < 0 || n->n_u == 0) return;
    memset(reals, 0, (2 + 2 * each) * sizeof(pl_real));
    reals[0] = reals[1] = setup->start;
    memcpy(reals + 2, s->problem.u, (size_t)n->n_u * sizeof(pl_real));
    memcpy(reals + 2 + each, s->problem.u, (size_t)n->n_u * sizeof(pl_real));
    jump[0] = 0;
    jump[1] = 1;
    s->inputs.n_u = n->n_u;
    s->inputs.degree = setup->degree;
    s->inputs.n_segments = 2;
    s->inputs.start = reals;
    s->inputs.coefficient = reals + 2;
    s->inputs.jump = jump;
    s->problem.inputs = &s->inputs;
}

static void first_inputs(pl_simulation *s, const pl_setup *setup, int n_u) {
    const pl_real *u = setup->u;
    if (!u) u = setup->model ? setup->model->u_start : setup->unit->u_start;
    memset(s->problem.u, 0, (size_t)(n_u + 1) * sizeof(pl_real));
    if (u && n_u > 0) memcpy(s->problem.u, u, (size_t)n_u * sizeof(pl_real));
}

static void first_parameters(pl_simulation *s, const pl_setup *setup, int n_p) {
    const pl_real *p = setup->parameters;
    if (!p && setup->model) p = setup->model->p_start;
    if (n_p == 0) return;
    memset(s->p, 0, (size_t)n_p * sizeof(pl_real));
    if (p) memcpy(s->p, p, (size_t)n_p * sizeof(pl_real));
}

pl_simulation *pl_simulation_init(void *memory, const pl_setup *setup, pl_status *status) {
    pl_sizes n = pl_setup_sizes(setup);
    size_t reals = sizeof(pl_real), states = (size_t)n.n_x * reals;
    pl_simulation *s = memory;
    char *at = (char *)memory + pl_round_up(sizeof *s);
    memset(s, 0, sizeof *s);
    s->setup = *setup;
    s->size = pl_simulation_size(setup);
    s->n_u = n.n_u;
    s->t = setup->start;
    s->t_stop = setup->stop;
    s->fresh = 1;
    s->problem.model = setup->model;
    s->problem.rtol = setup->rtol;
    s->problem.count = &s->count;
    s->problem.record = &s->record;
    s->problem.tell = setup->tell;
    s->problem.host = setup->host;
    s->problem.next_jump = 1 << 30;
    s->problem.failure.index = -1;
    s->problem.inputs = setup->inputs;
    s->x = pl_take(&at, states);
    s->x_first = pl_take(&at, states);
    pl_real *atol = pl_take(&at, states);
    s->p = pl_take(&at, (size_t)n.n_p * reals);
    s->problem.u = pl_take(&at, (size_t)(n.n_u + 1) * reals);
    s->problem.atol = atol;
    if (setup->atol_follows) s->problem.atol_room = atol;
    if (n.n_x > 0) {
        memcpy(s->x, setup->x ? setup->x : setup->model->x_start, states);
        memcpy(s->x_first, s->x, states);
        memcpy(atol, setup->atol, states);
    }
    first_parameters(s, setup, n.n_p);
    first_inputs(s, setup, n.n_u);
    make_segments(s, setup, &n, &at);
    make_record(s, setup, n.n_x, &at);
    make_output(s, setup);
    s->opened = setup->open;
    s->problem.self = setup->self;
    if (setup->open) s->problem.self = n.memory ? pl_take(&at, n.memory) : NULL;
    void *linear = setup->linear;
    if (setup->plan && !linear) linear = pl_take(&at, setup->plan->layout.size);
    s->out.row = pl_take(&at, (size_t)setup->rows * row_bytes(setup));
    s->out.log = pl_take(&at, (size_t)setup->log * 4 * reals);
    s->event_bytes = event_bytes(&n);
    s->event_capacity = setup->events;
    s->event = pl_take(&at, (size_t)setup->events * s->event_bytes);
    s->record.incident = pl_take(&at, (size_t)setup->incidents * sizeof(pl_incident));
    s->capacity[PL_GROW_ROWS] = (size_t)setup->rows * row_bytes(setup);
    s->capacity[PL_GROW_LOG] = (size_t)setup->log * 4 * reals;
    s->capacity[PL_GROW_EVENTS] = (size_t)setup->events * s->event_bytes;
    s->capacity[PL_GROW_INCIDENTS] = (size_t)setup->incidents * sizeof(pl_incident);
    *status = s->opened ? pl_instance_open(s) : PL_OK;
    if (*status == PL_OK) pl_simulation_set_linear(s, setup->plan, linear, setup->linear_used);
    if (*status == PL_OK) *status = setup->engine->init(s, setup, at);
    s->status = *status;
    return *status == PL_OK ? s : NULL;
}

void pl_simulation_set_linear(pl_simulation *s, const pl_plan *plan, void *block, int used) {
    s->setup.plan = plan;
    s->problem.linear = block;
    s->capacity[PL_GROW_FACTORS] = 0;
    if (!plan || !block) return;
    s->layout = plan->layout;
    s->lu_room = plan->options.lu_room;
    s->capacity[PL_GROW_FACTORS] = plan->layout.size;
    if (used)
        pl_linear_reset(block);
    else
        pl_linear_init(block, s->problem.model, &plan->options, &plan->layout, plan->work);
    if (s->setup.mask) pl_linear_mask(block, s->setup.mask);
}

pl_status pl_simulation_initialise(pl_simulation *s) {
    if (s->begun) return PL_ARGUMENT;
    return (pl_status)(s->status = (int)s->setup.engine->initialise(s));
}

/* Is there nothing to go on with? Who sets inputs on the way may go on where a model ended, and says so himself. */
static int over(const pl_simulation *s) {
    if (s->status < 0) return s->status != PL_MEMORY && s->status != PL_PATTERN;
    return s->status == PL_TERMINATED && s->setup.degree < 0;
}

pl_status pl_simulation_advance(pl_simulation *s, int64_t budget) {
    if (!s->begun) return (pl_status)(s->status = PL_ARGUMENT);
    if (over(s)) return (pl_status)s->status;
    s->fresh = 0;
    s->status = (int)s->setup.engine->advance(s, budget);
    return (pl_status)s->status;
}

pl_status pl_simulation_flush(pl_simulation *s) {
    if (!s->begun) return PL_OK;
    pl_status status = pl_simulation_rows(s, 1);
    return status == PL_OK ? s->setup.engine->flush(s) : status;
}

void pl_simulation_trust(pl_simulation *s) {
    if (s->problem.linear) pl_linear_trust(s->problem.linear);
    if (s->run && s->begun) pl_run_relinearise(s->run, s->method);
}
