"""Everything that pliant hands back can be pickled and copied, and works as before afterwards."""

from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import re
import tempfile
from collections.abc import Callable
from functools import cache
from operator import methodcaller
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from support_fmi import fmu_file
from support_interface import is_protocol, public_callables, public_classes
from support_ssp import closed_loop

import pliant
from pliant import errors
from pliant.fmi.info import choose_kind, open_fmu
from pliant.fmi.platforms import this_platform

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


def stiff(t: float, x: Any) -> list[float]:
    return [-1e3 * x[0] + x[1], -x[1]]


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
def challenge() -> pliant.Challenge:
    return plan().challenge(scenarios=[{"stop": 0.1}], workers=1)


@cache
def coupling() -> pliant.Coupling:
    whole = pliant.Coupling()
    for name in "ab":
        whole.add(name, pliant.load(PART))
    whole.connect("a.y", "b.u")
    whole.connect("b.y", "a.u")
    return whole


@cache
def decay_fmu() -> Path:
    return fmu_file(Path(tempfile.mkdtemp()), binaries=(this_platform(),))


def target_report() -> pliant.TargetReport:
    counts = ("min", "max", "functions", "total", "monitor", "full")
    return pliant.TargetReport(
        target="cortex-m7",
        processor="Cortex-M7",
        precision="float",
        steps=10,
        **dict.fromkeys((f"instructions_{one}" for one in counts), 100),
        **dict.fromkeys(("code_bytes", "constant_bytes", "data_bytes", "stack_bytes", "stack_static"), 1000),
        difference=1e-5,
        worst="x",
        selftest=True,
        compiler="gcc",
        emulator="qemu",
        notes=("a note",),
    )


def library_row() -> pliant.LibraryRow:
    return pliant.LibraryRow(name="P.Examples.A", frontend=True, structure=False, error="singular")


THINGS: dict[str, Callable[[], Any]] = {
    "LibraryRow": library_row,
    "LibraryReport": lambda: pliant.LibraryReport(folder="P", rows=(library_row(),)),
    "Model": plant,
    "ode": lambda: pliant.ode(pendulum, [1.0, 0.0], roots=pliant.Root(falling)),
    "Result": run,
    "Stats": lambda: run().stats,
    "Event": lambda: run().events[0],
    "VariableInfo": lambda: plant().variables["a"],
    "Explanation": lambda: run().explain(),
    "Frontier": lambda: plan().frontier,
    "FrontierRow": lambda: plan().frontier[0],
    "Finding": lambda: list(pliant.ode(stiff, [1.0, 1.0], nominal=[1.0, 1e8]).simulate(stop=1).explain().findings),
    "Structure": lambda: plant().structure,
    "EquationInfo": lambda: plant().structure.equation(0),
    "inspect": lambda: pliant.inspect(PLANT),
    "FmuReport": lambda: pliant.inspect(decay_fmu()),
    "SystemReport": lambda: pliant.inspect(closed_loop()),
    "FmuInfo": lambda: choose_kind(open_fmu(decay_fmu(), pliant.FmuOptions()), None),
    "FmuOptions": pliant.FmuOptions,
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
    "TargetReport": target_report,
    "Baselines": lambda: plan().baselines(),
    "Challenge": challenge,
    "ChallengeRow": lambda: challenge().rows[0],
    "Scenarios": lambda: pliant.Scenarios({"inputs": {"u": (0.0, 1.0)}}, 3),
    "Coupling": coupling,
    "CouplingResult": lambda: coupling().simulate(stop=1, step=0.1),
    "MacroSteps": lambda: coupling().simulate(stop=1, step=0.1).macro,
    "CouplingEnergy": lambda: pliant.CouplingEnergy("a", time=np.ones(2), created=np.ones(2), transferred=np.ones(2)),
    "CouplingExplanation": lambda: coupling().simulate(stop=1, step=0.1).explain(),
    "PartRecord": lambda: coupling().simulate(stop=1, step=0.1).parts["a"],
    "Connection": lambda: coupling().connections[0],
    "Port": lambda: coupling()._graph.parts["a"].port("y"),
    "PartSettings": lambda: pliant.PartSettings(0.0, stop=1.0),
    "PartAbout": lambda: pliant.PartAbout("M", digest="0", columns=("x",)),
    "Flag": lambda: pliant.Flag.PIVOT | pliant.Flag.RINGING,
    "Progress": lambda: pliant.Progress(**dict.fromkeys(pliant.Progress.__dataclass_fields__, 0.0)),
    "Root": lambda: pliant.Root(falling),
    "Scenario": lambda: pliant.Scenario("one", inputs={"u": ([0, 1], [0, 2])}),
    "Segments": lambda: pliant.Segments([0.0], [[1.0, 2.0]]),
    "SolverOptions": pliant.SolverOptions,
    "StructureOptions": pliant.StructureOptions,
    "Study": lambda: plant().simulate_many([{"parameters": {"size": k}} for k in (1.0, 2.0)], stop=0.2),
    "StudyProgress": lambda: pliant.StudyProgress(1, n=2, failed=0, seconds=1.0),
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
    assert {name for name, one in public_classes().items() if not is_protocol(one)} <= kinds_made()


@pytest.mark.parametrize("name", public_callables())
def test_everything_that_a_callable_returns_is_known_here(name: str) -> None:
    """A new class that a public function returns must be tried, too."""
    told = inspect.signature(public_callables()[name]).return_annotation
    classes = set(re.findall(r"\b[A-Z]\w+", str(told))) - {"Any", "Path", "Figure", "None", "NDArray", "DataFrame"}
    assert classes - {"Vector", "VariableType", "FmuUnknown"} <= kinds_made()


@cache
def kinds_made() -> set[str]:
    made = (make() for make in THINGS.values())
    return {type(one).__name__ for thing in made for one in (thing if isinstance(thing, list) else [thing])}


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


def state_of(t: float, x: Any) -> Any:
    return -np.arange(1, 11) * x + np.sin(10 * t)


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_a_result_takes_little_room(method: str) -> None:
    """500 points and 10 columns are 44 kB; derivatives on demand are as much again."""
    result = pliant.ode(state_of, np.ones(10)).simulate(stop=20, method=method)
    data = pickle.dumps(result)
    assert len(result) == 500
    assert result.stats.n_steps > 100
    assert len(data) <= 100_000
    found = pickle.loads(data)
    assert all(found.steps[key].tobytes() == result.steps[key].tobytes() for key in result.steps)
    assert all(found.steps[key].dtype == result.steps[key].dtype for key in result.steps)


def test_a_pickled_result_still_saves_and_draws(tmp_path: Path) -> None:
    found = there_and_back(run())
    for name in ("r.csv", "r.mat"):
        assert found.save(tmp_path / name).read_bytes()[:9] == run().save(tmp_path / f"own_{name}").read_bytes()[:9]
    again = pliant.load_result(tmp_path / "r.csv")
    assert all(np.array_equal(again[name], run()[name]) for name in run().names)
    assert found.plot("a", show=False).axes
    assert found.plot_steps(show=False).axes
    assert there_and_back(found).start == run().start


KEPT = {"Model": plant, "ode": THINGS["ode"], "Result": run, "Plan": plan, "Coupling": coupling}


@pytest.mark.parametrize("name", KEPT)
def test_another_version_refuses(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = pickle.dumps(KEPT[name]())
    monkeypatch.setattr(pliant, "__version__", "99.0")
    with pytest.raises(pliant.VersionError, match=r"pickled by pliant .*, and this is pliant 99\.0") as caught:
        pickle.loads(data)
    assert "make it again" in caught.value.hint


def test_the_version_is_read_before_anything_that_may_have_changed() -> None:
    data = pickle.dumps(plan())
    for name in (b"Outcome", b"GeneratedModel", b"Evidence"):
        assert data.index(b"check_version") < data.index(name)


def test_without_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache may have the library; else the error says what is missing. Results and functions need none."""
    made = models(tmp_path)
    data = {what: pickle.dumps(model) for what, model in made.items()}
    kept = pickle.dumps(run())

    def none() -> None:
        raise pliant.CompileError("no C compiler was found", hint="install one")

    monkeypatch.setattr("pliant.compiling.compiler.find_compiler", none)
    for what, text in data.items():
        assert pickle.loads(text).simulate(stop=1).complete, what
    monkeypatch.setenv("PLIANT_CACHE", str(tmp_path / "empty"))
    for what in ("equations", "dae", "C"):
        with pytest.raises(pliant.CompileError, match="no C compiler"):
            pickle.loads(data[what])
    assert pickle.loads(data["function"]).simulate(stop=1).complete
    assert pickle.loads(kept).final == run().final
