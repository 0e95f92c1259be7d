/* A matrix of states whose size is a structural parameter: x[i,j]' = -a[i,j] x[i,j] + u[j], y[i] = sum_j x[i,j]. */
#include "fmu.h"

enum { LARGEST = 4, ELEMENTS = LARGEST * LARGEST };

typedef struct {
    double x[ELEMENTS], der_x[ELEMENTS], a[ELEMENTS], u[LARGEST], y[LARGEST]; /* rows one after another */
    uint64_t rows, columns;
} values;

enum { TIME, ROWS, COLUMNS, X, DER_X, A, U, Y, COUNT };

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [ROWS] = {UINT64, STRUCTURAL, offsetof(values, rows), 1},
    [COLUMNS] = {UINT64, STRUCTURAL, offsetof(values, columns), 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 0},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 0},
    [A] = {FLOAT64, PARAMETER, offsetof(values, a), 0},
    [U] = {FLOAT64, INPUT, offsetof(values, u), 0},
    [Y] = {FLOAT64, OUTPUT, offsetof(values, y), 0},
};

static size_t states(const fmu *m) {
    const values *v = (const values *)m->data;
    return v->rows <= LARGEST && v->columns <= LARGEST ? v->rows * v->columns : 0;
}

static size_t count(const fmu *m, uint32_t reference) {
    const values *v = (const values *)m->data;
    return reference == U ? v->columns : reference == Y ? v->rows : states(m);
}

static void start(fmu *m) {
    values *v = (values *)m->data;
    *v = (values){.rows = 2, .columns = 3};
    for (int i = 0; i < ELEMENTS; i++) {
        v->x[i] = i + 1.0;
        v->a[i] = i + 1.0;
    }
}

static int initialise(fmu *m) {
    return states(m) > 0 ? FMU_OK : FMU_ERROR;
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    for (size_t i = 0; i < states(m); i++) out[i] = -v->a[i] * v->x[i] + v->u[i % v->columns];
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    for (size_t i = 0; i < v->rows; i++) {
        v->y[i] = 0.0;
        for (size_t j = 0; j < v->columns; j++) v->y[i] += v->x[i * v->columns + j];
    }
    return derivatives(m, v->der_x);
}

const fmu_model model = {
    .token = "{arrays}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .step = 1e-3,
    .states = states,
    .count = count,
    .start = start,
    .initialise = initialise,
    .derivatives = derivatives,
    .outputs = outputs,
};
