"""Chains of blocks solved without pliant: pieces between events by DOP853, events by bisection, rounds by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from families._blocks import Block, Point

NEAR, CLEAR = 1e-9, 1e-5


class Fragile(Exception):
    """The answer depends on rounding."""


@dataclass
class Drive:
    """The first input of a chain: value(t, middle of a piece), times where it is not smooth."""

    value: Callable[[float, float], float]
    breaks: list[float]


@dataclass
class Chain:
    """Blocks one behind the other; the last one's output, times `back`, is subtracted from what drives the first."""

    blocks: list[Block]
    drive: Drive
    back: float
    start: float
    stop: float
    x: list[list[float]] = field(default_factory=list)
    d: dict[str, float] = field(default_factory=dict)
    on: list[list[bool]] = field(default_factory=list)
    pieces: list[tuple[float, float, list[Any], dict[str, float]]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)

    def split(self, y: Any) -> list[Any]:
        """States by block."""
        out, k = [], 0
        for one in self.blocks:
            out.append(y[k : k + one.n_x])
            k += one.n_x
        return out

    def points(self, t: float, x: list[Any], d: dict[str, float], middle: float) -> tuple[list[Point], list[float]]:
        """What every block sees, and all outputs."""
        first = self.drive.value(t, middle)
        if self.back:
            last = self.blocks[-1]
            first -= self.back * last.output(Point(t, x[-1], 0.0, d, []))
        found, outputs, w = [], [], first
        for one, own in zip(self.blocks, x, strict=True):
            at = Point(t, own, w, d, [])
            w = one.output(at)
            found.append(at)
            outputs.append(w)
        return found, outputs

    def _slope(self, t: float, y: Any, middle: float) -> Any:
        found, _ = self.points(t, self.split(y), self.d, middle)
        return np.array([v for one, at in zip(self.blocks, found, strict=True) for v in one.slope(at)])

    def _sides(self, t: float, y: Any, middle: float) -> list[list[float]]:
        found, _ = self.points(t, self.split(y), self.d, middle)
        return [one.sides(at) for one, at in zip(self.blocks, found, strict=True)]

    def _turned(self, t: float, y: Any, middle: float) -> bool:
        sides = self._sides(t, y, middle)
        return any(
            (g > 0) != on and abs(g) > NEAR
            for own, held in zip(sides, self.on, strict=True)
            for g, on in zip(own, held, strict=True)
        )

    # ------------------------------------------------------------------------------------------------ events

    def _rounds(self, t: float, middle: float, due: list[bool], first: bool) -> None:
        """Values at an instant, block by block, until nothing is set anew."""
        for turn in range(6):
            before, held, moved = dict(self.d), [list(one) for one in self.on], False
            if first and turn == 0:
                held = [[] for _ in self.blocks]
            for k, one in enumerate(self.blocks):
                found, _ = self.points(t, self.x, self.d, middle)
                at = found[k]
                sides = one.sides(at)
                now = []
                for j, g in enumerate(sides):
                    value = g > 0
                    if held[k] and abs(g) < CLEAR:
                        if turn == 0 and abs(g) > 3 * NEAR and abs(g) < CLEAR / 10 and value != held[k][j]:
                            raise Fragile
                        if abs(g) > 3e-8:
                            raise Fragile
                        value = (g > 0) if abs(g) > NEAR else held[k][j]
                    elif abs(g) < CLEAR:
                        raise Fragile
                    now.append(value)
                at.on = now
                rose = [a and not b for a, b in zip(now, held[k], strict=True)] if held[k] else [False] * len(now)
                self.on[k] = now
                own = {name: before[name] for name in one.discrete()}
                self.d |= one.settle(at, own, rose, due[k] and turn == 0)
                new = one.reset(at, rose)
                if new is not None:
                    self.x[k], moved = new, True
            if not moved and self.d == before:
                return
        raise Fragile

    def solve(self) -> None:
        """From start to stop."""
        self._begin()
        marks = {self.start: [False] * len(self.blocks), self.stop: [False] * len(self.blocks)}
        for k, one in enumerate(self.blocks):
            for t in one.ticks(self.start, self.stop):
                same = next((s for s in marks if abs(s - t) < 1e-9), t)
                marks.setdefault(same, [False] * len(self.blocks))[k] = True
        for t in self.drive.breaks:
            if self.start < t < self.stop and not any(abs(s - t) < 1e-9 for s in marks):
                marks[t] = [False] * len(self.blocks)
        times = sorted(marks)
        if min(np.diff(times)) < 1e-5:
            raise Fragile
        self.times = [t for t in times if any(marks[t]) or t in self.drive.breaks]
        for a, b in itertools.pairwise(times):
            middle = 0.5 * (a + b)
            self._rounds(a, middle, marks[a], a == self.start)
            self._piece(a, b, middle)

    def _begin(self) -> None:
        t, middle = self.start, self.start + 1e-7
        self.x, self.d = [[0.0] * one.n_x for one in self.blocks], {}
        for one in self.blocks:
            self.d |= one.discrete()
        self.on = [[] for _ in self.blocks]
        if self.back:
            self.x[-1] = self.blocks[-1].first(0.0)
        for k, one in enumerate(self.blocks):
            for other in self.blocks[k:]:
                self.d.setdefault(f"$g{other.k}", 1.0)
            found, _ = self.points(t, self.x, self.d, middle)
            w = found[k].w
            self.x[k] = one.first(w)
            if "c" in one.p and type(one).__name__ == "Found":
                self.d[f"$g{one.k}"] = one.p["c"] / (1.5 + w**2)
            # what acts at once before the first event
            found, _ = self.points(t, self.x, self.d, middle)
            if type(one).__name__ in ("Relay", "Chopper"):
                found[k].on = [g > 0 for g in one.sides(found[k])]
                if type(one).__name__ == "Chopper" or one.p["form"] == 0:
                    self.d |= one.settle(
                        found[k], {name: self.d[name] for name in one.discrete()}, [False, False], True
                    )

    def _piece(self, a: float, b: float, middle: float) -> None:
        t, n_events = a, 0
        while t < b:
            y = np.array([v for own in self.x for v in own], dtype=float)
            if not len(y):
                y = np.zeros(1)
            bare = sum(one.n_x for one in self.blocks) == 0
            slope = (lambda s, z: np.zeros(1)) if bare else (lambda s, z: self._slope(s, z, middle))
            solver = DOP853(slope, t, y, b, rtol=1e-10, atol=1e-12, max_step=0.02)
            event = None
            while solver.status == "running" and event is None:
                solver.step()
                dense = solver.dense_output()
                self.pieces.append((solver.t_old, solver.t, dense, dict(self.d), middle))  # type: ignore[arg-type]
                last = solver.t_old
                for s in np.linspace(solver.t_old, solver.t, 5)[1:]:
                    if self._turned(s, dense(s), middle):
                        event = self._bisect(last, float(s), dense, middle)
                        break
                    last = float(s)
            if event is None:
                self.x = [list(own) for own in self.split(solver.y)]
                return
            n_events += 1
            if n_events > 60 or min(abs(event - a), abs(event - b)) < 1e-5:
                raise Fragile
            self._cut(event)
            self.x = [list(own) for own in self.split(dense(event))]
            self.times.append(event)
            self._rounds(event, middle, [False] * len(self.blocks), False)
            t = event

    def _bisect(self, low: float, high: float, dense: Any, middle: float) -> float:
        for _ in range(60):
            between = 0.5 * (low + high)
            if self._turned(between, dense(between), middle):
                high = between
            else:
                low = between
        return high

    def _cut(self, t: float) -> None:
        a, b, *rest = self.pieces[-1]
        self.pieces[-1] = (a, min(b, t), *rest)  # type: ignore[arg-type]

    def at(self, t: float) -> dict[str, float]:
        """Outputs y and discrete values at a time inside a piece."""
        for a, b, dense, d, middle in reversed(self.pieces):  # type: ignore[misc]
            if a <= t <= b:
                _, outputs = self.points(t, self.split(dense(t)), d, middle)
                shown = {f"y{one.k}": value for one, value in zip(self.blocks, outputs, strict=True)}
                return shown | {name: value for name, value in d.items() if not name.startswith("$")}
        raise Fragile
