"""Calls of Modelica functions.

Bodies are inlined by running their statements on the values of the arguments: loops unroll, records come apart. A
function with a usable ``derivative`` annotation stays a call when its arguments move, because index reduction gets
simpler equations from the annotation than from the body. It then has an entry of scalar outputs over scalar
arguments; arguments that are not Real are part of the entry.

External C functions cannot be inlined; the tables of the Standard Library are known, others are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import const, value_of
from pliant.frontend.scalar.dependence import PARAM, TIME, UNKNOWN
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.values import Arr, Rec, Value, like, scalars
from pliant.ir import Check, Function, Op

MAX_DEPTH = 60
External = Callable[[str, str, list[Value]], Value]


class Calls:
    """Inlines functions or makes entries for them."""

    def __init__(self, run: Interpreter, functions: list[dict[str, Any]], external: External) -> None:
        self.run, self.g, self.raw, self.external = run, run.g, functions, external
        self.entries: list[Function] = []
        self.numbers: dict[tuple[Any, ...], tuple[int, list[Value]]] = {}
        self.checks: list[Check] = []
        self.depth = 0
        self.building = 0
        self.active: set[int] = set()

    def __call__(self, function: int, number: int, args: list[Value]) -> list[Value]:
        """Outputs of a call; ``number`` is the expression id of the call."""
        raw = self.raw[function]
        if raw["derivatives"] and not raw["external"] and not self.building and self._moves(args):
            for chosen, derivative in enumerate(sorted(raw["derivatives"], key=lambda d: d["priority"])):
                if self._is_usable(function, derivative, args):
                    return self._keep(function, chosen, derivative, args)
        return self.inline(function, args)

    # -------------------------------------------------------------------------------------------- inline

    def inline(self, function: int, args: list[Value]) -> list[Value]:
        """Outputs, by running the body."""
        run, raw = self.run, self.raw[function]
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotSupportedError(
                f"function `{raw['name']}` calls itself too deeply", hint="write it as a loop with known bounds"
            )
        # a function inside itself overwrites the values of its own nodes
        values = None
        if function in self.active:
            values = list(run.values)
            args = [a if self._is_real(function, k) else self._number(a) for k, a in enumerate(args)]
        is_first = function not in self.active
        saved = run.parameters[function], run.definitions[function]
        run.parameters[function], run.definitions[function] = args, {}
        self.active.add(function)
        try:
            if raw["external"]:
                return [self._external(raw)]
            body = _Body(self, function)
            body.run_all(raw["statements"], 0)
            return [body.result(k) for k in range(len(raw["outputs"]))]
        finally:
            self.depth -= 1
            run.parameters[function], run.definitions[function] = saved
            if is_first:
                self.active.discard(function)
            if values is not None:
                run.values[:] = values

    def _number(self, value: Value) -> Value:
        """Integer parameters that steer a recursion must be known, or it would never end."""
        if isinstance(value, int) and not self.run.masks.of(value) & ~PARAM:
            return const(self.g, self.run.number(value, "an argument of a function that calls itself"))
        return value

    def _external(self, raw: dict[str, Any]) -> Value:
        external = raw["external"]
        args = [self.run.value(a["input"]) for a in external["arguments"] if "input" in a]
        return self.external(external["symbol"], raw["name"], args)

    def default(self, value_type: int) -> Value:
        """What a local variable holds before its first assignment."""
        kind = self.run.types[value_type]
        if kind["scalar"] == "record":
            element: Value = Rec([self.default(field["value_type"]) for field in kind["record_fields"]])
        elif kind["scalar"] == "string":
            element = ""
        else:
            element = const(self.g, 0.0)
        shape = tuple(kind["dimensions"])
        n = 1
        for size in shape:
            n *= size
        return Arr(shape, [element] * n) if shape else element

    def assertion(self, statement: dict[str, Any], name: str) -> None:
        """An assertion inside a function: constant ones are decided now, others are checked while simulating."""
        run = self.run
        condition = run.scalar(statement["condition"])
        known = value_of(self.g, condition)
        if known or (known is None and (self.building or run.guarded)) or (known is not None and run.guarded):
            return
        message = run.value(statement["message"])
        is_error = statement.get("level", "error") != "warning"
        span = run.spans.of(statement.get("provenance"))
        if known is None:
            self.checks.append(Check(condition, str(message), is_error, span))
        elif is_error:
            raise ModelError(f"assertion in function `{name}` fails: {message}", hint="check the arguments of the call")

    # -------------------------------------------------------------------------- calls that stay as they are

    def _moves(self, args: list[Value]) -> bool:
        return any(self.run.masks.of(e) & (TIME | UNKNOWN) for a in args if not isinstance(a, str) for e in scalars(a))

    def _is_real(self, function: int, k: int) -> bool:
        kind = self.run.types[self.raw[function]["parameters"][k]["value_type"]]
        return bool(kind["scalar"] == "real")

    def _is_usable(self, function: int, derivative: dict[str, Any], args: list[Value]) -> bool:
        """The annotation fits: constant where it says zero derivative, not Real only where constant."""
        if derivative.get("target") is None or self.raw[derivative["target"]]["external"]:
            return False
        for k, (arg, says) in enumerate(zip(args, derivative["inputs"], strict=True)):
            if isinstance(arg, str):
                continue
            if not self._is_real(function, k):
                if any(value_of(self.g, e) is None for e in scalars(arg)):
                    return False
            elif says == "ZeroDerivative" and self._moves([arg]):
                return False
        return self._differentiated(function, derivative) is not None

    def _differentiated(self, function: int, derivative: dict[str, Any]) -> list[int] | None:
        """Positions of the arguments whose derivatives the target expects behind the arguments themselves."""
        n = len(self.raw[function]["parameters"])
        extra = len(self.raw[derivative["target"]]["parameters"]) - n
        if derivative.get("previous") is not None:
            # a second derivative: the derivatives that were added last time are differentiated
            found = list(range(n - extra, n)) if 0 < extra <= n else []
        else:
            found = [k for k, says in enumerate(derivative["inputs"]) if says == "Differentiate"]
            found = [k for k in found if self._is_real(function, k)]
        return found if len(found) == extra else None

    def _keep(self, function: int, chosen: int, derivative: dict[str, Any], args: list[Value]) -> list[Value]:
        g = self.g
        number, template = self._entry(function, chosen, derivative, args)
        flat = [e for k, arg in enumerate(args) if self._is_real(function, k) for e in scalars(arg)]
        outputs: Iterator[int] = (g.intern((Op.CALL, number, k, *flat)) for k in count())
        return [like(value, outputs) for value in template]

    def _entry(
        self, function: int, chosen: int, derivative: dict[str, Any] | None, args: list[Value]
    ) -> tuple[int, list[Value]]:
        """Number of the function's entry and the form of its outputs."""
        real = [self._is_real(function, k) for k in range(len(args))]
        fixed = tuple(
            "" if r else a if isinstance(a, str) else tuple(scalars(a)) for r, a in zip(real, args, strict=True)
        )
        key = (function, chosen, fixed)
        if key in self.numbers:
            return self.numbers[key]
        places = count()
        symbols = (self.g.intern((Op.ARG, k)) for k in places)
        inner = [like(a, symbols) if r else a for r, a in zip(real, args, strict=True)]
        self.building += 1
        try:
            template = self.inline(function, inner)
        finally:
            self.building -= 1
        n = sum(len(scalars(a)) for r, a in zip(real, inner, strict=True) if r)
        entry = Function(self.raw[function]["name"], n, tuple(e for value in template for e in scalars(value)))
        number = len(self.entries)
        self.entries.append(entry)
        self.numbers[key] = (number, template)
        if derivative is not None:
            self._link(number, function, derivative, inner)
        return number, template

    def _link(self, number: int, function: int, derivative: dict[str, Any], inner: list[Value]) -> None:
        """Add the entry of the derivative, and in turn those of its own derivatives."""
        positions = self._differentiated(function, derivative) or []
        offsets, offset = [], 0
        for k, arg in enumerate(inner):
            offsets.append(offset)
            offset += len(scalars(arg)) if self._is_real(function, k) else 0
        target = derivative["target"]
        args = [*inner, *(inner[k] for k in positions)]
        raw = self.raw[target]
        following = None
        for each in sorted(raw["derivatives"], key=lambda d: d["priority"]):
            usable = each.get("target") is not None and not self.raw[each["target"]]["external"]
            if following is None and usable and self._differentiated(target, each) is not None:
                following = each
        derived, _ = self._entry(target, -1, following, args)
        differentiated = tuple(offsets[k] + i for k in positions for i in range(len(scalars(inner[k]))))
        self.entries[number] = replace(self.entries[number], derivative=derived, differentiated=differentiated)


class _Body:
    """Runs the statements of one call. Definitions are numbered as rumoca numbers them (rumoca-dae.md, section 7)."""

    def __init__(self, calls: Calls, function: int) -> None:
        self.calls, self.run, self.function = calls, calls.run, function
        self.raw = calls.raw[function]
        self.definitions = self.run.definitions[function]
        self.current: dict[int, Value] = {}

    def result(self, target: int) -> Value:
        """Last value of an output or local."""
        found = self.current.get(target)
        if found is None:
            outputs = self.raw["outputs"]
            entry = outputs[target] if target < len(outputs) else self.raw["locals"][target - len(outputs)]
            found = self.calls.default(entry["value_type"])
        return found

    def define(self, ordinal: int, target: int, value: Value) -> None:
        """One definition."""
        if isinstance(value, int):  # a scalar assigned to a whole array
            old = self.result(target) if target not in self.current else None
            if isinstance(old, Arr):
                value = Arr(old.shape, [value] * len(old.flat))
        self.definitions[ordinal] = value
        self.current[target] = value

    def run_all(self, statements: list[dict[str, Any]], ordinal: int) -> int:
        """Run statements; the next ordinal."""
        for statement in statements:
            ((kind, content),) = statement.items()
            if kind == "assignment":
                self.define(ordinal, content["target"], self.run.value(content["rhs"]))
                ordinal += 1
            elif kind == "assignment_group":
                members = content["assignments"]
                values = [self.run.value(member["rhs"]) for member in members]
                for member, value in zip(members, values, strict=True):
                    self.define(ordinal, member["target"], value)
                    ordinal += 1
            elif kind == "for":
                ordinal = self._loop(content, ordinal)
            elif kind == "assertion":
                self.calls.assertion(content, self.raw["name"])
            else:
                raise NotSupportedError(
                    f"function `{self.raw['name']}`: a statement of kind `{kind}` is not supported",
                    hint="write it with assignments, if and for",
                )
        return ordinal

    def _loop(self, content: dict[str, Any], ordinal: int) -> int:
        targets = content["targets"]
        after = ordinal + len(targets) + _count(content["statements"])
        for _ in self.run.over(content["domain"]):
            for k, target in enumerate(targets):
                self.definitions[ordinal + k] = self.result(target)
            self.run_all(content["statements"], ordinal + len(targets))
        for k, target in enumerate(targets):
            self.define(after + k, target, self.result(target))
        return after + len(targets)


def _count(statements: list[dict[str, Any]]) -> int:
    """How many definitions statements take."""
    total = 0
    for statement in statements:
        ((kind, content),) = statement.items()
        if kind == "assignment":
            total += 1
        elif kind == "assignment_group":
            total += len(content["assignments"])
        elif kind == "for":
            total += 2 * len(content["targets"]) + _count(content["statements"])
    return total
