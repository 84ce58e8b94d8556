from __future__ import annotations

from typing import Any

import pytest
from tests.common.waiting.manual_time import ManualTimers
from tests.coordinator.transaction.markers.test_transaction_markers import markers_of
from tests.coordinator.transaction.shards import P0, P1

from signalbox.common.clock import ManualClock
from signalbox.common.ids import TopicPartition
from signalbox.common.waiting.deadlines import Deadlines
from signalbox.coordinator.transaction.markers import marker_sender
from signalbox.coordinator.transaction.markers.marker_sender import MarkerSender, OnMarkersResponse
from signalbox.coordinator.transaction.markers.transaction_markers import MAX_RETRY_AFTER_MS, RETRY_AFTER_MS
from signalbox.coordinator.transaction.transaction_state import TransactionState
from signalbox.protocol.error_table import Error
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from signalbox.protocol.messages.write_txn_markers import WriteTxnMarkersResponse as Response

pytestmark = pytest.mark.spec("D5")
STATE_PARTITION = 5  # of `markers_of`


class Channels:
    """Requests that wait for a response, in order."""

    def __init__(self) -> None:
        self.requests: list[tuple[int, WriteTxnMarkersRequest, OnMarkersResponse]] = []
        self.closed = False

    def send(self, broker_id: int, request: WriteTxnMarkersRequest, on_response: OnMarkersResponse) -> None:
        self.requests.append((broker_id, request, on_response))

    def close(self) -> None:
        self.closed = True


class SenderBench:
    """P0 is led by broker 1, P1 by broker 2."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.timers = ManualTimers(self.clock)
        self.channels = Channels()
        self.leaders: dict[TopicPartition, int | None] = {P0: 1, P1: 2}
        self.slow_channels = Channels()
        deadlines = Deadlines(self.clock, self.timers)
        self.sender = MarkerSender(self.channels, self.slow_channels, self.leaders.get, deadlines)
        self.written: list[str] = []

    def send(self, *partitions: TopicPartition) -> Any:
        markers = markers_of(*partitions, state=TransactionState.PREPARE_COMMIT, written=self.written)
        self.sender.send(markers)
        return markers

    def in_flight(self, channels: Channels | None = None) -> list[tuple[int, list[tuple[str, list[int]]]]]:
        """Broker and partitions of each request that waits for its response."""
        return [
            (broker, [(topic.name, topic.partition_indexes) for marker in request.markers for topic in marker.topics])
            for broker, request, _ in (channels or self.channels).requests
        ]

    def respond(
        self, error: Error = Error.NONE, failure: Exception | None = None, channels: Channels | None = None
    ) -> None:
        """The response to the first request, with `error` for each partition."""
        _, request, on_response = (channels or self.channels).requests.pop(0)
        if failure is not None:
            on_response(failure)
            return
        result, topic_result, partition_result = (
            Response.WritableTxnMarkerResult,
            Response.WritableTxnMarkerTopicResult,
            Response.WritableTxnMarkerPartitionResult,
        )
        on_response(
            Response(
                markers=[
                    result(
                        producer_id=marker.producer_id,
                        topics=[
                            topic_result(
                                name=topic.name,
                                partitions=[
                                    partition_result(partition_index=index, error_code=error)
                                    for index in topic.partition_indexes
                                ],
                            )
                            for topic in marker.topics
                        ],
                    )
                    for marker in request.markers
                ]
            )
        )

    def pass_ms(self, ms: int) -> None:
        self.clock.advance(ms)
        self.timers.run_due()


def test_each_leader_gets_its_partitions_and_the_last_response_completes() -> None:
    bench = SenderBench()
    bench.send(P0, P1)
    assert bench.in_flight() == [(1, [("t", [0])]), (2, [("t", [1])])]
    bench.respond()
    assert bench.written == []
    bench.respond()
    assert bench.written == ["orders"]


def test_a_transaction_without_partitions_is_written_at_once() -> None:
    bench = SenderBench()
    bench.send()
    assert (bench.written, bench.in_flight()) == (["orders"], [])


@pytest.mark.parametrize("failure", [None, ConnectionError("lost")])
def test_after_an_error_the_markers_go_to_the_leader_of_that_time(failure: Exception | None) -> None:
    bench = SenderBench()
    bench.send(P0)
    bench.respond(Error.NOT_LEADER_OR_FOLLOWER, failure)
    assert bench.in_flight() == []
    bench.leaders[P0] = 2
    bench.pass_ms(RETRY_AFTER_MS)
    assert bench.in_flight() == [(2, [("t", [0])])]
    bench.respond()
    assert bench.written == ["orders"]


def test_a_partition_that_takes_no_markers_does_not_hold_up_the_transaction(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    bench = SenderBench()
    bench.send(P0, P1)
    bench.respond(Error.UNSUPPORTED_VERSION)
    assert "t-0" in caplog.text
    bench.respond()
    assert (bench.written, bench.sender.left) == (["orders"], 0)


def test_a_broker_has_one_request_in_flight_and_the_next_gathers_what_came_meanwhile() -> None:
    bench = SenderBench()
    for _ in range(3):
        bench.send(P0)
    assert (len(bench.in_flight()), bench.sender.left) == (1, 3)
    bench.respond()
    assert bench.in_flight() == [(1, [("t", [0]), ("t", [0])])]
    bench.respond()
    assert bench.written == ["orders"] * 3


def test_a_request_is_bounded() -> None:
    bench = SenderBench()
    partitions = [TopicPartition("t", index) for index in range(marker_sender.MAX_PARTITIONS + 1)]
    bench.leaders |= dict.fromkeys(partitions, 1)
    bench.send(*partitions)
    bench.respond()
    assert bench.in_flight() == [(1, [("t", [marker_sender.MAX_PARTITIONS])])]


def test_a_partition_without_a_leader_waits_for_one() -> None:
    bench = SenderBench()
    bench.leaders[P0] = -1
    bench.send(P0)
    bench.pass_ms(10 * marker_sender.GONE_AFTER_MS)
    assert (bench.in_flight(), bench.written, bench.sender.without_leader) == ([], [], 1)
    bench.leaders[P0] = 1
    bench.pass_ms(MAX_RETRY_AFTER_MS)
    assert (bench.in_flight(), bench.sender.without_leader) == ([(1, [("t", [0])])], 0)


def test_a_partition_that_the_metadata_does_not_have_is_given_up_after_a_while() -> None:
    bench = SenderBench()
    bench.leaders[P0] = None
    bench.send(P0)
    bench.pass_ms(marker_sender.GONE_AFTER_MS - 1)
    assert bench.written == []
    bench.pass_ms(2 * RETRY_AFTER_MS)
    assert bench.written == ["orders"]


def test_the_partitions_of_deleted_topics_need_no_markers() -> None:
    bench = SenderBench()
    bench.leaders[P0] = -1
    bench.send(P0)
    bench.sender.topics_deleted(["u", "t"])
    assert (bench.written, bench.sender.left) == (["orders"], 0)


@pytest.mark.parametrize("missing", [P0, TopicPartition("t", 7)])
def test_a_partition_whose_topic_was_deleted_before_is_given_up_at_once(missing: TopicPartition) -> None:
    bench = SenderBench()
    bench.sender.elected(STATE_PARTITION)
    bench.leaders[missing] = None
    bench.sender.topics_deleted(["t"])
    bench.send(missing, P1)
    assert (bench.in_flight(), bench.sender.left) == ([(2, [("t", [1])])], 1)  # P1 is in the metadata again
    bench.respond()
    assert bench.written == ["orders"]


@pytest.mark.parametrize("deletions", [["t"], ["t", "u"], ["u"], []])
def test_deletions_before_the_election_prove_nothing(deletions: list[str]) -> None:
    bench = SenderBench()
    bench.sender.topics_deleted(deletions)
    bench.sender.elected(STATE_PARTITION)
    bench.sender.topics_deleted(["v"])
    bench.leaders[P0] = None
    bench.send(P0)
    bench.pass_ms(marker_sender.GONE_AFTER_MS - 1)
    assert bench.written == []
    bench.leaders[P0] = 1
    bench.pass_ms(MAX_RETRY_AFTER_MS)
    assert bench.in_flight() == [(1, [("t", [0])])]


def test_only_the_last_deleted_topics_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marker_sender, "MAX_DELETED_TOPICS", 2)
    for later, written in ((["u", "u"], ["orders"]), (["u", "v"], [])):
        bench = SenderBench()
        bench.sender.elected(STATE_PARTITION)
        for topic in ("t", *later):
            bench.sender.topics_deleted([topic])
        bench.leaders[P0] = None
        bench.send(P0)
        assert bench.written == written


def test_another_coordinator_stops_the_markers() -> None:
    bench = SenderBench()
    bench.send(P0)
    bench.respond(Error.TRANSACTION_COORDINATOR_FENCED)
    bench.pass_ms(RETRY_AFTER_MS)
    assert (bench.in_flight(), bench.written) == ([], [])


def test_a_partition_with_a_newer_producer_epoch_does_not_end_the_markers_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = SenderBench()
    bench.send(P0, P1)
    bench.respond(Error.INVALID_PRODUCER_EPOCH)
    assert "retrying every minute" in caplog.text
    bench.respond(Error.NOT_LEADER_OR_FOLLOWER)
    bench.pass_ms(RETRY_AFTER_MS)
    assert bench.in_flight() == [(2, [("t", [1])])]
    bench.respond()
    bench.pass_ms(marker_sender.LATER_MS)
    assert bench.in_flight() == [(1, [("t", [0])])]
    bench.respond()
    assert bench.written == ["orders"]


def test_others_do_not_wait_for_a_partition_whose_replicas_are_late() -> None:
    bench = SenderBench()
    bench.leaders[P1] = 1
    bench.send(P0)
    bench.respond(Error.REQUEST_TIMED_OUT)
    bench.pass_ms(RETRY_AFTER_MS)
    assert (bench.in_flight(), bench.in_flight(bench.slow_channels)) == ([], [(1, [("t", [0])])])
    bench.send(P1)
    assert bench.in_flight() == [(1, [("t", [1])])]
    bench.respond()
    assert bench.written == ["orders"]
    bench.respond(channels=bench.slow_channels)
    assert bench.written == ["orders"] * 2
    bench.send(P0)
    assert bench.in_flight() == [(1, [("t", [0])])]


def test_the_delay_grows_while_a_partition_has_an_error() -> None:
    bench = SenderBench()
    bench.send(P0)
    for delay_ms in (100, 200, 400):
        bench.respond(Error.NOT_LEADER_OR_FOLLOWER)
        bench.pass_ms(delay_ms - 1)
        assert bench.in_flight() == []
        bench.pass_ms(1)
        assert bench.in_flight() == [(1, [("t", [0])])]


def test_an_unexpected_error_is_logged_and_retried(caplog: pytest.LogCaptureFixture) -> None:
    bench = SenderBench()
    bench.send(P0)
    bench.respond(Error.CORRUPT_MESSAGE)
    assert "Transaction marker not written (partition=t-0, error=CORRUPT_MESSAGE): retrying" in caplog.messages
    bench.pass_ms(RETRY_AFTER_MS)
    bench.respond()
    assert bench.written == ["orders"]


def test_nothing_is_sent_for_a_partition_of_the_state_topic_that_was_resigned() -> None:
    bench = SenderBench()
    bench.send(P0)
    bench.send(P0)
    bench.leaders[P0] = -1
    bench.send(P0)
    bench.sender.remove(4)
    assert bench.sender.left == 3
    bench.sender.remove(5)
    assert bench.sender.left == 0
    bench.leaders[P0] = 1
    bench.respond(Error.NOT_LEADER_OR_FOLLOWER)  # to what was in flight
    bench.pass_ms(MAX_RETRY_AFTER_MS)
    assert bench.in_flight() == []


def test_close_closes_the_channels() -> None:
    bench = SenderBench()
    bench.leaders[P0] = -1
    bench.send(P0)
    bench.sender.close()
    assert bench.channels.closed
    bench.leaders[P0] = 1
    bench.pass_ms(RETRY_AFTER_MS)
    assert bench.in_flight() == []
