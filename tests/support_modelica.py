"""Oracles for models loaded from Modelica text that do not use sorted equations or generated code.

check_equations     every flat equation, evaluated by the interpreter at rows of a result, vanishes
check_derivatives   der(v) of a result is the slope of v
check_jacobian      df/dx and directional derivatives of the generated code against central differences
same_results        trajectories of two ways to the same model
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.expr.evaluate import evaluate, parameter_values
from pliant.frontend.flat.model import FlatModel
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Kind, Op, System
from pliant.solve.binding import runtime
from pliant.solve.matrices import jacobian_places
from pliant.solve.models.generated import GeneratedModel
from pliant.solve.run.operating import Point
from pliant.structure.diagnosis import describe_equation

Array = NDArray[np.float64]


def text_of(body: str, name: str = "M") -> str:
    """``model M <body> end M;``, the body beginning in line 2."""
    return f"model {name}\n{body}\nend {name};\n"


@cache
def _loaded(text: str, tear: tuple[str, ...], options: tuple[tuple[str, Any], ...]) -> pliant.Model:
    return pliant.load(text, tear=tear or None, options=dict(options))


def model_of(body: str, tear: Sequence[str] = (), **options: Any) -> pliant.Model:
    """The model with this body; loaded once per session."""
    return _loaded(text_of(body), tuple(tear), tuple(sorted(options.items())))


def flat(body: str) -> System:
    """Flat equations as the front end gives them."""
    return scalarize(_read(text_of(body)), fold_parameters=False)


@cache
def _read(text: str) -> FlatModel:
    return read(text, None, [])


def numeric(model: pliant.Model) -> GeneratedModel:
    """The compiled side of a model."""
    found = model._numeric
    assert isinstance(found, GeneratedModel)
    return found


# ------------------------------------------------------------------------------------------------ residuals


def values_at(system: System, result: pliant.Result, row: int, parameters: Mapping[str, float]) -> dict[int, float]:
    """All variables of a flat system at one row of a result, which must know every one of them."""
    numbers = {v.name: k for k, v in enumerate(system.variables)}
    values = parameter_values(system, {numbers[name]: x for name, x in parameters.items()})
    missing = []
    has_unknown_parameters = any(variable.initial for variable in system.variables)
    for k, variable in enumerate(system.variables):
        is_constant = variable.kind in (Kind.PARAMETER, Kind.CONSTANT)
        if is_constant and not (has_unknown_parameters and variable.name in result):
            continue
        if variable.name in result:
            values[k] = float(result[variable.name][row])
        elif variable.kind == Kind.BEFORE or variable.name.startswith(("$when", "$floor")):
            name = variable.name.removeprefix("pre(").removesuffix(")")  # at rest pre(v) = v; no clock ticks
            values[k] = float(result[name][row]) if name in result else 0.0
        else:
            missing.append(variable.name)
    assert not missing, f"the result does not know {missing[:10]}"
    more = (float(result.time[row]), system.functions, system.tables, system.relations)
    for memory in system.events.memories:
        if system.variables[memory.variable].name.startswith("$floor"):  # at rest it is what it begins with
            values[memory.variable] = evaluate(system.graph, [memory.start], values, *more)[0]
    return values


def residuals(
    system: System, result: pliant.Result, row: int, parameters: Mapping[str, float] | None = None
) -> list[tuple[float, str]]:
    """(size relative to its terms, words) of every equation at one row, the worst first."""
    values = values_at(system, result, row, parameters or {})
    g, t = system.graph, float(result.time[row])
    more = (system.functions, system.tables, system.relations)
    found = []
    for equation in system.equations:
        node = g.nodes[equation.residual]
        sides = [equation.residual, *(node[1:] if node[0] in (Op.ADD, Op.SUB) else ())]
        r, *terms = evaluate(g, sides, values, t, *more)
        size = abs(r) / (1.0 + max(map(abs, terms), default=0.0))
        words = describe_equation(g, equation, lambda v: system.variables[v].name)
        found.append((math.inf if math.isnan(size) else size, words))
    return sorted(found, reverse=True)


def check_equations(
    system: System, result: pliant.Result, tolerance: float = 1e-7, parameters: Mapping[str, float] | None = None
) -> None:
    """Every flat equation holds at the first, the last and some rows between them."""
    n = len(result.time)
    for row in sorted({0, n // 7, n // 3, n // 2, (3 * n) // 4, n - 1}):
        worst = residuals(system, result, row, parameters)
        bad = [one for one in worst if not one[0] <= tolerance]
        assert not bad, f"at t = {result.time[row]}: {bad[:5]}"


def check_derivatives(system: System, result: pliant.Result, tolerance: float = 1e-3) -> None:
    """der(v) is the slope of v, by integration: v(t) = v(0) + integral of der(v), Simpson's rule on three rows."""
    t = result.time
    h = np.diff(t)
    even = [k for k in range(len(h) - 1) if abs(h[k] - h[k + 1]) < 1e-9 * (t[-1] - t[0])]
    jumps = [event.time for event in result.events]
    even = [k for k in even if not any(t[k] <= at <= t[k + 2] for at in jumps)]
    for v, d in system.derivative.items():
        value, rate = result[system.variables[v].name], result[system.variables[d].name]
        scale = 1e-6 + np.abs(value).max() + np.abs(rate).max() * h.mean()
        for k in even:
            change = h[k] / 3 * (rate[k] + 4 * rate[k + 1] + rate[k + 2])
            error = abs(value[k + 2] - value[k] - change)
            assert error <= tolerance * scale, f"der({system.variables[v].name}) at t = {t[k]}: {error / scale}"


def check_run(
    body: str, stop: float, *, tear: Sequence[str] = (), tolerance: float = 1e-6, rtol: float = 1e-9, **options: Any
) -> pliant.Result:
    """Simulate a body and hold the result against its flat equations."""
    result = model_of(body, tear, **options).simulate(stop=stop, rtol=rtol, points=401)
    system = flat(body)
    check_equations(system, result, tolerance)
    check_derivatives(system, result)
    return result


WAYS: tuple[dict[str, Any], ...] = (
    {"form": "ode"},
    {"form": "dae"},
    {"aliases": False},
    {"tearing": "cellier"},
    {"fold_parameters": True},
    {"largest_torn": 1},
)


def check_ways(
    body: str, stop: float, *, tolerance: float = 1e-5, rtol: float = 1e-9, ways: Sequence[dict[str, Any]] = WAYS[1:3]
) -> pliant.Result:
    """Several forms of a model: each satisfies the flat equations and all have the same trajectories."""
    first = check_run(body, stop, tolerance=tolerance, rtol=rtol)
    system = flat(body)
    names = [v.name for v in system.variables if v.kind in (Kind.UNKNOWN, Kind.DERIVATIVE)]
    for way in ways:
        other = check_run(body, stop, tolerance=tolerance, rtol=rtol, **way)
        for name in names:
            size = 1.0 + np.abs(first[name]).max()
            assert np.abs(first[name] - other[name]).max() <= tolerance * size, f"{name} differs with {way}"
    return first


# ------------------------------------------------------------------------------------------------ derivatives


def jacobian_errors(model: pliant.Model, t: float = 0.3, seed: int = 0, spread: float = 0.01) -> tuple[float, float]:
    """(df/dx against central differences, directional derivatives against df/dx), relative, near the start."""
    generated = numeric(model)
    point = Point(generated, t, {}, {}, {})
    n, address, u = generated.n_x, point.sim.instance.address, point.sim.u
    rng = np.random.default_rng(seed)
    x = point.x + spread * rng.standard_normal(n) * np.maximum(1.0, np.abs(point.x))
    rhs = runtime.POINT_CALL(generated.struct.rhs)
    values = runtime.POINT_CALL(generated.struct.jac_value)

    def f(at: Array) -> Array:
        out = np.empty(n)
        assert rhs(address, t, at.ctypes.data, u.ctypes.data, out.ctypes.data) == 0
        return out

    rows, columns = jacobian_places(generated)
    v = np.empty(len(rows))
    assert values(address, t, x.ctypes.data, u.ctypes.data, v.ctypes.data) == 0
    exact, along, by_difference = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    exact[rows, columns] = v
    for j in range(n):
        h = 1e-6 * max(1.0, abs(x[j]))
        unit = np.zeros(n)
        unit[j] = h
        by_difference[:, j] = (f(x + unit) - f(x - unit)) / (2 * h)
        found = generated.tangent(point.sim.instance, runtime.OF_RHS, t, (x, u), j)
        assert found is not None
        along[:, j] = found
    scale = 1e-6 + np.abs(by_difference).max(axis=1, keepdims=True)
    first = float((np.abs(exact - by_difference) / scale).max())
    second = float((np.abs(exact - along) / scale).max())
    return first, second


def check_jacobian(model: pliant.Model, tolerance: float = 1e-5, t: float = 0.3) -> None:
    """Exact Jacobian and directional derivatives."""
    by_difference, along = jacobian_errors(model, t)
    assert by_difference < tolerance
    assert along < 1e-10
