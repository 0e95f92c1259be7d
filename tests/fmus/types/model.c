/* Every type as a discrete input and as an output that repeats it, and a parameter; x' = float64_in. */
#include "fmu.h"
#include <string.h>

typedef struct {
    double x, der_x;
    double float64_in, float64_out;
    float float32_in, float32_out;
    int8_t int8_in, int8_out;
    uint8_t uint8_in, uint8_out;
    int16_t int16_in, int16_out;
    uint16_t uint16_in, uint16_out;
    int32_t int32_in, int32_out, integer_parameter;
    uint32_t uint32_in, uint32_out;
    int64_t int64_in, int64_out, enumeration_in, enumeration_out;
    uint64_t uint64_in, uint64_out;
    bool boolean_in, boolean_out, boolean_parameter;
    fmu_text string_parameter, string_out, string_in;
    int32_t string_length; /* of string_in */
    fmu_bytes binary_in, binary_out;
} values;

enum {
    TIME,
    X,
    DER_X,
    FLOAT64_IN,
    FLOAT64_OUT,
    FLOAT32_IN,
    FLOAT32_OUT,
    INT8_IN,
    INT8_OUT,
    UINT8_IN,
    UINT8_OUT,
    INT16_IN,
    INT16_OUT,
    UINT16_IN,
    UINT16_OUT,
    INT32_IN,
    INT32_OUT,
    UINT32_IN,
    UINT32_OUT,
    INT64_IN,
    INT64_OUT,
    UINT64_IN,
    UINT64_OUT,
    BOOLEAN_IN,
    BOOLEAN_OUT,
    ENUMERATION_IN,
    ENUMERATION_OUT,
    BINARY_IN,
    BINARY_OUT,
    STRING_PARAMETER,
    STRING_OUT,
    INTEGER_PARAMETER,
    BOOLEAN_PARAMETER,
    STRING_IN,
    STRING_LENGTH,
    COUNT
};

#define PAIR(kind, name)                                                                                     \
    [kind##_IN] = {kind, DISCRETE_INPUT, offsetof(values, name##_in), 1},                                    \
    [kind##_OUT] = {kind, OUTPUT, offsetof(values, name##_out), 1}

static const fmu_variable variables[COUNT] = {
    [TIME] = {FLOAT64, INDEPENDENT, 0, 1},
    [X] = {FLOAT64, STATE, offsetof(values, x), 1},
    [DER_X] = {FLOAT64, DERIVATIVE, offsetof(values, der_x), 1},
    [FLOAT64_IN] = {FLOAT64, INPUT, offsetof(values, float64_in), 1},
    [FLOAT64_OUT] = {FLOAT64, OUTPUT, offsetof(values, float64_out), 1},
    PAIR(FLOAT32, float32),
    PAIR(INT8, int8),
    PAIR(UINT8, uint8),
    PAIR(INT16, int16),
    PAIR(UINT16, uint16),
    PAIR(INT32, int32),
    PAIR(UINT32, uint32),
    PAIR(INT64, int64),
    PAIR(UINT64, uint64),
    PAIR(BOOLEAN, boolean),
    PAIR(ENUMERATION, enumeration),
    PAIR(BINARY, binary),
    [STRING_PARAMETER] = {STRING, PARAMETER, offsetof(values, string_parameter), 1},
    [STRING_OUT] = {STRING, OUTPUT, offsetof(values, string_out), 1},
    [INTEGER_PARAMETER] = {INT32, PARAMETER, offsetof(values, integer_parameter), 1},
    [BOOLEAN_PARAMETER] = {BOOLEAN, PARAMETER, offsetof(values, boolean_parameter), 1},
    [STRING_IN] = {STRING, DISCRETE_INPUT, offsetof(values, string_in), 1},
    [STRING_LENGTH] = {INT32, OUTPUT, offsetof(values, string_length), 1},
};

static void start(fmu *m) {
    values *v = (values *)m->data;
    *v = (values){.enumeration_in = 1, .integer_parameter = 7, .boolean_parameter = true};
    strcpy(v->string_parameter.text, "as \"written\" & <so>");
    v->binary_in = (fmu_bytes){2, {0xca, 0xfe}};
}

static int derivatives(fmu *m, double *out) {
    out[0] = ((values *)m->data)->float64_in;
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    v->float64_out = v->float64_in;
    v->float32_out = v->float32_in;
    v->int8_out = v->int8_in;
    v->uint8_out = v->uint8_in;
    v->int16_out = v->int16_in;
    v->uint16_out = v->uint16_in;
    v->int32_out = v->int32_in;
    v->uint32_out = v->uint32_in;
    v->int64_out = v->int64_in;
    v->uint64_out = v->uint64_in;
    v->boolean_out = v->boolean_in;
    v->enumeration_out = v->enumeration_in;
    v->binary_out = v->binary_in;
    v->string_out = v->string_parameter;
    v->string_length = (int32_t)strlen(v->string_in.text);
    return derivatives(m, &v->der_x);
}

const fmu_model model = {
    .token = "{types}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = COUNT,
    .state_count = 1,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
};
