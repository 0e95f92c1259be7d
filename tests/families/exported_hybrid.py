"""Random hybrid models (hybrid.py) as FMUs of both versions, read by both front ends, run by FMPy and by pliant.

The answer is that of an interpreter. Assertions that fail are errors there, too, and `terminate` ends the run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.validation import validate_fmu

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._hybrid_model import modelica
from families.hybrid import _compare, _is_clear, make

KINDS = {"ModelExchange": "model-exchange", "CoSimulation": "co-simulation"}
FRONTENDS = ("pliant", "rumoca")
STEPS = 61  # no common multiples with the grid of events
Importer = Callable[[Path, str, float, list[str]], Any]


@dataclass
class Table:
    """What an importer found."""

    columns: Any
    time: Any
    events: tuple[()] = ()

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]


def by_fmpy(path: Path, kind: str, stop: float, names: list[str]) -> Table:
    found = fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=stop, output_interval=stop / STEPS, relative_tolerance=1e-8, output=names,
        record_events=False,
    )  # fmt: skip
    return Table(found, np.asarray(found["time"]))


def by_pliant(path: Path, kind: str, stop: float, names: list[str]) -> Table:
    more = {"step": stop / STEPS} if kind == "CoSimulation" else {}
    with pliant.load(path, kind=KINDS[kind]) as model:
        found = model.simulate(stop=stop, points=STEPS + 1, rtol=1e-8, outputs=names, **more)
    return Table(found, found.time)


def check(seed: int) -> Outcome:
    """One model; versions of FMI and front ends by turns."""
    model, run, _ = make(seed)
    version, frontend = ("2.0", "3.0")[seed % 2], FRONTENDS[seed // 2 % 2]
    ends_badly = run.end is not None and run.end.is_error
    names = sorted(run.values_at(0.0))
    with tempfile.TemporaryDirectory() as folder:
        path = pliant.load(modelica(model), frontend=frontend).export_fmu(Path(folder) / "m.fmu", version=version)
        messages = validate_fmu(str(path))
        if messages:
            return Outcome(seed, WRONG, f"FMPy's validation: {messages[0]}")
        for importer in (by_fmpy, by_pliant):
            for kind in KINDS:
                wrong = _judge(importer, path, kind, (model.stop, names, run), ends_badly)
                if wrong:
                    return Outcome(seed, WRONG, f"FMI {version}, {frontend}, {importer.__name__}, {kind}: {wrong}")
    return Outcome(seed, RIGHT)


def _judge(importer: Importer, path: Path, kind: str, case: tuple[float, list[str], Any], ends_badly: bool) -> str:
    stop, names, run = case
    try:
        found = importer(path, kind, stop, names)
    except Exception as error:
        return "" if ends_badly else f"{type(error).__name__}: {str(error)[:100]}"
    if ends_badly:
        return "no error where an assertion fails"
    if run.end is not None and not found.time[-1] <= run.t + stop / STEPS + 1e-9:
        return f"it goes on to {found.time[-1]:g} after the end at {run.t:g}"
    before = [float(t) for t in found.time if _is_clear(float(t), run) and (run.end is None or t < run.t)]
    return _compare_values(run, found, before)


def _compare_values(run: Any, found: Table, points: list[float]) -> str:
    """The same comparison as where pliant simulates, but for the events, which importers do not tell."""
    times, run.effective = run.effective, []
    try:
        return _compare(run, found, points)
    finally:
        run.effective = times


FAMILY = Family(
    name="exported_hybrid",
    what="random hybrid models as FMUs, in FMPy and in pliant, both kinds, both front ends",
    goal="all right",
    count=100,
    part=1,
    check=check,
    seed=7000,
)
