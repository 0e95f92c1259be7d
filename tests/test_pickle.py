"""Everything that pliant hands back can be pickled and copied, and works as before afterwards."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from collections.abc import Callable
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import pliant
from pliant import errors

PLANT = """
model Plant
  parameter Real k = 1000;
  parameter Real size = 2;
  input Real u(start = 0.5);
  Real a(start = 1, fixed = true, nominal = size), b(start = 0, fixed = true), level(start = 0, fixed = true);
  output Real y = 2*a + u;
  discrete Real n(start = 0, fixed = true);
equation
  der(a) = -k*(a - b);
  der(b) = k*(a - b) - 500*(b - sin(time));
  der(level) = 1e-3*a - 0.1*level + u;
  when sample(0, 0.1) then
    n = pre(n) + 1;
  end when;
end Plant;
"""
PART = """
model Part
  input Real u;
  output Real y(start = 1, fixed = true);
equation
  der(y) = u - 2*y;
end Part;
"""
NATIVE = """
#include <math.h>
#include "pliant.h"
static int rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
  (void)self, (void)u;
  f[0] = x[1] + sin(t);
  f[1] = -SIZE * x[0];
  return PL_OK;
}
static const pl_real start[] = {1.0, 0.0};
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 2, .x_start = start, .rhs = rhs};
"""


def pendulum(t: float, x: Any) -> list[float]:
    return [x[1], -9.81 * float(np.sin(x[0]))]


def falling(t: float, x: Any) -> float:
    return float(x[0])


@cache
def plant() -> pliant.Model:
    return pliant.load(PLANT)


@cache
def run() -> pliant.Result:
    return plant().simulate(stop=1)


@cache
def plan() -> pliant.Plan:
    return plant().realtime(step=0.01, stop=1)


@cache
def coupling() -> pliant.Coupling:
    whole = pliant.Coupling()
    for name in "ab":
        whole.add(name, pliant.load(PART))
    whole.connect("a.y", "b.u")
    whole.connect("b.y", "a.u")
    return whole


THINGS: dict[str, Callable[[], Any]] = {
    "Model": plant,
    "ode": lambda: pliant.ode(pendulum, [1.0, 0.0], roots=pliant.Root(falling)),
    "Result": run,
    "Stats": lambda: run().stats,
    "Event": lambda: run().events[0],
    "VariableInfo": lambda: plant().variables["a"],
    "Explanation": lambda: run().explain(),
    "Structure": lambda: plant().structure,
    "inspect": lambda: pliant.inspect(PLANT),
    "Start": lambda: run().start,
    "Linearization": lambda: plant().linearize(),
    "SteadyState": lambda: pliant.load(PART).steady_state(),
    "Jacobian": lambda: plant().jacobian(),
    "Quality": lambda: plant().check_jacobian(),
    "Plan": plan,
    "Evidence": lambda: plan().evidence,
    "Result of a plan": lambda: plan().simulate(stop=1),
    "StepCode": lambda: plan().code,
    "Timing": lambda: plan().measure(steps=100),
    "Baselines": lambda: plan().baselines(),
    "Coupling": coupling,
    "CouplingResult": lambda: coupling().simulate(stop=1, step=0.1),
    "Flag": lambda: pliant.Flag.PIVOT | pliant.Flag.RINGING,
    "Progress": lambda: pliant.Progress(**dict.fromkeys(pliant.Progress.__dataclass_fields__, 0.0)),
    "Root": lambda: pliant.Root(falling),
    "Scenario": lambda: pliant.Scenario("one", inputs={"u": ([0, 1], [0, 2])}),
    "Segments": lambda: pliant.Segments([0.0], [[1.0, 2.0]]),
    "SolverOptions": pliant.SolverOptions,
    "StructureOptions": pliant.StructureOptions,
    "RealtimeOptions": pliant.RealtimeOptions,
}


def there_and_back(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("again", [there_and_back, copy.deepcopy, copy.copy])
@pytest.mark.parametrize("name", THINGS)
def test_everything_that_is_returned(name: str, again: Callable[[Any], Any]) -> None:
    thing = THINGS[name]()
    found = again(thing)
    assert type(found) is type(thing)
    if not isinstance(thing, list):
        assert str(found) == str(thing) or " at 0x" in str(thing)
    if isinstance(getattr(thing, "as_dict", None), Callable) and name != "Explanation":  # that one measures
        assert repr(found.as_dict()) == repr(thing.as_dict())


def test_no_public_class_is_forgotten() -> None:
    made = {type(make()).__name__ for make in THINGS.values()}
    public = {name for name in pliant.__all__ if isinstance(getattr(pliant, name), type)}
    assert {name for name in public if not issubclass(getattr(pliant, name), Exception)} <= made


@pytest.mark.parametrize("kind", [one for one in vars(errors).values() if isinstance(one, type)])
def test_errors(kind: type[pliant.PliantError]) -> None:
    error = kind("what is wrong", hint="this")
    if isinstance(error, pliant.SolverError):
        error.result, error.time, error.names = run(), 0.5, ("a",)
    found = there_and_back(error)
    assert type(found) is kind
    assert str(found) == str(error)
    assert found.hint == "this"
    if isinstance(error, pliant.SolverError):
        assert found.result.final == run().final
        assert (found.time, found.names) == (0.5, ("a",))


def models(tmp_path: Path) -> dict[str, pliant.Model]:
    file = tmp_path / "swing.c"
    file.write_text(NATIVE)
    return {
        "equations": pliant.load(PLANT),
        "dae": pliant.load(PLANT, options={"form": "dae"}),
        "function": pliant.ode(pendulum, [1.0, 0.0], names=["angle", "rate"], nominal=[1, 3]),
        "sparse function": pliant.ode(pendulum, [1.0, 0.0], pattern="detect", mass=[[2, 0], [0, 1]]),
        "user's pattern": pliant.ode(pendulum, [1.0, 0.0], pattern=sp.eye_array(2) + np.array([[0, 1], [1, 0]])),
        "C": pliant.native(file, defines={"SIZE": "4.0"}),
    }


def same(one: pliant.Result, other: pliant.Result) -> bool:
    counters = [{k: v for k, v in r.stats.as_dict().items() if k != "seconds"} for r in (one, other)]
    return counters[0] == counters[1] and all(np.array_equal(one[name], other[name]) for name in one.names)


@pytest.mark.parametrize("again", [there_and_back, copy.deepcopy])
def test_models_run_alike(again: Callable[[Any], Any], tmp_path: Path) -> None:
    for what, model in models(tmp_path).items():
        before = model.simulate(stop=2)
        found = again(model)
        assert same(before, found.simulate(stop=2)), what
        assert repr(found.variables) == repr(model.variables)


def test_models_without_their_file_and_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = models(tmp_path)
    before = {what: model.simulate(stop=2) for what, model in made.items()}
    data = pickle.dumps(made)
    (tmp_path / "swing.c").unlink()
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "cache"))
    for what, model in pickle.loads(data).items():
        assert same(before[what], model.simulate(stop=2)), what


def test_models_and_results_in_a_fresh_process(tmp_path: Path) -> None:
    made = list(models(tmp_path).values())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        there = pool.map(methodcaller("simulate", stop=2), made)
        stepped = pool.apply(methodcaller("simulate", stop=1), (plan(),))
    assert all(same(model.simulate(stop=2), result) for model, result in zip(made, there, strict=True))
    assert same(plan().simulate(stop=1), stepped)
    assert np.array_equal(plan().simulate(stop=1).flags, stepped.flags)


def test_a_result_leaves_its_model_behind() -> None:
    for make in (run, THINGS["CouplingResult"], THINGS["Result of a plan"], lambda: THINGS["ode"]().simulate(stop=1)):
        result = make()
        data = pickle.dumps(result)
        assert b"GeneratedModel" not in data
        assert b"_rebuilt" not in data
        found = pickle.loads(data)
        assert found.names == result.names
        assert found.lazy_names == result.lazy_names
        assert all(np.array_equal(found[name], result[name]) for name in result.names)
        assert found.info == result.info
        assert found.manifest == result.manifest
        assert found.aliases == result.aliases
        assert [str(event) for event in found.events] == [str(event) for event in result.events]
        assert not found.time.flags.writeable
        assert not found.values.flags.writeable
        assert pickle.dumps(found)


def test_a_result_can_still_be_explained() -> None:
    explained, found = run().explain(), there_and_back(run()).explain()
    assert {one.kind for one in found.findings} == {one.kind for one in explained.findings}
    assert found.limiting == explained.limiting


def test_functions_that_cannot_be_pickled_are_named() -> None:
    with pytest.raises(pliant.NotSupportedError, match="because f of") as caught:
        pickle.dumps(pliant.ode(lambda t, x: -x, [1.0]))
    assert "top level" in caught.value.hint
    with pytest.raises(pliant.NotSupportedError, match="because roots of"):
        pickle.dumps(pliant.ode(pendulum, [1.0, 0.0], roots=lambda t, x: x[0]))
    model = copy.deepcopy(pliant.ode(lambda t, x: -x, [1.0]))  # in one process functions are shared
    assert model.simulate(stop=1).complete
    assert there_and_back(model.simulate(stop=1)).complete
