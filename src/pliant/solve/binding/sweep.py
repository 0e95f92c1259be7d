"""ctypes mirror of ``pliant_sweep.h``. Nothing here decides anything."""

from __future__ import annotations

from ctypes import POINTER, Structure, c_int, c_int64, c_void_p

from pliant.solve.binding import runtime
from pliant.solve.binding.runtime import lib


class SweepStruct(Structure):
    """pl_sweep."""

    _fields_ = (
        ("setup", c_void_p),
        ("memory", c_void_p),
        ("n", c_int64),
        ("parameters", c_void_p),
        ("u", c_void_p),
        ("x", c_void_p),
        ("value", c_void_p),
        ("stop", c_void_p),
        ("point", c_void_p),
        ("last", c_void_p),
        ("row", c_void_p),
        ("n_rows", c_int64),
        ("used", c_void_p),
        ("status", c_void_p),
        ("count", c_void_p),
        ("n_events", c_void_p),
        ("reached", c_void_p),
        ("method", c_void_p),
        ("done", c_int64),
        ("running", c_int),
        ("warm", c_int),
    )


runtime.check_sizes({22: SweepStruct})
runtime.declare(
    lib,
    {
        "pl_sweep_advance": (c_int, [POINTER(SweepStruct), c_int64]),
        "pl_sweep_skip": (None, [POINTER(SweepStruct), c_int]),
    },
)
