"""Everything that a step computes as scalar assignments on one graph of expressions.

A z = b            LU without pivoting in a fixed order, structural zeros skipped
r(z) = 0           a fixed number of Newton steps from the value of the last step, each with its exact matrix
relations          a comparison at the present x, t and u; where it depends on itself, its value of the last step, or
                   what a fixed number of passes through the model makes of it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pliant.codegen.plan import inner_nodes, nodes_of, targets_of
from pliant.codegen.program import Assign, Columns, Newton, Program, Solve, Statement, build_program
from pliant.errors import NotSupportedError
from pliant.expr.build import add, div, mul, operands, reachable, rebuild, sub, value_of, var
from pliant.expr.walk import memoised
from pliant.ir import PLAIN, Op
from pliant.realtime.code.algebra import Algebra, Factors
from pliant.realtime.code.delays import DelayLeaves
from pliant.realtime.code.jump_time import JumpTime
from pliant.realtime.sparsing.elimination import eliminate
from pliant.realtime.sparsing.past import Delay, delays_of
from pliant.sorted_system import SortedSystem

LARGEST_POWER = 8  # integer exponents up to this become products
_COMPARISONS = (Op.LT, Op.LE, Op.EQ, Op.NE)


def check_supported(s: SortedSystem) -> None:
    """Refuse what a step of fixed cost cannot do."""
    for one in s.system.refusals:
        raise NotSupportedError(
            f"{s.system.name} cannot become a real-time step: {one.what}" + (f"  {one.span}" if one.span else ""),
            hint="use other constructs: when, sample, pre and reinit can become part of a step",
        )
    nodes = s.system.graph.nodes
    for i in reachable(s.system.graph, [one.residual for one in s.equations]):
        if nodes[i][0] == Op.ROUTINE:
            raise NotSupportedError(
                f"{s.system.name} cannot become a real-time step: `{nodes[i][1].name}` is a function that is called, "
                "because its body is large or has loops whose ends depend on variables",
                hint="replace it by shorter functions, or by a table",
            )
    if any(nodes[i][0] == Op.PIPE for i in reachable(s.system.graph, [one.residual for one in s.equations])):
        raise NotSupportedError(
            f"{s.system.name} cannot become a real-time step: it has pipes (spatialDistribution(...))",
            hint="replace them by chains of well-mixed volumes, or by delay(x, T) with a constant T",
        )
    for one_set in s.sets:
        names = ", ".join(s.system.variables[v].name for v in one_set.candidates[0])
        raise NotSupportedError(
            f"{s.system.name} chooses its states during the run, among {names}: a fixed order cannot",
            hint="choose states by hand: stateSelect = StateSelect.always (or prefer) on coordinates that stay regular",
        )


def operands_first(needs: Sequence[Sequence[int]], without: set[int]) -> list[int]:
    """An order of evaluation, depth first; those in ``without`` are left out."""
    done = set(without)
    order: list[int] = []
    for first in range(len(needs)):
        stack = [(first, iter(needs[first]))] if first not in done else []
        done.add(first)
        while stack:
            k, rest = stack[-1]
            following = next((d for d in rest if d not in done), None)
            if following is None:
                stack.pop()
                order.append(k)
            else:
                done.add(following)
                stack.append((following, iter(needs[following])))
    return order


def reaches_itself(needs: Sequence[Sequence[int]], start: int) -> bool:
    """Does it need itself, through others?"""
    seen: set[int] = set()
    stack = list(needs[start])
    while stack:
        k = stack.pop()
        if k == start:
            return True
        if k not in seen:
            seen.add(k)
            stack.extend(needs[k])
    return False


class Lowering(Algebra):
    """One evaluation after the other, as assignments in ``out``."""

    def __init__(self, s: SortedSystem, form: str, newton_steps: int) -> None:
        self.s = s
        self.program: Program = build_program(s, form)
        super().__init__(self.program.graph, self.program.variables)
        self.newton_steps = newton_steps
        self.delays: list[Delay] = delays_of(self.program)
        self.delay_leaves = DelayLeaves(self)
        self.loop_rows: Mapping[int, Sequence[int]] = {}  # loop -> row of each column's pivot
        self.clock = self.temporary("time")
        discrete = {v for one in s.events.memories for v in (one.variable, one.before)}
        self.jump_time = JumpTime(self, self.clock, discrete | {one.tick for one in s.events.clocks})
        self.relations = [self.temporary(f"relation_{k + 1}") for k in range(len(self.s.relations))]
        self.integers = set(self.relations)  # variables that are 0 or 1
        self.kept: list[int] = []  # relations with memory
        self.loose: set[int] = set()  # discrete variables in a loop: events read their values of the step before
        self.first_last: dict[int, int] = {}  # tear of a Newton loop -> its value after the first evaluation
        self.guess: dict[int, int] = {}  # tear of a Newton loop -> variable that holds its last value
        self.statements = self._sorted_with_relations()
        for statement in self.program.statements:
            if isinstance(statement, Newton):
                for z in statement.targets:
                    self.guess[z] = self.temporary(f"last.{self.variables[z].name}")

    # ------------------------------------------------------------------ order, relations

    def _expressions(self, statement: Statement) -> list[int]:
        return inner_nodes(statement) if isinstance(statement, Newton) else nodes_of(statement)

    def _relations_in(self, roots: Sequence[int], memo: dict[int, frozenset[int]]) -> set[int]:
        found: set[int] = set()
        for e in roots:
            found |= self._relations_under(e, memo)
        return found

    def _relations_under(self, e: int, memo: dict[int, frozenset[int]]) -> frozenset[int]:
        nodes, empty = self.g.nodes, frozenset[int]()

        def below(i: int) -> Sequence[int]:
            return operands(self.g, i)

        def value(i: int) -> frozenset[int]:
            node = nodes[i]
            if node[0] <= Op.ARG:
                return frozenset((node[1],)) if node[0] == Op.REL else empty
            return empty.union(*(memo[a] for a in below(i)))

        return memoised(e, memo, below, value)

    def needs(self, more: Sequence[Sequence[int]] = (), known: Mapping[int, int] | None = None) -> list[list[int]]:
        """What each statement, then each relation, then each list of expressions in ``more`` needs, as places in this
        order; ``known``: variables that ``more`` gives values to, with their places."""
        memo: dict[int, frozenset[int]] = {}
        program = self.program.statements
        n = len(program)
        definer = {v: k for k, one in enumerate(program) for v in targets_of(one)} | dict(known or {})
        sides = [[r.lhs, r.rhs] for r in self.s.relations]
        needs: list[list[int]] = []
        for k, roots in enumerate([*map(self._expressions, program), *sides, *more]):
            # an iteration computes its steps itself; the assignments of the same variables come after it
            one = program[k] if k < n else None
            inner = {step.target for step in one.steps} if isinstance(one, Newton) else set()
            found = {definer[v] for e in roots for v in self.shared.uses(e) if v in definer and v not in inner}
            found |= {n + r for r in self._relations_in(roots, memo)}
            found.discard(k if k < n else -1)
            needs.append(sorted(found))
        return needs

    def _sorted_with_relations(self) -> list[Statement | int]:
        """Statements and numbers of relations in an order of evaluation; relations that depend on themselves are
        left out and kept in memory."""
        program, needs = self.program.statements, self.needs()
        n = len(program)
        self.kept = [r for r in range(len(self.s.relations)) if reaches_itself(needs, n + r)]
        order = operands_first(needs, {n + r for r in self.kept})
        return [program[k] if k < n else k - n for k in order]

    # ------------------------------------------------------------------ expressions

    def leaves(self) -> dict[int, int]:
        """Replacement of leaves that no step knows: time, relations, and between events what only they change."""
        g, events = self.g, self.s.events
        leaf = {g.intern((Op.TIME,)): var(g, self.clock)}
        leaf |= {var(g, one.before): var(g, one.variable) for one in events.memories}
        if events.initial >= 0:
            leaf[var(g, events.initial)] = self.zero
        return leaf | {g.intern((Op.REL, k)): var(g, v) for k, v in enumerate(self.relations)}

    def rewrite(self, e: int, leaf: Mapping[int, int], memo: dict[int, int]) -> int:
        """e with leaves replaced, small powers as products, homotopy as the actual model, Boolean choices as logic."""
        nodes, g = self.g.nodes, self.g

        def below(i: int) -> Sequence[int]:
            node = nodes[i]
            op = node[0]
            if op <= Op.ARG:
                return ()
            if op == Op.DELAY:
                return self.delay_leaves.operands(node)
            return node[1 + PLAIN.get(op, 0) :] if op != Op.HOMOTOPY else node[1:2]

        def value(i: int) -> int:
            node = nodes[i]
            op = node[0]
            if op <= Op.ARG:
                return leaf.get(i, i)
            old = below(i)
            new = tuple([memo[a] for a in old])
            if op == Op.HOMOTOPY:
                return new[0]
            if op == Op.DELAY:
                return self.delay_leaves.of(g, node, new, leaf)
            if op == Op.POW:
                return self._power(*new)
            if op == Op.IF and self._is_logic(new[1]) and self._is_logic(new[2]):
                either = rebuild(g, Op.AND, (new[0], new[1]))
                other = rebuild(g, Op.AND, (rebuild(g, Op.NOT, (new[0],)), new[2]))
                return rebuild(g, Op.OR, (either, other))
            if op in _COMPARISONS:
                new = tuple([self.jump_time.of(a) for a in new])
            return i if new == old else rebuild(g, op, (*node[1 : 1 + PLAIN.get(op, 0)], *new))

        return memoised(e, memo, below, value)

    def _is_logic(self, e: int) -> bool:
        return bool(Op.LT <= self.g.nodes[e][0] <= Op.NOT)

    def _power(self, base: int, exponent: int) -> int:
        value = value_of(self.g, exponent)
        if value is None or not value.is_integer() or not 0 < abs(value) <= LARGEST_POWER:
            return rebuild(self.g, Op.POW, (base, exponent))
        product = base
        for bit in bin(int(abs(value)))[3:]:
            product = mul(self.g, product, product)
            if bit == "1":
                product = mul(self.g, product, base)
        return product if value > 0 else div(self.g, self.one, product)

    def loop_factors(self, matrix: Sequence[Sequence[int]], loop: int) -> Factors:
        """Factors of the matrix of a loop."""
        n = len(matrix)
        entries = {(i, j): e for i, row in enumerate(matrix) for j, e in enumerate(row) if e != self.zero}
        order = eliminate(n, entries, self.loop_rows.get(loop))
        named = {(i, j): self.named(f"loop{loop}.a.{i}.{j}", e) for (i, j), e in entries.items()}
        return self.factor(order, named, f"loop{loop}")

    # ------------------------------------------------------------------ one evaluation of the model

    def evaluate(self, leaf: dict[int, int], fresh: bool, frozen: bool = False) -> ModelPass:
        """All statements of the program with these leaves; ``fresh``: under new names, ``frozen``: relations hold."""
        return ModelPass(self, leaf, fresh, frozen)


class ModelPass:
    """One pass through the model at one x, t and u."""

    def __init__(
        self,
        lowering: Lowering,
        leaf: dict[int, int],
        fresh: bool,
        frozen: bool,
        order: Sequence[Any] | None = None,
    ) -> None:
        self.w, self.g = lowering, lowering.g
        self.leaf, self.fresh, self.frozen = leaf, fresh, frozen
        self.memo: dict[int, int] = {}
        self.factors: dict[int, Factors] = {}
        self.last: dict[int, int] = {}  # tear of a Newton loop -> its value
        for one in lowering.statements if order is None else order:
            self._add(one)

    def of(self, e: int) -> int:
        """An expression of the model at this point."""
        return self.w.rewrite(e, self.leaf, self.memo)

    def _assign(self, v: int, e: int) -> None:
        w = self.w
        target = v
        if self.fresh:
            target = w.temporary(w.variables[v].name)
            self.leaf[var(self.g, v)] = var(self.g, target)
        w.out.append(Assign(target, e))

    def _add(self, one: Statement | int) -> None:
        w = self.w
        if isinstance(one, int):
            if not self.frozen:
                self._assign_relation(one)
        elif isinstance(one, Assign):
            self._assign(one.target, self.of(one.expression))
        elif isinstance(one, Solve):
            matrix = [[self.of(e) for e in row] for row in one.matrix]
            right = [self.of(e) for e in one.right]
            self.factors[one.loop] = w.loop_factors(matrix, one.loop)
            for z, e in zip(one.targets, w.solve(self.factors[one.loop], right, f"loop{one.loop}.z"), strict=True):
                self._assign(z, e)
        elif isinstance(one, Newton):
            self._newton(one)

    def comparison(self, k: int) -> int:
        """Relation k at this point."""
        r = self.w.s.relations[k]
        sides = tuple([self.w.jump_time.of(self.of(e)) for e in (r.lhs, r.rhs)])
        return rebuild(self.g, Op.LT if r.strict else Op.LE, sides)

    def _assign_relation(self, k: int) -> None:
        w = self.w
        target = w.relations[k]
        if self.fresh:
            target = w.temporary(f"relation_{k + 1}")
            w.integers.add(target)
            self.leaf[self.g.intern((Op.REL, k))] = var(self.g, target)
        w.out.append(Assign(target, self.comparison(k)))

    def _newton(self, one: Newton) -> None:
        w, g = self.w, self.g
        z = [self.leaf.get(var(g, w.guess[v]), var(g, w.guess[v])) for v in one.targets]
        for iteration in range(w.newton_steps):
            leaf = dict(self.leaf)
            leaf |= {var(g, v): e for v, e in zip(one.targets, z, strict=True)}
            memo: dict[int, int] = {}
            for step in one.steps:
                e = w.rewrite(step.expression, leaf, memo)
                name = f"{w.variables[step.target].name}.{iteration + 1}"
                leaf[var(g, step.target)] = w.named(name, e)
            residual = [w.rewrite(e, leaf, memo) for e in one.residuals]
            matrix = [[w.rewrite(e, leaf, memo) for e in row] for row in one.matrix]
            change = w.solve(w.loop_factors(matrix, one.loop), residual, f"loop{one.loop}.d")
            z = [
                w.named(f"{w.variables[v].name}.{iteration + 1}", sub(g, a, d))
                for v, a, d in zip(one.targets, z, change, strict=True)
            ]
        for v, e in zip(one.targets, z, strict=True):
            self._assign(v, e)
            self.last[v] = e

    def columns(self, statements: Sequence[Statement], wanted: Iterable[int]) -> None:
        """Derivatives of tears: solutions with the factors of their loops, as far as the ``wanted`` entries need."""
        w = self.w
        loops = [one for one in statements if isinstance(one, Columns)]
        needed = {v for e in wanted for v in w.shared.uses(e)}
        for one in reversed(loops):
            for line in one.targets:
                if needed.intersection(line):
                    rights = [row[j] for row in one.right for j, v in enumerate(line) if v in needed]
                    needed.update(v for e in rights for v in w.shared.uses(e))
            needed.update(v for row in one.matrix for e in row for v in w.shared.uses(e))
        for one in loops:
            if one.is_newton and one.loop not in self.factors:
                self.factors[one.loop] = w.loop_factors([[self.of(e) for e in row] for row in one.matrix], one.loop)
            places = [(i, j) for i, line in enumerate(one.targets) for j, v in enumerate(line) if v in needed]
            self._columns(one, places)

    def _columns(self, one: Columns, places: Sequence[tuple[int, int]]) -> None:
        """Either solutions per column, or rows of the inverse times columns: whichever has fewer operations."""
        w, g = self.w, self.g
        right = [[self.of(e) for e in row] for row in one.right]
        factors, n = self.factors[one.loop], len(right)
        columns = sorted({j for _, j in places})
        filled = {j: [k for k in range(n) if right[k][j] != w.zero] for j in columns}
        by_columns = len(columns) * factors.elimination.solve_flops
        rows = sorted({k for j in columns for k in filled[j]})
        by_inverse = 0.6 * len(rows) * factors.elimination.solve_flops + sum(2 * len(filled[j]) - 1 for _, j in places)
        name = f"loop{one.loop}"
        if by_columns <= by_inverse:
            for j in columns:
                found = w.solve(factors, [row[j] for row in right], f"{name}.column{j}")
                w.out += [Assign(one.targets[i][j], found[i]) for i, column in places if column == j]
            return
        inverse = {k: w.solve(factors, [w.one if i == k else w.zero for i in range(n)], f"{name}.e{k}") for k in rows}
        for i, j in places:
            total = w.zero
            for k in filled[j]:
                total = add(g, total, mul(g, inverse[k][i], right[k][j]))
            w.out.append(Assign(one.targets[i][j], total))
