"""Plans challenged with a thousand unseen scenarios each: errors without a flag, false alarms.

python benchmarks/figures.py challenge
python benchmarks/challenge_figures.py 100 Pipe      so many scenarios, this plan only
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peers import ROOT

import pliant

Row = tuple[str, str, str, bool | None, str]
COMMAND = "python benchmarks/figures.py challenge"
PLANTS = Path(__file__).parent / "plants"
N, QUICK = 1000, 60
ACCURACY = 0.05
ALARMS = 0.05  # of covered scenarios with an error below half of the accuracy


@dataclass(frozen=True)
class Case:
    """A model, its step, and the ranges that it is planned and challenged in."""

    file: Path
    step: float
    stop: float
    ranges: Mapping[str, Mapping[str, Any]]
    planned: int = 8
    settings: Mapping[str, Any] = field(default_factory=dict)
    load: Mapping[str, Any] = field(default_factory=dict)


def around(values: Mapping[str, float], share: float) -> dict[str, tuple[float, float]]:
    """Ranges of so much to both sides."""
    return {name: (value - share * abs(value), value + share * abs(value)) for name, value in values.items()}


ROBOT = {f"qb[{k + 1}]": value for k, value in enumerate((1.2, 0.9, 0.1, 1.0, -0.5, 1.5))}
ROBOT |= {f"qc[{k + 1}]": value for k, value in enumerate((-0.8, -0.2, 0.9, -0.7, 0.9, -1.0))}
GRID = {"U[1]": 8.0, "U[2]": 5.0, "U[3]": 6.0, "frequency[1]": 50.0, "frequency[2]": 13.0, "frequency[3]": 31.0}
CASES = {
    "Robot": Case(ROOT / "examples/Robot.mo", 1e-3, 2.6, {"parameters": around(ROBOT, 0.4)}, 6),
    "Pipe": Case(
        ROOT / "examples/Pipe.mo",
        0.1,
        60.0,
        {
            "parameters": {
                "Md_mean": (0.01, 0.06),
                "T_mean": (450.0, 700.0),
                "T_slow": (50.0, 200.0),
                "w_wave[1]": (0, 0.1),
            }
        },
    ),
    "DiodeGrid": Case(
        ROOT / "examples/DiodeGrid.mo",
        1e-4,
        0.05,
        {"parameters": around(GRID, 0.3)},
        6,
        load={"options": {"form": "dae"}},
    ),
    "FocDrive": Case(
        PLANTS / "FocDrive.mo",
        1e-4,
        0.2,
        {"inputs": {"w_ref": {"kind": ["step", "constant"], "range": (-200.0, 200.0)}, "load": (-1.0, 2.0)}},
        settings={"judged": ["iq", "w", "torque"]},
    ),
    "Column": Case(
        PLANTS / "Column.mo",
        5.0,
        6000.0,
        {
            "inputs": {
                "reflux": {"kind": "step", "range": (0.95, 1.25)},
                "F": {"kind": "step", "range": (0.95, 1.05)},
                "z": {"kind": "step", "range": (0.45, 0.5)},
            }
        },
    ),
    "HalfCar": Case(
        PLANTS / "HalfCar.mo",
        1e-3,
        3.0,
        {
            "inputs": {
                f"road[{k}]": {"kind": "multisine", "range": (-0.05, 0.05), "frequency": (0.5, 6.0)} for k in (1, 2)
            }
        },
    ),
    "Arm": Case(
        PLANTS / "Arm.mo",
        1e-3,
        1.5,
        {"inputs": {f"ref[{k}]": {"kind": ["ramp", "multisine"], "range": (-0.5, 1.0)} for k in (1, 2)}},
    ),
}


def plan_of(case: Case) -> pliant.Plan:
    """The plan, from a few scenarios of its ranges."""
    model = pliant.load(case.file, **case.load)
    seen = pliant.Scenarios(case.ranges, case.planned, stop=case.stop) if case.ranges else _planned(case)
    return model.realtime(step=case.step, stop=case.stop, scenarios=seen, accuracy=ACCURACY, **case.settings)


def _planned(case: Case) -> Any:
    import plants

    return next(one.planned for one in plants.PLANTS if one.name == case.file.stem)


def challenged(name: str, n: int) -> tuple[pliant.Plan, pliant.Challenge]:
    """One plan against unseen scenarios of its own ranges; without ranges, around what it covers."""
    case = CASES[name]
    plan = plan_of(case)
    unseen = pliant.Scenarios(case.ranges, n, seed=1, stop=case.stop) if case.ranges else None
    return plan, plan.challenge(n, scenarios=unseen)


def rows(quick: bool = False) -> list[Row]:
    """What, goal, reached, met, command."""
    out: list[Row] = []
    for name in CASES:
        n = QUICK if quick else N
        plan, found = challenged(name, n)
        holds = "holds" if plan.evidence.holds else "does not hold"
        covered = sum(one.covered for one in found.rows)
        words = (
            f"{len(found.missed)} missed, {len(found.failed)} beyond the accuracy; {len(found.false_alarms)} false "
            f"alarms ({100 * found.false_alarm_share:.1f} %), {covered} covered, {len(found.unsolvable)} not solvable; "
            f"plan {holds}"
        )
        met = not found.missed and found.false_alarm_share <= ALARMS
        out.append((f"{name}: plan.challenge({n})", "0 missed; <= 5 % false alarms", words, met, COMMAND))
    return out


def main() -> None:
    """Print what a challenge finds."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else QUICK
    for name in sys.argv[2:] or CASES:
        begin = time.perf_counter()
        plan, found = challenged(name, n)
        print(f"{plan!r}\n{found}\n  {time.perf_counter() - begin:.0f} s in all\n", flush=True)


if __name__ == "__main__":
    main()
