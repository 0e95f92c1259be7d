"""Functions of LAPACK and BLAS that SciPy brings along: their addresses in this process."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any


@cache
def _tables() -> tuple[dict[str, Any], ...]:
    from scipy.linalg import cython_blas, cython_lapack

    return cython_lapack.__pyx_capi__, cython_blas.__pyx_capi__


def address_of(name: str) -> int | None:
    """Where the function is, None if SciPy has none of this name."""
    for table in _tables():
        capsule = table.get(name)
        if capsule is not None:
            api = ctypes.pythonapi
            api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
            api.PyCapsule_GetPointer.restype = ctypes.c_void_p
            api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
            return int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))
    return None
