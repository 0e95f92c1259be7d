"""Clocks in the front end of our own: partitions, inference of intervals, contradictions."""

import numpy as np
import pytest

import pliant
from pliant.frontend.flat import check_flat
from pliant.frontend.modelica.flatten.model import flatten


def load(body: str) -> pliant.Model:
    return pliant.load(f"model M\n{body}\nend M;\n", frontend="pliant")


def clocks(body: str) -> dict[str, tuple[float, float]]:
    """Interval and first tick by variable."""
    found = flatten(f"model M\n{body}\nend M;\n", "", [])
    assert check_flat(found) == []
    out = {}
    for one in found.variables:
        if one.clock >= 0:
            clock = found.clocks[one.clock]
            out[one.name] = (clock.interval[0] / clock.interval[1], clock.first[0] / clock.first[1])
    return out


def test_intervals_are_carried_over() -> None:
    found = clocks(
        "Real a, b, c, d, e, f; equation a = sample(time, Clock(1, 10)); b = subSample(a, 3); c = superSample(b, 2);\n"
        "d = shiftSample(a, 1, 2); e = backSample(d, 1, 2); f = previous(a) + 1;"
    )
    assert found["a"] == (0.1, 0.0)
    assert found["b"] == (pytest.approx(0.3), 0.0)
    assert found["c"] == (pytest.approx(0.15), 0.0)
    assert found["d"] == (0.1, 0.05)
    assert found["e"] == (0.1, 0.0)
    assert found["f"] == (0.1, 0.0)


def test_intervals_are_inferred_backwards() -> None:
    found = clocks("Real a, b; Clock c = Clock(0.2); equation a = sample(time); b = sample(time, c) + subSample(a, 2);")
    assert found == {"a": (0.1, 0.0), "b": (0.2, 0.0)}


def test_parameters_decide_about_clocks() -> None:
    body = (
        "parameter Boolean fast = true; parameter Integer n = 5; Real y; Clock c;\n"
        "equation if fast then c = Clock(n, 100); else c = Clock(1); end if; y = sample(time, c);"
    )
    assert clocks(body) == {"y": (0.05, 0.0)}
    assert {one.name for one in flatten(f"model M\n{body}\nend M;\n", "", []).variables if one.locked} >= {"fast", "n"}


def test_values_between_ticks() -> None:
    model = load(
        "Real x(start = 0, fixed = true), xs, u, k(start = 0), w;\n"
        "equation der(x) = 1; xs = sample(x, Clock(0.25)); k = previous(k) + 1 + 0*xs; u = hold(k);\n"
        "w = hold(interval(xs)*xs);"
    )
    found = model.simulate(1.0, points=[0.1, 0.3, 0.6, 0.9])
    np.testing.assert_allclose(found["xs"], [0.0, 0.25, 0.5, 0.75], atol=1e-9)
    np.testing.assert_allclose(found["u"], [1, 2, 3, 4])
    np.testing.assert_allclose(found["w"], 0.25 * found["xs"])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("Real y; equation y = sample(time, Clock(0.1)) + sample(time, Clock(0.3));", "contradict each other"),
        (
            "Real a, b; equation a = sample(time, Clock(0.1)); b = subSample(a, 2) + sample(time, Clock(0.1));",
            "contradict",
        ),
        ("Real y; equation y = sample(time);", "cannot be inferred"),
        ("Real y; equation y = sample(time, Clock(0));", "must be positive"),
        ("Real y; equation y = backSample(sample(time, Clock(0.1)), 1);", "before the start"),
        ("Real y; equation y = sample(time, Clock(time > 0.5));", "is not supported"),
    ],
)
def test_what_is_wrong(body: str, words: str) -> None:
    with pytest.raises(pliant.ModelError, match=words) as caught:
        load(body)
    assert caught.value.hint
    assert caught.value.span is not None


def test_when_in_a_loop() -> None:
    result = load(
        "Boolean c[3]; discrete Real v[3](each start = 0, each fixed = true);\n"
        "equation for i in 1:3 loop c[i] = time > 0.2*i; when c[i] then v[i] = i; end when; end for;"
    ).simulate(1.0)
    assert [result[f"v[{i}]"][-1] for i in (1, 2, 3)] == [1.0, 2.0, 3.0]


def test_parameters_that_decide_about_unknowns_are_structural() -> None:
    text = (
        "parameter Real m = 0; Real T(start = 1), q; equation q = 1 - T;\n"
        "if m > 1e-9 then m*der(T) = q; else q = 0; end if;"
    )
    model = load(text)
    assert model.simulate(1.0)["T"][-1] == pytest.approx(1.0)
    with pytest.raises(pliant.PliantError, match="m"):
        model.simulate(1.0, parameters={"m": 1.0})
