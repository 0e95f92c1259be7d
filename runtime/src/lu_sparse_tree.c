/* The graph of a matrix plus its transpose, its elimination tree, the sizes of the columns of its factor.
 *
 * If pivots are taken down the diagonal in order, eliminating node j makes its later neighbours a clique. The
 * parent of j is the first of these: parent(j) = min { i > j : l_ij != 0 }. Row k of L is the part of the
 * tree that is met when climbing from every neighbour i < k of node k until k or a node already met (the row
 * subtree).
 *
 * Sources: Liu, The role of elimination trees in sparse factorization, SIAM J. Matrix Anal. Appl. 11 (1990),
 * with path compression (4.) and row subtrees (3.); Davis, Direct Methods for Sparse Linear Systems
 * (2006), 4.1-4.5; Gilbert, Ng & Peyton, SIAM J. Matrix Anal. Appl. 15 (1994) for counts.
 *
 * We deviate: the counts walk every row subtree, O(entries of L), instead of the nearly linear skeleton
 * algorithm of Gilbert, Ng & Peyton. One walk costs a small part of one numeric refactorisation and needs no
 * postorder, two levels of ancestors or leaf tests. */
#include "lu_sparse_private.h"

void pl_tree_graph(const pl_pattern *a, const int *row_node, const int *column_node, int *start,
                   int *adjacent, int *mark) {
    int n = a->n_cols;
    for (int k = 0; k <= n; k++) start[k] = 0;
    for (int j = 0; j < n; j++) {
        int v = column_node[j];
        for (int p = a->start[j]; p < a->start[j + 1]; p++) {
            int u = row_node[a->row[p]];
            if (u == v) continue;
            start[u]++;
            start[v]++;
        }
    }
    int total = 0;
    for (int k = 0; k < n; k++) {
        int length = start[k];
        start[k] = total;
        total += length;
    }
    for (int j = 0; j < n; j++) {
        int v = column_node[j];
        for (int p = a->start[j]; p < a->start[j + 1]; p++) {
            int u = row_node[a->row[p]];
            if (u == v) continue;
            adjacent[start[u]++] = v;
            adjacent[start[v]++] = u;
        }
    }
    /* start[k] is now the end of k's list; an edge stored in both halves of the matrix is there twice */
    for (int k = 0; k < n; k++) mark[k] = -1;
    int to = 0, from = 0;
    for (int k = 0; k < n; k++) {
        int end = start[k];
        start[k] = to;
        for (; from < end; from++) {
            int i = adjacent[from];
            if (mark[i] == k) continue;
            mark[i] = k;
            adjacent[to++] = i;
        }
    }
    start[n] = to;
}

void pl_tree_parent(int n, const int *start, const int *adjacent, int *parent, int *ancestor) {
    for (int k = 0; k < n; k++) {
        parent[k] = -1;
        ancestor[k] = -1;
        for (int p = start[k]; p < start[k + 1]; p++) {
            int i = adjacent[p];
            while (i >= 0 && i < k) {
                int up = ancestor[i];
                ancestor[i] = k; /* compress: k is above everything met so far */
                if (up < 0) parent[i] = k;
                i = up;
            }
        }
    }
}

void pl_tree_count(int n, const int *start, const int *adjacent, const int *parent, int *count, int *mark) {
    for (int k = 0; k < n; k++) {
        count[k] = 1;
        mark[k] = k;
        for (int p = start[k]; p < start[k + 1]; p++) {
            int i = adjacent[p];
            if (i > k) continue;
            for (; mark[i] != k; i = parent[i]) {
                mark[i] = k;
                count[i]++;
            }
        }
    }
}

void pl_tree_postorder(int n, const int *parent, const int *count, int *order, int *work) {
    int *child = work, *sibling = work + n, *bucket = work + 2 * n;
    /* nodes by count, ascending, into `order` for the moment */
    for (int k = 0; k <= n; k++) bucket[k] = 0;
    for (int k = 0; k < n; k++) bucket[count[k]]++;
    for (int c = 1; c <= n; c++) bucket[c] += bucket[c - 1];
    for (int k = n - 1; k >= 0; k--) order[--bucket[count[k]]] = k;
    /* pushing the largest first leaves it at the end of its parent's list: a panel then follows its largest
     * child directly, which lets supernodes be contiguous */
    int root = -1;
    for (int k = 0; k < n; k++) child[k] = -1;
    for (int q = n - 1; q >= 0; q--) {
        int k = order[q];
        int *list = parent[k] < 0 ? &root : &child[parent[k]];
        sibling[k] = *list;
        *list = k;
    }
    int *stack = bucket, depth = 0, out = 0;
    while (root >= 0) {
        stack[depth++] = root;
        root = sibling[root];
        while (depth > 0) {
            int k = stack[depth - 1];
            int first = child[k];
            if (first < 0) {
                order[out++] = k;
                depth--;
            } else {
                child[k] = sibling[first];
                stack[depth++] = first;
            }
        }
    }
}
