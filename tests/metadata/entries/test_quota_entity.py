"""The entity of a quota, by the path of its config."""

from __future__ import annotations

import pytest

from signalbox.metadata.entries.quota_entity import Entity, quota_entity, quotas_of


@pytest.mark.spec("M2")
@pytest.mark.parametrize(
    ("path", "entity"),
    [
        ("users/a%20b", {"user": "a b"}),
        ("users/<default>", {"user": None}),
        ("clients/app", {"client-id": "app"}),
        ("users/a/clients/<default>", {"user": "a", "client-id": None}),
        ("ips/10.0.0.1", {"ip": "10.0.0.1"}),
        ("users/a/clients", None),
        ("users", None),
        ("topics/t", None),
        ("brokers/<default>", None),
        ("clients/a/users/b", None),
    ],
)
def test_entities(path: str, entity: Entity | None) -> None:
    assert quota_entity(path) == entity


def test_quotas_among_other_configs() -> None:
    configs = {"SCRAM-SHA-256": "secret", "producer_byte_rate": "1024", "connection_creation_rate": "2.5"}
    assert quotas_of({"user": "a"}, configs) == {"producer_byte_rate": 1024.0}
    assert quotas_of({"ip": None}, configs) == {"connection_creation_rate": 2.5}
    with pytest.raises(ValueError, match="many"):
        quotas_of({"user": "a"}, {"request_percentage": "many"})


@pytest.mark.parametrize("stored", ["NaN", "-1", "-Infinity", "x", "", "1e999"])
def test_an_invalid_rate_is_none(stored: str) -> None:
    with pytest.raises(ValueError):
        quotas_of({"user": "a"}, {"producer_byte_rate": stored})
    with pytest.raises(ValueError):
        quotas_of({"ip": "10.0.0.1"}, {"connection_creation_rate": stored})


def test_rates_at_the_edges_are_rates() -> None:
    largest = {"producer_byte_rate": "9223372036854775807", "request_percentage": "Infinity"}
    assert quotas_of({"user": "a"}, largest) == {"producer_byte_rate": 2.0**63, "request_percentage": float("inf")}
    assert quotas_of({"ip": "10.0.0.1"}, {"connection_creation_rate": "0"}) == {"connection_creation_rate": 0.0}
