/* Desktop only. A pl_model whose functions are callbacks of an interpreted language.
 *
 * Such a callback is cheap when it takes few arguments and finds its data where it always is: the shim copies
 * x into a fixed buffer, calls back with t alone, and copies the answer out of another one.
 */
#include "fmu.h"

#include <string.h>

static pl_status shim_rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    pl_shim *s = self;
    (void)u;
    memcpy(s->x, x, (size_t)s->n_x * sizeof(pl_real));
    int status = s->rhs(t);
    memcpy(f, s->f, (size_t)s->n_x * sizeof(pl_real));
    return (pl_status)status;
}

static pl_status shim_jac(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *value) {
    pl_shim *s = self;
    (void)u;
    memcpy(s->x, x, (size_t)s->n_x * sizeof(pl_real));
    int status = s->jac(t);
    memcpy(value, s->value, (size_t)s->n_jac * sizeof(pl_real));
    return (pl_status)status;
}

static pl_status shim_roots(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *g) {
    pl_shim *s = self;
    (void)u;
    memcpy(s->x, x, (size_t)s->n_x * sizeof(pl_real));
    int status = s->roots(t);
    memcpy(g, s->g, (size_t)s->n_roots * sizeof(pl_real));
    return (pl_status)status;
}

static pl_status shim_event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                            pl_event_info *info) {
    pl_shim *s = self;
    (void)u;
    memcpy(s->x, x, (size_t)s->n_x * sizeof(pl_real));
    if (fired)
        memcpy(s->fired, fired, (size_t)s->n_roots);
    else if (s->n_roots > 0)
        memset(s->fired, 0, (size_t)s->n_roots);
    s->x_changed = 0;
    s->terminate = 0;
    int status = s->event(t);
    if (status == 0 && s->x_changed) memcpy(x, s->x, (size_t)s->n_x * sizeof(pl_real));
    info->x_changed = s->x_changed;
    info->terminate = s->terminate;
    return (pl_status)status;
}

void pl_shim_install(pl_model *m, const pl_shim *s) {
    m->rhs = shim_rhs;
    m->jac_value = s->jac ? shim_jac : NULL;
    m->roots = s->roots ? shim_roots : NULL;
    m->event = s->event ? shim_event : NULL;
}

size_t pl_host_sizeof(int what) {
    switch (what) {
    case 0:
        return sizeof(pl_model);
    case 1:
        return sizeof(pl_problem);
    case 2:
        return sizeof(pl_run);
    case 3:
        return sizeof(pl_output);
    case 4:
        return sizeof(pl_run_options);
    case 5:
        return sizeof(pl_linear_layout);
    case 6:
        return sizeof(pl_linear_options);
    case 7:
        return sizeof(pl_counters);
    case 8:
        return sizeof(pl_inputs);
    case 9:
        return sizeof(pl_shim);
    case 10:
        return sizeof(pl_event_info);
    case 11:
        return sizeof(pl_stepper);
    case 12:
        return sizeof(pl_record);
    case 13:
        return sizeof(pl_incident);
    case 14:
        return sizeof(pl_initial);
    case 15:
        return sizeof(pl_start_request);
    case 16:
        return sizeof(pl_start_report);
    case 17:
        return sizeof(pl_setup);
    case 18:
        return sizeof(pl_simulation);
    case 19:
        return sizeof(pl_plan);
    case 20:
        return sizeof(pl_host_memory);
    case 21:
        return sizeof(pl_child_part);
    case 22:
        return sizeof(pl_sweep);
    case 23:
        return sizeof(pl_fmu_client);
    case 24:
        return sizeof(pl_black_box);
    case 25:
        return sizeof(pl_fmu_head);
    case 26:
        return sizeof(pl_fmu_begin);
    case 27:
        return sizeof(pl_fmu_answer);
    case 28:
        return sizeof(pl_host_rows);
    default:
        return 0;
    }
}
