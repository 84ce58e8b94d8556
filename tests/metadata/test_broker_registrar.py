"""A broker stays registered after lost sessions, removed registrations and quick restarts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.metadata.broker_registrar import BrokerIdTaken, BrokerRegistrar
from signalbox.metadata.entries.registration import BrokerRegistration, RegisteredLogDir, decode_registration
from signalbox.metadata.layout import broker_id_path, controller_id_path
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Delete, Entry, SessionLost, Write
from tests.metadata.participants import run_with_stores
from tests.waiting import settle, until_true

BROKER = BrokerRegistration(broker_id=1, endpoints=(Endpoint("CLIENT", "h", 1, SecurityProtocol.PLAINTEXT),))
PATH = broker_id_path(1)


class Epochs:
    """The broker epochs that a registrar passes to its callback."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._called = asyncio.Event()

    def __call__(self, broker_epoch: int) -> None:
        self.seen.append(broker_epoch)
        self._called.set()

    async def next(self) -> int:
        await self._called.wait()
        self._called.clear()
        return self.seen[-1]


def test_registered_as_kafka_does_it() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        epochs = Epochs()
        registrar = BrokerRegistrar(store, epochs)
        session_id = await store.open_session()
        assert registrar.missing_reasons() == ["the node is not registered in the metadata store"]
        broker_epoch = await registrar.register(BROKER)
        entry = await store.read(PATH)
        assert entry is not None
        assert (entry.version, entry.creation_id, entry.session_id) == (1, broker_epoch, session_id)
        assert decode_registration(1, entry.data) == BROKER
        assert epochs.seen == [broker_epoch] == [registrar.broker_epoch]
        await registrar.update(replace(BROKER, rack="r"))
        entry = await store.read(PATH)
        assert entry is not None
        assert (entry.version, entry.creation_id) == (2, broker_epoch)
        await registrar.stop()

    run_with_stores(1, scenario)


@pytest.mark.parametrize("corrupt", [b"?", b"{}", None])
def test_a_registration_that_was_overwritten_is_written_again(
    corrupt: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The registration belongs to this node, so the registrar writes it again. The broker epoch stays."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        epochs, written = Epochs(), asyncio.Event()
        registrar = BrokerRegistrar(store, epochs)
        await store.open_session()
        await registrar.register(BROKER)
        await other.commit([Write(PATH, corrupt)])
        other.watch(PATH, written.set)
        while (entry := await other.read(PATH)) is None or entry.data == corrupt:
            await written.wait()
            written.clear()
        assert decode_registration(1, entry.data) == BROKER
        assert epochs.seen == [registrar.broker_epoch]
        await registrar.stop()

    run_with_stores(2, scenario)
    assert f"{PATH} " in caplog.text


def test_a_lost_session_and_a_removed_registration_are_made_good() -> None:
    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        epochs = Epochs()
        registrar = BrokerRegistrar(store, epochs)
        session_id = await store.open_session()
        await registrar.register(BROKER)
        first = await epochs.next()
        assert registrar.missing_reasons() == []
        shared.expire(session_id)
        assert registrar.missing_reasons() == ["the node has no session with the metadata store"]
        second = await epochs.next()
        assert second > first
        assert registrar.missing_reasons() == []
        await other.commit([Delete(PATH)])
        third = await epochs.next()
        assert third > second
        entry = await other.read(PATH)
        assert entry is not None
        assert entry.creation_id == registrar.broker_epoch == third
        await registrar.stop()

    run_with_stores(2, scenario)


def test_a_session_that_ends_before_the_registration_is_renewed() -> None:
    """The logs of a node are loaded between the two, which may take long on a machine that pauses."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        epochs = Epochs()
        registrar = BrokerRegistrar(store, epochs)
        shared.expire(await store.open_session())
        broker_epoch = await registrar.register(BROKER)
        assert registrar.missing_reasons() == []
        session_id = store.session_id
        await other.commit([Write(PATH, b"?")])
        await until_true(lambda: decode_or_none(shared) == BROKER)
        assert (registrar.broker_epoch, store.session_id) == (broker_epoch, session_id), "the new session stays"
        await registrar.stop()

    def decode_or_none(shared: SharedEntries) -> object:
        data = shared.entries[PATH].data
        return None if data == b"?" else decode_registration(1, data)

    run_with_stores(2, scenario)


def test_a_registration_that_outlives_a_failed_call_is_one() -> None:
    """The session goes on although a call reported its loss: no later change of the entry corrects that."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        failed = asyncio.Event()
        registrar = BrokerRegistrar(store, Epochs(), renews_session=False)
        await store.open_session()
        broker_epoch = await registrar.register(BROKER)
        read = store.read

        async def interrupted(path: str) -> Entry | None:
            if not failed.is_set():
                failed.set()
                raise SessionLost("for this call")
            return await read(path)

        store.read = interrupted  # type: ignore[method-assign]
        entry = await other.read(PATH)
        assert entry is not None
        await other.commit([Write(PATH, entry.data)])
        await failed.wait()
        await until_true(lambda: registrar.missing_reasons() != [])
        await until_true(lambda: registrar.missing_reasons() == [])
        assert registrar.broker_epoch == broker_epoch
        await registrar.stop()

    run_with_stores(2, scenario)


def test_a_registration_that_never_lasts_is_made_again_more_and_more_slowly() -> None:
    """A controller that cannot reach this node removes each new registration: the registrar retries with a backoff."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore, other: MemoryMetadataStore) -> None:
        times: list[float] = []
        made = asyncio.Semaphore(0)

        def on_epoch(broker_epoch: int) -> None:
            times.append(asyncio.get_running_loop().time())
            made.release()

        registrar = BrokerRegistrar(store, on_epoch)
        await store.open_session()
        await registrar.register(BROKER)
        for _ in range(4):
            await made.acquire()
            await other.commit([Delete(PATH)])
        await made.acquire()
        first, *later = [after - before for before, after in pairwise(times)]
        assert first < 0.1
        assert [round(each, 1) >= least for each, least in zip(later, (0.1, 0.2, 0.4), strict=True)] == [True] * 3
        await registrar.stop()

    run_with_stores(2, scenario)


def test_the_own_old_session_is_waited_for() -> None:
    async def scenario(shared: SharedEntries, old: MemoryMetadataStore, new: MemoryMetadataStore) -> None:
        first = BrokerRegistrar(old, Epochs())
        session_id = await old.open_session()
        old_epoch = await first.register(BROKER)
        await first.stop()
        await new.open_session()
        second = BrokerRegistrar(new, Epochs())
        registering = asyncio.ensure_future(second.register(BROKER))
        await settle()
        assert not registering.done()
        shared.expire(session_id)
        assert await registering > old_epoch
        await second.stop()

    run_with_stores(2, scenario)


def test_an_id_in_use_is_rejected_in_the_end() -> None:
    async def scenario(shared: SharedEntries, one: MemoryMetadataStore, two: MemoryMetadataStore) -> None:
        await one.open_session()
        await two.open_session()
        registrar = BrokerRegistrar(one, Epochs())
        await registrar.register(BROKER)
        with pytest.raises(BrokerIdTaken, match=r"broker\.id"):
            await BrokerRegistrar(two, Epochs(), takeover_timeout_s=0.01).register(BROKER)
        await registrar.stop()

    run_with_stores(2, scenario)


@pytest.mark.spec("F15")
def test_two_entries_of_one_node_and_one_session() -> None:
    """A broker that is a dedicated controller too: one registrar renews the session, both entries are created again."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        as_broker, as_controller = Epochs(), Epochs()
        session_id = await store.open_session()
        registrar = BrokerRegistrar(store, as_broker)
        other = BrokerRegistrar(store, as_controller, path_of=controller_id_path, renews_session=False)
        await other.register(BROKER)
        await registrar.register(BROKER)
        before = [await as_broker.next(), await as_controller.next()]
        shared.expire(session_id)
        after = [await as_broker.next(), await as_controller.next()]
        assert all(new > old for new, old in zip(after, before, strict=True))
        entries = [await store.read(path) for path in (PATH, controller_id_path(1))]
        assert [entry and entry.creation_id for entry in entries] == after
        assert len({entry.session_id for entry in entries if entry is not None}) == 1
        await registrar.stop()
        await other.stop()

    run_with_stores(1, scenario)


@pytest.mark.spec("D3")
def test_a_process_that_registers_again_goes_on_with_its_directories() -> None:
    """The first registration has the directories as they were found; later ones state that nothing was lost since."""

    async def scenario(shared: SharedEntries, store: MemoryMetadataStore) -> None:
        async def registered() -> tuple[RegisteredLogDir, ...]:
            entry = await store.read(PATH)
            assert entry is not None
            return decode_registration(1, entry.data).log_dirs

        epochs = Epochs()
        registrar = BrokerRegistrar(store, epochs)
        session_id = await store.open_session()
        found = replace(BROKER, log_dirs=(RegisteredLogDir(b"a" * 16), RegisteredLogDir(b"b" * 16, 5)))
        await registrar.register(found)
        first = await epochs.next()
        assert await registered() == found.log_dirs
        shared.expire(session_id)
        await epochs.next()
        assert await registered() == (RegisteredLogDir(b"a" * 16, first), RegisteredLogDir(b"b" * 16, first))
        await registrar.update(found)
        assert await registered() == (RegisteredLogDir(b"a" * 16, first), RegisteredLogDir(b"b" * 16, first))
        await registrar.stop()

    run_with_stores(1, scenario)
