/* The engine behind a simulation of a pl_model: start values, the step loop (run.c), and what a run needs on the way. */
#include "record.h"
#include "run.h"
#include "simulation.h"

#include <math.h>
#include <string.h>

#define FIRST_ROOM 1.3
#define MOST_ROOM  1e6 /* beyond this, factors fill up without end */

static size_t start_bytes(const pl_setup *setup) {
    return setup->start_work ? 0 : pl_start_size(setup->model);
}

static size_t model_size(const pl_setup *setup) {
    return pl_round_up(pl_run_size(setup->model)) +
           pl_round_up(pl_run_method_size(&setup->run, setup->model->n_x)) + pl_round_up(start_bytes(setup));
}

/* Work memory of the start, if it is part of the block. */
static void *work_of(const pl_simulation *s) {
    char *method = s->method;
    return method + pl_round_up(pl_run_method_size(&s->setup.run, s->setup.model->n_x));
}

static pl_status model_init(pl_simulation *s, const pl_setup *setup, char *memory) {
    pl_run *r = pl_take(&memory, pl_run_size(setup->model));
    s->run = r;
    s->method = memory;
    memset(r, 0, sizeof *r);
    r->opt = setup->run;
    r->method = setup->run.method->id;
    r->t_reached = setup->start;
    memset(s->method, 0, sizeof(pl_stepper));
    return PL_OK;
}

/* Pivoting needed more room than predicted. */
static pl_status more_factors(pl_simulation *s) {
    const pl_plan *plan = s->setup.plan;
    double room = 2.0 * fmax(s->lu_room, FIRST_ROOM);
    if (!plan || room > MOST_ROOM)
        return pl_simulation_fail(s, PL_MEMORY, PL_IN_LINEAR, -1, s->run->t_reached);
    pl_linear_options options = plan->options;
    pl_linear_layout layout = plan->layout;
    options.lu_room = room;
    pl_linear_room(s->setup.model, &options, &layout, plan->work);
    void *block = pl_simulation_grow(s, PL_GROW_FACTORS, s->problem.linear, 0, layout.size);
    if (!block) return PL_MEMORY;
    s->lu_room = room;
    s->layout = layout;
    s->problem.linear = pl_linear_init(block, s->setup.model, &options, &layout, plan->work);
    if (s->setup.mask) pl_linear_mask(block, s->setup.mask);
    return PL_OK;
}

/* ------------------------------------------------------------------------------------- start values */

/* pl_start_request.relinearise */
static pl_status relinearise(void *host, pl_problem *p, pl_status why) {
    (void)p;
    return why == PL_MEMORY ? more_factors(host) : why;
}

static pl_status model_initialise(pl_simulation *s) {
    const pl_setup *setup = &s->setup;
    size_t bytes = (size_t)setup->model->n_x * sizeof(pl_real);
    pl_start_request request = setup->request;
    request.t = setup->start;
    request.p = s->p;
    request.x_first = s->x_first;
    request.host = s;
    request.relinearise = relinearise;
    if (bytes > 0) memcpy(s->x_first, s->x, bytes);
    pl_status status = setup->u ? PL_OK : pl_set_inputs(&s->problem, setup->start);
    if (status != PL_OK) return status;
    status =
        pl_start(&s->problem, &request, s->x, &s->report, setup->start_work ? setup->start_work : work_of(s));
    if (status == PL_OK) return pl_simulation_begin(s, s->report.next_time);
    if (status == PL_PATTERN && bytes > 0) memcpy(s->x, s->x_first, bytes); /* to be called again */
    return status;
}

pl_status pl_simulation_begin(pl_simulation *s, pl_real next_time) {
    const pl_setup *setup = &s->setup;
    s->begun = 1;
    s->status =
        (int)pl_run_init(s->run, &s->problem, &setup->run, setup->start, setup->stop, s->x, next_time);
    if (s->status == PL_OK) pl_tell(&s->problem, setup->start, s->x, PL_TELL_START);
    return (pl_status)s->status;
}

/* ------------------------------------------------------------------------------------------ stepping */

static int may_have_events(const pl_model *m) {
    return m->n_roots > 0 || m->event || m->step_done;
}

static void note_event(pl_simulation *s, int terminal) {
    const pl_run *r = s->run;
    if (r->t_event == -HUGE_VAL) return;
    pl_simulation_note(s, r->t_event, terminal, pl_run_event_before(r), pl_run_event_after(r),
                       r->n_roots > 0 ? pl_run_event_fired(r) : NULL);
}

/* Memory that ran out, or is about to: more of it. */
static pl_status make_room(pl_simulation *s, pl_status status) {
    if (status != PL_MEMORY) {
        if (s->out.n_points < 0 && pl_simulation_rows(s, 3) != PL_OK) return PL_MEMORY;
        return pl_simulation_log(s);
    }
    int64_t rows = pl_run_lacks_rows(s->run, s->setup.model, s->method, &s->out);
    if (rows > 0 || s->out.used >= s->out.capacity) return pl_simulation_rows(s, rows > 0 ? rows : 1);
    status = more_factors(s);
    if (status == PL_OK) pl_run_relinearise(s->run, s->method);
    return status;
}

static pl_status model_advance(pl_simulation *s, int64_t budget) {
    int64_t steps_end = s->count.n_steps + budget, events_end = s->n_events + budget;
    for (;;) {
        if (may_have_events(s->setup.model) && pl_simulation_events(s) != PL_OK) return PL_MEMORY;
        pl_status status =
            pl_run_advance(s->run, &s->problem, s->method, &s->out, steps_end - s->count.n_steps);
        if (status == PL_EVENT || status == PL_TERMINATED) note_event(s, status == PL_TERMINATED);
        if (status == PL_FINISHED || status == PL_TERMINATED || (status < 0 && status != PL_MEMORY))
            return status;
        status = make_room(s, status);
        if (status != PL_OK) return status;
        if (s->count.n_steps >= steps_end || s->n_events >= events_end) return PL_PAUSED;
    }
}

static pl_status model_flush(pl_simulation *s) {
    return pl_run_flush(s->run, &s->problem, s->method, &s->out);
}

/* -------------------------------------------------------------------------------------------- saving */

/* What the state of a run holds besides the memory of the step loop and the method. */
typedef struct saved {
    size_t linear_size; /* 0: none */
    double lu_room;
    pl_linear_layout layout;
} saved;

static size_t run_bytes(const pl_simulation *s) {
    return pl_round_up(pl_run_size(s->setup.model));
}
static size_t method_bytes(const pl_simulation *s) {
    return pl_round_up(pl_run_method_size(&s->setup.run, s->setup.model->n_x));
}

static size_t model_save_size(const pl_simulation *s) {
    size_t linear = s->problem.linear ? s->layout.size : 0;
    return pl_round_up(sizeof(saved)) + run_bytes(s) + method_bytes(s) + pl_round_up(linear);
}

static void model_save(const pl_simulation *s, char *to) {
    saved *head = pl_take(&to, sizeof *head);
    memset(head, 0, sizeof *head);
    head->linear_size = s->problem.linear ? s->layout.size : 0;
    head->lu_room = s->lu_room;
    head->layout = s->layout;
    memcpy(pl_take(&to, run_bytes(s)), s->run, run_bytes(s));
    memcpy(pl_take(&to, method_bytes(s)), s->method, method_bytes(s));
    if (head->linear_size > 0) memcpy(to, s->problem.linear, head->linear_size);
}

static pl_status model_restore(pl_simulation *s, const char *from) {
    saved head;
    memcpy(&head, from, sizeof head);
    from += pl_round_up(sizeof head);
    if (head.linear_size > 0 && head.linear_size > s->capacity[PL_GROW_FACTORS]) {
        void *block = pl_simulation_grow(s, PL_GROW_FACTORS, s->problem.linear, 0, head.linear_size);
        if (!block) return PL_MEMORY;
        s->problem.linear = block;
    }
    memcpy(s->run, from, run_bytes(s));
    s->run->opt.method = s->setup.run.method; /* saved elsewhere, these point elsewhere */
    s->run->opt.other = s->setup.run.other;
    from += run_bytes(s);
    memcpy(s->method, from, method_bytes(s));
    from += method_bytes(s);
    if (head.linear_size == 0) return PL_OK;
    memcpy(s->problem.linear, from, head.linear_size);
    pl_linear_moved(s->problem.linear, &s->setup.plan->options);
    s->layout = head.layout;
    s->lu_room = head.lu_room;
    return PL_OK;
}

const pl_engine pl_model_engine = {
    .name = "model",
    .size = model_size,
    .init = model_init,
    .initialise = model_initialise,
    .advance = model_advance,
    .flush = model_flush,
    .save_size = model_save_size,
    .save = model_save,
    .restore = model_restore,
};
