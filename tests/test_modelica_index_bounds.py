"""Indices that are outside of their array while simulating are errors where the expression is reached."""

import pytest

import pliant

SUM = "function f input Real x[:]; input Integer n; output Real y; algorithm y := 0; {} end f;"
LOOP = SUM.format("for i in 1:n loop y := y + x[i]; end for;")
LARGE = SUM.format(
    "for i in 1:n loop y := y + x[i]*exp(-y)*sin(y + i)/(1 + y*y) + sqrt(1 + y*y)*cos(y)*tanh(y); end for;"
    "for i in 1:9 loop y := y + sin(y)*cos(i*y) + exp(-y*y)*sqrt(y*y + i) + tanh(y/i)*cos(y + i); end for;"
)
AT = "function at input Real T[:]; input Real x; output Real y; algorithm y := T[integer(x) + 1]; end at;"
OUTSIDE = {
    "a variable": (
        "parameter Real T[3] = {1, 2, 3}; Integer i = 1 + integer(5*time); Real y = T[i];",
        "`i` of `T` is outside of 1 to 3: it is 4 (model.mo:1)",
        0.6,
    ),
    "at the start": ("parameter Real T[3] = {1, 2, 3}; Integer i = integer(5*time); Real y = T[i];", "of `T`", None),
    "written": (
        "Real T[3](each start = 0, each fixed = true); Integer k(start = 0, fixed = true);"
        "algorithm when sample(0.1, 0.1) then k := k + 1; T[k] := -k; end when;",
        "`k` of `T` is outside of 1 to 3: it is 4",
        0.4,
    ),
    "in a function": (LOOP + "Integer k = integer(5*time); Real y = f({time, 1}, k);", "of `x` in function `M.f`", 0.6),
    "in a large function": (LARGE + "Integer k = integer(5*time); Real y = f({time, 1}, k);", "of `x` in", 0.6),
    "at a tick": (
        "parameter Real T[3] = {1, 2, 3}; Real y; equation when Clock(0.1) then y = T[1 + integer(5*sample(time))];"
        "end when;",
        "of `T` is outside of 1 to 3: it is 4",
        0.6,
    ),
    "in a when-clause": (
        "parameter Real T[3] = {1, 2, 3}; Real y(start = 0, fixed = true);"
        "equation when sample(0.1, 0.1) then y = T[integer(10*time + 0.5)]; end when;",
        "of `T` is outside of 1 to 3: it is 4",
        0.4,
    ),
    "of a matrix": (
        "Real T[2, 3] = fill(time, 2, 3); Integer i = 1 + integer(5*time); Real y = T[2, i];",
        "dimension 2",
        0.6,
    ),
}  # fmt: skip
INSIDE = {
    "branch": "Integer i = 1 + integer(5*time); Real y = if i <= 3 then T[i] else 0;",
    "else": "Integer i = 1 + integer(5*time); Real y = if i > 3 then 0 else T[i];",
    "and": "Integer i = 1 + integer(5*time); Boolean b = i <= 3 and T[i] > 0; Real y = if b then 1 else 0;",
    "if-equation": "Integer i = 1 + integer(5*time); Real y; equation if i <= 3 then y = T[i]; else y = 0; end if;",
    "relation with a state": "Real x(start = 0, fixed = true); Real y = if x < 3 then at(T, x) else 0;"
    "equation der(x) = 4;",
    "event with the index": "Integer i = integer(5*time); Real y = if time >= 0.2 and i <= 3 then T[i] else 0;",
    "ticks only": "Real y; equation when Clock(0.4, 1) then y = T[1 + integer(2.6*sample(time))] - 3; end when;",
    "event only": "Integer k = integer(10*time); Real y(start = 1, fixed = true);"
    "equation der(y) = 0; when time > 0.15 then reinit(y, T[k] - 1); end when;",
    "initial equation": "Integer k = 1 + integer(10*time); Real y; initial equation y = T[k] - 1; equation der(y) = 0;",
    "return": "function g input Real x[:]; input Integer n; output Real y; algorithm y := 0; if n > 3 then return;"
    "end if; y := x[n]; end g; Real y = g(T, 1 + integer(5*time));",
    "while": "function g input Real x[:]; input Real v; output Real i; protected Integer k; algorithm k := 1;"
    "while k <= size(x, 1) and v > x[k] loop k := k + 1; end while; i := k; end g; Real y = g(T, 5*time) - 4;",
    "algorithm": "Integer i = 1 + integer(5*time); Real y; algorithm y := 0; if i <= 3 then y := T[i]; end if;",
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_an_index_outside_is_an_error_with_its_place(name):
    text, words, time = OUTSIDE[name]
    with pytest.raises((pliant.ModelEvaluationError, pliant.InitialValueError)) as caught:
        pliant.load(f"model M {text} end M;").simulate(stop=1)
    message = str(caught.value)
    for part in ("the index", words, "outside of 1 to", "model.mo:1"):
        assert part in message
    assert time is None or caught.value.time == pytest.approx(time, abs=2e-3)


def test_an_index_of_a_vector_that_is_outside():
    text = "model M Real x[3] = {time, 2, 3}; Integer k = 1 + integer(5*time); Real y[2] = x[{1, k}]; end M;"
    with pytest.raises(pliant.ModelEvaluationError, match="it is 4"):
        pliant.load(text).simulate(stop=1)


@pytest.mark.parametrize("name", INSIDE)
def test_an_index_that_is_not_reached_may_be_outside(name):
    result = pliant.load(f"model M {AT} parameter Real T[3] = {{1, 2, 3}}; {INSIDE[name]} end M;").simulate(stop=1)
    assert result["y"][-1] == pytest.approx(0, abs=1e-12)


def test_an_index_that_the_start_determines() -> None:
    """A parameter without a value of its own is no index before the start (sensors of the standard library)."""
    text = """model M
  parameter Integer wanted = 2;
  parameter Integer k(fixed = false);
  Real v[3] = {1, 2, 3}*time, y = v[k];
initial algorithm
  k := -1;
  for i in 1:3 loop
    if i == wanted then
      k := i;
    end if;
  end for;
end M;
"""
    model = pliant.load(text)
    assert model.simulate(stop=1).final["y"] == 2.0
    with pytest.raises(pliant.PliantError, match="outside of 1 to 3"):
        model.simulate(stop=1, parameters={"wanted": 7})
