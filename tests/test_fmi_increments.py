"""Increments on an FMU whose nominal values may be wrong."""

from __future__ import annotations

import pytest
from support_fmus import fmu

import pliant

GIVEN = {"stop": 2e6, "method": "radau5", "rtol": 1e-9, "atol": 1e-3, "points": 2}


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_wrong_nominal_values_do_no_harm(version: str) -> None:
    with pliant.load(fmu("stiff", version)) as model:
        for nominal in (1e-3, 1.0, 1e3, 1e5, 1e6, 1e7):
            result = model.simulate(**GIVEN, parameters={"nominal": nominal})
            assert result.stats.n_steps <= 150
            assert result.final["y1"] == pytest.approx(1.7061677, abs=1e-2)


def test_increments_from_nominal_values_stall() -> None:
    options = {"increments": "pyfmi", "max_steps": 2000, "jacobian": "differences"}
    with pliant.load(fmu("stiff", "2.0")) as model:
        model.simulate(**GIVEN, parameters={"nominal": 1.0}, options=options)
        with pytest.raises(pliant.StepLimitError):
            model.simulate(**GIVEN, parameters={"nominal": 1e6}, options=options)
