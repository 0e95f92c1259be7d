"""What looking at inputs costs: evaluations of f against another source tree, e.g. one that does not look.

python benchmarks/inputs_against.py OTHER [--seed S] [--count N] [--keep FOLDER] [--jobs J] [--worst N]

The cases are those of the family `inputs`. OTHER is the top of a source tree of pliant with a built runtime (a git
worktree of an older commit). Compared is where the other tree missed nothing: its error is within the family's limit.
Evaluations are those of f, directional derivatives and Taylor coefficients, each as one. References are kept in FOLDER
for the next call.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from families import inputs as family

Row = dict[str, Any]


def prepare(folder: Path, seed: int) -> None:
    """The reference of a case, unless it is there."""
    path = folder / f"{seed}.npy"
    if not path.exists():
        np.save(path, family.reference(family.random_case(seed)))


def measure(folder: Path, seed: int) -> Row:
    """One case with the pliant at hand."""
    case, exact = family.random_case(seed), np.load(folder / f"{seed}.npy")
    kept: list[Any] = []
    row: Row = {"seed": seed, "method": case.method, "form": case.form, "rtol": case.rtol, "error": np.inf}
    row |= {"evaluations": 0, "steps": 0}
    try:
        found = family.simulate(case, kept.append)
    except Exception as error:
        return row | {"failed": f"{type(error).__name__}: {error}"}
    stats = kept[0].stats
    row["error"] = family.error_of(case, exact, found)
    row["evaluations"] = stats.n_rhs + stats.n_jvp + stats.n_taylor
    row["steps"] = stats.n_steps
    return row


def measured_by(tree: Path, folder: Path, given: argparse.Namespace) -> list[Row]:
    """All cases with the pliant of a source tree, in a process of its own."""
    path = os.pathsep.join([str(tree / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, __file__, str(tree), "--measure", "--keep", str(folder)]
    command += [f"--{name}={getattr(given, name)}" for name in ("seed", "count", "jobs")]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def report(ours: list[Row], others: list[Row], n_worst: int) -> None:
    """Ratios by method and the worst single cases."""
    pairs = [(a, b) for a, b in zip(ours, others, strict=True) if b["error"] <= family.LIMIT]
    over = [a for a in ours if not a["error"] <= family.LIMIT]
    missed = sum(not b["error"] <= family.LIMIT for b in others)
    print(f"{len(ours)} cases; errors above {family.LIMIT:g}: {len(over)} here, {missed} in the other tree")
    for a in over:
        print(f"  seed {a['seed']}: {a['method']}, {a['form']}, rtol {a['rtol']:.1e}: {a.get('failed', a['error'])}")
    print(f"evaluations against the other tree where it missed nothing ({len(pairs)} cases):")
    print("  method  cases  total  geometric mean  worst")
    for method in ("bdf", "radau5", "auto", "dopri5", "all"):
        rows = [(a, b) for a, b in pairs if method in (a["method"], "all")]
        if not rows:
            continue
        here, there = (np.array([row[k]["evaluations"] for row in rows], dtype=float) for k in (0, 1))
        ratio = here / there
        total, mean = here.sum() / there.sum(), np.exp(np.log(ratio).mean())
        print(f"  {method:7} {len(rows):5} {total:6.3f} {mean:15.3f} {ratio.max():6.2f}")
    pairs.sort(key=lambda pair: pair[0]["evaluations"] / pair[1]["evaluations"], reverse=True)
    for a, b in pairs[:n_worst]:
        print(
            f"  seed {a['seed']:6} {a['method']:6} {a['form']} rtol {a['rtol']:.1e}: evaluations {b['evaluations']} -> "
            f"{a['evaluations']}, steps {b['steps']} -> {a['steps']}, error {b['error']:.2g} -> {a['error']:.2g}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.count)
    with tempfile.TemporaryDirectory() as temporary, ProcessPoolExecutor(given.jobs) as pool:
        folder = given.keep or Path(temporary)
        if given.measure:
            for row in pool.map(partial(measure, folder), seeds, chunksize=4):
                print(json.dumps(row))
            return
        folder.mkdir(parents=True, exist_ok=True)
        list(pool.map(partial(prepare, folder), seeds, chunksize=4))
        ours, others = (measured_by(tree, folder, given) for tree in (ROOT, given.other))
        report(ours, others, given.worst)


if __name__ == "__main__":
    main()
