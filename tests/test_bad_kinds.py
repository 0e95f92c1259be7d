"""Inputs, parameters and start values of the wrong kind: every entry refuses them in the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app

MODEL = """
model M
  parameter Real k(min = 0) = 1;
  parameter Integer n = 2;
  input Real u(start = 0);
  input Boolean b;
  input Integer i(start = 1);
  Real x(start = 1, fixed = true);
equation
  der(x) = (if b then u else i) - k*n*x;
end M;
"""
GOOD: dict[str, Any] = {"u": 0.0, "b": False, "i": 1}
NAN = float("nan")


class Odd:
    """Something that nobody expects."""

    def __repr__(self) -> str:
        return "Odd()"


def inputs(**changed: Any) -> dict[str, Any]:
    return {"inputs": GOOD | changed}


def values(**given: Any) -> dict[str, Any]:
    return {"inputs": GOOD, **given}


KINDS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown input": (inputs(w=1), "inputs: the model has no input 'w'"),
    "text": (inputs(u="abc"), "input u: expected a number, but 'abc' is a text"),
    "not a number": (inputs(u=NAN), "input u: nan is not a finite number"),
    "nothing": (inputs(u=None), "input u: NoneType is not a number, a function of time"),
    "odd": (inputs(u=Odd()), "input u: Odd is not a number, a function of time"),
    "half a Boolean": (inputs(b=0.5), "input b is a Boolean and cannot be 0.5"),
    "half an Integer": (inputs(i=1.5), "input i is an Integer and cannot be 1.5"),
    "descending": (inputs(u=([1, 0], [0, 1])), "input u: the times of the table must ascend"),
    "lengths": (inputs(u=([0, 1, 2], [0, 1])), "input u: times have shape (3,), values (2,)"),
    "no file": (inputs(u="no.csv"), "input u: there is no file no.csv"),
    "inputs in a list": ({"inputs": [1, 2]}, "inputs must be a mapping from names to values"),
    "inputs as a number": ({"inputs": 3.0}, "inputs must be a mapping from names to values"),
    "parameter: text": (values(parameters={"k": "a"}), "parameters['k'] must be a number, not 'a'"),
    "parameter: nothing": (values(parameters={"k": None}), "parameters['k'] must be a number, not None"),
    "parameter: truth": (values(parameters={"k": True}), "parameters['k'] must be a number, not True"),
    "parameter: not a number": (values(parameters={"k": NAN}), "parameters['k'] must be finite, not nan"),
    "parameter: unknown": (values(parameters={"q": 1}), "parameters: the model has no parameter 'q'"),
    "parameter: below min": (values(parameters={"k": -1}), "the parameter k cannot be -1: it has min = 0"),
    "parameter: half": (values(parameters={"n": 1.5}), "the parameter n is an Integer and cannot be 1.5"),
    "parameters in a list": (values(parameters=[1]), "parameters must be values by name, not [1]"),
    "parameters as a text": (values(parameters="k=1"), "parameters must be values by name, not 'k=1'"),
    "start value: text": (values(start_values={"x": "a"}), "start_values['x'] must be a number, not 'a'"),
    "start value: infinite": (values(start_values={"x": -NAN}), "start_values['x'] must be finite, not nan"),
    "start value: unknown": (values(start_values={"z": 1}), "start_values: the model has no variable 'z'"),
    "start values in a list": (values(start_values=["x"]), "start_values must be values by name, not ['x']"),
}


@cache
def model() -> pliant.Model:
    return pliant.load(MODEL)


@cache
def plan() -> pliant.Plan:
    return model().realtime(step=0.1, stop=1, scenarios=[{"inputs": GOOD}])


def at_a_point(call: Callable[..., Any]) -> Callable[..., Any]:
    """States are called x there."""

    def called(**given: Any) -> Any:
        return call(**{"x" if key == "start_values" else key: value for key, value in given.items()})

    return called


def part(given: Any) -> Any:
    return {f"m.{name}": value for name, value in given.items()} if isinstance(given, dict) else given


def coupled(**given: Any) -> Any:
    whole = pliant.Coupling()
    whole.add("m", model())
    return whole.simulate(stop=1, step=0.1, **{key: part(value) for key, value in given.items()})


def added(inputs: Any, **given: Any) -> Any:
    whole = pliant.Coupling()
    whole.add("m", model(), **given)
    return whole.simulate(stop=1, step=0.1, inputs=part(inputs))


ENTRIES: dict[str, Callable[..., Any]] = {
    "simulate": lambda **given: model().simulate(stop=1, **given),
    "linearize": at_a_point(lambda **given: model().linearize(**given)),
    "jacobian": at_a_point(lambda **given: model().jacobian(**given)),
    "check_jacobian": at_a_point(lambda **given: model().check_jacobian(**given)),
    "steady_state": lambda **given: model().steady_state(**given),
    "Scenario": lambda **given: model().realtime(step=0.1, stop=1, scenarios=[pliant.Scenario(**given)]),
    "realtime": lambda **given: model().realtime(step=0.1, stop=1, scenarios=[given]),
    "plan.simulate": lambda **given: plan().simulate(stop=1, **given),
    "Coupling.simulate": coupled,
    "Coupling.add": added,
}


def words(message: str) -> str:
    """Without the place in front: which part, which scenario."""
    message = re.sub(r"^(part 'm'|scenario 1): ", "", message)
    return message.replace("input m.", "input ").replace("the part 'm' has", "the model has")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_same_words_everywhere(entry: str, kind: str) -> None:
    given, told = KINDS[kind]
    if entry in ("linearize", "jacobian", "check_jacobian") and kind == "start values in a list":
        told = "x must be states by name or in order, not ['x']"  # numbers in a list are states in order
    with pytest.raises(pliant.PliantError) as caught:
        ENTRIES[entry](**given)
    assert isinstance(caught.value, (pliant.ArgumentError, pliant.UnknownNameError))
    assert words(caught.value.message).startswith(told)
    assert caught.value.hint


# ------------------------------------------------------------------------------------------------- command line

OPTION = {"inputs": "--input", "parameters": "--param", "start_values": "--start-value"}
TYPED = [
    kind
    for kind, (given, _) in KINDS.items()
    if all(isinstance(one, dict) for one in given.values())
    and all(isinstance(v, (int, float, str)) and v is not True for one in given.values() for v in one.values())
]
VERBS = {
    "simulate": ["--stop", "1"],
    "realtime": ["--stop", "1", "--step", "0.1"],
    "jacobian": [],
}


@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("verb", VERBS)
def test_same_words_on_the_command_line(verb: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.mo").write_text(MODEL)
    given, told = KINDS[kind]
    texts = [f"{OPTION[key]}={name}={value}" for key, one in given.items() for name, value in one.items()]
    done = CliRunner().invoke(app, [verb, "m.mo", *VERBS[verb], *texts], env={"COLUMNS": "500"})
    shown = re.sub(r"--param (\w+)", r"parameters['\1']", done.stderr)
    shown = re.sub(r"--start-value (\w+)", r"start_values['\1']", shown)
    assert told in shown
    assert "try: " in shown
    assert done.exit_code == (1 if "unknown" in kind else 2)
    assert "Traceback" not in shown
