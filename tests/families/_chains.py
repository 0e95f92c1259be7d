"""Random chains of masses with dry friction, clutches and stops: as Modelica text and as a piecewise linear system."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from families._networks import Pulses
from families._piecewise import Matrix

OPEN = 2
Mode = tuple[tuple[int, ...], tuple[bool, ...]]  # friction: 0 stuck, 1 forward, -1 backward, OPEN; stops: touched


@dataclass
class Link:
    """Between masses a and b (-1: the ground), acting on their difference."""

    a: int
    b: int
    c: float = 0.0
    d: float = 0.0
    force: float = 0.0  # dry friction: largest force
    gap: float = 0.0  # stops: touched where x_a - x_b > gap
    pressed: Pulses | None = None  # clutches: when there is friction at all


@dataclass
class Chain:
    """Masses, springs, friction elements, stops, and a sine force on each mass."""

    masses: list[float]
    springs: list[Link]
    frictions: list[Link]
    stops: list[Link]
    amplitude: list[float]
    position: list[float]
    velocity: list[float]
    omega: float
    stop: float

    def __post_init__(self) -> None:
        self.n = len(self.masses)
        self.found: dict[Mode, tuple[Matrix, Matrix]] = {}
        instants = {0.0}
        for one in self.frictions:
            if one.pressed is not None:
                steps = np.arange(int(self.stop / one.pressed.period) + 1) * one.pressed.period + one.pressed.delay
                instants |= {float(t) for t in steps} | {float(t) + one.pressed.width for t in steps}
        ordered = sorted(t for t in instants if t < self.stop)
        self.breaks = [t for k, t in enumerate(ordered) if k == 0 or t - ordered[k - 1] > 1e-12 * self.stop]
        ends = [*self.breaks[1:], self.stop]
        self.is_open = [
            tuple(one.pressed is not None and not one.pressed.at(0.5 * (a + b)) for one in self.frictions)
            for a, b in zip(self.breaks, ends, strict=True)
        ]

    @property
    def start(self) -> Matrix:
        """Positions, velocities, then 1, sin, cos."""
        return np.array([*self.position, *self.velocity, 1.0, 0.0, 1.0])

    def _difference(self, link: Link) -> Matrix:
        row = np.zeros(self.n)
        row[link.a] = 1.0
        if link.b >= 0:
            row[link.b] -= 1.0
        return row

    def matrices(self, mode: Mode) -> tuple[Matrix, Matrix]:
        """F and S."""
        if mode in self.found:
            return self.found[mode]
        n, frictions, touched = self.n, mode[0], mode[1]
        force = np.zeros((n, 2 * n + 3))
        margins = []
        force[:, 2 * n + 1] = self.amplitude
        for link, acts in [*((one, True) for one in self.springs), *zip(self.stops, touched, strict=True)]:
            d = self._difference(link)
            row = np.concatenate([d, np.zeros(n), [-link.gap, 0.0, 0.0]])
            if link in self.stops:
                margins.append(row if acts else -row)
            if acts:
                pull = link.c * row
                pull[n : 2 * n] += link.d * d
                force -= np.outer(d, pull)
        stuck = [k for k, m in enumerate(frictions) if m == 0]
        for link, way in zip(self.frictions, frictions, strict=True):
            force[:, 2 * n] -= self._difference(link) * link.force * (way if way != OPEN else 0)
        held = np.array([self._difference(self.frictions[k]) for k in stuck]).reshape(-1, n)
        inverse = np.diag(1.0 / np.array(self.masses))
        inner = held @ inverse @ held.T
        hold = np.linalg.pinv(inner, rcond=1e-9) @ held @ inverse @ force  # friction forces of what is stuck
        rate = inverse @ (force - held.T @ hold)
        for k, link in enumerate(self.frictions):
            if frictions[k] == OPEN:
                continue
            if frictions[k]:
                margins.append(frictions[k] * np.concatenate([np.zeros(n), self._difference(link), np.zeros(3)]))
            else:
                limit = np.concatenate([np.zeros(2 * n), [link.force, 0.0, 0.0]])
                margins += [limit - hold[stuck.index(k)], limit + hold[stuck.index(k)]]
        f = np.zeros((2 * n + 3, 2 * n + 3))
        f[:n, n : 2 * n] = np.eye(n)
        f[n : 2 * n] = rate
        f[2 * n + 1, 2 * n + 2], f[2 * n + 2, 2 * n + 1] = self.omega, -self.omega
        self.found[mode] = f, np.array(margins).reshape(-1, 2 * n + 3)
        return self.found[mode]

    def arrive(self, z: Matrix, mode: Mode) -> Matrix:
        """What is stuck has no velocity at all."""
        held = np.array([self._difference(one) for one, m in zip(self.frictions, mode[0], strict=True) if m == 0])
        if not len(held):
            return z
        inverse = np.diag(1.0 / np.array(self.masses))
        out = z.copy()
        v = out[self.n : 2 * self.n]
        out[self.n : 2 * self.n] = v - inverse @ held.T @ np.linalg.pinv(held @ inverse @ held.T) @ (held @ v)
        return out

    def guesses(self, z: Matrix, segment: int, mode: Mode | None) -> Iterable[Mode]:
        """All that the velocities allow; the present one first."""
        ways: list[tuple[int, ...]] = []
        scale = 1e-7 * (np.abs(z[self.n : 2 * self.n]).max() + 1e-3)
        is_open = self.is_open[segment]
        for link, free in zip(self.frictions, is_open, strict=True):
            if free:
                ways.append((OPEN,))
                continue
            v = float(self._difference(link) @ z[self.n : 2 * self.n])
            ways.append((0, 1, -1) if abs(v) <= scale else (1,) if v > 0.0 else (-1,))
        touches: list[tuple[bool, ...]] = []
        for link in self.stops:
            s = float(self._difference(link) @ z[: self.n]) - link.gap
            touches.append((True, False) if abs(s) <= 1e-9 else (s > 0.0,))
        if mode is not None and is_open == tuple(one == OPEN for one in mode[0]):
            yield mode
        for frictions in itertools.product(*ways):
            for touched in itertools.product(*touches):
                yield frictions, touched

    def text(self) -> str:
        """The same as a model; friction as Otter, Elmqvist & Mattsson (CACSD 1999) parametrise it."""
        declarations, equations = [], []
        force = {k: f"{a!r} * sin({self.omega!r} * time)" for k, a in enumerate(self.amplitude)}
        for k in range(self.n):
            declarations += [
                f"Real x{k}(start = {self.position[k]!r}, fixed = true);",
                f"Real v{k}(start = {self.velocity[k]!r}, fixed = true);",
            ]
            equations.append(f"der(x{k}) = v{k};")
        for k, link in enumerate(self.springs + self.stops):
            x, v = (f"{q}{link.a}" + (f" - {q}{link.b}" if link.b >= 0 else "") for q in "xv")
            declarations.append(f"Real f{k};")
            pull = f"{link.c!r} * (({x}) - {link.gap!r}) + {link.d!r} * ({v})"
            touched = "" if k < len(self.springs) else f"if {x} > {link.gap!r} then "
            equations.append(f"f{k} = {touched}{pull}{' else 0' if touched else ''};")
            self._act(force, link, f"f{k}")
        for k, link in enumerate(self.frictions):
            v = f"v{link.a}" + (f" - v{link.b}" if link.b >= 0 else "")
            declarations.append(
                f"Real w{k}, a{k}, s{k}, h{k}; Boolean fwd{k}(start = false, fixed = true), bwd{k}(start = false, "
                f"fixed = true), locked{k}; Integer mode{k}(start = 3, fixed = true);"
            )
            limit, mode = repr(link.force), f"pre(mode{k})"
            train = link.pressed
            pressed, slips, forward, backward = "true", "", f"{mode} == 1", f"{mode} == -1"
            if train is not None:  # as clutches do: a mode of their own while nothing presses
                declarations.append(f"discrete Real at{k}(start = -1e6, fixed = true);")
                equations.append(f"when sample({train.delay!r}, {train.period!r}) then at{k} = time; end when;")
                pressed = f"time < at{k} + {train.width!r}"
                slips, forward, backward = (
                    f"if not on{k} then 2 else ",
                    f"({forward} or {mode} == 2)",
                    f"({backward} or {mode} == 2)",
                )
            free = f"not on{k} or "
            declarations.append(f"Boolean on{k};")
            equations += [
                f"on{k} = {pressed};",
                f"w{k} = {v}; a{k} = der(w{k});",
                f"fwd{k} = {mode} == 0 and (s{k} > {limit} or pre(fwd{k}) and s{k} > {limit}) or "
                f"{mode} == -1 and w{k} > 1e10 or initial() and w{k} > 0;",
                f"bwd{k} = {mode} == 0 and (s{k} < -{limit} or pre(bwd{k}) and s{k} < -{limit}) or "
                f"{mode} == 1 and w{k} < -1e10 or initial() and w{k} < 0;",
                f"locked{k} = not ({free}{mode} == 1 or fwd{k} or {mode} == -1 or bwd{k});",
                f"a{k} = if locked{k} then 0 else if not on{k} then s{k} else if fwd{k} then s{k} - {limit} "
                f"else if bwd{k} then s{k} + {limit} else if {mode} == 1 then s{k} - {limit} else s{k} + {limit};",
                f"h{k} = if locked{k} then s{k} else if not on{k} then 0 else if fwd{k} then {limit} "
                f"else if bwd{k} then -{limit} else if {mode} == 1 then {limit} else -{limit};",
                f"mode{k} = {slips}if ({forward} or fwd{k}) and w{k} > 0 then 1 else "
                f"if ({backward} or bwd{k}) and w{k} < 0 then -1 else 0;",
            ]
            self._act(force, link, f"h{k}")
        equations += [f"{mass!r} * der(v{k}) = {force[k]};" for k, mass in enumerate(self.masses)]
        body = "\n  ".join(declarations) + "\nequation\n  " + "\n  ".join(equations)
        return f"model M\n  {body}\nend M;\n"

    def _act(self, force: dict[int, str], link: Link, name: str) -> None:
        force[link.a] += f" - {name}"
        if link.b >= 0:
            force[link.b] += f" + {name}"

    @property
    def names(self) -> list[str]:
        """States by name, in the order of z."""
        return [f"x{k}" for k in range(self.n)] + [f"v{k}" for k in range(self.n)]
