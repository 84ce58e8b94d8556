"""Which quota applies to a client: the precedence of KIP-55, and one bucket per user or client under a default.
Then the throttle time in a response, and the usage that is charged to quotas."""

from __future__ import annotations

from typing import Any

import pytest

from signalbox.broker.api_request import NO_RESPONSE
from signalbox.broker.client_quotas import NO_THROTTLING, ClientQuotas, QuotaWindows, Throttling
from signalbox.common.clock import ManualClock
from signalbox.common.limits import MAX_QUOTA_BUCKETS
from signalbox.metadata.entries.quota_entity import CONTROLLER_MUTATION_RATE, PRODUCER_BYTE_RATE
from signalbox.protocol.messages.create_topics import CreateTopicsRequest
from signalbox.protocol.messages.envelope import EnvelopeRequest
from signalbox.protocol.messages.fetch import FetchRequest, FetchResponse
from signalbox.protocol.messages.metadata import MetadataRequest, MetadataResponse
from signalbox.protocol.messages.produce import ProduceRequest, ProduceResponse
from signalbox.protocol.messages.update_metadata import UpdateMetadataRequest
from signalbox.security.principal import KafkaPrincipal
from tests.broker.handler_requests import request_of

ALICE, BOB = KafkaPrincipal("User", "alice"), KafkaPrincipal("User", "bob")
# Most specific first.
LEVELS = [
    "users/alice/clients/app",
    "users/alice/clients/<default>",
    "users/alice",
    "users/<default>/clients/app",
    "users/<default>/clients/<default>",
    "users/<default>",
    "clients/app",
    "clients/<default>",
]


def quotas(**rates: float) -> ClientQuotas:
    made = ClientQuotas(QuotaWindows(10.0, 11.0), lambda: 0.0)
    for path, rate in rates.items():
        made.take_configs(path, {PRODUCER_BYTE_RATE: str(rate)})
    return made


@pytest.mark.parametrize("most_specific", range(len(LEVELS)))
def test_the_most_specific_level_holds(most_specific: int) -> None:
    rates = {path: float(10 + number) for number, path in enumerate(LEVELS) if number >= most_specific}
    bucket = quotas(**rates).bucket(PRODUCER_BYTE_RATE, ALICE, "app")
    assert bucket is not None
    assert bucket.rate == 10 + most_specific
    assert bucket.burst == 10 * bucket.rate


@pytest.mark.parametrize(
    ("path", "principal", "client_id"),
    [("users/alice", BOB, "app"), ("clients/app", ALICE, "other"), ("users/alice/clients/app", ALICE, None)],
)
def test_others_have_none(path: str, principal: KafkaPrincipal, client_id: str | None) -> None:
    assert quotas(**{path: 1.0}).bucket(PRODUCER_BYTE_RATE, principal, client_id) is None
    assert not quotas(**{path: 1.0}).holds_for(PRODUCER_BYTE_RATE, principal, client_id)
    assert quotas(**{path: 1.0}).bucket(CONTROLLER_MUTATION_RATE, ALICE, "app") is None


def test_a_default_is_everybodys_own_and_a_users_quota_is_shared_by_its_clients() -> None:
    each = quotas(**{"users/<default>": 1.0})
    assert each.bucket(PRODUCER_BYTE_RATE, ALICE, "a") is each.bucket(PRODUCER_BYTE_RATE, ALICE, "b")
    assert each.bucket(PRODUCER_BYTE_RATE, ALICE, "a") is not each.bucket(PRODUCER_BYTE_RATE, BOB, "a")
    each = quotas(**{"users/alice/clients/<default>": 1.0})
    assert each.bucket(PRODUCER_BYTE_RATE, ALICE, "a") is not each.bucket(PRODUCER_BYTE_RATE, ALICE, "b")


def test_changes_are_reported_once_and_apply_immediately() -> None:
    changes: list[str] = []
    made = ClientQuotas(QuotaWindows(), lambda: 0.0, lambda: changes.append("changed"))
    made.take_configs("topics/t", {"retention.ms": "1"})
    made.take_configs("users/alice", {"SCRAM-SHA-256": "salt=..."})
    assert changes == []
    made.take_configs("users/alice", {PRODUCER_BYTE_RATE: "100", "SCRAM-SHA-256": "salt=..."})
    made.take_configs("users/alice", {PRODUCER_BYTE_RATE: "100"})
    assert changes == ["changed"]
    before = made.bucket(PRODUCER_BYTE_RATE, ALICE, "a")
    made.take_configs("users/alice", {PRODUCER_BYTE_RATE: "200"})
    after = made.bucket(PRODUCER_BYTE_RATE, ALICE, "a")
    assert after is before
    assert after is not None
    assert after.rate == 200
    made.take_configs("users/alice", {})
    assert not made.holds_for(PRODUCER_BYTE_RATE, ALICE, "a")
    assert changes == ["changed"] * 3


def test_a_value_that_is_not_a_number_is_ignored(caplog: pytest.LogCaptureFixture) -> None:
    made = quotas(**{"users/alice": 5.0})
    made.take_configs("users/alice", {PRODUCER_BYTE_RATE: "much"})
    assert "users/alice" in caplog.text
    assert made.holds_for(PRODUCER_BYTE_RATE, ALICE, "a"), "the old one holds on"


def test_the_least_recently_used_bucket_is_evicted_first() -> None:
    made = quotas(**{"clients/<default>": 1.0})
    first, second = (made.bucket(PRODUCER_BYTE_RATE, ALICE, name) for name in ("first", "second"))
    for number in range(MAX_QUOTA_BUCKETS - 2):
        made.bucket(PRODUCER_BYTE_RATE, ALICE, str(number))
    assert made.bucket(PRODUCER_BYTE_RATE, ALICE, "first") is first
    made.bucket(PRODUCER_BYTE_RATE, ALICE, "one more")
    assert made.bucket(PRODUCER_BYTE_RATE, ALICE, "first") is first
    assert made.bucket(PRODUCER_BYTE_RATE, ALICE, "second") is not second


class Fixture:
    """Throttling with quotas for alice; the burst is one second of quota."""

    def __init__(self, **quotas: float) -> None:
        self.clock = ManualClock()
        self.quotas = ClientQuotas(QuotaWindows(1.0, 1.0), self.clock.monotonic)
        self.quotas.take_configs("users/alice", {key: str(value) for key, value in quotas.items()})
        self.withdrawn: list[int] = []
        self.throttling = Throttling(
            self.quotas,
            self.clock.monotonic,
            lambda _, response: self.withdrawn.append(len(response.responses[0].partitions[0].records or b"")),
        )

    def settle(self, body: Any, version: int, response: Any) -> int:
        return self.throttling.settle(request_of(body, version), response)


def fetched(size: int) -> FetchResponse:
    data = FetchResponse.PartitionData(partition_index=0, records=bytes(size))
    return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[data])])


@pytest.mark.spec("D12")
def test_a_produce_costs_its_request() -> None:
    fixture, body = Fixture(producer_byte_rate=100.0), ProduceRequest(topic_data=[], acks=1)
    size = len(request_of(body, 9).frame)
    waits = []
    for _ in range(8):
        response = ProduceResponse()
        waits.append(fixture.settle(body, 9, response))
        assert response.throttle_time_ms == waits[-1]
    free = 100 // size
    assert waits[:free] == [0] * free
    assert waits[-1] == round((8 * size - 100) / 100 * 1000)
    fixture.clock.advance(10_000)
    assert fixture.settle(body, 9, ProduceResponse()) == 0


def test_a_produce_without_an_answer_is_held_back_too() -> None:
    fixture, body = Fixture(producer_byte_rate=1.0), ProduceRequest(topic_data=[], acks=0)
    assert fixture.settle(body, 9, NO_RESPONSE) > 0


@pytest.mark.spec("D12")
def test_a_fetch_costs_its_records_and_a_followers_nothing() -> None:
    fixture = Fixture(consumer_byte_rate=1_000.0)
    assert fixture.settle(FetchRequest(replica_id=2), 11, fetched(50_000)) == 0
    assert fixture.settle(FetchRequest(), 11, fetched(600)) == 0
    assert fixture.withdrawn == []


@pytest.mark.spec("D12")
def test_a_fetch_beyond_its_quota_is_answered_empty_and_costs_nothing() -> None:
    """KIP-219, and as in Kafka: the records are returned after the throttle time."""
    fixture = Fixture(consumer_byte_rate=1_000.0)
    assert fixture.settle(FetchRequest(), 11, fetched(600)) == 0
    response = fetched(600)
    assert fixture.settle(FetchRequest(), 11, response) == 200
    assert (response.responses, response.throttle_time_ms, response.error_code) == ([], 200, 0)
    assert fixture.withdrawn == [600]
    fixture.clock.advance(200)
    again = fetched(600)
    assert fixture.settle(FetchRequest(), 11, again) == 0
    assert len(again.responses) == 1


@pytest.mark.spec("D12")
def test_a_batch_larger_than_the_quota_of_all_windows_comes_when_nothing_else_is_owed() -> None:
    fixture = Fixture(consumer_byte_rate=1_000.0)
    assert fixture.settle(FetchRequest(), 11, fetched(3_000)) == 0
    assert fixture.settle(FetchRequest(), 11, fetched(3_000)) == 3_000
    fixture.clock.advance(3_000)
    assert fixture.settle(FetchRequest(), 11, fetched(3_000)) == 0


@pytest.mark.spec("D12")
def test_a_fetch_that_has_no_time_left_is_answered_empty_too() -> None:
    fixture = Fixture(request_percentage=1.0)
    request, response = request_of(FetchRequest(), 11), fetched(600)
    request.busy_s = 0.5
    assert fixture.throttling.settle(request, response) > 0
    assert response.responses == []


def test_a_fetch_asks_for_no_more_than_may_come_at_once() -> None:
    fixture = Fixture(consumer_byte_rate=1_000.0)
    assert fixture.throttling.fetch_limit(request_of(FetchRequest(), 11)) == 1_000
    assert NO_THROTTLING.fetch_limit(request_of(FetchRequest(), 11)) is None


def test_other_apis_say_what_their_handlers_say() -> None:
    fixture = Fixture(producer_byte_rate=1.0)
    assert fixture.settle(MetadataRequest(), 9, MetadataResponse(throttle_time_ms=70)) == 70
    assert NO_THROTTLING.settle(request_of(ProduceRequest(topic_data=[], acks=1), 9), ProduceResponse()) == 0


@pytest.mark.spec("F14", "D12")
def test_changes_are_rejected_from_the_version_with_throttling_errors_and_delayed_before() -> None:
    fixture = Fixture(controller_mutation_rate=2.0)
    request = request_of(CreateTopicsRequest(), 7)
    changes = fixture.throttling.changes(request, strict_from=6)
    assert [changes.allows(3), changes.allows(1)] == [True, False], "the first may go into debt"
    assert changes.throttle_ms == 500
    old = fixture.throttling.changes(request_of(CreateTopicsRequest(), 5), strict_from=6)
    assert old.allows(1)
    assert old.throttle_ms == 1_000
    old.give_back(1)
    assert old.throttle_ms == 500
    fixture.clock.advance(500)
    assert fixture.throttling.changes(request, strict_from=6).allows(1)


@pytest.mark.spec("D12")
def test_a_request_costs_the_time_that_it_keeps_the_thread() -> None:
    """One per cent of a thread: ten milliseconds per second, and the same as burst."""
    fixture = Fixture(request_percentage=1.0)
    request = request_of(MetadataRequest(), 9)
    request.busy_s = 0.008
    response = MetadataResponse()
    assert (fixture.throttling.settle(request, response), response.throttle_time_ms) == (0, 0)
    fixture.throttling.spent(request, 0.002)
    response = MetadataResponse(throttle_time_ms=70)
    assert (fixture.throttling.settle(request, response), response.throttle_time_ms) == (800, 800)
    response = MetadataResponse(throttle_time_ms=1_500)
    assert fixture.throttling.settle(request, response) == 1_500, "the longer of two counts"
    assert fixture.throttling.settle(request, MetadataResponse()) == 1_000, "one window at most"
    fixture.clock.advance(10_000)
    assert fixture.throttling.settle(request, MetadataResponse()) == 0


def test_time_for_bytes_and_for_brokers() -> None:
    fixture = Fixture(request_percentage=1.0, producer_byte_rate=1_000_000.0)
    slow = request_of(ProduceRequest(topic_data=[], acks=0), 9)
    slow.busy_s = 0.5
    assert fixture.throttling.settle(slow, NO_RESPONSE) == 1_000
    for body, version in ((FetchRequest(replica_id=2), 11), (EnvelopeRequest(), 0), (UpdateMetadataRequest(), 6)):
        exempt = request_of(body, version)
        exempt.busy_s = 5.0
        assert fixture.throttling.settle(exempt, MetadataResponse()) == 0
        fixture.throttling.spent(exempt, 5.0)
