"""Plants with sampled feedback: maps over one period of the clocks against discretisation by matrix exponentials.

Linear plants x' = A x + b u with u held between ticks: state feedback of random gain, dead-beat by Ackermann's formula,
either with a delay of one sample, and a slow integrator around a fast inner loop. The oracle builds the map from expm
(scipy) and the controller's matrices; it knows nothing of steps. A quarter of the plants
grow alone. Further: what a search may not do to the loop, with
the linearly implicit Euler method written out here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

import pliant
from families import RIGHT, WRONG, Family, Outcome
from pliant.errors import PliantError

Matrix = NDArray[np.float64]
STEPS = 32  # of the plant in the shortest period, order 2
NEAR = 0.02  # from the unit circle: the step's own error may decide there
KINDS = ("gain", "dead-beat", "delay", "two rates")


@dataclass(frozen=True)
class Loop:
    """A plant, its controller and the period of its clock; slow: ticks of the fast clock per tick of the slow one."""

    kind: str
    A: Matrix
    b: Matrix
    K: Matrix
    T: float
    slow: int = 0
    integral: float = 0.0

    @property
    def n(self) -> int:
        """States of the plant."""
        return len(self.b)

    def text(self) -> str:
        """As a model."""
        n = self.n

        def total(row: Matrix) -> str:
            return " + ".join(f"({value!r})*x{j + 1}" for j, value in enumerate(row.tolist())) or "0"

        lines = ["model Loop"]
        lines += [f"  Real x{i + 1}(start = {0.1 * (i + 1)}, fixed = true);" for i in range(n)]
        lines += ["  discrete Real u(start = 0, fixed = true), next(start = 0, fixed = true);"]
        lines += ["  discrete Real r(start = 0, fixed = true);", "equation"]
        lines += [f"  der(x{i + 1}) = {total(self.A[i])} + ({self.b[i].item()!r})*u;" for i in range(n)]
        lines += [f"  when sample(0, {self.T!r}) then", f"    next = r - ({total(self.K)});"]
        lines += ["    u = pre(next);" if self.kind == "delay" else "    u = next;", "  end when;"]
        if self.slow:
            lines += [f"  when sample(0, {self.slow * self.T!r}) then", f"    r = pre(r) - ({self.integral!r})*x1;"]
            lines += ["  end when;"]
        else:
            lines += ["  when initial() then", "    r = 0;", "  end when;"]
        return "\n".join([*lines, "end Loop;\n"])

    def radius(self, step: Matrix | None = None, held: Matrix | None = None) -> float:
        """Largest |eigenvalue| over one period; ``step``, ``held``: another map of the plant over T than the exact one.

        The state is (x, u, next, r).
        """
        n, size = self.n, self.n + 3
        plant = np.eye(size)
        if step is None or held is None:
            joint = np.zeros((n + 1, n + 1))
            joint[:n, :n], joint[:n, n] = self.A, self.b
            both = scipy.linalg.expm(joint * self.T)
            step, held = both[:n, :n], both[:n, n]
        plant[:n, :n], plant[:n, n] = step, held
        fast, slow = np.eye(size), np.eye(size)
        u, following, r = n, n + 1, n + 2
        fast[following] = 0.0
        fast[following, :n], fast[following, r] = -self.K, 1.0
        fast[u] = 0.0
        fast[u, :] = np.eye(size)[following] if self.kind == "delay" else fast[following]
        if not self.slow:
            slow = fast
        else:  # r first, what the fast clock gives reads it
            new = np.eye(size)
            new[r, 0] = -self.integral
            slow = fast @ new
        out = np.eye(size)
        for _ in range(max(self.slow, 1) - 1):
            out = fast @ plant @ out
        out = slow @ plant @ out
        keep = list(range(size)) if self.slow else list(range(size - 1))  # r is a constant without a slow clock
        return float(np.abs(np.linalg.eigvals(out[np.ix_(keep, keep)])).max())


def make(seed: int) -> Loop:
    """A random loop around a plant; one in four grows alone."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n = int(rng.integers(1, 4)) if kind == "dead-beat" else int(rng.integers(1, 6))
    A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.7)
    A -= (np.linalg.eigvals(A).real.max() + rng.uniform(0.2, 1.0)) * np.eye(n)
    A *= 10.0 ** rng.uniform(-1, 1.5) / np.abs(np.linalg.eigvals(A)).max()
    if seed // len(KINDS) % 4 == 3:
        A += 0.4 * np.abs(np.linalg.eigvals(A)).max() * np.eye(n)
    b = rng.normal(size=n)
    T = float(2.0 ** np.round(np.log2(rng.uniform(0.1, 1.5) / np.abs(np.linalg.eigvals(A)).max())))
    gain = 10.0 ** rng.uniform(-1.0, 1.2) * np.abs(np.linalg.eigvals(A)).max() / max(np.linalg.norm(b), 0.1)
    K = gain * rng.normal(size=n) / np.sqrt(n)
    if kind == "dead-beat":
        joint = np.zeros((n + 1, n + 1))
        joint[:n, :n], joint[:n, n] = A, b
        both = scipy.linalg.expm(joint * T)
        F, g = both[:n, :n], both[:n, n]
        reach = np.array([np.linalg.matrix_power(F, k) @ g for k in range(n)]).T
        if np.linalg.cond(reach) > 1e3:
            return make(seed + 1_000_003 * len(KINDS))
        K = np.linalg.solve(reach, np.linalg.matrix_power(F, n))[-1]  # Ackermann: F^n is what all poles at 0 ask for
    slow = int(rng.integers(2, 6)) if kind == "two rates" else 0
    return Loop(kind, A, b, 0.2 * K if slow else K, T, slow, float(rng.uniform(0.01, 0.3) * gain) if slow else 0.0)


def check(seed: int) -> Outcome:
    """Radius and verdict; then a search that only stability holds back."""
    loop = make(seed)
    exact = loop.radius()
    stop = max(16, 4 * loop.slow) * loop.T
    quiet = {"certificate": False, "reference": False}
    try:
        plan = pliant.load(loop.text()).realtime(
            step=loop.T / STEPS, stop=stop, order=2, accuracy=None, options={"search": "full", **quiet}
        )
    except PliantError as error:
        return Outcome(seed, RIGHT if exact > 1.0 else WRONG, f"radius {exact:.4g}: {error}")
    e = plan.evidence
    if e.loop_radius_exact is None:
        return Outcome(seed, WRONG, f"{loop.kind}: no loop was seen, radius {exact:.4g}")
    room = 0.02 * max(exact, 0.3) if loop.kind != "dead-beat" else 0.25  # n equal poles move by the nth root
    if abs(e.loop_radius_exact - exact) > room:
        return Outcome(seed, WRONG, f"{loop.kind}: radius {e.loop_radius_exact:.5g}, not {exact:.5g}")
    bad = [name for name in e.failing if name.startswith("sampled loops")]
    if exact > 1.0 + NEAR and not bad:
        return Outcome(seed, WRONG, f"{loop.kind}: radius {exact:.4g} and nothing said")
    if exact < 1.0 - NEAR and bad:
        return Outcome(seed, WRONG, f"{loop.kind}: radius {exact:.4g} and yet {bad}")
    return sparsed(seed, loop, quiet) if exact < 1.0 - NEAR else Outcome(seed, RIGHT)


def sparsed(seed: int, loop: Loop, quiet: dict[str, bool]) -> Outcome:
    """A coarse step and every freedom to drop: the loop must keep half of its margin."""
    n, count = loop.n, 1 + seed % 3
    tau = loop.T / count

    def over(J: Matrix) -> float:
        """Radius with the linearly implicit Euler method, Jacobian J."""
        B = np.linalg.inv(np.eye(n) - tau * J)
        S, g = np.eye(n) + tau * B @ loop.A, tau * B @ loop.b
        held = sum((np.linalg.matrix_power(S, k) @ g for k in range(count)), np.zeros(n))
        return loop.radius(np.linalg.matrix_power(S, count), held)

    full = over(loop.A)
    try:
        plan = pliant.load(loop.text()).realtime(
            step=tau, stop=max(16, 4 * loop.slow) * loop.T, tolerance=1e6, accuracy=None, options=dict(quiet)
        )
    except PliantError as error:
        return Outcome(seed, RIGHT if full > 1.0 else WRONG, f"coarse: {error}")
    e, J = plan.evidence, np.where(plan.mask, loop.A, 0.0)
    J = np.where(np.isnan(plan.frozen), J, plan.frozen)
    found = over(J)
    if abs((e.loop_radius or 0.0) - found) > 1e-5 * max(found, 1.0) and loop.kind != "dead-beat":
        return Outcome(seed, WRONG, f"{loop.kind}: radius with the pattern {e.loop_radius:.6g}, not {found:.6g}")
    if full < 1.0 - 1e-6 and not found <= 1.0 - 0.5 * (1.0 - full) + 1e-4:
        return Outcome(seed, WRONG, f"{loop.kind}: the search spoils the loop, {full:.4g} becomes {found:.4g}")
    return Outcome(seed, RIGHT, value=found)


FAMILY = Family(
    name="sampled_loops",
    what="loops through samplers (random gains, dead-beat, delay, two rates) over a period, and after a search",
    goal="radius within 2 % of the matrix exponential's, every unstable loop flagged, none spoilt",
    count=200,
    part=2,
    check=check,
)
