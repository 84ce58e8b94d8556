"""A mixed cluster: one broker supports fewer versions of some APIs, as a broker of an older release does. Every broker
lists the versions that it and the active controller have in common, before the first change and when the controller
changes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient

from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.api_versions import ApiVersionsRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.testing.process_cluster import ProcessCluster
from tests.system.clusters import BROKERS, QUICK, controller_id, has_another_controller
from tests.system.secured import create
from tests.system.wire import Closed, Wire, dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(240), pytest.mark.spec("F9")]

_OLD, _NEW = 2, (1, 3)
_CEILINGS = {ApiKey.CREATE_TOPICS: 5, ApiKey.DELETE_TOPICS: 3, ApiKey.ALTER_CLIENT_QUOTAS: 0}
_FULL = {ApiKey.CREATE_TOPICS: 7, ApiKey.DELETE_TOPICS: 6, ApiKey.ALTER_CLIENT_QUOTAS: 1}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    ceilings = "CreateTopics:5,DeleteTopics:3,AlterClientQuotas:0"
    with ProcessCluster(
        tmp_path_factory.mktemp("mixed"),
        overrides={**QUICK, "signalbox.audit.enable": "false", "controlled.shutdown.max.retries": "1"},
        per_broker={_OLD: {"signalbox.forwarded.api.versions.max": ceilings}},
    ) as cluster:
        yield cluster


def highest(wire: Wire) -> dict[ApiKey, int]:
    """The highest versions of the three APIs in an ApiVersions response."""
    asked = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    rows = wire.ask(ApiKey.API_VERSIONS, 4, asked).api_keys
    return {ApiKey(row.api_key): row.max_version for row in rows if row.api_key in _FULL}


def listed(cluster: ProcessCluster, node_id: int) -> dict[ApiKey, int]:
    with dial(cluster, node_id) as wire:
        return highest(wire)


def is_listed(cluster: ProcessCluster, node_id: int, expected: dict[ApiKey, int]) -> bool:
    return listed(cluster, node_id) == expected


def make_controller(cluster: ProcessCluster, wanted: tuple[int, ...]) -> int:
    """Restarts the active controller until one of these brokers is the controller."""
    while (current := until(lambda: max(controller_id(cluster), 0), "a controller")) not in wanted:
        cluster.stop_broker(current)
        until(partial(has_another_controller, cluster, current), "another controller")
        cluster.start_broker(current)
    return current


def create_topics(name: str) -> CreateTopicsRequest:
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return CreateTopicsRequest(topics=[topic], timeout_ms=5_000)


def test_each_broker_lists_the_versions_in_common_with_the_controller(mixed: ProcessCluster) -> None:
    """No request is forwarded here: the brokers ask the controller for its versions at once and after every change of
    controller."""
    for controllers in (_NEW, (_OLD,), _NEW):
        make_controller(mixed, controllers)
        for node_id in BROKERS:
            common = _CEILINGS if _OLD in (node_id, *controllers) else _FULL
            until(partial(is_listed, mixed, node_id, common), f"broker {node_id}'s list", 20)


def test_a_version_that_the_controller_lacks_closes_the_connection_and_clients_negotiate_again(
    mixed: ProcessCluster,
) -> None:
    make_controller(mixed, _NEW)
    asked = next(node for node in _NEW if node != controller_id(mixed))
    until(partial(is_listed, mixed, asked, _FULL), "the full list")
    with dial(mixed, asked) as early:
        assert highest(early) == _FULL
        make_controller(mixed, (_OLD,))
        with suppress(Closed):  # this broker may have been restarted for the election
            early.send(early.request(ApiKey.CREATE_TOPICS, 7, create_topics("too-new").encode(7)))
        assert early.closed()
    until(partial(is_listed, mixed, asked, _CEILINGS), "the common list")
    with dial(mixed, asked) as again:
        [created] = again.ask(
            ApiKey.CREATE_TOPICS, highest(again)[ApiKey.CREATE_TOPICS], create_topics("agreed")
        ).topics
        assert Error.of(created.error_code) is Error.NONE, created.error_message


def test_unmodified_clients_do_not_notice(mixed: ProcessCluster) -> None:
    for controllers in (_NEW, (_OLD,)):
        make_controller(mixed, controllers)
        for node_id in BROKERS:
            client = AdminClient({"bootstrap.servers": mixed.brokers[node_id].address("CLIENT"), "log_level": 0})
            create(client, f"by-{node_id}-at-{controllers[0]}")


def test_the_old_broker_takes_no_newer_version_itself(mixed: ProcessCluster) -> None:
    with dial(mixed, _OLD) as wire:
        wire.send(wire.request(ApiKey.CREATE_TOPICS, 6, create_topics("newer").encode(6)))
        assert wire.closed()
