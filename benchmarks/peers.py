"""The peers on the same problems, in the same process: CVODE (scikit-sundae), CasADi's cvodes, SciPy.

All run the problems of ``tests/problems``. pliant runs a C file, CasADi the same equations as SX, either interpreted by
its virtual machine (its default) or compiled from the C that it writes (its option ``jit``); scikit-sundae and SciPy
call Python.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from problems import Problem

import pliant
from pliant.solve.binding import runtime


@dataclass
class Outcome:
    """What one run gave."""

    x: np.ndarray
    n_steps: int
    n_rhs: int
    finished: bool = True


def error_units(problem: Problem, x: np.ndarray, rtol: float, atol: np.ndarray) -> float:
    """Root mean square error at the end in units of the tolerance."""
    scale = rtol * np.abs(problem.reference) + atol
    return float(np.sqrt(np.mean(((x - problem.reference) / scale) ** 2)))


def atol_of(problem: Problem, rtol: float) -> np.ndarray:
    """Absolute tolerances scaled to the problem."""
    return rtol * np.asarray(problem.atol_scale)


def compiled_rhs(model: pliant.Model) -> Callable[[float, np.ndarray, np.ndarray], None]:
    """f(t, x, out) of a compiled model, for peers that take a Python function."""
    numeric = model._numeric
    instance = numeric.instance(numeric.p_start)
    call = runtime.POINT_CALL(numeric.struct.rhs)
    u = np.zeros(max(numeric.struct.n_u, 1))

    def f(t: float, x: np.ndarray, out: np.ndarray) -> None:
        call(instance.address, t, x.ctypes.data, u.ctypes.data, out.ctypes.data)

    f.keep = (model, instance)  # type: ignore[attr-defined]
    return f


def run_cvode(
    problem: Problem,
    rtol: float,
    atol: Any,
    f: Callable[[float, np.ndarray, np.ndarray], None] | None = None,
    exact_jacobian: bool = True,
) -> Outcome:
    """CVODE's BDF with dense linear algebra; the internal steps are counted."""
    from sksundae.cvode import CVODE

    def python_f(t: float, x: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.f(t, x)

    def jacobian(t: float, x: np.ndarray, _f: np.ndarray, out: np.ndarray) -> None:
        out[:] = problem.jacobian(t, x)

    solver = CVODE(
        f or python_f,
        rtol=rtol,
        atol=atol,
        method="BDF",
        linsolver="dense",
        max_num_steps=10**8,
        **({"jacfn": jacobian} if exact_jacobian else {}),
    )
    solution = solver.solve(np.array([problem.t0, problem.t_end]), problem.x0)
    return Outcome(np.array(solution.y[-1]), len(solution.t) - 1, int(solution.nfev), bool(solution.success))


class CasadiCvodes:
    """CasADi's cvodes on the problem as SX, exact sparse Jacobian; built once, run often.

    ``compiled``: right-hand side and Jacobian are C that CasADi writes and compiles with -O3, not SX that it
    interprets.
    """

    JIT = types.MappingProxyType({"jit": True, "compiler": "shell", "jit_options": {"flags": ["-O3"]}})

    def __init__(self, problem: Problem, rtol: float, atol: float, compiled: bool = False) -> None:
        import casadi

        t, x = casadi.SX.sym("t"), casadi.SX.sym("x", problem.n)
        right = casadi.vertcat(*problem.equations(t, [x[i] for i in range(problem.n)], casadi))
        self.problem = problem
        options = {"reltol": rtol, "abstol": atol, "max_num_steps": 10**8, **(self.JIT if compiled else {})}
        folder = tempfile.TemporaryDirectory()
        with contextlib.chdir(folder.name):  # CasADi writes its C into the present folder
            self.integrator = casadi.integrator(
                "F", "cvodes", {"x": x, "t": t, "ode": right}, problem.t0, problem.t_end, options
            )

        self.folder = folder  # CasADi removes its files from it when the integrator goes

    def run(self) -> Outcome:
        x = np.array(self.integrator(x0=self.problem.x0)["xf"]).ravel()
        stats = self.integrator.stats()
        return Outcome(x, int(stats.get("nsteps", 0)), int(stats.get("nfevals", 0)))


def run_scipy(problem: Problem, method: str, rtol: float, atol: Any) -> Outcome:
    """SciPy's solve_ivp with the exact Jacobian where the method takes one."""
    from scipy.integrate import solve_ivp

    extra = {} if method in ("RK45", "DOP853") else {"jac": problem.jacobian}
    solution = solve_ivp(
        problem.f, (problem.t0, problem.t_end), problem.x0, method=method, rtol=rtol, atol=atol, **extra
    )
    return Outcome(solution.y[:, -1], len(solution.t) - 1, int(solution.nfev), bool(solution.success))
