"""FMUs of others: the Reference-FMUs and those of the FMI cross-check, where environment variables name their folders.

PLIANT_REFERENCE_FMUS     2.0/NAME.fmu and 3.0/NAME.fmu; beside them NAME_out.csv
PLIANT_CROSSCHECK_FMUS    me/VENDOR/TOOL/NAME/NAME.fmu and cs/...; beside them NAME_ref.csv, NAME_ref.opt, NAME_in.csv
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant

Row = tuple[str, str, str, bool | None, str]
REFERENCE, CROSSCHECK = "PLIANT_REFERENCE_FMUS", "PLIANT_CROSSCHECK_FMUS"
KINDS = {"me": "model-exchange", "cs": "co-simulation"}
CLOSE, MATCHES = 1e-6, 0.01
NOT_RUN = ("Clocks",)  # its clocks matter to a run
OTHER_DATA = ("Roberts",)  # the file upstream holds another model's data
SHORT = 10.0  # s


@dataclass(frozen=True)
class Outcome:
    """Of one FMU in one kind; error: NRMSE or largest error, of the range; None: it did not run, or has no results."""

    name: str
    kind: str
    error: float | None
    failure: str = ""


def rows() -> list[Row]:
    """Reference-FMUs and cross-check."""
    return [reference(), crosscheck()]


def table(path: Path) -> dict[str, NDArray[np.float64]]:
    """Columns of a CSV file that are numbers."""
    with open(path, encoding="utf-8", newline="") as file:
        head, *lines = list(csv.reader(file))
    found = {}
    for k, name in enumerate(head):
        try:
            found[name.strip()] = np.array([float(line[k]) for line in lines if len(line) > k])
        except ValueError:
            continue
    return found


def run_pliant(path: Path, kind: str, names: list[str], given: dict[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Times and values."""
    with pliant.load(path, kind=KINDS[kind]) as model:
        known = [name for name in names if name in model.variables]
        if "inputs" in given:  # one file may serve FMUs with fewer inputs
            columns = table(Path(given["inputs"]))
            t = columns.pop(next(iter(columns)))
            there = {name for name, one in model.variables.items() if one.kind == "input"}
            given = given | {"inputs": {name: (t, values) for name, values in columns.items() if name in there}}
        if kind == "cs":
            given = {key: value for key, value in given.items() if key != "rtol"}
        else:
            given = {key: value for key, value in given.items() if key != "step"}
        result = model.simulate(outputs=known or None, **given)
        return {"time": result.time, **{name: result[name] for name in known}}


def run_fmpy(path: Path, kind: str, names: list[str], given: dict[str, Any]) -> dict[str, NDArray[np.float64]]:
    """The same by the peer."""
    import fmpy
    from fmpy.util import read_csv

    inputs = path.with_name(f"{path.stem}_in.csv")
    known = {one.name for one in fmpy.read_model_description(str(path), validate=False).modelVariables}
    wanted = {"stop_time": given.get("stop"), "relative_tolerance": given.get("rtol"), "step_size": given.get("step")}
    found = fmpy.simulate_fmu(
        str(path),
        validate=False,
        fmi_type={"me": "ModelExchange", "cs": "CoSimulation"}[kind],
        output=[name for name in names if name in known],
        input=read_csv(str(inputs)) if inputs.is_file() else None,
        **{key: value for key, value in wanted.items() if value is not None},
    )
    return {name: found[name].astype(float) for name in found.dtype.names}


def apart(found: dict[str, NDArray[np.float64]], wanted: dict[str, NDArray[np.float64]], norm: str) -> float:
    """The worst signal."""
    t = wanted[next(iter(wanted))]
    worst = 0.0
    for name, values in list(wanted.items())[1:]:
        if name not in found or found[name].ndim > 1:
            continue
        inside = t <= found["time"][-1] + 1e-12
        error = np.interp(t[inside], found["time"], found[name]) - values[inside]
        size = float(np.sqrt(np.mean(error**2)) if norm == "mean" else np.abs(error).max(initial=0.0))
        worst = max(worst, size / (float(np.ptp(values)) or 1.0))
    return worst


def attempt(run: Any, path: Path, kind: str, given: dict[str, Any], results: Path, norm: str) -> Outcome:
    """One run, and how far it is from the results beside it."""
    wanted = table(results) if results.is_file() else {}
    try:
        found = run(path, kind, list(wanted)[1:], given)
    except Exception as error:  # a peer may raise anything
        words = f"{type(error).__name__}: {error}".replace(str(path), path.name)
        return Outcome(path.stem, kind, None, words.splitlines()[0][:100])
    return Outcome(path.stem, kind, apart(found, wanted, norm) if wanted else None)


def reference() -> Row:
    """All Reference-FMUs but Clocks."""
    what = "Reference-FMUs, FMI 2 and 3, model exchange and co-simulation"
    goal = f"all run; co-simulation within {CLOSE:g} of the range of the reference files"
    command = f"{REFERENCE}=... python benchmarks/figures.py fmi"
    folder = os.environ.get(REFERENCE)
    if not folder:
        return what, goal, f"not measured: {REFERENCE} names no folder", None, command
    total, ran, close, judged, bad = 0, 0, 0, 0, []
    for path in sorted(Path(folder).glob("*/*.fmu")):
        if path.stem in NOT_RUN:
            continue
        for kind in KINDS:
            total += 1
            given: dict[str, Any] = {"points": None} if kind == "cs" else {}  # reference files are without inputs
            if path.stem in OTHER_DATA and kind == "cs":  # steps of 1e-3 inside: to the end they take hours
                given["stop"] = SHORT
            one = attempt(run_pliant, path, kind, given, path.with_name(f"{path.stem}_out.csv"), "largest")
            ran += not one.failure
            if one.failure:
                bad.append(f"{path.parent.name} {path.stem} {kind}: {one.failure}")
            elif kind == "cs" and one.error is not None and path.stem not in OTHER_DATA:
                judged += 1
                close += one.error <= CLOSE
                if one.error > CLOSE:
                    bad.append(f"{path.parent.name} {path.stem} {kind}: {one.error:.1e}")
    text = f"{ran} of {total} run, {close} of {judged} within {CLOSE:g}" + "".join(f"; {one}" for one in bad[:4])
    return what, goal, text, not bad and total > 0, command


def settings_of(path: Path) -> dict[str, Any]:
    """What the cross-check prescribes."""
    given: dict[str, Any] = {}
    options = path.with_name(f"{path.stem}_ref.opt")
    if options.is_file():
        with open(options, encoding="utf-8", newline="") as file:
            read = {line[0].strip(): float(line[1]) for line in csv.reader(file) if len(line) > 1}
        names = {"StartTime": "start", "StopTime": "stop", "StepSize": "step", "RelTol": "rtol"}
        given = {names[key]: value for key, value in read.items() if key in names and (value or key == "StartTime")}
    inputs = path.with_name(f"{path.stem}_in.csv")
    return given | ({"inputs": str(inputs)} if inputs.is_file() else {})


def crosscheck() -> Row:
    """Whatever FMPy runs or matches, pliant runs or matches, too."""
    what = "FMUs of the FMI cross-check, x86_64-linux"
    goal = "each runs that FMPy runs, each matches (1 % NRMSE) that FMPy matches"
    command = f"{CROSSCHECK}=... python benchmarks/figures.py fmi"
    folder = os.environ.get(CROSSCHECK)
    if not folder:
        return what, goal, f"not measured: {CROSSCHECK} names no folder", None, command
    counts, bad = {"ran": [0, 0], "match": [0, 0]}, []
    paths = sorted(Path(folder).rglob("*.fmu"))
    for path in paths:
        kind = path.relative_to(folder).parts[0]
        given, results = settings_of(path), path.with_name(f"{path.stem}_ref.csv")
        own = attempt(run_pliant, path, kind, given, results, "mean")
        peer = attempt(run_fmpy, path, kind, given, results, "mean")
        good = [one.error is not None and one.error <= MATCHES for one in (own, peer)]
        for k, one in enumerate((own, peer)):
            counts["ran"][k] += not one.failure
            counts["match"][k] += good[k]
        if (own.failure and not peer.failure) or (good[1] and not good[0]):
            bad.append(f"{kind} {path.parts[-4]} {path.stem}: {own.failure or f'NRMSE {own.error}'}")
    text = (
        f"of {len(paths)} pliant runs {counts['ran'][0]} and matches {counts['match'][0]}, FMPy {counts['ran'][1]} and "
        f"{counts['match'][1]}" + "".join(f"; {one}" for one in bad[:4])
    )
    return what, goal, text, not bad and bool(paths), command
