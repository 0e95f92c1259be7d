"""A stiff oscillator by three methods.   python examples/van_der_pol.py"""

import pliant

MU = 1000.0


def f(t, x):
    """x'' = mu (1 - x^2) x' - x as two equations of first order."""
    return [x[1], MU * (1.0 - x[0] ** 2) * x[1] - x[0]]


model = pliant.ode(f, [2.0, 0.0], names=["x", "v"])
for method in ("auto", "bdf", "radau5"):
    result = model.simulate(stop=3000.0, method=method, rtol=1e-6)
    stats = result.stats
    print(
        f"{method:7} x(3000) = {result.final['x']:.6f}  {stats.n_steps} steps, {stats.n_rhs} evaluations of f, "
        f"{1e3 * stats.seconds:.1f} ms"
    )
result.plot("x", file="van_der_pol.png", title="Van der Pol, mu = 1000")
