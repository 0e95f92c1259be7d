"""Models of the Modelica Standard Library as a whole (only where MODELICAPATH names it)."""

from __future__ import annotations

import numpy as np
import pytest
from test_frontend_support import needs_msl

import pliant
from pliant.errors import ModelError
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Kind, Op, System

MULTIBODY = "Modelica.Mechanics.MultiBody.Examples."


def system_of(name: str) -> System:
    return scalarize(read("\n", name))


def is_square(system: System) -> bool:
    return len(system.equations) == sum(v.kind == Kind.UNKNOWN for v in system.variables)


@needs_msl
def test_double_pendulum() -> None:
    system = system_of(f"{MULTIBODY}Elementary.DoublePendulum")
    assert is_square(system)
    assert len(system.equations) == 1245
    assert system.refusals == []
    names = [f.name.rpartition(".")[2] for f in system.functions]
    assert names == ["resolve2", "resolve2_der", "resolve1", "resolve1_der"]
    assert all(f.n_args == 15 and f.differentiated == (12, 13, 14) for f in system.functions[::2])


@needs_msl
def test_full_robot_runs() -> None:
    """Friction, tables, clocks of its controllers, terminate; its axes begin to follow the path."""
    name = f"{MULTIBODY}Systems.RobotR3.FullRobot"
    system = system_of(name)
    assert is_square(system)
    assert len(system.initial_equations) == 36
    assert len(system.tables) == 6
    assert system.refusals == []
    reached = {node[1] for node in system.graph.nodes if node[0] == Op.REL}
    assert set(range(len(system.relations))) <= reached
    result = pliant.load("\n", name=name).simulate(stop=0.5)
    for axis in range(1, 7):
        assert np.ptp(result[f"mechanics.q[{axis}]"]) > 1e-3


@needs_msl
def test_diodes_need_no_memory() -> None:
    system = system_of("Modelica.Electrical.Analog.Examples.Rectifier")
    assert is_square(system)
    assert system.refusals == []
    assert len(system.relations) == 9


@needs_msl
def test_a_class_that_is_not_there() -> None:
    with pytest.raises(ModelError, match=r"no class `Modelica.Blocks.NoSuch`"):
        read("\n", "Modelica.Blocks.NoSuch")


@needs_msl
@pytest.mark.parametrize("name", ["Interaction1", "LogicalNetwork1"])
def test_parameters_that_are_sizes_of_discrete_variables(name: str) -> None:
    """nReset = size(reset, 1) of buttons and steps."""
    assert pliant.load("\n", name=f"Modelica.Blocks.Examples.{name}").simulate(stop=5).complete


@needs_msl
@pytest.mark.parametrize("name", ["FirstExample", "ControlledTanks"])
def test_state_graphs(name: str) -> None:
    """`inner outer` states of composite steps; steps that are active at the start by an initial equation."""
    result = pliant.load("\n", name=f"Modelica.StateGraph.Examples.{name}").simulate(stop=20)
    assert result.complete
    assert len(result.events) > 3
