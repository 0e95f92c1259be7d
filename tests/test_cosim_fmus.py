"""FMUs as parts of couplings: the same numbers as pliant's own parts, orders, failures, what is left behind."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_cosim import SPRING_WIRES, example
from support_fmus import CS, ME, fmu
from support_hostile import misbehaving

import pliant

PLANT = """
model Plant
  input Real u;
  Real x(start = 1, fixed = true);
  output Real y = x;
equation
  der(x) = -x + u;
end Plant;
"""
# the filter of tests/fmus, T = 1, and the plant above: x' = u - x, u the other's x
EXACT = 0.5 * (1.0 - np.exp(-2.0))


@cache
def plant() -> pliant.Model:
    return pliant.load(PLANT)


@cache
def filter_fmu(version: str, kind: str) -> pliant.Model:
    return pliant.load(fmu("filter", version), kind=kind)


def closed_loop(version: str, kind: str) -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("f", filter_fmu(version, kind), parameters={"T": 1.0})
    coupling.add("p", plant())
    coupling.connect("p.y", "f.u")
    coupling.connect("f.x", "p.u")
    return coupling


GIVEN: dict[str, Any] = {"f.gain": 1, "f.on": True}


@pytest.mark.parametrize("kind", [ME, CS])
@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
def test_fmus_beside_models_have_the_order_of_the_scheme(version: str, kind: str, scheme: str) -> None:
    coupling = closed_loop(version, kind)
    results = [coupling.simulate(stop=1.0, step=h, scheme=scheme, inputs=GIVEN) for h in (0.1, 0.05, 0.025)]
    errors = [abs(float(one["f.x"][-1]) - EXACT) for one in results]
    assert errors[2] < 4e-4
    assert errors[2] < errors[0] / 5  # second order, also where the FMU takes constant inputs only
    assert [len(one) for one in results] == [11, 21, 41]
    if kind == CS:
        assert results[0].parts["f"].stats.method == "co-simulation"
        assert results[0].parts["f"].steps["h"].tolist() == pytest.approx([0.1] * 10)


@pytest.mark.parametrize("degree", [0, 1, 2])
def test_every_degree_of_extrapolation(degree: int) -> None:
    coupling = closed_loop("2.0", CS)
    found = coupling.simulate(stop=1.0, step=0.01, extrapolation=degree, inputs=GIVEN)["f.x"][-1]
    assert abs(found - EXACT) < (2e-3 if degree == 0 else 2e-5)


COUNTERS = ("n_rhs", "n_jvp", "n_taylor")


def test_exported_fmus_do_not_restart(tmp_path: Path) -> None:
    mine, theirs = pliant.Coupling(), pliant.Coupling()
    for name in ("left", "right"):
        model = example(f"spring_damper_{name}")
        mine.add(name, model)
        file = model.export_fmu(tmp_path / f"{name}.fmu", version="2.0", sources=False)
        theirs.add(name, pliant.load(file, kind=CS))
    for source, target in SPRING_WIRES:
        mine.connect(source, target)
        theirs.connect(source, target)
    found = theirs.simulate(stop=2.0, step=0.02, rtol=1e-8)
    # FMI 2 takes slopes: the same numbers as without FMUs
    assert np.array_equal(found["left.x"], mine.simulate(stop=2.0, step=0.02, rtol=1e-8)["left.x"])
    restarted = mine.simulate(stop=2.0, step=0.02, rtol=1e-8, at_jump="restart")
    work = sum(found[f"{part}.pliant.{one}"][-1] for part in ("left", "right") for one in COUNTERS)
    assert work <= 0.22 * sum(getattr(restarted.stats, one) for one in COUNTERS)
    whole = example("spring_damper").simulate(stop=2.0, rtol=1e-9)["x1"][-1]
    errors = [abs(one["left.x"][-1] - whole) for one in (found, restarted)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-3)


THROUGH = """
model Through
  input Real u;
  Real x(start = 3, fixed = true);
  output Real y = x - 0.25*u;
equation
  der(x) = -x;
end Through;
"""


@pytest.mark.parametrize("kind", [ME, CS])
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_loops_of_feed_through_are_solved_at_the_start(version: str, kind: str) -> None:
    coupling = pliant.Coupling()
    coupling.add("f", filter_fmu(version, kind))
    coupling.add("g", pliant.load(THROUGH))
    coupling.connect("f.y", "g.u")
    coupling.connect("g.y", "f.u")
    assert len(coupling.loops) == 1
    result = coupling.simulate(stop=0.1, step=0.01, inputs=GIVEN)
    # f.y = 0 + u, u = 3 - 0.25 f.y: both are 2.4
    assert result["f.u"][0] == pytest.approx(2.4, abs=1e-8)
    assert result["g.u"][0] == pytest.approx(2.4, abs=1e-8)
    assert result["g.y"][0] == pytest.approx(result["f.u"][0], abs=1e-8)


# ------------------------------------------------------------------------------------------------ what goes wrong


def with_hostile(act: str, version: str, **options: Any) -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("bad", pliant.load(misbehaving("STEP", act, version), kind=CS, options=options or None))
    coupling.add("good", plant())
    coupling.connect("bad.x", "good.u")
    return coupling


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize(
    ("act", "error"),
    [("CRASH", pliant.FmuCrashError), ("LOOP", pliant.FmuTimeoutError), ("EXIT", pliant.FmuCrashError)],
)
def test_a_part_that_dies_keeps_the_results_of_the_others(act: str, error: type[Any], version: str) -> None:
    coupling = with_hostile(act, version, call_timeout=0.5)
    begin = time.monotonic()
    with pytest.raises(error, match=r"part 'bad' failed after the communication point t = 0\.[45]") as caught:
        coupling.simulate(stop=1.0, step=0.05, inputs={"bad.u": 0.0})
    assert time.monotonic() - begin < 20.0
    assert "DoStep" in caught.value.call
    result = caught.value.result
    assert len(result) >= 9
    assert np.isfinite(result["good.x"]).all()
    assert not coupling._graph.parts["bad"].instance  # type: ignore[attr-defined]


@pytest.mark.parametrize(("act", "error"), [("CRASH", pliant.FmuCrashError), ("LOOP", pliant.FmuTimeoutError)])
def test_a_part_that_dies_is_not_tried_again(act: str, error: type[Any]) -> None:
    """With steps chosen by error: a crash is no refusal that a shorter step heals."""
    coupling = with_hostile(act, "3.0", call_timeout=0.5)
    begin = time.monotonic()
    with pytest.raises(error, match="part 'bad' failed") as caught:
        coupling.simulate(stop=1.0, step="auto", inputs={"bad.u": 0.0})
    assert time.monotonic() - begin < 20.0
    assert np.isfinite(caught.value.result["good.x"]).all()
    assert len(caught.value.result) > 2
    assert not coupling._graph.parts["bad"].instance  # type: ignore[attr-defined]


def test_a_part_without_a_method_to_choose() -> None:
    coupling = pliant.Coupling()
    coupling.add("f", filter_fmu("3.0", CS), method="radau5")
    with pytest.raises(pliant.ArgumentError, match=r"part 'f'.*solves itself"):
        coupling.simulate(stop=1.0, step=0.1, inputs={"f.u": 0.0, **GIVEN})


def test_fmus_without_saved_states_run_all_the_same() -> None:
    """The first step cannot be made twice, growth cannot be tried: both are left out."""
    coupling = pliant.Coupling()
    coupling.add("v", pliant.load(fmu("minimal", "2.0"), kind=CS))
    coupling.add("p", plant())
    coupling.connect("v.x0", "p.u")
    result = coupling.simulate(stop=1.0, step=0.01, extrapolation=2)
    alone = pliant.load(fmu("minimal", "2.0"), kind=CS).simulate(stop=1.0, step=0.01)
    assert result["v.x0"][-1] == pytest.approx(alone["x0"][-1], rel=1e-6)


def test_saved_states_come_back_bit_for_bit() -> None:
    coupling = closed_loop("3.0", CS)
    part = coupling._graph.parts["f"]
    first = coupling.simulate(stop=1.0, step=0.1, inputs=GIVEN)  # configures the part
    part.begin(0.0, np.array([1.0, 1.0, 1.0]))
    never = lambda: False  # noqa: E731
    coefficients = np.array([[1.0, 1.0, 1.0], [0.5, 0.0, 0.0]])
    part.set_inputs(0.0, coefficients)
    token = part.save()
    ends = []
    for _ in range(3):
        part.set_inputs(0.0, coefficients)
        assert part.step(0.25, never)
        ends.append(part.outputs(np.array([1.0, 1.0, 1.0])).tolist())
        part.restore(token)
    assert ends[0] == ends[1] == ends[2]
    for _ in range(200):  # states that nobody holds any more are freed
        part.save()
    assert len(part.unwanted) <= 1  # type: ignore[attr-defined]
    part.close()
    assert first.complete


def test_results_are_those_of_threads_and_of_one_after_the_other() -> None:
    coupling = closed_loop("3.0", CS)
    one, two = (coupling.simulate(stop=1.0, step=0.05, inputs=GIVEN, parallel=how) for how in (False, True))
    assert np.array_equal(one["f.x"], two["f.x"])
    assert np.array_equal(one["p.x"], two["p.x"])
