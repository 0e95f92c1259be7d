"""The reason that an error gives is the true one, and what is legal and can be done is done.

Reasons and faults of syntax are those of the front end rumoca; those of the usual one are in test_messages.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support_modelica import text_of

import pliant
from pliant.errors import ArgumentError, ModelError
from pliant.frontend.rumoca.samples import named_samples
from pliant.frontend.rumoca.syntax import find_fault
from pliant.textfile import read_text

STATE = "  Real x(start = 1, fixed = true);\n"
D = "  discrete Real d(start = 0, fixed = true);\n"


# ------------------------------------------------------------------------------------------- what works


@pytest.mark.parametrize(
    "clauses",
    [
        "equation when sample(0, 0.5) then d = 1; elsewhen sample(0.25, 0.5) then d = 2; end when;",
        "algorithm when sample(0, 0.5) then d := 1; elsewhen sample(0.25, 0.5) then d := 2; end when;",
        "  Boolean a = sample(0, 0.5), b = sample(0.25, 0.5);\n"
        "equation when a then d = 1; elsewhen b then d = 2; end when;",
    ],
)
def test_sample_in_two_branches(clauses: str) -> None:
    result = pliant.load(text_of(D + clauses)).simulate(stop=1, points=[0.1, 0.3, 0.6, 0.8])
    assert list(result["d"]) == [1, 2, 1, 2]
    assert not [name for name in result.names if "ick" in name]


@pytest.mark.parametrize("condition", ["{sample(0, 0.5), sample(0.25, 0.5)}", "sample(0, 0.5) or sample(0.25, 0.5)"])
def test_several_sample_in_one_condition(condition: str) -> None:
    body = f"{D}equation\n  when {condition} then d = pre(d) + 1; end when;"
    assert list(pliant.load(text_of(body)).simulate(stop=1, points=[0.1, 0.3, 0.6, 0.8])["d"]) == [1, 2, 3, 4]


def test_one_sampled_variable_reads_another() -> None:
    body = D.replace("d(", "e(") + D + "equation\n  when sample(0, 0.5) then d = pre(d) + 1; end when;\n"
    body += "  when sample(0.25, 0.5) then e = pre(e) + d; end when;"
    assert list(pliant.load(text_of(body)).simulate(stop=1, points=[0.1, 0.3, 0.6, 0.8])["e"]) == [0, 1, 1, 3]


def test_named_samples_keep_lines() -> None:
    text = text_of(D + "equation\n  when sample(0,\n    0.5) then\n    d = 1;\n  end when;")
    renamed = named_samples(text)
    assert renamed is not None
    assert renamed.count("\n") == text.count("\n")
    assert renamed.split("\n")[-4:] == text.split("\n")[-4:]
    assert named_samples(text.replace("d = 1", "Clock c")) is None


@pytest.mark.parametrize(
    "body",
    [
        "  Boolean b(start = true, fixed = true);\n"
        + STATE
        + "equation\n  der(x) = if b then -x else 1;\n  b = pre(b);",
        "  Integer b(start = 1, fixed = true) = pre(b);\n" + STATE + "equation\n  der(x) = -b*x;",
        "  discrete Real b(start = 1, fixed = true);\n" + STATE + "equation\n  der(x) = -b*x;\n  b = pre(b);",
    ],
)
def test_a_variable_that_keeps_its_value(body: str) -> None:
    result = pliant.load(text_of(body)).simulate(stop=1, rtol=1e-8)
    assert result.final["x"] == pytest.approx(np.exp(-1), rel=1e-6)
    assert set(result["b"]) == {1.0}


# ------------------------------------------------------------------------------------------- true reasons

REASONS = {
    "Integer = Real": ("  Real r = time;\n  Integer n;\nequation\n  n = div(r, 0.7);", "5:3: `n` is an Integer"),
    "Integer bound to Real": (
        "  Real r = time;\n  Integer n = div(r, 0.7);",
        "3:15: an Integer is needed, a Real is given",
    ),
    "Integer set by when": (
        "  Integer n(start = 0, fixed = true);\nequation\n  when sample(0, 0.1) then n = time; end when;",
        "`n` is an Integer, and a Real is given",
    ),
    "sizes": ("  Real a[3] = {1, 2};", "the sizes of two arrays"),
    "sizes of an equation": (
        "  Real a[3], b[2];\nequation\n  a = b; b = {1, 2};",
        r"4:3: the sizes of two sides differ",
    ),
    "loop in an algorithm": (
        STATE + "  Real s;\nequation\n  der(x) = -s;\nalgorithm\n  s := 0;\n  for i in 1:3 loop s := s + x; end for;",
        "6:1: an algorithm section holds something else than assignments to scalars and if, such as a loop",
    ),
    "pre in an algorithm": (
        STATE + "  Boolean b(start = true);\nequation\n  der(x) = -x;\nalgorithm\n  b := pre(b);",
        r"reads `b`, or pre\(b\), before it sets it",
    ),
    "when inside if": (
        "  parameter Boolean k = true;\n  Boolean b(start = true, fixed = true);\n" + STATE + "equation\n"
        "  der(x) = -x;\n  if k then when x < 0.5 then b = false; end when;\n"
        "  else when x < 0.7 then b = false; end when; end if;",
        "when-clauses inside if-equations are lost",
    ),
    "interval of sample": (
        D + "equation\n  when sample(0, -1) then d = 1; end when;",
        "the interval of sample.* positive",
    ),
    "sample of a variable": (
        D + "  Real r = time;\nequation\n  when sample(0, r) then d = 1; end when;",
        "the interval of sample.* is not made of parameters and numbers: r",
    ),
    "two when-clauses": (
        D + "equation\n  when time > 0.3 then d = 1; end when;\n  when time > 0.6 then d = 2; end when;",
        "set in two when-clauses",
    ),
    "der of a parameter": ("  parameter Real p = 1;\n  Real r = der(p);", "derivative of an input, a parameter"),
    "function without output": ("  function f input Real a; end f;\n  Real r = f(time);", "function `f` has no output"),
    "number as a condition": ("  Real r = if time then 1 else 2;", "a condition, true or false, is needed"),
    "if without else": ("  Real r;\nequation\n  if time > 1 then r = 1; end if;", "4:3: an if-equation without else"),
    "range of time": ("  Real r[2];\nequation\n  for i in 1:time loop r[i] = 1; end for;", "depends on `time`"),
    "== as an equation": ("  Real r;\nequation\n  r == 1;", "4:5: `==` compares"),
    "no inner": ("  model C outer Real g; Real y = g; end C;\n  C c;", "`g` is declared outer"),
    "time declared": ("  parameter Real time = 3;\n  Real r = time;", "`time` is the time itself"),
    "a parameter that is no number": (
        "  parameter Real p = log(-1);\n  Real r = p*time;",
        "parameter `p` has no finite value",
    ),
    "terminate in an equation": (
        '  Real r = time;\nequation\n  if time > 0.5 then terminate("x"); end if;',
        r"4:22: terminate\(...\) outside of a when-clause",
    ),
    "quoted function": (
        "  function 'f' input Real a; output Real b; algorithm b := a; end 'f';\n  Real r = 'f'(time);",
        "the function 'f' has a quoted name",
    ),
}


@pytest.mark.parametrize("case", REASONS)
def test_reasons(case: str) -> None:
    body, reason = REASONS[case]
    with pytest.raises(ModelError, match=reason) as caught:
        pliant.load(text_of(body), frontend="rumoca").simulate(stop=1)
    assert caught.value.hint
    assert "identity" not in str(caught.value)


SYNTAX = {
    "  model input Real x; end input;": "2:9: syntax error: `input` is a keyword",
    "  Real initial(start = 1);": "2:8: syntax error: `initial` is a keyword",
    "  Real 'größe';": "2:8: syntax error: the quoted name 'größe' has the letter `ö`",
    "  Real α;": "2:8: syntax error: `α` cannot be part of a name",
    "  Real x\n  Real y;": "2:8: syntax error: a `;` is missing after `x`",
    "  Real x\nequation\n  x = 1;": "2:8: syntax error: a `;` is missing after `x`",
    "  Real x;\nequation\n  x = 1": "4:7: syntax error: a `;` is missing after `1`",
    "  Real x(start = 1;": r"2:9: syntax error: the bracket `\(` that is opened here is not closed",
    "  Real x = (1 + 2]);": r"2:18: syntax error: `\]` closes nothing",
    "  Real x;\nequation\n  x := 1;": "4:5: syntax error: `:=` assigns",
    "  Real x;\nalgorithm\n  x = 1;": "4:5: syntax error: `=` makes an equation",
    "  Real x;\nequation\n  x = 1;\n  Real y = 2;": "5:3: syntax error: `Real y` is a declaration after `equation`",
    "  Real x = time**2;": "syntax error",
    "  Real x;\nequation\n  x = time**2;": r"4:11: syntax error: `\*\*` is not an operator",
    "  Real x;\nequation\n  x = 2 y;": "4:9: syntax error: `y` follows `2` without an operator",
    "  Real x = if time != 1 then 1 else 2;": "2:20: syntax error: `!` has no meaning",
    "  Real x = −time;": "2:12: syntax error: `−` has no meaning",
    "  Real x;\nequation\n  while time > 1 loop x = 1; end while;": "4:3: syntax error: `while` stands in algorithm",
    '  Real x = 1 "open;': "2:14: syntax error: the string that begins here does not end",
    "  /* Real x = 1;": "2:3: syntax error: the comment that begins here does not end",
    '  Real x = 1 "a\\qb";': r"2:16: syntax error: `\\q` in a string has no meaning",
    '  Real x;\nequation\n  x = 1; "hello\nworld"': '4:10: syntax error: a `;` is missing after `"hello world"`',
    "  Real x = 1e400;": "2:12: `1e400` is too large for a Real",
    "  Real x(max = 1e400) = 1;": "2:16: `1e400` is too large for a Real",
    "  parameter Integer n = 99999999999999999999;": "2:25: `99999999999999999999` is too large for an Integer",
}


@pytest.mark.parametrize("body", SYNTAX)
def test_syntax(body: str) -> None:
    with pytest.raises(ModelError, match=f"model.mo:.*{SYNTAX[body]}") as caught:
        pliant.load(text_of(body), frontend="rumoca")
    assert caught.value.hint


def test_strings_may_go_over_lines() -> None:
    body = '  parameter String s = "hello\nworld \\"you\\" \\\\";\n  Real x = time "a\nb";\n'
    assert pliant.load(text_of(body)).simulate(stop=1).final["x"] == 1


def test_what_counts_outside_of_when_is_named() -> None:
    for body in (
        "  Integer n(start = 0, fixed = true);\nequation\n  n = pre(n) + 1;",
        "  Boolean n(start = false, fixed = true);\nequation\n  n = not pre(n);",
        "  discrete Real n(start = 1, fixed = true);\nequation\n  n = 2*pre(n);",
    ):
        model = pliant.load(text_of(body))
        with pytest.raises(pliant.InitialValueError, match=r"n \(model.mo:4\) changes in every round") as caught:
            model.simulate(stop=1)
        assert "when-clause" in caught.value.hint


# -------------------------------------------------------------------------------------- the past of inputs

BEFORE = {
    "edge(b)": ("Boolean", 2),
    "change(b)": ("Boolean", 4),
    "b and not pre(b)": ("Boolean", 2),
    "edge(b) or pre(b) and change(b)": ("Boolean", 4),
    "change(n)": ("Integer", 4),
    "n > pre(n)": ("Integer", 2),
    "edge(b[2])": ("Boolean[2]", 2),
}


@pytest.mark.parametrize("condition", BEFORE)
@pytest.mark.parametrize("state", ["", " Real x(start = 0, fixed = true);"])
@pytest.mark.parametrize("frontend", ["pliant", "rumoca"])
def test_edges_of_inputs(condition: str, state: str, frontend: str) -> None:
    kind, count = BEFORE[condition]
    name = "n" if kind == "Integer" else "b"
    more = "\n  der(x) = 1;" if state else ""
    model = pliant.load(
        text_of(
            f'  input {kind} {name} "of course: edge(b);";{state} Integer k(start = 0, fixed = true);\nequation{more}\n'
            f"  when {condition} then\n    k = pre(k) + 1;\n  end when;"
        ),
        frontend=frontend,
    )
    table = ([0, 1, 2, 3, 4], [0, 1, 0, 1, 0])
    inputs = {"b[1]": 0, "b[2]": table} if "[" in kind else {name: table}
    result = model.simulate(stop=5, inputs=inputs, points=[0.5, 1, 1.5, 5])
    assert result["k"][-1] == count
    assert result["k"][:2].tolist() == [0, 1]
    assert not any("pliant" in one or "$" in one for one in (*model.variables, *result.names))


def test_edges_of_inputs_that_cannot_be_had() -> None:
    with pytest.raises(ModelError, match=r"model.mo:4:8: `edge` is for Boolean variables, `n` is an Integer") as caught:
        pliant.load(text_of("  input Integer n; Integer k;\nequation\n  when edge(n) then k = 1; end when;"))
    assert "change" in caught.value.hint


def test_parameters_ask_for_the_size_of_discrete_variables() -> None:
    text = """
block B
  input Boolean reset[:] = {false};
  parameter Integer n = size(reset, 1);
  Boolean on(start = false, fixed = true);
equation
  when time > 1 or pre(reset[1]) then
    on = not pre(on);
  end when;
end B;
model M
  B a(reset = {b.on}), b(reset = {a.on});
  Real y = a.n + 10*b.n;
end M;
"""
    result = pliant.load(text).simulate(stop=3)
    assert result.final["y"] == 11


def test_no_fault_where_there_is_none() -> None:
    for file in sorted(Path(__file__).parents[1].glob("examples/*.mo")):
        assert find_fault(file.read_text(encoding="utf-8")) is None, file


# ------------------------------------------------------------------------------------------- files that are not UTF-8

LATIN = 'model M "Größe"\n  Real x = time;\nend M;\n'.encode("latin-1")


def test_a_model_in_latin_1(tmp_path: Path) -> None:
    (tmp_path / "M.mo").write_bytes(LATIN)
    with pytest.raises(ModelError, match=r"M.mo:1:12: the file is not UTF-8 text: byte 11 is 0xf6") as caught:
        pliant.load(tmp_path / "M.mo")
    assert "Latin-1, with the letter `ö`" in caught.value.hint
    (tmp_path / "M.mo").unlink()
    package = tmp_path / "P"
    package.mkdir()
    (package / "package.mo").write_text("package P\nend P;\n")
    (package / "M.mo").write_bytes(b"within P;\n" + LATIN)
    for source, options in ((package, {"name": "P.M"}), ("model N\n  extends P.M;\nend N;\n", {"path": [tmp_path]})):
        with pytest.raises(ModelError, match=r"M.mo:2:12: the file is not UTF-8 text"):
            pliant.load(source, **options)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"model.mo:1:12: the text holds a byte that was not UTF-8"):
        pliant.load(LATIN.decode("utf-8", "surrogateescape"))


def test_other_files_in_latin_1(tmp_path: Path) -> None:
    file = tmp_path / "r.csv"
    file.write_bytes("time,ü\n0,1\n".encode("latin-1"))
    with pytest.raises(ArgumentError, match=r"r.csv:1:6: the file is not UTF-8 text: byte 5 is 0xfc"):
        pliant.load_result(file)
    file.write_bytes("time\n".encode("utf-16"))
    with pytest.raises(ArgumentError, match="not UTF-8") as caught:
        read_text(file)
    assert "UTF-16" in caught.value.hint


def test_a_mark_before_the_text(tmp_path: Path) -> None:
    text = "model M\r\n  Real x = time;\r\nend M;\r\n"
    (tmp_path / "M.mo").write_bytes(text.encode("utf-8-sig"))
    assert pliant.load(tmp_path / "M.mo").simulate(stop=1).final["x"] == 1
    assert pliant.load("\ufeff" + text).simulate(stop=1).final["x"] == 1
