/* Functions of FMI 3.0 that no test FMU offers. The symbols are there, as the standard asks, and return an error. */
#include "pl_fmi3.h"

PL_FMI3_EXPORTS

#ifndef MINIMAL
typedef pl_fmi3_instance I;
typedef pl_fmi3_reference R;
typedef pl_fmi3_float64 F;
typedef pl_fmi3_uint64 U;
#define NOT_OFFERED                                                                                          \
    { return PL_FMI3_ERROR; }
#pragma GCC diagnostic ignored "-Wunused-parameter"

pl_fmi3_status fmi3GetClock(I i, const R r[], size_t n, pl_fmi3_clock v[]) NOT_OFFERED;
pl_fmi3_status fmi3SetClock(I i, const R r[], size_t n, const pl_fmi3_clock v[]) NOT_OFFERED;
pl_fmi3_status fmi3GetNumberOfVariableDependencies(I i, R r, size_t *n) NOT_OFFERED;
pl_fmi3_status fmi3GetVariableDependencies(I i, R r, size_t e[], R s[], size_t f[],
                                           pl_fmi3_dependency_kind k[], size_t n) NOT_OFFERED;
pl_fmi3_status fmi3GetAdjointDerivative(I i, const R u[], size_t nu, const R k[], size_t nk, const F s[],
                                        size_t ns, F p[], size_t np) NOT_OFFERED;
pl_fmi3_status fmi3GetIntervalDecimal(I i, const R r[], size_t n, F v[],
                                      pl_fmi3_interval_qualifier q[]) NOT_OFFERED;
pl_fmi3_status fmi3GetIntervalFraction(I i, const R r[], size_t n, U c[], U d[],
                                       pl_fmi3_interval_qualifier q[]) NOT_OFFERED;
pl_fmi3_status fmi3GetShiftDecimal(I i, const R r[], size_t n, F v[]) NOT_OFFERED;
pl_fmi3_status fmi3GetShiftFraction(I i, const R r[], size_t n, U c[], U d[]) NOT_OFFERED;
pl_fmi3_status fmi3SetIntervalDecimal(I i, const R r[], size_t n, const F v[]) NOT_OFFERED;
pl_fmi3_status fmi3SetIntervalFraction(I i, const R r[], size_t n, const U c[], const U d[]) NOT_OFFERED;
pl_fmi3_status fmi3SetShiftDecimal(I i, const R r[], size_t n, const F v[]) NOT_OFFERED;
pl_fmi3_status fmi3SetShiftFraction(I i, const R r[], size_t n, const U c[], const U d[]) NOT_OFFERED;
pl_fmi3_status fmi3EvaluateDiscreteStates(I i) NOT_OFFERED;
pl_fmi3_status fmi3ActivateModelPartition(I i, R r, F t) NOT_OFFERED;
pl_fmi3_instance fmi3InstantiateScheduledExecution(
    pl_fmi3_string name, pl_fmi3_string token, pl_fmi3_string path, pl_fmi3_boolean visible,
    pl_fmi3_boolean logging_on, pl_fmi3_environment environment, pl_fmi3_log_fn log,
    pl_fmi3_clock_update_fn update, pl_fmi3_lock_preemption_fn lock, pl_fmi3_unlock_preemption_fn unlock) {
    return NULL;
}
#endif
