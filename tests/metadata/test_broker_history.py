"""The stored history of a broker's registrations, and whether the next registration continues it."""

from __future__ import annotations

import logging

import pytest

from signalbox.metadata.broker_history import (
    UNREADABLE,
    BrokerHistory,
    decode_broker_history,
    has_lost_log_dir,
    histories_of,
    history_of,
    is_intact,
)
from signalbox.metadata.json_text import BadEntry
from signalbox.metadata.layout import broker_history_path
from signalbox.metadata.registration import BrokerRegistration, RegisteredLogDir
from signalbox.metadata.store.port import Entry

pytestmark = pytest.mark.spec("D3")

ONE, TWO, NEW = (bytes([number]) * 16 for number in (1, 2, 3))


def registered(*log_dirs: tuple[bytes, int]) -> BrokerRegistration:
    return BrokerRegistration(broker_id=1, endpoints=(), log_dirs=tuple(RegisteredLogDir(*each) for each in log_dirs))


def test_round_trip() -> None:
    history = history_of(registered((ONE, -1), (TWO, 5)), 77, None)
    assert history == BrokerHistory(77, (ONE, TWO))
    assert decode_broker_history("/x", history.encode()) == history


def test_a_lost_log_directory_is_never_forgotten() -> None:
    first = history_of(registered((ONE, -1)), 5, None)
    assert not has_lost_log_dir(first, registered((ONE, -1), (NEW, -1)))
    lost = history_of(registered((NEW, -1)), 6, first)
    assert lost.has_lost_log_dir
    assert decode_broker_history("/x", lost.encode()) == lost
    assert has_lost_log_dir(lost, registered((NEW, 6)))
    assert history_of(registered((NEW, 6)), 7, lost).has_lost_log_dir
    assert not has_lost_log_dir(None, registered((ONE, -1)))


@pytest.mark.parametrize("data", [b"{}", b"no", b'{"broker_epoch":1,"log_dirs":["x"]}', b'{"broker_epoch":1}', None])
def test_what_cannot_be_read_is_continued_by_nothing(data: bytes | None, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(BadEntry, match="/x"):
        decode_broker_history("/x", data)
    entry = Entry(data, 0, 1, 0)
    with caplog.at_level(logging.ERROR):
        assert histories_of({broker_history_path(1): entry, broker_history_path(0)[:-2]: entry}) == {1: UNREADABLE}
    assert "Broker 1 is treated as shut down uncleanly" in caplog.text
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
