"""A2L files of models with odd names: every symbol lies where the compiled step has its value."""

from __future__ import annotations

import re

import numpy as np

import pliant
from families import RIGHT, WRONG, Family, Outcome
from pliant.realtime.code.run import Stepper
from pliant.realtime.delivery.a2l import BYTES, a2l_text

WORDS = ("x", "speed", "_q", "'a b'", "'%'", "int", "signal", "T_B", "x_1", "e")


def text_of(rng: np.random.Generator) -> str:
    """States as scalars, arrays, matrices and inside of parts; parameters, inputs and a sampled variable."""
    words = [str(one) for one in rng.permutation(WORDS)]
    shapes = ["", "[3]", "[2,2]"]
    lines = ["model Odd"]
    names = []
    for word in words[: int(rng.integers(2, 6))]:
        shape = str(rng.choice(shapes)) if not word.startswith("'") else ""
        lines.append(f"  Real {word}{shape}(" + ("each " if shape else "") + 'unit = "m/s") "say \\"hi\\" 5 °";')
        names += [(word, shape)]
    lines += ["  block Part", "    parameter Real k = 2;", "    Real y(start = 1, fixed = true);", "  equation"]
    lines += ["    der(y) = -k*y;", "  end Part;", "  Part part[2];", "  Part other(k = 3);"]
    lines += ["  input Real u[2](each start = 0.5);", "  parameter Real gain[2] = {4, 5};"]
    lines += ["  discrete Real held(start = 7, fixed = true);", "equation"]
    for word, shape in names:
        size = {"": "", "[3]": "fill(1.0, 3)", "[2,2]": "fill(1.0, 2, 2)"}[shape]
        lines.append(f"  der({word}) = {f'{size} - {word}' if shape else f'1 - {word} + u[1]'};")
    lines += ["  when sample(0, 0.05) then", "    held = gain[1]*other.y + u[2];", "  end when;", "end Odd;"]
    return "\n".join(lines)


def check(seed: int) -> Outcome:
    """Blocks read with a pattern of our own, values read at their offsets."""
    rng = np.random.default_rng(seed)
    precision = "float" if seed % 2 else "double"
    model = pliant.load(text_of(rng))
    options = {"search": "full", "certificate": False, "reference": False, "precision": precision}
    plan = model.realtime(step=0.01, stop=0.2, accuracy=None, options=options)
    code = plan.code
    text = a2l_text(code, plan.outcome.model.known)
    if not text.isascii():
        return Outcome(seed, WRONG, "not in ASCII")
    blocks = re.findall(r"/begin (MEASUREMENT|CHARACTERISTIC) (\S+) .*?SYMBOL_LINK \"(\w+)\" (\d+)", text, re.DOTALL)
    names = [one[1] for one in blocks]
    if len(set(names)) < len(names):
        return Outcome(seed, WRONG, "two blocks of one name")
    for group in re.findall(r"/begin REF_\w+\n(.*?)/end REF", text, re.DOTALL):
        missing = set(group.split()) - set(names)
        if missing:
            return Outcome(seed, WRONG, f"groups name what is not there: {missing}")
    stepper = Stepper(code)
    stepper.run(np.tile(code.u_start, (12, 1)), 12)
    there: dict[str, list[float]] = {}
    for _, _, symbol, offset in blocks:
        if symbol == f"{code.name}_instance":
            kind = np.int64 if int(offset) == code.offsets["step"] else stepper.type
            there.setdefault(symbol, []).append(float(stepper._at(int(offset), kind, 1)[0]))
    wanted = sorted([*stepper.x.astype(float), *stepper.discrete.astype(float)[_shown(code.memories)], 12.0])
    if sorted(there[f"{code.name}_instance"]) != wanted:
        return Outcome(seed, WRONG, f"values {there} are not {wanted}")
    for symbol, count in (("in", len(code.u_names)), ("calibration", len(code.p_names))):
        found = sorted(int(offset) for _, _, one, offset in blocks if one == f"{code.name}_{symbol}")
        if found != [BYTES[precision] * k for k in range(count)]:
            return Outcome(seed, WRONG, f"{symbol}: offsets {found}")
    return Outcome(seed, RIGHT)


def _shown(names: tuple[str, ...]) -> list[int]:
    return [k for k, name in enumerate(names) if not name.startswith("$")]


FAMILY = Family(
    name="a2l_files",
    what="A2L files of models with odd names: symbols against the memory of the compiled step",
    goal="every value where the file says",
    count=100,
    part=2,
    check=check,
)
