"""Real-time plans of models that try to break them: jumps, integrators, switches on the grid of steps, odd names."""

from __future__ import annotations

import re
import subprocess
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.codegen.names import member_names, model_prefix
from pliant.errors import ArgumentError, ModelEvaluationError, NonFiniteError, PliantError, UnknownNameError

FAST = {"reference": False, "certificate": False}
DRIVEN = """
model Driven
  input Real u(start = 0);
  Real a(start = 0, fixed = true), b(start = 0, fixed = true);
equation
  der(a) = -40*(a - u);
  der(b) = -3*(b - a);
end Driven;
"""


def plan_of(text: str, step: float = 0.01, stop: float = 2.0, **more: Any) -> pliant.Plan:
    options = {**FAST, **more.pop("options", {})}
    return pliant.load(text).realtime(step=step, stop=stop, options=options, progress=False, **more)


def euler(u: np.ndarray, mask: np.ndarray, tau: float) -> np.ndarray:
    """The step with a pattern, for Driven, by hand: u holds the inputs at the ends of the steps."""
    df = np.array([[-40.0, 0.0], [3.0, -3.0]])
    x = [np.zeros(2)]
    for one in u:
        f = np.array([-40.0 * (x[-1][0] - one), -3.0 * (x[-1][1] - x[-1][0])])
        x.append(x[-1] + np.linalg.solve(np.eye(2) - tau * np.where(mask, df, 0.0), tau * f))
    return np.array(x)


def test_the_analysis_sees_inputs_behind_their_first_jump() -> None:
    table = ([0.0, 0.5, 0.5, 1.2, 1.2, 2.0], [0.0, 0.0, 5.0, 5.0, -3.0, -3.0])
    plan = plan_of(DRIVEN, scenarios=[{"inputs": {"u": table}}])
    t = plan.outcome.exact[0].t
    u = np.where(t <= 0.5 + 1e-12, 0.0, np.where(t <= 1.2 + 1e-12, 5.0, -3.0))
    expected = euler(u, np.ones((2, 2), dtype=bool), 0.01)
    assert np.abs(plan.outcome.exact[0].x - expected).max() < 1e-12
    assert np.abs(plan.outcome.masked[0].x - euler(u, plan.mask, 0.01)).max() < 1e-12
    assert plan.evidence.holds
    assert plan.evidence.code_difference is not None
    assert plan.evidence.code_difference < 1e-12
    assert "u = -3 .. 5" in plan.evidence.covered[0]


@pytest.mark.parametrize("inputs", ["new", "held", "extrapolated"])
def test_order_two_uses_the_inputs_that_its_code_uses(inputs: str) -> None:
    """1.501 - 0.001 lies behind a jump at 1.5, the time of the last call does not."""
    table = ([0.0, 1.5, 1.5, 2.0], [1.0, 1.0, -4.0, -4.2])
    plan = plan_of(DRIVEN, 1e-3, order=2, scenarios=[{"inputs": {"u": table}}], options={"inputs": inputs})
    assert plan.evidence.code_difference is not None
    assert plan.evidence.code_difference < 1e-12


@pytest.mark.parametrize("order", [1, 2])
def test_switches_exactly_at_the_end_of_a_step(order: int) -> None:
    plan = plan_of(
        """
model Switch
  Real x(start = 0, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = -20*x + (if time < 1 then 0 else 20);
  der(y) = -y + (if x > 0.2 then 1 else 0) + min(x, 0.3);
end Switch;
""",
        0.05,
        order=order,
    )
    assert plan.evidence.code_difference is not None
    assert plan.evidence.code_difference < 1e-12
    if order == 1:
        x = plan.outcome.exact[0].x[:, 0]
        assert x[20] == 0.0  # the step up to the jump uses the value before it
        assert x[21] == pytest.approx(0.5)


def test_a_conserved_sum_keeps_a_sensible_margin() -> None:
    """An eigenvalue of one, up to rounding: no share of a margin of 1e-16 may be told."""
    plan = plan_of(
        """
model Robertson
  Real y1(start = 1, fixed = true), y2(start = 0, fixed = true), y3(start = 0, fixed = true);
equation
  der(y1) = -0.04*y1 + 1e4*y2*y3;
  der(y2) = 0.04*y1 - 1e4*y2*y3 - 3e7*y2^2;
  der(y3) = 3e7*y2^2;
end Robertson;
""",
        0.1,
        100.0,
    )
    assert plan.margin_kept == 1.0
    assert plan.evidence.holds


def test_a_free_body_needs_no_lyapunov_function() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = plan_of(
            """
model TwoMasses
  Real x1(start = 0, fixed = true), v1(start = 0, fixed = true);
  Real x2(start = 0, fixed = true), v2(start = 0, fixed = true);
  Real T(start = 0, fixed = true);
equation
  der(x1) = v1;
  der(x2) = v2;
  der(v1) = 1e4*(x2 - x1) + 10*(v2 - v1) + T;
  der(v2) = -1e4*(x2 - x1) - 10*(v2 - v1);
  der(T) = -100*(T - sin(5*time));
end TwoMasses;
""",
            stop=10.0,
            options={"certificate": True},
        )
    assert plan.evidence.lyapunov is None
    assert 0.5 <= plan.margin_kept <= 1.0


def test_a_pure_integrator_has_baselines() -> None:
    plan = plan_of("model I\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = sin(time);\nend I;\n", 0.1, 5.0)
    assert {one.bias for one in plan.baselines()} == {0.0}


def test_a_self_test_that_is_cut_short(tmp_path: Path) -> None:
    """Resting states in single precision: rounding ends the comparison before the scenario ends."""
    plan = plan_of(
        """
model Resting
  Real x(start = 1, fixed = true), y(start = 2, fixed = true), w(start = 0, fixed = true);
equation
  der(x) = -x;
  der(y) = 0;
  der(w) = -1e3*(w - x);
end Resting;
""",
        stop=5.0,
        options={"precision": "float", "monitor": "fallback"},
    )
    folder = plan.write(tmp_path / "code")
    done = subprocess.run(["make", "-C", str(folder), "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_pattern_that_the_diagonal_hides_is_not_called_full() -> None:
    """The entry of the slow state on the diagonal goes; L keeps its place, so the count of entries stays."""
    text = "model S\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -x;\nend S;\n"
    plan = plan_of(text)
    assert not plan.outcome.mask.any()
    assert plan.entries == plan.full_entries
    assert "keeps them all" not in plan.summary
    assert "no search was asked for" in plan_of(text, options={"search": "full"}).summary


def test_a_scenario_that_leaves_the_model_names_the_state() -> None:
    text = "model Empty\n  Real level(start = 1, fixed = true);\nequation\n  der(level) = -sqrt(level);\nend Empty;\n"
    with pytest.raises(NonFiniteError, match="level") as failure:
        plan_of(text, stop=5.0)
    assert failure.value.names == ("level",)
    assert failure.value.hint


def test_an_input_that_is_not_a_number_is_named() -> None:
    with pytest.raises(NonFiniteError, match="Driven: u ") as failure:
        plan_of(DRIVEN, scenarios=[{"inputs": {"u": lambda t: np.nan if t > 1 else 0.0}}])
    assert failure.value.time == pytest.approx(1.01)


@pytest.mark.parametrize(
    ("scenario", "words"),
    [
        ({"inputs": 3}, "inputs must be a mapping"),
        ({"parameters": 3}, "parameters must be values by name"),
        ({"stop": "late"}, "stop must be a number, not 'late'"),
        ({"start": None}, "start must be a number, not None"),
        ({"inputs": {"u": ([0, 1], [1])}}, "input u: times have shape"),
        ({"inputs": {"u": ([], [])}}, "input u: times have shape"),
        ({"inputs": {"u": object()}}, "input u: object"),
    ],
)
@pytest.mark.parametrize("inputs", ["new", "held"])
def test_scenarios_of_a_wrong_kind(scenario: dict[str, Any], words: str, inputs: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(words)):
        plan_of(DRIVEN, scenarios=[scenario], options={"inputs": inputs})


@pytest.mark.parametrize(
    "options",
    [
        {"weights": 3},
        {"weights": {"a": "much"}},
        {"protected": "a"},
        {"smallest_real": float("nan")},
        {"reference": "no"},
        {"cluster_cut": -1.0},
    ],
)
def test_options_of_a_wrong_kind(options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=next(iter(options))):
        plan_of(DRIVEN, options=options)


def test_tables_in_files(tmp_path: Path) -> None:
    file = tmp_path / "u.csv"
    file.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ArgumentError, match="not a text file"):
        plan_of(DRIVEN, scenarios=[{"inputs": {"u": str(file)}}])
    file.write_text("time;u;v\n0;1;2\n")
    with pytest.raises(UnknownNameError, match="no column 'w'"):
        plan_of(DRIVEN, scenarios=[{"inputs": {"w": str(file)}}])


def test_runs_of_a_wrong_kind(tmp_path: Path) -> None:
    plan = plan_of(DRIVEN, stop=1.0)
    cases = [{"stop": -1.0}, {"stop": float("nan")}, {"stop": 1.0, "kind": "fast"}, {"stop": 1.0, "kind": "full"}]
    for case in cases:
        with pytest.raises(ArgumentError):
            plan.simulate(**case)  # type: ignore[arg-type]
    step = plan.step
    with pytest.raises(ArgumentError, match="no whole number of steps") as error:
        plan.simulate(stop=0.5 + 0.4 * step)
    assert error.value.hint == f"stop=0.5 or stop={0.5 + step:g}"
    assert plan.simulate(stop=0.5 + 1e-7 * step).time[-1] == plan.simulate(stop=0.5).time[-1] == 0.5
    with pytest.raises(UnknownNameError):
        plan.why(3, "a")  # type: ignore[arg-type]
    with pytest.raises(PliantError):
        plan.plot(tmp_path / "nowhere" / "plan.png")


def test_macros_of_c_as_names(tmp_path: Path) -> None:
    plan = plan_of(
        """
model Macros
  parameter Real NAN = 1, INFINITY = 2, EOF = 1, errno = 2, I = 1, M_PI = 3, INT_MAX = 1, this = 1;
  input Real stdout(start = 0);
  output Real stderr;
  Real x(start = 1, fixed = true), E(start = 0, fixed = true);
equation
  der(x) = -x*EOF*errno*NAN + I + this + stdout + INT_MAX;
  der(E) = -E*M_PI*INFINITY + x;
  stderr = x + E;
end Macros;
""",
        stop=1.0,
    )
    folder = plan.write(tmp_path / "code")
    done = subprocess.run(["make", "-C", str(folder), "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_names_that_are_too_long_or_taken() -> None:
    assert len(model_prefix("L" * 300)) <= 80
    assert len(set(member_names(["NAN", "NAN_2", "M_E", "v_M_E", "class"]))) == 5
    assert not {"NAN", "M_E", "class"} & set(member_names(["NAN", "M_E", "class"]))


def test_a_run_that_the_model_does_not_get_through() -> None:
    """The step damps what grows in the model: the accurate simulation fails, so the evidence does not hold."""
    model = pliant.load(
        "model M\n  parameter Real k = 2;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -k*x;\nend M;\n"
    )
    plan = model.realtime(step=1e-3, stop=0.1, scenarios=[{"parameters": {"k": -1e4}}])
    assert not plan.evidence.holds
    found = {one.name: one for one in plan.evidence.items}
    assert "accurate simulation fails" in found["accurate reference, scenario 1"].text
    assert "e^10 per step" in found["growth that the step hides"].text
    good = model.realtime(step=1e-3, stop=0.1)
    assert good.evidence.holds
    assert all("hides" not in one.name for one in good.evidence.items)


def test_assertions_of_the_model() -> None:
    """Generated code does not evaluate them; a scenario that violates one is not evidence."""
    head = "model M\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -x;\n"
    model = pliant.load(head + '  assert(x > 0.5, "low");\nend M;\n')
    early, late = model.realtime(step=1e-2, stop=0.5), model.realtime(step=1e-2, stop=2.0)
    assert early.evidence.holds
    assert not late.evidence.holds
    assert any("assertions" in one for one in early.evidence.not_checked)


def test_outputs_that_cannot_be_evaluated_on_the_way() -> None:
    """The step goes on with its fixed Newton steps; the result ends where the model itself finds no solution."""
    model = pliant.load(
        "model M\n  parameter Real a = 0.1;\n  Real x(start = 1, fixed = true), z(start = 1), w;\nequation\n"
        "  der(x) = -a*x + 0*w; z*z*(1 + z*z) = x - 0.2; w = z;\nend M;\n"
    )
    plan = model.realtime(step=0.01, stop=1.0, options={"search": "full"})
    with pytest.raises(ModelEvaluationError, match=r"outputs cannot be evaluated at t = ") as caught:
        plan.simulate(stop=1.0, parameters={"a": 3.0})
    assert caught.value.result is not None
    assert not caught.value.result.complete
    assert caught.value.result["x"][-1] == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("parameter Real k = 1e39; Real x(start = 1, fixed = true); equation der(x) = -x*k/1e39;", "parameter k"),
        (
            "Real x(start = 1, fixed = true), y(start = 1e22, fixed = true); "
            "equation der(x) = -x*y^2/1e44; der(y) = -y;",
            r"a part of der\(x\)",
        ),
    ],
)
def test_what_does_not_fit_into_float_is_named(text: str, words: str) -> None:
    model = pliant.load(f"model M {text} end M;")
    quick = {"certificate": False, "reference": False}
    plan = model.realtime(step=0.05, stop=0.5, accuracy=None, options={"precision": "float", **quick})
    item = next(one for one in plan.evidence.items if one.name == "range of float")
    assert item.holds is False
    assert re.match(rf"{words} = .* is beyond 3.4e\+38", item.text)
    double = model.realtime(step=0.05, stop=0.5, accuracy=None, options=quick)
    assert double.evidence.holds


def test_constants_that_vanish_in_float_are_named(tmp_path: Path) -> None:
    text = """
    model Vanishes
      Real x(start = 1, fixed = true), y(start = 1, fixed = true);
    equation
      der(x) = -x + 1e-55*y;
      der(y) = -5*y;
    end Vanishes;
    """
    plan = pliant.load(text).realtime(step=0.01, stop=0.5, options={"precision": "float", "certificate": False})
    item = next(one for one in plan.evidence.items if one.name == "range of float")
    assert "the constant of der(x) = 1e-55 is below 1.2e-38" in item.text
    folder = plan.write(tmp_path / "vanishes")
    words = ["make", "-s", "-C", str(folder), "Vanishes.o", "CFLAGS=-O0 -std=c99 -Wall -Wextra -Werror -pedantic"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
