"""How types meet: what two of them have in common, and which sizes the result has."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.frontend.flat.types import REAL, BaseType, Shape, Size, Type, fits, merged


class TypeMismatch(Exception):
    """Types that do not fit, in words. The caller adds the place and makes an error for the user of it."""


def described(of: Type) -> str:
    """``a Real``, ``an Integer[3, :]``."""
    word = {BaseType.RECORD: "record", BaseType.TUPLE: "list of outputs", BaseType.OBJECT: "external object"}.get(
        of.base, of.base.value
    )
    sizes = f"[{', '.join(':' if n is None else str(n) for n in of.shape)}]" if of.shape else ""
    return f"{'an' if word[0] in 'IEae' else 'a'} {word}{sizes}"


def unified_base(a: Type, b: Type, what: str) -> Type:
    """An element that both are, Integer being a Real where needed."""
    if a.base is b.base:
        if a.number == b.number or -1 in (a.number, b.number):
            return a.element
    elif a.is_numeric and b.is_numeric:
        return REAL
    raise TypeMismatch(f"{what}: {described(a)} meets {described(b)}")


def unified(a: Type, b: Type, what: str) -> Type:
    """The type that both fit into, with equal shapes."""
    if a == b:
        return a
    element = unified_base(a, b, what)
    if not fits(a.shape, b.shape):
        raise TypeMismatch(f"{what} differ in size: {described(a)} and {described(b)}")
    return element.sized(merged(a.shape, b.shape))


def broadcast(a: Type, b: Type, what: str) -> Shape:
    """Equal shapes, or one of them a scalar."""
    if not a.shape or not b.shape:
        return a.shape or b.shape
    if not fits(a.shape, b.shape):
        raise TypeMismatch(f"`{what}` needs equal sizes or a scalar, not {described(a)} and {described(b)}")
    return merged(a.shape, b.shape)


def join(shapes: Sequence[Shape], axis: int) -> Shape:
    """Arrays joined along an axis (0-based)."""
    first = shapes[0]
    if any(len(shape) != len(first) for shape in shapes) or axis >= len(first):
        raise TypeMismatch("arrays that are joined need the same number of dimensions")
    total: Size = 0
    others: Shape = first[:axis] + first[axis + 1 :]
    for shape in shapes:
        rest = shape[:axis] + shape[axis + 1 :]
        if not fits(rest, others):
            raise TypeMismatch("arrays that are joined differ in another dimension")
        others = merged(others, rest)
        total = None if total is None or shape[axis] is None else total + (shape[axis] or 0)
    return (*others[:axis], total, *others[axis:])


def promoted(shape: Shape, rank: int) -> Shape:
    """Sizes 1 appended up to this rank."""
    return shape + (1,) * (rank - len(shape))
