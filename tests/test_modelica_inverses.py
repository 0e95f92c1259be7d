"""Declared inverses of functions: equations that they solve, where they are not used, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant.errors import ModelError

CUBE = """function cube
  input Real x; input Real k = 1; output Real y;
algorithm
  y := k*x^3;
  annotation(inverse(x = root3(y = y, k = k)));
end cube;
function root3
  input Real y; input Real k; output Real x;
algorithm
  BODY
  x := sign(y/k)*abs(y/k)^(1/3);
end root3;
"""
PLAIN = CUBE.replace("  BODY\n", "")


def loops(model: pliant.Model) -> list[str]:
    """Kinds of the blocks that are iterated."""
    return [block.kind for block in model.structure.blocks if block.kind == "nonlinear"]


def test_equations_become_explicit() -> None:
    text = "model M parameter Real p = 3; Real x; equation p*cube(x, 2) = 2 + time; end M;"
    model = pliant.load(PLAIN + text)
    assert loops(model) == []
    result = model.simulate(stop=2.0, parameters={"p": 5.0})
    np.testing.assert_allclose(5 * 2 * result["x"] ** 3, 2 + result.time, rtol=1e-12)
    with pytest.raises(pliant.PliantError, match="p"):
        model.simulate(stop=1.0, parameters={"p": 0.0})


def test_nested_calls_aliases_and_signs() -> None:
    text = """model M
  Real x; Real w; Real s(start = 1, fixed = true);
equation
  der(s) = -s;
  w = -x;
  5 - cube(1 - cube(w, 3))/4 = s;
end M;"""
    model = pliant.load(PLAIN + text)
    assert loops(model) == []
    result = model.simulate(stop=2.0)
    np.testing.assert_allclose(5 - (1 - 3 * (-result["x"]) ** 3) ** 3 / 4, result["s"], rtol=1e-12)


def test_torn_loops() -> None:
    text = """model M
  Real x(start = 1); Real y(start = 1); Real z(start = 1);
equation
  cube(x) = sin(y) + 1;
  cube(y) = 0.1*z^2 + sin(x) + 1;
  cube(z) = sin(x) + 0.2*y + time;
end M;"""
    model = pliant.load(PLAIN + text)
    (loop,) = model.structure.loops
    assert len(loop.tearing) == 1  # without inverses three unknowns are iterated
    result = model.simulate(stop=2.0)
    x, y, z = (result[name] for name in "xyz")
    np.testing.assert_allclose(x**3, np.sin(y) + 1, atol=1e-9)
    np.testing.assert_allclose(y**3, 0.1 * z**2 + np.sin(x) + 1, atol=1e-9)
    np.testing.assert_allclose(z**3, np.sin(x) + 0.2 * y + result.time, atol=1e-9)


def test_index_reduction() -> None:
    model = pliant.load(PLAIN + "model M Real x; Real v; equation cube(x) = 1 + time; v = der(x); end M;")
    assert loops(model) == []
    result = model.simulate(stop=2.0)
    np.testing.assert_allclose(result["v"], (1 + result.time) ** (-2 / 3) / 3, rtol=1e-10)


def test_a_function_of_several_outputs_and_a_record() -> None:
    text = """record P Real a; Real b; Integer n; end P;
function enthalpy
  input Real T; input P p; output Real h; output Real cp;
algorithm
  h := p.a*T + p.b*T^2/p.n; cp := p.a + 2*p.b*T/p.n;
  annotation(inverse(T = temperature(h, p)));
end enthalpy;
function temperature
  input Real h; input P p; output Real T;
algorithm
  T := (sqrt(p.a^2 + 4*p.b/p.n*h) - p.a)/(2*p.b/p.n);
end temperature;
model M
  parameter P p(a = 4, b = 0.02, n = 2); Real T; Real cp;
equation
  (500 + 100*time, cp) = enthalpy(T, p);
end M;"""
    model = pliant.load(text)
    assert loops(model) == []
    result = model.simulate(stop=1.0)
    np.testing.assert_allclose(4 * result["T"] + 0.01 * result["T"] ** 2, 500 + 100 * result.time, rtol=1e-12)
    np.testing.assert_allclose(result["cp"], 4 + 0.02 * result["T"], rtol=1e-12)


ROOT = """function root "of y^3 + y = a, by Newton's iteration"
  input Real a; output Real y;
protected
  Real d = 1;
algorithm
  y := 0;
  while abs(d) > 1e-15*(1 + abs(y)) loop d := (y^3 + y - a)/(3*y^2 + 1); y := y - d; end while;
  annotation(inverse(a = back(y)));
end root;
function back input Real y; output Real a; algorithm a := y^3 + y; annotation(inverse(y = root(a))); end back;
"""


def test_of_a_function_that_iterates() -> None:
    model = pliant.load(ROOT + "model M Real a; Real b; equation root(a) = 1 + time; back(b) = time; end M;")
    assert loops(model) == ["nonlinear"]  # not back(b): its inverse iterates, and Newton's method does the same
    result = model.simulate(stop=1.0)
    np.testing.assert_allclose(result["a"], (1 + result.time) ** 3 + 1 + result.time, rtol=1e-12)
    np.testing.assert_allclose(result["b"] ** 3 + result["b"], result.time, atol=1e-9)


@pytest.mark.parametrize("wrong", ["2*x", "x + 1", "-x"])
def test_a_wrong_inverse_is_not_used(wrong: str) -> None:
    text = PLAIN.replace("end root3", f"  x := {wrong};\nend root3")
    model = pliant.load(text + "model M Real x(start = 3); equation cube(x) = 2 + time; end M;")
    assert "the inverse that `cube` declares gives arguments for which its value is another" in model.structure.notes[0]
    result = model.simulate(stop=2.0)
    np.testing.assert_allclose(result["x"] ** 3, 2 + result.time, rtol=1e-9)


def test_assertions_of_functions_and_inverses_hold() -> None:
    bound = 'assert(y < 2, "the value is too large");'
    text = CUBE.replace("BODY", bound) + "model M Real x; Real s; equation der(s) = 1; cube(x) = s; end M;"
    pliant.load(text).simulate(stop=1.9)
    with pytest.raises(pliant.SolverError, match="the value is too large"):
        pliant.load(text).simulate(stop=3.0)
    # ... and those of a function that is kept as a call, by its derivative or its inverse
    checked = PLAIN.replace("  y := k*x^3;", '  assert(x < 1, "the argument is too large");\n  y := k*x^3;')
    with pytest.raises(pliant.SolverError, match="the argument is too large"):
        pliant.load(checked + "model M Real y; Real s; equation der(s) = 1; y = cube(s); end M;").simulate(stop=3.0)


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("inverse(z = root3(y, 1))", "`z` in the inverse of `cube` is none of its inputs"),
        ("inverse(x = y)", "the inverse of `cube` for `x` is not the call of a function"),
    ],
)
def test_refused(annotation: str, message: str) -> None:
    text = PLAIN.replace("inverse(x = root3(y = y, k = k))", annotation)
    with pytest.raises(ModelError) as error:
        pliant.load(text + "model M Real x; equation cube(x) = 2; end M;")
    assert message in str(error.value)
    assert error.value.span is not None
    assert error.value.span.line == 5
    assert error.value.rule == "12.8"


def test_an_inverse_that_does_not_exist_is_not_used() -> None:
    text = PLAIN.replace("root3(y = y, k = k)", "nowhere(y)")
    model = pliant.load(text + "model M Real x(start = 1); equation cube(x) = 2 + time; end M;")
    assert loops(model) == ["nonlinear"]
    assert model.simulate(stop=0.0)["x"][0] == pytest.approx(2 ** (1 / 3))


def test_a_plan() -> None:
    text = PLAIN + "model M Real x; Real s(start = 1, fixed = true); equation der(s) = -s; cube(x, 2) = 1 + s; end M;"
    result = pliant.load(text).realtime(step=0.01, stop=1.0).simulate(stop=1.0)
    np.testing.assert_allclose(2 * result["x"] ** 3, 1 + result["s"], rtol=1e-9)
