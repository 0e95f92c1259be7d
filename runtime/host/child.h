/* Desktop only. Who serves the requests of a parent: the child process of a simulation (child.c), the host of an FMU
 * (fmu_host.c). Frames: two int64, kind and bytes, then as many bytes. Numbers and structures are those of this machine:
 * parent and child use the same library. Pointers inside structures only tell whether something is there. */
#ifndef PLIANT_CHILD_H
#define PLIANT_CHILD_H

#include "pliant_host.h"

#define PL_CHILD_BUFFER (1 << 16)

typedef struct pl_child pl_child;

/* What the requests are about. */
typedef struct pl_child_kind {
    /* puts the model or the unit, and its instance, in place; NULL: done, else why not */
    const char *(*open)(pl_child *c);
    /* the run is over, or could not begin; before the end is told */
    void (*close)(pl_child *c, pl_status status);
    /* before something is sent; 0: the parent is gone */
    int (*tell)(pl_child *c);
    /* another request; 0: the parent is gone */
    int (*serve)(pl_child *c, int64_t request, int64_t bytes);
} pl_child_kind;

struct pl_child {
    const pl_child_kind *kind;
    void *owner;
    int in, out;
    int64_t process;       /* the number of this one: a copy that a model made by fork has another */
    int64_t at, have, put; /* of what was read: used, there; of what is to be sent */
    char input[PL_CHILD_BUFFER], output[PL_CHILD_BUFFER];
    void *given[PL_CHILD_N_GIVEN];
    int64_t bytes[PL_CHILD_N_GIVEN];
    pl_model model;      /* by `open`, with the nominal values and bounds of the request */
    const pl_unit *unit; /* by `open`, instead of a model */
    void *self;          /* by `open`; NULL: the instance lies in the simulation */
    pl_setup setup;
    pl_plan plan;
    pl_inputs inputs;
    pl_host_memory memory;
    pl_simulation *sim;
    int64_t rows, log, events; /* that were sent */
    double sent;               /* when something was */
};

/* Requests one after the other, until the parent closes the pipe: 0. */
int pl_child_serve(pl_child *c);
/* The descriptors of the protocol, away from what a model may print to or read from. */
void pl_child_pipes(pl_child *c);

/* What is put is sent before something is waited for, and by pl_child_send. 0: the parent is gone. */
int pl_child_get(pl_child *c, void *to, int64_t bytes);
int pl_child_send(pl_child *c);
int pl_child_put(pl_child *c, const void *from, int64_t bytes);
int pl_child_put_head(pl_child *c, int64_t kind, int64_t bytes);
/* A refusal in words. */
int pl_child_refuse(pl_child *c, const char *words, const char *more);
/* What was given, forgotten. */
void pl_child_forget(pl_child *c);

#endif
