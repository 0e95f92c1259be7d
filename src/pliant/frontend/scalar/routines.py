"""Functions that stay functions: large bodies become routines, which are called in the generated code.

A body is run once on symbols in the place of those arguments that are not numbers, arrays and records taken apart.
What is a number is put in, so there is a routine for each set of numbers. Small bodies, and those that need to know
more than numbers, are put in the place of the call instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import const, logical_not, logical_or, operands, reachable, value_of
from pliant.frontend.flat.expressions import FlatCall
from pliant.frontend.flat.model import FlatFor, FlatWhile, expressions_of, walk
from pliant.frontend.scalar.dependence import PARAM
from pliant.frontend.scalar.loops import FIRST_SYMBOL, extracted
from pliant.frontend.scalar.values import Arr, Rec, Value, leaves, like, numbers, reals
from pliant.ir import Check, Op, Routine
from pliant.texts import rewritten

if TYPE_CHECKING:
    from pliant.frontend.scalar.functions import Calls

SMALL_TEXT = 60  # expressions of a function, with those that it calls, which is not worth a look
SMALL_BODY = 150  # operations of a body that is put in the place of the call


@dataclass(frozen=True, slots=True)
class Demand:
    """What must hold in a call, where it is reached."""

    check: Check


@dataclass(frozen=True, slots=True)
class Made:
    """A routine, the form of what it gives, and what it demands: the outputs behind the others."""

    routine: Routine
    template: tuple[Value, ...]
    demands: tuple[Demand, ...]
    read: tuple[frozenset[int], ...]  # arguments that each output depends on


class Routines:
    """Makes routines of functions, each once."""

    def __init__(self, calls: Calls) -> None:
        self.calls, self.run, self.g = calls, calls.run, calls.g
        self.known: dict[tuple[object, ...], Made | None] = {}
        self.sizes: dict[int, int] = {}
        self.demands: list[Demand] | None = None  # of the body that is being made
        self.in_loops = 0
        self.symbols = count(FIRST_SYMBOL)

    def __call__(self, function: int, args: list[Value]) -> list[Value] | None:
        """Outputs of a call; None where the body is to be put in its place."""
        calls = self.calls
        own = calls.functions[function]
        if (
            own.external is not None
            or not own.is_pure
            or function in calls.active
            or self.run.deciding
            or self._size(function) < SMALL_TEXT
        ):
            return None
        given = [e for arg in args for e in numbers(arg)]
        moving = [e for e in given if value_of(self.g, e) is None]
        if not any(self.run.masks.of(e) & ~PARAM for e in moving) or self._decides(function, args):
            return None
        key = (function, *(self._form(arg) for arg in args))
        if key not in self.known:
            self.known[key] = self._make(function, args)
        made = self.known[key]
        return None if made is None else self._called(made, moving)

    def _decides(self, function: int, args: list[Value]) -> bool:
        """A parameter that is a whole number may say how the body is to be written out."""
        calls, masks = self.calls, self.run.masks
        for local, arg in zip(calls.functions[function].locals, args, strict=False):
            given = (e for e in leaves(arg) if isinstance(e, int))
            for e, is_real in zip(given, reals(arg, local.type, calls.flat.records), strict=False):
                if not is_real and value_of(self.g, e) is None and not masks.of(e) & ~PARAM:
                    return True
        return False

    def _size(self, function: int) -> int:
        """Expressions of a body, with those of functions that it calls."""
        found = self.sizes.get(function)
        if found is None:
            self.sizes[function] = 0  # a recursion does not count itself
            tape, own = self.run.tape, self.calls.functions[function]
            items = list(walk(own.body))
            if own.partial is not None:  # at least as large as the function itself
                found = self.sizes[function] = self._size(own.partial.function)
                return found
            roots = [e for item in items for e in expressions_of(item)]
            roots += [local.binding for local in own.locals if local.binding is not None]
            under = tape.reachable(roots)
            found = len(under)
            if any(isinstance(item, FlatWhile | FlatFor) for item in items):
                found += SMALL_TEXT
            for e in under:
                node = tape.nodes[e]
                if isinstance(node, FlatCall):
                    found += self._size(node.function)
            self.sizes[function] = found
        return found

    def _form(self, arg: Value) -> object:
        """An argument with its numbers, without what is not a number."""
        if isinstance(arg, str):
            return rewritten(arg, lambda e: value_of(self.g, e))  # type: ignore[arg-type, return-value]
        if isinstance(arg, Arr):
            return arg.shape, tuple(self._form(one) for one in arg.flat)
        if isinstance(arg, Rec):
            return tuple(self._form(one) for one in arg.fields)
        return value_of(self.g, arg)

    # ------------------------------------------------------------------------------------------------ making

    def _make(self, function: int, args: list[Value]) -> Made | None:
        """Run the body on symbols, with nothing around it."""
        run, calls = self.run, self.calls
        before = run.events, run.acting, run.guarded, run.conditions, run.turns, self.demands, self.in_loops
        run.events = run.acting = False
        run.guarded, run.conditions, run.turns = 0, [], 1
        demands: list[Demand] = []
        self.demands, self.in_loops = demands, 0
        calls.building += 1
        try:
            n = 0

            def symbols(arg: Value) -> Value:
                nonlocal n
                found = []
                for e in numbers(arg):
                    if value_of(self.g, e) is None:
                        e = self.g.intern((Op.ARG, n))
                        n += 1
                    found.append(e)
                return like(arg, iter(found))

            with run.impure.tried():
                template = calls.body(function, [symbols(arg) for arg in args])
                if run.impure.performed:
                    return None
        except (ModelError, NotSupportedError):
            return None  # what is wrong is said where the body is put in the place of the call
        finally:
            calls.building -= 1
            run.events, run.acting, run.guarded, run.conditions, run.turns, self.demands, self.in_loops = before
        return self._finished(calls.functions[function].name, template, demands, n)

    def _finished(self, name: str, template: list[Value], demands: list[Demand], n_args: int) -> Made | None:
        roots = [e for one in template for e in numbers(one)] + [e for one in demands for e in one.check.expressions()]
        nodes = self.g.nodes
        under = reachable(self.g, roots)
        has_loop = any(nodes[i][0] == Op.ROUTINE and nodes[i][1].condition >= 0 for i in under)
        if not has_loop and sum(1 for i in under if nodes[i][0] > Op.ARG) < SMALL_BODY:
            return None
        leaves = {self.g.intern((Op.ARG, k)): k for k in range(n_args)}
        found = extracted(self.g, roots, leaves)
        if found is None:
            return None
        reads: dict[int, frozenset[int]] = {}
        for i in under:
            own = frozenset((leaves[i],)) if i in leaves else frozenset()
            reads[i] = own.union(*(reads[a] for a in operands(self.g, i)))
        routine = Routine(name, found[0], n_args, tuple(found[1]))
        return Made(routine, tuple(template), tuple(demands), tuple(reads[e] for e in roots))

    # ------------------------------------------------------------------------------------------------ calling

    def _called(self, made: Made, moving: list[int]) -> list[Value]:
        outputs = [self._output(made, k, moving) for k in range(len(made.routine.outputs))]
        parts = iter(outputs)
        asked = iter(outputs[sum(len(numbers(one)) for one in made.template) :])
        for demand in made.demands:
            self.demand(replace(demand, check=demand.check.rewritten(lambda _: next(asked))))
        return [like(value, parts) for value in made.template]

    def _output(self, made: Made, k: int, moving: list[int]) -> int:
        """A number, an argument as it is, or an output of the call; what it does not depend on does not appear."""
        routine = made.routine
        node = routine.graph.nodes[routine.outputs[k]]
        if node[0] == Op.CONST:
            return const(self.g, node[1])
        if node[0] == Op.VAR:
            return moving[node[1]]
        given = [e if place in made.read[k] else const(self.g, 0.0) for place, e in enumerate(moving)]
        return self.g.intern((Op.ROUTINE, routine, k, *given))

    def demand(self, demand: Demand) -> None:
        """Of the model, or of the routine or loop that is being made."""
        g, check, reached = self.g, demand.check, self.run.reached()
        if reached is None:
            return
        if not self.calls.acts and any(g.nodes[i][0] == Op.REL for i in reachable(g, [reached])):
            return  # a branch that a relation holds open may be left a little late
        condition = logical_or(g, logical_not(g, reached), check.condition)
        if value_of(g, condition):
            return
        demand = Demand(replace(check, condition=condition))
        if self.demands is not None:
            self.demands.append(demand)
        elif demand.check.is_index and not self.calls.building and self.run.bounds is not None:
            self.run.bounds.keep(demand.check)
        else:
            self.calls.require(demand)

    def symbol(self) -> int:
        """Number of an argument that no function has."""
        return next(self.symbols)

    @contextmanager
    def inside_loop(self) -> Iterator[list[Check]]:
        """Around one turn of a loop, with nothing around it: what it demands depends on the state of the loop."""
        run = self.run
        before = run.guarded, run.conditions, self.demands
        run.guarded, run.conditions = 0, []
        demands: list[Demand] = []
        self.demands = demands
        self.in_loops += 1
        found: list[Check] = []
        assert run.bounds is not None
        try:
            with run.bounds.in_turn():
                yield found
            found += [one.check for one in demands]
        finally:
            run.guarded, run.conditions, self.demands = before
            self.in_loops -= 1

    def asserted(self, check: Check) -> bool:
        """Keep what must hold in the body that is being made; False where none is."""
        if self.demands is None:
            return False
        self.demands.append(Demand(check))
        return True
