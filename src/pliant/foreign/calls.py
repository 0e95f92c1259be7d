"""External functions as data: what C sees of them, and calls that stand in expressions (``Op.FOREIGN``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pliant.ir import Span


@dataclass(frozen=True, slots=True)
class ForeignType:
    """Type of an argument of an external function; ``base``: real, integer, boolean, string, object or record."""

    base: str
    shape: tuple[int, ...] = ()
    fields: tuple[tuple[str, ForeignType], ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignArgument:
    """``is_output``: a pointer; what is there before the call is given, too. ``size``: a number of elements."""

    type: ForeignType
    is_output: bool = False
    size: int | None = None


@dataclass(frozen=True, slots=True)
class CSignature:
    """An external function as C sees it, and the annotations that say where it is; folders are paths."""

    name: str  # of the Modelica function
    symbol: str
    language: str = "C"
    arguments: tuple[ForeignArgument, ...] = ()
    result: ForeignType | None = None
    include: str = ""
    include_folder: str = ""
    libraries: tuple[str, ...] = ()
    library_folder: str = ""
    source_folder: str = ""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ForeignCall:
    """Calls of an external function with these strings. Arguments and outputs are numbers, arrays taken apart.

    A constructor of an object has ``is_object``; its value stands for the object where others take it. ``derivative``
    is the call that gives d/dt, with the rates of the arguments listed in ``differentiated`` behind the arguments;
    a partial derivative by differences is that of ``base`` by argument ``by``.
    """

    signature: CSignature
    n_args: int
    n_outputs: int
    texts: tuple[str, ...] = ()
    objects: tuple[int, ...] = ()  # arguments that are objects
    is_pure: bool = True
    n_text_args: int = 0  # the last arguments: numbers that strings are made of; texts name them by their places
    n_lead: int = 0  # 2: before the arguments stand whether it is made, and the call that is made before it
    is_object: bool = False
    destructor: CSignature | None = None
    derivative: ForeignCall | None = None
    differentiated: tuple[int, ...] = ()
    base: ForeignCall | None = None
    by: int = -1
    owner: str = ""  # of an object: its variable
    span: Span | None = None
    partials: dict[int, ForeignCall] = field(default_factory=dict)  # by argument, made when first asked for

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.signature.name} of `{self.owner}`" if self.owner else self.signature.name

    def strings(self, args: Sequence[float]) -> list[str]:
        """What it gives where all arguments are known."""
        from pliant.foreign.evaluate import results

        return results(self, args)[1]

    def partial(self, by: int) -> ForeignCall:
        """The call that gives partial derivatives by an argument, by differences."""
        found = self.partials.get(by)
        if found is None:
            found = self.partials[by] = replace(self, derivative=None, base=self, by=by, partials={})
        return found
