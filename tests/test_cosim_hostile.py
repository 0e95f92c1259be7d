"""Couplings and inputs at the edges: jumps beside communication points, dae form, arguments of wrong types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from support_cli import CliRunner
from support_cosim import FRAGILE, text_model

import pliant
from pliant.cli import app
from pliant.cosim.compare import compare

LAG = """
model Lag
  input Real u;
  Real x(start = 0, fixed = true);
equation
  der(x) = 2*(u - x);
end Lag;
"""

SUM = """
model Sum
  input Real u, w;
  Real x(start = 0, fixed = true);
equation
  der(x) = u + w;
end Sum;
"""

# two unknowns in a loop: in dae form they join the states
IMPLICIT = """
model Implicit
  input Real u;
  Real x(start = 1, fixed = true);
  Real z(start = 0.6), w(start = 0.6);
  output Real y = z;
equation
  der(x) = -x + z*w;
  z + z^3 + 0.3*w = x + 0.3*u;
  w + w^3 - 0.3*z = x;
end Implicit;
"""


def lag() -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("a", text_model(LAG))
    return coupling


@pytest.mark.parametrize("start", [0.0, 0.05, -1.0])
@pytest.mark.parametrize("kind", ["table", "segments"])
def test_a_jump_a_rounding_error_beside_a_communication_point(start: float, kind: str) -> None:
    """3*0.1 is not 0.3: the jump must neither become a ramp nor be lost for a macro step."""
    for i in range(1, 10):
        nominal = start + i * 0.1
        for at in (nominal, round(nominal, 2), np.nextafter(nominal, -9.0), np.nextafter(nominal, 9.0)):
            at = float(at)
            table = ([start, at, at, start + 1], [0.0, 0.0, 1.0, 1.0])
            jump: Any = table if kind == "table" else pliant.Segments([start, at], [[0.0], [1.0]])
            result = lag().simulate(start=start, stop=start + 1, step=0.1, rtol=1e-8, inputs={"a.u": jump})
            exact = 1 - np.exp(-2 * (start + 1 - at))
            assert result.final["a.x"] == pytest.approx(exact, abs=1e-6)
            assert result["a.u"][i] == 1.0
            assert result["a.u"][i - 1] == 0.0


def test_jumps_of_two_inputs_a_rounding_error_apart() -> None:
    coupling = pliant.Coupling()
    coupling.add("a", text_model(SUM))
    near = float(np.nextafter(0.25, 1.0))
    inputs = {"a.u": ([0, 0.25, 0.25, 1], [0, 0, 1, 1]), "a.w": ([0, near, near, 1], [0, 0, 2, 2])}
    result = coupling.simulate(stop=1, step=0.2, inputs=inputs)
    assert result.final["a.x"] == pytest.approx(0.75 * 3, abs=1e-6)


@pytest.mark.parametrize("width", [1e-6, 1e-9, 1e-12, 1e-15])
def test_a_pulse_that_is_hardly_there(width: float) -> None:
    """Knots that count as one: what holds after the last of them holds."""
    end = 0.25 + width
    pulse = pliant.Segments([0.0, 0.25, end], [[0.0], [1e3], [1.0]])
    for given in (([0, 0.25, 0.25, end, end, 1], [0, 0, 1e3, 1e3, 1, 1]), pulse):
        for step in (0.1, 0.05):  # inside a macro step, and beside a communication point
            found = lag().simulate(stop=1, step=step, rtol=1e-8, inputs={"a.u": given}).final["a.x"]
            assert found == pytest.approx(1 - np.exp(-1.5) + 2e3 * (end - 0.25) * np.exp(-1.5), abs=2e-6)


def test_segments_that_begin_inside_the_run() -> None:
    """Constant before the first start; where it jumps, the row has the value after it."""
    ramp = pliant.Segments([1.0, 2.0], [[0.0, 1.0], [5.0, 0.0]])
    result = text_model(LAG).simulate(stop=3, inputs={"u": ramp}, points=7, rtol=1e-8)
    assert result["u"] == pytest.approx([0, 0, 0, 0.5, 5, 5, 5])

    def f(t: float, x: Any) -> Any:
        return 2 * ((t - 1 if t < 2 else 5.0) - x)

    middle = solve_ivp(f, (1, 2 - 1e-14), [0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    exact = solve_ivp(f, (2, 3), middle, rtol=1e-10, atol=1e-12).y[0, -1]
    assert result.final["x"] == pytest.approx(exact, abs=1e-6)


def test_dae_form_does_not_begin_anew() -> None:
    """Fewer than half the steps of a restart, the values of the ode form, and the same bits in threads."""
    models = {form: pliant.load(IMPLICIT, options={"form": form}) for form in ("ode", "dae")}
    assert models["dae"]._numeric.names.algebraic
    finals = {}
    counts = {}
    for form, how in (("ode", "correct"), ("dae", "correct"), ("dae", "restart")):
        coupling = pliant.Coupling()
        coupling.add("a", models[form])
        coupling.add("b", models[form])
        coupling.connect("a.y", "b.u")
        coupling.connect("b.y", "a.u")
        arguments = {"stop": 1, "step": 0.02, "start_values": {"b.x": 0.5}, "rtol": 1e-8, "at_jump": how}
        result = coupling.simulate(**arguments)
        assert result.final["a.x"] == coupling.simulate(parallel=True, **arguments).final["a.x"]
        finals[form, how], counts[form, how] = result.final["a.x"], result.stats.n_steps
    assert finals["dae", "correct"] == pytest.approx(finals["ode", "correct"], abs=1e-6)
    assert counts["dae", "correct"] < 0.5 * counts["dae", "restart"]


def test_saved_and_restored_in_dae_form() -> None:
    """The look ahead of extrapolation 2 is taken back: the same as if the part had never gone."""
    from pliant.cosim.model_part import ModelPart
    from pliant.cosim.part import PartSettings

    part = ModelPart("a", pliant.load(IMPLICIT, options={"form": "dae"})._numeric)
    part.configure(PartSettings(0.0, stop=1.0))
    part.choose(["y", "x"])
    part.begin(0.0, np.array([0.8]))

    def on(a: float, b: float, slope: float) -> Any:
        part.set_inputs(a, np.array([[0.5 + slope], [slope], [0.0]]))
        assert part.step(b, lambda: False)
        return part.outputs(np.array([0.7]))

    on(0.0, 0.1, 0.3)
    on(0.1, 0.2, -0.3)
    token = part.save()
    first = [on(0.2, 0.3, 0.4), on(0.3, 0.5, 0.1)]
    part.restore(token)
    on(0.2, 0.25, -1.0)
    part.restore(token)
    second = [on(0.2, 0.3, 0.4), on(0.3, 0.5, 0.1)]
    part.close()
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"extrapolation": 1.0}, "extrapolation must be 0, 1 or 2"),
        ({"extrapolation": np.array([1, 2])}, "extrapolation must be"),
        ({"timeout": "long"}, "timeout must be positive"),
        ({"order": [1, "a"]}, "order must name every part"),
        ({"order": 5}, "order must name every part"),
        ({"parameters": 5}, "parameters must be values by name"),
        ({"start_values": [1]}, "start_values must be values by name"),
        ({"options": [1]}, "options must be values by name"),
        ({"inputs": 5}, "inputs must be a mapping"),
        ({"method": ["bdf"]}, "method must be a name"),
        ({"at_jump": ["x1"]}, "at_jump must be one of"),
        ({"smooth": "no"}, "smooth must be one of"),
        ({"parallel": 3}, "parallel must be one of"),
        ({"inputs": {"a.u": lambda t: "text"}}, "'text' at t = 0, which is not a finite number"),
        ({"inputs": {"a.u": ([0, 1, 1, 1, 2], [0, 1, 2, 3, 4])}}, "more than twice"),
    ],
)
def test_wrong_types_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=words):
        lag().simulate(**{"stop": 1, "step": 0.1, "inputs": {"a.u": 1.0}, **arguments})


def test_wrong_types_of_a_part_are_refused() -> None:
    with pytest.raises(pliant.ArgumentError, match="part 'b': parameters must be values by name"):
        lag().add("b", text_model(LAG), parameters=5)


def test_wrong_types_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "lag.mo").write_text(LAG)
    rest = 'stop = 1\nstep = 0.1\ninputs = {"a.u" = 1.0}\n[parts.a]\nfile = "lag.mo"\n'
    for line in ("extrapolation = 1.0", 'smooth = "no"', 'method = ["bdf"]', "options = [1]", 'timeout = "x"'):
        (tmp_path / "system.toml").write_text(f"{line}\n{rest}")
        found = CliRunner().invoke(app, ["cosim", str(tmp_path / "system.toml"), "--json"])
        assert found.exit_code == 1
        assert json.loads(found.stdout)["error"]["type"] == "ArgumentError"


def test_ctrl_c_ends_a_comparison() -> None:
    calls = []

    def interrupt(progress: Any) -> None:
        calls.append(progress)
        raise KeyboardInterrupt

    with pytest.raises(pliant.SimulationInterrupted):
        compare(lag(), stop=1, step=0.1, inputs={"a.u": 1.0}, progress=interrupt)
    assert len(calls) == 1


def test_a_graph_does_not_keep_the_result_of_a_failed_run_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "fragile.mo").write_text(FRAGILE)
    file = tmp_path / "system.toml"
    file.write_text('stop = 1\nstep = 0.1\ninputs = {"a.u" = 1.0}\n[parts.a]\nfile = "fragile.mo"\n')
    out, graph = tmp_path / "out.csv", tmp_path / "graph.png"
    found = CliRunner().invoke(app, ["cosim", str(file), "--save", str(out), "--graph", str(graph), "--json"])
    assert found.exit_code == 1
    assert graph.exists()
    assert len(out.read_text().splitlines()) >= 6
    assert json.loads(found.stdout)["error"]["time"] == pytest.approx(0.505, abs=0.02)


def test_exit_codes_of_a_comparison(tmp_path: Path) -> None:
    (tmp_path / "fragile.mo").write_text(FRAGILE)
    file = tmp_path / "system.toml"
    file.write_text('stop = 1\nstep = 0.1\ninputs = {"a.u" = 1.0}\n[parts.a]\nfile = "fragile.mo"\n')
    found = CliRunner().invoke(app, ["cosim", str(file), "--compare", "--json"])
    assert found.exit_code == 1
    assert len(json.loads(found.stdout)["strategies"]) == 5
    assert CliRunner().invoke(app, ["cosim", str(file), "--compare", "--stop", "0.4"]).exit_code == 0
    found = CliRunner().invoke(app, ["cosim", str(file), "--stop", "0.4", "--steps-file", str(tmp_path / "s.png")])
    assert found.exit_code == 2
    assert "--compare" in found.stderr
