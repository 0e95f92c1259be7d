"""Eight plants as engineers write them, judged at 5 %, then run on scenarios that the plan has not seen.

    python benchmarks/plants.py [names]

A plan that holds must stay within 5 % there, or raise a flag; one that does not must have a proposal that works when it
is followed. Errors on unseen scenarios are measured here, without the code of the verdict: distance to the nearest
value of an accurate run within one step, in units of the ranges over the planned scenarios.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pliant

FOLDER = Path(__file__).parent / "plants"
ACCURACY = 0.05
FINE = 16  # rows of the accurate run in each step
Scenario = dict[str, Any]


def jumps(*corners: tuple[float, float]) -> tuple[list[float], list[float]]:
    """An input that is held between jumps."""
    times, values = [corners[0][0]], [corners[0][1]]
    for t, value in corners[1:]:
        times += [t, t]
        values += [values[-1], value]
    return [*times, times[-1] + 1e6], [*values, values[-1]]


def ramps(*corners: tuple[float, float]) -> tuple[list[float], list[float]]:
    """An input that is linear between corners."""
    return [t for t, _ in corners], [value for _, value in corners]


def bump(at: float, height: float, length: float) -> tuple[list[float], list[float]]:
    """A road that rises and falls again."""
    t = np.linspace(0.0, 1.0, 41)
    return [0.0, *(at + length * t)], [0.0, *(0.5 * height * (1.0 - np.cos(2.0 * np.pi * t)))]


def inputs(**given: Any) -> Scenario:
    """A scenario by its inputs."""
    return {"inputs": {name.replace("__", "["): value for name, value in given.items()}}


def road(at: float, height: float, length: float, lag: float) -> Scenario:
    """Both axles over one bump."""
    return {"inputs": {"road[1]": bump(at, height, length), "road[2]": bump(at + lag, height, length)}}


def reach(at: float, first: float, second: float) -> Scenario:
    """Both joints to other angles, in 0.3 s."""
    return {
        "inputs": {
            "ref[1]": ramps((0, 0.3), (at, 0.3), (at + 0.3, first), (1e6, first)),
            "ref[2]": ramps((0, 0.5), (at + 0.1, 0.5), (at + 0.4, second), (1e6, second)),
        }
    }


@dataclass(frozen=True)
class Plant:
    """A model, a step that its makers might choose, and scenarios."""

    name: str
    step: float
    stop: float
    planned: list[Scenario]
    unseen: list[Scenario]
    settings: dict[str, Any] = field(default_factory=dict)


PLANTS = [
    Plant(
        "FocDrive",
        1e-4,
        0.2,
        [
            inputs(w_ref=jumps((0, 0), (0.01, 150.0)), load=jumps((0, 0.0), (0.1, 2.0))),
            inputs(w_ref=jumps((0, 0), (0.01, -150.0), (0.1, 50.0)), load=jumps((0, -1.0), (0.05, 2.0))),
        ],
        [
            inputs(w_ref=jumps((0, 0), (0.02, 110.0), (0.12, -60.0)), load=jumps((0, 0.0), (0.07, 1.5))),
            inputs(w_ref=jumps((0, 0), (0.01, 400.0)), load=4.0),
        ],
        {"judged": ["iq", "w", "torque"]},
    ),
    Plant(
        "BuckAveraged",
        1e-5,
        0.01,
        [
            inputs(duty=jumps((0, 0.4), (0.002, 0.55)), load=jumps((0, 2.0), (0.006, 4.0))),
            inputs(duty=jumps((0, 0.4), (0.003, 0.25)), v_in=jumps((0, 12.0), (0.006, 14.0)), load=1.0),
        ],
        [
            inputs(duty=jumps((0, 0.4), (0.001, 0.5), (0.005, 0.3)), load=jumps((0, 2.0), (0.007, 3.0))),
            inputs(duty=jumps((0, 0.4), (0.001, 0.9)), v_in=20.0, load=8.0),
        ],
    ),
    Plant(
        "BuckSwitched",
        5e-6,
        0.006,
        [
            inputs(duty=jumps((0, 0.4), (0.002, 0.55))),
            inputs(duty=jumps((0, 0.4), (0.002, 0.3)), v_in=jumps((0, 12.0), (0.004, 14.0))),
        ],
        [
            inputs(duty=jumps((0, 0.4), (0.001, 0.47), (0.004, 0.35))),
            inputs(duty=jumps((0, 0.4), (0.002, 0.8)), v_in=18.0),
        ],
    ),
    Plant(
        "HalfCar",
        1e-3,
        3.0,
        [road(0.2, 0.06, 0.15, 0.25), road(0.2, -0.05, 0.4, 0.3)],
        [road(0.3, 0.045, 0.22, 0.2), road(0.3, 0.12, 0.15, 0.25)],
    ),
    Plant(
        "HydraulicCylinder",
        1e-3,
        2.0,
        [
            inputs(u=ramps((0, 0), (0.1, 0), (0.3, 0.6), (0.8, 0.6), (1.2, -0.6), (3, -0.6)), load=1000.0),
            inputs(u=jumps((0, 0), (0.1, 0.4), (0.7, -0.5), (1.4, 0.0)), load=jumps((0, 0.0), (1.0, 2500.0))),
        ],
        [
            inputs(u=jumps((0, 0), (0.2, 0.5), (0.6, -0.3), (1.3, 0.2)), load=jumps((0, 500.0), (0.9, 1500.0))),
            inputs(u=jumps((0, 0), (0.1, 0.9), (0.5, -0.9), (0.9, 0.0)), load=-3000.0),
        ],
    ),
    Plant(
        "Column",
        5.0,
        6000.0,
        [
            inputs(reflux=jumps((0, 1.1), (2000, 1.25)), z=jumps((0, 0.5), (4000, 0.45))),
            inputs(reflux=jumps((0, 1.1), (2000, 0.95)), F=jumps((0, 1.0), (4000, 1.1))),
        ],
        [
            inputs(reflux=jumps((0, 1.1), (1000, 1.18), (3500, 1.0)), z=jumps((0, 0.5), (2500, 0.47))),
            inputs(reflux=1.5, F=0.7, z=0.65),
        ],
    ),
    Plant(
        "FourBar",
        2e-3,
        4.0,
        [inputs(torque=1.0), inputs(torque=ramps((0, 1.2), (2.0, 0.6), (4.0, 1.0)))],
        [inputs(torque=ramps((0, 1.1), (1.5, 0.8), (4.0, 0.9))), inputs(torque=2.5)],
    ),
    Plant(
        "Arm",
        1e-3,
        1.5,
        [reach(0.1, 1.2, -0.4), reach(0.1, -0.5, 1.4)],
        [reach(0.2, 0.9, 1.0), reach(0.1, 2.6, -2.2)],
    ),
]


def measured(model: pliant.Model, plan: pliant.Plan, scenario: Scenario, stop: float, ranges: dict[str, float]) -> Any:
    """(largest error, flagged) of the generated step in a scenario."""
    try:
        run = plan.simulate(stop=stop, inputs=scenario["inputs"])
    except pliant.SolverError:
        return np.inf, True
    flags = getattr(run, "flags", None)
    fine = np.linspace(0.0, run.time[-1], FINE * (len(run.time) - 1) + 1)
    true = model.simulate(
        stop=float(run.time[-1]), points=fine, rtol=1e-8, inputs=scenario["inputs"], options={"initial": "solve"}
    )
    worst = 0.0
    for name, width in ranges.items():
        values: NDArray[np.float64] = np.asarray(true[name])
        padded = np.concatenate([np.full(FINE, values[0]), values, np.full(FINE, values[-1])])
        near = np.lib.stride_tricks.sliding_window_view(padded, 2 * FINE + 1)[::FINE]
        worst = max(worst, float(np.abs(near - np.asarray(run[name])[:, None]).min(axis=1).max()) / width)
    return worst, None if flags is None else bool(np.any(flags))


def ranges_of(model: pliant.Model, plant: Plant, names: tuple[str, ...]) -> dict[str, float]:
    """Over the accurate runs of the planned scenarios."""
    runs = [
        model.simulate(stop=plant.stop, points=4001, rtol=1e-8, inputs=one["inputs"], options={"initial": "solve"})
        for one in plant.planned
    ]
    spans = {name: max(float(r[name].max()) for r in runs) - min(float(r[name].min()) for r in runs) for name in names}
    return {name: span if span > 1e-9 else 1.0 for name, span in spans.items()}


def planned(model: pliant.Model, plant: Plant, **settings: Any) -> pliant.Plan:
    """The plan of a plant."""
    given = {"step": plant.step, "options": {"certificate": False}, **plant.settings, **settings}
    return model.realtime(stop=plant.stop, scenarios=plant.planned, accuracy=ACCURACY, **given)


def judge(plant: Plant) -> tuple[list[str], bool]:
    """Lines about a plant, and whether nothing was left untold."""
    model = pliant.load(FOLDER / f"{plant.name}.mo")
    begin = time.perf_counter()
    plan = planned(model, plant)
    e = first = plan.evidence
    lines = [f"{plant.name}: step {plant.step:g}: {plan.accuracy_text.strip()}; {time.perf_counter() - begin:.0f} s"]
    good = True
    if not e.holds:
        lines.append(f"  does not hold: {'; '.join(e.failing)}")
        good = bool(e.proposals)
        for one in e.proposals:
            followed = planned(model, plant, **one.settings)
            lines.append(f"  {one.text}; followed: {'holds' if followed.evidence.holds else followed.evidence.failing}")
            good &= followed.evidence.holds
            if followed.evidence.holds and plan.evidence is first:  # the one that an engineer would take
                plan = followed
    ranges = ranges_of(model, plant, e.judged)
    for k, scenario in enumerate(plant.unseen):
        error, flagged = measured(model, plan, scenario, plant.stop, ranges)
        told = {None: "flags are not known", True: "flagged", False: "no flag"}[flagged]
        silent = error > ACCURACY and plan.evidence.holds and not flagged
        lines.append(f"  unseen {k + 1}: {100 * error:.3g} %, {told}{', NOTHING TELLS' if silent else ''}")
        good &= not silent
    return lines, good


def main() -> int:
    """All plants, or those named."""
    wanted = sys.argv[1:] or [one.name for one in PLANTS]
    short = 0
    for plant in PLANTS:
        if plant.name in wanted:
            lines, good = judge(plant)
            print("\n".join(lines), flush=True)
            short += not good
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
