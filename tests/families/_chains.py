"""Random chains of masses with dry friction and stops: as Modelica text and as a piecewise linear system."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from families._piecewise import Matrix

Mode = tuple[tuple[int, ...], tuple[bool, ...]]  # friction: 0 stuck, 1 forward, -1 backward; stops: touched


@dataclass
class Link:
    """Between masses a and b (-1: the ground), acting on their difference."""

    a: int
    b: int
    c: float = 0.0
    d: float = 0.0
    force: float = 0.0  # dry friction: largest force
    gap: float = 0.0  # stops: touched where x_a - x_b > gap


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
        self.breaks = [0.0]

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
            force[:, 2 * n] -= self._difference(link) * link.force * way
        held = np.array([self._difference(self.frictions[k]) for k in stuck]).reshape(-1, n)
        inverse = np.diag(1.0 / np.array(self.masses))
        inner = held @ inverse @ held.T
        hold = np.linalg.pinv(inner, rcond=1e-9) @ held @ inverse @ force  # friction forces of what is stuck
        rate = inverse @ (force - held.T @ hold)
        for k, link in enumerate(self.frictions):
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
        for link in self.frictions:
            v = float(self._difference(link) @ z[self.n : 2 * self.n])
            ways.append((0, 1, -1) if abs(v) <= scale else (1,) if v > 0.0 else (-1,))
        touches: list[tuple[bool, ...]] = []
        for link in self.stops:
            s = float(self._difference(link) @ z[: self.n]) - link.gap
            touches.append((True, False) if abs(s) <= 1e-9 else (s > 0.0,))
        if mode is not None:
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
            limit = repr(link.force)
            equations += [
                f"w{k} = {v}; a{k} = der(w{k});",
                f"fwd{k} = pre(mode{k}) == 0 and (s{k} > {limit} or pre(fwd{k}) and s{k} > {limit}) or "
                f"pre(mode{k}) == -1 and w{k} > 1e10 or initial() and w{k} > 0;",
                f"bwd{k} = pre(mode{k}) == 0 and (s{k} < -{limit} or pre(bwd{k}) and s{k} < -{limit}) or "
                f"pre(mode{k}) == 1 and w{k} < -1e10 or initial() and w{k} < 0;",
                f"locked{k} = not (pre(mode{k}) == 1 or fwd{k} or pre(mode{k}) == -1 or bwd{k});",
                f"a{k} = if locked{k} then 0 else if fwd{k} then s{k} - {limit} else if bwd{k} then s{k} + {limit} "
                f"else if pre(mode{k}) == 1 then s{k} - {limit} else s{k} + {limit};",
                f"h{k} = if locked{k} then s{k} else if fwd{k} then {limit} else if bwd{k} then -{limit} "
                f"else if pre(mode{k}) == 1 then {limit} else -{limit};",
                f"mode{k} = if (pre(mode{k}) == 1 or fwd{k}) and w{k} > 0 then 1 else "
                f"if (pre(mode{k}) == -1 or bwd{k}) and w{k} < 0 then -1 else 0;",
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
