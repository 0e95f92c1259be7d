"""Objects of C files, compiled once for each text, header and set of flags: shared by workers, kept between runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from support import RUNTIME


@cache
def _headers() -> bytes:
    """The runtime's headers, and what its files include of each other."""
    files = [*RUNTIME.glob("*/*.h"), *(RUNTIME / "src").glob("*.inc")]
    return b"\0".join(path.read_bytes() for path in sorted(files))


@cache
def _compiler_version(compiler: str) -> bytes:
    return subprocess.run([compiler, "--version"], capture_output=True, check=True).stdout


def kept_objects(compiler: str, flags: Sequence[str], sources: Sequence[Path]) -> list[Path]:
    """An object for each source, in their order."""
    folder = Path(os.environ["PLIANT_CACHE"]) / "objects"
    folder.mkdir(parents=True, exist_ok=True)

    def one(source: Path) -> Path:
        parts = (source.read_bytes(), _headers(), _compiler_version(compiler), " ".join((compiler, *flags)).encode())
        key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:24]
        kept = folder / key / f"{source.stem}.o"  # under its own name: tests tell objects by their names
        if not kept.is_file():
            work = folder / f"{key}.{os.getpid()}"
            work.mkdir(exist_ok=True)  # one may be left of a text that did not compile
            command = [compiler, *flags, "-c", str(source), "-o", str(work / kept.name)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            try:
                work.rename(kept.parent)
            except OSError:  # another worker was faster
                shutil.rmtree(work)
        return kept

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, sources))
