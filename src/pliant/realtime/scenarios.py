"""Scenarios from ranges: a sequence of scenarios that is drawn at random, the same for the same seed.

Parameters and start values are a Latin hypercube (McKay, Beckman, Conover 1979): every n-th part of each range is met
once. Inputs are drawn one by one (drawn.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pliant.arguments import is_number, is_whole, row_number
from pliant.batch.design import Design, latin_hypercube
from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError
from pliant.plain import plain
from pliant.realtime.drawn import DrawnNumber, InputRange, read_input_range, read_range
from pliant.realtime.scenario import Scenario
from pliant.solve.names import suggestion

PARTS = ("parameters", "start_values", "inputs")
MOST = 1_000_000


@by_keyword_class
class Scenarios(Sequence[Scenario]):
    """n scenarios drawn from ranges, for ``model.realtime(scenarios=)`` and ``plan.challenge(scenarios=)``.

    ranges   a mapping with "parameters", "start_values" and "inputs", each from names to ranges (low, high). For an
             input also a mapping with "kind" ("constant", "step", "ramp", "multisine" or "file", or several of them),
             "range", and for sines "frequency" in Hz, for files "file" (one or several); a pair alone: a kind is drawn
             Names of Integers, Booleans and enumerations get the whole numbers (literals) of their ranges, where the
             model is known: in plans and challenges
    n        how many
    seed     another seed, other scenarios
    stop     end of each scenario; None: that of the plan

    >>> import pliant
    >>> drawn = pliant.Scenarios({"parameters": {"mass": (1.0, 2.0)}, "inputs": {"u": (0.0, 5.0)}}, 20, seed=3)
    >>> len(drawn), drawn[0].name
    (20, 'seed 3, 1')
    """

    def __init__(self, ranges: Mapping[str, Any], n: int, *, seed: int = 0, stop: float | None = None) -> None:
        if not is_whole(n) or not 1 <= n <= MOST:
            raise ArgumentError(f"Scenarios: n must be a whole number from 1 to {MOST}, not {n!r}", hint="e.g. 100")
        if not is_whole(seed) or seed < 0:
            raise ArgumentError(f"Scenarios: seed must be a whole number from 0 on, not {seed!r}", hint="e.g. seed=0")
        if stop is not None and not (is_number(stop) and 0.0 < stop < math.inf):
            raise ArgumentError(f"Scenarios: stop must be a positive number, not {stop!r}", hint="a time in seconds")
        self.ranges = {part: dict(_part(ranges, part)) for part in PARTS}
        self.n, self.seed, self.stop = int(n), int(seed), None if stop is None else float(stop)
        self.label = f"seed {self.seed}"
        self._inputs: dict[str, InputRange] = {
            name: read_input_range(name, given) for name, given in self.ranges["inputs"].items()
        }
        self._design = self._drawn()

    def _drawn(self) -> Design | None:
        """Parameters and start values of all scenarios."""
        pairs = {}
        for part in PARTS[:2]:
            for name, given in self.ranges[part].items():
                is_one = is_number(given) and math.isfinite(given)
                pairs[f"{part}:{name}"] = (given, given) if is_one else read_range(f"{part}, {name}", given)
        self._pairs = moving = {name: pair for name, pair in pairs.items() if pair[0] < pair[1]}
        self._fixed = {name: float(pair[0]) for name, pair in pairs.items() if name not in moving}
        return latin_hypercube(moving, n=self.n, seed=self.seed) if moving else None

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, k: Any) -> Any:
        """One scenario, or some of them as a list."""
        if isinstance(k, slice):
            return [self[one] for one in range(*k.indices(self.n))]
        place = row_number("scenarios", k, self.n)
        drawn = {} if self._design is None else self._design[place]
        values = {**self._fixed, **{name: DrawnNumber(one, *self._pairs[name]) for name, one in drawn.items()}}
        parts: dict[str, dict[str, float]] = {"parameters": {}, "start_values": {}}
        for name, value in values.items():
            part, _, own = name.partition(":")
            parts[part][own] = value
        inputs = {name: one.draw((self.seed, place)) for name, one in self._inputs.items()}
        if self.stop is not None:
            inputs = {name: one.during(0.0, self.stop) for name, one in inputs.items()}
        return Scenario(
            f"{self.label}, {place + 1}",
            inputs=inputs,
            parameters=parts["parameters"],
            start_values=parts["start_values"],
            stop=self.stop,
        )

    def __iter__(self) -> Iterator[Scenario]:
        return (self[k] for k in range(self.n))

    def __repr__(self) -> str:
        names = [name for part in PARTS for name in self.ranges[part]]
        return f"<pliant.Scenarios: {self.n} of {', '.join(names)}, seed {self.seed}>"

    def as_dict(self) -> dict[str, Any]:
        """What they are drawn from."""
        return {"n": self.n, "seed": self.seed, "stop": self.stop, "ranges": plain(self.ranges)}


def _part(ranges: Any, part: str) -> Mapping[str, Any]:
    if not isinstance(ranges, Mapping):
        raise ArgumentError(
            f"Scenarios: ranges must be a mapping, not {ranges!r}", hint="e.g. {'parameters': {'mass': (1.0, 2.0)}}"
        )
    for key in ranges:
        if key not in PARTS:
            raise ArgumentError(f"Scenarios: ranges have no part {key!r}", hint=suggestion(str(key), PARTS))
    found = ranges.get(part) or {}
    if not isinstance(found, Mapping) or not all(isinstance(name, str) for name in found):
        raise ArgumentError(
            f"Scenarios: {part} must be a mapping from names to ranges, not {found!r}",
            hint=f"e.g. {{{part!r}: {{'name': (1.0, 2.0)}}}}",
        )
    if not any(ranges.values()):
        raise ArgumentError("Scenarios: ranges are empty", hint="e.g. {'parameters': {'mass': (1.0, 2.0)}}")
    return found
