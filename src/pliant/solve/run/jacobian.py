"""The Jacobian at one point as the solver would take it: its values, where they come from, the increments used."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pliant.calls import by_keyword_class
from pliant.jacobian.quality import Quality, examine
from pliant.plain import AsDict
from pliant.solve.binding import runtime
from pliant.solve.matrices import jacobian_places
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import SolverOptions
from pliant.solve.run.operating import Point, point_at

#: a nominal value that exceeds a state more often says nothing about its scale, as in increments.c
PLAUSIBLE = 1e4
Matrix = NDArray[np.float64]


@by_keyword_class
@dataclass(frozen=True, eq=False)
class Jacobian(AsDict):
    """df/dx at a point.

    ``matrix[i, j]`` is the derivative of the equation of ``names[i]`` by ``names[j]``; ``increments`` are those of a
    difference Jacobian, one per state, else None; ``colours`` the evaluations that differences need besides f itself.
    """

    matrix: Matrix
    _: KW_ONLY
    names: tuple[str, ...]
    source: str
    increments: Matrix | None
    colours: int
    evaluations: int
    pattern: NDArray[np.bool_]
    t: float
    x: Matrix

    def __repr__(self) -> str:
        entries = int(self.pattern.sum())
        return (
            f"<Jacobian at t = {self.t:g}: {len(self.names)} states, {entries} entries, {self.colours} colours, "
            f"{self.source}>"
        )


def point_jacobian(point: Point) -> Jacobian:
    """The Jacobian at the point, by the source and the rule of its options."""
    sim, x = point.sim, point.x.copy()
    before = int(sim.count.n_rhs_jac)
    matrix = point.jacobian(x, point.rhs(x))
    rows, columns = jacobian_places(point.sim)
    pattern = np.zeros(matrix.shape, dtype=bool)
    pattern[rows, columns] = True
    assert sim.linear is not None
    increments = None
    if sim.source == "differences":
        increments = runtime.doubles_at(runtime.lib.pl_linear_increments(sim.linear), len(x))
    return Jacobian(
        matrix,
        names=point.state_names(),
        source=sim.source,
        increments=increments,
        colours=int(sim.layout.n_colours),
        evaluations=int(sim.count.n_rhs_jac) - before,
        pattern=pattern,
        t=point.t,
        x=x,
    )


def jacobian_at(
    model: NumericModel,
    t: float,
    x: Mapping[str, float] | ArrayLike | None,
    given: tuple[Any, Mapping[str, float]],
    tolerances: tuple[float, Any],
    options: Mapping[str, Any] | SolverOptions | None,
) -> Jacobian:
    """See :meth:`pliant.Model.jacobian`; given: inputs and parameters."""
    chosen = None if options is None else SolverOptions.of(options).given()
    return point_jacobian(point_at(model, t, x, given, tolerances, chosen))


def check_jacobian(
    model: NumericModel,
    t: float,
    x: Mapping[str, float] | ArrayLike | None,
    given: tuple[Any, Mapping[str, float]],
    tolerances: tuple[float, Any],
    options: Mapping[str, Any] | SolverOptions | None,
) -> Quality:
    """See :meth:`pliant.Model.check_jacobian`."""
    chosen = {**SolverOptions.of(options).given(), "jacobian": "differences"}
    point = point_at(model, t, x, given, tolerances, chosen)
    differenced = point_jacobian(point)
    others: dict[str, Matrix | None] = {"exact": None, "directional": None}
    for source, has in (("exact", model.struct.jac_value), ("directional", model.struct.jvp)):
        if has:
            other = point_at(model, t, x, given, tolerances, {**chosen, "jacobian": source})
            others[source] = other.jacobian(differenced.x, other.rhs(differenced.x))
    atol, entered = point.sim.request.atol, model.nominal_entered

    nominal = model.x_nominal if model.x_nominal is not None else np.ones(model.n_x)
    size = np.abs(differenced.x)
    assert differenced.increments is not None
    found = examine(
        lambda at: point.rhs(np.ascontiguousarray(at)),
        differenced.x,
        differenced.increments,
        differenced.matrix,
        exact=others["exact"],
        directional=others["directional"],
        names=differenced.names,
        scale=np.maximum(size, np.where(entered & ((size == 0.0) | (nominal <= PLAUSIBLE * size)), nominal, 0.0)),
        rtol=point.sim.request.rtol,
        atol=atol,
    )
    at_bound = {
        name
        for bound in (model.x_min, model.x_max)
        if bound is not None
        for name, x_j, b in zip(differenced.names, differenced.x, bound, strict=True)
        if x_j == b
    }  # that f is not defined beyond its bound is no news
    kept = tuple(one for one in found.findings if one.kind != "refused" or not at_bound.issuperset(one.names))
    return dataclasses.replace(found, findings=kept)
