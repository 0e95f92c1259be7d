/* Pattern of the supernodal form: which columns share a panel, which rows it has, where its values lie.
 *
 * Column j + 1 continues the supernode of j if parent(j) = j + 1 and count(j + 1) = count(j) - 1: then both
 * have the same rows. Small supernodes are joined with the parent that follows them directly, even if that
 * stores zeros (relaxed supernodes), because a dense panel with some zeros beats several thin ones. The rows
 * of all panels come from row subtrees, on panels instead of columns: row k belongs to every panel met when
 * climbing from the panels of its neighbours i < k; since k ascends, rows come out sorted and the first row
 * of a panel names its parent.
 *
 * Sources: Liu, The multifrontal method for sparse matrix solution, SIAM Review 34 (1992) 82-109 (supernodes,
 * tree); Ashcraft & Grimes, ACM TOMS 15 (1989) 291-309 (relaxed supernodes); Davis, Direct Methods (2006), 4
 * and 6.
 *
 * Memory: panels take w^2 + 2 w r values, contributions r^2 each while they wait on the stack. If they do not
 * fit in the arena, fewer are joined; if that does not help, or if the order is not a postorder of the tree
 * (that of pl_sparse_analyse is), the matrix is left to the column form. */
#include "lu_sparse_private.h"

#include <limits.h>
#include <string.h>

typedef struct supernodes {
    int n;
    const int *start, *adjacent; /* graph in the order of elimination */
    const int *parent, *count;   /* elimination tree */
    int *first;                  /* n + 1: first column of each panel */
    int *of;                     /* n: panel of a column */
    int *row_start;              /* n + 1 */
    int n_super;
} supernodes;

/* Whether a joined panel of width w may hold that many zeros among its stored values. Percentages by
 * measurement (bench_lu_sparse.c): thin panels cost more than the zeros that widen them. `strict` divides
 * what is allowed. */
static int worth_joining(int w, int64_t stored, int64_t zeros, int strict) {
    int percent = w <= 4 ? 50 : w <= 16 ? 10 : 5;
    return zeros * 100 * strict <= stored * percent;
}

/* Supernodes from the tree, joined while it pays. entries: n, true entries of each supernode. */
static void find_supernodes(supernodes *t, int strict, int64_t *entries) {
    int n = t->n, top = -1;
    for (int j = 0; j < n; j++) {
        int begins = j == 0 || t->parent[j - 1] != j || t->count[j] != t->count[j - 1] - 1;
        if (begins) {
            t->first[++top] = j;
            entries[top] = 0;
        }
        entries[top] += 2 * (int64_t)t->count[j] - 1;
        int ends = j + 1 == n || t->parent[j] != j + 1 || t->count[j + 1] != t->count[j] - 1;
        while (ends && top > 0) {
            int before = t->first[top] - 1; /* last column of the supernode before */
            if (t->parent[before] < 0 || t->parent[before] > j) break;
            int64_t w = j + 1 - t->first[top - 1], r = t->count[j] - 1, stored = w * w + 2 * w * r;
            if (!worth_joining((int)w, stored, stored - entries[top - 1] - entries[top], strict)) break;
            entries[top - 1] += entries[top];
            top--;
        }
    }
    t->n_super = top + 1;
    t->first[top + 1] = n;
}

/* Cuts supernodes wider than PL_PANEL into panels of nearly equal width; fills `of`. copy: n + 1. */
static void cut(supernodes *t, int *copy) {
    int n_super = t->n_super, out = 0;
    memcpy(copy, t->first, (size_t)(n_super + 1) * sizeof(int));
    for (int s = 0; s < n_super; s++) {
        int w = copy[s + 1] - copy[s], pieces = (w + PL_PANEL - 1) / PL_PANEL;
        for (int q = 0; q < pieces; q++) {
            int from = copy[s] + (int)((int64_t)w * q / pieces),
                to = copy[s] + (int)((int64_t)w * (q + 1) / pieces);
            for (int j = from; j < to; j++) t->of[j] = out;
            t->first[out++] = from;
        }
    }
    t->first[out] = t->n;
    t->n_super = out;
}

/* Rows of each panel: counted if row is NULL, else listed. mark, up: n_super each. */
static void climb(supernodes *t, int *row, int *length, int *mark, int *up) {
    for (int s = 0; s < t->n_super; s++) {
        length[s] = 0;
        mark[s] = up[s] = -1;
    }
    for (int k = 0; k < t->n; k++) {
        int own = t->of[k];
        for (int p = t->start[k]; p < t->start[k + 1]; p++) {
            int i = t->adjacent[p];
            if (i > k) continue;
            for (int s = t->of[i]; s != own && mark[s] != k; s = up[s]) {
                mark[s] = k;
                if (up[s] < 0) up[s] = own;
                if (row) row[t->row_start[s] + length[s]] = k;
                length[s]++;
            }
        }
    }
}

/* Index of k in the ascending list, which contains it. */
static int find(const int *list, int length, int k) {
    int low = 0, high = length;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (list[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Place of every entry of the matrix among the values, listed by panel. */
static void place_entries(pl_sparse *s, const pl_pattern *a, const int *column_place) {
    const int *position = PL_PART(s, int, position), *first = PL_PART(s, int, super_first);
    const int *of = PL_PART(s, int, super_of), *row_start = PL_PART(s, int, row_start);
    const int *row = PL_PART(s, int, super_row), *start = PL_PART(s, int, value_start);
    int *entry_start = PL_PART(s, int, entry_start), *source = PL_PART(s, int, source);
    int *target = PL_PART(s, int, target);
    for (int q = 0; q <= s->n_super; q++) entry_start[q] = 0;
    for (int c = 0; c < s->n; c++)
        for (int p = a->start[c]; p < a->start[c + 1]; p++) {
            int i = of[position[a->row[p]]], j = of[column_place[c]];
            entry_start[(i < j ? i : j) + 1]++;
        }
    for (int q = 0; q < s->n_super; q++) entry_start[q + 1] += entry_start[q];
    for (int c = 0; c < s->n; c++) {
        int j = column_place[c];
        for (int p = a->start[c]; p < a->start[c + 1]; p++) {
            int i = position[a->row[p]], q = of[i] < of[j] ? of[i] : of[j];
            int w = first[q + 1] - first[q], r = row_start[q + 1] - row_start[q];
            const int *list = row + row_start[q];
            int e = entry_start[q]++;
            source[e] = p;
            if (of[i] < of[j])
                target[e] = start[q] + w * (w + r) + (i - first[q]) * r + find(list, r, j);
            else if (of[i] == of[j])
                target[e] = start[q] + (j - first[q]) * (w + r) + i - first[q];
            else
                target[e] = start[q] + (j - first[q]) * (w + r) + w + find(list, r, i);
        }
    }
    for (int q = s->n_super; q > 0; q--) entry_start[q] = entry_start[q - 1];
    entry_start[0] = 0;
}

/* Places of the rows of each panel in the panel of its first row, its parent; shared: how many of them lie in
 * the parent's columns. */
static void place_rows(const supernodes *t, const int *row, int *relative, int *shared) {
    for (int q = 0; q < t->n_super; q++) {
        int at = t->row_start[q], end = t->row_start[q + 1];
        shared[q] = 0;
        if (at == end) continue;
        int parent = t->of[row[at]], first = t->first[parent], after = t->first[parent + 1];
        for (; at < end && row[at] < after; at++) relative[at] = row[at] - first;
        shared[q] = at - t->row_start[q];
        for (int p = t->row_start[parent], k = after - first; at < end; p++, k++)
            if (row[p] == row[at]) relative[at++] = k;
    }
}

/* Where the contribution of each panel lies: panels at even depth count from the bottom of the room, those at
 * odd depth from its top. Returns the room in scalars, -1 if the panels do not come in postorder. up:
 * parents, depth: n_super; held: n_super, room the children of a panel take. */
static int64_t place_fronts(const supernodes *t, const int *up, int *depth, int *held, int *front_at) {
    int64_t top[2] = {0, 0}, most = 0;
    for (int q = t->n_super - 1; q >= 0; q--) {
        depth[q] = up[q] < 0 ? 0 : !depth[up[q]];
        held[q] = 0;
    }
    for (int q = 0; q < t->n_super; q++) {
        int r = t->row_start[q + 1] - t->row_start[q], side = depth[q];
        int64_t size = (int64_t)r * PL_FRONT_LD(r);
        front_at[q] = (int)top[side];
        top[side] += size;
        most = top[0] + top[1] > most ? top[0] + top[1] : most;
        if (most > INT_MAX / 4) return -1;
        top[!side] -= held[q];
        if (up[q] >= 0) held[up[q]] += (int)size;
    }
    for (int q = 0; q < t->n_super; q++) {
        int r = t->row_start[q + 1] - t->row_start[q];
        if (depth[q]) front_at[q] = (int)most - front_at[q] - r * PL_FRONT_LD(r);
    }
    return most;
}

/* Whether each panel directly follows the last of its descendants and they are contiguous. size: n_super. */
static int is_postorder(int n_super, const int *up, int *size) {
    for (int q = 0; q < n_super; q++) size[q] = 1;
    for (int q = 0; q < n_super; q++)
        if (up[q] >= 0) size[up[q]] += size[q];
    for (int q = 0; q < n_super; q++) {
        int child = q - 1, end = q - size[q];
        while (child > end && up[child] == q) child -= size[child];
        if (child != end) return 0;
    }
    return 1;
}

/* Rows and values of the panels; the index part of the arena grows from `at`. 0 if the arena is too small. */
static int lay_out(pl_sparse *s, supernodes *t, size_t at, int *work) {
    int n_super = t->n_super, *length = work, *mark = work + t->n, *up = work + 2 * t->n;
    int *value_start = PL_PART(s, int, value_start);
    size_t end = s->arena + s->arena_size;
    climb(t, NULL, length, mark, up);
    int64_t rows = 0, values = 0;
    for (int q = 0; q < n_super; q++) {
        int64_t w = t->first[q + 1] - t->first[q], r = length[q];
        t->row_start[q] = (int)rows;
        value_start[q] = (int)values;
        rows += r;
        values += w * w + 2 * w * r;
        if (rows > INT_MAX || values > INT_MAX / 2) return 0;
    }
    t->row_start[n_super] = (int)rows;
    value_start[n_super] = (int)values;
    if (!is_postorder(n_super, up, mark)) return 0;
    int64_t front = place_fronts(t, up, length, mark, PL_PART(s, int, front_at));
    if (front < 0) return 0;
    size_t real = sizeof(pl_real), scalar = (size_t)s->scalar;
    s->super_row = at;
    s->relative = at + (size_t)rows * sizeof(int) + 4 * sizeof(int); /* the solve reads four at a time */
    s->super_value = (s->relative + (size_t)rows * sizeof(int) + 63) / 64 * 64;
    s->front = (s->super_value + ((size_t)values * scalar + PL_PADDING) * real + 63) / 64 * 64;
    /* the graph lies at the end of the arena until the rows are listed: they must not meet */
    size_t graph = (size_t)((const char *)t->start - (const char *)s);
    if (s->relative > graph || s->front + ((size_t)front * scalar + PL_PADDING) * real > end) return 0;
    climb(t, PL_PART(s, int, super_row), length, mark, up);
    for (int q = 0; q < 4; q++) PL_PART(s, int, super_row)[rows + q] = 0;
    place_rows(t, PL_PART(s, int, super_row), PL_PART(s, int, relative), PL_PART(s, int, shared));
    s->n_super = n_super;
    s->super_entries = values;
    return 1;
}

/* Whether dense panels beat columns. Measured on grids, chains and circuits (bench_lu_sparse.c): a panel has
 * a fixed cost, a column pays per operation, so what counts is the arithmetic per column; they break even
 * near PL_SUPER_FLOPS. Panels work on B + B', columns on B: where fewer than half of the entries have a
 * partner across the diagonal, columns may have far less to do. */
static int pays_off(const supernodes *t, int64_t n_a) {
    int64_t flops = 0, edges = t->start[t->n] / 2;
    for (int j = 0; j < t->n; j++) flops += 2 * (int64_t)t->count[j] * t->count[j];
    if (PL_SUPER_FLOPS == 0) return 1;
    return flops >= PL_SUPER_FLOPS * (int64_t)t->n && 2 * (n_a - t->n) >= 3 * edges;
}

int pl_super_analyse(pl_sparse *s, const pl_pattern *a) {
    size_t n = (size_t)s->n, integer = sizeof(int), at = s->arena, end = s->arena + s->arena_size;
    size_t graph = ((n + 1) + 2 * (size_t)s->n_a) * integer;
    s->super_first = at;
    s->super_of = s->super_parent = at += (n + 1) * integer;
    s->row_start = at += n * integer;
    s->value_start = at += (n + 1) * integer;
    s->entry_start = at += (n + 1) * integer;
    s->front_at = at += (n + 1) * integer;
    s->shared = at += n * integer;
    s->source = at += n * integer;
    s->target = at += (size_t)s->n_a * integer;
    at += (size_t)s->n_a * integer;
    if (at + graph + 64 > end) return 0;
    int *work = PL_PART(s, int, work), *parent = work, *count = work + n, *column_place = work + 2 * n;
    int *start = (int *)(void *)((char *)s + (end - graph) / 64 * 64), *adjacent = start + n + 1;
    const int *column_order = PL_PART(s, int, column_order);
    for (int k = 0; k < s->n; k++) column_place[column_order[k]] = k;
    pl_tree_graph(a, PL_PART(s, int, position), column_place, start, adjacent, work + 3 * n);
    pl_tree_parent(s->n, start, adjacent, parent, work + 3 * n);
    pl_tree_count(s->n, start, adjacent, parent, count, work + 3 * n);
    supernodes t = {s->n,
                    start,
                    adjacent,
                    parent,
                    count,
                    PL_PART(s, int, super_first),
                    PL_PART(s, int, super_of),
                    PL_PART(s, int, row_start),
                    0};
    if (!pays_off(&t, s->n_a)) return 0;
    int fits = 0;
    for (int strict = 1; strict <= 4 && !fits; strict *= 2) {
        /* room for the true sizes: x is free between factorisations */
        find_supernodes(&t, strict, PL_PART(s, int64_t, x));
        cut(&t, work + 3 * n);
        fits = lay_out(s, &t, at, work + 3 * n);
    }
    if (!fits) return 0;
    place_entries(s, a, column_place);
    /* the panels of columns are not needed any more */
    int *of = PL_PART(s, int, super_of), *up = PL_PART(s, int, super_parent);
    const int *row = PL_PART(s, int, super_row);
    for (int q = 0; q < t.n_super; q++) /* a parent comes later: of what is read nothing is overwritten yet */
        up[q] = t.row_start[q] < t.row_start[q + 1] ? of[row[t.row_start[q]]] : -1;
    return 1;
}
