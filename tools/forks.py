#!/usr/bin/env python3
"""Python programs and ``pliant`` commands as forks of one process that has imported pliant already.

Most of what a page shows runs for a shorter time than Python takes to start and to import numpy and pliant. `Forks`
starts this file once; it reads requests, one JSON object a line, runs each in a fork, and answers with the exit code.
A fork ends as a program does: handlers at exit run, an error prints its traceback.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HEAVY = (
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
)


class Forks:
    """Runs programs in forks of one process."""

    def __init__(self) -> None:
        self.server: subprocess.Popen[str] | None = None

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """As ``subprocess.run``: of ``-m pliant.cli ...`` a command, else a program, in which warnings are errors."""
        command = [sys.executable, *arguments] if arguments[0] == "-m" else [sys.executable, "-W", "error", *arguments]
        if not hasattr(os, "fork"):
            return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        if self.server is None or self.server.poll() is not None:
            self.server = subprocess.Popen(
                [sys.executable, __file__], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        with tempfile.TemporaryDirectory() as name:
            files = [os.path.join(name, one) for one in ("stdout", "stderr")]
            request: dict[str, Any] = {"arguments": list(arguments), "folder": str(folder), "files": files}
            request["environment"] = dict(environment)
            self.server.stdin.write(json.dumps(request) + "\n")
            self.server.stdin.flush()
            answer = self.server.stdout.readline()
            assert answer, "the process that forks has ended"
            texts = [Path(file).read_text(encoding="utf-8") for file in files]
        return subprocess.CompletedProcess(command, int(answer), *texts)

    def close(self) -> None:
        """End the process that forks."""
        if self.server is not None:
            with self.server:  # closes its pipes and waits
                pass
        self.server = None


def prepare() -> None:
    """Import what most programs need."""
    import pliant

    for name in pliant.__all__:
        getattr(pliant, name)
    for one in pkgutil.walk_packages(pliant.__path__, "pliant."):
        if one.name.rpartition(".")[2] not in ("__main__", "worker"):
            importlib.import_module(one.name)
    for name in HEAVY:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # forks need not search the modules for garbage, nor copy their pages by that


def become(request: dict[str, Any]) -> None:
    """In the fork: the program that was asked for."""
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    places = [os.open(os.devnull, os.O_RDONLY)]
    places += [os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for file in request["files"]]
    for k, place in enumerate(places):
        os.dup2(place, k)
        os.close(place)
    arguments = request["arguments"]
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.warnoptions = arguments, ["error"]
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        warnings.simplefilter("error")
        runpy.run_path(arguments[0], run_name="__main__")


def serve() -> None:
    """Until the requests end."""
    prepare()
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            become(json.loads(line))
            return
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
