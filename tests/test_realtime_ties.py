"""Rounding decides nothing: mirror images have equal effects, and what is equal goes by number."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.realtime.sparsing.accept import AcceptRule
from pliant.realtime.sparsing.cancelling import find_atoms
from pliant.realtime.sparsing.linearisations import CommonData, PointOrigin, Points
from pliant.realtime.sparsing.search import Settings, search_pattern
from pliant.realtime.sparsing.ties import ascending, first_least, ranks

TAU, N = 2e-3, 8


def pattern(shift: float, seed: int) -> list[tuple[int, int]]:
    """Entries kept of a chain that is its own mirror image, its entries moved by so much of their values."""
    rng = np.random.default_rng(seed)
    Df = 100.0 * (np.eye(N, k=1) - 2.0 * np.eye(N) + np.eye(N, k=-1))
    rows, columns = np.nonzero(Df)
    wave = np.ones(N)
    values = np.array([Df[rows, columns] * (1.0 + shift * rng.standard_normal(len(rows))) for _ in range(3)])
    dx = np.array([TAU * np.linalg.solve(np.eye(N) - TAU * Df, Df @ wave) * share for share in (1.0, 0.7, 0.5)])
    frame = CommonData(tuple(f"x{k}" for k in range(N)), rows, columns, np.eye(N), TAU, np.ones(N), 200)
    points = Points(frame, values, dx, [PointOrigin(0, k, TAU * k, False, True) for k in range(3)])
    free = np.ones(len(rows), dtype=bool)
    found = search_pattern(points, AcceptRule(0.02), Settings(free, points.farthest(3)), lambda stage: None)
    return list(zip(rows[found.mask].tolist(), columns[found.mask].tolist(), strict=True))


def test_rounding_does_not_choose_the_pattern() -> None:
    plain = pattern(0.0, 0)
    assert 0 < len(plain) < 3 * N - 2
    assert all(pattern(1e-12, seed) == plain for seed in range(1, 9))


def test_equal_linearisations_are_one() -> None:
    rng = np.random.default_rng(0)
    frame = CommonData(("a", "b"), np.array([0, 1]), np.array([0, 1]), np.eye(2), TAU, np.ones(2), 200)
    values = np.array([[-1.0, -2.0], [-1.0, -2.0], [-500.0, -2.0]])
    values *= 1.0 + 1e-12 * rng.standard_normal(values.shape)
    points = Points(frame, values, np.ones((3, 2)), [PointOrigin(0, k, 0.0, False, True) for k in range(3)])
    assert points.farthest(3) == [0, 2]


@pytest.mark.parametrize("noise", [0.0, 1e-12, -1e-12])
def test_atoms_that_cancel_equally_well(noise: float) -> None:
    z = np.array([[1.0], [-0.8], [-0.8 - noise], [5.0]], dtype=complex)
    assert [one.entries.tolist() for one in find_atoms(z, np.arange(4))] == [[0, 1], [2], [3]]


def test_ranks() -> None:
    assert ranks([np.inf, 1.0, np.inf, 0.0]).tolist() == [2, 1, 2, 0]
    assert ascending([3.0, 1.0 + 1e-9, 1.0, 2.0]).tolist() == [1, 2, 3, 0]
    assert ascending([3e-12, 1e-12, 1e-3]).tolist() == [0, 1, 2]
    assert ascending([]).tolist() == []
    assert first_least(np.array([np.inf, 2.0 + 1e-9, 2.0])) == 1
