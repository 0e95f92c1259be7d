"""Small problems with a closed solution, for order tests and for events.

    prothero_robinson   y' = lambda (y - cos t) - sin t, y(0) = 1:   y = cos t for every lambda (here -1e4);
                        shows the order that a method keeps on stiff problems
    linear3             x' = A x, A = V diag(-1, -10, -100) V^-1:    x = V exp(diag t) V^-1 x(0)
    logistic            y' = y (1 - y), y(0) = 0.1:                  y = 1 / (1 + 9 exp(-t))
    linear_dae          x' = -x + z,  0 = x + z - 2 cos t, x(0) = 1: index 1; so x' = -2 x + 2 cos t,
                        x = (4 cos t + 2 sin t + exp(-2 t)) / 5,  z = 2 cos t - x
    oscillator          x'' = -omega^2 x, x(0) = 1, x'(0) = 0:       x = cos(omega t), 0 at (k + 1/2) pi/omega
    bouncing_ball       h'' = -g, h(0) = 1; at h = 0 the velocity becomes -e times itself

Sources: A. Prothero and A. Robinson, On the stability and accuracy of one-step methods for solving stiff
systems of ordinary differential equations, Math. Comp. 28 (1974) 145-162; P.-F. Verhulst 1838 (logistic); the
rest is textbook. The references are the closed solutions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, exp, pi, sin, sqrt
from typing import Any

import numpy as np

from . import Array, Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class ExactProblem(Problem):
    """A problem with x(t) known for all t, and with its events if there are any."""

    exact: Callable[[float], Array]
    roots: Callable[[float, Array], Array] | None = None  # an event is where one of these crosses zero
    event_times: Sequence[float] = ()  # all of them in (t0, t_end)
    event_directions: Sequence[int] = ()  # +1 rising, -1 falling
    reset: Callable[[float, Array], Array] | None = None  # x after the event from x before it


def _make(
    name: str,
    title: str,
    equations: Callable[[Any, Any, Any], list[Any]],
    jacobian: Callable[[float, Array], Array],
    exact: Callable[[float], Array],
    *,
    t_end: float,
    **more: Any,
) -> ExactProblem:
    x0 = exact(0.0)
    defaults: dict[str, Any] = {
        "source": "closed solution, see exact.py",
        "names": [f"x{i + 1}" for i in range(len(x0))],
        "atol_scale": np.ones(len(x0)),
        "stiff": False,
    }
    return ExactProblem(
        name=name,
        title=title,
        t0=0.0,
        t_end=t_end,
        x0=x0,
        equations=equations,
        jacobian=jacobian,
        reference=exact(t_end),
        reference_digits=14.0,
        exact=exact,
        **(defaults | more),
    )


def prothero_robinson(rate: float = -1e4) -> ExactProblem:
    return _make(
        "prothero_robinson",
        f"Prothero-Robinson, lambda = {rate:g}",
        lambda t, x, m: [rate * (x[0] - m.cos(t)) - m.sin(t)],
        lambda t, x: np.array([[rate]]),
        lambda t: np.array([cos(t)]),
        t_end=10.0,
        stiff=rate < -100.0,
        names=["y"],
    )


def linear3() -> ExactProblem:
    rates = np.array([-1.0, -10.0, -100.0])
    vectors = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    inverse = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]]) / 2.0
    a = (vectors * rates) @ inverse
    return _make(
        "linear3",
        "linear, rates 1, 10, 100",
        lambda t, x, m: [sum(a[i, j] * x[j] for j in range(3)) for i in range(3)],
        lambda t, x: a.copy(),
        lambda t: np.asarray((vectors * np.exp(rates * t)) @ inverse @ np.array([1.0, 2.0, 3.0])),
        t_end=2.0,
    )


def logistic() -> ExactProblem:
    return _make(
        "logistic",
        "logistic growth",
        lambda t, x, m: [x[0] * (1.0 - x[0])],
        lambda t, x: np.array([[1.0 - 2.0 * x[0]]]),
        lambda t: np.array([1.0 / (1.0 + 9.0 * exp(-t))]),
        t_end=5.0,
        names=["y"],
    )


def linear_dae() -> ExactProblem:
    def exact(t: float) -> Array:
        x = (4.0 * cos(t) + 2.0 * sin(t) + exp(-2.0 * t)) / 5.0
        return np.array([x, 2.0 * cos(t) - x])

    return _make(
        "linear_dae",
        "linear DAE of index 1",
        lambda t, x, m: [-x[0] + x[1], x[0] + x[1] - 2.0 * m.cos(t)],
        lambda t, x: np.array([[-1.0, 1.0], [1.0, 1.0]]),
        exact,
        t_end=3.0,
        mass=np.diag([1.0, 0.0]),
        names=["x", "z"],
    )


def oscillator(omega: float = 2.0) -> ExactProblem:
    """The event is x = 0."""
    t_end = 10.0
    count = int(omega * t_end / pi + 0.5)
    return _make(
        "oscillator",
        "harmonic oscillator",
        lambda t, x, m: [x[1], -omega * omega * x[0]],
        lambda t, x: np.array([[0.0, 1.0], [-omega * omega, 0.0]]),
        lambda t: np.array([cos(omega * t), -omega * sin(omega * t)]),
        t_end=t_end,
        names=["x", "v"],
        roots=lambda t, x: np.array([x[0]]),
        event_times=[(k + 0.5) * pi / omega for k in range(count)],
        event_directions=[-1 if k % 2 == 0 else 1 for k in range(count)],
    )


def bouncing_ball(gravity: float = 9.81, restitution: float = 0.8) -> ExactProblem:
    """The event is h = 0 falling. Each flight lasts e times the one before."""
    t_end = 3.0
    first = sqrt(2.0 / gravity)
    times, flight = [first], 2.0 * restitution * first
    while times[-1] + flight < t_end:
        times.append(times[-1] + flight)
        flight *= restitution

    def exact(t: float) -> Array:
        past = sum(time <= t for time in times)
        if past == 0:
            return np.array([1.0 - 0.5 * gravity * t * t, -gravity * t])
        s, v = t - times[past - 1], gravity * first * restitution**past
        return np.array([v * s - 0.5 * gravity * s * s, v - gravity * s])

    return _make(
        "bouncing_ball",
        "bouncing ball",
        lambda t, x, m: [x[1], -gravity],
        lambda t, x: np.array([[0.0, 1.0], [0.0, 0.0]]),
        exact,
        t_end=t_end,
        names=["h", "v"],
        roots=lambda t, x: np.array([x[0]]),
        event_times=times,
        event_directions=[-1] * len(times),
        reset=lambda t, x: np.array([0.0, -restitution * x[1]]),
    )


def all_exact() -> tuple[ExactProblem, ...]:
    return (prothero_robinson(), linear3(), logistic(), linear_dae(), oscillator(), bouncing_ball())
