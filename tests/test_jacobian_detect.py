"""Patterns by detection and their verification, against patterns written down by hand."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pliant.errors import ArgumentError, ModelEvaluationError
from pliant.jacobian.detect import Missing, detect, subsets_needed, verify

Matrix = np.ndarray
Function = Callable[[np.ndarray], np.ndarray]


class Counted:
    def __init__(self, f: Function) -> None:
        self.f, self.calls = f, 0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        self.calls += 1
        return self.f(x)


def banded(n: int, width: int = 1) -> Matrix:
    i, j = np.indices((n, n))
    return np.abs(i - j) <= width


def arrow(n: int) -> Matrix:
    pattern = np.eye(n, dtype=bool)
    pattern[0, :] = pattern[:, 0] = True
    return pattern


def blocks(n: int, size: int) -> Matrix:
    i, j = np.indices((n, n))
    return i // size == j // size


def function_of(pattern: Matrix, seed: int = 1) -> Function:
    """f_i = sum over the pattern of a_ij sin(x_j + b_i): only the entries of the pattern are ever touched."""
    rng = np.random.default_rng(seed)
    weight, phase = rng.uniform(0.5, 2.0, pattern.shape), rng.uniform(0.0, 1.0, pattern.shape[0])
    places = [np.flatnonzero(row) for row in pattern]

    def f(x: np.ndarray) -> np.ndarray:
        return np.array([weight[i, p] @ np.sin(x[p] + phase[i]) for i, p in enumerate(places)])

    return f


def as_matrix(found: tuple[np.ndarray, np.ndarray], shape: tuple[int, int]) -> Matrix:
    pattern = np.zeros(shape, dtype=bool)
    pattern[found] = True
    return pattern


def checked(f: Function, x: np.ndarray, pattern: Matrix, scale: float = 1.0, seed: int = 0) -> list[Missing]:
    rows, cols = np.nonzero(pattern)
    return verify(f, x, rows, cols, pattern.shape[1], scale, rng_seed=seed)


SHAPES = {"banded": banded(60, 2), "arrow": arrow(40), "blocks": blocks(48, 4), "diagonal": np.eye(30, dtype=bool)}


# -------------------------------------------------------------------------------------------------- detection


@pytest.mark.parametrize("shape", SHAPES)
def test_known_patterns(shape: str) -> None:
    pattern = SHAPES[shape]
    x = np.random.default_rng(3).normal(size=len(pattern))
    assert (as_matrix(detect(function_of(pattern), x, 1.0), pattern.shape) == pattern).all()


def test_more_values_than_variables_and_the_diagonal_is_not_added() -> None:
    found = detect(lambda x: np.array([x[1], x[0], x[0] * x[1]]), np.array([1.0, 2.0]), 1.0)
    assert as_matrix(found, (3, 2)).tolist() == [[False, True], [True, False], [True, True]]


@pytest.mark.parametrize("zero", [0, 1])
def test_a_product_that_is_zero_at_the_point(zero: int) -> None:
    x = np.ones(3)
    x[zero] = 0.0
    found = as_matrix(detect(lambda x: np.array([x[0] * x[1], x[1], x[2]]), x, 1.0, points=1), (3, 3))
    assert found[0].tolist() == [True, True, False]


def test_a_factor_that_is_zero_for_all_states_is_found_by_nan() -> None:
    time = 0.0
    pattern = as_matrix(detect(lambda x: np.append(x[:-1], time * x[0] + x[-1]), np.ones(20), 1.0), (20, 20))
    assert pattern[19, 0]
    assert pattern.sum() == 21


def test_saturation_is_found_by_nan_and_by_large_changes() -> None:
    def far(x: np.ndarray) -> np.ndarray:
        return np.append(x[1:], np.maximum(x[0], 500.0))

    def scalar(x: np.ndarray) -> np.ndarray:
        return np.append(x[1:], max(500.0, x[0]))  # max of Python drops a NaN in second place

    for f in (far, scalar):
        assert as_matrix(detect(f, np.ones(12), 1.0), (12, 12))[11, 0]


def test_dense_product_with_zeros_is_not_taken_for_a_full_pattern() -> None:
    pattern = banded(40)
    matrix = np.where(pattern, 0.5 + np.arange(1600).reshape(40, 40) / 7, 0.0)
    found = as_matrix(detect(lambda x: matrix @ x, np.ones(40), 1.0), pattern.shape)
    assert (found == pattern).all()


def test_branches_at_the_point_are_met_from_both_sides() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        return np.array([x[1] if x[0] > 0.0 else x[2], x[1], x[2]])

    assert as_matrix(detect(f, np.zeros(3), 1.0), (3, 3))[0].tolist() == [True, True, True]


@pytest.mark.parametrize("refusal", ["math", "pliant", "nan"])
def test_refusals_are_skipped(refusal: str) -> None:
    def f(x: np.ndarray) -> np.ndarray:
        if not (x >= 0.0).all():
            if refusal == "pliant":
                raise ModelEvaluationError("negative pressure")
            if refusal == "nan":
                return np.full(len(x), math.nan)
            math.sqrt(-1.0)
        return np.sqrt(x) + np.roll(x, 1)

    pattern = np.eye(15, dtype=bool) | np.roll(np.eye(15, dtype=bool), 1, axis=0)
    x = np.linspace(0.0, 2.0, 15)  # the first lies at its bound
    assert (as_matrix(detect(f, x, 1.0), pattern.shape) == pattern).all()
    assert checked(f, x, pattern) == []
    pattern[4, 3] = False
    assert [(m.row, m.col) for m in checked(f, x, pattern)] == [(4, 3)]


@pytest.mark.parametrize("seed", range(6))
def test_only_a_small_change_to_one_side_is_allowed(seed: int) -> None:
    def f(x: np.ndarray) -> np.ndarray:
        if not 1.0 <= x[0] <= 1.001:
            raise ModelEvaluationError("out of range")
        return np.array([x[1], x[0]])

    found = detect(f, [1.0, 1.0], 1.0, rng_seed=seed, points=1)
    assert list(zip(*found, strict=True)) == [(0, 1), (1, 0)]


def test_errors_in_the_function_pass() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        raise KeyError("a typing error")

    with pytest.raises(KeyError):
        detect(f, np.ones(2), 1.0)


def test_a_function_that_breaks_under_nan() -> None:
    table = [1.0, 2.0, 3.0]

    def f(x: np.ndarray) -> np.ndarray:
        place = {False: 0, True: 2}[bool(x[0] < 3.0)]
        if math.isnan(x[0]):
            raise KeyError("no such place")
        return np.array([table[place] * x[0], x[1]])

    assert as_matrix(detect(f, np.ones(2), 1.0), (2, 2)).tolist() == [[True, False], [False, True]]


@pytest.mark.parametrize("kind", ["random", "hashed"])
def test_noise_is_no_dependence(kind: str) -> None:
    pattern = banded(50)
    smooth, rng = function_of(pattern), np.random.default_rng(9)

    def f(x: np.ndarray) -> np.ndarray:
        if kind == "hashed":  # every value depends on the last bits of every x
            seed = int(np.frombuffer(x.tobytes(), dtype=np.uint64).sum() % 2**32)
            return smooth(x) + 1e-9 * np.random.default_rng(seed).normal(size=50)
        return smooth(x) + 1e-9 * rng.normal(size=50)

    x = np.linspace(0.1, 0.9, 50)
    assert (as_matrix(detect(f, x, 1.0), pattern.shape) == pattern).all()
    assert checked(f, x, pattern) == []
    pattern[20, 21] = False
    assert [(m.row, m.col) for m in checked(f, x, pattern)] == [(20, 21)]


def test_states_of_very_different_size() -> None:
    size = 10.0 ** np.linspace(-12, 12, 25)

    def f(x: np.ndarray) -> np.ndarray:
        y = x / size
        return size * (y + np.roll(y, -1) ** 2)

    pattern = np.eye(25, dtype=bool) | np.roll(np.eye(25, dtype=bool), 1, axis=1)
    assert (as_matrix(detect(f, size, size), pattern.shape) == pattern).all()
    rows, cols = np.nonzero(pattern)
    keep = np.arange(len(rows)) != 7
    assert [(m.row, m.col) for m in verify(f, size, rows[keep], cols[keep], 25, size)] == [(rows[7], cols[7])]


def test_cost_of_detection() -> None:
    f = Counted(function_of(banded(300)))
    detect(f, np.ones(300), 1.0)
    assert f.calls <= 300 * 7 + 50


def test_the_same_seed_gives_the_same_answer() -> None:
    pattern = banded(40)
    wrong = pattern.copy()
    wrong[3, 4] = wrong[30, 29] = False
    first, second = (checked(function_of(pattern), np.ones(40), wrong, seed=5) for _ in range(2))
    assert first == second
    assert len(first) == 2


@pytest.mark.parametrize(
    ("x", "scale", "points"), [([np.nan], 1.0, 3), ([1.0], 0.0, 3), ([1.0], [1.0, 1.0], 3), ([1.0], 1.0, 0)]
)
def test_bad_arguments(x: list[float], scale: object, points: int) -> None:
    with pytest.raises(ArgumentError):
        detect(lambda x: x, x, scale, points=points)


def test_a_function_that_refuses_everything() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        raise ModelEvaluationError("never")

    with pytest.raises(ArgumentError, match="cannot be evaluated"):
        detect(f, [1.0], 1.0)
    with pytest.raises(ArgumentError, match="cannot be evaluated"):
        verify(f, [1.0], [0], [0], 1, 1.0)


# ------------------------------------------------------------------------------------------------ verification


@pytest.mark.parametrize("shape", SHAPES)
def test_right_patterns_pass(shape: str) -> None:
    pattern = SHAPES[shape]
    assert checked(function_of(pattern), np.ones(len(pattern)), pattern) == []


@pytest.mark.parametrize("seed", range(40))
def test_one_missing_entry_among_200_states_is_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pattern = banded(200, 1)
    rows, cols = np.nonzero(pattern)
    drop = rng.integers(len(rows))
    wrong = pattern.copy()
    wrong[rows[drop], cols[drop]] = False
    f = Counted(function_of(pattern, seed))
    found = checked(f, rng.normal(size=200), wrong, seed=seed)
    assert [(m.row, m.col) for m in found] == [(rows[drop], cols[drop])]
    assert found[0].change != 0.0
    assert f.calls < 140  # 81 subsets, 2 points with their noise, 8 halvings


def test_chance_of_finding_is_as_promised() -> None:
    """The formula, against the draw itself: how often no subset of K holds j and avoids the r others."""
    rng = np.random.default_rng(0)
    for r in (0, 1, 3, 8):
        count, trials = subsets_needed(r), 40_000
        chance = 1 / (r + 1) if r else 0.5
        inside = rng.random((trials // 10, count)) < chance * (1 - chance) ** r
        assert (~inside.any(axis=1)).mean() < 2e-3
        assert (1 - chance * (1 - chance) ** r) ** count < 1e-3


def test_long_rows_among_short_ones() -> None:
    n = 400
    pattern = banded(n)
    pattern[7, ::2] = pattern[100, :] = True
    wrong = pattern.copy()
    wrong[7, 300] = False
    f = Counted(function_of(pattern))
    found = checked(f, np.ones(n), wrong)
    assert [(m.row, m.col) for m in found] == [(7, 300)]
    assert f.calls < 150
    wrong[7, 300], wrong[100, 50] = True, False
    assert [(m.row, m.col) for m in checked(function_of(pattern), np.ones(n), wrong)] == [(100, 50)]


def test_a_missing_product_that_is_zero_at_the_point() -> None:
    n = 200

    def f(x: np.ndarray) -> np.ndarray:
        y = x.copy()
        y[5] += x[17] * x[120]
        return y

    x = np.ones(n)
    x[17] = x[120] = 0.0
    pattern = np.eye(n, dtype=bool)
    assert {(m.row, m.col) for m in checked(f, x, pattern)} == {(5, 17), (5, 120)}


def test_several_entries_missing_in_one_row_and_one_column() -> None:
    pattern = banded(300, 1)
    pattern[10, [50, 100, 200, 299]] = True
    pattern[[60, 70, 80], 150] = True
    expected = {(10, 50), (10, 100), (10, 200), (10, 299), (60, 150), (70, 150), (80, 150)}
    assert {(m.row, m.col) for m in checked(function_of(pattern), np.ones(300), banded(300, 1))} == expected


@pytest.mark.parametrize("n", [1, 6, 150])
def test_an_empty_pattern_of_a_full_function(n: int) -> None:
    f = Counted(function_of(np.ones((n, n), dtype=bool)))
    found = verify(f, np.ones(n), [], [], n, 1.0)
    assert {(m.row, m.col) for m in found} == {(i, j) for i in range(n) for j in range(n)}
    assert f.calls < 3 * n + 60


def test_a_column_that_cannot_be_changed_does_not_hide_the_others() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        if abs(x[3] - 1.0) > 1e-9:
            raise ArithmeticError("x[3] must stay at 1")
        return x + np.roll(x, 1)

    wrong = np.eye(200, dtype=bool) | np.roll(np.eye(200, dtype=bool), 1, axis=0)
    wrong[50, 49] = False
    assert [(m.row, m.col) for m in checked(f, np.ones(200), wrong)] == [(50, 49)]


def test_a_refused_subset_is_halved_until_the_rest_is_tested() -> None:
    """The long row is tested with all other columns at once, among them one that cannot be changed."""
    n = 400
    pattern = banded(n)
    pattern[7, ::2] = True
    smooth = function_of(pattern)

    def f(x: np.ndarray) -> np.ndarray:
        if abs(x[33] - 1.0) > 1e-9:
            raise ArithmeticError("x[33] must stay at 1")
        return smooth(x)

    wrong = pattern.copy()
    wrong[7, 300] = False
    assert [(m.row, m.col) for m in checked(f, np.ones(n), wrong)] == [(7, 300)]


def test_pattern_outside_of_the_function_is_refused() -> None:
    with pytest.raises(ArgumentError, match="outside"):
        verify(lambda x: x, np.ones(3), [3], [0], 3, 1.0)
    with pytest.raises(ArgumentError, match="columns"):
        verify(lambda x: x, np.ones(3), [0], [0], 4, 1.0)
