/* Private: what watch.c and watch_bend.c share. A step sees the inputs, and f, at its nodes only. */
#ifndef PL_WATCH_H
#define PL_WATCH_H

#include "run.h"

#define PL_UNSEEN    6.0 /* effect of content not seen in a step, in tolerances */
#define PL_MAX_NODES 8

/* Times where a method evaluates, latest first: polynomial through values there in barycentric form. */
typedef struct pl_nodes {
    int n;
    pl_real t[PL_MAX_NODES], w[PL_MAX_NODES];
} pl_nodes;

/* Nodes of the step to T, with weights. */
void pl_nodes_make(const pl_run *r, const void *method_state, pl_real T, pl_nodes *nodes);
/* Shares of the values at the nodes in the polynomial at t. 0: t is a node. */
int pl_nodes_at(const pl_nodes *nodes, pl_real t, pl_real *share);
/* Largest |v| in tolerances at x; algebraic unknowns left out if wanted. */
pl_real pl_largest_weighted(const pl_problem *p, const pl_real *v, const pl_real *x, int all);

/* The same for f that is not affine in the inputs: the step from t must end here, at most at T. */
pl_real pl_bend_limit(pl_run *r, pl_problem *p, void *method_state, pl_real T);
/* ... and for its kinks of time. */
pl_real pl_kink_limit(pl_run *r, pl_problem *p, void *method_state, pl_real T);
size_t pl_bend_reals(int n_u, int n_x);
void pl_bend_init(pl_run *r, const pl_problem *p);

#endif
