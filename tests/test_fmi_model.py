"""Model-exchange FMUs: right numbers, legal calls, values by name, and all that other models can do."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support_fmi_left import nothing_left
from support_fmus import CS, GOOD, ME, fmu, members, pack

import pliant

BOTH = ("2.0", "3.0")
METHODS: dict[str, dict[str, Any]] = {
    "auto": {},
    "bdf": {},
    "radau5": {},
    "dopri5": {},
    "lieuler": {"step": 0.01},
    "euler": {"step": 0.01},
    "rk4": {"step": 0.01},
}
STRICT = [(name, version) for name, one in GOOD.items() if ME in one.kinds for version in one.versions]


@contextmanager
def loaded(name: str, version: str = "2.0", strict: bool = True, **options: Any) -> Iterator[pliant.Model]:
    with pliant.load(fmu(name, version, strict=strict), kind=ME, options=options) as model:
        yield model


# ---------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize("version", BOTH)
def test_van_der_pol_is_that_of_the_equations(version: str) -> None:
    same = pliant.ode(lambda t, x: [x[1], (1 - x[0] ** 2) * x[1] - x[0]], [2.0, 0.0], names=["x0", "x1"])
    expected = same.simulate(stop=20.0, rtol=1e-9)
    with loaded("vanderpol", version) as model:
        result = model.simulate(stop=20.0, rtol=1e-9)
        for name in ("x0", "x1"):
            assert result[name] == pytest.approx(expected[name], abs=1e-6)
        assert result["der(x0)"] == pytest.approx(result["x1"])
        assert result.stats.jacobian == "directional"
        assert result.log == ()


@pytest.mark.parametrize(("name", "version"), [one for one in STRICT if one[0] not in ("stiff", "hostile")])
def test_every_call_is_legal(name: str, version: str) -> None:
    """Built so that a call that the standard does not allow there is an error."""
    with loaded(name, version) as model:
        stop = min(model.fmu.default_experiment.stop or 1.0, 3.0)
        for method in ("auto", "radau5", "dopri5", "rk4"):
            result = model.simulate(stop=stop, method=method, points=41, **METHODS[method])
            assert result.complete
            assert not [text for *_, text in result.log if "breach" in text]


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("method", METHODS)
def test_all_methods(version: str, method: str) -> None:
    with loaded("strict", version) as model:
        result = model.simulate(stop=1.0, method=method, **METHODS[method])
        assert result["x"][-1] == pytest.approx(math.exp(-1), abs=3e-3)


@pytest.mark.parametrize("version", BOTH)
def test_state_events(version: str) -> None:
    """A bouncing ball: its bounces by the formula."""
    with loaded("ball", version) as model:
        result = model.simulate(stop=2.0, rtol=1e-8)
        first = math.sqrt(2 * 1.0 / 9.81)
        assert result.events[0].time == pytest.approx(first, rel=1e-6)
        assert result.events[1].time == pytest.approx(first * (1 + 2 * 0.7), rel=1e-6)
        assert result.events[0].roots


@pytest.mark.parametrize("version", BOTH)
def test_time_events_and_models_without_states(version: str) -> None:
    with loaded("stair", version) as model:
        result = model.simulate(stop=3.5, points=[0.5, 1.5, 2.5, 3.5])
        counted = next(name for name in result.names if "count" in name)
        assert np.diff(result[counted]).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("version", BOTH)
def test_nominal_values_of_the_fmu_count(version: str) -> None:
    """Stiff Van der Pol: nominal values that are far off do not stall the increments."""
    with loaded("stiff", version, strict=False) as model:
        for nominal in (1e-3, 1.0, 1e3, 1e7):
            result = model.simulate(method="radau5", rtol=1e-9, atol=1e-3, parameters={"nominal": nominal}, timeout=20)
            assert result.stats.n_steps <= 150
            assert result.stats.jacobian == "differences"


@pytest.mark.parametrize("version", BOTH)
def test_refused_points_are_tried_with_smaller_steps(version: str) -> None:
    with loaded("domain", version) as model:
        assert model.simulate()["x"][-1] > 0.0


# ------------------------------------------------------------------------------------------------------ inputs


def exact(u: float, t: float) -> float:
    """The filter of first order, T = 0.5, from 0."""
    return u * (1.0 - math.exp(-t / 0.5))


@pytest.mark.parametrize("version", BOTH)
def test_inputs_of_every_kind(version: str, tmp_path: Path) -> None:
    table = tmp_path / "u.csv"
    table.write_text("time,u\n0,1\n1,1\n1,3\n2,3\n")
    jump = exact(1.0, 1.0) + (3.0 - exact(1.0, 1.0)) * (1.0 - math.exp(-1.0 / 0.5))
    with loaded("filter", version) as model:
        kinds: dict[str, tuple[Any, float]] = {
            "number": ({"u": 2.0}, exact(2.0, 2.0)),
            "function": ({"u": lambda t: 2.0 + 0.0 * t}, exact(2.0, 2.0)),
            "pair": ({"u": ([0, 1, 1, 2], [1, 1, 3, 3])}, jump),
            "file": (str(table), jump),
            "segments": ({"u": pliant.Segments([0.0, 1.0], [[1.0], [3.0]])}, jump),
            "held": ({"u": 1.0, "on": ([0, 1, 1, 2], [True, True, True, True])}, exact(1.0, 2.0)),
        }
        for kind, (inputs, x) in kinds.items():
            result = model.simulate(stop=2.0, inputs=inputs, rtol=1e-8)
            assert result["x"][-1] == pytest.approx(x, rel=1e-5), kind


def test_an_error_of_an_input_function_is_the_users() -> None:
    def u(t: float) -> float:
        if t > 0.5:
            raise ZeroDivisionError("of the user")
        return 1.0

    with loaded("filter") as model:
        with pytest.raises(ZeroDivisionError, match="of the user"):
            model.simulate(stop=1.0, inputs={"u": u})
        assert model.simulate(stop=1.0, inputs={"u": 1.0})["x"][-1] == pytest.approx(exact(1.0, 1.0), rel=1e-4)


# --------------------------------------------------------------------------------------------- values by name


@pytest.mark.parametrize("version", BOTH)
def test_types_of_parameters(version: str) -> None:
    with loaded("types", version) as model:
        given = {"string_parameter": "Größe", "integer_parameter": 9, "boolean_parameter": False}
        result = model.simulate(parameters=given, inputs={"int32_in": 4, "boolean_in": True, "enumeration_in": 2})
        assert (result["int32_out"][-1], result["enumeration_out"][-1]) == (4.0, 2.0)
        assert result.parameters["integer_parameter"] == 9.0
        assert "string_parameter" not in result.parameters
        for wrong in (
            {"integer_parameter": 1.5},
            {"integer_parameter": 2**40},
            {"integer_parameter": "one"},
            {"boolean_parameter": 3},
            {"string_parameter": 1.0},
        ):
            with pytest.raises(pliant.ArgumentError, match=next(iter(wrong))) as caught:
                model.simulate(parameters=wrong)  # type: ignore[arg-type]
            assert caught.value.hint


@pytest.mark.parametrize("kind", [ME, CS])
@pytest.mark.parametrize("version", BOTH)
def test_texts_as_inputs_hold_for_a_run(version: str, kind: str) -> None:
    with pliant.load(fmu("types", version, strict=True), kind=kind) as model:
        assert model.simulate(stop=0.1, start_values={"string_in": "Größe"}).final["string_length"] == 7
        assert model.simulate(stop=0.1).final["string_length"] == 0
        with pytest.raises(pliant.NotSupportedError, match="string_in is of type String") as caught:
            model.simulate(stop=0.1, inputs={"string_in": "a"})
        assert "start_values" in caught.value.hint
        with pytest.raises(pliant.ArgumentError, match="string_out is a text"):
            model.simulate(stop=0.1, outputs=["string_out"])


def test_inputs_that_their_type_cannot_hold() -> None:
    """Neither constants nor tables nor functions are cut to the bits of the type."""
    with loaded("types", "3.0") as model:
        for name, value in (("int8_in", 300), ("uint8_in", -1), ("uint16_in", ([0.0, 1.0], [0, 2**16]))):
            with pytest.raises(pliant.ArgumentError, match=f"{name} cannot be"):
                model.simulate(stop=0.1, inputs={name: value})
        with pytest.raises(pliant.ArgumentError, match="int16_in cannot be 40000"):
            model.simulate(stop=1.0, inputs={"int16_in": lambda t: 40000 if t > 0.5 else 0})


def test_what_cannot_be_set() -> None:
    with loaded("types") as model:
        for parameters, hint in (
            ({"x": 1.0}, "start_values={'x': ...}"),
            ({"float64_in": 1.0}, "inputs={'float64_in': ...}"),
            ({"float64_out": 1.0}, "calculated from"),
        ):
            with pytest.raises(pliant.ArgumentError) as caught:
                model.simulate(parameters=parameters)
            assert hint in caught.value.hint
        with pytest.raises(pliant.UnknownNameError) as caught:
            model.simulate(parameters={"integer_paramter": 1})
        assert "'integer_parameter'" in caught.value.hint


def test_constants_cannot_be_set() -> None:
    parts = members("vanderpol", "2.0")
    text = parts["modelDescription.xml"].decode()
    more = '<ScalarVariable name="g" valueReference="77" variability="constant"><Real start="9.81"/></ScalarVariable>'
    parts["modelDescription.xml"] = text.replace("</ModelVariables>", f"{more}</ModelVariables>").encode()
    with pliant.load(pack(parts, "constant"), kind=ME) as model:
        assert model.simulate(stop=1.0).parameters["g"] == 9.81
        with pytest.raises(pliant.ArgumentError, match="g is a constant"):
            model.simulate(stop=1.0, parameters={"g": 1.0})


def test_start_values() -> None:
    with loaded("vanderpol") as model:
        assert model.simulate(stop=1.0, start_values={"x0": 1.0})["x0"][0] == 1.0
        assert model.simulate(stop=1.0)["x0"][0] == 2.0
        with pytest.raises(pliant.ArgumentError, match="calculated by the FMU"):
            model.simulate(stop=1.0, start_values={"der(x0)": 1.0})


def test_arrays_as_a_whole_and_by_element() -> None:
    with loaded("arrays", "3.0") as model:
        one = model.simulate(start_values={"x": [[1, 1, 1], [1, 1, 1]]}, parameters={"a[2,3]": 2.0})
        assert one["x[2,3]"][-1] == pytest.approx(math.exp(-2.0), rel=1e-4)
        assert one["x[1,1]"][-1] == pytest.approx(math.exp(-1.0), rel=1e-4)
        with pytest.raises(pliant.ArgumentError, match="array of 2 x 3"):
            model.simulate(parameters={"a": [1.0, 2.0]})
        with pytest.raises(pliant.ArgumentError, match="shape 2 x 3"):
            model.simulate(parameters={"a[3,1]": 1.0})


def test_structural_parameters_change_the_sizes() -> None:
    with loaded("arrays", "3.0") as model:
        other = model.simulate(parameters={"rows": 1, "columns": 2, "a": [[1.0, 2.0]]})
        assert [name for name in other.names if name.startswith("x")] == ["x[1,1]", "x[1,2]"]
        assert model.simulate().final.keys() > other.final.keys()
        assert model.linearize(parameters={"rows": 1, "columns": 1, "a": [[3.0]]}).A.tolist() == [[-3.0]]


# ------------------------------------------------------------------------------------------- runs as elsewhere


@pytest.mark.parametrize("version", BOTH)
def test_the_default_experiment(version: str) -> None:
    with loaded("vanderpol", version) as model:
        given = model.fmu.default_experiment
        result = model.simulate()
        assert (result.time[0], result.time[-1]) == (given.start or 0.0, given.stop)
        assert model.simulate_many([{}], keep="final")[0].keys() == result.final.keys()
    with pytest.raises(pliant.ArgumentError, match="end of the run"):
        pliant.ode(lambda t, x: -x, [1.0]).simulate()


def test_outputs_by_pattern() -> None:
    with loaded("vanderpol") as model:
        assert model.simulate(stop=1.0, outputs=["der(*)"]).names == ("der(x0)", "der(x1)")
        assert model.simulate(stop=1.0, outputs=["x?"]).names == ("x0", "x1")
        with pytest.raises(pliant.UnknownNameError, match=r"nothing matches 'pipe\*'"):
            model.simulate(stop=1.0, outputs=["pipe*"])
    equations = pliant.load("model M\n Real x[2](each start = 1);\nequation\n der(x) = -x;\nend M;\n")
    assert {"x[1]", "x[2]"} <= set(equations.simulate(stop=1.0, outputs=["x[*]"]).names)


def test_jacobians_linearisation_and_steady_state() -> None:
    with loaded("vanderpol") as model:
        assert pytest.approx(np.array([[0.0, 1.0], [-1.0, -3.0]])) == model.linearize().A
        assert pytest.approx(np.array([[0.0, 1.0], [-1.0, 0.0]])) == model.linearize(x={"x0": 1.0}).A
        exactly, differences = (model.jacobian(options={"jacobian": one}) for one in ("directional", "differences"))
        assert differences.matrix == pytest.approx(exactly.matrix, abs=1e-6)
        assert model.check_jacobian().findings == ()
        assert model.steady_state(start_values={"x0": 0.1})["x0"] == pytest.approx(0.0, abs=1e-9)
    with loaded("filter", "3.0") as model:
        assert model.linearize().B[0, 0] == pytest.approx(2.0)


def test_a_jacobian_without_entries() -> None:
    with loaded("types", "3.0") as model:
        lin = model.linearize()
        assert (lin.A.tolist(), lin.B[0, lin.inputs.index("float64_in")]) == ([[0.0]], 1.0)
        assert model.steady_state({"float64_in": 0.0})["x"] == 0.0


def test_enumerations_whose_values_have_gaps() -> None:
    with loaded("types", "3.0") as model:
        for value in ("high", 5):
            assert model.simulate(inputs={"enumeration_in": value})["enumeration_out"][-1] == 5.0
        with pytest.raises(pliant.ArgumentError, match="cannot be 3"):
            model.simulate(inputs={"enumeration_in": 3})
        with pytest.raises(pliant.ArgumentError, match="no value of its enumeration") as caught:
            model.simulate(inputs={"enumeration_in": ([0.0, 0.5], ["low", "hihg"])})
        assert "high" in caught.value.hint


def test_cases_with_texts_literals_and_arrays(tmp_path: Path) -> None:
    texts = [
        {"parameters": {"string_parameter": "a b"}},
        {"parameters": {"string_parameter": "c", "boolean_parameter": 0}},
    ]
    with loaded("types", "3.0") as model:
        study = model.simulate_many(texts, keep="final", progress=False)
        assert study.table()["string_parameter"].tolist() == ["a b", "c"]
        assert study.report(tmp_path / "s.html").is_file()
        frame = pd.DataFrame({"enumeration_in": ["high", "low"]})
        found = model.simulate_many(frame, keep="final", progress=False)
        assert [one["enumeration_out"] for one in found] == [5.0, 1.0]
    with loaded("arrays", "3.0") as model:
        cases = [
            {"parameters": {"a": [[1.0] * 3] * 2}, "start_values": {"x": np.ones((2, 3))}},
            {"parameters": {"rows": 1, "columns": 2, "a": [[1.0, 2.0]]}},
        ]
        study = model.simulate_many(cases, stop=1.0, keep="final", progress=False)
        assert study[0]["x[2,3]"] == pytest.approx(math.exp(-1.0), rel=1e-4)
        assert study[1]["x[1,2]"] == pytest.approx(2.0 * math.exp(-2.0), rel=1e-4)
        assert study.table()["a[1,2]"].tolist() == [1.0, 2.0]
        with pytest.raises(pliant.ArgumentError, match=r"case 0: parameters\['a'\] is an array"):
            model.simulate_many([{"parameters": {"a": [1.0]}}], stop=1.0)


def test_explain_measures_where_the_steps_are_taken() -> None:
    with loaded("vanderpol") as model:
        result = model.simulate()
        assert "vanderpol" in str(result.explain())
        assert result.record is not None
        assert 0.0 < result.record(result).cost()["rhs"] < 1e-5  # type: ignore[operator]


def test_wrong_dependencies_are_found_and_left() -> None:
    """The pattern lacks an entry: differences notice, and the run is done with a full Jacobian."""
    parts = members("vanderpol", "3.0")
    text = parts["modelDescription.xml"].decode()
    assert 'valueReference="4" dependencies="1 3"' in text
    text = text.replace('valueReference="4" dependencies="1 3"', 'valueReference="4" dependencies="3"')
    text = text.replace(' providesDirectionalDerivatives="true"', "")
    parts["modelDescription.xml"] = text.encode()
    with loaded("vanderpol", "3.0") as right, pliant.load(pack(parts, "wrong"), kind=ME) as model:
        expected = right.simulate(stop=20.0, rtol=1e-8)["x0"][-1]
        assert model.simulate(stop=20.0, rtol=1e-8, method="radau5")["x0"][-1] == pytest.approx(expected, abs=1e-5)


def test_nominal_values_that_change_at_an_event() -> None:
    for version in BOTH:
        with loaded("rescaled", version) as model:
            assert model.simulate(rtol=1e-8).complete


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("version", BOTH)
def test_states_that_mean_something_else_from_an_event_on(version: str, eager: bool) -> None:
    """The state is not set once more between a completed step that asks for an event and that event."""
    with loaded("turncoat", version) as model:
        for method, step in (("bdf", None), ("radau5", None), ("rk4", 0.02)):
            result = model.simulate(rtol=1e-8, method=method, step=step, parameters={"eager": eager})
            assert result["x"] == pytest.approx(np.cos(result.time), abs=2e-6)
            assert result["y"] == pytest.approx(np.sin(result.time), abs=2e-6)
            assert result["turns"][-1] == len(result.events) == 13


def test_models_travel_and_close() -> None:
    with nothing_left():
        with loaded("vanderpol") as model:
            result = model.simulate(stop=2.0)
            again = pickle.loads(pickle.dumps(model))
            assert again.simulate(stop=2.0).final == result.final
            again.close()
            assert pickle.loads(pickle.dumps(result)).final == result.final
        with pytest.raises(pliant.FmuError, match="was closed"):
            model.simulate(stop=1.0)
        assert result["x0"][-1] == result.final["x0"]  # results stay
    with pytest.raises(pliant.NotSupportedError, match="no FMU"):
        _ = pliant.ode(lambda t, x: -x, [1.0]).fmu


def test_what_needs_equations(tmp_path: Path) -> None:
    with loaded("vanderpol") as model:
        with pytest.raises(pliant.NotSupportedError, match="the model is an FMU"):
            _ = model.structure
        with pytest.raises(pliant.NotSupportedError, match="this one is an FMU"):
            model.export_fmu(tmp_path / "x.fmu")


def test_one_instance_per_process_only() -> None:
    for version in BOTH:
        with nothing_left(), loaded("once", version, strict=False) as model:
            assert model.simulate(stop=1.0).final == model.simulate(stop=1.0).final


def test_resources_and_folders_with_odd_names(tmp_path: Path) -> None:
    place = tmp_path / "Größe & Maß %20"
    place.mkdir()
    for version in BOTH:
        copy = place / f"ein FMU {version}.fmu"
        copy.write_bytes(fmu("resource", version).read_bytes())
        with pliant.load(copy, kind=ME) as model:
            assert model.simulate(stop=1.0).complete


def test_kind_is_for_fmus_only() -> None:
    with pytest.raises(pliant.ArgumentError, match="kind is for FMUs"):
        pliant.load("model M\n Real x;\nequation\n x = 1;\nend M;\n", kind=ME)
    with pytest.raises(pliant.ArgumentError, match="for Modelica models"):
        pliant.load(fmu("vanderpol"), name="M")


def test_structural_parameters_ask_for_no_more_than_can_be() -> None:
    with pliant.load(fmu("arrays", "3.0")) as model, pytest.raises(pliant.ArgumentError, match="more than 10000000"):
        model.simulate(stop=1.0, parameters={"rows": 10**9})


def test_integers_of_64_bits() -> None:
    """The largest ones stay what they are; what floating-point numbers cannot keep is refused."""
    largest = {"int64": (-(2**63), 2**63 - 1), "uint64": (0, 2**64 - 1)}
    with pliant.load(fmu("types", "3.0")) as model:
        for name, (low, high) in largest.items():
            for value in (low, high):
                result = model.simulate(stop=0.1, inputs={f"{name}_in": ([0.0, 1.0], [value, value])})
                assert result.final[f"{name}_out"] == float(value)
    with pliant.load(fmu("arrays", "3.0")) as model:
        for value, words in ((2**53 + 1, "not exact"), (2**64, "does not fit"), (10**400, "finite")):
            with pytest.raises(pliant.ArgumentError, match=words):
                model.simulate(stop=0.1, parameters={"rows": value})
