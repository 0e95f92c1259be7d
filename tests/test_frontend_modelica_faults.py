"""Models that are wrong: the message, the place, the section of the specification, the nearest name."""

import pytest

from pliant.errors import ModelError
from pliant.frontend.modelica.flatten.model import flatten


def refused(text: str, name: str = "") -> ModelError:
    with pytest.raises(ModelError) as caught:
        flatten("\n" + text, name, [])
    assert caught.value.span is not None
    assert caught.value.span.line > 0
    return caught.value


FAULTS = [
    ("model M type E = enumeration(a, b); Real x[E]; equation x[1] = 0; x[2] = 0; end M;", "the subscript `1`", "10.5",
     "value of `E`"),
    ("model M record R Real x = time; end R; R r; end M;", "`time` cannot be used in a record", "3.6.7", ""),
    ("model M discrete Real x = 1.0; end M;", "no when-clause sets it", "4.4.4", ""),
    ("model M model A Real x; end A; A a; equation when time > 1 then a.x = 1; end when; end M;",
     "belongs to the model",
     "4.4.4", ""),
    ("model M function f input Real x; output Integer y; algorithm y := integer(x); end f; Integer y = f(time); end M;",
     "something discrete", "3.8.5", ""),
    ("model M parameter Real p = 1; equation when time > 1 then reinit(p, 2); end when; end M;", "sets states only",
     "8.3.6", ""),
    ("model M Real x = 1; equation assert(x > 0, \"no\", 3); end M;", "is no level", "8.3.7", ""),
    ("model M replaceable model A Real x = 2; end A; extends A; end M;", "is replaceable", "7.1.4", ""),
    ("model M type T = Real; block B extends T; end B; B b; end M;", "which is a simple type", "7.1.3", ""),
    ("model M Real x, y; equation for i loop x[i] = 1; end for; y = 1; end M;", "0 dimensions", "10.5", ""),
    ("model M Real x[3], y[4]; equation for i loop x[i] = y[i]; y[i] = i; end for; end M;",
     "the range of `i` is 1 to 3",
     "11.2.2.1", ""),
    ("model M Real x = time, a = 1, y = delay(x, a); end M;", "`delayTime` must be", "3.7.4.1", "delayMax"),
    ("model M connector C = Real; C c; end M;", "no flow", "9.3.1", ""),
    ("model M connector C input Real x; Real e; flow Real f; end C; connector D Real x; output Real e; flow "
     "Real f; end D; "
     "model A C c; D d; end A; A a; equation connect(a.c, a.d); end M;", "neither input nor output", "9.3", ""),
    ("model M class B class A outer Real p[6]; Real x = p[5]; end A; inner Real p[2] = {1, 2}; A a; end B; B b; end M;",
     "other dimensions", "5.4", "[2]"),
    ("model M class B class A outer parameter Real p; end A; inner parameter Real p = 1; A a(p(unit = \"V\")); end B; "
     "B b; end M;", "is outer and cannot be modified", "5.4", ""),
    ("model M model A Real x = 1; end A; model B Real x = 1; Real y = 1; end B; model C replaceable A m; end "
     "C; model D "
     "extends C(redeclare A m); end D; model E extends D(redeclare B m); end E; E e; end M;",
     "before is not replaceable",
     "7.3", ""),
    ("model M model A Real x; end A; A a; A b(x = 1); end M;", "`a` of the class `M.A` has 1 equation too few", "4.8",
     ""),
    ("model M model A Real x = 1; equation x = 2; end A; A a; end M;", "`a` of the class `M.A` has 1 equation too many",
     "4.8", ""),
    ("model M Real x = speeed; Real speed; end M;", "`speeed` is not declared", "5.3.1", "speed"),
    ("model M Reel x; end M;", "the class `Reel` is not found", "5.3.1", "Real"),
    ("model M model A Real width; end A; A a(widht = 1); end M;", "`widht` is modified", "7.2", "width"),
    ("model M Real x(strat = 1); end M;", "`strat` is no attribute", "4.9", "start"),
    ("model A extends B; end A; model B extends A; end B; model M extends A; end M;", "extends itself", "7.1", ""),
    ("model M parameter Integer a = b; parameter Integer b = a; Real x[a]; end M;", "a -> b -> a", "3.8.3", ""),
    ("model M model A M m; end A; A a; end M;", "without end", "4.4.2", ""),
    ("model M Real x = time; Real y[integer(x)]; end M;", "is not known: `x` is a variable", "3.8.3", ""),
    ("model M Real x[2] = {1, 2, 3}; end M;", "differ in size", "10.6", ""),
    ("model M Integer n = 1.5; end M;", "is an Integer, its value is a Real", "10.6", ""),
    ("model M Boolean b = 1 + true; end M;", "`+` needs numbers", "10.6", ""),
    ("model M Real x; equation x = {1, 2}; end M;", "the sides of an equation", "8.3.1", ""),
    ("model M Real x[2]; equation x[3] = 1; x[1] = 1; end M;", "outside of 1 to 2", "10.5.1", ""),
    ("model M model A final parameter Real p = 1; end A; A a(p = 2); end M;", "`p` is final", "7.2.6", ""),
    ("model M model A Real r; end A; A a(redeclare Integer r); end M;", "not replaceable", "7.3", ""),
    ("model M model A protected Real p; end A; A a; Real x = a.p; end M;", "is protected", "4.1", ""),
    ("model M Real x if false; Real y = x; end M;", "its condition is false", "4.4.5", ""),
    ("model M outer Real g; Real x = g; end M;", "no inner one", "5.4", ""),
    ("model M connector C Real v; flow Real i; end C; C c; Real r; equation connect(c, r); end M;", "no connector",
     "9.1", ""),
    ("model M connector C Real v; flow Real i; end C; connector D Real w; flow Real i; end D; C c; D d; "
     "equation connect(c, d); end M;", "has no `v`", "9.3", ""),
    ("model M connector C Real v; end C; C c; end M;", "0 flows and 1 potentials", "9.3.1", ""),
    ("model M function f input Real x; output Real y; algorithm y := f(x); end f; constant Real c = f(1); "
     "Real z[integer(c)]; end M;", "do not end", "12.4", ""),
    ("model M function f input Real x; output Real y; algorithm y := x; end f; Real z = f(1, 2); end M;",
     "has 1 input, 2 arguments", "12.4.1", ""),
    ("model M function f input Real x; output Real y; algorithm y := x; end f; Real z = f(z = 2); end M;",
     "has no input `z`", "12.4.1", ""),
    ("model M Real z = sinn(time); end M;", "there is no function `sinn`", "5.3.1", "sin"),
    ("model M parameter Real p = time; end M;", "changes during the simulation", "3.8", ""),
    ("model M Real x = acos(2); end M;", "`acos` cannot be applied", "3.7", ""),
    ("model M equation assert(false, \"no\"); end M;", "always false", "8.3.7", ""),
    ("package M end M;", "is a package", "4.7", ""),
    ("partial model M end M;", "is partial", "4.7", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "rule", "near"), FAULTS, ids=[one[1] for one in FAULTS])
def test_faults_are_named(text: str, message: str, rule: str, near: str) -> None:
    fault = refused(text, "M")
    assert message in fault.message
    assert fault.rule == rule
    assert near in fault.hint


def test_a_fault_names_file_line_column_and_instance() -> None:
    text = "model M\n  model A\n    Real x = k;\n  end A;\n  A a;\nend M;"
    fault = refused(text)
    assert fault.span is not None
    assert (fault.span.file, fault.span.line, fault.span.column) == ("model.mo", 4, 14)
    assert "model.mo:4:14" in fault.message
    assert "in the instance `a`" in fault.message


@pytest.mark.parametrize("depth", [200, 3000])
def test_long_chains_of_parameters(depth: int) -> None:
    """They are evaluated, or refused with words; never by Python's own limit."""
    chain = " ".join(f"parameter Integer p{k} = p{k + 1};" for k in range(depth))
    text = f"\nmodel M {chain} parameter Integer p{depth} = 2; Real x[p0] = {{1, 2}}; end M;"
    if depth > 1000:
        with pytest.raises(ModelError, match="too deep"):
            flatten(text, "", [])
    else:
        found = flatten(text, "", [])
        assert next(one for one in found.variables if one.name == "x").type.shape == (2,)
