from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.coordinator.test_batch_builder import TextSerde

from signalbox.common.clock import ManualClock
from signalbox.common.waiting.promise import Promise
from signalbox.coordinator.batch_builder import BatchBuilder
from signalbox.coordinator.config_rows import RuntimeSettings
from signalbox.coordinator.decision import CoordinatorRecord, Decision
from signalbox.coordinator.write_queue import Batch, WriteQueue
from signalbox.protocol.codec_errors import ValueDoesNotFit
from signalbox.protocol.error_table import Error, KafkaError
from signalbox.protocol.records.record_batch import decode_records


class Desk:
    """A write queue; this object is its log and its event loop."""

    def __init__(self, max_batch_bytes: int = 1_000_000) -> None:
        builder = BatchBuilder(TextSerde(), ManualClock(), RuntimeSettings(max_batch_bytes=max_batch_bytes))
        self.appended_keys: list[list[bytes | None]] = []
        self.in_flight: list[Batch] = []
        self.replayed: list[str] = []
        self.results: list[tuple[str, Error]] = []
        self.gathering = 0
        self.rejection: Error | None = None
        self.queue = WriteQueue(self, (3, 9), builder, lambda record: self.replayed.append(record.key), self)

    topic = "t"

    def append(self, partition: int, leader_epoch: int, batch: bytearray, guard: object | None = None) -> Promise[None]:
        assert (partition, leader_epoch) == (3, 9)
        if self.rejection is not None:
            raise KafkaError(self.rejection)
        self.appended_keys.append([record.key for record in decode_records(batch)])
        return Promise()

    def start_verification(self, partition: int, producer: tuple[int, int], *, raises_epochs: bool) -> object:
        return None

    def abandon_verification(self, partition: int, producer_id: int, guard: object) -> None:
        pass

    def start_offset(self, partition: int) -> int:
        return 0

    def end_offset(self, partition: int) -> int:
        return 0

    def read(self, partition: int, from_offset: int, max_bytes: int) -> bytes:
        return b""

    def gathering_began(self) -> None:
        self.gathering += 1

    def appended(self, batch: Batch, committed: Promise[None]) -> None:
        self.in_flight.append(batch)

    def decision(self, *keys: str, replayed: bool = True, atomic: bool = True) -> Decision[str]:
        name = keys[0]
        return Decision(
            f"response {name}",
            [CoordinatorRecord(key, "value" * 20) for key in keys],
            effects=[lambda: self.results.append((name, Error.NONE))],
            on_failure=lambda error: self.results.append((name, error)),
            replayed=replayed,
            atomic=atomic,
        )


def error_of(promise: Promise[str]) -> Error:
    assert isinstance(promise.error, KafkaError)
    return promise.error.error


def test_a_decision_without_records_is_answered_at_once() -> None:
    desk = Desk()
    effects: list[str] = []
    decision = Decision("x", effects=[lambda: effects.append("first"), lambda: effects.append("second")])
    assert desk.queue.submit(decision).result() == "x"
    assert (effects, desk.gathering) == (["first", "second"], 0)


def test_decisions_of_an_iteration_share_a_batch_and_complete_when_it_is_committed() -> None:
    desk = Desk()
    promises = [desk.queue.submit(desk.decision("a", "b")), desk.queue.submit(desk.decision("c"))]
    assert (desk.gathering, desk.appended_keys) == (1, [])
    desk.queue.flush()
    desk.queue.flush()
    assert desk.appended_keys == [[b"a", b"b", b"c"]]
    assert desk.replayed == []
    assert not promises[0].is_done
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert desk.replayed == ["a", "b", "c"]
    assert desk.results == [("a", Error.NONE), ("c", Error.NONE)]
    assert [promise.result() for promise in promises] == ["response a", "response c"]


def test_batches_are_concluded_in_the_order_of_the_log() -> None:
    desk = Desk()
    for key in ("a", "b"):
        desk.queue.submit(desk.decision(key))
        desk.queue.flush()
    desk.queue.settle(desk.in_flight[1], Error.NONE)
    assert desk.replayed == []
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert desk.replayed == ["a", "b"]


def test_a_rejected_batch_fails_all_its_decisions_and_changes_nothing() -> None:
    desk = Desk()
    promises = [desk.queue.submit(desk.decision(key)) for key in ("a", "b")]
    desk.rejection = Error.NOT_ENOUGH_REPLICAS
    desk.queue.flush()
    assert desk.replayed == []
    assert [error_of(promise) for promise in promises] == [Error.NOT_ENOUGH_REPLICAS] * 2
    assert [error for _, error in desk.results] == [Error.NOT_ENOUGH_REPLICAS] * 2


def test_a_record_that_cannot_contain_a_string_fails_its_decision_only() -> None:
    """A client id or group id that was not UTF-8 may be too long to be written (`protocol/lenient_utf8.py`)."""
    desk = Desk()
    good = desk.queue.submit(desk.decision("a"))
    bad = desk.queue.submit(desk.decision("b", "too long"))
    assert error_of(bad) is Error.UNKNOWN_SERVER_ERROR
    assert desk.results == [("b", Error.UNKNOWN_SERVER_ERROR)]
    desk.queue.flush()
    assert desk.appended_keys == [[b"a"]]
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert good.result() == "response a"


def test_records_that_the_decision_keeps_itself_are_not_replayed() -> None:
    desk = Desk()
    desk.queue.submit(desk.decision("a", replayed=False))
    desk.queue.submit(desk.decision("b"))
    desk.queue.flush()
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert desk.replayed == ["b"]


def test_a_large_decision_is_spread_over_batches_and_answered_after_the_last() -> None:
    desk = Desk(max_batch_bytes=500)
    promise = desk.queue.submit(desk.decision(*(f"k{number}" for number in range(10)), atomic=False))
    desk.queue.flush()
    assert len(desk.in_flight) > 1
    for batch in desk.in_flight[:-1]:
        desk.queue.settle(batch, Error.NONE)
    assert not promise.is_done
    desk.queue.settle(desk.in_flight[-1], Error.NONE)
    assert promise.result() == "response k0"
    assert desk.replayed == [f"k{number}" for number in range(10)]


def test_a_spread_decision_fails_with_its_first_error() -> None:
    desk = Desk(max_batch_bytes=500)
    promise = desk.queue.submit(desk.decision(*(f"k{number}" for number in range(10)), atomic=False))
    desk.queue.flush()
    for batch in desk.in_flight:
        first = batch is desk.in_flight[0]
        desk.queue.settle(batch, Error.KAFKA_STORAGE_ERROR if first else Error.NONE)
    assert error_of(promise) is Error.KAFKA_STORAGE_ERROR
    assert len(desk.results) == 1


def test_a_full_batch_is_appended_before_the_next_begins() -> None:
    desk = Desk(max_batch_bytes=400)
    for key in "abcd":
        desk.queue.submit(desk.decision(key))
    desk.queue.flush()
    assert [key for keys in desk.appended_keys for key in keys] == [b"a", b"b", b"c", b"d"]
    assert len(desk.appended_keys) > 1


def test_giving_up_answers_the_client_once_and_effects_run_when_the_commit_comes() -> None:
    desk = Desk()
    promise = desk.queue.submit(desk.decision("a"))
    desk.queue.flush()
    desk.queue.give_up_waiting(desk.in_flight[0])
    assert error_of(promise) is Error.REQUEST_TIMED_OUT
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert desk.replayed == ["a"]
    assert desk.results == [("a", Error.REQUEST_TIMED_OUT), ("a", Error.NONE)]


def test_an_effect_that_raises_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    desk = Desk()
    decision = desk.decision("a")
    decision.effects.insert(0, lambda: print(1 // 0))
    promises = [desk.queue.submit(decision), desk.queue.submit(desk.decision("b"))]
    desk.queue.flush()
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert desk.results == [("a", Error.NONE), ("b", Error.NONE)]
    assert [promise.result() for promise in promises] == ["response a", "response b"]
    assert "ZeroDivisionError" in caplog.text


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("submit"), st.integers(1, 4)),
            st.tuples(st.sampled_from(["flush", "reject", "commit", "time out", "fail", "close"]), st.integers(0, 3)),
        ),
        max_size=30,
    )
)
def test_effects_run_in_order_after_the_commit_and_never_without_it(steps: list[tuple[str, int]]) -> None:
    desk = Desk(max_batch_bytes=150)  # a decision of several records needs several batches
    trace: list[tuple[str, int]] = []
    sizes: dict[int, int] = {}
    for step, number in steps:
        desk.rejection = Error.KAFKA_STORAGE_ERROR if step == "reject" else None
        if step == "submit":
            count = len(sizes) + 1
            sizes[count] = number
            decision: Decision[None] = Decision(
                None,
                [CoordinatorRecord(f"{count}", "value" * 20)] * number,
                effects=[partial(trace.append, (effect, count)) for effect in ("effect 1", "effect 2")],
                atomic=False,
            )
            desk.queue.submit(decision).when_done(partial(trace.append, ("response", count)))
        elif step in ("flush", "reject"):
            desk.queue.flush()
        elif step == "close":
            desk.queue.close()
        elif number < len(desk.in_flight):
            batch = desk.in_flight[number]
            if step == "time out":
                desk.queue.give_up_waiting(batch)
            elif batch.error is None:
                desk.queue.settle(batch, Error.NONE if step == "commit" else Error.NOT_LEADER_OR_FOLLOWER)
        for kind, one in trace:
            assert not kind.startswith("effect") or desk.replayed.count(f"{one}") == sizes[one]
    effects = [event for event in trace if event[0].startswith("effect")]
    assert effects == [(name, one) for one in sorted({one for _, one in effects}) for name in ("effect 1", "effect 2")]


def test_closing_fails_what_is_under_way_and_what_comes_later() -> None:
    desk = Desk()
    promises = [desk.queue.submit(desk.decision("a"))]
    desk.queue.flush()
    promises.append(desk.queue.submit(desk.decision("b")))
    desk.queue.close()
    promises.append(desk.queue.submit(desk.decision("c")))
    assert [error_of(promise) for promise in promises] == [Error.NOT_COORDINATOR] * 3
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    desk.queue.flush()
    assert desk.replayed == []
    assert len(desk.appended_keys) == 1


def test_after_writes_waits_for_what_was_submitted_before_it() -> None:
    desk = Desk()
    assert desk.queue.after_writes().is_done
    desk.queue.submit(desk.decision("a"))
    gathering = desk.queue.after_writes()
    desk.queue.flush()
    in_flight = desk.queue.after_writes()
    assert not gathering.is_done
    assert not in_flight.is_done
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert gathering.is_done
    assert in_flight.is_done


def test_after_writes_waits_for_earlier_batches_if_its_own_is_rejected() -> None:
    """Else the end of a transaction would be replayed before its offsets, which are in the log before it."""
    desk = Desk()
    desk.queue.submit(desk.decision("a"))
    desk.queue.flush()
    desk.queue.submit(desk.decision("b"))
    waiting = desk.queue.after_writes()
    desk.rejection = Error.NOT_ENOUGH_REPLICAS
    desk.queue.flush()
    assert not waiting.is_done
    desk.queue.settle(desk.in_flight[0], Error.NONE)
    assert waiting.is_done
    assert desk.replayed == ["a"]


def test_a_record_that_cannot_contain_a_number_fails_its_decision_only(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    desk, concluded = Desk(), list[str]()

    def encode(self: object, record: object) -> tuple[bytes, bytes]:
        raise ValueDoesNotFit("expire_timestamp")

    decision = desk.decision("b")
    decision.on_concluded = lambda: concluded.append("b")
    monkeypatch.setattr(TextSerde, "encode", encode)
    assert error_of(desk.queue.submit(decision)) is Error.UNKNOWN_SERVER_ERROR
    assert desk.results == [("b", Error.UNKNOWN_SERVER_ERROR)]
    assert concluded == ["b"]
    assert "Unexpected error in the records of a coordinator's decision" in caplog.text


def test_a_decision_is_concluded_once_when_the_result_of_the_log_is_known() -> None:
    desk, concluded = Desk(), list[str]()

    def submit(key: str) -> None:
        decision = desk.decision(key)
        decision.on_concluded = lambda: concluded.append(key)
        desk.queue.submit(decision)
        desk.queue.flush()

    submit("a")
    submit("b")
    desk.queue.give_up_waiting(desk.in_flight[0])
    assert concluded == []
    desk.queue.settle(desk.in_flight[0], Error.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
    assert concluded == ["a"]
    desk.queue.close()
    submit("c")
    assert concluded == ["a", "b", "c"]
