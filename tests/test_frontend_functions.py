"""Functions: inlined bodies, loops, records, recursion, and those that stay calls for their derivatives."""

from __future__ import annotations

import pytest
from test_frontend_support import number, solved, system_of

import pliant
from pliant.errors import ModelError, NotSupportedError
from pliant.ir import Op

T = 0.7


def test_loops_and_local_arrays_are_unrolled() -> None:
    system = system_of(
        """
  function f
    input Real u[3]; input Integer k; output Real y[3];
  protected
    Real t; Real w[3,3];
  algorithm
    t := 0;
    for i in 1:3 loop
      for j in 1:k loop
        w[i,j] := u[i]*j + t;
      end for;
      t := t + u[i];
      y[i] := w[i,1] + t;
    end for;
    if t > 1 then
      y[2] := 5;
    end if;
    for i in 1:3 loop
      y[i] := y[i] + 1;
    end for;
  end f;
  Real x[3] = {time, 2, 3};
  Real y[3] = f(x, 3);
"""
    )
    at = solved(system, T)

    def f(u: list[float], k: int) -> list[float]:
        t, y = 0.0, [0.0] * 3
        for i in range(3):
            w = [u[i] * (j + 1) + t for j in range(k)]
            t += u[i]
            y[i] = w[0] + t
        if t > 1:
            y[1] = 5.0
        return [v + 1 for v in y]

    assert [at[f"y[{i}]"] for i in (1, 2, 3)] == pytest.approx(f([T, 2, 3], 3))
    assert all(node[0] != Op.CALL for node in system.graph.nodes)


def test_multiple_outputs_and_records() -> None:
    system = system_of(
        """
  record R Real a; Real b[2]; end R;
  function g input R r; output R q; algorithm q.a := r.b[1]; q.b := {r.a, r.b[2]}; end g;
  function h input Real x; output Real y; output Real z; algorithm y := 2*x; z := y + 1; end h;
  R r1(a = 1, b = {3, time}); R r2 = g(r1); Real y, z;
equation
  (y, z) = h(time);
"""
    )
    at = solved(system, T)
    assert [at["r2.a"], at["r2.b[1]"], at["r2.b[2]"]] == pytest.approx([3, 1, T])
    assert [at["y"], at["z"]] == pytest.approx([2 * T, 2 * T + 1])


def test_a_function_that_calls_itself_ends_when_its_argument_is_known() -> None:
    text = """
  function f input Integer n; output Integer y; algorithm y := if n <= 1 then 1 else n*f(n - 1); end f;
  parameter Integer k = 5; Real x = f(k)*time;
"""
    system = system_of(text)
    assert solved(system, 1.0)["x"] == pytest.approx(120)
    assert "k" in system.fixed_parameters
    with pytest.raises(NotSupportedError, match="calls itself too deeply"):
        system_of(text.replace("n <= 1", "n == 1 and n == 2").replace("k = 5", "k = 500"))


DERIVATIVES = """
  function f
    input Real x; input Real a; input Integer n; output Real y;
  algorithm
    y := a*x^n;
    annotation(derivative(noDerivative = a) = f_der, Inline = false);
  end f;
  function f_der
    input Real x; input Real a; input Integer n; input Real der_x; output Real der_y;
  algorithm
    der_y := a*n*x^(n - 1)*der_x;
    annotation(derivative(noDerivative = a, order = 2) = f_der2);
  end f_der;
  function f_der2
    input Real x; input Real a; input Integer n; input Real der_x; input Real der_2_x; output Real der_2_y;
  algorithm
    der_2_y := a*n*(n - 1)*x^(n - 2)*der_x^2 + a*n*x^(n - 1)*der_2_x;
  end f_der2;
"""


def test_derivative_annotation_keeps_the_call() -> None:
    system = system_of(DERIVATIVES + "Real y = f(time, 2, 3);")
    calls = [node for node in system.graph.nodes if node[0] == Op.CALL]
    assert len(calls) == 1
    first = system.functions[calls[0][1]]
    assert (first.name, first.n_args, first.differentiated) == ("M.f", 2, (0,))
    assert first.derivative is not None
    second = system.functions[first.derivative]
    assert (second.n_args, second.differentiated) == (3, (2,))
    assert second.derivative is not None
    third = system.functions[second.derivative]
    assert (third.n_args, third.derivative) == (4, None)
    assert solved(system, T)["y"] == pytest.approx(2 * T**3)


def test_calls_with_constants_are_inlined() -> None:
    system = system_of(DERIVATIVES + "parameter Real p = 2;\nReal y = f(p, 2, 3)*time;")
    assert system.functions == []
    assert solved(system, 1.0)["y"] == pytest.approx(16)


def test_entries_are_made_once_per_integer_argument() -> None:
    system = system_of(DERIVATIVES + "Real y = f(time, 2, 3);\nReal z = f(2*time, 4, 3);\nReal w = f(time, 1, 4);")
    assert [f.name.rpartition(".")[2] for f in system.functions].count("f") == 2


def test_zero_derivative_must_be_constant() -> None:
    text = DERIVATIVES.replace("noDerivative", "zeroDerivative")
    moving = system_of(text + "Real y = f(time, time, 3);")
    assert moving.functions == []
    constant = system_of(text + "parameter Real q = 1;\nReal y = f(time, q, 3);")
    assert constant.functions


def test_array_arguments_of_kept_calls() -> None:
    system = system_of(
        """
  function r input Real m[2,2]; input Real v[2]; output Real w[2];
  algorithm w := m*v; annotation(derivative(noDerivative = m) = rd); end r;
  function rd input Real m[2,2]; input Real v[2]; input Real dv[2]; output Real w[2];
  algorithm w := m*dv; end rd;
  Real m[2,2] = {{1, time}, {0, 1}}; Real v[2] = {time, 2}; Real w[2] = r(m, v);
"""
    )
    entry = system.functions[0]
    assert (entry.n_args, len(entry.outputs), entry.differentiated) == (6, 2, (4, 5))
    at = solved(system, T)
    assert [at["w[1]"], at["w[2]"]] == pytest.approx([3 * T, 2])


def test_assertions_inside_functions() -> None:
    text = """
  function f input Real x; output Real y; algorithm assert(x > 0, "x must be positive"); y := sqrt(x); end f;
"""
    system = system_of(text + "Real y = f(time);")
    (check,) = system.checks
    assert check.message == "`M.f`: x must be positive"
    assert number(system, check.condition) == 0.0
    with pytest.raises(ModelError, match="x must be positive"):
        system_of(text + "constant Real c = -1;\nReal y = f(c)*time;")
    guarded = system_of(text + "Real y = if time > 1 then f(time - 1) else 0;")
    assert guarded.checks == []


RECORDS = (
    "package P\n  record Inner\n    Real a = 5;\n  end Inner;\n  record Outer\n    Real x = 1;\n    Real y = 2*x;\n"
    "    Integer n = 3;\n    Real v[2] = {4, 5};\n    Inner inner_;\n    Real free;\n  end Outer;\n"
)


@pytest.mark.parametrize(
    ("declaration", "total"), [("Outer r", 55321), ("Outer r(x = 7)", 55447), ("Outer r(x = 7, y = 1)", 55317)]
)
@pytest.mark.parametrize("is_array", [False, True])
def test_records_in_functions_start_with_what_their_declarations_say(
    declaration: str, total: int, is_array: bool
) -> None:
    """At run time, for parameters, and where a size follows (12.4.4)."""
    if is_array:
        declaration = declaration.replace("Outer r", "Outer r[2]").replace("x =", "each x =").replace("y =", "each y =")
    r = "r[2]" if is_array else "r"
    text = (
        f"{RECORDS}  function f\n    input Real u;\n    output Real z;\n  protected\n    {declaration};\n  algorithm\n"
        f"    {r}.free := u;\n    z := {r}.free*({r}.x + 10*{r}.y + 100*{r}.n + 1000*{r}.v[2] + 10000*{r}.inner_.a);\n"
        f"  end f;\n  model M\n    parameter Real p = f(1);\n    Real sized[integer(p) - {total} + 1] = {{f(time)}};\n"
        "  end M;\nend P;"
    )
    result = pliant.load(text, name="P.M", path=[]).simulate(stop=2)
    assert result.parameters["p"] == total
    assert result["sized[1]"][-1] == pytest.approx(2 * total, rel=1e-12)
