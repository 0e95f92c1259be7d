"""What each entry of the Jacobian costs a step, beyond what the right side computes anyway.

An entry stands for the operations that its expression needs and f does not. Entries share operations: what a set of
them costs is what its union holds, so the last entry of a row of an inverse mass matrix is cheap, and all of them
together are not. Entries of parameters alone cost nothing: they are proven constant, and computed where parameters are
set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pliant.codegen.tangent import Tangent
from pliant.expr.build import collector_paused, operands
from pliant.ir import Op
from pliant.realtime.code.lower import Lowering
from pliant.realtime.sparsing.price import DIVISION, EntryCost
from pliant.sorted_system import SortedSystem

CALL = 20.0  # an elementary function, in units of an addition


def entry_cost(s: SortedSystem, form: str, rows: Sequence[int], columns: Sequence[int]) -> EntryCost:
    """Costs of the entries at these places."""
    with collector_paused():
        w = Lowering(s, form, 1)
        point = w.evaluate(w.leaves(), fresh=False)
        program = w.program
        derivatives = Tangent(program).jacobian(program.f, program.x)
        place = {v: j for j, v in enumerate(program.x)}
        found = {(i, place[v]): e for i, row in enumerate(derivatives.rows) for v, e in row.items() if v in place}
        point.columns(derivatives.statements, found.values())
        right = [point.of(e) for e in program.f]
        of_entry = [found.get((int(i), int(j))) for i, j in zip(rows, columns, strict=True)]
        expressions = [w.zero if e is None else point.of(e) for e in of_entry]
        reach, moves = _Reach(w), _Moving(w)
        for e in right:
            reach.add(e)
        constant = np.array([not moves.of(e) for e in expressions], dtype=bool)
        parts = [reach.beyond(e) if not still else [] for e, still in zip(expressions, constant, strict=True)]
    number = {i: k for k, i in enumerate(sorted({i for one in parts for i in one}))}
    weights = np.array([_weight(w.g.nodes[i][0]) for i in number])
    return EntryCost(constant, tuple(np.array([number[i] for i in one], dtype=np.intp) for one in parts), weights)


def _weight(op: int) -> float:
    if op == Op.DIV:
        return DIVISION
    cheap = op in (Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.IF, Op.MIN, Op.MAX, Op.ABS, Op.SIGN, Op.AND, Op.OR, Op.NOT)
    return 1.0 if cheap or Op.LT <= op <= Op.NOT else CALL


class _Walk:
    """Expressions with those behind the variables in them."""

    def __init__(self, w: Lowering) -> None:
        self.w, self.nodes = w, w.g.nodes
        self.behind = {one.target: one.expression for one in w.out}
        w.shared.extend()

    def below(self, i: int) -> Sequence[int]:
        """What a node is made of."""
        node = self.nodes[i]
        if node[0] == Op.VAR:
            e = self.behind.get(node[1])
            return () if e is None else (e,)
        return () if node[0] <= Op.ARG else operands(self.w.g, i)

    def visit(self, first: int, seen: Callable[[int], bool]) -> None:
        """All nodes below; ``seen`` notes one and returns whether it was known."""
        stack = [first]
        while stack:
            i = stack.pop()
            if not seen(i):
                stack.extend(self.below(i))


class _Reach(_Walk):
    """What f needs, and what an expression needs beyond it."""

    def __init__(self, w: Lowering) -> None:
        super().__init__(w)
        self.known: set[int] = set()

    def _note(self, i: int, into: set[int]) -> bool:
        if i in self.known or i in into or self.w.shared.fixed[i]:
            return True
        into.add(i)
        return False

    def add(self, e: int) -> None:
        """f needs this."""
        new: set[int] = set()
        self.visit(e, lambda i: self._note(i, new))
        self.known |= new

    def beyond(self, e: int) -> list[int]:
        """Operations of an expression that f does not need."""
        new: set[int] = set()
        self.visit(e, lambda i: self._note(i, new))
        return [i for i in new if self.nodes[i][0] > Op.ARG]


class _Moving(_Walk):
    """Does a value change during a simulation?"""

    def __init__(self, w: Lowering) -> None:
        super().__init__(w)
        self.still: set[int] = set()

    def of(self, e: int) -> bool:
        """Whether it does."""
        new: set[int] = set()
        found = False

        def note(i: int) -> bool:
            nonlocal found
            if found or i in new or i in self.still or self.w.shared.fixed[i]:
                return True
            new.add(i)
            node = self.nodes[i]
            found = node[0] <= Op.ARG and not (node[0] == Op.VAR and node[1] in self.behind)
            return found

        self.visit(e, note)
        if not found:
            self.still |= new
        return found
