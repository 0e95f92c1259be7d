"""The real-time step against the same step by dense numpy with pliant's generated f and Jacobian."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_modelica import text_of
from support_stepper import Case, relative
from test_frontend_support import needs_msl

import pliant
from pliant.compiling.compiler import load_text
from pliant.errors import ArgumentError, NotSupportedError
from pliant.expr.evaluate import table_value
from pliant.ir import Graph, Table
from pliant.realtime.code.make import StartValues, StepperOptions, make_stepper
from pliant.realtime.code.places import StepLayout
from pliant.realtime.code.run import STEP_FLAGS, Stepper
from pliant.realtime.code.write import StepContext, helpers, table_functions
from pliant.realtime.sparsing.elimination import eliminate

EXAMPLES = Path(__file__).parents[1] / "examples"
CASES = [
    ("circuit", 1e-2, 200),
    ("heat_rod", 5.0, 20),
    ("dc_drive", 1e-3, 400),
]


def example(name: str, tau: float, form: str = "auto") -> Case:
    return Case(str(EXAMPLES / f"{name}.mo"), tau, form)


@pytest.mark.parametrize("form", ["ode", "dae"])
@pytest.mark.parametrize(("name", "tau", "n"), CASES, ids=[one[0] for one in CASES])
def test_full_pattern_is_the_linearly_implicit_euler_method(name: str, tau: float, n: int, form: str) -> None:
    case = example(name, tau, form)
    found = Stepper(case.code()).run(None, n)
    assert relative(found, case.reference(n)) < 1e-10
    assert np.abs(found[-1] - found[0]).max() > 0.0


def test_a_large_algebraic_loop_stays_in_x() -> None:
    case = example("resistor_grid", 1e-2)
    code = case.code(style="tables")
    assert (code.n_states, code.n_x) == (1, 405)
    assert relative(Stepper(code).run(None, 10), case.reference(10)) < 1e-10


@pytest.mark.parametrize(("name", "tau", "n"), [("heat_rod", 0.5, 20), ("dc_drive", 1e-4, 400)])
def test_a_mask_drops_entries(name: str, tau: float, n: int) -> None:
    case = example(name, tau)
    full = case.pattern
    kept = {(i, j) for i, j in full if i == j or (i + j) % 3}
    assert 0 < len(kept) < len(full)
    found = Stepper(case.code(kept)).run(None, n)
    assert relative(found, case.reference(n, kept)) < 1e-10
    assert relative(found, case.reference(n)) > 1e-9  # it does make a difference


def test_the_robot_with_the_blocks_of_its_axes() -> None:
    case = Case(str(EXAMPLES / "Robot.mo"), 1e-3, name="Robot")
    axis = [name.split(".")[0] for name in case.model.names.x]
    kept = {(i, j) for i, j in case.pattern if axis[i] == axis[j]}
    code = case.code(kept)
    assert relative(Stepper(code).run(None, 60), case.reference(60, kept)) < 1e-9
    assert code.operations["jacobian"].flops < 4000  # solving for each column of the loop takes 4342
    assert relative(case.reference(60, kept), case.reference(60)) > 1e-7


def test_nonlinear_loops_converge_with_newton_steps() -> None:
    case = example("transistor_amplifier", 1e-4, "ode")
    reference = case.reference(300)
    errors = [relative(Stepper(case.code(newton_steps=k)).run(None, 300), reference) for k in (1, 2, 4, 6)]
    assert errors[0] > 3 * errors[1] > 9 * errors[2]
    assert errors[3] < 1e-9
    assert set(case.code().tears) == {"R1.p.v", "R5.p.v"}


def test_dae_form_has_no_loops_to_iterate() -> None:
    case = example("transistor_amplifier", 1e-4, "dae")
    code = case.code()
    assert code.tears == ()
    assert relative(Stepper(code).run(None, 300), case.reference(300)) < 1e-10


LOOP = """
  input Real u(start = 1);
  parameter Real a = 2, b = 3;
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
  Real p, q, r;
  output Real y = p + u*x;
equation
  der(x) = v;
  der(v) = -p - q*x + u;
  a*p + q*x = v + r;
  b*q - r = sin(x) + u*p;
  p + q + 5*r = x*time;
"""


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_inputs_time_and_a_linear_loop(form: str) -> None:
    case = Case(text_of(LOOP), 1e-2, form)
    u = 1.0 + 0.3 * np.sin(np.arange(200.0))[:, None]
    stepper = Stepper(case.code())
    assert relative(stepper.run(u, 200), case.reference(200, u_table=u)) < 1e-10
    assert stepper.steps == 200
    y = stepper.outputs([0.7])
    case.point.sim.u[0] = 0.7
    case.point.t = 2.0
    named = case.point.all_values(np.array(stepper.x))
    assert y[0] == pytest.approx(named["y"] if form == "ode" else named["p"] + 0.7 * named["x"], rel=1e-12)


def test_pivots_of_a_loop_are_chosen_where_the_diagonal_vanishes() -> None:
    body = """
  Real x(start = 1, fixed = true);
  Real p, q, r;
equation
  der(x) = -p - x;
  0*p + q + 2*r = x;
  p + 1e-13*x*q + r = 1 + x;
  3*p + q*x + 1e-14*r = 2;
"""
    case = Case(text_of(body), 1e-2)
    assert relative(Stepper(case.code()).run(None, 100), case.reference(100)) < 1e-10


def test_parameters_change_without_a_new_text() -> None:
    case = Case(text_of(LOOP), 1e-2)
    other = Case(text_of(LOOP), 1e-2, parameters={"a": 2.5})
    u = np.ones((100, 1))
    code = case.code()
    assert code.p_names == ("a", "b")
    found = Stepper(code, {"a": 2.5}).run(u, 100)
    expected = other.reference(100, u_table=u)
    assert relative(found, expected) < 1e-10
    assert relative(found, case.reference(100, u_table=u)) > 1e-4


def test_float_is_close_to_double() -> None:
    case = example("dc_drive", 1e-3)
    double = Stepper(case.code()).run(None, 500)
    single = Stepper(case.code(precision="float"))
    found = single.run(None, 500)
    assert found.dtype == np.float32
    error = relative(found, double)
    assert 1e-9 < error < 1e-3
    assert single.instance_size < Stepper(case.code()).instance_size


CHOICES = """
  parameter Real c = 0.3;
  Real x(start = 1, fixed = true), y(start = -0.5, fixed = true);
  Real a, b;
equation
  a = if noEvent(x > c and not (y > 0 or x > 2)) then sin(x) else sqrt(abs(x) + 1);
  b = min(x, y) + max(x*y, 0.1) + abs(y) + (if noEvent(y > 0.2) then 1 else if noEvent(y < -0.2) then -1 else 5*y);
  der(x) = -a + y^3 + x^(-2)/100;
  der(y) = -b + cos(time);
"""


BRANCHING = """
  Real x(start = 1, fixed = true), y(start = -0.5, fixed = true), z(start = 0.3, fixed = true);
  Real a = if x > 0.2 then sqrt(x^2 + 0.1) else sin(x);
  Real b = if y + a > 0.5 then 1 else -1;
equation
  der(x) = -a + max(y, z) + sign(z)*0.1;
  der(y) = -b*abs(x) + min(x, cos(time)) + (if noEvent(x < y and z < 0 or not x > 1) then x else 2*z);
  der(z) = -z^3 + (if noEvent(x <= y) then 1 else 0.5*x);
"""


@pytest.mark.parametrize("body", [CHOICES, BRANCHING])
def test_choices_without_branches(body: str) -> None:
    case = Case(text_of(body), 1e-2)
    assert relative(Stepper(case.code()).run(None, 600), case.reference(600)) < 1e-10


RELATIONS = """
  Real x(start = 1, fixed = true), y(start = 0, fixed = true);
  Real force = if x > 0.2 then -10*x else if x < -0.2 then -3*x else 1;
  Real push = if force + y > 0.5 then 1 else -1;
equation
  der(x) = y;
  der(y) = force + 0.2*push - 0.1*y;
"""


def test_relations_are_taken_at_the_start_of_a_step() -> None:
    case = Case(text_of(RELATIONS), 1e-2)
    code = case.code()
    assert case.model.generated.n_relations == 3
    assert code.relations == ()  # none depends on itself
    found = Stepper(code).run(None, 800)
    assert relative(found, case.reference(800)) < 1e-10


def test_boolean_variables_and_parameters() -> None:
    body = """
  parameter Boolean strong = true;
  Boolean on = x > 0.2;
  Boolean both = on and strong or time > 3;
  Real x(start = 1, fixed = true);
  output Real y = if both then 1 else 2;
equation
  der(x) = if both then -x else if on <> strong then cos(time) else 0;
"""
    case = Case(text_of(body), 1e-2)
    stepper = Stepper(case.code())
    assert relative(stepper.run(None, 500), case.reference(500)) < 1e-10
    assert stepper.outputs() == [1.0]
    stepper.reset([0.1])
    assert stepper.outputs() == [2.0]


HYSTERESIS = """
  Real x(start = 1, fixed = true);
  Real s = if x + 0.3*s > 0.5 then 1 else 0;
equation
  der(x) = if s > 0.5 then -1 else 1;
"""


def test_a_relation_that_depends_on_itself_uses_its_last_value() -> None:
    """Memory by hand: s from the relations of the step before."""
    case = Case(text_of(HYSTERESIS), 1e-2)
    code = case.code()
    assert code.relations == (0,)
    found = Stepper(code).run(None, 300)[:, 0]
    x, on, out = 1.0, case.start.relations[0], []
    for _ in range(300):
        s = 1.0 if on else 0.0
        rate = -1.0 if s > 0.5 else 1.0
        on = x + 0.3 * s > 0.5
        x += 1e-2 * rate
        out.append(x)
    assert np.abs(found - out).max() < 1e-12
    assert found.min() < 0.45
    assert np.diff(np.sign(np.diff(found))).any()  # it switched


# ------------------------------------------------------------------------------------------------ tables

POINTS = {2: [0.0, 1.5], 3: [-1.0, 0.0, 2.0], 5: [0.0, 1.0, 1.5, 4.0, 6.0], 9: [0.0, 1, 2, 3, 3.5, 5, 6, 7, 9.0]}


@pytest.mark.parametrize("outside", ["hold", "extend", "repeat", "error"])
@pytest.mark.parametrize("n", list(POINTS))
def test_table_functions_against_the_interpreter(n: int, outside: str, tmp_path: Path) -> None:
    """The bounded search finds the piece that bisection finds, inside, outside and on the knots."""
    rng = np.random.default_rng(n)
    knots = POINTS[n]
    table = Table("t", knots, [tuple(map(float, rng.normal(size=4))) for _ in knots[1:]], outside)  # type: ignore[misc]
    context = StepContext(Graph(), [], StepLayout("table", "double"))
    text = "#include <math.h>\n#include <stdint.h>\ntypedef double pl_real;\n" + helpers("double")
    text += table_functions(context, 0, table, range(5))
    text += "".join(f"double order_{k}(double u) {{ return table_0_{k}(u); }}\n" for k in range(5))
    library = load_text(text, "table_test", flags=STEP_FLAGS).library
    for order in range(5):
        call = getattr(library, f"order_{order}")
        call.restype, call.argtypes = ctypes.c_double, [ctypes.c_double]
        for u in [*np.linspace(knots[0] - 3.0, knots[-1] + 3.0, 101), *knots[:-1]]:
            expected = table_value(table, order, float(u))
            assert call(u) == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True), (order, u)


TABLE = """
  Modelica.Blocks.Tables.CombiTable1Ds t1(table = [0, 0; 1, 2; 1.5, -1; 4, 3; 6, 1],
    smoothness = Modelica.Blocks.Types.Smoothness.{smooth},
    extrapolation = Modelica.Blocks.Types.Extrapolation.{outside});
  Real x(start = 0.2, fixed = true);
equation
  t1.u = 5*sin(x) + x;
  der(x) = 1 + 0.1*t1.y[1];
"""


@needs_msl
@pytest.mark.parametrize("smooth", ["LinearSegments", "ContinuousDerivative"])
@pytest.mark.parametrize("outside", ["HoldLastPoint", "LastTwoPoints", "Periodic"])
def test_models_with_tables(smooth: str, outside: str) -> None:
    case = Case(text_of(TABLE.format(smooth=smooth, outside=outside)), 1e-2)
    assert case.sorted.system.tables
    found = Stepper(case.code()).run(None, 700)
    assert relative(found, case.reference(700)) < 1e-10
    assert relative(Stepper(case.code(precision="float")).run(None, 100), found[:100]) < 1e-3


@pytest.mark.parametrize("options", [{}, {"monitor": True}, {"order": 2}, {"precision": "float"}])
@pytest.mark.parametrize("name", ["dc_drive", "transistor_amplifier"])
def test_tables_and_straight_line_agree_to_the_last_bit(name: str, options: dict[str, Any]) -> None:
    case = example(name, 1e-4, "dae")
    straight = case.code(fold_constants=False, **options)
    tables = case.code(style="tables", fold_constants=False, **options)
    assert (straight.style, tables.style) == ("straight-line", "tables")
    assert np.array_equal(Stepper(straight).run(None, 200), Stepper(tables).run(None, 200))


def test_nonlinear_loops_with_tables_and_order_two() -> None:
    case = example("transistor_amplifier", 1e-4, "ode")
    straight = Stepper(case.code(order=2, fold_constants=False)).run(None, 100)
    assert np.array_equal(straight, Stepper(case.code(order=2, style="tables", fold_constants=False)).run(None, 100))


def test_large_systems_go_through_tables() -> None:
    case = example("heat_rod", 5.0)
    assert case.code(straight_line_limit=100).style == "tables"
    assert case.code(straight_line_limit=100_000).style == "straight-line"


def test_small_parts_give_the_same_numbers() -> None:
    case = Case(text_of(CHOICES + "  annotation();"), 1e-2)
    heat = example("heat_rod", 5.0)
    for one in (case, heat):
        whole = Stepper(one.code()).run(None, 50)
        cut = one.code(part=7)
        assert f"{cut.name}_step_jump_2(" in cut.text
        assert np.array_equal(whole, Stepper(cut).run(None, 50))


def order_two(case: Case, n: int, u: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Extrapolation by dense numpy."""
    tau, x, out, before = case.tau, np.array(case.start.x), [], u[0]
    for k in range(n):
        f, df = case.f(k * tau, x, before)
        coarse = np.linalg.solve(case.mass - tau * df, tau * f)
        half = np.linalg.solve(case.mass - tau / 2 * df, tau / 2 * f)
        f_half, _ = case.f((k + 0.5) * tau, x + half, (before + u[k]) / 2)
        fine = half + np.linalg.solve(case.mass - tau / 2 * df, tau / 2 * f_half)
        x = x + 2 * fine - coarse
        before = u[k]
        out.append(x)
    return np.array(out)


@pytest.mark.parametrize("form", ["ode", "dae"])
def test_order_two_is_extrapolation(form: str) -> None:
    u = 1.0 + 0.3 * np.sin(0.1 * np.arange(1.0, 201.0))[:, None]
    case = Case(text_of(LOOP), 1e-2, form, inputs={"u": u[0, 0]})
    stepper = Stepper(case.code(order=2))
    stepper.reset(u=u[0])
    assert relative(stepper.run(u, 200), order_two(case, 200, u)) < 1e-10


def test_orders_of_convergence() -> None:
    """Error at the end falls with tau (order 1) and with its square (order 2)."""
    body = """
  Real x(start = 1, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = y;
  der(y) = -x - 0.3*x^3 + cos(2*time);
"""
    last = pliant.load(text_of(body)).simulate(stop=2.0, rtol=1e-11, atol=1e-12)
    expected = np.array([last["x"][-1], last["y"][-1]])
    for order, rate in ((1, 2.0), (2, 4.0)):
        errors = []
        for tau in (0.02, 0.01):
            case = Case(text_of(body), tau)
            end = Stepper(case.code(order=order)).run(None, round(2.0 / tau), history=False)
            errors.append(np.abs(end - expected).max())
        assert errors[0] / errors[1] == pytest.approx(rate, rel=0.2)


def test_save_and_restore() -> None:
    case = example("transistor_amplifier", 1e-4, "ode")
    stepper = Stepper(case.code())
    stepper.run(None, 50)
    saved = stepper.save()
    first = stepper.run(None, 20)
    stepper.restore(saved)
    assert stepper.steps == 50
    assert np.array_equal(first, stepper.run(None, 20))
    stepper.reset()
    assert np.array_equal(stepper.x, case.start.x)


def test_another_start_in_the_same_text() -> None:
    case = example("transistor_amplifier", 1e-4, "ode")
    code = case.code(newton_steps=6)
    first = Stepper(code)
    whole = first.run(None, 40)
    case.point.t = 20 * case.tau
    named = case.point.all_values(np.array(whole[19]))
    second = Stepper(code)
    second.start_at(StartValues(whole[19], {name: named[name] for name in code.tears}, t=20 * case.tau))
    assert relative(second.run(None, 20), whole[20:]) < 1e-9
    hysteresis = Stepper(Case(text_of(HYSTERESIS), 1e-2).code())
    hysteresis.start_at(StartValues(np.array([0.4]), relations={0: True}))
    down = hysteresis.run(None, 1)
    hysteresis.start_at(StartValues(np.array([0.4]), relations={0: False}))
    assert down[0, 0] < 0.4 < hysteresis.run(None, 1)[0, 0]


# ------------------------------------------------------------------------------------------------ refusals


def test_state_sets_are_refused_by_name() -> None:
    case = example("pendulum", 1e-2)
    with pytest.raises(NotSupportedError, match=r"chooses its states during the run, among .*x"):
        make_stepper(case.sorted, "auto", 1e-2, case.elimination())


@pytest.mark.usefixtures("terminal_refused")
def test_what_cannot_run_is_refused_by_place() -> None:
    from pliant.sources import sorted_model
    from pliant.structure.options import StructureOptions

    body = """
  Real x(start = 0, fixed = true), k = if terminal() then 1 else x;
equation
  der(x) = k;
"""
    found = sorted_model(text_of(body), None, [], (), StructureOptions())
    with pytest.raises(NotSupportedError, match=r"terminal.*model.mo:3"):
        make_stepper(found, "auto", 1e-2, eliminate(1, [(0, 0)]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": "half"}, "precision"),
        ({"order": 3}, "order"),
        ({"newton_steps": 0}, "newton_steps"),
        ({"style": "loops"}, "style"),
        ({"fallback": True}, "full pattern"),
    ],
)
def test_options_are_checked(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ArgumentError, match=words):
        example("circuit", 1e-2).code(**options)


def test_sizes_are_checked() -> None:
    case = example("dc_drive", 1e-3)
    with pytest.raises(ArgumentError, match="size 3"):
        make_stepper(case.sorted, "auto", 1e-3, eliminate(3, []))
    with pytest.raises(ArgumentError, match="shape"):
        make_stepper(case.sorted, "auto", 1e-3, case.elimination(), start=StartValues(np.zeros(2)))
    with pytest.raises(ArgumentError, match="tau"):
        make_stepper(case.sorted, "auto", 0.0, case.elimination(), StepperOptions())
    with pytest.raises(ArgumentError, match="inputs have shape"):
        Stepper(case.code()).run(np.zeros((3, 2)), 3)
