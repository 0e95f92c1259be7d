"""A point given by a user: the states that are named have these values, and the equations hold with them.

Unlike start values, a point need not satisfy initial equations. States that are not named stay where the model starts;
where a named variable is no state (it has a fixed start value), the states that are left move as little as they can.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.errors import InitialValueError
from pliant.expr.evaluate import evaluate
from pliant.solve.initial import InitialSolver
from pliant.solve.pivots import columns_without_pivot
from pliant.solve.unknowns import NoSolution

if TYPE_CHECKING:
    from pliant.solve.generated import GeneratedModel
    from pliant.solve.simulation import Simulation

Vector = NDArray[np.float64]
MISSED = 1e-6  # relative difference from which on a given value is not met


class HeldSolver(InitialSolver):
    """Values at a point; works on ``sim.x`` in place."""

    def __init__(self, model: GeneratedModel, sim: Simulation) -> None:
        super().__init__(model, sim)
        request = sim.request
        self.kept = [k for k, one in enumerate(self.initial.conditions) if one.variable in request.others_given]
        self.free = [i for i in range(self.program.n_states) if i not in request.x_given]
        self.unknown_parameters = self.unknowns.parameters
        self.unknowns.parameters, self.more, self.set = [], [], []

    def run(self) -> float:
        """Solve; there is no next time event."""
        target = self.sim.x.copy()
        if not self.free and not self.unknown_parameters:
            self._set_start()
            try:
                self._finish()
                return math.inf
            except NoSolution:
                pass  # the guesses of the loops belong to the start of the model: go there first
        self._own_start()
        places = list(self.sim.request.x_given)
        self.sim.x[places] = target[places]
        try:
            self._choose_given()
            self._finish()
        except NoSolution as failed:
            raise self._error(failed) from None
        return math.inf

    def _own_start(self) -> None:
        """The consistent start of the model, from which the point is sought."""
        asked = self.sim.request
        self.sim.request = replace(asked, x_given=(), others_given={})
        self.sim.x[:] = self.model.x_start
        try:
            InitialSolver(self.model, self.sim).run()
        finally:
            self.sim.request = replace(asked, parameters=self.sim.request.parameters)
        self.unknowns.p = self.sim.request.parameters.copy()

    def _finish(self) -> None:
        self._settle()
        self._evaluate()
        self._accept()
        self._check_given()

    # ------------------------------------------------------------------ state sets and given values

    def _choose_given(self) -> None:
        """States of each set: those that are given, as far as the constraints can be solved for the others."""
        s, given = self.program.sorted, self.sim.request.others_given
        if not s.sets:
            return
        place = {v: i for i, v in enumerate(self.program.x)}
        values = self.unknowns.present(self.t) | given
        self._guess_tears(values)
        for k, one in enumerate(s.sets):
            n = len(one.candidates[0])
            wanted = [any(level[j] in given for level in one.candidates) for j in range(n)]
            if not any(wanted):
                continue
            flat = [e for row in one.jacobian for e in row]
            numbers = evaluate(s.system.graph, flat, values, self.t, (), s.system.tables, s.relations)
            states = columns_without_pivot(np.array(numbers).reshape(-1, n), wanted)
            flags = np.array([1 if j in states else 0 for j in range(n)], dtype=np.int8)
            self.model.library.pliant_choose(*self._set_arguments(k, flags))
            for level, slots in enumerate(one.slots):
                for slot, j in zip(slots, sorted(states), strict=True):
                    self.sim.x[place[slot]] = values[one.candidates[level][j]]

    def _check_given(self) -> None:
        """Candidates of a state set were only preferred: too many given values may contradict each other."""
        given = self.sim.request.others_given
        if not given:
            return
        values, variables = self.unknowns.present(self.t), self.program.sorted.system.variables
        for v, wanted in given.items():
            if abs(values[v] - wanted) > MISSED * max(1.0, abs(wanted)):
                raise InitialValueError(
                    f"{self.model.name}: {variables[v].name} = {wanted:g} was asked for, but with the other values the "
                    f"constraints give {values[v]:g}",
                    hint="leave out one of the values or correct it; a variable that is left out stays near its start",
                )
