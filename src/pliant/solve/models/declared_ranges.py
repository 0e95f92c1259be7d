"""Values that a model itself gives its parameters, against the ranges that it declares for them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pliant.arguments import Vector
from pliant.errors import ModelError
from pliant.expr.build import variables_of
from pliant.expr.evaluate import number_in, parameter_values
from pliant.ir import Kind
from pliant.solve.models.numeric import broken_bound
from pliant.solve.names import is_hidden

if TYPE_CHECKING:
    from pliant.codegen.program import Program


ROUNDED = 1e-12  # of a value that follows from others


@dataclass(frozen=True)
class Broken:
    """A value outside of its range."""

    name: str
    value: float
    bound: str
    place: str
    hint: str


def _same(value: float, limit: float | None) -> bool:
    return limit is not None and abs(value - limit) <= ROUNDED * abs(limit)


class DeclaredRanges:
    """Parameters and constants with ranges; what the start determines is not among them."""

    def __init__(self, program: Program, numbers: dict[int, float]) -> None:
        self.program, self.system = program, program.sorted.system
        self.place = {v: k for k, v in enumerate(program.p)}
        self.bounded = [
            v
            for v, one in enumerate(self.system.variables)
            if one.kind in (Kind.PARAMETER, Kind.CONSTANT)
            and not (one.initial or is_hidden(one.name))
            and (one.min is not None or one.max is not None)
        ]
        #: parameters that others, or bounds, follow from
        self.sources = self._sources()
        self.usual = list(self._broken(numbers)) if self.bounded else []

    def check(self, given: Collection[str], parameters: Vector) -> None:
        """With these parameters; values of those that were given are checked where they are read."""
        found = self.usual
        if not self.sources.isdisjoint(given):
            set_now = dict(zip(self.program.p, parameters.tolist(), strict=True))
            found = self._broken(parameter_values(self.system, set_now))
        for one in found:
            if one.name in given:
                continue
            raise ModelError(
                f"the parameter {one.name} is {one.value:g}, but it has {one.bound}{one.place}", hint=one.hint
            )

    def _broken(self, values: dict[int, float]) -> list[Broken]:
        out, evaluated = [], self._evaluator(values)
        for v in self.bounded:
            one = self.system.variables[v]
            if v not in values:
                continue
            low, high = evaluated(one.min), evaluated(one.max)
            bound = broken_bound(low, high, values[v])
            if v not in self.place and any(_same(values[v], limit) for limit in (low, high)):
                continue
            if bound:
                place = f" ({one.span})" if one.span else ""
                out.append(Broken(one.name, values[v], bound, place, self._hint(v)))
        return out

    def _hint(self, v: int) -> str:
        one = self.system.variables[v]
        if v in self.place:
            return f"give a value within its range: parameters={{{one.name!r}: ...}}"
        follows = one.binding is not None and variables_of(self.system.graph, one.binding)
        return "change what it follows from, or its range" if follows else "declare a value within its range"

    def _evaluator(self, values: dict[int, float]) -> Callable[[int | None], float | None]:
        graph = self.system.graph
        return lambda e: None if e is None else number_in(self.system, graph, e, values)

    def _sources(self) -> set[str]:
        """Parameters that can be set, and that values of others with ranges, or ranges, depend on."""
        variables, graph = self.system.variables, self.system.graph
        seen: set[int] = set()
        waiting: list[int] = []
        for v in self.bounded:
            one = variables[v]
            read = [e for e in (one.min, one.max, None if v in self.place else one.binding) if e is not None]
            waiting += [w for e in read for w in variables_of(graph, e)]
        while waiting:
            v = waiting.pop()
            if v in seen:
                continue
            seen.add(v)
            binding = variables[v].binding
            if v not in self.place and binding is not None:
                waiting += variables_of(graph, binding)
        return {variables[v].name for v in seen if v in self.place}
