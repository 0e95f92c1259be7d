"""Tour: two models coupled without restarts."""

from __future__ import annotations

from pathlib import Path

import pliant
from pliant.cosim.compare import compare
from pliant.cosim.plot import plot_strategies
from pliant.tour.section import MODELS, Code, FigureTable, Section, count, picture, source

STRATEGIES = ("restart", "x1", "x2", "correct")


def make_coupling() -> pliant.Coupling:
    """Two masses with springs and dampers, cut between the masses."""
    system = pliant.Coupling()
    system.add("left", pliant.load(MODELS / "spring_damper_left.mo"))
    system.add("right", pliant.load(MODELS / "spring_damper_right.mo"))
    system.connect("left.x", "right.x1")
    system.connect("left.v", "right.v1")
    system.connect("right.x", "left.x2")
    system.connect("right.v", "left.v2")
    return system


def coupling(_folder: Path) -> Section:
    """What each strategy at communication points costs."""
    trials = compare(make_coupling(), STRATEGIES, stop=2.0, step=0.02)
    first = trials[0].total
    rows = [
        [
            trial.at_jump,
            count(trial.stats.n_steps),
            count(trial.stats.n_jac),
            count(trial.total),
            f"{trial.total / first:.2f}",
        ]
        for trial in trials
    ]
    try:
        make_coupling().simulate(stop=8.0, step=0.2)
        told = ""
    except pliant.AccuracyError as error:
        told = str(error)
    chosen = make_coupling().simulate(stop=8.0, step="auto", extrapolation=2)
    drawn = {
        trial.at_jump: trial.result for trial in trials if trial.at_jump in ("restart", "correct") and trial.result
    }
    return Section(
        "coupling",
        "Coupling without restarts",
        "Each part has its own solver; at every communication point its inputs jump. pliant's BDF corrects its "
        "history, its order and its step there and continues instead of restarting.",
        [
            Code(source(make_coupling), "Two models, each with a solver of its own."),
            FigureTable(
                ("at a jump", "steps", "Jacobians", "evaluations", "of restart"),
                rows,
                "100 macro steps; evaluations of f, directional derivatives and Taylor coefficients together.",
            ),
            Code(told, "Macro steps ten times as long: growth caused by the coupling alone is detected.", True),
            Code(
                str(chosen.explain()),
                'step="auto": macro steps chosen by the error of the inputs, and what limits them.',
                True,
            ),
            picture(chosen.plot_macro_steps(), "Macro steps and errors: the steps grow as the oscillation dies out."),
            picture(plot_strategies(drawn, "left"), "Step size and order of the left mass, restarted and corrected."),
        ],
    )
