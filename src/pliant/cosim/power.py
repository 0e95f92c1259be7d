"""Energy that a coupling creates or loses where a pair of connections carries power.

Part A gives a potential e (force, voltage, ...) to part B, B gives the flow f (speed, current, ...) back. Each of
them computes with the values it was given: A gives the power e f~, B takes e~ f, where ~ marks input polynomials. In a
macro step the coupling creates

    dE = int (e~ f - e f~) dt        (power bonds and their residual energy: Sadjina et al. 2017)

of the energy int |e f| dt that goes through. Within the step e and f are the polynomials through the samples at its
end, at its beginning and the two before: an estimate, since the signals have kinks there. 3 points of Gauss
integrate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.calls import by_keyword_class
from pliant.cosim.graph import PartGraph
from pliant.cosim.part import Matrix
from pliant.cosim.signals import at
from pliant.errors import ArgumentError
from pliant.plain import AsDict

if TYPE_CHECKING:
    from pliant.cosim.master import Master

NODES = 0.5 + np.sqrt(0.15) * np.array([-1.0, 0.0, 1.0])
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0


@dataclass(frozen=True)
class PowerPair:
    """Places of two connections that carry power together."""

    name: str
    potential: int
    flow: int


@by_keyword_class
@dataclass(frozen=True, eq=False)
class CouplingEnergy(AsDict):
    """Energy at a pair of connections, at all communication points.

    created      by the coupling so far; negative: lost
    transferred  what has gone through so far, there and back
    """

    name: str
    _: KW_ONLY
    time: NDArray[np.float64]
    created: NDArray[np.float64]
    transferred: NDArray[np.float64]

    @property
    def share(self) -> float:
        """The largest energy created or lost, as a share of what has gone through in the whole run."""
        total = float(self.transferred[-1]) if len(self.transferred) else 0.0
        most = float(np.abs(self.created).max(initial=0.0))
        return most / total if total > 0.0 else 0.0


def power_pair(graph: PartGraph, potential: str, flow: str) -> PowerPair:
    """Two variables that are connected in opposite directions between the same two parts."""
    found = []
    for what, path in (("potential", potential), ("flow", flow)):
        part, name = graph.split(path, what)
        places = [k for k, one in enumerate(graph.connections) if (one.source_part, one.source) == (part.name, name)]
        if not places:
            part.port(name)  # an unknown name is told as such
            raise ArgumentError(f"{what}: {path} is not connected to anything", hint="connect it before power()")
        found.append(places)
    for one in found[0]:
        for other in found[1]:
            a, b = graph.connections[one], graph.connections[other]
            if (a.source_part, a.target_part) == (b.target_part, b.source_part):
                return PowerPair(f"{potential} * {flow}", one, other)
    raise ArgumentError(
        f"{potential} and {flow} do not go in opposite directions between the same two parts",
        hint="one part gives the potential (force, voltage), the other gives the flow (speed, current) back",
    )


def _through(times: Vector, samples: Vector, nodes: Vector) -> Vector:
    """Values at nodes of the polynomial through all samples, by Lagrange's formula."""
    out = np.zeros(len(nodes))
    for k, value in enumerate(samples):
        others = np.delete(times, k)
        out += value * np.prod((nodes[:, None] - others) / (times[k] - others), axis=1)
    return out


class PowerMeter:
    """Sums up what each pair does in every macro step."""

    def __init__(self, master: Master, pairs: Sequence[PowerPair]) -> None:
        self.m, self.pairs = master, list(pairs)
        self.places = [(wire.target_part, wire.input) for wire in master.wires]
        self.rows = [np.zeros((len(self.pairs), 2))]
        self.half = np.zeros((len(self.pairs), 2))  # of a first half that belongs to the next row

    def step(self, t: float, t_next: float, found: Sequence[Vector]) -> Matrix:
        """Energy created and transferred in the macro step that was just made, by pair."""
        out = np.zeros((len(self.pairs), 2))
        if t_next <= t:
            return out
        for row, pair in enumerate(self.pairs):
            e, e_told = self._both(pair.potential, t, t_next, found)
            f, f_told = self._both(pair.flow, t, t_next, found)
            out[row] = (t_next - t) * np.array([WEIGHTS @ (e_told * f - e * f_told), WEIGHTS @ np.abs(e * f)])
        return out

    def _both(self, k: int, t: float, t_next: float, found: Sequence[Vector]) -> tuple[Vector, Vector]:
        """A connection at the nodes: as it was, and as its part was given."""
        m, (p, j) = self.m, self.places[k]
        times = np.array([t_next, *m.times])
        samples = np.array([found[p][j], *(one[p][j] for one in m.samples)])
        told, h = m.pieces[p][:, [j]], t_next - t
        follows = getattr(m.parts[p], "follows", None)
        if follows is not None and not follows[j]:  # it holds the mean
            mean = told[0] + h * (told[1] / 2.0 + h * told[2] / 3.0)
            told = np.array([mean, np.zeros(1), np.zeros(1)])
        nodes = h * NODES
        return _through(times, samples, t + nodes), np.array([at(told, dt)[0] for dt in nodes])

    def add(self, t: float, t_next: float, found: Sequence[Vector]) -> None:
        """The step stands."""
        if self.pairs:
            self.rows.append(self.half + self.step(t, t_next, found))
            self.half = np.zeros((len(self.pairs), 2))

    def energies(self, times: NDArray[np.float64]) -> Mapping[str, CouplingEnergy]:
        """By pair, up to now."""
        sums = np.cumsum(np.array(self.rows), axis=0)
        return {
            pair.name: CouplingEnergy(
                pair.name, time=times[: len(sums)], created=sums[:, k, 0].copy(), transferred=sums[:, k, 1].copy()
            )
            for k, pair in enumerate(self.pairs)
        }
