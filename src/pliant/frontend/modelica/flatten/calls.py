"""Calls as expressions of a flat model: built-in operators, functions, constructors, operators of records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError
from pliant.frontend.flat.builtins import BUILTINS
from pliant.frontend.flat.expressions import (
    NONE,
    FlatArray,
    FlatBuiltin,
    FlatCall,
    FlatComprehension,
    FlatIndex,
    FlatLoop,
    FlatOutput,
    FlatRange,
    FlatRecord,
    IteratorRef,
)
from pliant.frontend.flat.shapes import described
from pliant.frontend.flat.types import INTEGER, REAL, BaseType, Type, Variability
from pliant.frontend.modelica.flatten.context import Context
from pliant.frontend.modelica.flatten.purity import definition_impure, definition_pure
from pliant.frontend.modelica.flatten.special import SPECIAL
from pliant.frontend.modelica.flatten.types import field_names
from pliant.frontend.modelica.instances.classes import ClassUse
from pliant.frontend.modelica.instances.components import Var
from pliant.frontend.modelica.instances.inst import Inst
from pliant.frontend.modelica.instances.mods import bound, value_of
from pliant.frontend.modelica.problems import nearest, problem, unsupported
from pliant.frontend.modelica.scopes.program import Found
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.values.calls import OPERATORS
from pliant.frontend.modelica.values.data import FunctionValue, NotKnown
from pliant.frontend.modelica.values.resources import LOAD_RESOURCE

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator

_MACHINES = frozenset(("transition", "initialState", "activeState", "ticksInState", "timeInState"))
_DOMAINS = frozenset(("sqrt", "asin", "acos", "log", "log10"))
NAMED = {
    "homotopy": ("actual", "simplified"),
    "spatialDistribution": ("in0", "in1", "x", "positiveVelocity", "initialPoints", "initialValues"),
    "String": ("", "minimumLength", "leftJustified", "significantDigits", "format"),
    "delay": ("expr", "delayTime", "delayMax"),
    "smooth": ("p", "expr"),
    "subSample": ("u", "factor"),
    "superSample": ("u", "factor"),
    "shiftSample": ("u", "shiftCounter", "resolution"),
    "backSample": ("u", "backCounter", "resolution"),
    "Clock": ("c", "condition", "intervalCounter", "interval", "startInterval", "resolution", "solverMethod"),
}
#: of a record they are what they are of its fields
BY_FIELDS = frozenset(
    {
        "der",
        "pre",
        "noEvent",
        "smooth",
        "homotopy",
        "previous",
        "hold",
        "sample",
        "inStream",
        "subSample",
        "superSample",
        "shiftSample",
        "backSample",
        "noClock",
    }
)


class CallTranslator:
    """Translates calls."""

    def __init__(self, translator: Translator) -> None:
        self.out = translator
        self.builder = translator.builder
        self.is_initial = False  # in an initial equation or algorithm
        self.may_be_impure = 0  # > 0: in the value of a parameter, or in `pure(...)`
        self.in_pure = 0  # > 0: in `pure(...)`
        self.impure: set[int] = set()  # functions without a prefix whose results are those of impure ones

    def known_condition(self, expr: tree.Expression, context: Context) -> bool | None:
        """A condition whose value is known from constants alone, or is structural already; None for others."""
        values = self.out.values
        values.only_constants += 1
        try:
            found = values.value(expr, context.scope, context.known)
        except (NotKnown, ModelError):  # what is wrong is said where the condition is translated
            return None
        finally:
            values.only_constants -= 1
        return found if isinstance(found, bool) else None

    # ------------------------------------------------------------------------------------------------------ calls

    def call(self, node: tree.Call, context: Context, *, is_whole: bool = False) -> int:
        """A call; of several outputs the first, unless the whole is wanted."""
        ref = node.function
        function = context.function
        if function is not None and ref.names[0] in function.functional and len(ref.names) == 1:
            return self._functional(function.functional[ref.names[0]], node, context, is_whole)
        cls = None
        world = self.out.world
        first = world.top(ref.names[0]) if ref.rooted else world.find(ref.names[0], context.scope)
        if isinstance(first, Found) and len(ref.names) == 1 and ref.names[0] in BUILTINS:
            first = None  # a component of this name hides no function
        if len(ref.names) > 1 or first is not None:
            cls = self._class(ref, context)
        if cls is None or cls.core.builtin or _is_predefined(cls):
            return self.builtin(ref.dotted.lstrip("."), node, context)
        if cls.is_record or (cls.primitive is None and not cls.kind.endswith("function")):
            return self.construct(cls, node, context)
        if cls.core.is_enumeration:
            return (
                self.builtin("Integer", node, context)
                if not node.arguments
                else self._to_enumeration(cls, node, context)
            )
        if cls.primitive is not None and cls.primitive.builtin == "ExternalObject":
            text = f"`{cls.name}(...)` makes an external object, which only components of models do"
            hint = "declare it as a component of the model, and give it to the function as an argument"
            raise unsupported(text, node, path=context.path, hint=hint)
        if cls.name in LOAD_RESOURCE:
            value = self.out.values.tried(node, context.scope, "the name of a file", context.known)
            if isinstance(value, str):
                return self.out.literal(value, node)
        args, named = self._arguments(node, context)
        return self.invoke(cls, args, named, node, context, is_whole=is_whole)

    def _class(self, ref: tree.Reference, context: Context) -> ClassUse:
        return self.out.world.lookup_class(ref, context.scope)

    def _to_enumeration(self, cls: ClassUse, node: tree.Call, context: Context) -> int:
        """E(i): a literal where i is known (4.9.5.3)."""
        if len(node.arguments) != 1 or node.named:
            raise problem(f"`{cls.name}(...)` has one argument, an Integer", node, path=context.path, rule="4.9.5.3")
        if context.function is None:
            value = self.out.values.tried(node, context.scope, "the value of an enumeration", context.known)
            if value is not None:
                return self.out.literal(value, node)
        first = self.builder.literal(1, self.out.span(node), self.out.types.primitive(cls.core))
        return self.out.add(
            FlatBuiltin("enumeration", (first, self.out.expr(node.arguments[0], context))), node, context
        )

    def _arguments(self, node: tree.Call, context: Context) -> tuple[list[Any], dict[str, Any]]:
        args = [self._argument(one, context) for one in node.arguments]
        return args, {one.name: self._argument(one.value, context) for one in node.named}

    def _argument(self, expr: tree.Expression, context: Context) -> Any:
        """An expression, or a function as an argument."""
        if isinstance(expr, tree.PartialApplication):
            cls = self._class(expr.function, context)
            return FunctionValue(cls, {one.name: self.out.expr(one.value, context) for one in expr.named})
        if isinstance(expr, tree.Reference) and not expr.subscripts:
            first = expr.names[0]
            function = context.function
            if function is not None and first in function.functional:
                return function.functional[first]
            if first not in context.loops and (function is None or first not in function.locals) and first != "time":
                found = self.out.values.resolver.try_class(expr, context.scope)
                if found is not None and found.kind.endswith("function"):
                    return FunctionValue(found, {})
        return self.out.expr(expr, context)

    def _functional(self, given: FunctionValue, node: tree.Call, context: Context, is_whole: bool) -> int:
        args, named = self._arguments(node, context)
        free = [one for one in self.out.functions.input_names(given.cls) if one not in given.given]
        named.update(zip(free, args, strict=False))
        return self.invoke(given.cls, [], {**given.given, **named}, node, context, is_whole=is_whole)

    def invoke(
        self,
        cls: ClassUse,
        args: list[Any],
        named: dict[str, Any],
        node: tree.Node,
        context: Context,
        *,
        is_whole: bool = False,
    ) -> int:
        """A call of a function of the model; scalar functions apply to each element of arrays (12.4.6)."""
        if definition_impure(cls):
            self._check_impure(cls, node, context)
        functions = self.out.functions
        names = functions.input_names(cls)
        if len(args) > len(names):
            text = f"`{cls.name}` has {_many(len(names), 'input')}, {_many(len(args), 'argument')} given"
            raise problem(text, node, path=context.path, rule="12.4.1")
        given: dict[str, Any] = dict(zip(names, args, strict=False))
        for name, value in named.items():
            if name not in names:
                text = f"`{cls.name}` has no input `{name}`"
                raise problem(text, node, path=context.path, rule="12.4.1", hint=nearest(name, names))
            if name in given:
                raise problem(f"the input `{name}` of `{cls.name}` is given twice", node, rule="12.4.1")
            given[name] = value
        shape = functions.vector_shape(cls, given, node, context)
        if shape:
            return self._vectorised(cls, given, shape, node, context)
        number, operands = functions.specialised(cls, given, node, context)
        self._follow_impure(cls, number, operands, node, context)
        e = self.out.add(FlatCall(number, tuple(operands), self.in_pure > 0), node, context)
        if not is_whole and "output" not in map(cls.core.causality_of, cls.core.table.elements):
            text = f"the function `{cls.name}` has no output, and a value is needed here"
            raise problem(text, node, path=context.path, rule="12.4.3", hint="declare an output in it")
        if not is_whole and self.builder.functions[number].n_outputs > 1:
            e = self.out.add(FlatOutput(e, 0), node, context)
        return e

    def _vectorised(self, cls: ClassUse, given: dict[str, Any], shape: Any, node: tree.Node, context: Context) -> int:
        declared = self.out.functions.ranks(cls)
        size = shape[0]
        if size is None:
            return self._mapped(cls, given, declared, node, context)
        if size == 0:
            return self.builder.add(FlatArray(()), self.out.span(node), REAL.sized(tuple(shape)))
        parts = []
        for k in range(1, size + 1):
            inner = {}
            for name, e in given.items():
                is_wide = isinstance(e, int) and len(self.out.type(e).shape) > declared[name]
                inner[name] = self.out.element(e, (k,), node, context) if is_wide else e
            parts.append(self.invoke(cls, [], inner, node, context))
        return self.out.add(FlatArray(tuple(parts)), node, context)

    def _mapped(
        self, cls: ClassUse, given: dict[str, Any], ranks: dict[str, int], node: tree.Node, context: Context
    ) -> int:
        """{f(x[i]) for i in 1:size(x, 1)}"""
        out, span = self.out, self.out.span(node)
        wide = {n: e for n, e in given.items() if isinstance(e, int) and len(out.type(e).shape) > ranks[n]}
        one = self.builder.literal(1, span)
        last = out.add(FlatBuiltin("size", (next(iter(wide.values())), one)), node, context)
        loop = FlatLoop(self.builder.iterator("i", INTEGER), out.add(FlatRange(one, NONE, last), node, context))
        inner = dict(given)
        for name, e in wide.items():
            place = self.builder.add(IteratorRef(loop.iterator), span)
            inner[name] = out.add(FlatIndex(e, (place,)), node, context)
        body = self.invoke(cls, [], inner, node, context)
        return out.add(FlatComprehension(body, (loop,)), node, context)

    # ------------------------------------------------------------------------------------------------ constructors

    def construct(self, cls: ClassUse, node: tree.Call, context: Context) -> int:
        """A record from its constructor."""
        if not cls.is_record:
            text = f"`{node.function.dotted}` is a {cls.kind}, not a function"
            raise problem(text, node, path=context.path, rule="12.4")
        args, named = self._arguments(node, context)
        return self.constructed(cls, args, named, node, context)

    def constructed(
        self, cls: ClassUse, args: list[Any], named: dict[str, Any], node: tree.Node, context: Context
    ) -> int:
        """A record from expressions."""
        inst = cls.instance
        if inst.class_member("'constructor'") is not None:
            return self.overloaded("'constructor'", args, node, context, cls, named)
        elements = inst.table.elements
        names = [name for name in field_names(inst) if not _is_given(elements[name].node)]
        if len(args) > len(names):
            text = f"`{cls.name}` has {_many(len(names), 'field')}, {_many(len(args), 'argument')} given"
            raise problem(text, node, path=context.path, rule="12.6")
        given = dict(zip(names, args, strict=False))
        for name, e in named.items():
            if name not in names:
                text = f"`{cls.name}` has no field `{name}`"
                raise problem(text, node, path=context.path, rule="12.6", hint=nearest(name, names))
            given[name] = e
        fields: dict[str, int] = {}
        for name in field_names(inst):
            fields[name] = (
                given[name] if name in given else self._default(inst, name, {**given, **fields}, node, context)
            )
        from pliant.frontend.flat.types import RecordField, RecordType

        made = tuple(RecordField(name, self._field_type(inst, name, e)) for name, e in fields.items())
        of = self.out.types._record(RecordType(cls.name, made))
        return self.builder.add(FlatRecord(tuple(fields.values())), self.out.span(node), of)

    def _field_type(self, inst: Inst, name: str, e: int) -> Type:
        """The declared element with the sizes that are given."""
        of = self.out.type(e)
        element = inst.table.elements[name]
        cls = self.out.world.component_class(element.node.type, inst.scope(element.layer.number))  # type: ignore[union-attr]
        if cls.primitive is not None:
            return self.out.types.primitive(cls.primitive).sized(of.shape)
        return of

    def _default(self, inst: Inst, name: str, given: dict[str, int], node: tree.Node, context: Context) -> int:
        element = inst.table.elements[name]
        declared = element.node
        mod = inst.mod_of(element) + bound(declared.modification, inst.scope(element.layer.number))  # type: ignore[union-attr]
        binding = value_of(mod)
        if binding is None:
            thing = inst.child(name)
            if isinstance(thing, Inst) and thing.cls.is_record:
                return self.constructed(
                    ClassUse(thing.core, thing.mod, (), "", thing.cls.kind, thing.cls.name), [], {}, node, context
                )
            if isinstance(thing, Var):
                start = thing.attribute("start")
                if start is not None:
                    return self.out.of_bound(start)
            raise problem(f"no value is given for the field `{name}` of `{inst.cls.name}`", node, rule="12.6")
        if binding.scope.inst is inst and not binding.fields and not binding.index:
            where = Context(binding.scope, None, None, context.function, given)
            return self.out.expr(binding.value, where)  # type: ignore[arg-type]
        return self.out.of_bound(binding)

    # --------------------------------------------------------------------------------------------------- operators

    def overloaded(
        self,
        operator: str,
        args: list[int],
        node: tree.Node,
        context: Context,
        cls: ClassUse | None = None,
        named: dict[str, int] | None = None,
    ) -> int:
        """An operator of an operator record (chapter 14)."""
        name = OPERATORS.get(operator.lstrip("."), operator)
        owners = [cls] if cls is not None else [one for e in args if (one := self._record_class(e)) is not None]
        for owner in owners:
            for one in self._candidates(owner, name):
                if self._accepts(one, args, named or {}):
                    return self.invoke(one, args, named or {}, node, context)
        if cls is None and owners:
            owner = owners[0]
            shaped = [e for e in args if self.out.type(e).shape]
            if shaped:
                return self._elementwise(operator, args, node, context)
            if any(self.out.type(e).base is not BaseType.RECORD for e in args):
                both = [
                    e
                    if self.out.type(e).base is BaseType.RECORD
                    else self.overloaded("'constructor'", [e], node, context, owner)
                    for e in args
                ]
                return self.overloaded(operator, both, node, context)
        raise problem(f"`{operator}` is not defined for these records", node, path=context.path, rule="14.4")

    def _elementwise(self, operator: str, args: list[int], node: tree.Node, context: Context) -> int:
        shapes = [self.out.type(e).shape for e in args]
        if operator == "*" and all(shapes) and len(args) == 2:
            return self._scalar_product(args, node, context)
        size = next(shape[0] for shape in shapes if shape)
        if size is None:
            raise unsupported("operators on arrays of records of unknown size", node, path=context.path)
        parts = []
        for k in range(1, size + 1):
            inner = [
                self.out.element(e, (k,), node, context) if shape else e for e, shape in zip(args, shapes, strict=True)
            ]
            parts.append(self.overloaded(operator, inner, node, context))
        if not parts:
            of = self.out.type(args[0])
            return self.builder.add(FlatArray(()), self.out.span(node), of)
        return self.out.add(FlatArray(tuple(parts)), node, context)

    def _scalar_product(self, args: list[int], node: tree.Node, context: Context) -> int:
        a, b = (self.out.type(e).shape for e in args)
        if len(a) != 1 or len(b) != 1 or a[0] is None:
            raise unsupported("products of matrices of records", node, path=context.path)
        total: int | None = None
        for k in range(1, a[0] + 1):
            inner = [self.out.element(e, (k,), node, context) for e in args]
            term = self.overloaded("*", inner, node, context)
            total = term if total is None else self.overloaded("+", [total, term], node, context)
        assert total is not None
        return total

    def _record_class(self, e: int) -> ClassUse | None:
        """The class of a record expression, by the name of its type."""
        of = self.out.type(e)
        if of.base is not BaseType.RECORD:
            return None
        return self.out.functions.class_named(self.builder.records[of.number].name)

    def _candidates(self, owner: ClassUse, name: str) -> list[ClassUse]:
        member = owner.instance.class_member(name)
        if member is None:
            return []
        if member.kind != "operator":
            return [member]
        inner = member.instance
        found = [inner.class_member(key) for key, one in inner.table.elements.items() if one.is_class]
        return [one for one in found if one is not None]

    def _accepts(self, cls: ClassUse, args: list[int], named: dict[str, int]) -> bool:
        functions = self.out.functions
        names = functions.input_names(cls)
        if len(args) > len(names) or any(name not in names for name in named):
            return False
        elements = cls.core.table.elements
        given = {*names[: len(args)], *named}
        for name, e in [*zip(names, args, strict=False), *named.items()]:
            if not isinstance(e, int):
                return False
            of = self.out.type(e)
            wanted = functions.input_type(cls, name)
            if len(of.shape) != len(wanted.shape):
                return False
            if of.base is not wanted.base and not (of.is_numeric and wanted.base is BaseType.REAL):
                return False
        return all(
            name in given or (elements[name].node.modification is not None and elements[name].node.modification.value)  # type: ignore[union-attr]
            for name in names
        )

    # ---------------------------------------------------------------------------------------------------- built-in

    def builtin(self, name: str, node: tree.Call, context: Context) -> int:
        """A built-in function or operator."""
        special = SPECIAL.get(name)
        if special is not None:
            return int(special(self, name, node, context))
        if name in _MACHINES:
            raise unsupported(f"state machines (chapter 17) are not supported: `{name}`", node, path=context.path)
        if name not in BUILTINS:
            known = [*BUILTINS, *context.scope.layer.names]
            text = f"there is no function `{name}`"
            raise problem(text, node, path=context.path, rule="5.3.1", hint=nearest(name, known))
        if name in _DOMAINS and context.function is None:
            self._check_domain(node, context)
        operands = [self.out.expr(one, context) for one in node.arguments]
        if (
            name == "abs"
            and not self.out.type(operands[0]).is_numeric
            and self.out.type(operands[0]).base is not BaseType.RECORD
        ):
            raise problem("`abs` needs a number", node, path=context.path, rule="3.7.1")
        operands += self._named(name, node, context, len(operands))
        if name in ("pre", "edge", "change") and operands:
            self._check_past(name, operands[0], node, context)
        if operands and self.out.type(operands[0]).base is BaseType.RECORD:
            return self.on_record(name, operands, node, context)
        return self.out.add(FlatBuiltin(name, tuple(operands)), node, context)

    def _check_impure(self, cls: ClassUse, node: tree.Node, context: Context) -> None:
        """What an impure function gives depends on when it is called: at events, at the start, and once (12.3)."""
        function = context.function
        # functions without a prefix that call impure ones are common in libraries
        around = function is not None and not definition_pure(function.inst.cls)
        if around or self.out.in_when or self.is_initial or self.may_be_impure:
            return
        where = f"in the function `{function.inst.cls.name}`, which is pure" if function is not None else "here"
        is_ = "is impure" if definition_impure(cls) else "calls an impure function"
        text = f"`{cls.name}` {is_} and cannot be called {where}: when it is called would be left to the solver"
        hint = "call it in a when-clause, in an initial equation or for a parameter, or write `pure(...)` around it"
        raise problem(text, node, path=context.path, rule="12.3", hint=hint)

    def _follow_impure(
        self, cls: ClassUse, number: int, operands: list[int], node: tree.Node, context: Context
    ) -> None:
        """A function without a prefix that takes what an impure one gives is as impure as that; one that only acts,
        such as `print`, changes no result. With arguments that do not change it is called for what it reads."""
        is_followed = number in self.impure
        if self.in_pure or not (is_followed or definition_impure(cls)):
            return
        if context.function is not None:
            if any(cls.core.causality_of(one) == "output" for one in cls.core.table.elements):
                self.impure.add(context.function.number)
        elif not operands or any(self.builder.variability(e) > Variability.PARAMETER for e in operands):
            self._check_impure(cls, node, context)

    def _check_past(self, name: str, e: int, node: tree.Call, context: Context) -> None:
        """`pre` is for what changes at events only; inside of a when-clause that is everything (3.7.5)."""
        of = self.out.type(e)
        if self.out.in_clock and name in ("pre", "edge", "change"):
            text = f"`{node.text}`: in a when-clause of a clock there is no `{name}`, values change at its ticks only"
            raise problem(
                text, node, path=context.path, rule="16", hint="use `previous(...)`, the value at the last tick"
            )
        if name == "edge" and of.base is not BaseType.BOOLEAN:
            text = f"`edge` is for Boolean variables, `{node.arguments[0].text}` is {described(of)}"
            raise problem(text, node, path=context.path, rule="3.7.5", hint="use `change`, or compare with a number")
        if self.out.in_when or of.base is not BaseType.REAL:
            return
        if self.builder.variability(e) is Variability.CONTINUOUS and not self.is_initial:
            text = f"`{node.text}`: `{node.arguments[0].text}` changes continuously, outside of a when-clause it has no"
            hint = f"use it inside of a when-clause, or declare `discrete Real {node.arguments[0].text}`"
            raise problem(f"{text} value before", node, path=context.path, rule="3.7.5", hint=hint)

    def _check_domain(self, node: tree.Call, context: Context) -> None:
        """A call with constants outside of the domain of a function is an error of the model."""
        values = self.out.values
        values.only_constants += 1
        try:
            values.value(node, context.scope, context.known)
        except NotKnown:
            pass
        finally:
            values.only_constants -= 1

    def _named(self, name: str, node: tree.Call, context: Context, first: int) -> list[int]:
        order = NAMED.get(name)
        if not node.named:
            return []
        if order is None:
            raise problem(f"`{name}` has no named arguments", node, path=context.path, rule="12.4.1")
        given = {one.name: one.value for one in node.named}
        found = []
        for key in order[0 if name == "Clock" else first :]:  # constructors of clocks differ in their arguments
            if key in given:
                found.append(self.out.expr(given.pop(key), context))
            elif name == "String" and given:
                default: Any = {"minimumLength": 0, "leftJustified": True, "significantDigits": 6}.get(key, 0)
                found.append(self.builder.literal(default, self.out.span(node)))
        if given:
            text = f"`{name}` has no argument `{next(iter(given))}`"
            raise problem(text, node, path=context.path, rule="12.4.1", hint=nearest(next(iter(given)), order))
        return found

    def on_record(self, name: str, operands: list[int], node: tree.Call, context: Context) -> int:
        """der, pre, noEvent, sum, ... of records: of their fields."""
        builder = self.builder
        e = operands[-1] if name == "smooth" else operands[0]
        of = self.out.type(e)
        if name == "sum" and of.shape:
            if of.shape[0] is None:
                raise unsupported("a sum of records of unknown number", node, path=context.path)
            total = self.out.element(e, (1,), node, context)
            for k in range(2, of.shape[0] + 1):
                total = self.overloaded("+", [total, self.out.element(e, (k,), node, context)], node, context)
            return total
        if name == "String":
            return self.overloaded("'String'", operands, node, context, self._record_class(e))
        if of.shape and of.shape[0] and name in BY_FIELDS:  # element by element
            elements = []
            for k in range(1, of.shape[0] + 1):
                each = [self.out.element(e, (k,), node, context) if self.out.type(e) == of else e for e in operands]
                elements.append(self.on_record(name, each, node, context))
            return self.out.add(FlatArray(tuple(elements)), node, context)
        if of.shape or name not in BY_FIELDS:
            if of.shape and name in ("transpose", "fill", "vector", "scalar", "size", "cat", "noEvent"):
                return self.out.add(FlatBuiltin(name, tuple(operands)), node, context)
            raise problem(f"`{name}` cannot be applied to a record", node, path=context.path, rule="3.7")
        fields = []
        for one in builder.records[of.number].fields:
            parts = tuple(self.out.field(k, one.name, node, context) if self.out.type(k) == of else k for k in operands)
            if self.out.type(parts[-1]).base is BaseType.RECORD:
                fields.append(self.on_record(name, list(parts), node, context))
            else:
                fields.append(self.out.add(FlatBuiltin(name, parts), node, context))
        return builder.add(FlatRecord(tuple(fields)), self.out.span(node), of)


def _is_given(node: Any) -> bool:
    """A field that the constructor of a record has no input for: final, or a constant with a value (12.6)."""
    has_value = node.modification is not None and node.modification.value is not None
    return bool(node.prefixes & tree.FINAL) or (node.variability == "constant" and has_value)


def _many(n: int, what: str) -> str:
    return f"{n} {what}{'s' * (n != 1)}"


def _is_predefined(cls: ClassUse) -> bool:
    return cls.core.entry.file == "predefined" and not cls.core.is_enumeration
