"""Tearing: the lecture's loop, the exact minimum on random loops, forced tears, what must always hold, large loops."""

from __future__ import annotations

import random
import time
from itertools import combinations

import pytest

from pliant.errors import ArgumentError
from pliant.structure.tearing import Tearing, tear

Incidence = list[list[int]]
Solvable = list[set[int]]

U1, U2, U3, I1, I2, I3 = range(6)
# u1=R1·i1, u2=R2·i2, u3=R3·i3, u0=u1+u3, u3=u2, i1=i2+i3
LECTURE = [[U1, I1], [U2, I2], [U3, I3], [U1, U3], [U3, U2], [I1, I2, I3]]
METHODS = ["cellier", "max-causal"]


def every(inc: Incidence) -> Solvable:
    return [set(row) for row in inc]


def known_from(inc: Incidence, solvable: Solvable, tears: tuple[int, ...]) -> int:
    """How many unknowns follow from the tears; bit sets, written independently of the code under test."""
    masks = [sum(1 << v for v in row) for row in inc]
    allowed = [sum(1 << v for v in row) for row in solvable]
    known = sum(1 << v for v in tears)
    while True:
        before = known
        for mask, can in zip(masks, allowed, strict=True):
            left = mask & ~known
            if left and not left & (left - 1) and left & can:
                known |= left
        if known == before:
            return known.bit_count()


def minimum(inc: Incidence, solvable: Solvable) -> int:
    n = len(inc)
    return next(
        k for k in range(n + 1) if any(known_from(inc, solvable, tears) == n for tears in combinations(range(n), k))
    )


def random_loop(rnd: random.Random, n: int, most: int, portion: float = 1.0) -> tuple[Incidence, Solvable]:
    """Equation e contains unknowns e and e+1 (renamed), so it is one loop, and up to most-2 others."""
    name = rnd.sample(range(n), n)
    inc = []
    for e in range(n):
        row = {name[e], name[(e + 1) % n]}
        size = rnd.randint(2, most)
        while len(row) < size:
            row.add(rnd.randrange(n))
        inc.append(rnd.sample(sorted(row), len(row)))
    return inc, [{v for v in row if rnd.random() < portion} for row in inc]


def check(inc: Incidence, solvable: Solvable, torn: Tearing) -> None:
    """Every unknown is a tear or computed once, from known ones, by an equation that may be solved for it."""
    n = len(inc)
    known = set(torn.tears)
    assert len(known) == len(torn.tears) == len(torn.residuals)
    for e, v in torn.causal:
        assert v not in known
        assert v in solvable[e]
        assert set(inc[e]) - known == {v}
        known.add(v)
    assert known == set(range(n))
    assert sorted([*torn.residuals, *(e for e, _ in torn.causal)]) == list(range(n))
    assert torn.residuals == sorted(torn.residuals)


# ------------------------------------------------------------------------------------------------- by hand


def test_lecture_by_cellier() -> None:
    torn = tear(LECTURE, every(LECTURE), method="cellier")
    assert torn == Tearing([I1], [(0, U1), (3, U3), (2, I3), (4, U2), (1, I2)], [5])


def test_lecture_by_max_causal() -> None:
    torn = tear(LECTURE, every(LECTURE))
    assert torn == Tearing([U3], [(2, I3), (3, U1), (4, U2), (0, I1), (1, I2)], [5])


@pytest.mark.parametrize("method", METHODS)
def test_lecture_stalls_without_its_first_equation(method: str) -> None:
    """i1 as tear and u1=R1·i1 as its residual: a second tear is needed, as the lecture shows."""
    solvable = every(LECTURE)
    solvable[0] = set()
    torn = tear(LECTURE, solvable, method=method, forced=[I1])
    check(LECTURE, solvable, torn)
    assert torn.tears[0] == I1
    assert len(torn.tears) == 2
    assert 0 in torn.residuals


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("v", range(6))
def test_any_single_tear_of_the_lecture_is_enough(v: int, method: str) -> None:
    torn = tear(LECTURE, every(LECTURE), method=method, forced=[v])
    check(LECTURE, every(LECTURE), torn)
    assert torn.tears == [v]


def test_pendulum_tears_the_force() -> None:
    """w'-Tx, z'-Ty+g, xw'+yz'+…: only literal coefficients may be divided by, so T is the tear."""
    torn = tear([[0, 2], [1, 2], [0, 1]], [{0}, {1}, set()])
    assert torn == Tearing([2], [(0, 0), (1, 1)], [2])


@pytest.mark.parametrize("method", METHODS)
def test_small_ones(method: str) -> None:
    assert tear([], [], method=method) == Tearing([], [], [])
    assert tear([[0]], [{0}], method=method) == Tearing([], [(0, 0)], [])
    assert tear([[0]], [set()], method=method) == Tearing([0], [], [0])
    assert tear([[0, 1, 0], [1, 0]], [{0}, {1}], method=method).tears in ([0], [1])
    assert tear([[0], [0]], [{0}, {0}], method=method) == Tearing([1], [(0, 0)], [1])  # unknown 1 is nowhere


@pytest.mark.parametrize("method", METHODS)
def test_nothing_may_be_solved_for(method: str) -> None:
    inc = [[0, 1], [1, 2], [2, 0]]
    torn = tear(inc, [set(), set(), set()], method=method)
    assert sorted(torn.tears) == [0, 1, 2]
    assert torn.residuals == [0, 1, 2]


# -------------------------------------------------------------------------------------------- always holds


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("portion", [1.0, 0.6, 0.2])
def test_result_is_an_order_of_evaluation(method: str, portion: float) -> None:
    rnd = random.Random(7)
    for _ in range(20):
        inc, solvable = random_loop(rnd, rnd.randint(5, 40), 5 if rnd.random() < 0.5 else 2, portion)
        torn = tear(inc, solvable, method=method)
        check(inc, solvable, torn)
        assert torn == tear(inc, solvable, method=method)


@pytest.mark.parametrize("method", METHODS)
def test_forced_tears_come_first_and_stay(method: str) -> None:
    rnd = random.Random(8)
    for _ in range(40):
        inc, solvable = random_loop(rnd, rnd.randint(4, 30), 4, 0.8)
        forced = rnd.sample(range(len(inc)), 3)
        torn = tear(inc, solvable, method=method, forced=forced)
        check(inc, solvable, torn)
        assert torn.tears[:3] == forced


def test_unsolvable_unknowns_are_tears() -> None:
    inc, solvable = random_loop(random.Random(3), 20, 3)
    solvable = [row - {4, 11} for row in solvable]
    assert {4, 11} <= set(tear(inc, solvable).tears)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inc": [[0]], "solvable": [{0}], "method": "other"}, "unknown tearing method 'other'"),
        ({"inc": [[1]], "solvable": [{1}]}, r"outside 0\.\.0"),
        ({"inc": [[0]], "solvable": []}, "`solvable` has 0"),
        ({"inc": [[0, 1], [1, 0]], "solvable": [{0}, {1}], "forced": [0, 0]}, "forced"),
        ({"inc": [[0, 1], [1, 0]], "solvable": [{0}, {1}], "forced": [2]}, "forced"),
    ],
)
def test_wrong_input(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        tear(**arguments)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------- how many tears


@pytest.mark.parametrize("portion", [1.0, 0.7])
def test_close_to_the_minimum(portion: float) -> None:
    """Allowed is 1.05 on average over 200 loops; the search up to 16 unknowns makes it exactly 1."""
    rnd = random.Random(11)
    found = least = 0
    for _ in range(200 if portion == 1.0 else 60):
        inc, solvable = random_loop(rnd, rnd.randint(8, 14), 4, portion)
        found += len(tear(inc, solvable).tears)
        least += minimum(inc, solvable)
    assert found == least


def test_minimum_under_forced_tears() -> None:
    rnd = random.Random(12)
    for _ in range(40):
        inc, solvable = random_loop(rnd, rnd.randint(6, 10), 4, 0.7)
        n, forced = len(inc), rnd.sample(range(len(inc)), 2)
        others = [v for v in range(n) if v not in forced]
        least = next(
            k + 2
            for k in range(n)
            if any(known_from(inc, solvable, (*forced, *more)) == n for more in combinations(others, k))
        )
        assert len(tear(inc, solvable, forced=forced).tears) == least


def test_never_more_than_cellier_on_average() -> None:
    rnd = random.Random(13)
    ours = lectures = 0
    for _ in range(15):
        inc, solvable = random_loop(rnd, rnd.randint(20, 60), 4, 0.8)
        ours += len(tear(inc, solvable).tears)
        lectures += len(tear(inc, solvable, method="cellier").tears)
    assert ours < 0.85 * lectures


def multibody(n: int, joints: int) -> tuple[Incidence, Solvable, int]:
    """A chain of `joints` bodies, n small equations each: accelerations go out, forces come back, a joint couples both.

    Body k: a_k = a_(k-1) + q_k; c_1 = a_k, c_j = c_(j-1); f_k = f_(k+1) + c_last; joint: f_k = c_1, without q_k.
    Tearing the joint accelerations q_k makes everything causal, the joints are the residuals.
    """
    inc: Incidence = []
    number: dict[tuple[str, int, int], int] = {}

    def unknown(*key: object) -> int:
        return number.setdefault(key, len(number))  # type: ignore[arg-type]

    for k in range(joints):
        a, q, f = unknown("a", k, 0), unknown("q", k, 0), unknown("f", k, 0)
        inc.append([a, q, *([unknown("a", k - 1, 0)] if k else [])])
        last = a
        for j in range(n):
            c = unknown("c", k, j)
            inc.append([c, last])
            last = c
        inc.append([f, last, *([unknown("f", k + 1, 0)] if k + 1 < joints else [])])
        inc.append([f, unknown("c", k, 0)])
    return inc, every(inc), joints


def test_multibody_needs_at_most_one_tear_per_joint() -> None:
    inc, solvable, joints = multibody(20, 6)
    assert len(inc) == 138
    start = time.perf_counter()
    torn = tear(inc, solvable)
    assert time.perf_counter() - start < 5
    check(inc, solvable, torn)
    assert len(torn.tears) <= joints


# ------------------------------------------------------------------------------------------------ large ones


@pytest.mark.parametrize(("n", "portion"), [(300, 1.0), (300, 0.7), (3000, 0.9)])
def test_large_random_loops_in_bounded_time(n: int, portion: float) -> None:
    inc, solvable = random_loop(random.Random(n), n, 4, portion)
    start = time.perf_counter()
    torn = tear(inc, solvable)
    assert time.perf_counter() - start < 5
    check(inc, solvable, torn)


@pytest.mark.parametrize("method", METHODS)
def test_ring_of_100_000(method: str) -> None:
    n = 100_000
    inc = [[e, (e + 1) % n] for e in range(n)]
    start = time.perf_counter()
    torn = tear(inc, every(inc), method=method)
    assert time.perf_counter() - start < 10
    assert len(torn.tears) == 1
    assert len(torn.causal) == n - 1


def test_grid_of_20_000_needs_one_tear_per_row() -> None:
    side = 141
    near = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
    inc = [
        [(i + a) * side + j + b for a, b in near if 0 <= i + a < side and 0 <= j + b < side]
        for i in range(side)
        for j in range(side)
    ]
    start = time.perf_counter()
    torn = tear(inc, every(inc))
    assert time.perf_counter() - start < 20
    check(inc, every(inc), torn)
    assert len(torn.tears) <= 1.1 * side
