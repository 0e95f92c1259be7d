"""Libraries of Modelica classes: folders and files, places and names, versions, what is read and what is not."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pliant.errors import ArgumentError, ModelError
from pliant.frontend.modelica.library import ClassRoot, open_classes
from pliant.frontend.modelica.library.files import forget_files, read_file
from pliant.frontend.modelica.library.versions import Versions, is_same, order_key, read_versions, split_name
from pliant.frontend.modelica.syntax import parse
from pliant.frontend.modelica.syntax import tree as t

LIBRARY = os.environ.get("MODELICAPATH", "")


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def package(name: str, inside: str = "", within: str = "", annotation: str = "") -> str:
    return f"within {within};\npackage {name}\n{inside}\nannotation({annotation});\nend {name};\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "Lib/package.mo": package("Lib", "  constant Real k = 1;\n  model Inside Real x; end Inside;"),
            "Lib/package.order": "Sub\nB\nk\nInside\n",
            "Lib/B.mo": "within Lib;\nmodel B\n  model Nested end Nested;\nend B;",
            "Lib/Sub/package.mo": package("Sub", within="Lib"),
            "Lib/Sub/C.mo": "within Lib.Sub;\nmodel C\n  Lib.B b;\nend C;",
            "Lib/Resources/readme.txt": "no class",
            "Other.mo": "package Other\n  model O end O;\nend Other;",
            "main.mo": "model First end First;\nmodel Second\n  Lib.B b;\nend Second;\nfunction f end f;",
        },
    )


def refused(source: str | Path, name: str = "", path: list[Path] | None = None) -> ModelError:
    """The error of looking up a name, which has a place and a hint."""

    def look() -> None:
        program = open_classes(source, path)
        if name:
            program.get(name)

    with pytest.raises(ModelError) as caught:
        look()
    assert caught.value.span is not None
    assert caught.value.hint or getattr(caught.value, "faults", ())
    return caught.value


# -------------------------------------------------------------------------------------------------------------- sources


def test_a_text_with_several_classes() -> None:
    program = open_classes("model A end A;\nmodel B end B;\n")
    assert program.default is program.find("B")
    assert [one.full_name for one in program.own] == ["A", "B"]
    assert program.find("C") is None


def test_the_default_is_something_to_simulate() -> None:
    last = open_classes("model A end A;\nfunction f end f;\npartial model P end P;\n").default
    assert last is not None
    assert last.name == "A"
    only = open_classes("package P\n  model M end M;\n  partial model Q end Q;\nend P;").default
    assert only is not None
    assert only.full_name == "P.M"


def test_a_file_and_the_libraries_beside_it(tree: Path) -> None:
    program = open_classes(tree / "main.mo", [])
    assert program.default is program.find("Second")
    assert program.find("Lib.B") is not None
    assert program.find("Other.O") is not None


def test_the_folder_of_a_package(tree: Path) -> None:
    program = open_classes(tree / "Lib", [])
    found = program.find("Lib.Sub.C")
    assert found is not None
    assert found.file == str(tree / "Lib" / "Sub" / "C.mo")
    assert found.parent is program.find("Lib.Sub")
    assert program.find("Lib.B.Nested") is not None
    assert program.find("Lib.Inside") is not None
    assert program.find("Lib.k") is None  # a constant
    assert program.find("Lib.Resources") is None
    assert program.find("Other.O") is not None  # beside it


def test_a_file_inside_of_a_package(tree: Path) -> None:
    program = open_classes(tree / "Lib" / "Sub" / "C.mo", [])
    assert program.default is program.find("Lib.Sub.C")
    assert program.find("Lib.B") is not None


def test_names_in_the_order_of_the_package(tree: Path) -> None:
    program = open_classes(tree / "Lib", [])
    library = program.top("Lib")
    assert library is not None
    assert library.names == ("Sub", "B", "k", "Inside")
    assert [one.name for one in library.members] == ["Sub", "B", "Inside"]
    assert program.warnings == []


def test_an_order_that_does_not_fit_is_a_warning(tree: Path) -> None:
    (tree / "Lib" / "package.order").write_text("B\nextends Some.Base\nGone\n")
    program = open_classes(tree / "Lib", [])
    library = program.top("Lib")
    assert library is not None
    assert library.names == ("B", "k", "Inside", "Sub")
    assert any("`Gone`" in one for one in program.warnings)
    assert any("lacks `k`, `Inside`, `Sub`" in one for one in program.warnings)


def test_text_that_belongs_to_a_package(tree: Path) -> None:
    program = open_classes("within Lib.Sub;\nmodel New\n  C c;\nend New;", [tree])
    assert program.find("Lib.Sub.New") is program.default
    library = program.find("Lib.Sub")
    assert library is not None
    assert set(library.names) == {"C", "New"}


def test_nothing_is_read_before_it_is_asked_for(tree: Path) -> None:
    (tree / "Lib" / "B.mo").write_text("this is no Modelica")
    program = open_classes(tree / "Lib", [])
    assert program.find("Lib.Sub.C") is not None
    assert "expected a class" in refused(tree / "Lib", "Lib.B", []).message


def test_files_are_read_again_when_they_change(tree: Path) -> None:
    forget_files()
    file = tree / "Other.mo"
    first = read_file(file)
    assert read_file(file) is first
    file.write_text("package Other\n  model Changed end Changed;\nend Other;")
    os.utime(file, ns=(1, time.time_ns() + 10**9))
    assert read_file(file) is not first


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("file", "text", "words", "rule"),
    [
        ("Lib/B.mo", "within Lib.Sub;\nmodel B end B;", "`within Lib.Sub;` does not fit", "13.4.3"),
        ("Lib/B.mo", "within ;\nmodel B end B;", "does not fit", "13.4.3"),
        ("Lib/B.mo", "within Lib;\nmodel D end D;", "holds the class `D`, but `B` should be there", "13.4.2"),
        ("Lib/B.mo", "within Lib;\nmodel B end B;\nmodel D end D;", "a second class, `D`", "13.4.2"),
        ("Lib/B.mo", "within Lib;\n", "holds no class", "13.4.2"),
        ("Lib/B/package.mo", "within Lib;\npackage B end B;", "declared twice", "13.4.1"),
        ("Lib/package.mo", package("Lib", "model B end B;"), "declared in", "13.4.1"),
    ],
)
def test_files_in_the_wrong_place(tree: Path, file: str, text: str, words: str, rule: str) -> None:
    write(tree, {file: text})
    error = refused(tree / "Lib", "Lib.B", [])
    assert words in error.message
    assert error.rule == rule


def test_a_missing_within_is_a_warning(tree: Path) -> None:
    (tree / "Lib" / "B.mo").write_text("model B end B;")
    program = open_classes(tree / "Lib", [])
    assert program.find("Lib.B") is not None
    assert any("`within Lib;` is missing" in one for one in program.warnings)


def test_names_that_are_not_there(tree: Path) -> None:
    assert "did you mean `Lib`?" in str(refused(tree / "main.mo", "Libb.B", []))
    assert "did you mean `Inside`?" in str(refused(tree / "main.mo", "Lib.Insde", []))
    assert "MODELICAPATH" in str(refused("model M\nend M;", "Zzz.B", []))


def test_files_that_cannot_be_read(tree: Path) -> None:
    (tree / "latin.mo").write_bytes("model M\n  // gr\xfcn\nend M;".encode("latin-1"))
    error = refused(tree / "latin.mo")
    assert "not UTF-8" in error.message
    assert error.span is not None
    assert (error.span.line, error.span.column) == (2, 8)
    assert "does not exist" in refused(tree / "missing.mo").message
    assert "without package.mo" in refused(tree).message
    assert "no class" in refused("// nothing\n").message
    assert "not UTF-8" in refused("model M\n \udc80\nend M;").message
    assert "defined twice" in refused("model M\nend M;\nmodel M\nend M;").message
    assert "does not exist" in refused("model M\nend M;", path=[tree / "gone"]).message
    with pytest.raises(ArgumentError, match="list of folders"):
        open_classes("model M\nend M;", 3)  # type: ignore[arg-type]


def test_a_mark_at_the_beginning(tree: Path) -> None:
    (tree / "marked.mo").write_bytes(b"\xef\xbb\xbfmodel M\r\n  Real x;\r\nend M;\r\n")
    program = open_classes(tree / "marked.mo")
    assert program.default is not None
    assert program.default.definition.span.column == 1


# ------------------------------------------------------------------------------------------------------------ versions


def library(version: str, more: str = "", inside: str = "") -> str:
    return package("Lib", inside, annotation=f'version = "{version}"{more}')


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    conversions = ', conversion(noneFromVersion = "3.9", from(version = {"2.0", "1.0"}, script = "x.mos"))'
    return write(
        tmp_path,
        {
            "Lib 3.0.0/package.mo": library("3.0.0"),
            "Lib 4.0/package.mo": library("4.0", conversions),
            "Lib 10.0.mo": library("10.0"),
        },
    )


def used(shelf: Path, version: str) -> str:
    program: ClassRoot = open_classes(f'model M\nannotation(uses(Lib(version = "{version}")));\nend M;', [shelf])
    assert program.find("Lib") is not None
    return program.libraries["Lib"].path.name


@pytest.mark.parametrize(
    ("asked", "found"),
    [("3.0.0", "Lib 3.0.0"), ("3.0", "Lib 3.0.0"), ("4.0.0", "Lib 4.0"), ("3.9", "Lib 4.0"), ("10", "Lib 10.0.mo")],
)
def test_the_version_that_is_asked_for(shelf: Path, asked: str, found: str) -> None:
    assert used(shelf, asked) == found


def test_without_a_request_the_newest_of_the_first_folder(shelf: Path, tmp_path: Path) -> None:
    program = open_classes("model M\nend M;", [shelf])
    assert program.find("Lib") is not None
    assert program.libraries["Lib"].versions.version == "10.0"
    before = write(tmp_path / "first", {"Lib/package.mo": library("1.0")})
    program = open_classes("model M\nend M;", [before, shelf])
    assert program.find("Lib") is not None
    assert program.libraries["Lib"].versions.version == "1.0"


def test_versions_that_do_not_fit(shelf: Path) -> None:
    text = 'model M\nannotation(uses(Lib(version = "{}")));\nend M;'
    error = refused(text.format("5.0"), "Lib", [shelf])
    assert "`M` asks for 5.0; found: 10.0 in" in error.message
    assert error.span is not None
    assert error.span.line == 2
    assert "put version 5.0 on the path" in error.hint


def test_a_version_that_needs_a_conversion(shelf: Path) -> None:
    error = refused('model M\nannotation(uses(Lib(version = "2.0")));\nend M;', "Lib", [shelf])
    assert "convert the model to version 4.0" in error.hint


def test_two_that_ask_for_different_versions(shelf: Path) -> None:
    write(shelf, {"User.mo": 'package User\nannotation(uses(Lib(version = "3.0.0")));\nend User;'})
    text = 'model M\nannotation(uses(Lib(version = "4.0")));\nend M;'
    program = open_classes(text, [shelf])
    assert program.find("Lib") is not None
    with pytest.raises(ModelError, match=r"`User` asks for 3\.0\.0; found: 4\.0 in"):
        program.find("User")


def test_the_order_of_versions() -> None:
    versions = ["10.0", "4.0.0", "4.0.0 beta.1", "3.2.3", "trunk"]
    assert sorted(versions, key=order_key, reverse=True) == versions
    assert is_same("4.1", "4.1.0")
    assert not is_same("4.1", "4.1.1")
    assert not is_same("4.1.0", "4.1.0 beta")
    assert split_name("Modelica 4.1.0") == ("Modelica", "4.1.0")
    assert split_name("Modelica") == ("Modelica", "")


def test_annotations_of_versions() -> None:
    text = """package P
  annotation(version = "4.0", uses(Complex(version = "4.1.0"), Other), versionDate = "2020",
    conversion(noneFromVersion = "3.1", from(version = {"2.1", "2.2"}, script = "a"),
      from(version = "1.5", script = "b")));
end P;"""
    found = parse(text).classes[0]
    assert isinstance(found, t.LongClass)
    uses = (("Complex", "4.1.0"), ("Other", ""))
    assert read_versions(found.annotation) == Versions("4.0", uses, ("3.1",), ("2.1", "2.2", "1.5"))


# ------------------------------------------------------------------------------------------------- the standard library


@pytest.mark.skipif(not LIBRARY, reason="MODELICAPATH is not set")
def test_the_standard_library() -> None:
    forget_files()
    began = time.process_time()
    program = open_classes('model M\nannotation(uses(Modelica(version = "4.0.0")));\nend M;')
    first = program.get("Modelica.Mechanics.Rotational.Examples.First")
    assert first.body is not None
    assert len(first.body.components) > 5
    angle = program.get("Modelica.Units.SI.Angle")
    assert isinstance(angle.definition, t.ShortClass)
    assert program.find("Complex") is not None
    assert program.libraries["Modelica"].versions.version.startswith("4.")
    assert program.warnings == []
    assert time.process_time() - began < 1.0
