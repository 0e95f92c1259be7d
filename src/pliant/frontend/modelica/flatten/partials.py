"""Functions that are partial derivatives of others: `function f = der(g, x, ...)` (Modelica 12.7.2).

What they are derivatives of is checked here; scalarisation differentiates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pliant.frontend.flat.model import FlatFunction, FlatLocal, PartialRule
from pliant.frontend.flat.types import BaseType, Type
from pliant.frontend.modelica.flatten.purity import definition_impure
from pliant.frontend.modelica.instances.classes import ClassUse
from pliant.frontend.modelica.problems import nearest, problem, unsupported
from pliant.frontend.modelica.syntax import tree

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.functions import Functions


def target_of(functions: Functions, cls: ClassUse, definition: tree.DerivativeClass) -> ClassUse:
    """The function that is differentiated; it has the inputs that are named."""
    base = cls.core.base
    assert base is not None  # the class has been opened: its inputs are known
    names = functions.input_names(cls)
    for name in definition.variables:
        if name not in names:
            text = f"`{base.name}` has no input `{name}` by which `{cls.name}` could be its derivative"
            raise problem(text, definition, rule="12.7.2", hint=nearest(name, names))
        declared = functions.input_type(cls, name)
        if declared.base is not BaseType.REAL or declared.shape:
            text = f"`{cls.name}` is a derivative by `{name}`, which is no scalar Real input of `{base.name}`"
            raise problem(text, definition, rule="12.7.2", hint="differentiate by scalar Real inputs")
    if definition_impure(base):
        raise unsupported(f"`{cls.name}`, a derivative of the impure function `{base.name}`,", definition)
    return ClassUse(base.core, cls.mod + base.mod, base.own_dims, base.causality, base.kind, base.name)


def partial_of(
    functions: Functions, cls: ClassUse, definition: tree.DerivativeClass, target: ClassUse, number: int
) -> FlatFunction:
    """The derivative of a function that has been made."""
    own = functions.builder.functions[number]
    for one in own.outputs:
        if not _is_real(functions, one.type):
            text = f"`{cls.name}` is a derivative of `{target.name}`, whose output `{one.name}` is not Real"
            raise problem(text, definition, rule="12.7.2", hint="differentiate functions with Real outputs")
    places = {one.name: k for k, one in enumerate(own.inputs)}  # functions as arguments are no inputs any more
    rule = PartialRule(number, tuple(places[name] for name in definition.variables))
    locals_ = tuple(FlatLocal(one.name, one.type, span=one.span) for one in (*own.inputs, *own.outputs))
    return FlatFunction(cls.name, locals_, own.n_inputs, own.n_outputs, partial=rule, span=definition.span)


def _is_real(functions: Functions, of: Type) -> bool:
    """Real, or a record of nothing else."""
    if of.base is BaseType.RECORD:
        return all(_is_real(functions, field.type) for field in functions.builder.records[of.number].fields)
    return of.base is BaseType.REAL
