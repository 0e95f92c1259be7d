"""Known: what is known of a model, whatever it was made from.

Consumers ask ``model.known`` and never what kind of model it is. What is not known is empty: a model that is a function
has no state sets and no loops, and every output may depend on every input. What takes a while to find out is found when
it is first read (:class:`Late`).

What can be done with a model beyond evaluating it (other forms, code from its equations, memory of its events) are
methods of :class:`pliant.solve.models.numeric.NumericModel`, which say None or do nothing where a model cannot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Generic, TypeVar

from pliant.ir import Span
from pliant.solve.results.result import VariableInfo, VariableType
from pliant.texts import fits

Value = TypeVar("Value")


class Late(Mapping[str, Value], Generic[Value]):
    """A mapping that is found out when it is first read, and stays.

    >>> squares = Late(lambda: {"two": 4})
    >>> squares["two"], len(squares)
    (4, 1)
    """

    def __init__(self, find: Callable[[], Mapping[str, Value]]) -> None:
        self._find = find

    @cached_property
    def _found(self) -> Mapping[str, Value]:
        return MappingProxyType(dict(self._find()))

    def __getitem__(self, name: str) -> Value:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


@dataclass(frozen=True)
class Names:
    """Names of all variables of a model, in the order of the numeric vectors."""

    x: tuple[str, ...]
    u: tuple[str, ...] = ()
    p: tuple[str, ...] = ()
    y: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    algebraic: frozenset[str] = field(default_factory=frozenset)
    aliases: dict[str, tuple[str, int]] = field(default_factory=dict)  # name -> (name of a variable, sign)

    def behind(self, name: str) -> tuple[str, int]:
        """The variable that holds the values of a name, and the sign between the two."""
        return self.aliases.get(name, (name, 1))


@dataclass(frozen=True, eq=False)
class Known:
    """Everything that is known of a model before it is simulated."""

    names: Names
    variables: Mapping[str, VariableInfo]  # kind, type, unit, start, bounds, description, source place
    types: Mapping[str, VariableType] = field(default_factory=dict)  # of the variables that are not Real
    outputs: tuple[str, ...] = ()  # of the whole model, as it declares them
    #: variable -> places of the inputs that it depends on at the same time, states kept; left out: on none
    feedthrough: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: variables that change at events only, as long as the inputs in these places do
    held_by: Mapping[str, frozenset[int]] = field(default_factory=dict)
    #: place of a state set in x -> variables that may stand there
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: root functions that time drives -> does time alone?
    timed_roots: Mapping[str, bool] = field(default_factory=dict)
    form: str = ""  # where its loops are: "ode" (inside f), "dae" (in x), "auto"; "": nothing is known of loops
    loops: tuple[str, ...] = ()  # those solved inside f: "linear" or "nonlinear"
    has_memory: bool = False  # events set discrete variables or states
    has_past: bool = False  # f at a point may depend on the events and steps before
    has_checks: bool = False  # it asserts something
    may_speak: bool = False  # it has messages that are no errors
    #: message of an assertion that fails, as the model gives it -> where the assertion stands; of an external function
    #: that reports an error the beginning -> where it is called
    assertions: Mapping[str, Span] = field(default_factory=dict)

    def asserted_at(self, words: str) -> Span | None:
        """Where that stands which a message is of; it may have values in it, and what is reported behind it."""
        parts = words, words.split(" reports: ", 1)[0]
        found = next((self.assertions[one] for one in parts if one in self.assertions), None)
        if found is None:
            found = next((span for shown, span in self.assertions.items() if fits(shown, words)), None)
        return found

    def is_held(self, name: str) -> bool:
        """Does a variable change at events only, whatever the inputs do?"""
        return self.held_by.get(name) == frozenset() or self.type(name) != "real"

    def type(self, name: str) -> VariableType:
        """Of a variable."""
        return self.types.get(name, "real")


def everything_through(names: Names) -> dict[str, frozenset[int]]:
    """Feed-through where no equations are known: all that is not a state may depend on all inputs."""
    everything = frozenset(range(len(names.u)))
    return dict.fromkeys((*names.y, *names.algebraic), everything) if everything else {}
