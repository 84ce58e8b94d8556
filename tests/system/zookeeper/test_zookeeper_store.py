"""The metadata store's contract on a real ZooKeeper (SPEC M1), with and without a chroot; the suite is
`test_port.py`."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.protocol import serialization as requests

from signalbox.metadata.store.port import CommitTooLarge, Create, MetadataStore, StoreUnavailable
from signalbox.metadata.store.zookeeper.access import ZooKeeperAccess
from signalbox.metadata.store.zookeeper.adapter import ZooKeeperMetadataStore
from signalbox.metadata.store.zookeeper.connect_string import parse_connect_string
from signalbox.testing.switchboard import Switchboard
from signalbox.testing.zookeeper import ZooKeeperServer, ensemble
from tests.metadata.store.test_port import *  # noqa: F403 (the contract, run with this file's `show`)
from tests.metadata.store.test_port import Scenario, Show
from tests.system.provision import zookeeper

pytestmark = pytest.mark.spec("M1")

_ACCESS = ZooKeeperAccess(session_timeout_ms=2_000, connection_timeout_ms=20_000)
_chroots = itertools.count()


class ZooKeeperWorld:
    """A chroot of its own in the server of this file."""

    def __init__(self, server: ZooKeeperServer) -> None:
        self._server = server
        self._at = parse_connect_string(f"{server.address}/contract/{next(_chroots)}")
        self._participants: list[ZooKeeperMetadataStore] = []

    def participant(self) -> ZooKeeperMetadataStore:
        store = ZooKeeperMetadataStore(self._at, _ACCESS)
        self._participants.append(store)
        return store

    async def doomed(self) -> MetadataStore:
        store = self.participant()
        await store.open_session()
        asyncio.get_running_loop().call_later(0.3, _end_session, self._server.address, _client(store).client_id)
        return store

    async def fill(self, store: Any) -> None:
        await self._set_quota(100_000)

    async def make_room(self, store: Any) -> None:
        await self._set_quota(-1)

    async def _set_quota(self, most_bytes: int) -> None:
        """Writes what `setquota -B` writes: a hard limit, which a server with `enforceQuota` enforces."""
        folder, limits = f"/zookeeper/quota{self._at.chroot}", f"count=-1,bytes=-1=;byteHardLimit={most_bytes}".encode()

        def write() -> None:
            client = KazooClient(self._server.address)
            client.start()
            if client.exists(f"{folder}/zookeeper_limits"):
                client.set(f"{folder}/zookeeper_limits", limits)
            else:
                client.create(f"{folder}/zookeeper_limits", limits, makepath=True)
                client.create(f"{folder}/zookeeper_stats", b"count=0,bytes=0")
            client.stop()
            client.close()

        await asyncio.to_thread(write)

    def kill(self, store: Any) -> None:
        client = _client(store)
        client._stopped.set()  # its threads end without closing the session at the server
        client._connection._socket.shutdown(socket.SHUT_RDWR)

    async def close(self) -> None:
        for store in self._participants:
            await store.close()


def _client(store: ZooKeeperMetadataStore) -> Any:
    assert store._session is not None
    return store._session._client


def _end_session(address: str, identity: tuple[int, bytes]) -> None:
    """Ends a session at the server, as its timeout would: connects with its id and password and closes it."""

    def end() -> None:
        double = KazooClient(address, client_id=identity)
        double.start()
        double.stop()
        double.close()

    threading.Thread(target=end).start()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperServer]:
    zookeeper()
    with ensemble(tmp_path_factory.mktemp("zookeeper"), settings={"enforceQuota": "true"}) as (only,):
        yield only


@pytest.fixture  # type: ignore[no-redef]
def show(server: ZooKeeperServer) -> Show:
    """Runs a scenario of the contract with a chroot of its own."""

    def run(scenario: Scenario) -> None:
        async def in_world() -> None:
            world = ZooKeeperWorld(server)
            try:
                async with asyncio.timeout(30):
                    await scenario(world)
            finally:
                await world.close()

        asyncio.run(in_world())

    return run


def test_a_commit_that_zookeeper_would_not_take_is_rejected_before_it_is_sent(server: ZooKeeperServer) -> None:
    async def scenario() -> None:
        store = ZooKeeperMetadataStore(parse_connect_string(f"{server.address}/large"), _ACCESS)
        with pytest.raises(CommitTooLarge, match="1048575"):
            await store.commit([Create(f"/{number}", b"x" * 600_000) for number in range(2)])
        assert await store.children("/") == []
        await store.close()

    asyncio.run(scenario())


def test_a_session_outlives_a_server_that_is_away_for_a_while(tmp_path: Path) -> None:
    """After several failed attempts to connect: the session is not given up as long as ZooKeeper may still have it."""
    zookeeper()

    async def scenario(only: ZooKeeperServer) -> None:
        access = ZooKeeperAccess(session_timeout_ms=30_000)
        store = ZooKeeperMetadataStore(parse_connect_string(only.address), access)
        session_id, lost = await store.open_session(), asyncio.Event()
        store.on_session_lost(lost.set)
        await store.commit([Create("/mine", of_session=True)])
        only.kill()
        asking = asyncio.ensure_future(store.read("/mine"))
        await asyncio.wait([asking], timeout=2.0)
        assert not asking.done()
        only.start()
        found = await asking
        assert found is not None
        assert found.session_id == session_id == store.session_id
        assert not lost.is_set()
        await store.close()

    with ensemble(tmp_path) as (only,):
        asyncio.run(scenario(only))


def test_any_number_of_requests_may_wait_for_a_server_that_is_away(tmp_path: Path) -> None:
    """A request that is sent while the connection closes waits for the next connection, and the event loop is not
    blocked."""
    zookeeper()
    count = 3_000  # as many as for a metadata tree; with kazoo's own sockets the limit was 280

    async def scenario(only: ZooKeeperServer) -> None:
        access = ZooKeeperAccess(session_timeout_ms=30_000)
        store = ZooKeeperMetadataStore(parse_connect_string(only.address), access)
        await store.open_session()
        assert store._session is not None
        session, gone, loop = store._session, asyncio.Event(), asyncio.get_running_loop()
        _client(store).add_listener(lambda state: loop.call_soon_threadsafe(gone.set))
        only.kill()
        await gone.wait()
        waiting = [session.send(requests.Exists("/", None)) for _ in range(count)]
        await asyncio.sleep(0.1)
        assert not any(each.done() for each in waiting)
        only.start()
        assert len(await asyncio.gather(*waiting)) == count
        await store.close()

    with ensemble(tmp_path) as (only,):
        asyncio.run(asyncio.wait_for(scenario(only), 60))


def test_a_server_that_accepts_a_connection_and_never_responds_ends_no_session(tmp_path: Path) -> None:
    """As a starting ZooKeeper server does now and then: the next attempt comes within the session timeout."""
    zookeeper()

    async def scenario(only: ZooKeeperServer) -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as silent:
            silent.setblocking(False)
            async with Switchboard() as switchboard:
                host, port = await switchboard.add_line("zookeeper", ("127.0.0.1", only.port))
                access = ZooKeeperAccess(session_timeout_ms=9_000)
                store = ZooKeeperMetadataStore(parse_connect_string(f"{host}:{port}"), access)
                await store.open_session()
                session_id = store._session.session_id if store._session else 0
                switchboard.rewire("zookeeper", silent.getsockname()[:2])
                switchboard.sever("zookeeper")
                held, _ = await loop.sock_accept(silent)
                with held:
                    await switchboard.restore("zookeeper")
                    assert store._session is not None
                    await store._session.send(requests.Exists("/", None))
                    assert store._session.session_id == session_id
                await store.close()

    with ensemble(tmp_path) as (only,):
        asyncio.run(asyncio.wait_for(scenario(only), 60))


def test_an_absent_server_is_reported_within_the_connection_timeout(tmp_path: Path) -> None:
    async def scenario() -> None:
        access = ZooKeeperAccess(connection_timeout_ms=300)
        store = ZooKeeperMetadataStore(parse_connect_string("127.0.0.1:1"), access)
        with pytest.raises(StoreUnavailable, match=r"no ZooKeeper at 127\.0\.0\.1:1 within 0\.3 s"):
            await store.open_session()
        await store.close()

    asyncio.run(scenario())
