"""Subscripts: reading and replacing parts of arrays, also by indices that are known only at run time."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from pliant.errors import ModelError
from pliant.expr.build import binary, const, value_of, variables_of
from pliant.frontend.scalar.dependence import PARAM
from pliant.frontend.scalar.values import Arr, Value, describe
from pliant.ir import Op

if TYPE_CHECKING:
    from pliant.frontend.scalar.interpret import Interpreter

Subscript = tuple[str, Any]  # ("index", scalar), ("slice", vector or scalar), ("whole", 0)


def pick(run: Interpreter, array: Value, subscripts: list[Subscript], at: int = -1) -> Value:
    """``array[subscripts]``, expression ``at`` (-1: a part of one); missing subscripts are whole dimensions."""
    if not isinstance(array, Arr) or len(subscripts) > len(array.shape):
        raise _too_many(array, subscripts)
    _demand(run, array, subscripts, at)
    vector = _open_vector(run, subscripts)
    if vector is not None:
        return _pick_each(run, array, subscripts, vector)
    places, kept, open_place = _places(run, array, subscripts)
    if open_place is not None:
        return _pick_open(run, array, subscripts, open_place)
    strides = _strides(array.shape)
    flat = array.flat
    if not any(kept):
        return flat[sum(p[0] * s for p, s in zip(places, strides, strict=True))]  # type: ignore[no-any-return]
    shape = tuple(len(p) for p, keep in zip(places, kept, strict=True) if keep)
    offsets = [sum(p * s for p, s in zip(point, strides, strict=True)) for point in product(*places)]
    return Arr(shape, [flat[k] for k in offsets])


def update(run: Interpreter, array: Value, new: Value, subscripts: list[Subscript], at: int = -1) -> Value:
    """A copy of the array with the chosen part replaced."""
    if not isinstance(array, Arr) or len(subscripts) > len(array.shape):
        raise _too_many(array, subscripts)
    _demand(run, array, subscripts, at)
    vector = _open_vector(run, subscripts)
    if vector is not None:
        return _update_each(run, array, new, subscripts, vector)
    places, _, open_place = _places(run, array, subscripts)
    if open_place is not None:
        return _update_open(run, array, new, subscripts, open_place)
    strides = _strides(array.shape)
    offsets = [sum(p * s for p, s in zip(point, strides, strict=True)) for point in product(*places)]
    parts = new.flat if isinstance(new, Arr) else [new] * len(offsets)
    if len(parts) != len(offsets):
        raise ModelError(
            f"sizes do not match: {describe(new)} is assigned to {len(offsets)} elements",
            hint="assign one value for each element, or choose fewer elements by the subscripts",
        )
    flat = list(array.flat)
    for offset, part in zip(offsets, parts, strict=True):
        flat[offset] = part
    return Arr(array.shape, flat)


def _demand(run: Interpreter, array: Arr, subscripts: list[Subscript], at: int) -> None:
    """Indices that are not known now have to be inside, wherever the expression is reached."""
    if at < 0 or run.bounds is None:
        return
    for k, ((kind, value), size) in enumerate(zip(subscripts, array.shape, strict=False)):
        for e in () if kind == "whole" else value.flat if isinstance(value, Arr) else (value,):
            if isinstance(e, int) and _is_open(run, e):
                run.bounds.demand(e, size, at, k)


def _open_vector(run: Interpreter, subscripts: list[Subscript]) -> int | None:
    """The first vector of indices of which some are not known."""
    for k, (kind, value) in enumerate(subscripts):
        if kind != "whole" and isinstance(value, Arr) and any(_is_open(run, e) for e in value.flat):
            return k
    return None


def _one_of(subscripts: list[Subscript], k: int, e: int) -> list[Subscript]:
    return [*subscripts[:k], ("index", e), *subscripts[k + 1 :]]


def _before(subscripts: list[Subscript], k: int) -> int:
    """Dimensions of the result that come before that of a subscript."""
    return sum(1 for kind, value in subscripts[:k] if kind == "whole" or isinstance(value, Arr))


def _pick_each(run: Interpreter, array: Arr, subscripts: list[Subscript], k: int) -> Value:
    """One part for each index of a vector, joined along its dimension."""
    parts = [pick(run, array, _one_of(subscripts, k, e)) for e in subscripts[k][1].flat]
    if not isinstance(parts[0], Arr):
        return Arr((len(parts),), parts)
    axis, shape = _before(subscripts, k), parts[0].shape
    inner = prod(shape[axis:])
    rows = [
        e
        for o in range(prod(shape[:axis]))
        for one in parts
        for e in one.flat[o * inner : (o + 1) * inner]  # type: ignore[union-attr]
    ]
    return Arr((*shape[:axis], len(parts), *shape[axis:]), rows)


def _update_each(run: Interpreter, array: Arr, new: Value, subscripts: list[Subscript], k: int) -> Value:
    result: Value = array
    axis = _before(subscripts, k)
    for place, e in enumerate(subscripts[k][1].flat, 1):
        part = new
        if isinstance(new, Arr):
            whole: list[Subscript] = [("whole", 0)] * axis
            part = pick(run, new, [*whole, ("index", const(run.g, place))])
        result = update(run, result, part, _one_of(subscripts, k, e))
    return result


def _is_open(run: Interpreter, e: int) -> bool:
    return value_of(run.g, e) is None and bool(run.masks.of(e) & ~PARAM or _is_late(run, e))


def _too_many(array: Value, subscripts: list[Subscript]) -> ModelError:
    rank = len(array.shape) if isinstance(array, Arr) else 0
    hint = f"write at most {rank}" if rank else "leave the subscripts out"
    return ModelError(f"{describe(array)} has {len(subscripts)} subscripts", hint=hint)


def _strides(shape: tuple[int, ...]) -> list[int]:
    return [prod(shape[k + 1 :]) for k in range(len(shape))]


def _places(
    run: Interpreter, array: Arr, subscripts: list[Subscript]
) -> tuple[list[list[int]], list[bool], int | None]:
    """Chosen places per dimension, whether the dimension stays, and the first subscript that is not known."""
    places: list[list[int]] = []
    kept: list[bool] = []
    for k, size in enumerate(array.shape):
        kind, value = subscripts[k] if k < len(subscripts) else ("whole", 0)
        if kind == "whole":
            places.append(list(range(size)))
        elif isinstance(value, Arr):
            places.append([_place(run, v, size) for v in value.flat])
        else:
            if _is_open(run, value):
                return [], [], k
            places.append([_place(run, value, size)])
        kept.append(kind == "whole" or isinstance(value, Arr))
    return places, kept, None


def _is_late(run: Interpreter, e: int) -> bool:
    """It depends on parameters that the start determines."""
    return any(run.masks.variables[v].initial for v in variables_of(run.g, e))


def _place(run: Interpreter, value: Value, size: int) -> int:
    index = run.integer(value, "an array index")
    if not 1 <= index <= size:
        hint = "change the index or the size of the array"
        raise ModelError(f"array index {index} is outside 1..{size}", hint=hint, rule="10.5.1")
    return index - 1


def _pick_open(run: Interpreter, array: Arr, subscripts: list[Subscript], k: int) -> Value:
    """An index that changes at run time: choose among all elements; beyond the end the last one."""
    index, size = subscripts[k][1], array.shape[k]
    if size == 0:
        raise ModelError("an element of an empty array is read", hint="give the array a size of at least 1")

    def at(i: int) -> Value:
        return pick(run, array, [*subscripts[:k], ("index", const(run.g, i)), *subscripts[k + 1 :]])

    result = at(size)
    for i in range(size - 1, 0, -1):
        result = run.select(binary(run.g, Op.EQ, index, const(run.g, i)), at(i), result)
    return result


def _update_open(run: Interpreter, array: Arr, new: Value, subscripts: list[Subscript], k: int) -> Value:
    index = subscripts[k][1]
    result: Value = array
    for i in range(1, array.shape[k] + 1):
        chosen = [*subscripts[:k], ("index", const(run.g, i)), *subscripts[k + 1 :]]
        result = run.select(binary(run.g, Op.EQ, index, const(run.g, i)), update(run, result, new, chosen), result)
    return result
