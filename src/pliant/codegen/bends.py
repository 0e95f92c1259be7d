"""How f depends on the inputs: not at all, as a straight line, or bent.

    affine(a + b) = affine(a) and affine(b),   affine(a b): one of them does not depend on inputs,   ...

for every input, on f with states, time and what only events change held. Where f is affine in an input, the runtime
learns what f does between two values from the values of the input alone; else it asks f itself (``watch_bend.c``). A
condition inside noEvent has no derivative, but bends. What cannot be followed counts as bent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pliant.codegen.program import Assign, Newton, Program, Solve
from pliant.expr.build import operands
from pliant.ir import Graph, Op

_SUMS = (Op.ADD, Op.SUB, Op.NEG)
Bends = tuple[int, int]  # inputs that a value depends on, and those of them in which it is bent, as bits


def bent_inputs(g: Graph, program: Program) -> list[bool]:
    """Per input: f is not affine in it."""
    found = _Search(g, program)
    bent = found.together(program.f)[1]
    return [bool(bent >> j & 1) for j in range(len(program.u))]


class _Search:
    def __init__(self, g: Graph, program: Program) -> None:
        self.g = g
        self.of_node: dict[int, Bends] = {}
        every = (1 << len(program.u)) - 1
        self.of_variable: dict[int, Bends] = {v: (1 << j, 0) for j, v in enumerate(program.u)}
        # unknowns of loops that the solver iterates follow the inputs
        self.of_variable |= dict.fromkeys(program.x[program.n_states :], (every, 0))
        for statement in program.statements:
            self._read(statement)

    def _read(self, statement: object) -> None:
        if isinstance(statement, Assign):
            self.of_variable[statement.target] = self.of(statement.expression)
        elif isinstance(statement, Solve):
            depends, bent = self.together(statement.right)
            matrix = self.together(e for row in statement.matrix for e in row)[0]
            bent |= matrix | (depends if matrix else 0)
            self.of_variable |= dict.fromkeys(statement.targets, (depends | matrix, bent))
        elif isinstance(statement, Newton):
            for step in statement.steps:
                self._read(step)
            depends = self.together(statement.residuals)[0]
            self.of_variable |= dict.fromkeys(statement.targets, (depends, depends))

    def together(self, expressions: Iterable[int]) -> Bends:
        """Of all of them."""
        depends = bent = 0
        for e in expressions:
            one = self.of(e)
            depends, bent = depends | one[0], bent | one[1]
        return depends, bent

    def of(self, root: int) -> Bends:
        """Of one expression."""
        stack, known = [root], self.of_node
        while stack:
            e = stack[-1]
            if e in known:
                stack.pop()
                continue
            node = self.g.nodes[e]
            if node[0] == Op.VAR:
                known[e] = self.of_variable.get(node[1], (0, 0))
                stack.pop()
                continue
            inner = node[1:2] if node[0] == Op.HOMOTOPY else operands(self.g, e)
            missing = [a for a in inner if a not in known]
            if missing:
                stack.extend(missing)
                continue
            known[e] = _joined(node[0], [known[a] for a in inner])
            stack.pop()
        return known[root]


def _joined(op: int, parts: Sequence[Bends]) -> Bends:
    """What an operation makes of its operands."""
    depends = bent = 0
    for one in parts:
        depends, bent = depends | one[0], bent | one[1]
    if op in _SUMS or op == Op.HOMOTOPY:
        straight = True
    elif op == Op.MUL:
        straight = not (parts[0][0] and parts[1][0])
    elif op == Op.DIV:
        straight = not parts[1][0]
    elif op == Op.IF:
        straight = not parts[0][0]
    else:
        straight = False
    return depends, bent if straight else depends
