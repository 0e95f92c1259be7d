"""Tour: many runs of one model."""

from __future__ import annotations

from pathlib import Path

import pliant
from pliant.batch.plot import plot_study
from pliant.tour.section import Code, FigureTable, Section, count, picture, source

CART = """
model Cart "A spring with play at its stop"
  parameter Real k = 20, c = 0.4, mass = 1, stiff = 2e4;
  Real x(start = 1, fixed = true), v(start = 0, fixed = true), stop;
equation
  der(x) = v;
  mass*der(v) = -k*x - c*v + stop;
  stop = if x < -0.5 then -stiff*(x + 0.5) else 0;
  assert(abs(v) < 9, "the cart is too fast for its stop");
end Cart;
"""


def make_study() -> pliant.Study:
    """A design over three parameters and a start value, on all cores."""
    model = pliant.load(CART)
    ranges = {"k": (5.0, 80.0), "c": (0.1, 2.0), "mass": (0.5, 2.0), "start(x)": (0.6, 1.2)}
    design = pliant.design.latin_hypercube(ranges, n=200)
    return model.simulate_many(design, stop=3.0, keep=["x"])


def many(_folder: Path) -> Section:
    """Sweeps with failures in their places."""
    study = make_study()
    stats = study.stats
    error = next(iter(study.failures.values()), None)
    return Section(
        "many",
        "Many runs",
        "Sweeps and designs on all cores or a cluster. Each case gives what `simulate` gives, bit for bit; a case that "
        "fails is its error in its place.",
        [
            Code(source(make_study), "200 cases of a Latin hypercube."),
            FigureTable(
                ("cases", "failed", "seconds", "cases a second", "workers"),
                [
                    [
                        count(stats.n),
                        count(stats.n_failed),
                        f"{stats.seconds:.2f}",
                        f"{stats.n / stats.seconds:,.0f}",
                        count(stats.workers),
                    ]
                ],
                "`study.report` puts all of it on a page.",
            ),
            Code(str(error), "One of the failed cases.", True),
            picture(plot_study(study, "fan", ("x",), None, show=False), "Median and bands of all cases that ended."),
        ],
    )
