"""Variables of a flat model: declared first, so that expressions can name them; bindings and attributes later."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.frontend.flat.expressions import FlatArray, FlatRecord, VariableRef, operands
from pliant.frontend.flat.model import FlatObject, FlatVariable
from pliant.frontend.flat.shapes import TypeMismatch, unified
from pliant.frontend.flat.types import BaseType, Causality, Prefix, Type, Variability
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.equations import EquationTranslator
from pliant.frontend.modelica.flatten.tables import known_table
from pliant.frontend.modelica.flatten.types import check_value, field_names
from pliant.frontend.modelica.flatten.units import unit_fault
from pliant.frontend.modelica.instances.components import Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.mods import Bound, value_of
from pliant.frontend.modelica.problems import nearest, problem, unsupported
from pliant.frontend.modelica.scopes.predefined import ATTRIBUTES
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.data import EnumValue, NotKnown
from pliant.ir import Span, StateSelect

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator

_PREFIX = {"flow": Prefix.FLOW, "stream": Prefix.STREAM, "": Prefix.NONE}
EVALUATE = "annotation(Evaluate = true)"
MAX_ELEMENTS = 5_000_000  # of one variable: each of them is an unknown, or a number in the generated code
_CAUSALITY = {"input": Causality.INPUT, "output": Causality.OUTPUT, "": Causality.LOCAL}


class Variables:
    """Enters variables and translates what their declarations say."""

    def __init__(self, translator: Translator, root: Inst) -> None:
        self.out, self.builder, self.values = translator, translator.builder, translator.values
        self.root = root
        self.entered: list[Var] = []
        self.left_out: set[Var] = set()  # members of expandable connectors that are not there
        self.done: set[int] = set()
        self.place = 0
        self.equations = EquationTranslator(translator)

    def enter(self, var: Var) -> None:
        """A new variable with its type."""
        if var.number >= 0:
            return
        of = self.out.types.of_var(var)
        if prod(n or 0 for n in of.shape) > MAX_ELEMENTS:
            text = f"`{var.path}` has more than {MAX_ELEMENTS} elements"
            raise unsupported(text, var.node, path=var.parent.path, hint="give it a smaller size")
        variability = Variability(var.variability)
        if variability is Variability.CONTINUOUS and of.base is not BaseType.REAL:
            variability = Variability.DISCRETE
        var.number = self.builder.variable(FlatVariable(var.path, of, variability))
        self.entered.append(var)

    def is_inside(self, var: Var) -> bool:
        """The variable belongs to the model, not to a package or another class."""
        inst: Inst | None = var.parent
        while inst is not None:
            if inst is self.root:
                return True
            inst = inst.parent
        return False

    def finish(self) -> None:
        """Bindings and attributes of all variables."""
        while self.place < len(self.entered):
            var = self.entered[self.place]
            self.place += 1
            self._check(var)
            self.builder.variables[var.number] = self._declared(var, self.done)

    def lock(self) -> None:
        """Say which parameters are numbers of the model: the structure depends on them, or `Evaluate = true` (18.3)."""
        variables = self.builder.variables
        wanted = []
        for var in self.entered:
            if var.variability != 1:
                continue
            if var.evaluated:
                variables[var.number] = replace(
                    variables[var.number], is_evaluated=True, locked=f"it decides {var.evaluated}"
                )
            elif _is_to_be_evaluated(var):
                wanted.append(var.number)
        known: dict[int, bool] = dict.fromkeys(wanted, False)
        for number in wanted:
            if self._follows_from_numbers(number, known, set()):
                variables[number] = replace(variables[number], is_evaluated=True, locked=EVALUATE)
        hidden = [var.number for var in self.entered if var.variability == 1 and var.is_protected]
        count = -1
        while count != len(hidden):  # what users cannot modify and follows from such parameters
            count = len(hidden)
            hidden = [number for number in hidden if not self._locked(number, known)]

    def _locked(self, number: int, wanted: dict[int, bool]) -> bool:
        """A protected parameter that follows from numbers of the model is one."""
        variables = self.builder.variables
        read = [v for v in self._read(number) if variables[v].is_evaluated]
        if variables[number].is_evaluated or not read or not self._follows_from_numbers(number, wanted, set()):
            return variables[number].is_evaluated
        why = f"it follows from `{variables[read[0]].name}`, and for that: {variables[read[0]].locked}"
        variables[number] = replace(variables[number], is_evaluated=True, locked=why)
        return True

    def _follows_from_numbers(self, number: int, wanted: dict[int, bool], open_: set[int]) -> bool:
        """No parameter that can be changed is behind the value: that would be a number of the model, too."""
        own = self.builder.variables[number]
        if wanted.get(number) or own.variability is Variability.CONSTANT or own.is_evaluated:
            return True
        is_tunable = number not in wanted and not own.is_final and not (own.is_protected and self._read(number))
        if is_tunable or own.variability > Variability.PARAMETER or own.binding is None or number in open_:
            return False
        open_.add(number)
        if not all(self._follows_from_numbers(v, wanted, open_) for v in self._read(number)):
            return False
        open_.discard(number)
        if number in wanted:
            wanted[number] = True
        return True

    def _read(self, number: int) -> list[int]:
        """Variables in the binding of a parameter."""
        binding = self.builder.variables[number].binding
        found, stack, seen = [], [binding if binding is not None else -1], set()
        while stack:
            e = stack.pop()
            if e < 0 or e in seen:
                continue
            seen.add(e)
            node = self.builder.nodes[e]
            if isinstance(node, VariableRef):
                found.append(node.variable)
            stack.extend(operands(node))
        return found

    def _check(self, var: Var) -> None:
        known = ATTRIBUTES[var.base]
        given: dict[str, Any] = {}
        for one in var.mod:
            if one.fields:
                continue
            for name, template in one.template.subs.items():
                if template.final and name in given and given[name] is not template.node:
                    text = f"the attribute `{name}` of `{var.path}` is final and cannot be modified"
                    raise problem(text, given[name], path=var.parent.path, rule="7.2.6", hint="remove the modifier")
                given.setdefault(name, template.node)
                if name not in known and (var.base != "ExternalObject" or name not in var.cls.core.table.elements):
                    text = f"`{name}` is no attribute of `{var.path}`, which is {var.base}"
                    raise problem(text, template.node, path=var.parent.path, rule="4.9", hint=nearest(name, known))

    def _declared(self, var: Var, done: set[int]) -> FlatVariable:
        of = self.builder.variables[var.number].type
        span = var.node.span
        variability = Variability(var.variability)
        if variability is Variability.CONTINUOUS and of.base is not BaseType.REAL:
            variability = Variability.DISCRETE
        if of.base is BaseType.OBJECT:
            variability = Variability.PARAMETER
        causality = _CAUSALITY[var.causality] if self._is_at_top(var) and not var.is_protected else Causality.LOCAL
        if causality is Causality.INPUT and var.binding is not None and variability > Variability.PARAMETER:
            causality = Causality.LOCAL  # its declaration gives its value, not the surroundings
        found: dict[str, Any] = {}
        for name in ("start", "min", "max", "nominal"):
            bound = var.attribute(name)
            if bound is not None:
                found[name] = self._attribute(var, name, bound, of)
        found.update(self._fixed(var, of))
        for name, key in (("unit", "unit"), ("displayUnit", "display_unit"), ("quantity", "quantity")):
            bound = var.attribute(name)
            if bound is not None:
                found[key] = self._text(bound, name, var)
        select = var.attribute("stateSelect")
        if select is not None:
            value = self.values.needed(select.value, select.scope, "stateSelect")  # type: ignore[arg-type]
            if isinstance(value, np.ndarray) and select.index:
                value = value[tuple(k - 1 for k in select.index)]
            if isinstance(value, np.ndarray):
                value = value.flat[0] if value.size else None
            if value is not None and not (isinstance(value, EnumValue) and value.cls.entry.full_name == "StateSelect"):
                raise _no_attribute(select, "stateSelect", var, "a literal of StateSelect")
            if isinstance(value, EnumValue):
                found["state_select"] = StateSelect(value.ordinal - 1)
        binding = var.binding
        if binding is None and variability is Variability.CONSTANT:
            text = f"the constant `{var.path}` has no value"
            raise problem(text, var.node, path=var.parent.path, rule="4.4.4", hint="give it one")
        if binding is not None and var.base != "ExternalObject":
            if variability <= Variability.PARAMETER:
                found["binding"] = self._binding(var, binding, of)
            else:
                self._equation(var, binding, of, done)
        elif binding is not None and of.shape:
            found["binding"] = self._objects(var, binding, of)
        elif binding is not None:
            handle = -1
            for call, context in self._constructors(binding.value, binding.index, Context(binding.scope)):
                handle = self._object(var, var.number, call, context, var.path)
            if handle >= 0:
                found["binding"] = self.builder.literal(handle, span, Type(BaseType.OBJECT))
        return FlatVariable(
            var.path,
            of,
            variability,
            causality,
            _PREFIX[var.connection],
            description=var.node.description,
            is_protected=var.is_protected,
            is_final=var.is_final or self._final(var),
            class_name=var.cls.name,
            span=span,
            **found,
        )

    def _is_at_top(self, var: Var) -> bool:
        """Of the model itself, or of its connectors and records, also within others: the outside sees it."""
        inst = var.parent
        while inst is not self.root and inst.parent is not None and (inst.cls.is_connector or inst.cls.is_record):
            if inst.is_protected:
                return False
            inst = inst.parent
        return inst is self.root

    def _final(self, var: Var) -> bool:
        binding = var.binding
        return binding is not None and binding.template.final

    def _attribute(self, var: Var, name: str, bound: Bound, of: Type) -> int | None:
        e = self.out.of_bound(bound)
        given = self.out.type(e)
        wanted = of if given.shape else of.element
        if given.shape and 0 in given.shape:
            return None
        try:
            unified(wanted, given, f"`{name}` of `{var.path}`")
        except TypeMismatch as mismatch:
            raise problem(str(mismatch), bound.value, path=bound.scope.inst.path, rule="4.9.1") from None
        if of.base is BaseType.INTEGER and given.base is BaseType.REAL:
            text = f"`{var.path}` is an Integer, its `{name}` is a Real"
            raise problem(text, bound.value, path=bound.scope.inst.path, rule="4.9.2")
        return e

    def _fixed(self, var: Var, of: Type) -> dict[str, Any]:
        bound = var.attribute("fixed")
        if bound is None:
            return {}
        self.values.reasons.append(f"whether the start of `{var.path}` is fixed")
        try:
            value = self.values.of_bound(bound)
        except NotKnown as unknown:
            text = f"`fixed = {bound.value.text}` cannot be decided: {unknown.message}"  # type: ignore[union-attr]
            hint = "use constants and parameters with values"
            raise problem(text, bound.value, path=bound.scope.inst.path, rule="4.9.1", hint=hint) from None
        finally:
            self.values.reasons.pop()
        found = list(value.flat) if isinstance(value, np.ndarray) else [value]
        if not all(isinstance(one, (bool, np.bool_)) for one in found):
            raise _no_attribute(bound, "fixed", var, "a Boolean")
        return {"fixed": tuple(bool(one) for one in found)}

    def _text(self, bound: Bound, name: str, var: Var) -> str:
        found = self.values.tried(bound.value, bound.scope, f"`{name}`")  # type: ignore[arg-type]
        if isinstance(found, np.ndarray):
            found = found.flat[0] if found.size else ""
        if found is not None and not isinstance(found, str):
            raise _no_attribute(bound, name, var, "a String")
        text = found or ""
        fault = unit_fault(text) if name == "unit" else ""
        if fault:
            where = bound.scope.inst.path
            text = f'the unit of `{var.path}` cannot be read: "{text}": {fault}'
            hint = 'units are written like "N.m/(rad.s2)": factors with dots, whole exponents, one `/`'
            raise problem(text, bound.value, path=where, rule="19.1", hint=hint)
        return text

    def _binding(self, var: Var, binding: Bound, of: Type) -> int:
        self.out.calls.may_be_impure += 1
        try:
            e = self.out.of_bound(binding)
        finally:
            self.out.calls.may_be_impure -= 1
        check_value(self.out, var.path, of, e, binding)
        found = self.builder.variability(e)
        if found > var.variability and found > Variability.PARAMETER:
            words = ("constant", "parameter")
            text = f"the {words[var.variability]} `{var.path}` is bound to what changes during the simulation"
            raise problem(
                text, binding.value, path=binding.scope.inst.path, rule="3.8", hint="use constants and parameters"
            )
        return e

    def _equation(self, var: Var, binding: Bound, of: Type, done: set[int]) -> None:
        """The binding of an unknown is an equation; that of a record is one equation for all fields."""
        if var.number in done or 0 in of.shape:
            return
        context = Context(binding.scope)
        if binding.fields and self._record_equation(var, binding, done):
            return
        e = self.out.of_bound(binding)
        check_value(self.out, var.path, of, e, binding)
        left = self.builder.ref(var.number, var.node.span)
        if not self.out.type(e).shape and of.shape:
            from pliant.frontend.flat.expressions import FlatBuiltin

            sizes = tuple(self.builder.literal(n or 0) for n in of.shape)
            e = self.builder.add(FlatBuiltin("fill", (e, *sizes)), var.node.span)
        context.path = var.parent.path
        made = self.equations.made(left, e, binding.value, context, "binding")  # type: ignore[arg-type]
        self.builder.equations.append(replace(made, span=self._place(var, binding)))

    def _place(self, var: Var, binding: Bound) -> Span:
        """`x = value` as it stands in the declaration or the modifier."""
        value, node = binding.value, var.node
        assert value is not None
        if node.source is value.source and node.start <= value.start < node.end:
            start = node.source.text.rfind(
                node.name, node.start, node.modification.start + 1 if node.modification else value.start
            )
            if start >= 0:
                return node.source.span(start, value.end)
        return binding.template.node.span  # type: ignore[no-any-return]

    def _record_equation(self, var: Var, binding: Bound, done: set[int]) -> bool:
        """`Record r = f(x)`: one equation, if no field has a value of its own."""
        depth = len([step for step in binding.fields if isinstance(step, str)])
        owner: Any = var.parent
        for _ in range(depth - 1):
            owner = owner.parent
        if owner is None:
            return False
        whole = value_of(owner.mod)
        if whole is None or whole.template is not binding.template:
            return False
        leaves = list(_leaves(owner))
        for leaf in leaves:
            own = leaf.binding
            if own is None or own.template is not binding.template or leaf.variability <= 1 or leaf.number < 0:
                return False
            if leaf.base != "Real":
                return False  # what changes at events only is determined by an equation of its own
        context = Context(binding.scope)
        left = self.out.record(owner, owner.node, context)
        right = self.out.of_bound(Bound(binding.template, binding.scope, binding.index))
        a, b = self.out.type(left), self.out.type(right)
        if a.number != b.number:
            if isinstance(self.builder.nodes[right], FlatRecord):
                right = self.builder.add(self.builder.nodes[right], self.builder.spans[right], a)
            else:
                return False
        context.path = owner.parent.path if owner.parent is not None else ""
        self.builder.equations.append(self.equations.made(left, right, binding.value, context, "binding"))  # type: ignore[arg-type]
        done.update(leaf.number for leaf in leaves)
        return True

    def _objects(self, var: Var, binding: Bound, of: Type) -> int:
        """An array of external objects: each is a variable of its own."""
        calls = self._constructors(binding.value, binding.index, Context(binding.scope))
        count = prod(n or 0 for n in of.shape)
        if binding.template.each and len(calls) == 1:
            calls = calls * count
        if len(calls) != count:
            text = f"`{var.path}` has {count} external objects, its value has {len(calls)} constructors"
            hint = "give each a value: `{C(1), C(2)}`"
            raise problem(text, binding.value, path=binding.scope.inst.path, rule="12.9.7", hint=hint)
        span, single = var.node.span, Type(BaseType.OBJECT)
        parts = []
        for k, (call, context) in zip(np.ndindex(*[n or 0 for n in of.shape]), calls, strict=True):
            name = f"{var.path}[{','.join(str(one + 1) for one in k)}]"
            number = self.builder.variable(FlatVariable(name, single, Variability.PARAMETER, span=span))
            handle = self._object(var, number, call, context, name)
            if handle >= 0:
                own = self.builder.literal(handle, span, single)
                self.builder.variables[number] = replace(self.builder.variables[number], binding=own)
            parts.append(self.builder.ref(number, span))
        for size in reversed(of.shape):
            n = size or 1
            parts = [self.builder.add(FlatArray(tuple(parts[k : k + n])), span) for k in range(0, len(parts), n)]
        return parts[0]

    def _constructors(self, value: Any, index: tuple[int, ...], context: Context) -> list[tuple[tree.Call, Context]]:
        """Calls of constructors, in row-major order; of one element where it is for an element of components."""
        if isinstance(value, tree.ArrayConstructor):
            elements = [value.elements[index[0] - 1]] if index else value.elements
            return [pair for one in elements for pair in self._constructors(one, index[1:], context)]
        if isinstance(value, tree.ArrayComprehension):
            contexts = self.out.ranges.unrolled(value.indices[::-1], context, value.value)
            chosen = [contexts[index[0] - 1]] if index else contexts
            return [pair for one in chosen for pair in self._constructors(value.value, index[1:], one)]
        return [(value, context)] if isinstance(value, tree.Call) else []

    def _object(self, var: Var, number_of: int, call: tree.Call, context: Context, path: str) -> int:
        """An external object with its constructor; the number that stands for it where its data are known, or -1."""
        cls = var.cls.instance.class_member("constructor")
        if cls is None:
            raise problem(f"`{var.cls.name}` has no constructor", call, rule="12.9.7")
        args, named = self.out.calls._arguments(call, context)
        names = self.out.functions.input_names(cls)
        given = {**dict(zip(names, args, strict=False)), **named}
        number, operands = self.out.functions.specialised(cls, given, call, context)
        last = var.cls.instance.class_member("destructor")
        if last is None:
            text = f"`{var.cls.name}` has no destructor"
            raise problem(text, call, rule="12.9.7", hint="declare `function destructor`, with the object as its input")
        inputs = self.out.functions.input_names(last)
        of = self.out.types.of_class(var.cls)
        destroyed = self.out.functions.of_types(last, dict.fromkeys(inputs, of))
        destructor = -1 if destroyed is None else destroyed
        for k, one in ((number, cls), (destructor, last)):
            if k >= 0 and self.builder.functions[k].external is None:
                text, hint = f"`{one.name}` is no external function", 'write `external "C" ...` in it'
                raise problem(text, one.core.entry.definition, rule="12.9.7", hint=hint)
        exprs = {**dict(zip(names, call.arguments, strict=False)), **{one.name: one.value for one in call.named}}
        given_now = dict(zip(names, operands, strict=False))
        table = known_table(self.values, var.cls.name, exprs, given_now, context.scope)
        handle = len(self.builder.objects) + 1 if table is not None else -1
        self.builder.objects.append(
            FlatObject(
                number_of,
                handle,
                number,
                destructor,
                tuple(operands),
                table,
                path,
                var.node.span,
            )
        )
        return handle


def _no_attribute(bound: Bound, name: str, var: Var, wanted: str) -> Exception:
    text = f"`{name}` of `{var.path}` must be {wanted}"
    return problem(text, bound.value, path=bound.scope.inst.path, rule="4.9")


def _leaves(inst: Inst) -> Any:
    for name in field_names(inst):
        thing = inst.child(name)
        if isinstance(thing, Var):
            yield thing
        elif isinstance(thing, Inst):
            yield from _leaves(thing)
        elif hasattr(thing, "elements"):
            for one in thing.elements:
                yield from _leaves(one)


def _is_to_be_evaluated(var: Var) -> bool:
    annotation = var.node.annotation
    if annotation is None or "Evaluate" not in annotation.text:
        return False
    given = annotation.find("Evaluate")
    return given is not None and given.value is not None and given.value.text == "true"
