"""plan.write: a folder that can be taken to the target. The same plan gives the same bytes.

All files are made in a folder of their own first and then moved, so that nothing half-written is ever seen.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.arguments import is_path
from pliant.codegen.c_text import c_escaped
from pliant.codegen.names import member_names
from pliant.errors import ArgumentError, OutputError
from pliant.realtime.code.run import Stepper
from pliant.realtime.delivery.a2l import a2l_text
from pliant.realtime.delivery.readme import readme
from pliant.realtime.delivery.recorded import Recorded, record
from pliant.realtime.delivery.text import (
    CMAKE,
    EXAMPLE,
    MAKEFILE,
    SELFTEST,
    STEP_FLAGS,
    data_text,
    filled,
    numbers,
    rate_calls,
    step_call,
)
from pliant.realtime.scenario import Scenario
from pliant.solve.models.numeric import NumericModel
from pliant.solve.options import check_parameters
from pliant.solve.signals.given import typed_inputs
from pliant.version import pliant_version

if TYPE_CHECKING:
    from pliant.realtime.code.make import StepCode
    from pliant.realtime.plan import Plan

FORMAT = 1  # of plan.json


def write_plan(plan: Plan, directory: str | Path, overwrite: bool = False) -> Path:
    """Write the folder and return its path.

    overwrite   into a folder that holds something already: files of the same names are replaced, others stay
    """
    if not is_path(directory) or not str(directory):
        raise ArgumentError(f"the directory must be a path, not {directory!r}", hint='e.g. plan.write("code")')
    target = Path(directory)
    _check_target(target, overwrite)  # before the work, and again by the system while moving
    files = make_files(plan)
    try:
        _place(files, target)
    except OSError as error:
        raise OutputError(
            f"{target} could not be written: {error.strerror or error}",
            hint="choose a folder that you may write to, on a disk with some space",
        ) from error
    return target


def _check_target(target: Path, overwrite: bool) -> None:
    try:
        if target.is_dir():
            if any(target.iterdir()) and not overwrite:
                raise OutputError(
                    f"the folder {target} exists and is not empty",
                    hint="choose another one, or overwrite=True (--overwrite) replaces what pliant wrote there",
                )
        elif target.exists() or target.is_symlink():
            raise OutputError(f"{target} exists and is not a folder", hint="choose another name")
    except PermissionError as error:
        raise OutputError(f"{target} cannot be read: {error.strerror}", hint="choose another folder") from error


def _place(files: Mapping[str, str], target: Path) -> None:
    """Write into a temporary folder, then move: the folder as a whole, or its files where the target exists."""
    is_new = not target.is_dir()
    if is_new:
        target.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(prefix=f".{target.name}-" if is_new else ".pliant-", dir=_beside(target, is_new)))
    try:
        for name, text in files.items():
            (place / name).write_bytes(text.encode("utf-8"))
        if is_new:
            mask = os.umask(0)
            os.umask(mask)
            place.chmod(0o777 & ~mask)
            place.rename(target)
        else:
            for name in files:
                os.replace(place / name, target / name)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _beside(target: Path, is_new: bool) -> Path:
    return target.parent if is_new else target


# ------------------------------------------------------------------------------------------------------- files


def make_files(plan: Plan) -> dict[str, str]:
    """Names and texts of all files."""
    code = plan.code
    stored = record(plan)
    words = _words(code)
    selftest, data, example = words["SELFTEST"], words["DATA"], words["EXAMPLE"]
    files = {
        f"{code.name}.c": code.text,
        f"{code.name}.h": code.header,
        f"{selftest}.c": filled(SELFTEST, words),
        f"{data}.h": data_text(code, stored, _defaults(code)),
        f"{example}.c": filled(EXAMPLE, words),
        f"{code.name}.a2l": a2l_text(code, plan.outcome.model.known),
        "Makefile": filled(MAKEFILE, words),
        "CMakeLists.txt": filled(CMAKE, words),
        "evidence.txt": plan.evidence.text,
        "evidence.json": _json(plan.evidence.as_dict()),
        "plan.json": _json(describe(plan, stored)),
    }
    told = {
        f"{code.name}.c": "the step",
        f"{code.name}.h": "its interface, with units and descriptions",
        f"{selftest}.c": "self-test",
        f"{data}.h": "stored trajectory that it compares with",
        f"{example}.c": "the smallest program around the step",
        f"{code.name}.a2l": "the same for measurement and calibration tools (ASAP2); `pliant a2l` fills in addresses",
        "Makefile": "build with make",
        "CMakeLists.txt": "build with CMake",
        "evidence.txt": "what was checked, over which states, inputs and parameters, and what was not",
        "evidence.json": "the same for machines",
        "plan.json": "kept entries, order of elimination, options and scenarios: what this folder was made from",
    }
    return files | {"README.md": readme(plan, stored, told)}


def _defaults(code: StepCode) -> list[float]:
    """Default parameters as the compiled code has them."""
    with np.errstate(over="ignore"):  # what is too large for float is infinite there
        stepper = Stepper(code, {name: code.start.parameters[name] for name in code.p_names[:1]})
        vector = stepper._parameter_vector()
    return [] if vector is None else [float(x) for x in vector]


def _words(code: StepCode) -> dict[str, str]:
    """What the templates need; file names give way to that of the model."""
    n = code.name
    taken = n.lower()
    names = {"SELFTEST": "selftest", "DATA": "selftest_data", "EXAMPLE": "example_main"}
    words = {key: name if name != taken else f"{name}_program" for key, name in names.items()}
    members = zip(member_names(code.u_names), code.u_start, strict=True)
    start = "".join(f"    {n}_in.{member} = {numbers([value], code.precision).strip()};\n" for member, value in members)
    has_outputs = bool(code.y_names)
    member = member_names(code.y_names)[0] if has_outputs else ""
    return {
        **words,
        "N": n,
        "TAU": repr(code.tau),
        "FLAGS": STEP_FLAGS,
        "NOT_FINITE": f"(unsigned){n.upper()}_NOT_FINITE",
        "START": start,
        "DISCRETE": "m->d" if code.memories else "m->x" if code.n_x else "((void)m, NULL)",
        "X": "model.x" if code.n_x else "NULL",
        "SAME": _same(code),
        "SAMED": "memcmp(model.d, other.d, sizeof model.d) == 0" if code.memories else "1",
        "RATES": rate_calls(code),
        "SEES": _sees(code),
        "STEP": step_call(code),
        "FORMAT": _format((code.y_names or code.x_names or ("number of steps",))[0]),
        "VALUE": f"{n}_out.{member}" if has_outputs else f"{n}_instance.x[0]" if code.n_x else f"{n}_instance.step",
    }


def _same(code: StepCode) -> str:
    """C: two instances carry the same on to the next step."""
    kept = "x" if code.n_x else "d" if code.memories else ""
    return f"memcmp(model.{kept}, other.{kept}, sizeof model.{kept}) == 0" if kept else "1"


def _sees(code: StepCode) -> str:
    """C: a number that is not finite, and what the monitor says to it; nothing where no number is kept."""
    place = "dx[0]" if code.n_x else "d[0]" if code.memories else ""
    if not place:
        return ""
    return (
        f"    model.{place} = ({code.name}_real)NAN;\n"
        f"    check(({code.name}_monitor(&model, &flags) & (unsigned){code.name.upper()}_NOT_FINITE) != 0, "
        '"the monitor sees a number that is not finite");\n'
    )


def _format(name: str) -> str:
    """A name inside a C format string."""
    return c_escaped(name).replace("%", "%%")


# ------------------------------------------------------------------------------------------------------- json


def describe(plan: Plan, stored: Recorded) -> dict[str, Any]:
    """What the plan was made from, and what it decided: enough to make it again."""
    outcome, code = plan.outcome, plan.code
    frame, request, names = outcome.frame, outcome.request, outcome.frame.names
    kept = zip(frame.rows[outcome.mask], frame.columns[outcome.mask], strict=True)
    return {
        "format": FORMAT,
        "pliant": pliant_version(),
        "model": {"name": plan.name, "sha256": outcome.model.digest, "form": code_form(plan)},
        "step": request.step,
        "order": request.order,
        "tolerance": request.rule.tolerance,
        "theta": request.rule.theta,
        "options": {one.name: getattr(request.options, one.name) for one in dataclasses.fields(request.options)},
        "scenarios": [_scenario(one, plan.outcome.model, request.step) for one in request.scenarios],
        "states": list(names),
        "kept": [[names[i], names[j]] for i, j in kept],
        "n_entries": {"kept": int(outcome.mask.sum()), "all": frame.n_entries},
        "elimination": [[names[i], names[j]] for i, j in outcome.elimination.pivots],
        "precision": code.precision,
        "style": code.style,
        "operations": {name: dataclasses.asdict(one) for name, one in code.operations.items()},
        "memory": code.memory,
        "self_test": {"steps": stored.n_steps, "points": len(stored.points), "tolerance": stored.tolerance},
        "timing": None if plan.timing is None else plan.timing.as_dict(),
    }


def code_form(plan: Plan) -> str:
    """ode or dae: where the unknowns of loops are."""
    return plan.outcome.model.known.form


def _scenario(one: Scenario, model: NumericModel, tau: float) -> dict[str, Any]:
    """A scenario as numbers: functions are sampled at the steps."""
    parameters = check_parameters(model, one.parameters)
    assert one.stop is not None
    count = max(1, round((one.stop - one.start) / tau))
    times = [one.start + tau * k for k in range(count + 1)]
    typed = typed_inputs(model.declared_inputs(parameters), one.inputs, one.stop)
    return {
        "name": one.name,
        "start": one.start,
        "stop": one.stop,
        "inputs": {name: signal.as_data(lambda: times) for name, signal in typed.items()},
        "parameters": dict(one.parameters),
        "start_values": dict(one.start_values),
    }


def _json(value: Any) -> str:
    return _laid_out(_clean(value), "") + "\n"


def _laid_out(value: Any, before: str) -> str:
    """JSON that people can read: lists of plain values on one line."""
    inner = before + "  "
    if isinstance(value, dict) and value:
        lines = [
            f"{inner}{json.dumps(name, ensure_ascii=False)}: {_laid_out(one, inner)}" for name, one in value.items()
        ]
        return "{\n" + ",\n".join(lines) + f"\n{before}}}"
    if isinstance(value, list) and any(isinstance(one, (list, dict)) for one in value):
        return "[\n" + ",\n".join(inner + _laid_out(one, inner) for one in value) + f"\n{before}]"
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _clean(value: Any) -> Any:
    """Plain JSON: what is not finite becomes null."""
    if isinstance(value, Mapping):
        return {str(name): _clean(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_clean(one) for one in value]
    if isinstance(value, np.ndarray):
        return [_clean(one) for one in value.tolist()]
    if isinstance(value, np.generic):
        return _clean(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
