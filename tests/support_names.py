"""Every name that written C uses: of the library, and of our own, read from our own texts."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from support_modelica import text_of
from support_stepper import Case

import pliant
from pliant.codegen.emit import generate
from pliant.codegen.names import _FILES, _KEYWORDS, _listed
from pliant.frontend.reading import read_flat as read
from pliant.frontend.scalar.scalarize import scalarize
from pliant.realtime.code.fixed import fixed
from pliant.realtime.delivery.measure_text import PROGRAM
from pliant.realtime.delivery.write import make_files
from pliant.structure.options import StructureOptions
from pliant.structure.pipeline import sort_system

INCLUDE = Path(__file__).parents[1] / "runtime" / "include"
MODEL = "Qqq"  # a name that no text of ours has

LOOPS = """  parameter Real qp1 = 2, qp2 = 3*qp1;
  input Real qu1(start = 1);
  output Real qy1;
  Real qx1(start = 1, fixed = true), qa1(start = 0.5), qa2, qa3, qa4, qa5, qr1(start = 1);
initial equation
  der(qr1) = 0;
equation
  der(qx1) = -qa1 + (if qx1 < 0.5 then 1 else qu1) + noEvent(if qa2 > 0 then atan2(qx1, 2 + qa2) else min(qx1, qa2));
  qa1 + 0.1*qa1^3 + qx1^1.7 = qp1 + sin(qa2);
  qa2 + 2*qa3 - qa4 = qu1; qa3 - 3*qa2 + qa5 = qx1; qa4 + qa5 + qa2 = qp2*time; qa5 - qa4 = qa3*qx1;
  der(qr1) = homotopy(1 - qr1*qx1, 1 - qr1) + sign(qx1)*abs(qa1);
  qy1 = qx1*qu1 + max(qx1, qa1)^(-3) + tan(qx1)*sinh(qa1)*acos(qx1/9)*log10(2 + qx1^2) + asin(qx1/9) + cosh(qx1)
    + tanh(qx1) + exp(-qx1) + log(2 + qx1) + sqrt(2 + qx1) + atan(qx1) + cos(qx1) + floor(3*qx1) + ceil(3*qx1);
  assert(qx1 > -100, "low");"""

SETS = """  Real qx1(start = 0.6, fixed = true), qx2(start = -0.8), qv1(start = 0, fixed = true), qv2, qf1;
equation
  der(qx1) = qv1; der(qx2) = qv2; der(qv1) = -qf1*qx1; der(qv2) = -qf1*qx2 - 9.81; qx1^2 + qx2^2 = 1;"""

EVENTS = """  parameter Real qp1 = 2;
  input Real qu1(start = 1);
  Real qx1(start = 1, fixed = true);
  discrete Real qd1(start = 0, fixed = true), qd2(start = 0, fixed = true);
  Boolean qb1(start = false, fixed = true);
  Integer qn1(start = 0, fixed = true);
  output Real qy1 = qx1 + qd1 + qn1;
equation
  der(qx1) = qp1*(qd1 + (if qb1 then 1 else 2)) - qx1 + qu1;
  when sample(0, 0.1) then
    qd1 = pre(qd1) + 0.1*qx1;
    qn1 = pre(qn1) + 1;
  end when;
  when qx1 > 3 then
    reinit(qx1, 1);
    qd2 = pre(qx1);
  end when;
  when time > 5 then
    terminate("end");
  end when;
  qb1 = qx1 > 2;"""

STEPS = """  input Real qu1(start = 1);
  parameter Real qp1 = 2;
  Real qx1(start = 1, fixed = true), qx2(start = 1, fixed = true), qa1(start = 0.5);
  discrete Real qd1(start = 0, fixed = true);
  output Real qy1 = qx1 + qa1 + qd1;
protected
  parameter Real qt1[4, 2] = [0, 0; 1, 1; 2, 4; 3, 9];
equation
  der(qx1) = -qp1*qx1*(if qx1 > 0.2 then 1 else 2) + qa1 + qu1 + qd1;
  der(qx2) = -400*(qx2 - qx1) + min(qx1, qx2)*max(qx1, qa1)*sign(qx1);
  qa1 + 0.1*qa1^3 = qx1 + qx2/(1 + qp1);
  when sample(0, 0.1) then
    qd1 = pre(qd1) + 0.1*qx1;
  end when;"""


def identifiers(text: str) -> set[str]:
    """Words of C text, comments, strings and numbers left out."""
    bare = re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\])*"|^\s*#\s*include.*?$', " ", text, flags=re.S | re.M)
    return set(re.findall(r"(?<![\w.])[A-Za-z_]\w*", bare)) | set(re.findall(r"\.([A-Za-z_]\w*)", bare))


def model_texts() -> list[str]:
    """Generated models that together have every function."""
    out = []
    for body, options in ((LOOPS, {}), (LOOPS, {"form": "dae"}), (SETS, {}), (EVENTS, {})):
        chosen = StructureOptions(**options)  # type: ignore[arg-type]
        system = scalarize(read(text_of(body, MODEL), None, []), fold_parameters=chosen.fold_parameters)
        out.append(generate(sort_system(system, chosen), chosen.form, taylor=True).text)
    return out


def written_texts() -> list[str]:
    """C files of written folders, and the programs that measure them."""
    out = [
        PROGRAM.replace("@N@", MODEL).replace("@WATCH@", "2").replace("@FIRST@", "m.x[0]"),
        fixed("count_instructions.c"),
    ]
    model = pliant.load(text_of(STEPS, MODEL))
    plan = model.realtime(step=1e-2, stop=0.2, options={"monitor": "fallback", "reference": False})
    out += [text for name, text in make_files(plan).items() if name.endswith((".c", ".h"))]
    case = Case(text_of(STEPS, MODEL), 1e-2)
    for style in ("straight-line", "tables"):
        for order, precision in ((1, "double"), (2, "float")):
            code = case.code(style=style, order=order, precision=precision, monitor=True, part=10)
            out += [code.header, code.text, code.driver]
    return out


def ours(texts: list[str]) -> set[str]:
    """Names in these texts that do not come from the model."""
    found = {word for text in texts for word in identifiers(text)}
    members = re.compile(r"q[a-z]\d(_\d)*|.*_|.*(qqq|Qqq|QQQ).*|_.*")
    return {word for word in found if not members.fullmatch(word)}


@cache
def pool() -> tuple[str, ...]:
    """All names that a model may try: keywords, the library, our texts and headers."""
    found = set(_KEYWORDS.split()) | _listed()["macros"] | _listed()["declared"] | set(_FILES.split())
    found |= ours(model_texts()) | ours(written_texts())
    for header in sorted(INCLUDE.glob("*.h")):
        found |= identifiers(header.read_text()) | set(re.findall(r"#\s*define\s+(\w+)", header.read_text()))
    return tuple(sorted(found))
