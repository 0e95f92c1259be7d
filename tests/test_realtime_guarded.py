"""Flags of a plan's runs, the step that protects, states that come to rest."""

from __future__ import annotations

import numpy as np
import pytest

import pliant
from pliant import Flag

PIPE = """model Pipe
  input Real v(start = 0.05);
  Real T[10](each start = 300, each fixed = true);
equation
  der(T[1]) = v*(310 - T[1]) + 0.01*(350 - T[1]);
  for i in 2:10 loop
    der(T[i]) = v*(T[i-1] - T[i]) + 0.01*(350 - T[i]);
  end for;
end Pipe;
"""
COVERED = {"v": ([0.0, 100.0, 200.0, 300.0], [0.02, 0.06, 0.01, 0.05])}
FRICTION = """model Friction
  parameter Real f0 = 5, level = 0;
  input Real u(start = 0);
  Real w(start = 1.0013, fixed = true), phi(start = 0, fixed = true);
  Real a, sa, f;
  Boolean locked, forward, backward;
  Integer mode(start = 3, fixed = true);
equation
  der(phi) = w - level;
  der(w) = a;
  a = u - f;
  forward = pre(mode) == 0 and sa > f0;
  backward = pre(mode) == 0 and sa < -f0;
  locked = not (pre(mode) == 1 or forward or pre(mode) == -1 or backward or pre(mode) == 3);
  a = if locked then 0 else if forward or pre(mode) == 1 then sa - f0 elseif backward or pre(mode) == -1 then sa + f0
    else sa;
  f = if locked then sa else if pre(mode) == 1 or forward then f0 elseif pre(mode) == -1 or backward then -f0
    else (if w > level then f0 else -f0);
  mode = if pre(mode) == 3 then (if w > level then 1 elseif w < level then -1 else 0)
    elseif (pre(mode) == 1 or forward) and w > level then 1
    elseif (pre(mode) == -1 or backward) and w < level then -1 else 0;
end Friction;
"""


@pytest.fixture(scope="module")
def pipe() -> tuple[pliant.Model, pliant.Plan]:
    model = pliant.load(PIPE)
    return model, model.realtime(
        step=1.0, stop=300.0, scenarios=[{"inputs": COVERED}], options={"monitor": "fallback", "limits": {"hold": 30}}
    )


def test_the_guarded_step_protects(pipe: tuple[pliant.Model, pliant.Plan]) -> None:
    model, plan = pipe
    assert plan.entries < plan.full_entries
    accurate = model.simulate(stop=300, inputs={"v": 2.5}, points=301, rtol=1e-8)
    errors = {}
    for kind in ("full", "guarded"):
        run = plan.simulate(stop=300, inputs={"v": 2.5}, kind=kind)
        errors[kind] = max(np.abs(run[name] - accurate[name]).max() for name in plan.names)
    assert errors["full"] < 5.0
    assert errors["guarded"] <= errors["full"]
    alone = plan.simulate(stop=20, inputs={"v": 2.5})
    assert alone.flags is not None
    assert all(Flag(int(bits)) & Flag.RANGE for bits in alone.flags)


def test_flags_are_quiet_where_the_evidence_is(pipe: tuple[pliant.Model, pliant.Plan]) -> None:
    _, plan = pipe
    for kind in ("", "guarded", "full"):
        run = plan.simulate(stop=300, inputs=COVERED, kind=kind)
        assert run.flags is not None
        assert len(run.flags) == len(run.time) - 1
        assert not run.flags.any()


def test_the_full_step_stays_for_the_stated_time(pipe: tuple[pliant.Model, pliant.Plan]) -> None:
    """An input outside its range for ten steps, then 30 steps until the pattern is used again."""
    _, plan = pipe
    given = {"v": ([0.0, 100.0, 100.0, 109.5, 109.5, 300.0], [0.02, 0.02, 0.085, 0.085, 0.02, 0.02])}
    run = plan.simulate(stop=300, inputs=given, kind="guarded")
    assert run.flags is not None
    assert run.flags.any()
    assert np.ptp(np.flatnonzero(run.flags)) in (38, 39, 40)


def test_other_parameters_than_those_of_the_evidence_are_told() -> None:
    model = pliant.load(
        "model M\n parameter Real k = 2;\n Real x(start = 1, fixed = true);\nequation\n der(x) = -k*x;\nend M;\n"
    )
    plan = model.realtime(step=0.01, stop=1.0, scenarios=[{"parameters": {"k": 1.0}}, {"parameters": {"k": 3.0}}])
    for k, told in ((2.5, False), (3.4, False), (3.6, True), (0.3, True)):  # a quarter of the range is its margin
        flags = plan.simulate(stop=1.0, parameters={"k": k}).flags
        assert flags is not None
        assert bool((flags & Flag.RANGE).all()) == told
        assert bool((flags & Flag.RANGE).any()) == told


@pytest.mark.parametrize("level", [0.0, 0.3])
@pytest.mark.parametrize("order", [1, 2])
def test_what_sticks_does_not_creep(level: float, order: int) -> None:
    model = pliant.load(FRICTION)
    plan = model.realtime(
        step=1e-3, stop=1.0, order=order, scenarios=[{"parameters": {"level": level}}], options={"search": "full"}
    )
    for name, run in (("plan", plan.simulate(stop=1.0, parameters={"level": level})),):
        assert run["mode"][-1] == 0.0, name
        assert run["w"][-1] == level, name
        assert np.ptp(run["phi"][-100:]) == 0.0, name
    assert plan.outcome.masked[0].x[-1, list(plan.names).index("w")] == level
    push = {"u": ([0.0, 0.5, 0.5, 1.0], [0.0, 0.0, 8.0, 8.0])}  # breaks loose again
    run = plan.simulate(stop=1.0, parameters={"level": level}, inputs=push)
    accurate = model.simulate(stop=1.0, parameters={"level": level}, inputs=push, points=1001)
    assert run["w"][-1] == pytest.approx(accurate["w"][-1], abs=2e-2)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"hold": 0}, "hold = 0 must be a whole number"),
        ({"error": -1.0}, "error = -1.0 is not valid"),
        ({"error": np.nan}, "error = nan is not valid"),
        ({"ranges": {"v": (1.0, 0.0)}}, "lowest below the highest"),
        ({"ranges": {"v": (0.02, 0.03)}}, "does not hold what the scenarios cover"),
        ({"ranges": {"w": (0.0, 1.0)}}, "no unknown or input 'w'"),
        ({"ranges": {"v": (0.0, np.nan)}}, "lowest below the highest"),
        ({"holds": 3}, "no limit 'holds'"),
        ([1], "must be a mapping"),
    ],
)
def test_limits_that_contradict_are_refused(limits: object, words: str) -> None:
    with pytest.raises(pliant.PliantError, match=words):
        pliant.load(PIPE).realtime(
            step=1.0, stop=300.0, scenarios=[{"inputs": COVERED}], options={"limits": limits, "search": "full"}
        )
