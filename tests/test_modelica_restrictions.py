"""Rules that a class breaks by itself: each broken once, and what is close to it but allowed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pliant.frontend.modelica.syntax import parse, parse_on_demand
from pliant.frontend.modelica.syntax.restrictions import class_faults
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.tree import ClassDefinition, LongClass

LIBRARY = os.environ.get("MODELICAPATH", "")


@pytest.mark.parametrize(
    ("text", "words", "rule"),
    [
        ("record R Real x; equation x = 1; end R;", "a record has no equations", "4.6"),
        ("operator record R algorithm x := 1; end R;", "an operator record has no algorithms", "4.6"),
        ("connector C Real x; initial equation x = 1; end C;", "a connector has no initial equations", "4.6"),
        ("connector C protected Real x; end C;", "protected", "4.6"),
        ("connector C inner Real x; end C;", "`inner` cannot stand", "4.6"),
        ("record R flow Real x; end R;", "`flow` cannot stand", "4.6"),
        ("record R input Real x; end R;", "`input` cannot stand", "4.6"),
        ("package P parameter Real x = 1; end P;", "no constant", "4.6"),
        ("operator O model M end M; end O;", "no function", "4.6"),
        ("function f Real x; end f;", "neither input nor output", "12.2"),
        ("function f protected input Real x; end f;", "is protected", "12.2"),
        ("function f input Real x; algorithm x := 1; end f;", "the input `x`", "12.2"),
        ("function f input Real x; algorithm (x, y) := g(); end f;", "the input `x`", "12.2"),
        ("function f algorithm x := 1; algorithm y := 1; end f;", "one algorithm", "12.2"),
        ('function f algorithm x := 1; external "C"; end f;', "one algorithm", "12.2"),
        ("function f equation x = 1; end f;", "no equations", "12.2"),
        ("function f algorithm y := pre(x); end f;", "`pre`", "12.2"),
        ("model M Real x; Integer x; end M;", "declared twice", "4.2"),
        ("model M R R; end M;", "its own type", "4.2"),
        ("model M equation when a then when b then x = 1; end when; end when; end M;", "inside of another", "8.3.5.1"),
        ("model M initial equation when a then x = 1; end when; end M;", "initial equations", "8.3.5.1"),
        ("model M equation when a then connect(b, c); end when; end M;", "`connect`", "8.3.3"),
        ("model M equation if a then reinit(x, 1); end if; end M;", "`reinit`", "8.3.6"),
        ("model M equation when a then Connections.root(b); end when; end M;", "`Connections.root`", "9.4.1"),
        ("model M algorithm return; end M;", "`return`", "12.1.2"),
        ("model M algorithm if a then break; end if; end M;", "`break`", "11.2.4"),
        ("model M algorithm for i in 1:2 loop when a then x := 1; end when; end for; end M;", "a loop", "11.2.7.1"),
        ("model M initial algorithm when a then x := 1; end when; end M;", "an initial algorithm", "11.2.7.1"),
    ],
)
def test_broken(text: str, words: str, rule: str) -> None:
    (found,) = class_faults(parse(text).classes[0])
    assert words in found.message
    assert found.rule == rule
    assert found.hint
    assert 0 < found.start < found.end <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        "record R Real x; parameter Real y = 1; constant Real z = 2; end R;",
        "connector C flow Real x; stream Real h; input Real u; end C;",
        "package P constant Real x = 1; model M Real y; equation y = 1; end M; end P;",
        "function f input Real x; output Real y; protected Real z; algorithm if x > 1 then return; end if; end f;",
        "function f Argument x; end f;",  # type Argument = input Real
        "model M R r; .R R2; equation if a then when b then reinit(x, 1); end when; end if; end M;",
        "model M algorithm while a loop if b then break; end if; end while; when c then x := 1; end when; end M;",
        "type T = Real;",
    ],
)
def test_allowed(text: str) -> None:
    assert class_faults(parse(text).classes[0]) == []


def every(definition: ClassDefinition) -> Iterator[ClassDefinition]:
    yield definition
    if isinstance(definition, LongClass):
        for one in definition.body.classes:
            yield from every(one)


@pytest.mark.skipif(not LIBRARY, reason="MODELICAPATH is not set")
def test_the_standard_library_breaks_none() -> None:
    files = sorted(Path(LIBRARY.split(os.pathsep)[0]).rglob("*.mo"))
    classes = 0
    for file in files:
        source = Source(str(file), file.read_text(encoding="utf-8-sig"))
        for top in parse_on_demand(source).classes:
            for one in every(top):
                classes += 1
                assert [fault.as_error().message for fault in class_faults(one)] == []
    assert classes > len(files)
