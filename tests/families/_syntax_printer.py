"""A syntax tree as Modelica text, token by token, with as few parentheses as the grammar needs."""

from __future__ import annotations

from collections.abc import Iterable

from pliant.frontend.modelica.syntax import tree as t
from pliant.frontend.modelica.syntax.tokens import quoted

# levels of the grammar: what stands at a place must have at least its level, or gets parentheses
IF, RANGE, OR, AND, NOT, RELATION, SUM, TERM, FACTOR, PRIMARY = range(10)
BINARY = {
    "or": (OR, OR, AND),
    "and": (AND, AND, NOT),
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "<>"), (RELATION, SUM, SUM)),
    **dict.fromkeys(("+", "-", ".+", ".-"), (SUM, SUM, TERM)),
    **dict.fromkeys(("*", "/", ".*", "./"), (TERM, TERM, FACTOR)),
    **dict.fromkeys(("^", ".^"), (FACTOR, PRIMARY, PRIMARY)),
}
Words = list[str]


def level(node: t.Expression) -> int:
    if isinstance(node, t.If):
        return IF
    if isinstance(node, t.Range):
        return RANGE
    if isinstance(node, t.Binary):
        return BINARY[node.operator][0]
    if isinstance(node, t.Unary):
        return NOT if node.operator == "not" else SUM
    return PRIMARY


def expression(node: t.Expression, place: int = IF) -> Words:
    words = bare(node)
    return words if level(node) >= place else ["(", *words, ")"]


def bare(node: t.Expression) -> Words:
    match node:
        case t.RealLiteral():
            text = repr(node.value)
            return [text if "." in text or "e" in text else text + "."]
        case t.IntegerLiteral():
            return [str(node.value)]
        case t.StringLiteral():
            return [quoted(node.value)]
        case t.BooleanLiteral():
            return ["true" if node.value else "false"]
        case t.End():
            return ["end"]
        case t.Colon():
            return [":"]
        case t.Break():
            return ["break"]
        case t.Reference():
            return reference(node)
        case t.Unary():
            return [node.operator, *expression(node.operand, RELATION if node.operator == "not" else TERM)]
        case t.Binary():
            _, left, right = BINARY[node.operator]
            return [*expression(node.left, left), node.operator, *expression(node.right, right)]
        case t.Range():
            parts = [one for one in (node.first, node.step, node.last) if one is not None]
            return joined([expression(one, OR) for one in parts], ":")
        case t.If():
            words: Words = []
            for k, (condition, value) in enumerate(node.branches):
                words += ["elseif" if k else "if", *expression(condition), "then", *expression(value)]
            return [*words, "else", *expression(node.otherwise, RANGE)]
        case t.ArrayConstructor():
            return ["{", *listed(node.elements), "}"]
        case t.Concatenation():
            return ["[", *joined([listed(row) for row in node.rows], ";"), "]"]
        case t.Tuple():
            return ["(", *joined([expression(one) if one is not None else [] for one in node.items], ","), ")"]
        case t.ArrayComprehension():
            return ["{", *expression(node.value), *indices(node.indices), "}"]
        case t.ReductionCall():
            return [*reference(node.function), "(", *expression(node.value), *indices(node.indices), ")"]
        case t.Call():
            arguments = [expression(one) for one in node.arguments] + [named(one) for one in node.named]
            return [*reference(node.function), "(", *joined(arguments, ","), ")"]
        case t.PartialApplication():
            inside = joined([named(one) for one in node.named], ",")
            return ["function", *reference(node.function), "(", *inside, ")"]
    raise TypeError(type(node))


def named(node: t.NamedArgument) -> Words:
    return [node.name, "=", *expression(node.value)]


def indices(nodes: Iterable[t.ForIndex]) -> Words:
    return [
        "for",
        *joined([[one.name, *(["in", *expression(one.values)] if one.values else [])] for one in nodes], ","),
    ]


def reference(node: t.Reference) -> Words:
    words: Words = ["."] if node.rooted else []
    for k, name in enumerate(node.names):
        words += ["."] if k else []
        words.append(name)
        if node.subscripts and node.subscripts[k]:
            words += ["[", *listed(node.subscripts[k]), "]"]
    return words


def listed(nodes: Iterable[t.Expression]) -> Words:
    return joined([expression(one) for one in nodes], ",")


def joined(parts: Iterable[Words], by: str) -> Words:
    words: Words = []
    for k, part in enumerate(parts):
        words += [by, *part] if k else part
    return words


# -------------------------------------------------------------------------------------------------------- modifications


def modification(node: t.Modification | None) -> Words:
    if node is None:
        return []
    words = ["(", *arguments(node.arguments), ")"] if node.arguments or node.value is None else []
    return words if node.value is None else [*words, "=", *expression(node.value)]


def arguments(nodes: Iterable[t.ModificationArgument]) -> Words:
    return joined([argument(one) for one in nodes], ",")


def argument(node: t.ModificationArgument) -> Words:
    match node:
        case t.Modifier():
            words = [word for word, given in (("each", node.each), ("final", node.final)) if given]
            return [*words, *joined([[one] for one in node.names], "."), *modification(node.modification), *text(node)]
        case t.Redeclaration():
            prefixes = node.element.prefixes
            words = ["redeclare"] if prefixes & t.REDECLARE else []
            words += ["each"] if node.each else []
            words += ["final"] if prefixes & t.FINAL else []
            words += ["replaceable"] if prefixes & t.REPLACEABLE else []
            if isinstance(node.element, t.Component):
                return [*words, *clause(node.element), *constraint(node.element.constraint)]
            return [*words, *definition(node.element)]
        case t.Exclusion():
            return ["break", *(connect(node.connection) if node.connection else [node.name])]
    raise TypeError(type(node))


def text(node: t.Modifier | t.Constraint | t.EnumerationLiteral) -> Words:
    return [quoted(node.description)] if node.description else []


def comment(description: str, annotation: t.Annotation | None) -> Words:
    words = [quoted(description)] if description else []
    return words if annotation is None else [*words, "annotation", "(", *arguments(annotation.arguments), ")"]


def constraint(node: t.Constraint | None) -> Words:
    if node is None:
        return []
    words = ["constrainedby", *reference(node.base), *modification(node.modification)]
    return [*words, *comment(node.description, node.annotation)]


# -------------------------------------------------------------------------------------------------------------- classes


def clause(node: t.Component) -> Words:
    words = [word for word in (node.connection, node.variability, node.causality) if word]
    words += [*reference(node.type), node.name]
    words += ["[", *listed(node.dimensions), "]"] if node.dimensions else []
    words += modification(node.modification)
    words += ["if", *expression(node.condition)] if node.condition is not None else []
    return [*words, *comment(node.description, node.annotation)]


def prefixes(mask: int) -> Words:
    words = ("redeclare", "final", "inner", "outer", "replaceable")
    return [word for word in words if mask & t.PREFIX_WORDS[word]]


def definition(node: t.ClassDefinition) -> Words:
    words = [word for word in ("encapsulated", "partial", "pure", "impure") if node.prefixes & t.PREFIX_WORDS[word]]
    words += node.kind.split()
    match node:
        case t.ShortClass():
            words += [node.name, "=", *([node.causality] if node.causality else []), *reference(node.base)]
            words += ["[", *listed(node.dimensions), "]"] if node.dimensions else []
            words += modification(node.modification)
            words += comment(node.description, node.annotation)
        case t.Enumeration():
            values: Words = [":"]
            if node.literals is not None:
                values = joined([[one.name, *comment(one.description, one.annotation)] for one in node.literals], ",")
            words += [node.name, "=", "enumeration", "(", *values, ")", *comment(node.description, node.annotation)]
        case t.DerivativeClass():
            inside = joined([reference(node.function), *([one] for one in node.variables)], ",")
            words += [node.name, "=", "der", "(", *inside, ")", *comment(node.description, node.annotation)]
        case t.LongClass():
            words += ["extends"] if node.is_extension else []
            words += [node.name, *body(node.body), "end", node.name]
    return [*words, *constraint(node.constraint)]


def body(node: t.Body) -> Words:
    words = modification(node.modification)
    words += [quoted(node.description)] if node.description else []
    protected = False
    for one in node.elements:
        mask = one.prefixes if isinstance(one, (t.Component, t.ClassDefinition, t.Extends)) else 0
        if not isinstance(one, t.Import) and bool(mask & t.PROTECTED) != protected:
            protected = not protected
            words.append("protected" if protected else "public")
        words += [*element(one), ";"]
    for head, equations in ((["initial"], node.initial_equations), ([], node.equations)):
        words += [*head, "equation", *block(equations)] if equations else []
    for head, sections in ((["initial"], node.initial_algorithms), ([], node.algorithms)):
        for section in sections:
            words += [*head, "algorithm", *block(section.statements)]
    if node.external is not None:
        words += external(node.external)
    return words if node.annotation is None else [*words, *comment("", node.annotation), ";"]


def external(node: t.External) -> Words:
    words = ["external", quoted(node.language)]
    if node.function:
        words += [*reference(node.output), "="] if node.output is not None else []
        words += [node.function, "(", *listed(node.arguments), ")"]
    return [*words, *comment("", node.annotation), ";"]


def element(node: t.Element) -> Words:
    match node:
        case t.Import():
            words = ["import", *([node.alias, "="] if node.alias else []), *joined([[one] for one in node.names], ".")]
            words += [".", "*"] if node.everything else []
            words += [".", "{", *joined([[one] for one in node.members], ","), "}"] if node.members else []
            return [*words, *comment(node.description, node.annotation)]
        case t.Extends():
            words = ["extends", *reference(node.base), *modification(node.modification)]
            return [*words, *comment("", node.annotation)]
        case t.Component():
            return [*prefixes(node.prefixes), *clause(node), *constraint(node.constraint)]
        case t.ClassDefinition():
            return [*prefixes(node.prefixes), *definition(node)]
    raise TypeError(type(node))


# ------------------------------------------------------------------------------------------- equations and statements


def block(nodes: Iterable[t.AnyEquation | t.AnyStatement]) -> Words:
    words: Words = []
    for one in nodes:
        words += [*phrase(one), *comment(one.description, one.annotation), ";"]
    return words


def connect(node: t.Connect) -> Words:
    return ["connect", "(", *reference(node.left), ",", *reference(node.right), ")"]


def phrase(node: t.AnyEquation | t.AnyStatement) -> Words:
    match node:
        case t.SimpleEquation():
            return [*expression(node.left, RANGE), "=", *expression(node.right)]
        case t.Assignment():
            return [*reference(node.target), ":=", *expression(node.value)]
        case t.TupleAssignment():
            return [*expression(node.targets), ":=", *expression(node.value)]
        case t.CallEquation() | t.CallStatement():
            return expression(node.call)
        case t.Connect():
            return connect(node)
        case t.BreakStatement():
            return ["break"]
        case t.ReturnStatement():
            return ["return"]
        case t.WhileStatement():
            return ["while", *expression(node.condition), "loop", *block(node.statements), "end", "while"]
        case t.ForEquation():
            return [*indices(node.indices), "loop", *block(node.equations), "end", "for"]
        case t.ForStatement():
            return [*indices(node.indices), "loop", *block(node.statements), "end", "for"]
        case t.IfEquation() | t.IfStatement():
            words = branches(node.branches, "if", "elseif")
            words += ["else", *block(node.otherwise)] if node.otherwise else []
            return [*words, "end", "if"]
        case t.WhenEquation() | t.WhenStatement():
            return [*branches(node.branches, "when", "elsewhen"), "end", "when"]
    raise TypeError(type(node))


def branches(
    nodes: Iterable[tuple[t.Expression, tuple[t.AnyEquation, ...] | tuple[t.AnyStatement, ...]]], first: str, more: str
) -> Words:
    words: Words = []
    for k, (condition, inside) in enumerate(nodes):
        words += [more if k else first, *expression(condition), "then", *block(inside)]
    return words


def stored(node: t.StoredDefinition) -> Words:
    words: Words = []
    if node.within is not None:
        words = ["within", *joined([[one] for one in node.within], "."), ";"]
    for one in node.classes:
        words += [*prefixes(one.prefixes), *definition(one), ";"]
    return words
