"""The stored history of a broker's registrations, and whether the next registration continues it."""

from __future__ import annotations

import logging

import pytest

from signalbox.metadata.broker_history import (
    NEVER,
    UNREADABLE,
    BrokerHistory,
    decode_broker_history,
    histories_of,
    history_of,
    is_intact,
    lost_log_dir_epoch,
)
from signalbox.metadata.entries.json_text import BadEntry
from signalbox.metadata.entries.registration import BrokerRegistration, RegisteredLogDir
from signalbox.metadata.layout import broker_history_path
from signalbox.metadata.store.port import Entry

pytestmark = pytest.mark.spec("D3")

ONE, TWO, NEW = (bytes([number]) * 16 for number in (1, 2, 3))


def registered(*log_dirs: tuple[bytes, int]) -> BrokerRegistration:
    return BrokerRegistration(broker_id=1, endpoints=(), log_dirs=tuple(RegisteredLogDir(*each) for each in log_dirs))


def test_round_trip() -> None:
    history = history_of(registered((ONE, -1), (TWO, 5)), 77, None)
    assert history == BrokerHistory(77, (ONE, TWO))
    assert decode_broker_history("/x", history.encode()) == history


def test_the_last_loss_of_a_log_directory_is_kept() -> None:
    first = history_of(registered((ONE, -1)), 5, None)
    assert lost_log_dir_epoch(first, registered((ONE, -1), (NEW, -1)), 6) == NEVER
    lost = history_of(registered((NEW, -1)), 6, first)
    assert lost.lost_log_dir_epoch == 6
    assert decode_broker_history("/x", lost.encode()) == lost
    assert lost_log_dir_epoch(lost, registered((NEW, 6)), 7) == 6
    assert history_of(registered((NEW, 6)), 7, lost).lost_log_dir_epoch == 6
    assert history_of(registered((TWO, -1)), 8, lost).lost_log_dir_epoch == 8
    assert lost_log_dir_epoch(None, registered((ONE, -1)), 5) == NEVER


@pytest.mark.parametrize("data", [b"{}", b"no", b'{"broker_epoch":1,"log_dirs":["x"]}', b'{"broker_epoch":1}', None])
def test_a_corrupt_history_counts_as_an_unclean_shutdown(data: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BadEntry, match="/x"):
        decode_broker_history("/x", data)
    entry = Entry(data, 0, 1, 0)
    with caplog.at_level(logging.ERROR):
        assert histories_of({broker_history_path(1): entry, broker_history_path(0)[:-2]: entry}) == {1: UNREADABLE}
    assert "the broker is treated as shut down uncleanly: /signalbox_brokers/1 " in caplog.text
    assert not is_intact(UNREADABLE, registered((ONE, 5)))


@pytest.mark.parametrize(
    ("history", "log_dirs", "expected"),
    [
        (BrokerHistory(5, (ONE,)), [(ONE, 5)], True),
        (BrokerHistory(5, (ONE,)), [(ONE, -1)], False),  # the broker was killed
        (BrokerHistory(5, (ONE,)), [(ONE, 4)], False),  # the directory was restored from an older copy
        (BrokerHistory(5, (ONE,)), [(NEW, -1)], False),  # the directory was wiped
        (BrokerHistory(5, (ONE, TWO)), [(ONE, 5)], False),  # directory TWO is not mounted
        (BrokerHistory(5, (ONE, TWO)), [(ONE, 5), (NEW, -1)], False),
        (BrokerHistory(5, (ONE,)), [(ONE, 5), (NEW, -1)], True),  # directory NEW was added
        (BrokerHistory(5, (ONE,)), [], True),  # Apache Kafka's brokers name no directories
        (None, [(ONE, 5)], True),  # a cluster of an older version stores no history
        (None, [(ONE, 5), (TWO, -1)], False),
    ],
)
def test_is_intact(history: BrokerHistory | None, log_dirs: list[tuple[bytes, int]], expected: bool) -> None:
    assert is_intact(history, registered(*log_dirs)) is expected
