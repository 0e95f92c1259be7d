/* The memory of a run: how much it needs, where its events are found, and that its matrices were made anew. */
#include "run.h"

size_t pl_run_size(const pl_model *m) {
    size_t n_x = (size_t)m->n_x, n_roots = (size_t)m->n_roots;
    size_t ahead = RUN_N_AHEAD * (m->root_kind ? n_roots : 0);
    return sizeof(pl_run) +
           (RUN_N_X * n_x + RUN_N_G * n_roots + RUN_N_U * (size_t)m->n_u +
            pl_watch_reals(m->n_u, m->n_x, pl_watch_bent(m)) + ahead) *
               sizeof(pl_real) +
           2 * n_roots + 16;
}

size_t pl_run_method_size(const pl_run_options *opt, int n) {
    size_t first = opt->method->size(n), second = opt->other ? opt->other->size(n) : 0;
    return first > second ? first : second;
}

void pl_run_relinearise(pl_run *r, void *method_state) {
    if (r->started) pl_run_method(r)->forget(method_state);
}

const pl_real *pl_run_event_before(const pl_run *r) {
    return pl_run_x((pl_run *)r, RUN_BEFORE);
}
const pl_real *pl_run_event_after(const pl_run *r) {
    return pl_run_x((pl_run *)r, RUN_AFTER);
}
const int8_t *pl_run_event_fired(const pl_run *r) {
    return pl_run_fired((pl_run *)r);
}
