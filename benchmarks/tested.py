"""Figures that a test measures: what it records (``record_property``), or how many of its cases passed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from peers import ROOT


@dataclass(frozen=True)
class Tested:
    """Outcome of some tests."""

    passed: int
    run: int  # skipped ones are not counted
    recorded: dict[str, str]
    command: str

    @property
    def all_passed(self) -> bool:
        """At least one ran, and none failed."""
        return self.passed == self.run > 0

    def text(self, words: str) -> str:
        """``words`` with {passed}, {run} and what was recorded; a failure is visible in any case."""
        try:
            found = words.format(passed=self.passed, run=self.run, **self.recorded)
        except KeyError as missing:
            found = f"{missing.args[0]} was not recorded"
        return found if self.all_passed else f"{found}; {self.run - self.passed} of {self.run} tests failed"


def run_tests(file: str, which: str) -> Tested:
    """The tests of a file whose name matches."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file, "-k", which]
        subprocess.run([*command, f"--junitxml={report}"], cwd=ROOT, capture_output=True, text=True, check=False)
        cases = [case for case in ET.parse(report).iter("testcase") if case.find("skipped") is None]
    failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    recorded = {one.get("name", ""): one.get("value", "") for case in cases for one in case.iter("property")}
    return Tested(len(cases) - len(failed), len(cases), recorded, f"pytest {file} -k {which!r}".replace("'", '"'))
