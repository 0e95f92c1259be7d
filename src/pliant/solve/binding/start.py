"""ctypes mirror of ``pliant_start.h``: what must hold at the start, and how values were found."""

from __future__ import annotations

from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_double, c_int, c_void_p

from pliant.solve.binding.runtime import check_sizes, each

# why there are no start values, as in PL_START_...
(
    FINE,
    MODEL,
    RESIDUAL,
    ALGEBRAIC,
    RESTLESS,
    ROUNDS,
    NONFINITE,
    DERIVATIVE,
    EVENT,
    WHOLE,
    MISSED,
    UNMET,
) = range(12)
ROWS, NAMES, WORDS = 6, 8, 1200


class InitialStruct(Structure):
    """pl_initial: function pointers are plain addresses here."""

    _fields_ = (
        *each(c_int, "n_states n_conditions n_others n_sets n_guesses n_tears flags"),
        *each(c_void_p, "x_fixed p_open d_open condition_x condition_p other_condition other_memory other_tear"),
        *each(c_void_p, "other_guess tear_guess set start sizes conditions along terms asked initially begin"),
        *each(c_void_p, "choose_memory chosen homotopy accept tears failed_loop guesses follow present jacobians"),
        *each(c_void_p, "choose states check rescue"),
    )


CHOSEN_CALL = CFUNCTYPE(c_void_p, c_void_p, POINTER(c_void_p))
STATES_CALL = CFUNCTYPE(c_void_p, c_void_p, c_int)


class StartRequestStruct(Structure):
    """pl_start_request."""

    _fields_ = (
        ("t", c_double),
        ("held", c_int),
        ("check", c_int),
        ("x_given", c_void_p),
        ("n_given", c_int),
        ("given", c_void_p),
        ("value", c_void_p),
        ("p", c_void_p),
        ("x_first", c_void_p),
        ("host", c_void_p),
        ("relinearise", c_void_p),
    )


class StartFailureStruct(Structure):
    """pl_start_failure."""

    _fields_ = (
        ("what", c_int),
        ("status", c_int),
        ("index", c_int),
        ("value", c_double),
        ("n_rows", c_int),
        ("row", c_int * ROWS),
        ("residual", c_double * ROWS),
        ("known", c_int),
        ("n_open", c_int),
        ("open", c_int * NAMES),
        ("words", c_char * WORDS),
    )


class StartReportStruct(Structure):
    """pl_start_report."""

    _fields_ = (
        ("next_time", c_double),
        ("iterations", c_int),
        ("homotopy_steps", c_int),
        ("n_undetermined", c_int),
        ("n_redundant", c_int),
        ("undetermined", c_void_p),
        ("redundant", c_void_p),
        ("loop", c_int),
        ("loop_residual", c_void_p),
        ("failure", StartFailureStruct),
    )


check_sizes({14: InitialStruct, 15: StartRequestStruct, 16: StartReportStruct})
