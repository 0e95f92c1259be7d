"""terminal(): when-clauses, assertions and values at the end of a run (Modelica specification 3.6, section 3.7.5)."""

from __future__ import annotations

from pathlib import Path

import fmpy
import numpy as np
import pytest
from support_fmi_driver import Driver, RefusedCallError

import pliant

MODEL = """model M
  Real x(start = 1, fixed = true);
  Real last(start = -1, fixed = true);
  discrete Real seen(start = 0, fixed = true);
  Integer n(start = 0, fixed = true), k = if ended then 1 else 0;
  Boolean ended = terminal();
equation
  der(x) = 1;
  when terminal() then
    last = x;
    n = pre(n) + 1;
  end when;
  when {sample(0.3, 0.3), terminal() and x > 1.5} then
    seen = x;
  end when;
  BODY
end M;
"""


def run(body: str = "", **options: object) -> pliant.Result:
    return pliant.load(MODEL.replace("BODY", body)).simulate(stop=1.0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", ["bdf", "radau5", "dopri5"])
def test_once_at_the_end(method: str) -> None:
    result = run(method=method)
    assert [event.time for event in result.events] == pytest.approx([0.3, 0.5, 0.6, 0.9, 1.0])
    for name, value in (("last", 2.0), ("seen", 2.0), ("n", 1.0), ("k", 1.0), ("ended", 1.0)):
        assert result[name][-1] == pytest.approx(value), name
        assert not np.any(result[name][:-1] == value), name


def test_every_step_is_a_row() -> None:
    result = run(points=None)
    assert list(result.time[-2:]) == [1.0, 1.0]
    assert list(result["n"][-2:]) == [0.0, 1.0]


@pytest.mark.parametrize("cause", ["x > 1.45", "time > 0.45"])
def test_where_the_model_ends_the_run(cause: str) -> None:
    result = run(f'when {cause} then terminate("enough"); end when;')
    assert result.time[-1] == pytest.approx(0.45)
    assert result.final["last"] == pytest.approx(1.45)
    assert result.final["n"] == 1.0
    assert result.final["seen"] == pytest.approx(1.3)  # x > 1.5 does not hold
    assert "enough" in result.events[-1].message


@pytest.mark.parametrize("kind", ["equation", "algorithm"])
def test_an_assertion_at_the_end(kind: str) -> None:
    text = f"""model M
  Real x(start = 1, fixed = true);
equation
  der(x) = 1;
{kind}
  when terminal() then
    assert(x < 1.5, "it is too large");
  end when;
end M;
"""
    model = pliant.load(text)
    assert model.simulate(stop=0.4).final["x"] == pytest.approx(1.4)
    with pytest.raises(pliant.ModelEvaluationError, match=r"it is too large \(model.mo:7\)") as caught:
        model.simulate(stop=1.0)
    assert caught.value.time == 1.0


def test_an_algorithm_section() -> None:
    text = """model M
  Real x(start = 1, fixed = true), mean(start = 0, fixed = true);
  Real total(start = 0, fixed = true);
equation
  der(x) = -x;
  der(total) = x;
algorithm
  when terminal() then
    mean := total/time;
    if mean > 0.3 then
      mean := 2*mean;
    end if;
  end when;
end M;
"""
    model = pliant.load(text)
    for stop, factor in ((1.0, 2.0), (4.0, 1.0)):
        assert model.simulate(stop=stop, rtol=1e-9).final["mean"] == pytest.approx(factor * (1 - np.exp(-stop)) / stop)


def test_a_loop_that_reads_it() -> None:
    """Algebraic unknowns follow."""
    text = """model M
  Real x(start = 2, fixed = true), a, b;
equation
  der(x) = -0.1*x;
  a + b = x;
  a = if terminal() then 3*b else b;
end M;
"""
    result = pliant.load(text).simulate(stop=1.0)
    assert result["b"][-2] == pytest.approx(result["x"][-2] / 2)
    assert result["b"][-1] == pytest.approx(result["x"][-1] / 4)


def test_runs_do_not_follow_each_other() -> None:
    """What ended once begins anew."""
    model = pliant.load(MODEL.replace("BODY", ""))
    first, second = (model.simulate(stop=1.0) for _ in range(2))
    assert first.final == second.final
    assert second["n"][0] == 0.0
    study = model.simulate_many([{"stop": 0.5}, {"stop": 2.0}], keep="final")
    assert [study[k]["n"] for k in range(2)] == [1.0, 1.0]


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("kind", ["model-exchange", "co-simulation"])
def test_an_exported_fmu_ends_where_it_is_terminated(version: str, kind: str, tmp_path: Path) -> None:
    model = pliant.load(MODEL.replace("BODY", 'when terminal() then assert(x < 2.5, "too far"); end when;'))
    path = model.export_fmu(tmp_path / f"{version}.fmu", version=version, solver="bdf")
    description = fmpy.read_model_description(str(path))
    numbers = {one.name: one.valueReference for one in description.modelVariables}
    folder = Path(fmpy.extract(str(path), unzipdir=str(tmp_path / "unpacked")))
    binary = next(folder.joinpath("binaries").rglob("*.so"))
    for stop, is_fine in ((1.0, True), (2.0, False)):
        driver = Driver(binary, version, kind, description.guid)
        driver.start()
        if kind == "co-simulation":
            for _ in range(10):
                driver.step(stop / 10)
        else:
            driver.run(stop, 10, 1, description.numberOfEventIndicators)
        assert driver.get("float64", numbers["last"]) == -1.0
        if is_fine:
            driver.call("Terminate")
            assert driver.get("float64", numbers["last"]) == pytest.approx(1.0 + stop)
            assert driver.get("int32", numbers["n"]) == 1
        else:
            with pytest.raises(RefusedCallError, match="too far"):
                driver.call("Terminate")


def test_what_cannot_be_made_at_the_end_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the run depends on it; the same call within the run is refused."""
    monkeypatch.setattr("pliant.frontend.scalar.foreign.MOST_NUMBERS", 5)
    text = """model M
  function twice input Real u[3]; output Real y[3];
    external "C" twice(u, y) annotation(Include="static void twice(const double *u, double *y) {
      for (int i = 0; i < 3; i++) y[i] = 2 * u[i]; }");
  end twice;
  Real x(start = 1, fixed = true), v[3](each start = 0, each fixed = true);
equation
  der(x) = 1;
algorithm
  when CONDITION then v := twice({x, 2, 3}); end when;
end M;
"""
    model = pliant.load(text.replace("CONDITION", "terminal()"))
    assert any("is left out: the external function `M.twice` with 6 numbers in" in one for one in model.structure.notes)
    final = model.simulate(stop=1).final
    assert [final[f"v[{k}]"] for k in (1, 2, 3)] == [0, 0, 0]
    with pytest.raises(pliant.NotSupportedError, match="6 numbers in and 3 out"):
        pliant.load(text.replace("CONDITION", "x > 1.5"))
