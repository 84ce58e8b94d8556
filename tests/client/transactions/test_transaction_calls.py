from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest

from signalbox.client.cluster_client import ClusterClient
from signalbox.client.failures import ChannelClosed, ClientFailure, DeadlinePassed, TransactionAborted
from signalbox.client.producer import Producer, ProducerSettings
from signalbox.client.rejections import AuthorizationFailed, InvalidTopic, ProducerFenced, RequestRejected
from signalbox.client.transactions.transaction_request import ConsumerGroupMetadata
from signalbox.client.transactions.transaction_state import TransactionState
from signalbox.common.ids import TopicPartition
from signalbox.protocol.api_table import ApiKey
from signalbox.protocol.error_table import Error
from tests.client.loopback_cluster import LoopbackBroker, LoopbackCluster
from tests.client.transactions.scripted_coordinator import LOST, ScriptedCoordinator, with_coordinator
from tests.waiting import until_true

SETTINGS = ProducerSettings(transactional_id="id", linger_ms=1)


def test_a_failed_commit_inside_the_context_is_aborted_and_raised() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            coordinator.errors[ApiKey.ADD_PARTITIONS_TO_TXN] = [Error.TOPIC_AUTHORIZATION_FAILED]
            with pytest.raises(AuthorizationFailed):
                async with producer.transaction():
                    await producer.send("t1", b"rejected")
            async with producer.transaction():
                await producer.send("t2", b"x")
        assert not cluster.topics["t1"][0].batches
        assert [row.value for row in cluster.topics["t2"][0].records()] == [b"x"]

    with_coordinator(test)


def test_an_abort_that_fails_is_a_note_of_the_exception_that_caused_it() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            coordinator.errors[ApiKey.END_TXN] = [Error.PRODUCER_FENCED]

            async def fail_in_transaction() -> None:
                async with producer.transaction():
                    await (await producer.send("t1", b"x"))
                    raise KeyError("of the application")

            with pytest.raises(KeyError) as raised:
                await fail_in_transaction()
            assert "the transaction could not be aborted: PRODUCER_FENCED" in raised.value.__notes__[0]
            with pytest.raises(ProducerFenced):
                producer.begin_transaction()

    with_coordinator(test)


def test_a_commit_that_goes_on_is_not_aborted_by_the_context() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            coordinator.errors[ApiKey.END_TXN] = [LOST] * 1_000
            with pytest.raises(DeadlinePassed, match="commit_transaction did not end in time"):
                async with producer.transaction():
                    await producer.send("t1", b"x")
            coordinator.errors.clear()
            await producer.commit_transaction()
        ends = [row.committed for row in coordinator.requests if type(row).__name__ == "EndTxnRequest"]
        assert all(ends)

    with_coordinator(test, api_timeout_ms=600)


def test_a_cancelled_commit_goes_on_and_is_called_again() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await (await producer.send("t1", b"x"))
            coordinator.errors[ApiKey.END_TXN] = [Error.CONCURRENT_TRANSACTIONS]
            commit = asyncio.ensure_future(producer.commit_transaction())
            await asyncio.sleep(0)
            commit.cancel()
            with pytest.raises(asyncio.CancelledError):
                await commit
            await producer.commit_transaction()
            with pytest.raises(RuntimeError, match="commit_transaction is not possible now: no transaction is open"):
                await producer.commit_transaction()

    with_coordinator(test)


def test_a_commit_that_waits_for_offsets_of_a_deleted_topic_can_be_aborted() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            coordinator.errors[ApiKey.TXN_OFFSET_COMMIT] = [Error.UNKNOWN_TOPIC_OR_PARTITION] * 1_000
            producer.begin_transaction()
            offsets, group = {TopicPartition("deleted", 0): 1}, ConsumerGroupMetadata("g")
            with pytest.raises(DeadlinePassed):
                await producer.send_offsets_to_transaction(offsets, group, timeout_ms=50)
            with pytest.raises(DeadlinePassed):
                await producer.commit_transaction(timeout_ms=50)
            waiting = asyncio.ensure_future(producer.commit_transaction())
            await asyncio.sleep(0)
            await producer.abort_transaction()
            with pytest.raises(TransactionAborted):
                await waiting
            async with producer.transaction():
                await producer.send("t1", b"x")
        ends = [row.committed for row in coordinator.requests if type(row).__name__ == "EndTxnRequest"]
        assert ends in ([True], [False, True]), "an abort is sent if the group was added in time"

    with_coordinator(test)


def test_a_commit_that_was_sent_cannot_be_aborted() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            await producer.send("t1", b"x")
            coordinator.errors[ApiKey.END_TXN] = [Error.CONCURRENT_TRANSACTIONS] * 10_000
            commit = asyncio.ensure_future(producer.commit_transaction())
            await until_true(lambda: coordinator.count(ApiKey.END_TXN) > 0)
            with pytest.raises(RuntimeError, match="call commit_transaction again for its result"):
                await producer.abort_transaction()
            coordinator.errors.clear()
            await commit

    with_coordinator(test)


def test_a_commit_is_not_reported_when_another_task_aborts_the_failed_transaction_first() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.ADD_PARTITIONS_TO_TXN] = [Error.CONCURRENT_TRANSACTIONS] * 1_000
        settings = ProducerSettings(transactional_id="id", linger_ms=1, delivery_timeout_ms=200)
        async with Producer(client, settings) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            record = await producer.send("t1", b"lost")

            async def abort_after_the_record_failed() -> None:
                with pytest.raises(ClientFailure):
                    await record
                await producer.abort_transaction()

            abort = asyncio.ensure_future(abort_after_the_record_failed())
            with pytest.raises(TransactionAborted):
                await producer.commit_transaction()
            await abort
            producer.begin_transaction()

    with_coordinator(test)


def reject_topic(cluster: LoopbackCluster, name: str) -> asyncio.Event:
    """Metadata of the topic has a final error. Responses with it wait for the event."""
    may_respond = asyncio.Event()

    async def respond(broker: LoopbackBroker, request: Any, version: int) -> Any:
        response = broker.metadata(request)
        for row in response.topics:
            if row.name == name:
                row.error_code = Error.INVALID_TOPIC_EXCEPTION
                await may_respond.wait()
        return response

    for broker in cluster.brokers.values():
        broker.scripts[ApiKey.METADATA] = partial(respond, broker)
    return may_respond


@pytest.mark.parametrize(("topic", "value"), [("t1", bytes(2_000)), ("no/such", b"x")])
def test_a_transaction_is_not_committed_without_a_record_that_could_not_be_queued(topic: str, value: bytes) -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        reject_topic(cluster, "no/such").set()
        settings = ProducerSettings(transactional_id="id", linger_ms=1, max_request_size_bytes=1_000)
        async with Producer(client, settings) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            sends = (producer.send("t2", b"queued"), producer.send(topic, value))
            failure = (await asyncio.gather(*sends, return_exceptions=True))[1]
            assert isinstance(failure, ClientFailure)
            with pytest.raises(type(failure)):
                await producer.commit_transaction()
            with pytest.raises(type(failure)):
                await producer.send("t2", b"too late")
            await producer.abort_transaction()
            async with producer.transaction():
                await producer.send("t2", b"x")
        ends = [row.committed for row in coordinator.requests if type(row).__name__ == "EndTxnRequest"]
        assert ends.count(True) == 1
        assert coordinator.count(ApiKey.INIT_PRODUCER_ID) == 1, "no sequence number is in doubt"

    with_coordinator(test)


def test_a_record_that_fails_after_its_transaction_does_not_fail_the_next_one() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            await client.topic("t1")
            may_respond = reject_topic(cluster, "no/such")
            producer.begin_transaction()
            late = asyncio.ensure_future(producer.send("no/such", b"x"))
            await asyncio.sleep(0)
            await producer.abort_transaction()
            async with producer.transaction():
                may_respond.set()
                with pytest.raises(InvalidTopic):
                    await late
                await producer.send("t1", b"x")
        assert [row.value for row in cluster.topics["t1"][0].records()] == [b"x"]

    with_coordinator(test)


def test_offsets_are_not_reported_when_another_task_aborts_meanwhile() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.TXN_OFFSET_COMMIT] = [Error.COORDINATOR_LOAD_IN_PROGRESS] * 1_000
        async with Producer(client, SETTINGS) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            offsets = {TopicPartition("t2", 0): 1}
            sent = asyncio.ensure_future(producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata("g")))
            await until_true(lambda: coordinator.count(ApiKey.TXN_OFFSET_COMMIT) > 0)
            await producer.abort_transaction()
            with pytest.raises(TransactionAborted):
                await sent

    with_coordinator(test)


def test_an_abort_at_the_end_of_the_producer_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        with caplog.at_level(logging.INFO, "signalbox.client"):
            async with Producer(client, SETTINGS) as producer:
                await producer.init_transactions()
                producer.begin_transaction()
                await (await producer.send("t1", b"x"))
                coordinator.errors[ApiKey.END_TXN] = [Error.INVALID_TXN_STATE]
        assert "Transaction not aborted (transactional id=id)" in caplog.text

    with_coordinator(test)


def test_close_aborts_an_open_transaction() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        producer = await Producer(client, SETTINGS).__aenter__()
        await producer.init_transactions()
        producer.begin_transaction()
        await (await producer.send("t1", b"x"))
        close = asyncio.ensure_future(producer.close())
        await asyncio.sleep(0)
        with pytest.raises(ChannelClosed):
            producer.begin_transaction()
        await close
        await producer.close()
        ends = [row.committed for row in coordinator.requests if type(row).__name__ == "EndTxnRequest"]
        assert ends == [False]

    with_coordinator(test)


def test_close_waits_for_the_abort_only_as_long_as_it_may(caplog: pytest.LogCaptureFixture) -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.END_TXN] = [Error.CONCURRENT_TRANSACTIONS] * 1_000
        producer = await Producer(client, SETTINGS).__aenter__()
        await producer.init_transactions()
        producer.begin_transaction()
        await (await producer.send("t1", b"x"))
        with caplog.at_level(logging.INFO, "signalbox.client"):
            await producer.close(timeout_ms=50)
        assert "abort_transaction did not end in time" in caplog.text

    with_coordinator(test, api_timeout_ms=3_600_000)


def test_calls_of_init_transactions_at_the_same_time_share_one_producer_id() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client, SETTINGS) as producer:
            await asyncio.gather(*(producer.init_transactions() for _ in range(3)))
            with pytest.raises(RuntimeError, match="init_transactions is not possible now"):
                await producer.init_transactions()
        assert coordinator.count(ApiKey.INIT_PRODUCER_ID) == 1

    with_coordinator(test)


def test_calls_of_a_producer_without_an_id_or_that_is_closed() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        async with Producer(client) as plain:
            with pytest.raises(RuntimeError, match=r"the producer has no transactional\.id"):
                await plain.init_transactions()
            with pytest.raises(RuntimeError, match=r"the producer has no transactional\.id"):
                plain.begin_transaction()
        async with Producer(client, SETTINGS) as producer:
            pass
        with pytest.raises(ChannelClosed):
            await producer.init_transactions()

    with_coordinator(test)


def test_a_timeout_that_the_broker_does_not_allow_is_final() -> None:
    async def test(cluster: LoopbackCluster, coordinator: ScriptedCoordinator, client: ClusterClient) -> None:
        coordinator.errors[ApiKey.INIT_PRODUCER_ID] = [Error.INVALID_TRANSACTION_TIMEOUT]
        async with Producer(client, SETTINGS) as producer:
            with pytest.raises(RequestRejected, match="INVALID_TRANSACTION_TIMEOUT"):
                await producer.init_transactions()
            with pytest.raises(RequestRejected, match="INVALID_TRANSACTION_TIMEOUT"):
                await producer.init_transactions()
            assert producer._transactions is not None
            assert producer._transactions.manager.state is TransactionState.FATAL_ERROR

    with_coordinator(test)
