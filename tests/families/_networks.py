"""Random networks with ideal diodes, thyristors and switches: as Modelica text and as a piecewise linear system."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from families._piecewise import Matrix, lemke

Mode = tuple[tuple[bool, ...], int]  # which of the ideal elements conduct, segment of the sources and controls


@dataclass
class Element:
    """Between nodes a and b; node 0 is ground.

    R: r    C: c, r in series    L: l, r parallel (0: none)    V: source, r in series
    D, T, S: diode, thyristor, switch with r = Ron, g = Goff; D and T with a knee voltage
    """

    kind: str
    a: int
    b: int
    value: float = 0.0
    r: float = 0.0
    g: float = 0.0
    knee: float = 0.0
    wave: str = "sine"  # sine, constant, square
    phase: float = 0.0
    start: float = 0.0
    control: int = -1  # T, S: which pulse train


@dataclass
class Pulses:
    """True from k * period + delay on, for width."""

    period: float
    delay: float
    width: float

    def at(self, t: float) -> bool:
        """In the middle of a segment, so that rounding does not matter."""
        return t >= self.delay and (t - self.delay) % self.period < self.width


@dataclass
class Network:
    """Elements, and pulse trains that control them; square waves follow pulses[0]."""

    name: str
    elements: list[Element]
    stop: float
    omega: float = 314.0
    pulses: list[Pulses] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n = 1 + max(max(e.a, e.b) for e in self.elements)
        self.of = {kind: [e for e in self.elements if e.kind == kind] for kind in "RCLVDTS"}
        self.ideal = self.of["D"] + self.of["T"] + self.of["S"]
        self.states = self.of["C"] + self.of["L"]
        self.found: dict[Mode, tuple[Matrix, Matrix, Matrix]] = {}
        instants = {0.0}
        for train in self.pulses:
            steps = np.arange(int(self.stop / train.period) + 1) * train.period + train.delay
            instants |= {float(t) for t in steps} | {float(t) + train.width for t in steps}
        ordered = sorted(t for t in instants if t < self.stop)
        self.breaks = [t for k, t in enumerate(ordered) if k == 0 or t - ordered[k - 1] > 1e-12 * self.stop]
        ends = [*self.breaks[1:], self.stop]
        self.controls = [
            tuple(train.at(0.5 * (a + b)) for train in self.pulses) for a, b in zip(self.breaks, ends, strict=True)
        ]

    @property
    def start(self) -> Matrix:
        """States, then 1, sin, cos."""
        return np.array([*(e.start for e in self.states), 1.0, 0.0, 1.0])

    # -------------------------------------------------------------------------------- complementarity

    def _source(self, e: Element, segment: int) -> Matrix:
        n = len(self.states)
        row = np.zeros(n + 3)
        if e.wave == "sine":
            row[n + 1], row[n + 2] = e.value * np.cos(e.phase), e.value * np.sin(e.phase)
        else:
            row[n] = e.value * (-1.0 if e.wave == "square" and not self.controls[segment][0] else 1.0)
        return row

    def _equations(self, segment: int) -> tuple[Matrix, Matrix]:
        """Node potentials and branch currents without the ideal elements' columns: matrix and right sides in z."""
        nodes, branches = self.n - 1, self.of["V"] + self.of["C"]
        n = nodes + len(branches) + len(self.ideal)
        k, right = np.zeros((n, nodes + len(branches))), np.zeros((n, len(self.states) + 3))

        def enter(node: int, column: int, value: float) -> None:
            if node:
                k[node - 1, column] += value

        for e in self.elements:
            g = 1.0 / e.r if e.kind == "R" else (1.0 / e.r if e.kind == "L" and e.r else 0.0)
            for one, other in ((e.a, e.b), (e.b, e.a)):
                if one and g:
                    enter(one, one - 1, g)
                    if other:
                        enter(one, other - 1, -g)
            if e.kind == "L":
                column = len(self.of["C"]) + self.of["L"].index(e)
                for node, sign in ((e.a, -1.0), (e.b, 1.0)):
                    if node:
                        right[node - 1, column] += sign
        for j, e in enumerate([*branches, *self.ideal]):
            row = nodes + j
            for node, sign in ((e.a, 1.0), (e.b, -1.0)):
                if node:
                    k[row, node - 1] += sign
            if e.kind in "VC":
                enter(e.a, nodes + j, 1.0)
                enter(e.b, nodes + j, -1.0)
                k[row, nodes + j] = -e.r
                if e.kind == "V":
                    right[row] = self._source(e, segment)
                else:
                    right[row, self.of["C"].index(e)] = 1.0
            else:
                right[row, len(self.states)] = e.knee
                for node, sign in ((e.a, -1.0), (e.b, 1.0)):
                    if node:
                        right[node - 1, len(self.states)] += sign * e.g * e.knee
        return k, right

    def _columns(self, on: Iterable[bool]) -> Matrix:
        """Columns of s of the ideal elements, conducting or not."""
        rows = self.n - 1 + len(self.of["V"]) + len(self.of["C"])
        out = np.zeros((rows + len(self.ideal), len(self.ideal)))
        for j, (e, conducts) in enumerate(zip(self.ideal, on, strict=True)):
            current, voltage = (1.0, e.r) if conducts else (e.g, 1.0)
            if e.a:
                out[e.a - 1, j] += current
            if e.b:
                out[e.b - 1, j] -= current
            out[rows + j, j] = -voltage
        return out

    def solution(self, mode: Mode) -> tuple[Matrix, Matrix, Matrix]:
        """F, margins and all unknowns, as matrices on z."""
        if mode in self.found:
            return self.found[mode]
        on, segment = mode
        k, right = self._equations(segment)
        y = np.linalg.solve(np.hstack([k, self._columns(on)]), right)
        n, nodes = len(self.states), self.n - 1
        f = np.zeros((n + 3, n + 3))
        first = nodes + len(self.of["V"])
        for j, e in enumerate(self.of["C"]):
            f[j] = y[first + j] / e.value
        potential = np.vstack([np.zeros((1, n + 3)), y[:nodes]])
        for j, e in enumerate(self.of["L"]):
            f[len(self.of["C"]) + j] = (potential[e.a] - potential[e.b]) / e.value
        f[n + 1, n + 2], f[n + 2, n + 1] = self.omega, -self.omega
        s = y[nodes + len(self.of["V"]) + len(self.of["C"]) :]
        signs = np.array([1.0 if one else -1.0 for one in on])
        free = [j for j, e in enumerate(self.ideal) if self._is_free(e, on[j], segment)]
        self.found[mode] = f, (signs[:, None] * s)[free], y
        return self.found[mode]

    def _is_free(self, e: Element, on: bool, segment: int) -> bool:
        """Whether it may conduct or not; a thyristor may if it is fired or conducts already."""
        return e.kind == "D" or (e.kind == "T" and (on or self.controls[segment][e.control]))

    def matrices(self, mode: Mode) -> tuple[Matrix, Matrix]:
        """F and S."""
        return self.solution(mode)[:2]

    def arrive(self, z: Matrix, mode: Mode) -> Matrix:
        """States are continuous."""
        return z

    def guesses(self, z: Matrix, segment: int, mode: Mode | None) -> Iterable[Mode]:
        """The solution of the complementarity problem; then, as rounding may have spoilt it, all others."""
        before = mode[0] if mode else tuple(False for _ in self.ideal)
        control = self.controls[segment] if self.pulses else ()
        free = [j for j, e in enumerate(self.ideal) if self._is_free(e, before[j], segment)]
        base = [e.kind == "S" and control[e.control] for e in self.ideal]
        k, right = self._equations(segment)
        plain = np.linalg.solve(
            np.hstack([k, self._columns(base)]),
            np.hstack([(right @ z)[:, None], self._columns([True] * len(base))[:, free]]),
        )[k.shape[1] :][free]
        x = lemke(plain[:, 1:], -plain[:, 0])  # s = plain[:, 0] - plain[:, 1:] x;  w = -s
        if x is not None:
            w = plain[:, 1:] @ x - plain[:, 0]
            on = list(base)
            for place, j in enumerate(free):
                on[j] = bool(x[place] > max(w[place], 0.0))
            yield tuple(on), segment
        if mode is not None:
            yield tuple(b if j in free else base[j] for j, b in enumerate(before)), segment
        if len(free) <= 6:
            for combination in itertools.product((False, True), repeat=len(free)):
                on = list(base)
                for place, j in enumerate(free):
                    on[j] = combination[place]
                yield tuple(on), segment

    # -------------------------------------------------------------------------------- Modelica

    def text(self) -> str:
        """The same network as a model, element by element."""
        declarations, equations, initial = [f"Real u[{self.n}]; // node potentials"], ["u[1] = 0;"], []
        names = {id(e): f"{e.kind.lower()}{k}" for k, e in enumerate(self.elements)}
        for k, train in enumerate(self.pulses):
            declarations.append(f"Boolean p{k}; discrete Real at{k}(start = -1e6, fixed = true);")
            equations.append(
                f"when sample({train.delay!r}, {train.period!r}) then at{k} = time; end when; "
                f"p{k} = time < at{k} + {train.width!r};"
            )
        for e in self.elements:
            equations += self._element(e, names[id(e)], declarations)
        for node in range(2, self.n + 1):
            terms = [f"+ {names[id(e)]}.i" for e in self.elements if e.a == node - 1]
            terms += [f"- {names[id(e)]}.i" for e in self.elements if e.b == node - 1]
            equations.append(f"0 = {' '.join(terms).replace('.', '_')};")
        body = "\n  ".join(declarations) + "\nequation\n  " + "\n  ".join([*equations, *initial])
        return f"model M\n  {body}\nend M;\n"

    def _element(self, e: Element, n: str, declarations: list[str]) -> list[str]:
        v = f"u[{e.a + 1}] - u[{e.b + 1}]"
        declarations.append(f"Real {n}_i;")
        if e.kind == "R":
            return [f"{v} = {e.r!r} * {n}_i;"]
        if e.kind == "V":
            wave = {
                "sine": f"{e.value!r} * sin({self.omega!r} * time + ({e.phase!r}))",
                "constant": f"{e.value!r}",
                "square": f"(if p0 then {e.value!r} else {-e.value!r})",
            }[e.wave]
            return [f"{v} = {wave} + {e.r!r} * {n}_i;"]
        if e.kind == "C":
            declarations.append(f"Real {n}_v(start = {e.start!r}, fixed = true);")
            return [f"{e.value!r} * der({n}_v) = {n}_i;", f"{v} = {n}_v + {e.r!r} * {n}_i;"]
        if e.kind == "L":
            declarations.append(f"Real {n}_l(start = {e.start!r}, fixed = true);")
            parallel = f" + ({v}) / {e.r!r}" if e.r else ""
            return [f"{e.value!r} * der({n}_l) = {v};", f"{n}_i = {n}_l{parallel};"]
        declarations.append(f"Real {n}_s; Boolean {n}_off;")
        if e.kind == "T":
            declarations[-1] = f"Real {n}_s; Boolean {n}_off(start = true, fixed = true);"
        off = {
            "D": f"{n}_s < 0",
            "T": f"{n}_s < 0 or pre({n}_off) and not p{e.control}",
            "S": f"not p{e.control}",
        }[e.kind]
        return [
            f"{n}_off = {off};",
            f"{v} = {n}_s * (if {n}_off then 1 else {e.r!r}) + {e.knee!r};",
            f"{n}_i = {n}_s * (if {n}_off then {e.g!r} else 1) + {e.g * e.knee!r};",
        ]

    @property
    def names(self) -> list[str]:
        """States by name, in the order of z."""
        numbers = {id(e): k for k, e in enumerate(self.elements)}
        return [f"{e.kind.lower()}{numbers[id(e)]}_{'v' if e.kind == 'C' else 'l'}" for e in self.states]
