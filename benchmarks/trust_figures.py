"""Figures of trust: families of random models with known answers (tests/families), each at full size.

python benchmarks/figures.py trust
python benchmarks/figures.py trust --family hybrid_step      this row only
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import peers  # noqa: F401  puts tests/ on the path
import plants
from families import RIGHT, families
from families.__main__ import run

JOBS = 2
SHOWN = 5  # cases that are not right


def rows(quick: bool = False, only: Collection[str] = ()) -> Iterator[tuple[str, str, str, bool, str]]:
    """What, goal, reached, met, command: each as soon as it is known. ``only``: these families."""
    for name, family in families().items():
        if only and name not in only:
            continue
        count = family.part if quick else family.count
        outcomes = run(family, range(family.seed, family.seed + count), JOBS)
        text, met = family.judge(outcomes)
        for one in [one for one in outcomes if one.verdict != RIGHT][:SHOWN]:
            print(f"  {name}, seed {one.seed}: {one.verdict}: {one.detail}")
        yield (family.what, family.goal, text, met, f"python tests/families {name}")
    if not only:
        yield _plants(quick)


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
