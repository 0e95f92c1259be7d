"""Parameters that are zero and decide with that about the structure: a resistance of 0 in series with a capacitor."""

import numpy as np
import pytest

import pliant

LADDER = """
model Ladder "voltage source, resistances in series with capacitors: R = 0 makes their voltages dependent"
  parameter Real R1 = {r1};
  parameter Real R2 = {r2};
  parameter Real half = R2/2;
  Real u = 2*sin(time), a(start = 0), b(start = 0), i, j;
equation
  R1*i = u - a;
  (half + half)*j = a - b;
  der(a) = i - j;
  der(b) = j;
end Ladder;
"""


def exact(r1: float, r2: float, t: np.ndarray) -> np.ndarray:
    """b, by SciPy."""
    from scipy.integrate import solve_ivp

    def f(t: float, y: np.ndarray) -> list[float]:
        a, b = y
        u = 2 * np.sin(t)
        if r1 == 0 and r2 == 0:
            return [0.0, 2 * np.cos(t)]
        if r1 == 0:
            return [0.0, (u - b) / r2]
        if r2 == 0:
            return [0.0, (u - b) / r1 / 2]
        return [(u - a) / r1 - (a - b) / r2, (a - b) / r2]

    return solve_ivp(f, (0, 3), [0.0, 0.0], t_eval=t, rtol=1e-9, atol=1e-11).y[1]


@pytest.mark.parametrize(("r1", "r2", "states"), [(1.0, 0.5, 2), (0.0, 0.5, 1), (0.7, 0.0, 1), (0.0, 0.0, 0)])
def test_zero_resistances(r1: float, r2: float, states: int) -> None:
    model = pliant.load(LADDER.format(r1=r1, r2=r2))
    assert model.structure.n_states == states
    result = model.simulate(stop=3, rtol=1e-8, points=31, progress=False)
    assert np.allclose(result["b"], exact(r1, r2, result.time), atol=1e-6)


def test_zeros_that_matter_are_numbers_and_say_why() -> None:
    model = pliant.load(LADDER.format(r1=0.0, r2=0.5))
    with pytest.raises(pliant.PliantError, match="zero"):
        model.simulate(stop=1, parameters={"R1": 1.0}, progress=False)
    assert model.simulate(stop=1, parameters={"R2": 1.0}, progress=False).time[-1] == 1.0


def test_zeros_that_do_not_matter_stay_parameters() -> None:
    text = "model D parameter Real d = 0; Real x(start = 1, fixed = true); equation der(x) = -d*x; end D;"
    result = pliant.load(text).simulate(stop=1, parameters={"d": 1.0}, progress=False)
    assert abs(result["x"][-1] - np.exp(-1)) < 1e-5


def test_what_is_singular_anyway_says_so_as_before() -> None:
    text = "model S parameter Real r = 0; Real x, y; equation x + y = 1; 2*x + 2*y + r*time = 2; end S;"
    with pytest.raises(pliant.SingularModelError, match="depend on each other"):
        pliant.load(text)


def test_ticks_at_endless_intervals() -> None:
    """Times of a clock are the same by rounding of the time, not by a share of 1e60 s."""
    text = """model T
      discrete Real a(start = 7, fixed = true), b(start = 8, fixed = true);
    equation
      when sample(2, 1e60) then a = time; end when;
      when sample(0, 1e60) then b = time; end when;
    end T;"""
    result = pliant.load(text).simulate(stop=4, points=[0.0, 1.0, 3.0, 4.0], progress=False)
    assert list(result["a"]) == [7.0, 7.0, 2.0, 2.0]
    assert list(result["b"]) == [0.0] * 4
