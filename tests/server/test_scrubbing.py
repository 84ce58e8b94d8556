"""Passes of the scrub in an event loop: paced, paused by a rate of 0, not stopped by a disk that fails."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from signalbox.common.scheduling.task_scheduler import TaskScheduler
from signalbox.server.scrubbing import INTERVAL_KEY, RATE_KEY, Scrubbing
from signalbox.storage.files.background import InlineBackground, ThreadBackground
from signalbox.storage.validation.log_scrub import LogScrub, Piece
from tests.storage.validation.test_log_scrub import filled, flip

DAY_S = 86_400.0


class Paced:
    """A scrub whose pauses are recorded and take no time; it runs until there were so many pauses."""

    def __init__(self, scrub: LogScrub, rate: int = 1_000_000, interval_ms: int = 86_400_000) -> None:
        self.scrub = scrub
        self.pauses: list[float] = []
        self.values = {RATE_KEY: rate, INTERVAL_KEY: interval_ms}

    async def run(self, pauses: int) -> None:
        enough = asyncio.Event()

        async def pause(seconds: float) -> None:
            self.pauses.append(seconds)
            if len(self.pauses) == pauses:
                enough.set()
            await asyncio.sleep(0)

        loop = asyncio.get_running_loop()
        scrubbing = Scrubbing(self.scrub, lambda: self.values, TaskScheduler(loop), pause)
        task = asyncio.ensure_future(scrubbing.run())
        async with asyncio.timeout(60):
            await enough.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_a_pass_keeps_to_its_rate_and_the_next_one_to_the_interval(tmp_path: Path) -> None:
    log = filled(tmp_path / "a")
    paced = Paced(LogScrub([log]), rate=1_000)
    asyncio.run(paced.run(5))
    first, *pieces, between = paced.pauses
    assert first == 30
    assert sum(pieces) == pytest.approx(log.size_bytes / 1_000)
    assert between == pytest.approx(DAY_S, abs=60)
    assert paced.scrub.passes == 1


def test_a_rate_of_0_checks_nothing_until_it_is_raised(tmp_path: Path) -> None:
    paced = Paced(LogScrub([filled(tmp_path / "a")]), rate=0)
    asyncio.run(paced.run(3))
    assert (paced.scrub.passes, paced.scrub.bytes_checked) == (0, 0)
    paced.values[RATE_KEY] = 1_000
    asyncio.run(paced.run(10))
    assert paced.scrub.bytes_checked > 0


def test_pieces_are_read_in_the_background_of_their_directory(tmp_path: Path) -> None:
    log = filled(tmp_path / "a")
    flip(log, 1, 80)

    async def scenario() -> None:
        background = ThreadBackground(asyncio.get_running_loop().call_soon_threadsafe)
        log.body.directory.background = background
        await Paced(LogScrub([log])).run(6)
        background.close()

    asyncio.run(scenario())
    assert log.corruption is not None
    assert log.corruption.offset == 10


def test_a_log_that_cannot_be_read_is_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    logs = [filled(tmp_path / "a"), filled(tmp_path / "b")]

    class Failing(LogScrub):
        def next_piece(self) -> Piece | None:
            piece = super().next_piece()
            if piece is not None and self._log_check is not None and self._log_check.log is logs[0]:
                piece.bytes.fd = -1
            return piece

    logs[0].body.directory.background = InlineBackground()
    paced = Paced(Failing(logs))
    asyncio.run(paced.run(5))
    assert "cannot be checked" in caplog.text
    assert paced.scrub.bytes_checked == logs[1].size_bytes
