"""The tests about themselves: what a skip means, what is shared, and which part of each family runs here."""

from __future__ import annotations

import os
from pathlib import Path

import conftest
import pytest
from families import families
from families.daes import BATCH, make_case, setting_of
from threadpoolctl import threadpool_info


def skipped(reason: str) -> pytest.TestReport:
    place = ("tests/test_x.py", 3, f"Skipped: {reason}")
    return pytest.TestReport("test_x", ("test_x.py", 3, "test_x"), {}, "skipped", place, "call")


@pytest.mark.parametrize(
    ("ci", "reason", "outcome"),
    [
        ("true", "node is not installed", "failed"),
        ("true", "could not import 'pandas'", "failed"),
        ("true", "MODELICAPATH is not set", "skipped"),
        ("", "node is not installed", "skipped"),
    ],
)
def test_a_skip_for_a_missing_tool_fails_in_ci(
    ci: str, reason: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    report = skipped(reason)
    conftest.refuse_skip(report)
    assert report.outcome == outcome
    assert reason in str(report.longrepr)


def test_ci_installs_what_tests_call() -> None:
    text = Path(__file__).parents[1].joinpath(".ci", "run").read_text(encoding="utf-8")
    for program in ("clang", "cmake", "make", "objdump", "nm", "node", "setarch"):
        assert f" {program}:" in text, program


def test_compiled_models_are_shared_and_apart_from_the_users() -> None:
    folder = Path(os.environ["PLIANT_CACHE"])
    assert folder.name == "pliant-models"
    assert os.environ.get("PYTEST_XDIST_WORKER", "main") not in folder.parts[-1]


def test_every_family_has_a_part_in_the_tests() -> None:
    found = families()
    assert {"daes", "input_kinds", "inputs", "hybrid", "plans"} <= set(found)
    assert all(family.part > 0 for family in found.values())


def test_random_equations_of_every_index_run_in_the_tests() -> None:
    part = families()["daes"].part
    assert {"loop", "index2", "index3"} <= {make_case(seed).kind for seed in range(part)}
    assert len({setting_of(batch).method for batch in range(part // BATCH)}) > 1


@pytest.mark.usefixtures("no_override")
def test_root_has_no_more_rights_than_others(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(PermissionError):
        folder.joinpath("file").write_text("")


def test_linear_algebra_of_the_tests_uses_one_thread() -> None:
    """With more each worker would keep both cores busy, mostly waiting (conftest.py)."""
    libraries = [one for one in threadpool_info() if one["user_api"] == "blas"]
    assert libraries
    assert {one["num_threads"] for one in libraries} == {1}
