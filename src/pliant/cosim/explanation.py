"""Why a coupling took the macro steps it took: findings by rank, and the report in words."""

from __future__ import annotations

import textwrap
from collections import Counter
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pliant.calls import by_keyword, by_keyword_class
from pliant.explain.findings import FACT, FAULT, TROUBLE, Finding, listing, make, moment, number, percent, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pliant.cosim.record import CouplingResult

WIDTH = 100
SHOWN = 3  # connections named
OFTEN = 0.2  # share of steps limited by stability or by a part, from which on it is trouble
WRONG = 3.0  # times what is allowed: errors that are worth a word
LEAK = 0.02  # share of the energy through a connection that the coupling may create or lose
REPEATED = 0.3  # share of attempts that were taken back


@by_keyword_class
@dataclass(frozen=True, eq=False)
class CouplingExplanation:
    """What limited the macro steps of a coupling: ``findings``, the most important first.

    Printing it gives the report; ``as_dict()`` gives everything as plain data.
    """

    result: CouplingResult
    _: KW_ONLY
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Nothing stands out."""
        return not any(one.serious for one in self.findings)

    @property
    def summary(self) -> str:
        """The run in one line."""
        macro = self.result.macro
        words = [plural(len(macro), "macro step")]
        if len(macro):
            words.append(f"of {number(float(macro.h.min()))} to {number(float(macro.h.max()))} s")
        if macro.rejected is not None and len(macro.rejected):
            words.append(f"and {plural(len(macro.rejected), 'attempt')} that were taken back")
        if not self.result.complete:
            words.append(f"; ended early at t = {moment(float(self.result.communication[-1]))}")
        return f"coupling of {', '.join(self.result.parts)}: {' '.join(words)}"

    def find(self, kind: str) -> tuple[Finding, ...]:
        """The findings of one kind."""
        return tuple(one for one in self.findings if one.kind == kind)

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {"summary": self.summary, "healthy": self.healthy, "findings": [one.as_dict() for one in self.findings]}

    @by_keyword
    def plot(self, file: str | Path | None = None) -> Figure:
        """Macro steps and errors over time."""
        return self.result.plot_macro_steps(file=file)

    def __str__(self) -> str:
        lines = [self.summary]
        for place, one in enumerate(self.findings, 1):
            lines.append("")
            lines += textwrap.wrap(f"{place}. {one.text}", WIDTH, subsequent_indent="   ")
            if one.suggestion:
                lines += textwrap.wrap(f"   try: {one.suggestion}", WIDTH, subsequent_indent="        ")
        return "\n".join(lines)


def explain(result: CouplingResult) -> CouplingExplanation:
    """All rules on a result."""
    rules = (_limits, _stability, _smallest, _errors, _repeated, _events, _energy, _work, _told, _ended)
    found = [one for rule in rules for one in rule(result)]
    return CouplingExplanation(result, findings=tuple(sorted(found, key=lambda one: -one.score)))


def _share(result: CouplingResult, *why: str) -> tuple[float, Counter[str]]:
    """Share of the steps that ended for these reasons, and the connections concerned."""
    macro = result.macro
    chosen = [name for name, reason in zip(macro.limiting, macro.why, strict=True) if reason in why]
    return len(chosen) / max(len(macro), 1), Counter(name for name in chosen if name)


def _named(counts: Counter[str]) -> tuple[tuple[str, ...], str]:
    total = sum(counts.values())
    top = counts.most_common(SHOWN)
    return tuple(name for name, _ in top), ", ".join(f"{name} in {percent(n / total)}" for name, n in top)


def _limits(result: CouplingResult) -> list[Finding]:
    share, counts = _share(result, "error")
    if not counts:
        return []
    names, words = _named(counts)
    text = f"The macro step is limited by the error of {words} of the steps."
    return [make("limits", names, FACT, 0.4 + 0.4 * share, text, _remedy(result, names), share)]


def _remedy(result: CouplingResult, names: tuple[str, ...]) -> str:
    """Fewer steps for the same error."""
    options = result.manifest["options"]
    words = []
    if options.get("extrapolation", 1) < 2:
        words.append(f"extrapolation={options.get('extrapolation', 1) + 1}")
    if options.get("scheme") == "jacobi" and len(result.parts) > 1:
        words.append('scheme="gauss-seidel"')
    return f"{' or '.join(words)}; or a larger macro_rtol, if {names[0]} may be less accurate" if words else ""


def _stability(result: CouplingResult) -> list[Finding]:
    share, counts = _share(result, "stability")
    if not counts:
        return []
    names, _ = _named(counts)
    text = (
        f"In {percent(share)} of the steps the errors of {listing(names)} change their sign from step to step: longer "
    )
    text += "steps would be unstable, although the parts are not."
    rank = TROUBLE if share > OFTEN else FACT
    return [make("stability", names, rank, 0.3 + 0.5 * share, text, stability_remedies(result), share)]


def stability_remedies(result: CouplingResult) -> str:
    """What makes a coupling more stable."""
    options = result.manifest["options"]
    words = []
    if options.get("scheme") == "jacobi" and len(result.parts) > 1:
        words.append('scheme="gauss-seidel"')
    if options.get("extrapolation", 1) > 0:
        words.append(f"extrapolation={options['extrapolation'] - 1}")
    if options.get("loops") == "none":
        words.append('loops="newton"')
    words.append("a filter in this connection")
    words.append("other variables (force one way, speed the other), or these parts in one model")
    return "; ".join(words)


def _smallest(result: CouplingResult) -> list[Finding]:
    macro = result.macro
    at = [k for k, why in enumerate(macro.why) if why == "smallest"]
    over = [k for k in at if macro.error[k] > 1.0]
    if not over:
        return []
    counts = Counter(macro.limiting[k] for k in over if macro.limiting[k])
    names, _ = _named(counts)
    worst = float(macro.error[over].max())
    text = f"{plural(len(over), 'step')} of {number(macro.smallest)} s, "
    text += "the shortest that the parts accept, have errors of up to "
    text += f"{number(worst)} times what macro_rtol allows, first of all {listing(names)}."
    share = len(over) / len(macro)
    hint = "a part that takes shorter steps (kind='model-exchange', or another export)" if worst > WRONG else ""
    return [make("smallest", names, TROUBLE if worst > WRONG else FACT, 0.5, text, hint, share)]


def _errors(result: CouplingResult) -> list[Finding]:
    """Where steps were given, or could not be taken back."""
    macro = result.macro
    over = [k for k, e in enumerate(macro.error) if e > WRONG and macro.why[k] not in ("smallest", "jump")]
    if not over:
        return []
    counts = Counter(macro.limiting[k] for k in over if macro.limiting[k])
    names, words = _named(counts)
    worst = int(np.nanargmax(np.where(np.isin(np.arange(len(macro)), over), macro.error, np.nan)))
    text = f"In {percent(len(over) / len(macro))} of the macro steps inputs are wrong by more than "
    text += f"{number(WRONG)} times macro_rtol, "
    text += (
        f"at most {number(float(macro.error[worst]))} times at t = {moment(float(macro.time[worst]))}: {words} of them."
    )
    given = result.manifest["options"].get("step") != "auto"
    hint = 'step="auto", or a smaller step' if given else "a smaller macro_rtol; parts whose state can be saved"
    share = len(over) / len(macro)
    return [make("errors", names, TROUBLE, 0.2 + 0.6 * share, text, hint, share)]


def _repeated(result: CouplingResult) -> list[Finding]:
    bad = result.macro.rejected
    if bad is None or not len(bad):
        return []
    share = len(bad) / (len(bad) + len(result.macro))
    counts = Counter(name for name in bad.limiting if name)
    names, words = _named(counts) if counts else ((), "")
    text = f"{plural(len(bad), 'attempt')} ({percent(share)}) were taken back"
    text += f", because of {words} of them." if words else ", because a part refused them."
    rank = TROUBLE if share > REPEATED else FACT
    hint = f"look for jumps and events behind {names[0]}" if rank == TROUBLE and names else ""
    return [make("repeated", names, rank, 0.3 * share, text, hint, share)]


def _events(result: CouplingResult) -> list[Finding]:
    count = sum(why in ("event", "early", "input", "jump") for why in result.macro.why)
    if not count:
        return []
    share = count / len(result.macro)
    text = f"{plural(count, 'macro step')} ({percent(share)}) end at events of parts or jumps of inputs."
    return [make("events", (), FACT, 0.3 * share, text, "", share)]


def _energy(result: CouplingResult) -> list[Finding]:
    """Energy that the coupling has created or lost."""
    found = []
    for name, one in result.energy.items():
        if not len(one.created) or one.transferred[-1] <= 0.0:
            continue
        k = int(np.argmax(np.abs(one.created)))
        done = "created" if one.created[k] > 0.0 else "lost"
        text = f"At {name} the coupling has {done} {number(abs(float(one.created[k])))} J up to t = "
        text += f"{moment(float(one.time[k]))}, {percent(one.share)} of the energy that goes through."
        bad = one.share > LEAK
        hint = "a smaller step or macro_rtol; " + stability_remedies(result) if bad else ""
        found.append(make("energy", (name,), TROUBLE if bad else FACT, 0.2 + 0.7 * one.share, text, hint, one.share))
    return found


def _work(result: CouplingResult) -> list[Finding]:
    """The part that takes most of the evaluations."""
    work = {name: one.stats.n_rhs + one.stats.n_jvp + one.stats.n_taylor for name, one in result.parts.items()}
    total = sum(work.values())
    if total == 0 or len(work) < 2:
        return []
    name = max(work, key=lambda one: work[one])
    text = f"{name} takes {percent(work[name] / total)} of the evaluations, "
    text += f"{number(work[name] / max(len(result.macro), 1))} in a macro step."
    return [make("work", (name,), FACT, 0.3 * work[name] / total, text, "", work[name] / total)]


def _told(result: CouplingResult) -> list[Finding]:
    """What parts could not do."""
    return [make("parts", (), TROUBLE, 0.4, f"{text[0].upper()}{text[1:]}.") for text in result.warnings]


def _ended(result: CouplingResult) -> list[Finding]:
    if result.complete:
        return []
    text = f"The run ended at t = {moment(float(result.communication[-1]))}, before its stop time."
    return [make("stopped", (), FAULT, 0.5, text, "the error, or the part that ended, says why", 1.0)]
