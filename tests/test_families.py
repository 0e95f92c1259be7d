"""A part of every family of random models, compiled quickly; all of them, as users have them: python tests/families."""

from __future__ import annotations

import pytest
from families import RIGHT, Family, families, guarded

FAMILIES = families()


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_family(family: Family) -> None:
    outcomes = [guarded(family, family.seed + k) for k in range(family.part)]
    text, met = family.judge(outcomes)
    assert met, "\n".join([text, *(f"seed {one.seed}: {one.detail}" for one in outcomes if one.verdict != RIGHT)])
