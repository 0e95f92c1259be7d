"""The factorisation and solution of a stepper alone, on given numbers: to time it and to test it."""

from __future__ import annotations

import ctypes
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.arguments import Vector
from pliant.codegen.places import Argument, Array, Owner
from pliant.codegen.plan import FunctionPlan
from pliant.compiling.compiler import load_text
from pliant.expr.build import var
from pliant.ir import Graph
from pliant.realtime.code.algebra import Algebra
from pliant.realtime.code.operations import Operations, count_operations
from pliant.realtime.code.places import CHANGE, StepLayout
from pliant.realtime.code.run import STEP_FLAGS
from pliant.realtime.code.tables import Tables
from pliant.realtime.code.write import StepContext, StepWriter, helpers
from pliant.realtime.sparsing.elimination import Elimination


class FactorSolve:
    """``solve(values, right)``: values in the order of ``elimination.entries``."""

    def __init__(self, elimination: Elimination, *, precision: str = "double", style: str = "straight-line") -> None:
        self.elimination = elimination
        self.type = np.float64 if precision == "double" else np.float32
        w = Algebra(Graph(), [])
        self.layout = StepLayout("factor_solve", precision)
        context = StepContext(w.g, w.variables, self.layout)
        value, b = Array("value", Owner.ARGUMENT), Array("b", Owner.ARGUMENT)
        entries = {}
        for k, (i, j) in enumerate(elimination.entries):
            v = w.temporary(f"b.{i}.{j}")
            context.places[v] = value.at(k)
            entries[i, j] = var(w.g, v)
        right = [w.temporary(f"right.{i}") for i in range(elimination.n)]
        context.places |= {v: b.at(i) for i, v in enumerate(right)}
        factors = w.factor(elimination, entries, "lu")
        listed = [e for row in (*factors.lower, *factors.upper) for _, e in row] + factors.inverse
        self.factor_operations: Operations = count_operations(
            FunctionPlan(w.shared, w.out, [[(CHANGE.at(), e) for e in listed]])
        )
        dx = w.solve(factors, [var(w.g, v) for v in right], "dx")
        order = [c for _, c in reversed(elimination.pivots)]
        plan = FunctionPlan(w.shared, w.out, [[(CHANGE.at(i), dx[i]) for i in order]])
        self.operations: Operations = count_operations(plan)
        arguments = [Argument("value", is_const=True), Argument("b", is_const=True), Argument("dx")]
        if style == "tables":
            text = self._by_tables()
        else:
            text = StepWriter(context, "factor_solve", plan, arguments, exported=True).write({}, {})
        prototype = "void factor_solve(const pl_real *restrict, const pl_real *restrict, pl_real *restrict);\n"
        repeat = (
            "void repeat(int64_t n, const pl_real *value, const pl_real *b, pl_real *dx);\n"
            "void repeat(int64_t n, const pl_real *value, const pl_real *b, pl_real *dx) {\n"
            "    for (int64_t k = 0; k < n; k++) factor_solve(value, b, dx);\n}\n"
        )
        head = f"#include <stdint.h>\n#include <math.h>\n#include <string.h>\ntypedef {precision} pl_real;\n"
        self.text = "\n".join([head, helpers(precision), prototype, text, repeat])
        self.library = load_text(self.text, "factor_solve", flags=(*STEP_FLAGS, "-fno-inline")).library

    def _by_tables(self) -> str:
        tables = Tables(self.elimination, "lu")
        n = self.elimination.n
        return f"""{tables.text(self.layout)}
void factor_solve(const pl_real *restrict value, const pl_real *restrict b, pl_real *restrict dx) {{
    pl_real a[{tables.size}], d[{n}], right[{n}];
    memset(a, 0, sizeof a);
    memcpy(a, value, {len(self.elimination.entries)} * sizeof(pl_real));
    memcpy(right, b, sizeof right);
    lu_factor(a, d);
    lu_solve(a, d, right, dx);
}}
"""

    def _call(self, values: Vector, right: Vector, repeat: int) -> NDArray[Any]:
        given = [np.ascontiguousarray(one, dtype=self.type) for one in (values, right)]
        out = np.empty(self.elimination.n, self.type)
        places = [ctypes.c_void_p(one.ctypes.data) for one in (*given, out)]
        self.library.repeat(ctypes.c_int64(repeat), *places)
        return out

    def solve(self, values: Vector, right: Vector) -> NDArray[Any]:
        """Solution of one system."""
        return self._call(values, right, 1)

    def time(self, values: Vector, right: Vector, n: int = 10_000, repeat: int = 5) -> float:
        """Seconds of one factorisation and solution, the best of several runs."""
        best = float("inf")
        for _ in range(repeat):
            begin = time.perf_counter()
            self._call(values, right, n)
            best = min(best, time.perf_counter() - begin)
        return best / n
