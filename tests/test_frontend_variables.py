"""Parameters tunable and structural, attributes, spans, relations, discrete variables, assertions, digests."""

from __future__ import annotations

import pytest
from test_frontend_support import names, number, solved, system_of, variable

from pliant.errors import ModelError, PliantError
from pliant.frontend.reading import read_flat as read
from pliant.frontend.rumoca.decode import decode
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Kind, Op, StateSelect

# ------------------------------------------------------------------------------------------------- parameters


def test_tunable_parameters_stay_symbols() -> None:
    system = system_of("parameter Real p = 2;\nparameter Real q = 3*p;\nReal y = q*time;")
    p, q = variable(system, "p"), variable(system, "q")
    assert (p.kind, p.binding, number(system, p.start)) == (Kind.PARAMETER, None, 2.0)
    assert q.kind == Kind.PARAMETER
    assert q.binding is not None
    assert p.tunable
    assert solved(system, 1.0)["y"] == 6.0
    assert solved(system, 1.0, changed={"p": 5.0})["y"] == 15.0
    assert system.fixed_parameters == {}


def test_folded_parameters() -> None:
    system = system_of("parameter Real p = 2;\nparameter Real q = 3*p;\nReal y = q*time;", fold_parameters=True)
    assert names(system, Kind.PARAMETER) == []
    assert number(system, variable(system, "q").binding) == 6.0
    assert set(system.fixed_parameters) == {"p", "q"}


def test_constants_final_and_structural_parameters_are_folded_with_a_reason() -> None:
    system = system_of(
        """
  constant Real c = 2; final parameter Real f = 3; parameter Integer n = 2; parameter Boolean b = true;
  parameter Real p = 1; final parameter Real g = 2*p; parameter Integer k = 4;
  Real x[n] = fill(c*f*time, n); Real y = if b then g*time else 0; Real z = k*time;
"""
    )
    kinds = {v.name: v.kind for v in system.variables}
    assert [kinds[v] for v in ("c", "f", "n", "b")] == [Kind.CONSTANT] * 4
    assert [kinds[v] for v in ("p", "g", "k")] == [Kind.PARAMETER] * 3
    assert not variable(system, "g").tunable
    assert set(system.fixed_parameters) == {"f", "n", "b", "g"}
    assert "final" in system.fixed_parameters["g"]
    at = solved(system, 1.0, changed={"p": 4.0, "k": 5.0})
    assert [at["x[2]"], at["y"], at["z"]] == [6.0, 8.0, 5.0]


def test_integer_parameter_used_as_an_index_is_fixed() -> None:
    system = system_of("parameter Integer k = 2;\nReal v[3] = {1, time, 3};\nReal y = v[k];")
    assert variable(system, "k").kind == Kind.CONSTANT
    assert "index" in system.fixed_parameters["k"]
    assert solved(system, 5.0)["y"] == 5.0


def test_parameter_that_decides_about_a_component_is_fixed() -> None:
    system = system_of(
        """
  model A Real y = 1; end A;
  parameter Integer n = 2; parameter Real r = 1; A a if n > 1; A b if r > 0.5; Real x = n*r*time;
"""
    )
    assert variable(system, "n").kind == Kind.CONSTANT
    assert variable(system, "r").kind == Kind.CONSTANT
    assert "condition" in system.fixed_parameters["r"]


def test_conditions_on_tunable_parameters_stay() -> None:
    system = system_of("parameter Real p = 1;\nReal y = if p > 0.5 then time else 2*time;")
    assert system.relations == []
    assert [solved(system, 1.0, changed={"p": p})["y"] for p in (0.0, 1.0)] == [2.0, 1.0]


def test_parameters_with_a_wrong_or_no_value() -> None:
    external = 'function f input Real x; output Real y; external "C" y = myfun(x); end f;\n'
    with pytest.raises(ModelError, match=r"parameter `p`: the external function `M\.f`"):
        system_of(external + "parameter Real p = f(2);\nReal y = p*time;")
    unused = system_of(external + "parameter Real p = f(2);\nReal y = time;")
    assert [v.name for v in unused.variables] == ["y"]
    system = system_of("parameter Real p;\nReal y = p*time;")
    p = variable(system, "p")
    assert (p.kind, p.binding, p.start) == (Kind.PARAMETER, None, None)
    with pytest.raises(ModelError, match="parameter `p` has no value"):
        system_of("parameter Real p;\nReal y = p*time;", fold_parameters=True)


def test_parameter_that_is_an_unknown_of_initialisation() -> None:
    system = system_of(
        """
  parameter Real p(fixed = false, start = 1);
  Real x(start = 1, fixed = true);
initial equation
  p = 2*x;
equation
  der(x) = -p*x;
"""
    )
    p = variable(system, "p")
    assert (p.kind, p.initial, p.tunable, p.binding) == (Kind.PARAMETER, True, False, None)
    assert number(system, p.start) == 1.0
    assert system.refusals == []
    assert len(system.initial_equations) == 1


def test_array_parameters() -> None:
    system = system_of("parameter Real a[2,2] = {{1, 2}, {3, 4}};\nReal y = a[2,1]*time;")
    assert names(system, Kind.PARAMETER) == ["a[1,1]", "a[1,2]", "a[2,1]", "a[2,2]"]
    assert solved(system, 1.0, changed={"a[2,1]": 7.0})["y"] == 7.0


# ------------------------------------------------------------------------------------------------- attributes


def test_attributes() -> None:
    system = system_of(
        """
  parameter Real p = 3;
  Real x(start = 2*p, fixed = true, min = -1, max = 100, nominal = 10, unit = "m", stateSelect = StateSelect.prefer)
    "a length";
  Real v[2](start = {1, 2}, each min = 0); Real w; input Real u; output Real y = x;
equation
  der(x) = -x + u; der(v) = -v; w = 1;
"""
    )
    x = variable(system, "x")
    assert [number(system, e) for e in (x.start, x.min, x.max, x.nominal)] == [6.0, -1.0, 100.0, 10.0]
    assert (x.fixed, x.unit, x.description, x.state_select) == (True, "m", "a length", StateSelect.PREFER)
    assert variable(system, "der(x)").unit == "m/s"
    assert [number(system, variable(system, f"v[{i}]").start) for i in (1, 2)] == [1.0, 2.0]
    assert number(system, variable(system, "v[2]").min) == 0.0
    assert variable(system, "w").start is None
    assert not variable(system, "w").fixed
    assert variable(system, "u").kind == Kind.INPUT
    assert variable(system, "y").is_output
    assert not variable(system, "x").is_output
    assert variable(system, "x").span is not None
    assert variable(system, "x").span.line == 4  # type: ignore[union-attr]


def test_a_start_of_zero_that_was_written_is_kept() -> None:
    system = system_of("Real x(start = 0);\nequation der(x) = 1;")
    assert number(system, variable(system, "x").start) == 0.0


def test_start_outside_the_range_is_an_error() -> None:
    with pytest.raises(ModelError, match=r"start = 5 of `x` is outside its range 0 .. 1") as caught:
        system_of("Real x(start = 5, min = 0, max = 1);\nequation der(x) = -x;")
    assert "model.mo:2" in str(caught.value)


# ------------------------------------------------------------------------------------------------------ spans


def test_spans_are_exact() -> None:
    system = scalarize(
        read(
            """model M
  Real x[2], y, z(start = 0);
  Real w = 3*y +
    1 "comment; with semicolon";
equation
  for i in 1:2 loop
    x[i] = i*time; // loop
  end for;
  // é: bytes are not characters
  y = time; der(z) = -z
    + y;
  if time > 1 then
    q = 2;
  else
    q = 3;
  end if;
public
  Real q;
end M;
""",
            None,
            [],
        )
    )
    spans = {e.span.text: (e.span.line, e.span.column) for e in system.equations if e.span}
    assert spans == {
        "w = 3*y + 1": (3, 8),
        "x[i] = i*time": (7, 5),
        "y = time": (10, 3),
        "der(z) = -z + y": (10, 13),
        "q = 2": (13, 5),  # branches are one equation
    }
    assert {e.span.file for e in system.equations if e.span} == {"model.mo"}
    origins = {e.span.text: e.origin for e in system.equations if e.span}
    assert origins["w = 3*y + 1"] == "binding"
    assert origins["y = time"] == "equation"


def test_long_texts_are_cut() -> None:
    system = system_of("Real x = " + " + ".join(["time"] * 50) + ";")
    (equation,) = system.equations
    assert equation.span is not None
    assert len(equation.span.text) == 100


def test_connections_name_what_they_connect() -> None:
    system = system_of(
        """
  connector C Real v; flow Real i; end C;
  model A C c; equation c.v = time; end A;
  model B C c; equation c.i = 1; end B;
  A a; B b;
equation
  connect(a.c, b.c);
"""
    )
    texts = {e.origin: e.span.text for e in system.equations if e.span}
    assert texts["connection"] == "a.c.v = b.c.v"
    assert texts["flow balance"] in {"0 = a.c.i + b.c.i", "0 = b.c.i + a.c.i"}


# -------------------------------------------------------------------------------------------------- relations


def test_relations_are_normalised_and_shared() -> None:
    system = system_of(
        """
  Real x = sin(time);
  Real a = if x > 0.5 then 1 else 2; Real b = if x > 0.5 then 3 else 4; Real c = if x <= 0.5 then 5 else 6;
  Real d = if 0.5 < x then 7 else 8; Real e = if x >= 0.5 then 1 else 2;
"""
    )
    assert len(system.relations) == 2
    first = system.relations[0]
    assert first.strict
    assert number(system, first.lhs) == 0.5
    assert system.graph.nodes[first.rhs][0] == Op.VAR
    assert first.span is not None
    assert first.span.line == 4
    at = solved(system, 1.0)
    assert [at[n] for n in "abcde"] == [1, 3, 6, 7, 1]


def test_no_event_and_functions_have_plain_comparisons() -> None:
    system = system_of(
        """
  function f input Real x; output Real y; algorithm y := if x > 0.3 then 1 else 2; end f;
  Real x = sin(time); Real a = noEvent(if x > 0.5 then 1 else 2); Real b = smooth(0, if x > 0.1 then x else 0.1);
  Real c = f(x);
"""
    )
    assert system.relations == []
    assert solved(system, 1.0)["a"] == 1.0


def test_conditions_on_time_make_events() -> None:
    system = system_of(
        "parameter Real p = 1;\nReal y = if time > p then 2 else 3;\nReal z = if time > 2 then 1 else 0;"
    )
    assert len(system.relations) == 2
    assert [solved(system, t)["y"] for t in (0.5, 1.5)] == [3.0, 2.0]
    assert solved(system, 1.5, changed={"p": 2.0})["y"] == 3.0


def test_relations_in_loops() -> None:
    system = system_of(
        """
  Real x[3](each start = 1);
equation
  for i in 1:3 loop
    der(x[i]) = if x[i] > i/10 then -1 else 0;
  end for;
"""
    )
    assert len(system.relations) == 3


# ---------------------------------------------------------------------------------------- discrete variables


def test_boolean_and_integer_equations_without_memory_are_put_in() -> None:
    system = system_of(
        """
  Real x = sin(time); Boolean b = x > 0.5; Boolean c = not b and time < 3; Integer n = if c then 2 else 3;
  Real y = if b then n else -n;
"""
    )
    assert system.refusals == []
    assert len(system.relations) == 2
    at = solved(system, 1.0)
    assert [at["b"], at["c"], at["n"], at["y"]] == [1.0, 0.0, 3.0, 3.0]
    assert names(system, Kind.DISCRETE) == ["b", "c", "n"]


def test_when_clauses_are_memories() -> None:
    system = system_of(
        """
  Real x(start = 0, fixed = true); discrete Real d(start = 1); Integer n(start = 0);
equation
  when x > 1 then
    d = 2; n = pre(n) + 1;
  end when;
  der(x) = d;
"""
    )
    assert system.refusals == []
    assert len(system.relations) == 1
    assert len(system.equations) == 1
    assert {"d", "n"} <= set(names(system, Kind.DISCRETE))
    assert {system.variables[one.variable].name for one in system.events.memories} == {"d", "n", "$when 1"}
    assert all(one.span is not None and one.span.line in (5, 6) for one in system.events.memories)


def test_reinit_terminate_and_clocks() -> None:
    system = system_of(
        """
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v; der(v) = -9.81;
  when h < 0 then
    reinit(v, -0.8*pre(v));
  end when;
  when sample(0.05, 0.1) then
    reinit(h, 1);
  end when;
  when h > 100 then
    terminate("far");
  end when;
"""
    )
    assert [one.kind for one in system.events.actions] == ["reset", "reset", "stop"]
    assert system.events.actions[2].message == "far"
    (clock,) = system.events.clocks
    assert (clock.first, clock.numerator, clock.denominator) == (0.05, 1, 10)
    assert [system.variables[one.variable].name for one in system.events.kept] == ["pre(v)"]


@pytest.mark.usefixtures("terminal_refused")
def test_what_is_still_refused() -> None:
    system = system_of(
        """
  Real h(start = 1, fixed = true); Real y = h; discrete Real last(start = 0);
equation
  der(h) = y;
  when terminal() then
    last = h;
  end when;
  when terminal() then
    terminate("done");
  end when;
"""
    )
    texts = " | ".join(r.what for r in system.refusals)
    assert "terminal" in texts
    assert all(r.span is not None for r in system.refusals)
    assert [one.kind for one in system.events.actions] == ["stop"]


# ------------------------------------------------------------------------------- assertions, initial equations


def test_assertions() -> None:
    system = system_of(
        """
  parameter Real p = 1; constant Real c = 2; Real x = time;
equation
  assert(x < 2, "x is too big: " + String(c)); assert(c > 1, "always true");
  assert(p > 0.5, "p is small", AssertionLevel.warning);
"""
    )
    (first,) = [c for c in system.checks if c.is_error]
    assert first.message == "x is too big: 2"
    assert first.span is not None
    assert first.span.line == 5
    (second,) = [c for c in system.checks if not c.is_error]
    assert second.message == "p is small"
    assert number(system, second.condition) == 1.0
    assert system.relations == []


def test_an_assertion_that_cannot_hold_is_an_error() -> None:
    with pytest.raises(ModelError, match="c is wrong") as caught:
        system_of('constant Real c = 2;\nReal x = time;\nequation assert(c > 3, "c is wrong");')
    assert "model.mo:4" in str(caught.value)


def test_initial_equations() -> None:
    system = system_of("Real x;\ninitial equation der(x) = 0;\nequation der(x) = 1 - x;")
    (equation,) = system.initial_equations
    assert equation.span is not None
    assert equation.span.text == "der(x) = 0"
    assert system.graph.nodes[equation.residual][0] == Op.VAR


OUTSIDE = """model M
  function f input Real a; output Real y; external "C" y = unknown_to_pliant(a); end f;
  Real x(start = 1, fixed = true, ATTRIBUTE = f(2.0));
equation
  der(x) = -x;
end M;
"""


@pytest.mark.parametrize("attribute", ["min", "max"])
def test_a_bound_that_cannot_be_evaluated_is_named(attribute: str) -> None:
    (note,) = scalarize(read(OUTSIDE.replace("ATTRIBUTE", attribute), None, [])).notes
    assert f"3: {attribute} of `x` is ignored: the external function `M.f`" in note


def test_a_nominal_value_that_cannot_be_evaluated_is_refused() -> None:
    with pytest.raises(PliantError, match=r"3: nominal of `x`: the external function `M.f`"):
        scalarize(read(OUTSIDE.replace("ATTRIBUTE", "nominal"), None, []))


# -------------------------------------------------------------------------------------------- the whole thing


def test_the_same_text_gives_the_same_system() -> None:
    text = (
        "model M\n  Real x[3](each start = 1);\nequation\n  for i in 1:3 loop der(x[i]) = -i*x[i]; end for;\nend M;\n"
    )
    one, two = (scalarize(read(text, None, [])) for _ in range(2))
    assert one.graph.nodes == two.graph.nodes
    assert [v.name for v in one.variables] == [v.name for v in two.variables]
    assert one.digest == two.digest
    assert one.name == "M"
    moved = scalarize(read(text.replace("model M", "\n\nmodel M"), None, []))
    assert moved.digest == one.digest
    assert scalarize(read(text.replace("-i", "-2*i"), None, [])).digest != one.digest
    assert scalarize(read(text, None, []), fold_parameters=True).digest != one.digest


def test_other_formats_are_refused() -> None:
    with pytest.raises(ModelError, match="format 44"):
        decode({"schema_version": 44})
