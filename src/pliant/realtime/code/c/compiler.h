/* What compilers are told; the beginning of every written step. */

/* PL_ONCE: called once, quick to compile. PL_CONSTANTS, PL_CALIBRATION: sections of tables and of default parameters, e.g.
 * -DPL_CALIBRATION='__attribute__((section(".calibration")))' */
#if defined(__GNUC__)
#define PL_PART   __attribute__((noinline))
#define PL_UNUSED __attribute__((unused))
#else
#define PL_PART
#define PL_UNUSED
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define PL_ONCE __attribute__((optimize("O0")))
#else
#define PL_ONCE
#endif
#ifndef PL_CONSTANTS
#define PL_CONSTANTS
#endif
#ifndef PL_CALIBRATION
#define PL_CALIBRATION
#endif
