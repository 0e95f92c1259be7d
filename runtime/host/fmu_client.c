/* Desktop only. A pl_model whose functions ask the host of an FMU, for all that is no simulation: linearisation, steady states,
 * planning. A host that dies or hangs is noted in the client; who called finds out there. */
#ifndef _WIN32
#define _POSIX_C_SOURCE 200809L
#include "fmu.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_SECONDS 0.5 /* between two looks at the black box */

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

int pl_fmu_client_wait(pl_fmu_client *k) {
    struct pollfd watched[2] = {{.fd = k->in, .events = POLLIN}, {.fd = k->ended, .events = POLLIN}};
    double since = now();
    int64_t call = k->box->call, count = k->box->count;
    for (;;) {
        double limit = k->call_timeout > 0.0 ? since + k->call_timeout : HUGE_VAL, t = now();
        if (k->deadline > 0.0) limit = fmin(limit, k->deadline);
        double left = fmin(fmax(limit - t, 0.0), LOOK_SECONDS);
        int ready = poll(watched, 2, (int)ceil(1e3 * left));
        if (ready < 0 && errno != EINTR) return (void)(k->state = PL_FMU_DIED), 0;
        if (ready > 0 && (watched[0].revents & POLLIN)) return 1;
        if (ready > 0) return (void)(k->state = PL_FMU_DIED), 0;
        if (k->box->call != call || k->box->count != count) since = now();
        call = k->box->call;
        count = k->box->count;
        t = now();
        if ((k->deadline > 0.0 && t >= k->deadline) ||
            (k->call_timeout > 0.0 && t >= since + k->call_timeout))
            return (void)(k->state = PL_FMU_HANGS), 0;
    }
}

static int get(pl_fmu_client *k, void *to, size_t bytes) {
    char *at = to;
    while (bytes > 0) {
        if (!pl_fmu_client_wait(k)) return 0;
        ssize_t got = read(k->in, at, bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return (void)(k->state = PL_FMU_DIED), 0;
        at += got;
        bytes -= (size_t)got;
    }
    return 1;
}

static int put(pl_fmu_client *k, const void *from, size_t bytes) {
    const char *at = from;
    while (bytes > 0) {
        ssize_t done = write(k->out, at, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return (void)(k->state = PL_FMU_DIED), 0;
        at += done;
        bytes -= (size_t)done;
    }
    return 1;
}

static int skip(pl_fmu_client *k, int64_t bytes) {
    char room[4096];
    while (bytes > 0) {
        size_t part = bytes < (int64_t)sizeof room ? (size_t)bytes : sizeof room;
        if (!get(k, room, part)) return 0;
        bytes -= (int64_t)part;
    }
    return 1;
}

/* What belongs to a question besides x and u. */
typedef struct rest {
    const void *first, *second;
    size_t first_bytes, second_bytes;
} rest;

static int send_question(pl_fmu_client *k, const pl_fmu_question *q, const double *x, const double *u,
                         const rest *more) {
    size_t reals = sizeof(double), states = (size_t)k->n_x * reals, inputs = u ? (size_t)k->n_u * reals : 0;
    int64_t head[2] = {PL_FMU_VALUE,
                       (int64_t)(sizeof *q + states + inputs + more->first_bytes + more->second_bytes)};
    char small[2048];
    size_t all = sizeof head + (size_t)head[1];
    if (all > sizeof small)
        return put(k, head, sizeof head) && put(k, q, sizeof *q) && put(k, x, states) && put(k, u, inputs) &&
               put(k, more->first, more->first_bytes) && put(k, more->second, more->second_bytes);
    char *at = small; /* one call of the system for all of it */
    memcpy(at, head, sizeof head);
    memcpy(at += sizeof head, q, sizeof *q);
    at += sizeof *q;
    if (states > 0) memcpy(at, x, states);
    at += states;
    if (inputs > 0) memcpy(at, u, inputs);
    at += inputs;
    if (more->first_bytes > 0) memcpy(at, more->first, more->first_bytes);
    at += more->first_bytes;
    if (more->second_bytes > 0) memcpy(at, more->second, more->second_bytes);
    return put(k, small, all);
}

/* The answer's values into `to`, n of them, if there are so many. */
static int take_answer(pl_fmu_client *k, pl_fmu_answer *a, double *to, int64_t n) {
    int64_t head[2];
    for (;;) {
        if (!get(k, head, sizeof head)) return 0;
        if (head[0] == PL_CHILD_ANSWERED) break;
        if (head[0] == PL_CHILD_REFUSED) {
            size_t part = head[1] < (int64_t)sizeof k->words - 1 ? (size_t)head[1] : sizeof k->words - 1;
            if (!get(k, k->words, part) || !skip(k, head[1] - (int64_t)part)) return 0;
            k->words[part] = 0;
            a->status = PL_FATAL;
            return 1;
        }
        if (!skip(k, head[1])) return 0;
    }
    if (!get(k, a, sizeof *a)) return 0;
    int64_t taken = a->n < n ? a->n : n;
    if (!get(k, to, (size_t)taken * sizeof(double)) || !skip(k, (a->n - taken) * (int64_t)sizeof(double)))
        return 0;
    size_t part = a->words < (int64_t)sizeof k->words - 1 ? (size_t)a->words : sizeof k->words - 1;
    if (part > 0) {
        if (!get(k, k->words, part) || !skip(k, a->words - (int64_t)part)) return 0;
        k->words[part] = 0;
    }
    return 1;
}

static pl_status ask(pl_fmu_client *k, const pl_fmu_question *q, const double *x, const double *u,
                     const rest *more, pl_fmu_answer *a, double *to, int64_t n) {
    static const rest none = {0};
    pl_fmu_answer own;
    if (!a) a = &own;
    memset(a, 0, sizeof *a);
    if (k->state != PL_FMU_ALIVE) return PL_FATAL;
    if (!send_question(k, q, x, u, more ? more : &none) || !take_answer(k, a, to, n)) {
        snprintf(k->words, sizeof k->words, "the host of the FMU %s",
                 k->state == PL_FMU_HANGS ? "does not answer" : "has ended");
        return PL_FATAL;
    }
    return (pl_status)a->status;
}

/* ---------------------------------------------------------------------------------------- the functions */

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    pl_fmu_client *k = self;
    pl_fmu_question q = {.what = PL_FMU_DO_RHS, .t = t};
    return ask(k, &q, x, u, NULL, NULL, f, k->n_x);
}

static pl_status roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    pl_fmu_client *k = self;
    pl_fmu_question q = {.what = PL_FMU_DO_ROOTS, .t = t};
    return ask(k, &q, x, u, NULL, NULL, g, k->n_roots);
}

static pl_status outputs(void *self, pl_real t, const pl_real *x, const pl_real *u, int n, const int *index,
                         pl_real *y) {
    pl_fmu_client *k = self;
    if (!index) n = k->n_y;
    pl_fmu_question q = {.what = PL_FMU_DO_OUTPUTS, .t = t, .n = n, .more = index != NULL};
    rest more = {.first = index, .first_bytes = index ? (size_t)n * sizeof *index : 0};
    return ask(k, &q, x, u, &more, NULL, y, n);
}

static pl_status jvp(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real dt, const pl_real *dx,
                     const pl_real *du, pl_real *df) {
    pl_fmu_client *k = self;
    pl_fmu_question q = {.what = PL_FMU_DO_JVP, .t = t, .dt = dt, .more = (dx ? 1 : 0) | (du ? 2 : 0)};
    rest more = {.first = dx,
                 .first_bytes = dx ? (size_t)k->n_x * sizeof *dx : 0,
                 .second = du,
                 .second_bytes = du ? (size_t)k->n_u * sizeof *du : 0};
    return ask(k, &q, x, u, &more, NULL, df, k->n_x);
}

static pl_status settle(pl_fmu_client *k, pl_fmu_question *q, pl_real *x, const pl_real *u, const rest *more,
                        pl_event_info *info) {
    pl_fmu_answer a;
    q->again = info->again;
    pl_status status = ask(k, q, x, u, more, &a, x, k->n_x);
    info->x_changed = (int)a.x_changed;
    info->f_changed = (int)a.f_changed;
    info->nominal_changed = (int)a.nominal_changed;
    info->terminate = (int)a.terminate;
    if (status == PL_OK) info->next_time = a.next_time;
    return status;
}

static pl_status initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    pl_fmu_question q = {.what = PL_FMU_DO_INITIALISE, .t = t};
    return settle(self, &q, x, u, NULL, info);
}

static pl_status event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                       pl_event_info *info) {
    pl_fmu_client *k = self;
    pl_fmu_question q = {.what = PL_FMU_DO_EVENT, .t = t, .more = fired != NULL};
    rest more = {.first = fired, .first_bytes = fired ? (size_t)k->n_roots : 0};
    return settle(k, &q, x, u, &more, info);
}

static pl_status step_done(void *self, pl_real t, pl_real *x, const pl_real *u, int *request) {
    pl_fmu_client *k = self;
    pl_fmu_answer a;
    pl_fmu_question q = {.what = PL_FMU_DO_STEP_DONE, .t = t};
    pl_status status = ask(k, &q, x, u, NULL, &a, x, k->n_x);
    *request = (int)a.request;
    return status;
}

static const char *words_of(void *self) {
    const pl_fmu_client *k = self;
    return k->words;
}

static void nominal(void *self, pl_real *x_nominal) {
    pl_fmu_client *k = self;
    pl_fmu_question q = {.what = PL_FMU_DO_NOMINAL};
    for (int i = 0; i < k->n_x; i++) x_nominal[i] = 0.0;
    (void)ask(k, &q, x_nominal, NULL, NULL, NULL, x_nominal, k->n_x);
}

double pl_fmu_client_measure(pl_fmu_client *k, double t, const double *x, const double *u, int64_t n) {
    pl_fmu_question q = {.what = PL_FMU_DO_MEASURE, .t = t, .n = n};
    double seconds = -1.0;
    return ask(k, &q, x, u, NULL, NULL, &seconds, 1) == PL_OK ? seconds : -1.0;
}

void pl_fmu_client_install(pl_model *m, int has_jvp, int has_roots, int has_step_done) {
    m->initialise = initialise;
    m->nominal = nominal;
    m->rhs = rhs;
    m->jvp = has_jvp ? jvp : NULL;
    m->roots = has_roots ? roots : NULL;
    m->outputs = outputs;
    m->event = event;
    m->step_done = has_step_done ? step_done : NULL;
    m->error = words_of;
}
#else
#include "fmu.h"
void pl_fmu_client_install(pl_model *m, int jvp, int roots, int step_done) {
    (void)m;
    (void)jvp;
    (void)roots;
    (void)step_done;
}
int pl_fmu_client_wait(pl_fmu_client *client) {
    (void)client;
    return 0;
}
double pl_fmu_client_measure(pl_fmu_client *client, double t, const double *x, const double *u, int64_t n) {
    (void)client;
    (void)t;
    (void)x;
    (void)u;
    (void)n;
    return -1.0;
}
#endif
