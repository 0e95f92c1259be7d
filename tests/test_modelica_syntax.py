"""Modelica text to syntax trees: what is read, what is refused in which words, and how fast. See families.syntax."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pliant.errors import ModelicaSyntaxError
from pliant.frontend.modelica.syntax import parse, parse_on_demand
from pliant.frontend.modelica.syntax import tree as t
from pliant.frontend.modelica.syntax.faults import SyntaxFault
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.walk import left_chain, same, walk

LIBRARY = os.environ.get("MODELICAPATH", "")


def long_class(text: str) -> t.LongClass:
    found = parse(text, "a.mo").classes[-1]
    assert isinstance(found, t.LongClass)
    return found


def body(text: str) -> t.Body:
    return long_class(f"model M\n{text}\nend M;").body


def value(text: str) -> t.Expression:
    equation = body(f"equation\n  y = {text};").equations[0]
    assert isinstance(equation, t.SimpleEquation)
    return equation.right


def faults(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(ModelicaSyntaxError) as caught:
        parse(text, "a.mo")
    found = caught.value.faults
    assert caught.value.span == found[0].span
    return [(one.span.line, one.span.column, one.message) for one in found if one.span is not None]


def shape(node: t.Expression) -> str:
    """An expression with all parentheses."""
    match node:
        case t.Binary():
            return f"({shape(node.left)}{node.operator}{shape(node.right)})"
        case t.Unary():
            return f"({node.operator} {shape(node.operand)})"
        case t.Range():
            return "(" + ":".join(shape(one) for one in (node.first, node.step, node.last) if one) + ")"
    return node.text


# --------------------------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b*c", "(a+(b*c))"),
        ("-a*b", "(- (a*b))"),
        ("-a^2", "(- (a^2))"),
        ("a - b - c", "((a-b)-c)"),
        ("a/b*c", "((a/b)*c)"),
        ("-a + b", "((- a)+b)"),
        ("(a + b)*c", "((a+b)*c)"),
        ("a .* b .+ c ./ d .^ e", "((a.*b).+(c./(d.^e)))"),
        ("not a == b and c or d", "(((not (a==b))andc)ord)"),
        ("a < -b", "(a<(- b))"),
        ("1:n + 1", "(1:(n+1))"),
        ("1:2:n", "(1:2:n)"),
        ("a and not b", "(aand(not b))"),
        ("3.*x", "(3.*x)"),  # the number is `3.`
        ("(a)^(-b)", "(a^(- b))"),
    ],
)
def test_precedence(text: str, expected: str) -> None:
    assert shape(value(text)) == expected


def test_the_longest_token_wins() -> None:
    product = value("3.*x")
    assert isinstance(product, t.Binary)
    assert isinstance(product.left, t.RealLiteral)
    assert product.operator == "*"


def test_literals_and_names() -> None:
    assert [getattr(value(text), "value", None) for text in ("1", "1.5e-3", ".5", "2.", "true", '"a\\n\\"b\\""')] == [
        1,
        0.0015,
        0.5,
        2.0,
        True,
        'a\n"b"',
    ]
    found = value("'a.b'.c[1, :, end].d")
    assert isinstance(found, t.Reference)
    assert found.names == ("'a.b'", "c", "d")
    assert [len(one) for one in found.subscripts] == [0, 3, 0]
    assert value("a.b").subscripts == ()  # type: ignore[attr-defined]


def test_calls() -> None:
    call = value("f(1, g, function h(a = 2), b = 3)")
    assert isinstance(call, t.Call)
    assert [type(one).__name__ for one in call.arguments] == ["IntegerLiteral", "Reference", "PartialApplication"]
    assert [one.name for one in call.named] == ["b"]
    reduction = value("sum(i*j for i in 1:3, j)")
    assert isinstance(reduction, t.ReductionCall)
    assert [(one.name, one.values is None) for one in reduction.indices] == [("i", False), ("j", True)]
    assert isinstance(value("{i for i in 1:3}"), t.ArrayComprehension)
    assert isinstance(value("initial()"), t.Call)


def test_dimensions_of_the_name_come_first() -> None:
    a, b = body('  parameter Real[3] a = {1, 2, 3}, b[2, 4] "text";').components
    assert (len(a.dimensions), len(b.dimensions)) == (1, 3)
    assert [one.text for one in b.dimensions] == ["2", "4", "3"]
    assert (a.variability, b.description) == ("parameter", "text")


def test_elements_of_a_class() -> None:
    found = body(
        """  import A.B; import C = A.D; import A.E.*; import A.F.{G, H};
  extends Base(redeclare model X = Y, final k = 1, break old, break connect(a, b));
  replaceable model R = S constrainedby T(n = 1) "why";
  inner outer Real w;
protected
  flow Real f if n > 1;
  type E = enumeration(one "first", two);
  function d = der(g, x, y);
public
  redeclare model extends Z(q = 2) "z" end Z;
  operator record O end O;
  pure function p external "C" y = p_c(x, size(x, 1)) annotation(Library = "m"); end p;
initial equation
  w = 1;
equation
  connect(a.b, c[1]) annotation(Line(points = {{0, 0}, {1, 1}}));
algorithm
  (x, , y) := f(1);
initial algorithm
  return;
  annotation(experiment(StopTime = 2));"""
    )
    imports = [(one.names, one.alias, one.everything, one.members) for one in found.imports]
    assert imports == [
        (("A", "B"), "", False, ()),
        (("A", "D"), "C", False, ()),
        (("A", "E"), "", True, ()),
        (("A", "F"), "", False, ("G", "H")),
    ]
    assert list(found.members) == ["R", "w", "f", "E", "d", "Z", "O", "p"]
    modification = found.extends[0].modification
    assert modification is not None
    assert [type(one).__name__ for one in modification.arguments] == [
        "Redeclaration",
        "Modifier",
        "Exclusion",
        "Exclusion",
    ]
    replaceable, w, f = found.members["R"], found.members["w"], found.members["f"]
    assert replaceable.constraint is not None
    assert replaceable.constraint.description == "why"
    assert w.prefixes == t.INNER | t.OUTER
    assert (f.prefixes, isinstance(f, t.Component) and f.condition is not None) == (t.PROTECTED, True)
    z, p = found.members["Z"], found.members["p"]
    assert isinstance(z, t.LongClass)
    assert z.is_extension
    assert z.body.modification is not None
    assert isinstance(p, t.LongClass)
    assert p.prefixes == t.PURE
    assert p.body.external is not None
    assert (p.body.external.function, p.body.external.language) == ("p_c", "C")
    assert [len(one) for one in (found.initial_equations, found.equations, found.algorithms)] == [1, 1, 1]
    assert found.annotation is not None
    assert found.annotation.find("experiment") is not None
    assert found.annotation.find("Icon") is None


def test_repeated_names_are_kept() -> None:
    found = body("  Real x; Real y; Integer x;")
    assert [one.text for one in found.repeated] == ["Integer x"]
    assert found.members["x"].text == "Real x"


def test_places() -> None:
    found = long_class("within A.B;\n/* c */ model M\n  Real x = (1 +\n    2)*3;\nend M;")
    assert (found.span.line, found.span.column, found.name_span.column) == (2, 9, 15)
    component = found.body.components[0]
    assert (component.span.line, component.span.column, component.text) == (3, 3, "Real x = (1 +\n    2)*3")
    assert component.modification is not None
    product = component.modification.value
    assert isinstance(product, t.Binary)
    assert (product.text, product.left.text) == ("(1 +\n    2)*3", "1 +\n    2")
    assert str(product.span) == "a.mo:3"
    assert found.end == len(found.source.text) - 1


def test_bodies_and_annotations_are_read_on_demand() -> None:
    text = "package P\n  model A Real x end A;\n  model B Real x annotation(); end B;\nannotation(k = );\nend P;"
    package = parse_on_demand(Source("a.mo", text)).classes[0]
    assert isinstance(package, t.LongClass)
    a, b = package.body.classes
    assert isinstance(a, t.LongClass)
    assert isinstance(b, t.LongClass)
    assert b.body.components[0].name == "x"
    with pytest.raises(ModelicaSyntaxError, match="expected `;`"):
        _ = a.body
    assert package.annotation is not None
    with pytest.raises(ModelicaSyntaxError, match="expected an expression"):
        _ = package.annotation.arguments


def test_deprecated_assignment_is_a_warning() -> None:
    noted: list[SyntaxFault] = []
    parse("model M Real x := 1; end M;", warnings=noted)
    assert [one.message for one in noted] == ["`:=` in a declaration is deprecated"]


@pytest.mark.parametrize(
    "text", ["", "within;", "within A.B; model M end M;", "\ufeffmodel M\r\n end M;", "final model M end M;"]
)
def test_files(text: str) -> None:
    assert len(parse(text).classes) == text.count("end")


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("model M\n  Real x\n  Real y;\nend M;", 2, "expected `;`"),
        ("model M\n  model A\n  Real x;\nend M;", 2, "the class `A` of line 2 has no end"),
        ("model M\nend N;", 2, "expected `end M`, which ends the class of line 1"),
        ("model M\n  Real x = a * -b;\nend M;", 2, "the sign `-`"),
        ("model M\n  Real x = a^b^c;\nend M;", 2, "powers"),
        ("model M\n  Real x = a < b < c;\nend M;", 2, "relations"),
        ("model M\n  Real x = {};\nend M;", 2, "`{}`"),
        ("model M\n  Real x = not not a;\nend M;", 2, "`not`"),
        ("model M\nequation\n  x := 1;\nend M;", 3, "`:=` cannot stand in an equation"),
        ("model M\nalgorithm\n  x = 1;\nend M;", 3, "`=` cannot stand in an algorithm"),
        ("model M\nequation\n  Real x;\nend M;", 3, "expected `=`"),
        ("model M\n  input parameter Real x;\nend M;", 2, "`parameter` is in the wrong place"),
        ("model M\n  final redeclare Real x;\nend M;", 2, "`redeclare` is in the wrong place"),
        ("model M\n  Real equation;\nend M;", 2, "expected the name of a component"),
        ("model M\n  Real Boolean;\nend M;", 2, "`Boolean` is the name of a predefined type"),
        ("model M\n  annotation();\n  Real x;\nend M;", 2, "the last thing"),
        ("model M\n  Real x constrainedby Real;\nend M;", 2, "replaceable"),
        ("model M\n  A a(model X = Y);\nend M;", 2, "`redeclare`"),
        ("model M\n  Real x = f(a = 1, 2);\nend M;", 2, "an argument without a name"),
        ("model M\n  Real x = y[1][2];\nend M;", 2, "brackets"),
        ("model M\n  Real x = end;\nend M;", 2, "`end`"),
        ("model M\n  Real x = 1e999;\nend M;", 2, "too large"),
        ('model M\n  String s = "\\d";\nend M;', 2, "escape `\\d`"),
        ('model M\n  String s = "abc;\nend M;', 2, "this text has no end"),
        ("model M /* abc\nend M;", 1, "this comment has no end"),
        ("model M\n  Real größe;\nend M;", 2, "the letter `ö`"),
        ("model M\n  Real x = a & b;\nend M;", 2, "'&'"),
        ("model M\nequation\n  if a then\n  x = 1;\n  end for;\nend M;", 5, "expected `end if`"),
        ("model M\nequation\n  while a loop end while;\nend M;", 3, "`while` is no equation"),
        ("model M\nalgorithm\n  connect(a, b);\nend M;", 3, "`connect` is no statement"),
        ("model M\n  import A.*.B;\nend M;", 2, "`;`"),
        ("modl M\nend M;", 1, "expected a class"),
        ("function f(Real x)\nend f;", 1, "what stands in the class"),
        ("Real x;", 1, "expected a class"),
        ("model M end M", 1, "expected `;` behind the class"),
        ("model M equation (a, b) = f(x) = 2; end M;", 1, "expected `;`"),
        ("model M equation a + b; end M;", 1, "expected `=`"),
        ("model M equation der(x); end M;", 1, "expected `=`"),
    ],
)
def test_refused(text: str, line: int, words: str) -> None:
    found = faults(text)
    assert any(at == line and words in message for at, _, message in found), found


def test_several_faults_at_once() -> None:
    text = """model M
  Real x
  Real y = (1;
  parameter flow Real z;
equation
  x = 1
  y = ;
  if x > then
    y = 2;
  end if;
  z := 3;
algorithm
  x = 2;
end M;
model N
  Real;
end N;"""
    assert [line for line, _, _ in faults(text)] == [2, 3, 4, 6, 7, 8, 11, 13, 16]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("modl M\nend M;", "did you mean `model` instead of `modl`?"),
        ("model M\n  paramter Real x = 1;\nend M;", "did you mean `parameter` instead of `paramter`?"),
        ("model M\n  Real x;\nequation\n  x = if a thn 1 else 2;\nend M;", "did you mean `then` instead of `thn`?"),
        ("model M\n  Real model;\nend M;", "`model` is a keyword"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    with pytest.raises(ModelicaSyntaxError) as caught:
        parse(text)
    assert hint in str(caught.value)
    assert caught.value.faults[0].rule


# -------------------------------------------------------------------------------------------------- deep, long and fast


def in_equation(text: str) -> str:
    return f"model M\nequation\n  x = {text};\nend M;"


@pytest.mark.parametrize("operator", ["+", "*", "and", ".-"])
def test_long_chains(operator: str) -> None:
    equation = long_class(in_equation(f" {operator} ".join(["a"] * 10_000))).body.equations[0]
    assert isinstance(equation, t.SimpleEquation)
    first, operations = left_chain(equation.right)
    assert (first.text, len(operations)) == ("a", 9_999)
    assert sum(1 for _ in walk(equation)) == 20_001


def test_long_chain_of_conditions() -> None:
    found = value("if a then 1 else " * 1000 + "2")
    assert isinstance(found, t.If)
    assert len(found.branches) == 1000


@pytest.mark.parametrize(
    "text",
    [
        in_equation("(" * 10_000 + "1" + ")" * 10_000),
        in_equation("if a then " * 1000 + "1" + " else 2" * 1000),
        in_equation("f(" * 10_000 + ")" * 10_000),
        in_equation("a[" * 10_000 + "1" + "]" * 10_000),
        "model M\n  A a" + "(b" * 10_000 + "=1" + ")" * 10_000 + ";\nend M;",
        "model M\nequation\n" + "if a then\n" * 1000 + "end if;\n" * 1000 + "end M;",
        "".join(f"model M{k}\n" for k in range(500)) + "".join(f"end M{k};\n" for k in reversed(range(500))),
    ],
    ids=["parentheses", "if", "calls", "subscripts", "modifiers", "blocks", "classes"],
)
def test_deep_nesting_is_an_error_with_a_place(text: str) -> None:
    assert any("levels deep" in message for _, _, message in faults(text))


def test_nesting_that_is_read() -> None:
    assert isinstance(value("(" * 100 + "a" + ")" * 100), t.Reference)


def test_a_short_stack_is_no_matter() -> None:
    def deeper(levels: int) -> None:
        if levels:
            deeper(levels - 1)
        else:
            parse(in_equation("(" * 100 + "a" + ")" * 100))

    for levels in range(300, 900, 50):
        deeper(levels)


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "model " * 50_000, "end a;" * 20_000, '"' * 50_001, "/*" + "*" * 100_000]
)
def test_nonsense_takes_no_time(text: str) -> None:
    began = time.process_time()
    assert faults(text)
    assert time.process_time() - began < 1.0


def test_short_texts_are_read_in_a_blink() -> None:
    text = in_equation("-k*(T - 20)") * 1
    seconds = []
    for _ in range(20):
        began = time.process_time()
        parse(text)
        seconds.append(time.process_time() - began)
    assert min(seconds) < 2e-3


@pytest.mark.skipif(not LIBRARY, reason="MODELICAPATH is not set")
def test_every_file_of_the_standard_library() -> None:
    folder = Path(LIBRARY.split(os.pathsep)[0])
    files = sorted(folder.rglob("*.mo"))
    assert len(files) > 100
    for k, file in enumerate(files):
        text = file.read_text(encoding="utf-8-sig")
        whole = parse(text, str(file))
        if k % 40 == 0:
            assert same(whole, parse_on_demand(Source(str(file), text)))
