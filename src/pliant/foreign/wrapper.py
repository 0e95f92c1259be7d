"""C text around external functions: numbers and strings in flat arrays become the arguments that a function declares.

Real arrays are handed over where they are; Integer and Boolean ones are copied to ``int``, arrays of FORTRAN functions
are turned over, records become structs (specification 3.6, section 12.9).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pliant.errors import NotSupportedError
from pliant.foreign.calls import CSignature, ForeignArgument, ForeignType

_C_TYPE = {"real": "double", "integer": "int", "boolean": "int", "string": "const char *", "object": "void *"}
TABLE = "pliant_foreign_functions"
LAPACK = "pliant_foreign_lapack"
_SIZES = "size_t"


def count(of: ForeignType) -> int:
    """How many numbers a value has."""
    own = (
        sum(count(one) for _, one in of.fields)
        if of.base == "record"
        else int(of.base in ("real", "integer", "boolean"))
    )
    return own * prod(of.shape)


def count_texts(of: ForeignType) -> int:
    """How many strings a value has."""
    own = sum(count_texts(one) for _, one in of.fields) if of.base == "record" else int(of.base == "string")
    return own * prod(of.shape)


def n_in(signature: CSignature) -> int:
    """How many numbers a call is given; an object is one."""
    return sum(1 if one.type.base == "object" else count(one.type) for one in signature.arguments if one.size is None)


def n_out(signature: CSignature) -> int:
    """How many numbers it gives: the result, then the outputs among the arguments."""
    own = 0 if signature.result is None else count(signature.result)
    return own + sum(count(one.type) for one in signature.arguments if one.is_output)


def n_texts_out(signature: CSignature) -> int:
    """How many strings it gives, in the same order."""
    own = 0 if signature.result is None else count_texts(signature.result)
    return own + sum(count_texts(one.type) for one in signature.arguments if one.is_output)


def is_lapack(signature: CSignature) -> bool:
    """A function of LAPACK or BLAS, which SciPy brings along."""
    return signature.language.upper().startswith("FORTRAN") and bool(
        {one.lower() for one in signature.libraries} & {"lapack", "blas"}
    )


def unit_text(signatures: Sequence[CSignature], declared: frozenset[str] = frozenset()) -> str:
    """A C file with one wrapper for each function and the table of all of them.

    ``declared``: functions whose prototypes the annotations do not give.
    """
    lines = ['#include "pliant_foreign.h"', "#include <string.h>"]
    seen: set[str] = set()
    for one in signatures:
        if one.include and one.include not in seen:
            seen.add(one.include)
            lines.append(one.include)
    lapack = [one.symbol for one in signatures if is_lapack(one)]
    lapack = list(dict.fromkeys(lapack))
    if lapack:
        lines += [
            '#include "ModelicaUtilities.h"',
            f"{_EXPORT} void (*{LAPACK}[{len(lapack)}])(void);",
        ]
    for symbol in dict.fromkeys(one.symbol for one in signatures if not is_lapack(one)):
        own = next(one for one in signatures if one.symbol == symbol)
        if not own.include or symbol in declared:
            lines.append(_Wrapper(own, -1, lapack).prototype())
    for k, one in enumerate(signatures):
        lines.append(_Wrapper(one, k, lapack).text())
    names = ", ".join(f"wrapper_{k}" for k in range(len(signatures)))
    lines.append(f"{_EXPORT} const pl_foreign_function {TABLE}[] = {{{names}}};")
    return "\n".join([_HEAD, *lines, ""])


_EXPORT = "PL_FOREIGN_EXPORT"
_HEAD = """#if defined(_WIN32)
#define PL_FOREIGN_EXPORT __declspec(dllexport)
#else
#define PL_FOREIGN_EXPORT __attribute__((visibility("default")))
#endif"""


class _Wrapper:
    """The wrapper of one function."""

    def __init__(self, signature: CSignature, number: int, lapack: Sequence[str]) -> None:
        self.s, self.number = signature, number
        self.is_fortran = signature.language.upper().startswith("FORTRAN")
        if self.is_fortran and not is_lapack(signature):
            raise NotSupportedError(
                f"the external function `{signature.name}` is written in {signature.language}, of which only LAPACK "
                "and BLAS are called",
                hint="write it in C, or in Modelica",
                span=None,
            )
        if signature.language not in ("C", "FORTRAN 77", "builtin"):
            raise NotSupportedError(
                f"the external function `{signature.name}` is written in {signature.language!r}",
                hint='external "C" functions are called',
            )
        self.lapack = lapack
        self.before: list[str] = []
        self.after: list[str] = []
        self.n = self.t = self.o = self.out = self.t_out = 0

    # ----------------------------------------------------------------------------------------------- text

    def text(self) -> str:
        """The function."""
        s = self.s
        result = self._result_places()
        arguments = [self._argument(k, one) for k, one in enumerate(s.arguments)]
        call = self._callee() + f"({', '.join(arguments)})"
        lines = [
            f"static void wrapper_{self.number}(pl_foreign_data *data) {{",
            "    (void)data;",
            *self.before,
            *self._called(call, result),
            *self.after,
            "}",
        ]
        return "\n".join(lines)

    def _callee(self) -> str:
        if not self.is_fortran:
            return self.s.symbol
        k = self.lapack.index(self.s.symbol)
        missing = f"the LAPACK function {self.s.symbol} is there in a process of Python with SciPy only"
        self.before.append(f'    if (!{LAPACK}[{k}]) ModelicaError("{missing}");')
        types = ", ".join(self._fortran_type(one) for one in self.s.arguments)
        return f"((void (*)({types})){LAPACK}[{k}])"

    def _fortran_type(self, one: ForeignArgument) -> str:
        if one.size is not None or one.type.base in ("integer", "boolean"):
            return "int *"
        return "char *" if one.type.base == "string" else "double *"

    def _result_places(self) -> tuple[int, int]:
        places = self.out, self.t_out
        if self.s.result is not None:
            self.out += count(self.s.result)
            self.t_out += count_texts(self.s.result)
        return places

    def _called(self, call: str, places: tuple[int, int]) -> list[str]:
        result = self.s.result
        if result is None:
            return [f"    {call};"]
        number, text = places
        if result.shape:
            raise NotSupportedError(
                f"the external function `{self.s.name}` returns an array", hint="give it as an argument of the function"
            )
        if result.base == "object":
            return [f"    data->made = (void *){call};"]
        if result.base == "string":
            return [f"    data->text_out[{text}] = {call};"]
        if result.base == "record":
            lines = [f"    {self._struct(result)} r;", f"    __auto_type given = {call};"]
            lines.append("    memcpy(&r, &given, sizeof r < sizeof given ? sizeof r : sizeof given);")
            return lines + self._unpacked(result, "r", number)
        return [f"    data->out[{number}] = (double){call};"]

    def prototype(self) -> str:
        """What C needs to know where no header says it."""
        s = self.s
        result = "void"
        if s.result is not None:
            result = self._struct(s.result) if s.result.base == "record" else _C_TYPE[s.result.base]
        types = ", ".join(self._declared(one) for one in s.arguments) or "void"
        return f"extern {result} {s.symbol}({types});"

    def _declared(self, one: ForeignArgument) -> str:
        of = one.type
        if one.size is not None:
            return _SIZES
        if of.base == "record":
            return "void *"
        if of.shape:
            return f"{'' if one.is_output or of.base == 'string' else 'const '}{_C_TYPE[of.base]} *"
        return f"{_C_TYPE[of.base]} *" if one.is_output else _C_TYPE[of.base]

    # ------------------------------------------------------------------------------------------ arguments

    def _argument(self, k: int, one: ForeignArgument) -> str:
        of = one.type
        if one.size is not None:
            if not self.is_fortran:
                return f"({_SIZES}){one.size}"
            self.before.append(f"    int a{k} = {one.size};")
            return f"&a{k}"
        if of.base == "object":
            self.o, self.n = self.o + 1, self.n + 1
            return f"data->object[{self.o - 1}]"
        if of.base == "string":
            return self._string(k, one)
        if of.base == "record":
            return self._record(k, one)
        first, n = self.n, count(of)
        self.n += n
        place, self.out = self.out, self.out + (n if one.is_output else 0)
        if self.is_fortran:
            return self._turned(k, one, first, place)
        if of.base == "real":
            return self._reals(one, first, place, n)
        if not of.shape and not one.is_output:
            return f"pl_foreign_int(data->in[{first}])"
        self.before += self._copied(f"a{k}", "int", n, first)
        if one.is_output:
            self.after.append(f"    for (size_t i = 0; i < {n}; i++) data->out[{place} + i] = a{k}[i];")
        return f"a{k}"

    def _copied(self, name: str, kind: str, n: int, first: int) -> list[str]:
        return [
            f"    {kind} *{name} = pl_foreign_room({max(n, 1)} * sizeof({kind}));",
            f"    for (size_t i = 0; i < {n}; i++) {name}[i] = {_cast(kind)}(data->in[{first} + i]);",
        ]

    def _reals(self, one: ForeignArgument, first: int, place: int, n: int) -> str:
        if one.is_output:
            self.before.append(f"    memcpy(data->out + {place}, data->in + {first}, {n} * sizeof(double));")
            return f"data->out + {place}"
        return f"(double *)data->in + {first}" if one.type.shape else f"data->in[{first}]"

    def _turned(self, k: int, one: ForeignArgument, first: int, place: int) -> str:
        """Column-major copies."""
        of, name = one.type, f"a{k}"
        kind = "double" if of.base == "real" else "int"
        n = count(of)
        rows, columns = (of.shape[0], of.shape[1]) if len(of.shape) == 2 else (n, 1)
        self.before += [
            f"    {kind} *{name} = pl_foreign_room({max(n, 1)} * sizeof({kind}));",
            f"    for (size_t i = 0; i < {rows}; i++)",
            f"        for (size_t j = 0; j < {columns}; j++)",
            f"            {name}[j * {rows} + i] = {_cast(kind)}(data->in[{first} + i * {columns} + j]);",
        ]
        if one.is_output:
            self.after += [
                f"    for (size_t i = 0; i < {rows}; i++)",
                f"        for (size_t j = 0; j < {columns}; j++)",
                f"            data->out[{place} + i * {columns} + j] = {name}[j * {rows} + i];",
            ]
        return name

    def _string(self, k: int, one: ForeignArgument) -> str:
        of, first, n = one.type, self.t, count_texts(one.type)
        if not one.is_output:
            self.t += n
            if self.is_fortran:
                return f"(char *)data->text[{first}]"
            return f"(const char **)data->text + {first}" if of.shape else f"data->text[{first}]"
        place, self.t_out = self.t_out, self.t_out + n
        self.before += [
            f"    const char **a{k} = pl_foreign_room({max(n, 1)} * sizeof(char *));",
            f'    for (size_t i = 0; i < {n}; i++) a{k}[i] = "";',
        ]
        self.after.append(f"    for (size_t i = 0; i < {n}; i++) data->text_out[{place} + i] = a{k}[i];")
        return f"(void *)a{k}"

    # -------------------------------------------------------------------------------------------- records

    def _record(self, k: int, one: ForeignArgument) -> str:
        of = one.type
        if of.shape:
            raise NotSupportedError(
                f"the external function `{self.s.name}` has an array of records as an argument",
                hint="give the fields as arrays",
            )
        self.before.append(f"    {self._struct(of)} a{k};")
        self.before.append(f"    memset(&a{k}, 0, sizeof a{k});")
        self._packed(of, f"a{k}", one.is_output)
        if one.is_output:
            self.after += self._unpacked(of, f"a{k}", self.out)
            self.out += count(of)
        return f"(void *)&a{k}"

    def _struct(self, of: ForeignType) -> str:
        parts = []
        for name, one in of.fields:
            kind = self._struct(one) if one.base == "record" else _C_TYPE[one.base]
            sizes = "".join(f"[{n}]" for n in one.shape)
            parts.append(f"{kind} {name}{sizes};")
        return f"struct {{ {' '.join(parts)} }}"

    def _packed(self, of: ForeignType, name: str, is_output: bool) -> None:
        for field, one in of.fields:
            here = f"{name}.{field}"
            if one.base == "record":
                self._packed(one, here, is_output)
            elif one.base == "string":
                if not is_output:
                    self.before.append(f"    {here} = data->text[{self.t}];")
                    self.t += 1
            elif one.shape:
                n, kind = count(one), _C_TYPE[one.base]
                first = f"(({kind} *){here})"
                taken = f"{_cast(kind)}(data->in[{self.n} + i])"
                self.before.append(f"    for (size_t i = 0; i < {n}; i++) {first}[i] = {taken};")
                self.n += n
            else:
                self.before.append(f"    {here} = {_cast(_C_TYPE[one.base])}(data->in[{self.n}]);")
                self.n += 1

    def _unpacked(self, of: ForeignType, name: str, place: int) -> list[str]:
        lines: list[str] = []
        for field, one in of.fields:
            here = f"{name}.{field}"
            if one.base == "record":
                lines += self._unpacked(one, here, place)
            elif one.base == "string":
                raise NotSupportedError(
                    f"the external function `{self.s.name}` gives a record with a String",
                    hint="give the String as an output of its own",
                )
            elif one.shape:
                kind = f"({_C_TYPE[one.base]} *)"
                lines.append(
                    f"    for (size_t i = 0; i < {count(one)}; i++) data->out[{place} + i] = ({kind}{here})[i];"
                )
            else:
                lines.append(f"    data->out[{place}] = {here};")
            place += count(one)
        return lines


def _cast(kind: str) -> str:
    """How a number becomes an argument: numbers that are no `int` are errors."""
    return "pl_foreign_int" if kind == "int" else f"({kind})"
