"""Modelica in: some of the models beside this file, their structure and their solution.

python examples/modelica_tour.py
"""

from pathlib import Path

import pliant

HERE = Path(__file__).parent

circuit = pliant.load(HERE / "circuit.mo", tear=["i3"])
print(circuit.structure, "\n")

# stop time and what to draw
MODELS = {
    "circuit": (10.0, ["i1", "i2", "i3"]),
    "dc_drive": (2.0, ["reference.y", "fan.w"]),
    "pendulum": (10.0, ["x", "y"]),
    "crane": (20.0, ["s", "x", "length"]),
    "transistor_amplifier": (0.2, ["U[1]", "U[8]"]),
}
for name, (stop, drawn) in MODELS.items():
    model = pliant.load(HERE / f"{name}.mo")
    result = model.simulate(stop=stop)
    found = model.structure
    loops = ", ".join(f"{loop.size} ({loop.n_torn} torn)" for loop in found.loops) or "none"
    print(
        f"{name}: {found.n_equations} equations, index {found.index}, {found.n_states} states, loops: {loops}; "
        f"{result.stats.n_steps} steps of {result.stats.method}, {1000 * result.stats.seconds:.1f} ms"
    )
    result.plot(*drawn, file=f"{name}.png")
