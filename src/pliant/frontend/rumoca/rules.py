"""What rumoca says, and what is meant: one rule for each form of message.

Messages of rumoca refer to its own phases and owners. The first rule whose pattern fits counts: specific ones come
first.
"""

from __future__ import annotations

from dataclasses import dataclass

from pliant.errors import ModelError, NotSupportedError


@dataclass(frozen=True)
class MessageRule:
    """Messages that contain a pattern; ``find`` is what to look for in the text to give a line."""

    pattern: str
    error: type[ModelError]
    message: str
    hint: str
    find: str = ""


LIBRARY = "give the folder of the library: path=[...] or the environment variable MODELICAPATH"

RULES = (
    MessageRule(
        r"(edge|change)\(\.\.\.\) must name a discrete coordinate",
        NotSupportedError,
        "{0}(...) of something that has no memory: an input of a record or connector, or no variable at all",
        "give it a name: `Boolean b = ...;`, and write {0}(b)",
        r"\b(?:edge|change)\s*\(",
    ),
    MessageRule(
        r"pre\(`([^`]+)`\) names an external input coordinate",
        NotSupportedError,
        "pre({0}) of an input is not supported here",
        "give it a name: `Boolean b = {0};`, and write pre(b)",
        r"\bpre\s*\(",
    ),
    MessageRule(
        r"edge\(\) argument must have type `Boolean`, found `(\w+)`",
        ModelError,
        "edge(...) is for Boolean variables, {a} {0} is given",
        "change(...) is for all discrete variables",
        r"\bedge\s*\(",
    ),
    MessageRule(
        r"invalid unit for `([^`]*)`: (?:malformed unit expression: )?(.*?)(?:\s*\(MLS[^)]*\))?(?:\s*\[|;|$)",
        ModelError,
        "the unit of `{0}` cannot be read: {1}",
        'write it as in "kg.m2/(s2.K)", with whole exponents; for others, as in V/Hz^(1/2), leave the unit out and '
        "name it in the description",
    ),
    MessageRule(
        r"`(Modelica\.Utilities\.[\w.]+)` contains a statement",
        NotSupportedError,
        "`{0}` of the Standard Library works with strings or files, which is not supported",
        "give the data in the model; a table, for example, as `table = [...]` with tableOnFile=false",
    ),
    MessageRule(
        r"variable `([^`]*)` has the wrong DAE coordinate role",
        NotSupportedError,
        "`{0}` is a record with operators of its own (as Complex), which are not supported",
        "write real and imaginary part as Real variables, or call functions of ComplexMath",
        "{0}",
    ),
    MessageRule(
        r"`([^`]*)` contains a statement without a checked DAE owner",
        NotSupportedError,
        "function `{0}` contains a while-loop or another statement that is not supported",
        "write the loop as `for` with known bounds",
        r"\bwhile\b",
    ),
    MessageRule(
        r"`([^`]*)` does not have a proved finite arithmetic-series form",
        NotSupportedError,
        "function `{0}` leaves a loop with `break`, which is not supported",
        "let the loop run to its end and guard its body with `if`",
        r"\bbreak\b",
    ),
    MessageRule(
        r"`([^`]*)` requires a compact dependent-domain transition",
        NotSupportedError,
        "a loop in function `{0}` has bounds that are known only at run time",
        "make the bound a parameter, a constant or the size of an array",
        r"\bfor\b",
    ),
    MessageRule(
        r"a non-guarded nested return",
        NotSupportedError,
        "`return` inside a loop is not supported",
        "guard the rest of the loop with `if`",
        r"\breturn\b",
    ),
    MessageRule(
        r"der\(\.\.\.\) must have exactly one resolved variable-reference operand",
        NotSupportedError,
        "der(...) of an expression is not supported, only der of a variable",
        "introduce a variable: `v = expression` and `der(v)`",
        r"\bder\s*\(\s*(?![A-Za-z_][\w.]*\s*(?:\[[^\]]*\])?\s*\))",
    ),
    MessageRule(
        r"der\(\.\.\.\) must name a coordinate classified as a continuous state",
        NotSupportedError,
        "the derivative of an input, a parameter or a constant is not supported",
        "a parameter's derivative is 0; make that of an input an input, too, or filter it by a first-order equation",
        r"\bder\s*\(",
    ),
    MessageRule(
        r"missing source scope for imports",
        NotSupportedError,
        "a function call that leaves out an output, `(, z) = f(x)`, is not supported",
        "receive all outputs before the one needed: `(y, z) = f(x)`",
        r"\(\s*,",
    ),
    MessageRule(
        r"receiving variable `([^`]*)` is not a coordinate",
        NotSupportedError,
        "`{0}` cannot receive one of several outputs of a function",
        "use a function for each output, or plain variables instead of records",
        "{0}",
    ),
    MessageRule(
        r"expandable connector connection between `([^`]*)` and `([^`]*)` requires",
        NotSupportedError,
        "connecting `{0}` and `{1}` adds a variable to an expandable connector, which is not supported",
        "declare the variable in the connector",
        r"\bexpandable\b",
    ),
    MessageRule(
        r"declarative algorithm requires scalar assignments and conditionals",
        NotSupportedError,
        "an algorithm section holds something else than assignments to scalars and if, such as a loop, which is "
        "supported in functions only",
        "put the statements into a function, and call it in an equation: `s = f(x)`",
        r"\balgorithm\b",
    ),
    MessageRule(
        r"a multi-output algorithm requires",
        NotSupportedError,
        "an algorithm section sets several variables in statements that cannot be taken apart, which is not supported",
        "write a section for each variable, or put the statements into a function with several outputs",
        r"\balgorithm\b",
    ),
    MessageRule(
        r"`([^`]*)` is read before definition",
        NotSupportedError,
        "an algorithm section reads `{0}`, or pre({0}), before it sets it, which is not supported outside of when",
        "write it as an equation, or move it into a when-clause",
        r"\balgorithm\b",
    ),
    MessageRule(
        r"event tensor loop must cover every target axis",
        NotSupportedError,
        "a loop in a when-clause of an algorithm section does not set every element of an array once, which is not "
        "supported",
        "put the loop into a function, and call it in the when-clause: `s := f(x)`",
        r"\bfor\b(?=[^;]*\bloop\b)",
    ),
    MessageRule(
        r"unsupported model algorithm(?: in canonical DAE)?: ([^;\[]*)",
        NotSupportedError,
        "an algorithm section is not supported: {0}",
        "write equations, or put the statements into a function",
        r"\balgorithm\b",
    ),
    MessageRule(
        r"owned by clock identity|duplicate condition clock owner",
        NotSupportedError,
        "a variable is set or read under several sample(...) here, which is not supported in this form",
        "name each: `Boolean tick = sample(0, 0.1) and true;`, and write `when tick then`",
        r"\bsample\s*\(",
    ),
    MessageRule(
        r"when-equation inside an if-equation with non-evaluable condition",
        ModelError,
        "a when-clause stands inside an if-equation whose condition is not a parameter's",
        "move the condition into the when-clause: `when c and x > 1 then`",
        r"\bwhen\b",
    ),
    MessageRule(
        r"a discrete-valued equation must have one unsubscripted resolved coordinate as its left-hand side",
        ModelError,
        "an equation for a Boolean, Integer or enumeration does not have that variable alone on its left side",
        "solve the equation for its variable; for elements of an array write the whole array",
    ),
    MessageRule(
        r"`([^`]*)` is discrete-valued and read by the model, but its definition reads the continuous-time `([^`]*)`",
        ModelError,
        "`{0}` is Boolean, Integer or an enumeration, but its equation reads `{1}` where no event is generated",
        "leave out noEvent and smooth in that equation",
        "{0}",
    ),
    MessageRule(
        r"operator '('[^`]*')' may only be declared directly inside an operator record",
        NotSupportedError,
        "the function {0} has a quoted name, which is taken for an operator",
        "give the function a name without quotes",
        "function",
    ),
    MessageRule(
        r"End name '([^']*)' does not match class name '([^']*)' \(line (\d+)\)",
        ModelError,
        "the class `{1}` ends with `end {0}` in line {2}",
        "write `end {1};`, or look for an `end` that is missing before",
    ),
    MessageRule(
        r"Modelica only allows functional call statement as equation: SimpleEquation \{ simple_expression: Eq",
        ModelError,
        "`==` compares: it does not make an equation",
        "write `=`",
        r"==",
    ),
    MessageRule(
        r"Modelica only allows functional call statement as equation",
        ModelError,
        "an expression stands where an equation is needed",
        "write `left = right`",
    ),
    MessageRule(
        r"array dimension mismatch: expected `([^`]*)`, found `([^`]*)`",
        ModelError,
        "the sizes of two sides differ: {0} is needed, {1} is given",
        "compare the sizes on both sides",
    ),
    MessageRule(
        r"initial algorithm target `([^`]*)`",
        NotSupportedError,
        "the initial algorithm assigns to `{0}`, which is not supported",
        "write it as an initial equation",
        r"\binitial\s+algorithm\b",
    ),
    MessageRule(
        r"interval must be strictly positive",
        ModelError,
        "the interval of sample(...) or of a clock must be positive",
        "write a positive number of seconds",
        r"\b(?:sample|Clock)\s*\(",
    ),
    MessageRule(
        r"sample (start|interval) is not parameter-evaluable: (?:unknown variable: )?(.*)",
        NotSupportedError,
        "the {0} of sample(...) is not made of parameters and numbers: {1}",
        "for a changing interval write `when time >= pre(next) then next = time + interval; ...`",
        r"\bsample\s*\(",
    ),
    MessageRule(
        r"duplicate discrete \w+ when owner definition",
        ModelError,
        "a variable is set in two when-clauses",
        "write one when-clause with elsewhen",
        r"\bwhen\b",
    ),
    MessageRule(
        r"expression type mismatch: expected Boolean, found (\w+)",
        ModelError,
        "a condition, true or false, is needed where a value of type {0} is given",
        "compare it, as in `x > 0`",
    ),
    MessageRule(
        r"if-equation branches have mismatched equation counts.*branch counts \[([\d, ]*)\], else count none",
        ModelError,
        "an if-equation without else has equations ({0}), but its condition is not a parameter's",
        "add `else` with as many equations",
        r"\bif\b",
    ),
    MessageRule(
        r"if-equation branches have mismatched equation counts.*branch counts \[([\d, ]*)\]",
        ModelError,
        "the branches of an if-equation have different numbers of equations ({0})",
        "give each as many, or make the condition a parameter",
        r"\bif\b",
    ),
    MessageRule(
        r"for-equation range \w+ must be a constant integer or parameter \(.*got `([^`]*)`\)",
        ModelError,
        "the range of a for-equation depends on `{0}`, which is not a parameter or constant Integer",
        "make it a parameter",
        r"\bfor\b",
    ),
    MessageRule(
        r"requires inner declarations: (.*)",
        ModelError,
        "`{0}` is declared outer, but there is no inner one",
        "declare it with `inner` in the model or a class around",
    ),
    MessageRule(
        r"unsupported `fixed` attribute: (.*)",
        ModelError,
        "`fixed = {0}` cannot be decided: `fixed` may only depend on constants and parameters with known values",
        "write `fixed = true` or `fixed = false`",
        r"\bfixed\s*=(?!\s*(?:true|false)\b)",
    ),
    MessageRule(
        r"per-element `fixed` on parameter arrays is not supported: `([^`]*)`",
        NotSupportedError,
        "`fixed` differs between the elements of the parameter `{0}`, which is not supported",
        "declare the elements with `fixed = false` as a parameter of their own",
        "{0}",
    ),
    MessageRule(
        r"duplicate initial parameter value definition",
        ModelError,
        "two initial equations give the same Integer, Boolean or enumeration parameter its value",
        "keep one of them",
        r"\binitial\s+equation\b",
    ),
    MessageRule(
        r"`([^`]*)` is determined by more than one initial owner",
        ModelError,
        "more than one initial equation has the discrete variable `{0}` alone on one side",
        "keep one of them; where another variable is to be found, write the equation as `0 = ...`",
        r"\binitial\s+equation\b",
    ),
    MessageRule(
        r"`([^`]*)` is not a discrete coordinate",
        NotSupportedError,
        "a when-clause sets the array element `{0}`, which is not supported",
        "use a scalar variable, or set the whole array",
        r"\bwhen\b",
    ),
    MessageRule(
        r"when/elsewhen branches must assign to the same variables\. (.*)",
        ModelError,
        "when and elsewhen must set the same variables: {0}",
        "write separate when-clauses",
        r"\belsewhen\b",
    ),
    MessageRule(
        r"when-equation LHS must be a simple variable reference",
        ModelError,
        "an equation in a when-clause must have a variable alone on its left side",
        "solve the equation for its variable",
        r"\bwhen\b",
    ),
    MessageRule(
        r"pre\(`([^`]*)`\) names a continuous coordinate",
        ModelError,
        "pre({0}) of a continuous variable is allowed in when-clauses only",
        "read `{0}` itself, or move the equation into a when-clause",
        r"\bpre\s*\(",
    ),
    MessageRule(
        r"(?s)clock|previous|outside the checked DAE lowering grammar",
        NotSupportedError,
        "this use of clocks (synchronous Modelica) is not supported",
        "declare the clock as a variable (`Clock c = Clock(0.1)`), or write the equation without clocks",
        r"\b(?:Clock|sample|previous|hold|subSample)\b",
    ),
    MessageRule(
        r"`([^`]*)` participates in an internal current-value dependency cycle",
        NotSupportedError,
        "discrete variables of one when-clause or algorithm section read each other's new values in a circle, or an if "
        "in it reads `{0}`, which the clause itself sets",
        "write if-expressions instead of if, pre({0}) for the value before, or when-clauses of their own",
        "{0}",
    ),
    MessageRule(
        r"reads discrete-value identity \d+ before its semantic owner",
        NotSupportedError,
        "a when-clause reads an Integer or Boolean that it sets itself, in its condition or through another variable "
        "that it sets",
        "write pre(v) in the condition, or when-clauses of their own",
        r"\bwhen\b",
    ),
    MessageRule(
        r"state-machine|initialState",
        NotSupportedError,
        "state machines are not supported",
        "write the states with when-clauses or Boolean variables",
        r"\binitialState\b",
    ),
    MessageRule(
        r"`spatialDistribution`",
        NotSupportedError,
        "spatialDistribution(...) is not supported",
        "divide the length into finite volumes",
        r"\bspatialDistribution\b",
    ),
    MessageRule(
        r"delay\(\) time argument must have type `Real`",
        ModelError,
        "the delay time of delay(...) must be Real",
        "write it with a decimal point: `delay(x, 1.0)`",
        r"\bdelay\b",
    ),
    MessageRule(
        r"unsupported type `[\w.]*ExternalCombiTable2D`",
        NotSupportedError,
        "tables of two arguments (CombiTable2D) are not supported",
        "use CombiTable1D, or write the formula",
        r"\bCombiTable2D\w*",
    ),
    MessageRule(
        r"has unsupported type `([^`]*)`",
        NotSupportedError,
        "external objects (`{0}`) are not supported",
        "use a function or a table of the Standard Library instead",
        "{0}",
    ),
    MessageRule(
        r"unsupported runtime operator `([^`]*)`",
        NotSupportedError,
        "the operator `{0}` is not supported",
        "write it out with other functions",
        "{0}",
    ),
    MessageRule(
        r"equality comparison on Real",
        ModelError,
        "Real values are compared with == or <>",
        "compare with a tolerance: `abs(a - b) < 1e-10`",
        r"==|<>",
    ),
    MessageRule(
        r"expected Real, found Integer",
        ModelError,
        "an Integer stands where rumoca needs a Real",
        "write numbers with a decimal point: `{{1.0, 0.0, 0.0}}`",
        r"\bcross\s*\(",
    ),
    MessageRule(
        r"expected a numeric expression, found Boolean",
        NotSupportedError,
        "a Boolean stands where a number is needed; of initial equations for Booleans, `b = <a value>`, "
        "`pre(b) = <a value>` and `pre(b) = pre(c)` are supported",
        "write an if-expression with numbers, or a start value with fixed = true instead of the initial equation",
    ),
    MessageRule(
        r"expected a numeric expression",
        NotSupportedError,
        "a number is needed; neither converting an enumeration with Integer(...) nor an initial equation that gives an "
        "enumeration a value is supported",
        "compare the enumeration with its values in an if-expression, or give it a start value with fixed = true",
        r"\bInteger\s*\(",
    ),
    MessageRule(
        r"the initial equation relating `([^`]*)` and `([^`]*)` leaves their initialization value undetermined",
        NotSupportedError,
        "the initial equation between `{0}` and `{1}` is not supported: neither of them has a value of its own",
        "give one of them start = ..., fixed = true, or the equation `pre(...) = <a value>`",
        "{0}",
    ),
    MessageRule(
        r"for-equation range must be a constant range",
        NotSupportedError,
        "a for-equation runs over something else than a range of numbers",
        "write `for i in 1:n`, with n a parameter or constant",
        r"\bfor\b",
    ),
    MessageRule(
        r"unbalanced model: (\d+) equations, (\d+) unknowns",
        ModelError,
        "the model has {0} equation{s} for {1} unknown{t}",
        "{balance}",
    ),
    MessageRule(
        r"unresolved type reference: '([^']*)'|base class not found: `([^`]*)`|unresolved import: '([^']*)'",
        ModelError,
        "class `{0}` was not found",
        LIBRARY,
        "{0}",
    ),
    MessageRule(
        r"unresolved extends base class: '([^']*)'|redeclaration error for `([^`]*)`: .* did not resolve to a class",
        ModelError,
        "class `{0}` was not found",
        LIBRARY,
        "{0}",
    ),
    MessageRule(
        r"unresolved function call: '([^']*)'",
        ModelError,
        "function `{0}` was not found",
        LIBRARY,
        "{0}",
    ),
    MessageRule(
        r"unresolved component reference: '([^']*)'|unresolved Flat reference `([^`]*)`",
        ModelError,
        "`{0}` is not declared",
        "declare it, or look for a misspelt name",
        "{0}",
    ),
    MessageRule(
        r"component '([^']*)' instantiates partial model '([^']*)'",
        ModelError,
        "`{0}` is of the partial class `{1}`, which cannot be used alone",
        "use a class that extends it",
        "{0}",
    ),
    MessageRule(
        r"cyclic dependency in parameter binding for '([^']*)'",
        ModelError,
        "parameter `{0}` depends on itself",
        "give one of the parameters in the circle a value of its own",
        "{0}",
    ),
    MessageRule(
        r"`([^`]*)` cannot be evaluated: (.*)",
        ModelError,
        "the value of parameter `{0}` cannot be computed: {1}",
        "check the parameters in its declaration",
        "{0}",
    ),
    MessageRule(
        r"Duplicate declaration of '([^']*)' at line (\d+) \(first declared at line (\d+)\)",
        ModelError,
        "`{0}` is declared in line {2} and again in line {1}",
        "rename one of the two",
    ),
    MessageRule(
        r"unknown modifier `([^`]*)` for component `([^`]*)` of type `([^`]*)`",
        ModelError,
        "`{1}` is modified with `{0}`, which its class `{2}` does not have",
        "look for a misspelt name",
        "{0}",
    ),
    MessageRule(
        r"invalid call of function `([^`]*)`: (.*)",
        ModelError,
        "wrong call of function `{0}`: {1}",
        "give all inputs that have no default",
        "{0}",
    ),
    MessageRule(
        r"subscript (\S+) for `([^`]*)` is out of bounds for dimension of size (\d+)",
        ModelError,
        "array index {0} of `{1}` is outside 1..{2}",
        "change the index or the size of the array",
        "{1}",
    ),
    MessageRule(
        r"type mismatch: expected `Integer`, found `Real`",
        ModelError,
        "an Integer is needed, a Real is given",
        "convert it with integer(...), or declare the variable as Real; div and mod of Real arguments are Real, too",
    ),
    MessageRule(
        r"type mismatch: expected `([^`]*)`, found `([^`]*)`",
        ModelError,
        "{a} {0} is needed, {b} {1} is given",
        "change the type of one side",
    ),
    MessageRule(
        r"expression shape mismatch",
        ModelError,
        "the sizes of two arrays in an equation or a declaration differ",
        "compare the sizes on both sides",
    ),
    MessageRule(
        r"no entry found for key",
        NotSupportedError,
        "rumoca stopped inside itself: an array of records is probably indexed by a loop variable",
        "use arrays of Real instead of an array of records in the loop",
        r"\bfor\b",
    ),
    MessageRule(
        r"ended inside an unfinished model|unexpected (?:end of input|`[^`]*`)",
        ModelError,
        "syntax error: {found}",
        "check this line and the one before it",
    ),
)
