"""Figures of the real-time room: robot, pipe and diode grid, against KLU, LAPACK and plain compiled code.

python benchmarks/realtime.py [robot] [pipe] [grid] [--quick]

KLU is loaded from the system (package libklu1 on Debian); without it that ratio is not measured.
"""

from __future__ import annotations

import argparse
import ctypes
import ctypes.util
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from peers import ROOT
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import splu
from support_factor import FactorSolve
from threadpoolctl import threadpool_limits

import pliant
from pliant.compiling.compiler import load_library
from pliant.realtime.evidence.accuracy import reference_run
from pliant.realtime.plan import Plan
from pliant.realtime.scenario import make_scenarios
from pliant.realtime.sparsing import criteria
from pliant.realtime.sparsing.linearise import Walker, trace
from pliant.realtime.stages.step import drive, write_code

UNSEEN = {"t1": 0.05, "T1": 0.8, "t2": 0.95, "T2": 0.9, "ripple": 0.02}
UNSEEN |= {f"qb[{k + 1}]": value for k, value in enumerate((-1.5, 0.6, -0.3, 2.0, 0.9, -2.0))}
UNSEEN |= {f"qc[{k + 1}]": value for k, value in enumerate((0.5, -0.4, 0.8, -1.2, -0.8, 2.5))}


@dataclass
class Numbers:
    """What was measured on one example, by name."""

    plan: Plan
    values: dict[str, float] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)

    def __setitem__(self, name: str, value: float) -> None:
        self.values[name] = float(value)

    def __getitem__(self, name: str) -> float:
        return self.values[name]


def range_of(x: np.ndarray) -> np.ndarray:
    return np.ptp(x, axis=0)


def capsule(name: str) -> ctypes.c_void_p:
    """Address of a LAPACK function that SciPy carries."""
    from scipy.linalg import cython_lapack

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    found = cython_lapack.__pyx_capi__[name]
    return ctypes.c_void_p(get(found, name_of(found)))


class Peers:
    """The C file of the peers."""

    def __init__(self) -> None:
        self.c = load_library(Path(__file__).with_name("realtime_peers.c"), include=[]).library
        for name in ("time_dense", "time_klu", "time_step"):
            getattr(self.c, name).restype = ctypes.c_double
        self.gesv = capsule("dgesv")

    @staticmethod
    def _at(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    def dense(self, matrices: np.ndarray, right: np.ndarray, rounds: int) -> float:
        count, n, _ = matrices.shape
        columns = np.ascontiguousarray(matrices.transpose(0, 2, 1))
        work, pivot, x = np.empty((n, n)), np.empty(n, np.int32), np.empty(n)
        places = (self._at(columns), self._at(right), rounds, self._at(work), self._at(pivot), self._at(x))
        return self.c.time_dense(self.gesv, n, count, *places)

    def klu(self, matrices: np.ndarray, right: np.ndarray, rounds: int) -> float | None:
        library = ctypes.util.find_library("klu")
        if library is None:
            return None
        pattern = csc_matrix((np.abs(matrices).max(axis=0) > 0).astype(float))
        pattern.sort_indices()
        columns = np.repeat(np.arange(matrices.shape[1]), np.diff(pattern.indptr))
        values = np.ascontiguousarray(matrices[:, pattern.indices, columns])
        start, row = pattern.indptr.astype(np.int32), pattern.indices.astype(np.int32)
        n, x = matrices.shape[1], np.empty(matrices.shape[1])
        places = (self._at(start), self._at(row), len(values), self._at(values), self._at(right), rounds, self._at(x))
        found = self.c.time_klu(library.encode(), n, *places)
        if found <= 0:
            raise RuntimeError(f"KLU failed with {found}")
        return found

    def step(self, model: pliant.Model, tau: float, n_steps: int) -> float:
        """A step from the model's compiled f and Jacobian and a dense solution."""
        walker = Walker(model._numeric, tau)
        walker.begin(make_scenarios(None, 1.0)[0])
        struct, n = model._numeric.struct, model._numeric.n_x
        start = np.array((ctypes.c_int * (n + 1)).from_address(struct.jac.start), dtype=np.int32)
        row = np.array((ctypes.c_int * int(start[n])).from_address(struct.jac.row), dtype=np.int32)
        best = np.inf
        for _ in range(3):
            x = walker.point.x.copy()
            work, pivot, value, d = np.empty((n, n)), np.empty(n, np.int32), np.empty(start[n]), np.empty(n)
            self.c.time_step.argtypes = None
            seconds = self.c.time_step(
                ctypes.c_void_p(ctypes.cast(struct.rhs, ctypes.c_void_p).value),
                ctypes.c_void_p(ctypes.cast(struct.jac_value, ctypes.c_void_p).value),
                ctypes.c_void_p(walker.sim.instance.address),
                self.gesv,
                n,
                self._at(start),
                self._at(row),
                ctypes.c_double(tau),
                n_steps,
                self._at(walker.sim.u),
                self._at(x),
                self._at(work),
                self._at(pivot),
                self._at(value),
                self._at(d),
            )
            best = min(best, seconds)
        return best


def colamd_entries(matrix: np.ndarray) -> int:
    """Entries of L and U in SuperLU's COLAMD order, the diagonal once."""
    found = splu(csc_matrix(matrix), permc_spec="COLAMD")
    return int(found.L.nnz + found.U.nnz - len(matrix))


def matrices_of(plan: Plan, mask: np.ndarray | None = None) -> np.ndarray:
    frame, points = plan.outcome.frame, plan.outcome.points
    return frame.matrix(points.values, plan.outcome.states if mask is None else mask)


def errors(plan: Plan, model: pliant.Model, stop: float, parameters: dict[str, float]) -> tuple[np.ndarray, ...]:
    """Runs of a scenario: compiled step, exact Jacobian, accurate reference; and the ranges."""
    scenario = make_scenarios([{"parameters": parameters}], stop)[0]
    exact = trace(Walker(model._numeric, plan.step), scenario)
    sparsed = drive(plan.code, model._numeric, scenario).x
    return sparsed, exact.x, reference_run(model._numeric, exact, scenario), range_of(exact.x)


def spearman(plan: Plan, which: tuple[int, ...]) -> tuple[float, int]:
    """Cluster criterion of single entries against the true largest change: rank correlation, misses."""
    from scipy.stats import spearmanr

    frame, points = plan.outcome.frame, plan.outcome.points
    predicted, true = [], []
    for p in which:
        pencil = criteria.Pencil(frame.mass, points.Df[p], frame.tau)
        clusters = criteria.linkage_clusters(pencil.eigenvalues)
        c = criteria.cluster_criterion(pencil, clusters, frame.rows, frame.columns)
        predicted.append(criteria.entry_scores(c, pencil, clusters))
        for i, j in zip(frame.rows, frame.columns, strict=True):
            mask = np.ones((frame.n, frame.n), dtype=bool)
            mask[i, j] = False
            sparsed = np.linalg.eigvals(criteria.sparsed(frame.mass, points.Df[p], frame.tau, mask))
            true.append(criteria.eigenvalue_ratio(pencil.eigenvalues, sparsed))
    first, second = np.concatenate(predicted), np.array(true)
    return float(spearmanr(first, second).statistic), int(np.sum((first < 0.1) & (second > 1.0)))


def robot(quick: bool = False) -> Numbers:
    model = pliant.load(ROOT / "examples" / "Robot.mo")
    begin = time.perf_counter()
    plan = model.realtime(step=1e-3, stop=2.6)
    seconds = time.perf_counter() - begin
    out = Numbers(plan)
    e, o = plan.evidence, plan.outcome
    out["seconds"] = seconds
    out["entries"], out["full_entries"] = plan.entries, plan.full_entries
    out["lu"], out["flops"], out["colours"] = plan.lu_entries, plan.flops, plan.colours
    out["full_lu"], out["full_flops"], out["full_colours"] = (
        o.full.lu_entries,
        o.full.factor_flops,
        o.full_colours,
    )
    sparse, full = matrices_of(plan), matrices_of(plan, np.ones_like(o.mask))
    out["colamd"], out["full_colamd"] = colamd_entries(sparse[100]), colamd_entries(full[100])
    out["violators"], out["margin"] = e.violators, plan.margin_kept
    out["predicted"], out["measured"] = plan.bias, max(float(one.max()) for one in e.measured)
    joints = slice(0, None, 13)
    for name, stop, parameters in (("seen", 2.6, {}), ("unseen", 2.0, UNSEEN)):
        sparsed, exact, accurate, size = errors(plan, model, stop, parameters)
        error = np.abs(sparsed - accurate).max(axis=0) / size
        out[f"{name}_error"], out[f"{name}_joints"] = error.max(), error[joints].max()
        out[f"{name}_exact"] = (np.abs(exact - accurate).max(axis=0) / size).max()
    single = drive(write_code(o, "float"), model._numeric, o.request.scenarios[0]).x
    double = drive(plan.code, model._numeric, o.request.scenarios[0]).x
    size = range_of(double)
    out["float_joints"] = (np.abs(single - double).max(axis=0) / size)[joints].max()
    out["spearman"], out["misses"] = spearman(plan, (0, 66, 133))
    _robot_speed(out, model, quick)
    return out


def _robot_speed(out: Numbers, model: pliant.Model, quick: bool) -> None:
    plan = out.plan
    o = plan.outcome
    sparse, full = matrices_of(plan), matrices_of(plan, np.ones_like(o.mask))
    right = np.ones(o.frame.n)
    peers = Peers()
    rounds = 20 if quick else 100
    own, unsparsed = FactorSolve(o.elimination), FactorSolve(o.full)
    values = np.array([sparse[100][i, j] for i, j in o.elimination.entries])
    full_values = np.array([full[100][i, j] for i, j in o.full.entries])
    with threadpool_limits(1, "blas"):
        best: dict[str, float] = {}
        for _ in range(3 if quick else 7):  # interleaved, so that a busy moment hits all
            found = {
                "own": own.time(values, right),
                "unsparsed": unsparsed.time(full_values, right),
                "dense": peers.dense(full, right, max(1, rounds // 20)),
                "klu": peers.klu(full, right, rounds),
                "klu_sparsed": peers.klu(sparse, right, rounds),
            }
            for name, seconds in found.items():
                if seconds is not None:
                    best[name] = min(best.get(name, np.inf), seconds)
        out["factor_seconds"] = best["own"]
        out["against_klu"] = best.get("klu", np.nan) / best["own"]
        out["against_klu_sparsed"] = best.get("klu_sparsed", np.nan) / best["own"]
        out["against_dense"] = best["dense"] / best["own"]
        out["against_unsparsed"] = best["unsparsed"] / best["own"]
        out["step_dense"] = peers.step(model, plan.step, 300 if quick else 2000)
    begin = drive(plan.code, model._numeric, o.request.scenarios[0]).stepper
    begin.reset()
    out["step"] = begin.time_step(None, 2600)
    out["step_full"] = full_step(out, model)
    out["whole_against_dense"] = out["step_dense"] / out["step"]
    out["whole_against_unsparsed"] = out["step_full"] / out["step"]


def full_step(out: Numbers, model: pliant.Model) -> float:
    """The straight-line step with all entries."""
    from dataclasses import replace

    from pliant.realtime.sparsing.entry_states import EntryStates
    from pliant.realtime.sparsing.search import SearchResult

    o = out.plan.outcome
    everything = SearchResult(EntryStates.of(np.ones_like(o.mask)), {}, 0, [])
    code = write_code(replace(o, found=everything, elimination=o.full))
    stepper = drive(code, model._numeric, o.request.scenarios[0]).stepper
    stepper.reset()
    return stepper.time_step(None, 2600)


def pipe() -> dict[str, float]:
    model = pliant.load(ROOT / "examples" / "Pipe.mo")
    out: dict[str, float] = {}
    plan = model.realtime(step=0.01, stop=60.0)
    out["entries"], out["colours"] = int(plan.mask.sum()), plan.colours
    out["error"] = max(float(one.max()) for one in plan.evidence.measured)
    names = model._numeric.names.x
    for dt in (0.01, 0.1, 1.0):
        walker = Walker(model._numeric, dt)
        scenario = make_scenarios(None, 60.0 if dt < 1.0 else 100.0)[0]
        mask = np.array(
            [i < 20 and i // 5 == j // 5 and j in (i, i - 1) for i, j in zip(walker.rows, walker.columns, strict=True)]
        )
        exact, other = trace(walker, scenario), trace(walker, scenario, mask)
        out[f"bidiagonal_{dt:g}"] = (
            np.abs(other.x - exact.x).max(axis=0) / range_of(exact.x[len(exact.x) // 50 :])
        ).max()
        out["bidiagonal_entries"] = int(mask.sum())
        if dt == 0.1:
            _pipe_criteria(out, walker, exact, mask)
    assert len(names) == 25
    return out


def _pipe_criteria(out: dict[str, float], walker: Walker, exact: object, mask: np.ndarray) -> None:
    from pliant.realtime.evidence.certificates import best_lyapunov
    from pliant.realtime.sparsing.elimination import eliminate

    square = np.zeros((25, 25), dtype=bool)
    square[walker.rows[mask], walker.columns[mask]] = True
    worst_s, worst_1, maps = 0.0, 0.0, []
    chosen = np.linspace(len(exact.t) // 50, len(exact.t) - 1, 24).astype(int)
    for k in chosen:
        Df, L, tau = walker.dense(exact.values[k]), np.eye(25), walker.tau
        printed, right = criteria.d_S(L, Df, tau, square, printed=True), criteria.d_S(L, Df, tau, square)
        worst_s = max(worst_s, abs(printed / right - 2.0))
        S, Ss = criteria.Pencil(L, Df, tau).S, criteria.sparsed(L, Df, tau, square)
        true = abs(np.linalg.eigvals(Ss).sum() - np.linalg.eigvals(S).sum())
        worst_1 = max(worst_1, abs(criteria.d_1(L, Df, tau, square) - true))
        maps.append(Ss)
    out["d_S"], out["d_1"] = worst_s, worst_1
    scales = (range_of(exact.x[len(exact.x) // 50 :]), np.abs(exact.x).max(axis=0))
    found = best_lyapunov(np.array(maps), scales, range(24))
    out["gamma"] = found.gamma if found is not None else np.inf
    order = eliminate(25, list(zip(walker.rows[mask].tolist(), walker.columns[mask].tolist(), strict=True)))
    out["bidiagonal_lu"] = order.lu_entries
    from pliant.solve.binding.colouring import colour

    out["bidiagonal_colours"] = colour(25, 25, walker.rows[mask], walker.columns[mask]).n_colours


def grid() -> dict[str, float]:
    model = pliant.load(ROOT / "examples" / "DiodeGrid.mo", options={"form": "dae"})
    plan = model.realtime(step=1e-4, stop=0.05)
    measured = max(float(one.max()) for one in plan.evidence.measured)
    other = {"U[1]": 6.0, "U[2]": 7.0, "frequency[1]": 35.0, "frequency[2]": 22.0}
    sparsed, exact, _, size = errors(plan, model, 0.05, other)
    fast = {"frequency[2]": 130.0, "frequency[3]": 310.0}
    hurried = model.realtime(step=1e-4, stop=0.05, scenarios=[{"parameters": fast}])
    return {
        "fast_entries_gone": 1.0 - hurried.entries / hurried.full_entries,
        "fast_flops_gone": 1.0 - hurried.flops / hurried.outcome.full.factor_flops,
        "entries_gone": 1.0 - plan.entries / plan.full_entries,
        "flops_gone": 1.0 - plan.flops / plan.outcome.full.factor_flops,
        "predicted": plan.bias,
        "measured": measured,
        "unseen": (np.abs(sparsed - exact).max(axis=0) / size).max(),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("which", nargs="*", default=[])
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    which = given.which or ["robot", "pipe", "grid"]
    for name in which:
        found = robot(given.quick).values if name == "robot" else pipe() if name == "pipe" else grid()
        print(name)
        for key, value in found.items():
            print(f"  {key:26} {value:.6g}")


if __name__ == "__main__":
    main()
