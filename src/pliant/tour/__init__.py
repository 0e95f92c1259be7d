"""``pliant tour``: everything this version can do, measured live, in the terminal and as one HTML page.

section.py    what a section consists of: text, tables, pictures, code
modelica.py, realtime.py, coupling.py, fmus.py, many.py, stiff.py, explain.py, native.py, hybrid.py, sparse.py,
results.py:
              the sections, each a function that runs and describes
terminal.py, page.py      the same content for the terminal and for the browser
models/       the Modelica and C models of the tour
"""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from pliant.errors import OutputError
from pliant.tour.coupling import coupling
from pliant.tour.explain import explained
from pliant.tour.fmus import fmus
from pliant.tour.hybrid import events, inputs, sampled
from pliant.tour.many import many
from pliant.tour.modelica import circuit, operating_point, pendulum
from pliant.tour.native import c_model, dae
from pliant.tour.page import render_page
from pliant.tour.realtime import realtime
from pliant.tour.results import errors, files, manifest
from pliant.tour.section import Section
from pliant.tour.sparse import heat
from pliant.tour.stiff import fixed_step, stiff
from pliant.tour.terminal import print_end, print_section, print_title

SECTIONS = (
    circuit,
    pendulum,
    operating_point,
    realtime,
    sampled,
    coupling,
    fmus,
    many,
    stiff,
    explained,
    c_model,
    dae,
    events,
    inputs,
    heat,
    fixed_step,
    files,
    errors,
    manifest,
)


def run_tour(folder: Path, console: Console) -> Path:
    """Run all sections, show them on ``console`` and write ``folder``/index.html; returns its path."""
    begin = time.perf_counter()
    page = folder / "index.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        print_title(console)
        sections: list[Section] = []
        for number, make in enumerate(SECTIONS, 1):
            section = make(folder)
            print_section(console, number, section)
            sections.append(section)
        page.write_text(render_page(sections, time.perf_counter() - begin), encoding="utf-8")
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(
            f"cannot write to {folder}: {error.strerror or error}", hint="choose another folder with --out"
        ) from error
    print_end(console, page, time.perf_counter() - begin)
    return page
