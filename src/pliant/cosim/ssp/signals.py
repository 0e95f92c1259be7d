"""Inputs of a system on their way to the inputs of its components: units and transformations act on whole signals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from pliant.cosim.conversion import Conversion
from pliant.cosim.ssp.flow import Way
from pliant.errors import ArgumentError
from pliant.solve.signals.given import read_inputs
from pliant.solve.signals.kinds import ConstantSignal, Declared, FunctionSignal, Segments, Signal, TableSignal, Typed

ELEMENT = re.compile(r"^(?P<array>.*)\[(?P<index>\d+(?:,\d+)*)\]$")


@dataclass(frozen=True, eq=False)
class ConvertedSignal(Signal):
    """A signal with a conversion behind it."""

    inner: Signal
    through: Conversion

    def typed(self, name: str, declared: Declared, stop: float = inf) -> Typed:
        """The converted signal, checked against the input that it reaches."""
        free = Declared("real" if self.through.is_linear else "integer", declared.held)
        signal = self.inner.typed(name, free, stop)
        return self._converted(name, signal).typed(name, declared, stop)

    def _converted(self, name: str, signal: Typed) -> Typed:
        through = self.through
        if isinstance(signal, ConstantSignal):
            return ConstantSignal(through.carry(signal.value))
        if isinstance(signal, TableSignal):
            return replace(signal, values=through.carried(np.asarray(signal.values, dtype=np.float64)))
        if isinstance(signal, FunctionSignal):
            return FunctionSignal(lambda t: through.carry(signal.at(t)))
        if isinstance(signal, Segments) and through.is_linear:
            c = np.array(signal.coefficients, dtype=np.float64) * through.factor
            c[:, 0] += through.offset
            return Segments(signal.start, c)
        raise ArgumentError(
            f"input {name}: {type(signal).__name__} cannot be converted on its way", hint="give a table or a function"
        )

    def element(self, name: str, index: Sequence[int], sizes: Sequence[int]) -> Signal | None:
        """Of an array."""
        found = self.inner.element(name, index, sizes)
        return None if found is None else ConvertedSignal(found, self.through)


def spread(given: Any, ways: Mapping[str, Sequence[Way]]) -> dict[str, Signal]:
    """Signals by the names of components' inputs; ``ways``: where inputs of systems lead to."""
    out: dict[str, Signal] = {}
    for name, signal in read_inputs(given).items():
        for own, one in _elements(name, signal, ways).items():
            for way in ways.get(own, ()):
                through = way.conversion
                out[way.target.full] = one if through.changes_nothing else ConvertedSignal(one, through)
            if own not in ways:
                out[own] = one
    return out


def _elements(name: str, signal: Signal, ways: Mapping[str, Sequence[Way]]) -> dict[str, Signal]:
    """The elements of an array that is given as a whole."""
    found = {}
    for one in ways:
        match = ELEMENT.match(one)
        if match and match["array"] == name:
            found[one] = tuple(map(int, match["index"].split(",")))
    if not found or name in ways:
        return {name: signal}
    sizes = [max(index[k] for index in found.values()) for k in range(len(next(iter(found.values()))))]
    parts = {one: signal.element(one, index, sizes) for one, index in found.items()}
    if any(part is None for part in parts.values()):
        shape = " x ".join(map(str, sizes))
        raise ArgumentError(f"inputs: {name} is an array of {shape}", hint=f"a list of {shape} values")
    return {one: part for one, part in parts.items() if part is not None}
