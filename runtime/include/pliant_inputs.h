/* Inputs: a part of pliant.h, which includes it. */
#ifndef PLIANT_INPUTS_H
#define PLIANT_INPUTS_H

/* How f depends on an input between events, states and time held. */
enum { PL_INPUT_BENT = 1 /* not as a straight line */ };

/* u(t), piecewise polynomial: in segment s, u_j(t) = sum_k coefficient[(s*(degree+1) + k)*n_u + j] (t -
 * start[s])^k. Before start[0] the first segment holds. jump[s] != 0: u or a derivative jumps at start[s] so
 * much that the solver must stop there. n_segments 0: the inputs keep their values. `call`, if set, comes after
 * the segments and overwrites the inputs that are functions of time. */
typedef struct pl_inputs {
    int n_u;
    int degree;
    int n_segments;
    const pl_real *start;       /* n_segments, ascending */
    const pl_real *coefficient; /* n_segments * (degree + 1) * n_u */
    const uint8_t *jump;        /* n_segments */
    pl_status (*call)(void *user, pl_real t, pl_real *u);
    void *user;
    int64_t n_looks;       /* times where content lies that a step must not pass over unseen (watch.c) */
    const pl_real *look;   /* n_looks, ascending, between jumps */
    const pl_real *look_u; /* n_looks * n_u: inputs there */
} pl_inputs;

#endif
