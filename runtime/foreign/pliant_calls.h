/* Calls of external functions in a generated model, which includes this behind its instance and the table of its calls
 * (foreign_entry, foreign_object_entry).
 *
 * What a call gave is kept in the instance with its arguments: outputs of one call are asked for one by one, and an impure
 * function is called once at an instant, at events only where what stands before its arguments says so; elsewhere it
 * keeps what it gave last. A call that fails gives NaN and a text; only where a result becomes NaN by it, the
 * evaluation fails: branches that are not taken may be evaluated, too.
 */
#ifndef PLIANT_CALLS_H
#define PLIANT_CALLS_H

#define PL_DIFFERENCE 6e-6 /* about the cube root of the rounding: central differences */
#define PL_SMALLEST   1e-3 /* arguments below are changed as if they were as large */

static const pl_real *foreign_results(model *m, pl_real t, int k, const pl_real *in);

static int foreign_failed(model *m, int k, const char *text) {
    snprintf(m->foreign_said, sizeof m->foreign_said, "the external function %s reports: %s",
             foreign_entry[k].name, text);
    m->foreign_failed = 1;
    return 0;
}

static int object_of(model *m, int slot, void **made);

/* Call the function of an entry; in its memory are the arguments. */
static int foreign_run(model *m, int k, int is_object, const pl_real *in, pl_real *out,
                       const char **text_out) {
    const pl_foreign_entry *e = &foreign_entry[k];
    void *object[PL_FOREIGN_OBJECTS];
    char said[500];
    for (int i = 0; i < e->n_objects; i++)
        if (!object_of(m, (int)in[e->objects[i]], &object[i])) return 0;
    pl_foreign_data data = {in, e->text, object, out, text_out, NULL, m->foreign_time};
#if PL_FOREIGN_MADE
    char room[PL_TEXT_ROOM];
    const char *made[PL_FOREIGN_MADE];
    pl_text s = {room, sizeof room, 0};
    if (e->make) {
        e->make(m, in, &s, made);
        if (s.used >= s.room) return foreign_failed(m, k, "the texts that it is given are too long");
        data.text = made;
    }
#endif
    if (is_object) {
        m->object[e->slot] = pl_object_make(
            m, pliant_foreign_functions[e->function],
            e->destructor >= 0 ? pliant_foreign_functions[e->destructor] : NULL, &data, said, sizeof said);
        return m->object[e->slot] > 0 ? 1 : foreign_failed(m, k, said);
    }
    int fine = pl_foreign_call(pliant_foreign_functions[e->function], &data, said, sizeof said);
    return fine ? 1 : foreign_failed(m, k, said);
}

/* The object of a slot, made anew where this instance has none: it was opened, or copied from another. */
static int object_of(model *m, int slot, void **made) {
    if (m->object[slot] > 0 && pl_object_at(m->object[slot], m, made)) return 1;
    int k = foreign_object_entry[slot];
    const pl_real *known = m->foreign + foreign_entry[k].memory;
    const char *text_out[PL_FOREIGN_TEXTS];
    if (!foreign_run(m, k, 1, known + 2, NULL, text_out)) return 0;
    return pl_object_at(m->object[slot], m, made);
}

/* d out / d in[by] of the entry that e is derived from, by central differences; one-sided where one side fails. */
static int foreign_difference(model *m, pl_real t, const pl_foreign_entry *e, pl_real *in, pl_real *out) {
    const pl_real a = in[e->by], h = PL_DIFFERENCE * fmax(fabs(a), PL_SMALLEST);
    pl_real side[2] = {a + h, a - h};
    int fine[2];
    for (int one = 0; one < 2; one++) {
        in[e->by] = side[one];
        m->foreign_failed = 0;
        const pl_real *value = foreign_results(m, t, e->base, in);
        fine[one] = !m->foreign_failed;
        if (fine[one])
            for (int i = 0; i < e->n_out; i++) out[i] = one ? out[i] - value[i] : value[i];
        if (!fine[one]) {
            in[e->by] = side[one] = a;
            m->foreign_failed = 0;
            value = foreign_results(m, t, e->base, in);
            if (m->foreign_failed) break;
            for (int i = 0; i < e->n_out; i++) out[i] = one ? out[i] - value[i] : value[i];
        }
    }
    in[e->by] = a;
    if (m->foreign_failed) return 0;
    for (int i = 0; i < e->n_out; i++) out[i] = side[0] > side[1] ? out[i] / (side[0] - side[1]) : NAN;
    return 1;
}

/* What calls gave that were given objects says nothing of others that have their numbers now. */
static void foreign_forget(model *m) {
    for (size_t i = 0; i < sizeof foreign_entry / sizeof foreign_entry[0]; i++)
        if (foreign_entry[i].n_objects > 0) m->foreign[foreign_entry[i].memory] = 0.0;
}

static const pl_real *foreign_results(model *m, pl_real t, int k, const pl_real *in) {
    const pl_foreign_entry *e = &foreign_entry[k];
    pl_real *known = m->foreign + e->memory, *out = known + 2 + e->n_in;
    const size_t bytes = (size_t)(e->n_in - e->n_lead) * sizeof(pl_real);
    if (e->n_lead > 0 && in[0] == 0.0) return out;
    in += e->n_lead;
    if (known[0] > 0.0 && (e->is_pure || known[1] == t) && (bytes == 0 || memcmp(known + 2, in, bytes) == 0))
        return out;
    known[0] = 0.0;
    known[1] = t;
    if (bytes > 0) memcpy(known + 2, in, bytes);
    if (e->slot >= 0) { /* made where it is used */
        if (m->object[e->slot] > 0) pl_object_end(m->object[e->slot], m);
        m->object[e->slot] = 0;
        foreign_forget(m);
        out[0] = (pl_real)e->slot;
        known[0] = 1.0;
        return out;
    }
    const char *text_out[PL_FOREIGN_TEXTS];
    for (int i = 0; i < e->n_out; i++) out[i] = 0.0; /* what has no result gives this */
    m->foreign_time = t;
    int fine = e->base >= 0 ? foreign_difference(m, t, e, known + 2, out)
                            : foreign_run(m, k, 0, known + 2, out, text_out);
    for (int i = 0; i < e->n_out && !fine; i++) out[i] = NAN;
    known[0] = fine ? 1.0 : 0.0;
    if (bytes > 0) memcpy(known + 2, in, bytes);
    return out;
}

static pl_real foreign_value(model *m, pl_real t, int k, int output, const pl_real *in) {
    return foreign_results(m, t, k, in)[output];
}

#if PL_FOREIGN_GIVES
/* Append a text that a call gives. */
static PL_UNUSED void foreign_text(model *m, int k, int which, const pl_real *in, pl_text *s) {
    const char *text_out[PL_FOREIGN_TEXTS];
    pl_real out[PL_FOREIGN_GIVES];
    pl_text_put(s, foreign_run(m, k, 0, in, out, text_out) ? text_out[which] : m->foreign_said);
}
#endif

/* Did a failed call spoil these numbers? */
static PL_UNUSED pl_status foreign_verdict(const model *m, pl_status status, int n, const pl_real *value) {
    if (status != PL_OK || !m->foreign_failed) return status;
    for (int i = 0; i < n; i++)
        if (value[i] - value[i] != 0.0) return PL_RETRY;
    return status;
}

static PL_UNUSED void foreign_close(void *self) {
    pl_objects_end(self);
}

#endif
