"""Flat models that rumoca would not give, as flattening leaves them: to scalar equations, or refused by name."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
from test_frontend_support import solved

import pliant
from pliant.errors import ModelError, NotSupportedError
from pliant.frontend.flat import FlatBuilder, check_flat
from pliant.frontend.flat.expressions import NONE, FlatIndex, FlatLoop, FlatRange, FlatTuple, IteratorRef, LocalRef
from pliant.frontend.flat.model import (
    FlatAssign,
    FlatBranch,
    FlatEquation,
    FlatFor,
    FlatFunction,
    FlatIf,
    FlatItem,
    FlatLocal,
    FlatVariable,
    FlatWhen,
)
from pliant.frontend.flat.types import BOOLEAN, INTEGER, REAL, Variability
from pliant.frontend.scalar.scalarize import scalarize
from pliant.ir import Span

AT = Span("m.mo", 7, 3, "text")


def model() -> FlatBuilder:
    """Real x, y[2]; Integer n; Boolean b; parameter Boolean p = true."""
    build = FlatBuilder("M")
    for name, of, variability in (
        ("x", REAL, Variability.CONTINUOUS),
        ("y", REAL.sized((2,)), Variability.CONTINUOUS),
        ("n", INTEGER, Variability.DISCRETE),
        ("b", BOOLEAN, Variability.DISCRETE),
    ):
        build.variable(FlatVariable(name, of, variability, span=AT))
    value = build.literal(True)
    build.variable(FlatVariable("p", BOOLEAN, Variability.PARAMETER, binding=value, span=AT))
    return build


def same(build: FlatBuilder, variable: int, value: float | int) -> FlatEquation:
    return FlatEquation(build.ref(variable), build.literal(value), span=AT)


def late(build: FlatBuilder) -> int:
    return build.binary(">", build.time(), build.literal(1.0), AT)


def test_an_if_equation_chooses_row_by_row() -> None:
    build = model()
    k = build.iterator("k", INTEGER)
    loop = FlatLoop(k, build.add(FlatRange(build.literal(1), NONE, build.literal(2))))
    part = build.add(FlatIndex(build.ref(1), (build.add(IteratorRef(k)),)))
    rows = FlatFor((loop,), (FlatEquation(part, build.add(IteratorRef(k)), span=AT),), AT)
    both = build.builtin("fill", build.literal(9.0), build.literal(2))
    others = (same(build, 0, 5.0), FlatEquation(build.ref(1), both, span=AT))
    item = FlatIf((FlatBranch(late(build), (same(build, 0, 4.0), rows)),), others, AT)
    build.equations.append(item)
    flat = build.finish()
    assert check_flat(flat) == []
    system = scalarize(flat)
    assert len(system.equations) == 3
    assert len(system.relations) == 1
    names = ("x", "y[1]", "y[2]")
    assert [solved(system, 0.0)[name] for name in names] == [5.0, 9.0, 9.0]
    assert [solved(system, 2.0)[name] for name in names] == [4.0, 1.0, 2.0]


def test_a_parameter_chooses_the_whole_branch() -> None:
    build = model()
    both = FlatEquation(build.ref(1), build.builtin("ones", build.literal(2)), span=AT)
    item = FlatIf((FlatBranch(build.ref(4), (same(build, 0, 4.0), both)),), (same(build, 0, 5.0),), AT)
    build.equations.append(item)
    system = scalarize(build.finish())
    assert len(system.equations) == 3
    assert solved(system)["x"] == 4.0


def test_branches_with_different_numbers_of_equations() -> None:
    build = model()
    build.equations.append(FlatIf((FlatBranch(late(build), (same(build, 0, 4.0),)),), (), AT))
    with pytest.raises(ModelError, match=r"m.mo:7:3: the branches of an if-equation .* \(1, 0\)"):
        scalarize(build.finish())


def function(build: FlatBuilder, body: Callable[[list[int]], tuple[FlatItem, ...]]) -> int:
    """A function of x with the outputs y and z[2]."""
    given = (FlatLocal("x", REAL), FlatLocal("y", REAL), FlatLocal("z", REAL.sized((2,))))
    number = build.function(FlatFunction("f", given, 1, 2))
    build.define(number, body=body([build.add(LocalRef(number, k)) for k in range(3)]))
    return number


def test_statements_of_functions() -> None:
    """if with a condition that is known at run time only, an element, several outputs, values taken at once."""
    build = model()

    def body(own: list[int]) -> tuple[FlatItem, ...]:
        x, y, z = own
        big = build.binary(">", x, build.literal(1.0))
        first = build.add(FlatIndex(z, (build.literal(1),)))
        second = build.add(FlatIndex(z, (build.literal(2),)))
        swap = [build.add(FlatTuple(one)) for one in ((first, second), (second, first))]
        return (
            FlatAssign(z, x),
            FlatIf((FlatBranch(big, (FlatAssign(y, build.literal(2.0)), FlatAssign(first, build.literal(7.0)))),)),
            FlatAssign(swap[0], swap[1]),
        )

    call = build.call(function(build, body), build.time())
    left = build.add(FlatTuple((build.ref(0), build.ref(1))))
    build.equations.append(FlatEquation(left, call, span=AT))
    flat = build.finish()
    assert check_flat(flat) == []
    system = scalarize(flat)
    early, later = solved(system, 0.5), solved(system, 3.0)
    assert (early["x"], early["y[1]"], early["y[2]"]) == (0.0, 0.5, 0.5)
    assert (later["x"], later["y[1]"], later["y[2]"]) == (2.0, 3.0, 7.0)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (
            lambda b: b.equations.append(FlatWhen((FlatBranch(late(b), (same(b, 0, 1.0),), AT),), AT)),
            "continuous variable, in a when-clause",
        ),
    ],
)
def test_what_is_not_supported_is_named(change: Callable[[FlatBuilder], object], part: str) -> None:
    build = model()
    change(build)
    with pytest.raises(NotSupportedError, match=part) as caught:
        scalarize(build.finish())
    assert "m.mo:7" in str(caught.value)


def test_only_its_folder_knows_rumoca() -> None:
    """Nothing of the flat model or of scalarisation imports from the reader."""
    folder = Path(pliant.__file__).parent / "frontend"
    files = [path for name in ("flat", "scalar") for path in (folder / name).glob("*.py")]
    assert len(files) > 20
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert "rumoca" not in (node.module or ""), path
        assert "rumoca" not in path.read_text(encoding="utf-8"), path
