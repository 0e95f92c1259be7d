/* Private: the methods, one file each. */
#ifndef PL_METHODS_H
#define PL_METHODS_H

#include "pliant.h"

extern const pl_method pl_bdf_method, pl_radau5_method, pl_dopri5_method, pl_lieuler_method, pl_euler_method,
    pl_rk4_method;

#endif
