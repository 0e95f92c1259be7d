"""typer's runner of commands, with the parser built once: that takes longer than most commands that are tested."""

from __future__ import annotations

from functools import cache

import typer.main
import typer.testing
from typer.testing import CliRunner

typer.testing._get_command = cache(typer.main.get_command)  # called for every command

__all__ = ["CliRunner"]
