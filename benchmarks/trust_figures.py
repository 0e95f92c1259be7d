"""Figures of trust: families of random models with known answers (tests/families), each at full size.

python benchmarks/figures.py trust
"""

from __future__ import annotations

from collections.abc import Iterator

import peers  # noqa: F401  puts tests/ on the path
import plants
from families import RIGHT, families
from families.__main__ import run

JOBS = 2
SHOWN = 5  # cases that are not right


def rows(quick: bool = False) -> Iterator[tuple[str, str, str, bool, str]]:
    """What, goal, reached, met, command: each as soon as it is known."""
    for name in families():
        yield family_row(name, quick)
    yield _plants(quick)


def family_row(name: str, quick: bool = False) -> tuple[str, str, str, bool, str]:
    """The row of one family."""
    family = families()[name]
    count = family.part if quick else family.count
    outcomes = run(family, range(family.seed, family.seed + count), JOBS)
    text, met = family.judge(outcomes)
    for one in [one for one in outcomes if one.verdict != RIGHT][:SHOWN]:
        print(f"  {name}, seed {one.seed}: {one.verdict}: {one.detail}")
    return (family.what, family.goal, text, met, f"python tests/families {name}")


def _plants(quick: bool) -> tuple[str, str, str, bool, str]:
    """Plants as engineers write them."""
    chosen = plants.PLANTS[:2] if quick else plants.PLANTS
    good = [plants.judge(one)[1] for one in chosen]
    return (
        "plants written by engineers, judged at 5 %, on unseen scenarios",
        "each within 5 %, or verdict or flag says no, with a proposal that works",
        f"{sum(good)} of {len(good)}",
        all(good),
        "python benchmarks/plants.py",
    )
