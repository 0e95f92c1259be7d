"""What is known of a model: one interface for equations, C files, functions, and whatever else there may be."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.cosim.model_part import ModelPart
from pliant.solve.binding import runtime
from pliant.solve.models.known import Known, Late
from pliant.solve.models.native import NativeModel, load_native
from pliant.solve.models.numeric import NumericModel

EXAMPLES = Path(__file__).parents[1] / "examples"
MACHINE = """
package P
  type Mode = enumeration(off, slow, 'very fast');
  model Machine
    parameter Integer k(min = 1) = 3;
    parameter Boolean on = true;
    input Boolean push(start = false);
    input Real force;
    output Real y;
    output Boolean high;
    Real h(start = 1, fixed = true, unit = "m") "height";
    Real v(start = 0, fixed = true), w, z(start = 1), q(start = 1);
    Integer n(start = 0, fixed = true), m = -n;
    discrete Real d(start = 0, fixed = true);
    Mode mode(start = Mode.off, fixed = true);
    Boolean late = time > 0.7;
  equation
    der(h) = v;
    der(v) = -9.81 + force;
    w = 2*h;
    z^3 + q = h + k;
    q^3 + 2*q - z = 1;
    y = w + force + (if on then d else 0) + (if late then 1 else 0);
    high = h > 0.5 or push;
    assert(h < 100, "too high");
    when h < 0 then
      reinit(v, -0.8*pre(v));
      n = pre(n) + 1;
      mode = if pre(n) > 0 then Mode.'very fast' else Mode.slow;
    end when;
    when sample(0, 0.1) then
      d = pre(d) + h;
    end when;
  end Machine;
end P;
"""


@pytest.fixture(scope="module")
def machine() -> pliant.Model:
    return pliant.load(MACHINE, name="P.Machine")


def falling(t: float, x: Any) -> list[float]:
    return [x[1], -9.81]


def ball() -> NumericModel:
    return pliant.ode(falling, [1.0, 0.0], roots=pliant.Root(lambda t, x: x[0]))._numeric


# ------------------------------------------------------------------------------------------------------ equations


def test_what_equations_say(machine: pliant.Model) -> None:
    known = machine._numeric.known
    assert known.outputs == ("y", "high")
    assert {name: known.type(name) for name in ("k", "on", "push", "h", "n", "m", "mode", "high")} == {
        "k": "integer",
        "on": "boolean",
        "push": "boolean",
        "h": "real",
        "n": "integer",
        "m": "integer",
        "mode": "enumeration",
        "high": "boolean",
    }
    height = known.variables["h"]
    assert (height.kind, height.unit, height.description) == ("state", "m", "height")
    assert getattr(height.span, "line", 0) == 11
    assert known.variables["mode"].literals == ("off", "slow", "very fast")
    assert all(known.is_held(name) for name in ("n", "d", "mode"))
    assert not any(known.is_held(name) for name in ("h", "v", "w", "y"))
    place = known.names.u.index
    assert known.feedthrough["y"] == {place("force")}
    assert known.feedthrough["high"] == {place("push")}
    assert "w" not in known.feedthrough
    assert known.loops == ("nonlinear",)
    assert (known.has_memory, known.has_checks) == (True, True)
    assert [name for name, alone in known.timed_roots.items() if alone] == [
        name for name in known.names.roots if "time" in name
    ]


def test_choices_of_state_sets() -> None:
    known = pliant.load(EXAMPLES / "pendulum.mo")._numeric.known
    assert known.choices
    assert {name for names in known.choices.values() for name in names} >= {"x", "y"}
    assert all(slot in known.names.x for slot in known.choices)


def test_equations_write_code_and_other_forms(machine: pliant.Model) -> None:
    numeric = machine._numeric
    equations = numeric.equations
    assert equations is not None
    assert equations.text == machine.code
    assert equations.sorted is equations.program.sorted
    dae = numeric.in_form("dae")
    assert dae is not None
    assert (dae.known.form, dae.known.loops) == ("dae", ())
    assert dae.n_x > numeric.n_x
    assert numeric.in_form(numeric.known.form) is numeric


def test_it_is_found_out_once(machine: pliant.Model) -> None:
    calls = []
    late = Late(lambda: calls.append(1) or {"a": 1})  # type: ignore[func-returns-value]
    assert not calls
    assert (late["a"], len(late), list(late), late.get("b")) == (1, 1, ["a"], None)
    assert calls == [1]
    known = machine._numeric.known
    assert machine._numeric.known is known
    machine.variables.clear()  # a copy
    assert machine.variables.keys() == known.variables.keys()
    with pytest.raises(AttributeError):
        known.form = "dae"  # type: ignore[misc]


def test_tangents_are_those_of_the_linearisation(machine: pliant.Model) -> None:
    found = machine.linearize()
    assert found.outputs == machine._numeric.known.outputs
    assert found.C[found.outputs.index("y"), found.states.index("h")] == 2.0
    assert found.D[found.outputs.index("y"), found.inputs.index("force")] == 1.0


# ------------------------------------------------------------------------------------- functions, in C and Python


def test_a_function_knows_little() -> None:
    model = ball()
    known = model.known
    assert list(known.variables) == ["x[0]", "x[1]"]
    assert (known.outputs, dict(known.types), dict(known.feedthrough), dict(known.held_by)) == ((), {}, {}, {})
    assert (known.form, known.loops, dict(known.choices), dict(known.timed_roots)) == ("", (), {}, {})
    assert (known.has_memory, known.has_past, known.has_checks) == (False, False, False)
    instance = model.instance(model.p_start)
    x, u = model.x_start.copy(), np.zeros(1)
    assert model.equations is None
    assert model.in_form("dae") is None
    assert model.for_correction("correct", "bdf") is model
    assert (model.has_tangents, model.tangent(instance, runtime.OF_RHS, 0.0, (x, u), 0)) == (False, None)
    assert (model.memories(instance), model.chosen_states(instance.address)) == ((), {})
    assert model.library_path is None
    assert not model.take_anew(instance, 0.0, x, u)
    model.settle(instance, 0.0, x, u)
    assert (model.place_of("x[0]"), model.line_of("x[0]")) == ("", "")


def test_a_c_file_says_more() -> None:
    model = load_native(EXAMPLES / "rc_input.c")
    assert model.known.outputs == ("i",)
    assert model.known.feedthrough == {"i": {0}}
    assert model.known.variables["R"].start == 1.0
    assert model.equations is None
    assert model.library_path is not None


# ----------------------------------------------------------------------------------- a kind that nobody thought of


class Foreign(NativeModel):
    """A pl_model without equations that describes itself, as an FMU does."""

    @cached_property
    def known(self) -> Known:
        variables = dict(super().known.variables)
        variables["v"] = replace(variables["v"], unit="V")
        variables["u"] = replace(variables["u"], unit="V", type="integer", min=-1.0)
        variables["C"] = replace(variables["C"], unit="F", min=0.1)
        return Known(self.names, variables, types={"u": "integer"}, outputs=self.names.y)


def foreign() -> Foreign:
    plain = load_native(EXAMPLES / "rc_input.c")
    model = Foreign(plain.struct, name="foreign", digest=plain.digest, names=plain.names, keep=plain.keep)
    model.origin = plain.origin
    return model


def test_consumers_take_what_is_known() -> None:
    model = pliant.Model(foreign())
    assert model.variables["u"].type == "integer"
    result = model.simulate(stop=1, inputs={"u": ([0.0, 0.5], [1, 2])}, points=5)
    assert result.unit("v") == "V"
    assert result.type("u") == "integer"
    assert result["u"].tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]  # held, as Integers are
    for wrong, words in (({"u": 0.5}, "an Integer"), ({"u": -2}, "min = -1")):
        with pytest.raises(pliant.ArgumentError, match=words):
            model.simulate(stop=1, inputs=wrong)
    with pytest.raises(pliant.ArgumentError, match=r"min = 0.1"):
        model.simulate(stop=1, parameters={"C": 0.01})
    with pytest.raises(pliant.NotSupportedError, match="no C text"):
        _ = model.code


def test_parts_take_what_is_known() -> None:
    part = ModelPart("part", foreign())
    part.choose(["i"])
    assert (part.port("u").type, part.port("u").held) == ("integer", True)
    assert not part.feedthrough().any()
    plain = ModelPart("plain", load_native(EXAMPLES / "rc_input.c"))
    plain.choose(["i"])
    assert plain.feedthrough().all()
    assert not plain.reacts


def test_a_c_file_may_say_types_units_and_bounds(tmp_path: Path) -> None:
    text = (EXAMPLES / "rc_input.c").read_text()
    text = text.replace(
        "const pl_model",
        'static const char *const units[] = {"V"};\nstatic const int8_t whole[] = {PL_TYPE_INTEGER};\n'
        "static const pl_real low[] = {-1.0};\n\nconst pl_model",
    ).replace(".n_x = 1,", ".n_x = 1, .x_unit = units, .u_unit = units, .u_type = whole, .u_min = low,")
    (tmp_path / "told.c").write_text(text)
    model = pliant.native(tmp_path / "told.c")
    told = model.variables["u"]
    assert (told.type, told.unit, told.min, told.max) == ("integer", "V", -1.0, None)
    assert model.simulate(stop=1).unit("v") == "V"
    with pytest.raises(pliant.ArgumentError, match="an Integer"):
        model.simulate(stop=1, inputs={"u": 0.5})
