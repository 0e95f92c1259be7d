"""Shared by all tests: one folder of compiled models, what a skip means, and rights taken from root."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import signal
from collections.abc import Iterator

import pytest

# Two workers use both cores: more threads of BLAS, made when numpy is loaded, would only wait for each other.
# Exponentials and eigenvalues of small matrices, of which oracles take thousands, need ten times as long with them.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

# Where CI=true, every tool is installed (.ci/run) and a skip is a failure. What cannot be had there:
CANNOT_RUN = re.compile(r"(MODELICAPATH|PLIANT_SSP_EXAMPLES) is not set")  # libraries that come in no package


def pytest_configure() -> None:
    """Ctrl-C reaches programs that tests start, also where a shell runs the tests in the background and ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end: searching them for garbage again and again would take minutes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)  # trees of sources and models are large, and hardly any of their nodes is garbage
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def model_cache(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiled models are shared by all workers and kept between runs, apart from the user's own.

    Names in this folder tell the content, and files appear by rename: parallel writers do no harm, and a changed
    generator, header or compiler finds nothing old. ``pytest --cache-clear`` starts with an empty one.
    """
    kept = getattr(pytestconfig, "cache", None)  # None: -p no:cacheprovider
    folder = kept.mkdir("pliant-models") if kept else tmp_path_factory.getbasetemp() / "pliant-models"
    chosen = pytest.MonkeyPatch()
    chosen.setenv("PLIANT_CACHE", str(folder))
    chosen.setenv("PLIANT_OPTIMIZE", os.environ.get("PLIANT_OPTIMIZE", "0"))
    yield
    chosen.undo()


@pytest.fixture
def optimized() -> Iterator[None]:
    """Generated code as users have it. Most tests compile it without optimisation, which takes a third of the time and
    gives the same numbers; those of README, speed and flags do not. ``PLIANT_OPTIMIZE=1``: all tests.
    """
    with pytest.MonkeyPatch.context() as chosen:
        chosen.setenv("PLIANT_OPTIMIZE", "1")
        yield


# ------------------------------------------------------------------------------------------------------- skips


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Where CI=true, a test that could run must run."""
    if os.environ.get("CI", "").lower() != "true" or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if not CANNOT_RUN.search(reason):
        report.outcome = "failed"
        report.longrepr = f"skipped where CI=true ({reason}): install the tool in .ci/run"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    refuse_skip(report)
    return report


# ------------------------------------------------------------------------------------------------------ rights

CAPABILITIES = 0x20080522  # version 3 of the kernel's interface
OVERRIDE = 1 << 1 | 1 << 2  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


@pytest.fixture
def no_override() -> Iterator[None]:
    """Permissions of files hold for root, too, while the test runs."""
    if not hasattr(os, "geteuid"):
        pytest.skip("platform: permissions of POSIX")
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    head, sets = (ctypes.c_uint32 * 2)(CAPABILITIES, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(head, sets) == 0
    had = sets[0]
    sets[0] = had & ~OVERRIDE
    assert libc.capset(head, sets) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        sets[0] = had
        assert libc.capset(head, sets) == 0


@pytest.fixture
def terminal_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """terminal() is read and cannot be run: our own front end gives nothing of this kind, others may."""
    from pliant.frontend.flat.expressions import FlatBuiltin
    from pliant.frontend.scalar.discrete import Discretes

    special = Discretes.special

    def refusing(self: Discretes, number: int, node: object) -> object:
        if isinstance(node, FlatBuiltin) and node.name == "terminal":
            return self.refused("terminal()", "terminal() is not supported", self.run.tape.spans[number])
        return special(self, number, node)  # type: ignore[arg-type]

    monkeypatch.setattr(Discretes, "special", refusing)
