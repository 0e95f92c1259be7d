/* Elementary functions with a count of the instructions that they take; the linker gives these to every caller (--wrap).
 * Functions that call others count once. */
#include "target.h"

uint32_t function_instructions, function_calls;
void call_nothing(void);
double __real_nothing(double x);
double __wrap_nothing(double x);

#if COUNT_FUNCTIONS
static int depth;

static uint32_t entered(void) {
    return depth++ ? 0 : target_ticks();
}

static void left(uint32_t begin) {
    if (--depth) return;
    function_instructions +=
        (10u * (target_ticks() - begin) + TICKS_PER_TEN / 2u) / TICKS_PER_TEN; /* exact for each */
    function_calls++;
}

#define ONE(type, f)                                                                                         \
    type __real_##f(type);                                                                                   \
    type __wrap_##f(type);                                                                                   \
    type __wrap_##f(type x) {                                                                                \
        uint32_t b = entered();                                                                              \
        type y = __real_##f(x);                                                                              \
        left(b);                                                                                             \
        return y;                                                                                            \
    }
#define TWO(type, f)                                                                                         \
    type __real_##f(type, type);                                                                             \
    type __wrap_##f(type, type);                                                                             \
    type __wrap_##f(type x, type z) {                                                                        \
        uint32_t b = entered();                                                                              \
        type y = __real_##f(x, z);                                                                           \
        left(b);                                                                                             \
        return y;                                                                                            \
    }
#define ONES(type, s)                                                                                        \
    ONE(type, sin##s)                                                                                        \
    ONE(type, cos##s)                                                                                        \
    ONE(type, tan##s)                                                                                        \
    ONE(type, asin##s)                                                                                       \
    ONE(type, acos##s)                                                                                       \
    ONE(type, atan##s)                                                                                       \
    ONE(type, sinh##s)                                                                                       \
    ONE(type, cosh##s)                                                                                       \
    ONE(type, tanh##s)                                                                                       \
    ONE(type, asinh##s)                                                                                      \
    ONE(type, acosh##s)                                                                                      \
    ONE(type, atanh##s)                                                                                      \
    ONE(type, exp##s)                                                                                        \
    ONE(type, log##s) ONE(type, log10##s) ONE(type, cbrt##s) ONE(type, expm1##s) ONE(type, log1p##s)
#define TWOS(type, s) TWO(type, atan2##s) TWO(type, pow##s) TWO(type, fmod##s) TWO(type, hypot##s)

ONES(double, )
ONES(float, f)
TWOS(double, )
TWOS(float, f)

double __attribute__((noinline)) __real_nothing(double x) {
    __asm__ volatile("");
    return x;
}
double __wrap_nothing(double x) {
    uint32_t b = entered();
    double y = __real_nothing(x);
    left(b);
    return y;
}

void call_nothing(void) { /* what counting itself takes, and one instruction */
    (void)__wrap_nothing(1.0);
}
#else
void call_nothing(void) {}
#endif
