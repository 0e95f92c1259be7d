/* Desktop only. The child process of a simulation: reads what to simulate, loads the compiled model, runs pl_simulation and
 * sends back rows, steps and events as they come, and at the end its whole state, which the parent restores.
 *
 * Frames: two int64, kind and bytes, then as many bytes. Numbers and structures are those of this machine: parent and child
 * use the same library. Pointers inside structures only tell whether something is there.
 */
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L
#endif
#include "pliant_host.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <windows.h>
#define read  _read
#define write _write
#define dup   _dup
#define dup2  _dup2
#else
#include <dlfcn.h>
#include <unistd.h>
#endif

#define CALL_SECONDS 0.05 /* that one call of the step loop should take */
#define MOST_STEPS   (1 << 20)

typedef struct child {
    int in, out;
    void *given[PL_CHILD_N_GIVEN];
    int64_t bytes[PL_CHILD_N_GIVEN];
    pl_model model;
    pl_setup setup;
    pl_plan plan;
    pl_inputs inputs;
    pl_host_memory memory;
    pl_simulation *sim;
    int64_t rows, log, events; /* that were sent */
} child;

/* ------------------------------------------------------------------------------------------------ the pipes */

static int get(int from, void *to, int64_t bytes) {
    char *at = to;
    while (bytes > 0) {
        long got = (long)read(from, at, bytes > (1 << 20) ? 1 << 20 : (unsigned)bytes);
        if (got <= 0) return 0;
        at += got;
        bytes -= got;
    }
    return 1;
}

static int put(int to, const void *from, int64_t bytes) {
    const char *at = from;
    while (bytes > 0) {
        long done = (long)write(to, at, bytes > (1 << 20) ? 1 << 20 : (unsigned)bytes);
        if (done <= 0) return 0;
        at += done;
        bytes -= done;
    }
    return 1;
}

static int put_head(child *c, int64_t kind, int64_t bytes) {
    int64_t head[2] = {kind, bytes};
    return put(c->out, head, sizeof head);
}

static int refuse(child *c, const char *words, const char *more) {
    char text[1000];
    snprintf(text, sizeof text, "%s%s", words, more ? more : "");
    put_head(c, PL_CHILD_REFUSED, (int64_t)strlen(text));
    put(c->out, text, (int64_t)strlen(text));
    return 4;
}

/* ---------------------------------------------------------------------------------------------- the request */

static int read_request(child *c) {
    for (;;) {
        int64_t head[2];
        if (!get(c->in, head, sizeof head)) return 0;
        if (head[0] == PL_CHILD_GO) return 1;
        if (head[0] < 0 || head[0] >= PL_CHILD_N_GIVEN) return 0;
        void *block = malloc((size_t)head[1] + 16);
        if (!block || !get(c->in, block, head[1])) return 0;
        ((char *)block)[head[1]] = 0;
        c->given[head[0]] = block;
        c->bytes[head[0]] = head[1];
    }
}

/* The inputs that only the parent can evaluate. */
static pl_status ask_inputs(void *user, pl_real t, pl_real *u) {
    child *c = user;
    int64_t bytes = (int64_t)sizeof(pl_real) * c->inputs.n_u, status;
    if (!put_head(c, PL_CHILD_INPUTS, bytes + (int64_t)sizeof t) || !put(c->out, &t, sizeof t) ||
        !put(c->out, u, bytes) || !get(c->in, &status, sizeof status) || !get(c->in, u, bytes))
        exit(5); /* the parent is gone */
    return (pl_status)status;
}

static const pl_model *load_model(const char *path) {
#ifdef _WIN32
    HMODULE found = LoadLibraryA(path);
    return found ? (const pl_model *)(void *)GetProcAddress(found, PL_MODEL_SYMBOL) : NULL;
#else
    void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return found ? dlsym(found, PL_MODEL_SYMBOL) : NULL;
#endif
}

static void link_inputs(child *c) {
    memcpy(&c->inputs, c->given[PL_CHILD_INPUT_SET], sizeof c->inputs);
    c->inputs.start = c->given[PL_CHILD_SEGMENT_START];
    c->inputs.coefficient = c->given[PL_CHILD_COEFFICIENT];
    c->inputs.jump = c->given[PL_CHILD_JUMP];
    c->inputs.look = c->given[PL_CHILD_LOOK];
    c->inputs.look_u = c->given[PL_CHILD_LOOK_U];
    if (c->inputs.call) c->inputs.call = ask_inputs;
    c->inputs.user = c;
    c->setup.inputs = &c->inputs;
}

static void link_setup(child *c) {
    const int32_t *methods = c->given[PL_CHILD_METHODS];
    pl_setup *s = &c->setup;
    memcpy(s, c->given[PL_CHILD_SETUP], sizeof *s);
    s->engine = &pl_model_engine;
    s->model = &c->model;
    s->unit = NULL;
    s->open = 1;
    s->self = NULL;
    s->parameters = c->given[PL_CHILD_PARAMETERS];
    s->inputs = NULL;
    s->u = c->given[PL_CHILD_U];
    s->x = c->given[PL_CHILD_X];
    s->atol = c->given[PL_CHILD_ATOL];
    s->run.method = pl_method_of(methods[0]);
    s->run.other = methods[1] >= 0 ? pl_method_of(methods[1]) : NULL;
    s->linear = NULL;
    s->linear_used = 0;
    s->mask = c->given[PL_CHILD_MASK];
    s->point = c->given[PL_CHILD_POINTS];
    s->x_index = c->given[PL_CHILD_X_INDEX];
    s->y_index = c->given[PL_CHILD_Y_INDEX];
    s->host = &c->memory;
    s->grow = pl_host_grow;
    s->plan = NULL;
    s->start_work = NULL;
    s->request.x_given = c->given[PL_CHILD_X_GIVEN];
    s->request.given = c->given[PL_CHILD_GIVEN];
    s->request.value = c->given[PL_CHILD_VALUE];
    if (c->given[PL_CHILD_INPUT_SET]) link_inputs(c);
}

static pl_status make_plan(child *c) {
    pl_plan *plan = &c->plan;
    void *work = malloc(pl_linear_work_size(&c->model));
    if (!work) return PL_MEMORY;
    memcpy(&plan->options, c->given[PL_CHILD_LINEAR], sizeof plan->options);
    plan->options.lu = &pl_sparse_table;
    plan->options.curvature = c->given[PL_CHILD_CURVATURE];
    plan->work = work;
    c->setup.plan = plan;
    return pl_linear_plan(&c->model, &plan->options, &plan->layout, work);
}

/* ---------------------------------------------------------------------------------------------- the answers */

/* What is new; the last row may still be replaced. */
static int send_part(child *c, int last) {
    const pl_simulation *s = c->sim;
    const pl_stepper *head = s->method;
    pl_child_part part;
    memset(&part, 0, sizeof part);
    int64_t rows = last || s->out.used == 0 ? s->out.used : s->out.used - 1;
    int64_t row = (int64_t)sizeof(pl_real) * (1 + s->out.n_x + s->out.n_y),
            step = 4 * (int64_t)sizeof(pl_real);
    int64_t event = (int64_t)s->event_bytes;
    part.first[0] = c->rows < rows ? c->rows : rows;
    part.first[1] = c->log;
    part.first[2] = c->events;
    part.count[0] = rows - part.first[0];
    part.count[1] = s->out.log_used - c->log;
    part.count[2] = s->n_events - c->events;
    part.counters = s->count;
    part.t_reached = s->run->t_reached;
    part.method = s->run->method;
    part.handovers = s->run->handovers;
    part.started = s->run->started;
    if (s->run->started) part.head = *head;
    int64_t bytes = (int64_t)sizeof part + row * part.count[0] + step * part.count[1] + event * part.count[2];
    int fine = put_head(c, PL_CHILD_PART, bytes) && put(c->out, &part, sizeof part) &&
               put(c->out, (const char *)s->out.row + row * part.first[0], row * part.count[0]) &&
               put(c->out, (const char *)s->out.log + step * part.first[1], step * part.count[1]) &&
               put(c->out, s->event + event * part.first[2], event * part.count[2]);
    c->rows = rows;
    c->log = s->out.log_used;
    c->events = s->n_events;
    return fine;
}

/* The whole state; the parent has the rows, the log and the events. */
static int send_state(child *c, int kind, pl_status status) {
    size_t bytes = pl_simulation_save_size(c->sim, PL_SAVE_INCIDENTS);
    void *image = malloc(bytes + 16);
    int64_t word = (int64_t)status;
    if (!image || (bytes > 0 && pl_simulation_save(c->sim, PL_SAVE_INCIDENTS, image) != PL_OK)) return 0;
    int fine = put_head(c, kind, (int64_t)(bytes + sizeof word)) && put(c->out, &word, sizeof word) &&
               put(c->out, image, (int64_t)bytes);
    free(image);
    return fine;
}

static double seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

/* The pattern is doubted: does the parent say that it is right? */
static int trusted(child *c) {
    int64_t answer = 0;
    return send_part(c, 0) && send_state(c, PL_CHILD_DOUBT, PL_PATTERN) &&
           get(c->in, &answer, sizeof answer) && answer == 1;
}

/* Start values; what the parent needs to tell of them. */
static int start(child *c, pl_status *status) {
    pl_simulation *s = c->sim;
    const pl_start_report *report = &s->report;
    *status = pl_simulation_initialise(s);
    while (*status == PL_PATTERN && trusted(c)) {
        pl_simulation_trust(s);
        *status = pl_simulation_initialise(s);
    }
    int64_t word = (int64_t)*status, each = (int64_t)sizeof(int);
    int64_t lists = each * (report->n_undetermined + report->n_redundant);
    return put_head(c, PL_CHILD_STARTED, (int64_t)(sizeof word + sizeof *report) + lists) &&
           put(c->out, &word, sizeof word) && put(c->out, report, sizeof *report) &&
           put(c->out, report->undetermined, each * report->n_undetermined) &&
           put(c->out, report->redundant, each * report->n_redundant);
}

static int run(child *c) {
    pl_simulation *s = c->sim;
    int64_t steps = 64;
    pl_status status;
    if (!start(c, &status)) return 5;
    while (status >= 0 && status != PL_FINISHED && status != PL_TERMINATED) {
        double begin = seconds();
        status = pl_simulation_advance(s, steps);
        double took = seconds() - begin;
        if (status == PL_PATTERN && trusted(c)) {
            pl_simulation_trust(s);
            status = PL_PAUSED;
        }
        if (status == PL_PAUSED && !send_part(c, 0)) return 5;
        if (took < 0.5 * CALL_SECONDS && steps < MOST_STEPS) steps *= 2;
        if (took > CALL_SECONDS && steps > 1) steps /= 2;
    }
    if (status >= 0) pl_simulation_set_linear(s, NULL, NULL, 0); /* matrices are large, and nothing failed */
    return send_part(c, 1) && send_state(c, PL_CHILD_END, status) ? 0 : 5;
}

static int simulate(child *c) {
    if (!read_request(c)) return refuse(c, "the request is not complete", NULL);
    const char *path = c->given[PL_CHILD_LIBRARY];
    const pl_model *model = load_model(path);
    if (!model) return refuse(c, "the library of the model cannot be loaded: ", path);
    if (model->abi != PL_ABI) return refuse(c, "the model was made for another version of pliant.h: ", path);
    c->model = *model;
    if (c->given[PL_CHILD_NOMINAL]) c->model.x_nominal = c->given[PL_CHILD_NOMINAL];
    if (c->given[PL_CHILD_MIN]) c->model.x_min = c->given[PL_CHILD_MIN];
    if (c->given[PL_CHILD_MAX]) c->model.x_max = c->given[PL_CHILD_MAX];
    link_setup(c);
    if (c->given[PL_CHILD_LINEAR] && make_plan(c) != PL_OK)
        return refuse(c, "there is no plan of the matrices", NULL);
    pl_status status;
    void *block = malloc(pl_simulation_size(&c->setup));
    if (!block) return refuse(c, "there is not enough memory", NULL);
    c->sim = pl_simulation_init(block, &c->setup, &status);
    if (!c->sim) return refuse(c, "the model could not be opened: ", pl_simulation_words(block));
    int code = run(c);
    pl_simulation_close(c->sim);
    return code;
}

int pl_child_main(void) {
    static child c;
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
#endif
    signal(SIGINT, SIG_IGN); /* Ctrl-C is the parent's to hear; it ends this process */
    c.in = dup(0);
    c.out = dup(1);
    dup2(2, 1); /* what a model prints must not come between */
    return simulate(&c);
}
