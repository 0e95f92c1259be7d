"""Arguments of ``Coupling.simulate``, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pliant.arguments import by_name, is_number, is_whole
from pliant.cosim.graph import PartGraph
from pliant.cosim.limits import LONGEST
from pliant.cosim.loops import HOW
from pliant.cosim.part import Part, PartSettings
from pliant.cosim.signals import Given
from pliant.errors import ArgumentError, UnknownNameError
from pliant.solve.binding import runtime
from pliant.solve.names import suggestion
from pliant.solve.options import SolverOptions
from pliant.solve.progress import Progress
from pliant.solve.signals.given import read_inputs, typed_inputs
from pliant.solve.signals.kinds import Declared

ERRORS = ("extrapolation", "halving")
SCHEMES = ("jacobi", "gauss-seidel")
MOST_STEPS = 10**8
PART_OPTIONS = ("method", "rtol", "atol", "at_jump", "parameters", "start_values", "options")


@dataclass(frozen=True)
class CouplingRequest:
    """What simulate was asked for."""

    start: float
    stop: float
    step: float
    scheme: str = "jacobi"
    extrapolation: int = 1
    smooth: bool = False
    loops: str = "newton"
    parallel: bool | None = None
    points: int | None = None
    timeout: float | None = None
    progress: bool | Callable[[Progress], object] | None = None
    watch: bool = True  # for growth that comes from the coupling alone
    auto: bool = False  # macro steps by error; step is then the longest
    macro_rtol: float = 1e-3
    macro_error: str = "extrapolation"

    @property
    def n_steps(self) -> int:
        """Number of macro steps; the last one may be shorter."""
        return max(1, math.ceil((self.stop - self.start) / self.step * (1.0 - 1e-12) - 1e-9))

    def time(self, i: int) -> float:
        """T_i"""
        return self.stop if i >= self.n_steps else self.start + i * self.step


def macro_step(step: Any, start: Any, stop: Any) -> tuple[float, bool]:
    """The step, and whether errors choose it: then it is the longest."""
    if step is None:
        raise ArgumentError(
            "the macro step is not known", hint='give step=, seconds between communication points, or step="auto"'
        )
    if isinstance(step, str):
        if step != "auto":
            raise ArgumentError(
                f"step must be a finite number or 'auto', not {step!r}", hint='step="auto" chooses by error'
            )
        known = is_number(start) and is_number(stop)
        return (abs(float(stop) - float(start)) * LONGEST if known else 1.0) or 1.0, True
    return step, False


def check_run(run: CouplingRequest) -> None:
    """Refuse invalid values."""
    for name in ("start", "stop", "step"):
        value = getattr(run, name)
        if not is_number(value) or not math.isfinite(value):
            raise ArgumentError(f"{name} must be a finite number, not {value!r}", hint="a time in seconds")
    span = run.stop - run.start
    if span <= 0:
        raise ArgumentError(f"stop = {run.stop:g} does not lie after start = {run.start:g}", hint="a later stop")
    if run.step <= 0:
        raise ArgumentError(
            f"step = {run.step:g}: the macro step must be positive",
            hint=f"e.g. step={span / 100:g} for 100 communication points",
        )
    if run.step > span * (1.0 + 1e-12):
        raise ArgumentError(
            f"step = {run.step:g} is longer than the simulation, {span:g}", hint=f"e.g. step={span / 100:g}"
        )
    if span / run.step > MOST_STEPS:
        raise ArgumentError(
            f"step = {run.step:g} makes {span / run.step:.3g} macro steps, more than {MOST_STEPS:.0e}",
            hint=f"e.g. step={span / 1000:g} for 1000 communication points",
        )
    if run.step < 100.0 * np.spacing(max(abs(run.start), abs(run.stop))):
        raise ArgumentError(
            f"step = {run.step:g} is below what time can resolve at t = {run.stop:g}", hint="a larger step"
        )
    if not is_number(run.macro_rtol) or not 1e-10 <= run.macro_rtol <= 0.5:
        raise ArgumentError(
            f"macro_rtol must lie between 1e-10 and 0.5, not {run.macro_rtol!r}", hint="1e-3 suits most"
        )
    if run.macro_error not in ERRORS:
        raise ArgumentError(f"macro_error must be {' or '.join(ERRORS)}, not {run.macro_error!r}", hint="leave it out")
    if run.scheme not in SCHEMES:
        raise ArgumentError(f"there is no scheme {run.scheme!r}", hint=f"use {' or '.join(SCHEMES)}")
    if not is_whole(run.extrapolation) or run.extrapolation not in (0, 1, 2):
        raise ArgumentError(f"extrapolation must be 0, 1 or 2, not {run.extrapolation!r}", hint="1 suits most")
    for name, allowed in (("smooth", (False, True)), ("watch", (False, True)), ("parallel", (None, False, True))):
        value = getattr(run, name)
        if not (value is None or isinstance(value, (bool, np.bool_))) or value not in allowed:
            raise ArgumentError(
                f"{name} must be one of {', '.join(map(str, allowed))}, not {value!r}", hint="leave it out"
            )
    if run.loops not in HOW:
        raise ArgumentError(f"loops must be one of {', '.join(HOW)}, not {run.loops!r}", hint="leave it out")
    if run.points is not None and (not is_whole(run.points) or run.points < 2):
        raise ArgumentError(
            f"points must be a number of communication points, at least 2, or None for all, not {run.points!r}",
            hint="e.g. points=500",
        )
    if run.timeout is not None and not (is_number(run.timeout) and run.timeout > 0):
        raise ArgumentError(f"timeout must be positive, not {run.timeout!r}", hint="seconds, or None for no limit")


def check_order(graph: PartGraph, order: Any) -> list[int]:
    """Places of the parts in the order of Gauss-Seidel."""
    names = list(graph.parts)
    if order is None:
        return list(range(len(names)))
    listed = list(order) if isinstance(order, (list, tuple)) else []
    if sorted(map(str, listed)) != sorted(names):
        raise ArgumentError(f"order must name every part once, not {order!r}", hint=f"the parts are {', '.join(names)}")
    return [names.index(str(name)) for name in listed]


def given_inputs(graph: PartGraph, inputs: Any, stop: float) -> dict[str, Given]:
    """Inputs by full name; all others must be connected."""
    connected = {f"{one.target_part}.{one.target}": one for one in graph.connections}
    signals = read_inputs(inputs)
    declared = {
        f"{part.name}.{port.name}": port.declared or Declared(port.type, port.held)
        for part in graph.parts.values()
        for port in part.inputs
    }
    for path in signals:
        part, name = graph.split(path, "inputs")
        known = [port.name for port in part.inputs]
        if path not in declared and not any(one.startswith(f"{name}[") for one in known):
            raise UnknownNameError(
                f"inputs: the part {part.name!r} has no input {name!r}", hint=suggestion(name, known)
            )
    typed = typed_inputs(declared, signals, stop)
    out = {path: Given(path, signal, declared[path]) for path, signal in typed.items()}
    for path in out:
        if path in connected:
            raise ArgumentError(
                f"inputs: {path} is connected already: {connected[path]}", hint="leave the connection or the value out"
            )
    missing = graph.missing(out)
    if missing:
        listed = ", ".join(missing[:10]) + (", ..." if len(missing) > 10 else "")
        raise ArgumentError(
            f"not connected: {listed}",
            hint=f"connect them, or give values: simulate(..., inputs={{'{missing[0]}': 0.0}})",
        )
    return out


def degree_of(graph: PartGraph, part: Part, run: CouplingRequest, given: Mapping[str, Given]) -> int:
    """Largest degree of the input polynomials of a part."""
    own = [given[path].degree for port in part.inputs if (path := f"{part.name}.{port.name}") in given]
    connected = any(one.target_part == part.name for one in graph.connections)
    lines = run.smooth or run.scheme == "gauss-seidel"  # even where samples are held constant
    return max([0, *own, max(run.extrapolation, int(lines)) if connected else 0])


def by_part(graph: PartGraph, what: str, given: Any) -> dict[str, dict[str, Any]]:
    """{"part.name": value} -> {"part": {"name": value}}"""
    out: dict[str, dict[str, Any]] = {name: {} for name in graph.parts}
    for path, value in by_name(what, given).items():
        part, name = graph.split(path, what)
        out[part.name][name] = value
    return out


def part_options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """What was given with ``add``, checked; options objects as mappings."""
    for key in ("parameters", "start_values"):
        by_name(f"part {name!r}: {key}", given.get(key))
    if "options" in given:
        given["options"] = options_by_name(f"part {name!r}: options", given["options"])
    return given


def options_by_name(what: str, given: Any) -> Mapping[str, Any]:
    """Solver options as a mapping, whatever they were given as."""
    return given.given() if isinstance(given, SolverOptions) else by_name(what, given)


def configure(part: Part, own: Mapping[str, Any], common: PartSettings) -> None:
    """Hand a part its settings: its own before those of the whole coupling."""
    if getattr(part, "steps_itself", False) and "method" in own:
        raise ArgumentError(
            f"it is a co-simulation FMU and solves itself: there is no method {own['method']!r} to choose",
            hint="leave method out, or load the FMU with kind='model-exchange'",
        )
    merged = {
        "rtol": own.get("rtol", common.rtol),
        "atol": own.get("atol", common.atol),
        "method": own.get("method", common.method),
        "at_jump": own.get("at_jump", common.at_jump),
        "parameters": {**own.get("parameters", {}), **common.parameters},
        "start_values": {**own.get("start_values", {}), **common.start_values},
        "options": {**common.options, **own.get("options", {})},
    }
    if not isinstance(merged["method"], str):
        raise ArgumentError(f"method must be a name, not {merged['method']!r}", hint="use bdf, auto, radau5 or dopri5")
    if merged["method"] in runtime.FIXED_STEP:
        raise ArgumentError(
            f"{merged['method']} has a fixed step, but parts must reach every communication point",
            hint="use method bdf, auto, radau5 or dopri5",
        )
    if not isinstance(merged["at_jump"], str) or merged["at_jump"] not in runtime.AT_JUMP:
        raise ArgumentError(
            f"at_jump must be one of {', '.join(reversed(runtime.AT_JUMP))}, not {merged['at_jump']!r}",
            hint="leave it out for 'correct'",
        )
    part.configure(PartSettings(start=common.start, stop=common.stop, degree=common.degree, **merged))
