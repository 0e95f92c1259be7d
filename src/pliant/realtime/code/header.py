"""The interface of a stepper as a C header, and the driver that lets the desktop run it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.codegen.c_text import c_comment
from pliant.codegen.places import Argument, Field, StructArray
from pliant.realtime.code.monitor import flags_struct
from pliant.realtime.code.places import GIVEN_AFTER, GIVEN_INPUTS, GIVEN_PARAMETERS, INSTANCE, READ_ONLY

if TYPE_CHECKING:
    from pliant.realtime.code.text import StepText


def _struct(text: StepText, record: StructArray, variables: Sequence[int]) -> str:
    """A struct with one documented member per value."""
    notes = []
    for member, v in zip(text.layout.names[record], variables, strict=True):
        one = text.variables[v]
        unit = f" [{one.unit}]" if one.unit else ""
        name = one.name if one.name != member else ""
        notes.append(c_comment(f"{name}{unit} {one.description}".strip().replace("\n", " ")))
    return text.layout.struct(record, notes)


def refused(text: StepText) -> str:
    """What the number means that set_parameters and init return."""
    n, many = len(text.w.s.pivots), len(text.plan.delays)
    told = [f"number of a divisor that is zero (1 .. {n})"] if n and many else []
    told = told or ["number of a divisor that is zero"]
    if many:
        told = [*told[: bool(n)], f"{n} + the number of a delay (1 .. {many}) outside of what its memory holds"]
    return "; ".join(told)


def header_text(text: StepText, fields: Sequence[Field]) -> str:
    """The header."""
    n, plan = text.name, text.plan
    real = text.layout.real
    p = _struct(text, StructArray.PARAMETERS, text.program.p)
    u = _struct(text, StructArray.INPUTS, text.program.u)
    y = _struct(text, StructArray.OUTPUTS, [v for _, v, _ in plan.outputs])
    start = [INSTANCE, GIVEN_PARAMETERS, GIVEN_INPUTS]

    def given(*arguments: Argument) -> str:
        return text.layout.declared(arguments, restrict=False)

    more = ""
    flags = ""
    if plan.options.monitor:
        flags = flags_struct(n)
        flags_out = given(INSTANCE, Argument("flags", f"{n}_flags"))
        more += f"unsigned {n}_monitor({flags_out}); /* after a step; returns the bits of flags */\n"
    if plan.options.fallback:
        step, jump = given(INSTANCE, GIVEN_INPUTS), given(INSTANCE, GIVEN_INPUTS, GIVEN_AFTER)
        more += f"void {n}_step_full({step}); /* all entries of the Jacobian */\n"
        more += f"void {n}_step_full_jump({jump});\n"
        more += f"unsigned {n}_step_guarded({step}); /* not 0: step_full was taken, and why */\n"
        more += f"unsigned {n}_step_guarded_jump({jump});\n"
    more += text.rates.declared() if text.rates else ""
    title = c_comment(text.w.s.system.name)
    return f"""/* {title}: one step of {plan.tau!r} s in fixed time, written by pliant, yours without conditions.
 *
 *   {n}_default_parameters(&p);  {n}_init(&m, &p, &u);
 *   every {plan.tau!r} s:  {n}_step(&m, &u);  {n}_get_outputs(&m, &u, &y);
 *
 * init takes the inputs at the start, a step those at its end. Where inputs jump exactly at the end of a step,
 * step_jump takes u, which holds up to the end, and after, which holds from there on: events, clocks and the next step
 * see it. An instance has no pointers inside: it may be copied.
 * Compile with -ffp-contract=off -fno-math-errno, so that results are the same everywhere and square roots have no
 * branch.
 */
#ifndef PL_{n.upper()}_STEP_H
#define PL_{n.upper()}_STEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef {plan.options.precision} {real};

{p}
{u}
{y}
{flags}
{text.layout.instance_type(text.layout.members(fields))}
{text.layout.calibration_declared()}void {n}_default_parameters({given(Argument("p", StructArray.PARAMETERS))});
int {n}_set_parameters({given(INSTANCE, GIVEN_PARAMETERS)}); /* not 0: {refused(text)} */
int {n}_init({given(*start)});
/* the same with other values of x (states, then algebraic unknowns) before what happens at the start */
int {n}_init_at({given(*start, Argument("x", real, is_const=True))});
void {n}_step({given(INSTANCE, GIVEN_INPUTS)});
void {n}_step_jump({given(INSTANCE, GIVEN_INPUTS, GIVEN_AFTER)});
void {n}_get_outputs({given(READ_ONLY, GIVEN_INPUTS, Argument("y", StructArray.OUTPUTS))});
{more}size_t {n}_state_size(void);
void {n}_save(const {n} *m, void *to); /* state_size bytes */
void {n}_restore({n} *m, const void *from);

#ifdef __cplusplus
}}
#endif

#endif
"""


def _bits(text: StepText, name: str) -> str:
    """The monitor's word about a step; the guarded one has asked it already."""
    n = text.name
    if name == "run_guarded":
        return "        fell += now != 0;\n        if (bits) bits[k] = now;\n"
    if not text.plan.options.monitor:
        return ""
    return f"""        if (bits) {{
            {n}_flags flags;
            bits[k] = {n}_monitor(m, &flags);
        }}
"""


def _past(text: StepText) -> str:
    """What is delayed after a step."""
    n, n_delays = text.name, len(text.plan.delays)
    ring = "m->delayed[{}[k] + m->delay_last[k]]"
    return f"""
void pliant_past(const {n} *m, pl_real *to);
void pliant_past(const {n} *m, pl_real *to) {{
    for (int k = 0; k < {n_delays}; k++) {{
        to[k] = {ring.format("delay_left")};
        to[{n_delays} + k] = {ring.format("delay_right")};
    }}
}}
""" * bool(n_delays)


def driver_text(text: StepText) -> str:
    """What only the desktop needs: many steps in one call, and where things are."""
    n, n_u, n_y = text.name, len(text.u_members), len(text.y_members)
    first = f"(const {n}_inputs *)u" if n_u else "&none"
    pick = f"(const {n}_inputs *)(u + (size_t)k * {n_u})" if n_u else "&none"
    later = f"(const {n}_inputs *)((after ? after : u) + (size_t)k * {n_u})" if n_u else "&none"
    none = "" if n_u else f"    static const {n}_inputs none;\n    (void)u;\n"
    kinds = [("run", f"{n}_step_jump")]
    if text.plan.options.fallback:
        kinds += [
            ("run_full", f"{n}_step_full_jump"),
            ("run_guarded", f"const unsigned now = {n}_step_guarded_jump"),
        ]
    n_d = len(text.plan.discrete.memories)
    memories = f"        if (d) memcpy(d + k * {n_d}, m->d, sizeof m->d);\n" if n_d else ""
    n_delays, past = len(text.plan.delays), _past(text)
    kept = f"        if (past) pliant_past(m, past + k * {2 * n_delays});\n" if n_delays else "        (void)past;\n"
    states = f"        if (x) memcpy(x + k * {text.n}, m->x, sizeof m->x);\n" if text.n else "        (void)x;\n"
    y = (
        f"        if (y) pliant_outputs(m, (const pl_real *)({later}), y + k * {n_y});\n"
        if n_y
        else "        (void)y;\n"
    )
    runs = "".join(
        f"""
/* n steps; u: n rows of inputs up to the ends of the steps, after (or NULL): from the ends on, x (or NULL): n rows of
 * states after each step, bits (or NULL): n flags, d (or NULL): n rows of discrete variables, y (or NULL): n rows of
 * outputs after each step, with the inputs from its end on, past (or NULL): n rows of what is delayed, before and after
 * what happens at the end of each step */
int64_t pliant_{name}({n} *m, int64_t n, const pl_real *u, const pl_real *after, pl_real *x, unsigned *bits,
                      pl_real *d, pl_real *y, pl_real *past);
int64_t pliant_{name}({n} *m, int64_t n, const pl_real *u, const pl_real *after, pl_real *x, unsigned *bits,
                      pl_real *d, pl_real *y, pl_real *past) {{
    int64_t fell = 0;
{none}    (void)after, (void)bits, (void)d;
    for (int64_t k = 0; k < n; k++) {{
        {call}(m, {pick}, {later});
{states}{memories}{_bits(text, name)}{y}{kept}    }}
    return fell;
}}
"""
        for name, call in kinds
    )
    discrete, x = text.plan.discrete, f"offsetof({n}, x)" if text.n else "0"
    more = f", {f'offsetof({n}, z)' if text.w.guess else 0}, {f'offsetof({n}, relation)' if text.plan.kept else 0}"
    more += f", {f'offsetof({n}, d)' if discrete.memories else 0}, {f'offsetof({n}, count)' if discrete.ticks else 0}"
    return f"""
/* ---------------------------------------------------------------------------------- for the desktop only */
size_t pliant_place(int what);
size_t pliant_place(int what) {{
    static const size_t place[] = {{sizeof({n}), {x}, offsetof({n}, step), offsetof({n}, t0){more}}};
    return place[what];
}}

int pliant_init({n} *m, const pl_real *p);
int pliant_init({n} *m, const pl_real *p) {{
    {n}_parameters all;
    {n}_default_parameters(&all);
    if (p) memcpy(&all, p, {len(text.p_members)} * sizeof(pl_real));
    start_values(m, NULL);
    return {n}_set_parameters(m, &all);
}}

/* what X_init does after that; d: NaN, or the values of discrete variables before the first event */
void pliant_start({n} *m, const pl_real *u, const pl_real *d);
void pliant_start({n} *m, const pl_real *u, const pl_real *d) {{
{none}    start_at(m, {first}, d);
}}

void pliant_outputs(const {n} *m, const pl_real *u, pl_real *y);
void pliant_outputs(const {n} *m, const pl_real *u, pl_real *y) {{
{none}    {n}_outputs all;
    {n}_get_outputs(m, {first}, &all);
    memcpy(y, &all, {n_y} * sizeof(pl_real));
}}
{past}{runs}"""
