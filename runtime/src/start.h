/* One search for start values; shared by start*.c. */
#ifndef PLIANT_START_INTERNAL_H
#define PLIANT_START_INTERNAL_H

#include "pliant.h"

#define PL_START_DONE     1e-10 /* scaled residual that counts as zero */
#define PL_START_ACCEPTED 1e-7  /* ... where redundant conditions keep Newton from going on */
#define PL_START_TURNS    20    /* solutions and relations in turns; events at the start */

typedef struct pl_search {
    pl_problem *p;
    const pl_model *m;
    const pl_initial *in;
    const pl_start_request *q;
    pl_start_report *report;
    void *self;
    pl_real t;
    pl_real *x;
    const pl_real *u;
    int held;
    int n_x, n_p, n_d, n_c, n_a; /* states and algebraic unknowns, ..., conditions, algebraic unknowns */
    int n_free, n_more, n_kept, n_set;
    int n_memories;    /* discrete variables that the conditions determine */
    int n_unknown;     /* of the present solution */
    int only_f;        /* what follows relations: 1 algebraic unknowns only */
    int follow_failed; /* since the last event, and why: */
    pl_start_failure *first;

    int *free;    /* n_x: states without a given value */
    int *more;    /* n_p + n_d: other unknowns */
    int *kept;    /* n_c: conditions of the iteration */
    int *set;     /* n_c: conditions that set parameters */
    int *unknown; /* all unknowns of the iteration, algebraic ones last */
    int *undetermined, *redundant;
    int8_t *is_given; /* n_c: condition asks for a value of the caller: */
    pl_real *given;   /* n_c */
    pl_real *asked;   /* n_c: ... instead of this one */
    pl_real *size;    /* n_x + n_p + n_d: typical sizes */
    pl_real *all;     /* n_c: residuals of all conditions; derivatives */
    pl_real *f;       /* n_x */
    pl_real *dx;      /* n_x */
    /* n_x each: of follow, of a search, of algebraic unknowns, of other guesses, of homotopy, of a point */
    pl_real *before_x, *found_x, *search_x, *given_x, *start_x, *good_x, *target_x;
    pl_real *before_more, *start_more;                      /* n_p + n_d */
    pl_real *linear;                                        /* 4 n_x: work of pl_consistent */
    pl_real *r, *weight, *largest, *scaled, *trial_r, *low; /* rows */
    pl_real *step, *scale, *before, *trial;                 /* unknowns */
    pl_real *j, *dense;                                     /* matrix, and room for the step */
    pl_real *guess, *followed, *jacobians;                  /* n_guesses, n_guesses, all sets */
    int8_t *flags;                                          /* n of the largest set */
    int8_t *wanted;
    int *pivots; /* m of the largest set */
} pl_search;

/* start.c */
pl_status pl_start_fail(pl_search *s, int what, pl_status status);
pl_status pl_start_refused(pl_search *s, pl_status status); /* ... with the words of the model */
pl_status pl_start_evaluate(pl_search *s);                  /* f and outputs at x: loops are solved */
void pl_start_accept(pl_search *s);
pl_status pl_start_algebraic(pl_search *s); /* algebraic unknowns, states kept */
pl_status pl_start_settle(pl_search *s);

/* start_plan.c */
size_t pl_start_layout(const pl_model *m, pl_search *s, void *work); /* bytes; work NULL: only these */
void pl_start_plan(pl_search *s); /* unknowns and conditions of the request */

/* start_newton.c */
pl_status pl_start_conditions(pl_search *s); /* all of them into s->all */
pl_status pl_start_write(pl_search *s, int n, const int *unknown, const pl_real *value);
void pl_start_read(const pl_search *s, int n, const int *unknown, pl_real *value);
pl_status pl_start_solve(pl_search *s);
pl_status pl_start_try(pl_search *s); /* ... other unknowns as before where that fails */

/* start_step.c: the step of Newton's iteration for m algebraic rows and unknowns, which come last */
size_t pl_start_step_size(int n_rows, int n_cols, int m);
typedef struct pl_start_step {
    int n_rows, n_cols; /* what is left of the matrix, and its rank */
    int rank;
    pl_real *matrix, *work; /* factors of it, see pl_null_... */
} pl_start_step;
/* 0: derivatives that are not finite */
int pl_start_smallest(int n_rows, int n_cols, int m, const pl_real *j, const pl_real *b, pl_real *x,
                      pl_real *room, pl_start_step *found);

/* start_sets.c */
void pl_start_first_choice(pl_search *s);
pl_status pl_start_given_choice(pl_search *s); /* states that are given, as far as possible */
pl_status pl_start_check_given(pl_search *s);

#endif
