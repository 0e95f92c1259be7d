"""String variables that events set, as numbers: which text it is, and the numbers in it.

The texts that a variable may have differ in a finite number of forms, such as ``"on"``, ``"off"`` and ``"T = " +
String(T)``. A memory says which of them holds, further ones keep the numbers in it. What the forms are shows where all
clauses that set the variable are read: a model is read again with those that were found. Literals are looked for
before, so that models whose texts are literals are read once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING

from pliant.errors import NotSupportedError
from pliant.expr.build import binary, choose, const, value_of, var, variables_of
from pliant.frontend.flat.expressions import (
    FlatArray,
    FlatChoice,
    FlatField,
    FlatIndex,
    FlatLiteral,
    FlatRecord,
    FlatTuple,
    VariableRef,
)
from pliant.frontend.flat.model import FlatAlgorithm, FlatAssign, FlatEquation, walk
from pliant.frontend.flat.types import BaseType
from pliant.frontend.scalar.open_texts import settled
from pliant.frontend.scalar.symbols import element_names, is_parameter
from pliant.frontend.scalar.values import Arr, Value, leaves
from pliant.ir import Kind, Memory, Op, Span, Variable
from pliant.texts import ChosenText, NumberText, OpenText, operands_of, rewritten

if TYPE_CHECKING:
    from pliant.frontend.scalar.discrete import Discretes

State = tuple[int, list[int | None]]  # which form, from 1 on, and the numbers in it; None: it has fewer

UNKNOWN_FORM = OpenText([NumberText("real", 0, 1, 2, 3)])  # stands for those that are not found yet
MOST_READINGS = 6


@dataclass(frozen=True, slots=True)
class Forms:
    """Forms that were found: texts over places of numbers, from 0 on, or below 0 of constants."""

    texts: dict[tuple[int, int], tuple[str, ...]]  # by variable and element
    constants: dict[float, int]  # value -> its place, from 0 on


@dataclass(eq=False)
class _Element:
    """One scalar: variables of its memories, and the same before an event."""

    forms: tuple[str, ...]
    which: int
    slots: list[int]
    which_before: int
    slots_before: list[int]
    value: str = ""
    before: str = ""
    used: dict[str, int] = field(default_factory=dict)


class TextMemories:
    """String variables with a memory; ``known``: their forms, if they have been found."""

    def __init__(self, discretes: Discretes, known: Forms | None = None) -> None:
        self.d, self.run, self.g = discretes, discretes.run, discretes.g
        self.known = known
        self.constants: dict[float, int] = {} if known is None else dict(known.constants)
        self.elements: dict[int, list[_Element]] = {}
        self.of_text: dict[str, int] = {}  # the value of an element -> variable that says which text it is
        self.begun: dict[int, Value] = {}  # what initial equations say
        self.sources: dict[int, list[int]] | None = None

    # ------------------------------------------------------------------------------------------- declaration

    def declare(self, position: int) -> None:
        """Give a variable its memories."""
        symbols = self.d.symbols
        names = element_names(symbols.flat[position].name, symbols.shape(position))
        forms = [self._forms(position, k) for k in range(len(names))]
        which = [self._symbol(position, f"$text {name}", Kind.DISCRETE) for name in names]
        if which:
            symbols.base.setdefault(position, which[0])
        self.elements[position] = []
        for name, own, number in zip(names, forms, which, strict=True):
            n = max(sum(place >= 0 for place in operands_of(one)) for one in own)
            slots = [self._symbol(position, f"$text {name}, {j}", Kind.DISCRETE) for j in range(1, n + 1)]
            past = [self._symbol(position, f"pre($text {name}, {j})", Kind.BEFORE) for j in range(n + 1)]
            element = _Element(own, number, slots, past[0], past[1:])
            element.value = self._text(own, number, slots)
            element.before = self._text(own, past[0], past[1:])
            self.of_text[element.value] = number
            self.elements[position].append(element)

    def _symbol(self, position: int, name: str, kind: Kind) -> int:
        own = self.d.flat.variables[position]
        number = len(self.d.symbols.variables)
        self.d.symbols.variables.append(Variable(name, kind, fixed=True, is_discrete=True, span=own.span))
        self.d.symbols.owner.append(position)
        return number

    def _text(self, forms: tuple[str, ...], which: int, slots: list[int]) -> str:
        """The text that the memories stand for."""
        g, constants = self.g, list(self.constants)

        def operand(place: int) -> int:
            return var(g, slots[place]) if place >= 0 else const(g, constants[-1 - place])

        found = rewritten(forms[-1], operand)
        for k in range(len(forms) - 2, -1, -1):
            form = rewritten(forms[k], operand)
            found = OpenText([ChosenText(binary(g, Op.EQ, var(g, which), const(g, k + 1.0)), form, found)])
        always = binary(g, Op.EQ, var(g, which), const(g, 0.0))  # one form alone has its variable in it, too
        return found if len(forms) > 1 else OpenText([ChosenText(always, found, found)])

    # ------------------------------------------------------------------------------------- which forms there are

    def _forms(self, position: int, k: int) -> tuple[str, ...]:
        if self.known is not None:
            return self.known.texts[position, k]
        starts = [self._form(one)[0] for one in leaves(self.start(position)) if isinstance(one, str)]
        literals, is_all = self._literals(position)
        found = dict.fromkeys([*starts, *literals])
        return (*found,) if is_all else (*found, UNKNOWN_FORM)

    def _literals(self, position: int) -> tuple[list[str], bool]:
        """Literals in what sets a variable, and whether there is nothing else."""
        found: list[str] = []
        is_all, todo, seen = True, [position], {position}
        while todo:
            for source in self._sources().get(todo.pop(), ()):
                for number in self.run.tape.reachable([source]):
                    node, of = self.d.nodes[number], self.run.tape.types[number]
                    if of.base is not BaseType.STRING:
                        continue
                    if isinstance(node, FlatLiteral):
                        found.append(str(node.value))
                    elif isinstance(node, VariableRef) and not is_parameter(self.d.flat.variables[node.variable]):
                        todo += [node.variable] if node.variable not in seen else []
                        seen.add(node.variable)
                    elif not isinstance(node, (FlatChoice, FlatArray, FlatIndex)) and not self._is_past(node):
                        is_all = False
        return found, is_all

    @staticmethod
    def _is_past(node: object) -> bool:
        return getattr(node, "name", "") in ("pre", "previous", "noEvent")

    def _sources(self) -> dict[int, list[int]]:
        """String variable -> expressions that set it, or that it is compared with by an equation."""
        if self.sources is None:
            flat = self.d.flat
            found: dict[int, list[int]] = {}
            sections: list[FlatAlgorithm] = [*flat.algorithms, *flat.initial_algorithms]
            bodies = [flat.equations, flat.initial_equations, *(one.body for one in sections)]
            for item in (one for body in bodies for one in walk(body)):
                pairs: list[tuple[int, int]] = []
                if isinstance(item, FlatEquation):
                    pairs = [(item.left, item.right), (item.right, item.left)]
                elif isinstance(item, FlatAssign):
                    pairs = [(item.target, item.value)]
                for target, source in pairs:
                    for v in self._set_in(target):
                        found.setdefault(v, []).append(source)
            self.sources = found
        return self.sources

    def _set_in(self, e: int) -> list[int]:
        found, stack = [], [e]
        while stack:
            number = stack.pop()
            node = self.d.nodes[number] if number >= 0 else None  # what is left out
            if isinstance(node, VariableRef):
                found.append(node.variable)
            elif isinstance(node, (FlatIndex, FlatField)):
                stack.append(node.base)
            elif isinstance(node, (FlatTuple, FlatArray, FlatRecord)):
                stack += node.fields if isinstance(node, FlatRecord) else node.elements
            elif self._is_past(node):
                stack += node.operands  # type: ignore[union-attr]
        return found

    def found(self) -> Forms | None:
        """Forms to read the model with once more; None: all were known."""
        again = False
        forms: dict[tuple[int, int], tuple[str, ...]] = {}
        for position, elements in self.elements.items():
            for k, one in enumerate(elements):
                is_open = self.known is None and UNKNOWN_FORM in one.forms
                again = again or is_open or any(form not in one.forms for form in one.used)
                forms[position, k] = (*one.used,) or ("",)
        return Forms(forms, self.constants) if again else None

    # ----------------------------------------------------------------------------------------------- reading

    def value(self, position: int) -> Value:
        """What an expression reads."""
        return self._shaped(position, [one.value for one in self.elements[position]])

    def before(self, position: int) -> Value:
        """pre(s)."""
        return self._shaped(position, [one.before for one in self.elements[position]])

    def start(self, position: int) -> Value:
        """What it is before the first event."""
        shape, own = self.d.symbols.shape(position), self.d.flat.variables[position]
        given = self.begun.get(position)
        value: Value = ("" if own.start is None else self.run.value(own.start)) if given is None else given
        return Arr(shape, [value] * prod(shape)) if shape and not isinstance(value, Arr) else value

    def begin(self, position: int, value: Value) -> None:
        """An initial equation says what it is."""
        self.begun[position] = value

    def _shaped(self, position: int, texts: list[str]) -> Value:
        shape = self.d.symbols.shape(position)
        return Arr(shape, list(texts)) if shape else texts[0]

    # ----------------------------------------------------------------------------------------------- setting

    def _form(self, text: str) -> tuple[str, list[int]]:
        operands: list[int] = []

        def place(e: int) -> int:
            known = value_of(self.g, e)
            if known is not None:
                return -1 - self.constants.setdefault(known, len(self.constants))
            operands.append(e)
            return len(operands) - 1

        return rewritten(settled(self.g, text), place), operands

    def _state(self, one: _Element, name: str, text: str) -> State:
        """Which form of an element a text has, and the numbers in it."""
        g, text = self.g, settled(self.g, text)
        if text == one.before:
            return var(g, one.which_before), [var(g, v) for v in one.slots_before]
        if text == one.value:
            return var(g, one.which), [var(g, v) for v in one.slots]
        if isinstance(text, OpenText) and len(text.parts) == 1 and isinstance(text.parts[0], ChosenText):
            part = text.parts[0]
            return self.chosen(
                part.condition, self._state(one, name, part.then), self._state(one, name, part.otherwise)
            )
        form, operands = self._form(text)
        own = {one.which, *one.slots, one.which_before, *one.slots_before}
        if any(not own.isdisjoint(variables_of(g, e)) for e in operands):
            raise NotSupportedError(
                f"the String `{name}` is made of what it was before: it may grow without end",
                hint="keep the numbers, and make the text of them",
            )
        one.used.setdefault(form, len(one.used))
        if form not in one.forms:  # the model is read again
            return const(g, 0.0), []
        return const(g, one.forms.index(form) + 1.0), list(operands)

    def chosen(self, condition: int, a: State, b: State) -> State:
        """The first where the condition holds, else the second."""
        n = max(len(a[1]), len(b[1]))
        left, right = (one + [None] * (n - len(one)) for one in (a[1], b[1]))
        pairs = zip(left, right, strict=True)
        slots = [y if x is None else x if y is None else choose(self.g, condition, x, y) for x, y in pairs]
        return choose(self.g, condition, a[0], b[0]), slots

    def state(self, position: int, k: int, text: str) -> State:
        """The same for element k of a variable."""
        names = element_names(self.d.flat.variables[position].name, self.d.symbols.shape(position))
        return self._state(self.elements[position][k], names[k], text)

    def memories(self, position: int, k: int, state: State, span: Span | None) -> list[Memory]:
        """Memories of one element that become a state."""
        g, one = self.g, self.elements[position][k]
        start = leaves(self.start(position))[k]
        assert isinstance(start, str)
        first, numbers = self.state(position, k, start)
        zero = const(g, 0.0)
        pairs = [(one.which, one.which_before, state[0], first)]
        for j, (now, past) in enumerate(zip(one.slots, one.slots_before, strict=True)):
            given = state[1][j] if j < len(state[1]) else None
            begin = numbers[j] if j < len(numbers) else None
            pairs.append((now, past, var(g, past) if given is None else given, zero if begin is None else begin))
        return [Memory(now, past, e, begin, span) for now, past, e, begin in pairs]
