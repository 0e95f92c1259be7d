"""Pages of README and docs: where they are, and the tools that read and run them."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

import claims
import pages
from forks import Forks

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def name_of(page: Path) -> str:
    """For the names of tests."""
    return page.relative_to(ROOT).as_posix()


__all__ = ["DOCS", "PAGES", "ROOT", "Forks", "claims", "name_of", "pages"]
