"""Figures of the two waists: generated text, start values in C, children, linking, many simulations, threads.

python benchmarks/figures.py waists
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from peers import ROOT
from tested import run_tests

import pliant
from pliant.solve.binding import runtime
from pliant.solve.options import check_request
from pliant.solve.run.simulation import Simulation

Row = tuple[str, str, str, bool, str]
EXAMPLES = ROOT / "examples"
COMMAND = "python benchmarks/figures.py waists"
LONGEST_START = 20.0  # microseconds
SMALL = 10  # states of a small model
GROWTH = 4.0  # megabytes
USUAL: dict[str, Any] = {
    "start": 0.0, "stop": 1.0, "method": "auto", "rtol": 1e-6, "atol": None, "points": 2, "step": None,
    "parameters": {}, "start_values": {}, "outputs": None, "options": None, "timeout": None,
}  # fmt: skip
TESTS = (
    (
        "generated text twice, in two orders, from one load, all examples",
        "byte-identical",
        "tests/test_final.py",
        "generating_again",
        "{passed} of {run} models",
    ),
    (
        "Van der Pol with BDF only: other methods not linked, stripped",
        "<= 200 kB",
        "tests/test_runtime_c.py",
        "not_linked",
        "{bytes} bytes",
    ),
    ("8 threads on one model", "bit-identical", "tests/test_solve_many.py", "thread", "{passed} of {run} models"),
    (
        "four copies side by side by a second layout of the same statements",
        "same numbers",
        "tests/test_codegen_places.py",
        "side_by_side",
        "{passed} of {run} programs",
    ),
)


def rows(quick: bool = False) -> list[Row]:
    """What, goal, reached, met, command."""
    return [*(tested(*one) for one in TESTS), starts(), children(), many(2_000 if quick else 20_000)]


def tested(what: str, goal: str, file: str, which: str, words: str) -> Row:
    """A figure that is a test of its own."""
    done = run_tests(file, which)
    return what, goal, done.text(words), done.all_passed, done.command


def examples() -> list[Path]:
    """Models that need nothing but their file."""
    return [path for path in sorted(EXAMPLES.glob("*.mo")) if "Modelica." not in path.read_text(encoding="utf-8")]


def microseconds(model: pliant.Model, repeats: int = 200) -> float:
    """Of the start of a simulation in C, the fastest of some."""
    best = np.inf
    for _ in range(repeats):
        numeric = model._numeric
        sim = Simulation(numeric, check_request(numeric, **USUAL), {})
        sim.prepare_start()
        begin = time.perf_counter()
        status = runtime.lib.pl_simulation_initialise(sim.place)
        best = min(best, time.perf_counter() - begin)
        if status != runtime.OK:
            return np.inf
    return 1e6 * float(best)


def starts() -> Row:
    """Start values of small models."""
    found: dict[str, float] = {}
    for path in examples():
        model = pliant.load(path)
        if len(model.structure.states) <= SMALL and not model._numeric.names.u:
            found[path.stem] = microseconds(model)
    worst = max(found, key=found.__getitem__)
    text = (
        f"{len(found)} models, median {np.median(list(found.values())):.1f} us, slowest {found[worst]:.1f} us ({worst})"
    )
    return (
        "start values of small models, in C",
        f"<= {LONGEST_START:g} us",
        text,
        found[worst] <= LONGEST_START,
        COMMAND,
    )


def children() -> Row:
    """Runs in a child process against those in this one."""
    same = total = 0
    for path in examples():
        model = pliant.load(path)
        given = {"stop": 0.1, "rtol": 1e-6, "points": 50}
        own = model.simulate(**given)
        other = model.simulate(**given, options={"process": "child"})
        total += 1
        same += all(np.array_equal(own[name], other[name], equal_nan=True) for name in own.names)
    return "runs in a child process", "bit-identical", f"{same} of {total} examples", same == total, COMMAND


def resident() -> float:
    """Megabytes in memory."""
    return float(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1e3


def many(count: int) -> Row:
    """Simulations one after the other in one process."""
    model = pliant.load(EXAMPLES / "pendulum.mo")
    for _ in range(500):
        model.simulate(stop=0.1, points=20)
    before, files = resident(), len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(count):
        model.simulate(stop=0.1, points=20)
    more, files = resident() - before, len(list(Path("/proc/self/fd").iterdir())) - files
    text = f"{count} simulations: {more:+.1f} MB, {files:+d} descriptors"
    return "many simulations in one process", "flat", text, more < GROWTH and files == 0, COMMAND


if __name__ == "__main__":
    for row in rows():
        print(*row[:4], sep=" | ")
