"""One corrupt entry of any kind does not prevent the election of a controller (SPEC M3): the next controller logs its
path, works with all other entries, and does not overwrite it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from signalbox.metadata.entries.acl_entries import ACL_FOLDERS
from signalbox.metadata.entries.delegation_token import TOKEN_FOLDERS
from signalbox.metadata.layout import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    create_roots,
    delete_topic_path,
    partition_state_path,
    topic_path,
)
from signalbox.metadata.store.port import Create, MetadataStore, Write, parent_of
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.delete_topics import DeleteTopicsRequest
from tests.controller.cluster import ControllerNode, Scenario, create, start_node, stop

pytestmark = pytest.mark.spec("M3")


class Bad(NamedTuple):
    """`logged`: the log names the entry; entries that are never read are not named. `kept`: the entry is unchanged."""

    path: str
    data: bytes | None = b"?"
    logged: bool = True
    kept: bool = True


HURT = topic_path("hurt")
PORTLESS = (
    b'{"version":5,"endpoints":["A://h:99999999999"],"listener_security_protocol_map":{"A":"PLAINTEXT"},"jmx_port":-1}'
)
KINDS = [
    Bad(HURT),
    Bad(HURT, None),
    Bad(HURT, b'{"version":3,"partitions":{"0":[5000000000]}}'),
    Bad(topic_path("no topic"), b'{"version":3,"partitions":{"0":[1]}}'),
    Bad(partition_state_path("hurt", 1)),
    Bad(partition_state_path("hurt", 1), None),
    Bad(f"{HURT}/partitions/x", logged=False),
    Bad(f"{HURT}/partitions/0/state/x", logged=False),
    Bad(CONTROLLER, kept=False),
    Bad(CONTROLLER_EPOCH, kept=False),
    Bad("/brokers/ids/7"),
    Bad("/brokers/ids/unknown"),
    Bad("/brokers/ids/99999999999", b"{}"),
    Bad("/brokers/ids/8", PORTLESS),
    Bad("/brokers/seqid", logged=False),
    Bad("/signalbox_controllers/9"),
    Bad("/signalbox_controllers/unknown", logged=False),
    Bad("/config/topics/hurt"),
    Bad("/config/brokers/1"),
    Bad("/config/brokers/<default>"),
    Bad("/config/users/zoe"),
    Bad("/config/users/zoe/clients/app"),
    Bad("/config/clients/app"),
    Bad("/config/ips/127.0.0.1"),
    Bad("/config/client-metrics/all"),
    Bad("/config/groups/all"),
    Bad("/config/changes/config_change_0000000009", logged=False),
    Bad("/admin/delete_topics/gone/x", logged=False, kept=False),
    Bad("/admin/reassign_partitions", logged=False),  # Kafka before KIP-455: these two are not read
    Bad("/admin/preferred_replica_election", logged=False),
    Bad("/isr_change_notification/isr_change_0000000001", logged=False),  # Kafka before KIP-497: not read
    Bad("/log_dir_event_notification/log_dir_event_0000000001", kept=False),
    Bad("/delegation_token/tokens/torn"),
    Bad("/delegation_token/token_changes/token_change_0000000001", logged=False),
    Bad("/kafka-acl/Topic/hurt"),
    Bad("/kafka-acl-extended/prefixed/Group/hurt"),
    Bad("/kafka-acl-changes/acl_changes_0000000001", logged=False),
    Bad("/feature"),
    Bad("/latest_producer_id_block"),
    Bad("/signalbox_forwarded/torn"),
    Bad("/signalbox_forwarded/1-2-3"),
    Bad("/signalbox_shared_changes", kept=False),  # a log of changes, rewritten with each change
]


@pytest.mark.parametrize("bad", KINDS, ids=lambda bad: f"{bad.path}={bad.data!r:.20}")
def test_the_next_controller_works(bad: Bad, run: Callable[[Scenario], None], caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        first = await start_node(1, participant())
        await first.until_active()
        for folders in (ACL_FOLDERS, TOKEN_FOLDERS):
            await create_roots(first.store, folders)
        assert await create(first, "hurt", "well", factor=1) == [Error.NONE] * 2
        await stop([first])
        await first.store.close()
        await write_corrupt_entry(participant(), bad)

        caplog.clear()
        second = await start_node(1, participant())
        await second.until_active()
        assert await create(second, "more", factor=1) == [Error.NONE]
        assert (await delete(second, "well"))[0] is Error.NONE
        await second.until(lambda: "well" not in topics_known(second))
        entry = await second.store.read(bad.path)
        assert not bad.kept or (entry is not None and entry.data == bad.data)
        assert not bad.logged or bad.path in caplog.text
        assert "Traceback" not in caplog.text
        await stop([second])

    run(scenario)


def test_a_quarantined_topic_is_loaded_as_soon_as_its_entries_are_repaired(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        node = await start_node(1, participant())
        await node.until_active()
        assert await create(node, "hurt", factor=1) == [Error.NONE]
        held = {path: await node.store.read(path) for path in (HURT, partition_state_path("hurt", 1))}
        await stop([node])
        await node.store.close()
        for path in held:
            await write_corrupt_entry(participant(), Bad(path))

        node = await start_node(1, participant())
        await node.until_active()
        assert "hurt" not in topics_known(node)
        assert await create(node, "hurt", factor=1) == [Error.TOPIC_ALREADY_EXISTS]
        error, message = await delete(node, "hurt")
        assert error is Error.UNKNOWN_SERVER_ERROR
        assert HURT in message
        assert await node.store.read(delete_topic_path("hurt")) is None
        assert node.cache.image.topics["hurt"].partitions == {}

        for path, entry in held.items():
            assert entry is not None
            await node.store.commit([Write(path, entry.data)])
        await node.until(lambda: "hurt" in topics_known(node) and not corrupt_topics(node))
        await node.until(lambda: len(node.cache.image.topics["hurt"].partitions) == 2)
        assert (await delete(node, "hurt"))[0] is Error.NONE
        await stop([node])

    run(scenario)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/config/topics/hurt", b'{"version":1,"config":{"retention.ms":"1"}}'),
        ("/kafka-acl/Topic/hurt", b'{"version":1,"acls":[]}'),
        ("/feature", b'{"version":2,"status":1,"features":{}}'),
    ],
)
def test_a_mended_entry_of_another_kind_is_loaded_at_once(
    path: str, data: bytes, run: Callable[[Scenario], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store = participant()
        await create_roots(store)
        await create_roots(store, ACL_FOLDERS)
        await write_corrupt_entry(store, Bad(path))
        node = await start_node(1, participant())
        await node.until_active()
        assert quarantined(node) == {path}
        epoch = node.controller.context.controller_epoch if node.controller.context else -1
        await store.commit([Write(path, data)])
        await node.until(lambda: quarantined(node) == set())
        assert node.controller.context is not None
        assert node.controller.context.controller_epoch > epoch
        assert caplog.text.count(f"{path} holds no JSON") == 1
        await stop([node])
        await store.close()

    run(scenario)


async def write_corrupt_entry(store: MetadataStore, bad: Bad) -> None:
    """Writes the corrupt entry as another program would; creates missing parents."""
    missing, path = [], bad.path
    while await store.read(path) is None:
        missing.append(path)
        path = parent_of(path)
    for above in reversed(missing):
        await store.commit([Create(above)])
    await store.commit([Write(bad.path, bad.data)])


async def delete(node: ControllerNode, name: str) -> tuple[Error, str]:
    request = DeleteTopicsRequest(topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=5_000)
    response: Any = await node.controller.handle(ApiKey.DELETE_TOPICS, request)
    return Error.of(response.responses[0].error_code), response.responses[0].error_message


def topics_known(node: ControllerNode) -> set[str]:
    return set(node.controller.context.topics) if node.controller.context else set()


def corrupt_topics(node: ControllerNode) -> set[str]:
    return set(node.controller.context.corrupt_topics) if node.controller.context else {"?"}


def quarantined(node: ControllerNode) -> set[str]:
    return set(node.controller.context.corrupt_entries) if node.controller.context else {"?"}
