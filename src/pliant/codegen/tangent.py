"""Exact derivatives of a program.

Every assignment is a vertex of the linearised computation, its local partial derivatives are the edges. Eliminating a
vertex multiplies the edges through it; when all are gone, the edges from seeds to targets are the Jacobian (Griewank &
Walther, Evaluating Derivatives, ch. 9-10). The vertex with the least product of incoming and outgoing edges goes first
(Markowitz), which is close to the fewest operations, and less than forward or reverse mode need.

Through a loop r(z, v) = 0 the implicit function theorem leads: dz/dv = -(dr/dz)^-1 dr/dv, with the factors that the
loop itself needed. Tears start as open vertices; their edges come from these solutions, loop by loop.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pliant.codegen.program import Assign, Columns, Newton, Program, Solve, Statement
from pliant.expr.build import add, const, div, mul, neg, var
from pliant.expr.differentiate import CLOCK, gradient
from pliant.ir import Graph, Kind, Variable

Row = dict[int, int]  # variable -> partial derivative; CLOCK -> derivative by time
MOVING = (Kind.UNKNOWN, Kind.DERIVATIVE, Kind.INPUT)


@dataclass
class Derivatives:
    """Entries of a Jacobian, and the statements that must run besides the program's own."""

    rows: list[Row]  # one per target: seed -> expression
    statements: list[Statement]


class Tangent:
    """Derivatives of one program; local partials are made once."""

    def __init__(self, program: Program, with_parameters: bool = False) -> None:
        """``with_parameters``: parameters move, too."""
        self.program = program
        self.kinds = (*MOVING, Kind.PARAMETER) if with_parameters else MOVING
        self.g: Graph = program.graph
        self.variables = program.variables
        self._local: dict[int, Row] = {}

    def local(self, e: int) -> Row:
        """Partial derivatives of an expression by the variables that move."""
        row = self._local.get(e)
        if row is None:
            row = self._local[e] = gradient(self.g, e, self._moves)
        return row

    def _moves(self, v: int) -> bool:
        return v == CLOCK or self.variables[v].kind in self.kinds

    def temporary(self, name: str) -> int:
        """A new variable that only the generated code knows."""
        self.variables.append(Variable(name, Kind.SELECTION))
        return len(self.variables) - 1

    def jacobian(self, targets: Sequence[int], seeds: Sequence[int]) -> Derivatives:
        """d targets / d seeds by elimination."""
        return _Elimination(self, targets, seeds).run()

    def directional(
        self, targets: Sequence[int], direction: Callable[[int], int | None], time_rate: int | None = None
    ) -> tuple[list[int], list[Statement]]:
        """Derivatives of the targets along one direction: ``direction(v)`` is that of a seed, None: zero."""
        g = self.g
        zero = const(g, 0.0)
        rate: dict[int, int] = {}
        statements: list[Statement] = []

        def of(e: int) -> int:
            total = zero
            for v, p in self.local(e).items():
                d = time_rate if v == CLOCK else rate.get(v)
                if d is None:
                    seeded = direction(v)
                    d = zero if seeded is None else seeded
                if d != zero:
                    total = add(g, total, mul(g, p, d))
            return total

        for statement in self.program.statements:
            if isinstance(statement, Assign):
                d = of(statement.expression)
                if d != zero:
                    rate[statement.target] = self._named(statement.target, d, statements)
                else:
                    rate[statement.target] = zero
            elif isinstance(statement, Solve | Newton):
                self._directional_loop(statement, rate, of, statements)
        return [of(e) for e in targets], statements

    def _named(self, v: int, d: int, statements: list[Statement]) -> int:
        target = self.temporary(f"d.{self.variables[v].name}")
        statements.append(Assign(target, d))
        return var(self.g, target)

    def _directional_loop(
        self, loop: Solve | Newton, rate: dict[int, int], of: Callable[[int], int], statements: list[Statement]
    ) -> None:
        """dz = -(dr/dz)^-1 (dr along the direction, z held)."""
        zero = const(self.g, 0.0)
        block = self.program.loops[loop.loop]
        for z in loop.targets:
            rate[z] = zero
        saved = dict.fromkeys(step.variable for step in block.steps)
        for step in block.steps:
            d = of(step.expression)
            rate[step.variable] = d if d == zero else self._named(step.variable, d, statements)
        equations = self.program.sorted.equations
        right = [[neg(self.g, of(equations[e].residual))] for e in block.residuals]
        for v in saved:
            rate.pop(v)
        if all(row[0] == zero for row in right):
            return
        if len(right) == 1:
            rate[loop.targets[0]] = self._named(
                loop.targets[0], div(self.g, right[0][0], loop.matrix[0][0]), statements
            )
            return
        targets = [[self.temporary(f"d.{self.variables[z].name}")] for z in loop.targets]
        statements.append(Columns(loop.loop, targets, right, loop.matrix, isinstance(loop, Newton)))
        for z, (d,) in zip(loop.targets, targets, strict=True):
            rate[z] = var(self.g, d)


class _Elimination:
    """One run: rows of targets, residuals and assigned variables, until only seeds are left in the targets."""

    def __init__(self, tangent: Tangent, targets: Sequence[int], seeds: Sequence[int]) -> None:
        self.t = tangent
        self.g = tangent.g
        self.program = tangent.program
        self.seeds = set(seeds)
        self.targets = targets
        self.rows: dict[int, Row] = {}  # row number -> edges; assigned variable v has row v, others are negative
        self.users: dict[int, set[int]] = {}
        self.statements: list[Statement] = []

    def run(self) -> Derivatives:
        """Eliminate everything."""
        keys = [-1 - k for k in range(len(self.targets))]
        residual_keys: dict[tuple[int, int], int] = {}
        assigned: dict[int, int] = {}
        loop_of: dict[int, Solve | Newton] = {}
        for statement in self.program.statements:
            if isinstance(statement, Assign):
                assigned[statement.target] = statement.expression
            elif isinstance(statement, Solve | Newton):
                for z in statement.targets:
                    loop_of[z] = statement
        needed_loops = self._collect(keys, assigned, loop_of, residual_keys)
        open_tears = {z for loop in needed_loops for z in loop.targets}
        self._eliminate([v for v in self.rows if v >= 0 and v not in open_tears])
        for loop in sorted(needed_loops, key=lambda one: one.loop):
            self._resolve(loop, [residual_keys[loop.loop, k] for k in range(len(loop.targets))])
            self._eliminate(loop.targets)
        return Derivatives([self.rows[k] for k in keys], self.statements)

    def _collect(
        self,
        keys: list[int],
        assigned: dict[int, int],
        loop_of: dict[int, Solve | Newton],
        residual_keys: dict[tuple[int, int], int],
    ) -> list[Solve | Newton]:
        """Rows of everything that the targets depend on."""
        loops: dict[int, Solve | Newton] = {}
        next_key = -1 - len(keys)
        stack: list[int] = []

        def enter(key: int, e: int) -> None:
            row = {v: p for v, p in self.t.local(e).items() if v in self.seeds or v in assigned or v in loop_of}
            self.rows[key] = row
            for v in row:
                self.users.setdefault(v, set()).add(key)
                stack.append(v)

        for key, e in zip(keys, self.targets, strict=True):
            enter(key, e)
        while stack:
            v = stack.pop()
            if v in self.rows or v in self.seeds:
                continue
            if v in assigned:
                enter(v, assigned[v])
            elif v in loop_of and loop_of[v].loop not in loops:
                loop = loop_of[v]
                loops[loop.loop] = loop
                block = self.program.loops[loop.loop]
                for k, equation in enumerate(block.residuals):
                    residual_keys[loop.loop, k] = next_key
                    enter(next_key, self.program.sorted.equations[equation].residual)
                    next_key -= 1
        return list(loops.values())

    def _eliminate(self, vertices: Sequence[int]) -> None:
        """Markowitz order; the heap holds stale entries, checked when they come up."""
        rows, users = self.rows, self.users
        waiting = {v for v in vertices if v in rows}
        heap = [(len(rows[v]) * len(users.get(v, ())), v) for v in waiting]
        heapq.heapify(heap)
        while heap:
            cost, v = heapq.heappop(heap)
            if v not in waiting:
                continue
            now = len(rows[v]) * len(users.get(v, ()))
            if now > cost:
                heapq.heappush(heap, (now, v))
                continue
            waiting.discard(v)
            self._eliminate_one(v)

    def _eliminate_one(self, v: int) -> None:
        g, rows, users = self.g, self.rows, self.users
        row = rows.pop(v)
        for u in row:
            users[u].discard(v)
        zero = const(g, 0.0)
        for w in sorted(users.pop(v, ())):
            other = rows[w]
            factor = other.pop(v)
            for u, p in row.items():
                amount = mul(g, factor, p)
                if u in other:
                    amount = add(g, other[u], amount)
                if amount == zero:
                    if u in other:
                        del other[u]
                        users[u].discard(w)
                    continue
                other[u] = amount
                users[u].add(w)

    def _resolve(self, loop: Solve | Newton, keys: list[int]) -> None:
        """Edges into the tears, from the residuals' edges."""
        g = self.g
        tears = set(loop.targets)
        columns = sorted({u for key in keys for u in self.rows[key] if u not in tears})
        zero = const(g, 0.0)
        right = [[neg(g, self.rows[key].get(u, zero)) for u in columns] for key in keys]
        for key in keys:
            for u in self.rows.pop(key):
                self.users[u].discard(key)
        for z in loop.targets:
            self.rows[z] = {}
        if not columns:
            return
        names = self.t.variables
        if len(loop.targets) == 1:
            entries = [[div(g, r, loop.matrix[0][0]) for r in right[0]]]
        else:
            targets = [[self.t.temporary(f"d.{names[z].name}.{names[u].name}") for u in columns] for z in loop.targets]
            self.statements.append(Columns(loop.loop, targets, right, loop.matrix, isinstance(loop, Newton)))
            entries = [[var(g, v) for v in row] for row in targets]
        for z, line in zip(loop.targets, entries, strict=True):
            for u, e in zip(columns, line, strict=True):
                if e != zero:
                    self.rows[z][u] = e
                    self.users.setdefault(u, set()).add(z)
