"""`pliant inspect x.fmu` and `pliant.inspect("x.fmu")`: what they show, write and refuse."""

from __future__ import annotations

import json
import pickle
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support_cli import CliRunner
from support_fmi import DECAY2, DECAY3, fmu_file

import pliant
from pliant.cli import app
from pliant.fmi.page import GRID, render_page
from pliant.fmi.platforms import this_platform


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def report(path: Path) -> pliant.FmuReport:
    found = pliant.inspect(path)
    assert isinstance(found, pliant.FmuReport)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return fmu_file(tmp_path, binaries=("win64", this_platform()), **{"sources/decay.c": "int x;"})


def test_the_text(file: Path) -> None:
    lines = str(report(file)).splitlines()
    assert lines[0] == "Decay: FMI 2.0, model-exchange and co-simulation"
    assert "Platforms, with C sources" in lines
    assert "  can be run here" in lines
    assert "  can save state, needs completed step" in lines
    assert "  start 0, stop 2, tolerance 1e-05" in lines
    assert "5 variables: 1 state, 1 input, 1 output, 1 parameter, 1 local" in lines
    assert any(line.split() == ["x", "state", "Float64", "1", "m"] for line in lines)
    assert "Structure: 1 state, 1 output, 0 event indicators" in lines
    assert "  derivative der(x): x, u" in lines
    assert "Findings" not in lines


def test_arrays_and_findings(tmp_path: Path) -> None:
    path = fmu_file(tmp_path, DECAY3.replace('start="0"/>', 'start="0" nominal="0"/>'), ("aarch64-freebsd",))
    text = str(report(path))
    assert "cannot be run here: it has no binaries for" in text
    assert "Float64[2]" in text
    assert "{1, 2}" in text
    assert "Findings\n  modelDescription.xml:11: Float64 'u': nominal=0 must be positive" in text


def test_for_machines(file: Path) -> None:
    found = report(file)
    told = found.as_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["n_variables"] == 5
    assert told["variables"][1]["derivative_of"] == 0
    assert told["interfaces"]["model-exchange"]["can_save_state"] is True
    assert told["obstacles"] == {"model-exchange": "", "co-simulation": ""}
    again = pickle.loads(pickle.dumps(found))
    assert again.as_dict() == told
    assert str(again) == str(found)
    assert repr(again) == "<pliant.FmuReport 'Decay': FMI 2.0, model-exchange and co-simulation>"


class Tags(HTMLParser):
    """Every tag that is opened is closed, and where text stands."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.marks = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.marks += tag == "rect"
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.marks += tag == "rect"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(page: str) -> Tags:
    tags = Tags()
    tags.feed(page)
    tags.close()
    assert not tags.open
    return tags


def test_the_page(file: Path, tmp_path: Path) -> None:
    page = report(file).write_page(tmp_path / "x.html").read_text("utf-8")
    tags = parsed(page)
    assert tags.marks == 4  # the frame, and three dependencies
    assert "der(x) (derivative)" in tags.texts
    assert "x (state)" in tags.texts
    assert "as the standard requires" in page
    assert "http" not in page


def test_a_page_of_hostile_names(tmp_path: Path) -> None:
    evil = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;"
    text = DECAY2.replace('name="x"', f'name="{evil}"').replace('modelName="Decay"', f'modelName="{evil}"')
    page = render_page(report(fmu_file(tmp_path, text)))
    parsed(page)
    assert "<script>alert" not in page


def test_a_page_of_many_dependencies(tmp_path: Path) -> None:
    n = 700
    variables = "".join(
        f'<ScalarVariable name="s{k}" valueReference="{2 * k}"><Real/></ScalarVariable>\n'
        f'<ScalarVariable name="d{k}" valueReference="{2 * k + 1}"><Real derivative="{2 * k + 1}"/></ScalarVariable>\n'
        for k in range(n)
    )
    unknowns = "".join(f'<Unknown index="{2 * k + 2}" dependencies="{2 * k + 1}"/>' for k in range(n - 1))
    text = f"""<fmiModelDescription fmiVersion="2.0" modelName="M" guid="1"><ModelExchange modelIdentifier="decay"/>
<ModelVariables>{variables}</ModelVariables><ModelStructure><Derivatives>{unknowns}
<Unknown index="{2 * n}"/></Derivatives></ModelStructure></fmiModelDescription>"""
    page = render_page(report(fmu_file(tmp_path, text)))
    assert 2 * GRID - 10 < parsed(page).marks < 2 * GRID + 10
    assert "Neighbours share a cell" in page
    assert "not given: may depend on everything" in page


def test_the_command(file: Path, tmp_path: Path) -> None:
    done = run("inspect", str(file), "--html", str(tmp_path / "x.html"))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("Decay: FMI 2.0")
    assert "wrote " in done.stdout
    told = json.loads(run("inspect", str(file), "--json").stdout)
    assert told["name"] == "Decay"
    assert (tmp_path / "x.html").is_file()


def test_the_command_refuses(file: Path, tmp_path: Path) -> None:
    broken = fmu_file(tmp_path, DECAY2.replace('"2.0"', '"1.0"'))
    done = run("inspect", str(broken))
    assert done.exit_code == 1
    assert "this is an FMU of FMI 1.0" in done.stderr
    assert "try:" in done.stderr
    assert run("inspect", str(broken), "--name", "x").exit_code == 2
    assert run("inspect", str(tmp_path / "nowhere.fmu")).exit_code == 1
    with pytest.raises(pliant.ArgumentError, match="there is no option 'form'"):
        pliant.inspect(broken, options={"form": "dae"})
    with pytest.raises(pliant.ArgumentError, match="must be FmuOptions"):
        pliant.inspect(broken, options=pliant.StructureOptions())
    with pytest.raises(pliant.OutputError):
        report(fmu_file(tmp_path)).write_page(tmp_path / "no" / "x.html")


def test_a_folder_is_inspected(file: Path, tmp_path: Path) -> None:
    import zipfile

    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert report(tmp_path / "unpacked").name == "Decay"
