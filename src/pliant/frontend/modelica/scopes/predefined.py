"""What is there without being declared: types, enumerations and the names of functions and operators."""

from __future__ import annotations

from pliant.frontend.modelica.library.entries import ClassEntry
from pliant.frontend.modelica.syntax.parser import parse
from pliant.frontend.modelica.syntax.tree import ClassDefinition

_TEXT = """
type Real_ end Real_;
type Integer_ end Integer_;
type Boolean_ end Boolean_;
type String_ end String_;
type Clock_ end Clock_;
partial class ExternalObject end ExternalObject;
type StateSelect = enumeration(never, avoid, default, prefer, always);
type AssertionLevel = enumeration(warning, error);
package Connections
  function branch end branch;
  function root end root;
  function potentialRoot end potentialRoot;
  function isRoot end isRoot;
  function rooted end rooted;
  function uniqueRoot end uniqueRoot;
  function uniqueRootIndices end uniqueRootIndices;
end Connections;
package Subtask end Subtask;
"""

PRIMITIVE = frozenset(("Real", "Integer", "Boolean", "String", "Clock", "ExternalObject"))
ATTRIBUTES = {
    "Real": [
        "value",
        "quantity",
        "unit",
        "displayUnit",
        "min",
        "max",
        "start",
        "fixed",
        "nominal",
        "unbounded",
        "stateSelect",
    ],
    "Integer": ["value", "quantity", "min", "max", "start", "fixed"],
    "Boolean": ["value", "quantity", "start", "fixed"],
    "String": ["value", "quantity", "start", "fixed"],
    "enumeration": ["value", "quantity", "min", "max", "start", "fixed"],
    "Clock": [],
    "ExternalObject": [],
}


def _entries() -> dict[str, ClassEntry]:
    warnings: list[str] = []
    classes: tuple[ClassDefinition, ...] = parse(_TEXT, "predefined").classes
    found = {}
    for one in classes:  # a text may not declare predefined names: the parser would refuse them
        entry = ClassEntry(one, None, one.name.rstrip("_"), warnings)
        entry.name = one.name.rstrip("_")
        found[entry.name] = entry
    return found


PREDEFINED = _entries()
