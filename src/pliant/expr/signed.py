"""Variables up to their sign: what an alias stands for."""

from __future__ import annotations

from pliant.expr.build import neg
from pliant.ir import Graph, Op


def signed_variable(g: Graph, e: int) -> tuple[int, int] | None:
    """(number of the variable, sign) of v or -v; None for every other expression."""
    node, sign = g.nodes[e], 1
    if node[0] == Op.NEG:
        node, sign = g.nodes[node[1]], -1
    return (int(node[1]), sign) if node[0] == Op.VAR else None


def with_sign(g: Graph, sign: int, e: int) -> int:
    """The expression or its negative."""
    return neg(g, e) if sign < 0 else e
