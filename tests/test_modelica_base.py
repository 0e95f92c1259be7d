"""Flat texts in the manner of Base Modelica: quoted names, guess values, what stands in the package."""

from __future__ import annotations

from math import exp

import pytest

import pliant
from pliant.errors import ModelicaSyntaxError

FLAT = """//! base 0.1.0
package 'Pend.ulum'
  type 'Angle' = Real(unit = "rad");
  record 'R.x' "a record"
    Real 'a';
    Real 'b';
  end 'R.x';
  pure function 'f.g' "a function"
    input Real 'x';
    output Real 'y';
  algorithm
    'y' := 'x'^2 + 1;
  end 'f.g';
  function 'f.x' = der('f.g', 'x');
  constant Real 'c' = 2.0;
  model 'Pend.ulum'
    parameter Real 'p.k' = 3.0 "k";
    Real 'x'(start = 1.0, fixed = true);
    Real[3] 'v.w';
    'R.x' 'r'('a' = 1.0);
    discrete Real 'd'(start = 0.0, fixed = true);
    'Angle' 'phi';
  equation
    der('x') = -'p.k'*'x' + 'f.g'('r'.'b');
    for 'i' in 1:3 loop
      'v.w'['i'] = 'i'*'x';
    end for;
    'r'.'b' = 'c'*'r'.'a';
    when 'x' > 1.5 then
      'd' = pre('d') + 1.0;
    end when;
    'phi' = 'f.x'(time);
    annotation(experiment(StopTime = 1));
  end 'Pend.ulum';
end 'Pend.ulum';
"""


def test_a_flat_package() -> None:
    model = pliant.load(FLAT)
    result = model.simulate(rtol=1e-8)
    x = 5 / 3 - (5 / 3 - 1) * exp(-3)
    assert result["'x'"][-1] == pytest.approx(x, rel=1e-6)
    assert result["'v.w'[3]"][-1] == pytest.approx(3 * x, rel=1e-6)
    assert result["'d'"][-1] == 1.0
    assert result["'phi'"][-1] == pytest.approx(2.0)


def test_guess_values_are_start_values() -> None:
    """The parameter is what the steady state asks for; states begin with their guess values."""
    model = pliant.load("""//! base 0.1.0
package 'M'
  record 'R'
    Real 'a';
    Real 'b';
  end 'R';
  model 'M'
    parameter Real 'p';
    parameter equation guess('p') = 2;
    Real 'x';
    parameter equation guess('x') = prioritize(10, 1) "text";
    Real[2] 'v';
    parameter equation guess('v') = {3.0, 4.0};
    'R' 'r';
    parameter equation guess('r'.'a') = 1.5;
    Real 'n';
    Real 'q';
    parameter equation guess('q') = -3;
  initial equation
    der('x') = 0;
    'x' = guess('x');
    guess('v') = 'v';
    'r'.'a' = guess('r'.'a');
    guess('n') = 3.0;
    'n' = guess('n');
    prioritize('r'.'a', 100);
  equation
    der('x') = 20 - 'p'*'x';
    der('v') = -'v';
    der('r'.'a') = 2;
    'r'.'b' = 'r'.'a' + 1;
    der('n') = 0;
    'q'^2 = 4;
  end 'M';
end 'M';
""")
    result = model.simulate(stop=1, rtol=1e-8)
    first = {name: result[name][0] for name in result.names}
    assert [first[n] for n in ("'x'", "'v'[1]", "'v'[2]", "'r'.'a'", "'n'")] == pytest.approx([10, 3, 4, 1.5, 3])
    assert result["'x'"][-1] == pytest.approx(10)
    assert result["'q'"][-1] == pytest.approx(-2)


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("parameter equation guess('y') = 1;", "there is no variable `'y'`", 4),
        ("parameter equation guess('x') = 1; parameter equation guess('x') = 1;", "its start value twice", 4),
        ("parameter equation guess('x'[1]) = 1;", "without indices", 4),
        ("parameter equation 'x' = 1;", "expected `guess", 4),
        ("parameter equation guess('x') + 1;", "expected `=`", 4),
        ("initial equation guess('z') = 1;", "there is no variable `'z'`", 4),
        ("initial equation 'x' = guess('x'); 'x' = guess('x');", "its fixed value twice", 4),
    ],
)
def test_faults_of_guess_values(text: str, says: str, line: int) -> None:
    with pytest.raises(ModelicaSyntaxError, match=says) as found:
        pliant.load(f"//! base 0.1.0\nmodel 'M'\nReal 'x';\n{text}\nequation der('x') = 1;\nend 'M';\n")
    assert found.value.span is not None
    assert found.value.span.line == line


def test_other_uses_of_a_guess_value_are_refused() -> None:
    with pytest.raises(pliant.ModelError, match="no function `guess`"):
        pliant.load("//! base 0.1.0\nmodel 'M'\nReal 'x';\ninitial equation\n'x' = 2*guess('x');\nend 'M';\n")


def test_a_function_named_guess_is_one_elsewhere() -> None:
    model = pliant.load("""
model M
  function guess input Real x; output Real y; algorithm y := 7; end guess;
  Real x;
initial equation
  x = guess(x);
equation
  der(x) = 0;
end M;
""")
    assert model.simulate(stop=1)["x"][-1] == pytest.approx(7)


def test_decorations_are_skipped() -> None:
    model = pliant.load("""//! base 0.1.0
package 'M@1'
  @1 pure constant function 'f'
    @2 input Real 'x' "costs @3" /* @4 */;
    output Real 'y';
  algorithm
    @5 'y' := 2*'x' @6;
  end 'f';
  @7 model 'M@1'
    @8 Real 'x';
    parameter Real 'k' = 'f'(3.0) @9;
  equation
    @10 'x' @11 = 'k'*time;
  end 'M@1';
end 'M@1';
""")
    assert model.simulate(stop=1)["'x'"][-1] == pytest.approx(6)


def test_a_text_without_the_header_is_modelica() -> None:
    for text in ("parameter equation guess(x) = 1;", "@1 Real y;", "pure constant function f end f;"):
        with pytest.raises(ModelicaSyntaxError):
            pliant.load(f"model M\nReal x;\n{text}\nequation der(x) = 1;\nend M;\n")


CLOCKED = """//! base 0.1.0
package 'M'
  model 'M'
    Real 'x'(start = 0.0, fixed = true);
    Real 'y'(start = 0.0);
    Real 'z'(start = 0.0);
    Real 'w'(start = 1.0);
    Integer 'n'(start = 0);
  equation
    der('x') = hold('y') - 'x';
  partition "first"
    Clock 'c' = Clock(1, 10);
    Clock 'd' = subSample('c', 2);
    subpartition (clock = 'c') "fast"
      equation
        2*'y' = previous('y') + 2*'n';
      algorithm
        'n' := previous('n') + 1;
    subpartition (clock = 'd')
      equation
        'z' = subSample('y', 2);
  partition
    Clock 'e' = Clock(0.05);
    subpartition (clock = 'e', solverMethod = "ExplicitEuler")
      equation
        der('w') = -'w';
  end 'M';
end 'M';
"""


def test_partitions_of_clocks() -> None:
    result = pliant.load(CLOCKED).simulate(stop=0.98, rtol=1e-9)
    x = y = z = 0.0
    for tick in range(10):
        y = (y + 2 * (tick + 1)) / 2
        z = y if tick % 2 == 0 else z
        x = y + (x - y) * exp(-(0.1 if tick < 9 else 0.08))
    found = {name: result[f"'{name}'"][-1] for name in "xyzwn"}
    assert found == pytest.approx({"x": x, "y": y, "z": z, "w": 0.95**19, "n": 10}, rel=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "says", "line"),
    [
        ("(clock = 'c')", "(clok = 'c')", "`clok = 'c'` says nothing about a sub-partition", 14),
        ("(clock = 'c')", '(solverMethod = "a")', "the sub-partition has no clock", 14),
        ("(clock = 'c')", "", "expected `.clock = c.` behind `subpartition`", 14),
        ("(clock = 'c')", "(clock = 'cc')", "`'cc'` is not declared", 14),
        ("(clock = 'c')", "(clock = 'e')", "two clocks contradict each other", 23),
        ('"ExplicitEuler"', "3", "the method of a sub-partition is a text", 24),
        ('"ExplicitEuler"', '"CVODE"', "has the method `CVODE`", 26),
        ("Clock 'e' = Clock(0.05);", "Real 'e';", "expected `subpartition", 23),
    ],
)
def test_faults_of_partitions(old: str, new: str, says: str, line: int) -> None:
    with pytest.raises(pliant.PliantError, match=says) as found:
        pliant.load(CLOCKED.replace(old, new, 1))
    assert found.value.span is not None
    assert found.value.span.line == line


def test_equations_of_any_form_at_a_clock() -> None:
    text = """model M
  Clock c = Clock(0.1); Real x(start = 0); Real y(start = 0);
equation
  when c then
    x + y = previous(x) + 2*sample(time);
    x - y = 1;
  end when;
end M;"""
    result = pliant.load(text).simulate(stop=0.55)
    x = 0.0
    for tick in range(6):
        x = (1 + x + 0.2 * tick) / 2
    assert result["x"][-1] == pytest.approx(x)
    assert result["y"][-1] == pytest.approx(x - 1)
