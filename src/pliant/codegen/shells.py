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


def wrap(name: str, extra: str, inner: str, call: str, before: str = "", exported: bool = False) -> str:
    """A function of pl_model that calls the generated one."""
    kind = "PL_EXPORT" if exported else "static"
    return (
        f"{kind} pl_status {name}(void *self, pl_real t, const pl_real *x, const pl_real *u, {extra}) {{\n"
        f"    model *m = self;\n{before}    return {inner}(m, t, x, u, {call});\n}}\n"
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
    pl_status status = all_values(m, t, x, u);
    if (status != PL_OK) return status;
    for (int i = 0; i < n; i++) y[i] = m->y[index ? index[i] : i];
    return PL_OK;
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

# before an event
GUESS = """/* Loops start from their solution just before the event: another branch may not be defined a step back. */
static void guess_here(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    const int error = m->error;
    if (all_values(m, t, x, u) == PL_OK) {
        memcpy(m->guess, m->zz, sizeof m->guess);
        memset(m->slope, 0, sizeof m->slope);
        m->t_guess = t;
    }
    m->error = error;
}
"""

NO_GUESS = """static void guess_here(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    (void)m, (void)t, (void)x, (void)u;
}
"""

# the solution of the loops at the last evaluation is the next guess; that of what sets need was computed just now
LOOPS = """static const int8_t tear_of_f[] = {@flags}, tear_of_set[] = {@of_set};
static const int tear_loop[] = {@loop};

static void accept_loops(model *m, pl_real t, int is_f, int is_set) {
    const pl_real dt = t - m->t_guess;
    for (int k = 0; k < @n; k++) {
        const int here = is_set && tear_of_set[k], i = tear_loop[k];
        if (!here && !is_f) continue;
        const int of_f = tear_of_f[k] && !here;
        const pl_real z = of_f ? m->z[k] : m->zz[k];
        m->slope[k] = dt > 0.0 ? (z - m->guess[k]) / dt : 0.0;
        m->guess[k] = z;
        m->det_guess[i] = of_f ? m->det_z[i] : m->det_zz[i];
    }
    if (is_f || is_set) m->t_guess = t;
}

/* Begin here. */
static void initial_accept(void *self) {
    model *m = self;
    accept_loops(m, m->t_last, 1, 0);
    memset(m->slope, 0, sizeof m->slope);
}

static pl_real *initial_tears(void *self) {
    return ((model *)self)->guess;
}
"""

# an event may lead to another branch
ANOTHER_BRANCH = """static void another_branch(model *m, pl_real t) {
@forget}
"""

# pivots of constraints that are always solved for the same unknowns: their determinant must not come near zero;
# `watched` is the largest one so far, with its sign
WATCH = """static int near_zero_@k(model *m, pl_real t, const pl_real *x, const pl_real *u) {
    pl_real g[@m * @m];
    int pivot[@m];
    if (watch_@k(m, t, x, u, g) != PL_OK) return 0;
    if (pl_small_factor(@m, g, pivot)) return 1;
    const pl_real now = pl_determinant(@m, g, pivot);
    if (pl_passes_zero(now, m->watched[@k], PL_NEAR_ZERO)) return 1;
    if (fabs(now) > fabs(m->watched[@k])) m->watched[@k] = now;
    return 0;
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
    memset(m, 0, sizeof *m);
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

ASSERTIONS = """    int holds[@n];
    pl_status status = assertions(m, t, x, u, holds);
    if (status != PL_OK) return status;
    for (int k = 0; k < @n; k++)
        if (!holds[k]) {
            m->error = @first + k;
            return PL_FATAL;
        }
"""
