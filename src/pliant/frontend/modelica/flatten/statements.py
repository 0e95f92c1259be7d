"""Statements of algorithm sections and functions as items of a flat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.expressions import NONE, FlatBinary, FlatLiteral, FlatTuple
from pliant.frontend.flat.model import (
    FlatAssert,
    FlatAssign,
    FlatBranch,
    FlatBreak,
    FlatFor,
    FlatIf,
    FlatInvoke,
    FlatItem,
    FlatReinit,
    FlatReturn,
    FlatTerminate,
    FlatWhen,
    FlatWhile,
)
from pliant.frontend.flat.shapes import TypeMismatch, unified
from pliant.frontend.flat.types import BOOLEAN, STRING, BaseType, Variability
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.loops import must_unroll
from pliant.frontend.modelica.flatten.types import check_outputs
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import EnumValue

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator


class Statements:
    """Translates statements."""

    def __init__(self, translator: Translator) -> None:
        self.out = translator

    def items(self, statements: tuple[tree.AnyStatement, ...], context: Context) -> list[FlatItem]:
        """Statements in order."""
        found: list[FlatItem] = []
        for one in statements:
            found += _STATEMENTS[one.__class__](self, one, context)
        return found

    def _assignment(self, one: tree.Assignment, context: Context) -> list[FlatItem]:
        self._check_target(one.target, context)
        target, value = self.out.reference(one.target, context), self.out.expr(one.value, context)
        a, b = self.out.type(target), self.out.type(value)
        try:
            unified(a, b, f"`{one.target.text}` and its value")
        except TypeMismatch as mismatch:
            raise problem(str(mismatch), one, path=context.path, rule="11.2.1") from None
        if a.base is BaseType.INTEGER and b.base is BaseType.REAL:
            raise problem(
                f"a Real is assigned to the Integer `{one.target.text}`", one, path=context.path, rule="11.2.1"
            )
        self._check_discrete(target, value, one, context)
        return [FlatAssign(target, value, self.out.span(one), context.path)]

    def _check_discrete(self, target: int, value: int, one: tree.Node, context: Context) -> None:
        """Outside of functions and when-clauses: what changes at events only takes no value that changes between."""
        out = self.out
        if context.function is not None or out.in_when or out.calls.is_initial:
            return
        of = out.type(target)
        node = out.builder.nodes[target]
        if isinstance(node, FlatTuple):
            for part in node.elements:
                if part != NONE:
                    self._check_discrete(part, value, one, context)
        elif of.base not in (BaseType.REAL, BaseType.RECORD, BaseType.STRING) and (
            out.builder.variability(value) is Variability.CONTINUOUS
        ):
            text = (
                f"`{' '.join(one.text.split())[:70]}`: something discrete takes a value that may change between events"
            )
            raise problem(text, one, path=context.path, rule="3.8.5", hint="set it in a when-clause, or make it a Real")

    def _check_target(self, target: tree.Reference, context: Context) -> None:
        if target.names[0] in context.loops or target.names[0] in context.env:
            text = f"the loop variable `{target.names[0]}` cannot be assigned to"
            raise problem(text, target, path=context.path, rule="11.2.2")
        function = context.function
        if function is not None and target.names[0] in function.locals:
            element = function.inst.table.elements.get(target.names[0])
            if element is not None and function.inst.core.causality_of(target.names[0]) == "input":
                text = f"the input `{target.names[0]}` cannot be assigned to"
                raise problem(text, target, rule="12.2", hint="use a protected variable")

    def _tuple(self, one: tree.TupleAssignment, context: Context) -> list[FlatItem]:
        if not isinstance(one.value, tree.Call):
            raise problem("a function call is needed here", one, path=context.path, rule="11.2.1.1")
        value = self.out.calls.call(one.value, context, is_whole=True)
        items = [NONE if item is None else self.out.expr(item, context) for item in one.targets.items]
        of = self.out.type(value)
        span = self.out.span(one)
        if of.base is not BaseType.TUPLE:
            if len([e for e in items if e != NONE]) > 1 or not items or items[0] == NONE:
                raise problem("the function has one output", one, path=context.path, rule="11.2.1.1")
            return [FlatAssign(items[0], value, span, context.path)]
        count = self.out.builder.functions[of.number].n_outputs if of.number >= 0 else len(items)
        if len(items) > count:
            text = f"{len(items)} outputs are wanted, the function has {count}"
            raise problem(text, one, path=context.path, rule="12.4.3")
        if of.number >= 0:
            check_outputs(self.out, items, value, one, context)
        target = self.out.builder.add(FlatTuple(tuple(items)), self.out.span(one.targets))
        self._check_discrete(target, value, one, context)
        return [FlatAssign(target, value, span, context.path)]

    def _if(self, one: tree.IfStatement, context: Context) -> list[FlatItem]:
        branches: list[FlatBranch] = []
        otherwise: list[FlatItem] | None = None
        for condition, body in one.branches:
            known = self.out.calls.known_condition(condition, context)
            if known is False:
                continue
            if known is True:
                otherwise = self.items(body, context)
                break
            e = self.condition(condition, context)
            self.out.nesting += 1
            branches.append(FlatBranch(e, tuple(self.items(body, context)), self.out.span(condition)))
            self.out.nesting -= 1
        self.out.nesting += bool(branches)
        if otherwise is None:
            otherwise = self.items(one.otherwise, context)
        self.out.nesting -= bool(branches)
        if not branches:
            return otherwise
        return [FlatIf(tuple(branches), tuple(otherwise), self.out.span(one), context.path)]

    def condition(self, expr: tree.Expression, context: Context) -> int:
        """A Boolean scalar."""
        e = self.out.expr(expr, context)
        of = self.out.type(e)
        if of.base is not BaseType.BOOLEAN or of.shape:
            raise problem(f"`{expr.text}` is no condition", expr, path=context.path, rule="11.2.6")
        return e

    def _for(self, one: tree.ForStatement, context: Context) -> list[FlatItem]:
        if context.function is None and must_unroll(self.out, one.statements, one.indices, context):
            found: list[FlatItem] = []
            for inner in self.out.ranges.unrolled(one.indices, context, one.statements):
                found += self.items(one.statements, inner)
            return found
        loops, inner = [], context
        for index in one.indices:
            loop, inner = self.out.ranges.loop(index, inner, one.statements)
            loops.append(loop)
        return [FlatFor(tuple(loops), tuple(self.items(one.statements, inner)), self.out.span(one), context.path)]

    def _while(self, one: tree.WhileStatement, context: Context) -> list[FlatItem]:
        condition = self.condition(one.condition, context)
        return [FlatWhile(condition, tuple(self.items(one.statements, context)), self.out.span(one), context.path)]

    def _when(self, one: tree.WhenStatement, context: Context) -> list[FlatItem]:
        if context.function is not None:
            raise problem("a when-clause cannot stand in a function", one, rule="12.2")
        if self.out.nesting:
            raise problem("a when-clause stands inside of another clause", one, path=context.path, rule="11.2.7")
        branches = []
        for condition, body in one.branches:
            e = self.out.expr(condition, context)
            self.out.nesting += 1
            self.out.in_when += 1
            branches.append(FlatBranch(e, tuple(self.items(body, context)), self.out.span(condition)))
            self.out.in_when -= 1
            self.out.nesting -= 1
        return [FlatWhen(tuple(branches), self.out.span(one), context.path)]

    def _return(self, one: tree.ReturnStatement, context: Context) -> list[FlatItem]:
        if context.function is None:
            raise problem("`return` stands outside of a function", one, path=context.path, rule="12.1.2")
        return [FlatReturn(self.out.span(one), context.path)]

    def _call(self, one: tree.CallStatement, context: Context) -> list[FlatItem]:
        found = call_item(self.out, one.call, one, context)
        return [] if found is None else [found]


def call_item(out: Translator, call: Any, at: tree.Node, context: Context) -> FlatItem | None:
    """A call that stands alone: assert, terminate, reinit, or a function for what it does."""
    name = call.function.dotted
    span = out.span(at)
    if not isinstance(call, tree.Call):
        raise problem("this cannot stand alone", at, path=context.path, rule="8.3")
    given = {one.name: one.value for one in call.named}
    arguments = list(call.arguments)
    if name == "assert":
        for key in ("condition", "message", "level")[len(arguments) :]:
            if key in given:
                arguments.append(given[key])
        if len(arguments) < 2:
            raise problem("`assert` needs a condition and a message", at, path=context.path, rule="8.3.7")
        known = out.calls.known_condition(arguments[0], context)
        condition, message = out.expr(arguments[0], context), out.expr(arguments[1], context)
        is_error = True
        if len(arguments) > 2:
            level, of = _assertion_level(out, arguments[2], context)
            is_error = level != 1
            if level == 0:  # an error where the level says so
                warning = out.builder.literal(1, span, out.type(of))
                is_warning = out.add(FlatBinary("==", of, warning), at, context)
                condition = out.add(FlatBinary("or", condition, is_warning), at, context)
        if out.type(condition) != BOOLEAN:
            raise problem(f"`{arguments[0].text}` is no condition", arguments[0], path=context.path, rule="8.3.7")
        if out.type(message) != STRING:
            raise problem(f"`{arguments[1].text}` is no message", arguments[1], path=context.path, rule="8.3.7")
        if known is True:
            return None
        if known is False and is_error and not out.nesting and context.function is None:
            said = out.builder.nodes[message]
            words = f": {said.value}" if isinstance(said, FlatLiteral) and said.value else ""
            text = f"the assertion `{arguments[0].text}` is always false{words}"
            raise problem(text, at, path=context.path, rule="8.3.7", hint="change the constants that it depends on")
        return FlatAssert(condition, message, is_error, span, context.path)
    if name == "terminate":
        return FlatTerminate(out.expr((*arguments, *given.values())[0], context), span, context.path)
    if name == "reinit":
        if len(arguments) == 2:
            _check_state(out, arguments[0], context)
        if len(arguments) != 2:
            raise problem("`reinit` needs a state and a value", at, path=context.path, rule="8.3.6")
        state, value = out.expr(arguments[0], context), out.expr(arguments[1], context)
        try:
            unified(out.type(state), out.type(value), f"`{arguments[0].text}` and its new value")
        except TypeMismatch as mismatch:
            raise problem(str(mismatch), at, path=context.path, rule="8.3.6") from None
        return FlatReinit(state, value, span, context.path)
    return FlatInvoke(out.calls.call(call, context, is_whole=True), span, context.path)


def _assertion_level(out: Translator, level: tree.Expression, context: Context) -> tuple[int, int]:
    """1 for a warning, 2 for an error, 0 where it changes; and the expression."""
    e = out.expr(level, context)
    of = out.type(e)
    enumeration = out.builder.enumerations[of.number].name if of.base is BaseType.ENUMERATION else ""
    if enumeration != "AssertionLevel" or of.shape:
        text = f"`{level.text}` is no level of an assertion"
        hint = "write AssertionLevel.warning or AssertionLevel.error"
        raise problem(text, level, path=context.path, rule="8.3.7", hint=hint)
    node = out.builder.nodes[e]
    if isinstance(node, FlatLiteral):
        return int(node.value), e
    found = out.values.tried(level, context.scope, "the level of an assertion", context.known)
    return (found.ordinal if isinstance(found, EnumValue) else 0), e


def _check_state(out: Translator, target: tree.Expression, context: Context) -> None:
    """`reinit` sets states: continuous Real variables."""
    e = out.expr(target, context)
    is_real = out.type(e).base is BaseType.REAL
    if not is_real or out.builder.variability(e) is not Variability.CONTINUOUS:
        what = "a parameter or constant" if is_real else "no Real variable"
        text = f"`{target.text}` is {what}: `reinit` sets states only"
        raise problem(text, target, path=context.path, rule="8.3.6", hint="name a variable that is differentiated")


_STATEMENTS: dict[type, Any] = {
    tree.Assignment: Statements._assignment,
    tree.TupleAssignment: Statements._tuple,
    tree.IfStatement: Statements._if,
    tree.ForStatement: Statements._for,
    tree.WhileStatement: Statements._while,
    tree.WhenStatement: Statements._when,
    tree.CallStatement: Statements._call,
    tree.BreakStatement: lambda self, one, context: [FlatBreak(self.out.span(one), context.path)],
    tree.ReturnStatement: Statements._return,
}
