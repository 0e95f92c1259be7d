/* Runs a step on a target and writes what it did: instructions, use of the stack, states and outputs after each step.
 *
 * STEP: prefix of the step's names, STEP_HEADER: its header, N_X, N_U, N_Y: numbers of unknowns, inputs and outputs,
 * HAS_MONITOR, HAS_FALLBACK: what the step was written with, N_STEPS: steps to make. Reads inputs.bin (the inputs at the
 * start, then those up to and from the end of each step), writes steps.bin and summary.bin, in the target's own numbers.
 * The stack is filled with a pattern below its present end before a step; what the step changed there it has used. */
#include STEP_HEADER
#include "target.h"

#define JOINED(a, b) a##b
#define JOIN(a, b)   JOINED(a, b)
#define OF(what)     JOIN(STEP, what)
#define PATTERN      0xA5C35A3Cu
#define GAP          96           /* bytes below the caller's frame that the painting itself may use */
#define PAINTED      (256 * 1024) /* bytes that are painted */
#define STACK_STEPS  3            /* steps whose stack is looked at: work does not depend on data */

typedef OF(_inputs) inputs_type;
typedef OF(_real) real_type;
typedef void (*step_type)(STEP *, const inputs_type *, const inputs_type *);

/* in elementary functions, where these are counted: instructions, and calls from outside of them */
extern uint32_t function_instructions, function_calls;
void call_nothing(void);

typedef struct record { /* of one step: ticks, in elementary functions instructions and calls */
    uint32_t step, functions, calls, monitor, full;
} record;

static STEP model;
static OF(_outputs) outputs;
static inputs_type before, after;
static record empty; /* what measuring itself takes */
static uint32_t stack_used;
static volatile unsigned seen;

static void no_step(STEP *m, const inputs_type *u, const inputs_type *v) {
    (void)m, (void)u, (void)v;
}

static void monitor_step(STEP *m, const inputs_type *u, const inputs_type *v) {
    (void)u, (void)v;
#if HAS_MONITOR
    OF(_flags) flags;
    seen = OF(_monitor)(m, &flags);
#else
    (void)m;
#endif
}

static volatile step_type call; /* volatile: all calls are made in the same way */

static __attribute__((noinline)) uint32_t counted(STEP *m, step_type which) {
    call = which;
    const uint32_t begin = target_ticks();
    call(m, &before, &after);
    return target_ticks() - begin;
}

static __attribute__((noinline)) volatile uint32_t *below(uintptr_t top) {
    return (volatile uint32_t *)((top - GAP) & ~(uintptr_t)15);
}

static __attribute__((noinline)) void paint(uintptr_t top) {
    volatile uint32_t *at = below(top);
    for (int k = 0; k < PAINTED / 4; k++) *--at = PATTERN;
}

static __attribute__((noinline)) uint32_t painted_depth(uintptr_t top) {
    volatile uint32_t *first = below(top), *at = first - PAINTED / 4;
    while (at < first && *at == PATTERN) at++;
    return at < first ? (uint32_t)(top - (uintptr_t)at) : GAP; /* that much at most */
}

static __attribute__((noinline)) void look_at_stack(STEP *m, step_type which) {
    volatile uint32_t here = 0; /* at the end of the caller's stack */
    const uintptr_t top = (uintptr_t)&here;
    paint(top);
    which(m, &before, &after);
    const uint32_t depth = painted_depth(top);
    if (depth > stack_used) stack_used = depth;
}

static int next_inputs(int input) {
#if N_U > 0
    return target_read(input, &before, sizeof before) || target_read(input, &after, sizeof after);
#else
    (void)input;
    return 0;
#endif
}

static int write_step(int output, const record *r) {
    int bad = target_write(output, r, sizeof *r);
#if N_X > 0
    bad |= target_write(output, model.x, sizeof model.x);
#endif
#if N_Y > 0
    OF(_get_outputs)(&model, &after, &outputs);
    bad |= target_write(output, &outputs, sizeof outputs);
#endif
    return bad;
}

static int make_steps(int input, int output) {
    static STEP trial;
    for (long k = 0; k < N_STEPS; k++) {
        record r = {0, 0, 0, 0, 0};
        if (next_inputs(input)) return 3;
        if (k < STACK_STEPS) {
            trial = model;
            look_at_stack(&trial, OF(_step_jump));
            look_at_stack(&trial, monitor_step);
        }
#if HAS_FALLBACK
        trial = model;
        r.full = counted(&trial, OF(_step_full_jump)) - empty.step;
        if (k < STACK_STEPS) {
            trial = model;
            look_at_stack(&trial, OF(_step_full_jump));
        }
#endif
        function_instructions = function_calls = 0;
        r.step = counted(&model, OF(_step_jump)) - empty.step;
        r.functions = function_instructions;
        r.calls = function_calls;
#if HAS_MONITOR
        r.monitor = counted(&model, monitor_step) - empty.step;
#endif
        if (write_step(output, &r)) return 4;
    }
    return 0;
}

int main(void) {
    OF(_parameters) p;
    const int input = N_U > 0 ? target_open("inputs.bin", 0) : 0;
    const int output = target_open("steps.bin", 1);
    if (input < 0) return 3;
    if (output < 0) return 4;
    if (N_U > 0 && target_read(input, &before, sizeof before)) return 3;
    after = before;
    OF(_default_parameters)(&p);
    if (OF(_init)(&model, &p, &before)) return 5;
    empty.step = counted(&model, no_step);
    function_instructions = 0;
    call_nothing();
    empty.functions = function_instructions;
    const int failed = make_steps(input, output);
    if (failed) return failed;
    const uint32_t summary[] = {(uint32_t)sizeof model,
                                (uint32_t)sizeof p,
                                N_U > 0 ? (uint32_t)sizeof before : 0u,
                                N_Y > 0 ? (uint32_t)sizeof outputs : 0u,
                                stack_used,
                                empty.functions};
    const int last = target_open("summary.bin", 1);
    if (target_close(output) || last < 0 || target_write(last, summary, sizeof summary) || target_close(last))
        return 4;
    return 0;
}
