"""A pattern that holds where the robot rests, its failure when the robot moves, and a pattern that holds.

python examples/sparsing_story.py          half a minute

Schiela and Bornemann (2003) tell it of their robot: the analysis at t = 0 is not sufficient. Here the same happens, and
the plan made from the whole movement is stable and accurate.
"""

from pathlib import Path

import numpy as np

import pliant

robot = pliant.load(Path(__file__).parent / "Robot.mo")
accurate = robot.simulate(stop=2.6, rtol=1e-8, points=2601)
states = [state.name for state in robot.structure.states]
scale = {name: np.ptp(accurate[name]) for name in states}


def largest_error(result: pliant.Result) -> tuple[float, str]:
    """Of all states, in units of their range."""
    errors = {name: float(np.max(np.abs(result[name] - accurate[name])) / scale[name]) for name in states}
    worst = max(errors, key=errors.__getitem__)
    return errors[worst], worst


# at t = 0 only, by eigenvalues alone: no weight on errors
at_rest = robot.realtime(
    step=1e-3,
    stop=2e-3,
    options={"points": 1, "weights": dict.fromkeys(states, 0.0), "reference": False, "certificate": False},
)
print(f"at rest:  {at_rest}")
try:
    error, worst = largest_error(at_rest.simulate(stop=2.6))
    print(f"          when the robot moves, {worst} is wrong by {100 * error:.0f} % of its range")
    assert error > 0.5
except pliant.NonFiniteError as failure:
    print(f"          when the robot moves: {failure.message}")

moving = robot.realtime(step=1e-3, stop=2.6, options={"points": 60})
run = moving.simulate(stop=2.6)
error, worst = largest_error(run)
print(f"moving:   {moving}")
print(f"          largest error {100 * error:.1f} % of the range ({worst})")
assert error < 0.03
joints = max(float(np.max(np.abs(run[f"axis[{k}].q"] - accurate[f"axis[{k}].q"]))) for k in range(1, 7))
print(f"          joint angles within {1e3 * joints:.1f} mrad")
print(f"          code in {moving.write('robot_c')}")
