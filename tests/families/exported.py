"""Random models exported as FMUs of both versions, run by FMPy and by pliant in both kinds, against closed formulas.

A model is a random choice of parts that do not act on each other, under names that need escaping:

    lag       x' = -a x + b u + c, u a staircase, from a start value, or from rest (initial equation)
    rotor     index 3: a point on a circle that turns; which coordinates are states changes on the way
    saw       z' = 1, reinit(z, 0) at z > period; counted; Boolean and enumeration of the phase
    clock     what sample(first, period) saw of sin(w time), and how often
    array     v[i]' = -i v[i], aliases of both signs, s = sum(v)
    late      u and w time as they were, and past' = -c past(t - wait)
    plain     y = p u + sin(time), an Integer by a Boolean input, parameters that follow from others

Parameters are set before the start. In a run of FMPy's co-simulation `a` is tuned half way; the state is saved,
restored and serialised into another instance.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
from fmpy.fmi2 import FMU2Slave
from fmpy.fmi3 import FMU3Slave
from fmpy.validation import validate_fmu
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome

Vector = NDArray[np.float64]
Answer = Callable[[Vector], Vector]
STOP, N = 2.0, 100
H = STOP / N
AWAY = 1e-5  # from an event
ALLOWED = {"co-simulation": 1e-5, "model-exchange": 1e-4}  # of range; FMPy's CVODE at 1e-8 is the limit of the second
PARTS = ("lag", "rotor", "saw", "clock", "array", "late", "plain")
KEPT = ("total", "force")  # by_steps looks at these, and at what was
FRONTENDS = ("pliant", "rumoca")
ODD = ("'{} \"q\" <&>'", "'{} \\\\ %s'", "{}_2", "'{}.b[3]'", "'~ {} ~'")


@dataclass
class Case:
    """A model, what is set, and what comes out."""

    declared: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)
    initial: list[str] = field(default_factory=list)
    answers: dict[str, Answer] = field(default_factory=dict)
    tuned: dict[str, Answer] = field(default_factory=dict)  # where a changes half way
    turns: list[float] = field(default_factory=list)
    parameters: dict[str, float] = field(default_factory=dict)
    at: tuple[int, ...] = ()  # communication points where the inputs jump
    levels: tuple[float, ...] = ()
    tune: tuple[str, float] = ("", 0.0)
    has_inputs: bool = False

    @property
    def text(self) -> str:
        initial = "initial equation\n" + "".join(f"  {one};\n" for one in self.initial) if self.initial else ""
        declared = "".join(f"  {one};\n" for one in self.declared)
        return (
            f"model Exported\n{declared}{initial}equation\n"
            + "".join(f"  {e};\n" for e in self.equations)
            + "end Exported;\n"
        )

    def u(self, t: Vector) -> Vector:
        return np.array(self.levels)[np.searchsorted(np.array(self.at) * H - 1e-9, t, side="right")]

    def on(self, t: Vector) -> Vector:
        return np.searchsorted(np.array(self.at) * H - 1e-9, t, side="right") % 2


def make(seed: int) -> Case:
    """A model of some parts."""
    r = np.random.default_rng(seed)
    case = Case()
    count = int(r.integers(1, 4))
    case.at = tuple(sorted(int(k) for k in r.choice(np.arange(5, N - 5), count, replace=False)))
    case.levels = tuple(float(x) for x in r.uniform(-2, 2, count + 1))
    chosen = [part for part in PARTS if r.random() < 0.6] or ["plain"]
    for part in chosen:
        odd = str(r.choice(ODD))
        PART[part](case, r, lambda name, odd=odd: odd.format(name))
    if not case.has_inputs:
        case.at, case.levels = (), (0.0,)
    return case


def _number(r: np.random.Generator, low: float, high: float) -> float:
    return float(r.uniform(low, high))


def _staircase(case: Case, a: Callable[[float], float], b: float, c: float, x: float) -> Answer:
    """x' = -a x + b u + c from x, exactly; a may change half way."""
    points = sorted({0.0, STOP / 2, *(k * H for k in case.at)})
    values = [x]
    for start, end in pairwise(points):
        rest = (b * float(case.u(np.array([start]))[0]) + c) / a(start)
        values.append(rest + (values[-1] - rest) * np.exp(-a(start) * (end - start)))

    def answer(t: Vector) -> Vector:
        k = np.searchsorted(np.array(points), t + 1e-12, side="right") - 1
        start = np.array(points)[k]
        rest = np.array([(b * float(case.u(np.array([s]))[0]) + c) / a(s) for s in start])
        rate = np.array([a(s) for s in start])
        return rest + (np.array(values)[k] - rest) * np.exp(-rate * (t - start))

    return answer


def lag(case: Case, r: np.random.Generator, n: Callable[[str], str]) -> None:
    case.has_inputs = True
    declared, given, later = (_number(r, 0.5, 5) for _ in range(3))
    b, c, x = (_number(r, -2, 2) for _ in range(3))
    rests = r.random() < 0.4
    case.declared += [
        f'parameter Real {n("a")}(unit = "1/s", min = 0) = {declared!r} "rate <{n("a")[1:3]}> & more"',
        f"parameter Real {n('b')} = {b!r}",
        f"parameter Real {n('begin')}(fixed = false)" if rests else f"parameter Real {n('begin')} = {x!r}",
        f"Real {n('x')}" + ("" if rests else f"(start = {n('begin')}, fixed = true)") + ", minus = -" + n("x"),
    ]
    case.equations.append(f"der({n('x')}) = -{n('a')}*{n('x')} + {n('b')}*u + ({c!r})")
    if rests:
        case.initial += [f"der({n('x')}) = 0", f"{n('begin')} = {n('x')}"]
        x = (b * case.levels[0] + c) / given
    case.parameters[n("a")] = given
    answer = _staircase(case, lambda _: given, b, c, x)
    case.answers |= {n("x"): answer, "minus": lambda t: -answer(t), n("begin"): lambda t: np.full(len(t), x)}
    case.tune = (n("a"), later)
    case.tuned[n("x")] = _staircase(case, lambda s: later if s >= STOP / 2 - 1e-9 else given, b, c, x)


def rotor(case: Case, r: np.random.Generator, n: Callable[[str], str]) -> None:
    radius, phase, speed = _number(r, 0.5, 2), _number(r, 0.2, 1.3), _number(r, 1, 8)
    px, py = n("px"), n("py")
    case.declared += [
        f"parameter Real radius = {radius!r}",
        f"Real {px}(start = {float(radius * np.cos(phase))!r}, fixed = true)",
        f"Real {py}(start = {float(radius * np.sin(phase))!r})",
        f"Real vx(start = {float(-radius * speed * np.sin(phase))!r}, fixed = true)",
        f"Real vy(start = {float(radius * speed * np.cos(phase))!r})",
        "Real force",
    ]
    case.equations += [f"der({px}) = vx", f"der({py}) = vy", f"der(vx) = -force*{px}", f"der(vy) = -force*{py}"]
    case.equations.append(f"{px}^2 + {py}^2 = radius^2")
    case.answers |= {
        px: lambda t: radius * np.cos(phase + speed * t),
        py: lambda t: radius * np.sin(phase + speed * t),
        "force": lambda t: np.full(len(t), speed**2),
    }


def saw(case: Case, r: np.random.Generator, n: Callable[[str], str]) -> None:
    period, given, share = _number(r, 0.2, 0.9), _number(r, 0.2, 0.9), _number(r, 0.2, 0.8)
    z, phase = n("z"), n("phase")
    case.declared += [
        "type Phase = enumeration(early, 'la te')",
        f"parameter Real period = {period!r}",
        f"Real {z}(start = 0, fixed = true)",
        f"Boolean {n('is late')}" if n("x").startswith("'") else "Boolean is_late",
        f"output Phase {phase}",
        "output Integer falls(start = 0, fixed = true)",
    ]
    late = n("is late") if n("x").startswith("'") else "is_late"
    case.equations += [
        f"der({z}) = 1",
        f"{late} = {z} > {share!r}*period",
        f"{phase} = if {late} then Phase.'la te' else Phase.early",
        f"when {z} > period then\n    reinit({z}, 0);\n    falls = pre(falls) + 1;\n  end when",
    ]
    case.parameters["period"] = given
    case.turns += [k * given for k in range(1, 12)] + [(k + share) * given for k in range(12)]
    case.answers |= {
        z: lambda t: np.mod(t, given),
        late: lambda t: np.mod(t, given) > share * given,
        phase: lambda t: 1.0 + (np.mod(t, given) > share * given),
        "falls": lambda t: np.floor(t / given),
    }


def clock(case: Case, r: np.random.Generator, n: Callable[[str], str]) -> None:
    first, period, w = _number(r, 0.01, 0.1), _number(r, 0.03, 0.3), _number(r, 1, 9)
    case.declared += [
        f"parameter Real w = {w!r}",
        f"discrete Real {n('seen')}(start = -1, fixed = true)",
        "Integer ticks(start = 0, fixed = true)",
    ]
    case.equations.append(
        f"when sample({first!r}, {period!r}) then\n    {n('seen')} = sin(w*time);\n"
        "    ticks = pre(ticks) + 1;\n  end when"
    )
    case.turns += [first + k * period for k in range(80)]

    def ticks(t: Vector) -> Vector:
        return np.maximum(np.floor((t - first) / period) + 1, 0)

    case.answers |= {
        "ticks": ticks,
        n("seen"): lambda t: np.where(ticks(t) > 0, np.sin(w * (first + (ticks(t) - 1) * period)), -1.0),
    }


def array(case: Case, r: np.random.Generator, n: Callable[[str], str]) -> None:
    size, start = int(r.integers(2, 5)), _number(r, 0.5, 2)
    case.declared += [
        f"Real {n('v')}[{size}](each start = {start!r}, each fixed = true)",
        f"Real {n('same')} = {n('v')}[2], {n('other')} = -{n('v')}[1]",
        f"output Real total = sum({n('v')})",
    ]
    case.equations.append(f"for i in 1:{size} loop\n    der({n('v')}[i]) = -i*{n('v')}[i];\n  end for")
    case.answers |= {
        n("same"): lambda t: start * np.exp(-2 * t),
        n("other"): lambda t: -start * np.exp(-t),
        "total": lambda t: sum(start * np.exp(-i * t) for i in range(1, size + 1)),
        f"{n('v')}[1]": lambda t: start * np.exp(-t),
    }


def plain(case: Case, r: np.random.Generator, n: Callable[[str], str]) -> None:
    case.has_inputs = True
    p, given = _number(r, 0.5, 2), _number(r, 0.5, 2)
    case.declared += [
        f"parameter Real {n('p')} = {p!r}",
        f"parameter Real follows = 3*{n('p')}",
        f"output Real {n('y')} = {n('p')}*u + sin(time)",
        "output Integer chosen = if on then 3 else -2",
        "output Boolean off = not on",
    ]
    case.parameters[n("p")] = given
    case.answers |= {
        n("y"): lambda t: given * case.u(t) + np.sin(t),
        "chosen": lambda t: np.where(case.on(t) > 0, 3, -2),
        "off": lambda t: case.on(t) == 0,
        "follows": lambda t: np.full(len(t), 3 * given),
    }


def late(case: Case, r: np.random.Generator, n: Callable[[str], str]) -> None:
    case.has_inputs = True
    wait, given, share = _number(r, 0.2, 0.9), _number(r, 0.2, 0.9), _number(r, 0.3, 1.5)
    c, w = _number(r, 0.5, 3), _number(r, 1, 2)
    case.declared += [
        f'parameter Real {n("wait")}(unit = "s", min = 0) = {wait!r}',
        f"parameter Real longer = {share!r}*{n('wait')}",
        f"Real {n('past')}(start = 1, fixed = true)",
        f"output Real {n('before')} = delay(u, {n('wait')})",
        "Boolean was = delay(u, longer) > 0",
        f"Real heard = delay({w!r}*time, {n('wait')})",
    ]
    case.equations.append(f"der({n('past')}) = -({c!r})*delay({n('past')}, {n('wait')})")
    case.parameters[n("wait")] = given
    case.turns += [k * H + one for k in case.at for one in (given, share * given)]

    def past(t: Vector) -> Vector:
        terms = range(1, int(STOP / given) + 2)
        return 1.0 + sum((-c * np.maximum(t - (k - 1) * given, 0.0)) ** k / math.factorial(k) for k in terms)

    case.answers |= {
        n("past"): past,
        n("before"): lambda t: case.u(t - given),
        "was": lambda t: case.u(t - share * given) > 0,
        "heard": lambda t: w * np.maximum(t - given, 0.0),
    }


PART = {"lag": lag, "rotor": rotor, "saw": saw, "clock": clock, "array": array, "late": late, "plain": plain}


# ------------------------------------------------------------------------------------------------------ importers


def off_by(case: Case, answers: dict[str, Answer], time: Vector, found: Callable[[str], Vector]) -> tuple[float, str]:
    """The largest error in units of range or size, away from events; rows at jumps of inputs may be on either side."""
    near = [*case.turns, *(k * H for k in case.at)]
    good = np.array([all(abs(t - one) > AWAY for one in near) for t in time])
    worst = (0.0, "")
    for name, answer in answers.items():
        wanted = np.asarray(answer(time[good]), float)
        scale = max(float(np.ptp(wanted)), 1e-2, float(np.abs(wanted).max(initial=0.0)))
        error = float(np.abs(np.asarray(found(name), float)[good] - wanted).max())
        worst = max(worst, (error / scale if np.isfinite(error) else np.inf, name))
    return worst


def signals(case: Case) -> Any:
    """Inputs for FMPy: double points where they jump."""
    if not case.has_inputs:
        return None
    ends = [0.0, *(k * H for k in case.at), STOP]
    rows = [(t, level, k % 2 == 1) for k, level in enumerate(case.levels) for t in (ends[k], ends[k + 1])]
    return np.array(rows, dtype=[("time", float), ("u", float), ("on", bool)])


def inputs(case: Case) -> dict[str, Any]:
    """The same for pliant."""
    if not case.has_inputs:
        return {}
    starts = [0.0, *(k * H for k in case.at)]
    return {
        "u": pliant.Segments(starts, [[level] for level in case.levels]),
        "on": (starts, [k % 2 == 1 for k in range(len(starts))]),
    }


def by_fmpy(case: Case, path: Path, kind: str) -> tuple[float, str]:
    found = fmpy.simulate_fmu(
        str(path), fmi_type="CoSimulation" if kind == "co-simulation" else "ModelExchange", stop_time=STOP,
        output_interval=H, relative_tolerance=1e-8, output=list(case.answers), input=signals(case),
        start_values=case.parameters, record_events=False,
    )  # fmt: skip
    return off_by(case, case.answers, np.asarray(found["time"]), lambda name: found[name])


def by_pliant(case: Case, path: Path, kind: str) -> tuple[float, str]:
    # in model exchange what is delayed is known at the importer's steps
    more: dict[str, Any] = {"step": H} if kind == "co-simulation" else {"options": {"max_step": H}}
    with pliant.load(path, kind=kind) as model:
        found = model.simulate(
            stop=STOP, points=N + 1, rtol=1e-8, inputs=inputs(case), parameters=case.parameters, **more
        )
    return off_by(case, case.answers, found.time, lambda name: found[name])


class Stepped:
    """An instance under FMPy, by its functions."""

    def __init__(self, path: Path, folder: str, version: str) -> None:
        description = fmpy.read_model_description(str(path))
        kind = FMU2Slave if version == "2.0" else FMU3Slave
        self.version, self.places = version, {one.name: one for one in description.modelVariables}
        self.fmu = kind(
            guid=description.guid, unzipDirectory=folder, modelIdentifier=description.coSimulation.modelIdentifier
        )
        self.fmu.instantiate()

    def start(self, case: Case) -> None:
        for name, value in case.parameters.items():
            self.put(name, value)
        if case.has_inputs:
            self.set_inputs(case, 0.0)
        if self.version == "2.0":
            self.fmu.setupExperiment(tolerance=1e-8, startTime=0.0)
            self.fmu.enterInitializationMode()
        else:
            self.fmu.enterInitializationMode(tolerance=1e-8, startTime=0.0)
        self.fmu.exitInitializationMode()

    def put(self, name: str, value: float) -> None:
        at = [self.places[name].valueReference]
        if self.places[name].type == "Boolean":
            self.fmu.setBoolean(at, [bool(value)])
        elif self.version == "2.0":
            self.fmu.setReal(at, [value])
        else:
            self.fmu.setFloat64(at, [value])

    def set_inputs(self, case: Case, t: float) -> None:
        self.put("u", float(case.u(np.array([t]))[0]))
        self.put("on", float(case.on(np.array([t]))[0]))

    def get(self, name: str) -> float:
        at = [self.places[name].valueReference]
        return float((self.fmu.getReal if self.version == "2.0" else self.fmu.getFloat64)(at)[0])

    def run(self, case: Case, first: int, last: int, names: list[str]) -> Iterator[list[float]]:
        for k in range(first, last):
            if case.has_inputs:
                self.set_inputs(case, k * H)
            self.fmu.doStep(k * H, H)
            yield [self.get(name) for name in names]


def by_steps(case: Case, path: Path, version: str) -> tuple[float, str]:
    """A parameter tuned half way; from there on again from a saved state, and in another instance."""
    with tempfile.TemporaryDirectory() as folder:
        fmpy.extract(str(path), folder)
        one, other = Stepped(path, folder, version), Stepped(path, folder, version)
        answers = case.tuned or {
            name: one_answer for name, one_answer in case.answers.items() if name in KEPT or "past" in name
        }
        names = list(answers)
        one.start(case)
        rows = list(one.run(case, 0, N // 2, names))
        if case.tune[0]:
            one.put(*case.tune)
        saved = one.fmu.getFMUState()
        text = one.fmu.serializeFMUState(saved)
        rest = list(one.run(case, N // 2, N, names))
        one.fmu.setFMUState(saved)
        again = list(one.run(case, N // 2, N, names))
        read = other.fmu.deserializeFMUState(text)
        other.fmu.setFMUState(read)
        elsewhere = list(other.run(case, N // 2, N, names))
        one.fmu.freeFMUState(saved)
        other.fmu.freeFMUState(read)
        one.fmu.freeInstance()
        other.fmu.freeInstance()
    if not rest == again == elsewhere:
        return np.inf, "a restored state"
    table = np.array(rows + rest).reshape(N, len(names))
    return off_by(case, answers, np.arange(1, N + 1) * H, lambda name: table[:, names.index(name)])


def check(seed: int) -> Outcome:
    """One model; versions of FMI by turns, and front ends."""
    case, version = make(seed), ("2.0", "3.0")[seed % 2]
    if case.has_inputs:
        case.declared[:0] = ["input Real u", "input Boolean on(start = false)"]
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        model = pliant.load(case.text, frontend=FRONTENDS[seed // 2 % 2])
        path = model.export_fmu(Path(folder) / "m.fmu", version=version)
        messages = validate_fmu(str(path))
        if messages:
            return Outcome(seed, WRONG, f"FMPy's validation: {messages[0]}")
        own = model.simulate(stop=STOP, rtol=1e-8, points=N + 1, inputs=inputs(case), parameters=case.parameters)
        found = {"here": off_by(case, case.answers, own.time, lambda name: own[name])}
        for kind in ALLOWED:
            found[f"FMPy, {kind}"] = by_fmpy(case, path, kind)
            found[f"pliant, {kind}"] = by_pliant(case, path, kind)
        found["steps, co-simulation"] = by_steps(case, path, version)
    for how, (error, name) in found.items():
        worst = max(worst, error)
        if not error <= ALLOWED.get(how.partition(", ")[2], 1e-5):
            return Outcome(seed, WRONG, f"FMI {version}, {how}: {name} is off by {error:.2g} of its range", error)
    return Outcome(seed, RIGHT, value=worst)


FAMILY = Family(
    name="exported",
    what="random models as FMUs, in FMPy and in pliant, both kinds",
    goal="all right",
    count=100,
    part=1,
    check=check,
    seed=4000,
)
