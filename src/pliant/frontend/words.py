"""Words and shapes of Modelica text, for everything that reads a source: the specification 3.6, chapters 2 and 4."""

from __future__ import annotations

_KEYWORDS = """algorithm and annotation block break class connect connector constant constrainedby der discrete each
    else elseif elsewhen encapsulated end enumeration equation expandable extends external false final flow for function
    if import impure in initial inner input loop model not operator or outer output package parameter partial protected
    public pure record redeclare replaceable return stream then true type when while within"""
KEYWORDS = frozenset(_KEYWORDS.split())
CLASSES = ("operator", "model", "class", "block", "package", "record", "connector", "function", "type")
PREFIXES = [
    "parameter",
    "constant",
    "discrete",
    "input",
    "output",
    "flow",
    "stream",
    "final",
    "inner",
    "outer",
    "replaceable",
]
CLASS_PREFIXES = ("partial", "encapsulated", "final", "expandable", "pure", "impure")

# regular expressions
COMMENT = r"//[^\n]*|/\*.*?\*/"
STRING = r'"(?:\\.|[^"\\])*"'
QUOTED = r"'(?:\\.|[^'\\])+'"
IDENT = rf"(?:[A-Za-z_]\w*|{QUOTED})"
