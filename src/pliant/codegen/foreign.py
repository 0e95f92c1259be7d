"""Calls of external functions in the text of a model: their table, and memory in the instance."""

from __future__ import annotations

from collections.abc import Sequence

from pliant.codegen.arrays import of_instance
from pliant.codegen.c_text import c_string
from pliant.codegen.places import Field, ValueKind
from pliant.codegen.texts import calls_in, of_vector, statements
from pliant.foreign.calls import CSignature, ForeignCall
from pliant.foreign.wrapper import n_texts_out
from pliant.ir import Graph, Op
from pliant.texts import OpenText

SAID = 700  # characters of an error's text


class ForeignTable:
    """All calls of one model, numbered in the order of the graph."""

    def __init__(self) -> None:
        self.numbers: dict[ForeignCall, int] = {}
        self.calls: list[ForeignCall] = []
        self.functions: dict[CSignature, int] = {}
        self.slots: dict[ForeignCall, int] = {}
        self.memory: list[int] = []
        self.n_memory = 0

    def number(self, call: ForeignCall) -> int:
        """Number of a call, a new one if it was not there."""
        found = self.numbers.get(call)
        if found is None:
            if call.base is not None:
                self.number(call.base)
            found = self.numbers[call] = len(self.calls)
            self.calls.append(call)
            for one in (one for text in call.texts for one in calls_in(text)):
                self.number(one)
            self.memory.append(self.n_memory)
            self.n_memory += 2 + call.n_lead + call.n_args + call.n_outputs
            for one in (call.signature, call.destructor):
                if one is not None:
                    self.functions.setdefault(one, len(self.functions))
            if call.is_object:
                self.slots[call] = len(self.slots)
        return found

    def read(self, g: Graph, texts: Sequence[str]) -> None:
        """Number all calls of a graph, and those whose results are parts of texts."""
        for node in g.nodes:
            if node[0] == Op.FOREIGN:
                self.number(node[1])
        for call in (one for text in texts for one in calls_in(text)):
            self.number(call)

    def fields(self) -> list[Field]:
        """Members of the instance."""
        if not self.calls:
            return []
        return [
            Field(of_instance("foreign"), self.n_memory, "the last call of each external function"),
            Field(of_instance("object", ValueKind.INTEGER), max(len(self.slots), 1), "numbers of external objects"),
            Field(of_instance("foreign_said", ValueKind.TEXT), SAID, "what the last one that failed said"),
            Field(of_instance("foreign_failed", ValueKind.INTEGER), None, "1: it failed in this evaluation"),
            Field(of_instance("foreign_time"), None, "time of the last call"),
        ]

    def said(self) -> str:
        """What the text of an error begins with."""
        if not self.calls:
            return ""
        return "    if (((model *)self)->foreign_failed) return ((model *)self)->foreign_said;\n"

    def ends(self) -> str:
        """What ends objects of an instance that was here before."""
        return "    pl_objects_end(m);\n" if self.slots else ""

    def verdict(self, n: object, values: str, status: str = "@") -> str:
        """The status of an evaluation that gave n values."""
        if not self.calls:
            return "@" if status == "@" else "PL_OK"
        return f"foreign_verdict(m, {status}, {n}, {values})"

    @property
    def makes_texts(self) -> bool:
        """Some call is given texts that change, or gives texts that messages read."""
        return any(n_texts_out(call.signature) or _is_made(call) for call in self.calls)

    def head(self) -> str:
        """Declarations before the functions."""
        if not self.calls:
            return ""
        return (
            "extern const pl_foreign_function pliant_foreign_functions[];\n"
            "static pl_real foreign_value(model *m, pl_real t, int k, int output, const pl_real *in);\n"
            + (
                "static PL_UNUSED void foreign_text(model *m, int k, int which, const pl_real *in, pl_text *s);\n"
                if self._most_given()
                else ""
            )
        )

    def text(self) -> str:
        """The table, behind the functions."""
        if not self.calls:
            return ""
        lines, rows = [], []
        for k, call in enumerate(self.calls):
            if _is_made(call):
                lines += self._made(k, call)
            elif call.texts:
                texts = ", ".join(map(c_string, call.texts))
                lines.append(f"static const char *const foreign_text_{k}[] = {{{texts}}};")
            if call.objects:
                lines.append(f"static const int foreign_objects_{k}[] = {{{', '.join(map(str, call.objects))}}};")
            rows.append(self._row(k, call))
        objects: Sequence[str] = [str(self.numbers[call]) for call in self.slots] or ["0"]
        most_objects = max([len(call.objects) for call in self.calls], default=0)
        most_texts = max([n_texts_out(call.signature) for call in self.calls], default=0)
        lines += [
            f"#define PL_FOREIGN_OBJECTS {most_objects + 1}",
            f"#define PL_FOREIGN_TEXTS {most_texts + 1}",
            f"#define PL_FOREIGN_MADE {max([len(one.texts) for one in self.calls if _is_made(one)], default=0)}",
            f"#define PL_FOREIGN_GIVES {self._most_given()}",
            "static const pl_foreign_entry foreign_entry[] = {",
            *rows,
            "};",
            f"static const int foreign_object_entry[] = {{{', '.join(objects)}}};",
            '#include "pliant_calls.h"\n',
        ]
        return "\n".join(lines)

    def _most_given(self) -> int:
        """Numbers of calls that give texts, and at least 1; 0: there are none."""
        return max([call.n_outputs + 1 for call in self.calls if n_texts_out(call.signature)], default=0)

    def _made(self, k: int, call: ForeignCall) -> list[str]:
        """The function that makes the texts of a call."""
        lines = [f"static void foreign_made_{k}(void *self, const double *v, pl_text *s, const char **text) {{"]
        lines.append("    model *m = self;\n    (void)m, (void)v;")
        for i, one in enumerate(call.texts):
            if isinstance(one, OpenText):
                lines.append(f"    text[{i}] = pl_text_begin(s);")
                lines += [*statements(one, of_vector, self.number), "    pl_text_end(s);"]
            else:
                lines.append(f"    text[{i}] = {c_string(one)};")
        return [*lines, "}"]

    def _row(self, k: int, call: ForeignCall) -> str:
        words = {
            "name": c_string(call.name),
            "function": self.functions[call.signature],
            "destructor": -1 if call.destructor is None else self.functions[call.destructor],
            "n_in": call.n_lead + call.n_args,
            "n_out": call.n_outputs,
            "n_lead": call.n_lead,
            "memory": self.memory[k],
            "is_pure": int(call.is_pure),
            "base": -1 if call.base is None else self.numbers[call.base],
            "by": call.by,
            "slot": self.slots.get(call, -1),
            "text": f"foreign_text_{k}" if call.texts and not _is_made(call) else "NULL",
            "make": f"foreign_made_{k}" if _is_made(call) else "NULL",
            "n_objects": len(call.objects),
            "objects": f"foreign_objects_{k}" if call.objects else "NULL",
        }
        return "    {" + ", ".join(f".{name} = {value}" for name, value in words.items()) + "},"


def _is_made(call: ForeignCall) -> bool:
    """Some text that it is given changes."""
    return any(isinstance(one, OpenText) for one in call.texts)
