/* The fixed-time step of a plan as something that steps itself (pl_unit): included behind the text of a step.
 *
 *     STEP(name), STEP_INSTANCE, STEP_JUMP    functions and type of the step; the step that is taken
 *     STEP_TAU, STEP_START                    its size, and where it starts
 *     STEP_N_X, STEP_N_D, STEP_N_Y            values that are read: x, discrete variables, declared outputs
 *     STEP_N_U, STEP_N_P                      values that are set: inputs, then parameters
 *     STEP_FLAGS                              0: no monitor; 1: one that is asked; 2: the guarded step asks it
 *     step_first                              inputs and parameters before anything is set
 *     step_x_name                             names of x
 *
 * Inputs of a communication step hold up to its end; clocks and events there see what holds from there on, and that is
 * known later. So the instance before the last step is kept, and where other inputs follow the step is taken once more.
 * Results are those of X_step_jump with both inputs at once. The start is done again in the same way.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PLAN_STARTED = 1, PLAN_STEPPED = 2 };

typedef union plan_inputs {
    STEP(inputs) all; /* members are of one type */
    STEP(real) each[STEP_N_U + 1];
} plan_inputs;

typedef union plan_parameters {
    STEP(parameters) all;
    STEP(real) each[STEP_N_P + 1];
} plan_parameters;

typedef struct plan_state {
    STEP_INSTANCE now, before; /* before the last step */
    plan_inputs end;           /* inputs up to its end */
    plan_inputs after;         /* and from there on */
    plan_parameters given;
    int last;                        /* PLAN_...: what was done last */
    unsigned flags, earlier, newest; /* of the last communication step; its steps before the last; the last */
    char words[100];
} plan_state;

static const char *plan_error(void *self) {
    const plan_state *s = self;
    return s->words;
}

static void plan_values(const pl_real *from, STEP(real) * to, int n) {
    for (int k = 0; k < n; k++) to[k] = (STEP(real))from[k];
}

static unsigned plan_flags(plan_state *s, unsigned told) {
#if STEP_FLAGS == 1
    STEP(flags) flags;
    told = STEP(monitor)(&s->now, &flags);
#endif
    (void)s;
    return told;
}

static void plan_step(plan_state *s) {
    unsigned told = 0;
    s->now = s->before;
#if STEP_FLAGS == 2
    told = STEP_JUMP(&s->now, &s->end.all, &s->after.all);
#else
    STEP_JUMP(&s->now, &s->end.all, &s->after.all);
#endif
    s->newest = plan_flags(s, told);
    s->flags = s->earlier | s->newest;
}

static pl_status plan_refused(plan_state *s, int divisor) {
    if (!divisor) return PL_OK;
    snprintf(s->words, sizeof s->words, "divisor %d of the expressions of parameters is zero", divisor);
    return PL_ARGUMENT;
}

/* Is everything a number? */
static pl_status plan_checked(plan_state *s) {
    (void)s;
#if STEP_N_X > 0
    for (int k = 0; k < STEP_N_X; k++)
        if (!(fabs((double)s->now.x[k]) < HUGE_VAL)) {
            snprintf(s->words, sizeof s->words, "%s is not a finite number", step_x_name[k]);
            return PL_NONFINITE;
        }
#endif
    return PL_OK;
}

/* Values that hold from here on: inputs, then parameters. */
static pl_status plan_inputs_from(void *self, pl_real t, int degree, const pl_real *u) {
    plan_state *s = self;
    plan_inputs after;
    plan_parameters given;
    (void)t, (void)degree;
    memset(&after, 0, sizeof after);
    memset(&given, 0, sizeof given);
    plan_values(u, after.each, STEP_N_U);
    plan_values(u + STEP_N_U, given.each, STEP_N_P);
    int same_u = memcmp(&after, &s->after, sizeof after) == 0;
    int same_p = memcmp(&given, &s->given, sizeof given) == 0;
    if (s->last && same_u && same_p) return PL_OK;
    s->after = after;
    s->given = given;
    if (s->last != PLAN_STEPPED) {
        s->last = PLAN_STARTED;
        pl_status status = plan_refused(s, STEP(init)(&s->now, &given.all, &after.all));
        return status == PL_OK ? plan_checked(s) : status;
    }
    if (!same_u) plan_step(s);
    return plan_refused(s, STEP(set_parameters)(&s->now, &given.all));
}

static pl_status plan_initialise(void *self, pl_real t, const pl_real *u) {
    plan_state *s = self;
    s->last = 0;
    if (fabs(t - STEP_START) > 1e-9 * STEP_TAU) {
        snprintf(s->words, sizeof s->words, "the plan starts at t = %.15g", (double)STEP_START);
        return PL_ARGUMENT;
    }
    return plan_inputs_from(self, t, 0, u);
}

static void plan_inputs_at(const pl_real *u, int degree, pl_real dt, plan_inputs *to) {
    const int n = STEP_N_U + STEP_N_P;
    memset(to, 0, sizeof *to);
    for (int j = 0; j < STEP_N_U; j++) {
        pl_real value = 0.0;
        for (int k = degree; k >= 0; k--) value = value * dt + u[k * n + j];
        to->each[j] = (STEP(real))value;
    }
}

static pl_status plan_advance(void *self, pl_real t, pl_real t_next, int degree, const pl_real *u,
                              pl_real *reached) {
    plan_state *s = self;
    pl_status status = plan_inputs_from(self, t, degree, u);
    int64_t due = (int64_t)floor((t_next - s->now.t0) / STEP_TAU + 0.5);
    *reached = t_next;
    s->flags = s->earlier = 0;
    while (status == PL_OK && s->now.step < due) {
        pl_real end = s->now.t0 + (pl_real)(s->now.step + 1) * STEP_TAU;
        plan_inputs_at(u, degree, end - t, &s->end);
        s->after = s->end;
        s->before = s->now;
        s->earlier = s->flags;
        s->last = PLAN_STEPPED;
        plan_step(s);
        status = plan_checked(s);
    }
    return status;
}

/* x, discrete variables, declared outputs, flags, number of steps. */
static pl_status plan_outputs(void *self, pl_real t, int n, const int *index, pl_real *y) {
    const plan_state *s = self;
    union {
        STEP(outputs) all;
        STEP(real) each[STEP_N_Y + 1];
    } out;
    (void)t;
    memset(&out, 0, sizeof out);
    STEP(get_outputs)(&s->now, &s->after.all, &out.all);
    for (int i = 0; i < n; i++) {
        int k = index ? index[i] : i, d = k - STEP_N_X, o = d - STEP_N_D, f = o - STEP_N_Y;
        pl_real value = f == 0 ? (pl_real)s->flags : (pl_real)s->now.step;
#if STEP_N_X > 0
        if (k < STEP_N_X) value = (pl_real)s->now.x[k];
#endif
#if STEP_N_D > 0
        if (d >= 0 && d < STEP_N_D) value = (pl_real)s->now.d[d];
#endif
        if (o >= 0 && o < STEP_N_Y) value = (pl_real)out.each[o];
        y[i] = value;
    }
    return PL_OK;
}

static const pl_unit plan_unit = {
    .n_u = STEP_N_U + STEP_N_P,
    .n_y = STEP_N_X + STEP_N_D + STEP_N_Y + 2,
    .memory_size = sizeof(plan_state),
    .name = "plan",
    .u_start = step_first,
    .equal_steps = 1,
    .initialise = plan_initialise,
    .inputs = plan_inputs_from,
    .advance = plan_advance,
    .outputs = plan_outputs,
    .error = plan_error,
};
