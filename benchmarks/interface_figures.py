"""Figures of the interface: what imports and help cost, what a pickled result takes.

python benchmarks/figures.py interface
"""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np

import pliant

Row = tuple[str, str, str, bool, str]
COMMAND = "python benchmarks/figures.py interface"
ROUNDS = 9
USED = "import resource; u = resource.getrusage(resource.RUSAGE_SELF); print(u.ru_utime + u.ru_stime)"
HELP = """
import sys
from pliant.cli import app
sys.argv = ["pliant", "--help"]
try:
    app()
except SystemExit:
    pass
"""


def processor_time(code: str) -> float:
    """Seconds of a new process."""
    done = subprocess.run([sys.executable, "-c", f"{code}\n{USED}"], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def rows() -> list[Row]:
    """Interleaved; the least of several, because neighbours on the machine make a process dearer and never cheaper."""
    codes = ("import numpy", "import pliant", HELP)
    taken = np.array([[processor_time(code) for code in codes] for _ in range(ROUNDS)]).min(axis=0)
    numpy_import, ours, help_shown = (float(one) for one in taken)
    model = pliant.ode(lambda t, x: -x, np.arange(1.0, 6.0))
    result = model.simulate(stop=1.0, points=500)
    size = len(pickle.dumps(result)) / 1e3
    return [
        (
            "import pliant, CPU of a new process",
            "<= numpy's own import + .1 s",
            f"{ours:.2f} s; numpy {numpy_import:.2f} s",
            ours <= numpy_import + 0.1,
            COMMAND,
        ),
        ("pliant --help, CPU", "<= .3 s", f"{help_shown:.2f} s", help_shown <= 0.3, COMMAND),
        (
            f"pickled result of 500 points and {len(result.names)} columns",
            "<= 100 kB",
            f"{size:.0f} kB",
            size <= 100.0 and len(result.names) == 10,
            COMMAND,
        ),
    ]
