"""This tree beside another commit: both brokers' rounds in turn, `make bench BASE=<commit>`.

The commit is cloned into a temporary folder and installed there by pip, which builds whatever that commit builds; its
dependencies are those of this environment. The rows are processor time and memory. Both need a quiet machine: at a load
average of 10 on two cores, a commit beside itself gave ratios from 0.95 to 1.29.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import data_plane
from bench.processes import resident_mib
from bench.rounds import Rounds
from bench.subject import Subject
from bench.table import Row, at_most

BOUND = 1.1
_IDLE_AFTER_S = 2.0


def build(commit: str, folder: Path) -> Path:
    """Clones and installs the commit below `folder`; returns the folder to import it from. SystemExit with
    the output of git or pip if that fails."""
    clone, site = folder / "clone", folder / "site"
    _run("git", "clone", "--quiet", "--no-checkout", ".", str(clone))
    _run("git", "-C", str(clone), "checkout", "--quiet", "--detach", _run("git", "rev-parse", f"{commit}^{{commit}}"))
    # pip compiles what it installs: both builds run from bytecode.
    _run(sys.executable, "-m", "compileall", "-q", "src/signalbox")
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site))
    _run(*pip, str(clone))
    return site


def has_new_names(site: Path) -> bool:
    """True if the build below `site` reads keys with the prefix `signalbox.`: then it has a table of the old names,
    which was in `common` at first and is in `common/config` now."""
    return any((site / "signalbox/common").rglob("old_keys.py"))


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout.strip()


def rows(folder: Path, site: Path, only: str, rounds: int, seconds: float) -> Iterator[Row]:
    """A row per load: this tree, the base, and the median of the rounds' ratios."""
    of_base = Subject(folder / "base")
    if not has_new_names(site):
        of_base.add_old_names()
    with Subject(folder / "this") as this, python_path(site), of_base as base:
        time.sleep(_IDLE_AFTER_S)
        yield at_most("memory of an idle broker process, MiB", resident_mib(this.pid), resident_mib(base.pid), BOUND)
        for subject in (this, base):
            subject.create_topics(data_plane.FETCH_SIZES)
        for contest in data_plane.contests():
            if only in contest.metric and contest.of_ours:
                yield comparison(contest.metric, data_plane.compare(contest, (this, base), rounds, seconds))


def comparison(metric: str, costs: list[tuple[float, float]]) -> Row:
    """The row of one load: the medians of both sides, and the median of the rounds' ratios, which has the bound."""
    this, base = zip(*costs, strict=True)
    return Rounds(this, base).row(metric, BOUND)


@contextmanager
def python_path(site: Path) -> Iterator[None]:
    """Brokers that are started inside the block import Signalbox from `site`."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(site)
    try:
        yield
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before
