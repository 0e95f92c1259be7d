"""What a section of the tour consists of."""

from __future__ import annotations

import inspect
import io
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODELS = Path(__file__).with_name("models")

# Colours of pliant's plots and the page's style variables that replace them: pictures follow light and dark.
THEME = {
    "#0072b2": "var(--c1)",
    "#d55e00": "var(--c2)",
    "#009e73": "var(--c3)",
    "#cc79a7": "var(--c4)",
    "#e69f00": "var(--c5)",
    "#56b4e9": "var(--c6)",
    "#000000": "var(--ink)",
    "#222222": "var(--ink)",
    "#555555": "var(--soft)",
    "#dddddd": "var(--grid)",
    "#aaaaaa": "var(--event)",
    "#ffffff": "none",
}


@dataclass(frozen=True)
class Text:
    """A paragraph; `backticks` mark code."""

    text: str


@dataclass(frozen=True)
class FigureTable:
    """Measured figures; the first column is text, the others are set right."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """An SVG picture; not shown in the terminal."""

    svg: str
    caption: str = ""


@dataclass(frozen=True)
class Code:
    """Program text or output. Output (``shown``) also appears in the terminal."""

    text: str
    caption: str = ""
    shown: bool = False


Block = Text | FigureTable | Picture | Code


@dataclass
class Section:
    """One capability."""

    slug: str
    title: str
    lead: str
    blocks: list[Block] = field(default_factory=list)


def source(*things: Callable[..., Any]) -> str:
    """The text of functions as they stand here: what the page shows is what ran."""
    text = "\n\n".join(textwrap.dedent(inspect.getsource(thing)).rstrip() for thing in things)
    return re.sub(r"  # type: ignore.*", "", text)


def picture(figure: Figure, caption: str = "") -> Picture:
    """A matplotlib figure as SVG that takes its colours from the page."""
    stream = io.StringIO()
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": caption or "pliant", "font.family": "sans-serif"}
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, min(height, 0.36 * width * max(1, len(figure.axes)) ** 0.6))
    with matplotlib.rc_context(style):
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, variable in THEME.items():
        text = text.replace(colour, variable).replace(colour.upper(), variable)
    return Picture(text, caption)


def seconds(value: float) -> str:
    """A time, readable.

    >>> seconds(0.0123), seconds(4.5e-5), seconds(2.0)
    ('12.3 ms', '45 µs', '2 s')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e6:.3g} µs"


def count(value: int) -> str:
    """A number with thousands set apart by thin spaces."""
    return f"{value:,}".replace(",", "\u2009")
