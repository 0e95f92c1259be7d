/* Desktop only. Outputs of a model along a run that somebody else has stepped, row by row. */
#include "pliant_host.h"

#include <math.h>

static pl_status stand(const pl_model *m, void *self, const pl_host_rows *r, size_t k, pl_real *x,
                       const pl_real *u) {
    pl_event_info info = {0};
    if (r->memory && k > 0)
        for (int i = 0; i < m->n_d; i++)
            m->set_memory(self, i, r->memory[(k - 1) * (size_t)m->n_d + (size_t)i]);
    if (!r->relations_at) return PL_OK;
    /* no roots given to the event: relations exactly as they stand */
    return r->memory ? m->settle(self, r->relations_at[k], x, u)
                     : m->event(self, r->relations_at[k], x, u, NULL, &info);
}

void pl_host_outputs(const pl_model *m, void *self, const pl_host_rows *r) {
    size_t n_x = (size_t)m->n_x, n_u = (size_t)m->n_u, n_y = (size_t)m->n_y;
    for (size_t k = 0; k < r->n; k++) {
        pl_real *x = r->x + k * n_x, *y = r->y + k * n_y;
        const pl_real *u = r->u + k * n_u;
        (void)stand(m, self, r, k, x,
                    u); /* where it fails, so do the outputs, or they are those with the relations before */
        if (m->outputs(self, r->t[k], x, u, m->n_y, NULL, y) != PL_OK)
            for (size_t i = 0; i < n_y; i++) y[i] = NAN;
    }
}
