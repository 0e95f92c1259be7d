/* Desktop only: interface between the runtime and the Python binding. */
#ifndef PLIANT_HOST_H
#define PLIANT_HOST_H

#include "pliant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Instance (`self`) of a model made of callbacks; buffers belong to the caller. */
typedef struct pl_shim {
    int n_x, n_jac, n_roots;
    int x_changed;  /* set by the event callback */
    int terminate;  /* likewise */
    pl_real *x;     /* n_x */
    pl_real *f;     /* n_x */
    pl_real *value; /* n_jac */
    pl_real *g;     /* n_roots */
    int8_t *fired;  /* n_roots */
    int (*rhs)(pl_real t);
    int (*jac)(pl_real t);
    int (*roots)(pl_real t);
    int (*event)(pl_real t);
} pl_shim;

void pl_shim_install(pl_model *m, const pl_shim *s);

/* Blocks that simulations asked for (memory.c): `grow` and `host` of a pl_setup. */
typedef struct pl_host_memory {
    void *block[PL_N_GROW];
} pl_host_memory;

void *pl_host_grow(void *host, int what, void *old, size_t used, size_t bytes);
void pl_host_release(pl_host_memory *m);

/* Rows of a run, for its outputs (outputs.c). */
typedef struct pl_host_rows {
    size_t n;
    const pl_real *t; /* n */
    const pl_real
        *relations_at; /* n: times at which relations are taken anew, beside t; NULL: there are none */
    pl_real *x;        /* n * n_x */
    const pl_real *u;  /* n * n_u */
    const pl_real
        *memory; /* (n - 1) * n_d: discrete variables from the second row on; NULL: the model has none */
    pl_real *y;  /* n * n_y: what comes back; NaN where the outputs cannot be evaluated */
} pl_host_rows;

void pl_host_outputs(const pl_model *m, void *self, const pl_host_rows *r);

/* A simulation in another process (child.c, fmu_host.c). What the parent sends, each as a frame of its own, then PL_CHILD_GO;
 * the process goes on to serve requests until the pipe is closed. */
enum {
    PL_CHILD_LIBRARY = 0,
    PL_CHILD_SETUP,
    PL_CHILD_METHODS,
    PL_CHILD_LINEAR,
    PL_CHILD_PARAMETERS,
    PL_CHILD_X,
    PL_CHILD_U,
    PL_CHILD_ATOL,
    PL_CHILD_POINTS,
    PL_CHILD_X_INDEX,
    PL_CHILD_Y_INDEX,
    PL_CHILD_MASK,
    PL_CHILD_CURVATURE,
    PL_CHILD_INPUT_SET,
    PL_CHILD_SEGMENT_START,
    PL_CHILD_COEFFICIENT,
    PL_CHILD_JUMP,
    PL_CHILD_LOOK,
    PL_CHILD_LOOK_U,
    PL_CHILD_NOMINAL,
    PL_CHILD_MIN,
    PL_CHILD_MAX,
    PL_CHILD_X_GIVEN,
    PL_CHILD_GIVEN,
    PL_CHILD_VALUE,
    /* of an FMU: places of start values among the variables that can be set, values, texts of String variables */
    PL_CHILD_STARTS,
    PL_CHILD_START_VALUES,
    PL_CHILD_TEXTS,
    /* another pattern of the Jacobian than the model's: start of each column, rows; one number only: none */
    PL_CHILD_PATTERN_START,
    PL_CHILD_PATTERN_ROW,
    PL_CHILD_N_GIVEN,
    PL_CHILD_GO = 100,
    PL_CHILD_ANSWER /* to doubts: 1 or 0 */
};
/* What comes back: a part of the recorded, a question for inputs (t and u; answered by status and u), doubts about the pattern
 * (status and state; answered by PL_CHILD_ANSWER), the end (status and state), a refusal (words), that the start is done
 * (status, its report and the two lists of that), messages of an FMU (fmu.h), or the answer to a request about one. */
enum {
    PL_CHILD_PART = 200,
    PL_CHILD_INPUTS,
    PL_CHILD_DOUBT,
    PL_CHILD_END,
    PL_CHILD_REFUSED,
    PL_CHILD_STARTED,
    PL_CHILD_MESSAGES,
    PL_CHILD_ANSWERED,
    PL_CHILD_WORDS, /* of the model, about a failure */
    PL_CHILD_TOLD   /* what it says that is no error: pl_child_told, then the text */
};

/* Head of a part; rows, log entries and events follow. */
typedef struct pl_child_part {
    int64_t first[3]; /* rows, log, events */
    int64_t count[3];
    pl_counters counters;
    pl_real t_reached;
    int method, handovers, started;
    pl_stepper head;
    pl_failure failure;
} pl_child_part;

/* Head of a message. */
typedef struct pl_child_told {
    pl_real t;
    int64_t warns;    /* 0: it is just told */
    int64_t external; /* 1: by an external function */
} pl_child_told;

int pl_child_main(void);

/* Sizes of the structures above and in pliant.h, for checking a foreign mirror of them. */
size_t pl_host_sizeof(int what);

#ifdef __cplusplus
}
#endif

#endif
