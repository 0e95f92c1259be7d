"""Random programs of statements: `if`, `for`, `while`, `break`, `return` in each other, on scalars, arrays and records.

Some have assertions and indices that leave their array for some inputs, in loops as well: then the program fails. The
same program is a function, a part of a model's algorithm section, and a program in Python, which gives the answer.
Conditions and ends of loops depend on inputs, so nothing is known when the model is read; what is written out is
evaluated, without C, at some values of the inputs.
"""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any

import numpy as np

from families import FAILED, RIGHT, WRONG, Family, Outcome
from pliant.errors import PliantError
from pliant.expr.build import variables_of
from pliant.expr.evaluate import evaluate
from pliant.frontend.reading import read_flat
from pliant.frontend.scalar.scalarize import scalarize

POINTS = 6
REALS = ("s", "t", "r.p", "r.q", "v[1]", "v[2]", "v[3]")
DEEPEST = 3
STEPS = 4000  # of a program; longer ones are not taken


class _Break(Exception):
    pass


class _Return(Exception):
    pass


class _Long(Exception):
    pass


class _Fails(Exception):
    """An assertion does not hold, or an index is outside."""


class Program:
    """A random program, its text, and what it does."""

    def __init__(self, chance: np.random.Generator, *, may_return: bool) -> None:
        self.chance, self.may_return = chance, may_return
        self.counters = self.n_open = 0
        self.may_fail = bool(chance.integers(2))
        self.body = self.block(0, (), in_loop=False)

    def pick(self, *of: Any) -> Any:
        return of[int(self.chance.integers(len(of)))]

    def number(self) -> str:
        return f"{self.chance.uniform(-2.0, 2.0):.3f}"

    def value(self, loops: tuple[str, ...]) -> str:
        """A Real that is there."""
        elements = [f"v[{one}]" for one in loops if one.startswith("k")]  # others go beyond the array
        return str(self.pick("a", "b", *REALS, *loops, *elements))

    def expression(self, loops: tuple[str, ...]) -> str:
        x, y, c = self.value(loops), self.value(loops), self.number()
        return str(
            self.pick(
                f"0.5*{x} + ({c})",
                f"sin({x} - {y})",
                f"max({x}, {y}) - 0.25*{y}",
                f"abs({x}) - 0.5*{y}",
                f"0.3*{x}*({c}) + 0.1",
                f"(if {self.condition(loops)} then 0.5*{x} else {y} - ({c}))",
            )
        )

    def condition(self, loops: tuple[str, ...]) -> str:
        first = f"{self.value(loops)} {self.pick('<', '>')} {self.pick(self.number(), self.value(()))}"
        if self.chance.random() < 0.3:
            return f"{first} {self.pick('and', 'or')} not ({self.value(loops)} > {self.number()})"
        return first

    def block(self, depth: int, loops: tuple[str, ...], *, in_loop: bool) -> list[Any]:
        return [self.statement(depth, loops, in_loop) for _ in range(int(self.chance.integers(1, 4)))]

    def statement(self, depth: int, loops: tuple[str, ...], in_loop: bool) -> Any:
        kinds = ["set", "set", "set", "element", *(["assert", "outside"] if self.may_fail else [])]
        if depth < DEEPEST:
            kinds += ["if", "if", "for"]
            kinds += ["open", "while"] if self.n_open < 2 else []
        if in_loop:
            kinds += ["break"]
            kinds += ["return"] if self.may_return else []
        kind = self.pick(*kinds)
        if kind == "set":
            return ("set", self.pick(*REALS), self.expression(loops))
        if kind == "element":
            places = [one for one in loops if one.startswith("k")]
            target = f"v[{self.pick(*places)}]" if places else "v[2]"
            return ("set", target, self.expression(loops))
        if kind == "assert":
            return ("assert", f"abs({self.value(loops)}) < {self.chance.uniform(0.5, 6.0):.3f}")
        if kind == "outside":
            place = self.pick("n", *(one for one in loops if one.startswith("j")))
            return ("set", f"v[{place}]", "0.5*a") if self.chance.random() < 0.5 else ("set", "s", f"0.5*v[{place}]")
        if kind in ("break", "return"):
            return ("if", [(self.condition(loops), [(kind,)])], [])
        if kind == "if":
            branches = [
                (self.condition(loops), self.block(depth + 1, loops, in_loop=in_loop))
                for _ in range(self.pick(1, 1, 2))
            ]
            return ("if", branches, self.pick([], self.block(depth + 1, loops, in_loop=in_loop)))
        self.counters += 1
        name = f"{'k' if kind == 'for' else 'j' if kind == 'open' else 'c'}{self.counters}"
        inner = (*loops, name) if kind != "while" else loops
        self.n_open += kind != "for"
        body = self.block(depth + 1, inner, in_loop=True)
        self.n_open -= kind != "for"
        if kind == "for":
            return ("for", name, self.pick((1, 3, 1), (3, 1, -1), (2, 3, 1)), body)
        if kind == "open":
            return ("open", name, self.pick("n", "n + 1", "n - 2"), body)
        return ("while", name, self.pick(2, 3, 5), self.condition(loops), body)

    # ------------------------------------------------------------------------------------------------------ as text

    def text(self, items: list[Any], pad: str = "  ") -> str:
        lines = []
        for item in items:
            kind = item[0]
            if kind == "set":
                lines.append(f"{pad}{item[1]} := {item[2]};")
            elif kind in ("break", "return"):
                lines.append(f"{pad}{kind};")
            elif kind == "assert":
                lines.append(f'{pad}assert({item[1]}, "it is too large");')
            elif kind == "if":
                for k, (condition, body) in enumerate(item[1]):
                    lines += [f"{pad}{'elseif' if k else 'if'} {condition} then", self.text(body, pad + "  ")]
                if item[2]:
                    lines += [f"{pad}else", self.text(item[2], pad + "  ")]
                lines.append(f"{pad}end if;")
            elif kind == "for":
                first, last, step = item[2]
                lines += [f"{pad}for {item[1]} in {first}:{step}:{last} loop", self.text(item[3], pad + "  ")]
                lines.append(f"{pad}end for;")
            elif kind == "open":
                lines += [f"{pad}for {item[1]} in 1:{item[2]} loop", self.text(item[3], pad + "  "), f"{pad}end for;"]
            else:
                _, name, most, condition, body = item
                lines += [f"{pad}{name} := 0;", f"{pad}while {name} < {most} and ({condition}) loop"]
                lines += [f"{pad}  {name} := {name} + 1;", self.text(body, pad + "  "), f"{pad}end while;"]
        return "\n".join(lines)

    # ---------------------------------------------------------------------------------------------------- in Python

    def run(self, a: float, b: float, n: int) -> list[float]:
        """What s, t, r and v are at the end."""
        self.steps = 0
        at: dict[str, float] = {"a": a, "b": b, "n": n, **dict.fromkeys(REALS, 0.0)}
        with contextlib.suppress(_Return):
            self._run(self.body, at)
        return [at[name] for name in REALS]

    def outcome(self, a: float, b: float, n: int) -> list[float] | None:
        """The same, None where the program fails."""
        try:
            return self.run(a, b, n)
        except _Fails:
            return None

    def _place(self, name: str, at: dict[str, float]) -> str:
        inner = name[2:-1] if name.startswith("v[") else ""
        if not inner or inner.isdigit():
            return name
        if not 1 <= at[inner] <= 3:
            raise _Fails
        return f"v[{int(at[inner])}]"

    def _value(self, text: str, at: dict[str, float]) -> Any:
        return eval(_python(text), {"at": at, "place": self._place, "math": math})

    def _run(self, items: list[Any], at: dict[str, float]) -> None:
        for item in items:
            self.steps += 1
            if self.steps > STEPS:
                raise _Long
            kind = item[0]
            if kind == "set":
                at[self._place(item[1], at)] = float(self._value(item[2], at))
            elif kind == "assert":
                if not self._value(item[1], at):
                    raise _Fails
            elif kind == "break":
                raise _Break
            elif kind == "return":
                raise _Return
            elif kind == "if":
                body = next((body for condition, body in item[1] if self._value(condition, at)), item[2])
                self._run(body, at)
            elif kind == "while":
                self._while(item, at)
            else:
                first, last, step = item[2] if kind == "for" else (1, int(self._value(item[2], at)), 1)
                self._loop(item[1], range(first, last + step, step), item[3], at)

    def _loop(self, name: str, values: range, body: list[Any], at: dict[str, float]) -> None:
        try:
            for value in values:
                at[name] = value
                self._run(body, at)
        except _Break:
            pass

    def _while(self, item: Any, at: dict[str, float]) -> None:
        _, name, most, condition, body = item
        at[name] = 0
        try:
            while at[name] < most and self._value(condition, at):
                at[name] += 1
                self._run(body, at)
        except _Break:
            pass


def _python(text: str) -> str:
    """Modelica's expression as Python's."""
    text = re.sub(r"\(if (.*?) then (.*?) else (.*)\)$", lambda m: f"(({m[2]}) if ({m[1]}) else ({m[3]}))", text)
    text = re.sub(r"\bsin\(", "math.sin(", text)
    return re.sub(r"(?<![\w.])(r\.[pq]|v\[\w+\]|[abnst]|[kjc]\d+)(?![\w(])", r'at[place("\1", at)]', text)


HEAD = """record R
  Real p; Real q;
end R;
"""


def models(program: Program) -> dict[str, str]:
    """The program as a function and, without `return`, as an algorithm section."""
    counters = "".join(f"  Integer c{k};\n" for k in range(1, program.counters + 1))
    begin = "  s := 0; t := 0; v := zeros(3); r.p := 0; r.q := 0;\n" + "".join(
        f"  c{k} := 0;\n" for k in range(1, program.counters + 1)
    )
    body = begin + program.text(program.body)
    inputs = "  input Real a; input Real b; input Integer n;\n"
    function = (
        f"{HEAD}function f\n{inputs}  output Real y[7];\nprotected\n  Real s; Real t; R r; Real v[3];\n{counters}"
    )
    found = {}
    if program.may_return:
        inner = function.replace("function f", "function g").replace("  output Real y[7];\nprotected\n", "")
        inner = inner.replace(
            "Real s; Real t; R r; Real v[3];", "output Real s; output Real t; output R r; output Real v[3];"
        )
        inner = inner.replace(counters, f"protected\n{counters}" if counters else "")
        call = "Real s, t, v[3], y[7]; R r;\nequation\n  (s, t, r, v) = g(a, b, n);\n"
        call += "  y = {s, t, r.p, r.q, v[1], v[2], v[3]};"
        found["function"] = f"{inner}algorithm\n{body}\nend g;\nmodel M\n{inputs}  {call}\nend M;\n"
    else:
        end = "  y := {s, t, r.p, r.q, v[1], v[2], v[3]};\n"
        text = f"{function}algorithm\n{body}\n{end}end f;\nmodel M\n{inputs}  Real y[7] = f(a, b, n);\nend M;\n"
        found["function"] = text
        section = "  Real s, t, v[3], y[7]; R r;\n" + counters
        found["section"] = f"{HEAD}model M\n{inputs}{section}algorithm\n{body}\n{end}end M;\n"
    return found


def values_of(text: str, points: list[tuple[float, float, int]]) -> list[list[float] | None]:
    """y of a model at some inputs, from the scalar equations alone; None where something that must hold does not."""
    system = scalarize(read_flat(text, "M", []))
    number = {one.name: k for k, one in enumerate(system.variables)}
    out: list[list[float] | None] = []
    must = [one.condition for one in system.checks]
    for a, b, n in points:
        at: dict[int, float] = {number[name]: value for name, value in (("a", a), ("b", b), ("n", n)) if name in number}
        left = {k for k in range(len(system.variables)) if k not in at}
        todo = list(system.equations)
        while todo:
            rest = []
            for one in todo:
                unknown = [k for k in variables_of(system.graph, one.residual) if k in left]
                if len(unknown) == 1:
                    (k,) = unknown
                    low, high = (
                        evaluate(system.graph, [one.residual], {**at, k: x}, 0.0, (), (), system.relations)[0]
                        for x in (0.0, 1.0)
                    )
                    at[k] = low / (low - high)
                    left.discard(k)
                elif unknown:
                    rest.append(one)
            if len(rest) == len(todo):
                break
            todo = rest
        holds = evaluate(system.graph, must, at, 0.0, (), (), system.relations)
        out.append([at[number[f"y[{k}]"]] for k in range(1, 8)] if all(holds) else None)
    return out


def check(seed: int) -> Outcome:
    chance = np.random.default_rng([22, 1, seed])
    program = Program(chance, may_return=bool(chance.integers(2)))
    points = [
        (round(float(chance.uniform(-2, 2)), 3), round(float(chance.uniform(-2, 2)), 3), int(chance.integers(0, 6)))
        for _ in range(POINTS)
    ]
    try:
        wanted = [program.outcome(*point) for point in points]
    except _Long:
        return Outcome(seed, RIGHT, "not taken: too long")
    for kind, text in models(program).items():
        try:
            found = values_of(text, points)
        except PliantError as error:
            return Outcome(seed, FAILED, f"{kind}: {error}")
        for point, one, other in zip(points, found, wanted, strict=True):
            if one is None or other is None:
                if one is not other:
                    return Outcome(seed, WRONG, f"{kind} at {point}: {one} instead of {other}")
                continue
            worst = max(abs(x - y) / (1.0 + abs(y)) for x, y in zip(one, other, strict=True))
            if not worst < 1e-9:
                return Outcome(seed, WRONG, f"{kind} at {point}: {one} instead of {other}")
    return Outcome(seed, RIGHT)


FAMILY = Family(
    "statements",
    "programs of if, for, while, break and return in each other, in functions and algorithm sections",
    "300: what the same program in Python gives",
    300,
    10,
    check,
)
