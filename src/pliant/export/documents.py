"""What an exported FMU says about itself besides modelDescription.xml: its licence, a page, how to compile it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html import escape

from pliant.export.content import FmuContent, xml_file

LICENSE = """The C files in this FMU, apart from model.c, and their compiled form are part of pliant's runtime. Inside
FMUs they come under the following terms (BSD Zero Clause License), which ask nothing of you. model.c was written from
the model by pliant, and belongs, without conditions, to the owner of the model.

Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
"""


def page(content: FmuContent) -> str:
    """documentation/index.html."""
    kinds = [name for name, there in (("model exchange", content.exchange), ("co-simulation", content.steps)) if there]
    rows = []
    for one in content.variables:
        if one.causality in ("input", "output", "parameter"):
            cells = (one.name, one.causality, one.unit, "" if one.start is None else f"{one.start:g}", one.description)
            rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "<tr><th>name</th><th>causality</th><th>unit</th><th>start</th><th>description</th></tr>"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(content.name)}</title></head>\n'
        f"<body><h1>{escape(content.name)}</h1>\n"
        f"<p>FMI {content.version}, {' and '.join(kinds)}, written by {escape(content.tool)}.</p>\n"
        f"<table>{head}\n" + "\n".join(rows) + "\n</table></body></html>\n"
    )


def build_description(content: FmuContent) -> bytes:
    """sources/buildDescription.xml of FMI 3.0."""
    root = ET.Element("fmiBuildDescription", {"fmiVersion": "3.0"})
    configuration = ET.SubElement(root, "BuildConfiguration", {"modelIdentifier": content.identifier})
    files = ET.SubElement(configuration, "SourceFileSet", {"language": "C99"})
    for name in content.sources:
        ET.SubElement(files, "SourceFile", {"name": name})
    for name, value in content.definitions:
        ET.SubElement(files, "PreprocessorDefinition", {"name": name, "value": value})
    return xml_file(root)
