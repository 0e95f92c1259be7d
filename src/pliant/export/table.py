"""The C text of an exported model: the model itself, and the table of what stands where."""

from __future__ import annotations

from pliant.codegen.c_text import c_string
from pliant.export.content import FmuContent
from pliant.export.variables import ExportedVariable

AT_JUMP = {
    "restart": "PL_JUMP_RESTART",
    "proceed": "PL_JUMP_PROCEED",
    "x1": "PL_JUMP_X1",
    "x2": "PL_JUMP_X2",
    "correct": "PL_JUMP_CORRECT",
}
TYPES = {
    "real": "PL_TYPE_REAL",
    "integer": "PL_TYPE_INTEGER",
    "boolean": "PL_TYPE_BOOLEAN",
    "enumeration": "PL_TYPE_ENUMERATION",
}
FIRST = """#define PL_EXPORT static /* the model is seen by this file only */
#include "pl_export.h"
"""


def model_file(
    text: str, content: FmuContent, solver: str, at_jump: str, sparse: bool, dependents: int, delays: bool
) -> str:
    """The generated text with its table."""
    method = f"&pl_{solver}_method" if content.steps else "&pl_euler_method"
    fields = [
        ".engine = &pl_model_engine",
        ".model = &pliant_model",
        f".method = {method}",
        f".lu = {'&pl_sparse_table' if sparse else 'NULL'}",
        f".at_jump = {AT_JUMP[at_jump]}",
        *_common(content),
    ]
    more = ""
    if dependents:
        more = DEPENDENT
        fields += [f".n_dependent = {dependents}", ".dependent = exported_dependents"]
    if delays:
        fields.append(".shortest_delay = delay_shortest")
    return f"{FIRST}{text}\n{more}{_arrays(content)}\n{_table(fields)}"


DEPENDENT = """static pl_status exported_dependents(void *self, pl_real *value) {
    return dependent_values(self, 0.0, NULL, NULL, value);
}

"""


def unit_file(text: str, content: FmuContent) -> str:
    """The text of something that steps itself, a ``plan_unit``, with its table."""
    names = ", ".join(c_string(one.name) for one in content.variables)
    fields = [
        ".engine = &pl_unit_engine",
        ".unit = &plan_unit",
        f".step = {content.fixed_step!r}",
        ".name = exported_name",
        *_common(content),
    ]
    array = f"static const char *const exported_name[] = {{{names}}};\n"
    return f'#include "pl_export.h"\n\n{text}\n{_arrays(content)}{array}\n{_table(fields)}'


def _common(content: FmuContent) -> list[str]:
    return [
        f".token = {c_string(content.token)}",
        f".rtol = {content.rtol or 0.0!r}",
        f".exchange = {int(content.exchange)}",
        f".steps = {int(content.steps)}",
        f".n_variables = {len(content.variables)}",
        ".variable = exported_variable",
        ".constant = exported_constant",
        f".n_indicators = {len(content.indicators)}",
        ".indicator = exported_indicator",
    ]


def _table(fields: list[str]) -> str:
    return "const pl_export_table pl_exported = {\n    " + ",\n    ".join(fields) + ",\n};\n"


def _arrays(content: FmuContent) -> str:
    constants: list[float] = []
    rows = []
    for one in content.variables:
        index = one.index
        if one.at == "CONSTANT":
            index = len(constants)
            constants.append(one.value)
        rows.append(_row(one, index))
    indicators = ", ".join(map(str, content.indicators)) or "0"
    return (
        "static const pl_export_variable exported_variable[] = {\n"
        + "".join(f"    {row},\n" for row in rows)
        + "};\n"
        + f"static const pl_real exported_constant[] = {{{', '.join(map(repr, constants)) or '0.0'}}};\n"
        + f"static const int exported_indicator[] = {{{indicators}}};\n"
    )


def _row(one: ExportedVariable, index: int) -> str:
    return f"{{{index}, PL_AT_{one.at}, {TYPES[one.type]}, {one.sign}, {one.may}}}"
