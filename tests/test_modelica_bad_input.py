"""What users do wrong with Modelica models: every error says what, where, and one thing to try."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest
from support_modelica import model_of, text_of

import pliant

GOOD = "  Real x(start = 1, fixed = true);\nequation\n  der(x) = -x;"


def error_of(body: str, **options: Any) -> str:
    """The words of the error, which is pliant's own and has a hint."""
    with pytest.raises(pliant.PliantError) as caught:
        pliant.load(text_of(body), **options).simulate(stop=1)
    assert caught.value.hint
    return str(caught.value)


# ----------------------------------------------------------------------------------------------------- the text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("  Real x\nequation\n  x = 1;", ["model.mo:2", ";"]),
        ("  Real x;\nequation\n  x = = 1;", ["model.mo:4"]),
        ("  Real x;\nequation\n  x = 1 +;", ["model.mo:4"]),
        ("  Real x;\nequation\n  x = (1;", ["model.mo:4"]),
        ("  Real x;\nequation\n  x = y;", ["y", "model.mo:4"]),
        ("  Real x;\nequation\n  x = sine(time);", ["sine", "model.mo:4"]),
        ("  Rael x;\nequation\n  x = 1;", ["Rael"]),
        ("  Resistor r;\nequation\n", ["Resistor"]),
        ("  parameter Real p;\n  Real x;\nequation\n  x = p;", ["p"]),
        (
            "  parameter Real p = q;\n  parameter Real q = p;\n  Real x;\nequation\n  x = p;",
            ["p", "depend on each other"],
        ),
        ("  Real x[3];\nequation\n  x = {1, 2};", []),
        ("  Real x;\nequation\n  x = true;", []),
        ("  Real x;\n  Real x;\nequation\n  x = 1;", ["x"]),
        ("  Real x(strat = 1);\nequation\n  der(x) = 1;", ["strat"]),
        ("  Real x[2];\nequation\n  x[1] = 1; x[3] = 2;", []),
        ("  Real x;\nequation\n  x = 1/0;", []),
    ],
)
def test_wrong_text(body: str, words: list[str]) -> None:
    said = error_of(body)
    for word in words:
        assert word in said


@pytest.mark.parametrize("text", ["\n", "\n\n   \n", "model M\n", "garbage\n", "// comment\n", "package P\nend P;\n"])
def test_no_model_at_all(text: str) -> None:
    with pytest.raises(pliant.PliantError):
        pliant.load(text)


def test_a_model_without_equations() -> None:
    """Nothing to simulate is no reason to crash."""
    try:
        result = pliant.load("model M\nend M;\n").simulate(stop=1)
    except pliant.PliantError:
        return
    assert result.time[-1] == 1


def test_files(tmp_path: Path) -> None:
    with pytest.raises(pliant.ModelError, match=r"nothere\.mo"):
        pliant.load(tmp_path / "nothere.mo")
    with pytest.raises(pliant.ModelError, match=r"nothere\.mo"):
        pliant.load(str(tmp_path / "nothere.mo"))
    with pytest.raises(pliant.PliantError):
        pliant.load(tmp_path)  # a folder without package.mo
    empty = tmp_path / "empty.mo"
    empty.write_text("")
    with pytest.raises(pliant.PliantError):
        pliant.load(empty)
    binary = tmp_path / "binary.mo"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(pliant.PliantError):
        pliant.load(binary)
    two = tmp_path / "two.mo"
    two.write_text(text_of(GOOD, "First") + text_of(GOOD.replace("-x", "-2*x"), "Second"))
    assert pliant.load(two).name == "Second"
    assert pliant.load(two, name="First").name == "First"
    with pytest.raises(pliant.ModelError, match="`First`, `Second`"):
        pliant.load(two, name="Third")
    with pytest.raises(pliant.ModelError, match="does not exist"):
        pliant.load(two, path=[tmp_path / "no folder"])


def test_encodings(tmp_path: Path) -> None:
    text = text_of('  Real x(start = 1, fixed = true, unit = "Ω") "Größe µ */ ??/ %s";\nequation\n  der(x) = -x;')
    for name, data in (("bom", b"\xef\xbb\xbf" + text.encode()), ("crlf", text.replace("\n", "\r\n").encode())):
        file = tmp_path / f"{name}.mo"
        file.write_bytes(data)
        model = pliant.load(file)
        assert model.variables["x"].unit == "Ω"
        assert model.variables["x"].description == "Größe µ */ ??/ %s"
        assert model.simulate(stop=1).final["x"] == pytest.approx(math.exp(-1), abs=1e-4)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "name",
    [
        "int",
        "m",
        "t",
        "self",
        "pl_real",
        "NULL",
        "sin",
        "stateset1",
        "'a b'",
        "'*/'",
    ],
)
def test_names_that_mean_something_in_c(name: str) -> None:
    body = f"  Real {name}(start = 1, fixed = true), zz;\nequation\n  der({name}) = -zz; zz = {name} + 0.1*sin(zz);"
    result = model_of(body).simulate(stop=1)
    assert result[name][-1] < 1


# ---------------------------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"form": "pde"}, "pde"),
        ({"tearing": "none"}, "none"),
        ({"largest_torn": 0}, "largest_torn"),
        ({"aliasses": True}, "aliasses"),
    ],
)
def test_wrong_options(options: dict[str, Any], word: str) -> None:
    with pytest.raises(pliant.ArgumentError, match=word):
        pliant.load(text_of(GOOD), options=options)


@pytest.mark.parametrize("options", [{"largest_torn": "many"}, {"aliases": "no"}, {"fold_parameters": 3}])
def test_options_of_a_wrong_type(options: dict[str, Any]) -> None:
    with pytest.raises(pliant.ArgumentError):
        pliant.load(text_of(GOOD), options=options)


def test_tear_as_a_plain_string() -> None:
    """tear="y" would be taken as a list of letters."""
    body = "  Real x(start = 1), yy, z;\nequation\n  der(x) = -yy; yy = x + sin(z); z = x - yy;"
    try:
        model = pliant.load(text_of(body), tear="yy")
    except pliant.PliantError as error:
        said = str(error)
        assert "yy" in said or "list" in said
        return
    assert "yy" in model.structure.loops[0].tearing


def test_wrong_arguments_of_simulate() -> None:
    model = model_of(GOOD)
    for wrong in (
        {"stop": math.inf},
        {"stop": -1.0},
        {"stop": 1.0, "method": "magic"},
        {"stop": 1.0, "rtol": -1.0},
        {"stop": 1.0, "start_values": {"x": math.nan}},
        {"stop": 1.0, "parameters": {"x": 1.0}},
        {"stop": 1.0, "inputs": {"x": 1.0}},
    ):
        with pytest.raises(pliant.PliantError):
            model.simulate(**wrong)


# ---------------------------------------------------------------------------------------------------- the sizes


def test_a_long_sum() -> None:
    terms = " + ".join(f"sin({k}*x)" for k in range(1, 250))
    result = model_of(f"  Real x(start = 1, fixed = true), y;\nequation\n  der(x) = -1e-3*y; y = {terms};").simulate(
        stop=0.1
    )
    assert math.isfinite(result["x"][-1])


def test_deep_nesting() -> None:
    e = "x"
    for _ in range(150):
        e = f"sin({e} + 0.1)"
    result = model_of(f"  Real x(start = 1, fixed = true);\nequation\n  der(x) = -{e};").simulate(stop=0.1)
    assert math.isfinite(result["x"][-1])


def test_a_long_chain() -> None:
    body = """  parameter Integer n = 100;
  Real x[n](each start = 0, each fixed = true), y[n];
equation
  y[1] = 1; for i in 2:n loop y[i] = x[i - 1]; end for;
  for i in 1:n loop der(x[i]) = y[i] - x[i]; end for;"""
    result = model_of(body).simulate(stop=2)
    assert result["x[1]"][-1] == pytest.approx(1 - math.exp(-2), abs=1e-4)
    assert result["x[2]"][-1] == pytest.approx(1 - 3 * math.exp(-2), abs=1e-4)


@pytest.mark.parametrize("scale", ["1e-20", "1e20", "1e-150", "1e150"])
def test_scales(scale: str) -> None:
    """Very small and very large coefficients are neither zero nor infinite."""
    body = f"""  Real x(start = 1, fixed = true), y, z;
equation
  der(x) = -y; {scale}*y = {scale}*(x + z); {scale}*z = 0.5*{scale}*x - 0.1*{scale}*y;"""
    result = model_of(body).simulate(stop=1, rtol=1e-8)
    assert result["x"][-1] == pytest.approx(math.exp(-1.5 / 1.1), abs=1e-6)


def test_a_divisor_that_is_no_pivot_is_named() -> None:
    model = model_of("  parameter Real V = 2;\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = -x*x/V;")
    with pytest.raises(pliant.ModelError, match="divided by V, which is zero"):
        model.simulate(stop=1, parameters={"V": 0.0})


def test_a_divisor_in_a_branch_that_is_not_taken_is_fine() -> None:
    body = "  parameter Real p = 2;\n  Real x(start = 1, fixed = true);\nequation\n"
    model = model_of(body + "  der(x) = if noEvent(p > 0) then -x/p else -x;")
    assert model.simulate(stop=1, parameters={"p": 0.0})["x"][-1] == pytest.approx(0.367879, rel=1e-4)


def test_text_in_one_line() -> None:
    model = pliant.load("model M Real x(start = 2, fixed = true); equation der(x) = -x; end M;")
    assert model.name == "M"
    assert pliant.inspect("  within A; model M Real x; equation x = time; end M; ").n_equations == 1
    for source in ("model M Real x; equation x = 1; end M", "model", "Real x"):
        for call in (pliant.load, pliant.inspect):
            with pytest.raises(pliant.ModelError, match=r"(?s)there is no file.*text must contain a line break"):
                call(source)
    with pytest.raises(pliant.ModelError, match=r'(?s)by its name: pliant.load\("\\n", name="A.B.C"\)'):
        pliant.load("A.B.C")
    with pytest.raises(pliant.ModelError, match="the source is empty"):
        pliant.load("")


@pytest.mark.parametrize(
    ("unit", "why"),
    [("V/Hz(1/2)", "unexpected `(1/2)`"), ("m0.5", "before `5`"), ("kg m", "white-space is not allowed")],
)
def test_unit_that_cannot_be_read(unit: str, why: str) -> None:
    """The place is that of the first one, and the hint tells how units are written."""
    text = (
        f'model M\n  Real x(unit = "{unit}");\n  parameter Real p(unit = "{unit}") = 2;\nequation\n  x = p;\nend M;\n'
    )
    with pytest.raises(pliant.ModelError) as caught:
        pliant.load(text)
    assert re.search(rf"model.mo:2:\d+: the unit of `x` cannot be read: .*{re.escape(why)}", str(caught.value))
    assert "whole exponents" in str(caught.value)
    assert "`p`" not in str(caught.value)


BUS = """expandable connector Bus
  DECLARED
end Bus;
connector In = input Real;
connector Out = output Real;
block Source
  Out y;
equation
  y = time;
end Source;
block Integral
  In u;
  Real x(start = 0, fixed = true);
equation
  der(x) = u;
end Integral;
model M
  Bus bus;
  Source source;
  Integral integral;
equation
  connect(source.y, bus.signal);
  connect(bus.signal, integral.u);
end M;
"""


@pytest.mark.parametrize("declared", ["", "Real signal;"])
def test_expandable_connector(declared: str) -> None:
    result = pliant.load(BUS.replace("DECLARED", declared)).simulate(stop=1, rtol=1e-8)
    assert result.final["integral.x"] == pytest.approx(0.5)
