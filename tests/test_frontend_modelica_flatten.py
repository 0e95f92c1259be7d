"""Flattening by the front end of our own: small models, what comes out as text."""

import pytest

from pliant.frontend.flat import check_flat
from pliant.frontend.flat.model import FlatModel
from pliant.frontend.flat.text import flat_text
from pliant.frontend.modelica.flatten.model import flatten


def flat(text: str, name: str = "") -> FlatModel:
    found = flatten("\n" + text, name, [])
    assert check_flat(found) == []
    return found


def lines(text: str, name: str = "") -> list[str]:
    """Declarations and equations, without indentation, functions and types."""
    found = [one.strip() for one in flat_text(flat(text, name)).splitlines()]
    start = max(k for k, one in enumerate(found) if one.startswith("model "))
    return found[start + 1 : -1]


def test_a_ball() -> None:
    text = """model Ball
      parameter Real e = 0.8; Real h(start = 1, fixed = true), v[2](each start = 0); Integer n(start = 0);
    equation
      der(h) = v[1];
      for k in 1:2 loop der(v[k]) = -9.81*k; end for;
      when h < 0 then reinit(v[1], -e*pre(v[1])); n = pre(n) + 1; end when;
    end Ball;"""
    assert lines(text) == [
        "parameter Real e = 0.8;",
        "Real h(start = 1, fixed = true);",
        "Real[2] v(start = 0);",
        "Integer n(start = 0);",
        "equation",
        "der(h) = v[1];",
        "for k in 1:2 loop",
        "der(v[k]) = -9.81 * k;",
        "end for;",
        "when h < 0 then",
        "reinit(v[1], -e * pre(v[1]));",
        "n = pre(n) + 1;",
        "end when;",
    ]


def test_modifiers_reach_where_they_were_written() -> None:
    text = """package P
      model A parameter Real k = 1; Real x = k; end A;
      model B parameter Real k = 5; A a(k = 2*k); A b[2](k = {3, k}); A c[2](each k = 7); end B;
      model M B m(k = 4, a(x = 9)); end M;
    end P;"""
    found = lines(text, "P.M")
    assert "parameter Real 'm.a.k' = 2 * 'm.k';" in found
    assert "parameter Real 'm.b[1].k' = 3;" in found
    assert "parameter Real 'm.b[2].k' = 'm.k';" in found
    assert "parameter Real 'm.c[2].k' = 7;" in found
    assert "'m.a.x' = 9; // binding" in found


def test_redeclare_replaceable_and_class_extends() -> None:
    text = """package P
      partial model Base parameter Real k = 1; Real y; end Base;
      model One extends Base; equation y = k; end One;
      model Two extends Base; equation y = 2*k; end Two;
      model Use replaceable One part(k = 3) constrainedby Base; replaceable model C = One; C other; end Use;
      package Q replaceable model N Real x = 1; end N; end Q;
      package R extends Q; redeclare model extends N Real z = x; end N; end R;
      model M Use u(redeclare Two part, redeclare model C = Two(k = 8)); R.N n; end M;
    end P;"""
    found = lines(text, "P.M")
    assert "'u.part.y' = 2 * 'u.part.k';" in found
    assert "parameter Real 'u.part.k' = 1;" in found  # the modifiers of the constraint come along, others do not
    assert "parameter Real 'u.other.k' = 8;" in found
    assert "'n.z' = 'n.x'; // binding" in found


def test_packages_as_arguments() -> None:
    text = """package P
      partial package Partial
        constant Integer n = 1; constant Real c[n] = fill(1, n);
        replaceable partial function h input Real T; output Real y; end h;
        function twice input Real T; output Real y; algorithm y := 2*h(T); end twice;
      end Partial;
      package Water extends Partial(n = 2, c = {4, 5});
        redeclare function extends h algorithm y := c[2]*T; end h;
      end Water;
      model Pipe replaceable package Medium = Partial; Real x[Medium.n]; Real y = Medium.twice(time);
      equation x = Medium.c; end Pipe;
      model M package W = Water; Pipe pipe(redeclare package Medium = W); end M;
    end P;"""
    found = lines(text, "P.M")
    assert "Real[2] 'pipe.x';" in found
    assert "'pipe.x' = {4.0, 5.0};" in found
    assert "'pipe.y' = 'P.Partial.twice'(time); // binding" in found


def test_inner_outer_and_conditions() -> None:
    text = """package P
      model World parameter Real g = 9.81; end World;
      model Body outer World world; Real a = world.g; end Body;
      model Box Body body; Body none if false; Real y[2] = {1, 2} if true; end Box;
      model M inner World world(g = 1); Box box; end M;
    end P;"""
    found = lines(text, "P.M")
    assert "'box.body.a' = 'world.g'; // binding" in found
    assert not any("none" in one for one in found)


CIRCUIT = """package P
  connector Pin Real v; flow Real i; end Pin;
  model Part Pin p, n; equation p.i + n.i = 0; p.v - n.v = p.i; end Part;
  model Two Pin a; Part x, y; equation connect(a, x.p); connect(x.n, y.p); end Two;
  model M Two t; Part s; equation connect(t.a, s.p); end M;
end P;"""


def test_connections() -> None:
    found = lines(CIRCUIT, "P.M")
    assert "'t.a.v' = 't.x.p.v'; // connection" in found
    assert "-'t.a.i' + 't.x.p.i' = 0.0; // flow balance" in found
    assert "'t.a.i' + 's.p.i' = 0.0; // flow balance" in found
    assert "'t.y.n.i' = 0.0; // flow balance" in found
    assert "'s.n.i' = 0.0; // flow balance" in found
    assert sum("flow balance" in one for one in found) == 5


def test_expandable_connectors() -> None:
    text = """package P
      expandable connector Bus Real declared; end Bus;
      connector Out = output Real; connector In = input Real;
      block S Out y = time; end S;
      block R In u; Real z = u; end R;
      model M Bus a, b; S s; R r;
      equation connect(s.y, a.speed); connect(a, b); connect(b.speed, r.u); end M;
    end P;"""
    found = lines(text, "P.M")
    assert "Real 'b.speed';" in found
    assert not any("declared" in one for one in found)  # nothing is connected to it
    assert sum("connection" in one for one in found) == 3


def test_streams() -> None:
    text = """package P
      connector Port Real p; flow Real m; stream Real h; end Port;
      model Source Port c; equation c.p = 1; c.h = 10; end Source;
      model Sink Port c; Real t = inStream(c.h); Real s = actualStream(c.h); equation c.m = 1; c.h = 0; end Sink;
      model M Source a; Sink b; equation connect(a.c, b.c); end M;
    end P;"""
    found = lines(text, "P.M")
    assert "'b.t' = 'a.c.h'; // binding" in found
    assert "'b.s' = if 'b.c.m' > 0.0 then 'a.c.h' else 'b.c.h'; // binding" in found


def test_overconstrained_connections_become_a_tree() -> None:
    text = """package P
      type Angle extends Real;
        function equalityConstraint input Angle a; input Angle b; output Real r[0]; algorithm end equalityConstraint;
      end Angle;
      connector C Real e; flow Real f; Angle t; end C;
      model Part C a, b; Boolean root = Connections.isRoot(a.t);
      equation Connections.branch(a.t, b.t); Connections.potentialRoot(a.t); a.t = b.t; a.e = b.e; a.f + b.f = 0;
      end Part;
      model M Part p, q; equation connect(p.b, q.a); connect(q.b, p.a); p.a.t = time; end M;
    end P;"""
    found = lines(text, "P.M")
    assert "'p.root' = true; // binding" in found
    assert "'q.root' = false; // binding" in found
    assert sum(one.count(".t'") == 2 and "connection" in one for one in found) == 1


def test_records_are_fields_and_their_equations_stay_whole() -> None:
    text = """package P
      record R Real a; Real b[2]; end R;
      function f input Real x; output R r; algorithm r := R(x, {x, 2*x}); end f;
      model M R r = f(time); R s; R many[2]; equation s = r; many = {r, s}; end M;
    end P;"""
    found = lines(text, "P.M")
    assert "Real[2] 'r.b';" in found
    assert "'P.R'('r.a', 'r.b') = 'P.f'(time); // binding" in found
    assert "'P.R'('s.a', 's.b') = 'P.R'('r.a', 'r.b');" in found


def test_operator_records() -> None:
    text = """package P
      operator record C Real re; Real im;
        encapsulated operator function '+' import P.C; input C a; input C b; output C c;
          algorithm c := C(a.re + b.re, a.im + b.im); end '+';
        encapsulated operator 'constructor'
          function fromReal import P.C; input Real re; input Real im = 0; output C c(re = re, im = im);
          algorithm end fromReal;
        end 'constructor';
      end C;
      model M C a = C(time, 1); C b = a + a; C c = a + 1; end M;
    end P;"""
    found = lines(text, "P.M")
    plus, made = r"'P.C.\'+\''", r"'P.C.\'constructor\'.fromReal'"
    assert f"'P.C'('b.re', 'b.im') = {plus}('P.C'('a.re', 'a.im'), 'P.C'('a.re', 'a.im')); // binding" in found
    assert f"'P.C'('c.re', 'c.im') = {plus}('P.C'('a.re', 'a.im'), {made}(1, 0)); // binding" in found
    assert "output 'P.C' c = 'P.C'(re, im);" in flat_text(flat(text, "P.M"))


def test_functions_are_specialised_by_sizes() -> None:
    text = """model M
      function total input Real x[:]; output Real y = 0; protected Real w[size(x, 1)];
      algorithm w := 2*x; for i in 1:size(x, 1) loop y := y + w[i]; end for; end total;
      Real a = total({1, time}); Real b = total({1, 2, time});
    end M;"""
    sizes = [one.locals[0].type.shape for one in flat(text).functions]
    assert sizes == [(2,), (3,)]
    assert flat(text).functions[1].locals[2].type.shape == (3,)


def test_derivatives_of_functions_come_along() -> None:
    text = """model M
      function f input Real x; input Real k; output Real y; algorithm y := k*x^2;
        annotation(derivative(zeroDerivative = k) = g, smoothOrder = 2); end f;
      function g input Real x; input Real k; input Real dx; output Real dy; algorithm dy := 2*k*x*dx; end g;
      Real y = f(time, 3);
    end M;"""
    function = flat(text).functions[0]
    assert function.smooth_order == 2
    assert function.derivatives[0].inputs == ("differentiate", "zero")


def test_partial_application_and_functional_arguments() -> None:
    text = """model M
      partial function F input Real x; output Real y; end F;
      function line extends F; input Real k; algorithm y := k*x; end line;
      function apply input F f; input Real x; output Real y; algorithm y := f(x) + f(2*x); end apply;
      Real y = apply(function line(k = time), 3);
    end M;"""
    found = [one for one in flat_text(flat(text)).splitlines() if "f.k" in one]
    assert found[0].strip() == "input Real 'f.k';"
    assert "'M.line'(x, 'f.k')" in found[1]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("parameter Integer n = 2; Real x[n] = {1, 2};", "Real[2] x;"),
        ("parameter Integer n = f(3); function f input Integer k; output Integer y; algorithm "
         "y := if k <= 1 then 1 else k*f(k - 1); end f; Real x[n] = fill(1, n);", "Real[6] x;"),
        ("parameter Real t[:, :] = [1, 2; 3, 4; 5, 6]; Real x[size(t, 1)] = t[:, 2];", "Real[3] x;"),
        ("type E = enumeration(a, b, c); Real x[E] = {1, 2, 3};", "Real[3] x;"),
        ("constant Integer a[3] = {k*k for k in 1:3}; Real x[a[end]] = fill(time, 9);", "Real[9] x;"),
        ("parameter Boolean b = true; parameter Integer p = if b then 2 else 2*q; "
         "parameter Integer q = if b then 3*p else 4; Real x[q] = fill(1, q);", "Real[6] x;"),
        ("parameter String s = \"ab\" + \"c\"; parameter Integer n = if s == \"abc\" then 4 else 1; "
         "Real x[n] = ones(n);", "Real[4] x;"),
    ],
)  # fmt: skip
def test_sizes_are_evaluated(body: str, want: str) -> None:
    assert want in lines(f"model M\n{body} end M;")


def test_structural_parameters_say_why() -> None:
    text = "model M parameter Integer n = 2; parameter Boolean b = true; Real x[n] = {1, 2}; Real y = 1 if b; end M;"
    locked = {one.name: one.locked for one in flat(text).variables}
    assert locked["n"] == "it decides the size of `x`"
    assert locked["b"] == "it decides the condition of `y`"
    assert not locked["x"]


def test_parameters_that_are_to_be_evaluated() -> None:
    """`Evaluate = true` makes numbers, also of what follows; not where a parameter that can be changed is behind it."""
    text = """model M
      parameter Real q = 2, free = 1;
      parameter Real n[2] = {1, 0} annotation(Evaluate = true), k = q annotation(Evaluate = true);
      parameter Real c = 3*e[1] annotation(Evaluate = true), d = 1 annotation(Evaluate = false);
      parameter Real open annotation(Evaluate = true);
      Real x = k*e[1]*time + c + free + d + h + m;
    protected
      parameter Real e[2] = n/sqrt(n*n), h = 2*q, m = 4;
    end M;"""
    locked = {one.name: one.locked for one in flat(text).variables if one.is_evaluated}
    assert locked["n"] == locked["c"] == "annotation(Evaluate = true)"
    assert locked["e"] == "it follows from `n`, and for that: annotation(Evaluate = true)"
    assert set(locked) == {"n", "c", "e"}


def test_names_imports_and_encapsulation() -> None:
    text = """package P
      package Q constant Real a = 2; type T = Real(unit = "m"); function f input Real x; output Real y = x; algorithm
        end f; end Q;
      encapsulated model E import P.Q; import Z = P.Q.T; import P.Q.{a, f}; Z x = a*f(time); end E;
      model S import P.Q.*; T x = a; end S;
      model M E e; S s; P.Q.T t = .P.Q.a; end M;
    end P;"""
    found = lines(text, "P.M")
    assert "Real 'e.x'(unit = \"m\");" in found
    assert "t = 2.0; // binding" in found


def test_loops_over_components_are_written_out_others_stay() -> None:
    text = """model M
      model A Real x; end A;
      A a[3]; Real y[3];
    equation
      for i in 1:3 loop a[i].x = i; end for;
      for i in 1:3 loop y[i] = i*time; end for;
    end M;"""
    found = lines(text)
    assert "'a[2].x' = 2;" in found
    assert "y[i] = i * time;" in found


def test_experiment_and_instance_names() -> None:
    text = """model M model A String s = getInstanceName(); end A; A a;
      annotation(experiment(StopTime = 3, Tolerance = 1e-5, Interval = 0.1)); end M;"""
    found = flat(text)
    assert (found.experiment.stop, found.experiment.tolerance, found.experiment.interval) == (3.0, 1e-5, 0.1)
    assert "'a.s' = \"M.a\"; // binding" in lines(text)


def test_simple_algorithms_are_equations_others_stay() -> None:
    text = """model M Real x, y, z; Real a, b;
    algorithm x := time; y := 2*x;
    algorithm z := 1; z := z + x;
    algorithm a := b; b := 2;
    end M;"""
    found = lines(text)
    assert "y = 2 * x; // algorithm" in found
    assert found.count("algorithm") == 2  # z is assigned twice, b is read before
