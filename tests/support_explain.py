"""Records for the rules of `explain`: made up from arrays, or by a small solver that counts like pliant's.

The solver is ROS2, a Rosenbrock method of order 2 with an embedded one of order 1 (Verwer et al., SIAM J. Sci. Comput.
20, 1999), with error test and events, so that the rules are tried on real step sequences without the C runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pliant.explain import KINDS, Incidents, RunRecord

GAMMA = 1.0 - np.sqrt(0.5)


def incidents_of(rows: Sequence[tuple[float, float, str, int, float]] = ()) -> Incidents:
    rows = sorted(rows, key=lambda row: row[0])
    return Incidents(
        time=np.array([row[0] for row in rows], dtype=np.float64),
        h=np.array([row[1] for row in rows], dtype=np.float64),
        kind=np.array([KINDS.index(row[2]) for row in rows], dtype=np.intp),
        index=np.array([row[3] for row in rows], dtype=np.intp),
        value=np.array([row[4] for row in rows], dtype=np.float64),
    )


def make_record(**given: Any) -> RunRecord:
    """A record of 400 quiet steps of three states; everything can be replaced."""
    states = given.pop("states", ("a", "b", "c"))
    n = len(states)
    steps = given.pop("n_steps", 400)
    stop = given.pop("stop", 10.0)
    ends = np.linspace(0.0, stop, steps + 1)[1:]
    plain: dict[str, Any] = {
        "model": "Plant",
        "states": states,
        "algebraic": frozenset(),
        "start": 0.0,
        "stop": stop,
        "reached": stop,
        "complete": True,
        "method": "bdf",
        "used": "bdf",
        "counters": {"n_steps": steps, "n_rhs": 600, "n_jac": 20, "n_factor": 60, "n_solve": 550, "n_error_fails": 8},
        "seconds": 0.01,
        "rtol": 1e-6,
        "atol": np.full(n, 1e-8),
        "atol_given": False,
        "nominal": np.full(n, np.nan),
        "largest": np.ones(n),
        "first": np.ones(n),
        "limits": np.full(n, steps // max(n, 1), dtype=np.int64),
        "error_fails": np.zeros(n, dtype=np.int64),
        "newton_fails": np.zeros(n, dtype=np.int64),
        "steps": {
            "time": ends,
            "h": np.full(steps, stop / max(steps, 1)),
            "order": np.full(steps, 4),
            "method": np.full(steps, "bdf"),
        },
        "incidents": incidents_of(),
        "incidents_lost": 0,
        "roots": (),
        "events": (),
        "jacobian": "exact",
        "increments": "default",
        "colours": 0,
        "cost": lambda: {"rhs": 1e-6, "jacobian": 5e-6, "factor": 2e-6, "solve": 1e-6},
        "place": lambda name: "",
    }
    return RunRecord(**{**plain, **given})


# -- a small solver that keeps a record -------------------------------------------------------------------------


@dataclass
class Switch:
    """A root function with its reaction: react(t, x, memory) -> new x."""

    name: str
    root: Callable[[float, np.ndarray, dict[str, float]], float]
    react: Callable[[float, np.ndarray, dict[str, float]], np.ndarray]


@dataclass
class Recorder:
    """Counts of a run while it goes on."""

    n: int
    ends: list[float] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)
    rows: list[tuple[float, float, str, int, float]] = field(default_factory=list)
    events: list[tuple[float, tuple[str, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.limits, self.fails, self.near = (np.zeros(self.n, dtype=np.int64) for _ in range(3))


def rosenbrock(f: Callable[..., np.ndarray], t: float, x: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
    """One step of ROS2 and the difference to the embedded method of order 1."""
    fx = f(t, x)
    jac = np.empty((len(x), len(x)))
    for j in range(len(x)):
        d = 1e-7 * max(abs(x[j]), 1e-5)
        moved = x.copy()
        moved[j] += d
        jac[:, j] = (f(t, moved) - fx) / d
    w = np.eye(len(x)) - h * GAMMA * jac
    k1 = np.linalg.solve(w, fx)
    k2 = np.linalg.solve(w, f(t + h, x + h * k1) - 2.0 * k1)
    return x + 1.5 * h * k1 + 0.5 * h * k2, 0.5 * h * (k1 + k2)


def emulate(
    f: Callable[[float, np.ndarray, dict[str, float]], Sequence[float]],
    x0: Sequence[float],
    stop: float,
    *,
    rtol: float = 1e-4,
    atol: Sequence[float] | float | None = None,
    nominal: Sequence[float] | None = None,
    switches: Sequence[Switch] = (),
    names: Sequence[str] | None = None,
    most: int = 4000,
    near_zero: bool = False,
) -> RunRecord:
    """Integrate and count; ends early after `most` steps."""
    x, n, t, h = np.array(x0, dtype=np.float64), len(x0), 0.0, 1e-6 * stop
    entered = np.full(n, np.nan) if nominal is None else np.array(nominal, dtype=np.float64)
    scale = np.where(np.isfinite(entered), entered, 1.0)
    tolerance = 0.01 * rtol * scale if atol is None else np.broadcast_to(np.asarray(atol, dtype=np.float64), n).copy()
    memory: dict[str, float] = {}
    keep, largest = Recorder(n), np.abs(x)
    rhs = lambda t, x: np.asarray(f(t, x, memory), dtype=np.float64)  # noqa: E731
    while t < stop and len(keep.ends) < most:
        h = min(h, stop - t)
        new, difference = rosenbrock(rhs, t, x, h)
        ratio = np.abs(difference) / (rtol * np.maximum(np.abs(x), np.abs(new)) + tolerance)
        worst = int(np.argmax(ratio))
        error = float(ratio[worst])
        if error > 1.0:
            keep.fails[worst] += 1
            keep.rows.append((t, h, "error", worst, error))
            h *= max(0.2, 0.9 / np.sqrt(error))
            continue
        fired = [s for s in switches if s.root(t, x, memory) * s.root(t + h, new, memory) < 0]
        theta = 1.0
        if fired:  # the first crossing, on the line between the ends
            low, theta = 0.0, 1.0
            for _ in range(60):
                middle = 0.5 * (low + theta)
                point = x + middle * (new - x)
                crossed = [s for s in switches if s.root(t, x, memory) * s.root(t + middle * h, point, memory) < 0]
                low, theta, fired = (low, middle, crossed) if crossed else (middle, theta, fired)
        new = x + theta * (new - x)
        t, h_taken = t + theta * h, theta * h
        keep.ends.append(t)
        keep.sizes.append(h_taken)
        keep.limits[worst] += 1
        largest = np.maximum(largest, np.abs(new))
        keep.near[worst] += abs(new[worst]) < 1e-3 * largest[worst]
        x = new
        h *= min(3.0, 0.9 / np.sqrt(max(error, 1e-10)))
        if fired:
            for switch in fired:
                x = np.asarray(switch.react(t, x, memory), dtype=np.float64)
            keep.events.append((t, tuple(switch.name for switch in fired)))
            keep.rows.append((t, h_taken, "restart", -1, 0.0))
            h = max(min(h, 1e-3 * stop), 1e-9)
    steps = len(keep.ends)
    return make_record(
        states=tuple(names or (f"x{i}" for i in range(n))),
        stop=stop,
        reached=t,
        complete=t >= stop,
        n_steps=steps,
        counters={
            "n_steps": steps,
            "n_rhs": 2 * steps,
            "n_jac": steps,
            "n_factor": steps,
            "n_error_fails": int(keep.fails.sum()),
        },
        method="lieuler",
        used="rosenbrock",
        rtol=rtol,
        atol=tolerance,
        atol_given=atol is not None,
        nominal=entered,
        largest=largest,
        first=np.array(x0, dtype=np.float64),
        limits=keep.limits,
        error_fails=keep.fails,
        newton_fails=np.zeros(n, dtype=np.int64),
        steps={
            "time": np.array(keep.ends),
            "h": np.array(keep.sizes),
            "order": np.full(steps, 2),
            "method": np.full(steps, "rosenbrock"),
        },
        incidents=incidents_of(keep.rows),
        roots=tuple(s.name for s in switches),
        events=keep.events,
        near_zero=keep.near if near_zero else None,
    )
