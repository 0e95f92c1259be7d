"""Factorisation and solution by loops over constant tables, for systems too large to be written out.

The operations and their order are those of the straight-line form, so the results are the same to the last bit. Trip
counts are constants of the tables: no branch depends on data.

    a     entries of the matrix, then fill; overwritten by multipliers and by the rows of U
    b     right sides by rows, overwritten
    d     reciprocal pivots
"""

from __future__ import annotations

from collections.abc import Sequence

from pliant.codegen.c_text import wrapped
from pliant.codegen.places import Argument, Array, Layout, Owner, ValueKind
from pliant.realtime.code.places import CHANGE
from pliant.realtime.sparsing.elimination import Elimination, Entry


class Tables:
    """Tables of one elimination, as C text with the names ``<name>_...``."""

    def __init__(self, elimination: Elimination, name: str) -> None:
        self.elimination, self.name = elimination, name
        self.place: dict[Entry, int] = {entry: k for k, entry in enumerate((*elimination.entries, *elimination.fill))}
        rows: dict[int, set[int]] = {}
        columns: dict[int, set[int]] = {}
        for i, j in self.place:
            rows.setdefault(i, set()).add(j)
            columns.setdefault(j, set()).add(i)
        self.pivot: list[int] = []
        self.lower_start, self.upper_start = [0], [0]
        self.lower: list[int] = []
        self.lower_row: list[int] = []
        self.upper: list[int] = []
        self.upper_column: list[int] = []
        self.update: list[int] = []
        for r, c in elimination.pivots:
            below, right = sorted(columns.pop(c) - {r}), sorted(rows.pop(r) - {c})
            for i in below:
                rows[i].discard(c)
            for j in right:
                columns[j].discard(r)
            self.pivot.append(self.place[r, c])
            self.lower += [self.place[i, c] for i in below]
            self.lower_row += below
            self.upper += [self.place[r, j] for j in right]
            self.upper_column += right
            self.update += [self.place[i, j] for i in below for j in right]
            self.lower_start.append(len(self.lower))
            self.upper_start.append(len(self.upper))

    @property
    def size(self) -> int:
        """Length of a."""
        return len(self.place)

    @property
    def constant_bytes(self) -> int:
        """Bytes of the tables."""
        n = self.elimination.n
        return 4 * (3 * n + 2 * (n + 1) + 2 * (len(self.lower) + len(self.upper)) + len(self.update))

    def text(self, layout: Layout) -> str:
        """The tables and the two functions that run over them."""
        name = self.name

        def table(what: str, values: Sequence[int]) -> str:
            numbers = wrapped([str(v) for v in values] or ["0"], 20)
            return f"PL_CONSTANTS static const int32_t {name}_{what}[] = {{{numbers}}};"

        lines = [
            table("pivot", self.pivot),
            table("row", [r for r, _ in self.elimination.pivots]),
            table("column", [c for _, c in self.elimination.pivots]),
            table("lower_start", self.lower_start),
            table("upper_start", self.upper_start),
            table("lower", self.lower),
            table("lower_row", self.lower_row),
            table("upper", self.upper),
            table("upper_column", self.upper_column),
            table("update", self.update),
        ]
        return "\n".join(lines) + "\n" + self._functions(layout)

    def _functions(self, layout: Layout) -> str:
        n, name, at, real = self.elimination.n, self.name, layout.place, layout.type(ValueKind.REAL)
        a, d, b = (Array(one, Owner.ARGUMENT) for one in "adb")  # of the instance; dx is local
        lower, upper, pivot = at(a.at(f"{name}_lower[l]")), at(a.at(f"{name}_upper[k]")), at(a.at(f"{name}_pivot[p]"))
        of_row = at(b.at(f"{name}_row[p]"))
        factor = layout.declared([Argument("a"), Argument("d")])
        given = [Argument("a", is_const=True), Argument("d", is_const=True), Argument("b"), Argument("dx")]
        solve = layout.listed(given)
        return f"""
static PL_UNUSED void {name}_factor({factor}) {{
    const int32_t *update = {name}_update;
    for (int p = 0; p < {n}; p++) {{
        const {real} inverse = 1 / {pivot};
        {at(d.at("p"))} = inverse;
        for (int l = {name}_lower_start[p]; l < {name}_lower_start[p + 1]; l++) {{
            const {real} factor = {lower} * inverse;
            {lower} = factor;
            for (int k = {name}_upper_start[p]; k < {name}_upper_start[p + 1]; k++)
                {at(a.at("*update++"))} -= factor * {upper};
        }}
    }}
}}

static PL_UNUSED void {name}_solve({", ".join(solve[:3])},
                                   {", ".join(solve[3:])}) {{
    for (int p = 0; p < {n}; p++)
        for (int l = {name}_lower_start[p]; l < {name}_lower_start[p + 1]; l++)
            {at(b.at(f"{name}_lower_row[l]"))} -= {lower} * {of_row};
    for (int p = {n} - 1; p >= 0; p--) {{
        {real} total = {of_row};
        for (int k = {name}_upper_start[p]; k < {name}_upper_start[p + 1]; k++)
            total -= {upper} * {at(CHANGE.at(f"{name}_upper_column[k]"))};
        {at(CHANGE.at(f"{name}_column[p]"))} = total * {at(d.at("p"))};
    }}
}}
"""
