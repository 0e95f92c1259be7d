"""Fixed pieces of C text that every generated model shares, and small helpers to write C data."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from pliant.codegen.places import number
from pliant.ir import Span, Table

_OUTSIDE = {"hold": "HOLD", "extend": "EXTEND", "repeat": "REPEAT", "error": "ERROR"}


def c_escaped(value: str) -> str:
    """The inside of a C string literal: what is not plain ASCII as bytes of UTF-8, no trigraphs."""
    plain = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("?", "\\?")
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in plain.encode("utf-8", "replace"))


def c_string(value: str) -> str:
    """A C string literal."""
    return f'"{c_escaped(value)}"'


def filled(template: str, words: Mapping[str, object]) -> str:
    """A template with its words, the longest first."""
    for word in sorted(words, key=len, reverse=True):
        template = template.replace(word, str(words[word]))
    return template


def c_comment(value: str) -> str:
    """Text that is safe inside a C comment."""
    plain = value.replace("*/", "* /").replace("/*", "/ *").encode("ascii", "replace").decode()
    return re.sub(r"[\x00-\x1f\x7f]", " ", plain).replace("??", "? ?")


def c_place(span: Span | None) -> str:
    """File name (without folders, so that a model may move) and line."""
    return f"{PurePosixPath(span.file.replace(chr(92), '/')).name}:{span.line}" if span else ""


def wrapped(values: Sequence[str], width: int = 12) -> str:
    """Elements of a C array, several a line."""
    if len(values) <= width:
        return ", ".join(values)
    rows = [", ".join(values[k : k + width]) for k in range(0, len(values), width)]
    return "\n    " + ",\n    ".join(rows) + "\n"


def pattern(
    lines: list[str], fields: list[str], name: str, n_rows: int, n_cols: int, entries: Sequence[tuple[int, int, int]]
) -> None:
    """A pl_pattern from entries sorted by columns: its arrays and its field of pl_model."""
    start = [0] * (n_cols + 1)
    for _, j, _ in entries:
        start[j + 1] += 1
    for j in range(n_cols):
        start[j + 1] += start[j]
    rows = [str(i) for i, _, _ in entries] or ["0"]
    lines.append(f"static const int {name}_start[] = {{{wrapped([str(k) for k in start], 20)}}};")
    lines.append(f"static const int {name}_row[] = {{{wrapped(rows, 20)}}};")
    fields.append(f".{name} = {{{n_rows}, {n_cols}, {name}_start, {name}_row}}")


def wrap(
    name: str, extra: str, inner: str, call: str, before: str = "", exported: bool = False, last: str = "@"
) -> str:
    """A function of pl_model that calls the generated one; ``last``: what is made of its status, ``@``."""
    kind = "PL_EXPORT" if exported else "static"
    called = last.replace("@", f"{inner}(m, t, x, u, {call})")
    return (
        f"{kind} pl_status {name}(void *self, pl_real t, const pl_real *x, const pl_real *u, {extra}) {{\n"
        f"    model *m = self;\n{before}    return {called};\n}}\n"
    )


def table_data(k: int, table: Table) -> str:
    """The data of a table."""
    knots = wrapped([number(value) for value in table.knots])
    pieces = wrapped([number(value) for piece in table.coefficients for value in piece])
    return (
        f"static const pl_real table_{k}_knot[] = {{{knots}}};\n"
        f"static const pl_real table_{k}_piece[] = {{{pieces}}};\n"
        f"static const pl_table table_{k} = {{{len(table.knots)}, PL_TABLE_{_OUTSIDE[table.extrapolation]}, "
        f"table_{k}_knot, table_{k}_piece}};"
    )


OUTPUTS = """static pl_status model_outputs(void *self, pl_real t, const pl_real *x, const pl_real *u, int n,
                               const int *index, pl_real *y) {
    model *m = self;
    if (n <= 0) return PL_OK;
@forgets    pl_status status = all_values(m, t, x, u);
    if (status != PL_OK) return status;
    for (int i = 0; i < n; i++) y[i] = m->y[index ? index[i] : i];
    return @last;
}
"""

CHOOSE = """static int choose_@k(model *m, pl_real t, pl_real *x, const pl_real *u, int force) {
    static const int slot[] = {@slots};
    pl_real g[@m * @n], q[@n * @depth];
    int work[@n], k = 0;
    if (set_@k(m, t, x, u, g, q) != PL_OK) return -1;
    if (pl_set_choose(@m, @n, g, m->state@k, force, work) <= 0) return 0;
    pl_set_matrix(@n, m->state@k, m->select + @select);
    for (int level = 0; level < @depth; level++)
        for (int j = 0; j < @n; j++)
            if (m->state@k[j]) x[slot[k++]] = q[level * @n + j];
    return 1;
}
"""

# choose states of a set: by flags, or (state NULL) by the constraints' Jacobian at x
PICK = """    if (set == @k) {
        if (!state) return choose_@k(m, t, x, u, 0);
        memcpy(m->state@k, state, sizeof m->state@k);
        pl_set_matrix(@n, m->state@k, m->select + @select);
        return 0;
    }
"""
PICK_HEAD = """static int initial_choose(void *self, int set, const int8_t *state, pl_real t, pl_real *x,
                          const pl_real *u) {
    model *m = self;
"""

STATES_HEAD = """static const int8_t *initial_states(void *self, int set) {
    model *m = self;
"""

WATCH = """static int near_zero_@k(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    pl_real g[@m * @m];
    int pivot[@m];
    return watch_@k(m, t, x, u, g) == PL_OK && pl_near_zero(@m, g, pivot, &m->watched[@k]);
}
"""

STEP_DONE = """static pl_status model_step_done(void *self, pl_real t, pl_real *x, const pl_real *u, int *request) {
    model *m = self;
    (void)t, (void)x, (void)u;
    *request = PL_STEP_FINE;
@body    return PL_OK;
}
"""

ALWAYS = """static const char *model_error(void *self) {
@said    return message[((model *)self)->error];
}

static pl_status model_jvp(void *self, pl_real t, const pl_real *x, const pl_real *u, pl_real dt, const pl_real *dx,
                           const pl_real *du, pl_real *df) {
    model *m = self;
@first    return directional(m, t, x, u, dt, dx ? dx : m->zero, du ? du : m->zero, df, NULL, NULL);
}

static pl_status open_model(void *self) {
    model *m = self;
@ends    memset(m, 0, sizeof *m);
    m->homotopy = 1.0;
    m->t_last = HUGE_VAL;
    return set_parameters(self, @p_start);
}
"""

TAYLOR = """static pl_status model_taylor(void *self, int order, pl_real t, const pl_real *x, const pl_real *u_taylor,
                              pl_real *x_taylor) {
    model *m = self;
    if (order < 0 || order > @order) return PL_ARGUMENT;
    if (x_taylor != x) memcpy(x_taylor, x, @n * sizeof(pl_real));
    if (order == 0) return PL_OK;
    const pl_real *u = u_taylor;
@first    const pl_status ended = taylor(m, t, x, u, order, x_taylor);
    return ended == PL_FINISHED ? PL_OK : ended;
}
"""

DELAY_DONE = """    pl_status recorded = delay_record(m, t, x, u, 0, 0);
    if (recorded != PL_OK) return recorded;
"""

PIPE_DONE = """    pl_status filled = pipe_record(m, t, x, u, 0);
    if (filled != PL_OK) return filled;
"""

ASSERTIONS = """static pl_status check_assertions(void *self, pl_real t, const pl_real *x, const pl_real *u) {
    model *m = self;
    int holds[@n];
    pl_status status = assertions(m, t, x, u, holds);
    if (status != PL_OK) return status;
    for (int k = 0; k < @n; k++)
        if (!holds[k]) {
            m->error = @first + k;
@report            return PL_FATAL;
        }
    return PL_OK;
}
"""

MESSAGE = """static int @name_text(model *m, pl_real t, const pl_real *x, const pl_real *u, int k, pl_text *s) {
    pl_real v[@all], own[@most];
    int i = 0;
    while (i < @n && @name_text_number[i] != k) i++;
    if (i == @n || @name_numbers(m, t, x, u, v) != PL_OK) return 0;
    const int *place = @name_text_place + @name_text_first[i];
    for (int j = 0; j < @name_text_first[i + 1] - @name_text_first[i]; j++) own[j] = v[place[j]];
    message_form(m, @name_text_form[i], s, own);
    return 1;
}

static PL_UNUSED void @name_message(model *m, pl_real t, const pl_real *x, const pl_real *u, int k) {
    pl_text s = {m->reported, sizeof m->reported, 0};
    m->reported[0] = 0;
    m->reported_error = @name_text(m, t, x, u, k, &s) ? @begin + k : 0;
}
"""
