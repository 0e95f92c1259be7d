"""Examples of a Modelica library with two versions of pliant: CPU of load and of the run, interleaved.

MODELICAPATH=... python benchmarks/library_speed.py NAMES --before PYTHON [--save FILE] [--repeats N]

NAMES: a file with a class in each line; PYTHON: the interpreter of an environment in which the other version is installed, for example
that of a commit of last month (git worktree, venv, pip install). Each example is loaded in a process of its own by either version, with an
empty cache; load is the CPU of this process, the C compiler is that of its children. Then it is simulated over its own time, at 500 points
and rtol 1e-6, once to warm up, and as often as fits into .7 seconds; the least counts. An example that one of them cannot simulate is
listed, and counts for nothing. `--save` writes a line of JSON for each example.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 300  # seconds of a process
SLOWER = 1.25  # a run that takes longer than this is listed: less is noise of one process against another
SHORT = 1e-3  # seconds: shorter runs are compared in sum only

PROGRAM = """
import json, resource, sys, time
import pliant
def cpu(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime
task = json.loads(sys.argv[1])
begin, others = cpu(resource.RUSAGE_SELF), cpu(resource.RUSAGE_CHILDREN)
model = pliant.load("\\n", name=task["name"])
load, compiler = cpu(resource.RUSAGE_SELF) - begin, cpu(resource.RUSAGE_CHILDREN) - others
stop = task["stop"]
run = lambda: model.simulate(stop=stop, rtol=task["rtol"], points=500, progress=False)
result = run()
times, limit = [], time.monotonic() + 0.7
while not times or (len(times) < task["repeats"] and time.monotonic() < limit):
    begin = cpu(resource.RUSAGE_SELF) + cpu(resource.RUSAGE_CHILDREN)
    run()
    times.append(cpu(resource.RUSAGE_SELF) + cpu(resource.RUSAGE_CHILDREN) - begin)
found = {"load": load, "compiler": compiler, "run": min(times), "steps": result.stats.n_steps, "rhs": result.stats.n_rhs}
print(json.dumps(found))
"""


def settings(name: str) -> dict[str, Any]:
    """Stop and tolerance of an example, as its annotation says."""
    from pliant.frontend.reading import read_flat

    flat = read_flat("\n", name, None, "pliant")
    tolerance = flat.experiment.tolerance
    rtol = min(1e-6, tolerance) if tolerance and tolerance > 0 else 1e-6
    return {"name": name, "stop": flat.experiment.stop or 1.0, "rtol": rtol}


def measure(python: str, task: dict[str, Any]) -> dict[str, Any]:
    """One version on one example."""
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "PLIANT_CACHE": cache}
        command = [python, "-c", PROGRAM, json.dumps(task)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"longer than {LIMIT} s"}
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["no message"])[-1][:200]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def compared(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Ratios now / before over the examples that both simulate."""
    both = [row for row in rows if "run" in row["now"] and "run" in row["before"]]
    long = [row for row in both if max(row["now"]["run"], row["before"]["run"]) >= SHORT]
    ratios = {row["name"]: row["now"]["run"] / max(row["before"]["run"], 1e-9) for row in long}
    whole = {key: sum(r["now"][key] for r in both) / sum(r["before"][key] for r in both) for key in ("load", "run")}
    return {
        "both": len(both),
        "only_now": sum("run" in r["now"] and "run" not in r["before"] for r in rows),
        "only_before": [r["name"] for r in rows if "run" in r["before"] and "run" not in r["now"]],
        "runs": float(np.exp(np.mean(np.log(list(ratios.values()))))) if ratios else float("nan"),
        "slower": {name: ratio for name, ratio in sorted(ratios.items(), key=lambda one: -one[1]) if ratio > SLOWER},
        "sums": whole,
    }


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", type=Path)
    parser.add_argument("--before", required=True)
    parser.add_argument("--save", type=Path)
    parser.add_argument("--repeats", type=int, default=20)
    given = parser.parse_args()
    rows = []
    print(f"{'example':70} {'load s':>8} {'before':>8} {'run ms':>9} {'before':>9} {'ratio':>6}")
    for name in given.names.read_text().split():
        task = {**settings(name), "repeats": given.repeats}
        row = {"name": name, "before": measure(given.before, task), "now": measure(sys.executable, task)}
        rows.append(row)
        now, before = row["now"], row["before"]
        parts = [f"{now['load']:8.2f}" if "load" in now else f"{'-':>8}", f"{before['load']:8.2f}" if "load" in before else f"{'-':>8}"]
        parts += [f"{1e3 * one['run']:9.2f}" if "run" in one else f"{'-':>9}" for one in (now, before)]
        both = "run" in now and "run" in before
        parts.append(f"{now['run'] / max(before['run'], 1e-9):6.2f}" if both else f"{'':>6}")
        print(f"{name:70} {' '.join(parts)}", flush=True)
        if given.save is not None:
            given.save.write_text("".join(json.dumps(one) + "\n" for one in rows))
    print(json.dumps(compared(rows), indent=1))


if __name__ == "__main__":
    main()
