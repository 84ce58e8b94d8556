"""Transcripts of the manager: what it sends next, and what each response changes."""

from __future__ import annotations

import pytest

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.connection.node import Address
from signalbox.client.failures import (
    AuthenticationRejected,
    ClientFailure,
    ConnectionLost,
    DeadlinePassed,
    TransactionFailed,
    VersionUnsupported,
)
from signalbox.client.rejections import AuthorizationFailed, CommitFailed, ProducerFenced, RequestRejected, rejection_of
from signalbox.client.sender.producer_batch import ProducerIdentity
from signalbox.client.transactions.transaction_manager import TransactionManager
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.client.transactions.transaction_request import (
    ConsumerGroupMetadata,
    TransactionRequest,
    TransactionResponse,
)
from signalbox.client.transactions.transaction_state import TransactionState
from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error

_S = TransactionState
ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
GROUP = ConsumerGroupMetadata("g", 3, "m")
OFFSETS = {TopicPartition("in", 0): CommittedOffset(5, -1, None)}
LOST = ConnectionLost(Address("h", 1), "cut")


def identity(epoch: int) -> ProducerIdentity:
    return ProducerIdentity(7, epoch, "c", transactional=True)


def send(manager: TransactionManager, batches: int = 0) -> TransactionRequest:
    request = manager.next_request(batches)
    assert request is not None
    return request


def answer(manager: TransactionManager, step: Step, error: Error = Error.NONE, batches: int = 0) -> None:
    """The next request has this step, and the response this error."""
    request = send(manager, batches)
    assert request.step is step
    epoch = manager.identity.producer_epoch + 1 if manager.identity is not None else 0
    gives_identity = step is Step.INIT or (manager.version > 1 and step in (Step.COMMIT, Step.ABORT))
    manager.answered(
        TransactionResponse(
            error=error,
            errors=dict.fromkeys([*request.partitions, *request.offsets], error),
            node_id=1,
            identity=identity(epoch) if gives_identity and error == Error.NONE else None,
        )
    )


def initialized(version: int = 1) -> TransactionManager:
    manager = TransactionManager()
    manager.initialize(version)
    answer(manager, Step.FIND_COORDINATOR)
    answer(manager, Step.INIT)
    assert manager.state is _S.READY
    return manager


def begun(version: int = 1) -> TransactionManager:
    """A transaction with one partition, which the coordinator has with version 1."""
    manager = initialized(version)
    manager.begin()
    manager.add_partition(ONE)
    if version == 1:
        answer(manager, Step.ADD_PARTITIONS)
    return manager


def test_a_partition_is_added_before_its_batches_leave_and_the_commit_waits_for_them() -> None:
    manager = initialized()
    manager.begin()
    manager.add_partition(ONE)
    assert not manager.may_send(ONE, again=False)
    answer(manager, Step.ADD_PARTITIONS, batches=1)
    assert manager.may_send(ONE, again=False)
    assert not manager.may_send(OTHER, again=False)
    manager.commit()
    assert manager.next_request(1) is None
    answer(manager, Step.COMMIT)
    assert (manager.state, manager.ended, manager.identity) == (_S.READY, 1, identity(0))


def test_with_version_2_partitions_are_not_added_and_each_end_has_a_higher_epoch() -> None:
    manager = begun(version=2)
    assert manager.may_send(ONE, again=False)
    assert manager.next_request(1) is None
    manager.batch_sent()
    manager.commit()
    answer(manager, Step.COMMIT)
    assert (manager.state, manager.identity) == (_S.READY, identity(1))


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_without_anything_is_ended_without_a_request(version: int) -> None:
    manager = initialized(version)
    for end in (manager.commit, manager.abort):
        manager.begin()
        end()
        assert manager.next_request(0) is None
        assert manager.state is _S.READY
    assert manager.ended == 2


def test_one_request_is_in_flight_at_a_time() -> None:
    manager = initialized()
    manager.begin()
    manager.add_partition(ONE)
    send(manager)
    manager.add_partition(OTHER)
    assert manager.next_request(0) is None
    manager.answered(TransactionResponse(errors={ONE: Error.NONE}))
    assert send(manager).partitions == {OTHER}


def test_partitions_that_were_not_attempted_are_added_again() -> None:
    manager = initialized()
    manager.begin()
    manager.add_partition(ONE)
    manager.add_partition(OTHER)
    assert send(manager).partitions == {ONE, OTHER}
    manager.answered(
        TransactionResponse(errors={ONE: Error.UNKNOWN_TOPIC_OR_PARTITION, OTHER: Error.OPERATION_NOT_ATTEMPTED})
    )
    assert manager.failures == 1
    assert send(manager).partitions == {ONE, OTHER}


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_looked_up_again(error: Error) -> None:
    manager = begun()
    manager.commit()
    answer(manager, Step.COMMIT, error)
    answer(manager, Step.FIND_COORDINATOR)
    assert manager.failures == 0
    answer(manager, Step.COMMIT)
    assert manager.state is _S.READY


@pytest.mark.parametrize("maybe_executed", [True, False])
def test_a_commit_without_a_response_is_asked_again(maybe_executed: bool) -> None:
    manager = begun()
    manager.commit()
    assert send(manager).step is Step.COMMIT
    manager.lost(LOST, maybe_executed=maybe_executed)
    assert (manager.state, manager.failures) == (_S.COMMITTING, 1)
    answer(manager, Step.FIND_COORDINATOR)
    answer(manager, Step.COMMIT, Error.CONCURRENT_TRANSACTIONS)
    assert manager.ended == 0
    answer(manager, Step.COMMIT)
    assert (manager.state, manager.ended) == (_S.READY, 1)


def test_a_commit_that_was_lost_and_then_rejected_has_no_known_result() -> None:
    manager = begun()
    manager.commit()
    send(manager)
    manager.lost(LOST, maybe_executed=True)
    answer(manager, Step.FIND_COORDINATOR)
    answer(manager, Step.COMMIT, Error.TRANSACTION_ABORTABLE)
    assert manager.state is _S.FATAL_ERROR
    assert "not known whether it was made" in str(manager.failure)


@pytest.mark.parametrize("error", [Error.NOT_COORDINATOR, Error.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moves_may_have_stored_what_it_rejects(error: Error) -> None:
    manager = initialized()
    manager.begin()
    manager.add_partition(ONE)
    answer(manager, Step.ADD_PARTITIONS, error)
    manager.abort()
    answer(manager, Step.FIND_COORDINATOR)
    answer(manager, Step.ABORT, Error.INVALID_TXN_STATE)
    answer(manager, Step.INIT)
    manager.begin()
    manager.add_partition(ONE)
    answer(manager, Step.ADD_PARTITIONS)
    manager.commit()
    answer(manager, Step.COMMIT, error)
    answer(manager, Step.FIND_COORDINATOR)
    answer(manager, Step.COMMIT, Error.TRANSACTION_ABORTABLE)
    assert manager.state is _S.FATAL_ERROR
    assert "not known whether it was made" in str(manager.failure)


def test_offsets_join_the_transaction_before_it_ends() -> None:
    manager = initialized()
    manager.begin()
    manager.add_offsets(OFFSETS, GROUP)
    manager.commit()
    answer(manager, Step.ADD_OFFSETS)
    answer(manager, Step.FIND_GROUP_COORDINATOR)
    assert manager.has_offsets
    answer(manager, Step.COMMIT_OFFSETS, Error.NOT_COORDINATOR)
    answer(manager, Step.FIND_GROUP_COORDINATOR)
    answer(manager, Step.COMMIT_OFFSETS)
    assert not manager.has_offsets
    answer(manager, Step.COMMIT)
    assert manager.state is _S.READY


def test_a_commit_that_waits_for_offsets_can_be_aborted_until_it_is_sent() -> None:
    manager = initialized()
    manager.begin()
    manager.add_offsets(OFFSETS, GROUP)
    manager.commit()
    answer(manager, Step.ADD_OFFSETS)
    answer(manager, Step.FIND_GROUP_COORDINATOR)
    answer(manager, Step.COMMIT_OFFSETS, Error.UNKNOWN_TOPIC_OR_PARTITION)
    manager.abort()
    answer(manager, Step.ABORT)
    assert (manager.state, manager.ended, manager.last_committed) == (_S.READY, 1, -1)
    manager.begin()
    manager.add_partition(ONE)
    answer(manager, Step.ADD_PARTITIONS)
    manager.commit()
    answer(manager, Step.COMMIT, Error.COORDINATOR_LOAD_IN_PROGRESS)
    with pytest.raises(RuntimeError, match="abort_transaction is not possible now"):
        manager.abort()
    answer(manager, Step.COMMIT)
    assert manager.last_committed == 1


def test_with_version_2_the_commit_of_offsets_starts_the_transaction() -> None:
    manager = initialized(version=2)
    manager.begin()
    manager.add_offsets(OFFSETS, GROUP)
    answer(manager, Step.FIND_GROUP_COORDINATOR)
    assert send(manager).step is Step.COMMIT_OFFSETS
    manager.lost(LOST, maybe_executed=True)
    manager.abort()
    answer(manager, Step.ABORT)
    assert manager.state is _S.READY


def test_offsets_of_two_groups_one_after_the_other() -> None:
    manager = initialized()
    manager.begin()
    manager.add_offsets(OFFSETS, GROUP)
    with pytest.raises(RuntimeError, match="offsets of the group g are still being committed"):
        manager.add_offsets(OFFSETS, ConsumerGroupMetadata("other"))


@pytest.mark.parametrize("error", [Error.ILLEGAL_GENERATION, Error.STALE_MEMBER_EPOCH])
def test_a_member_that_lost_its_partitions_must_abort(error: Error) -> None:
    manager = initialized()
    manager.begin()
    manager.add_offsets(OFFSETS, GROUP)
    answer(manager, Step.ADD_OFFSETS)
    answer(manager, Step.FIND_GROUP_COORDINATOR)
    answer(manager, Step.COMMIT_OFFSETS, error)
    with pytest.raises(CommitFailed):
        manager.commit()
    manager.abort()
    answer(manager, Step.ABORT, Error.TRANSACTION_ABORTABLE)
    assert manager.failures == 1
    answer(manager, Step.ABORT)
    assert (manager.state, manager.identity) == (_S.READY, identity(0))


def test_an_abandoned_batch_makes_the_transaction_abortable_and_needs_a_higher_epoch() -> None:
    manager = begun()
    manager.commit()
    manager.batch_failed(DeadlinePassed("the delivery timeout"))
    assert manager.state is _S.ABORTABLE_ERROR
    assert manager.next_request(0) is None
    with pytest.raises(TransactionFailed, match="abort the transaction: the delivery timeout"):
        manager.commit()
    with pytest.raises(TransactionFailed):
        manager.add_partition(ONE)
    manager.abort()
    assert manager.next_request(1) is None, "another batch is in flight"
    answer(manager, Step.ABORT)
    assert (manager.state, manager.ended) == (_S.INITIALIZING, 0)
    assert send(manager).identity == identity(0)
    manager.answered(TransactionResponse(identity=identity(1)))
    assert (manager.state, manager.ended, manager.identity) == (_S.READY, 1, identity(1))


@pytest.mark.parametrize(
    "failure", [VersionUnsupported("no Produce 12"), AuthenticationRejected(Address("h", 1), "wrong password")]
)
def test_a_batch_for_a_broker_that_never_accepts_one_is_fatal(failure: ClientFailure) -> None:
    manager = begun()
    manager.batch_failed(failure)
    assert (manager.state, manager.failure) == (_S.FATAL_ERROR, failure)


def test_a_batch_that_was_sent_is_retried_during_an_abort_and_no_other_leaves() -> None:
    manager = begun()
    manager.abort()
    assert manager.drops_batches
    assert manager.may_send(ONE, again=True)
    assert not manager.may_send(ONE, again=False)
    manager.batch_failed(rejection_of(Error.REQUEST_TIMED_OUT))
    answer(manager, Step.ABORT)
    assert manager.state is _S.INITIALIZING, "the sequence numbers of the batch may be in the log"


def test_a_rejected_topic_is_abortable() -> None:
    manager = initialized()
    manager.begin()
    manager.add_partition(ONE)
    answer(manager, Step.ADD_PARTITIONS, Error.TOPIC_AUTHORIZATION_FAILED)
    with pytest.raises(AuthorizationFailed):
        manager.commit()
    manager.abort()
    assert manager.next_request(0) is None
    assert manager.state is _S.READY, "the coordinator has no transaction"


@pytest.mark.parametrize("error", [Error.INVALID_TXN_STATE, Error.NONE])
def test_a_transaction_that_may_have_begun_is_aborted_and_followed_by_a_higher_epoch(error: Error) -> None:
    manager = initialized()
    manager.begin()
    manager.add_partition(ONE)
    send(manager)
    manager.lost(LOST, maybe_executed=True)
    manager.abort()
    answer(manager, Step.FIND_COORDINATOR)
    answer(manager, Step.ABORT, error)
    answer(manager, Step.INIT)
    assert (manager.state, manager.identity) == (_S.READY, identity(1))


def test_an_abort_that_the_coordinator_cannot_make_is_fatal() -> None:
    manager = begun()
    manager.abort()
    answer(manager, Step.ABORT, Error.INVALID_TXN_STATE)
    assert manager.state is _S.FATAL_ERROR


def test_a_coordinator_that_forgot_the_producer_gives_it_a_higher_epoch() -> None:
    manager = begun()
    manager.add_partition(OTHER)
    answer(manager, Step.ADD_PARTITIONS, Error.INVALID_PRODUCER_ID_MAPPING)
    assert manager.drops_batches
    manager.abort()
    answer(manager, Step.ABORT, Error.INVALID_PRODUCER_ID_MAPPING)
    answer(manager, Step.INIT)
    assert manager.state is _S.READY


@pytest.mark.parametrize("error", [Error.PRODUCER_FENCED, Error.INVALID_PRODUCER_EPOCH])
def test_a_fenced_producer_ends(error: Error) -> None:
    manager = begun()
    manager.commit()
    answer(manager, Step.COMMIT, error)
    calls = (manager.begin, manager.commit, manager.abort, lambda: manager.add_partition(ONE))
    for call in calls:
        with pytest.raises(ProducerFenced, match="another producer has the transactional id"):
            call()
    assert manager.next_request(0) is None
    assert not manager.may_send(ONE, again=True)


def test_the_first_fatal_failure_stays() -> None:
    manager = begun()
    manager.fail(ClientFailure("the first"))
    manager.batch_failed(rejection_of(Error.PRODUCER_FENCED))
    manager.fail(ClientFailure("the second"))
    assert str(manager.failure) == "the first"


def test_a_request_that_can_never_be_sent_is_fatal() -> None:
    manager = begun()
    manager.commit()
    send(manager)
    manager.lost(VersionUnsupported("no EndTxn"), maybe_executed=False)
    assert manager.state is _S.FATAL_ERROR


def test_an_id_that_is_not_allowed_is_fatal_at_once() -> None:
    manager = TransactionManager()
    manager.initialize(1)
    answer(manager, Step.FIND_COORDINATOR, Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    assert isinstance(manager.failure, AuthorizationFailed)
    with pytest.raises(RequestRejected):
        manager.begin()


def test_a_response_without_a_request_is_a_defect() -> None:
    with pytest.raises(RuntimeError, match="no request is in flight"):
        initialized().answered(TransactionResponse())
