"""Guarded expressions at their crossing: branches that are not defined beyond the relation that guards them.

A level s(t) with known course meets zero, `if s > 0 then h(s) else e` is integrated, directly, through a variable, a
nonlinear loop or a loop whose own unknown is guarded. The answer is a quadrature of the exact course, or a closed
formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq

import pliant
from families import FAILED, RIGHT, WRONG, Family, Outcome

LIMIT = 100.0  # tolerances; BDF at a square root alone is wrong by up to 50, far from the crossing too
TIGHT = 1e-8  # relative tolerance below which a multistep method gathers more
GATHERED = 3.0  # ... at a logarithm, without any guard, CVODE is wrong by 313 tolerances (rtol 1.2e-9, seed 301)
STOP = 2.0


@dataclass(frozen=True)
class Course:
    """A course of the level: declarations, equations, its function of time, and where it crosses zero."""

    declare: str
    equations: str
    level: str  # in the model
    value: Callable[[float, float, float], float]  # of t, a, b
    crossings: Callable[[float, float], list[float]]


# a: when it crosses first; b: how fast
COURSES = (
    Course(
        "Real x(start=a*b, fixed=true);",
        "der(x) = -b;",
        "x",
        lambda t, a, b: b * (a - t),
        lambda a, b: [a],
    ),
    Course("", "", "(b*(a-time))", lambda t, a, b: b * (a - t), lambda a, b: [a]),
    Course(
        "Real x(start=exp(b*a)-1, fixed=true);",
        "der(x) = -b*(x+1);",
        "x",
        lambda t, a, b: np.exp(b * (a - t)) - 1,
        lambda a, b: [a],
    ),
    Course(
        "Real x(start=b*a^2, fixed=true); Real dx(start=0, fixed=true);",
        "der(x) = dx; der(dx) = -2*b;",
        "x",
        lambda t, a, b: b * (a * a - t * t),
        lambda a, b: [a],
    ),
    Course(  # in and out again
        "Real x(start=cos(0), fixed=true); Real dx(start=0, fixed=true); parameter Real om=1.5707963267948966/a;",
        "der(x) = dx; der(dx) = -om^2*x;",
        "x",
        lambda t, a, b: np.cos(0.5 * np.pi * t / a),
        lambda a, b: [a * (2 * k + 1) for k in range(100) if a * (2 * k + 1) < STOP],
    ),
    Course(  # through an alias and its negative
        "Real x(start=b*a+1, fixed=true); Real n; Real m;",
        "der(x) = -b; n = -x; m = n + 1;",
        "(-m)",
        lambda t, a, b: b * (a - t),
        lambda a, b: [a],
    ),
    Course(  # far from zero, badly scaled
        "Real x(start=1e5+1e4*b*a, fixed=true, nominal=1e5);",
        "der(x) = -1e4*b;",
        "(1e-4*(x-1e5))",
        lambda t, a, b: b * (a - t),
        lambda a, b: [a],
    ),
)

GUARDED = (
    ("sqrt(s)", np.sqrt),
    ("s^0.5", np.sqrt),
    ("s^1.5", lambda s: s**1.5),
    ("(if s>1e-300 then s*log(s) else 0)", lambda s: s * np.log(s) if s > 0 else 0.0),
    ("log(s+1e-4)", lambda s: np.log(s + 1e-4)),
    ("asin(1-s)", lambda s: np.arcsin(max(1 - s, -1))),
    ("acos(1-s)", lambda s: np.arccos(max(1 - s, -1))),
    ("1/(s+1e-2)", lambda s: 1 / (s + 1e-2)),
    ("sqrt(s)*log(s+1e-3)", lambda s: np.sqrt(s) * np.log(s + 1e-3)),
    ("sqrt(s)/(1+s)", lambda s: np.sqrt(s) / (1 + s)),
    ("exp(-sqrt(s))", lambda s: np.exp(-np.sqrt(s))),
)

RELATIONS = (
    "if s>0 then h else e",
    "if s>=0 then h else e",
    "if 0<s then h else e",
    "if s<0 then e else h",
    "if not s>0 then e else h",
    "if s>0 and time>-1 then h else e",
    "if s>0 then (if s>0.1 then h else h) else e",
    "if s>0 then (if s<1e6 then h else 0) elseif s<-1e6 then 0 else e",
)

PLACES = ("derivative", "variable", "loop", "unknown", "feedback")
METHODS = (("bdf", 3), ("radau5", 3), ("auto", 2), ("dopri5", 3), ("rk4", 1), ("lieuler", 1))


@dataclass(frozen=True)
class Case:
    """One model, one run, and what z must be at `times`."""

    text: str
    parameters: dict[str, float]
    run: dict[str, object]
    form: str
    times: np.ndarray
    answer: np.ndarray


def make(seed: int) -> Case:
    """A case."""
    r = np.random.default_rng(seed)
    course = COURSES[r.integers(len(COURSES))]
    text_h, h = GUARDED[r.integers(len(GUARDED))]
    place = str(r.choice(PLACES, p=(0.25, 0.3, 0.2, 0.15, 0.1)))
    relation = RELATIONS[r.integers(len(RELATIONS))]
    a, b, e = r.uniform(0.2, 1.8), 10 ** r.uniform(-0.5, 0.7), float(r.choice([0.0, -0.7, 1.3]))
    c = 10 ** r.uniform(-1, 1)
    if "(1-s)" in text_h:
        b = min(b, 1.9 / a) if course is not COURSES[2] else min(b, np.log(2.9) / a)
        b = min(b, 1.9 / a**2)
    method = str(
        r.choice([name for name, _ in METHODS], p=np.array([n for _, n in METHODS]) / sum(n for _, n in METHODS))
    )
    form = "dae" if method in ("bdf", "radau5", "auto") and r.random() < 0.4 else "ode"
    rtol = 10 ** r.uniform(-9, -4)
    if place == "unknown":  # q guarded by the loop's own unknown: v + c q = s
        text_h, h, relation, e = "sqrt(s)", np.sqrt, RELATIONS[r.integers(4)], 0.0
    if place == "feedback":
        course, text_h, h, relation = COURSES[0], "sqrt(s)", np.sqrt, RELATIONS[r.integers(4)]
        e = max(e, 0.0)  # or x would slide along the crossing
    level = "v" if place == "unknown" else course.level
    words = _put("s", level, _put("h", text_h, relation))
    equations, declare = course.equations, course.declare
    if place == "derivative":
        equations += f"der(z) = {words};"
    elif place == "variable":
        declare += "Real y;"
        equations += f"y = {words}; der(z) = y;"
    elif place == "loop":
        declare += "Real y; Real w(start=0.5);"
        equations += f"y = {words}; w + c*w^3 = y + 0.1*sin(w); der(z) = w;"
    elif place == "unknown":
        declare += "Real v(start=1); Real q(start=1);"
        equations += f"v + c*q = {course.level}; q = {words}; der(z) = q;"
    else:
        declare += "Real y;"
        equations = f"der(x) = -b*(1+c*y); y = {words}; der(z) = y;"
    text = (
        f"model M\n parameter Real a=1; parameter Real b=1; parameter Real c=1; parameter Real e=0;\n"
        f" {declare}\n Real z(start=0, fixed=true);\nequation\n {equations}\nend M;\n"
    )
    times = np.unique(np.r_[np.linspace(0, STOP, 41), a if r.random() < 0.5 else STOP])
    run: dict[str, object] = {"stop": STOP, "method": method, "rtol": rtol, "points": times}
    if method in ("rk4", "lieuler"):
        run |= {"step": 1e-3, "rtol": 1e-6}
    answer = _feedback(a, b, c, e, times) if place == "feedback" else _answer(course, h, place, (a, b, c, e), times)
    return Case(text, {"a": a, "b": b, "c": c, "e": e}, run, form, times, answer)


def _put(word: str, value: str, text: str) -> str:
    return re.sub(rf"\b{word}\b", lambda _: value, text)


def _answer(
    course: Course, h: Callable[[float], float], place: str, p: tuple[float, ...], times: np.ndarray
) -> np.ndarray:
    a, b, c, e = p

    def integrand(t: float, inside: bool) -> float:
        s = course.value(t, a, b)
        if place == "unknown":  # q^2 + c q = s
            return (-c + np.sqrt(c * c + 4 * max(s, 0.0))) / 2 if inside else 0.0
        y = float(h(max(s, 0.0))) if inside else e
        if place != "loop":
            return y
        return float(brentq(lambda w: w + c * w**3 - y - 0.1 * np.sin(w), -50, 50, xtol=1e-14, rtol=1e-14))

    crossings = course.crossings(a, b)
    knots = np.unique(np.r_[times, crossings])
    total, values = 0.0, {0.0: 0.0}
    for begin, end in pairwise(knots):
        inside = course.value(0.5 * (begin + end), a, b) > 0
        ends = [t for t in (begin, end) if any(abs(t - one) < 1e-12 for one in crossings)]
        total += _part(lambda t, inside=inside: integrand(t, inside), begin, end, ends)
        values[end] = total
    return np.array([values[t] for t in times])


def _part(f: Callable[[float], float], begin: float, end: float, singular: list[float]) -> float:
    """The integral, square roots at the ends taken out by t = end -+ q^4."""
    if not singular:
        return float(quad(f, begin, end, epsabs=1e-13, epsrel=1e-12)[0])
    middle, total = 0.5 * (begin + end), 0.0
    for edge, way in ((begin, 1.0), (end, -1.0)):
        top = (middle - begin) ** 0.25
        total += quad(
            lambda q, edge=edge, way=way: f(edge + way * q**4) * 4 * q**3, 0, top, epsabs=1e-13, epsrel=1e-12
        )[0]
    return float(total)


def _feedback(a: float, b: float, c: float, e: float, times: np.ndarray) -> np.ndarray:
    """x' = -b (1 + c sqrt(x)): t(q) with x = q^2 is known, and z follows from x, because x' = -b (1 + c z')."""
    q0 = np.sqrt(a * b)

    def elapsed(q: float) -> float:  # 2/(b c) (q0 - q - log((1 + c q0)/(1 + c q))/c)
        return 2 / (b * c) * (q0 - q - np.log((1 + c * q0) / (1 + c * q)) / c)

    t_cross = elapsed(0.0)
    out = []
    for t in times:
        if t < t_cross:
            q = brentq(lambda q, t=t: elapsed(q) - t, 0.0, q0 + 1e-12, xtol=1e-15, rtol=1e-14) if t > 0 else q0
            out.append(((a * b - q * q) / b - t) / c)
        else:
            out.append((a - t_cross) / c + e * (t - t_cross))
    return np.array(out)


def check(seed: int) -> Outcome:
    """Make, run, compare."""
    case = make(seed)
    model = pliant.load(case.text, options={"form": case.form})
    what = f"{case.run['method']} {case.form} rtol {case.run['rtol']:.1e} {case.parameters} {case.text}"
    try:
        result = model.simulate(parameters=case.parameters, outputs=["z"], **case.run)  # type: ignore[arg-type]
    except pliant.PliantError as error:
        return Outcome(seed, FAILED, f"{error}\n{what}")
    rtol = float(case.run["rtol"])  # type: ignore[arg-type]
    if case.run["method"] in ("rk4", "lieuler"):  # what a fixed step can do
        rtol = 5e-4 if case.run["method"] == "lieuler" else 1e-6
    at = np.searchsorted(result.time, case.times)
    if len(result.time) != len(case.times) or not np.array_equal(result.time[at], case.times):
        return Outcome(seed, WRONG, f"rows at {result.time}\n{what}")
    error = np.abs(result["z"] - case.answer).max() / (rtol * (np.abs(case.answer).max() + 1.0))
    multistep = case.run["method"] in ("bdf", "auto") and rtol < TIGHT
    verdict = RIGHT if error <= LIMIT * (GATHERED if multistep else 1.0) else WRONG
    return Outcome(seed, verdict, f"wrong by {error:.3g} tolerances\n{what}", float(error))


FAMILY = Family(
    name="guards",
    what="guarded expressions at their crossing",
    goal="all end, within tolerance",
    count=500,
    part=2,
    check=check,
)
