"""delay(expr, T) in the text of a model: memory of the instance, and what pliant_delays.h needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pliant.codegen.arrays import VALUE, of_instance
from pliant.codegen.modes import defined, flag_array
from pliant.codegen.places import Argument, Field, ValueKind
from pliant.codegen.plan import Target, inner_nodes, nodes_of
from pliant.codegen.program import Newton, Program
from pliant.expr.build import neg, reachable, sub
from pliant.ir import Graph, Kind, Node, Op

if TYPE_CHECKING:
    from pliant.codegen.emit import Emitter

ROOM = 400_000  # bytes of history
LEAST, MOST = 1000, 10_000  # points
FULL = "delay(...) reaches back over more events than there is room for: shorten the delay"
NEGATIVE = "the time of delay(...) is negative"


def delay_nodes(g: Graph, program: Program) -> dict[int, Node]:
    """Number -> node of every delay of a model."""
    system, roots = program.sorted, [*program.f]
    for statement in program.statements:
        roots += inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)
    roots += [e for one in system.relations for e in (one.lhs, one.rhs)]
    roots += [*system.events.expressions(), *(e for one in system.checks for e in one.expressions())]
    roots += [one.residual for one in system.initial_equations]
    nodes = [g.nodes[i] for i in reachable(g, roots)]
    return {node[1]: node for node in nodes if node[0] == Op.DELAY}


def delay_time(g: Graph, tau: int, fixed: Callable[[int], bool]) -> int | None:
    """T where tau is t - T with a T of parameters alone; None where it is not."""
    time = g.intern((Op.TIME,))
    op, *parts = g.nodes[tau]
    others = [e for e in parts if e != time] if op in (Op.SUB, Op.ADD) and len(parts) == 2 else []
    if len(others) != 1 or not fixed(others[0]) or (op == Op.SUB and parts[0] != time):
        return None
    return others[0] if op == Op.SUB else neg(g, others[0])


class Delays:
    """All delays of one model."""

    def __init__(self, emitter: Emitter) -> None:
        self.e = emitter
        self.nodes = delay_nodes(emitter.g, emitter.program)
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
            Field(of_instance("delay_known"), self.n, "where somebody else keeps the past: what is known"),
            Field(of_instance("delay_share"), self.n, "... and their share of the values now"),
            Field(of_instance("delay_is_held", ValueKind.INTEGER), None, "1: so it is"),
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
        self.e.shared.extend()
        constant = [k in self.nodes and self._time(k) is not None for k in range(self.n)]
        words = {
            "N_DELAYS": self.n,
            "DELAY_ROOM": self.points,
            "DELAY_ERROR": first_message,
            "DELAY_EVENTS": int(bool(self.e.s.relations or self.e.s.events)),
        }
        lines = [flag_array("delay_is_constant", constant, "its time does not change"), defined(words)]
        return "\n".join([*lines, '#include "pliant_delays.h"\n'])

    def _time(self, k: int) -> int | None:
        """T of a delay that is constant."""
        return delay_time(self.e.g, self.nodes[k][3], self.e.shared.fixed.__getitem__)

    def times(self) -> list[int]:
        """The constant ones, as expressions of parameters."""
        self.e.shared.extend()
        found = [self._time(k) for k in self.nodes]
        self.e.shared.extend()
        return [e for e in found if e is not None]

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
