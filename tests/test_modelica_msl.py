"""Examples of the Modelica Standard Library: flat equations hold, and rumoca's own simulation ends at the same values.

Skipped unless MODELICAPATH is set. Nothing of the library is in this repository.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from support_modelica import check_equations
from test_frontend_support import needs_msl

import pliant
from pliant.codegen.emit import generate
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.structure.pipeline import sort_system

TOP = "model Top\nend Top;\n"

CONVERTERS = "Modelica.Electrical.PowerConverters.Examples"

# class, stop time, states, whether rumoca simulates it
EXAMPLES = [
    ("Modelica.Mechanics.Rotational.Examples.First", 1.0, 4, True),
    ("Modelica.Mechanics.Rotational.Examples.FirstGrounded", 1.0, 4, True),
    ("Modelica.Electrical.Analog.Examples.CauerLowPassAnalog", 60.0, 5, True),
    ("Modelica.Electrical.Analog.Examples.ChuaCircuit", 5000.0, 3, False),  # chaotic
    ("Modelica.Thermal.HeatTransfer.Examples.TwoMasses", 1.0, 2, True),
    ("Modelica.Mechanics.MultiBody.Examples.Elementary.DoublePendulum", 1.0, 4, True),
    ("Modelica.Mechanics.MultiBody.Examples.Loops.Fourbar2", 0.5, 2, False),
    ("Modelica.Mechanics.MultiBody.Examples.Loops.Fourbar1", 0.3, 2, False),
    ("Modelica.Mechanics.MultiBody.Examples.Loops.PlanarFourbar", 0.3, 2, False),
    ("Modelica.Mechanics.MultiBody.Examples.Loops.Engine1a", 0.3, 2, False),
    # discrete memory
    ("Modelica.Electrical.Analog.Examples.Rectifier", 0.1, 4, True),
    ("Modelica.Electrical.Analog.Examples.IdealTriacCircuit", 2.0, 1, True),
    ("Modelica.Electrical.Analog.Examples.CharacteristicThyristors", 5.9, 0, True),
    ("Modelica.Electrical.PowerConverters.Examples.DCDC.ChopperStepDown.ChopperStepDown_R", 0.0995, 4, True),
    (
        "Modelica.Electrical.PowerConverters.Examples.ACDC.RectifierBridge2Pulse.ThyristorBridge2Pulse_R",
        0.0983,
        3,
        True,
    ),
    ("Modelica.Thermal.HeatTransfer.Examples.ControlledTemperature", 10.0, 1, True),
    ("Modelica.Blocks.Examples.LogicalNetwork1", 9.5, 0, True),
    ("Modelica.Blocks.Examples.ShowLogicalSources", 0.95, 0, True),
    ("Modelica.StateGraph.Examples.FirstExample", 4.5, 0, True),
    ("Modelica.Clocked.Examples.SimpleControlledDrive.ClockedWithDiscreteTextbookController", 5.0, 2, True),
    ("Modelica.Mechanics.Rotational.Examples.Backlash", 1.0, 6, False),  # impacts: every error grows
    ("Modelica.Mechanics.Translational.Examples.ElastoGap", 1.5, 4, True),
]


def peer(name: str, stop: float) -> dict[str, float]:
    """End values of rumoca's simulation."""
    import rumoca

    session = rumoca.Session(roots=[os.environ["MODELICAPATH"]])
    loaded = session.loads(f"model P\n  extends {name};\nend P;\n", model="P", filename="P.mo")
    run = loaded.simulate(t=stop, config=rumoca.SimConfig(rtol=1e-8, atol=1e-10))
    return {column: float(np.asarray(run[column])[-1]) for column in run.names}


@needs_msl
@pytest.mark.parametrize(("name", "stop", "n_states", "compare"), EXAMPLES, ids=[one[0][9:] for one in EXAMPLES])
def test_example(name: str, stop: float, n_states: int, compare: bool) -> None:
    model = pliant.load(TOP, name=name)
    assert model.structure.n_states == n_states
    result = model.simulate(stop=stop, rtol=1e-8)
    check_equations(scalarize(read(TOP, name, None), fold_parameters=False), result, 1e-6)
    if not compare:
        return
    ends = peer(name, stop)
    common = [column for column in ends if column in result]
    assert len(common) > 10
    for column in common:
        size = max(1e-3 * np.abs(result[column]).max(), abs(ends[column]), 1e-6)
        assert abs(result[column][-1] - ends[column]) <= 1e-4 * size + 1e-8, column


TABLES = """model T
  Modelica.Blocks.Tables.CombiTable1Ds linear(table = [0, 0; 1, 2; 3, 2; 4, -1],
    smoothness = Modelica.Blocks.Types.Smoothness.LinearSegments);
  Modelica.Blocks.Tables.CombiTable1Ds spline(table = [0, 0; 1, 2; 3, 2; 4, -1],
    smoothness = Modelica.Blocks.Types.Smoothness.ContinuousDerivative);
  Modelica.Blocks.Sources.CombiTimeTable source(table = [0, 1; 1, 3; 2, 0],
    extrapolation = Modelica.Blocks.Types.Extrapolation.HoldLastPoint);
  Real x(start = 0, fixed = true), y;
equation
  der(x) = linear.y[1]; linear.u = 2*time; spline.u = 2*time; y = der(spline.y[1]);
end T;
"""


@needs_msl
def test_tables() -> None:
    result = pliant.load(TABLES).simulate(stop=2, rtol=1e-9, points=401)
    t = result.time
    u = 2 * t
    assert result["linear.y[1]"] == pytest.approx(np.interp(u, [0, 1, 3, 4], [0, 2, 2, -1]), abs=1e-9)
    assert result["source.y[1]"] == pytest.approx(np.interp(t, [0, 1, 2], [1, 3, 0]), abs=1e-9)
    at_knots = [int(np.argmin(np.abs(u - knot))) for knot in (0, 1, 3, 4)]
    assert result["spline.y[1]"][at_knots] == pytest.approx([0, 2, 2, -1], abs=1e-9)
    slope = np.gradient(result["spline.y[1]"], t)
    assert result["y"][5:-5] == pytest.approx(slope[5:-5], abs=0.05)
    exact = np.trapezoid(np.interp(u, [0, 1, 3, 4], [0, 2, 2, -1]), t)
    assert result["x"][-1] == pytest.approx(exact, abs=1e-4)


@needs_msl
@pytest.mark.parametrize(
    ("name", "ours", "reference"),
    [
        ("Constraints.UniversalConstraint", "bodyOfConstraint.frame_b.r_0[{}]", "bodyOfJoint.frame_b.r_0[{}]"),
        ("Constraints.PrismaticConstraint", "bodyOfConstraint.r_0[{}]", "bodyOfJoint.r_0[{}]"),
        ("Elementary.PointGravityWithPointMasses2", "pointMass{}.r_0[1]", "referenceSystem.pointMass{}.r_0[1]"),
    ],
)
def test_models_that_contain_their_own_reference(name: str, ours: str, reference: str) -> None:
    """The same motion, once by constraints or point masses, once by joints or bodies."""
    result = pliant.load(TOP, name=f"Modelica.Mechanics.MultiBody.Examples.{name}").simulate(stop=2, rtol=1e-8)
    for k in (1, 2, 3):
        assert result[ours.format(k)] == pytest.approx(result[reference.format(k)], abs=1e-5)
        assert np.ptp(result[ours.format(k)]) > 1e-3


@needs_msl
def test_the_text_of_the_full_robot_stays_small() -> None:
    """It compiles in 5 s at -O2; what grows here is felt by every user of large models."""
    name = "Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.FullRobot"
    generated = generate(sort_system(scalarize(read("\n", name))))
    functions = generated.text.split("\nstatic ")
    ahead = sum(len(one) for one in functions if "pl_status relation_range_" in one[:60])
    assert len(generated.text) <= 1_140_000
    assert generated.text.count("\n") <= 13_300
    assert ahead <= 50_000
