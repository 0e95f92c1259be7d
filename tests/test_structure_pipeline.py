"""From Modelica text to sorted, torn blocks: the lecture's circuit, aliases, choice of states, singular models."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support_modelica import WAYS, check_jacobian, check_run, check_ways, flat, model_of, text_of

import pliant
from pliant.expr.build import const, neg, substitute, var
from pliant.expr.evaluate import evaluate, parameter_values
from pliant.sorted_system import SortedSystem
from pliant.structure.apply import relax
from pliant.structure.options import StructureOptions
from pliant.structure.pipeline import sort_system
from pliant.structure.states import independent_columns

# ------------------------------------------------------------------------------------- the lecture's circuit

CIRCUIT = """  parameter Real R1 = 1, R2 = 2, R3 = 3, L = 1;
  Real u0, u1, u2, u3, uL, i0, i1, i2, i3, iL(start = 0, fixed = true);
equation
  u0 = 11*sin(2*time);
  u1 = R1*i1;
  u2 = R2*i2;
  u3 = R3*i3;
  uL = L*der(iL);
  u0 = u1 + u3;
  uL = u1 + u2;
  u3 = u2;
  i0 = i1 + iL;
  i1 = i2 + i3;"""


def circuit(tear: list[str], **options: Any) -> SortedSystem:
    return sort_system(flat(CIRCUIT), StructureOptions(**options), tear)


def named(s: SortedSystem, name: str) -> int:
    (found,) = [v for v, variable in enumerate(s.system.variables) if variable.name == name]
    return found


@pytest.mark.parametrize(("aliases", "size"), [(False, 6), (True, 5)])
def test_loop_of_the_circuit(aliases: bool, size: int) -> None:
    found = model_of(CIRCUIT, aliases=aliases).structure
    (loop,) = found.loops
    names = {"u1", "i1", "u2", "i2", "u3", "i3"} - ({"u3"} if aliases else set())
    assert set(loop.variables) == names
    assert (loop.size, loop.n_torn, loop.linear) == (size, 1, True)
    assert (found.n_equations, found.n_states, found.index) == (10, 1, 1)
    assert [state.name for state in found.states] == ["iL"]


def test_tear_i3() -> None:
    """One linear equation: i3 = R2/(R1 R2 + R1 R3 + R2 R3) u0, for any resistances."""
    s = circuit(["i3"])
    (block,) = [b for b in s.blocks if len(b.variables) > 1]
    assert [s.system.variables[v].name for v in block.tears] == ["i3"]
    for r1, r2, r3 in ((1.0, 2.0, 3.0), (5.0, 0.1, 7.0)):
        values = parameter_values(s.system) | {named(s, "R1"): r1, named(s, "R2"): r2, named(s, "R3"): r3}
        values[named(s, "u0")] = 1.0
        a, b = evaluate(s.system.graph, [block.matrix[0][0], block.right[0]], values)
        assert b / a == pytest.approx(r2 / (r1 * r2 + r1 * r3 + r2 * r3), rel=1e-14)
    result = model_of(CIRCUIT, ["i3"]).simulate(stop=1, parameters={"R1": 5, "R2": 0.1, "R3": 7})
    assert result["i3"] == pytest.approx(0.1 / (0.5 + 35 + 0.7) * result["u0"], abs=1e-12)


def test_tear_i1_and_u2() -> None:
    """[R1, 1; R2 R3, -(R2 + R3)] [i1; u2] = [u0; 0], up to the scale of a row."""
    s = circuit(["i1", "u2"])
    (block,) = [b for b in s.blocks if len(b.variables) > 1]
    assert {s.system.variables[v].name for v in block.tears} == {"i1", "u2"}
    order = [block.tears.index(named(s, name)) for name in ("i1", "u2")]
    values = parameter_values(s.system) | {named(s, "u0"): 1.0}
    flat_matrix = evaluate(s.system.graph, [e for row in block.matrix for e in row], values)
    right = evaluate(s.system.graph, block.right, values)
    rows = np.column_stack([np.array(flat_matrix).reshape(2, 2)[:, order], right])
    wanted = {(1.0, 1.0, 1.0), (6.0, -5.0, 0.0)}
    scaled = set()
    for row in rows:
        for target in wanted:
            factor = target[0] / row[0] if row[0] else np.nan
            if np.allclose(row * factor, target):
                scaled.add(target)
    assert scaled == wanted


def test_relaxation_of_the_lecture() -> None:
    """c1 = R3, c2 = -R3, c3 = c1, c4 = u0, c5 = 1 + c3/R1, c6 = c4/R1, c7 = c2, c8 = c5 - c7/R2, i3 = c6/c8."""
    s = circuit([], aliases=False)
    g = s.system.graph.overlay()
    (block,) = [b for b in s.blocks if len(b.variables) > 1]
    names = ["u3", "u1", "i1", "u2", "i2", "i3"]
    unknowns = [named(s, name) for name in names]
    texts = {"u3": "u3 = R3*i3", "u1": "u0 = u1 + u3", "i1": "u1 = R1*i1", "u2": "u3 = u2", "i2": "u2 = R2*i2"}
    numbers = {equation.span.text.rstrip(";"): k for k, equation in enumerate(s.equations) if equation.span is not None}
    order = [(numbers[texts[name]], named(s, name)) for name in names[:5]]
    residual = numbers["i1 = i2 + i3"]
    rows: dict[int, dict[int, int]] = {}
    right: dict[int, int] = {}
    zeros = {var(g, v): const(g, 0.0) for v in unknowns}
    for e in block.equations:
        r = s.equations[e].residual
        (at_zero,) = substitute(g, [r], zeros)
        right[e] = neg(g, at_zero)
        rows[e] = {}
        for v in unknowns:  # the coefficient of a linear equation: residual(v = 1, others 0) - residual(0)
            (at_one,) = substitute(g, [r], zeros | {var(g, v): const(g, 1.0)})
            values = parameter_values(s.system) | {named(s, "u0"): 0.0}
            one, zero = evaluate(g, [at_one, at_zero], values)
            if one != zero:
                rows[e][v] = const(g, one - zero)
    found = relax(g, order, rows, right, [named(s, "i3")], [residual])
    values = parameter_values(s.system) | {named(s, "u0"): 1.0}
    numbers_found = evaluate(g, found.auxiliaries, values)
    # R1, R2, R3 = 1, 2, 3 and u0 = 1: sizes of c1 .. c8; signs depend on how each equation was written
    c1, c2 = 3.0, -3.0
    c3, c4 = c1, 1.0
    c5, c6, c7 = 1 + c3 / 1.0, c4 / 1.0, c2
    c8 = c5 - c7 / 2.0
    assert sorted(map(abs, numbers_found)) == pytest.approx(sorted(map(abs, (c1, c2, c3, c4, c5, c6, c7, c8))))
    (a,), (b,) = evaluate(g, found.matrix[0], values), evaluate(g, found.right, values)
    assert abs(a) == pytest.approx(5.5)
    assert b / a == pytest.approx(1 / 5.5)
    assert len(found.auxiliaries) == 8


@pytest.mark.parametrize("tear", ["u1", "i1", "u2", "i2", "u3", "i3"])
def test_every_tear_gives_the_same_currents(tear: str) -> None:
    result = check_run(CIRCUIT, 2.0, tear=[tear], aliases=False)
    assert result["i3"] == pytest.approx(2 / 11 * result["u0"], abs=1e-9)


def test_tears_that_are_no_unknowns_of_loops() -> None:
    with pytest.raises(pliant.UnknownNameError, match="tear='i9'"):
        pliant.inspect(text_of(CIRCUIT), tear=["i9"])
    with pytest.raises(pliant.ArgumentError, match=r"i0.*no algebraic loop"):
        pliant.inspect(text_of(CIRCUIT), tear=["i0"])


# ------------------------------------------------------------------------------------------------ aliases


def test_chains_of_signs() -> None:
    body = """  Real a(start = 1, fixed = true), b, c, d, e;
equation
  a = -b; b + c = 0; 2*d = -2*c; d/3 - e/3 = 0;
  der(e) = 0.5*e + time;"""
    result = check_ways(body, 1.0)
    for name, sign in (("b", -1), ("c", 1), ("d", -1), ("e", -1)):
        assert np.array_equal(result[name], sign * result["a"]), name
    assert result["der(a)"] == pytest.approx(-result["der(e)"], abs=1e-12)
    assert model_of(body).structure.n_states == 1


def test_constants() -> None:
    body = """  parameter Real p = 4;
  Real a, b, c, d, e;
equation
  a = 3; b = -a; c = p; d + c = 0; e = der(b) + d;"""
    result = check_ways(body, 1.0)
    assert [result[name][-1] for name in ("a", "b", "c", "d", "e")] == [3, -3, 4, -4, -4]
    changed = model_of(body).simulate(stop=1, parameters={"p": 5})
    assert [changed[name][-1] for name in ("c", "d", "e")] == [5, -5, -5]


@pytest.mark.parametrize(
    "body",
    [
        "  Real a, b;\nequation\n  a = 1; b = a;\n  b = 2;",
        "  Real x(start = 1), y;\nequation\n  der(x) = -x; y = 2;\n  y = 3;",
    ],
)
def test_equations_that_contradict_each_other(body: str) -> None:
    with pytest.raises(pliant.ModelError, match=r"equations for|cannot hold"):
        pliant.load(text_of(body))


def test_a_contradiction_that_balances() -> None:
    """As many equations as unknowns, but a = b is said twice, the second time with an offset."""
    with pytest.raises(pliant.ModelError, match=r"a = b \+ 1.*model\.mo:4.*cannot hold"):
        pliant.load(text_of("  Real a, b;\nequation\n  a = b; a = b + 1;"))


def test_a_variable_and_its_own_derivative() -> None:
    """x = der(x) is no alias: x = exp(t)."""
    body = "  Real x(start = 1, fixed = true), y, z;\nequation\n  y = der(x); y = z; z = x;"
    result = check_ways(body, 1.0)
    assert result["x"] == pytest.approx(np.exp(result.time), rel=1e-7)


def test_equal_derivatives_of_different_states() -> None:
    """der(p) = a = der(q): p - q is a free constant."""
    body = """  Real p(start = 1, fixed = true), q(start = 3, fixed = true), a;
equation
  der(p) = a; der(q) = a; a = -p;"""
    result = check_ways(body, 1.0)
    assert result["q"] - result["p"] == pytest.approx(2 * np.ones(401), abs=1e-9)
    assert model_of(body).structure.n_states == 2


def test_derivatives_of_aliases() -> None:
    body = """  Real x(start = 1, fixed = true), y, v, w(start = 0.5, fixed = true), a;
equation
  y = -x; der(y) = v; v = -w; a = der(w); a = -x;"""
    result = check_ways(body, 2.0, ways=WAYS)
    t = result.time
    assert result["x"] == pytest.approx(np.cos(t) + 0.5 * np.sin(t), abs=1e-6)
    assert result["der(y)"] == pytest.approx(-result["w"], abs=1e-9)


def test_a_parameter_is_no_alias_factor() -> None:
    """x = p y stays an equation, so p = 0 works."""
    body = "  parameter Real p = 2;\n  Real x, y(start = 1, fixed = true);\nequation\n  x = p*y; der(y) = -y + x;"
    assert model_of(body).simulate(stop=1, parameters={"p": 0})["x"] == pytest.approx(np.zeros(500))


def test_aliases_are_readable_everywhere() -> None:
    body = """  Real x(start = 2, fixed = true, unit = "m") "position", y(unit = "m") "its negative", v;
equation
  y = -x; v = der(y); der(x) = -x;"""
    model = model_of(body)
    assert model.variables["y"].description == "its negative"
    assert model.variables["y"].unit == "m"
    assert str(model.variables["y"].span) == "model.mo:2"
    result = model.simulate(stop=1, outputs=["y", "der(y)"], start_values={"y": -3})
    assert result["y"][0] == -3
    assert result["der(y)"][0] == pytest.approx(3)
    assert model.simulate(stop=1)["v"][0] == 2


# ------------------------------------------------------------------------------------------- choice of states

CONSTRAINED = """  Real a(start = 1{a}), b(start = 2{b}), f;
equation
  der(a) = -a + f; der(b) = -2*f; b = 2*a + sin(time);"""


@pytest.mark.parametrize(
    ("a", "b", "state"),
    [
        (", stateSelect = StateSelect.prefer", "", "a"),
        ("", ", stateSelect = StateSelect.prefer", "b"),
        (", stateSelect = StateSelect.always", ", stateSelect = StateSelect.prefer", "a"),
        (", stateSelect = StateSelect.avoid", "", "b"),
        ("", ", stateSelect = StateSelect.avoid", "a"),
        (", stateSelect = StateSelect.never", ", stateSelect = StateSelect.avoid", "b"),
        (", fixed = true", "", "a"),
        ("", ", fixed = true", "b"),
    ],
)
def test_state_select(a: str, b: str, state: str) -> None:
    body = CONSTRAINED.format(a=a, b=b)
    found = model_of(body).structure
    assert [s.name for s in found.states] == [state]
    assert found.index == 2
    check_run(body, 1.0)


def test_state_select_never_and_always_that_cannot_be_had() -> None:
    never = model_of("  Real x(start = 1, stateSelect = StateSelect.never);\nequation\n  der(x) = -x;").structure
    assert any("x has stateSelect = never" in note for note in never.notes)
    always = ", stateSelect = StateSelect.always"
    both = model_of(CONSTRAINED.format(a=always, b=always)).structure
    assert any("stateSelect = always" in note for note in both.notes)


def test_trajectories_do_not_depend_on_the_states() -> None:
    runs = []
    for a, b in ((", fixed = true, stateSelect = StateSelect.always", ""), (", fixed = true", always_prefer())):
        runs.append(check_ways(CONSTRAINED.format(a=a, b=b), 1.0))
    assert runs[0]["a"] == pytest.approx(runs[1]["a"], abs=1e-6)
    assert runs[0]["f"] == pytest.approx(runs[1]["f"], abs=1e-5)


def always_prefer() -> str:
    return ", stateSelect = StateSelect.prefer"


def test_index_three() -> None:
    """Two masses with a rigid gear: x2 = 3 x1 + sin(t), against the equation of one mass."""
    body = """  Real x1(start = 0, fixed = true), x2, v1(start = 0, fixed = true), v2, f;
equation
  der(x1) = v1; der(x2) = v2; der(v1) = f - x1; 2*der(v2) = -f/3; x2 = 3*x1 + sin(time);"""
    result = check_ways(body, 2.0)
    # f = -6 v2' = -6 (3 v1' - sin t): 19 v1' = 6 sin t - x1
    from scipy.integrate import solve_ivp

    t = result.time
    one = solve_ivp(
        lambda t, z: [z[1], (6 * np.sin(t) - z[0]) / 19], (0, 2), [0, 0], "DOP853", t, rtol=1e-11, atol=1e-12
    )
    assert result["x1"] == pytest.approx(one.y[0], abs=1e-6)
    assert model_of(body).structure.index == 3


def test_everything_is_a_derivative_of_a_given_motion() -> None:
    body = "  Real x, v, a, j;\nequation\n  x = sin(2*time); v = der(x); a = der(v); j = der(a);"
    result = check_ways(body, 1.0)
    assert result["j"] == pytest.approx(-8 * np.cos(2 * result.time), abs=1e-12)
    assert model_of(body).structure.n_states == 0


def test_constraints_dependent_in_numbers_only() -> None:
    body = """  Real x, y, f, g;
equation
  der(x) = f; der(y) = g;
  x + y = sin(time);
  2*x + 2*y = 2*sin(time);"""
    with pytest.raises(pliant.SingularModelError, match="depend on") as caught:
        pliant.load(text_of(body))
    assert re.search(r"model\.mo:[56]", str(caught.value))


def test_derivative_of_an_input_is_refused() -> None:
    with pytest.raises(pliant.NotSupportedError, match="derivative of its input u"):
        pliant.load(text_of("  input Real u;\n  Real x, f;\nequation\n  der(x) = f; x = 2*u;"))


# --------------------------------------------------------------------------------------------- dynamic states

PENDULUM = """  Real x(start = {x}, fixed = true), y(start = {y}), vx(start = {v}, fixed = true), vy, F;
equation
  der(x) = vx; der(y) = vy;
  der(vx) = -F*x; der(vy) = -F*y - 9.81;
  x^2 + y^2 = 1;"""


@pytest.mark.parametrize(("x", "y", "v"), [(1, 0, 0), (0, -1, 3), (0, -1, 8), (0.6, -0.8, 0)])
@pytest.mark.parametrize("method", ["auto", "bdf"])
def test_pendulum(x: float, y: float, v: float, method: str) -> None:
    """Through the bottom, and with v = 8 over the top."""
    result = model_of(PENDULUM.format(x=x, y=y, v=v)).simulate(stop=5, rtol=1e-9, method=method)
    assert np.abs(result["x"] ** 2 + result["y"] ** 2 - 1).max() < 1e-8
    assert np.abs(result["x"] * result["vx"] + result["y"] * result["vy"]).max() < 1e-8
    energy = 0.5 * (result["vx"] ** 2 + result["vy"] ** 2) + 9.81 * result["y"]
    assert np.ptp(energy) < 1e-4
    assert result["y"][0] == pytest.approx(y, abs=1e-6)


def test_pendulum_satisfies_its_equations() -> None:
    check_run(PENDULUM.format(x=1, y=0, v=0), 3.0)
    check_run(PENDULUM.format(x=1, y=0, v=0), 3.0, form="dae")
    check_jacobian(model_of(PENDULUM.format(x=0.6, y=-0.8, v=1)))


DOUBLE = """  Real x[2](start = {1, 2}, each fixed = true), y[2], u[2](each start = 0, each fixed = true), v[2], F[2];
equation
  der(x) = u; der(y) = v;
  der(u[1]) = -F[1]*x[1] + F[2]*(x[2] - x[1]); der(v[1]) = -F[1]*y[1] + F[2]*(y[2] - y[1]) - 9.81;
  der(u[2]) = -F[2]*(x[2] - x[1]); der(v[2]) = -F[2]*(y[2] - y[1]) - 9.81;
  x[1]^2 + y[1]^2 = 1; (x[2] - x[1])^2 + (y[2] - y[1])^2 = 1;"""


def test_double_pendulum() -> None:
    result = check_run(DOUBLE, 2.0)
    x1, y1, x2, y2 = (result[name] for name in ("x[1]", "y[1]", "x[2]", "y[2]"))
    assert np.abs(x1**2 + y1**2 - 1).max() < 1e-8
    assert np.abs((x2 - x1) ** 2 + (y2 - y1) ** 2 - 1).max() < 1e-8
    kinetic = 0.5 * sum(result[name] ** 2 for name in ("u[1]", "u[2]", "v[1]", "v[2]"))
    assert np.ptp(kinetic + 9.81 * (y1 + y2)) < 1e-4


def test_spherical_pendulum() -> None:
    """One constraint for three coordinates; the vertical angular momentum is constant."""
    body = """  Real r[3](start = {0, 0, -1}, fixed = {true, true, false}), F;
  Real v[3](start = {3, 1, 0}, fixed = {true, true, false});
equation
  der(r) = v; der(v) = -F*r - {0, 0, 9.81}; r*r = 1;"""
    result = check_run(body, 3.0)
    momentum = result["r[1]"] * result["v[2]"] - result["r[2]"] * result["v[1]"]
    assert np.ptp(momentum) < 1e-6
    assert np.abs(sum(result[f"r[{k}]"] ** 2 for k in (1, 2, 3)) - 1).max() < 1e-8


def test_pendulum_by_its_angle() -> None:
    """The modeller decides: no state set."""
    body = """  Real x, y, vx, vy, F, phi(start = 1, fixed = true, stateSelect = StateSelect.always);
  Real w(start = 0, fixed = true, stateSelect = StateSelect.always);
equation
  der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - 9.81; x = sin(phi); y = -cos(phi); w = der(phi);"""
    found = model_of(body).structure
    assert [s.name for s in found.states] == ["phi", "w"]
    assert not found.sets
    check_run(body, 2.0)


# ------------------------------------------------------------------------------------------- singular models


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "  Real x, y, z;\nequation\n  x = 1 + y;\n  x = 2*y;\n  x + y = 4;",
            ["one equation too many", "x + y = 4", "model.mo:6", "one equation missing", "z", "model.mo:2"],
        ),
        (
            "  Real x(start = 1), y, z;\nequation\n  der(x) = -x;\n  y = x;\n  y = 2*x + time;",
            ["z", "model.mo:2"],
        ),
        ("  Real a, b;\nequation\n  a + b = time;\n  sin(time) = 0.5;", ["sin(time)", "model.mo:5"]),
    ],
    ids=["over and under", "unmentioned", "no unknown"],
)
def test_structurally_singular(body: str, words: list[str]) -> None:
    with pytest.raises(pliant.SingularModelError) as caught:
        pliant.load(text_of(body))
    for word in words:
        assert word in str(caught.value)


def test_unbalanced() -> None:
    with pytest.raises(pliant.ModelError, match="2 equations for 1 unknown"):
        pliant.load(text_of("  Real x;\nequation\n  x = 1 + time;\n  x = sin(time);"))


# ------------------------------------------------------------------------- dependence without a derivative


@pytest.mark.parametrize(
    ("body", "y"),
    [
        ("z = noEvent(if y > 0.5 then 1 else 2); der(x) = -z; y = 2*x - 1 + 0.1*sin(y)", None),
        ("z = sign(y); der(x) = -z; y = 2*x - 1", None),
        ("z = noEvent(floor(y)); der(x) = -z; y = 2*x - 1", None),
        ("der(x) = 0.5*tanh(y - (x + y)) + z; y = 2*der(x); z = 0.13*y - 0.13*y", None),
        ("der(x) = -x; y = 3 + noEvent(if y > 0 then 1 else 2); z = y", 4.0),
        ("der(x) = -x; y = 3 + sign(y); z = y", 4.0),
    ],
)
@pytest.mark.parametrize("form", ["ode", "dae"])
def test_an_unknown_counts_although_its_derivative_is_zero(body: str, y: float | None, form: str) -> None:
    whole = f"  Real x(start = 1, fixed = true), y(start = 1), z;\nequation\n  {body};"
    result = check_run(whole, 0.2, form=form)
    if y is not None:
        assert result["y"] == pytest.approx(y * np.ones(401))


def test_helping_columns_are_eliminated_first() -> None:
    """h determines w, which an undifferentiated equation ties to v: v becomes the dummy."""
    rows = {0: {7: 2.0}, 1: {7: 1.0, 5: -3.0}}  # equation 0: 2 w, equation 1 (original): w - 3 v
    assert independent_columns([5], {0: {}}) == ([], [0])
    assert independent_columns([5], rows, [7], frozenset({1})) == ([5], [])
