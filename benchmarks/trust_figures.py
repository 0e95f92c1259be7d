"""Figures of trust: families of random models with known answers (tests/families), each at full size.

python benchmarks/figures.py trust
"""

from __future__ import annotations

import peers  # noqa: F401  puts tests/ on the path
from families import families
from families.__main__ import run

JOBS = 2


def rows(quick: bool = False) -> list[tuple[str, str, str, bool, str]]:
    """What, asked, reached, met, command."""
    out = []
    for name, family in families().items():
        count = family.part if quick else family.count
        text, met = family.judge(run(family, range(family.seed, family.seed + count), JOBS))
        out.append((family.what, family.asked, text, met, f"python tests/families {name}"))
    return out
