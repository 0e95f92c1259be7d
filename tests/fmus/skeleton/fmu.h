#ifndef FMU_H
#define FMU_H
/* What a test FMU is made of: one `model` (NAME/model.c), this skeleton, and a shell for FMI 2 or FMI 3.

   Flags of the build:
     STRICT=1                the shell refuses every call that the standard does not allow at that point
     MINIMAL                 the functions that an FMU may leave out are left out
     NO_MODEL_EXCHANGE, NO_CO_SIMULATION
     HOSTILE_BUILD           the FMU may misbehave (hostile.h) */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifndef WRONG_COUNTS /* FMI 3: other numbers of states and indicators than the description has */
#define WRONG_COUNTS 0
#endif
#ifndef CROWD /* references beyond the table are further names of the first state */
#define CROWD 0
#endif
#ifndef STRICT
#define STRICT 0
#endif

enum { FMU_OK, FMU_WARNING, FMU_DISCARD, FMU_ERROR, FMU_FATAL }; /* as in both versions */

typedef enum {
    FLOAT32,
    FLOAT64,
    INT8,
    UINT8,
    INT16,
    UINT16,
    INT32,
    UINT32,
    INT64,
    UINT64,
    BOOLEAN,
    STRING,
    BINARY,
    ENUMERATION /* int64_t in the data */
} fmu_type;

typedef enum {
    INDEPENDENT,
    CONSTANT,
    PARAMETER, /* fixed */
    TUNABLE,
    STRUCTURAL,
    INPUT, /* continuous */
    DISCRETE_INPUT,
    STATE,
    DERIVATIVE,
    OUTPUT,
    LOCAL
} fmu_role;

enum { TEXT_SIZE = 64, ORDERS = 3, VARIABLES = 64 };
typedef struct {
    char text[TEXT_SIZE];
} fmu_text;
typedef struct {
    size_t size;
    uint8_t bytes[TEXT_SIZE];
} fmu_bytes;

/* The value reference is the place in the table; reference 0 is time. */
typedef struct {
    fmu_type type;
    fmu_role role;
    size_t offset; /* in the model's data */
    size_t count;  /* elements; 0: ask model.count */
} fmu_variable;

enum {
    INSTANTIATED = 1,
    CONFIGURATION = 2,
    INITIALISATION = 4,
    EVENT = 8,
    CONTINUOUS = 16,
    STEP = 32,
    TERMINATED = 64,
    INTERMEDIATE = 128
};

typedef struct {
    bool again, terminate, nominals_changed, states_changed, next_defined;
    double next;
} fmu_event;

typedef struct fmu {
    uint32_t magic;
    bool co_simulation, logging, events_used, early_allowed;
    int mode;
    double time, start, stop;
    bool stop_defined, set_up, updated;
    bool written;             /* co-simulation: inputs were set since the last step */
    double completed, before; /* times of the last accepted step and of the one before */
    double entered;           /* time of the last event */
    fmu_event event;
    double slopes[VARIABLES][ORDERS]; /* input derivatives of FMI 2 */
    double slopes_from;
    bool slopes_used, terminated;
    char name[TEXT_SIZE];
    /* callbacks of the version in use */
    void *environment;
    void (*log)(struct fmu *, int status, const char *category, const char *text);
    void (*callback)(void);                                  /* what `log` needs */
    bool (*update)(struct fmu *, double time, double *stop); /* intermediate update; true: return early */
    void (*update_callback)(void);
    void (*release)(void *);
    double data[]; /* the model's; the continuous states come first */
} fmu;

typedef struct {
    const char *token;
    size_t size; /* bytes of data */
    const fmu_variable *variables;
    size_t variable_count, state_count, indicator_count;
    double step; /* largest step inside co-simulation */
    size_t (*states)(const fmu *);
    size_t (*count)(const fmu *, uint32_t reference);
    void (*start)(fmu *);
    int (*instantiated)(fmu *, const char *resources);
    int (*initialise)(fmu *);
    int (*derivatives)(fmu *, double *derivatives);
    int (*outputs)(fmu *); /* everything that is calculated, from states, inputs and parameters */
    int (*indicators)(fmu *, double *indicators);
    int (*event)(fmu *, fmu_event *);
    int (*completed)(fmu *, bool *event, bool *terminate);
    void (*nominals)(fmu *, double *nominals);
    double (*partial)(fmu *, uint32_t unknown, uint32_t known);
} fmu_model;

extern const fmu_model model;

/* core.c */
fmu *fmu_new(void *memory, const char *name, const char *token, bool co_simulation);
size_t fmu_size(void);
void fmu_reset(fmu *m);
void fmu_say(fmu *m, int status, const char *format, ...);
bool fmu_may(fmu *m, const char *call, int modes);
bool fmu_true(fmu *m, bool condition, const char *call, const char *what);
size_t fmu_states(const fmu *m);
size_t fmu_count(const fmu *m, uint32_t reference);
void *fmu_value(fmu *m, const char *call, uint32_t reference, fmu_type type);
bool fmu_settable(fmu *m, const char *call, uint32_t reference, int version);
bool fmu_readable(fmu *m, const char *call, uint32_t reference, int version);
int fmu_refresh(fmu *m);
int fmu_set_time(fmu *m, const char *call, double time);
int fmu_derivatives(fmu *m, double *derivatives);
int fmu_nominals(fmu *m, double *nominals);
int fmu_indicators(fmu *m, double *indicators);
int fmu_begin_event(fmu *m, const char *call);
int fmu_update(fmu *m, fmu_event *event);
int fmu_completed(fmu *m, bool *event, bool *terminate);
int fmu_exit_initialisation(fmu *m);
int fmu_directional(fmu *m, const char *call, const uint32_t *unknowns, size_t unknown_count,
                    const uint32_t *knowns, size_t known_count, const double *seed, double *product);

/* step.c: co-simulation on the equations of model exchange */
typedef struct {
    bool event, terminate, early;
    double reached;
} fmu_stepped;
int fmu_step(fmu *m, const char *call, double time, double step, fmu_stepped *out);

#endif
