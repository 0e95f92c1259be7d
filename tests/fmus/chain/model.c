/* A chain with a pattern: x_i' = k (x_(i-1) - 2 x_i + x_(i+1)), zero at both ends; modes decay at known rates. */
#include "fmu.h"

enum { N = 20 };

typedef struct {
    double x[N], der_x[N], k;
} values;

enum { TIME, X, DER_X = X + N, K = DER_X + N, COUNT };

#define PLACE(i)                                                                                             \
    [X + (i)] = {FLOAT64, STATE, offsetof(values, x) + sizeof(double) * (i), 1},                             \
         [DER_X + (i)] = {FLOAT64, DERIVATIVE, offsetof(values, der_x) + sizeof(double) * (i), 1}
#define FIVE(i) PLACE(i), PLACE((i) + 1), PLACE((i) + 2), PLACE((i) + 3), PLACE((i) + 4)

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    FIVE(0),
    FIVE(5),
    FIVE(10),
    FIVE(15),
    [K] = {FLOAT64, PARAMETER, offsetof(values, k), 1},
};

static void start(fmu *m) {
    values *v = (values *)m->data;
    v->k = 100.0;
    for (int i = 0; i < N; i++) v->x[i] = 1.0;
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    for (int i = 0; i < N; i++) {
        double left = i > 0 ? v->x[i - 1] : 0.0, right = i < N - 1 ? v->x[i + 1] : 0.0;
        out[i] = v->k * (left - 2.0 * v->x[i] + right);
    }
    return FMU_OK;
}

static int outputs(fmu *m) {
    return derivatives(m, ((values *)m->data)->der_x);
}

const fmu_model model = {
    .token = "{chain}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = N,
    .step = 1e-3,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
};
