"""A node's life: ready when it can serve; no resources are left after its stop, nor after a failed start."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from greenlet import getcurrent

from signalbox.client.admin import AdminClient
from signalbox.client.admin_apis.topic_admin import NewTopic
from signalbox.common.clock import SystemClock
from signalbox.common.config.properties_file import Properties
from signalbox.common.config.start_error import StartError
from signalbox.common.cooperative_task import CooperativeTask, yield_if_due
from signalbox.common.endpoint import Endpoint, SecurityProtocol
from signalbox.configuration.configuration import read_node_config
from signalbox.configuration.security_config import ConfigRejected
from signalbox.metadata.entries.registration import BrokerRegistration
from signalbox.metadata.layout import broker_id_path, create_roots
from signalbox.metadata.store.port import Create
from signalbox.metadata.store.sqlite import SqliteMetadataStore
from signalbox.protocol.error_table import KafkaError
from signalbox.testing.cluster import Cluster
from signalbox.wiring.broker_node import broker_node
from signalbox.wiring.broker_node_components import BrokerNodeComponents
from signalbox.wiring.node import Node
from tests.configuration.settings import VALUES


def node_in(folder: Path, **changes: str) -> Node[BrokerNodeComponents]:
    values = {
        **VALUES,
        "signalbox.metadata.store": f"sqlite:{folder / 'metadata.db'}",
        "log.dirs": str(folder / "data"),
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    config, faults = read_node_config(Properties("test", values))
    assert config is not None, faults
    return broker_node(config)


async def tasks_left() -> set[str]:
    """Names of other tasks that are left after some iterations of the event loop."""
    for _ in range(20):
        await asyncio.sleep(0)
    return {str(task.get_coro()) for task in asyncio.all_tasks() if task is not asyncio.current_task()}


def test_start_and_stop_release_all_resources(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = node_in(
            tmp_path, offsets__topic__replication__factor="1", signalbox__audit__topic__replication__factor="1"
        )
        await node.start()
        description = node.describe()
        assert (description["node_id"], len(description["cluster_id"]), set(description["listeners"])) == (
            1,
            22,
            {"CLIENT", "REPLICATION", "CONTROL"},
        )
        assert not any(address.endswith(":0") for address in description["listeners"].values())
        await node.stop(controlled=True)
        assert await tasks_left() == set()

    asyncio.run(scenario())


def test_commits_of_the_controller_do_not_wait_for_the_tasks_of_clients(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = node_in(tmp_path)
        await node.start()
        store, scheduler = node.components.context.store, node.components.context.scheduler
        rounds: list[int] = []

        def use_slice() -> None:
            here = getcurrent()
            assert isinstance(here, CooperativeTask)
            while time.monotonic() < here.deadline:
                pass
            yield_if_due()

        def client_task() -> None:
            while not rounds:
                use_slice()

        def commit() -> None:
            for _ in range(10):
                use_slice()

        for _ in range(20):
            scheduler.run(client_task)
        before = scheduler.slices
        await store._scheduler.result_of(commit)  # type: ignore[attr-defined]
        rounds.append(scheduler.slices - before)
        assert rounds[0] < 20, "ten slices took about ten rounds, not ten slices of each client"
        await node.stop(controlled=False)

    asyncio.run(scenario())


def test_a_component_that_cannot_stop_keeps_no_other_from_stopping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def failing() -> None:
        raise OSError("cannot stop")

    async def scenario() -> None:
        node = node_in(tmp_path)
        await node.start()
        monkeypatch.setattr(node.components.store_guard, "_look", failing)
        with pytest.raises(OSError, match="cannot stop"):
            await node.stop(controlled=True)
        assert await tasks_left() == set()
        again = node_in(tmp_path)
        await again.start()  # the log directories are unlocked, the id is free
        assert [each.previous_broker_epoch for each in again.components.data.logs.directories] == [
            node.components.epochs.broker_epoch
        ], "a clean shutdown was recorded"
        await again.stop(controlled=False)

    asyncio.run(scenario())


def test_components_exist_only_after_the_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = node_in(tmp_path)
        with pytest.raises(RuntimeError, match="has not started"):
            _ = node.components
        await node.stop()  # a stop before any start is safe

    asyncio.run(scenario())


@pytest.mark.parametrize("trouble", ["log directory", "port", "authorizer"])
def test_a_failed_start_releases_its_resources(tmp_path: Path, trouble: str) -> None:
    async def scenario() -> None:
        changes: dict[str, str] = {}
        taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        if trouble == "log directory":
            (tmp_path / "data").write_text("a file")
        elif trouble == "port":
            changes["listeners"] = VALUES["listeners"].replace("CLIENT://127.0.0.1:0", f"CLIENT://127.0.0.1:{port}")
        else:
            changes["authorizer__class__name"] = "no.such.Class"
        node = node_in(tmp_path, **changes)
        with pytest.raises((OSError, RuntimeError, KafkaError)) as failed:
            await node.start()
        assert isinstance(failed.value, ConfigRejected) == (trouble == "authorizer")
        await node.stop(controlled=False)
        taken.close()
        await taken.wait_closed()
        assert await tasks_left() == set()

    asyncio.run(scenario())


@pytest.mark.parametrize("trouble", ["metrics port", "listener's port"])
def test_a_broker_whose_ports_are_in_use_is_never_registered(tmp_path: Path, trouble: str) -> None:
    async def scenario() -> None:
        taken = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        port = taken.sockets[0].getsockname()[1]
        listeners = VALUES["listeners"].replace("CLIENT://127.0.0.1:0", f"CLIENT://127.0.0.1:{port}")
        changes = (
            {"signalbox__metrics__http__port": str(port)} if trouble == "metrics port" else {"listeners": listeners}
        )
        node = node_in(tmp_path, **changes)
        with pytest.raises(StartError) as rejected:
            await node.start()
        (fault,) = rejected.value.faults
        assert fault.key == ("signalbox.metrics.http.port" if trouble == "metrics port" else "listeners")
        assert node.components.registrar.broker_epoch == -1
        await node.stop(controlled=False)
        taken.close()
        await taken.wait_closed()
        assert await tasks_left() == set()

    asyncio.run(scenario())


def test_a_broker_that_advertises_anothers_address_is_never_registered(tmp_path: Path) -> None:
    async def scenario() -> None:
        other = SqliteMetadataStore(tmp_path / "metadata.db", 6_000, SystemClock())
        await other.open_session()
        await create_roots(other)
        endpoint = Endpoint("CLIENT", "kafka", 9092, SecurityProtocol.PLAINTEXT)
        registration = BrokerRegistration(broker_id=2, endpoints=(endpoint,))
        await other.commit([Create(broker_id_path(2), registration.encode())])
        node = node_in(tmp_path, advertised__listeners="CLIENT://kafka:9092,REPLICATION://kafka:1,CONTROL://kafka:2")
        with pytest.raises(StartError) as rejected:
            await node.start()
        assert [(fault.key, fault.entry) for fault in rejected.value.faults] == [
            ("advertised.listeners", "CLIENT://kafka:9092")
        ]
        assert node.components.registrar.broker_epoch == -1
        await node.stop(controlled=False)
        await other.close()
        assert await tasks_left() == set()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("sqlite:/proc/m.db", "/proc/m.db-peers: "),
        ("sqlite:/", "has an empty name"),
        ("sqlite:{folder}/text", "{folder}/text is not a SQLite file"),
        ("sqlite:{folder}/text/m.db", "{folder}/text: File exists"),
    ],
)
def test_a_store_that_cannot_be_is_rejected_with_its_key(tmp_path: Path, setting: str, problem: str) -> None:
    (tmp_path / "text").write_text("a text, no database")
    value = setting.format(folder=tmp_path)

    async def scenario() -> None:
        node = node_in(tmp_path, signalbox__metadata__store=value)
        with pytest.raises(StartError) as rejected:
            await node.start()
        (fault,) = rejected.value.faults
        assert (fault.key, fault.entry) == ("signalbox.metadata.store", value)
        assert problem.format(folder=tmp_path) in fault.problem
        await node.stop(controlled=False)
        assert await tasks_left() == set()

    asyncio.run(scenario())


def test_a_fatal_failure_has_a_reason(tmp_path: Path) -> None:
    async def scenario() -> None:
        node = node_in(tmp_path)
        node._fail("the disk is gone")
        node._fail("and something else")
        assert await node.failed() == "the disk is gone"

    asyncio.run(scenario())


def test_the_cluster_keeps_its_id_and_its_topics(tmp_path: Path) -> None:
    seen = []
    for attempt in range(2):
        with Cluster(brokers=1, folder=tmp_path) as cluster:

            async def topics(bootstrap: str = cluster.bootstrap_servers, first: bool = attempt == 0) -> list[str]:
                async with AdminClient.of(bootstrap) as admin:
                    if first:
                        await admin.create_topics([NewTopic(name="kept", num_partitions=1, replication_factor=1)])
                    return list(await admin.list_topics())

            seen.append((cluster.nodes[1].components.cluster_id, "kept" in asyncio.run(topics())))
    assert seen[0] == seen[1]
    assert seen[0][1]
