"""Ranges of functions of time in generated code: they enclose what the functions do."""

from __future__ import annotations

import ctypes

import numpy as np

import pliant
from pliant.solve.binding import runtime
from pliant.solve.models.generated import GeneratedModel

FUNCTIONS = [
    "sin(3*time)",
    "cos(3*time)",
    "tan(time/4)",
    "asin(sin(time)/2)",
    "acos(cos(time)/2)",
    "atan(time-2)",
    "sinh(time/2)",
    "cosh(time-2)",
    "tanh(time-2)",
    "exp(-time/3)",
    "log(1+time)",
    "log10(1+time)",
    "sqrt(time)",
    "abs(time-2)",
    "(time-2)^2",
    "(time-2)^3",
    "(time+1)^2.5",
    "(time+1)^(-2)",
    "(time+1)^sin(time)",
    "min(sin(time),cos(time))",
    "max(sin(time),0.3)",
    "atan2(sin(time),1.5+cos(time))",
    "1/(2+sin(3*time))",
    "sin(time)*cos(2*time)-time",
    "noEvent(floor(2*time))",
    "noEvent(ceil(sin(3*time)*2))",
    "noEvent(if(sin(time)>0.2)then(time)else(-time))",
    "noEvent(sign(time-1))*time",
    "exp(sin(time))*(time-1)/(time+2)",
]
N = 4000  # points of [0, 4]


class Range(ctypes.Structure):
    """pl_root_range."""

    _fields_ = (
        *((name, ctypes.c_double) for name in ("lo", "hi", "slope_lo", "slope_hi", "scale")),
        ("holds", ctypes.c_int),
    )


RANGE_CALL = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_int,
    ctypes.c_double,
    ctypes.c_double,
    ctypes.c_void_p,
    ctypes.POINTER(Range),
)


def test_ranges_enclose_their_functions() -> None:
    """Values lie within the range, secants within the slopes; narrow intervals have narrow ranges."""
    lines = ["model M"]
    lines += [f"  Real y{k}; Boolean b{k};" for k in range(len(FUNCTIONS))]
    lines += ["equation", *(f"  y{k} = {text}; b{k} = y{k} < -100;" for k, text in enumerate(FUNCTIONS)), "end M;"]
    model = pliant.load("\n".join(lines))
    numeric = model._numeric
    assert isinstance(numeric, GeneratedModel)
    assert numeric.struct.n_roots == len(FUNCTIONS)
    result = model.simulate(4, points=np.linspace(0, 4, N + 1))
    instance = ctypes.create_string_buffer(numeric.struct.memory_size)
    place = ctypes.addressof(instance)
    runtime.OPEN_CALL(numeric.struct.open)(place)
    call = RANGE_CALL(numeric.struct.root_range)
    rng = np.random.default_rng(1)
    for k, text in enumerate(FUNCTIONS):
        values = result[f"y{k}"] + 100
        root = next(i for i, name in enumerate(numeric.names.roots) if name.startswith(f"y{k} <"))
        for trial in range(200):
            a, b = sorted(rng.integers(0, N + 1, 2))
            if trial % 2:
                b = min(a + 3, N)
            found = Range()
            assert call(place, root, a * 4 / N, b * 4 / N, None, found) == 0
            inside = values[a : b + 1]
            assert found.lo - 1e-9 <= inside.min() <= inside.max() <= found.hi + 1e-9, text
            if b > a:
                secants = np.diff(inside) * N / 4
                assert found.slope_lo - 1e-6 <= secants.min() <= secants.max() <= found.slope_hi + 1e-6, text
            if trial % 2 and found.slope_hi - found.slope_lo < np.inf:
                steep = max(abs(found.slope_lo), abs(found.slope_hi))
                assert found.hi - found.lo <= 3 * (b - a) * 4 / N * (steep + 10), text
