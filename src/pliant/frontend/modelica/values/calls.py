"""Calls on values: built-in functions, functions of the model by an interpreter, constructors of records.

A limit on calls within calls ends what would not end; statements are executed in `statements`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.flat.builtins import BUILTINS
from pliant.frontend.modelica.instances.classes import ClassUse, Scope
from pliant.frontend.modelica.instances.components import Many, Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.mods import bound, member, names_in, value_of
from pliant.frontend.modelica.problems import nearest, problem
from pliant.frontend.modelica.scopes.references import ThingGroup
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values import builtins
from pliant.frontend.modelica.values.data import (
    EnumValue,
    FunctionValue,
    NotKnown,
    RecordValue,
    Value,
    array_of,
    copied,
    index_array,
    ordinal,
    plain,
    shape_of,
)
from pliant.frontend.modelica.values.externals import external_value
from pliant.frontend.modelica.values.resources import LOAD_RESOURCE, resolved
from pliant.frontend.modelica.values.statements import Return, StatementRunner

if TYPE_CHECKING:
    from pliant.frontend.modelica.values.evaluate import Values

Env = dict[str, Any]
MAX_CALLS = 120  # calls within calls

OPERATORS = {
    "+": "'+'",
    "-": "'-'",
    "*": "'*'",
    "/": "'/'",
    "^": "'^'",
    "==": "'=='",
    "<>": "'<>'",
    "<": "'<'",
    "<=": "'<='",
    ">": "'>'",
    ">=": "'>='",
    "and": "'and'",
    "or": "'or'",
    "not": "'not'",
}


class CallValues(StatementRunner):
    """Evaluates calls."""

    def __init__(self, values: Values) -> None:
        self.values = values
        self.depth = self.steps = 0

    def call(self, expr: tree.Call, scope: Scope, env: Env | None) -> Value:
        """The value of a call; of several outputs the first."""
        found = self.outputs(expr, scope, env)
        return found[0] if isinstance(found, tuple) else found

    def outputs(self, expr: tree.Call, scope: Scope, env: Env | None) -> Value:
        """All outputs as a tuple, or the value of a built-in function."""
        name = expr.function.dotted.lstrip(".")
        values = self.values
        if env is not None and expr.function.names[0] in env:
            return self._functional(env[expr.function.names[0]], expr, scope, env)
        cls = self.function_class(expr.function, scope)
        if cls is None:
            return self._builtin(name, expr, scope, env)
        if cls.core.builtin or (cls.core.entry.parent is not None and cls.core.entry.parent.full_name == "Connections"):
            return self._builtin(name, expr, scope, env)
        if cls.core.is_enumeration:
            number = values.value(expr.arguments[0], scope, env)
            literals = cls.core.entry.definition.literals or ()  # type: ignore[attr-defined]
            if isinstance(number, bool) or not isinstance(number, int):
                raise problem(f"`{name}(...)` needs an Integer, {number!r} is given", expr, rule="4.9.5.3")
            if not 1 <= number <= len(literals):
                text = f"`{expr.text}`: {number} is no number of a value of `{name}`, which has {len(literals)}"
                raise problem(text, expr, rule="4.9.5.3", hint=f"give it a number from 1 to {len(literals)}")
            return EnumValue(cls.core, number, literals[number - 1].name)
        args = [values.value(one, scope, env) for one in expr.arguments]
        named = {one.name: values.value(one.value, scope, env) for one in expr.named}
        if cls.name in LOAD_RESOURCE and [*args, *named.values()]:
            return resolved([*args, *named.values()][0], values.world, scope.inst.cls.core.entry)
        if cls.is_record:
            return self.construct(cls, args, named, expr)
        return self.invoke(cls, args, named, expr)

    def function_class(self, ref: tree.Reference, scope: Scope) -> ClassUse | None:
        """The function of that name; None for built-in ones."""
        world = self.values.world
        if len(ref.names) == 1:
            found = world.top(ref.names[0]) if ref.rooted else world.find(ref.names[0], scope)
            if found is None:
                return None
        return world.lookup_class(ref, scope)

    def _functional(self, given: Any, expr: tree.Call, scope: Scope, env: Env) -> Value:
        if not isinstance(given, FunctionValue):
            raise problem(f"`{expr.function.dotted}` is no function", expr, rule="12.4.2")
        args = [self.values.value(one, scope, env) for one in expr.arguments]
        named = {one.name: self.values.value(one.value, scope, env) for one in expr.named}
        free = [name for name in self.inputs(given.cls) if name not in given.given]
        named.update(zip(free, args, strict=False))
        return self.invoke(given.cls, [], {**given.given, **named}, expr)

    def partial(self, expr: tree.PartialApplication, scope: Scope, env: Env | None) -> Value:
        """A function with some arguments given."""
        cls = self.values.world.lookup_class(expr.function, scope)
        return FunctionValue(cls, {one.name: self.values.value(one.value, scope, env) for one in expr.named})

    # ------------------------------------------------------------------------------------------------- built-in

    def _builtin(self, name: str, expr: tree.Call, scope: Scope, env: Env | None) -> Value:
        values = self.values
        args = expr.arguments
        if name == "size":
            return self._size(expr, scope, env)
        if name == "ndims":
            return len(self._shape(args[0], scope, env))
        if name in ("initial", "terminal"):
            raise NotKnown(f"`{name}()` changes during the simulation", expr)
        if name == "getInstanceName":
            return scope.inst.path
        if name in ("cardinality", "Connections.isRoot", "Connections.rooted", "rooted"):
            return values.connected(name, args[0], scope, env)
        if name == "assert":
            return None
        if name not in builtins.FUNCTIONS:
            if name in BUILTINS or name in ("sample", "delay", "spatialDistribution"):
                raise NotKnown(f"`{name}` has no value before the simulation", expr)
            known = [*builtins.FUNCTIONS, *scope.layer.names]
            text = f"there is no function `{name}`"
            raise problem(text, expr, path=scope.inst.path, rule="5.3.1", hint=nearest(name, known))
        given = [values.value(one, scope, env) for one in args]
        named = {one.name: values.value(one.value, scope, env) for one in expr.named}
        if given and isinstance(given[0], RecordValue):
            if name == "String":
                return self.overloaded("String", given, expr)
            if name in {"sum", "zeros"}:
                return self.overloaded(name, given, expr)
        if name == "sum" and isinstance(given[0], np.ndarray) and given[0].size:
            total = given[0].flat[0]
            if isinstance(total, RecordValue):
                for one in list(given[0].flat)[1:]:
                    total = self.overloaded("+", [total, one], expr)
                return total
        return builtins.call(name, given, named, expr)

    def _shape(self, expr: tree.Expression, scope: Scope, env: Env | None) -> tuple[int, ...]:
        shape = self.values.shape(expr, scope, env)
        return shape_of(self.values.value(expr, scope, env)) if shape is None else shape

    def _size(self, expr: tree.Call, scope: Scope, env: Env | None) -> Value:
        known = self._own_size(expr, scope, env)
        if known is not None:
            return known
        shape = self._shape(expr.arguments[0], scope, env)
        if len(expr.arguments) == 1:
            return np.array(shape, dtype=np.int64)
        axis = self.values.value(expr.arguments[1], scope, env)
        if not 1 <= axis <= len(shape):
            text = f"`{expr.text}`: the array has {len(shape)} dimensions"
            raise problem(text, expr, path=scope.inst.path, rule="10.3.1")
        return shape[axis - 1]

    def _own_size(self, expr: tree.Call, scope: Scope, env: Env | None) -> int | None:
        """Of a variable whose other sizes are being found: `Real A[:, size(A, 1)]` reads its own first one."""
        of = expr.arguments[0]
        if len(expr.arguments) != 2 or not isinstance(of, tree.Reference) or of.subscripts:
            return None
        if env is not None and of.names[0] in env:
            return None
        found, _ = self.values.resolver.resolve(of, scope, env)
        if not isinstance(found, Var) or not found.sizes_found:
            return None
        axis = self.values.value(expr.arguments[1], scope, env)
        return found.sizes_found[axis - 1] if 1 <= axis <= len(found.sizes_found) else None

    # ------------------------------------------------------------------------------------------------ functions

    def inputs(self, cls: ClassUse) -> list[str]:
        """Names of inputs in order."""
        return [
            name
            for name, one in cls.core.table.elements.items()
            if not one.is_class and cls.core.causality_of(name) == "input"
        ]

    def construct(self, cls: ClassUse, args: list[Value], named: dict[str, Value], node: tree.Node) -> Value:
        """A record from its constructor: the declared one of an operator record, else one argument for each field."""
        inst = cls.instance
        maker = inst.class_member("'constructor'")
        if maker is not None:
            return self.overloaded("'constructor'", args, node, cls, named)
        names = [
            name
            for name, one in inst.table.elements.items()
            if not one.is_class and not (one.node.variability == "constant" or _is_final(inst, one))  # type: ignore[union-attr]
        ]
        if len(args) > len(names):
            raise problem(f"`{cls.name}` has {len(names)} fields, {len(args)} are given", node, rule="12.6")
        given = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                raise problem(f"`{cls.name}` has no field `{name}`", node, rule="12.6", hint=nearest(name, names))
            given[name] = value
        env: Env = dict(given)
        fields: dict[str, Value] = {}
        for name, element in inst.table.elements.items():
            if element.is_class:
                continue
            if name in given:
                fields[name] = self._converted(given[name], element, inst)
            else:
                fields[name] = self._default(inst, element, {**env, **fields}, node)
            env[name] = fields[name]
        return RecordValue(cls, fields)

    def _converted(self, value: Value, element: Any, inst: Inst) -> Value:
        if isinstance(value, int) and not isinstance(value, bool) and element.node.type.names != ("Integer",):
            thing = inst.child(element.name)
            if isinstance(thing, Var) and thing.base == "Real":
                return float(value)
        return value

    def _default(self, inst: Inst, element: Any, env: Env, node: tree.Node) -> Value:
        """The value of a declaration whose neighbours have the values of `env`."""
        mod = inst.mod_of(element) + bound(element.node.modification, inst.scope(element.layer.number))
        binding = value_of(mod)
        if binding is None:
            cls = self.values.world.component_class(element.node.type, inst.scope(element.layer.number))
            if cls.is_record and not element.node.dimensions:
                return self.construct(ClassUse(cls.core, mod + cls.mod, (), "", cls.kind, cls.name), [], {}, node)
            raise NotKnown(f"`{element.name}` of `{inst.cls.name}` has no value", node)
        if binding.scope.inst is inst and not binding.fields:
            found = self.values.value(binding.value, binding.scope, env)  # type: ignore[arg-type]
            return index_array(found, list(binding.index), node) if binding.index else found
        return self.values.of_bound(binding)

    def overloaded(
        self,
        operator: str,
        args: list[Value],
        node: tree.Node,
        cls: ClassUse | None = None,
        named: dict[str, Value] | None = None,
    ) -> Value:
        """An operator of an operator record (chapter 14)."""
        name = OPERATORS.get(operator.lstrip("."), operator)
        if operator == "String":
            name = "'String'"
        owners = [cls] if cls is not None else [one.cls for one in args if isinstance(one, RecordValue)]
        for owner in owners:
            member = owner.instance.class_member(name)
            if member is None:
                continue
            candidates = [member]
            if member.kind == "operator":
                inner = member.instance
                candidates = [
                    found
                    for key, one in inner.table.elements.items()
                    if one.is_class and (found := inner.class_member(key)) is not None
                ]
            for one in candidates:
                if self._accepts(one, args, named or {}):
                    return self.invoke(one, args, named or {}, node)[0]
            if cls is None and len(args) == 2:
                converted = self._both(owner, args, node)
                if converted is not None:
                    return self.overloaded(operator, converted, node, owner)
        raise problem(f"`{operator}` is not defined for these records", node, rule="14.4")

    def _both(self, owner: ClassUse, args: list[Value], node: tree.Node) -> list[Value] | None:
        if all(isinstance(one, RecordValue) for one in args):
            return None
        return [
            one if isinstance(one, RecordValue) else self.overloaded("'constructor'", [one], node, owner)
            for one in args
        ]

    def _accepts(self, cls: ClassUse, args: list[Value], named: dict[str, Value]) -> bool:
        elements = cls.core.table.elements
        names = self.inputs(cls)
        if len(args) > len(names) or any(name not in names for name in named):
            return False
        for name, value in [*zip(names, args, strict=False), *named.items()]:
            node: Any = elements[name].node
            of = self.values.world.component_class(node.type, cls.instance.scope(elements[name].layer.number))
            rank = len(node.dimensions)
            if rank != len(shape_of(value)):
                return False
            one = value.flat[0] if isinstance(value, np.ndarray) and value.size else value
            if isinstance(one, RecordValue) != (of.primitive is None):
                return False
            if of.primitive is not None and isinstance(one, str) != (of.primitive.builtin == "String"):
                return False
        given = {*names[: len(args)], *named}
        return all(
            name in given or elements[name].node.modification is not None  # type: ignore[union-attr]
            for name in names
        )

    def invoke(self, cls: ClassUse, args: list[Value], named: dict[str, Value], node: tree.Node) -> tuple[Value, ...]:
        """Execute a function; its outputs."""
        if self.depth >= MAX_CALLS:
            text = f"calls of `{cls.name}` within calls do not end"
            raise problem(text, node, rule="12.4", hint=f"at most {MAX_CALLS} calls within calls are evaluated")
        inst = cls.instance
        elements = inst.table.elements
        names = self.inputs(cls)
        if isinstance(cls.core.entry.definition, tree.DerivativeClass):
            raise NotKnown(f"the partial derivative `{cls.name}` is not evaluated before the simulation", node)
        if len(args) > len(names):
            text = f"`{cls.name}` has {len(names)} inputs, {len(args)} arguments are given"
            raise problem(text, node, rule="12.4.1")
        env: Env = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                text = f"`{cls.name}` has no input `{name}`"
                raise problem(text, node, rule="12.4.1", hint=nearest(name, names))
            env[name] = value
        wide = self._wide(cls, env)
        if wide:
            return self._each(cls, env, wide, node)
        if not self.depth:
            self.steps = 0
        self.depth += 1
        try:
            self._declare(inst, env, node)
            self._run_body(cls, inst, env, node)
        finally:
            self.depth -= 1
        outputs = [
            name for name, one in elements.items() if not one.is_class and cls.core.causality_of(name) == "output"
        ]
        for name in outputs:
            if env.get(name) is None:
                raise NotKnown(f"the output `{name}` of `{cls.name}` is not set", node)
        return tuple(env[name] for name in outputs)

    def _wide(self, cls: ClassUse, env: Env) -> list[str]:
        """Arguments with more dimensions than their inputs: the function applies to each element (12.4.6)."""
        found = []
        for name, value in env.items():
            if not isinstance(value, np.ndarray):
                continue
            element = cls.core.table.elements[name]
            rank = len(element.node.dimensions)  # type: ignore[union-attr]
            if rank < value.ndim:
                scope = cls.instance.scope(element.layer.number)
                rank += len(self.values.world.lookup_class(element.node.type, scope).dims)  # type: ignore[union-attr]
                if rank < value.ndim:
                    found.append(name)
        return found

    def _each(self, cls: ClassUse, env: Env, wide: list[str], node: tree.Node) -> tuple[Value, ...]:
        count = len(env[wide[0]])
        rows = []
        for k in range(count):
            inner = {name: plain(value[k]) if name in wide else value for name, value in env.items()}
            rows.append(self.invoke(cls, [], inner, node))
        if not rows:
            return (np.zeros((0,)),)
        return tuple(array_of([row[n] for row in rows], node) for n in range(len(rows[0])))

    def _declare(self, inst: Inst, env: Env, node: tree.Node) -> None:
        """Inputs that are not given, outputs and protected variables, in an order that their bindings allow."""
        waiting = [one for one in inst.table.elements.values() if not one.is_class]
        names = {one.name for one in waiting}
        for one in waiting:
            if one.name in env:
                env[one.name] = self.fitted(inst, one, env[one.name])
            elif one.node.variability == "constant":  # type: ignore[union-attr]
                names.discard(one.name)
        pending = [one for one in waiting if one.name not in env and one.name in names]
        for one in pending:
            env[one.name] = None
        while pending:
            later = []
            for element in pending:
                try:
                    env[element.name] = self._initial(inst, element, env, node)
                except NotKnown:
                    later.append(element)
            if len(later) == len(pending):
                self._initial(inst, later[0], env, node)
            pending = later

    def fitted(self, inst: Inst, element: Any, value: Value) -> Value:
        """Integers become Real where a variable is Real."""
        is_real = element.node.type.names == ("Real",)
        if not is_real and element.node.type.names not in (("Integer",), ("Boolean",), ("String",)):
            of = self.values.world.component_class(element.node.type, inst.scope(element.layer.number))
            is_real = of.primitive is not None and of.primitive.builtin == "Real"
        if is_real:
            if isinstance(value, int) and not isinstance(value, bool):
                return float(value)
            if isinstance(value, np.ndarray) and value.dtype.kind == "i":
                return value.astype(float)
        return value

    def _initial(self, inst: Inst, element: Any, env: Env, node: tree.Node) -> Value:
        """What a variable of a function holds at its start."""
        scope = inst.scope(element.layer.number)
        mod = inst.mod_of(element) + bound(element.node.modification, scope)
        binding = value_of(mod)
        if binding is not None:
            found = self.values.value(binding.value, binding.scope, env)  # type: ignore[arg-type]
            return copied(self.fitted(inst, element, found))
        if inst.core.causality_of(element.name) == "input":
            raise problem(f"no value is given for the input `{element.name}`", node, rule="12.4.1")
        cls = self.values.world.component_class(element.node.type, scope)
        dims = [(one, scope) for one in element.node.dimensions] + list(cls.dims)
        values: dict[str, Value] = {}
        if cls.primitive is None:
            for name in names_in(mod):
                given = value_of(member(mod, name))
                if given is not None:
                    inner = env if given.scope.inst is inst else None
                    values[name] = self.values.value(given.value, given.scope, inner)  # type: ignore[arg-type]
            if not dims:
                return RecordValue(cls, self._blank(cls, values))
        shape: list[int] = []
        for expr, where in dims:
            if isinstance(expr, tree.Colon):
                return np.zeros((0,) * len(dims))
            size = self.values.value(expr, where, env if where.inst is inst else None)
            shape.append(ordinal(size))
        if cls.primitive is None:
            found = np.empty(shape, object)
            for index in np.ndindex(tuple(shape)):
                found[index] = RecordValue(cls, self._blank(cls, values))
            return found
        blank = _BLANK.get(cls.primitive.builtin, 0)
        if not shape:
            return blank
        return builtins.FUNCTIONS["fill"](blank, *shape)

    def _blank(self, cls: ClassUse, given: dict[str, Value] | None = None) -> dict[str, Value]:
        """Fields of a record in a function at its start: what is given, what their declarations say, or 0 (12.4.4)."""
        found: dict[str, Value] = {}
        for name, element in cls.core.table.elements.items():
            if element.is_class:
                continue
            try:
                if given and name in given:
                    found[name] = given[name]
                    continue
                thing = cls.instance.child(name)
                if isinstance(thing, Var) and thing.binding is not None:
                    found[name] = copied(self._default(cls.instance, element, dict(found), element.node))
                    continue
                found[name] = self._blank_thing(thing)
            except NotKnown:
                found[name] = 0.0
        return found

    def _blank_thing(self, thing: Any) -> Value:
        if isinstance(thing, Inst):
            return RecordValue(thing.cls, self._blank(thing.cls))
        if isinstance(thing, (Many, ThingGroup)):
            return np.empty(thing.shape, object)
        blank = _BLANK.get(thing.base, 0)
        return builtins.FUNCTIONS["fill"](blank, *thing.shape) if thing.shape else blank

    def _run_body(self, cls: ClassUse, inst: Inst, env: Env, node: tree.Node) -> None:
        for layer in reversed(inst.table.layers):
            body = layer.body
            if body is None:
                continue
            scope = inst.scope(layer.number)
            if body.external is not None:
                external_value(self, cls, body.external, scope, env, node)
                return
            for section in body.algorithms:
                try:
                    self.run(section.statements, scope, env)
                except Return:
                    return


_BLANK: dict[str, Value] = {"Real": 0.0, "Integer": 0, "Boolean": False, "String": ""}


def _is_final(inst: Inst, element: Any) -> bool:
    return bool(element.node.prefixes & tree.FINAL)
