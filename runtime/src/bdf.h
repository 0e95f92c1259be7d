/* Private: state of the BDF method (bdf.c steps, bdf_order.c changes order and step). Followed by, in n each:
 * z[2][6] (two copies of the history: the valid one and the one being computed), e, saved, weight, f, y, b, inherited,
 * loose, before, floor.
 */
#ifndef PL_BDF_H
#define PL_BDF_H

#include "pliant.h"

#define BDF_MAX_ORDER 5
#define BDF_COLUMNS   (BDF_MAX_ORDER + 1)

/* What the correction at input jumps remembers (bdf_jump.c). */
typedef struct bdf_jumps {
    int number;            /* jumps so far */
    int linear;            /* does J propagate the columns? 1: it did in the last test */
    int small;             /* the last jump was hardly one */
    int flat;              /* jumps since x'' was found to change hardly; 0: not known */
    int trial;             /* strategy being tried, 3: the best one is at work */
    int in_block;          /* jumps in the present block */
    int64_t steps_last;    /* counter of steps at the last jump */
    int64_t block_work;    /* evaluations when the block began */
    pl_real block_time;    /* time when it began */
    pl_real steps_between; /* between two jumps, smoothed */
    pl_real cost[3];       /* evaluations per unit of time */
} bdf_jumps;

struct pl_bdf {
    pl_stepper head;
    int q;                  /* order of the history */
    int q_max;              /* largest order allowed */
    int q_next;             /* order to go to before the next step */
    int valid;              /* which copy of the history is valid: 0 or 1 */
    int wait;               /* steps until a change of order is looked at */
    int hold;               /* steps during which the step size may not grow */
    int has_saved;          /* `saved` holds the correction of the last step, for raising the order */
    int factor_valid;       /* the factors belong to some gamma and Jacobian of this problem */
    int plain;              /* the identity serves instead of the factors: gamma is still tiny */
    int jacobian_current;   /* the Jacobian was evaluated for the present step */
    int64_t steps;          /* since start */
    int64_t steps_factor;   /* value of `steps` at the last factorisation */
    int64_t steps_jacobian; /* ... and at the last Jacobian */
    int still;              /* steps since step size or order changed */
    int past;               /* steps since the start or the last jump of an input */
    int close;              /* steps during which the iteration leaves over less */
    int look;               /* the step may not grow before the order was looked at */
    int inherits;           /* algebraic unknowns have more tolerance than their own (bdf_inherit.c) */
    int n_suspect;          /* failures of an algebraic unknown, one soon after the other */
    int64_t steps_fail;     /* value of `steps` at the last one */
    int unmeasured;         /* steps since the rate of convergence was measured (algebraic systems) */
    int measure_after;      /* ... after which it is measured again */
    pl_real h;              /* step size the history is scaled with */
    pl_real h_max;          /* 0: no bound */
    pl_real eta_next;       /* factor to apply to h before the next step */
    pl_real eta_max;        /* largest growth allowed after the present step */
    pl_real tau[BDF_MAX_ORDER + 2]; /* tau[1], tau[2], ..: sizes of the last steps */
    pl_real l[BDF_COLUMNS];         /* corrector: z += l e */
    pl_real to_error;               /* local error = to_error * ||e|| */
    pl_real to_error_down;          /* ... of order q - 1 = to_error_down * ||z_q|| */
    pl_real to_error_up;            /* ... of order q + 1 from the change of e */
    pl_real e_to_derivative;        /* scales e to h^(q+1) x^(q+1) */
    pl_real saved_scale;            /* e_to_derivative when `saved` was stored */
    pl_real gamma;                  /* h / l_1 */
    pl_real gamma_factored;
    pl_real expected;      /* rate that it may have become since it was measured (algebraic systems) */
    pl_real rate;          /* estimated convergence rate of Newton */
    pl_real jacobian_norm; /* of a large system at its start, else 0 */
    pl_real e_norm;
    bdf_jumps jumps;
};

static inline pl_real *pl_bdf_array(pl_bdf *s, int k) {
    return (pl_real *)(void *)(s + 1) + (size_t)k * (size_t)s->head.n;
}
static inline pl_real *pl_bdf_z(pl_bdf *s, int half, int column) {
    return pl_bdf_array(s, half * BDF_COLUMNS + column);
}
enum {
    BDF_E = 2 * BDF_COLUMNS,
    BDF_SAVED,
    BDF_WEIGHT,
    BDF_F,
    BDF_Y,
    BDF_B,
    BDF_INHERITED,
    BDF_LOOSE,
    BDF_BEFORE,
    BDF_FLOOR,
    BDF_N_ARRAYS
};

/* Weights for errors; those of Newton's iteration are BDF_WEIGHT. */
static inline const pl_real *pl_bdf_error_weight(pl_bdf *s) {
    return pl_bdf_array(s, s->inherits ? BDF_LOOSE : BDF_WEIGHT);
}

void pl_bdf_rescale(pl_bdf *s, pl_real eta);
void pl_bdf_change_order(pl_bdf *s, int q_new);
void pl_bdf_coefficients(pl_bdf *s);
void pl_bdf_plan_next(pl_bdf *s, pl_real error);
pl_status pl_bdf_weights(pl_bdf *s, pl_problem *p, pl_real t);
void pl_bdf_inherit(pl_bdf *s, pl_problem *p);
/* bdf_jump.c: pl_method.jump */
pl_status pl_bdf_jump(void *state, pl_problem *p, const pl_jump *jump, pl_real *work);
pl_status pl_bdf_correct(pl_bdf *s, pl_problem *p, int how);
enum { BDF_FIRST_TRY, BDF_AFTER_ERROR_FAIL, BDF_AFTER_NEWTON_FAIL };

#endif
