/* A row for each column and a fill-reducing order of elimination, from the pattern alone.
 *
 * 1. Maximum transversal: match each column j with a row m(j), a_m(j),j != 0. Existing diagonal entries
 * first, then any free row, then augmenting paths found depth first with look-ahead (Duff, ACM TOMS 7 (1981)
 * 315-330).
 * 2. Approximate minimum degree on the graph of B + B', B = matched matrix (Amestoy, Davis & Duff, SIAM J.
 * Matrix Anal. Appl. 17 (1996) 886-905). Eliminated nodes are kept as elements: the list L_e of variables
 * that e made a clique. Variable i sees elements E_i and variables A_i. Eliminating p: L_p = (A_p u U_{e in
 * E_p} L_e) \ {p},    degree of i in L_p is bounded by d_i = min(n_left - |i|, d_i + |L_p \ i|, |A_i \ i| +
 * |L_p \ i| + sum_{e in E_i \ p} |L_e \ L_p|)   (4.). Elements inside L_p are absorbed, also those p never
 * saw (aggressive); variables left with nothing but p are eliminated with it (mass elimination); variables
 * with equal lists become one (supervariables, found by hash); rows with more than 10 sqrt(n) entries are
 * taken out and ordered last.
 * 3. Postorder of the elimination tree and column counts (lu_sparse_tree.c).
 *
 * We deviate: members of a supervariable hang in a chain on their principal variable, so the elimination
 * order is written directly and the postorder is that of the elimination tree, not of the assembly tree (same
 * fill). The counts are those of B + B': exact where B's pattern is symmetric, an upper bound elsewhere. */
#include "lu_sparse_private.h"

#include <limits.h>

/* ------------------------------------------------------------------------------- maximum transversal */

typedef struct transversal {
    const pl_pattern *a;
    int *row_of;    /* n: row of a column, -1: none */
    int *column_of; /* n: column of a row, -1: none */
    int *cheap;     /* n: how far the search for a free row went; a row once taken never becomes free */
    int *visited;   /* n: last search that met this column */
    int *stack;     /* n */
    int *next;      /* n: how far the depth-first search went in this column */
} transversal;

/* First free row of column j, or -1. */
static int free_row(transversal *t, int j) {
    int end = t->a->start[j + 1];
    while (t->cheap[j] < end) {
        int row = t->a->row[t->cheap[j]++];
        if (t->column_of[row] < 0) return row;
    }
    return -1;
}

/* Augmenting path from column root to a free row. 1 if found. */
static int augment(transversal *t, int root) {
    int depth = 0;
    t->stack[0] = root;
    t->visited[root] = root;
    t->next[root] = t->a->start[root];
    while (depth >= 0) {
        int j = t->stack[depth];
        if (t->next[j] == t->a->start[j]) { /* first visit: look ahead before going deeper */
            int row = free_row(t, j);
            if (row >= 0) {
                for (; depth >= 0; depth--) { /* shift the matching along the path */
                    j = t->stack[depth];
                    int old = t->row_of[j];
                    t->row_of[j] = row;
                    t->column_of[row] = j;
                    row = old;
                }
                return 1;
            }
        }
        int down = -1;
        while (t->next[j] < t->a->start[j + 1] && down < 0) {
            int other = t->column_of[t->a->row[t->next[j]++]];
            if (t->visited[other] != root) down = other;
        }
        if (down < 0) {
            depth--;
        } else {
            t->visited[down] = root;
            t->next[down] = t->a->start[down];
            t->stack[++depth] = down;
        }
    }
    return 0;
}

/* Returns the structural rank; *unmatched is a column without row, or -1. Both maps are completed to
 * permutations. */
static int match(transversal *t, int *unmatched) {
    const pl_pattern *a = t->a;
    int n = a->n_cols, rank = 0;
    *unmatched = -1;
    for (int j = 0; j < n; j++) t->row_of[j] = t->column_of[j] = t->visited[j] = -1;
    for (int j = 0; j < n; j++) {
        t->cheap[j] = a->start[j];
        for (int p = a->start[j]; p < a->start[j + 1]; p++)
            if (a->row[p] == j) t->row_of[j] = t->column_of[j] = j;
    }
    for (int j = 0; j < n; j++) {
        if (t->row_of[j] >= 0) continue;
        int row = free_row(t, j);
        if (row < 0) continue;
        t->row_of[j] = row;
        t->column_of[row] = j;
    }
    for (int j = 0; j < n; j++) {
        if (t->row_of[j] >= 0 || augment(t, j))
            rank++;
        else if (*unmatched < 0)
            *unmatched = j;
    }
    for (int j = 0, row = 0; j < n && rank < n; j++) {
        if (t->row_of[j] >= 0) continue;
        while (t->column_of[row] >= 0) row++;
        t->row_of[j] = row;
        t->column_of[row] = j;
    }
    return rank;
}

/* ------------------------------------------------------------------------- approximate minimum degree */

enum { VARIABLE, ELEMENT, DEAD };

typedef struct quotient {
    int n;
    int *pool; /* lists: of a variable its elements, then its variables; of an element its variables */
    int64_t pool_size;
    int64_t used;
    int *begin, *length; /* n: list of a node */
    int *n_elements;     /* n: how many elements a variable's list starts with */
    int *state;          /* n: VARIABLE, ELEMENT, DEAD */
    int *weight; /* n: columns a variable stands for; negative while in L_p; 0 if not a live variable */
    int *degree; /* n: bound on the degree; of an element: weight of its variables */
    int *head, *next, *previous; /* n: doubly linked lists of variables by degree */
    int *mark;                   /* n: of an element, tag + |L_e \ L_p|; else compared with tag */
    int *bucket, *hash, *chain;  /* n: variables by hash */
    int *follow, *last;          /* n: members of a supervariable: next member; last member */
    int tag;
    int lowest; /* no variable has a smaller degree */
    int left;   /* columns not yet eliminated */
    int *order; /* n */
    int n_order;
} quotient;

static void unlink_degree(quotient *q, int i) {
    int before = q->previous[i], after = q->next[i];
    if (after >= 0) q->previous[after] = before;
    if (before >= 0)
        q->next[before] = after;
    else
        q->head[q->degree[i]] = after;
}

static void link_degree(quotient *q, int i, int degree) {
    int first = q->head[degree];
    q->degree[i] = degree;
    q->next[i] = first;
    q->previous[i] = -1;
    if (first >= 0) q->previous[first] = i;
    q->head[degree] = i;
    if (degree < q->lowest) q->lowest = degree;
}

/* A tag above every mark in use, with `room` free values above it. */
static void new_tag(quotient *q, int room) {
    if (q->tag < INT_MAX - 2 * (room + 1)) {
        q->tag += room + 1;
        return;
    }
    for (int i = 0; i < q->n; i++) q->mark[i] = 0;
    q->tag = 1;
}

/* j joins the supervariable (or pivot) i. */
static void join(quotient *q, int i, int j) {
    q->follow[q->last[i]] = j;
    q->last[i] = q->last[j];
    q->weight[j] = 0;
    q->state[j] = DEAD;
}

static void emit(quotient *q, int p) {
    for (int i = p; i >= 0; i = q->follow[i]) q->order[q->n_order++] = i;
}

/* Move all live lists to the front of the pool. The first entry of each list is kept in begin[] while the
 * pool holds the list's owner, as a negative number, in its place. */
static void compress(quotient *q) {
    for (int i = 0; i < q->n; i++) {
        if (q->state[i] == DEAD || q->length[i] == 0) continue;
        int at = q->begin[i];
        q->begin[i] = q->pool[at];
        q->pool[at] = -i - 1;
    }
    int64_t to = 0, from = 0;
    while (from < q->used) {
        int owner = -q->pool[from++] - 1;
        if (owner < 0) continue;
        q->pool[to] = q->begin[owner];
        q->begin[owner] = (int)to++;
        for (int k = 1; k < q->length[owner]; k++) q->pool[to++] = q->pool[from++];
    }
    q->used = to;
}

/* Collects the live variables of one list into the pool at `to`; returns the new end. */
static int64_t gather(quotient *q, int64_t from, int count, int64_t to, int *weight) {
    for (int64_t end = from + count; from < end; from++) {
        int i = q->pool[from], w = q->weight[i];
        if (w <= 0) continue;
        *weight += w;
        q->weight[i] = -w;
        q->pool[to++] = i;
        unlink_degree(q, i);
    }
    return to;
}

/* Turns variable p into an element; returns the weight of L_p. */
static int make_element(quotient *q, int p) {
    int n_elements = q->n_elements[p], weight = 0;
    int64_t to;
    if (n_elements == 0) { /* L_p = A_p, in place */
        q->weight[p] = -q->weight[p];
        to = gather(q, q->begin[p], q->length[p], q->begin[p], &weight);
    } else {
        int64_t bound = q->length[p];
        for (int k = 0; k < n_elements; k++) bound += q->length[q->pool[q->begin[p] + k]];
        if (bound > q->left) bound = q->left;
        if (q->pool_size - q->used < bound) compress(q);
        q->weight[p] = -q->weight[p];
        int begin = q->begin[p];
        int64_t start = q->used;
        to = start;
        for (int k = 0; k < n_elements; k++) {
            int e = q->pool[begin + k];
            if (q->state[e] != ELEMENT) continue;
            to = gather(q, q->begin[e], q->length[e], to, &weight);
            q->state[e] = DEAD;
        }
        to = gather(q, begin + n_elements, q->length[p] - n_elements, to, &weight);
        q->begin[p] = (int)start;
        q->used = to;
    }
    q->length[p] = (int)(to - q->begin[p]);
    q->n_elements[p] = 0;
    q->state[p] = ELEMENT;
    return weight;
}

/* mark[e] - tag = |L_e \ L_p| for every element that shares a variable with L_p. */
static void measure_elements(quotient *q, int p) {
    for (int k = 0; k < q->length[p]; k++) {
        int i = q->pool[q->begin[p] + k], w = -q->weight[i];
        for (int m = 0; m < q->n_elements[i]; m++) {
            int e = q->pool[q->begin[i] + m];
            if (q->state[e] != ELEMENT) continue;
            if (q->mark[e] < q->tag) q->mark[e] = q->tag + q->degree[e];
            q->mark[e] -= w;
        }
    }
}

/* Rewrites the list of variable i in L_p: drops what p covers, adds p; bounds the degree without L_p; hashes.
 * Returns that bound, or -1 if nothing but p is left. */
static int prune_variable(quotient *q, int i, int p) {
    int *list = q->pool + q->begin[i];
    int to = 0, degree = 0;
    unsigned hash = (unsigned)p;
    for (int k = 0; k < q->n_elements[i]; k++) {
        int e = list[k];
        if (q->state[e] != ELEMENT) continue;
        int outside = q->mark[e] - q->tag;
        if (outside == 0) { /* aggressive absorption: L_e is inside L_p */
            q->state[e] = DEAD;
            continue;
        }
        degree += outside;
        hash += (unsigned)e;
        list[to++] = e;
    }
    int n_elements = to;
    for (int k = q->n_elements[i]; k < q->length[i]; k++) {
        int v = list[k];
        if (q->weight[v] <= 0) continue; /* dead, in L_p, or p itself */
        degree += q->weight[v];
        hash += (unsigned)v;
        list[to++] = v;
    }
    if (to == 0) return -1;
    /* at least one entry (p, or an element that p absorbed) was dropped: there is room for p */
    list[to] = list[n_elements];
    list[n_elements] = p;
    q->n_elements[i] = n_elements + 1;
    q->length[i] = to + 1;
    q->hash[i] = (int)(hash % (unsigned)q->n);
    return degree;
}

/* Variables of one hash bucket with equal lists become one. */
static void merge_bucket(quotient *q, int first) {
    for (int i = first; i >= 0; i = q->chain[i]) {
        if (q->weight[i] == 0 || q->chain[i] < 0) continue;
        int length = q->length[i];
        new_tag(q, 0);
        for (int k = 0; k < length; k++) q->mark[q->pool[q->begin[i] + k]] = q->tag;
        for (int j = q->chain[i]; j >= 0; j = q->chain[j]) {
            if (q->weight[j] == 0 || q->length[j] != length || q->n_elements[j] != q->n_elements[i]) continue;
            int k = 0;
            while (k < length && q->mark[q->pool[q->begin[j] + k]] == q->tag) k++;
            if (k < length) continue;
            q->weight[i] += q->weight[j];
            join(q, i, j);
        }
    }
}

static void merge_equal(quotient *q, int p) {
    int *list = q->pool + q->begin[p], count = q->length[p];
    for (int k = 0; k < count; k++) {
        int i = list[k];
        if (q->weight[i] == 0) continue;
        q->chain[i] = q->bucket[q->hash[i]];
        q->bucket[q->hash[i]] = i;
    }
    for (int k = 0; k < count; k++) {
        int i = list[k];
        if (q->weight[i] == 0) continue;
        int first = q->bucket[q->hash[i]];
        q->bucket[q->hash[i]] = -1;
        if (first >= 0) merge_bucket(q, first);
    }
}

static void eliminate(quotient *q, int p) {
    unlink_degree(q, p);
    int eliminated = q->weight[p];
    int weight = make_element(q, p);
    int *list = q->pool + q->begin[p], count = q->length[p];
    new_tag(q, q->n);
    measure_elements(q, p);
    for (int k = 0; k < count; k++) {
        int i = list[k], w = -q->weight[i], degree = prune_variable(q, i, p);
        if (degree < 0) { /* mass elimination */
            eliminated += w;
            weight -= w;
            join(q, p, i);
        } else if (degree < q->degree[i]) {
            q->degree[i] = degree;
        }
    }
    q->left -= eliminated;
    new_tag(q, q->n); /* the marks of the elements end here */
    merge_equal(q, p);
    int to = 0;
    for (int k = 0; k < count; k++) {
        int i = list[k], w = -q->weight[i];
        if (w <= 0) continue;
        q->weight[i] = w;
        int degree = q->degree[i] + weight - w;
        link_degree(q, i, degree < q->left - w ? degree : q->left - w);
        list[to++] = i;
    }
    q->length[p] = to;
    q->degree[p] = weight;
    q->weight[p] = 0;
    if (to == 0) q->state[p] = DEAD;
    emit(q, p);
}

/* Smallest integer r with r * r >= v, without the math library. */
static int root(int v) {
    int r = 0;
    while ((int64_t)r * r < v) r++;
    return r;
}

/* pool holds the graph, start its n + 1 offsets (left unchanged); order receives the elimination order. */
static void minimum_degree(quotient *q, const int *start) {
    int n = q->n, dense = 10 * root(n), n_dense = 0;
    if (dense < 16) dense = 16;
    q->used = start[n];
    q->tag = 1;
    q->lowest = n;
    q->left = n;
    q->n_order = 0;
    for (int i = 0; i < n; i++) {
        q->head[i] = q->bucket[i] = q->follow[i] = -1;
        q->last[i] = i;
        q->begin[i] = start[i];
        q->length[i] = start[i + 1] - start[i];
        q->n_elements[i] = q->mark[i] = 0;
        q->state[i] = q->length[i] > dense ? DEAD : VARIABLE;
        q->weight[i] = q->state[i] == VARIABLE;
        n_dense += q->state[i] == DEAD;
    }
    q->left -= n_dense;
    for (int i = n - 1; i >= 0; i--)
        if (q->state[i] == VARIABLE) link_degree(q, i, q->length[i]);
    while (q->left > 0) {
        while (q->head[q->lowest] < 0) q->lowest++;
        eliminate(q, q->head[q->lowest]);
    }
    for (int i = 0; i < n && n_dense > 0;
         i++) /* nothing of a dense row was touched: its length tells it apart */
        if (start[i + 1] - start[i] > dense) q->order[q->n_order++] = i;
}

/* -------------------------------------------------------------------------------------------- analysis */

enum { N_ARRAYS = 18 }; /* arrays of n + 1 integers in the work memory, beside the pool */

static int64_t pool_size(int n, int n_entries) {
    int64_t graph = 2 * (int64_t)n_entries;
    return graph + graph / 5 + 2 * (int64_t)n + 1;
}

size_t pl_sparse_analyse_size(int n, int n_entries) {
    return sizeof(int) * ((size_t)pool_size(n, n_entries) + N_ARRAYS * ((size_t)n + 1));
}

/* Postorders and counts. order: elimination order of the nodes, replaced by the final one. */
static void finish_order(const pl_pattern *a, const int *row_node, int *order, int *work, int *pool,
                         pl_sparse_plan *plan) {
    int n = a->n_cols, m = n + 1;
    int *start = work, *parent = work + m, *count = work + 2 * m, *mark = work + 3 * m;
    int *column_node = work + 4 * m, *place = work + 5 * m, *post = work + 6 * m, *scratch = work + 7 * m;
    for (int k = 0; k < n; k++) column_node[order[k]] = k;
    for (int i = 0; i < n; i++) place[i] = column_node[row_node[i]];
    pl_tree_graph(a, place, column_node, start, pool, mark);
    pl_tree_parent(n, start, pool, parent, mark);
    pl_tree_count(n, start, pool, parent, count, mark);
    pl_tree_postorder(n, parent, count, post, scratch);
    plan->n_lower = plan->n_upper = plan->flops = 0;
    for (int k = 0; k < n; k++) {
        int64_t below = count[k] - 1;
        plan->n_lower += below;
        plan->n_upper += below + 1;
        plan->flops += below + 2 * below * below;
    }
    for (int k = 0; k < n; k++) place[k] = order[post[k]];
    for (int k = 0; k < n; k++) order[k] = place[k];
}

pl_status pl_sparse_analyse(const pl_pattern *a, int *row_order, int *column_order, pl_sparse_plan *plan,
                            void *work, size_t work_size) {
    if (!a || !a->start || a->n_rows != a->n_cols || a->n_cols < 1) return PL_ARGUMENT;
    if (!row_order || !column_order || !plan || !work) return PL_ARGUMENT;
    int n = a->n_cols, m = n + 1, n_entries = a->start[n];
    if (pool_size(n, n_entries) > INT_MAX) return PL_ARGUMENT;
    if (work_size < pl_sparse_analyse_size(n, n_entries)) return PL_MEMORY;
    int *w = (int *)work, *row_of = w, *column_of = w + m, *start = w + 2 * m;
    int *pool = w + N_ARRAYS * (size_t)m;
    plan->n = n;
    transversal t = {a, row_of, column_of, w + 2 * m, w + 3 * m, w + 4 * m, w + 5 * m};
    plan->structural_rank = match(&t, &plan->unmatched);

    int *f = w + 3 * m; /* what the transversal used is free again */
    for (int j = 0; j < n; j++) column_order[j] = j;
    pl_tree_graph(a, column_of, column_order, start, pool, f);
    quotient q = {.n = n, .pool = pool, .pool_size = pool_size(n, n_entries), .begin = f, .length = f + m};
    q.n_elements = f + 2 * m, q.state = f + 3 * m, q.weight = f + 4 * m, q.degree = f + 5 * m;
    q.head = f + 6 * m, q.next = f + 7 * m, q.previous = f + 8 * m, q.mark = f + 9 * m;
    q.bucket = f + 10 * m, q.hash = f + 11 * m, q.chain = f + 12 * m, q.follow = f + 13 * m;
    q.last = f + 14 * m, q.order = column_order;
    minimum_degree(&q, start);

    finish_order(a, column_of, column_order, w + 2 * m, pool, plan);
    for (int k = 0; k < n; k++) row_order[k] = row_of[column_order[k]];
    return PL_OK;
}
