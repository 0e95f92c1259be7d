"""The README of a written folder: what an engineer at the target needs to know, and nothing about this computer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pliant.codegen.names import member_names
from pliant.realtime.code.rates import rate_name

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.realtime.delivery.recorded import Recorded
    from pliant.realtime.evidence.evidence import Evidence
    from pliant.realtime.plan import Plan

MOST_ROWS = 60
INPUTS = {
    "new": "`u` holds the inputs at the end of the step that is made. The evidence holds for that.",
    "held": "The plan was made for inputs of the step before: pass in `u` the last values that are known at the "
    "start of the step.",
    "extrapolated": "The plan was made for extrapolated inputs: pass in `u` `2 u_k - u_(k-1)`, made from the last "
    "two values that are known at the start of the step.",
}
WIDE = """
`in double`: how many of the operations before are made in double. Time is formed in double from the number of steps,
and what grows with it stays in double until a function or a comparison takes it, so that phases keep their digits.
Parameters are in float: a frequency is as exact as its float. Without a double precision unit each of these operations
costs ten to a hundred times as much as one in float.
"""
PARTS = {
    "f": "right-hand side, loops included",
    "jacobian": "kept entries of the Jacobian",
    "factor": "factorisation",
    "solve": "solution and update",
    "events": "sampled parts and events",
    "step": "**whole step**",
    "outputs": "outputs (`get_outputs`)",
    "full": "step with all entries (`step_full`)",
    "guarded": "step that falls back, at worst (`step_guarded`)",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def _names(title: str, names: Sequence[str], code: StepCode, values: Sequence[float] | None = None) -> str:
    if not names:
        return f"The model has no {title}.\n"
    members = member_names(names)
    head = ["C member", "name"] + (["default"] if values is not None else [])
    rows = []
    for k, name in enumerate(names[:MOST_ROWS]):
        row = [f"`{members[k]}`", f"`{name}`"]
        rows.append(row if values is None else [*row, f"{values[k]:.10g}"])
    more = f"\n… and {len(names) - MOST_ROWS} more, see `{code.name}.h`.\n" if len(names) > MOST_ROWS else ""
    return table(head, rows) + more


def _operations(code: StepCode) -> str:
    rows = []
    wide = any(one.double for one in code.operations.values())
    for part, words in PARTS.items():
        one = code.operations.get(part)
        if one is not None:
            functions = ", ".join(f"{k} {name}" for name, k in sorted(one.functions.items())) or "none"
            row = (one.add, one.mul, one.div, one.neg, one.compare, one.select)
            rows.append([words, *(str(k) for k in row), functions, *([str(one.double)] * wide)])
    head = ["part", "+ −", "×", "÷", "sign", "compare", "choose", "functions", *(["in double"] * wide)]
    return table(head, rows) + WIDE * wide


def _what(plan: Plan) -> str:
    """The method, and what the plan saves."""
    code, full = plan.code, plan.outcome.full
    if not code.n_x:
        return (
            f"The model `{plan.name}` in {code.precision} precision. It has no states: a step is a plain evaluation, "
            "which advances time\nand sampled parts; `get_outputs` computes the outputs."
        )
    count = len(plan.outcome.held_entries)
    held = f" {count} of the kept entries are held at\nconstants, which do not follow parameters." if count else ""
    return f"""The model `{plan.name}`, integrated by the linearly implicit Euler method (order {code.options.order}) in
{code.precision} precision, {code.style}. The step keeps {plan.entries} of {plan.full_entries} entries of its matrix, so
that its factors have {plan.lu_entries} instead of {full.lu_entries} entries and cost {plan.flops} instead of
{full.factor_flops} operations. Error that this adds, predicted: {100 * plan.bias:.3g} % of a state's range.{held}"""


def _monitor(code: StepCode) -> str:
    n = code.name
    if not code.options.monitor:
        return "The code has no monitor (it was switched off).\n"
    text = f"""`{n}_monitor` is called once after a step. It has loops of fixed length without branches, some 25 simple
operations for each of {code.n_x} unknowns, and returns the sum of

| bit | raised when |
|---|---|
| `{n.upper()}_PIVOT` | a pivot leaves the limits seen in the scenarios: the fixed order of elimination is in doubt |
| `{n.upper()}_RINGING` | an unknown changes the sign of its step several times in a row |
| `{n.upper()}_ERROR` | the local error is above three times the largest met, and not small beside the accuracy |
| `{n.upper()}_DROPPED` | dropped entries would have added three times what they did, and not little |
| `{n.upper()}_NOT_FINITE` | an unknown, a discrete variable or an input is not finite: initialise or restore |
| `{n.upper()}_RANGE` | an unknown, an input or a parameter lies outside what the evidence covers (evidence.txt) |

`{n}_flags` shows which one it was, and by how much. A flag shows that the model has left the region where the
evidence was gathered, not that the result is wrong.
"""
    if code.options.fallback:
        hold = code.options.limits.hold
        text += (
            f"\nReaction: `{n}_step_guarded` repeats a step that raised a flag with all entries of the Jacobian, and\n"
            f"keeps to all entries until {hold} steps in a row ({hold * code.tau:.6g} s) raised none. It returns\n"
            "the bits that led there as long as it does. The step that falls back costs both steps\n"
            "together (last row of the table above): the deadline must hold for that.\n"
        )
    else:
        text += "\nReaction: flag only. What to do is up to the caller: log it, or go to a safe state.\n"
    return text


def _events(code: StepCode) -> str:
    """What the step does beside the integration; nothing for models without discrete variables."""
    if not code.memories and not code.periods:
        return ""
    clocks = [
        [str(period), f"{period * code.tau:.10g}", str(first)]
        for period, first in zip(code.periods, code.start.counts, strict=True)
    ]
    listed = (
        table(["steps between ticks", "seconds", "first tick after step (0: in `init`)"], clocks) + "\n"
        if clocks
        else ""
    )
    rounds = code.options.event_rounds
    named = [f"`{name}`" for name in code.memories if not name.startswith("$")]
    more = f" and {len(named) - MOST_ROWS} more" if len(named) > MOST_ROWS else ""
    known = f"Discrete variables: {', '.join(named[:MOST_ROWS])}{more}. " if named else ""
    return f"""## Sampled parts and events

{known}They change at the ends of steps only, with x and t new and the inputs of that step, in {rounds}
{"round" if rounds == 1 else "rounds"} of events, and cost the same whether something happens or not. They are part of
the instance: save and restore keep them{", and a step that falls back makes its events once" * code.options.fallback}.

{listed}{_rates(code)}"""


def _rates(code: StepCode) -> str:
    """Functions for a scheduler, where the step can be cut by rates."""
    if not code.rates:
        return ""
    n, base = code.name, rate_name(code.tau)
    calls = "".join(
        f"if ({n}_due(&model) & {n.upper()}_DUE_{rate.name}) {n}_tick_{rate.name}(&model, &u);\n"
        for rate in reversed(code.rates)
    )
    rows = []
    for rate in code.rates:
        names = [f"`{code.memories[k]}`" for k in rate.members if not code.memories[k].startswith("$")]
        more = f" and {len(names) - MOST_ROWS} more" if len(names) > MOST_ROWS else ""
        rows.append([f"`{n}_tick_{rate.name}`", str(rate.period), ", ".join(names[:MOST_ROWS]) + more])
    return f"""The same step cut by rates, for a scheduler; together these calls are `{n}_step`, bit for bit:

```c
{n}_step_{base}(&model, &u, &u);   /* the plant, to the end of the step */
{calls}{n}_step_end(&model, &u);   /* new values of all clocks; events that no clock drives */
```

{table(["function", "steps between calls", "computes"], rows)}
Order: the step, then the ticks that `{n}_due` names, in any order (each reads the values before the instant), then the
end. The third argument of the step and the last ones of the others are the inputs from the end of the step on.
`{n}_step_end` returns the bits of ticks that were due and not called; their variables stay as they are.
"""


def _timing(plan: Plan) -> str:
    if plan.timing is None:
        return "Not measured before this folder was written. `plan.measure()` before `plan.write()` fills this part.\n"
    one = plan.timing
    rows = [[name, value] for name, value in one.rows()]
    notes = "\n".join(f"- {note}" for note in one.notes)
    return f"Wall time of {one.n_steps} steps on the computer where the code was made, not on your target:\n\n" + (
        table(["", "time"], rows) + f"\n{notes}\n"
    )


def _interface(plan: Plan) -> str:
    n, tau = plan.code.name, repr(plan.code.tau)
    order = (
        "f is evaluated at the end of the step"
        if plan.code.options.order == 1
        else "extrapolated, order 2: f is evaluated at the start of the step and in its middle; inputs from the last "
        "end of a step on are kept in the instance"
    )
    return f"""```c
{n}_parameters p;
{n} model;
{n}_default_parameters(&p);
{n}_init(&model, &p, &u);      /* u: inputs at the start; not 0: number of a divisor made of parameters that is zero */
/* every {tau} s */
{n}_step(&model, &u);
{n}_get_outputs(&model, &u, &y);
```

- {INPUTS[plan.outcome.request.options.inputs]}
- Where inputs jump exactly at the end of a step, `{n}_step_jump(&model, &u, &after)` takes both values: `u` holds up to
  the end of the step, `after` from there on. Events, clocks and the next step see `after`; give it to
  `{n}_get_outputs`, too. `{n}_step(&model, &u)` is `{n}_step_jump(&model, &u, &u)`.
- Time is counted in the instance, in whole steps, and formed in double: `t0 + step * {tau}`; {order}.
- No memory is allocated, no system is called, and what is executed in a step does not depend on data. Elementary
  functions come from your `libm`; their time may depend on their argument.
- An instance has no pointers inside. Several may run side by side. `{n}_save` and `{n}_restore` copy
  `{n}_state_size()` bytes; a restored instance continues bit for bit.
- `{n}_set_parameters` may be called between steps. It is not part of the step's fixed time.
- Compile with `-ffp-contract=off -fno-math-errno`, and never with `-ffast-math`.
"""


def _verdict(evidence: Evidence) -> str:
    """Whether everything held, and what would."""
    if evidence.holds:
        return "Everything that was judged held; `evidence.txt` says what that was, and what was not checked."
    proposed = "".join(f"\n- tried: {one.text}" for one in evidence.proposals)
    failing = "; ".join(evidence.failing)
    return f"**Not everything held ({failing}): read `evidence.txt` before this code is used.**{proposed}"


def readme(plan: Plan, stored: Recorded, files: dict[str, str]) -> str:
    """All of it."""
    code = plan.code
    n = code.name
    part = "" if stored.complete else " (the first part of the scenario)"
    other = (
        f" A second run of {stored.other.n_steps} steps begins with inputs and states that no scenario begins with."
        if stored.other
        else ""
    )
    parameters = [code.start.parameters[name] for name in code.p_names]
    return f"""# {n}: one step of {code.tau!r} s in fixed time

{_what(plan)}

**Error of the step against accurate simulations of the scenarios: {plan.accuracy_text.strip()}** (moved by up to one
step in time). {_verdict(plan.evidence)}

Written by pliant; yours without conditions.

## Build and test

```sh
make test                                  # or
cmake -B build && cmake --build build && ctest --test-dir build
```

The self-test runs {stored.n_steps} steps of the stored scenario{part} and compares {len(stored.points)} points with
those of the computer where the code was made. Allowed: {stored.tolerance:g} of each unknown's range. Run it on the
target, too.{other}

## Interface

{_interface(plan)}
### Inputs

{_names("inputs", code.u_names, code)}
### Outputs

{_names("outputs", code.y_names, code)}
### Parameters: what may be changed at run time

{_names("parameters", code.p_names, code, parameters)}
### Start

Initial equations are not solved on the target. The states start at values of the plan, which are consistent with the
default parameters above and the inputs of the first scenario at t = {code.start.t:g}; with other parameters or inputs
they start at the same values. `{n}_init_at` takes other values of `x`. What follows from states, inputs and parameters
is computed in `init` from those that are given: discrete variables (their declared start values, `initial()`, clocks
that tick at the start, `reinit`), relations, loops and the unknowns of algebraic equations. Parameters that are set
later (`{n}_set_parameters`) change derived constants and every step from then on, but nothing that is kept from step to
step. `init` is not part of the step's fixed time: it iterates until nothing moves, up to a fixed number of times.

Pattern and evidence hold for the parameters, inputs and start values of the scenarios in `plan.json`. Everything else
(sizes of arrays, the step) is fixed.

{_events(code)}## Cost of a step

{_operations(code)}
Counted on the code itself, the same in every step; constants made of parameters are computed in `set_parameters`.

{table(["memory", "bytes"], [[name, str(size)] for name, size in code.memory.items()])}
`instance` lies where you put it, `constant` in read-only memory beside the code, `stack` is what the step's own
variables need at most.

## Monitor

{_monitor(code)}
## Timing

{_timing(plan)}
## Files

{table(["file", "content"], [[f"`{name}`", words] for name, words in files.items()])}"""
