"""Arguments of ``simulate``, checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pliant.arguments import Vector, as_names, as_number, as_numbers, by_name, is_number, is_whole
from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError, UnknownNameError
from pliant.plain import AsDict
from pliant.solve.binding import runtime
from pliant.solve.names import is_hidden, suggestion

if TYPE_CHECKING:
    from pliant.solve.models.numeric import NumericModel

#: share of rtol * nominal that is the default absolute tolerance
#: of a run, where neither the user nor the model says how long steps between communication points are
COMMUNICATION_STEPS = 500
MOST_STEPS = 1e12  # of fixed size: beyond, a step is mistyped
ATOL_SHARE = 1e-2


@by_keyword_class
@dataclass(frozen=True)
class SolverOptions(AsDict):
    """The ``options`` of simulate.

    first_step, max_step    first and largest step size (default: chosen, no bound)
    max_order               largest order of BDF, 1 to 5
    max_steps               largest number of steps (default: no limit)
    jacobian                where it comes from: "exact" (the model's own), "directional" (its directional derivatives),
                            "differences", or "auto": the best of those that the model offers
    increments              rule for difference Jacobians: "default", or one of the literature's: "cvode", "radau5",
                            "pyfmi", "thesis", "experiment2" to "experiment5", "entered", "curvature"
    increment_constant      the constant c0 of "experiment2" to "experiment5"
    representable           0, or 1 to 3: the thesis' algorithm that makes x + increment representable
    curvature               curvature scales sqrt(|f|/|f''|) of the states, if known: one number or one per state, 0:
                            not known
    central                 central differences: twice the evaluations, far smaller truncation
    linear                  "auto", "dense" or "sparse"
    at_jump                 what BDF does where an input jumps: "correct" its history, order and step, "x2" or "x1"
                            (derivatives up to the second or first only), "proceed" as if nothing happened, "restart"
    initial                 "check": algebraic start values must hold; "solve": they are guesses
    restart                 "changed": restart after events that changed something; "always"
    root_samples            interior points of each step where root functions are evaluated
    mask                    boolean array: Jacobian entries that lieuler uses
    process                 "own": the steps are taken in this process; "child": in one of their own, so that a model
                            whose code crashes ends the simulation only
    """

    first_step: float = 0.0
    _: KW_ONLY
    max_step: float = 0.0
    max_order: int = 5
    max_steps: int = 0
    jacobian: str = "auto"
    increments: str = "default"
    increment_constant: float = 1.0
    representable: int = 0
    curvature: Any = field(default=None, repr=False)
    central: bool = False
    linear: str = "auto"
    at_jump: str = "correct"
    initial: str = "check"
    restart: str = "changed"
    root_samples: int = 4
    mask: Any = field(default=None, repr=False)
    process: str = "own"

    CHOICES = {  # noqa: RUF012
        "jacobian": tuple(runtime.SOURCES),
        "increments": tuple(runtime.INCREMENTS),
        "linear": tuple(runtime.STORAGE),
        "at_jump": tuple(runtime.AT_JUMP),
        "initial": ("check", "solve"),
        "restart": ("changed", "always"),
        "process": ("own", "child"),
    }

    @classmethod
    def of(cls, given: Mapping[str, Any] | SolverOptions | None) -> SolverOptions:
        """Options from a mapping; unknown names and values are refused."""
        if isinstance(given, SolverOptions):
            given = {one.name: getattr(given, one.name) for one in fields(cls)}
        if given is None or (isinstance(given, Mapping) and not given):
            return DEFAULTS
        if not isinstance(given, Mapping):
            raise ArgumentError(f"options must be a mapping, not {given!r}", hint="e.g. options={'max_step': 0.1}")
        known = {f.name: f for f in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise ArgumentError(f"there is no option {name!r}", hint=suggestion(str(name), known))
            if name in cls.CHOICES and (not isinstance(value, str) or value not in cls.CHOICES[name]):
                raise ArgumentError(
                    f"option {name} must be one of {', '.join(cls.CHOICES[name])}, not {value!r}",
                    hint=f"leave it out for {getattr(DEFAULTS, name)!r}",
                )
        options = cls(**dict(given))
        for name in ("first_step", "max_step", "increment_constant"):
            value = getattr(options, name)
            if not (is_number(value) and math.isfinite(value) and value >= 0):
                raise ArgumentError(
                    f"option {name} must be a positive number, not {value!r}", hint="leave it out for pliant's choice"
                )
        if not _is_truth(options.central):
            raise ArgumentError(
                f"option central must be True or False, not {options.central!r}", hint="leave it out for False"
            )
        whole = (("max_order", 1, 5), ("max_steps", 0, 2**62), ("root_samples", 0, 1000), ("representable", 0, 3))
        for name, low, high in whole:
            value = getattr(options, name)
            if not is_whole(value) or not low <= value <= high:
                raise ArgumentError(
                    f"option {name} must be a whole number between {low} and {high}, not {value!r}",
                    hint=f"leave it out for {getattr(DEFAULTS, name)}",
                )
        return options

    def given(self) -> dict[str, Any]:
        """What differs from the defaults."""
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in found.items() if value is not getattr(DEFAULTS, name)}

    def curvature_of(self, model: NumericModel) -> Vector | None:
        """Curvature scales, one per state; None: not given."""
        if self.curvature is None:
            if self.increments == "curvature":
                raise ArgumentError(
                    "increments 'curvature' need the curvature scales of the states",
                    hint="options={'increments': 'curvature', 'curvature': [...]}",
                )
            return None
        values = _per_state("option curvature", self.curvature, model)
        for i in np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[:1]:
            raise ArgumentError(
                f"curvature of {model.names.x[i]} must be finite and not negative, not {values[i]}",
                hint="0 where it is not known",
            )
        return values


#: one object for all runs without options: what follows from it is kept with the model
DEFAULTS = SolverOptions()


@dataclass(slots=True)
class Request:
    """What simulate was asked for, checked against the model."""

    start: float
    stop: float
    method: str
    rtol: float
    atol: Vector
    atol_given: bool
    points: Vector | None  # None: every step
    points_given: Any  # as the user said it, for the manifest
    step: float
    x: Vector
    x_given: tuple[int, ...]  # places of x set by start_values
    others_given: dict[int, float]  # variables that are not in x (number -> value)
    parameters: Vector
    outputs: tuple[str, ...] | None
    options: SolverOptions
    timeout: float | None
    held: bool = False  # the given values are a point of a user, not a start: initial equations do not count


def check_request(
    model: NumericModel,
    *,
    start: float | None,
    stop: float | None,
    method: str,
    rtol: float,
    atol: ArrayLike | None,
    points: int | ArrayLike | None,
    step: float | None,
    parameters: Mapping[str, float],
    start_values: Mapping[str, float],
    outputs: Sequence[str] | None,
    options: Mapping[str, Any] | SolverOptions | None,
    timeout: float | None,
    declared: bool = True,
) -> Request:
    """All arguments of simulate, or the first invalid one as an ArgumentError.

    ``declared``: values of the model itself are checked against its ranges, too.
    """
    first, last, _ = model.experiment
    start = _number("start", (first or 0.0) if start is None else start)
    stop = _number("stop", end_of_run(last if stop is None else stop))
    if stop < start:
        raise ArgumentError(f"stop = {stop:g} lies before start = {start:g}", hint="simulations run forward in time")
    if not isinstance(method, str) or method not in runtime.METHODS:
        raise ArgumentError(
            f"there is no method {method!r}",
            hint=suggestion(str(method), runtime.METHODS),
        )
    if model.steps_itself:
        step = _communication_step(model, method, step, stop - start)
    elif method in runtime.FIXED_STEP and step is None:
        raise ArgumentError(f"method {method!r} needs a fixed step", hint="give step=, e.g. step=1e-3")
    elif method not in runtime.FIXED_STEP and step is not None:
        raise ArgumentError(
            f"method {method!r} chooses its own steps",
            hint="leave step out; bound it by options={'max_step': ...}",
        )
    if step is not None and not _number("step", step) > 0:
        raise ArgumentError(f"step must be positive, not {step:g}", hint="a time in seconds, e.g. step=1e-3")
    if step is not None and stop - start > MOST_STEPS * step:
        raise ArgumentError(
            f"from {start:g} to {stop:g} there are more than {MOST_STEPS:g} steps of {step:g}", hint="a larger step"
        )
    if method not in runtime.IMPLICIT and model.has_mass:
        raise ArgumentError(f"method {method!r} cannot handle a mass matrix", hint="use bdf, radau5, auto or lieuler")
    parameters, start_values = by_name("parameters", parameters), by_name("start_values", start_values)
    checked = SolverOptions.of(options)
    if checked.mask is not None and method != "lieuler":
        raise ArgumentError(f"option mask is for method 'lieuler', not {method!r}", hint="leave mask out")
    rtol = _number("rtol", rtol)
    if not 0 <= rtol < 1:
        raise ArgumentError(f"rtol must be between 0 and 1, not {rtol:g}", hint="e.g. rtol=1e-6")
    if timeout is not None and not _number("timeout", timeout) > 0:
        raise ArgumentError(f"timeout must be positive, not {timeout:g}", hint="seconds, or None for no limit")
    checked.curvature_of(model)
    if checked.jacobian != "auto" and method in runtime.IMPLICIT:
        model.jacobian_source(checked.jacobian)
    chosen = check_parameters(model, parameters)
    if declared:
        model.check_declared(parameters, chosen)
    model = model.scaled_for(chosen)
    x, x_given, others_given = _start_values(model, start_values)
    return Request(
        start=start,
        stop=stop,
        method=method,
        rtol=rtol,
        atol=_tolerances(model, rtol, atol),
        atol_given=atol is not None,
        points=_points(points, start, stop, float(step) if model.steps_itself and step else 0.0),
        points_given=points,
        step=0.0 if step is None else float(step),
        x=x,
        x_given=x_given,
        others_given=others_given,
        parameters=chosen,
        outputs=_outputs(model, outputs),
        options=checked,
        timeout=timeout,
    )


def end_of_run(stop: Any) -> float:
    """The end of a run that must be given, because the model names none."""
    if stop is None:
        raise ArgumentError("the end of the run is not known", hint="give a number of seconds, e.g. stop=10")
    return stop  # type: ignore[no-any-return]


def _is_truth(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _number(what: str, value: Any, or_truth: bool = False) -> float:
    """A finite number; ``or_truth``: True and False stand for one."""
    number = float(value) if or_truth else as_number(value)
    if number is None:
        raise ArgumentError(f"{what} must be a number, not {value!r}", hint="a number without quotes and units")
    if not math.isfinite(number):
        raise ArgumentError(f"{what} must be finite, not {number}", hint="give a finite number")
    return number


def _per_state(what: str, given: Any, model: NumericModel) -> Vector:
    """One number for all states, or one for each."""
    values = as_numbers(given)
    if values is None:
        raise ArgumentError(
            f"{what} must be one number or one per state, not {given!r}", hint=f"there are {model.n_x} states"
        )
    if values.shape not in ((), (1,), (model.n_x,)):
        raise ArgumentError(
            f"{what} has shape {values.shape}, but there are {model.n_x} states",
            hint="give one number or one per state",
        )
    return np.array(np.broadcast_to(values, (model.n_x,)))


def _tolerances(model: NumericModel, rtol: float, atol: ArrayLike | None) -> Vector:
    if atol is None:
        scale = model.x_nominal if model.x_nominal is not None else model.ones
        return ATOL_SHARE * rtol * scale
    if isinstance(atol, float) and 0.0 < atol < math.inf:  # the usual case, without ceremony
        return model.ones * atol
    values = _per_state("atol", atol, model)
    for i in np.flatnonzero(~(np.isfinite(values) & (values >= 0)))[:1]:
        raise ArgumentError(
            f"atol of {model.names.x[i]} must be finite and not negative, not {values[i]}",
            hint="leave atol out for a share of rtol and the nominal values",
        )
    if rtol == 0 and not np.all(values > 0):
        raise ArgumentError("rtol and atol are both zero", hint="set at least one of them")
    return values


def _outputs(model: NumericModel, outputs: Any) -> tuple[str, ...] | None:
    """Names; ``*`` stands for any text, ``?`` for any letter."""
    if outputs is None:
        return None
    asked = as_names("outputs", outputs)
    if not any("*" in name or "?" in name for name in asked):
        return tuple(asked)
    names = model.names
    known = [name for name in (*names.x, *names.y, *names.u, *names.aliases) if not is_hidden(name)]
    found: dict[str, None] = {}
    for name in asked:
        matching = [name]
        if "*" in name or "?" in name:
            pattern = re.compile(re.escape(name).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
            matching = [one for one in known if pattern.fullmatch(one)]
        if not matching:
            raise UnknownNameError(f"outputs: nothing matches {name!r}", hint=suggestion(name.replace("*", ""), known))
        found.update(dict.fromkeys(matching))
    return tuple(found)


def _communication_step(model: NumericModel, method: str, step: float | None, span: float) -> float:
    """Of a model that steps itself: what is asked for, else what it suggests, else a 500th of the run."""
    if method != "auto":
        raise ArgumentError(
            f"{model.name} is a co-simulation FMU and solves itself: there is no method {method!r} to choose",
            hint="leave method out, or load the FMU with kind='model-exchange'",
        )
    suggested = model.experiment[2]
    chosen = step if step is not None else suggested if suggested else span / COMMUNICATION_STEPS
    return chosen if chosen or span else 1.0  # a run without length has no step


def _communication_points(start: float, stop: float, step: float, count: int) -> Vector:
    """Every communication point, or of more than asked for every second, third ...: at least so many, with the end."""
    n = max(round((stop - start) / step - 0.5 + 1e-6), 0) + 1  # the last step may be shorter
    stride = max(1, n // max(count - 1, 1))
    times = start + np.arange(0, n, stride, dtype=np.float64) * step
    return np.append(times[times < stop - 1e-6 * step], stop) if stop > start else np.array([start, stop])


def _points(points: Any, start: float, stop: float, step: float = 0.0) -> Vector | None:
    """``step``: between communication points, which are the only times where values are known."""
    if points is None:
        return None
    if is_whole(points):
        if points < 2:
            raise ArgumentError(f"points must be at least 2, not {points}", hint="or None for the steps taken")
        try:
            if step > 0.0:
                return _communication_points(start, stop, step, int(points))
            return _equidistant(start, stop, int(points))
        except (MemoryError, ValueError):
            raise ArgumentError(f"{points} points do not fit into memory", hint="ask for fewer points") from None
    times = as_numbers(points)
    if times is None or times.ndim == 0:
        raise ArgumentError(
            f"points must be a whole number, an array of times or None, not {points!r}", hint="e.g. points=500"
        )
    if times.ndim != 1 or times.size == 0 or not np.all(np.isfinite(times)):
        raise ArgumentError("points must be a vector of finite times", hint="e.g. points=[0.0, 0.5, 1.0]")
    if np.any(np.diff(times) < 0):
        raise ArgumentError("points must ascend", hint="sort them: points=sorted(times)")
    if times[0] < start or times[-1] > stop:
        raise ArgumentError(
            f"points reach from {times[0]:g} to {times[-1]:g}, the simulation from {start:g} to {stop:g}",
            hint="leave out the times outside, or change start and stop",
        )
    return times


def _equidistant(start: float, stop: float, count: int) -> Vector:
    """The numbers of numpy.linspace, without its many cases: short runs would notice them."""
    times = np.arange(count, dtype=np.float64)
    times *= (stop - start) / (count - 1)
    times += start
    times[-1] = stop
    return times


def _start_values(model: NumericModel, given: Mapping[str, float]) -> tuple[Vector, tuple[int, ...], dict[int, float]]:
    """Start values of x, the places that were set, and the values of variables that are not in x."""
    out = model.x_start.copy()
    places: list[int] = []
    others: dict[int, float] = {}
    for name, value in given.items():
        found = model.typed_starts(name, value)
        for place, number in _one_start(model, name, value) if found is None else found:
            if place >= model.n_x:
                others[place - model.n_x] = number
                continue
            if place in places and out[place] != number:
                raise ArgumentError(
                    f"start_values: {name!r} and another name of the same variable get different values",
                    hint=f"give only one of the names of {model.names.x[place]}",
                )
            out[place] = number
            places.append(place)
    return out, tuple(places), others


def _one_start(model: NumericModel, name: str, value: Any) -> list[tuple[int, float]]:
    place, sign = model.start_place(name)
    is_boolean = _is_truth(value) and model.known.type(name) == "boolean"
    return [(place, sign * _number(f"start_values[{name!r}]", value, is_boolean))]


def check_parameters(model: NumericModel, given: Mapping[str, float]) -> Vector:
    """All parameters in order, those named with other values."""
    out = model.p_start.copy()
    for name, value in given.items():
        found = model.typed_parameters(name, value)
        if found is not None:
            for place, number in found:
                out[place] = number
            continue
        place = model.parameter_place(name)
        is_boolean = _is_truth(value) and model.known.type(name) == "boolean"
        out[place] = number = _number(f"parameters[{name!r}]", value, is_boolean)
        model.check_parameter(name, number)
    return out
