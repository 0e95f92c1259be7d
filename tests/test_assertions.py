"""When assertions are looked at: at the start, after every step, and at the events of when-clauses."""

from __future__ import annotations

import pytest

import pliant

TEXT = """
model M
  Real x(start = 0, fixed = true);
  Real s = sin(time);
equation
  der(x) = cos(time);
  {0}
end M;
"""


@pytest.mark.parametrize("form", ["ode", "dae"])
@pytest.mark.parametrize("condition", ["time > 0", "x > 1e-9", "s + x > 1e-9"])
def test_violated_at_the_start_only(condition: str, form: str) -> None:
    model = pliant.load(TEXT.format(f'assert({condition}, "too early");'), options={"form": form})
    with pytest.raises(pliant.InitialValueError, match="at the start, t = 0: assertion failed: too early") as caught:
        model.simulate(stop=1)
    assert caught.value.span is not None
    assert caught.value.span.line == 7
    assert model.simulate(start=0.5, stop=1, start_values={"x": 0.1}).complete


def test_warnings_do_not_count() -> None:
    text = TEXT.format('assert(time > 0, "too early", AssertionLevel.warning);')
    assert pliant.load(text).simulate(stop=1).complete


def test_found_by_an_event_wherever_it_is() -> None:
    text = TEXT.format('when s > 0.9999999 then assert(false, "too high"); end when;')
    with pytest.raises(pliant.ModelEvaluationError, match="assertion failed: too high") as caught:
        pliant.load(text).simulate(stop=3)
    assert caught.value.time == pytest.approx(1.570349, abs=1e-6)
