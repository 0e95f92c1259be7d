"""Plants made of blocks, one behind the other, at every entry: simulate, many runs, coupling, command line, FMU.

A block is a lag, a loop, a pendulum in Cartesian coordinates, hysteresis, a dial that is set back, a sampled
controller, a saturation, a gain that the start determines, capacitors in parallel, differentiated equations, a chopper,
an array. They cross each other: state sets with resets, initial equations with discrete memory, inputs of every kind
and form. The answer comes from a solver of their explicit equations with events by bisection (_plant_oracle.py).
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._blocks import KINDS, Block
from families._plant_oracle import Chain, Drive, Fragile

ENTRIES = ("simulate", "simulate", "simulate", "many", "coupling", "cli", "fmu")
HELD = ("b", "n", "m")
TIGHT, COARSE = 2e-5, 1e-2  # COARSE: inputs are held for a communication step of an FMU
LITERALS = ("off", "low", "high")


class Plant:
    """One plant: its blocks and inputs, the way in which inputs are given."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(f"composed {seed}")
        self.start = rng.choice([0.0, 0.0, 0.0, 1.5, -0.7])
        self.stop = self.start + rng.choice([1.0, 2.0, 3.0])
        count = rng.randint(2, 5)
        self.blocks: list[Block] = [rng.choice(KINDS)(k, f"w{k}", rng) for k in range(1, count + 1)]
        last = type(self.blocks[-1]).__name__
        rests = any(
            one.p.get("rest") or "$g" in one.declare() or "fixed = false" in one.declare() for one in self.blocks
        )
        self.back = round(rng.uniform(0.1, 0.6), 2) if last in ("Lag", "Ring", "Parallel") and not rests else 0.0
        self.u = self._table(rng)
        self.held = {name: self._steps(rng, name) for name in HELD}

    def _times(self, rng: random.Random, n: int) -> list[float]:
        grid = sorted(rng.sample(range(1, 40), n))
        return [self.start + (self.stop - self.start) * g / 40 for g in grid]

    def _table(self, rng: random.Random) -> tuple[list[float], list[float]]:
        times, values = [self.start], [round(rng.uniform(-1, 1), 2)]
        for t in self._times(rng, rng.randint(1, 4)):
            value = round(rng.uniform(-1.5, 1.5), 2)
            times.append(t)
            values.append(value)
            if rng.random() < 0.5:
                times.append(t)
                values.append(round(rng.uniform(-1.5, 1.5), 2))
        return [*times, self.stop + 0.3], [*values, round(rng.uniform(-1, 1), 2)]

    def _steps(self, rng: random.Random, name: str) -> tuple[list[float], list[Any]]:
        times = [self.start, *self._times(rng, rng.randint(0, 3))]
        choices: dict[str, list[Any]] = {"b": [False, True], "n": [-2, -1, 0, 1, 2, 3], "m": list(LITERALS)}
        return times, [rng.choice(choices[name]) for _ in times]

    # ------------------------------------------------------------------------------------------------- text

    def text(self) -> str:
        """The model."""
        out = ["type Mode = enumeration(off, low, high);", "model Composed", "  input Real u;", "  input Boolean b;"]
        out += ["  input Integer n;", "  input Mode m;"]
        out += [f"  Real w{one.k}, y{one.k};" for one in self.blocks]
        text = "\n".join(out) + "\n" + "".join(one.declare() for one in self.blocks)
        initial = "".join(one.initial() for one in self.blocks)
        parts = [one.equations() for one in self.blocks]
        first = "  w1 = u + (if b then 0.4 else 0) + 0.1*n"
        first += " + (if m == Mode.high then 0.3 elseif m == Mode.low then -0.2 else 0)"
        first += f" - {self.back}*y{self.blocks[-1].k};\n" if self.back else ";\n"
        links = [first] + [f"  w{one.k} = y{one.k - 1};\n" for one in self.blocks[1:]]
        equations = parts + links
        self.rng.shuffle(equations)
        return (
            text
            + (f"initial equation\n{initial}" if initial else "")
            + "equation\n"
            + "".join(equations)
            + "end Composed;\n"
        )

    def drive(self) -> Drive:
        """What the first block sees."""
        times, values = (np.array(one, dtype=float) for one in self.u)

        def table(t: float, middle: float) -> float:
            k = int(np.searchsorted(times, middle, side="right")) - 1
            if times[k + 1] == times[k]:
                return float(values[k + 1])
            return float(values[k] + (values[k + 1] - values[k]) * (t - times[k]) / (times[k + 1] - times[k]))

        def step(name: str, middle: float) -> Any:
            own, given = self.held[name]
            return given[int(np.searchsorted(own, middle, side="right")) - 1]

        def value(t: float, middle: float) -> float:
            more = (0.4 if step("b", middle) else 0.0) + 0.1 * step("n", middle)
            return table(t, middle) + more + {"off": 0.0, "low": -0.2, "high": 0.3}[step("m", middle)]

        breaks = {*self.u[0], *(t for name in HELD for t in self.held[name][0])}
        return Drive(value, sorted(breaks))

    # ------------------------------------------------------------------------------------------------ inputs

    def inputs(self, folder: Path, prefix: str = "") -> Any:
        """All inputs in drawn forms."""
        rng = self.rng
        given: dict[str, Any] = {}
        for name in ("u", *HELD):
            times, values = self.u if name == "u" else self.held[name]
            forms = ["pair", "csv", "parquet", "series"]
            if name == "u":
                forms.append("segments")
            if all(v == values[0] for v in values) and name != "u":
                forms = ["constant"]
            form = rng.choice(forms)
            if form == "constant":
                given[prefix + name] = values[0]
            elif form == "pair":
                given[prefix + name] = (times, values)
            elif form == "series":
                given[prefix + name] = pd.Series(values, index=times)
            elif form == "segments":
                given[prefix + name] = self._segments()
            else:
                path = folder / f"{name}.{form}"
                frame = pd.DataFrame({"time": times, name: values})
                if form == "csv":
                    if name == "b":
                        frame[name] = ["true" if v else "false" for v in values]
                    frame.to_csv(path, index=False, sep=rng.choice([",", ";", "\t"]))
                else:
                    frame.to_parquet(path)
                given[prefix + name] = path if rng.random() < 0.5 else str(path)
        return given

    def _segments(self) -> Any:
        times, values = self.u
        start, coefficients = [], []
        for k in range(len(times) - 1):
            if times[k + 1] > times[k]:
                start.append(times[k])
                coefficients.append([values[k], (values[k + 1] - values[k]) / (times[k + 1] - times[k])])
        return pliant.Segments([*start, times[-1]], [*coefficients, [values[-1], 0.0]])


def make(seed: int) -> tuple[Plant, Chain]:
    """A plant whose answer does not hang on rounding."""
    for again in range(200):
        plant = Plant(seed + 1_000_000 * again)
        chain = Chain(plant.blocks, plant.drive(), plant.back, plant.start, plant.stop)
        try:
            chain.solve()
        except Fragile:
            continue
        return plant, chain
    raise AssertionError(seed)


def check(seed: int) -> Outcome:
    """One plant at one entry."""
    plant, chain = make(seed)
    rng = plant.rng
    points = np.linspace(plant.start, plant.stop, 41)[1:] - 0.0043 * (plant.stop - plant.start)
    points = np.array([t for t in points if min((abs(t - e) for e in chain.times), default=1.0) > 1e-3])
    entry, method, form = rng.choice(ENTRIES), rng.choice(["bdf", "radau5", "auto"]), rng.choice(["ode", "dae", "auto"])
    frontend = rng.choice(["pliant", "rumoca"])
    kinds = "-".join(type(one).__name__ for one in plant.blocks)
    words = f"{entry}, {method}, {form}, {frontend}, {kinds}"
    try:
        with tempfile.TemporaryDirectory() as folder:
            times, got, loose = run(plant, entry, method, form, frontend, points, Path(folder))
    except pliant.PliantError as error:
        return Outcome(seed, "failed", f"{words}: {type(error).__name__}: {str(error)[:300]}")
    worst, what = 0.0, ""
    for k, t in enumerate(times):
        if not plant.start < t < plant.stop or min((abs(t - e) for e in chain.times), default=1.0) <= 1e-3:
            continue
        for name, value in chain.at(float(t)).items():
            found = float(got[name][k])
            error = abs(found - value) / (1 + abs(value))
            if not error <= worst:
                worst, what = error, f"{name}({t:.5g}) = {found:.8g}, not {value:.8g}"
    return Outcome(seed, RIGHT if worst <= loose else WRONG, f"{words}: {what}" if worst > loose else "", worst)


def run(
    plant: Plant, entry: str, method: str, form: str, frontend: str, points: Any, folder: Path
) -> tuple[Any, dict[str, Any], float]:
    """Times, values there, and how far they may be off, by one entry."""
    text = plant.text()
    names = [f"y{one.k}" for one in plant.blocks] + [n for one in plant.blocks for n in one.discrete()]
    span: dict[str, Any] = {"start": plant.start, "stop": plant.stop}
    if entry == "cli":
        return points, _cli(plant, text, method, form, frontend, points, folder), TIGHT
    model = pliant.load(text, name="Composed", options={"form": form}, frontend=frontend)
    if entry == "fmu":
        kind = plant.rng.choice(["model-exchange", "co-simulation"])
        path = model.export_fmu(folder / "x.fmu", version=plant.rng.choice(["2.0", "3.0"]))
        with pliant.load(path, kind=kind) as fmu:
            stepped = kind == "co-simulation"
            more = {"step": (plant.stop - plant.start) / 400} if stepped else {"method": method, "rtol": 1e-8}
            result = fmu.simulate(**span, inputs=plant.inputs(folder), points=None if stepped else points, **more)
        return result.time, _values(result, names), COARSE if stepped else TIGHT
    if entry == "simulate":
        result = model.simulate(**span, method=method, rtol=1e-8, points=points, inputs=plant.inputs(folder))
    elif entry == "many":
        given = plant.inputs(folder)
        study = model.simulate_many(
            [{"name": "other"}, {"name": "this", "inputs": given}],
            **span,
            method=method,
            rtol=1e-8,
            points=points,
            workers=1,
        )
        result = study[1]
        if isinstance(result, Exception):
            raise result
    else:
        coupling = pliant.Coupling()
        coupling.add("part", model)
        step = (plant.stop - plant.start) / plant.rng.choice([11, 37])
        given = plant.inputs(folder, "part.")
        result = coupling.simulate(**span, step=step, rtol=1e-8, method=method, inputs=given)
        return result.time, _values(result, names, "part."), TIGHT
    return points, _values(result, names), TIGHT


def _values(result: Any, names: list[str], prefix: str = "") -> dict[str, Any]:
    return {name: np.asarray(result[prefix + name], dtype=float) for name in names}


def _cli(plant: Plant, text: str, method: str, form: str, frontend: str, points: Any, folder: Path) -> dict[str, Any]:
    from support_cli import CliRunner

    from pliant.cli import app

    (folder / "m.mo").write_text(text)
    arguments = ["simulate", str(folder / "m.mo"), "--start", repr(plant.start), "--stop", repr(plant.stop)]
    arguments += ["--name", "Composed", "--form", form, "--frontend", frontend, "--method", method, "--rtol", "1e-8"]
    for name in ("u", *HELD):
        times, values = plant.u if name == "u" else plant.held[name]
        if name == "b":
            values = ["true" if v else "false" for v in values]
        path = folder / f"{name}.csv"
        pd.DataFrame({"t": times, "value": values}).to_csv(path, index=False)
        arguments += ["--input", f"{name}={path}"]
    arguments += ["--points", "4001", "--save", str(folder / "out.parquet"), "--json"]
    done = CliRunner().invoke(app, arguments)
    if done.exit_code:
        raise pliant.PliantError(f"exit code {done.exit_code}: {done.output[:300]}", hint="")
    json.loads(done.output)
    frame = pd.read_parquet(folder / "out.parquet")
    return {name: np.interp(points, frame["time"], frame[name].astype(float)) for name in frame.columns}


FAMILY = Family(
    name="composed",
    what="plants composed of blocks (state sets, resets, samples, loops, index 2, gains found at the start), inputs of "
    "every form, at every entry",
    goal="all right",
    count=100,
    part=1,
    check=check,
)
