"""Both front ends give the same on all examples: variables, states, equations, and curves of some."""

from pathlib import Path

import numpy as np
import pytest

import pliant

EXAMPLES = Path(__file__).parents[1] / "examples"
FILES = sorted(EXAMPLES.rglob("*.mo"))


@pytest.mark.parametrize("file", FILES, ids=[str(one.relative_to(EXAMPLES)) for one in FILES])
def test_structure(file: Path) -> None:
    ours, theirs = (pliant.inspect(file, frontend=one) for one in ("pliant", "rumoca"))
    for key in ("n_states", "index", "n_equations", "n_after_aliases"):
        assert getattr(ours, key) == getattr(theirs, key), key
    assert sorted(one.name for one in ours.states) == sorted(one.name for one in theirs.states)


@pytest.mark.parametrize("name", ["pendulum", "transistor_amplifier", "dc_drive"])
def test_curves(name: str) -> None:
    runs = [
        pliant.load(EXAMPLES / f"{name}.mo", frontend=one).simulate(stop=0.1, rtol=1e-8, points=20)
        for one in ("pliant", "rumoca")
    ]
    assert set(runs[0].names) == set(runs[1].names)
    for one in runs[0].names:
        size = 1.0 + np.abs(runs[1][one]).max()
        np.testing.assert_allclose(runs[0][one], runs[1][one], atol=1e-5 * size)
