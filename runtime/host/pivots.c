/* Pivots of state sets for Python, which looks for start values: the elimination of the generated models. */
#include "pliant_host.h"

#include "pliant_generated.h"

int pl_host_set_pivots(int m, int n, pl_real *g, const int8_t *barred, pl_real share, int *column) {
    return pl_set_pivots(m, n, g, barred, share, column);
}
