/* Colouring of the columns of a pattern: columns of one colour share no row.
 *
 * Greedy: each column in turn gets the smallest colour that no column sharing a row with it has. Several orders are
 * tried and the best is kept: natural (optimal on bands), largest first (by neighbours counted with and without
 * repetition), smallest last (optimal where the column
 * intersection graph is chordal, as for blocks on the diagonal; D. W. Matula, L. L. Beck, J. ACM 30 (1983) 417-427).
 * No colouring needs fewer colours than the longest row has entries: once that is reached nothing more is tried.
 * Literature: A. R. Curtis, M. J. D. Powell, J. K. Reid, J. Inst. Maths Applics 13 (1974) 117-119; T. F. Coleman, J. J.
 * More, SIAM J. Numer. Anal. 20 (1983) 187-209; A. H. Gebremedhin, F. Manne, A. Pothen, SIAM Review 47 (2005) 629-705.
 */
#include "pliant.h"

#include <string.h>

#define MOST_PAIRS 100000000.0 /* columns met by way of rows: beyond, only the natural order is tried */

size_t pl_colour_work(int n_cols) {
    return 7 * (size_t)n_cols + 1;
}

/* Columns in the order given. mark: n. */
static int greedy(const pl_pattern *a, const int *row_start, const int *row_column, const int *order,
                  int *colour, int *mark) {
    int n = a->n_cols, n_colours = 0;
    for (int j = 0; j < n; j++) colour[j] = mark[j] = -1;
    for (int o = 0; o < n; o++) {
        int j = order[o], c = 0;
        for (int k = a->start[j]; k < a->start[j + 1]; k++)
            for (int r = row_start[a->row[k]]; r < row_start[a->row[k] + 1]; r++)
                if (colour[row_column[r]] >= 0) mark[colour[row_column[r]]] = j;
        while (mark[c] == j) c++;
        colour[j] = c;
        if (c + 1 > n_colours) n_colours = c + 1;
    }
    return n_colours;
}

/* Number of other columns that share a row with column j; mark[k] == j: k is one of them. */
static int neighbours(const pl_pattern *a, const int *row_start, const int *row_column, int j, int *mark) {
    int count = 0;
    mark[j] = j;
    for (int k = a->start[j]; k < a->start[j + 1]; k++)
        for (int r = row_start[a->row[k]]; r < row_start[a->row[k] + 1]; r++)
            if (mark[row_column[r]] != j) {
                mark[row_column[r]] = j;
                count++;
            }
    return count;
}

/* The same counted once for each row, as far as it fits into the buckets. */
static int meetings(const pl_pattern *a, const int *row_start, int j) {
    int64_t count = 0;
    for (int k = a->start[j]; k < a->start[j + 1]; k++)
        count += row_start[a->row[k] + 1] - row_start[a->row[k]] - 1;
    return count < a->n_cols ? (int)count : a->n_cols - 1;
}

/* Columns by degree, as doubly linked lists: head[d] is the first of degree d, lowest column on top at first. */
typedef struct buckets {
    int *head, *next, *previous, *degree;
} buckets;

static void push(buckets *b, int j, int d) {
    b->degree[j] = d;
    b->previous[j] = -1;
    b->next[j] = b->head[d];
    if (b->head[d] >= 0) b->previous[b->head[d]] = j;
    b->head[d] = j;
}

static void take_out(buckets *b, int j) {
    if (b->previous[j] >= 0)
        b->next[b->previous[j]] = b->next[j];
    else
        b->head[b->degree[j]] = b->next[j];
    if (b->next[j] >= 0) b->previous[b->next[j]] = b->previous[j];
}

/* The column with the fewest neighbours left goes to the end of the order; repeat with the rest. */
static void smallest_last(const pl_pattern *a, const int *row_start, const int *row_column, buckets *b,
                          int *order, int *mark) {
    int n = a->n_cols, least = 0;
    for (int place = n - 1; place >= 0; place--) {
        while (b->head[least] < 0) least++;
        int j = b->head[least];
        take_out(b, j);
        b->degree[j] = -1;
        order[place] = j;
        mark[j] = n + j; /* marks of this pass differ from those that counted the degrees */
        for (int k = a->start[j]; k < a->start[j + 1]; k++)
            for (int r = row_start[a->row[k]]; r < row_start[a->row[k] + 1]; r++) {
                int other = row_column[r];
                if (b->degree[other] < 0 || mark[other] == n + j) continue;
                mark[other] = n + j;
                take_out(b, other);
                push(b, other, b->degree[other] - 1);
            }
        if (least > 0) least--;
    }
}

static void largest_first(int n, const buckets *b, int *order) {
    int place = 0;
    for (int d = n - 1; d >= 0; d--)
        for (int j = b->head[d]; j >= 0; j = b->next[j]) order[place++] = j;
}

int pl_colour(const pl_pattern *a, const int *row_start, const int *row_column, int *colour, int *work) {
    int n = a->n_cols, bound = 0, best;
    double pairs = 0.0;
    int *order = work, *mark = work + n, *tried = work + 2 * n;
    buckets b = {work + 3 * n, work + 4 * n, work + 5 * n, work + 6 * n};
    for (int i = 0; i < a->n_rows; i++) {
        int length = row_start[i + 1] - row_start[i];
        if (length > bound) bound = length;
        pairs += (double)length * (double)length;
    }
    for (int j = 0; j < n; j++) order[j] = j;
    if (bound == n) { /* a full row: every column needs a colour of its own */
        memcpy(colour, order, (size_t)n * sizeof(int));
        return n;
    }
    best = greedy(a, row_start, row_column, order, colour, mark);
    if (best <= bound || pairs > MOST_PAIRS) return best;
    for (int pass = 0; pass < 3 && best > bound; pass++) {
        if (pass < 2) {
            for (int j = 0; j < n; j++) b.head[j] = mark[j] = -1;
            for (int j = n - 1; j >= 0; j--)
                push(&b, j, pass ? neighbours(a, row_start, row_column, j, mark) : meetings(a, row_start, j));
            largest_first(n, &b, order);
        } else {
            smallest_last(a, row_start, row_column, &b, order, mark);
        }
        int found = greedy(a, row_start, row_column, order, tried, mark);
        if (found < best) {
            best = found;
            memcpy(colour, tried, (size_t)n * sizeof(int));
        }
    }
    return best;
}
