"""What cannot be exported, and wrong arguments: an error that says what to do."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest
from support_export import model

import pliant
from pliant.export.build import check_platforms, this_platform
from pliant.export.content import c_identifier
from pliant.export.units import base_unit

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"version": "1.0"}, "version cannot be '1.0'"),
    ({"kind": "all"}, "kind cannot be 'all'"),
    ({"solver": "euler"}, "solver cannot be 'euler'"),
    ({"at_jump": "jump"}, "at_jump cannot be 'jump'"),
    ({"rtol": 0.0}, "rtol must be"),
    ({"rtol": True}, "rtol must be"),
    ({"sources": 1}, "sources must be"),
    ({"overwrite": None}, "overwrite must be"),
    ({"platforms": "x86_64-linux"}, "platforms must be a list"),
    ({"platforms": []}, "platforms is empty"),
    ({"platforms": ["amiga"]}, "no platform 'amiga'"),
    ({"platforms": ["aarch64-linux"], "version": "2.0"}, r"FMI 2.0 has no place for .* aarch64-linux"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_wrong_arguments(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(pliant.ArgumentError, match=message) as caught:
        model("driven").export_fmu(tmp_path / "m.fmu", **given)
    assert caught.value.hint
    assert not list(tmp_path.iterdir())


def test_targets(tmp_path: Path) -> None:
    there = tmp_path / "m.fmu"
    there.write_text("mine")
    (tmp_path / "folder.fmu").mkdir()
    for path, error, message in (
        (tmp_path / "m.zip", pliant.ArgumentError, "ends with .fmu"),
        ("", pliant.ArgumentError, "must be a path"),
        (there, pliant.OutputError, "exists already"),
        (tmp_path / "folder.fmu", pliant.OutputError, "is a folder"),
        (tmp_path / "none" / "m.fmu", pliant.OutputError, "there is no folder"),
    ):
        with pytest.raises(error, match=message) as caught:
            model("driven").export_fmu(path)
        assert caught.value.hint
    assert there.read_text() == "mine"


def test_an_unwritable_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(pliant.OutputError, match="cannot be written to"):
        model("driven").export_fmu(tmp_path / "m.fmu")


def test_a_missing_cross_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name == "ziglang":
            raise ImportError(name)
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", without)
    other = "x86_64-windows" if this_platform() != "x86_64-windows" else "x86_64-linux"
    with pytest.raises(pliant.CompileError, match=f"no cross compiler for {other}") as caught:
        check_platforms([other], "3.0")
    assert caught.value.hint == "pip install pliant[cross]"


def test_models_that_are_functions(tmp_path: Path) -> None:
    decay = pliant.ode(lambda t, x: -x, [1.0])
    with pytest.raises(pliant.NotSupportedError, match="cannot be exported: only models from Modelica") as caught:
        decay.export_fmu(tmp_path / "m.fmu")
    assert "Modelica" in caught.value.hint


def test_the_same_model_gives_the_same_fmu(tmp_path: Path) -> None:
    one, two = (model("driven").export_fmu(tmp_path / f"{k}.fmu").read_bytes() for k in (1, 2))
    assert one == two


def test_names_for_c() -> None:
    assert c_identifier("A.B[3]") == "A_B_3_"
    assert c_identifier("1x") == "m_1x"


@pytest.mark.parametrize(
    ("unit", "exponents", "factor"),
    [
        ("N.m", {"kg": 1, "m": 2, "s": -2}, 1.0),
        ("kW", {"kg": 1, "m": 2, "s": -3}, 1000.0),
        ("J/(kg.K)", {"m": 2, "s": -2, "K": -1}, 1.0),
        ("1/min", {"s": -1}, 1 / 60),
        ("Ohm", {"kg": 1, "m": 2, "s": -3, "A": -2}, 1.0),
        ("mm2", {"m": 2}, 1e-6),
        ("g", {"kg": 1}, 1e-3),
        ("m.s-1", {"m": 1, "s": -1}, 1.0),
        ("1", {}, 1.0),
    ],
)
def test_units(unit: str, exponents: dict[str, int], factor: float) -> None:
    found = base_unit(unit)
    assert found is not None
    assert found.exponents == exponents
    assert found.factor == pytest.approx(factor, rel=1e-12)


def test_units_that_are_not_known() -> None:
    assert [base_unit(unit) for unit in ("apples", "m/", "m^2", "kg*m")] == [None] * 4
