"""The test problems themselves: Jacobians, C twins and reference values are right."""

from __future__ import annotations

import cmath
import ctypes
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from problems import Array, Problem, all_problems, problem
from problems.chemakzo import KS
from problems.exact import ExactProblem, all_exact
from problems.heat2d import make
from scipy.integrate import solve_ivp

from pliant.solve.binding import runtime

INCLUDE = Path(__file__).parents[1] / "runtime" / "include"
NAMES = [p.name for p in all_problems()]
EXACT = [p.name for p in all_exact()]
FLAGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-ffp-contract=off", "-fPIC", "-shared"]

# reads a pl_model through C, so that this test does not depend on the layout of the struct
SHIM = """
#include TWIN
static double memory[64];
static void expand(const pl_pattern *a, const double *value, double *dense) {
    for (int j = 0; j < a->n_cols; j++)
        for (int k = a->start[j]; k < a->start[j + 1]; k++) dense[j * a->n_rows + a->row[k]] = value[k];
}
int twin_open(int *sizes, double *start) {
    const pl_model *m = &pliant_model;
    sizes[0] = m->n_x;
    sizes[1] = m->jac.start ? m->jac.start[m->n_x] : m->n_x * m->n_x;
    for (int i = 0; i < m->n_x; i++) start[i] = m->x_start[i];
    if (m->memory_size > sizeof memory) return PL_MEMORY;
    return m->open ? m->open(memory) : PL_OK;
}
const char *twin_name(int i) { return i < 0 ? pliant_model.name : pliant_model.x_name[i]; }
int twin_set(const double *p) { return pliant_model.set_parameters(memory, p); }
int twin_rhs(double t, const double *x, double *f) { return pliant_model.rhs(memory, t, x, NULL, f); }
int twin_jac(double t, const double *x, double *value, double *dense) {
    const int status = pliant_model.jac_value(memory, t, x, NULL, pliant_model.jac.start ? value : dense);
    if (pliant_model.jac.start) expand(&pliant_model.jac, value, dense);
    return status;
}
int twin_pattern(double *dense) {
    static double one[1 << 20];
    for (int i = 0; i < 1 << 20; i++) one[i] = 1.0;
    if (!pliant_model.jac.start) return 0;
    expand(&pliant_model.jac, one, dense);
    return 1;
}
int twin_mass(double *dense) {
    if (!pliant_model.mass.start) return 0;
    expand(&pliant_model.mass, pliant_model.mass_value, dense);
    return 1;
}
"""


class Twin:
    """A compiled C problem."""

    def __init__(self, c_file: Path, n: int, folder: Path, *defines: str) -> None:
        shim, library = folder / f"{c_file.stem}_shim.c", folder / f"{c_file.stem}.so"
        shim.write_text(SHIM)
        twin = f'-DTWIN="{c_file}"'
        command = [os.environ.get("CC", "cc"), *FLAGS, f"-I{INCLUDE}", twin, *defines, str(shim)]
        subprocess.run([*command, "-o", str(library), "-lm"], check=True)
        self.library = ctypes.CDLL(str(library))
        self.library.twin_name.restype = ctypes.c_char_p
        sizes, self.x_start = (ctypes.c_int * 2)(), np.empty(n)
        assert self.call("twin_open", sizes, self.x_start) == 0
        self.n, self.n_jac = sizes
        assert self.n == n

    def call(self, function: str, *arguments: Any) -> int:
        convert = (
            ctypes.c_double(a)
            if isinstance(a, float)
            else a.ctypes.data_as(ctypes.c_void_p)
            if isinstance(a, np.ndarray)
            else a
            for a in arguments
        )
        return int(getattr(self.library, function)(*convert))

    def f(self, t: float, x: Array) -> Array:
        result = np.empty(self.n)
        assert self.call("twin_rhs", t, x, result) == 0
        return result

    def jacobian(self, t: float, x: Array) -> Array:
        dense = np.zeros((self.n, self.n))
        assert self.call("twin_jac", t, x, np.empty(self.n_jac), dense) == 0
        return dense.T

    def matrix(self, function: str) -> Array | None:
        dense = np.zeros((self.n, self.n))
        return dense.T if self.call(function, dense) else None


def times(p: Problem) -> list[float]:
    return [p.t0 + share * (p.t_end - p.t0) for share in (0.0, 0.3, 0.7)]


def assert_close(a: Array, b: Array, tolerance: float) -> None:
    """Relative to the largest entry of each row (of a vector: to the entry, and a little to the largest)."""
    if a.ndim == 2:
        scale = np.max(np.abs(b), axis=1, keepdims=True) + np.abs(b)
    else:
        scale = np.abs(b) + 1e-3 * np.max(np.abs(b))
    assert np.all(np.abs(a - b) <= tolerance * scale), np.max(np.abs(a - b) / np.where(scale, scale, 1.0))


@pytest.mark.parametrize("name", NAMES)
def test_twin_agrees(name: str, tmp_path: Path) -> None:
    p = problem(name)
    assert p.c_file
    twin = Twin(p.c_file, p.n, tmp_path)
    assert ctypes.c_int.in_dll(twin.library, "pliant_model").value == runtime.PL_ABI  # exported as data
    assert twin.library.twin_name(-1).decode() == name
    assert [twin.library.twin_name(i).decode() for i in range(p.n)] == list(p.names)
    np.testing.assert_allclose(twin.x_start, p.x0, rtol=1e-15)
    rows = np.eye(p.n) if p.twin_rows is None else p.twin_rows
    for t in times(p):
        for x in p.points(5):
            assert_close(twin.f(t, x), rows @ p.f(t, x), 1e-13)
            assert_close(twin.jacobian(t, x), rows @ p.jacobian(t, x), 1e-13)
    pattern = twin.matrix("twin_pattern")
    if pattern is not None:
        np.testing.assert_array_equal(pattern != 0.0, rows @ p.pattern() != 0.0)
    mass = twin.matrix("twin_mass")
    if p.mass is None:
        assert mass is None
    else:
        assert mass is not None
        np.testing.assert_array_equal(mass, rows @ p.mass)
        assert np.count_nonzero(mass.any(axis=1)) == np.linalg.matrix_rank(p.mass, tol=1e-9)  # rest empty


def test_twin_parameter_and_refusal(tmp_path: Path) -> None:
    stiff, akzo = problem("vdpol_stiff"), problem("chemakzo")
    assert stiff.c_file
    assert akzo.c_file
    twin = Twin(stiff.c_file, 2, tmp_path)
    assert twin.call("twin_set", np.array([10.0])) == 0
    np.testing.assert_allclose(twin.f(0.0, np.array([1.0, 0.0])), [10.0 * 2.0 / 3.0, 0.1], rtol=1e-14)
    twin = Twin(akzo.c_file, 6, tmp_path)
    assert twin.call("twin_rhs", 0.0, -np.ones(6), np.empty(6)) == -1  # PL_RETRY
    assert np.isnan(akzo.f(0.0, -np.ones(6))).all()


def test_twin_heat2d(tmp_path: Path) -> None:
    heat = make(7)
    twin = Twin(heat.c_file, heat.n, tmp_path, "-DHEAT_M=7")
    np.testing.assert_allclose(twin.x_start, heat.x0, rtol=1e-14, atol=1e-15)
    x = np.random.default_rng(3).standard_normal(heat.n)
    assert_close(twin.f(0.3, x), heat.f(0.3, x), 1e-13)
    np.testing.assert_allclose(twin.jacobian(0.3, x), heat.jacobian(0.3, x).toarray(), rtol=1e-14)
    np.testing.assert_array_equal(twin.matrix("twin_pattern") != 0.0, heat.pattern().toarray())


@pytest.mark.parametrize("name", NAMES + EXACT)
def test_jacobian_by_complex_step(name: str) -> None:
    p = problem(name)
    functions = SimpleNamespace(**vars(cmath), fabs=lambda z: z if z.real >= 0.0 else -z)
    for t, x in zip(times(p), p.points(3), strict=True):
        columns = []
        for k in range(p.n):
            z = x.astype(complex)
            z[k] += 1e-40j
            columns.append([complex(f).imag / 1e-40 for f in p.equations(complex(t), z.tolist(), functions)])
        assert_close(p.jacobian(t, x), np.array(columns).T, 1e-12)


@pytest.mark.parametrize("name", NAMES + EXACT)
def test_equations_with_casadi(name: str) -> None:
    casadi = pytest.importorskip("casadi")
    p = problem(name)
    t, x = casadi.SX.sym("t"), casadi.SX.sym("x", p.n)
    f = casadi.vertcat(*p.equations(t, x, casadi))
    jacobian = casadi.jacobian(f, x)
    evaluate = casadi.Function("evaluate", [t, x], [f, jacobian])
    for at, point in zip(times(p), p.points(3), strict=True):
        f_value, j_value = evaluate(at, point)
        assert_close(np.asarray(f_value.full()).ravel(), p.f(at, point), 1e-12)
        assert_close(p.jacobian(at, point), np.asarray(j_value.full()), 1e-12)
    structure = casadi.DM(jacobian.sparsity(), 1.0).full() != 0.0
    np.testing.assert_array_equal(p.pattern(), structure)


# method, rtol, and the digits to reach: as many as the cost allows, less than reference_digits
RUNS = {
    "hires": ("Radau", 1e-10, 11.0),
    "pollution": ("Radau", 1e-10, 11.0),
    "pleiades": ("DOP853", 1e-13, 9.5),
    "vdpol_mu1000": ("Radau", 1e-9, 11.0),
    "orego": ("Radau", 1e-8, 9.0),
    "rober": ("Radau", 1e-9, 11.0),
    "vdpol_eps1e-3": ("Radau", 1e-9, 9.4),
    "vdpol_mild": ("DOP853", 1e-13, 11.0),
    "vdpol_stiff": ("Radau", 1e-9, 9.0),
}


@pytest.mark.parametrize("name", RUNS)
def test_reference_by_scipy(name: str) -> None:
    p, (method, rtol, digits) = problem(name), RUNS[name]
    assert digits <= p.reference_digits
    options: dict[str, Any] = {"jac": p.jacobian} if p.stiff else {}
    span = (p.t0, p.t_end)
    run = solve_ivp(p.f, span, p.x0, method=method, rtol=rtol, atol=rtol * p.atol_scale, **options)
    assert run.success
    assert p.scd(run.y[:, -1]) >= digits


def test_reference_chemakzo_reduced() -> None:
    """The algebraic unknown inserted: y6 = Ks y1 y4."""
    p = problem("chemakzo")

    def whole(y: Array) -> Array:
        return np.append(y, KS * y[0] * y[3])

    atol = 1e-10 * p.atol_scale[:5]
    run = solve_ivp(lambda t, y: p.f(t, whole(y))[:5], (0.0, p.t_end), p.x0[:5], "Radau", rtol=1e-10, atol=atol)
    assert p.scd(whole(run.y[:, -1])) >= 10.0


@pytest.mark.parametrize("name", ["transamp", "chemakzo"])
def test_dae_ends_are_consistent(name: str) -> None:
    p = problem(name)
    assert p.mass is not None
    rows = np.eye(p.n) if p.twin_rows is None else p.twin_rows
    algebraic = ~(rows @ p.mass).any(axis=1)
    for t, x in ((p.t0, p.x0), (p.t_end, p.reference)):
        size = np.abs(rows) @ np.abs(p.f(t, x)) + np.abs(rows @ p.jacobian(t, x)) @ np.abs(x)
        assert np.all(np.abs(rows @ p.f(t, x))[algebraic] <= 1e-11 * size[algebraic])


@pytest.mark.parametrize("p", [*all_exact(), make(5)], ids=lambda p: p.name)
def test_closed_solution_solves(p: ExactProblem) -> None:
    """L x' = f along the closed solution, x' by differences of order 4."""
    events = np.array([*getattr(p, "event_times", ())])
    for t in np.linspace(p.t0, p.t_end, 8)[1:-1]:
        h = 1e-4 * min(1.0, 1.0 / (1.0 + abs(np.max(np.abs(p.jacobian(t, p.exact(t)))))) ** 0.5)
        if np.any(np.abs(events - t) < 3 * h):
            continue
        slope = (8 * (p.exact(t + h) - p.exact(t - h)) - (p.exact(t + 2 * h) - p.exact(t - 2 * h))) / (12 * h)
        left = slope if p.mass is None else p.mass @ slope
        np.testing.assert_allclose(left, p.f(t, p.exact(t)), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", ["oscillator", "bouncing_ball"])
def test_event_times_are_roots(name: str) -> None:
    p = problem(name)
    assert isinstance(p, ExactProblem)
    assert p.roots
    assert len(p.event_times) == len(p.event_directions) > 3
    for t, direction in zip(p.event_times, p.event_directions, strict=True):
        before = p.exact(t - 1e-9)
        assert abs(p.roots(t, before)[0]) < 1e-7
        assert np.sign(before[1]) == direction
        if p.reset:
            np.testing.assert_allclose(p.reset(t, before), p.exact(t), rtol=1e-6, atol=1e-6)
