"""Figures of trust: families of random models with known answers (tests/families), each at full size.

python benchmarks/figures.py trust
"""

from __future__ import annotations

import peers  # noqa: F401  puts tests/ on the path
import plants
from families import families
from families.__main__ import run

JOBS = 2


def rows(quick: bool = False) -> list[tuple[str, str, str, bool, str]]:
    """What, goal, reached, met, command."""
    out = []
    for name, family in families().items():
        count = family.part if quick else family.count
        text, met = family.judge(run(family, range(family.seed, family.seed + count), JOBS))
        out.append((family.what, family.goal, text, met, f"python tests/families {name}"))
    out.append(_plants(quick))
    return out


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
