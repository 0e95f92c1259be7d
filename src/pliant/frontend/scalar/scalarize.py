"""A flat model to a flat system of scalar equations.

    tape       operands of expressions        interpret  their values, arrays and loops taken apart
    symbols    variables and parameters       discrete   what changes at events only
    functions  inlined, or kept with entries  externals  tables
    events     when-clauses                   renumber   drops what nothing reads

Nothing is solved or sorted here. Constructs that pliant reads but cannot simulate become refusals of the system;
those that leave no equation at all raise an error with the place in the source.
"""

from __future__ import annotations

import gc
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pliant.errors import ModelError, NotSupportedError, PliantError
from pliant.expr.build import choose, const, logical_and, logical_not, sub, value_of, var, variables_of
from pliant.frontend.flat.expressions import NONE, FlatLiteral, FlatTuple, VariableRef
from pliant.frontend.flat.model import (
    FlatAssert,
    FlatEquation,
    FlatFor,
    FlatIf,
    FlatInvoke,
    FlatItem,
    FlatModel,
    FlatReinit,
    FlatTerminate,
)
from pliant.frontend.flat.types import BaseType, Type, Variability
from pliant.frontend.scalar.bounds import START, IndexBounds
from pliant.frontend.scalar.builtins import Builtins
from pliant.frontend.scalar.dependence import PARAM, Masks
from pliant.frontend.scalar.discrete import Discretes
from pliant.frontend.scalar.discrete_texts import MOST_READINGS, Forms
from pliant.frontend.scalar.events import EventBuilder
from pliant.frontend.scalar.externals import Externals
from pliant.frontend.scalar.frames import framed
from pliant.frontend.scalar.functions import Calls
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.open_texts import message_of, shown_now
from pliant.frontend.scalar.renumber import drop_unused, unread
from pliant.frontend.scalar.sections import AlgorithmSections
from pliant.frontend.scalar.starts import StartTaker
from pliant.frontend.scalar.symbols import Symbols
from pliant.frontend.scalar.tape import Tape
from pliant.frontend.scalar.values import Arr, Rec, Value, difference, leaves, reals, scalars
from pliant.ir import Check, Equation, Kind, Op, Refusal, Span, System, without_values
from pliant.texts import operands_of

_MAX_PASSES = 20
_INDEX = re.compile(r"\[[\d,]+\](?=$| )")  # at the end of a name


def scalarize(flat: FlatModel, *, fold_parameters: bool = False) -> System:
    """Flat scalar system of a flat model. ``fold_parameters`` makes numbers of all parameters."""
    was_enabled = gc.isenabled()
    gc.disable()  # millions of nodes are made and none is garbage: collecting takes a third of the time
    try:
        return _scalarize(flat, fold_parameters)
    finally:
        if was_enabled:
            gc.enable()


def _scalarize(flat: FlatModel, fold_parameters: bool) -> System:
    tape = Tape(flat)
    used = {k: one.locked for k, one in enumerate(flat.variables) if one.is_evaluated}
    forced = _with_sources(tape, used)
    forms: Forms | None = None
    readings = 0
    for _ in range(_MAX_PASSES):
        builder = _Builder(tape, forced, fold_parameters, forms)
        system = builder.build()
        new = {k: why for k, why in builder.symbols.new_forced.items() if k not in forced}
        found = builder.discretes.texts.found()
        if found is not None and not new:
            forms, readings = found, readings + 1
            if readings > MOST_READINGS:
                raise _endless_texts(flat, forms)
            continue
        if not new:
            system.experiment = (flat.experiment.start, flat.experiment.stop, flat.experiment.interval)
            system.digest = hashlib.sha256(f"{fold_parameters} {flat.digest}".encode()).hexdigest()
            return system
        forced = _with_sources(tape, forced | new)  # sizes or indices use these: read again with their values
    names = ", ".join(sorted(flat.variables[k].name for k in new)[:5])
    raise NotSupportedError(
        f"sizes depend on parameters in more than {_MAX_PASSES} stages, the last ones on {names}",
        hint="give these parameters numbers instead of expressions",
    )


def _endless_texts(flat: FlatModel, forms: Forms) -> NotSupportedError:
    """Strings that are made of each other."""
    most = max(len(one) for one in forms.texts.values())
    first = next(position for (position, _), one in forms.texts.items() if len(one) == most)
    own = flat.variables[first]
    return NotSupportedError(
        f"{own.span or flat.name}: the String `{own.name}` and others are made of what they were before: they may grow "
        "without end",
        hint="keep the numbers, and make the text of them",
        span=own.span,
    )


def _with_sources(tape: Tape, forced: dict[int, str]) -> dict[int, str]:
    """What folded parameters are computed from is folded, too; known beforehand it saves a second pass."""
    variables = tape.variables
    todo = [(k, variables[k].name, why) for k, why in forced.items()]
    found = dict(forced)
    while todo:
        position, root, why = todo.pop()
        for source in tape.parameters_in(variables[position].binding, sizes=False):
            if source not in found and variables[source].variability is Variability.PARAMETER:
                found[source] = f"`{root}` is computed from it ({why})"
                todo.append((source, root, why))
    return found


class _Builder:
    """One pass over the model."""

    def __init__(self, tape: Tape, forced: dict[int, str], fold_parameters: bool, forms: Forms | None) -> None:
        self.tape, self.flat, self.nodes = tape, tape.flat, tape.nodes
        self.system = System(tape.flat.name)
        g = self.system.graph
        masks = Masks(g, self.system.variables)
        self.run = run = Interpreter(g, tape, masks)
        self.symbols = Symbols(run, forced, fold_parameters)
        self.discretes = Discretes(run, self.symbols, forms)
        self.events = EventBuilder(self.discretes)
        self.sections = AlgorithmSections(self.discretes, self.events)
        self.externals = Externals(run, self.symbols)
        self.calls = Calls(run, self.externals)
        run.bounds = self.bounds = IndexBounds(run, self.calls)
        self.symbols.objects = self.calls.foreign.object
        self.sections.calls = self.calls
        self.calls.foreign.is_before = lambda: bool(self.symbols.being_evaluated)
        self.discretes.functions = self.calls.entries
        run.variable, run.special = self.discretes.variable, self.discretes.special
        run.call, run.default, run.numeric = self.calls, self.calls.local, self.symbols.numeric
        run.builtin = Builtins(run, self.events.floor)

    def build(self) -> System:
        """The whole system."""
        system, symbols = self.system, self.symbols
        with self._at(None):
            symbols.declare()
            symbols.evaluate_parameters()
            self.discretes.declare()
            symbols.attributes()
        for k in sorted(self.tape.sections):
            with self._at(self.flat.algorithms[k].span):
                system.equations += self.sections.equations(self.flat.algorithms[k])
        self._equations(self.flat.equations, system.equations)
        always = const(system.graph, 1.0)
        with self.bounds.within(START), self.run.impure.reached_where(lambda: always):
            self._equations(self.flat.initial_equations, system.initial_equations)
        for section in self.flat.initial_algorithms:
            with self._at(section.span):
                system.initial_equations += self.sections.initial_equations(section)
        self._parameter_values()
        self._when_actions()
        with self._at(None):
            taker = StartTaker(self.discretes, self.events.finish())
            with self.bounds.within(START), self.run.impure.reached_where(lambda: always):
                system.initial_equations, system.events = taker.run(system.initial_equations)
            self.events.actions.take()
        self.discretes.finish()
        self._assertions()
        system.events = self.events.completed(system.events)
        system.equations += self.discretes.integrals()
        system.derivative = symbols.derivative
        system.relations = self.run.relations
        system.functions = self.calls.entries
        system.tables = self.externals.tables
        system.fixed_parameters = symbols.fixed
        self._finish()
        return system

    # ----------------------------------------------------------------------------------------- equations

    def _equations(self, items: tuple[FlatItem, ...], into: list[Equation], point: tuple[int, ...] = ()) -> None:
        """Equations that always hold; what changes at events only, and when-clauses, are read by events.py."""
        for item in items:
            if isinstance(item, FlatEquation):
                if item.variability is Variability.CONTINUOUS:
                    with self._at(item.span):
                        if self._is_mixed(item):
                            self._mixed(item, point, into)
                        else:
                            self._append(self._residual(item), item, point, into)
            elif isinstance(item, FlatFor):
                self._loop(item, into, point)
            elif isinstance(item, FlatIf):
                with self._at(item.span):
                    self._choice(item, into, point)
            elif isinstance(item, FlatInvoke):
                with self._at(item.span):
                    self._invoke(item)

    def _invoke(self, item: FlatInvoke) -> None:
        """A call for what it does: its assertions are those of the model; impure ones are made at the start."""
        impure = self.run.impure
        if impure.clause is None:
            self.run.value(item.call)
            return
        with impure.reached_where(self.discretes.is_initial, follows=True), impure.for_effect():
            self.run.again(item.call)

    def _is_mixed(self, item: FlatEquation) -> bool:
        """Between records that have fields which change at events only."""
        of = self.run.tape.types[item.left]
        return of.base is BaseType.RECORD and self._has_discrete_fields(of)

    def _has_discrete_fields(self, of: Type) -> bool:
        if of.base is BaseType.RECORD:
            return any(self._has_discrete_fields(one.type) for one in self.flat.records[of.number].fields)
        return of.base is not BaseType.REAL

    def _mixed(self, item: FlatEquation, point: tuple[int, ...], into: list[Equation]) -> None:
        """Real fields give equations, the others are set at events."""
        left, right = self.run.sides(item.left, item.right)
        kinds = iter(reals(left, self.run.tape.types[item.left], self.flat.records))
        for a, b in zip(leaves(left), leaves(right), strict=True):
            if isinstance(a, str) or isinstance(b, str):
                self.events.takes(a, b, item.span)
            elif next(kinds) or not self.events.takes(a, b, item.span):
                into.append(Equation(sub(self.system.graph, a, b), item.span, item.origin, point))

    def _loop(self, item: FlatFor, into: list[Equation], point: tuple[int, ...]) -> None:
        with self._at(item.span):
            for inner in self.run.over(item.loops):
                for one in item.body:
                    if isinstance(one, FlatEquation) and one.variability is Variability.CONTINUOUS:
                        self._append(self._residual(one), one, (*point, *inner), into)
                    elif isinstance(one, (FlatFor, FlatIf)):
                        self._equations((one,), into, (*point, *inner))

    def _choice(self, item: FlatIf, into: list[Equation], point: tuple[int, ...]) -> None:
        """An if-equation: the branch that a parameter chooses, or row by row the residual of the one that holds."""
        run, last = self.run, item.otherwise
        undecided: list[tuple[int, list[Equation]]] = []
        none = const(self.system.graph, 1.0)
        for branch in item.branches:
            condition = run.condition(branch.condition, none, guarded=bool(undecided))
            known = run.decided(condition)
            if known is None:
                here = logical_and(self.system.graph, none, condition)
                undecided.append((condition, self._rows(branch.body, point, here)))
                none = logical_and(self.system.graph, none, logical_not(self.system.graph, condition))
            elif known:
                last = branch.body
                break
        rows = self._rows(last, point, none)
        undecided, rows = self._structural(undecided, rows)
        counts = [len(own) for _, own in undecided] + [len(rows)]
        if len(set(counts)) > 1:
            raise ModelError(
                f"the branches of an if-equation have different numbers of equations ({', '.join(map(str, counts))})",
                hint="give each as many, or make the condition a parameter",
            )
        for condition, own in reversed(undecided):
            pairs = zip(own, rows, strict=True)
            rows = [replace(a, residual=choose(run.g, condition, a.residual, b.residual)) for a, b in pairs]
        into += rows

    def _structural(
        self, undecided: list[tuple[int, list[Equation]]], rows: list[Equation]
    ) -> tuple[list[tuple[int, list[Equation]]], list[Equation]]:
        """Without the branches that parameters rule out, where these are about other unknowns than the rest.

        ``if m > 0 then m*der(T) = q else q = 0``: with m = 0 there is nothing to be solved for der(T).
        """
        run, open_now = self.run, []
        for condition, own in undecided:
            if run.masks.of(condition) & ~PARAM or self._same_unknowns(own, rows):
                open_now.append((condition, own))
            elif run.number(condition, "it decides which equations hold"):
                return open_now, own
        return open_now, rows

    def _same_unknowns(self, a: list[Equation], b: list[Equation]) -> bool:
        variables = self.symbols.variables

        def unknowns(equation: Equation) -> set[int]:
            found = variables_of(self.system.graph, equation.residual)
            return {v for v in found if variables[v].kind in (Kind.UNKNOWN, Kind.DERIVATIVE)}

        return len(a) == len(b) and all(unknowns(x) == unknowns(y) for x, y in zip(a, b, strict=True))

    def _rows(self, items: tuple[FlatItem, ...], point: tuple[int, ...], condition: int) -> list[Equation]:
        found: list[Equation] = []
        with self.run.under_condition(condition):
            self._equations(items, found, point)
        return found

    def _residual(self, item: FlatEquation) -> Value:
        right = self.nodes[item.right]
        if right.__class__ is FlatLiteral and right.value.__class__ is int and right.value == 0:
            return self.run.value(item.left)  # zero of any shape
        self.run.impure.last = None
        left, other = self.run.sides(item.left, item.right)
        if left.__class__ is int and other.__class__ is int:
            return sub(self.system.graph, left, other)
        target = self.nodes[item.left]
        if isinstance(target, FlatTuple):
            return self._outputs(target, other)
        return difference(self.system.graph, left, other)

    def _outputs(self, target: FlatTuple, found: Any) -> Value:
        """``(a, , b) = f(x)``, output by output; what is left out is not there."""
        pairs = [(self.run.value(e), one) for e, one in zip(target.elements, found, strict=False) if e != NONE]
        return Rec([difference(self.system.graph, a, b) for a, b in pairs])

    def _parameter_values(self) -> None:
        """Initial equations of Integer, Boolean and enumeration parameters with fixed=false: `n = ...`."""
        for item in self.flat.initial_equations:
            if not isinstance(item, FlatEquation) or item.variability is not Variability.PARAMETER:
                continue
            target = self.nodes[item.left]
            with self._at(item.span):
                if not isinstance(target, VariableRef):
                    raise NotSupportedError("a part of a parameter is set", hint="set the whole parameter")
                first = self.symbols.base[target.variable]
                for v, e in enumerate(scalars(self.discretes.shaped(target.variable, item.right)), first):
                    if self.run.masks.of(e) & ~PARAM:
                        residual = sub(self.system.graph, var(self.system.graph, v), e)
                        self.system.initial_equations.append(Equation(residual, item.span, target=v))
                    else:
                        self.symbols.change(v, binding=e)

    def _append(self, value: Value, item: FlatEquation, point: tuple[int, ...], into: list[Equation]) -> None:
        span, origin = item.span, item.origin
        if origin in {"connection", "flow balance"} and span is not None:
            # the place is the declaration of a connector; the names of the connected variables say more
            span = replace(span, text=sum_text(self.system, value) or span.text)
        if isinstance(value, int):
            into.append(Equation(value, span, origin, point))
            return
        found = scalars(value)
        if isinstance(value, Arr) and len(value.flat) == len(found):
            for k, residual in enumerate(found):
                into.append(Equation(residual, span, origin, (*point, *_place(k, value.shape))))
        else:
            into.extend(Equation(residual, span, origin, point) for residual in found)

    @contextmanager
    def _at(self, span: Span | None) -> Iterator[None]:
        """Errors say which equation they come from."""
        try:
            yield
        except PliantError as error:
            if span is None or getattr(error, "is_placed", False):
                raise
            text = f" in `{span.text}`" if span.text else ""
            placed = type(error)(f"{span.file}:{span.line}:{span.column}: {error.message}{text}", hint=error.hint)
            if isinstance(placed, ModelError):
                placed.span, placed.rule = span, getattr(error, "rule", None)
            placed.is_placed = True  # type: ignore[attr-defined]
            raise placed from None
        except (KeyError, IndexError, TypeError, AttributeError, ValueError, RecursionError) as error:
            place = f"{span.file}:{span.line}:{span.column}: " if span else ""
            what = f"`{span.text}`" if span and span.text else "a construct of the model"
            raise NotSupportedError(
                f"{place or f'{self.system.name}: '}{what} has a form that pliant does not support",
                hint="write it in a simpler form, and report the model",
                span=span,
            ) from error

    # ------------------------------------------------------------------------------- assertions, actions

    def _when_actions(self) -> None:
        """reinit, terminate and assertions in when-clauses."""
        simple = (one.body for k, one in enumerate(self.flat.algorithms) if k not in self.tape.sections)
        for items in (self.flat.equations, *simple):
            for item, under in framed(items, self.run.over):
                if isinstance(item, FlatTerminate) or (under and isinstance(item, (FlatReinit, FlatAssert))):
                    with self._at(item.span):
                        self.events.actions.action(item, under)

    def _assertions(self) -> None:
        """Assertions that hold always, outside of when-clauses."""
        self.run.events = False
        for item in self.flat.equations:
            if isinstance(item, FlatAssert):
                with self._at(item.span):
                    self._check(item)

    def _check(self, item: FlatAssert) -> None:
        run, g = self.run, self.system.graph
        n_refusals = len(self.symbols.refusals)
        holds = run.scalar(item.condition)
        known = value_of(g, holds)
        message = "" if known else message_of(run, item.message)
        del self.symbols.refusals[n_refusals:]  # an assertion is only looked at, it makes no events
        if known or any(v in self.discretes.reasons for v in variables_of(g, holds)):
            return  # true, or about something that is not supported
        if known is None or not item.is_error:
            self.system.checks.append(Check(holds, message, item.is_error, item.span))
        else:
            text = shown_now(run, message)
            raise ModelError(f"assertion fails: {text}", hint="change the parameters that it names")

    # -------------------------------------------------------------------------------------------- the end

    def _finish(self) -> None:
        system, discretes = self.system, self.discretes
        system.checks += self.sections.checks
        system.checks += self.calls.checks
        system.checks += map(self.bounds.finished, self.bounds.checks)
        unwanted, read = unread(system)
        seen: list[Refusal] = []
        for number in sorted(read):
            refusal = discretes.reasons.get(number)
            if refusal is not None and refusal not in seen:
                seen.append(refusal)
        system.refusals = [*self.symbols.refusals, *seen]
        system.notes = [*self.symbols.notes, *self.run.impure.notes()]
        for position, error in self.symbols.failures.items():
            first = self.symbols.base.get(position)
            if first is None:
                continue
            span = system.variables[first].span
            own = range(first, first + sum(1 for o in self.symbols.owner if o == position))
            if read.isdisjoint(own):
                unwanted.update(own)
            else:
                with self._at(span):
                    raise error
        gone = unwanted.union(discretes.reasons)
        system.checks = [
            without_values(check, check.condition) if self._reads(operands_of(check.message), gone) else check
            for check in system.checks
            if not self._reads([check.condition], gone)
        ]
        actions = [
            replace(one, message=str(one.message)) if self._reads(operands_of(one.message), gone) else one
            for one in system.events.actions
        ]
        system.events = replace(system.events, actions=tuple(actions))
        drop_unused(system, unwanted)

    def _reads(self, roots: list[int], gone: set[int]) -> bool:
        return any(not gone.isdisjoint(variables_of(self.system.graph, e)) for e in roots)


def sum_text(system: System, residual: Value) -> str:
    """``a = b`` or ``0 = a + b - c`` for a sum of variables (of arrays without indices), empty for anything else."""
    if isinstance(residual, Arr) and residual.flat:
        return _INDEX.sub("", sum_text(system, residual.flat[0]))
    if not isinstance(residual, int):
        return ""
    nodes, stack = system.graph.nodes, [(residual, "+")]
    parts: list[tuple[str, str]] = []
    while stack and len(parts) < 6:
        e, sign = stack.pop()
        node = nodes[e]
        other = "-" if sign == "+" else "+"
        if node[0] == Op.VAR:
            parts.append((sign, system.variables[node[1]].name))
        elif node[0] == Op.NEG:
            stack.append((node[1], other))
        elif node[0] in (Op.ADD, Op.SUB):
            stack.append((node[2], sign if node[0] == Op.ADD else other))
            stack.append((node[1], sign))
        else:
            return ""
    if len(parts) == 2 and parts[0][0] != parts[1][0] and not stack:
        return f"{parts[0][1]} = {parts[1][1]}"
    text = " ".join(f"{sign} {name}" for sign, name in parts).removeprefix("+ ")
    return f"0 = {text}{' + …' if stack else ''}"[:100]


def _place(k: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """1-based subscripts of element k."""
    found = []
    for size in reversed(shape):
        found.append(k % size + 1)
        k //= size
    return tuple(reversed(found))
