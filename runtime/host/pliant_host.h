/* Desktop only: interface between the runtime and the Python binding. */
#ifndef PLIANT_HOST_H
#define PLIANT_HOST_H

#include "pliant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Instance (`self`) of a model made of callbacks; buffers belong to the caller. */
typedef struct pl_shim {
    int n_x, n_jac, n_roots;
    int x_changed;  /* set by the event callback */
    int terminate;  /* likewise */
    pl_real *x;     /* n_x */
    pl_real *f;     /* n_x */
    pl_real *value; /* n_jac */
    pl_real *g;     /* n_roots */
    int8_t *fired;  /* n_roots */
    int (*rhs)(pl_real t);
    int (*jac)(pl_real t);
    int (*roots)(pl_real t);
    int (*event)(pl_real t);
} pl_shim;

void pl_shim_install(pl_model *m, const pl_shim *s);

/* Blocks that simulations asked for (memory.c): `grow` and `host` of a pl_setup. */
typedef struct pl_host_memory {
    void *block[PL_N_GROW];
} pl_host_memory;

void *pl_host_grow(void *host, int what, void *old, size_t used, size_t bytes);
void pl_host_release(pl_host_memory *m);

/* Sizes of the structures above and in pliant.h, for checking a foreign mirror of them. */
size_t pl_host_sizeof(int what);

#ifdef __cplusplus
}
#endif

#endif
