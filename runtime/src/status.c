/* Status texts, one table. */
#include "pliant.h"

const char *pl_status_text(pl_status status) {
    switch (status) {
    case PL_OK:
        return "no error";
    case PL_PAUSED:
        return "paused: call again to continue";
    case PL_FINISHED:
        return "finished";
    case PL_TERMINATED:
        return "ended by a terminal event";
    case PL_EVENT:
        return "an event was handled";
    case PL_RETRY:
        return "the model cannot be evaluated at this point";
    case PL_FATAL:
        return "the model reported a fatal error";
    case PL_NONFINITE:
        return "a function returned NaN or Inf";
    case PL_SINGULAR:
        return "the iteration matrix is singular";
    case PL_GROWTH:
        return "refactorisation without pivoting is unstable";
    case PL_MEMORY:
        return "the memory provided is too small";
    case PL_CONVERGENCE:
        return "Newton's iteration does not converge";
    case PL_ACCURACY:
        return "the error test fails repeatedly";
    case PL_STEP:
        return "the step size is too small for the time to advance";
    case PL_MAX_STEPS:
        return "too many steps";
    case PL_ARGUMENT:
        return "an argument is invalid";
    case PL_CHATTER:
        return "events accumulate without progress in time";
    case PL_INCONSISTENT:
        return "no consistent algebraic values were found";
    case PL_TOO_ACCURATE:
        return "the tolerances are below the rounding error of the arithmetic";
    case PL_PATTERN:
        return "the pattern of the Jacobian lacks an entry";
    }
    return "unknown status";
}
