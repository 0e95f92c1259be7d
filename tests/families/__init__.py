"""Families of random models with known answers.

A family is a module of this folder with one `FAMILY`: from a seed it makes a case, lets pliant solve it, and compares
with an answer that does not come from pliant. A small part runs with the tests (`test_families.py`), all of it by

    python tests/families                          every family, full size, fixed seeds
    python tests/families inputs --seed 7          one family with other cases
    python tests/families inputs --only 1234       one case, for a closer look

and `python benchmarks/figures.py trust` writes the figures.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

RIGHT, WRONG, FAILED = "right", "wrong", "failed"


@dataclass(frozen=True)
class Outcome:
    """What came of one case. `wrong`: a result without a word that is not the answer; `failed`: an error was raised."""

    seed: int
    verdict: str
    detail: str = ""
    value: float = 0.0  # what a family measures, e.g. an error in tolerance units


def all_right(outcomes: Sequence[Outcome]) -> tuple[str, bool]:
    """The usual figure: every case right."""
    count = Counter(outcome.verdict for outcome in outcomes)
    text = f"{count[RIGHT]} of {len(outcomes)} right"
    for verdict in (WRONG, FAILED):
        if count[verdict]:
            text += f", {count[verdict]} {verdict}"
    return text, count[RIGHT] == len(outcomes) > 0


@dataclass(frozen=True)
class Family:
    """`check(seed)` makes and judges a case, `judge` sums up; `part` cases run in the tests, `count` for the figure."""

    name: str
    what: str
    goal: str
    count: int
    part: int
    check: Callable[[int], Outcome]
    judge: Callable[[Sequence[Outcome]], tuple[str, bool]] = all_right
    seed: int = 0  # of the first case; the others follow


def guarded(family: Family, seed: int) -> Outcome:
    """One case; an exception is an outcome, not the end."""
    try:
        return family.check(seed)
    except Exception as error:
        return Outcome(seed, FAILED, f"{type(error).__name__}: {error}")


def families() -> dict[str, Family]:
    """All families by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name.startswith("_"):
            continue
        family = getattr(importlib.import_module(f"{__name__}.{module.name}"), "FAMILY", None)
        if family is not None:
            found[family.name] = family
    return dict(sorted(found.items()))
