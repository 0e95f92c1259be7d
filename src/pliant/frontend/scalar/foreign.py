"""Calls of external functions, and external objects.

A call becomes one FOREIGN node for each number that is read of what it gives. Where all arguments are known it is made
now. Strings that are given and change are made at the call; one that a pure function gives is a part of the texts that
read it. A call for what it does gives one number, so that something can ask for it. An object is its constructor's
node, over parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pliant.errors import ModelError, NotSupportedError
from pliant.expr.build import const, value_of
from pliant.foreign.calls import CSignature, ForeignArgument, ForeignCall, ForeignType
from pliant.foreign.evaluate import results
from pliant.foreign.wrapper import n_out, n_texts_out
from pliant.frontend.flat.expressions import NONE, FlatField, FlatIndex, LocalRef
from pliant.frontend.flat.model import DerivativeRule, FlatExternal, FlatFunction
from pliant.frontend.flat.types import BaseType, Type
from pliant.frontend.scalar.dependence import PARAM
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.open_texts import known_text, placed, settled
from pliant.frontend.scalar.values import Arr, Rec, Value, like
from pliant.ir import Op
from pliant.texts import OPEN, CalledText, OpenText, operands_of

if TYPE_CHECKING:
    from pliant.frontend.scalar.functions import Calls

MOST_NUMBERS = 4_000_000  # results times arguments of one external function: each result is an expression of all

_BASES = {
    BaseType.REAL: "real",
    BaseType.INTEGER: "integer",
    BaseType.ENUMERATION: "integer",
    BaseType.BOOLEAN: "boolean",
    BaseType.STRING: "string",
    BaseType.OBJECT: "object",
}


class ForeignCalls:
    """External functions of one model."""

    def __init__(self, run: Interpreter, calls: Calls) -> None:
        self.run, self.g, self.calls = run, run.g, calls
        self.flat, self.functions = run.tape.flat, run.tape.flat.functions
        self.known: dict[object, ForeignCall] = {}
        self.made_by: dict[int, int] = {one.variable: k for k, one in enumerate(self.flat.objects)}
        self.used: set[int] = set()
        self.is_before: Callable[[], bool] = bool  # are parameters being evaluated?

    # ------------------------------------------------------------------------------------------------ calls

    def __call__(self, function: int, args: list[Value]) -> list[Value]:
        """Outputs of a call; the inputs are in the locals of the function already."""
        own, external = self._checked(function)
        signature, given, texts, objects = self._taken(own, external, own.name)
        gives_text = self._gives_text(signature)
        if gives_text and not any(self.run.masks.of(e) & ~PARAM for e in given):
            why = f"`{own.name}` gives a String"
            given = [e if k in objects else const(self.g, self.run.number(e, why)) for k, e in enumerate(given)]
        is_known = all(value_of(self.g, e) is not None for e in given)
        if gives_text and not own.is_pure and not is_known:
            raise NotSupportedError(
                f"`{own.name}` is impure and gives a String that changes during the simulation",
                hint="let it give numbers, or read the text before: in the value of a parameter",
            )
        lead = () if own.is_pure or gives_text else self.run.impure.lead()
        if n_out(signature) * len(given) > MOST_NUMBERS and not is_known:
            text = f"the external function `{own.name}` with {len(given)} numbers in and {n_out(signature)} out"
            raise NotSupportedError(text, hint="give it shorter arrays")
        call = self._call(function, signature, len(given), tuple(texts), tuple(objects), own, len(lead))
        is_now = own.is_pure or gives_text or self.is_before()  # else it may give something else next time
        if is_now and is_known:
            numbers, strings = results(call, [float(value_of(self.g, e) or 0.0) for e in given])
            return self._outputs(function, external, iter([const(self.g, x) for x in numbers]), iter(strings))
        if not own.is_pure and not self.is_before():
            self.run.impure.misses(own.name, own.span)
        nodes = [self.g.intern((Op.FOREIGN, call, k, *lead, *given)) for k in range(call.n_outputs)]
        if lead:
            self.run.impure.made(nodes[0])
        made = (OpenText([CalledText(call, k, tuple(given))]) for k in range(n_texts_out(signature)))
        return self._outputs(function, external, iter(nodes), made)

    def _checked(self, function: int) -> tuple[FlatFunction, FlatExternal]:
        own = self.functions[function]
        external = own.external
        assert external is not None
        if not external.include_folder:
            raise NotSupportedError(
                f"the external function `{external.symbol}` (called by `{own.name}`) is not supported here",
                hint='load the model with frontend="pliant"',
            )
        return own, external

    def _call(
        self,
        function: int,
        signature: CSignature,
        n_args: int,
        texts: tuple[str, ...],
        objects: tuple[int, ...],
        own: FlatFunction,
        n_lead: int = 0,
    ) -> ForeignCall:
        key = (signature, texts, objects)
        is_own = not own.is_pure and self.run.impure.each
        found = None if is_own else self.known.get(key)
        if found is None:
            n_texts = sum(len(operands_of(one)) for one in texts)
            n_outputs = n_out(signature) or int(not own.is_pure)  # one that somebody can ask for
            found = ForeignCall(
                signature, n_args, n_outputs, texts, objects, own.is_pure, n_texts, n_lead, span=own.span
            )
            if not n_texts:
                found = self._with_derivative(function, found, own)
            self.known[key] = found
        return found

    # -------------------------------------------------------------------------------------- what is handed over

    def _taken(
        self, own: FlatFunction, external: FlatExternal, name: str
    ) -> tuple[CSignature, list[int], list[str], list[int]]:
        """The signature; the numbers given, the strings over their places, and which numbers are objects."""
        types = self.run.tape.types
        arguments: list[ForeignArgument] = []
        given: list[int] = []
        texts: list[str] = []
        objects: list[int] = []
        for place, e in enumerate(external.arguments):
            value = self.run.value(e)
            is_output = self._output_of(e, own) is not None
            if place in external.sizes:
                size = self.run.integer(value, f"a size that `{name}` is given")
                arguments.append(ForeignArgument(ForeignType("integer"), size=size))
                continue
            of = self._type(types[e], value, name)
            arguments.append(ForeignArgument(of, is_output))
            if of.base == "object":
                objects.append(len(given))
            self._flatten(value, of, given, texts, None if is_output else name)
        result = None
        if external.result != NONE:
            result = self._type(types[external.result], self.run.value(external.result), name)
        found = CSignature(
            own.name,
            external.symbol,
            external.language,
            tuple(arguments),
            result,
            external.include,
            external.include_folder,
            external.libraries,
            external.library_folder,
            external.source_folder,
        )
        return found, given, [placed(one, given) for one in texts], objects

    def _type(self, of: Type, value: Value, name: str) -> ForeignType:
        shape = value.shape if isinstance(value, Arr) else ()
        if of.base is BaseType.RECORD:
            one = value.flat[0] if isinstance(value, Arr) and value.flat else value
            if not isinstance(one, Rec):
                raise NotSupportedError(f"`{name}` is given records of no elements", hint="give it at least one")
            fields = self.flat.records[of.number].fields
            pairs = zip(fields, one.fields, strict=True)
            return ForeignType("record", shape, tuple((f.name, self._type(f.type, x, name)) for f, x in pairs))
        base = _BASES.get(of.base)
        if base is None:
            raise NotSupportedError(f"`{name}` is given {of.base.value}", hint="give it numbers, strings or records")
        return ForeignType(base, shape)

    def _flatten(self, value: Value, of: ForeignType, given: list[int], texts: list[str], name: str | None) -> None:
        """Numbers and strings of an argument of the function of this name; None: it is an output."""
        if isinstance(value, Arr):
            inner = ForeignType(of.base, (), of.fields)
            for one in value.flat:
                self._flatten(one, inner, given, texts, name)
        elif isinstance(value, Rec):
            for (_, field), one in zip(of.fields, value.fields, strict=True):
                self._flatten(one, field, given, texts, name)
        elif isinstance(value, str):
            if name is not None:
                known = known_text(self.run, value, f"a text that `{name}` is given is made of it")
                texts.append(settled(self.g, value) if known is None else known)
        else:
            given.append(value)

    def _gives_text(self, signature: CSignature) -> bool:
        return (signature.result is not None and signature.result.base == "string") or any(
            one.is_output and one.type.base == "string" for one in signature.arguments
        )

    # ------------------------------------------------------------------------------------------- what comes back

    def _output_of(self, e: int, own: FlatFunction) -> tuple[int, int] | None:
        """The local that an argument names, if it is no input: function and place."""
        node = self.run.nodes[e]
        while isinstance(node, (FlatField, FlatIndex)):
            node = self.run.nodes[node.base]
        if isinstance(node, LocalRef) and node.number >= own.n_inputs:
            return node.function, node.number
        return None

    def _outputs(
        self, function: int, external: FlatExternal, numbers: Iterator[int], strings: Iterator[str]
    ) -> list[Value]:
        """The outputs of the Modelica function."""
        own, run = self.functions[function], self.run
        locals_ = run.locals[function]
        targets = [external.result] if external.result != NONE else []
        targets += [e for e in external.arguments if self._output_of(e, own) is not None]
        for e in targets:
            place = self._output_of(e, own)
            if place is None or not isinstance(run.nodes[e], LocalRef):
                raise NotSupportedError(
                    f"the external function `{external.symbol}` sets a part of a variable", hint="let it set all of it"
                )
            locals_[place[1]] = _filled(run.value(e), numbers, strings)
        return [self.calls.local(function, k) for k in range(own.n_inputs, own.n_inputs + own.n_outputs)]

    # ------------------------------------------------------------------------------------------- derivatives

    def _with_derivative(self, function: int, call: ForeignCall, own: FlatFunction) -> ForeignCall:
        """With the call that gives d/dt, if an annotation names an external function for it."""
        from dataclasses import replace

        for rule in sorted(own.derivatives, key=lambda one: one.priority):
            target = self.functions[rule.function]
            if target.external is None or function in self.used or rule.order > 1:
                continue
            self.used.add(function)
            try:
                found = self._derivative(function, call, rule)
            except (ModelError, NotSupportedError):
                found = None
            finally:
                self.used.discard(function)
            if found is not None:
                derivative, places = found
                return replace(call, derivative=derivative, differentiated=places, partials={})
        return call

    def _derivative(
        self, function: int, call: ForeignCall, rule: DerivativeRule
    ) -> tuple[ForeignCall, tuple[int, ...]] | None:
        """The call of the derivative, if it takes what the function takes and then the rates, in this order."""
        own, target = self.functions[function], self.functions[rule.function]
        external = own.external
        inner = target.external
        assert external is not None
        assert inner is not None
        names = [one.name for one in own.inputs]
        moving = [k for k, says in enumerate(rule.inputs) if says == "differentiate"]
        moving = [k for k in moving if own.locals[k].type.base is BaseType.REAL]
        if target.n_inputs != own.n_inputs + len(moving) or own.locals[moving[0] if moving else 0].type.shape:
            return None
        values = self.run.locals[function][: own.n_inputs]
        rates = [values[k] for k in moving]
        saved = self.run.locals[rule.function]
        blank: list[Value | None] = [None] * (len(target.locals) - target.n_inputs)
        self.run.locals[rule.function] = [*values, *rates, *blank]
        try:
            _, second = self._checked(rule.function)
            signature, given, texts, objects = self._taken(target, second, target.name)
        finally:
            self.run.locals[rule.function] = saved
        first = self._places(own, external)
        behind = self._places(target, second)
        if first is None:
            return None
        wanted = [*first, *(len(names) + k for k in range(len(moving)))]
        if behind != wanted or tuple(texts) != call.texts or signature.language.upper() != "C":
            return None
        places = tuple(first.index(k) for k in moving)
        derivative = self._call(rule.function, signature, len(given), tuple(texts), tuple(objects), target)
        if derivative.n_outputs != call.n_outputs or derivative.objects != call.objects:
            return None
        return derivative, places

    def _places(self, own: FlatFunction, external: FlatExternal) -> list[int] | None:
        """Which input each number given is, if all arguments are scalar inputs; strings left out."""
        found = []
        for place, e in enumerate(external.arguments):
            node = self.run.nodes[e]
            if place in external.sizes or not isinstance(node, LocalRef) or node.number >= own.n_inputs:
                return None
            of = own.locals[node.number].type
            if of.shape or of.base is BaseType.RECORD:
                return None
            found.append(node.number)
        return [k for k in found if own.locals[k].type.base is not BaseType.STRING]

    # ------------------------------------------------------------------------------------------------ objects

    def object(self, position: int) -> Value:
        """What a variable of a class of external objects holds: the node of its constructor."""
        where = self.made_by.get(position)
        if where is None:
            raise ModelError(
                f"the external object `{self.flat.variables[position].name}` is not made",
                hint="give it a value: its class with arguments",
            )
        made = self.flat.objects[where]
        if made.handle != NONE:
            return const(self.g, float(made.handle))
        run, function = self.run, made.constructor
        own, external = self._checked(function)
        args = [run.value(e) for e in made.arguments]
        saved = run.locals[function]
        run.locals[function] = [*args, *([None] * (len(own.locals) - own.n_inputs))]
        try:
            signature, given, texts, objects = self._taken(own, external, own.name)
        finally:
            run.locals[function] = saved
        if any(run.masks.of(e) & ~PARAM for e in given):
            raise ModelError(
                f"the arguments of the external object `{made.name}` change during the simulation",
                hint="give it parameters and constants",
                span=made.span,
                rule="12.9.7",
            )
        key = (where, "object")
        call = self.known.get(key)
        if call is None:
            call = self.known[key] = ForeignCall(
                signature,
                len(given),
                1,
                tuple(texts),
                tuple(objects),
                is_object=True,
                destructor=self._destructor(made.destructor, made.name),
                owner=made.name,
                span=made.span,
            )
        return self.g.intern((Op.FOREIGN, call, 0, *given))

    def _destructor(self, function: int, name: str) -> CSignature | None:
        if function == NONE:
            return None
        own, external = self._checked(function)
        saved = self.run.locals[function]
        zero: Sequence[Value | None] = [const(self.g, 0.0)] * own.n_inputs
        self.run.locals[function] = [*zero, *([None] * (len(own.locals) - own.n_inputs))]
        try:
            return self._taken(own, external, name)[0]
        finally:
            self.run.locals[function] = saved


def _filled(value: Value, numbers: Iterator[int], strings: Iterator[str]) -> Value:
    """A value of the same form with what the call gave."""
    if isinstance(value, str):
        return next(strings, OPEN)
    if isinstance(value, Arr):
        return Arr(value.shape, [_filled(one, numbers, strings) for one in value.flat])
    if isinstance(value, Rec):
        return Rec([_filled(one, numbers, strings) for one in value.fields])
    return like(value, numbers)
