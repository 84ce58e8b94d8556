"""Peers: which sessions have ended, and the callback when a process dies."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from signalbox.metadata.store.sqlite.peers import Peers
from signalbox.metadata.store.sqlite.session_file import PREFIX, SessionFile
from tests.metadata.store.sqlite.process import other_process


def test_the_living_the_silent_the_dead_and_oneself(tmp_path: Path) -> None:
    async def scenario() -> None:
        living, silent, dead = (SessionFile(tmp_path, timeout_ms) for timeout_ms in (60_000, -1, 60_000))
        dead.abandon()
        peers = Peers(tmp_path, on_death=lambda: None)
        own_session_id = 9
        peers.update(
            {1: living.name, 2: silent.name, 3: dead.name, 4: "session-none", 9: "session-own"}, own_session_id
        )
        assert peers.find_ended() == [2, 3, 4]
        assert len(peers.stamps()) == 3
        peers.remove([2, 3, 4])
        assert peers.find_ended() == []
        assert os.listdir(tmp_path) == [living.name]
        peers.update({}, own_session_id)
        assert peers.stamps() == []
        peers.close()
        living.close()
        silent.close()

    asyncio.run(scenario())


def test_the_end_of_a_process_is_detected_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        with other_process(tmp_path / "m.db") as other:
            folder = tmp_path / "m.db-peers"
            [name] = [each for each in os.listdir(folder) if each.startswith(PREFIX)]
            died = asyncio.Event()
            peers = Peers(folder, died.set)
            peers.update({1: name}, 0)
            assert peers.find_ended() == []
            other.process.kill()
            async with asyncio.timeout(60):
                await died.wait()
            assert peers.find_ended() == [1]
            peers.close()

    asyncio.run(scenario())
