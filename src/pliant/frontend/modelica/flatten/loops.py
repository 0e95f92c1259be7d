"""Which loops must be written out: those over arrays of components, whose elements are variables of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pliant.frontend.modelica.instances.components import Var
from pliant.frontend.modelica.scopes.program import Found
from pliant.frontend.modelica.syntax import tree
from pliant.frontend.modelica.syntax.walk import walk

if TYPE_CHECKING:
    from pliant.frontend.modelica.flatten.context import Context
    from pliant.frontend.modelica.flatten.translate import Translator

_STRUCTURAL = (tree.Connect, tree.IfEquation, tree.WhenEquation, tree.CallEquation)

_SIZES = frozenset(("cat", "zeros", "fill", "ones", "identity"))
_BETWEEN_CLOCKS = frozenset(("sample", "hold"))  # what they are applied to becomes a variable of its own
_WRITTEN_OUT = _SIZES | _BETWEEN_CLOCKS


def must_unroll(translator: Translator, body: Any, indices: Sequence[tree.ForIndex], context: Context) -> bool:
    """Some reference has a loop variable among the subscripts of an array of components."""
    names = {one.name for one in indices}
    for index in indices:
        if index.values is not None and not isinstance(index.values, tree.Range):
            return True
    parts = body if isinstance(body, tuple) else (body,)
    for part in parts:
        for node in walk(part):
            if isinstance(node, _STRUCTURAL):
                return True
            if isinstance(node, (tree.ArrayComprehension, tree.ReductionCall, tree.ForEquation)):
                return True
            if isinstance(node, tree.Call) and node.function.names[-1] in _WRITTEN_OUT:
                return True
            is_used = isinstance(node, tree.Reference) and node.subscripts and _uses(node, names)
            if is_used and (len(node.names) > 1 or not _is_variable(translator, node, context)):  # type: ignore[attr-defined,arg-type]
                return True
    return False


def _uses(ref: tree.Reference, names: set[str]) -> bool:
    for given in ref.subscripts:
        for one in given:
            for node in walk(one):
                if isinstance(node, tree.Reference) and node.names[0] in names:
                    return True
                if isinstance(node, tree.Range):
                    return True
    return False


def _is_variable(translator: Translator, ref: tree.Reference, context: Context) -> bool:
    found = translator.world.find(ref.names[0], context.scope)
    if not isinstance(found, Found):
        return False
    thing = found.inst.meant(found.element)
    return isinstance(thing, Var) and thing.number >= 0
