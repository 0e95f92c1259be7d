"""Strings that change during a run: values in all formats of String(...), choices, joined texts, comparisons.

Discrete variables of all types get new values at times of their own, String variables texts that are made of them, of
literals and of what other Strings were before. At the end of the run a message has all of it: that of an assertion, in
a when-clause or in an equation, or of terminate(...); some texts go through a function. The same numbers stand there
as constants, too, so that what is made when the model is loaded is compared as well. The answer is made in Python:
numbers by its `%`, those with a format by `snprintf` of the C library.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome

LITERALS = ("red", "green", "blue")
PIECES = ("on", "off", "", "a b", "T = ", "100 %d", 'say "yes"', "back\\slash", "Ωmega", "x", "…")
LIBC = ctypes.CDLL(None)
Values = dict[str, Any]
Rule = Callable[[Values], str]


@dataclass
class Case:
    """A Modelica text, and how its variables change."""

    begin: Values = field(default_factory=dict)
    rules: dict[str, tuple[float, Callable[[Values], Any]]] = field(default_factory=dict)  # when, and to what
    lines: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=list)


def quoted(text: str) -> str:
    """A Modelica literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def printed(form: str, value: float) -> str:
    """By the C library."""
    room = ctypes.create_string_buffer(2000)
    given: Any = ctypes.c_double(value) if form[-1] in "eEfgG" else ctypes.c_int(int(value))
    LIBC.snprintf(room, ctypes.c_size_t(2000), f"%{form}".encode(), given)
    return room.value.decode()


class Writer:
    """One random model."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng([17, 41, seed])
        self.case = Case()
        self.kinds: dict[str, str] = {}
        self.strings: list[str] = []
        self.times = iter(float(k) + 0.5 for k in self.chance.permutation(40))

    def pick(self, *given: Any) -> Any:
        return given[int(self.chance.integers(0, len(given)))]

    def value(self, kind: str) -> Any:
        chance = self.chance
        if kind == "Boolean":
            return bool(chance.random() < 0.5)
        if kind == "Shade":
            return int(chance.integers(1, 4))
        if kind == "Integer":
            return int(self.pick(0, -1, 7, 2147483647, -2147483647, int(chance.integers(-99999, 99999))))
        size = float(10.0 ** chance.integers(-12, 13))
        return float(self.pick(0.1, 0.0, 1 / 3, -2.5, 123456789.0, 99999.95, size * chance.normal(), 1e-5, 1e15, 65.0))

    def literal(self, kind: str, value: Any) -> str:
        if kind == "Boolean":
            return "true" if value else "false"
        return f"Shade.{LITERALS[value - 1]}" if kind == "Shade" else f"({value!r})"

    def number(self, name: str, kind: str, given: Any = None) -> tuple[str, Rule]:
        """String(...) of a variable, or of a constant."""
        chance = self.chance
        read = name if given is None else self.literal(kind, given)
        value: Callable[[Values], Any] = (lambda at: at[name]) if given is None else (lambda _: given)
        if kind in ("Real", "Integer") and chance.random() < 0.4:
            flags = "".join(f for f in "-+ #0" if chance.random() < 0.25)
            conversion = self.pick(*("eEfgG" if kind == "Real" else "diouxX"))
            flags = flags.replace("#", "") if conversion in "diu" else flags
            flags = flags.replace("+", "").replace(" ", "") if conversion in "ouxX" else flags
            form = f"{flags}{self.pick('', '3', '12', '1')}{self.pick('', '.0', '.3', '.7')}{conversion}"
            return f'String({read}, format = "{form}")', lambda at: printed(form, value(at))
        length, left = self.pick(0, 0, 3, 12), self.pick(True, False)
        given_options = f", minimumLength = {length}, leftJustified = {str(left).lower()}"
        if kind == "Real":
            digits = self.pick(6, 1, 3, 15)
            options = given_options + (f", significantDigits = {digits}" if digits != 6 else "")
            text: Rule = lambda at: f"%.{digits}g" % value(at)  # noqa: E731
        else:
            options = given_options
            text = {
                "Integer": lambda at: str(value(at)),
                "Boolean": lambda at: "true" if value(at) else "false",
                "Shade": lambda at: LITERALS[value(at) - 1],
            }[kind]
        side = "-" if left else ""
        return f"String({read}{options})", lambda at: f"%{side}{length}s" % text(at) if length else text(at)

    def text(self, depth: int, strings: list[str]) -> tuple[str, Rule]:
        """Some expression for a text."""
        way = self.chance.random()
        names = list(self.kinds)
        if depth > 0 and way < 0.3:
            (a, left), (b, right) = self.text(depth - 1, strings), self.text(depth - 1, strings)
            return f"({a} + {b})", lambda at: left(at) + right(at)
        if depth > 0 and way < 0.5:
            (a, left), (b, right) = self.text(depth - 1, strings), self.text(depth - 1, strings)
            c, holds = self.condition(strings)
            return f"(if {c} then {a} else {b})", lambda at: left(at) if holds(at) else right(at)
        if way < 0.65 and strings:
            name = self.pick(*strings)
            return name, lambda at: at[name]
        if way < 0.85:
            name = self.pick(*names)
            constant = self.value(self.kinds[name]) if self.chance.random() < 0.3 else None
            return self.number(name, self.kinds[name], constant)
        piece = self.pick(*PIECES)
        return quoted(piece), lambda _: piece

    def condition(self, strings: list[str]) -> tuple[str, Callable[[Values], bool]]:
        """A comparison of texts, or of a number."""
        name = self.pick(*self.kinds)
        kind = self.kinds[name]
        if strings and self.chance.random() < 0.5:
            own, other = self.pick(*strings), self.pick(*PIECES, *strings)
            b = other if other in strings else quoted(other)
            operator = self.pick("==", "<>", "<", "<=", ">", ">=")

            def compare(at: Values) -> bool:
                x, y = at[own].encode(), (at[other] if other in strings else other).encode()
                found = {"==": x == y, "<>": x != y, "<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}
                return bool(found[operator])

            return f"{own} {operator} {b}", compare
        limit = self.value(kind)
        if kind in ("Boolean", "Shade"):
            return f"{name} == {self.literal(kind, limit)}", lambda at: bool(at[name] == limit)
        return f"{name} < {self.literal(kind, limit)}", lambda at: bool(at[name] < limit)

    def make(self) -> tuple[str, str]:
        """The model, and what its message is."""
        case, chance = self.case, self.chance
        for k in range(int(chance.integers(2, 5))):
            kind = self.pick("Real", "Integer", "Boolean", "Shade")
            self.variable(f"v{k}", kind)
        for k in range(int(chance.integers(1, 4))):
            self.string(f"s{k}")
        parts = [self.text(2, self.strings) for _ in range(3)]
        parts += [(f"say({name}, {self.strings[0]})", self.said(name, self.strings[0])) for name in self.strings[-1:]]
        parts += [(name, lambda at, name=name: at[name]) for name in self.strings]  # type: ignore[misc]
        message = ' + "|" + '.join(one for one, _ in parts)
        message = f'"<<" + {message} + ">>"'
        ends = (
            f"when time > 45 then assert(false, {message}); end when;",
            f"when time > 45 then terminate({message}); end when;",
            f"assert(time < 45, {message});",
        )
        lines = [f"type Shade = enumeration({', '.join(LITERALS)});", SAY, *case.declared, "equation"]
        lines += [*case.lines, self.pick(*ends)]
        values = dict(case.begin)
        for t, name in sorted((t, name) for name, (t, _) in case.rules.items()):
            values = {**values, name: case.rules[name][1](values)}
            assert t < 45
        return "model Texts\n" + "".join(f"  {one}\n" for one in lines) + "end Texts;\n", "|".join(
            rule(values) for _, rule in parts
        )

    def said(self, name: str, other: str) -> Rule:
        return lambda at: f"[{at[name]}]" if at[name] != at[other] else "same"

    def variable(self, name: str, kind: str) -> None:
        """A discrete variable that gets another value once."""
        before, after = self.value(kind), self.value(kind)
        self.kinds[name] = kind
        prefix = "discrete " if kind == "Real" else ""
        self.case.declared.append(f"{prefix}{kind} {name}(start = {self.literal(kind, before)}, fixed = true);")
        t = next(self.times)
        self.case.lines.append(f"when time > {t} then {name} = {self.literal(kind, after)}; end when;")
        self.case.begin[name] = before
        self.case.rules[name] = (t, lambda _: after)

    def string(self, name: str) -> None:
        """A String: set once, or what it is at any time."""
        begin = self.pick(*PIECES)
        text, rule = self.text(2, self.strings)
        case = self.case
        t = next(self.times)
        case.declared.append(f"String {name}(start = {quoted(begin)}, fixed = true);")
        case.lines.append(f"when time > {t} then {name} = {text}; end when;")
        case.begin[name] = begin
        case.rules[name] = (t, rule)
        self.strings.append(name)


SAY = """function say
    input String a;
    input String b;
    output String c;
  algorithm
    c := if a <> b then "[" + a + "]" else "same";
  end say;"""


def check(seed: int) -> Outcome:
    """Compare the message."""
    text, wanted = Writer(seed).make()
    if len(wanted.encode()) > 800:  # messages have an end
        return Outcome(seed, RIGHT)
    try:
        result = pliant.load(text).simulate(stop=50)
        said = result.events[-1].message
    except pliant.ModelEvaluationError as error:
        said = error.message
    found = re.search("<<(.*)>>", said, re.DOTALL)
    if found is None or found.group(1) != wanted:
        return Outcome(seed, WRONG, f"{said!r} is not {wanted!r}")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    name="texts",
    what="Strings that change, in messages and comparisons: Python's % and snprintf of C",
    goal="all",
    count=300,
    part=2,
    check=check,
)
