"""What sorting and tearing make of models: the lecture's circuit, minimal tears, growth with size, same text twice.

python benchmarks/structure.py [circuit] [loops] [accuracy] [growth] [same] [--quick]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from peers import ROOT
from scipy.special import ellipk
from test_examples_modelica import CAR_AXIS
from test_structure_tearing import minimum, random_loop

import pliant
from pliant.codegen.emit import generate
from pliant.expr.build import reachable
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Graph, Op
from pliant.sorted_system import Block, SortedSystem
from pliant.structure.apply import Relaxed, relax
from pliant.structure.options import StructureOptions
from pliant.structure.pipeline import sort_system
from pliant.structure.sort import Sorter
from pliant.structure.tearing import tear

EXAMPLES = ROOT / "examples"
PARTS = ("circuit", "loops", "accuracy", "growth", "same")

# -------------------------------------------------------------------------------------------------- circuit


def exact(g: Graph, e: int, numbers: Mapping[int, Fraction]) -> Fraction:
    """Value of a rational expression without rounding; ``numbers``: of its variables."""
    value: dict[int, Fraction] = {}
    for i in reachable(g, (e,)):
        op, *rest = g.nodes[i]
        if op == Op.CONST:
            value[i] = Fraction(rest[0])
        elif op == Op.VAR:
            value[i] = numbers[rest[0]]
        else:
            a = [value[k] for k in rest]
            if op == Op.ADD:
                value[i] = a[0] + a[1]
            elif op == Op.SUB:
                value[i] = a[0] - a[1]
            elif op == Op.MUL:
                value[i] = a[0] * a[1]
            elif op == Op.DIV:
                value[i] = a[0] / a[1]
            elif op == Op.NEG:
                value[i] = -a[0]
            else:
                raise ValueError(f"operation {op} is not rational")
    return value[e]


class Circuit:
    """The lecture's circuit, sorted in one way or another."""

    def __init__(self, aliases: bool = True, torn: tuple[str, ...] = ()) -> None:
        system = scalarize(read(EXAMPLES / "circuit.mo"))
        self.s: SortedSystem = sort_system(system, StructureOptions(aliases=aliases), torn)
        self.g = system.graph
        self.number = {variable.name: v for v, variable in enumerate(system.variables)}
        self.name = {v: name for name, v in self.number.items()}
        self.equation = {e.span.text: k for k, e in enumerate(self.s.equations) if e.span}

    @property
    def loops(self) -> list[Block]:
        return [block for block in self.s.blocks if len(block.variables) > 1]

    def values(self, seed: int, **more: Fraction) -> dict[int, Fraction]:
        """Random rational parameters, source and more; two polynomials of low degree that agree at 20 of them agree."""
        rnd = random.Random(seed)
        given = {name: Fraction(rnd.randint(1, 997), rnd.randint(1, 97)) for name in ("R1", "R2", "R3", "u0")}
        return {self.number[name]: value for name, value in (given | more).items()}

    def relaxed(self, order: list[tuple[str, str]], tears: list[str], residuals: list[str]) -> Relaxed:
        """Relaxation in an order of our own; a minus before an equation: right side - left side."""
        members = {v for block in self.loops for v in block.variables}
        sorter = Sorter(self.s.system, self.s.equations, self.s.states, StructureOptions())
        rows, right = {}, {}
        zero, u0 = self.g.intern((Op.CONST, 0.0)), self.g.intern((Op.VAR, self.number["u0"]))
        for text in [e for e, _ in order] + residuals:
            e = self.equation[text.lstrip("-")]
            sign = -1.0 if text.startswith("-") else 1.0
            row = sorter.rows[e]
            rows[e] = {v: self._signed(c, sign) for v, c in row.items() if v in members}
            right[e] = self._signed(u0, -sign) if self.number["u0"] in row else zero
        causal = [(self.equation[e.lstrip("-")], self.number[v]) for e, v in order]
        last = [self.equation[e.lstrip("-")] for e in residuals]
        return relax(self.g, causal, rows, right, [self.number[z] for z in tears], last)

    def _signed(self, e: int, sign: float) -> int:
        if sign > 0:
            return e
        node = self.g.nodes[e]
        return self.g.intern((Op.CONST, -node[1])) if node[0] == Op.CONST else self.g.intern((Op.NEG, e))


def loop_lines() -> dict[str, bool]:
    """Sizes and tears."""
    plain, short = Circuit(aliases=False), Circuit()
    lines = {
        "ten equations, state iL": len(plain.s.system.equations) == 10
        and [plain.name[v] for v in plain.s.states] == ["iL"],
        "without aliases one loop of six, the rest of one": [len(b.variables) for b in plain.loops] == [6]
        and sorted(plain.name[v] for v in plain.loops[0].variables) == ["i1", "i2", "i3", "u1", "u2", "u3"],
        "with aliases five": [len(b.variables) for b in short.loops] == [5],
        "one tear": len(plain.loops[0].tears) == 1 and len(short.loops[0].tears) == 1,
    }
    for name in ("i3", "i1", "u3"):
        found = Circuit(aliases=False, torn=(name,))
        (loop,) = found.loops
        lines[f"tear {name}, residual i1 = i2 + i3"] = [found.name[v] for v in loop.tears] == [name] and [
            e for text, e in found.equation.items() if text == "i1 = i2 + i3"
        ] == loop.residuals
    return lines


def formula_lines() -> dict[str, bool]:
    """i3 in closed form, and Newton's iteration in one step."""
    found = Circuit(aliases=False, torn=("i3",))
    (loop,) = found.loops
    closed = one_step = True
    for seed in range(20):
        n = found.values(seed)
        r1, r2, r3, u0 = (n[found.number[k]] for k in ("R1", "R2", "R3", "u0"))
        a, b = exact(found.g, loop.matrix[0][0], n), exact(found.g, loop.right[0], n)
        closed &= b / a == r2 / (r1 * r2 + r1 * r3 + r2 * r3) * u0
        for guess in (Fraction(0), Fraction(12345, 7)):
            z = guess - residual(found, loop, n, guess) / a
            one_step &= residual(found, loop, n, z) == 0
    return {"i3 = R2/(R1 R2 + R1 R3 + R2 R3) u0": closed, "Newton converges in one step": one_step}


def residual(circuit: Circuit, loop: Block, numbers: Mapping[int, Fraction], tear_value: Fraction) -> Fraction:
    """The steps of a loop at a guess, then its residual."""
    n = dict(numbers)
    n[loop.tears[0]] = tear_value
    for step in loop.steps:
        n[step.variable] = exact(circuit.g, step.expression, n)
    return exact(circuit.g, circuit.s.equations[loop.residuals[0]].residual, n)


def stall_lines() -> dict[str, bool]:
    """i1 with u1 = R1 i1 set aside stalls; two tears give the reduced system of the slides."""
    u1, u2, u3, i1, i2, i3 = range(6)
    inc = [[u1, i1], [u2, i2], [u3, i3], [u1, u3], [u3, u2], [i1, i2, i3]]
    solvable = [set(), *(set(row) for row in inc[1:])]
    stalled = tear(inc, solvable, forced=[i1])
    circuit = Circuit(aliases=False)
    order = [("u0 = u1 + u3", "u1"), ("u3 = u2", "u3"), ("u3 = R3*i3", "i3"), ("i1 = i2 + i3", "i2")]
    order = [order[1], order[0], *order[2:]]  # u3 first, u1 needs it
    found = circuit.relaxed(order, ["i1", "u2"], ["u1 = R1*i1", "u2 = R2*i2"])
    same = True
    for seed in range(20):
        n = circuit.values(seed)
        r1, r2, r3, u0 = (n[circuit.number[k]] for k in ("R1", "R2", "R3", "u0"))
        slides = [[r1, Fraction(1), u0], [r2 * r3, -(r2 + r3), Fraction(0)]]
        for wanted, row, right in zip(slides, found.matrix, found.right, strict=True):
            ours = [exact(circuit.g, e, n) for e in (*row, right)]
            same &= all(a * ours[0] == b * wanted[0] for a, b in zip(wanted, ours, strict=True))
    return {
        "tear i1, residual u1 = R1 i1: stalls, two tears": len(stalled.tears) == 2 and 0 in stalled.residuals,
        "[R1, 1; R2 R3, -(R2 + R3)] [i1; u2] = [u0; 0]": same,
    }


def relaxation_lines() -> dict[str, bool]:
    """c1 .. c8, one by one."""
    circuit = Circuit(aliases=False)
    order = [
        ("u3 = R3*i3", "u3"),
        ("-u0 = u1 + u3", "u1"),
        ("-u1 = R1*i1", "i1"),
        ("-u3 = u2", "u2"),
        ("-u2 = R2*i2", "i2"),
    ]
    found = circuit.relaxed(order, ["i3"], ["-i1 = i2 + i3"])
    same = [len(found.auxiliaries) == 8] + [True] * 8
    closed = True
    for seed in range(20):
        n = circuit.values(seed)
        r1, r2, r3, u0 = (n[circuit.number[k]] for k in ("R1", "R2", "R3", "u0"))
        c = [r3, -r3, r3, u0, 1 + r3 / r1, u0 / r1, -r3]
        c.append(c[4] - c[6] / r2)
        for k, (wanted, e) in enumerate(zip(c, found.auxiliaries, strict=True)):
            same[k + 1] &= exact(circuit.g, e, n) == wanted
        closed &= exact(circuit.g, found.right[0], n) / exact(circuit.g, found.matrix[0][0], n) == c[5] / c[7]
    lines = {"relaxation: eight auxiliaries": same[0]}
    lines |= {f"relaxation: c{k}": good for k, good in enumerate(same) if k}
    return lines | {"relaxation: i3 = c6/c8": closed}


def circuit() -> dict[str, bool]:
    """Every line of the lecture's example: does pliant give it exactly?"""
    lines = loop_lines() | formula_lines() | stall_lines() | relaxation_lines()
    for line, good in lines.items():
        print(f"  {'same ' if good else 'OTHER'} {line}")
    return lines


# ---------------------------------------------------------------------------------------------------- loops


def tears_over_minimum(count: int = 200) -> tuple[float, float]:
    """Average and largest ratio of our tears to the exact minimum, on random loops of 8 to 14 equations."""
    rnd = random.Random(2024)
    ratios = []
    for _ in range(count):
        inc, solvable = random_loop(rnd, rnd.randint(8, 14), 4)
        ratios.append(len(tear(inc, solvable).tears) / minimum(inc, solvable))
    average, worst = float(np.mean(ratios)), float(np.max(ratios))
    print(f"tears over the exact minimum, {count} random loops: average {average:.4f}, worst {worst:.2f}")
    return average, worst


# ------------------------------------------------------------------------------------------------- accuracy


def car_axis_digits() -> tuple[float, str]:
    """Significant correct digits at rtol 1e-8, and the method that `auto` took."""
    result = pliant.load(EXAMPLES / "car_axis.mo").simulate(stop=3, rtol=1e-8)
    error = max(abs(result[name][-1] / value - 1) for name, value in CAR_AXIS.items())
    scd = float(-np.log10(error))
    print(f"car axis, rtol 1e-8, {result.stats.method}: {scd:.2f} digits, {result.stats.n_steps} steps")
    return scd, result.stats.method


def pendulum_constraint(swings: int = 100) -> float:
    """Largest |x^2 + y^2 - l^2| over many swings at the default tolerance."""
    period = 4 / np.sqrt(9.81) * ellipk(0.5)  # released at 90 degrees
    result = pliant.load(EXAMPLES / "pendulum.mo").simulate(stop=swings * period, points=swings * 50 + 1)
    gap = float(np.abs(result["x"] ** 2 + result["y"] ** 2 - 1).max())
    rate = float(np.abs(result["x"] * result["vx"] + result["y"] * result["vy"]).max())
    drift = float(np.abs(result["energy"] - result["energy"][0]).max())
    print(f"pendulum, {swings} swings: |x2+y2-1| {gap:.1e}, its rate {rate:.1e}, energy {drift:.1e} J")
    return max(gap, rate)


# --------------------------------------------------------------------------------------------------- growth


@dataclass
class Size:
    """One model to C; CPU seconds and memory of a process of its own."""

    equations: int
    reading: float
    ours: float  # scalarizing, sorting, writing C
    parts: list[float]
    bytes: int  # of C
    gib: float  # peak of the process


SIZES = {"heat_rod": (500, 5_000, 50_000), "resistor_grid": (18, 41, 82)}


def to_c(example: str, n: int) -> Size:
    """Run in this process."""
    text = (EXAMPLES / f"{example}.mo").read_text("utf-8")
    model = {"heat_rod": "HeatRod", "resistor_grid": "ResistorGrid"}[example]
    begin = time.process_time()
    flat = read(f"{text}\nmodel Sized\n  extends {model}(N = {n});\nend Sized;\n", "Sized")
    reading = time.process_time() - begin
    best = [np.inf] * 3
    for _ in range(1 if n > 10_000 else 3):
        marks = [time.process_time()]
        system = scalarize(flat)
        marks.append(time.process_time())
        s = sort_system(system)
        marks.append(time.process_time())
        generated = generate(s)
        marks.append(time.process_time())
        new = np.diff(marks)
        if sum(new) < sum(best):
            best = new.tolist()
    return Size(len(system.equations), reading, sum(best), best, len(generated.text), peak_gib())


def peak_gib() -> float:
    """Peak resident memory of this process (of its own image: getrusage would count the parent's, too)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 2**20
    return float("nan")


def growth(example: str, quick: bool = False) -> list[Size]:
    """All sizes, each in its own process."""
    rows = []
    for n in SIZES[example][: 2 if quick else 3]:
        done = subprocess.run(
            [sys.executable, __file__, "--size", example, str(n)], capture_output=True, text=True, check=True
        )
        row = Size(**json.loads(done.stdout))
        rows.append(row)
        first = rows[0]
        per = row.ours / row.equations / (first.ours / first.equations)
        print(
            f"{example:14} {row.equations:7d} equations: per equation {per:5.2f} of the smallest, "
            f"to C {row.ours:6.2f} s ({'+'.join(f'{p:.2f}' for p in row.parts)}), "
            f"reading {row.reading:6.2f} s, {row.bytes / 2**20:.1f} MiB of C, peak {row.gib:.2f} GiB",
            flush=True,
        )
    return rows


def spread(rows: list[Size]) -> float:
    """Largest over least time per equation."""
    per = [row.ours / row.equations for row in rows]
    return max(per) / min(per)


# ----------------------------------------------------------------------------------------------- same text


def digests(names: list[str]) -> dict[str, str]:
    """Hash of the C text of every model."""
    out = {}
    for name in names:
        flat = read("\n", name) if name.startswith("Modelica.") else read(EXAMPLES / name)
        out[name] = hashlib.sha256(generate(sort_system(scalarize(flat))).text.encode()).hexdigest()
    return out


def same_text(libraries: list[str]) -> tuple[int, list[str]]:
    """Models generated in two processes with different hash seeds; how many, and those that differ."""
    names = [*sorted(file.name for file in EXAMPLES.glob("*.mo")), *libraries]
    found = []
    for seed in ("1", "77777"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, __file__, "--digests", *names]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.append(json.loads(done.stdout))
    other = [name for name in names if found[0][name] != found[1][name]]
    print(f"C text in two processes: {len(names) - len(other)} of {len(names)} models byte-identical {other or ''}")
    return len(names), other


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(PARTS)}; all without")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--size", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--digests", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.size:
        print(json.dumps(vars(to_c(arguments.size[0], int(arguments.size[1])))))
        return
    if arguments.digests:
        print(json.dumps(digests(arguments.digests)))
        return
    wanted = arguments.parts or PARTS
    if "circuit" in wanted:
        circuit()
    if "loops" in wanted:
        tears_over_minimum()
    if "accuracy" in wanted:
        car_axis_digits()
        pendulum_constraint()
    if "growth" in wanted:
        for example in SIZES:
            growth(example, arguments.quick)
    if "same" in wanted:
        same_text([])


if __name__ == "__main__":
    main()
