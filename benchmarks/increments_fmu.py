"""The study of increments on FMUs: stiff Van der Pol whose nominal value is a parameter, beside PyFMI's rule.

python benchmarks/increments_fmu.py [--quick]
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from increments import NOMINALS, NORMAL, QUICK, TIMEOUT, WHY, Effort, Run, Table

import pliant

RULES = ("pyfmi", "entered", "thesis", "default")
RTOL, ATOL, STOP = 1e-9, 1e-3, 2e6


def stiff_fmu(version: str) -> Path:
    """The FMU of the tests."""
    os.environ.setdefault("PLIANT_CACHE", tempfile.mkdtemp(prefix="pliant-fmus-"))
    from support_fmus import fmu

    return fmu("stiff", version)


def fmu_run(model: pliant.Model, nominal: float, rule: str, limit: int) -> Run:
    """Radau5 with a rule for the increments; nominal: parameter of the FMU, which it then reports for its states."""
    options = {"jacobian": "differences", "increments": rule, "max_steps": limit}
    try:
        result = model.simulate(
            STOP,
            method="radau5",
            rtol=RTOL,
            atol=ATOL,
            points=2,
            parameters={"nominal": nominal},
            options=options,
            timeout=TIMEOUT,
        )
    except pliant.SolverError as error:
        why = next((words for kind, words in WHY.items() if isinstance(error, kind)), type(error).__name__)
        return Run(None, why, error.time or 0.0)
    return Run(result.stats.n_steps, jacobians=result.stats.n_jac, source=result.stats.jacobian)


def fmu_table(effort: Effort, version: str = "2.0") -> Table:
    """Figure 6.1 on an FMU."""
    rows = []
    with pliant.load(stiff_fmu(version)) as model:
        for nominal in NOMINALS:
            found = (str(fmu_run(model, nominal, rule, effort.full_limit)) for rule in RULES)
            rows.append((f"{nominal:g}", *found))
    title = f"Van der Pol as an FMU of FMI {version}, Radau5, rtol 1e-9, atol 1e-3: steps over the nominal value"
    return Table(title, ("nominal", *RULES), rows)


if __name__ == "__main__":
    for one in ("2.0", "3.0"):
        print(fmu_table(QUICK if "--quick" in sys.argv else NORMAL, one))
