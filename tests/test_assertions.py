"""When assertions are looked at: at the start, after every step, and at the events of when-clauses."""

from __future__ import annotations

import pytest

import pliant

TEXT = """
model M
  Real x(start = 0, fixed = true);
  Real s = sin(time);
equation
  der(x) = cos(time);
  {0}
end M;
"""


@pytest.mark.parametrize("form", ["ode", "dae"])
@pytest.mark.parametrize("condition", ["time > 0", "x > 1e-9", "s + x > 1e-9"])
def test_violated_at_the_start_only(condition: str, form: str) -> None:
    model = pliant.load(TEXT.format(f'assert({condition}, "too early");'), options={"form": form})
    with pytest.raises(pliant.InitialValueError, match="at the start, t = 0: assertion failed: too early") as caught:
        model.simulate(stop=1)
    assert caught.value.span is not None
    assert caught.value.span.line == 7
    assert model.simulate(start=0.5, stop=1, start_values={"x": 0.1}).complete


def test_warnings_do_not_count() -> None:
    text = TEXT.format('assert(time > 0, "too early", AssertionLevel.warning);')
    assert pliant.load(text).simulate(stop=1).complete


def test_found_by_an_event_wherever_it_is() -> None:
    text = TEXT.format('when s > 0.9999999 then assert(false, "too high"); end when;')
    with pytest.raises(pliant.ModelEvaluationError, match="assertion failed: too high") as caught:
        pliant.load(text).simulate(stop=3)
    assert caught.value.time == pytest.approx(1.570349, abs=1e-6)


@pytest.mark.parametrize("section", ["initial equation", "initial algorithm"])
@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ('assert(der(x) < 49, "too fast");', False),
        ('assert(der(x) < 51, "too fast");', True),
        ('assert(p > 3, "too fast");', False),
        ('assert(p > 3, "too fast", AssertionLevel.warning);', True),
    ],
)
def test_assertions_of_initial_sections(section: str, check: str, holds: bool) -> None:
    model = pliant.load(
        f"model M\n  parameter Real p = 2;\n  Real x(start = 0, fixed = true);\n{section}\n  {check}\n"
        "equation\n  der(x) = 50;\nend M;"
    )
    if holds:
        assert model.simulate(stop=1)["x"][-1] == pytest.approx(50.0)
    else:
        with pytest.raises(pliant.InitialValueError, match="too fast"):
            model.simulate(stop=1)


def test_assertions_under_conditions_of_initial_equations() -> None:
    text = (
        "model M\n  Real x(start = {start}, fixed = true);\ninitial equation\n  if x < 5 then\n"
        '    assert(der(x) < 49, "low");\n  else\n    assert(der(x) > 51, "high");\n  end if;\n'
        "equation\n  der(x) = 50;\nend M;"
    )
    for start, word in ((0, "low"), (6, "high")):
        with pytest.raises(pliant.InitialValueError, match=word):
            pliant.load(text.replace("{start}", str(start))).simulate(stop=1)


LARGE = (
    "model M\n  function large\n    input Real u;\n    output Real y;\n  algorithm\n"
    '    assert(u > 5, "too small");\n    y := u;\n  end large;\n'
)


@pytest.mark.parametrize("section", ["equation", "algorithm"])
@pytest.mark.parametrize(
    "body",
    [
        "when x > {c} then d = large(x); end when;",
        'when x > {c} then d = 1; assert(large(x) > 3, "never"); end when;',
        "when x > {c} then d = 1; reinit(x, large(x) + 1); end when;",
        "when sample({c}/10 + 0.001, 1) then d = large(x); end when;",
    ],
)
def test_functions_demand_where_their_when_clause_acts(section: str, body: str) -> None:
    body = body if section == "equation" else body.replace("d = ", "d := ")
    text = f"{LARGE}  Real x(start = 0, fixed = true);\n  discrete Real d(start = 0, fixed = true);\n"
    text += f"equation\n  der(x) = 10;\n{section}\n  {body}\nend M;"
    assert pliant.load(text.replace("{c}", "6")).simulate(stop=1)["d"][-1] >= 1.0
    with pytest.raises(pliant.ModelEvaluationError, match="too small") as caught:
        pliant.load(text.replace("{c}", "4")).simulate(stop=1)
    assert caught.value.time == pytest.approx(0.4, abs=2e-3)


def test_functions_demand_where_their_clock_ticks() -> None:
    text = f"{LARGE}  Real x(start = 6, fixed = true), d, e;\nequation\n  der(x) = -1;\n"
    text += "  d = sample(x, Clock(1));\n  e = large(d);\nend M;"
    assert pliant.load(text).simulate(stop=0.999)["e"][-1] == pytest.approx(6.0)
    with pytest.raises(pliant.ModelEvaluationError, match="too small") as caught:
        pliant.load(text).simulate(stop=4)
    assert caught.value.time == pytest.approx(1.0)  # there d = 5


@pytest.mark.parametrize(
    "section",
    [
        "initial equation\n  p = large(x);",
        'initial equation\n  p = x;\n  for i in 1:2 loop\n    assert(large(x) > 0, "never");\n  end for;',
        "initial algorithm\n  p := 0;\n  for i in 1:2 loop\n    p := p + large(x)/2;\n  end for;",
        'initial algorithm\n  p := 0;\n  p := p + x;\n  assert(x > 5, "too small");',
        'initial algorithm\n  p := 0;\n  while p < x loop\n    p := p + 6; assert(x > 5, "too small");\n  end while;',
    ],
)
def test_what_must_hold_at_the_start_holds_there_only(section: str) -> None:
    text = f"{LARGE}  Real x(start = 6, fixed = true);\n  parameter Real p(fixed = false);\n{section}\n"
    text += "equation\n  der(x) = -p;\nend M;"
    assert pliant.load(text).simulate(stop=1)["x"][-1] == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(pliant.InitialValueError, match="too small"):
        pliant.load(text.replace("start = 6", "start = 4")).simulate(stop=1)


@pytest.mark.parametrize("section", ["equation\n  p = a[integer(x)];", "algorithm\n  p := 0; p := p + a[integer(x)];"])
def test_indices_at_the_start(section: str) -> None:
    text = "model M\n  parameter Real a[3] = {5, 6, 7};\n  Real x(start = 3.5, fixed = true);\n"
    text += f"  parameter Real p(fixed = false);\ninitial {section}\nequation\n  der(x) = p;\nend M;"
    assert pliant.load(text).simulate(stop=1)["x"][-1] == pytest.approx(10.5)
    with pytest.raises(pliant.InitialValueError, match="is outside of 1 to 3: it is 4"):
        pliant.load(text.replace("3.5", "4.5")).simulate(stop=1)


ROOT = """
model M
  function root
    input Real u;
    output Real r;
  algorithm
    assert(u > 0, "negative " + String(u));
    r := sqrt(u);
  end root;
  Real x(start = {start});
  Real v(start = {speed}, fixed = true);
  discrete Real y;
{body}
  der(v) = -1;
end M;
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("equation\n  when v < 0.5 then y = root(v); end when;\n  x = y;", 0.5**0.5),
        ("equation\n  when v < 0.5 then\n    (y) = root(v);\n  end when;\n  x = y;", 0.5**0.5),
        ("algorithm\n  when v < 0.5 then y := root(v); end when;\nequation\n  x = y;", 0.5**0.5),
        ("  Real w = sample(v, Clock(0.7));\nequation\n  y = 0;\n  x = hold(root(w + 0.41));", 0.1),
        ("initial equation\n  x = root(v);\nequation\n  y = 0;\n  der(x) = 0;", 1.0),
        ("initial equation\n  y = root(v);\nequation\n  when v < -9 then y = 9; end when;\n  x = y;", 1.0),
        ("initial algorithm\n  x := root(v);\nequation\n  y = 0;\n  der(x) = 0;", 1.0),
    ],
)
def test_those_of_functions_count_where_their_calls_do(body: str, found: float) -> None:
    """The argument is negative from 1 on: at events, ticks and the start it is not."""
    given = ROOT.format(body=body, start=0, speed=1)
    assert pliant.load(given).simulate(stop=1.95).final["x"] == pytest.approx(found, abs=1e-4)


@pytest.mark.parametrize(
    "clause", ["when v < -0.25 then y = root(v); end when;", "when sample(0.6, 0.6) then y = root(v); end when;"]
)
def test_what_is_no_number_at_an_event_has_its_reason(clause: str) -> None:
    text = ROOT.format(body=f"equation\n  {clause}\n  x = y;", start=0, speed=1)
    with pytest.raises(pliant.ModelEvaluationError, match=r"assertion failed: `M\.root`: negative -0\.2") as caught:
        pliant.load(text).simulate(stop=2)
    assert caught.value.span is not None
    assert caught.value.span.line == 7
