"""Macro steps by error: random linear networks in random parts, every scheme and degree, and their exact solution.

Asked: errors in proportion to macro_rtol, at most ALLOWED times it in units of the range, a smaller error
with a tenth of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from families import RIGHT, WRONG, Family, Outcome
from families._split import network

ALLOWED = 20.0


def case(seed: int) -> Outcome:
    """One network, two tolerances."""
    random = np.random.default_rng(seed)
    found = network(random)
    slowest = float(np.abs(np.linalg.eigvals(found.matrix).real).min())
    stop = float(min(5.0 / slowest, 20.0))
    degree = int(random.choice([0, 1, 1, 2, 2]))
    asked: dict[str, Any] = {
        "scheme": str(random.choice(["jacobi", "gauss-seidel"])),
        "extrapolation": degree,
        "smooth": bool(random.random() < 0.2),
        "macro_error": "halving" if random.random() < 0.2 else "extrapolation",
    }
    loose = 1e-2 if degree == 0 else 1e-3
    errors = []
    for macro_rtol in (loose, loose / 10):
        coupling, names = found.coupling()
        run = coupling.simulate(stop=stop, step="auto", macro_rtol=macro_rtol, rtol=1e-8, **asked)
        true = found.at(run.time)
        values = np.column_stack([run[name] for name in names])
        scale = np.maximum(np.ptp(true, axis=0), 1.0)
        errors.append(float((np.abs(values - true) / scale).max()))
    text = f"{errors[0] / loose:.2g} and {errors[1] / loose * 10:.2g} times macro_rtol, {asked}"
    proportional = errors[1] < 0.5 * errors[0] or errors[1] < 1e-6
    return Outcome(seed, RIGHT if errors[0] < ALLOWED * loose and proportional else WRONG, text)


FAMILY = Family(
    name="coupling_auto",
    what="couplings with step='auto': linear networks in random parts, all schemes and degrees",
    goal="error at most 20x macro_rtol of the range, smaller with a smaller one",
    check=case,
    count=100,
    part=1,
)
