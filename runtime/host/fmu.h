/* Desktop only. An FMU in its host: what the parent says about it (a table made from its description), its binary, one instance.
 *
 *     fmu_table.c   the table as typed data            fmu_load.c    the binary, functions by version
 *     fmu_values.c  variables as vectors of reals      fmu_open.c    an instance: made, given values, freed
 *     fmu_model.c   model exchange as a pl_model       fmu_host.c    requests of the parent
 *     fmu_unit.c    co-simulation as a pl_unit         fmu_part.c    the same as a part of a coupling
 */
#ifndef PLIANT_FMU_H
#define PLIANT_FMU_H

#include "../fmi/pl_fmi2.h"
#include "../fmi/pl_fmi3.h"
#include "child.h"
#include "fmu_box.h"

/* Types of variables; enumerations are INT32 in FMI 2, INT64 in FMI 3. */
enum {
    PL_FMU_FLOAT64 = 0,
    PL_FMU_FLOAT32,
    PL_FMU_INT8,
    PL_FMU_UINT8,
    PL_FMU_INT16,
    PL_FMU_UINT16,
    PL_FMU_INT32,
    PL_FMU_UINT32,
    PL_FMU_INT64,
    PL_FMU_UINT64,
    PL_FMU_BOOLEAN,
    PL_FMU_STRING,
    PL_FMU_N_TYPES
};

/* Flags of a variable. */
enum {
    PL_FMU_CONTINUOUS = 1,  /* an input that may be set between events */
    PL_FMU_STRUCTURAL = 2,  /* a structural parameter: configuration mode */
    PL_FMU_EXACT = 4,       /* a state whose start value must be what it is set to */
    PL_FMU_INTERMEDIATE = 8 /* an input that may be set while a step is computed */
};

/* Co-simulation, in pl_fmu_head.unit. */
enum {
    PL_FMU_UNIT_EVENTS = 0,  /* event mode is used */
    PL_FMU_UNIT_EARLY,       /* a step may end early */
    PL_FMU_UNIT_DERIVATIVES, /* highest derivative of inputs that may be set (FMI 2) */
    PL_FMU_UNIT_EQUAL,       /* all steps must be equal */
    PL_FMU_UNIT_INTERMEDIATE /* inputs are given on the way (FMI 3) */
};

/* Flags of the whole. */
enum {
    PL_FMU_COMPLETED_STEP = 1, /* wants to hear of completed steps */
    PL_FMU_LOGGING = 2,
    PL_FMU_DIRECTIONAL = 4, /* offers directional derivatives */
    PL_FMU_ONCE = 8         /* one instance per process */
};

/* A variable: a scalar or an array with its elements one after the other. */
typedef struct pl_fmu_variable {
    uint32_t reference;
    int32_t type;
    int32_t size;
    int32_t flags;
} pl_fmu_variable;

/* A vector of reals as variables of the FMU. */
typedef struct pl_fmu_vector {
    int n; /* reals */
    int m; /* variables */
    const pl_fmu_variable *variable;
    int *first; /* m + 1: places of their first elements */
} pl_fmu_vector;

enum { PL_FMU_X = 0, PL_FMU_U, PL_FMU_P, PL_FMU_Y, PL_FMU_S, PL_FMU_N_VECTORS };
enum { PL_FMU_MODEL_EXCHANGE = 0, PL_FMU_CO_SIMULATION = 1 };

/* The head of the table: whole numbers, in this order. Behind it, each padded to 8 bytes: variables of the five vectors,
 * references of the derivatives, start values of x, nominal values of x, start values of u, p and s, the pattern of the
 * Jacobian (start, row), and texts, each with its null. s: what else may be given a start value. */
typedef struct pl_fmu_head {
    int64_t version; /* 2 or 3 */
    int64_t kind;
    int64_t flags;
    int64_t n[PL_FMU_N_VECTORS];
    int64_t m[PL_FMU_N_VECTORS];
    int64_t n_roots;
    int64_t n_jac; /* -1: no pattern */
    int64_t memory_limit;
    int64_t n_texts;
    int64_t unit[8]; /* of co-simulation */
} pl_fmu_head;

/* The first texts; categories of messages follow. */
enum { PL_FMU_BINARY = 0, PL_FMU_NAME, PL_FMU_TOKEN, PL_FMU_RESOURCES, PL_FMU_CATEGORIES };

/* What is called, as the black box knows it. */
#define PL_CALL2_(symbol, name) PL_CALL2_##name,
#define PL_CALL3_(symbol, name) PL_CALL3_##name,
enum {
    PL_CALL_NONE = 0,
    PL_CALL_LOAD,
    /* clang-format off */
    PL_FMI2_FUNCTIONS(PL_CALL2_)
    PL_FMI3_FUNCTIONS(PL_CALL3_)
    /* clang-format on */
    PL_CALL_N
};
const char *pl_fmu_call_name(int call);

#define PL_FMI2_MEMBER_(symbol, name) pl_fmi2_##name##_fn name;
#define PL_FMI3_MEMBER_(symbol, name) pl_fmi3_##name##_fn name;
typedef struct pl_fmi2 {
    PL_FMI2_FUNCTIONS(PL_FMI2_MEMBER_)
} pl_fmi2;
typedef struct pl_fmi3 {
    PL_FMI3_FUNCTIONS(PL_FMI3_MEMBER_)
} pl_fmi3;

/* Functions that both versions have with the same arguments, and their numbers. */
typedef struct pl_fmi_common {
    int (*set_time)(void *, double);
    int (*set_states)(void *, const double *, size_t);
    int (*get_derivatives)(void *, double *, size_t);
    int (*get_indicators)(void *, double *, size_t);
    int (*get_states)(void *, double *, size_t);
    int (*get_nominals)(void *, double *, size_t);
    int (*exit_initialization)(void *);
    int (*enter_event)(void *);
    int (*enter_continuous)(void *);
    int (*terminate)(void *);
    void (*free_instance)(void *);
    int n_set_time, n_set_states, n_get_derivatives, n_get_indicators, n_get_states, n_get_nominals,
        n_exit_initialization, n_enter_event, n_enter_continuous, n_terminate, n_free_instance;
} pl_fmi_common;

/* Where an instance is in the state machine of the standard. */
enum {
    PL_FMU_NO_INSTANCE = 0,
    PL_FMU_INSTANTIATED,
    PL_FMU_INITIALIZATION,
    PL_FMU_EVENT,
    PL_FMU_CONTINUOUS_TIME,
    PL_FMU_STEP,  /* co-simulation */
    PL_FMU_ERROR, /* may only be freed */
    PL_FMU_LOST   /* nothing may be called any more, in this process */
};

/* How a choice of outputs is read. */
typedef struct pl_fmu_reading {
    int n, capacity;
    int *index;                    /* n */
    int *place;                    /* n: of each among the values read */
    int direct;                    /* 1: these are the values read, in this order, all of them Float64 */
    int group[PL_FMU_N_TYPES + 1]; /* variables of each type: from .. to in `reference` */
    int first[PL_FMU_N_TYPES + 1]; /* ... their values */
    uint32_t *reference;
    double *value;
} pl_fmu_reading;

/* How a run begins: in a request to open an instance, or from the setup of a simulation. */
typedef struct pl_fmu_begin {
    double start, stop, rtol;
    int64_t held; /* states given are a point of the user, not start values */
} pl_fmu_begin;

/* Co-simulation. */
typedef struct pl_fmu_unit {
    pl_unit unit;
    double next_event;
    double t;   /* begin of the step at work */
    int events; /* event mode is used */
    int degree, refused, stuck;
    int defer, pending; /* events at the end of a step are left until its inputs are known; one is left */
    const double *coefficient; /* of the inputs about t; NULL: no step is at work */
    uint32_t *reference;
    int *order;
    double *value, *now;
    int8_t *held;
} pl_fmu_unit;

typedef struct pl_fmu_saved pl_fmu_saved;

typedef struct pl_fmu {
    pl_child *child;
    pl_black_box *box;
    pl_fmi_common call;
    void *instance;
    int mode;
    int n_continuous;  /* inputs that may be set between events */
    double t_floor;    /* no time before this: that of the last event or completed step */
    double t_event;    /* of the last event */
    double *u_set;     /* n_u: inputs as the instance has them */
    double *x_set;     /* n_x: states after the last event */
    double *x_now;     /* n_x */
    double *x_nominal; /* n_x: of this instance, 0: not entered */
    double next_time;
    int asked; /* the last completed step asks for event mode */
    int ends;  /* the instance ended the simulation at its very start */
    int told;  /* what was complained about, once is enough */
    pl_model model;
    pl_fmi2 f2;
    pl_fmi3 f3;
    pl_fmi2_callbacks callbacks;
    int status_; /* of the last call */
    const pl_fmu_head *head;
    pl_fmu_vector vector[PL_FMU_N_VECTORS];
    const uint32_t *derivative; /* references, one for each variable of x */
    const double *x_start, *nominal, *u_start, *p_start, *s_start;
    const int32_t *jac_start, *jac_row;
    const char **text;
    void *table;
    void *library;
    pl_fmu_begin begin;
    pl_fmu_reading reading;
    void *scratch;  /* values of the largest vector in any type */
    double *packed; /* ... as reals */
    uint32_t *references;
    int8_t *chosen; /* variables of a vector */
    pl_fmu_unit unit;
    pl_fmu_saved *saved; /* n_saved */
    int n_saved;
    char words[2000]; /* what went wrong last */
    char said[1200];  /* ... in the words of the instance */
} pl_fmu;

/* The table from its bytes, which are kept; NULL: fine, else what is wrong with it. */
const char *pl_fmu_read_table(pl_fmu *f, void *bytes, int64_t size);
void pl_fmu_free_table(pl_fmu *f);
/* The binary; NULL: loaded, else why not. */
const char *pl_fmu_load(pl_fmu *f);

/* A call by the standard: notes it before and after. */
#define PL_FMU_CALL(f, number, expression)                                                                   \
    ((f)->box->call = (number), (f)->box->count++, (f)->status_ = (int)(expression),                         \
     (f)->box->call = -(number), (f)->status_)

#define PL_FMU_ABSENT (-1000) /* the status of a function that is not there */

/* A status of the standard as one of ours; what went wrong is put into words. */
pl_status pl_fmu_status(pl_fmu *f, int status, int call);
/* Something that the FMU does and should not: told once as a message. */
void pl_fmu_warn(pl_fmu *f, const char *words);

/* Variables of a vector, all or (chosen[k] != 0) some, from reals. */
pl_status pl_fmu_set(pl_fmu *f, const pl_fmu_vector *v, const int8_t *chosen, const double *value);
/* Outputs number index[0..n-1], NULL: all n. */
pl_status pl_fmu_get(pl_fmu *f, const pl_fmu_vector *v, int n, const int *index, double *value);

/* A new instance with the parameters and start values that the parent gave; NULL: done, else why not. */
const char *pl_fmu_open(pl_fmu *f, const pl_fmu_begin *begin);
/* Initialisation by the standard up to event mode; inputs u. */
pl_status pl_fmu_initialise(pl_fmu *f, double t, const double *u);
/* The instance is freed, terminated before where that is allowed. */
void pl_fmu_close(pl_fmu *f);

/* The functions of model exchange. */
void pl_fmu_make_model(pl_fmu *f);
extern const char pl_fmu_no_reason[];
/* Those of co-simulation; NULL: done, else why not. */
const char *pl_fmu_make_unit(pl_fmu *f);
/* Other inputs where the FMU stands, so that outputs for them can be read: in event mode, or just set. */
pl_status pl_fmu_try_inputs(pl_fmu *f, double t, const double *u, int in_event_mode);
void pl_fmu_intermediate(pl_fmi3_environment environment, double t, bool set_requested, bool get_allowed,
                         bool step_finished, bool can_return_early, bool *early_return_requested,
                         double *early_return_time);
/* The processor computes as the solver expects. */
void pl_fmu_mend(void);

/* Requests about an FMU, besides those of child.c: the table, to be loaded; an instance with what was given before; a value of
 * its functions; the end of the instance. Each is answered by PL_CHILD_ANSWERED or a refusal. */
enum { PL_FMU_LOAD = 110, PL_FMU_OPEN, PL_FMU_VALUE, PL_FMU_CLOSE, PL_FMU_PART };

/* What is evaluated. */
enum {
    PL_FMU_DO_INITIALISE = 0,
    PL_FMU_DO_RHS,
    PL_FMU_DO_ROOTS,
    PL_FMU_DO_OUTPUTS,
    PL_FMU_DO_JVP,
    PL_FMU_DO_EVENT,
    PL_FMU_DO_STEP_DONE,
    PL_FMU_DO_NOMINAL,
    PL_FMU_DO_MEASURE /* seconds of one right-hand side, the mean of n */
};

/* A question; x and u follow, then what it needs more: indices (outputs; more = 1), dx and du (jvp), fired (event). */
typedef struct pl_fmu_question {
    int64_t what;
    double t, dt;
    int64_t n;    /* outputs; repetitions */
    int64_t more; /* 1: there is more; jvp: 1 dx, 2 du */
    int64_t again;
} pl_fmu_question;

/* Its answer; values follow, then words. */
typedef struct pl_fmu_answer {
    int64_t status, n, words;
    int64_t x_changed, f_changed, nominal_changed, terminate, request;
    double next_time;
} pl_fmu_answer;

/* A co-simulation FMU as a part of a coupling (fmu_part.c), after PL_FMU_OPEN. */
enum {
    PL_FMU_PART_INITIALISE = 0, /* at t, inputs follow */
    PL_FMU_PART_INPUTS, /* inputs at t before outputs are read: discrete ones, and all for an event that was left, in
                           event mode */
    PL_FMU_PART_ADVANCE, /* from t to t_next, coefficients of the inputs about t follow, a row for each power; slot 1:
                            an event at its end is left; slot of the answer: is one? */
    PL_FMU_PART_OUTPUTS, /* n of them, indices follow as int */
    PL_FMU_PART_SAVE,    /* into the slot of the answer */
    PL_FMU_PART_RESTORE, /* from a slot, which is kept */
    PL_FMU_PART_FORGET,  /* a slot */
    PL_FMU_PART_TRY /* inputs at t, without a step; slot 1: in event mode, which lasts until the next step */
};
typedef struct pl_fmu_part_question {
    int64_t what;
    double t, t_next;
    int64_t degree, n, slot;
} pl_fmu_part_question;

/* Its answer; values follow, then words. */
typedef struct pl_fmu_part_answer {
    int64_t status, n, words, slot;
    double reached, next_event;
} pl_fmu_part_answer;

int pl_fmu_serve_part(pl_child *c, const char *bytes, int64_t size);
/* Saved states of the instance are freed. */
void pl_fmu_forget_states(pl_fmu *f);

/* The other end of the pipes: `self` of a pl_model in the parent whose functions ask a host (fmu_client.c). */
enum { PL_FMU_ALIVE = 0, PL_FMU_DIED, PL_FMU_HANGS };
typedef struct pl_fmu_client {
    int in, out; /* from and to the host */
    int ended;   /* a descriptor that is readable when the host has ended; -1: none */
    int state;   /* PL_FMU_ALIVE ... */
    const pl_black_box *box;
    double call_timeout, deadline; /* seconds; of the monotonic clock; 0: none */
    int n_x, n_u, n_y, n_roots;
    char words[1000];
} pl_fmu_client;

/* The functions of a model that asks. jvp, roots and step_done: does it have them? */
void pl_fmu_client_install(pl_model *m, int jvp, int roots, int step_done);
/* Seconds of one right-hand side inside the host, the mean of n; < 0: not known. */
double pl_fmu_client_measure(pl_fmu_client *client, double t, const double *x, const double *u, int64_t n);
/* Waits until there is something to read. 1: there is; 0: client->state says why not. */
int pl_fmu_client_wait(pl_fmu_client *client);

#endif
