"""Plans for FMUs: the pattern, the step inside the host, what it saves, and what cannot be checked."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support_fmus import fmu

import pliant

QUICK = {"certificate": False, "reference": False}


@pytest.fixture(scope="module")
def chain() -> Iterator[pliant.Plan]:
    with pliant.load(fmu("chain", "2.0")) as model:
        yield model.realtime(step=2e-4, stop=0.05, tolerance=0.1, options=QUICK)


def item(plan: pliant.Plan, name: str) -> str:
    found = [one for one in plan.evidence.items if one.name == name]
    assert len(found) == 1
    assert found[0].holds is not False
    return found[0].text


def test_the_pattern_saves_evaluations_inside_the_host(chain: pliant.Plan) -> None:
    assert chain.colours == 1
    assert chain.outcome.full_colours == 3
    sparse, full = chain.simulate(), chain.simulate(kind="full")
    assert sparse.stats.n_steps == full.stats.n_steps == 250
    # f once, and once for each colour; a look at increments and patterns now and then
    assert 500 <= sparse.stats.n_rhs <= 510
    assert 1000 <= full.stats.n_rhs <= 1012
    assert chain.called is not None
    assert chain.called.shared
    assert chain.called.full_evaluations - chain.called.evaluations == pytest.approx(2.0, abs=0.1)


def test_the_step_in_the_host_is_the_analysed_one(chain: pliant.Plan) -> None:
    assert "the 1 colours of the kept entries" in item(chain, "step by calls of the model")
    run, masked = chain.simulate(), chain.outcome.masked[0]
    apart = np.abs(np.column_stack([run[name] for name in chain.names]) - masked.x) / chain.outcome.frame.scale
    assert 0.0 < apart.max() <= 0.25 * 0.1


def test_parameters_and_start_values_reach_the_step(chain: pliant.Plan) -> None:
    run = chain.simulate(stop=0.01, parameters={"k": 0.0}, start_values={"x[3]": 5.0})
    assert run.final["x[3]"] == 5.0
    assert run.final["x[1]"] == 1.0


def test_colours_of_all_entries_where_shared_ones_are_too_far_off() -> None:
    with pliant.load(fmu("chain", "3.0")) as model:
        plan = model.realtime(step=2e-3, stop=0.1, tolerance=0.05, options=QUICK)
        assert plan.entries < plan.full_entries
        assert plan.called is not None
        assert not plan.called.shared
        assert plan.called.difference < 1e-9
        run = plan.simulate()
    apart = np.abs(np.column_stack([run[name] for name in plan.names]) - plan.outcome.masked[0].x)
    assert apart.max() < 1e-9


def test_directional_derivatives_are_asked_for() -> None:
    with pliant.load(fmu("vanderpol", "2.0")) as model:
        plan = model.realtime(step=0.02, stop=1.0, options=QUICK)
        run = plan.simulate()
    assert run.stats.n_jvp == 2 * run.stats.n_steps == 100
    assert run.stats.n_rhs == 50
    assert plan.called is not None
    assert plan.called.judged


def test_evidence_says_what_cannot_be_checked(chain: pliant.Plan, tmp_path: Path) -> None:
    told = "\n".join(chain.evidence.not_checked)
    assert "the model is an FMU without equations, so that no code is written" in told
    with pytest.raises(pliant.NotSupportedError, match="it is an FMU") as raised:
        chain.write(tmp_path / "code")
    assert "plan.simulate" in (raised.value.hint or "")
    with pytest.raises(pliant.NotSupportedError, match="it is an FMU"):
        chain.measure()
    assert chain.report(tmp_path / "plan.html").stat().st_size > 1000


def test_what_a_step_by_calls_cannot_do(chain: pliant.Plan) -> None:
    with pytest.raises(pliant.NotSupportedError, match="no fallback"):
        chain.simulate(kind="guarded")
    with pytest.raises(pliant.NotSupportedError, match="double precision"):
        chain.simulate(precision="float")


def test_events_of_an_fmu_are_noted() -> None:
    with pliant.load(fmu("ball", "3.0")) as model:
        plan = model.realtime(step=2e-3, stop=0.6, options={"certificate": False})
        assert plan.evidence.holds
        assert "it stops at events between steps" in item(plan, "step by calls of the model")
        assert "cannot be set back" in "\n".join(plan.evidence.not_checked)
        assert "bounces" not in plan.evidence.errors
        assert plan.simulate().stats.n_events == 1


def test_second_order_is_analysed_only() -> None:
    with pliant.load(fmu("vanderpol", "3.0")) as model:
        plan = model.realtime(step=0.05, stop=0.5, order=2, options=QUICK)
        with pytest.raises(pliant.NotSupportedError, match="order 2"):
            plan.simulate()


def test_a_plan_of_an_fmu_can_be_pickled(chain: pliant.Plan) -> None:
    other = pickle.loads(pickle.dumps(chain))
    np.testing.assert_array_equal(other.simulate()["x[3]"], chain.simulate()["x[3]"])
