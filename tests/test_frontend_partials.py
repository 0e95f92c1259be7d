"""Functions that are partial derivatives of others (Modelica 12.7.2)."""

from __future__ import annotations

from math import cos, exp, sin

import pytest
from test_frontend_support import number, solved, system_of, variable

import pliant
from pliant.errors import ModelError, NotSupportedError

T = 0.7
SERIES = """
  function g
    input Real x; input Real y = 2; input Integer n = 3; output Real z; output Real w[2];
  protected
    Real s = 0;
  algorithm
    assert(x < 100, "x is too large");
    for i in 1:n loop
      s := s + x^i*sin(i*y);
    end for;
    if x > 0.5 then
      s := s*x;
    end if;
    z := s;
    w := {x*y, exp(2*x)};
  end g;
  function gx = der(g, x) "by x";
  function gxy = der(g, x, y);
  function gxx = der(gx, x);
"""


def test_closed_forms() -> None:
    at = solved(
        system_of(
            SERIES
            + """
  Real a = gx(time);
  Real b = gxy(x = time, y = 0.4, n = 2);
  Real c = gxx(time, 2.0, n = 2);
  Real z; Real w[2];
  Real v[2] = gx({time, 0.3}, {1, 2});
equation
  (z, w) = gxx(time, time);
"""
        ),
        T,
    )
    powers = (1, 2, 3)
    assert at["a"] == pytest.approx(sum((i + 1) * T**i * sin(2 * i) for i in powers))
    assert at["b"] == pytest.approx(sum((i + 1) * T**i * i * cos(i * 0.4) for i in (1, 2)))
    assert at["c"] == pytest.approx(sum((i + 1) * i * T ** (i - 1) * sin(2 * i) for i in (1, 2)))
    assert at["z"] == pytest.approx(sum((i + 1) * i * T ** (i - 1) * sin(i * T) for i in powers))
    assert (at["w[1]"], at["w[2]"]) == pytest.approx((0.0, 4 * exp(2 * T)))
    assert at["v[1]"] == pytest.approx(sum((i + 1) * T**i * sin(i) for i in powers))
    assert at["v[2]"] == pytest.approx(sum(i * 0.3 ** (i - 1) * sin(2 * i) for i in powers))


def test_other_functions_call_it_and_are_differentiated() -> None:
    """k contains a derivative, and has one itself; the argument stands in other places of the call too."""
    at = solved(
        system_of(
            SERIES
            + """
  function k input Real x; output Real y; algorithm y := x*gx(x, x, 2); end k;
  function kx = der(k, x);
  Real a = kx(time);
  Real b = (k(time + 1e-5) - k(time - 1e-5))/2e-5;
"""
        ),
        T,
    )
    assert at["a"] == pytest.approx(at["b"], rel=1e-8)
    assert at["a"] == pytest.approx(
        2 * T * 2 * sin(T) + T**2 * 2 * cos(T) + 9 * T**2 * sin(2 * T) + 6 * T**3 * cos(2 * T)
    )


def test_annotations_of_inner_functions_are_no_calls_left_over() -> None:
    at = solved(
        system_of("""
  function h input Real x; output Real y; algorithm y := sin(x)*x; annotation(derivative = dh); end h;
  function dh input Real x; input Real d; output Real y; algorithm y := (cos(x)*x + sin(x))*d; end dh;
  function g input Real x; input Real y; output Real z; algorithm z := h(2*x)*h(y); end g;
  function gx = der(g, x);
  function hx = der(h, x);
  Real a = gx(time, time);
  Real b = hx(time);
"""),
        T,
    )
    slope = cos(2 * T) * 2 * T + sin(2 * T)
    assert at["a"] == pytest.approx(2 * slope * sin(T) * T)
    assert at["b"] == pytest.approx(cos(T) * T + sin(T))


def test_functions_as_arguments_stand_before_the_variable() -> None:
    at = solved(
        system_of("""
  partial function curve input Real u; output Real y; end curve;
  function parabola extends curve; input Real a; algorithm y := a*u^2; end parabola;
  function g input curve f; input Real x; output Real y; algorithm y := f(x)*x; end g;
  function gx = der(g, x);
  Real a = gx(function parabola(a = 5), time);
"""),
        T,
    )
    assert at["a"] == pytest.approx(15 * T**2)


def test_records_replaced_functions_recursion_and_choices() -> None:
    at = solved(
        system_of("""
  record R Real a; Real b; end R;
  function h input Real x; input R r; output R y; algorithm y.a := x*r.a; y.b := x^2*r.b; end h;
  function hx = der(h, x);
  package A
    replaceable function f input Real x; output Real y; algorithm y := x^2; end f;
    function fx = der(f, x);
  end A;
  package B extends A(redeclare function f = cube); end B;
  function cube input Real x; output Real y; algorithm y := x^3; end cube;
  function rec input Real x; input Integer n; output Real y;
  algorithm y := if n == 0 then 1 else x*rec(x, n - 1); end rec;
  function recx = der(rec, x);
  function root input Real x; output Real y; algorithm y := if x < 0 then 0 else sqrt(x); end root;
  function rootx = der(root, x);
  R r = hx(time, R(2, 3));
  Real a = A.fx(time);
  Real b = B.fx(time);
  Real c = recx(time, 4);
  Real d = rootx(time) + rootx(-time);
"""),
        T,
    )
    assert (at["r.a"], at["r.b"]) == pytest.approx((2, 6 * T))
    assert (at["a"], at["b"], at["c"]) == pytest.approx((2 * T, 3 * T**2, 4 * T**3))
    assert at["d"] == pytest.approx(0.5 / T**0.5)


def test_parameters_and_constants() -> None:
    system = system_of(
        SERIES + "  parameter Real q = 0.3;\n  parameter Real p = gx(q, 0.4);\n  constant Real c = gx(0.3, 0.4);\n"
        "  Real x = c*time;"
    )
    known = sum(i * 0.3 ** (i - 1) * sin(i * 0.4) for i in (1, 2, 3))
    assert number(system, variable(system, "p").binding) == pytest.approx(known)
    assert solved(system, T)["x"] == pytest.approx(known * T)


def test_large_bodies_and_loops_without_known_end() -> None:
    """Newton's method as a function: d/da sqrt(a) = 1/(2 sqrt(a)); the state equation is integrated with it."""
    model = pliant.load("""
model M
  function root
    input Real a; output Real x;
  algorithm
    x := a;
    while abs(x*x - a) > 1e-13*a loop
      x := 0.5*(x + a/x);
    end while;
  end root;
  function slope = der(root, a);
  Real x(start = 2, fixed = true);
  Real d = slope(1 + time);
equation
  der(x) = slope(x);
end M;
""")
    result = model.simulate(stop=1, rtol=1e-9)
    assert result["d"][-1] == pytest.approx(0.5 / 2**0.5, rel=1e-9)
    assert result["x"][-1] == pytest.approx((2**1.5 + 0.75) ** (2 / 3), rel=1e-7)


def test_assertions_of_the_function_hold() -> None:
    model = pliant.load(f"model M\n{SERIES}\n  Real a = gx(200*time);\nend M;")
    with pytest.raises(pliant.PliantError, match="x is too large"):
        model.simulate(stop=1)


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ("function f = der(g, u);", "`.*g` has no input `u`"),
        ("function f = der(g, n);", "by `n`, which is no scalar Real input"),
        ("function f = der(g, v);", "by `v`, which is no scalar Real input"),
        ("function f = der(g, y);", "`.*g` has no input `y`"),
        ("function f = der(r, x);", "only functions have partial derivatives"),
        ("function f = der(nothing, x);", "nothing"),
        ("function f = der(f, x);", "is a derivative of itself"),
        ("function f = der(whole, x);", "whose output `k` is not Real"),
    ],
)
def test_faults_have_their_place(declared: str, says: str) -> None:
    with pytest.raises(ModelError, match=says) as found:
        system_of(
            "  function g input Real x; input Real v[2]; input Integer n; output Real y; algorithm y := x; end g;\n"
            "  function whole input Real x; input Real v[2]; input Integer n; output Integer k;\n"
            "  algorithm k := n; end whole;\n"
            f"  record r Real x; end r;\n  {declared}\n  Real y = f(time, {{1, 2}}, 3);"
        )
    assert found.value.span is not None
    assert found.value.span.line == 6


def test_impure_functions_have_none() -> None:
    with pytest.raises(NotSupportedError, match="impure function") as found:
        system_of("""
  impure function g input Real x; output Real y; algorithm y := x; end g;
  function f = der(g, x);
  Real y = f(time);
""")
    assert found.value.span is not None
