/* Whole simulations as one object: events, growth counted and forbidden, states saved, moved and copied, inputs set on the
 * way, and an engine that steps itself. Prints what failed, exits 1 if anything did. */
#include "pliant.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------ memory */

typedef struct heap {
    void *block[PL_N_GROW];
    int forbidden;
} heap;

static void *grow(void *host, int what, void *old, size_t used, size_t bytes) {
    heap *h = host;
    if (h->forbidden) return NULL;
    void *block = malloc(bytes);
    if (used > 0) memcpy(block, old, used);
    free(h->block[what]);
    h->block[what] = block;
    return block;
}

static void give_back(heap *h) {
    for (int k = 0; k < PL_N_GROW; k++) free(h->block[k]), h->block[k] = NULL;
}

/* ------------------------------------------------------------------------------------------------ models */

/* A ball that bounces, counts its bounces in its instance and ends after `most` of them. */
typedef struct ball {
    double most;
    int bounces;
    char words[40];
} ball;

static pl_status ball_open(void *self) {
    ((ball *)self)->most = 3;
    return PL_OK;
}
static pl_status ball_parameters(void *self, const pl_real *p) {
    ball *b = self;
    b->most = p[0];
    if (p[0] > 0.0) return PL_OK;
    strcpy(b->words, "no bounces");
    return PL_RETRY;
}
static pl_status ball_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t;
    f[0] = x[1];
    f[1] = u[0] - 9.81;
    return PL_OK;
}
static pl_status ball_roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    (void)self, (void)t, (void)u;
    g[0] = x[0];
    return PL_OK;
}
static pl_status ball_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                            pl_event_info *info) {
    ball *b = self;
    (void)t, (void)u;
    if (!fired || !fired[0]) return PL_OK;
    x[0] = 0.0;
    x[1] = -0.8 * x[1];
    info->x_changed = 1;
    info->terminate = ++b->bounces >= b->most;
    return PL_OK;
}
static pl_status ball_outputs(void *self, pl_real t, const pl_real *x, const pl_real *u, int n,
                              const int *index, pl_real *y) {
    (void)t, (void)u;
    for (int k = 0; k < n; k++) y[k] = index[k] == 0 ? ((ball *)self)->bounces : log(x[0] + 0.5);
    return PL_OK;
}
static const char *ball_words(void *self) {
    return ((ball *)self)->words;
}

static const pl_real ball_start[] = {1.0, 0.0}, ball_most[] = {3.0}, ball_u[] = {0.0};
static const int8_t falling[] = {-1};
static const pl_model ball_model = {.abi = PL_ABI,
                                    .n_x = 2,
                                    .n_u = 1,
                                    .n_p = 1,
                                    .n_y = 2,
                                    .n_roots = 1,
                                    .memory_size = sizeof(ball),
                                    .x_start = ball_start,
                                    .p_start = ball_most,
                                    .u_start = ball_u,
                                    .root_direction = falling,
                                    .open = ball_open,
                                    .set_parameters = ball_parameters,
                                    .rhs = ball_rhs,
                                    .roots = ball_roots,
                                    .event = ball_event,
                                    .outputs = ball_outputs,
                                    .error = ball_words};

/* x' = u - x */
static const pl_real decay_start[] = {1.0};
static pl_status decay_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t;
    f[0] = u[0] - x[0];
    return PL_OK;
}
static const pl_model decay_model = {
    .abi = PL_ABI, .n_x = 1, .n_u = 1, .x_start = decay_start, .rhs = decay_rhs};

/* ------------------------------------------------------------------------------------------------ whole runs */

typedef struct setting {
    pl_setup setup;
    pl_plan plan;
    void *work;
    heap memory;
} setting;

static const pl_real tolerance[] = {1e-6, 1e-6};
static const int both[] = {0, 1};

static void prepare(setting *of, const pl_model *m) {
    memset(of, 0, sizeof *of);
    of->work = malloc(pl_linear_work_size(m) + 8);
    CHECK(pl_linear_plan(m, &of->plan.options, &of->plan.layout, of->work) == PL_OK);
    of->plan.work = of->work;
    of->setup = (pl_setup){.engine = &pl_model_engine,
                           .model = m,
                           .open = 1,
                           .rtol = 1e-6,
                           .atol = tolerance,
                           .stop = 10.0,
                           .run = {.method = &pl_bdf_method, .root_samples = 4, .at_jump = PL_JUMP_CORRECT},
                           .plan = &of->plan,
                           .degree = -1,
                           .n_points = -1,
                           .n_x_out = m->n_x,
                           .x_index = both,
                           .rows = 16,
                           .log = 16,
                           .events = 1,
                           .incidents = 4,
                           .host = &of->memory,
                           .grow = grow};
}

static pl_simulation *started(setting *of) {
    pl_status status;
    pl_simulation *s = pl_simulation_init(malloc(pl_simulation_size(&of->setup)), &of->setup, &status);
    CHECK(s && status == PL_OK);
    CHECK(pl_simulation_initialise(s) == PL_OK);
    return s;
}

static pl_status finish(pl_simulation *s, int64_t budget) {
    pl_status status;
    while ((status = pl_simulation_advance(s, budget)) == PL_PAUSED) {
    }
    return status;
}

static void dismiss(setting *of, pl_simulation *s) {
    pl_simulation_close(s);
    free(s);
    give_back(&of->memory);
    free(of->work);
}

static int same_rows(const pl_simulation *a, const pl_simulation *b) {
    size_t bytes = (size_t)a->out.used * (size_t)(1 + a->out.n_x + a->out.n_y) * sizeof(pl_real);
    return a->out.used == b->out.used && memcmp(a->out.row, b->out.row, bytes) == 0 &&
           memcmp(&a->count, &b->count, sizeof a->count) == 0 && a->n_events == b->n_events &&
           memcmp(a->event, b->event, (size_t)a->n_events * a->event_bytes) == 0;
}

static void test_events_and_growth(void) {
    setting of;
    prepare(&of, &ball_model);
    pl_simulation *s = started(&of);
    CHECK(finish(s, 7) == PL_TERMINATED);
    CHECK(s->n_events == 3 && s->out.used > 16 && s->out.log_used > 16);
    CHECK(s->grown[PL_GROW_ROWS] > 0 && s->grown[PL_GROW_LOG] > 0 && s->grown[PL_GROW_EVENTS] > 0);
    pl_real t = sqrt(2.0 / 9.81), v = 9.81 * t;
    for (int k = 0; k < 3; k++) {
        pl_event event = pl_simulation_event(s, k);
        CHECK(fabs(event.t - t) < 1e-4 && event.fired[0] == -1 && event.terminal == (k == 2));
        CHECK(event.after[0] == 0.0 && fabs(event.before[1] + v) < 1e-3);
        v *= 0.8;
        t += 2.0 * v / 9.81;
        CHECK(fabs(event.after[1] - v) < 1e-3);
    }
    dismiss(&of, s);
}

static void test_growth_forbidden(void) {
    setting of;
    prepare(&of, &ball_model);
    pl_simulation *s = started(&of);
    of.memory.forbidden = 1;
    CHECK(finish(s, 1000) == PL_MEMORY);
    CHECK(s->problem.failure.what == PL_IN_GROWTH && s->problem.failure.index == PL_GROW_ROWS);
    of.memory.forbidden = 0; /* whoever finds memory goes on */
    CHECK(finish(s, 1000) == PL_TERMINATED && s->n_events == 3);
    dismiss(&of, s);

    prepare(&of, &ball_model); /* with room for everything nothing has to grow */
    of.setup.grow = NULL;
    of.setup.rows = of.setup.log = 1000;
    of.setup.events = 10;
    s = started(&of);
    CHECK(finish(s, 1000) == PL_TERMINATED);
    for (int k = 0; k < PL_N_GROW; k++) CHECK(s->grown[k] == 0);
    CHECK(s->record.used <= 4); /* incidents are counted only */
    dismiss(&of, s);

    prepare(&of, &ball_model);
    of.setup.rows = of.setup.log = 1000;
    of.memory.forbidden = 1;
    s = started(&of);
    CHECK(finish(s, 1000) == PL_MEMORY && s->problem.failure.index == PL_GROW_EVENTS && s->n_events == 1);
    dismiss(&of, s);
}

/* Requested points that do not fit, in the middle of steps with events: whatever the room at first, the same run. */
static void test_rows_grow_within_steps(void) {
    static const pl_method *const methods[] = {&pl_bdf_method, &pl_radau5_method, &pl_dopri5_method,
                                               &pl_rk4_method};
    pl_real point[40];
    for (int k = 0; k < 40; k++) point[k] = 0.04 * k;
    for (int k = 0; k < 4; k++) {
        pl_simulation *whole = NULL;
        setting ample, of;
        for (int rows = 100; rows > 0; rows = rows > 8 ? 8 : rows - 1) {
            prepare(&of, &ball_model);
            of.plan.options.need_complex = 1;
            CHECK(pl_linear_plan(&ball_model, &of.plan.options, &of.plan.layout, of.work) == PL_OK);
            of.setup.run.method = methods[k];
            of.setup.run.method_options.h_fixed = k == 3 ? 0.05 : 0.0;
            of.setup.n_points = 40;
            of.setup.point = point;
            of.setup.rows = rows;
            if (rows == 100) {
                ample = of;
                ample.setup.plan = &ample.plan;
                ample.setup.host = &ample.memory;
                whole = started(&ample);
                CHECK(finish(whole, 1000) == PL_TERMINATED && whole->n_events == 3);
                CHECK(whole->grown[PL_GROW_ROWS] == 0);
                continue;
            }
            pl_simulation *s = started(&of);
            int64_t refused = 0;
            for (pl_status status = PL_PAUSED; status == PL_PAUSED || status == PL_MEMORY;) {
                of.memory.forbidden = 1; /* at every other call */
                status = finish(s, 1);
                of.memory.forbidden = 0;
                if (status == PL_MEMORY) refused++, status = pl_simulation_advance(s, 1);
            }
            CHECK(refused > 0 && s->status == PL_TERMINATED && same_rows(s, whole));
            CHECK(pl_simulation_advance(s, 10) == PL_TERMINATED && same_rows(s, whole)); /* it is over */
            dismiss(&of, s);
        }
        dismiss(&ample, whole);
    }
}

static void test_failures(void) {
    setting of;
    pl_status status;
    const pl_real none[] = {0.0};
    prepare(&of, &ball_model);
    of.setup.parameters = none;
    void *block = malloc(pl_simulation_size(&of.setup));
    CHECK(pl_simulation_init(block, &of.setup, &status) == NULL && status == PL_RETRY);
    free(block);
    of.setup.parameters = NULL;
    of.setup.x = (const pl_real[]){-0.4, 0.0}; /* below the floor: the second output ceases to be a number */
    of.setup.n_y_out = 2;
    of.setup.y_index = both;
    pl_simulation *s = started(&of);
    CHECK(finish(s, 3) == PL_NONFINITE);
    CHECK(s->problem.failure.what == PL_IN_OUTPUTS && s->problem.failure.index == 1);
    CHECK(s->out.used > 0 && s->run->t_reached < 10.0);
    pl_real t = s->problem.failure.t;
    pl_simulation_close(s);
    free(s);
    s = started(&of); /* whatever the budget */
    CHECK(finish(s, 1000) == PL_NONFINITE && s->problem.failure.t == t);
    CHECK(pl_simulation_advance(s, 1000) == PL_NONFINITE); /* and it stays failed */
    CHECK(strcmp(pl_simulation_words(s), "") == 0);
    dismiss(&of, s);
}

/* A line of heat: x_i' = x_{i-1} - 2 x_i + x_{i+1}. Sparse factors that were given too little room get more. */
enum { LINE = 50 };

static pl_status line_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    for (int i = 0; i < LINE; i++)
        f[i] = (i > 0 ? x[i - 1] : 0.0) - 2.0 * x[i] + (i + 1 < LINE ? x[i + 1] : 0.0);
    return PL_OK;
}

static void test_factors_grow(void) {
    static pl_real start[LINE], atol[LINE];
    static int column[LINE + 1], row[3 * LINE], index[LINE];
    int at = 0;
    for (int j = 0; j < LINE; j++) {
        start[j] = j == LINE / 2;
        atol[j] = 1e-8;
        column[j] = at;
        index[j] = j;
        for (int i = j > 0 ? j - 1 : 0; i <= j + 1 && i < LINE; i++) row[at++] = i;
    }
    column[LINE] = at;
    const pl_model line = {
        .abi = PL_ABI, .n_x = LINE, .x_start = start, .rhs = line_rhs, .jac = {LINE, LINE, column, row}};
    pl_real ends[2];
    for (int small = 0; small < 2; small++) {
        setting of;
        prepare(&of, &line);
        of.plan.options =
            (pl_linear_options){.storage = PL_SPARSE, .lu = &pl_sparse_table, .lu_room = small ? 0.05 : 4.0};
        CHECK(pl_linear_plan(&line, &of.plan.options, &of.plan.layout, of.work) == PL_OK);
        of.setup.atol = atol;
        of.setup.x_index = index;
        of.setup.stop = 1.0;
        of.memory.forbidden = small;
        pl_simulation *s = started(&of);
        if (small) {
            CHECK(finish(s, 100) == PL_MEMORY && s->problem.failure.what == PL_IN_GROWTH);
            CHECK(s->problem.failure.index == PL_GROW_FACTORS);
            of.memory.forbidden = 0;
        }
        CHECK(finish(s, 100) == PL_FINISHED);
        CHECK((s->grown[PL_GROW_FACTORS] > 0) == small);
        ends[small] = s->out.row[(s->out.used - 1) * (1 + LINE) + 1 + LINE / 2];
        dismiss(&of, s);
    }
    CHECK(fabs(ends[0] - ends[1]) < 1e-5);
}

/* The first 50 000 incidents of a run are kept, and at least as many of its end. */
static void test_incidents(void) {
    enum { MANY = 400000, FIRST = 50000 };
    setting of;
    prepare(&of, &ball_model);
    pl_simulation *s = started(&of);
    pl_record *r = &s->record;
    for (int k = 0; k < MANY; k++) {
        if (r->used >= r->capacity) r->full(r);
        r->incident[r->used++].t = k;
    }
    CHECK(r->used >= 2 * FIRST && r->used <= 3 * FIRST && s->grown[PL_GROW_INCIDENTS] > 1);
    for (int k = 0; k < FIRST; k++) {
        if (r->incident[k].t != k) CHECK(r->incident[k].t == k);
        if (r->incident[r->used - 1 - k].t != MANY - 1 - k)
            CHECK(r->incident[r->used - 1 - k].t == MANY - 1 - k);
    }
    dismiss(&of, s);
}

/* --------------------------------------------------------------------------------------- save, restore, copy */

static void test_copies(void) {
    static const pl_method *const methods[] = {&pl_bdf_method, &pl_radau5_method, &pl_dopri5_method};
    for (int k = 0; k < 3; k++) {
        setting of, other, third;
        prepare(&of, &ball_model);
        of.plan.options.need_complex = 1;
        CHECK(pl_linear_plan(&ball_model, &of.plan.options, &of.plan.layout, of.work) == PL_OK);
        of.setup.run.method = methods[k];
        other = third = of;
        other.setup.host = &other.memory;
        third.setup.host = &third.memory;
        pl_simulation *whole = started(&of), *first = started(&other), *second = started(&third);
        CHECK(finish(whole, 1000) == PL_TERMINATED);
        CHECK(pl_simulation_advance(first, whole->count.n_steps / 2) == PL_PAUSED);
        size_t bytes = pl_simulation_save_size(first, PL_SAVE_ALL);
        void *room = malloc(bytes);
        CHECK(pl_simulation_copy(second, first, room) == PL_OK);
        CHECK(finish(second, 5) == PL_TERMINATED && same_rows(second, whole));
        free(room);
        /* back to a saved state of the same simulation, twice */
        bytes = pl_simulation_save_size(first, 0);
        room = malloc(bytes);
        CHECK(pl_simulation_save(first, 0, room) == PL_OK);
        for (int round = 0; round < 2; round++) {
            CHECK(finish(first, 1000) == PL_TERMINATED && same_rows(first, whole));
            CHECK(pl_simulation_restore(first, room) == PL_OK);
        }
        memset(room, 0, 16);
        CHECK(pl_simulation_restore(first, room) == PL_ARGUMENT);
        free(room);
        pl_simulation_close(first), pl_simulation_close(second);
        free(first), free(second);
        give_back(&other.memory), give_back(&third.memory);
        dismiss(&of, whole);
    }
}

/* ------------------------------------------------------------------------------------- inputs set on the way */

static void test_live(void) {
    setting of;
    prepare(&of, &decay_model);
    of.setup.degree = 1;
    of.setup.n_points = 0;
    of.setup.u = (const pl_real[]){1.0};
    pl_simulation *s = started(&of);
    pl_real x, exact = 1.0;
    for (int k = 0; k < 10; k++) { /* u = 1 + s in every step of one: x' = u - x */
        pl_real u[2] = {1.0, 1.0};
        pl_simulation_set_inputs(s, k, u);
        CHECK(pl_simulation_go(s, k + 1, 3) >= 0);
        while (s->leg) CHECK(pl_simulation_go(s, k + 1, 3) >= 0);
        pl_simulation_state(s, &x);
        exact = exact * exp(-1.0) + 1.0; /* particular solution: s */
        CHECK(fabs(x - exact) < 1e-4);
    }
    CHECK(s->run->t_reached == 10.0);
    dismiss(&of, s);
}

/* --------------------------------------------------------------------------------- something that steps itself */

/* x' = u - x with exact steps; stops by itself when x passes 2, ends at 3. */
typedef struct tank {
    pl_real x;
    int passed, fails;
} tank;

static pl_status tank_initialise(void *self, pl_real t, const pl_real *u) {
    (void)t, (void)u;
    ((tank *)self)->x = 0.0;
    return PL_OK;
}
static pl_status tank_advance(void *self, pl_real t, pl_real t_next, int degree, const pl_real *u,
                              pl_real *reached) {
    tank *one = self;
    pl_real h = t_next - t, slope = degree > 0 ? u[1] : 0.0, to = u[0] - slope;
    pl_real end = slope * h + to + (one->x - to) * exp(-h);
    if (one->fails && t > 1.0) return PL_FATAL;
    if (!one->passed && end > 2.0) { /* half way, as good as anywhere */
        one->passed = 1;
        *reached = t + 0.5 * h;
        one->x = slope * 0.5 * h + to + (one->x - to) * exp(-0.5 * h);
        return PL_OK;
    }
    one->x = end;
    return end > 3.0 ? PL_TERMINATED : PL_OK;
}
static pl_status tank_outputs(void *self, pl_real t, int n, const int *index, pl_real *y) {
    (void)t, (void)index;
    for (int k = 0; k < n; k++) y[k] = ((tank *)self)->x;
    return PL_OK;
}
static size_t cannot(void *self) {
    (void)self;
    return 0;
}
static pl_status no_save(void *self, void *to) {
    (void)self, (void)to;
    return PL_FATAL;
}
static pl_status no_restore(void *self, const void *from) {
    (void)self, (void)from;
    return PL_FATAL;
}

static void test_unit(void) {
    static const pl_unit unit = {.n_u = 1,
                                 .n_y = 1,
                                 .memory_size = sizeof(tank),
                                 .initialise = tank_initialise,
                                 .advance = tank_advance,
                                 .outputs = tank_outputs};
    static const pl_real start[] = {0.0, 2.0}, coefficient[] = {1.0, 0.0, 1.0, 1.0};
    static const uint8_t jump[] = {0, 1};
    static const int all[] = {0};
    pl_inputs inputs = {
        .n_u = 1, .degree = 1, .n_segments = 2, .start = start, .coefficient = coefficient, .jump = jump};
    heap memory = {0};
    pl_real point[26];
    for (int k = 0; k <= 25; k++) point[k] = 0.2 * k;
    pl_setup setup = {.engine = &pl_unit_engine,
                      .unit = &unit,
                      .open = 1,
                      .inputs = &inputs,
                      .degree = -1,
                      .stop = 5.0,
                      .run.method_options.h_fixed = 0.1,
                      .n_points = 26,
                      .point = point,
                      .n_y_out = 1,
                      .y_index = all,
                      .rows = 4,
                      .log = 4,
                      .host = &memory,
                      .grow = grow};
    pl_status status;
    pl_simulation *s = pl_simulation_init(malloc(pl_simulation_size(&setup)), &setup, &status);
    CHECK(s && pl_simulation_initialise(s) == PL_OK);
    CHECK(pl_simulation_advance(s, 15) == PL_PAUSED);
    size_t bytes = pl_simulation_save_size(s, 0);
    void *room = malloc(bytes);
    CHECK(pl_simulation_save(s, 0, room) == PL_OK);
    pl_real before[64];
    for (int round = 0; round < 2; round++) {
        CHECK(finish(s, 4) == PL_TERMINATED);
        CHECK(pl_simulation_flush(s) == PL_OK);
        /* x = 1 - exp(-t), from 2 on u = 1 + (t - 2): x = t - 2 + (x(2)) exp(-(t - 2)) */
        for (int64_t k = 0; k < s->out.used; k++) {
            pl_real t = s->out.row[2 * k], late = 1.0 - exp(-2.0);
            pl_real exact = t <= 2.0 ? 1.0 - exp(-t) : t - 2.0 + late * exp(-(t - 2.0));
            CHECK(fabs(s->out.row[2 * k + 1] - exact) < 1e-12);
        }
        CHECK(s->n_events == 2 && !pl_simulation_event(s, 0).terminal && pl_simulation_event(s, 1).terminal);
        CHECK(s->grown[PL_GROW_ROWS] > 0 && s->grown[PL_GROW_EVENTS] > 0);
        if (round == 0)
            memcpy(before, s->out.row, sizeof(pl_real) * 2 * (size_t)s->out.used);
        else
            CHECK(memcmp(before, s->out.row, sizeof(pl_real) * 2 * (size_t)s->out.used) == 0);
        CHECK(pl_simulation_restore(s, room) == PL_OK);
    }
    ((tank *)s->problem.self)->fails = 1;
    CHECK(finish(s, 100) == PL_FATAL && s->t < 1.6);
    free(room);
    pl_simulation_close(s);
    free(s);

    pl_unit closed = unit; /* one that cannot be saved, inputs set on the way */
    closed.save_size = cannot;
    closed.save = no_save;
    closed.restore = no_restore;
    setup.unit = &closed;
    setup.inputs = NULL;
    setup.degree = 0;
    setup.n_points = -1;
    s = pl_simulation_init(malloc(pl_simulation_size(&setup)), &setup, &status);
    CHECK(s && pl_simulation_initialise(s) == PL_OK);
    CHECK(pl_simulation_save_size(s, 0) == 0);
    pl_real u = 1.5;
    pl_simulation_set_inputs(s, 0.0, &u);
    CHECK(pl_simulation_go(s, 0.25, 100) == PL_FINISHED && s->t == 0.25);
    u = 0.0;
    pl_simulation_set_inputs(s, 0.25, &u);
    CHECK(pl_simulation_go(s, 0.5, 100) == PL_FINISHED);
    pl_real x = 1.5 * (1.0 - exp(-0.25)) * exp(-0.25);
    CHECK(fabs(s->out.row[2 * (s->out.used - 1) + 1] - x) < 1e-12);
    pl_simulation_close(s);
    free(s);
    give_back(&memory);
}

int main(void) {
    test_events_and_growth();
    test_growth_forbidden();
    test_rows_grow_within_steps();
    test_failures();
    test_incidents();
    test_factors_grow();
    test_copies();
    test_live();
    test_unit();
    printf("test_simulation: %d checks, %d failed\n", n_checks, n_failed);
    return n_failed > 0;
}
