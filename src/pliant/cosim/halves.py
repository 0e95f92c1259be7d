"""Errors of a macro step from the same step in two halves: of states, of whatever else the parts give, and of
connections.

    error of the halves  =  |one - two| / (2^(k+1) - 1),      local errors of order H^(k+2)

(Richardson; Schierz, Arnold & Clauss 2012). It also sees what inputs do inside a part whose outputs nobody needs,
and parts that hold their inputs during a step. A connection into the part concerned is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.estimate import NOISE, InputErrors

if TYPE_CHECKING:
    from pliant.cosim.master import Master


class HalfErrors:
    """Compares rows of the parts' variables."""

    def __init__(self, m: Master, inputs: InputErrors) -> None:
        self.m, self.inputs = m, inputs
        chosen: list[int] = []
        self.part: list[int] = []
        nominal: list[float] = []
        base = 0
        for p, about in enumerate(m.recorder.abouts):
            wanted = set(about.states) or set(m.chosen[p])
            for place, name in enumerate(about.columns):
                info = about.info.get(name)
                if name in wanted and (info is None or info.type == "real"):
                    chosen.append(base + place)
                    self.part.append(p)
                    nominal.append(abs(info.nominal) if info is not None and info.nominal else 1.0)
            base += len(about.columns)
        self.chosen, self.nominal = np.array(chosen, dtype=int), np.array(nominal)
        start = self.row(m.samples[0])
        self.low, self.high = start, start.copy()

    def row(self, u: Sequence[Vector]) -> Vector:
        """The variables where the parts stand."""
        return np.asarray(self.m.recorder.read(u)[self.chosen])

    def of(self, one: Vector, two: Vector, ends: Vector, degree: int) -> Vector:
        """Errors by connection, in units of what is allowed; ``ends``: those of the inputs in the second half."""
        self.low, self.high = np.minimum(self.low, two), np.maximum(self.high, two)
        size = np.maximum.reduce([self.high - self.low, np.abs(self.low), np.abs(self.high), self.nominal])
        noise = NOISE * self.inputs.rtol * np.maximum(np.abs(two), self.nominal)
        off = np.abs(one - two) / (2.0 ** (degree + 1) - 1.0) / np.maximum(noise, self.inputs.macro_rtol * size)
        out = np.zeros(len(ends))
        into = np.array([p for p, _ in self.inputs.places])
        for p in np.unique(into):
            mine = [k for k, q in enumerate(self.part) if q == p]
            if mine:
                wires = np.flatnonzero(into == p)
                out[wires[int(np.argmax(ends[wires]))]] = float(off[mine].max())
        return out
