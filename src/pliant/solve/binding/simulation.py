"""ctypes mirror of ``pliant_simulation.h`` and of the desktop's memory. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_void_p,
    cast,
)

from pliant.solve.binding import runtime
from pliant.solve.binding.runtime import lib
from pliant.solve.binding.start import StartReportStruct, StartRequestStruct

# what may have to grow, as in PL_GROW_...
GROW_FACTORS, GROW_ROWS, GROW_LOG, GROW_EVENTS, GROW_INCIDENTS = range(5)
N_GROW = 5
TELL = CFUNCTYPE(None, c_void_p, c_double, c_char_p)  # pl_setup.tell
# what may be saved besides all that stepping changes, as in PL_SAVE_...
SAVE_ROWS, SAVE_LOG, SAVE_EVENTS, SAVE_INCIDENTS = 1, 2, 4, 8


class LinearPlanStruct(Structure):
    """pl_plan."""

    _fields_ = (("options", runtime.LinearOptionsStruct), ("layout", runtime.LinearLayoutStruct), ("work", c_void_p))


class SetupStruct(Structure):
    """pl_setup."""

    _fields_ = (
        ("engine", c_void_p),
        ("model", c_void_p),
        ("unit", c_void_p),
        ("open", c_int),
        ("self_", c_void_p),
        ("parameters", c_void_p),
        ("inputs", c_void_p),
        ("u", c_void_p),
        ("x", c_void_p),
        ("atol", c_void_p),
        ("atol_follows", c_int),
        ("rtol", c_double),
        ("start", c_double),
        ("stop", c_double),
        ("run", runtime.RunOptionsStruct),
        ("plan", c_void_p),
        ("linear", c_void_p),
        ("linear_used", c_int),
        ("request", StartRequestStruct),
        ("start_work", c_void_p),
        ("degree", c_int),
        ("mask", c_void_p),
        ("n_points", c_int64),
        ("point", c_void_p),
        ("n_x_out", c_int),
        ("x_index", c_void_p),
        ("n_y_out", c_int),
        ("y_index", c_void_p),
        ("rows", c_int64),
        ("log", c_int64),
        ("events", c_int64),
        ("incidents", c_int64),
        ("last_events", c_int),
        ("host", c_void_p),
        ("grow", c_void_p),
        ("tell", c_void_p),
    )


class HeadStruct(Structure):
    """pl_simulation: the head of its block."""

    _fields_ = (
        ("problem", runtime.ProblemStruct),
        ("count", runtime.CountersStruct),
        ("record", runtime.RecordStruct),
        ("out", runtime.OutputStruct),
        ("run", c_void_p),
        ("method", c_void_p),
        ("x", c_void_p),
        ("x_first", c_void_p),
        ("p", c_void_p),
        ("report", StartReportStruct),
        ("t", c_double),
        ("t_stop", c_double),
        ("status", c_int),
        ("begun", c_int),
        ("ended", c_int),
        ("fresh", c_int),
        ("leg", c_int),
        ("n_u", c_int),
        ("n_events", c_int64),
        ("event_capacity", c_int64),
        ("event_bytes", c_size_t),
        ("event", c_void_p),
        ("grown", c_int64 * N_GROW),
        ("capacity", c_size_t * N_GROW),
        ("lu_room", c_double),
        ("layout", runtime.LinearLayoutStruct),
        ("inputs", runtime.InputsStruct),
        ("size", c_size_t),
        ("opened", c_int),
        ("setup", SetupStruct),
    )


class HostMemoryStruct(Structure):
    """pl_host_memory: blocks from the heap, given back when the last view of them is gone."""

    _fields_ = (("block", c_void_p * N_GROW),)

    def __del__(self, release: Callable[[HostMemoryStruct], None] = lib.pl_host_release) -> None:
        release(self)  # at the end of the interpreter the names of this module are gone


runtime.check_sizes({17: SetupStruct, 18: HeadStruct, 19: LinearPlanStruct, 20: HostMemoryStruct})
runtime.declare(
    lib,
    {
        "pl_simulation_size": (c_size_t, [c_void_p]),
        "pl_simulation_init": (c_void_p, [c_void_p, c_void_p, c_void_p]),
        "pl_simulation_initialise": (c_int, [c_void_p]),
        "pl_simulation_begin": (c_int, [c_void_p, c_double]),
        "pl_simulation_advance": (c_int, [c_void_p, c_int64]),
        "pl_simulation_flush": (c_int, [c_void_p]),
        "pl_simulation_trust": (None, [c_void_p]),
        "pl_simulation_words": (c_char_p, [c_void_p]),
        "pl_simulation_set_linear": (None, [c_void_p, c_void_p, c_void_p, c_int]),
        "pl_simulation_set_inputs": (None, [c_void_p, c_double, c_void_p]),
        "pl_simulation_go": (c_int, [c_void_p, c_double, c_int64]),
        "pl_simulation_settle": (c_int, [c_void_p, c_void_p, c_int64]),
        "pl_simulation_state": (None, [c_void_p, c_void_p]),
        "pl_simulation_state_with": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p]),
        "pl_simulation_save_size": (c_size_t, [c_void_p, c_int]),
        "pl_simulation_save": (c_int, [c_void_p, c_int, c_void_p]),
        "pl_simulation_restore": (c_int, [c_void_p, c_void_p]),
        "pl_simulation_append": (c_int, [c_void_p, c_int, c_int64, c_int64, c_void_p]),
        "pl_host_release": (None, [POINTER(HostMemoryStruct)]),
    },
)
MODEL_ENGINE = runtime.symbol("pl_model_engine")
GROW = cast(lib.pl_host_grow, c_void_p).value
