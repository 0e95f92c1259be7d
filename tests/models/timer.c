/* x' = -x + u + v, with a time event every PERIOD that counts (and changes f if CHANGED), an output that shows the input
 * and the count, and a stop asked for by the model after STOP_AT. For tests of the step loop. */
#include "pliant.h"

typedef struct {
    pl_real next;
    int count;
} memory;

static const pl_real start[1] = {1.0};
static const char *const inputs[] = {"u", "v"};
static const char *const outputs[] = {"y", "count"};

static pl_status open_model(void *self) {
    memory *m = self;
    m->next = PERIOD;
    m->count = 0;
    return PL_OK;
}

static pl_status initialise(void *self, pl_real t, pl_real *x, const pl_real *u, pl_event_info *info) {
    (void)t, (void)x, (void)u;
    info->next_time = ((memory *)self)->next;
    return PL_OK;
}

static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t;
    f[0] = -x[0] + u[0] + u[1];
    return PL_OK;
}

static pl_status event(void *self, pl_real t, pl_real *x, const pl_real *u, const int8_t *fired,
                       pl_event_info *info) {
    memory *m = self;
    (void)t, (void)x, (void)u, (void)fired;
    m->count++;
    m->next = PERIOD * (m->count + 1);
    info->next_time = m->next;
    info->f_changed = CHANGED;
    return PL_OK;
}

static pl_status values(void *self, pl_real t, const pl_real *x, const pl_real *u, int n, const int *index,
                        pl_real *y) {
    (void)t, (void)x;
    for (int i = 0; i < n; i++) y[i] = index[i] == 0 ? u[0] : ((memory *)self)->count;
    return PL_OK;
}

static pl_status step_done(void *self, pl_real t, pl_real *x, const pl_real *u, int *request) {
    (void)self, (void)x, (void)u;
    if (t > STOP_AT) *request = PL_STEP_TERMINATE;
    return PL_OK;
}

const pl_model pliant_model = {
    .abi = PL_ABI,
    .n_x = 1,
    .n_u = 2,
    .n_y = 2,
    .memory_size = sizeof(memory),
    .name = "timer",
    .u_name = inputs,
    .y_name = outputs,
    .x_start = start,
    .open = open_model,
    .initialise = initialise,
    .rhs = rhs,
    .event = event,
    .outputs = values,
    .step_done = step_done,
};
