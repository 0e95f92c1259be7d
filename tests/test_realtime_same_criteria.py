"""What the search computes for many linearisations at once is what the public criteria say of each one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support_criteria import SEEDS, SYSTEMS, TAU, dae, ode

from pliant.realtime.scenario import Scenario
from pliant.realtime.sparsing import criteria
from pliant.realtime.sparsing.accept import AcceptRule, Checker
from pliant.realtime.sparsing.bias import predicted_error
from pliant.realtime.sparsing.effects import cluster_effects
from pliant.realtime.sparsing.linearisations import CommonData, PointOrigin, Points
from pliant.realtime.sparsing.linearise import Trace
from pliant.realtime.sparsing.search import EntrySearch
from pliant.realtime.sparsing.spectrum import spectrum_of

Array = np.ndarray
THETA, TOLERANCE, HORIZON = 0.5, 0.1, 64


def looked_at(L: Array, Df: Array, rng: np.random.Generator) -> tuple[Points, Checker]:
    """Three linearisations near each other, all entries in the pattern."""
    n = len(L)
    rows, columns = (one.ravel() for one in np.indices((n, n)))
    frame = CommonData(tuple(f"x{i}" for i in range(n)), rows, columns, L, TAU, rng.uniform(0.5, 2.0, n), HORIZON)
    values = np.array([(Df * rng.uniform(0.95, 1.05, Df.shape)).ravel() for _ in range(3)])
    points = Points(frame, values, rng.normal(size=(3, n)), [PointOrigin(0, k, 0.1 * k) for k in range(3)])
    return points, Checker(points, AcceptRule(TOLERANCE, THETA))


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_step_map_and_spectrum(system: Callable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    L, Df, mask = system(rng)
    points, checker = looked_at(L, Df, rng)
    for p in range(len(points)):
        expected = criteria.sparsed(L, points.Df[p], TAU, mask)
        found = checker.step_map(p, mask.ravel())
        assert np.allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
        pencil = criteria.Pencil(L, points.Df[p], TAU)
        assert criteria.true_changes(pencil.eigenvalues, points.eigenvalues[p]).max() < 1e-7


@pytest.mark.parametrize("seed", SEEDS)
def test_verdict_on_single_eigenvalues(seed: int) -> None:
    """With as good as no slack the test of the search is the public ratio."""
    rng = np.random.default_rng(seed)
    L, Df, _ = ode(rng)
    mask = rng.random(Df.shape) > 0.03
    points, checker = looked_at(L, 5.0 * Df, rng)
    judged = 0
    for p in range(len(points)):
        verdict = checker.judge(p, mask.ravel())
        if verdict.test == "shift":
            lam = points.eigenvalues[p]
            ratio = criteria.eigenvalue_ratio(lam, spectrum_of(criteria.sparsed(L, points.Df[p], TAU, mask)), THETA)
            limits = (1 - THETA) * (1 - np.abs(lam))
            assert verdict.value <= ratio
            assert verdict.value >= ratio * (limits / (limits + 1.01 * points.slack)).min() * (1 - 1e-9)
            judged += 1
    assert judged or not checker.judge(0, mask.ravel()).accepted


@pytest.mark.parametrize("seed", SEEDS)
def test_algebraic_block(seed: int) -> None:
    rng = np.random.default_rng(seed)
    L, Df, mask = dae(rng)
    points, checker = looked_at(L, Df, rng)
    for p in range(len(points)):
        expected = np.abs(criteria.algebraic_eigenvalues(L, points.Df[p], mask)).max()
        assert checker._loops(p, mask.ravel()).value == pytest.approx(expected / 0.5, rel=1e-9)


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_bias_of_a_pattern_and_in_steps_of_the_search(seed: int, singular: bool) -> None:
    """The matrix T of all points is the fixed point, or N steps of it; groups that go one after the other add up."""
    rng = np.random.default_rng(seed)
    L, Df, mask = ode(rng)
    if singular:
        Df[:, -1] = 0.0  # an integrator
    points, checker = looked_at(L, Df, rng)
    frame = points.frame
    lasting, step = checker.bias(mask.ravel())
    search = EntrySearch(checker, [0], np.ones(frame.n_entries, dtype=bool))
    for group in np.array_split(np.flatnonzero(~mask.ravel()), 3):
        states = search.states.dropped(group)
        search.lasting, search.step = search._bias_with(group, states)
        search.states = states
    assert np.allclose(search.lasting, lasting, rtol=1e-9, atol=1e-12)
    assert np.allclose(search.step, step, rtol=1e-9, atol=1e-12)
    for p in range(len(points)):
        if singular:
            expected = criteria.bias_horizon(L, points.Df[p], TAU, mask, points.dx[p], HORIZON)
        else:
            expected = criteria.bias_fixed_point(points.Df[p], mask, points.dx[p])
        assert np.allclose(lasting[p], expected / frame.scale, rtol=1e-7, atol=1e-10)
        once = criteria.bias_horizon(L, points.Df[p], TAU, mask, points.dx[p], 1)
        assert np.allclose(step[p], -once / frame.scale, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_prediction_along_a_run(system: Callable, seed: int) -> None:
    rng = np.random.default_rng(seed)
    L, Df, mask = system(rng)
    points, _ = looked_at(L, Df, rng)
    steps = np.arange(3)
    run = Trace(
        Scenario("run"),
        0.1 * (1 + steps),
        np.zeros((4, len(L))),
        points.values,
        steps,
        np.zeros((3, len(L))),
        points.dx,
        np.zeros(0),
        np.zeros((3, 0)),
    )
    found = predicted_error(points.frame, run, mask.ravel())
    expected = criteria.bias_recursion((L, points.Df[p], mask, TAU, points.dx[p]) for p in range(3))
    assert np.allclose(found[1:], expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_effects_of_single_entries(seed: int) -> None:
    """Eigenvectors or the Schur form: the same first-order changes, in units of what is allowed."""
    rng = np.random.default_rng(seed)
    L, Df, _ = ode(rng)
    points, checker = looked_at(L, Df, rng)
    frame = points.frame
    found = cluster_effects(checker, [1], 0.0)
    pencil = criteria.Pencil(L, points.Df[1], TAU)
    clusters = criteria.single_clusters(pencil.eigenvalues)
    signed = criteria.signed_criterion(pencil, clusters, frame.rows, frame.columns)
    lam = np.linalg.eig(points.S[1])[0]
    for members, expected in zip(clusters, signed, strict=True):
        allowed = (1 - THETA) * max(pencil.r[members].min(), 0.0) + points.slack
        same = [int(np.argmin(np.abs(lam - pencil.eigenvalues[m]))) for m in members]
        assert np.allclose(found[:, same].sum(axis=1) * allowed, expected, rtol=1e-6, atol=1e-9)
