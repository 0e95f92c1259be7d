"""The fixed order of elimination: fill, operations, pivots, against dense elimination done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from pliant.realtime.sparsing.elimination import assign_rows, eliminate
from pliant.realtime.sparsing.static_lu import StaticLU, quality


def dense_elimination(n: int, entries: set[tuple[int, int]], pivots: list[tuple[int, int]]) -> tuple[set, int]:
    """Fill and operations of an order, by boolean elimination."""
    present = set(entries)
    fill: set[tuple[int, int]] = set()
    rows, columns = set(range(n)), set(range(n))
    flops = 0
    for i, j in pivots:
        rows.discard(i)
        columns.discard(j)
        below = [r for r in rows if (r, j) in present]
        right = [c for c in columns if (i, c) in present]
        flops += len(below) + 2 * len(below) * len(right)
        for r in below:
            for c in right:
                if (r, c) not in present:
                    present.add((r, c))
                    fill.add((r, c))
    return fill, flops


@pytest.mark.parametrize("seed", range(12))
def test_fill_and_operations_against_boolean_elimination(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 25))
    entries = {(i, i) for i in range(n)} | {tuple(map(int, rng.integers(0, n, 2))) for _ in range(3 * n)}
    found = eliminate(n, entries)
    assert sorted(i for i, _ in found.pivots) == list(range(n)) == sorted(j for _, j in found.pivots)
    fill, flops = dense_elimination(n, entries, list(found.pivots))
    assert set(found.fill) == fill
    assert found.factor_flops == flops
    assert found.lu_entries == len(entries) + len(fill)
    assert found.solve_flops == 2 * (found.lu_entries - n) + n


def test_arrow_is_eliminated_without_fill() -> None:
    n = 30
    arrow = [(i, i) for i in range(n)] + [(0, i) for i in range(1, n)] + [(i, 0) for i in range(1, n)]
    found = eliminate(n, arrow)
    assert not found.fill  # 870 entries of fill in the natural order
    assert found.factor_flops == 3 * (n - 1)


def test_ties_go_to_the_lowest_number() -> None:
    assert [j for _, j in eliminate(4, [(i, i) for i in range(4)]).pivots] == [0, 1, 2, 3]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("seed", range(6))
def test_static_factors_solve_like_lapack(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    n, count = 15, 7
    entries = {(i, i) for i in range(n)} | {tuple(map(int, rng.integers(0, n, 2))) for _ in range(35)}
    matrices = np.zeros((count, n, n))
    for i, j in entries:
        matrices[:, i, j] = rng.standard_normal(count) + (8.0 if i == j else 0.0)
    right = rng.standard_normal((count, n))
    order = eliminate(n, entries)
    got = StaticLU(order, matrices, dtype).solve(right)
    exact = np.linalg.solve(matrices, right[:, :, None])[:, :, 0]
    assert got.dtype == dtype
    assert np.abs(got - exact).max() < (1e-12 if dtype is np.float64 else 1e-5)
    judged = quality(order, matrices, right, dtype)
    assert 0.1 < judged.smallest_pivot <= 1.5
    assert judged.error == pytest.approx(np.abs(got - exact).max(), rel=20, abs=1e-14)


def test_rows_are_assigned_where_the_diagonal_vanishes() -> None:
    matrix = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.2], [0.0, 0.3, 1.0]])
    row_of = assign_rows(np.abs(matrix))
    assert row_of == [1, 0, 2]
    order = eliminate(3, [(i, j) for i in range(3) for j in range(3) if matrix[i, j]], row_of)
    assert set(order.pivots) == {(1, 0), (0, 1), (2, 2)}
    right = np.array([[1.0, 2.0, 3.0]])
    solved = StaticLU(order, matrix[None]).solve(right)[0]
    assert np.allclose(solved, np.linalg.solve(matrix, right[0]), atol=1e-14)
    assert assign_rows(np.array([[1.0, 1.0], [0.0, 0.0]])) is None


def test_small_pivots_are_seen() -> None:
    matrices = np.array([[[1e-12, 1.0], [1.0, 1.0]]])
    order = eliminate(2, [(0, 0), (0, 1), (1, 0), (1, 1)])
    judged = quality(order, matrices, np.array([[1.0, 3.0]]), np.float32)
    assert judged.smallest_pivot < 1e-11
    assert judged.growth > 1e11
    assert judged.error > 0.1
