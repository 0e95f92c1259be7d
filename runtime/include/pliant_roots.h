/* What root functions tell of themselves: a part of pliant.h, which includes it. */
#ifndef PLIANT_ROOTS_H
#define PLIANT_ROOTS_H

/* What a function does on an interval of time: bounds of its value and of its slope. */
typedef struct pl_range {
    pl_real lo, hi;
    pl_real slope_lo, slope_hi;
} pl_range;

/* A root function of time alone on such an interval. */
typedef struct pl_root_range {
    pl_range g;
    pl_real scale; /* size of the numbers that g is the difference of: what rounding is relative to */
    int holds;     /* 1: the side g < 0 is the one that holds now (also g = 0 with PL_ROOT_CLOSED) */
} pl_root_range;

/* Share of the size of both sides by which relations are passed before they turn: what rounding makes of them. */
#define PL_ROOT_BAND (4.0 * DBL_EPSILON)

/* What a root function depends on, or-ed together. With none of them the solver looks for it within its steps. */
enum {
    PL_ROOT_STILL = 1,  /* on nothing that moves between events */
    PL_ROOT_TIMED = 2,  /* on time */
    PL_ROOT_MEMORY = 4, /* on what events change */
    PL_ROOT_CLOSED = 8, /* g = 0 is on the side of g < 0 */
    PL_ROOT_PATH = 16   /* on states, too, but root_range can say what it does on a path of theirs */
};

/* States and inputs between two times: of the states values and slopes at both ends. */
typedef struct pl_path {
    const pl_real *x[2];
    const pl_real *slope[2];
    const pl_range *u;
} pl_path;

#endif
