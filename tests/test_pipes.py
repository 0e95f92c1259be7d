"""spatialDistribution(...): profiles, flow that turns, jumps that leave at events, FMUs, and what is refused."""

from __future__ import annotations

from pathlib import Path

import fmpy
import numpy as np
import pytest

import pliant

TURNS = """
model Turns
  parameter Real a = 2;
  input Real u(start = 0);
  output Real z, y;
  Real x(start = 0, fixed = true), w(start = 0, fixed = true), v = a*cos(time);
equation
  der(x) = v;
  der(w) = z;
  (y, z) = spatialDistribution(u, -1, x, v >= 0, {0, 1}, {1, 2});
end Turns;
"""
JUMP = np.array([(0, 0), (0.2, 0), (0.2, 3), (9, 3)], dtype=[("time", float), ("u", float)])


@pytest.fixture(scope="module")
def turns() -> pliant.Model:
    return pliant.load(TURNS)


def outlet(t: float) -> float:
    """z at 1: the profile up to x = 1, then 0, from x - 1 = x(0.2) on 3; from pi/2 on what flows in."""
    x = 2.0 * np.sin(t)
    if t < np.pi / 2:
        return 2.0 - x if x < 1.0 else 0.0 if x < 1.0 + 2.0 * np.sin(0.2) else 3.0
    return -1.0


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_profile_jump_and_turn(turns: pliant.Model, method: str) -> None:
    result = turns.simulate(
        stop=4.0, rtol=1e-8, method=method, inputs={"u": ([0, 0.2, 0.2, 9], [0, 0, 3, 3])}, points=39
    )
    np.testing.assert_allclose(result["z"], [outlet(t) for t in result.time], atol=1e-6)
    leaves = [np.pi / 6, np.arcsin(0.5 + np.sin(0.2)), np.pi / 2]
    for t in leaves[1:]:
        assert min(abs(event.time - t) for event in result.events) < 1e-6
    back = (result.time > 1.6) & (result.time < 4.0)  # at 0: what flowed in last, until what flows in at 1 has come
    exact = np.where(result.time < 5 * np.pi / 6, 3.0, -1.0)
    np.testing.assert_allclose(result["y"][back], exact[back], atol=1e-6)


@pytest.mark.parametrize(("version", "kind"), [("2.0", "CoSimulation"), ("3.0", "ModelExchange")])
def test_exported(turns: pliant.Model, version: str, kind: str, tmp_path: Path) -> None:
    path = turns.export_fmu(tmp_path / "turns.fmu", version=version)
    found = fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=4.0, output_interval=0.05, relative_tolerance=1e-8, input=JUMP, output=["z"]
    )  # fmt: skip
    near = np.array(
        [min(abs(t - s) for s in (0.2, 0.5236, np.arcsin(0.5 + np.sin(0.2)), np.pi / 2)) for t in found["time"]]
    )
    clear = near > 1e-3
    np.testing.assert_allclose(found["z"][clear], [outlet(t) for t in found["time"][clear]], atol=1e-5)


def test_one_output_is_left_out_and_the_profile_has_a_jump() -> None:
    text = (
        "model M\n  Real x(start = 0.2, fixed = true), y, s(start = 0, fixed = true);\nequation\n  der(x) = 1;\n"
        "  der(s) = y;\n"
        "  (, y) = spatialDistribution(7, 0, x, noEvent(der(x) >= 0), {0, 0.5, 0.5, 1}, {4, 4, 2, 2});\nend M;"
    )
    result = pliant.load(text).simulate(stop=2.0, rtol=1e-8)
    assert result["s"][-1] == pytest.approx(0.5 * 2 + 0.5 * 4 + 7, abs=1e-6)
    assert [round(event.time, 6) for event in result.events] == [0.5, 1.0]


def test_refused(turns: pliant.Model) -> None:
    for call in (lambda: turns.realtime(step=1e-3, stop=0.1), turns.linearize):
        with pytest.raises(pliant.NotSupportedError, match="spatialDistribution"):
            call()
    frame = (
        "model M\n  parameter Real p = 1;\n  Real x(start = 0, fixed = true), y, z;\nequation\n"
        "  der(x) = 1;\n  {};\nend M;"
    )
    for given, words in {
        "time, 0, x, true, {0, 0.5}, {0, 0}": "from 0 to 1",
        "time, 0, x, true, {0, 1}, {0, 0, 1}": "as many values",
        "time, 0, x, x": "Boolean",
        "time, 0, x": "arguments",
        "time, 0, x, true, {0, time}, {0, 0}": "parameter expression",
    }.items():
        with pytest.raises(pliant.ModelError, match=words) as found:
            pliant.load(frame.format(f"(y, z) = spatialDistribution({given})"))
        assert found.value.rule == "3.7.4.2"
    late = pliant.load(frame.format("(y, z) = spatialDistribution(time, 0, x, true, {0, p}, {0, 0})"))
    with pytest.raises(pliant.PliantError, match="0 to 1"):
        late.simulate(stop=1.0, parameters={"p": 0.5})


def test_steps_follow_what_flows_in() -> None:
    """x is a straight line, and would be solved in ten steps."""
    model = pliant.load(
        "model M\n  Real x(start = 0, fixed = true), u = sin(time/2), y, z;\nequation\n  der(x) = 25;\n"
        "  (y, z) = spatialDistribution(u, 0, x, true, {0, 1}, {0, 0});\nend M;"
    )
    for method in ("auto", "radau5", "dopri5"):
        result = model.simulate(stop=100.0, points=400, method=method)
        late = result.time > 0.04
        np.testing.assert_allclose(result["z"][late], np.sin((result.time[late] - 0.04) / 2), atol=1e-4)
        assert set(result.names) == {"x", "u", "y", "z"}
