"""Built-in functions and operators of a flat model: how many operands, and the type of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from pliant.frontend.flat.shapes import TypeMismatch, broadcast, described, join, promoted, unified
from pliant.frontend.flat.types import BOOLEAN, CLOCK, INTEGER, REAL, STRING, BaseType, Shape, Size, Type, fits

Types = Sequence[Type]
Operands = Sequence[Any]  # first the function that reads a size, then the numbers of the operands
Rule = Callable[[Types, Operands], Type]


@dataclass(frozen=True, slots=True)
class Signature:
    """How many operands (``most`` None: any number) and what they give."""

    least: int
    most: int | None
    rule: Rule


def of_builtin(name: str, types: Types, operands: Operands) -> Type:
    """The type of a call."""
    known = BUILTINS[name]
    if len(types) < known.least or (known.most is not None and len(types) > known.most):
        wanted = str(known.least) if known.least == known.most else f"{known.least} or more"
        raise TypeMismatch(f"`{name}` takes {wanted} arguments, {len(types)} are given")
    return known.rule(types, operands)


def _number(of: Type, what: str) -> Type:
    if not of.is_numeric:
        raise TypeMismatch(f"{what} needs a number, not {described(of)}")
    return of


def _real(types: Types, _: Operands) -> Type:
    return REAL.sized(_number(types[0], "a mathematical function").shape)


def _quotient(types: Types, _: Operands) -> Type:
    both = all(_number(of, "a quotient").base is BaseType.INTEGER for of in types)
    return (INTEGER if both else REAL).sized(broadcast(types[0], types[1], "quotient"))


def _extreme(types: Types, _: Operands) -> Type:
    if len(types) == 1:
        if not types[0].shape:
            raise TypeMismatch("min and max of one argument need an array")
        return types[0].element
    shape = broadcast(types[0], types[1], "min and max")
    return unified(types[0].element, types[1].element, "the arguments of min and max").sized(shape)


def _boolean(types: Types, _: Operands) -> Type:
    return BOOLEAN.sized(types[0].shape if types else ())


def _sizes(types: Types, operands: Operands, first: int) -> Shape:
    """What the operands from `first` (0-based) on say: they must be Integers."""
    for of in types[first:]:
        if of.base is not BaseType.INTEGER or of.shape:
            raise TypeMismatch(f"a size is an Integer, not {described(of)}")
    return tuple(operands[0](e) for e in operands[first + 1 :])


def _vector(of: Type, what: str) -> Size:
    if len(of.shape) != 1:
        raise TypeMismatch(f"{what} needs a vector, not {described(of)}")
    return of.shape[0]


def _transpose(types: Types, _: Operands) -> Type:
    shape = types[0].shape
    if len(shape) < 2:
        raise TypeMismatch(f"transpose needs a matrix, not {described(types[0])}")
    return types[0].sized((shape[1], shape[0], *shape[2:]))


def _of_three(types: Types, _: Operands) -> Type:
    for of in types:
        if not fits(of.shape, (3,)):
            raise TypeMismatch(f"a vector of three is needed, not {described(of)}")
    return unified(types[0], types[-1], "the arguments").sized((3,) if len(types) == 2 else (3, 3))


def _diagonal(types: Types, _: Operands) -> Type:
    n = _vector(types[0], "diagonal")
    return types[0].sized((n, n))


def _outer(types: Types, _: Operands) -> Type:
    sizes = [_vector(of, "outerProduct") for of in types]
    return unified(types[0].element, types[1].element, "the arguments of outerProduct").sized(tuple(sizes))


def _as_scalar(types: Types, _: Operands) -> Type:
    if any(n not in (None, 1) for n in types[0].shape):
        raise TypeMismatch(f"scalar needs an array with one element, not {described(types[0])}")
    return types[0].element


def _as_vector(types: Types, _: Operands) -> Type:
    shape = types[0].shape
    if sum(n not in (None, 1) for n in shape) > 1:
        raise TypeMismatch(f"in vector, one dimension may be larger than 1, not as in {described(types[0])}")
    known = [n for n in shape if n is not None]
    return types[0].sized((prod(known) if len(known) == len(shape) else None,))


def _as_matrix(types: Types, _: Operands) -> Type:
    if any(n not in (None, 1) for n in types[0].shape[2:]):
        raise TypeMismatch(f"in matrix, dimensions from the third on have one element, not as in {described(types[0])}")
    return types[0].sized(promoted(types[0].shape, 2)[:2])


def _size(types: Types, operands: Operands) -> Type:
    _sizes(types, operands, 1)
    return INTEGER if len(types) == 2 else INTEGER.sized((len(types[0].shape),))


def _cat(types: Types, operands: Operands) -> Type:
    axis = operands[0](operands[1])
    if axis is None:
        raise TypeMismatch("the dimension of cat must be a number")
    return _joined(types[1:], axis - 1, 0)


def _joined(types: Types, axis: int, rank: int) -> Type:
    rank = max(rank, *(len(of.shape) for of in types)) if rank else 0
    element = types[0].element
    for of in types[1:]:
        element = unified(element, of.element, "arrays that are joined")
    return element.sized(join([promoted(of.shape, rank) for of in types], axis))


def _promote(types: Types, operands: Operands) -> Type:
    rank = operands[0](operands[2])
    if rank is None:
        raise TypeMismatch("the rank of promote must be a number")
    return types[0].sized(promoted(types[0].shape, rank))


def _homotopy(types: Types, _: Operands) -> Type:
    return unified(types[0], types[1], "the arguments of homotopy")


def _identity(types: Types, operands: Operands) -> Type:
    return INTEGER.sized(_sizes(types, operands, 0) * 2)


def _linspace(types: Types, operands: Operands) -> Type:
    return REAL.sized(_sizes(types, operands, 2))


def _first(types: Types, _: Operands) -> Type:
    return types[0]


def _fixed(of: Type) -> Rule:
    return lambda _, __: of


def _to_enumeration(types: Sequence[Type], _: object) -> Type:
    """E(i): a literal of E, which says what E is, and i."""
    if types[1].base is not BaseType.INTEGER or types[1].shape:
        raise TypeMismatch(f"an enumeration is made of an Integer, not of {described(types[1])}")
    return types[0]


def _ordinal(types: Types, _: Operands) -> Type:
    """Integer(e): the number of a literal."""
    if types[0].base not in (BaseType.ENUMERATION, BaseType.INTEGER):
        raise TypeMismatch(f"Integer(...) is made of an enumeration, not of {described(types[0])}")
    return INTEGER.sized(types[0].shape)


def _table() -> dict[str, Signature]:
    found: dict[str, Signature] = {}

    def enter(names: str, least: int, most: int | None, rule: Rule) -> None:
        for name in names.split():
            found[name] = Signature(least, most, rule)

    enter("sqrt sin cos tan asin acos atan sinh cosh tanh exp log log10 floor ceil der", 1, 1, _real)
    enter("atan2", 2, 2, lambda t, _: REAL.sized(broadcast(t[0], t[1], "atan2")))
    enter("abs pre previous noEvent noClock symmetric", 1, 1, _first)
    enter("hold sample", 1, 2, _first)
    enter("subSample superSample", 1, 2, _first)
    enter("shiftSample backSample", 2, 3, _first)
    enter("semiLinear", 3, 3, _real)
    enter("delay", 2, 3, _first)
    enter("smooth", 2, 2, lambda t, _: t[1])
    enter("homotopy", 2, 2, _homotopy)
    enter("spatialDistribution", 4, 6, _fixed(REAL.sized((2,))))
    enter("edge change", 1, 1, _boolean)
    enter("initial terminal firstTick", 0, 1, _fixed(BOOLEAN))
    enter("sign integer", 1, 1, lambda t, _: INTEGER.sized(_number(t[0], "a mathematical function").shape))
    enter("Integer", 1, 1, _ordinal)
    enter("enumeration", 2, 2, _to_enumeration)
    enter("String", 1, 5, _fixed(STRING))
    enter("Clock", 0, 3, _fixed(CLOCK))
    enter("interval", 0, 1, _fixed(REAL))
    enter("mod rem div", 2, 2, _quotient)
    enter("min max", 1, 2, _extreme)
    enter("sum product", 1, 1, lambda t, _: t[0].element)
    enter("size", 1, 2, _size)
    enter("ndims", 1, 1, _fixed(INTEGER))
    enter("zeros ones", 1, None, lambda t, o: INTEGER.sized(_sizes(t, o, 0)))
    enter("fill", 1, None, lambda t, o: t[0].sized((*_sizes(t, o, 1), *t[0].shape)))
    enter("identity", 1, 1, _identity)
    enter("diagonal", 1, 1, _diagonal)
    enter("transpose", 1, 1, _transpose)
    enter("cross", 2, 2, _of_three)
    enter("skew", 1, 1, _of_three)
    enter("outerProduct", 2, 2, _outer)
    enter("vector", 1, 1, _as_vector)
    enter("scalar", 1, 1, _as_scalar)
    enter("matrix", 1, 1, _as_matrix)
    enter("linspace", 3, 3, _linspace)
    enter("cat", 2, None, _cat)
    enter("promote", 2, 2, _promote)
    enter("[;]", 1, None, lambda t, _: _joined(t, 0, 2))
    enter("[,]", 1, None, lambda t, _: _joined(t, 1, 2))
    return found


BUILTINS = _table()
