"""Loops, constructors and reductions over the elements of vectors, also of vectors that change, and over nothing."""

import pytest

import pliant

VALUES = {
    "f({time, 2})": 3,
    "sum(e^2 for e in {time, 3})": 10,
    "sum({e*2 for e in {time, 3}})": 8,
    "sum({e*k for e in {time, 2, 3}, k in {10*time, 20}})": 180,
    "sum({e*2 for e in {3, 3}})": 12,
    "sum(e*time for e in p)": 3,
    "sum(if e > 1.5 then e else 0 for e in x)": 2,
    "sum(e.a*e.b for e in r)": 11,
    "g(r)": 11,
    "h(x)": 7,
    "sum(x[end]*e for e in x)": 6,
    "sum(sum(fill(e, 2)) for e in x)": 6,
    "sum(sum(e*i for i in 1:2) for e in x)": 9,
    "max(i*1.0 for i in 1:0)": -1e60,
    "min(i for i in 1:0)": 2147483647,
    "max(fill(0.0, 0)) + h(zeros(0))": -2e60,
    "product(i*time for i in 1:n) + sum(time*i for i in 1:n)": 1,
    "if max(i > 1 for i in 1:0) then 1 else 2": 2,
    "sum(sum({i, i} for i in 1:0))": 0,
    "sum(e).re": 0,
    "sum(C(i) for i in 1:0).re + sum(C(i) for i in 1:2).re": 13,
}
TEXT = """package P
  operator record C
    Real re; Real im;
    encapsulated operator 'constructor' import P.C;
      function fromReal input Real re; input Real im = 0; output C r(re = re, im = im); algorithm end fromReal;
    end 'constructor';
    encapsulated operator function '+' import P.C;
      input C a; input C b; output C r; algorithm r := C(a.re + b.re + 10, a.im + b.im); end '+';
    encapsulated operator function '0' import P.C; output C r; algorithm r := C(0, 0); end '0';
  end C;
  record R Real a; Real b; end R;
  function f input Real x[:]; output Real s; algorithm s := 0; for e in x loop s := s + e; end for; end f;
  function g input R r[:]; output Real y; algorithm y := 0; for e in r loop y := y + e.a*e.b; end for; end g;
  function h input Real x[:]; output Real y; algorithm y := sum(e*e for e in x) + max(e for e in x); end h;
  model M
    parameter Integer n = 0; parameter Real p[2] = {1, 2}; C e[0];
    Real x[2] = {time, 2}; R r[2](a = {time, 2}, b = {3, 4}); Real s;
    {lines}
  algorithm s := 0; for e in x loop for i in 1:2 loop s := s + e*i; end for; end for;
  end M;
end P;"""


def test_elements_of_vectors():
    lines = [f"Real y{k} = {text};" for k, text in enumerate(VALUES)]
    lines[-2] = "C z = sum(e); Real y19 = z.re;"
    lines[-1] = "C z0 = sum(C(i) for i in 1:0); C z2 = sum(C(i) for i in 1:2); Real y20 = z0.re + z2.re;"
    result = pliant.load(TEXT.replace("{lines}", "\n".join(lines)), name="P.M").simulate(stop=1)
    assert {text: result[f"y{k}"][-1] for k, text in enumerate(VALUES)} == pytest.approx(VALUES)
    assert result["s"][-1] == pytest.approx(9)
