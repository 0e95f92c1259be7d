"""From index-1 equations to blocks in order: matching, block lower triangular form, tearing, explicit solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pliant.errors import ArgumentError
from pliant.expr.build import const, neg, operands, sub, substitute, value_of, var
from pliant.expr.evaluate import parameter_values
from pliant.ir import Equation, Kind, Op, SolvedForm, System
from pliant.sorted_system import Block, Step
from pliant.structure.apply import (
    INVERSE,
    LITERAL,
    NONLINEAR,
    PARAMETER,
    VARIABLE,
    Coefficients,
    incidence,
    relax,
    solve_linear,
    stepwise,
    without_denominator,
)
from pliant.structure.blt import sort_blocks
from pliant.structure.diagnosis import Describer
from pliant.structure.matching import match
from pliant.structure.options import StructureOptions
from pliant.structure.tearing import tear


class Sorter:
    """Blocks of one index-1 system."""

    def __init__(
        self,
        system: System,
        equations: list[Equation],
        states: Sequence[int],
        options: StructureOptions,
        forced: Sequence[int] = (),
    ) -> None:
        self.system, self.g = system, system.graph
        self.variables = system.variables
        self.equations = equations
        self.options = options
        known = set(states)
        kinds = (Kind.UNKNOWN, Kind.DERIVATIVE)
        self.unknown = [v.kind in kinds and i not in known for i, v in enumerate(self.variables)]
        self.numbers = parameter_values(system)
        self.coefficients = Coefficients(self.g, self.variables, self.unknown.__getitem__, self.numbers)
        self.rows = [self.coefficients.of(e.residual) for e in equations]
        self.steps = [stepwise(self.g, e.residual, self.unknown.__getitem__) for e in equations]
        self.explicit = [self._explicit(e) for e in range(len(equations))]
        self.forced = list(forced)
        self.pivots: list[tuple[int, int, int]] = []
        self.zeros: list[int] = []  # expressions of parameters, zero now, that equations would be divided by

    def run(self) -> list[Block]:
        """Match, sort, tear."""
        number: dict[int, int] = {}
        unknowns: list[int] = []
        inc: list[list[int]] = []
        literal: list[list[int]] = []
        constant: list[list[int]] = []
        explicit: list[list[int]] = []
        linear: list[list[int]] = []
        regular: list[list[int]] = []
        for e, row in enumerate(self.rows):
            # derivatives first: their equations should give them
            order = sorted(row, key=lambda v: (self.variables[v].kind != Kind.DERIVATIVE, v))
            for v in order:
                if v not in number:
                    number[v] = len(unknowns)
                    unknowns.append(v)
            level = {v: self._level(e, v) for v in order}
            inc.append([number[v] for v in order])
            literal.append([number[v] for v in order if level[v] == LITERAL])
            constant.append([number[v] for v in order if level[v] <= PARAMETER])
            explicit.append([number[v] for v in order if level[v] <= INVERSE])
            linear.append([number[v] for v in order if level[v] <= VARIABLE])
            regular.append([number[v] for v in order if value_of(self.g, row[v]) != 0.0])
        eq_to_var, var_to_eq = match(inc, len(unknowns), phases=[literal, constant, explicit, linear, regular])
        if -1 in eq_to_var or -1 in var_to_eq:
            raise Describer(self.g, self.variables, self.equations, self.system.relations).singular(
                inc, unknowns, eq_to_var, var_to_eq
            )
        blocks = []
        for equations in sort_blocks(inc, eq_to_var, var_to_eq):
            if len(equations) == 1:
                e = equations[0]
                blocks.append(self._single(e, unknowns[eq_to_var[e]]))
            else:
                blocks.append(self._loop(equations, [unknowns[eq_to_var[e]] for e in equations]))
        if self.forced:
            self._report_unused(blocks)
        self._note_divisors(eq_to_var, unknowns)
        return blocks

    def _note_divisors(self, eq_to_var: list[int], unknowns: list[int]) -> None:
        """Expressions of parameters that equations divide by in any case: they must not become zero, as pivots."""
        nodes = self.g.nodes
        known = {e for e, _, _ in self.pivots}
        seen: set[int] = set()  # what equations share is looked at once
        for e, equation in enumerate(self.equations):
            stack = [] if equation.residual in seen else [equation.residual]
            seen.add(equation.residual)
            while stack:
                i = stack.pop()
                node = nodes[i]
                divisor = node[2] if node[0] == Op.DIV else -1
                is_new = divisor >= 0 and divisor not in known and value_of(self.g, divisor) is None
                if is_new and self.coefficients.contents(divisor)[0]:
                    known.add(divisor)
                    self.pivots.append((divisor, e, unknowns[eq_to_var[e]]))
                # what stands in a branch may never be evaluated
                below = node[1:2] if node[0] == Op.IF else operands(self.g, i)
                new = [a for a in below if a not in seen]
                seen.update(new)
                stack.extend(new)

    def _report_unused(self, blocks: Sequence[Block]) -> None:
        torn = {v for block in blocks for v in block.tears}
        for v in self.forced:
            if v not in torn:
                loops = [self.variables[w].name for b in blocks if len(b.variables) > 1 for w in b.variables]
                raise ArgumentError(
                    f"tear={self.variables[v].name!r}: this variable is in no algebraic loop",
                    hint=f"the loops contain {', '.join(loops[:12])}" if loops else "the model has no loops",
                )

    def _level(self, e: int, v: int) -> int:
        """How safely equation e can be solved for v."""
        level = NONLINEAR if v in self.steps[e] else self.coefficients.solvability(v, self.rows[e][v])
        return INVERSE if level > INVERSE and v in self.explicit[e] else level

    def _explicit(self, e: int) -> dict[int, SolvedForm]:
        """What inverses of functions give, from nothing but the other unknowns of the equation and safe divisors."""
        found = {}
        for one in self.equations[e].explicit:
            others = self.rows[e].keys() - {one.variable}
            roots = (one.expression, *one.divisors, *(check.condition for check in one.checks))
            read = {v for root in roots for v in incidence(self.g, root, self.unknown.__getitem__)}
            constants = (self.coefficients.solvability(one.variable, d) <= PARAMETER for d in one.divisors)
            if one.variable in self.rows[e] and read <= others and all(constants):
                found[one.variable] = one
        return found

    def _invert(self, e: int, v: int) -> None:
        """Write an equation as ``v = g(...)``."""
        form = self.explicit[e].pop(v)
        residual = sub(self.g, var(self.g, v), form.expression)
        self.equations[e] = replace(self.equations[e], residual=residual, explicit=())
        self.rows[e] = self.coefficients.of(residual)
        self.steps[e] = stepwise(self.g, residual, self.unknown.__getitem__)
        self.pivots += [(divisor, e, v) for divisor in form.divisors if value_of(self.g, divisor) is None]
        self.system.checks += form.checks

    def _solve(self, e: int, v: int) -> int:
        """Expression for v from equation e, linear in v; parameter pivots are noted."""
        if self._level(e, v) == INVERSE:
            self._invert(e, v)
        coefficient = self.rows[e][v]
        if self._level(e, v) == PARAMETER:
            self.pivots.append((coefficient, e, v))
        return solve_linear(self.g, self.equations[e].residual, v, coefficient)

    def _clear(self, e: int, v: int) -> None:
        """Multiply an equation by a denominator that makes it nonlinear: 1/v = a has a pole where a guess may be."""
        found = None if v in self.steps[e] else without_denominator(self.g, self.equations[e].residual, v)
        if found is None:
            return
        numerator, residual = found
        row = self.coefficients.of(residual)
        if not self.coefficients.contents(numerator)[0] or self.coefficients.solvability(v, row[v]) == NONLINEAR:
            return
        level = self.coefficients.solvability(v, numerator)
        if level == PARAMETER:
            self.pivots.append((numerator, e, v))
        if level <= PARAMETER:
            self.equations[e] = replace(self.equations[e], residual=residual)
            self.rows[e] = row

    def _single(self, e: int, v: int) -> Block:
        if self._level(e, v) == NONLINEAR:
            self._clear(e, v)
        level = self._level(e, v)
        if level <= INVERSE:
            return Block("explicit", (e,), (v,), (Step(v, e, self._solve(e, v)),))
        if level == VARIABLE and self.coefficients.contents(self.rows[e][v])[0]:
            self.zeros.append(self.rows[e][v])
        # a coefficient that varies may become zero: the loop code watches its pivot
        kind = "nonlinear" if level == NONLINEAR else "linear"
        return self._relaxed(Block(kind, (e,), (v,), (), (v,), (e,)))

    def _relaxed(self, block: Block) -> Block:
        """The system for the tears, everything else eliminated."""
        g = self.g
        members = set(block.variables)
        zero = const(g, 0.0)
        rows = {e: {v: c for v, c in self.rows[e].items() if v in members and c != zero} for e in block.equations}
        order = [(step.equation, step.variable) for step in block.steps]
        right = dict.fromkeys(block.equations, zero)
        if block.kind == "linear":
            zeros = {var(g, v): zero for v in block.variables}
            memo: dict[int, int] = {}
            for e in block.equations:
                right[e] = neg(g, substitute(g, [self.equations[e].residual], zeros, memo)[0])
        found = relax(g, order, rows, right, block.tears, block.residuals)
        return replace(block, matrix=tuple(map(tuple, found.matrix)), right=tuple(found.right))

    def _loop(self, equations: list[int], unknowns: list[int]) -> Block:
        members = set(unknowns)
        if len(unknowns) > self.options.largest_torn and not any(v in members for v in self.forced):
            rows, members_in_order = tuple(equations), tuple(unknowns)
            return Block("sparse", rows, members_in_order, (), members_in_order, rows)
        local = {v: i for i, v in enumerate(unknowns)}
        inc = [[local[v] for v in self.rows[e] if v in members] for e in equations]
        solvable = [
            {local[v] for v in self.rows[e] if v in members and self._level(e, v) <= INVERSE} for e in equations
        ]
        forced = [local[v] for v in self.forced if v in members]
        torn = tear(inc, solvable, method=self.options.tearing, forced=forced)
        steps = [Step(unknowns[i], equations[k], self._solve(equations[k], unknowns[i])) for k, i in torn.causal]
        linear = not any(
            self.coefficients.contents(c)[1] & members
            for e in equations
            for v, c in self.rows[e].items()
            if v in members
        ) and not any(self.steps[e] & members for e in equations)
        return self._relaxed(
            Block(
                "linear" if linear else "nonlinear",
                tuple(equations),
                tuple(unknowns),
                tuple(steps),
                tuple(unknowns[i] for i in torn.tears),
                tuple(equations[k] for k in torn.residuals),
            )
        )
