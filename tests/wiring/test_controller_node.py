"""A dedicated controller's life: ready when it takes part in elections, visible only to brokers, no resources left
after its stop (F15)."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import pytest

from signalbox.broker.routes import CONTROLLER_ROUTES, ROUTES
from signalbox.client.connection.connection import connect
from signalbox.client.connection.node import Identity, parse_bootstrap_servers
from signalbox.client.failures import Misrouted
from signalbox.common.clock import SystemClock
from signalbox.common.config.properties_file import Properties
from signalbox.common.config.start_error import StartError
from signalbox.configuration.configuration import read_node_config
from signalbox.configuration.metadata_store import open_store
from signalbox.metadata.entries.feature_levels import encode_features
from signalbox.metadata.entries.registration import decode_registration
from signalbox.metadata.layout import (
    BROKER_IDS,
    CONTROLLER_EPOCH,
    CONTROLLER_IDS,
    FEATURE,
    STORE_INCARNATION,
    broker_id_path,
    controller_id_path,
    create_roots,
)
from signalbox.metadata.store.port import Create, Write
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.wiring.controller_node import ControllerNodeComponents, controller_node
from signalbox.wiring.node import Node
from tests.configuration.settings import OF_CONTROLLER
from tests.server.advertised.lined_cluster import read_page
from tests.wiring.test_node import tasks_left

pytestmark = pytest.mark.spec("F15")


def controller_in(folder: Path, **changes: str) -> Node[ControllerNodeComponents]:
    values = {
        **OF_CONTROLLER,
        "signalbox.metadata.store": f"sqlite:{folder / 'metadata.db'}",
        "log.dirs": "",
        "signalbox.audit.enable": "false",  # a stop waits for the audit trail, which nothing writes without a broker
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    config, faults = read_node_config(Properties("test", values))
    assert config is not None, faults
    return controller_node(config)


async def until_active(node: Node[ControllerNodeComponents]) -> None:
    """Waits until the controller is active: it is when its first metadata is applied, a moment after its claim is
    visible."""
    assert await node.components.cache.wait_until(lambda image: image.controller_id == 101, 10)
    async with asyncio.timeout(60):
        while not node.components.controller.is_active:  # noqa: ASYNC110
            await asyncio.sleep(0)


def test_start_and_stop_release_all_resources(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = controller_in(tmp_path, signalbox__metrics__http__port="0", signalbox__audit__enable="true")
        await node.start()
        description, components = node.describe(), node.components
        assert (description["node_id"], set(description["listeners"])) == (101, {"CONTROLLER"})
        assert description["metrics"].startswith("http://127.0.0.1:")
        await until_active(node)
        assert components.cache.image.controller_id == 101
        store = components.registrar._store
        entry = await store.read(controller_id_path(101))
        assert entry is not None
        assert entry.creation_id == description["broker_epoch"]
        registration = decode_registration(101, entry.data)
        endpoint = registration.privileged_endpoint("REPLICATION")
        assert endpoint is not None
        assert f"{endpoint.host}:{endpoint.port}" == description["listeners"]["CONTROLLER"]
        assert await store.children(BROKER_IDS) == []
        await node.stop()
        assert await tasks_left() == set()

    asyncio.run(scenario())
    assert not [*tmp_path.rglob("meta.properties")], "a controller has no log directories"


_SASL = {
    "listener__security__protocol__map": OF_CONTROLLER["listener.security.protocol.map"].replace(
        "CONTROLLER:PLAINTEXT", "CONTROLLER:SASL_PLAINTEXT"
    ),
    "sasl__enabled__mechanisms": "PLAIN",
    "sasl__mechanism__controller__protocol": "PLAIN",
    "listener__name__controller__plain__sasl__jaas__config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required"
        ' username="node" password="node-secret" user_node="node-secret";'
    ),
}


@pytest.mark.spec("R2")
@pytest.mark.parametrize("changes", [{}, _SASL])
def test_its_listener_compares_the_identity_with_its_own(tmp_path: Path, changes: dict[str, str]) -> None:
    """With SASL a wrong identity is rejected before the login, which the right one completes."""

    async def scenario() -> None:
        node = controller_in(tmp_path, **changes)
        await node.start()
        (address,) = parse_bootstrap_servers(node.describe()["listeners"]["CONTROLLER"])
        own = node.components.cluster_id
        settings = node.components.context.security.inter_broker
        security = node.components.context.security.peers.of(node.components.server.table.controller_endpoints()[0])
        assert (security.sasl is not None) == bool(changes)
        settings = settings.secured(security)
        for wrong in (Identity(own, 102), Identity("another", 101)):
            with pytest.raises(Misrouted):
                await connect(address, settings, wrong)
        connection = await connect(address, settings, Identity(own, 101))
        assert connection.verified
        connection.close("the test is over")
        await node.stop()

    asyncio.run(scenario())


@pytest.mark.spec("R9")
def test_its_pages_say_that_it_is_ready_and_alive(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = controller_in(tmp_path, signalbox__metrics__http__port="0")
        await node.start()
        url = node.describe()["metrics"]
        assert await asyncio.to_thread(read_page, url, "ready") == (200, "ready\n")
        status, text = await asyncio.to_thread(read_page, url, "health")
        assert (status, json.loads(text)["node_id"], json.loads(text)["advertised_addresses"]) == (200, 101, [])
        await node.stop()

    asyncio.run(scenario())


def test_without_brokers_nothing_can_be_placed(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = controller_in(tmp_path)
        await node.start()
        controller = node.components.controller
        await until_active(node)
        topic = CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
        answer = await controller.handle(ApiKey.CREATE_TOPICS, CreateTopicsRequest(topics=[topic], timeout_ms=1000))
        assert [result.error_code for result in answer.topics] == [38]  # type: ignore[attr-defined]
        await node.stop()

    asyncio.run(scenario())


def test_a_node_that_lacks_a_finalized_feature_does_not_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteMetadataStore(tmp_path / "metadata.db", 6000, SystemClock())
        await store.open_session()
        await store.commit([Create(FEATURE, encode_features({"signalbox.version": 2}))])
        node = controller_in(tmp_path)
        with pytest.raises(StartError, match=r"signalbox\.version is finalized at 2 and supported from 1 to 1"):
            await node.start()
        await node.stop(controlled=False)
        assert await store.children(CONTROLLER_IDS) == []
        await store.close()

    asyncio.run(scenario())


def test_a_running_node_that_lacks_a_finalized_feature_stops(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = controller_in(tmp_path)
        await node.start()
        await until_active(node)
        store = SqliteMetadataStore(tmp_path / "metadata.db", 6000, SystemClock())
        await store.commit([Write(FEATURE, encode_features({"later": 3}))])
        assert "later is finalized at 3 and not supported" in await asyncio.wait_for(node.failed(), 60)
        await store.close()
        await node.stop(controlled=False)

    asyncio.run(scenario())


def test_the_id_of_a_broker_is_rejected(tmp_path: Path) -> None:
    async def scenario() -> None:
        store = SqliteMetadataStore(tmp_path / "metadata.db", 6000, SystemClock())
        await store.open_session()
        await create_roots(store)
        await store.commit([Create(broker_id_path(101), of_session=True)])
        node = controller_in(tmp_path, broker__session__timeout__ms="2000")
        with pytest.raises(StartError, match="a broker is registered with it"):
            await node.start()
        await node.stop(controlled=False)
        await store.close()
        assert await tasks_left() == set()

    asyncio.run(scenario())


def test_it_has_the_handlers_of_the_controllers_apis_and_no_others(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = controller_in(tmp_path)
        await node.start()
        router = node.components.router
        served = {row.api_key for row in ROUTES if router.route(row.api_key) is not None}
        await node.stop()
        assert served == {row.api_key for row in CONTROLLER_ROUTES}
        assert {ApiKey.ENVELOPE, ApiKey.ALTER_PARTITION, ApiKey.CREATE_TOPICS} < served
        assert all(API_TABLE[key].forwardable or API_TABLE[key].controller for key in served)
        assert not served & {ApiKey.PRODUCE, ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER, ApiKey.LEADER_AND_ISR}

    asyncio.run(scenario())


@pytest.mark.spec("M3")
def test_a_running_controller_stops_when_an_older_store_replaces_its_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = controller_in(tmp_path)
        await node.start()
        await until_active(node)
        store = await open_store(node.config.values, SystemClock())
        entry = await store.read(STORE_INCARNATION)
        epoch = await store.read(CONTROLLER_EPOCH)
        assert entry is not None
        assert entry.data is not None
        assert epoch is not None
        older = re.sub(rb'"generation":\d+', b'"generation":0', entry.data)
        assert older != entry.data
        await store.commit([Write(STORE_INCARNATION, older), Write(CONTROLLER_EPOCH, epoch.data)])
        async with asyncio.timeout(30):
            assert "is an older copy" in await node.failed()
        await store.close()
        await node.stop(controlled=False)
        assert await tasks_left() == set()

    asyncio.run(scenario())
