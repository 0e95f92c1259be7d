"""Programs that tests call. Where one is missing a test is skipped, which is a failure where CI=true (conftest.py)."""

from __future__ import annotations

import os
import shutil

import pytest


def tool(name: str) -> str:
    """The path of a program, or the test is skipped."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def present(*names: str) -> list[str]:
    """Those that are installed, for lists of cases; where CI=true all of them, so that a missing one fails."""
    everything = os.environ.get("CI", "").lower() == "true"
    return [name for name in names if everything or shutil.which(name)]
