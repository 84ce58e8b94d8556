"""The requests that the adapter sends to ZooKeeper for a commit. The contract on a real ensemble is in tests/system."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from kazoo.client import KazooState
from kazoo.exceptions import BadVersionError, RuntimeInconsistency
from kazoo.protocol.serialization import CheckVersion, Exists, SetData, Transaction

from signalbox.metadata.store.port import Create, Fence, FencedOut, Write
from signalbox.metadata.store.zookeeper.access import ZooKeeperAccess
from signalbox.metadata.store.zookeeper.adapter import ZooKeeperMetadataStore
from signalbox.metadata.store.zookeeper.connect_string import ConnectString

AT = ConnectString("zk:2181", "/kafka")
FENCE = Fence("/controller_epoch", 7)


class ScriptedSession:
    """Records the requests, and returns the prepared responses."""

    def __init__(self, *answers: Any) -> None:
        self.asked: list[tuple[list[Any], bool]] = []
        self._answers = list(answers)

    async def ask_all(self, requests: list[Any], *, again: bool) -> list[Any]:
        self.asked.append((list(requests), again))
        return self._answers

    async def ask(self, request: Any, *, again: bool) -> Any:
        return (await self.ask_all([request], again=again))[0]


def store_with(session: ScriptedSession) -> ZooKeeperMetadataStore:
    store = ZooKeeperMetadataStore(AT)
    store._session = session  # type: ignore[assignment]
    return store


@pytest.mark.spec("M1", "M3")
def test_a_commit_checks_the_fence_before_anything_else_and_is_sent_once() -> None:
    async def story() -> None:
        session = ScriptedSession([BadVersionError(), RuntimeInconsistency()])
        with pytest.raises(FencedOut):
            await store_with(session).commit([Write("/a", b"1", 3)], FENCE)
        [([request], again)] = session.asked
        assert isinstance(request, Transaction)
        assert request.operations == [CheckVersion("/kafka/controller_epoch", 7), SetData("/kafka/a", b"1", 3)]
        assert not again, "what became of a lost commit is for the caller to find out"

    asyncio.run(story())


@pytest.mark.spec("M1", "M3")
def test_the_fence_alone_is_a_commit_too() -> None:
    async def story() -> None:
        session = ScriptedSession([True])
        assert await store_with(session).commit([], FENCE) == []
        [([request], _)] = session.asked
        assert request.operations == [CheckVersion("/kafka/controller_epoch", 7)]

    asyncio.run(story())


def test_the_creation_id_is_requested_together_with_the_commit() -> None:
    async def story() -> None:
        session = ScriptedSession(["/kafka/a"], None)
        [result] = await store_with(session).commit([Create("/a", b"1")])
        assert (result.path, result.creation_id) == ("/a", -1)
        [([_, look], _)] = session.asked
        assert isinstance(look, Exists)
        assert look.path == "/kafka/a"

    asyncio.run(story())


def test_a_session_of_which_nothing_was_known_for_its_timeout_does_not_count() -> None:
    """The ensemble ends it about then, and the client finds out when it connects again."""

    async def story() -> None:
        store = ZooKeeperMetadataStore(AT, ZooKeeperAccess(session_timeout_ms=18_000))
        session: Any = ScriptedSession()
        store._session, store._is_open = session, True
        assert store.has_session
        store._state_changed(session, KazooState.SUSPENDED)
        assert store.has_session, "a change of the ensemble's leader takes seconds"
        assert store._disconnected_since_s is not None
        store._disconnected_since_s -= 18
        assert not store.has_session
        store._state_changed(session, KazooState.CONNECTED)
        assert store.has_session

    asyncio.run(story())
