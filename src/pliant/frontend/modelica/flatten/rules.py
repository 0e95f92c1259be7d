"""Annotations of functions: derivatives, inverses, smoothness (specification 3.6, sections 12.7 and 12.8)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError
from pliant.frontend.flat.model import DerivativeRule, FlatLocal, InverseRule
from pliant.frontend.flat.types import BaseType, Type
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.instances.classes import ClassUse
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.functions import Functions


class FunctionRules:
    """What the annotations of one function say."""

    def __init__(self, functions: Functions, cls: ClassUse, inputs: list[FlatLocal]) -> None:
        self.functions, self.out, self.cls, self.inputs = functions, functions.out, cls, inputs
        self.derivatives: list[DerivativeRule] = []
        self.inverses: list[InverseRule] = []

    def read(self, annotations: list[tuple[tree.Annotation, Context]]) -> dict[str, Any]:
        """Attributes of the FlatFunction."""
        found: dict[str, Any] = {}
        for annotation, context in annotations:
            for one in annotation.arguments:
                if isinstance(one, tree.Modifier) and one.modification is not None:
                    self._one(one.names[0], one.modification, context, found)
        found["derivatives"] = tuple(self.derivatives)
        found["inverses"] = tuple(self.inverses)
        return found

    def _one(self, name: str, modification: tree.Modification, context: Context, found: dict[str, Any]) -> None:
        value = modification.value
        if name == "derivative" and isinstance(value, tree.Reference):
            rule = self._derivative(modification, value)
            if rule is not None:
                self.derivatives.append(rule)
        elif name == "inverse":
            for one in modification.arguments:
                if isinstance(one, tree.Modifier):
                    self._inverse(one, context)
        elif name == "smoothOrder" and isinstance(value, tree.IntegerLiteral):
            found["smooth_order"] = value.value
        elif name in ("Inline", "LateInline") and isinstance(value, tree.BooleanLiteral):
            if value.value:
                found["inline"] = "always" if name == "Inline" else "late"
            elif name == "Inline":
                found["inline"] = "never"
        elif name == "__ModelicaAssociation_Impure" and isinstance(value, tree.BooleanLiteral):
            found["impure"] = value.value

    @contextmanager
    def _tried(self) -> Iterator[None]:
        """Functions that are made here are forgotten where one of them cannot be made."""
        known = self.functions.known
        before = len(known)
        try:
            yield
        except ModelError:
            for key in list(known)[before:]:
                del known[key]

    # ---------------------------------------------------------------------------------------------------- inverses

    def _inverse(self, modifier: tree.Modifier, context: Context) -> None:
        """``u = g(..., y, ...)``; one that cannot be translated, such as a call of a partial function, is left out."""
        name, modification = modifier.names[0], modifier.modification
        place = next((k for k, one in enumerate(self.inputs) if one.name == name), None)
        if place is None or len(modifier.names) > 1:
            text = f"`{'.'.join(modifier.names)}` in the inverse of `{self.cls.name}` is none of its inputs"
            raise problem(text, modifier, rule="12.8", hint="write inverse(u = g(...)) with an input u")
        if modification is None or not isinstance(modification.value, tree.Call):
            text = f"the inverse of `{self.cls.name}` for `{name}` is not the call of a function"
            raise problem(text, modifier, rule="12.8", hint=f"write inverse({name} = g(...))")
        with self._tried():
            value = self.out.expr(modification.value, context)
            of, own = self.out.type(value), self.inputs[place].type
            if of.base is BaseType.REAL and own.base is BaseType.REAL and not of.shape and not own.shape:
                self.inverses.append(InverseRule(place, value))

    # -------------------------------------------------------------------------------------------------- derivatives

    def _derivative(self, modification: tree.Modification, ref: tree.Reference) -> DerivativeRule | None:
        """The derivative of a function, for the same sizes; one that does not fit is left out."""
        words = {one.name: "differentiate" for one in self.inputs}
        order = 1
        for one in modification.arguments:
            if isinstance(one, tree.Modifier) and one.modification is not None:
                value = one.modification.value
                if one.names == ("order",) and isinstance(value, tree.IntegerLiteral):
                    order = value.value
                elif isinstance(value, tree.Reference) and value.names[0] in words:
                    words[value.names[0]] = "zero" if one.names == ("zeroDerivative",) else "none"
        number = None
        with self._tried():
            target = self.out.world.lookup_class(ref, self.cls.instance.scope(0))
            number = self.functions.of_types(target, self._derivative_inputs(target, words, order))
        if number is None:
            return None
        return DerivativeRule(number, tuple(words.values()), order)

    def _derivative_inputs(self, target: ClassUse, words: dict[str, str], order: int) -> dict[str, Type] | None:
        names, inputs = self.functions.input_names(target), self.inputs
        real = [one for one in inputs if one.type.base in (BaseType.REAL, BaseType.RECORD)]
        moving = [one.type for one in real if words[one.name] == "differentiate"]
        extra = len(names) - len(inputs)
        if order > 1:  # once more the derivatives that the one before has added
            moving = [one.type for one in inputs[len(inputs) - extra :]] if 0 < extra <= len(inputs) else []
        types = [one.type for one in inputs] + moving
        if len(types) != len(names):
            return None
        return dict(zip(names, types, strict=True))
