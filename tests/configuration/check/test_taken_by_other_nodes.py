"""A node starts with no address and no id that another node has registered."""

from __future__ import annotations

import asyncio

import pytest

from signalbox.common.config.start_error import StartError
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.configuration.check.taken_by_other_nodes import reject_taken_addresses, reject_taken_id
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.layout import BROKER_IDS, broker_id_path, create_roots
from signalbox.metadata.store.memory import MemoryMetadataStore, SharedEntries
from signalbox.metadata.store.port import Create
from tests.configuration.settings import config_of, controller_config_of

NAMES = ("CLIENT", "REPLICATION", "CONTROL")


def advertised(*addresses: str) -> str:
    return ",".join(f"{name}://{address}" for name, address in zip(NAMES, addresses, strict=True))


async def rejected(entries: dict[str, bytes], addresses: str) -> list[tuple[str, str, str]]:
    store = MemoryMetadataStore(SharedEntries())
    await store.open_session()
    await create_roots(store)
    await store.commit([Create(f"{BROKER_IDS}/{name}", data) for name, data in entries.items()])
    try:
        await reject_taken_addresses(store, config_of(advertised__listeners=addresses))
    except StartError as error:
        return [(fault.key, fault.entry, fault.problem) for fault in error.faults]
    finally:
        await store.close()
    return []


def registered(broker_id: int, host: str, port: int) -> dict[str, bytes]:
    endpoint = Endpoint("CLIENT", host, port, SecurityProtocol.PLAINTEXT)
    return {str(broker_id): BrokerRegistration(broker_id=broker_id, endpoints=(endpoint,)).encode()}


@pytest.mark.spec("L3")
@pytest.mark.parametrize(
    ("entries", "addresses", "entry"),
    [
        (registered(2, "kafka", 9092), advertised("kafka:9092", "kafka:9093", "kafka:9094"), "CLIENT://kafka:9092"),
        (
            registered(2, "Kafka", 9093),
            advertised("kafka:9092", "kafka:9093", "kafka:9094"),
            "REPLICATION://kafka:9093",
        ),
        (registered(2, "kafka", 9095), advertised("kafka:9092", "kafka:9093", "kafka:9094"), None),
        (registered(2, "other", 9092), advertised("kafka:9092", "kafka:9093", "kafka:9094"), None),
        (registered(1, "kafka", 9092), advertised("kafka:9092", "kafka:9093", "kafka:9094"), None),
        (registered(2, "kafka", 0), advertised("kafka:0", "kafka:0", "kafka:0"), None),
        ({"2": b"no registration", "x": b"{}"}, advertised("kafka:9092", "kafka:9093", "kafka:9094"), None),
    ],
    ids=["the same", "in another case", "other port", "other host", "its own", "not known yet", "not readable"],
)
def test_addresses(entries: dict[str, bytes], addresses: str, entry: str | None) -> None:
    found = asyncio.run(rejected(entries, addresses))
    assert [fault[:2] for fault in found] == ([] if entry is None else [("advertised.listeners", entry)])
    assert all("broker 2 is registered with kafka:909" in problem for _, _, problem in found)


CONFIG = controller_config_of(broker__session__timeout__ms="100")
pytestmark = pytest.mark.spec("F15")


async def stores() -> tuple[MemoryMetadataStore, MemoryMetadataStore]:
    shared = SharedEntries()
    mine, theirs = MemoryMetadataStore(shared), MemoryMetadataStore(shared)
    for store in (mine, theirs):
        await store.open_session()
    await create_roots(mine)
    await theirs.commit([Create(broker_id_path(101), of_session=True)])
    return mine, theirs


def test_the_id_of_a_live_broker() -> None:
    async def scenario() -> None:
        mine, _ = await stores()
        with pytest.raises(StartError, match=r"node\.id \(101\): a broker is registered with it"):
            await reject_taken_id(mine, CONFIG, broker_id_path(101), "a broker")
        await reject_taken_id(mine, CONFIG, broker_id_path(102), "a broker")

    asyncio.run(scenario())


def test_the_id_of_a_broker_that_ends_meanwhile() -> None:
    async def scenario() -> None:
        mine, theirs = await stores()
        waiting = asyncio.ensure_future(reject_taken_id(mine, CONFIG, broker_id_path(101), "a broker"))
        await theirs.close()
        await waiting

    asyncio.run(scenario())
