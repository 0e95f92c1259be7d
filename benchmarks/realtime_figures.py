"""The rows of FIGURES.md that the real-time room answers for."""

from __future__ import annotations

import numpy as np
import realtime

from pliant.realtime.code.instructions import count_instructions
from pliant.realtime.stages.step import drive

COMMAND = "python benchmarks/realtime.py"


def robot_rows(quick: bool) -> list[tuple[str, str, str, bool | None, str]]:
    """Robot, 78 states, step 1 ms."""
    found = realtime.robot(quick)
    v, command = found.values, f"{COMMAND} robot"
    rows: list[tuple[str, str, str, bool | None, str]] = []

    def row(what: str, goal: str, reached: str, met: bool | None) -> None:
        rows.append((f"robot: {what}", goal, reached, met, command))

    row("entries of I - tau J", "<= 165", f"{v['full_entries']:.0f} -> {v['entries']:.0f}", v["entries"] <= 165)
    row("LU entries, COLAMD", "<= 204", f"{v['full_colamd']:.0f} -> {v['colamd']:.0f}", v["colamd"] <= 204)
    row("LU entries, own order", "<= 175", f"{v['full_lu']:.0f} -> {v['lu']:.0f}", v["lu"] <= 175)
    row("factorisation flops", "<= 130", f"{v['full_flops']:.0f} -> {v['flops']:.0f}", v["flops"] <= 130)
    row("colours of the Jacobian", "<= 6", f"{v['full_colours']:.0f} -> {v['colours']:.0f}", v["colours"] <= 6)
    row("linearisations that violate, of 400", "0", f"{v['violators']:.0f}", v["violators"] == 0)
    row("stability margin kept", ">= .95", f"{v['margin']:.3f}", v["margin"] >= 0.95)
    row(
        "largest error of range against an accurate reference (joint angles)",
        "<= 3 % (.3 %)",
        f"{100 * v['seen_error']:.2f} % ({100 * v['seen_joints']:.2f} %); all entries {100 * v['seen_exact']:.2f} %",
        v["seen_error"] <= 0.03 and v["seen_joints"] <= 0.003,
    )
    row(
        "the same on an unseen trajectory",
        "<= 5 % (.4 %)",
        f"{100 * v['unseen_error']:.2f} % ({100 * v['unseen_joints']:.2f} %); all {100 * v['unseen_exact']:.2f} %",
        v["unseen_error"] <= 0.05 and v["unseen_joints"] <= 0.004,
    )
    ratio = v["predicted"] / v["measured"]
    row("predicted bias / measured", "within 1.5x", f"{ratio:.3f}", 1 / 1.5 <= ratio <= 1.5)
    klu = v["against_klu"]
    row(
        "factor + solve against KLU refactor",
        ">= 5x",
        f"{klu:.0f}x ({v['against_klu_sparsed']:.0f}x on the sparsed matrix)" if np.isfinite(klu) else "no KLU here",
        klu >= 5 if np.isfinite(klu) else None,
    )
    row("factor + solve against dense LAPACK", ">= 100x", f"{v['against_dense']:.0f}x", v["against_dense"] >= 100)
    row(
        "factor + solve against own unsparsed static code",
        ">= 1.7x",
        f"{v['against_unsparsed']:.2f}x",
        v["against_unsparsed"] >= 1.7,
    )
    row("linearise, search, evidence", "<= 60 s", f"{v['seconds']:.0f} s", v["seconds"] <= 60)
    row(
        "whole step against compiled f, J and LAPACK; against the unsparsed straight-line step",
        ">= 10x, >= 1.4x",
        f"{v['whole_against_dense']:.0f}x, {v['whole_against_unsparsed']:.2f}x ({1e6 * v['step']:.2f} us)",
        v["whole_against_dense"] >= 10 and v["whole_against_unsparsed"] >= 1.4,
    )
    row(
        "float build, joint angles against double",
        "<= .1 %",
        f"{100 * v['float_joints']:.1e} %",
        v["float_joints"] <= 1e-3,
    )
    row(
        "cluster criterion against true change (linearisations 0, 66, 133)",
        "Spearman >= .94, no miss",
        f"{v['spearman']:.3f}, {v['misses']:.0f} misses",
        v["spearman"] >= 0.94 and v["misses"] == 0,
    )
    rows += _machine_rows(found, quick, command)
    return rows


def _machine_rows(found: realtime.Numbers, quick: bool, command: str) -> list[tuple[str, str, str, bool | None, str]]:
    plan = found.plan
    run = drive(plan.code, plan.outcome.model, plan.outcome.request.scenarios[0])
    n, every = (200, 20) if quick else (1000, 1)
    counted = count_instructions(run.stepper, plan.code.start.x, None, n, every=every)
    timing = plan.measure(20_000 if quick else 1_000_000)
    limit = plan.step / 20
    return [
        (
            f"robot: instructions per step over {n} steps, elementary functions aside",
            "identical",
            f"{min(counted)} .. {max(counted)}, {len(counted)} steps counted",
            min(counted) == max(counted),
            "python benchmarks/figures.py realtime",
        ),
        (
            "robot: maximum step",
            "< 1 ms / 20",
            f"{1e6 * timing.maximum:.0f} us wall time over {timing.n_steps} steps (median {1e6 * timing.median:.1f}, "
            f"99.9 % {1e6 * timing.p999:.1f}, cold start {1e6 * timing.cold:.0f} us; the same step slow in every "
            f"repetition: at most {1e6 * timing.repeatable:.1f} us; constant work without the step, timed alike: "
            f"{1e6 * timing.control_maximum:.0f} us)",
            timing.maximum < limit,
            "plan.measure()",
        ),
    ]


def pipe_rows() -> list[tuple[str, str, str, bool | None, str]]:
    """Exhaust pipe, 25 states."""
    v, command = realtime.pipe(), f"{COMMAND} pipe"
    known = {0.01: 0.0009, 0.1: 0.0090, 1.0: 0.088}
    differences = {dt: v[f"bidiagonal_{dt:g}"] for dt in known}
    return [
        (
            "pipe: bidiagonal mask, entries, LU, colours",
            "36, 41, 2",
            f"{v['bidiagonal_entries']:.0f}, {v['bidiagonal_lu']:.0f}, {v['bidiagonal_colours']:.0f}",
            (v["bidiagonal_entries"], v["bidiagonal_lu"], v["bidiagonal_colours"]) == (36, 41, 2),
            command,
        ),
        (
            "pipe: its difference to the exact Jacobian, dt .01, .1, 1",
            ".09, .90, 8.8 % within 20 %",
            ", ".join(f"{100 * value:.3g}" for value in differences.values()) + " %",
            all(abs(differences[dt] / known[dt] - 1) <= 0.2 for dt in known),
            command,
        ),
        (
            "pipe: own search, dt .01",
            "<= 24 entries, 2 colours, <= 1.5 %",
            f"{v['entries']:.0f} entries, {v['colours']:.0f} colours, {100 * v['error']:.2f} %",
            v["entries"] <= 24 and v["colours"] <= 2 and v["error"] <= 0.015,
            command,
        ),
        (
            "pipe: common Lyapunov bound, dt .1, 24 linearisations",
            "<= .998",
            f"{v['gamma']:.5f}",
            v["gamma"] <= 0.998,
            command,
        ),
        ("pipe: d_S as printed / corrected", "2 to 1e-10", f"off by {v['d_S']:.0e}", v["d_S"] <= 1e-10, command),
        ("pipe: d_1 against the true sum of changes", "1e-12", f"{v['d_1']:.0e}", v["d_1"] <= 1e-12, command),
    ]


def grid_rows() -> list[tuple[str, str, str, bool | None, str]]:
    """Diode grid in dae form."""
    v, command = realtime.grid(), f"{COMMAND} grid"
    ratio = v["predicted"] / v["measured"]
    return [
        (
            "diode grid, dae form, 2 %: entries gone, flops gone",
            ">= 25 %, >= 70 %",
            f"{100 * v['entries_gone']:.0f} %, {100 * v['flops_gone']:.0f} % (sources up to 310 Hz, which the step "
            f"hardly resolves: {100 * v['fast_entries_gone']:.0f} %, {100 * v['fast_flops_gone']:.0f} %)",
            v["entries_gone"] >= 0.25 and v["flops_gone"] >= 0.7,
            command,
        ),
        ("diode grid: predicted bias / measured", "within 1.7x", f"{ratio:.2f}", 1 / 1.7 <= ratio <= 1.7, command),
        (
            "unseen scenario: robot, pipe, grid",
            "stable, or the monitor speaks before",
            f"grid stable, error added {100 * v['unseen']:.1f} %; robot above; pipe tests/test_realtime_plan.py",
            v["unseen"] < 0.2,
            command,
        ),
    ]


def rows(quick: bool) -> list[tuple[str, str, str, bool | None, str]]:
    """All of them."""
    return [*robot_rows(quick), *pipe_rows(), *grid_rows()]
