"""A loop is started again after an error, and killed when it hangs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.system.ecosystem.loops import KeptLoop

_SECOND_RUN = """
import pathlib, sys
mark = pathlib.Path(sys.argv[1])
if not mark.exists():
    mark.touch()
    {first}
"""


def kept(folder: Path, first: str) -> KeptLoop:
    """A program whose first run does something else than to end."""
    program = [sys.executable, "-c", _SECOND_RUN.format(first=first), str(folder / "mark")]
    return KeptLoop(program, dict(os.environ), folder / "loop.log")


def test_a_loop_that_fails_is_started_again(tmp_path: Path) -> None:
    with kept(tmp_path, "sys.exit('no coordinator')") as loop:
        assert loop.complete.wait(60)
    assert (loop.ends, loop.hangs) == (1, 0)
    assert "no coordinator" in (tmp_path / "loop.log").read_text()


def test_a_loop_that_hangs_is_killed_and_started_again(tmp_path: Path) -> None:
    waits: list[float] = []

    def reached(timeout_s: float) -> bool:
        waits.append(timeout_s)
        return len(waits) > 1 and loop.complete.wait(timeout_s)

    with kept(tmp_path, "import threading; threading.Event().wait()") as loop:
        while not (tmp_path / "mark").exists():
            loop.complete.wait(0.05)
        loop.wait_for(reached, "the second run")
    assert (loop.ends, loop.hangs) == (1, 1)


def test_the_end_of_the_block_ends_the_loop(tmp_path: Path) -> None:
    with kept(tmp_path, "import threading; threading.Event().wait()") as loop:
        pass
    assert not loop.is_alive()
    assert not loop.complete.is_set()
