#ifndef PL_FMI2_H
#define PL_FMI2_H
/* The C interface of an FMU by FMI 2.0, declared in this project's own words after the standard's text.
   A host loads the functions by their symbols; an FMU defines them:

   - pl_fmi2_get_real_fn is the pointer type of fmi2GetReal, pl_fmi2_get_real_type the function's own type;
   - PL_FMI2_FUNCTIONS(X) calls X(symbol, name) for each function: X(fmi2GetReal, get_real), ...
     PL_FMI2_COMMON, PL_FMI2_MODEL_EXCHANGE and PL_FMI2_CO_SIMULATION are its parts;
   - PL_FMI2_EXPORTS declares every function under its symbol, for those who write an FMU. */
#include <stddef.h>

#if defined(_WIN32)
#define PL_FMI2_EXPORT __declspec(dllexport)
#else
#define PL_FMI2_EXPORT __attribute__((visibility("default")))
#endif

#define PL_FMI2_PLATFORM "default" /* what fmi2GetTypesPlatform returns for the types below */
#define PL_FMI2_VERSION  "2.0"

typedef void *pl_fmi2_component;   /* one instance, as the FMU knows it */
typedef void *pl_fmi2_environment; /* handed back to the callbacks */
typedef void *pl_fmi2_saved;       /* a saved state of the complete instance ("FMUstate") */
typedef unsigned int pl_fmi2_reference;
typedef double pl_fmi2_real;
typedef int pl_fmi2_integer;
typedef int pl_fmi2_boolean; /* 0 or 1 */
typedef char pl_fmi2_char;
typedef const pl_fmi2_char *pl_fmi2_string; /* ends with a null character, UTF-8 */
typedef char pl_fmi2_byte;

enum { PL_FMI2_FALSE = 0, PL_FMI2_TRUE = 1 };

typedef enum {
    PL_FMI2_OK = 0,
    PL_FMI2_WARNING = 1,
    PL_FMI2_DISCARD = 2, /* these arguments cannot be evaluated: try a smaller step */
    PL_FMI2_ERROR = 3,   /* this instance is lost */
    PL_FMI2_FATAL = 4,   /* every instance of the FMU is lost */
    PL_FMI2_PENDING = 5  /* co-simulation: the step is still being computed */
} pl_fmi2_status;

typedef enum { PL_FMI2_MODEL_EXCHANGE_KIND = 0, PL_FMI2_CO_SIMULATION_KIND = 1 } pl_fmi2_kind;

typedef enum {
    PL_FMI2_DO_STEP_STATUS = 0,
    PL_FMI2_PENDING_STATUS = 1,
    PL_FMI2_LAST_SUCCESSFUL_TIME = 2,
    PL_FMI2_TERMINATED = 3
} pl_fmi2_status_kind;

/* What one iteration of an event found. */
typedef struct {
    pl_fmi2_boolean again;            /* a further iteration is needed */
    pl_fmi2_boolean terminate;        /* the model asks to end the simulation */
    pl_fmi2_boolean nominals_changed; /* nominal values of the continuous states are others now */
    pl_fmi2_boolean states_changed;   /* so are the states themselves */
    pl_fmi2_boolean next_defined;     /* the next time event is known */
    pl_fmi2_real next_time;
} pl_fmi2_event_info;

typedef void (*pl_fmi2_log_fn)(pl_fmi2_environment environment, pl_fmi2_string instance,
                               pl_fmi2_status status, pl_fmi2_string category, pl_fmi2_string format, ...);
typedef void *(*pl_fmi2_allocate_fn)(size_t count, size_t size); /* memory filled with zeros */
typedef void (*pl_fmi2_free_fn)(void *memory);
typedef void (*pl_fmi2_step_finished_fn)(pl_fmi2_environment environment, pl_fmi2_status status);

/* Stays valid and unchanged as long as the instance lives. */
typedef struct {
    pl_fmi2_log_fn log;
    pl_fmi2_allocate_fn allocate;
    pl_fmi2_free_fn release;
    pl_fmi2_step_finished_fn step_finished; /* may be NULL: then doStep returns when it is done */
    pl_fmi2_environment environment;
} pl_fmi2_callbacks;

/* Signatures that several functions share. */
typedef pl_fmi2_status pl_fmi2_plain_type(pl_fmi2_component instance);
typedef pl_fmi2_status pl_fmi2_read_numbers_type(pl_fmi2_component instance, pl_fmi2_real values[],
                                                 size_t count);

/* Both kinds: information, creation, initialisation */
typedef const char *pl_fmi2_get_types_platform_type(void);
typedef const char *pl_fmi2_get_version_type(void);
typedef pl_fmi2_status pl_fmi2_set_debug_logging_type(pl_fmi2_component instance, pl_fmi2_boolean on,
                                                      size_t count, const pl_fmi2_string categories[]);
typedef pl_fmi2_component pl_fmi2_instantiate_type(pl_fmi2_string name, pl_fmi2_kind kind,
                                                   pl_fmi2_string guid, pl_fmi2_string resources_uri,
                                                   const pl_fmi2_callbacks *callbacks,
                                                   pl_fmi2_boolean visible, pl_fmi2_boolean logging_on);
typedef void pl_fmi2_free_instance_type(pl_fmi2_component instance);
typedef pl_fmi2_status pl_fmi2_setup_experiment_type(pl_fmi2_component instance,
                                                     pl_fmi2_boolean tolerance_defined,
                                                     pl_fmi2_real tolerance, pl_fmi2_real start,
                                                     pl_fmi2_boolean stop_defined, pl_fmi2_real stop);
typedef pl_fmi2_plain_type pl_fmi2_enter_initialization_mode_type;
typedef pl_fmi2_plain_type pl_fmi2_exit_initialization_mode_type;
typedef pl_fmi2_plain_type pl_fmi2_terminate_type;
typedef pl_fmi2_plain_type pl_fmi2_reset_type;

/* Both kinds: values */
typedef pl_fmi2_status pl_fmi2_get_real_type(pl_fmi2_component instance, const pl_fmi2_reference references[],
                                             size_t count, pl_fmi2_real values[]);
typedef pl_fmi2_status pl_fmi2_get_integer_type(pl_fmi2_component instance,
                                                const pl_fmi2_reference references[], size_t count,
                                                pl_fmi2_integer values[]);
typedef pl_fmi2_status pl_fmi2_get_boolean_type(pl_fmi2_component instance,
                                                const pl_fmi2_reference references[], size_t count,
                                                pl_fmi2_boolean values[]);
typedef pl_fmi2_status pl_fmi2_get_string_type(pl_fmi2_component instance,
                                               const pl_fmi2_reference references[], size_t count,
                                               pl_fmi2_string values[]);
typedef pl_fmi2_status pl_fmi2_set_real_type(pl_fmi2_component instance, const pl_fmi2_reference references[],
                                             size_t count, const pl_fmi2_real values[]);
typedef pl_fmi2_status pl_fmi2_set_integer_type(pl_fmi2_component instance,
                                                const pl_fmi2_reference references[], size_t count,
                                                const pl_fmi2_integer values[]);
typedef pl_fmi2_status pl_fmi2_set_boolean_type(pl_fmi2_component instance,
                                                const pl_fmi2_reference references[], size_t count,
                                                const pl_fmi2_boolean values[]);
typedef pl_fmi2_status pl_fmi2_set_string_type(pl_fmi2_component instance,
                                               const pl_fmi2_reference references[], size_t count,
                                               const pl_fmi2_string values[]);

/* Both kinds: the complete state of an instance, and partial derivatives */
typedef pl_fmi2_status pl_fmi2_get_fmu_state_type(pl_fmi2_component instance, pl_fmi2_saved *state);
typedef pl_fmi2_status pl_fmi2_set_fmu_state_type(pl_fmi2_component instance, pl_fmi2_saved state);
typedef pl_fmi2_status pl_fmi2_free_fmu_state_type(pl_fmi2_component instance, pl_fmi2_saved *state);
typedef pl_fmi2_status pl_fmi2_serialized_fmu_state_size_type(pl_fmi2_component instance, pl_fmi2_saved state,
                                                              size_t *size);
typedef pl_fmi2_status pl_fmi2_serialize_fmu_state_type(pl_fmi2_component instance, pl_fmi2_saved state,
                                                        pl_fmi2_byte bytes[], size_t size);
typedef pl_fmi2_status pl_fmi2_deserialize_fmu_state_type(pl_fmi2_component instance,
                                                          const pl_fmi2_byte bytes[], size_t size,
                                                          pl_fmi2_saved *state);
typedef pl_fmi2_status pl_fmi2_get_directional_derivative_type(
    pl_fmi2_component instance, const pl_fmi2_reference unknowns[], size_t unknown_count,
    const pl_fmi2_reference knowns[], size_t known_count, const pl_fmi2_real seed[], pl_fmi2_real product[]);

/* Model exchange */
typedef pl_fmi2_plain_type pl_fmi2_enter_event_mode_type;
typedef pl_fmi2_status pl_fmi2_new_discrete_states_type(pl_fmi2_component instance, pl_fmi2_event_info *info);
typedef pl_fmi2_plain_type pl_fmi2_enter_continuous_time_mode_type;
typedef pl_fmi2_status pl_fmi2_completed_integrator_step_type(pl_fmi2_component instance,
                                                              pl_fmi2_boolean no_return_before_this_point,
                                                              pl_fmi2_boolean *enter_event_mode,
                                                              pl_fmi2_boolean *terminate);
typedef pl_fmi2_status pl_fmi2_set_time_type(pl_fmi2_component instance, pl_fmi2_real time);
typedef pl_fmi2_status pl_fmi2_set_continuous_states_type(pl_fmi2_component instance,
                                                          const pl_fmi2_real states[], size_t count);
typedef pl_fmi2_read_numbers_type pl_fmi2_get_derivatives_type;
typedef pl_fmi2_read_numbers_type pl_fmi2_get_event_indicators_type;
typedef pl_fmi2_read_numbers_type pl_fmi2_get_continuous_states_type;
typedef pl_fmi2_read_numbers_type pl_fmi2_get_nominals_of_continuous_states_type;

/* Co-simulation */
typedef pl_fmi2_status pl_fmi2_set_real_input_derivatives_type(pl_fmi2_component instance,
                                                               const pl_fmi2_reference references[],
                                                               size_t count, const pl_fmi2_integer orders[],
                                                               const pl_fmi2_real values[]);
typedef pl_fmi2_status pl_fmi2_get_real_output_derivatives_type(pl_fmi2_component instance,
                                                                const pl_fmi2_reference references[],
                                                                size_t count, const pl_fmi2_integer orders[],
                                                                pl_fmi2_real values[]);
typedef pl_fmi2_status pl_fmi2_do_step_type(pl_fmi2_component instance, pl_fmi2_real time, pl_fmi2_real step,
                                            pl_fmi2_boolean no_return_before_this_point);
typedef pl_fmi2_plain_type pl_fmi2_cancel_step_type;
typedef pl_fmi2_status pl_fmi2_get_status_type(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                               pl_fmi2_status *value);
typedef pl_fmi2_status pl_fmi2_get_real_status_type(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                                    pl_fmi2_real *value);
typedef pl_fmi2_status pl_fmi2_get_integer_status_type(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                                       pl_fmi2_integer *value);
typedef pl_fmi2_status pl_fmi2_get_boolean_status_type(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                                       pl_fmi2_boolean *value);
typedef pl_fmi2_status pl_fmi2_get_string_status_type(pl_fmi2_component instance, pl_fmi2_status_kind kind,
                                                      pl_fmi2_string *value);

/* clang-format off */
#define PL_FMI2_COMMON(X)                                         \
    X(fmi2GetTypesPlatform, get_types_platform)                   \
    X(fmi2GetVersion, get_version)                                \
    X(fmi2SetDebugLogging, set_debug_logging)                     \
    X(fmi2Instantiate, instantiate)                               \
    X(fmi2FreeInstance, free_instance)                            \
    X(fmi2SetupExperiment, setup_experiment)                      \
    X(fmi2EnterInitializationMode, enter_initialization_mode)     \
    X(fmi2ExitInitializationMode, exit_initialization_mode)       \
    X(fmi2Terminate, terminate)                                   \
    X(fmi2Reset, reset)                                           \
    X(fmi2GetReal, get_real)                                      \
    X(fmi2GetInteger, get_integer)                                \
    X(fmi2GetBoolean, get_boolean)                                \
    X(fmi2GetString, get_string)                                  \
    X(fmi2SetReal, set_real)                                      \
    X(fmi2SetInteger, set_integer)                                \
    X(fmi2SetBoolean, set_boolean)                                \
    X(fmi2SetString, set_string)                                  \
    X(fmi2GetFMUstate, get_fmu_state)                             \
    X(fmi2SetFMUstate, set_fmu_state)                             \
    X(fmi2FreeFMUstate, free_fmu_state)                           \
    X(fmi2SerializedFMUstateSize, serialized_fmu_state_size)      \
    X(fmi2SerializeFMUstate, serialize_fmu_state)                 \
    X(fmi2DeSerializeFMUstate, deserialize_fmu_state)             \
    X(fmi2GetDirectionalDerivative, get_directional_derivative)

#define PL_FMI2_MODEL_EXCHANGE(X)                                 \
    X(fmi2EnterEventMode, enter_event_mode)                       \
    X(fmi2NewDiscreteStates, new_discrete_states)                 \
    X(fmi2EnterContinuousTimeMode, enter_continuous_time_mode)    \
    X(fmi2CompletedIntegratorStep, completed_integrator_step)     \
    X(fmi2SetTime, set_time)                                      \
    X(fmi2SetContinuousStates, set_continuous_states)             \
    X(fmi2GetDerivatives, get_derivatives)                        \
    X(fmi2GetEventIndicators, get_event_indicators)               \
    X(fmi2GetContinuousStates, get_continuous_states)             \
    X(fmi2GetNominalsOfContinuousStates, get_nominals_of_continuous_states)

#define PL_FMI2_CO_SIMULATION(X)                                  \
    X(fmi2SetRealInputDerivatives, set_real_input_derivatives)    \
    X(fmi2GetRealOutputDerivatives, get_real_output_derivatives)  \
    X(fmi2DoStep, do_step)                                        \
    X(fmi2CancelStep, cancel_step)                                \
    X(fmi2GetStatus, get_status)                                  \
    X(fmi2GetRealStatus, get_real_status)                         \
    X(fmi2GetIntegerStatus, get_integer_status)                   \
    X(fmi2GetBooleanStatus, get_boolean_status)                   \
    X(fmi2GetStringStatus, get_string_status)

#define PL_FMI2_FUNCTIONS(X) PL_FMI2_COMMON(X) PL_FMI2_MODEL_EXCHANGE(X) PL_FMI2_CO_SIMULATION(X)

#define PL_FMI2_POINTER_(symbol, name) typedef pl_fmi2_##name##_type *pl_fmi2_##name##_fn;
PL_FMI2_FUNCTIONS(PL_FMI2_POINTER_)

#define PL_FMI2_EXPORT_(symbol, name) PL_FMI2_EXPORT pl_fmi2_##name##_type symbol;
#define PL_FMI2_EXPORTS PL_FMI2_FUNCTIONS(PL_FMI2_EXPORT_)
/* clang-format on */

#endif
