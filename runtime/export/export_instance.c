/* One instance of an exported FMU: its memory, its start values, and what it says. */
#include "pl_export.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LU_ROOM        4.0 /* for fill by pivoting, of what is predicted: factors must not grow later */
#define LOOSEST        0.1
#define FINEST         1e-13
#define STEPS_OF_DELAY 10.0   /* least number of steps within the shortest delay */
#define STEPS_OF_RUN   5000.0 /* ... where that does not take more than these */

static const pl_real none[1] = {0.0};

/* ------------------------------------------------------------------------------------------------ words */

int pl_exported_say(pl_exported_instance *c, int status, const char *format, ...) {
    static const char *const category[] = {"logAll", "logStatusWarning", "logStatusDiscard", "logStatusError",
                                           "logStatusFatal"};
    va_list list;
    va_start(list, format);
    vsnprintf(c->text, sizeof c->text, format, list);
    va_end(list);
    if (c->log && status >= PL_WARNING) c->log(c, status, category[status], c->text);
    return status;
}

static const char *place_of_failure(const pl_exported_instance *c, char *text, size_t bytes) {
    static const char *const grown[] = {"matrix factors", "rows", "the step log", "events", "notes"};
    const pl_failure *failure = &c->sim->problem.failure;
    const pl_model *m = c->table->model;
    text[0] = 0;
    if (failure->what == PL_IN_GROWTH && failure->index >= 0 && failure->index < PL_N_GROW)
        snprintf(text, bytes, " (the memory for %s is used up)", grown[failure->index]);
    else if (m && failure->index >= 0 && failure->index < m->n_x && m->x_name && failure->what != PL_IN_ROOTS)
        snprintf(text, bytes, " (%s)", m->x_name[failure->index]);
    return text;
}

int pl_exported_failed(pl_exported_instance *c, int status, pl_status why, const char *doing) {
    char place[300];
    const char *words = c->sim ? pl_simulation_words(c->sim) : "";
    if (c->sim) place_of_failure(c, place, sizeof place);
    return pl_exported_say(c, status, "%s at t = %.15g failed: %s%s%s%s", doing,
                           c->sim && c->sim->run ? c->sim->run->t_reached : c->now.t, pl_status_text(why),
                           c->sim ? place : "", words[0] ? ": " : "", words);
}

static const char *mode_name(int mode) {
    switch (mode) {
    case PL_MADE:
        return "instantiated";
    case PL_STARTING:
        return "initialization mode";
    case PL_IN_EVENTS:
        return "event mode";
    case PL_CONTINUOUS:
        return "continuous-time mode";
    case PL_STEPPING:
        return "step mode";
    case PL_BETWEEN:
        return "intermediate update mode";
    case PL_OVER:
        return "terminated";
    default:
        return "in error";
    }
}

int pl_exported_allowed(pl_exported_instance *c, int modes, const char *function) {
    if (c->now.mode & modes) return 1;
    pl_exported_say(c, PL_ERROR, "%s must not be called while the instance is %s%s", function,
                    c->now.mode & (PL_MADE | PL_OVER | PL_BROKEN) ? "" : "in ", mode_name(c->now.mode));
    return 0;
}

/* ----------------------------------------------------------------------------------------------- memory */

static void *take(char **at, size_t bytes) {
    char *here = *at;
    if (at && *at) *at += pl_export_rounded(bytes);
    return here;
}

/* pl_setup.tell */
static void hear(void *host, pl_real t, const char *text) {
    pl_exported_say(host, PL_WARNING, "t = %.10g: %s", t, text);
}

void pl_exported_tell(pl_exported_instance *c, int what) {
    const pl_model *m = c->table->model;
    if (!m || !m->warning) return;
    if (what == PL_TELL_STEP && pl_exported_algebraic(c) != PL_FINE) return;
    for (const char *text; (text = m->warning(c->sim->problem.self, c->now.t, c->x, c->u, what)) != NULL;
         what = PL_TELL_REST)
        hear(c, c->now.t, text);
}

static size_t reals(int n) {
    return (size_t)(n > 0 ? n : 1) * sizeof(pl_real);
}

/* Model exchange of a model that chooses its states on the way. */
static int chooses(const pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    return !c->steps && m && m->step_done && m->initial && m->initial->n_sets > 0;
}

/* Arrays behind the instance; returns how much they take. The first ones are what a state consists of. */
static size_t arrange(pl_exported_instance *c, char *from) {
    char *at = from ? from : (char *)16;
    char *first = at;
    int most = c->n_x > c->n_y ? c->n_x : c->n_y;
    if (c->n_roots > most) most = c->n_roots;
    c->x = take(&at, reals(c->n_x));
    c->x_start = take(&at, reals(c->n_x));
    c->u = take(&at, reals((PL_INPUT_DEGREE + 1) * c->n_u));
    c->p = take(&at, reals(c->n_p));
    c->x_given = take(&at, (size_t)c->n_x + 1);
    c->flat_bytes = (size_t)(at - first);
    c->slope = take(&at, reals(c->n_x));
    c->y = take(&at, reals(c->n_y));
    c->roots = take(&at, reals(c->n_roots));
    c->dependent = take(&at, reals(c->table->n_dependent));
    c->x_work = take(&at, reals(4 * c->n_x));
    c->along = take(&at, reals(c->n_x + c->n_u + c->n_p));
    c->derived = take(&at, reals(most));
    c->coefficient = take(&at, reals((PL_INPUT_DEGREE + 1) * c->n_u));
    c->x_held = take(&at, (size_t)c->n_x + 1);
    c->atol = take(&at, reals(c->n_x));
    c->nominal = take(&at, reals(c->n_x));
    c->memory = chooses(c) ? take(&at, c->table->model->memory_size) : NULL;
    return (size_t)(at - first);
}

static void make_setup(pl_exported_instance *c) {
    const pl_export_table *table = c->table;
    const pl_model *m = table->model;
    pl_setup *setup = &c->setup;
    setup->engine = table->engine;
    setup->model = m;
    setup->unit = table->unit;
    setup->open = 1;
    setup->parameters = c->n_p > 0 ? c->p : NULL;
    setup->u = c->n_u > 0 ? c->u : none;
    setup->x = c->n_x > 0 ? c->x_start : NULL;
    setup->atol = c->atol;
    setup->atol_follows = m && m->nominal != NULL;
    setup->run.method = table->method;
    setup->run.method_options.h_fixed = table->step;
    setup->run.at_jump = table->at_jump;
    setup->plan = c->linear ? &c->plan : NULL;
    setup->linear = c->linear;
    setup->request.x_given = c->x_held;
    setup->degree = c->steps ? PL_INPUT_DEGREE : -1;
    setup->host = c;
    setup->tell = hear;
    setup->rows = 1;
    setup->events = 2;
    setup->last_events = 1;
}

/* The linear algebra of the method. */
static int plan_linear(pl_exported_instance *c) {
    const pl_export_table *table = c->table;
    const pl_model *m = table->model;
    int solves = c->steps && table->method && table->method->implicit;
    if (!m || !(solves || c->n_states < c->n_x)) return 1;
    c->plan.options.source = PL_SOURCE_AUTO;
    c->plan.options.need_complex = table->method->needs_complex;
    c->plan.options.fallback = 1;
    c->plan.options.lu_room = LU_ROOM;
    c->plan.options.lu = table->lu;
    c->plan_work = calloc(1, pl_linear_work_size(m) + 1);
    if (!c->plan_work) return 0;
    c->plan.work = c->plan_work;
    if (pl_linear_plan(m, &c->plan.options, &c->plan.layout, c->plan_work) != PL_OK) return 0;
    c->linear = calloc(1, c->plan.layout.size + 1);
    return c->linear != NULL;
}

static pl_exported_instance *allocate(const char *name, int steps) {
    const pl_export_table *table = &pl_exported;
    const pl_model *m = table->model;
    pl_exported_instance probe = {.table = table};
    probe.n_x = m ? m->n_x : 0;
    probe.n_states = m && m->initial ? m->initial->n_states : probe.n_x;
    probe.n_u = m ? m->n_u : table->unit->n_u;
    probe.n_p = m ? m->n_p : 0;
    probe.n_y = m ? m->n_y : table->unit->n_y;
    probe.n_roots = m ? m->n_roots : 0;
    probe.steps = steps;
    size_t head = pl_export_rounded(sizeof probe), arrays = arrange(&probe, NULL), letters = strlen(name) + 1;
    char *memory = calloc(1, head + arrays + letters);
    if (!memory) return NULL;
    pl_exported_instance *c = (pl_exported_instance *)(void *)memory;
    *c = probe;
    arrange(c, memory + head);
    c->name = memory + head + arrays;
    memcpy(c->name, name, letters);
    return c;
}

pl_exported_instance *pl_exported_new(const char *name, const char *token, int steps, pl_export_log *log,
                                      const void *callbacks, void *environment, void *logger) {
    pl_exported_instance *c = allocate(name, steps);
    if (!c) return NULL;
    c->log = log;
    c->callbacks = callbacks;
    c->environment = environment;
    c->logger = logger;
    const char *wrong = NULL;
    if (!token || strcmp(token, c->table->token) != 0)
        wrong = "the token of modelDescription.xml is not the one of this binary: it is another FMU's";
    else if (steps ? !c->table->steps : !c->table->exchange)
        wrong = "this FMU does not offer that kind of simulation";
    if (!wrong && !plan_linear(c)) wrong = "there is no memory for the matrices of the model";
    if (!wrong) {
        make_setup(c);
        c->block = calloc(1, pl_simulation_size(&c->setup));
        if (!c->block) wrong = "there is no memory for the simulation";
    }
    if (wrong) {
        pl_exported_say(c, PL_ERROR, "%s cannot be instantiated: %s", name, wrong);
        pl_exported_free(c);
        return NULL;
    }
    pl_exported_reset(c);
    return c;
}

void pl_exported_free(pl_exported_instance *c) {
    if (!c) return;
    if (c->sim) pl_simulation_close(c->sim);
    free(c->block);
    free(c->linear);
    free(c->plan_work);
    free(c);
}

void pl_exported_reset(pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    const pl_real *u = m ? m->u_start : c->table->unit->u_start;
    if (c->sim) pl_simulation_close(c->sim);
    c->sim = NULL;
    memset(&c->now, 0, sizeof c->now);
    c->now.mode = PL_MADE;
    c->now.stop = HUGE_VAL;
    c->now.tolerance = c->table->rtol;
    c->fresh = 0;
    memset(c->x, 0, c->flat_bytes);
    if (c->n_x > 0) memcpy(c->x, m->x_start, (size_t)c->n_x * sizeof(pl_real));
    if (c->n_x > 0) memcpy(c->x_start, m->x_start, (size_t)c->n_x * sizeof(pl_real));
    if (c->n_u > 0 && u) memcpy(c->u, u, (size_t)c->n_u * sizeof(pl_real));
    if (c->n_p > 0 && m->p_start) memcpy(c->p, m->p_start, (size_t)c->n_p * sizeof(pl_real));
}

int pl_exported_setup(pl_exported_instance *c, int has_tolerance, pl_real tolerance, pl_real start,
                      int has_stop, pl_real stop) {
    if (!(fabs(start) < HUGE_VAL) || (has_stop && !(stop >= start && stop < HUGE_VAL)))
        return pl_exported_say(c, PL_ERROR, "the experiment from %g to %g is no interval of time", start,
                               stop);
    if (has_tolerance && !(tolerance > 0.0 && tolerance < HUGE_VAL))
        return pl_exported_say(c, PL_ERROR, "the tolerance must be a positive number, not %g", tolerance);
    c->now.start = c->now.t = start;
    c->now.has_stop = has_stop != 0;
    c->now.stop = has_stop ? stop : HUGE_VAL;
    c->now.tolerance = has_tolerance ? fmin(fmax(tolerance, FINEST), LOOSEST) : c->table->rtol;
    c->now.set_up = 1;
    c->now.solved = 0;
    return PL_FINE;
}

/* ---------------------------------------------------------------------------------------- start values */

static void tolerances(pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    for (int i = 0; i < c->n_x; i++) {
        pl_real nominal = m->x_nominal ? fabs(m->x_nominal[i]) : 0.0;
        c->nominal[i] = nominal > 0.0 ? nominal : 1.0;
        c->atol[i] = PL_ATOL_SHARE * c->now.tolerance * c->nominal[i];
    }
}

pl_status pl_exported_lay_out(pl_exported_instance *c) {
    pl_status status = PL_OK;
    tolerances(c);
    if (c->sim) pl_simulation_close(c->sim);
    c->setup.start = c->now.start;
    c->setup.stop = c->now.has_stop ? c->now.stop : HUGE_VAL;
    c->setup.rtol = c->now.tolerance;
    c->sim = pl_simulation_init(c->block, &c->setup, &status);
    c->setup.linear_used = 1;
    return status;
}

/* Start values of x: those that follow from the parameters, where the importer gave no others. */
static void first_states(pl_exported_instance *c) {
    const pl_model *m = c->table->model;
    void *self = c->sim->problem.self;
    if (m->initial && m->initial->start && c->n_x > 0) m->initial->start(self, c->sim->x);
    for (int i = 0; i < c->n_x; i++) {
        if (c->x_given[i]) c->sim->x[i] = c->x_start[i];
        c->x_held[i] = c->x_given[i] == 1;
    }
    if (!m->nominal) return;
    m->nominal(self, c->nominal);
    pl_follow_nominal(&c->sim->problem);
}

static int no_start(pl_exported_instance *c, pl_status status) {
    static const char *const phase[] = {"",
                                        "",
                                        "the initial equations contradict each other",
                                        "the algebraic equations could not be solved",
                                        "the iteration of the relations does not converge",
                                        "the iteration of the relations does not converge",
                                        "the derivatives of the initial conditions are not finite",
                                        "the derivatives of the initial conditions cannot be evaluated",
                                        "the first event fails",
                                        "a parameter that is no Real would have to be no whole number",
                                        "a start value that was set cannot be held",
                                        "start values do not satisfy the algebraic equations"};
    const pl_start_failure *failure = &c->sim->report.failure;
    const char *words = failure->words[0] ? failure->words : pl_simulation_words(c->sim);
    int known = failure->what > 1 && failure->what < (int)(sizeof phase / sizeof phase[0]);
    c->now.mode = PL_BROKEN;
    return pl_exported_say(c, PL_ERROR, "no start values at t = %.15g: %s%s%s", c->now.start,
                           known ? phase[failure->what] : pl_status_text(status), words[0] ? ": " : "",
                           words);
}

/* What is delayed is known at the ends of steps only. */
static void bound_steps(pl_exported_instance *c) {
    pl_real span = c->now.has_stop ? c->now.stop - c->now.start : 0.0;
    if (!c->table->shortest_delay || !c->sim->run) return;
    pl_real shortest = c->table->shortest_delay(c->sim->problem.self);
    c->sim->run->opt.method_options.h_max =
        shortest > 0.0 ? fmax(shortest / STEPS_OF_DELAY, span / STEPS_OF_RUN) : 0.0;
}

int pl_exported_solve(pl_exported_instance *c) {
    if (c->now.solved) return PL_FINE;
    c->fresh = 0;
    pl_status status = pl_exported_lay_out(c);
    if (status != PL_OK) {
        const pl_model *m = c->table->model;
        const pl_simulation *laid = c->block;
        const char *words = m && m->error && laid->problem.self ? m->error(laid->problem.self) : NULL;
        c->now.mode = PL_BROKEN;
        return pl_exported_say(c, PL_ERROR, "the parameters are refused: %s",
                               words && words[0] ? words : pl_status_text(status));
    }
    if (c->table->model) first_states(c);
    status = pl_simulation_initialise(c->sim);
    if (status != PL_OK) return no_start(c, status);
    if (c->n_x > 0) memcpy(c->x, c->sim->x, (size_t)c->n_x * sizeof(pl_real));
    if (c->n_p > 0) memcpy(c->p, c->sim->p, (size_t)c->n_p * sizeof(pl_real));
    bound_steps(c);
    c->now.t = c->now.start;
    c->now.solved = 1;
    c->now.inputs_new = 1;
    c->now.p_new = 0;
    c->now.x_moved = 0;
    return PL_FINE;
}

int pl_exported_exit_start(pl_exported_instance *c) {
    int status = pl_exported_solve(c);
    if (status != PL_FINE) return status;
    c->now.mode = c->steps && !c->events_wanted ? PL_STEPPING : PL_IN_EVENTS;
    /* what happens at the start itself; an importer that handles events asks for it */
    return c->now.mode == PL_STEPPING ? pl_exported_settle(c) : PL_FINE;
}
