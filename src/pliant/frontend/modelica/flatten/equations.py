"""Equations as items of a flat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.frontend.flat.expressions import (
    NONE,
    FlatArray,
    FlatBuiltin,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatOutput,
    FlatRecord,
    FlatTuple,
    FlatUnary,
    VariableRef,
)
from pliant.frontend.flat.model import FlatBranch, FlatEquation, FlatFor, FlatIf, FlatItem, FlatWhen
from pliant.frontend.flat.shapes import TypeMismatch, unified
from pliant.frontend.flat.types import LARGEST_INTEGER, BaseType, Type, Variability
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.counts import Counts
from pliant.frontend.modelica.flatten.loops import must_unroll
from pliant.frontend.modelica.flatten.special import whole_pipe
from pliant.frontend.modelica.flatten.statements import call_item
from pliant.frontend.modelica.flatten.types import check_outputs
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import walk

if TYPE_CHECKING:
    from pliant.frontend.flat.build import FlatBuilder
    from pliant.frontend.modelica.flatten.translate import Translator


class EquationTranslator:
    """Translates equations; connections are not among them."""

    def __init__(self, translator: Translator) -> None:
        self.out = translator
        self.is_initial = self.is_clocked = False

    def items(self, equations: tuple[tree.AnyEquation, ...], context: Context) -> list[FlatItem]:
        """Equations in order."""
        found: list[FlatItem] = []
        for one in equations:
            found += _EQUATIONS[one.__class__](self, one, context)
        return found

    def _check_integer(self, e: int, other: Type, at: tree.Node, context: Context) -> None:
        """A number that is given to an Integer is one."""
        node = self.out.builder.nodes[e]
        if other.base is not BaseType.INTEGER or not isinstance(node, FlatLiteral) or type(node.value) is not int:
            return
        if abs(node.value) > LARGEST_INTEGER:
            text = f"`{_short(at.text)}`: {node.value} is no Integer"
            hint = f"an Integer lies in -{LARGEST_INTEGER} .. {LARGEST_INTEGER}; declare a Real"
            raise problem(text, at, path=context.path, rule="2.4.2", hint=hint)

    def made(self, left: int, right: int, at: tree.Node, context: Context, origin: str = "equation") -> FlatEquation:
        """An equation between two expressions of equal types."""
        out = self.out
        a, b = out.type(left), out.type(right)
        if BaseType.TUPLE not in (a.base, b.base):
            try:
                unified(a, b, "the sides of an equation")
            except TypeMismatch as mismatch:
                raise problem(f"`{_short(at.text)}`: {mismatch}", at, path=context.path, rule="8.3.1") from None
        self._check_integer(left, b, at, context)
        self._check_integer(right, a, at, context)
        if out.in_when:
            if not self.is_clocked or _is_target(out.builder, left):  # a clock solves its equations (16.6)
                self._check_target(left, right, at, context)
            variability = Variability.DISCRETE
        elif self.is_initial:
            variability = self._assigned(left)
            if variability is Variability.CONTINUOUS and self._assigned(right) is not Variability.CONTINUOUS:
                left, right, variability = right, left, self._assigned(right)
        else:
            most = max(out.builder.variability(left), out.builder.variability(right))
            variability = max(most, Variability.DISCRETE)
            if all(of.base not in (BaseType.REAL, BaseType.RECORD, BaseType.TUPLE) for of in (a, b)):
                if most is Variability.CONTINUOUS and BaseType.STRING not in (a.base, b.base):
                    text = f"`{_short(at.text)}`: something discrete equals what may change between events"
                    hint = "make it in a when-clause, or as a Real"
                    raise problem(text, at, path=context.path, rule="3.8.5", hint=hint)
                variability = Variability.DISCRETE
        return FlatEquation(left, right, variability, origin, span=out.span(at), path=context.path)

    def _check_target(self, left: int, right: int, at: tree.Node, context: Context) -> None:
        """Without a clock, what a when-clause sets stands on the left side, and takes what is right of it (8.3.5.2)."""
        builder = self.out.builder
        if not _is_target(builder, left):
            text = f"`{_short(at.text)}`: the left side of an equation in a when-clause must be a variable"
            raise problem(text, at, path=context.path, rule="8.3.5.2", hint="solve it for the variable: v = ...")
        a, b = self.out.type(left), self.out.type(right)
        if a.base is BaseType.INTEGER and b.base is BaseType.REAL:
            text = f"`{_short(at.text)}`: an Integer is set, and a Real is given"
            raise problem(text, at, path=context.path, rule="8.3.5.2", hint="declare a Real, or use integer(...)")

    def _assigned(self, e: int) -> Variability:
        """What an initial equation gives a value: a discrete variable, also by `pre(d) = ...`, a parameter, or none."""
        node = self.out.builder.nodes[e]
        if isinstance(node, FlatBuiltin) and node.name == "pre":
            node = self.out.builder.nodes[node.operands[0]]
        if isinstance(node, VariableRef):
            variable = self.out.builder.variables[node.variable]
            if variable.variability is Variability.DISCRETE:
                return Variability.DISCRETE
            if variable.variability is Variability.PARAMETER and variable.type.base is not BaseType.REAL:
                return Variability.PARAMETER
        return Variability.CONTINUOUS

    def _simple(self, one: tree.SimpleEquation, context: Context) -> list[FlatItem]:
        if isinstance(one.left, tree.Tuple) and len(one.left.items) > 1:
            if not isinstance(one.right, tree.Call):
                raise problem("a list of outputs needs a function call", one, path=context.path, rule="8.3.1")
            right = self.out.calls.call(one.right, context, is_whole=True)
            pipe = whole_pipe(self.out.builder, right)
            if pipe is not None:
                return self._outlets(pipe, one.left, one, context)
            of = self.out.type(right)
            count = self.out.builder.functions[of.number].n_outputs if of.base is BaseType.TUPLE else 1
            if len(one.left.items) > count:
                text = f"{len(one.left.items)} outputs are wanted, the function has {count}"
                raise problem(text, one, path=context.path, rule="12.4.3")
            left = self.out.expr(one.left, context)
            if of.base is BaseType.TUPLE and not self.out.in_when and not self.is_initial:
                return self._by_outputs(left, right, one, context)
            return [self.made(left, right, one, context)]
        left, right = self.out.expr(one.left, context), self.out.expr(one.right, context)
        a = self.out.type(left)
        if a.shape and 0 in a.shape:
            return []
        if a == self.out.type(right) and self._is_mixed(a):
            return self._by_fields(left, right, one, context)
        return [self.made(left, right, one, context)]

    def _outlets(self, pipe: int, left: tree.Tuple, at: tree.Node, context: Context) -> list[FlatItem]:
        """(out0, out1) = spatialDistribution(...)"""
        if len(left.items) > 2:
            raise problem("`spatialDistribution` has two outputs", at, path=context.path, rule="3.7.4.2")
        found: list[FlatItem] = []
        for k, item in enumerate(left.items):
            if item is not None:
                sides = self.out.expr(item, context), self.out.element(pipe, (k + 1,), at, context)
                found.append(self.made(*sides, at, context))
        return found

    def _by_outputs(self, left: int, right: int, at: tree.Node, context: Context) -> list[FlatItem]:
        """(a, n) = f(x): one equation, or one for each output where some of them change at events only."""
        out = self.out
        found: list[FlatItem] = []
        target = out.builder.nodes[left]
        assert isinstance(target, FlatTuple)
        types = [out.type(e) for e in target.elements if e != NONE]
        check_outputs(out, target.elements, right, at, context)
        if not any(self._is_mixed(of) or of.base not in (BaseType.REAL, BaseType.RECORD) for of in types):
            return [self.made(left, right, at, context)]
        for k, e in enumerate(target.elements):
            if e != NONE:
                value = out.add(FlatOutput(right, k), at, context)
                both = self._is_mixed(out.type(e)) and out.type(e) == out.type(value)
                found += self._by_fields(e, value, at, context) if both else [self.made(e, value, at, context)]
        return found

    def _is_mixed(self, of: Type) -> bool:
        """A record with fields that are no Real numbers: they change at events only."""
        if of.base is not BaseType.RECORD or of.shape:
            return False
        fields = self.out.builder.records[of.number].fields
        return any(one.type.base not in (BaseType.REAL, BaseType.RECORD) or self._is_mixed(one.type) for one in fields)

    def _by_fields(self, left: int, right: int, at: tree.Node, context: Context) -> list[FlatItem]:
        out, found = self.out, []
        for one in out.builder.records[out.type(left).number].fields:
            sides = (out.field(e, one.name, at, context) for e in (left, right))
            a, b = sides
            if self._is_mixed(one.type):
                found += self._by_fields(a, b, at, context)
            else:
                found.append(self.made(a, b, at, context))
        return found

    def _if(self, one: tree.IfEquation, context: Context) -> list[FlatItem]:
        return self._branches(one, context)

    def _branches(self, one: tree.IfEquation, context: Context) -> list[FlatItem]:
        branches: list[FlatBranch] = []
        otherwise: list[FlatItem] | None = None
        must = is_structural(one)
        for condition, body in one.branches:
            known = self.out.calls.known_condition(condition, context)
            if known is None and must:
                reason = "the choice of equations by `if`"
                known = self.out.values.tried(condition, context.scope, reason, context.known)
            if known is False:
                continue
            if known is True:
                otherwise = self.items(body, context)
                break
            e = self.out.expr(condition, context)
            if self.out.type(e).base is not BaseType.BOOLEAN or self.out.type(e).shape:
                raise problem(f"`{condition.text}` is no condition", condition, path=context.path, rule="8.3.4")
            self.out.nesting += 1
            branches.append(FlatBranch(e, tuple(self.items(body, context)), self.out.span(condition)))
            self.out.nesting -= 1
        self.out.nesting += bool(branches)
        if otherwise is None:
            otherwise = self.items(one.otherwise, context)
        self.out.nesting -= bool(branches)
        if must and branches and not self.is_initial and not self.out.in_when:
            self._check_counts(one, branches, otherwise, context)
        if not branches:
            return otherwise
        return [FlatIf(tuple(branches), tuple(otherwise), self.out.span(one), context.path)]

    def _check_counts(
        self, one: tree.IfEquation, branches: list[FlatBranch], otherwise: list[FlatItem], context: Context
    ) -> None:
        """Conditions that change choose between equally many equations (8.3.4)."""
        balance = Counts(self.out.builder)
        counts = [sum(map(balance.count, body)) for body in (*(branch.body for branch in branches), otherwise)]
        if len(set(counts)) == 1:
            return
        if not one.otherwise and not otherwise:
            text = "an if-equation without `else` whose condition changes during the simulation: where it is false,"
            text += f" {counts[0]} equation{'s are' if counts[0] != 1 else ' is'} missing"
        else:
            numbers = ", ".join(map(str, counts))
            text = f"the branches of an if-equation have different numbers of equations ({numbers})"
        hint = "give each branch as many, or make the condition a parameter"
        raise problem(text, one, path=context.path, rule="8.3.4", hint=hint)

    def _for(self, one: tree.ForEquation, context: Context) -> list[FlatItem]:
        found: list[FlatItem]
        if must_unroll(self.out, one.equations, one.indices, context):
            found = []
            for inner in self.out.ranges.unrolled(one.indices, context, one.equations):
                found += self.items(one.equations, inner)
            return found
        loops, inner = [], context
        for index in one.indices:
            loop, inner = self.out.ranges.loop(index, inner, one.equations)
            if self.out.builder.variability(loop.range) > Variability.PARAMETER:
                text = f"the range of the loop over `{index.name}` changes during the simulation"
                raise problem(text, index, path=context.path, rule="8.3.2")
            loops.append(loop)
        if any(self.out.type(loop.range).shape == (0,) for loop in loops):
            return []
        body = tuple(self.items(one.equations, inner))
        if any(item.variability is Variability.DISCRETE for item in body if isinstance(item, FlatEquation)):
            found = []  # what changes at events is one equation for each element
            for inner in self.out.ranges.unrolled(one.indices, context, one.equations):
                found += self.items(one.equations, inner)
            return found
        return [FlatFor(tuple(loops), body, self.out.span(one), context.path)]

    def _when(self, one: tree.WhenEquation, context: Context) -> list[FlatItem]:
        if self.out.in_when:
            raise problem("a when-clause stands inside another", one, path=context.path, rule="8.3.5")
        branches = []
        for condition, body in one.branches:
            e = self.out.expr(condition, context)
            of = self.out.type(e)
            if of.base not in (BaseType.BOOLEAN, BaseType.CLOCK):
                hint = "write a Boolean, such as a relation, or a clock"
                text = f"`{condition.text}` is no condition"
                raise problem(text, condition, path=context.path, rule="8.3.5", hint=hint)
            self.out.in_when += 1
            self.out.in_clock += of.base is BaseType.CLOCK
            self.out.nesting += 1
            self.is_clocked = of.base is BaseType.CLOCK
            try:
                branches.append(FlatBranch(e, tuple(self.items(body, context)), self.out.span(condition)))
            finally:
                self.out.in_when -= 1
                self.out.in_clock -= of.base is BaseType.CLOCK
                self.out.nesting -= 1
                self.is_clocked = False
        return [FlatWhen(tuple(branches), self.out.span(one), context.path)]

    def _call(self, one: tree.CallEquation, context: Context) -> list[FlatItem]:
        name = one.call.function.dotted.lstrip(".")
        if name.startswith("Connections."):
            return []
        found = call_item(self.out, one.call, one, context)
        return [] if found is None else [found]

    def _connect(self, one: tree.Connect, context: Context) -> list[FlatItem]:
        return []


def _is_target(builder: FlatBuilder, e: int) -> bool:
    """A variable or a part of one, also with a sign, or a list of such."""
    node = builder.nodes[e]
    if isinstance(node, FlatUnary):
        return _is_target(builder, node.operand)
    if isinstance(node, (FlatIndex, FlatField)):
        return _is_target(builder, node.base)
    if isinstance(node, (FlatTuple, FlatArray)):
        return all(_is_target(builder, one) for one in node.elements if one != NONE)
    if isinstance(node, FlatRecord):
        return all(_is_target(builder, one) for one in node.fields)
    return isinstance(node, VariableRef)


def is_structural(one: tree.IfEquation) -> bool:
    """The branches differ in the number of their equations, have connections, or only some of them set variables in
    when-clauses: what changes continuously in one would change at events in the other."""
    counts, kinds = set(), set()
    for body in (*(body for _, body in one.branches), one.otherwise):
        count = 0
        has_when = False
        for equation in body:
            for node in walk(equation):
                has_when = has_when or isinstance(node, tree.WhenEquation)
                if isinstance(node, tree.Connect) or (
                    isinstance(node, tree.CallEquation) and node.call.function.names[0] == "Connections"
                ):
                    return True
                count += isinstance(node, (tree.SimpleEquation, tree.ForEquation))
        counts.add(count)
        kinds |= {has_when} if body else set()
    return len(counts) > 1 or len(kinds) > 1


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 70 else text[:69] + "…"


_EQUATIONS: dict[type, Any] = {
    tree.SimpleEquation: EquationTranslator._simple,
    tree.IfEquation: EquationTranslator._if,
    tree.ForEquation: EquationTranslator._for,
    tree.WhenEquation: EquationTranslator._when,
    tree.CallEquation: EquationTranslator._call,
    tree.Connect: EquationTranslator._connect,
}
