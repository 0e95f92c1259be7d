"""A sorted system is final: nobody can change it, and what is made from it does not depend on what was made before."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import pliant
from pliant.codegen.emit import generate
from pliant.errors import NotSupportedError
from pliant.expr.build import add, const, reachable, var
from pliant.expr.differentiate import gradient
from pliant.expr.evaluate import evaluate
from pliant.expr.text import text
from pliant.ir import FinalGraph, Graph
from pliant.realtime.code.make import StepperOptions, make_stepper
from pliant.realtime.sparsing.elimination import eliminate
from pliant.sorted_system import SortedSystem
from pliant.sources import sorted_model
from pliant.structure.options import structure_options

ROOT = Path(__file__).parents[1]
MODELS = sorted([*ROOT.glob("examples/**/*.mo"), *ROOT.glob("src/pliant/tour/models/*.mo")])
LARGE = 1200  # nodes beyond which steps of order 2 are left out, for the sake of time
SAMPLED = """
model Sampled
  input Real u(start = 1);
  parameter Real k = 2;
  output Real y;
  discrete Real held(start = 0, fixed = true);
  Real a, b;
equation
  a = k*sin(time) + u;
  b + b^3 = a;
  y = if b > 0.5 then b else held;
  when sample(0, 0.1) then
    held = a;
  end when;
end Sampled;
"""


def load(source: str | Path) -> SortedSystem:
    """A sorted system."""
    return sorted_model(source, None, None, (), structure_options(None))


def parts(one: object, seen: set[int]) -> list[object]:
    """Everything that can be reached from an object."""
    if id(one) in seen or isinstance(one, str | int | float | bool | None):
        return []
    seen.add(id(one))
    if isinstance(one, FinalGraph):
        inner: list[object] = [one.nodes, one._index]
    elif dataclasses.is_dataclass(one):
        inner = [getattr(one, field.name) for field in dataclasses.fields(one)]
    elif isinstance(one, Mapping):
        inner = [*one.keys(), *one.values()]
    elif isinstance(one, tuple):
        inner = list(one)
    else:
        inner = []
    return [one, *(found for each in inner for found in parts(each, seen))]


@pytest.mark.parametrize("source", [SAMPLED, ROOT / "examples/pendulum.mo", ROOT / "examples/dc_drive.mo"])
def test_everything_in_it_is_frozen(source: str | Path) -> None:
    s = load(source)
    for one in parts(s, set()):
        assert isinstance(one, tuple | MappingProxyType | FinalGraph) or dataclasses.is_dataclass(one), type(one)
        if dataclasses.is_dataclass(one):
            name = dataclasses.fields(one)[0].name
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(one, name, None)


def test_the_graph_takes_nothing_new() -> None:
    graph = load(SAMPLED).system.graph
    count = len(graph.nodes)
    with pytest.raises(TypeError, match="make an overlay"):
        const(graph, 123.25)
    with pytest.raises(AttributeError, match="final graph"):
        graph.nodes = ()
    with pytest.raises(TypeError):
        graph._index[(0, 1.5)] = 3  # type: ignore[index]
    assert graph.intern(graph.nodes[count - 1]) == count - 1
    assert len(graph.nodes) == count


def test_an_overlay_goes_on_after_the_graph_below() -> None:
    below = Graph()
    total = add(below, var(below, 0), var(below, 1))
    final = FinalGraph(below)
    one, other = final.overlay(), final.overlay()
    assert add(one, var(one, 1), var(one, 0)) == total
    new = add(one, total, const(one, 2.0))
    assert new >= len(final.nodes)
    assert len(other.nodes) == len(final.nodes) == 3
    assert add(other, total, const(other, 2.0)) == new  # the same numbers, whoever makes it
    again = FinalGraph(one).overlay()
    assert add(again, total, const(again, 2.0)) == new
    assert reachable(one, [new])[-1] == new
    assert evaluate(one, [new], {0: 3.0, 1: 4.0}) == [9.0]
    assert gradient(one, new, lambda _: True).keys() == {0, 1}
    assert text(one, new, lambda v: f"x{v}") == "x0 + x1 + 2"


def step(s: SortedSystem, order: int) -> str:
    """The C text of a step with all entries."""
    found = generate(s, "ode")
    n = len(found.program.x)
    entries = {*found.jacobian, *((i, i) for i in range(n))}
    try:
        code = make_stepper(s, "ode", 1e-3, eliminate(n, entries), StepperOptions(order=order, monitor=order == 1))
    except NotSupportedError as error:
        return str(error)
    return code.header + code.text + code.driver


@pytest.mark.parametrize("file", [*MODELS, None], ids=lambda file: file.stem if file else "sampled")
def test_generating_again_in_any_order_gives_the_same_text(file: Path | None) -> None:
    s = load(SAMPLED if file is None else file)
    makers: dict[str, Callable[[SortedSystem], str]] = {
        "ode": lambda s: generate(s, "ode").text,
        "dae": lambda s: generate(s, "dae").text,
        "taylor": lambda s: generate(s, "ode", taylor=True).text,
        "step": lambda s: step(s, 1),
    }
    if len(s.system.graph.nodes) < LARGE:
        makers["step of order 2"] = lambda s: step(s, 2)
    first = {name: make(s) for name, make in makers.items()}
    for name in reversed(makers):
        assert makers[name](s) == first[name], name


def test_a_model_leaves_no_trace_in_its_equations(tmp_path: Path) -> None:
    """Whatever is done with a model: the text that is made afterwards is the same."""
    model: Any = pliant.load(SAMPLED)
    numeric = model._numeric
    s, before = numeric.generated.program.sorted, numeric.generated.text
    model.simulate(stop=1.0, inputs={"u": ([0.0, 0.5, 0.5, 1.0], [0.0, 1.0, 2.0, 2.0])})
    model.linearize(inputs={"u": 1.0})
    model.steady_state(inputs={"u": 1.0})
    plan = model.realtime(step=0.01, stop=1.0, scenarios=[{"inputs": {"u": 1.0}}])
    plan.write(tmp_path / "step")
    coupling = pliant.Coupling()
    coupling.add("part", model)
    coupling.simulate(stop=1.0, step=0.1, inputs={"part.u": 1.0})
    assert generate(s, numeric.generated.form).text == before
