"""pliant.ode: a model from Python functions."""

from __future__ import annotations

import copy
import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from pliant.arguments import Vector, as_names, is_number
from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError, ModelError
from pliant.jacobian.detect import detect
from pliant.pickled import check_travels
from pliant.solve.binding import runtime
from pliant.solve.binding.interrupts import callback, raise_waiting
from pliant.solve.models.known import Names
from pliant.solve.models.mass import make_explicit
from pliant.solve.models.numeric import Instance, NumericModel, check_names
from pliant.solve.results.manifest import hash_bytes

Function = Callable[[float, Vector], ArrayLike]
FLOAT = np.dtype(np.float64)


@by_keyword_class
@dataclass(frozen=True)
class Root:
    """A root function g(t, x) of a model made by :func:`pliant.ode`.

    An event happens where g changes sign: ``direction`` +1 only rising, -1 only falling, 0 both. A ``terminal`` event
    ends the simulation. ``update(t, x)``, if given, returns new states; the solver then restarts from them.

    >>> Root(lambda t, x: x[0], direction=-1, update=lambda t, x: [0.0, -0.8 * x[1]]).terminal
    False
    """

    function: Callable[[float, Vector], float]
    _: KW_ONLY
    direction: int = 0
    terminal: bool = False
    update: Callable[[float, Vector], ArrayLike] | None = None
    name: str = ""


class FunctionModel(NumericModel):
    """A model whose functions are Python callables."""

    def __init__(self, struct: runtime.ModelStruct, parts: _Parts, **description: Any) -> None:
        super().__init__(struct, **description)
        self.parts = parts
        self.arguments: dict[str, Any] = {}  # of `function_model`

    def __reduce__(self) -> tuple[Any, ...]:
        """The arguments travel, as far as they can."""
        for what, value in self.arguments.items():
            _check_travels(f"{what} of {self.name}", value)
        return self._recipe()

    def __deepcopy__(self, memo: dict[int, Any]) -> FunctionModel:
        """Any function may be used twice."""
        make, arguments = self._recipe()
        return make(*copy.deepcopy(arguments, memo))

    def _recipe(self) -> tuple[Callable[..., FunctionModel], tuple[Any, ...]]:
        found = self.parts.pattern if self.parts.detected else None
        return _rebuilt, ({**self.arguments, **({} if found is None else {"pattern": None})}, found)

    @property
    def doubtful_pattern(self) -> bool:
        """A pattern that the user gave, or that probing found, may be wrong."""
        return self.parts.pattern is not None and self.parts.jac is None

    @property
    def pattern_hint(self) -> str:
        """It is an argument."""
        return "give pattern= or a sparse jac to pliant.ode"

    @property
    def missing_hint(self) -> str:
        """A pattern may be given, detected, or left out."""
        other = "leave pattern='detect' out" if self.parts.detected else "use pattern='detect'"
        return f"add the entry to pattern= of pliant.ode, or {other}"

    @property
    def jump_hint(self) -> str:
        """Root functions are arguments."""
        return "give roots= to pliant.ode where f jumps"

    def enlarge_pattern(self, missing: Sequence[tuple[int, int]]) -> bool:
        """A detected pattern gets the entries that it lacks."""
        parts = self.parts
        known = [(row, column) for row, column in missing if column >= 0]
        if not parts.detected or parts.pattern is None or not known:
            return False
        rows, columns = (np.array(side) for side in zip(*known, strict=True))
        with self.lock:
            more = sp.csc_array((np.ones(len(known)), (rows, columns)), shape=parts.pattern.shape)
            structure = sp.csc_array(parts.pattern + more)
            structure.sort_indices()
            structure.data[:] = 1.0
            self.set_pattern(structure)
            self.plans.clear()
            self.ready.clear()
        return True

    def set_pattern(self, structure: sp.csc_array) -> None:
        """Another pattern that probing found, in another struct: a run in another thread goes on with the old one."""
        self.parts.pattern, self.parts.n_jac, self.parts.detected = structure, int(structure.nnz), True
        kept: list[Any] = [self.struct]
        struct = runtime.ModelStruct.from_buffer_copy(self.struct)
        struct.jac = _pattern(structure, kept)
        self.struct, self.address, self.keep = struct, ctypes.addressof(struct), (*self.keep, *kept)

    def instance(self, parameters: Vector) -> Instance:
        """Fresh buffers and callbacks: simulations of one model may run side by side."""
        parts, n = self.parts, self.n_x
        instance = Instance(None)
        x, f, g = np.zeros(n), np.zeros(n), np.zeros(max(len(parts.roots), 1))
        value, fired = (
            np.zeros(parts.n_jac if parts.jac is not None else 1),
            np.zeros(max(len(parts.roots), 1), dtype=np.int8),
        )
        shown = x.view()
        shown.flags.writeable = False
        shim = runtime.ShimStruct(
            n_x=n,
            n_jac=parts.n_jac,
            n_roots=len(parts.roots),
            x=runtime.address_of(x),
            f=runtime.address_of(f),
            value=runtime.address_of(value),
            g=runtime.address_of(g),
            fired=runtime.address_of(fired),
            rhs=runtime.SHIM_CALL(_guard(instance, _rhs_call(parts, shown, f))),
        )
        if parts.jac is not None:
            shim.jac = runtime.SHIM_CALL(_guard(instance, _jac_call(parts, shown, value)))
        if parts.roots:
            shim.roots = runtime.SHIM_CALL(_guard(instance, _roots_call(parts, shown, g)))
            shim.event = runtime.SHIM_CALL(_guard(instance, _event_call(parts, shim, x, fired)))
        instance.address = ctypes.addressof(shim)
        instance.keep = (shim, x, f, g, value, fired)
        return instance


@dataclass
class _Parts:
    """The user's functions and what is known about them."""

    f: Function
    n: int
    jac: Callable[[float, Vector], Any] | None
    combine: sp.csr_array | None
    pattern: sp.csc_array | None
    n_jac: int
    roots: tuple[Root, ...]
    names: Names
    detected: bool = False  # the pattern was found by probing


def _guard(instance: Instance, call: Callable[[float], None]) -> Callable[[float], int]:
    """An exception must not cross C: keep it, stop the run, raise it again in simulate."""

    kept = weakref.proxy(instance)  # the instance keeps the callbacks: a way back would be a cycle

    @callback
    def guarded(t: float) -> int:
        try:
            raise_waiting()
            call(t)
        except BaseException as error:
            kept.raised = error
            return runtime.FATAL
        return 0

    return guarded


def _rhs_call(parts: _Parts, x: Vector, out: Vector) -> Callable[[float], None]:
    f, n, shape, combine = parts.f, parts.n, (parts.n,), parts.combine

    def call(t: float) -> None:
        value = f(t, x)
        if type(value) is not np.ndarray or value.shape != shape or value.dtype is not FLOAT:
            value = _real_vector(value, n)
        out[:] = value if combine is None else combine @ value

    return call


def _any_array(value: Any) -> NDArray[Any]:
    """An array of whatever this is; ragged lists become arrays of objects instead of an exception."""
    try:
        return np.asarray(value)
    except ValueError:
        return np.array([None] * max(1, len(value)), dtype=object)


def _real_vector(value: Any, n: int) -> Vector:
    """What f returned as n real numbers, or an error that says what is wrong with it."""
    array = _any_array(value)
    if array.dtype.kind not in "fiub":
        raise ArgumentError(
            f"f(t, x) returned {type(value).__name__} of {array.dtype} values, real numbers are needed",
            hint=f"return an array or list of exactly {n} numbers",
        )
    if array.size != n or (array.ndim > 1 and max(array.shape) != n):
        raise ArgumentError(
            f"f(t, x) returned shape {array.shape}, but there are {n} states",
            hint=f"return an array or list of exactly {n} numbers",
        )
    return np.asarray(array.reshape(n), dtype=np.float64)


def _jac_call(parts: _Parts, x: Vector, out: Vector) -> Callable[[float], None]:
    jac, n, combine, pattern = parts.jac, parts.n, parts.combine, parts.pattern
    assert jac is not None
    matrix = out[: n * n].reshape(n, n).T if pattern is None else None
    scatter = None if pattern is None else _Scatter(pattern, parts.names)

    def call(t: float) -> None:
        value = jac(t, x)
        if not sp.issparse(value):
            value = _any_array(value)
        if value.shape != (n, n) or value.dtype.kind not in "fiub":
            raise ArgumentError(
                f"jac(t, x) returned {value.dtype} of shape {value.shape}, but there are {n} states",
                hint=f"return a real {n} x {n} matrix",
            )
        if combine is not None:
            value = combine @ value
        if scatter is not None:
            out[:] = scatter(value)
        else:
            assert matrix is not None
            matrix[:] = value.toarray() if sp.issparse(value) else value

    return call


class _Scatter:
    """Values of a Jacobian, dense or sparse, in the order of the pattern; entries outside are refused, not lost."""

    def __init__(self, pattern: sp.csc_array, names: Names) -> None:
        self.n = pattern.shape[0]
        self.indptr, self.indices = pattern.indptr, pattern.indices
        self.columns = np.repeat(np.arange(self.n), np.diff(self.indptr))
        self.keys = self.columns.astype(np.int64) * self.n + self.indices
        self.names = names

    def __call__(self, value: Any) -> Vector:
        if not sp.issparse(value):
            value = np.asarray(value)
            values = value[self.indices, self.columns]
            if np.count_nonzero(value) > np.count_nonzero(values):
                outside = value.copy()
                outside[self.indices, self.columns] = 0.0
                self._refuse(*np.argwhere(outside)[0])
            return cast(Vector, values)
        given = sp.csc_array(value)
        given.sum_duplicates()
        if np.array_equal(given.indptr, self.indptr) and np.array_equal(given.indices, self.indices):
            return cast(Vector, given.data)
        column = np.repeat(np.arange(self.n), np.diff(given.indptr))
        keys = column.astype(np.int64) * self.n + given.indices
        place = np.searchsorted(self.keys, keys)
        place[place == len(self.keys)] = 0
        wrong = (self.keys[place] != keys) & (given.data != 0.0) if len(self.keys) else given.data != 0.0
        if wrong.any():
            k = int(np.flatnonzero(wrong)[0])
            self._refuse(int(given.indices[k]), int(column[k]))
        values = np.zeros(len(self.keys))
        right = self.keys[place] == keys if len(self.keys) else np.zeros(0, dtype=bool)
        values[place[right]] = given.data[right]
        return values

    def _refuse(self, i: int, j: int) -> None:
        raise ArgumentError(
            f"jac has a non-zero d f({self.names.x[i]})/d {self.names.x[j]} (row {i}, column {j}) outside the pattern",
            hint="add this entry to pattern=, or leave pattern out",
        )


def _roots_call(parts: _Parts, x: Vector, out: Vector) -> Callable[[float], None]:
    functions = [root.function for root in parts.roots]

    def call(t: float) -> None:
        for i, function in enumerate(functions):
            value = function(t, x)
            if np.ndim(value) != 0 and np.size(value) != 1:
                raise ArgumentError(
                    f"root function {parts.roots[i].name!r} returned shape {np.shape(value)}",
                    hint="a root function must return one number; give several functions for several roots",
                )
            out[i] = value

    return call


def _event_call(parts: _Parts, shim: runtime.ShimStruct, x: Vector, fired: NDArray[np.int8]) -> Callable[[float], None]:
    shim = runtime.ShimStruct.from_address(ctypes.addressof(shim))  # no way back to the callbacks that it keeps

    def call(t: float) -> None:
        for i, root in enumerate(parts.roots):
            if fired[i] and root.update is not None:
                new = _any_array(root.update(t, x.copy()))
                if new.shape != x.shape or new.dtype.kind not in "fiub":
                    raise ArgumentError(
                        f"update of root {root.name!r} returned {new.dtype} of shape {new.shape}, expected {x.shape}",
                        hint="it must return the new states, all of them",
                    )
                x[:] = new
                shim.x_changed = 1

    return call


# ----------------------------------------------------------------------------------------------- construction


def _vector(what: str, value: ArrayLike, n: int | None = None) -> Vector:
    array = np.atleast_1d(_any_array(value))
    if array.dtype.kind not in "fiu" or array.ndim != 1 or array.size == 0:
        raise ArgumentError(
            f"{what} must be a vector of real numbers, not {array.dtype} of shape {array.shape}",
            hint="give a flat list or array of numbers",
        )
    if n is not None and array.size != n:
        raise ArgumentError(f"{what} has {array.size} values, but there are {n} states", hint=f"give {n} values")
    return array.astype(np.float64)


def _square(what: str, value: Any, n: int) -> sp.csc_array:
    if not sp.issparse(value):
        value = _any_array(value)
    if value.dtype.kind not in "fiub" or value.shape != (n, n):
        raise ArgumentError(
            f"{what} must be a real {n} x {n} matrix, not {value.dtype} of shape {value.shape}",
            hint=f"there are {n} states: give {n} rows and {n} columns",
        )
    matrix = sp.csc_array(value.astype(np.float64))
    matrix.sum_duplicates()
    matrix.sort_indices()
    return matrix


def _root_list(roots: Any) -> tuple[Root, ...]:
    """Accept Root objects, plain functions (attributes ``direction`` and ``terminal`` as in SciPy), one or several."""
    if roots is None:
        return ()
    listed = list(roots) if isinstance(roots, Sequence) else [roots]
    out = []
    for i, root in enumerate(listed):
        if not isinstance(root, Root):
            if not callable(root):
                raise ArgumentError(f"roots[{i}] is not callable", hint="give functions g(t, x) or pliant.Root objects")
            root = Root(
                root,
                direction=int(np.sign(getattr(root, "direction", 0))),
                terminal=bool(getattr(root, "terminal", False)),
                update=getattr(root, "update", None),
            )
        if not is_number(root.direction) or root.direction not in (-1, 0, 1):
            raise ArgumentError(
                f"roots[{i}]: direction must be -1, 0 or 1, not {root.direction!r}",
                hint="-1: only falling, 1: only rising, 0: both",
            )
        if not root.name:
            given = getattr(root.function, "__name__", "")
            root = Root(
                root.function,
                direction=root.direction,
                terminal=root.terminal,
                update=root.update,
                name=given if given.isidentifier() else f"root[{i}]",
            )
        out.append(root)
    return tuple(out)


def _digest(f: Any, x0: Vector) -> str:
    """Hash of what identifies a Python model: its code and constants, and the start values."""
    code = getattr(f, "__code__", None)
    text = repr((code.co_code, code.co_consts, code.co_names)) if code else repr(type(f))
    return hash_bytes(text.encode(), x0.tobytes())


def _check_travels(what: str, value: Any) -> None:
    hint = "define it by `def` at the top level of a module, or construct the model where it is needed"
    check_travels("the model", what, value, hint)


def _rebuilt(arguments: dict[str, Any], detected: sp.csc_array | None) -> FunctionModel:
    """A model that was pickled; a pattern that was found once is not searched again."""
    model = function_model(**arguments)
    if detected is not None:
        model.set_pattern(detected)
    return model


def function_model(
    f: Function,
    x0: ArrayLike,
    *,
    jac: Callable[[float, Vector], Any] | None,
    mass: Any,
    pattern: Any,
    roots: Any,
    names: Sequence[str] | None,
    nominal: ArrayLike | None,
) -> FunctionModel:
    """See :func:`pliant.ode`."""
    if not callable(f):
        raise ArgumentError("f is not callable", hint="give a function f(t, x) that returns the derivatives")
    x_start = _vector("x0", x0)
    n = x_start.size
    if not np.all(np.isfinite(x_start)):
        bad = int(np.flatnonzero(~np.isfinite(x_start))[0])
        raise ArgumentError(f"x0 is not finite at index {bad}", hint="start values must be finite numbers")
    x_names = tuple(as_names("names", names)) if names is not None else tuple(f"x[{i}]" for i in range(n))
    if len(x_names) != n:
        raise ArgumentError(f"names has {len(x_names)} entries, but there are {n} states", hint=f"give {n} names")
    struct = runtime.ModelStruct(abi=runtime.PL_ABI, n_x=n, flags=0, x_start=x_start.ctypes.data)
    keep: list[Any] = [x_start]
    combine, algebraic = _install_mass(struct, mass, n, keep)
    detected = isinstance(pattern, str)
    structure = _structure(f, jac, pattern, x_start, nominal)
    if structure is not None and combine is not None:
        structure = sp.csc_array(abs(combine) @ structure)
    if structure is not None:
        structure.sort_indices()
        struct.jac = _pattern(structure, keep)
    if nominal is not None:
        scale = np.abs(np.broadcast_to(_vector("nominal", nominal, None if np.ndim(nominal) == 0 else n), n)).copy()
        if not np.all((scale > 0) & np.isfinite(scale)):
            raise ArgumentError("nominal values must be finite and not zero", hint="give typical sizes of the states")
        struct.x_nominal = scale.ctypes.data
        keep.append(scale)
    listed = _root_list(roots)
    _install_roots(struct, listed, keep)
    name = getattr(f, "__name__", type(f).__name__)
    name = name if name.isidentifier() else "ode"
    all_names = Names(
        x=x_names,
        roots=tuple(root.name for root in listed),
        algebraic=frozenset(x_names[i] for i in algebraic),
    )
    check_names(all_names, name)
    n_jac = n * n if structure is None else int(structure.nnz)
    parts = _Parts(f, n, jac, combine, structure, n_jac, listed, all_names, detected)
    # a throw-away shim only tells which callbacks exist
    dummy = runtime.SHIM_CALL(lambda _t: 0)
    shim = runtime.ShimStruct(rhs=dummy)
    if jac is not None:
        shim.jac = dummy
    if listed:
        shim.roots = dummy
        shim.event = dummy
    runtime.lib.pl_shim_install(ctypes.byref(struct), ctypes.byref(shim))
    model = FunctionModel(struct, parts, name=name, digest=_digest(f, x_start), names=all_names, keep=tuple(keep))
    model.arguments = {
        "f": f,
        "x0": x_start,
        "jac": jac,
        "mass": mass,
        "pattern": pattern,
        "roots": roots,
        "names": x_names,
        "nominal": nominal,
    }
    return model


def _detected(f: Function, x_start: Vector, nominal: ArrayLike | None) -> sp.csc_array:
    """The pattern of df/dx by probing f around the start values."""
    n = x_start.size
    scale = np.abs(x_start) if nominal is None else np.broadcast_to(np.abs(np.asarray(nominal, dtype=float)), n)
    rows, columns = detect(lambda x: _real_vector(f(0.0, x), n), x_start, np.where(scale > 0, scale, 1.0))
    return sp.csc_array((np.ones(len(rows)), (rows, columns)), shape=(n, n))


def _structure(f: Function, jac: Any, pattern: Any, x_start: Vector, nominal: ArrayLike | None) -> sp.csc_array | None:
    """Pattern of df/dx: the user's, detected, or that of a sparse jac; None: dense."""
    n = x_start.size
    if jac is not None and not callable(jac):
        raise ArgumentError("jac is not callable", hint="give a function jac(t, x), or None for differences")
    if isinstance(pattern, str):
        if pattern != "detect":
            raise ArgumentError(f"pattern must be a matrix or 'detect', not {pattern!r}", hint="pattern='detect'")
        return _detected(f, x_start, nominal)
    if pattern is not None:
        structure = _square("pattern", pattern, n)
        return sp.csc_array((np.ones(structure.nnz), structure.indices, structure.indptr), shape=(n, n))
    if jac is not None:
        first = jac(0.0, x_start.copy())
        if sp.issparse(first):
            structure = _square("jac(t, x)", first, n)
            return sp.csc_array((np.ones(structure.nnz), structure.indices, structure.indptr), shape=(n, n))
    return None


def _pattern(matrix: sp.csc_array, keep: list[Any]) -> runtime.PatternStruct:
    start, row = matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32)
    keep += [start, row]
    return runtime.PatternStruct(matrix.shape[0], matrix.shape[1], start.ctypes.data, row.ctypes.data)


def _install_mass(
    struct: runtime.ModelStruct, mass: Any, n: int, keep: list[Any]
) -> tuple[sp.csr_array | None, NDArray[np.intp]]:
    """Put L into the struct; returns how to combine f, and the algebraic rows."""
    none = np.zeros(0, dtype=np.intp)
    if mass is None:
        return None, none
    if not sp.issparse(mass) and np.ndim(mass) == 1:
        mass = sp.diags_array(_vector("mass", mass, n))
    matrix = _square("mass", mass, n)
    if not np.all(np.isfinite(matrix.data)):
        raise ArgumentError("mass has values that are not finite", hint="check how the mass matrix is computed")
    matrix.eliminate_zeros()
    if matrix.nnz == 0:
        raise ModelError("the mass matrix is zero: there is no differential equation", hint="use a root finder instead")
    if (matrix != sp.eye_array(n, format="csc")).nnz == 0:
        return None, none
    explicit = make_explicit(matrix)
    reduced = explicit.mass
    reduced.sort_indices()
    struct.mass = _pattern(reduced, keep)
    values = reduced.data.astype(np.float64)
    struct.mass_value = values.ctypes.data
    keep.append(values)
    full = np.zeros(n, dtype=bool)
    full[reduced.indices] = True
    return explicit.combine, np.flatnonzero(~full)


def _install_roots(struct: runtime.ModelStruct, roots: tuple[Root, ...], keep: list[Any]) -> None:
    if not roots:
        return
    direction = np.array([root.direction for root in roots], dtype=np.int8)
    terminal = np.array([root.terminal for root in roots], dtype=np.int8)
    struct.n_roots = len(roots)
    struct.root_direction, struct.root_terminal = direction.ctypes.data, terminal.ctypes.data
    keep += [direction, terminal]
