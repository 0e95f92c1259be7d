"""What cannot work is refused with a hint; what fails on the way keeps its results and names the part."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest
from support_cosim import FRAGILE, THROUGH, example, spring_damper, text_model, through_loop

import pliant

TYPES = """
model Types
  input Real u(unit = "m");
  input Integer n;
  parameter Real p = 1;
  Real x(start = 1, fixed = true, unit = "m");
  Real w(unit = "rad") = 2*x;
  Real plain = x + u;
equation
  der(x) = -x + n;
end Types;
"""


def two_types() -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("one", text_model(TYPES))
    coupling.add("two", text_model(TYPES))
    return coupling


# -------------------------------------------------------------------------------------------------- connections


@pytest.mark.parametrize(
    ("source", "target", "kind", "words"),
    [
        ("one.X", "two.u", pliant.UnknownNameError, "did you mean 'x'"),
        ("one.x", "two.uu", pliant.UnknownNameError, "did you mean 'u'"),
        ("ona.x", "two.u", pliant.UnknownNameError, "did you mean 'one'"),
        ("x", "two.u", pliant.ArgumentError, "'part.variable'"),
        ("one.x", "two.x", pliant.ArgumentError, "two.x is no input.*\n.*two.u, two.n"),
        ("one.x", "two.p", pliant.ArgumentError, "two.p is no input: it is constant"),
        ("one.u", "two.u", pliant.ArgumentError, "one.u is itself an input"),
        ("one.p", "two.u", pliant.ArgumentError, "one.p is constant"),
        ("one.w", "two.u", pliant.ArgumentError, "units differ: one.w is in rad, two.u in m"),
        ("one.x", "two.n", pliant.ArgumentError, "types differ: one.x is real, two.n is integer"),
    ],
)
def test_connections_that_make_no_sense(source: str, target: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        two_types().connect(source, target)


def test_no_unit_matches_any() -> None:
    coupling = two_types()
    coupling.connect("one.plain", "two.u")
    assert [(one.source, one.target) for one in coupling.connections] == [("plain", "u")]


def test_an_input_has_one_source() -> None:
    coupling = two_types()
    coupling.connect("one.x", "two.u")
    with pytest.raises(pliant.ArgumentError, match=r"two\.u is connected twice: one\.x -> two\.u"):
        coupling.connect("two.x", "two.u")


def test_unconnected_inputs_are_named() -> None:
    coupling = spring_damper()
    coupling.add("third", text_model(THROUGH))
    with pytest.raises(pliant.ArgumentError, match=r"not connected: third\.u.*\n.*inputs=\{'third\.u': 0\.0\}"):
        coupling.simulate(stop=1, step=0.1)
    coupling.simulate(stop=1, step=0.1, inputs={"third.u": 1.0})


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"left.x2": 1.0}, "connected already"),
        ({"left.z": 1.0}, "no input 'z'"),
        ({"third.u": np.nan}, "finite"),
        ({"third.u": ([0, 1], [1])}, "shape"),
        ({"third.u": ([1, 0], [1, 2])}, "ascend"),
        ({"third.u": "fast"}, "expected a number"),
    ],
)
def test_inputs_that_make_no_sense(inputs: dict[str, Any], words: str) -> None:
    coupling = spring_damper()
    coupling.add("third", text_model(THROUGH))
    with pytest.raises(pliant.PliantError, match=words):
        coupling.simulate(stop=1, step=0.1, inputs=inputs)


# ------------------------------------------------------------------------------------------------------ arguments


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"step": 0.0}, "must be positive"),
        ({"step": -0.1}, "must be positive"),
        ({"step": 2.0}, "longer than the simulation"),
        ({"step": 1e-9}, "more than 1e\\+08"),
        ({"step": float("nan")}, "finite"),
        ({"step": "0.1"}, "finite number"),
        ({"stop": 0.0}, "does not lie after"),
        ({"stop": 1e12 + 1e-3, "start": 1e12, "step": 1e-4}, "resolve"),
        ({"scheme": "seidel"}, "gauss-seidel"),
        ({"extrapolation": 3}, "0, 1 or 2"),
        ({"extrapolation": True}, "0, 1 or 2"),
        ({"at_jump": "guess"}, "at_jump must be one of correct"),
        ({"loops": "yes"}, "newton"),
        ({"points": 1}, "at least 2"),
        ({"timeout": 0}, "positive"),
        ({"rtol": 2}, "part 'left': rtol"),
        ({"method": "euler"}, "part 'left'.*fixed step"),
        ({"parameters": {"left.q": 1}}, "no parameter 'q'"),
        ({"parameters": {"q": 1}}, "'part.variable'"),
        ({"start_values": {"middle.x": 1}}, "no part 'middle'"),
    ],
)
def test_arguments_that_make_no_sense(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(pliant.PliantError, match=words):
        spring_damper().simulate(**{"stop": 1.0, "step": 0.1, **arguments})


def test_parts_that_make_no_sense() -> None:
    coupling = pliant.Coupling()
    with pytest.raises(pliant.ArgumentError, match="no parts"):
        coupling.simulate(stop=1, step=0.1)
    model = example("spring_damper_left")
    coupling.add("a", model)
    with pytest.raises(pliant.ArgumentError, match="already a part"):
        coupling.add("a", model)
    for name in ("a..b", "a.", "", "1x"):
        with pytest.raises(pliant.ArgumentError, match="name of a part"):
            coupling.add(name, model)
    with pytest.raises(pliant.ArgumentError, match=r"pliant\.load\('x\.mo'\)"):
        coupling.add("b", "x.mo")
    with pytest.raises(pliant.ArgumentError, match="did you mean rtol"):
        coupling.add("b", model, rtoll=1)
    assert coupling.parts == ("a",)


# ---------------------------------------------------------------------------------------------------------- loops


def test_a_loop_without_solution_names_its_connections() -> None:
    with pytest.raises(pliant.ConvergenceError) as caught:
        through_loop(2.0, 0.5).simulate(stop=1, step=0.1)  # y1 = x1 + 2 x2 + y1
    assert "a.y -> b.u, b.y -> a.u" in str(caught.value)
    assert "residual" in str(caught.value)
    assert caught.value.names == ("a.y -> b.u", "b.y -> a.u")


def test_a_loop_that_loses_its_solution_on_the_way() -> None:
    """y = x u and u = y + 1 around the loop: singular when x has fallen to 1."""
    first = "model A\n input Real u;\n Real x(start = 2, fixed = true);\n output Real y = x*u;\n"
    second = "model B\n input Real u;\n output Real y = u + 1;\n Real z(start = 0, fixed = true);\n"
    first += "equation\n der(x) = -1;\nend A;\n"
    second += "equation\n der(z) = u;\nend B;\n"
    coupling = pliant.Coupling()
    coupling.add("a", text_model(first))
    coupling.add("b", text_model(second))
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    with pytest.raises(pliant.ConvergenceError, match="t = 1") as caught:
        coupling.simulate(stop=2, step=0.25)
    assert caught.value.result is not None
    assert caught.value.result.time[-1] == pytest.approx(0.75)
    assert not caught.value.result.complete


# ------------------------------------------------------------------------------------------------- failing parts


def failing(**options: Any) -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("good", example("spring_damper_left"))
    coupling.add("bad", text_model(FRAGILE), **options)
    coupling.connect("bad.x", "good.x2")
    coupling.connect("good.x", "bad.u")
    return coupling


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
def test_a_part_that_fails(scheme: str, parallel: bool) -> None:
    threads = threading.active_count()
    with pytest.raises(pliant.SolverError, match=r"part 'bad' failed after the communication point t = 0\.5") as caught:
        failing().simulate(stop=1, step=0.1, scheme=scheme, parallel=parallel, inputs={"good.v2": 0.0})
    error = caught.value
    assert isinstance(error.__cause__, pliant.SolverError)
    assert type(error.__cause__) is type(error)
    assert error.time == pytest.approx(0.505, abs=0.01)
    result = error.result
    assert result is not None
    assert not result.complete
    assert result.time == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert result["bad.x"][-1] == pytest.approx(0.5)
    assert result["good.x"][-1] != 10
    assert result.stats.n_steps > 0
    assert threading.active_count() == threads  # nobody goes on alone


def test_a_part_that_cannot_begin() -> None:
    coupling = pliant.Coupling()
    coupling.add("bad", text_model(FRAGILE), start_values={"x": float("nan")})
    with pytest.raises(pliant.ArgumentError, match=r"part 'bad'.*start_values"):
        coupling.simulate(stop=1, step=0.1, inputs={"bad.u": 0.0})
    impossible = "model No\n input Real u;\n Real x;\ninitial equation\n x*x = -1;\nequation\n der(x) = u;\nend No;\n"
    coupling = pliant.Coupling()
    coupling.add("no", text_model(impossible))
    with pytest.raises(pliant.InitialValueError, match="part 'no'"):
        coupling.simulate(stop=1, step=0.1, inputs={"no.u": 0.0})


class Oops(Exception):
    pass


def test_an_exception_of_the_users_function_passes_through() -> None:
    def f(t: float, x: Any) -> Any:
        if t > 0.5:
            raise Oops("no further")
        return -x

    coupling = pliant.Coupling()
    coupling.add("mine", pliant.ode(f, [1.0], names=["x"]))
    coupling.add("left", example("spring_damper_left"))
    coupling.connect("mine.x", "left.x2")
    with pytest.raises(Oops) as caught:
        coupling.simulate(stop=1, step=0.1, inputs={"left.v2": 0.0})
    assert "in part 'mine'" in caught.value.__notes__[0]
    so_far = caught.value.pliant_result  # type: ignore[attr-defined]
    assert so_far.time[-1] == pytest.approx(0.5)


@pytest.mark.parametrize("parallel", [False, True])
def test_timeout_keeps_the_result(parallel: bool) -> None:
    coupling = spring_damper()
    begin = time.perf_counter()
    with pytest.raises(pliant.SimulationTimeout, match=r"time-out of 0\.2 s") as caught:
        coupling.simulate(stop=1000, step=1e-4, timeout=0.2, parallel=parallel, points=1000)
    assert time.perf_counter() - begin < 5
    assert caught.value.result is not None
    assert len(caught.value.result) >= 1


@pytest.mark.parametrize("parallel", [False, True])
def test_ctrl_c_keeps_the_result(parallel: bool) -> None:
    def stop_at(progress: pliant.Progress) -> None:
        if progress.time > 0.45:
            raise KeyboardInterrupt

    with pytest.raises(pliant.SimulationInterrupted, match=r"interrupted at t = 0\.5") as caught:
        spring_damper().simulate(stop=1, step=0.1, progress=stop_at, parallel=parallel)
    assert caught.value.result is not None
    assert caught.value.result.time[-1] == pytest.approx(0.5)


@pytest.mark.parametrize("parallel", [False, True])
def test_a_real_ctrl_c(parallel: bool) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(pliant.SimulationInterrupted) as caught:
        spring_damper().simulate(stop=1000, step=1e-3, parallel=parallel, points=1000)
    timer.join()
    assert caught.value.result is not None
    assert not [one for one in threading.enumerate() if one.name.startswith("pliant-part")]


def test_progress_is_reported() -> None:
    seen: list[pliant.Progress] = []
    spring_damper().simulate(stop=1, step=0.25, progress=seen.append)
    assert [one.time for one in seen] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert seen[0].method == "jacobi"


def test_a_part_that_ends_the_run() -> None:
    root = pliant.Root(lambda t, x: x[0] - 0.7, direction=-1, terminal=True)
    coupling = pliant.Coupling()
    coupling.add("falls", pliant.ode(lambda t, x: [-1.0], [1.0], names=["h"], roots=root))
    coupling.add("left", example("spring_damper_left"))
    coupling.connect("falls.h", "left.x2")
    result = coupling.simulate(stop=1, step=0.2, inputs={"left.v2": 0.0})
    assert not result.complete
    assert result.time == pytest.approx([0.0, 0.2])
    assert result.parts["falls"].events[0].time == pytest.approx(0.3)
