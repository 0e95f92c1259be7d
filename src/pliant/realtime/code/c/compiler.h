/* What compilers are told; the beginning of every written step. */

/* PL_HIDE: so that compilers do not see a choice here and make a branch of it; PL_ONCE: called once, quick to
 * compile */
#if defined(__GNUC__)
#define PL_PART    __attribute__((noinline))
#define PL_UNUSED  __attribute__((unused))
#define PL_HIDE(v) __asm__("" : "+r"(v))
#else
#define PL_PART
#define PL_UNUSED
#define PL_HIDE(v)
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define PL_ONCE __attribute__((optimize("O0")))
#else
#define PL_ONCE
#endif
