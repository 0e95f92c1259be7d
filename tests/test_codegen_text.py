"""The generated C as text: without warnings, without undefined behaviour, the same bytes every time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support_modelica import text_of
from support_tools import tool

import pliant
from pliant.codegen.emit import generate
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.structure.options import StructureOptions
from pliant.structure.pipeline import sort_system

ROOT = Path(__file__).parents[1]
INCLUDE = ROOT / "runtime" / "include"

# one body for everything that has its own C text
EVERYTHING = """  parameter Real p = 2, q = 3*p;
  input Real u(start = 1);
  output Real out;
  Real x(start = 1, fixed = true), y(start = 0.5), z, w, a, b, c, s, big, tiny;
  Real r(start = 1), k(start = 0.1), m1, 'odd "name" */ %s \\\\ '(start = 1);
initial equation
  der(r) = 0;
equation
  der(x) = -y + (if x < 0.5 then 1 else u) + noEvent(if z > 0 then atan2(x, 2 + z) else min(x, z));
  y + 0.1*y^3 + x^1.7 = p + sin(z);
  z + 2*w - a = u; w - 3*z + b = x; a + b + z = q*time; b - a + c = w*x; c + a*u = 1;
  der(r) = homotopy(1 - r*x, 1 - r); k = max(x, y)^(-3) + tan(x)*sinh(y)*acos(x/9)*log10(2 + x^2);
  s = sign(x) + abs(y); big = 1e300*x; tiny = 1e-300*x; m1 = -x; out = x*u + s;
  'odd "name" */ %s \\\\ '^3 + 'odd "name" */ %s \\\\ ' = 2;"""

PENDULUM = """  Real x(start = 0.6, fixed = true), y(start = -0.8), vx(start = 0, fixed = true), vy, F;
equation
  der(x) = vx; der(y) = vy; der(vx) = -F*x; der(vy) = -F*y - 9.81; x^2 + y^2 = 1;"""

SPARSE = """  parameter Integer n = 12;
  Real x(start = 1, fixed = true), y[n];
equation
  der(x) = -y[1];
  for i in 2:n loop
    y[i] - 0.3*y[i - 1] - 0.1*sin(y[n + 1 - i]) = x;
  end for;
  y[1] - 0.3*y[n] = x;"""

BODIES = {
    "everything": (EVERYTHING, {}),
    "everything as dae": (EVERYTHING, {"form": "dae"}),
    "pendulum": (PENDULUM, {}),
    "sparse loop": (SPARSE, {"largest_torn": 5}),
    "torn loop": (SPARSE, {}),
    "constants": ("  Real x, y;\nequation\n  x = 3;\n  y = -x;", {}),
    "algebraic": ("  Real x(start = 1);\nequation\n  x^3 + x = time;", {}),
}


def c_text(name: str) -> str:
    body, options = BODIES[name]
    chosen = StructureOptions(**options)  # type: ignore[arg-type]
    system = scalarize(read(text_of(body), None, []), fold_parameters=chosen.fold_parameters)
    return generate(sort_system(system, chosen), chosen.form).text


def compile_with(compiler: str, name: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    source = folder / f"{name.replace(' ', '_')}_{compiler}.c"
    source.write_text(c_text(name))
    command = [compiler, *flags, f"-I{INCLUDE}", str(source), "-o", str(source.with_suffix(".out"))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_no_warnings(compiler: str, tmp_path: Path) -> None:
    tool(compiler)
    flags = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-Wno-float-conversion")
    with ThreadPoolExecutor(2) as pool:
        runs = pool.map(lambda name: compile_with(compiler, name, tmp_path, *flags, "-Werror", "-fPIC", "-c"), BODIES)
    for name, done in zip(BODIES, runs, strict=True):
        assert done.returncode == 0, f"{name}: {done.stderr[:2000]}"


@pytest.mark.parametrize("name", BODIES)
def test_the_model_is_all_that_is_exported(name: str) -> None:
    text = c_text(name)
    assert text.count("PL_EXPORT") == 1
    assert "PL_EXPORT const pl_model pliant_model" in text


DRIVER = r"""
#include <stdio.h>
#include <stdlib.h>

/* every function of the model at points around the start, with memory of exactly the promised size */
int main(void) {
    const pl_model *m = &pliant_model;
    void *self = malloc(m->memory_size);
    size_t n = (size_t)m->n_x, n_u = (size_t)m->n_u, n_y = (size_t)m->n_y, n_g = (size_t)m->n_roots;
    pl_real *x = malloc(n * sizeof *x), *f = malloc(n * sizeof *f), *dx = malloc(n * sizeof *dx);
    pl_real *u = malloc(n_u * sizeof *u), *du = malloc(n_u * sizeof *du), *y = malloc(n_y * sizeof *y);
    pl_real *g = malloc(n_g * sizeof *g);
    int8_t *fired = calloc(n_g ? n_g : 1, 1);
    int n_jac = m->jac.start ? m->jac.start[n] : (int)(n * n), n_jac_u = m->jac_u.start ? m->jac_u.start[n_u] : 0;
    pl_real *j = malloc((size_t)n_jac * sizeof *j), *ju = malloc((size_t)n_jac_u * sizeof *ju);
    pl_event_info info = {0};
    double sum = 0.0;
    int good = 0, request;
    if (m->open && m->open(self) != PL_OK) return 1;
    m->initial->start(self, x);
#ifdef N_CANDIDATES
    int8_t state[N_CANDIDATES] = {1};
    m->initial->choose(self, 0, state, 0.0, x, u);
    x[0] = 0.3;
#endif
    for (size_t i = 0; i < n_u; i++) u[i] = m->u_start ? m->u_start[i] : 0.5, du[i] = 1.0;
    for (int k = 0; k < 40; k++) {
        for (size_t i = 0; i < n; i++) dx[i] = 1.0, x[i] += 0.01 * (double)((k * 7 + (int)i * 3) % 5 - 2);
        double t = 0.1 * k;
        if (m->initialise) m->initialise(self, t, x, u, &info);
        if (m->rhs(self, t, x, u, f) == PL_OK) good++;
        if (m->jac_value) m->jac_value(self, t, x, u, j);
        if (m->jac_u_value) m->jac_u_value(self, t, x, u, ju);
        if (m->jvp) m->jvp(self, t, x, u, 1.0, dx, du, f), m->jvp(self, t, x, u, 1.0, NULL, NULL, f);
        if (m->outputs) m->outputs(self, t, x, u, m->n_y, NULL, y);
        if (m->roots) m->roots(self, t, x, u, g);
        for (size_t i = 0; i < n_g; i++) fired[i] = (int8_t)(k % 3 - 1);
        if (m->event) m->event(self, t, x, u, k % 2 ? fired : NULL, &info);
        if (m->step_done) m->step_done(self, t, x, u, &request);
        for (size_t i = 0; i < n; i++) sum += f[i];
        if (m->error) sum += m->error(self)[0];
    }
    printf("%d %g\n", good, sum);
    free(self), free(x), free(f), free(dx), free(u), free(du), free(y), free(g), free(fired), free(j), free(ju);
    return good ? 0 : 2;
}
"""


def test_no_undefined_behaviour(tmp_path: Path) -> None:
    """Address and undefined-behaviour sanitizers over every function of several models."""
    if not shutil.which("gcc"):
        pytest.skip("no gcc")
    flags = ["-std=c99", "-O1", "-g0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]

    def run(name: str) -> tuple[str, subprocess.CompletedProcess[str]]:
        source = tmp_path / f"{name.replace(' ', '_')}.c"
        source.write_text(c_text(name) + DRIVER)
        out = source.with_suffix(".out")
        sets = ["-DN_CANDIDATES=2"] if name == "pendulum" else []
        command = ["gcc", *flags, *sets, f"-I{INCLUDE}", str(source), "-o", str(out), "-lm"]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            return name, built
        return name, subprocess.run([str(out)], capture_output=True, text=True, check=False)

    probe = tmp_path / "probe.c"
    probe.write_text("int main(void) { return 0; }")
    if subprocess.run(["gcc", *flags, str(probe), "-o", str(tmp_path / "probe")], check=False).returncode:
        pytest.skip("no sanitizers")
    with ThreadPoolExecutor(2) as pool:
        for name, done in pool.map(run, ["everything", "everything as dae", "pendulum", "sparse loop"]):
            assert done.returncode == 0, f"{name}: {done.stderr[:3000]}"


def test_same_bytes_whatever_the_hash_seed() -> None:
    """No order of a set or dictionary by hash reaches the text."""
    script = (
        "import hashlib, test_codegen_text as t\n"
        "for name in t.BODIES: print(name, hashlib.sha256(t.c_text(name).encode()).hexdigest())"
    )
    outputs = []
    for seed in ("0", "4711"):
        env = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([*sys.path, str(ROOT / "tests")])}
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0].splitlines()) == len(BODIES)


def test_text_tells_where_equations_come_from() -> None:
    code = pliant.load(text_of(BODIES["pendulum"][0])).code
    assert "/* M: written by pliant" in code
    assert "model.mo:" in code
    assert str(Path.home()) not in code  # no places of this machine


def test_odd_names_survive() -> None:
    model = pliant.load(text_of(EVERYTHING))
    result = model.simulate(stop=0.1, inputs={"u": 1})
    (odd,) = [name for name in model.variables if name.startswith("'odd")]
    assert result[odd] == pytest.approx(result[odd][0])
    assert result[odd][0] == pytest.approx(1.0)
