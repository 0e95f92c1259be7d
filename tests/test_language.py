"""Plain technical English: phrases that came up before and are replaced by the usual words of the field."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import pliant

ROOT = Path(__file__).parents[1]
SOURCE = Path(pliant.__file__).parent

#: phrase -> what to write instead
BANNED = {
    r"\b(?:begin|begins|began|begun|beginning) anew\b": "restart, restarts, restarted",
    r"\banew\b": "again, reset",
    r"\b(?:told|tells|speaks|spoke)\b": "reported, reports, shows, lists, returns",
    r"\b(?:somebody|whoever)\b": "name the role, or use the passive",
    r"\bin earnest\b": "in operation, at the real rate",
    r"\bhangs? on (?:it|the)\b": "is attached to",
    r"\bof (?:its|their) own accord\b": "automatically",
    r"\bcarries its words\b|\bown words\b": "contains its message",
    r"\bin vain\b": "needlessly",
    r"\bslips? of the pen\b": "mistake",
    r"\bas many as there are\b": "one for each",
    r"\b(?:relations?|variables?|events?|iteration)\b[^.]{0,40}\b(?:to|at) rest\b": "converge, converged",
    r"\bmakes? no sense\b": "is not valid",
    r"\b(?:looked|looks) at\b": "checked, examines, evaluates",
    r"\b(?:leaves|of) the house\b": "is delivered",
    r"\bheld up by\b": "slowed down by",
    r"\b(?:to|is to|are to) blame\b|\baccused?\b": "is the cause, is reported",
    r"\bput right\b": "corrected",
    r"\bbegin of\b": "start of, beginning of",
}


def found_in(text: str) -> list[str]:
    """Banned phrases with their surroundings."""
    out = []
    for phrase, better in BANNED.items():
        for hit in re.finditer(phrase, text, re.IGNORECASE):
            around = " ".join(text[max(0, hit.start() - 40) : hit.end() + 30].split())
            out.append(f"...{around}...  write: {better}")
    return out


def literals(path: Path) -> list[tuple[int, str]]:
    """Sentences among the string literals of a file, docstrings included; a text without a blank is a name."""
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    texts = [(one.lineno, one.value) for one in nodes if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    return [(line, text) for line, text in texts if " " in text and not text.lstrip().startswith("<")]


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize(
    "text",
    [
        "the solver begins anew",
        "The error is told",
        "a pattern that is somebody's word",
        "the result hangs on it",
        "until the relations come to rest",
        "an argument makes no sense",
    ],
)
def test_the_check_of_phrases_can_fail(text: str) -> None:
    assert found_in(text)


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_pages_use_plain_english(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text.strip()
    assert not found_in(text)


def test_messages_and_docstrings_use_plain_english() -> None:
    seen, wrong = 0, []
    for path in sorted(SOURCE.rglob("*.py")):
        for line, text in literals(path):
            seen += 1
            wrong += [f"{path.relative_to(SOURCE)}:{line}: {one}" for one in found_in(text)]
    assert seen > 5000
    assert not wrong, "\n".join(wrong)


def test_texts_of_the_runtime_use_plain_english() -> None:
    text = (ROOT / "runtime/src/status.c").read_text("utf-8")
    texts = re.findall(r'return "([^"]+)"', text)
    assert len(texts) > 15
    assert not [one for text in texts for one in found_in(text)]
