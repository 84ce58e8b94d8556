"""Direct metadata writes of brokers below the gate, beside an active controller, over both stores (F17)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from signalbox.common.clock import ManualClock
from signalbox.controller.direct_writes.direct_metadata_writer import DirectMetadataWriter, Patience
from signalbox.controller.entities.token_control import TokenRequest
from signalbox.metadata.cache import MetadataCache
from signalbox.metadata.entries.acl_entries import ACL_FOLDERS
from signalbox.metadata.entries.delegation_token import TOKEN_FOLDERS
from signalbox.metadata.layout import CONTROLLER_EPOCH, SHARED_CHANGES, create_roots, topic_path
from signalbox.metadata.store.port import Write
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from signalbox.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.delete_acls import DeleteAclsRequest
from signalbox.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from signalbox.security.delegation_token import TokenSecret
from signalbox.security.principal import KafkaPrincipal
from tests.controller.cluster import Scenario, create, inputs, start_three, stop
from tests.controller.contexts import make_context
from tests.controller.direct_writes.changes import (
    BROKER,
    TOPIC,
    allowing,
    codes,
    direct_metadata_writer,
    knows,
    quota,
    setting,
)
from tests.metadata.store.worlds import fill, make_room

pytestmark = pytest.mark.spec("F17")


def test_the_controller_observes_changes_of_other_brokers_and_does_not_overwrite_them(
    run: Callable[[Scenario], None],
) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller, own = nodes[0], direct_metadata_writer(nodes[1])
        assert await create(controller, "t") == [Error.NONE]
        stored = await own.handle(ApiKey.INCREMENTAL_ALTER_CONFIGS, setting(TOPIC, "t", retention__ms="5"))
        assert codes(stored) == [Error.NONE]
        # Sent at once: the controller has not observed the change yet.
        request = setting(TOPIC, "t", segment__ms="6")
        assert codes(await controller.controller.handle(ApiKey.INCREMENTAL_ALTER_CONFIGS, request)) == [Error.NONE]
        assert knows(controller, "topics/t", retention__ms="5", segment__ms="6")()
        assert codes(await own.handle(ApiKey.ALTER_CLIENT_QUOTAS, quota("alice", 7.0))) == [Error.NONE]
        await controller.until(knows(controller, "users/alice", producer_byte_rate="7"))
        [notification] = [
            entry.data for entry in (await nodes[2].store.read_tree("/config/changes")).values() if entry.data
        ][-1:]
        assert notification == b'{"version":2,"entity_path":"users/alice"}'
        await stop(nodes)

    run(scenario)


def test_all_at_once_and_nothing_is_lost(run: Callable[[Scenario], None]) -> None:
    """Two brokers and the controller change one topic, one ACL pattern and users concurrently."""

    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        await create_roots(controller.store, ACL_FOLDERS)
        assert await create(controller, "t") == [Error.NONE]
        deciders = [controller.controller, direct_metadata_writer(nodes[1]), direct_metadata_writer(nodes[2])]
        keys = ("retention__ms", "segment__ms", "max__message__bytes")

        async def change(number: int) -> None:
            decider: Any = deciders[number]
            for change_number in range(1, 13):
                values = {keys[number]: str(60_000 + change_number)}
                answer = await decider.handle(ApiKey.INCREMENTAL_ALTER_CONFIGS, setting(TOPIC, "t", **values))
                assert codes(answer) == [Error.NONE]
                assert codes(await decider.handle(ApiKey.CREATE_ACLS, allowing(f"User:{number}-{change_number}"))) == [
                    Error.NONE
                ]

        await asyncio.gather(*map(change, range(3)))
        assert controller.controller.is_active, "one controller epoch from first to last"
        await controller.until(knows(controller, "topics/t", **dict.fromkeys(keys, "60012")))
        entry = await controller.store.read("/kafka-acl/Topic/t")
        assert entry.data.count(b"User:") == 36
        await stop(nodes)

    run(scenario)


def test_a_topic_that_a_broker_makes_gets_its_leaders_from_the_controller(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        # A broker's metadata comes from the controller: here it shares the controller's cache.
        nodes[1].cache = controller.cache
        request = CreateTopicsRequest(
            topics=[CreateTopicsRequest.CreatableTopic(name="made", num_partitions=2, replication_factor=3)],
            timeout_ms=10_000,
        )
        assert codes(await direct_metadata_writer(nodes[1]).handle(ApiKey.CREATE_TOPICS, request)) == [Error.NONE]
        assert controller.cache.image.topics["made"].partitions[1].leader > 0
        assert await create(controller, "made") == [Error.TOPIC_ALREADY_EXISTS]
        assert codes(await direct_metadata_writer(nodes[2]).handle(ApiKey.CREATE_TOPICS, request)) == [
            Error.TOPIC_ALREADY_EXISTS
        ]
        await stop(nodes)

    run(scenario)


def test_two_who_make_one_topic_at_once_make_one(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        for node in nodes[1:]:
            node.cache = nodes[0].cache
        request = CreateTopicsRequest(
            topics=[CreateTopicsRequest.CreatableTopic(name="made", num_partitions=1, replication_factor=1)],
            timeout_ms=10_000,
        )
        asked = [direct_metadata_writer(node).handle(ApiKey.CREATE_TOPICS, request) for node in nodes[1:]]
        by_brokers = await asyncio.gather(*asked, create(nodes[0], "made", factor=1))
        found = sorted(
            code.name for answer in by_brokers for code in (answer if isinstance(answer, list) else codes(answer))
        )
        assert found == ["NONE", "TOPIC_ALREADY_EXISTS", "TOPIC_ALREADY_EXISTS"]
        assert nodes[0].controller.is_active
        await stop(nodes)

    run(scenario)


def test_unclean_elections_that_a_broker_allows_are_held(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        assert await create(controller, "t") == [Error.NONE]
        path = topic_path("t") + "/partitions/0/state"
        lonely = b'{"controller_epoch":1,"leader":-1,"version":1,"leader_epoch":5,"isr":[9]}'
        await controller.controller.stop()
        await controller.store.commit([Write(path, lonely)])
        await controller.controller.start()
        await controller.until_active()
        assert (await controller.store.read(path)).data == lonely
        request = setting(TOPIC, "t", unclean__leader__election__enable="true")
        assert codes(await direct_metadata_writer(nodes[2]).handle(ApiKey.INCREMENTAL_ALTER_CONFIGS, request)) == [
            Error.NONE
        ]
        await controller.until(lambda: controller.cache.image.topics["t"].partitions[0].leader > 0)
        await stop(nodes)

    run(scenario)


def test_tokens_too(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller = nodes[0]
        await create_roots(controller.store, TOKEN_FOLDERS)
        alice = KafkaPrincipal("User", "alice")
        given = replace(inputs(), token_secret=TokenSecret("s3cret"))
        below = direct_metadata_writer(nodes[1], given=given)
        creation = TokenRequest(alice, CreateDelegationTokenRequest(max_lifetime_ms=-1))
        made: Any = await below.handle(ApiKey.CREATE_DELEGATION_TOKEN, creation)
        assert made.error_code == Error.NONE
        await controller.until(lambda: made.token_id in (controller.controller.context or make_context(1)).tokens)
        hmac = TokenSecret("s3cret").hmac(made.token_id)
        end = TokenRequest(alice, ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=-1))
        ended: Any = await below.handle(ApiKey.EXPIRE_DELEGATION_TOKEN, end)
        assert ended.error_code == Error.NONE
        await controller.until(lambda: not (controller.controller.context or make_context(1)).tokens)
        await stop(nodes)

    run(scenario)


def test_what_no_store_can_hold_is_rejected_at_once(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        await create_roots(nodes[0].store, TOKEN_FOLDERS)
        below = direct_metadata_writer(nodes[1], given=replace(inputs(), token_secret=TokenSecret("s3cret")))
        renewer = CreateDelegationTokenRequest.CreatableRenewers(principal_type="User", principal_name="x" * 30_000)
        body = CreateDelegationTokenRequest(max_lifetime_ms=-1, renewers=[renewer] * 40)
        rejected: Any = await below.handle(
            ApiKey.CREATE_DELEGATION_TOKEN, TokenRequest(KafkaPrincipal("User", "alice"), body)
        )
        assert rejected.error_code == Error.INVALID_REQUEST
        await stop(nodes)

    run(scenario)


def test_who_missed_much_looks_at_everything(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        controller, own = nodes[0], direct_metadata_writer(nodes[1])
        for user in ("alice", "bob"):
            assert codes(await own.handle(ApiKey.ALTER_CLIENT_QUOTAS, quota(user, 7.0))) == [Error.NONE]
            await controller.until(knows(controller, f"users/{user}", producer_byte_rate="7"))
        # A writer whose change log names no entities, as when there were too many to name.
        entry = await nodes[1].store.read(SHARED_CHANGES)
        removed = [Write("/config/users/alice", b'{"version":1,"config":{"consumer_byte_rate":"1"}}')]
        await nodes[1].store.commit([Write(SHARED_CHANGES, None, entry.version), *removed])
        await controller.until(knows(controller, "users/alice", consumer_byte_rate="1"))
        assert knows(controller, "users/bob", producer_byte_rate="7")()
        assert not knows(controller, "users/alice", producer_byte_rate="7")()
        await stop(nodes)

    run(scenario)


def test_rejections_are_the_controllers(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        own = direct_metadata_writer(nodes[1])
        before = await nodes[1].store.read(SHARED_CHANGES)
        for request, error in (
            (setting(TOPIC, "none", retention__ms="5"), Error.UNKNOWN_TOPIC_OR_PARTITION),
            (setting(TOPIC, "a/b", retention__ms="5"), Error.INVALID_TOPIC_EXCEPTION),
            (setting(BROKER, "77", log__retention__ms="5"), Error.BROKER_ID_NOT_REGISTERED),
            (setting(99, "x", y="z"), Error.INVALID_REQUEST),
        ):
            assert codes(await own.handle(ApiKey.INCREMENTAL_ALTER_CONFIGS, request)) == [error]
        deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="unknown", mechanism=1)
        users = AlterUserScramCredentialsRequest(deletions=[deletion])
        assert codes(await own.handle(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, users)) == [Error.RESOURCE_NOT_FOUND]
        answer: Any = await own.handle(ApiKey.DELETE_ACLS, DeleteAclsRequest())
        assert answer.filter_results == []
        assert await nodes[1].store.read(SHARED_CHANGES) == before
        await stop(nodes)

    run(scenario)


@dataclass
class Ticking:
    """Each pause advances a manual clock, so that a deadline passes without waiting."""

    clock: ManualClock

    async def pause(self) -> None:
        self.clock.advance(400)


@pytest.mark.spec("M3")
@pytest.mark.parametrize("without", [CONTROLLER_EPOCH, "a session"])
def test_who_may_not_write_says_so_in_time(run: Callable[[Scenario], None], without: str) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        store, ticking = participant(), Ticking(ManualClock())
        await store.open_session()
        await create_roots(store)
        if without == "a session":
            await store.close()
        own = DirectMetadataWriter(1, store, inputs(), MetadataCache(), Patience(ticking.clock, 1_000, ticking.pause))
        answer = await own.handle(ApiKey.ALTER_CLIENT_QUOTAS, quota("alice", 7.0))
        assert codes(answer) == [Error.REQUEST_TIMED_OUT]

    run(scenario)


def test_what_there_is_no_room_for_is_rejected_at_once(run: Callable[[Scenario], None]) -> None:
    async def scenario(participant: Callable[[], Any]) -> None:
        nodes = await start_three(participant)
        await create_roots(nodes[0].store, ACL_FOLDERS)
        own = direct_metadata_writer(nodes[1])
        await fill(nodes[1].store)
        large = [allowing(*(f"User:{number:0500}" for number in range(400)))]
        rejected: Any = await own.handle(ApiKey.CREATE_ACLS, *large)
        assert {each.error_code for each in rejected.results} == {Error.KAFKA_STORAGE_ERROR}
        assert "full" in rejected.results[0].error_message
        assert codes(await own.handle(ApiKey.ALTER_CLIENT_QUOTAS, quota("alice", 7.0))) == [Error.NONE]
        await make_room(nodes[1].store)
        assert set(codes(await own.handle(ApiKey.CREATE_ACLS, *large))) == {Error.NONE}
        await stop(nodes)

    run(scenario)
