"""Integers beyond the whole numbers that doubles hold exactly (Modelica specification 3.6, section 4.9.2)."""

from __future__ import annotations

import math

import pytest

import pliant

COUNT = "Integer i = integer(20*time);"
FACTORIAL = (
    "function fact input Integer n; output Integer r; algorithm r := 1; for i in 2:n loop r := r*i; end for; end fact;"
)
#: text, name, its value by the instant k of time k/20, and the first k at which it is too large
GROWS = {
    "sum": ("Integer n(start = 1, fixed = true); equation when sample(0.05, 0.05) then n = pre(n)*16; end when;", 14),
    "difference": ("Integer n(start = -1, fixed = true); equation when sample(0.05, 0.05) then"
                   " n = 15*pre(n) - (-pre(n)); end when;", 14),
    "algorithm": ("Integer n(start = 1, fixed = true);"
                  " algorithm when sample(0.05, 0.05) then n := n*16; end when;", 14),
    "clock": ("Integer n(start = 1); equation when Clock(1, 20) then n = previous(n)*16; end when;", 13),
    "product": (f"{COUNT} Integer n = i*i*i*i*i*i*i*i*i*i*i*i*i;", 17),
    "array": (f"{COUNT} Integer n[2] = {{i*i*i*i*i*i*i*i*i*i*i*i*i, 2*i}};", 17),
    "record": (f"record R Integer k; Real x; end R; {COUNT} R r(k = i*i*i*i*i*i*i*i*i*i*i*i*i, x = time);", 17),
    "function": (f"{FACTORIAL} {COUNT} Integer n = fact(i);", 19),
    "section": (f"{COUNT} Integer n; algorithm n := 1; for k in 2:i loop n := n*k; end for;", 19),
    "reduction": (f"{COUNT} Integer n = product(if k < i then k + 1 else 1 for k in 1:30);", 19),
}  # fmt: skip


@pytest.mark.parametrize("name", GROWS)
def test_too_large_an_integer_is_an_error(name: str) -> None:
    text, first = GROWS[name]
    model = pliant.load(f"model M {text} end M;")
    model.simulate(stop=(first - 0.5) / 20)
    with pytest.raises(
        pliant.ModelEvaluationError, match=r"the Integer (n|n\[1\]|r.k) \(model.mo:1\) leaves"
    ) as caught:
        model.simulate(stop=1.0)
    assert caught.value.time == pytest.approx(first / 20)


def test_integers_up_to_there_are_exact() -> None:
    text = f"model M {FACTORIAL} {COUNT} Integer n = fact(i), m = 1 - 3*n, last = mod(n, 1000003); end M;"
    result = pliant.load(text).simulate(stop=0.92)
    exact = math.factorial(18)
    assert result.final["n"] == exact
    assert int(result.final["last"]) == exact % 1000003


def test_large_integers_leave_exported_fmus_as_errors(tmp_path) -> None:  # type: ignore[no-untyped-def]
    model = pliant.load(f"model M {FACTORIAL} {COUNT} output Integer n = fact(i); Real x = time; end M;")
    path = model.export_fmu(tmp_path / "m.fmu", version="2.0")
    with pliant.load(path) as unit:
        assert unit.simulate(stop=0.62).final["n"] == math.factorial(12)
        with pytest.raises(pliant.PliantError, match="too large for an Integer"):
            unit.simulate(stop=0.67, outputs=["n"])


def test_large_integers_are_no_arguments_of_c_functions() -> None:
    text = f"""model M
  {FACTORIAL}
  function twice
    input Integer k; input Integer v[2]; output Real y;
    external "C" y = twice_(k, v) annotation(Include = "static double twice_(int k, const int *v)
      {{ return 2.0*k + v[1]; }}");
  end twice;
  {COUNT}
  Integer n = fact(i);
  Real y = twice(K, {{1, V}});
end M;
"""
    for k, v in (("n", "1"), ("1", "n")):
        model = pliant.load(text.replace("K", k).replace("V", v))
        assert model.simulate(stop=0.62).final["y"] > 0
        with pytest.raises(pliant.PliantError, match="more than 32 bits as an argument: 6227020800"):
            model.simulate(stop=0.67)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_the_least_integer_leaves_exported_fmus(version: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    text = "model M output Integer n = -2147483647 - integer(time); Real x = time; end M;"
    path = pliant.load(text).export_fmu(tmp_path / "m.fmu", version=version)
    with pliant.load(path) as unit:
        assert unit.simulate(stop=1.5, outputs=["n"]).final["n"] == -(2**31)
        with pytest.raises(pliant.PliantError, match="too large"):
            unit.simulate(stop=2.5, outputs=["n"])
