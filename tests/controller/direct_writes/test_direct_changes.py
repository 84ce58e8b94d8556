"""The changes that brokers below the gate store read what they need, and no more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from signalbox.controller.direct_writes.direct_changes import DIRECT_CHANGES
from signalbox.controller.dispatch import DECISIONS
from signalbox.metadata.entries.acl_entries import ACL_FOLDERS
from signalbox.metadata.layout import create_roots
from signalbox.protocol.api_table import API_TABLE, ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_client_quotas import AlterClientQuotasRequest
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from tests.controller.cluster import Scenario, create, start_three, stop
from tests.controller.contexts import make_context
from tests.controller.direct_writes.changes import (
    BROKER,
    CLIENT_METRICS,
    GROUP,
    TOPIC,
    allowing,
    codes,
    direct_metadata_writer,
    knows,
    quota,
    setting,
)

pytestmark = pytest.mark.spec("F17")


def test_every_row_is_an_api_that_the_controller_decides_and_that_is_forwarded_above() -> None:
    assert set(DIRECT_CHANGES) <= set(DECISIONS)
    assert all(API_TABLE[key].forwardable for key in DIRECT_CHANGES)
    # Only the controller creates topics, except those that brokers create automatically.
    assert [key for key, row in DIRECT_CHANGES.items() if not row.for_clients] == [ApiKey.CREATE_TOPICS]


@pytest.mark.parametrize(
    ("kind", "entity", "first", "second"),
    [
        (TOPIC, "topics/a.b", {"retention.ms": "5"}, {"segment.ms": "6"}),
        (CLIENT_METRICS, "client-metrics/a.b", {"interval.ms": "5000"}, {"match": "client_id=x"}),
        (GROUP, "groups/a.b", {"consumer.session.timeout.ms": "50000"}, {"consumer.heartbeat.interval.ms": "6000"}),
        (BROKER, "brokers/2", {"log.retention.ms": "5"}, {"log.segment.bytes": "1048576"}),
    ],
)
def test_a_second_change_keeps_the_first(
    run: Callable[[Scenario], None], kind: int, entity: str, first: dict[str, str], second: dict[str, str]
) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller, own = nodes[0], direct_metadata_writer(nodes[1])
        assert await create(controller, "a.b") == [Error.NONE]
        for values in (first, second):
            request = setting(kind, entity.partition("/")[2], **{k.replace(".", "__"): v for k, v in values.items()})
            assert codes(await own.handle(ApiKey.INCREMENTAL_ALTER_CONFIGS, request)) == [Error.NONE]
        await controller.until(
            lambda: (controller.controller.context or make_context(1)).configs.get(entity) == first | second
        )
        await stop(nodes)

    run(scenario)


def test_a_change_of_a_user_keeps_the_quotas_of_its_client_ids(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller, own = nodes[0], direct_metadata_writer(nodes[1])
        made = AlterClientQuotasRequest
        entity = [
            made.EntityData(entity_type="user", entity_name="alice"),
            made.EntityData(entity_type="client-id", entity_name="app"),
        ]
        pair = made(entries=[made.EntryData(entity=entity, ops=[made.OpData(key="producer_byte_rate", value=7.0)])])
        assert codes(await own.handle(ApiKey.ALTER_CLIENT_QUOTAS, pair)) == [Error.NONE]
        users = AlterUserScramCredentialsRequest
        upsertion = users.ScramCredentialUpsertion(
            name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"p" * 32
        )
        for request in (
            users(upsertions=[upsertion]),
            users(deletions=[users.ScramCredentialDeletion(name="alice", mechanism=1)]),
        ):
            assert codes(await own.handle(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, request)) == [Error.NONE]
        await controller.until(knows(controller, "users/alice/clients/app", producer_byte_rate="7"))
        await stop(nodes)

    run(scenario)


class CountedRounds:
    """A store that counts the steps of calls that follow one another; calls at the same time are one step."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.rounds = 0

    def __getattr__(self, name: str) -> Any:
        call = getattr(self._store, name)
        if name not in ("read", "read_tree", "children", "commit"):
            return call

        async def counted(*arguments: Any) -> Any:
            number = self.rounds + 1
            result = await call(*arguments)
            self.rounds = max(self.rounds, number)
            return result

        return counted


@pytest.mark.parametrize(
    ("key", "request_body"),
    [
        (ApiKey.INCREMENTAL_ALTER_CONFIGS, setting(TOPIC, "t", retention__ms="5")),
        (ApiKey.CREATE_ACLS, allowing("User:a")),
        (ApiKey.ALTER_CLIENT_QUOTAS, quota("alice", 7.0)),
    ],
)
def test_a_change_takes_three_steps_of_the_store(
    run: Callable[[Scenario], None], key: ApiKey, request_body: Any
) -> None:
    """The change log, the entries, the commit: with each step more, other writers are first more often, and while they
    write all the time a change of this broker would not be stored for a minute."""

    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        await create_roots(nodes[0].store, ACL_FOLDERS)
        assert await create(nodes[0], "t") == [Error.NONE]
        counted: Any = CountedRounds(nodes[1].store)
        nodes[1].store = counted
        assert codes(await direct_metadata_writer(nodes[1]).handle(key, request_body)) == [Error.NONE]
        assert counted.rounds == 3
        nodes[1].store = counted._store
        await stop(nodes)

    run(scenario)


def test_an_acl_that_no_store_can_hold_does_not_stop_the_others(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        await create_roots(nodes[0].store, ACL_FOLDERS)
        request = allowing("User:a", "no principal")
        request.creations += allowing("User:a", name="a/b\x00").creations
        answer: Any = await direct_metadata_writer(nodes[1]).handle(ApiKey.CREATE_ACLS, request)
        assert [bool(each.error_code) for each in answer.results] == [False, True, True]
        await stop(nodes)

    run(scenario)
