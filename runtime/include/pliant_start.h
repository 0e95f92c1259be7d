/* Start values: what must hold at the start, and how consistent values are found. A part of pliant.h.
 *
 * Unknowns are numbered through: x, then parameters (n_x + k), then discrete variables (n_x + n_p + k).
 * Rows are numbered through: conditions, then (n_conditions + k) algebraic equations.
 */
#ifndef PLIANT_START_H
#define PLIANT_START_H

/* A set of variables under constraints, some of which are states. */
typedef struct pl_state_set {
    int n;                /* candidates of each level */
    int m;                /* constraints */
    int depth;            /* levels: positions, velocities, ... */
    const int *slot;      /* depth * (n - m): places in x */
    const int *candidate; /* depth * n: places among the guesses */
} pl_state_set;

enum { PL_INITIAL_HOMOTOPY = 1 /* f contains homotopy(actual, simplified) */ };

/* What must hold at the start, `residual = 0` each, and access to everything that it may determine. Functions and arrays
 * that are NULL are not there. */
typedef struct pl_initial {
    int n_states;     /* of x; algebraic unknowns follow them */
    int n_conditions; /* fixed start values of variables that are no states, initial equations */
    int n_others;     /* variables outside x that a start value may be given for */
    int n_sets;
    int n_guesses; /* variables that the first choice of states looks at */
    int n_tears;   /* unknowns of loops inside f */
    int flags;     /* PL_INITIAL_... */

    const int8_t *x_fixed; /* n_x: 1 has its start value */
    const int8_t
        *p_open; /* n_p: 1 determined by the conditions, 2 set by one of them between two solutions */
    const int8_t *d_open;   /* n_d: 1 its start value is a guess, the conditions determine it */
    const int *condition_x; /* n_conditions: place in x of the variable whose start value it fixes, or -1 */
    const int *condition_p; /* n_conditions: parameter that it sets between two solutions, or -1 */
    const int *other_condition; /* n_others: condition that fixes it, or -1; and so on */
    const int *other_memory;
    const int *other_tear;
    const int *other_guess;
    const int *tear_guess;   /* n_tears: place among the guesses */
    const pl_state_set *set; /* n_sets */

    /* start values of x for these parameters; loops begin at their guesses */
    void (*start)(void *self, pl_real *x);
    /* typical sizes of open parameters and discrete variables, n_p + n_d of them; those not known are left alone */
    void (*sizes)(void *self, pl_real *size);
    /* residuals of all conditions */
    pl_status (*conditions)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *r);
    /* their derivatives dr and df along dx */
    pl_status (*along)(void *self, pl_real t, const pl_real *x, const pl_real *u, const pl_real *dx,
                       pl_real *df, pl_real *dr);
    /* size of the largest term of each */
    pl_status (*terms)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *size);
    /* the start values that they ask for, of those in other_condition */
    void (*asked)(void *self, pl_real *value);

    /* initial() while the equations of the start are solved */
    void (*initially)(void *self, int on);
    /* the event at the start, with the values found */
    pl_status (*begin)(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info);
    /* discrete variable k has this value before the first event, instead of its start value */
    void (*choose_memory)(void *self, int k, pl_real value);
    /* n_d flags: which ones were chosen, and the values */
    const int8_t *(*chosen)(void *self, const pl_real **value);

    void (*homotopy)(void *self, pl_real lambda); /* 0 simplified .. 1 actual */
    void (*accept)(void *self);                   /* loops begin from here on where they are now */
    pl_real *(*tears)(void *self);                /* where they begin */
    /* loop whose iteration did not converge last and its residuals, or -1 */
    int (*failed_loop)(void *self, const pl_real **residual);

    /* n_guesses start values; what follows from them explicitly; values at a point */
    void (*guesses)(void *self, pl_real *v);
    void (*follow)(void *self, pl_real t, const pl_real *v, pl_real *followed);
    pl_status (*present)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *v);
    /* Jacobians of the constraints of all sets at v, m x n by rows each */
    void (*jacobians)(void *self, pl_real t, const pl_real *v, pl_real *g);
    /* states of a set: by flags (n of them), or NULL: by the constraints at x; < 0: not possible */
    int (*choose)(void *self, int set, const int8_t *state, pl_real t, pl_real *x, const pl_real *u);
    const int8_t *(*states)(void *self, int set); /* n flags: which candidates are states now */
    /* what is asserted of the values found; an error ends the start */
    pl_status (*check)(void *self, pl_real t, const pl_real *x, const pl_real *u);
    /* loops inside f that Newton's iteration does not solve. on: by all means there are (pliant_rescue.h); 2: after
     * an event, but no constraints, whose other solutions are other places */
    void (*rescue)(void *self, int on);
} pl_initial;

/* What is asked for. */
typedef struct pl_start_request {
    pl_real t;
    int held;  /* 1: the values given are a point: initial equations do not count */
    int check; /* 1: algebraic start values must hold within tolerance (models without `initial`) */
    const int8_t *x_given; /* n_x: 1 x has this value; NULL: none */
    int n_given;           /* ... and variables outside x */
    const int *given;      /* n_given: numbers of `others` */
    const pl_real *value;  /* n_given */
    pl_real *p;            /* n_p: parameters; those that the conditions determine are written */
    pl_real *x_first;      /* n_x: x before the first event; NULL: not wanted */
    void *host;
    /* the factorisation needs more room (PL_MEMORY) or the pattern a look (PL_PATTERN): PL_OK to try again */
    pl_status (*relinearise)(void *host, pl_problem *p, pl_status why);
} pl_start_request;

/* Why there are no start values. */
enum {
    PL_START_FINE = 0,
    PL_START_MODEL,      /* the model's words, or its status */
    PL_START_RESIDUAL,   /* conditions are left with a residual: row, residual */
    PL_START_ALGEBRAIC,  /* the algebraic equations could not be solved */
    PL_START_RESTLESS,   /* relations do not come to rest */
    PL_START_ROUNDS,     /* ... while values are solved for in turns */
    PL_START_NONFINITE,  /* the derivatives of the conditions are not finite */
    PL_START_DERIVATIVE, /* ... cannot be evaluated */
    PL_START_EVENT,      /* the first event fails */
    PL_START_WHOLE,      /* parameter `index` is no Real, but has to be `value` */
    PL_START_MISSED,     /* other `index` has the value `value` and not the one given */
    PL_START_UNMET       /* `check`: x[index] was given, `value` is consistent */
};

#define PL_START_ROWS  6
#define PL_START_NAMES 8
#define PL_START_WORDS 1200

typedef struct pl_start_failure {
    int what;         /* PL_START_... */
    pl_status status; /* of the model, or of the linear algebra */
    int index;
    pl_real value;
    int n_rows; /* the worst first */
    int row[PL_START_ROWS];
    pl_real residual[PL_START_ROWS];
    int known;  /* 1: no unknown is in the first of them */
    int n_open; /* unknowns that no condition determines, the first few of them */
    int open[PL_START_NAMES];
    char words[PL_START_WORDS]; /* of the model; "": none */
} pl_start_failure;

/* How values were found. The lists lie in the work memory. */
typedef struct pl_start_report {
    pl_real next_time; /* first time event; +Inf: none */
    int iterations;
    int homotopy_steps;
    int n_undetermined;
    int n_redundant;
    const int *undetermined; /* unknowns that no condition determines: they kept their guesses */
    const int *redundant;    /* rows that repeat others without contradicting them */
    int loop;                /* failed: the loop inside f that does not converge, or -1 */
    const pl_real *loop_residual;
    pl_start_failure failure;
} pl_start_report;

/* Bytes of work. */
size_t pl_start_size(const pl_model *m);
/* Consistent values at request->t into x, which has start values, from x_given the ones that hold; p->u are the inputs there.
 * With algebraic unknowns p->linear is needed. PL_OK, or the status of what failed, and the report says why. */
pl_status pl_start(pl_problem *p, const pl_start_request *request, pl_real *x, pl_start_report *report,
                   void *work);

/* States of a set by the Jacobian g of its constraints (m x n by rows, overwritten): the columns that elimination with
 * complete pivoting (pl_set_pivots) leaves without a pivot. Those wanted as states are eliminated last, where the pivots
 * allow it; where constraints depend on each other the first columns make up for the pivots that are missing. work: m. */
void pl_set_states(int m, int n, pl_real *g, const int8_t *wanted, int8_t *state, int *work);

/* ------------------------------------------------------------------------------- least norm (least_norm.c) */

/* Solution of least norm of a x = b (least squares where there is none). a: m x n by columns, overwritten; singular values
 * below `tolerance` of the largest count as zero, as far as the pivots of a factorisation show them. work:
 * pl_least_norm_size(m, n) numbers, which pl_null_... read afterwards. Returns the rank. */
size_t pl_least_norm_size(int m, int n);
int pl_least_norm(int m, int n, pl_real *a, const pl_real *b, pl_real tolerance, pl_real *x, pl_real *work);
/* How much of each unknown (n) lies in the null space, of each row (m) in that of the transposed: 0 .. 1. */
void pl_null_columns(int m, int n, int rank, pl_real *work, pl_real *share);
void pl_null_rows(int m, int n, const pl_real *a, int rank, pl_real *work, pl_real *share);

#endif
