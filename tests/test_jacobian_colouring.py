"""Colouring of Jacobian patterns: valid on random patterns, optimal on known ones, deterministic, fast."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pliant.errors import ArgumentError
from pliant.solve.binding.colouring import Colouring, colour

Pattern = np.ndarray


def coloured(pattern: Pattern) -> Colouring:
    rows, cols = np.nonzero(pattern)
    return colour(*pattern.shape, rows, cols)


def check(pattern: Pattern, found: Colouring) -> None:
    """The definition: in every row all entries have different colours, and all colours are used."""
    for row in pattern:
        used = found.colours[np.flatnonzero(row)]
        assert len(set(used.tolist())) == len(used)
    assert set(found.colours.tolist()) == set(range(found.n_colours))
    assert found.lower_bound <= found.n_colours


def least_colours(pattern: Pattern) -> int:
    """By trying all colourings with ever more colours."""
    n = pattern.shape[1]
    graph = (pattern.T.astype(int) @ pattern.astype(int)) > 0
    edges = [(i, j) for i, j in itertools.combinations(range(n), 2) if graph[i, j]]
    for count in range(1, n + 1):
        for choice in itertools.product(range(count), repeat=n):
            if all(choice[i] != choice[j] for i, j in edges):
                return count
    return n


@st.composite
def patterns(draw: st.DrawFn) -> Pattern:
    m, n = draw(st.integers(1, 12)), draw(st.integers(1, 12))
    bits = draw(st.lists(st.booleans(), min_size=m * n, max_size=m * n))
    return np.array(bits, dtype=bool).reshape(m, n)


@given(patterns())
@settings(max_examples=300, deadline=None)
def test_valid_and_compressed_product_gives_back_every_entry(pattern: Pattern) -> None:
    found = coloured(pattern)
    check(pattern, found)
    values = pattern * (1.0 + np.arange(pattern.size).reshape(pattern.shape))
    rows, cols = np.nonzero(pattern)
    compressed = values @ np.eye(found.n_colours)[found.colours]
    assert np.array_equal(compressed[rows, found.colours[cols]], values[rows, cols])


def test_close_to_the_true_optimum_on_small_patterns() -> None:
    rng = np.random.default_rng(3)
    excess = []
    for _ in range(60):
        pattern = rng.random((5, 6)) < 0.35
        found = coloured(pattern)
        best = least_colours(pattern)
        assert found.lower_bound <= best <= found.n_colours
        excess.append(found.n_colours - best)
    assert max(excess) <= 1
    assert sum(excess) <= 2


def band(n: int, below: int, above: int) -> Pattern:
    i, j = np.indices((n, n))
    return (j - i <= above) & (i - j <= below)


@pytest.mark.parametrize(("below", "above"), [(0, 0), (1, 1), (2, 2), (3, 1), (0, 4)])
def test_bands_are_optimal(below: int, above: int) -> None:
    found = coloured(band(40, below, above))
    assert found.n_colours == below + above + 1
    assert found.is_optimal


def test_bands_in_scrambled_order_are_optimal() -> None:
    rng = np.random.default_rng(1)
    for _ in range(10):
        n = 60
        pattern = band(n, 2, 2)[:, rng.permutation(n)][rng.permutation(n)]
        found = coloured(pattern)
        check(pattern, found)
        assert found.n_colours == 5  # the graph is chordal: smallest last finds it in any numbering


def test_arrows_and_blocks_are_optimal() -> None:
    n = 30
    column_arrow = np.eye(n, dtype=bool)
    column_arrow[:, 0] = True
    assert coloured(column_arrow).n_colours == 2
    row_arrow = column_arrow.T.copy()
    assert coloured(row_arrow).n_colours == n  # a full row leaves no choice
    blocks = np.kron(np.eye(6, dtype=bool), np.ones((4, 4), dtype=bool))
    assert coloured(blocks).n_colours == 4
    assert coloured(np.eye(n, dtype=bool)).n_colours == 1


def crown(n: int) -> Pattern:
    """Columns a_0 b_0 a_1 b_1 ...; a row joins a_i, b_j for each i != j. Two colours do; natural order takes n."""
    rows = [(2 * i, 2 * j + 1) for i in range(n) for j in range(n) if i != j]
    pattern = np.zeros((len(rows), 2 * n), dtype=bool)
    for k, (a, b) in enumerate(rows):
        pattern[k, [a, b]] = True
    return pattern


def test_natural_order_alone_is_not_enough() -> None:
    pattern = np.vstack([crown(6), np.zeros((10, 12), dtype=bool)])
    # a tail of extra neighbours makes the degrees differ, so that the other orders see something
    tail = np.zeros((pattern.shape[0], 1), dtype=bool)
    pattern = np.hstack([pattern, tail])
    for k, a in enumerate(range(0, 12, 2)):
        pattern[30 + k, [a, 12]] = True
    found = coloured(pattern)
    check(pattern, found)
    assert found.n_colours == 2  # the natural order takes six


def test_rectangular_empty_and_repeated() -> None:
    assert colour(0, 0, [], []).n_colours == 0
    assert colour(0, 3, [], []).colours.tolist() == [0, 0, 0]
    assert colour(2, 0, [], []).colours.tolist() == []
    wide = colour(1, 4, [0, 0, 0], [0, 2, 2])
    assert wide.n_colours == 2  # the repeated entry counts once
    assert wide.colours.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("rows", "cols"), [([0, 1], [0]), ([2], [0]), ([0], [3]), ([-1], [0]), ([0], [-1]), ([[0]], [[0]])]
)
def test_bad_patterns_are_refused(rows: list[int], cols: list[int]) -> None:
    with pytest.raises(ArgumentError):
        colour(2, 3, rows, cols)


def test_the_same_pattern_gets_the_same_colours_in_any_order_of_entries() -> None:
    rng = np.random.default_rng(7)
    rows, cols = np.nonzero(rng.random((50, 50)) < 0.08)
    first = colour(50, 50, rows, cols)
    shuffle = rng.permutation(len(rows))
    second = colour(50, 50, rows[shuffle], cols[shuffle])
    assert np.array_equal(first.colours, second.colours)


def five_points(side: int) -> tuple[np.ndarray, np.ndarray]:
    i, j = np.divmod(np.arange(side * side), side)
    parts = []
    for di, dj in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)):
        inside = (i + di >= 0) & (i + di < side) & (j + dj >= 0) & (j + dj < side)
        parts.append((np.flatnonzero(inside), ((i + di) * side + j + dj)[inside]))
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


@pytest.mark.parametrize("kind", ["grid", "random rows", "random columns", "band", "nearly full row"])
def test_a_hundred_thousand_columns_in_seconds(kind: str) -> None:
    n = 100_000
    rng = np.random.default_rng(0)
    five = np.repeat(np.arange(n), 5)
    rows, cols = {
        "grid": lambda: five_points(316),
        "random rows": lambda: (five, rng.integers(0, n, 5 * n)),
        "random columns": lambda: (rng.integers(0, n, 5 * n), five),
        "band": lambda: (five, np.clip(five + np.tile(np.arange(-2, 3), n), 0, n - 1)),
        "nearly full row": lambda: (
            np.concatenate([np.zeros(4000, dtype=int), np.arange(n)]),
            np.concatenate([np.arange(4000), np.arange(n)]),
        ),
    }[kind]()
    start = time.process_time()
    found = colour(n, n, rows, cols)
    elapsed = time.process_time() - start
    key = np.unique(rows * n + cols)  # each entry once
    pairs = (key // n) * found.n_colours + found.colours[key % n]
    assert len(np.unique(pairs)) == len(pairs)  # no row sees a colour twice
    assert elapsed < 8.0  # 2 s on an idle machine
    if kind == "grid":
        assert found.n_colours <= 8  # 5 is the least
