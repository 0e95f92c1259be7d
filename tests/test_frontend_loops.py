"""Loops and recursions whose ends are known while simulating, in functions and in algorithm sections; texts; purity."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import pliant
from pliant.errors import ModelError, NotSupportedError


def final(text: str, name: str = "y", stop: float = 1.0) -> float:
    return float(pliant.load(text + "\n").simulate(stop=stop, rtol=1e-8).final[name])


SUM = (
    "function s input Real a; output Real y; algorithm y := 0; for i in 1:integer(a) loop y := y + i; end for; end s;\n"
)
ENDLESS = """function endless
  input Real a; output Real x;
algorithm
  x := a;
  while x > 0 loop x := x + 1; end while;
end endless;
"""
POWER = """function pw
  input Real x; input Integer n; output Real y;
algorithm
  if n <= 0 then y := 1; else y := x*pw(x, n - 1); end if;
end pw;
"""

CASES = {
    "for with an end that changes": (SUM + "model M Real y = s(4.5*time); end M;", 10.0),
    "for downwards from what changes": (
        """function s
  input Integer a; input Integer b; input Real v[4]; output Real y;
algorithm
  y := 0;
  for i in b:-1:a loop y := 2*y + v[i]; end for;
end s;
model M
  Integer n(start = 1, fixed = true); Real y;
algorithm
  when time > 0.5 then n := 2; end when;
  y := s(n, 3, {1, 2, 3, time});
end M;""",
        8.0,
    ),
    "while true": (
        """model M
  Real y, a = 0.5 + time; Integer k;
algorithm
  y := 0; k := 0;
  while true loop y := y + a; k := k + 1; if y > 4 then break; end if; end while;
end M;""",
        4.5,
    ),
    "while with return": (
        """function f
  input Real a; output Real x; output Integer n;
algorithm
  x := 0; n := 0;
  while true loop
    n := n + 1; x := x + a;
    if x > 3 then return; end if;
    if n >= 10 then break; end if;
  end while;
  x := -x;
end f;
model M Real y = f(time), z = f(0.1*time); end M;""",
        4.0,
    ),
    "a loop inside of one that was left": (
        """function f
  input Real x; output Real y;
algorithm
  y := 0;
  for i in 1:5 loop
    if i > x then break; end if;
    for j in 1:2 loop y := y + 1; end for;
  end for;
end f;
model M Real y = f(2.5*time); end M;""",
        4.0,
    ),
    "returns and breaks": (
        """function g
  input Real x; output Real y;
algorithm
  y := 0;
  for i in 1:5 loop
    if i > x then return; end if;
    for j in 1:2 loop y := y + 1; if j*i > x then break; end if; end for;
  end for;
  y := -y;
end g;
model M Real y = g(3 + time); end M;""",
        8.0,
    ),
    "Newton's iteration": (
        """function root
  input Real a; output Real x;
protected
  Real d; Integer n;
algorithm
  x := max(a, 1); d := 1; n := 0;
  while abs(d) > 1e-12 and n < 40 loop d := (x*x - a)/(2*x); x := x - d; n := n + 1; end while;
end root;
model M Real y = root(3 + time); end M;""",
        2.0,
    ),
    "many turns that are known": (
        """function h
  input Real x; output Real y;
algorithm
  y := x;
  for i in 1:50000 loop if y > 2 then break; end if; y := y + 1e-4; end for;
end h;
model M Real y = h(1 + 0.50005*time); end M;""",
        2.00005,
    ),
    "many turns": (SUM + "model M Real y = s(1000*time); end M;", 500500.0),
    "an array and a record through loops inside each other": (
        """record R Real p; Real q[2]; end R;
function f
  input Real x; output R r;
protected
  Integer n = 0;
algorithm
  r := R(1, {0, 0});
  while n < 10*x loop
    n := n + 1;
    for k in 1:integer(n/2) loop
      if k > 3 then break; end if;
      r.q[1 + mod(k, 2)] := r.q[1 + mod(k, 2)] + r.p*k;
    end for;
    r.p := r.p + x;
  end while;
end f;
model M R r = f(time); Real y = r.p + 10*r.q[1] + 100*r.q[2]; end M;""",
        18391.0,
    ),
    "recursion that ends while simulating": (
        POWER + "model M Integer n = if time > 0.5 then 5 else 2; Real y = pw(2.0, n); end M;",
        32.0,
    ),
    "recursion over parts of an array": (
        """function sm
  input Real v[:]; output Real y;
protected
  Integer n = size(v, 1);
algorithm
  if n == 0 then y := 0; elseif n == 1 then y := v[1];
  else y := sm(v[1:div(n, 2)]) + sm(v[div(n, 2) + 1:n]); end if;
end sm;
model M Real y = sm({time, 2, 3, 4*time, 5}); end M;""",
        15.0,
    ),
    "texts that parameters choose": (
        """function name
  input Integer n; output String s;
algorithm
  if n == 1 then s := "one"; elseif n == 2 then s := "two"; else s := "many"; end if;
end name;
model M
  parameter Integer n = 2; parameter String s = name(n);
  Real y = if s == "two" then 2*time else 0;
end M;""",
        2.0,
    ),
    "pure around an impure function": (
        """impure function r
  input Real u; output Real y;
algorithm
  y := 2*u;
end r;
model M Real y = pure(r(time)) + p; parameter Real p = r(2); end M;""",
        6.0,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    text, expected = CASES[name]
    assert final(text) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "model M Real y(start = 0, fixed = true); algorithm when sample(0.1, 0.1) then for i in 1:integer(100*time)"
            '\nloop if i > 200 then terminate("enough"); end if; y := y + i; end for; end when; end M;',
            "a for-loop needs more than 50 turns",
        ),
        (
            ENDLESS + "model M Real y = endless(time - 0.5); end M;",
            "y is NaN or infinite at t = 0.50[0-9]*: assertion failed: `endless`: a while-loop needs more than 100000",
        ),
        (
            POWER + "model M Integer n = integer(100*time); Real y = pw(1.5, n); end M;",
            "calls itself more than 20 levels",
        ),
    ],
)
def test_more_than_was_written_out_is_an_error(text: str, said: str) -> None:
    with pytest.raises(pliant.SolverError, match=said):
        final(text)


def test_recursions_that_branch_are_limited() -> None:
    text = """function fib
  input Integer n; output Integer y;
algorithm
  y := if n < 2 then n else fib(n - 1) + fib(n - 2);
end fib;
model M Integer n = integer(8*time); Real y = fib(n); end M;"""
    with pytest.raises(NotSupportedError, match="calls itself too often"):
        final(text)


MANY = """record R Real a; Real b[2]; end R;
function many "records, arrays, several outputs"
  input R r; input Real v[3]; input Integer n; output R o; output Real w;
protected Real t[3]; Boolean stopped;
algorithm
  t := v; w := 0; stopped := false;
  for i in 1:n loop
    t[mod(i, 3) + 1] := 0.5*t[mod(i, 3) + 1] + r.b[1];
    if t[1] > 5 then stopped := true; break; end if;
    w := w + t*v;
  end for;
  o.a := max(t);
  o.b := if stopped then {r.a, w} else {w, sum(t)};
  return;
end many;
"""


def many(a: float, b: float, v: list[float], n: int) -> tuple[float, float, float, float]:
    """The same in Python."""
    t, w, stopped = list(v), 0.0, False
    for i in range(1, n + 1):
        t[i % 3] = 0.5 * t[i % 3] + b
        if t[0] > 5:
            stopped = True
            break
        w += sum(x * y for x, y in zip(t, v, strict=True))
    return (max(t), *((a, w) if stopped else (w, sum(t))), w)


def test_records_and_arrays_through_long_loops() -> None:
    text = "model M R o; Real w; equation (o, w) = many(R(3, {time, 2}), {1, 0.5, 2}, integer(60 + 10*time)); end M;"
    result = pliant.load(MANY + text).simulate(6.0, points=[0.0, 1.0, 3.0, 6.0])
    for k, t in enumerate(result.time):
        wanted = many(3.0, t, [1.0, 0.5, 2.0], int(60 + 10 * t))
        found = [result[name][k] for name in ("o.a", "o.b[1]", "o.b[2]", "w")]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_derivatives_through_loops_are_exact() -> None:
    text = """function f
  input Real x; input Real y; input Integer n; output Real z; protected Real c[2] = {x, y}; Integer k;
algorithm
  z := 0; k := 0;
  while k < n loop
    k := k + 1;
    z := z + sin(c[mod(k, 2) + 1])*exp(-k*x/10) + sqrt(y)/k + x^2*atan2(x, y + k);
    c[1] := 0.9*c[1] + 0.1*abs(c[2]);
  end while;
end f;
model M
  input Real u; Real a(start = 0.3, fixed = true), b(start = 0.7, fixed = true);
  Integer n = integer(3 + time);
equation
  der(a) = f(a, b, n); der(b) = -f(b, 2 + a, n + 1) + u;
end M;"""

    def f(x: complex, y: complex, n: int) -> complex:
        z, c = 0j, [x, y]
        for k in range(1, n + 1):
            z += np.sin(c[k % 2]) * np.exp(-k * x / 10) + np.sqrt(y) / k + x**2 * np.arctan(x / (y + k))
            c[0] = 0.9 * c[0] + 0.1 * c[1]
        return z

    found = pliant.load(text).linearize(t=0).A
    h = 1e-30
    wanted = [
        [f(0.3 + h * 1j, 0.7, 3).imag / h, f(0.3, 0.7 + h * 1j, 3).imag / h],
        [-f(0.7, 2.3 + h * 1j, 4).imag / h, -f(0.7 + h * 1j, 2.3, 4).imag / h],
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_text_that_changes_is_compared() -> None:
    text = 'model M Integer n = integer(3*time); Real y = if String(n) == "2" then time else 0; end M;'
    result = pliant.load(text).simulate(stop=1, points=[0, 0.5, 0.8, 0.9])
    assert list(result["y"]) == [0.0, 0.0, 0.8, 0.9]


IMPURE = "impure function r input Real u; output Real y; algorithm y := 2*u; end r;\n"


@pytest.mark.parametrize(
    "body",
    [
        "model M Real y = r(time); end M;",
        "model M Real y; algorithm y := r(time); end M;",
        "pure function q input Real u; output Real y; algorithm y := r(u); end q; model M Real y = q(time); end M;",
    ],
)
def test_impure_functions_are_called_where_they_may_be(body: str) -> None:
    with pytest.raises(ModelError, match="`r` is impure and cannot be called") as caught:
        pliant.load(IMPURE + body)
    assert caught.value.rule == "12.3"


def test_impure_functions_at_events() -> None:
    body = "model M discrete Real y(start = 0); equation when time > 0.5 then y = r(time); end when; end M;"
    assert final(IMPURE + body) == pytest.approx(1.0)


def test_discrete_variables_take_discrete_values() -> None:
    text = """function f
  input Real u; output Integer n;
algorithm
  n := integer(u);
end f;
model M Integer n; algorithm n := f(3*time); end M;"""
    with pytest.raises(ModelError, match="something discrete takes a value that may change between events") as caught:
        pliant.load(text + "\n")
    assert caught.value.rule == "3.8.5"


HALVED = """
model M
  Integer n, k;
  Real y, z(start = 0, fixed = true);
algorithm
  n := 0;
  k := 0;
  y := 100*time + 1;
  while y > 1.5 loop
    y := y/2;
    n := n + 1;
    if y < 3 then
      k := k + integer(y);
    end if;
  end while;
equation
  der(z) = n;
end M;
"""


def test_a_loop_of_an_algorithm_makes_events_where_it_turns() -> None:
    result = pliant.load(HALVED).simulate(stop=1.0)
    ends = [(1.5 * 2**k - 1) / 100 for k in range(7)]
    assert result.final["z"] == pytest.approx(sum((b - a) * k for k, (a, b) in enumerate(pairwise([*ends, 1.0]), 1)))
    assert result.final["n"] == 7
    assert result.final["y"] == pytest.approx(101 / 128)


def test_a_loop_of_an_algorithm_that_does_not_end_is_named() -> None:
    text = "model M Integer n; algorithm n := 0; while time > 0.5 and n >= 0 loop n := n + 1; end while; end M;"
    with pytest.raises(pliant.SolverError, match="`M`: a while-loop needs more than 100000 turns"):
        pliant.load(text).simulate(stop=1.0)


HOLDS = {
    "for": ("for i in 1:n loop y := y + i; assert(y < 3000, \"large\"); end for;", 77),
    "while": ("while k < n loop k := k + 1; assert(k < 71, \"many\"); y := y + k; end while;", 71),
    "for in for": ("for i in 1:n loop for j in 1:i loop y := y + 1; assert(y < 3000, \"many\"); end for; end for;", 77),
    "if": ("for i in 1:n loop if i > 60 then assert(i < 81, \"large\"); end if; y := y + i; end for;", 81),
    "break": ("for i in 1:n loop if i > 90 then break; end if; assert(i < 85, \"large\"); y := y + i; end for;", 85),
    "function": ("for i in 1:n loop y := y + least(i); end for;", 90),
    "index": ("for i in 1:n loop y := y + v[1 + div(i, 30)]; end for;", 90),
    "element": ("for i in 1:n loop w[1 + div(i, 30)] := i; end for; y := sum(w);", 90),
}  # fmt: skip
NEVER = {
    "break before": "for i in 1:n loop if i > 60 then break; end if; assert(i < 61, \"large\"); y := y + i; end for;",
    "branch": "for i in 1:n loop if i > 60 then y := y + 1; else y := y + v[1 + div(i, 30)]; end if; end for;",
    "not reached": "if n < 0 then for i in 1:n + 9 loop assert(i < 0, \"large\"); end for; end if; y := 5*n;",
}  # fmt: skip
SECTION = """model M
  function least input Real x; output Real y; algorithm assert(x < 90, "too large"); y := x; end least;
  Integer n(start = 0, fixed = true) = integer(100*time), k;
  Real y, v[3] = {time, 2, 3}, w[3];
algorithm
  y := 0; k := 0; w := {0, 0, 0};
  LOOP
end M;
"""
CLAUSE = """model M
  function least input Real x; output Real y; algorithm assert(x < 90, "too large"); y := x; end least;
  Integer n(start = 0, fixed = true), k(start = 0, fixed = true);
  Real y(start = 0, fixed = true), v[3] = {time, 2, 3}, w[3](each start = 0, each fixed = true);
algorithm
  when sample(0.01, 0.01) then
    n := n + 1;
    y := 0; k := 0; w := {0, 0, 0};
    LOOP
  end when;
end M;
"""


@pytest.mark.parametrize("text", [SECTION, CLAUSE], ids=["section", "clause"])
@pytest.mark.parametrize("name", [*HOLDS, *NEVER])
def test_what_must_hold_in_loops_of_sections(name: str, text: str) -> None:
    """They stay loops, of more than 50 turns, and the first turn in which something does not hold ends the run."""
    body, n = HOLDS.get(name, (NEVER.get(name), None))
    model = pliant.load(text.replace("LOOP", body))
    assert "turn = 0" in model.code
    if n is None:
        assert model.simulate(stop=1.0).final["n"] == 100
        return
    with pytest.raises(pliant.ModelEvaluationError, match=r"large|many|outside") as caught:
        model.simulate(stop=1.0)
    assert caught.value.time == pytest.approx(n / 100, abs=2e-3)
    assert model.simulate(stop=(n - 0.5) / 100).final["n"] == n - 1


def test_loops_in_loops_of_sections_make_events_where_they_turn() -> None:
    text = """model M
  Real x(start = 0, fixed = true);
  Integer n = integer(3 + time), k(start = 0, fixed = true);
equation
  der(x) = 1;
algorithm
  k := 0;
  for i in 1:n loop
    for j in 1:i loop
      if x > 0.1*i*j then
        k := k + 1;
      end if;
    end for;
  end for;
end M;
"""
    result = pliant.load(text).simulate(stop=0.99, points=None)
    turns = sorted({round(0.1 * i * j, 9) for i in range(1, 4) for j in range(1, i + 1)})
    assert [event.time for event in result.events] == pytest.approx(turns, abs=1e-6)
    for at in (0.15, 0.35, 0.55, 0.95):
        wanted = sum(at > 0.1 * i * j for i in range(1, 4) for j in range(1, i + 1))
        assert result["k"][np.searchsorted(result.time, at)] == wanted
