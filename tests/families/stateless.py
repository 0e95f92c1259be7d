"""Models without states: functions of time and inputs, loops, relations, samples and when-clauses, with known answers.

    a  = c0 + c1 sin(w t + phi) + c2 u            an output, also from a nonlinear loop a + a^3 = g + g^3 in its place
    l  = p a + q                                  from a linear loop of two equations
    s  = t > T,  r = sin(v t) > level             relations of time; r is counted where it rises
    h  = a at the last tick of sample(first, period), n ticks so far
    m  = u > limit                                relation of an input, a table or a function of time

Every case goes through a simulation with one of the methods, a linearisation and a coupling with a gain; some become a
plan, whose compiled step and written folder must give the same.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome
from pliant.realtime.code.run import Stepper

Vector = NDArray[np.float64]
STOP = 2.0
TAU = 0.01
METHODS = ("auto", "bdf", "radau5", "dopri5", "lieuler", "euler", "rk4")
AWAY = 1e-7  # from an event: which side a point lies on is a matter of rounding
ALLOWED = 1e-7
EVERY = 4  # one case in so many is planned and written


@dataclass(frozen=True)
class Case:
    """Text of a model, its input and its answers."""

    text: str
    given: Any  # as the user gives it
    u: Callable[[Vector], Vector]
    answers: Callable[[Vector], dict[str, Vector]]
    turns: Vector  # times at which something jumps
    relations: Vector  # those of them at which a relation of time alone turns
    gain: float  # da/du


def _rises(v: float, level: float) -> tuple[Vector, Vector]:
    """Times at which sin(v t) rises above the level, and at which it falls below it again."""
    k = np.arange(int(v * STOP / (2 * np.pi)) + 2) * 2 * np.pi
    up, down = (np.arcsin(level) + k) / v, (np.pi - np.arcsin(level) + k) / v
    up, down = up[up > 0], down[down > 0]
    return up[up < STOP], down[down < STOP]


def _input(r: np.random.Generator) -> tuple[Any, Callable[[Vector], Vector], Vector]:
    """What is given, the same as a function, and where it jumps."""
    kind = int(r.integers(4))
    if kind == 0:
        value = float(r.uniform(-1, 1))
        return value, lambda t: np.full(len(t), value), np.zeros(0)
    if kind == 1:
        w = float(r.uniform(1, 5))
        return (lambda t: np.sin(w * t)), (lambda t: np.sin(w * t)), np.zeros(0)
    count = int(r.integers(2, 9))  # more than five jumps: Taylor coefficients are asked for
    at = np.sort(r.choice(np.arange(1, 200), count, replace=False)) * TAU
    values = r.uniform(-1, 1, (count + 1, 2))
    if kind == 3:
        values[:, 1] = values[:, 0]  # steps
    ends = np.concatenate([[0.0], at, [STOP]])
    times = np.repeat(ends, 2)[1:-1]

    def u(t: Vector) -> Vector:
        k = np.searchsorted(at, t, side="right")
        share = (t - ends[k]) / (ends[k + 1] - ends[k])
        return np.asarray(values[k, 0] + share * (values[k, 1] - values[k, 0]))

    return (times, values.ravel()), u, at


def make(seed: int) -> Case:
    """A model."""
    r = np.random.default_rng(seed)
    c0, c1, c2, phi, p, q = (float(x) for x in r.uniform(0.2, 1.5, 6) * r.choice([-1, 1], 6))
    w, v = float(r.uniform(0.5, 6)), float(r.uniform(2, 25))
    level, limit, turn = float(r.uniform(-0.8, 0.8)), float(r.uniform(-0.6, 0.6)), float(r.uniform(0.1, 1.9))
    first, period = TAU * int(r.integers(0, 20)), TAU * int(r.integers(3, 40))
    given, u, jumps = _input(r)
    loop = r.random() < 0.5
    whole = f"({c0!r}) + ({c1!r})*sin({w!r}*time + ({phi!r})) + ({c2!r})*u"
    text = f"""model Stateless
  input Real u(start = 0);
  output Real a, l, s, r, h, n, c, m;
  Real g, k;
  discrete Real held(start = 0, fixed = true), ticks(start = 0, fixed = true), count(start = 0, fixed = true);
equation
  g = {whole};
  {"a + a^3 = g + g^3" if loop else "a = g"};
  l + 0.5*k = ({p!r})*a + ({q!r}) + 0.5*time;
  k - 0.25*l = time - 0.25*(({p!r})*a + ({q!r}));
  s = if time > {turn!r} then 1 else 0;
  r = if sin({v!r}*time) > {level!r} then 1 else 0;
  m = if u > {limit!r} then a else 0;
  when sample({first!r}, {period!r}) then
    held = a;
    ticks = pre(ticks) + 1;
  end when;
  when sin({v!r}*time) > {level!r} then
    count = pre(count) + 1;
  end when;
  h = held; n = ticks; c = count;
end Stateless;
"""
    up, down = _rises(v, level)

    def of(t: Vector) -> Vector:
        return np.asarray(c0 + c1 * np.sin(w * t + phi) + c2 * u(t))

    def answers(t: Vector) -> dict[str, Vector]:
        last = np.floor((t - first) / period + 1e-9)
        tick = first + np.maximum(last, 0) * period + 1e-10  # a jump on a tick is one, whatever rounding says: after it
        a = of(t)
        return {
            "a": a,
            "l": p * a + q,
            "s": (t > turn) * 1.0,
            "r": (np.sin(v * t) > level) * 1.0,
            "h": np.where(last >= 0, of(tick), 0.0),
            "n": np.maximum(last + 1, 0.0),
            "c": np.searchsorted(up, t).astype(float),
            "m": np.where(u(t) > limit, a, 0.0),
        }

    fine = np.linspace(0, STOP, 200001)
    side = u(fine) > limit
    crossed = fine[1:][side[1:] != side[:-1]]
    ticks = np.arange(first, STOP + period, period)
    close = np.concatenate([jumps, ticks, up, down, [turn]])
    return Case(text, given, u, answers, np.concatenate([close, crossed]), np.concatenate([up, down, [turn]]), c2)


def _apart(case: Case, times: Vector, found: Callable[[str], Vector], names: tuple[str, ...] = ()) -> list[str]:
    """Names that are away from their answers; points near a jump are left out (some jumps are known by a grid only)."""
    near = np.abs(times[:, None] - case.turns[None, :]).min(axis=1)
    good = near > 3e-5
    wrong = []
    for name, true in case.answers(times).items():
        if names and name not in names:
            continue
        off = np.abs(found(name) - true)[good]
        if not (off <= ALLOWED * (1.0 + np.abs(true[good]))).all():
            wrong.append(f"{name} off by {off.max():.2g} at t = {times[good][int(off.argmax())]:.6g}")
    return wrong


def _simulated(case: Case, model: pliant.Model, method: str) -> list[str]:
    points = np.linspace(0, STOP, 157)
    step = {"step": 0.05} if method in ("lieuler", "euler", "rk4") else {}
    result = model.simulate(stop=STOP, method=method, points=points, inputs={"u": case.given}, **step)
    wrong = _apart(case, result.time, result.__getitem__)
    seen = np.array([event.time for event in result.events])
    for t in case.relations:
        if not len(seen) or np.abs(seen - t).min() > 1e-9:
            wrong.append(f"no event at {t:.9g}")
    return [f"{method}: {one}" for one in wrong]


def _linearised(case: Case, model: pliant.Model) -> list[str]:
    found = model.linearize(inputs={"u": 0.3})
    row = found.outputs.index("a")
    good = found.A.shape == (0, 0) and abs(float(found.D[row, 0]) - case.gain) < 1e-9
    return [] if good else [f"linearisation: D {found.D[row]} for {case.gain}, A {found.A.shape}"]


def _coupled(case: Case, model: pliant.Model) -> list[str]:
    gain = pliant.load("model Gain\n  input Real u; output Real y;\nequation\n  y = 3*u;\nend Gain;\n")
    coupling = pliant.Coupling()
    coupling.add("part", model)
    coupling.add("gain", gain)
    coupling.connect("part.a", "gain.u")
    result = coupling.simulate(stop=STOP, step=0.05, inputs={"part.u": case.given})
    # not h: a tick between communication points sees extrapolated inputs
    wrong = _apart(case, result.time, lambda name: result[f"part.{name}"], ("a", "l", "s", "n"))
    wrong += _apart(case, result.time, lambda _: result["gain.y"] / 3.0, ("a",))
    return [f"coupling: {one}" for one in wrong]


def _planned(case: Case, model: pliant.Model) -> list[str]:
    # iterations of loops are tuned to what the tolerance allows; here they shall end
    options = {"newton_steps": 10} if "a^3" in case.text else {}
    plan = model.realtime(step=TAU, stop=STOP, scenarios=[{"inputs": {"u": case.given}}], options=options)
    wrong = [] if plan.evidence.holds else [f"the evidence fails: {plan.evidence.failing}"]
    result = plan.simulate(stop=STOP, inputs={"u": case.given})
    wrong += _apart(case, result.time, result.__getitem__, ("a", "l", "s", "r", "h", "n", "m"))
    stepper = Stepper(plan.code)
    times = TAU * np.arange(1, round(STOP / TAU) + 1)
    u = case.u(times)
    stepper.reset(u=case.u(np.zeros(1)))
    rows = []
    for k in range(len(times)):
        stepper.run(u[k : k + 1, None], 1, history=False)
        rows.append(stepper.outputs(u[k : k + 1]))
    values = np.array(rows, dtype=float)
    names = plan.code.y_names
    wrong += _apart(case, times, lambda name: values[:, names.index(name)], ("a", "l", "s", "r", "h", "n", "m"))
    with tempfile.TemporaryDirectory() as folder:
        place = plan.write(Path(folder) / "step")
        done = subprocess.run(["make", "test"], cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            wrong.append(f"self-test: {done.stdout[-200:]}{done.stderr[-200:]}")
    return [f"plan: {one}" for one in wrong]


def check(seed: int) -> Outcome:
    """One model through everything."""
    case = make(seed)
    model = pliant.load(case.text)
    wrong = _simulated(case, model, METHODS[seed % len(METHODS)])
    wrong += _linearised(case, model) + _coupled(case, model)
    if seed % EVERY == 0:
        wrong += _planned(case, model)
    return Outcome(seed, WRONG if wrong else RIGHT, "; ".join(wrong))


FAMILY = Family(
    name="stateless",
    what="models without states: simulation, linearisation, coupling, plan and written step",
    goal="1e-7 of the known answers, relations of time found to 1e-9 s",
    check=check,
    count=120,
    part=1,
)
