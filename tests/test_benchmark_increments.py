"""The study of increments and its figures: the functions work, and what is bad is shown as bad.

Oracles: what T. Renström (Lund 2024:E8) found on the stiff Van der Pol oscillator (about 100 steps, 1.6 million with
PyFMI's increments and nominal 1e6, 16 000 with algorithm 3), and its reference solution.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import increments as study
import increments_figures as figures
import increments_plots

import pliant

FEW = study.Effort(limit=5000, scan_limit=2000, full_limit=10_000, constants=(1e-6, 1e-2, 1.0), nearby=1)


def test_a_bad_rule_is_shown_as_bad() -> None:
    bad = study.run("VanDerPol", "radau5", "pyfmi", FEW.full_limit)
    assert bad.steps is None
    assert bad.why == "steps"
    assert 1.6e6 < bad.time < 1.62e6  # at the second jump, 2 mu (3/2 - ln 2), where y1 is negative
    for rule in ("radau5", "thesis", "default", "exact"):
        good = study.run("VanDerPol", "radau5", rule, FEW.full_limit)
        assert good.steps is not None
        assert good.steps < 150


def test_nominal_value_is_taken_from_the_text() -> None:
    assert study.nominals("VanDerPol").tolist() == [1e6, 1e6]
    assert study.load("VanDerPol", 10.0).variables["y1"].nominal == 10.0
    right = study.nominal_run(1.0, "pyfmi", FEW)
    assert right.steps is not None
    assert right.steps < 150
    assert study.nominal_run(1e6, "pyfmi", FEW).steps is None


def test_scan_finds_the_cliff() -> None:
    found = study.scan("VanDerPol", "radau5", 2, 0, FEW)
    assert [c for c, _ in found] == [1e-6, 1e-2, 1.0]
    assert [one.steps is not None for _, one in found] == [True, True, False]
    assert study.good_constants(found, 100) == "≤ 1e-6 to 1e-2"
    assert study.good_constants(found, 10) == "none"
    assert study.constants_of(5, FEW) == [2.0**-20, 2.0**-7, 1.0]


def test_tables_of_one_model() -> None:
    found = study.tables(["VanDerPol"], FEW)
    low, mean, high = (float(cell) for cell in found[0].rows[1][1:4])
    assert low < mean < high == pytest.approx(2 / 3, abs=1e-3)  # y2 lies between the knees
    rules = next(table for table in found if table.head[-2:] == ("default", "exact") and "thesis" in table.head)
    assert rules.rows[0][rules.head.index("pyfmi")] == "–"
    assert int(rules.rows[0][-1]) == pytest.approx(100, rel=0.2)
    assert rules.markdown().count("\n|") == 2 + len(rules.rows)
    for table in found:
        assert len({len(row) for row in (table.head, *table.rows)}) == 1
        assert all(cell in str(table) for row in table.rows for cell in row)


def test_algorithm_3_helps_where_the_state_is_negative() -> None:
    """Table 7.1: the side of the difference matters, algorithms 1 and 2 leave it."""
    assert study.run("VanDerPol", "radau5", "pyfmi", FEW.full_limit, algorithm=1).steps is None
    turned = study.run("VanDerPol", "radau5", "pyfmi", 20_000, algorithm=3)
    assert turned.steps is not None


def test_evaluations_per_jacobian() -> None:
    plain = study.run("VanDerPol", "radau5", "radau5", FEW.limit)
    assert plain.source == "differences"
    assert plain.evaluations == 2.0
    assert study.run("VanDerPol", "radau5", "exact", FEW.limit).evaluations == 0.0


def test_oscillator_as_c_has_no_derivatives() -> None:
    found = figures.oscillator_in_c(1e6).simulate(2e6, method="radau5", rtol=1e-9, atol=1e-3, points=2)
    assert found.stats.jacobian == "differences"
    assert figures.oscillator_in_c(1e6).variables["y1"].nominal == 1e6
    assert np.abs(found.values[-1] - figures.problem("vdpol_stiff").reference).max() < 1e-2
    with pytest.raises(pliant.StepLimitError):
        figures.oscillator_in_c(1e6).simulate(
            2e6, method="radau5", rtol=1e-9, atol=1e-3, points=2, options={"increments": "pyfmi", "max_steps": 10_000}
        )


def test_means_count_the_runs_that_finish() -> None:
    found = study.mean_steps("VanDerPol", "radau5", "exact", FEW)
    steps = [
        study.run("VanDerPol", "radau5", "exact", FEW.limit, given=(("tolerance", s),)).steps for s in (0.98, 1.0, 1.02)
    ]
    assert found.steps == pytest.approx(np.prod(np.array(steps, dtype=float)) ** (1 / 3))
    assert str(found) == f"{found.steps:.0f}"
    assert str(study.Mean(2, 3, 100.4)) == "100 (2/3)"
    assert str(study.mean_steps("VanDerPol", "radau5", "pyfmi", FEW, 500)) == "–"


def test_random_systems_know_their_jacobian() -> None:
    """Oracle: complex steps, which have no cancellation."""
    rng = np.random.default_rng(7)
    for _ in range(5):
        system = figures.random_system(rng)
        n = len(system.size)
        x = system.size * rng.uniform(0.2, 2.0, n) * rng.choice([-1, 1], n)
        exact = system.jacobian(x)
        for j in range(n):
            moved = x.astype(complex)
            moved[j] += 1e-30j * system.size[j]
            values = np.zeros(n, dtype=complex)
            np.add.at(values, system.row, system.terms(moved)[0])
            np.testing.assert_allclose(exact[:, j], system.rate * values.imag * 1e30, rtol=1e-12, atol=1e-300)


def test_figures_show_a_bad_jacobian(monkeypatch: pytest.MonkeyPatch) -> None:
    good, _ = figures.entry_errors(np.random.default_rng(1), "nominal", 0.3)
    assert np.mean(good <= 1e-6) > 0.9
    take = pliant.Model.jacobian
    bad_rule = {"increments": "experiment2", "increment_constant": 1e6}  # 1.5 % of the size
    monkeypatch.setattr(pliant.Model, "jacobian", lambda model, **given: take(model, options=bad_rule, **given))
    bad, _ = figures.entry_errors(np.random.default_rng(1), "nominal", 0.3)
    assert bad.max() > 1e-3
    assert np.mean(bad <= 1e-6) < 0.9


def test_patterns_need_as_many_colours_as_their_longest_row() -> None:
    for name, pattern in figures.patterns(12).items():
        dense = pattern.toarray() != 0
        longest = int(dense.sum(axis=1).max())
        colours, evaluations = figures.colours_of_pattern(pattern)
        assert colours == longest, name
        assert evaluations <= colours + 1, name


def test_large_patterns_are_what_they_say() -> None:
    for name, pattern in figures.large_patterns(1000).items():
        assert pattern.shape == (1000, 1000), name
        assert np.all(pattern.diagonal() != 0), name
        assert 4 * 1000 < pattern.nnz <= 5 * 1000, name
        seconds, colours = figures.seconds_of_colours(pattern)
        assert seconds < 1.0
        assert int(np.diff(pattern.tocsr().indptr).max()) <= colours <= 40, name


def test_explain_row_sees_a_culprit_that_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "first_named", lambda model, **given: ("limits", "p"))
    assert not figures.explain_row()[3]


def test_pictures(tmp_path: Path) -> None:
    increments_plots.draw(tmp_path, ["VanDerPol"], FEW)
    names = {file.name for file in tmp_path.iterdir()}
    assert names == {
        f"increments_{kind}.png" for kind in ("nominal", "sizes", *(f"experiment{k}" for k in range(2, 6)))
    }
    assert all(2_000 < file.stat().st_size < 150_000 for file in tmp_path.iterdir())


def test_envelope() -> None:
    at, low, high = increments_plots.envelope(np.array([0.0, 0.1, 0.2, 1.0]), np.array([3.0, 1.0, 2.0, 5.0]), bins=2)
    assert at.tolist() == [0.25, 0.75]
    assert low.tolist() == [1.0, 5.0]
    assert high.tolist() == [3.0, 5.0]
