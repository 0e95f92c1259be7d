/* Private: what the methods write into the record of a run (record.c), and its failure (problem.c). */
#ifndef PL_RECORD_H
#define PL_RECORD_H

#include "pliant.h"

/* Note an incident; nothing happens without a record. A failed attempt: no convergence, a refusal, a singular matrix. */
void pl_note_failure(pl_problem *p, pl_status status, int index, pl_real value, pl_real t);
/* The failure of a run, from a function of the model or of its inputs; returns its status, which is negative. */
pl_status pl_failed(pl_problem *p, pl_status status, int what, int index, pl_real t);
void pl_note(pl_problem *p, int kind, int index, pl_real value, pl_real t);
/* Index of the largest |v_i| weight_i, weight NULL: 1; -1 if none is finite. */
int pl_largest(int n, const pl_real *v, const pl_real *weight);
/* After an accepted step: v * weight is its error estimate, x the state. Large systems are looked at now and then. */
void pl_note_step(pl_problem *p, int n, const pl_real *v, const pl_real *weight, const pl_real *x);
/* The same, where the state that dominates is known. */
void pl_note_limit(pl_problem *p, int n, int at, const pl_real *x);

/* What the model has to say at (t, x), or (PL_TELL_REST) of an event there, for whoever listens. */
void pl_tell(pl_problem *p, pl_real t, const pl_real *x, int what);

#endif
