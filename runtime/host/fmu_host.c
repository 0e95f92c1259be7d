/* Desktop only. The host of an FMU: a process of its own that loads one binary and serves requests of its parent, whole
 * simulations (child.c) and single values, one after the other, each with a new instance. It dies with its parent. */
#ifndef _WIN32
#define _GNU_SOURCE
#endif
#include "fmu.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef __linux__
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif
#ifndef _WIN32
#include <unistd.h>

/* ----------------------------------------------------------------------------------------------- messages */

static int tell(pl_child *c) {
    pl_fmu *f = c->owner;
    pl_black_box *box = f->box;
    pl_box_take_prints(box);
    int64_t used = box->used;
    if (used <= 0 || used > PL_BOX_MESSAGES) return 1;
    if (!pl_child_put_head(c, PL_CHILD_MESSAGES, used) || !pl_child_put(c, PL_BOX_TEXTS(box), used)) return 0;
    (void)pl_box_lock(box); /* who does not give it back does not come back either */
    int64_t left = box->used - used;
    if (left < 0 || left > PL_BOX_MESSAGES - used) left = 0;
    memmove(PL_BOX_TEXTS(box), PL_BOX_TEXTS(box) + used, (size_t)left);
    box->used = left;
    pl_box_unlock(box);
    return 1;
}

/* --------------------------------------------------------------------------------------------- simulations */

static const char *open_run(pl_child *c) {
    pl_fmu *f = c->owner;
    if (!f->library) return "no FMU is loaded";
    pl_fmu_begin begin = {c->setup.start, c->setup.stop, c->setup.rtol, 0};
    const char *why = pl_fmu_open(f, &begin);
    if (why) {
        pl_fmu_close(f);
        return why;
    }
    if (f->head->kind == PL_FMU_MODEL_EXCHANGE)
        c->model = f->model;
    else
        c->unit = &f->unit.unit;
    c->self = f;
    return NULL;
}

/* An instance that failed stays: the parent may ask it why. */
static void close_run(pl_child *c, pl_status status) {
    if (status >= 0) pl_fmu_close(c->owner);
}

/* ------------------------------------------------------------------------------------------- single values */

static int answer(pl_child *c, pl_fmu_answer *a, const double *values) {
    const pl_fmu *f = c->owner;
    const char *words = a->status < 0 ? f->words : "";
    a->words = (int64_t)strlen(words);
    if (a->status < 0) a->n = 0;
    /* messages about single values stay in the black box, which the parent can read while nothing goes on here */
    return pl_child_put_head(c, PL_CHILD_ANSWERED,
                             (int64_t)sizeof *a + a->n * (int64_t)sizeof(double) + a->words) &&
           pl_child_put(c, a, sizeof *a) && pl_child_put(c, values, a->n * (int64_t)sizeof(double)) &&
           pl_child_put(c, words, a->words);
}

typedef struct question {
    const pl_fmu_question *head;
    double *x, *u;
    char *more;
} question;

static void ask_event(pl_fmu *f, const question *q, pl_fmu_answer *a) {
    pl_event_info info;
    memset(&info, 0, sizeof info);
    info.next_time = f->next_time;
    info.again = (int)q->head->again;
    a->status =
        q->head->what == PL_FMU_DO_INITIALISE
            ? f->model.initialise(f, q->head->t, q->x, q->u, &info)
            : f->model.event(f, q->head->t, q->x, q->u, q->head->more ? (int8_t *)q->more : NULL, &info);
    a->n = f->model.n_x;
    a->x_changed = info.x_changed;
    a->f_changed = info.f_changed;
    a->nominal_changed = info.nominal_changed;
    a->terminate = info.terminate;
    a->next_time = info.next_time;
}

/* Mean time of a right-hand side, into out[0]; out: room for n_x and more. */
static pl_status measure(pl_fmu *f, const question *q, double *out) {
    struct timespec begin, end;
    pl_status status = PL_OK;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int64_t k = 0; k < q->head->n && status == PL_OK; k++)
        status = f->model.rhs(f, q->head->t, q->x, q->u, out);
    clock_gettime(CLOCK_MONOTONIC, &end);
    out[0] = ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) /
             (double)(q->head->n > 0 ? q->head->n : 1);
    return status;
}

/* out: room for n_x, n_roots or n values, whatever is most. */
static const double *evaluate(pl_fmu *f, const question *q, pl_fmu_answer *a, double *out) {
    const pl_model *m = &f->model;
    const pl_fmu_question *head = q->head;
    int request = 0;
    double *dx = (double *)(void *)q->more;
    switch (head->what) {
    case PL_FMU_DO_INITIALISE:
    case PL_FMU_DO_EVENT:
        ask_event(f, q, a);
        return q->x;
    case PL_FMU_DO_RHS:
        a->status = m->rhs(f, head->t, q->x, q->u, out);
        a->n = m->n_x;
        return out;
    case PL_FMU_DO_ROOTS:
        a->status = m->roots ? m->roots(f, head->t, q->x, q->u, out) : PL_ARGUMENT;
        a->n = m->n_roots;
        return out;
    case PL_FMU_DO_OUTPUTS:
        a->status = m->outputs(f, head->t, q->x, q->u, (int)head->n,
                               head->more ? (const int *)(const void *)q->more : NULL, out);
        a->n = head->n;
        return out;
    case PL_FMU_DO_JVP:
        a->status = m->jvp ? m->jvp(f, head->t, q->x, q->u, head->dt, head->more & 1 ? dx : NULL,
                                    head->more & 2 ? dx + (head->more & 1 ? m->n_x : 0) : NULL, out)
                           : PL_ARGUMENT;
        a->n = m->n_x;
        return out;
    case PL_FMU_DO_MEASURE:
        a->status = measure(f, q, out);
        a->n = 1;
        return out;
    case PL_FMU_DO_STEP_DONE:
        a->status = m->step_done ? m->step_done(f, head->t, q->x, q->u, &request) : PL_OK;
        a->request = request;
        a->n = m->n_x;
        return q->x;
    default:
        m->nominal(f, out);
        a->n = m->n_x;
        return out;
    }
}

static int serve_value(pl_child *c, const char *bytes, int64_t size) {
    pl_fmu *f = c->owner;
    pl_fmu_answer a;
    question q = {(const pl_fmu_question *)(const void *)bytes, NULL, NULL, NULL};
    memset(&a, 0, sizeof a);
    if (size < (int64_t)sizeof *q.head) return 0;
    size_t n_x = (size_t)f->model.n_x, n_u = q.head->what == PL_FMU_DO_NOMINAL ? 0 : (size_t)f->model.n_u;
    if (!f->instance || size < (int64_t)(sizeof *q.head + (n_x + n_u) * sizeof(double)))
        return pl_child_refuse(c, "there is no instance of the FMU", NULL);
    q.x = (double *)(void *)(bytes + sizeof *q.head);
    q.u = q.x + n_x;
    q.more = (char *)(void *)(q.u + n_u);
    size_t outputs = q.head->what == PL_FMU_DO_OUTPUTS ? (size_t)q.head->n : 0;
    size_t room = n_x + (size_t)f->model.n_roots + outputs + 1;
    double *out = malloc(room * sizeof *out);
    if (!out) return pl_child_refuse(c, "there is not enough memory", NULL);
    const double *values = evaluate(f, &q, &a, out);
    int fine = answer(c, &a, values);
    free(out);
    return fine;
}

/* ---------------------------------------------------------------------------------------------- requests */

static int serve_load(pl_child *c, char *bytes, int64_t size) {
    pl_fmu *f = c->owner;
    pl_fmu_answer a;
    memset(&a, 0, sizeof a);
    const char *why = f->table ? "an FMU is loaded already" : pl_fmu_read_table(f, bytes, size);
    if (!why) why = pl_fmu_load(f);
    if (!why && f->head->kind == PL_FMU_MODEL_EXCHANGE) pl_fmu_make_model(f);
    if (!why && f->head->kind == PL_FMU_CO_SIMULATION) why = pl_fmu_make_unit(f);
    if (!tell(c)) return 0;
    return why ? pl_child_refuse(c, why, NULL) : answer(c, &a, NULL);
}

static int serve_open(pl_child *c, const char *bytes, int64_t size) {
    pl_fmu_begin begin;
    pl_fmu_answer a;
    memset(&a, 0, sizeof a);
    if (size != (int64_t)sizeof begin) return 0;
    memcpy(&begin, bytes, sizeof begin);
    const char *why = ((pl_fmu *)c->owner)->library ? pl_fmu_open(c->owner, &begin) : "no FMU is loaded";
    if (!why) return tell(c) && answer(c, &a, NULL);
    pl_fmu_close(c->owner);
    return tell(c) && pl_child_refuse(c, why, NULL);
}

static int serve(pl_child *c, int64_t request, int64_t size) {
    pl_fmu *f = c->owner;
    pl_fmu_answer a;
    if (size < 0) return 0;
    char *bytes = malloc((size_t)size + 16);
    if (!bytes || !pl_child_get(c, bytes, size)) {
        free(bytes);
        return 0;
    }
    int fine = 0;
    memset(&a, 0, sizeof a);
    switch (request) {
    case PL_FMU_LOAD:
        fine = serve_load(c, bytes, size);
        if (f->table == bytes) bytes = NULL; /* kept */
        break;
    case PL_FMU_OPEN:
        fine = serve_open(c, bytes, size);
        break;
    case PL_FMU_VALUE:
        fine = serve_value(c, bytes, size);
        break;
    case PL_FMU_PART:
        fine = pl_fmu_serve_part(c, bytes, size);
        break;
    case PL_FMU_CLOSE:
        pl_fmu_close(f);
        pl_child_forget(c);
        fine = tell(c) && answer(c, &a, NULL);
        break;
    default:
        break;
    }
    free(bytes);
    return fine;
}

/* --------------------------------------------------------------------------------------------------- main */

/* Where the parent is gone before it could be asked for, this one ends at once. */
static void die_with(int parent) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_CHILD_SUBREAPER,
          1); /* what the FMU starts stays below this process: the parent finds it there */
#endif
    if (parent > 0 && (int)getppid() != parent) _exit(5);
}

/* Descriptors that a library of the parent has left open are not ours. */
static void close_others(int from) {
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, from, ~0u, 0) == 0) return;
#endif
    for (int k = from; k < 256; k++) close(k);
}

/* arguments: descriptors of the black box and of what is printed, which are 3 and 4; process of the parent; folder to work in */
int pl_fmu_host_main(int n, char **argument) {
    static const pl_child_kind kind = {.open = open_run, .close = close_run, .tell = tell, .serve = serve};
    static pl_child c;
    static pl_fmu f;
    if (n != 4) return 3;
    die_with(atoi(argument[2]));
    close_others(5);
    if (chdir(argument[3]) != 0) return 4;
    c.kind = &kind;
    c.owner = &f;
    f.child = &c;
    pl_child_pipes(&c);
    f.box = pl_box_open(atoi(argument[0]));
    if (!f.box) return 4;
    pl_box_catch_prints(f.box, atoi(argument[1]));
    int code = pl_child_serve(&c);
    _exit(code); /* what the FMU has left to do at the end of the process is not wanted */
}
#else
int pl_fmu_host_main(int n, char **argument) {
    (void)n;
    (void)argument;
    return 3;
}
#endif
