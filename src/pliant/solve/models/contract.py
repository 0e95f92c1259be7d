"""What a ``pl_model`` must keep to before anything is done with it: the fields of the struct against each other."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.errors import ModelError
from pliant.solve.binding import runtime

SIZES = ("n_x", "n_u", "n_p", "n_y", "n_interface", "n_roots", "n_kinks", "n_d", "n_delays")
MOST = 5_000_000  # of each: every name is kept


def text_of(given: bytes, what: str, name: str) -> str:
    """A text of the struct."""
    try:
        return given.decode()
    except UnicodeDecodeError:
        shown = given.decode(errors="backslashreplace")
        raise ModelError(f"{name}: {what} is not UTF-8 text: {shown!r}", hint="save the C file as UTF-8") from None


def texts_of(pointer: Any, count: int, default: str, name: str) -> tuple[str, ...]:
    """Names; where there is none, its number."""
    if not pointer:
        return tuple(f"{default}[{i}]" for i in range(count))
    return tuple(
        text_of(pointer[i], f"{default}_name[{i}]", name) if pointer[i] else f"{default}[{i}]" for i in range(count)
    )


def check_struct(struct: runtime.ModelStruct, name: str) -> None:
    """Refuse a description that the runtime could not work with."""
    if struct.abi != runtime.PL_ABI:
        raise ModelError(
            f"{name} was made for another version of pliant.h (abi {struct.abi}, this is {runtime.PL_ABI})",
            hint="set .abi = PL_ABI and compile against the header of this version",
        )
    negative = [one for one in SIZES if getattr(struct, one) < 0]
    if negative:
        raise ModelError(f"{name}: sizes must not be negative: {', '.join(negative)}", hint="leave them out for 0")
    huge = [f"{one} = {getattr(struct, one)}" for one in SIZES if getattr(struct, one) > MOST]
    if huge:
        raise ModelError(
            f"{name}: {', '.join(huge)} is more than the {MOST} that are possible",
            hint="check the sizes in pliant_model; what is not simulated need not be a variable of the model",
        )
    _check_codes(struct, name)
    missing = [field for field, value in _required(struct).items() if not value]
    if missing:
        raise ModelError(f"{name}: the model lacks {', '.join(missing)}", hint="fill these fields of pliant_model")
    _check_pattern(name, "the mass matrix", struct.mass, struct.n_x, struct.n_x)
    _check_pattern(name, "the Jacobian", struct.jac, struct.n_x, struct.n_x)
    _check_pattern(name, "the input Jacobian", struct.jac_u, struct.n_x, struct.n_u)
    _check_numbers(struct, name)


def _required(struct: runtime.ModelStruct) -> dict[str, Any]:
    """Fields that others make necessary."""
    required: dict[str, Any] = {"rhs": struct.rhs}
    if struct.n_x:
        required["x_start"] = struct.x_start
    if struct.n_roots:
        required["roots"] = struct.roots
        kinds = runtime.int8_at(struct.root_kind, struct.n_roots) if struct.root_kind else ()
        if any(kind & runtime.ROOT_ENCLOSED for kind in kinds):
            required["root_range"] = struct.root_range
    if struct.n_kinks:
        required["kink_range"] = struct.kink_range
    if struct.n_y:
        required["outputs"] = struct.outputs
    if struct.n_d:
        required |= {"memory": struct.memory, "set_memory": struct.set_memory}
    if struct.n_delays:
        required |= {"delayed": struct.delayed, "set_history": struct.set_history}
    if struct.tangents:
        required["tangent"] = struct.tangent
    for letter in "upyd":
        count, place = getattr(struct, f"n_{letter}"), getattr(struct, f"{letter}_type")
        if place and (runtime.int8_at(place, count) == runtime.TYPES.index("string")).any():
            required["text"] = struct.text
    if struct.mass.start:
        required["mass_value"] = struct.mass_value
    for field in ("mass", "jac", "jac_u"):
        if getattr(struct, field).start:
            required[f"{field}.row"] = getattr(struct, field).row
    return required


def _check_codes(struct: runtime.ModelStruct, name: str) -> None:
    """Numbers that stand for something."""
    codes = {f"{letter}_type": (getattr(struct, f"n_{letter}"), 0, len(runtime.TYPES) - 1) for letter in "upyd"}
    codes |= {"root_direction": (struct.n_roots, -1, 1), "root_terminal": (struct.n_roots, 0, 1)}
    for field, (count, low, high) in codes.items():
        place = getattr(struct, field)
        found = runtime.int8_at(place, count) if place else np.zeros(0, dtype=np.int8)
        wrong = np.flatnonzero((found < low) | (found > high))
        if wrong.size:
            raise ModelError(
                f"{name}: {field}[{wrong[0]}] = {found[wrong[0]]}, but it lies between {low} and {high}",
                hint="use the constants of pliant_model.h",
            )


def _check_pattern(name: str, what: str, pattern: runtime.PatternStruct, n_rows: int, n_cols: int) -> None:
    if not pattern.start:
        return
    if (pattern.n_rows, pattern.n_cols) != (n_rows, n_cols):
        raise ModelError(
            f"{name}: the pattern of {what} is said to be {pattern.n_rows} x {pattern.n_cols}, "
            f"but {n_rows} x {n_cols} is wanted",
            hint="set n_rows and n_cols to the numbers of states and of what is differentiated by",
        )
    start = np.ctypeslib.as_array((ctypes.c_int * (n_cols + 1)).from_address(pattern.start))
    bad = start[0] != 0 or np.any(np.diff(start) < 0) or start[-1] > n_rows * n_cols
    if not bad and start[-1] > 0:
        row: NDArray[np.int32] = np.ctypeslib.as_array((ctypes.c_int * int(start[-1])).from_address(pattern.row))
        column = np.repeat(np.arange(n_cols), np.diff(start))
        inside = (row >= 0) & (row < n_rows)
        ascending = (np.diff(row) > 0) | (np.diff(column) > 0)
        bad = not (inside.all() and ascending.all())
    if bad:
        raise ModelError(
            f"{name}: the pattern of {what} is not in compressed-column form",
            hint="start[] ascends from 0, rows of each column ascend and lie between 0 and the size - 1",
        )


def _check_numbers(struct: runtime.ModelStruct, name: str) -> None:
    """Numbers that nothing could be done with. Start values are not among them: those of a run may replace them."""
    if struct.mass.start:
        n = int(np.ctypeslib.as_array((ctypes.c_int * (struct.n_x + 1)).from_address(struct.mass.start))[-1])
        if not np.isfinite(runtime.doubles_at(struct.mass_value, n)).all():
            raise ModelError(f"{name}: the mass matrix has an entry that is not finite", hint="check mass_value")
    for letter in "xupy":
        count = getattr(struct, f"n_{letter}")
        for bound in ("min", "max"):
            place = getattr(struct, f"{letter}_{bound}")
            found = runtime.doubles_at(place, count) if place else np.zeros(0)
            if np.isnan(found).any():
                raise ModelError(
                    f"{name}: {letter}_{bound}[{int(np.argmax(np.isnan(found)))}] is not a number",
                    hint="+-INFINITY: no bound",
                )
