"""Address, undefined-behaviour and thread sanitizers over what Python and C do together.

The C tests of the runtime run under sanitizers by themselves (test_runtime_c.py), functions of generated models in a C
program (test_codegen_text.py). Here it is the whole way: callbacks of Python as a pl_model through the host's shim,
generated models within the runtime, couplings whose parts step in threads.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support_sanitizers import run_sanitized

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="platform: preloaded sanitizers of gcc")

CALLBACKS = """
    import numpy as np
    import scipy.sparse as sp

    def f(t, x):
        return [-0.04 * x[0] + 1e4 * x[1] * x[2], 0.04 * x[0] - 1e4 * x[1] * x[2] - 3e7 * x[1] ** 2, sum(x) - 1.0]

    def jac(t, x):
        return [[-0.04, 1e4 * x[2], 1e4 * x[1]], [0.04, -1e4 * x[2] - 6e7 * x[1], -1e4 * x[1]], [1.0, 1.0, 1.0]]

    mass = np.diag([1.0, 1.0, 0.0])
    full = np.ones((3, 3))
    for given, pattern in ((None, None), (jac, None), (lambda t, x: sp.csc_array(np.array(jac(t, x))), full)):
        robertson = pliant.ode(f, [1.0, 0.0, 0.0], jac=given, mass=mass, pattern=pattern)
        for method in ("bdf", "radau5"):
            assert abs(robertson.simulate(stop=0.4, method=method, rtol=1e-6).final["x[0]"] - 0.98517) < 1e-4

    n = 40
    def heat(t, x):
        y = -2.0 * x
        y[1:] += x[:-1]
        y[:-1] += x[1:]
        return 50.0 * y

    pattern = sp.diags_array([np.ones(n - 1), np.ones(n), np.ones(n - 1)], offsets=[-1, 0, 1])
    for chosen in (pattern, "detect", None):
        pliant.ode(heat, np.linspace(0.0, 1.0, n), pattern=chosen).simulate(stop=0.1)

    bounce = pliant.Root(lambda t, x: x[0], direction=-1, update=lambda t, x: [0.0, -0.8 * x[1]])
    ball = pliant.ode(lambda t, x: [x[1], -9.81], [1.0, 0.0], roots=[bounce, lambda t, x: x[1]])
    for method, step in (("bdf", None), ("radau5", None), ("dopri5", None), ("rk4", 1e-2), ("lieuler", 1e-2)):
        events = ball.simulate(stop=1.5, method=method, step=step).events
        assert events or step, method

    calls = 0
    def fails(t, x):
        global calls
        calls += 1
        if calls > 30:
            raise RuntimeError("from inside")
        return [-x[0]]

    try:
        pliant.ode(fails, [1.0]).simulate(stop=100.0, rtol=1e-9)
    except RuntimeError as error:
        assert "from inside" in str(error)
    else:
        raise AssertionError("the exception was lost")
    for bad in (lambda t, x: [float("nan")], lambda t, x: [1.0, 2.0], lambda t, x: "text"):
        try:
            pliant.ode(bad, [1.0]).simulate(stop=1.0)
        except (pliant.PliantError, ValueError, TypeError):
            continue
        raise AssertionError("accepted")
    """

GENERATED = """
    hybrid = pliant.load('''
    model Hybrid
      parameter Real k = 3;
      input Real u;
      Real x(start = 1, fixed = true), v(start = 0, fixed = true), a, b, c;
      discrete Real held(start = 0, fixed = true);
      Boolean above;
      Integer count(start = 0, fixed = true);
      parameter Real table[4] = {1, 4, 9, 16};
    equation
      der(x) = v;
      der(v) = -k * x - 0.1 * v + u + b;
      a + b = sin(x) + held;
      a - b ^ 3 = c;
      c = if above then table[2] * x else -x;
      above = x > 0.3;
      when sample(0.1, 0.1) then
        held = 0.1 * x;
        count = pre(count) + 1;
      end when;
    end Hybrid;
    ''')
    for form in ("ode", "dae"):
        for method, step in (("bdf", None), ("radau5", None), ("dopri5", None), ("rk4", 1e-2), ("lieuler", 1e-2)):
            if form == "dae" and method in ("dopri5", "rk4"):
                continue
            inputs = {"u": ([0.0, 0.55, 1.0], [0.0, 1.0, 0.5])}
            result = hybrid.simulate(stop=1.0, method=method, step=step, inputs=inputs)
            assert result.final["count"] == 10, (method, result.final)
            assert result.events or step
    pendulum = pliant.load('''
    model Pendulum
      Real x(start = 0.6), y(start = -0.8), vx(start = 0), vy(start = 0), F;
    equation
      der(x) = vx;
      der(y) = vy;
      der(vx) = -x * F;
      der(vy) = -y * F - 9.81;
      x ^ 2 + y ^ 2 = 1;
    end Pendulum;
    ''')
    result = pendulum.simulate(stop=3.0)
    assert abs(result.final["x"] ** 2 + result.final["y"] ** 2 - 1.0) < 1e-4
    hybrid.linearize()
    plan = pliant.load('''
    model Chain
      Real x[6](each start = 1, each fixed = true);
    equation
      der(x[1]) = -2000 * x[1] + x[2];
      for i in 2:5 loop
        der(x[i]) = x[i - 1] - (2 + x[i] ^ 2) * x[i] + x[i + 1];
      end for;
      der(x[6]) = x[5] - x[6];
    end Chain;
    ''').realtime(step=1e-2, stop=0.5)
    assert len(plan.simulate(stop=0.5).time) > 10
    """

COUPLED = """
    def part(k):
        return pliant.load(f'''
        model Part{k}
          input Real u;
          output Real y;
          Real x(start = {k + 1}, fixed = true), z(start = 0, fixed = true);
        equation
          der(x) = -{50 + k} * (x - cos(z)) + u;
          der(z) = x + (if x > 0.5 then 0.1 else 0.2);
          y = x;
        end Part{k};
        ''')

    coupling = pliant.Coupling()
    models = [part(k % 2) for k in range(4)]  # two models, each simulated by two threads at once
    for k, one in enumerate(models):
        coupling.add(f"p{k}", one)
    for k in range(4):
        coupling.connect(f"p{k}.y", f"p{(k + 1) % 4}.u")
    threaded = coupling.simulate(stop=1.0, step=0.05, parallel=True)
    alone = coupling.simulate(stop=1.0, step=0.05, parallel=False)
    assert (threaded["p0.x"] == alone["p0.x"]).all()

    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda k: models[0].simulate(stop=1.0, inputs={"u": 0.1 * (k % 2)}), range(8)))
    assert all((one["x"] == runs[k % 2]["x"]).all() for k, one in enumerate(runs))
    function = pliant.ode(lambda t, x: [x[1], -x[0]], [1.0, 0.0])
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda k: function.simulate(stop=2.0), range(8)))
    assert all((one["x[0]"] == runs[0]["x[0]"]).all() for one in runs)
    """


@pytest.mark.parametrize(
    ("kind", "script"),
    [("address", CALLBACKS), ("address", GENERATED), ("address", COUPLED), ("thread", COUPLED)],
    ids=["callbacks", "generated", "coupled", "threads"],
)
def test_no_findings(kind: str, script: str, tmp_path: Path) -> None:
    done = run_sanitized(kind, script + "\n    print('all done')\n", tmp_path)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    assert "all done" in done.stdout


OUT_OF_BOUNDS = """
#include "pliant.h"
static pl_real table[3];
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)u;
    f[0] = -x[0] + table[t > 0.5 ? 3 : 0];
    return PL_OK;
}
static const pl_real start[] = {1.0};
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 1, .x_start = start, .rhs = rhs};
"""
RACE = """
#include "pliant.h"
static pl_real shared;
static pl_status rhs(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real *f) {
    (void)self, (void)t, (void)u;
    shared += 1.0;
    f[0] = -x[0] + 0.0 * shared;
    return PL_OK;
}
static const pl_real start[] = {1.0};
const pl_model pliant_model = {.abi = PL_ABI, .n_x = 1, .x_start = start, .rhs = rhs};
"""


@pytest.mark.parametrize(
    ("kind", "text", "finding"),
    [("address", OUT_OF_BOUNDS, r"global-buffer-overflow|out of bounds"), ("thread", RACE, r"data race")],
)
def test_the_sanitizers_find_what_is_wrong(kind: str, text: str, finding: str, tmp_path: Path) -> None:
    (tmp_path / "bad.c").write_text(text, encoding="utf-8")
    script = f"""
    from concurrent.futures import ThreadPoolExecutor
    model = pliant.native({str(tmp_path / "bad.c")!r})
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda k: model.simulate(stop=200.0, method="rk4", step=1e-3), range(2)))
    """
    done = run_sanitized(kind, script, tmp_path)
    assert done.returncode != 0
    assert any(word in done.stderr for word in finding.split("|")), done.stderr[-3000:]
