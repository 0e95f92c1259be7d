"""spatialDistribution(...) in the text of a model: memory of the instance, and what pliant_pipes.h needs."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

from pliant.codegen.arrays import VALUE, of_instance
from pliant.codegen.modes import defined
from pliant.codegen.places import Argument, Field, ValueKind
from pliant.codegen.plan import Target, inner_nodes, nodes_of
from pliant.codegen.program import Newton
from pliant.expr.build import const, reachable
from pliant.ir import Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

ROOM = 400_000  # bytes of all pipes
LEAST, MOST = 500, 4000  # points of one
MARGIN = 50  # points beyond its profile
PROFILE = "initialPoints of spatialDistribution(...) must rise from 0 to 1"
FULL = "spatialDistribution(...) holds more jumps than there is room for"
INPUTS = slice(1, 5)  # in0, in1, x, positiveVelocity among the operands of a node
FIRST_POINT = 6


class PipeCode:
    """All pipes of one model."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        g, program, system = emitter.g, emitter.program, emitter.s
        roots = [*program.f]
        for statement in program.statements:
            roots += inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)
        roots += [*system.events.expressions(), *(one.condition for one in system.checks)]
        roots += [one.residual for one in system.initial_equations]
        nodes = (g.nodes[i] for i in reachable(g, roots))
        self.operands = {node[1] // 2: node[3:] for node in nodes if node[0] == Op.PIPE and node[2] == 0}
        self.n = max(self.operands, default=-1) + 1
        zero = const(g, 0.0)
        unread = (zero, zero, zero, zero, const(g, 1.0), zero, zero, const(g, 1.0), zero, zero)
        self.operands = {k: self.operands.get(k, unread) for k in range(self.n)}
        self.first = [0, *accumulate((len(one) - FIRST_POINT) // 2 for one in self.operands.values())]
        most = max((b - a for a, b in zip(self.first, self.first[1:], strict=False)), default=0)
        self.points = max(min(MOST, max(LEAST, ROOM // (25 * max(self.n, 1)))), 2 * most + MARGIN)

    def fields(self) -> list[Field]:
        """Members of the instance."""
        if not self.n:
            return []
        whole, flag, room = ValueKind.INTEGER, ValueKind.FLAG, self.points * self.n
        fields = [
            Field(of_instance("pipe_place"), room, "points of what is in the pipes: where they are at x = 0"),
            Field(of_instance("pipe_time"), room, "when they flowed in"),
            Field(of_instance("pipe_value"), room, "their values"),
            Field(of_instance("pipe_kinds", flag), room, "what is between them and the next ones"),
            Field(of_instance("pipe_begin", whole), self.n, "number of the first one"),
            Field(of_instance("pipe_n", whole), self.n, "how many there are"),
            Field(of_instance("pipe_left", whole), self.n, "the last jump that has left"),
            Field(of_instance("pipe_low", whole), self.n, "the first point that can leave before the next jump"),
            Field(of_instance("pipe_high", whole), self.n, "the last one"),
            Field(of_instance("pipe_positive", flag), self.n, "1: it flows in at 0"),
            Field(of_instance("pipe_sign", flag), self.n, "changes when a jump leaves"),
        ]
        if not self.e.delays.n:
            fields.append(Field(of_instance("jumped", flag), len(self.e.s.relations), "1: a jump moves its sides"))
        return fields

    def head(self) -> str:
        """Declarations before the functions."""
        if not self.n:
            return ""
        arguments = "int number, int order, pl_real s, const pl_real in[4], pl_real initial"
        return f"static pl_real pipe_value(model *m, pl_real t, {arguments});\n"

    def write(self) -> None:
        """The functions that the header calls."""
        if not self.n:
            return
        now: list[Target] = []
        profile: list[Target] = []
        for k in range(self.n):
            operands = self.operands[k]
            now += [(VALUE.at(4 * k + i), e) for i, e in enumerate(operands[INPUTS])]
            place = 2 * self.first[k]
            profile += [(VALUE.at(place + i), e) for i, e in enumerate(operands[FIRST_POINT:])]
        self.e.function("pipe_inputs", self.e.plan([now]), [Argument("value")])
        self.e.function("pipe_profile", self.e.plan([profile]), [Argument("value")])

    def text(self, first_message: int) -> str:
        """Numbers of the header, then the header; the functions of events stand before it."""
        if not self.n:
            return ""
        words = {
            "N_PIPES": self.n,
            "PIPE_ROOM": self.points,
            "PIPE_POINTS": self.first[-1],
            "PIPE_ERROR": first_message,
        }
        if not self.e.delays.n:
            words["N_DELAYS"] = 0
        first = f"static const int pipe_first[] = {{{', '.join(map(str, self.first))}}};"
        return "\n".join([first, defined(words), '#include "pliant_pipes.h"\n'])

    def messages(self) -> list[str]:
        """Texts of what can go wrong."""
        return [PROFILE, FULL] if self.n else []
