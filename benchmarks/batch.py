"""Many runs of HIRES against two independent processes, Dask, and a plain loop with SciPy and multiprocessing.

python benchmarks/batch.py [--quick]

All in one run, on two workers; final values are kept.
"""

from __future__ import annotations

import argparse
import multiprocessing
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from peers import ROOT
from problems import problem
from scipy.integrate import solve_ivp

import pliant

HIRES = problem("hires")
WORKERS = 2
LOOP = """
import sys, time
sys.path.insert(0, {tests!r})
import numpy as np, pliant
from problems import problem
hires = problem("hires")
model = pliant.native(hires.c_file)
name = model._numeric.names.x[0]
values = np.linspace(0.5, 1.5, {n})[{first}::{step}]
model.simulate(stop=hires.t_end, points=2)
print("ready", flush=True)
sys.stdin.readline()
begin = time.perf_counter()
for value in values.tolist():
    model.simulate(stop=hires.t_end, points=2, start_values={{name: value}})
print(time.perf_counter() - begin, flush=True)
"""


@dataclass
class Numbers:
    """Cases a second, and microseconds of overhead."""

    two_processes: float
    threads: float
    processes: float
    overhead: float
    dask: float | None
    scipy: float


def two_processes(n: int) -> float:
    """Two programs, each with half of the cases, started together; the best of three."""
    return max(_two_processes(n) for _ in range(3))


def _two_processes(n: int) -> float:
    programs = []
    for first in range(WORKERS):
        text = LOOP.format(tests=str(ROOT / "tests"), n=n, first=first, step=WORKERS)
        pipe = subprocess.PIPE
        programs.append(subprocess.Popen([sys.executable, "-c", text], stdin=pipe, stdout=pipe, text=True))
    for one in programs:
        assert one.stdout is not None
        assert one.stdout.readline().strip() == "ready"
    for one in programs:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    seconds = [float(one.stdout.readline()) for one in programs if one.stdout is not None]
    for one in programs:
        one.communicate()
    return n / max(seconds)


def design(model: pliant.Model, n: int) -> pliant.design.Design:
    """Another start value in each case."""
    return pliant.design.grid({f"start({model._numeric.names.x[0]})": np.linspace(0.5, 1.5, n)})


def many(model: pliant.Model, n: int, executor: object) -> tuple[float, float]:
    """Cases a second, and seconds of a worker for one case; the best of three studies, like the other times."""
    best = np.inf
    for count in (50, n, n, n):  # the first one starts workers and compiles
        study = model.simulate_many(
            design(model, count), stop=HIRES.t_end, keep="final", executor=executor, workers=WORKERS
        )
        assert not study.failures
        if count == n:
            best = min(best, study.stats.seconds)
    return n / best, WORKERS * best / n


def alone(model: pliant.Model) -> float:
    """Seconds of the run itself, without anything of Python around it: the loop in C, cases one after the other."""
    from pliant.solve.options import check_request
    from pliant.solve.run.sweep import CaseArrays, Sweep

    numeric = model._numeric
    request = check_request(
        numeric, start=0.0, stop=HIRES.t_end, method="auto", rtol=1e-6, atol=None, points=[HIRES.t_end], step=None,
        parameters={}, start_values={}, outputs=None, options=None, timeout=None,
    )  # fmt: skip
    n = 2000
    x = np.tile(numeric.x_start, (n, 1))
    x[:, 0] = np.linspace(0.5, 1.5, n)
    best = np.inf
    for _ in range(3):
        sweep = Sweep(numeric, request, {}, CaseArrays(n, x=x), curves=False)
        begin = time.perf_counter()
        while not sweep.advance(1 << 20):
            pass
        best = min(best, (time.perf_counter() - begin) / n)
    return best


def scipy_case(value: float) -> float:
    """One case with SciPy."""
    x = HIRES.x0.copy()
    x[0] = value
    found = solve_ivp(HIRES.f, (HIRES.t0, HIRES.t_end), x, method="Radau", rtol=1e-6, atol=1e-8, jac=HIRES.jacobian)
    return float(found.y[0, -1])


def scipy_loop(n: int) -> float:
    """Cases a second of a plain pool."""
    with multiprocessing.get_context("fork").Pool(WORKERS) as pool:
        pool.map(scipy_case, [1.0] * WORKERS)
        begin = time.perf_counter()
        pool.map(scipy_case, np.linspace(0.5, 1.5, n).tolist())
        return n / (time.perf_counter() - begin)


def dask(model: pliant.Model, n: int) -> float | None:
    """Cases a second on a LocalCluster."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return None
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        return many(model, n, client.get_executor())[0]


SWEEP = """
import resource, sys, numpy as np, pliant
text = "model D parameter Real k = 1; Real x(start=1, fixed=true); equation der(x) = k*(sin(40*time) - x); end D;"
model = pliant.load(text)
n = {n}
peaks = []
study = model.simulate_many(
    pliant.design.grid({{"k": np.linspace(0.5, 4.0, n)}}), stop=2.0, rtol=1e-6,
    keep="final", save=sys.argv[1], workers=2,
    progress=lambda p: peaks.append((p.done, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)),
)
half = [kib for done, kib in peaks if done <= n // 2][-1:] or [peaks[0][1]]
print(study.n_done, study.n_failed, (peaks[-1][1] - half[0]) / 1024)
"""


def killed(n: int) -> tuple[int, int, float]:
    """A sweep whose program is killed with kill -9 and started again: cases there, cases twice, growth in MB."""
    import pandas as pd

    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", SWEEP.format(n=n), str(Path(folder) / "s")]
        first = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        while first.poll() is None and not list(Path(folder).glob("s/final/part-*")):
            time.sleep(0.01)
        first.kill()
        first.wait()
        parts = Path(folder) / "s" / "final"
        assert 0 < len(pd.read_parquet(parts)) < n, "the first program was not killed on its way"
        again = subprocess.run(command, capture_output=True, text=True, check=True)
        growth = float(again.stdout.split()[-1])
        cases = pd.read_parquet(parts)["case"]
    return cases.nunique(), len(cases) - cases.nunique(), growth


def main(quick: bool = False) -> Numbers:
    """Measure all, print a table."""
    n = 1000 if quick else 10_000
    model = pliant.native(HIRES.c_file)
    reference = two_processes(n)
    threads, seconds = many(model, n, "threads")
    processes, _ = many(model, n, "processes")
    found = Numbers(
        reference, threads, processes, 1e6 * (seconds - alone(model)), dask(model, n), scipy_loop(20 if quick else 60)
    )
    print(f"{n} runs of HIRES, {WORKERS} workers, cases a second over those of two independent processes")
    for name, value in (("threads", threads), ("processes", processes), ("Dask", found.dask), ("SciPy", found.scipy)):
        print(f"  {name:<12}{'not measured' if value is None else f'{value / reference:.3f}'}")
    print(f"  overhead of a case in threads {found.overhead:.1f} us")
    return found


def rows(quick: bool = False) -> list[tuple[str, str, str, bool | None, str]]:
    """Rows of FIGURES.md."""
    found = main(quick)
    command = "python benchmarks/batch.py"
    best = max(found.threads, found.processes) / found.two_processes
    out: list[tuple[str, str, str, bool | None, str]] = [
        (
            "10 000 runs of HIRES on two cores, against two independent processes",
            ">= 0.9x",
            f"threads {found.threads / found.two_processes:.2f}x, "
            f"processes {found.processes / found.two_processes:.2f}x",
            best >= 0.9,
            command,
        ),
        (
            "overhead of a case over the run itself",
            "<= 20 us",
            f"{found.overhead:.1f} us",
            found.overhead <= 20.0,
            command,
        ),
    ]
    if found.dask is not None:
        share = found.dask / best / found.two_processes
        out.append(
            ("the same through Dask LocalCluster, 2 workers", ">= 0.8x of that", f"{share:.2f}x", share >= 0.8, command)
        )
    n = 5000 if quick else 100_000
    there, twice, growth = killed(n)
    out.append(
        (
            f"a sweep of {n} cases, the program killed with kill -9 and started again",
            "complete, no case twice, memory flat",
            f"{there} cases, {twice} twice, {growth:+.1f} MB in the second half",
            there == n and twice == 0 and growth < 20.0,
            command,
        )
    )
    factor = max(found.threads, found.processes) / found.scipy
    out.append(
        ("many runs against SciPy's Radau and multiprocessing", ">= 30x", f"{factor:.0f}x", factor >= 30.0, command)
    )
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    main(parser.parse_args().quick)
