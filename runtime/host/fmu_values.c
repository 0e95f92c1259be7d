/* Desktop only. Variables of an FMU as vectors of reals, with one call for all variables of a type. Arrays are set and read
 * as a whole. The value of a String is the number of a text, from 1; 0: none, and it is left as it is. */
#include "fmu.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Reals of 2^63 and 2^64 stand for the largest integers, which they are closest to. */
#define TWO_63 9223372036854775808.0
static uint64_t closest_uint64(double value) {
    return value >= 2.0 * TWO_63 ? UINT64_MAX : (uint64_t)value;
}
static int64_t closest_int64(double value) {
    return value >= TWO_63 ? INT64_MAX : (int64_t)value;
}

#define SET3_(TYPE, c_type, name, convert)                                                                   \
    case TYPE: {                                                                                             \
        c_type *to = f->scratch;                                                                             \
        if (!f->f3.set_##name) return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL3_set_##name);                  \
        for (size_t i = 0; i < count; i++) to[i] = convert(value[i]);                                        \
        return pl_fmu_status(                                                                                \
            f, PL_FMU_CALL(f, PL_CALL3_set_##name, f->f3.set_##name(f->instance, reference, m, to, count)),  \
            PL_CALL3_set_##name);                                                                            \
    }

#define GET3_(TYPE, c_type, name)                                                                            \
    case TYPE: {                                                                                             \
        c_type *from = f->scratch;                                                                           \
        if (!f->f3.get_##name) return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL3_get_##name);                  \
        status = pl_fmu_status(                                                                              \
            f,                                                                                               \
            PL_FMU_CALL(f, PL_CALL3_get_##name, f->f3.get_##name(f->instance, reference, m, from, count)),   \
            PL_CALL3_get_##name);                                                                            \
        for (size_t i = 0; status == PL_OK && i < count; i++) value[i] = (double)from[i];                    \
        return status;                                                                                       \
    }

/* ------------------------------------------------------------------------------------------------- setting */

/* Texts of the request, one after the other. */
static const char *text_of(const pl_fmu *f, double number) {
    const char *at = f->child->given[PL_CHILD_TEXTS], *end = at ? at + f->child->bytes[PL_CHILD_TEXTS] : NULL;
    for (int k = 1; at && at < end; k++, at += strlen(at) + 1)
        if (k == (int)number) return at;
    return "";
}

static pl_status set_texts(pl_fmu *f, const uint32_t *reference, size_t m, const double *value, int count) {
    const char **to = f->scratch; /* a pointer is no larger than a double */
    int two = f->head->version == 2, call = two ? PL_CALL2_set_string : PL_CALL3_set_string;
    if (two ? !f->f2.set_string : !f->f3.set_string) return pl_fmu_status(f, PL_FMU_ABSENT, call);
    for (int i = 0; i < count; i++) to[i] = text_of(f, value[i]);
    int status = two ? PL_FMU_CALL(f, call, f->f2.set_string(f->instance, reference, m, to))
                     : PL_FMU_CALL(f, call, f->f3.set_string(f->instance, reference, m, to, (size_t)count));
    return pl_fmu_status(f, status, call);
}

static pl_status set_integers2(pl_fmu *f, int type, const uint32_t *reference, size_t m,
                               const double *value) {
    int *to = f->scratch, call = type == PL_FMU_BOOLEAN ? PL_CALL2_set_boolean : PL_CALL2_set_integer;
    for (size_t i = 0; i < m; i++) to[i] = type == PL_FMU_BOOLEAN ? value[i] != 0.0 : (int)value[i];
    if (type == PL_FMU_BOOLEAN ? !f->f2.set_boolean : !f->f2.set_integer)
        return pl_fmu_status(f, PL_FMU_ABSENT, call);
    int status = type == PL_FMU_BOOLEAN
                     ? PL_FMU_CALL(f, call, f->f2.set_boolean(f->instance, reference, m, to))
                     : PL_FMU_CALL(f, call, f->f2.set_integer(f->instance, reference, m, to));
    return pl_fmu_status(f, status, call);
}

static pl_status set3(pl_fmu *f, int type, const uint32_t *reference, size_t m, const double *value,
                      size_t count) {
    if (type == PL_FMU_FLOAT64) {
        if (!f->f3.set_float64) return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL3_set_float64);
        return pl_fmu_status(
            f,
            PL_FMU_CALL(f, PL_CALL3_set_float64, f->f3.set_float64(f->instance, reference, m, value, count)),
            PL_CALL3_set_float64);
    }
    switch (type) {
        SET3_(PL_FMU_FLOAT32, float, float32, (float))
        SET3_(PL_FMU_INT8, int8_t, int8, (int8_t))
        SET3_(PL_FMU_UINT8, uint8_t, uint8, (uint8_t))
        SET3_(PL_FMU_INT16, int16_t, int16, (int16_t))
        SET3_(PL_FMU_UINT16, uint16_t, uint16, (uint16_t))
        SET3_(PL_FMU_INT32, int32_t, int32, (int32_t))
        SET3_(PL_FMU_UINT32, uint32_t, uint32, (uint32_t))
        SET3_(PL_FMU_INT64, int64_t, int64, closest_int64)
        SET3_(PL_FMU_UINT64, uint64_t, uint64, closest_uint64)
        SET3_(PL_FMU_BOOLEAN, bool, boolean, (bool))
    default:
        return PL_ARGUMENT;
    }
}

static pl_status set_group(pl_fmu *f, int type, size_t m, const double *value, int count) {
    const uint32_t *reference = f->references;
    if (type == PL_FMU_STRING) return set_texts(f, reference, m, value, count);
    if (f->head->version == 3) return set3(f, type, reference, m, value, (size_t)count);
    if (type != PL_FMU_FLOAT64) return set_integers2(f, type, reference, m, value);
    if (!f->f2.set_real) return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL2_set_real);
    return pl_fmu_status(f,
                         PL_FMU_CALL(f, PL_CALL2_set_real, f->f2.set_real(f->instance, reference, m, value)),
                         PL_CALL2_set_real);
}

pl_status pl_fmu_set(pl_fmu *f, const pl_fmu_vector *v, const int8_t *chosen, const double *value) {
    pl_status status = PL_OK;
    for (int type = 0; type < PL_FMU_N_TYPES && status == PL_OK; type++) {
        size_t m = 0;
        int count = 0;
        for (int k = 0; k < v->m; k++) {
            const pl_fmu_variable *one = v->variable + k;
            if ((chosen && !chosen[k]) || one->type != type) continue;
            f->references[m++] = one->reference;
            memcpy(f->packed + count, value + v->first[k], (size_t)one->size * sizeof *value);
            count += one->size;
        }
        if (m > 0) status = set_group(f, type, m, f->packed, count);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------- reading */

static pl_status get_integers2(pl_fmu *f, int type, const uint32_t *reference, size_t m, double *value) {
    int *from = f->scratch, call = type == PL_FMU_BOOLEAN ? PL_CALL2_get_boolean : PL_CALL2_get_integer;
    if (type == PL_FMU_BOOLEAN ? !f->f2.get_boolean : !f->f2.get_integer)
        return pl_fmu_status(f, PL_FMU_ABSENT, call);
    int status = type == PL_FMU_BOOLEAN
                     ? PL_FMU_CALL(f, call, f->f2.get_boolean(f->instance, reference, m, from))
                     : PL_FMU_CALL(f, call, f->f2.get_integer(f->instance, reference, m, from));
    pl_status done = pl_fmu_status(f, status, call);
    for (size_t i = 0; done == PL_OK && i < m; i++)
        value[i] = type == PL_FMU_BOOLEAN ? (from[i] ? 1.0 : 0.0) : (double)from[i];
    return done;
}

static pl_status get3(pl_fmu *f, int type, const uint32_t *reference, size_t m, double *value, size_t count) {
    pl_status status;
    if (type == PL_FMU_FLOAT64) {
        if (!f->f3.get_float64) return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL3_get_float64);
        return pl_fmu_status(
            f,
            PL_FMU_CALL(f, PL_CALL3_get_float64, f->f3.get_float64(f->instance, reference, m, value, count)),
            PL_CALL3_get_float64);
    }
    switch (type) {
        GET3_(PL_FMU_FLOAT32, float, float32)
        GET3_(PL_FMU_INT8, int8_t, int8)
        GET3_(PL_FMU_UINT8, uint8_t, uint8)
        GET3_(PL_FMU_INT16, int16_t, int16)
        GET3_(PL_FMU_UINT16, uint16_t, uint16)
        GET3_(PL_FMU_INT32, int32_t, int32)
        GET3_(PL_FMU_UINT32, uint32_t, uint32)
        GET3_(PL_FMU_INT64, int64_t, int64)
        GET3_(PL_FMU_UINT64, uint64_t, uint64)
        GET3_(PL_FMU_BOOLEAN, bool, boolean)
    default:
        return PL_ARGUMENT;
    }
}

static pl_status get_group(pl_fmu *f, int type, const uint32_t *reference, size_t m, double *value,
                           int count) {
    if (f->head->version == 3) return get3(f, type, reference, m, value, (size_t)count);
    if (type != PL_FMU_FLOAT64) return get_integers2(f, type, reference, m, value);
    if (!f->f2.get_real) return pl_fmu_status(f, PL_FMU_ABSENT, PL_CALL2_get_real);
    return pl_fmu_status(f,
                         PL_FMU_CALL(f, PL_CALL2_get_real, f->f2.get_real(f->instance, reference, m, value)),
                         PL_CALL2_get_real);
}

static int more_room(pl_fmu_reading *r, const pl_fmu_vector *v, int n) {
    if (n <= r->capacity) return 1;
    free(r->index);
    free(r->place);
    r->index = malloc((size_t)n * sizeof *r->index);
    r->place = malloc((size_t)n * sizeof *r->place);
    if (!r->reference) r->reference = malloc((size_t)v->m * sizeof *r->reference + 8);
    if (!r->value) r->value = malloc((size_t)v->n * sizeof *r->value + 8);
    r->capacity = r->index && r->place && r->reference && r->value ? n : 0;
    return r->capacity > 0;
}

/* Variable that holds element i of a vector. */
static int variable_of(const pl_fmu_vector *v, int i) {
    int low = 0, high = v->m - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (v->first[middle] <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Variables that hold what is asked for, by type, and where each value will be found. */
static int plan_reading(pl_fmu *f, const pl_fmu_vector *v, int n, const int *index) {
    pl_fmu_reading *r = &f->reading;
    int *at = calloc((size_t)v->m + 1, sizeof *at); /* place of a variable's values + 1; 0: not read */
    int used = 0, values = 0;
    if (!at || !more_room(r, v, n)) {
        free(at);
        return 0;
    }
    r->n = n;
    for (int i = 0; i < n; i++) {
        r->index[i] = index ? index[i] : i;
        at[variable_of(v, r->index[i])] = -1;
    }
    for (int type = 0; type < PL_FMU_N_TYPES; type++) {
        r->group[type] = used;
        r->first[type] = values;
        for (int k = 0; k < v->m; k++) {
            if (!at[k] || v->variable[k].type != type) continue;
            at[k] = values + 1;
            r->reference[used++] = v->variable[k].reference;
            values += v->variable[k].size;
        }
    }
    r->group[PL_FMU_N_TYPES] = used;
    r->first[PL_FMU_N_TYPES] = values;
    r->direct = values == n && r->first[PL_FMU_FLOAT64 + 1] == values;
    for (int i = 0; i < n; i++) {
        int k = variable_of(v, r->index[i]);
        r->place[i] = at[k] - 1 + r->index[i] - v->first[k];
        r->direct &= r->place[i] == i;
    }
    free(at);
    return 1;
}

pl_status pl_fmu_get(pl_fmu *f, const pl_fmu_vector *v, int n, const int *index, double *value) {
    pl_fmu_reading *r = &f->reading;
    if (!index) n = v->n;
    if (n <= 0) return PL_OK;
    int known = r->n == n && r->capacity > 0;
    if (known && index) known = memcmp(r->index, index, (size_t)n * sizeof *index) == 0;
    for (int i = 0; known && !index && i < n; i++) known = r->index[i] == i;
    if (!known && !plan_reading(f, v, n, index)) return PL_MEMORY;
    double *to = r->direct ? value : r->value;
    for (int type = 0; type < PL_FMU_N_TYPES; type++) {
        int from = r->group[type], end = r->group[type + 1], at = r->first[type];
        if (from == end) continue;
        pl_status status =
            get_group(f, type, r->reference + from, (size_t)(end - from), to + at, r->first[type + 1] - at);
        if (status != PL_OK) return status;
    }
    for (int i = 0; !r->direct && i < n; i++) value[i] = r->value[r->place[i]];
    return PL_OK;
}
