"""Watching a running step: cheap signs that the fixed pattern, order or step is no longer good.

    pivots     |pivot| within stored limits
    ringing    dx_k dx_(k-1) < 0, both above a limit, for several steps in a row
    error      (x_(k+1) - 2 x_k + x_(k-1)) / 2, the local error of the implicit Euler method, in units of scale; where
               inputs or discrete variables may jump between two steps (order 1), the smaller one of this and
               (dx_k - tau f_k) / 2, which knows nothing of the step before, but of stiff states too much
    dropped    L dx_k - tau f_(k+1) = -(E dx_k) + O(dx^2) on rows that do not depend on inputs, time or discrete
               variables: what the dropped entries would have added, known one step later without another evaluation
               of f
    range      unknowns, inputs and parameters within what the evidence covers; inputs also change by no more in a step,
               a jump at its end included
    finite     unknowns, discrete variables and inputs are numbers

The guarded step keeps to the full pattern once a flag was raised, until no flag was raised for ``hold`` steps.
All loops have constant trip counts, choices are made without branches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pliant.arguments import Vector
from pliant.codegen.arrays import of_instance
from pliant.codegen.c_text import wrapped
from pliant.codegen.places import Argument, Array, Field, ValueKind
from pliant.errors import ArgumentError
from pliant.realtime.code.delays import RING
from pliant.realtime.code.fixed import fixed
from pliant.realtime.code.operations import Operations
from pliant.realtime.code.places import CHANGE, GIVEN_AFTER, GIVEN_INPUTS, INSTANCE, MEMORIES, RESETS, STEP, X
from pliant.realtime.code.types import MonitorLimits, StepPlan, StepSystem
from pliant.realtime.code.write import StepContext
from pliant.realtime.flags import Flag

FLAGS = tuple(flag.name for flag in Flag)

# of the instance
LAST_CHANGE, CHANGE_BEFORE = of_instance("dx"), of_instance("dx_before")
RIGHT, PIVOT = of_instance("right"), of_instance("pivot")
SEEN = of_instance("seen")
RINGING = of_instance("ringing", ValueKind.COUNT)
OUTSIDE, OUTSIDE_NUMBER = of_instance("outside"), of_instance("outside_number", ValueKind.COUNT)
NOT_FINITE, HELD = of_instance("not_finite", ValueKind.COUNT), of_instance("held", ValueKind.COUNT)


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
    int range;           /* number of the unknown farthest outside its range; then come inputs, then parameters */
    {n}_real range_share; /* its distance from the middle of the range in units of half the width, or the change of the
                             input in units of the largest that is covered; above 1: outside */
}} {n}_flags;
"""


class MonitorText:
    """Text of the monitor and of the guarded step."""

    def __init__(self, plan: StepPlan, context: StepContext) -> None:
        self.plan, self.c = plan, context
        self.layout, self.name = context.layout, context.layout.instance
        self.n = len(plan.lowering.program.x)
        self.system: StepSystem = plan.systems[0]
        self.pivots = self._moving_pivots()
        self.rows = plan.watched if plan.options.order == 1 else []
        self.n_u, self.n_p = len(plan.lowering.program.u), len(plan.lowering.program.p)
        self.n_d = len(plan.discrete.memories)
        self.has_bends = plan.options.order == 1 and bool(self.n_u or plan.discrete)
        self.constant_bytes = 0
        self.ranges = self._ranges(plan.options.limits)
        self.changes = self._changes(plan.options.limits)

    def _ranges(self, limits: MonitorLimits) -> dict[str, tuple[Vector, Vector]]:
        """Middle and 1 / half width of unknowns, inputs and parameters; only of those that have ranges."""
        out = {}
        sizes = {"x": (limits.x_range, self.n), "u": (limits.u_range, self.n_u), "p": (limits.p_range, self.n_p)}
        for name, (given, size) in sizes.items():
            if given is None or not size:
                continue
            low, high = (np.asarray(one, dtype=float) for one in given)
            if low.shape != (size,) or high.shape != (size,):
                raise ArgumentError(
                    f"limits.{name}_range has shapes {low.shape}, {high.shape}, expected {(size,)}",
                    hint="give one lowest and one highest value for each, infinite where there is no limit",
                )
            if not (low <= high).all():
                k = int(np.argmin(low <= high))
                raise ArgumentError(
                    f"limits.{name}_range: the range {low[k]:g} .. {high[k]:g} of entry {k} is empty or not a number",
                    hint="the lowest value must not exceed the highest",
                )
            known = np.isfinite(low) & np.isfinite(high)
            middle = np.where(known, 0.5 * low + 0.5 * high, 0.0)
            half = np.maximum(np.where(known, 0.5 * (high - low), np.inf), self._digit(middle))
            out[name] = (middle, 1.0 / half)
        return out

    def _changes(self, limits: MonitorLimits) -> Vector | None:
        """1 / largest change of the inputs in a step."""
        if limits.u_change is None or not self.n_u:
            return None
        most = np.asarray(limits.u_change, dtype=float)
        if most.shape != (self.n_u,) or not (most >= 0.0).all():
            raise ArgumentError(
                f"limits.u_change is {most}, expected {self.n_u} numbers from 0 up",
                hint="give the largest change in a step of each input, infinite where there is no limit",
            )
        size = np.max(np.abs(limits.u_range), axis=0) if limits.u_range is not None else np.zeros(self.n_u)
        inverse: Vector = 1.0 / np.maximum(most, self._digit(np.where(np.isfinite(size), size, 0.0)))
        return inverse

    def _digit(self, middle: Vector) -> Vector:
        """What a value of this size cannot resolve."""
        return (1e-12 if self.c.precision == "double" else 1e-5) * np.abs(middle) + 1e-30

    def _moving_pivots(self) -> list[int]:
        """Pivots that change during a simulation."""
        if self.system.tables:
            return list(range(self.n))
        fixed = self.plan.lowering.is_fixed
        return [k for k, e in enumerate(self.system.factors[0].pivot) if not fixed(e)]

    def fields(self) -> list[Field]:
        """Members of the instance."""
        return [
            Field(LAST_CHANGE, self.n, "change in the last step"),
            Field(CHANGE_BEFORE, self.n, "change in the step before"),
            Field(RIGHT, self.n, "tau f of the last step"),
            Field(PIVOT, len(self.pivots), "pivots of the last step"),
            Field(RINGING, self.n, "steps in a row with changing sign"),
            Field(SEEN, 0 if self.changes is None else self.n_u, "inputs as they were last"),
            Field(OUTSIDE, 2, "of inputs in the last step and of parameters: as range_share"),
            Field(OUTSIDE_NUMBER, 2, "which ones"),
            Field(NOT_FINITE, 1, "an input of the last step is not a number"),
            Field(
                HELD,
                3 if self.plan.options.fallback else 0,
                "steps left with all entries; the bits that led there; was the last step one with all entries",
            ),
        ]

    def _limit(self, given: Vector | None, default: Sequence[float] | Vector, what: str) -> Vector:
        values = np.asarray(default if given is None else given, dtype=float)
        if values.shape != (self.n,):
            raise ArgumentError(
                f"limits.{what} has shape {values.shape}, expected {(self.n,)}", hint="give one number for each unknown"
            )
        return values

    def _array(self, name: str, values: Sequence[float] | Vector) -> str:
        items = [self.layout.literal(float(value)) for value in values]
        self.constant_bytes += (8 if self.c.precision == "double" else 4) * len(items)
        return f"PL_CONSTANTS static const pl_real {name}[] = {{{wrapped(items or ['0'])}}};"

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
        watched = [str(i) for i in self.rows]
        pivots = [self._array("pivot_low", low), self._array("pivot_high", 1.0 / high)]
        pivots.append(
            f"PL_CONSTANTS static const int32_t pivot_number[] = {{{wrapped([str(k) for k in self.pivots], 20)}}};"
        )
        return "\n".join(
            [
                *(pivots if self.pivots else []),
                self._array("ringing_limit", ringing),
                self._array("per_scale", 1.0 / scale),
                self._array("per_row_scale", 1.0 / row_scale),
                self._array("row_mass", mass),
                f"PL_CONSTANTS static const int32_t watched_row[] = {{{wrapped(watched or ['0'], 20)}}};",
            ]
        )

    def _range_data(self) -> list[str]:
        out = []
        for name, (middle, per_half) in self.ranges.items():
            out += [self._array(f"{name}_middle", middle), self._array(f"{name}_per_half", per_half)]
        return out if self.changes is None else [*out, self._array("u_per_change", self.changes)]

    def _at(self, array: Array, index: int | str | None) -> str:
        return self.layout.place(array.at(index))

    def look(self) -> str:
        """The function that checks inputs or parameters, before the step."""
        data = "\n".join(self._range_data())
        known = fixed("look.h", {"pl_abs": self.layout.fabs}) if "p" in self.ranges else ""
        return f"{data}\n\n{known}{self._look_at_inputs()}" if known or self.n_u else data

    def _look_at_inputs(self) -> str:
        """Both values of a step in one pass: the farther one lies |after - u| / 2 beyond their mean."""
        if not self.n_u:
            return ""
        half, fabs, at = self.layout.literal(0.5), self.layout.fabs, self._at
        shares = []
        if "u" in self.ranges:
            shares.append(f"({fabs}({half} * (v[j] + w[j]) - u_middle[j]) + {half} * jump) * u_per_half[j]")
        if self.changes is not None:
            shares.append(f"({fabs}(v[j] - {at(SEEN, 'j')}) + jump) * u_per_change[j]")
        known = ""
        if shares:
            share, (outside, number) = ", ".join(shares), (at(OUTSIDE, 0), at(OUTSIDE_NUMBER, 0))
            known = f"""        const pl_real share = {f"pl_max({share})" if len(shares) > 1 else share};
        const int worse = share > {outside};
        {outside} = pl_select(worse, share, {outside});
        {number} += worse * (j - {number});
"""
        if self.changes is not None:
            known += f"        {at(SEEN, 'j')} = w[j];\n"
        return f"""
static void look_at_inputs({self.layout.declared([INSTANCE, GIVEN_INPUTS, GIVEN_AFTER], restrict=False)}) {{
    const pl_real *v = (const pl_real *)u, *w = (const pl_real *)after; /* members are all of this type */
    for (int j = 0; j < {self.n_u}; j++) {{
        const pl_real jump = {fabs}(w[j] - v[j]);
        {at(NOT_FINITE, 0)} |= !(jump - jump == 0);
{known}    }}
}}
"""

    def _outside(self, k: int) -> str:
        return f"&{self._at(OUTSIDE, k)}, &{self._at(OUTSIDE_NUMBER, k)}"

    def after_step(self) -> str:
        """What the monitor reads of a step, before x moves."""
        at, rows = self._at, range(self.n)
        return "".join(
            f"    {at(CHANGE_BEFORE, i)} = {at(LAST_CHANGE, i)};\n    {at(LAST_CHANGE, i)} = {at(CHANGE, i)};\n"
            for i in rows
        )

    def before_step(self, tag: str) -> str:
        """What begins every step."""
        out = ""
        if self.n_u:
            out += f"    {self._at(OUTSIDE, 0)} = 0;\n    {self._at(NOT_FINITE, 0)} = 0;\n"
            out += f"    look_at_inputs({self.layout.passed('m', 'u', 'after')});\n"
        if self.plan.options.fallback:
            out += f"    {self._at(HELD, 2)} = {int(tag != 'step')};\n"
        return out

    def at_start(self) -> str:
        """What begins a run: inputs may have any values."""
        if self.changes is None:
            return ""
        seen = self._at(SEEN, "j")
        return f"    for (int j = 0; j < {self.n_u}; j++) {seen} = ((const pl_real *)u)[j];\n"

    def with_parameters(self) -> str:
        """What ends setting parameters."""
        if "p" not in self.ranges:
            return ""
        return (
            f"    {self._at(OUTSIDE, 1)} = 0;\n"
            f"    look_at((const pl_real *)&m->p, {self.n_p}, p_middle, p_per_half,\n"
            f"            {self._outside(1)});\n"
        )

    def _range_text(self, fabs: str) -> str:
        share, x = "", self._at(X, "i")
        if "x" in self.ranges:
            share = f"""        const pl_real outside = {fabs}({x} - x_middle[i]) * x_per_half[i];
        worse = outside > out.range_share;
        out.range_share = pl_select(worse, outside, out.range_share);
        out.range += worse * (i - out.range);
"""
        return share + f"        not_finite |= !({x} - {x} == 0);\n"

    def _outside_text(self) -> str:
        out = ""
        if self.n_d:
            d = self._at(MEMORIES, "k")
            out += f"    for (int k = 0; k < {self.n_d}; k++) not_finite |= !({d} - {d} == 0);\n"
        if self.n_u:
            out += f"    not_finite |= {self._at(NOT_FINITE, 0)};\n"
        for k, (name, first) in enumerate((("u", self.n), ("p", self.n + self.n_u))):
            if name in self.ranges or (name == "u" and self.changes is not None):
                outside, number = self._at(OUTSIDE, k), self._at(OUTSIDE_NUMBER, k)
                out += f"""    const int worse_{name} = {outside} > out.range_share;
    out.range_share = pl_select(worse_{name}, {outside}, out.range_share);
    out.range += worse_{name} * ({first} + {number} - out.range);
"""
        return out

    def _pivot_text(self, fabs: str) -> str:
        if not self.pivots:
            return ""
        return f"""    for (int k = 0; k < {len(self.pivots)}; k++) {{
        const pl_real size = {fabs}({self._at(PIVOT, "k")});
        const pl_real share = pl_max(pivot_low[k] / size, size * pivot_high[k]);
        const int worse = share > out.pivot_share;
        out.pivot_share = pl_select(worse, share, out.pivot_share);
        out.pivot += worse * (pivot_number[k] - out.pivot);
        not_finite |= !(size - size == 0);
    }}
"""

    def _state_text(self, fabs: str) -> str:
        if not self.n:
            return ""
        half, at, ringing = self.layout.literal(0.5), self._at, self._at(RINGING, "i")
        return f"""    for (int i = 0; i < {self.n}; i++) {{
        const pl_real d = {at(LAST_CHANGE, "i")}, before = {at(CHANGE_BEFORE, "i")};
        const int rings = (d * before < 0) & ({fabs}(d) > ringing_limit[i]) & ({fabs}(before) > ringing_limit[i]);
        {ringing} = rings * ({ringing} + 1);
        int worse = {ringing} > out.ringing_steps;
        out.ringing_steps += worse * ({ringing} - out.ringing_steps);
        out.ringing += worse * (i - out.ringing);
{self._bend_text(fabs)}        const pl_real error = {half} * moved * per_scale[i];
        worse = (error > out.error_size) & is_known;
        out.error_size = pl_select(worse, error, out.error_size);
        out.error += worse * (i - out.error);
        not_finite |= !(d - d == 0);
{self._range_text(fabs)}    }}
"""

    def _bend_text(self, fabs: str) -> str:
        """By how much a change differs from the one before; where curves bend, from its beginning."""
        states, own = self.plan.lowering.program.n_states, f"{fabs}(d - {self._at(RIGHT, 'i')})"
        if not (self.has_bends and states):
            return f"        const pl_real moved = {fabs}(d - before);\n"
        smaller = f"pl_min(since, {own})"
        moved = smaller if states == self.n else f"pl_select(i < {states}, {smaller}, since)"
        return f"        const pl_real since = {fabs}(d - before);\n        const pl_real moved = {moved};\n"

    def _row_text(self, fabs: str) -> str:
        if not self.n:
            return ""
        at = self._at
        return f"""    for (int k = 0; k < {len(self.rows)}; k++) {{
        const int i = watched_row[k];
        const pl_real part = {fabs}(row_mass[k] * {at(CHANGE_BEFORE, "i")} - {at(RIGHT, "i")}) * per_row_scale[k];
        const int worse = (part > out.dropped_size) & is_known;
        out.dropped_size = pl_select(worse, part, out.dropped_size);
        out.dropped += worse * (i - out.dropped);
    }}
"""

    def text(self) -> str:
        """Data and function."""
        n, limits, literal = self.name, self.plan.options.limits, self.layout.literal
        fabs = self.layout.fabs
        flag, one = n.upper(), literal(1.0)
        head = self.layout.declared([INSTANCE, Argument("flags", f"{n}_flags")], restrict=False)
        data = f"{self._data(limits)}\n\n" if self.n else ""
        looks = f"    const int is_known = {self._at(STEP, None)} >= 2;\n" if self.n else ""
        looks += self._pivot_text(fabs) + self._state_text(fabs) + self._outside_text() + self._row_text(fabs)
        looks += self._full_text()
        outside = f"(out.range_share > {one})"
        if limits.resets is not None and self.plan.discrete.active:
            outside = f"({outside} | ({self._at(RESETS, None)} > {limits.resets}))"
        looks = looks if "m->" in looks else f"    (void)m;\n{looks}"
        return f"""{data}unsigned {n}_monitor({head}) {{
    {n}_flags out = {{0}};
    int not_finite = 0;
{looks}    out.bits = (unsigned)((out.pivot_share > {one}) * {flag}_PIVOT
        + (out.ringing_steps >= {limits.ringing_steps}) * {flag}_RINGING
        + (out.error_size > {literal(limits.error)}) * {flag}_ERROR
        + (out.dropped_size > {literal(limits.dropped)}) * {flag}_DROPPED + not_finite * {flag}_NOT_FINITE
        + {outside} * {flag}_RANGE);
    *flags = out;
    return out.bits;
}}
"""

    def operations(self) -> Operations:
        """Operations of one call."""
        n, rows, pivots = self.n, len(self.rows), len(self.pivots)
        ranges = sum(len(middle) for middle, _ in self.ranges.values()) - (self.n_p if "p" in self.ranges else 0)
        ranges += 0 if self.changes is None else self.n_u
        finite, bends = n + self.n_u + self.n_d, n * self.has_bends
        return Operations(
            add=2 * n + bends + rows + pivots + ranges + finite,
            mul=3 * n + 2 * rows + pivots + ranges,
            div=pivots,
            compare=6 * n + bends + rows + 3 * pivots + ranges + finite,
            select=6 * n + bends + 3 * rows + 4 * pivots + 2 * ranges,
        )

    def _full_text(self) -> str:
        """Pivots and dropped entries are those of the pattern; a step with all entries has neither."""
        if not self.plan.options.fallback:
            return ""
        zero, is_full = self.layout.literal(0.0), f"{self._at(HELD, 2)} != 0"
        return f"""    out.pivot_share = pl_select({is_full}, {zero}, out.pivot_share);
    out.dropped_size = pl_select({is_full}, {zero}, out.dropped_size);
"""

    def guarded(self) -> str:
        """The step that falls back to the full pattern, and stays there for a while."""
        n, hold = self.name, self.plan.options.limits.hold
        saved, restored = f"        const {n} saved = *m;\n", "*m = saved"
        if self.plan.delays:  # what a step adds to their rings is no part of what the step before left
            size = f"offsetof({n}, {RING.name})"
            saved = f"        unsigned char saved[{size}];\n        memcpy(saved, m, sizeof saved);\n"
            restored = "memcpy(m, saved, sizeof saved)"
        return f"""unsigned {n}_step_guarded_jump({n} *m, const {n}_inputs *u, const {n}_inputs *after) {{
    {n}_flags flags;
    if (m->held[0] == 0) {{
{saved}        {n}_step_jump(m, u, after);
        const unsigned broken = {n}_monitor(m, &flags);
        if (!broken) return 0;
        {restored};
        m->held[1] = (int32_t)broken;
        {n}_step_full_jump(m, u, after);
        (void){n}_monitor(m, &flags);
        m->held[0] = {hold};
    }} else {{
        {n}_step_full_jump(m, u, after);
        const unsigned still = {n}_monitor(m, &flags);
        m->held[0] = still ? {hold} : m->held[0] - 1;
        if (still) m->held[1] = (int32_t)still;
    }}
    return (unsigned)m->held[1];
}}

unsigned {n}_step_guarded({n} *m, const {n}_inputs *u) {{
    return {n}_step_guarded_jump(m, u, u);
}}
"""
