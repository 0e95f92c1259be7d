"""The C that pliant generates against CasADi's, from the same equations, with the same compiler and flags.

python benchmarks/generated_code.py [part of a name ...] [--quick]

CasADi gets the sorted statements one by one, as SX: every node is translated, linear loops are eliminated symbolically
(pliant factorises them with pivoting at run time), expressions are shared (cse). One small C loop calls both, at points
and times that vary a little; CPU time a call, least of interleaved repeats. The stack begins elsewhere in every round,
and the median of the rounds' ratios counts: where stack and data fall on the same lines of the cache is luck, and worth
up to 20 %. Values are compared before.
"""

from __future__ import annotations

import argparse
import ctypes
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi
import msl
import numpy as np
from numpy.typing import NDArray
from peers import ROOT
from problems import problem

from pliant.codegen.emit import Generated, generate
from pliant.codegen.program import Assign, Solve
from pliant.compiling.compiler import FLAGS, find_compiler
from pliant.frontend.flat.model import FlatModel
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Kind, Op
from pliant.solve.models.generated import GeneratedModel
from pliant.structure.pipeline import sort_system

POINTS = 8  # a power of two
PAGE, STACK_STEP = 4096, 272  # bytes; a round begins so much further down
SX = casadi.SX
Array = NDArray[np.float64]
ROBOT = "Modelica.Mechanics.MultiBody.Examples.Systems.RobotR3.Utilities.MechanicalStructure"
PENDULUM = "Modelica.Mechanics.MultiBody.Examples.Elementary.DoublePendulum"

DOUBLE_PENDULUM = """model DoublePendulum "Lagrange's equations: a linear loop of the two accelerations"
  parameter Real m1 = 1, m2 = 1, l1 = 1, l2 = 1, g = 9.81;
  Real a, b, va, vb;
equation
  der(a) = va;
  der(b) = vb;
  (m1 + m2)*l1*der(va) + m2*l2*(der(vb)*cos(a - b) + vb^2*sin(a - b)) + (m1 + m2)*g*sin(a) = 0;
  l2*der(vb) + l1*(der(va)*cos(a - b) - va^2*sin(a - b)) + g*sin(b) = 0;
end DoublePendulum;
"""

DRIVER = """
void run_ours(int (*f)(void *, double, const double *, const double *, double *), void *self, const double *t,
              const double *x, const double *u, double *out, int n, int points, long calls, int shift) {
    volatile char room[shift + 1];
    room[0] = room[shift] = 0;
    for (long i = 0; i < calls; i++) f(self, t[i & (points - 1)], x + (i & (points - 1)) * n, u, out);
}
void run_peer(int (*f)(const double **, double **, long long *, double *, int), const double **arg, double **res,
              long long *iw, double *w, const double *t, const double *x, int n, int points, long calls, int shift) {
    volatile char room[shift + 1];
    room[0] = room[shift] = 0;
    for (long i = 0; i < calls; i++) {
        arg[0] = t + (i & (points - 1));
        arg[1] = x + (i & (points - 1)) * n;
        f(arg, res, iw, w, 0);
    }
}
"""

# ---------------------------------------------------------------------------------------------------- models


class Text:
    """Expressions of a test problem as Modelica text: what Python does with them is written down."""

    def __init__(self, text: str) -> None:
        self.text = text

    def _with(self, other: Any, symbol: str, turned: bool = False) -> Text:
        there = other.text if isinstance(other, Text) else repr(float(other))
        there = f"({there})" if there.startswith("-") else there
        a, b = (there, self.text) if turned else (self.text, there)
        return Text(f"({a} {symbol} {b})")

    def __add__(self, other: Any) -> Text:
        return self._with(other, "+")

    def __radd__(self, other: Any) -> Text:
        return self._with(other, "+", True)

    def __sub__(self, other: Any) -> Text:
        return self._with(other, "-")

    def __rsub__(self, other: Any) -> Text:
        return self._with(other, "-", True)

    def __mul__(self, other: Any) -> Text:
        return self._with(other, "*")

    def __rmul__(self, other: Any) -> Text:
        return self._with(other, "*", True)

    def __truediv__(self, other: Any) -> Text:
        return self._with(other, "/")

    def __rtruediv__(self, other: Any) -> Text:
        return self._with(other, "/", True)

    def __pow__(self, other: Any) -> Text:
        return self._with(other, "^")

    def __neg__(self) -> Text:
        return Text(f"(-{self.text})")


class Functions:
    """exp, sin, ... of a Text."""

    def __getattr__(self, name: str) -> Callable[[Text], Text]:
        return lambda value: Text(f"{name}({value.text})")


def of_problem(name: str) -> str:
    """A test problem as Modelica."""
    found = problem(name)
    right = found.equations(Text("time"), [Text(f"x[{i + 1}]") for i in range(found.n)], Functions())
    lines = [f"  der(x[{i + 1}]) = {e.text if isinstance(e, Text) else float(e)};" for i, e in enumerate(right)]
    return f"model Problem\n  Real x[{found.n}];\nequation\n" + "\n".join(lines) + "\nend Problem;\n"


def sized(example: str, model: str, n: int) -> str:
    """An example with another N."""
    text = (ROOT / "examples" / f"{example}.mo").read_text("utf-8")
    return f"{text}\nmodel Sized\n  extends {model}(N = {n});\nend Sized;\n"


def models(wanted: Iterable[str] = (), quick: bool = False) -> dict[str, tuple[Any, str]]:
    """name -> (rumoca's model, form)"""
    makers: dict[str, tuple[Callable[[], Any], str]] = {
        **{
            name: (lambda name=name: read(of_problem(name)), "auto")
            for name in ("hires", "pollution", "ringmod", "pleiades")
        },
        **{
            name: (lambda name=name: read(ROOT / "examples" / f"{name}.mo"), "auto") for name in ("circuit", "dc_drive")
        },
        "double pendulum": (lambda: read(DOUBLE_PENDULUM), "auto"),
        # its loops are nonlinear: their unknowns join the states
        "transistor_amplifier": (lambda: read(ROOT / "examples" / "transistor_amplifier.mo"), "dae"),
        "heat_rod 500": (lambda: read(sized("heat_rod", "HeatRod", 500)), "auto"),
        "resistor_grid 12": (lambda: read(sized("resistor_grid", "ResistorGrid", 12)), "auto"),
    }
    if msl.library() and not quick:
        makers["MSL DoublePendulum"] = (lambda: read("\n", PENDULUM), "auto")
        makers["MSL robot mechanics"] = (lambda: read("\n", ROBOT), "auto")
    chosen = [name for name in makers if not wanted or any(part in name for part in wanted)]
    return {name: (makers[name][0](), makers[name][1]) for name in chosen}


# ---------------------------------------------------------------------------------------------------- CasADi

_BINARY: dict[int, Callable[[Any, Any], Any]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b,
    Op.POW: lambda a, b: a**b,
    Op.LT: casadi.lt,
    Op.LE: casadi.le,
    Op.EQ: casadi.eq,
    Op.NE: casadi.ne,
    Op.AND: casadi.logic_and,
    Op.OR: casadi.logic_or,
    Op.MIN: casadi.fmin,
    Op.MAX: casadi.fmax,
    Op.ATAN2: casadi.atan2,
}
_UNARY: dict[int, Callable[[Any], Any]] = {
    Op.NEG: lambda a: -a,
    Op.NOT: casadi.logic_not,
    Op.ABS: casadi.fabs,
    Op.SIGN: casadi.sign,
    Op.SQRT: casadi.sqrt,
    Op.SIN: casadi.sin,
    Op.COS: casadi.cos,
    Op.TAN: casadi.tan,
    Op.ASIN: casadi.asin,
    Op.ACOS: casadi.acos,
    Op.ATAN: casadi.atan,
    Op.SINH: casadi.sinh,
    Op.COSH: casadi.cosh,
    Op.TANH: casadi.tanh,
    Op.EXP: casadi.exp,
    Op.LOG: casadi.log,
    Op.LOG10: casadi.log10,
    Op.FLOOR: casadi.floor,
    Op.CEIL: casadi.ceil,
}


class Translation:
    """A program of pliant as CasADi expressions; what pliant keeps in memory (relations, ...) is zero in both."""

    def __init__(self, generated: Generated) -> None:
        self.program = generated.program
        system = self.program.sorted.system
        self.g = system.graph
        self.time = SX.sym("t")
        self.x = SX.sym("x", len(self.program.x))
        self.u = SX.sym("u", len(self.program.u))
        self.p = SX.sym("p", len(self.program.p))
        self.memory: list[Any] = []
        self.of_variable: dict[int, Any] = {}
        for symbol, members in ((self.x, self.program.x), (self.u, self.program.u), (self.p, self.program.p)):
            self.of_variable |= {v: symbol[k] for k, v in enumerate(members)}
        kept = (Kind.DISCRETE, Kind.SELECTION)
        for v, variable in enumerate(system.variables):
            if v not in self.of_variable and variable.kind in kept:
                self.of_variable[v] = self._kept()
        self.of_node: dict[int, Any] = {}

    def _kept(self) -> Any:
        self.memory.append(SX.sym(f"m{len(self.memory)}"))
        return self.memory[-1]

    def node(self, e: int) -> Any:
        """Expression e."""
        stack = [e]
        while stack:
            i = stack[-1]
            if i in self.of_node:
                stack.pop()
                continue
            op, *rest = self.g.nodes[i]
            if op == Op.CONST:
                self.of_node[i] = SX(rest[0])
            elif op == Op.VAR:
                self.of_node[i] = self.of_variable[rest[0]]
            elif op == Op.TIME:
                self.of_node[i] = self.time
            elif op == Op.REL:
                self.of_node[i] = self._kept()
            elif op in (Op.TABLE, Op.CALL, Op.ARG):
                raise NotImplementedError("CasADi's SX has no tables and no functions that stay whole")
            else:
                missing = [a for a in rest if a not in self.of_node]
                if missing:
                    stack += missing
                    continue
                a = [self.of_node[k] for k in rest]
                if op in _BINARY:
                    self.of_node[i] = _BINARY[op](*a)
                elif op == Op.IF:
                    self.of_node[i] = casadi.if_else(*a)
                elif op == Op.HOMOTOPY:
                    self.of_node[i] = a[0]
                else:
                    self.of_node[i] = _UNARY[op](*a)
        return self.of_node[e]

    def run(self) -> tuple[Any, Any]:
        """The right sides, and their sparse Jacobian by the states."""
        for statement in self.program.statements:
            if isinstance(statement, Assign):
                self.of_variable[statement.target] = self.node(statement.expression)
            elif isinstance(statement, Solve):
                matrix = [[self.node(e) for e in row] for row in statement.matrix]
                found = eliminate(matrix, [self.node(e) for e in statement.right])
                self.of_variable |= dict(zip(statement.targets, found, strict=True))
            else:
                raise NotImplementedError("a nonlinear loop has no closed form")
        f = casadi.vertcat(*(self.node(e) for e in self.program.f))
        return f, casadi.jacobian(f, self.x)


def eliminate(matrix: list[list[Any]], right: list[Any]) -> list[Any]:
    """Gaussian elimination of a small system; a pivot only has to be there."""
    n = len(right)
    a = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(n):
        pivot = next(i for i in range(k, n) if not a[i][k].is_zero())
        a[k], a[pivot] = a[pivot], a[k]
        for i in range(k + 1, n):
            if not a[i][k].is_zero():
                factor = a[i][k] / a[k][k]
                a[i] = [*a[i][: k + 1], *(p - factor * q for p, q in zip(a[i][k + 1 :], a[k][k + 1 :], strict=True))]
    z: list[Any] = [None] * n
    for k in reversed(range(n)):
        total = a[k][n]
        for j in range(k + 1, n):
            total = total - a[k][j] * z[j]
        z[k] = total / a[k][k]
    return z


# ----------------------------------------------------------------------------------------------- measurement


def compiled(text: str, folder: Path, name: str) -> ctypes.CDLL:
    """Compile C text with pliant's flags."""
    source, target = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run([*find_compiler(), *FLAGS, "-shared", "-o", str(target), str(source), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def address(function: Any) -> int:
    """Where a C function is."""
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


class Ours:
    """The compiled model of pliant."""

    def __init__(self, generated: Generated, driver: ctypes.CDLL) -> None:
        self.model = GeneratedModel.compile(generated, "")
        self.p = np.array(self.model.p_start, dtype=float)
        self.instance = self.model.instance(self.p)
        struct = self.model.struct
        self.functions = {"f": struct.rhs, "J": struct.jac_value}
        self.run_c = driver.run_ours
        self.run_c.argtypes = [ctypes.c_void_p] * 6 + [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_int]

    def run(self, which: str, t: Array, x: Array, out: Array, calls: int, shift: int = 0) -> None:
        u = np.zeros(max(self.model.struct.n_u, 1))
        self.run_c(
            int(ctypes.cast(self.functions[which], ctypes.c_void_p).value or 0),
            self.instance.address,
            t.ctypes.data,
            x.ctypes.data,
            u.ctypes.data,
            out.ctypes.data,
            x.shape[1],
            len(t),
            calls,
            shift,
        )


class Peer:
    """The same as CasADi writes it."""

    def __init__(self, generated: Generated, p: Array, driver: ctypes.CDLL, folder: Path, name: str) -> None:
        made = Translation(generated)
        f, j = made.run()
        memory = casadi.vertcat(*made.memory) if made.memory else SX(0, 1)
        writer = casadi.CodeGenerator(f"{name}.c", {"with_header": False})
        arguments = [made.time, made.x, made.u, made.p, memory]
        self.pattern = j.sparsity()
        functions = {
            "f": casadi.Function("f", arguments, [casadi.densify(f)], {"cse": True}),
            "J": casadi.Function("J", arguments, [j], {"cse": True}),
        }
        for function in functions.values():
            writer.add(function)
        self.library = compiled(writer.dump(), folder, name)
        self.functions = {which: address(getattr(self.library, which)) for which in functions}
        self.inputs = [np.zeros(max(made.u.numel(), 1)), p, np.zeros(max(len(made.memory), 1))]
        self.iw = np.zeros(max(1, *(one.sz_iw() for one in functions.values())), dtype=np.int64)
        self.w = np.zeros(max(1, *(one.sz_w() for one in functions.values())))
        self.n_operations = {which: one.n_instructions() for which, one in functions.items()}
        self.run_c = driver.run_peer
        self.run_c.argtypes = [ctypes.c_void_p] * 7 + [ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_int]

    def run(self, which: str, t: Array, x: Array, out: Array, calls: int, shift: int = 0) -> None:
        arg = (ctypes.c_void_p * 8)(None, None, *(one.ctypes.data for one in self.inputs))
        res = (ctypes.c_void_p * 8)(out.ctypes.data)
        self.run_c(
            self.functions[which],
            ctypes.addressof(arg),
            ctypes.addressof(res),
            self.iw.ctypes.data,
            self.w.ctypes.data,
            t.ctypes.data,
            x.ctypes.data,
            x.shape[1],
            len(t),
            calls,
            shift,
        )


@dataclass
class Comparison:
    """CasADi's time over ours; more than 1: ours is faster."""

    name: str
    folded: bool
    n_x: int
    f: float
    jacobian: float


def check(name: str, ours: Ours, peer: Peer, generated: Generated, t: Array, x: Array) -> None:
    """Both must give the same numbers, or there is nothing to compare."""
    n = x.shape[1]
    mine, theirs = np.zeros(n), np.zeros(n)
    ours.run("f", t[:1], x[:1], mine, 1)
    peer.run("f", t[:1], x[:1], theirs, 1)
    a, b = np.zeros(len(generated.jacobian)), np.zeros(peer.pattern.nnz())
    ours.run("J", t[:1], x[:1], a, 1)
    peer.run("J", t[:1], x[:1], b, 1)
    dense = np.zeros((n, n)), np.zeros((n, n))
    for value, (i, j) in zip(a, generated.jacobian, strict=True):
        dense[0][i, j] = value
    rows, columns = peer.pattern.get_triplet()
    dense[1][rows, columns] = b
    for what, p, q in (("f", mine, theirs), ("J", *dense)):
        gap = np.abs(p - q).max() / max(np.abs(q).max(), 1e-300)
        if not gap < 1e-8:
            raise ArithmeticError(f"{name}: {what} differs from CasADi's by {gap:.1e} of its largest entry")


def times(ours: Ours, peer: Peer, which: str, t: Array, x: Array, size: int, rounds: int) -> float:
    """CPU time of CasADi over that of pliant: median over the rounds, each with its own place on the stack."""
    out = np.zeros(max(size, 1))
    calls = 64
    while True:  # as many calls as take some milliseconds
        begin = time.process_time()
        ours.run(which, t, x, out, calls)
        if time.process_time() - begin > 2e-3:
            break
        calls *= 2
    ratios = []
    for k in range(rounds):
        least = [np.inf, np.inf]
        for repeat in range(6):
            begin = time.process_time()
            (ours, peer)[repeat % 2].run(which, t, x, out, calls, k * STACK_STEP % PAGE)
            least[repeat % 2] = min(least[repeat % 2], time.process_time() - begin)
        ratios.append(least[1] / least[0])
    return float(np.median(ratios))


def compare(name: str, flat: FlatModel, form: str, folded: bool, rounds: int) -> Comparison:
    """One model."""
    generated = generate(sort_system(scalarize(flat, fold_parameters=folded)), form)
    n = len(generated.program.x)
    rng = np.random.default_rng(1)
    x = rng.uniform(0.1, 1.0, n) + 1e-3 * rng.uniform(size=(POINTS, n))
    t = 0.1 + 1e-3 * np.arange(POINTS)
    with tempfile.TemporaryDirectory() as folder:
        driver = compiled(DRIVER, Path(folder), "driver")
        ours = Ours(generated, driver)
        peer = Peer(generated, ours.p, driver, Path(folder), "peer")
        check(name, ours, peer, generated, t, x)
        size = max(len(generated.jacobian), peer.pattern.nnz())
        f = times(ours, peer, "f", t, x, n, rounds)
        jacobian = times(ours, peer, "J", t, x, size, rounds)
    return Comparison(name, folded, n, f, jacobian)


def main(wanted: Iterable[str] = (), quick: bool = False) -> list[Comparison]:
    """Print the table."""
    rows = []
    print(f"CasADi's CPU time over pliant's\n{'model':22} {'parameters':>10} {'states':>6} {'f':>6} {'Jacobian':>8}")
    for name, (flat, form) in models(wanted, quick).items():
        for folded in (False, True):
            try:
                row = compare(name, flat, form, folded, 5 if quick else 31)
            except NotImplementedError as error:
                print(f"{name:22} not compared: {error}")
                continue
            rows.append(row)
            kind = "folded" if folded else "tunable"
            print(f"{name:22} {kind:>10} {row.n_x:6d} {row.f:6.2f} {row.jacobian:8.2f}", flush=True)
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, without the standard library")
    given = parser.parse_args()
    main(given.names, given.quick)
