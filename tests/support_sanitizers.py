"""pliant under sanitizers, in a process of its own: the runtime with the host's callbacks, and all generated code.

The runtime (src and host) is compiled with the sanitizer into a second library, which the child loads instead of the
installed one; models are compiled with the same flags. Python itself is not: the sanitizer's library is preloaded, so
that it sees Python's memory, locks and threads.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

from support import RUNTIME
from support_objects import kept_objects

KINDS = {
    "address": ("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    "thread": ("-fsanitize=thread",),
}
PRELOADED = {"address": ("libasan.so", "libubsan.so"), "thread": ("libtsan.so",)}
COMMON = ("-std=c99", "-O0", "-DPL_QUICK", "-g1", "-fno-omit-frame-pointer", "-fPIC", "-ffp-contract=off")
STRICT = ("-Wall", "-Wextra", "-Werror", f"-I{RUNTIME / 'include'}", f"-I{RUNTIME / 'host'}")
OPTIONS = {
    # Python keeps memory until the end: no report of leaks; the C tests report them
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0:exitcode=99",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=99",
    "TSAN_OPTIONS": "halt_on_error=1:exitcode=99:report_signal_unsafe=0",
}

CHILD = """
    import ctypes, sys

    class Sanitized(ctypes.CDLL):
        def __init__(self, name, *rest, **more):
            if name is not None and "libpliant_runtime" in str(name):
                name = {library!r}
            super().__init__(name, *rest, **more)

    ctypes.CDLL = Sanitized
    from pliant.compiling import compiler
    compiler.FLAGS = compiler.LARGE_FLAGS = {flags!r}
    compiler.load_library.__kwdefaults__["flags"] = {flags!r}
    import pliant
    from pliant.solve.binding import runtime
    assert runtime.lib._name == {library!r}, runtime.lib._name
    """


def call(command: list[str], **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


def sanitized_objects(kind: str, room: str = "src") -> list[Path]:
    """The objects of runtime/src, or those of the host, under this sanitizer."""
    return kept_objects("gcc", [*COMMON, *KINDS[kind], *STRICT], sorted((RUNTIME / room).glob("*.c")))


@cache
def sanitized_runtime(kind: str) -> Path:
    """The runtime and its host under this sanitizer; kept by the content of its objects."""
    made = [*sanitized_objects(kind), *sanitized_objects(kind, "host")]
    key = hashlib.sha256(" ".join(map(str, made)).encode()).hexdigest()[:24]
    library = Path(os.environ["PLIANT_CACHE"]) / "sanitized" / f"{kind}-{key}.so"
    if not library.is_file():
        library.parent.mkdir(parents=True, exist_ok=True)
        work = library.with_suffix(f".{os.getpid()}")
        done = call(["gcc", *KINDS[kind], "-shared", "-o", str(work), *map(str, made), "-lm"])
        assert done.returncode == 0, done.stderr
        work.replace(library)
    return library


def run_sanitized(kind: str, script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A program of Python with all of pliant's C under a sanitizer. `kind`: address (and undefined), thread."""
    preload = [call(["gcc", f"-print-file-name={name}"]).stdout.strip() for name in PRELOADED[kind]]
    library = sanitized_runtime(kind)
    head = CHILD.format(library=str(library), flags=(*COMMON, *KINDS[kind]))
    file = folder / "sanitized.py"
    file.write_text(textwrap.dedent(head) + textwrap.dedent(script), encoding="utf-8")
    environment = (
        os.environ
        | OPTIONS
        | {
            "LD_PRELOAD": " ".join(preload),
            "PLIANT_CACHE": str(library.with_suffix(".models")),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONMALLOC": "malloc",  # each object a block of its own, with its borders watched
            "PLIANT_OPTIMIZE": "1",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
    )
    command = [sys.executable, str(file)]
    if kind == "thread" and shutil.which("setarch"):
        command = ["setarch", "-R", *command]  # the sanitizer's shadow does not fit every random layout
    return call(command, env=environment, timeout=280)
