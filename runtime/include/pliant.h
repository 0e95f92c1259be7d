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

#include "pliant_model.h"

#ifdef __cplusplus
extern "C" {
#endif

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

/* Notes for explaining a run (record.c). The caller owns the arrays; `full`, if set, is called when `incident` is and may make
 * room; else counts go on. */
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
    void (*full)(struct pl_record *r);
    void *owner; /* whose */
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
    PL_IN_INITIAL,
    PL_IN_GROWTH /* memory had to grow and must not, or cannot: index is PL_GROW_... */
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
    pl_real
        *atol_room;    /* the same array, if it follows the nominal values of the states; NULL: it does not */
    pl_linear *linear; /* NULL for explicit methods */
    pl_counters *count;
    int next_jump; /* first segment with a jump that is not yet passed: u is taken from the left of it */
    int passed;    /* last segment with a jump that is: u is taken from it on, whatever the rounding of t */
    pl_failure failure;
    pl_record *record; /* NULL: nothing is noted */
    /* asked when the model refused a trial up to t: 1 if the step shall end (PL_PAUSED) because an event lies before t */
    int (*refused)(struct pl_problem *p, pl_real t);
    void *watcher; /* whose */
    /* hears warnings of the model; NULL: nobody asks for them */
    void (*tell)(void *host, pl_real t, const char *text);
    void *host;
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
/* Share of rtol * nominal that is the tolerance of a state where none is given. */
#define PL_ATOL_SHARE 1e-2
/* The model has rewritten its nominal values: tolerances that follow them, formed anew. */
void pl_follow_nominal(pl_problem *p);

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
    const pl_sparse_lu *lu;    /* &pl_sparse_table; NULL: dense matrices only */
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
/* PL_ARGUMENT: sparse storage without a pattern, or without opt->lu. */
pl_linear *pl_linear_init(void *memory, const pl_model *m, const pl_linear_options *opt,
                          const pl_linear_layout *layout, const void *work);

/* The layout for another opt->lu_room; the plan stays. */
void pl_linear_room(const pl_model *m, const pl_linear_options *opt, pl_linear_layout *layout,
                    const void *work);

/* A copy of a block that came from another program. */
void pl_linear_moved(pl_linear *lin, const pl_linear_options *opt);

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

#include "pliant_start.h"

#include "pliant_run.h"

#include "pliant_simulation.h"
/* ... and many of them */
#include "pliant_sweep.h"

#ifdef __cplusplus
}
#endif

#endif
