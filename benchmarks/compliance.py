"""The Modelica Association's compliance library, case by case: what must pass and what must be refused.

PLIANT_COMPLIANCE=/path/to/Modelica-Compliance PLIANT_COMPLIANCE_LIST=names.txt python benchmarks/compliance.py

The list holds a name and `pass` or `refuse` in each line. Each case has classes of its own: some files of the library
are wrong on purpose. A case that should pass passes if it is simulated with the settings of its experiment and none of
its assertions fails. One that must be refused is refused if there is an error of the model, at the latest in the
simulation, with a place in the case's own file; an error that says "not supported" does not count.

    --only WORD        cases whose names hold this word
    --phase PHASE      stop behind flatten, scalarize, structure or simulate (the default)
    --jobs N           processes, by default 2
    --save FILE        one line of JSON per case
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pliant.errors import ModelError, NotSupportedError, PliantError
from pliant.frontend.modelica.flatten.model import flatten

FOLDER = "PLIANT_COMPLIANCE"
LIST = "PLIANT_COMPLIANCE_LIST"
PHASES = ("flatten", "scalarize", "structure", "simulate")
LIMIT = 60  # seconds for a case


def cases() -> list[tuple[str, str]]:
    """Names and what is expected of them."""
    listed = os.environ.get(LIST)
    if not os.environ.get(FOLDER) or not listed:
        raise SystemExit(f"set {FOLDER} to the folder that holds ModelicaCompliance, and {LIST} to a list of names")
    lines = Path(listed).read_text().splitlines()
    return [(name, expected) for name, expected in (one.split() for one in lines if one.strip())]


def own_file(name: str, folder: Path) -> Path:
    """The file of a case: the longest part of its name that is one."""
    parts = name.split(".")
    for k in range(len(parts), 0, -1):
        found = folder.joinpath(*parts[:k]).with_suffix(".mo")
        if found.is_file():
            return found
    raise FileNotFoundError(name)


def model_of(name: str, folder: Path) -> str:
    """The model of a case, which may be the only one of a package, with a name that no file can have."""
    text = own_file(name, folder).read_text()
    if not re.search(rf"^package {re.escape(name.rpartition('.')[2])}$", text, re.MULTILINE):
        return name
    inner = re.findall(r"^\s*model\s+('(?:\\.|[^'\\])*'|\w+)", text, re.MULTILINE)
    return f"{name}.{inner[0]}" if len(inner) == 1 else name


class OutOfTime(Exception):
    """A case took too long."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """An exception when the time is over."""

    def ring(*_: Any) -> None:
        raise OutOfTime

    old = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def through(name: str, folder: Path, last: str) -> str:
    """Take a case through all phases; the phase that is reached. Errors pass."""
    from pliant.codegen.emit import generate
    from pliant.frontend.scalar.scalarize import scalarize
    from pliant.model import Model
    from pliant.solve.models.generated import GeneratedModel
    from pliant.structure.options import structure_options
    from pliant.structure.pipeline import sort_system
    from pliant.structure.report import Structure

    reached.clear()
    reached.append("flatten")
    flat = flatten("", model_of(name, folder), [folder])
    if last == "flatten":
        return last
    reached.append("scalarize")
    system = scalarize(flat)
    if last == "scalarize":
        return last
    reached.append("structure")
    chosen = structure_options(None)
    found = sort_system(system, chosen, [])
    if last == "structure":
        return last
    reached.append("simulate")
    numeric = GeneratedModel.compile(generate(found, chosen.form), found.system.digest)
    model = Model(numeric, structure=Structure(found, form=chosen.form))
    experiment = flat.experiment
    model.simulate(stop=1.0 if experiment.stop is None else experiment.stop, timeout=LIMIT / 2)
    return last


reached: list[str] = []


def judge(case: tuple[str, str], last: str = "simulate") -> dict[str, Any]:
    """One case: what came of it."""
    name, expected = case
    folder = Path(os.environ[FOLDER])
    begin = time.process_time()
    row: dict[str, Any] = {"name": name, "expected": expected, "ok": False, "phase": "", "error": "", "text": ""}
    try:
        with warnings.catch_warnings(), limited(LIMIT):
            warnings.simplefilter("ignore")
            row["phase"] = through(name, folder, last)
            row["ok"] = expected == "pass"
    except OutOfTime:
        row.update(phase=reached[-1], error="OutOfTime")
    except PliantError as error:
        span = getattr(error, "span", None)
        row.update(phase=reached[-1], error=type(error).__name__, text=str(error))
        row["rule"] = getattr(error, "rule", None)
        row["span"] = str(span) if span is not None else None
        is_own = span is not None and Path(span.file).resolve() == own_file(name, folder).resolve()
        is_refused = isinstance(error, (ModelError, PliantError)) and not isinstance(error, NotSupportedError)
        row["ok"] = expected == "refuse" and is_own and is_refused
        row["refused"] = is_refused
    except Exception as error:  # a fault of pliant: shown, never right
        row.update(phase=reached[-1], error=f"TRACEBACK {type(error).__name__}", text=traceback.format_exc()[-1500:])
    row["seconds"] = round(time.process_time() - begin, 3)
    return row


def _judged(given: tuple[tuple[str, str], str]) -> dict[str, Any]:
    return judge(*given)


def run(chosen: list[tuple[str, str]], last: str = "simulate", jobs: int = 2) -> list[dict[str, Any]]:
    """All cases, in order."""
    if jobs <= 1:
        return [judge(case, last) for case in chosen]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(_judged, [(case, last) for case in chosen], chunksize=4))


def shares(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """For `pass` and `refuse`: how many are right, of how many."""
    total = Counter(row["expected"] for row in rows)
    right = Counter(row["expected"] for row in rows if row["ok"])
    return {key: (right[key], total[key]) for key in ("pass", "refuse")}


def main() -> int:
    """Print what is wrong, and the shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--phase", choices=PHASES, default="simulate")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    chosen = [case for case in cases() if given.only in case[0]]
    rows = run(chosen, given.phase, given.jobs)
    if given.save:
        given.save.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for row in rows:
        if not row["ok"]:
            lines = row["text"].splitlines() or [""]
            first = " | ".join(lines[-3:]) if "TRACEBACK" in row["error"] else lines[0]
            print(f"{row['expected']:6} {row['name'].removeprefix('ModelicaCompliance.')}: {row['phase']}", end=" ")
            print(f"{row['error']} {first}")
    for key, (right, total) in shares(rows).items():
        if total:
            print(f"{key}: {right} of {total} ({100 * right / total:.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
