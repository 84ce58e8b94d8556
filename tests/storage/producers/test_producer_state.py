"""The producer states of KIP-98, as in ProducerStateManager: which batches are admitted, repeated or rejected."""

import tracemalloc

import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.producers.producer_state import MAX_SEQUENCE, NO_UNSTABLE_OFFSET, ProducerStates

pytestmark = pytest.mark.spec("D4")

PID = 9
OUT_OF_ORDER = Error.OUT_OF_ORDER_SEQUENCE_NUMBER


def states_with(*batches: tuple[int, int], epoch: int = 2) -> ProducerStates:
    """A producer with consecutive batches (first, last sequence) from offset 100 on."""
    states = ProducerStates()
    offset = 100
    for first, last in batches:
        delta = (last - first) & MAX_SEQUENCE
        states.append(PID, epoch, (first, last, offset + delta, delta, 1000))
        offset += delta + 1
    return states


@pytest.mark.parametrize(
    ("batches", "epoch", "sequences", "answer"),
    [
        ([], 0, (0, 4), None),
        ([], 5, (17, 20), None),  # an unknown producer: any sequence
        ([(0, 4)], 2, (5, 9), None),
        ([(0, 4)], 2, (0, 4), 104),  # a repeated batch: the offset of the first append
        ([(0, 4)], 2, (0, 3), OUT_OF_ORDER),  # begins like the stored batch, but is another one
        ([(0, 4)], 2, (6, 9), OUT_OF_ORDER),
        ([(0, 4)], 2, (3, 9), OUT_OF_ORDER),
        ([(0, 4)], 1, (5, 9), Error.INVALID_PRODUCER_EPOCH),
        ([(0, 4)], 3, (0, 1), None),
        ([(0, 4)], 3, (5, 9), OUT_OF_ORDER),  # a new producer epoch must begin with sequence 0
        ([(0, 0), (1, 1), (2, 2), (3, 3), (4, 4)], 2, (0, 0), 100),
        ([(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)], 2, (0, 0), OUT_OF_ORDER),  # five batches are remembered
        ([(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)], 2, (1, 1), 101),
        ([(MAX_SEQUENCE - 1, MAX_SEQUENCE)], 2, (0, 2), None),  # the next sequence wraps to 0
        ([(MAX_SEQUENCE - 1, 1)], 2, (2, 2), None),  # the sequence wrapped within the batch
        ([(MAX_SEQUENCE - 1, 1)], 2, (MAX_SEQUENCE - 1, 1), 103),
        ([(MAX_SEQUENCE - 1, MAX_SEQUENCE)], 2, (1, 2), OUT_OF_ORDER),
    ],
)
def test_admission(
    batches: list[tuple[int, int]], epoch: int, sequences: tuple[int, int], answer: Error | int | None
) -> None:
    states = states_with(*batches)
    repeated = states.duplicate_of(PID, epoch, *sequences)
    if isinstance(answer, Error):
        assert repeated is None
        with pytest.raises(KafkaError) as rejected:
            states.check(PID, epoch, sequences[0])
        assert rejected.value.error == answer
    elif answer is None:
        assert repeated is None
        states.check(PID, epoch, sequences[0])
    else:
        assert repeated is not None
        assert repeated[2] == answer


def test_a_marker_keeps_the_batches_of_its_epoch_and_ends_the_transaction() -> None:
    states = states_with((0, 4))
    states.append(PID, 2, (5, 5, 105, 0, 1000), transactional=True)
    states.append(PID, 2, (6, 6, 106, 0, 1000), transactional=True)
    assert states.entries[PID].transaction_first_offset == 105
    assert states.end_transaction(PID, 2, 7, 1001, 107) == 105
    assert states.entries[PID].transaction_first_offset == -1
    assert states.entries[PID].coordinator_epoch == 7
    states.check(PID, 2, 7)
    with pytest.raises(KafkaError, match="OUT_OF_ORDER"):
        states.check(PID, 2, 9)


def test_a_marker_of_a_new_epoch_fences_and_begins_at_zero() -> None:
    states = states_with((0, 4))
    assert states.end_transaction(PID, 3, 7, 1001, 107) == -1
    states.check(PID, 3, 0)
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        states.check(PID, 2, 5)
    with pytest.raises(KafkaError, match="OUT_OF_ORDER"):
        states.check(PID, 3, 1)


def test_a_marker_of_an_unknown_producer_is_recorded() -> None:
    states = ProducerStates()
    assert states.end_transaction(PID, 0, 1, 1000, 100) == -1
    assert states.entries[PID].last_sequence == -1
    assert states.entries[PID].last_offset == -1


def test_a_new_epoch_keeps_the_coordinators() -> None:
    states = states_with((0, 4))
    states.end_transaction(PID, 2, 7, 1001, 105)
    states.append(PID, 3, (0, 0, 110, 0, 1002))
    assert states.entries[PID].coordinator_epoch == 7
    assert states.entries[PID].batches == ((0, 0, 110, 0, 1002),)


def test_silent_producers_are_forgotten_unless_a_transaction_is_open() -> None:
    states = states_with((0, 4))
    states.append(10, 0, (0, 0, 105, 0, 1000), transactional=True)
    states.append(11, 0, (0, 0, 106, 0, 1500))
    assert states.expire(now_ms=2000, expiration_ms=1000) == 1
    assert sorted(states.entries) == [10, 11]


def test_an_append_is_taken_back() -> None:
    states = states_with((0, 4))
    before = states.entries[PID]
    states.append(PID, 2, (5, 5, 105, 0, 1000))
    states.append(10, 0, (0, 0, 106, 0, 1000))
    states.restore(10, None)
    states.restore(PID, before)
    assert sorted(states.entries) == [PID]
    assert states.entries[PID].last_sequence == 4


# -- transactions


def begin(states: ProducerStates, producer_id: int, offset: int, sequence: int = 0, epoch: int = 0) -> None:
    states.append(producer_id, epoch, (sequence, sequence, offset, 0, 1000), transactional=True)


@pytest.mark.spec("D5")
def test_the_oldest_open_or_unreplicated_transaction_is_the_first_unstable_offset() -> None:
    states = ProducerStates()
    assert states.first_unstable_offset(0) == NO_UNSTABLE_OFFSET
    begin(states, 1, 10)
    begin(states, 2, 11)
    begin(states, 3, 12)
    assert states.first_unstable_offset(13) == 10
    states.end_transaction(2, 0, 7, 1000, 13)
    states.end_transaction(1, 0, 7, 1000, 14)
    assert states.first_ongoing_offset() == 12
    assert [states.first_unstable_offset(high_watermark) for high_watermark in (13, 14, 15)] == [10, 10, 12]
    states.end_transaction(3, 0, 7, 1000, 15)
    assert [states.first_unstable_offset(high_watermark) for high_watermark in (15, 16)] == [12, NO_UNSTABLE_OFFSET]


@pytest.mark.spec("D5")
def test_transactions_below_the_high_watermark_are_forgotten() -> None:
    states = ProducerStates()
    for offset in (0, 2, 4):
        begin(states, 1, offset, sequence=offset // 2)
        states.end_transaction(1, 0, 7, 1000, offset + 1)
    assert states.first_unstable_offset(0) == 0
    states.forget_replicated(4)
    assert states.unreplicated == {4: 5}
    assert states.first_unstable_offset(5) == 4


@pytest.mark.spec("D5")
def test_the_first_unstable_offset_copies_no_markers() -> None:
    states = ProducerStates()
    for offset in range(10_000):
        begin(states, offset, offset)
        states.end_transaction(offset, 0, 7, 1000, 20_000 + offset)
    assert states.first_unstable_offset(20_001) == 1
    tracemalloc.start()
    try:
        assert states.first_unstable_offset(20_001) == 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10_000


@pytest.mark.spec("D5")
def test_a_marker_without_a_transaction_makes_nothing_unstable() -> None:
    states = ProducerStates()
    states.end_transaction(1, 0, 7, 1000, 10)
    assert states.first_unstable_offset(10) == NO_UNSTABLE_OFFSET


@pytest.mark.spec("D5")
def test_a_batch_outside_of_the_open_transaction_is_rejected() -> None:
    states = ProducerStates()
    begin(states, PID, 10)
    assert states.has_ongoing_transaction(PID, 0)
    assert not states.has_ongoing_transaction(PID, 1)
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        states.check(PID, 0, 1)
    states.check(PID, 0, 1, is_transactional=True)
    states.check(PID, 0, -1, is_transactional=True, checks_sequence=False)  # a coordinator's records have no sequence
    with pytest.raises(KafkaError, match="OUT_OF_ORDER"):
        states.check(PID, 0, -1, is_transactional=True)


@pytest.mark.spec("D5")
@pytest.mark.parametrize(
    ("epoch", "is_open", "coordinator_epoch", "transaction_version", "error"),
    [
        (2, True, 7, 0, None),
        (3, True, 8, 0, None),
        (1, True, 7, 0, Error.INVALID_PRODUCER_EPOCH),
        (2, True, 6, 0, Error.TRANSACTION_COORDINATOR_FENCED),
        (1, True, 6, 0, Error.INVALID_PRODUCER_EPOCH),
        (2, True, 7, 1, None),
        (2, True, 7, 2, Error.INVALID_PRODUCER_EPOCH),  # version 2 raises the epoch first
        (3, True, 7, 2, None),
        (2, False, 7, 2, None),  # the marker is repeated: its transaction has ended
        (1, False, 7, 2, Error.INVALID_PRODUCER_EPOCH),
    ],
)
def test_markers(
    epoch: int, is_open: bool, coordinator_epoch: int, transaction_version: int, error: Error | None
) -> None:
    states = ProducerStates()
    states.end_transaction(PID, 2, 7, 1000, 9)
    if is_open:
        begin(states, PID, 10, epoch=2)
    if error is None:
        states.check_marker(PID, epoch, coordinator_epoch, transaction_version)
        return
    with pytest.raises(KafkaError) as rejected:
        states.check_marker(PID, epoch, coordinator_epoch, transaction_version)
    assert rejected.value.error is error


@pytest.mark.spec("D5")
def test_transactions_of_an_append_that_failed_are_restored() -> None:
    states = ProducerStates()
    begin(states, 1, 10)
    begin(states, 2, 11)
    before = dict(states.entries)
    states.end_transaction(1, 0, 7, 1000, 12)
    begin(states, 3, 13)
    for producer_id in (3, 2, 1):
        states.restore(producer_id, before.get(producer_id))
    states.restore_transactions(12)
    assert list(states.ongoing.items()) == [(10, 1), (11, 2)]
    assert states.unreplicated == {}
