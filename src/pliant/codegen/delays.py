"""delay(expr, T) in the text of a model: memory of the instance, and what pliant_delays.h needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.codegen.arrays import VALUE, of_instance
from pliant.codegen.modes import defined, flag_array
from pliant.codegen.places import Argument, Field, ValueKind
from pliant.codegen.plan import Target, inner_nodes, nodes_of
from pliant.codegen.program import Newton
from pliant.expr.build import reachable, sub
from pliant.ir import Kind, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

ROOM = 400_000  # bytes of history
LEAST, MOST = 1000, 10_000  # points
FULL = "delay(...) reaches back over more events than there is room for: shorten the delay"
NEGATIVE = "the time of delay(...) is negative"


class Delays:
    """All delays of one model."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        g, program, system = emitter.g, emitter.program, emitter.s
        roots = [*program.f]
        for statement in program.statements:
            roots += inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)
        roots += [e for one in system.relations for e in (one.lhs, one.rhs)]
        roots += [*system.events.expressions(), *(e for one in system.checks for e in one.expressions())]
        roots += [one.residual for one in system.initial_equations]
        nodes = [g.nodes[i] for i in reachable(g, roots)]
        self.nodes = {node[1]: node for node in nodes if node[0] == Op.DELAY}
        self.n = max(self.nodes, default=-1) + 1
        self.points = min(MOST, max(LEAST, ROOM // (16 + 8 * max(self.n, 1))))

    def fields(self) -> list[Field]:
        """Members of the instance."""
        if not self.n:
            return []
        return [
            Field(of_instance("delay_t"), self.points, "times at which delayed expressions were recorded"),
            Field(of_instance("delay_v"), self.points * self.n, "their values"),
            Field(of_instance("delay_begins", ValueKind.FLAG), self.points, "what begins there"),
            Field(of_instance("delay_arrived"), self.n, "the last jump that has arrived"),
            Field(of_instance("delay_time"), self.n, "by how much is delayed"),
            Field(of_instance("delay_n", ValueKind.INTEGER), None, "how many points there are"),
            Field(of_instance("jumped", ValueKind.FLAG), len(self.e.s.relations), "1: a delayed jump moves its sides"),
        ]

    def head(self) -> str:
        """Declarations before the functions."""
        if not self.n:
            return ""
        return "static pl_real delay_value(model *m, pl_real t, int k, int order, pl_real tau, pl_real now);\n"

    def write(self) -> None:
        """The function that the header calls."""
        if not self.n:
            return
        g = self.e.g
        time = g.intern((Op.TIME,))
        targets: list[Target] = []
        for k in range(self.n):
            node = self.nodes.get(k)
            now, tau, longest = (node[4], node[3], node[5]) if node is not None else (time, time, time)
            targets += [(VALUE.at(3 * k), now), (VALUE.at(3 * k + 1), tau), (VALUE.at(3 * k + 2), longest)]
            if node is None:
                targets[-1] = (VALUE.at(3 * k + 2), sub(g, time, time))
        self.e.function("delay_inputs", self.e.plan([targets]), [Argument("value")])

    def text(self, first_message: int) -> str:
        """Numbers of the header, then the header; the functions of events stand before it."""
        if not self.n:
            return ""
        shared, g = self.e.shared, self.e.g
        time = g.intern((Op.TIME,))
        shared.extend()
        constant = [k in self.nodes and self._is_constant(self.nodes[k][3], time) for k in range(self.n)]
        words = {
            "N_DELAYS": self.n,
            "DELAY_ROOM": self.points,
            "DELAY_ERROR": first_message,
            "DELAY_EVENTS": int(bool(self.e.s.relations or self.e.s.events)),
        }
        lines = [flag_array("delay_is_constant", constant, "its time does not change"), defined(words)]
        return "\n".join([*lines, '#include "pliant_delays.h"\n'])

    def _is_constant(self, tau: int, time: int) -> bool:
        """Is it t - T with a parameter T?"""
        op, *parts = self.e.g.nodes[tau]
        fixed = self.e.shared.fixed
        return op in (Op.SUB, Op.ADD) and time in parts and any(fixed[e] for e in parts)

    def times(self) -> list[int]:
        """The constant ones, as expressions of parameters."""
        g, found = self.e.g, []
        time = g.intern((Op.TIME,))
        self.e.shared.extend()
        for node in self.nodes.values():
            if self._is_constant(node[3], time):
                found.append(sub(g, time, node[3]))
        return found

    def parameters(self) -> list[int]:
        """Variables that the times of delays follow from: with other values the history would not reach back."""
        g, variables = self.e.g, self.e.s.system.variables
        found: set[int] = set()
        front = [e for node in self.nodes.values() for e in (node[3], node[5])]
        while front:
            new = {g.nodes[i][1] for i in reachable(g, front) if g.nodes[i][0] == Op.VAR} - found
            found |= new
            front = [e for v in new if (e := variables[v].binding) is not None]
        return sorted(v for v in found if variables[v].kind == Kind.PARAMETER)

    def messages(self) -> list[str]:
        """Texts of what can go wrong."""
        return [NEGATIVE, FULL] if self.n else []
