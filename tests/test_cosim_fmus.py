"""FMUs as parts of couplings: the same numbers as pliant's own parts, orders, failures, what is left behind."""

from __future__ import annotations

import time
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_cosim import SPRING_WIRES, example, text_model
from support_fmus import CS, ME, fmu
from support_hostile import misbehaving

import pliant
from pliant.cosim import fmu_trials

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


# ------------------------------------------------------------------------------- direct feed-through after the start

AROUND = """
model Around
  parameter Real gain = -2, begin = 1;
  input Real u(start = 0);
  Real x(start = begin, fixed = true);
  output Real y = x + gain*u + 0.05*u^2;
equation
  der(x) = 0.2*u - x;
end Around;
"""
# two of them around a loop whose gain is 3, in one model
AROUND_WHOLE = """
model AroundWhole
  Real a(start = 1, fixed = true), b(start = 2, fixed = true), ya(start = 0), yb(start = 0);
equation
  ya = a - 2*yb + 0.05*yb^2;
  yb = b - 1.5*ya + 0.05*ya^2;
  der(a) = 0.2*yb - a;
  der(b) = 0.2*ya - b;
end AroundWhole;
"""
FLAGS = tuple(f' can{what}FMU{state}="true"' for what in ("GetAndSet", "Serialize") for state in ("state", "State"))


def without(file: Path, out: Path, *flags: str) -> Path:
    """The FMU, with less in its description."""
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(out, "w") as target:
        for one in source.infolist():
            content = source.read(one)
            if one.filename == "modelDescription.xml":
                text = content.decode()
                for flag in flags:
                    text = text.replace(flag, "")
                content = text.encode()
            target.writestr(one, content)
    return out


@cache
def around_whole() -> pliant.Result:
    return pliant.load(AROUND_WHOLE).simulate(stop=1.0, points=2, rtol=1e-9)


@pytest.mark.parametrize("scheme", ["jacobi", "gauss-seidel"])
@pytest.mark.parametrize(
    ("version", "flags", "way"),
    [("2.0", (), "taken back"), ("3.0", FLAGS, "event mode"), ("2.0", FLAGS, "set"), ("2.0", FLAGS, "derivatives")],
)
def test_loops_are_solved_at_every_communication_point(
    version: str, flags: tuple[str, ...], way: str, scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gain around the loop is 3: values that are passed on grow at once."""
    if way == "derivatives":  # as with FMUs whose outputs follow steps only
        monkeypatch.setattr(fmu_trials, "_follows", lambda *_: False)
    file = text_model(AROUND).export_fmu(tmp_path / "a.fmu", version=version, sources=False)
    part = pliant.load(without(file, tmp_path / "b.fmu", *flags), kind=CS)
    coupling = pliant.Coupling()
    coupling.add("a", part)
    coupling.add("b", part, parameters={"gain": -1.5, "begin": 2.0})
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    errors = []
    for step in (0.1, 0.05):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = coupling.simulate(stop=1.0, step=step, rtol=1e-8, scheme=scheme)
        assert [one.loop_way for one in coupling._graph.parts.values()] == [way, way]  # type: ignore[attr-defined]
        assert len(run.warnings) == (way == "derivatives")
        assert [str(one.message) for one in caught] == list(run.warnings)
        if run.warnings:
            assert "a.y -> b.u, b.y -> a.u" in run.warnings[0]
            assert run.explain().find("parts")
        else:
            assert run["a.y"] == pytest.approx(run["b.u"], abs=1e-6)
            balance = run["a.x"] - 2 * run["a.u"] + 0.05 * run["a.u"] ** 2
            assert run["a.y"] == pytest.approx(balance, abs=1e-6)
        errors.append(abs(float(run["a.y"][-1] - around_whole()["ya"][-1])))
    assert errors[1] < 4e-4
    assert errors[1] < errors[0] / 3  # second order


def test_feed_through_without_a_loop_belongs_to_the_inputs_there(tmp_path: Path) -> None:
    """Of FMUs that hold their inputs during a step, too: not to the mean over the step."""
    file = text_model(AROUND).export_fmu(tmp_path / "a.fmu", version="3.0", sources=False)
    coupling = pliant.Coupling()
    coupling.add("a", pliant.load(file, kind=CS))
    coupling.add("p", plant())
    coupling.connect("p.y", "a.u")
    run = coupling.simulate(stop=1.0, step=0.1, inputs={"p.u": lambda t: t})
    assert run["a.y"] == pytest.approx(run["a.x"] - 2 * run["a.u"] + 0.05 * run["a.u"] ** 2, abs=1e-9)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize(("flags", "way"), [((), "taken back"), (FLAGS, "derivatives")])
def test_loops_need_no_call_that_the_standard_forbids(
    version: str, flags: tuple[str, ...], way: str, tmp_path: Path
) -> None:
    """The FMU refuses to be read between inputs and a step; the gain around the loop is 1.5."""
    file = without(fmu("filter", version, strict=True), tmp_path / "strict.fmu", *flags)
    coupling = pliant.Coupling()
    coupling.add("f", pliant.load(file, kind=CS))
    coupling.add("g", text_model(THROUGH.replace("0.25", "1.5")))
    coupling.connect("f.y", "g.u")
    coupling.connect("g.y", "f.u")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = coupling.simulate(stop=1.0, step=0.02, inputs=GIVEN)
    assert coupling._graph.parts["f"].loop_way == way  # type: ignore[attr-defined]
    # y = f + g, g = x - 1.5 y, x = 3 exp(-t), f' = (g - f)/0.5 = 0.8 x - 3.2 f
    exact = 0.8 * 3 / 2.2 * (np.exp(-run.time) - np.exp(-3.2 * run.time))
    assert run["f.x"] == pytest.approx(exact, abs=2e-3)
