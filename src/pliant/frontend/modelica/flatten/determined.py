"""Which variables too few equations are about, and which equations are about too few variables (4.8).

Equations and variables are matched, arrays by their numbers of elements; what is left of a largest matching, and
everything that it could be exchanged with, is the part of the model that is wrong (Dulmage & Mendelsohn 1958). So the
fault is narrowed down where counts alone say only how many equations are missing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pliant.frontend.flat.expressions import VariableRef, operands
from pliant.frontend.flat.model import FlatAlgorithm, FlatItem, expressions_of, walk
from pliant.frontend.flat.types import BaseType, Causality, Variability

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.counts import Counts

MOST = 20_000  # equations and variables of a model that is looked into


class Determined:
    """A largest matching of equations and variables, and what is not in it."""

    def __init__(self, counts: Counts) -> None:
        self.counts, self.builder = counts, counts.builder
        self.rows: list[FlatItem | FlatAlgorithm] = []
        self.supply: list[int] = []  # scalar equations that a row has left
        self.reads: list[list[int]] = []
        self.demand: dict[int, int] = {}  # variable -> elements that nothing determines yet
        self._collect()
        self.given: list[dict[int, int]] = [{} for _ in self.rows]  # row -> variable -> elements
        self.takers: dict[int, set[int]] = {v: set() for v in self.demand}  # variable -> rows that determine it
        if len(self.rows) + len(self.demand) <= MOST:
            self._match()

    def _collect(self) -> None:
        builder = self.builder
        for number, variable in enumerate(builder.variables):
            is_unknown = variable.variability > Variability.PARAMETER and variable.type.base is not BaseType.OBJECT
            if is_unknown and variable.causality is not Causality.INPUT:
                self.demand[number] = self.counts.size(number)
        for item in builder.equations:
            count = self.counts.count(item)
            if count:
                found = self._variables(e for one in walk((item,)) for e in expressions_of(one))
                self._row(item, count, found)
        for section in builder.algorithms:
            assigned = {v for item in walk(section.body) for v in self.counts.targets(item)}
            self._row(section, sum(self.counts.size(v) for v in assigned), assigned)

    def _row(self, item: FlatItem | FlatAlgorithm, count: int, reads: Iterable[int]) -> None:
        self.rows.append(item)
        self.supply.append(count)
        self.reads.append(sorted(v for v in reads if self.demand.get(v)))

    def _variables(self, expressions: Iterable[int]) -> set[int]:
        nodes, found = self.builder.nodes, set()
        stack, seen = list(expressions), set()
        while stack:
            e = stack.pop()
            if e < 0 or e in seen:
                continue
            seen.add(e)
            node = nodes[e]
            if isinstance(node, VariableRef):
                found.add(node.variable)
            stack.extend(operands(node))
        return found

    # ------------------------------------------------------------------------------------------------- matching

    def _match(self) -> None:
        order = sorted(range(len(self.rows)), key=lambda row: (len(self.reads[row]), row))
        for row in order:
            for v in self.reads[row]:
                self._give(row, v, min(self.supply[row], self.demand[v]))
        for row in order:
            while self.supply[row] and self._augment(row):
                pass

    def _give(self, row: int, v: int, n: int) -> None:
        if n:
            self.given[row][v] = self.given[row].get(v, 0) + n
            self.takers[v].add(row)
            self.supply[row] -= n
            self.demand[v] -= n

    def _take(self, row: int, v: int, n: int) -> None:
        self.given[row][v] -= n
        if not self.given[row][v]:
            del self.given[row][v]
            self.takers[v].discard(row)
        self.supply[row] += n
        self.demand[v] += n

    def _augment(self, start: int) -> bool:
        """One more element by exchanging along a path: row - variable - row - ... - variable that is free."""
        came: dict[int, tuple[int, int]] = {}  # row -> the row before it, and the variable between
        queue = [start]
        seen = {start}
        for row in queue:
            for v in self.reads[row]:
                if self.demand[v]:
                    self._exchange(start, row, v, came)
                    return True
                for other in sorted(self.takers[v]):
                    if other not in seen:
                        seen.add(other)
                        came[other] = row, v
                        queue.append(other)
        return False

    def _exchange(self, start: int, row: int, v: int, came: dict[int, tuple[int, int]]) -> None:
        while row != start:
            before, between = came[row]
            self._take(row, between, 1)
            self._give(row, v, 1)
            row, v = before, between
        self._give(row, v, 1)

    # ------------------------------------------------------------------------------------------------ what is left

    def missing(self) -> tuple[list[int], list[FlatItem | FlatAlgorithm]]:
        """Variables that too few equations are about, those first that no equation is left for; and these equations."""
        free = [v for v, n in self.demand.items() if n]
        readers: dict[int, list[int]] = {}
        for row, reads in enumerate(self.reads):
            for v in reads:
                readers.setdefault(v, []).append(row)
        found, rows, queue = dict.fromkeys(free), dict[int, None](), list(free)
        for v in queue:
            for row in readers.get(v, []):
                if row in rows:
                    continue
                rows[row] = None
                for other in sorted(self.given[row]):
                    if other not in found:
                        found[other] = None
                        queue.append(other)
        return list(found), [self.rows[row] for row in sorted(rows)]

    def surplus(self) -> tuple[list[FlatItem | FlatAlgorithm], list[int]]:
        """Equations that are about too few variables, and these variables."""
        start = [row for row, n in enumerate(self.supply) if n]
        rows, found, queue = dict.fromkeys(start), dict[int, None](), list(start)
        for row in queue:
            for v in self.reads[row]:
                found[v] = None
                for other in sorted(self.takers[v]):
                    if other not in rows:
                        rows[other] = None
                        queue.append(other)
        return [self.rows[row] for row in sorted(rows)], list(found)
