"""Work against precision: CPU time of each solver over a range of tolerances, and the time at equal error.

Runs are interleaved (every solver once, then again, ...) so that a busy machine slows all of them alike; the least
time of each counts. A sample lasts at least SAMPLE seconds: shorter runs, of any solver, are made several times in a
row, so that their time is that of a solver at work and not that of caches which the solver before has emptied. Times
are only ever printed as ratios.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from peers import CasadiCvodes, Outcome, compiled_rhs, run_cvode, run_scipy
from problems import Problem

import pliant

Runner = Callable[[float], Outcome]
SAMPLE, MOST = 0.003, 20  # seconds, runs


@dataclass
class Curve:
    """Errors and CPU seconds of one solver, a point for each tolerance."""

    name: str
    error: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def at(self, error: float) -> float:
        """CPU seconds for this error, by straight lines in logarithms through the best points (NaN: out of range)."""
        pairs = sorted((e, s) for e, s in zip(self.error, self.seconds, strict=True) if np.isfinite(e) and e > 0)
        if len(pairs) < 2 or not pairs[0][0] <= error <= pairs[-1][0]:
            return float("nan")
        errors, seconds = np.array(pairs).T
        # a smaller error at less time makes a point with larger error pointless
        best = np.minimum.accumulate(seconds)
        return float(np.exp(np.interp(np.log(error), np.log(errors), np.log(best))))


def scalar_scale(problem: Problem) -> float:
    """One absolute scale for all states: CasADi takes a single absolute tolerance."""
    return float(np.median(problem.atol_scale))


def relative_error(problem: Problem, x: np.ndarray) -> float:
    """Root mean square error at the end, relative to value plus scale."""
    scale = np.abs(problem.reference) + scalar_scale(problem)
    return float(np.sqrt(np.mean(((x - problem.reference) / scale) ** 2)))


def pliant_runner(problem: Problem, method: str, model: pliant.Model | None = None) -> Runner:
    """Pliant on the compiled model (or on ``model``)."""
    model = model or pliant.native(problem.c_file)
    scale = scalar_scale(problem)

    def run(rtol: float) -> Outcome:
        result = model.simulate(problem.t_end, start=problem.t0, method=method, rtol=rtol, atol=rtol * scale, points=2)
        return Outcome(np.array(result.values[-1]), result.stats.n_steps, result.stats.n_rhs)

    return run


def casadi_runner(problem: Problem, compiled: bool) -> Runner:
    """CasADi's cvodes on SX, interpreted or compiled; building the integrator is not timed."""
    built: dict[float, CasadiCvodes] = {}
    scale = scalar_scale(problem)

    def run(rtol: float) -> Outcome:
        if rtol not in built:
            built[rtol] = CasadiCvodes(problem, rtol, rtol * scale, compiled)
        return built[rtol].run()

    return run


def sundae_runner(problem: Problem, python_function: bool) -> Runner:
    """scikit-sundae's CVODE, on the Python function or on the compiled one."""
    f = None if python_function else compiled_rhs(pliant.native(problem.c_file))
    scale = scalar_scale(problem)
    return lambda rtol: run_cvode(problem, rtol, rtol * scale, f, exact_jacobian=not python_function)


def scipy_runner(problem: Problem, method: str) -> Runner:
    """SciPy's solve_ivp."""
    scale = scalar_scale(problem)
    return lambda rtol: run_scipy(problem, method, rtol, rtol * scale)


def measure(problem: Problem, runners: dict[str, Runner], tolerances: list[float], repeats: int) -> dict[str, Curve]:
    """Interleaved measurement; slow runs are repeated less often."""
    curves = {name: Curve(name) for name in runners}
    for rtol in tolerances:
        best = dict.fromkeys(runners, np.inf)
        error = dict.fromkeys(runners, np.nan)
        runs = dict.fromkeys(runners, 1)
        for k in range(repeats + 1):  # the first round warms up (and builds CasADi's integrator)
            for name, run in runners.items():
                if k > 1 and best[name] > 0.5:
                    continue
                begin = time.process_time()
                try:
                    for _ in range(runs[name]):
                        outcome = run(rtol)
                except pliant.SolverError:
                    continue
                spent = (time.process_time() - begin) / runs[name]
                if k == 0:
                    runs[name] = int(np.clip(np.ceil(SAMPLE / max(spent, 1e-6)), 1, MOST))
                if k > 0 or spent > 0.5:
                    best[name] = min(best[name], spent)
                error[name] = relative_error(problem, outcome.x) if outcome.finished else np.nan
        for name, curve in curves.items():
            curve.error.append(error[name])
            curve.seconds.append(best[name])
    return curves


def ratio_at_equal_error(curves: dict[str, Curve], ours: str, theirs: str) -> float:
    """Geometric mean over errors that both reach of their CPU time over ours."""
    low = max(np.nanmin(curves[ours].error), np.nanmin(curves[theirs].error))
    high = min(np.nanmax(curves[ours].error), np.nanmax(curves[theirs].error))
    if not low < high:
        return float("nan")
    errors = np.exp(np.linspace(np.log(low), np.log(high), 9))[1:-1]
    ratios = [curves[theirs].at(e) / curves[ours].at(e) for e in errors]
    return float(np.exp(np.nanmean(np.log(ratios))))
