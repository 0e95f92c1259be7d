"""Relations where they are hard to see: whole numbers, plateaus on the threshold, extreme sizes, ideal switches.

whole     floor, ceil, integer, mod, div, rem of rising and falling functions of time or of a state t, nested;
          the answer is a sum over a fine grid of time
nested    the same of each other, with jumps that end on whole numbers, several in one model; the answer is a count on a
          fine grid of time
plateau   a relation that its sides reach by equality and where they stay: limiters, tables, abs, sign
scale     x = offset + s t^p against its value at a known time, sizes from 1e-18 to 1e18, offsets up to 1e9 s
chopper   a coil, an ideal switch of time and an ideal diode, whose other combinations have no solution; exponentials
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome

Times = NDArray[np.float64]
Expr = tuple[str, Callable[[Times], Times]]
STOP = 3.0
CELLS = 300_000
METHODS = ("auto", "bdf", "radau5", "dopri5")


def _number(value: float) -> str:
    return f"({float(value)!r})"


# ------------------------------------------------------------------------------------------------- whole numbers


def _whole(r: np.random.Generator, argument: str, depth: int) -> Expr:
    """A random expression of `argument`, which is t."""
    if depth == 0:
        a, b = round(float(r.uniform(-4, 4)), 3) or 1.0, round(float(r.uniform(-2, 2)), 3)
        if r.random() < 0.2:
            return f"(2.7*sin({_number(a)}*{argument} + {_number(b)}))", lambda t: 2.7 * np.sin(a * t + b)
        return f"({_number(a)}*{argument} + {_number(b)})", lambda t: a * t + b
    inner, g = _whole(r, argument, depth - 1)
    text, f = f"({inner} + 0.217)", lambda t: g(t) + 0.217  # jumps do not end on whole numbers
    c = round(float(r.uniform(0.3, 1.6)), 3)
    forms: tuple[tuple[str, Callable[[Times], Times]], ...] = (
        ("floor({})", np.floor),
        ("ceil({})", np.ceil),
        ("integer({})", np.floor),
        (f"mod({{}}, {c})", lambda s: s - np.floor(s / c) * c),
        (f"div({{}}, {c})", lambda s: np.trunc(s / c)),
        (f"rem({{}}, {c})", lambda s: s - np.trunc(s / c) * c),
        ("(1.3*{} + 0.217)", lambda s: 1.3 * s + 0.217),
        ("abs({})", np.abs),
    )
    form, h = forms[int(r.integers(len(forms) if depth < 3 else 6))]
    return form.format(text), lambda t: h(f(t))


def whole(r: np.random.Generator) -> str | None:
    """None: right."""
    argument = str(r.choice(["time", "time", "s"]))
    text, f = _whole(r, argument, int(r.integers(1, 4)))
    t = (np.arange(CELLS) + 0.5) * STOP / CELLS
    values = f(t)
    jumps = np.flatnonzero(np.abs(np.diff(values)) > 0.1)
    level = float(np.quantile(values, r.uniform(0.2, 0.8))) + 0.0137
    above = values > level
    turns = np.flatnonzero(above[1:] != above[:-1])
    if len(jumps) > 100 or np.abs(values - level).min() == 0 or (len(turns) > 1 and np.diff(turns).min() < 30):
        return None  # nothing that the grid could answer
    at_start = bool(f(np.zeros(1))[0] > level)
    expected = int((~above[:-1] & above[1:]).sum()) + int(above[0] and not at_start)
    model = pliant.load(
        f"model M\n Real x(start=0, fixed=true), z(start=0, fixed=true), s(start=0, fixed=true);\n"
        f" Integer n(start=0, fixed=true);\nequation\n der(s) = 1; der(x) = {text};\n"
        f" der(z) = if {text} > {_number(level)} then 1 else 0;\n"
        f" when {text} > {_number(level)} then n = pre(n) + 1; end when;\nend M;\n"
    )
    final = model.simulate(stop=STOP * (1 - 1e-9), method=str(r.choice(METHODS)), rtol=1e-8).final
    exact = {"x": float(values.mean()) * STOP, "z": float(above.mean()) * STOP, "n": float(expected)}
    room = 2.0 * STOP / CELLS * (len(jumps) + len(turns) + 1) * (1.0 + float(np.ptp(values)))
    wrong = [f"{k} = {final[k]}, exact {v}" for k, v in exact.items() if abs(final[k] - v) > room]
    return f"{text} > {level}: " + ", ".join(wrong) if wrong else None


def _inside(r: np.random.Generator, depth: int) -> Expr:
    """A random function of time, directly or through variables (@), of floor and its kind."""
    if depth == 0:
        a, b = round(float(r.uniform(-4, 4)), 3) or 1.0, round(float(r.uniform(-2, 2)), 3)
        if r.random() < 0.5:
            return f"2.7*sin({_number(a)}*time + {_number(b)})", lambda t: 2.7 * np.sin(a * t + b)
        return f"{_number(a)}*time + {_number(b)}", lambda t: a * t + b
    inner, f = _inside(r, depth - 1)
    c = round(float(r.uniform(0.3, 1.6)), 3) if r.random() < 0.6 else float(r.choice([0.25, 0.5, 1.0, 2.0]))
    forms: tuple[tuple[str, Callable[[Times], Times]], ...] = (
        ("floor({})", np.floor),
        ("integer({})", np.floor),
        (f"mod({{}}, {c})", lambda s: s - np.floor(s / c) * c),
        (f"mod({{}}, {c})", lambda s: s - np.floor(s / c) * c),
        (f"div({{}}, {c})", lambda s: np.trunc(s / c)),
        (f"rem({{}}, {c})", lambda s: s - np.trunc(s / c) * c),
        (f"rem({{}}, {c})", lambda s: s - np.trunc(s / c) * c),
    )
    form, h = forms[int(r.integers(len(forms)))]
    return form.format(f"@({inner})" if r.random() < 0.3 else f"({inner})"), lambda t: h(f(t))


def nested(r: np.random.Generator) -> str | None:
    """Several counters in one model; those are left out whose turns the grid cannot tell apart."""
    t = (np.arange(CELLS) + 0.5) * STOP / CELLS
    texts: list[str] = []
    expected: list[int] = []
    while len(texts) < 6:
        text, f = _inside(r, int(r.integers(2, 5)))
        values = f(t)
        levels = np.unique(np.round(values, 9))
        if len(levels) < 2:
            continue
        k = int(r.integers(len(levels) - 1))
        level = float(0.5 * (levels[k] + levels[k + 1])) if len(levels) < 50 else float(np.quantile(values, r.random()))
        above = values > level
        turns = np.flatnonzero(above[1:] != above[:-1])
        near = len(levels) >= 50 and np.abs(values - level).min() < 1e-9
        if not 0 < len(turns) < 60 or near or min(turns[0], CELLS - turns[-1], *np.diff(turns)) < 30:
            continue
        texts.append(f"{text} > {_number(level)}")
        expected.append(int((~above[:-1] & above[1:]).sum()))
    variables, equations = 0, ""
    counters = ", ".join(f"n{k}(start=0, fixed=true)" for k in range(len(texts)))
    for k, text in enumerate(texts):
        while "@(" in text:  # innermost first
            begin = text.rindex("@(")
            end = next(
                e
                for e in range(begin, len(text))
                if text[begin + 1 : e + 1].count("(") == text[begin + 1 : e + 1].count(")") > 0
            )
            equations += f" v[{variables + 1}] = {text[begin + 1 : end + 1]};\n"
            variables += 1
            text = f"{text[:begin]}v[{variables}]{text[end + 1 :]}"
        equations += f" when {text} then n{k} = pre(n{k}) + 1; end when;\n"
    declared = f" Real v[{variables}];\n" if variables else ""
    model = pliant.load(
        f"model M\n{declared} Integer {counters}; Real x(start=1, fixed=true);\n"
        f"equation\n der(x) = -x;\n{equations}end M;\n"
    )
    final = model.simulate(stop=STOP, method=str(r.choice(METHODS))).final
    wrong = [
        f"{text}: {final[f'n{k}']:g}, exact {count}"
        for k, (text, count) in enumerate(zip(texts, expected, strict=True))
        if final[f"n{k}"] != count
    ]
    return "; ".join(wrong) or None


# ----------------------------------------------------------------------------------------------------- plateaus


def plateau(r: np.random.Generator) -> str | None:
    """y rises to `level` at t = at and stays there, or -y falls."""
    at, level = round(float(r.uniform(0.5, 2.0)), 4), float(r.choice([0.0, 1.0, 0.3, -2.7, 1e-7, 3e5]))
    size = abs(level) or 1.0
    begin = level - size * round(float(r.uniform(0.5, 2.0)), 3)
    declared, equation, inputs = "Real y", "", {}
    slope = (level - begin) / at
    way = str(r.choice(["table", "table end", "function", "min", "max", "abs", "sign", "if"]))
    line = f"({_number(begin)} + {_number(slope)}*w)"
    if way.startswith("table"):
        declared = "input Real y"
        inputs = {"y": ([0.0, at], [begin, level]) if way == "table end" else ([0, at, 9], [begin, level, level])}
    elif way == "function":
        declared, inputs = "input Real y", {"y": lambda t: level if t >= at else begin + slope * t}
    elif way in ("min", "if"):
        limit = f"min({line}, {_number(level)})"
        equation = f"y = {limit};" if way == "min" else f"y = if w < {at} then {line} else {_number(level)};"
    elif way == "max":
        equation = f"y = -max(-{line}, {_number(-level)});"
    elif way == "abs":  # level 0
        begin = level = 0.0
        equation = f"y = (w - {at}) - abs(w - {at});"
    else:
        level = 1.0
        equation = f"y = sign(w - {at});"
    if r.random() < 0.3 and way in ("min", "max", "abs", "if", "sign"):
        equation = equation.replace("w", "time")
    forms = (
        f"y >= {_number(level)}",
        f"not y < {_number(level)}",
        f"-y <= {_number(-level)}",
        f"{_number(level)} <= y",
    )
    condition = str(r.choice(forms))
    model = pliant.load(
        f"model M\n {declared}; Real w(start=0, fixed=true), z(start=0, fixed=true), x(start=1, fixed=true);\n"
        " Integer n(start=0, fixed=true); discrete Real tn(start=-1, fixed=true);\nequation\n"
        f" der(w) = 1; der(x) = -x; der(z) = if {condition} then 1 else 0; {equation}\n"
        f" when {condition} then n = pre(n) + 1; tn = time; end when;\nend M;\n"
    )
    final = model.simulate(stop=STOP, inputs=inputs, method=str(r.choice(METHODS))).final
    exact = {"n": 1.0, "tn": at, "z": STOP - at}
    wrong = [f"{k} = {final[k]}, exact {v}" for k, v in exact.items() if not abs(final[k] - v) < 1e-6]
    return f"{way}, {condition}, {equation}: " + ", ".join(wrong) if wrong else None


# -------------------------------------------------------------------------------------------------------- sizes


def scale(r: np.random.Generator) -> str | None:
    """x = offset + s t."""
    s, at = 10 ** float(r.uniform(-18, 18)), round(float(r.uniform(0.3, 2.5)), 4)
    share = float(r.choice([0.0, 0.0, 1.0, 1e3, 1e6, 1e9])) * float(r.choice([-1, 1]))
    falls = bool(r.random() < 0.3)
    rate, offset = (-s if falls else s), share * s
    sign = str(r.choice(["<", "<="] if falls else [">", ">="]))
    level = offset + rate * at if r.random() < 0.7 else 0.0
    if level == 0.0:
        offset = -rate * at
    model = pliant.load(
        f"model M\n Real x(start={_number(offset)}, fixed=true, nominal={s!r}), z(start=0, fixed=true);\n"
        " Integer n(start=0, fixed=true); discrete Real tn(start=-1, fixed=true);\nequation\n"
        f" der(x) = {_number(rate)}; der(z) = if x {sign} {_number(level)} then 1 else 0;\n"
        f" when x {sign} {_number(level)} then n = pre(n) + 1; tn = time; end when;\nend M;\n"
    )
    final = model.simulate(stop=STOP, method=str(r.choice(METHODS)), rtol=1e-9).final
    room = 1e-9 + 100 * np.finfo(float).eps * (abs(offset) + abs(level)) / s
    exact = {"n": 1.0, "tn": at, "z": STOP - at}
    wrong = [f"{k} = {final[k]}, exact {v}" for k, v in exact.items() if not abs(final[k] - v) < room]
    return f"s {s:g}, offset {offset:g}, {sign} {level:g}: " + ", ".join(wrong) if wrong else None


# ------------------------------------------------------------------------------------------------------ switches


def chopper(r: np.random.Generator) -> str | None:
    """Exact: i' = (u - R i)/L while the switch is on, -R i/L while the diode leads."""
    u, ohm, period = (float(r.uniform(*one)) for one in ((5, 50), (0.5, 5), (0.005, 0.02)))
    henry, duty = ohm * period * float(r.uniform(2, 10)), float(r.uniform(0.2, 0.8))
    cycles, current, kind = 8, float(r.choice([0.0, 1.0])), str(r.choice(["ode", "dae"]))
    exact, rate = current, ohm / henry
    for _ in range(cycles):
        exact = u / ohm + (exact - u / ohm) * math.exp(-rate * duty * period)
        exact *= math.exp(-rate * (1 - duty) * period)
    clock = str(r.choice([f"mod(time, {period!r}) < {duty * period!r}", "pulse"]))
    pulse = (
        ""
        if clock != "pulse"
        else (f" when sample(0, {period!r}) then next = time + {duty * period!r}; end when; pulse = time < next;\n")
    )
    model = pliant.load(
        f"model M\n Real i(start={current!r}, fixed=true), ul, vd, id, sd, isw; Boolean on, off;\n"
        + (" discrete Real next(start=-1, fixed=true); Boolean pulse;\n" if pulse else "")
        + f"equation\n{pulse} on = {clock}; off = sd < 0;\n vd = if off then sd else 0; id = if off then 0 else sd;\n"
        f" 0 = if on then vd + {u!r} else isw;\n i = isw + id; ul = -vd - {ohm!r}*i; {henry!r}*der(i) = ul;\nend M;\n",
        options={"form": kind},
    )
    method = str(r.choice(["auto", "radau5", "bdf"]))
    found = model.simulate(stop=cycles * period * (1 - 1e-10), method=method, rtol=1e-8).final["i"]
    size = u / ohm
    return None if abs(found - exact) < 1e-5 * size else f"{kind} {method} {clock}: i = {found}, exact {exact}"


KINDS = (whole, whole, plateau, scale, chopper, nested)


def check(seed: int) -> Outcome:
    """Make, run, compare."""
    wrong = KINDS[seed % len(KINDS)](np.random.default_rng(seed))
    return Outcome(seed, WRONG if wrong else RIGHT, wrong or "")


FAMILY = Family(
    name="relations",
    what="relations of whole numbers, on plateaus, of extreme sizes, of ideal switches",
    goal="every turn at its time",
    count=300,
    part=2,
    check=check,
)
