"""The floor and the peer of FMUs: a plain C loop over the calls of FMI, and FMPy, warm and cold.

python benchmarks/fmu_peers.py [--version 2.0] [--repeats 21]

Van der Pol (mu = 1), model exchange, 0 to 20 s, relative tolerance 1e-6, 500 points. Times of FMPy are CPU time of this
process and its children, medians. Warm: unpacked, description read, instance made; a run is a reset and a simulation.
Cold: a run from the file.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from peers import ROOT

STOP, POINTS, RTOL = 20.0, 500, 1e-6
CALLS, ROUNDS = 200_000, 31
END = (2.008149762175, -0.042508875273)  # an accurate solution at the end


@dataclass(frozen=True)
class PeerTimes:
    """CPU seconds, and how far the end is from an accurate solution."""

    warm: float
    cold: float
    error: float


def van_der_pol(version: str = "2.0") -> Path:
    """The FMU of the tests; kept in the folder PLIANT_CACHE names, else in a temporary one."""
    os.environ.setdefault("PLIANT_CACHE", tempfile.mkdtemp(prefix="pliant-fmus-"))
    from support_fmus import fmu

    return fmu("vanderpol", version)


@cache
def loop_program() -> Path:
    """``fmu_loop.c``, compiled."""
    out = Path(tempfile.mkdtemp(prefix="pliant-loop-")) / "fmu_loop"
    source = Path(__file__).with_name("fmu_loop.c")
    flags = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'runtime' / 'fmi'}")
    subprocess.run(["gcc", *flags, str(source), "-o", str(out), "-ldl"], check=True)
    return out


def loop_nanoseconds(library: Path, version: str, token: str, states: int) -> tuple[float, float]:
    """Least and median time of one right-hand side in the plain loop, over rounds of many calls."""
    command = [loop_program(), library, version, token, CALLS, ROUNDS, states]
    done = subprocess.run([str(one) for one in command], capture_output=True, text=True, check=True)
    least, median, _ = map(float, done.stdout.split())
    return least, median


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


def median_cpu(run: Callable[[], Any], repeats: int) -> float:
    """Median CPU seconds of a run."""
    found = []
    for _ in range(repeats):
        begin = cpu_seconds()
        run()
        found.append(cpu_seconds() - begin)
    return statistics.median(found)


class FmpyRunner:
    """FMPy on one FMU; ``warm`` and ``cold`` simulate and return the table."""

    def __init__(self, path: Path) -> None:
        import fmpy

        self._fmpy, self._path = fmpy, path
        self._folder = fmpy.extract(str(path))
        self._description = fmpy.read_model_description(self._folder)
        self._instance = fmpy.instantiate_fmu(self._folder, self._description, fmi_type="ModelExchange")
        self._settings = {
            "fmi_type": "ModelExchange",
            "solver": "CVode",
            "stop_time": STOP,
            "relative_tolerance": RTOL,
            "output_interval": STOP / POINTS,
            "output": ["x0", "x1"],
        }

    def warm(self) -> Any:
        """A run with everything ready but the numbers."""
        self._instance.reset()
        return self._fmpy.simulate_fmu(
            self._folder, model_description=self._description, fmu_instance=self._instance, **self._settings
        )

    def cold(self) -> Any:
        """A run from the file: unpack, read, validate, load, simulate, remove."""
        return self._fmpy.simulate_fmu(str(self._path), **self._settings)


def measure_fmpy(path: Path, repeats: int = 21) -> PeerTimes:
    """FMPy on this FMU."""
    runner = FmpyRunner(path)
    table = runner.warm()
    runner.cold()
    error = max(abs(float(table[name][-1]) - end) for name, end in zip(("x0", "x1"), END, strict=True))
    return PeerTimes(median_cpu(runner.warm, repeats), median_cpu(runner.cold, repeats), error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--version", default="2.0", choices=("2.0", "3.0"))
    parser.add_argument("--repeats", type=int, default=21)
    given = parser.parse_args()
    path = van_der_pol(given.version)
    from support_fmus import library

    least, median = loop_nanoseconds(library("vanderpol", given.version), given.version, "{vanderpol}", 2)
    print(f"plain C loop: {least:.1f} ns per right-hand side at best, {median:.1f} ns median")
    times = measure_fmpy(path, given.repeats)
    print(
        f"FMPy CVode, warm: {1e3 * times.warm:.2f} ms CPU, cold: {1e3 * times.cold:.2f} ms CPU, error {times.error:.1e}"
    )


if __name__ == "__main__":
    main()
