"""A cluster moves to forwarding in two rolling restarts (F17), on both stores: under idempotent produce, group
consumption and admin changes nothing is lost, and nothing fails for clients that retry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from signalbox.client import admin as own
from signalbox.client.admin_apis.config_admin import ConfigResource
from signalbox.common.inter_broker_protocol import INTER_BROKER_PROTOCOL_KEY
from signalbox.metadata import layout
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.config_resource import ConfigResourceType
from signalbox.protocol.messages.metadata import MetadataRequest
from signalbox.security import acl
from signalbox.security.acl_filter import AclFilter
from tests.system import provision
from tests.system.clusters import BROKERS
from tests.system.loaded import TOPIC, LoadedCluster, loaded_cluster, read_by_a_group
from tests.system.steady_admin import SHARED, Anywhere, LookedUp, SteadyAdmin
from tests.system.wire import dial
from tests.waiting import until

pytestmark = [pytest.mark.timeout(480), pytest.mark.slow, pytest.mark.spec("F17")]

BELOW = {
    INTER_BROKER_PROTOCOL_KEY: "3.3",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
KEYS = ("retention.ms", "max.message.bytes", "segment.ms")  # one for each client that makes changes
ABOVE = {INTER_BROKER_PROTOCOL_KEY: "3.9"}
_SESSION_S = 18.0  # Kafka's default: no session is to expire, however busy the machine is


@contextmanager
def changed_all_the_while(loaded: LoadedCluster) -> Iterator[Sequence[SteadyAdmin]]:
    bootstrap = loaded.cluster.bootstrap()
    admins = [
        SteadyAdmin("lookup", partial(LookedUp, bootstrap), TOPIC, KEYS[0], 600_000_000),
        SteadyAdmin("any", partial(Anywhere, bootstrap), TOPIC, KEYS[1], 1_048_588),
        SteadyAdmin("other", partial(Anywhere, bootstrap), TOPIC, KEYS[2], 600_000_000),
    ]
    for admin in admins:
        admin.start()
    try:
        yield admins
    finally:
        for admin in admins:
            admin.stop()


def wait_for_changes(admins: Sequence[SteadyAdmin], count: int = 3) -> None:
    """Waits until every client has made so many more changes."""
    goals = {admin.name: len(admin.made.principals) + count for admin in admins}
    for admin in admins:
        until(partial(admin.has_made, goals[admin.name]), f"{count} more changes of {admin.name}")


def shown_controllers(loaded: LoadedCluster, node_id: int, times: int = 1) -> set[int]:
    """The controller ids in `times` Metadata responses of a broker."""
    return {metadata(loaded, node_id).controller_id for _ in range(times)}


def metadata(loaded: LoadedCluster, node_id: int) -> Any:
    """The Metadata response of exactly this broker; a client would send the request to any broker."""
    with dial(loaded.cluster, node_id) as wire:
        return wire.ask(ApiKey.METADATA, 12, MetadataRequest(topics=None))


def stored_by_brokers(loaded: LoadedCluster) -> list[str]:
    """The paths that brokers other than the controller stored after the controller's last commit."""
    entry = loaded.state.entry(layout.SHARED_CHANGES)
    return [path for _, path in json.loads(entry.data)["changed"]] if entry is not None and entry.data else []


async def metadata_of(address: str) -> tuple[dict[str, str | None], set[str], set[str]]:
    """What one broker returns: the topic's own configs, the users, and the principals in the ACLs of the shared
    resource."""
    async with own.AdminClient.of(address) as admin:
        configs = await admin.describe_configs(ConfigResource(ConfigResourceType.TOPIC, TOPIC))
        users = await admin.describe_users()
        pattern = acl.PatternType.LITERAL
        bindings = await admin.describe_acls(AclFilter(acl.ResourceType.TOPIC, SHARED, pattern))
    return (
        {key: configs[key].value for key in KEYS},
        set(users),
        {binding.entry.principal for binding in bindings},
    )


def assert_nothing_is_lost(loaded: LoadedCluster, admins: Sequence[SteadyAdmin]) -> None:
    """All changes are in the store at once, and on every broker as soon as it has observed them."""
    values = {admin.key: admin.made.value for admin in admins}
    assert loaded.state.configs(f"topics/{TOPIC}").items() >= values.items()
    users = {name for admin in admins for name in admin.made.users}
    principals = {name for admin in admins for name in admin.made.principals}
    topics = {name for admin in admins for name in admin.made.topics}

    def tells_all(address: str) -> bool:
        return asyncio.run(metadata_of(address)) == (values, users, principals)

    def has_topics(node_id: int) -> bool:
        return topics <= {each.name for each in metadata(loaded, node_id).topics}

    for node_id, broker in loaded.cluster.brokers.items():
        address = broker.address("CLIENT")
        until(partial(tells_all, address), f"all of it on {address}")
        until(partial(has_topics, node_id), f"topics on {address}")
    for name in topics:
        assert list(loaded.state.leaders(name)) == [0]


@pytest.mark.spec("F1", "F2", "F12")
@pytest.mark.parametrize("store", ["sqlite", "zookeeper"])
def test_two_bounces_to_forwarding(tmp_path: Path, store: str) -> None:
    if store == "zookeeper":
        provision.zookeeper()
    per_broker = dict.fromkeys(BROKERS, BELOW)
    with loaded_cluster(tmp_path / "cluster", per_broker, store, session_s=_SESSION_S) as loaded:
        controller = loaded.controller()
        assert [shown_controllers(loaded, node_id) for node_id in BROKERS] == [{controller}] * 3
        with changed_all_the_while(loaded) as admins, loaded.load(), read_by_a_group(loaded):
            wait_for_changes(admins)
            # First bounce: new software, for example. All brokers stay below the gate.
            for node_id in BROKERS:
                loaded.roll({node_id: {}})
                wait_for_changes(admins)
            # Second bounce, broker by broker: in between some brokers forward and some do not, and either kind may be
            # the controller.
            for node_id in BROKERS:
                loaded.roll({node_id: ABOVE})
                wait_for_changes(admins)
        assert_nothing_is_lost(loaded, admins)
        for node_id in BROKERS:
            assert len(shown_controllers(loaded, node_id, times=30)) > 1, "any broker will do"
        # From here on only the controller writes, whichever broker gets the request.
        assert stored_by_brokers(loaded) == []
        with changed_all_the_while(loaded) as again:
            wait_for_changes(again, 10)
            assert stored_by_brokers(loaded) == []
        assert_nothing_is_lost(loaded, _together(admins, again))
        assert loaded.longest_silence_s() < 10
        loaded.check_records()


def _together(before: Sequence[SteadyAdmin], after: Sequence[SteadyAdmin]) -> Sequence[SteadyAdmin]:
    """Both runs of each client as one: the later value counts."""
    for first, second in zip(before, after, strict=True):
        second.made.topics += first.made.topics
        second.made.users += first.made.users
        second.made.principals += first.made.principals
    return [*after]
