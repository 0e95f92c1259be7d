/* Desktop only. What the parent says about an FMU, as typed data: see pl_fmu_head. */
#include "fmu.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const incomplete = "the table of the FMU is not complete";

typedef struct reader {
    const char *at, *end;
    int failed;
} reader;

/* The next `count` things of so many bytes each. */
static const void *take(reader *r, int64_t count, size_t each) {
    const char *here = r->at;
    int64_t room = (int64_t)((size_t)(r->end - r->at) / each);
    if (count < 0 || count > room || count > INT_MAX) {
        r->failed = 1;
        return NULL;
    }
    size_t bytes = ((size_t)count * each + 7) & ~(size_t)7;
    if (bytes > (size_t)(r->end - r->at)) bytes = (size_t)(r->end - r->at);
    r->at += bytes;
    return here;
}

static int read_vector(reader *r, const pl_fmu_head *head, int which, pl_fmu_vector *v) {
    v->n = (int)head->n[which];
    v->m = (int)head->m[which];
    v->variable = take(r, head->m[which], sizeof(pl_fmu_variable));
    if (r->failed) return 0;
    v->first = malloc(((size_t)v->m + 1) * sizeof *v->first);
    if (!v->first) return 0;
    int64_t sum = 0;
    for (int k = 0; k < v->m; k++) {
        const pl_fmu_variable *one = v->variable + k;
        v->first[k] = (int)sum;
        sum += one->size;
        if (one->size < 0 || one->type < 0 || one->type >= PL_FMU_N_TYPES || sum > v->n) return 0;
    }
    v->first[v->m] = (int)sum;
    return sum == v->n;
}

static int read_texts(pl_fmu *f, reader *r) {
    int64_t count = f->head->n_texts;
    if (count < PL_FMU_CATEGORIES || count > 100000) return 0;
    f->text = calloc((size_t)count, sizeof *f->text);
    if (!f->text) return 0;
    for (int64_t k = 0; k < count; k++) {
        const char *end = memchr(r->at, 0, (size_t)(r->end - r->at));
        if (!end) return 0;
        f->text[k] = r->at;
        r->at = end + 1;
    }
    return 1;
}

/* Memory for values on their way: the largest vector in the largest type. */
static int make_room(pl_fmu *f) {
    size_t largest = 1, variables = 1;
    for (int k = 0; k < PL_FMU_N_VECTORS; k++) {
        if ((size_t)f->vector[k].n > largest) largest = (size_t)f->vector[k].n;
        if ((size_t)f->vector[k].m > variables) variables = (size_t)f->vector[k].m;
    }
    size_t n_x = (size_t)f->vector[PL_FMU_X].n + 1;
    f->scratch = malloc(largest * sizeof(double) + 16);
    f->packed = malloc(largest * sizeof(double) + 16);
    f->references = malloc((variables + 1) * sizeof *f->references);
    f->chosen = malloc(variables + 1);
    f->u_set = calloc((size_t)f->vector[PL_FMU_U].n + 1, sizeof(double));
    f->x_set = calloc(3 * n_x, sizeof(double));
    if (!f->scratch || !f->packed || !f->references || !f->chosen || !f->u_set || !f->x_set) return 0;
    f->x_now = f->x_set + n_x;
    f->x_nominal = f->x_now + n_x;
    return 1;
}

const char *pl_fmu_read_table(pl_fmu *f, void *bytes, int64_t size) {
    reader r = {bytes, (const char *)bytes + size, 0};
    f->table = bytes;
    f->head = take(&r, 1, sizeof *f->head);
    if (r.failed) return incomplete;
    const pl_fmu_head *head = f->head;
    for (int k = 0; k < PL_FMU_N_VECTORS; k++)
        if (head->n[k] < 0 || head->n[k] > INT_MAX || !read_vector(&r, head, k, &f->vector[k]))
            return incomplete;
    f->derivative = take(&r, head->m[PL_FMU_X], sizeof(uint32_t));
    f->x_start = take(&r, head->n[PL_FMU_X], sizeof(double));
    f->nominal = take(&r, head->n[PL_FMU_X], sizeof(double));
    f->u_start = take(&r, head->n[PL_FMU_U], sizeof(double));
    f->p_start = take(&r, head->n[PL_FMU_P], sizeof(double));
    f->s_start = take(&r, head->n[PL_FMU_S], sizeof(double));
    if (head->n_jac >= 0) {
        f->jac_start = take(&r, head->n[PL_FMU_X] + 1, sizeof(int32_t));
        f->jac_row = take(&r, head->n_jac, sizeof(int32_t));
    }
    if (r.failed || !read_texts(f, &r) || !make_room(f)) return incomplete;
    const pl_fmu_vector *u = &f->vector[PL_FMU_U];
    f->n_continuous = 0;
    for (int k = 0; k < u->m; k++)
        if (u->variable[k].flags & PL_FMU_CONTINUOUS) f->n_continuous += u->variable[k].size;
    return NULL;
}

void pl_fmu_free_table(pl_fmu *f) {
    for (int k = 0; k < PL_FMU_N_VECTORS; k++) free(f->vector[k].first);
    free((void *)f->text);
    free(f->scratch);
    free(f->packed);
    free(f->references);
    free(f->chosen);
    free(f->u_set);
    free(f->x_set);
    free(f->reading.index);
    free(f->reading.place);
    free(f->reading.reference);
    free(f->reading.value);
    free(f->table);
}
