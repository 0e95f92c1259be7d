"""Random Modelica texts over the whole grammar: made as trees, printed, and parsed to the same trees.

Words are separated by blanks, line ends and comments at random. Trees are read at once and on demand; the text of a
random expression, taken from its place, must be that expression again. Then words are dropped, doubled or swapped: what
is no Modelica any more gives an error with places inside of the text, and never anything else, within a second.
"""

from __future__ import annotations

import time

import numpy as np

from families import RIGHT, WRONG, Family, Outcome
from families._syntax_maker import Maker
from families._syntax_printer import stored
from pliant.errors import ModelicaSyntaxError
from pliant.frontend.modelica.syntax import parse, parse_on_demand
from pliant.frontend.modelica.syntax import tree as t
from pliant.frontend.modelica.syntax.source import Source
from pliant.frontend.modelica.syntax.walk import same, walk

SEPARATORS = [" "] * 12 + ["\n", "  \t", ' // end if; "\n', ' /* model M; * / "*/ ', " /**/"]


def spaced(words: list[str], chance: np.random.Generator) -> str:
    marks = chance.integers(len(SEPARATORS), size=len(words))
    return "".join(word + SEPARATORS[k] for word, k in zip(words, marks, strict=True))


def check(seed: int) -> Outcome:
    chance = np.random.default_rng([21, 2, seed])
    made = Maker(seed).stored()
    words = stored(made)
    text = spaced(words, chance)
    found = parse(text, "random.mo")
    if not same(found, made):
        return Outcome(seed, WRONG, f"another tree: {text[:300]}")
    if not same(parse_on_demand(Source("random.mo", text)), made):
        return Outcome(seed, WRONG, "another tree on demand")
    fault = _places(found, chance) or _mutated(words, chance)
    return Outcome(seed, WRONG, fault) if fault else Outcome(seed, RIGHT)


def _places(found: t.StoredDefinition, chance: np.random.Generator) -> str:
    """The text at the place of an expression is that expression; nodes lie inside of the nodes above."""
    nodes = [one for one in walk(found) if isinstance(one, t.Expression)]
    for k in chance.integers(len(nodes), size=8) if nodes else ():
        node = nodes[k]
        if isinstance(node, (t.Break, t.Colon, t.PartialApplication)) or node.text in ("der", "initial", "pure"):
            continue
        if isinstance(node, t.Tuple) and len(node.items) == 1:
            continue
        again = parse(f"model M\nequation\n  x[{node.text}\n] = 0;\nend M;").classes[0]
        assert isinstance(again, t.LongClass)
        equation = again.body.equations[0]
        assert isinstance(equation, t.SimpleEquation)
        assert isinstance(equation.left, t.Reference)
        if not same(equation.left.subscripts[0][0], node):
            return f"the place of {node} is another expression"
    return ""


def _mutated(words: list[str], chance: np.random.Generator) -> str:
    """What is wrong with the reading of a text with a few wrong words; empty: nothing."""
    words = list(words)
    for _ in range(chance.integers(1, 4)):
        k, j = (int(one) for one in chance.integers(len(words), size=2))
        kind = int(chance.integers(3))
        if kind == 0:
            del words[k]
        elif kind == 1:
            words.insert(k, words[k])
        else:
            words[k], words[j] = words[j], words[k]
        if not words:
            return ""
    text = spaced(words, chance)
    began = time.process_time()
    try:
        parse(text, "mutated.mo")
    except ModelicaSyntaxError as error:
        lines = text.split("\n")
        for one in error.faults:
            span = one.span
            if (
                span is None
                or not 1 <= span.line <= len(lines)
                or not 1 <= span.column <= len(lines[span.line - 1]) + 1
            ):
                return f"{one.message!r} has no place in the text"
        if not error.faults or error.span != error.faults[0].span:
            return "an error without a place"
    seconds = time.process_time() - began
    return f"{seconds:.1f} s for {len(text)} characters" if seconds > 1.0 else ""


FAMILY = Family(
    name="syntax",
    what="random Modelica texts, printed and parsed, whole and with wrong words",
    goal="every text gives its tree, every wrong one an error with a place",
    count=2000,
    part=60,
    check=check,
)
