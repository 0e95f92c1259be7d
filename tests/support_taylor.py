"""Oracles for Taylor coefficients, none of which differentiates.

on_circle      Cauchy's integral on a circle around the point, with numpy's complex functions
check_defect   polynomials fitted to f along the Taylor polynomial must give the series of its derivative
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pliant.solve.binding import runtime
from pliant.solve.models.generated import GeneratedModel

Array = NDArray[np.float64]
Circle = NDArray[np.complex128]
TAYLOR_CALL = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)


def on_circle(function: Callable[[Circle], Circle], n: int, radius: float = 0.15, points: int = 128) -> Array:
    """Taylor coefficients 0..n at 0 by Cauchy's integral."""
    s = radius * np.exp(2j * np.pi * np.arange(points) / points)
    values = np.broadcast_to(function(s), s.shape)
    return np.asarray(np.fft.fft(values)[: n + 1].real / points / radius ** np.arange(n + 1))


def polynomial(coefficients: Sequence[float]) -> Callable[[Circle], Circle]:
    return lambda s: np.polynomial.polynomial.polyval(s, np.asarray(coefficients, dtype=complex))


class Subject:
    """An instance of a model with Taylor coefficients."""

    def __init__(self, model: GeneratedModel) -> None:
        self.model = model.with_taylor()
        assert self.model.has_taylor, self.model.generated.notes
        self.self = self.model.instance(self.model.p_start.copy())
        self.n, self.n_states = self.model.n_x, self.model.generated.program.n_states
        self.n_u = int(self.model.struct.n_u)

    def rhs(self, t: float, x: Array, u: Array) -> Array:
        f = np.full(self.n, np.nan)
        x, u = np.ascontiguousarray(x), np.ascontiguousarray(u)
        call = runtime.POINT_CALL(self.model.struct.rhs)
        status = call(self.self.address, t, x.ctypes.data, u.ctypes.data, f.ctypes.data)
        return f if status == runtime.OK else np.full(self.n, np.nan)

    def settle(self, t: float, x: Array, u: Array) -> None:
        """Relations as they are at this point."""
        if self.model.struct.initialise:
            info = runtime.EventInfoStruct()
            call = runtime.INITIALISE_CALL(self.model.struct.initialise)
            call(self.self.address, t, x.ctypes.data, u.ctypes.data, ctypes.byref(info))

    def status(self, order: int, t: float, x: Array, u: Array, out: Array) -> int:
        call = TAYLOR_CALL(self.model.struct.taylor)
        return int(call(self.self.address, order, t, x.ctypes.data, u.ctypes.data, out.ctypes.data))

    def taylor(self, t: float, x: Any, u: Any = (), order: int = 5) -> Array:
        """Rows 0..order; ``u``: rows of inputs' coefficients."""
        x = np.ascontiguousarray(x, dtype=float)
        given = np.full((7, max(self.n_u, 1)), np.nan)
        needed = order + (self.n > self.n_states)
        given[:needed] = 0.0
        rows = np.atleast_2d(np.asarray(u, dtype=float))[:needed] if self.n_u else np.zeros((0, 1))
        given[: len(rows)] = rows
        out = np.full((7, self.n), 1e300)
        assert self.status(order, t, x, given, out) == runtime.OK
        assert np.all(out[order + 1 :] == 1e300)
        assert np.array_equal(out[0], x)
        return out[: order + 1]


POINTS = np.cos(np.pi * (np.arange(14) + 0.5) / 14)
# values at these points -> monomial coefficients 0..5 of the polynomial through them
TO_MONOMIAL = np.array(
    [np.pad(np.polynomial.chebyshev.cheb2poly(row), (0, 14))[:6] for row in np.eye(14)]
).T @ np.polynomial.chebyshev.chebfit(POINTS, np.eye(14), 13)


def fitted(subject: Subject, t: float, h: float, x: Array, u: Array) -> Array:
    """Coefficients h^k f_k, k = 0..5, of f along polynomials in s, fitted on |s| <= h."""
    powers = np.vander(h * POINTS, 6, increasing=True)
    f = np.array([subject.rhs(t + h * p, *row) for p, *row in zip(POINTS, powers @ x, powers @ u, strict=True)])
    return np.asarray(TO_MONOMIAL @ f) if np.isfinite(f).all() else np.full((6, subject.n), np.inf)


def check_defect(subject: Subject, t: float, x: Array, u: Array, tolerance: float = 1e-6) -> Array:
    """Along p(s) = sum x_k s^k, coefficient k of f is (k + 1) x_{k+1}; coefficients of algebraic equations vanish.

    Intervals of several lengths are tried: one of them has to show each coefficient above its rounding. Algebraic
    equations are compared with what they would be if their unknowns stood still.
    """
    found = subject.taylor(t, x, u)
    assert np.isfinite(found).all()
    n = subject.n_states
    rows = np.zeros((6, max(subject.n_u, 1)))
    rows[: len(u), : subject.n_u] = u[:, : subject.n_u]
    still = found.copy()
    still[1:, n:] = 0.0
    best = np.full((6, subject.n), np.inf)
    for h in 2.0 ** -np.arange(0.0, 30.0):
        expected = np.zeros((6, subject.n))
        expected[:5, :n] = (np.arange(1.0, 6.0) * h ** np.arange(5.0))[:, None] * found[1:, :n]
        size = np.abs(expected) + 1e-9 * np.abs(found[1]) + 1e-300
        if n < subject.n:
            size[:, n:] = np.abs(fitted(subject, t, h, still, rows)[:, n:]).max(1)[:, None] + 1e-12
        with np.errstate(invalid="ignore"):
            best = np.fmin(best, np.abs(fitted(subject, t, h, found, rows) - expected) / size)
    best[5, :n] = 0.0
    best[0, n:] = 0.0
    assert subject.rhs(t, x, rows[0])[n:] == pytest.approx(0.0, abs=1e-6)
    worst = {(int(k), subject.model.names.x[i]): best[k, i] for k, i in np.argwhere(~(best <= tolerance))}
    assert worst == {}
    return found
