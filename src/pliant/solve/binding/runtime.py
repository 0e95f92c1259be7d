"""ctypes mirror of ``runtime/include/pliant.h`` and the loaded runtime. Nothing here decides anything."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    addressof,
    c_char,
    c_char_p,
    c_double,
    c_int,
    c_int8,
    c_int64,
    c_size_t,
    c_void_p,
)
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.compiling.folders import runtime_folder

PL_ABI = 6

# status codes, as in pl_status
OK, PAUSED, FINISHED, TERMINATED, EVENT = 0, 1, 2, 3, 4
(
    RETRY,
    FATAL,
    NONFINITE,
    SINGULAR,
    GROWTH,
    MEMORY,
    CONVERGENCE,
    ACCURACY,
    STEP,
    MAX_STEPS,
    ARGUMENT,
    CHATTER,
) = (
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
    -7,
    -8,
    -9,
    -10,
    -11,
    -12,
)
INCONSISTENT, TOO_ACCURATE, PATTERN = -13, -14, -15

# where a failure happened, as in PL_IN_...
(
    IN_NOTHING,
    IN_RHS,
    IN_JACOBIAN,
    IN_ROOTS,
    IN_OUTPUTS,
    IN_EVENT,
    IN_STEP_DONE,
    IN_INPUTS,
    IN_LINEAR,
    IN_INITIAL,
    IN_GROWTH,
) = range(11)

METHODS = {"bdf": 0, "radau5": 1, "dopri5": 2, "lieuler": 3, "euler": 4, "rk4": 5, "auto": 100}
METHOD_NAMES = {number: name for name, number in METHODS.items()}
IMPLICIT = frozenset({"auto", "bdf", "radau5", "lieuler"})
FIXED_STEP = frozenset({"lieuler", "euler", "rk4"})
STORAGE = {"auto": 0, "dense": 1, "sparse": 2}
MODEL_LINEAR, MODEL_AUTONOMOUS, MODEL_IMPURE = 1, 2, 4  # pl_model.flags
MODEL_REFUSES, MODEL_SINGLE = 16, 32
TYPES = ("real", "integer", "boolean", "enumeration", "string")  # PL_TYPE_...
OF_RHS, OF_OUTPUTS, OF_ROOTS, OF_INTERFACE, BY_PARAMETERS = 1, 2, 4, 32, 256  # pl_model.tangents
AT_JUMP = {"restart": 0, "proceed": 1, "x1": 2, "x2": 3, "correct": 4}
INCREMENTS = {
    name: number
    for number, name in enumerate(
        (
            "default",
            "cvode",
            "radau5",
            "thesis",
            "pyfmi",
            "experiment2",
            "experiment3",
            "experiment4",
            "experiment5",
            "entered",
            "curvature",
        )
    )
}
SOURCES = {"auto": 0, "exact": 1, "directional": 2, "differences": 3}
INCIDENT_KINDS = 8  # PL_SAW_KINDS
ROOT_ENCLOSED = 2 | 16  # PL_ROOT_TIMED, PL_ROOT_PATH: root functions with bounds


class PatternStruct(Structure):
    """pl_pattern."""

    _fields_ = (("n_rows", c_int), ("n_cols", c_int), ("start", c_void_p), ("row", c_void_p))


def each(kind: Any, names: str) -> list[tuple[str, Any]]:
    """Fields of one type."""
    return [(name, kind) for name in names.split()]


class ModelStruct(Structure):
    """pl_model: function pointers are plain addresses here."""

    _fields_ = (
        *each(c_int, "abi n_x n_u n_p n_y n_interface n_roots n_kinks n_d n_delays tangents flags"),
        ("memory_size", c_size_t),
        ("name", c_char_p),
        *each(POINTER(c_char_p), "x_name u_name p_name y_name d_name root_name x_unit u_unit p_unit y_unit"),
        *each(c_void_p, "u_type p_type y_type d_type"),
        *each(c_void_p, "x_start x_nominal x_min x_max u_start u_nominal u_min u_max p_start p_min p_max"),
        *each(c_void_p, "y_nominal y_min y_max root_direction root_terminal root_kind input_kind"),
        ("mass", PatternStruct),
        ("mass_value", c_void_p),
        ("jac", PatternStruct),
        ("jac_u", PatternStruct),
        *each(c_void_p, "open set_parameters nominal initial initialise rhs jac_value jac_u_value jvp tangent taylor"),
        *each(c_void_p, "roots root_range kink_range outputs event step_done passed settle memory set_memory"),
        *each(c_void_p, "delayed set_history text save_size save restore close error warning"),
    )


class DirectionStruct(Structure):
    """pl_direction."""

    _fields_ = (("dt", c_double), ("dx", c_void_p), ("du", c_void_p), ("dp", c_void_p))


class HistoryStruct(Structure):
    """pl_history."""

    _fields_ = (("host", c_void_p), ("at", c_void_p), ("known", c_void_p), ("share", c_void_p))


class EventInfoStruct(Structure):
    """pl_event_info."""

    _fields_ = (
        ("x_changed", c_int),
        ("f_changed", c_int),
        ("nominal_changed", c_int),
        ("terminate", c_int),
        ("next_time", c_double),
        ("again", c_int),
        ("crossed", c_int),
        ("unsolved", c_int),
        ("ends", c_int),
        ("host", c_void_p),
        ("follow", c_void_p),
    )


class CountersStruct(Structure):
    """pl_counters."""

    NAMES = (
        "n_steps",
        "n_rhs",
        "n_rhs_jac",
        "n_jac",
        "n_jvp",
        "n_taylor",
        "n_factor",
        "n_solve",
        "n_error_fails",
        "n_newton_fails",
        "n_events",
        "n_roots",
        "n_rediff",
    )
    _fields_ = tuple((name, c_int64) for name in NAMES)

    def all(self) -> list[int]:
        """Their values, in the order of the names."""
        return COUNTER_ARRAY.from_buffer(self)[:]


COUNTER_ARRAY = c_int64 * len(CountersStruct.NAMES)


class InputsStruct(Structure):
    """pl_inputs."""

    _fields_ = (
        ("n_u", c_int),
        ("degree", c_int),
        ("n_segments", c_int),
        ("start", c_void_p),
        ("coefficient", c_void_p),
        ("jump", c_void_p),
        ("call", c_void_p),
        ("user", c_void_p),
        ("n_looks", c_int64),
        ("look", c_void_p),
        ("look_u", c_void_p),
    )


class FailureStruct(Structure):
    """pl_failure."""

    _fields_ = (("status", c_int), ("what", c_int), ("index", c_int), ("t", c_double), ("h", c_double))


class ProblemStruct(Structure):
    """pl_problem."""

    _fields_ = (
        ("model", c_void_p),
        ("self_", c_void_p),
        ("inputs", c_void_p),
        ("u", c_void_p),
        ("rtol", c_double),
        ("atol", c_void_p),
        ("atol_room", c_void_p),
        ("linear", c_void_p),
        ("count", c_void_p),
        ("next_jump", c_int),
        ("passed", c_int),
        ("failure", FailureStruct),
        ("record", c_void_p),
        ("refused", c_void_p),
        ("watcher", c_void_p),
        ("tell", c_void_p),
        ("host", c_void_p),
    )


class IncidentStruct(Structure):
    """pl_incident."""

    _fields_ = (("t", c_double), ("h", c_double), ("value", c_double), ("kind", c_int), ("index", c_int))


class RecordStruct(Structure):
    """pl_record."""

    _fields_ = (
        ("n", c_int),
        ("limits", c_void_p),
        ("error_fails", c_void_p),
        ("newton_fails", c_void_p),
        ("near_zero", c_void_p),
        ("largest", c_void_p),
        ("seen", c_int64 * INCIDENT_KINDS),
        ("capacity", c_int64),
        ("used", c_int64),
        ("incident", c_void_p),
        ("full", c_void_p),
        ("owner", c_void_p),
    )


class LinearOptionsStruct(Structure):
    """pl_linear_options."""

    _fields_ = (
        ("storage", c_int),
        ("need_complex", c_int),
        ("source", c_int),
        ("increment", c_int),
        ("representable", c_int),
        ("central", c_int),
        ("fallback", c_int),
        ("verify", c_int),
        ("increment_constant", c_double),
        ("lu_room", c_double),
        ("lu", c_void_p),
        ("curvature", c_void_p),
    )


class LinearLayoutStruct(Structure):
    """pl_linear_layout."""

    _fields_ = (
        ("size", c_size_t),
        ("work_size", c_size_t),
        ("sparse", c_int),
        ("n_jac", c_int),
        ("n_matrix", c_int),
        ("n_colours", c_int),
        ("n_lu", c_int64),
        ("n_lu_predicted", c_int64),
        ("structural_rank", c_int),
        ("unmatched", c_int),
    )


class MethodOptionsStruct(Structure):
    """pl_method_options."""

    _fields_ = (
        ("h_first", c_double),
        ("h_max", c_double),
        ("h_fixed", c_double),
        ("h_start", c_double),
        ("order_max", c_int),
    )


class RunOptionsStruct(Structure):
    """pl_run_options."""

    _fields_ = (
        ("method", c_void_p),
        ("other", c_void_p),
        ("method_options", MethodOptionsStruct),
        ("max_steps", c_int64),
        ("root_samples", c_int),
        ("restart_always", c_int),
        ("at_jump", c_int),
        ("ends", c_int),
    )


class WatchStruct(Structure):
    """pl_watch."""

    _fields_ = (
        *((name, c_double) for name in ("limit", "rate", "response", "h", "from_", "to", "h_wanted", "bend_h", "kink")),
        *((name, c_int) for name in ("age", "n_bent", "bend_age", "bend_passed")),
    )


class RunStruct(Structure):
    """pl_run: the head of the block."""

    _fields_ = (
        ("opt", RunOptionsStruct),
        ("t_stop", c_double),
        ("t_reached", c_double),
        ("next_time", c_double),
        ("method", c_int),
        ("handovers", c_int),
        ("started", c_int),
        ("step_open", c_int),
        ("t_left", c_double),
        ("next_point", c_int64),
        ("t_handover", c_double),
        ("window_steps", c_int64),
        ("window_fails", c_int64),
        ("t_event", c_double),
        ("event_gap", c_double),
        ("t_past", c_double),
        ("events_in_place", c_int),
        ("events_close", c_int),
        ("held_roots", c_int),
        ("held_events", c_int),
        ("sets_x", c_int),
        ("aim", c_int),
        ("refusals", c_int),
        ("crossed", c_int),
        ("solved", c_int),
        ("t_aim", c_double),
        ("t_slope", c_double),
        ("n_x", c_int),
        ("n_roots", c_int),
        ("n_u", c_int),
        ("watch", WatchStruct),
        ("n_ahead", c_int),
        ("n_watched", c_int),
        ("n_path", c_int),
        ("t_start", c_double),
        ("h_largest", c_double),
        ("t_turn", c_double),
        ("t_clear", c_double),
        ("defer", c_double),
        ("held", c_int),
        ("t_rescued", c_double),
        ("ending", c_int),
    )


class StepperStruct(Structure):
    """pl_stepper: the head of every method's state."""

    _fields_ = (
        ("t", c_double),
        ("t_old", c_double),
        ("h", c_double),
        ("h_next", c_double),
        ("n", c_int),
        ("order", c_int),
    )


class OutputStruct(Structure):
    """pl_output."""

    _fields_ = (
        ("n_points", c_int64),
        ("point", c_void_p),
        ("n_x", c_int),
        ("x_index", c_void_p),
        ("n_y", c_int),
        ("y_index", c_void_p),
        ("capacity", c_int64),
        ("used", c_int64),
        ("checked", c_int64),
        ("row", c_void_p),
        ("log_capacity", c_int64),
        ("log_used", c_int64),
        ("log", c_void_p),
    )


SHIM_CALL = CFUNCTYPE(c_int, c_double)
INPUT_CALL = CFUNCTYPE(c_int, c_void_p, c_double, POINTER(c_double))


class ShimStruct(Structure):
    """pl_shim."""

    _fields_ = (
        ("n_x", c_int),
        ("n_jac", c_int),
        ("n_roots", c_int),
        ("x_changed", c_int),
        ("terminate", c_int),
        ("x", c_void_p),
        ("f", c_void_p),
        ("value", c_void_p),
        ("g", c_void_p),
        ("fired", c_void_p),
        ("rhs", SHIM_CALL),
        ("jac", SHIM_CALL),
        ("roots", SHIM_CALL),
        ("event", SHIM_CALL),
    )


# prototypes of functions inside a pl_model, for calling them from Python
OPEN_CALL = CFUNCTYPE(c_int, c_void_p)
CLOSE_CALL = CFUNCTYPE(None, c_void_p)
PARAMETER_CALL = CFUNCTYPE(c_int, c_void_p, c_void_p)
MEMORY_CALL = CFUNCTYPE(c_void_p, c_void_p, c_int)
INITIALISE_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p, POINTER(EventInfoStruct))
SET_MEMORY_CALL = CFUNCTYPE(None, c_void_p, c_int, c_double)
SETTLE_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p)
TANGENT_CALL = CFUNCTYPE(c_int, c_void_p, c_int, c_double, c_void_p, c_void_p, c_void_p, c_void_p)
POINT_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p, c_void_p)
JVP_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p, c_double, c_void_p, c_void_p, c_void_p)
OUTPUT_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p, c_int, c_void_p, c_void_p)
EVENT_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p, c_void_p, POINTER(EventInfoStruct))
STEP_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p, POINTER(c_int))
DELAYED_CALL = CFUNCTYPE(c_int, c_void_p, c_double, c_void_p, c_void_p, c_void_p, c_void_p)
HISTORY_CALL = CFUNCTYPE(None, c_void_p, c_void_p)
TEXT_CALL = CFUNCTYPE(c_char_p, c_void_p)

_SIZES = (
    ModelStruct,
    ProblemStruct,
    RunStruct,
    OutputStruct,
    RunOptionsStruct,
    LinearLayoutStruct,
    LinearOptionsStruct,
    CountersStruct,
    InputsStruct,
    ShimStruct,
    EventInfoStruct,
    StepperStruct,
    RecordStruct,
    IncidentStruct,
)


def library_path() -> Path:
    """The compiled runtime."""
    suffix = ".dll" if sys.platform == "win32" else ".so"
    return runtime_folder() / f"libpliant_runtime{suffix}"


def _load() -> ctypes.CDLL:
    lib = ctypes.CDLL(str(library_path()))
    lib.pl_host_sizeof.restype = c_size_t
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "pl_status_text": (c_char_p, [c_int]),
        "pl_linear_work_size": (c_size_t, [c_void_p]),
        "pl_linear_plan": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
        "pl_linear_jacobian": (c_void_p, [c_void_p, c_void_p]),
        "pl_linear_increments": (c_void_p, [c_void_p]),
        "pl_linear_point": (c_void_p, [c_void_p]),
        "pl_linear_factor": (c_int, [c_void_p, c_double, c_double]),
        "pl_linear_solve": (None, [c_void_p, c_void_p]),
        "pl_jacobian_again": (c_int, [c_void_p, c_double, c_void_p, POINTER(c_int)]),
        "pl_colour": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
        "pl_colour_work": (c_size_t, [c_int]),
        "pl_jacobian": (c_int, [c_void_p, c_double, c_void_p, c_void_p, c_double]),
        "pl_rhs": (c_int, [c_void_p, c_double, c_void_p, c_void_p]),
        "pl_consistent": (c_int, [c_void_p, c_double, c_void_p, c_void_p]),
        "pl_derivative": (c_int, [c_void_p, c_double, c_void_p, c_void_p, c_double, c_void_p, c_void_p]),
        "pl_shim_install": (None, [c_void_p, c_void_p]),
        "pl_start_size": (c_size_t, [c_void_p]),
    }
    declare(lib, signatures)
    return lib


def check_sizes(mirrors: Mapping[int, type[Structure]]) -> None:
    """Refuse a runtime whose structures are not those of this package."""
    for number, mirror in mirrors.items():
        if lib.pl_host_sizeof(number) != ctypes.sizeof(mirror):
            raise ImportError(f"the compiled runtime does not match this Python package ({mirror.__name__}); reinstall")


def declare(lib: ctypes.CDLL, signatures: Mapping[str, tuple[Any, list[Any]]]) -> None:
    """Types of results and arguments."""
    for name, (restype, argtypes) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = restype, argtypes


lib = _load()
check_sizes(dict(enumerate(_SIZES)))


def symbol(name: str) -> int:
    """Address of an object of the runtime."""
    return addressof(c_char.in_dll(lib, name))


SPARSE_LU = symbol("pl_sparse_table")
METHOD_ADDRESSES = {name: symbol(f"pl_{name}_method") for name in METHODS if name != "auto"}


def status_text(status: int) -> str:
    """The runtime's text for a status."""
    return str(lib.pl_status_text(status).decode())


def address_of(array: NDArray[Any]) -> int:
    """Where the numbers of an array lie. The plain way there makes objects, and short runs would notice."""
    try:
        return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # read-only, empty
        return int(array.ctypes.data)


def doubles_at(address: int, count: int) -> NDArray[np.float64]:
    """Copy of ``count`` doubles at an address of the runtime."""
    return np.array((c_double * count).from_address(address), dtype=np.float64)


def int8_at(address: int, count: int) -> NDArray[np.int8]:
    """Copy of ``count`` bytes at an address of the runtime."""
    return np.array((c_int8 * count).from_address(address), dtype=np.int8)
