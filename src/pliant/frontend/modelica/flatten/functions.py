"""Functions of a flat model: one for each set of sizes, functional arguments and package in which it is called.

A function is declared first and gets its body later, so that it may call itself. Sizes of inputs are those of the
call; where the size of a variable follows from the value of an input, this value is a part of what is specialised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.errors import ModelError
from pliant.frontend.flat.expressions import NONE, FlatArray, FlatBuiltin, FlatIndex, FlatRecord, LocalRef
from pliant.frontend.flat.model import FlatExternal, FlatFunction, FlatItem, FlatLocal
from pliant.frontend.flat.types import INTEGER, BaseType, Shape, Type, Variability
from pliant.frontend.modelica.flatten.context import Context, FunctionContext, Shaped
from pliant.frontend.modelica.flatten.partials import partial_of, target_of
from pliant.frontend.modelica.flatten.purity import definition_impure
from pliant.frontend.modelica.flatten.rules import FunctionRules
from pliant.frontend.modelica.flatten.types import check_value
from pliant.frontend.modelica.instances.classes import ClassMember, ClassUse
from pliant.frontend.modelica.instances.components import Var
from pliant.frontend.modelica.instances.mods import Bound, Mod, bound, member, value_of
from pliant.frontend.modelica.problems import problem
from pliant.frontend.modelica.scopes.program import name_parts
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import walk
from pliant.frontend.modelica.values.data import FunctionValue, NotKnown
from pliant.frontend.modelica.values.resources import annotated

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.translate import Translator

Place = tuple[int, ...]  # of an element, from 0


class Functions:
    """All functions of one model."""

    def __init__(self, translator: Translator) -> None:
        self.out = translator
        self.builder = translator.builder
        self.known: dict[Any, int] = {}
        self.kept: list[Any] = []  # objects whose identity is a part of a key
        self.classes: dict[str, ClassUse] = {}
        self.signatures: dict[Any, dict[str, Type]] = {}
        self.depth = 0

    # -------------------------------------------------------------------------------------------- what is declared

    def class_named(self, name: str) -> ClassUse | None:
        """An operator record by its full name."""
        found = self.classes.get(name)
        if found is None:
            parts = name_parts(name)
            cls = self.out.world.top(parts[0])
            for part in parts[1:]:
                cls = cls.instance.class_member(part) if cls is not None else None
            if cls is not None:
                self.classes[name] = found = cls
        return found

    def input_names(self, cls: ClassUse) -> list[str]:
        """Inputs in order."""
        return self.out.values.calls.inputs(cls)

    def _signature(self, cls: ClassUse) -> dict[str, Type]:
        found = self.signatures.get(cls.core)
        if found is None:
            found = {}
            for name in self.input_names(cls):
                element = cls.core.table.elements[name]
                of = self._element_class(cls, element)
                rank = len(element.node.dimensions) + len(of.dims)  # type: ignore[union-attr]
                if of.kind.endswith("function"):
                    found[name] = Type(BaseType.TUPLE)
                    continue
                self._check_data(of, element)
                base = self.out.types.of_class(of)
                found[name] = base.sized((*(None,) * rank, *base.shape))
            self.signatures[cls.core] = found
        return found

    def _element_class(self, cls: ClassUse, element: ClassMember) -> ClassUse:
        scope = cls.instance.scope(element.layer.number)
        return self.out.world.lookup_class(element.node.type, scope)  # type: ignore[union-attr]

    def _check_data(self, of: ClassUse, element: ClassMember) -> None:
        if of.kind in ("model", "block", "package", "connector", "expandable connector") and of.primitive is None:
            text = f"`{element.name}` of a function cannot be a {of.kind}"
            raise problem(text, element.node, rule="12.2", hint="use types and records")

    def input_type(self, cls: ClassUse, name: str) -> Type:
        """The declared type of an input, sizes unknown."""
        return self._signature(cls)[name]

    def ranks(self, cls: ClassUse) -> dict[str, int]:
        """Numbers of dimensions of inputs."""
        return {name: len(of.shape) for name, of in self._signature(cls).items()}

    def vector_shape(self, cls: ClassUse, given: dict[str, Any], node: tree.Node, context: Context) -> Shape:
        """The extra dimensions of arguments, where a function applies to each element."""
        found: Shape = ()
        for name, rank in self.ranks(cls).items():
            e = given.get(name)
            if not isinstance(e, int):
                continue
            shape = self.out.type(e).shape
            if len(shape) < rank:
                text = f"the input `{name}` of `{cls.name}` has {rank} dimensions, the argument has {len(shape)}"
                raise problem(text, node, path=context.path, rule="12.4.1")
            extra = shape[: len(shape) - rank]
            if extra:
                if found and extra != found:
                    text = f"the arguments of `{cls.name}` differ in size"
                    raise problem(text, node, path=context.path, rule="12.4.6")
                found = extra
        return found

    # ---------------------------------------------------------------------------------------------- specialisation

    def specialised(
        self, cls: ClassUse, given: dict[str, Any], node: tree.Node, context: Context
    ) -> tuple[int, list[int]]:
        """The function for these arguments, and all arguments in order."""
        inst = cls.instance
        elements = inst.table.elements
        operands: dict[str, int] = {}
        functional: dict[str, FunctionValue] = {}
        for name in self.input_names(cls):
            value = given.get(name)
            if value is None:
                value = self._default(cls, elements[name], {**given, **operands}, node, context)
            if isinstance(value, FunctionValue):
                functional[name] = value
                continue
            operands[name] = value
            declared = elements[name].node.variability  # type: ignore[union-attr]
            most = {"constant": Variability.CONSTANT, "parameter": Variability.PARAMETER}.get(declared)
            if most is not None and context.function is None and self.builder.variability(value) > most:
                text = f"the input `{name}` of `{cls.name}` is a {declared}, the argument changes"
                raise problem(text, node, path=context.path, rule="12.4.1", hint=f"give it a {declared}")
        self._check_sizes(cls, operands, node, context)
        sizing = self._sizing(cls)
        known = {}
        for name in sizing:
            if name in operands:
                value = self._known_value(operands[name])
                if value is None:
                    value = self._argument_value(name, cls, node, context)
                if value is not None:
                    known[name] = value
                    if isinstance(value, int) and self.out.type(operands[name]).base is BaseType.INTEGER:
                        operands[name] = self.builder.literal(int(value), node.span, INTEGER)  # sizes follow it
        shapes = tuple((name, self.out.type(e).shape, self.out.type(e).number) for name, e in operands.items())
        captured = [
            (name, key, e) for name, one in functional.items() for key, e in one.given.items() if isinstance(e, int)
        ]
        key = (
            cls.core,
            tuple(map(id, cls.mod)),
            shapes,
            tuple((name, one.cls.core, tuple(one.given)) for name, one in functional.items()),
            tuple((name, k, self.out.type(e)) for name, k, e in captured),
            tuple(sorted((name, repr(value)) for name, value in known.items())),
        )
        number = self.known.get(key)
        if number is None:
            self.kept.append(cls)
            types = {name: self.out.type(e) for name, e in operands.items()}
            number = self.make(cls, key, types, functional, known, node)
        return number, [*operands.values(), *(e for _, _, e in captured)]

    def _check_sizes(self, cls: ClassUse, operands: dict[str, int], node: tree.Node, context: Context) -> None:
        """Arguments have the sizes that inputs are declared with, where these are numbers (12.4.1)."""
        values = self.out.values
        env = {name: Shaped(self.builder, self.out.type(e), self._known_value(e)) for name, e in operands.items()}
        for name, e in operands.items():
            element = cls.core.table.elements[name]
            shape = self.out.type(e).shape
            for axis, expr in enumerate(element.node.dimensions):  # type: ignore[union-attr]
                if isinstance(expr, tree.Colon) or axis >= len(shape) or shape[axis] is None:
                    continue
                size = values.tried(expr, cls.instance.scope(element.layer.number), "a size", env)
                if isinstance(size, int) and not isinstance(size, bool) and size != shape[axis]:
                    text = f"the input `{name}` of `{cls.name}` has the size {size} in dimension {axis + 1}, "
                    text += f"the argument {shape[axis]}"
                    raise problem(text, node, path=context.path, rule="12.4.1", hint="give an array of this size")

    def _known_value(self, e: int) -> Any:
        from pliant.frontend.flat.expressions import FlatLiteral

        node = self.builder.nodes[e]
        return node.value if isinstance(node, FlatLiteral) and not isinstance(node.value, float) else None

    def _argument_value(self, name: str, cls: ClassUse, node: tree.Node, context: Context) -> Any:
        if not isinstance(node, tree.Call):
            return None
        names = self.input_names(cls)
        expr = next((one.value for one in node.named if one.name == name), None)
        place = names.index(name)
        if expr is None and place < len(node.arguments):
            expr = node.arguments[place]
        if expr is None:
            return None
        if context.function is not None:  # what the function is specialised for
            local = expr.names[0] if isinstance(expr, tree.Reference) and len(expr.names) == 1 else ""
            shaped = context.function.known.get(local)
            return shaped.value if isinstance(shaped, Shaped) and isinstance(shaped.value, int) else None
        return self.out.values.tried(expr, context.scope, f"a size in `{cls.name}`", context.known)

    def _sizing(self, cls: ClassUse) -> set[str]:
        """Inputs whose values decide sizes of variables."""
        inputs = set(self.input_names(cls))
        found: set[str] = set()
        for element in cls.core.table.elements.values():
            if element.is_class or cls.core.causality_of(element.name) == "input":
                continue
            for expr in element.node.dimensions:  # type: ignore[union-attr]
                sized: set[int] = set()
                for one in walk(expr):
                    if isinstance(one, tree.Call) and one.function.names == ("size",):
                        sized |= {id(x) for x in walk(one)}
                    if isinstance(one, tree.Reference) and one.names[0] in inputs and id(one) not in sized:
                        found.add(one.names[0])
        return found

    def _default(
        self, cls: ClassUse, element: ClassMember, given: dict[str, Any], node: tree.Node, context: Context
    ) -> Any:
        inst = cls.instance
        mod = inst.mod_of(element) + bound(element.node.modification, inst.scope(element.layer.number))  # type: ignore[union-attr]
        binding = value_of(mod)
        if binding is None:
            text = f"no value is given for the input `{element.name}` of `{cls.name}`"
            raise problem(text, node, path=context.path, rule="12.4.1", hint="give it as an argument")
        names = {name: e for name, e in given.items() if isinstance(e, int)}
        where = Context(binding.scope, None, None, context.function, names)
        if context.function is not None and binding.scope.inst is not context.function.inst:
            where = Context(binding.scope, None, None, None, names)
        return self.out.calls._argument(binding.value, where)  # type: ignore[arg-type]

    def make(
        self,
        cls: ClassUse,
        key: Any,
        types: dict[str, Type],
        functional: dict[str, FunctionValue],
        known: dict[str, Any],
        node: tree.Node,
    ) -> int:
        """A new function."""
        if self.depth > 60:
            text = f"`{cls.name}` calls functions within functions without end"
            raise problem(text, node, rule="12.4")
        definition = cls.core.entry.definition
        if isinstance(definition, tree.DerivativeClass):
            target = target_of(self, cls, definition)
            self.depth += 1
            try:
                number = self._target(target, key[2:], types, functional, known, node)
            finally:
                self.depth -= 1
            self.known[key] = self.builder.function(partial_of(self, cls, definition, target, number))
            return self.known[key]
        if cls.is_partial:
            text = f"`{cls.name}` is partial and cannot be called"
            raise problem(text, node, rule="12.4", hint="redeclare it or call another function")
        inst = cls.instance
        number = self.builder.function(FlatFunction(cls.name, (), 0, 0, span=definition.span))
        self.known[key] = number
        function = FunctionContext(number, inst)
        context = Context(inst.scope(0), None, None, function)
        locals_: list[FlatLocal] = []
        outputs = self._declare_inputs(cls, types, functional, known, function, locals_)
        n_inputs = len(locals_)
        self.builder.define(number, locals=tuple(locals_), n_inputs=n_inputs)
        self.depth += 1
        try:
            self._declare_others(cls, outputs, function, locals_, context)
            self._translate(cls, number, function, locals_, n_inputs, len(outputs))
        finally:
            self.depth -= 1
        return number

    def of_types(self, cls: ClassUse, types: dict[str, Type] | None) -> int | None:
        """The function of a class for inputs of these types."""
        if types is None:
            return None
        shapes = tuple((name, of.shape, of.number) for name, of in types.items())
        key = (cls.core, tuple(map(id, cls.mod)), shapes, (), (), ())
        number = self.known.get(key)
        if number is not None:
            return number
        self.kept.append(cls)
        return self.make(cls, key, types, {}, {}, cls.core.entry.definition)

    def _target(
        self,
        cls: ClassUse,
        key: Any,
        types: dict[str, Type],
        functional: dict[str, FunctionValue],
        known: dict[str, Any],
        node: tree.Node,
    ) -> int:
        """The function of a partial derivative, for the same arguments."""
        key = (cls.core, tuple(map(id, cls.mod)), *key)
        number = self.known.get(key)
        self.kept.append(cls)
        return self.make(cls, key, types, functional, known, node) if number is None else number

    def _declare_inputs(
        self,
        cls: ClassUse,
        types: dict[str, Type],
        functional: dict[str, FunctionValue],
        known: dict[str, Any],
        function: FunctionContext,
        locals_: list[FlatLocal],
    ) -> list[str]:
        elements = cls.core.table.elements
        signature = self._signature(cls)
        for name, given in types.items():
            declared = signature[name]
            of = declared.sized(given.shape) if declared.base is not BaseType.RECORD else given
            function.locals[name] = len(locals_)
            function.known[name] = Shaped(self.builder, of, known.get(name))
            locals_.append(FlatLocal(name, of, span=elements[name].node.span))
        for name, one in functional.items():
            inner: dict[str, Any] = {}
            for k, e in one.given.items():
                local = f"{name}.{k}"
                function.locals[local] = len(locals_)
                locals_.append(FlatLocal(local, self.out.type(e)))
                inner[k] = (len(locals_) - 1, self.out.type(e))
            function.functional[name] = FunctionValue(one.cls, inner)
        return [name for name, one in elements.items() if not one.is_class and cls.core.causality_of(name) == "output"]

    def _declare_others(
        self, cls: ClassUse, outputs: list[str], function: FunctionContext, locals_: list[FlatLocal], context: Context
    ) -> None:
        """Outputs, then protected variables; constants are read as values."""
        elements = cls.core.table.elements
        for one in function.functional.values():  # captured arguments are read from inputs
            for key, (place, _) in list(one.given.items()):
                self.builder.define(function.number, locals=tuple(locals_))
                one.given[key] = self.builder.add(LocalRef(function.number, place))
        assigned = _assigned(cls)
        others = [
            name
            for name, one in elements.items()
            if not one.is_class
            and name not in function.locals
            and name not in outputs
            and name not in function.functional
            and one.node.variability != "constant"  # type: ignore[union-attr]
        ]
        for name in (*outputs, *others):
            element = elements[name]
            of = self._local_type(cls, element, function, context)
            function.locals[name] = len(locals_)
            value = self._tried_value(cls, element, function) if name not in assigned else None
            function.known[name] = Shaped(self.builder, of, value)
            locals_.append(FlatLocal(name, of, span=element.node.span))
            self.builder.define(function.number, locals=tuple(locals_))
        self.builder.define(function.number, n_outputs=len(outputs))

    def _tried_value(self, cls: ClassUse, element: ClassMember, function: FunctionContext) -> Any:
        mod = element.node.modification  # type: ignore[union-attr]
        if mod is None or mod.value is None:
            return None
        scope = cls.instance.scope(element.layer.number)
        return self.out.values.tried(mod.value, scope, "a size in a function", function.known)

    def _local_type(self, cls: ClassUse, element: ClassMember, function: FunctionContext, context: Context) -> Type:
        inst = cls.instance
        scope = inst.scope(element.layer.number)
        of = self._element_class(cls, element)
        self._check_data(of, element)
        base = self.out.types.of_class(of)
        shape: list[int | None] = []
        for expr, where in [*((one, scope) for one in element.node.dimensions), *of.dims]:  # type: ignore[union-attr]
            shape.append(self._size(expr, where, function, inst))
        if None in shape:
            mod = element.node.modification  # type: ignore[union-attr]
            if mod is not None and mod.value is not None:
                try:
                    given = self.out.type(self.out.expr(mod.value, Context(scope, None, None, function))).shape
                    if len(given) == len(shape):
                        shape = [a if a is not None else b for a, b in zip(shape, given, strict=True)]
                except ModelError:
                    pass
        return base.sized((*shape, *base.shape))

    def _size(self, expr: tree.Expression, scope: Any, function: FunctionContext, inst: Any) -> int | None:
        if isinstance(expr, tree.Colon):
            return None
        values = self.out.values
        found = (
            values.index_values(expr, scope)
            if isinstance(expr, tree.Reference) and expr.names[0] not in function.locals
            else None
        )
        if found is not None:
            return len(found)
        try:
            value = values.value(expr, scope, function.known if scope.inst is inst else None)
        except NotKnown:
            return None
        return int(value) if isinstance(value, (int, float)) else None

    # -------------------------------------------------------------------------------------------------------- body

    def _translate(
        self,
        cls: ClassUse,
        number: int,
        function: FunctionContext,
        locals_: list[FlatLocal],
        n_inputs: int,
        n_outputs: int,
    ) -> None:
        inst = cls.instance
        elements = inst.table.elements
        for place, one in enumerate(locals_):
            if place < n_inputs or one.name not in elements:
                continue
            element = elements[one.name]
            scope = inst.scope(element.layer.number)
            binding = value_of(inst.mod_of(element) + bound(element.node.modification, scope))  # type: ignore[union-attr]
            if binding is not None:
                context = Context(binding.scope, None, None, function)
                e = self.out.expr(binding.value, context)  # type: ignore[arg-type]
                check_value(self.out, f"{cls.name}.{one.name}", one.type, e, binding)
                locals_[place] = FlatLocal(one.name, one.type, e, one.span)
            elif one.type.base is BaseType.RECORD:
                mod = inst.mod_of(element) + bound(element.node.modification, scope)  # type: ignore[union-attr]
                start = self._fields(self._element_class(cls, element), mod, one.type, function, element.node)
                locals_[place] = FlatLocal(one.name, one.type, start, one.span)
        self.builder.define(number, locals=tuple(locals_), n_inputs=n_inputs, n_outputs=n_outputs)
        body: list[FlatItem] = []
        external = None
        annotations: list[tuple[tree.Annotation, Context]] = []
        for layer in reversed(inst.table.layers):
            if layer.body is None:
                continue
            context = Context(inst.scope(layer.number), None, None, function)
            if layer.body.annotation is not None:
                annotations.append((layer.body.annotation, context))
            if layer.body.external is not None:
                external = self._external(cls, layer.body.external, context)
            for section in layer.body.algorithms:
                from pliant.frontend.modelica.flatten.statements import Statements

                body += Statements(self.out).items(section.statements, context)
        parts = FunctionRules(self, cls, locals_[:n_inputs]).read(annotations)
        is_pure = not (parts.pop("impure", False) or definition_impure(cls) or number in self.out.calls.impure)
        self.builder.define(number, body=tuple(body), external=external, is_pure=is_pure, **parts)

    def _fields(
        self, of: ClassUse, mod: Mod, type_: Type, function: FunctionContext, node: tree.Node, outer: Place = ()
    ) -> int | None:
        """The record that a variable holds at the start: modifiers (`R r(a = x)`) and declarations give values to its
        fields (12.4.4); what has none is 0. None: no field has a value. ``outer``: indices of the arrays around.
        """
        if None in type_.shape:
            return None
        sizes = [n or 0 for n in type_.shape]
        found = {at: self._element(of, mod, type_, function, node, (*outer, *at)) for at in np.ndindex(*sizes)}
        if not found or any(one is None for one in found.values()):
            return None

        def made(at: Place) -> int:
            if len(at) == len(sizes):
                return found[at] or 0
            parts = tuple(made((*at, k)) for k in range(sizes[len(at)]))
            return self.builder.add(FlatArray(parts), self.out.span(node))

        return made(())

    def _element(
        self, of: ClassUse, mod: Mod, type_: Type, function: FunctionContext, node: tree.Node, at: Place
    ) -> int | None:
        """One record of an array of them."""
        inst, total = of.instance, mod + of.mod
        fields: dict[str, int] = {}
        has_values = False
        for one in self.builder.records[type_.number].fields:
            inner = member(total, one.name)
            given = value_of(inner)
            thing = inst.child(one.name)
            found: int | None = None
            if given is not None and given.value is not None:
                context = Context(given.scope, None, None, function if given.scope.inst is function.inst else None)
                own = len(type_.shape) if given.template.each else 0
                found = self._part(self.out.expr(given.value, context), one.type, at[: len(at) - own], given, context)
            elif isinstance(thing, Var) and thing.binding is not None:
                found = self.out.calls._default(
                    inst, one.name, fields, node, Context(inst.scope(0), None, None, function)
                )
            elif one.type.base is BaseType.RECORD:
                found = self._fields(thing.cls, inner, one.type, function, node, at)
            has_values = has_values or found is not None
            if found is None:
                found = self._zero(one.type, node)
            if found is None:
                return None
            fields[one.name] = found
        if not has_values:
            return None
        return self.builder.add(FlatRecord(tuple(fields.values())), self.out.span(node), type_.element)

    def _part(self, e: int, of: Type, at: Place, given: Bound, context: Context) -> int:
        """What a value for all records of an array has for one of them: its first dimensions are those of the array."""
        more = len(self.out.type(e).shape) - len(of.shape)
        if more <= 0 or more > len(at):
            return e
        places = tuple(self.out.literal(k + 1, given.template.node) for k in at[len(at) - more :])
        return self.out.add(FlatIndex(e, places), given.template.node, context)

    def _zero(self, of: Type, node: tree.Node) -> int | None:
        """What a field holds that nothing sets."""
        values: dict[BaseType, float | bool | str] = {
            BaseType.REAL: 0.0,
            BaseType.INTEGER: 0,
            BaseType.BOOLEAN: False,
            BaseType.STRING: "",
        }
        span = self.out.span(node)
        if of.base not in values or None in of.shape:
            return None
        zero = self.builder.literal(values[of.base], span)
        sizes = tuple(self.builder.literal(n or 0, span, INTEGER) for n in of.shape)
        return self.builder.add(FlatBuiltin("fill", (zero, *sizes)), span) if sizes else zero

    def _external(self, cls: ClassUse, external: tree.External, context: Context) -> FlatExternal:
        function = context.function
        assert function is not None
        result = NONE if external.output is None else self.out.expr(external.output, context)
        arguments: list[int] = []
        sizes: set[int] = set()
        for one in external.arguments:
            if isinstance(one, tree.Call) and one.function.names == ("size",):
                sizes.add(len(arguments))
            arguments.append(self.out.expr(one, context))
        if not external.function and not external.arguments:
            result = self._implicit(cls, function, arguments, sizes, result)
        return FlatExternal(
            external.function or cls.core.entry.name,
            external.language,
            tuple(arguments),
            result,
            frozenset(sizes),
            **annotated(self.out.values, cls, external, context.scope),
        )

    def _implicit(
        self, cls: ClassUse, function: FunctionContext, arguments: list[int], sizes: set[int], result: int
    ) -> int:
        """No call is written: all variables in their order, arrays with their sizes; a single output is the result."""
        elements = cls.core.table.elements
        names = [n for n in elements if n in function.locals and cls.core.causality_of(n) in ("input", "output")]
        outputs = [n for n in names if cls.core.causality_of(n) == "output"]
        if len(outputs) == 1 and result == NONE:
            single = self.builder.add(LocalRef(function.number, function.locals[outputs[0]]))
            if not self.out.type(single).shape:
                result = single
                names.remove(outputs[0])
        for name in names:
            e = self.builder.add(LocalRef(function.number, function.locals[name]))
            arguments.append(e)
            for axis in range(len(self.out.type(e).shape)):
                sizes.add(len(arguments))
                place = self.builder.literal(axis + 1, None, INTEGER)
                arguments.append(self.builder.add(FlatBuiltin("size", (e, place)), None, INTEGER))
        return result


def _assigned(cls: ClassUse) -> set[str]:
    """Names that statements of a function set."""
    found: set[str] = set()
    for layer in cls.core.table.layers:
        for section in layer.body.algorithms if layer.body is not None else ():
            for statement in section.statements:
                for one in walk(statement):
                    if isinstance(one, tree.Assignment):
                        found.add(one.target.names[0])
                    elif isinstance(one, tree.TupleAssignment):
                        found |= {x.names[0] for x in one.targets.items if isinstance(x, tree.Reference)}
    return found
