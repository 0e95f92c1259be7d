"""Taylor coefficients of a model's solution as one C function, order by order.

    x' = f(t, x, u),    x_{k+1} = f_k / (k + 1),    f_k from x_0 .. x_k and u_0 .. u_k  (:mod:`pliant.codegen.series`)

Loops r(z, ...) = 0 inside f: with z_k held at zero the k-th coefficient of r is c_k, and

    (dr/dz) z_k = -c_k

with the matrix of order 0 for all k (Griewank & Walther, Evaluating Derivatives, 2nd ed., ch. 13; the implicit function
theorem, once per order), so every loop is factorised once. Loops whose unknowns are in x (dae form) are treated alike,
block by block as the equations are sorted; the coefficients k of their unknowns need u_k.

Every coefficient of an assigned variable gets a name of its own; between two orders the function may return. What is
too large is left out: the solver then corrects its history by other means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pliant.codegen.arrays import U, given, loop_matrix, loop_pivots
from pliant.codegen.function import FunctionWriter, ModelContext
from pliant.codegen.places import Argument, Array, Source, ValueKind
from pliant.codegen.plan import FunctionPlan, PlanItem, Target, nodes_of
from pliant.codegen.program import Assign, Columns, Newton, Program, Solve, Statement
from pliant.codegen.series import Series, UnsupportedError
from pliant.codegen.tangent import Tangent
from pliant.expr.build import const, div, neg, reachable, value_of, var
from pliant.ir import Graph, Op
from pliant.sorted_system import Block

ORDER = 5
LARGEST = 60_000  # operations of the function
LARGEST_LOOP = 60  # unknowns of a loop outside f: its matrix is dense here
ARGUMENTS = (Argument("_order", ValueKind.INTEGER, is_array=False), Argument("_taylor"))
COEFFICIENTS = given("_taylor")


@dataclass(slots=True, eq=False)
class Factor(Columns):
    """Factorise the matrix of a loop; the target is a token that every solve reads, so that they come later."""


@dataclass(slots=True, eq=False)
class SolveOrder(Columns):
    """One right side with the factors of a loop; ``matrix`` holds the token of its Factor, or nothing."""

    order: int = 0


@dataclass(slots=True, eq=False)
class Loop:
    """residuals(unknowns) = 0 given the steps; d residuals / d unknowns = matrix, made on demand where empty."""

    number: int
    unknowns: Sequence[int]
    steps: list[Assign]
    residuals: list[int]
    matrix: Sequence[Sequence[int]]
    own_factors: bool  # not those that a Solve leaves


class TaylorProgram:
    """Statements and targets of the function."""

    def __init__(self, tangent: Tangent, places: dict[int, Source]) -> None:
        """``places`` learns where the inputs' coefficients are."""
        self.tangent = tangent
        self.program: Program = tangent.program
        self.g: Graph = tangent.g
        self.variables = tangent.variables
        self.places = places
        self.series = Series(self.g, self.program.sorted.system.tables)
        self.zero = const(self.g, 0.0)
        self.statements: list[Statement] = []
        self.groups: list[list[Target]] = []
        self._named: dict[int, int] = {}  # expression -> variable that holds it
        self._tokens: dict[int, int] = {}  # loop -> token of its factors
        p = self.program
        self.n_loops = len(p.loops)
        self.loop_size: dict[int, int] = {}  # loops outside f, numbered after those inside
        solved = {id(p.loops[one.loop]): one for one in p.statements if isinstance(one, Solve | Newton)}
        self.blocks = [self._block(block, solved.get(id(block))) for block in p.sorted.blocks]

    def _block(self, block: Block, statement: Solve | Newton | None) -> Assign | Loop:
        """What a block of the sorted equations asks for; the statement of a loop inside f."""
        if block.kind == "explicit":
            return Assign(block.steps[0].variable, block.steps[0].expression)
        equations = self.program.sorted.equations
        if statement is not None:
            steps = [Assign(step.variable, step.expression) for step in block.steps]
            residuals = [equations[e].residual for e in block.residuals]
            return Loop(statement.loop, block.tears, steps, residuals, statement.matrix, isinstance(statement, Newton))
        residuals = [equations[e].residual for e in block.equations]
        number = self.n_loops + len(self.loop_size)
        self.loop_size[number] = len(block.variables)
        return Loop(number, block.variables, [], residuals, [], True)

    def run(self, order: int) -> None:
        """Everything up to the given order; UnsupportedError says why not."""
        p = self.program
        if p.sorted.sets:
            raise UnsupportedError("its states are chosen during the simulation")
        largest = max(self.loop_size.values(), default=0)
        if largest > LARGEST_LOOP:
            raise UnsupportedError(f"a loop outside f has {largest} unknowns, more than {LARGEST_LOOP}")
        f = p.f[: p.n_states]
        for k in range(1, order + 1):
            rates = [self.series.of(e) for e in f]  # order k - 1
            x = [self._name(v, div(self.g, e, const(self.g, float(k))), k) for v, e in zip(p.x, rates, strict=False)]
            self.series.next_order()
            for v, e in zip(p.x, x, strict=False):
                self.series.give(v, e)
            algebraic = p.x[p.n_states :]
            if k < order or algebraic:
                self._inputs(k)
                self._forward(k)
            x += [self.series.of(var(self.g, v)) for v in algebraic]
            self.groups.append([(COEFFICIENTS.at(k * len(p.x) + i), e) for i, e in enumerate(x)])
            if self.n_operations() > LARGEST:
                raise UnsupportedError(f"it would take more than {LARGEST} operations")

    def n_operations(self) -> int:
        """Operations up to here, those of f included."""
        roots = [e for group in self.groups for _, e in group]
        roots += [e for one in (*self.program.statements, *self.statements) for e in nodes_of(one)]
        return sum(self.g.nodes[i][0] > Op.ARG for i in reachable(self.g, roots))

    # ------------------------------------------------------------------ one order

    def _inputs(self, k: int) -> None:
        n_u = len(self.program.u)
        for j, v in enumerate(self.program.u):
            coefficient = self.tangent.temporary(f"T{k}.{self.variables[v].name}")
            self.places[coefficient] = U.at(k * n_u + j)
            self.series.give(v, var(self.g, coefficient))

    def _forward(self, k: int) -> None:
        """Coefficients of everything that the program computes."""
        for block in self.blocks:
            if isinstance(block, Assign):
                self._assign(block, k)
            else:
                self._loop(block, k)
                for step in block.steps:
                    self._assign(step, k)

    def _assign(self, step: Assign, k: int) -> None:
        e = self.series.of(step.expression)
        self.series.give(step.target, self._name(step.target, e, k), step.expression)

    def _loop(self, loop: Loop, k: int) -> None:
        """z_k from the residuals with z_k = 0."""
        self.series.push()
        for z in loop.unknowns:
            self.series.give(z, self.zero)
        for step in loop.steps:
            self._assign(step, k)
        right = [neg(self.g, self.series.of(e)) for e in loop.residuals]
        self.series.pop()
        for z, e in zip(loop.unknowns, self._solve(loop, right, k), strict=True):
            self.series.give(z, e)

    # ------------------------------------------------------------------ statements

    def _name(self, v: int, e: int, k: int) -> int:
        """A variable that holds the coefficient, unless it is that simple already."""
        node = self.g.nodes[e]
        if node[0] == Op.NEG:
            node = self.g.nodes[node[1]]
        if node[0] <= Op.ARG:
            return e
        if e not in self._named:
            self._named[e] = self.tangent.temporary(f"T{k}.{self.variables[v].name}")
            self.statements.append(Assign(self._named[e], e))
        return var(self.g, self._named[e])

    def _solve(self, loop: Loop, right: list[int], k: int) -> list[int]:
        """matrix * solution = right"""
        if all(e == self.zero for e in right):
            return right
        if not loop.matrix:  # no steps between its equations: their partial derivatives are the matrix
            rows = [self.tangent.local(e) for e in loop.residuals]
            loop.matrix = [[row.get(z, self.zero) for z in loop.unknowns] for row in rows]
        if len(right) == 1:
            return [self._name(loop.unknowns[0], div(self.g, right[0], loop.matrix[0][0]), k)]
        token: list[list[int]] = []
        if loop.own_factors:
            if loop.number not in self._tokens:
                self._tokens[loop.number] = self.tangent.temporary(f"factors.{loop.number}")
                self.statements.append(Factor(loop.number, [[self._tokens[loop.number]]], [], loop.matrix, True))
            token = [[var(self.g, self._tokens[loop.number])]]
        targets = [[self.tangent.temporary(f"T{k}.{self.variables[z].name}")] for z in loop.unknowns]
        self.statements.append(SolveOrder(loop.number, targets, [[e] for e in right], token, loop.own_factors, k))
        return [var(self.g, one) for (one,) in targets]


class TaylorWriter(FunctionWriter):
    """Writes the function; it returns PL_FINISHED where the wanted order is reached."""

    stops_all = False

    def __init__(self, context: ModelContext, plan: FunctionPlan, attribute: str, n_loops: int) -> None:
        order = 1
        for item in plan.items:
            if item.kind == "stop":
                order += 1
                item.condition = f"_order < {order}"
        self.n_loops = n_loops
        super().__init__(context, "taylor", plan, ARGUMENTS, attribute=attribute)

    def _item(self, item: PlanItem) -> list[str]:
        if item.kind == "stop":
            return [f"    if ({item.condition}) return PL_FINISHED;"]
        return super()._item(item)

    def _columns(self, s: Columns) -> list[str]:
        if isinstance(s, Factor):
            return self._factorise(s)
        if not isinstance(s, SolveOrder):
            return super()._columns(s)
        k = len(s.targets)
        a, v = (loop_matrix(s.loop), loop_pivots(s.loop)) if s.is_newton else self._factors(s.loop, k)
        array, whole = Array(f"_c{s.loop}_{s.order}"), self.layout.array
        lines = [self._local(array, k), *self._fill(array, [row[0] for row in s.right])]
        lines.append(f"    {self.c.solve(k, whole(a), whole(v), 1, array.name, -1 if s.is_newton else s.loop)};")
        return lines + self._results([row[0] for row in s.targets], array)

    def _factorise(self, s: Factor) -> list[str]:
        k = len(s.matrix)
        a, v, whole, at = loop_matrix(s.loop), loop_pivots(s.loop), self.layout.array, self.layout.place
        failed = "return PL_SINGULAR;" if s.loop >= self.n_loops else self._singular(s.loop)
        printer = self.printer(self.plan)
        lines = [f"    memset({whole(a)}, 0, {k * k} * sizeof({self.layout.type(a.kind)}));"]
        entries = enumerate(e for row in s.matrix for e in row)
        lines += [f"    {at(a.at(n))} = {printer.text(e)};" for n, e in entries if value_of(self.c.g, e) != 0.0]
        return [*lines, f"    if ({self.c.factor(k, whole(a), whole(v))}) {failed}"]
