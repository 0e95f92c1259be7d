"""Random hybrid models: when, elsewhen, reinit, algorithm sections, ticks, thresholds; the answer from an interpreter.

Times and ticks are multiples of 1/16, so that many of them meet: simultaneous conditions are what elsewhen is about.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome
from families._hybrid_model import (
    Branch,
    Expr,
    If,
    Model,
    Reinit,
    Relation,
    Set,
    State,
    Stop,
    When,
    assigned,
    modelica,
)
from families._hybrid_oracle import Ended, Fragile, Run
from pliant.errors import PliantError

METHODS = ("bdf", "radau5", "auto")
FORMS = ("ode", "dae")
N_POINTS = 64


class Maker:
    """Draws one model."""

    def __init__(self, rng: random.Random, *, on_grid: bool = False) -> None:
        self.rng, self.model = rng, Model()
        self.on_grid = on_grid  # events at multiples of 1/16 only, and straight lines between them
        self.readable: list[str] = []  # discrete variables whose value is known where we are
        self.hidden: list[str] = []  # those that are not read at all where we are
        self.resettable: list[str] = []
        self.whens = 0

    def draw(self) -> Model:
        """A model with states, discrete variables and one to four things that set them."""
        rng, model = self.rng, self.model
        for k in range(rng.randint(1, 3)):
            model.types[f"i{k + 1}"] = "int"
        for k in range(rng.randint(0, 2)):
            model.types[f"b{k + 1}"] = "bool"
        for k in range(rng.randint(1, 3)):
            model.types[f"d{k + 1}"] = "real"
        for name, type_ in model.types.items():
            model.starts[name] = {"int": rng.randint(-1, 2), "bool": rng.random() < 0.3, "real": self.number()}[type_]
        for k in range(rng.randint(1, 3)):
            self.state(f"x{k + 1}")
        names = list(model.types)
        rng.shuffle(names)
        while names:
            n = min(len(names), rng.choice((1, 1, 2, 2, 3)))
            own, names = names[:n], names[n:]
            self.part(own)
        return model

    # ------------------------------------------------------------------------------------------ continuous

    def number(self) -> float:
        """A Real that is no threshold and no multiple of one."""
        return round(self.rng.randint(-8, 8) / 4 + 0.013, 3)

    def state(self, name: str) -> None:
        rng, model = self.rng, self.model
        kind = "ramp" if self.on_grid else rng.choice(("ramp", "ramp", "decay", "ball"))
        slope: Expr = ("num", round(rng.uniform(-2, 2), 2) or 0.5)
        if rng.random() < 0.5:
            other = rng.choice(list(model.types))
            if model.types[other] == "bool":
                slope = ("if", ("var", other), slope, ("num", round(rng.uniform(-2, 2), 2)))
            else:
                slope = ("+", slope, ("*", ("num", rng.choice((0.5, -0.25, 1.0))), ("var", other)))
        state = State(name, kind, self.number(), slope, round(rng.uniform(0.5, 2), 1))
        if kind == "ball":
            state.partner = name.replace("x", "v")
            model.velocities[state.partner] = self.number()
            self.resettable.append(state.partner)
        self.resettable.append(name)
        model.states.append(state)

    # ------------------------------------------------------------------------------------------ conditions

    def instant(self) -> float:
        return self.rng.randint(1, 31) / 16

    def relation(self) -> Expr:
        """Of time or of a state."""
        rng, model = self.rng, self.model
        op = rng.choice(("<", ">", "<=", ">="))
        if self.on_grid:
            return ("rel", Relation(">=", "time", ("num", self.instant())))
        if rng.random() < 0.5:
            return (
                "rel",
                Relation(op if rng.random() < 0.3 else rng.choice((">", ">=")), "time", ("num", self.instant())),
            )
        name = rng.choice([*(state.name for state in model.states), *model.velocities])
        level: Expr = ("num", round(rng.randint(-8, 8) / 4 + 0.071, 3))
        reals = [one for one in self.readable if model.types[one] == "real"]
        if reals and rng.random() < 0.2:
            level = ("+", level, ("var", rng.choice(reals)))
        return ("rel", Relation(op, name, level))

    def discrete(self, *, local: bool = False) -> Expr:
        """A condition between discrete variables; `local`: inside a branch."""
        rng, model = self.rng, self.model
        name = rng.choice([one for one in model.types if one not in self.hidden])
        read: Expr = ("var", name) if name in self.readable and (local or rng.random() < 0.7) else ("pre", name)
        if model.types[name] == "bool":
            if read[0] == "var" and not local and rng.random() < 0.15:
                return (rng.choice(("edge", "change")), name)
            return read if rng.random() < 0.6 else ("not", read)
        limit: Any = rng.randint(-2, 5) if model.types[name] == "int" else round(rng.randint(-8, 8) / 4 + 0.107, 3)
        return (rng.choice(("<", ">", "<=", ">=")), read, ("num", limit))

    def condition(self, depth: int = 0) -> Expr:
        rng = self.rng
        roll = rng.random()
        if roll < 0.5:
            return self.relation()
        if roll < 0.7 or depth > 1:
            return self.discrete()
        if roll < 0.8:
            return ("not", self.condition(depth + 1))
        return (rng.choice(("and", "or")), self.condition(depth + 1), self.condition(depth + 1))

    def tick(self) -> Expr:
        rng, clocks = self.rng, self.model.clocks
        clocks.append((Fraction(rng.choice((0, 0, 1, 2, 3, 8)), 16), Fraction(rng.choice((2, 4, 5, 8, 12)), 16)))
        return ("tick", len(clocks) - 1)

    def triggers(self) -> list[Expr]:
        """Of one branch: mostly one condition, sometimes a vector."""
        rng = self.rng
        n = rng.choice((1, 1, 1, 2, 3))
        found = [self.condition() for _ in range(n)]
        if rng.random() < 0.08:
            found[-1] = ("initial",)
        return found

    # ---------------------------------------------------------------------------------------------- values

    def value(self, target: str, known: list[str]) -> Expr:
        """Something of the target's type; `known`: variables whose current value may be read."""
        rng, model = self.rng, self.model
        type_ = model.types[target]
        if type_ == "bool":
            return rng.choice(
                (("not", ("pre", target)), ("num", rng.random() < 0.5), self.comparison(known), ("pre", target))
            )
        if type_ == "int":
            ints = [one for one in known if model.types[one] == "int"]
            simple: list[Expr] = [
                ("num", rng.randint(-2, 4)),
                ("+", ("pre", target), ("num", rng.choice((1, 1, 2, -1)))),
                ("if", (">", ("pre", target), ("num", 4)), ("num", 0), ("+", ("pre", target), ("num", 1))),
            ]
            if ints:
                one = rng.choice(ints)
                simple += [("+", ("var", one), ("num", rng.randint(-1, 2))), ("*", ("num", 2), ("var", one))]
            return rng.choice(simple)
        numbers = [one for one in known if model.types[one] != "bool"]
        choices: list[Expr] = [
            ("num", self.number()),
            ("+", ("pre", target), ("num", 0.5)),
            ("+", ("*", ("num", 0.5), ("pre", target)), ("num", self.number())),
            ("state", rng.choice(model.states).name),
        ]
        if target not in known:  # rumoca puts it in where the section reads the target, and time makes events
            choices.append(("time",))
        if numbers:
            choices += [("+", ("var", rng.choice(numbers)), ("num", self.number()))] * 2
            choices += [("*", ("num", 2.0), ("var", rng.choice(numbers)))]
        if rng.random() < 0.2:
            return ("if", self.comparison(known), rng.choice(choices), rng.choice(choices))
        return rng.choice(choices)

    def comparison(self, known: list[str]) -> Expr:
        """A condition that makes no events."""
        saved, self.readable = self.readable, known
        try:
            return self.discrete(local=True)
        finally:
            self.readable = saved

    # ----------------------------------------------------------------------------------------------- parts

    def part(self, own: list[str]) -> None:
        """One clause, section or equation that sets these variables."""
        rng, model = self.rng, self.model
        roll = rng.random()
        if len(own) == 1 and roll < 0.2 and model.types[own[0]] != "real":
            model.parts.append(("standing", Set(own[0], self.standing(own[0]))))
        elif roll < 0.6:
            model.parts.append(("equation", self.clause(own)))
        else:
            model.parts.append(("algorithm", self.section(own)))
        self.readable += own

    def standing(self, name: str) -> Expr:
        rng = self.rng
        if self.model.types[name] == "int":
            return ("if", self.condition(), ("num", rng.randint(-2, 4)), ("num", rng.randint(-2, 4)))
        if rng.random() < 0.3:
            return ("or", self.relation(), ("and", ("pre", name), self.condition()))
        return ("and", self.relation(), self.condition()) if rng.random() < 0.5 else self.relation()

    def number_of(self, branches: list[Branch]) -> When:
        self.whens += 1
        return When(branches, self.whens)

    def clause(self, own: list[str]) -> When:
        """when ... elsewhen of equations: every branch sets the same variables."""
        rng = self.rng
        states = (
            [self.resettable.pop(rng.randrange(len(self.resettable)))] if self.resettable and rng.random() < 0.5 else []
        )
        conditions = self.several()
        branches = []
        for triggers in conditions:
            order = sorted(own, key=lambda one: (self.model.types[one] == "real", one))  # no circle across branches
            body: list[Any] = []
            known = list(self.readable)
            for target in order:
                body.append(Set(target, self.value(target, known)))
                known.append(target)
            if rng.random() < 0.3:
                other: list[Any] = [Set(target, self.value(target, self.readable)) for target in order]
                body = [If([(self.inner(), body)], other)]
            if rng.random() < 0.5:
                rng.shuffle(body)
            body += self.actions(states, known)
            branches.append(Branch(triggers, body))
        return self.number_of(branches)

    def several(self) -> list[list[Expr]]:
        """Conditions of the branches of a clause; some of them the same or nearly the same."""
        rng = self.rng
        found = [self.triggers() for _ in range(rng.choice((1, 2, 2, 3, 4)))]
        for k in range(1, len(found)):
            if rng.random() < 0.25:
                found[k] = [rng.choice(found[rng.randrange(k)])]
        if rng.random() < (0.6 if self.on_grid else 0.25):
            found[rng.randrange(len(found))] = [self.tick()]
        return found

    def inner(self) -> Expr:
        """Condition of an if inside a when-clause."""
        return self.relation() if self.rng.random() < 0.4 else self.discrete()

    def actions(self, states: list[str], known: list[str]) -> list[Any]:
        rng = self.rng
        found: list[Any] = []
        all_states = [*(one.name for one in self.model.states), *self.model.velocities]
        for state in states:
            if rng.random() < 0.7:
                reals = [one for one in known if self.model.types[one] != "bool"]
                value: Expr = ("num", self.number())
                if reals and rng.random() < 0.4:
                    value = ("+", value, ("var", rng.choice(reals)))
                elif rng.random() < 0.3:
                    value = ("+", ("*", ("num", -0.5), ("state", state)), value)
                elif rng.random() < 0.3:  # also of another state, which another clause sets anew at the same event
                    value = ("+", ("*", ("num", -0.5), ("pre_state", rng.choice(all_states))), value)
                reset: Any = Reinit(state, value)
                found.append(If([(self.inner(), [reset])], []) if rng.random() < 0.2 else reset)
        if self.on_grid:
            return found
        if rng.random() < 0.06:
            found.append(Stop(f"stop {rng.randint(1, 99)}"))
        if rng.random() < 0.12:
            found.append(Stop(f"check {rng.randint(1, 99)}", self.comparison(known)))
        return found

    # ------------------------------------------------------------------------------------------- algorithms

    def section(self, own: list[str]) -> list[Any]:
        """An algorithm section with one to three when-clauses, of the kind that can be lowered."""
        while True:
            clocks, whens = list(self.model.clocks), self.whens
            body = self.statements_of(own)
            if _is_lowered(body, self.model.types):
                return body
            self.model.clocks, self.whens = clocks, whens

    def statements_of(self, own: list[str]) -> list[Any]:
        rng = self.rng
        body: list[Any] = []
        if rng.random() < 0.2:
            target = rng.choice(own)
            body.append(Set(target, ("pre", target)))
        used = own[: rng.randint(1, len(own))] if rng.random() < 0.5 else own
        for k in range(rng.choice((1, 1, 2, 3))):
            rest = [one for one in own if one not in used] if k and rng.random() < 0.5 else []
            branches = []
            for triggers in self.several():
                statements = self.statements(rest or used, self.readable + own, 0)
                if not self.on_grid and rng.random() < 0.06 and len(own) < len(self.model.types):
                    self.hidden = own
                    statements.insert(0, Stop(f"check {rng.randint(1, 99)}", self.comparison(self.readable)))
                    self.hidden = []
                branches.append(Branch(triggers, statements))
            body.append(self.number_of(branches))
        missing = set(own) - set(assigned([one for one in body if isinstance(one, When)]))
        body[-1].branches[0].body += [Set(one, self.value(one, self.readable)) for one in own if one in missing]
        return body

    def statements(self, own: list[str], known: list[str], depth: int) -> list[Any]:
        rng = self.rng
        body: list[Any] = []
        for _ in range(rng.randint(1, 4 if depth == 0 else 2)):
            if depth < 2 and rng.random() < 0.3:
                branches = [(self.comparison(known), self.statements(own, known, depth + 1))]
                if rng.random() < 0.3:
                    branches.append((self.comparison(known), self.statements(own, known, depth + 1)))
                other = self.statements(own, known, depth + 1) if rng.random() < 0.6 else []
                body.append(If(branches, other))
            else:
                target = rng.choice(own)
                body.append(Set(target, self.value(target, known)))
        return body


# ------------------------------------------------------------------------------------- what can be lowered


def _reads(one: Any, *, before: bool = True) -> set[str]:
    """Discrete variables that something reads (`before`: also as pre(v))."""
    if isinstance(one, tuple) and one and one[0] in ("var", "edge", "change"):
        return {one[1]}
    if isinstance(one, tuple) and one and one[0] == "pre":
        return {one[1]} if before else set()
    if isinstance(one, Relation):
        return _reads(one.right, before=before)
    parts: list[Any] = []
    if isinstance(one, (tuple, list)):
        parts = list(one)
    elif isinstance(one, (Set, Reinit)):
        parts = [one.value]
    elif isinstance(one, If):
        parts = [one.branches, one.otherwise]
    elif isinstance(one, When):
        parts = one.branches
    elif isinstance(one, Branch):
        parts = [one.conditions, one.body]
    elif isinstance(one, Stop):
        parts = [one.condition]
    return set().union(*(_reads(part, before=before) for part in parts)) if parts else set()


def _is_lowered(body: list[Any], types: dict[str, str]) -> bool:
    """What rumoca 0.10.2 can lower.

    Statements read what a when-clause before them has set only across a place where the section may be cut, conditions
    nothing that is set behind them, and Integers and Booleans do not read each other in a circle. What it cannot lower
    is refused, not wrong, and no case here.
    """
    sets = [set(assigned([one])) for one in body]
    start = 0
    for k in range(len(body)):
        late = set().union(*sets[k:])
        if k and not any((sets[j] | _reads(body[j], before=False)) & late for j in range(k)):
            start = k
        closed = set().union(*(sets[j] for j in range(start, k) if isinstance(body[j], When)))
        if _reads(body[k]) & closed:
            return False
        if isinstance(body[k], When):
            conditions = _reads([branch.conditions for branch in body[k].branches])
            if conditions & (set().union(*sets[k + 1 :]) | (set().union(*sets[:k]) & sets[k])):
                return False
            if {one for one in conditions & sets[k] if types[one] != "real"}:
                return False
    edges = {edge for one in body for edge in _edges(one, set())}
    for a, b in edges:  # an Integer that gets others through a Real of the section
        is_through = types[a] != "real" and types[b] == "real" and b in set().union(*sets)
        if is_through and any((a, c) not in edges for c in _behind(b, edges, types)):
            return False
    return not _has_circle({(a, b) for a, b in edges if types[a] != "real" and types[b] != "real"})


def _behind(name: str, edges: set[tuple[str, str]], types: dict[str, str]) -> set[str]:
    """Integers and Booleans that a Real reads, also through other Reals."""
    found, todo = set(), [name]
    while todo:
        one = todo.pop()
        new = {b for a, b in edges if a == one and b not in found}
        found |= new
        todo += [b for b in new if types[b] == "real"]
    return {one for one in found if types[one] != "real"}


def _edges(one: Any, outer: set[str]) -> set[tuple[str, str]]:
    """(variable, variable that it reads)"""
    if isinstance(one, Set):
        return {(one.target, name) for name in _reads(one.value, before=False) | outer if name != one.target}
    found: set[tuple[str, str]] = set()
    if isinstance(one, If):
        seen = set(outer)
        for condition, inner in one.branches:
            seen |= _reads(condition, before=False)
            for each in inner:
                found |= _edges(each, seen)
        for each in one.otherwise:
            found |= _edges(each, seen)
    elif isinstance(one, When):
        for branch in one.branches:
            for each in branch.body:
                found |= _edges(each, outer | _reads(branch.conditions, before=False))
    return found


def _has_circle(edges: set[tuple[str, str]]) -> bool:
    left = {a for a, _ in edges}
    while True:
        ends = {a for a in left if not any(x == a and y in left for x, y in edges)}
        if not ends:
            return bool(left)
        left -= ends


# ------------------------------------------------------------------------------------------------- one case


def make(seed: int, *, on_grid: bool = False) -> tuple[Model, Run, random.Random]:
    """A model and its answer."""
    rng = random.Random(f"hybrid {seed}")
    while True:
        model = Maker(rng, on_grid=on_grid).draw()
        run = Run(model)
        try:
            run.simulate()
        except Fragile:
            continue
        if len(run.effective) >= 2:
            return model, run, rng


def check(seed: int) -> Outcome:
    """Simulate and compare at points between the events, at the end, and event by event."""
    model, run, rng = make(seed)
    points = sorted(t for t in np.linspace(0, model.stop, N_POINTS + 1)[:-1] + 0.0137 if _is_clear(t, run))
    method, form = METHODS[rng.randrange(3)], FORMS[rng.randrange(2)]
    loaded = pliant.load(modelica(model), options={"form": form})
    error = ""
    try:
        result = loaded.simulate(model.stop, method=method, rtol=1e-8, points=[0.0, *points, model.stop])
    except PliantError as raised:
        error, result = raised.message, getattr(raised, "result", None)
    words = f"{method}, {form}"
    end = run.end if run.end is not None else Ended("", False)
    if end.is_error or result is None:
        found = f"assertion failed: {end.message}" in error if end.is_error else False
        return Outcome(
            seed, RIGHT if found else WRONG, "" if found else f"{words}: {error or 'no error'}, {end.message!r}"
        )
    wrong = _compare(run, result, [t for t in points if t < run.t or run.end is None])
    if not wrong and run.end is not None:
        last = result.events[-1] if result.events else None
        if last is None or not last.terminal or end.message not in last.message or abs(last.time - run.t) > 1e-6:
            wrong = f"ended with {last}, not by {end.message!r} at {run.t}"
    return Outcome(seed, WRONG if wrong or error else RIGHT, f"{words}: {wrong or error}" if wrong or error else "")


def _is_clear(t: float, run: Run) -> bool:
    return all(abs(t - event) > 1e-4 for event in run.times)


def _compare(run: Run, result: Any, points: list[float]) -> str:
    """What differs first, or nothing."""
    model = run.model
    end = run.t if run.end is not None else model.stop
    for t in points:
        if t > end:
            break
        k = int(np.searchsorted(result.time, t))
        for name, value in run.values_at(t).items():
            got = float(result[name][min(k, len(result.time) - 1)])
            limit = 0.0 if model.types.get(name, "real") != "real" else 1e-5 * (1 + abs(value))
            if not abs(got - value) <= limit:
                return f"{name}({t:.4g}) = {got:.9g}, not {value:.9g}"
    times = np.array([one.time for one in result.events])
    for t in run.effective:
        if t > 0 and not np.any(np.abs(times - t) < 1e-5):
            return f"no event at {t}"
    for t in times:
        if not any(abs(t - one) < 1e-5 for one in [0.0, *run.times]):
            return f"an event at {t} that is none"
    return ""


FAMILY = Family(
    name="hybrid",
    what="hybrid models with when, elsewhen, reinit and algorithm sections",
    goal="0 wrong",
    count=1000,
    part=2,
    check=check,
)
