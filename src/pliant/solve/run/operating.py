"""Operating points: a model held at one time, its linearisation, its steady state.

linearize     with rows and columns split into differential (d) and algebraic (a) ones:
              A = J_dd - J_da J_aa^-1 J_ad, the same for B, C and D
steady_state  pseudo-transient continuation (Kelley & Keyes, SIAM J. Numer. Anal. 35, 1998, 508-523):
              (L/delta - J) d = f, with delta growing as the residual falls (switched evolution relaxation), so it is
              an implicit Euler step at first and Newton's iteration at the end; points that are not stable may take
              Newton's iteration from the beginning
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import as_numbers
from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError, ConvergenceError, ModelEvaluationError, NotSupportedError, SingularError
from pliant.plain import AsDict, fields_of
from pliant.solve.binding import runtime
from pliant.solve.failure import failure_error
from pliant.solve.matrices import jacobian, mass_matrix
from pliant.solve.models.known import Names
from pliant.solve.models.numeric import NumericModel
from pliant.solve.names import is_hidden
from pliant.solve.options import check_parameters, check_request
from pliant.solve.run.simulation import Simulation
from pliant.solve.signals.given import constant_inputs, typed_inputs

Matrix = NDArray[np.float64]
STEADY = 1e-11  # relative size of the last correction
# corrections are also small where df/dx is infinite: what may be left is ...
STILL = 1e-6  # ... this share of the largest rate of change on the way, or
ROUNDED = 100.0  # ... so many rounding errors of f, its terms as large as at the start
MAX_STEADY = 400
LARGEST_EIGEN = 200  # states up to which growing modes are looked for
FIRST_CHANGE = 0.01  # relative change of the first step
LARGEST_CHANGE = 0.5  # ... and of every step while the transient is followed
UNSTABLE_SHARE = 0.5  # steps stay below this share of the time constant of growing modes: they are followed, not jumped
DELTA_END = 1e14
FOLLOW, JUMP, NEWTON = "follow", "jump", "newton"  # growing modes: three ways with them


@by_keyword_class
@dataclass(frozen=True, eq=False)
class Linearization(AsDict):
    """x' = A x + B u, y = C x + D u around a point, with the names of x, u and y."""

    A: Matrix
    _: KW_ONLY
    B: Matrix
    C: Matrix
    D: Matrix
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    t: float
    x: Matrix
    u: Matrix

    def __repr__(self) -> str:
        return (
            f"<Linearization at t = {self.t:g}: {len(self.states)} states, {len(self.inputs)} inputs, "
            f"{len(self.outputs)} outputs>"
        )

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of A, the slowest first."""
        found = np.linalg.eigvals(self.A).astype(np.complex128)
        return found[np.argsort(np.abs(found))]


@by_keyword_class
@dataclass(frozen=True, eq=False)
class SteadyState(Mapping[str, float]):
    """Values of all variables where every derivative is zero; reads like a dictionary.

    ``residual`` is the largest derivative that is left.
    """

    found: dict[str, float]
    _: KW_ONLY
    states: dict[str, float]
    residual: float
    iterations: int

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} = {value:g}" for name, value in list(self.states.items())[:8])
        more = ", ..." if len(self.states) > 8 else ""
        return f"<SteadyState: {shown}{more}; {len(self.found)} variables, residual {self.residual:.2g}>"

    def as_dict(self) -> dict[str, Any]:
        """For machines: all variables, the states among them, residual and iterations, ready for JSON."""
        return fields_of(self)

    def __getitem__(self, name: str) -> float:
        return self.found[name]

    def __iter__(self) -> Any:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)


class Point:
    """A model with inputs and parameters set, its start values consistent; ready to be evaluated."""

    held = False  # the values are a point of the user, at which initial equations need not hold

    def __init__(
        self,
        model: NumericModel,
        t: float,
        inputs: Any,
        parameters: Mapping[str, float],
        start_values: Mapping[str, float],
        tolerances: tuple[float, Any] = (1e-6, None),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if model.steps_itself:
            raise NotSupportedError(
                f"{model.name} is a co-simulation FMU: its equations cannot be evaluated from outside",
                hint="load the FMU with kind='model-exchange', if it offers that",
            )
        request = check_request(
            model,
            start=t,
            stop=t,
            method="bdf",
            rtol=tolerances[0],
            atol=tolerances[1],
            points=2,
            step=None,
            parameters=parameters,
            start_values=start_values,
            outputs=None,
            options={"initial": "solve", "jacobian": model.jacobian_source("auto"), **(options or {})},
            timeout=None,
        )
        self.model, self.t = model, request.start
        self.sim = Simulation(model, dataclasses.replace(request, held=self.held), inputs)
        self.sim.begin()
        self.x = self.sim.x

    def rhs(self, x: Matrix) -> Matrix:
        """f(t, x)"""
        f = np.empty_like(x)
        problem = ctypes.byref(self.sim.problem)
        status = runtime.lib.pl_rhs(problem, self.t, x.ctypes.data, f.ctypes.data)
        self.sim.raise_user_error()
        if status == runtime.NONFINITE and self.sim.problem.failure.what == runtime.IN_INPUTS:
            raise failure_error(self.sim, status, None)
        if status != runtime.OK:
            words = self.model.error_text(self.sim.instance) or runtime.status_text(status)
            raise ModelEvaluationError(
                f"{self.model.name} cannot be evaluated at t = {self.t:g}: {words}",
                hint="give start values, inputs and parameters for which the equations are defined",
                time=self.t,
            )
        return f

    def derivatives(self, x: Matrix, f: Matrix) -> None:
        """Evaluate df/dx into the memory of the linear algebra."""
        problem = ctypes.byref(self.sim.problem)
        status = runtime.lib.pl_jacobian(problem, self.t, x.ctypes.data, f.ctypes.data, ctypes.c_double(0.0))
        self.sim.raise_user_error()
        if status == runtime.PATTERN:
            self.sim.check_pattern()  # raises, unless the pattern is right after all
            status = runtime.lib.pl_jacobian(problem, self.t, x.ctypes.data, f.ctypes.data, ctypes.c_double(0.0))
        if status != runtime.OK:
            index = int(self.sim.problem.failure.index)
            name = f" for {self.model.names.x[index]}" if 0 <= index < len(x) else ""
            words = self.model.error_text(self.sim.instance) or runtime.status_text(status)
            raise ModelEvaluationError(
                f"{self.model.name}: the Jacobian cannot be evaluated at t = {self.t:g}{name}: {words}",
                hint="f must be defined around the point, on one side of each state at least",
                time=self.t,
            )

    def jacobian(self, x: Matrix, f: Matrix) -> Matrix:
        """df/dx, dense."""
        self.derivatives(x, f)
        return jacobian(self.sim)

    def outputs(self, x: Matrix) -> Matrix:
        """All outputs on demand."""
        y = np.zeros(len(self.model.names.y))
        if len(y):
            call = runtime.OUTPUT_CALL(self.model.struct.outputs)
            sim = self.sim
            status = call(sim.instance.address, self.t, x.ctypes.data, sim.u.ctypes.data, len(y), None, y.ctypes.data)
            sim.raise_user_error()
            if status != runtime.OK:
                words = self.model.error_text(sim.instance) or runtime.status_text(status)
                raise ModelEvaluationError(
                    f"{self.model.name}: the outputs cannot be evaluated at t = {self.t:g}: {words}",
                    hint="give states and inputs for which the outputs are defined",
                    time=self.t,
                )
        return y

    def state_names(self) -> tuple[str, ...]:
        """Names of x, those of a state set by the candidates that are states now."""
        names = list(self.model.names.x)
        for place, name in self.model.chosen_states(self.sim.instance.address).items():
            names[place] = name
        return tuple(names)

    def all_values(self, x: Matrix) -> dict[str, float]:
        """Every variable by name, aliases and constants included."""
        names = self.model.names
        y = self.outputs(x)
        out = {name: float(value) for name, value in zip(names.x, x, strict=True) if not is_hidden(name)}
        out |= {name: float(value) for name, value in zip(names.y, y, strict=True)}
        out |= {name: float(value) for name, value in zip(names.u, self.sim.u, strict=False)}
        constants = self.model.constants(self.sim.request.parameters)
        for name, (target, sign) in names.aliases.items():
            value = out.get(target, constants.get(target))
            if value is not None:
                out[name] = sign * value
        return out | constants


class HeldPoint(Point):
    """A point of the user: states have the given values, all others those of the start; equations hold."""

    held = True


def _singular(point: Point, inner: Matrix, algebraic: NDArray[np.bool_]) -> SingularError:
    """The algebraic unknowns that the equations leave open, by name."""
    _, _, rows = np.linalg.svd(inner)
    share = np.abs(rows[-1])
    every = [name for name, one in zip(point.model.names.x, algebraic, strict=True) if one]
    names = tuple(name for name, one in zip(every, share, strict=True) if one > 0.1 * share.max())[:5]
    return SingularError(
        f"{point.model.name}: the algebraic equations do not determine {', '.join(names)} at t = {point.t:g}",
        hint="linearise at another point (t=, x=, inputs=), or check the equations of these variables",
        time=point.t,
        names=names,
    )


def point_at(
    model: NumericModel,
    t: float,
    x: Mapping[str, float] | Any,
    given: tuple[Any, Mapping[str, float]],
    tolerances: tuple[float, Any] = (1e-6, None),
    options: Mapping[str, Any] | None = None,
) -> Point:
    """The start of the model (x None or empty), or the point x; given: inputs and parameters."""
    values = states_by_name(model, x)
    return (HeldPoint if values else Point)(model, t, *given, values, tolerances, options)


def linearize(
    model: NumericModel,
    t: float,
    x: Mapping[str, float] | Any,
    inputs: Any,
    parameters: Mapping[str, float],
) -> Linearization:
    """Linearise at (t, x); x None: the start values."""
    model.check_linearisable()
    point = point_at(model, t, x, (inputs, parameters))
    at = point.x
    f = point.rhs(at)
    j: NDArray[Any] = point.jacobian(at, f)
    mass = mass_matrix(point.sim)
    ju: NDArray[Any] = _input_jacobian(point, at)
    y_names, jy, jyu = _output_jacobian(point, at)
    d: NDArray[np.bool_] = np.asarray(mass.any(axis=1))
    if d.all() and not np.array_equal(mass, np.eye(len(at))):
        j, ju = np.asarray(np.linalg.solve(mass, j)), np.asarray(np.linalg.solve(mass, ju))
    elif not d.all() and not np.array_equal(mass[np.ix_(d, d)], np.eye(int(d.sum()))):
        raise NotSupportedError(
            "linearize needs a mass matrix that is regular or diag(I, 0)",
            hint="multiply the differential equations by the inverse of their part of the mass matrix",
        )
    a = ~d
    names = tuple(name for name, keep in zip(point.state_names(), d, strict=True) if keep)
    if a.any():
        try:
            inner = np.linalg.solve(j[np.ix_(a, a)], np.hstack([j[np.ix_(a, d)], ju[a]]))
        except np.linalg.LinAlgError:
            raise _singular(point, j[np.ix_(a, a)], a) from None
        n = int(d.sum())
        slope, gain = inner[:, :n], inner[:, n:]
        ju = ju[d] - j[np.ix_(d, a)] @ gain
        j = j[np.ix_(d, d)] - j[np.ix_(d, a)] @ slope
        jyu = jyu - jy[:, a] @ gain
        jy = jy[:, d] - jy[:, a] @ slope
    return Linearization(
        j,
        B=ju,
        C=jy,
        D=jyu,
        states=names,
        inputs=model.names.u,
        outputs=y_names,
        t=t,
        x=at[d].copy(),
        u=point.sim.u[: len(model.names.u)].copy(),
    )


def states_by_name(model: NumericModel, x: Any) -> Mapping[str, float]:
    """States given as a mapping, in order, or not at all."""
    if x is None or isinstance(x, Mapping):
        return x or {}
    values = as_numbers(x)
    if values is None:
        raise ArgumentError(f"x must be states by name or in order, not {x!r}", hint="e.g. x={'name': 1.0}")
    names = [name for name in model.names.x if name not in model.names.algebraic]
    if values.shape != (len(names),):
        raise ArgumentError(f"x has shape {values.shape}, but there are {len(names)} states", hint=f"in order: {names}")
    return dict(zip(names, values.tolist(), strict=True))


def _input_jacobian(point: Point, x: Matrix) -> Matrix:
    n_u = len(point.model.names.u)
    out = np.zeros((len(x), n_u))
    if point.model.has_tangents:
        for k in range(n_u):
            out[:, k] = _along(point, runtime.OF_RHS, x, len(x) + k)
        return out
    for k in range(n_u):
        out[:, k] = _central(point, point.sim.u, k, lambda: point.rhs(x))
    return out


def _along(point: Point, of: int, x: Matrix, column: int) -> Matrix:
    """Derivatives along one state or, behind these, one input."""
    found = point.model.tangent(point.sim.instance, of, point.t, (x, point.sim.u), column)
    if found is None:
        raise ModelEvaluationError(
            f"{point.model.name}: the derivatives cannot be evaluated at t = {point.t:g}: "
            f"{point.model.error_text(point.sim.instance)}",
            hint="linearise at another point, at which the equations are defined and smooth",
            time=point.t,
        )
    return found


def _central(point: Point, vector: Matrix, k: int, value: Any) -> Matrix:
    """Central difference of value() by vector[k]."""
    at = vector[k]
    h = 6e-6 * max(1.0, abs(at))
    vector[k] = at + h
    high = value()
    vector[k] = at - h
    low = value()
    vector[k] = at
    return np.asarray((high - low) / (2.0 * h))


def _output_jacobian(point: Point, x: Matrix) -> tuple[tuple[str, ...], Matrix, Matrix]:
    """(names, dy/dx, dy/du): exact where the model has such derivatives, central differences for others."""
    model, n_u = point.model, len(point.model.names.u)
    names = model.known.outputs
    if model.has_tangents:
        rows = np.zeros((len(names), len(x) + n_u))
        for k in range(rows.shape[1] if names else 0):
            rows[:, k] = _along(point, runtime.OF_INTERFACE, x, k)
        return names, rows[:, : len(x)], rows[:, len(x) :]
    jy, jyu = np.zeros((len(names), len(x))), np.zeros((len(names), n_u))
    rest = _plain_outputs(model.names, names, jy, jyu)
    places = [place for _, place, _ in rest]
    if rest:
        at, sign = [row for row, _, _ in rest], np.array([sign for _, _, sign in rest], dtype=np.float64)
        moved = x.copy()
        for k in range(len(x)):
            jy[at, k] = sign * _central(point, moved, k, lambda: point.outputs(moved)[places])
        for k in range(n_u):
            jyu[at, k] = sign * _central(point, point.sim.u, k, lambda: point.outputs(x)[places])
    return names, jy, jyu


def _plain_outputs(names: Names, outputs: Sequence[str], jy: Matrix, jyu: Matrix) -> list[tuple[int, int, int]]:
    """Rows of outputs that are states or inputs themselves are filled; (row, place, sign) of the others."""
    x, u, y = ({name: k for k, name in enumerate(one)} for one in (names.x, names.u, names.y))
    rest = []
    for row, name in enumerate(outputs):
        target, sign = names.behind(name)
        if target in y:
            rest.append((row, y[target], sign))
        elif target in x:
            jy[row, x[target]] = sign
        elif target in u:
            jyu[row, u[target]] = sign
    return rest


def steady_state(
    model: NumericModel, inputs: Any, parameters: Mapping[str, float], start_values: Mapping[str, float]
) -> SteadyState:
    """Find x with f(x) = 0, starting from the start values."""
    typed = typed_inputs(model.declared_inputs(check_parameters(model, parameters)), inputs)
    constant_inputs(typed, "a steady state")
    point = Point(model, 0.0, typed, parameters, start_values)
    x = point.x.copy()
    f = point.rhs(x)
    left: list[tuple[float, Matrix]] = []
    # growing modes followed to where they lead; if they never settle, jumped over; last, Newton's iteration
    for way in (FOLLOW, JUMP, NEWTON):
        found = _settle(point, x.copy(), f.copy(), way)
        if isinstance(found, SteadyState):
            return found
        left.append((_rate(found, x, _nominal(point)), found))
    nearest = min(left, key=lambda one: one[0])[1]
    worst = np.argsort(-np.abs(nearest))[:5]
    raise ConvergenceError(
        f"{model.name}: no steady state found; the largest derivatives left are "
        + ", ".join(f"{model.names.x[i]}: {nearest[i]:.3g}" for i in worst),
        hint="the model may have none (an integrator, an oscillation); try other start_values or inputs",
    )


def _settle(point: Point, x: Matrix, f: Matrix, way: str) -> SteadyState | Matrix:
    """Pseudo-transient continuation from x; the last f if it does not converge."""
    mass = mass_matrix(point.sim)
    nominal = _nominal(point)
    highest = rate = _rate(f, x, nominal)
    delta = DELTA_END if way == NEWTON else FIRST_CHANGE / max(rate, 1e-12)
    for iteration in range(1, MAX_STEADY + 1):
        j = point.jacobian(x, f)
        if iteration == 1:
            first = j
        if way == FOLLOW:
            delta = min(delta, UNSTABLE_SHARE / max(_growth(j, mass), 1e-300))
        try:
            d = np.linalg.solve(mass / delta - j, f)
            trial = x + d
            new = point.rhs(trial)
        except (np.linalg.LinAlgError, ModelEvaluationError):
            delta *= 0.25
            continue
        size = float(np.max(np.abs(d) / (np.abs(x) + nominal), initial=0.0))
        if way != NEWTON and size > LARGEST_CHANGE and delta > 1e-12:  # further than a step of the transient may go
            delta *= 0.5
            continue
        x, f = self_consistent(point, trial, new)
        settled = f is new and size <= STEADY
        before, rate = rate, _rate(f, x, nominal)
        highest = max(highest, rate)
        settled = settled and (rate <= STILL * highest or _rounded(f, first, x))
        if settled and (rate == 0.0 or delta * max(before, rate) >= size or delta >= DELTA_END):
            return _steady(point, x, iteration)
        delta = min(delta * float(np.clip(2.0 * before / max(rate, 1e-300), 0.5, 10.0)), DELTA_END)
    return f


def _growth(j: Matrix, mass: Matrix) -> float:
    """Largest real part of an eigenvalue, 0 if none is positive (or the model is too large to look)."""
    d = mass.any(axis=1)
    if len(j) > LARGEST_EIGEN or not d.any():
        return 0.0
    a = j[np.ix_(d, d)]
    if not d.all():
        try:
            a = a - j[np.ix_(d, ~d)] @ np.linalg.solve(j[np.ix_(~d, ~d)], j[np.ix_(~d, d)])
        except np.linalg.LinAlgError:
            return 0.0
    if not np.all(np.isfinite(a)):
        return 0.0
    size = np.abs(a).max(initial=0.0)
    largest = float(np.linalg.eigvals(a).real.max())
    return largest if largest > 1e-10 * size else 0.0


def _rate(f: Matrix, x: Matrix, nominal: Matrix) -> float:
    """Largest relative rate of change."""
    return float(np.max(np.abs(f) / (np.abs(x) + nominal), initial=0.0))


def _nominal(point: Point) -> Matrix:
    return point.model.x_nominal if point.model.x_nominal is not None else np.ones(point.model.n_x)


def _rounded(f: Matrix, j: NDArray[Any], x: Matrix) -> bool:
    """Is f no more than the rounding errors of its terms?"""
    return bool(np.all(np.abs(f) <= ROUNDED * np.finfo(np.float64).eps * (np.abs(j) @ np.abs(x))))


def self_consistent(point: Point, x: Matrix, f: Matrix) -> tuple[Matrix, Matrix]:
    """Relations and state sets evaluated again at x, as after a step; f again if anything changed."""
    changed = point.model.take_anew(point.sim.instance, point.t, x, point.sim.u)
    return x, point.rhs(x) if changed else f


def _steady(point: Point, x: Matrix, iterations: int) -> SteadyState:
    f = point.rhs(x)
    values = point.all_values(x)
    names = point.model.names
    states = {name: values[name] for name in names.x if not is_hidden(name) and name not in names.algebraic}
    return SteadyState(values, states=states, residual=float(np.max(np.abs(f), initial=0.0)), iterations=iterations)
