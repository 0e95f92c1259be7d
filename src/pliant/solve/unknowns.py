"""The unknowns of a start: places in x, then parameters with fixed=false, then discrete Real variables.

All three are numbered through: i < n_x is x[i], then n_p parameters, then the memories of the model's events. Reading
and writing hides where they live.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pliant.expr.evaluate import evaluate
from pliant.ir import Graph, Op
from pliant.solve import binding
from pliant.solve.failure import event_hint

if TYPE_CHECKING:
    from pliant.solve.generated import GeneratedModel
    from pliant.solve.simulation import Simulation

Vector = NDArray[np.float64]


class NoSolution(Exception):
    """Values could not be found; ``why`` belongs into the message, ``hint`` replaces the usual thing to try."""

    def __init__(self, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.why, self.hint = why, hint or event_hint(why)


class Unknowns:
    """Access to everything that the initial conditions may determine."""

    def __init__(self, model: GeneratedModel, sim: Simulation) -> None:
        self.model, self.sim = model, sim
        program = model.generated.program
        self.system, self.events = program.sorted.system, program.sorted.events
        self.n_x, self.n_p = len(program.x), len(program.p)
        self.p = sim.request.parameters.copy()
        self.values = {**model.numbers, **dict(zip(program.p, self.p.tolist(), strict=True))}
        variables = self.system.variables
        set_between = {one.target for one in model.generated.initial.conditions}
        self.parameters = [
            self.n_x + k
            for k, v in enumerate(program.p)
            if variables[v].initial and variables[v].binding is None and v not in set_between
        ]
        first, given = self.n_x + self.n_p, sim.request.others_given
        self.memories = [
            first + k for k, one in enumerate(self.events.memories) if one.free and one.variable not in given
        ]
        self.numbers = [*program.x, *program.p, *(one.variable for one in self.events.memories)]
        self.size = self._sizes()

    def name(self, i: int) -> str:
        """Name of an unknown."""
        return self.model.names.x[i] if i < self.n_x else self.system.variables[self.numbers[i]].name

    def _sizes(self) -> Vector:
        """Typical sizes: nominal, or else the guess of a parameter; time constants of microseconds are common."""
        size = np.ones(len(self.numbers))
        size[self.n_x : self.n_x + self.n_p] = np.where(self.p == 0.0, 1.0, np.abs(self.p))
        for i in [*self.parameters, *self.memories]:
            variable = self.system.variables[self.numbers[i]]
            for e in (variable.nominal, variable.start if i in self.memories else None):
                value = 0.0 if e is None else abs(evaluate(self.system.graph, [e], self.values)[0])
                if value > 0.0:
                    size[i] = value
                    break
        if self.model.x_nominal is not None:
            size[: self.n_x] = self.model.x_nominal
        return size

    def scale(self, unknowns: list[int]) -> Vector:
        """Sizes of unknowns at their present values."""
        return np.asarray(np.maximum(self.size[unknowns], np.abs(self.read(unknowns))))

    def read(self, unknowns: list[int]) -> Vector:
        """Their values."""
        memories = self.model.memories(self.sim.instance) if self.memories else ()
        return np.concatenate([self.sim.x, self.p, memories])[unknowns]

    def write(self, unknowns: list[int], values: Vector) -> int:
        """New values; the status of the model."""
        changed = False
        for i, value in zip(unknowns, values.tolist(), strict=True):
            if i < self.n_x:
                self.sim.x[i] = value
            elif i < self.n_x + self.n_p:
                self.p[i - self.n_x] = value
                changed = True
            else:
                self._write_memory(i - self.n_x - self.n_p, value)
        if not changed:
            return binding.OK
        set_parameters = binding.PARAMETER_CALL(self.model.struct.set_parameters)
        return int(set_parameters(self.sim.instance.address, self.p.ctypes.data))

    def present(self, t: float) -> dict[int, float]:
        """All variables by number at the present x."""
        model, sim = self.model, self.sim
        program, generated = model.generated.program, model.generated
        y = np.zeros(len(generated.y))
        status = binding.OK
        if len(y):
            status = binding.OUTPUT_CALL(model.struct.outputs)(
                sim.instance.address, t, sim.x.ctypes.data, sim.u.ctypes.data, len(y), None, y.ctypes.data
            )
        if status != binding.OK:
            raise NoSolution(model.error_text(sim.instance) or binding.status_text(status))
        values = dict(model.numbers)
        for numbers, found in ((program.p, self.p), (program.u, sim.u), (program.x, sim.x)):
            values.update(zip(numbers, found.tolist(), strict=False))
        values.update(zip(generated.y, y.tolist(), strict=True))
        s = program.sorted
        left = [v for v in s.replaced if v not in values]
        aliases = evaluate(s.system.graph, [s.replaced[v] for v in left], values, t, (), s.system.tables, s.relations)
        return values | dict(zip(left, aliases, strict=True))

    def largest_terms(self, residuals: list[int], t: float) -> list[float]:
        """The size of the largest term in each of these sums."""
        program, values = self.model.generated.program, self.present(t)
        s, g = program.sorted, program.graph
        found = []
        for residual in residuals:
            terms = evaluate(g, _terms(g, residual), values, t, (), s.system.tables, s.relations)
            found.append(max((abs(term) for term in terms if np.isfinite(term)), default=0.0))
        return found

    def choose_memory(self, k: int, value: float) -> None:
        """What the event at the start begins with, instead of the declared value."""
        choose = self.model.library.pliant_choose_memory
        choose(ctypes.c_void_p(self.sim.instance.address), k, ctypes.c_double(value))
        self.sim.memories_first[k] = value

    def _write_memory(self, k: int, value: float) -> None:
        self.choose_memory(k, value)
        self.model.set_memory(self.sim.instance, k, value)


def _terms(g: Graph, e: int) -> list[int]:
    """The terms of a sum."""
    found, todo = [], [e]
    while todo:
        node = g.nodes[todo[-1]]
        if node[0] in (Op.ADD, Op.SUB, Op.NEG):
            todo[-1:] = node[1:]
        else:
            found.append(todo.pop())
    return found
