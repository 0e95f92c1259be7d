"""Reading: which class is taken, where libraries come from, and every failure of rumoca in the user's words."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from test_frontend_support import needs_msl, solved

from pliant.errors import ModelError, NotSupportedError
from pliant.frontend.classes import classes, line_of, within
from pliant.frontend.flat.model import FlatModel
from pliant.frontend.reading import FRONTENDS, read_flat
from pliant.frontend.rumoca import read as reader
from pliant.frontend.rumoca.messages import SourceText, translate
from pliant.frontend.scalar.scalarize import scalarize

Reader = Callable[..., FlatModel]


@pytest.fixture(params=FRONTENDS)
def read(request: pytest.FixtureRequest) -> Reader:
    """Both front ends."""
    return partial(read_flat, frontend=request.param)


def variables(flat: FlatModel) -> list[str]:
    return [one.name for one in flat.variables]


# ------------------------------------------------------------------------------------------- what is read


def test_the_last_model_of_a_text(read: Reader) -> None:
    flat = read("model A\n  Real x = 1;\nend A;\nmodel B\n  A a;\n  Real y = 2;\nend B;\n", None, [])
    assert variables(flat) == ["a.x", "y"]
    assert flat.name == "B"


def test_a_named_model_and_a_nested_one(read: Reader) -> None:
    text = "model A\n  Real x = 1;\nend A;\npackage P\n  model B\n    Real y = 2;\n  end B;\nend P;\n"
    assert variables(read(text, "A", [])) == ["x"]
    assert variables(read(text, "P.B", [])) == ["y"]
    assert variables(read(text, None, [])) == ["x"]


def test_functions_records_and_partial_models_are_not_chosen(read: Reader) -> None:
    text = """model M
  Real x = f(1);
end M;
partial model Q
  Real z;
end Q;
function f
  input Real u;
  output Real y;
algorithm
  y := u;
end f;
"""
    assert variables(read(text, None, [])) == ["x"]


def test_files_and_their_names_in_spans(read: Reader, tmp_path: Path) -> None:
    file = tmp_path / "M.mo"
    file.write_text("model M\n  Real x = time;\nend M;\n")
    (tmp_path / "other.mo").write_text("model M\n  Real other = 1;\nend M;\n")  # must not be looked at
    for source in (file, str(file)):
        system = scalarize(read(source, None, []))
        assert [v.name for v in system.variables] == ["x"]
        span = system.equations[0].span
        assert span is not None
        assert (span.file, span.line) == (str(file), 2)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "Foo"
    (folder / "Sub").mkdir(parents=True)
    (folder / "package.mo").write_text("package Foo\n  model Inner\n    Real x = time;\n  end Inner;\nend Foo;\n")
    (folder / "Bar.mo").write_text("within Foo;\nmodel Bar\n  Sub.Baz b;\n  Inner i;\nend Bar;\n")
    (folder / "Sub" / "package.mo").write_text("within Foo;\npackage Sub\nend Sub;\n")
    (folder / "Sub" / "Baz.mo").write_text("within Foo.Sub;\nmodel Baz\n  Real y = 2*time;\nend Baz;\n")
    return folder


def test_packages_in_folders(read: Reader, package: Path) -> None:
    assert variables(read(package, "Foo.Bar", [])) == ["b.y", "i.x"]
    assert variables(read(package / "Bar.mo", None, [])) == ["b.y", "i.x"]
    assert variables(read(package / "Sub" / "Baz.mo", None, [])) == ["y"]
    assert variables(read(package / "package.mo", "Foo.Inner", [])) == ["x"]
    flat = read("model M\n  extends Foo.Bar;\nend M;\n", None, [package.parent])
    assert variables(flat) == ["b.y", "i.x"]
    assert variables(read("\n", "Foo.Sub.Baz", [package.parent])) == ["y"]


def test_libraries_from_the_environment(read: Reader, package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODELICAPATH", f"/nowhere:{package.parent}")
    assert variables(read("model M\n  Foo.Bar x;\nend M;\n")) == ["x.b.y", "x.i.x"]


@needs_msl
def test_a_class_of_the_standard_library(read: Reader) -> None:
    system = scalarize(read("\n", "Modelica.Mechanics.Rotational.Examples.First"))
    assert system.name == "Modelica.Mechanics.Rotational.Examples.First"
    assert len(system.equations) == 54
    assert len(system.derivative) == 8
    assert system.refusals == []
    texts = {e.span.text for e in system.equations if e.span}
    assert "a = der(w)" in texts


@needs_msl
def test_complex_numbers_are_found(read: Reader) -> None:
    system = scalarize(read("model M\n  Complex a = Complex(1, time);\n  Real x = a.im;\nend M;\n"))
    assert solved(system, 3.0)["x"] == 3.0


# ----------------------------------------------------------------------------------------------- the scanner


def test_the_scanner_of_classes() -> None:
    text = """within A.B;
// model Not
/* model Neither */
encapsulated package P "model 'in a string'"
  type T = Real(unit = "m");
  operator record C
    Real re;
  end C;
  partial model Q
  equation
    if true then
    end if;
    for i in 1:2 loop
    end for;
  end Q;
  model S = Q(x = 1);
  block R
  end R;
end P;
"""
    assert within(text) == "A.B"
    found = {c.name: (c.kind, c.is_partial) for c in classes(text)}
    assert found == {
        "P": ("package", False),
        "P.T": ("type", False),
        "P.C": ("record", False),
        "P.Q": ("model", True),
        "P.S": ("model", False),
        "P.R": ("block", False),
    }
    assert line_of("a\n  // x\n  y + x", "x") == (3, 7)
    assert line_of("a", "x") is None


# -------------------------------------------------------------------------------------------------- failures

FAILURES = {
    "while": (
        """function f
  input Real x;
  output Real y;
algorithm
  y := x;
  while y < 10 loop
    y := y*2;
  end while;
end f;
Real z = f(time);""",
        NotSupportedError,
        "while",
        7,
    ),
    "break": (
        """function f
  input Real x;
  output Real y;
algorithm
  y := x;
  for i in 1:10 loop
    y := y*2;
    if y > 5 then break; end if;
  end for;
end f;
Real z = f(time);""",
        NotSupportedError,
        "break",
        9,
    ),
    "bounds at run time": (
        """function f
  input Real x;
  input Integer n;
  output Real y;
algorithm
  y := x;
  for i in 1:n loop y := y*2; end for;
end f;
discrete Integer k;
Real z = f(time, k);
equation
when time > 1 then k = 3; end when;""",
        NotSupportedError,
        "known only at run time",
        8,
    ),
    "der of an expression": ("Real x(start=1);\nequation\nder(x*x) = 1;", NotSupportedError, "der", 4),
    "second derivative": ("Real x(start=1);\nequation\nder(der(x)) = 1;", NotSupportedError, "der", 4),
    "left out output": (
        """function f
  input Real x;
  output Real y;
  output Real z;
algorithm
  y := x;
  z := 2*x;
end f;
Real z;
equation
(, z) = f(time);""",
        NotSupportedError,
        "leaves out an output",
        12,
    ),
    "algorithm": (
        "Real x, y;\nalgorithm\nx := time;\ny := 2*x;\nx := x + 1;",
        NotSupportedError,
        "algorithm section",
        3,
    ),
    "when in a loop": (
        "discrete Integer n[2];\nequation\nfor i in 1:2 loop when time > i then n[i] = i; end when; end for;",
        NotSupportedError,
        "array element",
        4,
    ),
    "elsewhen": (
        "discrete Real a, b;\nequation\nwhen time > 1 then a = 1;\nelsewhen time > 2 then b = 1; end when;",
        ModelError,
        "same variables",
        5,
    ),
    "left side in when": (
        "Real x = time;\ndiscrete Real y;\nequation\nwhen time > 1 then y + 1 = x; end when;",
        ModelError,
        "left side",
        5,
    ),
    "initial algorithm": ("Real x;\ninitial algorithm\nx := 1;\nequation\nder(x) = 1;", NotSupportedError, "`x`", 3),
    "pre": ("Real x = time;\nReal y = pre(x);", ModelError, r"pre\(x\)", 3),
    "clock": ("Real x = time;\nReal y;\nequation\ny = sample(x, Clock(0.1));", NotSupportedError, "clocks", 5),
    "clocked when": (
        "Real x = time;\nReal y;\nequation\nwhen Clock(0.1) then y = sample(x); end when;",
        NotSupportedError,
        "clocks",
        5,
    ),
    "spatialDistribution": (
        "Real x = time;\nReal y, z;\nequation\n(y, z) = spatialDistribution(x, 0, time, true, {0, 1}, {0, 0});",
        NotSupportedError,
        "spatialDistribution",
        5,
    ),
    "ndims": ("parameter Real a[2] = {1, 2};\nReal x = ndims(a)*time;", NotSupportedError, "`ndims`", 3),
    "Integer in cross": ("Real y[3] = {time, 1, 2};\nReal z[3] = cross(y, {1, 0, 0});", ModelError, "Integer", 3),
    "set in for": (
        "Real y[3];\nequation\nfor i in {1, 3} loop y[i] = i; end for;\ny[2] = 1;",
        NotSupportedError,
        "range of numbers",
        4,
    ),
    "delay": ("Real x = time;\nReal y = delay(x, 1);", ModelError, "delay", 3),
    "der of an input": ("input Real u;\nReal y = der(u);", NotSupportedError, "derivative of an input", 3),
    "array of records": (
        """record R
  Real a;
end R;
parameter R r[2] = {R(1), R(2)};
Real x[2];
equation
for i in 1:2 loop x[i] = r[i].a; end for;""",
        NotSupportedError,
        "array of records",
        8,
    ),
    "syntax": ("Real x\nReal y;", ModelError, "syntax error: a `;` is missing after `x`", 2),
    "undeclared": ("Real x = y;", ModelError, "`y` is not declared", 2),
    "class": ("Real x = 1;\nFoo.Bar b;", ModelError, "class `Foo.Bar` was not found", 3),
    "base class": ("extends NoBase;", ModelError, "class `NoBase` was not found", 2),
    "function": ("Real z = foo(time);", ModelError, "function `foo` was not found", 2),
    "too few equations": ("Real x, y;\nequation\nx = 1;", ModelError, "1 equation for 2 unknowns", None),
    "too many equations": ("Real x;\nequation\nx = 1;\nx = 2;", ModelError, "2 equations for 1 unknown", None),
    "type": ('Real x = "a";', ModelError, "a Real is needed, a String is given", 2),
    "size": ("Real x[3] = {1, 2};", ModelError, "sizes", None),
    "argument": (
        "function f\ninput Real x;\noutput Real y;\nalgorithm\ny := x;\nend f;\nReal z = f();",
        ModelError,
        "wrong call of function `f`",
        None,
    ),
    "zero": ("parameter Real p = 1/0;\nReal x = p;", ModelError, "parameter `p` cannot be computed", 2),
    "modifier": (
        "model A\nparameter Real p = 1;\nReal x = p*time;\nend A;\nA a(q = 3);",
        ModelError,
        "modified with `q`",
        6,
    ),
    "twice": ("Real x = 1;\nReal x = 2;", ModelError, "line 2 and again in line 3", None),
    "partial": ("partial model A\nReal x;\nend A;\nA a;", ModelError, "partial class `A`", 5),
    "state machine": (
        "block S\nend S;\nS s;\nequation\ninitialState(s);",
        NotSupportedError,
        "state machines",
        6,
    ),
    "external object": (
        """class T
  extends ExternalObject;
  function constructor output T t; external "C" t = mk(); end constructor;
  function destructor input T t; external "C" rm(t); end destructor;
end T;
parameter T t = T();
Real x = time;""",
        NotSupportedError,
        "external objects",
        2,
    ),
    "circle": ("parameter Real a = b;\nparameter Real b = a;\nReal x = a;", ModelError, "depends on itself", 2),
    "index": ("Real x[3] = {1, 2, 3};\nReal y = x[4];", ModelError, "index 4 of `x` is outside 1..3", 3),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_are_explained(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    body, kind, text, line = FAILURES[name]
    with pytest.raises(ModelError, match=text) as caught:
        reader.read(f"model M\n{body}\nend M;\n", None, [])
    assert type(caught.value) is kind
    assert caught.value.hint
    message = str(caught.value)
    if line is not None:
        assert f"model.mo:{line}:" in message
    for word in ("ToDae", "Flatten", "Typecheck", "owner", "canonical", "panic", "pliant-nowhere"):
        assert word not in message
    noise = capfd.readouterr()
    assert "panicked" not in noise.err


def test_no_model_or_no_such_model(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no model"):
        reader.read("function f\nend f;\n", None, [])
    with pytest.raises(ModelError, match="several models") as caught:
        reader.read("package P\n  model A\n  end A;\n  model B\n  end B;\nend P;\n", None, [])
    assert "P.A, P.B" in caught.value.hint
    with pytest.raises(ModelError, match="no class `X`") as caught:
        reader.read("model M\nend M;\n", "X", [])
    assert "M" in caught.value.hint
    with pytest.raises(ModelError, match=r"no class `P.X`"):
        reader.read("package P\n  model A\n  end A;\nend P;\n", "P.X", [])
    with pytest.raises(ModelError, match="does not exist"):
        reader.read(tmp_path / "no.mo", None, [])
    with pytest.raises(ModelError, match="does not exist"):
        reader.read("Real x", None, [])
    with pytest.raises(ModelError, match=r"without package.mo"):
        reader.read(tmp_path, None, [])
    with pytest.raises(ModelError, match="library folder `/nowhere` does not exist"):
        reader.read("model M\nend M;\n", None, ["/nowhere"])
    file = tmp_path / "latin.mo"
    file.write_bytes(b"model M // \xff\nend M;\n")
    with pytest.raises(ModelError, match=r"latin.mo:1:12: the file is not UTF-8 text: byte 11 is 0xff"):
        reader.read(file, None, [])


def test_rumoca_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "rumoca":
            raise ImportError("No module named 'rumoca'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ModelError, match="rumoca is not installed") as caught:
        reader.read("model M\nend M;\n", None, [])
    assert "pip install" in caught.value.hint


def test_another_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "_compile", lambda model: {"schema_version": 44})
    with pytest.raises(ModelError, match="format 44"):
        reader.read("model M\nend M;\n", None, [])


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        (
            "todae failed: M failed in ToDae: unsupported Flat semantic owner `function value type`: "
            "`g.tableID` has unsupported type `Modelica.Blocks.Types.ExternalCombiTable2D`",
            NotSupportedError,
            "CombiTable2D",
        ),
        ("typecheck failed: M failed in Typecheck: equality comparison on Real values", ModelError, "=="),
        ("todae failed: M failed in ToDae: expected a numeric expression", NotSupportedError, "Integer"),
        (
            "todae failed: M failed in ToDae: variable `a` has the wrong DAE coordinate role",
            NotSupportedError,
            "Complex",
        ),
        ("something else entirely", ModelError, "something else entirely"),
    ],
)
def test_other_messages(text: str, kind: type[ModelError], part: str) -> None:
    error = translate(text, SourceText("M.mo", "model M\nend M;\n", "M"))
    assert type(error) is kind
    assert part in str(error)
    assert error.hint


def test_an_unknown_panic() -> None:
    error = translate("index out of bounds", SourceText("M.mo", "", "M"), is_panic=True)
    assert isinstance(error, NotSupportedError)
    assert "stopped with an internal error" in str(error)
