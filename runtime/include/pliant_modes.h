/* Modes of a generated model: a combination of relations that agrees with the values that follow from it.
 *
 *     relation_k = (g_k(relation) < 0),  k = 1..n        g: left minus right side, all equations solved
 *
 * Ideal diodes, switches and dry friction make this a linear complementarity problem whenever the rest of the model is
 * linear. It is solved in four stages, each only where the one before it does not come to rest:
 *
 *   all       every contradicted relation turns; ends as soon as relations only turn again and again
 *   worst     one at a time from the present combination, the one with the largest contradiction
 *   least     one at a time, the last one contradicted: ends for every P-matrix, that is for passive networks
 *             (Murty, Note on a Bard-type scheme for solving the complementarity problem, Opsearch 11, 1974;
 *             in turns with "all": Judice & Pires, Computers & Operations Research 21, 1994)
 *   nearest   all combinations of the relations that were ever contradicted, by number of changes, up to a bound
 *
 * Rounding: where a relation stands on its line, g is a small number of any sign, and both sides are right. A relation
 * that was decided at this instant is not turned back by less than `noise`, the change of g under changes of the states
 * in their last digits (`shake`).
 */
#ifndef PLIANT_MODES_H
#define PLIANT_MODES_H

#include "pliant_generated.h"

#define PL_MODES_IDLE      4     /* passes in which nothing turns for the first time */
#define PL_MODES_LOOKS     16384 /* combinations tried one after the other */
#define PL_MODES_FEW       12 /* so many relations are all tried where the first combination cannot be evaluated */
#define PL_MODES_SHAKE     1e-13 /* relative change of states whose effect on g counts as rounding */
#define PL_MODES_SHAKES    3
#define PL_MODES_SAFETY    4.0
#define PL_MODES_WIDE      1e4 /* times the noise, before giving up */
#define PL_MODES_SAME      1e-12 /* of the sides of a relation: a smaller change of theirs at an event is none */
#define PL_MODES_SAME_REST 1e-14 /* ... and of what they were before */
#define PL_MODES_SHARE     1e-10 /* of the largest g: what solving a nearly singular loop may leave */

typedef struct pl_modes {
    int n;
    int *relation;  /* present combination, 0 or 1 each; on success what was found */
    int *turns;     /* how often each one turned in the first stage */
    int *list;      /* work */
    int *place;     /* work */
    pl_real *g;     /* of the present combination, by `look` */
    pl_real *from;  /* g where a decided relation was decided */
    pl_real *noise; /* by `shake` */
    pl_real *size;  /* largest |g| seen: what a contradiction is compared with */
    int8_t *wanted; /* side that follows from g, by `look` */
    int8_t *
        decided; /* by `look`; 1: a side was decided at this instant, and rounding does not turn it; 2: g asks for that side */
    int8_t *first;  /* combination to search from */
    int8_t *seen;   /* 1: was contradicted */
    int shaken;     /* noise belongs to the present combination */
    pl_real grants; /* how much of the noise is granted to relations that did not turn before; 0: nothing */
    void *self;
    pl_status (*look)(void *self);
    pl_status (*shake)(void *self);
} pl_modes;

/* The present combination, evaluated. */
static PL_UNUSED pl_status pl_modes_look(pl_modes *s) {
    s->shaken = 0;
    pl_status status = s->look(s->self);
    for (int k = 0; status == PL_OK && k < s->n; k++) s->size[k] = pl_max(s->size[k], fabs(s->g[k]));
    return status;
}

/* A factor near 1 for state i: which way it is shaken looks like chance, but is the same each time. */
static PL_UNUSED pl_real pl_modes_factor(int i, int sample) {
    unsigned mixed = ((unsigned)i * PL_MODES_SHAKES + (unsigned)sample + 1u) * 2654435761u;
    return 1.0 + PL_MODES_SHAKE * ((mixed >> 16 & 1u) ? 1.0 : -1.0);
}

/* Whether a relation has to turn. What was decided at this instant, or turned before, is not turned by rounding. */
static PL_UNUSED int pl_modes_contradicts(pl_modes *s, int k) {
    if (s->wanted[k] == s->relation[k]) return 0;
    int free = s->grants > 0.0 || s->turns[k] > 0;
    if (s->decided[k] == 2 || (!free && !s->decided[k])) return 1;
    if (!s->shaken && s->shake(s->self) != PL_OK)
        for (int i = 0; i < s->n; i++) s->noise[i] = 0.0;
    s->shaken = 1;
    if (!free && !(fabs(s->from[k]) <= s->noise[k])) return 1;
    return !(fabs(s->g[k]) <= pl_max(s->grants, 1.0) * s->noise[k]);
}

/* Every contradicted relation turns, and again. PL_CHATTER: no rest. */
static PL_UNUSED pl_status pl_modes_all(pl_modes *s) {
    int *turning = s->list;
    for (int idle = 0; idle < PL_MODES_IDLE;) {
        int fresh = 0, n = 0;
        pl_status status = pl_modes_look(s);
        if (status != PL_OK) return status;
        for (int k = 0; k < s->n; k++)
            if (pl_modes_contradicts(s, k)) turning[n++] = k;
        if (n == 0) return PL_OK;
        for (int i = 0; i < n; i++) {
            int k = turning[i];
            s->relation[k] = s->wanted[k];
            s->seen[k] = 1;
            fresh |= s->turns[k]++ == 0;
        }
        idle += !fresh;
    }
    return PL_CHATTER;
}

/* One at a time: the worst of those contradicted, or the last one. */
static PL_UNUSED pl_status pl_modes_walk(pl_modes *s, int worst, int looks) {
    for (int k = 0; k < s->n; k++) s->relation[k] = s->first[k];
    while (looks-- > 0) {
        int chosen = -1;
        pl_real largest = 0.0;
        pl_status status = pl_modes_look(s);
        if (status != PL_OK) return status;
        for (int k = 0; k < s->n; k++) {
            if (!pl_modes_contradicts(s, k)) continue;
            pl_real share = fabs(s->g[k]) / s->size[k];
            s->seen[k] = 1;
            if (worst && !(share > largest)) continue;
            largest = share;
            chosen = k;
        }
        if (chosen < 0) return PL_OK;
        s->relation[chosen] = !s->relation[chosen];
    }
    return PL_CHATTER;
}

/* Combinations that differ from the first in `changes` of the n relations in `list`. */
static PL_UNUSED pl_status pl_modes_distance(pl_modes *s, int n, int changes, int *looks) {
    int *c = s->place;
    for (int i = 0; i < changes; i++) c[i] = i;
    while (*looks > 0) {
        int agrees = 1, i = changes - 1;
        for (int k = 0; k < s->n; k++) s->relation[k] = s->first[k];
        for (int q = 0; q < changes; q++) s->relation[s->list[c[q]]] = !s->first[s->list[c[q]]];
        *looks -= 1;
        pl_status status = pl_modes_look(s);
        for (int k = 0; status == PL_OK && agrees && k < s->n; k++) agrees = !pl_modes_contradicts(s, k);
        if (status == PL_OK && agrees) return PL_OK;
        while (i >= 0 && c[i] == n - changes + i) i--; /* the next subset in lexical order */
        if (i < 0) break;
        for (c[i]++; i + 1 < changes; i++) c[i + 1] = c[i] + 1;
    }
    return PL_CHATTER;
}

static PL_UNUSED pl_status pl_modes_nearest(pl_modes *s, int everything) {
    int n = 0, looks = PL_MODES_LOOKS;
    pl_status status = PL_CHATTER;
    for (int k = 0; k < s->n; k++)
        if (s->seen[k] || everything) s->list[n++] = k;
    for (int changes = 0; status != PL_OK && changes <= n && looks > 0; changes++)
        status = pl_modes_distance(s, n, changes, &looks);
    return status;
}

/* A combination that agrees with what follows from it. PL_CHATTER: none was found; `relation` is then as before, `seen` tells
 * which ones switch each other. Another status: the present combination cannot be evaluated, nor was another one found. */
static PL_UNUSED pl_status pl_modes_settle(pl_modes *s) {
    int *before = s->place;
    for (int k = 0; k < s->n; k++) {
        before[k] = s->relation[k];
        s->turns[k] = s->seen[k] = 0;
        s->size[k] = 0.0;
    }
    s->grants = 0.0;
    pl_status status = pl_modes_all(s), found;
    if (status == PL_OK) return status;
    for (int k = 0; k < s->n; k++) /* what turned once and rests is settled */
        s->first[k] = (int8_t)(s->turns[k] == 1 ? s->relation[k] : before[k]);
    s->grants = 1.0;
    found = status == PL_CHATTER ? pl_modes_walk(s, 1, 3 * s->n + 10) : status;
    if (found != PL_OK) found = pl_modes_walk(s, 0, 50 * s->n + 100);
    if (found != PL_OK) found = pl_modes_nearest(s, status != PL_CHATTER && s->n <= PL_MODES_FEW);
    s->grants = PL_MODES_WIDE; /* noise is an estimate */
    if (found != PL_OK) found = pl_modes_walk(s, 0, 50 * s->n + 100);
    if (found == PL_OK) return PL_OK;
    for (int k = 0; k < s->n; k++) s->relation[k] = s->first[k];
    return status;
}

#endif
