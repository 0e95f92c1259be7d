"""Outputs of a co-simulation FMU for other inputs than its last step left, where it stands.

A loop of direct feed-through needs y(x, u) for several u. FMI gives outputs as a step left them; there are these ways
to more, and the first that works is taken:

    taken back    the state is saved, a step of 1e-7 of the longest is made with these inputs, outputs are read, and the
                  state is restored: solvers inside do not notice
    event mode    FMI 3: inputs are set and outputs are read there, as often as needed; many FMUs restart after it
    set           inputs are set and outputs read without a step. FMI leaves open what comes then (2.0.4, section
                  4.2.4), so a second instance shows first whether outputs follow
    derivatives   y + D (u - u_had) with D from differences in the initialisation of a second instance: exact for
                  linear feed-through, else wrong by the change of D times what the extrapolation missed

Jacobians are those of the last differences, corrected by every trial (Broyden 1965).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pliant.arguments import Vector
from pliant.cosim.part import Matrix, Pattern
from pliant.errors import PliantError

if TYPE_CHECKING:
    from pliant.cosim.fmu_part import FmuPart

EVENT_MODE, TAKEN_BACK, SET, DERIVATIVES = "event mode", "taken back", "set", "derivatives"
SHORT = 1e-7  # of the last step: length of one that is taken back
MOVED = 1e-5  # relative change of an input, for differences
TOLD = 1e-7  # relative change of an input from which a trial corrects the Jacobian
AGAIN = (4, 10, 18)  # calls for a Jacobian at one point at which differences are taken anew
NOTHING = 1e-12  # differences that are none
FOLLOWS = 0.5  # of the expected change: an output that changes by more follows its input


class InputTrials:
    """Tries inputs of one part."""

    def __init__(self, part: FmuPart) -> None:
        self.part = part
        self.looped = np.zeros(len(part.given.names.u), dtype=bool)  # inputs in loops
        self.jumping = self.looped.copy()  # inputs that jump at communication points
        self.begin()

    def begin(self) -> None:
        """A new instance."""
        self.way = ""
        self._longest = 0.0  # step so far
        self._chosen: Pattern | None = None  # inputs that matter
        self.asked: Vector | None = None  # inputs that the outputs shall belong to; None: those of the last step
        self.matrix: Matrix | None = None  # d chosen outputs / d inputs
        self.known: tuple[float, Vector, Vector] | None = None  # time, inputs, outputs of the last trial
        self._calls = (0.0, 0)  # for the Jacobian at a time
        self._second: tuple[Matrix, bool] | None = None

    def forget(self) -> None:
        """The FMU moves on."""
        self.asked = self.known = None

    # ------------------------------------------------------------------------------------------------- one trial

    def _columns(self) -> Pattern:
        """The inputs that matter: in loops, and where trials are exact, those that jump, or were held at their mean."""
        if self._chosen is None:
            found = self.looped & self.part.feedthrough().any(axis=0)
            if self._exact_ones():
                known, felt = self.part.given.known, np.zeros(len(found), dtype=bool)
                moving = [name for name in (*self.part.chosen, *known.outputs) if not self.part.port(name).held]
                felt[sorted(frozenset().union(*(known.feedthrough.get(name, frozenset()) for name in moving)))] = True
                found |= felt & (self.jumping | ~self.part.follows)
            self._chosen = np.asarray(found, dtype=bool)
        return self._chosen

    def _exact_ones(self) -> list[str]:
        part = self.part
        offered = [(TAKEN_BACK, part.can_restore), (EVENT_MODE, part.fmu.layout.interface.has_event_mode)]
        return [way for way, there in offered if there]

    def go(self, inputs: Vector) -> None:
        """Outputs that are read from now on belong to these inputs; not while an event waits for them."""
        part, columns = self.part, self._columns()
        if not columns.any() or part.at.pending:
            return
        if not np.any((inputs != (part.at.u if self.asked is None else self.asked))[columns]):
            return
        if not self.way:
            self._choose(columns)
        self._put(inputs)

    def _put(self, inputs: Vector) -> None:
        part = self.part
        part.forget_values()
        if self.way in (EVENT_MODE, SET):
            part.try_inputs(inputs, in_event_mode=self.way == EVENT_MODE)
        else:
            self.asked = np.array(inputs)

    def read(self, index: Vector) -> Vector | None:
        """Outputs for the inputs that were asked for, where the FMU itself does not have them."""
        if self.asked is None:
            return None
        part = self.part
        if self.way == TAKEN_BACK:
            found = part.read_after(self.asked, self._short(), index)
            if found is not None:
                return found
        values = part.read_now(index)
        if self.matrix is not None:
            at = {int(place): k for k, place in enumerate(np.asarray(index).tolist())}
            change = self.matrix @ (self.asked - part.at.u)
            rows = [k for k, source in enumerate(part.sources) if source.vector == "y"]
            for place, k in zip(part.y_index.tolist(), rows, strict=True):
                if place in at:
                    values[at[place]] += part.sources[k].sign * change[k]
        return values

    def _short(self) -> float:
        self._longest = max(self._longest, self.part.at.h)
        return max(SHORT * self._longest, 1e3 * float(np.spacing(abs(self.part.at.t))))

    def stop(self, stop: float) -> float:
        """The stop time for the FMU, with room for a short step there: it may refuse steps beyond."""
        if TAKEN_BACK not in self._exact_ones() or not self._columns().any():
            return stop
        return stop + max(2.0 * SHORT * (stop - self.part.given_start), 1e4 * float(np.spacing(abs(stop))))

    def note(self, inputs: Vector, outputs: Vector) -> None:
        """What a trial gave, for the Jacobian."""
        t, before, self.known = self.part.at.t, self.known, (self.part.at.t, inputs.copy(), outputs.copy())
        if self.matrix is None or self.way in ("", DERIVATIVES) or before is None or before[0] != t:
            return
        du = np.where(self._columns(), inputs - before[1], 0.0)
        if np.abs(du).max(initial=0.0) <= TOLD * (1.0 + np.abs(inputs).max(initial=0.0)):
            return
        pattern = self.part.feedthrough()
        off = outputs - before[2] - self.matrix @ du
        for k in np.flatnonzero(pattern.any(axis=1)):
            mine = np.where(pattern[k], du, 0.0)
            if np.any(mine):
                self.matrix[k] += off[k] * mine / (mine @ mine)

    # ------------------------------------------------------------------------------------------------- Jacobians

    def sensitivity(self, inputs: Vector) -> Matrix:
        """d outputs / d inputs."""
        if self.part.at.pending:
            return np.zeros(self.part.feedthrough().shape)
        t, calls = self._calls
        calls = calls + 1 if t == self.part.at.t else 1
        self._calls = (self.part.at.t, calls)
        if not self.way and self._columns().any():
            self._choose(self._columns())
        if self.way not in ("", DERIVATIVES) and (self.matrix is None or calls in AGAIN):
            self.matrix = self._differences(inputs, self._columns())
        return np.zeros(self.part.feedthrough().shape) if self.matrix is None else self.matrix.copy()

    def _differences(self, inputs: Vector, columns: Pattern) -> Matrix:
        part, pattern = self.part, self.part.feedthrough()
        out, matrix, self.matrix = np.zeros(pattern.shape), self.matrix, None
        here = self._outputs(inputs)
        for j in np.flatnonzero(columns):
            if part.inputs[int(j)].type != "real":
                continue
            moved = np.array(inputs)
            moved[j] += MOVED * max(1.0, abs(float(inputs[j])))
            out[:, j] = np.where(pattern[:, j], (self._outputs(moved) - here) / (moved[j] - inputs[j]), 0.0)
        self._outputs(inputs)
        self.matrix = matrix
        return out

    def _outputs(self, inputs: Vector) -> Vector:
        self._put(inputs)
        return self.part.chosen_outputs(inputs)

    # ----------------------------------------------------------------------------------------------- which way

    def _choose(self, columns: Pattern) -> None:
        """The first way by which outputs follow."""
        here = self.part.at.u.copy()
        moving = [k for k, name in enumerate(self.part.chosen) if not self.part.port(name).held]  # also between events
        for way in self._exact_ones():
            self.way = way
            try:
                found = self._differences(here, columns)
            except PliantError:
                if self.part.is_lost:
                    raise
                self.forget()
                continue
            silent = columns & ~(np.abs(found[moving]) > NOTHING).any(axis=0)
            felt = self.part.feedthrough()[moving][:, silent].any()
            if not felt or not (np.abs(self._second_instance()[0]) > NOTHING)[moving][:, silent].any():
                self.matrix = found
                return
        self.asked = None
        matrix, follows = self._second_instance()
        self.way, self.matrix = SET if follows else DERIVATIVES, matrix

    def _second_instance(self) -> tuple[Matrix, bool]:
        """Derivatives at the start, and whether outputs follow inputs that are set without a step."""
        if self._second is None:
            zeros = np.zeros(self.part.feedthrough().shape)
            second = self.part.second()
            try:
                second.begin(second.given_start, self.part.at.began)
                matrix = second.sensitivity(self.part.at.began)
                self._second = matrix, False
                self._second = matrix, _follows(second, matrix, self.part.at.h)
            except PliantError:
                self._second = self._second or (zeros, False)
            finally:
                second.close()
        return self._second


def _follows(second: FmuPart, matrix: Matrix, h: float) -> bool:
    """One step, then other inputs, and the first ones once more."""
    began = second.at.began
    second.set_inputs(second.at.t, began[None, :])
    if not second.step(second.at.t + h, lambda: False):
        return False
    for sign in (1.0, -1.0):
        one = second.chosen_outputs(began).copy()
        for j in np.flatnonzero((np.abs(matrix) > NOTHING).any(axis=0)):
            moved = np.array(began)
            moved[j] += sign * MOVED * max(1.0, abs(float(began[j])))
            expected = matrix[:, j] * (moved[j] - began[j])
            second.try_inputs(moved, in_event_mode=False)
            change = second.chosen_outputs(moved) - one
            if np.any(np.abs(change) < FOLLOWS * np.abs(expected)):
                return False
        second.try_inputs(began, in_event_mode=False)
        if not np.allclose(second.chosen_outputs(began), one, rtol=1e-12, atol=0.0):
            return False
    return True
