"""Initialisation problems with known answers.

Unknowns: parameters with fixed=false, states, discrete Reals. Their values z are drawn first, then initial equations

    A g(z) = b,   g(z) = z, or z + z^3 / 5 s^2 with the size s of z

with a regular A (dense, or a chain) are written down over them, and over algebraic variables and derivatives that are
linear in the states. As g grows in every component and A is regular, z is the only answer. Variants:

    right         nothing else
    redundant     one more equation, a combination of the others: the same answer
    inconsistent  the same with another right side: InitialValueError
    open          one equation less: what the null space of A does not touch has its value, the rest is named
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome

TOLERANCE = 1e-6
VARIANTS = ("right", "right", "redundant", "inconsistent", "open")


@dataclass
class Unknown:
    """One scalar: its name in equations, its value, whether it is iterated on."""

    name: str
    value: float
    size: float
    cubic: bool = False


@dataclass
class Problem:
    """A Modelica text and what must come out."""

    text: str
    variant: str
    values: dict[str, float]  # what must have which value
    undetermined: set[str]


def _number(chance: np.random.Generator) -> float:
    return float(np.round(chance.uniform(0.3, 3.0) * chance.choice([-1.0, 1.0]), 2))


def _matrix(chance: np.random.Generator, n: int) -> np.ndarray:
    """Regular; a chain in random order half of the time."""
    while True:
        a = np.round(chance.uniform(-3.0, 3.0, (n, n)), 2) * (chance.random((n, n)) < 0.6)
        if chance.random() < 0.5:
            a = np.tril(a, -1) * (chance.random((n, n)) < 0.5) + np.diag([_number(chance) for _ in range(n)])
            a = a[chance.permutation(n)][:, chance.permutation(n)]
        if np.all(np.any(a, axis=1)) and np.linalg.cond(a) < 200.0:
            return a


def _literal(value: float) -> str:
    return repr(value) if value >= 0.0 else f"({value!r})"


class Writer:
    """One random model."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng([13, 5, seed])
        self.variant = str(self.chance.choice(VARIANTS))
        self.declarations: list[str] = []
        self.equations: list[str] = []
        self.initial: list[str] = []
        self.known: dict[str, float] = {}
        self.open: set[str] = set()
        self.unknown: list[Unknown] = []
        self.forms: dict[str, list[str]] = {}  # name -> other ways to write it
        self.derived: dict[str, list[str]] = {}  # name -> variables that follow from it

    def problem(self) -> Problem:
        chance = self.chance
        n_p, n_x, n_d = int(chance.integers(0, 5)), int(chance.integers(1, 4)), int(chance.integers(0, 3))
        self._parameters(n_p)
        self._states(n_x)
        self._discrete(n_d)
        self._fixed_by_parameter()
        self._whole()
        if self.unknown:
            undetermined = self._conditions()
        else:
            self.variant, undetermined = "right", set()
        chance.shuffle(self.initial)
        parts = [*self.declarations, "initial equation" if self.initial else "", *self.initial]
        text = "\n".join(["model M", *parts, "equation", *self.equations, "end M;\n"])
        values = {one.name: one.value for one in self.unknown if one.name not in self.open}
        for name in self.open:
            for derived in self.derived.get(name, []):
                self.known.pop(derived)
        return Problem(text, self.variant, values | self.known, undetermined)

    # ------------------------------------------------------------------------------------- variables

    def _new(self, name: str, *, power: int = 0) -> Unknown:
        size = 10.0**power
        one = Unknown(name, _number(self.chance) * size, size, bool(self.chance.random() < 0.3))
        self.unknown.append(one)
        return one

    def _guess(self, one: Unknown) -> str:
        return repr(one.value * float(np.round(self.chance.uniform(0.6, 1.6), 2)))

    def _parameters(self, n: int) -> None:
        chance = self.chance
        if n >= 2 and chance.random() < 0.3:
            own = [self._new(f"k[{i}]", power=int(chance.integers(-6, 7))) for i in range(1, n + 1)]
            self.declarations.append(
                f"  parameter Real k[{n}](start = {{{', '.join(map(self._guess, own))}}}, each fixed = false);"
            )
            return
        for i in range(n):
            one = self._new(f"k{i}", power=int(chance.integers(-6, 7)))
            self.declarations.append(f"  parameter Real {one.name}(start = {self._guess(one)}, fixed = false);")
            if chance.random() < 0.3:  # read through a parameter that is computed from it
                self.declarations.append(f"  parameter Real twice_{one.name} = 2*{one.name};")
                self.known[f"twice_{one.name}"] = 2.0 * one.value
                self.derived[one.name] = [f"twice_{one.name}"]
                self.forms[one.name] = [f"0.5*twice_{one.name}"]

    def _states(self, n: int) -> None:
        chance = self.chance
        for i in range(n):
            name = f"x{i}"
            offset = _number(chance)
            if chance.random() < 0.3:
                value = _number(chance)
                self.declarations.append(f"  Real {name}(start = {value!r}, fixed = true);")
                self.known[name] = value
            else:
                one = self._new(name)
                self.declarations.append(f"  Real {name}(start = {self._guess(one)});")
                value = one.value
            self.equations.append(f"  der({name}) = {_literal(offset)} - 2*{name};")
            forms = [f"0.5*({_literal(offset)} - der({name}))"]
            if chance.random() < 0.5:
                slope = _number(chance)
                self.declarations.append(f"  Real a{i};")
                self.equations.append(f"  a{i} = {_literal(slope)}*{name} + {_literal(offset)};")
                self.known[f"a{i}"] = slope * value + offset
                self.derived[name] = [f"a{i}"]
                forms.append(f"(a{i} - {_literal(offset)})/{_literal(slope)}")
            self.forms[name] = forms

    def _discrete(self, n: int) -> None:
        for i in range(n):
            one = self._new(f"d{i}")
            self.declarations.append(f"  discrete Real {one.name}(start = {self._guess(one)});")
            self.equations.append(f"  when time > 0.5 then {one.name} = pre({one.name}) + 1; end when;")
            self.forms[one.name] = [f"pre({one.name})"]

    def _fixed_by_parameter(self) -> None:
        """A fixed start value that the initial equations determine."""
        own = [one for one in self.unknown if one.name.startswith("k")]
        if not own or self.chance.random() < 0.5:
            return
        one = own[int(self.chance.integers(len(own)))]
        self.declarations.append(f"  Real y(start = {one.name}, fixed = true, nominal = {one.size!r});")
        self.equations.append("  der(y) = -y;")
        self.forms.setdefault(one.name, []).append("y")
        self.known["y"] = one.value
        self.derived.setdefault(one.name, []).append("y")

    def _whole(self) -> None:
        """Integer and Boolean parameters: set by an equation of their own."""
        chance = self.chance
        if chance.random() < 0.3:
            value = int(chance.integers(-5, 6))
            self.declarations.append("  parameter Integer n(start = 7, fixed = false), m = 2;")
            self.initial.append(f"  n = {value - 2} + m;")
            self.known["n"] = value
        if chance.random() < 0.3 and self.known.get("x0") is not None:
            above = bool(chance.random() < 0.5)
            limit = self.known["x0"] + (-0.5 if above else 0.5)
            self.declarations.append(f"  parameter Boolean b(start = {str(not above).lower()}, fixed = false);")
            self.initial.append(f"  b = x0 > {limit!r};")
            self.known["b"] = float(above)

    # ------------------------------------------------------------------------------------ conditions

    def _conditions(self) -> set[str]:
        """The equations, and which unknowns they leave open."""
        chance, unknown = self.chance, self.unknown
        a = _matrix(chance, len(unknown))
        if self.variant in ("redundant", "inconsistent"):
            row = np.round(chance.uniform(-1.0, 1.0, len(a)), 1)
            row[int(chance.integers(len(a)))] += 1.5
            a = np.vstack([a, row @ a])
        if self.variant == "open":
            a = np.delete(a, int(chance.integers(len(a))), axis=0)
        for k, row in enumerate(a):
            is_last = k == len(a) - 1
            self._equation(row, 0.5 if self.variant == "inconsistent" and is_last else 0.0)
        if self.variant != "open":
            return set()
        null = np.linalg.svd(a)[2][-1]
        self.open = {one.name for one, entry in zip(unknown, null, strict=True) if abs(entry) > 1e-6}
        read = np.any(a, axis=0)  # discrete variables that no equation reads simply keep their start values
        return {one.name for k, one in enumerate(unknown) if one.name in self.open and (read[k] or one.name[0] != "d")}

    def _equation(self, row: np.ndarray, offset: float) -> None:
        """sum_j row_j g(z_j) / s_j = b, its terms on both sides."""
        chance = self.chance
        sides: tuple[list[str], list[str]] = ([], [])
        total = largest = 0.0
        for coefficient, one in zip(row.tolist(), self.unknown, strict=True):
            if coefficient == 0.0:
                continue
            z = one.value / one.size
            value = z + z**3 / 5.0 if one.cubic else z
            total += coefficient * value
            largest = max(largest, abs(coefficient * value))
            name = one.name
            if self.forms.get(name) and chance.random() < 0.3:
                name = str(chance.choice(self.forms[name]))
            shown = f"({name})/{one.size!r}"
            if one.cubic:
                shown = f"({shown} + ({shown})^3/5)"
            side = int(chance.random() < 0.3)
            sides[side].append(f"({(-coefficient if side else coefficient)!r})*{shown}")
        sides[1].append(_literal(total + offset * largest))
        left, right = (" + ".join(side) or "0" for side in sides)
        self.initial.append(f"  {left} = {right};" if chance.random() < 0.7 else f"  0 = ({right}) - ({left});")


def _differences(problem: Problem, result: pliant.Result) -> Iterator[str]:
    for name, value in problem.values.items():
        found = float(result[name][0])
        if abs(found - value) > TOLERANCE * max(abs(value), 1e-3 if name[0] in "axd" else 0.0):
            yield f"{name} = {found!r}, exact {value!r}"


def check(seed: int) -> Outcome:
    """One problem."""
    problem = Writer(seed).problem()
    model = pliant.load(problem.text)
    try:
        result = model.simulate(stop=0.1, points=2)
    except pliant.InitialValueError:
        if problem.variant == "inconsistent":
            return Outcome(seed, RIGHT)
        raise
    if problem.variant == "inconsistent":
        return Outcome(seed, WRONG, "a contradiction was accepted")
    wrong = list(_differences(problem, result))
    assert model.last_start is not None
    named = {name for name in model.last_start.undetermined if name != "y"}
    if named != problem.undetermined:
        wrong.append(f"undetermined: {sorted(named)}, exact {sorted(problem.undetermined)}")
    if problem.variant == "redundant" and not model.last_start.redundant:
        wrong.append("the redundant equation is not named")
    return Outcome(seed, WRONG if wrong else RIGHT, f"{problem.variant}: " + "; ".join(wrong))


FAMILY = Family(
    name="initial",
    what="random initial equations over parameters, states, derivatives, algebraic and discrete variables",
    goal="all right",
    count=400,
    part=2,
    check=check,
)
