"""Numbers of README and docs come from benchmarks/FIGURES.md, and none of the measured kind stands there by hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support_pages import DOCS, ROOT, claims, name_of, pages

# pages on which every number with such a unit must be taken from the table
NAMES = ("index", "capabilities", "getting-started", "benchmarks")
STRICT = [ROOT / "README.md", *(DOCS / f"{name}.md" for name in NAMES)]
AMOUNT = r"(?:\d[\d., ]*|two|three|four|five|ten|fifty|hundred|thousands?)"
UNIT = r"(?:times\b|x\b|×|µs\b|us\b|ns\b|%|kB\b|MB\b|GiB\b)"
SHARE = r"(?:a third|a quarter|a fifth|a tenth|half|0?\.\d+) of\b"
MEASURED = re.compile(rf"{AMOUNT}(?: of)? ?{UNIT}|{SHARE}")
# numbers that were not measured, and what they are
ALLOWED = {
    ("docs/benchmarks.md", "5 %"): "the limit that benchmarks/plants.py judges at, its argument",
    ("docs/benchmarks.md", "hundred times"): "an order of magnitude for errors at the end, not a measurement of speed",
}


def without_code(text: str) -> str:
    """Prose: no blocks, no inline code, no marked numbers."""
    return re.sub(r"`[^`\n]*`", "", claims.MARK.sub("", pages.BLOCK.sub("", text)))


def test_marked_numbers_are_those_of_the_table() -> None:
    rows = claims.figures()
    assert len(rows) > 50
    marked = 0
    for page in claims.PAGES:
        text = page.read_text("utf-8")
        marked += len(claims.MARK.findall(text))
        assert claims.written(text, rows) == text, (
            f"{name_of(page)} differs from FIGURES.md: run python tools/claims.py"
        )
        assert text.count("<!--= ") == len(claims.MARK.findall(text)), f"{name_of(page)}: a mark without its end"
    assert marked > 30


def test_claims_are_used() -> None:
    used = {name for page in claims.PAGES for name, _ in claims.MARK.findall(page.read_text("utf-8"))}
    assert set(claims.CLAIMS) - used == set()


@pytest.mark.parametrize("page", STRICT, ids=name_of)
def test_no_measured_number_stands_by_hand(page: Path) -> None:
    found = {one.strip() for one in MEASURED.findall(without_code(page.read_text("utf-8")))}
    allowed = {words for name, words in ALLOWED if name == name_of(page)}
    assert found - allowed == set(), "mark it (tools/claims.py) or give a reason in ALLOWED"
    assert allowed - found == set(), "no longer in the page"


@pytest.mark.parametrize("text", ["3 times", "a third of", "about 2.5x", "0.8 µs", "12 %", "ten times", "0.18 of"])
def test_such_numbers_are_found(text: str) -> None:
    assert MEASURED.search(f"it takes {text} that") is not None
    assert MEASURED.search(without_code(f"it takes <!--= heat-c -->3<!--=--> that, `{text}`")) is None


def test_a_number_that_drifts_is_noticed() -> None:
    rows = claims.figures()
    page = "<!--= coupling -->0.99<!--=--> of it"
    assert claims.written(page, rows) != page
    with pytest.raises(claims.ClaimError, match="no claim 'unknown'"):
        claims.written("<!--= unknown -->1<!--=-->", rows)
    with pytest.raises(claims.ClaimError, match="0 rows"):
        claims.Claim("nothing begins so", r"(\d+)").value(rows)
    with pytest.raises(claims.ClaimError, match="finds nothing"):
        claims.Claim("closed loop of two parts", r"(\d+) bananas").value(rows)


def test_figures_say_goal_and_day() -> None:
    """Every row has what it should reach, a number or a verdict, and when it was measured."""
    lines = [line for line in claims.FIGURES.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert tuple(lines[0][2:-2].split(" | ")) == claims.COLUMNS
    for line in lines[1:]:
        cells = line[2:-2].split(" | ")
        assert len(cells) == len(claims.COLUMNS), line
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", cells[-1]), line
        assert not re.search(r"\d passed", cells[2]), f"shows that tests passed, not what they measured: {line}"


# ---------------------------------------------------------------------------------------------------- outputs


def test_output_is_compared_but_for_numbers_and_widths() -> None:
    printed = "run: 12 steps in 0.3 ms\nwrote a.csv\nnothing stands out\n"
    assert pages.matches("run: 13 steps in 4 µs\nwrote   a.csv\nnothing stands out\n", printed)
    assert pages.matches("run: 13 steps\nin 4 µs\n…\nnothing stands out\n", printed)
    assert not pages.matches("run: 13 steps in 4 µs\n", printed)
    assert not pages.matches("run: 13 stages in 4 µs\nwrote a.csv\nnothing stands out\n", printed)
    assert not pages.matches("…\n", printed)
    assert not pages.matches("", "")


def test_commands_in_the_table_of_readme_run() -> None:
    """They are in the blocks below, which run."""
    text = (ROOT / "README.md").read_text("utf-8")
    table = re.findall(r"\| `(pliant [^`]+)` \|", text)
    assert len(table) == 8
    run = {command for block in pages.blocks(text) for command, _ in pages.commands(block)}
    assert set(table) <= run


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/getting-started.md"])
def test_first_pages_show_output(name: str) -> None:
    shown = [block for block in pages.blocks((ROOT / name).read_text("utf-8")) if block.is_output]
    assert len(shown) >= 3
