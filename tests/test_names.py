"""Names of a model against those of C, of POSIX and of our own texts; more: python tests/families names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support_modelica import text_of
from support_names import MODEL, identifiers, model_texts, ours, pool, written_texts

import pliant
from pliant.codegen import names
from pliant.codegen.c_text import c_comment, c_escaped
from pliant.codegen.names import Identifiers, member_names, model_prefix
from pliant.realtime.code.run import Stepper

FAST = {"reference": False, "certificate": False}


def test_no_name_around_ends_like_a_variable() -> None:
    """Variables end with one underscore; nothing else may."""
    listed = set(names._KEYWORDS.split()) | names._listed()["macros"] | names._listed()["declared"]
    assert not [word for word in listed if word.endswith("_")]
    for text in model_texts():
        given = {word for word in identifiers(text) if word.endswith("_")}
        assert given
        assert given == set(re.findall(r"const pl_real (\w+_) =", text))  # variables, declared where they are read


def test_words_that_written_programs_use_are_known() -> None:
    """A type of the model must not be called like them: what is new here belongs into `_OURS` of codegen/names.py."""
    known = names._not_a_model() | {"CPU_SET", "CPU_ZERO", "define", "defined", "elif", "endif", "ifdef", "ifndef"}
    windows = re.compile(r"LARGE_INTEGER|Query\w+|PR_SET\w+|PTRACE_\w+|NT_PRSTATUS|W[A-Z]+")
    found = {word for word in ours(written_texts()) if not word.startswith(names._OUR_FAMILIES)}
    assert not sorted(word for word in found - known if not windows.fullmatch(word))


def test_what_is_added_to_the_name_of_a_model_is_known() -> None:
    pattern = re.compile(rf"(?i){MODEL}_(\w+)")
    added = {match[1] for text in written_texts() for match in pattern.finditer(text)}
    added = {re.sub(r"_\d+$", "", word) for word in added}
    added = {word for word in added if not re.fullmatch(r"(DUE|tick|step)_\d+[munk]?(Hz|s)", word)}  # by rates
    assert not added - set(names._ADDED.split())


def test_identifiers() -> None:
    given = [
        "a.b",
        "a_b",
        "a[1]",
        "a_1",
        "'a b'",
        "x",
        "X",
        "'x'",
        "",
        "'*/'",
        "1a",
        "x" * 80 + "1",
        "x" * 80 + "2",
        "ü",
    ]
    one = Identifiers()
    found = [one.of(k, name) for k, name in enumerate(given)]
    assert found[:4] == ["a_b_", "a_b_2_", "a_1_", "a_1_2_"]
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*_", name) and "__" not in name for name in found)
    assert len({name[:63] for name in found}) == len(given)
    assert [one.of(k, name) for k, name in enumerate(given)] == found


def test_members_and_the_name_of_a_model() -> None:
    assert member_names(["T_B[1]", "a.b", "a_b", "int", "NAN", "E1", "class", "B50"]) == [
        "T_B_1", "a_b", "a_b_2", "v_int", "v_NAN", "E1", "v_class", "v_B50",
    ]  # fmt: skip
    kept = ["Pipe", "Step", "Hydraulics.Pipe", "Robot", "circuit", "Signal2"]
    assert [model_prefix(name) for name in kept] == [name.replace(".", "_") for name in kept]
    for name in (
        "main",
        "int",
        "double",
        "pliant",
        "log",
        "m",
        "math",
        "Math",
        "sem",
        "derived",
        "pl",
        "con",
        "1",
        "'*/'",
    ):
        assert model_prefix(name).startswith("model"), name


def test_texts_inside_comments_and_strings() -> None:
    assert c_comment("a */ b /* c ??/\n*/") == "a * / b / * c ? ?/ * /"
    assert c_escaped('"\\ü??/\n') == '\\"\\\\\\303\\274\\?\\?/ '


# every name that broke a text once, and others of their kind, in the role in which it did
SET = """  Real q(start = 1, fixed = true), g(start = 0), m, a(start = 3, fixed = true), status;
equation
  der(q) = m; der(g) = a; der(m) = -status*q; der(a) = -status*g; q^2 + g^2 = 1;"""


def test_variables_called_like_those_of_a_state_set() -> None:
    model = pliant.load(text_of(SET))
    assert model.structure.n_states == 2
    result = model.simulate(stop=2.0, rtol=1e-8)
    assert np.allclose(result["q"], np.cos(3 * result.time), atol=1e-5)


STEP = """  input Real WCHAR_MAX(start = 0);
  parameter Real errno = 2, stdout = 3, pl_real = 1;
  Real x(start = 1, fixed = true), dx, w(start = 0.5), th;
  discrete Real d(start = 0, fixed = true), discrete_update(start = 0, fixed = true);
  Integer count(start = 0, fixed = true);
  output Real INT_MAX, y;
equation
  der(x) = -errno*x + dx + WCHAR_MAX + stdout*d*pl_real;
  dx = 0.1*x + count;
  w + 0.1*w^3 = x;
  th = w + dx;
  when sample(0, 0.1) then
    d = 0.1*x;
    count = pre(count) + 1;
    discrete_update = pre(discrete_update) + d;
  end when;
  INT_MAX = th + discrete_update;
  y = 2*INT_MAX;"""
PLAIN = re.sub(
    r"\b(WCHAR_MAX|errno|stdout|pl_real|x|dx|w|th|d|discrete_update|count|INT_MAX|y)\b",
    lambda found: {"x": "s1", "w": "s2", "y": "s3", "d": "s4"}.get(found[1], f"some_{found[1]}"),
    STEP,
)


@pytest.mark.parametrize("name", ["main", "int", "pliant", "double", "Step", "derived", "'*/'"])
def test_a_step_with_names_of_its_own(name: str, tmp_path: Path) -> None:
    """The same numbers as under other names, and a folder that compiles without a warning."""
    plans = []
    for body, model in ((STEP, name), (PLAIN, "Plain")):
        plans.append(pliant.load(text_of(body, model)).realtime(step=1e-2, stop=0.5, options=FAST))
    runs = [Stepper(plan.code).run(np.zeros((50, 1)), 50) for plan in plans]
    assert np.array_equal(*runs)
    folder = plans[0].write(tmp_path / "code")
    flags = "CFLAGS=-O1 -Wall -Wextra -Werror -pedantic"
    done = subprocess.run(["make", "-C", folder, flags, "all", "test"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_names_that_differ_in_what_c_cannot_show() -> None:
    body = """  model C Real b = 2*time; end C;
  C a; Real a_b, 'a.b', 'a_b', A_b, a_1, 'a[1]', ab[1];
equation
  a_b = 3*time; 'a.b' = 4*time; 'a_b' = 5*time; A_b = 6*time; a_1 = 7*time; 'a[1]' = 8*time; ab[1] = a_b + 'a.b';"""
    result = pliant.load(text_of(body)).simulate(stop=1.0)
    expected = {"a.b": 2, "a_b": 3, "'a.b'": 4, "'a_b'": 5, "A_b": 6, "a_1": 7, "'a[1]'": 8, "ab[1]": 7}
    assert {name: round(result.final[name], 9) for name in expected} == expected


def test_messages_keep_their_letters() -> None:
    model = pliant.load(text_of('  Real x = time;\nequation\n  assert(x < 0.5, "Größe ??/ \\"x\\"");'))
    with pytest.raises(pliant.PliantError, match=r'Größe \?\?/ "x"'):
        model.simulate(stop=1)


def test_the_pool_is_large() -> None:
    assert len(pool()) > 5000
