"""Attributes, and parameters that name each other.

Attributes: start, nominal, min or max of a variable as a random expression. Over parameters and constants it must have
its value; if it reads anything that moves (states, inputs, der, time, discrete variables, elements of arrays, in
branches and calls, itself) the model is refused by a ModelError that names the variable. A case runs in a process of
its own: a crash is an outcome, not the end.

Parameters: random `if`-expressions in which most branches are not taken. The values that Modelica's rules give are
known from evaluating them lazily here; a circle through taken branches must be refused.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import numpy as np

import pliant
from families import FAILED, RIGHT, WRONG, Family, Outcome

CONTEXT = multiprocessing.get_context("fork" if "fork" in multiprocessing.get_all_start_methods() else "spawn")
PARAMETERS = {"p": 2.0, "q": -1.5, "c": 0.25, "v_p[2]": 3.0}
MOVING = ("x", "u", "a", "d", "w[1]", "der(x)", "time", "y")
HEAD = """  function f
    input Real s; output Real r;
  algorithm
    r := s;
    for i in 1:2 loop r := r + s; end for;
  end f;
  parameter Real p = 2, q = -1.5;
  constant Real c = 0.25;
  parameter Real v_p[2] = {1, 3};
  input Real u;
  Real x(start = 1, fixed = true), a;
  discrete Real d(start = 1);
  Real w[2](each start = 1, each fixed = true);
"""
TAIL = """equation
  der(x) = -x;  a = 2*x;  der(w) = -w;  der(y) = u + d - y;
  when time > 0.5 then d = pre(d) + 1; end when;
"""


def _expression(chance: np.random.Generator, depth: int, leaves: list[str]) -> tuple[str, float]:
    """A text and its value; NaN as soon as it reads something that moves."""
    if depth == 0 or chance.random() < 0.2:
        leaf = str(chance.choice(leaves))
        if leaf in MOVING:
            return leaf, float("nan")
        number = float(np.round(chance.uniform(-3.0, 3.0), 2))
        return (f"({number!r})", number) if leaf == "number" else (leaf, PARAMETERS[leaf])
    a, x = _expression(chance, depth - 1, leaves)
    b, y = _expression(chance, depth - 1, leaves)
    kind = int(chance.integers(7)) if a != b else 0  # x - x would be 0, which does not move
    if kind == 0:
        return f"({a} + {b})", x + y
    if kind == 1:
        return f"({a} - {b})", x - y
    if kind == 2:
        return f"({a}*{b})", x * y
    if kind == 3:
        return f"sin({a})", float(np.sin(x))
    if kind == 4:
        return f"f({a})", 3.0 * x
    if kind == 5:
        return f"max({a}, {b})", float(np.maximum(x, y))
    return f"(if {a} < {b} then {a} else {b})", float(np.minimum(x, y))


def _run(text: str, answer: Connection) -> None:
    try:
        result = pliant.load(text).simulate(stop=0.1, points=2, inputs={"u": 1.0})
        answer.send(("value", repr(float(result["y"][0]))))
    except pliant.ModelError as error:
        answer.send(("refused", str(error)))
    except Exception as error:
        answer.send(("other", f"{type(error).__name__}: {error}"))


def _apart(text: str) -> tuple[int | None, tuple[str, str]]:
    """Exit code and answer of a process that loads and runs a model."""
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_run, args=(text, there))
    process.start()
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        answer = ("", "")
    process.join()
    return process.exitcode, answer


def _attribute(seed: int, chance: np.random.Generator) -> Outcome:
    moves = bool(chance.random() < 0.6)
    leaves = [*PARAMETERS, "number", *(MOVING if moves else ())]
    text, value = _expression(chance, 3, leaves)
    attribute = str(chance.choice(["start", "nominal", "min", "max"]))
    if attribute != "start" and not moves:
        attribute = "start"  # bounds are only a matter of being refused here
    model = f"model M\n{HEAD}  Real y({attribute} = {text});\n{TAIL}end M;\n"
    code, (word, rest) = _apart(model)
    shown = f"{attribute} = {text}: {word} {rest}"
    if code != 0:
        return Outcome(seed, WRONG, f"exit code {code}, {shown}")
    if np.isnan(value):
        fits = word == "refused" and "`y`" in rest and attribute in rest and "model.mo:" in rest
        return Outcome(seed, RIGHT if fits else WRONG, shown)
    if attribute != "start":
        return Outcome(seed, RIGHT if word != "refused" else WRONG, shown)
    fits = word == "value" and abs(float(rest) - value) <= 1e-12 * max(1.0, abs(value))
    return Outcome(seed, RIGHT if fits else WRONG if word == "value" else FAILED, f"{shown}, exact {value!r}")


# --------------------------------------------------------------------------- parameters that name each other


class Circle(Exception):
    """A parameter needs itself."""


@dataclass
class Parameters:
    """`parameter Real a = if condition then ... else ...`, evaluated lazily."""

    conditions: dict[str, bool]
    branches: dict[str, tuple[str, list[str], float, list[str], float]] = field(default_factory=dict)

    def value(self, name: str, above: tuple[str, ...] = ()) -> float:
        if name in above:
            raise Circle
        condition, first, a, second, b = self.branches[name]
        names, number = (first, a) if self.conditions[condition] else (second, b)
        return number + sum(0.5 * self.value(other, (*above, name)) for other in names)


def _circular(seed: int, chance: np.random.Generator) -> Outcome:
    conditions = {
        "b1": bool(chance.random() < 0.5),
        "b2": bool(chance.random() < 0.5),
        "n == 2": bool(chance.random() < 0.5),
        "t > 0": bool(chance.random() < 0.5),
        "k == K.one": bool(chance.random() < 0.5),
    }
    found = Parameters(conditions)
    names = [f"a{i}" for i in range(int(chance.integers(2, 7)))]
    for i, name in enumerate(names):
        condition = str(chance.choice(list(conditions)))
        earlier, others = names[:i], [one for one in names if one != name]
        taken = [str(one) for one in earlier if chance.random() < 0.5]
        if chance.random() < 0.08:
            taken = [str(chance.choice(others))]  # perhaps a circle
        idle = [str(one) for one in others if chance.random() < 0.5]
        first, second = (taken, idle) if conditions[condition] else (idle, taken)
        a, b = (float(np.round(one, 2)) for one in chance.uniform(0.0, 3.0, 2))
        found.branches[name] = (condition, first, a, second, b)
    lines = [
        "  type K = enumeration(one, two);",
        f"  parameter Boolean b1 = {str(conditions['b1']).lower()}, b2 = {str(conditions['b2']).lower()};",
        f"  parameter Integer n = {2 if conditions['n == 2'] else 1};",
        f"  parameter Real t = {0.5 if conditions['t > 0'] else -0.5};",
        f"  parameter K k = {'K.one' if conditions['k == K.one'] else 'K.two'};",
    ]
    for name in chance.permutation(names).tolist():
        condition, first, a, second, b = found.branches[name]
        sides = [
            " + ".join([repr(number), *(f"0.5*{one}" for one in own)]) for number, own in ((a, first), (b, second))
        ]
        lines.append(f"  parameter Real {name} = if {condition} then {sides[0]} else {sides[1]};")
    text = "\n".join(
        ["model M", *lines, "  Real x(start = 1, fixed = true);", "equation", "  der(x) = -x;", "end M;\n"]
    )
    try:
        exact = {name: found.value(name) for name in names}
    except Circle:
        exact = {}
    try:
        result = pliant.load(text).simulate(stop=0.1, points=2)
    except pliant.ModelError as error:
        fits = not exact and "depend" in str(error)
        return Outcome(seed, RIGHT if fits else FAILED, f"circle: {bool(not exact)}: {error}")
    wrong = [
        f"{name} = {result[name][0]!r}, exact {value!r}"
        for name, value in exact.items()
        if abs(result[name][0] - value) > 1e-12 * abs(value)
    ]
    return Outcome(seed, WRONG if wrong or not exact else RIGHT, "; ".join(wrong) or "a circle was accepted")


def check(seed: int) -> Outcome:
    """One model: two thirds of them about attributes."""
    chance = np.random.default_rng([13, 10, seed])
    return _circular(seed, chance) if seed % 3 == 2 else _attribute(seed, chance)


FAMILY = Family(
    name="attributes",
    what="attributes as expressions of anything; parameters that name each other in branches not taken",
    goal="all right, no crash",
    count=300,
    part=3,
    check=check,
)
