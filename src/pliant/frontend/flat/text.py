"""A flat model as text for people and tests, close to Base Modelica (Modelica change proposal 31).

Names that are no identifiers stand in quotes: ``'r[2].p.v'``. Expressions are written with an explicit stack, so that
no nesting is too deep.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pliant.frontend.flat.expressions import (
    LOGICAL,
    NONE,
    RELATIONS,
    WHOLE,
    ClockInterval,
    ClockTick,
    FlatArray,
    FlatBinary,
    FlatBuiltin,
    FlatCall,
    FlatChoice,
    FlatComprehension,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatLoop,
    FlatOutput,
    FlatRange,
    FlatRecord,
    FlatReduction,
    FlatTuple,
    FlatUnary,
    FlatUpdate,
    IteratorRef,
    LocalRef,
    TimeRef,
    VariableRef,
)
from pliant.frontend.flat.model import (
    FlatAlgorithm,
    FlatAssert,
    FlatAssign,
    FlatBranch,
    FlatBreak,
    FlatClock,
    FlatEquation,
    FlatFor,
    FlatFunction,
    FlatIf,
    FlatInvoke,
    FlatItem,
    FlatModel,
    FlatReinit,
    FlatReturn,
    FlatTerminate,
    FlatVariable,
    FlatWhen,
    FlatWhile,
)
from pliant.frontend.flat.types import BaseType, Causality, Prefix, Type, Variability
from pliant.ir import StateSelect

_IDENT = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_LOOSE, _RANGE, _OR, _AND, _NOT, _RELATION, _SUM, _PRODUCT, _POWER, _TIGHT = range(10)
_WORDS = {
    Variability.CONSTANT: "constant ",
    Variability.PARAMETER: "parameter ",
    Variability.DISCRETE: "discrete ",
    Variability.CONTINUOUS: "",
}
Part = str | tuple[int, int]  # a text, or an expression and how tightly it is held
Parts = list[Part]


def quoted(name: str) -> str:
    """A name as it stands in the text."""
    if _IDENT.fullmatch(name):
        return name
    inner = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{inner}'"


class FlatText:
    """Writes parts of one model."""

    def __init__(self, flat: FlatModel) -> None:
        self.flat, self.nodes, self.types = flat, flat.expressions.nodes, flat.expressions.types
        seen: dict[str, int] = {}
        self.function_names: list[str] = []
        for function in flat.functions:  # specialised ones have the name of the one function that was written
            seen[function.name] = seen.get(function.name, 0) + 1
            again = f":{seen[function.name]}" if seen[function.name] > 1 else ""
            self.function_names.append(quoted(function.name + again))

    # -------------------------------------------------------------------------------------- expressions

    def expression(self, e: int, held: int = _LOOSE) -> str:
        """One expression; ``held``: how tightly what stands around binds."""
        found: list[str] = []
        stack: Parts = [(e, held)]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                found.append(part)
                continue
            number, outside = part
            node = self.nodes[number]
            own, parts = _WRITERS[node.__class__](self, node, number)
            if own < outside:
                parts = ["(", *parts, ")"]
            stack.extend(reversed(parts))
        return "".join(found)

    def literal(self, node: FlatLiteral, number: int) -> tuple[int, Parts]:
        """A number, string, truth value or value of an enumeration."""
        value, of = node.value, self.types[number]
        if isinstance(value, str):
            escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
            return _TIGHT, [f'"{escaped}"']
        if of.base is BaseType.ENUMERATION:
            place = int(value)
            if 0 <= of.number < len(self.flat.enumerations):
                known = self.flat.enumerations[of.number]
                if 1 <= place <= len(known.literals):
                    return _TIGHT, [f"{quoted(known.name)}.{quoted(known.literals[place - 1])}"]
            return _TIGHT, [f"enumeration({place})"]
        if isinstance(value, bool) or of.base is BaseType.BOOLEAN:
            return _TIGHT, ["true" if value else "false"]
        return (_SUM if value < 0 else _TIGHT), [repr(value)]

    def type_name(self, of: Type) -> str:
        """``Real[3]``."""
        word = of.base.value
        if of.base is BaseType.RECORD and of.number >= 0:
            word = quoted(self.flat.records[of.number].name)
        elif of.base is BaseType.ENUMERATION and of.number >= 0:
            word = quoted(self.flat.enumerations[of.number].name)
        return word + (f"[{', '.join(':' if n is None else str(n) for n in of.shape)}]" if of.shape else "")

    # -------------------------------------------------------------------------------------- declarations

    def variable(self, v: FlatVariable) -> str:
        """One declaration."""
        head = "protected " if v.is_protected else ""
        head += f"{v.prefix.value} " if v.prefix is not Prefix.NONE else ""
        head += "final " if v.is_final else ""
        is_implied = v.type.base is not BaseType.REAL and v.variability is Variability.DISCRETE
        head += "" if is_implied else _WORDS[v.variability]
        head += f"{v.causality.value} " if v.causality is not Causality.LOCAL else ""
        given = [f"{name} = {self.expression(e)}" for name in _ATTRIBUTES if (e := getattr(v, name)) is not None]
        if v.fixed:
            words = ["true" if one else "false" for one in v.fixed]
            given.append(f"fixed = {words[0] if len(words) == 1 else '{' + ', '.join(words) + '}'}")
        if v.state_select is not StateSelect.DEFAULT:
            given.append(f"stateSelect = StateSelect.{v.state_select.name.lower()}")
        if v.unit:
            given.append(f'unit = "{v.unit}"')
        if v.clock != NONE:
            given.append(f"clock = {v.clock + 1}")
        text = f"{head}{self.type_name(v.type)} {quoted(v.name)}" + (f"({', '.join(given)})" if given else "")
        if v.binding is not None:
            text += f" = {self.expression(v.binding)}"
        return f"{text};" + (f" // {v.locked}" if v.locked else "")

    def function(self, number: int) -> list[str]:
        """One function."""
        function = self.flat.functions[number]
        lines = [f"{'' if function.is_pure else 'impure '}function {self.function_names[number]}"]
        for k, one in enumerate(function.locals):
            is_input, is_output = k < function.n_inputs, k < function.n_inputs + function.n_outputs
            word = "input" if is_input else "output" if is_output else "protected"
            value = "" if one.binding is None else f" = {self.expression(one.binding)}"
            lines.append(f"  {word} {self.type_name(one.type)} {quoted(one.name)}{value};")
        if function.external is not None:
            external = function.external
            result = "" if external.result == NONE else f"{self.expression(external.result)} = "
            given = ", ".join(map(self.expression, external.arguments))
            lines.append(f'external "{external.language}" {result}{external.symbol}({given});')
        if function.body:
            lines += ["algorithm", *self.items(function.body, 1)]
        if function.partial is not None:
            by = ", ".join(quoted(function.locals[k].name) for k in function.partial.inputs)
            lines.append(f"  // der({self.function_names[function.partial.function]}, {by})")
        notes = self._annotations(function)
        return [*lines, *notes, f"end {self.function_names[number]};"]

    def _annotations(self, function: FlatFunction) -> list[str]:
        found = []
        for one in function.derivatives:
            asks = zip(function.inputs, one.inputs, strict=False)
            parts = [f"{word}Derivative = {quoted(own.name)}" for own, word in asks if word in ("zero", "no")]
            given = f"({', '.join([f'order = {one.order}', *parts])})" if parts or one.order > 1 else ""
            found.append(f"derivative{given} = {self.function_names[one.function]}")
        for rule in function.inverses:
            found.append(f"inverse({quoted(function.locals[rule.input].name)} = {self.expression(rule.value)})")
        found += [f"smoothOrder = {function.smooth_order}"] if function.smooth_order is not None else []
        found += [f'inline = "{function.inline}"'] if function.inline else []
        return [f"  annotation({', '.join(found)});"] if found else []

    def clock(self, clock: FlatClock) -> str:
        """One clock as a comment."""
        if clock.condition != NONE:
            return f"{clock.kind} clock: {self.expression(clock.condition)}"
        (a, b), (c, d) = clock.first, clock.interval
        text = f"{clock.kind} clock: {a}/{b} + k * {c}/{d}"
        return text + (f", of clock {clock.base + 1}" if clock.base != NONE else "")

    # --------------------------------------------------------------------------------------------- items

    def items(self, items: Sequence[FlatItem], depth: int) -> list[str]:
        """Equations or statements."""
        found: list[str] = []
        stack: list[tuple[FlatItem | str, int]] = [(item, depth) for item in reversed(items)]
        while stack:
            item, level = stack.pop()
            if isinstance(item, str):
                found.append("  " * level + item)
                continue
            inner = self._block(item, level)
            if inner is None:
                found.append("  " * level + self.line(item))
            else:
                stack.extend(reversed(inner))
        return found

    def _block(self, item: FlatItem, level: int) -> list[tuple[FlatItem | str, int]] | None:
        """Head, body and end of an item that has others inside."""

        def body(items: Iterable[FlatItem]) -> list[tuple[FlatItem | str, int]]:
            return [(one, level + 1) for one in items]

        def branches(word: str, others: str, of: tuple[FlatBranch, ...]) -> list[tuple[FlatItem | str, int]]:
            found: list[tuple[FlatItem | str, int]] = []
            for k, branch in enumerate(of):
                found.append((f"{others if k else word} {self.expression(branch.condition)} then", level))
                found += body(branch.body)
            return found

        if isinstance(item, FlatFor):
            return [(f"for {self.loops(item.loops)} loop", level), *body(item.body), ("end for;", level)]
        if isinstance(item, FlatWhile):
            return [(f"while {self.expression(item.condition)} loop", level), *body(item.body), ("end while;", level)]
        if isinstance(item, FlatWhen):
            return [*branches("when", "elsewhen", item.branches), ("end when;", level)]
        if isinstance(item, FlatIf):
            last: list[tuple[FlatItem | str, int]] = [("else", level), *body(item.otherwise)] if item.otherwise else []
            return [*branches("if", "elseif", item.branches), *last, ("end if;", level)]
        return None

    def loops(self, loops: tuple[FlatLoop, ...]) -> str:
        """``i in 1:3, j in a``."""
        names = self.flat.iterators
        return ", ".join(f"{quoted(names[one.iterator].name)} in {self.expression(one.range)}" for one in loops)

    def line(self, item: FlatItem) -> str:
        """An item without others inside."""
        text = self.expression
        match item:
            case FlatEquation():
                note = f" // {item.origin}" if item.origin != "equation" else ""
                note += f" // clock {item.clock + 1}" if item.clock != NONE else ""
                return f"{text(item.left, _OR)} = {text(item.right)};{note}"
            case FlatAssign():
                return f"{text(item.target)} := {text(item.value)};"
            case FlatReinit():
                return f"reinit({text(item.state)}, {text(item.value)});"
            case FlatAssert():
                level = "" if item.is_error else ", AssertionLevel.warning"
                return f"assert({text(item.condition)}, {text(item.message)}{level});"
            case FlatTerminate():
                return f"terminate({text(item.message)});"
            case FlatInvoke():
                return f"{text(item.call)};"
            case FlatBreak():
                return "break;"
            case FlatReturn():
                return "return;"
        raise TypeError(item)

    def section(self, head: str, items: Sequence[FlatItem]) -> list[str]:
        """A section, nothing if it is empty."""
        return [head, *self.items(items, 1)] if items else []

    def algorithms(self, head: str, sections: Sequence[FlatAlgorithm]) -> list[str]:
        """Sections, one after the other."""
        return [line for one in sections for line in self.section(head, one.body)]


def flat_text(flat: FlatModel) -> str:
    """The whole model."""
    out, name = FlatText(flat), quoted(flat.name)
    lines: list[str] = []
    for number in range(len(flat.functions)):
        lines += [*out.function(number), ""]
    for record in flat.records:
        lines.append(f"record {quoted(record.name)}")
        lines += [f"  {out.type_name(one.type)} {quoted(one.name)};" for one in record.fields]
        lines += [f"end {quoted(record.name)};", ""]
    for enumeration in flat.enumerations:
        literals = ", ".join(map(quoted, enumeration.literals))
        lines += [f"type {quoted(enumeration.name)} = enumeration({literals});", ""]
    lines.append(f"model {name}")
    lines += [f"  // clock {k}: {out.clock(one)}" for k, one in enumerate(flat.clocks, 1)]
    lines += [f"  {out.variable(variable)}" for variable in flat.variables]
    lines += out.section("initial equation", flat.initial_equations)
    lines += out.algorithms("initial algorithm", flat.initial_algorithms)
    lines += out.section("equation", flat.equations)
    lines += out.algorithms("algorithm", flat.algorithms)
    return "\n".join([*lines, f"end {name};", ""])


_ATTRIBUTES = ("start", "min", "max", "nominal")


# ------------------------------------------------------------------------------------------------ expressions


def _listed(head: str, given: Iterable[int], tail: str, separator: str = ", ", held: int = _LOOSE) -> Parts:
    parts: Parts = [head]
    for k, e in enumerate(given):
        if k:
            parts.append(separator)
        parts.append("" if e == NONE else (e, held))
    return [*parts, tail]


def _subscripts(given: tuple[int, ...]) -> Parts:
    parts: Parts = ["["]
    for k, e in enumerate(given):
        if k:
            parts.append(", ")
        parts.append(":" if e == WHOLE else (e, _LOOSE))
    return [*parts, "]"]


def _unary(_: FlatText, node: FlatUnary, __: int) -> tuple[int, Parts]:
    if node.operator == "not":
        return _NOT, ["not ", (node.operand, _RELATION)]
    return _SUM, [node.operator, (node.operand, _PRODUCT)]


def _binary(_: FlatText, node: FlatBinary, __: int) -> tuple[int, Parts]:
    operator = node.operator
    level = (
        _RELATION
        if operator in RELATIONS
        else (_AND if operator == "and" else _OR)
        if operator in LOGICAL
        else _POWER
        if operator[-1] == "^"
        else _SUM
        if operator[-1] in "+-"
        else _PRODUCT
    )
    is_left = level not in (_RELATION, _POWER)  # a - b - c is (a - b) - c; others do not associate
    return level, [(node.left, level if is_left else level + 1), f" {operator} ", (node.right, level + 1)]


def _if(_: FlatText, node: FlatChoice, __: int) -> tuple[int, Parts]:
    parts: Parts = []
    for k in range(0, len(node.operands) - 1, 2):
        parts += ["elseif " if k else "if ", (node.operands[k], _LOOSE), " then ", (node.operands[k + 1], _LOOSE), " "]
    return _LOOSE, [*parts, "else ", (node.operands[-1], _LOOSE)]


def _range(_: FlatText, node: FlatRange, __: int) -> tuple[int, Parts]:
    middle: Parts = [] if node.step == NONE else [(node.step, _OR), ":"]
    return _RANGE, [(node.start, _OR), ":", *middle, (node.stop, _OR)]


def _record(out: FlatText, node: FlatRecord, number: int) -> tuple[int, Parts]:
    return _TIGHT, _listed(f"{out.type_name(out.types[number])}(", node.fields, ")")


def _field(out: FlatText, node: FlatField, __: int) -> tuple[int, Parts]:
    of = out.types[node.base]
    return _TIGHT, [(node.base, _TIGHT), f".{quoted(out.flat.records[of.number].fields[node.number].name)}"]


def _builtin(_: FlatText, node: FlatBuiltin, __: int) -> tuple[int, Parts]:
    if node.name == "[;]":
        return _TIGHT, _listed("[", node.operands, "]", "; ")
    if node.name == "[,]":
        return _TIGHT, _listed("[", node.operands, "]")
    return _TIGHT, _listed(f"{node.name}(", node.operands, ")")


def _local(out: FlatText, node: LocalRef, __: int) -> tuple[int, Parts]:
    return _TIGHT, [quoted(out.flat.functions[node.function].locals[node.number].name)]


def _update(_: FlatText, node: FlatUpdate, __: int) -> tuple[int, Parts]:
    return _TIGHT, [
        "update(",
        (node.base, _LOOSE),
        ", ",
        *_subscripts(node.subscripts),
        ", ",
        (node.value, _LOOSE),
        ")",
    ]


_Writer = Callable[[FlatText, Any, int], tuple[int, Parts]]
_WRITERS: dict[type, _Writer] = {
    FlatLiteral: FlatText.literal,
    VariableRef: lambda out, n, _: (_TIGHT, [quoted(out.flat.variables[n.variable].name)]),
    TimeRef: lambda _, __, ___: (_TIGHT, ["time"]),
    IteratorRef: lambda out, n, _: (_TIGHT, [quoted(out.flat.iterators[n.number].name)]),
    LocalRef: _local,
    FlatUnary: _unary,
    FlatBinary: _binary,
    FlatChoice: _if,
    FlatArray: lambda _, n, __: (_TIGHT, _listed("{", n.elements, "}")),
    FlatRecord: _record,
    FlatField: _field,
    FlatRange: _range,
    FlatIndex: lambda _, n, __: (_TIGHT, [(n.base, _TIGHT), *_subscripts(n.subscripts)]),
    FlatUpdate: _update,
    FlatComprehension: lambda out, n, _: (
        _TIGHT,
        ["{", (n.body, _LOOSE), f" for {out.loops(n.loops)}", "}"],
    ),
    FlatReduction: lambda out, n, _: (
        _TIGHT,
        [f"{n.name}(", (n.body, _LOOSE), f" for {out.loops(n.loops)})"],
    ),
    FlatBuiltin: _builtin,
    FlatCall: lambda out, n, _: (
        _TIGHT,
        _listed(f"{out.function_names[n.function]}(", n.operands, ")"),
    ),
    FlatOutput: lambda _, n, __: (_TIGHT, [(n.call, _TIGHT), f".{n.number + 1}"]),
    FlatTuple: lambda _, n, __: (_TIGHT, _listed("(", n.elements, ")")),
    ClockTick: lambda _, n, __: (_TIGHT, [f"tick({n.clock + 1})"]),
    ClockInterval: lambda _, n, __: (_TIGHT, [f"interval({n.clock + 1})"]),
}
