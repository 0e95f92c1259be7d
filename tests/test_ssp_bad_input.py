"""What is wrong with a system is told with file, line and element, and one thing to try."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support_fmus import fmu
from support_ssp import (
    NS,
    UNITS,
    F,
    binding,
    bindings,
    component,
    filters,
    mapping,
    package,
    parameters,
    ssd,
    system,
    wire,
)

import pliant

ON = "resources/filter.fmu"


def two(*wires: str, more: str = "", kinds: dict[str, str] | None = None) -> str:
    return system("root", kinds=kinds, elements=filters("a", "b"), wires=wires) + more


def with_binding(content: str) -> str:
    return system("root", bindings=bindings(content), elements=filters("a"))


KILO = '<ssv:Units><ssc:Unit name="kg"><ssc:BaseUnit kg="1"/></ssc:Unit></ssv:Units>'
BUS = (
    '<ssd:SignalDictionaries><ssd:SignalDictionary name="bus"><ssb:SignalDictionary version="1.0"><ssb:DictionaryEntry '
    'name="speed"><ssc:Real/></ssb:DictionaryEntry></ssb:SignalDictionary></ssd:SignalDictionary></ssd:SignalDictionaries>'
)


def reference(entry: str, dictionary: str = "bus") -> str:
    return (
        f'<ssd:SignalDictionaryReference name="ref" dictionary="{dictionary}"><ssd:Connectors><ssd:Connector '
        f'name="{entry}" kind="inout"/></ssd:Connectors></ssd:SignalDictionaryReference>'
    )


def typed(a: str, b: str, inside: str = "") -> str:
    return system(
        "root",
        elements=[component("a", ON, {"x": f"local {a}"}), component("b", ON, {"u": f"input {b}"})],
        wires=[wire("a/x", "b/u", inside)],
    )


SELF = component("again", "#top", {}, "", 'type="application/x-ssp-definition"')
CASES: dict[str, tuple[str, str, str]] = {  # content, message, hint
    "no component": (two(wire("c/x", "b/u")), "Connection 'c.x - b.u': there is no element 'c'", "a, b"),
    "no connector": (two(wire("a/xx", "b/u")), "the model of 'a' has no variable 'xx'", "did you mean 'x'"),
    "no own connector": (two(wire("inn", "b/u"), kinds={"in": "input"}), "no connector 'inn'", "did you mean 'in'"),
    "two sources": (two(wire("a/x", "b/u"), wire("b/x", "b/u")), "b.u has two sources: b.x, and a.x in line", "one"),
    "two inputs": (two(wire("a/u", "b/u")), "both ends take a value here: a.u (input) and b.u (input)", "output"),
    "two outputs": (two(wire("a/x", "b/x")), "both ends give a value here", "output"),
    "varying parameter": (two(wire("a/x", "b/T")), "x (local) may change in time, T (parameter) may not", "input"),
    "types": (two(wire("a/x", "b/on")), "types differ: real on one side, boolean on the other", "same type"),
    "real to integer": (two(wire("a/x", "b/gain")), "types differ: real on one side, integer", "same type"),
    "wrong transformation": (
        two(wire("a/x", "b/on", '<ssc:LinearTransformation factor="2"/>')),
        "the target of Connection 'a.x - b.on' is boolean, and this transformation is for a real number",
        "another",
    ),
    "units": (
        typed("Real unit='K'", "Real unit='W'") + UNITS,
        "K (K) cannot be converted to W (kg m^2 s^-3)",
        "suppressUnitConversion",
    ),
    "undefined unit": (typed("Real unit='K'", "Real unit='bar'") + UNITS, "the unit bar is not defined", "BaseUnit"),
    "mapped twice": (
        two(
            wire(
                "a/x",
                "b/on",
                '<ssc:BooleanMappingTransformation><ssc:MapEntry source="true" target="1"/><ssc:MapEntry source="1" '
                'target="false"/></ssc:BooleanMappingTransformation>',
            )
        ),
        "the source '1' is mapped twice",
        "one target",
    ),
    "circle": (
        system(
            "root",
            elements=[
                system("s", kinds={"u": "input", "y": "output"}, wires=[wire("u", "y")]),
                *filters("b"),
            ],
            wires=[wire("s/y", "s/u"), wire("s/y", "b/u")],
        ),
        "the connections go in a circle: ",
        "remove one",
    ),
    "no file": (system("root", elements=[component("a", "resources/none.fmu", F)]), "there is no file", "path"),
    "no source": (
        system("root", elements=['<ssd:Component name="a"/>']),
        "Component 'a': it has no source",
        "source=",
    ),
    "outside": (
        system("root", elements=[component("a", "../../x.fmu", F)]),
        "'../../x.fmu' leads out of the folder of the system",
        "relative",
    ),
    "outside, encoded": (
        system("root", elements=[component("a", "a/%2e%2e/%2e%2e/x.fmu", F)]),
        "leads out",
        "relative",
    ),
    "absolute": (system("root", elements=[component("a", "/etc/passwd", F)]), "leads out of the folder", "relative"),
    "elsewhere": (
        system("root", elements=[component("a", "http://example.org/x.fmu", F)]),
        "nothing is loaded from elsewhere",
        "relative",
    ),
    "local file": (system("root", elements=[component("a", "file:///etc/passwd", F)]), "no relative path", "relative"),
    "twice": (system("root", elements=filters("a", "a")), "there are two elements of this name", "own"),
    "contains itself": (
        system("root", elements=[SELF]).replace('name="root"', 'name="root" id="top"', 1),
        "the system contains itself",
        "cycle",
    ),
    "no id": (system("root", elements=[SELF]), "there is no system with the id 'top'", ""),
    "unknown kind": (two(kinds={"u": "inpt"}), "kind='inpt' is not known", "did you mean 'input'"),
    "bad set": (with_binding(binding("resources/none.ssv")), "there is no file 'resources/none.ssv'", "path"),
    "empty binding": (with_binding("<ssd:ParameterBinding/>"), "neither a source nor ParameterValues", "source="),
    "no number": (with_binding(binding({"a.T": 'Real value="1,5"'})), "Real: '1,5' is no number", "point"),
    "no Boolean": (with_binding(binding({"a.on": 'Boolean value="yes"'})), "neither true nor false", "true or false"),
    "too large": (with_binding(binding({"a.gain": 'Integer value="3000000000"'})), "does not fit", "2147483647"),
    "wrong type": (
        with_binding(binding({"a.on": 'Real value="1"'})),
        "types differ: real on one side, boolean",
        "same",
    ),
    "unit of a parameter": (
        with_binding(binding({"a.T": 'Real value="1" unit="kg"'}, more=KILO)),
        "kg (kg) cannot be converted to s (s)",
        "units",
    ),
    "no item": (
        system(
            "root",
            bindings=bindings(binding({"a.enumeration_in": 'Enumeration value="hihg"'})),
            elements=[component("a", "resources/types.fmu", {})],
        ),
        "Enumeration: 'hihg' is no item of the enumeration",
        "did you mean 'high'",
    ),
    "two targets": (
        with_binding(binding({"p": 'Real value="1"'}, mapping(['source="p" target="a.T"', 'source="q" target="a.T"']))),
        "'a.T' is the target of two entries",
        "one value",
    ),
    "two values": (
        with_binding(
            binding({"a.T": 'Real value="1"'}).replace(
                "</ssv:Parameters>", '<ssv:Parameter name="a.T"><ssv:Real value="2"/></ssv:Parameter></ssv:Parameters>'
            )
        ),
        "two values of 'a.T'",
        "leave one",
    ),
    "no dictionary": (
        system("root", elements=[reference("speed", "buss")], more=BUS),
        "no signal dictionary 'buss'",
        "did you mean 'bus'",
    ),
    "no entry": (system("root", elements=[reference("sped")], more=BUS), "no entry 'sped'", "did you mean 'speed'"),
    "two writers": (
        system(
            "root",
            elements=[*filters("a", "b"), reference("speed")],
            wires=[wire("a/x", "ref/speed"), wire("b/x", "ref/speed")],
            more=BUS,
        ),
        "has two sources: b.x, and a.x",
        "one source",
    ),
    "implementation": (
        system("root", elements=[component("a", ON, F, "", 'implementation="ScheduledExecution"')]),
        "Component 'a': kind='scheduled-execution' is not known",
        "",
    ),
    "another type": (
        system("root", elements=[component("a", ON, F, "", 'type="application/x-thing"')]),
        "components of type 'application/x-thing' are not supported",
        "FMUs",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_fault_has_its_line_and_element(tmp_path: Path, name: str) -> None:
    content, message, hint = CASES[name]
    fmus = {ON: fmu("filter"), "resources/types.fmu": fmu("types")}
    path = package(tmp_path / "x.ssp", {"SystemStructure.ssd": ssd(content), **fmus})
    with pytest.raises((pliant.SspError, pliant.ArgumentError)) as caught:
        pliant.load_system(path)
    error = caught.value
    assert message in error.message
    assert hint in error.hint
    assert "x.ssp/SystemStructure.ssd:" in error.message
    if isinstance(error, pliant.SspError):
        assert error.line > 1
        assert error.element
        assert error.file.endswith("SystemStructure.ssd")


TEXTS: dict[str, tuple[str, str]] = {
    "no XML": ("<a>\n<b></a>", "SystemStructure.ssd:2: not well-formed XML: mismatched tag"),
    "cut": (ssd(two())[:300], "not well-formed XML"),
    "empty": ("", "no element found"),
    "another root": (f'<ssd:Thing {NS} version="1.0"/>', "the root element is 'Thing'"),
    "a draft": ('<SystemStructureDescription xmlns="http://x/Draft" version="1.0"/>', "not SSP 1.0 or 2.0"),
    "version 3": (ssd(two(), version="3.0"), "version='3.0' is not known: pliant reads SSP 1.0 and 2.0"),
    "no version": (ssd(two()).replace('name="test" version="1.0"', 'name="test"', 1), "attribute version is missing"),
    "no system": (ssd(""), "it has no System"),
    "entities": ('<!DOCTYPE a [<!ENTITY b "c">]>' + ssd(two()).partition("?>")[2], "document type"),
    "deep": ("<a>" * 200 + "</a>" * 200, "nested more than"),
    "times": (ssd(two(), stop="-1"), "stopTime=-1 lies before startTime=0"),
    "no time": (ssd(two(), stop="soon"), "stopTime='soon' is no finite number"),
    "latin": (ssd(two()).replace("UTF-8", "martian"), "encoding"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_that_are_no_systems(tmp_path: Path, name: str) -> None:
    text, message = TEXTS[name]
    path = package(tmp_path / "x.ssp", {"SystemStructure.ssd": text, ON: fmu("filter")})
    for call in (pliant.load_system, pliant.inspect):
        with pytest.raises(pliant.SspError) as caught:
            call(path)
        assert message in caught.value.message
    (tmp_path / "x.ssd").write_text(text)
    with pytest.raises(pliant.SspError):
        pliant.load_system(tmp_path / "x.ssd")


def links(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("resources/link.ssv")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")


def slips(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("../evil.ssv", "x")


def bombs(path: Path) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("resources/none.ssv", b"\0" * 2**26)


def doubles(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("SystemStructure.ssd", ssd(system("other")))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [(links, "is a link"), (slips, "leads out of the archive's folder"), (bombs, "a zip bomb"), (doubles, "twice")],
)
def test_archives_made_to_do_harm(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    content = ssd(with_binding(binding("resources/none.ssv")))
    path = package(tmp_path / "x.ssp", {"SystemStructure.ssd": content, ON: fmu("filter")})
    spoil(path)
    with pytest.raises(pliant.SspError) as caught:
        pliant.load_system(path)
    assert message in caught.value.message
    assert "made to do harm" in caught.value.hint
    assert not (tmp_path.parent / "evil.ssv").exists()


def test_paths_and_archives_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "a.ssp").write_text("no zip")
    package(tmp_path / "b.ssp", {"x.txt": "x"})
    for name, message in (
        ("a.ssp", "no zip archive"),
        ("b.ssp", "no SystemStructure.ssd"),
        ("c.ssp", "there is no file"),
    ):
        with pytest.raises(pliant.SspError, match=message):
            pliant.load_system(tmp_path / name)
    with pytest.raises(pliant.ArgumentError, match="no system"):
        pliant.load_system(tmp_path / "d.txt")
    with pytest.raises(pliant.ArgumentError, match=r"load_system") as caught:
        pliant.load(tmp_path / "b.ssp")
    assert "load_system" in caught.value.hint
    path = package(tmp_path / "x.ssp", {"SystemStructure.ssd": ssd(two()), ON: fmu("filter")})
    with pytest.raises(pliant.SspError, match="bytes"):
        pliant.load_system(path, options={"unpacked_limit": 1000})


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "system"
    (folder / "resources").mkdir(parents=True)
    (tmp_path / "secret.ssv").write_text(parameters({"a.T": 'Real value="1"'}))
    (folder / "resources" / "p.ssv").symlink_to(tmp_path / "secret.ssv")
    (folder / "SystemStructure.ssd").write_text(ssd(with_binding(binding("resources/p.ssv"))))
    with pytest.raises(pliant.SspError, match=r"there is no file 'resources/p\.ssv'"):
        pliant.inspect(folder)


def test_models_that_fail_to_load_are_named(tmp_path: Path) -> None:
    (tmp_path / "x.ssd").write_text(
        ssd(system("root", elements=[component("a", "a.mo", {}, "", 'type="text/x-modelica"')]))
    )
    (tmp_path / "a.mo").write_text("model A\n  Real x;\nequation\n  der(x) = y;\nend A;\n")
    with pytest.raises(pliant.ModelError, match=r"x\.ssd:\d+: Component 'a': "):
        pliant.load_system(tmp_path / "x.ssd")


def test_what_simulate_is_given(tmp_path: Path) -> None:
    whole = system("root", kinds={"u": "input"}, elements=filters("a"), wires=[wire("u", "a/u")])
    path = package(tmp_path / "x.ssp", {"SystemStructure.ssd": ssd(whole), ON: fmu("filter")})
    coupling = pliant.load_system(path)
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"inputs": {"v": 1.0}}, "'v'"),
        ({"inputs": {"u": "text"}}, "number"),
        ({"parameters": {"a.TT": 1.0}}, "TT"),
        ({"parameters": {"b.T": 1.0}}, "no part 'b'"),
        ({"step": -1.0}, "positive"),
    )
    for given, message in wrong:
        with pytest.raises(pliant.PliantError, match=message):
            coupling.simulate(**{"step": 0.1, **given})
