"""rumoca's failures in the user's words: what is wrong, where, and one thing to try.

rumoca speaks of its own phases and owners. Each rule here knows one form of message; what no rule knows keeps the
sentence of rumoca without the names of its phases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pliant.errors import ModelError, NotSupportedError, PliantError
from pliant.frontend.classes import line_of, without_comments

_PHASE = re.compile(
    r"^\w+ failed: .*? failed in \w+: |^.*? could not be compiled: |^.*? could not be compiled because "
)
_PLACE = re.compile(r"\s*\[([^\[\]]+:\d+:\d+)\]\s*$")
_OWNER = re.compile(r"unsupported Flat semantic owner `([^`]*)`: ")
_NOISE = (
    re.compile(r"canonical DAE construction rejected an invalid operation: "),
    re.compile(r"\s*\(MLS §[^)]*\)|MLS §[\d.]+:?\s*"),
    re.compile(r"unsupported equation form: "),
)


@dataclass(frozen=True)
class Source:
    """The text that was read, to find places in it."""

    file: str
    text: str
    name: str
    roots: tuple[str, ...] = ()
    is_library: bool = False  # the class is one of a library, which the user did not write


@dataclass(frozen=True)
class Rule:
    """Messages that contain a pattern; ``find`` is what to look for in the text to give a line."""

    pattern: str
    error: type[ModelError]
    message: str
    hint: str
    find: str = ""


_LIBRARY = "give the folder of the library: path=[...] or the environment variable MODELICAPATH"

RULES = (
    Rule(
        r"invalid unit for `([^`]*)`: (?:malformed unit expression: )?(.*?)(?:\s*\(MLS[^)]*\))?(?:\s*\[|;|$)",
        ModelError,
        "the unit of `{0}` cannot be read: {1}",
        'write it as in "kg.m2/(s2.K)", with whole exponents; for others, as in V/Hz^(1/2), leave the unit out and '
        "name it in the description",
    ),
    Rule(
        r"`(Modelica\.Utilities\.[\w.]+)` contains a statement",
        NotSupportedError,
        "`{0}` of the Standard Library works with strings or files, which is not supported",
        "give the data in the model; a table, for example, as `table = [...]` with tableOnFile=false",
    ),
    Rule(
        r"variable `([^`]*)` has the wrong DAE coordinate role",
        NotSupportedError,
        "`{0}` is a record with operators of its own (as Complex), which are not supported",
        "write real and imaginary part as Real variables, or call functions of ComplexMath",
        "{0}",
    ),
    Rule(
        r"`([^`]*)` contains a statement without a checked DAE owner",
        NotSupportedError,
        "function `{0}` contains a while-loop or another statement that is not supported",
        "write the loop as `for` with known bounds",
        r"\bwhile\b",
    ),
    Rule(
        r"`([^`]*)` does not have a proved finite arithmetic-series form",
        NotSupportedError,
        "function `{0}` leaves a loop with `break`, which is not supported",
        "let the loop run to its end and guard its body with `if`",
        r"\bbreak\b",
    ),
    Rule(
        r"`([^`]*)` requires a compact dependent-domain transition",
        NotSupportedError,
        "a loop in function `{0}` has bounds that are known only at run time",
        "make the bound a parameter, a constant or the size of an array",
        r"\bfor\b",
    ),
    Rule(
        r"a non-guarded nested return",
        NotSupportedError,
        "`return` inside a loop is not supported",
        "guard the rest of the loop with `if`",
        r"\breturn\b",
    ),
    Rule(
        r"der\(\.\.\.\) must have exactly one resolved variable-reference operand",
        NotSupportedError,
        "der(...) of an expression is not supported, only der of a variable",
        "introduce a variable: `v = expression` and `der(v)`",
        r"\bder\s*\(\s*(?![A-Za-z_][\w.]*\s*(?:\[[^\]]*\])?\s*\))",
    ),
    Rule(
        r"der\(\.\.\.\) must name a coordinate classified as a continuous state",
        NotSupportedError,
        "the derivative of an input is not supported",
        "make the input's derivative an input, too, or filter the input by a first-order equation",
        r"\bder\s*\(",
    ),
    Rule(
        r"missing source scope for imports",
        NotSupportedError,
        "a function call that leaves out an output, `(, z) = f(x)`, is not supported",
        "receive all outputs before the one needed: `(y, z) = f(x)`",
        r"\(\s*,",
    ),
    Rule(
        r"receiving variable `([^`]*)` is not a coordinate",
        NotSupportedError,
        "`{0}` cannot receive one of several outputs of a function",
        "use a function for each output, or plain variables instead of records",
        "{0}",
    ),
    Rule(
        r"expandable connector connection between `([^`]*)` and `([^`]*)` requires",
        NotSupportedError,
        "connecting `{0}` and `{1}` adds a variable to an expandable connector, which is not supported",
        "declare the variable in the connector",
        r"\bexpandable\b",
    ),
    Rule(
        r"unsupported model algorithm",
        NotSupportedError,
        "this algorithm section is not supported: only one assigned scalar is",
        "write equations, or put the statements into a function",
        r"\balgorithm\b",
    ),
    Rule(
        r"initial algorithm target `([^`]*)`",
        NotSupportedError,
        "the initial algorithm assigns to `{0}`, which is not supported",
        "write it as an initial equation",
        r"\binitial\s+algorithm\b",
    ),
    Rule(
        r"`([^`]*)` is not a discrete coordinate",
        NotSupportedError,
        "a when-clause sets the array element `{0}`, which is not supported",
        "use a scalar variable, or set the whole array",
        r"\bwhen\b",
    ),
    Rule(
        r"when/elsewhen branches must assign to the same variables\. (.*)",
        ModelError,
        "when and elsewhen must set the same variables: {0}",
        "write separate when-clauses",
        r"\belsewhen\b",
    ),
    Rule(
        r"when-equation LHS must be a simple variable reference",
        ModelError,
        "an equation in a when-clause must have a variable alone on its left side",
        "solve the equation for its variable",
        r"\bwhen\b",
    ),
    Rule(
        r"pre\(`([^`]*)`\) names a continuous coordinate",
        ModelError,
        "pre({0}) of a continuous variable is allowed in when-clauses only",
        "read `{0}` itself, or move the equation into a when-clause",
        r"\bpre\s*\(",
    ),
    Rule(
        r"is not owned by clock identity",
        NotSupportedError,
        "a sampled equation reads a variable that another sample(...) sets",
        "pass the value through an ordinary variable: `Real held = v;`, and read `held` in the when-clause",
        r"\bsample\s*\(",
    ),
    Rule(
        r"(?s)clock|sample\(|previous|outside the checked DAE lowering grammar",
        NotSupportedError,
        "this use of clocks (synchronous Modelica) is not supported",
        "declare the clock as a variable (`Clock c = Clock(0.1)`), or write the equation without clocks",
        r"\b(?:Clock|sample|previous|hold|subSample)\b",
    ),
    Rule(
        r"`([^`]*)` participates in an internal current-value dependency cycle",
        NotSupportedError,
        "discrete variables of one when-clause or algorithm section read each other's new values in a circle, or an if "
        "in it reads `{0}`, which the clause itself sets",
        "write if-expressions instead of if, pre({0}) for the value before, or when-clauses of their own",
        "{0}",
    ),
    Rule(
        r"reads discrete-value identity \d+ before its semantic owner",
        NotSupportedError,
        "a when-clause reads an Integer or Boolean that it sets itself, in its condition or through another variable "
        "that it sets",
        "write pre(v) in the condition, or when-clauses of their own",
        r"\bwhen\b",
    ),
    Rule(
        r"state-machine|initialState",
        NotSupportedError,
        "state machines are not supported",
        "write the states with when-clauses or Boolean variables",
        r"\binitialState\b",
    ),
    Rule(
        r"`spatialDistribution`",
        NotSupportedError,
        "spatialDistribution(...) is not supported",
        "divide the length into finite volumes",
        r"\bspatialDistribution\b",
    ),
    Rule(
        r"delay\(\) time argument must have type `Real`",
        ModelError,
        "the delay time of delay(...) must be Real",
        "write it with a decimal point: `delay(x, 1.0)`",
        r"\bdelay\b",
    ),
    Rule(
        r"unsupported type `[\w.]*ExternalCombiTable2D`",
        NotSupportedError,
        "tables of two arguments (CombiTable2D) are not supported",
        "use CombiTable1D, or write the formula",
        r"\bCombiTable2D\w*",
    ),
    Rule(
        r"has unsupported type `([^`]*)`",
        NotSupportedError,
        "external objects (`{0}`) are not supported",
        "use a function or a table of the Standard Library instead",
        "{0}",
    ),
    Rule(
        r"unsupported runtime operator `([^`]*)`",
        NotSupportedError,
        "the operator `{0}` is not supported",
        "write it out with other functions",
        "{0}",
    ),
    Rule(
        r"equality comparison on Real",
        ModelError,
        "Real values are compared with == or <>",
        "compare with a tolerance: `abs(a - b) < 1e-10`",
        r"==|<>",
    ),
    Rule(
        r"expected Real, found Integer",
        ModelError,
        "an Integer stands where rumoca needs a Real",
        "write numbers with a decimal point: `{{1.0, 0.0, 0.0}}`",
        r"\bcross\s*\(",
    ),
    Rule(
        r"expected a numeric expression",
        NotSupportedError,
        "a number is needed; converting an enumeration with Integer(...) is not supported",
        "compare the enumeration with its values in an if-expression",
        r"\bInteger\s*\(",
    ),
    Rule(
        r"for-equation range must be a constant range",
        NotSupportedError,
        "a for-equation runs over something else than a range of numbers",
        "write `for i in 1:n`, with n a parameter or constant",
        r"\bfor\b",
    ),
    Rule(
        r"unbalanced model: (\d+) equations, (\d+) unknowns",
        ModelError,
        "the model has {0} equations for {1} unknowns",
        "{balance}",
    ),
    Rule(
        r"unresolved type reference: '([^']*)'|base class not found: `([^`]*)`|unresolved import: '([^']*)'",
        ModelError,
        "class `{0}` was not found",
        _LIBRARY,
        "{0}",
    ),
    Rule(
        r"unresolved extends base class: '([^']*)'|redeclaration error for `([^`]*)`: .* did not resolve to a class",
        ModelError,
        "class `{0}` was not found",
        _LIBRARY,
        "{0}",
    ),
    Rule(
        r"unresolved function call: '([^']*)'",
        ModelError,
        "function `{0}` was not found",
        _LIBRARY,
        "{0}",
    ),
    Rule(
        r"unresolved component reference: '([^']*)'|unresolved Flat reference `([^`]*)`",
        ModelError,
        "`{0}` is not declared",
        "declare it, or look for a misspelt name",
        "{0}",
    ),
    Rule(
        r"component '([^']*)' instantiates partial model '([^']*)'",
        ModelError,
        "`{0}` is of the partial class `{1}`, which cannot be used alone",
        "use a class that extends it",
        "{0}",
    ),
    Rule(
        r"cyclic dependency in parameter binding for '([^']*)'",
        ModelError,
        "parameter `{0}` depends on itself",
        "give one of the parameters in the circle a value of its own",
        "{0}",
    ),
    Rule(
        r"`([^`]*)` cannot be evaluated: (.*)",
        ModelError,
        "the value of parameter `{0}` cannot be computed: {1}",
        "look at the parameters in its declaration",
        "{0}",
    ),
    Rule(
        r"Duplicate declaration of '([^']*)' at line (\d+) \(first declared at line (\d+)\)",
        ModelError,
        "`{0}` is declared in line {2} and again in line {1}",
        "rename one of the two",
    ),
    Rule(
        r"unknown modifier `([^`]*)` for component `([^`]*)` of type `([^`]*)`",
        ModelError,
        "`{1}` is modified with `{0}`, which its class `{2}` does not have",
        "look for a misspelt name",
        "{0}",
    ),
    Rule(
        r"invalid call of function `([^`]*)`: (.*)",
        ModelError,
        "wrong call of function `{0}`: {1}",
        "give all inputs that have no default",
        "{0}",
    ),
    Rule(
        r"subscript (\S+) for `([^`]*)` is out of bounds for dimension of size (\d+)",
        ModelError,
        "array index {0} of `{1}` is outside 1..{2}",
        "change the index or the size of the array",
        "{1}",
    ),
    Rule(
        r"type mismatch: expected `([^`]*)`, found `([^`]*)`",
        ModelError,
        "a {0} is needed, a {1} is given",
        "change the type of one side",
    ),
    Rule(
        r"expression shape mismatch",
        ModelError,
        "the sizes of two arrays in an equation or a declaration differ",
        "compare the sizes on both sides",
    ),
    Rule(
        r"no entry found for key",
        NotSupportedError,
        "rumoca stopped inside itself: an array of records is probably indexed by a loop variable",
        "use arrays of Real instead of an array of records in the loop",
        r"\bfor\b",
    ),
    Rule(
        r"ended inside an unfinished model|unexpected (?:end of input|`[^`]*`)",
        ModelError,
        "syntax error: {found}",
        "look at this line and the one before it",
    ),
)


def translate(text: str, source: Source, *, is_panic: bool = False) -> PliantError:
    """The error to raise for a message of rumoca."""
    place = ""
    plain = text.strip()
    first = plain.split("\n", 1)[0].split("; invalid unit for", 1)[0]
    match = _PLACE.search(first)
    if match:
        place = match.group(1)
        first = first[: match.start()]
    body = _PHASE.sub("", first)
    for rule in RULES:
        match = re.search(rule.pattern, body) or re.search(rule.pattern, plain)
        if match:
            return _apply(rule, match, source, place)
    for noise in (_OWNER, *_NOISE):
        body = noise.sub("", body)
    if is_panic:
        return NotSupportedError(
            f"{_where(place, source)}rumoca, the Modelica compiler, stopped inside itself ({_short(body)})",
            hint="simplify the model step by step to find the construct; records and inputs are the usual ones",
        )
    return ModelError(
        f"{_where(place, source)}{_short(body)}", hint="simplify the statement, or report the message with the model"
    )


def _apply(rule: Rule, match: re.Match[str], source: Source, place: str) -> PliantError:
    parts = [part for part in match.groups() if part is not None] or ["?"]
    found = match.group()
    message = rule.message.format(*parts, found=found) if "{" in rule.message else rule.message
    hint = rule.hint
    if hint == "{balance}":
        more = int(parts[0]) - int(parts[1])
        hint = (
            "remove an equation, or a value given twice"
            if more > 0
            else "add the missing equations; look at unconnected connectors and variables without a value"
        )
        if source.is_library:
            hint = "this class is part of a library and rumoca 0.10.2 may read it wrongly; use another one"
    elif hint == _LIBRARY:
        hint = _library_hint(parts[0], source)
    elif "{" in hint:
        hint = hint.format(*parts)
    if not place and rule.find and not (parts == ["?"] and "{" in rule.find):
        place = _find(rule.find.format(*parts) if rule.find.startswith("{") else rule.find, source)
    return rule.error(f"{_where(place, source)}{message}", hint=hint)


def _library_hint(name: str, source: Source) -> str:
    top = name.partition(".")[0]
    if "." not in name or any((Path(root) / top).exists() or Path(root).name == top for root in source.roots):
        return "look for a misspelt name"
    if source.roots:
        return f"`{top}` is not in " + ", ".join(source.roots) + f"; {_LIBRARY}"
    return _LIBRARY


def _find(pattern: str, source: Source) -> str:
    """file:line:column of the first place that fits, or nothing."""
    if source.is_library:
        return ""
    spot = line_of(source.text, pattern) if re.fullmatch(r"[\w.]+", pattern) else None
    if spot is None and not re.fullmatch(r"[\w.]+", pattern):
        match = re.search(pattern, without_comments(source.text))
        if match:
            before = source.text[: match.start()]
            spot = before.count("\n") + 1, match.start() - before.rfind("\n")
    return f"{source.file}:{spot[0]}:{spot[1]}" if spot else ""


def _where(place: str, source: Source) -> str:
    return f"{place}: " if place else f"{source.file}: " if source.file else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 300 else text[:299] + "…"


def syntax_error(report: str, source: Source) -> ModelError | None:
    """The first syntax error in the report of ``rumoca.validate_source``; it draws the place as a picture."""
    spot = re.search(r"╭─\[[^\]]*?:(\d+):(\d+)\]", report)
    drawn = re.search(r"×\s*(.+?)\s*╭─", report, re.DOTALL)
    if spot is None or drawn is None:
        return None
    what = _NOISE[1].sub("", " ".join(drawn.group(1).replace("│", " ").split()))
    line, column = int(spot.group(1)), int(spot.group(2))
    lines = source.text.split("\n")
    shown = lines[line - 1].strip() if line <= len(lines) else ""
    hint = "a `;` may be missing before this place" if "unexpected" in what else "look at this line"
    text = f": `{shown}`" if shown else ""
    return ModelError(f"{source.file}:{line}:{column}: syntax error: {what}{text}", hint=hint)
