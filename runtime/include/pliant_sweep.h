/* Many simulations of one model, one after the other in the same memory: a part of pliant.h, which includes it.
 *
 *     pl_sweep sweep = {.setup = &setup, .memory = block, .n = 1000, .parameters = p, .last = last, .status = status};
 *     while (pl_sweep_advance(&sweep, 10000) == PL_PAUSED) {}
 *
 * Every case is what pl_simulation would make of it, bit for bit. A case that fails has its status in its place; the others
 * do not notice. To learn why, simulate that case alone.
 */
#ifndef PLIANT_SWEEP_H
#define PLIANT_SWEEP_H

typedef struct pl_sweep {
    const pl_setup *setup; /* what the cases share, with open = 1 and n_points >= 0 */
    void *memory;          /* pl_simulation_size(setup) bytes, aligned for doubles */
    int64_t n;             /* cases */
    /* of each case; NULL: the setup's for all */
    const pl_real *parameters; /* n * n_p */
    const pl_real *u;          /* n * n_u */
    const pl_real *x;          /* n * n_x */
    const pl_real *value;      /* n * setup->request.n_given */
    const pl_real *stop;       /* n */
    const pl_real *point;      /* n * n_points */
    /* results; NULL: not wanted. A row is t, the chosen states, the chosen outputs. */
    pl_real *last;      /* n rows: the last of each case; of a case that failed nothing is written */
    pl_real *row;       /* n * n_rows rows */
    int64_t n_rows;     /* room of each case */
    int64_t *used;      /* n: rows that there were, also where that is more than n_rows */
    int *status;        /* n: PL_FINISHED, PL_TERMINATED, or why it failed */
    pl_counters *count; /* n */
    int64_t *n_events;  /* n */
    pl_real *reached;   /* n: time up to which results are final */
    int *method;        /* n: id of the method at work at the end; < 0: several were */
    /* where it stands */
    int64_t done; /* cases that have ended; the case of this number is running if `running` */
    int running;
    int warm; /* private: the block of matrices was used before */
} pl_sweep;

/* At most about `budget` steps. PL_PAUSED: more is to come; PL_FINISHED: all cases have ended. */
pl_status pl_sweep_advance(pl_sweep *w, int64_t budget);
/* The running case ends here, with this status; the next one is to come. */
void pl_sweep_skip(pl_sweep *w, pl_status status);

#endif
