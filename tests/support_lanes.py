"""A second target: four instances side by side, value by value.

    one instance      m->x[3]        u->voltage       m->step
    four, lane by lane    m->x[3 * 4 + lane]    u->value[0 * 4 + lane]    m->step[lane]

Functions get the lane as their last argument. What is handed to functions of the runtime as a block (matrices of loops)
stays in one piece for each lane.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.codegen.arrays import COMMON, HOMOTOPY, MEMORY, RELATION, T_GUESS, P, Y, given
from pliant.codegen.emit import Emitter
from pliant.codegen.places import Argument, Array, Field, Layout, Owner, Place, StructArray, ValueKind
from pliant.compiling.compiler import FLAGS, load_text
from pliant.compiling.folders import runtime_folder
from pliant.realtime.code.make import StepCode
from pliant.realtime.code.places import StepLayout
from pliant.sorted_system import SortedSystem

LANES = 4
Values = NDArray[Any]


class Lanes(Layout):
    """Every place of an instance, or of what its caller gives, has four values."""

    def array(self, array: Array) -> str:
        text = super().array(array)
        return f"{text}[lane]" if array.owner == Owner.INSTANCE and array.is_block else text

    def place(self, place: Place) -> str:
        array, index = place.array, place.at
        if array.owner in (Owner.LOCAL, Owner.FILE) or array.is_block:
            return self.array(array) if index is None else f"{self.array(array)}[{index}]"
        head = self.array(array)
        if array.record is not None and array.owner == Owner.ARGUMENT:
            head += "->value"
        return f"{head}[lane]" if index is None else f"{head}[({index}) * {LANES} + lane]"

    def listed(self, arguments: Sequence[Argument], restrict: bool = True) -> list[str]:
        return [*super().listed(arguments, restrict), "const int lane"]

    def passed(self, *given: str) -> str:
        return super().passed(*given, "lane")

    def unused(self, arguments: Sequence[Argument]) -> str:
        return f"(void)lane, {super().unused(arguments)}"

    def opaque(self) -> str:
        return "&(one_lane){m, lane}"

    def opened(self) -> str:
        return f"{self.instance} *m = ((one_lane *)self)->m;\n    const int lane = ((one_lane *)self)->lane;"

    def instance_type(self, members: Sequence[str]) -> str:
        lane = f"typedef struct one_lane {{\n    {self.instance} *m;\n    int lane;\n}} one_lane;\n"
        return f"{super().instance_type(members)}\n{lane}"

    def copied(self, to: Place, source: Place, n: int) -> str:
        first, second = (self.place(one.array.at(f"{one.at} + k")) for one in (to, source))
        return f"for (int k = 0; k < {n}; k++) {first} = {second};"

    def member(self, field: Field, width: int = 0) -> str:
        size = 1 if field.size is None else field.size
        kind = self.type(field.array.kind)
        if field.array.is_block:
            return f"    {kind} {field.array.name}[{LANES}][{size}];"
        return f"    {kind} {field.array.name}[{size * LANES}];"


class StepLanes(Lanes, StepLayout):
    """The same for a real-time step."""

    def type(self, kind: ValueKind | StructArray | str) -> str:
        return self.real if kind == ValueKind.REAL else super().type(kind)

    def member(self, field: Field, width: int = 0) -> str:
        record = field.array.record
        if record is not None:
            field = Field(field.array, len(self.names[record]) or 1)
        return super().member(field)

    def struct(self, record: StructArray, notes: Sequence[str]) -> str:
        size, name = len(notes) or 1, self.type(record)
        return f"typedef struct {name} {{\n    {self.real} value[{size * LANES}];\n}} {name};\n"

    def calibration(self, values: Sequence[float]) -> str:
        del values
        return ""

    def default(self, k: int, value: float) -> str:
        return self.literal(value)

    def calibration_declared(self) -> str:
        return ""

    def helpers(self) -> str:
        return f"""static PL_UNUSED int same_values(const pl_real *one, const pl_real *lanes, int n) {{
    for (int k = 0; k < n; k++)
        if (memcmp(one + k, lanes + k * {LANES}, sizeof *one)) return 0;
    return 1;
}}
"""

    def _each(self, n: int, to: Place, source: Place) -> str:
        return f"for (int k = 0; k < {n}; k++) {self.place(to)} = {self.place(source)};"

    def assigned(self, to: Array, source: Array) -> str:
        assert to.record is not None
        return self._each(len(self.names[to.record]), to.at("k"), source.at("k"))

    def cleared(self, fields: Sequence[Field]) -> str:
        arrays = [self.array(one.array) for one in fields if one.size is None or one.size]
        return "\n    ".join(
            f"for (size_t k = 0; k < sizeof {one} / sizeof *{one}; k += {LANES}) {one}[k + lane] = 0;" for one in arrays
        )

    def taken(self, local: Array, source: Array, n: int) -> str:
        return self._each(n, local.at("k"), source.at("k"))

    def put_back(self, to: Array, local: Array, n: int) -> str:
        return self._each(n, to.at("k"), local.at("k"))

    def same(self, local: Array, other: Array, n: int) -> str:
        return f"same_values({local.name}, {self.array(other)} + lane, {n})"


class Four:
    """Four steppers side by side."""

    def __init__(self, code: StepCode) -> None:
        self.code, n = code, code.name
        self.type = np.float64 if code.precision == "double" else np.float32
        text = code.text.replace(f'#include "{n}.h"', code.header)
        text += f"\n{n}_real *four_x({n} *m) {{\n    return m->x;\n}}\n"
        flags = tuple("-O1" if one == "-O2" else one for one in FLAGS)
        self.library = load_text(text, f"{n}_lanes", flags=(*flags, "-fno-math-errno")).library
        self._size = getattr(self.library, f"{n}_state_size")
        self._size.restype = self.library.four_x.restype = ctypes.c_size_t
        self.memory = np.zeros(self._size() // 8 + 1)

    def _call(self, name: str, lane: int, *given: Values | None) -> int:
        places = [ctypes.c_void_p(None if one is None else one.ctypes.data) for one in given]
        return int(getattr(self.library, f"{self.code.name}_{name}")(*places, ctypes.c_int(lane)))

    def _lanes(self, rows: Values) -> Values:
        """Four rows as the structs want them."""
        out = np.zeros((max(rows.shape[1], 1), LANES), self.type)
        out[: rows.shape[1]] = rows.T
        return out

    @property
    def x(self) -> Values:
        """A row for each lane."""
        n = self.code.n_x
        at = self.library.four_x(ctypes.c_void_p(self.memory.ctypes.data))
        size = np.dtype(self.type).itemsize * n * LANES
        return np.frombuffer((ctypes.c_char * size).from_address(at), self.type).reshape(n, LANES).T.copy()

    def default_parameters(self) -> Values:
        """A row for each lane."""
        p = np.zeros((max(len(self.code.p_names), 1), LANES), self.type)
        for lane in range(LANES):
            self._call("default_parameters", lane, p)
        return p.T[:, : len(self.code.p_names)].copy()

    def start(self, p: Values, u: Values, x: Values) -> None:
        """From a row of parameters, inputs and x for each lane."""
        given, inputs = self._lanes(p), self._lanes(u)
        for lane in range(LANES):
            one = np.ascontiguousarray(x[lane], dtype=self.type)
            assert self._call("init_at", lane, self.memory, given, inputs, one) == 0

    def run(self, u: Values) -> Values:
        """One step for each table of inputs, lane after lane: x after each of them."""
        out = []
        for rows in u:
            inputs = self._lanes(rows)
            for lane in range(LANES):
                self._call("step", lane, self.memory, inputs)
            out.append(self.x)
        return np.array(out)

    def outputs(self, u: Values) -> Values:
        """A row for each lane."""
        inputs, y = self._lanes(u), np.zeros((max(len(self.code.y_names), 1), LANES), self.type)
        for lane in range(LANES):
            self._call("get_outputs", lane, self.memory, inputs, y)
        return y.T[:, : len(self.code.y_names)].copy()


class Functions:
    """Right side, Jacobian and all variables of a generated model in a layout, without the runtime."""

    def __init__(self, s: SortedSystem, form: str, layout: Layout) -> None:
        emitter = Emitter(s, form, layout=layout)
        found = emitter.run()
        assert not emitter.ahead.enclosed
        assert not emitter.ahead.kinks
        self.core, self.layout = emitter.file.core(), layout
        self.n_lanes = LANES if isinstance(layout, Lanes) else 1
        p = emitter.program
        self.sizes = {"x": len(p.x), "u": len(p.u), "p": len(p.p), "relation": len(s.relations)}
        self.sizes |= {"d": len(s.events.memories), "f": len(p.f), "value": len(found.jacobian), "y": len(emitter.y)}
        text = f"{self.core}\n{self._driver()}"
        self.library = load_text(text, "lanes", include=[runtime_folder() / "include"]).library
        self.library.memory_size.restype = ctypes.c_size_t
        self.memory = np.zeros(self.library.memory_size() // 8 + 1)

    def _driver(self) -> str:
        """One evaluation from the declared guesses on, with parameters, relations and discrete variables as given."""
        at, call, n = self.layout.place, self.layout.passed, self.sizes
        listed = [COMMON[0], Argument("t", is_array=False), *(Argument(one) for one in n), Argument("x0")]
        pivots = 64 * LANES

        def each(name: str, to: Array) -> str:
            if not n[name]:
                return ""
            return f"    for (int k = 0; k < {n[name]}; k++) {at(to.at('k'))} = {at(given(name).at('k'))};\n"

        values = f"    status |= all_values({call('m', 't', 'x', 'u')});\n" if n["y"] else ""
        y = f"    for (int k = 0; k < {n['y']}; k++) {at(given('y').at('k'))} = {at(Y.at('k'))};\n" if n["y"] else ""
        return f"""
size_t memory_size(void) {{
    return sizeof(model);
}}

int evaluate({self.layout.declared(listed, restrict=False)}) {{
    pl_real pivot[{pivots}];
    int status = 0;
{each("p", P)}{each("relation", RELATION)}{each("d", MEMORY)}    {at(HOMOTOPY.at())} = 1.0;
    {at(T_GUESS.at())} = t;
    derived_parameters({call("m", "0.0", "NULL", "NULL", "pivot")});
    start_values({call("m", "0.0", "NULL", "NULL", "x0")});
    status |= rhs({call("m", "t", "x", "u", "f")});
{values}    status |= jac_value({call("m", "t", "x", "u", "value")});
{y}    return status;
}}
"""

    def evaluate(self, t: Values, given: dict[str, Values]) -> dict[str, Values]:
        """f, df/dx and all variables; a row of everything for each lane."""
        arrays = {}
        for name, size in (*self.sizes.items(), ("x0", self.sizes["x"])):
            arrays[name] = np.zeros((max(size, 1), self.n_lanes))
            if name in given:
                arrays[name][:size] = given[name].T
        places = [ctypes.c_void_p(one.ctypes.data) for one in arrays.values()]
        self.memory[:] = 0.0
        for lane in range(self.n_lanes):
            m, end = ctypes.c_void_p(self.memory.ctypes.data), [ctypes.c_int(lane)] * (self.n_lanes > 1)
            assert self.library.evaluate(m, ctypes.c_double(t[lane]), *places, *end) == 0
        return {name: arrays[name][: self.sizes[name]].T.copy() for name in ("f", "value", "y")}
