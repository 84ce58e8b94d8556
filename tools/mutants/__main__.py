"""`make mutants`: changes the source in one place, runs the tests that run this place, and counts the changes that no
test notices.

The mutants are drawn by a seed from all mutants of the files in `targets.py`, each with the same chance. The last line
is `score N %`: the share of the drawn mutants, without the equivalent ones, that the tests kill. Exit code 1 below
`LEAST_SCORE`, with too many equivalent mutants, or if a test failed without a mutant; 2 if the tests fail at the start.
All results are in build/mutants.json. With paths, only the tests in the folders that mirror them count.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random, randrange

from tools.mutants.line_tests import LineTests, TestsFailed, measure
from tools.mutants.mutations import number_of_mutants
from tools.mutants.run import FileResult, run_file
from tools.mutants.score import Score, read_equivalents
from tools.mutants.targets import TEST_FOLDERS, draw, targets

_ROOT = Path(__file__).parents[2]
_JOBS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants")
    parser.add_argument("--mutants", type=int, default=1500, help="how many are drawn")
    parser.add_argument("--seed", type=int, default=None, help="the same seed draws the same mutants of a source tree")
    parser.add_argument("paths", nargs="*", help="only source files whose path begins so")
    given = parser.parse_args(arguments)
    seed = randrange(1_000_000) if given.seed is None else given.seed
    mirrors = {source: test for source, test in targets(_ROOT).items() if source.startswith(tuple(given.paths) or "")}
    folders = sorted({str(Path(test).parent) for test in mirrors.values()}) if given.paths else TEST_FOLDERS
    score = Score(read_equivalents())
    start = time.monotonic()
    # A process per file: a mutant's tests must not see the modules and the threads of another file's tests.
    with ProcessPoolExecutor(_JOBS, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        try:
            line_tests = _measure(pool, folders, mirrors)
            print(f"{time.monotonic() - start:6.0f} s  the tests of each line are known", flush=True)
            counts = dict(zip(mirrors, pool.map(partial(number_of_mutants, _ROOT), mirrors, chunksize=8), strict=True))
            drawn = draw(counts, given.mutants, Random(seed))
            total = sum(map(len, drawn.values()))
            print(
                f"seed {seed}: {total} of {sum(counts.values())} mutants in {len(drawn)} of {len(mirrors)} files",
                flush=True,
            )
            running = [
                pool.submit(run_file, _ROOT, source, mirrors[source], numbers, line_tests[source])
                for source, numbers in drawn.items()
            ]
            for done in as_completed(running):
                score.add(done.result())
                _show(done.result(), score, total, time.monotonic() - start)
        except TestsFailed as error:
            print(f"{error}: mend it first", file=sys.stderr)
            return 2
        finally:
            pool.shutdown(cancel_futures=True)
    for line in score.lines():
        print(line)
    file = _ROOT / "build" / "mutants.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"seed": seed, **score.as_json()}, indent=1))
    print(score.last_line())
    return 0 if score.is_enough() else 1


def _measure(pool: ProcessPoolExecutor, folders: Sequence[str], mirrors: Mapping[str, str]) -> dict[str, LineTests]:
    line_tests = {source: LineTests() for source in mirrors}
    for done in as_completed([pool.submit(measure, _ROOT, folder, mirrors) for folder in folders]):
        for source, found in done.result().items():
            line_tests[source].add(found)
    return line_tests


def _show(result: FileResult, score: Score, total: int, seconds: float) -> None:
    alive = f", {len(result.survivors)} not killed" if result.survivors else ""
    print(f"{seconds:6.0f} s  {score.drawn:5}/{total}  {result.source}: {result.drawn} mutants{alive}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
