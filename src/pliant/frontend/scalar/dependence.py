"""What kinds of leaves an expression depends on, for every node of a graph.

Kept as one integer per node and extended when asked, so that a whole model costs one pass over its nodes.
"""

from __future__ import annotations

from pliant.ir import PLAIN, Graph, Kind, Op, Variable

TIME = 1
UNKNOWN = 2  # unknowns, derivatives, inputs: they move continuously
DISCRETE = 4  # changes at events only
PARAM = 8
ARG = 16  # argument of a function

_OF_KIND = {
    Kind.UNKNOWN: UNKNOWN,
    Kind.DERIVATIVE: UNKNOWN,
    Kind.INPUT: UNKNOWN,
    Kind.DISCRETE: DISCRETE,
    Kind.PARAMETER: PARAM,
    Kind.CONSTANT: 0,
    Kind.SELECTION: DISCRETE,
    Kind.BEFORE: DISCRETE,
}


class Masks:
    """Dependence of nodes on kinds of leaves."""

    def __init__(self, g: Graph, variables: list[Variable]) -> None:
        self.g, self.variables = g, variables
        self.known: list[int] = []

    def of(self, e: int) -> int:
        """OR of the kinds of all leaves under e."""
        if e >= len(self.known):
            self._extend()
        return self.known[e]

    def _extend(self) -> None:
        known, nodes, variables = self.known, self.g.nodes, self.variables
        for number in range(len(known), len(nodes)):
            node = nodes[number]
            op = node[0]
            if op > Op.ARG:
                mask = 0
                for operand in node[1 + PLAIN.get(op, 0) :]:
                    mask |= known[operand]
            elif op == Op.VAR:
                mask = _OF_KIND[variables[node[1]].kind]
            else:
                mask = {Op.CONST: 0, Op.TIME: TIME, Op.REL: DISCRETE, Op.ARG: ARG}[op]
            known.append(mask)
