"""Error against cost: rows, plans of rows, budgets, pictures."""

from __future__ import annotations

import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support_cli import CliRunner

import pliant
from pliant.cli import app
from pliant.realtime.cost import cost_of
from pliant.realtime.sparsing.bias import largest

CHAIN = """
model Chain "Stiff cells with nonlinear conduction, driven slowly"
  Real T[5](each start = 1, each fixed = true), s(start = 0, fixed = true);
  Real k[4];
equation
  der(s) = 2*(sin(2*time) - s);
  for i in 1:4 loop
    k[i] = 30*(1 + 0.2*tanh(T[i] - T[i + 1])^2 + 0.05*exp(-T[i]^2));
  end for;
  der(T[1]) = 200*(s - T[1])*(1 + 0.1*T[1]^2) + k[1]*(T[2] - T[1]);
  for i in 2:4 loop
    der(T[i]) = k[i - 1]*(T[i - 1] - T[i]) + k[i]*(T[i + 1] - T[i]);
  end for;
  der(T[5]) = k[4]*(T[4] - T[5]) - 40*T[5]*abs(T[5]);
end Chain;
"""


def plan_of(**changes: Any) -> pliant.Plan:
    arguments: dict[str, Any] = {
        "step": 0.02,
        "stop": 4.0,
        "options": {"certificate": False, "points": 60},
        "progress": False,
    }
    return pliant.load(CHAIN).realtime(**(arguments | changes))


@pytest.fixture(scope="module")
def plan() -> pliant.Plan:
    found = plan_of()
    assert len(found.frontier) >= 3
    return found


def test_costs_rise_and_errors_fall(plan: pliant.Plan) -> None:
    rows = plan.frontier.rows
    assert all(a.cost < b.cost and a.error > b.error for a, b in itertools.pairwise(rows))
    assert rows[-1].error == 0.0
    assert rows[-1].entries == plan.full_entries
    assert all(row.error <= 1.1 * 0.02 for row in rows)


def test_rows_are_plans(plan: pliant.Plan) -> None:
    for k, row in enumerate(plan.frontier):
        chosen = plan.choose(k)
        assert (chosen.entries, chosen.computed) == (row.entries, row.computed)
        assert cost_of(chosen) == (row.cost, plan.frontier.unit)
        assert chosen.frontier is plan.frontier
        run = chosen.simulate()
        added = np.column_stack([run[name] for name in chosen.names]) - plan.outcome.exact[0].x
        assert largest(added, plan.outcome.frame).max() <= row.error + 1e-6
    assert plan.choose(-1).entries == plan.full_entries
    with pytest.raises(pliant.ArgumentError, match="no row 17"):
        plan.choose(17)


def test_a_budget_takes_the_least_error_that_it_pays_for(plan: pliant.Plan) -> None:
    rows = plan.frontier.rows
    budget = rows[1].cost
    found = plan_of(budget=budget)
    assert cost_of(found)[0] <= budget
    assert found.entries == rows[1].entries
    assert found.computed == rows[1].computed
    assert plan.frontier.within(1e9) == len(rows) - 1


def test_a_budget_that_cannot_be_met_says_what_the_least_is(plan: pliant.Plan) -> None:
    with pytest.raises(pliant.ArgumentError, match=rf"cannot be met.* needs {plan.frontier[0].cost}\b") as caught:
        plan_of(budget=10)
    assert f"budget={plan.frontier[0].cost}" in str(caught.value)


def test_costs_of_a_model_with_inputs_and_a_long_run() -> None:
    text = """
model Lag
  input Real u(start = 1);
  Real x(start = 0, fixed = true), y(start = 0, fixed = true);
equation
  der(x) = 20*(u - x);
  der(y) = x - y;
end Lag;
"""
    costs = [
        cost_of(pliant.load(text).realtime(step=1e-3, stop=stop, options={"certificate": False}, progress=False))
        for stop in (0.5, 1.5)
    ]
    assert costs[0] == costs[1]


def test_budgets_that_make_no_sense() -> None:
    for budget in (0, -3, float("nan"), "much"):
        with pytest.raises(pliant.ArgumentError, match="budget"):
            plan_of(budget=budget)
    ode = pliant.ode(lambda t, x: [-x[0]], [1.0])
    with pytest.raises(pliant.NotSupportedError, match="without equations"):
        ode.realtime(step=0.1, stop=1.0, budget=100, progress=False)


def test_shown_drawn_kept(plan: pliant.Plan, tmp_path: Path) -> None:
    page = plan.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Error against cost" in page
    assert f">{plan.frontier[0].cost}<" in page
    text = str(plan.frontier)
    assert str(plan.frontier[0].cost) in text
    assert plan.frontier.unit in text
    plan.frontier.plot(tmp_path / "f.png")
    assert (tmp_path / "f.png").stat().st_size > 1000
    assert json.loads(json.dumps(plan.as_dict()["frontier"]))["rows"][0]["cost"] == plan.frontier[0].cost
    again = pickle.loads(pickle.dumps(plan))
    assert again.frontier.rows == plan.frontier.rows


def test_command_line(tmp_path: Path) -> None:
    (tmp_path / "Chain.mo").write_text(CHAIN)
    common = ["realtime", str(tmp_path / "Chain.mo"), "--step", "0.02", "--stop", "2", "--option", "certificate=false"]
    found = CliRunner().invoke(app, [*common, "--budget", "10"])
    assert found.exit_code == 2
    assert "cannot be met" in found.output
    found = CliRunner().invoke(app, [*common, "--frontier", "--json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["frontier"]["rows"]
