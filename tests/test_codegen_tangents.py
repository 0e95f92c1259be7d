"""Derivatives along a direction: f, all variables, relations and outputs, by states, inputs and parameters."""

from __future__ import annotations

import numpy as np
import pytest
from support_modelica import model_of, numeric

from pliant.solve.binding import runtime
from pliant.solve.run.operating import Point

BODIES = {
    "explicit": """  parameter Real a = 2, b = 0.5;
  input Real v(start = 0.3);
  Real x(start = 1), y(start = 0.5), z;
  output Real w = z*a + v;
equation
  der(x) = -a*x*z + v^2; der(y) = if x > 0.2 then b*x - y else sin(a*time); z = exp(-b*y) + time*x;""",
    "no states": """  parameter Real a = 2, b = 0.5;
  input Real v(start = 0.3);
  Real z = a*v + time;
  output Real w = z*b;
equation
""",
    "linear loop": """  parameter Real a = 2, b = 0.5;
  Real x(start = 1), p, q, r;
equation
  der(x) = -p; p + a*q = x; q - b*p*a + r = sin(x); r + p = b*q + time;""",
    "nonlinear loop": """  parameter Real a = 2, b = 0.5;
  input Real v(start = 0.3);
  Real x(start = 1), p(start = 0.4), q(start = 0.2);
  output Real w = p*q;
equation
  der(x) = -p*q + v; p + a*q^3 = x; q + b*sin(p) = v*x;""",
}


@pytest.mark.parametrize("form", ["ode", "dae"])
@pytest.mark.parametrize("name", BODIES)
def test_tangents_are_derivatives(name: str, form: str) -> None:
    """Against central differences of the functions themselves, parameters set anew."""
    model = numeric(model_of(BODIES[name], form=form)).with_tangents()
    t, struct = 0.3, model.struct
    point = Point(model, t, {}, {}, {})
    instance, x, u = point.sim.instance, point.x.copy(), point.sim.u.copy()
    p = model.p_start.copy()
    n, n_u = model.n_x, len(model.names.u)

    def look() -> dict[int, np.ndarray]:
        runtime.PARAMETER_CALL(struct.set_parameters)(instance.address, p.ctypes.data)
        f, y = np.empty(n), np.empty(max(struct.n_y, 1))
        at = (instance.address, t, x.ctypes.data, u.ctypes.data)
        assert runtime.POINT_CALL(struct.rhs)(*at, f.ctypes.data) == runtime.OK
        if struct.n_y:
            assert runtime.OUTPUT_CALL(struct.outputs)(*at, struct.n_y, None, y.ctypes.data) == runtime.OK
        found = {runtime.OF_RHS: f, runtime.OF_OUTPUTS: y[: struct.n_y]}
        if struct.n_roots:
            g = np.empty(struct.n_roots)
            assert runtime.POINT_CALL(struct.roots)(*at, g.ctypes.data) == runtime.OK
            found[runtime.OF_ROOTS] = g
        if struct.n_interface:
            found[runtime.OF_INTERFACE] = np.array([y[model.names.y.index("w")]])
        return found

    for column in range(n + n_u + len(p)):
        vector, k = (x, column) if column < n else (u, column - n) if column < n + n_u else (p, column - n - n_u)
        at, h = vector[k], 1e-6 * max(1.0, abs(vector[k]))
        vector[k] = at + h
        high = look()
        vector[k] = at - h
        low = look()
        vector[k] = at
        look()
        for of, value in high.items():
            if of == runtime.OF_INTERFACE and column >= n + n_u:
                continue
            found = model.tangent(instance, of, t, (x, u), column)
            assert found is not None
            assert found == pytest.approx((value - low[of]) / (2 * h), abs=2e-7, rel=2e-7), (of, column)


def test_parameters_only_where_they_were_asked_for() -> None:
    model = numeric(model_of(BODIES["explicit"]))
    assert not model.struct.tangents & (runtime.BY_PARAMETERS | runtime.OF_OUTPUTS)
    point = Point(model, 0.3, {}, {}, {})
    assert model.tangent(point.sim.instance, runtime.OF_RHS, 0.3, (point.x, point.sim.u), model.n_x) is not None
    assert model.tangent(point.sim.instance, runtime.OF_RHS, 0.3, (point.x, point.sim.u), model.n_x + 1) is None
    assert model.tangent(point.sim.instance, runtime.OF_ROOTS, 0.3, (point.x, point.sim.u), 0) is None
