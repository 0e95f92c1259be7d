/* pliant runtime, public interface.
 *
 * Problem class:   L x'(t) = f(t, x, u(t), p),   L constant, possibly singular (index 1).
 *
 * Rules that hold for every function declared here:
 *   - the caller owns all memory: ask `pl_..._size`, hand the block to `pl_..._init`, free it yourself;
 *   - a block is flat, without internal pointers: copy it and you have copied the state;
 *   - nothing allocates, prints or keeps globals; every function that can fail returns a pl_status;
 *   - sizes are `int`, byte counts `size_t`, matrices are compressed by columns (pl_pattern).
 */
#ifndef PLIANT_H
#define PLIANT_H

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
#define PL_ABI 3

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
    PL_MODEL_SETTLES =
        8,              /* `event` with fired NULL only brings relations up to date: called after restarts */
    PL_MODEL_IMPURE = 4 /* f may depend on earlier calls (foreign code): never reuse or reorder calls */
};

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
    int abi; /* PL_ABI, required */
    int n_x; /* states, differential and algebraic; 0: all is a function of time and inputs */
    int n_u; /* inputs */
    int n_p; /* parameters */
    int n_y; /* outputs on demand */
    int n_roots;
    int n_kinks;        /* places where f bends with time alone */
    int flags;          /* PL_MODEL_... */
    size_t memory_size; /* bytes of instance memory */

    const char *name;
    const char *const *x_name; /* n_x */
    const char *const *u_name; /* n_u */
    const char *const *p_name; /* n_p */
    const char *const *y_name; /* n_y */
    const char *const *root_name;
    const pl_real *x_start;       /* n_x, required unless it is 0 */
    const pl_real *x_nominal;     /* n_x, 0: not entered; NULL: none is */
    const pl_real *x_min;         /* n_x */
    const pl_real *x_max;         /* n_x */
    const pl_real *u_start;       /* n_u; NULL: 0 */
    const pl_real *p_start;       /* n_p; NULL: 0 */
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
    /* consistent start: reads and writes x (start values in), sets discrete memory */
    pl_status (*initialise)(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info);

    pl_status (*rhs)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f); /* required */
    /* values of df/dx in the order of `jac`; column-major n_x * n_x without a pattern */
    pl_status (*jac_value)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value);
    pl_status (*jac_u_value)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value);
    /* df = f_t dt + f_x dx + f_u du; dx or du NULL: zero */
    pl_status (*jvp)(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real dt, const pl_real *dx,
                     const pl_real *du, pl_real *df);
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

    /* instance to and from flat memory; NULL: memory_size bytes are copied */
    size_t (*save_size)(void *self);
    pl_status (*save)(void *self, void *to);
    pl_status (*restore)(void *self, const void *from);
    void (*close)(void *self);
    /* what went wrong last, naming the variable or equation; NULL or "" if nothing is known */
    const char *(*error)(void *self);
} pl_model;

/* The symbol that a C file given to pliant.native defines:  const pl_model pliant_model = { ... };  */
#define PL_MODEL_SYMBOL "pliant_model"

#include "pliant_lu.h"

/* ---------------------------------------------------------------------------------------- what to solve */

/* Counters, with the names that results show. */
typedef struct pl_counters {
    int64_t n_steps;
    int64_t n_rhs;     /* all calls of f, those for difference Jacobians included */
    int64_t n_rhs_jac; /* those of n_rhs spent on difference Jacobians */
    int64_t n_jac;
    int64_t n_jvp;
    int64_t n_taylor;
    int64_t n_factor; /* real and complex factorisations, a Radau5 pair counts as one */
    int64_t n_solve;
    int64_t n_error_fails;
    int64_t n_newton_fails;
    int64_t n_events;
    int64_t n_roots;  /* calls of the root functions */
    int64_t n_rediff; /* Jacobians taken again with other increments because Newton did not converge */
} pl_counters;

/* What is worth telling about a run. `index` names a state, `value` as stated. */
enum {
    PL_SAW_ERROR = 0, /* error test failed: state that dominates the estimate, the estimate */
    PL_SAW_NEWTON,    /* no convergence: state that dominates the last correction, its size in weights */
    PL_SAW_JACOBIAN,  /* a new Jacobian: evaluations of f that it took */
    PL_SAW_REPAIRED,  /* column `index` was differenced anew: new increment / old one */
    PL_SAW_HANDOVER,  /* auto: `index` is the new method */
    PL_SAW_REFUSED,   /* the model is not defined at a point tried */
    PL_SAW_SINGULAR,  /* the iteration matrix was singular */
    PL_SAW_RESTART,   /* the method began anew */
    PL_SAW_KINDS
};

typedef struct pl_incident {
    pl_real t;
    pl_real h;
    pl_real value;
    int kind;
    int index; /* -1: not known */
} pl_incident;

/* Notes for explaining a run (record.c). The caller owns the arrays; counts go on when `incident` is full. */
typedef struct pl_record {
    int n;
    int64_t *limits;       /* n: accepted steps whose error estimate the state dominated */
    int64_t *error_fails;  /* n: failed error tests that it dominated */
    int64_t *newton_fails; /* n: failed iterations whose last correction it dominated */
    int64_t *near_zero;    /* n: of `limits`, those with |x| below a thousandth of its largest value so far */
    pl_real *largest;      /* n: largest |x| at the end of a step */
    int64_t seen[PL_SAW_KINDS];
    int64_t capacity;
    int64_t used;
    pl_incident *incident;
} pl_record;

/* Where and why something failed. */
typedef struct pl_failure {
    int status; /* pl_status of the first cause */
    int what;   /* PL_IN_... */
    int index;  /* state, equation or root concerned; -1: not known */
    pl_real t;
    pl_real h;
} pl_failure;

enum {
    PL_IN_NOTHING,
    PL_IN_RHS,
    PL_IN_JACOBIAN,
    PL_IN_ROOTS,
    PL_IN_OUTPUTS,
    PL_IN_EVENT,
    PL_IN_STEP_DONE,
    PL_IN_INPUTS,
    PL_IN_LINEAR,
    PL_IN_INITIAL
};

typedef struct pl_linear pl_linear;

/* All that a method needs besides its own state: pointers only, made anew by the caller after copying states.
 */
typedef struct pl_problem {
    const pl_model *model;
    void *self;
    const pl_inputs *inputs; /* NULL: all inputs keep u */
    pl_real *u;              /* n_u, current input values */
    pl_real rtol;
    const pl_real *atol; /* n_x */
    pl_linear *linear;   /* NULL for explicit methods */
    pl_counters *count;
    int next_jump; /* first segment with a jump that is not yet passed: u is taken from the left of it */
    int passed;    /* last segment with a jump that is: u is taken from it on, whatever the rounding of t */
    pl_failure failure;
    pl_record *record; /* NULL: nothing is noted */
    /* asked when the model refused a trial up to t: 1 if the step shall end (PL_PAUSED) because an event lies before t */
    int (*refused)(struct pl_problem *p, pl_real t);
    void *watcher; /* whose */
} pl_problem;

/* Checked calls of the model: inputs set, counted, non-finite values found and named in p->failure. */
pl_status pl_rhs(pl_problem *p, pl_real t, const pl_real *x, pl_real *f);
pl_status pl_roots(pl_problem *p, pl_real t, const pl_real *x, pl_real *g);
pl_status pl_set_inputs(pl_problem *p, pl_real t);
/* Does f depend on input j? One that only outputs read does not touch the states. */
int pl_input_touches(const pl_model *m, int j);
/* ... and not as a straight line? */
int pl_input_bends(const pl_model *m, int j);
/* Number of the segment of the inputs that holds at t; -1: none. */
int pl_input_segment(const pl_problem *p, pl_real t);
/* Index of the first value that is NaN or Inf, or -1. */
int pl_first_nonfinite(int n, const pl_real *v);
/* out = L v */
void pl_mass_times(const pl_model *m, const pl_real *v, pl_real *out);
/* Root mean square of v_i / (rtol |x_i| + atol_i). */
pl_real pl_norm(const pl_problem *p, const pl_real *v, const pl_real *x);
/* weight[i] = 1 / (rtol |x_i| + atol_i); PL_TOO_ACCURATE if a weight is not finite */
pl_status pl_weights(pl_problem *p, pl_real t, const pl_real *x, pl_real *weight);
pl_real pl_weighted_norm(int n, const pl_real *v, const pl_real *weight);

/* --------------------------------------------------------------------- iteration matrix and Jacobian */

enum { PL_AUTO = 0, PL_DENSE = 1, PL_SPARSE = 2 };

/* Where df/dx comes from. AUTO: the model's own, else its directional derivatives, else differences. */
enum { PL_SOURCE_AUTO = 0, PL_SOURCE_EXACT, PL_SOURCE_DIRECTIONAL, PL_SOURCE_DIFFERENCES };

/* Increment rules for difference Jacobians (increments.c has formulas and sources). */
enum {
    PL_INCREMENT_DEFAULT = 0,
    PL_INCREMENT_CVODE,
    PL_INCREMENT_RADAU5,
    PL_INCREMENT_THESIS,
    PL_INCREMENT_PYFMI,
    PL_INCREMENT_EXPERIMENT2,
    PL_INCREMENT_EXPERIMENT3,
    PL_INCREMENT_EXPERIMENT4,
    PL_INCREMENT_EXPERIMENT5,
    PL_INCREMENT_ENTERED,
    PL_INCREMENT_CURVATURE,
    PL_N_INCREMENTS
};

typedef struct pl_linear_options {
    int storage;               /* PL_AUTO, PL_DENSE, PL_SPARSE */
    int need_complex;          /* 1: room for the complex factors of Radau5 */
    int source;                /* PL_SOURCE_... */
    int increment;             /* PL_INCREMENT_... */
    int representable;         /* 0, or 1 .. 3: algorithm applied to the increments of a rule */
    int central;               /* 1: central differences */
    int fallback;              /* 1: differences where the source asked for gives no numbers */
    int verify;                /* 1: the pattern is somebody's word, check it now and then */
    double increment_constant; /* c0 of the experiments */
    double lu_room;            /* room for fill by pivoting: n_lu = lu_room * predicted; <= 0: 1.3 */
    const pl_real *curvature;  /* n_x curvature scales, 0: not known; NULL: none is; copied */
} pl_linear_options;

typedef struct pl_linear_layout {
    size_t size;      /* bytes of the pl_linear block */
    size_t work_size; /* bytes of work for plan and init */
    int sparse;       /* decision: 1 sparse, 0 dense */
    int n_jac;        /* entries of the stored Jacobian */
    int n_matrix;     /* entries of L - gamma J (sparse) */
    int n_colours;    /* colours of the Jacobian pattern: evaluations per difference Jacobian */
    int64_t n_lu;     /* room for L + U */
    int64_t n_lu_predicted;
    int structural_rank;
    int unmatched; /* a state that no equation can determine if structural_rank < n, else -1 */
} pl_linear_layout;

/* 1. ask for work memory, 2. plan (merge patterns, colour, order, decide), 3. make the block, same work. */
size_t pl_linear_work_size(const pl_model *m);
pl_status pl_linear_plan(const pl_model *m, const pl_linear_options *opt, pl_linear_layout *layout,
                         void *work);
pl_linear *pl_linear_init(void *memory, const pl_model *m, const pl_linear_options *opt,
                          const pl_linear_layout *layout, const void *work);

/* A block used before, as good as new: factors forgotten, no mask. */
void pl_linear_reset(pl_linear *lin);

/* Colouring of columns so that no two columns of one colour share a row (colour.c); the pattern by rows is given,
 * too. work: pl_colour_work(n_cols) ints. */
int pl_colour(const pl_pattern *a, const int *row_start, const int *row_column, int *colour, int *work);
size_t pl_colour_work(int n_cols);

/* Evaluate df/dx at (t, x) into the block; f = f(t, x) is known, h is the current step (0: not known), mask: see
 * pl_linear_mask. PL_PATTERN: see pl_linear_options.verify. */
pl_status pl_jacobian(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real h);
/* Newton did not converge with the Jacobian just taken at (t, x): difference it again with other increments where
 * that makes a difference. *changed: columns that did change; 0 also where there is nothing to repair. */
pl_status pl_jacobian_again(pl_problem *p, pl_real t, const pl_real *x, int *changed);
/* It did not help: what was learned from it is forgotten. */
void pl_jacobian_vain(pl_problem *p);
/* Increments of the last differences, n_x; 0 in columns that were not differenced. */
const pl_real *pl_linear_increments(const pl_linear *lin);
/* The point where they were taken, n_x. */
const pl_real *pl_linear_point(const pl_linear *lin);
/* The pattern was looked at and found right: do not check it again. */
void pl_linear_trust(pl_linear *lin);
/* Keep only Jacobian entries with mask != 0 (order of the stored Jacobian); NULL: all. */
void pl_linear_mask(pl_linear *lin, const uint8_t *mask);
/* Stored Jacobian: n_jac values; pattern.start == NULL when dense. */
pl_real *pl_linear_jacobian(pl_linear *lin, pl_pattern *pattern);
const int8_t *pl_linear_algebraic(const pl_linear *lin); /* n_x flags: row of L empty */
int pl_linear_has_algebraic(const pl_linear *lin);

/* Factor a L - b J, algebraic rows always -J. p->failure.index names the state of a zero pivot. */
pl_status pl_linear_factor(pl_problem *p, pl_real a, pl_real b);
void pl_linear_solve(pl_problem *p, pl_real *b);
/* Factor (re + i im) L - J; the solve takes and gives real and imaginary parts apart. */
pl_status pl_linear_factor_complex(pl_problem *p, pl_real re, pl_real im);
void pl_linear_solve_complex(pl_problem *p, pl_real *re, pl_real *im);

/* x' at a consistent point: L x' = f, and the differentiated algebraic equations; f = f(t, x) is given.
 * Overwrites the factors. work: n_x. */
pl_status pl_derivative(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f, pl_real scale,
                        pl_real *xdot, pl_real *work);
/* Newton for the algebraic unknowns with L x kept; work: 4 n_x. PL_INCONSISTENT: failure.index is the
 * equation with the largest residual. */
pl_status pl_consistent(pl_problem *p, pl_real t, pl_real *x, pl_real *work);

/* ------------------------------------------------------------------------------------------- methods */

/* Every method's state begins with this. */
typedef struct pl_stepper {
    pl_real t;      /* end of the last accepted step */
    pl_real t_old;  /* its beginning */
    pl_real h;      /* its size */
    pl_real h_next; /* size wanted for the next */
    int n;
    int order; /* order of the last step */
} pl_stepper;

typedef struct pl_method_options {
    pl_real h_first; /* 0: chosen */
    pl_real h_max;   /* 0: no bound */
    pl_real h_fixed; /* step of the fixed-step methods */
    pl_real h_start; /* bound of the first step after a restart; 0: none */
    int order_max;   /* BDF: 1..5, 0: 5 */
} pl_method_options;

enum { PL_BDF = 0, PL_RADAU5, PL_DOPRI5, PL_LIEULER, PL_EULER, PL_RK4, PL_N_METHODS, PL_AUTO_METHOD = 100 };

/* A method: `start` at (t, x) towards t_end, `step` once, not beyond t_limit; both leave a valid state on
 * failure. PL_PAUSED: no step, see pl_problem.refused. */
typedef struct pl_method {
    const char *name;
    int implicit;      /* needs p->linear */
    int needs_complex; /* needs its complex part */
    size_t (*size)(int n);
    pl_status (*start)(void *state, pl_problem *p, const pl_method_options *opt, pl_real t, const pl_real *x,
                       pl_real t_end);
    pl_status (*step)(void *state, pl_problem *p, pl_real t_limit);
    /* x(t) (derivative = 0) or x'(t) (1) inside the last step */
    void (*interpolate)(const void *state, pl_real t, int derivative, pl_real *out);
    /* x(t) beyond the last step, as good as the method knows, also after failed attempts; degree in t - head.t, 0: not
     * known. NULL: never */
    int (*ahead)(const void *state, pl_real t, pl_real *out);
    /* current x (for moving it slightly: PL_STEP_PROJECTED) */
    pl_real *(*x)(void *state);
    const pl_real *(*x_now)(const void *state); /* the same, only to be read; with `nodes` */
    /* the linear block was made anew: evaluate and factorise again before using it */
    void (*forget)(void *state);
    /* Times at which a step to T knows the inputs, latest first, at most `most`; NULL: steps are not controlled by error.
     */
    int (*nodes)(const void *state, pl_real T, pl_real *t, int most);
    /* the next step shall not be longer than h; NULL: it would not be by itself */
    void (*shorten)(void *state, pl_real h);
    /* x' has a kink where the last step ended: it tells nothing about the next; NULL: begin anew */
    void (*kink)(void *state);
    /* v = the iteration matrix' answer to a change v of f for a step h; returns the step of the matrix, 0: none */
    pl_real (*response)(void *state, pl_problem *p, pl_real h, pl_real *v);
} pl_method;

const pl_method *pl_method_of(int id);

/* BDF in Nordsieck form: column k of the history is h^k x^(k) / k! at t, n_x values each. */
typedef struct pl_bdf pl_bdf;
size_t pl_bdf_size(int n);
pl_status pl_bdf_start(void *state, pl_problem *p, const pl_method_options *opt, pl_real t, const pl_real *x,
                       pl_real t_end);
pl_status pl_bdf_step(void *state, pl_problem *p, pl_real t_limit);
void pl_bdf_interpolate(const void *state, pl_real t, int derivative, pl_real *out);
pl_real *pl_bdf_history(pl_bdf *s, int *order, pl_real *h);

/* What happens to the history where an input jumps (bdf_jump.c). */
enum { PL_JUMP_RESTART = 0, PL_JUMP_PROCEED, PL_JUMP_X1, PL_JUMP_X2, PL_JUMP_CORRECT };

typedef struct pl_jump {
    int how;        /* PL_JUMP_... */
    int segment;    /* of p->inputs that begins here; the one before it held until now */
    int always;     /* something else changed, too: correct even if the inputs agree */
    pl_real t;      /* where the method stands */
    pl_real t_next; /* where the next jump is, or the end */
} pl_jump;

/* Correct the history at a jump; p->next_jump is past it. work: 7 n_u. */
pl_status pl_bdf_jump(pl_bdf *s, pl_problem *p, const pl_jump *jump, pl_real *work);

/* ------------------------------------------------------------------------------------------ step loop */

typedef struct pl_output {
    int64_t n_points; /* requested times, ascending; < 0: every step */
    const pl_real *point;
    int n_x; /* states wanted */
    const int *x_index;
    int n_y; /* outputs wanted beside the states */
    const int *y_index;
    int64_t capacity;     /* rows that fit */
    int64_t used;         /* rows written */
    pl_real *row;         /* capacity * (1 + n_x + n_y): t, x, y */
    int64_t log_capacity; /* step log; 0: none */
    int64_t log_used;
    pl_real *log; /* log_capacity * 4: t, h, order, method */
} pl_output;

typedef struct pl_run_options {
    int method; /* PL_BDF .. or PL_AUTO_METHOD */
    pl_method_options method_options;
    int64_t max_steps;  /* 0: no limit */
    int root_samples;   /* interior points of a step where root functions are looked at */
    int restart_always; /* 1: restart after every event, also where nothing changed */
    int at_jump;        /* PL_JUMP_...: BDF where an input jumps; other methods begin anew */
} pl_run_options;

/* What is known of content of the inputs between the points where steps look (watch.c). */
typedef struct pl_watch {
    pl_real limit;    /* the step at work ends here for the sake of the inputs; +Inf: it does not */
    pl_real rate;     /* change of f for the deviations known, in tolerances per time */
    pl_real response; /* answer of the iteration matrix to it, in tolerances */
    pl_real h;        /* step size that this holds for */
    pl_real from, to; /* step that was looked at last */
    pl_real h_wanted; /* step size that was wanted when a step was limited */
    pl_real bend_h;   /* step that was looked at along bent inputs */
    pl_real kink;     /* f has no kink of time before this */
    int age;          /* steps since these were taken */
    int n_bent;       /* inputs that f is not affine in, and kinks of time (watch_bend.c) */
    int bend_age;     /* steps since f was looked at along these */
    int bend_passed;  /* pl_problem.passed then */
} pl_watch;

/* State of one simulation. Flat; followed by work arrays (see pl_run_size). */
typedef struct pl_run {
    pl_run_options opt;
    pl_real t_stop;
    pl_real t_reached; /* everything up to here is final */
    pl_real next_time; /* next time event of the model */
    int method;        /* at work now */
    int handovers;     /* auto: how often the method changed */
    int started;       /* method state valid */
    int step_open;     /* the last step still has roots and outputs to be looked at */
    pl_real t_left;    /* ... from here on */
    int64_t next_point;
    pl_real t_handover;   /* auto: where the last handover was */
    int64_t window_steps; /* auto: steps when the present window began */
    int64_t window_fails; /* auto: failures then */
    pl_real t_event;      /* last event */
    pl_real event_gap;    /* time between the last two events */
    pl_real t_past;       /* where root functions were looked at before t_left; not before t_left: nowhere */
    int events_in_place;  /* events without progress */
    int events_close;     /* events with hardly any progress */
    int held_roots;       /* some roots are held (event.c) */
    int held_events;      /* of these, without getting away from zero in between */
    int sets_x;           /* an event without progress set states anew */
    int aim;              /* steps are to end short of an event (guard.c): PL_AIM_... */
    int refusals;         /* since the last step: of the model, short of an event */
    int crossed;          /* the event at hand is one that no step reached */
    int solved;           /* its x, with algebraic unknowns solved for, is in the work arrays */
    pl_real t_aim;        /* where that event is, as far as known */
    pl_real t_slope;      /* where x' of the work arrays belongs */
    int n_x, n_roots, n_u;
    pl_watch watch;
    int n_ahead;       /* n_roots if some of them are searched ahead, else 0 */
    int n_watched;     /* roots that are looked for within the steps */
    int n_path;        /* ... of these, PL_ROOT_PATH */
    pl_real t_start;   /* of the run */
    pl_real h_largest; /* largest step so far */
    pl_real t_turn;    /* where the next root of time alone turns; +Inf: not known */
    pl_real t_clear;   /* up to where it is known that none does */
    pl_real defer;     /* time events this near to t_stop are left to the caller (other inputs); 0: none */
    int held; /* the run has stopped at such an event; it takes place when the run goes on with defer = 0 */
} pl_run;

size_t pl_run_size(const pl_model *m);
size_t pl_run_method_size(const pl_run_options *opt, int n);
/* x: consistent start values */
pl_status pl_run_init(pl_run *r, pl_problem *p, const pl_run_options *opt, pl_real t, pl_real t_stop,
                      const pl_real *x, pl_real next_time);
/* Work until an event was handled (PL_EVENT), output or log memory or max_steps of this call is used up
 * (PL_PAUSED), the end (PL_FINISHED, PL_TERMINATED) or a failure. */
pl_status pl_run_advance(pl_run *r, pl_problem *p, void *method_state, pl_output *out, int64_t steps);
/* After a failure or before giving up: the state at t_reached as one more row, if it is not the last one already. */
pl_status pl_run_flush(pl_run *r, pl_problem *p, void *method_state, pl_output *out);
/* After PL_MEMORY: p->linear was made anew with more room (pl_linear_options.lu_room); then advance again. */
void pl_run_relinearise(pl_run *r, void *method_state);
/* After PL_EVENT and PL_TERMINATED: states just before and after, and which roots fired (+1, -1, 0). */
const pl_real *pl_run_event_before(const pl_run *r);
const pl_real *pl_run_event_after(const pl_run *r);
const int8_t *pl_run_event_fired(const pl_run *r);

#ifdef __cplusplus
}
#endif

#endif
