"""Which modifier counts where elements are redeclared, and members that connections add to buses."""

import pytest
from test_frontend_modelica_flatten import flat

import pliant
from pliant.frontend.flat.text import flat_text

PARTS = """
  model P parameter Real k = 1; parameter Real m = 1; end P;
  model Q extends P; end Q;
  model A replaceable model T = P(m = 7) constrainedby P(m = 4, k = 20); T c; end A;
  model B extends A(redeclare replaceable model T = Q(k = 2, m = 3)); end B;
  model D replaceable P c(m = 7) constrainedby P(m = 4); end D;
  model E extends D(c(k = 2, m = 3)); end E;
  model F extends A; redeclare model T = Q(k = 9); end F;
  model G replaceable model T = P(m = 7); T c; end G;
"""


@pytest.mark.parametrize(
    ("component", "k", "m"),
    [
        ("A x", 20, 7),  # a declaration has the modifiers of its constraint, too
        ("A x(redeclare model T = Q)", 20, 4),
        ("A x(redeclare model T = Q(k = 3))", 3, 4),  # and overrides them
        ("B x", 2, 3),
        ("B x(redeclare model T = Q(k = 3))", 3, 4),
        ("F x", 9, 4),
        ("G x(redeclare model T = Q(k = 6), c(k = 8))", 8, 7),
        ("D x(redeclare Q c)", 1, 4),
        ("E x(redeclare Q c(k = 3))", 3, 3),  # the outer redeclaration overrides the modifiers of the extends clause
    ],
)
def test_modifiers_of_constraints(component: str, k: float, m: float) -> None:
    found = flat_text(flat(f"model M {PARTS} {component}; end M;"))
    assert f"'x.c.k' = {k:.1f};" in found or f"'x.c.k' = {k};" in found
    assert f"'x.c.m' = {m:.1f};" in found or f"'x.c.m' = {m};" in found


BUS = """model M
  expandable connector Bus end Bus;
  connector In = input Real; connector Out = output Real;
  connector Pin Real v; flow Real i; end Pin;
  model Source parameter Real k = 3; Out y = k*time; end Source;
  model Sink In u; Real z = 2*u; end Sink;
  model Reader parameter Integer n = 1; Bus b; Sink s; equation connect(b.a[n], s.u); end Reader;
  model Ground parameter Real v = 4; Pin p; equation p.v = v; end Ground;
  model Ohm Pin p; equation p.v = 2*p.i; end Ohm;
  model Load Bus b; Ohm r; equation connect(b.p[2], r.p); end Load;
  model Supply Bus b; Ground g; equation connect(b.p[1], g.p); end Supply;
"""


def test_elements_of_arrays_in_buses() -> None:
    text = (
        BUS
        + """
      Bus bus; Source s[3](k = {1, 2, 3}); Sink t; Reader q, r(n = 2);
      Supply v; Load l; Ground g(v = 6);
    equation
      for i in 1:3 loop connect(s[i].y, bus.a[i]); end for;
      connect(bus.a[2], t.u); connect(bus, q.b); connect(r.b, q.b);
      connect(v.b, l.b); connect(l.b.p[2], g.p);
    end M;"""
    )
    result = pliant.load(text).simulate(stop=1, points=2)
    assert [result.final[name] for name in ("t.z", "q.s.z", "r.s.z", "l.r.p.i")] == [4, 2, 4, 3]
    assert (result.final["g.p.i"], result["v.g.p.i"][-1]) == (-3, 0)
