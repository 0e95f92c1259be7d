"""Figures of couplings: macro steps by error against the best fixed ones, orders of four ways to simulate, ticks.

python benchmarks/figures.py coupling      the rows
python benchmarks/coupling_figures.py      the same with all numbers
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from peers import ROOT
from tested import run_tests

import pliant
from pliant.cosim.compare import total
from pliant.cosim.system import read_system

COMMAND = "python benchmarks/figures.py coupling"
EXAMPLES = ROOT / "examples" / "cosim"
RTOL = 1e-7
WIRES = (("left.x", "right.x1"), ("left.v", "right.v1"), ("right.x", "left.x2"), ("right.v", "left.v2"))
SPRINGS = {"left.x": "x1", "left.v": "v1", "right.x": "x2", "right.v": "v2"}
PENDULA = {"first.theta": "theta1", "first.omega": "omega1", "second.theta": "theta2", "second.omega": "omega2"}
DRIVE = {"motor.w": "w", "motor.i": "i", "controller.sw": "sw", "motor.wl": "wl"}
Row = tuple[str, str, str, bool | None, str]


@dataclass
class Example:
    """A system of the examples, the same in one model, and fixed steps to compare with."""

    name: str
    stop: float
    names: dict[str, str]
    steps: list[float]
    tolerances: tuple[float, ...] = (3e-3, 1e-3, 3e-4)

    def whole(self) -> pliant.Result:
        """In one model, accurately."""
        text = (EXAMPLES / f"{self.name}.mo").read_text()
        if self.name == "drive":  # the load is a parameter there, and a table in the coupling
            text = text.replace("wanted = 50, load = 0;", "wanted = 50; input Real load;")
        inputs = {"load": ([0, 1, 1, 2], [0, 0, 20, 20])} if self.name == "drive" else {}
        return pliant.load(text).simulate(stop=self.stop, rtol=1e-10, points=40001, inputs=inputs)

    def error(self, run: pliant.Result, whole: pliant.Result) -> float:
        """The largest one of the states, in units of the range."""
        return max(
            float(np.abs(run[a] - np.interp(run.time, whole.time, whole[b])).max() / np.ptp(whole[b]))
            for a, b in self.names.items()
        )


CASES = (
    Example("spring_damper", 2.0, SPRINGS, [0.05, 0.03, 0.02, 0.014, 0.01, 0.007, 0.005, 0.0035, 0.0025]),
    Example("pendula", 4.0, PENDULA, [0.05, 0.03, 0.02, 0.014, 0.01, 0.007, 0.005, 0.0035, 0.0025]),
    Example("drive", 2.0, DRIVE, [0.002, 0.0014, 0.001, 7e-4, 5e-4, 3.5e-4, 2.5e-4]),
)


def ratios(case: Example, degree: int, show: bool) -> list[float]:
    """Evaluations with step="auto" against the cheapest fixed step of no larger error."""
    whole = case.whole()
    system = read_system(EXAMPLES / f"{case.name}.toml", pliant.load)
    given = {**system.arguments, "stop": case.stop, "points": None, "extrapolation": degree, "rtol": RTOL}

    def measured(**more: Any) -> tuple[float, int]:
        run = system.coupling.simulate(**{**given, **more})
        return case.error(run, whole), total(run.stats)

    fixed = []
    for step in case.steps:
        try:
            fixed.append(measured(step=step, watch=False))
        except pliant.SolverError:
            continue  # unstable
    fixed = sorted(one for one in fixed if np.isfinite(one[0]) and one[0] < 0.5)
    errors, work = np.log([one[0] for one in fixed]), np.log([one[1] for one in fixed])
    cheapest = np.minimum.accumulate(work)  # from accurate to coarse: of all that are no less accurate
    out = []
    for macro_rtol in case.tolerances:
        error, evaluations = measured(step="auto", macro_rtol=macro_rtol)
        if not errors[0] <= np.log(error) <= errors[-1]:
            continue  # none of the fixed steps is as accurate
        out.append(evaluations / float(np.exp(np.interp(np.log(error), errors, cheapest))))
        if show:
            print(f"{case.name} degree {degree} macro_rtol {macro_rtol:g}: error {error:.1e}, {out[-1]:.2f}x")
    return out


def auto_rows(show: bool = False) -> Iterator[Row]:
    """Macro steps by error."""
    for degree in (1, 2):
        found = {case.name: float(np.exp(np.mean(np.log(ratios(case, degree, show))))) for case in CASES}
        yield (
            f'step="auto" against the best fixed macro step of equal error, extrapolation={degree}, evaluations',
            "<= 1.3x",
            ", ".join(f"{name} {ratio:.2f}x" for name, ratio in found.items()),
            max(found.values()) <= 1.3,
            COMMAND,
        )


def fmpy_error(files: dict[str, Path], step: float, stop: float, whole: Any) -> float:
    """A master around FMPy's slaves: inputs held, all at once."""
    slaves, places = {}, {}
    for name, file in files.items():
        about = fmpy.read_model_description(str(file))
        places[name] = {one.name: one.valueReference for one in about.modelVariables}
        one = FMU2Slave(
            guid=about.guid,
            unzipDirectory=fmpy.extract(str(file)),
            modelIdentifier=about.coSimulation.modelIdentifier,
            instanceName=name,
        )
        one.instantiate()
        one.setupExperiment(tolerance=1e-9, startTime=0.0, stopTime=stop)
        one.enterInitializationMode()
        one.exitInitializationMode()
        slaves[name] = one
    off = 0.0
    for i in range(round(stop / step)):
        values = {}
        for source, target in WIRES:
            (part, name) = source.split(".")
            values[target] = slaves[part].getReal([places[part][name]])[0]
        for target, value in values.items():
            (part, name) = target.split(".")
            slaves[part].setReal([places[part][name]], [value])
        for one in slaves.values():
            one.doStep(i * step, step)
        off = max(off, abs(float(slaves["left"].getReal([places["left"]["x"]])[0]) - whole[i + 1]))
    for one in slaves.values():
        one.terminate()
        one.freeInstance()
    return off


def order_rows(show: bool = False) -> Iterator[Row]:
    """One system in four ways: how the error at 2 s falls with the macro step."""
    models = {name: pliant.load(EXAMPLES / f"spring_damper_{name}.mo") for name in ("left", "right")}
    model = pliant.load(EXAMPLES / "spring_damper.mo")
    whole = {h: model.simulate(stop=2, rtol=1e-10, points=round(2 / h) + 1)["x1"] for h in (0.01, 0.005, 0.0025)}
    steps = (0.01, 0.005, 0.0025)
    with tempfile.TemporaryDirectory() as folder:
        parts: dict[str, dict[str, Any]] = {"pliant's parts": models}
        files: dict[str, dict[str, Path]] = {}
        for version in ("2.0", "3.0"):
            files[version] = {
                name: model.export_fmu(Path(folder) / f"{name}{version}.fmu", version=version, sources=False)
                for name, model in models.items()
            }
            parts[f"FMUs {version}"] = {
                name: pliant.load(file, kind="co-simulation") for name, file in files[version].items()
            }
        for degree, wanted in ((0, 1.0), (1, 2.0)):
            errors = {name: [_error(both, h, degree, whole[h]) for h in steps] for name, both in parts.items()}
            if degree == 0:
                errors["FMPy stepping"] = [fmpy_error(files["2.0"], h, 2.0, whole[h]) for h in steps]
            if show:
                print(degree, errors)
            orders = {name: float(np.log2(found[-2] / found[-1])) for name, found in errors.items()}
            agree = max(found[-1] for found in errors.values()) <= 1.5 * min(found[-1] for found in errors.values())
            yield (
                f"springs as one model and in parts, extrapolation={degree}: order of the error in the macro step",
                f"{wanted:g} within 0.3, all errors within 1.5x of each other",
                ", ".join(f"{name} {order:.2f}" for name, order in orders.items()),
                agree and all(abs(order - wanted) <= 0.3 for order in orders.values()),
                COMMAND,
            )
        for both in parts.values():
            for one in both.values():
                one.close()


def _error(both: dict[str, Any], step: float, degree: int, whole: Any) -> float:
    """Of the place of the left mass, the largest one at communication points."""
    run = _coupled(both).simulate(stop=2, step=step, extrapolation=degree, rtol=1e-9)
    return float(np.abs(run["left.x"] - whole).max())


def _coupled(both: dict[str, Any]) -> pliant.Coupling:
    coupling = pliant.Coupling()
    for name, model in both.items():
        coupling.add(name, model)
    for source, target in WIRES:
        coupling.connect(source, target)
    return coupling


def test_rows() -> Iterator[Row]:
    """What tests say."""
    for what, goal, words, file, which in (
        (
            "sampled controller and plant, ticks beside the macro steps, models and FMI 3, all schemes",
            "as in one model, 1e-6",
            "{passed} of {run}",
            "tests/test_cosim_points.py",
            "ticks or exchanged",
        ),
        (
            "sampled controller as co-simulation FMU of FMI 2: one macro step late",
            "first order",
            "{passed} of {run}",
            "tests/test_cosim_points.py",
            "one_step_behind",
        ),
        (
            "loops of direct feed-through of co-simulation FMUs, gains of 1.5 and 3, "
            "some with FMUs that refuse what FMI forbids",
            "solved at every communication point, second order",
            "{passed} of {run}",
            "tests/test_cosim_fmus.py",
            "every_communication_point or forbids",
        ),
        (
            "several FMUs that return early, fixed steps and step='auto'",
            "macro steps end at each return, the others go back; who cannot is named",
            "{passed} of {run}",
            "tests/test_cosim_points.py",
            "first_decides or cannot_go_back",
        ),
        (
            "growth of a coupling with step='auto'",
            "noticed, with a remedy that helps; named where parts cannot go back",
            "{passed} of {run}",
            "tests/test_cosim_auto.py",
            "growth",
        ),
        (
            "a part of a coupling that dies, hangs, or refuses a step",
            "typed error with its name, results of the others kept, nothing left",
            "{passed} of {run}",
            "tests/test_cosim_fmus.py tests/test_cosim_auto.py",
            "dies or refuses",
        ),
    ):
        passed = run = 0
        for one in file.split():
            found = run_tests(one, which)
            passed, run = passed + found.passed, run + found.run
        yield (what, goal, words.format(passed=passed, run=run), passed == run > 0, f'pytest {file} -k "{which}"')


def rows(quick: bool = False, show: bool = False) -> Iterator[Row]:
    """All rows, each as soon as it is known."""
    yield from order_rows(show)
    if not quick:
        yield from auto_rows(show)
    yield from test_rows()


if __name__ == "__main__":
    for row in rows("--quick" in sys.argv, show=True):
        print(*row[:4], sep=" | ")
