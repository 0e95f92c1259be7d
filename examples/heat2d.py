"""A sparse system: the heat equation on a square, 2 500 unknowns.   python examples/heat2d.py"""

import numpy as np
import scipy.sparse as sp

import pliant

M = 50  # inner points in each direction

line = sp.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(M, M)) * (M + 1.0) ** 2
laplacian = sp.csr_array(sp.kron(sp.eye_array(M), line) + sp.kron(line, sp.eye_array(M)))
grid = np.arange(1, M + 1) / (M + 1)
start = np.outer(np.sin(np.pi * grid), np.sin(2 * np.pi * grid)).ravel()

# The pattern makes the difference Jacobian cheap (one evaluation per colour) and the factorisation sparse.
model = pliant.ode(lambda t, u: laplacian @ u, start, pattern=laplacian)
result = model.simulate(stop=0.05, points=11)

rate = -4.0 * (M + 1) ** 2 * (np.sin(0.5 * np.pi / (M + 1)) ** 2 + np.sin(np.pi / (M + 1)) ** 2)
error = np.abs(result.values[-1] - np.exp(rate * 0.05) * start).max()
print(f"{M * M} unknowns, {result.stats.n_steps} steps, {result.stats.seconds:.3f} s, largest error {error:.1e}")
print(f"{result.stats.n_rhs_jac} evaluations of f for {result.stats.n_jac} Jacobians")
