"""Why is the simulation slow? From the record of a run to a ranked list of findings.

record.py holds the data, scales.py, switching.py and course.py the rules, findings.py what they share,
explanation.py the report, plot.py the timeline.
"""

from pliant.explain.explanation import Explanation, explain
from pliant.explain.findings import Finding
from pliant.explain.record import KINDS, Incidents, RunRecord

__all__ = ["KINDS", "Explanation", "Finding", "Incidents", "RunRecord", "explain"]
