"""The command line: ``pliant simulate``, ``inspect``, ``jacobian``, ``realtime``, ``export``, ``cosim``, ``sweep``,
``check-library``, ``a2l``, ``tour``.

Verbs only, thin over public functions.

Exit codes: 0 success, 1 an error of the model or the run, 2 wrong usage: an option or its value is not valid
(ArgumentError), 3 the evidence of a plan does not hold or cases failed, 130 Ctrl-C.
"""

from pliant.cli import a2l, check_library, cosim, export, inspect, jacobian, realtime, simulate, sweep, tour
from pliant.cli.app import app

__all__ = [
    "a2l",
    "app",
    "check_library",
    "cosim",
    "export",
    "inspect",
    "jacobian",
    "realtime",
    "simulate",
    "sweep",
    "tour",
]
