"""Features of the memory store only: a test can expire and pause participants. The contract is in `test_port.py`."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.common.clock import ManualClock
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create, SessionLost, Write


def test_expiry_by_hand() -> None:
    async def scenario() -> None:
        shared = SharedEntries(ManualClock(1_000))
        owner, lost = MemoryMetadataStore(shared), []
        owner.on_session_lost(lambda: lost.append(True))
        session_id = await owner.open_session()
        await owner.commit([Create("/mine", of_session=True)])
        entry = await owner.read("/mine")
        assert entry is not None
        assert entry.created_ms == 1_000
        shared.expire(session_id)
        shared.expire(session_id)
        assert lost == [True]
        with pytest.raises(SessionLost):
            await owner.commit([Create("/late")])

    asyncio.run(scenario())


def test_a_paused_participant_is_notified_after_it_resumes() -> None:
    async def scenario() -> None:
        shared = SharedEntries()
        paused, other, changed, lost = MemoryMetadataStore(shared), MemoryMetadataStore(shared), [], []
        session_id = await paused.open_session()
        paused.on_session_lost(lambda: lost.append(True))
        paused.watch("/a", lambda: changed.append(True))
        paused.pause()
        await other.commit([Create("/a"), Write("/a", b"x")])
        shared.expire(session_id)
        await asyncio.sleep(0)
        assert (changed, lost) == ([], [])
        paused.resume()
        await asyncio.sleep(0)
        assert (changed, lost) == ([True], [True])

    asyncio.run(scenario())
