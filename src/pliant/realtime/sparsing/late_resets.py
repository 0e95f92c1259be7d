"""Resets of states within a step, as the analysis makes them: the formulas of crossing.py with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.codegen.program import Program, reset_place
from pliant.expr.build import sub, substitute, var
from pliant.expr.evaluate import evaluate
from pliant.ir import FinalGraph, Kind, Variable
from pliant.realtime.sparsing.crossing import Ages, Resets, located_resets, share_of
from pliant.solve.models.equations import Equations
from pliant.sorted_system import SortedSystem

if TYPE_CHECKING:
    from pliant.realtime.sparsing.linearise import Trace, Walker

Matrix = NDArray[np.float64]
Pattern = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows, columns
Values = Mapping[int, float]


class LateResets:
    """All resets of a model whose times relations tell."""

    def __init__(self, s: SortedSystem, program: Program, resets: Sequence[Resets], pattern: Pattern) -> None:
        self.s, self.program = s, program
        below = program.graph
        self.g = below.overlay() if isinstance(below, FinalGraph) else below
        self.log: list[tuple[int, int, float, float]] = []  # step, relation, its sides' difference at both ends
        rows, columns = pattern
        self.resets = [(one, one.rows(rows.tolist(), columns.tolist(), program.n_states)) for one in resets]
        variables: list[Variable] = list(program.variables)
        kept = {var(self.g, one.variable): one.expression for one in s.events.kept}
        self.begin: dict[int, int] = {}  # relation -> variable of rhs - lhs at the beginning
        for one in resets:
            for k in one.relations:
                if k not in self.begin:
                    self.begin[k] = len(variables)
                    variables.append(Variable(f"begin {k}", Kind.SELECTION))
        before = {k: var(self.g, v) for k, v in self.begin.items()}
        self.shares = [share_of(self.g, Ages(s, self.g).of(one.active, before)) for one in resets]
        self.shares = substitute(self.g, self.shares, kept)
        self.active = substitute(self.g, [one.active for one in resets], kept)
        self.values = [
            substitute(self.g, [reset_place(program, action)[1] for action in one.actions], kept) for one in resets
        ]
        self.conditions = [one for one in s.events.memories if variables[one.variable].is_condition]
        self.sides = {k: sub(self.g, s.relations[k].rhs, s.relations[k].lhs) for k in self.begin}

    @classmethod
    def of(cls, equations: Equations, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> LateResets | None:
        """None: there are none."""
        found = located_resets(equations.sorted, equations.program)
        return cls(equations.sorted, equations.program, found, (rows, columns)) if found else None

    def after(self, walker: Walker, t: float, x: tuple[Matrix, Matrix, Matrix], held: Matrix) -> Matrix | None:
        """x after the events at t, from x at the beginning of the step, at its end and after resets there; ``held``:
        discrete variables before. None: nothing is reset earlier."""
        begin, end, out = x[0], x[1], x[2].copy()
        new, at = walker.memories, walker.beside(t, 1)
        walker.hold(held)
        first = self._known(walker, t - walker.tau, begin, held, held)
        sides = self._evaluated(list(self.sides.values()), first, t - walker.tau)
        walker.hold(new)
        known = self._known(walker, at, end, new, held)
        # as they were in the first round: resets may have made conditions false again
        risen = self._evaluated([one.expression for one in self.conditions], known, at)
        known |= {one.variable: value for one, value in zip(self.conditions, risen, strict=True)}
        known |= {self.begin[k]: side for k, side in zip(self.sides, sides, strict=True)}
        found = False
        for k in range(len(self.resets)):
            active, theta = self._evaluated([self.active[k], self.shares[k]], known, at)
            if not (active and theta > 0.0):
                continue
            found = True
            self._note(walker.steps_at(t), self.resets[k][0], known, at)
            self._reset(walker, k, (theta, t - theta * walker.tau), (begin, end, out), (new, held))
        return out if found else None

    def _reset(
        self,
        walker: Walker,
        k: int,
        when: tuple[float, float],
        x: tuple[Matrix, Matrix, Matrix],
        d: tuple[Matrix, Matrix],
    ) -> None:
        """One group."""
        (theta, t), (begin, end, out) = when, x
        one, rows = self.resets[k]
        moved = theta * (end - begin)
        at = end - moved
        f, diagonal = walker.slopes(t, at)
        values = self._evaluated(self.values[k], self._known(walker, t, at, *d), t)
        behind = at.copy()
        behind[list(one.places)] = values
        change = walker.slopes(t, behind)[0] - f
        rest = theta * walker.tau
        out[list(one.places)] = behind[list(one.places)] + moved[list(one.places)]
        out[rows] += rest * change[rows] / np.maximum(1.0, 1.0 - rest * diagonal[rows])

    def _note(self, step: int, one: Resets, known: Values, t: float) -> None:
        """Which relations have turned in this step."""
        for k, end in zip(
            one.relations, self._evaluated([self.sides[k] for k in one.relations], known, t), strict=True
        ):
            begin = known[self.begin[k]]
            if begin * end <= 0.0 and begin != end:
                self.log.append((step, k, begin, end))

    def shifts(self, walker: Walker, run: Trace, x: Matrix) -> dict[int, float]:
        """Steps with resets, and by how many steps these are off; ``x``: accurate values at the ends of steps."""
        out: dict[int, float] = {}
        for step, k, begin, end in run.resets:
            if 1 <= step < len(x):
                d = run.memories[step - 2] if step > 1 else walker.memories
                walker.hold(d)
                t = walker.scenario.start + (step - 1) * walker.tau
                there = self._evaluated([self.sides[k]], self._known(walker, t, x[step - 1], d, d), t)[0]
                out[step] = max(out.get(step, 0.0), abs(there - begin) / abs(end - begin))
        return out

    def _known(self, walker: Walker, t: float, x: Matrix, new: Matrix, held: Matrix) -> dict[int, float]:
        """Values of all variables at a point, discrete ones after and before the event."""
        walker.point.t = t
        walker.model.settle(walker.sim.instance, t, x, walker.sim.u)
        named = walker.point.all_values(x)
        out = {v: named[one.name] for v, one in enumerate(self.s.system.variables) if one.name in named}
        for one, value, before in zip(self.s.events.memories, new.tolist(), held.tolist(), strict=True):
            out[one.variable], out[one.before] = value, before
        if self.s.events.initial >= 0:
            out[self.s.events.initial] = 0.0
        return out | {one.tick: 0.0 for one in self.s.events.clocks}

    def _evaluated(self, roots: Sequence[int], values: Values, t: float) -> list[float]:
        tables = self.s.system.tables
        return evaluate(self.g, roots, values, t, (), tables, self.s.relations)
