"""Interpolation tables: against scipy where it has the method, against values computed by hand elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator, PchipInterpolator
from test_frontend_support import needs_msl

import pliant
from pliant.errors import ModelError, NotSupportedError
from pliant.expr.evaluate import table_value
from pliant.frontend.flat.model import FlatTable
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.frontend.scalar.tables import (
    AKIMA,
    CONSTANT,
    FRITSCH_BUTLAND,
    HOLD,
    LAST_TWO,
    LINEAR,
    MAKIMA,
    NONE,
    PERIODIC,
    STEFFEN,
    interpolate,
    make_table,
)
from pliant.ir import Table

X = [0.0, 1.0, 1.5, 3.0, 4.0, 6.0, 7.0]
Y = [1.0, 3.0, 3.0, -1.0, 0.0, 0.5, 4.0]
INSIDE = np.linspace(0.0, 7.0, 57)


def at(table: Table, u: float, order: int = 0) -> float:
    return table_value(table, order, u)


@pytest.mark.parametrize("how", [AKIMA, MAKIMA, FRITSCH_BUTLAND, STEFFEN, LINEAR])
@pytest.mark.parametrize("extrapolation", [HOLD, LAST_TWO, PERIODIC, NONE])
def test_tables_go_through_their_points_and_are_continuous(how: int, extrapolation: int) -> None:
    table = interpolate("t", X, Y, how, extrapolation)
    inner = zip(X[1:-1], Y[1:-1], strict=True)
    assert [at(table, x) for x in X[:-1]] == pytest.approx(Y[:-1])
    for x, y in inner:
        assert at(table, x - 1e-9) == pytest.approx(y, abs=1e-7)
        if how != LINEAR:
            assert at(table, x - 1e-9, 1) == pytest.approx(at(table, x + 1e-9, 1), abs=1e-6)
    assert table.smooth == (0 if how == LINEAR else 1)


def test_akima() -> None:
    table, peer = interpolate("t", X, Y, AKIMA, HOLD), Akima1DInterpolator(X, Y)
    assert [at(table, u) for u in INSIDE] == pytest.approx(list(peer(INSIDE)))


def test_modified_akima() -> None:
    table, peer = interpolate("t", X, Y, MAKIMA, HOLD), Akima1DInterpolator(X, Y, method="makima")
    assert [at(table, u) for u in INSIDE] == pytest.approx(list(peer(INSIDE)))


def test_fritsch_butland() -> None:
    table, peer = interpolate("t", X, Y, FRITSCH_BUTLAND, HOLD), PchipInterpolator(X, Y)
    assert [at(table, u) for u in INSIDE] == pytest.approx(list(peer(INSIDE)))


def test_steffen_by_hand_and_without_overshoot() -> None:
    table = interpolate("t", [0.0, 1.0, 3.0], [0.0, 1.0, 2.0], STEFFEN, HOLD)
    # secants 1 and 1/2; p = (1*2 + 0.5*1)/3 = 5/6, at most twice the smaller secant: slope 5/6
    assert at(table, 1.0, 1) == pytest.approx(5 / 6)
    assert at(table, 0.0, 1) == pytest.approx(1 * (1 + 1 / 3) - 0.5 / 3)
    table = interpolate("t", X, Y, STEFFEN, HOLD)
    for a, b, ya, yb in zip(X, X[1:], Y, Y[1:], strict=False):
        values = [at(table, u) for u in np.linspace(a, b, 20)]
        assert min(ya, yb) - 1e-12 <= min(values)
        assert max(values) <= max(ya, yb) + 1e-12


def test_extrapolation() -> None:
    linear = interpolate("t", [0.0, 1.0, 2.0], [0.0, 1.0, 3.0], LINEAR, LAST_TWO)
    assert [at(linear, u) for u in (-1.0, 3.0)] == [-1.0, 5.0]
    hold = interpolate("t", [0.0, 1.0, 2.0], [0.0, 1.0, 3.0], AKIMA, HOLD)
    assert [at(hold, u) for u in (-1.0, 3.0)] == [0.0, 3.0]
    smooth = interpolate("t", X, Y, AKIMA, LAST_TWO)
    inner = interpolate("t", X, Y, AKIMA, HOLD)
    for u in (-3.0, -0.5):
        assert at(smooth, u) == pytest.approx(Y[0] + u * at(inner, 0.0, 1))
    assert at(smooth, 9.0) == pytest.approx(Y[-1] + 2 * at(inner, 7.0 - 1e-12, 1))
    assert [at(smooth, u) for u in INSIDE] == pytest.approx([at(inner, u) for u in INSIDE])
    periodic = interpolate("t", [0.0, 1.0, 2.0], [0.0, 1.0, 0.0], LINEAR, PERIODIC)
    assert [at(periodic, u) for u in (2.5, -0.5, 4.25)] == [0.5, 0.5, 0.25]
    assert interpolate("t", X, Y, LINEAR, NONE).extrapolation == "error"


def test_periodic_splines_join_smoothly() -> None:
    for how in (AKIMA, MAKIMA, FRITSCH_BUTLAND, STEFFEN):
        table = interpolate("t", X, [*Y[:-1], Y[0]], how, PERIODIC)
        assert at(table, 7.0 - 1e-9, 1) == pytest.approx(at(table, 1e-9, 1), abs=1e-6)


def test_constant_segments_and_jumps() -> None:
    steps = interpolate("t", [0.0, 1.0, 2.0], [5.0, 6.0, 8.0], CONSTANT, HOLD)
    assert [at(steps, u) for u in (-1.0, 0.5, 1.0, 1.5, 2.0, 9.0)] == [5.0, 5.0, 6.0, 6.0, 8.0, 8.0]
    assert steps.smooth == -1
    jump = interpolate("t", [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 6.0], LINEAR, HOLD)
    assert [at(jump, u) for u in (0.5, 0.999999, 1.0, 1.5)] == pytest.approx([0.5, 1.0, 5.0, 5.5], abs=1e-5)
    assert jump.smooth == -1
    ends = interpolate("t", [0.0, 0.0, 2.0, 2.0], [1.0, 2.0, 3.0, 9.0], LINEAR, HOLD)
    assert [at(ends, u) for u in (-5.0, -0.1, 0.0, 1.0, 2.0, 7.0)] == pytest.approx([1, 1, 2, 2.5, 9, 9])


def test_small_tables() -> None:
    assert at(interpolate("t", [2.0], [7.0], AKIMA, LAST_TWO), 100.0) == 7.0
    two = interpolate("t", [0.0, 2.0], [1.0, 5.0], STEFFEN, LAST_TWO)
    assert [at(two, u) for u in (-1.0, 1.0, 3.0)] == [-1.0, 3.0, 7.0]


def test_wrong_tables() -> None:
    table = FlatTable(((0.0, 1.0), (1.0, 2.0)), (2,), LINEAR, HOLD)
    with pytest.raises(ModelError, match="column 2"):
        make_table("t", table, 2)
    with pytest.raises(ModelError, match="decreases"):
        make_table("t", replace(table, rows=((1.0, 1.0), (0.0, 2.0))), 1)
    with pytest.raises(ModelError, match="empty"):
        make_table("t", replace(table, rows=()), 1)
    with pytest.raises(NotSupportedError, match="smoothness 9"):
        make_table("t", replace(table, smoothness=9), 1)


TABLES = """model M
  Modelica.Blocks.Sources.CombiTimeTable t(table = [0, 1, 10; 1, 3, 20; 2, -1, 5], columns = {2, 3}, startTime = 0.5,
    offset = {100}, timeScale = 2, shiftTime = 0.25,
    extrapolation = Modelica.Blocks.Types.Extrapolation.LastTwoPoints);
  Modelica.Blocks.Tables.CombiTable1Ds c(table = [0, 1; 1, 3; 2, -1; 4, 0],
    smoothness = Modelica.Blocks.Types.Smoothness.ContinuousDerivative,
    extrapolation = Modelica.Blocks.Types.Extrapolation.HoldLastPoint);
  Real y1 = t.y[1], y2 = t.y[2], z = c.y[1];
equation
  c.u = time;
end M;
"""


@needs_msl
def test_tables_of_the_standard_library() -> None:
    system = scalarize(read(TABLES))
    assert system.refusals == []
    assert len(system.tables) == 4  # one of them holds the times of t's events
    assert system.fixed_parameters["t.table[1,1]"] == "it decides data of a table"
    assert "t.columns[1]" in system.fixed_parameters
    model, at = pliant.load(TABLES), [0.4, 1.25, 1.7, 5.0, 9.0]
    found = model.simulate(stop=10, points=at)
    assert [found["y1"][0], found["y2"][0]] == [100.0, 100.0]  # before startTime: the offset alone
    # the table's time is (1.25 - 0.25)/2 = 0.5
    assert [found["y1"][1], found["y2"][1]] == pytest.approx([102.0, 115.0])
    assert found["y1"][3] == pytest.approx(100 + 3 - 4 * (4.75 / 2 - 1))
    peer = Akima1DInterpolator([0, 1, 2, 4], [1, 3, -1, 0])
    assert found["z"][2] == pytest.approx(float(peer(1.7)))
    assert found["z"][4] == pytest.approx(0.0, abs=1e-9)
    moved = model.simulate(stop=2, points=at[:2], parameters={"t.shiftTime": 0.75})
    assert moved["y1"][1] == pytest.approx(101.5)


def test_a_table_that_is_one_jump() -> None:
    table = interpolate("t", [700.0, 700.0], [0.0, 1.0], CONSTANT, HOLD)
    assert [at(table, u) for u in (0.0, 699.0, 700.0, 701.0, 900.0)] == [0.0, 0.0, 1.0, 1.0, 1.0]
