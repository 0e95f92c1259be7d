"""Plans of large models, and what entries cost: battery packs of 80 and 250 cells, the robot with frozen entries.

python benchmarks/large_plans.py [pack80] [pack250] [frozen] [order2] [frontier]
python benchmarks/figures.py large costs
"""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from peers import ROOT

import pliant
from pliant.realtime.code.make import make_stepper
from pliant.realtime.cost import cost_of
from pliant.realtime.plan import Plan
from pliant.realtime.scenario import make_scenarios
from pliant.realtime.sparsing.entry_states import EntryStates
from pliant.realtime.stages.step import drive, write_code

Row = tuple[str, str, str, bool | None, str]
COMMAND = "python benchmarks/large_plans.py"
BEFORE = 6849  # instructions of a step of the robot without frozen entries
STEP, STOP = 0.02, 6.0
SEEN = [
    {},
    {"name": "cold", "parameters": {"T0": 268.0, "Tc": 263.0, "soc0": 0.3}},
    {"name": "hot", "parameters": {"T0": 313.0, "Tc": 308.0, "soc0": 0.9, "I0": 8.0}},
]
UNSEEN = [
    {"parameters": {"T0": 283.0, "Tc": 278.0, "soc0": 0.5, "I0": 2.0, "w2": 11.0}},
    {"parameters": {"T0": 305.0, "Tc": 290.0, "soc0": 0.8, "I1": 12.0, "w1": 1.7}},
    {"parameters": {"T0": 273.0, "soc0": 0.4, "I0": -6.0, "I2": 9.0}},
]


def pack(groups: int, parallel: int) -> pliant.Model:
    """The model with other numbers of cells."""
    text = (Path(__file__).with_name("plants") / "BatteryPack.mo").read_text(encoding="utf-8")
    return pliant.load(text.replace("nS = 20", f"nS = {groups}").replace("nP = 4", f"nP = {parallel}"))


def step_seconds(plan: Plan, style: str = "") -> float:
    """A step of the plan, or of all entries by the same generator, without monitor: straight-line or by tables."""
    o, code = plan.outcome, plan.code
    if style:
        equations = o.model.equations
        assert equations is not None
        options = replace(code.options, style=style, monitor=False, fallback=False)
        code = make_stepper(equations.sorted, equations.form, plan.step, o.full, options, code.start)
    run = drive(code, o.model, o.request.scenarios[0])
    best = np.inf
    for _ in range(5):
        run.stepper.start_at(run.start, run.inputs.start)
        best = min(best, run.stepper.time_step(None, 300))
    return float(best)


def unseen(plan: Plan, model: pliant.Model) -> tuple[float, float]:
    """Largest error on unseen scenarios against accurate runs, of the ranges there; and that of all entries."""
    o, worst, exact = plan.outcome, 0.0, 0.0
    states = EntryStates.of(np.ones(o.frame.n_entries, dtype=bool))
    whole = write_code(replace(o, found=replace(o.found, states=states), elimination=o.full))
    for scenario in make_scenarios(UNSEEN, STOP):
        run, full = drive(plan.code, o.model, scenario), drive(whole, o.model, scenario)
        accurate = model.simulate(stop=STOP, points=run.time, rtol=1e-8, parameters=scenario.parameters)
        wanted = np.column_stack([accurate[name] for name in plan.names])
        size = np.ptp(wanted, axis=0)
        worst = max(worst, float((np.abs(run.x - wanted).max(axis=0) / size).max()))
        exact = max(exact, float((np.abs(full.x - wanted).max(axis=0) / size).max()))
    return worst, exact


def processor_seconds() -> float:
    """Of this process and those that it has started: what a plan takes where nothing else runs."""
    own, others = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def pack_rows(groups: int, parallel: int, limit: float) -> list[Row]:
    """Time to plan, stability elsewhere, the whole step."""
    n, command = 4 * groups * parallel, f"{COMMAND} pack{groups * parallel}"
    model = pack(groups, parallel)
    begin, used = time.perf_counter(), processor_seconds()
    plan = model.realtime(step=STEP, stop=STOP, scenarios=SEEN, progress=False)
    seconds, used = time.perf_counter() - begin, processor_seconds() - used
    error, full = unseen(plan, model)
    mine = step_seconds(plan)
    line, tables = (step_seconds(plan, style) for style in ("straight-line", "tables"))
    all_entries = min(line, tables)
    what = f"battery pack, {groups * parallel} cells, {n} states"
    e = plan.evidence
    return [
        (
            f"{what}: plan",
            f"<= {limit:g} s",
            f"{seconds:.0f} s ({used:.0f} s of processor time, with compilers), "
            f"{plan.full_entries} -> {plan.entries} entries, "
            f"{plan.full_computed} -> {plan.computed} computed, {e.violators} of {e.n_points + e.n_masked_points} "
            f"linearisations violate, error added {100 * plan.bias:.2g} %, evidence {'holds' if e.holds else 'FAILS'}",
            min(seconds, used) <= limit and e.holds and not e.violators,
            command,
        ),
        (
            f"{what}: {len(UNSEEN)} unseen scenarios, largest error of a range against accurate runs",
            "stable",
            f"{100 * error:.2g} % (all entries {100 * full:.2g} %)",
            bool(error <= 0.05),
            command,
        ),
        (
            f"{what}: whole step against all entries and sparse refactorisation in a fixed order",
            ">= 3x",
            f"{all_entries / mine:.1f}x ({1e6 * mine:.1f} us; all entries in straight-line code {1e6 * line:.0f}, with "
            f"factors by tables {1e6 * tables:.0f} us)",
            all_entries >= 3.0 * mine,
            command,
        ),
    ]


def frozen_rows() -> list[Row]:
    """The robot with and without frozen entries."""
    model = pliant.load(ROOT / "examples" / "Robot.mo")
    plan, before = (
        model.realtime(step=1e-3, stop=2.6, options={"freeze": freeze}, progress=False) for freeze in (True, False)
    )
    cost, unit = cost_of(plan)
    other, _ = cost_of(before)
    errors = [100 * one.evidence.errors[one.evidence.worst or ""] for one in (plan, before)]
    return [
        (
            "robot: frozen entries, computed entries at the same error and margin",
            "halved",
            f"{before.computed} -> {plan.computed} ({int(np.isfinite(plan.frozen).sum())} frozen), error "
            f"{errors[1]:.2f} -> {errors[0]:.2f} %, margin {before.margin_kept:.3f} -> {plan.margin_kept:.3f}",
            2 * plan.computed <= before.computed and plan.bias <= 0.02 and plan.margin_kept >= 0.95,
            f"{COMMAND} frozen",
        ),
        (
            f"robot: frozen entries, {unit} of a step with the monitor",
            f">= 20 % fewer than {BEFORE}",
            f"{cost} ({100 * (1 - cost / BEFORE):.0f} % fewer; without frozen entries {other})",
            cost <= 0.8 * BEFORE,
            f"{COMMAND} frozen",
        ),
    ]


def order2_rows() -> list[Row]:
    """The search made for the extrapolated step."""
    model = pliant.load(ROOT / "examples" / "Robot.mo")
    plan = model.realtime(
        step=1e-3, stop=2.6, order=2, tolerance=0.012, options={"freeze": False, "certificate": False}, progress=False
    )
    e = plan.evidence
    error = max(float(one.max()) for one in e.reference if one is not None)
    return [
        (
            "robot: order 2, search made for it: entries, flops, error of states, violations",
            "<= 105, <= 30, <= 1.2 %, 0",
            f"{plan.entries}, {plan.flops}, {100 * error:.2f} %, {e.violators}",
            plan.entries <= 105 and plan.flops <= 30 and error <= 0.012 and not e.violators,
            f"{COMMAND} order2",
        )
    ]


def frontier_rows() -> list[Row]:
    """Error against cost of the diode grid."""
    model = pliant.load(ROOT / "examples" / "DiodeGrid.mo", options={"form": "dae"})
    plan = model.realtime(step=1e-4, stop=0.05, options={"certificate": False}, progress=False)
    rows = plan.frontier.rows
    falls = all(a.cost < b.cost and a.error > b.error for a, b in pairwise(rows))
    middle = rows[len(rows) // 2]
    met = model.realtime(
        step=1e-4, stop=0.05, options={"certificate": False}, progress=False, budget=float(middle.cost)
    )
    return [
        (
            "diode grid: frontier of error against cost, budget of a row in its middle",
            "error falls as cost rises; met",
            "; ".join(f"{row.cost} {plan.frontier.unit} {100 * row.error:.2g} %" for row in rows)
            + f"; budget {middle.cost}: {cost_of(met)[0]}",
            falls and cost_of(met)[0] <= middle.cost,
            f"{COMMAND} frontier",
        )
    ]


PARTS = {
    "pack80": lambda: pack_rows(20, 4, 60.0),
    "pack250": lambda: pack_rows(50, 5, 600.0),
    "frozen": frozen_rows,
    "order2": order2_rows,
    "frontier": frontier_rows,
}


def rows(quick: bool = False) -> list[Row]:
    """Packs; ``quick``: without the larger one."""
    return [row for name in ("pack80", *(() if quick else ("pack250",))) for row in PARTS[name]()]


def cost_rows() -> list[Row]:
    """What entries cost."""
    return [row for name in ("frozen", "order2", "frontier") for row in PARTS[name]()]


if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        for row in PARTS[name]():
            print(*row, sep="\n  ", flush=True)
