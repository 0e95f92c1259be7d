/* Pattern of the supernodal form: which rows a panel has and where its values lie. Which columns share a panel is decided
 * in lu_sparse_join.c, which also moves columns: the orders in the block change with it.
 *
 * The rows of all panels come from row subtrees, on panels instead of columns: row k belongs to every panel met when
 * climbing from the panels of its neighbours i < k; since k ascends, rows come out sorted and the first row
 * of a panel names its parent.
 *
 * Sources: Liu, The multifrontal method for sparse matrix solution, SIAM Review 34 (1992) 82-109 (supernodes,
 * tree); Davis, Direct Methods (2006), 4 and 6.
 *
 * Memory: panels take w^2 + 2 w r values, contributions r^2 each while they wait on the stack. If they do not
 * fit in the arena, fewer are joined; if that does not help, the matrix is left to the column form. */
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

/* The next offset that lies on a line of the cache, as the arena does. */
static size_t next_line(const pl_sparse *s, size_t offset) {
    return s->arena + (offset - s->arena + 63) / 64 * 64;
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
    s->super_value = next_line(s, s->relative + (size_t)rows * sizeof(int));
    s->front = next_line(s, s->super_value + ((size_t)values * scalar + PL_PADDING) * real);
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

/* list[k] = list[order[k]]; copy: n */
static void reorder(int n, const int *order, int *list, int *copy) {
    memcpy(copy, list, (size_t)n * sizeof(int));
    for (int k = 0; k < n; k++) list[k] = copy[order[k]];
}

/* Places of rows and columns from the orders, and the graph on places. */
static void make_graph(pl_sparse *s, const pl_pattern *a, int *column_place, int *start, int *adjacent,
                       int *mark) {
    const int *row_order = PL_PART(s, int, row_order), *column_order = PL_PART(s, int, column_order);
    int *position = PL_PART(s, int, position);
    for (int k = 0; k < s->n; k++) {
        column_place[column_order[k]] = k;
        position[row_order[k]] = k;
    }
    pl_tree_graph(a, position, column_place, start, adjacent, mark);
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
    if (at + graph + 17 * (n + 1) * integer + 64 > end) return 0;
    int *work = PL_PART(s, int, work), *parent = work, *count = work + n, *column_place = work + 2 * n;
    int *mark = work + 3 * n, *start = (int *)(void *)((char *)s + (end - graph) / 64 * 64),
        *adjacent = start + n + 1;
    int *order =
        (int *)(void *)((char *)s + at); /* what the panels will use is free until they are laid out */
    supernodes t = {s->n,
                    start,
                    adjacent,
                    parent,
                    count,
                    PL_PART(s, int, super_first),
                    PL_PART(s, int, super_of),
                    PL_PART(s, int, row_start),
                    0};
    int fits = 0;
    make_graph(s, a, column_place, start, adjacent, mark);
    for (int strict = 1; strict <= 64 && !fits; strict *= 8) {
        pl_tree_parent(s->n, start, adjacent, parent, mark);
        pl_tree_count(s->n, start, adjacent, parent, count, mark);
        if (!pays_off(&t, s->n_a)) return 0;
        t.n_super = pl_tree_join(s->n, parent, count, strict, order, t.first, order + n);
        reorder(s->n, order, PL_PART(s, int, row_order), order + n);
        reorder(s->n, order, PL_PART(s, int, column_order), order + n);
        make_graph(s, a, column_place, start, adjacent, mark);
        for (int q = 0; q < t.n_super; q++)
            for (int k = t.first[q]; k < t.first[q + 1]; k++) t.of[k] = q;
        fits = lay_out(s, &t, at, mark);
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
