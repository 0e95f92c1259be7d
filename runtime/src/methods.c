/* The methods by number: a program that calls this links all of them. */
#include "pliant.h"

const pl_method *pl_method_of(int id) {
    switch (id) {
    case PL_BDF:
        return &pl_bdf_method;
    case PL_RADAU5:
        return &pl_radau5_method;
    case PL_DOPRI5:
        return &pl_dopri5_method;
    case PL_LIEULER:
        return &pl_lieuler_method;
    case PL_EULER:
        return &pl_euler_method;
    case PL_RK4:
        return &pl_rk4_method;
    default:
        return NULL;
    }
}
