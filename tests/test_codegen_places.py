"""Places and layouts: the same statements for another target, four instances side by side, give the same numbers."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from support_lanes import LANES, Four, Functions, Lanes, StepLanes
from support_stepper import Case
from test_frontend_support import needs_msl

from pliant.codegen.emit import generate
from pliant.codegen.places import Argument, Array, Field, IsZero, Layout, Number, Owner, StructArray, ValueKind
from pliant.compiling.compiler import load_text
from pliant.realtime.code.fixed import fixed
from pliant.realtime.code.make import StepperOptions, make_stepper
from pliant.realtime.code.places import INPUTS, PARAMETERS, StepLayout
from pliant.realtime.code.run import STEP_FLAGS, Stepper
from pliant.realtime.code.write import helpers
from pliant.sources import sorted_model
from pliant.structure.options import StructureOptions

# ---------------------------------------------------------------------------------------------- what a layout prints


def test_the_usual_layout_says_places_as_members_and_elements() -> None:
    layout = Layout()
    kept, given = Array("w", Owner.INSTANCE), Array("x", Owner.ARGUMENT)
    assert layout.place(kept.at(3)) == "m->w[3]"
    assert layout.place(given.at("k")) == "x[k]"
    assert layout.place(Array("homotopy", Owner.INSTANCE).at()) == "m->homotopy"
    assert layout.source(IsZero(kept.at(1))) == "(m->w[1] == 0)"
    assert layout.source(Number(0.1)) == "0.1"
    assert layout.declared([Argument("m", StructArray.INSTANCE), Argument("x", is_const=True)]) == (
        "model *restrict m, const pl_real *restrict x"
    )
    assert layout.member(Field(kept, 4, "crossing")) == "    pl_real w[4]; /* crossing */"
    assert layout.members([Field(kept, 0, "none")]) == []


def test_the_layout_of_a_step_knows_names_of_members_and_precision() -> None:
    layout = StepLayout("Pump", "float", {StructArray.INPUTS: ["voltage"], StructArray.PARAMETERS: ["R", "L"]})
    assert layout.place(INPUTS.at(0)) == "u->voltage"
    assert layout.place(PARAMETERS.at(1)) == "m->p.L"
    assert (layout.literal(0.5), layout.literal(0.5, ValueKind.WIDE)) == ("0.5f", "0.5")
    assert layout.declared([Argument("u", StructArray.INPUTS, is_const=True)], restrict=False) == "const Pump_inputs *u"


# ---------------------------------------------------------------------------------------------- text that is fixed


@pytest.mark.parametrize("precision", ["double", "float"])
def test_the_fixed_text_of_a_step_compiles_without_a_warning_and_does_what_it_says(precision: str) -> None:
    names = {"pl_abs": "fabs" if precision == "double" else "fabsf", "PL_STILL": "1e-3f", "PL_WINDOW": "5"}
    head = f"#include <math.h>\n#include <stdint.h>\n#include <string.h>\ntypedef {precision} pl_real;\n"
    parts = [head, helpers(precision), fixed("rest.h", names), fixed("look.h", names)]
    calls = """int choices(double a, double b) {
    const int nan = !(pl_select(1, (pl_real)a, (pl_real)NAN) == (pl_real)a);
    return 1000 * nan + 100 * (pl_min((pl_real)a, (pl_real)b) == (pl_real)fmin(a, b))
           + 10 * (pl_max((pl_real)a, (pl_real)b) == (pl_real)fmax(a, b)) + (int)pl_sign((pl_real)a);
}
double rest(double before, double after, double level, int crossed) {
    int32_t left = crossed;
    return pl_rest((pl_real)before, (pl_real)after, (pl_real)(after - before), (pl_real)level, &left) + 100 * left;
}
int outside(double value) {
    const pl_real v[] = {0, (pl_real)value}, middle[] = {0, 1}, per_half[] = {1, 2};
    pl_real share = 1;
    int32_t number = -1;
    look_at(v, 2, middle, per_half, &share, &number);
    return number;
}
"""
    flags = (*STEP_FLAGS, "-Wall", "-Wextra", "-Werror")
    library = load_text("\n".join([*parts, calls]), "fixed_text", flags=flags).library
    library.choices.argtypes = [ctypes.c_double] * 2
    library.outside.argtypes = [ctypes.c_double]
    library.rest.argtypes, library.rest.restype = [*[ctypes.c_double] * 3, ctypes.c_int], ctypes.c_double
    assert [library.choices(a, b) for a, b in ((1.0, 2.0), (-3.0, 0.5), (0.0, -1.0))] == [111, 109, 110]
    assert library.rest(1.0, -1.0, 0.0, 0) == 100 * 5 - 1.0  # crossed: it may rest for five steps
    assert library.rest(1.0, 1.0, 0.5, 2) == 100 * 1 + 0.5  # it does not move, and was crossed before: it rests
    assert library.rest(1.0, 1.0, 0.5, 0) == 1.0
    assert [library.outside(value) for value in (1.4, 1.6, 0.2)] == [-1, 1, 1]


# ---------------------------------------------------------------------------------------------- a step, four times

PLAIN = """model Plain
  parameter Real k = 40, d = 3;
  input Real u(start = 1), w;
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), q(start = 0.2, fixed = true);
  output Real y = k*x + u, s = sin(50*time) + v;
equation
  der(x) = v; der(v) = -k*x - d*v*abs(v) + u + q; der(q) = max(w, 0.1) - 500*q + exp(-x*x)*cos(20*time);
end Plain;"""

LOOPS = """model Loops
  parameter Real a = 2, b = 3;
  input Real u(start = 0.5);
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), p, q, z(start = 0.3);
  output Real y = z + p;
equation
  der(x) = v - 0.1*z; der(v) = -p - q*x + u;
  a*p + q*x = v + u; b*q - p = sin(x);
  z + z^3 = a*x + u;
end Loops;"""

SAMPLED = """model Sampled
  parameter Real k = 2;
  input Real load;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true), w(start = 0, fixed = true);
  discrete Real u(start = 0, fixed = true), i(start = 0, fixed = true), slow(start = k, fixed = true);
  Integer n(start = 0, fixed = true);
  output Real y = x + slow;
equation
  der(x) = v; der(v) = -100*x - 20*v + 100*w - load; der(w) = 500*(u - w);
  when sample(0, 0.01) then i = pre(i) + 0.01*k*(1 - x); u = i + k*(1 - x) - 0.1*pre(slow); end when;
  when sample(0.025, 0.05) then slow = 0.1*x + 0.5*pre(slow) + load; end when;
  when initial() then n = 3; end when;
  when x > 0.5 then reinit(v, 0.5*pre(v)); end when;
end Sampled;"""

SWITCHES = """model Switches
  parameter Real r = 20;
  input Real e(start = 10);
  Real i(start = 0, fixed = true), v(start = 0, fixed = true), u1, u2, s1, s2, vx, i1, i2;
  Boolean off1, off2;
  output Real y = if off1 then v else i;
equation
  off1 = s1 < 0; off2 = s2 < 0;
  u1 = s1*(if off1 then 1 else 1e-3); i1 = s1*(if off1 then 1e-4 else 1);
  u2 = s2*(if off2 then 1 else 1e-3); i2 = s2*(if off2 then 1e-4 else 1);
  1e-3*der(i) = e*sin(314*time) - i - vx;
  i = i1 - i2; u1 = vx - v; u2 = -vx;
  1e-3*der(v) = i1 - v/r;
end Switches;"""

SLIDING = """model Sliding
  parameter Real f = 2;
  input Real push(start = 3);
  Real x(start = 0, fixed = true), v(start = 1, fixed = true);
  output Real y = v;
equation
  der(x) = v; der(v) = push*sin(5*time) - 30*x - (if v > 0 then f else if v < 0 then -f else 0);
end Sliding;"""

TABLE = """model Curve
  parameter Real g = 0.1;
  input Real u;
  Modelica.Blocks.Tables.CombiTable1Ds t1(table = [0, 0; 1, 2; 1.5, -1; 4, 3; 6, 1]);
  Modelica.Blocks.Sources.CombiTimeTable t2(table = [0, 0; 0.05, 2; 0.1, -1; 4, 3]);
  Real x(start = 0.2, fixed = true);
  output Real y = t1.y[1];
equation
  t1.u = 5*sin(x) + x + u; der(x) = 1 + g*t1.y[1] + t2.y[1];
end Curve;"""

MODELS = {
    "plain": PLAIN,
    "loops": LOOPS,
    "sampled": SAMPLED,
    "switches": SWITCHES,
    "sliding": SLIDING,
    "table": pytest.param("table", TABLE, marks=needs_msl),
}
HOW: tuple[dict[str, Any], ...] = (
    {},
    {"order": 2, "precision": "float", "part": 12},
    {"style": "tables", "precision": "float", "part": 12},
    {"style": "tables", "order": 2},
    {"order": 2, "relation_passes": 1, "event_rounds": 2},
)


def four_starts(code: Any, p: np.ndarray, n_steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters, x and inputs that are different in each lane."""
    random = np.random.default_rng(7)
    p = p * random.uniform(0.8, 1.25, p.shape)
    x = np.asarray(code.start.x) + 0.1 * random.normal(size=(LANES, code.n_x))
    u = np.asarray(code.u_start) + random.normal(size=(n_steps, LANES, len(code.u_names)))
    return p.astype(np.float32).astype(float), x, u


@pytest.mark.parametrize("how", HOW, ids=lambda how: "-".join(f"{k}={v}" for k, v in how.items()) or "usual")
@pytest.mark.parametrize(
    ("name", "source"), [one if not isinstance(one, str) else (name, one) for name, one in MODELS.items()]
)
def test_four_steppers_side_by_side_give_the_numbers_of_four_alone(name: str, source: str, how: dict[str, Any]) -> None:
    n_steps, case = 150, Case(source, 1e-3)
    options = StepperOptions(**how)
    given = (case.sorted, case.form, case.tau, case.elimination(), options, case.start)
    alone, four = make_stepper(*given), Four(make_stepper(*given, layout=StepLanes))
    assert (alone.tears != (), alone.relations != ()) == (name == "loops", name == "switches")
    p, x, u = four_starts(alone, four.default_parameters(), n_steps)
    four.start(p, u[0], x)
    found, y = four.run(u), four.outputs(u[-1])
    for lane in range(LANES):
        one = Stepper(alone, dict(zip(alone.p_names, p[lane].tolist(), strict=True)))
        one.reset(x[lane], u[0, lane])
        history = one.run(u[:, lane], n_steps)
        assert np.isfinite(history).all()
        assert np.array_equal(found[:, lane], history)
        assert np.array_equal(y[lane], one.outputs(u[-1, lane]))
    assert len({tuple(row) for row in found[-1].tolist()}) == LANES


def test_the_stated_size_of_an_instance_is_that_of_the_struct() -> None:
    for source, how in ((SWITCHES, {}), (LOOPS, {"order": 2}), (SAMPLED, {"precision": "float"}), (SLIDING, {})):
        for monitor in (False, True):
            code = Case(source, 1e-3).code(**how, monitor=monitor)
            assert code.memory["instance"] == Stepper(code).instance_size
    code = Case(SLIDING.replace("input Real push(start = 3)", "constant Real push = 3"), 1e-3).code(order=2)
    assert code.memory["instance"] == Stepper(code).instance_size


# ---------------------------------------------------------------------------------------------- functions for a solver

STIFF = """model Stiff
  parameter Real a = 2, b = 3, c[6] = {1, 2, 3, 4, 5, 6};
  input Real u(start = 0.5);
  Real x[6](each start = 0.2, each fixed = true), p, q, r, z(start = 0.3);
  output Real y = z + p;
  discrete Real d(start = 1, fixed = true);
equation
  for k in 1:6 loop
    der(x[k]) = -c[k]*x[k] + sin(a*x[mod(k, 6) + 1]) + z*u + (if x[1] > 0.5 then q else r) + d;
  end for;
  a*p + q*x[1] = x[2] + r; b*q - r = sin(x[3]) + u*p; p + q + 3*r = x[4]*a;
  z + z^3 = x[5] + exp(-x[6]^2)/b;
  when x[2] > 0.7 then d = pre(d) + 1; end when;
end Stiff;"""

LONG = """model Long
  parameter Real a = 2;
  input Real u;
  Real x[290](each start = 0.2), y[290], w[290];
equation
  for k in 1:290 loop
    y[k] = sin(x[k]*a + u); w[k] = y[k]*y[mod(7*k, 290) + 1];
    der(x[k]) = -k*x[k] + exp(-w[k])*w[mod(11*k, 290) + 1];
  end for;
end Long;"""


@pytest.mark.parametrize("form", ["auto", "dae"])
@pytest.mark.parametrize("source", [PLAIN, LOOPS, STIFF, LONG], ids=["plain", "loops", "stiff", "long"])
def test_functions_of_four_instances_side_by_side_give_the_numbers_of_one(source: str, form: str) -> None:
    s = sorted_model(source, None, None, (), StructureOptions())
    one, four = Functions(s, form, Layout()), Functions(s, form, Lanes())
    assert one.core in generate(s, form).text
    random = np.random.default_rng(3)
    sizes = {name: one.sizes[name] for name in ("x", "u", "p", "d")}
    t = random.uniform(0.0, 1.0, LANES)
    given = {name: random.uniform(0.3, 1.0, (LANES, n)) for name, n in sizes.items()}
    found = four.evaluate(t, given)
    for lane in range(LANES):
        alone = one.evaluate(t[lane : lane + 1], {name: rows[lane : lane + 1] for name, rows in given.items()})
        for name, row in alone.items():
            assert np.isfinite(row).all()
            assert np.array_equal(found[name][lane], row[0]), name
    assert len({tuple(row) for row in found["f"].tolist()}) == LANES
