/* Which columns share a panel, and an order in which they are neighbours.
 *
 * Column j + 1 continues the supernode of j if parent(j) = j + 1 and count(j + 1) = count(j) - 1: then both have the same
 * rows. Supernodes are joined with their parents, even if that stores zeros (relaxed supernodes), where a dense panel with
 * some zeros is cheaper than two without: every panel has a fixed cost, in the factorisation and in each of the solutions
 * that follow. All children of a supernode are candidates, the largest first; to make panels contiguous the columns of those
 * that join move directly before the columns of the parent. That is another order of the same elimination tree with children
 * before parents, so the factors have the same entries.
 *
 * Sources: Duff & Reid, ACM TOMS 9 (1983) 302-325 (amalgamation of nodes of the assembly tree); Ashcraft & Grimes, ACM TOMS 15
 * (1989) 291-309 (relaxed supernodes). We deviate: costs instead of percentages of zeros decide.
 *
 * Wide supernodes are cut into panels that stay in the first cache. The panels come in a postorder of their own tree. */
#include "lu_sparse_private.h"

/* Costs in operations. An entry is read in each of some solutions that follow a factorisation. By measurement
 * (bench_lu_sparse.c). */
#define ENTRY_COST 25
#define PANEL_COST 2000

static int64_t cost(int64_t w, int64_t r) {
    int64_t squares = r * r + r * (w - 1) + (w - 1) * (2 * w - 1) / 6; /* mean of (r + i)^2, i < w */
    return ENTRY_COST * (w * w + 2 * w * r) + 2 * w * squares;
}

static int pieces(int w) {
    return (w + PL_PANEL - 1) / PL_PANEL;
}

/* Whether a child of w columns and r rows below should join a parent of w_parent columns and r_parent rows. */
static int worth_joining(int w, int r, int w_parent, int r_parent, int strict) {
    int saved = pieces(w) + pieces(w_parent) - pieces(w + w_parent);
    int64_t more = cost(w + w_parent, r_parent) - cost(w, r) - cost(w_parent, r_parent);
    return more * strict <= (int64_t)PANEL_COST * saved;
}

/* Arrays of n + 1 in the work memory. */
typedef struct joining {
    int *begin;           /* first place of a supernode in the postorder */
    int *of;              /* supernode of a node */
    int *width, *rows;    /* columns (of all that joined), rows below */
    int *up;              /* parent */
    int *child, *sibling; /* lists of children */
    int *into;            /* the supernode it joined, or itself */
    int *head, *last; /* supernodes that joined, in the order of their columns: first and last of the list */
    int *next;
    int n;
} joining;

static void find_supernodes(joining *t, int n, const int *parent, const int *count, const int *post) {
    int top = -1;
    for (int k = 0; k < n; k++) {
        int v = post[k], before = k > 0 ? post[k - 1] : -1;
        if (k == 0 || parent[before] != v || count[v] != count[before] - 1) t->begin[++top] = k;
        t->of[v] = top;
    }
    t->n = top + 1;
    t->begin[t->n] = n;
    for (int s = 0; s < t->n; s++) {
        int end = post[t->begin[s + 1] - 1];
        t->width[s] = t->begin[s + 1] - t->begin[s];
        t->rows[s] = count[end] - 1;
        t->up[s] = parent[end] < 0 ? -1 : t->of[parent[end]];
        t->into[s] = t->head[s] = t->last[s] = s;
        t->next[s] = t->child[s] = -1;
    }
    /* in a postorder the largest child comes last, so it is the first of its list */
    for (int s = 0; s < t->n; s++) {
        if (t->up[s] < 0) continue;
        t->sibling[s] = t->child[t->up[s]];
        t->child[t->up[s]] = s;
    }
}

/* Children come before their parents: what joined a child is known when the parent is looked at. */
static void join(joining *t, int strict) {
    for (int s = 0; s < t->n; s++)
        for (int c = t->child[s]; c >= 0; c = t->sibling[c]) {
            if (!worth_joining(t->width[c], t->rows[c], t->width[s], t->rows[s], strict)) continue;
            t->width[s] += t->width[c];
            t->into[c] = s;
            t->next[t->last[c]] = t->head[s];
            t->head[s] = t->head[c];
        }
}

/* The columns of what is left, cut into panels of nearly equal width: first (n + 1) and line (the nodes in this order, n).
 * Returns the number of panels. */
static int cut(const joining *t, const int *post, int *first, int *line) {
    int n_panels = 0, out = 0;
    for (int s = 0; s < t->n; s++) {
        if (t->into[s] != s) continue;
        int w = t->width[s], n_pieces = pieces(w);
        for (int q = 0; q < n_pieces; q++) first[n_panels++] = out + (int)((int64_t)w * q / n_pieces);
        for (int p = t->head[s]; p >= 0; p = t->next[p])
            for (int k = t->begin[p]; k < t->begin[p + 1]; k++) line[out++] = post[k];
    }
    first[n_panels] = out;
    return n_panels;
}

/* The first panel that a panel contributes to: that of the first parent outside. of, place: of a node. */
static void find_parents(int n_panels, const int *first, const int *line, const int *parent, int *of,
                         int *place, int *up) {
    for (int q = 0; q < n_panels; q++)
        for (int k = first[q]; k < first[q + 1]; k++) {
            of[line[k]] = q;
            place[line[k]] = k;
        }
    for (int q = 0; q < n_panels; q++) {
        int least = -1;
        for (int k = first[q]; k < first[q + 1]; k++) {
            int v = parent[line[k]];
            if (v >= 0 && of[v] != q && (least < 0 || place[v] < place[least])) least = v;
        }
        up[q] = least < 0 ? -1 : of[least];
    }
}

int pl_tree_join(int n, const int *parent, const int *count, int strict, int *order, int *first, int *work) {
    int m = n + 1, *post = work, *scratch = work + 12 * m;
    joining t = {work + m,     work + 2 * m, work + 3 * m, work + 4 * m,  work + 5 * m,  work + 6 * m,
                 work + 7 * m, work + 8 * m, work + 9 * m, work + 10 * m, work + 11 * m, 0};
    pl_tree_postorder(n, parent, count, post, scratch);
    find_supernodes(&t, n, parent, count, post);
    join(&t, strict);
    int *begin = t.child, *line = t.sibling; /* lists of children are not needed any more */
    int n_panels = cut(&t, post, begin, line), out = 0;
    int *up = t.begin, *size = t.width, *sequence = t.rows; /* nor is the rest */
    find_parents(n_panels, begin, line, parent, t.of, t.into, up);
    for (int q = 0; q < n_panels; q++) { /* only for the order of siblings */
        int rows = count[line[begin[q + 1] - 1]];
        size[q] = rows < n_panels ? rows : n_panels;
    }
    pl_tree_postorder(n_panels, up, size, sequence, scratch);
    for (int q = 0; q < n_panels; q++) {
        first[q] = out;
        for (int k = begin[sequence[q]]; k < begin[sequence[q] + 1]; k++) order[out++] = line[k];
    }
    first[n_panels] = n;
    return n_panels;
}
