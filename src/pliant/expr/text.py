"""Expressions as people read them, in Modelica's notation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pliant.expr.build import reachable
from pliant.ir import OP_NAME, PLAIN, Graph, Op, Relation

# (symbol, binding strength, strength wanted on the right): equal strength binds to the left
_INFIX = {
    Op.OR: (" or ", 1, 1),
    Op.AND: (" and ", 2, 2),
    Op.LT: (" < ", 4, 5),
    Op.LE: (" <= ", 4, 5),
    Op.EQ: (" == ", 4, 5),
    Op.NE: (" <> ", 4, 5),
    Op.ADD: (" + ", 5, 5),
    Op.SUB: (" - ", 5, 6),
    Op.MUL: ("*", 7, 7),
    Op.DIV: ("/", 7, 8),
    Op.POW: ("^", 9, 9),
}
ATOM = 10
LONGEST = 4000  # characters; beyond it the text ends in dots


def number(value: float) -> str:
    """The shortest decimal that reads back as the same number."""
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def text(g: Graph, e: int, name: Callable[[int], str], limit: int = LONGEST, relations: Sequence[Relation] = ()) -> str:
    """Expression e as text; ``name`` gives the name of a variable, ``relations`` are those that e refers to.

    >>> from pliant.expr.build import add, const, mul, var
    >>> g = Graph()
    >>> text(g, mul(g, add(g, var(g, 0), const(g, 1.0)), var(g, 1)), "ab".__getitem__)
    'b*(a + 1)'
    """
    return _text(g, e, name, limit, relations, {})


def _text(
    g: Graph, e: int, name: Callable[[int], str], limit: int, relations: Sequence[Relation], known: dict[int, str]
) -> str:
    """``known``: texts of relations, each of which may be made of others, again and again."""
    parts: dict[int, tuple[str, int]] = {}

    def inner(i: int, strength: int) -> str:
        piece, binds = parts[i]
        return piece if binds >= strength else f"({piece})"

    for i in reachable(g, (e,)):
        node = g.nodes[i]
        op = node[0]
        if op == Op.CONST:
            parts[i] = (number(node[1]), ATOM if node[1] >= 0 else 6)
        elif op == Op.VAR:
            parts[i] = (name(node[1]), ATOM)
        elif op in _INFIX:
            symbol, left, right = _INFIX[op]
            parts[i] = (inner(node[1], left if op != Op.POW else ATOM) + symbol + inner(node[2], right), left)
        elif op == Op.NEG:
            parts[i] = ("-" + inner(node[1], 7), 6)
        elif op == Op.NOT:
            parts[i] = ("not " + inner(node[1], ATOM), 3)
        elif op == Op.IF:
            parts[i] = (f"if {inner(node[1], 1)} then {inner(node[2], 1)} else {inner(node[3], 0)}", 0)
        elif op == Op.REL and node[1] < len(relations):
            r = relations[node[1]]
            if node[1] not in known:
                sides = [_text(g, side, name, limit, relations, known) for side in (r.lhs, r.rhs)]
                known[node[1]] = ("<" if r.strict else "<=").join((f"{sides[0]} ", f" {sides[1]}"))
            parts[i] = (known[node[1]], 4)
        elif op in (Op.REL, Op.ARG):
            parts[i] = (f"{OP_NAME[op]}[{node[1]}]", ATOM)
        elif op == Op.TIME:
            parts[i] = ("time", ATOM)
        else:
            first = 1 + PLAIN.get(op, 0)
            head = f"{OP_NAME[op]}{node[1]}" if first == 3 else OP_NAME[op]
            if op == Op.DELAY:
                parts[i] = (f"delay({inner(node[4], 0)}, time - {inner(node[3], 4)})", ATOM)
                continue
            if op == Op.PIPE:
                given = ", ".join(inner(a, 0) for a in node[4:8])
                parts[i] = (f"spatialDistribution({given})[{node[1] % 2 + 1}]", ATOM)
                continue
            if op == Op.FOREIGN:
                head = node[1].signature.name
                first += node[1].n_lead
            if op == Op.ROUTINE:
                head = node[1].name
            parts[i] = (f"{head}({', '.join(inner(a, 0) for a in node[first:])})", ATOM)
        if len(parts[i][0]) > limit:
            parts[i] = ("...", ATOM)
    return parts[e][0]
