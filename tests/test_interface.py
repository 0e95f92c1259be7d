"""What holds for every public callable: names for arguments, options as objects, several threads, plain data."""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_interface import BY_POSITION, methods, public_callables
from support_ssp import closed_loop, one_filter
from test_pickle import NATIVE, PART, PLANT, THINGS, coupling, pendulum, plan, plant, run

import pliant

CALLABLES = public_callables()
POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
N_THREADS = 10


def arguments_of(name: str) -> list[inspect.Parameter]:
    """Parameters of a public callable without those that are bound."""
    thing = CALLABLES[name]
    found = list(inspect.signature(thing).parameters.values())
    return found[1:] if "." in name and found and found[0].name in ("self", "cls") else found


def test_the_list_is_whole() -> None:
    assert {"load", "Model.simulate", "Coupling.add", "Result.save", "Plan.measure", "Scenario"} <= set(CALLABLES)
    assert set(BY_POSITION) <= set(CALLABLES)
    assert len(CALLABLES) > 60


# ------------------------------------------------------------------------------------------------------ keywords


@pytest.mark.parametrize("name", CALLABLES)
def test_arguments_after_the_first_have_names(name: str) -> None:
    parameters = arguments_of(name)
    by_position = [one for one in parameters if one.kind in POSITIONAL]
    assert len(by_position) <= BY_POSITION.get(name, 1)
    named = [one for one in parameters if one.kind == inspect.Parameter.KEYWORD_ONLY]
    many = any(one.kind == inspect.Parameter.VAR_POSITIONAL for one in parameters)  # names of a plot
    if not named or many:
        return
    given = [*[1.5, 2, "three"][: len(by_position)], "last"]
    bound = [object()] if "." in name else []
    with pytest.raises(pliant.CallError, match="given by name") as caught:
        CALLABLES[name](*bound, *given)
    assert isinstance(caught.value, (pliant.ArgumentError, TypeError))
    assert f"{named[0].name}='last')" in caught.value.hint
    assert caught.value.hint.startswith(f"write {written(name)}(")


def written(name: str) -> str:
    """load -> pliant.load, Model.simulate -> model.simulate; what is inherited is called after its base class."""
    first, _, method = name.replace("CouplingResult", "Result").partition(".")
    return f"{first.lower()}.{method}" if method else f"pliant.{first}"


def test_the_call_is_shown_as_it_should_be() -> None:
    model = pliant.ode(pendulum, [1.0, 0.0])
    for call, right in (
        (lambda: model.simulate(10, 0), "write model.simulate(stop=10, start=0)"),  # type: ignore[misc]
        (
            lambda: model.simulate(10, 0, "bdf", rtol=1e-3),
            "write model.simulate(stop=10, start=0, method='bdf', rtol=0.001)",
        ),  # type: ignore[misc]
        (lambda: pliant.load("m.mo", "M"), "write pliant.load('m.mo', name='M')"),  # type: ignore[misc]
        (lambda: pliant.ode(pendulum, [1.0], np.cos), "write pliant.ode(pendulum, [1.0], jac=cos)"),  # type: ignore[misc]
        (lambda: pliant.ode(pendulum, [1.0] * 99, lambda t, x: x), "write pliant.ode(pendulum, ..., jac=...)"),  # type: ignore[misc]
        (lambda: run().save("r.csv", ["a"]), "write result.save('r.csv', names=['a'])"),  # type: ignore[misc]
        (lambda: pliant.Scenario("one", {}), "write pliant.Scenario(name='one', inputs={})"),  # type: ignore[misc]
    ):
        with pytest.raises(pliant.CallError) as caught:
            call()
        assert caught.value.hint == right
        assert right in str(caught.value)


def test_names_that_do_not_exist_or_are_missing() -> None:
    model = pliant.ode(pendulum, [1.0, 0.0])
    for call, told in (
        (lambda: model.simulate(stp=1), "did you mean stop?"),  # type: ignore[call-arg]
        (lambda: model.simulate(1, stop=2), "stop"),  # type: ignore[misc]
        (lambda: pliant.ode(pendulum), "x0"),  # type: ignore[call-arg]
        (lambda: pliant.Coupling().add("a", model, rtoll=1), "did you mean rtol?"),  # type: ignore[call-arg]
        (lambda: model.simulate(*range(30)), "arguments"),  # type: ignore[call-arg]
    ):
        with pytest.raises(pliant.CallError) as caught:
            call()
        assert told in str(caught.value)
        assert caught.value.__cause__ is None


def test_an_error_inside_is_no_wrong_call() -> None:
    def broken(t: float, x: Any) -> Any:
        return t + "text"  # type: ignore[operator]

    with pytest.raises(TypeError) as caught:
        pliant.ode(broken, [1.0]).simulate(stop=1)
    assert not isinstance(caught.value, pliant.CallError)


@pytest.mark.parametrize("call", [lambda: pendulum_model().simulate(), lambda: coupling().simulate(step=0.1)])
def test_an_end_must_be_given(call: Callable[[], object]) -> None:
    with pytest.raises(pliant.ArgumentError, match="the end of the run is not known"):
        call()


def pendulum_model() -> pliant.Model:
    return pliant.ode(pendulum, [1.0, 0.0])


def test_a_plan_knows_its_own_end() -> None:
    assert plan().simulate().time[-1] == pytest.approx(1.0)
    with pytest.raises(pliant.ArgumentError, match="macro step"):
        coupling().simulate(stop=1)


# ------------------------------------------------------------------------------------------------ options objects


def coupled(part: Any = None, whole: Any = None) -> Any:
    made = pliant.Coupling()
    made.add("a", pliant.load(PART), options=part)
    return made.simulate(stop=1, step=0.5, inputs={"a.u": 1.0}, options=whole)


LOOP = "model Loop\n  Real x(start = 1), a, b;\nequation\n  der(x) = -a; a = x + 2*b; b = x - a^3;\nend Loop;\n"
DAE = pliant.StructureOptions(form="dae")
SHORT = pliant.SolverOptions(max_step=0.01, jacobian="differences", central=True)
FULL = pliant.RealtimeOptions(search="full")
PATIENT = pliant.FmuOptions(call_timeout=20.0)


def loaded_options(coupling: pliant.Coupling) -> str:
    return str(coupling._models["f"]._numeric.loaded.options)


def many(model: pliant.Model, options: Any) -> Any:
    cases = [{"parameters": {"size": k}} for k in (1.0, 2.0)]
    return list(model.simulate_many(cases, stop=0.2, keep="final", options=options))


@cache
def stored() -> Path:
    folder = Path(tempfile.mkdtemp()) / "study"
    plant().simulate_many([{"parameters": {"size": 2.0}}], stop=0.2, keep="final", save=folder)
    return folder


OPTIONS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "load": (DAE, lambda options: pliant.load(LOOP, options=options).code),
    "inspect": (DAE, lambda options: pliant.inspect(LOOP, options=options)),
    "Model.simulate": (SHORT, lambda options: plant().simulate(stop=0.2, options=options)),
    "Model.jacobian": (SHORT, lambda options: plant().jacobian(options=options).as_dict()),
    "Model.check_jacobian": (SHORT, lambda options: plant().check_jacobian(options=options).as_dict()),
    "Model.simulate_many": (SHORT, lambda options: many(plant(), options)),
    "Model.realtime": (FULL, lambda options: plant().realtime(step=0.01, stop=0.2, options=options).entries),
    "Coupling.add": (SHORT, lambda options: coupled(part=options)),
    "Coupling.simulate": (SHORT, lambda options: coupled(whole=options)),
    "load_system": (PATIENT, lambda options: loaded_options(pliant.load_system(one_filter(), options=options))),
    "PartSettings": (SHORT, lambda options: pliant.PartSettings(0.0, stop=1.0, options=options) and 0),
}


def as_mapping(options: Any) -> dict[str, Any]:
    usual = type(options)()
    return {key: value for key, value in vars(options).items() if value != getattr(usual, key)}


def content(thing: Any) -> Any:
    """What must be the same whenever something is done again."""
    if isinstance(thing, pliant.Result):
        counters = {key: value for key, value in thing.stats.as_dict().items() if key != "seconds"}
        return counters, [(name, thing[name].tobytes()) for name in thing.names]
    if isinstance(thing, pliant.Plan):
        return thing.mask.tobytes(), thing.entries, thing.code.text
    if isinstance(thing, pliant.Model):
        return repr(thing), thing.as_dict()
    return thing.as_dict() if hasattr(thing, "as_dict") else str(thing)


@pytest.mark.parametrize(
    "name", [name for name in CALLABLES if "options" in inspect.signature(CALLABLES[name]).parameters]
)
def test_an_options_object_does_what_a_mapping_does(name: str) -> None:
    options, call = OPTIONS[name]
    assert content(call(options)) == content(call(as_mapping(options)))
    assert name == "PartSettings" or content(call(options)) != content(call(None))


# -------------------------------------------------------------------------------------------------------- threads


@cache
def c_file() -> Path:
    import tempfile

    file = Path(tempfile.mkdtemp()) / "swing.c"
    file.write_text(NATIVE)
    return file


@cache
def saved() -> Path:
    return run().save(c_file().parent / "run.csv")


@cache
def library() -> Path:
    """A package with one example, which cannot be read: that is quick."""
    text = "package L model E Missing m; annotation(experiment(StopTime = 1)); end E; end L;"
    folder = c_file().parent / "L"
    folder.mkdir(exist_ok=True)
    (folder / "package.mo").write_text(text)
    return folder


@cache
def settling() -> pliant.Model:
    return pliant.load(PART)


def exported(model: pliant.Model) -> bytes:
    """Content of an FMU, which is the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        return model.export_fmu(Path(folder) / "m.fmu").read_bytes()


TIMES = np.linspace(0, 1, 9)
JUMPS = {"u": pliant.Segments(TIMES, np.sin(9 * TIMES)[:, None])}
LARGE = {"size": 3.0}
FUNCTIONS: dict[str, Callable[[], Any]] = {
    "check_library": lambda: [row.match for row in pliant.check_library(library(), jobs=1).rows],
    "inspect": lambda: str(pliant.inspect(PLANT)),
    "load": lambda: pliant.load(PLANT),
    "load_result": lambda: pliant.load_result(saved()),
    "load_system": lambda: pliant.load_system(closed_loop()).simulate(step=0.1),
    "native": lambda: pliant.native(c_file(), defines={"SIZE": "4.0"}).simulate(stop=1),
    "ode": lambda: pliant.ode(pendulum, [1.0, 0.0]).simulate(stop=1),
    "open_study": lambda: pliant.open_study(stored())[0],
}
ON_A_MODEL: dict[str, Callable[[pliant.Model], Any]] = {
    "as_dict": lambda model: model.as_dict(),
    "check_jacobian": lambda model: model.check_jacobian(),
    "close": lambda model: model.close(),
    "export_fmu": exported,
    "jacobian": lambda model: model.jacobian(),
    "linearize": lambda model: model.linearize(t=0.5),
    "realtime": lambda model: model.realtime(step=0.01, stop=0.5),
    "simulate": lambda model: [
        content(model.simulate(stop=1, inputs=u, parameters={"size": 3})) for u in (None, JUMPS)
    ],
    "simulate_many": lambda model: many(model, None),
    "steady_state": lambda model: settling().steady_state(inputs={"u": 1.0}),
}


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    """Results of calls that begin at the same time, one thread each; threads change often."""
    gate, interval = threading.Barrier(len(calls)), sys.getswitchinterval()

    def one(call: Callable[[], Any]) -> Any:
        gate.wait()
        return content(call())

    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(len(calls)) as pool:
            return [one.result() for one in [pool.submit(one, call) for call in calls]]
    finally:
        sys.setswitchinterval(interval)


def test_every_function_and_every_method_of_a_model_is_tried() -> None:
    assert set(FUNCTIONS) == {name for name in CALLABLES if inspect.isfunction(CALLABLES[name]) and "." not in name}
    assert set(ON_A_MODEL) == {name for name, _ in methods(pliant.Model)}


@pytest.mark.parametrize("name", [*FUNCTIONS, *ON_A_MODEL])
def test_several_threads_at_once(name: str) -> None:
    for make in (c_file, saved, library, stored):
        make()  # files that the calls read: not written by several threads
    model = pliant.load(PLANT)  # nothing is kept with it yet
    call = FUNCTIONS.get(name) or (lambda: ON_A_MODEL[name](model))
    n = {"realtime": 2, "export_fmu": 2, "check_library": 2}.get(name, N_THREADS)
    found = together([call] * n)
    alone = content(FUNCTIONS[name]() if name in FUNCTIONS else ON_A_MODEL[name](pliant.load(PLANT)))
    assert all(one == alone for one in found)


def test_one_model_for_everything_at_once() -> None:
    model = pliant.load(PLANT)
    names = list(ON_A_MODEL)
    assert len(names) == N_THREADS
    alone = [content(ON_A_MODEL[name](pliant.load(PLANT))) for name in names]
    assert together([lambda name=name: ON_A_MODEL[name](model) for name in names]) == alone  # type: ignore[misc]


def test_how_start_values_were_found_belongs_to_the_result() -> None:
    free = pliant.load("model F\n  Real x(start = 1), y(start = 2);\nequation\n  der(x) = -x; der(y) = -y;\nend F;\n")
    results = [free.simulate(stop=1, start_values=given) for given in ({}, {"x": 3.0}, {"x": 1.0, "y": 2.0})]
    found = [sorted(result.start.undetermined) for result in results if result.start is not None]
    assert found == [["x", "y"], ["y"], []]
    assert free.last_start is results[-1].start
    assert "undetermined: y" in str(results[1].start)
    assert pendulum_model().simulate(stop=1).start is None


def late(t: float, x: Any) -> list[float]:
    """Depends on x[2] only when probing is over."""
    return [x[1] if t < 0.5 else x[1] + x[2], -x[0], -x[2]]


def test_a_pattern_that_one_thread_enlarges_is_no_harm_to_others() -> None:
    model = pliant.ode(late, [1.0, 0.0, 1.0], pattern="detect")
    found = together([lambda: model.simulate(stop=2)] * N_THREADS)
    assert all(one == found[0] for one in found)
    assert found[0] == content(pliant.ode(late, [1.0, 0.0, 1.0], pattern="detect").simulate(stop=2))


# ------------------------------------------------------------------------------------------- for machines and people


@pytest.mark.parametrize("name", THINGS)
def test_objects_are_plain_data_for_machines_and_text_for_people(name: str) -> None:
    thing = THINGS[name]()
    for one in thing if isinstance(thing, list) else [thing]:
        text = str(one)
        assert text
        assert " object at 0x" not in text
        if type(one).__name__ in ("Flag", "Segments", "Root", "StepCode"):  # a number, and what users give
            continue
        found = one.as_dict()
        assert found
        assert json.loads(json.dumps(found, allow_nan=False)) == found
