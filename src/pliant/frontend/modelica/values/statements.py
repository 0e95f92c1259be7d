"""Statements of functions, executed with values; a limit on their number ends what would not end."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.modelica.instances.classes import Scope
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import walk
from pliant.frontend.modelica.values.data import RecordValue, Value, copied, ordinal, plain, shape_of

if TYPE_CHECKING:
    from pliant.frontend.modelica.values.evaluate import Values

Env = dict[str, Any]
MAX_STEPS = 3_000_000  # statements in one call from outside


class _Leave(Exception):
    """break or return."""


class _Break(_Leave):
    """`break`"""


class Return(_Leave):
    """`return`"""


class StatementRunner:
    """Executes statements; what calls do is said by the class that extends it."""

    values: Values
    steps: int

    def outputs(self, expr: tree.Call, scope: Scope, env: Env | None) -> Value:
        """All outputs of a call."""
        raise NotImplementedError

    def fitted(self, inst: Inst, element: Any, value: Value) -> Value:
        """A value as a variable holds it."""
        raise NotImplementedError

    def run(self, statements: tuple[tree.AnyStatement, ...], scope: Scope, env: Env) -> None:
        """Execute statements."""
        values = self.values
        for one in statements:
            self.steps += 1
            if self.steps > MAX_STEPS:
                text = f"the evaluation of `{scope.inst.cls.name}` does not end"
                raise problem(text, one, rule="11.2", hint=f"at most {MAX_STEPS} statements are executed")
            if isinstance(one, tree.Assignment):
                self._assign(one.target, values.value(one.value, scope, env), scope, env)
            elif isinstance(one, tree.IfStatement):
                self._if(one, scope, env)
            elif isinstance(one, tree.ForStatement):
                self._for(one, 0, scope, env)
            elif isinstance(one, tree.WhileStatement):
                try:
                    while values.value(one.condition, scope, env):
                        self.run(one.statements, scope, env)
                        self.steps += 1
                except _Break:
                    pass
            elif isinstance(one, tree.TupleAssignment):
                self._tuple(one, scope, env)
            elif isinstance(one, tree.CallStatement):
                self._statement_call(one, scope, env)
            elif isinstance(one, tree.BreakStatement):
                raise _Break
            elif isinstance(one, tree.ReturnStatement):
                raise Return
            else:
                raise problem("this statement cannot stand in a function", one, rule="12.2")

    def _if(self, one: tree.IfStatement, scope: Scope, env: Env) -> None:
        for condition, body in one.branches:
            if self.values.value(condition, scope, env):
                self.run(body, scope, env)
                return
        self.run(one.otherwise, scope, env)

    def _for(self, one: tree.ForStatement, k: int, scope: Scope, env: Env) -> None:
        if k == len(one.indices):
            self.run(one.statements, scope, env)
            return
        index = one.indices[k]
        if index.values is None:
            items: list[Value] = list(range(1, implied_size(one.statements, index.name, env, index) + 1))
        else:
            items = self.values.iteration(index, scope, env)
        hidden = env.get(index.name, _Leave)
        try:
            for item in items:
                env[index.name] = item
                self._for(one, k + 1, scope, env)
        except _Break:
            pass
        finally:
            if hidden is _Leave:
                env.pop(index.name, None)
            else:
                env[index.name] = hidden

    def _tuple(self, one: tree.TupleAssignment, scope: Scope, env: Env) -> None:
        if not isinstance(one.value, tree.Call):
            raise problem("a function call is needed here", one, rule="11.2.1.1")
        found = self.outputs(one.value, scope, env)
        for target, value in zip(one.targets.items, found, strict=False):
            if isinstance(target, tree.Reference):
                self._assign(target, value, scope, env)

    def _statement_call(self, one: tree.CallStatement, scope: Scope, env: Env) -> None:
        call = one.call
        name = call.function.dotted
        if name == "assert" and isinstance(call, tree.Call):
            condition = call.arguments[0] if call.arguments else None
            if condition is not None and self.values.value(condition, scope, env) is False:
                level = call.arguments[2].text if len(call.arguments) > 2 else "error"
                level = next((n.value.text for n in call.named if n.name == "level"), level)
                if level.endswith("warning"):
                    return
                message = self.values.value(call.arguments[1], scope, env)
                raise problem(f"an assertion fails: {message}", call, rule="8.3.7")
            return
        if isinstance(call, tree.Call):
            self.outputs(call, scope, env)

    def _assign(self, target: tree.Reference, value: Value, scope: Scope, env: Env) -> None:
        name = target.names[0]
        if name not in env:
            raise problem(f"`{name}` is no variable of the function", target, rule="12.2")
        element = scope.inst.table.elements.get(name)
        value = copied(value)
        if len(target.names) == 1 and not (target.subscripts and target.subscripts[0]):
            if element is not None:
                value = self.fitted(scope.inst, element, value)
            env[name] = value
            return
        env[name] = self._updated(env[name], target, 0, value, scope, env)

    def _updated(self, old: Value, target: tree.Reference, k: int, value: Value, scope: Scope, env: Env) -> Value:
        given = target.subscripts[k] if target.subscripts else ()
        is_last = k == len(target.names) - 1
        if given or (isinstance(old, np.ndarray) and not is_last):
            places = self.values.subscripts(given, old, scope, env)
            if not isinstance(old, np.ndarray):
                raise problem(f"`{target.text}`: a scalar has subscripts", target, rule="10.5")
            where = tuple(_place(one, old.shape[axis], target) for axis, one in enumerate(places))
            if is_last:
                kind = value.dtype.kind if isinstance(value, np.ndarray) else "f" if isinstance(value, float) else "i"
                if old.dtype.kind == "i" and kind == "f":
                    old = old.astype(float)
                if any(isinstance(one, list) for one in where):
                    grid = np.ix_(*[one if isinstance(one, list) else [one] for one in where])
                    old[grid] = np.reshape(value, old[grid].shape) if isinstance(value, np.ndarray) else value
                else:
                    old[where] = value
            else:
                where += tuple(list(range(size)) for size in old.shape[len(where) :])
                lists = [one if isinstance(one, list) else [one] for one in where]
                shape = [len(one) for one in where if isinstance(one, list)]
                whole = isinstance(value, np.ndarray)
                for at, kept in zip(product(*lists), np.ndindex(*shape), strict=True):
                    part = plain(value[kept]) if whole else value
                    old[at] = self._field_updated(old[at], target, k, part, scope, env)
            return old
        if is_last:
            return value
        return self._field_updated(old, target, k, value, scope, env)

    def _field_updated(self, old: Value, target: tree.Reference, k: int, value: Value, scope: Scope, env: Env) -> Value:
        if not isinstance(old, RecordValue):
            raise problem(f"`{target.text}` is no field of a record", target, rule="11.2.1")
        name = target.names[k + 1]
        old.fields[name] = self._updated(old.fields.get(name), target, k + 1, value, scope, env)
        return old


def _place(subscript: Any, size: int, node: tree.Node) -> Any:
    if subscript is None:
        return list(range(size))
    if isinstance(subscript, np.ndarray):
        return [ordinal(one) - 1 for one in subscript]
    place = ordinal(subscript) - 1
    if not 0 <= place < size:
        raise problem(f"`{node.text}`: the subscript {place + 1} is outside of 1 to {size}", node, rule="10.5.1")
    return place


def implied_size(statements: Any, name: str, env: Env, node: tree.Node) -> int:
    """The range of a loop variable without one: the size of an array that it is a subscript of (11.2.2.1)."""
    for statement in statements:
        for one in walk(statement):
            if isinstance(one, tree.Reference) and one.subscripts and one.names[0] in env:
                for axis, given in enumerate(one.subscripts[0]):
                    if isinstance(given, tree.Reference) and given.names == (name,):
                        return shape_of(env[one.names[0]])[axis]
    raise problem(f"the range of `{name}` does not follow from its use", node, rule="11.2.2.1")
