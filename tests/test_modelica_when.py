"""Which branch of a when-clause acts, and the order of statements in an algorithm section."""

from __future__ import annotations

import pytest
from support_modelica import text_of

import pliant
from pliant.errors import NotSupportedError, PliantError
from pliant.frontend.rumoca.sections import split_sections

METHODS = ["bdf", "radau5", "dopri5", "auto"]
STATE = "Real x(start = 0, fixed = true);"
REAL = "discrete Real d(start = 0, fixed = true), e(start = 0, fixed = true);"
INTEGER = "Integer d(start = 0, fixed = true), e(start = 0, fixed = true);"


def final(body: str, declared: str = STATE, stop: float = 1.0, **options: str) -> dict[str, float]:
    """Values at the end of a run of a model with this body."""
    result = pliant.load(f"model M\n  {declared}\n{body}\nend M;\n").simulate(stop, **options)
    return {name: float(result[name][-1]) for name in result.names}


@pytest.mark.parametrize("method", METHODS)
def test_only_the_first_active_branch_acts(method: str) -> None:
    """Both conditions become true at once: reinit of the second branch must not act."""
    end = final(
        """equation
  der(x) = 0;
  when time > 0.5 then d = 1; reinit(x, 1); elsewhen time > 0.5 then d = 2; reinit(x, 5); end when;
  when time > 0.5 then e = 3; end when;""",
        STATE + REAL,
        method=method,
    )
    assert end == {"x": 1.0, "d": 1.0, "e": 3.0}


@pytest.mark.parametrize("action", ['terminate("too early");', 'assert(false, "too early");'])
def test_terminate_and_assert_of_a_branch_that_does_not_act(action: str) -> None:
    body = "equation\n  der(x) = 1;\n  when time > 0.5 then reinit(x, 3); elsewhen time >= 0.5 then %s end when;"
    assert final(body % action) == {"x": pytest.approx(3.5)}
    swapped = "equation\n  der(x) = 1;\n  when time > 0.5 then %s elsewhen time >= 0.5 then reinit(x, 3); end when;"
    if action.startswith("assert"):
        with pytest.raises(PliantError, match="too early"):
            final(swapped % action)
    else:
        assert final(swapped % action) == {"x": pytest.approx(0.5)}


def test_a_branch_that_sets_nothing_still_hides_the_next() -> None:
    """Vectors, a nested if that is not taken, and an empty branch before the one that would act."""
    end = final(
        """equation
  der(x) = 1;
  when {time > 0.5, x > 3} then
    if x > 2 then reinit(x, 7); end if;
  elsewhen time > 0.5 then
    reinit(x, 5);
  end when;
algorithm
  when time > 0.25 then
  elsewhen time > 0.25 then d := 9;
  elsewhen time > 0.75 then d := 4; end when;
  when time > 0.25 then
    if x > 2 then e := 1; end if;
  elsewhen time > 0.25 then e := 9; end when;""",
        STATE + INTEGER,
    )
    assert end == {"x": pytest.approx(1.0), "d": 4.0, "e": 0.0}


def test_clauses_of_several_instances() -> None:
    """The same clause in two instances: each `elsewhen` looks at its own `when`."""
    end = final(
        """  model A
    parameter Real t1, t2; Integer n(start = 0, fixed = true); Real y(start = 0, fixed = true);
  equation
    der(y) = 0;
    when time > t1 then n = 1; reinit(y, 1); elsewhen /* not "when" */ time > t2 then n = 2; reinit(y, 2); end when;
  end A;
  A a(t1 = 0.25, t2 = 0.25), b(t1 = 0.5, t2 = 0.25), c(t1 = 0.25, t2 = 0.5);""",
        "",
    )
    assert end == {"a.n": 1.0, "a.y": 1.0, "b.n": 1.0, "b.y": 1.0, "c.n": 2.0, "c.y": 2.0}


@pytest.mark.parametrize("declared", [REAL, INTEGER])
@pytest.mark.parametrize(
    ("statements", "want"),
    [
        ("when sample(0, 0.5) then d := 1; d := 2; end when;", (2, 0)),
        ("when sample(0, 0.5) then d := pre(d) + 1; d := 2*d; end when;", (14, 0)),
        (
            "when time > 0.5 then if d > 1 then d := 3; else d := 5; end if;"
            " if d > 1 then d := d + 1; end if; end when;",
            (6, 0),
        ),
        ("when time > 0.5 then if d < 1 then d := 3; e := 2; end if; e := e + d; d := 7; end when;", (7, 5)),
        ("when time > 0.5 then d := 1; end when; when time >= 0.5 then d := 2; end when;", (2, 0)),
        ("d := pre(d); when time > 0.5 then d := 1; end when;", (1, 0)),
        ("when time > 0.5 then d := 1; end when; d := 5;", (5, 0)),
        ("when time > 0.5 then d := d + 1; elsewhen time >= 0.5 then e := 7; end when;", (1, 0)),
        ("when time > 0.5 then d := d + 1; end when; when d > 0 then e := d + 4; end when;", (1, 5)),
        (
            "if x > 2 then d := 0; end if;"
            " when time > 0.5 then d := d + 1; elsewhen x > 0.8 then d := d + 1; end when;",
            (2, 0),
        ),
    ],
)
def test_statements_act_in_their_order(statements: str, want: tuple[int, int], declared: str) -> None:
    if "e :=" not in statements:
        declared = declared.replace(", e(start = 0, fixed = true)", "")
    end = final(f"equation\n  der(x) = 1;\nalgorithm\n  {statements}", STATE + declared)
    assert (end["d"], end.get("e", 0.0)) == want


def test_a_condition_reads_what_is_set_before_it() -> None:
    """In a section d is pre(d) until something sets it: its condition rises in the next round."""
    assert final(
        "algorithm\n  when {time > 0.5, d > 0.5} then d := d + 1; end when;", "discrete Real d(start = 0);"
    ) == {"d": 2.0}
    text = 'algorithm\n  when time > 0.5 then assert(d < 1, "too large"); d := 1; end when;'
    assert final(text, "discrete Real d(start = 0);") == {"d": 1.0}


def test_an_if_outside_of_when_holds_as_long_as_its_condition() -> None:
    """Not only at the event at which it becomes true."""
    end = final(
        """equation
  der(x) = 1;
algorithm
  if x > 0.3 then d := 10; end if;
  when time > 0.25 then d := d + 1; elsewhen time > 0.5 then d := d + 1; end when;
  when time > 0.75 then e := 1; end when;""",
        STATE + REAL,
    )
    assert end["d"] == 10.0


def test_several_clocks_in_one_clause() -> None:
    end = final(
        """equation
  when sample(0, 0.5) then d = pre(d) + 1; elsewhen sample(0, 0.25) then d = pre(d) + 10; end when;
  when sample(0.1, 0.5) then e = d; end when;""",
        REAL,
    )
    assert end == {"d": 23.0, "e": 12.0}


def test_sections_are_taken_apart_where_that_changes_nothing() -> None:
    text = "algorithm a := 1; when a > 0 then b := pre(c); end when; if b then c := a; end if;"
    assert split_sections(f"model M\n{text} end M;").count("algorithm") == 3
    kept = (
        "model M\nalgorithm when c then n := 1; end when; when n > 0 then n := n + 1; end when; end M;",
        "model M\nalgorithm a := b; b := 1; end M;",
        "function f\nalgorithm a := 1; b := a; end f;",
        "model M\ninitial algorithm a := 1; b := a; equation x = 1; end M;",
    )
    for one in kept:
        assert split_sections(one) == one


def test_statements_of_a_section_follow_each_other() -> None:
    """What one front end runs, the other one refuses: never a wrong value."""
    twice = "algorithm\n  e := 1; when time > 0.2 then d := 1; end when; when time > 0.4 then d := d + 2; end when;"
    assert final(twice, INTEGER)["d"] == 3
    circle = "algorithm\n  when time > 0.2 then d := e + 1; e := d + 1; end when;"
    assert final(circle, INTEGER) == {"d": 1, "e": 2}
    with pytest.raises(NotSupportedError, match="algorithm section"):
        pliant.load(text_of(INTEGER + twice), frontend="rumoca")
    with pytest.raises(NotSupportedError, match="in a circle"):
        pliant.load(text_of(INTEGER + circle), frontend="rumoca")


def test_real_time_step() -> None:
    """The same priorities at the end of a step."""
    text = """model M
  Real x(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true); Integer n(start = 0, fixed = true);
equation
  der(x) = 1;
  when sample(0.5, 10) then reinit(x, 1); elsewhen time >= 0.5 then reinit(x, 5); end when;
algorithm
  when sample(0.25, 0.25) then u := pre(u) + 1; u := 2*u; n := 1; n := n + 1;
  elsewhen time >= 0.25 then u := 0; end when;
end M;
"""
    run = pliant.load(text).realtime(step=0.125, stop=1.0, options={"search": "full"}).simulate(stop=1.0)
    assert list(run["u"]) == [0, 0, 2, 2, 6, 6, 14, 14, 30]
    assert list(run["n"]) == [0, 0, 2, 2, 2, 2, 2, 2, 2]
    assert list(run["x"]) == pytest.approx([0, 0.125, 0.25, 0.375, 1, 1.125, 1.25, 1.375, 1.5])


def test_two_reinits_of_one_event_that_contradict_each_other() -> None:
    """At times of their own, or with one value, there is nothing to decide."""
    head = "model M\n  Real x(start = 0, fixed = true);\nequation\n  der(x) = 1;\n"
    clause = "  when {0} then reinit(x, {1}); end when;\n"

    def final(*clauses: tuple[str, float]) -> float:
        text = head + "".join(clause.format(*one) for one in clauses) + "end M;\n"
        return float(pliant.load(text, frontend="pliant").simulate(stop=1).final["x"])

    assert final(("time > 0.5", 3), ("time > 0.5", 3)) == pytest.approx(3.5)
    assert final(("x > 0.5", 0), ("time > 0.8", 0.1)) == pytest.approx(0.3)
    with pytest.raises(PliantError, match=r"x \(model.mo:6\) is reset twice, to different values"):
        final(("time > 0.5", 3), ("time > 0.5", 5))


def test_statements_of_a_clause_make_no_events_of_what_they_have_set() -> None:
    text = (
        "model M\n  Real x(start = 0, fixed = true);\n  discrete Real d(start = 0, fixed = true);\nequation\n"
        "  der(x) = 1;\nalgorithm\n  when time > 1.5 then\n    d := x;\n"
        "    if d > 0.5 then\n      d := 2*d;\n    end if;\n  end when;\nend M;\n"
    )
    result = pliant.load(text, frontend="pliant").simulate(stop=2)
    assert [event.time for event in result.events] == pytest.approx([1.5])
    assert result.final["d"] == pytest.approx(3)


@pytest.mark.parametrize(
    "body", ["if not (b) then b := true; else b := false; end if;", "if b then b := false; else b := true; end if;"]
)
def test_statements_read_what_was_set_before(body: str) -> None:
    text = (
        "model M\n  Boolean b(start = true, fixed = true);\nalgorithm\n  when sample(0.1, 0.2) then\n    b := false;\n"
    )
    result = pliant.load(f"{text}    {body}\n  end when;\nend M;\n", frontend="pliant").simulate(stop=0.2)
    assert result.final["b"] == 1


def test_conditions_of_an_algorithm_begin_with_the_value_before() -> None:
    """Not a circle: b is pre(b) when the section begins."""
    text = (
        "model M\n  Boolean b(start = false, fixed = true);\n  Real x(start = 0, fixed = true);\nequation\n"
        "  der(x) = 1;\n"
        "algorithm\n  when x > 0.5 and not b then\n    b := true;\n  end when;\nend M;\n"
    )
    result = pliant.load(text, frontend="pliant").simulate(stop=1, points=[0.0, 0.4, 0.6, 1.0])
    assert result["b"].tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("clause", "words"),
    [
        ("i = if j > 2 then 5 else 7; j = i - 3; k = i;", "i, j depend on each other's new values"),
        ("i = 10 - j; j = k - 2; k = i;", "i, j, k depend on each other's new values"),
        ("i = 1 - i; j = 2; k = 3;", "depends on itself"),
    ],
)
def test_values_that_depend_on_each_other_are_named(clause: str, words: str) -> None:
    declared = ", ".join(f"{name}(start = 0, fixed = true)" for name in "ijk")
    text = f"model M Integer {declared}; equation when sample(0.1, 0.1) then {clause} end when; end M;"
    with pytest.raises(pliant.ModelEvaluationError, match=f"does not converge: (it )?{words}") as caught:
        pliant.load(text).simulate(stop=1.0)
    assert caught.value.time == pytest.approx(0.1)
