"""Watching a running step: cheap signs that the fixed pattern, order or step is no longer good.

    pivots     |pivot| within stored limits
    ringing    dx_k dx_(k-1) < 0, both above a limit, for several steps in a row
    error      (x_(k+1) - 2 x_k + x_(k-1)) / 2, the local error of the implicit Euler method, in units of scale
    dropped    L dx_k - tau f_(k+1) = -(E dx_k) + O(dx^2) on rows that do not depend on inputs or time: what the dropped
               entries would have added, known one step later without another evaluation of f

All loops have constant trip counts, choices are made without branches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.codegen.shells import wrapped
from pliant.errors import ArgumentError
from pliant.realtime.stepper.operations import Operations
from pliant.realtime.stepper.types import MonitorLimits, StepPlan, StepSystem, Vector
from pliant.realtime.stepper.write import Context

FLAGS = ("PIVOT", "RINGING", "ERROR", "DROPPED", "NOT_FINITE")


def flags_struct(n: str) -> str:
    """The struct that the monitor fills, and its bits."""
    bits = ", ".join(f"{n.upper()}_{flag} = {1 << k}" for k, flag in enumerate(FLAGS))
    return f"""enum {{ {bits} }};

typedef struct {n}_flags {{
    unsigned bits;       /* sum of {n.upper()}_... */
    int pivot;           /* number of the worst pivot, in the order of elimination */
    {n}_real pivot_share; /* its modulus in units of the limit it breaks first; above 1: broken */
    int ringing;         /* number of the unknown that rings longest */
    int ringing_steps;   /* for so many steps */
    int error;           /* number of the unknown with the largest local error */
    {n}_real error_size; /* in units of its scale */
    int dropped;         /* number of the row with the largest dropped part */
    {n}_real dropped_size;
}} {n}_flags;
"""


class MonitorText:
    """Text of the monitor and of the guarded step."""

    def __init__(self, plan: StepPlan, name: str) -> None:
        self.plan, self.name = plan, name
        self.c: Context = plan.context
        self.n = len(plan.lowering.program.x)
        self.system: StepSystem = plan.systems[0]
        self.pivots = self._moving_pivots()
        self.rows = plan.watched if plan.options.order == 1 else []
        self.constant_bytes = 0

    def _moving_pivots(self) -> list[int]:
        """Pivots that change during a simulation."""
        if self.system.tables:
            return list(range(self.n))
        fixed = self.plan.lowering.is_fixed
        return [k for k, e in enumerate(self.system.factors[0].pivot) if not fixed(e)]

    def fields(self, real: str) -> list[tuple[str, int, str]]:
        """Members of the instance."""
        return [
            (f"{real} dx[{{}}];", self.n, "change in the last step"),
            (f"{real} dx_before[{{}}];", self.n, "change in the step before"),
            (f"{real} right[{{}}];", self.n, "tau f of the last step"),
            (f"{real} pivot[{{}}];", len(self.pivots), "pivots of the last step"),
            ("int32_t ringing[{}];", self.n, "steps in a row with changing sign"),
        ]

    def _limit(self, given: Vector | None, default: Sequence[float] | Vector, what: str) -> Vector:
        values = np.asarray(default if given is None else given, dtype=float)
        if values.shape != (self.n,):
            raise ArgumentError(f"limits.{what} has shape {values.shape}, expected {(self.n,)}")
        return values

    def _array(self, name: str, values: Sequence[float] | Vector) -> str:
        items = [self.c.literal(float(value)) for value in values]
        self.constant_bytes += (8 if self.c.precision == "double" else 4) * len(items)
        return f"static const pl_real {name}[] = {{{wrapped(items or ['0'])}}};"

    def _data(self, limits: MonitorLimits) -> str:
        n = self.n
        scale = self._limit(limits.scale, np.maximum(1.0, np.abs(np.asarray(self.plan.start.x))), "scale")
        low = self._limit(limits.pivot_low, np.zeros(n), "pivot_low")[self.pivots]
        high = self._limit(limits.pivot_high, np.full(n, np.inf), "pivot_high")[self.pivots]
        ringing = self._limit(limits.ringing, 1e-3 * scale, "ringing")
        n_states = self.plan.lowering.program.n_states
        rows = np.where(np.arange(n) < n_states, scale, np.inf)
        row_scale = self._limit(limits.row_scale, rows, "row_scale")[self.rows]
        mass = [1.0 if i < n_states else 0.0 for i in self.rows]
        pivots = [self._array("pivot_low", low), self._array("pivot_high", 1.0 / high)]
        pivots.append(f"static const int32_t pivot_number[] = {{{wrapped([str(k) for k in self.pivots], 20)}}};")
        return "\n".join(
            [
                *(pivots if self.pivots else []),
                self._array("ringing_limit", ringing),
                self._array("per_scale", 1.0 / scale),
                self._array("per_row_scale", 1.0 / row_scale),
                self._array("row_mass", mass),
                f"static const int32_t watched_row[] = {{{wrapped([str(i) for i in self.rows] or ['0'], 20)}}};",
            ]
        )

    def _pivot_text(self, fabs: str) -> str:
        if not self.pivots:
            return ""
        return f"""    for (int k = 0; k < {len(self.pivots)}; k++) {{
        const pl_real size = {fabs}(m->pivot[k]);
        const pl_real share = pl_max(pivot_low[k] / size, size * pivot_high[k]);
        const int worse = share > out.pivot_share;
        out.pivot_share = pl_select(worse, share, out.pivot_share);
        out.pivot += worse * (pivot_number[k] - out.pivot);
        not_finite |= !(size - size == 0);
    }}
"""

    def text(self) -> str:
        """Data and function."""
        n, c, limits = self.name, self.c, self.plan.options.limits
        fabs = "fabs" if c.precision == "double" else "fabsf"
        flag = n.upper()
        half, one = c.literal(0.5), c.literal(1.0)
        return f"""{self._data(limits)}

unsigned {n}_monitor({n} *m, {n}_flags *flags) {{
    {n}_flags out = {{0}};
    int not_finite = 0;
    const int is_known = m->step >= 2;
{self._pivot_text(fabs)}    for (int i = 0; i < {self.n}; i++) {{
        const pl_real d = m->dx[i], before = m->dx_before[i];
        const int rings = (d * before < 0) & ({fabs}(d) > ringing_limit[i]) & ({fabs}(before) > ringing_limit[i]);
        m->ringing[i] = rings * (m->ringing[i] + 1);
        int worse = m->ringing[i] > out.ringing_steps;
        out.ringing_steps += worse * (m->ringing[i] - out.ringing_steps);
        out.ringing += worse * (i - out.ringing);
        const pl_real error = {half} * {fabs}(d - before) * per_scale[i];
        worse = (error > out.error_size) & is_known;
        out.error_size = pl_select(worse, error, out.error_size);
        out.error += worse * (i - out.error);
        not_finite |= !(d - d == 0);
    }}
    for (int k = 0; k < {len(self.rows)}; k++) {{
        const int i = watched_row[k];
        const pl_real part = {fabs}(row_mass[k] * m->dx_before[i] - m->right[i]) * per_row_scale[k];
        const int worse = (part > out.dropped_size) & is_known;
        out.dropped_size = pl_select(worse, part, out.dropped_size);
        out.dropped += worse * (i - out.dropped);
    }}
    out.bits = (out.pivot_share > {one}) * {flag}_PIVOT + (out.ringing_steps >= {limits.ringing_steps}) * {flag}_RINGING
        + (out.error_size > {c.literal(limits.error)}) * {flag}_ERROR
        + (out.dropped_size > {c.literal(limits.dropped)}) * {flag}_DROPPED + not_finite * {flag}_NOT_FINITE;
    *flags = out;
    return out.bits;
}}
"""

    def operations(self) -> Operations:
        """Operations of one call."""
        n, rows, pivots = self.n, len(self.rows), len(self.pivots)
        return Operations(
            add=2 * n + rows + pivots,
            mul=3 * n + 2 * rows + pivots,
            div=pivots,
            compare=6 * n + rows + 3 * pivots,
            select=6 * n + 3 * rows + 4 * pivots,
        )

    def guarded(self) -> str:
        """The step that falls back to the full pattern."""
        n, flag = self.name, self.name.upper()
        return f"""unsigned {n}_step_guarded_jump({n} *m, const {n}_inputs *u, const {n}_inputs *after) {{
    const {n} saved = *m;
    {n}_flags flags;
    {n}_step_jump(m, u, after);
    const unsigned broken = {n}_monitor(m, &flags) & ({flag}_PIVOT | {flag}_RINGING | {flag}_NOT_FINITE);
    if (broken) {{
        *m = saved;
        {n}_step_full_jump(m, u, after);
    }}
    return broken;
}}

unsigned {n}_step_guarded({n} *m, const {n}_inputs *u) {{
    return {n}_step_guarded_jump(m, u, u);
}}
"""
