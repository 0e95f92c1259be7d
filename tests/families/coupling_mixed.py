"""Couplings of everything with everything, against one model of the whole.

Two or three parts with matrices as parameters (states, arrays of inputs and outputs, direct feed-through, so that loops
arise), in half of the cases a sampled part with Real, Integer and Boolean outputs, and a part that these switch. Each
is a model, or an FMU of FMI 2 or 3 for model exchange or co-simulation. Schemes, degrees, orders, macro steps by error
or given. The truth is one Modelica model with the same parts inside.

Asked: with a given step errors that fall at least as with order 1 when it is divided, and no error above a bound; with
steps by error at most ALLOWED times macro_rtol of the range. Sampled co-simulation FMUs of FMI 2 are one macro step
late, which steps by error do not know: there they are left out.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome

ALLOWED = 30.0
WORST = 0.3  # of the range, with a tenth of the fastest time constant
STOP = 3.0
Matrix = NDArray[np.float64]

TEXTS = {
    "Linear": """
model Linear
  parameter Real A[2,2] = {{-1, 0}, {0, -1}}, B[2,2] = zeros(2, 2), D[2,2] = zeros(2, 2), s[2] = {1, 0};
  input Real u[2](each start = 0);
  Real x[2](start = s, each fixed = true);
  output Real y[2];
equation
  der(x) = A*x + B*u;
  y = x + D*u;
end Linear;
""",
    "Sampled": """
model Sampled
  parameter Real gain = 0.5;
  input Real u(start = 0);
  discrete output Real h(start = 0, fixed = true);
  output Integer count(start = 0, fixed = true);
  output Boolean high(start = false, fixed = true);
equation
  when sample({first}, {period}) then
    h = 0.5*pre(h) + gain*u;
    count = pre(count) + 1;
    high = u > 0.2;
  end when;
end Sampled;
""",
    "Switched": """
model Switched
  input Real u(start = 0);
  input Integer n(start = 0);
  input Boolean on(start = false);
  output Real x(start = 0.3, fixed = true);
equation
  der(x) = -x + (if on then u else 0.1) + 0.02*n;
end Switched;
""",
}
TICKS = ((0.0, 0.2), (0.1, 0.25), (0.13, 0.37))  # first ones and periods of models SampledA, B, C
for letter, (first, period) in zip("ABC", TICKS, strict=True):
    made = TEXTS["Sampled"].replace("{first}", str(first)).replace("{period}", str(period))
    TEXTS[f"Sampled{letter}"] = made.replace("Sampled", f"Sampled{letter}")
del TEXTS["Sampled"]
KINDS = ("model", "2.0 ME", "3.0 ME", "2.0 CS", "3.0 CS")
FOLDER = tempfile.TemporaryDirectory(prefix="pliant-mixed-")


@cache
def part(name: str, kind: str) -> pliant.Model:
    """A model, or one of its FMUs."""
    if kind == "model":
        return pliant.load(TEXTS[name])
    version, short = kind.split()
    file = Path(FOLDER.name) / f"{name}{version[0]}.fmu"
    if not file.exists():
        part(name, "model").export_fmu(file, version=version, sources=False)
    return pliant.load(file, kind="model-exchange" if short == "ME" else "co-simulation")


def array(values: Matrix) -> str:
    """As Modelica writes it."""
    if values.ndim == 0:
        return repr(float(values))
    if values.ndim == 1:
        return "{" + ", ".join(repr(float(value)) for value in values) + "}"
    return "{" + ", ".join(array(row) for row in values) + "}"


class System:
    """Parts, their parameters, and the source of each input."""

    def __init__(self, random: np.random.Generator) -> None:
        self.names = [f"p{k}" for k in range(int(random.integers(2, 4)))]
        self.parts: dict[str, tuple[str, dict[str, Any]]] = {}
        through = float(random.choice([0.0, 0.4, 1.5]))
        for name in self.names:
            a = random.standard_normal((2, 2))
            a -= (np.linalg.eigvals(a).real.max() + 0.5) * np.eye(2)
            d = through * random.choice([-1.0, 1.0], (2, 2)) * (random.random((2, 2)) < 0.4)
            b = 0.5 * random.standard_normal((2, 2))
            self.parts[name] = ("Linear", {"A": a, "B": b, "D": d, "s": random.standard_normal(2)})
        self.outputs = [f"{name}.y[{i}]" for name in self.names for i in (1, 2)]
        self.inputs = [f"{name}.u[{i}]" for name in self.names for i in (1, 2)]
        self.source = {one: self.other(random, one) for one in self.inputs}
        self.whole = self.matrix()
        self.states = [f"{name}.x[{i}]" for name in self.names for i in (1, 2)]
        self.sampled = bool(random.random() < 0.5)
        if self.sampled:
            self.parts["c"] = (f"Sampled{random.choice(list('ABC'))}", {"gain": float(random.uniform(-0.5, 0.5))})
            self.parts["w"] = ("Switched", {})
            one, two = random.choice(len(self.inputs), 2, replace=False)
            self.source[self.inputs[one]] = "c.h"
            if random.random() < 0.5:
                self.source[self.inputs[two]] = "w.x"
            self.source |= {"w.n": "c.count", "w.on": "c.high"}
            # what is sampled does not depend on the sampled value at the same time
            self.source |= {"c.u": str(random.choice(self.states)), "w.u": str(random.choice(self.outputs))}
            self.states.append("w.x")

    def other(self, random: np.random.Generator, target: str) -> str:
        """An output of another part."""
        return str(random.choice([one for one in self.outputs if one[:2] != target[:2]]))

    def matrix(self) -> Matrix | None:
        """x' = M x of the linear parts; None: loops that are nearly singular."""
        n = len(self.inputs)
        a, b, d, p = (np.zeros((n, n)) for _ in range(4))
        for k, name in enumerate(self.names):
            own = slice(2 * k, 2 * k + 2)
            values = self.parts[name][1]
            a[own, own], b[own, own], d[own, own] = values["A"], values["B"], values["D"]
        for j, one in enumerate(self.inputs):
            p[j, self.outputs.index(self.source[one])] = 1.0
        loop = np.eye(n) - p @ d
        if np.linalg.cond(loop) > 30.0:
            return None
        return np.asarray(a + b @ np.linalg.solve(loop, p))

    def text(self) -> str:
        """One model of all."""
        lines = [TEXTS[name] for name in TEXTS] + ["model Whole"]
        for name, (kind, values) in self.parts.items():
            given = ", ".join(f"{key} = {array(np.asarray(value))}" for key, value in values.items())
            lines.append(f"  {kind} {name}({given});" if given else f"  {kind} {name};")
        lines += ["equation", *(f"  {target} = {source};" for target, source in self.source.items()), "end Whole;"]
        return "\n".join(lines)

    def coupling(self, kinds: dict[str, str]) -> pliant.Coupling:
        """The parts apart."""
        coupling = pliant.Coupling()
        for name, (kind, values) in self.parts.items():
            given: dict[str, float] = {}
            for key, value in values.items():
                if np.ndim(value) == 0:
                    given[key] = float(value)
                for place in np.ndindex(np.shape(value)) if np.ndim(value) else ():
                    given[f"{key}[{','.join(str(k + 1) for k in place)}]"] = float(value[place])
            coupling.add(name, part(kind, kinds[name]), parameters=given)
        for target, source in self.source.items():
            coupling.connect(source, target)
        return coupling


def chosen(random: np.random.Generator) -> System:
    """One that is stable, and whose loops have a solution."""
    while True:
        found = System(random)
        if found.whole is not None and np.linalg.eigvals(found.whole).real.max() < -0.05:
            return found


def error(system: System, run: pliant.CouplingResult) -> float:
    """Of the states, in units of their range."""
    true = whole(system.text()).simulate(stop=STOP, points=run.time, rtol=1e-9)
    worst = 0.0
    for name in system.states:
        worst = max(worst, float(np.abs(run[name] - true[name]).max() / max(np.ptp(true[name]), 0.1)))
    return worst


@cache
def whole(text: str) -> pliant.Model:
    """Compiled once."""
    return pliant.load(text)


def case(seed: int) -> Outcome:
    """One coupling."""
    random = np.random.default_rng(seed)
    system = chosen(random)
    kinds = {name: str(random.choice(KINDS)) for name in system.parts}
    asked: dict[str, Any] = {
        "scheme": str(random.choice(["jacobi", "gauss-seidel"])),
        "extrapolation": int(random.integers(0, 3)),
        "smooth": bool(random.random() < 0.2),
        "order": [str(one) for one in random.permutation(list(system.parts))],
    }
    assert system.whole is not None
    late = system.sampled and kinds["c"] == "2.0 CS"
    what = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    text = f"{asked['scheme']} {asked['extrapolation']}{' smooth' if asked['smooth'] else ''}, {what}"
    coupling = system.coupling(kinds)
    if random.random() < 0.4 and not late:
        rtol = 1e-2 if asked["extrapolation"] == 0 else 1e-3
        run = coupling.simulate(stop=STOP, step="auto", macro_rtol=rtol, rtol=1e-8, **asked)
        off = error(system, run) / rtol
        verdict = RIGHT if off < ALLOWED and not run.warnings else WRONG
        return Outcome(seed, verdict, f"{off:.2g} times macro_rtol with {len(run.macro)} steps, {text}", off)
    step = 0.1 / max(float(np.abs(np.linalg.eigvals(system.whole)).max()), 1.0)
    errors = []
    for divided in (1, 16 if late else 4):
        run = coupling.simulate(stop=STOP, step=step / divided, rtol=1e-8, **asked)
        errors.append(error(system, run))
    falls = errors[1] < 0.4 * errors[0] or errors[1] < 1e-6
    verdict = RIGHT if falls and errors[0] < WORST and not run.warnings else WRONG
    return Outcome(seed, verdict, f"errors {errors[0]:.2g} and {errors[1]:.2g}, {text}", errors[0])


FAMILY = Family(
    name="coupling_mixed",
    what="couplings of models and FMUs of every kind, loops, arrays, sampled, Integer and Boolean signals",
    goal="errors of first order or better; with steps by error 30x macro_rtol of the range at most",
    check=case,
    count=150,
    part=1,
)
