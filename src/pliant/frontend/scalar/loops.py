"""Loops whose ends are known while simulating, in functions that stay functions: they become loops of the text.

The state of a loop is what its body assigns, whether a `break` or `return` has happened, and the number of the turn.
One turn is run on symbols in the place of the state; what does not depend on them is computed before the loop. Of each
assertion in it, and of each index, the state keeps whether it has held so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import (
    add,
    choose,
    const,
    logical_and,
    logical_not,
    logical_or,
    mul,
    operands,
    reachable,
    value_of,
)
from pliant.frontend.flat.expressions import FlatArray, FlatField, FlatIndex, FlatRecord, FlatTuple
from pliant.frontend.flat.model import FlatAssign, FlatFor, FlatItem, FlatWhile, walk
from pliant.frontend.scalar.values import Arr, Rec, Value, like, scalars
from pliant.ir import LOOP_TURNS, PLAIN, Check, Graph, Op, Routine, without_values

if TYPE_CHECKING:
    from pliant.frontend.scalar.statements import BodyRunner

FIRST_SYMBOL = 1_000_000  # numbers of symbols of states, far above those of arguments
NOT_INSIDE = frozenset({Op.VAR, Op.TIME, Op.REL, Op.CALL, Op.TABLE, Op.DELAY, Op.PIPE, Op.HOMOTOPY, Op.FOREIGN})


def extracted(g: Graph, roots: list[int], leaves: dict[int, int]) -> tuple[Graph, list[int]] | None:
    """Expressions in a graph of their own, where some nodes are numbered variables; None where it cannot be."""
    inner = Graph()
    place: dict[int, int] = {}
    stack, seen = list(roots), set()
    while stack:
        i = stack.pop()
        if i not in seen:
            seen.add(i)
            if i not in leaves:
                stack.extend(operands(g, i))
    for i in sorted(seen):  # ascending, so that the order of operands stays as it is
        node = g.nodes[i]
        first = 1 + PLAIN.get(node[0], 0)
        if i in leaves:
            place[i] = inner.intern((Op.VAR, leaves[i]))
        elif node[0] == Op.ARG or node[0] in NOT_INSIDE:
            return None
        elif node[0] == Op.CONST:
            place[i] = inner.intern(node)
        else:
            place[i] = inner.intern((*node[:first], *(place[a] for a in node[first:])))
    return inner, [place[e] for e in roots]


def assigned_in(runner: BodyRunner, body: tuple[FlatItem, ...]) -> list[int]:
    """Numbers of the variables that statements set, in order."""
    found: dict[int, None] = {}
    nodes = runner.run.nodes
    for item in walk(body):
        if not isinstance(item, FlatAssign):
            continue
        stack = [item.target]
        while stack:
            e = stack.pop()
            if e < 0:
                continue
            k, node = runner.place(e), nodes[e]
            if k is not None:
                found[k] = None
            elif isinstance(node, FlatIndex | FlatField):
                stack.append(node.base)
            elif isinstance(node, FlatTuple | FlatArray | FlatRecord):
                stack.extend(operands_of(node))
    return sorted(found)


def operands_of(node: FlatTuple | FlatArray | FlatRecord) -> tuple[int, ...]:
    """Parts of a target."""
    return node.fields if isinstance(node, FlatRecord) else node.elements


def run_as_loop(
    runner: BodyRunner, goes_on: Callable[[int], int], body: tuple[FlatItem, ...], item: FlatWhile | FlatFor
) -> bool:
    """Make a loop of it; False where it has to be written out."""
    g = runner.g
    before, path = runner.state(), runner.path
    places = assigned_in(runner, body)
    values = [runner.default(k) if runner.store[k] is None else runner.store[k] for k in places]
    initial = [const(g, 0.0), runner.broken, runner.returned]
    for value in values:
        if not _is_number(value):
            return False
        initial += scalars(value)
    last = runner.run.impure.last
    n = len(initial)
    if runner.traces:
        initial.append(const(g, 0.0))
    symbols = [g.intern((Op.ARG, runner.symbol())) for _ in initial]
    rest: Iterator[int] = iter(symbols[3:])
    for k, value in zip(places, values, strict=True):
        runner.store[k] = like(value, rest)
    runner.broken, runner.returned = symbols[1], symbols[2]
    try:
        condition = logical_and(g, goes_on(symbols[0]), runner.live)
        runner.broken = runner.returned = runner.path = const(g, 0.0)
        runner.path = const(g, 1.0)
        with runner.inside_loop() as checks:
            runner.items(body)
        after = [add(g, symbols[0], const(g, 1.0)), runner.broken, runner.returned]
        for k, value in zip(places, values, strict=True):
            if not _same_form(value, runner.store[k]):
                return False
            after += scalars(runner.store[k])
        if runner.traces:
            after.append(add(g, symbols[n], _jumps(g, [condition, *after], symbols[0], runner.inner_jumps)))
            runner.inner_jumps = ()
        after += _remembered(runner, checks, symbols, initial)
        if runner.run.impure.last != last:
            return False  # each turn is a call of its own
    except (ModelError, NotSupportedError):
        return False
    finally:
        runner.restore(before)
        runner.path = path
    made = _made(g, f"{runner.name}, a loop", condition, after, symbols)
    if made is None:
        return False
    loop, given = made
    arguments = [*initial, *given]
    results = [
        start
        if new == symbol or (new == start and value_of(g, new) is not None)
        # what a turn leaves as it is, a loop does
        else g.intern((Op.ROUTINE, loop, k, *arguments))
        for k, (start, new, symbol) in enumerate(zip(initial, after, symbols, strict=True))
    ]
    runner.broken, runner.returned = results[1], results[2]
    rest = iter(results[3:])
    for k, value in zip(places, values, strict=True):
        runner.store[k] = like(value, rest)
    ended = g.intern((Op.LE, g.intern((Op.ROUTINE, loop, 0, *arguments)), const(g, 1e300)))  # not where it is NaN
    for check, has_held in zip(checks, results[n + runner.traces :], strict=True):
        runner.demand(without_values(check, has_held))
    runner.ended(ended, item, LOOP_TURNS)
    if runner.traces:
        runner.traced(results[n], [*initial, *given], item)
    return True


def _remembered(runner: BodyRunner, checks: Sequence[Check], symbols: list[int], initial: list[int]) -> list[int]:
    """Parts of the state for what must hold in every turn, assertions and indices: what a turn makes of them."""
    g = runner.g
    new = [g.intern((Op.ARG, runner.symbol())) for _ in checks]
    symbols += new
    initial += [const(g, 1.0)] * len(checks)
    return _still(g, checks, new)


def _jumps(g: Graph, roots: list[int], turn: int, inner: Sequence[int]) -> int:
    """What changes where something jumps in one turn: relations that hold and whole numbers, with weights.

    ``inner``: the same of the loops in this turn.
    """
    found = const(g, 0.0)
    weight = 1.0
    for e in inner:
        found = add(g, found, mul(g, const(g, weight), e))
        weight += 2.0
    for i in reachable(g, roots):
        if g.nodes[i][0] in (Op.LT, Op.LE, Op.FLOOR, Op.CEIL):
            one = choose(g, i, const(g, weight), const(g, 0.0)) if g.nodes[i][0] in (Op.LT, Op.LE) else i
            found = add(g, found, one)
            weight += 2.0
    return mul(g, add(g, turn, const(g, 1.0)), found)


def _made(
    g: Graph, name: str, condition: int, after: list[int], symbols: list[int]
) -> tuple[Routine, list[int]] | None:
    """The loop, and what it is given besides the state: the largest expressions that do not change in it."""
    state = set(symbols)
    changes: set[int] = set()
    under = reachable(g, [condition, *after])
    for i in under:
        if i in state or any(a in changes for a in operands(g, i)):
            changes.add(i)
    border = {a for i in changes for a in operands(g, i) if a not in changes}
    border |= {e for e in (condition, *after) if e not in changes}
    given = sorted(i for i in border if g.nodes[i][0] != Op.CONST)
    leaves = {e: k for k, e in enumerate([*symbols, *given])}
    found = extracted(g, [condition, *after], leaves)
    if found is None:
        return None
    inner, roots = found
    n = len(symbols)
    return Routine(name, inner, n + len(given), tuple(roots[1:]), roots[0], tuple(range(n))), given


def _still(g: Graph, checks: Sequence[Check], held: Sequence[int]) -> list[int]:
    """Whether each assertion has held in all turns, this one too; what comes after the first error does not count."""
    goes_on = const(g, 1.0)
    for check, so_far in zip(checks, held, strict=True):
        goes_on = logical_and(g, goes_on, so_far) if check.is_error else goes_on
    found = []
    for check, so_far in zip(checks, held, strict=True):
        holds = logical_or(g, logical_not(g, goes_on), check.condition)
        found.append(logical_and(g, so_far, holds))
        goes_on = logical_and(g, goes_on, check.condition) if check.is_error else goes_on
    return found


def _is_number(value: Value) -> bool:
    """No strings in it."""
    if isinstance(value, Arr):
        return all(_is_number(one) for one in value.flat)
    if isinstance(value, Rec):
        return all(_is_number(one) for one in value.fields)
    return isinstance(value, int)


def _same_form(a: Value, b: Value) -> bool:
    """They have the same sizes."""
    if isinstance(a, Arr):
        if not isinstance(b, Arr) or a.shape != b.shape:
            return False
        return all(_same_form(x, y) for x, y in zip(a.flat, b.flat, strict=True))
    if isinstance(a, Rec):
        return isinstance(b, Rec) and all(_same_form(x, y) for x, y in zip(a.fields, b.fields, strict=True))
    return isinstance(b, int)
