"""Tour: files, errors, the manifest."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pliant
from pliant.tour.hybrid import bouncing_ball
from pliant.tour.section import Block, Code, FigureTable, Section, Text, count, seconds, source
from pliant.tour.stiff import van_der_pol

READERS = {
    ".csv": "anything",
    ".parquet": "pandas, Arrow, DuckDB",
    ".mat": "Dymola, OpenModelica",
}


def files(folder: Path) -> Section:
    """One result saved in three formats and read back."""
    result = bouncing_ball().simulate(stop=3.0, points=2000)
    rows = []
    for suffix, readers in READERS.items():
        path = result.save(folder / f"ball{suffix}")  # loads the library that writes this format
        begin = time.perf_counter()
        result.save(path)
        took = time.perf_counter() - begin
        back = pliant.load_result(path)
        same = bool((back[list(back.names)] == result[list(back.names)]).all()) and len(back.events) == len(
            result.events
        )
        rows.append(
            [
                path.name,
                f"{path.stat().st_size / 1024:.0f} KiB",
                seconds(took),
                "bit for bit" if same else "no",
            ]
        )
        rows[-1].append(readers)
    return Section(
        "files",
        "Results and files",
        '`result["x"]` is an array, `result["der(x)"]` its derivative by the equations. `result.to_pandas()` '
        "makes a table, `result.plot()` a picture, `result.save()` a file that carries its own manifest.",
        [
            Code(
                'result = model.simulate(stop=3.0, points=2000)\nresult.time, result["h"], result["der(h)"]\n'
                'result.save("ball.mat")\nsame = pliant.load_result("ball.mat")',
                "Reading, saving and loading.",
            ),
            Text(f"`{result!r}`"),
            FigureTable(
                ("file", "size", "written", "read back equal", "readers"),
                rows,
                f"{count(len(result))} rows.",
            ),
        ],
    )


def broken_root() -> pliant.Result:
    """The square root of a negative number from t = 1 on."""

    def f(t, x):  # type: ignore[no-untyped-def]
        return [-1.0, x[0] ** 0.5 if x[0] >= 0 else float("nan")]

    model = pliant.ode(f, [1.0, 0.0], names=["x", "y"])
    return model.simulate(stop=2.0)


def wrong_name() -> pliant.Result:
    """A start value for a state that does not exist."""
    return van_der_pol().simulate(stop=1.0, start_values={"X": 1.0})


def no_equation() -> pliant.Result:
    """The algebraic equation 0 = x - 1 does not depend on its unknown z."""
    model = pliant.ode(lambda t, x: [-x[1], x[0] - 1.0], [1.0, 0.0], mass=[1.0, 0.0], names=["x", "z"])
    return model.simulate(stop=1.0)


def out_of_time() -> pliant.Result:
    """An explicit method on a stiff problem, stopped after 0.2 s; the error carries the result so far."""
    return van_der_pol().simulate(stop=3000.0, method="dopri5", timeout=0.2)


def _told(call: Callable[[], pliant.Result]) -> str:
    try:
        call()
    except pliant.PliantError as error:
        text = f"{type(error).__name__}: {error}"
        if isinstance(error, pliant.SolverError) and error.result is not None and len(error.result) > 1:
            text += f"\n  error.result: {error.result!r}"
        return text
    return "no error"


def errors(folder: Path) -> Section:
    """Four mistakes, and what pliant reports about them."""
    blocks: list[Block] = []
    for call in (broken_root, wrong_name, no_equation, out_of_time):
        blocks += [Code(source(call)), Code(_told(call), shown=True)]
    return Section(
        "errors",
        "Errors that help",
        "Every error has a type, names the variable and the time, and says one thing to try. What was "
        "computed before is not lost: it is attached to the error. An exception of your own "
        "function passes through unchanged.",
        blocks,
    )


def _facts(manifest: Mapping[str, Any]) -> list[list[str]]:
    model = manifest["model"]
    rows = [[key, str(manifest[key])] for key in ("pliant", "python", "numpy", "platform", "created")]
    return [*rows, ["model", str(model["name"])], ["sha256", str(model["sha256"])]]


def manifest(folder: Path) -> Section:
    """What a saved result knows about its origin."""
    loaded = pliant.load_result(folder / "ball.mat").manifest
    options = dict(loaded.get("options", {}))
    shortened = {**loaded, "options": {key: value for key, value in options.items() if key != "points"}}
    return Section(
        "manifest",
        "The manifest",
        "Each file carries the versions, the model's hash and all options, so that a result can be made "
        "again. It holds no user or host name.",
        [
            FigureTable(("what", "value"), _facts(loaded)),
            Code(json.dumps(shortened, indent=2), "Read back from ball.mat, output times left out."),
        ],
    )
