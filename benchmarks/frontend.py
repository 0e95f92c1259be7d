"""The Modelica front end of our own: CPU time to read, and the share of a library that runs.

MODELICAPATH=... python benchmarks/frontend.py
    times; needs the Modelica Standard Library
LIBRARY_REPORT=report.json python benchmarks/figures.py frontend
    and the shares, from what `pliant check-library DIR --list F --reference DIR --save report.json` found
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import msl

COMMAND = "MODELICAPATH=... python benchmarks/frontend.py"
FIRST = "Modelica.Mechanics.Rotational.Examples.First"

_BEGIN = """
import json, resource, sys
import pliant, pliant.loading, pliant.frontend.modelica.flatten.model, pliant.solve.run.simulate, pliant.codegen.emit
def seconds():
    found = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in found)
def taken(work):
    before = seconds(); work(); return seconds() - before
"""
ROBOT = (
    _BEGIN
    + """
flatten = pliant.frontend.modelica.flatten.model.flatten
times = [taken(lambda: flatten("", sys.argv[1])) for _ in range(2)]
states = pliant.inspect("\\n", name=sys.argv[1], frontend="pliant").n_states
print(json.dumps([*times, states]))
"""
)
RUN = (
    _BEGIN
    + """
work = lambda: pliant.load("\\n", name=sys.argv[1], frontend="pliant").simulate(stop=1.0)
print(json.dumps([taken(work)]))
"""
)
SMALL = (
    _BEGIN
    + """
text = '''model M
  parameter Real k = {};
  parameter Real m = 1;
  Real x(start = 1, fixed = true);
  Real v(start = 0, fixed = true);
  Real e;
equation
  der(x) = v; m*der(v) = -k*x;
  e = 0.5*k*x^2 + 0.5*m*v^2;
end M;
'''
print(json.dumps([taken(lambda: pliant.inspect(text.format(n), frontend="pliant")) for n in range(2, 8)]))
"""
)
# stage, goal in percent, what it is called
SHARES = (("frontend", 92, "flattened"), ("simulate", 85, "simulated"), ("match", 78, "match their reference"))


def measured(program: str, *arguments: str, cache: str) -> list[float]:
    """What a program prints, in a process of its own."""
    environment = {**os.environ, "PLIANT_CACHE": cache}
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], env=environment, capture_output=True, text=True, check=True
    )
    return [float(one) for one in json.loads(done.stdout)]


def rows(quick: bool = False) -> list[tuple[str, str, str, bool | None, str]]:
    """Rows of the table of figures."""
    found: list[tuple[str, str, str, bool | None, str]] = []
    with tempfile.TemporaryDirectory() as cache:
        times = measured(SMALL, cache=cache)
        text = f"{1e3 * times[0]:.0f} ms the first, {1e3 * min(times):.0f} ms one of the next"
        what = "a ten-line model without libraries, text to sorted equations, CPU"
        found.append((what, "<= 30 ms", text, times[0] <= 0.03, COMMAND))
        if msl.library():
            cold, kept, states = measured(ROBOT, msl.ROBOT, cache=cache)
            met = cold <= 6.0 and kept <= 3.0 and states == 36
            text = f"{cold:.2f} s / {kept:.2f} s, {states:.0f} states"
            what = "FullRobot, text to flat model, nothing kept / files kept, CPU"
            found.append((what, "<= 6 s / <= 3 s, 36 states", text, met, COMMAND))
            (cold,), (kept,) = (measured(RUN, FIRST, cache=cache) for _ in range(2))
            what = "Rotational.Examples.First, load to result with the C compiler, nothing kept / compiled before, CPU"
            text = f"{cold:.2f} s / {kept:.2f} s"
            found.append((what, "<= 2 s / <= .5 s", text, cold <= 2.0 and kept <= 0.5, COMMAND))
    report = os.environ.get("LIBRARY_REPORT")
    if report and not quick:
        found += library_rows(json.loads(Path(report).read_text(encoding="utf-8"))["counts"])
    return found


def library_rows(counts: dict[str, int]) -> list[tuple[str, str, str, bool | None, str]]:
    """Shares of the examples of a library."""
    n, found = counts["examples"], []
    for stage, goal, word in SHARES:
        share = 100 * counts[stage] / n
        what = f"examples of the Modelica Standard Library (open list), {word}"
        found.append(
            (what, f">= {goal} %", f"{share:.0f} % ({counts[stage]} of {n})", share >= goal, "pliant check-library")
        )
    return found


if __name__ == "__main__":
    for row in rows():
        print(f"{row[0]}: {row[2]} (goal: {row[1]})")
