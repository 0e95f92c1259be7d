/* An exported FMU: what FMI 2.0 and 3.0 share over pl_simulation.
 *
 *     export_table.c     written for each model: what stands where                (pl_exported)
 *     export_instance.c  one instance: memory, start values, errors and the log
 *     export_values.c    values by reference, their derivatives along a direction
 *     export_exchange.c  model exchange: the importer steps
 *     export_steps.c     co-simulation: the solver inside steps, and goes on over communication points
 *     export_state.c     saved, restored, as bytes
 *     export_fmi2.c, export_fmi3.c    the functions of the standards, and the order in which they may be called
 *
 * All memory is taken when an instance is made; only saved states take more. Nothing is shared between instances.
 */
#ifndef PL_EXPORT_H
#define PL_EXPORT_H

#include "pliant.h"

#define PL_INPUT_DEGREE 3 /* of inputs between communication points: their derivatives up to this order */

/* Where the value of a variable stands. */
enum {
    PL_AT_TIME = 0,
    PL_AT_X,
    PL_AT_SLOPE, /* x' */
    PL_AT_U,
    PL_AT_P,
    PL_AT_Y,
    PL_AT_ROOT,
    PL_AT_COUNTER,
    PL_AT_CONSTANT,
    PL_AT_DEPENDENT /* on parameters alone */
};

/* What may be done with a variable, or-ed together. */
enum {
    PL_MAY_START = 1,  /* set before the start */
    PL_MAY_GUESS = 2,  /* ... as a guess */
    PL_MAY_CHANGE = 4, /* set later on, too */
    PL_MAY_BEND = 8    /* an input with derivatives */
};

typedef struct pl_export_variable {
    int32_t index; /* in its vector */
    uint8_t at;    /* PL_AT_... */
    uint8_t type;  /* PL_TYPE_... */
    int8_t sign;   /* -1: the value with the other sign */
    uint8_t may;   /* PL_MAY_... */
} pl_export_variable;

typedef struct pl_export_table {
    const pl_engine *engine;
    const pl_model *model;   /* NULL: a unit */
    const pl_unit *unit;     /* something that steps itself; its outputs are y */
    const pl_method *method; /* NULL: a unit */
    const pl_sparse_lu *lu;
    const char *token; /* GUID, instantiation token */
    pl_real rtol;
    pl_real step; /* of a unit */
    int at_jump;
    int exchange; /* 1: model exchange is offered */
    int steps;    /* 1: co-simulation is */
    int n_variables;
    const pl_export_variable *variable; /* by value reference */
    const char *const *name;            /* of a unit: by value reference, too */
    const pl_real *constant;
    int n_indicators;
    const int *indicator; /* root functions that importers look at */
    int n_dependent;
    pl_status (*dependent)(void *self, pl_real *value); /* what depends on parameters alone */
    pl_real (*shortest_delay)(void *self);              /* once started; NULL: nothing is delayed */
} pl_export_table;

extern const pl_export_table pl_exported;

/* The status of both standards. */
enum { PL_FINE = 0, PL_WARNING, PL_DISCARD, PL_ERROR, PL_LOST };

/* Where an instance stands. */
enum {
    PL_MADE = 1,
    PL_STARTING = 2,
    PL_IN_EVENTS = 4,
    PL_CONTINUOUS = 8,
    PL_STEPPING = 16,
    PL_BETWEEN = 32, /* intermediate update */
    PL_OVER = 64,
    PL_BROKEN = 128
};
#define PL_RUNNING (PL_IN_EVENTS | PL_CONTINUOUS | PL_STEPPING | PL_BETWEEN)

/* Which values of an instance belong to where it stands, or-ed together. */
enum {
    PL_FRESH_SLOPES = 1,
    PL_FRESH_Y = 2,
    PL_FRESH_ROOTS = 4,
    PL_FRESH_DEPENDENT = 8,
    PL_FRESH_ALGEBRAIC = 16
};

static inline size_t pl_export_rounded(size_t bytes) {
    return (bytes + 15u) & ~(size_t)15u;
}

typedef struct pl_exported_instance pl_exported_instance;
typedef void pl_export_log(const pl_exported_instance *c, int status, const char *category, const char *text);

/* What changes besides the arrays and the simulation. */
typedef struct pl_exported_state {
    pl_real t, start, stop, tolerance;
    int mode;   /* PL_MADE ... */
    int set_up; /* the experiment is known */
    int has_stop;
    int solved;     /* start values are found: there is a simulation */
    int ended;      /* the model ended it */
    int inputs_new; /* since the last step */
    int bent;       /* inputs have derivatives since the last change */
    int p_new;      /* parameters changed on the way */
    int x_moved;    /* states changed outside an event */
    int choice_due; /* another choice of states, in event mode */
} pl_exported_state;

struct pl_exported_instance {
    const pl_export_table *table;
    int steps;         /* 1: co-simulation */
    int events_wanted; /* FMI 3: the importer handles events */
    int early_allowed;
    int logging;
    pl_export_log *log;
    const void *callbacks; /* of the importer */
    void *environment;
    void *logger;
    void *update;
    char *name;
    int n_x, n_u, n_p, n_y, n_roots;
    int n_states; /* of x; algebraic unknowns follow */

    pl_exported_state now;
    size_t flat_bytes; /* the arrays up to x_given, saved as they are */
    pl_real *x;        /* n_x */
    pl_real *x_start;  /* n_x: start values of the importer */
    pl_real *u;        /* (PL_INPUT_DEGREE + 1) * n_u: values and derivatives */
    pl_real *p;        /* n_p */
    int8_t *x_given;   /* n_x: 1 the importer's start value holds; 2 as a guess */

    int fresh; /* PL_FRESH_... */
    pl_real *slope, *y, *roots, *dependent;
    pl_real *x_work; /* 4 n_x */
    pl_real *along, *derived, *coefficient;
    int8_t *x_held;
    void *memory; /* of the model before a step was completed; NULL: it has no state sets */

    pl_plan plan;
    void *plan_work, *linear, *block;
    pl_real *atol, *nominal;
    pl_setup setup;
    pl_simulation *sim; /* NULL: not begun */
    char text[2000];
};

/* export_instance.c */
/* Warnings of the model at a point that was accepted (PL_TELL_STEP), or of an event there (PL_TELL_REST). */
void pl_exported_tell(pl_exported_instance *c, int what);

pl_exported_instance *pl_exported_new(const char *name, const char *token, int steps, pl_export_log *log,
                                      const void *callbacks, void *environment, void *logger);
void pl_exported_free(pl_exported_instance *c);
void pl_exported_reset(pl_exported_instance *c);
int pl_exported_setup(pl_exported_instance *c, int has_tolerance, pl_real tolerance, pl_real start,
                      int has_stop, pl_real stop);
/* Start values, unless they are found and nothing changed since. */
int pl_exported_solve(pl_exported_instance *c);
int pl_exported_exit_start(pl_exported_instance *c);
/* A simulation of this setup that is not begun: to be restored. */
pl_status pl_exported_lay_out(pl_exported_instance *c);
/* Tell the importer and return `status`. */
int pl_exported_say(pl_exported_instance *c, int status, const char *format, ...);
/* ... what the simulation failed with. */
int pl_exported_failed(pl_exported_instance *c, int status, pl_status why, const char *doing);
/* Is a call allowed where the instance stands? */
int pl_exported_allowed(pl_exported_instance *c, int modes, const char *function);

/* export_values.c */
int pl_exported_get(pl_exported_instance *c, uint32_t reference, int type, pl_real *value);
int pl_exported_set(pl_exported_instance *c, uint32_t reference, int type, pl_real value);
int pl_exported_set_derivative(pl_exported_instance *c, uint32_t reference, int order, pl_real value);
int pl_exported_along(pl_exported_instance *c, const uint32_t *unknown, size_t n_unknown,
                      const uint32_t *known, size_t n_known, const pl_real *seed, pl_real *product);
/* Algebraic unknowns in x, slopes, root functions where the instance stands. */
int pl_exported_algebraic(pl_exported_instance *c);
int pl_exported_slopes(pl_exported_instance *c);
int pl_exported_roots(pl_exported_instance *c);
const char *pl_exported_name_of(const pl_exported_instance *c, const pl_export_variable *v);

/* export_exchange.c */
int pl_exported_set_time(pl_exported_instance *c, pl_real t);
int pl_exported_set_states(pl_exported_instance *c, const pl_real *x, size_t n);
int pl_exported_nominals(pl_exported_instance *c, pl_real *nominal);
int pl_exported_event(pl_exported_instance *c, pl_event_info *info);
int pl_exported_completed(pl_exported_instance *c, int *event, int *terminate);

/* export_steps.c */
typedef struct pl_export_step {
    int event;     /* something waits for event mode */
    int terminate; /* the model ended the simulation */
    int early;
    pl_real reached;
} pl_export_step;
/* Called after the steps of the solver; 1: return early. */
typedef int pl_export_between(pl_exported_instance *c, pl_real t);
int pl_exported_step(pl_exported_instance *c, pl_real t, pl_real step, pl_export_between *between,
                     pl_export_step *done);
/* Events that wait take place, with the inputs as they are, and what jumps of these set off. */
int pl_exported_settle(pl_exported_instance *c);
int pl_exported_parameters(pl_exported_instance *c);
/* The importer terminates: what the model does where a run ends, and that is over. */
int pl_exported_end(pl_exported_instance *c);

/* export_state.c */
typedef struct pl_exported_saved pl_exported_saved;
int pl_exported_save(pl_exported_instance *c, void **saved);
int pl_exported_restore(pl_exported_instance *c, const void *saved);
void pl_exported_forget(void **saved);
size_t pl_exported_bytes(const void *saved);
int pl_exported_serialise(pl_exported_instance *c, const void *saved, void *bytes, size_t size);
int pl_exported_deserialise(pl_exported_instance *c, const void *bytes, size_t size, void **saved);

#endif
