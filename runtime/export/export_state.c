/* The state of an instance: kept in memory, given back, written to bytes and read from them.
 *
 * A saved state is one flat block: a head, the arrays of the importer's values, the image of the simulation. It belongs to this
 * FMU (token) and to one kind of simulation; any instance of that can take it, in any process on this kind of machine.
 */
#include "pl_export.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC UINT64_C(0x706c666d75737431)

struct pl_exported_saved {
    uint64_t magic;
    uint64_t token; /* hash */
    uint64_t sum;   /* of what follows */
    uint64_t bytes; /* of the whole */
    uint64_t flat, image;
    int32_t steps;
    int32_t pad;
    pl_exported_state now;
};

static uint64_t hash(const void *from, size_t bytes) {
    const unsigned char *at = from;
    uint64_t sum = UINT64_C(14695981039346656037);
    for (size_t k = 0; k < bytes; k++) sum = (sum ^ at[k]) * UINT64_C(1099511628211);
    return sum;
}

static uint64_t sum_of(const pl_exported_saved *saved) {
    size_t head = offsetof(pl_exported_saved, bytes);
    return hash((const char *)saved + head, (size_t)saved->bytes - head);
}

int pl_exported_save(pl_exported_instance *c, void **to) {
    size_t image = c->now.solved ? pl_simulation_save_size(c->sim, 0) : 0;
    size_t head = pl_export_rounded(sizeof(pl_exported_saved)), bytes = head + c->flat_bytes + image;
    pl_exported_saved *saved = *to;
    if (!saved || saved->magic != MAGIC || saved->bytes != bytes) {
        pl_exported_saved *block = calloc(1, bytes);
        if (!block) return pl_exported_say(c, PL_ERROR, "there is no memory for a saved state");
        pl_exported_forget(to);
        *to = saved = block;
    }
    saved->magic = MAGIC;
    saved->token = hash(c->table->token, strlen(c->table->token));
    saved->bytes = bytes;
    saved->flat = c->flat_bytes;
    saved->image = image;
    saved->steps = c->steps;
    saved->pad = 0;
    saved->now = c->now;
    memcpy((char *)saved + head, c->x, c->flat_bytes);
    pl_status status =
        image > 0 ? pl_simulation_save(c->sim, 0, (char *)saved + head + c->flat_bytes) : PL_OK;
    saved->sum = sum_of(saved);
    return status == PL_OK ? PL_FINE : pl_exported_failed(c, PL_ERROR, status, "saving the state");
}

static int fits(pl_exported_instance *c, const pl_exported_saved *saved) {
    return saved && saved->magic == MAGIC && saved->token == hash(c->table->token, strlen(c->table->token)) &&
           saved->steps == c->steps && saved->flat == c->flat_bytes;
}

int pl_exported_restore(pl_exported_instance *c, const void *from) {
    const pl_exported_saved *saved = from;
    size_t head = pl_export_rounded(sizeof *saved);
    if (!fits(c, saved)) return pl_exported_say(c, PL_ERROR, "this is no saved state of this FMU");
    c->now = saved->now;
    memcpy(c->x, (const char *)saved + head, c->flat_bytes);
    c->fresh = 0;
    if (saved->image == 0) return PL_FINE;
    pl_status status = pl_exported_lay_out(c);
    if (status == PL_OK) status = pl_simulation_restore(c->sim, (const char *)saved + head + c->flat_bytes);
    if (status == PL_OK) return PL_FINE;
    c->now.mode = PL_BROKEN;
    return pl_exported_failed(c, PL_ERROR, status, "restoring a state");
}

void pl_exported_forget(void **saved) {
    free(*saved);
    *saved = NULL;
}

size_t pl_exported_bytes(const void *saved) {
    return (size_t)((const pl_exported_saved *)saved)->bytes;
}

int pl_exported_serialise(pl_exported_instance *c, const void *saved, void *bytes, size_t size) {
    if (!fits(c, saved)) return pl_exported_say(c, PL_ERROR, "this is no saved state of this FMU");
    if (size != pl_exported_bytes(saved))
        return pl_exported_say(c, PL_ERROR, "the state takes %lu bytes, not %lu",
                               (unsigned long)pl_exported_bytes(saved), (unsigned long)size);
    memcpy(bytes, saved, size);
    return PL_FINE;
}

int pl_exported_deserialise(pl_exported_instance *c, const void *bytes, size_t size, void **to) {
    pl_exported_saved head;
    if (size >= sizeof head) memcpy(&head, bytes, sizeof head);
    if (size < sizeof head || !fits(c, &head) || head.bytes != size ||
        head.bytes != pl_export_rounded(sizeof head) + head.flat + head.image)
        return pl_exported_say(c, PL_ERROR, "these bytes are no saved state of this FMU");
    pl_exported_saved *saved = malloc(size);
    if (!saved) return pl_exported_say(c, PL_ERROR, "there is no memory for a saved state");
    memcpy(saved, bytes, size);
    if (saved->sum != sum_of(saved)) {
        free(saved);
        return pl_exported_say(c, PL_ERROR, "the saved state is damaged");
    }
    *to = saved;
    return PL_FINE;
}
