"""Values of external functions that are needed before the simulation: a few of the standard library are evaluated here,
the others are compiled and called."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from pliant.errors import CompileError, ModelError
from pliant.foreign.calls import CSignature, ForeignArgument, ForeignCall, ForeignType
from pliant.foreign.evaluate import results
from pliant.foreign.wrapper import n_out
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import EnumValue, NotKnown, RecordValue
from pliant.frontend.modelica.values.resources import annotated


def external_value(calls: Any, cls: Any, external: tree.External, scope: Any, env: dict[str, Any], node: Any) -> None:
    """Sets the outputs of an external function, or raises NotKnown."""
    symbol = external.function or cls.core.entry.name
    known = _KNOWN.get(symbol)
    if known is None:
        _Call(calls, cls, external, scope, env, node).run()
        return
    args = [calls.values.value(one, scope, env) for one in external.arguments]
    found = known(*args)
    if external.output is not None:
        env[external.output.names[0]] = found


def _compare(a: str, b: str, is_case_sensitive: bool) -> int:
    if not is_case_sensitive:
        a, b = a.lower(), b.lower()
    return 1 if a < b else 3 if a > b else 2


def _hash(text: str) -> int:
    found = 5381
    for one in text.encode():
        found = (found * 33 ^ one) & 0xFFFFFFFF
    return found - (1 << 32) if found >= 1 << 31 else found


_KNOWN: dict[str, Any] = {
    "ModelicaStrings_length": lambda s: len(s.encode()),
    "ModelicaStrings_substring": lambda s, a, b: s[a - 1 : b],
    "ModelicaStrings_compare": _compare,
    "ModelicaInternal_fullPathName": os.path.abspath,
    "ModelicaStrings_hashString": _hash,
}


class _Call:
    """One call with values."""

    def __init__(
        self, calls: Any, cls: Any, external: tree.External, scope: Any, env: dict[str, Any], node: Any
    ) -> None:
        self.calls, self.cls, self.external, self.scope, self.env, self.node = calls, cls, external, scope, env, node
        self.numbers: list[float] = []
        self.texts: list[str] = []
        self.outputs: list[tuple[str, Any]] = []  # name and the value before
        self.elements = cls.core.table.elements

    def run(self) -> None:
        """Make the call and store what it gives."""
        arguments = self._arguments()
        result = None
        name = None if self.external.output is None else self.external.output.names[0]
        if name is None and not self.external.function and not self.external.arguments:
            name = self._single_output()
        if name is not None:
            result = self._type(name, self.env.get(name))
            self.outputs.insert(0, (name, self.env.get(name)))
        signature = CSignature(
            self.cls.name,
            self.external.function or self.cls.core.entry.name,
            self.external.language,
            tuple(arguments),
            result,
            **annotated(self.calls.values, self.cls, self.external, self.scope),
        )
        call = ForeignCall(signature, len(self.numbers), n_out(signature), tuple(self.texts))
        try:
            numbers, texts = results(call, self.numbers)
        except CompileError:
            raise
        except ModelError as error:
            raise problem(error.message, self.node, hint=error.hint) from None
        numbers_left, texts_left = iter(numbers), iter(texts)
        for name, before in self.outputs:
            self.env[name] = _filled(before, self._is_real(name), numbers_left, texts_left)

    def _single_output(self) -> str | None:
        names = [n for n, e in self.elements.items() if not e.is_class and self.cls.core.causality_of(n) == "output"]
        return names[0] if len(names) == 1 and not isinstance(self.env.get(names[0]), np.ndarray) else None

    def _arguments(self) -> list[ForeignArgument]:
        external = self.external
        if external.function or external.arguments:
            return [self._argument(one) for one in external.arguments]
        found = []
        single = self._single_output() if external.output is None else external.output.names[0]
        for name, element in self.elements.items():
            if element.is_class or self.cls.core.causality_of(name) not in ("input", "output") or name == single:
                continue
            found.append(self._variable(name))
            value = self.env.get(name)
            if isinstance(value, np.ndarray):
                found += [ForeignArgument(ForeignType("integer"), size=n) for n in value.shape]
        return found

    def _argument(self, one: tree.Expression) -> ForeignArgument:
        if isinstance(one, tree.Call) and one.function.names == ("size",):
            value = self.calls.values.value(one, self.scope, self.env)
            return ForeignArgument(ForeignType("integer"), size=int(value))
        if isinstance(one, tree.Reference) and len(one.names) == 1 and one.names[0] in self.elements:
            return self._variable(one.names[0])
        value = self.calls.values.value(one, self.scope, self.env)
        of = _type_of(value, isinstance(value, float))
        self._take(value, of, is_output=False)
        return ForeignArgument(of)

    def _variable(self, name: str) -> ForeignArgument:
        value = self.env.get(name)
        if value is None:
            raise NotKnown(f"`{name}` of `{self.cls.name}` has no value", self.node)
        is_output = self.cls.core.causality_of(name) != "input"
        of = self._type(name, value)
        self._take(value, of, is_output)
        if is_output:
            self.outputs.append((name, value))
        return ForeignArgument(of, is_output)

    def _is_real(self, name: str) -> bool:
        element = self.elements[name]
        of = self.calls.values.world.component_class(element.node.type, self.cls.instance.scope(element.layer.number))
        if of.primitive is not None and of.primitive.builtin == "ExternalObject":
            raise NotKnown(f"`{name}` is an external object", self.node)
        return of.primitive is not None and of.primitive.builtin == "Real"

    def _type(self, name: str, value: Any) -> ForeignType:
        is_real = self._is_real(name)
        if value is None:
            raise NotKnown(f"`{name}` of `{self.cls.name}` has no value", self.node)
        return _type_of(value, is_real)

    def _take(self, value: Any, of: ForeignType, is_output: bool) -> None:
        if isinstance(value, np.ndarray):
            inner = ForeignType(of.base, (), of.fields)
            for one in value.flat:
                self._take(one, inner, is_output)
        elif isinstance(value, RecordValue):
            for (_, field), one in zip(of.fields, value.fields.values(), strict=True):
                self._take(one, field, is_output)
        elif isinstance(value, str):
            if not is_output:
                self.texts.append(value)
        else:
            self.numbers.append(float(value.ordinal if isinstance(value, EnumValue) else value))


def _type_of(value: Any, is_real: bool) -> ForeignType:
    if isinstance(value, np.ndarray):
        if value.size and isinstance(value.flat[0], (RecordValue, str, EnumValue)):
            inner = _type_of(value.flat[0], is_real)
        else:
            inner = ForeignType("boolean" if value.dtype.kind == "b" else "real" if is_real else "integer")
            if value.dtype.kind == "f":
                inner = ForeignType("real")
        return ForeignType(inner.base, value.shape, inner.fields)
    if isinstance(value, RecordValue):
        fields = tuple((name, _type_of(one, isinstance(one, float))) for name, one in value.fields.items())
        return ForeignType("record", (), fields)
    if isinstance(value, str):
        return ForeignType("string")
    if isinstance(value, (bool, np.bool_)):
        return ForeignType("boolean")
    if isinstance(value, (float, int, np.number)):
        return ForeignType("real" if is_real or isinstance(value, float) else "integer")
    if isinstance(value, EnumValue):
        return ForeignType("integer")
    raise NotKnown("an argument of an external function has no value")


def _filled(before: Any, is_real: bool, numbers: Any, texts: Any) -> Any:
    """A value of the same form with what the call gave."""
    if isinstance(before, np.ndarray):
        if before.size and isinstance(before.flat[0], (RecordValue, str)):
            found = np.empty(before.shape, object)
            for index in np.ndindex(before.shape):
                found[index] = _filled(before[index], is_real, numbers, texts)
            return found
        kind = float if is_real or before.dtype.kind == "f" else bool if before.dtype.kind == "b" else int
        return np.array([next(numbers) for _ in range(before.size)]).astype(kind).reshape(before.shape)
    if isinstance(before, RecordValue):
        return RecordValue(
            before.cls, {k: _filled(v, isinstance(v, float), numbers, texts) for k, v in before.fields.items()}
        )
    if isinstance(before, str):
        return next(texts)
    number = next(numbers)
    if isinstance(before, (bool, np.bool_)):
        return bool(number)
    if is_real or isinstance(before, float):
        return float(number)
    return EnumValue(before.cls, int(number), before.name) if isinstance(before, EnumValue) else int(number)
