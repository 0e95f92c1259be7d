"""check_library: examples of a library, each in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from pliant.arguments import as_path
from pliant.calls import by_keyword
from pliant.checking.examples import example_names, roots_of
from pliant.checking.report import STAGES, LibraryReport, LibraryRow, fail
from pliant.errors import ArgumentError
from pliant.frontend.reading import check_frontend


@by_keyword
def check_library(
    folder: str | Path,
    *,
    names: Iterable[str] | None = None,
    reference: str | Path | None = None,
    jobs: int | None = None,
    timeout: float = 150.0,
    frontend: str | None = None,
    progress: Callable[[LibraryRow, int, int], object] | None = None,
) -> LibraryReport:
    """Simulate the examples of a library and say how far each comes: read, sorted, started, simulated, as it should be.

    folder     of a package, or one that holds packages; libraries that they use are beside them or on MODELICAPATH.
    names      full names of classes; None: every model with ``experiment(StopTime = ...)``.
    reference  folder with curves: for ``A.B.C`` the file ``A/B/C/C.csv`` or ``A.B.C.csv``, its first column ``time``.
    jobs       how many at a time; None: one for each core.
    timeout    seconds for each example, all stages together.
    frontend   "pliant", which reads libraries class by class, or for cross-checks "rumoca"; None: the first.
    progress   called with each row when it is done, how many are, and of how many.

    A curve matches where it lies in a tube around the reference, .2 % of the time span wide on each side, or leaves it
    by no more than 1 % (NRMSE).
    """
    root = as_path("the folder", folder)
    sources = {one.stem.split(" ")[0]: one for one in roots_of(root)}
    curves = None if reference is None else as_path("the reference", reference)
    if curves is not None and not curves.is_dir():
        raise ArgumentError(f"there is no folder {curves} with references", hint="leave reference out to simulate only")
    if jobs is not None and (not isinstance(jobs, int) or isinstance(jobs, bool) or jobs < 1):
        raise ArgumentError(f"jobs must be a positive number, not {jobs!r}", hint="None: one for each core")
    if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or not timeout > 0:
        raise ArgumentError(f"timeout must be a positive number of seconds, not {timeout!r}", hint="e.g. timeout=150")
    chosen = check_frontend(frontend)
    wanted = _names(names, root)
    tasks = [_task(name, sources, curves, chosen) for name in wanted]
    rows = _run_all(tasks, jobs or os.cpu_count() or 1, float(timeout), progress)
    return LibraryReport(folder=str(root), rows=tuple(rows))


def _names(names: Iterable[str] | None, root: Path) -> list[str]:
    if names is None:
        return example_names(root)
    if isinstance(names, str):
        names = [names]
    found = list(names)
    for one in found:
        if not isinstance(one, str) or not one.strip():
            raise ArgumentError(
                f"names must be names of classes, not {one!r}", hint="e.g. names=['Lib.Examples.First']"
            )
    return list(dict.fromkeys(one.strip() for one in found))


def _task(name: str, sources: dict[str, Path], curves: Path | None, frontend: str) -> dict[str, Any]:
    top = name.split(".", 1)[0]
    own = sources.get(top)
    where = [str(one.parent) for one in sources.values()][:1]
    inherited = [one for one in os.environ.get("MODELICAPATH", "").split(os.pathsep) if one and Path(one).exists()]
    file = "" if curves is None else _reference(curves, name)
    return {
        "name": name,
        "source": "\n" if own is None or own.is_dir() else str(own),
        "path": [*where, *(one for one in inherited if one not in where)],
        "reference": file,
        "frontend": frontend,
    }


def _reference(curves: Path, name: str) -> str:
    parts = name.split(".")
    for file in (curves.joinpath(*parts, f"{parts[-1]}.csv"), curves / f"{name}.csv"):
        if file.is_file():
            return str(file)
    return ""


# -------------------------------------------------------------------------------------------------- processes


def _run_all(
    tasks: Sequence[dict[str, Any]],
    jobs: int,
    timeout: float,
    progress: Callable[[LibraryRow, int, int], object] | None,
) -> list[LibraryRow]:
    done = 0
    lock = threading.Lock()
    running: set[subprocess.Popen[str]] = set()

    def one(task: dict[str, Any]) -> LibraryRow:
        nonlocal done
        row = _run(task, timeout, running)
        with lock:
            done += 1
            if progress is not None:
                progress(row, done, len(tasks))
        return row

    with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(tasks)))) as pool:
        futures = [pool.submit(one, task) for task in tasks]
        try:
            return [future.result() for future in futures]
        except BaseException:  # Ctrl-C: nothing goes on behind
            for future in futures:
                future.cancel()
            for process in list(running):
                _kill(process)
            raise


def _run(task: dict[str, Any], timeout: float, running: set[subprocess.Popen[str]]) -> LibraryRow:
    begin = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pliant.checking.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    running.add(process)
    late = False
    try:
        out, err = process.communicate(json.dumps(task), timeout=timeout)
    except subprocess.TimeoutExpired:
        late = True
        _kill(process)
        out, err = process.communicate()
    finally:
        running.discard(process)
    row = _row(task, out)
    if late:
        fail(row, "Timeout: the example took too long", f"it did not end within {timeout:g} s")
        row.seconds = time.monotonic() - begin
    elif process.returncode != 0:
        last = err.strip().splitlines()[-1:] or ["no message"]
        fail(row, "Crash: the process died", f"the process ended with code {process.returncode}: {last[0]}")
    return row


def _kill(process: subprocess.Popen[str]) -> None:
    """The process and the compiler that it may have started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass


def _row(task: dict[str, Any], out: str) -> LibraryRow:
    """What the answers of the process say."""
    row = LibraryRow(name=task["name"])
    for text in out.splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue  # cut off where the process was killed
        row.seconds = line.get("seconds", row.seconds)
        passed = line.get("passed")
        if passed is None:
            fail(row, line["error_class"], line["error"], line["failed"])
            continue
        if passed in STAGES:
            setattr(row, passed, True)
        if passed == "match":
            row.match, row.nrmse, row.signal = line["match"], line["nrmse"], line["signal"]
            row.error, row.error_class = line.get("error", ""), line.get("error_class", "")
    return row
