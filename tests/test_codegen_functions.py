"""Functions, records, parameters, inputs and what is known about variables, from Modelica text to results."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from support_modelica import check_derivatives, check_equations, model_of

import pliant
from pliant.codegen.emit import generate
from pliant.errors import NonFiniteError
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.structure.pipeline import sort_system


def run(functions: str, body: str, stop: float = 1.0) -> pliant.Result:
    """Simulate a model that stands below its functions; every flat equation holds."""
    text = f"{functions}\nmodel M\n{body}\nend M;\n"
    result = pliant.load(text).simulate(stop=stop, rtol=1e-9, points=201)
    system = scalarize(read(text, None, []), fold_parameters=False)
    check_equations(system, result, 1e-7)
    check_derivatives(system, result)
    return result


# -------------------------------------------------------------------------------------------------- functions


def test_loops_and_branches_are_unrolled() -> None:
    functions = """function f
  input Real x;
  input Real c[:];
  output Real y;
algorithm
  y := 0;
  for i in size(c, 1):-1:1 loop
    y := y*x + c[i];
  end for;
  if y > 2 then
    y := 2;
  elseif y < -2 then
    y := -2;
  end if;
end f;"""
    result = run(functions, "  Real x(start = 1, fixed = true), y;\nequation\n  der(x) = -x; y = f(x, {0.5, 0, 3});")
    assert result["y"] == pytest.approx(np.minimum(0.5 + 3 * result["x"] ** 2, 2), abs=1e-9)


def test_records_and_several_outputs() -> None:
    functions = """record R
  Real a;
  Real b;
end R;
function f
  input R r;
  input Real k = 2;
  output R q;
protected
  Real h;
algorithm
  h := r.a*k;
  q.a := h + r.b;
  q.b := h - r.b;
end f;
function g
  input Real x;
  output Real s;
  output Real c;
algorithm
  s := sin(x);
  c := cos(x);
end g;"""
    body = """  R r, q;
  Real x(start = 1, fixed = true), s, c;
equation
  der(x) = -q.a; r.a = x; r.b = 2*x; q = f(r); (s, c) = g(x);"""
    result = run(functions, body)
    assert result["x"] == pytest.approx(np.exp(-4 * result.time), abs=1e-7)
    assert result["q.b"] == pytest.approx(np.zeros(201), abs=1e-9)
    assert result["s"] ** 2 + result["c"] ** 2 == pytest.approx(np.ones(201), abs=1e-9)


CUBE = """function f
  input Real x;
  output Real y;
algorithm
  y := x^3;
annotation(derivative = f_d);
end f;
function f_d
  input Real x;
  input Real dx;
  output Real dy;
algorithm
  dy := {wrong}3*x^2*dx;
annotation(derivative(order = 2) = f_dd);
end f_d;
function f_dd
  input Real x;
  input Real dx;
  input Real ddx;
  output Real ddy;
algorithm
  ddy := 6*x*dx*dx + 3*x^2*ddx;
end f_dd;"""


def test_derivative_annotations_of_two_orders() -> None:
    body = """  Real x(start = 1, fixed = true), v(start = 1, fixed = true), y, w, F;
equation
  der(x) = v; der(v) = -x + F; y = f(x); der(y) = w; der(w) = -y - F;"""
    result = run(CUBE.format(wrong=""), body)
    assert result["w"] == pytest.approx(3 * result["x"] ** 2 * result["v"], abs=1e-7)


def test_derivative_annotation_is_what_counts() -> None:
    """A wrong annotation shows in the result: it was used."""
    text = CUBE.format(wrong="2*") + "\nmodel M\n  Real y, w;\nequation\n  y = f(1 + time); w = der(y);\nend M;\n"
    assert pliant.load(text).simulate(stop=1)["w"][0] == pytest.approx(6.0)


@pytest.mark.parametrize("kind", ["noDerivative", "zeroDerivative"])
def test_arguments_without_derivative(kind: str) -> None:
    functions = f"""function f
  input Real x;
  input Real k;
  output Real y;
algorithm
  y := k*x^3;
annotation(derivative({kind} = k) = f_d);
end f;
function f_d
  input Real x;
  input Real k;
  input Real dx;
  output Real dy;
algorithm
  dy := 3*k*x^2*dx;
end f_d;"""
    body = "  parameter Real k = 2;\n  Real x(start = 1), F;\nequation\n  der(x) = F; f(x, k) = 2 + sin(time);"
    result = run(functions, body)
    assert result["x"] == pytest.approx(((2 + np.sin(result.time)) / 2) ** (1 / 3), abs=1e-9)


def test_zero_derivative_holds_only_where_it_is_zero() -> None:
    """zeroDerivative = k is a condition: where k moves, that derivative function must not be used."""
    functions = """function f
  input Real x;
  input Real k;
  output Real y;
algorithm
  y := k*x;
annotation(derivative(zeroDerivative = k) = f_d);
end f;
function f_d
  input Real x;
  input Real k;
  input Real dx;
  output Real dy;
algorithm
  dy := k*dx;
end f_d;"""
    result = run(functions, "  Real k, y, w;\nequation\n  k = 1 + time; y = f(time, k); w = der(y);")
    assert result["w"] == pytest.approx(1 + 2 * result.time, abs=1e-9)


def test_function_in_a_loop() -> None:
    functions = """function f
  input Real x;
  output Real y;
algorithm
  y := x/(1 + x^2);
end f;"""
    body = "  Real x(start = 1, fixed = true), y, z;\nequation\n  der(x) = -y; y = x + 0.5*f(z); z = x - f(y);"
    run(functions, body)


# ------------------------------------------------------------------------------------------------- parameters

PARAMETERS = """  parameter Real a = 2;
  parameter Real b = 3*a, c = b + 1;
  final parameter Real d = a^2;
  parameter Integer n = 2;
  parameter Boolean on = true;
  parameter Real v[n] = {1, 2};
  constant Real k = 5;
  Real x(start = c, fixed = true), y;
equation
  der(x) = -b*x; y = (if on then d else 0) + v[1]*v[2];"""


def test_parameters_without_compiling_again(monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(PARAMETERS)

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("compiled again")

    monkeypatch.setattr("pliant.compiling.compiler._call", forbidden)
    for a in (2.0, 1.0, 0.5):
        result = model.simulate(stop=1, rtol=1e-9, parameters={"a": a, "v[2]": 7})
        assert result["x"] == pytest.approx((3 * a + 1) * np.exp(-3 * a * result.time), abs=1e-6)
        assert result["y"][-1] == a * a + 7
        assert [result[name][0] for name in ("b", "c", "d", "v[2]")] == [3 * a, 3 * a + 1, a * a, 7]
    assert model.simulate(stop=1)["y"][-1] == 6  # the defaults are untouched


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("b", "computed from others"),
        ("d", "computed|final"),
        ("n", "it decides the size of `v`"),
        ("on", "Boolean"),
        ("k", "constant"),
    ],
)
def test_parameters_that_cannot_be_set(name: str, why: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=why) as caught:
        model_of(PARAMETERS).simulate(stop=1, parameters={name: 1.0})
    assert name in str(caught.value)


def test_wrong_parameters() -> None:
    model = model_of("  parameter Integer n = 2;\n  parameter Real p(min = 0) = 1;\n  Real x = n*p;")
    for wrong in ({"n": 2.5}, {"p": -1.0}, {"p": math.nan}, {"p": "one"}):
        with pytest.raises(pliant.PliantError):
            model.simulate(stop=1, parameters=wrong)  # type: ignore[arg-type]
    with pytest.raises(pliant.UnknownNameError, match="'q'"):
        model.simulate(stop=1, parameters={"q": 1.0})
    assert model.simulate(stop=1, parameters={"n": 3})["x"][0] == 3


def test_a_zero_divisor_is_refused_by_name() -> None:
    model = model_of("  parameter Real R = 2, L = 1;\n  Real i, u;\nequation\n  u = sin(time); u = (R - L)*i;")
    with pytest.raises(pliant.PliantError, match=r"divided by (R - L|L - R)") as caught:
        model.simulate(stop=1, parameters={"L": 2.0})
    assert "model.mo:5" in str(caught.value)
    assert model.simulate(stop=1, parameters={"L": 3.0})["i"][-1] == pytest.approx(-math.sin(1))


def test_folded_parameters() -> None:
    model = model_of(PARAMETERS, fold_parameters=True)
    assert model.simulate(stop=1)["x"][0] == 7
    assert model.simulate(stop=1)["b"][0] == 6
    with pytest.raises(pliant.ArgumentError, match="a"):
        model.simulate(stop=1, parameters={"a": 1.0})


# ----------------------------------------------------------------------------------------------------- inputs

INPUT = """  input Real u;
  Real x(start = 0, fixed = true);
  output Real y, z;
equation
  der(x) = -x + u; y = 2*x + u; z = -u;"""


@pytest.mark.parametrize("options", [{}, {"aliases": False}, {"form": "dae"}], ids=str)
def test_inputs(options: dict[str, Any]) -> None:
    model = model_of(INPUT, **options)
    step = model.simulate(stop=2, rtol=1e-9, inputs={"u": ([0, 1, 1, 2], [0, 0, 1, 1])})
    assert step["x"][-1] == pytest.approx(1 - math.exp(-1), abs=1e-7)
    assert step["z"][-1] == -1
    assert step["u"][[0, -1]] == pytest.approx([0, 1])
    wave = model.simulate(stop=2, rtol=1e-9, inputs={"u": math.sin})
    t = wave.time
    assert wave["x"] == pytest.approx((np.sin(t) - np.cos(t) + np.exp(-t)) / 2, abs=1e-6)
    assert wave["y"] == pytest.approx(2 * wave["x"] + np.sin(t), abs=1e-9)
    assert wave["z"] == pytest.approx(-np.sin(t), abs=1e-12)
    with pytest.raises(pliant.UnknownNameError, match="'v'"):
        model.simulate(stop=1, inputs={"v": 1.0})


def test_input_in_a_loop_and_in_a_relation() -> None:
    body = """  input Real u;
  Real x(start = 0, fixed = true), y(start = 0);
equation
  der(x) = if u > 0.5 then y else -x; y + 0.2*y^3 = u;"""
    result = model_of(body).simulate(stop=2, rtol=1e-9, inputs={"u": lambda t: t / 2})
    assert [event.time for event in result.events] == pytest.approx([1.0], abs=1e-8)
    assert result["y"] + 0.2 * result["y"] ** 3 == pytest.approx(result.time / 2, abs=1e-9)


# ----------------------------------------------------------------------------------------------- what is known


def test_attributes_are_kept() -> None:
    body = """  parameter Real m(unit = "kg", min = 0) = 2 "Mass";
  Real x(start = m/4, fixed = true, unit = "m", nominal = 10, min = -5, max = 5) "Position";
  Real v(unit = "m/s") "Speed";
equation
  v = der(x); v = -x;"""
    known = model_of(body).variables
    x = known["x"]
    assert (x.kind, x.unit, x.description, x.start, x.nominal, x.min, x.max) == (
        "state", "m", "Position", 0.5, 10.0, -5.0, 5.0,
    )  # fmt: skip
    assert str(x.span) == "model.mo:3"
    assert (known["m"].kind, known["m"].start, known["m"].unit) == ("parameter", 2.0, "kg")
    assert known["v"].unit == "m/s"
    assert known["der(x)"].kind == "derivative"


def test_outputs_by_name() -> None:
    body = "  Real x(start = 1, fixed = true), y, z, c;\nequation\n  der(x) = -x; y = -x; z = x^2; c = 3;"
    model = model_of(body)
    result = model.simulate(stop=1, outputs=["y", "z", "c"])
    whole = model.simulate(stop=1)
    for name in ("y", "z", "c"):
        assert np.array_equal(result[name], whole[name])
    with pytest.raises(pliant.UnknownNameError, match="'nope'"):
        model.simulate(stop=1, outputs=["nope"])


ENDLESS = """
model M
  function f input Real x; output Real y; protected Real z = x;
  algorithm
    y := 0;
    while z > 0 loop
      y := y + 1;
      z := z + 1;
    end while;
  end f;
  Real x(start = 0, fixed = true);
equation
  der(x) = 1 + f(x - 0.5);
end M;
"""


def test_a_loop_that_does_not_end_is_named() -> None:
    words = r"the derivative of x is NaN or infinite at t = 0\.5: .*`M\.f`: a while-loop needs more than 100000 turns"
    with pytest.raises(NonFiniteError, match=words) as caught:
        pliant.load(ENDLESS).simulate(stop=1.0)
    assert caught.value.span is not None
    assert caught.value.span.line == 6


ROUTINES = """
model M
  function one input Real x; output Real y;
  algorithm
    y := 1;
    while y < x loop
      y := 1.5*y;
    end while;
    y := y/x;
  end one;
  function two input Real x; input Real e; output Real y; output Real w;
  algorithm
    y := 1;
    w := 0;
    while y < x + e loop
      y := 1.5*y;
      w := w + y;
    end while;
  end two;
  parameter Real a = 3;
  Real x(start = 1), y(start = 0.1), u, v, l, k, q(start = 0, fixed = true), p, r;
equation
  der(q) = k;
  (k, p) = two(q + 3, time);
  l = 1 + 0.1*one(2 + time/a);
  der(x) = u;
  der(y) = v;
  der(u) = -l*x*r;
  der(v) = -l*y*r - 1;
  (x*l)^2 + y^2 = 1;
end M;
"""


def test_functions_have_one_number_in_the_whole_text() -> None:
    """What the first choice of states reads calls the functions that everything else calls (Media in pipes crashed)."""
    text = generate(sort_system(scalarize(read(ROUTINES)))).text
    follow = text[text.index("pl_status guess_follow(") :]
    assert "routine_" in follow[: follow.index("\n}")]
    calls = re.findall(r"(routine_\d+)\(\(const pl_real\[\]\)\{(.*)\}, _y", text)
    assert len(calls) > 10
    for name in {name for name, _ in calls}:
        assert len({arguments.count(",") for one, arguments in calls if one == name}) == 1, name
