"""Values of wrong types in every public function: a typed error, no traceback from inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import ArgumentError, PliantError

TEXT = "model M\n  input Real u;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = u - x;\nend M;\n"
WRONG: list[Any] = [True, "zz", b"x", -1, 1.5, math.nan, [1, "a"], {1: 2}, object(), 1j, np.ones((2, 2))]
BY_NAME = {"simulate", "linearize", "jacobian", "check_jacobian", "steady_state"}


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
def test_wrong_types_are_refused(value: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = pliant.load(TEXT)
    result = model.simulate(stop=1, points=5)
    calls: list[Callable[[], Any]] = []
    for method in BY_NAME:
        more = {"stop": 1} if method == "simulate" else {}
        calls.append(lambda method=method, more=more: getattr(model, method)(parameters=value, **more))
    calls += [
        lambda: model.simulate(stop=1, start_values=value),
        lambda: model.simulate(stop=1, outputs=value),
        lambda: model.simulate(stop=1, options=value),
        lambda: model.jacobian(options=value),
        lambda: pliant.load(value),
        lambda: pliant.inspect(value),
        lambda: pliant.load(TEXT, name=value),
        lambda: pliant.load(TEXT, path=value),
        lambda: pliant.load(TEXT, tear=value),
        lambda: pliant.load(TEXT, options=value),
        lambda: pliant.native(value),
        lambda: pliant.ode(lambda t, x: -x, [1.0, 2.0], names=value),
        lambda: result.save(value),
        lambda: result.save("r.csv", names=value),
        lambda: pliant.load_result(value),
        lambda: result.plot(value),
        lambda: result.plot("x", file=value),
        lambda: result.plot("x", log=value),
        lambda: result.to_pandas(value),
        lambda: result.resolve(value),
    ]
    for k, call in enumerate(calls):
        with pytest.raises(PliantError) as caught:
            call()
        assert caught.value.hint, k
    if not isinstance(value, (float, int)) or isinstance(value, bool):
        for call in (lambda: model.linearize(t=value), lambda: model.linearize(x=value)):
            with pytest.raises(PliantError):
                call()


def test_booleans_are_no_numbers_of_a_plan() -> None:
    model = pliant.load("model M\n Real x(start = 1, fixed = true);\nequation\n der(x) = -x;\nend M;\n")
    for name in ("step", "stop", "tolerance", "theta", "order", "accuracy"):
        with pytest.raises(ArgumentError, match=f"{name}.*True"):
            model.realtime(**{"step": 0.1, "stop": 1.0, name: True})
    for name in ("points", "training", "rounds", "restarts", "seed", "newton_steps", "smallest_real", "cluster_cut"):
        with pytest.raises(ArgumentError, match=f"{name}.*True"):
            model.realtime(step=0.1, stop=1.0, options={name: True})
    plan = model.realtime(step=0.1, stop=1.0, options=pliant.RealtimeOptions(search="full"))
    for call in (lambda: plan.simulate(stop=True), lambda: plan.measure(steps=True), lambda: plan.measure(core=True)):
        with pytest.raises(ArgumentError, match="True"):
            call()
