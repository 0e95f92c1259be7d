/* Private: the block behind pl_linear (linear.c, jacobian.c). Arrays follow the struct at byte offsets. */
#ifndef PL_LINEAR_H
#define PL_LINEAR_H

#include "pliant.h"

struct pl_linear {
    size_t size;
    int n;
    int sparse;          /* factors: 1 sparse, 0 dense */
    int has_pattern;     /* Jacobian stored by pattern; 0: all n * n entries by columns */
    int n_jac;           /* stored Jacobian entries */
    int n_matrix;        /* entries of the merged pattern (sparse) */
    int n_colours;       /* evaluations per difference Jacobian */
    int n_algebraic;     /* empty rows of L */
    int need_complex;    /* complex factors have room */
    int masked;          /* mask in use */
    int differences;     /* 1: differences although the model has jac_value */
    int increment;       /* PL_INCREMENT_... */
    int64_t n_lu;        /* room for sparse factors */
    size_t algebraic;    /* int8_t n: row of L is empty */
    size_t jac_start;    /* int n + 1    (has_pattern) */
    size_t jac_row;      /* int n_jac    (has_pattern) */
    size_t colour;       /* int n        (has_pattern): columns sorted by colour */
    size_t colour_start; /* int n + 1 (has_pattern): first column of each colour in `colour` */
    size_t jac;          /* pl_real n_jac */
    size_t mask;         /* uint8_t n_jac */
    size_t scratch;      /* pl_real 3 n: differences, packing */
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

#endif
