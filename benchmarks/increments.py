"""Increments of difference Jacobians: experiments 1 to 5 of T. Renström's thesis, with Radau5 and BDF.

T. Renström, On the Selection of Increments in Jacobian Approximations for Numerical Solvers of Ordinary Differential
Equations, Master's thesis, Lund 2024:E8; numbers of tables, figures and sections are those of the thesis. Models:
examples/increments; the first is the thesis', the other three are open stand-ins for its closed ones, so their numbers
can be compared in kind, not in size. Tolerances as there: atol = rtol nominal, nominal 1 where none was entered; rtol
1e-9, 1e-8, 1e-6 (not stated for model 3: 1e-6 chosen), 1e-6. Where the thesis has CVode, there is pliant's BDF.
Further than the thesis: constants c0 from 1e-10 to 1e6 instead of 1e-7 to 1; means over nearby tolerances, because
single runs scatter; and experiment 6, models with ever sharper bends. The rules of the literature run as they are,
without repairs; "default" is pliant's own rule with its repairs.

python benchmarks/increments.py                         all models, all tables: some minutes
python benchmarks/increments.py LockValve --quick       fewer constants and tolerances, for a look
python benchmarks/increments.py --plots docs/pictures --markdown tables.md
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from peers import ROOT

import pliant

METHODS = ("radau5", "bdf")
OWN = {"radau5": "radau5", "bdf": "cvode"}  # the increments that the solver of the thesis uses by itself
SMALL = math.sqrt(1e-5)
# rules that need a constant, with what the thesis found good; "curvature" gets the largest values seen
CONSTANT = {"experiment2": SMALL, "experiment3": SMALL, "experiment4": 1e-4, "experiment5": 2.0**-9}
RULES = ("pyfmi", *CONSTANT, "thesis", "entered", "cvode", "radau5", "curvature", "default", "exact")
NOMINALS = tuple(10.0**k for k in range(-3, 8))
SHARPER = {
    "DoubleWishbone": ("x_joint", (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)),
    "LockValve": ("v_sign", (1e-3, 1e-6, 1e-7, 1e-8)),
}
SHARP_RULES = ("pyfmi", "thesis", "cvode", "radau5", "default", "exact")
GOOD = 1.5  # a constant is good if it needs at most so many times the steps of the exact Jacobian
SQRT_U = 2.0**-26


@dataclass(frozen=True)
class Case:
    """One model of the study, and what the thesis measured: steps by (method, Jacobian); None: did not finish."""

    name: str
    stop: float
    rtol: float
    thesis: tuple[int | None, int | None, int | None, int | None]  # Radau5 internal, PyFMI; CVode internal, PyFMI


CASES = {
    "VanDerPol": Case("VanDerPol", 2e6, 1e-9, (105, 1620212, None, None)),
    "LockValve": Case("LockValve", 10.0, 1e-8, (1145, None, 5967, None)),
    "HydraulicCircuit": Case("HydraulicCircuit", 10.0, 1e-6, (1807, 66345, 13486, 10927)),
    "DoubleWishbone": Case("DoubleWishbone", 10.0, 1e-6, (468, 1425, 594, 563463)),
}
# tables 7.1 and 7.2: algorithms 1 to 3
THESIS_ALGORITHMS: dict[str, dict[str, tuple[int | None, ...]]] = {
    "VanDerPol": {"radau5": (1620326, 1620326, 16049), "bdf": (None, None, 273)},
    "LockValve": {"radau5": (None, None, None), "bdf": (None, None, None)},
    "HydraulicCircuit": {"radau5": (66414, 66354, 66069), "bdf": (11365, 11403, 11838)},
    "DoubleWishbone": {"radau5": (1470, 1440, 1449), "bdf": (547584, 544824, 581669)},
}


@dataclass(frozen=True)
class Effort:
    """How much one study does."""

    limit: int = 100_000  # steps of a run
    scan_limit: int = 30_000  # steps of a run with one of many constants
    full_limit: int = 3_000_000  # steps of Van der Pol's oscillator with a bad nominal value
    constants: tuple[float, ...] = tuple(10.0**k for k in range(-10, 7))
    nearby: int = 4  # tolerances on either side, within 2 %

    def tolerances(self) -> list[float]:
        """Factors of the tolerances."""
        return [1.0 + 0.02 * k / max(self.nearby, 1) for k in range(-self.nearby, self.nearby + 1)]


NORMAL = Effort()
QUICK = Effort(20_000, 20_000, 200_000, tuple(10.0**k for k in range(-8, 5, 3)), 1)
TIMEOUT = 20.0
WHY: dict[type[pliant.SolverError], str] = {
    pliant.StepLimitError: "steps",
    pliant.StepSizeError: "step size",
    pliant.ConvergenceError: "Newton",
    pliant.SingularError: "singular",
    pliant.SimulationTimeout: "time",
}


@dataclass(frozen=True)
class Run:
    """What came of one simulation."""

    steps: int | None  # None: did not finish
    why: str = ""
    time: float = math.nan  # where it stopped
    jacobians: int = 0
    evaluations: float = math.nan  # per Jacobian
    source: str = ""

    def __str__(self) -> str:
        return str(self.steps) if self.steps is not None else f"– {self.why}"


@dataclass(frozen=True)
class Table:
    """A table to print."""

    title: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]

    def __str__(self) -> str:
        lines = [self.head, *self.rows]
        width = [max(len(line[k]) for line in lines) for k in range(len(self.head))]
        text = [
            "  ".join(
                cell.ljust(w) if k < 1 else cell.rjust(w) for k, (cell, w) in enumerate(zip(line, width, strict=True))
            )
            for line in lines
        ]
        return "\n".join([self.title, "", text[0].rstrip(), *(line.rstrip() for line in text[1:]), ""])

    def markdown(self) -> str:
        """The same for a docs page."""
        lines = [self.head, ("---",) * len(self.head), *self.rows]
        return "\n".join([f"**{self.title}**", "", *("| " + " | ".join(line) + " |" for line in lines), ""])


@cache
def load(name: str, nominal: float | None = None) -> pliant.Model:
    """A model; nominal: another nominal value of Van der Pol's oscillator."""
    file = ROOT / "examples" / "increments" / f"{name}.mo"
    if nominal is None:
        return pliant.load(file)
    text = file.read_text("utf-8")
    return pliant.load(f"{text}\nmodel Scaled\n  extends {name}(y_nom = {nominal!r});\nend Scaled;\n", name="Scaled")


def states(name: str) -> list[str]:
    """Names of the states, in their order."""
    return [key for key, one in load(name).variables.items() if one.kind == "state"]


def nominals(name: str) -> np.ndarray:
    """Nominal values of the states as PyFMI takes them: 1 where none was entered."""
    variables = load(name).variables
    return np.array([variables[key].nominal or 1.0 for key in states(name)])


@cache
def reference(name: str, method: str = "radau5") -> pliant.Result:
    """A run with the exact Jacobian, every step kept."""
    case = CASES[name]
    atol = case.rtol * nominals(name)
    return load(name).simulate(
        case.stop, method=method, rtol=case.rtol, atol=atol, points=None, options={"jacobian": "exact"}
    )


def options_of(name: str, rule: str, constant: float | None, algorithm: int, limit: int) -> dict[str, object]:
    """Options of simulate for a rule; "exact" is the exact Jacobian."""
    if rule == "exact":
        return {"jacobian": "exact", "max_steps": limit}
    options: dict[str, object] = {"jacobian": "differences", "increments": rule, "max_steps": limit}
    if rule == "curvature":
        run = reference(name)
        options["curvature"] = [float(np.abs(run[key]).max()) for key in states(name)]
    if algorithm:
        options["representable"] = algorithm
    if constant is not None or rule in CONSTANT:
        options["increment_constant"] = CONSTANT[rule] if constant is None else constant
    return options


@cache
def run(
    name: str,
    method: str,
    rule: str,
    limit: int,
    constant: float | None = None,
    algorithm: int = 0,
    given: tuple[tuple[str, float], ...] = (),
) -> Run:
    """One simulation; given: parameters, and "nominal" and "tolerance", a factor of both."""
    case, extra = CASES[name], dict(given)
    nominal, factor = extra.pop("nominal", None), extra.pop("tolerance", 1.0)
    rtol, atol = factor * case.rtol, factor * case.rtol * nominals(name)
    options = options_of(name, rule, constant, algorithm, limit)
    try:
        result = load(name, nominal).simulate(
            case.stop, method=method, rtol=rtol, atol=atol, points=2, options=options, parameters=extra, timeout=TIMEOUT
        )
    except pliant.SolverError as error:
        return Run(None, WHY.get(type(error), type(error).__name__), error.time or 0.0)
    stats = result.stats
    return Run(stats.n_steps, jacobians=stats.n_jac, evaluations=stats.n_rhs_jac / stats.n_jac, source=stats.jacobian)


@dataclass(frozen=True)
class Mean:
    """Runs at nearby tolerances: how many finish, of how many, geometric mean of the steps of those that do."""

    finished: int
    runs: int
    steps: float

    def __str__(self) -> str:
        if not self.finished:
            return "–"
        return f"{self.steps:.0f}" + ("" if self.finished == self.runs else f" ({self.finished}/{self.runs})")


def mean_title(effort: Effort, limit: int) -> str:
    """What the cells of a table of means say."""
    runs = len(effort.tolerances())
    return f"Steps, mean over {runs} tolerances within 2 %; (k/{runs}): only k finish in {limit} steps; –: none"


def mean_steps(
    name: str, method: str, rule: str, effort: Effort, limit: int = 0, given: tuple[tuple[str, float], ...] = ()
) -> Mean:
    """Steps over nearby tolerances; limit 0: that of the effort."""
    near = [(*given, ("tolerance", s)) for s in effort.tolerances()]
    all_runs = [run(name, method, rule, limit or effort.limit, given=one) for one in near]
    steps = [one.steps for one in all_runs if one.steps is not None]
    return Mean(len(steps), len(all_runs), float(np.exp(np.mean(np.log(steps)))) if steps else math.nan)


def progress(text: str) -> None:
    """Say on stderr what is being done."""
    print(text, file=sys.stderr, flush=True)


def count(steps: int | None) -> str:
    """Steps as the thesis gives them."""
    return "–" if steps is None else str(steps)


def range_table(name: str) -> Table:
    """Tables 6.2, 6.3, 6.5, 6.7: sizes of the states over the steps; how much of the time Sterbenz' condition fails."""
    found = reference(name)
    share = np.diff(found.time) / found.time[-1]
    rows = []
    for key, nominal in zip(states(name), nominals(name), strict=True):
        size, entered = np.abs(found[key]), load(name).variables[key].nominal
        broken = 100.0 * float(np.sum(share[size[1:] < SQRT_U * nominal]))
        cells = (f"{v:.3g}" for v in (size.min(), size.mean(), size.max()))
        rows.append((key, *cells, f"{entered:g}" if entered else "–", f"{broken:.1f}"))
    number = dict(zip(CASES, ("6.2", "6.3", "6.5", "6.7"), strict=True))[name]
    title = f"{name}: states over the steps of Radau5, exact Jacobian (table {number})"
    return Table(title, ("state", "min |y|", "mean |y|", "max |y|", "nominal", "% of time |y| < √U nominal"), rows)


def steps_table(names: list[str], effort: Effort) -> Table:
    """Tables 6.1, 6.4, 6.6, 6.8: steps with the solver's own increments and PyFMI's; beside, the thesis' numbers."""
    rows = []
    for name, (k, method) in itertools.product(names, enumerate(METHODS)):
        thesis = CASES[name].thesis
        limit = effort.full_limit if name == "VanDerPol" else effort.limit
        ours = [str(run(name, method, rule, limit)) for rule in (OWN[method], "pyfmi", "default", "exact")]
        rows.append((f"{name}, {method}", *ours[:2], count(thesis[2 * k]), count(thesis[2 * k + 1]), *ours[2:]))
    head = ("model, method", "own", "pyfmi", "thesis: own", "thesis: pyfmi", "default", "exact")
    return Table("Steps with the solver's own increments and with PyFMI's (tables 6.1, 6.4, 6.6, 6.8)", head, rows)


def algorithms_table(names: list[str], method: str, effort: Effort) -> Table:
    """Tables 7.1 and 7.2: PyFMI's increments made representable by algorithms 1 to 3."""
    rows = []
    for name in names:
        limit = effort.full_limit if name == "VanDerPol" else effort.limit
        ours = [str(run(name, method, OWN[method], limit))]
        ours += [str(run(name, method, "pyfmi", limit, algorithm=k)) for k in range(4)]
        rows.append((name, *ours, *(count(steps) for steps in THESIS_ALGORITHMS[name][method])))
    head = ("model", "own", "pyfmi", "with 1", "with 2", "with 3", "thesis: 1", "thesis: 2", "thesis: 3")
    number = "7.1" if method == "radau5" else "7.2"
    return Table(f"Experiment 1, {method}: representable increments (table {number})", head, rows)


def rules_table(names: list[str], effort: Effort) -> Table:
    """All rules, all models, both methods."""
    rows = []
    for name, method in itertools.product(names, METHODS):
        progress(f"all rules: {name}, {method}")
        rows.append((f"{name}, {method}", *(str(mean_steps(name, method, rule, effort)) for rule in RULES)))
    return Table(mean_title(effort, effort.limit), ("model, method", *RULES), rows)


def constants_of(experiment: int, effort: Effort) -> list[float]:
    """The constants tried: powers of ten, for experiment 5 the nearest powers of two."""
    if experiment < 5:
        return list(effort.constants)
    return [2.0 ** round(math.log2(c)) for c in effort.constants]


def scan(name: str, method: str, experiment: int, algorithm: int, effort: Effort) -> list[tuple[float, Run]]:
    """Figures 7.1 to 7.8: steps over the constant."""
    rule = f"experiment{experiment}"
    return [(c, run(name, method, rule, effort.scan_limit, c, algorithm)) for c in constants_of(experiment, effort)]


def good_constants(found: list[tuple[float, Run]], exact: int | None) -> str:
    """The longest row of constants that need few steps."""
    most = math.inf if exact is None else GOOD * exact
    good = [one.steps is not None and one.steps <= most for _, one in found]
    spans = [list(group) for ok, group in itertools.groupby(range(len(good)), key=good.__getitem__) if ok]
    if not spans:
        return "none"
    best = max(spans, key=len)
    low, high = found[best[0]][0], found[best[-1]][0]
    return f"{'≤ ' if best[0] == 0 else ''}{low:.0e} to {high:.0e}{' ≤' if best[-1] == len(good) - 1 else ''}".replace(
        "e-0", "e-"
    ).replace("e+0", "e")


def scan_table(names: list[str], effort: Effort) -> Table:
    """Figures 7.1 to 7.8 in short: which constants are good?"""
    rows = []
    for experiment, name, method in itertools.product(range(2, 6), names, METHODS):
        progress(f"experiment {experiment}: {name}, {method}")
        exact = run(name, method, "exact", effort.limit).steps
        cells = [good_constants(scan(name, method, experiment, k, effort), exact) for k in range(4)]
        rows.append((f"{experiment}: {name}, {method}", *cells))
    title = f"Constants c0 with at most {GOOD:g} times the steps of the exact Jacobian (figures 7.1 to 7.8)"
    return Table(title, ("experiment: model, method", "as it comes", "algorithm 1", "algorithm 2", "algorithm 3"), rows)


def zero_table(names: list[str], effort: Effort) -> Table:
    """Experiments 3 and 5 without a floor: states that are 0 get no, or hardly any, increment."""
    chosen = ((3, 0.0), (3, 1e-300), (5, 0.0), (5, 2.0**-996))
    rows = []
    for name, method in itertools.product(names, METHODS):
        runs = [str(run(name, method, f"experiment{k}", effort.scan_limit, c0)) for k, c0 in chosen]
        rows.append((f"{name}, {method}", *runs, str(run(name, method, "exact", effort.limit))))
    head = ("model, method", "3, c0 = 0", "3, c0 = 1e-300", "5, c0 = 0", "5, c0 = 2^-996", "exact")
    return Table("Experiments 3 and 5 (almost) without the constant", head, rows)


def nominal_run(nominal: float, rule: str, effort: Effort) -> Run:
    """Van der Pol's oscillator with another nominal value, atol kept."""
    return run("VanDerPol", "radau5", rule, effort.full_limit, given=(("nominal", nominal),))


def nominal_table(effort: Effort) -> Table:
    """Figure 6.1: steps of Radau5 over the nominal value."""
    progress("Van der Pol over the nominal value")
    rules = ("pyfmi", "entered", "thesis", "default")
    rows = [(f"{nominal:g}", *(str(nominal_run(nominal, rule, effort)) for rule in rules)) for nominal in NOMINALS]
    return Table("VanDerPol, Radau5: steps over the nominal value (figure 6.1)", ("nominal", *rules), rows)


def sharp_mean(name: str, method: str, rule: str, value: float, effort: Effort) -> Mean:
    """A model with a sharper bend."""
    return mean_steps(name, method, rule, effort, effort.scan_limit, ((SHARPER[name][0], value),))


def sharper_table(names: list[str], effort: Effort) -> Table:
    """Experiment 6, not in the thesis: the same models with sharper bends."""
    rows = []
    for name, method in itertools.product((name for name in names if name in SHARPER), METHODS):
        parameter, values = SHARPER[name]
        for value in values[:-1] if effort is QUICK else values:
            progress(f"sharper bends: {name}, {parameter} = {value:g}, {method}")
            runs = [str(sharp_mean(name, method, rule, value, effort)) for rule in SHARP_RULES]
            rows.append((f"{name}, {parameter} = {value:g}, {method}", *runs))
    title = f"Experiment 6: sharper bends. {mean_title(effort, effort.scan_limit)}"
    return Table(title, ("model, method", *SHARP_RULES), rows)


def tables(names: list[str], effort: Effort) -> list[Table]:
    """All tables."""
    found = [range_table(name) for name in names]
    progress("PyFMI's increments")
    found += [steps_table(names, effort), *(algorithms_table(names, method, effort) for method in METHODS)]
    found += [rules_table(names, effort), scan_table(names, effort), zero_table(names, effort)]
    if "VanDerPol" in names:
        found.append(nominal_table(effort))
    if set(names) & set(SHARPER):
        found.append(sharper_table(names, effort))
    return found


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description="Experiments with increments of difference Jacobians.")
    parser.add_argument("models", nargs="*", help=f"of {', '.join(CASES)}; default: all")
    parser.add_argument("--quick", action="store_true", help="fewer constants and tolerances")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw the pictures, too")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables as markdown")
    arguments = parser.parse_args()
    if unknown := set(arguments.models) - set(CASES):
        parser.error(f"no model {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    effort = QUICK if arguments.quick else NORMAL
    names = [name for name in CASES if not arguments.models or name in arguments.models]
    found = tables(names, effort)
    for table in found:
        print(table)
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(table.markdown() for table in found), "utf-8")
    if arguments.plots:
        import increments_plots

        increments_plots.draw(arguments.plots, names, effort)


if __name__ == "__main__":
    main()
