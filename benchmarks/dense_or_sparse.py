"""Where sparse factors begin to pay: factorisation plus two solutions, dense over sparse, and what the plan chooses.

The two constants in ``runtime/src/plan.c`` are checked by this table: a ratio clearly above 1 should read "sparse".

    python benchmarks/dense_or_sparse.py
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np
import peers  # noqa: F401  (puts the problem set on the path)
import scipy.sparse as sp

import pliant
from pliant.solve.binding import runtime
from pliant.solve.options import check_request
from pliant.solve.run.simulation import Simulation

lib = runtime.lib
lib.pl_linear_factor.argtypes = [ctypes.c_void_p, ctypes.c_double, ctypes.c_double]
lib.pl_linear_solve.argtypes = [ctypes.c_void_p, ctypes.c_void_p]


def least(call: Callable[[], object], repeats: int = 300) -> float:
    """Least seconds of one call."""
    best = np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def cost(jac: sp.csc_array, storage: str) -> tuple[float, bool]:
    """Seconds of one factorisation and two solutions (with the cost of calling from Python), and the form chosen."""
    n = jac.shape[0]
    model = pliant.ode(lambda t, x: jac @ x, np.ones(n), jac=lambda t, x: jac, pattern=jac)._numeric
    request = check_request(
        model,
        start=0.0,
        stop=1.0,
        method="bdf",
        rtol=1e-6,
        atol=1e-6,
        points=2,
        step=None,
        parameters={},
        start_values={},
        outputs=None,
        options={"linear": storage},
        timeout=None,
    )
    run = Simulation(model, request, {})
    run.begin()
    run.advance(3)  # so that the pattern has been factorised once
    problem, right = ctypes.byref(run.problem), np.ones(n)
    factor = least(lambda: lib.pl_linear_factor(problem, 1.0, 1e-2))
    solve = least(lambda: lib.pl_linear_solve(problem, right.ctypes.data))
    return factor + 2.0 * solve, bool(run.layout.sparse)


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(1)
    print(f"{'n':>4} {'entries a column':>17} {'dense/sparse':>13}  chosen")
    for n in (4, 8, 12, 16, 20, 30, 50, 100):
        for entries in (2, 4, 8):
            if entries >= n:
                continue
            jac = sp.csc_array(sp.random_array((n, n), density=entries / n, rng=rng) - 5.0 * sp.eye_array(n))
            dense, sparse = cost(jac, "dense")[0], cost(jac, "sparse")[0]
            chosen = "sparse" if cost(jac, "auto")[1] else "dense"
            print(f"{n:4d} {entries:17d} {dense / sparse:13.2f}  {chosen}", flush=True)


if __name__ == "__main__":
    main()
