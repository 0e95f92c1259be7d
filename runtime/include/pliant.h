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

#include "pliant_start.h"

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
