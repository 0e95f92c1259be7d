"""Random results, written to every kind of file and read again: nothing may change.

Names hold blanks, quotes, commas, line breaks, brackets, letters of many scripts; numbers are any of IEEE 754; events
have messages, roots and long states; some columns are computed on demand, some are names of time or of parameters; some
results have flags. Variables are of all types; most Booleans and Integers have such values, some have any.
"""

from __future__ import annotations

import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from results import FORMATS, assert_same

from families import RIGHT, WRONG, Family, Outcome
from pliant.ir import Span
from pliant.solve.results.result import Event, Result, Stats, VariableInfo

LETTERS = [
    *"abcxyzABC019_.[],;:'\"`|\\/ ()",
    "\n",
    "\t",
    "\r\n",
    "ä",
    "ß",
    "λ",
    "温",
    "é",
    "🙂",
    "der(",
    "-",
    "=",
    "#",
    "%",
]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1.7976931348623157e308, 0.1, 1 / 3]
KINDS = ("state", "algebraic", "output", "input", "discrete")
TYPES = ("real", "real", "integer", "boolean", "enumeration")


class Maker:
    """One random result."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng([13, 9, seed])
        self.used = {"time"}

    def result(self) -> Result:
        chance = self.chance
        rows = int(chance.choice([0, 1, 2, 5, 30]))
        names = [self.name() for _ in range(chance.integers(0, 6))]
        lazy = [self.name() for _ in range(chance.integers(0, 3))]
        if names and chance.random() < 0.5:
            lazy.append(self.taken(f"der({names[0]})"))
        parameters = {self.name(): self.number() for _ in range(chance.integers(0, 4))}
        types = {name: str(chance.choice(TYPES)) for name in (*names, *lazy)}
        computed = {name: self.column(types[name], rows) for name in lazy}
        targets = [*names, *lazy, *parameters, "time"]
        aliases = {
            self.name(): (str(targets[chance.integers(len(targets))]), int(chance.choice([-1, 1])))
            for _ in range(chance.integers(0, 5))
        }
        known = [*names, *lazy, *parameters, *aliases, self.name()]
        result = Result(
            np.sort(chance.uniform(-1e3, 1e9, rows)),
            values=np.column_stack([self.column(types[name], rows) for name in names])
            if names
            else np.empty((rows, 0)),
            names=names,
            stats=self.stats(),
            manifest={"model": {"name": self.text(), "sha256": "0" * 64}, "options": {"rtol": self.finite(), "a": [1]}},
            events=[self.event(len(names)) for _ in range(chance.integers(0, 4))],
            info={
                name: self.info(name, name in parameters, types.get(name)) for name in known if chance.random() < 0.7
            },
            aliases=aliases,
            parameters=parameters,
            lazy={name: (lambda column=column: column) for name, column in computed.items()},
            complete=bool(chance.random() < 0.5),
            states=names if chance.random() < 0.5 else None,
        )
        if chance.random() < 0.5:
            result.flags = chance.integers(0, chance.choice([1, 2, 64]), max(rows - 1, 0))
        return result

    # ------------------------------------------------------------------------------------------ parts

    def stats(self) -> Stats:
        counters = [one.name for one in fields(Stats)][:9]
        numbers = (int(n) for n in self.chance.integers(0, 10**6, 9))
        return Stats(**dict(zip(counters, numbers, strict=True)), method="bdf", seconds=self.finite())

    def taken(self, name: str) -> str:
        self.used.add(name)
        return name

    def name(self) -> str:
        while True:
            found = self.text()
            if found not in self.used and "\0" not in found:
                return self.taken(found)

    def text(self) -> str:
        n = int(self.chance.choice([0, 1, 3, 8, 40], p=[0.05, 0.25, 0.4, 0.25, 0.05]))
        return "".join(self.chance.choice(LETTERS, n))

    def finite(self) -> float:
        return float(self.chance.standard_normal() * 10.0 ** self.chance.integers(-30, 30))

    def number(self) -> float:
        return float(self.chance.choice(SPECIAL)) if self.chance.random() < 0.2 else self.finite()

    def numbers(self, n: int) -> np.ndarray:
        return np.array([self.number() for _ in range(n)], dtype=float)

    def column(self, kind: str, n: int) -> np.ndarray:
        """Values of a variable; those of Integers have no negative zero, which no file of Integers can hold."""
        if kind == "real":
            return self.numbers(n)
        if self.chance.random() < 0.3:
            return self.numbers(n) + 0.0
        least, most = {"boolean": (0, 2), "integer": (-(2**53), 2**53), "enumeration": (1, 5)}[kind]
        return self.chance.integers(least, most, n).astype(float)

    def event(self, n: int) -> Event:
        roots = tuple(self.text() for _ in range(self.chance.integers(0, 3)))
        directions = tuple(int(d) for d in self.chance.choice([-1, 1], len(roots)))
        is_last = bool(self.chance.random() < 0.3)
        n = n if self.chance.random() < 0.8 else 1500  # longer than what the manifest keeps of an array
        return Event(
            self.finite(),
            roots=roots,
            directions=directions,
            before=self.numbers(n),
            after=self.numbers(n),
            terminal=is_last,
            message=self.text(),
        )

    def info(self, name: str, is_parameter: bool, declared: str | None) -> VariableInfo:
        chance = self.chance
        declared = declared or str(chance.choice(TYPES))
        more: dict[str, Any] = {
            key: self.number() for key in ("start", "nominal", "min", "max") if chance.random() < 0.4
        }
        if chance.random() < 0.4:
            more["span"] = Span(self.text(), int(chance.integers(1, 999)), int(chance.integers(1, 99)), self.text())
        if declared == "enumeration" and chance.random() < 0.5:
            more["literals"] = tuple(self.text() for _ in range(4))
        kind = "parameter" if is_parameter else str(chance.choice(KINDS))
        unit = str(chance.choice(["", "m", "m/s2", "kg.m2", "1", "degC"]))
        return VariableInfo(name, kind=kind, unit=unit, description=self.text(), type=declared, **more)  # type: ignore[arg-type]


def check(seed: int) -> Outcome:
    """One result in all formats."""
    wrong = []
    for suffix in FORMATS:
        result = Maker(seed).result()
        with tempfile.TemporaryDirectory() as folder:
            path = result.save(Path(folder) / f"r{suffix}")
            again = Result.load(path)
            try:
                assert_same(result, again)
            except AssertionError as error:
                wrong.append(f"{suffix}: {str(error)[:200]}")
                continue
            second = again.save(Path(folder) / f"again{suffix}")
            if second.read_bytes() != path.read_bytes():
                wrong.append(f"{suffix}: written again it differs")
    return Outcome(seed, WRONG if wrong else RIGHT, "; ".join(wrong))


FAMILY = Family(
    name="files",
    what="random results saved and loaded as CSV, Parquet and MAT",
    goal="all right",
    count=2000,
    part=10,
    check=check,
)
