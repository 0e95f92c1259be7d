"""A quarter of a vehicle drives over a step of 5 cm; its damper is an FMU, as a supplier would deliver it.

The macro steps are chosen by error, and force and speed of the damper carry power: the result says how much energy the
coupling has created.
"""

import tempfile
from pathlib import Path

import numpy as np

import pliant

HERE = Path(__file__).parent
ROAD = ([0.0, 0.2, 0.25, 3.0], [0.0, 0.0, 0.05, 0.05])

with tempfile.TemporaryDirectory() as folder:
    file = pliant.load(HERE / "damper.mo").export_fmu(Path(folder) / "damper.fmu", sources=False)
    with pliant.load(file, kind="co-simulation") as damper:
        coupling = pliant.Coupling()
        coupling.add("body", pliant.load(HERE / "quarter_body.mo"))
        coupling.add("damper", damper)
        coupling.connect("body.v", "damper.v")
        coupling.connect("damper.F", "body.F")
        coupling.power(potential="damper.F", flow="body.v")
        result = coupling.simulate(stop=3, step="auto", inputs={"body.road": ROAD})

print(result.explain())
whole = pliant.load(HERE / "quarter_whole.mo").simulate(stop=3, rtol=1e-8, points=result.time, inputs={"road": ROAD})
error = float(np.abs(result["body.zb"] - whole["zb"]).max())
print(f"the body is at most {1000 * error:.2g} mm beside that of the whole model")
assert error < 1e-3
