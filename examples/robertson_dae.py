"""An index-1 DAE: Robertson's reaction, with the conservation law as an algebraic equation.

python examples/robertson_dae.py
"""

import numpy as np

import pliant


def f(t, x):
    """Two rates, and A + B + C = 1."""
    a, b, c = x
    return [-0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, a + b + c - 1.0]


model = pliant.ode(
    f,
    [1.0, 0.0, 0.0],
    mass=[1.0, 1.0, 0.0],  # the diagonal; 0: no derivative in this row
    names=["A", "B", "C"],
    nominal=[1.0, 1e-5, 1.0],  # B stays small: its absolute tolerance follows
)
result = model.simulate(stop=1e6, points=np.geomspace(1e-6, 1e6, 400))
for name, value in result.final.items():
    print(f"{name} = {value:.9g}")
print(f"A + B + C - 1 = {sum(result.final.values()) - 1.0:.1e}, {result.stats.n_steps} steps")
result.plot("A", "B", "C", log="x", file="robertson_dae.png")
