"""Beam: a thin elastic rod, inextensible, clamped at one end, with a force on the free one; 40 segments.

Unknowns: the angles z of the n = 40 segments and their velocities w.

    z' = w,   w' = C v + D u,   C u = D v + w^2      (w^2 by components)
    v_l = n^4 (z_{l-1} - 2 z_l + z_{l+1}) + n^2 (Fy cos z_l - Fx sin z_l),   z_0 = -z_1,   z_{n+1} = z_n
    C tridiagonal:  C_11 = 1, C_nn = 3, else C_ll = 2;   C_{l,l+-1} = -cos(z_l - z_{l+-1})
    D the same without diagonal:                          D_{l,l+-1} = -sin(z_l - z_{l+-1})
    Fx = -phi, Fy = phi,   phi(t) = 1.5 sin(t)^2 until t = pi, then 0

so w' depends on every z and w. phi is written 1.5 max(sin t, 0)^2, which is the same until t = 2 pi.
The eigenvalues lie close to the imaginary axis, up to 6400 i.

Source: E. Hairer and G. Wanner, Solving ODEs II, sec. IV.1 and IV.10.
Reference: the test set's; an own extrapolation run in extended precision agrees to 9.8 digits.
"""

from math import sin
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import solve_banded

from . import Array, Problem

N = 40


def equations(t: Any, x: Any, m: Any) -> list[Any]:
    z = [x[i] for i in range(N)]
    w = [x[N + i] for i in range(N)]
    phi = 1.5 * (0.5 * (m.sin(t) + m.fabs(m.sin(t)))) ** 2
    z_ext = [-z[0], *z, z[-1]]
    v = [N**4 * (z_ext[i] - 2.0 * z[i] + z_ext[i + 2]) + N**2 * phi * (m.cos(z[i]) + m.sin(z[i])) for i in range(N)]
    diagonal = [1.0] + [2.0] * (N - 2) + [3.0]
    c = [-m.cos(z[i] - z[i + 1]) for i in range(N - 1)]  # C_{i,i+1} = C_{i+1,i}
    d = [-m.sin(z[i] - z[i + 1]) for i in range(N - 1)]  # D_{i,i+1} = -D_{i+1,i}

    def times_d(a: list[Any]) -> list[Any]:
        inner = [-d[i - 1] * a[i - 1] + d[i] * a[i + 1] for i in range(1, N - 1)]
        return [d[0] * a[1], *inner, -d[-1] * a[-2]]

    # C u = D v + w^2: elimination without pivoting
    u = [b + w_i * w_i for b, w_i in zip(times_d(v), w, strict=True)]
    pivot = list(diagonal)
    for i in range(1, N):
        factor = c[i - 1] / pivot[i - 1]
        pivot[i] = pivot[i] - factor * c[i - 1]
        u[i] = u[i] - factor * u[i - 1]
    u[-1] = u[-1] / pivot[-1]
    for i in range(N - 2, -1, -1):
        u[i] = (u[i] - c[i] * u[i + 1]) / pivot[i]

    du = times_d(u)
    acceleration = []
    for i in range(N):
        a = diagonal[i] * v[i] + du[i]
        if i > 0:
            a = a + c[i - 1] * v[i - 1]
        if i < N - 1:
            a = a + c[i] * v[i + 1]
        acceleration.append(a)
    return [*w, *acceleration]


def _tridiagonal(lower: Array, diagonal: Array, upper: Array) -> Array:
    return np.diag(lower, -1) + np.diag(diagonal) + np.diag(upper, 1)


def jacobian(t: float, x: Array) -> Array:
    """dw'/dz = P(v) + C V + Q(u) + D U,   C U = Q(v) + D V - P(u),   dw'/dw = D C^-1 diag(2 w)

    with V = dv/dz, U = du/dz and, at fixed a, P(a) = d(C a)/dz, Q(a) = d(D a)/dz.
    """
    z, w = x[:N], x[N:]
    phi = 1.5 * max(sin(t), 0.0) ** 2
    cos, sine = np.cos(z[:-1] - z[1:]), np.sin(z[:-1] - z[1:])
    ends = np.zeros(N - 1)
    c = _tridiagonal(-cos, np.array([1.0] + [2.0] * (N - 2) + [3.0]), -cos)
    d = _tridiagonal(sine, np.zeros(N), -sine)
    second = _tridiagonal(ends + 1.0, np.array([-3.0] + [-2.0] * (N - 2) + [-1.0]), ends + 1.0)
    v = N**4 * (second @ z) + N**2 * phi * (np.cos(z) + np.sin(z))
    v_z = N**4 * second + N**2 * phi * np.diag(np.cos(z) - np.sin(z))
    band = np.stack([np.append(0.0, -cos), np.diag(c), np.append(-cos, 0.0)])
    u = solve_banded((1, 1), band, d @ v + w**2)

    def p(a: Array) -> Array:
        lower, upper = sine * a[:-1], -sine * a[1:]
        return _tridiagonal(lower, -np.append(0.0, lower) - np.append(upper, 0.0), upper)

    def q(a: Array) -> Array:
        lower, upper = cos * a[:-1], cos * a[1:]
        return _tridiagonal(lower, -np.append(0.0, lower) - np.append(upper, 0.0), upper)

    u_z = solve_banded((1, 1), band, q(v) + d @ v_z - p(u))
    u_w = solve_banded((1, 1), band, np.diag(2.0 * w))
    return np.block([[np.zeros((N, N)), np.eye(N)], [p(v) + c @ v_z + q(u) + d @ u_z, d @ u_w]])


# fmt: off
REFERENCE = np.array([
    -0.005792366591285007, -0.01695298550721735, -0.02769103312973094, -0.03800815655879158,
    -0.04790616859743763, -0.05738710435274594, -0.06645327313454617, -0.07510730581979037,
    -0.08335219765414992, -0.09119134654647947, -0.0986285870013209, -0.1056682200378002,
    -0.1123150395409595, -0.1185743552727245, -0.1244520128755561, -0.1299544113264161,
    -0.1350885180610398, -0.1398618819194422, -0.1442826441015242, -0.1483595472463012,
    -0.1521019429001447, -0.1555197978061129, -0.1586236993420229, -0.1614248603702127,
    -0.1639351238193223, -0.1661669673440852, -0.1681335081778558, -0.1698485080602243,
    -0.1713263782440888, -0.1725821847462537, -0.1736316537975654, -0.1744911773840049,
    -0.1751778187863392, -0.1757093178712902, -0.1761040960228576, -0.1763812607175549,
    -0.1765606097564671, -0.1766626352260565, -0.176708527080746, -0.1767201761075488,
    0.03747362681329794, 0.1099117880217593, 0.1798360474312799, 0.2472427305442391,
    0.3121293820596567, 0.37449473770195, 0.4343386073492798, 0.4916620354601748,
    0.5464677854586807, 0.598760970262427, 0.648549361111074, 0.6958435169132503,
    0.7406572668520808, 0.7830081747813241, 0.8229176659201515, 0.860411030519056,
    0.8955175502377805, 0.9282708263127953, 0.9587089334522034, 0.9868747821728363,
    1.012816579961883, 1.036587736679858, 1.058246826481355, 1.077857811433353,
    1.095490222005369, 1.111219164294898, 1.125125269286501, 1.137294526609229,
    1.147818025153607, 1.156792132004482, 1.164318845130183, 1.170505992596124,
    1.17546742429955, 1.179323003228859, 1.182198586299667, 1.184226111223146,
    1.185543909805575, 1.186297084203716, 1.186637618908127, 1.186724615113034,
])
# fmt: on

PROBLEM = Problem(
    name="beam",
    title="elastic beam",
    source="Mazzia & Magherini, Test Set for IVP Solvers, release 2.4 (2008), beam; Hairer & Wanner 1996",
    t0=0.0,
    t_end=5.0,
    x0=np.zeros(2 * N),
    equations=equations,
    jacobian=jacobian,
    reference=REFERENCE,
    reference_digits=9.8,
    atol_scale=np.array([0.1] * N + [1.0] * N),
    names=[f"{kind}[{i}]" for kind in ("z", "w") for i in range(1, N + 1)],
    c_file=Path(__file__).with_suffix(".c"),
)
