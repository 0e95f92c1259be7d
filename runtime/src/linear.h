/* Private: the block behind pl_linear (linear.c, jacobian.c). Arrays follow the struct at byte offsets. */
#ifndef PL_LINEAR_H
#define PL_LINEAR_H

#include "pliant.h"

struct pl_linear {
    size_t size;
    int n;
    int sparse;        /* factors: 1 sparse, 0 dense */
    int has_pattern;   /* Jacobian stored by pattern; 0: all n * n entries by columns */
    int n_jac;         /* stored Jacobian entries */
    int n_matrix;      /* entries of the merged pattern (sparse) */
    int n_colours;     /* evaluations per difference Jacobian */
    int n_algebraic;   /* empty rows of L */
    int need_complex;  /* complex factors have room */
    int masked;        /* mask in use */
    int source;        /* PL_SOURCE_..., never AUTO */
    int increment;     /* PL_INCREMENT_... */
    int representable; /* algorithm applied to increments, 0: none */
    int central;       /* central differences */
    int verify;        /* the pattern may be wrong */
    int fallback;      /* differences where the source gives no numbers */
    int patience;      /* failures until increments are looked at again */
    int impatience;    /* ... after the next look without a finding */
    int64_t evaluated; /* Jacobians since init or reset */
    int64_t extra;     /* evaluations that they took beyond their colours, to look at increments */
    pl_real constant;  /* c0 */
    int64_t n_lu;      /* room for sparse factors */
    const pl_sparse_lu *lu;
    size_t algebraic;    /* int8_t n: row of L is empty */
    size_t jac_start;    /* int n + 1    (has_pattern) */
    size_t jac_row;      /* int n_jac    (has_pattern) */
    size_t colour;       /* int n        (has_pattern): columns sorted by colour */
    size_t colour_start; /* int n + 1 (has_pattern): first column of each colour in `colour` */
    size_t jac;          /* pl_real n_jac */
    size_t mask;         /* uint8_t n_jac */
    size_t scratch;      /* pl_real 6 n: differences, packing */
    size_t sigma;        /* pl_real n: increments of the last differences */
    size_t wish;         /* pl_real n: a far smaller increment that has to be looked at first, 0: none */
    size_t drowned;      /* pl_real n: increment that was found to drown in rounding, 0: none was */
    size_t seen;         /* pl_real n: largest |x| at Jacobians, 0: nothing known */
    size_t least;        /* pl_real n: none below, past differences showed noise there; 0: no bound */
    size_t most;         /* pl_real n: none above, they showed a bend; 0: no bound */
    size_t touched;      /* int8_t n: changed by the last second look */
    size_t turned;       /* int8_t n: f jumps on the usual side */
    size_t given;        /* pl_real n: curvature scale, 0: not known */
    size_t asked;        /* int8_t n: the state's own value showed nothing but rounding once */
    size_t a_start;      /* int n + 1    (sparse) merged pattern of L and J */
    size_t a_row;        /* int n_matrix (sparse) */
    size_t jac_to_a;     /* int n_jac    (sparse) */
    size_t mass_to_a;    /* int entries of L, or n for the identity (sparse) */
    size_t a;            /* pl_real n_matrix (sparse, complex: 2 n_matrix) or n * n (dense) */
    size_t scale;        /* pl_real n: row factors of the dense matrix, algebraic systems only */
    size_t pivot;        /* int n (dense) */
    size_t factors;      /* pl_sparse (sparse) */
    size_t ca;           /* pl_real 2 n * n (dense complex) */
    size_t cscale;       /* pl_real n */
    size_t cpivot;       /* int n */
    size_t cfactors;     /* pl_sparse, complex */
};

#define PL_AT(block, type, offset)       ((type *)(void *)((char *)(block) + (offset)))
#define PL_CONST_AT(block, type, offset) ((const type *)(const void *)((const char *)(block) + (offset)))

void pl_forget_increments(pl_linear *lin);

/* Entries of one column of the stored Jacobian: jac[first] .. jac[last - 1]. */
typedef struct pl_entries {
    int first, last;
    const int *row; /* of all entries; NULL: dense */
} pl_entries;

static inline pl_entries pl_entries_of(const pl_linear *lin, int j) {
    const int *start = PL_CONST_AT(lin, int, lin->jac_start);
    pl_entries dense = {j * lin->n, (j + 1) * lin->n, NULL};
    if (!lin->has_pattern) return dense;
    pl_entries sparse = {start[j], start[j + 1], PL_CONST_AT(lin, int, lin->jac_row)};
    return sparse;
}
static inline int pl_row_of(const pl_entries *e, int k) {
    return e->row ? e->row[k] : k - e->first;
}

/* Columns of one colour. */
typedef struct pl_group {
    const int *column;
    int count;
} pl_group;

/* increments.c */
int pl_stays_inside(const pl_model *m, const pl_real *x, pl_group g, const pl_real *sigma, pl_real scale);
void pl_increments(pl_problem *p, const pl_real *x, const pl_real *f, pl_real h);
pl_real pl_within_bounds(const pl_model *m, int j, pl_real x, pl_real sigma);
pl_real pl_other_scale(const pl_problem *p, int j, pl_real size);
pl_real pl_second_guess(const pl_problem *p, int j, pl_real x);

/* jacobian.c: the columns of a colour, and f with all of them moved by scale * sigma; refused outside the bounds. */
pl_group pl_group_of(const pl_linear *lin, const int *natural, int c);
pl_status pl_moved(pl_problem *p, pl_real t, const pl_real *x, pl_group g, const pl_real *sigma,
                   pl_real scale, pl_real *fp);

/* pattern.c */
pl_status pl_verify_pattern(pl_problem *p, pl_real t, const pl_real *x, const pl_real *f);

#endif
