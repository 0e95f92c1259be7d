#!/usr/bin/env python3
"""One command that checks everything but the tests: python tools/check.py [--fix]

Linter and formatter for Python (ruff), strict types (mypy), format of C (clang-format), direction of imports.
All checks run; the exit code is 1 if one of them failed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON_PATHS = [name for name in ("src", "tests", "benchmarks", "examples", "docs", "tools") if (ROOT / name).is_dir()]


def tool(name: str) -> str:
    """The program of this environment, else the one on the path."""
    own = Path(sysconfig.get_path("scripts")) / name
    for candidate in (own, own.with_suffix(".exe")):
        if candidate.is_file():
            return str(candidate)
    return shutil.which(name) or name


def c_files() -> list[str]:
    """C sources and headers of the runtime and of the shipped models."""
    folders = (ROOT / "runtime", ROOT / "src", ROOT / "examples")
    found = [path for folder in folders for suffix in ("*.c", "*.h") for path in folder.rglob(suffix)]
    return sorted(str(path.relative_to(ROOT)) for path in found if "_runtime" not in path.parts)


def checks(fix: bool) -> dict[str, list[str]]:
    """Name and command of each check."""
    return {
        "ruff check": [tool("ruff"), "check", *(["--fix"] if fix else []), *PYTHON_PATHS],
        "ruff format": [tool("ruff"), "format", *([] if fix else ["--check"]), *PYTHON_PATHS],
        "mypy": [sys.executable, "-m", "mypy", "--strict", "src/pliant"],
        "clang-format": [tool("clang-format"), *(["-i"] if fix else ["--dry-run", "-Werror"]), *c_files()],
        "import direction": [sys.executable, "-m", "pytest", "-q", "tests/test_architecture.py"],
    }


def run(command: list[str]) -> bool:
    """True if the command succeeded; a missing program is a failure, too."""
    try:
        return subprocess.run(command, cwd=ROOT, check=False).returncode == 0
    except OSError as error:
        print(error)
        return False


def main() -> int:
    """Run all checks and say which failed."""
    failed = []
    for name, command in checks("--fix" in sys.argv[1:]).items():
        print(f"== {name}", flush=True)
        if not run(command):
            failed.append(name)
    print("all checks passed" if not failed else f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
