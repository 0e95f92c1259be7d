"""The step of a plan inside an FMU for co-simulation: the C text of the folder, behind FMI's interface."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pliant.codegen.c_text import c_string, wrapped
from pliant.export.content import FmuContent, c_identifier
from pliant.export.fmu import check_export, write_fmu
from pliant.export.sources import source_set
from pliant.export.table import unit_file
from pliant.export.variables import MAY_BEND, MAY_CHANGE, MAY_START, ExportedVariable, described
from pliant.solve.models.known import Known
from pliant.solve.names import is_hidden
from pliant.version import pliant_version

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.realtime.plan import Plan

FLAGS = "bits of pliant.Flag that steps raised since the last communication point"


def export_plan(
    plan: Plan, path: Any, version: str, platforms: Sequence[str] | None, sources: bool, overwrite: bool
) -> Path:
    """Write the FMU; returns its path."""
    request = check_export(path, version=version, platforms=platforms, sources=sources, overwrite=overwrite)
    code, scenario = plan.code, plan.outcome.request.scenarios[0]
    files = source_set(version, ("unit",))
    text = _text(code)
    content = FmuContent(
        name=plan.name,
        identifier=c_identifier(plan.name),
        token=_token(text, version),
        version=version,
        exchange=False,
        steps=True,
        tool=f"pliant {pliant_version()}",
        rtol=None,
        variables=tuple(_variables(code, plan.outcome.model.known)),
        indicators=(),
        fixed_step=code.tau,
        start=code.start.t,
        stop=scenario.stop,
        derivatives=False,
        events=False,
        between=False,
        sources=("model.c", *files.shell, *files.runtime) if sources else (),
    )
    return write_fmu(content, unit_file(text, content), files, replace(request, kind="co-simulation"))


def _token(text: str, version: str) -> str:
    d = hashlib.sha256("\0".join((text, pliant_version(), version)).encode()).hexdigest()
    return f"{{{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:32]}}}"


def _text(code: StepCode) -> str:
    """The step, what it is called, and the shell around it."""
    step = code.text.replace(f'#include "{code.name}.h"', code.header)
    guarded, monitor = code.options.fallback, code.options.monitor
    first = [*code.u_start, *(code.start.parameters[name] for name in code.p_names)]
    words = {
        "STEP(name)": f"{code.name}_##name",
        "STEP_INSTANCE": code.name,
        "STEP_JUMP": f"{code.name}_step_{'guarded_jump' if guarded else 'jump'}",
        "STEP_TAU": repr(code.tau),
        "STEP_START": repr(code.start.t),
        "STEP_N_X": code.n_x,
        "STEP_N_D": len(code.memories),
        "STEP_N_Y": len(code.y_names),
        "STEP_N_U": len(code.u_names),
        "STEP_N_P": len(code.p_names),
        "STEP_FLAGS": 2 if guarded else 1 if monitor else 0,
    }
    return (
        "#define pl_real step_real /* in the step: its own numbers */\n"
        + step
        + "\n#undef pl_real\n\n"
        + "".join(f"#define {name} {value}\n" for name, value in words.items())
        + f"static const pl_real step_first[] = {{{wrapped([repr(float(one)) for one in first] or ['0.0'])}}};\n"
        + _names("step_x_name", code.x_names)
        + '#include "pl_export_plan.h"\n'
    )


def _names(array: str, names: Iterable[str]) -> str:
    texts = [c_string(name) for name in names]
    return f"static const char *const {array}[] = {{{wrapped(texts, 6)}}};\n" if texts else ""


def _variables(code: StepCode, known: Known) -> list[ExportedVariable]:
    """What is set: inputs, parameters. What is read: unknowns of the step, discrete variables, outputs, its flags."""
    out = [ExportedVariable("time", "TIME", 0, "independent", "continuous", unit="s", description="simulation time")]
    first = [*code.u_start, *(code.start.parameters[name] for name in code.p_names)]
    for k, name in enumerate((*code.u_names, *code.p_names)):
        is_input = k < len(code.u_names)
        real = known.type(name) == "real" and not known.is_held(name)
        one = described(
            known,
            name,
            "U",
            k,
            causality="input" if is_input else "parameter",
            variability="tunable" if not is_input else "continuous" if real else "discrete",
            start=float(first[k]),
            initial=None if is_input else "exact",
            may=MAY_START | MAY_CHANGE | (MAY_BEND if is_input and real else 0),
            depends_on=frozenset((name,)),
        )
        if not is_input and one.type != "real":
            one = replace(one, variability="fixed", may=MAY_START)
        out.append(one)
    taken = {one.name for one in out}
    n_x, n_d = code.n_x, len(code.memories)
    places = [(name, n_x + n_d + k) for k, name in enumerate(code.y_names)]
    places += [(name, k) for k, name in enumerate((*code.x_names, *code.memories))]
    for name, k in places:
        if name in taken or is_hidden(name) or name not in known.variables:
            continue
        taken.add(name)
        held = known.is_held(name)
        one = described(
            known,
            name,
            "Y",
            k,
            causality="output" if name in code.y_names else "local",
            variability="discrete" if held else "continuous",
            initial="calculated",
        )
        out.append(one)
    n = n_x + n_d + len(code.y_names)
    counters = [("pliant.flags", FLAGS)] if code.options.monitor else []
    for name, text in (*counters, ("pliant.n_steps", "steps taken")):
        place = n if name == "pliant.flags" else n + 1
        out.append(
            ExportedVariable(name, "Y", place, "local", "discrete", "calculated", type="integer", description=text)
        )
    return out
