/* The model as everybody sees it who works with one: a description plus functions. A part of pliant.h.
 *
 * Problem class:   L x'(t) = f(t, x, u(t), p),   L constant, possibly singular (index 1).
 *
 * Fields that are zero are not there: a model says of itself what it knows.
 */
#ifndef PLIANT_MODEL_H
#define PLIANT_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef double pl_real;

/* ------------------------------------------------------------------------------------------- status */

/* >= 0: fine, possibly with something to tell; < 0: failed. Texts: pl_status_text. */
typedef enum pl_status {
    PL_OK = 0,
    PL_PAUSED = 1,         /* the step or output budget of this call is used up; call again */
    PL_FINISHED = 2,       /* reached the stop time */
    PL_TERMINATED = 3,     /* a terminal event ended the run */
    PL_EVENT = 4,          /* an event was handled; details in the run's event record */
    PL_RETRY = -1,         /* the model refuses this point (f not defined there): try a smaller step */
    PL_FATAL = -2,         /* the model cannot go on at all */
    PL_NONFINITE = -3,     /* f, the Jacobian or a root function returned NaN or Inf */
    PL_SINGULAR = -4,      /* zero pivot: the iteration matrix is singular */
    PL_GROWTH = -5,        /* refactorisation unstable: factorise with pivoting */
    PL_MEMORY = -6,        /* given memory too small; the structure at hand says what is needed */
    PL_CONVERGENCE = -7,   /* Newton failed at the smallest step */
    PL_ACCURACY = -8,      /* the error test failed too often */
    PL_STEP = -9,          /* step size below what the time can resolve */
    PL_MAX_STEPS = -10,    /* more steps than allowed */
    PL_ARGUMENT = -11,     /* a size, option or pointer makes no sense */
    PL_CHATTER = -12,      /* events accumulate without progress in time */
    PL_INCONSISTENT = -13, /* no consistent algebraic values found */
    PL_TOO_ACCURATE = -14, /* tolerances below what the arithmetic can hold */
    PL_PATTERN = -15 /* f depends on a state where the pattern has no entry; failure.index is the equation */
} pl_status;

const char *pl_status_text(pl_status status);

/* Version of the binary interface of pl_model: a host refuses models built against another. */
#define PL_ABI 6

/* ------------------------------------------------------------------------------------ sparse pattern */

/* Compressed columns: rows of column j are row[start[j]] .. row[start[j+1]-1], ascending, no duplicates.
 * start == NULL: not given (dense for a Jacobian, identity for L). */
typedef struct pl_pattern {
    int n_rows;
    int n_cols;
    const int *start; /* n_cols + 1 */
    const int *row;   /* start[n_cols] */
} pl_pattern;

/* ------------------------------------------------------------------------------------------- pl_model */

/* What an event update tells its caller. */
typedef struct pl_event_info {
    int x_changed;       /* states were set anew */
    int f_changed;       /* f is another function from here on (discrete memory changed) */
    int nominal_changed; /* x_nominal was rewritten */
    int terminate;       /* stop the simulation here */
    pl_real next_time;   /* next time event; +Inf: none */
    /* from the caller: */
    int again;    /* 1: after an event at the same t; relations that nothing moved since keep their sides */
    int crossed;  /* 1: no step reaches the event, x is hardly short of it: what fired stands as it fired */
    int unsolved; /* 1: relations as they are leave the equations without solution: others are wanted */
    int ends;     /* 1: the run ends here (PL_MODEL_ENDS) */
    void *host;
    /* makes unknowns consistent (algebraic ones, at the start also states); NULL: none, or the caller does it */
    pl_status (*follow)(void *host, pl_real t, pl_real *x);
} pl_event_info;

/* What `step_done` may ask for, or-ed together. */
enum {
    PL_STEP_FINE = 0,
    PL_STEP_PROJECTED = 1, /* x was moved slightly (onto a constraint): keep the history */
    PL_STEP_RESTART = 2,   /* x or its meaning changed (another choice of states): begin anew */
    PL_STEP_EVENT = 4,     /* call `event` */
    PL_STEP_TERMINATE = 8
};

enum {
    PL_MODEL_LINEAR = 1,     /* df/dx and df/du are constant between events */
    PL_MODEL_AUTONOMOUS = 2, /* f does not depend on t explicitly */
    PL_MODEL_IMPURE = 4,     /* f may depend on earlier calls (foreign code): never reuse or reorder calls */
    PL_MODEL_SETTLES =
        8, /* `event` with fired NULL only brings relations up to date: called after restarts */
    PL_MODEL_REFUSES = 16, /* returns PL_RETRY at ordinary points, too (foreign code) */
    PL_MODEL_SINGLE = 32,  /* one instance only, which cannot be copied (foreign code) */
    PL_MODEL_ENDS = 64     /* `event` is called once more where a run ends */
};

/* What `warning` is asked for. */
enum {
    PL_TELL_START = 0, /* a run begins at (t, x, u): what does not hold there */
    PL_TELL_STEP,      /* what does not hold any more at the end of a step */
    PL_TELL_REST       /* what is still to be told of this point, or what an event there had to say */
};

/* Types of variables. All values are pl_real; that of a String is the number of a text (pl_model.text). */
enum { PL_TYPE_REAL = 0, PL_TYPE_INTEGER, PL_TYPE_BOOLEAN, PL_TYPE_ENUMERATION, PL_TYPE_STRING };

/* The vectors of a model, for pl_model.text. */
enum { PL_VECTOR_U = 1, PL_VECTOR_P, PL_VECTOR_Y, PL_VECTOR_D };

/* What pl_model.tangent can differentiate, or-ed together in pl_model.tangents. */
enum {
    PL_OF_RHS = 1,
    PL_OF_OUTPUTS = 2, /* all n_y */
    PL_OF_ROOTS = 4,
    PL_OF_START = 8,       /* start values, by p and u */
    PL_OF_EVENT = 16,      /* x after the last event by x before it */
    PL_OF_INTERFACE = 32,  /* the n_interface outputs of the whole model */
    PL_BY_PARAMETERS = 256 /* ... along dp, too; without it dp must be NULL */
};

/* A direction in which a model is differentiated; NULL: zero. */
typedef struct pl_direction {
    pl_real dt;
    const pl_real *dx; /* n_x */
    const pl_real *du; /* n_u */
    const pl_real *dp; /* n_p */
} pl_direction;

/* Past values of what a model delays, kept by the caller. */
typedef struct pl_history {
    void *host;
    pl_real (*at)(void *host, int i, pl_real t); /* value number i of n_delays at the time t */
    /* for models that remember their past themselves: number i is known[i] + share[i] times its value now */
    const pl_real *known, *share;
} pl_history;

struct pl_initial; /* pliant_start.h */

#include "pliant_inputs.h"
#include "pliant_roots.h"

/* A model. The struct describes and is constant while simulating; `self` is the instance: `memory_size` flat
 * bytes that the caller provides (or, with memory_size 0, whatever the maker of the struct puts there).
 *
 * Purity: between calls of initialise, event and step_done the functions rhs .. outputs depend on their
 * arguments and the instance only. Warm starts of inner loops are read from the instance and written back by
 * step_done alone, so a rejected step leaves no trace. Every pointer not marked "required" may be NULL.
 * A function that cannot evaluate at the given point returns PL_RETRY; `error` then tells why. */
typedef struct pl_model {
    int abi;         /* PL_ABI, required */
    int n_x;         /* states, differential and algebraic */
    int n_u;         /* inputs */
    int n_p;         /* parameters */
    int n_y;         /* outputs on demand */
    int n_interface; /* variables that are declared as outputs of the whole model, wherever they are */
    int n_roots;
    int n_kinks;        /* places where f bends with time alone */
    int n_d;            /* discrete variables */
    int n_delays;       /* values that are read with a delay */
    int tangents;       /* PL_OF_...: what `tangent` gives */
    int flags;          /* PL_MODEL_... */
    size_t memory_size; /* bytes of instance memory */

    const char *name;
    const char *const *x_name; /* n_x */
    const char *const *u_name; /* n_u */
    const char *const *p_name; /* n_p */
    const char *const *y_name; /* n_y */
    const char *const *d_name; /* n_d */
    const char *const *root_name;
    const char *const *x_unit; /* n_x, "": none; and of the others */
    const char *const *u_unit;
    const char *const *p_unit;
    const char *const *y_unit;
    const int8_t *u_type; /* n_u: PL_TYPE_...; NULL: all Real */
    const int8_t *p_type;
    const int8_t *y_type;
    const int8_t *d_type;
    const pl_real *x_start;   /* n_x, required unless there are none */
    const pl_real *x_nominal; /* n_x, 0: not entered; NULL: none is */
    const pl_real *x_min;     /* n_x */
    const pl_real *x_max;     /* n_x */
    const pl_real *u_start;   /* n_u; NULL: 0 */
    const pl_real *u_nominal; /* n_u, as x_nominal */
    const pl_real *u_min;
    const pl_real *u_max;
    const pl_real *p_start; /* n_p; NULL: 0 */
    const pl_real *p_min;
    const pl_real *p_max;
    const pl_real *y_nominal;
    const pl_real *y_min;
    const pl_real *y_max;
    const int8_t *root_direction; /* n_roots: +1 rising, -1 falling, 0 both; NULL: both */
    const int8_t *root_terminal;  /* n_roots: 1 ends the simulation; NULL: none does */
    const int8_t *root_kind;      /* n_roots: PL_ROOT_...; NULL: 0 */
    const int8_t *input_kind;     /* n_u: PL_INPUT_...; NULL: bent, unless f is linear (flags) */

    pl_pattern mass;           /* L; an algebraic equation is an empty row */
    const pl_real *mass_value; /* mass.start[n_x] */
    pl_pattern jac;            /* df/dx */
    pl_pattern jac_u;          /* df/du */

    /* fill the instance with its defaults (parameters p_start) */
    pl_status (*open)(void *self);
    pl_status (*set_parameters)(void *self, const pl_real *p);
    /* x_nominal of this instance; asked where an event reports nominal_changed */
    void (*nominal)(void *self, pl_real *x_nominal);
    const struct pl_initial *initial; /* what must hold at the start; NULL: `initialise` sees to it */
    /* consistent start: reads and writes x (start values in), sets discrete memory */
    pl_status (*initialise)(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info);

    pl_status (*rhs)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f); /* required */
    /* values of df/dx in the order of `jac`; column-major n_x * n_x without a pattern */
    pl_status (*jac_value)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value);
    pl_status (*jac_u_value)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value);
    /* df = f_t dt + f_x dx + f_u du; dx or du NULL: zero */
    pl_status (*jvp)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real dt, const pl_real *dx,
                     const pl_real *du, pl_real *df);
    /* derivative of what `of` says (one of PL_OF_...) along a direction */
    pl_status (*tangent)(void *self, int of, pl_real t, const pl_real *x, const pl_real *u,
                         const pl_direction *along, pl_real *out);
    /* Taylor coefficients x_taylor[k*n_x + i] = x_i^(k)/k! of the solution through (t, x), k = 0..order:
     * order + 1 rows, row 0 is x itself (x_taylor may begin with x). From the inputs' coefficients
     * u_taylor[k*n_u + j], k = 0..order-1; with algebraic unknowns in x, which must be consistent, k = order is
     * read, too. Rows and inputs beyond `order` are not touched. PL_ARGUMENT: order < 0 or more than the model
     * has (generated ones: 5). A coefficient that does not exist (sqrt at 0) is not finite. */
    pl_status (*taylor)(void *self, int order, pl_real t, const pl_real *x, const pl_real *u_taylor,
                        pl_real *x_taylor);
    pl_status (*roots)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g);
    /* root function number i, PL_ROOT_TIMED or (with a path) PL_ROOT_PATH, between the times `from` and `to`, which may
     * be equal; discrete memory holds */
    pl_status (*root_range)(void *self, int i, pl_real from, pl_real to, const pl_path *path,
                            pl_root_range *range);
    /* kink number i of n_kinks: a function of time that is zero there, as in root_range */
    pl_status (*kink_range)(void *self, int i, pl_real from, pl_real to, pl_root_range *range);
    /* outputs number index[0..n-1] into y[0..n-1]; index NULL: all */
    pl_status (*outputs)(void *self, pl_real t, const pl_real *x, const pl_real *u, int n, const int *index,
                         pl_real *y);

    /* settle the event at t: `fired[i]` is +1, -1 or 0 for each root (NULL at a pure time event);
     * iterates until discrete memory is at rest; may set x */
    pl_status (*event)(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                       pl_event_info *info);
    /* after each accepted step; may move x (see PL_STEP_...), commits warm starts; result in *request */
    pl_status (*step_done)(void *self, pl_real t, pl_real *x, const pl_real *u, int *request);
    /* a point inside of an accepted step, in order of time and before the end of the step or an event within it: for
     * models that remember their past. Whoever cannot tell leaves it out */
    void (*passed)(void *self, pl_real t, const pl_real *x, const pl_real *u);

    /* relations anew at a point, discrete variables hold; for those who make their own steps */
    pl_status (*settle)(void *self, pl_real t, const pl_real *x, const pl_real *u);

    /* n_d discrete variables, or (before = 1) their values before the last event */
    const pl_real *(*memory)(void *self, int before);
    void (*set_memory)(void *self, int k, pl_real value); /* both of them */

    /* What is delayed, and by how much: n_delays each. A model that remembers its past itself has n_delays 0; it may
     * have both functions all the same: then set_history(known, share) holds its delayed values, NULL lets them go */
    pl_status (*delayed)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value,
                         pl_real *delay);
    void (*set_history)(void *self, const pl_history *history);

    /* a value of type String: that of variable i of a vector (PL_VECTOR_...) */
    const char *(*text)(void *self, int vector, int i);

    /* instance to and from flat memory; NULL: memory_size bytes are copied */
    size_t (*save_size)(void *self);
    pl_status (*save)(void *self, void *to);
    pl_status (*restore)(void *self, const void *from);
    void (*close)(void *self);
    /* what went wrong last, naming the variable or equation; NULL or "" if nothing is known */
    const char *(*error)(void *self);
    /* What the model says that is no error, one text for each call, NULL: nothing more; what: PL_TELL_...  It changes nothing
     * that other functions read. */
    const char *(*warning)(void *self, pl_real t, const pl_real *x, const pl_real *u, int what);
} pl_model;

/* The symbol that a C file given to pliant.native defines:  const pl_model pliant_model = { ... };  */
#define PL_MODEL_SYMBOL "pliant_model"

#ifdef __cplusplus
}
#endif

#endif
