"""Tour: a stiff model as C with constant work per step."""

from __future__ import annotations

from pathlib import Path

import pliant
from pliant.tour.section import MODELS, Block, Code, FigureTable, Section, Text, count, picture, seconds, source

TIMED = 50_000  # steps that the tour times


def make_plan() -> pliant.Plan:
    """An exhaust pipe: gas within milliseconds, wall within half a minute, one step of 0.1 s."""
    model = pliant.load(MODELS / "pipe.mo")
    return model.realtime(step=0.1, stop=60)


def realtime(folder: Path) -> Section:
    """Pattern, evidence, code and timing of the pipe."""
    plan = make_plan()
    outcome, code = plan.outcome, plan.code
    timing = plan.measure(TIMED, period=2e-5)
    assert isinstance(timing, pliant.Timing)
    page = plan.report(folder / "realtime.html")
    target = plan.write(folder / "realtime", overwrite=True)
    result = plan.simulate(stop=60)
    beyond = plan.simulate(stop=60, parameters={"Md_mean": 0.06})
    assert result.flags is not None
    assert beyond.flags is not None
    said = pliant.Flag(int(beyond.flags.max()))
    figures = [
        ["entries of L - τJ", count(plan.full_entries), count(plan.entries)],
        ["entries of the factors", count(outcome.full.lu_entries), count(plan.lu_entries)],
        ["operations of a factorisation", count(outcome.full.factor_flops), count(plan.flops)],
        ["colours", count(outcome.full_colours), count(plan.colours)],
    ]
    others = [
        [one.name, count(one.entries), f"{one.radius:.4g}", f"{100 * one.bias:.3g} %"] for one in plan.baselines()
    ]
    parts = ", ".join(f"{name} {code.operations[name].flops}" for name in ("f", "jacobian", "factor", "solve"))
    blocks: list[Block] = [
        Code(source(make_plan), "Which Jacobian entries can be dropped at this step?"),
        FigureTable(
            ("", "all", "needed"),
            figures,
            f"Margin kept {plan.margin_kept:.3f}, error added {100 * plan.bias:.2g} %. Against accurate simulations: "
            f"{plan.accuracy_text.strip()}.",
        ),
        picture(
            plan.plot(), "Which entries stay, eigenvalues of the step, and the error that dropping the others adds."
        ),
        Code(
            plan.evidence.short,
            "Evidence, not proof: what was checked. What was not is in the page and in the folder.",
            True,
        ),
        FigureTable(
            ("other ways to choose", "entries", "largest |λ|", "error"),
            others,
            "On the same linearisations; above 1 the step is unstable.",
        ),
        Text(
            f"The C of one step has no branch, no loop and no search for pivots: {parts} operations, "
            f"{code.memory['instance']} bytes of state. {count(len(result.time) - 1)} steps of it took "
            f"{seconds(result.stats.seconds)}. In a real-time loop of {count(timing.n_steps)} steps here the median "
            f"was {seconds(timing.median)}, the worst step {seconds(timing.maximum)}. "
            f"Flags of its monitor: {count(int((result.flags != 0).sum()))} steps in the planned run; with twice the "
            f"mass flow, which no scenario had, {said} in {count(int((beyond.flags != 0).sum()))} of "
            f"{count(len(beyond.flags))}. Page: `{page.name}`; sources, self-test and evidence: `{target.name}/`."
        ),
    ]
    return Section(
        "realtime",
        "Real time",
        "In real time the worst step counts. pliant finds which entries of the Jacobian a linearly implicit step can "
        "do without, checks every linearisation it met, and writes straight-line C.",
        blocks,
    )
