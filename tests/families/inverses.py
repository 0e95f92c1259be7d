"""Functions with declared inverses: calls in sums, products, each other, loops and constraints; residuals by numpy.

    f_k(x, a) = a x + b x^3 | a sinh(b x) | a x |x| | a log(1 + exp(b x)) ...      strictly increasing, with g_k(y, a)

Unknowns x_1 .. x_n are tied by equations of the forms

    p f(x_i) + q = s      f(x_i) / p = q - x_j      f(p f'(x_i) + q) = s      f(x_i) = sin(x_j) + ..  (a loop)

and some x_i are read through aliases -x_i, or are differentiated. The values found are put into the equations, written
again with numpy; blocks of one unknown must be explicit. Some cases become a plan and an FMU.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome

Vector = NDArray[np.float64]
STOP = 1.5
ALLOWED = 1e-7
EVERY = 10  # one case in so many becomes an FMU, one a plan


@dataclass(frozen=True)
class Shape:
    """A function of x and a: its body, that of its inverse over y and a, and the same with numpy."""

    body: str
    back: str
    value: Callable[[Vector, float], Vector]


SHAPES = (
    Shape("y := a*sinh(x);", "x := log(y/a + sqrt((y/a)^2 + 1));", lambda x, a: a * np.sinh(x)),
    Shape("y := a*x*abs(x) + x;", "x := sign(y)*(sqrt(1 + 4*a*abs(y)) - 1)/(2*a);", lambda x, a: a * x * abs(x) + x),
    Shape(
        "y := a*log(x + sqrt(x^2 + 1));",
        'assert(abs(y) < 20, "range"); x := sinh(y/a);',
        lambda x, a: a * np.arcsinh(x),
    ),
    Shape(
        "if x > 0 then y := a*x + x^2; else y := a*x - x^2; end if;",
        "x := sign(y)*(sqrt(a^2 + 4*abs(y)) - a)/2;",
        lambda x, a: a * x + np.sign(x) * x**2,
    ),
    Shape(
        "y := a*x; z := x; for k in 1:3 loop z := z*x*x/(2*k*(2*k + 1)); y := y + z; end for;",
        "",
        lambda x, a: a * x + x**3 / 6 + x**5 / 120 + x**7 / 5040,
    ),
)


def _function(k: int, shape: Shape, wrapped: bool) -> str:
    """Both functions; the last shape has its inverse by iteration, and is itself the inverse that is used."""
    extra = "protected Real z;" if "z :=" in shape.body else ""
    back = shape.back
    inner = ""
    if not back:
        extra_back = "protected Real d = 1; Real s; Real z;"
        back = (
            "x := 0; while abs(d) > 1e-14*(1 + abs(x)) loop s := a; z := 1; d := a*x; "
            "d := (a*x + x^3/6 + x^5/120 + x^7/5040 - y)/(a + x^2/2 + x^4/24 + x^6/720); x := x - d; end while;"
        )
    else:
        extra_back = ""
    if wrapped:
        inner = f"function w{k} input Real x; input Real a; output Real y; algorithm y := f{k}(x, a); end w{k};\n"
    return (
        f"function f{k} input Real x; input Real a; output Real y; {extra} algorithm {shape.body}\n"
        f"annotation(inverse(x = g{k}(y, a))); end f{k};\n"
        f"function g{k} input Real y; input Real a; output Real x; {extra_back} algorithm {back}\n"
        f"annotation(inverse(y = f{k}(x, a))); end g{k};\n{inner}"
    )


def make(seed: int) -> tuple[str, list[Callable[[Any, Vector], Vector]], int]:
    """A model, residuals of its equations from results, and the number of blocks that iterate at most."""
    r = np.random.default_rng(seed)
    used = [int(k) for k in r.choice(len(SHAPES), 3, replace=False)]
    text = "".join(_function(k, SHAPES[k], bool(r.random() < 0.4)) for k in used)
    lines: list[str] = []
    declared = ["Real s(start = 1, fixed = true, stateSelect = StateSelect.always);", "parameter Real p = 1.5;"]
    residuals: list[Callable[[Any, Vector], Vector]] = []
    allowed = 0

    def number(low: float = 0.3, high: float = 1.0) -> float:
        return round(float(r.uniform(low, high)), 4)

    n = int(r.integers(2, 6))
    for i in range(n):
        x = f"x{i}"
        k = used[int(r.integers(3))]
        a, q = number(1.0, 1.6), number()
        name = f"w{k}" if f"function w{k}" in text and r.random() < 0.5 else f"f{k}"
        iterates = not SHAPES[k].back
        f = SHAPES[k].value
        declared.append(f"Real {x}(start = 0.3);")
        form = int(r.integers(4))
        seen = x
        if r.random() < 0.4:  # through an alias
            seen = f"m{i}"
            declared.append(f"Real {seen};")
            lines.append(f"{seen} = -{x};")
        sign = 1.0 if seen == x else -1.0
        if form == 0:
            lines.append(f"p*{name}({seen}, {a}) + {q} = s;")
            residuals.append(lambda o, t, x=x, a=a, q=q, f=f, c=sign: 1.5 * f(c * o[x], a) + q - o["s"])
            allowed += iterates
        elif form == 1:
            lines.append(f"{name}({seen}, {a})/2 = {q} - 0.3*s*time;")
            residuals.append(lambda o, t, x=x, a=a, q=q, f=f, c=sign: f(c * o[x], a) / 2 - q + 0.3 * o["s"] * t)
            allowed += iterates
        elif form == 2:
            lines.append(f"{name}({seen}, {a}) = 0.4*sin(y{i}) + {q};")
            lines.append(f"{name}(y{i}, {a}) = 0.4*cos({x}) + 0.2*s;")
            declared.append(f"Real y{i}(start = 0.3);")
            residuals.append(
                lambda o, t, x=x, i=i, a=a, q=q, f=f, c=sign: f(c * o[x], a) - 0.4 * np.sin(o[f"y{i}"]) - q
            )
            residuals.append(lambda o, t, x=x, i=i, a=a, f=f: f(o[f"y{i}"], a) - 0.4 * np.cos(o[x]) - 0.2 * o["s"])
            allowed += 1
        else:
            lines.append(f"{name}({q} - {name}({seen}, {a})/3, {a}) = 0.5*s;")
            residuals.append(lambda o, t, x=x, a=a, q=q, f=f, c=sign: f(q - f(c * o[x], a) / 3, a) - 0.5 * o["s"])
            allowed += iterates
            if r.random() < 0.5 and seed % EVERY != 5:  # a constraint is differentiated
                declared.append(f"Real v{i};")
                lines.append(f"v{i} = der({x});")
    text += f"model M\n  {' '.join(declared)}\nequation\n  der(s) = -0.7*s;\n  {chr(10).join(lines)}\nend M;\n"
    return text, residuals, allowed


def _apart(result: Any, residuals: list[Callable[[Any, Vector], Vector]], allowed: float) -> list[str]:
    found = [(k, float(np.abs(one(result, result.time)).max())) for k, one in enumerate(residuals)]
    wrong = [f"equation {k} misses by {size:.2g}" for k, size in found if not size <= allowed]
    off = float(np.abs(result["s"] - np.exp(-0.7 * result.time)).max())
    return wrong if off < 1e-2 else [*wrong, f"s is off by {off:.2g}"]


def check(seed: int) -> Outcome:
    """One model."""
    text, residuals, allowed = make(seed)
    model = pliant.load(text)
    iterated = [block for block in model.structure.blocks if block.kind == "nonlinear"]
    wrong = [f"{len(iterated)} blocks iterate, {allowed} need to"] if len(iterated) > allowed else []
    wrong += model.structure.notes if any("inverse" in note for note in model.structure.notes) else []
    result = model.simulate(stop=STOP, rtol=1e-8)
    wrong += _apart(result, residuals, ALLOWED)
    if seed % EVERY == 0:
        with tempfile.TemporaryDirectory() as folder, pliant.load(model.export_fmu(Path(folder) / "m.fmu")) as unit:
            wrong += [f"FMU: {one}" for one in _apart(unit.simulate(stop=STOP), residuals, 1e-6)]
    if seed % EVERY == 5:
        plan = model.realtime(step=0.01, stop=STOP, options={"newton_steps": 10})
        wrong += [f"plan: {one}" for one in _apart(plan.simulate(stop=STOP), residuals, 1e-6)]
    return Outcome(seed, WRONG if wrong else RIGHT, "; ".join(wrong))


FAMILY = Family(
    name="inverses",
    what="declared inverses of functions: nested, through aliases, in loops, plans and FMUs",
    goal="residuals of the functions below 1e-7, no iteration where an inverse is given",
    check=check,
    count=100,
    part=1,
)
