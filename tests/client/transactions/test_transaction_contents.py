from __future__ import annotations

from signalbox.client.admin_apis.group_admin import CommittedOffset
from signalbox.client.transactions.transaction_contents import TransactionContents
from signalbox.client.transactions.transaction_reactions import Step
from signalbox.common.ids import TopicPartition

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def offset(number: int) -> CommittedOffset:
    return CommittedOffset(number, -1, None)


def test_a_partition_or_a_group_that_was_added_starts_the_transaction() -> None:
    contents = TransactionContents(to_add={ONE, OTHER})
    assert not contents.may_exist
    contents.partition_added(ONE)
    assert (contents.to_add, contents.added, contents.started) == ({OTHER}, {ONE}, True)
    with_group = TransactionContents()
    with_group.group_added("g")
    assert with_group.may_exist


def test_a_request_without_a_result_may_have_started_or_committed_the_transaction() -> None:
    contents = TransactionContents()
    contents.maybe_executed(Step.INIT)
    assert not contents.may_exist
    contents.maybe_executed(Step.ADD_OFFSETS)
    assert contents.may_exist
    assert not contents.maybe_committed
    contents.maybe_executed(Step.COMMIT)
    assert contents.maybe_committed


def test_an_offset_that_changed_since_it_was_sent_is_still_to_commit() -> None:
    contents = TransactionContents(offsets={ONE: offset(1), OTHER: offset(2)})
    sent = dict(contents.offsets)
    contents.offsets[OTHER] = offset(3)
    contents.offset_committed(ONE, sent)
    contents.offset_committed(OTHER, sent)
    assert contents.offsets == {OTHER: offset(3)}


def test_nothing_is_added_before_an_abort() -> None:
    contents = TransactionContents(to_add={ONE}, added={OTHER}, offsets={ONE: offset(1)})
    contents.drop_pending()
    assert (contents.to_add, contents.added, contents.offsets) == (set(), {OTHER}, {})
