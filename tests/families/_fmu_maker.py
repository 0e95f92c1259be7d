"""FMUs of random models with known equations: C text on the skeleton of ``tests/fmus``, and XML.

    x' = g A x + q x^3 + b u + c shift + d k (on ? 1 : 0) + h level + m mode,    y = C x + D u + (flag ? 1 : 0)

x, y are scalars, or arrays in FMI 3; u a Real input, k an Integer, on a Boolean, mode an enumeration input; g, shift,
flag, level and a text are parameters of all types.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support_fmus import BINARIES, FLAGS, PARTS, SKELETON, kept_folder, link, pack
from support_objects import kept_objects

Array = NDArray[np.float64]
LITERALS = ("low", "middle", "high")
NAMES = ("x", "tank.level", "body[1].w", "'a b'", "_s")


@dataclass
class Plant:
    """The numbers of one model, and how it is described."""

    seed: int
    version: str
    arrays: bool
    n: int
    n_y: int
    numbers: dict[str, Array]
    parameters: dict[str, Any]  # as declared
    derivatives: bool  # along directions are offered
    dependencies: bool  # are declared
    tunable: bool
    order: Array  # in which variables are listed
    stem: str  # of the names of states
    nominal: float = 1.0
    lines: list[tuple[int, str]] = field(default_factory=list)

    # ------------------------------------------------------------------------------------------- what holds

    def f(self, x: Array, inputs: dict[str, float], p: dict[str, Any]) -> Array:
        v = self.numbers
        return (
            p["g"] * (v["A"] @ x) + v["q"] * x**3 + v["b"] * inputs["u"] + v["c"] * p["shift"]
            + v["d"] * inputs["k"] * bool(inputs["on"]) + v["h"] * p["level"] + v["m"] * inputs["mode"]
        )  # fmt: skip

    def jacobian(self, x: Array, p: dict[str, Any]) -> Array:
        return p["g"] * self.numbers["A"] + np.diag(3 * self.numbers["q"] * x**2)

    def y(self, x: Array, inputs: dict[str, float], p: dict[str, Any]) -> Array:
        return self.numbers["C"] @ x + self.numbers["D"] * inputs["u"] + bool(p["flag"])

    def states(self) -> list[str]:
        if self.arrays:
            return [f"{self.stem}[{i + 1}]" for i in range(self.n)]
        return [f"{self.stem}{i}" if self.stem[-1] != "'" else f"'a b{i}'" for i in range(self.n)]

    def outputs(self) -> list[str]:
        return [f"y[{i + 1}]" if self.arrays else f"y{i}" for i in range(self.n_y)]

    # ---------------------------------------------------------------------------------------------- the text

    def source(self) -> str:
        """C text."""
        n, n_y, v = self.n, self.n_y, self.numbers
        first, places = {}, []

        def place(name: str, kind: str, role: str, member: str, count: int = 1) -> None:
            first[name] = len(places) + 1
            places.append(f"    {{{kind}, {role}, offsetof(values, {member}), {count}}},")

        def several(name: str, role: str, count: int) -> None:
            if self.arrays:
                place(name, "FLOAT64", role, name, count)
                return
            for i in range(count):
                place(f"{name}{i}", "FLOAT64", role, f"{name}[{i}]")

        several("x", "STATE", n)
        several("der_x", "DERIVATIVE", n)
        several("y", "OUTPUT", n_y)
        place("g", "FLOAT64", "TUNABLE" if self.tunable else "PARAMETER", "g")
        place("u", "FLOAT64", "INPUT", "u")
        place("k", "INT32", "DISCRETE_INPUT", "k")
        place("on", "BOOLEAN", "DISCRETE_INPUT", "on")
        place("mode", "ENUMERATION", "DISCRETE_INPUT", "mode")
        place("shift", "INT32", "PARAMETER", "shift")
        place("flag", "BOOLEAN", "PARAMETER", "flag")
        place("level", "ENUMERATION", "PARAMETER", "level")
        place("label", "STRING", "PARAMETER", "label")
        place("length", "INT32", "OUTPUT", "length")
        place("seen", "ENUMERATION", "OUTPUT", "seen")
        self.first = first
        arrays = "".join(
            f"static const double {name}_[] = {{{', '.join(map(repr, value.ravel().tolist()))}}};\n"
            for name, value in v.items()
        )
        partial = ""
        if self.derivatives:
            partial = PARTIAL.replace("@x", str(first["x0"])).replace("@d", str(first["der_x0"]))
            partial = (
                partial.replace("@y", str(first["y0"])).replace("@u", str(first["u"])).replace("@on", str(first["on"]))
            )
        text = SOURCE
        for name, value in {
            "@partial": partial, "@use": ".partial = partial," if partial else "", "@arrays": arrays,
            "@n": n, "@m": n_y, "@places": "\n".join(places), "@g": repr(self.parameters["g"]), "@seed": self.seed,
            "@shift": self.parameters["shift"], "@flag": int(self.parameters["flag"]),
            "@level": self.parameters["level"],
        }.items():  # fmt: skip
            text = text.replace(name, str(value))
        return text

    # --------------------------------------------------------------------------------------------- the archive

    def path(self) -> Path:
        """The FMU, built."""
        source = kept_folder() / f"plant{self.seed}" / "model.c"
        source.parent.mkdir(exist_ok=True)
        source.write_text(self.source())
        objects = kept_objects("gcc", list(FLAGS), [source, *(SKELETON / part for part in PARTS[self.version])])
        binary = source.with_name("plant.so")
        link(objects, binary)
        parts = {
            "modelDescription.xml": self.description().encode(),
            f"binaries/{BINARIES[self.version]}/plant.so": binary.read_bytes(),
        }
        return pack(parts, f"plant{self.seed}")

    def description(self) -> str:
        """XML."""
        from families._fmu_description import description

        return description(self)


SOURCE = """#include "fmu.h"
#include <string.h>

enum { N = @n, M = @m };
typedef struct {
    double x[N], der_x[N], y[M], g, u;
    int32_t k, shift, length;
    bool on, flag;
    int64_t mode, level, seen;
    fmu_text label;
} values;

@arrays
static const fmu_variable variables[] = {
    {FLOAT64, INDEPENDENT, 0, 1},
@places
};

static void start(fmu *m) {
    values *v = (values *)m->data;
    *v = (values){.g = @g, .shift = @shift, .flag = @flag, .level = @level, .mode = 1, .on = true};
    strcpy(v->label.text, "as it is");
    memcpy(v->x, x0_, sizeof v->x);
}

static int derivatives(fmu *m, double *out) {
    const values *v = (values *)m->data;
    for (int i = 0; i < N; i++) {
        out[i] = q_[i] * v->x[i] * v->x[i] * v->x[i] + b_[i] * v->u + c_[i] * v->shift + d_[i] * v->k * v->on +
                 h_[i] * v->level + m_[i] * v->mode;
        for (int j = 0; j < N; j++) out[i] += v->g * A_[i * N + j] * v->x[j];
    }
    return FMU_OK;
}

static int outputs(fmu *m) {
    values *v = (values *)m->data;
    for (int i = 0; i < M; i++) {
        v->y[i] = D_[i] * v->u + v->flag;
        for (int j = 0; j < N; j++) v->y[i] += C_[i * N + j] * v->x[j];
    }
    v->length = (int32_t)strlen(v->label.text);
    v->seen = v->mode;
    return derivatives(m, v->der_x);
}

@partial
const fmu_model model = {
    .token = "{plant @seed}",
    .size = sizeof(values),
    .variables = variables,
    .variable_count = sizeof variables / sizeof variables[0],
    .state_count = N,
    .step = 1e-3,
    .start = start,
    .derivatives = derivatives,
    .outputs = outputs,
    @use
};
"""
PARTIAL = """static double partial(fmu *m, uint32_t unknown, uint32_t known) {
    const values *v = (values *)m->data;
    uint32_t i = unknown - @d, j = known - @x, o = unknown - @y;
    if (unknown == known) return 1.0;
    if (i < N && j < N) return v->g * A_[i * N + j] + (i == j ? 3.0 * q_[i] * v->x[i] * v->x[i] : 0.0);
    if (i < N && known == @u) return b_[i];
    if (o < M && j < N) return C_[o * N + j];
    if (o < M && known == @u) return D_[o];
    return 0.0;
}
"""


def plant(seed: int) -> Plant:
    """A stable model."""
    r = np.random.default_rng(seed)
    n, n_y = int(r.integers(1, 6)), int(r.integers(1, 4))
    version = ("2.0", "3.0")[seed % 2]
    arrays = version == "3.0" and bool(r.random() < 0.5)
    # stable, some entries zero
    a = r.uniform(-1, 1, (n, n)) * (r.random((n, n)) < 0.6)
    a -= np.diag(np.abs(a).sum(axis=1) + r.uniform(0.3, 3, n))
    vectors = {name: r.uniform(-1, 1, n) for name in ("b", "c", "d", "h", "m")}
    nonlinear = r.random() < 0.5
    numbers = {
        "A": a,
        "q": -0.05 * r.random(n) if nonlinear else np.zeros(n),
        **vectors,
        "C": r.uniform(-1, 1, (n_y, n)) * (r.random((n_y, n)) < 0.7),
        "D": r.uniform(-1, 1, n_y) * (r.random(n_y) < 0.5),
        "x0": r.uniform(-1, 1, n),
    }
    return Plant(
        seed, version, arrays, n, n_y, numbers,
        {"g": float(r.uniform(0.5, 2)), "shift": int(r.integers(-3, 4)), "flag": bool(r.random() < 0.5),
         "level": int(r.integers(1, 4)), "label": "as it is"},
        derivatives=not arrays and bool(r.random() < 0.5),
        dependencies=bool(r.random() < 0.6),
        tunable=bool(r.random() < 0.5),
        order=r.permutation(60),
        stem="x" if arrays else str(r.choice(NAMES)),
        nominal=float(10.0 ** r.integers(-2, 3)),
    )  # fmt: skip
