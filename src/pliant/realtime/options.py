"""What a user may set about a plan, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

from pliant.arguments import as_names, as_number, by_name, is_number, is_whole
from pliant.calls import by_keyword_class
from pliant.errors import ArgumentError
from pliant.plain import AsDict
from pliant.solve.names import suggestion


@by_keyword_class
@dataclass(frozen=True)
class RealtimeOptions(AsDict):
    """The ``options`` of ``model.realtime``.

    form             "ode": loops solved inside f; "dae": loop unknowns in x; "auto": as the model was loaded;
                     "best": both are planned, the cheaper step is taken
    points           linearisations that every pattern is checked on; None: 200, fewer from 150 unknowns on
    training         linearisations that the search begins with
    rounds           largest number of rounds of the search
    restarts         further searches with disturbed scores, the cheapest valid pattern is kept
    seed             of the restarts
    weights          state -> weight of its error: 2 halves what is allowed, 0 ignores the state
    protected        states whose equations keep all their entries
    smallest_real    eigenvalues of the step must not have a smaller real part (numerical ringing)
    newton_steps     Newton iterations of a nonlinear loop per step; None: as few as give the runs of the analysis
    relation_passes  passes through the model before a step, for switches inside loops; None: as few, at most 4
    event_rounds     rounds of the events at the end of a step, for chains through pre(v); None: as few, at most 4
    inputs           "new": given at the end of the step; "held": those of the step before; "extrapolated" from two
    precision        "double" or "float"
    monitor          "flag": checks with flags; "fallback": a flagged step is repeated with all entries; "off"
    limits           of the monitor, in the place of those from the runs: "error", "dropped" (shares of the range in one
                     step), "ringing_steps", "margin" (of a range, beyond which RANGE is raised), "ranges" (name ->
                     (lowest, highest)), "hold" (steps without a flag after which a fallback ends)
    reference        compare with an accurate simulation of every scenario
    certificate      look for a common Lyapunov function and transition windows
    cluster_cut      distance below which eigenvalues belong together when candidates are ordered; 0: each by itself
    search           "groups" (default), "full": no search, all entries stay
    freeze           entries may be held at constants, where that saves their evaluation
    """

    form: str = "auto"
    _: KW_ONLY
    points: int | None = None
    training: int = 8
    rounds: int = 10
    restarts: int = 0
    seed: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)
    protected: Sequence[str] = ()
    smallest_real: float = -0.5
    newton_steps: int | None = None
    event_rounds: int | None = None
    relation_passes: int | None = None
    inputs: str = "new"
    precision: str = "double"
    monitor: str = "flag"
    limits: Mapping[str, Any] = field(default_factory=dict)
    reference: bool = True
    certificate: bool = True
    cluster_cut: float = 0.0
    search: str = "groups"
    freeze: bool = True

    CHOICES = {  # noqa: RUF012
        "form": ("auto", "ode", "dae", "best"),
        "inputs": ("new", "held", "extrapolated"),
        "precision": ("double", "float"),
        "monitor": ("flag", "fallback", "off"),
        "search": ("groups", "full"),
    }
    WHOLE = {  # noqa: RUF012
        "points": (1, 100_000),
        "training": (1, 10_000),
        "rounds": (1, 1000),
        "restarts": (0, 1000),
        "newton_steps": (1, 20),
        "event_rounds": (1, 20),
        "relation_passes": (0, 20),
        "seed": (0, 2**62),
    }

    @classmethod
    def of(cls, given: Mapping[str, Any] | RealtimeOptions | None) -> RealtimeOptions:
        """Options from a mapping; unknown names and values are refused."""
        if isinstance(given, RealtimeOptions):
            given = {one.name: getattr(given, one.name) for one in fields(cls)}
        if given is None:
            return cls()
        if not isinstance(given, Mapping):
            raise ArgumentError(f"options must be a mapping, not {given!r}", hint="e.g. options={'restarts': 5}")
        known = [one.name for one in fields(cls)]
        for name, value in given.items():
            cls._check_kind(name, value)
            if name not in known:
                raise ArgumentError(f"there is no option {name!r}", hint=suggestion(str(name), known))
            if name in cls.CHOICES and (not isinstance(value, str) or value not in cls.CHOICES[name]):
                raise ArgumentError(
                    f"option {name} must be one of {', '.join(cls.CHOICES[name])}, not {value!r}",
                    hint=f"leave it out for {getattr(cls(), name)!r}",
                )
            if name in cls.WHOLE and not (value is None and getattr(cls(), name) is None):
                low, high = cls.WHOLE[name]
                if not is_whole(value) or not low <= value <= high:
                    raise ArgumentError(
                        f"option {name} must be a whole number between {low} and {high}, not {value!r}",
                        hint=f"leave it out for {getattr(cls(), name) or LEFT_OUT.get(name, 'as few as are needed')}",
                    )
        return cls(**dict(given))

    @staticmethod
    def _check_kind(name: str, value: Any) -> None:
        """Options that are neither words nor whole numbers."""
        if name in ("reference", "certificate", "freeze") and not (isinstance(value, int) and value in (0, 1)):
            raise ArgumentError(f"option {name} must be True or False, not {value!r}", hint="leave it out for True")
        if name == "weights":
            by_name("option weights", "nothing" if value is None else value)
        if name == "protected" and (isinstance(value, str) or not isinstance(value, Sequence)):
            raise ArgumentError(
                f"option protected must be a list of names, not {value!r}", hint="e.g. options={'protected': ['v']}"
            )
        if name == "protected":
            as_names("option protected", value)
        if name == "limits":
            _check_limits(value)
        if name == "smallest_real":
            check_number(name, value, -1.0, 1.0, "a real part of eigenvalues, e.g. -0.5")
        if name == "cluster_cut" and not (is_number(value) and 0.0 <= value < math.inf):
            raise ArgumentError(f"option cluster_cut must be a distance from 0 up, not {value!r}", hint="e.g. 0.1")


LEFT_OUT = {"points": "200, fewer in large models"}
LIMITS = ("error", "dropped", "ringing_steps", "margin", "ranges", "hold")


def _check_limits(given: Any) -> None:
    """Limits of the monitor that make sense."""
    if not isinstance(given, Mapping):
        raise ArgumentError(f"option limits must be a mapping, not {given!r}", hint="e.g. {'limits': {'hold': 200}}")
    for name, value in given.items():
        if name not in LIMITS:
            raise ArgumentError(f"the monitor has no limit {name!r}", hint=suggestion(str(name), LIMITS))
        if name in ("error", "dropped"):
            check_number(f"limits: {name}", value, 0.0, math.inf, "a share of the range, e.g. .05")
        if name == "margin" and not (is_number(value) and 0.0 <= value < math.inf):
            raise ArgumentError(f"limits: margin = {value!r} must be a share of the range from 0 up", hint="e.g. .25")
        whole = is_number(value) and math.isfinite(value) and value == int(value)
        if name in ("ringing_steps", "hold") and not (whole and value >= 1):
            raise ArgumentError(
                f"limits: {name} = {value!r} must be a whole number of steps, at least 1", hint="e.g. {'hold': 200}"
            )
        if name == "ranges":
            _check_ranges(value)


def _check_ranges(given: Any) -> None:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"limits: ranges must be a mapping, not {given!r}", hint="e.g. {'v': (0.0, 2.5)}")
    for name, pair in given.items():
        good = isinstance(pair, Sequence) and len(pair) == 2 and all(is_number(one) for one in pair)
        if not good or not pair[0] < pair[1]:
            raise ArgumentError(
                f"limits: the range of {name} must be a pair with the lowest below the highest, not {pair!r}",
                hint="e.g. {'v': (0.0, 2.5)}",
            )


def check_number(name: str, value: Any, low: float, high: float, hint: str) -> float:
    """A finite number strictly between low and high."""
    number = as_number(value)
    if number is None or not low < number < high:
        wanted = f"a number between {low:g} and {high:g}"
        if math.isinf(high):
            wanted = "a finite number" if math.isinf(low) else f"a finite number above {low:g}"
        raise ArgumentError(f"{name} = {value!r} is not valid: it must be {wanted}", hint=hint)
    return number
