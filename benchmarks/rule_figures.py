"""Written steps of all examples and plants against cppcheck and the warnings of gcc, without suppressions.

Each model is planned in order 1 and 2, with entries frozen and without, and written in double and in float,
straight-line and with factors by tables: every pair of these choices.

python benchmarks/figures.py rules
python benchmarks/rule_figures.py Pipe crane         these models only; findings are printed
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from peers import ROOT

import pliant
from pliant.errors import PliantError
from pliant.realtime.code.make import make_stepper
from pliant.realtime.stages.limits import monitor_limits
from pliant.realtime.stages.step import write_code

Row = tuple[str, str, str, bool | None, str]
COMMAND = "python benchmarks/figures.py rules"
CPPCHECK = ["cppcheck", "--enable=warning,portability,performance", "--std=c99", "-q"]
GCC = ["gcc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wsign-conversion", "-c", "-o", os.devnull]
STEPS = 25
LINE, TABLES = "straight-line", "tables"
WAYS = (  # order, entries frozen?, precision and style: every pair of choices is there
    (1, True, (("double", LINE), ("float", TABLES))),
    (1, False, (("double", TABLES), ("float", LINE))),  # with a fallback
    (2, True, (("double", TABLES), ("float", LINE))),
    (2, False, (("double", LINE), ("float", TABLES))),
)
TIMES = {  # steps that the models allow; all others 1 ms
    "DiodeGrid": 1e-4,
    "circuit": 1e-5,
    "transistor_amplifier": 1e-5,
    "resistor_grid": 1e-4,
    "Pipe": 1e-2,
    "FocDrive": 1e-4,
    "motor_control": 1e-4,
    "BuckAveraged": 1e-5,
    "BuckSwitched": 5e-6,
    "Column": 5.0,
    "BatteryPack": 2e-2,
    "LockValve": 1e-5,
}
SMALLER = {
    "BatteryPack": ("nS = 20", "nS = 1"),
    "resistor_grid": ("N = 12", "N = 4"),
    "heat_rod": ("N = 100", "N = 20"),
}
OPTIONS = {"certificate": False, "reference": False, "points": 8, "restarts": 0}


def models() -> list[Path]:
    """Every Modelica file of the examples and of the plants."""
    folders = [ROOT / "examples", ROOT / "benchmarks" / "plants"]
    return sorted((file for one in folders for file in one.rglob("*.mo")), key=lambda file: file.stem.lower())


def written(file: Path, quick: bool) -> Iterator[tuple[str, pliant.Plan]]:
    """Plans of a model in all ways, with their names; raises what makes a plan impossible."""
    step = TIMES.get(file.stem, 1e-3)
    for order, freeze, forms in WAYS[:1] if quick else WAYS:
        model = pliant.load(file.read_text(encoding="utf-8").replace(*SMALLER.get(file.stem, ("", ""))))
        options = {**OPTIONS, "freeze": freeze, "monitor": "fallback" if order == 1 and not freeze else "flag"}
        plan = model.realtime(step=step, stop=STEPS * step, order=order, accuracy=None, options=options, progress=False)
        for precision, style in forms:
            yield f"order {order}, freeze {freeze}, {precision}, {style}", as_written(plan, precision, style)


def as_written(plan: pliant.Plan, precision: str, style: str) -> pliant.Plan:
    """The plan with its step in this precision and style."""
    o, code = plan.outcome, write_code(plan.outcome, precision)
    equations = o.model.equations
    assert equations is not None
    options = replace(code.options, style=style)
    more: dict[str, Any] = {"full": o.full, "frozen": o.held_entries}
    more["limits"] = monitor_limits(o) if options.monitor else None
    made = make_stepper(equations.sorted, equations.form, plan.step, o.elimination, options, code.start, **more)
    return type(plan)(o, evidence=plan.evidence, code=made)


def findings(folder: Path) -> list[str]:
    """Lines of both tools."""
    ran = subprocess.run([*CPPCHECK, str(folder)], capture_output=True, text=True, check=False)
    out = [one for one in ran.stderr.splitlines() if ": " in one and "^" not in one]
    for file in sorted(folder.glob("*.c")):
        ran = subprocess.run([*GCC, file.name], capture_output=True, text=True, check=False, cwd=folder)
        out += [one for one in ran.stderr.splitlines() if "warning:" in one or "error:" in one]
    return out


def checked(file: Path, quick: bool = False, show: bool = False) -> tuple[int, list[str], str]:
    """Written folders, findings in them, why there is no plan."""
    count, found = 0, []
    try:
        for name, plan in written(file, quick):
            with tempfile.TemporaryDirectory() as folder:
                here = findings(plan.write(Path(folder) / "code"))
            count += 1
            found += here
            if show:
                print(f"{file.stem}: {name}: {len(here)} findings", *here[:3], sep="\n    ", flush=True)
    except PliantError as error:
        return count, found, f"{type(error).__name__}: {str(error).splitlines()[0]}"
    return count, found, ""


def rows(quick: bool = False) -> list[Row]:
    """What, goal, reached, met, command."""
    what = "written steps of all examples and plants: findings of cppcheck and of gcc's warnings, no suppressions"
    goal = "none"
    if any(shutil.which(one) is None for one in ("cppcheck", "gcc")):
        return [(what, goal, "cppcheck and gcc are needed", None, COMMAND)]
    count, bad, refused = Counter[str](), Counter[str](), {}
    for file in models():
        count[file.stem], found, why = checked(file, quick)
        bad[file.stem] += len(found)
        if why:
            refused[file.stem] = why
            print(f"     {file.stem}: {why}", flush=True)
    n = sum(1 for one in count.values() if one)
    words = (
        f"{sum(bad.values())} findings in {sum(count.values())} folders of {n} models (order 1 and 2, entries frozen "
    )
    words += "or not, double and float, straight-line and by tables, in pairs)"
    words += "".join(f"; {name} {k}" for name, k in bad.items() if k)
    none = sorted(name for name in refused if not count[name])
    words += f"; no plan of {', '.join(none)}" if none else ""
    return [(what, goal, words, not sum(bad.values()), COMMAND)]


def main() -> None:
    """Print every folder."""
    for file in models():
        if len(sys.argv) == 1 or file.stem in sys.argv[1:]:
            _, _, why = checked(file, show=True)
            if why:
                print(f"{file.stem}: {why}", flush=True)


if __name__ == "__main__":
    main()
