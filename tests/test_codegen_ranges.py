"""Ranges of functions of time in generated code: they enclose what the functions do."""

from __future__ import annotations

import ctypes
import re

import numpy as np

import pliant
from pliant.codegen.emit import generate
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.solve.binding import runtime
from pliant.solve.models.generated import GeneratedModel
from pliant.structure.pipeline import sort_system

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


def sampled_threshold(n: int) -> str:
    """``time`` against a long function of n sampled values: at 0.8 + sum of k/10^4."""
    names = [f"d{k}" for k in range(1, n + 1)]
    terms = " + ".join(f"sqrt(abs(d{k}))*({k}/1e4)" for k in range(1, n + 1))
    sampled = " ".join(f"d{k} = 1 + pre(d{k}) - pre(d{k});" for k in range(1, n + 1))
    return (
        f"model M\n  discrete Real {', '.join(names)};\n  Real limit = 0.8 + {terms};\n"
        "  Real twice = 2*limit;\n  Boolean late(start=false, fixed=true);\n"
        f"equation\n  when sample(0.1, 0.1) then\n    {sampled}\n  end when;\n"
        "  late = time > twice - limit;\nend M;\n"
    )


def test_what_stands_still_is_a_number_and_not_a_range() -> None:
    counted = []
    for n in (2, 30):
        model = pliant.load(sampled_threshold(n))
        text = generate(sort_system(scalarize(read(sampled_threshold(n))))).text
        body = text[text.index("relation_range_") :]
        found = re.search(r"relation_range_\d+\(const model .*?\n}\n", body, re.S)
        assert found
        counted.append(found[0].count("pl_range_"))
        result = model.simulate(stop=2.0)
        turn = 0.8 + n * (n + 1) / 2 / 1e4
        assert min(abs(event.time - turn) for event in result.events) < 1e-9
    assert counted[0] == counted[1] <= 4


def test_the_branch_that_is_not_taken_may_be_no_number() -> None:
    """The branch that is not taken divides by zero."""
    text = (
        "model M\n  discrete Real d(start=0, fixed=true);\n  Boolean b(start=false, fixed=true);\n"
        "equation\n  when sample(0.1, 0.1) then\n    d = 1;\n  end when;\n"
        "  b = time > noEvent(if d > 0.5 then 0.75/d else d/(d + 1));\nend M;\n"
    )
    result = pliant.load(text).simulate(stop=1.0)
    assert result["b"][-1] == 1
    assert min(abs(event.time - 0.75) for event in result.events) < 1e-9
