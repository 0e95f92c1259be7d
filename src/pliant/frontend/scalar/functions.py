"""Calls of Modelica functions.

Bodies are inlined by running their statements on the values of the arguments: loops unroll, records come apart. A
function with a usable ``derivative`` annotation stays a call when its arguments move, because index reduction gets
simpler equations from the annotation than from the body; so does one with an ``inverse``, until equations are matched.
It then has an entry of scalar outputs over scalar arguments; arguments that are not Real are part of the entry.

External C functions cannot be inlined: tables of the Standard Library whose data are known are evaluated here, others
are called (foreign.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count, pairwise

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import const, logical_and, logical_not, logical_or, reachable, substitute, value_of
from pliant.expr.differentiate import TimeDerivative
from pliant.frontend.flat.expressions import LocalRef
from pliant.frontend.flat.model import DerivativeRule, FlatAssert, FlatFor, FlatItem, FlatWhile, PartialRule
from pliant.frontend.flat.types import BaseType, Type
from pliant.frontend.scalar.dependence import PARAM, TIME, UNKNOWN
from pliant.frontend.scalar.externals import Externals
from pliant.frontend.scalar.foreign import ForeignCalls
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.inverses import inverses_of
from pliant.frontend.scalar.loops import run_as_loop
from pliant.frontend.scalar.open_texts import message_of, shown_now
from pliant.frontend.scalar.routines import Demand, Routines
from pliant.frontend.scalar.statements import BodyRunner, too_long
from pliant.frontend.scalar.unassigned import check_assigned
from pliant.frontend.scalar.values import Arr, Rec, Value, leaves, like, numbers, scalars
from pliant.ir import Check, Function, Op
from pliant.texts import joined

MAX_DEPTH = 60
OPEN_DEPTH = 20  # calls inside each other, of a recursion whose end depends on what moves
MOST_OPEN = 3000  # such calls in a model


class _Body(BodyRunner):
    """The statements of a function in one call of it."""

    def __init__(self, calls: Calls, function: int) -> None:
        super().__init__(calls.run, calls.run.locals[function], calls.functions[function].name)
        self.calls, self.function = calls, function

    def place(self, e: int) -> int | None:
        """The local variable."""
        node = self.run.nodes[e]
        return node.number if isinstance(node, LocalRef) else None

    def default(self, k: int) -> Value:
        """Zeros of its size."""
        return self.calls.default(self.calls.functions[self.function].locals[k].type)

    def check(self, item: FlatAssert) -> None:
        """Decided now, or while simulating."""
        self.calls.assertion(item, self.name, self.live)

    def as_loop(self, goes_on: Callable[[int], int], body: tuple[FlatItem, ...], item: FlatWhile | FlatFor) -> bool:
        """In functions that stay functions."""
        if self.calls.routines.demands is None:
            return False
        with self.run.impure.tried():
            return run_as_loop(self, goes_on, body, item)

    def symbol(self) -> int:
        """A new one."""
        return self.calls.routines.symbol()

    def inside_loop(self) -> AbstractContextManager[list[Check]]:
        """What is demanded in there."""
        return self.calls.routines.inside_loop()

    def demand(self, check: Check) -> None:
        """Of the function."""
        if check.is_index:
            self.bounds.emit(check)
        else:
            self.calls.routines.demand(Demand(check))

    def ended(self, condition: int, item: FlatWhile | FlatFor, turns: int) -> None:
        """A check of the model, where the arguments are its variables."""
        reached = self.run.reached()
        if reached is None:
            return
        holds = logical_or(self.g, logical_not(self.g, reached), condition)
        check = too_long(holds, item, self.name, turns)
        if not self.calls.routines.asserted(check):
            self.calls.require(Demand(check))


class Calls:
    """Inlines functions or makes entries for them."""

    def __init__(self, run: Interpreter, external: Externals) -> None:
        self.run, self.g, self.external = run, run.g, external
        self.foreign = ForeignCalls(run, self)
        self.routines = Routines(self)
        self.flat, self.functions = run.tape.flat, run.tape.flat.functions
        self.entries: list[Function] = []
        self.numbers: dict[tuple[object, ...], tuple[int, list[Value]]] = {}
        self.demands: list[list[Demand]] = []  # of each entry, over its arguments
        self.collected: list[Demand] | None = None
        self.checks: list[Check] = []
        self.depth = 0
        self.building = 0
        self.active: set[int] = set()
        self.looked_at: set[int] = set()  # functions whose variables are set where they are read
        #: expressions whose values are those of a point of a loop, or of a call; the others are evaluated once
        self.moving = [e for e, depends in enumerate(run.tape.depends) if depends]
        self.open: dict[int, list[int]] = {}  # function -> conditions around its calls that are being evaluated
        self.open_calls = 0

    def __call__(self, function: int, args: list[Value]) -> list[Value]:
        """Outputs of a call."""
        own = self.functions[function]
        if (own.derivatives or own.inverses) and own.is_pure and not self.building and self._moves(args):
            for chosen, derivative in enumerate(sorted(own.derivatives, key=lambda d: d.priority)):
                if self._is_usable(function, derivative, args):
                    return self._keep(function, chosen, derivative, args)
            if self._is_invertible(function, args):
                return self._keep(function, -2, None, args)
        return self.inline(function, args)

    @property
    def acts(self) -> bool:
        """Calls are made when something acts at an event."""
        return self.run.bounds is not None and self.run.bounds.acts

    @contextmanager
    def alone(self) -> Iterator[list[Demand]]:
        """A body is run for itself: without events, and with nothing around it; what is given collects its demands."""
        run = self.run
        before = run.events, run.acting, run.guarded, run.conditions, self.collected
        run.events = run.acting = False
        run.guarded, run.conditions = 0, []
        demands: list[Demand] = []
        self.collected = demands
        self.building += 1
        try:
            with run.impure.tried():
                yield demands
        finally:
            self.building -= 1
            run.events, run.acting, run.guarded, run.conditions, self.collected = before

    def require(self, demand: Demand) -> None:
        """A check of the model, where the call stands, or of the body that is run for itself."""
        if not self.building:
            if self.acts:
                self.run.bounds.keep(demand.check)  # type: ignore[union-attr]
            else:
                self.checks.append(demand.check)
        elif self.collected is not None:
            self.collected.append(demand)

    # -------------------------------------------------------------------------------------------- inline

    def inline(self, function: int, args: list[Value]) -> list[Value]:
        """Outputs, by a call in the generated code where the body is large, else by running the body."""
        found = self.routines(function, args)
        return self.body(function, args) if found is None else found

    def _partial(self, rule: PartialRule, args: list[Value]) -> list[Value]:
        """Outputs of a partial derivative: the function on symbols, differentiated, the arguments put in."""
        g, run = self.g, self.run
        symbols = {k: g.intern((Op.ARG, self.routines.symbol())) for k in rule.inputs}
        inner = [symbols.get(k, arg) for k, arg in enumerate(args)]
        before = run.events, self.routines.demands, self.collected
        self.building += 1
        run.events, self.routines.demands, self.collected = False, None, None
        try:
            found = self.inline(rule.function, inner)
        finally:
            self.building -= 1
            run.events, self.routines.demands, self.collected = before
        roots = [e for value in found for e in scalars(value)]
        zero = const(g, 0.0)
        for k in rule.inputs:
            slope = TimeDerivative(g, self.entries, lambda _: zero)
            slope.memo[g.intern((Op.TIME,))] = zero
            slope.memo[symbols[k]] = const(g, 1.0)
            roots = [slope(e) for e in roots]
        given = {symbols[k]: e for k in rule.inputs if isinstance(e := args[k], int)}
        parts = iter(substitute(g, roots, given))
        if not self.building:
            self.inline(rule.function, args)  # what the function asserts holds of its derivative
        return [like(value, parts) for value in found]

    def body(self, function: int, args: list[Value]) -> list[Value]:
        """Outputs, by running the body."""
        run, own = self.run, self.functions[function]
        if function not in self.looked_at:
            check_assigned(run.tape, function, own)
            self.looked_at.add(function)
        if self._is_cut(function):
            return [self.default(one.type) for one in own.locals[own.n_inputs : own.n_inputs + own.n_outputs]]
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotSupportedError(
                f"function `{own.name}` calls itself too deeply", hint="write it as a loop with known bounds"
            )
        # a function inside itself overwrites the values of its own expressions
        values = None
        if function in self.active:
            values = [run.values[e] for e in self.moving]
            args = [a if self._is_real(function, k) else self._number(a) for k, a in enumerate(args)]
        is_first = function not in self.active
        was_deciding, run.deciding = run.deciding, run.deciding or not is_first  # else a recursion would not end
        saved = run.locals[function]
        run.locals[function] = [*args, *([None] * (len(own.locals) - own.n_inputs))]
        self.active.add(function)
        self.open.setdefault(function, []).append(run.guarded)
        try:
            if own.partial is not None:
                return self._partial(own.partial, args)
            if own.external is not None:
                if self.external.knows(own.external):
                    given = [run.value(e) for e in own.external.arguments]
                    return [self.external(own.external.symbol, own.name, given)]
                self._begin(function)
                return self.foreign(function, args)
            self._begin(function)
            _Body(self, function).items(own.body)
            outputs = range(own.n_inputs, own.n_inputs + own.n_outputs)
            return [self.local(function, k) for k in outputs]
        finally:
            self.depth -= 1
            self.open[function].pop()
            run.deciding = was_deciding
            run.locals[function] = saved
            if is_first:
                self.active.discard(function)
            if values is not None:
                for e, value in zip(self.moving, values, strict=True):
                    run.values[e] = value

    def _is_cut(self, function: int) -> bool:
        """A recursion that ends where conditions say so while simulating is written out to some depth, and checked."""
        around = [*self.open.get(function, ()), self.run.guarded]
        levels = sum(1 for a, b in pairwise(around) if b > a)
        if not levels or self.building:
            return False
        self.open_calls += 1
        own = self.functions[function]
        if self.open_calls > MOST_OPEN:
            raise NotSupportedError(
                f"`{own.name}` calls itself too often: more than {MOST_OPEN} calls are written out",
                hint="write it as a loop, or let parameters decide where it ends",
            )
        if levels <= OPEN_DEPTH:
            return False
        reached = self.run.reached()
        if reached is None:
            return False
        text = f"`{own.name}` calls itself more than {OPEN_DEPTH} levels deep"
        self.require(Demand(Check(logical_not(self.g, reached), text, True, own.span)))
        return True

    def _begin(self, function: int) -> None:
        """What locals hold at the start, where they say so."""
        own = self.functions[function]
        body = _Body(self, function)
        for k, local in enumerate(own.locals[own.n_inputs :], own.n_inputs):
            if local.binding is not None:
                body.define(k, self.run.value(local.binding))

    def local(self, function: int, k: int) -> Value:
        """What a local variable holds now."""
        found = self.run.locals[function][k]
        return self.default(self.functions[function].locals[k].type) if found is None else found

    def _number(self, value: Value) -> Value:
        """Integer parameters that steer a recursion must be known, or it would never end."""
        if isinstance(value, int) and not self.run.masks.of(value) & ~PARAM:
            return const(self.g, self.run.number(value, "an argument of a function that calls itself"))
        return value

    def default(self, of: Type) -> Value:
        """What a local variable holds before its first assignment."""
        if of.base is BaseType.RECORD:
            element: Value = Rec([self.default(field.type) for field in self.flat.records[of.number].fields])
        elif of.base is BaseType.STRING:
            element = ""
        else:
            element = const(self.g, 0.0)
        n = 1
        for size in of.shape:
            n *= size or 0
        return Arr(tuple(size or 0 for size in of.shape), [element] * n) if of.shape else element

    def assertion(self, item: FlatAssert, name: str, live: int) -> None:
        """An assertion inside a function: constant ones are decided now, others are checked while simulating."""
        g, run = self.g, self.run
        condition, reached = run.scalar(item.condition), run.reached()
        if reached is None or value_of(g, condition):
            return
        if not self.acts and any(g.nodes[i][0] == Op.REL for i in reachable(g, [reached])):
            return  # a branch that a relation holds open may be left a little late
        holds = logical_or(g, logical_not(g, logical_and(g, reached, live)), condition)
        known = value_of(g, holds)
        if known:
            return
        text = joined(f"`{name}`: ", message_of(run, item.message))
        if known is None or self.routines.in_loops or not item.is_error:
            check = Check(holds, text, item.is_error, item.span)
            if not self.routines.asserted(check):
                self.require(Demand(check))
        else:
            message = shown_now(run, message_of(run, item.message))
            raise ModelError(f"assertion in function `{name}` fails: {message}", hint="check the arguments of the call")

    # -------------------------------------------------------------------------- calls that stay as they are

    def _moves(self, args: list[Value]) -> bool:
        return any(self.run.masks.of(e) & (TIME | UNKNOWN) for a in args if not isinstance(a, str) for e in scalars(a))

    def _is_real(self, function: int, k: int) -> bool:
        return self._all_real(self.functions[function].locals[k].type)

    def _all_real(self, of: Type) -> bool:
        """A Real, or a record of nothing else."""
        if of.base is BaseType.RECORD:
            return all(self._all_real(field.type) for field in self.flat.records[of.number].fields)
        return of.base is BaseType.REAL

    def _is_usable(self, function: int, derivative: DerivativeRule, args: list[Value]) -> bool:
        """The annotation fits: constant where it says zero derivative, not Real only where constant."""
        for k, (arg, says) in enumerate(zip(args, derivative.inputs, strict=True)):
            if not self._is_real(function, k):
                if any(value_of(self.g, e) is None for e in numbers(arg)):
                    return False
            elif says == "zero" and self._moves([arg]):
                return False
        return self._differentiated(function, derivative) is not None

    def _differentiated(self, function: int, derivative: DerivativeRule) -> list[int] | None:
        """Positions of the arguments whose derivatives the target expects behind the arguments themselves."""
        n = self.functions[function].n_inputs
        extra = self.functions[derivative.function].n_inputs - n
        if derivative.order > 1:
            # a second derivative: the derivatives that were added last time are differentiated
            found = list(range(n - extra, n)) if 0 < extra <= n else []
        else:
            found = [k for k, says in enumerate(derivative.inputs) if says == "differentiate"]
            found = [k for k in found if self._is_real(function, k)]
        return found if len(found) == extra else None

    def _is_invertible(self, function: int, args: list[Value]) -> bool:
        """It has an inverse, and arguments that are not Real do not change."""
        if not self.functions[function].inverses or function in self.active:
            return False
        others = (a for k, a in enumerate(args) if not self._is_real(function, k))
        return not any(self.run.masks.of(e) & ~PARAM for a in others for e in numbers(a))

    def _keep(self, function: int, chosen: int, derivative: DerivativeRule | None, args: list[Value]) -> list[Value]:
        g = self.g
        number, template = self._entry(function, chosen, derivative, args)
        if derivative is None and not self.entries[number].inverses:
            return self.inline(function, args)
        flat = [e for k, arg in enumerate(args) if self._is_real(function, k) for e in scalars(arg)]
        leaf = {g.intern((Op.ARG, k)): e for k, e in enumerate(flat)}
        for demand in self.demands[number]:
            check = demand.check.rewritten(lambda e: substitute(g, [e], leaf)[0])
            self.routines.demand(replace(demand, check=check))
        outputs: Iterator[int] = (g.intern((Op.CALL, number, k, *flat)) for k in count())
        return [like(value, outputs) for value in template]

    def _entry(
        self, function: int, chosen: int, derivative: DerivativeRule | None, args: list[Value]
    ) -> tuple[int, list[Value]]:
        """Number of the function's entry and the form of its outputs."""
        real = [self._is_real(function, k) for k in range(len(args))]
        fixed = tuple(
            "" if r else a if isinstance(a, str) else tuple(leaves(a)) for r, a in zip(real, args, strict=True)
        )
        key = (function, chosen, fixed)
        if key in self.numbers:
            return self.numbers[key]
        places = count()
        symbols = (self.g.intern((Op.ARG, k)) for k in places)
        inner = [like(a, symbols) if r else a for r, a in zip(real, args, strict=True)]
        with self.alone() as demands:
            template = self.inline(function, inner)
        n = sum(len(scalars(a)) for r, a in zip(real, inner, strict=True) if r)
        entry = Function(self.functions[function].name, n, tuple(e for value in template for e in scalars(value)))
        number = len(self.entries)
        self.entries.append(entry)
        self.demands.append(demands)
        self.numbers[key] = (number, template)
        if chosen != -1 and self._is_invertible(function, args):  # those of derivatives are not asked for
            self.entries[number] = replace(entry, inverses=inverses_of(self, function, inner, template, entry))
        if derivative is not None:
            self._link(number, function, derivative, inner)
        return number, template

    def _link(self, number: int, function: int, derivative: DerivativeRule, inner: list[Value]) -> None:
        """Add the entry of the derivative, and in turn those of its own derivatives."""
        positions = self._differentiated(function, derivative) or []
        offsets, offset = [], 0
        for k, arg in enumerate(inner):
            offsets.append(offset)
            offset += len(scalars(arg)) if self._is_real(function, k) else 0
        target = derivative.function
        args = [*inner, *(inner[k] for k in positions)]
        own = self.functions[target]
        following = None
        for each in sorted(own.derivatives, key=lambda d: d.priority):
            if following is None and self._differentiated(target, each) is not None:
                following = each
        derived, _ = self._entry(target, -1, following, args)
        differentiated = tuple(offsets[k] + i for k in positions for i in range(len(scalars(inner[k]))))
        self.entries[number] = replace(self.entries[number], derivative=derived, differentiated=differentiated)
