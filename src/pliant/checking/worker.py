"""One example, as a program: ``python -m pliant.checking.worker``; the task as JSON on stdin, the answer on stdout.

A line of JSON follows each stage that was passed, and one at the end, so that the caller knows how far it came
where it crashes or takes too long.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pliant.arguments import Vector
from pliant.errors import InitialValueError, PliantError, SolverError

RTOL = 1e-6
MOST_POINTS = 20_000
_PLACE = re.compile(r"\S*\.mo:\d+(:\d+)?:?\s*")
_NAME = re.compile(r"`[^`]*`|'[^']*'")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(\.\d+)?(e[-+]?\d+)?(?![\w.])", re.IGNORECASE)


def error_class(kind: str, message: str) -> str:
    """What kind of failure it is: the message without places, names and numbers."""
    first = message.splitlines()[0] if message else ""
    text = _NUMBER.sub("n", _NAME.sub("`…`", _PLACE.sub("", first))).strip()
    while text.startswith("parameter `…`: "):
        text = text.removeprefix("parameter `…`: ")
    return f"{kind}: {text[:120]}"


def run(task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The stages of one example."""
    stage = "frontend"
    begin = time.process_time()
    try:
        for stage, found in _stages(task):
            yield {"passed": stage, "seconds": time.process_time() - begin, **found}
    except PliantError as error:
        failed = "start" if isinstance(error, InitialValueError) else ""
        if isinstance(error, SolverError):
            failed = "simulate" if error.result is not None and len(error.result) > 1 else "start"
        yield {
            "failed": failed,
            "error": f"{type(error).__name__}: {error.message}",
            "error_class": error_class(type(error).__name__, error.message),
            "seconds": time.process_time() - begin,
        }
    except Exception as error:
        text = str(error) or "no message"
        yield {
            "failed": "",
            "error": f"{type(error).__name__}: {text}",
            "error_class": error_class(type(error).__name__, text),
            "seconds": time.process_time() - begin,
        }


def _stages(task: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    from pliant.checking.compare import compare, read_reference
    from pliant.frontend.reading import read_flat
    from pliant.frontend.scalar.scalarize import scalarize
    from pliant.loading import compiled_model
    from pliant.structure.options import structure_options
    from pliant.structure.pipeline import sort_anew

    flat = read_flat(task["source"], task["name"], task["path"], task["frontend"])
    yield "frontend", {}
    options = structure_options(None)
    model = compiled_model(sort_anew(lambda: scalarize(flat), options), options)
    yield "structure", {"states": model.structure.n_states}
    reference = read_reference(Path(task["reference"])) if task["reference"] else None
    tolerance = flat.experiment.tolerance
    stop = flat.experiment.stop
    if reference is not None:  # some references are longer than the annotation says
        stop = max(float(reference["time"][-1]), stop or 0.0)
    result = model.simulate(
        stop=1.0 if stop is None else stop,
        rtol=min(RTOL, tolerance) if tolerance and tolerance > 0 else RTOL,
        points=_points(reference, flat.experiment.start or 0.0, stop),
        progress=False,
    )
    yield "start", {}
    yield "simulate", {}
    if reference is None:
        return
    wanted = {name: column for name, column in reference.items() if name != "time"}
    own = {"time": result.time, **{name: result[name] for name in wanted if name in result}}
    worst = compare(own, reference)
    if worst is None:
        return
    nrmse = worst.nrmse if math.isfinite(worst.nrmse) else None
    told = {"nrmse": nrmse, "signal": worst.signal, "match": worst.matches}
    if worst.missing:
        told["error"] = f"the result has no variable `{worst.signal}`"
        told["error_class"] = "missing variable"
    elif not worst.matches:
        told["error"] = f"`{worst.signal}` differs from the reference: NRMSE {worst.nrmse:.3g}"
        told["error_class"] = "differs from the reference"
    yield "match", told


def _points(reference: Mapping[str, Vector] | None, start: float, stop: float | None) -> Any:
    """The points of the reference, of which there may be very many; otherwise the usual number."""
    import numpy as np

    if reference is None:
        return 500
    times = np.unique(reference["time"])
    times = times[(times >= start) & (times <= (math.inf if stop is None else stop))]
    return times[:: len(times) // MOST_POINTS + 1] if len(times) > 1 else 500


def main() -> None:
    """The program."""
    task = json.load(sys.stdin)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed does not mix with the answer
    for line in run(task):
        out.write(json.dumps(line) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
