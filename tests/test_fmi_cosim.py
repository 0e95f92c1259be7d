"""Co-simulation FMUs: communication points, inputs, events, early return, failures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from support_fmus import CS, GOOD, fmu
from support_hostile import register

import pliant

VERSIONS = ["2.0", "3.0"]


@contextmanager
def loaded(name: str, version: str = "2.0", strict: bool = True) -> Iterator[pliant.Model]:
    """In the build that refuses every call that the standard does not allow."""
    with pliant.load(fmu(name, version, strict=strict), kind="co-simulation") as model:
        yield model


@pytest.mark.parametrize(
    ("name", "version"),
    [(name, version) for name, recipe in GOOD.items() if CS in recipe.kinds for version in recipe.versions],
)
def test_every_fmu_runs_by_the_standard(name: str, version: str) -> None:
    with loaded(name, version) as model:
        result = model.simulate(stop=1.0, step=0.125)
    assert result.time[-1] == 1.0
    assert result.stats.method == "co-simulation"
    assert not [entry for entry in result.log if "breach" in entry[3]]


@pytest.mark.parametrize("version", VERSIONS)
def test_rows_are_communication_points(version: str) -> None:
    with loaded("vanderpol", version) as model:
        every = model.simulate(stop=1.0, step=0.1, points=None)
        usual = model.simulate(stop=1.0, step=0.1)
        few = model.simulate(stop=1.0, step=0.1, points=3)
        one = model.simulate(stop=1.0, step=0.3, points=None)
    assert np.array_equal(every.time, [*(k * 0.1 for k in range(10)), 1.0])
    assert np.array_equal(usual.time, every.time)
    assert np.array_equal(few.time, [0.0, 0.5, 1.0])
    assert np.array_equal(few["x0"], every["x0"][::5])
    assert np.allclose(one.time, [0.0, 0.3, 0.6, 0.9, 1.0])
    assert every.stats.n_steps == 10
    assert list(every.steps["method"]) == ["co-simulation"] * 10


def test_between_communication_points_values_are_interpolated_or_held() -> None:
    with loaded("strict") as model:
        grid = model.simulate(stop=1.0, step=0.25, points=None)
        between = model.simulate(stop=1.0, step=0.25, points=[0.0, 0.1, 0.25, 0.6, 1.0])
    for name in grid.names:
        if model.variables[name].type == "real" and name in ("x", "der(x)"):
            expected = np.interp(between.time, grid.time, grid[name])
            assert np.allclose(between[name], expected, rtol=1e-14), name
    assert np.array_equal(between.time, [0.0, 0.1, 0.25, 0.6, 1.0])


@pytest.mark.parametrize("version", VERSIONS)
def test_discrete_inputs_and_outputs_at_a_jump(version: str) -> None:
    """A step is cut at a jump. Inputs set there may be read after the next step only, says the standard."""
    with loaded("filter", version) as model:
        inputs = {"u": 2.0, "on": ([0.0, 0.5], [True, False]), "gain": 3}
        result = model.simulate(stop=1.0, step=0.2, points=None, inputs=inputs)
    assert 0.5 in result.time
    peak = 6.0 * (1.0 - math.exp(-1.0))
    at = list(result.time).index(0.5)
    assert result["x"][at] == pytest.approx(peak, rel=0.05)  # its own solver has fixed steps
    after = math.exp(-1.0) * result["x"][at]
    assert result.final["x"] == pytest.approx(after, rel=0.05)
    assert result["y"] == pytest.approx(result["x"] + 2.0, rel=1e-12)
    assert np.array_equal(result["on"], result.time < 0.5)


def test_derivatives_of_inputs() -> None:
    """y' = u with u = t from a table: exact with the first derivative, off by half a step without."""
    with loaded("integrator") as model:
        result = model.simulate(stop=4.0, step=1.0, points=None, inputs={"u": ([0.0, 4.0], [0.0, 4.0])})
    assert result["y"] == pytest.approx(result.time**2 / 2.0, abs=1e-9)


def test_early_return_event_mode_and_intermediate_update() -> None:
    """x' = u with u = 1, which falls to 0 at 1."""
    with loaded("sawtooth", "3.0") as model:
        result = model.simulate(stop=3.5, step=0.4, points=None)
        moving = model.simulate(stop=0.75, step=0.25, points=None, inputs={"u": ([0.0, 1.0], [0.0, 2.0])})
    assert result.final["falls"] == 3
    assert result.final["x"] == pytest.approx(0.5, abs=1e-2)
    assert len(result.events) == 3
    assert [event.time for event in result.events] == pytest.approx([1.0, 2.0, 3.0], abs=1e-2)
    assert moving.final["x"] == pytest.approx(0.75**2, abs=1e-2)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_fmu_that_ends_the_simulation(version: str) -> None:
    with loaded("stair", version) as model:
        result = model.simulate(stop=20.0, step=0.5, points=None)
    assert result.final["counter"] == 10
    assert result.time[-1] == pytest.approx(9.0)
    assert result.events[-1].terminal
    assert result.complete


def test_default_experiment_parameters_and_runs_again() -> None:
    with loaded("vanderpol") as model:
        first = model.simulate()
        assert first.time[-1] == model.fmu.default_experiment.stop
        other = model.simulate(stop=1.0, parameters={"mu": 3.0}, start_values={"x0": 1.0})
        again = model.simulate()
        assert np.array_equal(first["x0"], again["x0"])
        assert other["x0"][0] == 1.0
        assert other.final["x1"] != pytest.approx(first["x1"][len(other.time) - 1])


def test_what_only_equations_allow_is_refused() -> None:
    with loaded("vanderpol") as model:
        for call in (model.linearize, model.jacobian, model.check_jacobian, model.steady_state):
            with pytest.raises(pliant.NotSupportedError, match="model-exchange"):
                call()
        with pytest.raises(pliant.ArgumentError, match="solves itself"):
            model.simulate(stop=1.0, method="bdf")
        for step in (0.0, -1.0, math.nan):
            with pytest.raises(pliant.ArgumentError, match="step"):
                model.simulate(stop=1.0, step=step)


@pytest.mark.parametrize("one", [one for one in register() if one.kind == CS], ids=lambda one: one.name)
def test_hostile(one: object, tmp_path: Path) -> None:
    with (
        pytest.raises(pliant.PliantError) as caught,
        pliant.load(one.make(), kind=one.kind, options={**dict(one.options), "call_timeout": 1.0}) as model,
    ):
        model.simulate(stop=1.0)
    assert {kind.__name__ for kind in type(caught.value).__mro__} & set(one.error)
    if one.call and isinstance(caught.value, (pliant.FmuCrashError, pliant.FmuTimeoutError)):
        assert caught.value.call == one.call
