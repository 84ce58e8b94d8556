"""Which quota applies to a client: the precedence of KIP-55, and one bucket per user or client under a default."""

from __future__ import annotations

import pytest

from signalbox.broker.quotas.client_quotas import ClientQuotas, QuotaWindows
from signalbox.common.limits import MAX_QUOTA_BUCKETS
from signalbox.metadata.entries.quota_entity import CONTROLLER_MUTATION_RATE, PRODUCER_BYTE_RATE
from signalbox.security.principal import KafkaPrincipal

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
