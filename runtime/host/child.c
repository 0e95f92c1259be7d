/* Desktop only. The child process of a simulation: reads what to simulate, loads the compiled model, runs pl_simulation and
 * sends back rows, steps and events as they come, and at the end its whole state, which the parent restores. */
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L
#endif
#include "child.h"

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
#define read     _read
#define write    _write
#define dup      _dup
#define dup2     _dup2
#define getpid() GetCurrentProcessId()
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#endif

#define CALL_SECONDS 0.05 /* that one call of the step loop should take */
#define MOST_STEPS   (1 << 20)

/* ------------------------------------------------------------------------------------------------ the pipes */

/* A copy of this process that the model made must not talk to the parent. */
static void exit_now(int code) {
#ifdef _WIN32
    ExitProcess((UINT)code);
#else
    _exit(code);
#endif
}

static int write_all(const pl_child *c, const char *from, int64_t bytes) {
    if (c->process != (int64_t)getpid()) exit_now(5);
    while (bytes > 0) {
        long done = (long)write(c->out, from, bytes > (1 << 20) ? 1 << 20 : (unsigned)bytes);
        if (done <= 0) return 0;
        from += done;
        bytes -= done;
    }
    return 1;
}

int pl_child_send(pl_child *c) {
    int64_t bytes = c->put;
    c->put = 0;
    return bytes == 0 || write_all(c, c->output, bytes);
}

int pl_child_put(pl_child *c, const void *from, int64_t bytes) {
    if (bytes <= 0) return 1;
    if (bytes > PL_CHILD_BUFFER - c->put && !pl_child_send(c)) return 0;
    if (bytes > PL_CHILD_BUFFER) return write_all(c, from, bytes);
    memcpy(c->output + c->put, from, (size_t)bytes);
    c->put += bytes;
    return 1;
}

/* Large things are read to where they belong, small ones with what comes behind them. */
static long read_more(pl_child *c, char *to, int64_t bytes) {
    if (!pl_child_send(c)) return 0;
    if (bytes >= PL_CHILD_BUFFER) return (long)read(c->in, to, bytes > (1 << 20) ? 1 << 20 : (unsigned)bytes);
    long got = (long)read(c->in, c->input, PL_CHILD_BUFFER);
    c->at = 0;
    c->have = got > 0 ? got : 0;
    return got > 0 ? 0 : -1;
}

int pl_child_get(pl_child *c, void *to, int64_t bytes) {
    char *at = to;
    while (bytes > 0) {
        int64_t part = c->have - c->at;
        if (part > bytes) part = bytes;
        if (part > 0) {
            memcpy(at, c->input + c->at, (size_t)part);
            c->at += part;
        } else {
            part = read_more(c, at, bytes);
            if (part < 0 || (part == 0 && c->have == c->at)) return 0;
        }
        at += part;
        bytes -= part;
    }
    return 1;
}

int pl_child_put_head(pl_child *c, int64_t kind, int64_t bytes) {
    int64_t head[2] = {kind, bytes};
    return pl_child_put(c, head, sizeof head);
}

int pl_child_refuse(pl_child *c, const char *words, const char *more) {
    char text[1000];
    snprintf(text, sizeof text, "%s%s", words, more ? more : "");
    return pl_child_put_head(c, PL_CHILD_REFUSED, (int64_t)strlen(text)) &&
           pl_child_put(c, text, (int64_t)strlen(text));
}

/* ------------------------------------------------------------------------------------- what a model says */

static pl_child *listening; /* external functions do not know whose they are */

static void send_told(pl_child *c, const pl_child_told *head, const char *text) {
    const int64_t bytes = (int64_t)strlen(text);
    if (!pl_child_put_head(c, PL_CHILD_TOLD, (int64_t)sizeof *head + bytes) ||
        !pl_child_put(c, head, sizeof *head) || !pl_child_put(c, text, bytes))
        exit(5); /* the parent is gone */
}

/* pl_setup.tell */
static void hear_warning(void *host, pl_real t, const char *text) {
    (void)host;
    const pl_child_told head = {t, 1, 0};
    if (listening) send_told(listening, &head, text);
}

#ifndef _WIN32
/* pl_foreign_listen. What threads of a library say has no time, and would come between. */
static void hear_external(int kind, double t, const char *text) {
    const pl_child_told head = {t, kind != 0, 1};
    if (listening && t - t == 0.0)
        send_told(listening, &head, text);
    else
        fprintf(stderr, "%s\n", text);
}

static void listen_to(void *library) {
    typedef void listen(void (*heard)(int kind, double t, const char *text));
    void *found = dlsym(library, "pl_foreign_listen");
    listen *call;
    memcpy(&call, &found, sizeof call);
    if (found) call(hear_external);
}
#endif

/* ---------------------------------------------------------------------------------------------- the request */

static int take_given(pl_child *c, int64_t what, int64_t bytes) {
    if (what < 0 || what >= PL_CHILD_N_GIVEN || bytes < 0) return 0;
    free(c->given[what]);
    c->given[what] = malloc((size_t)bytes + 16);
    if (!c->given[what] || !pl_child_get(c, c->given[what], bytes)) return 0;
    ((char *)c->given[what])[bytes] = 0;
    c->bytes[what] = bytes;
    return 1;
}

void pl_child_forget(pl_child *c) {
    for (int k = 0; k < PL_CHILD_N_GIVEN; k++) {
        free(c->given[k]);
        c->given[k] = NULL;
        c->bytes[k] = 0;
    }
}

/* The inputs that only the parent can evaluate. */
static pl_status ask_inputs(void *user, pl_real t, pl_real *u) {
    pl_child *c = user;
    int64_t bytes = (int64_t)sizeof(pl_real) * c->inputs.n_u, status;
    if (!pl_child_put_head(c, PL_CHILD_INPUTS, bytes + (int64_t)sizeof t) || !pl_child_put(c, &t, sizeof t) ||
        !pl_child_put(c, u, bytes) || !pl_child_get(c, &status, sizeof status) || !pl_child_get(c, u, bytes))
        exit(5); /* the parent is gone */
    return (pl_status)status;
}

static void link_inputs(pl_child *c) {
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

static void link_setup(pl_child *c) {
    const int32_t *methods = c->given[PL_CHILD_METHODS];
    pl_setup *s = &c->setup;
    s->engine = c->unit ? &pl_unit_engine : &pl_model_engine;
    s->model = c->unit ? NULL : &c->model;
    s->unit = c->unit;
    s->open = c->self == NULL;
    s->self = c->self;
    s->parameters = c->given[PL_CHILD_PARAMETERS];
    s->inputs = NULL;
    s->u = c->given[PL_CHILD_U];
    s->x = c->given[PL_CHILD_X];
    s->atol = c->given[PL_CHILD_ATOL];
    s->run.method = methods[0] >= 0 ? pl_method_of(methods[0]) : NULL;
    s->run.other = methods[1] >= 0 ? pl_method_of(methods[1]) : NULL;
    s->linear = NULL;
    s->linear_used = 0;
    s->mask = c->given[PL_CHILD_MASK];
    s->point = c->given[PL_CHILD_POINTS];
    s->x_index = c->given[PL_CHILD_X_INDEX];
    s->y_index = c->given[PL_CHILD_Y_INDEX];
    s->host = &c->memory;
    s->grow = pl_host_grow;
    s->tell = hear_warning;
    s->plan = NULL;
    s->start_work = NULL;
    s->request.x_given = c->given[PL_CHILD_X_GIVEN];
    s->request.given = c->given[PL_CHILD_GIVEN];
    s->request.value = c->given[PL_CHILD_VALUE];
    if (c->given[PL_CHILD_INPUT_SET]) link_inputs(c);
}

static pl_status make_plan(pl_child *c) {
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

static double now(void) {
#ifdef _WIN32
    return (double)clock() / CLOCKS_PER_SEC;
#else
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
#endif
}

/* What is new; the last row may still be replaced. */
static int send_part(pl_child *c, int last) {
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
    part.failure = s->problem.failure;
    part.t_reached = s->run ? s->run->t_reached : s->t;
    if (s->run) {
        part.method = s->run->method;
        part.handovers = s->run->handovers;
        part.started = s->run->started;
        if (s->run->started) part.head = *head;
    }
    int64_t bytes = (int64_t)sizeof part + row * part.count[0] + step * part.count[1] + event * part.count[2];
    int fine = (!c->kind->tell || c->kind->tell(c)) && pl_child_put_head(c, PL_CHILD_PART, bytes) &&
               pl_child_put(c, &part, sizeof part) &&
               pl_child_put(c, (const char *)s->out.row + row * part.first[0], row * part.count[0]) &&
               pl_child_put(c, (const char *)s->out.log + step * part.first[1], step * part.count[1]) &&
               pl_child_put(c, s->event + event * part.first[2], event * part.count[2]) && pl_child_send(c);
    c->rows = rows;
    c->log = s->out.log_used;
    c->events = s->n_events;
    c->sent = now();
    return fine;
}

/* The whole state; the parent has the rows, the log and the events. */
static int send_state(pl_child *c, int kind, pl_status status) {
    size_t bytes = pl_simulation_save_size(c->sim, PL_SAVE_INCIDENTS);
    void *image = malloc(bytes + 16);
    int64_t word = (int64_t)status;
    if (!image || (bytes > 0 && pl_simulation_save(c->sim, PL_SAVE_INCIDENTS, image) != PL_OK)) {
        free(image);
        return pl_child_refuse(c, "its state cannot be saved", NULL);
    }
    int fine = pl_child_put_head(c, kind, (int64_t)(bytes + sizeof word)) &&
               pl_child_put(c, &word, sizeof word) && pl_child_put(c, image, (int64_t)bytes);
    free(image);
    return fine;
}

/* What the model says about a failure. */
static int send_words(pl_child *c) {
    const char *words = pl_simulation_words(c->sim);
    return pl_child_put_head(c, PL_CHILD_WORDS, (int64_t)strlen(words)) &&
           pl_child_put(c, words, (int64_t)strlen(words));
}

/* The pattern is doubted: does the parent say that it is right? Before it answers, it may ask for values of the model. */
static int trusted(pl_child *c) {
    if (!send_part(c, 0) || !send_state(c, PL_CHILD_DOUBT, PL_PATTERN)) return 0;
    for (;;) {
        int64_t head[2], answer = 0;
        if (!pl_child_get(c, head, sizeof head)) return 0;
        if (head[0] == PL_CHILD_ANSWER) return pl_child_get(c, &answer, sizeof answer) && answer == 1;
        if (!c->kind->serve || !c->kind->serve(c, head[0], head[1])) return 0;
    }
}

/* Start values; what the parent needs to tell of them. */
static int start(pl_child *c, pl_status *status) {
    pl_simulation *s = c->sim;
    const pl_start_report *report = &s->report;
    listening = c; /* what the parameters made it say the parent has heard from its own instance */
    *status = pl_simulation_initialise(s);
    while (*status == PL_PATTERN && trusted(c)) {
        pl_simulation_trust(s);
        *status = pl_simulation_initialise(s);
    }
    int64_t word = (int64_t)*status, each = (int64_t)sizeof(int);
    int64_t lists = each * (report->n_undetermined + report->n_redundant);
    return (!c->kind->tell || c->kind->tell(c)) &&
           pl_child_put_head(c, PL_CHILD_STARTED, (int64_t)(sizeof word + sizeof *report) + lists) &&
           pl_child_put(c, &word, sizeof word) && pl_child_put(c, report, sizeof *report) &&
           pl_child_put(c, report->undetermined, each * report->n_undetermined) &&
           pl_child_put(c, report->redundant, each * report->n_redundant) && pl_child_send(c);
}

/* 0: the parent is gone. */
static int run(pl_child *c) {
    pl_simulation *s = c->sim;
    int64_t steps = 1; /* of slow models the first rows are sent soon, too */
    pl_status status;
    if (!start(c, &status)) return 0;
    c->sent = now();
    while (status >= 0 && status != PL_FINISHED && status != PL_TERMINATED) {
        double begin = now();
        status = pl_simulation_advance(s, steps);
        double end = now(), took = end - begin;
        if (status == PL_PATTERN && trusted(c)) {
            pl_simulation_trust(s);
            status = PL_PAUSED;
        }
        /* what is sent wakes the parent: not for a part of a short run */
        if (status == PL_PAUSED && end - c->sent > 0.5 * CALL_SECONDS && !send_part(c, 0)) return 0;
        if (took < 0.5 * CALL_SECONDS && steps < MOST_STEPS) steps *= 2;
        if (took > CALL_SECONDS && steps > 1) steps /= 2;
    }
    if (status >= 0) pl_simulation_set_linear(s, NULL, NULL, 0); /* matrices are large, and nothing failed */
    int fine = send_part(c, 1);
    if (status < 0) fine = fine && send_words(c);
    if (c->kind->close) c->kind->close(c, status);
    return fine && (!c->kind->tell || c->kind->tell(c)) && send_state(c, PL_CHILD_END, status);
}

static int simulate_with(pl_child *c, void **block) {
    pl_status status;
    link_setup(c);
    if (c->given[PL_CHILD_LINEAR] && make_plan(c) != PL_OK)
        return pl_child_refuse(c, "there is no plan of the matrices", NULL);
    *block = malloc(pl_simulation_size(&c->setup));
    if (!*block) return pl_child_refuse(c, "there is not enough memory", NULL);
    c->sim = pl_simulation_init(*block, &c->setup, &status);
    if (!c->sim) return pl_child_refuse(c, "the model could not be opened: ", pl_simulation_words(*block));
    return run(c);
}

/* The pattern of the request instead of the model's own; of another length than the columns need: none. */
static void take_pattern(pl_child *c) {
    int n = c->model.n_x;
    memset(&c->model.jac, 0, sizeof c->model.jac);
    if (c->bytes[PL_CHILD_PATTERN_START] != (int64_t)sizeof(int) * (n + 1)) return;
    c->model.jac.n_rows = c->model.jac.n_cols = n;
    c->model.jac.start = c->given[PL_CHILD_PATTERN_START];
    c->model.jac.row = c->given[PL_CHILD_PATTERN_ROW];
}

/* One simulation. 0: the parent is gone. */
static int simulate(pl_child *c) {
    void *block = NULL;
    c->sim = NULL;
    c->unit = NULL;
    c->self = NULL;
    c->rows = c->log = c->events = 0;
    memset(&c->plan, 0, sizeof c->plan);
    if (!c->given[PL_CHILD_SETUP] || !c->given[PL_CHILD_METHODS])
        return pl_child_refuse(c, "the request is not complete", NULL);
    memcpy(&c->setup, c->given[PL_CHILD_SETUP], sizeof c->setup);
    const char *why = c->kind->open(c);
    if (why) return (!c->kind->tell || c->kind->tell(c)) && pl_child_refuse(c, why, NULL);
    if (c->given[PL_CHILD_NOMINAL]) c->model.x_nominal = c->given[PL_CHILD_NOMINAL];
    if (c->given[PL_CHILD_MIN]) c->model.x_min = c->given[PL_CHILD_MIN];
    if (c->given[PL_CHILD_MAX]) c->model.x_max = c->given[PL_CHILD_MAX];
    if (c->given[PL_CHILD_PATTERN_START]) take_pattern(c);
    int fine = simulate_with(c, &block);
    listening = NULL;
    if (c->sim) pl_simulation_close(c->sim);
    pl_host_release(&c->memory);
    free((void *)c->plan.work);
    free(block);
    pl_child_forget(c);
    return fine;
}

int pl_child_serve(pl_child *c) {
    for (;;) {
        int64_t head[2];
        if (!pl_child_get(c, head, sizeof head)) return 0;
        int fine = head[0] == PL_CHILD_GO       ? simulate(c)
                   : head[0] < PL_CHILD_N_GIVEN ? take_given(c, head[0], head[1])
                   : c->kind->serve             ? c->kind->serve(c, head[0], head[1])
                                                : 0;
        if (!fine) return 5;
    }
}

void pl_child_pipes(pl_child *c) {
#ifdef _WIN32
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
    c->in = dup(0);
    c->out = dup(1);
#else
    c->in = fcntl(0, F_DUPFD_CLOEXEC, 3);
    c->out = fcntl(1, F_DUPFD_CLOEXEC, 3);
#endif
    c->process = (int64_t)getpid();
    dup2(2, 1); /* what a model prints must not come between */
}

/* ------------------------------------------------------------------------------------------ a compiled model */

static const pl_model *load_model(const char *path) {
#ifdef _WIN32
    HMODULE found = LoadLibraryA(path);
    return found ? (const pl_model *)(void *)GetProcAddress(found, PL_MODEL_SYMBOL) : NULL;
#else
    void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (found) listen_to(found);
    return found ? dlsym(found, PL_MODEL_SYMBOL) : NULL;
#endif
}

static const char *open_library(pl_child *c) {
    static char words[1000];
    const char *path = c->given[PL_CHILD_LIBRARY];
    const pl_model *model = path ? load_model(path) : NULL;
    snprintf(words, sizeof words, "the %s: %s",
             model ? "model was made for another version of pliant.h"
                   : "library of the model cannot be loaded",
             path ? path : "");
    if (!model || model->abi != PL_ABI) return words;
    c->model = *model;
    return NULL;
}

int pl_child_main(void) {
    static const pl_child_kind library = {.open = open_library};
    static pl_child c;
    c.kind = &library;
    signal(SIGINT, SIG_IGN); /* Ctrl-C is the parent's to hear; it ends this process */
    pl_child_pipes(&c);
    return pl_child_serve(&c);
}
