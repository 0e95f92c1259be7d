"""What the master needs from a part of a coupling, whatever it was made from.

A part advances by itself from one communication point T to the next. Its inputs are polynomials about T,

    u(t) = c[0] + c[1] (t - T) + c[2] (t - T)^2,

its outputs are asked for at communication points only. The life of a part: ``configure``, ``choose``, ``begin`` (again
while the inputs at the start are still being found), then ``set_inputs``, ``step``, ``outputs`` in turns, ``close``.
``save`` and ``restore`` take it back to an earlier communication point.

A part with clocks may leave what ticks at a communication point until the inputs there are known: it has ``is_waiting``
then, and ``settle(inputs)``, which lets it take place (False: the part has ended). Where it ``reacts``, jumps of its
inputs at communication points are settled there, too. A part that cannot be taken back says so by ``can_restore``
(False). All four may be missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.calls import by_keyword_class
from pliant.plain import AsDict
from pliant.solve.results.result import Event, Stats, StepRecord, VariableInfo
from pliant.solve.signals.kinds import Declared

Matrix = NDArray[np.float64]
Pattern = NDArray[np.bool_]

#: coefficients of an input polynomial: value, slope, curvature / 2
DEGREE = 2


class Cancelled(Exception):
    """A part was asked to stop in the middle of its step, because another one failed or the time ran out."""


@by_keyword_class
@dataclass(frozen=True)
class Port(AsDict):
    """A variable that can be connected. ``causality``: "input", "output" (anything that varies) or "constant"."""

    name: str
    _: KW_ONLY
    causality: str = "output"
    unit: str = ""
    type: str = "real"
    start: float | None = None
    held: bool = False  # it changes at events only: never extrapolated
    declared: Declared | None = None  # inputs: what the model says about them
    #: outputs: it changes at events only, as long as the inputs in these places do; None: it may move by itself
    held_by: frozenset[int] | None = None


@by_keyword_class
@dataclass(frozen=True)
class PartSettings(AsDict):
    """How a part is to be simulated. ``options`` are those of :class:`pliant.SolverOptions`."""

    start: float
    _: KW_ONLY
    stop: float
    rtol: float = 1e-6
    atol: Any = None
    method: str = "bdf"
    at_jump: str = "correct"
    degree: int = DEGREE  # of the input polynomials, at most: a solver need not look at higher derivatives
    parameters: Mapping[str, float] = field(default_factory=dict)
    start_values: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


@by_keyword_class
@dataclass(frozen=True)
class PartAbout(AsDict):
    """What a result reports about the variables of a part, by their names inside the part."""

    model: str
    _: KW_ONLY
    digest: str
    columns: tuple[str, ...]  # what `values` gives
    states: tuple[str, ...] = ()
    aliases: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    info: Mapping[str, VariableInfo] = field(default_factory=dict)


@runtime_checkable
class Part(Protocol):
    """One part of a coupling. Vectors of inputs are in the order of ``inputs``."""

    name: str

    @property
    def inputs(self) -> tuple[Port, ...]:
        """All inputs, in order."""

    def port(self, name: str) -> Port:
        """The variable of that name; UnknownNameError suggests the nearest."""

    def configure(self, settings: PartSettings) -> None:
        """Settings of the next simulation; refuses invalid ones."""

    def choose(self, names: Sequence[str]) -> None:
        """The variables that ``outputs`` shall give, in this order."""

    def about(self) -> PartAbout:
        """Names and descriptions, after ``configure``."""

    def begin(self, t: float, inputs: Vector) -> None:
        """Consistent start values at t with these inputs."""

    def set_inputs(self, t: float, coefficients: Matrix) -> None:
        """New input polynomials from t on, where the part stands: a row for each power, a column for each input."""

    def step(self, t_next: float, cancelled: Callable[[], bool]) -> bool:
        """Go to t_next; False: the part has ended before. Raises Cancelled soon after ``cancelled()`` is true."""

    def outputs(self, inputs: Vector | None = None) -> Vector:
        """The chosen outputs where the part stands; ``inputs``: with these values instead of the present ones."""

    def feedthrough(self) -> Pattern:
        """Which chosen outputs (rows) depend on which inputs (columns) at the same time."""

    def sensitivity(self, inputs: Vector) -> Matrix:
        """d outputs / d inputs where the part stands, states kept."""

    def values(self, inputs: Vector) -> Vector:
        """All variables of ``about().columns`` where the part stands, with these inputs."""

    def save(self) -> object:
        """The whole present state: going on after ``restore`` gives the same bits."""

    def restore(self, token: object) -> None:
        """Back to a saved state, any number of times; ``stats`` still count the work that was discarded."""

    @property
    def stats(self) -> Stats:
        """Counters so far."""

    @property
    def steps(self) -> StepRecord | None:
        """The steps taken: time, h, order, method."""

    @property
    def events(self) -> tuple[Event, ...]:
        """Events so far."""

    def close(self) -> None:
        """Give back memory; counters stay readable."""
