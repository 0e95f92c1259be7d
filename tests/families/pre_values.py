"""Discrete variables whose values before the first event are tied to each other by initial equations.

Booleans, Integers, enumerations and discrete Reals. The value of each before the start is given by a fixed start value,
by `pre(v) = value`, by `v = value`, or by an equation with pre(...) of another one, in any order. They change in
when-clauses, in equations that always hold, at initial(). Further Booleans without memory have a value before the
start, too, which must not matter. The answer is the event iteration written in Python, at points between events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome

LITERALS = ("red", "green", "blue", "grey")
TYPES = ("Boolean", "Integer", "Shade", "Real")
Values = dict[str, Any]
Rule = Callable[[Values], Any]


@dataclass
class Case:
    """A Modelica text, and the rules by which its variables change."""

    text: str
    begin: Values
    at: dict[str, float] = field(default_factory=dict)  # when a when-clause or an equation sets a variable anew
    always: set[str] = field(default_factory=set)  # ... from then on in every round
    at_start: set[str] = field(default_factory=set)  # ... also at initial()
    rule: dict[str, Rule] = field(default_factory=dict)
    watched: dict[str, tuple[float, Rule]] = field(default_factory=dict)  # counter -> its condition
    stop: int = 0


def _literal(kind: str, value: Any) -> str:
    if kind == "Boolean":
        return "true" if value else "false"
    return f"Shade.{LITERALS[value - 1]}" if kind == "Shade" else repr(value)


def _value(chance: np.random.Generator, kind: str) -> Any:
    if kind == "Boolean":
        return bool(chance.random() < 0.5)
    if kind == "Real":
        return round(float(chance.uniform(0.5, 9.0)), 2)
    return int(chance.integers(1, 5))


def _expression(chance: np.random.Generator, kind: str, other: str, name: str) -> tuple[str, Rule]:
    """A value of one kind from pre(name), a value of another kind; as Modelica and as a function."""
    old = f"pre({name})"
    if kind == other and chance.random() < 0.4:
        return old, lambda at: at[name]
    if kind == other == "Boolean":
        return f"not {old}", lambda at: not at[name]
    if kind == other and kind in ("Integer", "Real"):
        more = _value(chance, kind)
        return f"{old} + {more!r}", lambda at: at[name] + more
    limit = _value(chance, other)
    test = {"Boolean": old, "Shade": f"{old} == {_literal(other, limit)}"}.get(other, f"{old} > {limit!r}")

    def holds(at: Values) -> bool:
        return bool(at[name] if other == "Boolean" else at[name] == limit if other == "Shade" else at[name] > limit)

    if kind == "Boolean":
        return test, holds
    yes, no = _value(chance, kind), _value(chance, kind)
    return f"if {test} then {_literal(kind, yes)} else {_literal(kind, no)}", lambda at: yes if holds(at) else no


def _same(name: str) -> Rule:
    return lambda at: at[name]


class Writer:
    """One random model."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng([13, 31, seed])
        self.n = int(self.chance.integers(3, 9))
        self.case = Case("", {}, stop=self.n + 3)
        self.kinds = {f"v{k}": str(self.chance.choice(TYPES)) for k in range(self.n)}
        self.names = list(self.kinds)
        self.times = [float(k) + 0.5 for k in self.chance.permutation(self.n)]
        self.plain: set[str] = set()  # what has a value by itself, or equals one that has
        self.declared: list[str] = []
        self.initial: list[str] = []
        self.equations: list[str] = []

    def make(self) -> Case:
        """The whole text."""
        for k, name in enumerate(self.names):
            way = self._before(k, name)
            self._change(k, name, way)
        for k in range(int(self.chance.integers(0, 4))):
            self._count(k)
        lines = [f"type Shade = enumeration({', '.join(LITERALS)});", *self.declared, "initial equation"]
        lines += [*_shuffled(self.chance, self.initial), "equation", *_shuffled(self.chance, self.equations)]
        self.case.text = "model Tied\n" + "".join(f"  {line}\n" for line in lines) + "end Tied;\n"
        return self.case

    def _before(self, k: int, name: str) -> str:
        """Declare a variable; what gives its value before the start."""
        chance, kind = self.chance, self.kinds[name]
        way = str(chance.choice(["start", "given", "now", "tied", "tied", "tied"] if k else ["start", "given"]))
        peers = [other for other in self.names[:k] if kind in ("Real", self.kinds[other])]
        if (way == "tied" and not peers) or (way != "tied" and kind == "Shade"):
            way = "start"
        value: Any = _value(chance, kind)
        start = ""
        if way == "tied":
            value = self._tie(name, peers[int(chance.integers(0, len(peers)))])
        elif way == "start":
            start = f"(start = {_literal(kind, value)}, fixed = true)"
        else:
            self.initial.append(f"{name if way == 'now' else f'pre({name})'} = {_literal(kind, value)};")
        if way != "tied":
            self.plain.add(name)
        self.case.begin[name] = value
        self.declared.append(f"{'discrete ' if kind == 'Real' else ''}{kind} {name}{start};")
        return way

    def _tie(self, name: str, other: str) -> Any:
        """pre(name) by pre(other): its value."""
        same = f"pre({other})"
        if self.kinds[name] != "Real":  # equality is all that rumoca takes
            text, rule = same, _same(other)
        else:
            text, rule = _expression(self.chance, "Real", self.kinds[other], other)
            while text == same and other not in self.plain:  # rumoca does not follow it
                text, rule = _expression(self.chance, "Real", self.kinds[other], other)
        if text == same and other in self.plain:
            self.plain.add(name)
        self.initial.append(f"pre({name}) = {text};")
        return rule(self.case.begin)

    def _change(self, k: int, name: str, way: str) -> None:
        """What sets a variable anew."""
        chance, case, t = self.chance, self.case, self.times[k]
        act = str(chance.choice(["when", "start", "always"]))
        if way == "now" or (k == 0 and act == "always"):
            act = "when"
        itself = k == 0 or (act != "always" and chance.random() < 0.4)
        source = name if itself else self.names[int(chance.integers(0, k))]
        text, case.rule[name] = _expression(chance, self.kinds[name], self.kinds[source], source)
        case.at[name] = t
        if act == "always":
            case.always.add(name)
            self.equations.append(f"{name} = if time > {t} then {text} else pre({name});")
            return
        condition = f"time > {t}"
        if act == "start":
            case.at_start.add(name)
            condition = f"{{initial(), {condition}}}"
        self.equations.append(f"when {condition} then {name} = {text}; end when;")

    def _count(self, k: int) -> None:
        """A Boolean without memory, and how often it becomes true."""
        chance = self.chance
        name = self.names[int(chance.integers(0, self.n))]
        test, rule = _expression(chance, "Boolean", self.kinds[name], name)
        t = float(chance.integers(-1, self.n)) + 0.25
        self.declared += [f"Boolean c{k};", f"Integer count{k}(start = 0, fixed = true);"]
        self.initial.append(f"pre(c{k}) = {_literal('Boolean', bool(chance.random() < 0.5))};")
        self.equations.append(f"c{k} = time > {t} and ({test.replace('pre(', '(')});")
        self.equations.append(f"when c{k} then count{k} = pre(count{k}) + 1; end when;")
        self.case.watched[f"count{k}"] = (t, rule)


def _shuffled(chance: np.random.Generator, lines: list[str]) -> list[str]:
    return [lines[k] for k in chance.permutation(len(lines))]


def _event(case: Case, old: Values, t: float, at_start: bool) -> Values:
    """Rounds until nothing changes; `time` is just behind t."""
    before, first = dict(old), True
    while True:
        new = dict(before)
        for name, when in case.at.items():
            now = t >= when if name in case.always else first and (when == t or (at_start and name in case.at_start))
            if now:
                new[name] = case.rule[name](before)
        for name, (when, rule) in case.watched.items():
            new[f"{name}?"] = t >= when and rule(new)
            if new[f"{name}?"] and not before[f"{name}?"] and not (first and at_start):
                new[name] += 1
        if new == before:
            return new
        before, first = new, False


def expected(case: Case) -> list[Values]:
    """Values at t = 0, 1, 2, ..."""
    values = dict(case.begin)
    for name in case.watched:
        values |= {name: 0, f"{name}?": False}
    values = _event(case, values, 0.0, True)
    times = sorted({*case.at.values(), *(t for t, _ in case.watched.values() if t > 0.0)})
    rows = [values]
    for k in range(1, case.stop + 1):
        for t in times:
            if k - 1 < t < k:
                values = _event(case, values, t, False)
        rows.append(values)
    return rows


def check(seed: int) -> Outcome:
    """Compare at all whole times."""
    case = Writer(seed).make()
    result = pliant.load(case.text).simulate(stop=case.stop, points=case.stop + 1)
    for k, row in enumerate(expected(case)):
        place = int(np.flatnonzero(result.time == float(k))[-1])
        for name, value in row.items():
            if not name.endswith("?") and abs(float(result[name][place]) - float(value)) > 1e-12:
                return Outcome(seed, WRONG, f"{name} = {result[name][place]} at t = {k}, not {value}")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    name="pre_values",
    what="discrete variables tied before the start: the event iteration in Python",
    goal="all",
    count=500,
    part=3,
    check=check,
)
