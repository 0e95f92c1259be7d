/* Desktop only. Memory that a simulation asks for on its way: from the heap, given back all at once. */
#include "pliant_host.h"

#include <stdlib.h>
#include <string.h>

void *pl_host_grow(void *host, int what, void *old, size_t used, size_t bytes) {
    pl_host_memory *m = host;
    void *kept = m->block[what];
    void *block = kept && kept == old && used > 0 ? realloc(old, bytes) : malloc(bytes);
    if (!block) return NULL;
    if (!kept || kept != old) {
        if (used > 0) memcpy(block, old, used);
        free(kept);
    } else if (used == 0) { /* nothing to keep */
        free(kept);
    }
    m->block[what] = block;
    return block;
}

void pl_host_release(pl_host_memory *m) {
    for (int what = 0; what < PL_N_GROW; what++) {
        free(m->block[what]);
        m->block[what] = NULL;
    }
}
