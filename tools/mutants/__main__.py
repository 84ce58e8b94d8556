"""`make mutants`: changes the source in one place, runs the tests that mirror the file, and counts the changes that no
test notices.

The mutants are drawn by a seed from all mutants of the files in `targets.py`, each with the same chance. The last line
is `score N %`: the share of the drawn mutants, without the equivalent ones, that the tests kill. Exit code 1 below
`LEAST_SCORE` or with too many equivalent mutants, 2 if a file's tests fail without a mutant. All results are in
build/mutants.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random, randrange

from tools.mutants.mutations import number_of_mutants
from tools.mutants.run import BaselineError, FileResult, run_file
from tools.mutants.score import Score, read_equivalents
from tools.mutants.targets import draw, targets

_ROOT = Path(__file__).parents[2]
_JOBS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants")
    parser.add_argument("--mutants", type=int, default=1500, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=None, help="the same seed draws the same mutants of a source tree")
    parser.add_argument("paths", nargs="*", help="only source files whose path begins so")
    given = parser.parse_args(arguments)
    seed = randrange(1_000_000) if given.seed is None else given.seed
    tests = {source: test for source, test in targets(_ROOT).items() if source.startswith(tuple(given.paths) or "")}
    score = Score(read_equivalents())
    start = time.monotonic()
    # A process per file: a mutant's tests must not see the modules and the threads of another file's tests.
    with ProcessPoolExecutor(_JOBS, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        counts = dict(zip(tests, pool.map(partial(number_of_mutants, _ROOT), tests, chunksize=8), strict=True))
        drawn = draw(counts, given.mutants, Random(seed))
        total = sum(map(len, drawn.values()))
        print(
            f"seed {seed}: {total} of {sum(counts.values())} mutants in {len(drawn)} of {len(tests)} files", flush=True
        )
        running = {pool.submit(run_file, _ROOT, source, tests[source], numbers) for source, numbers in drawn.items()}
        for done in as_completed(running):
            if done.exception() is not None:
                pool.shutdown(cancel_futures=True)
            try:
                result = done.result()
            except BaselineError as error:
                print(f"{error}: mend it first", file=sys.stderr)
                return 2
            score.add(result)
            _show(result, score, total, time.monotonic() - start)
    for line in score.lines():
        print(line)
    file = _ROOT / "build" / "mutants.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"seed": seed, **score.as_json()}, indent=1))
    print(score.last_line())
    return 0 if score.is_enough() else 1


def _show(result: FileResult, score: Score, total: int, seconds: float) -> None:
    alive = f", {len(result.survivors)} not killed" if result.survivors else ""
    print(f"{seconds:6.0f} s  {score.drawn:5}/{total}  {result.source}: {result.drawn} mutants{alive}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
