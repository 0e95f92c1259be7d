"""The rows of FIGURES.md about input jumps and coupling."""

from __future__ import annotations

import jumps

COMMAND = "python benchmarks/jumps.py"
FigureRow = tuple[str, str, str, bool | None, str]


def paper_rows() -> list[FigureRow]:
    """E1, E2, E2b."""
    out: list[FigureRow] = []
    known = {"E1": (jumps.spring(), 588, 0.37), "E2": (jumps.pendulum(), 1288, 0.45)}
    known["E2b"] = (jumps.pendulum(10.0, 5.0), 595, 0.33)
    restart = {name: jumps.run(case, "restart") for name, (case, _, _) in known.items()}
    correct = {name: jumps.run(case, "correct") for name, (case, _, _) in known.items()}
    ratios = {name: correct[name].total / restart[name].total for name in known}
    steps = {name: restart[name].steps / expected for name, (_, expected, _) in known.items()}
    out.append(
        (
            "BDF in restart mode, steps against CVODE: E1, E2, E2b",
            "within 2 %",
            ", ".join(f"{value:.3f}" for value in steps.values()),
            all(abs(value - 1) <= 0.02 for value in steps.values()),
            f"{COMMAND} paper",
        )
    )
    out.append(
        (
            "at_jump=correct, total against restart: E1, E2, E2b",
            "<= .37, .45, .33",
            ", ".join(f"{value:.3f}" for value in ratios.values()),
            all(ratios[name] <= bar for name, (_, _, bar) in known.items()),
            f"{COMMAND} paper",
        )
    )
    smooth = jumps.smooth_steps()
    ratio = correct["E1"].steps / smooth
    out.append(
        ("E1, steps against the run without jumps", "<= 1.10", f"{ratio:.3f} ({smooth} without)", ratio <= 1.1, COMMAND)
    )  # fmt: skip
    shares = [correct[name].high_order for name in ("E1", "E2b")]
    out.append(
        (
            "share of time at order >= 4: E1, E2b",
            ">= 95 %",
            ", ".join(f"{100 * value:.1f} %" for value in shares),
            min(shares) >= 0.95,
            f"{COMMAND} paper",
        )
    )
    return out


def other_rows() -> list[FigureRow]:
    """Random relatives, stiff sets, short pieces, tolerances, wheel."""
    out: list[FigureRow] = []
    for name, make in (
        ("spring-dampers", lambda seed: jumps.spring(seed=seed)),
        ("pendula", lambda seed: jumps.pendulum(seed=seed)),
    ):
        ratios = jumps.family(make)
        mean = jumps.geometric(ratios)
        what = f"15 random {name}, total against restart, geometric mean (worst)"
        met = mean <= 0.38 and max(ratios) <= 0.6
        out.append((what, "<= .38 (.6)", f"{mean:.3f} ({max(ratios):.3f})", met, f"{COMMAND} random"))
    ratios = [jumps.run(case, "correct").total / jumps.run(case, "restart").total for case in jumps.stiff_cases()]
    what = "stiff sets (rates to 1e6, heat equation) against restart, worst"
    out.append(
        (
            what,
            "<= 1.05",
            f"{max(ratios):.3f}, mean {jumps.geometric(ratios):.3f}",
            max(ratios) <= 1.05,
            f"{COMMAND} stiff",
        )
    )
    short = []
    for case in (jumps.spring(400), jumps.pendulum(10.0, 5.0, 400)):
        found = {how: jumps.run(case, how).total for how in ("x1", "x2", "correct")}
        short.append(found["correct"] / min(found["x1"], found["x2"]))
    what = "400 pieces over 2 s (E1, E2b), total against the better of x1 and x2"
    out.append((what, "<= 1.1", ", ".join(f"{one:.3f}" for one in short), max(short) <= 1.1, f"{COMMAND} short"))
    try:
        for case in (jumps.spring(), jumps.pendulum(), jumps.pendulum(10.0, 5.0)):
            for tolerance in (1e-3, 1e-5, 1e-8, 1e-9, 1e-10):
                jumps.run(case, "correct", tolerance)
        reached, met = "no failure", True
    except jumps.pliant.PliantError as error:
        reached, met = f"{type(error).__name__}", False
    out.append(("tolerances down to 1e-10", "no failure", reached, met, f"{COMMAND} tolerances"))
    case = jumps.wheel()
    ratio = jumps.run(case, "correct").total / jumps.run(case, "restart").total
    what = "wheel with 37 inputs, 200 segments of 5 ms, total against restart"
    longer = jumps.wheel(stop=4.0)
    other = jumps.run(longer, "correct").total / jumps.run(longer, "restart").total
    reached = f"{ratio:.3f}; with segments of 20 ms {other:.3f}"
    out.append((what, "<= .45", reached, ratio <= 0.45, f"{COMMAND} wheel"))
    same = jumps.nothing_happens()
    out.append(("zero jump", "bit-identical to proceed", "identical" if same else "different", same, COMMAND))
    return out


def coupling_rows() -> list[FigureRow]:
    """The master."""
    (restart, error), (correct, other) = jumps.closed_loop("restart"), jumps.closed_loop("correct")
    ratio = correct / restart
    mismatch, lost = jumps.feedthrough()
    return [
        (
            "closed loop of two parts, Jacobi master, 100 macro steps, against restart",
            "<= .22, same error",
            f"{ratio:.3f}, error {other:.4g} against {error:.4g}",
            ratio <= 0.22 and other <= 1.05 * error,
            f"{COMMAND} loop",
        ),
        (
            "direct feed-through loop that diverges without iteration",
            "converges",
            f"loop closed to {mismatch:.0e}; without iteration {'it diverges' if lost else 'it stays'}",
            mismatch < 1e-6 and lost,
            f"{COMMAND} loop",
        ),
    ]


def rows() -> list[FigureRow]:
    """All of them."""
    return [*paper_rows(), *other_rows(), *coupling_rows()]
