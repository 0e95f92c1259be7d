"""Helpers of the front end's tests: read a text, and solve systems that can be solved one equation after the other."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from pliant.expr.build import variables_of
from pliant.expr.evaluate import evaluate, parameter_values
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Kind, System, Variable

needs_msl = pytest.mark.skipif(not os.environ.get("MODELICAPATH"), reason="MODELICAPATH is not set")


def system_of(body: str, *, fold_parameters: bool = False) -> System:
    """System of ``model M <body> end M;``, the body beginning in line 2."""
    return scalarize(read(f"model M\n{body}\nend M;\n", None, []), fold_parameters=fold_parameters)


def variable(system: System, name: str) -> Variable:
    (found,) = [v for v in system.variables if v.name == name]
    return found


def names(system: System, kind: Kind) -> list[str]:
    return [v.name for v in system.variables if v.kind == kind]


def number(system: System, e: int | None) -> float | None:
    """Value of a constant expression or one of parameters."""
    if e is None:
        return None
    values = parameter_values(system)
    return evaluate(system.graph, [e], values, 0.0, system.functions, system.tables, system.relations)[0]


def solved(
    system: System,
    time: float = 0.0,
    given: Mapping[str, float] | None = None,
    changed: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Values by name: each equation with one unknown left is solved for it, which must stand in it linearly."""
    numbers = {v.name: k for k, v in enumerate(system.variables)}
    values = parameter_values(system, {numbers[n]: x for n, x in (changed or {}).items()})
    values |= {numbers[name]: x for name, x in (given or {}).items()}
    open_equations = [e.residual for e in system.equations]
    while open_equations:
        left = []
        for residual in open_equations:
            unknown = variables_of(system.graph, _whole(system, residual)) - values.keys()
            if len(unknown) > 1:
                left.append(residual)
            elif unknown:
                (v,) = unknown
                at0, at1 = (_at(system, residual, values | {v: x}, time) for x in (0.0, 1.0))
                values[v] = at0 / (at0 - at1)
        if len(left) == len(open_equations):
            raise AssertionError("equations are not in a row: " + str([system.equations[0].span]))
        open_equations = left
    for k, v in enumerate(system.variables):
        if v.kind == Kind.DISCRETE and v.binding is not None:
            values[k] = _at(system, v.binding, values, time)
    return {v.name: values[k] for k, v in enumerate(system.variables) if k in values}


def _whole(system: System, residual: int) -> int:
    from pliant.expr.evaluate import expand_calls, expand_relations

    g = system.graph
    return expand_relations(g, expand_calls(g, [residual], system.functions), system.relations)[0]


def _at(system: System, e: int, values: Mapping[int, float], time: float) -> float:
    return evaluate(system.graph, [e], values, time, system.functions, system.tables, system.relations)[0]


def test_the_solver_of_the_tests() -> None:
    system = system_of("Real x = 2*y + 1;\nReal y = time;")
    assert solved(system, 3.0) == {"x": 7.0, "y": 3.0}
