"""Values of expressions on demand: constants, parameters, sizes and conditions.

Only what is needed is evaluated: the branch of an if-expression that is taken, the element that is meant. A variable
whose value is being found already is a cycle, which is named with its path. What cannot be known before the
simulation raises NotKnown. ``env`` holds names that stand for values: loop variables, locals of a function, ``end``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.modelica.instances.classes import ClassUse, Scope
from pliant.frontend.modelica.instances.components import ABSENT, Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.mods import Bound
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.references import Resolver, ThingGroup
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import left_chain
from pliant.frontend.modelica.values import builtins
from pliant.frontend.modelica.values.calls import CallValues
from pliant.frontend.modelica.values.data import (
    EnumValue,
    FunctionValue,
    NotKnown,
    RecordValue,
    Shaped,
    Value,
    array_of,
    index_array,
    plain,
    shape_of,
)
from pliant.frontend.modelica.values.operators import binary, unary

if TYPE_CHECKING:
    from pliant.frontend.modelica.scopes.program import World

Env = dict[str, Any]


class Values:
    """Evaluates expressions in scopes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.resolver = Resolver(world, self)
        self.calls = CallValues(self)
        self.busy: list[Var] = []
        self.reasons: list[str] = []
        self.at_start = 0  # initial equations of parameters count
        self.only_constants = 0  # parameters count as unknown unless the structure depends on them already
        self.translator: Any = None  # of the model that is flattened
        self.graph: Any = None  # what connections say: roots, cardinality

    # --------------------------------------------------------------------------------------------- what is asked

    def value(self, expr: tree.Expression, scope: Scope, env: Env | None = None) -> Value:
        """The value of an expression; NotKnown where it is not known."""
        return _EVALUATE[expr.__class__](self, expr, scope, env)

    def needed(self, expr: tree.Expression, scope: Scope, reason: str, env: Env | None = None) -> Value:
        """A value that the structure of the model depends on; an error where it is not known."""
        self.reasons.append(reason)
        try:
            return self.value(expr, scope, env)
        except NotKnown as unknown:
            raise problem(
                f"{reason} needs the value of `{expr.text}`, which is not known: {unknown.message}",
                expr,
                path=scope.inst.path,
                rule="3.8.3",
                hint="use constants and parameters with values here",
            ) from None
        finally:
            self.reasons.pop()

    def tried(self, expr: tree.Expression, scope: Scope, reason: str, env: Env | None = None) -> Value | None:
        """A value if it is known, else None."""
        self.reasons.append(reason)
        try:
            return self.value(expr, scope, env)
        except NotKnown:
            return None
        finally:
            self.reasons.pop()

    def boolean(self, expr: tree.Expression, scope: Scope, what: str, env: Env | None = None) -> bool:
        """A condition."""
        found = self.needed(expr, scope, what, env)
        if not isinstance(found, bool):
            raise problem(f"{what} is no Boolean", expr, path=scope.inst.path, rule="4.4.5")
        return found

    def sizes(
        self, dims: Sequence[Any], binding: Bound | None, path: str, node: tree.Node, found: list[int] | None = None
    ) -> tuple[int, ...]:
        """The sizes of a declared array, one after the other into ``found``; `:` follows from its binding."""
        found = [] if found is None else found
        bound_shape: tuple[int, ...] | None = None
        for axis, (expr, scope) in enumerate(dims):
            if isinstance(expr, tree.Colon):
                if bound_shape is None:
                    bound_shape = self.bound_shape(binding, path, node)
                if axis >= len(bound_shape):
                    text = f"the binding of `{path}` has {len(bound_shape)} dimensions, {len(dims)} are declared"
                    raise problem(text, node, rule="10.1", hint="give a value with these dimensions")
                found.append(bound_shape[axis])
                continue
            values = self.index_values(expr, scope)
            size = len(values) if values is not None else self.needed(expr, scope, f"the size of `{path}`")
            if isinstance(size, bool) or not isinstance(size, int):
                text = f"the size of `{path}` is `{expr.text}`, which is no Integer"
                raise problem(text, expr, path=scope.inst.path, rule="10.1")
            if size < 0:
                text = f"the size of `{path}` is {size}"
                raise problem(text, expr, path=scope.inst.path, rule="10.1", hint="sizes are 0 or more")
            found.append(size)
        return tuple(found)

    def index_values(self, expr: tree.Expression, scope: Scope) -> list[Value] | None:
        """The values that subscripts of a dimension have: those of a type in `Real x[E]`, `Real x[Boolean]`."""
        if not isinstance(expr, tree.Reference) or expr.subscripts:
            return None
        found = self.resolver.try_class(expr, scope)
        if found is None:
            return None
        primitive = found.primitive
        if primitive is not None and primitive.is_enumeration:
            literals = primitive.entry.definition.literals or ()  # type: ignore[attr-defined]
            return [EnumValue(primitive, place, one.name) for place, one in enumerate(literals, 1)]
        return [False, True] if primitive is not None and primitive.builtin == "Boolean" else None

    def bound_shape(self, binding: Bound | None, path: str, node: tree.Node) -> tuple[int, ...]:
        """Sizes of a binding."""
        if binding is None or binding.value is None:
            text = f"the size of `{path}` is not given: `:` needs a binding"
            raise problem(text, node, rule="10.1", hint="give a value, or a number in place of `:`")
        self.reasons.append(f"the size of `{path}`")
        try:
            if not binding.fields:
                shape = self.shape(binding.value, binding.scope)
                if shape is not None:
                    return shape[len(binding.index) :]
            return shape_of(self.of_bound(binding))
        except NotKnown as unknown:
            if self.translator is not None:
                calls = self.translator.calls
                calls.may_be_impure += 1  # the sizes of a variable are found once
                try:
                    translated = self.translator.type(self.translator.of_bound(binding)).shape
                finally:
                    calls.may_be_impure -= 1
                if None not in translated:
                    return tuple(translated)
            raise problem(f"the size of `{path}` is not known: {unknown.message}", binding.value, rule="10.1") from None
        finally:
            self.reasons.pop()

    def shape(self, expr: tree.Expression, scope: Scope, env: Env | None = None) -> tuple[int, ...] | None:
        """Sizes of an expression without its value, where that is easy; else None."""
        if isinstance(expr, tree.Reference) and not expr.subscripts:
            if expr.names == ("time",):
                return ()
            if env is not None and expr.names[0] in env:
                return _shaped(env[expr.names[0]], expr.names[1:])
            found, _ = self.resolver.resolve(expr, scope, env)
            if isinstance(found, Var):
                return found.shape
            if isinstance(found, Many):
                return found.shape
            if isinstance(found, ThingGroup) and found.items:
                return (*found.shape, *(found.items[0].shape if isinstance(found.items[0], Var) else ()))
        if isinstance(expr, tree.ArrayConstructor) and expr.elements:
            inner = self.shape(expr.elements[0], scope, env)
            return None if inner is None else (len(expr.elements), *inner)
        if isinstance(expr, tree.Concatenation):
            return self._shape_of_rows(expr, scope, env)
        if isinstance(expr, tree.Unary):
            return self.shape(expr.operand, scope, env)
        if isinstance(expr, (tree.RealLiteral, tree.IntegerLiteral, tree.BooleanLiteral, tree.StringLiteral)):
            return ()
        return None

    def _shape_of_rows(self, expr: tree.Concatenation, scope: Scope, env: Env | None) -> tuple[int, ...] | None:
        """Of `[a, b; c, d]` where all elements are scalars."""
        shapes = {self.shape(one, scope, env) for row in expr.rows for one in row}
        widths = {len(row) for row in expr.rows}
        return (len(expr.rows), *widths) if shapes == {()} and len(widths) == 1 else None

    # ------------------------------------------------------------------------------------------------ variables

    def of_bound(self, binding: Bound) -> Value:
        """The value of a modifier."""
        assert binding.value is not None
        found = self.value(binding.value, binding.scope)
        if binding.index:
            found = self._element(found, binding)
        for step in binding.fields:
            at = binding.value
            found = _field(found, step, at) if isinstance(step, str) else index_array(found, list(step), at)
        return found

    def _element(self, found: Value, binding: Bound) -> Value:
        if len(shape_of(found)) < len(binding.index):
            text = f"`{binding.value.text}` is given to an array of components, but is no array"  # type: ignore[union-attr]
            raise problem(
                text, binding.value, path=binding.scope.inst.path, rule="7.2.5", hint="write `each` before it"
            )
        return index_array(found, list(binding.index), binding.value)

    def of_var(self, var: Var) -> Value:
        """The value of a constant or parameter."""
        if self.only_constants and var.variability == 1 and not var.evaluated:
            raise NotKnown(f"`{var.path}` is a parameter", var.node)
        if var.value is not None:
            self._note(var)
            return var.value
        if var.variability > 1:
            raise NotKnown(f"`{var.path}` is a variable", var.node)
        if var in self.busy:
            path = [one.path or one.name for one in self.busy[self.busy.index(var) :]] + [var.path]
            text = f"`{var.path}` depends on itself: {' -> '.join(path)}"
            raise problem(text, var.node, rule="3.8.3", hint="give one of them a value of its own")
        self.busy.append(var)
        try:
            binding = var.binding or (var.attribute("start") if var.variability == 1 else None)
            if self.at_start and var.variability == 1 and var.binding is None:
                found = self._at_start(var)
                if found is not None:
                    return found
            if binding is None:
                word = "constant" if var.variability == 0 else "parameter"
                raise NotKnown(f"the {word} `{var.path}` has no value", var.node)
            if var.binding is None and var.base != "ExternalObject" and not self.is_start_used(var):
                raise NotKnown(f"the parameter `{var.path}` has no value", var.node)
            found = self.of_bound(binding)
            found = self._fitted(var, found, binding)
        finally:
            self.busy.pop()
        var.value = found
        self._note(var)
        return found

    def _at_start(self, var: Var) -> Value | None:
        """The value of a parameter that an initial equation `p = ...` gives, at time zero."""
        for layer in var.parent.table.layers:
            for one in layer.body.initial_equations if layer.body is not None else ():
                if (
                    isinstance(one, tree.SimpleEquation)
                    and isinstance(one.left, tree.Reference)
                    and one.left.names == (var.name,)
                ):
                    return self.value(one.right, var.parent.scope(layer.number), {"time": 0.0})
        return None

    def is_start_used(self, var: Var) -> bool:
        """A parameter without binding has its start value, unless it is to be found at the start (8.6)."""
        fixed = var.attribute("fixed")
        return fixed is None or self.of_bound(fixed) is not False

    def _note(self, var: Var) -> None:
        if self.reasons and not var.evaluated:
            var.evaluated = self.reasons[-1]

    def _fitted(self, var: Var, found: Value, binding: Bound) -> Value:
        if var.base == "Real":
            if isinstance(found, np.ndarray):
                found = found.astype(float) if found.dtype.kind in "iu" else found
            elif isinstance(found, int) and not isinstance(found, bool):
                found = float(found)
        is_open = any(isinstance(one, tree.Colon) for one, _ in var.dims)
        wanted = None if is_open else var.shape
        given = shape_of(found)
        if wanted is not None and given != wanted:
            if given == () and binding.template.each:
                return builtins.FUNCTIONS["fill"](found, *wanted)
            if 0 in given and 0 in wanted:
                return np.zeros(wanted)
            text = f"`{var.path}` has the size {list(wanted)}, its value {list(given)}"
            raise problem(text, binding.value, path=binding.scope.inst.path, rule="10.1")
        return found

    def of_thing(self, thing: Any, ref: tree.Node) -> Value:
        """The value of what a reference stands for."""
        if isinstance(thing, Var):
            return self.of_var(thing)
        if isinstance(thing, Inst):
            return self.of_record(thing, ref)
        if isinstance(thing, (Many, ThingGroup)):
            items = thing.elements if isinstance(thing, Many) else thing.items
            values = [self.of_thing(one, ref) for one in items]
            return stacked(values, thing.shape)
        if isinstance(thing, EnumValue):
            return thing
        if thing is ABSENT:
            raise problem(f"`{ref.text}` is read, but its condition is false", ref, rule="4.4.5")
        raise problem(f"`{ref.text}` has no value", ref, rule="3.6.1")

    def subscripts(self, given: Any, value: Value, scope: Scope, env: Env | None) -> list[Any]:
        """Values of subscripts of an array value."""
        return _subscripts(self, given, value, scope, env)

    def iteration(self, index: tree.ForIndex, scope: Scope, env: Env | None) -> list[Value]:
        """What a loop variable runs over."""
        return _iteration(self, index, scope, env)

    def connected(self, name: str, ref: tree.Expression, scope: Scope, env: Env | None) -> Value:
        """What connections say: cardinality, roots."""
        if self.graph is None:
            raise NotKnown("connections are not known yet", ref)
        return self.graph(name, ref, scope, env)

    def of_record(self, inst: Inst, ref: tree.Node) -> Value:
        """A record from its fields."""
        if not inst.cls.is_record and not inst.cls.is_connector:
            raise problem(f"`{ref.text}` is a {inst.cls.kind}, not a value", ref, rule="4.7")
        fields = {
            name: self.of_thing(inst.child(name), ref)
            for name, element in inst.table.elements.items()
            if not element.is_class and inst.child(name) is not ABSENT
        }
        return RecordValue(inst.cls, fields)


def stacked(values: list[Value], shape: tuple[int, ...]) -> Value:
    """Values in row-major order as an array."""
    if not values:
        return np.zeros(shape)
    flat = array_of(values)
    return flat.reshape((*shape, *flat.shape[1:]))


def _shaped(thing: Any, names: tuple[str, ...]) -> tuple[int, ...] | None:
    """Sizes of a local of a function that is translated; None where they or one of them are not known."""
    if not isinstance(thing, Shaped):
        return None
    found: Shaped | None = thing
    for name in names:
        found = found.member(name) if found is not None else None
    if found is None:
        return None
    if None in found.type.shape:
        raise NotKnown("a size is not known", None)
    return tuple(found.type.shape)


def _field(value: Value, name: str, node: tree.Node) -> Value:
    if isinstance(value, RecordValue):
        if name not in value.fields:
            raise problem(f"the record has no field `{name}`", node, rule="4.7")
        return value.fields[name]
    if isinstance(value, np.ndarray):
        return stacked([_field(one, name, node) for one in value.flat], value.shape)
    raise problem(f"`{node.text}` has no field `{name}`", node, rule="5.3.2")


# ------------------------------------------------------------------------------------------------------- expressions


def _reference(self: Values, ref: tree.Reference, scope: Scope, env: Env | None) -> Value:
    if env is not None and ref.names[0] in env and not ref.rooted:
        return _local(self, ref, scope, env)
    if ref.names == ("time",):
        raise NotKnown("it depends on time", ref)
    thing, rest = self.resolver.resolve(ref, scope, env)
    if isinstance(thing, ClassUse):
        return FunctionValue(thing, {}) if thing.kind.endswith("function") else self.of_thing(thing, ref)
    found = self.of_thing(thing, ref)
    if not rest:
        return found
    before = len(thing.shape) if isinstance(thing, (Many, ThingGroup)) else 0
    return index_array(found, _subscripts(self, rest, found, scope, env, before), ref, scope.inst.path)


def _subscripts(self: Values, given: Any, value: Value, scope: Scope, env: Env | None, before: int = 0) -> list[Any]:
    """Values of subscripts; dimensions of parts of the name ``before`` come first, and stay."""
    shape = shape_of(value)[before:]
    found: list[Any] = [None] * before
    for axis, one in enumerate(given):
        if isinstance(one, tree.Colon):
            found.append(None)
            continue
        inner = {**(env or {}), "end": shape[axis] if axis < len(shape) else 0}
        found.append(self.value(one, scope, inner))
    return found


def _local(self: Values, ref: tree.Reference, scope: Scope, env: Env) -> Value:
    found = env[ref.names[0]]
    if isinstance(found, Shaped):
        found = found.value
    if found is None:
        raise NotKnown(f"`{ref.names[0]}` has no value yet", ref)
    for k, name in enumerate(ref.names):
        before = len(shape_of(found)) if k else 0
        if k:
            found = _field(found, name, ref)
        if ref.subscripts and ref.subscripts[k]:
            found = index_array(found, _subscripts(self, ref.subscripts[k], found, scope, env, before), ref)
    return found


def _binary(self: Values, expr: tree.Binary, scope: Scope, env: Env | None) -> Value:
    first, operations = left_chain(expr)
    found = self.value(first, scope, env)
    for one in operations:
        if one.operator == "and" and found is False:
            continue
        if one.operator == "or" and found is True:
            continue
        right = self.value(one.right, scope, env)
        if isinstance(found, RecordValue) or isinstance(right, RecordValue):
            found = self.calls.overloaded(one.operator, [found, right], one)
        else:
            found = binary(one.operator, found, right, one)
    return found


def _unary(self: Values, expr: tree.Unary, scope: Scope, env: Env | None) -> Value:
    operand = self.value(expr.operand, scope, env)
    if isinstance(operand, RecordValue):
        return self.calls.overloaded(expr.operator, [operand], expr)
    return unary(expr.operator, operand, expr)


def _if(self: Values, expr: tree.If, scope: Scope, env: Env | None) -> Value:
    for condition, value in expr.branches:
        found = self.value(condition, scope, env)
        if not isinstance(found, bool):
            raise problem(f"`{condition.text}` is no condition", condition, path=scope.inst.path, rule="3.6.5")
        if found:
            return self.value(value, scope, env)
    return self.value(expr.otherwise, scope, env)


def _range(self: Values, expr: tree.Range, scope: Scope, env: Env | None) -> Value:
    first, last = self.value(expr.first, scope, env), self.value(expr.last, scope, env)
    step = 1 if expr.step is None else self.value(expr.step, scope, env)
    return range_values(first, step, last, expr)


def range_values(first: Value, step: Value, last: Value, node: tree.Node) -> Value:
    """The elements of a range."""
    if isinstance(first, EnumValue) and isinstance(last, EnumValue):
        literals = first.cls.entry.definition.literals or ()
        names = [EnumValue(first.cls, k, literals[k - 1].name) for k in range(first.ordinal, last.ordinal + 1)]
        return array_of(names)
    if isinstance(first, bool) and isinstance(last, bool):
        return np.array([one for one in (False, True) if first <= one <= last])
    if step == 0:
        raise problem("the step of a range is zero", node, rule="10.4.3")
    if all(isinstance(one, int) for one in (first, step, last)):
        return np.arange(first, last + (1 if step > 0 else -1), step, dtype=np.int64)
    count = int(np.floor((last - first) / step + 1e-9)) + 1
    return float(first) + float(step) * np.arange(max(count, 0))


def _array(self: Values, expr: tree.ArrayConstructor, scope: Scope, env: Env | None) -> Value:
    return array_of([self.value(one, scope, env) for one in expr.elements], expr)


def _concatenation(self: Values, expr: tree.Concatenation, scope: Scope, env: Env | None) -> Value:
    return builtins.matrix_of([[self.value(one, scope, env) for one in row] for row in expr.rows])


def _end(self: Values, expr: tree.End, scope: Scope, env: Env | None) -> Value:
    if env is None or "end" not in env:
        raise problem("`end` stands outside of a subscript", expr, rule="10.5.2")
    return env["end"]


def _tuple(self: Values, expr: tree.Tuple, scope: Scope, env: Env | None) -> Value:
    if len(expr.items) == 1 and expr.items[0] is not None:
        return self.value(expr.items[0], scope, env)
    raise problem("a list of outputs has no value here", expr, rule="12.4.3")


def _comprehension(self: Values, expr: tree.ArrayComprehension, scope: Scope, env: Env | None) -> Value:
    values, shape = iterated(self, expr.value, expr.indices[::-1], scope, env)  # the last iterator is the outermost
    return stacked(values, shape)


def iterated(
    self: Values, body: tree.Expression, indices: Sequence[tree.ForIndex], scope: Scope, env: Env | None
) -> tuple[list[Value], tuple[int, ...]]:
    """Values of a body for all iterators, and how many of each."""
    values: list[Value] = []
    shape: list[int] = []

    def run(k: int, inner: Env) -> None:
        if k == len(indices):
            values.append(self.value(body, scope, inner))
            return
        items = self.iteration(indices[k], scope, inner)
        if len(shape) <= k:
            shape.append(len(items))
        for one in items:
            run(k + 1, {**inner, indices[k].name: one})

    run(0, dict(env or {}))
    return values, (*shape, *(0,) * (len(indices) - len(shape)))


def _iteration(self: Values, index: tree.ForIndex, scope: Scope, env: Env | None) -> list[Value]:
    if index.values is None:
        raise NotKnown(f"the range of `{index.name}` follows from its use", index)
    found = self.resolver.try_class(index.values, scope) if isinstance(index.values, tree.Reference) else None
    if found is not None:
        primitive = found.primitive
        if primitive is not None and primitive.is_enumeration:
            literals = primitive.entry.definition.literals or ()  # type: ignore[attr-defined]
            return [EnumValue(primitive, k, one.name) for k, one in enumerate(literals, 1)]
        if primitive is not None and primitive.builtin == "Boolean":
            return [False, True]
    value = self.value(index.values, scope, env)
    if not isinstance(value, np.ndarray) or value.ndim != 1:
        raise problem("a loop needs a vector to run over", index, rule="11.2.2")
    return [plain(one) for one in value]


def _reduction(self: Values, expr: tree.ReductionCall, scope: Scope, env: Env | None) -> Value:
    values, _ = iterated(self, expr.value, expr.indices, scope, env)
    name = expr.function.dotted
    if name == "array":
        return array_of(values, expr)
    if not values:
        return {"sum": 0, "product": 1, "min": np.inf, "max": -np.inf}[name]
    if name == "sum":
        total = values[0]
        for one in values[1:]:
            total = total + one
        return total
    return builtins.call(name, [array_of(values, expr)], {}, expr)


_EVALUATE: dict[type, Any] = {
    tree.RealLiteral: lambda _, e, __, ___: e.value,
    tree.IntegerLiteral: lambda _, e, __, ___: e.value,
    tree.StringLiteral: lambda _, e, __, ___: e.value,
    tree.BooleanLiteral: lambda _, e, __, ___: e.value,
    tree.Reference: _reference,
    tree.Binary: _binary,
    tree.Unary: _unary,
    tree.If: _if,
    tree.Range: _range,
    tree.ArrayConstructor: _array,
    tree.Concatenation: _concatenation,
    tree.End: _end,
    tree.Tuple: _tuple,
    tree.ArrayComprehension: _comprehension,
    tree.ReductionCall: _reduction,
    tree.Call: lambda self, e, scope, env: self.calls.call(e, scope, env),
    tree.PartialApplication: lambda self, e, scope, env: self.calls.partial(e, scope, env),
}
