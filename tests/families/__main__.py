"""Run families of random models: python tests/families [names] [--seed S] [--count N] [--only SEED] [--jobs J]."""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.progress import track

from families import RIGHT, Family, Outcome, families, guarded


def run(family: Family, seeds: range, jobs: int) -> list[Outcome]:
    """All cases, in order."""
    if jobs <= 1:
        return [guarded(family, seed) for seed in track(seeds, description=family.name, transient=True)]
    with ProcessPoolExecutor(jobs) as pool:
        outcomes = pool.map(partial(_by_name, family.name), seeds, chunksize=4)
        return list(track(outcomes, total=len(seeds), description=family.name, transient=True))


def _by_name(name: str, seed: int) -> Outcome:
    return guarded(families()[name], seed)


def main() -> int:
    """Print what each family reached; 1 if one falls short."""
    parser = argparse.ArgumentParser(description=__doc__)
    known = families()
    parser.add_argument("names", nargs="*", help=", ".join(known))
    parser.add_argument("--seed", type=int, help="first seed (each family has its own)")
    parser.add_argument("--count", type=int, help="number of cases (default: the figure's)")
    parser.add_argument("--only", type=int, help="this one seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--show", type=int, default=20, help="how many cases that are not right to print")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in known]
    if unknown:
        parser.error(f"no family {', '.join(unknown)}; there are {', '.join(known)}")
    short = 0
    for name in given.names or known:
        family = known[name]
        first = family.seed if given.seed is None else given.seed
        seeds = range(first, first + (given.count or family.count))
        if given.only is not None:
            seeds = range(given.only, given.only + 1)
        begin = time.perf_counter()
        outcomes = run(family, seeds, given.jobs)
        text, met = family.judge(outcomes)
        print(f"{name}: {text} ({family.goal}) in {time.perf_counter() - begin:.0f} s, {'met' if met else 'SHORT'}")
        for outcome in [one for one in outcomes if one.verdict != RIGHT][: given.show]:
            print(f"  seed {outcome.seed}: {outcome.verdict}: {outcome.detail}")
        short += not met
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
