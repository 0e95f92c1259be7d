"""FlatModel: built, typed, checked and written."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pliant.frontend.flat import FlatBuilder, FlatModel, check_flat, flat_text
from pliant.frontend.flat.expressions import (
    NONE,
    WHOLE,
    ClockInterval,
    ClockTick,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatChoice,
    FlatComprehension,
    FlatExpression,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatLoop,
    FlatOutput,
    FlatRange,
    FlatRecord,
    FlatReduction,
    FlatTuple,
    FlatUnary,
    FlatUpdate,
    IteratorRef,
    LocalRef,
    TimeRef,
    VariableRef,
    operands,
    with_operands,
)
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatAssert,
    FlatAssign,
    FlatBranch,
    FlatBreak,
    FlatClock,
    FlatEquation,
    FlatFor,
    FlatFunction,
    FlatIf,
    FlatItem,
    FlatLocal,
    FlatReinit,
    FlatReturn,
    FlatTerminate,
    FlatVariable,
    FlatWhen,
    FlatWhile,
    instance_path,
    walk,
)
from pliant.frontend.flat.shapes import TypeMismatch
from pliant.frontend.flat.types import (
    BOOLEAN,
    INTEGER,
    REAL,
    STRING,
    BaseType,
    Causality,
    EnumerationType,
    RecordField,
    RecordType,
    Type,
    Variability,
)
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Kind, Span

AT = Span("ball.mo", 3)
EXAMPLES = Path(__file__).parents[1] / "examples"
BALL = """model Ball
  parameter Real e = 0.8;
  Real h(start = 1.0, fixed = true, unit = "m");
  Real[2] v(start = 0.0);
  Integer n(start = 0, fixed = true);
equation
  der(h) = v[1];
  for k in 1:2 loop
    der(v[k]) = -9.81 * k;
  end for;
  when h < 0.0 then
    reinit(v[1], -e * pre(v[1]));
    n = pre(n) + 1;
  end when;
end Ball;
"""


def ball() -> FlatBuilder:
    """A bouncing ball, as flattening would write it."""
    build = FlatBuilder("Ball")
    literal, add = build.literal, build.add
    e = build.variable(FlatVariable("e", REAL, Variability.PARAMETER, binding=literal(0.8), span=AT))
    real = {"variability": Variability.CONTINUOUS, "span": AT}
    h = build.variable(FlatVariable("h", REAL, start=literal(1.0), fixed=(True,), unit="m", **real))
    v = build.variable(FlatVariable("v", REAL.sized((2,)), start=literal(0.0), **real))
    start = literal(0)
    n = build.variable(FlatVariable("n", INTEGER, Variability.DISCRETE, start=start, fixed=(True,), span=AT))

    def first() -> int:
        return add(FlatIndex(build.ref(v), (literal(1),)))

    build.equation(build.builtin("der", build.ref(h)), first(), span=AT)
    k = build.iterator("k", INTEGER)
    loop = FlatLoop(k, add(FlatRange(literal(1), NONE, literal(2))))
    left = build.builtin("der", add(FlatIndex(build.ref(v), (add(IteratorRef(k)),))))
    right = build.unary("-", build.binary("*", literal(9.81), add(IteratorRef(k))))
    build.equations.append(FlatFor((loop,), (FlatEquation(left, right, span=AT),), AT))
    condition = build.binary("<", build.ref(h), literal(0.0), AT)
    jump = build.unary("-", build.binary("*", build.ref(e), build.builtin("pre", first())))
    count = build.binary("+", build.builtin("pre", build.ref(n)), literal(1))
    reinit = FlatReinit(first(), jump, AT)
    counted = FlatEquation(build.ref(n), count, Variability.DISCRETE, span=AT)
    build.equations.append(FlatWhen((FlatBranch(condition, (reinit, counted), AT),), AT))
    return build


def test_a_model_is_built_checked_and_written() -> None:
    flat = ball().finish()
    assert check_flat(flat) == []
    assert flat_text(flat) == BALL
    assert [type(item).__name__ for item in walk(flat.equations)] == [
        "FlatEquation",
        "FlatFor",
        "FlatEquation",
        "FlatWhen",
        "FlatReinit",
        "FlatEquation",
    ]


def test_a_model_that_no_front_end_read_becomes_equations() -> None:
    """der and pre of parts of arrays, as flattening leaves them."""
    system = scalarize(ball().finish())
    names = [one.name for one in system.variables if one.kind in (Kind.UNKNOWN, Kind.DERIVATIVE)]
    assert names == ["h", "v[1]", "v[2]", "der(h)", "der(v[1])", "der(v[2])"]
    assert [one.index for one in system.equations] == [(), (1,), (2,)]
    assert [one.kind for one in system.events.actions] == ["reset"]
    assert [system.variables[one.variable].name for one in system.events.kept] == ["pre(v[1])", "pre(v[2])"]
    assert "n" in [system.variables[one.variable].name for one in system.events.memories]


def test_edge_and_change_need_a_memory() -> None:
    build = FlatBuilder("Edges")
    b = build.variable(FlatVariable("b", BOOLEAN, Variability.DISCRETE, span=AT))
    n = build.variable(FlatVariable("n", INTEGER, Variability.DISCRETE, span=AT))
    late = build.binary(">", build.time(), build.literal(1.0))
    build.equation(build.ref(b), late, span=AT)
    either = build.binary("or", build.builtin("edge", build.ref(b)), build.builtin("change", build.ref(b)))
    chosen = build.add(FlatChoice((either, build.literal(1), build.builtin("pre", build.ref(n)))))
    build.equation(build.ref(n), chosen, span=AT)
    flat = build.finish()
    assert check_flat(flat) == []
    held = scalarize(flat)
    assert [held.variables[one.variable].name for one in held.events.memories] == ["b", "n"]


def test_models_are_pickled_and_deep_expressions_are_no_matter() -> None:
    build = FlatBuilder("Deep")
    x = build.variable(FlatVariable("x", REAL, Variability.CONTINUOUS, span=AT))
    total = build.time()
    for _ in range(5_000):
        total = build.binary("+", build.literal(1.0), build.unary("-", total))
    build.equation(build.ref(x), total, span=AT)
    flat = pickle.loads(pickle.dumps(build.finish()))
    assert check_flat(flat) == []
    assert len(flat_text(flat)) > 25_000
    assert len(scalarize(flat).equations) == 1


# -------------------------------------------------------------------------------------------------------- types


def typed() -> FlatBuilder:
    """Variables and functions of all types: r, i, b, s, v[3], m[2, 3], j[2], t (record), e."""
    build = FlatBuilder("Typed")
    pair = build.record(RecordType("Pair", (RecordField("a", REAL), RecordField("b", INTEGER.sized((2,))))))
    mode = build.enumeration(EnumerationType("Mode", ("slow", "fast")))
    for name, of in {
        "r": REAL,
        "i": INTEGER,
        "b": BOOLEAN,
        "s": STRING,
        "v": REAL.sized((3,)),
        "m": REAL.sized((2, 3)),
        "j": INTEGER.sized((2,)),
        "e": Type(BaseType.ENUMERATION, (), mode),
    }.items():
        build.variable(FlatVariable(name, of, Variability.CONTINUOUS, span=AT))
    locals_ = (FlatLocal("x", REAL), FlatLocal("y", REAL), FlatLocal("p", Type(BaseType.RECORD, (), pair)))
    build.function(FlatFunction("two", locals_, 1, 2))
    build.function(FlatFunction("sized", (FlatLocal("x", REAL.sized((None,))), FlatLocal("y", REAL)), 1, 1))
    return build


def made(build: FlatBuilder, text: str) -> int:
    """An expression of a small language: names of variables, numbers, and (operator operands)."""
    found: list[list[int | str]] = [[]]
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            found.append([])
        elif word == ")":
            head, *rest = found.pop()
            found[-1].append(_node(build, str(head), [int(one) for one in rest]))
        elif found[-1] or len(found) == 1:
            found[-1].append(_leaf(build, word))
        else:
            found[-1].append(word)
    return int(found[0][0])


def _leaf(build: FlatBuilder, word: str) -> int:
    names = [one.name for one in build.variables]
    if word == ":":
        return WHOLE
    if word in names:
        return build.ref(names.index(word))
    return build.literal(True if word == "true" else float(word) if "." in word else int(word))


def _node(build: FlatBuilder, head: str, given: list[int]) -> int:
    if head == "if":
        return build.add(FlatChoice(tuple(given)))
    if head == "array":
        return build.add(FlatArray(tuple(given)))
    if head == "at":
        return build.add(FlatIndex(given[0], tuple(given[1:])))
    if head == "to":
        return build.add(FlatRange(given[0], NONE, given[1]))
    if head in ("not", "neg"):
        return build.unary(head if head == "not" else "-", given[0])
    if head in ("two", "sized"):
        return build.call(0 if head == "two" else 1, *given)
    if head[0] in "+-*/^.<>=ao" and head not in ("abs", "ones", "outerProduct", "atan2"):
        return build.binary(head, given[0], given[1])
    return build.builtin(head, *given)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(+ i i)", INTEGER),
        ("(+ i r)", REAL),
        ("(/ i i)", REAL),
        ("(^ i i)", REAL),
        ("(* m v)", REAL.sized((2,))),
        ("(* v v)", REAL),
        ("(* r m)", REAL.sized((2, 3))),
        ("(.+ r j)", REAL.sized((2,))),
        ("(< r i)", BOOLEAN),
        ("(and b (not b))", BOOLEAN),
        ("(+ s s)", STRING),
        ("(if b 1 2.0)", REAL),
        ("(array i r)", REAL.sized((2,))),
        ("(array v v)", REAL.sized((2, 3))),
        ("(to 2 5)", INTEGER.sized((4,))),
        ("(to 1 i)", INTEGER.sized((None,))),
        ("(at m 1)", REAL.sized((3,))),
        ("(at m : 2)", REAL.sized((2,))),
        ("(at m (to 1 2) 3)", REAL.sized((2,))),
        ("(transpose m)", REAL.sized((3, 2))),
        ("(zeros 2 3)", INTEGER.sized((2, 3))),
        ("(fill r 2)", REAL.sized((2,))),
        ("(identity 3)", INTEGER.sized((3, 3))),
        ("(outerProduct j v)", REAL.sized((2, 3))),
        ("(skew v)", REAL.sized((3, 3))),
        ("(cross v v)", REAL.sized((3,))),
        ("(vector (matrix v))", REAL.sized((3,))),
        ("(cat 1 v v)", REAL.sized((6,))),
        ("([,] j (at m : 1))", REAL.sized((2, 2))),
        ("([;] m m)", REAL.sized((4, 3))),
        ("(size m)", INTEGER.sized((2,))),
        ("(size m 1)", INTEGER),
        ("(max j)", INTEGER),
        ("(max i r)", REAL),
        ("(mod i i)", INTEGER),
        ("(floor r)", REAL),
        ("(integer r)", INTEGER),
        ("(linspace 0 1 5)", REAL.sized((5,))),
        ("(der v)", REAL.sized((3,))),
        ("(pre j)", INTEGER.sized((2,))),
        ("(edge b)", BOOLEAN),
        ("(smooth 0 v)", REAL.sized((3,))),
        ("(sized v)", REAL),
        ("(two i)", Type(BaseType.TUPLE, (), 0)),
        ("(== e e)", BOOLEAN),
    ],
)
def test_types_follow_from_operands(text: str, expected: Type) -> None:
    build = typed()
    assert build.types[made(build, text)] == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("(+ r b)", "needs numbers"),
        ("(+ v j)", "equal sizes"),
        ("(* m j)", "inner sizes"),
        ("(/ r v)", "no meaning"),
        ("(^ m 2)", "no meaning"),
        ("(and b i)", "needs Booleans"),
        ("(not r)", "needs a Boolean"),
        ("(neg s)", "needs a number"),
        ("(if r 1 2)", "a condition is needed"),
        ("(if b 1 v)", "differ in size"),
        ("(if b 1 s)", "meets"),
        ("(array v j)", "differ in size"),
        ("(at v 1 1)", "2 subscripts"),
        ("(at v 1.5)", "a subscript is a Real"),
        ("(< s r)", "meets"),
        ("(sin b)", "needs a number"),
        ("(sin r r)", "takes 1 arguments"),
        ("(cross v j)", "vector of three"),
        ("(transpose v)", "needs a matrix"),
        ("(vector m)", "one dimension"),
        ("(scalar m)", "one element"),
        ("(zeros r)", "a size is an Integer"),
        ("(cat 1 v m)", "dimensions"),
        ("([;] m j)", "another dimension"),
        ("(max r)", "need an array"),
        ("(nonsense r)", "no built-in function"),
        ("(two r r)", "has 1 inputs"),
        ("(two s)", "meets"),
    ],
)
def test_types_that_do_not_fit(text: str, part: str) -> None:
    with pytest.raises(TypeMismatch, match=part):
        made(typed(), text)


def test_records_outputs_loops_and_updates() -> None:
    build = typed()
    pair = Type(BaseType.RECORD, (), 0)
    record = build.add(FlatRecord((made(build, "r"), made(build, "j"))), of=pair)
    assert build.types[build.add(FlatField(record, 1))] == INTEGER.sized((2,))
    call = build.call(0, made(build, "r"))
    assert build.types[build.add(FlatOutput(call, 1))] == pair
    k = build.iterator("k", INTEGER)
    loop = FlatLoop(k, made(build, "(to 1 4)"))
    body = build.binary("*", build.add(IteratorRef(k)), made(build, "v"))
    assert build.types[build.add(FlatComprehension(body, (loop,)))] == REAL.sized((4, 3))
    assert build.types[build.add(FlatReduction("sum", body, (loop,)))] == REAL.sized((3,))
    updated = build.add(FlatUpdate(made(build, "m"), (build.literal(1),), made(build, "v")))
    assert build.types[updated] == REAL.sized((2, 3))
    with pytest.raises(TypeMismatch, match="replaces"):
        build.add(FlatUpdate(made(build, "m"), (build.literal(1),), made(build, "j")))
    assert check_flat(build.finish()) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(+ 1 2)", Variability.CONSTANT),
        ("(size v 1)", Variability.PARAMETER),
        ("(sin r)", Variability.CONTINUOUS),
        ("(> r 0)", Variability.DISCRETE),
        ("(pre j)", Variability.DISCRETE),
        ("(noEvent r)", Variability.CONTINUOUS),
        ("(initial)", Variability.DISCRETE),
        ("(der v)", Variability.CONTINUOUS),
    ],
)
def test_variability(text: str, expected: Variability) -> None:
    build = typed()
    assert build.variability(made(build, text)) is expected


# ------------------------------------------------------------------------------------------------------- faults


def with_item(item: Callable[[FlatBuilder], FlatItem]) -> FlatModel:
    build = typed()
    build.equations.append(item(build))
    return build.finish()


def with_variable(**changes: object) -> FlatModel:
    build = typed()
    build.variables[0] = replace(build.variables[0], **changes)  # type: ignore[arg-type]
    return build.finish()


def _nowhere() -> FlatModel:
    flat = typed().finish()
    return replace(flat, expressions=replace(flat.expressions, nodes=(VariableRef(99),), types=(REAL,), spans=(None,)))


def _backwards() -> FlatModel:
    flat = typed().finish()
    nodes = (FlatUnary("-", 1), FlatLiteral(1.0))
    return replace(flat, expressions=replace(flat.expressions, nodes=nodes, types=(REAL, REAL), spans=(None, None)))


def _wrong_type() -> FlatModel:
    flat = typed().finish()
    return replace(
        flat, expressions=replace(flat.expressions, nodes=(FlatLiteral(1.0),), types=(STRING,), spans=(None,))
    )


@pytest.mark.parametrize(
    ("flat", "part"),
    [
        (lambda: with_item(lambda b: FlatEquation(made(b, "r"), made(b, "v"), span=AT)), "differ in size"),
        (lambda: with_item(lambda b: FlatEquation(made(b, "r"), made(b, "s"), span=AT)), "meets"),
        (lambda: with_item(lambda b: FlatEquation(made(b, "r"), made(b, "r"))), "no place in the source"),
        (lambda: with_item(lambda b: FlatEquation(made(b, "r"), 999, span=AT)), "is not there"),
        (lambda: with_item(lambda b: FlatAssign(made(b, "r"), made(b, "r"), AT)), "FlatAssign stands in equations"),
        (lambda: with_item(lambda b: FlatBreak(AT)), "FlatBreak stands in equations"),
        (lambda: with_item(lambda b: FlatReinit(made(b, "r"), made(b, "r"), AT)), "outside of when"),
        (lambda: with_item(lambda b: FlatAssert(made(b, "r"), made(b, "s"), True, AT)), "a condition is needed"),
        (lambda: with_item(lambda b: FlatIf((FlatBranch(made(b, "v"), ()),), span=AT)), "a condition is needed"),
        (lambda: with_item(lambda b: FlatFor((FlatLoop(b.iterator("k", INTEGER), made(b, "r")),), (), AT)), "a vector"),
        (
            lambda: with_item(
                lambda b: FlatEquation(made(b, "r"), b.add(IteratorRef(b.iterator("k", INTEGER))), span=AT)
            ),
            "outside of its loop",
        ),
        (
            lambda: with_item(lambda b: FlatEquation(made(b, "r"), b.add(LocalRef(0, 0)), span=AT)),
            "locals of another function",
        ),
        (lambda: with_variable(span=None), "`r` has no place"),
        (lambda: with_variable(name="i"), "declared 2 times"),
        (lambda: with_variable(type=REAL.sized((None,))), "size that is not known"),
        (lambda: with_variable(type=REAL.sized((3,)), fixed=(True, False)), "`fixed` of `r` has 2 values"),
        (lambda: with_variable(type=Type(BaseType.RECORD, (), 0)), "is a record"),
        (lambda: with_variable(binding=5), "is not there"),
        (lambda: with_variable(clock=3), "a clock that is not there"),
        (lambda: with_variable(locked="used"), "no parameter"),
        (_nowhere, "names variable 99"),
        (_backwards, "does not follow its operands"),
        (_wrong_type, "noted as a String"),
    ],
)
def test_faults_are_found(flat: Callable[[], FlatModel], part: str) -> None:
    assert part in "\n".join(map(str, check_flat(flat())))


# -------------------------------------------------------------------------------------------------------- text


def test_everything_can_be_written() -> None:
    build = typed()
    clock = build.clock(FlatClock("periodic", (0, 1), (1, 10)))
    build.clock(FlatClock("event", condition=made(build, "b")))
    ticked = made(build, "b")
    ticks = [build.add(ClockTick(clock)), ticked]
    build.variables[0] = replace(build.variables[0], clock=clock, causality=Causality.OUTPUT)
    stop = FlatTerminate(build.literal('say "no"\n'), AT)
    build.equations.append(FlatWhen((FlatBranch(build.add(FlatArray(tuple(ticks))), (stop,), AT),), AT))
    build.equations.append(FlatEquation(made(build, "r"), build.add(ClockInterval(clock)), clock=clock, span=AT))
    pair = build.add(FlatTuple((made(build, "r"), NONE)))
    build.equations.append(FlatEquation(pair, build.call(0, build.time()), span=AT))
    fast = build.literal(2, of=build.variables[7].type)
    build.equations.append(FlatEquation(made(build, "e"), fast, Variability.DISCRETE, "connection", span=AT))
    x, y = (build.add(LocalRef(1, k)) for k in (0, 1))
    body: list[FlatItem] = [FlatWhile(made(build, "(< 1 2)"), (FlatBreak(), FlatReturn()))]
    first = build.add(FlatIndex(x, (build.literal(1),)))
    body.append(FlatIf((FlatBranch(made(build, "true"), (FlatAssign(y, first),)),), (FlatAssign(y, first),)))
    build.define(1, body=tuple(body), smooth_order=1, inline="late")
    power = made(build, "(^ (neg r) (- r (- r r)))")
    build.algorithms.append(FlatAlgorithm((FlatAssign(made(build, "r"), power, AT),), AT))
    flat = build.finish()
    assert check_flat(flat) == []
    text = flat_text(flat)
    for line in (
        "  // clock 1: periodic clock: 0/1 + k * 1/10",
        "  // clock 2: event clock: b",
        "  output Real r(clock = 1);",
        "  when {tick(1), b} then",
        '    terminate("say \\"no\\"\\n");',
        "  r = interval(1); // clock 1",
        "  (r, ) = two(time);",
        "  e = Mode.fast; // connection",
        "type Mode = enumeration(slow, fast);",
        "  while 1 < 2 loop",
        "    break;",
        "  else",
        "    y := x[1];",
        '  annotation(smoothOrder = 1, inline = "late");',
        "  r := (-r) ^ (r - (r - r));",
    ):
        assert line in text.splitlines(), line


def test_names_and_paths() -> None:
    assert instance_path("a.b[2].x") == "a.b[2]"
    assert instance_path("x") == ""
    assert instance_path("a.'b.c'") == "a"
    build = FlatBuilder("P.M")
    build.variable(FlatVariable("r[2].p.v", REAL, Variability.CONTINUOUS, span=AT))
    assert "  Real 'r[2].p.v';" in flat_text(build.finish())


def test_operands_can_be_exchanged() -> None:
    nodes: list[FlatExpression] = [
        FlatUnary("-", 1),
        FlatBinary("+", 1, 2),
        FlatChoice((1, 2, 3)),
        FlatIndex(1, (2, WHOLE)),
        FlatUpdate(1, (2, WHOLE), 3),
        FlatComprehension(1, (FlatLoop(5, 2),)),
        FlatReduction("sum", 1, (FlatLoop(5, 2),)),
        FlatBuiltin("sin", (1,)),
        FlatField(1, 5),
        FlatRange(1, NONE, 2),
        FlatTuple((1, NONE)),
        FlatOutput(1, 5),
    ]
    for node in nodes:
        moved = with_operands(node, lambda e: e + 10)
        assert operands(moved) == tuple(e + 10 for e in operands(node))
        assert with_operands(moved, lambda e: e - 10) == node
    for leaf in (VariableRef(3), FlatLiteral(3), TimeRef(), LocalRef(1, 2), ClockTick(1)):
        assert with_operands(leaf, lambda e: e + 10) == leaf


ALONE = [path for path in sorted(EXAMPLES.glob("*.mo")) if "Modelica." not in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", ALONE, ids=lambda path: path.stem)
def test_examples_are_consistent(path: Path) -> None:
    flat = read(path, None, [])
    assert check_flat(flat) == []
    written = flat_text(flat)
    assert all(one.name in written for one in flat.variables)
    assert len(scalarize(flat).equations) > 0
