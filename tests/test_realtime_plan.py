"""Plans of Modelica models: from the text to the compiled step, through the public face and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import pliant
from pliant.cli import app
from pliant.errors import ArgumentError, NonFiniteError, NotSupportedError, UnknownNameError
from pliant.realtime.scenario import Scenario
from pliant.realtime.stages.step import drive

EXAMPLES = Path(__file__).parents[1] / "examples"

TANKS = """
model Tanks "Two stiff flows and a slow level; inflow is an input"
  parameter Real k = 1000;
  parameter Real leak = 0.2;
  input Real inflow;
  Real a(start = 1, fixed = true), b(start = 0, fixed = true);
  Real level(start = 0, fixed = true);
  output Real shown;
equation
  der(a) = -k*(a - b) + 100*inflow;
  der(b) = k*(a - b) - 500*b;
  der(level) = a + b - leak*level;
  shown = 2*level;
end Tanks;
"""


@pytest.fixture(scope="module")
def tanks() -> pliant.Model:
    return pliant.load(TANKS)


@pytest.fixture(scope="module")
def tanks_plan(tanks: pliant.Model) -> pliant.Plan:
    return tanks.realtime(
        step=0.01,
        stop=5.0,
        scenarios=[
            {"name": "wave", "inputs": {"inflow": lambda t: 1 + np.sin(t)}},
            {"name": "table", "inputs": {"inflow": ([0.0, 2.0, 5.0], [0.0, 3.0, 1.0])}, "parameters": {"k": 800.0}},
        ],
        options={"monitor": "fallback"},
    )


@pytest.fixture(scope="module")
def pipe() -> pliant.Model:
    return pliant.load(EXAMPLES / "Pipe.mo")


@pytest.fixture(scope="module")
def pipe_plan(pipe: pliant.Model) -> pliant.Plan:
    return pipe.realtime(step=0.1, stop=60.0)


def by_hand(plan: pliant.Plan, k: float, inflow, steps: int) -> np.ndarray:
    """The step in plain NumPy."""
    A = np.array([[-k, k, 0.0], [k, -k - 500.0, 0.0], [1.0, 1.0, -0.2]])
    J, x, tau = np.where(plan.mask, A, 0.0), np.array([1.0, 0.0, 0.0]), plan.step
    out = [x]
    for n in range(steps):
        f = A @ x + np.array([100.0 * inflow((n + 1) * tau), 0.0, 0.0])
        x = x + np.linalg.solve(np.eye(3) - tau * J, tau * f)
        out.append(x)
    return np.array(out)


def test_the_compiled_step_is_the_method(tanks_plan: pliant.Plan) -> None:
    result = tanks_plan.simulate(stop=2.0, inputs={"inflow": lambda t: np.cos(3 * t)}, parameters={"k": 900.0})
    expected = by_hand(tanks_plan, 900.0, lambda t: np.cos(3 * t), 200)
    assert result["a"] == pytest.approx(expected[:, 0], rel=1e-10, abs=1e-12)
    assert result["level"] == pytest.approx(expected[:, 2], rel=1e-10, abs=1e-12)
    assert result["shown"] == pytest.approx(2 * expected[:, 2], rel=1e-10, abs=1e-12)
    assert result["inflow"][-1] == pytest.approx(np.cos(6.0))
    assert result["k"][0] == 900.0
    assert result.stats.n_steps == 200


@pytest.mark.parametrize("mode", ["held", "extrapolated"])
def test_inputs_of_earlier_steps(tanks: pliant.Model, mode: str) -> None:
    def wave(t: float) -> float:
        return float(np.sin(2 * t))

    scenario = [{"inputs": {"inflow": wave}}]
    plan = tanks.realtime(step=0.01, stop=2.0, scenarios=scenario, options={"inputs": mode})

    def seen(t: float) -> float:
        last = wave(max(t - 0.01, 0.0))
        return last if mode == "held" else 2 * last - wave(max(t - 0.02, 0.0))

    result = plan.simulate(stop=2.0, inputs={"inflow": wave})
    assert result["a"] == pytest.approx(by_hand(plan, 1000.0, seen, 200)[:, 0], rel=1e-9, abs=1e-12)
    assert plan.evidence.holds


def test_what_a_plan_tells(tanks_plan: pliant.Plan) -> None:
    plan = tanks_plan
    assert not plan.mask[2, 2]
    assert plan.entries == len(plan.code.elimination.entries)
    assert plan.evidence.holds
    assert len(plan.evidence.predicted) == 2
    assert "k = 800" in plan.evidence.text
    assert "table" in plan.evidence.text
    assert "3 unknowns" in plan.summary
    assert f"{plan.entries} of {plan.full_entries} entries" in repr(plan)
    told = json.loads(json.dumps(plan.as_dict()))
    assert told["entries"] == plan.entries
    assert len(told["kept"]) == plan.mask.sum()


def test_fallback_and_full_step(tanks_plan: pliant.Plan, tanks: pliant.Model) -> None:
    arguments = {"stop": 2.0, "inputs": {"inflow": 1.0}}
    full = tanks_plan.simulate(kind="full", **arguments)
    exact = tanks.simulate(method="lieuler", step=0.01, points=full.time, **arguments)
    assert full["a"] == pytest.approx(exact["a"], rel=1e-9, abs=1e-12)
    guarded = tanks_plan.simulate(kind="guarded", **arguments)
    plain = tanks_plan.simulate(**arguments)
    assert np.array_equal(guarded["a"], plain["a"])  # nothing to guard against
    assert tanks_plan.code.operations["guarded"].total > tanks_plan.code.operations["step"].total


def test_float_is_close_to_double(pipe_plan: pliant.Plan) -> None:
    double, single = pipe_plan.simulate(stop=30.0), pipe_plan.simulate(stop=30.0, precision="float")
    for name in ("w1[5]", "T_B[5]", "T_C[3]"):
        size = np.ptp(double[name])
        assert np.abs(double[name] - single[name]).max() < 1e-3 * size
    assert not np.array_equal(double["T_B[5]"], single["T_B[5]"])


def test_unseen_scenarios_are_stable_or_flagged(pipe_plan: pliant.Plan, pipe: pliant.Model) -> None:
    for parameters in ({"T_slow": 150.0}, {"Md_mean": 0.06, "Md_slow": 0.6}, {"T_mean": 900.0, "w_wave[2]": 0.05}):
        scenario = Scenario("unseen", parameters=parameters, stop=40.0)
        run = drive(pipe_plan.code, pipe._numeric, scenario)
        accurate = pipe.simulate(stop=40.0, points=run.time, rtol=1e-8, parameters=parameters)
        error = max(
            np.abs(run.x[:, i] - accurate[name]).max() / np.ptp(accurate[name][5:])
            for i, name in enumerate(pipe_plan.names)
        )
        assert error < 0.05 or run.flags.any()


def test_the_monitor_speaks_before_a_bad_pattern_diverges() -> None:
    """A coupling that no scenario shows: the gain comes up later, and the pattern has no entry for it."""
    model = pliant.load("""
    model Late
      parameter Real gain = 0;
      Real x(start = 1, fixed = true), y(start = 1, fixed = true);
    equation
      der(x) = -2*x + 0.1*y;
      der(y) = -2*y - gain*tanh(4*(time - 1) - 4)*y - gain*y + 0.1*sin(time);
    end Late;
    """)
    plan = model.realtime(step=0.01, stop=4.0)
    assert not plan.mask[1, 1]
    scenario = Scenario("late", parameters={"gain": 400.0}, stop=6.0)
    run = drive(plan.code, model._numeric, scenario)
    bits = run.flags
    assert bits is not None
    size = np.abs(run.x).max(axis=1)
    gone = int(np.argmax(~(size < 10.0)))
    assert gone > 0  # it does diverge
    first = int(np.argmax(bits != 0))
    assert bits[first] != 0
    assert first + 1 < gone
    with pytest.raises(NonFiniteError, match="unstable in this scenario") as failure:
        plan.simulate(stop=60.0, parameters={"gain": 400.0})
    assert failure.value.result is not None
    assert failure.value.result.time[-1] < 60.0


def test_dae_form_of_a_model_loaded_as_ode() -> None:
    model = pliant.load(EXAMPLES / "DiodeGrid.mo")
    plan = model.realtime(step=1e-4, stop=0.02, options={"form": "dae"})
    assert plan.mask.shape == (30, 30)
    assert plan.evidence.holds
    assert plan.evidence.constraint is not None
    assert plan.entries < 0.8 * plan.full_entries
    measured = max(float(one.max()) for one in plan.evidence.measured)
    assert plan.bias == pytest.approx(measured, rel=0.5)
    result = plan.simulate(stop=0.02)
    accurate = model.simulate(stop=0.02, points=result.time, rtol=1e-8)
    assert np.abs(result["v[3,3]"] - accurate["v[3,3]"]).max() < 0.05 * np.ptp(accurate["v[3,3]"])


def test_both_forms_are_compared() -> None:
    model = pliant.load(EXAMPLES / "transistor_amplifier.mo")
    options = {"reference": False, "certificate": False}
    plans = {form: model.realtime(step=1e-5, stop=0.001, options={"form": form, **options}) for form in ("ode", "dae")}
    best = model.realtime(step=1e-5, stop=0.001, options={"form": "best", **options})
    costs = {form: plan.code.operations["step"].total for form, plan in plans.items()}
    assert best.code.operations["step"].total == min(costs.values())
    assert [one.split(":")[0] for one in best.forms] == ["ode", "dae"]
    assert all(str(cost) in told for cost, told in zip(costs.values(), best.forms, strict=True))
    assert best.forms[0] in best.summary
    chain = """
    model Chain
      Real x[3](each start = 1, each fixed = true);
    equation
      der(x) = {-x[1], x[1] - x[2], x[2]};
    end Chain;
    """
    alone = pliant.load(chain).realtime(step=1e-3, stop=0.1, options={"form": "best", **options})
    assert "no loops" in alone.forms[1]


def test_explicit_pattern_of_a_model_with_loops() -> None:
    """No entry of the Jacobian is needed, but the loops inside f are."""
    model = pliant.load(EXAMPLES / "transistor_amplifier.mo")
    plan = model.realtime(step=1e-5, stop=0.005)
    assert plan.mask.sum() == 0
    assert plan.evidence.holds
    assert plan.evidence.code_difference is not None
    assert plan.evidence.code_difference < 1e-3


def test_relations_are_held_within_steps() -> None:
    model = pliant.load("""
    model Switch
      Real x(start = 0, fixed = true), y(start = 0, fixed = true);
    equation
      der(x) = if y > 0.5 then -2*x else 1 - x;
      der(y) = 300*(x - y);
    end Switch;
    """)
    plan = model.realtime(step=0.01, stop=5.0, options={"reference": False})  # it slides: no accurate run ends soon
    assert plan.evidence.holds
    result = plan.simulate(stop=5.0)
    assert 0.4 < result["x"].max() < 0.6
    assert plan.code.style == "straight-line"


def test_baselines_and_picture(pipe_plan: pliant.Plan, tmp_path: Path) -> None:
    found = {one.name.split(":")[0]: one for one in pipe_plan.baselines()}
    assert found["all entries"].entries == 74
    assert found["explicit Euler"].radius > 1.0  # the gas is far too fast
    assert found["mixed-mode, rows only"].radius <= 1.0 + 1e-9
    assert "magnitude, fixed pattern" in found
    assert "eigenvalues alone, single entries" in found
    pipe_plan.plot(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 10_000


def test_functions_can_be_planned_but_not_written() -> None:
    A = np.array([[-500.0, 100.0], [0.0, -1.0]])
    plan = pliant.ode(lambda t, x: A @ x + np.sin(t), [1.0, 1.0], jac=lambda t, x: A).realtime(step=0.01, stop=5.0)
    assert plan.entries <= 3
    assert not plan.can_write
    with pytest.raises(NotSupportedError, match="no C code"):
        plan.measure()
    run = plan.simulate(stop=1.0)  # the step calls the functions
    exact = plan.simulate(stop=1.0, kind="full")
    assert run.stats.n_steps == exact.stats.n_steps == 100
    assert abs(run.final["x[1]"] - exact.final["x[1]"]) < 0.02
    with pytest.raises(NotSupportedError, match="form"):
        pliant.ode(lambda t, x: -x, [1.0]).realtime(options={"form": "dae"})


def test_models_that_a_step_cannot_express() -> None:
    with pytest.raises(NotSupportedError, match=r"states during the run"):
        pliant.load(EXAMPLES / "pendulum.mo").realtime(step=1e-3, stop=1.0)
    with pytest.raises(NotSupportedError, match=r"delay\(x, \.\.\.\) delays changes"):
        pliant.load(
            "model M Real x(start = 0, fixed = true); equation der(x) = 1 - delay(x, 0.1 + 0.01*x, 1); end M;\n"
        ).realtime(step=1e-3, stop=1.0)


def test_wrong_names_are_told(tanks_plan: pliant.Plan, tanks: pliant.Model) -> None:
    with pytest.raises(UnknownNameError, match="inflo"):
        tanks.realtime(step=0.01, stop=1.0, scenarios=[{"inputs": {"inflo": 1.0}}])
    with pytest.raises(UnknownNameError, match="kk"):
        tanks_plan.simulate(stop=1.0, parameters={"kk": 1.0})
    with pytest.raises(ArgumentError, match="progress"):
        tanks.realtime(progress=3)  # type: ignore[arg-type]


def test_progress_is_told(tanks: pliant.Model) -> None:
    seen: list[str] = []
    tanks.realtime(step=0.01, stop=2.0, progress=lambda one: seen.append(one.stage))
    assert {"exact runs", "search", "sparsed runs", "evidence"} <= set(seen)


# ------------------------------------------------------------------------------------------------ command line


def run(*arguments: str) -> object:
    return CliRunner().invoke(app, ["realtime", *arguments])


def test_command_line(tmp_path: Path) -> None:
    page = tmp_path / "pipe.html"
    done = run(str(EXAMPLES / "Pipe.mo"), "--step", "0.1", "--stop", "20", "--report", str(page), "--baselines")
    assert done.exit_code == 0, done.output
    assert "74 -> " in done.output
    assert "explicit Euler" in done.output
    assert page.read_text("utf-8").startswith("<!")


def test_command_line_for_machines(tmp_path: Path) -> None:
    scenarios = tmp_path / "scenarios.json"
    scenarios.write_text(json.dumps([{"parameters": {"T_mean": 650.0}}, {"stop": 5.0}]))
    done = run(
        str(EXAMPLES / "Pipe.mo"), "--step", "0.1", "--stop", "10", "--json", "--scenarios", str(scenarios),
        "--option", "certificate=0", "--theta", "0.6",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["full_entries"] == 74
    assert len(told["names"]) == 25


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--step", "0", "--stop", "1"], 2, "step"),
        (["--step", "0.1", "--stop", "10", "--option", "bogus=1"], 2, "bogus"),
        (["--step", "0.1", "--stop", "10", "--scenarios", "none.json"], 2, "none.json"),
        (["--step", "0.1", "--stop", "10", "--param", "nobody=1"], 1, "nobody"),
    ],
)
def test_command_line_refuses(arguments: list[str], code: int, words: str) -> None:
    done = run(str(EXAMPLES / "Pipe.mo"), *arguments)
    assert done.exit_code == code
    assert words in done.output + (done.stderr if done.stderr_bytes else "")


def test_limit_cycles_are_not_called_unstable() -> None:
    model = pliant.load("""
    model VanDerPol
      Real x(start = 2, fixed = true), v(start = 0, fixed = true);
    equation
      der(x) = v;
      der(v) = 10*(1 - x^2)*v - x;
    end VanDerPol;
    """)
    plan = model.realtime(step=5e-3, stop=40.0)
    assert plan.evidence.unstable_exact > 0
    result, exact = plan.simulate(stop=40.0), model.simulate(stop=40.0, method="lieuler", step=5e-3, points=8001)
    assert np.ptp(result["x"]) == pytest.approx(np.ptp(exact["x"]), rel=0.05)
