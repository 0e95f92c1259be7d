"""Variables of the model: names, attributes, and what an expression reads when it names one.

Numbers are given in the order of the flat model, arrays element by element. Derivatives and discrete variables follow,
each when an equation first uses it: an element of an array that is never differentiated has no derivative.

A parameter stays a symbol if it may be changed without changing the structure: Real or Integer, and not locked by the
front end. Everything else is folded to a number, with the reason kept for the user. When a size or an index turns out
to need a parameter, its value is taken and the parameter is noted as ``forced``; the caller then starts again with it
folded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any

from pliant.errors import ModelError, NotSupportedError, PliantError
from pliant.expr.build import const, substitute, value_of, var, variables_of
from pliant.expr.evaluate import expand_relations
from pliant.frontend.flat.model import FlatVariable
from pliant.frontend.flat.types import LARGEST_INTEGER, BaseType, Causality, Variability
from pliant.frontend.scalar.dependence import PARAM
from pliant.frontend.scalar.interpret import Interpreter
from pliant.frontend.scalar.values import Arr, Lazy, Value, scalars
from pliant.ir import Kind, Refusal, Span, Variable

_ARTICLE = {BaseType.BOOLEAN: "Boolean", BaseType.ENUMERATION: "enumeration", BaseType.STRING: "String"}
_TYPE_NAMES = {base: base.value.lower() for base in BaseType}


class CircularError(ModelError):
    """Parameters whose values need each other."""


def is_parameter(variable: FlatVariable) -> bool:
    """Parameter or constant."""
    return variable.variability <= Variability.PARAMETER


def is_discrete(variable: FlatVariable) -> bool:
    """Set by events, not from outside."""
    return variable.variability is Variability.DISCRETE and variable.causality is not Causality.INPUT


def element_names(name: str, shape: tuple[int, ...]) -> list[str]:
    """``v[1]``, ``v[2]``, or ``m[1,1]`` ..."""
    if not shape:
        return [name]
    if len(shape) == 1:
        return [f"{name}[{i}]" for i in range(1, shape[0] + 1)]
    points = product(*(range(1, n + 1) for n in shape))
    return [f"{name}[{','.join(map(str, point))}]" for point in points]


class Symbols:
    """Scalar variables of the system and the values that variables of the flat model stand for."""

    def __init__(self, run: Interpreter, forced: dict[int, str], fold_parameters: bool) -> None:
        self.run, self.g = run, run.g
        self.flat: Sequence[FlatVariable] = run.tape.variables
        self.variables: list[Variable] = run.masks.variables
        self.owner: list[int] = []  # variable number -> position in the flat model
        self.base: dict[int, int] = {}  # position in the flat model -> number of the first element
        self.cache: dict[int, Value] = {}
        self.derivative: dict[int, int] = {}
        self.derivatives: dict[int, Value] = {}
        self.failures: dict[int, PliantError] = {}
        self.being_evaluated: list[int] = []  # parameters, each read by the one before
        self.forced = forced
        self.new_forced: dict[int, str] = {}
        self.fold_parameters = fold_parameters
        self.fixed: dict[str, str] = {}
        self.refusals: list[Refusal] = []
        self.notes: list[str] = []
        self.objects: Callable[[int], Value] | None = None  # what a variable holds that is an external object

    # --------------------------------------------------------------------------------------- declaration

    def shape(self, position: int) -> tuple[int, ...]:
        """Sizes of a variable of the flat model."""
        return self.flat[position].type.shape  # type: ignore[return-value]  # sizes of variables are known

    def is_text(self, position: int) -> bool:
        """Strings are no variables of the system, nor are external objects."""
        return self.flat[position].type.base in (BaseType.STRING, BaseType.OBJECT)

    def declare(self) -> None:
        """Numbers for everything but strings and discrete variables."""
        for position, own in enumerate(self.flat):
            if is_discrete(own) or self.is_text(position):
                continue
            is_input = own.causality is Causality.INPUT
            self.add(position, Kind.PARAMETER if is_parameter(own) else Kind.INPUT if is_input else Kind.UNKNOWN)

    def add(self, position: int, kind: Kind, form: str = "{}") -> int:
        """New scalar variables; the number of the first."""
        own = self.flat[position]
        first = len(self.variables)
        self.base.setdefault(position, first)
        shape = self.shape(position)
        fixed = own.fixed or (False,)
        fixed = fixed * prod(shape) if len(fixed) == 1 else fixed
        scalar_type = _TYPE_NAMES[own.type.base]
        literals = self.run.tape.flat.enumerations[own.type.number].literals if own.type.number >= 0 else ()
        tunable = own.variability is Variability.PARAMETER and not own.is_final and not own.is_evaluated
        for name, is_fixed in zip(element_names(own.name, shape), fixed or (False,), strict=False):
            self.variables.append(
                Variable(
                    form.format(name),
                    kind,
                    scalar_type,
                    fixed=is_fixed,
                    unit=own.unit,
                    description=own.description,
                    state_select=own.state_select,
                    is_output=own.causality is Causality.OUTPUT and kind is not Kind.BEFORE,  # pre(v) is not v
                    is_discrete=own.variability is Variability.DISCRETE,
                    literals=literals,
                    tunable=tunable,
                    span=own.span,
                )
            )
            self.owner.append(position)
        return first

    def attributes(self) -> None:
        """start, min, max and nominal of everything that moves; parameters have theirs already."""
        for position, first in list(self.base.items()):
            if not self.is_text(position):
                self.bounds(position, first)

    def change(self, number: int, **attributes: Any) -> None:
        """Give a variable other attributes."""
        self.variables[number] = replace(self.variables[number], **attributes)

    def bounds(self, position: int, first: int) -> None:
        """start, min, max and nominal of one variable of the flat model."""
        own = self.flat[position]
        is_constant = is_parameter(own)
        n = prod(self.shape(position))
        for name in ("start", "min", "max", "nominal"):
            expression = getattr(own, name)
            if expression is None and name == "start" and not is_constant and own.type.base is BaseType.ENUMERATION:
                first_literal = const(self.g, 1.0)  # 4.9.5: enumerations begin at their first literal
                for number in range(first, first + n):
                    if self.variables[number].start is None:
                        self.change(number, start=first_literal)
            if expression is None or (name == "start" and is_constant):
                continue
            try:
                found = scalars(self.run.value(expression))
            except PliantError as error:
                place = own.span
                if name in ("start", "nominal"):
                    raise type(error)(f"{place}: {name} of `{own.name}`: {error.message}", hint=error.hint) from None
                self.notes.append(f"{place}: {name} of `{own.name}` is ignored: {error.message}")
                continue  # no result depends on a bound
            self._check_variability(name, position, found)
            found = self._fitted(found, n, f"{name} of `{own.name}`")
            for number, e in zip(range(first, first + n), found, strict=True):
                self.change(number, **{name: e})
        for variable in self.variables[first : first + n]:
            self._check_range(variable)
            if not is_constant:
                self._check_start(variable)

    def _check_variability(self, attribute: str, position: int, found: list[int]) -> None:
        """Attributes are parameter expressions (Modelica language specification 3.6, section 4.8)."""
        masks = self.run.masks
        if not any(masks.of(e) & ~PARAM for e in found):
            return
        own = self.flat[position]
        plain = expand_relations(self.g, found, self.run.relations)
        reads = sorted({number for e in plain for number in variables_of(self.g, e)})
        constant = (Kind.PARAMETER, Kind.CONSTANT)
        moving = [self.variables[v].name for v in reads if self.variables[v].kind not in constant]
        what = ", ".join(f"`{name}`" for name in moving[:3]) or "time"
        place = own.span
        which = "itself" if moving == [own.name] else what
        raise ModelError(
            f"{place}: `{attribute}` of `{own.name}` depends on {which}; attributes may only depend on parameters and "
            "constants",
            hint=f"write it as an initial equation: `{own.name} = ...`"
            if attribute == "start"
            else "use a parameter or a number",
        )

    def _fitted(self, found: list[int], n: int, what: str) -> list[int]:
        """One value for every element; a single one is for all."""
        if len(found) == 1:
            return found * n
        if len(found) != n:
            raise ModelError(f"{what} has {len(found)} values for {n} elements", hint=f"give one value, or {n}")
        return found

    def _check_range(self, variable: Variable) -> None:
        """min is not above max, and nominal is not zero."""
        low, high, nominal = (
            None if e is None else value_of(self.g, e) for e in (variable.min, variable.max, variable.nominal)
        )
        if low is not None and high is not None and low > high:
            raise ModelError(
                f"{variable.span or 'here'}: min = {low:g} of `{variable.name}` is above its max = {high:g}",
                hint="change one of them",
                span=variable.span,
                rule="4.9.1",
            )
        if nominal == 0.0:
            self.notes.append(
                f"{variable.span}: nominal = 0 of `{variable.name}` is ignored: it has to differ from zero"
            )

    def _check_start(self, variable: Variable) -> None:
        if variable.start is None or (variable.min is None and variable.max is None):
            return
        start = value_of(self.g, variable.start)
        low = None if variable.min is None else value_of(self.g, variable.min)
        high = None if variable.max is None else value_of(self.g, variable.max)
        if start is None or not ((low is not None and start < low) or (high is not None and start > high)):
            return
        bounds = f"{'-inf' if low is None else f'{low:g}'} .. {'inf' if high is None else f'{high:g}'}"
        place = f" ({variable.span})" if variable.span else ""
        raise ModelError(
            f"start = {start:g} of `{variable.name}` is outside its range {bounds}{place}",
            hint="change `start`, or `min` and `max`",
            span=variable.span,
            rule="4.9.1",
        )

    # ---------------------------------------------------------------------------------------- parameters

    def evaluate_parameters(self) -> None:
        """Values of all parameters, those that others need first.

        Two that name each other get theirs on demand, branch by branch: only a circle through branches that are taken
        is an error.
        """
        try:
            self._evaluate_in_order([p for p, own in enumerate(self.flat) if is_parameter(own)])
        except CircularError as error:
            raise ModelError(error.message, hint=error.hint, span=error.span, rule=error.rule) from None

    def _evaluate_in_order(self, parameters: list[int]) -> None:
        done: set[int] = set()
        for root in parameters:
            stack = [(root, False)]
            path: set[int] = set()
            while stack:
                position, ready = stack.pop()
                if ready:
                    path.discard(position)
                    done.add(position)
                    self._evaluate(position)
                elif position not in done and position not in path:
                    path.add(position)
                    stack.append((position, True))
                    stack.extend(
                        (p, False) for p in self.run.tape.parameters_in(self._source(position)) if p not in done
                    )

    def _source(self, position: int) -> int | None:
        own = self.flat[position]
        return own.start if own.binding is None else own.binding

    def _reason(self, position: int) -> str | None:
        """Why a parameter is folded, None if it stays a symbol."""
        own = self.flat[position]
        if self.fold_parameters:
            return "all parameters were asked to be numbers"
        if position in self.forced:
            return self.forced[position]
        if own.variability is Variability.CONSTANT:
            return "a constant"
        if own.type.base in _ARTICLE:
            return f"{_ARTICLE[own.type.base]} parameters may decide about the structure of the model"
        return own.locked or ("declared final" if own.is_final else None)

    def _is_unknown(self, position: int) -> bool:
        """fixed=false without a value; with one, an initial algorithm gave it."""
        own = self.flat[position]
        return own.binding is None and bool(own.fixed) and not all(own.fixed)

    def _evaluate(self, position: int) -> None:
        """The value of one parameter, or why it has none."""
        if position in self.cache or position in self.failures:
            return
        is_first = not self.being_evaluated
        self.being_evaluated.append(position)
        try:
            try:
                self._evaluate_once(position)
            except CircularError:
                if not is_first:
                    raise
                self.run.deciding = True  # conditions may choose branches that end the circle
                self._evaluate_once(position)
        except CircularError:
            raise
        except PliantError as error:
            name = self.flat[position].name
            if f"`{name}`" not in error.message:
                span = getattr(error, "span", None)
                rule = getattr(error, "rule", None)
                error = type(error)(f"parameter `{name}`: {error.message}", hint=error.hint)
                if isinstance(error, ModelError):
                    error.span, error.rule = span or self.flat[position].span, rule
            self.failures[position] = error
        finally:
            self.being_evaluated.pop()
            if is_first:
                self.run.deciding = False

    def _evaluate_once(self, position: int) -> None:
        own = self.flat[position]
        if own.type.base is BaseType.OBJECT and own.type.shape and own.binding is not None:
            self.cache[position] = self.run.value(own.binding)
        elif own.type.base is BaseType.OBJECT and self.objects is not None:
            self.cache[position] = self.objects(position)
        elif self.is_text(position):
            source = self._source(position)
            was, self.run.deciding = (
                self.run.deciding,
                True,
            )  # a text is one that is known: parameters that choose it are
            try:
                self.cache[position] = "" if source is None else self.run.value(source)
            finally:
                self.run.deciding = was
        else:
            self._evaluate_number(position)

    def _on_demand(self, position: int) -> None:
        """A parameter that is read before its turn."""
        if position in self.being_evaluated:
            circle = [*self.being_evaluated[self.being_evaluated.index(position) :], position]
            names = " -> ".join(self.flat[p].name for p in circle)
            place = self.flat[position].span
            raise CircularError(
                f"parameters depend on each other: {names}" + (f" ({place})" if place else ""),
                hint="give one of them a value of its own",
                span=place,
                rule="4.4.4",
            )
        self._evaluate(position)

    def _evaluate_number(self, position: int) -> None:
        own, run = self.flat[position], self.run
        first = self.base[position]
        shape = self.shape(position)
        n = prod(shape)
        first_span = self.variables[first].span if n else None
        reason = self._reason(position)
        source = self._source(position)
        if self._is_unknown(position):
            guesses: Sequence[int | None] = (
                [None] * n if source is None else self._fitted(scalars(run.value(source)), n, own.name)
            )
            for number, guess in enumerate(guesses, first):
                self.change(number, tunable=False, initial=True, start=guess)
            reason = source = None
        if source is None:
            if reason is not None:
                raise ModelError(
                    f"parameter `{own.name}` has no value", hint=f"give it one where it is declared: {first_span}"
                )
            self.cache[position] = self._symbols(first, shape)
            return
        found = self._fitted(scalars(run.value(source)), n, f"parameter `{own.name}`")
        if any(run.masks.of(e) & ~PARAM for e in found):
            raise ModelError(
                f"the value of parameter `{own.name}` is not constant", hint="use a variable instead of a parameter"
            )
        # numbers alone that were not folded: the value of a function, or none at all
        whole = f"parameter `{own.name}`"
        found = [e if run.masks.of(e) else const(self.g, run.number(e, whole)) for e in found]
        self._check_integers(own, found)
        must = own.variability is Variability.CONSTANT or position in self.forced
        if must or self.fold_parameters:
            why = f"`{own.name}` is computed from it ({reason})"
            found = [const(self.g, run.number(e, why)) for e in found]
        is_folded = reason is not None and all(value_of(self.g, e) is not None for e in found)
        for number, e in enumerate(found, first):
            self._set_parameter(number, e, is_folded)
            if reason is not None:
                self.change(number, tunable=False)
                if own.variability is Variability.PARAMETER:
                    self.fixed[self.variables[number].name] = reason
        if is_folded:
            self.cache[position] = Arr(shape, found) if shape else found[0]
        else:
            self.cache[position] = self._symbols(first, shape)

    def _check_integers(self, own: FlatVariable, found: list[int]) -> None:
        for value in (value_of(self.g, e) for e in found) if own.type.base is BaseType.INTEGER else ():
            if value is not None and abs(value) > LARGEST_INTEGER:
                raise ModelError(
                    f"{own.span or 'here'}: {value:.0f} is no Integer, it is given to `{own.name}`",
                    hint=f"an Integer lies in -{LARGEST_INTEGER} .. {LARGEST_INTEGER}; declare a Real",
                    span=own.span,
                    rule="2.4.2",
                )

    def _set_parameter(self, number: int, e: int, is_folded: bool) -> None:
        if is_folded:
            self.change(number, kind=Kind.CONSTANT, binding=e)
        elif value_of(self.g, e) is not None:
            self.change(number, start=e)
        else:
            self.change(number, binding=e)

    def numeric(self, e: int, why: str) -> float:
        """Number of an expression in parameters; they are noted as forced."""
        g = self.g
        replaced = {}
        for number in sorted(variables_of(g, e)):
            variable = self.variables[number]
            if variable.initial:
                raise ModelError(
                    f"parameter `{variable.name}` has fixed = false, but {why}: its value must be known before",
                    hint="give it a value where it is declared, without `fixed = false`",
                )
            self.new_forced.setdefault(self.owner[number], why)
            source = variable.start if variable.binding is None else variable.binding
            if source is None:
                raise ModelError(
                    f"parameter `{variable.name}` has no value, but {why} needs it", hint="give it a value"
                )
            known = value_of(g, source)
            replaced[var(g, number)] = const(g, self.numeric(source, why) if known is None else known)
        result = value_of(g, substitute(g, [e], replaced)[0])
        if result is None:
            raise ModelError(
                f"{why} has no finite value", hint="check it for a division by zero, or a function outside its domain"
            )
        return result

    # ------------------------------------------------------------------------------------------- reading

    def _symbols(self, first: int, shape: tuple[int, ...]) -> Value:
        g = self.g
        if not shape:
            return var(g, first)
        return Arr(shape, [var(g, number) for number in range(first, first + prod(shape))])

    def value(self, position: int) -> Value:
        """What an expression gets that reads a parameter, an input or a continuous variable."""
        found = self.cache.get(position)
        if found is None and is_parameter(self.flat[position]):
            self._on_demand(position)
            found = self.cache.get(position)
        if found is None:
            if position in self.failures:
                raise self.failures[position]
            if position not in self.base and self.flat[position].type.base is BaseType.STRING:
                raise NotSupportedError(
                    f"`{self.flat[position].name}` is an input and a String: inputs are numbers",
                    hint="make it an enumeration, or a parameter",
                    span=self.flat[position].span,
                )
            found = self._symbols(self.base[position], self.shape(position))
            self.cache[position] = found
        return found

    def derivative_of(self, position: int) -> Value:
        """der(v); array elements come into being when they are used."""
        found = self.derivatives.get(position)
        if found is None:
            shape, first = self.shape(position), self.base[position]
            if shape:
                found = Arr(shape, Lazy(prod(shape), lambda k: self.derivative_at(first + k)))
            else:
                found = self.derivative_at(first)
            self.derivatives[position] = found
        return found

    def new_state(self, name: str, span: Span | None) -> int:
        """The derivative of a state that the flat model does not have, 0 at the start."""
        self.variables.append(Variable(name, Kind.UNKNOWN, fixed=True, start=const(self.g, 0.0), span=span))
        self.owner.append(-1)
        return self.derivative_at(len(self.variables) - 1)

    def derivative_at(self, number: int) -> int:
        """der(v) of one scalar."""
        known = self.derivative.get(number)
        if known is None:
            variable = self.variables[number]
            known = len(self.variables)
            self.variables.append(
                Variable(
                    f"der({variable.name})",
                    Kind.DERIVATIVE,
                    unit=f"{variable.unit}/s" if variable.unit else "",
                    span=variable.span,
                )
            )
            self.owner.append(self.owner[number])
            self.derivative[number] = known
        return var(self.g, known)
