"""Random DAEs of index 1 to 3 with known solution.

Every variable gets a smooth function of time; every equation is random, and a forcing term, a function of time alone,
makes these functions its solution. Parts:

    ode       der(x) = -k x + couplings
    loops     linear and nonlinear algebraic equations, diagonally dominant, or products of two unknowns
    index 2   der(x) = f + G' z with m constraints c(x) = c(x(t)), G = dc/dx; also time-varying linear ones
    index 3   der(q) = S v + a(t), der(v) = f + G' z, c(q) = c(q(t)); S = 1 and a = 0 (alias), or not
    servo     q follows a function of time, the force is unknown

Constraints are circles and spheres on which the solution goes round, so that every pivot vanishes on the way, curves of
squares, exponentials, logarithms and products, and sums of them that share variables. Terms of constraints may be
variables of their own, equations of one kind are mixed, all are shuffled. The Jacobian of the constraints stays well
conditioned along the solution (singular values); springs and friction, which pull to the solution, outweigh what
forces that are functions of time do to a deviation on a curved constraint, so that errors do not grow. Fixed start
values are as many as degrees of freedom, on well conditioned coordinates, or none; the others start exactly or nearly.

Several cases share one text and one compilation. An error counts in tolerance units, |x - x(t)| / (rtol max|x| + atol);
max|x| of coordinates is multiplied by the condition of G along the solution, for the unknown forces z it is the size of
what they balance, times the norm of (G G')^-1 G. Nor may an error be larger than a fifth of that size.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

import pliant
from families import FAILED, RIGHT, WRONG, Family, Outcome

BATCH = 4  # cases of one text
STOP = 4.0
WORST = 1000.0  # tolerance units
GROSS = 0.2  # of the size of a variable: an error for which no tolerance is an excuse
GRID = np.linspace(0.0, STOP, 161)
Vector = NDArray[np.float64]


@dataclass
class Known:
    """A function of time as Modelica text, with two derivatives."""

    text: str
    d: str
    dd: str


@dataclass
class Case:
    """Declarations and equations of one case, and the solution."""

    tag: str
    rng: np.random.Generator
    solution: dict[str, str] = field(default_factory=dict)  # name -> text
    starts: dict[str, str] = field(default_factory=dict)  # name -> attributes
    equations: dict[str, list[str]] = field(default_factory=dict)  # kind -> residuals
    kind: str = ""
    scale: dict[str, float] = field(default_factory=dict)  # sizes of what unknown forces balance
    loose: set[str] = field(default_factory=set)  # variables of parts that nothing fixes at the start

    def new(self, known: str) -> str:
        """A variable with this solution."""
        letters = "abcdefghijklmnopqrstuvwxyz"
        name = "".join(self.rng.choice(list(letters), 2)) + f"{len(self.solution)}_{self.tag}"
        self.solution[name] = known
        return name

    def at_solution(self, text: str) -> str:
        """The text with functions of time in the place of variables."""
        return re.sub(r"\b[a-z]{2}\d+_\w+", lambda one: f"({self.solution[one.group()]})", text)

    def require(self, kind: str, residual: str, rate: str = "", known: str = "") -> None:
        """residual = 0 on the solution; ``rate`` is a term with der(), whose value there is ``known``."""
        forcing = self.at_solution(residual)
        whole = f"({residual}) - ({forcing})"
        if rate:
            whole = f"{rate} - ({known}) + {whole}"
        self.equations.setdefault(kind, []).append(whole)

    def number(self, low: float, high: float) -> float:
        """A random number, rounded so that texts are short."""
        return round(float(self.rng.uniform(low, high)), 3)

    def sign(self) -> int:
        """1 or -1."""
        return int(self.rng.choice([-1, 1]))


def value(text: str, t: Vector | float) -> Vector:
    """Numbers of a text of time."""
    names = {name: getattr(np, name) for name in ("sin", "cos", "exp", "log", "tanh", "sqrt")}
    names |= {"atan": np.arctan, "time": np.asarray(t, dtype=float)}
    found = eval(text.replace("^", "**"), {"__builtins__": {}}, names)
    return np.broadcast_to(np.asarray(found, dtype=float), np.shape(t)).copy()


def largest(texts: Iterable[str]) -> float:
    """Largest size of some functions of time."""
    return max(float(np.abs(value(one, GRID)).max()) for one in texts)


# ------------------------------------------------------------------------------------------------ functions


def wave(case: Case, low: float = -1.0, high: float = 1.0) -> Known:
    """A sine between two bounds."""
    middle, size = (low + high) / 2, round((high - low) / 2 * float(case.rng.uniform(0.5, 1.0)), 3)
    w, p = case.number(0.5, 3.0), case.number(0.0, 6.0)
    inner = f"({w}*time + {p})"
    return Known(f"{middle} + {size}*sin{inner}", f"{size}*{w}*cos{inner}", f"-{size}*{w}^2*sin{inner}")


def angle(case: Case) -> Known:
    """Going round, or to and fro."""
    if case.rng.random() < 0.5:
        w, p, s, v = case.number(0.8, 3.0) * case.sign(), case.number(0.0, 6.0), case.number(0.0, 0.6), 1.7
        return Known(f"{p} + {w}*time + {s}*sin({v}*time)", f"{w} + {s}*{v}*cos({v}*time)", f"-{s}*{v}^2*sin({v}*time)")
    size = case.number(1.0, 2.5)
    w, p = case.number(0.4, 3.0 / size), case.number(-3.0, 3.0)
    return Known(
        f"{p} + {size}*sin({w}*time + {p})", f"{size}*{w}*cos({w}*time + {p})", f"-{size}*{w}^2*sin({w}*time + {p})"
    )


def on_circle(case: Case, r: float) -> list[Known]:
    """Two functions with x^2 + y^2 = r^2."""
    a = angle(case)
    s, c = f"sin({a.text})", f"cos({a.text})"
    return [
        Known(f"{r}*{c}", f"-{r}*{s}*({a.d})", f"-{r}*{c}*({a.d})^2 - {r}*{s}*({a.dd})"),
        Known(f"{r}*{s}", f"{r}*{c}*({a.d})", f"-{r}*{s}*({a.d})^2 + {r}*{c}*({a.dd})"),
    ]


UNARY = [  # text, derivative
    ("{0}^2", "2*{0}"),
    ("{0}", "1"),
    ("{0}^3", "3*{0}^2"),
    ("sin({0})", "cos({0})"),
    ("exp(0.5*{0})", "0.5*exp(0.5*{0})"),
    ("log(3 + {0}^2)", "2*{0}/(3 + {0}^2)"),
    ("atan({0})", "1/(1 + {0}^2)"),
    ("cos(2*{0})", "-2*sin(2*{0})"),
]


@dataclass
class Constraint:
    """Terms and partial derivatives by coordinate."""

    terms: list[str] = field(default_factory=list)
    partial: dict[str, str] = field(default_factory=dict)

    def add(self, term: str, **partial: str) -> None:
        """One more term."""
        self.terms.append(term)
        for name, d in partial.items():
            self.partial[name] = f"{self.partial[name]} + {d}" if name in self.partial else d


def circle(case: Case, names: Sequence[str]) -> Constraint:
    """A sum of squares."""
    found = Constraint()
    for name in names:
        a = case.number(0.7, 1.5) if case.rng.random() < 0.3 else 1.0
        found.add(f"{a}*{name}^2", **{name: f"{2 * a}*{name}"})
    return found


def curve(case: Case, names: Sequence[str]) -> Constraint:
    """Random terms of some of the coordinates."""
    found = Constraint()
    some = [name for name in names if case.rng.random() < 0.8] or [names[0]]
    for name in some:
        text, partial = UNARY[case.rng.integers(len(UNARY))]
        a = case.number(0.5, 2.0) * case.sign()
        found.add(f"{a}*{text.format(name)}", **{name: f"{a}*{partial.format(name)}"})
    if len(names) > 1 and case.rng.random() < 0.4:
        one, other = case.rng.choice(list(names), 2, replace=False)
        found.add(f"{one}*{other}", **{str(one): str(other), str(other): str(one)})
    return found


def jacobian(case: Case, constraints: Sequence[Constraint], names: Sequence[str], t: Vector | float) -> Vector:
    """G along the solution, (time, constraint, coordinate)."""
    rows = [[value(case.at_solution(one.partial.get(q, "0")), t) for q in names] for one in constraints]
    return np.moveaxis(np.array(rows), -1, 0) if np.ndim(t) else np.array(rows)


def is_well_conditioned(g: Vector) -> bool:
    """Rows of G far from dependent at all times, of moderate size, and turning slowly: curves without sharp bends."""
    size = np.linalg.norm(g, axis=2)
    turning = np.linalg.norm(np.gradient(g, GRID, axis=0), axis=2) / size
    if size.min() < 0.4 or size.max() > 12.0 or turning.max() > 5.0:
        return False
    unit = g / size[:, :, None]
    return float(np.linalg.svd(unit, compute_uv=False)[:, -1].min()) > 0.35


def condition(case: Case, constraints: Sequence[Constraint], names: Sequence[str]) -> tuple[float, float]:
    """How much unknown forces change with the others, (G G')^-1 G, and coordinates with each other."""
    s = np.linalg.svd(jacobian(case, constraints, names, GRID), compute_uv=False)
    return max(1.0, float((s[:, 0] / s[:, -1] ** 2).max())), max(1.0, float((s[:, 0] / s[:, -1]).max()))


# ------------------------------------------------------------------------------------------------ parts


def forces(case: Case, names: Sequence[str], damping: float) -> list[str]:
    """Right sides for some variables: damped, weakly coupled."""
    found = []
    for name in names:
        text = f"-{damping}*{name}"
        if case.rng.random() < 0.5:
            other = str(case.rng.choice(list(case.solution)))
            shape = str(case.rng.choice(["sin({0})", "{0}/(1 + {0}^2)", "tanh({0})", "0.5*{0}"]))
            text += f" + {case.number(-0.5, 0.5)}*{shape.format(other)}"
        found.append(text)
    return found


def ode_part(case: Case) -> None:
    """Ordinary states."""
    known = [wave(case) for _ in range(case.rng.integers(1, 3))]
    names = [case.new(one.text) for one in known]
    for name, one, right in zip(names, known, forces(case, names, case.number(0.3, 2.0)), strict=True):
        case.require("rate", f"-({right})", f"der({name})", one.d)
        case.starts[name] = "fixed=true"


def loop_part(case: Case) -> None:
    """Algebraic unknowns with states inside."""
    driver = [str(name) for name in case.rng.choice(list(case.solution), 2)]
    if case.rng.random() < 0.25:  # z1 z2 = a, z1 + z2 = b, on one side of where they meet
        one, other = case.new(wave(case, 1.5, 2.5).text), case.new(wave(case, -1.0, 0.6).text)
        case.require("loop", f"{one}*{other} + 0.3*sin({driver[0]})")
        case.require("loop", f"{one} + {other} + 0.2*{driver[1]}")
        return
    n = int(case.rng.integers(1, 5))
    names = [case.new(wave(case).text) for _ in range(n)]
    linear = case.rng.random() < 0.5
    for k, name in enumerate(names):
        text = f"{case.number(1.0, 2.0)}*{name} + {case.number(-1.0, 1.0)}*{case.rng.choice(driver)}"
        for other in [*names[:k], *names[k + 1 :]]:
            if case.rng.random() < 0.7:
                shape = "{0}" if linear else str(case.rng.choice(["{0}", "sin({0})", "atan({0})", "{0}^2/2"]))
                text += f" + {round(case.number(-0.8, 0.8) / n, 3)}*{shape.format(other)}"
        if not linear and case.rng.random() < 0.5:
            text += f" + 0.3*{name}^3"
        case.require("loop", text)


def constrained(case: Case) -> tuple[list[Known], list[str], list[Constraint]]:
    """Coordinates with their functions and constraints, well conditioned along the solution."""
    while True:
        before = dict(case.solution)
        choice = case.rng.random()
        r = case.number(0.7, 1.5)
        if choice < 0.3:
            known = on_circle(case, r)
        elif choice < 0.5:
            known = [*on_circle(case, r), wave(case)]
        else:
            known = [wave(case, -1.5, 1.5) for _ in range(case.rng.integers(2, 5))]
        if choice < 0.5 and case.rng.random() < 0.3:
            known += on_circle(case, case.number(0.7, 1.5))
        names = [case.new(one.text) for one in known]
        constraints = []
        if choice < 0.5:
            constraints.append(circle(case, names[:2]))
        while len(constraints) < len(names) - 1 and (not constraints or case.rng.random() < 0.4):
            constraints.append((circle if case.rng.random() < 0.2 else curve)(case, names))
        for one in constraints:
            if len(names) > 2 and case.rng.random() < 0.3 and len(one.partial) < len(names):
                extra = str(case.rng.choice([q for q in names if q not in one.partial]))
                a = case.number(0.5, 1.5)
                one.add(f"{a}*{extra}", **{extra: str(a)})
        if is_well_conditioned(jacobian(case, constraints, names, GRID)):
            return known, names, constraints
        case.solution = before


def require_constraints(case: Case, constraints: Sequence[Constraint]) -> None:
    """c(q) = c(q(t)); some terms become variables."""
    for one in constraints:
        terms = []
        for term in one.terms:
            if case.rng.random() < 0.15:
                name = case.new(case.at_solution(term))
                case.require("constraint", f"{name} - ({term})")
                term = name
            terms.append(term)
        scale = case.number(0.5, 2.0) * case.sign()
        case.require("constraint", f"{scale}*({' + '.join(terms)})")


def fix_some(case: Case, names: Sequence[str], g: Vector) -> None:
    """Fixed start values on coordinates that leave the others well conditioned."""
    left = list(range(len(names)))
    a = g.copy()
    for _ in range(len(g)):  # pivots are not fixed
        k = max(left, key=lambda j: float(np.abs(a[:, j]).max()))
        row = int(np.argmax(np.abs(a[:, k])))
        a -= np.outer(a[:, k] / a[row, k], a[row])
        left.remove(k)
    for k in left:
        case.starts[names[k]] = "fixed=true"


def wishes(case: Case, names: Sequence[str]) -> None:
    """stateSelect attributes that leave a choice."""
    chance = case.rng.random()
    if chance < 0.08:
        for name in names:
            case.starts[name] = ", ".join(filter(None, [case.starts.get(name, ""), "stateSelect=StateSelect.prefer"]))
    elif chance < 0.16:
        name = str(case.rng.choice(list(names)))
        case.starts[name] = ", ".join(filter(None, [case.starts.get(name, ""), "stateSelect=StateSelect.avoid"]))


def index2_part(case: Case) -> None:
    """der(x) = f + G' z, c(x) = c(x(t))."""
    before = set(case.solution)
    known, names, constraints = constrained(case)
    if case.rng.random() < 0.2:  # a linear constraint whose coefficients vary with time
        w = case.number(0.5, 2.0)
        turn = Constraint()
        turn.add(f"cos({w}*time)*{names[0]}", **{names[0]: f"cos({w}*time)"})
        turn.add(f"sin({w}*time)*{names[1]}", **{names[1]: f"sin({w}*time)"})
        constraints = [turn]
    multipliers = [case.new(wave(case).text) for _ in constraints]
    for name, one, right in zip(names, known, forces(case, names, case.number(6.0, 12.0)), strict=True):
        push = [f"({c.partial[name]})*{z}" for c, z in zip(constraints, multipliers, strict=True) if name in c.partial]
        case.require("rate", f"-({' + '.join([right, *push])})", f"der({name})", one.d)
    size = largest(one.d for one in known)
    force, motion = condition(case, constraints, names)
    case.scale |= dict.fromkeys(multipliers, size * force)
    case.scale |= dict.fromkeys(names, motion * largest(one.text for one in known))
    require_constraints(case, constraints)
    if case.rng.random() < 0.7:
        fix_some(case, names, jacobian(case, constraints, names, 0.0))
    else:
        case.loose |= case.solution.keys() - before
    wishes(case, names)


def kinematics(case: Case, known: Sequence[Known], names: Sequence[str]) -> tuple[list[Known], list[str], Vector]:
    """Velocities: der(q) = v, k v + a(t), or a mixture of velocities; (functions, names, d der(q)/dv)."""
    n = len(names)
    kind = case.rng.choice(["alias", "shifted", "scaled", "mixed"])
    s = np.eye(n)
    shift = [Known("0", "0", "0")] * n
    if kind == "shifted":
        shift = [wave(case, -0.4, 0.4) for _ in names]
    elif kind == "scaled":
        s = np.diag([case.number(0.5, 2.0) * case.sign() for _ in names])
    elif kind == "mixed" and n > 1:
        s = s + np.triu(case.rng.uniform(-0.5, 0.5, (n, n)).round(2), 1)
    inverse = np.linalg.inv(s)
    velocities = []
    for row in inverse:
        parts = [(float(a), k) for k, a in enumerate(row) if a != 0.0]
        text = " + ".join(f"({a!r})*({known[k].d} - ({shift[k].text}))" for a, k in parts)
        rate = " + ".join(f"({a!r})*({known[k].dd} - ({shift[k].d}))" for a, k in parts)
        velocities.append(Known(text, rate, ""))
    moving = [case.new(one.text) for one in velocities]
    for k, name in enumerate(names):
        right = " + ".join(f"({float(a)!r})*{v}" for a, v in zip(s[k], moving, strict=True) if a != 0.0)
        if kind == "alias":
            right = moving[k]
        more = f" + {shift[k].text}" if shift[k].text != "0" else ""
        case.equations.setdefault("kinematic", []).append(f"der({name}) - ({right}{more})")
    return velocities, moving, s


def index3_part(case: Case) -> None:
    """A mechanism: positions, velocities, multipliers."""
    before = set(case.solution)
    known, names, constraints = constrained(case)
    velocities, moving, s = kinematics(case, known, names)
    multipliers = [case.new(wave(case, -0.8, 0.8).text) for _ in constraints]
    fast = largest(one.d for one in known) ** 2  # centrifugal forces
    stiffness = round(case.number(20.0, 40.0) + 2.0 * fast, 2)
    damping = round(case.number(1.0, 2.0) * stiffness**0.5, 2)
    for k, (name, one) in enumerate(zip(moving, velocities, strict=True)):
        right = [forces(case, [name], damping)[0]]
        right += [f"({-stiffness * s[j, k]!s})*{q}" for j, q in enumerate(names) if s[j, k]]
        for c, z in zip(constraints, multipliers, strict=True):  # S' G' z does no work
            right += [f"({s[j, k]!s})*({c.partial[q]})*{z}" for j, q in enumerate(names) if q in c.partial and s[j, k]]
        mass = case.number(0.7, 1.5)
        case.require("rate", f"-({' + '.join(right)})", f"{mass}*der({name})", f"{mass}*({one.d})")
    size = stiffness * largest(one.text for one in known) + damping * largest(one.text for one in velocities)
    size += largest(one.d for one in velocities) + 4.0 * largest(one.d for one in known) ** 2
    force, motion = condition(case, constraints, names)
    case.scale |= dict.fromkeys(multipliers, size * force)
    case.scale |= dict.fromkeys(names, motion * largest(one.text for one in known))
    case.scale |= dict.fromkeys(moving, motion * largest(one.text for one in velocities))
    require_constraints(case, constraints)
    if case.rng.random() < 0.7:
        g = jacobian(case, constraints, names, 0.0)
        fix_some(case, names, g)
        fix_some(case, moving, g @ s)
    else:
        case.loose |= case.solution.keys() - before
    wishes(case, names)


def servo_part(case: Case) -> None:
    """q follows a function of time; the force is unknown, an output of another variable may be prescribed instead."""
    known = wave(case)
    name = case.new(known.text)
    velocities, moving, _ = kinematics(case, [known], [name])
    force = case.new(wave(case).text)
    case.require("rate", f"-({forces(case, moving, 1.0)[0]} + {force})", f"der({moving[0]})", velocities[0].d)
    text, _ = UNARY[int(case.rng.choice([1, 4, 6]))]
    case.require("constraint", text.format(name))


PARTS = {"ode": ode_part, "loop": loop_part, "index2": index2_part, "index3": index3_part, "servo": servo_part}


def make_case(seed: int) -> Case:
    """A case of index 1, 2 or 3."""
    rng = np.random.default_rng([seed, 13])
    case = Case(f"{seed % BATCH}", rng)
    main = str(rng.choice(["loop", "index2", "index3", "index3", "servo"], p=[0.2, 0.25, 0.25, 0.2, 0.1]))
    ode_part(case)
    PARTS[main](case)
    if rng.random() < 0.4:
        PARTS[str(rng.choice(["loop", "ode", "index2"]))](case)
    case.kind = main
    return case


# ------------------------------------------------------------------------------------------------ texts


def mixed_rows(case: Case) -> list[str]:
    """Equations of one kind, some added to others, in random order."""
    rows = []
    for kind, members in case.equations.items():
        members = list(members)
        if kind != "constraint" or case.rng.random() < 0.3:
            for k in range(1, len(members)):
                if case.rng.random() < 0.2:
                    members[k] = f"{members[k]} + {case.number(-0.7, 0.7)}*({members[k - 1]})"
        rows += members
    return [rows[k] for k in case.rng.permutation(len(rows))]


def tidy(text: str) -> str:
    """Signs as Modelica wants them: no two operators in a row."""
    text = re.sub(r"([*/]) ?-([\d.]+)", r"\1(-\2)", text)
    return text.replace("+ -", "- ").replace("- -", "+ ")


def model_text(cases: Sequence[Case], nearly: bool) -> str:
    """One model of several cases."""
    declarations, equations = [], []
    for case in cases:
        for name in case.rng.permutation(list(case.solution)):
            start = float(value(case.solution[name], 0.0))
            more = case.starts.get(name, "")
            if nearly and name not in case.loose and "fixed" not in more:
                start *= 1.0 + 0.01 * float(case.rng.uniform(-1.0, 1.0))
            declarations.append(f"  Real {name}({', '.join(filter(None, [f'start={start!r}', more]))});")
        equations += [f"  {tidy(row)} = 0;" for row in mixed_rows(case)]
    lines = ["model M", *declarations, "equation", *equations, "end M;"]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Setting:
    """How a batch is run."""

    method: str
    form: str
    aliases: bool
    rtol: float
    nearly: bool


def setting_of(batch: int) -> Setting:
    """Random, the same for all cases of a batch."""
    rng = np.random.default_rng([batch, 31])
    return Setting(
        str(rng.choice(["auto", "bdf", "radau5"])),
        str(rng.choice(["auto", "auto", "dae"])),
        bool(rng.random() < 0.75),
        float(rng.choice([1e-3, 1e-4, 1e-6, 1e-8])),
        bool(rng.random() < 0.3),
    )


def run(cases: Sequence[Case], setting: Setting) -> pliant.Result:
    """Simulate one text."""
    text = model_text(cases, setting.nearly)
    model = pliant.load(text, options={"form": setting.form, "aliases": setting.aliases})
    return model.simulate(stop=STOP, method=setting.method, rtol=setting.rtol, points=GRID)


def judged(seed: int, case: Case, result: pliant.Result, setting: Setting) -> Outcome:
    """Largest error of a case in tolerance units."""
    worst, where = 0.0, ""
    for name, text in case.solution.items():
        exact = value(text, GRID)
        unit = setting.rtol * max(np.abs(exact).max(), case.scale.get(name, 0.0)) + 0.01 * setting.rtol
        error = np.abs(np.asarray(result[name]) - exact) / unit
        error[~np.isfinite(error)] = np.inf
        if error.max() > worst:
            worst, where = float(error.max()), f"{name} at t = {GRID[int(np.argmax(error))]:.3g}"
    told = f"{case.kind}, {setting.method}, {setting.form}, aliases {setting.aliases}, rtol {setting.rtol:g}"
    if worst > min(WORST, GROSS / setting.rtol):
        return Outcome(seed, WRONG, f"{worst:.3g} units, {where} ({told})", worst)
    return Outcome(seed, RIGHT, "", worst)


@lru_cache(maxsize=8)
def batch_outcomes(batch: int) -> dict[int, Outcome]:
    """All cases of a batch; where the whole fails, one by one."""
    setting = setting_of(batch)
    seeds = range(batch * BATCH, (batch + 1) * BATCH)
    try:
        cases = [make_case(seed) for seed in seeds]
        result = run(cases, setting)
        return {seed: judged(seed, case, result, setting) for seed, case in zip(seeds, cases, strict=True)}
    except pliant.PliantError:
        pass
    found = {}
    for seed in seeds:
        case = make_case(seed)
        try:
            found[seed] = judged(seed, case, run([case], setting), setting)
        except pliant.PliantError as error:
            told = f"{case.kind}, {setting.method}, {setting.form}, aliases {setting.aliases}, rtol {setting.rtol:g}"
            found[seed] = Outcome(seed, FAILED, f"{type(error).__name__}: {str(error)[:200]} ({told})")
    return found


def check(seed: int) -> Outcome:
    """One case."""
    return batch_outcomes(seed // BATCH)[seed]


def judge(outcomes: Sequence[Outcome]) -> tuple[str, bool]:
    """None wrong, at most 0.2 % failures."""
    count = Counter(outcome.verdict for outcome in outcomes)
    largest = max((one.value for one in outcomes if one.verdict == RIGHT), default=0.0)
    text = (
        f"{count[WRONG]} wrong, {count[FAILED]} failed of {len(outcomes)}; errors of the others <= {largest:.3g} units"
    )
    return text, count[WRONG] == 0 and count[FAILED] <= 0.002 * len(outcomes)


FAMILY = Family(
    "daes",
    "random DAEs of index 1 to 3 with known solution; ode and dae form, BDF, Radau5, auto",
    "0 wrong, failures <= 0.2 %",
    count=4500,
    part=2 * BATCH,
    check=check,
    judge=judge,
)
