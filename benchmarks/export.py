"""Exported FMUs under FMPy: valid, accurate, small, and with a solver that goes on over communication points.

python benchmarks/export.py             the tables
python benchmarks/export.py platforms   binaries for all platforms
python benchmarks/export.py importer    whose error is the largest in model exchange
python benchmarks/export.py picture     docs/pictures/fmu_export.png: order and step size of the solver inside
"""

from __future__ import annotations

import ctypes
import sys
import tempfile
import zipfile
from pathlib import Path

import fmpy
import jumps
import matplotlib.pyplot as plt
import numpy as np
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.validation import validate_fmu
from peers import ROOT

import pliant

COMMAND = "python benchmarks/export.py"
RANGE = 1e-5
FigureRow = tuple[str, str, str, bool | None, str]
TOUR = ROOT / "src" / "pliant" / "tour" / "models"
#: stop times
MODELS = {
    "DiodeGrid": 0.02, "Pipe": 10, "Robot": 2.6, "car_axis": 3, "circuit": 10, "crane": 10, "dc_drive": 1,
    "heat_rod": 10, "pendulum": 5, "resistor_grid": 1, "speed_control": 2, "transistor_amplifier": 0.2,
}  # fmt: skip
TOURS = {"sampled_drive": 2, "spring_damper_left": 5, "spring_damper_right": 5, "tanks": 5}
VAN_DER_POL = """
model VanDerPol
  parameter Real mu = 1000;
  Real x(start = 2, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = y;
  der(y) = mu*(1 - x^2)*y - x;
end VanDerPol;
"""


def range_of(values: np.ndarray) -> float:
    """What does not move to speak of has a millionth of its size as its range."""
    return float(max(np.ptp(values), 1e-6 * np.abs(values).max(), 1e-300))


def error_of(model: pliant.Model, path: Path, kind: str, stop: float, rtol: float = 1e-8) -> tuple[float, str]:
    """The largest error of a state or declared output, in units of its range."""
    reference = model.simulate(stop=stop, rtol=1e-11, points=201)
    known = model._numeric.known
    chosen = [name for choices in known.choices.values() for name in choices]
    names = [
        name
        for name in dict.fromkeys((*known.names.x, *chosen, *known.outputs))
        if not name.startswith("$") and name in reference.names
    ]
    found = fmpy.simulate_fmu(
        str(path), fmi_type=kind, stop_time=stop, output_interval=stop / 200, relative_tolerance=rtol, output=names,
        record_events=False,
    )  # fmt: skip
    worst = (0.0, "")
    for name in names:
        here = np.asarray(reference[name], float)
        there = np.interp(reference.time, found["time"], np.asarray(found[name], float))
        worst = max(worst, (float(np.abs(here - there).max() / range_of(here)), name))
    return worst


def models() -> dict[str, tuple[Path, float]]:
    found = {name: (ROOT / "examples" / f"{name}.mo", stop) for name, stop in MODELS.items()}
    return found | {name: (TOUR / f"{name}.mo", stop) for name, stop in TOURS.items()}


def cvode_alone(model: pliant.Model, path: Path, stop: float, rtol: float = 1e-8) -> float:
    """The same error of the states where CVODE alone integrates the FMU, with tolerances and longest step of FMPy."""
    from sksundae.cvode import CVODE

    reference = model.simulate(stop=stop, rtol=1e-11, points=201)
    description = fmpy.read_model_description(str(path))
    one = FMU2Model(
        guid=description.guid, unzipDirectory=fmpy.extract(str(path)),
        modelIdentifier=description.modelExchange.modelIdentifier,
    )  # fmt: skip
    one.instantiate()
    one.setupExperiment(startTime=0.0)
    one.enterInitializationMode()
    one.exitInitializationMode()
    one.newDiscreteStates()
    one.enterContinuousTimeMode()
    names = model._numeric.names.x
    n, pointer = len(names), ctypes.POINTER(ctypes.c_double)
    x, slope, nominal = np.zeros(n), np.zeros(n), np.zeros(n)
    at_x, at_slope, at_nominal = (vector.ctypes.data_as(pointer) for vector in (x, slope, nominal))
    one.getContinuousStates(at_x, n)
    one.getNominalsOfContinuousStates(at_nominal, n)
    start = x.copy()

    def f(t: float, values: np.ndarray, out: np.ndarray) -> None:
        one.setTime(t)
        x[:] = values
        one.setContinuousStates(at_x, n)
        one.getDerivatives(at_slope, n)
        out[:] = slope

    solver = CVODE(f, rtol=rtol, atol=rtol * nominal, method="BDF", max_num_steps=10**6, max_step=stop / 50)
    found = solver.solve(reference.time, start).y
    one.freeInstance()
    return max(
        float(np.abs(found[:, k] - reference[name]).max() / range_of(np.asarray(reference[name])))
        for k, name in enumerate(names)
    )


def importer_rows(name: str) -> list[FigureRow]:
    """Whose error is the largest one in model exchange? The FMU's, if it stays at tighter tolerances."""
    source, stop = models()[name]
    model = pliant.load(source)
    with tempfile.TemporaryDirectory() as folder:
        path = model.export_fmu(Path(folder) / "one.fmu", version="2.0")
        tight = error_of(model, path, "ModelExchange", stop, 1e-10)[0]
        alone, fmpys = cvode_alone(model, path, stop), error_of(model, path, "ModelExchange", stop)[0]
    ratio = f"{fmpys / alone:.2f}x ({fmpys:.1e} against {alone:.1e})"
    first = f"... of these {name}, FMPy at 1e-10: the error is that of the importer's solver"
    second = f"... {name} at 1e-8: FMPy's error against that of CVODE alone (scikit-sundae)"
    return [
        (first, "<= 1e-5 of range", f"{tight:.1e}", tight <= RANGE, COMMAND),
        (second, "<= 1.5x", ratio, fmpys <= 1.5 * alone, COMMAND),
    ]


def platform_rows(show: bool = False) -> list[FigureRow]:
    """Binaries for all platforms; the Windows one is run by tests/test_export_platforms.py."""
    from support_binaries import BEGIN, functions_of
    from support_export import function_names

    model, good, sizes = pliant.load(VAN_DER_POL), 0, []
    with tempfile.TemporaryDirectory() as folder:
        for platform in ("x86_64-windows", *BEGIN):
            path = model.export_fmu(Path(folder) / "p.fmu", platforms=[platform], overwrite=True)
            with zipfile.ZipFile(path) as archive:
                (file,) = (one for one in archive.infolist() if one.filename.startswith(f"binaries/{platform}/"))
                found = functions_of(platform, archive.read(file))
            good += found == function_names("3.0")
            sizes.append(f"{platform} {file.file_size / 1e3:.0f} kB")
            if show:
                print(sizes[-1], len(found), flush=True)
    what = "binaries for five platforms: right file type, all functions of FMI 3.0 and no others"
    return [(what, "5", f"{good} ({', '.join(sizes)})", good == 5, f"{COMMAND} platforms")]


def example_rows(show: bool = False) -> list[FigureRow]:
    messages, worst = 0, {"CoSimulation": (0.0, ""), "ModelExchange": (0.0, "")}
    beyond: list[str] = []  # model exchange
    with tempfile.TemporaryDirectory() as folder:
        for name, (source, stop) in models().items():
            model = pliant.load(source)
            for version in ("2.0", "3.0"):
                path = model.export_fmu(Path(folder) / f"{name}.fmu", version=version, overwrite=True)
                messages += len(validate_fmu(str(path)))
                for kind, before in worst.items():
                    error, variable = error_of(model, path, kind, stop)
                    worst[kind] = max(before, (error, f"{name}.{variable}"))
                    if kind == "ModelExchange" and error > RANGE and name not in beyond:
                        beyond.append(name)
                    if show:
                        print(f"{name:22} FMI {version} {kind:14} {error:.1e} {variable}")
    n = len(models())
    out: list[FigureRow] = [
        (
            f"FMPy's validation of {n} exported examples, FMI 2 and 3",
            "no message",
            f"{messages}",
            messages == 0,
            COMMAND,
        )
    ]
    for kind, (error, name) in worst.items():
        what = f"exported examples under FMPy at 1e-8, {kind}, states and outputs against a converged run"
        more = f", beyond the goal: {', '.join(beyond)}" if kind == "ModelExchange" and beyond else ""
        out.append((what, "<= 1e-5 of range", f"{error:.1e} ({name}{more})", error <= RANGE, COMMAND))
    for name in beyond:
        out += importer_rows(name)
    return out


def master(path: Path, case: jumps.Case, derivatives: bool) -> tuple[int, list[tuple[float, int, float]]]:
    """Evaluations of one subsystem whose inputs FMPy sets, and (time, order, step) at each communication point."""
    description = fmpy.read_model_description(str(path))
    place = {one.name: one.valueReference for one in description.modelVariables}
    one = FMU2Slave(
        guid=description.guid, unzipDirectory=fmpy.extract(str(path)),
        modelIdentifier=description.coSimulation.modelIdentifier,
    )  # fmt: skip
    names = list(case.inputs)
    at = [place[name] for name in names]
    starts = case.inputs[names[0]].start
    times = np.append(starts, case.stop)
    one.instantiate()
    one.setupExperiment(tolerance=1e-6, startTime=0.0, stopTime=case.stop)
    one.setReal([place[name] for name in case.parameters], list(case.parameters.values()))
    one.setReal(at, [case.inputs[name].coefficients[0][0] for name in names])
    one.enterInitializationMode()
    one.exitInitializationMode()
    steps = []
    for i in range(len(starts)):
        one.setReal(at, [case.inputs[name].coefficients[i][0] for name in names])
        if derivatives:
            one.setRealInputDerivatives(at, [1] * len(at), [case.inputs[name].coefficients[i][1] for name in names])
        one.doStep(times[i], times[i + 1] - times[i])
        order = one.getInteger([place["pliant.order"]])[0]
        steps.append((times[i + 1], order, one.getReal([place["pliant.h"]])[0]))
    counters = [place[f"pliant.{name}"] for name in ("n_rhs", "n_jvp", "n_taylor")]
    total = sum(one.getInteger(counters))
    one.terminate()
    one.freeInstance()
    return total, steps


def paper_cases() -> dict[str, tuple[jumps.Case, bool]]:
    return {
        "E1, inputs with derivatives": (jumps.spring(), True),
        "E1, inputs held": (jumps.spring(), False),
        "E2, inputs held": (jumps.pendulum(), False),
        "E2b, inputs held": (jumps.pendulum(10.0, 5.0), False),
    }


def both(case: jumps.Case, derivatives: bool) -> dict[str, tuple[int, list[tuple[float, int, float]]]]:
    with tempfile.TemporaryDirectory() as folder:
        return {
            how: master(
                case.model.export_fmu(Path(folder) / f"{how}.fmu", version="2.0", kind="co-simulation", at_jump=how),
                case,
                derivatives,
            )
            for how in ("restart", "correct")
        }


def paper_rows(show: bool = False) -> list[FigureRow]:
    out: list[FigureRow] = []
    for name, (case, derivatives) in paper_cases().items():
        found = both(case, derivatives)
        ratio = found["correct"][0] / found["restart"][0]
        bar = 0.45 if derivatives else 0.6
        if show:
            print(f"{name:28} restart {found['restart'][0]:5} correct {found['correct'][0]:5} {ratio:.2f}")
        what = f"exported FMU under FMPy, {name}: evaluations, correct against restart"
        out.append((what, f"<= {bar}", f"{ratio:.2f}", ratio <= bar, COMMAND))
    return out


def size_rows() -> list[FigureRow]:
    with tempfile.TemporaryDirectory() as folder:
        path = pliant.load(VAN_DER_POL).export_fmu(Path(folder) / "v.fmu", version="2.0", sources=False)
        with zipfile.ZipFile(path) as archive:
            size = max(one.file_size for one in archive.infolist() if one.filename.startswith("binaries/"))
    return [("FMU binary of Van der Pol, stripped", "<= 200 kB", f"{size / 1e3:.0f} kB", size <= 200_000, COMMAND)]


def export_rows() -> list[FigureRow]:
    return [*size_rows(), *paper_rows(), *example_rows(), *platform_rows()]


def picture() -> None:
    found = both(*paper_cases()["E2b, inputs held"])
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4))
    for how, (_, steps) in found.items():
        table = np.array(steps)
        axes[0].step(table[:, 0], table[:, 1], where="mid", label=how)
        axes[1].semilogy(table[:, 0], table[:, 2], label=how)
    axes[0].set_ylabel("order")
    axes[1].set_ylabel("step in s")
    axes[1].set_xlabel("time in s")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "pictures" / "fmu_export.png", dpi=110)


if __name__ == "__main__":
    if "picture" in sys.argv:
        picture()
    elif "platforms" in sys.argv:
        platform_rows(show=True)
    elif "importer" in sys.argv:
        for name in sys.argv[2:]:
            for row in importer_rows(name):
                print(*row[:3])
    else:
        for row in size_rows():
            print(*row[:3])
        paper_rows(show=True)
        for row in example_rows(show=True):
            print(*row[:3])
