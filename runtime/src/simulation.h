/* Private: what the files of pl_simulation share. */
#ifndef PL_SIMULATION_H
#define PL_SIMULATION_H

#include "pliant.h"

/* What a simulation is doing between two calls of the same leg (simulation_live.c). */
enum { PL_LEG_NONE, PL_LEG_SETTLE, PL_LEG_GO };

static inline size_t pl_round_up(size_t bytes) {
    return (bytes + 15u) & ~(size_t)15u;
}
static inline void *pl_take(char **at, size_t bytes) {
    char *here = *at;
    *at += pl_round_up(bytes);
    return here;
}

/* Sizes of what is simulated, whatever it is. */
typedef struct pl_sizes {
    int n_x, n_u, n_p, n_y, n_roots;
    size_t memory;
} pl_sizes;
pl_sizes pl_setup_sizes(const pl_setup *setup);

static inline size_t pl_row_bytes(const pl_output *out) {
    return (size_t)(1 + out->n_x + out->n_y) * sizeof(pl_real);
}

/* Notes a failure and returns it. */
pl_status pl_simulation_fail(pl_simulation *s, pl_status status, int what, int index, pl_real t);
/* At least `bytes` for `what`, the first `used` of them kept; NULL: failure noted. */
void *pl_simulation_grow(pl_simulation *s, int what, void *old, size_t used, size_t bytes);
/* Room for `count` more rows, log entries or events. */
pl_status pl_simulation_rows(pl_simulation *s, int64_t count);
pl_status pl_simulation_log(pl_simulation *s);
pl_status pl_simulation_events(pl_simulation *s);
/* Records an event; there is room for it. before, after, fired NULL: nothing is known. */
void pl_simulation_note(pl_simulation *s, pl_real t, int terminal, const pl_real *before,
                        const pl_real *after, const int8_t *fired);

/* simulation_instance.c: the instance of whatever is simulated. */
pl_status pl_instance_open(pl_simulation *s);
size_t pl_instance_save_size(const pl_simulation *s, int *can);
pl_status pl_instance_save(const pl_simulation *s, void *to);
pl_status pl_instance_restore(pl_simulation *s, const void *from);

#endif
