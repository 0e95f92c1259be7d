/* Private: step-size helpers shared by the methods. */
#ifndef PL_CONTROL_H
#define PL_CONTROL_H

#include "pliant.h"

/* First step of a method of order `order` from (t, x) with derivative xdot; work: 2 n. */
pl_status pl_first_step(pl_problem *p, pl_real t, const pl_real *x, const pl_real *xdot, pl_real t_end,
                        pl_real *work, pl_real *h);

/* What a step that became too small is called: the model's own trouble if it was that, else a collapse. */
pl_status pl_collapse(pl_status cause);

/* The same from nearly consistent values by `most` iterations with the factors at hand; PL_CONVERGENCE: they do not do. */
pl_status pl_consistent_near(pl_problem *p, pl_real t, pl_real *x, int most, pl_real *work);

/* The model refused a trial up to t: 1 if an event lies before it, then the step returns PL_PAUSED. */
int pl_event_before(pl_problem *p, pl_status status, pl_real t);

/* Residuals of algebraic rows (confirm.c): where they are large (other rows: nowhere), whether one is, and whether all that
 * were have shrunk. Arrays of n. */
void pl_residual_floor(pl_problem *p, const pl_real *x, const pl_real *weight, pl_real *floor, pl_real *work);
int pl_residual_is_large(int n, const pl_real *r, const pl_real *floor);
int pl_residual_shrank(int n, const pl_real *before, const pl_real *after, const pl_real *floor);

/* Smallest step that still moves t. */
pl_real pl_smallest_step(pl_real t);

/* Does a step h from t end at, or so close to, t_limit that it should end there exactly? */
int pl_reaches(pl_real t, pl_real h, pl_real t_limit);

#endif
