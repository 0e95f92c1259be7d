/* A room with a heater and a thermostat, as an FMU of FMI 2.0 for model exchange. The parameter `fault` lets it crash (1) or
 * hang (2) after an hour, to show what pliant makes of that. Declarations from the text of the standard. */
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

typedef enum { OK, WARNING, DISCARD, ERROR } status;
typedef void (*logger)(void *environment, const char *instance, int level, const char *category,
                       const char *text, ...);
typedef struct {
    logger log;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *finished, *environment;
} callbacks;
typedef struct {
    int again, terminate, nominals, states, next_defined;
    double next;
} event_info;

enum { TIME, T, DER_T, T_OUT, POWER, LOSS, SET_POINT, FAULT, N_REAL, HEATS = N_REAL };
typedef struct {
    const callbacks *host;
    double value[N_REAL];
    int heats;
} room;

static const double START[N_REAL] = {0.0, 18.0, 0.0, 5.0, 8.0, 0.25, 20.0, 0.0};
#define EXPORT __attribute__((visibility("default")))

EXPORT const char *fmi2GetTypesPlatform(void) {
    return "default";
}
EXPORT const char *fmi2GetVersion(void) {
    return "2.0";
}

static void reset(room *m) {
    for (int k = 0; k < N_REAL; k++) m->value[k] = START[k];
    m->heats = 1;
}

EXPORT void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *place,
                             const callbacks *host, int visible, int debug) {
    room *m = calloc(1, sizeof *m);
    (void)name, (void)kind, (void)guid, (void)place, (void)visible, (void)debug;
    if (m) m->host = host, reset(m);
    return m;
}
EXPORT void fmi2FreeInstance(void *m) {
    free(m);
}
EXPORT int fmi2Reset(void *m) {
    reset(m);
    return OK;
}

#define PLAIN(name)                                                                                          \
    EXPORT int name(void *m) {                                                                               \
        (void)m;                                                                                             \
        return OK;                                                                                           \
    }
PLAIN(fmi2EnterInitializationMode)
PLAIN(fmi2ExitInitializationMode)
PLAIN(fmi2Terminate)
PLAIN(fmi2EnterEventMode)
PLAIN(fmi2EnterContinuousTimeMode)

EXPORT int fmi2SetDebugLogging(void *m, int on, size_t n, const char *const *category) {
    (void)m, (void)on, (void)n, (void)category;
    return OK;
}
EXPORT int fmi2SetupExperiment(void *m, int has_tolerance, double tolerance, double start, int has_stop,
                               double stop) {
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    ((room *)m)->value[TIME] = start;
    return OK;
}

static double derivative(const room *m) {
    return (m->heats ? m->value[POWER] : 0.0) - m->value[LOSS] * (m->value[T] - m->value[T_OUT]);
}

EXPORT int fmi2GetReal(room *m, const unsigned *reference, size_t n, double *value) {
    m->value[DER_T] = derivative(m);
    for (size_t k = 0; k < n; k++) value[k] = m->value[reference[k] % N_REAL];
    return OK;
}
EXPORT int fmi2SetReal(room *m, const unsigned *reference, size_t n, const double *value) {
    for (size_t k = 0; k < n; k++) m->value[reference[k] % N_REAL] = value[k];
    return OK;
}
EXPORT int fmi2GetBoolean(const room *m, const unsigned *reference, size_t n, int *value) {
    (void)reference;
    for (size_t k = 0; k < n; k++) value[k] = m->heats;
    return OK;
}
EXPORT int fmi2SetTime(room *m, double t) {
    m->value[TIME] = t;
    return OK;
}
EXPORT int fmi2SetContinuousStates(room *m, const double *x, size_t n) {
    (void)n;
    m->value[T] = x[0];
    return OK;
}
EXPORT int fmi2GetContinuousStates(const room *m, double *x, size_t n) {
    (void)n;
    x[0] = m->value[T];
    return OK;
}
EXPORT int fmi2GetNominalsOfContinuousStates(const room *m, double *x, size_t n) {
    (void)m, (void)n;
    x[0] = 20.0;
    return OK;
}
EXPORT int fmi2GetDerivatives(room *m, double *out, size_t n) {
    volatile double *nowhere = NULL;
    (void)n;
    if (m->value[TIME] > 1.0 && m->value[FAULT] == 1.0) out[0] = *nowhere;
    while (m->value[TIME] > 1.0 && m->value[FAULT] == 2.0) m->value[DER_T] += 1.0;
    out[0] = derivative(m);
    return OK;
}

/* Half a degree of hysteresis. */
static double distance(const room *m) {
    return m->value[T] - m->value[SET_POINT] - (m->heats ? 0.5 : -0.5);
}
EXPORT int fmi2GetEventIndicators(const room *m, double *z, size_t n) {
    (void)n;
    z[0] = distance(m);
    return OK;
}
EXPORT int fmi2NewDiscreteStates(room *m, event_info *info) {
    const event_info none = {0};
    *info = none;
    if (m->heats ? distance(m) >= 0.0 : distance(m) <= 0.0) {
        m->heats = !m->heats;
        m->host->log(m->host->environment, "room", OK, "switch", "heater %s at %g degrees",
                     m->heats ? "on" : "off", m->value[T]);
    }
    return OK;
}
EXPORT int fmi2CompletedIntegratorStep(room *m, int no_undo, int *event, int *terminate) {
    (void)m, (void)no_undo;
    *event = *terminate = 0;
    return OK;
}
