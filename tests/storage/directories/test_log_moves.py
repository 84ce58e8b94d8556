"""Moves of logs between directories: one move per log, and chosen directories for logs that do not exist yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from signalbox.common.ids import TopicPartition
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.storage.directories import log_moves
from tests.storage.directories.test_log_move import BrokerLogs
from tests.storage.workbench import TP, append, batch

pytestmark = pytest.mark.spec("D3")


def test_a_repeated_request_is_the_same_move(tmp_path: Path) -> None:
    broker_logs = BrokerLogs(tmp_path)
    append(broker_logs.log, batch(5))
    broker_logs.move()
    [move] = broker_logs.logs.moves
    broker_logs.move()
    assert list(broker_logs.logs.moves) == [move]
    broker_logs.end()
    broker_logs.move()
    assert list(broker_logs.logs.moves) == [], "it is there"


def test_a_target_that_cannot_be_written_to(tmp_path: Path) -> None:
    broker_logs = BrokerLogs(tmp_path)
    append(broker_logs.log, batch(5))
    broker_logs.file_system.fail("make_directory", path_part="-future")
    with pytest.raises(KafkaError) as rejected:
        broker_logs.move()
    assert rejected.value.error is Error.KAFKA_STORAGE_ERROR
    assert list(broker_logs.logs.moves) == []
    assert broker_logs.log.online


def test_the_last_word_on_a_log_to_come_counts_and_the_oldest_are_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_moves, "MAX_AWAITED_LOGS", 2)
    broker_logs = BrokerLogs(tmp_path)
    unborn = [TopicPartition("later", number) for number in range(3)]
    for directory in unborn:
        for name in ("a", "b"):
            with pytest.raises(KafkaError):
                broker_logs.logs.moves.move(directory, broker_logs.path(name))
    places = [broker_logs.logs.moves.requested_directory(directory) for directory in unborn]
    assert [place and place.path for place in places] == [None, broker_logs.path("b"), broker_logs.path("b")]
    assert broker_logs.logs.moves.requested_directory(unborn[1]) is None, "a request is returned once"
    broker_logs.logs.moves.cancel(TP)  # there is no move to cancel
