"""Loops that Newton's iteration does not solve from the guesses of the model."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pliant


def start_of(body: str) -> pliant.Result:
    return pliant.load(f"model M\n{body}\nend M;").simulate(stop=0.01, points=2)


def pipes(rng: np.random.Generator) -> tuple[str, np.ndarray]:
    """A network of pipes whose flows begin at zero, and the pressures from which its supplies were computed."""
    n = int(rng.integers(3, 8))
    edges = [(int(rng.integers(0, k)), k) for k in range(1, n)]
    edges += [tuple(map(int, rng.choice(n, 2, replace=False))) for _ in range(int(rng.integers(1, n)))]
    p, k = rng.uniform(1, 10, n), 10 ** rng.uniform(-1, 2, len(edges))
    drop = np.array([p[a] - p[b] for a, b in edges])
    m = np.sign(drop) * np.sqrt(np.abs(drop) / k)
    lines = [f"Real p[{n}], m[{len(edges)}];", "equation", f"p[1] = {p[0]:.17g};"]
    for e, (a, b) in enumerate(edges):
        lines.append(f"p[{a + 1}] - p[{b + 1}] = {k[e]:.17g}*m[{e + 1}]*abs(m[{e + 1}]);")
    for i in range(1, n):
        into = [(e, 1 if b == i else -1) for e, (a, b) in enumerate(edges) if i in (a, b)]
        supply = -sum(sign * m[e] for e, sign in into)
        lines.append(f"0 = {supply:.17g}" + "".join(f" {'+' if s > 0 else '-'} m[{e + 1}]" for e, s in into) + ";")
    return "\n".join(lines), p


@pytest.mark.parametrize("seed", range(12))
def test_pipes_from_flow_zero(seed: int) -> None:
    """The derivative of m |m| is zero at the guess: no step says where to go."""
    text, p = pipes(np.random.default_rng(seed))
    result = start_of(text)
    found = [result[f"p[{i + 1}]"][0] for i in range(len(p))]
    np.testing.assert_allclose(found, p, rtol=1e-7)


def test_a_guess_without_a_derivative_is_no_solution() -> None:
    """A rectifier feeds R from 10 V behind 1 Ohm: zero satisfies the balance of powers, but nothing follows it."""
    result = start_of("""
      parameter Real R = 4;
      Real re, im, i_re, i_im, v, i;
    equation
      10 - re = i_re;  -im = i_im;
      v = sqrt(re^2 + im^2);  v = R*i;
      v*i = re*i_re + im*i_im;
      0 = im*i_re - re*i_im;
    """)
    assert abs(result["v"][0] - 8.0) < 1e-8


def test_directions_of_flow_follow_from_the_guesses() -> None:
    """With both relations false the energy balance has no solution."""
    result = start_of("""
      parameter Real h_in = 5 "Supplied with the flow";
      Real p(start = 7), m, h(start = 1), left, right, level[13];
    equation
      for k in 1:13 loop level[k] = if m < -k then h else 0; end for;
      m = (p - 1)*2;
      p = 4 - 0.5*m*abs(m);
      left = if m > 0 then h_in else h;
      right = if -m > 0 then h_in - 1 else h;
      m*(right - left) = 3;
    """)
    m = result["m"][0]
    assert m > 0
    assert abs(m * (result["h"][0] - 5) - 3) < 1e-8
    assert abs(4 - 0.5 * m * m - 1 - m / 2) < 1e-9


def test_exponentials_far_from_the_guess() -> None:
    """Two diodes in opposite directions: seen from 0 one of their currents is beyond all numbers."""
    result = start_of("""
      Real v, w, i;
    equation
      i = 1e-12*(exp(v/0.02) - exp(-v/0.02));
      w = 30 - 2*i;
      w = v + 10*i^3;
    """)
    v, i = result["v"][0], result["i"][0]
    assert abs(i - 2e-12 * math.sinh(v / 0.02)) < 1e-9
    assert abs(30 - 2 * i - v - 10 * i**3) < 1e-8


def test_no_solution_is_still_an_error() -> None:
    with pytest.raises(pliant.InitialValueError, match="equation for z"):
        start_of("Real z;\nequation\nz^2 = -1 - time;")


def test_an_event_may_lead_far_away() -> None:
    """The valve opens where the flow is zero, and the derivative of m |m| with it."""
    model = pliant.load("""
    model M
      Real m, p, x(start = 0, fixed = true);
    equation
      der(x) = m;
      if time < 1 then m = 0; else p = 3*m*abs(m) + 0.1*x; end if;
      p = 4 - m^2;
    end M;
    """)
    result = model.simulate(stop=1.5, rtol=1e-8)
    m, x = result.final["m"], result.final["x"]
    assert abs(4 * m * m + 0.1 * x - 4) < 1e-9
    assert 0.49 < x < 0.5


def test_a_solution_that_an_assertion_forbids_is_not_taken() -> None:
    """Two states of rest: the nearer one is no temperature."""
    model = pliant.load("""
    model M
      Real T(start = 100);
    initial equation
      der(T) = 0;
    equation
      der(T) = (T - 300)*(T + 10)/1000;
      assert(T > 50, "too cold");
    end M;
    """)
    assert abs(model.simulate(stop=0.01).final["T"] - 300) < 1e-6
