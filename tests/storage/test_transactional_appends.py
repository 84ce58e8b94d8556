"""Which batches of producers and coordinators a log admits (KIP-98, KIP-890): markers, sequences, verification."""

from pathlib import Path

import pytest

from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.transaction_marker import TransactionMarker, encode_marker
from signalbox.storage.log import Log
from signalbox.storage.producers.transaction_verification import ALREADY_ONGOING, SWITCHED_OFF, VerificationGuard
from tests.storage.workbench import NOW_MS, append_marker, append_transactional, batch, new_log

pytestmark = pytest.mark.spec("D5")

PID = 5


def verified_append(log: Log, data: bytes, guard: VerificationGuard | None) -> None:
    log.append_admitted(log.admit_at_once(data, NOW_MS), 0, guard=guard)
    log.flush_appends()


def error_of(log: Log, data: bytes, guard: VerificationGuard | None) -> Error:
    with pytest.raises(KafkaError) as rejected:
        verified_append(log, data, guard)
    return rejected.value.error


# -- rules for batches and markers


def test_markers_are_fenced_by_producer_and_coordinator_epoch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, PID, epoch=3)
    append_marker(log, PID, epoch=3, coordinator_epoch=7)
    with pytest.raises(KafkaError, match="TRANSACTION_COORDINATOR_FENCED"):
        append_marker(log, PID, epoch=3, coordinator_epoch=6)
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        append_marker(log, PID, epoch=2, coordinator_epoch=8)
    with pytest.raises(KafkaError, match="INVALID_RECORD"):
        log.append_marker(batch(1), 0, NOW_MS, 0)
    assert log.log_end_offset == 2


def test_sequences_go_on_behind_a_marker_and_begin_again_with_a_raised_epoch(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, PID, sequence=0, count=3)
    append_marker(log, PID)
    append_transactional(log, PID, sequence=3)
    append_marker(log, PID, epoch=1)  # transaction version 2
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        append_transactional(log, PID, sequence=4)
    with pytest.raises(KafkaError, match="OUT_OF_ORDER_SEQUENCE_NUMBER"):
        append_transactional(log, PID, sequence=4, epoch=1)
    append_transactional(log, PID, sequence=0, epoch=1)


def test_transactional_batches_of_clients_need_a_transactional_id(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch(1, producer_id=PID, transactional=True)
    assert error_of(log, data, None) is Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    append_transactional(log, PID)
    following = batch(1, producer_id=PID, sequence=1, transactional=True)
    assert error_of(log, following, None) is Error.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert error_of(log, batch(1, producer_id=PID, sequence=1), None) is Error.INVALID_TXN_STATE


def test_a_coordinators_records_have_no_sequence(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    for _ in range(2):
        data = batch(2, producer_id=PID, sequence=-1, transactional=True)
        log.append_admitted(log.admit_at_once(data, NOW_MS, from_client=False), 0, None, False, guard=SWITCHED_OFF)
    log.flush_appends()
    assert log.producers[PID].batches[-1] == (-1, -1, 3, 1, NOW_MS + 1)
    assert log.producers[PID].transaction_first_offset == 0


# -- verification


def start(log: Log, sequence: int = 0, *, raises_epochs: bool = False) -> VerificationGuard:
    return log.start_verification(PID, 0, sequence, NOW_MS, raises_epochs=raises_epochs)


def test_a_first_batch_needs_the_guard_of_its_verification(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    data = batch(1, producer_id=PID, transactional=True)
    assert error_of(log, data, VerificationGuard()) is Error.INVALID_TXN_STATE
    verified_append(log, data, start(log))
    assert start(log, 1) is ALREADY_ONGOING
    verified_append(log, data, VerificationGuard())  # a duplicate
    verified_append(log, batch(1, producer_id=PID, sequence=1, transactional=True), ALREADY_ONGOING)
    assert log.log_end_offset == 2


@pytest.mark.parametrize("is_commit", [False, True])
def test_the_sequences_of_an_ended_transaction_are_not_repeated(tmp_path: Path, is_commit: bool) -> None:
    log = new_log(tmp_path)
    data = batch(2, producer_id=PID, transactional=True)
    verified_append(log, data, start(log))
    append_marker(log, PID, is_commit=is_commit)
    guard = start(log)
    assert error_of(log, data, guard) is Error.INVALID_TXN_STATE
    log.abandon_verification(PID, guard)
    verified_append(log, batch(1, producer_id=PID, sequence=2, transactional=True), start(log, 2))
    assert error_of(log, data, ALREADY_ONGOING) is Error.INVALID_TXN_STATE
    verified_append(log, batch(1, producer_id=PID, sequence=2, transactional=True), ALREADY_ONGOING)  # a duplicate
    assert log.log_end_offset == 4


def test_a_marker_takes_the_guard_back(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    guard = start(log)
    append_marker(log, PID)
    assert error_of(log, batch(1, producer_id=PID, transactional=True), guard) is Error.INVALID_TXN_STATE


def test_a_coordinators_batch_does_not_open_a_transaction_behind_a_marker(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    guard = log.start_verification(PID, 0, -1, NOW_MS, raises_epochs=False)
    append_marker(log, PID)
    data = batch(2, producer_id=PID, sequence=-1, transactional=True)
    admitted = log.admit_at_once(data, NOW_MS, from_client=False)
    with pytest.raises(KafkaError, match="INVALID_TXN_STATE"):
        log.append_admitted(admitted, 0, None, False, guard=guard)


def test_a_batch_of_an_open_transaction_does_not_open_the_next_one(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, PID)
    guard = start(log, 1)
    append_marker(log, PID)
    assert error_of(log, batch(1, producer_id=PID, sequence=1, transactional=True), guard) is Error.INVALID_TXN_STATE
    append_transactional(log, PID, sequence=1)  # verification is switched off


def test_a_late_batch_of_an_older_epoch_gets_the_error_after_which_the_producer_goes_on(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    guard = start(log)
    append_marker(log, PID, epoch=1)
    assert error_of(log, batch(1, producer_id=PID, transactional=True), guard) is Error.INVALID_PRODUCER_EPOCH


def test_the_earliest_batch_that_waits_opens_the_transaction(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    guard = start(log, 4)
    assert start(log, 3) is guard
    later = batch(1, producer_id=PID, sequence=4, transactional=True)
    assert error_of(log, later, guard) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    verified_append(log, batch(1, producer_id=PID, sequence=3, transactional=True), guard)
    verified_append(log, later, guard)


def test_with_transaction_version_2_an_unknown_producer_begins_at_zero(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    guard = start(log, 4, raises_epochs=True)
    data = batch(1, producer_id=PID, sequence=4, transactional=True)
    assert error_of(log, data, guard) is Error.OUT_OF_ORDER_SEQUENCE_NUMBER
    verified_append(log, batch(1, producer_id=PID, transactional=True), guard)


def test_verifications_expire_with_producers(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    guard = start(log)
    log.expire_producers(NOW_MS + 1000, 1000)
    assert error_of(log, batch(1, producer_id=PID, transactional=True), guard) is Error.INVALID_TXN_STATE


def test_a_marker_of_an_open_transaction_needs_a_raised_epoch_from_version_2_on(tmp_path: Path) -> None:
    log = new_log(tmp_path)
    append_transactional(log, PID)
    marker = encode_marker(PID, 0, TransactionMarker(True, 1), NOW_MS)
    with pytest.raises(KafkaError, match="INVALID_PRODUCER_EPOCH"):
        log.append_marker(marker, 0, NOW_MS, 2)
    log.append_marker(encode_marker(PID, 1, TransactionMarker(True, 1), NOW_MS), 0, NOW_MS, 2)
    log.append_marker(encode_marker(PID, 1, TransactionMarker(True, 1), NOW_MS), 0, NOW_MS, 2)
    log.flush_appends()
    assert log.log_end_offset == 3
