"""Macro steps chosen by error: accuracy, cost, events, limits of parts, what is told about them."""

from __future__ import annotations

import json
import pickle
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_cosim import EXAMPLES, spring_damper, spring_error, text_model
from support_fmus import CS, fmu

import pliant
from pliant.cli.app import app
from pliant.cosim import growth
from pliant.cosim.compare import total
from pliant.cosim.model_part import ModelPart


@pytest.mark.parametrize(("scheme", "degree"), [("jacobi", 2), ("gauss-seidel", 1)])
def test_errors_follow_macro_rtol(scheme: str, degree: int) -> None:
    errors = []
    for macro_rtol in (1e-2, 1e-3):
        run = spring_damper().simulate(
            stop=1, step="auto", macro_rtol=macro_rtol, scheme=scheme, extrapolation=degree, rtol=1e-8
        )
        errors.append(spring_error(run) / 18.0)  # of the range
        assert run.complete
        assert run.time[-1] == 1.0
    assert errors[0] < 0.1
    assert errors[1] < 0.3 * errors[0]


def test_cost_against_the_best_fixed_step_of_equal_error() -> None:
    auto = spring_damper().simulate(stop=5, step="auto", extrapolation=2, rtol=1e-7)
    steps = (0.03, 0.02, 0.015, 0.01)
    fixed = [spring_damper().simulate(stop=5, step=h, extrapolation=2, rtol=1e-7, watch=False) for h in steps]
    enough = [total(one.stats) for one in fixed if spring_error(one) <= spring_error(auto)]
    assert total(auto.stats) <= 1.3 * min(enough)


def test_halving() -> None:
    run = spring_damper().simulate(stop=2, step="auto", macro_error="halving", rtol=1e-8)
    assert spring_error(run) / 18.0 < 0.02
    assert len(run.macro) < 100
    assert np.isfinite(run.macro.error).all()


STEADY = """
model Steady
  input Real u;
  Real x(start = 1, fixed = true);
  output Real y = x;
equation
  der(x) = -50*x - 40*u;
end Steady;
"""


def test_steps_stay_where_they_are_stable() -> None:
    """All signals come to rest: errors say nothing, and only stability limits the steps."""
    coupling = pliant.Coupling()
    coupling.add("a", text_model(STEADY))
    coupling.add("b", text_model(STEADY))
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    run = coupling.simulate(stop=20, step="auto")
    exact = np.exp(-90 * run.time)
    assert run["a.x"] == pytest.approx(exact, abs=2e-3)
    assert run["a.x"][-20:] == pytest.approx(0, abs=1e-3)


FOLLOWS = """
model Follows
  input Real u;
  Real x(start = 1, fixed = true);
  output Real y = x;
equation
  der(x) = -x + u;
end Follows;
"""
RELAY = """
model Relay
  input Real u;
  output Real y;
equation
  y = if u > 0.3 then 1 else -2;
end Relay;
"""
SWING = """
model Swing
  input Real f;
  Real s(start = 0, fixed = true), c(start = 1, fixed = true), z(start = 0, fixed = true);
equation
  der(s) = 3*c;
  der(c) = -3*s;
  der(z) = f;
end Swing;
"""


@pytest.mark.parametrize("degree", [1, 2])
def test_events_in_parts_end_macro_steps(degree: int) -> None:
    """The output of the relay jumps inside a macro step: the step is cut there."""
    coupling = pliant.Coupling()
    coupling.add("swing", text_model(SWING))
    coupling.add("relay", text_model(RELAY))
    coupling.connect("swing.s", "relay.u")
    coupling.connect("relay.y", "swing.f")
    run = coupling.simulate(stop=2, step="auto", extrapolation=degree, rtol=1e-8)
    up, down = np.arcsin(0.3) / 3, (np.pi - np.arcsin(0.3)) / 3
    exact = -2 * up + (down - up) - 2 * (2 - down)
    assert run["swing.z"][-1] == pytest.approx(exact, abs=1e-3)
    assert np.abs(run.time - up).min() < 2e-3
    assert len(run.macro) < 400


def test_jumps_of_given_inputs_end_macro_steps() -> None:
    coupling = pliant.Coupling()
    coupling.add("a", text_model(STEADY))
    coupling.add("b", text_model(STEADY))
    coupling.connect("a.y", "b.u")
    jumps = [0.0, 0.35, 0.35, 1.0], [0.0, 0.0, 1.0, 1.0]
    run = coupling.simulate(stop=1, step="auto", inputs={"a.u": jumps})
    assert 0.35 in run.time
    assert "input" in run.macro.why


# ------------------------------------------------------------------------------------------------ what parts accept


class Stubborn(ModelPart):
    """Cannot be taken back."""

    can_restore = False


class Even(ModelPart):
    """Takes steps of one length, or several of them."""

    can_restore = False
    equal_steps = True
    step_unit = 0.01
    lengths: set[float]

    def begin(self, t: float, inputs: Any) -> None:
        self.lengths, self.substep = set(), None
        super().begin(t, inputs)

    def step(self, t_next: float, cancelled: Any) -> bool:
        self.lengths.add(round((t_next - self._running().run.t_reached) / self.step_unit, 6))
        return super().step(t_next, cancelled)


class Touchy(ModelPart):
    """Refuses steps that are longer than a limit."""

    longest = 0.004

    def step(self, t_next: float, cancelled: Any) -> bool:
        if t_next - self._running().run.t_reached > self.longest:
            raise pliant.ModelEvaluationError("too long", hint="shorter", time=0.0)
        return super().step(t_next, cancelled)


def with_right(kind: type[ModelPart]) -> pliant.Coupling:
    coupling = pliant.Coupling()
    coupling.add("left", pliant.load(EXAMPLES / "spring_damper_left.mo"))
    coupling.add("right", kind("right", pliant.load(EXAMPLES / "spring_damper_right.mo")._numeric))
    for source, target in (("left.x", "right.x1"), ("left.v", "right.v1")):
        coupling.connect(source, target)
    for source, target in (("right.x", "left.x2"), ("right.v", "left.v2")):
        coupling.connect(source, target)
    return coupling


def test_parts_that_cannot_be_taken_back() -> None:
    run = with_right(Stubborn).simulate(stop=2, step="auto", rtol=1e-7)
    assert spring_error(run) / 18.0 < 3e-3
    assert run.macro.rejected is not None
    assert len(run.macro.rejected) == 0
    with pytest.raises(pliant.ArgumentError, match="part 'right' cannot be taken back"):
        with_right(Stubborn).simulate(stop=2, step="auto", macro_error="halving")


def test_steps_are_multiples_of_what_a_part_takes() -> None:
    coupling = with_right(Even)
    run = coupling.simulate(stop=2, step="auto", rtol=1e-7)
    assert spring_error(run) / 18.0 < 0.1
    assert run.macro.smallest == 0.01
    assert np.abs(run.macro.h / 0.01 - np.round(run.macro.h / 0.01)).max() < 1e-6
    found = run.explain().find("smallest")
    assert found
    assert "shortest that the parts accept" in found[0].text
    with pytest.raises(pliant.ArgumentError, match=r"stop - start = 1\.995 is no multiple"):
        coupling.simulate(stop=1.995, step="auto")


def test_a_part_that_refuses_long_steps_gets_shorter_ones() -> None:
    run = with_right(Touchy).simulate(stop=0.5, step="auto", macro_rtol=0.1, rtol=1e-7)
    assert run.complete
    assert run.macro.h.max() <= 0.004
    assert run.macro.rejected is not None
    assert "refused" in run.macro.rejected.why
    with pytest.raises(pliant.ModelEvaluationError, match="part 'right' failed") as caught:
        with_right(Touchy).simulate(stop=0.5, step=0.005)
    assert len(caught.value.result) == 1


# ------------------------------------------------------------------------------------------------------------ told


def test_what_is_told(tmp_path: Any) -> None:
    run = spring_damper().simulate(stop=2, step="auto")
    why = run.explain()
    assert why.healthy
    assert why.findings[0].kind == "limits"
    assert why.findings[0].names[0] in {str(one) for one in run.connections}
    assert why.findings[0].names[0] in str(why)
    assert json.loads(json.dumps(why.as_dict()))["findings"][0]["kind"] == "limits"
    assert len(run.macro) == len(run.communication) - 1 == len(run.time) - 1
    assert run.macro.error.max() <= 1.0
    assert np.cumsum(run.macro.h)[-1] == pytest.approx(2.0)
    figure = run.plot_macro_steps(tmp_path / "steps.png")
    assert (tmp_path / "steps.png").stat().st_size > 1000
    assert len(figure.axes) == 2
    back = pickle.loads(pickle.dumps(run))
    assert str(back.explain()) == str(why)
    coarse = spring_damper().simulate(stop=2, step=0.05).explain()
    assert not coarse.healthy
    assert "auto" in coarse.findings[0].suggestion


def test_points_thin_out() -> None:
    run = spring_damper().simulate(stop=2, step="auto", points=11)
    assert len(run) == 11
    assert run.time == pytest.approx(np.linspace(0, 2, 11), abs=0.02)
    assert len(run.communication) > 100


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"step": "automatic"}, "a finite number or 'auto'"),
        ({"step": "auto", "macro_rtol": 0.0}, "macro_rtol must lie"),
        ({"step": "auto", "macro_rtol": True}, "macro_rtol must lie"),
        ({"step": "auto", "macro_error": "guess"}, "macro_error must be"),
        ({"step": "auto", "start": 3.0}, "does not lie after"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=text):
        spring_damper().simulate(stop=2, **arguments)


def test_the_command(tmp_path: Any) -> None:
    from support_cli import CliRunner

    file = str(EXAMPLES / "spring_damper.toml")
    picture = tmp_path / "why.png"
    found = CliRunner().invoke(app, ["cosim", file, "--step", "auto", "--explain", "--explain-plot", str(picture)])
    assert found.exit_code == 0, found.output
    assert "The macro step is limited by" in found.output
    assert picture.is_file()
    found = CliRunner().invoke(app, ["cosim", file, "--step", "auto", "--macro-rtol", "0.01", "--explain", "--json"])
    assert json.loads(found.stdout)["explanation"]["findings"]
    found = CliRunner().invoke(app, ["cosim", file, "--step", "soon"])
    assert found.exit_code == 2


def rigid(file: Path, folder: Path, version: str) -> Path:
    """The same FMU, which now takes equal steps only."""
    out = folder / "rigid.fmu"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(out, "w") as new:
        for one in old.infolist():
            content = old.read(one)
            if one.filename == "modelDescription.xml":
                text = content.decode()
                text = re.sub(r'canHandleVariableCommunicationStepSize="true"', "", text)
                text = re.sub(r'(<DefaultExperiment[^>]*?) stepSize="[^"]*"', r"\1", text)
                content = text.replace("<DefaultExperiment", '<DefaultExperiment stepSize="0.01"').encode()
            new.writestr(one, content)
    return out


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_fmus_that_take_equal_steps(version: str, tmp_path: Path) -> None:
    """They make several of their own steps in a macro step; nothing can be taken back."""
    file = rigid(Path(fmu("filter", version)), tmp_path, version)
    with pliant.load(file, kind=CS) as model:
        coupling = pliant.Coupling()
        coupling.add("f", model, parameters={"T": 1.0})
        coupling.add("p", text_model(FOLLOWS))
        coupling.connect("p.y", "f.u")
        coupling.connect("f.x", "p.u")
        run = coupling.simulate(stop=1.0, step="auto", macro_rtol=1e-2, inputs={"f.gain": 1, "f.on": True})
        own = run.parts["f"].steps
        assert own is not None
        assert own["h"] == pytest.approx(0.01, rel=1e-6)
        assert len(own["h"]) == 100
        assert run.macro.h.max() > 0.015
        assert run["f.x"][-1] == pytest.approx(0.5 * (1 - np.exp(-2.0)), abs=5e-3)
        with pytest.raises(pliant.ArgumentError, match="no multiple"):
            coupling.simulate(stop=1.005, step="auto", inputs={"f.gain": 1, "f.on": True})


# x' = -x - 2 y of the other part, with the loop's gain above what loose steps stand
RING = """
model Ring
  parameter Real gain = 3, begin = 1;
  input Real u(start = 0);
  Real x(start = begin, fixed = true);
  output Real y = gain*x;
equation
  der(x) = -0.1*x + u;
end Ring;
"""


def ring(stop: float = 20.0, **arguments: Any) -> pliant.CouplingResult:
    coupling = pliant.Coupling()
    coupling.add("a", text_model(RING))
    coupling.add("b", text_model(RING), parameters={"gain": -3.0, "begin": 0.0})
    coupling.connect("a.y", "b.u")
    coupling.connect("b.y", "a.u")
    return coupling.simulate(stop=stop, step="auto", extrapolation=0, **arguments)


def test_growth_is_noticed_with_steps_by_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loose tolerances let a swing grow slowly; the remedy is tried, and helps."""
    monkeypatch.setattr(growth, "MOST_STEPS", 3000)  # of trials: enough here
    with pytest.raises(pliant.AccuracyError, match="the coupling grows although its parts do not") as caught:
        ring(macro_rtol=0.3)
    assert len(caught.value.result) > 10
    found = re.search(r"macro_rtol=([0-9.e-]+)$", caught.value.hint)
    assert found is not None
    run = ring(macro_rtol=float(found.group(1)))
    assert np.abs(run["a.x"]).max() < 1.2


def test_growth_that_cannot_be_checked_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelPart, "can_restore", property(lambda self: False))
    with pytest.warns(UserWarning, match=r"grows up to t = .* 'a', 'b' cannot be taken back") as caught:
        run = ring(40.0, macro_rtol=0.3)
    assert run.warnings == (str(caught[0].message),)
    assert not ring(5.0, macro_rtol=0.03).warnings
