"""Statements that enclose expressions on an interval of time, for the functions of ``ahead.py``.

What time or the solver's path moves is enclosed operation by operation (``pliant_ranges.h``). What stands still
between events is computed as the number that it is, with the arithmetic of the model itself: text and compile time
follow the part that moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.codegen.arrays import RELATION
from pliant.codegen.cprint import Printer
from pliant.expr.build import operands
from pliant.expr.walk import memoised
from pliant.ir import OP_NAME, Op

if TYPE_CHECKING:
    from pliant.codegen.ahead import Ahead

DEEPEST = 6  # operations that one line nests


class RangeText:
    """Statements of one function."""

    def __init__(self, ahead: Ahead) -> None:
        self.ahead, self.g, self.e = ahead, ahead.g, ahead.e
        self.lines: list[str] = []
        self.ranges: dict[int, str] = {}  # node -> name of its range
        self.numbers: dict[int, str] = {}  # node that stands still -> its text, where it has a name or is a leaf

    @property
    def text(self) -> str:
        """The statements."""
        return "".join(f"    {line}\n" for line in self.lines)

    def _named(self, kind: str, letter: str, text: str) -> str:
        name = f"_{letter}{len(self.lines)}"
        self.lines.append(f"const {kind} {name} = {text};")
        return name

    # ------------------------------------------------------------------------------------------- what moves

    def range(self, root: int) -> str:
        """Write what the range of an expression needs; returns its name."""
        return memoised(root, self.ranges, self._inner, self._name)

    def _name(self, e: int) -> str:
        inner = self._inner(e)
        if inner and self.g.nodes[e][0] in (Op.VAR, Op.HOMOTOPY):
            return self.ranges[inner[0]]
        return self._named("pl_range", "r", self._range(e))

    def _inner(self, e: int) -> Sequence[int]:
        """What the range of a node is made of."""
        return () if self.ahead.stands(e) else self._parts(e)

    def _parts(self, e: int) -> Sequence[int]:
        """Operands of a node; of a variable the expression that an equation gives it."""
        node = self.g.nodes[e]
        if node[0] == Op.VAR and node[1] in self.ahead.value:
            return (self.ahead.value[node[1]],)
        if self._is_leaf(e):
            return ()
        return node[1:2] if node[0] == Op.HOMOTOPY else operands(self.g, e)

    def _range(self, e: int) -> str:
        node, ahead = self.g.nodes[e], self.ahead
        op = node[0]
        if ahead.stands(e):
            return f"pl_range_still({self.number(e)})"
        if op == Op.TIME:
            return "pl_range_time(from, to)"
        if op == Op.VAR and node[1] in ahead.state:
            return f"pl_range_state(path, {ahead.state[node[1]]}, to - from)"
        if op == Op.VAR and node[1] in ahead.input:
            return f"path->u[{ahead.input[node[1]]}]"
        inner = [self.ranges[a] for a in operands(self.g, e)]
        if op == Op.TABLE:
            return f"pl_range_table(&table_{node[1]}, {node[2]}, {inner[0]})"
        if self.e.shared.is_product(e):
            inverse = self.e.c.inverse(node[2])  # the same arithmetic as in the model itself
            if inverse is not None:
                return f"pl_range_scale({inner[0]}, {inverse})"
        if op == Op.MUL:
            if node[1] == node[2]:
                return f"pl_range_square({inner[0]})"
            for a, b in ((1, 2), (2, 1)):
                if ahead.stands(node[a]):
                    return f"pl_range_scale({inner[b - 1]}, {self.number(node[a])})"
        return f"pl_range_{OP_NAME[op]}({', '.join(inner)})"

    # -------------------------------------------------------------------------------------- what stands still

    def number(self, root: int) -> str:
        """Text of the value of an expression that stands still; writes what it needs."""
        uses: Counter[int] = Counter()
        memoised(root, {}, self._open, lambda e: uses.update(self._open(e)))
        nested: dict[int, int] = {}  # node -> operations on the line so far

        def write(e: int) -> int:
            parts, op = self._parts(e), self.g.nodes[e][0]
            if e in self.numbers:
                return 0
            if not parts:
                self.numbers[e] = self._leaf(e)
                return 0
            is_name = op in (Op.VAR, Op.HOMOTOPY)  # of its only part
            levels = 1 + max(nested[a] for a in parts)
            if not is_name and uses[e] < 2 and levels < DEEPEST and e != root:
                return levels
            known = self.numbers.get(parts[0]) if is_name else None
            self.numbers[e] = known or self._named("pl_real", "v", self._text(parts[0] if is_name else e))
            return 0

        memoised(root, nested, self._open, write)
        return self.numbers[root]

    def _open(self, e: int) -> Sequence[int]:
        """Parts that are not written yet, or none."""
        return () if e in self.numbers else self._parts(e)

    def _text(self, e: int) -> str:
        """C text of a node whose operands were checked."""

        def inverse(i: int) -> str | None:
            return self.e.c.inverse(self.g.nodes[i][2]) if self.e.shared.is_product(i) else None

        return Printer(self.g, self.e.c.layout, self.numbers.get, inverse, self.e.c.foreign.number).text(e)

    def _is_leaf(self, e: int) -> bool:
        """Its value is at hand when the function is called."""
        op = self.g.nodes[e][0]
        self.e.shared.extend()
        return op <= Op.ARG or op == Op.REL or self.e.shared.fixed[e]

    def _leaf(self, e: int) -> str:
        node, context = self.g.nodes[e], self.e.c
        if node[0] == Op.CONST:
            text = context.layout.literal(node[1])
            return text if node[1] >= 0.0 else f"({text})"
        if node[0] == Op.REL:
            return context.layout.place(RELATION.at(node[1]))
        if node[0] == Op.VAR and node[1] in context.places:
            return context.layout.source(context.places[node[1]])
        return context.constant(e)
