"""The same step made independently: pliant's generated model for f and df/dx, dense numpy for the rest."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from pliant.realtime.code.make import StepCode, StepperOptions, make_stepper
from pliant.realtime.code.start import start_of
from pliant.realtime.sparsing.elimination import Elimination, assign_rows, eliminate
from pliant.solve.binding import runtime
from pliant.solve.matrices import mass_matrix
from pliant.solve.models.generated import GeneratedModel
from pliant.solve.run.operating import Point

Array = NDArray[np.float64]


@cache
def load(source: str, form: str = "auto", name: str | None = None) -> pliant.Model:
    """A model, loaded once."""
    return pliant.load(source, name=name, options={"form": form})


class Case:
    """A model at its start, with everything that a stepper is made from."""

    def __init__(self, source: str, tau: float, form: str = "auto", name: str | None = None, **point: Any) -> None:
        generated = load(source, form, name)._numeric
        assert isinstance(generated, GeneratedModel)
        self.model, self.tau, self.form = generated, tau, form
        self.sorted = generated.generated.program.sorted
        self.point = Point(generated, 0.0, point.get("inputs", {}), point.get("parameters", {}), {})
        self.n = len(self.point.x)
        self.start = start_of(self.point, tau)
        self.mass = mass_matrix(self.point.sim)

    @property
    def pattern(self) -> set[tuple[int, int]]:
        """All entries of L - tau J."""
        return {(i, j) for i, j in self.model.generated.jacobian} | {(i, i) for i in range(self.n)}

    def rows(self) -> list[int] | None:
        """Rows of the pivots."""
        b = np.abs(self.mass - self.tau * self.point.jacobian(self.point.x, self.point.rhs(self.point.x)))
        return assign_rows(b / b.max(axis=1, keepdims=True))

    def elimination(self, entries: set[tuple[int, int]] | None = None) -> Elimination:
        """Order of elimination of these entries (None: all)."""
        return eliminate(self.n, self.pattern if entries is None else entries, self.rows())

    def code(self, entries: set[tuple[int, int]] | None = None, **options: Any) -> StepCode:
        """The step with these entries."""
        return make_stepper(
            self.sorted, self.form, self.tau, self.elimination(entries), StepperOptions(**options), self.start
        )

    def f(self, t: float, x: Array, u: Sequence[float] | Array = ()) -> tuple[Array, Array]:
        """f and df/dx; relations as they are at this point."""
        point = self.point
        point.t = t
        point.sim.u[: len(u)] = u
        if self.model.generated.n_relations:
            info = runtime.EventInfoStruct(next_time=math.inf)
            call = runtime.INITIALISE_CALL(self.model.struct.initialise)
            u_at = point.sim.u.ctypes.data
            assert call(point.sim.instance.address, t, x.ctypes.data, u_at, ctypes.byref(info)) == runtime.OK
        f = point.rhs(x)
        return f, point.jacobian(x, f)

    def reference(
        self, n_steps: int, entries: set[tuple[int, int]] | None = None, u_table: Array | None = None
    ) -> Array:
        """x after each step, by dense numpy."""
        mask = np.zeros((self.n, self.n))
        for i, j in self.pattern if entries is None else entries:
            mask[i, j] = 1.0
        x = np.array(self.start.x)
        out = []
        for k in range(n_steps):
            f, df = self.f((k + 1) * self.tau, x, () if u_table is None else u_table[k])
            x = x + np.linalg.solve(self.mass - self.tau * mask * df, self.tau * f)
            out.append(x)
        return np.array(out)


def relative(a: Any, b: Any) -> float:
    """Largest difference, each column in units of its largest value."""
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    size = np.abs(b).max(axis=0) + 1e-3 * np.abs(b).max()
    return float((np.abs(a - b) / size).max())
