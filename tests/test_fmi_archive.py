"""Archives of FMUs: what is unpacked, what is refused, and what is left behind (nothing)."""

from __future__ import annotations

import io
import os
import pickle
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pytest
from support_fmi import DECAY2, DECAY3, fmu_file, packed

from pliant.errors import ArgumentError, FmuError
from pliant.fmi import archive
from pliant.fmi.archive import FmuArchive
from pliant.fmi.hosts import folders
from pliant.fmi.info import Contents, choose_kind, open_fmu
from pliant.fmi.options import FmuOptions
from pliant.fmi.platforms import this_platform

LINUX = "x86_64-linux"


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of our own, empty before and after."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def opened(path: Path, **options: int) -> FmuArchive:
    return FmuArchive(path, FmuOptions(**options))  # type: ignore[arg-type]


def refusal(path: Path, **options: int) -> str:
    with pytest.raises(FmuError) as caught:
        opened(path, **options).unpack(LINUX)
    assert caught.value.hint
    assert str(path) in caught.value.message
    return caught.value.message


# ------------------------------------------------------------------------------------------------------- unpacking


def test_only_what_a_run_needs_is_unpacked(tmp_path: Path, temporary: Path) -> None:
    more = {
        "resources/a/b.txt": "b",
        "sources/decay.c": "int x;",
        "documentation/index.html": "<p>",
        "binaries/linux64/lib.so": "l",
    }
    path = fmu_file(tmp_path, binaries=("linux64", "win64"), **more)
    unpacked = opened(path).unpack(LINUX)
    files = {str(one.relative_to(unpacked.folder)) for one in unpacked.folder.rglob("*") if one.is_file()}
    binaries = {"binaries/linux64/decay.so", "binaries/linux64/lib.so"}
    assert files == {"modelDescription.xml", "resources/a/b.txt", *binaries}
    assert (unpacked.resources / "a/b.txt").read_text() == "b"
    assert unpacked.folder.parent == temporary
    assert stat.S_IMODE(unpacked.folder.stat().st_mode) == 0o700
    unpacked.close()
    unpacked.close()
    assert not list(temporary.iterdir())


def test_a_folder_is_used_as_it_is(tmp_path: Path, temporary: Path) -> None:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(fmu_file(tmp_path)) as file:
        file.extractall(folder)
    found = open_fmu(folder, FmuOptions())
    assert found.binary("model-exchange", LINUX) == "binaries/linux64/decay.so"
    unpacked = found.archive.unpack(LINUX)
    unpacked.close()
    assert (folder / "modelDescription.xml").is_file()
    assert not list(temporary.iterdir())


def test_backslashes_are_folders(tmp_path: Path) -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        file.writestr("modelDescription.xml", DECAY2)
        info = zipfile.ZipInfo()
        info.filename = info.orig_filename = "binaries\\linux64\\decay.so"
        file.writestr(info, "x")
    path = tmp_path / "w.fmu"
    path.write_bytes(memory.getvalue())
    found = open_fmu(path, FmuOptions())
    assert "backslashes" in choose_kind(found, None, LINUX).warnings[0]
    with_file = found.archive.unpack(LINUX)
    assert (with_file.folder / "binaries/linux64/decay.so").read_text() == "x"


# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    "name",
    [
        "../evil",
        "resources/../../evil",
        "/etc/evil",
        "..\\evil",
        "C:\\evil",
        "C:evil",
        "resources/a\0b",
        "a\nb",
        "\\evil",
    ],
)
def test_names_that_lead_elsewhere(tmp_path: Path, temporary: Path, name: str) -> None:
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        file.writestr("modelDescription.xml", DECAY2)
        info = zipfile.ZipInfo("x" * len(name))
        file.writestr(info, "evil")
    data = memory.getvalue().replace(b"x" * len(name), name.encode())
    path = tmp_path / "slip.fmu"
    path.write_bytes(data)
    assert "leads out of the archive's folder" in refusal(path)
    assert not list(temporary.iterdir())
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize(
    ("kind", "words"), [(stat.S_IFLNK, "a link"), (stat.S_IFIFO, "a special file"), (stat.S_IFBLK, "a special")]
)
def test_links_and_special_files(tmp_path: Path, kind: int, words: str) -> None:
    info = zipfile.ZipInfo("resources/link")
    info.external_attr = (kind | 0o777) << 16
    path = tmp_path / "link.fmu"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("modelDescription.xml", DECAY2)
        file.writestr(info, "/etc/passwd")
    assert words in refusal(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_files_that_come_twice_or_are_folders_too(tmp_path: Path) -> None:
    path = tmp_path / "twice.fmu"

    def packed(*names: str, contents: tuple[str, str] = ("x", "y")) -> Path:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("modelDescription.xml", DECAY2)
            for name, content in zip(names, contents, strict=True):
                file.writestr(name, content)
        return path

    for names, words in (
        (("resources/a", "resources/a"), "twice, with different content"),
        (("./binaries/a", "binaries/a"), "twice, with different content"),
        (("a", "a/b"), "a file and a folder"),
    ):
        assert words in refusal(packed(*names))
    # copies, and files that nobody reads: Reference-FMUs are packed like this
    assert (
        "is in the archive twice"
        in opened(packed("resources/a", "./resources/a", contents=("x", "x"))).findings[0].text
    )
    assert "is in the archive twice" in opened(packed("extra/a", "extra/a")).findings[0].text


def test_names_that_differ_in_capitals_are_found(tmp_path: Path) -> None:
    found = opened(fmu_file(tmp_path, **{"resources/A": "1", "resources/a": "2"}))
    assert "capital letters" in found.findings[0].text


def test_encrypted_files(tmp_path: Path) -> None:
    path = fmu_file(tmp_path)
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    path.write_bytes(data)
    assert "encrypted" in refusal(path)


def test_sizes_are_counted_while_unpacking(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fmu_file(tmp_path, **{"resources/data": os.urandom(100_000)})
    assert "more than 50000 bytes" in refusal(path, unpacked_limit=50_000)
    data = bytearray(path.read_bytes())  # a header that lies
    at = data.rindex(b"PK\1\2", 0, data.rindex(b"resources/data"))
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    assert "cannot be read" in refusal(path, unpacked_limit=50_000)
    assert not list(temporary.iterdir())
    bomb = fmu_file(tmp_path, **{"resources/zeros": bytes(40_000_000)})
    monkeypatch.setattr(archive, "FREE", 2**20)
    begin = time.process_time()
    assert "a zip bomb" in refusal(bomb)
    assert time.process_time() - begin < 1.0
    assert not list(temporary.iterdir())


def test_a_description_that_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "FREE", 2**20)
    path = fmu_file(tmp_path, DECAY2 + " " * 20_000_000)
    with pytest.raises(FmuError, match="zip bomb"):
        open_fmu(path, FmuOptions())


def test_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = fmu_file(tmp_path, **{f"resources/{k}": "" for k in range(50)})
    monkeypatch.setattr(archive, "MOST_ENTRIES", 20)
    assert "52 files, more than 20" in refusal(path)
    monkeypatch.setattr(archive, "LARGEST_DIRECTORY", 100)
    assert "its list of files has" in refusal(path)


@pytest.mark.parametrize("damage", ["empty", "text", "cut", "no end", "crc", "missing", "inside"])
def test_damaged_archives(tmp_path: Path, temporary: Path, damage: str) -> None:
    path = fmu_file(tmp_path)
    data = path.read_bytes()
    if damage == "crc":
        at = data.index(b"no library") if b"no library" in data else data.index(b"decay.so") + 10
        data = data[:at] + bytes([data[at] ^ 255]) + data[at + 1 :]
    damaged = {
        "empty": b"",
        "text": b"this is a text" * 100,
        "cut": data[: len(data) // 2],
        "no end": data[:-10],
        "crc": data,
        "missing": packed({"a.txt": "a"}),
        "inside": packed({"decay/modelDescription.xml": DECAY2}),
    }
    path.write_bytes(damaged[damage])
    message = refusal(path)
    assert ("no modelDescription.xml" in message) == (damage in ("missing", "inside"))
    assert not list(temporary.iterdir())


def test_random_damage_ends_in_an_error_or_an_fmu(tmp_path: Path, temporary: Path) -> None:
    import random

    chance = random.Random(1)
    data = fmu_file(tmp_path, **{"resources/a": os.urandom(100)}).read_bytes()
    path = tmp_path / "damaged.fmu"
    errors = 0
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            found = open_fmu(path, FmuOptions())
            found.archive.unpack(LINUX).close()
        except FmuError:
            errors += 1
    assert 50 < errors < 300
    assert not list(temporary.iterdir())


def test_a_disk_that_is_full(tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    found = opened(fmu_file(tmp_path))
    monkeypatch.setattr(archive.os, "makedirs", full)
    with pytest.raises(FmuError, match="No space left") as caught:
        found.unpack(LINUX)
    assert "TMPDIR" in caught.value.hint
    assert not list(temporary.iterdir())


# --------------------------------------------------------------------------------------------- nothing is left behind

KEEPS = """
import os, sys, tempfile
from pathlib import Path
from pliant.fmi.archive import FmuArchive
from pliant.fmi.options import FmuOptions
tempfile.tempdir = sys.argv[2]
kept = FmuArchive(Path(sys.argv[1]), FmuOptions()).unpack("x86_64-linux")
print(kept.folder, flush=True)
if sys.argv[3] == "fork" and os.fork() == 0:
    sys.exit(0)
if sys.argv[3] == "fork":
    os.wait()
    assert kept.folder.is_dir()
if sys.argv[3] == "kill":
    os.kill(os.getpid(), 9)
if sys.argv[3] == "raise":
    raise RuntimeError
"""


@pytest.mark.parametrize("ending", ["exit", "raise", "fork", "kill"])
def test_folders_are_gone_with_their_owner(tmp_path: Path, temporary: Path, ending: str) -> None:
    path = fmu_file(tmp_path)
    command = [sys.executable, "-c", KEEPS, str(path), str(temporary), ending]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    folder = Path(done.stdout.split()[0])
    assert folder.parent == temporary
    assert folder.exists() == (ending == "kill")
    assert (done.returncode == 0) == (ending in ("exit", "fork")), done.stderr
    mine = opened(path).unpack(LINUX)
    other = temporary / "pliant-fmu-1-2-3-other"  # of other processes' numbers
    other.mkdir()
    folders.sweep(again=True)
    assert sorted(temporary.iterdir()) == sorted([mine.folder, other])


def test_the_owner_is_known_by_its_start(temporary: Path) -> None:
    owned = folders.OwnedFolder()
    parts = owned.path.name.split("-")
    assert parts[3] == str(os.getpid())
    assert folders.is_alive(int(parts[3]), int(parts[4]))
    assert not folders.is_alive(int(parts[3]), int(parts[4]) + 1)  # the number was given to another process
    reused = temporary / "-".join([*parts[:4], str(int(parts[4]) + 1), "x"])
    reused.mkdir()
    (reused / "file").write_text("x")
    (reused / "locked").mkdir(mode=0o500)
    assert folders.sweep(again=True) == 1
    assert not reused.exists()
    assert owned.path.exists()
    del owned
    assert not list(temporary.iterdir())


# ------------------------------------------------------------------------------------------------- what can be run


def contents(tmp_path: Path, text: str = DECAY2, binaries: tuple[str, ...] = ("linux64",), **more: str) -> Contents:
    return open_fmu(fmu_file(tmp_path, text, binaries, **more), FmuOptions())


def test_what_will_be_run(tmp_path: Path) -> None:
    found = contents(tmp_path, binaries=("linux64", "win64"))
    info = choose_kind(found, None, LINUX)
    assert (info.kind, info.kinds, info.platforms) == (
        "model-exchange",
        ("model-exchange", "co-simulation"),
        ("x86_64-linux", "x86_64-windows"),
    )
    assert info.capabilities["can_save_state"] is True
    assert info.default_experiment.stop == 2.0
    assert info.warnings == ()
    assert choose_kind(found, "co-simulation", LINUX).kind == "co-simulation"
    assert choose_kind(contents(tmp_path, DECAY3, ("x86_64-linux",)), None, LINUX).version == "3.0"
    assert pickle.loads(pickle.dumps(info)).as_dict() == info.as_dict()
    assert "FMI 2.0, model-exchange" in str(info)


def test_another_kind_where_the_first_cannot_be_run(tmp_path: Path) -> None:
    tool = DECAY2.replace('"decay" canGet', '"decay" needsExecutionTool="true" canGet')
    info = choose_kind(contents(tmp_path, tool), None, LINUX)
    assert info.kind == "co-simulation"
    assert "model-exchange is not used: it needs the tool" in info.warnings[0]
    info = choose_kind(contents(tmp_path, tool), "model-exchange", LINUX)
    assert info.warnings == (
        "model-exchange: it needs the tool that made it (needsExecutionTool); it is tried without",
    )


@pytest.mark.parametrize(
    ("binaries", "more", "words", "hint"),
    [
        (
            ("win64",),
            {},
            "no binaries for x86_64-linux: there are some for x86_64-windows; sources are not",
            "run it on x86_64-windows",
        ),
        (("win64",), {"sources/a.c": ""}, "C sources are included", "compile its sources"),
        ((), {}, "there are none at all", "ask its maker"),
        ((), {"binaries/linux64/other.so": ""}, "(binaries/linux64/other.so) do not include decay.so", "ask its maker"),
    ],
)
def test_platforms_that_are_missing(
    tmp_path: Path, binaries: tuple[str, ...], more: dict[str, str], words: str, hint: str
) -> None:
    with pytest.raises(FmuError) as caught:
        choose_kind(contents(tmp_path, DECAY2, binaries, **more), None, LINUX)
    assert words in caught.value.message
    assert hint in caught.value.hint
    assert "model-exchange and co-simulation" in caught.value.message


def test_a_wrong_description_of_one_kind_is_not_passed_over(tmp_path: Path) -> None:
    wrong = contents(tmp_path, DECAY2.replace('<Real derivative="1"/>', "<Real/>"))
    with pytest.raises(FmuError, match=r"model-exchange cannot be run: .*does not say of which state") as caught:
        choose_kind(wrong, None, LINUX)
    assert 'kind="co-simulation"' in caught.value.hint
    assert choose_kind(wrong, "co-simulation", LINUX).kind == "co-simulation"


def test_kinds_that_are_not_there(tmp_path: Path) -> None:
    only = DECAY2.replace('<CoSimulation modelIdentifier="decay"/>', "")
    with pytest.raises(FmuError, match="does not offer co-simulation, only model-exchange"):
        choose_kind(contents(tmp_path, only), "co-simulation", LINUX)
    with pytest.raises(ArgumentError, match="kind='cs' is not known"):
        choose_kind(contents(tmp_path), "cs")
    scheduled = DECAY3.replace("ModelExchange", "ScheduledExecution").replace(
        '<CoSimulation modelIdentifier="decay" hasEventMode="true"/>', ""
    )
    with pytest.raises(FmuError, match="scheduled execution is not supported"):
        choose_kind(contents(tmp_path, scheduled, ("x86_64-linux",)), None, LINUX)


def test_errors_of_the_description_name_the_file(tmp_path: Path) -> None:
    with pytest.raises(FmuError) as caught:
        contents(tmp_path, DECAY2.replace('"2.0"', '"1.0"'))
    assert "decay.fmu: modelDescription.xml:2: " in caught.value.message
    assert caught.value.line == 2
    with pytest.raises(FmuError, match="there is no file"):
        open_fmu(tmp_path / "nowhere.fmu", FmuOptions())


def test_a_small_fmu_is_opened_and_unpacked_at_once(tmp_path: Path) -> None:
    path = fmu_file(tmp_path, binaries=(this_platform(),), **{"resources/a": "a"})

    def once() -> float:
        begin = time.perf_counter()
        found = open_fmu(path, FmuOptions())
        choose_kind(found, None)
        unpacked = found.archive.unpack(this_platform())
        seconds = time.perf_counter() - begin
        unpacked.close()
        return seconds

    assert min(once() for _ in range(20)) < 5e-3  # about 1e-3


def test_without_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(FmuError, match="there can be no temporary folder for the FMU"):
        opened(fmu_file(tmp_path)).unpack("x86_64-linux")


def test_space_that_ends_in_the_midst_of_a_file(tmp_path: Path) -> None:
    """The system writes a part then, and raises no error: with a limit on sizes it does the same."""
    path = fmu_file(tmp_path, **{"resources/large": "x" * 50_000})
    text = (
        "import resource, signal\nfrom pathlib import Path\nfrom pliant.fmi.archive import FmuArchive\n"
        "from pliant import FmuOptions\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        f"FmuArchive(Path({str(path)!r}), FmuOptions()).unpack('x86_64-linux')"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert "the archive cannot be unpacked" in done.stderr
