#ifndef PL_FMI3_H
#define PL_FMI3_H
/* The C interface of an FMU by FMI 3.0, declared in this project's own words after the standard's text.
   Names are built as in pl_fmi2.h: pl_fmi3_get_float64_fn is the pointer type of fmi3GetFloat64,
   pl_fmi3_get_float64_type the function's own type, PL_FMI3_FUNCTIONS(X) calls X(symbol, name) for each function,
   PL_FMI3_EXPORTS declares them all for those who write an FMU.

   `count` is the number of value references, `value_count` the number of values: more than references where a
   variable is an array (rows one after another, in the order of the references). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define PL_FMI3_EXPORT __declspec(dllexport)
#else
#define PL_FMI3_EXPORT __attribute__((visibility("default")))
#endif

#define PL_FMI3_VERSION "3.0"

typedef void *pl_fmi3_instance;
typedef void *pl_fmi3_environment; /* handed back to the callbacks */
typedef void *pl_fmi3_saved;       /* a saved state of the complete instance ("FMUState") */
typedef uint32_t pl_fmi3_reference;
typedef float pl_fmi3_float32;
typedef double pl_fmi3_float64;
typedef int8_t pl_fmi3_int8;
typedef uint8_t pl_fmi3_uint8;
typedef int16_t pl_fmi3_int16;
typedef uint16_t pl_fmi3_uint16;
typedef int32_t pl_fmi3_int32;
typedef uint32_t pl_fmi3_uint32;
typedef int64_t pl_fmi3_int64;
typedef uint64_t pl_fmi3_uint64;
typedef bool pl_fmi3_boolean;
typedef char pl_fmi3_char;
typedef const pl_fmi3_char *pl_fmi3_string; /* ends with a null character, UTF-8 */
typedef uint8_t pl_fmi3_byte;
typedef const pl_fmi3_byte *pl_fmi3_binary;
typedef bool pl_fmi3_clock; /* true: active */

typedef enum {
    PL_FMI3_OK = 0,
    PL_FMI3_WARNING = 1,
    PL_FMI3_DISCARD = 2, /* these arguments cannot be evaluated: try a smaller step */
    PL_FMI3_ERROR = 3,   /* this instance is lost */
    PL_FMI3_FATAL = 4    /* every instance of the FMU is lost */
} pl_fmi3_status;

typedef enum {
    PL_FMI3_INDEPENDENT = 0,
    PL_FMI3_CONSTANT = 1,
    PL_FMI3_FIXED = 2,
    PL_FMI3_TUNABLE = 3,
    PL_FMI3_DISCRETE = 4,
    PL_FMI3_DEPENDENT = 5
} pl_fmi3_dependency_kind;

typedef enum {
    PL_FMI3_INTERVAL_NOT_YET_KNOWN = 0,
    PL_FMI3_INTERVAL_UNCHANGED = 1,
    PL_FMI3_INTERVAL_CHANGED = 2
} pl_fmi3_interval_qualifier;

typedef void (*pl_fmi3_log_fn)(pl_fmi3_environment environment, pl_fmi3_status status,
                               pl_fmi3_string category, pl_fmi3_string message);
typedef void (*pl_fmi3_clock_update_fn)(pl_fmi3_environment environment);
typedef void (*pl_fmi3_intermediate_update_fn)(pl_fmi3_environment environment, pl_fmi3_float64 time,
                                               pl_fmi3_boolean set_requested, pl_fmi3_boolean get_allowed,
                                               pl_fmi3_boolean step_finished,
                                               pl_fmi3_boolean can_return_early,
                                               pl_fmi3_boolean *early_return_requested,
                                               pl_fmi3_float64 *early_return_time);
typedef void (*pl_fmi3_lock_preemption_fn)(void);
typedef void (*pl_fmi3_unlock_preemption_fn)(void);

/* Signatures that several functions share. */
typedef pl_fmi3_status pl_fmi3_plain_type(pl_fmi3_instance instance);
typedef pl_fmi3_status pl_fmi3_read_numbers_type(pl_fmi3_instance instance, pl_fmi3_float64 values[],
                                                 size_t count);
typedef pl_fmi3_status pl_fmi3_read_count_type(pl_fmi3_instance instance, size_t *count);
typedef pl_fmi3_status pl_fmi3_derivative_type(pl_fmi3_instance instance, const pl_fmi3_reference unknowns[],
                                               size_t unknown_count, const pl_fmi3_reference knowns[],
                                               size_t known_count, const pl_fmi3_float64 seed[],
                                               size_t seed_count, pl_fmi3_float64 product[],
                                               size_t product_count);

/* Information, creation, initialisation */
typedef const char *pl_fmi3_get_version_type(void);
typedef pl_fmi3_status pl_fmi3_set_debug_logging_type(pl_fmi3_instance instance, pl_fmi3_boolean on,
                                                      size_t count, const pl_fmi3_string categories[]);
typedef pl_fmi3_instance pl_fmi3_instantiate_model_exchange_type(
    pl_fmi3_string name, pl_fmi3_string token, pl_fmi3_string resources_path, pl_fmi3_boolean visible,
    pl_fmi3_boolean logging_on, pl_fmi3_environment environment, pl_fmi3_log_fn log);
typedef pl_fmi3_instance pl_fmi3_instantiate_co_simulation_type(
    pl_fmi3_string name, pl_fmi3_string token, pl_fmi3_string resources_path, pl_fmi3_boolean visible,
    pl_fmi3_boolean logging_on, pl_fmi3_boolean event_mode_used, pl_fmi3_boolean early_return_allowed,
    const pl_fmi3_reference intermediate_variables[], size_t intermediate_count,
    pl_fmi3_environment environment, pl_fmi3_log_fn log, pl_fmi3_intermediate_update_fn intermediate_update);
typedef pl_fmi3_instance pl_fmi3_instantiate_scheduled_execution_type(
    pl_fmi3_string name, pl_fmi3_string token, pl_fmi3_string resources_path, pl_fmi3_boolean visible,
    pl_fmi3_boolean logging_on, pl_fmi3_environment environment, pl_fmi3_log_fn log,
    pl_fmi3_clock_update_fn clock_update, pl_fmi3_lock_preemption_fn lock,
    pl_fmi3_unlock_preemption_fn unlock);
typedef void pl_fmi3_free_instance_type(pl_fmi3_instance instance);
typedef pl_fmi3_status
pl_fmi3_enter_initialization_mode_type(pl_fmi3_instance instance, pl_fmi3_boolean tolerance_defined,
                                       pl_fmi3_float64 tolerance, pl_fmi3_float64 start,
                                       pl_fmi3_boolean stop_defined, pl_fmi3_float64 stop);
typedef pl_fmi3_plain_type pl_fmi3_exit_initialization_mode_type;
typedef pl_fmi3_plain_type pl_fmi3_enter_event_mode_type;
typedef pl_fmi3_plain_type pl_fmi3_terminate_type;
typedef pl_fmi3_plain_type pl_fmi3_reset_type;
typedef pl_fmi3_plain_type pl_fmi3_enter_configuration_mode_type;
typedef pl_fmi3_plain_type pl_fmi3_exit_configuration_mode_type;

/* Values. One getter and one setter for each type of number, with the same shape. */
#define PL_FMI3_ACCESS_(name, value)                                                                         \
    typedef pl_fmi3_status pl_fmi3_get_##name##_type(pl_fmi3_instance instance,                              \
                                                     const pl_fmi3_reference references[], size_t count,     \
                                                     value values[], size_t value_count);                    \
    typedef pl_fmi3_status pl_fmi3_set_##name##_type(pl_fmi3_instance instance,                              \
                                                     const pl_fmi3_reference references[], size_t count,     \
                                                     const value values[], size_t value_count);
PL_FMI3_ACCESS_(float32, pl_fmi3_float32)
PL_FMI3_ACCESS_(float64, pl_fmi3_float64)
PL_FMI3_ACCESS_(int8, pl_fmi3_int8)
PL_FMI3_ACCESS_(uint8, pl_fmi3_uint8)
PL_FMI3_ACCESS_(int16, pl_fmi3_int16)
PL_FMI3_ACCESS_(uint16, pl_fmi3_uint16)
PL_FMI3_ACCESS_(int32, pl_fmi3_int32)
PL_FMI3_ACCESS_(uint32, pl_fmi3_uint32)
PL_FMI3_ACCESS_(int64, pl_fmi3_int64)
PL_FMI3_ACCESS_(uint64, pl_fmi3_uint64)
PL_FMI3_ACCESS_(boolean, pl_fmi3_boolean)
PL_FMI3_ACCESS_(string, pl_fmi3_string)
typedef pl_fmi3_status pl_fmi3_get_binary_type(pl_fmi3_instance instance,
                                               const pl_fmi3_reference references[], size_t count,
                                               size_t sizes[], pl_fmi3_binary values[], size_t value_count);
typedef pl_fmi3_status pl_fmi3_set_binary_type(pl_fmi3_instance instance,
                                               const pl_fmi3_reference references[], size_t count,
                                               const size_t sizes[], const pl_fmi3_binary values[],
                                               size_t value_count);
typedef pl_fmi3_status pl_fmi3_get_clock_type(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                              size_t count, pl_fmi3_clock values[]);
typedef pl_fmi3_status pl_fmi3_set_clock_type(pl_fmi3_instance instance, const pl_fmi3_reference references[],
                                              size_t count, const pl_fmi3_clock values[]);

/* Dependencies, the complete state of an instance, partial derivatives */
typedef pl_fmi3_status pl_fmi3_get_number_of_variable_dependencies_type(pl_fmi3_instance instance,
                                                                        pl_fmi3_reference reference,
                                                                        size_t *count);
typedef pl_fmi3_status pl_fmi3_get_variable_dependencies_type(pl_fmi3_instance instance,
                                                              pl_fmi3_reference dependent,
                                                              size_t dependent_elements[],
                                                              pl_fmi3_reference independents[],
                                                              size_t independent_elements[],
                                                              pl_fmi3_dependency_kind kinds[], size_t count);
typedef pl_fmi3_status pl_fmi3_get_fmu_state_type(pl_fmi3_instance instance, pl_fmi3_saved *state);
typedef pl_fmi3_status pl_fmi3_set_fmu_state_type(pl_fmi3_instance instance, pl_fmi3_saved state);
typedef pl_fmi3_status pl_fmi3_free_fmu_state_type(pl_fmi3_instance instance, pl_fmi3_saved *state);
typedef pl_fmi3_status pl_fmi3_serialized_fmu_state_size_type(pl_fmi3_instance instance, pl_fmi3_saved state,
                                                              size_t *size);
typedef pl_fmi3_status pl_fmi3_serialize_fmu_state_type(pl_fmi3_instance instance, pl_fmi3_saved state,
                                                        pl_fmi3_byte bytes[], size_t size);
typedef pl_fmi3_status pl_fmi3_deserialize_fmu_state_type(pl_fmi3_instance instance,
                                                          const pl_fmi3_byte bytes[], size_t size,
                                                          pl_fmi3_saved *state);
typedef pl_fmi3_derivative_type pl_fmi3_get_directional_derivative_type;
typedef pl_fmi3_derivative_type pl_fmi3_get_adjoint_derivative_type;

/* Clocks */
typedef pl_fmi3_status pl_fmi3_get_interval_decimal_type(pl_fmi3_instance instance,
                                                         const pl_fmi3_reference references[], size_t count,
                                                         pl_fmi3_float64 intervals[],
                                                         pl_fmi3_interval_qualifier qualifiers[]);
typedef pl_fmi3_status pl_fmi3_get_interval_fraction_type(pl_fmi3_instance instance,
                                                          const pl_fmi3_reference references[], size_t count,
                                                          pl_fmi3_uint64 counters[],
                                                          pl_fmi3_uint64 resolutions[],
                                                          pl_fmi3_interval_qualifier qualifiers[]);
typedef pl_fmi3_status pl_fmi3_get_shift_decimal_type(pl_fmi3_instance instance,
                                                      const pl_fmi3_reference references[], size_t count,
                                                      pl_fmi3_float64 shifts[]);
typedef pl_fmi3_status pl_fmi3_get_shift_fraction_type(pl_fmi3_instance instance,
                                                       const pl_fmi3_reference references[], size_t count,
                                                       pl_fmi3_uint64 counters[],
                                                       pl_fmi3_uint64 resolutions[]);
typedef pl_fmi3_status pl_fmi3_set_interval_decimal_type(pl_fmi3_instance instance,
                                                         const pl_fmi3_reference references[], size_t count,
                                                         const pl_fmi3_float64 intervals[]);
typedef pl_fmi3_status pl_fmi3_set_interval_fraction_type(pl_fmi3_instance instance,
                                                          const pl_fmi3_reference references[], size_t count,
                                                          const pl_fmi3_uint64 counters[],
                                                          const pl_fmi3_uint64 resolutions[]);
typedef pl_fmi3_status pl_fmi3_set_shift_decimal_type(pl_fmi3_instance instance,
                                                      const pl_fmi3_reference references[], size_t count,
                                                      const pl_fmi3_float64 shifts[]);
typedef pl_fmi3_status pl_fmi3_set_shift_fraction_type(pl_fmi3_instance instance,
                                                       const pl_fmi3_reference references[], size_t count,
                                                       const pl_fmi3_uint64 counters[],
                                                       const pl_fmi3_uint64 resolutions[]);

/* Events */
typedef pl_fmi3_plain_type pl_fmi3_evaluate_discrete_states_type;
typedef pl_fmi3_status pl_fmi3_update_discrete_states_type(pl_fmi3_instance instance, pl_fmi3_boolean *again,
                                                           pl_fmi3_boolean *terminate,
                                                           pl_fmi3_boolean *nominals_changed,
                                                           pl_fmi3_boolean *states_changed,
                                                           pl_fmi3_boolean *next_defined,
                                                           pl_fmi3_float64 *next_time);

/* Model exchange */
typedef pl_fmi3_plain_type pl_fmi3_enter_continuous_time_mode_type;
typedef pl_fmi3_status pl_fmi3_completed_integrator_step_type(pl_fmi3_instance instance,
                                                              pl_fmi3_boolean no_return_before_this_point,
                                                              pl_fmi3_boolean *enter_event_mode,
                                                              pl_fmi3_boolean *terminate);
typedef pl_fmi3_status pl_fmi3_set_time_type(pl_fmi3_instance instance, pl_fmi3_float64 time);
typedef pl_fmi3_status pl_fmi3_set_continuous_states_type(pl_fmi3_instance instance,
                                                          const pl_fmi3_float64 states[], size_t count);
typedef pl_fmi3_read_numbers_type pl_fmi3_get_continuous_state_derivatives_type;
typedef pl_fmi3_read_numbers_type pl_fmi3_get_event_indicators_type;
typedef pl_fmi3_read_numbers_type pl_fmi3_get_continuous_states_type;
typedef pl_fmi3_read_numbers_type pl_fmi3_get_nominals_of_continuous_states_type;
typedef pl_fmi3_read_count_type pl_fmi3_get_number_of_event_indicators_type;
typedef pl_fmi3_read_count_type pl_fmi3_get_number_of_continuous_states_type;

/* Co-simulation */
typedef pl_fmi3_plain_type pl_fmi3_enter_step_mode_type;
typedef pl_fmi3_status pl_fmi3_get_output_derivatives_type(pl_fmi3_instance instance,
                                                           const pl_fmi3_reference references[], size_t count,
                                                           const pl_fmi3_int32 orders[],
                                                           pl_fmi3_float64 values[], size_t value_count);
typedef pl_fmi3_status pl_fmi3_do_step_type(pl_fmi3_instance instance, pl_fmi3_float64 time,
                                            pl_fmi3_float64 step, pl_fmi3_boolean no_return_before_this_point,
                                            pl_fmi3_boolean *event_needed, pl_fmi3_boolean *terminate,
                                            pl_fmi3_boolean *early_return, pl_fmi3_float64 *reached);

/* Scheduled execution */
typedef pl_fmi3_status pl_fmi3_activate_model_partition_type(pl_fmi3_instance instance,
                                                             pl_fmi3_reference clock, pl_fmi3_float64 time);

/* clang-format off */
#define PL_FMI3_COMMON(X)                                                          \
    X(fmi3GetVersion, get_version)                                                 \
    X(fmi3SetDebugLogging, set_debug_logging)                                      \
    X(fmi3FreeInstance, free_instance)                                             \
    X(fmi3EnterInitializationMode, enter_initialization_mode)                      \
    X(fmi3ExitInitializationMode, exit_initialization_mode)                        \
    X(fmi3EnterEventMode, enter_event_mode)                                        \
    X(fmi3Terminate, terminate)                                                    \
    X(fmi3Reset, reset)                                                            \
    X(fmi3GetFloat32, get_float32)                                                 \
    X(fmi3GetFloat64, get_float64)                                                 \
    X(fmi3GetInt8, get_int8)                                                       \
    X(fmi3GetUInt8, get_uint8)                                                     \
    X(fmi3GetInt16, get_int16)                                                     \
    X(fmi3GetUInt16, get_uint16)                                                   \
    X(fmi3GetInt32, get_int32)                                                     \
    X(fmi3GetUInt32, get_uint32)                                                   \
    X(fmi3GetInt64, get_int64)                                                     \
    X(fmi3GetUInt64, get_uint64)                                                   \
    X(fmi3GetBoolean, get_boolean)                                                 \
    X(fmi3GetString, get_string)                                                   \
    X(fmi3GetBinary, get_binary)                                                   \
    X(fmi3GetClock, get_clock)                                                     \
    X(fmi3SetFloat32, set_float32)                                                 \
    X(fmi3SetFloat64, set_float64)                                                 \
    X(fmi3SetInt8, set_int8)                                                       \
    X(fmi3SetUInt8, set_uint8)                                                     \
    X(fmi3SetInt16, set_int16)                                                     \
    X(fmi3SetUInt16, set_uint16)                                                   \
    X(fmi3SetInt32, set_int32)                                                     \
    X(fmi3SetUInt32, set_uint32)                                                   \
    X(fmi3SetInt64, set_int64)                                                     \
    X(fmi3SetUInt64, set_uint64)                                                   \
    X(fmi3SetBoolean, set_boolean)                                                 \
    X(fmi3SetString, set_string)                                                   \
    X(fmi3SetBinary, set_binary)                                                   \
    X(fmi3SetClock, set_clock)                                                     \
    X(fmi3GetNumberOfVariableDependencies, get_number_of_variable_dependencies)    \
    X(fmi3GetVariableDependencies, get_variable_dependencies)                      \
    X(fmi3GetFMUState, get_fmu_state)                                              \
    X(fmi3SetFMUState, set_fmu_state)                                              \
    X(fmi3FreeFMUState, free_fmu_state)                                            \
    X(fmi3SerializedFMUStateSize, serialized_fmu_state_size)                       \
    X(fmi3SerializeFMUState, serialize_fmu_state)                                  \
    X(fmi3DeserializeFMUState, deserialize_fmu_state)                              \
    X(fmi3GetDirectionalDerivative, get_directional_derivative)                    \
    X(fmi3GetAdjointDerivative, get_adjoint_derivative)                            \
    X(fmi3EnterConfigurationMode, enter_configuration_mode)                        \
    X(fmi3ExitConfigurationMode, exit_configuration_mode)                          \
    X(fmi3GetIntervalDecimal, get_interval_decimal)                                \
    X(fmi3GetIntervalFraction, get_interval_fraction)                              \
    X(fmi3GetShiftDecimal, get_shift_decimal)                                      \
    X(fmi3GetShiftFraction, get_shift_fraction)                                    \
    X(fmi3SetIntervalDecimal, set_interval_decimal)                                \
    X(fmi3SetIntervalFraction, set_interval_fraction)                              \
    X(fmi3SetShiftDecimal, set_shift_decimal)                                      \
    X(fmi3SetShiftFraction, set_shift_fraction)                                    \
    X(fmi3EvaluateDiscreteStates, evaluate_discrete_states)                        \
    X(fmi3UpdateDiscreteStates, update_discrete_states)

#define PL_FMI3_MODEL_EXCHANGE(X)                                                  \
    X(fmi3InstantiateModelExchange, instantiate_model_exchange)                    \
    X(fmi3EnterContinuousTimeMode, enter_continuous_time_mode)                     \
    X(fmi3CompletedIntegratorStep, completed_integrator_step)                      \
    X(fmi3SetTime, set_time)                                                       \
    X(fmi3SetContinuousStates, set_continuous_states)                              \
    X(fmi3GetContinuousStateDerivatives, get_continuous_state_derivatives)         \
    X(fmi3GetEventIndicators, get_event_indicators)                                \
    X(fmi3GetContinuousStates, get_continuous_states)                              \
    X(fmi3GetNominalsOfContinuousStates, get_nominals_of_continuous_states)        \
    X(fmi3GetNumberOfEventIndicators, get_number_of_event_indicators)              \
    X(fmi3GetNumberOfContinuousStates, get_number_of_continuous_states)

#define PL_FMI3_CO_SIMULATION(X)                                                   \
    X(fmi3InstantiateCoSimulation, instantiate_co_simulation)                      \
    X(fmi3EnterStepMode, enter_step_mode)                                          \
    X(fmi3GetOutputDerivatives, get_output_derivatives)                            \
    X(fmi3DoStep, do_step)

#define PL_FMI3_SCHEDULED_EXECUTION(X)                                             \
    X(fmi3InstantiateScheduledExecution, instantiate_scheduled_execution)          \
    X(fmi3ActivateModelPartition, activate_model_partition)

#define PL_FMI3_FUNCTIONS(X)                                                       \
    PL_FMI3_COMMON(X) PL_FMI3_MODEL_EXCHANGE(X) PL_FMI3_CO_SIMULATION(X) PL_FMI3_SCHEDULED_EXECUTION(X)

#define PL_FMI3_POINTER_(symbol, name) typedef pl_fmi3_##name##_type *pl_fmi3_##name##_fn;
PL_FMI3_FUNCTIONS(PL_FMI3_POINTER_)

#define PL_FMI3_EXPORT_(symbol, name) PL_FMI3_EXPORT pl_fmi3_##name##_type symbol;
#define PL_FMI3_EXPORTS PL_FMI3_FUNCTIONS(PL_FMI3_EXPORT_)
/* clang-format on */

#endif
